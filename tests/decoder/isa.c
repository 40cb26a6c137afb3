/* SPDX-License-Identifier: Apache-2.0 */
/* The tables below repeat docs/refnpu.md section 4 row by row; everything else follows from them. */
#include "isa.h"

#include <stddef.h>
#include <string.h>

enum { ANY_QUEUE = 15, DMA_QUEUES = 3, ARRAY = 1 << QUEUE_ARRAY, VECTOR = 1 << QUEUE_VECTOR };

static const insn_spec specs[] = {
    {OP_NOP, "NOP", ANY_QUEUE, true, 0, {{0}}},
    {OP_WAIT,
     "WAIT",
     ANY_QUEUE,
     true,
     4,
     {{"t0", 39, 16, 'u', '-'}, {"t1", 63, 40, 'u', '-'}, {"t2", 87, 64, 'u', '-'}, {"t3", 111, 88, 'u', '-'}}},
    {OP_IDX,
     "IDX",
     ANY_QUEUE,
     true,
     10,
     {{"n", 10, 9, 'u', '-'},
      {"reg0", 18, 16, 'u', '-'},
      {"bit0", 25, 19, 'u', '-'},
      {"pitch0", 46, 26, 's', '-'},
      {"reg1", 50, 48, 'u', '-'},
      {"bit1", 57, 51, 'u', '-'},
      {"pitch1", 78, 58, 's', '-'},
      {"reg2", 82, 80, 'u', '-'},
      {"bit2", 89, 83, 'u', '-'},
      {"pitch2", 110, 90, 's', '-'}}},
    {OP_HALT, "HALT", ANY_QUEUE, true, 0, {{0}}},
    {OP_DCFG, "DCFG", DMA_QUEUES, true, 2, {{"dram_pitch", 47, 16, 'u', '-'}, {"local_pitch", 67, 48, 'u', '-'}}},
    {OP_DLD,
     "DLD",
     DMA_QUEUES,
     false,
     6,
     {{"mem", 9, 9, 'u', '-'},
      {"region", 12, 11, 'u', '-'},
      {"dram", 51, 16, 'u', 'A'},
      {"local", 71, 52, 'u', 'A'},
      {"bytes", 91, 72, 'u', '-'},
      {"rows", 107, 92, 'u', 'C'}}},
    {OP_DST,
     "DST",
     DMA_QUEUES,
     false,
     5,
     {{"region", 12, 11, 'u', '-'},
      {"dram", 51, 16, 'u', 'A'},
      {"local", 71, 52, 'u', 'A'},
      {"bytes", 91, 72, 'u', '-'},
      {"rows", 107, 92, 'u', 'C'}}},
    {OP_ACFG,
     "ACFG",
     ARRAY,
     true,
     8,
     {{"is_signed", 9, 9, 'u', '-'},
      {"zp", 24, 16, 's', '-'},
      {"width", 36, 25, 'u', '-'},
      {"height", 48, 37, 'u', '-'},
      {"row_pitch", 68, 49, 'u', '-'},
      {"pixel_pitch", 84, 69, 'u', '-'},
      {"stride_x", 90, 85, 'u', '-'},
      {"stride_y", 96, 91, 'u', '-'}}},
    {OP_LDW,
     "LDW",
     ARRAY,
     false,
     7,
     {{"mem", 9, 9, 'u', '-'},
      {"int4", 10, 10, 'u', '-'},
      {"transpose", 11, 11, 'u', '-'},
      {"addr", 35, 16, 'u', 'A'},
      {"pitch", 55, 36, 'u', '-'},
      {"rows", 61, 56, 'u', 'C'},
      {"cols", 67, 62, 'u', 'C'}}},
    {OP_MM,
     "MM",
     ARRAY,
     false,
     8,
     {{"accumulate", 9, 9, 'u', '-'},
      {"swap", 10, 10, 'u', '-'},
      {"base", 35, 16, 'u', 'A'},
      {"x0", 47, 36, 's', '-'},
      {"y0", 59, 48, 's', '-'},
      {"nx", 69, 60, 'u', 'C'},
      {"ny", 79, 70, 'u', 'C'},
      {"acc", 89, 80, 'u', '-'}}},
    {OP_VGEO,
     "VGEO",
     VECTOR,
     true,
     9,
     {{"slot", 10, 9, 'u', '-'},
      {"is_signed", 11, 11, 'u', '-'},
      {"zp", 24, 16, 's', '-'},
      {"width", 36, 25, 'u', '-'},
      {"height", 48, 37, 'u', '-'},
      {"row_pitch", 68, 49, 'u', '-'},
      {"pixel_pitch", 84, 69, 'u', '-'},
      {"stride_x", 90, 85, 'u', '-'},
      {"stride_y", 96, 91, 'u', '-'}}},
    {OP_VPAR,
     "VPAR",
     VECTOR,
     false,
     9,
     {{"per_lane", 9, 9, 'u', '-'},
      {"wide", 10, 10, 'u', '-'},
      {"addr", 35, 16, 'u', 'A'},
      {"zp", 44, 36, 's', '-'},
      {"lo", 53, 45, 's', '-'},
      {"hi", 62, 54, 's', '-'},
      {"bias", 95, 64, 's', '-'},
      {"m", 111, 96, 's', '-'},
      {"s", 117, 112, 'u', '-'}}},
    {OP_VRQ,
     "VRQ",
     VECTOR,
     false,
     12,
     {{"wide_acc", 9, 9, 'u', '-'},
      {"wide_out", 10, 10, 'u', '-'},
      {"by_row", 11, 11, 'u', '-'},
      {"acc", 25, 16, 'u', '-'},
      {"acc_lo", 35, 26, 'u', '-'},
      {"dst", 55, 36, 'u', 'A'},
      {"dst_lo", 75, 56, 'u', 'A'},
      {"nx", 85, 76, 'u', 'C'},
      {"ny", 95, 86, 'u', 'C'},
      {"lanes", 101, 96, 'u', 'C'},
      {"rf", 110, 102, 'u', '-'},
      {"shift", 117, 111, 's', '-'}}},
    {OP_VWIN,
     "VWIN",
     VECTOR,
     false,
     10,
     {{"mode", 10, 9, 'u', '-'},
      {"accumulate", 11, 11, 'u', '-'},
      {"hold", 12, 12, 'u', '-'},
      {"base", 35, 16, 'u', 'A'},
      {"x0", 47, 36, 's', '-'},
      {"y0", 59, 48, 's', '-'},
      {"nx", 69, 60, 'u', 'C'},
      {"ny", 79, 70, 'u', 'C'},
      {"acc", 89, 80, 'u', '-'},
      {"weights", 109, 90, 'u', 'A'}}},
    {OP_VMOV,
     "VMOV",
     VECTOR,
     false,
     7,
     {{"op", 10, 9, 'u', '-'},
      {"src", 35, 16, 'u', 'A'},
      {"dst", 55, 36, 'u', 'A'},
      {"nx", 65, 56, 'u', 'C'},
      {"ny", 75, 66, 'u', 'C'},
      {"lanes", 81, 76, 'u', 'C'},
      {"table", 101, 82, 'u', 'A'}}},
    {OP_VBIN,
     "VBIN",
     VECTOR,
     false,
     7,
     {{"op", 10, 9, 'u', '-'},
      {"a", 35, 16, 'u', 'A'},
      {"b", 55, 36, 'u', 'A'},
      {"dst", 75, 56, 'u', 'A'},
      {"nx", 85, 76, 'u', 'C'},
      {"ny", 95, 86, 'u', 'C'},
      {"lanes", 101, 96, 'u', 'C'}}},
    {OP_VFIL,
     "VFIL",
     VECTOR,
     false,
     5,
     {{"value", 23, 16, 'u', '-'},
      {"dst", 55, 36, 'u', 'A'},
      {"nx", 65, 56, 'u', 'C'},
      {"ny", 75, 66, 'u', 'C'},
      {"lanes", 81, 76, 'u', 'C'}}},
    {OP_VRED,
     "VRED",
     VECTOR,
     false,
     9,
     {{"mode", 10, 9, 'u', '-'},
      {"accumulate", 11, 11, 'u', '-'},
      {"wide", 12, 12, 'u', '-'},
      {"src", 35, 16, 'u', 'A'},
      {"src_lo", 55, 36, 'u', 'A'},
      {"nx", 65, 56, 'u', 'C'},
      {"ny", 75, 66, 'u', 'C'},
      {"lanes", 81, 76, 'u', 'C'},
      {"rf", 90, 82, 'u', '-'}}},
    {OP_VROW,
     "VROW",
     VECTOR,
     false,
     8,
     {{"op", 10, 9, 'u', '-'},
      {"dst", 24, 16, 'u', '-'},
      {"a", 33, 25, 'u', '-'},
      {"b", 42, 34, 'u', '-'},
      {"n", 52, 43, 'u', 'C'},
      {"cnt", 68, 53, 'u', '-'},
      {"add", 69, 69, 'u', '-'},
      {"imm", 101, 70, 'u', '-'}}},
    {OP_VNRM,
     "VNRM",
     VECTOR,
     false,
     12,
     {{"wide", 9, 9, 'u', '-'},
      {"wide_out", 10, 10, 'u', '-'},
      {"final", 11, 11, 'u', '-'},
      {"centre", 12, 12, 'u', '-'},
      {"src", 35, 16, 'u', 'A'},
      {"src_lo", 55, 36, 'u', 'A'},
      {"dst", 75, 56, 'u', 'A'},
      {"dst_lo", 95, 76, 'u', 'A'},
      {"nx", 105, 96, 'u', 'C'},
      {"lanes", 111, 106, 'u', 'C'},
      {"rf", 120, 112, 'u', '-'},
      {"shift", 127, 121, 's', '-'}}},
    {OP_VSEL,
     "VSEL",
     VECTOR,
     false,
     9,
     {{"reg", 11, 9, 'u', '-'},
      {"step", 12, 12, 'u', '-'},
      {"src", 35, 16, 'u', 'A'},
      {"dst", 55, 36, 'u', 'A'},
      {"nx", 65, 56, 'u', 'C'},
      {"ny", 75, 66, 'u', 'C'},
      {"lanes", 81, 76, 'u', 'C'},
      {"value", 89, 82, 'u', '-'},
      {"first", 109, 90, 'u', '-'}}},
    {OP_VEXP,
     "VEXP",
     VECTOR,
     false,
     7,
     {{"src", 35, 16, 'u', 'A'},
      {"dst", 55, 36, 'u', 'A'},
      {"dst_lo", 75, 56, 'u', 'A'},
      {"table", 95, 76, 'u', 'A'},
      {"nx", 105, 96, 'u', 'C'},
      {"lanes", 111, 106, 'u', 'C'},
      {"rf", 120, 112, 'u', '-'}}},
};

static unsigned bit_at(const uint8_t bytes[INSN_BYTES], unsigned i) { return bytes[i / 8] >> (i % 8) & 1U; }

static int64_t field_value(const uint8_t bytes[INSN_BYTES], const insn_field *field) {
  uint64_t value = 0;
  for (unsigned i = field->lo; i <= field->hi; i++) value |= (uint64_t)bit_at(bytes, i) << (i - field->lo);
  unsigned width = field->hi - field->lo + 1U;
  if (field->type == 's' && bit_at(bytes, field->hi)) return (int64_t)value - ((int64_t)1 << width);
  return (int64_t)value;
}

/* Bits 0..8 are opcode and S; every other set bit must belong to a field. */
static bool has_stray_bit(const uint8_t bytes[INSN_BYTES], const insn_spec *spec) {
  for (unsigned i = 9; i < 128; i++) {
    bool owned = false;
    for (unsigned k = 0; k < spec->fields; k++) owned |= i >= spec->field[k].lo && i <= spec->field[k].hi;
    if (!owned && bit_at(bytes, i)) return true;
  }
  return false;
}

static const insn_spec *find_spec(unsigned code) {
  for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
    if ((unsigned)specs[i].code == code) return &specs[i];
  return NULL;
}

bool decoder_insn_is_control(const insn *in) { return in->spec->code == OP_VPAR ? in->f[VPAR_PER_LANE] == 0 : in->spec->control; }

bool decoder_insn_is_empty(const insn *in) {
  if (in->spec->code == OP_LDW) return false;
  for (unsigned k = 0; k < in->spec->fields; k++)
    if (in->spec->field[k].mark == 'C' && in->f[k] == 0) return true;
  return false;
}

static const char *check_vpar(const insn *in) {
  const int64_t *f = in->f;
  if (f[VPAR_S] > 62) return "s is above 62";
  if (f[VPAR_PER_LANE] && (f[VPAR_M] != 0 || f[VPAR_S] != 0)) return "m or s is given although the lanes bring their own";
  if (!f[VPAR_PER_LANE] && f[VPAR_ADDR] >> 16 != 0) return "bits 19:16 of Mb are not 0";
  if (f[VPAR_LO] > f[VPAR_HI]) return "lo is above hi";
  if (f[VPAR_WIDE] && (f[VPAR_ZP] != 0 || f[VPAR_LO] != 0 || f[VPAR_HI] != 0)) return "zp, lo, hi of a wide VPAR are not 0";
  return f[VPAR_ZP] < -128 ? "zp is below -128" : NULL;
}

static const char *check_rows_of_acc(int64_t first, int64_t rows, const hardware *hw) {
  return first + rows > hw->acc_rows ? "accumulator rows beyond the last" : NULL;
}

static const char *check_array(const insn *in, const hardware *hw) {
  const int64_t *f = in->f;
  switch (in->spec->code) {
    case OP_ACFG:
      if (f[ACFG_ZP] < -128) return "zp is below -128";
      return f[ACFG_WIDTH] < 1 || f[ACFG_HEIGHT] < 1 || f[ACFG_PIXEL_PITCH] < 1 ? "width, height or pixel_pitch is 0" : NULL;
    case OP_LDW:
      if (f[LDW_INT4] && (f[LDW_MEM] || f[LDW_TRANSPOSE] || f[LDW_PITCH])) return "int4 goes with neither mem, transpose nor pitch";
      return f[LDW_ROWS] > hw->n || f[LDW_COLS] > hw->n ? "rows or cols is above N" : NULL;
    case OP_MM:
      if (f[MM_NX] * f[MM_NY] > 512) return "nx * ny is above 512";
      return check_rows_of_acc(f[MM_ACC], f[MM_NX] * f[MM_NY], hw);
    default:
      return NULL;
  }
}

static int64_t lanes_of(const insn *in) {
  switch (in->spec->code) {
    case OP_VRQ:
      return in->f[VRQ_LANES];
    case OP_VMOV:
      return in->f[VMOV_LANES];
    case OP_VBIN:
      return in->f[VBIN_LANES];
    case OP_VFIL:
      return in->f[VFIL_LANES];
    case OP_VRED:
      return in->f[VRED_LANES];
    case OP_VNRM:
      return in->f[VNRM_LANES];
    case OP_VSEL:
      return in->f[VSEL_LANES];
    case OP_VEXP:
      return in->f[VEXP_LANES];
    default:
      return 0;
  }
}

static const char *check_vector(const insn *in, const hardware *hw) {
  const int64_t *f = in->f;
  const char *why = NULL;
  switch (in->spec->code) {
    case OP_VGEO:
      if (f[VGEO_SLOT] > 2) return "no such slot";
      return f[VGEO_ZP] < -128 ? "zp is below -128" : NULL;
    case OP_VPAR:
      return check_vpar(in);
    case OP_VWIN:
      if (f[VWIN_MODE] > 2) return "no such mode";
      if (!f[VWIN_HOLD] && f[VWIN_NX] * f[VWIN_NY] > 512) return "nx * ny is above 512";
      why = check_rows_of_acc(f[VWIN_ACC], f[VWIN_HOLD] ? 1 : f[VWIN_NX] * f[VWIN_NY], hw);
      break;
    case OP_VMOV:
      why = f[VMOV_OP] > 2 ? "no such op" : NULL;
      break;
    case OP_VBIN:
      why = f[VBIN_OP] > 1 ? "no such op" : NULL;
      break;
    case OP_VRED:
      why = f[VRED_MODE] > 2 ? "no such mode" : NULL;
      break;
    case OP_VROW:
      why = f[VROW_OP] > 2 ? "no such op" : NULL;
      break;
    default:
      break;
  }
  if (why == NULL && lanes_of(in) > hw->n) why = "lanes is above N";
  return why;
}

const char *decoder_insn_check(const insn *in, const hardware *hw) {
  const int64_t *f = in->f;
  switch (in->spec->code) {
    case OP_IDX:
      if (f[IDX_N] < 1) return "no modifier";
      for (unsigned k = 1 + 3 * (unsigned)f[IDX_N]; k < in->spec->fields; k++)
        if (f[k] != 0) return "an unused modifier is not 0";
      return NULL;
    case OP_DLD:
      if (f[DLD_REGION] > 2) return "no such region";
      return f[DLD_BYTES] < 1 ? "rows of no bytes" : NULL;
    case OP_DST:
      if (f[DST_REGION] < 1 || f[DST_REGION] > 2) return "a write to region 0 or to none";
      return f[DST_BYTES] < 1 ? "rows of no bytes" : NULL;
    default:
      break;
  }
  return in->spec->code < OP_VGEO ? check_array(in, hw) : check_vector(in, hw);
}

const char *decoder_insn_decode(const uint8_t bytes[INSN_BYTES], unsigned queue, const hardware *hw, insn *out) {
  memset(out, 0, sizeof *out);
  const insn_spec *spec = find_spec(bytes[0]);
  if (spec == NULL) return "undefined opcode";
  if (!(spec->queues >> queue & 1U)) return "an instruction of another queue";
  if (has_stray_bit(bytes, spec)) return "a bit is set that no field owns";
  out->spec = spec;
  out->signal = bit_at(bytes, 8);
  for (unsigned k = 0; k < spec->fields; k++) out->f[k] = field_value(bytes, &spec->field[k]);
  if (out->signal && decoder_insn_is_control(out)) return "a control instruction that signals";
  return decoder_insn_check(out, hw);
}

const char *decoder_insn_apply(const insn *idx, const uint32_t reg[8], const hardware *hw, insn *in) {
  if (decoder_insn_is_control(in)) return "IDX before a control instruction";
  for (unsigned i = 0; i < (unsigned)idx->f[IDX_N]; i++) {
    const int64_t value = reg[idx->f[IDX_REG0 + 3 * i]];
    const int64_t bit = idx->f[IDX_BIT0 + 3 * i];
    const int64_t pitch = idx->f[IDX_PITCH0 + 3 * i];
    unsigned k = 0;
    while (k < in->spec->fields && in->spec->field[k].lo != bit) k++;
    if (k == in->spec->fields || in->spec->field[k].mark == '-') return "IDX names no field that may change";
    if (in->spec->field[k].mark == 'A') {
      in->f[k] += value * pitch;
      if (in->f[k] < 0 || in->f[k] >> (in->spec->field[k].hi - in->spec->field[k].lo + 1) != 0)
        return "IDX takes an address out of its field";
    } else {
      int64_t limit = value - pitch > 0 ? value - pitch : 0;
      in->f[k] = in->f[k] < limit ? in->f[k] : limit;
    }
  }
  return decoder_insn_check(in, hw);
}
