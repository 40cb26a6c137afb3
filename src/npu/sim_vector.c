/* SPDX-License-Identifier: Apache-2.0 */
/* What the vector unit does: docs/refnpu.md section 4.4. Every instruction walks pixels (iy outer, ix inner) and lanes; a `walk` carries the addresses. */
#include <string.h>

#include "kernels/ref/integer.h"
#include "npu/sim_machine.h"

enum { SLOT_A, SLOT_B, SLOT_D };

/* -- integer rules -- */

static int64_t half(int64_t s) { return s ? (int64_t)1 << (s - 1) : 0; }

static int64_t clamp64(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

static int64_t finish(const vector_parameters *p, int64_t product, int64_t s) {
  int64_t y = sim_add(p->zp, sim_add(product, half(s)) >> s);
  return clamp64(y, p->lo, p->hi);
}

static int64_t rule(const vector_parameters *p, int64_t t, uint32_t lane) {
  return finish(p, sim_multiply(sim_add(t, p->bias[lane]), p->m[lane]), p->s[lane]);
}

/* t times the row's multiplier (ROW of the document). */
static int64_t by_row(const row_entry *row, int64_t t, int64_t shift) {
  int64_t q = row->e + shift;
  if (q >= 0) {
    if (q > 62) q = 62;
    return sim_add(sim_multiply(t, row->r), half(q)) >> q;
  }
  return sim_multiply(sim_multiply(t, row->r), (int64_t)1 << (-q < 16 ? -q : 16));
}

static void reciprocal(int64_t value, row_entry *out) {
  int32_t e;
  int64_t r;
  npuc_q8_reciprocal(value < 1 ? 1 : (uint64_t)value, &e, &r);
  out->r = (uint32_t)r;
  out->e = (uint32_t)e + 16;
}

static void reciprocal_root(int64_t value, row_entry *out) {
  int32_t e;
  int64_t r;
  npuc_q8_reciprocal_root(value < 1 ? 1 : (uint64_t)value, &e, &r);
  out->r = (uint32_t)r;
  out->e = (uint32_t)e / 2 + 16;
}

/* -- addresses -- */

static uint64_t place(const geometry *g, int64_t base, int64_t ix, int64_t iy) {
  return (uint64_t)(base + iy * g->row_pitch + ix * g->pixel_pitch);
}

/* A pointer to `bytes` bytes of the scratchpad, or NULL with a fault. */
static uint8_t *span(machine *m, uint64_t address, uint64_t bytes) {
  if (sim_inside(address, bytes, m->arch.scratchpad_bytes)) return m->sp + address;
  m->fault = "the vector unit leaves the scratchpad";
  return NULL;
}

static int64_t operand(const geometry *g, const uint8_t *high, const uint8_t *low, uint32_t j) {
  int64_t v = sim_byte(g, high[j]);
  if (low) v = v * 256 + low[j];
  return v - g->zp;
}

static void put(uint8_t *high, uint8_t *low, uint32_t j, int64_t v) {
  if (low) {
    high[j] = (uint8_t)((uint64_t)v >> 8 & 255);
    low[j] = (uint8_t)((uint64_t)v & 255);
  } else {
    high[j] = (uint8_t)((uint64_t)v & 255);
  }
}

/* -- configuration -- */

static bool set_geometry(machine *m, const instr *in) {
  int64_t slot = in->f[NPU_VGEO_slot];
  geometry *g = &m->slots[slot];
  *g = (geometry){.is_signed = in->f[NPU_VGEO_is_signed] != 0,
                  .zp = (int32_t)in->f[NPU_VGEO_zp],
                  .width = (int32_t)in->f[NPU_VGEO_width],
                  .height = (int32_t)in->f[NPU_VGEO_height],
                  .row_pitch = (uint32_t)in->f[NPU_VGEO_row_pitch],
                  .pixel_pitch = (uint32_t)in->f[NPU_VGEO_pixel_pitch],
                  .stride_x = (int32_t)in->f[NPU_VGEO_stride_x],
                  .stride_y = (int32_t)in->f[NPU_VGEO_stride_y]};
  return true;
}

static bool read_lane_parameters(machine *m, uint64_t address, vector_parameters *p) {
  const uint8_t *bytes = span(m, address, (uint64_t)8 * m->arch.n);
  if (!bytes) return false;
  for (uint32_t j = 0; j < m->arch.n; j++, bytes += 8) {
    p->bias[j] = (int32_t)((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
    p->m[j] = (int16_t)(uint16_t)(bytes[4] | bytes[5] << 8);
    p->s[j] = bytes[6];
    if (bytes[6] > 62 || bytes[7] != 0) return sim_fault(m, "VPAR: lane parameters have a shift above 62 or a stray byte");
  }
  return true;
}

static bool set_parameters(machine *m, const instr *in) {
  vector_parameters p = {.wide = in->f[NPU_VPAR_wide] != 0,
                         .zp = (int32_t)in->f[NPU_VPAR_zp],
                         .lo = (int32_t)in->f[NPU_VPAR_lo],
                         .hi = (int32_t)in->f[NPU_VPAR_hi],
                         .count = in->f[NPU_VPAR_bias],
                         .per_lane = in->f[NPU_VPAR_per_lane] != 0};
  if (p.wide) {
    p.lo = -32768;
    p.hi = 32767;
  }
  if (p.per_lane) {
    if (!read_lane_parameters(m, (uint64_t)in->f[NPU_VPAR_addr], &p)) return false;
  } else {
    p.mb = (int16_t)(uint16_t)in->f[NPU_VPAR_addr];
    for (uint32_t j = 0; j < m->arch.n; j++) {
      p.bias[j] = in->f[NPU_VPAR_bias];
      p.m[j] = in->f[NPU_VPAR_m];
      p.s[j] = (uint32_t)in->f[NPU_VPAR_s];
    }
  }
  m->par = p;
  return true;
}

/* -- accumulators to scratchpad -- */

static bool requantize(machine *m, const instr *in) {
  const geometry *g = &m->slots[SLOT_D];
  uint32_t n = m->arch.n, lanes = (uint32_t)in->f[NPU_VRQ_lanes];
  int64_t nx = in->f[NPU_VRQ_nx], ny = in->f[NPU_VRQ_ny], acc = in->f[NPU_VRQ_acc], acc_lo = in->f[NPU_VRQ_acc_lo];
  bool wide_acc = in->f[NPU_VRQ_wide_acc] != 0, wide_out = in->f[NPU_VRQ_wide_out] != 0, row_mode = in->f[NPU_VRQ_by_row] != 0;
  if (acc + nx * ny > NPU_ACC_ROWS || (wide_acc && acc_lo + nx * ny > NPU_ACC_ROWS))
    return sim_fault(m, "VRQ: accumulator rows end at 1024");
  if (row_mode && in->f[NPU_VRQ_rf] + nx * ny > NPU_ROW_ENTRIES) return sim_fault(m, "VRQ: the row file ends at 512");
  for (int64_t i = 0; i < nx * ny; i++) {
    uint8_t *high = span(m, place(g, in->f[NPU_VRQ_dst], i % nx, i / nx), lanes);
    uint8_t *low = wide_out ? span(m, place(g, in->f[NPU_VRQ_dst_lo], i % nx, i / nx), lanes) : NULL;
    if (!high || (wide_out && !low)) return false;
    for (uint32_t j = 0; j < lanes; j++) {
      int64_t t = m->acc[(size_t)(acc + i) * n + j];
      if (wide_acc) t = t * 256 + m->acc[(size_t)(acc_lo + i) * n + j];
      if (row_mode) t = by_row(&m->rf[in->f[NPU_VRQ_rf] + i], t, in->f[NPU_VRQ_shift]);
      put(high, low, j, rule(&m->par, t, j));
    }
  }
  return true;
}

/* -- windows into the accumulators -- */

/* One pixel of one tap: lanes of `bytes` (NULL outside the image) joined into the row. */
static void window_pixel(const geometry *g, uint32_t n, int64_t mode, const uint8_t *bytes, const uint8_t *weights, bool keep,
                         int32_t *row) {
  for (uint32_t j = 0; j < n; j++) {
    int32_t old = keep ? row[j] : mode == 2 ? INT32_MIN : 0;
    if (bytes) {
      int32_t v = sim_byte(g, bytes[j]) - g->zp;
      if (mode == 2)
        old = v > old ? v : old;
      else
        old = (int32_t)((uint32_t)old + (uint32_t)(mode == 0 ? v * (int8_t)weights[j] : v));
    }
    row[j] = old;
  }
}

static bool window(machine *m, const instr *in) {
  const geometry *g = &m->slots[SLOT_A];
  uint32_t n = m->arch.n;
  int64_t nx = in->f[NPU_VWIN_nx], ny = in->f[NPU_VWIN_ny], acc = in->f[NPU_VWIN_acc], mode = in->f[NPU_VWIN_mode];
  bool hold = in->f[NPU_VWIN_hold] != 0, accumulate = in->f[NPU_VWIN_accumulate] != 0;
  const uint8_t *weights = mode == 0 ? span(m, (uint64_t)in->f[NPU_VWIN_weights], n) : NULL;
  if (mode == 0 && !weights) return false;
  for (int64_t i = 0; i < nx * ny; i++) {
    int64_t x = in->f[NPU_VWIN_x0] + i % nx * g->stride_x, y = in->f[NPU_VWIN_y0] + i / nx * g->stride_y;
    const uint8_t *bytes = NULL;
    if (x >= 0 && x < g->width && y >= 0 && y < g->height && !(bytes = span(m, place(g, in->f[NPU_VWIN_base], x, y), n))) return false;
    int32_t *row = m->acc + (size_t)(acc + (hold ? 0 : i)) * n;
    window_pixel(g, n, mode, bytes, weights, accumulate || (hold && i > 0), row);
  }
  return true;
}

/* -- scratchpad to scratchpad -- */

static bool move(machine *m, const instr *in) {
  const geometry *a = &m->slots[SLOT_A], *d = &m->slots[SLOT_D];
  uint32_t lanes = (uint32_t)in->f[NPU_VMOV_lanes];
  int64_t nx = in->f[NPU_VMOV_nx], ny = in->f[NPU_VMOV_ny], op = in->f[NPU_VMOV_op];
  const uint8_t *source_table = op == 2 ? span(m, (uint64_t)in->f[NPU_VMOV_table], 256) : NULL;
  uint8_t table[256] = {0};
  if (op == 2) {
    if (!source_table) return false;
    memcpy(table, source_table, sizeof table); /* the unit reads the table once, before the first pixel */
  }
  for (int64_t i = 0; i < nx * ny; i++) {
    const uint8_t *from = span(m, place(a, in->f[NPU_VMOV_src], i % nx, i / nx), lanes);
    uint8_t *to = span(m, place(d, in->f[NPU_VMOV_dst], i % nx, i / nx), lanes);
    if (!from || !to) return false;
    uint8_t line[NPU_MAX_LANES] = {0};
    for (uint32_t j = 0; j < lanes; j++) {
      if (op == 0)
        line[j] = from[j];
      else if (op == 1)
        line[j] = (uint8_t)rule(&m->par, operand(a, from, NULL, j), j);
      else
        line[j] = table[a->is_signed ? from[j] ^ 128 : from[j]];
    }
    memcpy(to, line, lanes);
  }
  return true;
}

static bool binary(machine *m, const instr *in) {
  const geometry *a = &m->slots[SLOT_A], *b = &m->slots[SLOT_B], *d = &m->slots[SLOT_D];
  const vector_parameters *p = &m->par;
  uint32_t lanes = (uint32_t)in->f[NPU_VBIN_lanes];
  int64_t nx = in->f[NPU_VBIN_nx], ny = in->f[NPU_VBIN_ny], op = in->f[NPU_VBIN_op];
  if (p->per_lane) return sim_fault(m, "VBIN needs VPAR with per_lane 0");
  for (int64_t i = 0; i < nx * ny; i++) {
    const uint8_t *left = span(m, place(a, in->f[NPU_VBIN_a], i % nx, i / nx), lanes);
    const uint8_t *right = span(m, place(b, in->f[NPU_VBIN_b], i % nx, i / nx), lanes);
    uint8_t *to = span(m, place(d, in->f[NPU_VBIN_dst], i % nx, i / nx), lanes);
    if (!left || !right || !to) return false;
    uint8_t line[NPU_MAX_LANES] = {0};
    for (uint32_t j = 0; j < lanes; j++) {
      int64_t va = operand(a, left, NULL, j), vb = operand(b, right, NULL, j);
      int64_t product = op == 0 ? va * p->m[j] + vb * p->mb : va * vb * p->m[j];
      line[j] = (uint8_t)finish(p, product, p->s[j]);
    }
    memcpy(to, line, lanes);
  }
  return true;
}

static bool fill(machine *m, const instr *in) {
  uint32_t lanes = (uint32_t)in->f[NPU_VFIL_lanes];
  int64_t nx = in->f[NPU_VFIL_nx], ny = in->f[NPU_VFIL_ny];
  for (int64_t i = 0; i < nx * ny; i++) {
    uint8_t *to = span(m, place(&m->slots[SLOT_D], in->f[NPU_VFIL_dst], i % nx, i / nx), lanes);
    if (!to) return false;
    memset(to, (int)in->f[NPU_VFIL_value], lanes);
  }
  return true;
}

/* -- rows -- */

static int64_t join(int64_t mode, int64_t old, int64_t v) {
  if (mode == 0) return v > old ? v : old;
  return sim_add(old, mode == 1 ? v : v * v); /* |v| < 2^17 */
}

static bool reduce(machine *m, const instr *in) {
  const geometry *a = &m->slots[SLOT_A];
  uint32_t lanes = (uint32_t)in->f[NPU_VRED_lanes];
  int64_t nx = in->f[NPU_VRED_nx], ny = in->f[NPU_VRED_ny], mode = in->f[NPU_VRED_mode], rf = in->f[NPU_VRED_rf];
  bool wide = in->f[NPU_VRED_wide] != 0;
  if (rf + nx > NPU_ROW_ENTRIES) return sim_fault(m, "VRED: the row file ends at 512");
  for (int64_t ix = 0; ix < nx; ix++) {
    int64_t sum = in->f[NPU_VRED_accumulate] ? m->rf[rf + ix].v : mode == 0 ? INT64_MIN : 0;
    for (int64_t iy = 0; iy < ny; iy++) {
      const uint8_t *high = span(m, place(a, in->f[NPU_VRED_src], ix, iy), lanes);
      const uint8_t *low = wide ? span(m, place(a, in->f[NPU_VRED_src_lo], ix, iy), lanes) : NULL;
      if (!high || (wide && !low)) return false;
      for (uint32_t j = 0; j < lanes; j++) sum = join(mode, sum, operand(a, high, low, j));
    }
    m->rf[rf + ix].v = sum;
  }
  return true;
}

static bool row_function(machine *m, const instr *in) {
  int64_t n = in->f[NPU_VROW_n], dst = in->f[NPU_VROW_dst], a = in->f[NPU_VROW_a], b = in->f[NPU_VROW_b], op = in->f[NPU_VROW_op];
  if (dst + n > NPU_ROW_ENTRIES || a + n > NPU_ROW_ENTRIES || (op == 2 && b + n > NPU_ROW_ENTRIES))
    return sim_fault(m, "VROW: the row file ends at 512");
  for (int64_t i = 0; i < n; i++) {
    int64_t v = m->rf[a + i].v;
    row_entry *out = &m->rf[dst + i];
    if (op == 0) {
      if (v > (int64_t)1 << 46) return sim_fault(m, "VROW: the reciprocal's operand is above 2^46");
      reciprocal(v, out);
    } else if (op == 1) {
      if (v >= (int64_t)1 << 62) return sim_fault(m, "VROW: the root's operand is not below 2^62");
      reciprocal_root(v, out);
    } else {
      uint64_t sum = (uint64_t)m->rf[b + i].v;
      out->v =
          (int64_t)((uint64_t)in->f[NPU_VROW_cnt] * (uint64_t)v - sum * sum + (in->f[NPU_VROW_add] ? (uint64_t)in->f[NPU_VROW_imm] : 0));
    }
  }
  return true;
}

static bool normalize(machine *m, const instr *in) {
  const geometry *a = &m->slots[SLOT_A], *d = &m->slots[SLOT_D];
  uint32_t lanes = (uint32_t)in->f[NPU_VNRM_lanes];
  int64_t nx = in->f[NPU_VNRM_nx], rf = in->f[NPU_VNRM_rf], shift = in->f[NPU_VNRM_shift];
  bool wide = in->f[NPU_VNRM_wide] != 0, wide_out = in->f[NPU_VNRM_wide_out] != 0, centre = in->f[NPU_VNRM_centre] != 0;
  if (rf + nx > NPU_ROW_ENTRIES) return sim_fault(m, "VNRM: the row file ends at 512");
  if (centre && !m->par.per_lane) return sim_fault(m, "VNRM: centre needs VPAR with per_lane 1");
  for (int64_t ix = 0; ix < nx; ix++) {
    const row_entry *row = &m->rf[rf + ix];
    const uint8_t *high = span(m, place(a, in->f[NPU_VNRM_src], ix, 0), lanes);
    const uint8_t *low = wide ? span(m, place(a, in->f[NPU_VNRM_src_lo], ix, 0), lanes) : NULL;
    uint8_t *to = span(m, place(d, in->f[NPU_VNRM_dst], ix, 0), lanes);
    uint8_t *to_low = wide_out ? span(m, place(d, in->f[NPU_VNRM_dst_lo], ix, 0), lanes) : NULL;
    if (!high || !to || (wide && !low) || (wide_out && !to_low)) return false;
    int64_t t[NPU_MAX_LANES];
    for (uint32_t j = 0; j < lanes; j++) {
      t[j] = operand(a, high, low, j);
      if (centre) t[j] = sim_subtract(m->par.count * t[j], row->v);
    }
    for (uint32_t j = 0; j < lanes; j++) {
      int64_t y = in->f[NPU_VNRM_final] ? finish(&m->par, sim_multiply(t[j], row->r), clamp64(row->e + shift, 0, 62))
                                        : rule(&m->par, by_row(row, t[j], shift), j);
      put(to, to_low, j, y);
    }
  }
  return true;
}

static bool exponential(machine *m, const instr *in) {
  const geometry *a = &m->slots[SLOT_A], *d = &m->slots[SLOT_D];
  uint32_t lanes = (uint32_t)in->f[NPU_VEXP_lanes];
  int64_t nx = in->f[NPU_VEXP_nx], rf = in->f[NPU_VEXP_rf];
  if (rf + nx > NPU_ROW_ENTRIES) return sim_fault(m, "VEXP: the row file ends at 512");
  const uint8_t *source_table = span(m, (uint64_t)in->f[NPU_VEXP_table], 512);
  if (!source_table) return false;
  uint8_t table[512];
  memcpy(table, source_table, sizeof table);
  for (int64_t ix = 0; ix < nx; ix++) {
    const uint8_t *from = span(m, place(a, in->f[NPU_VEXP_src], ix, 0), lanes);
    uint8_t *high = span(m, place(d, in->f[NPU_VEXP_dst], ix, 0), lanes), *low = span(m, place(d, in->f[NPU_VEXP_dst_lo], ix, 0), lanes);
    if (!from || !high || !low) return false;
    int64_t index[NPU_MAX_LANES];
    for (uint32_t j = 0; j < lanes; j++) index[j] = clamp64(sim_subtract(m->rf[rf + ix].v, operand(a, from, NULL, j)), 0, 255);
    for (uint32_t j = 0; j < lanes; j++) {
      low[j] = table[2 * index[j]];
      high[j] = table[2 * index[j] + 1];
    }
  }
  return true;
}

static bool select_index(machine *m, const instr *in) {
  const geometry *a = &m->slots[SLOT_A], *d = &m->slots[SLOT_D];
  uint32_t lanes = (uint32_t)in->f[NPU_VSEL_lanes];
  int64_t nx = in->f[NPU_VSEL_nx], ny = in->f[NPU_VSEL_ny];
  for (int64_t i = 0; i < nx * ny; i++) {
    int64_t ix = i % nx, iy = i / nx;
    const uint8_t *from = span(m, place(a, in->f[NPU_VSEL_src], ix, iy), lanes);
    uint8_t *to = span(m, place(d, in->f[NPU_VSEL_dst], ix, iy), lanes);
    if (!from || !to) return false;
    int64_t bound = (int64_t)m->registers[in->f[NPU_VSEL_reg]] + (in->f[NPU_VSEL_step] ? ix : 0);
    uint8_t line[NPU_MAX_LANES] = {0};
    for (uint32_t j = 0; j < lanes; j++)
      line[j] = in->f[NPU_VSEL_first] + iy * m->arch.n + j <= bound ? from[j] : (uint8_t)in->f[NPU_VSEL_value];
    memcpy(to, line, lanes);
  }
  return true;
}

bool npuc_sim_vector(machine *m, const instr *in) {
  if (npuc_isa_is_empty(in)) return true;
  switch (in->op) {
    case ISA_VGEO:
      return set_geometry(m, in);
    case ISA_VPAR:
      return set_parameters(m, in);
    case ISA_VRQ:
      return requantize(m, in);
    case ISA_VWIN:
      return window(m, in);
    case ISA_VMOV:
      return move(m, in);
    case ISA_VBIN:
      return binary(m, in);
    case ISA_VFIL:
      return fill(m, in);
    case ISA_VRED:
      return reduce(m, in);
    case ISA_VROW:
      return row_function(m, in);
    case ISA_VNRM:
      return normalize(m, in);
    case ISA_VEXP:
      return exponential(m, in);
    case ISA_VSEL:
      return select_index(m, in);
    default:
      return sim_fault(m, "not an instruction of the vector unit");
  }
}
