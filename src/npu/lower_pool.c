/* SPDX-License-Identifier: Apache-2.0 */
/* Pools on the vector unit: VWIN adds (or takes the maximum of) one tap for a chunk of pixels at a time; where outputs are few and windows large, one VWIN with `hold` takes
 * a whole window for one pixel. VRQ then requantizes. */
#include "npu/lower_internal.h"

typedef struct pool_job {
  placed x, y;
  uint32_t kh, kw, stride_y, stride_x, dilation_y, dilation_x;
  int32_t pad_top, pad_left;
  int64_t x_zero_point;
  int mode; /* of VWIN: 1 sum, 2 maximum */
} pool_job;

static pool_job describe(const lowering *s, const qnode *n, int mode) {
  pool_job job = {.x = npuc_lower_tensor(s, n->inputs[0]),
                  .y = npuc_lower_tensor(s, n->outputs[0]),
                  .mode = mode,
                  .stride_y = 1,
                  .stride_x = 1,
                  .dilation_y = 1,
                  .dilation_x = 1,
                  .x_zero_point = npuc_qnode_int(n, QATTR_x_zero_point, 0)};
  if (n->op == QOP_QGlobalAveragePool) {
    job.kh = job.x.l.h, job.kw = job.x.l.w;
    return job;
  }
  uint32_t count;
  const int64_t *kernel = npuc_qnode_list(n, QATTR_kernel_shape, &count), *strides = npuc_qnode_list(n, QATTR_strides, &count),
                *dilations = npuc_qnode_list(n, QATTR_dilations, &count), *pads = npuc_qnode_list(n, QATTR_pads, &count);
  job.kh = (uint32_t)kernel[0], job.kw = (uint32_t)kernel[1];
  job.stride_y = (uint32_t)strides[0], job.stride_x = (uint32_t)strides[1];
  job.dilation_y = (uint32_t)dilations[0], job.dilation_x = (uint32_t)dilations[1];
  job.pad_top = (int32_t)pads[0], job.pad_left = (int32_t)pads[1];
  return job;
}

/* One VWIN over [x0, x0 + (nx-1)*step] etc.; the source slot is configured. */
static void emit_window(lowering *s, const pool_job *job, uint32_t b, int64_t x0, int64_t y0, uint32_t nx, uint32_t ny, uint32_t acc,
                        bool accumulate, bool hold) {
  uint64_t block = job->x.address + b * npuc_layout_block_bytes(&job->x.l);
  instr in = {.op = ISA_VWIN};
  in.f[NPU_VWIN_mode] = job->mode;
  in.f[NPU_VWIN_accumulate] = accumulate;
  in.f[NPU_VWIN_hold] = hold;
  in.f[NPU_VWIN_base] = (int64_t)block;
  in.f[NPU_VWIN_x0] = x0;
  in.f[NPU_VWIN_y0] = y0;
  in.f[NPU_VWIN_nx] = nx;
  in.f[NPU_VWIN_ny] = ny;
  in.f[NPU_VWIN_acc] = acc;
  /* The whole block stands for the window: pools are not where tokens must be fine. */
  const mem_access accesses[] = {lower_read(block, npuc_layout_block_bytes(&job->x.l)), lower_acc(acc, hold ? 1 : (uint64_t)nx * ny, true)};
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, accesses, 2);
}

static void emit_taps(lowering *s, const pool_job *job, uint32_t b, const pixel_chunk *chunk, uint32_t acc) {
  npuc_lower_window_source(s, &job->x, job->x_zero_point, job->stride_x, job->stride_y);
  for (uint32_t tap = 0; tap < job->kh * job->kw; tap++) {
    int64_t x0 = (int64_t)chunk->x * job->stride_x - job->pad_left + (int64_t)(tap % job->kw) * job->dilation_x;
    int64_t y0 = (int64_t)chunk->y * job->stride_y - job->pad_top + (int64_t)(tap / job->kw) * job->dilation_y;
    emit_window(s, job, b, x0, y0, chunk->nx, chunk->ny, acc, tap > 0, false);
  }
}

/* A window's steps are the kernel's dilation: one held VWIN for each output pixel. */
static void emit_held(lowering *s, const pool_job *job, uint32_t b, const pixel_chunk *chunk, uint32_t acc) {
  npuc_lower_window_source(s, &job->x, job->x_zero_point, job->dilation_x, job->dilation_y);
  for (uint32_t i = 0; i < chunk->nx * chunk->ny; i++) {
    int64_t x0 = (int64_t)(chunk->x + i % chunk->nx) * job->stride_x - job->pad_left;
    int64_t y0 = (int64_t)(chunk->y + i / chunk->nx) * job->stride_y - job->pad_top;
    emit_window(s, job, b, x0, y0, job->kw, job->kh, acc + i, false, true);
  }
}

/* Dilation is also the step of a held window, so it must fit a stride, and the kernel VWIN's counts. */
static bool hold_is_cheaper(const pool_job *job, const pixel_chunk *chunk) {
  uint64_t pixels = (uint64_t)chunk->nx * chunk->ny, taps = (uint64_t)job->kh * job->kw;
  if (job->dilation_x > 63 || job->dilation_y > 63 || job->kh > 1023 || job->kw > 1023) return false;
  return pixels * (taps > 8 ? taps : 8) < taps * (pixels > 8 ? pixels : 8);
}

static void emit_pool_chunk(lowering *s, const pool_job *job, uint32_t b, const pixel_chunk *chunk, uint32_t acc) {
  if (hold_is_cheaper(job, chunk))
    emit_held(s, job, b, chunk, acc);
  else
    emit_taps(s, job, b, chunk, acc);
}

/* -- maximum -- */

void npuc_lower_max_pool(lowering *s, const lower_entry *entry) {
  const qnode *n = &s->g->nodes[entry->node];
  pool_job job = describe(s, n, 2);
  /* M = 2^14, s = 14: the rule as identity. */
  clamp_attributes identity = job.x.is_signed ? (clamp_attributes){0, -128, 127} : (clamp_attributes){0, 0, 255};
  for (uint32_t b = 0; b < npuc_layout_blocks(&job.y.l); b++) {
    for (uint32_t i = 0; i < npuc_npu_chunk_count(&job.y.l, 1); i++) {
      pixel_chunk chunk = npuc_npu_chunk_at(&job.y.l, 1, i);
      uint32_t acc = npuc_lower_next_half(s);
      emit_pool_chunk(s, &job, b, &chunk, acc);
      npuc_lower_scalar_parameters(s, identity, 1 << 14, 0, 14);
      npuc_lower_drain(s, &job.y, b, &chunk, acc);
    }
  }
}

/* -- average -- */

/* Cells of the window at output position `o` of one axis that lie in [-before, size + after). */
static int64_t axis_count(uint32_t o, uint32_t stride, int32_t pad, uint32_t k, uint32_t dilation, int64_t from, int64_t to) {
  int64_t count = 0;
  for (uint32_t i = 0; i < k; i++) {
    int64_t at = (int64_t)o * stride - pad + (int64_t)i * dilation;
    count += at >= from && at < to;
  }
  return count;
}

typedef struct counting {
  const qnode *n;
  int64_t left, right, top, bottom; /* the area whose cells count */
  bool is_global;
} counting;

static counting counting_of(const pool_job *job, const qnode *n) {
  counting c = {.n = n, .right = job->x.l.w, .bottom = job->x.l.h, .is_global = n->op == QOP_QGlobalAveragePool};
  if (!c.is_global && npuc_qnode_int(n, QATTR_count_include_pad, 0)) {
    uint32_t count;
    const int64_t *pads = npuc_qnode_list(n, QATTR_pads, &count);
    c.top -= pads[0], c.left -= pads[1], c.bottom += pads[2], c.right += pads[3];
  }
  return c;
}

static int64_t cells(const pool_job *job, const counting *c, uint32_t ox, uint32_t oy) {
  return axis_count(ox, job->stride_x, job->pad_left, job->kw, job->dilation_x, c->left, c->right) *
         axis_count(oy, job->stride_y, job->pad_top, job->kh, job->dilation_y, c->top, c->bottom);
}

/* Requantizes a part of a chunk whose windows have one count. */
static void drain_part(lowering *s, const pool_job *job, const counting *c, uint32_t b, const pixel_chunk *part, uint32_t acc) {
  const qtensor *m = &s->g->tensors[c->n->inputs[1]], *shift = &s->g->tensors[c->n->inputs[2]];
  int64_t index = 0;
  if (!c->is_global) {
    const qtensor *counts = &s->g->tensors[c->n->inputs[3]];
    int64_t wanted = cells(job, c, part->x, part->y);
    while (index < npuc_qtensor_elements(counts) - 1 && npuc_qtensor_value(counts, index) != wanted) index++;
  }
  npuc_lower_scalar_parameters(s, npuc_lower_clamp(c->n), npuc_qtensor_value(m, index), 0, npuc_qtensor_value(shift, index));
  npuc_lower_drain(s, &job->y, b, part, acc);
}

/* A chunk is drained whole where all its windows count alike, else in runs along its rows. */
static void drain_average(lowering *s, const pool_job *job, const counting *c, uint32_t b, const pixel_chunk *chunk, uint32_t acc) {
  bool uniform = true;
  int64_t first = c->is_global ? 0 : cells(job, c, chunk->x, chunk->y);
  for (uint32_t i = 0; i < chunk->nx * chunk->ny && uniform && !c->is_global; i++)
    uniform = cells(job, c, chunk->x + i % chunk->nx, chunk->y + i / chunk->nx) == first;
  if (uniform) {
    drain_part(s, job, c, b, chunk, acc);
    return;
  }
  for (uint32_t iy = 0; iy < chunk->ny; iy++) {
    for (uint32_t ix = 0; ix < chunk->nx;) {
      pixel_chunk part = {.x = chunk->x + ix, .y = chunk->y + iy, .nx = 1, .ny = 1};
      while (ix + part.nx < chunk->nx && cells(job, c, part.x + part.nx, part.y) == cells(job, c, part.x, part.y)) part.nx++;
      drain_part(s, job, c, b, &part, acc + iy * chunk->nx + ix);
      ix += part.nx;
    }
  }
}

void npuc_lower_average_pool(lowering *s, const lower_entry *entry) {
  const qnode *n = &s->g->nodes[entry->node];
  pool_job job = describe(s, n, 1);
  counting c = counting_of(&job, n);
  for (uint32_t b = 0; b < npuc_layout_blocks(&job.y.l); b++) {
    for (uint32_t i = 0; i < npuc_npu_chunk_count(&job.y.l, 1); i++) {
      pixel_chunk chunk = npuc_npu_chunk_at(&job.y.l, 1, i);
      uint32_t acc = npuc_lower_next_half(s);
      emit_pool_chunk(s, &job, b, &chunk, acc);
      drain_average(s, &job, &c, b, &chunk, acc);
    }
  }
}
