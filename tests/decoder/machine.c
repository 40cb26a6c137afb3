/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>

void decoder_machine_create(machine *m, const hardware *hw) {
  memset(m, 0, sizeof *m);
  m->hw = *hw;
  m->sp = decoder_alloc(hw->sp_bytes, 1);
  m->wb = decoder_alloc(hw->wb_bytes, 1);
  m->acc = decoder_alloc((size_t)hw->acc_rows * hw->n, sizeof m->acc[0]);
  m->rf = decoder_alloc(hw->rf_entries, sizeof m->rf[0]);
  for (unsigned i = 0; i < 2; i++) m->plane[i] = decoder_alloc((size_t)hw->n * hw->n, 1);
  m->lane = decoder_alloc(hw->n, sizeof m->lane[0]);
}

void decoder_machine_destroy(machine *m) {
  free(m->sp);
  free(m->wb);
  free(m->acc);
  free(m->rf);
  free(m->plane[0]);
  free(m->plane[1]);
  free(m->lane);
}

_Noreturn void decoder_machine_fail(const machine *m, const char *why) {
  decoder_fail(EXIT_RUN, "stream %s, queue %u, instruction %u: %s", m->stream, m->queue, m->pc, why);
}

uint8_t *decoder_sp(const machine *m, int64_t address, int64_t bytes) {
  if (address < 0 || bytes < 0 || address + bytes > m->hw.sp_bytes) decoder_machine_fail(m, "an access outside the scratchpad");
  return m->sp + address;
}

int decoder_byte(bool is_signed, uint8_t byte) { return is_signed && byte >= 128 ? byte - 256 : byte; }

int64_t decoder_wrap(__int128 value) { return (int64_t)(uint64_t)value; }

int64_t decoder_shift_round(__int128 value, unsigned s) { return decoder_wrap(value + (s == 0 ? 0 : (__int128)1 << (s - 1))) >> s; }

int64_t decoder_rule(const machine *m, int64_t t, int64_t multiplier, unsigned s) {
  int64_t y = decoder_wrap((__int128)m->zp + decoder_shift_round((__int128)t * multiplier, s));
  y = y < m->lo ? m->lo : y;
  return y > m->hi ? m->hi : y;
}

int64_t decoder_pixel(const source_shape *slot, int64_t base, int64_t ix, int64_t iy) {
  return base + iy * slot->row_pitch + ix * slot->pixel_pitch;
}

void decoder_operand(const machine *m, const source_shape *slot, int64_t base, int64_t low, int64_t ix, int64_t iy, int64_t count,
                     int64_t *out_a) {
  const uint8_t *high_bytes = decoder_sp(m, decoder_pixel(slot, base, ix, iy), count);
  for (int64_t j = 0; j < count; j++) out_a[j] = decoder_byte(slot->is_signed, high_bytes[j]);
  if (low >= 0) {
    const uint8_t *low_bytes = decoder_sp(m, decoder_pixel(slot, low, ix, iy), count);
    for (int64_t j = 0; j < count; j++) out_a[j] = 256 * out_a[j] + low_bytes[j];
  }
  for (int64_t j = 0; j < count; j++) out_a[j] -= slot->zp;
}

void decoder_result(const machine *m, int64_t base, int64_t low, int64_t ix, int64_t iy, int64_t count, const int64_t *d) {
  uint8_t *first = decoder_sp(m, decoder_pixel(&m->slot[2], base, ix, iy), count);
  if (low < 0) {
    for (int64_t j = 0; j < count; j++) first[j] = (uint8_t)((uint64_t)d[j] & 255);
    return;
  }
  uint8_t *second = decoder_sp(m, decoder_pixel(&m->slot[2], low, ix, iy), count);
  for (int64_t j = 0; j < count; j++) {
    first[j] = (uint8_t)((uint64_t)d[j] >> 8 & 255);
    second[j] = (uint8_t)((uint64_t)d[j] & 255);
  }
}

row_entry *decoder_row(const machine *m, int64_t index) {
  if (index < 0 || index >= m->hw.rf_entries) decoder_machine_fail(m, "an access outside the row file");
  return &m->rf[index];
}

int64_t decoder_row_multiply(const machine *m, int64_t index, int64_t t, int64_t shift) {
  const row_entry *row = decoder_row(m, index);
  int64_t q = row->e + shift;
  __int128 product = (__int128)t * row->r;
  if (q >= 0) return decoder_shift_round(product, q > 62 ? 62 : (unsigned)q);
  return decoder_wrap(product * ((__int128)1 << (-q > 16 ? 16 : -q)));
}
