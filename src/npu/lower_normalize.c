/* SPDX-License-Identifier: Apache-2.0 */
/* QNormalize on the vector unit. A row is what is normalized together: the channels of a pixel, or some channels of all pixels (a group).
 *
 * The row file has three ranges of RANGE entries: SUMS (sum, then r and e of the reciprocal root), SQUARES (sum of squares, then the variance) and ZEROS.
 *
 *   rows that are pixels   VRED over the blocks for up to RANGE pixels at once; VROW variance, rsqrt; VNRM block by block
 *   groups                 VRED of all pixels into one entry, for each part of a block that the group has; its sum and variance are copied to the entries behind
 *                          it (VROW variance with factor 1 and nothing to take off: each entry reads the one before), since VNRM takes an entry for each pixel
 *
 * VROW has 16 bits for n and 32 for epsilon = n*more + rest: more is added to the squares before, as often as 32 bits need it. Without centring, SUMS are zeros. */
#include "npu/lower_internal.h"

enum { RANGE = 160, SUMS = 0, SQUARES = RANGE, ZEROS = 2 * RANGE, MOST_COUNT = 1023 };

typedef struct normal_job {
  const qnode *n;
  placed x, y;
  int64_t zp, count, epsilon;
  bool centre;
  uint64_t zero;  /* address of N zeros */
  uint64_t image; /* lane parameters, 8 bytes a channel */
  uint64_t pixels;
} normal_job;

/* Lanes [lane, lane + lanes) of a block. */
typedef struct part {
  uint32_t block, lane, lanes;
} part;

static part part_of(const normal_job *j, uint32_t first_channel, uint32_t end_channel) {
  part p = {first_channel / j->x.l.n, first_channel % j->x.l.n, end_channel - first_channel};
  if (p.lane + p.lanes > j->x.l.n) p.lanes = j->x.l.n - p.lane;
  return p;
}

static uint64_t address_of(const placed *t, const part *p, uint64_t pixel) {
  return t->address + p->block * npuc_layout_block_bytes(&t->l) + pixel * t->l.pitch + p->lane;
}

/* RF[rf + ix].v of nx entries: mode 1 the sum, 2 the sum of squares, over ny pixels and the part's lanes. Steps of 0 repeat. */
static void reduce(lowering *s, const normal_job *j, int mode, bool accumulate, uint32_t rf, uint64_t from, uint32_t lanes, uint32_t nx,
                   uint32_t ny) {
  uint64_t pitch = j->x.l.pitch;
  npuc_lower_slot(s, 0, j->x.is_signed, j->zp, nx > 1 ? pitch : 0, ny > 1 ? pitch : 0);
  instr in = {.op = ISA_VRED};
  in.f[NPU_VRED_mode] = mode;
  in.f[NPU_VRED_accumulate] = accumulate;
  in.f[NPU_VRED_src] = (int64_t)from;
  in.f[NPU_VRED_nx] = nx;
  in.f[NPU_VRED_ny] = ny;
  in.f[NPU_VRED_lanes] = lanes;
  in.f[NPU_VRED_rf] = rf;
  const mem_access access = lower_read(from, ((uint64_t)(nx - 1) + (ny - 1)) * pitch + lanes);
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, &access, 1);
}

/* n entries from rf are 0: sums of a byte that is 0. */
static void clear(lowering *s, const normal_job *j, uint32_t rf, uint32_t n) {
  npuc_lower_slot(s, 0, false, 0, 0, 0);
  instr in = {.op = ISA_VRED};
  in.f[NPU_VRED_mode] = 1;
  in.f[NPU_VRED_src] = (int64_t)j->zero;
  in.f[NPU_VRED_nx] = n;
  in.f[NPU_VRED_ny] = 1;
  in.f[NPU_VRED_lanes] = 1;
  in.f[NPU_VRED_rf] = rf;
  const mem_access access = lower_read(j->zero, 1);
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, &access, 1);
}

static void row_function(lowering *s, int op, uint32_t dst, uint32_t a, uint32_t b, uint32_t n, int64_t count, int64_t more) {
  instr in = {.op = ISA_VROW};
  in.f[NPU_VROW_op] = op;
  in.f[NPU_VROW_dst] = dst;
  in.f[NPU_VROW_a] = a;
  in.f[NPU_VROW_b] = b;
  in.f[NPU_VROW_n] = n;
  in.f[NPU_VROW_cnt] = count;
  in.f[NPU_VROW_add] = more != 0;
  in.f[NPU_VROW_imm] = more;
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, NULL, 0);
}

enum { RSQRT = 1, VARIANCE = 2 };

/* SQUARES become variances, of n entries. */
static void variances(lowering *s, const normal_job *j, uint32_t n) {
  int64_t more = j->epsilon / j->count;
  while (more > 0) {
    int64_t now = more < UINT32_MAX ? more : UINT32_MAX;
    row_function(s, VARIANCE, SQUARES, SQUARES, ZEROS, n, 1, now);
    more -= now;
  }
  row_function(s, VARIANCE, SQUARES, SQUARES, SUMS, n, j->count, j->epsilon % j->count);
}

/* Pixels [first, first + n) of the part, by the entries from SUMS on. */
static void normalize(lowering *s, const normal_job *j, const part *p, uint64_t first, uint32_t n) {
  uint64_t from = address_of(&j->x, p, first), to = address_of(&j->y, p, first), bytes = (uint64_t)(n - 1) * j->x.l.pitch + p->lanes;
  npuc_lower_row_parameters(s, npuc_lower_clamp(j->n), j->image + 8 * ((uint64_t)p->block * j->x.l.n + p->lane), j->count);
  npuc_lower_slot(s, 0, j->x.is_signed, j->zp, j->x.l.pitch, 0);
  npuc_lower_slot(s, 2, j->y.is_signed, 0, j->y.l.pitch, 0);
  instr in = {.op = ISA_VNRM};
  in.f[NPU_VNRM_centre] = 1;
  in.f[NPU_VNRM_src] = (int64_t)from;
  in.f[NPU_VNRM_dst] = (int64_t)to;
  in.f[NPU_VNRM_nx] = n;
  in.f[NPU_VNRM_lanes] = p->lanes;
  in.f[NPU_VNRM_rf] = SUMS;
  in.f[NPU_VNRM_shift] = -12; /* 12 bits of fraction */
  const mem_access accesses[] = {lower_read(from, bytes), lower_write(to, bytes)};
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, accesses, 2);
}

static void rows_of_pixels(lowering *s, const normal_job *j) {
  for (uint64_t first = 0; first < j->pixels; first += RANGE) {
    uint32_t n = j->pixels - first < RANGE ? (uint32_t)(j->pixels - first) : RANGE;
    if (!j->centre) clear(s, j, SUMS, n);
    for (int mode = j->centre ? 1 : 2; mode <= 2; mode++) {
      for (uint32_t c = 0; c < j->x.l.c; c += j->x.l.n) {
        part p = part_of(j, c, j->x.l.c);
        reduce(s, j, mode, c > 0, mode == 1 ? SUMS : SQUARES, address_of(&j->x, &p, first), p.lanes, n, 1);
      }
    }
    variances(s, j, n);
    row_function(s, RSQRT, SUMS, SQUARES, 0, n, 0, 0);
    for (uint32_t c = 0; c < j->x.l.c; c += j->x.l.n) {
      part p = part_of(j, c, j->x.l.c);
      normalize(s, j, &p, first, n);
    }
  }
}

static void sums_of_group(lowering *s, const normal_job *j, uint32_t begin, uint32_t end) {
  if (!j->centre) clear(s, j, SUMS, 1);
  for (int mode = j->centre ? 1 : 2; mode <= 2; mode++) {
    bool accumulate = false;
    for (uint32_t c = begin; c < end;) {
      part p = part_of(j, c, end);
      for (uint64_t first = 0; first < j->pixels; first += MOST_COUNT) {
        uint32_t n = j->pixels - first < MOST_COUNT ? (uint32_t)(j->pixels - first) : MOST_COUNT;
        reduce(s, j, mode, accumulate, mode == 1 ? SUMS : SQUARES, address_of(&j->x, &p, first), p.lanes, 1, n);
        accumulate = true;
      }
      c += p.lanes;
    }
  }
}

static void group_of_channels(lowering *s, const normal_job *j, uint32_t begin, uint32_t end) {
  uint32_t entries = j->pixels < RANGE ? (uint32_t)j->pixels : RANGE;
  sums_of_group(s, j, begin, end);
  variances(s, j, 1);
  if (entries > 1) {
    row_function(s, VARIANCE, SUMS + 1, SUMS, ZEROS, entries - 1, 1, 0);
    row_function(s, VARIANCE, SQUARES + 1, SQUARES, ZEROS, entries - 1, 1, 0);
  }
  row_function(s, RSQRT, SUMS, SQUARES, 0, entries, 0, 0);
  for (uint32_t c = begin; c < end;) {
    part p = part_of(j, c, end);
    for (uint64_t first = 0; first < j->pixels; first += entries)
      normalize(s, j, &p, first, j->pixels - first < entries ? (uint32_t)(j->pixels - first) : entries);
    c += p.lanes;
  }
}

static void make_zero(lowering *s, const normal_job *j) {
  npuc_lower_slot(s, 2, false, 0, 0, 0);
  instr in = {.op = ISA_VFIL};
  in.f[NPU_VFIL_dst] = (int64_t)j->zero;
  in.f[NPU_VFIL_nx] = in.f[NPU_VFIL_ny] = in.f[NPU_VFIL_lanes] = 1;
  const mem_access access = lower_write(j->zero, 1);
  npuc_emit_unit(&s->e, QUEUE_VECTOR, &in, &access, 1);
}

void npuc_lower_normalize_rows(lowering *s, const lower_entry *entry) {
  const qnode *n = &s->g->nodes[entry->node];
  normal_job j = {.n = n,
                  .x = npuc_lower_tensor(s, n->inputs[0]),
                  .y = npuc_lower_tensor(s, n->outputs[0]),
                  .zp = npuc_qnode_int(n, QATTR_x_zero_point, 0),
                  .count = npuc_qnode_int(n, QATTR_count, 1),
                  .epsilon = npuc_qnode_int(n, QATTR_epsilon, 0),
                  .centre = npuc_qnode_int(n, QATTR_centre, 1) != 0,
                  .zero = s->buffers[entry->temporaries[0]].address,
                  .image = lower_image_address(s, entry)};
  j.pixels = (uint64_t)j.x.l.h * j.x.l.w;
  make_zero(s, &j);
  clear(s, &j, ZEROS, RANGE);
  if (npuc_npu_normalizes_pixels(n, &j.x.l)) {
    rows_of_pixels(s, &j);
    return;
  }
  uint32_t channels = (uint32_t)((uint64_t)j.count / j.pixels);
  for (uint32_t c = 0; c < j.x.l.c; c += channels) group_of_channels(s, &j, c, c + channels);
}
