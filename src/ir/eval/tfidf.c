/* SPDX-License-Identifier: Apache-2.0 */
/* TfIdfVectorizer: the pool's n-grams are sorted once; every n-gram of a row is searched among them. */
#include <stdlib.h>
#include <string.h>

#include "ir/eval/eval.h"

typedef struct gram {
  const int64_t *items;
  int64_t n, place;
} gram;

static int compare(const void *a, const void *b) {
  const gram *p = a, *q = b;
  if (p->n != q->n) return p->n < q->n ? -1 : 1;
  for (int64_t i = 0; i < p->n; i++) {
    if (p->items[i] != q->items[i]) return p->items[i] < q->items[i] ? -1 : 1;
  }
  return 0;
}

static void list_pool(const tfidf_attributes *a, gram *pool) {
  int64_t at = 0;
  for (int32_t i = 0; i < a->ngram_counts.count; i++) {
    int64_t end = i + 1 < a->ngram_counts.count ? a->ngram_counts.values[i + 1] : a->pool_int64s.count;
    for (int64_t k = a->ngram_counts.values[i]; k < end; k += i + 1, at++)
      pool[at] = (gram){a->pool_int64s.values + k, i + 1, a->ngram_indexes.values[at]};
  }
  if (at) qsort(pool, (size_t)at, sizeof *pool, compare);
}

/* Counts of one row; a single element has no gaps, so it counts once. */
static void count_row(const tfidf_attributes *a, const gram *pool, const tensor *x, int64_t first, int64_t length, int64_t *items,
                      double *counts) {
  for (int64_t n = a->min_gram_length; n <= a->max_gram_length; n++) {
    int64_t skips = n == 1 ? 0 : a->max_skip_count < length ? a->max_skip_count : length;
    for (int64_t step = 1; step <= skips + 1; step++) {
      for (int64_t i = 0; i + (n - 1) * step < length; i++) {
        for (int64_t k = 0; k < n; k++) items[k] = npuc_tensor_get_int(x, first + i + k * step);
        gram wanted = {items, n, 0};
        const gram *found = bsearch(&wanted, pool, (size_t)a->ngram_indexes.count, sizeof *pool, compare);
        if (found) counts[found->place] += 1.0;
      }
    }
  }
}

npuc_status npuc_eval_tfidfvectorizer(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tfidf_attributes *a = NPUC_ATTRS(tfidf_attributes, c->node);
  const shape *s = &inputs[0]->shape;
  int64_t length = s->dims[s->rank - 1], rows = s->rank == 2 ? s->dims[0] : 1, width = outputs[0]->shape.dims[s->rank - 1];
  bool counted = strcmp(a->mode, "IDF") != 0, weighted = strcmp(a->mode, "TF") != 0 && a->weights.count;
  size_t pool_bytes = (size_t)a->ngram_indexes.count * sizeof(gram), item_bytes = (size_t)a->max_gram_length * sizeof(int64_t);
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, pool_bytes + item_bytes + 2 * (size_t)width * sizeof(double) + 64, &memory));
  gram *pool = memory;
  int64_t *items = (int64_t *)(void *)((char *)memory + pool_bytes);
  double *counts = (double *)(void *)((char *)memory + pool_bytes + item_bytes);
  double *weights = counts + width; /* by place, as counts */
  for (int32_t i = 0; weighted && i < a->ngram_indexes.count; i++) weights[a->ngram_indexes.values[i]] = (double)a->weights.values[i];
  list_pool(a, pool);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t k = 0; k < width; k++) counts[k] = 0.0;
    if (a->ngram_indexes.count) count_row(a, pool, inputs[0], r * length, length, items, counts);
    for (int64_t k = 0; k < width; k++) {
      double v = counted ? counts[k] : counts[k] > 0.0 ? 1.0 : 0.0;
      npuc_tensor_set(outputs[0], r * width + k, weighted && v > 0.0 ? v * weights[k] : v);
    }
  }
  return NPUC_OK;
}
