/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format against its specification's examples (protobuf.dev/programming-guides/encoding), and what is malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/protobuf.h"
#include "support/scratch.h"

/* message Test1 { int32 a = 1; } with a = 150: 08 96 01; Test2 { string b = 2; } "testing"; Test3 { Test1 c = 3; }; Test4 { string d = 4; repeated int32 e = 6; }. */
static void the_specifications_examples(void **state) {
  (void)state;
  const uint8_t test1[] = {0x08, 0x96, 0x01}, test2[] = {0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g'},
                test3[] = {0x1a, 0x03, 0x08, 0x96, 0x01}, packed[] = {0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05};
  pb_field f;
  pb_reader r = npuc_pb_open(test1, sizeof test1);
  assert_true(npuc_pb_next(&r, &f));
  assert_int_equal(f.number, 1);
  assert_int_equal(npuc_pb_int(&r, &f), 150);
  assert_false(npuc_pb_next(&r, &f));
  r = npuc_pb_open(test2, sizeof test2);
  assert_true(npuc_pb_next(&r, &f));
  pb_span s = npuc_pb_span(&r, &f);
  assert_ptr_equal(s.bytes, test2 + 2);
  assert_int_equal(s.n, 7);
  r = npuc_pb_open(test3, sizeof test3);
  assert_true(npuc_pb_next(&r, &f));
  pb_reader inner = npuc_pb_message(&r, &f);
  assert_true(npuc_pb_next(&inner, &f));
  assert_int_equal(npuc_pb_int(&inner, &f), 150);
  r = npuc_pb_open(packed, sizeof packed);
  assert_true(npuc_pb_next(&r, &f));
  assert_int_equal(npuc_pb_count_varints(&r, &f), 3);
  int64_t e[3];
  size_t n = 0;
  npuc_pb_read_varints(&r, &f, e, &n);
  assert_int_equal(n, 3);
  assert_int_equal(e[0], 3);
  assert_int_equal(e[1], 270);
  assert_int_equal(e[2], 86942);
  assert_int_equal(npuc_pb_finish(&r, NULL, "Test4"), NPUC_OK);
}

static void is_malformed(const void *bytes, size_t n) {
  pb_reader r = npuc_pb_open(bytes, n);
  pb_field f;
  while (npuc_pb_next(&r, &f)) {
  }
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_pb_finish(&r, d, "Test"), NPUC_BAD_INPUT);
  assert_int_equal(npuc_diag_first_error(d)->code, NPUC_DIAG_E0201);
  npuc_diag_destroy(d);
}

static void malformed_bytes_are_named(void **state) {
  (void)state;
  is_malformed("\x08", 1);                                              /* no value */
  is_malformed("\x08\x96", 2);                                          /* cut inside a varint */
  is_malformed("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11);     /* 65 bits */
  is_malformed("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12); /* eleven bytes */
  is_malformed("\x12\x07tes", 5);                                       /* shorter than its length */
  is_malformed("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);     /* 2^64-1 bytes */
  is_malformed("\x0b\x0c", 2);                                          /* a group */
  is_malformed("\x00\x01", 2);                                          /* field 0 */
  is_malformed("\x0d\x01\x02\x03", 4);                                  /* three of four bytes */
}

static void a_wrong_wire_type_is_a_problem(void **state) {
  (void)state;
  pb_reader r = npuc_pb_open("\x08\x01", 2);
  pb_field f;
  assert_true(npuc_pb_next(&r, &f));
  assert_int_equal(npuc_pb_span(&r, &f).n, 0);
  assert_int_equal(npuc_pb_finish(&r, NULL, "Test"), NPUC_BAD_INPUT);
}

static void depth_is_bounded(void **state) {
  (void)state;
  uint8_t nested[512]; /* field 1 in field 1 in field 1 ... */
  size_t n = 0;
  for (int i = 0; i < 100; i++) {
    memmove(nested + 2 + (n > 127), nested, n);
    nested[0] = 0x0a;
    nested[1] = (uint8_t)(n > 127 ? (n & 0x7f) | 0x80 : n);
    if (n > 127) nested[2] = (uint8_t)(n >> 7);
    n += n > 127 ? 3 : 2;
  }
  pb_reader r = npuc_pb_open(nested, n);
  pb_field f;
  int depth = 0;
  while (npuc_pb_next(&r, &f)) {
    r = npuc_pb_message(&r, &f);
    depth++;
  }
  assert_true(depth <= PB_MAX_DEPTH + 1);
}

static npuc_status emit(void *user, pb_writer *w) {
  (void)user;
  const int64_t list[] = {1, -1};
  npuc_pb_put_int(w, 1, 150);
  npuc_pb_put_text(w, 2, "testing");
  npuc_pb_begin(w, 3);
  npuc_pb_put_int(w, 1, 150);
  npuc_pb_begin(w, 4);
  npuc_pb_end(w);
  npuc_pb_end(w);
  npuc_pb_put_ints(w, 5, list, 2);
  npuc_pb_put_float(w, 6, 1.0f);
  return NPUC_OK;
}

static void writing_gives_the_specifications_bytes(void **state) {
  (void)state;
  static const uint8_t wanted[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't',  'e',  's',  't',  'i',  'n',  'g',  0x1a,
                                   0x05, 0x08, 0x96, 0x01, 0x22, 0x00, 0x28, 0x01, 0x28, 0xff, 0xff, 0xff, 0xff,
                                   0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x35, 0x00, 0x00, 0x80, 0x3f};
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, "m");
  file_writer *w;
  uint64_t bytes = 0;
  assert_int_equal(npuc_writer_create(NULL, path, &w), NPUC_OK);
  assert_int_equal(npuc_pb_write(NULL, w, emit, NULL, 0, &bytes), NPUC_OK);
  assert_int_equal(npuc_writer_commit(w), NPUC_OK);
  assert_int_equal(bytes, sizeof wanted);
  mapped_file *f;
  assert_int_equal(npuc_file_map(NULL, path, &f), NPUC_OK);
  assert_int_equal(npuc_file_size(f), sizeof wanted);
  assert_memory_equal(npuc_file_bytes(f), wanted, sizeof wanted);
  npuc_file_release(f);
  /* Control: one byte too many for the bound. */
  assert_int_equal(npuc_writer_create(NULL, path, &w), NPUC_OK);
  assert_int_equal(npuc_pb_write(NULL, w, emit, NULL, sizeof wanted - 1, NULL), NPUC_UNSUPPORTED);
  npuc_writer_abandon(w);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_specifications_examples),
      cmocka_unit_test(malformed_bytes_are_named),
      cmocka_unit_test(a_wrong_wire_type_is_a_problem),
      cmocka_unit_test(depth_is_bounded),
      cmocka_unit_test(writing_gives_the_specifications_bytes),
  };
  return cmocka_run_group_tests_name("protobuf", tests, NULL, NULL);
}
