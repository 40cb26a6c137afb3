/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges that docs/refnpu.md section 4 states for fields, as far as an instruction alone shows them. The reader asks for the fields as they are written, the
 * simulator once more after IDX. Bounds of memories and of the row file are no ranges: they are seen when the instruction is executed. */
#include <stddef.h>

#include "npu/isa.h"

static const char *check_idx(const instr *in) {
  static const int modifiers[3][3] = {{NPU_IDX_reg0, NPU_IDX_bit0, NPU_IDX_pitch0},
                                      {NPU_IDX_reg1, NPU_IDX_bit1, NPU_IDX_pitch1},
                                      {NPU_IDX_reg2, NPU_IDX_bit2, NPU_IDX_pitch2}};
  int64_t n = in->f[NPU_IDX_n];
  if (n < 1) return "IDX without modifiers";
  for (int64_t k = n; k < 3; k++) {
    for (int i = 0; i < 3; i++) {
      if (in->f[modifiers[k][i]]) return "IDX: an unused modifier is not 0";
    }
  }
  return NULL;
}

static const char *check_dma(const instr *in) {
  bool load = in->op == ISA_DLD;
  int64_t region = in->f[load ? NPU_DLD_region : NPU_DST_region];
  if (region > 2) return "there is no such DRAM region";
  if (!load && region == 0) return "region 0 is read-only";
  return in->f[load ? NPU_DLD_bytes : NPU_DST_bytes] < 1 ? "a DMA row has no bytes" : NULL;
}

static bool is_zero_point(int64_t zp) { return zp >= -128 && zp <= 255; }

static const char *check_acfg(const instr *in) {
  if (!is_zero_point(in->f[NPU_ACFG_zp])) return "ACFG: zero point outside -128..255";
  bool good = in->f[NPU_ACFG_width] >= 1 && in->f[NPU_ACFG_height] >= 1 && in->f[NPU_ACFG_pixel_pitch] >= 1;
  return good ? NULL : "ACFG: width, height and pixel_pitch are at least 1";
}

static const char *check_ldw(const instr *in, uint32_t n) {
  if (in->f[NPU_LDW_int4] && (in->f[NPU_LDW_mem] || in->f[NPU_LDW_transpose] || in->f[NPU_LDW_pitch]))
    return "LDW: 4-bit tiles are packed, in the weight buffer, not transposed";
  return in->f[NPU_LDW_rows] > n || in->f[NPU_LDW_cols] > n ? "LDW: more rows or columns than the array has" : NULL;
}

static const char *check_rows(int64_t first, int64_t rows) {
  if (rows > NPU_PASS_ROWS) return "nx * ny is above 512";
  return first + rows > NPU_ACC_ROWS ? "accumulator rows end at 1024" : NULL;
}

static const char *check_vgeo(const instr *in) {
  if (in->f[NPU_VGEO_slot] > 2) return "VGEO: slots are 0, 1 and 2";
  return is_zero_point(in->f[NPU_VGEO_zp]) ? NULL : "VGEO: zero point outside -128..255";
}

static const char *check_vpar(const instr *in) {
  int64_t zp = in->f[NPU_VPAR_zp], lo = in->f[NPU_VPAR_lo], hi = in->f[NPU_VPAR_hi];
  if (in->f[NPU_VPAR_wide] && (zp || lo || hi)) return "VPAR: wide fixes zp, lo and hi";
  if (!is_zero_point(zp)) return "VPAR: zero point outside -128..255";
  if (lo > hi) return "VPAR: lo is above hi";
  if (in->f[NPU_VPAR_per_lane]) return in->f[NPU_VPAR_m] || in->f[NPU_VPAR_s] ? "VPAR: m and s come from the scratchpad" : NULL;
  return in->f[NPU_VPAR_s] > 62 || in->f[NPU_VPAR_addr] > 65535 ? "VPAR: shift above 62, or stray bits beside Mb" : NULL;
}

static const char *check_vwin(const instr *in) {
  if (in->f[NPU_VWIN_mode] > 2) return "VWIN: modes are 0, 1 and 2";
  return in->f[NPU_VWIN_hold] ? NULL : check_rows(in->f[NPU_VWIN_acc], in->f[NPU_VWIN_nx] * in->f[NPU_VWIN_ny]);
}

/* Instructions with `lanes`, and with a mode that has fewer values than its field. */
static const char *check_lanes(int64_t lanes, uint32_t n, int64_t mode, int64_t last_mode) {
  if (lanes > n) return "more lanes than N";
  return mode > last_mode ? "an unknown op or mode" : NULL;
}

const char *npuc_isa_check(const instr *in, uint32_t n) {
  const int64_t *f = in->f;
  switch (in->op) {
    case ISA_IDX:
      return check_idx(in);
    case ISA_DLD:
    case ISA_DST:
      return check_dma(in);
    case ISA_ACFG:
      return check_acfg(in);
    case ISA_LDW:
      return check_ldw(in, n);
    case ISA_MM:
      return check_rows(f[NPU_MM_acc], f[NPU_MM_nx] * f[NPU_MM_ny]);
    case ISA_VGEO:
      return check_vgeo(in);
    case ISA_VPAR:
      return check_vpar(in);
    case ISA_VWIN:
      return check_vwin(in);
    case ISA_VRQ:
      return check_lanes(f[NPU_VRQ_lanes], n, 0, 0);
    case ISA_VMOV:
      return check_lanes(f[NPU_VMOV_lanes], n, f[NPU_VMOV_op], 2);
    case ISA_VBIN:
      return check_lanes(f[NPU_VBIN_lanes], n, f[NPU_VBIN_op], 1);
    case ISA_VFIL:
      return check_lanes(f[NPU_VFIL_lanes], n, 0, 0);
    case ISA_VRED:
      return check_lanes(f[NPU_VRED_lanes], n, f[NPU_VRED_mode], 2);
    case ISA_VROW:
      return check_lanes(0, n, f[NPU_VROW_op], 2);
    case ISA_VNRM:
      return check_lanes(f[NPU_VNRM_lanes], n, 0, 0);
    case ISA_VSEL:
      return check_lanes(f[NPU_VSEL_lanes], n, 0, 0);
    case ISA_VEXP:
      return check_lanes(f[NPU_VEXP_lanes], n, 0, 0);
    default:
      return NULL;
  }
}

const char *npuc_isa_check_modified(const instr *idx, const instr *in) {
  static const int bits[3] = {NPU_IDX_bit0, NPU_IDX_bit1, NPU_IDX_bit2};
  if (!npuc_isa_is_unit(in)) return "IDX before a control instruction";
  unsigned count;
  const isa_field *fields = npuc_isa_fields((isa_op)in->op, &count);
  for (int64_t k = 0; k < 3 && k < idx->f[NPU_IDX_n]; k++) {
    unsigned i = 0;
    while (i < count && fields[i].low != idx->f[bits[k]]) i++;
    if (i == count || fields[i].mark == ISA_MARK_PLAIN) return "IDX names no address or count";
  }
  return NULL;
}

bool npuc_isa_is_empty(const instr *in) {
  if (in->op == ISA_LDW) return false;
  unsigned count;
  const isa_field *fields = npuc_isa_fields((isa_op)in->op, &count);
  for (unsigned i = 0; i < count; i++) {
    if (fields[i].mark == ISA_MARK_COUNT && in->f[i] == 0) return true;
  }
  return false;
}
