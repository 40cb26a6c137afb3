/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile files: the checksums are right, the records are not. Fields of each section are replaced by chance (seeded): small numbers, extremes, neighbours' values, the old value
 * plus or minus one. The loader may take or refuse such a file; whatever it takes must plan, run and simulate without a crash, and its failures have a diagnostic. The
 * sanitizers' build sees what is read or written out of bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stages/npu_engine.h"
#include "support/every_operator.h"
#include "support/ir.h"
#include "support/npu_bytes.h"
#include "support/random.h"
#include "support/scratch.h"

enum { MOST_MEMORY = 1 << 24 };

typedef struct campaign {
  arena *a;
  char *dir, *path, *changed;
  uint8_t *bytes, *copy;
  size_t n;
  uint64_t random;
  size_t tried, refused, ran, simulated;
} campaign;

static uint64_t below(campaign *c, uint64_t n) { return random_next(&c->random) % n; }

/* A value for a field of `width` bytes at `at`. */
static uint64_t hostile_value(campaign *c, const uint8_t *section, uint64_t bytes, const uint8_t *at, size_t width) {
  uint64_t old = 0, other = 0;
  memcpy(&old, at, width);
  memcpy(&other, section + below(c, bytes / width) * width, width);
  switch (below(c, 9)) {
    case 0:
      return old + 1;
    case 1:
      return old - 1;
    case 2:
      return other;
    case 3:
      return 0;
    case 4:
      return UINT64_MAX;
    case 5:
      return (uint64_t)1 << (8 * width - 1);
    case 6:
      return ((uint64_t)1 << (8 * width - 1)) - 1;
    case 7:
      return below(c, 40);
    default:
      return old ^ (uint64_t)1 << below(c, 8 * width);
  }
}

static void change(campaign *c, const char *kind) {
  static const size_t widths[] = {1, 4, 4, 8};
  uint64_t offset, bytes;
  memcpy(c->copy, c->bytes, c->n);
  npuc_npu_bytes_find(c->copy, kind, &offset, &bytes);
  for (uint64_t k = 0, n = 1 + below(c, 3); k < n; k++) {
    size_t width = widths[below(c, 4)];
    if (width > bytes) width = 1;
    uint64_t at = offset + below(c, bytes / width) * width, v = hostile_value(c, c->copy + offset, bytes, c->copy + at, width);
    memcpy(c->copy + at, &v, width);
  }
  npuc_npu_bytes_seal(c->copy);
  npuc_npu_bytes_write(c->changed, c->copy, c->n);
}

/* Buffers for all ports; false when they are too large for a test. */
static bool take_buffers(const npuc_program *p, void **inputs, void **outputs) {
  size_t sum = 0;
  if (npuc_program_inputs(p) > 64 || npuc_program_outputs(p) > 64) return false;
  for (size_t i = 0; i < npuc_program_inputs(p); i++) sum += npuc_program_input(p, i)->bytes;
  for (size_t i = 0; i < npuc_program_outputs(p); i++) sum += npuc_program_output(p, i)->bytes;
  if (sum > MOST_MEMORY) return false;
  for (size_t i = 0; i < npuc_program_inputs(p); i++) {
    inputs[i] = malloc(npuc_program_input(p, i)->bytes); /* exactly: what runs beyond is seen */
    assert_non_null(inputs[i]);
    memset(inputs[i], 0x35, npuc_program_input(p, i)->bytes);
  }
  for (size_t i = 0; i < npuc_program_outputs(p); i++) {
    outputs[i] = malloc(npuc_program_output(p, i)->bytes);
    assert_non_null(outputs[i]);
  }
  return true;
}

static size_t activations(const npuc_program *p) {
  size_t sum = 0;
  for (size_t i = 0; i < p->graph->n_tensors; i++) sum += p->graph->tensors[i].bytes;
  return sum;
}

static void run_public(campaign *c, const npuc_program *p, void **inputs, void **outputs) {
  npuc_session *s;
  npuc_error error;
  npuc_status status = npuc_session_create(p, NULL, &s, &error);
  if (status == NPUC_OK) {
    status = npuc_session_run(s, (const void *const *)inputs, outputs, &error);
    c->ran += status == NPUC_OK;
  }
  assert_int_not_equal(status, NPUC_INTERNAL);
  if (status != NPUC_OK) assert_true(error.code[0] != 0);
  npuc_session_destroy(s);
}

static void simulate(campaign *c, void **inputs, void **outputs) {
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  npu_engine *e;
  assert_int_equal(npuc_npu_engine_open(d, a, c->changed, "simulator", &e), NPUC_OK);
  uint64_t memory = 0;
  for (size_t i = 0; i < e->program->programs[0]->n_streams; i++)
    memory += e->program->programs[0]->streams[i].arena_bytes + e->program->programs[0]->streams[i].state_bytes;
  if (memory < MOST_MEMORY) {
    npu_timing timing = {0};
    npuc_status status = npuc_npu_engine_time(e, d, (const void *const *)inputs, outputs, NULL, NULL, &timing);
    assert_int_not_equal(status, NPUC_INTERNAL);
    if (status != NPUC_OK) assert_non_null(npuc_diag_first_error(d));
    c->simulated += status == NPUC_OK;
  }
  npuc_npu_engine_close(e);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}

static void try_changed(campaign *c) {
  npuc_program *p;
  npuc_error error;
  void *inputs[64] = {NULL}, *outputs[64] = {NULL};
  c->tried++;
  npuc_status status = npuc_program_load(c->changed, &p, &error);
  if (status != NPUC_OK) {
    assert_int_not_equal(status, NPUC_INTERNAL);
    assert_true(error.code[0] != 0 && error.message[0] != 0);
    c->refused++;
    return;
  }
  if (activations(p) < MOST_MEMORY && take_buffers(p, inputs, outputs)) {
    run_public(c, p, inputs, outputs);
    simulate(c, inputs, outputs);
  }
  for (size_t i = 0; i < 64; i++) free(inputs[i]), free(outputs[i]);
  npuc_program_destroy(p);
}

static void test_sections(void **state) {
  (void)state;
  static const char *const kinds[] = {"META", "STRS", "INTS", "TENS", "NODE", "ATTR", "STEP",
                                      "CONF", "STRM", "BIND", "INST", "DBUG", "IOTB", "WGTS"};
  const char *asked = getenv("NPUC_HOSTILE_ROUNDS"); /* a longer campaign by hand */
  size_t rounds = asked ? (size_t)atol(asked) : 150;
  for (int is_signed = 0; is_signed < 2; is_signed++) {
    campaign c = {.a = npuc_arena_create(), .random = 2026 + (uint64_t)is_signed};
    module *m = npuc_test_module(npuc_every_operator_text(c.a, is_signed));
    c.dir = npuc_scratch_create(c.a);
    c.path = npuc_path_join(c.a, c.dir, "whole.npu"), c.changed = npuc_path_join(c.a, c.dir, "changed.npu");
    npuc_test_build_npu(m->graphs[0], is_signed ? 16 : 8, c.path);
    npuc_module_destroy(m);
    c.bytes = npuc_npu_bytes_read(c.a, c.path, &c.n);
    c.copy = npuc_arena_alloc(c.a, c.n);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      size_t before = c.refused;
      for (size_t i = 0; i < rounds; i++) {
        change(&c, kinds[k]);
        try_changed(&c);
      }
      if (asked) print_message("%s: %zu of %zu refused\n", kinds[k], c.refused - before, rounds);
    }
    print_message("%zu files: %zu refused, %zu ran, %zu simulated\n", c.tried, c.refused, c.ran, c.simulated);
    assert_true(c.refused > c.tried / 4 && c.ran > c.tried / 20 && c.simulated > c.tried / 20); /* the campaign reaches both sides */
    npuc_scratch_remove(c.dir);
    npuc_arena_destroy(c.a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sections)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
