/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators and softmax. Operands of one geometry are dense memory: they are walked N bytes at a time whatever their pixels are; padding lanes compute along. */
#include "npu/lower_internal.h"

/* -- add and multiply -- */

static int64_t parameter(const lowering *s, const qnode *n, int32_t input) {
  return npuc_qtensor_value(&s->g->tensors[n->inputs[input]], 0);
}

static void binary_parameters(lowering *s, const qnode *n) {
  if (n->op == QOP_QAdd)
    npuc_lower_scalar_parameters(s, npuc_lower_clamp(n), parameter(s, n, 2), parameter(s, n, 3), parameter(s, n, 4));
  else
    npuc_lower_scalar_parameters(s, npuc_lower_clamp(n), parameter(s, n, 2), 0, parameter(s, n, 3));
}

static instr binary_instruction(const qnode *n) {
  instr in = {.op = ISA_VBIN};
  in.f[NPU_VBIN_op] = n->op == QOP_QAdd ? 0 : 1;
  return in;
}

void npuc_lower_add_range(lowering *s, const qnode *n, uint64_t begin, uint64_t bytes) {
  placed a = npuc_lower_tensor(s, n->inputs[0]), b = npuc_lower_tensor(s, n->inputs[1]), y = npuc_lower_tensor(s, n->outputs[0]);
  uint32_t lanes = y.l.n;
  linear_piece piece;
  binary_parameters(s, n);
  for (uint32_t i = 0; npuc_lower_linear_piece(lanes, bytes, i, &piece); i++) {
    uint64_t at = begin + piece.offset, row = (uint64_t)piece.nx * lanes,
             touched = (uint64_t)(piece.ny - 1) * row + (uint64_t)(piece.nx - 1) * lanes + piece.lanes;
    npuc_lower_slot(s, 0, a.is_signed, npuc_qnode_int(n, QATTR_a_zero_point, 0), lanes, row);
    npuc_lower_slot(s, 1, b.is_signed, npuc_qnode_int(n, QATTR_b_zero_point, 0), lanes, row);
    npuc_lower_slot(s, 2, y.is_signed, 0, lanes, row);
    instr in = binary_instruction(n);
    in.f[NPU_VBIN_a] = (int64_t)(a.address + at);
    in.f[NPU_VBIN_b] = (int64_t)(b.address + at);
    in.f[NPU_VBIN_dst] = (int64_t)(y.address + at);
    in.f[NPU_VBIN_nx] = piece.nx;
    in.f[NPU_VBIN_ny] = piece.ny;
    in.f[NPU_VBIN_lanes] = piece.lanes;
    const mem_access accesses[] = {lower_read(a.address + at, touched), lower_read(b.address + at, touched),
                                   lower_write(y.address + at, touched)};
    npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, accesses, 3);
  }
}

/* A slot that walks the tensor's pixels, or repeats its single one. */
static void broadcast_slot(lowering *s, int slot, const placed *t, const placed *y, int64_t zp) {
  bool repeats = t->l.h * t->l.w == 1 && y->l.h * y->l.w > 1;
  npuc_lower_slot(s, slot, t->is_signed, zp, repeats ? 0 : t->l.pitch, repeats ? 0 : (uint64_t)t->l.w * t->l.pitch);
}

static void lower_broadcast(lowering *s, const qnode *n, const placed *a, const placed *b, const placed *y) {
  binary_parameters(s, n);
  /* Rows of at most 1023 pixels and 1023 rows: tensors of 2047 are walked in parts. */
  const uint32_t most = 1023;
  for (uint32_t block = 0; block < npuc_layout_blocks(&y->l); block++) {
    for (uint32_t y0 = 0; y0 < y->l.h; y0 += most) {
      for (uint32_t x0 = 0; x0 < y->l.w; x0 += most) {
        uint32_t nx = y->l.w - x0 < most ? y->l.w - x0 : most, ny = y->l.h - y0 < most ? y->l.h - y0 : most;
        uint64_t at = ((uint64_t)y0 * y->l.w + x0) * y->l.pitch;
        uint64_t base[2];
        const placed *sides[2] = {a, b};
        for (int i = 0; i < 2; i++) {
          bool repeats = sides[i]->l.h * sides[i]->l.w == 1;
          base[i] = sides[i]->address + block * npuc_layout_block_bytes(&sides[i]->l) + (repeats ? 0 : at);
        }
        broadcast_slot(s, 0, a, y, npuc_qnode_int(n, QATTR_a_zero_point, 0));
        broadcast_slot(s, 1, b, y, npuc_qnode_int(n, QATTR_b_zero_point, 0));
        broadcast_slot(s, 2, y, y, 0);
        instr in = binary_instruction(n);
        in.f[NPU_VBIN_a] = (int64_t)base[0];
        in.f[NPU_VBIN_b] = (int64_t)base[1];
        in.f[NPU_VBIN_dst] = (int64_t)(y->address + block * npuc_layout_block_bytes(&y->l) + at);
        in.f[NPU_VBIN_nx] = nx;
        in.f[NPU_VBIN_ny] = ny;
        in.f[NPU_VBIN_lanes] = y->l.pitch;
        const mem_access accesses[] = {lower_read(a->address, npuc_layout_bytes(&a->l)), lower_read(b->address, npuc_layout_bytes(&b->l)),
                                       lower_write(y->address, npuc_layout_bytes(&y->l))};
        npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, accesses, 3);
      }
    }
  }
}

void npuc_lower_binary(lowering *s, const lower_entry *entry) {
  const qnode *n = &s->g->nodes[entry->node];
  placed a = npuc_lower_tensor(s, n->inputs[0]), b = npuc_lower_tensor(s, n->inputs[1]), y = npuc_lower_tensor(s, n->outputs[0]);
  if (npuc_layout_same(&a.l, &y.l) && npuc_layout_same(&b.l, &y.l))
    npuc_lower_add_range(s, n, 0, npuc_layout_bytes(&y.l));
  else
    lower_broadcast(s, n, &a, &b, &y);
}

/* -- requantize and lookup -- */

void npuc_lower_unary(lowering *s, const lower_entry *entry) {
  const qnode *n = &s->g->nodes[entry->node];
  placed x = npuc_lower_tensor(s, n->inputs[0]), y = npuc_lower_tensor(s, n->outputs[0]);
  bool lookup = n->op == QOP_Lookup;
  uint32_t lanes = y.l.n;
  linear_piece piece;
  if (!lookup) npuc_lower_scalar_parameters(s, npuc_lower_clamp(n), parameter(s, n, 1), 0, parameter(s, n, 2));
  for (uint32_t i = 0; npuc_lower_linear_piece(lanes, npuc_layout_bytes(&y.l), i, &piece); i++) {
    uint64_t row = (uint64_t)piece.nx * lanes, touched = (uint64_t)(piece.ny - 1) * row + (uint64_t)(piece.nx - 1) * lanes + piece.lanes;
    npuc_lower_slot(s, 0, x.is_signed, npuc_qnode_int(n, QATTR_x_zero_point, 0), lanes, row);
    npuc_lower_slot(s, 2, y.is_signed, 0, lanes, row);
    instr in = {.op = ISA_VMOV};
    in.f[NPU_VMOV_op] = lookup ? 2 : 1;
    in.f[NPU_VMOV_src] = (int64_t)(x.address + piece.offset);
    in.f[NPU_VMOV_dst] = (int64_t)(y.address + piece.offset);
    in.f[NPU_VMOV_nx] = piece.nx;
    in.f[NPU_VMOV_ny] = piece.ny;
    in.f[NPU_VMOV_lanes] = piece.lanes;
    if (lookup) in.f[NPU_VMOV_table] = (int64_t)lower_image_address(s, entry);
    const mem_access accesses[] = {lower_read(x.address + piece.offset, touched), lower_write(y.address + piece.offset, touched),
                                   lower_read((uint64_t)in.f[NPU_VMOV_table], lookup ? 256 : 0)};
    npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, accesses, 3);
  }
}

/* -- softmax over channels: each pixel is a row -- */

typedef struct softmax_job {
  placed x, y;
  uint64_t high, low; /* planes of e, y's geometry */
  uint64_t table;
  uint32_t rows, blocks, last_lanes;
  uint64_t block_bytes;
} softmax_job;

static uint32_t lanes_of(const softmax_job *j, uint32_t block) { return block + 1 == j->blocks ? j->last_lanes : j->x.l.n; }

static void reduce(lowering *s, const softmax_job *j, int mode, bool wide, uint32_t block) {
  uint64_t offset = block * j->block_bytes;
  npuc_lower_slot(s, 0, wide ? false : j->x.is_signed, 0, j->x.l.pitch, 0);
  instr in = {.op = ISA_VRED};
  in.f[NPU_VRED_mode] = mode;
  in.f[NPU_VRED_accumulate] = block > 0;
  in.f[NPU_VRED_wide] = wide;
  in.f[NPU_VRED_src] = (int64_t)((wide ? j->high : j->x.address) + offset);
  in.f[NPU_VRED_src_lo] = wide ? (int64_t)(j->low + offset) : 0;
  in.f[NPU_VRED_nx] = j->rows;
  in.f[NPU_VRED_ny] = 1;
  in.f[NPU_VRED_lanes] = lanes_of(j, block);
  const mem_access accesses[] = {lower_read((uint64_t)in.f[NPU_VRED_src], j->block_bytes),
                                 lower_read((uint64_t)in.f[NPU_VRED_src_lo], wide ? j->block_bytes : 0)};
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, accesses, 2);
}

static void exponentials(lowering *s, const softmax_job *j, uint32_t block) {
  uint64_t offset = block * j->block_bytes;
  npuc_lower_slot(s, 0, j->x.is_signed, 0, j->x.l.pitch, 0);
  npuc_lower_slot(s, 2, false, 0, j->x.l.pitch, 0);
  instr in = {.op = ISA_VEXP};
  in.f[NPU_VEXP_src] = (int64_t)(j->x.address + offset);
  in.f[NPU_VEXP_dst] = (int64_t)(j->high + offset);
  in.f[NPU_VEXP_dst_lo] = (int64_t)(j->low + offset);
  in.f[NPU_VEXP_table] = (int64_t)j->table;
  in.f[NPU_VEXP_nx] = j->rows;
  in.f[NPU_VEXP_lanes] = lanes_of(j, block);
  const mem_access accesses[] = {lower_read(j->x.address + offset, j->block_bytes), lower_read(j->table, 512),
                                 lower_write(j->high + offset, j->block_bytes), lower_write(j->low + offset, j->block_bytes)};
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, accesses, 4);
}

static void quotients(lowering *s, const softmax_job *j, uint32_t block, int64_t scale) {
  uint64_t offset = block * j->block_bytes;
  npuc_lower_slot(s, 0, false, 0, j->x.l.pitch, 0);
  npuc_lower_slot(s, 2, j->y.is_signed, 0, j->x.l.pitch, 0);
  instr in = {.op = ISA_VNRM};
  in.f[NPU_VNRM_wide] = 1;
  in.f[NPU_VNRM_final] = 1;
  in.f[NPU_VNRM_src] = (int64_t)(j->high + offset);
  in.f[NPU_VNRM_src_lo] = (int64_t)(j->low + offset);
  in.f[NPU_VNRM_dst] = (int64_t)(j->y.address + offset);
  in.f[NPU_VNRM_nx] = j->rows;
  in.f[NPU_VNRM_lanes] = lanes_of(j, block);
  in.f[NPU_VNRM_shift] = -scale;
  const mem_access accesses[] = {lower_read(j->high + offset, j->block_bytes), lower_read(j->low + offset, j->block_bytes),
                                 lower_write(j->y.address + offset, j->block_bytes)};
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, accesses, 3);
}

void npuc_lower_softmax(lowering *s, const lower_entry *entry) {
  const qnode *n = &s->g->nodes[entry->node];
  softmax_job j = {
      .x = npuc_lower_tensor(s, n->inputs[0]), .y = npuc_lower_tensor(s, n->outputs[0]), .table = lower_image_address(s, entry)};
  j.high = s->buffers[entry->temporaries[0]].address;
  j.low = s->buffers[entry->temporaries[1]].address;
  j.rows = j.x.l.h * j.x.l.w;
  j.blocks = npuc_layout_blocks(&j.x.l);
  j.last_lanes = j.x.l.c - (j.blocks - 1) * j.x.l.n;
  j.block_bytes = npuc_layout_block_bytes(&j.x.l);
  for (uint32_t b = 0; b < j.blocks; b++) reduce(s, &j, 0, false, b);
  for (uint32_t b = 0; b < j.blocks; b++) exponentials(s, &j, b);
  for (uint32_t b = 0; b < j.blocks; b++) reduce(s, &j, 1, true, b);
  instr row = {.op = ISA_VROW};
  row.f[NPU_VROW_n] = j.rows;
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &row, NULL, 0);
  npuc_lower_scalar_parameters(s, npuc_lower_clamp(n), 0, 0, 0);
  int64_t scale = npuc_qtensor_value(&s->g->tensors[n->inputs[2]], 0);
  for (uint32_t b = 0; b < j.blocks; b++) quotients(s, &j, b, scale);
}
