/* SPDX-License-Identifier: Apache-2.0 */
/* `.npu` files: written, read back and run to the same bytes; the same bytes from two builds; every damaged byte refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "npu/lower.h"
#include "npu/report.h"
#include "npu/write.h"
#include "support/npu_oracle.h"
#include "support/trace_check.h"

static char *scratch_path(arena *a, const char *name) {
  char *folder = npuc_arena_printf(a, "%s/scratch", NPUC_BINARY_DIR);
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_dir_create(d, folder), NPUC_OK);
  npuc_diag_destroy(d);
  return npuc_arena_printf(a, "%s/npu-%s", folder, name);
}

static npu_arch load_arch(arena *a, int n) {
  npu_arch arch;
  assert_int_equal(npuc_npu_arch_load(NULL, a, npuc_arena_printf(a, "%s/share/npuc/targets/refnpu-n%d.json", NPUC_SOURCE_DIR, n), &arch),
                   NPUC_OK);
  return arch;
}

/* A graph with a host node in the middle, so that there are two streams. */
static net build(arena *a) {
  net b = npu_net_create(a, 9, true);
  int32_t x = npu_net_conv(&b, npu_net_input(&b, 4, (int64_t[]){1, 3, 16, 12}), 18, 3, 1, 1, 1, 1);
  x = npu_net_transpose_hw(&b, npu_net_conv(&b, x, 18, 3, 2, 1, 18, 1));
  npu_net_output(&b, npu_net_softmax(&b, npu_net_gemm(&b, npu_net_flatten(&b, x), 10)));
  return b;
}

static npu_program *compile(net *b) {
  npu_arch arch = load_arch(b->a, 16);
  npu_program *p = NULL;
  assert_int_equal(npuc_npu_compile(NULL, b->a, b->g, &arch, &p), NPUC_OK);
  return p;
}

static uint8_t *read_all(arena *a, const char *path, size_t *out_bytes) {
  mapped_file *f;
  assert_int_equal(npuc_file_map(NULL, path, &f), NPUC_OK);
  *out_bytes = npuc_file_size(f);
  uint8_t *bytes = npuc_arena_copy(a, npuc_file_bytes(f), *out_bytes);
  npuc_file_release(f);
  return bytes;
}

static void test_round_trip(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  net b = build(a);
  npu_program *p = compile(&b), *again;
  const char *path = scratch_path(a, "round.npu");
  assert_int_equal(npuc_npu_write(NULL, path, b.g, p, "{\"target\":\"refnpu-n16\"}", NULL), NPUC_OK);
  npu_file f;
  qgraph *g;
  assert_int_equal(npuc_npu_file_open(NULL, path, &f), NPUC_OK);
  assert_int_equal(npuc_npu_read(NULL, a, &f, 0, &g, &again), NPUC_OK);
  assert_int_equal(again->n_streams, 2);
  assert_string_equal(g->nodes[2].place_reason, b.g->nodes[2].place_reason);
  uint8_t *input = npuc_arena_alloc(a, 3 * 16 * 12);
  for (size_t i = 0; i < 3 * 16 * 12; i++) input[i] = (uint8_t)(i * 37);
  const uint8_t *inputs[] = {input};
  uint8_t **values = NPUC_NEW_ARRAY(a, g->n_tensors, uint8_t *), **expected = npu_oracle_run(a, b.g, inputs);
  uint64_t cycles = npu_program_run(a, g, again, inputs, 0, values);
  assert_int_equal(cycles, p->streams[0].predicted_cycles + p->streams[1].predicted_cycles);
  assert_memory_equal(values[g->outputs[0]], expected[g->outputs[0]], 10);
  npuc_npu_file_close(&f);
  npuc_arena_destroy(a);
}

static void test_same_bytes(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  size_t n[2];
  uint8_t *bytes[2];
  for (int i = 0; i < 2; i++) {
    net b = build(a);
    const char *path = scratch_path(a, i ? "same1.npu" : "same0.npu");
    assert_int_equal(npuc_npu_write(NULL, path, b.g, compile(&b), NULL, NULL), NPUC_OK);
    bytes[i] = read_all(a, path, &n[i]);
  }
  assert_int_equal(n[0], n[1]);
  assert_memory_equal(bytes[0], bytes[1], n[0]);
  npuc_arena_destroy(a);
}

static npuc_status try_bytes(arena *a, const uint8_t *bytes, size_t n) {
  const char *path = scratch_path(a, "damaged.npu");
  assert_int_equal(npuc_file_write_all(NULL, path, bytes, n), NPUC_OK);
  npu_file f;
  npuc_status status = npuc_npu_file_open(NULL, path, &f);
  if (status != NPUC_OK) return status;
  qgraph *g;
  npu_program *p;
  status = npuc_npu_read(NULL, a, &f, 0, &g, &p);
  npuc_npu_file_close(&f);
  return status;
}

static void test_damage(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  net b = build(a);
  const char *path = scratch_path(a, "whole.npu");
  size_t n;
  assert_int_equal(npuc_npu_write(NULL, path, b.g, compile(&b), NULL, NULL), NPUC_OK);
  uint8_t *bytes = read_all(a, path, &n);
  assert_int_equal(try_bytes(a, bytes, n), NPUC_OK);
  for (size_t at = 0; at < n; at += at < 2048 ? 13 : 997) {
    bytes[at] ^= 0x10;
    assert_int_not_equal(try_bytes(a, bytes, n), NPUC_OK);
    bytes[at] ^= 0x10;
  }
  for (size_t cut = 0; cut < n; cut += n / 23 + 1) assert_int_not_equal(try_bytes(a, bytes, cut), NPUC_OK);
  npuc_arena_destroy(a);
}

/* Hostile files: a table entry is changed and every checksum put right, so that only the reader's own checks can refuse. Whatever comes, no crash, and
 * what is accepted must simulate or fail cleanly. */
static void fix_checksums(uint8_t *bytes) {
  uint32_t sections, crc;
  memcpy(&sections, bytes + 24, 4);
  for (uint32_t i = 0; i < sections; i++) {
    uint8_t *entry = bytes + 64 + 48 * i;
    uint64_t offset, count;
    memcpy(&offset, entry + 8, 8);
    memcpy(&count, entry + 16, 8);
    if (memcmp(entry, "WGTS", 4) == 0) continue;
    crc = npuc_crc32c(0, bytes + offset, count);
    memcpy(entry + 32, &crc, 4);
  }
  crc = npuc_crc32c(0, bytes + 64, 48 * (size_t)sections);
  memcpy(bytes + 32, &crc, 4);
  crc = npuc_crc32c(0, bytes, 60);
  memcpy(bytes + 60, &crc, 4);
}

static void find_section(const uint8_t *bytes, const char *kind, uint64_t *out_offset, uint64_t *out_count) {
  for (int i = 0; i < 15; i++) {
    const uint8_t *entry = bytes + 64 + 48 * i;
    if (memcmp(entry, kind, 4) != 0) continue;
    memcpy(out_offset, entry + 8, 8);
    memcpy(out_count, entry + 16, 8);
  }
}

/* The code of the first error, or -1 where the file is taken. */
static int refusal(arena *a, const uint8_t *bytes, size_t n) {
  const char *path = scratch_path(a, "refused.npu");
  assert_int_equal(npuc_file_write_all(NULL, path, bytes, n), NPUC_OK);
  diag *d = npuc_diag_create(NULL, NULL);
  npu_file f;
  qgraph *g;
  npu_program *p;
  npuc_status status = npuc_npu_file_open(d, path, &f);
  assert_int_equal(status, NPUC_OK); /* the container is whole */
  status = npuc_npu_read(d, a, &f, 0, &g, &p);
  npuc_npu_file_close(&f);
  int code = status == NPUC_OK ? -1 : (int)npuc_diag_first_error(d)->code;
  npuc_diag_destroy(d);
  return code;
}

static void test_hostile(void **state) {
  (void)state;
  static const char *const kinds[] = {"TENS", "NODE", "ATTR", "INTS", "STEP", "CONF", "STRM", "BIND", "INST", "DBUG", "IOTB", "STRS"};
  arena *a = npuc_arena_create();
  net b = build(a);
  const char *path = scratch_path(a, "hostile.npu");
  size_t n, refused = 0, tried = 0;
  assert_int_equal(npuc_npu_write(NULL, path, b.g, compile(&b), NULL, NULL), NPUC_OK);
  uint8_t *bytes = read_all(a, path, &n), *copy = npuc_arena_alloc(a, n);
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    uint64_t offset = 0, count = 0;
    find_section(bytes, kinds[k], &offset, &count);
    uint64_t step = count / 24 + 1;
    for (uint64_t at = 0; at < count; at += step) {
      memcpy(copy, bytes, n);
      copy[offset + at] = (uint8_t)(copy[offset + at] + 0x81);
      fix_checksums(copy);
      tried++;
      refused += try_bytes(a, copy, n) != NPUC_OK;
    }
  }
  assert_true(refused > tried / 4);
  npuc_arena_destroy(a);
}

/* One record changed so that it says what section 6.3 forbids: {section, record bytes' offset, value}, in the last record of the table. */
static void test_forbidden_records(void **state) {
  (void)state;
  static const struct {
    const char *kind;
    size_t record, at;
    uint8_t value;
  } changes[] = {
      {"TENS", 128, 108, 1}, {"TENS", 128, 127, 128}, {"NODE", 64, 44, 1}, {"NODE", 64, 63, 1}, {"STEP", 32, 20, 1}, {"STEP", 32, 31, 1},
      {"CONF", 64, 36, 1},   {"CONF", 64, 63, 1},     {"STRM", 96, 88, 1}, {"STRM", 96, 95, 1}, {"BIND", 64, 48, 1}, {"BIND", 64, 63, 1},
      {"DBUG", 32, 16, 1},   {"DBUG", 32, 31, 1},     {"IOTB", 32, 12, 1}, {"IOTB", 32, 31, 1}, /* reserved bytes */
      {"TENS", 128, 64, 1},                                                                     /* the eighth dim of a tensor of fewer */
      {"TENS", 128, 7, 2},                                                                      /* neither with nor without scale */
      {"ATTR", 16, 0, 0},    {"ATTR", 16, 0, 30},     {"ATTR", 16, 3, 1},  {"ATTR", 16, 4, 1},  {"ATTR", 16, 7, 1}, /* key, second word */
      {"IOTB", 32, 8, 2},    {"IOTB", 32, 11, 1},                                                                   /* layout */
  };
  arena *a = npuc_arena_create();
  net b = build(a);
  const char *path = scratch_path(a, "forbidden.npu");
  size_t n;
  assert_int_equal(npuc_npu_write(NULL, path, b.g, compile(&b), NULL, NULL), NPUC_OK);
  uint8_t *bytes = read_all(a, path, &n), *copy = npuc_arena_alloc(a, n);
  for (size_t k = 0; k < sizeof changes / sizeof changes[0]; k++) {
    uint64_t offset = 0, count = 0;
    find_section(bytes, changes[k].kind, &offset, &count);
    assert_true(count >= changes[k].record);
    memcpy(copy, bytes, n);
    fix_checksums(copy);
    assert_int_equal(try_bytes(a, copy, n), NPUC_OK); /* control: putting checksums right changes nothing */
    copy[offset + count - changes[k].record + changes[k].at] = changes[k].value;
    fix_checksums(copy);
    if (refusal(a, copy, n) != NPUC_DIAG_E1004) fail_msg("%s byte %zu = %d is taken", changes[k].kind, changes[k].at, changes[k].value);
  }
  npuc_arena_destroy(a);
}

static uint32_t tensor_name(const uint8_t *bytes, uint64_t tensors, size_t index) {
  uint32_t name;
  memcpy(&name, bytes + tensors + 128 * index, 4);
  return name;
}

/* Two tensors of one name, none at all, a host step with a stream, an offset of a tensor that is no constant, a key twice in a node. */
static void test_forbidden_relations(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  net b = build(a);
  const char *path = scratch_path(a, "relations.npu");
  size_t n;
  assert_int_equal(npuc_npu_write(NULL, path, b.g, compile(&b), NULL, NULL), NPUC_OK);
  uint8_t *bytes = read_all(a, path, &n), *copy = npuc_arena_alloc(a, n);
  uint64_t tensors = 0, count = 0, steps = 0, attributes = 0;
  find_section(bytes, "TENS", &tensors, &count);
  uint32_t first = tensor_name(bytes, tensors, 0), one = 1, zero = 0;
  find_section(bytes, "STEP", &steps, &count);
  size_t host = 0;
  while (bytes[steps + 32 * host + 4] != 0) host++;
  assert_true(host < count / 32);
  find_section(bytes, "ATTR", &attributes, &count);
  const struct {
    uint64_t at;
    const void *value;
  } changes[] = {{tensors + 128, &first},
                 {tensors + 128, &zero},
                 {steps + 32 * host + 16, &one},
                 {tensors + 128 * (size_t)b.g->inputs[0] + 88, &one},
                 {attributes, bytes + attributes + 16}};
  for (size_t k = 0; k < sizeof changes / sizeof changes[0]; k++) {
    memcpy(copy, bytes, n);
    memcpy(copy + changes[k].at, changes[k].value, 4);
    fix_checksums(copy);
    if (refusal(a, copy, n) != NPUC_DIAG_E1004) fail_msg("change %zu is taken", k);
  }
  npuc_arena_destroy(a);
}

/* A VPAR whose lo is above its hi is refused before anything runs. */
static void test_forbidden_instruction(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  net b = build(a);
  const char *path = scratch_path(a, "lohi.npu");
  size_t n, changed = 0;
  assert_int_equal(npuc_npu_write(NULL, path, b.g, compile(&b), NULL, NULL), NPUC_OK);
  uint8_t *bytes = read_all(a, path, &n), *copy = npuc_arena_alloc(a, n);
  uint64_t offset = 0, count = 0;
  find_section(bytes, "INST", &offset, &count);
  for (uint64_t at = 0; at < count; at += ISA_BYTES) {
    instr in;
    if (!npuc_isa_decode(bytes + offset + at, &in) || in.op != ISA_VPAR || in.f[NPU_VPAR_lo] == in.f[NPU_VPAR_hi]) continue;
    int64_t lo = in.f[NPU_VPAR_lo];
    in.f[NPU_VPAR_lo] = in.f[NPU_VPAR_hi];
    in.f[NPU_VPAR_hi] = lo;
    memcpy(copy, bytes, n);
    assert_true(npuc_isa_encode(&in, copy + offset + at));
    fix_checksums(copy);
    assert_int_equal(refusal(a, copy, n), NPUC_DIAG_E1004);
    changed++;
  }
  assert_true(changed > 0);
  npuc_arena_destroy(a);
}

static void test_report(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  net b = build(a);
  npu_program *p = compile(&b);
  npu_report report;
  trace *events;
  assert_int_equal(npuc_npu_report(NULL, a, b.g, p, &p->streams[0], NULL, &events, &report), NPUC_OK);
  assert_int_equal(report.n_layers, 2);
  uint64_t sum = 0, macs = 0;
  for (size_t i = 0; i < report.n_layers; i++) sum += report.layers[i].cycles, macs += report.layers[i].macs;
  assert_int_equal(sum, report.total.cycles);
  assert_int_equal(macs, p->streams[0].macs);
  size_t bytes;
  const char *text = npuc_trace_text(events, &bytes);
  assert_non_null(strstr(text, "\"MM\""));
  json_decref(npuc_test_trace(text));
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_same_bytes),
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_hostile),
      cmocka_unit_test(test_forbidden_records),
      cmocka_unit_test(test_forbidden_relations),
      cmocka_unit_test(test_forbidden_instruction),
      cmocka_unit_test(test_report),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
