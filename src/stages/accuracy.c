/* SPDX-License-Identifier: Apache-2.0 */
/* Classification accuracy: the first largest score is the answer, as argmax of numpy and of ONNX say. */
#include "stages/stages.h"

double npuc_percent(size_t part, size_t whole) { return whole ? 100.0 * (double)part / (double)whole : 0.0; }

size_t npuc_rank_of(const tensor *scores, int64_t label) {
  int64_t n = npuc_tensor_elements(scores);
  if (label < 0 || label >= n) return SIZE_MAX;
  double own = npuc_tensor_get(scores, label);
  if (own != own) return SIZE_MAX; /* NaN is no answer */
  size_t rank = 0;
  for (int64_t i = 0; i < n; i++) {
    double v = npuc_tensor_get(scores, i);
    rank += v > own || (v == own && i < label) || v != v;
  }
  return rank;
}

static int64_t answer_of(const tensor *scores) {
  int64_t n = npuc_tensor_elements(scores), best = 0;
  for (int64_t i = 1; i < n; i++)
    if (npuc_tensor_get(scores, i) > npuc_tensor_get(scores, best)) best = i;
  return best;
}

typedef struct tally {
  const dataset *data;
  size_t limit; /* records */
  accuracy count;
  int64_t *answers;
} tally;

static void count_record(tally *t, size_t record, const tensor *scores) {
  if (t->answers) t->answers[record] = answer_of(scores);
  t->count.classes = npuc_tensor_elements(scores);
  size_t rank = npuc_rank_of(scores, npuc_dataset_label(t->data, record));
  t->count.samples++;
  t->count.top1 += rank == 0;
  t->count.top5 += rank < 5;
}

/* A row of the scores for each record: [batch, classes...]. */
static npuc_status count_sample(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs) {
  (void)inputs;
  tally *t = user;
  size_t rows = npuc_dataset_rows(t->data);
  const tensor *scores = &outputs[0];
  if (rows > 1 && (scores->shape.rank < 1 || scores->shape.dims[0] != (dim)rows))
    return npuc_fail(d, NPUC_DIAG_E1112, NULL,
                     "the model takes %zu samples at a time, but its first output does not begin with an axis of %zu", rows, rows);
  tensor row = {.type = scores->type, .shape = scores->shape, .bytes = scores->bytes / rows};
  if (rows > 1) row.shape.dims[0] = 1;
  for (size_t k = 0; k < rows && index * rows + k < t->limit; k++) {
    row.data = (uint8_t *)scores->data + k * row.bytes;
    count_record(t, index * rows + k, &row);
  }
  return NPUC_OK;
}

npuc_status npuc_accuracy(diag *d, const progress *p, const char *what, runner *r, const dataset *data, size_t limit, int64_t *out_answers,
                          accuracy *out_accuracy) {
  if (!npuc_dataset_has_labels(data)) return npuc_fail(d, NPUC_DIAG_E0923, NULL, "the data has no labels, so accuracy cannot be counted");
  size_t records = npuc_dataset_records(data), rows = npuc_dataset_rows(data);
  tally t = {.data = data, .limit = limit && limit < records ? limit : records, .answers = out_answers};
  size_t n = t.limit / rows + (t.limit % rows != 0);
  dataset *source = (dataset *)(uintptr_t)data;
  NPUC_TRY(npuc_runner_run(r, d, p, what, 0, n, npuc_sample_of_dataset, source, count_sample, &t));
  *out_accuracy = t.count;
  return NPUC_OK;
}
