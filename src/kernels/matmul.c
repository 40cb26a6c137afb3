/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product on the convolution's tiles: rows of a are the pixels, columns of b the channels. Columns of b are cut into panels of
 * two blocks of 8, each packed as [k, 16] and then read once per tile of rows; where the rows are few, packing would cost more than it
 * saves, and a whole panel is read in place. */
#include "kernels/conv.h"

#include <math.h>
#include <string.h>

enum { PANEL = 2 * IMAGE_BLOCK, FEW_ROWS = 6, ROWS_RUN = 96, PANEL_SLACK = 16 };

typedef struct matmul_job {
  const kernel_set *kernels;
  const matmul_f32 *product;
  const int32_t *offsets; /* 0 .. k - 1 */
  const float *zeros;     /* of a panel and a vector */
  float *panels;          /* [workers, panel_floats] */
  size_t panel_floats;
  int64_t row_run; /* rows of an item */
} matmul_job;

static size_t align64(size_t bytes) { return (bytes + 63) / 64 * 64; }
static size_t floats_of_panel(int64_t k) { return align64(((size_t)k * PANEL + PANEL_SLACK) * sizeof(float)) / sizeof(float); }
enum { ZEROS = PANEL + PANEL_SLACK };

bool npuc_matmul_f32_scratch(int64_t m, int64_t k, int64_t n, size_t threads, size_t *out_bytes) {
  if (m > INT32_MAX || k > INT32_MAX / PANEL || n > INT32_MAX) return false;
  *out_bytes = align64((size_t)k * sizeof(int32_t)) + align64(ZEROS * sizeof(float)) + threads * floats_of_panel(k) * sizeof(float);
  return true;
}

static const float *pack_panel(const matmul_f32 *p, int64_t column, int64_t columns, float *panel) {
  for (int64_t k = 0; k < p->k; k++) {
    const float *row = p->b + k * p->n + column;
    float *to = panel + k * PANEL;
    int64_t c = 0;
    if (columns == PANEL) {
      memcpy(to, row, PANEL * sizeof *to);
      continue;
    }
    for (; c < columns; c++) to[c] = row[c];
    for (; c < PANEL; c++) to[c] = 0.0f;
  }
  memset(panel + p->k * PANEL, 0, PANEL_SLACK * sizeof *panel);
  return panel;
}

static void rows_of_panel(const matmul_job *j, tile_f32 *t, int64_t first, int64_t last) {
  const matmul_f32 *p = j->product;
  int64_t x_at[ROWS_RUN], y_at[ROWS_RUN];
  for (int64_t row = first; row < last; row += ROWS_RUN) {
    int64_t n = last - row < ROWS_RUN ? last - row : ROWS_RUN;
    for (int64_t i = 0; i < n; i++) {
      x_at[i] = (row + i) * p->k;
      y_at[i] = (row + i) * p->n;
    }
    t->x_at = x_at;
    t->y_at = y_at;
    j->kernels->conv_f32(t, (size_t)n);
  }
}

/* Items: panels, outer, by runs of rows. */
static void run_panels(void *context, size_t begin, size_t end, size_t worker) {
  const matmul_job *j = context;
  const matmul_f32 *p = j->product;
  int64_t runs = (p->m + j->row_run - 1) / j->row_run, packed_column = -1;
  for (int64_t item = (int64_t)begin; item < (int64_t)end; item++) {
    int64_t column = item / runs * PANEL, first = item % runs * j->row_run, columns = p->n - column < PANEL ? p->n - column : PANEL;
    int64_t last = p->m - first < j->row_run ? p->m : first + j->row_run;
    tile_f32 t = {.x = p->a,
                  .offsets = j->offsets,
                  .taps = (size_t)p->k,
                  .weights = p->b + column,
                  .w_step = (size_t)p->n,
                  .y = p->y + column,
                  .y_block = IMAGE_BLOCK,
                  .start = j->zeros,
                  .blocks = (int)((columns + IMAGE_BLOCK - 1) / IMAGE_BLOCK),
                  .end_lane = (int)((columns - 1) % IMAGE_BLOCK) + 1,
                  .clip_lo = -INFINITY,
                  .clip_hi = INFINITY};
    if (p->m > FEW_ROWS || columns < PANEL) {
      float *panel = j->panels + worker * j->panel_floats;
      if (packed_column != column) pack_panel(p, column, columns, panel);
      packed_column = column;
      t.weights = panel;
      t.w_step = PANEL;
    }
    rows_of_panel(j, &t, first, last);
  }
}

void npuc_matmul_f32(const kernel_set *kernels, thread_pool *pool, const matmul_f32 *product, void *scratch) {
  int32_t *offsets = scratch;
  float *zeros = (float *)(void *)((char *)scratch + align64((size_t)product->k * sizeof *offsets));
  for (int64_t k = 0; k < product->k; k++) offsets[k] = (int32_t)k;
  memset(zeros, 0, ZEROS * sizeof *zeros);
  matmul_job j = {.kernels = kernels, .product = product, .offsets = offsets, .zeros = zeros, .row_run = product->m};
  j.panels = zeros + align64(ZEROS * sizeof *zeros) / sizeof *zeros;
  j.panel_floats = floats_of_panel(product->k);
  int64_t panels = (product->n + PANEL - 1) / PANEL, threads = (int64_t)npuc_pool_threads(pool);
  if (panels < 4 * threads && threads > 1) { /* few columns: rows are shared too */
    j.row_run = (product->m * panels + 4 * threads - 1) / (4 * threads);
    if (j.row_run < 24) j.row_run = 24;
  }
  int64_t runs = (product->m + j.row_run - 1) / j.row_run;
  npuc_parallel_for(pool, (size_t)(panels * runs), 0, run_panels, &j);
}
