/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product on the convolution's tiles: rows of a are the pixels, columns of b the channels. Columns of b are cut into panels of
 * two blocks, each packed as [k, panel] and then read once per tile of rows; where the rows are few, packing would cost more than it
 * saves, and b is read in place, row after row (rows_f32). A b that lies as [n, k] is packed always: the panel is where it is turned around. */
#include "kernels/conv.h"

#include <math.h>
#include <string.h>

enum { MOST_PANEL = 2 * 16, FEW_ROWS = 6, FEW_ROWS_COLUMNS = 1024, PAIRS_RUN = 48 };

typedef struct matmul_job {
  const kernel_set *kernels;
  const matmul_f32 *product;
  const int32_t *offsets; /* 0 .. k - 1 */
  const float *zeros;     /* of a panel */
  float *panels;          /* [workers, panel_floats] */
  size_t panel_floats;
  int64_t panel;   /* columns */
  int64_t row_run; /* rows of an item */
} matmul_job;

static size_t align64(size_t bytes) { return (bytes + 63) / 64 * 64; }
static size_t floats_of_panel(int64_t k) { return align64((size_t)k * MOST_PANEL * sizeof(float)) / sizeof(float); }

bool npuc_matmul_f32_scratch(int64_t m, int64_t k, int64_t n, size_t threads, size_t *out_bytes) {
  if (m > INT32_MAX || k > INT32_MAX / MOST_PANEL || n > INT32_MAX) return false;
  *out_bytes = align64((size_t)k * sizeof(int32_t)) + MOST_PANEL * sizeof(float) + threads * floats_of_panel(k) * sizeof(float);
  return true;
}

static void pack_panel(const matmul_job *j, int64_t column, int64_t columns, float *panel) {
  const matmul_f32 *p = j->product;
  if (p->b_transposed) { /* columns of b are rows of [n, k] */
    j->kernels->block_f32(p->b + column * p->k, (size_t)p->k, (size_t)columns, panel, (size_t)j->panel, (size_t)p->k);
    return;
  }
  for (int64_t k = 0; k < p->k; k++) {
    float *to = panel + k * j->panel;
    memcpy(to, p->b + k * p->n + column, (size_t)columns * sizeof *to);
    for (int64_t c = columns; c < j->panel; c++) to[c] = 0.0f;
  }
}

/* The columns of b as they will be read for the next panel, elements [k, k + n) of each. */
static void fetch_turned(const matmul_f32 *p, int64_t column, int64_t columns, int64_t k, int64_t n) {
  enum { LINE = 16 };
  for (int64_t c = column; c < column + columns && c < p->n; c++) {
    for (int64_t i = 0; i < n; i += LINE) __builtin_prefetch(p->b + c * p->k + k + i, 0, 2);
  }
}

/* Few rows of a against a b that lies as [n, k]: so much of a panel at a time as stays in the first cache. */
static void few_rows_turned(const matmul_job *j, int64_t column, int64_t columns, float *panel) {
  enum { PIECE = 64 };
  const matmul_f32 *p = j->product;
  for (int64_t row = 0; row < p->m; row++) memset(p->y + row * p->n + column, 0, (size_t)columns * sizeof(float));
  for (int64_t k = 0; k < p->k; k += PIECE) {
    const int64_t n = p->k - k < PIECE ? p->k - k : PIECE;
    fetch_turned(p, column + j->panel, j->panel, k, n);
    j->kernels->block_f32(p->b + column * p->k + k, (size_t)p->k, (size_t)columns, panel, (size_t)j->panel, (size_t)n);
    for (int64_t row = 0; row < p->m; row++)
      j->kernels->rows_f32(p->a + row * p->k + k, panel, (size_t)j->panel, (size_t)n, p->y + row * p->n + column, (size_t)columns);
  }
}

static void rows_of_panel(const matmul_job *j, const tile_f32 *panel, int64_t first, int64_t last) {
  const matmul_f32 *p = j->product;
  int64_t x_at[PAIRS_RUN], y_at[PAIRS_RUN];
  bool skip[PAIRS_RUN];
  tile_f32 t = *panel;
  t.x_at = x_at;
  t.y_at = y_at;
  t.skip = skip;
  t.x_step = last - first > 1 ? p->k : 0;
  t.y_step = last - first > 1 ? p->n : 0;
  for (int64_t row = first; row < last;) {
    size_t pairs = 0;
    for (; pairs < PAIRS_RUN && row < last; pairs++, row += 2) {
      skip[pairs] = row + 1 == last;
      int64_t at = skip[pairs] && row > first ? row - 1 : row; /* the last of an odd number: behind the one before it */
      x_at[pairs] = at * p->k;
      y_at[pairs] = at * p->n;
    }
    j->kernels->conv_f32(&t, pairs);
    t.ahead_bytes = t.ahead_step = 0; /* once */
  }
}

/* Items: panels, outer, by runs of rows. */
static void run_panels(void *context, size_t begin, size_t end, size_t worker) {
  const matmul_job *j = context;
  const matmul_f32 *p = j->product;
  int64_t runs = (p->m + j->row_run - 1) / j->row_run, packed_column = -1;
  for (int64_t item = (int64_t)begin; item < (int64_t)end; item++) {
    int64_t column = item / runs * j->panel, first = item % runs * j->row_run, lanes = j->panel / 2;
    int64_t columns = p->n - column < j->panel ? p->n - column : j->panel;
    int64_t last = p->m - first < j->row_run ? p->m : first + j->row_run;
    tile_f32 t = {.x = p->a,
                  .offsets = j->offsets,
                  .taps = (size_t)p->k,
                  .run = 1,
                  .w_step = (size_t)j->panel,
                  .y = p->y + column,
                  .y_block = (size_t)lanes,
                  .start = j->zeros,
                  .lanes = (int)lanes,
                  .blocks = (int)((columns + lanes - 1) / lanes),
                  .end_lane = (int)((columns - 1) % lanes) + 1,
                  .clip_lo = -INFINITY,
                  .clip_hi = INFINITY};
    float *panel = j->panels + worker * j->panel_floats;
    if (p->m <= FEW_ROWS) {
      few_rows_turned(j, column, columns, panel);
      continue;
    }
    if (packed_column != column) pack_panel(j, column, columns, panel);
    packed_column = column;
    t.weights = panel;
    if (column + 2 * j->panel <= p->n) {
      t.ahead = p->b_transposed ? p->b + (column + j->panel) * p->k : p->b + column + j->panel;
      t.ahead_bytes = (size_t)j->panel * sizeof(float) * (p->b_transposed ? (size_t)p->k : 1);
      t.ahead_step = p->b_transposed ? 0 : (size_t)p->n * sizeof(float);
    }
    rows_of_panel(j, &t, first, last);
  }
}

/* Units: columns. Some rows of b, so much of each as the first cache holds, serve all rows of a. */
static void few_rows(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  enum { STEP = 8 };
  const matmul_job *j = context;
  const matmul_f32 *p = j->product;
  for (int64_t column = (int64_t)begin; column < (int64_t)end; column += FEW_ROWS_COLUMNS) {
    int64_t n = (int64_t)end - column < FEW_ROWS_COLUMNS ? (int64_t)end - column : FEW_ROWS_COLUMNS;
    int64_t step = p->m == 1 ? p->k : STEP;
    for (int64_t row = 0; row < p->m; row++) memset(p->y + row * p->n + column, 0, (size_t)n * sizeof(float));
    for (int64_t k = 0; k < p->k; k += step) {
      for (int64_t row = 0; row < p->m; row++)
        j->kernels->rows_f32(p->a + row * p->k + k, p->b + k * p->n + column, (size_t)p->n, (size_t)(p->k - k < step ? p->k - k : step),
                             p->y + row * p->n + column, (size_t)n);
    }
  }
}

/* Whole cache lines of y, and enough of them: a thread is worth some 10 us. */
static size_t few_rows_grain(const matmul_f32 *p, size_t threads) {
  size_t share = ((size_t)p->n / threads + 63) / 64 * 64, least = (65536 / (size_t)(p->k + 1) + 64) / 64 * 64;
  if (share > FEW_ROWS_COLUMNS) share = FEW_ROWS_COLUMNS;
  return share > least ? share : least;
}

void npuc_matmul_f32(const kernel_set *kernels, thread_pool *pool, const matmul_f32 *product, void *scratch) {
  if (product->m <= FEW_ROWS && !product->b_transposed) {
    matmul_job few = {.kernels = kernels, .product = product};
    npuc_parallel_for(pool, (size_t)product->n, few_rows_grain(product, npuc_pool_threads(pool)), few_rows, &few);
    return;
  }
  int32_t *offsets = scratch;
  float *zeros = (float *)(void *)((char *)scratch + align64((size_t)product->k * sizeof *offsets));
  for (int64_t k = 0; k < product->k; k++) offsets[k] = (int32_t)k;
  memset(zeros, 0, MOST_PANEL * sizeof *zeros);
  matmul_job j = {.kernels = kernels, .product = product, .offsets = offsets, .zeros = zeros, .row_run = product->m};
  j.panel = 2 * kernels->lanes;
  j.panels = zeros + MOST_PANEL;
  j.panel_floats = floats_of_panel(product->k);
  int64_t panels = (product->n + j.panel - 1) / j.panel, threads = (int64_t)npuc_pool_threads(pool);
  if (panels < 4 * threads && threads > 1) { /* few columns: rows are shared too */
    j.row_run = (product->m * panels + 4 * threads - 1) / (4 * threads);
    if (j.row_run < 24) j.row_run = 24;
  }
  int64_t runs = (product->m + j.row_run - 1) / j.row_run;
  npuc_parallel_for(pool, (size_t)(panels * runs), 0, run_panels, &j);
}
