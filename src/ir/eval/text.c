/* SPDX-License-Identifier: Apache-2.0 */
/* StringConcat, StringSplit, StringNormalizer, RegexFullMatch, and Equal of texts. */
#include "ir/eval/text.h"

#include <string.h>

#include "base/letter_case.h"
#include "ir/eval/broadcast.h"
#include "ir/eval/regex.h"

npuc_status npuc_eval_keep_text(const eval_context *c, text_span a, text_span b, tensor *to, int64_t at) {
  npuc_reference_set(to, at, NULL);
  size_t n;
  if (__builtin_add_overflow(a.n, b.n, &n)) n = SIZE_MAX;
  if (n == 0) return NPUC_OK;
  void *memory;
  NPUC_TRY(npuc_eval_keep(c, npuc_text_bytes(n), &memory));
  char *bytes = npuc_text_begin(memory, n);
  if (a.n) memcpy(bytes, a.bytes, a.n);
  if (b.n) memcpy(bytes + a.n, b.bytes, b.n);
  npuc_reference_set(to, at, memory);
  return NPUC_OK;
}

/* -- two operands -- */

/* Calls `run` with the operands' elements that broadcasting brings to element i of y. */
typedef npuc_status pair_function(const eval_context *c, text_span a, text_span b, tensor *y, int64_t i);

static npuc_status each_pair(const eval_context *c, const tensor *a, const tensor *b, tensor *y, pair_function *run) {
  broadcast plan = npuc_broadcast_plan(&a->shape, &b->shape, &y->shape);
  int64_t i = 0;
  for (int64_t row = 0; row < plan.rows; row++) {
    int64_t at_a, at_b;
    npuc_broadcast_row(&plan, row, &at_a, &at_b);
    for (int64_t k = 0; k < plan.inner; k++, i++)
      NPUC_TRY(run(c, npuc_tensor_text(a, at_a + k * plan.a_step), npuc_tensor_text(b, at_b + k * plan.b_step), y, i));
  }
  return NPUC_OK;
}

static npuc_status compare_pair(const eval_context *c, text_span a, text_span b, tensor *y, int64_t i) {
  (void)c;
  npuc_tensor_set_int(y, i, npuc_text_compare(a, b) == 0);
  return NPUC_OK;
}

npuc_status npuc_eval_equal_texts(const eval_context *c, const tensor *a, const tensor *b, tensor *y) {
  return each_pair(c, a, b, y, compare_pair);
}

npuc_status npuc_eval_stringconcat(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return each_pair(c, inputs[0], inputs[1], outputs[0], npuc_eval_keep_text);
}

/* -- StringSplit -- */

static bool is_blank(char x) { return x == ' ' || (x >= '\t' && x <= '\r'); }

typedef struct cutter {
  const char *next, *end;
  const char *delimiter; /* "": white space */
  size_t delimiter_bytes;
  int64_t cuts; /* that may still be made */
  bool done;
} cutter;

static cutter cutter_of(const stringsplit_attributes *a, text_span text) {
  const char *delimiter = a->delimiter ? a->delimiter : "";
  return (cutter){text.bytes, text.bytes + text.n, delimiter, strlen(delimiter), a->maxsplit < 0 ? INT64_MAX : a->maxsplit, false};
}

static const char *find(const cutter *k) {
  for (const char *p = k->next; (size_t)(k->end - p) >= k->delimiter_bytes; p++) {
    if (memcmp(p, k->delimiter, k->delimiter_bytes) == 0) return p;
  }
  return NULL;
}

/* Parts by white space are never empty; the last one keeps what white space is behind it when no cut is left. */
static bool next_word(cutter *k, text_span *out_part) {
  while (k->next < k->end && is_blank(*k->next)) k->next++;
  if (k->next == k->end) return false;
  const char *from = k->next;
  if (k->cuts-- > 0) {
    while (k->next < k->end && !is_blank(*k->next)) k->next++;
  } else {
    k->next = k->end;
  }
  *out_part = (text_span){from, (size_t)(k->next - from)};
  return true;
}

static bool next_part(cutter *k, text_span *out_part) {
  if (k->delimiter_bytes == 0) return next_word(k, out_part);
  if (k->done) return false;
  const char *cut = k->cuts-- > 0 ? find(k) : NULL;
  *out_part = (text_span){k->next, (size_t)((cut ? cut : k->end) - k->next)};
  k->done = !cut;
  if (cut) k->next = cut + k->delimiter_bytes;
  return true;
}

npuc_status npuc_eval_stringsplit(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const stringsplit_attributes *a = NPUC_ATTRS(stringsplit_attributes, c->node);
  const tensor *x = inputs[0];
  tensor *counts = c->node->n_outputs > 1 ? outputs[1] : NULL;
  int64_t n = npuc_tensor_elements(x), most = 0;
  text_span part;
  if (counts) NPUC_TRY(npuc_eval_allocate(c, outputs, 1, &x->shape));
  for (int64_t i = 0; i < n; i++) {
    int64_t count = 0;
    for (cutter k = cutter_of(a, npuc_tensor_text(x, i)); next_part(&k, &part);) count++;
    if (counts) npuc_tensor_set_int(counts, i, count);
    if (count > most) most = count;
  }
  shape s = x->shape;
  s.dims[s.rank++] = most;
  NPUC_TRY(npuc_eval_allocate(c, outputs, 0, &s));
  if (!outputs[0]) return NPUC_OK;
  for (int64_t i = 0; i < n; i++) {
    cutter k = cutter_of(a, npuc_tensor_text(x, i));
    for (int64_t j = 0; j < most; j++) {
      if (!next_part(&k, &part)) part = (text_span){"", 0};
      NPUC_TRY(npuc_eval_keep_text(c, part, (text_span){"", 0}, outputs[0], i * most + j));
    }
  }
  return NPUC_OK;
}

/* -- StringNormalizer -- */

typedef struct normalizer {
  const eval_context *c;
  const stringnormalizer_attributes *a;
  char *room[2]; /* for a text in another case */
} normalizer;

static npuc_status change_case(const normalizer *n, text_span text, bool upper, int room, text_span *out_text) {
  size_t bytes = npuc_letter_case(text.bytes, text.n, upper, n->room[room]);
  *out_text = (text_span){n->room[room], bytes};
  if (bytes != SIZE_MAX) return NPUC_OK;
  diag_place place = npuc_eval_place(n->c);
  return npuc_fail(n->c->d, NPUC_DIAG_E0602, &place,
                   "this system has no locale C.UTF-8, which says what the case of letters beyond ASCII is");
}

static npuc_status is_stopword(const normalizer *n, text_span text, bool *out_is) {
  *out_is = false;
  for (int32_t i = 0; i < n->a->stopwords.count && !*out_is; i++) {
    text_span word = {n->a->stopwords.values[i], strlen(n->a->stopwords.values[i])}, a = text, b = word;
    if (!n->a->is_case_sensitive) {
      NPUC_TRY(change_case(n, text, false, 0, &a));
      NPUC_TRY(change_case(n, word, false, 1, &b));
    }
    *out_is = npuc_text_compare(a, b) == 0;
  }
  return NPUC_OK;
}

static size_t longest(const stringnormalizer_attributes *a, const tensor *x) {
  size_t most = 0;
  for (int64_t i = 0; i < npuc_tensor_elements(x); i++) most = npuc_tensor_text(x, i).n > most ? npuc_tensor_text(x, i).n : most;
  for (int32_t i = 0; i < a->stopwords.count; i++) most = strlen(a->stopwords.values[i]) > most ? strlen(a->stopwords.values[i]) : most;
  return most;
}

static npuc_status put_normal(const normalizer *n, text_span text, tensor *y, int64_t at) {
  const char *action = n->a->case_change_action;
  if (strcmp(action, "NONE") != 0) NPUC_TRY(change_case(n, text, strcmp(action, "UPPER") == 0, 0, &text));
  return npuc_eval_keep_text(n->c, text, (text_span){"", 0}, y, at);
}

npuc_status npuc_eval_stringnormalizer(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  normalizer n = {.c = c, .a = NPUC_ATTRS(stringnormalizer_attributes, c->node)};
  size_t room = npuc_letter_case_room(longest(n.a, x));
  int64_t elements = npuc_tensor_elements(x), kept = 0;
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, 2 * room + (size_t)elements, &memory));
  bool *stays = memory;
  n.room[0] = (char *)memory + elements;
  n.room[1] = n.room[0] + room;
  for (int64_t i = 0; i < elements; i++) {
    NPUC_TRY(is_stopword(&n, npuc_tensor_text(x, i), &stays[i]));
    stays[i] = !stays[i];
    kept += stays[i];
  }
  shape s = x->shape;
  s.dims[s.rank - 1] = kept ? kept : 1;
  if (n.a->stopwords.count == 0) s.dims[s.rank - 1] = elements;
  NPUC_TRY(npuc_eval_allocate(c, outputs, 0, &s));
  int64_t at = 0;
  for (int64_t i = 0; i < elements; i++) {
    if (stays[i]) NPUC_TRY(put_normal(&n, npuc_tensor_text(x, i), outputs[0], at++));
  }
  if (at == 0 && outputs[0]->bytes) npuc_reference_set(outputs[0], 0, NULL);
  return NPUC_OK;
}

/* -- RegexFullMatch -- */

npuc_status npuc_eval_regexfullmatch(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const char *problem, *pattern = NPUC_ATTRS(regexfullmatch_attributes, c->node)->pattern;
  arena *a = npuc_arena_create();
  const regex *r = npuc_regex_compile(a, pattern, &problem);
  void *scratch = NULL;
  diag_place place = npuc_eval_place(c);
  npuc_status status = r ? npuc_eval_scratch(c, npuc_regex_scratch(r), &scratch)
                         : npuc_fail(c->d, NPUC_DIAG_E0602, &place, "pattern \"%s\": %s", pattern, problem);
  for (int64_t i = 0; status == NPUC_OK && i < npuc_tensor_elements(inputs[0]); i++) {
    text_span text = npuc_tensor_text(inputs[0], i);
    npuc_tensor_set_int(outputs[0], i, npuc_regex_matches(r, text.bytes, text.n, scratch));
  }
  npuc_arena_destroy(a);
  return status;
}
