/* SPDX-License-Identifier: Apache-2.0 */
/* What DMA and the array do: docs/refnpu.md sections 4.2 and 4.3. */
#include <string.h>

#include "npu/sim_machine.h"

/* -- DMA -- */

static void find_region(const machine *m, int64_t region, const uint8_t **out_bytes, uint64_t *out_size) {
  if (region == 0)
    *out_bytes = m->memory.constants, *out_size = m->memory.constants_bytes;
  else if (region == 1)
    *out_bytes = m->memory.arena, *out_size = m->memory.arena_bytes;
  else
    *out_bytes = m->memory.state, *out_size = m->memory.state_bytes;
}

static bool move_rows(machine *m, int queue, const instr *in, bool load, uint8_t *local, uint64_t local_size) {
  const uint8_t *region;
  uint64_t region_size;
  int64_t which = in->f[load ? NPU_DLD_region : NPU_DST_region];
  find_region(m, which, &region, &region_size);
  uint8_t *writable = which == 1 ? m->memory.arena : m->memory.state;
  uint64_t dram = (uint64_t)in->f[load ? NPU_DLD_dram : NPU_DST_dram], address = (uint64_t)in->f[load ? NPU_DLD_local : NPU_DST_local];
  uint64_t bytes = (uint64_t)in->f[load ? NPU_DLD_bytes : NPU_DST_bytes], rows = (uint64_t)in->f[load ? NPU_DLD_rows : NPU_DST_rows];
  for (uint64_t i = 0; i < rows; i++) {
    uint64_t from = dram + i * m->dram_pitch[queue], to = address + i * m->local_pitch[queue];
    if (!sim_inside(from, bytes, region_size)) return sim_fault(m, "DMA leaves its DRAM region");
    if (!sim_inside(to, bytes, local_size)) return sim_fault(m, "DMA leaves the scratchpad or weight buffer");
    if (load)
      memcpy(local + to, region + from, bytes);
    else
      memcpy(writable + from, local + to, bytes);
  }
  return true;
}

bool npuc_sim_dma(machine *m, int queue, const instr *in) {
  if (in->op == ISA_DCFG) {
    m->dram_pitch[queue] = (uint32_t)in->f[NPU_DCFG_dram_pitch];
    m->local_pitch[queue] = (uint32_t)in->f[NPU_DCFG_local_pitch];
    return true;
  }
  if (in->op == ISA_DST) return move_rows(m, queue, in, false, m->sp, m->arch.scratchpad_bytes);
  if (in->f[NPU_DLD_mem]) return move_rows(m, queue, in, true, m->wb, m->arch.weight_buffer_bytes);
  return move_rows(m, queue, in, true, m->sp, m->arch.scratchpad_bytes);
}

/* -- array -- */

static bool configure(machine *m, const instr *in) {
  m->source = (geometry){.is_signed = in->f[NPU_ACFG_is_signed] != 0,
                         .zp = (int32_t)in->f[NPU_ACFG_zp],
                         .width = (int32_t)in->f[NPU_ACFG_width],
                         .height = (int32_t)in->f[NPU_ACFG_height],
                         .row_pitch = (uint32_t)in->f[NPU_ACFG_row_pitch],
                         .pixel_pitch = (uint32_t)in->f[NPU_ACFG_pixel_pitch],
                         .stride_x = (int32_t)in->f[NPU_ACFG_stride_x],
                         .stride_y = (int32_t)in->f[NPU_ACFG_stride_y]};
  return true;
}

static int nibble(const uint8_t *bytes, uint32_t index) { return index % 2 ? bytes[index / 2] >> 4 : bytes[index / 2] & 15; }

static bool load_int4(machine *m, const instr *in, int16_t (*plane)[NPU_MAX_LANES]) {
  uint32_t n = m->arch.n, rows = (uint32_t)in->f[NPU_LDW_rows], cols = (uint32_t)in->f[NPU_LDW_cols];
  uint64_t address = (uint64_t)in->f[NPU_LDW_addr];
  if (!sim_inside(address, (uint64_t)n / 2 * (1 + rows), m->arch.weight_buffer_bytes)) return sim_fault(m, "LDW leaves its memory");
  const uint8_t *scales = m->wb + address;
  for (uint32_t i = 0; i < rows; i++) {
    const uint8_t *line = scales + (size_t)n / 2 * (1 + i);
    for (uint32_t j = 0; j < cols; j++) {
      int scale = nibble(scales, j), value = nibble(line, j);
      if (scale == 0) return sim_fault(m, "LDW: a sub-scale is 0");
      plane[i][j] = (int16_t)((value < 8 ? value : value - 16) * scale);
    }
  }
  return true;
}

static bool load_weights(machine *m, const instr *in) {
  uint32_t rows = (uint32_t)in->f[NPU_LDW_rows], cols = (uint32_t)in->f[NPU_LDW_cols];
  if (m->next_loaded) return sim_fault(m, "LDW: the next plane is loaded and was not taken");
  int16_t(*plane)[NPU_MAX_LANES] = m->planes[1 - m->current];
  memset(plane, 0, sizeof m->planes[0]);
  m->next_loaded = true;
  if (rows == 0 || cols == 0) return true;
  if (in->f[NPU_LDW_int4]) return load_int4(m, in, plane);
  const uint8_t *memory = in->f[NPU_LDW_mem] ? m->sp : m->wb;
  uint64_t size = in->f[NPU_LDW_mem] ? m->arch.scratchpad_bytes : m->arch.weight_buffer_bytes;
  uint64_t address = (uint64_t)in->f[NPU_LDW_addr], pitch = (uint64_t)in->f[NPU_LDW_pitch];
  for (uint32_t i = 0; i < rows; i++) {
    if (!sim_inside(address + i * pitch, cols, size)) return sim_fault(m, "LDW leaves its memory");
    for (uint32_t j = 0; j < cols; j++) {
      int8_t value = (int8_t)memory[address + i * pitch + j];
      if (in->f[NPU_LDW_transpose])
        plane[j][i] = value;
      else
        plane[i][j] = value;
    }
  }
  return true;
}

/* Operands of one output pixel: operand[j], 0 outside the image. 9 bits: a byte less the zero point, which is a byte too. */
static bool read_operands(machine *m, int64_t base, int32_t x, int32_t y, int16_t *operand) {
  const geometry *g = &m->source;
  uint32_t n = m->arch.n;
  memset(operand, 0, n * sizeof *operand);
  if (y < 0 || y >= g->height) return true;
  int64_t address = base + (int64_t)y * g->row_pitch + (int64_t)x * g->pixel_pitch;
  uint32_t j = 0;
  for (int32_t pixel = x; j < n; pixel++) {
    uint32_t end = j + g->pixel_pitch < n ? j + g->pixel_pitch : n;
    if (pixel >= 0 && pixel < g->width) {
      if (address + j < 0 || !sim_inside((uint64_t)(address + j), end - j, m->arch.scratchpad_bytes))
        return sim_fault(m, "MM reads outside the scratchpad");
      for (uint32_t k = j; k < end; k++) operand[k] = (int16_t)(sim_byte(g, m->sp[address + k]) - g->zp);
    }
    j = end;
  }
  return true;
}

/* acc[n] (+)= sum_j operand[j] * w[j][n]; the sums wrap as the accumulators do, products of 16 bits do not. Inlined with n a number, so that compilers unroll it. */
static inline void multiply_lanes(uint32_t n, const int16_t *operand, int16_t (*w)[NPU_MAX_LANES], bool accumulate, int32_t *acc) {
  uint32_t sums[NPU_MAX_LANES] = {0};
  if (accumulate) memcpy(sums, acc, n * sizeof *acc);
  for (uint32_t j = 0; j < n; j++) {
    if (operand[j] == 0) continue;
    for (uint32_t k = 0; k < n; k++) sums[k] += (uint32_t)((int32_t)operand[j] * w[j][k]);
  }
  memcpy(acc, sums, n * sizeof *acc);
}

static void multiply_row(uint32_t n, const int16_t *operand, int16_t (*w)[NPU_MAX_LANES], bool accumulate, int32_t *acc) {
  switch (n) {
    case 8:
      multiply_lanes(8, operand, w, accumulate, acc);
      break;
    case 16:
      multiply_lanes(16, operand, w, accumulate, acc);
      break;
    default:
      multiply_lanes(n, operand, w, accumulate, acc);
      break;
  }
}

static bool multiply(machine *m, const instr *in) {
  if (in->f[NPU_MM_swap]) {
    if (!m->next_loaded) return sim_fault(m, "MM: swap without a loaded plane");
    m->current = 1 - m->current;
    m->next_loaded = false;
  }
  int32_t nx = (int32_t)in->f[NPU_MM_nx], ny = (int32_t)in->f[NPU_MM_ny], acc = (int32_t)in->f[NPU_MM_acc];
  if (nx * ny > 0 && m->source.pixel_pitch == 0) return sim_fault(m, "MM before any ACFG");
  int16_t operand[NPU_MAX_LANES];
  for (int32_t iy = 0; iy < ny; iy++) {
    for (int32_t ix = 0; ix < nx; ix++) {
      int32_t x = (int32_t)in->f[NPU_MM_x0] + ix * m->source.stride_x, y = (int32_t)in->f[NPU_MM_y0] + iy * m->source.stride_y;
      if (!read_operands(m, in->f[NPU_MM_base], x, y, operand)) return false;
      multiply_row(m->arch.n, operand, m->planes[m->current], in->f[NPU_MM_accumulate] != 0,
                   m->acc + (size_t)(acc + iy * nx + ix) * m->arch.n);
    }
  }
  return true;
}

bool npuc_sim_array(machine *m, const instr *in) {
  switch (in->op) {
    case ISA_ACFG:
      return configure(m, in);
    case ISA_LDW:
      return load_weights(m, in);
    default:
      return multiply(m, in);
  }
}
