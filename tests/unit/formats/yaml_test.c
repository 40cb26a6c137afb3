/* SPDX-License-Identifier: Apache-2.0 */
/* YAML becomes the JSON that its core schema says; what has no such meaning is refused with its line, and nothing that is small on disk becomes large in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/yaml.h"

static void gives(const char *yaml, const char *json) {
  json_t *j;
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_yaml_parse(d, NULL, NPUC_DIAG_E0509, yaml, strlen(yaml), &j), NPUC_OK);
  char *text = json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY);
  assert_string_equal(text, json);
  free(text);
  json_decref(j);
  npuc_diag_destroy(d);
}

static void refused(const char *yaml, const char *reason) {
  json_t *j;
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_yaml_parse(d, NULL, NPUC_DIAG_E0509, yaml, strlen(yaml), &j), NPUC_BAD_INPUT);
  assert_null(j);
  assert_non_null(strstr(npuc_diag_first_error(d)->reason, reason));
  npuc_diag_destroy(d);
}

static void scalars_are_typed_by_how_they_are_written(void **state) {
  (void)state;
  gives("- 5\n- -7\n- 1.5\n- 1e3\n- true\n- False\n- ~\n-\n- null\n", "[5,-7,1.5,1000.0,true,false,null,null,null]");
  gives("- '5'\n- \"true\"\n- tRue\n- 1.2.3\n- Mul\n- 0x10\n- nan\n- -\n",
        "[\"5\",\"true\",\"tRue\",\"1.2.3\",\"Mul\",\"0x10\",\"nan\",[null]]");
  gives("- 99999999999999999999\n", "[1e20]");
}

static void lists_and_maps_in_both_styles(void **state) {
  (void)state;
  gives("edits:\n  - RemoveIsNaN\n  - name: EliminateExpand\n    args: [[Add, Mul]]\n",
        "{\"edits\":[\"RemoveIsNaN\",{\"name\":\"EliminateExpand\",\"args\":[[\"Add\",\"Mul\"]]}]}");
  gives("{\"a\": [1, 2], \"b\": {\"c\": null}}", "{\"a\":[1,2],\"b\":{\"c\":null}}");
  gives("# nothing\n", "null");
  gives("a: &x [1]\nb: *x\n", "{\"a\":[1],\"b\":[1]}");
}

static void what_has_no_meaning_is_refused(void **state) {
  (void)state;
  refused("a: 1\na: 2\n", "line 2: a key is there twice");
  refused("a: [1\n", "line 2");
  refused("? [1]\n: 2\n", "a key is no scalar");
  refused("a: !python/object:os.system x\n", "tags");
  refused("a: 1\n---\nb: 2\n", "second document");
}

/* Ten levels of ten aliases each are ten thousand million values. */
static void aliases_cannot_multiply_without_end(void **state) {
  (void)state;
  char text[4096] = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 10; i++) {
    size_t n = strlen(text);
    (void)snprintf(text + n, sizeof text - n, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1, i - 1,
                   i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
  }
  refused(text, "65,536");
  char deep[512];
  memset(deep, '[', 200);
  memset(deep + 200, ']', 200);
  deep[400] = '\0';
  refused(deep, "64 deep");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scalars_are_typed_by_how_they_are_written),
      cmocka_unit_test(lists_and_maps_in_both_styles),
      cmocka_unit_test(what_has_no_meaning_is_refused),
      cmocka_unit_test(aliases_cannot_multiply_without_end),
  };
  return cmocka_run_group_tests_name("formats/yaml", tests, NULL, NULL);
}
