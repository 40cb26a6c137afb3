/* SPDX-License-Identifier: Apache-2.0 */
/* TfIdfVectorizer: how often each n-gram of a pool stands in a sequence of numbers. */
#include <stddef.h>
#include <string.h>

#include "ir/ops/support.h"

static const op_port tfidf_inputs[] = {{.name = "X", .doc = "int32 or int64, [C] or [N, C]"}};
static const op_port tfidf_outputs[] = {{.name = "Y", .doc = "float32, [K] or [N, K], K = max(ngram_indexes) + 1"}};
#define REQUIRED_INTS(field, text) \
  { .name = #field, .kind = ATTR_INTS, .offset = offsetof(tfidf_attributes, field), .required = true, .doc = (text) }
#define REQUIRED_INT(field, text) \
  { .name = #field, .kind = ATTR_INT, .offset = offsetof(tfidf_attributes, field), .required = true, .doc = (text) }
static const attr_field tfidf_fields[] = {
    {.name = "mode",
     .kind = ATTR_STRING,
     .offset = offsetof(tfidf_attributes, mode),
     .required = true,
     .doc = "TF: counts; IDF: weights of those that stand there; TFIDF: counts times weights"},
    REQUIRED_INT(min_gram_length, "shortest n-gram that counts"),
    REQUIRED_INT(max_gram_length, "longest n-gram that counts"),
    REQUIRED_INT(max_skip_count, "most elements left out between two of an n-gram"),
    REQUIRED_INTS(ngram_counts, "where the pool's 1-grams, 2-grams, ... begin"),
    REQUIRED_INTS(ngram_indexes, "the place in Y of each n-gram of the pool"),
    FIELD_INTS(tfidf_attributes, pool_int64s, "the n-grams, one after the other"),
    FIELD_STRINGS(tfidf_attributes, pool_strings, "n-grams of strings; refused"),
    FIELD_FLOATS(tfidf_attributes, weights, "one for each n-gram of the pool; 1 when absent"),
};

static int64_t width_of(const tfidf_attributes *a) {
  int64_t most = -1;
  for (int32_t i = 0; i < a->ngram_indexes.count; i++) most = a->ngram_indexes.values[i] > most ? a->ngram_indexes.values[i] : most;
  return most + 1;
}

/* Every n-gram lies in the pool, and every place in a Y that can be. */
static npuc_status check_pool(diag *d, const node *n, const tfidf_attributes *a) {
  int64_t grams = 0;
  for (int32_t i = 0; i < a->ngram_counts.count; i++) {
    int64_t first = a->ngram_counts.values[i], end = i + 1 < a->ngram_counts.count ? a->ngram_counts.values[i + 1] : a->pool_int64s.count;
    if (first < 0 || end < first || end > a->pool_int64s.count || (end - first) % (i + 1))
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, "ngram_counts", "value %d is %lld; the pool has %d elements", (int)i, (long long)first,
                          (int)a->pool_int64s.count);
    grams += (end - first) / (i + 1);
  }
  if (grams != a->ngram_indexes.count)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "ngram_indexes", "%d given for %lld n-grams", (int)a->ngram_indexes.count, (long long)grams);
  for (int32_t i = 0; i < a->ngram_indexes.count; i++) {
    int64_t at = a->ngram_indexes.values[i];
    if (at < 0 || at > INT32_MAX) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "ngram_indexes", "value %d is %lld", (int)i, (long long)at);
  }
  return NPUC_OK;
}

static npuc_status tfidf_verify(diag *d, const node *n) {
  const tfidf_attributes *a = NPUC_ATTRS(tfidf_attributes, n);
  if (!a->mode || (strcmp(a->mode, "TF") != 0 && strcmp(a->mode, "IDF") != 0 && strcmp(a->mode, "TFIDF") != 0))
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "mode", "\"%s\" given; TF, IDF or TFIDF wanted", a->mode ? a->mode : "");
  if (a->pool_strings.count) return npuc_op_fail(d, n, NPUC_DIAG_E0443, "pool_strings", "n-grams of strings are not compiled");
  if (a->min_gram_length < 1 || a->max_gram_length < a->min_gram_length || a->max_gram_length > a->ngram_counts.count)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "max_gram_length", "lengths %lld to %lld; the pool has 1 to %d",
                        (long long)a->min_gram_length, (long long)a->max_gram_length, (int)a->ngram_counts.count);
  if (a->max_skip_count < 0) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "max_skip_count", "%lld is negative", (long long)a->max_skip_count);
  NPUC_TRY(check_pool(d, n, a));
  if (a->weights.count && a->weights.count != a->ngram_indexes.count)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "weights", "%d given for %d n-grams", (int)a->weights.count, (int)a->ngram_indexes.count);
  return NPUC_OK;
}

static npuc_status tfidf_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  c->outputs[0].type = DTYPE_F32;
  if (!x || x->shape.rank < 0) return NPUC_OK;
  if (x->type != DTYPE_NONE && x->type != DTYPE_I32 && x->type != DTYPE_I64)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "X", "%s given; int32 or int64 wanted", npuc_dtype_name(x->type));
  if (x->shape.rank != 1 && x->shape.rank != 2)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "X", "rank %d given; 1 or 2 wanted", (int)x->shape.rank);
  c->outputs[0].shape = x->shape;
  c->outputs[0].shape.dims[x->shape.rank - 1] = width_of(NPUC_ATTRS(tfidf_attributes, c->node));
  return NPUC_OK;
}

const op_def npuc_op_tfidfvectorizer = {
    ONNX_OP(tfidfvectorizer, OP_TFIDFVECTORIZER, "TfIdfVectorizer", 9, 9),
    .summary = "Counts the n-grams of a pool, also those with gaps of equal length.",
    .formula = "Y[k] = number of (n, skip, i) with X[i], X[i + skip + 1], ..., n of them, the n-gram of place k; times its weight",
    PORTS_IN(tfidf_inputs, 1),
    PORTS_OUT(tfidf_outputs, 1),
    ATTRIBUTES(tfidf_fields, tfidf_attributes),
    .infer = tfidf_infer,
    .verify = tfidf_verify,
};
