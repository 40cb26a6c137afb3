/* SPDX-License-Identifier: Apache-2.0 */
/* Shorthands that several operators' lowerings share. */
#include "npu/lower_internal.h"

placed npuc_lower_tensor(const lowering *s, int32_t tensor) {
  placed p = {.address = s->buffers[s->buffer_of_tensor[tensor]].address, .is_signed = s->g->tensors[tensor].type == DTYPE_I8};
  (void)npuc_npu_layout_of(s->g, &s->program->arch, tensor, &p.l); /* placement has seen that it exists */
  return p;
}

uint32_t npuc_lower_next_half(lowering *s) {
  uint32_t acc = s->half * NPU_PASS_ROWS;
  s->half = 1 - s->half;
  return acc;
}

void npuc_lower_slot(lowering *s, int slot, bool is_signed, int64_t zp, uint64_t pixel_pitch, uint64_t row_pitch) {
  instr in = {.op = ISA_VGEO};
  in.f[NPU_VGEO_slot] = slot;
  in.f[NPU_VGEO_is_signed] = is_signed;
  in.f[NPU_VGEO_zp] = zp;
  in.f[NPU_VGEO_pixel_pitch] = (int64_t)pixel_pitch;
  in.f[NPU_VGEO_row_pitch] = (int64_t)row_pitch;
  npuc_emit_config(&s->e, QUEUE_VECTOR, &in);
}

void npuc_lower_window_source(lowering *s, const placed *x, int64_t zp, int64_t stride_x, int64_t stride_y) {
  instr in = {.op = ISA_VGEO};
  in.f[NPU_VGEO_is_signed] = x->is_signed;
  in.f[NPU_VGEO_zp] = zp;
  in.f[NPU_VGEO_width] = x->l.w;
  in.f[NPU_VGEO_height] = x->l.h;
  in.f[NPU_VGEO_pixel_pitch] = x->l.pitch;
  in.f[NPU_VGEO_row_pitch] = (int64_t)x->l.w * x->l.pitch;
  in.f[NPU_VGEO_stride_x] = stride_x;
  in.f[NPU_VGEO_stride_y] = stride_y;
  npuc_emit_config(&s->e, QUEUE_VECTOR, &in);
}

clamp_attributes npuc_lower_clamp(const qnode *n) {
  return (clamp_attributes){
      .zp = npuc_qnode_int(n, QATTR_y_zero_point, 0), .lo = npuc_qnode_int(n, QATTR_lo, 0), .hi = npuc_qnode_int(n, QATTR_hi, 0)};
}

static instr parameters(clamp_attributes c) {
  instr in = {.op = ISA_VPAR};
  in.f[NPU_VPAR_zp] = c.zp;
  in.f[NPU_VPAR_lo] = c.lo;
  in.f[NPU_VPAR_hi] = c.hi;
  return in;
}

void npuc_lower_scalar_parameters(lowering *s, clamp_attributes c, int64_t m, int64_t mb, int64_t shift) {
  instr in = parameters(c);
  in.f[NPU_VPAR_m] = m;
  in.f[NPU_VPAR_s] = shift;
  in.f[NPU_VPAR_addr] = mb & 0xffff;
  npuc_emit_config(&s->e, QUEUE_VECTOR, &in);
}

void npuc_lower_lane_parameters(lowering *s, clamp_attributes c, uint64_t address) { npuc_lower_row_parameters(s, c, address, 0); }

void npuc_lower_row_parameters(lowering *s, clamp_attributes c, uint64_t address, int64_t count) {
  instr in = parameters(c);
  in.f[NPU_VPAR_per_lane] = 1;
  in.f[NPU_VPAR_bias] = count;
  in.f[NPU_VPAR_addr] = (int64_t)address;
  npuc_emit_lane_parameters(&s->e, &in);
}

void npuc_lower_drain(lowering *s, const placed *y, uint32_t b, const pixel_chunk *chunk, uint32_t acc) {
  uint64_t row_pitch = (uint64_t)y->l.w * y->l.pitch;
  uint64_t block = y->address + b * npuc_layout_block_bytes(&y->l);
  npuc_lower_slot(s, 2, y->is_signed, 0, y->l.pitch, row_pitch);
  instr in = {.op = ISA_VRQ};
  in.f[NPU_VRQ_acc] = acc;
  in.f[NPU_VRQ_dst] = (int64_t)(block + chunk->y * row_pitch + (uint64_t)chunk->x * y->l.pitch);
  in.f[NPU_VRQ_nx] = chunk->nx;
  in.f[NPU_VRQ_ny] = chunk->ny;
  in.f[NPU_VRQ_lanes] = y->l.pitch;
  const mem_access accesses[] = {lower_acc(acc, (uint64_t)chunk->nx * chunk->ny, false),
                                 lower_write((uint64_t)in.f[NPU_VRQ_dst], (chunk->ny - 1) * row_pitch + (uint64_t)chunk->nx * y->l.pitch)};
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, accesses, 2);
}

bool npuc_lower_linear_piece(uint32_t n, uint64_t bytes, uint32_t index, linear_piece *out_piece) {
  /* Rows of 512 pixels (at most 1023 of them: half a megabyte at n8 and more elsewhere), then the pixels left, then the lanes left. */
  const uint64_t row = 512;
  uint64_t pixels = bytes / n, rows = pixels / row < 1023 ? pixels / row : 1023, done = rows * row;
  uint64_t rest = pixels - done, lanes = bytes % n;
  linear_piece pieces[3];
  uint32_t count = 0;
  if (rows) pieces[count++] = (linear_piece){.offset = 0, .nx = (uint32_t)row, .ny = (uint32_t)rows, .lanes = n};
  if (rest) pieces[count++] = (linear_piece){.offset = done * n, .nx = (uint32_t)rest, .ny = 1, .lanes = n};
  if (lanes) pieces[count++] = (linear_piece){.offset = pixels * n, .nx = 1, .ny = 1, .lanes = (uint32_t)lanes};
  if (index >= count) return false;
  *out_piece = pieces[index];
  return true;
}
