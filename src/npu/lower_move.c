/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move elements: Concat, Split, Slice, Pad. All are boxes of channels, rows and columns copied from one tensor to another; a box of channels is cut where
 * a block of either tensor ends, and the vector unit's byte rotator shifts lanes. */
#include "npu/lower_internal.h"

/* count[i] elements along axis i (0 channels, 1 rows, 2 columns), the k-th from from[i] + k*step[i] to to[i] + k. */
typedef struct box {
  uint32_t from[3], step[3], to[3], count[3];
} box;

/* Copies `lanes` lanes of every pixel of the box. */
static void copy_lanes(lowering *s, const placed *x, const placed *y, const box *b, uint32_t from_channel, uint32_t to_channel,
                       uint32_t lanes) {
  uint64_t from = x->address + from_channel / x->l.n * npuc_layout_block_bytes(&x->l) + from_channel % x->l.n;
  uint64_t to = y->address + to_channel / y->l.n * npuc_layout_block_bytes(&y->l) + to_channel % y->l.n;
  uint64_t from_row = (uint64_t)x->l.w * x->l.pitch, to_row = (uint64_t)y->l.w * y->l.pitch;
  const uint32_t most = 1023;
  npuc_lower_slot(s, 0, x->is_signed, 0, (uint64_t)b->step[2] * x->l.pitch, b->step[1] * from_row);
  npuc_lower_slot(s, 2, y->is_signed, 0, y->l.pitch, to_row);
  for (uint32_t y0 = 0; y0 < b->count[1]; y0 += most) {
    for (uint32_t x0 = 0; x0 < b->count[2]; x0 += most) {
      uint32_t nx = b->count[2] - x0 < most ? b->count[2] - x0 : most, ny = b->count[1] - y0 < most ? b->count[1] - y0 : most;
      instr in = {.op = ISA_VMOV};
      in.f[NPU_VMOV_src] =
          (int64_t)(from + (b->from[1] + (uint64_t)y0 * b->step[1]) * from_row + (b->from[2] + (uint64_t)x0 * b->step[2]) * x->l.pitch);
      in.f[NPU_VMOV_dst] = (int64_t)(to + (uint64_t)(b->to[1] + y0) * to_row + (uint64_t)(b->to[2] + x0) * y->l.pitch);
      in.f[NPU_VMOV_nx] = nx;
      in.f[NPU_VMOV_ny] = ny;
      in.f[NPU_VMOV_lanes] = lanes;
      const mem_access accesses[] = {
          lower_read((uint64_t)in.f[NPU_VMOV_src], (ny - 1) * b->step[1] * from_row + (uint64_t)(nx - 1) * b->step[2] * x->l.pitch + lanes),
          lower_write((uint64_t)in.f[NPU_VMOV_dst], (ny - 1) * to_row + (uint64_t)(nx - 1) * y->l.pitch + lanes)};
      npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, accesses, 2);
    }
  }
}

static uint32_t least3(uint32_t a, uint32_t b, uint32_t c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }

static void copy_box(lowering *s, const placed *x, const placed *y, const box *b) {
  uint32_t n = x->l.n;
  for (uint32_t done = 0; done < b->count[0];) {
    uint32_t from = b->from[0] + done * b->step[0], to = b->to[0] + done;
    /* With a channel step every lane moves alone. */
    uint32_t lanes = b->step[0] == 1 ? least3(n - from % n, n - to % n, b->count[0] - done) : 1;
    copy_lanes(s, x, y, b, from, to, lanes);
    done += lanes;
  }
}

static box whole(const layout *l) { return (box){.step = {1, 1, 1}, .count = {l->c, l->h, l->w}}; }

/* Axis of the machine's layout for an axis of the dense tensor; -1 for axes of size 1 that the layout has not. */
static int machine_axis(const qtensor *t, int64_t axis) {
  if (axis < 0) axis += t->rank;
  if (t->rank == 4) return axis == 0 ? -1 : (int)axis - 1;
  return axis == t->rank - 1 ? 0 : axis == t->rank - 2 ? 2 : -1;
}

void npuc_lower_concat(lowering *s, const lower_entry *entry) {
  const qnode *n = &s->g->nodes[entry->node];
  placed y = npuc_lower_tensor(s, n->outputs[0]);
  int axis = machine_axis(&s->g->tensors[n->outputs[0]], npuc_qnode_int(n, QATTR_axis, 0));
  uint32_t at = 0;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    placed x = npuc_lower_tensor(s, n->inputs[i]);
    box b = whole(&x.l);
    if (axis >= 0) {
      b.to[axis] = at;
      at += b.count[axis];
    }
    copy_box(s, &x, &y, &b);
  }
}

void npuc_lower_split(lowering *s, const lower_entry *entry) {
  const qnode *n = &s->g->nodes[entry->node];
  placed x = npuc_lower_tensor(s, n->inputs[0]);
  int axis = machine_axis(&s->g->tensors[n->inputs[0]], npuc_qnode_int(n, QATTR_axis, 0));
  uint32_t at = 0;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    placed y = npuc_lower_tensor(s, n->outputs[i]);
    box b = whole(&y.l);
    if (axis >= 0) {
      b.from[axis] = at;
      at += b.count[axis];
    }
    copy_box(s, &x, &y, &b);
  }
}

void npuc_lower_slice(lowering *s, const lower_entry *entry) {
  const qnode *n = &s->g->nodes[entry->node];
  placed x = npuc_lower_tensor(s, n->inputs[0]), y = npuc_lower_tensor(s, n->outputs[0]);
  uint32_t count;
  const int64_t *starts = npuc_qnode_list(n, QATTR_starts, &count), *axes = npuc_qnode_list(n, QATTR_axes, &count),
                *steps = npuc_qnode_list(n, QATTR_steps, &count);
  box b = whole(&y.l);
  for (uint32_t i = 0; i < count; i++) {
    int axis = machine_axis(&s->g->tensors[n->inputs[0]], axes[i]);
    if (axis < 0) continue;
    b.from[axis] = (uint32_t)starts[i];
    b.step[axis] = b.count[axis] > 1 ? (uint32_t)steps[i] : 1; /* one element has no step */
  }
  copy_box(s, &x, &y, &b);
}

static void fill(lowering *s, const placed *y, int64_t value) {
  linear_piece piece;
  for (uint32_t i = 0; npuc_lower_linear_piece(y->l.n, npuc_layout_bytes(&y->l), i, &piece); i++) {
    uint64_t row = (uint64_t)piece.nx * y->l.n;
    npuc_lower_slot(s, 2, y->is_signed, 0, y->l.n, row);
    instr in = {.op = ISA_VFIL};
    in.f[NPU_VFIL_value] = value & 255;
    in.f[NPU_VFIL_dst] = (int64_t)(y->address + piece.offset);
    in.f[NPU_VFIL_nx] = piece.nx;
    in.f[NPU_VFIL_ny] = piece.ny;
    in.f[NPU_VFIL_lanes] = piece.lanes;
    npuc_emit_unit(&s->e, QUEUE_VECTOR, &in,
                   &(mem_access){MEMORY_SCRATCHPAD, y->address + piece.offset,
                                 y->address + piece.offset + (piece.ny - 1) * row + (uint64_t)(piece.nx - 1) * y->l.n + piece.lanes, true},
                   1);
  }
}

void npuc_lower_pad(lowering *s, const lower_entry *entry) {
  const qnode *n = &s->g->nodes[entry->node];
  placed x = npuc_lower_tensor(s, n->inputs[0]), y = npuc_lower_tensor(s, n->outputs[0]);
  const qtensor *dense = &s->g->tensors[n->inputs[0]];
  uint32_t count;
  const int64_t *pads = npuc_qnode_list(n, QATTR_pads, &count);
  fill(s, &y, npuc_qnode_int(n, QATTR_value, 0));
  box b = whole(&x.l);
  for (int32_t i = 0; i < dense->rank; i++) {
    int axis = machine_axis(dense, i);
    if (axis >= 0) b.to[axis] = (uint32_t)pads[i];
  }
  copy_box(s, &x, &y, &b);
}
