/* SPDX-License-Identifier: Apache-2.0 */
/* Encoder and decoder against bits written out by hand from docs/refnpu.md, and the document's tables against isa.def. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "npu/isa.h"

static void test_bits_by_hand(void **state) {
  (void)state;
  instr in = {.op = ISA_MM, .signal = 1};
  in.f[NPU_MM_swap] = 1;       /* bit 10 */
  in.f[NPU_MM_base] = 0xABCDE; /* 35:16 */
  in.f[NPU_MM_x0] = -1;        /* 47:36 */
  in.f[NPU_MM_y0] = 2;         /* 59:48 */
  in.f[NPU_MM_nx] = 32;        /* 69:60 */
  in.f[NPU_MM_ny] = 16;        /* 79:70 */
  in.f[NPU_MM_acc] = 512;      /* 89:80 */
  /* byte 0 opcode 22; byte 1 signal and swap: 0000 0101; 16..: CDE -> DE BC, then nibble A and low nibble of x0 F; x0 rest FF; y0 002: 02, then nibble 0 and nx low nibble 0;
   * nx 32 = 0000100000b: bits 69:60, so bit 65 is set: byte 8 = 0000 0010; ny 16: bit 74: byte 9 = 0000 0100; acc 512: bit 89: byte 11 = 0000 0010. */
  static const uint8_t expected[16] = {0x22, 0x05, 0xDE, 0xBC, 0xFA, 0xFF, 0x02, 0x00, 0x02, 0x04, 0x00, 0x02, 0, 0, 0, 0};
  uint8_t bytes[16];
  assert_true(npuc_isa_encode(&in, bytes));
  assert_memory_equal(bytes, expected, 16);
  instr back;
  assert_true(npuc_isa_decode(bytes, &back));
  assert_int_equal(back.f[NPU_MM_x0], -1);
  assert_int_equal(back.signal, 1);
}

static uint64_t next_random(uint64_t *r) { return (*r = *r * 6364136223846793005u + 1442695040888963407u) >> 20; }

static void test_round_trip(void **state) {
  (void)state;
  uint64_t r = 5;
  for (unsigned op = 0; op < ISA_COUNT; op++) {
    unsigned count;
    const isa_field *fields = npuc_isa_fields((isa_op)op, &count);
    for (int round = 0; round < 50; round++) {
      instr in = {.op = (uint8_t)op}, back;
      for (unsigned i = 0; i < count; i++) {
        int64_t span = (int64_t)1 << fields[i].width, v = (int64_t)(next_random(&r) % (uint64_t)span);
        in.f[i] = fields[i].is_signed ? v - span / 2 : v;
      }
      in.signal = npuc_isa_is_unit(&in) && round % 2;
      uint8_t bytes[16];
      assert_true(npuc_isa_encode(&in, bytes));
      assert_true(npuc_isa_decode(bytes, &back));
      assert_memory_equal(&in, &back, sizeof in);
    }
  }
}

static void test_refusals(void **state) {
  (void)state;
  uint8_t bytes[16] = {0x03};
  instr in;
  assert_true(npuc_isa_decode(bytes, &in)); /* HALT */
  bytes[15] = 0x80;                         /* a bit that no field owns */
  assert_false(npuc_isa_decode(bytes, &in));
  bytes[15] = 0, bytes[1] = 1; /* a control instruction that signals */
  assert_false(npuc_isa_decode(bytes, &in));
  bytes[1] = 0, bytes[0] = 0x7F; /* no such opcode */
  assert_false(npuc_isa_decode(bytes, &in));
  instr big = {.op = ISA_MM};
  big.f[NPU_MM_nx] = 1024;
  assert_false(npuc_isa_encode(&big, bytes));
  big.f[NPU_MM_nx] = 1, big.f[NPU_MM_x0] = 2048;
  assert_false(npuc_isa_encode(&big, bytes));
}

static const char *mark_text(isa_mark mark) { return mark == ISA_MARK_ADDRESS ? "A" : mark == ISA_MARK_COUNT ? "C" : "-"; }

/* Each instruction has its heading, each field its row, in the order of isa.def, and there are no other rows. */
static void test_document(void **state) {
  (void)state;
  mapped_file *f;
  assert_int_equal(npuc_file_map(NULL, NPUC_SOURCE_DIR "/docs/refnpu.md", &f), NPUC_OK);
  char *text = malloc(npuc_file_size(f) + 1);
  memcpy(text, npuc_file_bytes(f), npuc_file_size(f));
  text[npuc_file_size(f)] = 0;
  const char *at = text;
  size_t rows = 0;
  for (unsigned op = 0; op < ISA_COUNT; op++) {
    char line[128];
    snprintf(line, sizeof line, "\n### 0x%02X %s (", npuc_isa_info((isa_op)op)->opcode, npuc_isa_info((isa_op)op)->name);
    at = strstr(at, line);
    if (!at) fail_msg("docs/refnpu.md lacks %s", line + 1);
    unsigned count;
    const isa_field *fields = npuc_isa_fields((isa_op)op, &count);
    for (unsigned i = 0; i < count; i++, rows++) {
      snprintf(line, sizeof line, "\n| %d:%d | %s | %c%d | %s |", fields[i].low + fields[i].width - 1, fields[i].low, fields[i].name,
               fields[i].is_signed ? 's' : 'u', fields[i].width, mark_text(fields[i].mark));
      at = strstr(at, line);
      if (!at) fail_msg("docs/refnpu.md lacks, or has in another order, %s of %s", line + 1, npuc_isa_info((isa_op)op)->name);
    }
  }
  size_t in_document = 0;
  for (const char *row = text; (row = strstr(row, "\n| ")); row++) {
    int high, low;
    in_document += sscanf(row, "\n| %d:%d |", &high, &low) == 2;
  }
  assert_int_equal(in_document, rows);
  free(text);
  npuc_file_release(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits_by_hand), cmocka_unit_test(test_round_trip),
                                     cmocka_unit_test(test_refusals), cmocka_unit_test(test_document)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
