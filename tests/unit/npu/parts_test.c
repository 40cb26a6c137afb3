/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's parts one by one: hardware files, layouts, tiles and chunks, allocation, scoreboard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "npu/alloc.h"
#include "npu/place.h"
#include "npu/scoreboard.h"
#include "npu/tile.h"

static void test_hardware_files(void **state) {
  (void)state;
  /* The numbers of docs/refnpu.md section 1. */
  static const uint32_t expected[3][3] = {{8, 128, 64}, {16, 256, 128}, {32, 512, 256}};
  arena *a = npuc_arena_create();
  for (int i = 0; i < 3; i++) {
    npu_arch arch;
    char *path = npuc_arena_printf(a, "%s/share/npuc/targets/refnpu-n%u.json", NPUC_SOURCE_DIR, expected[i][0]);
    assert_int_equal(npuc_npu_arch_load(NULL, a, path, &arch), NPUC_OK);
    assert_int_equal(arch.n, expected[i][0]);
    assert_int_equal(arch.scratchpad_bytes, expected[i][1] * 1024);
    assert_int_equal(arch.weight_buffer_bytes, expected[i][2] * 1024);
    assert_int_equal(arch.dma_descriptor_cycles, 64);
    arch.n = 12;
    assert_false(npuc_npu_arch_valid(&arch));
  }
  npu_arch arch;
  assert_int_equal(npuc_npu_arch_load(NULL, a, NPUC_SOURCE_DIR "/CMakeLists.txt", &arch), NPUC_BAD_INPUT);
  npuc_arena_destroy(a);
}

static void test_layout(void **state) {
  (void)state;
  layout l = npuc_layout_make(16, 3, 2, 2, LAYOUT_CHANNELS_FIRST);
  assert_int_equal(l.pitch, 4);
  assert_int_equal(npuc_layout_bytes(&l), 16);
  static const uint8_t dense[12] = {1, 2, 3, 4, 11, 12, 13, 14, 21, 22, 23, 24};
  static const uint8_t packed[16] = {1, 11, 21, 0, 2, 12, 22, 0, 3, 13, 23, 0, 4, 14, 24, 0};
  uint8_t bytes[16], back[12];
  npuc_layout_pack(&l, dense, bytes);
  assert_memory_equal(bytes, packed, 16);
  npuc_layout_unpack(&l, bytes, back);
  assert_memory_equal(back, dense, 12);
  l = npuc_layout_make(8, 20, 3, 5, LAYOUT_CHANNELS_FIRST);
  assert_int_equal(npuc_layout_blocks(&l), 3);
  assert_int_equal(npuc_layout_bytes(&l), 3 * 15 * 8);
  l = npuc_layout_make(32, 9, 1, 1, LAYOUT_CHANNELS_LAST);
  assert_int_equal(l.pitch, 16);
}

static void test_tiles(void **state) {
  (void)state;
  /* ResNet-20's stem: 3 channels at pitch 4; N/4 pixels in a read. Tiles as docs/refnpu.md section 8 counts them. */
  static const uint32_t sizes[] = {8, 16, 32}, expected[] = {6, 3, 3};
  for (int i = 0; i < 3; i++) {
    conv_shape c = {.x = npuc_layout_make(sizes[i], 3, 32, 32, LAYOUT_CHANNELS_FIRST),
                    .y = npuc_layout_make(sizes[i], 16, 32, 32, LAYOUT_CHANNELS_FIRST),
                    .kh = 3,
                    .kw = 3,
                    .stride_y = 1,
                    .stride_x = 1,
                    .dilation_y = 1,
                    .dilation_x = 1,
                    .pad_top = 1,
                    .pad_left = 1};
    assert_int_equal(npuc_npu_tile_count(&c), expected[i]);
    /* Every weight is in exactly one tile. */
    int8_t w[16 * 3 * 9];
    for (int k = 0; k < 16 * 27; k++) w[k] = 1;
    uint8_t bytes[32 * 32];
    uint32_t ones = 0;
    for (uint32_t t = 0; t < npuc_npu_tile_count(&c); t++) {
      weight_tile tile = npuc_npu_tile_at(&c, t);
      for (uint32_t ob = 0; ob < npuc_layout_blocks(&c.y); ob++) {
        npuc_npu_tile_pack(&c, &tile, ob, w, bytes);
        for (uint32_t k = 0; k < tile.rows * sizes[i]; k++) ones += bytes[k];
      }
    }
    assert_int_equal(ones, 16 * 27);
  }
}

static void test_chunks(void **state) {
  (void)state;
  static const uint32_t shapes[][2] = {{1, 1}, {8, 8}, {32, 32}, {7, 513}, {2047, 1}, {1, 2047}, {100, 37}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    for (uint32_t least = 1; least < 4; least++) {
      layout y = npuc_layout_make(16, 16, shapes[i][0], shapes[i][1], LAYOUT_CHANNELS_FIRST);
      uint64_t pixels = 0;
      for (uint32_t k = 0; k < npuc_npu_chunk_count(&y, least); k++) {
        pixel_chunk c = npuc_npu_chunk_at(&y, least, k);
        assert_true(c.nx >= 1 && c.ny >= 1 && c.nx * c.ny <= 512 && c.x + c.nx <= y.w && c.y + c.ny <= y.h);
        assert_true(c.nx == y.w || c.ny == 1); /* what the fused add relies on */
        pixels += (uint64_t)c.nx * c.ny;
      }
      assert_int_equal(pixels, (uint64_t)y.h * y.w);
    }
  }
}

static void test_allocation(void **state) {
  (void)state;
  sp_buffer b[] = {{.bytes = 100, .first = 0, .last = 2},
                   {.bytes = 100, .first = 0, .last = 0},
                   {.bytes = 60, .first = 1, .last = 3},
                   {.bytes = 200, .first = 3, .last = 3}};
  uint32_t position;
  assert_true(npuc_npu_alloc(b, 4, 512, &position));
  assert_int_equal(b[0].address, 0);
  assert_int_equal(b[1].address, 128);
  assert_int_equal(b[2].address, 128); /* where the one before died */
  assert_int_equal(b[3].address, 192);
  assert_false(npuc_npu_alloc(b, 4, 300, &position));
  assert_int_equal(position, 3);
}

/* Against the definition, byte by byte. */
static void test_scoreboard(void **state) {
  (void)state;
  enum { SIZE = 64 };
  arena *a = npuc_arena_create();
  scoreboard s;
  npuc_score_init(&s, a, SIZE);
  uint32_t written[SIZE][NPU_QUEUES] = {{0}}, read[SIZE][NPU_QUEUES] = {{0}};
  uint64_t r = 3;
  for (uint32_t token = 1; token < 3000; token++) {
    r = r * 6364136223846793005u + 1442695040888963407u;
    uint64_t begin = (r >> 33) % SIZE, end = begin + (r >> 40) % (SIZE - begin) + 1;
    bool is_write = r >> 50 & 1;
    npu_queue queue = (npu_queue)(r >> 53 & 3);
    uint32_t need[NPU_QUEUES] = {0}, expected[NPU_QUEUES] = {0};
    npuc_score_access(&s, begin, end, is_write, queue, token, need);
    for (uint64_t i = begin; i < end; i++) {
      for (int q = 0; q < NPU_QUEUES; q++) {
        if (written[i][q] > expected[q]) expected[q] = written[i][q];
        if (is_write && read[i][q] > expected[q]) expected[q] = read[i][q];
        if (is_write)
          written[i][q] = q == (int)queue ? token : 0, read[i][q] = 0;
        else if (q == (int)queue)
          read[i][q] = token;
      }
    }
    assert_memory_equal(need, expected, sizeof need);
  }
  assert_true(s.count <= SIZE);
  npuc_arena_destroy(a);
}

/* The placement table of the documentation: every operator has at least one named rule with a sentence. */
static void test_rules(void **state) {
  (void)state;
  static const qop ops[] = {
#define QOP(name, code) QOP_##name,
#include "npu/qops.def"
#undef QOP
  };
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    const char *sentence = NULL;
    assert_non_null(npuc_npu_place_rule(ops[i], 0, &sentence));
    assert_true(strlen(sentence) > 10);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hardware_files), cmocka_unit_test(test_layout),     cmocka_unit_test(test_tiles), cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_allocation),     cmocka_unit_test(test_scoreboard), cmocka_unit_test(test_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
