/* SPDX-License-Identifier: Apache-2.0 */
#include "report/confusion.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/arena.h"

enum { LARGEST_MATRIX = 40, MOST_PAIRS = 20 };

typedef struct pair {
  int64_t label, answer;
  size_t before, after;
} pair;

static bool is_class(int64_t v, int64_t classes) { return v >= 0 && v < classes; }

static json_t *matrix(const int64_t *labels, const int64_t *answers, size_t n, int64_t classes) {
  size_t side = (size_t)classes;
  size_t *counts = npuc_xcalloc(side * side + 1, sizeof *counts);
  for (size_t i = 0; i < n; i++)
    if (is_class(labels[i], classes) && is_class(answers[i], classes)) counts[(size_t)labels[i] * side + (size_t)answers[i]]++;
  json_t *rows = json_array();
  for (size_t i = 0; i < side; i++) {
    json_t *row = json_array();
    for (size_t k = 0; k < side; k++) json_array_append_new(row, json_integer((json_int_t)counts[i * side + k]));
    json_array_append_new(rows, row);
  }
  free(counts);
  return rows;
}

/* -- the most frequent confusions of many classes -- */

static int by_pair(const void *a, const void *b) {
  const pair *x = a, *y = b;
  if (x->label != y->label) return x->label < y->label ? -1 : 1;
  return x->answer < y->answer ? -1 : x->answer > y->answer;
}

static int by_count(const void *a, const void *b) {
  const pair *x = a, *y = b;
  if (x->after != y->after) return x->after > y->after ? -1 : 1;
  if (x->before != y->before) return x->before > y->before ? -1 : 1;
  return by_pair(a, b);
}

static json_t *pairs(const int64_t *labels, const int64_t *before, const int64_t *after, size_t n, int64_t classes) {
  pair *all = npuc_xcalloc(2 * n + 1, sizeof *all);
  size_t count = 0, kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (!is_class(labels[i], classes)) continue;
    if (before[i] != labels[i]) all[count++] = (pair){labels[i], before[i], 1, 0};
    if (after[i] != labels[i]) all[count++] = (pair){labels[i], after[i], 0, 1};
  }
  qsort(all, count, sizeof *all, by_pair);
  for (size_t i = 0; i < count; i++) {
    if (kept && by_pair(&all[kept - 1], &all[i]) == 0) {
      all[kept - 1].before += all[i].before;
      all[kept - 1].after += all[i].after;
    } else {
      all[kept++] = all[i];
    }
  }
  qsort(all, kept, sizeof *all, by_count);
  json_t *list = json_array();
  for (size_t i = 0; i < kept && i < MOST_PAIRS; i++)
    json_array_append_new(list, json_pack("{s:I, s:I, s:I, s:I}", "label", (json_int_t)all[i].label, "answer", (json_int_t)all[i].answer,
                                          "float", (json_int_t)all[i].before, "integer", (json_int_t)all[i].after));
  free(all);
  return list;
}

json_t *npuc_confusion_json(const int64_t *labels, const int64_t *before, const int64_t *after, size_t n, int64_t classes) {
  size_t same = 0, lost = 0, won = 0;
  for (size_t i = 0; i < n; i++) {
    same += before[i] == after[i];
    lost += before[i] == labels[i] && after[i] != labels[i];
    won += before[i] != labels[i] && after[i] == labels[i];
  }
  json_t *o = json_pack("{s:I, s:I, s:I, s:I, s:I}", "samples", (json_int_t)n, "classes", (json_int_t)classes, "same", (json_int_t)same,
                        "lost", (json_int_t)lost, "won", (json_int_t)won);
  if (classes <= LARGEST_MATRIX) {
    json_object_set_new(o, "float", matrix(labels, before, n, classes));
    json_object_set_new(o, "integer", matrix(labels, after, n, classes));
  } else {
    json_object_set_new(o, "pairs", pairs(labels, before, after, n, classes));
  }
  return o;
}
