/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and Gemm on the array; depthwise convolution on the vector unit.
 *
 *   for each output block: DMA its tiles into the weight ring
 *     for each chunk of output pixels (accumulator halves alternate)
 *       for each tile: LDW, MM
 *       VRQ, and the QAdd behind it on the same bytes */
#include "npu/lower_internal.h"

typedef struct conv_job {
  conv_shape shape;
  placed x, y;
  const qnode *n;
  const int8_t *weights;
  int64_t x_zero_point;
} conv_job;

static conv_job describe(const lowering *s, const qnode *n) {
  conv_job job = {.x = npuc_lower_tensor(s, n->inputs[0]),
                  .y = npuc_lower_tensor(s, n->outputs[0]),
                  .n = n,
                  .weights = s->g->tensors[n->inputs[1]].data,
                  .x_zero_point = npuc_qnode_int(n, QATTR_x_zero_point, 0)};
  conv_shape *c = &job.shape;
  *c = (conv_shape){.x = job.x.l, .y = job.y.l, .kh = 1, .kw = 1, .stride_y = 1, .stride_x = 1, .dilation_y = 1, .dilation_x = 1};
  if (n->op == QOP_QGemm) {
    /* One row: the feature map, flattened or not, is read by a kernel of its own size. Several rows are the pixels of a 1x1 convolution. */
    if (job.y.l.w == 1) c->kh = job.x.l.h, c->kw = job.x.l.w;
    return job;
  }
  uint32_t count;
  const int64_t *strides = npuc_qnode_list(n, QATTR_strides, &count), *dilations = npuc_qnode_list(n, QATTR_dilations, &count),
                *pads = npuc_qnode_list(n, QATTR_pads, &count);
  const int64_t *w = s->g->tensors[n->inputs[1]].dims;
  c->kh = (uint32_t)w[2], c->kw = (uint32_t)w[3];
  c->stride_y = (uint32_t)strides[0], c->stride_x = (uint32_t)strides[1];
  c->dilation_y = (uint32_t)dilations[0], c->dilation_x = (uint32_t)dilations[1];
  c->pad_top = (int32_t)pads[0], c->pad_left = (int32_t)pads[1];
  return job;
}

static void configure_source(lowering *s, const conv_job *job) {
  instr in = {.op = ISA_ACFG};
  in.f[NPU_ACFG_is_signed] = job->x.is_signed;
  in.f[NPU_ACFG_zp] = job->x_zero_point;
  in.f[NPU_ACFG_width] = job->x.l.w;
  in.f[NPU_ACFG_height] = job->x.l.h;
  in.f[NPU_ACFG_row_pitch] = (int64_t)job->x.l.w * job->x.l.pitch;
  in.f[NPU_ACFG_pixel_pitch] = job->x.l.pitch;
  in.f[NPU_ACFG_stride_x] = job->shape.stride_x;
  in.f[NPU_ACFG_stride_y] = job->shape.stride_y;
  npuc_emit_config(&s->e, QUEUE_ARRAY, &in);
}

/* Bytes of the source's block that a window over the chunk touches: whole rows, or columns where there is one row. */
static mem_access window_read(const placed *x, uint32_t block, int64_t x0, int64_t x1, int64_t y0, int64_t y1) {
  uint64_t base = x->address + block * npuc_layout_block_bytes(&x->l), row = (uint64_t)x->l.w * x->l.pitch;
  if (y0 < 0) y0 = 0;
  if (y1 >= x->l.h) y1 = (int64_t)x->l.h - 1;
  if (x0 < 0) x0 = 0;
  if (x1 >= x->l.w) x1 = (int64_t)x->l.w - 1;
  if (y1 < y0 || x1 < x0) return lower_read(base, 0);
  if (x->l.h == 1) return lower_read(base + (uint64_t)x0 * x->l.pitch, (uint64_t)(x1 - x0 + 1) * x->l.pitch);
  return lower_read(base + (uint64_t)y0 * row, (uint64_t)(y1 - y0 + 1) * row);
}

static void emit_pass(lowering *s, const conv_job *job, const weight_tile *t, uint64_t tile_address, uint32_t columns,
                      const pixel_chunk *chunk, uint32_t acc, bool accumulate) {
  const conv_shape *c = &job->shape;
  uint32_t n = c->x.n;
  instr load = {.op = ISA_LDW};
  load.f[NPU_LDW_addr] = (int64_t)tile_address;
  load.f[NPU_LDW_pitch] = n;
  load.f[NPU_LDW_rows] = t->rows;
  load.f[NPU_LDW_cols] = columns;
  npuc_emit_unit(&s->e, QUEUE_ARRAY, &load, &(mem_access){MEMORY_WEIGHTS, tile_address, tile_address + (uint64_t)t->rows * n, false}, 1);

  int64_t x0 = (int64_t)chunk->x * c->stride_x - c->pad_left + (int64_t)t->kx * c->dilation_x;
  int64_t y0 = (int64_t)chunk->y * c->stride_y - c->pad_top + (int64_t)t->ky * c->dilation_y;
  instr pass = {.op = ISA_MM};
  pass.f[NPU_MM_accumulate] = accumulate;
  pass.f[NPU_MM_swap] = 1;
  pass.f[NPU_MM_base] = (int64_t)(job->x.address + t->block * npuc_layout_block_bytes(&c->x));
  pass.f[NPU_MM_x0] = x0;
  pass.f[NPU_MM_y0] = y0;
  pass.f[NPU_MM_nx] = chunk->nx;
  pass.f[NPU_MM_ny] = chunk->ny;
  pass.f[NPU_MM_acc] = acc;
  const mem_access accesses[] = {window_read(&job->x, t->block, x0, x0 + (int64_t)(chunk->nx - 1) * c->stride_x + t->taps - 1, y0,
                                             y0 + (int64_t)(chunk->ny - 1) * c->stride_y),
                                 lower_acc(acc, (uint64_t)chunk->nx * chunk->ny, true)};
  npuc_emit_unit(&s->e, QUEUE_ARRAY, &pass, accesses, 2);
}

/* -- weight ring -- */

/* A stretch of tiles that is in the weight buffer together. */
typedef struct tile_group {
  uint32_t first, count;
  uint64_t bytes;
} tile_group;

static tile_group group_from(const conv_shape *c, uint32_t first, uint64_t limit) {
  tile_group group = {.first = first};
  for (uint32_t i = first; i < npuc_npu_tile_count(c); i++) {
    weight_tile t = npuc_npu_tile_at(c, i);
    if (group.count > 0 && group.bytes + (uint64_t)t.rows * c->x.n > limit) break;
    group.bytes += (uint64_t)t.rows * c->x.n;
    group.count++;
  }
  return group;
}

static uint64_t load_group(lowering *s, uint64_t constant_offset, uint64_t bytes) {
  if (s->weight_cursor + bytes > s->program->arch.weight_buffer_bytes) s->weight_cursor = 0;
  uint64_t address = s->weight_cursor;
  s->weight_cursor += (uint32_t)bytes;
  instr in = {.op = ISA_DLD};
  in.f[NPU_DLD_mem] = 1;
  in.f[NPU_DLD_dram] = (int64_t)constant_offset;
  in.f[NPU_DLD_local] = (int64_t)address;
  in.f[NPU_DLD_bytes] = (int64_t)bytes;
  in.f[NPU_DLD_rows] = 1;
  npuc_emit_unit(&s->e, QUEUE_DMA0, &in, &(mem_access){MEMORY_WEIGHTS, address, address + bytes, true}, 1);
  return address;
}

static uint64_t pack_tiles(lowering *s, const conv_job *job, uint32_t ob) {
  const conv_shape *c = &job->shape;
  uint64_t offset, bytes = group_from(c, 0, UINT64_MAX).bytes;
  uint8_t *out = npuc_npu_program_add_constant(s->program, bytes, &offset);
  for (uint32_t i = 0; i < npuc_npu_tile_count(c); i++) {
    weight_tile t = npuc_npu_tile_at(c, i);
    npuc_npu_tile_pack(c, &t, ob, job->weights, out);
    out += (size_t)t.rows * c->x.n;
  }
  return offset;
}

static void emit_group(lowering *s, const conv_job *job, const tile_group *group, uint64_t address, uint32_t columns,
                       const pixel_chunk *chunk, uint32_t acc) {
  for (uint32_t i = 0; i < group->count; i++) {
    weight_tile t = npuc_npu_tile_at(&job->shape, group->first + i);
    emit_pass(s, job, &t, address, columns, chunk, acc, group->first + i > 0);
    address += (uint64_t)t.rows * job->shape.x.n;
  }
}

/* -- one output block -- */

static void finish_chunk(lowering *s, const lower_entry *entry, const conv_job *job, uint32_t ob, const pixel_chunk *chunk, uint32_t acc) {
  npuc_lower_lane_parameters(s, npuc_lower_clamp(job->n), lower_image_address(s, entry) + (uint64_t)ob * 8 * job->shape.x.n);
  npuc_lower_drain(s, &job->y, ob, chunk, acc);
  if (entry->fused_add < 0) return;
  const layout *l = &job->y.l;
  uint64_t row = (uint64_t)l->w * l->pitch, begin = ob * npuc_layout_block_bytes(l) + chunk->y * row;
  s->e.node = (uint32_t)entry->fused_add;
  npuc_lower_add_range(s, &s->g->nodes[entry->fused_add], begin + (chunk->nx == l->w ? 0 : (uint64_t)chunk->x * l->pitch),
                       chunk->nx == l->w ? chunk->ny * row : (uint64_t)chunk->nx * l->pitch);
  s->e.node = entry->node;
}

static void emit_block(lowering *s, const lower_entry *entry, const conv_job *job, uint32_t ob, uint32_t least_chunks) {
  const conv_shape *c = &job->shape;
  const layout *y = &job->y.l;
  uint32_t columns = y->c - ob * y->n < y->n ? y->c - ob * y->n : y->n;
  uint64_t limit = s->program->arch.weight_buffer_bytes / 2, constants = pack_tiles(s, job, ob), address = 0;
  tile_group whole = group_from(c, 0, limit);
  bool stays = whole.count == npuc_npu_tile_count(c);
  if (stays) address = load_group(s, constants, whole.bytes);
  for (uint32_t i = 0; i < npuc_npu_chunk_count(y, least_chunks); i++) {
    pixel_chunk chunk = npuc_npu_chunk_at(y, least_chunks, i);
    uint32_t acc = npuc_lower_next_half(s);
    if (stays) {
      emit_group(s, job, &whole, address, columns, &chunk, acc);
    } else {
      /* Too many tiles to stay: they stream through the ring again for every chunk. */
      uint64_t offset = constants;
      for (tile_group group = whole; group.count > 0; group = group_from(c, group.first + group.count, limit)) {
        emit_group(s, job, &group, load_group(s, offset, group.bytes), columns, &chunk, acc);
        offset += group.bytes;
      }
    }
    finish_chunk(s, entry, job, ob, &chunk, acc);
  }
}

void npuc_lower_conv(lowering *s, const lower_entry *entry) {
  conv_job job = describe(s, &s->g->nodes[entry->node]);
  configure_source(s, &job);
  uint32_t blocks = npuc_layout_blocks(&job.y.l);
  for (uint32_t ob = 0; ob < blocks; ob++) emit_block(s, entry, &job, ob, blocks == 1 ? 2 : 1);
}

/* -- depthwise -- */

static void emit_tap(lowering *s, const conv_job *job, uint32_t b, uint32_t tap, const pixel_chunk *chunk, uint32_t acc, uint64_t weights) {
  const conv_shape *c = &job->shape;
  uint32_t ky = tap / c->kw, kx = tap % c->kw;
  int64_t x0 = (int64_t)chunk->x * c->stride_x - c->pad_left + (int64_t)kx * c->dilation_x;
  int64_t y0 = (int64_t)chunk->y * c->stride_y - c->pad_top + (int64_t)ky * c->dilation_y;
  instr in = {.op = ISA_VWIN};
  in.f[NPU_VWIN_accumulate] = tap > 0;
  in.f[NPU_VWIN_base] = (int64_t)(job->x.address + b * npuc_layout_block_bytes(&c->x));
  in.f[NPU_VWIN_x0] = x0;
  in.f[NPU_VWIN_y0] = y0;
  in.f[NPU_VWIN_nx] = chunk->nx;
  in.f[NPU_VWIN_ny] = chunk->ny;
  in.f[NPU_VWIN_acc] = acc;
  in.f[NPU_VWIN_weights] = (int64_t)weights;
  const mem_access accesses[] = {
      window_read(&job->x, b, x0, x0 + (int64_t)(chunk->nx - 1) * c->stride_x, y0, y0 + (int64_t)(chunk->ny - 1) * c->stride_y),
      lower_read(weights, c->x.n), lower_acc(acc, (uint64_t)chunk->nx * chunk->ny, true)};
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, accesses, 3);
}

void npuc_lower_depthwise(lowering *s, const lower_entry *entry) {
  conv_job job = describe(s, &s->g->nodes[entry->node]);
  const conv_shape *c = &job.shape;
  uint32_t n = c->x.n, blocks = npuc_layout_blocks(&job.y.l);
  uint64_t image = lower_image_address(s, entry), weights = image + (uint64_t)blocks * 8 * n;
  for (uint32_t b = 0; b < blocks; b++) {
    for (uint32_t i = 0; i < npuc_npu_chunk_count(&job.y.l, 1); i++) {
      pixel_chunk chunk = npuc_npu_chunk_at(&job.y.l, 1, i);
      uint32_t acc = npuc_lower_next_half(s);
      npuc_lower_window_source(s, &job.x, job.x_zero_point, c->stride_x, c->stride_y);
      for (uint32_t tap = 0; tap < c->kh * c->kw; tap++) emit_tap(s, &job, b, tap, &chunk, acc, weights + ((uint64_t)tap * blocks + b) * n);
      finish_chunk(s, entry, &job, b, &chunk, acc);
    }
  }
}
