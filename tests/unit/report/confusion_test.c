/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "report/confusion.h"

static void is(json_t *found, const char *wanted) {
  json_t *w = json_loads(wanted, 0, NULL);
  assert_non_null(w);
  char *text = json_dumps(found, JSON_COMPACT);
  if (!json_equal(found, w)) fail_msg("%s", text);
  free(text);
  json_decref(w);
  json_decref(found);
}

static void few_classes_are_a_matrix(void **state) {
  (void)state;
  const int64_t labels[] = {0, 1, 2, 2, 1}, before[] = {0, 1, 2, 1, 0}, after[] = {0, 2, 2, 2, 0};
  is(npuc_confusion_json(labels, before, after, 5, 3),
     "{\"samples\":5,\"classes\":3,\"same\":3,\"lost\":1,\"won\":1,\"float\":[[1,0,0],[1,1,0],[0,1,1]],\"integer\":[[1,0,0],[1,0,1],[0,0,2]"
     "]}");
}

static void many_classes_are_their_worst_pairs(void **state) {
  (void)state;
  const int64_t labels[] = {5, 5, 5, 999, 7}, before[] = {5, 6, 5, 999, 8}, after[] = {6, 6, 5, 1, 7};
  is(npuc_confusion_json(labels, before, after, 5, 1000),
     "{\"samples\":5,\"classes\":1000,\"same\":2,\"lost\":2,\"won\":1,\"pairs\":[{\"label\":5,\"answer\":6,\"float\":1,\"integer\":2},"
     "{\"label\":999,\"answer\":1,\"float\":0,\"integer\":1},{\"label\":7,\"answer\":8,\"float\":1,\"integer\":0}]}");
}

static void labels_outside_are_in_no_cell(void **state) {
  (void)state;
  const int64_t labels[] = {9, -1}, answers[] = {0, 1};
  is(npuc_confusion_json(labels, answers, answers, 2, 2),
     "{\"samples\":2,\"classes\":2,\"same\":2,\"lost\":0,\"won\":0,\"float\":[[0,0],[0,0]],\"integer\":[[0,0],[0,0]]}");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(few_classes_are_a_matrix),
      cmocka_unit_test(many_classes_are_their_worst_pairs),
      cmocka_unit_test(labels_outside_are_in_no_cell),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
