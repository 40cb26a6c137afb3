/* SPDX-License-Identifier: Apache-2.0 */
/* static-decoder on the decoders of tests/passes/decoder/forms.txt. Right is the graph in the file, whose cache grows, run token by token from an empty cache by the executor; the fixed one must say the same
 * for the last token of each chunk, however the nine tokens are cut into chunks and however the write is spelled, up to the last slot. The buffers begin as sevens, so that a row too many that
 * is seen shows. Controls: a position that is one too high, and a mask that shows one key too many, must both be seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "ir/decoder_form.h"
#include "ir/text.h"
#include "passes/decoder_source.h"
#include "tensor/compare.h"

enum { TOKENS = 9, VOCABULARY = 8, MAX_PORTS = 8 };

static const int64_t tokens[TOKENS] = {3, 1, 4, 1, 5, 2, 6, 5, 7};

typedef struct decoder_case {
  char *name, *text, *fails, *reason;
  int64_t only_chunk; /* 0: all */
  bool attention;
} decoder_case;

typedef struct cases {
  arena *a;
  decoder_case list[64];
  size_t n;
} cases;

/* -- the file -- */

static void directive(arena *a, decoder_case *c, const char *line) {
  if (strncmp(line, "FAILS ", 6) == 0) {
    c->fails = npuc_arena_strn(a, line + 6, 5);
    c->reason = npuc_arena_str(a, line + 12);
  } else if (strncmp(line, "CHUNK ", 6) == 0) {
    c->only_chunk = strtoll(line + 6, NULL, 10);
  } else if (strcmp(line, "ATTENTION") == 0) {
    c->attention = true;
  } else if (*line && strcmp(line, "--- input") != 0) {
    fail_msg("%s: no such directive: %s", c->name, line);
  }
}

static void read_cases(cases *all) {
  FILE *f = fopen(NPUC_SOURCE_DIR "/tests/passes/decoder/forms.txt", "rb");
  assert_non_null(f);
  char *text = npuc_arena_alloc(all->a, 1 << 18);
  text[fread(text, 1, (1 << 18) - 1, f)] = '\0';
  (void)fclose(f);
  bool in_graph = false;
  for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
    *end = '\0';
    decoder_case *c = all->n ? &all->list[all->n - 1] : NULL;
    if (strncmp(line, "### ", 4) == 0) {
      assert_true(all->n < 64);
      all->list[all->n++] = (decoder_case){.name = npuc_arena_str(all->a, line + 4), .text = ""};
      in_graph = false;
    } else if (c && in_graph) {
      c->text = npuc_arena_printf(all->a, "%s%s\n", c->text, line);
    } else if (c) {
      in_graph = strcmp(line, "--- input") == 0;
      directive(all->a, c, line);
    }
  }
  assert_true(all->n > 20);
}

static module *parsed(const decoder_case *c) {
  module *m = NULL;
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_status status = npuc_module_parse(d, c->name, c->text, strlen(c->text), &m);
  if (status == NPUC_OK) status = npuc_graph_infer(d, m->graphs[0]);
  if (status != NPUC_OK) fail_msg("%s: %s", c->name, npuc_diag_first_error(d)->reason);
  npuc_diag_destroy(d);
  return m;
}

static npuc_status make_static(diag *d, arena *a, module *m, int64_t chunk, kv_form form) {
  pass_report report;
  pass_options options = {.limit = -1, .max_length = TOKENS, .chunk = chunk, .kv_form = form};
  NPUC_TRY(npuc_passes_run(d, a, m, "static", &options, &report));
  return npuc_check_static(d, m);
}

/* -- the growing model, token by token -- */

typedef struct answers {
  tensor logits[TOKENS];
} answers;

static float embedding(int64_t token, int64_t i) { return 0.25f * (float)((token * 5 + i * 3) % 7) - 0.75f; }

static void fill_tokens(tensor *t, const int64_t *ids, int64_t n, int64_t padded) {
  int64_t width = padded ? npuc_tensor_elements(t) / padded : 1;
  for (int64_t i = 0; i < padded; i++) {
    int64_t token = i < n ? ids[i] : 0; /* padding: any token */
    for (int64_t k = 0; k < width; k++) {
      if (npuc_dtype_is_integer(t->type))
        npuc_tensor_set_int(t, i, token);
      else
        npuc_tensor_set(t, i * width + k, (double)embedding(token, k));
    }
  }
}

static void growing_input(const graph *source, const graph *bound, size_t i, int64_t at, const tensor *state, tensor *out) {
  const value *v = bound->inputs[i];
  assert_int_equal(npuc_tensor_create(NULL, v->type, &v->shape, out), NPUC_OK);
  switch (npuc_decoder_role(source, source->inputs[i])) {
    case DECODER_IDS:
      fill_tokens(out, &tokens[at], 1, 1);
      break;
    case DECODER_PLACES:
      npuc_tensor_set_int(out, 0, at);
      break;
    case DECODER_MASK:
      for (int64_t k = 0; k < npuc_tensor_elements(out); k++)
        npuc_tensor_set(out, k, npuc_dtype_kind(v->type) == KIND_FLOAT && v->shape.rank == 4 ? 0.0 : 1.0);
      break;
    case DECODER_PAST:
      if (out->bytes) memcpy(out->data, state->data, out->bytes);
      break;
    default:
      break;
  }
}

static npuc_status copy_of(const tensor *t, tensor *out) {
  NPUC_TRY(npuc_tensor_create(NULL, t->type, &t->shape, out));
  if (t->bytes) memcpy(out->data, t->data, t->bytes);
  return NPUC_OK;
}

static void grow(const module *source, answers *out) {
  pass_options options = {.limit = -1, .max_length = TOKENS};
  tensor states[MAX_PORTS] = {0};
  for (int64_t at = 0; at < TOKENS; at++) {
    module *bound = npuc_module_clone(source);
    diag *d = npuc_diag_create(NULL, NULL);
    assert_int_equal(npuc_decoder_bind(d, bound, &options, at, 1), NPUC_OK);
    const graph *g = bound->graphs[0];
    tensor in[MAX_PORTS] = {0}, y[MAX_PORTS];
    size_t past = 0;
    for (size_t i = 0; i < g->n_inputs; i++) {
      bool is_past = npuc_decoder_role(source->graphs[0], source->graphs[0]->inputs[i]) == DECODER_PAST;
      growing_input(source->graphs[0], g, i, at, &states[past], &in[i]);
      past += is_past;
    }
    executor *e = NULL;
    assert_int_equal(npuc_executor_create(d, g, &(exec_options){0}, &e), NPUC_OK);
    assert_int_equal(npuc_executor_run(e, d, in, y), NPUC_OK);
    assert_int_equal(copy_of(&y[0], &out->logits[at]), NPUC_OK);
    for (size_t k = 0; k < past; k++) { /* in the file a case's caches are its outputs behind the first, in order */
      npuc_tensor_release(&states[k]);
      assert_int_equal(copy_of(&y[1 + k], &states[k]), NPUC_OK);
    }
    npuc_executor_destroy(e);
    for (size_t i = 0; i < g->n_inputs; i++) npuc_tensor_release(&in[i]);
    npuc_module_destroy(bound);
    npuc_diag_destroy(d);
  }
  for (size_t k = 0; k < MAX_PORTS; k++) npuc_tensor_release(&states[k]);
}

static void forget(answers *a) {
  for (size_t i = 0; i < TOKENS; i++) npuc_tensor_release(&a->logits[i]);
}

/* -- the fixed model, chunk by chunk -- */

typedef struct session {
  const module *m;
  diag *d;
  executor *e;
  decoder_form form;
  tensor in[MAX_PORTS], out[MAX_PORTS];
} session;

static void session_open(session *s, const module *m) {
  const graph *g = m->graphs[0];
  *s = (session){.m = m, .d = npuc_diag_create(NULL, NULL)};
  assert_true(npuc_decoder_form_of(m, &s->form));
  assert_int_equal(npuc_executor_create(s->d, g, &(exec_options){0}, &s->e), NPUC_OK);
  for (size_t i = 0; i < g->n_inputs; i++) {
    assert_int_equal(npuc_tensor_create(s->d, g->inputs[i]->type, &g->inputs[i]->shape, &s->in[i]), NPUC_OK);
    for (int64_t k = 0; k < npuc_tensor_elements(&s->in[i]); k++) npuc_tensor_set(&s->in[i], k, 7.0);
  }
}

static void session_close(session *s) {
  npuc_executor_destroy(s->e);
  npuc_diag_destroy(s->d);
  for (size_t i = 0; i < MAX_PORTS; i++) npuc_tensor_release(&s->in[i]);
}

static size_t port(value *const *ports, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(ports[i]->name, name) == 0) return i;
  fail_msg("no port %s", name);
  return 0;
}

static npuc_status step(session *s, const int64_t *ids, int64_t position, int64_t valid) {
  const graph *g = s->m->graphs[0];
  const char *output, *input;
  fill_tokens(&s->in[0], ids, valid, s->form.chunk);
  npuc_tensor_set_int(&s->in[s->form.position], 0, position);
  npuc_tensor_set_int(&s->in[s->form.valid], 0, valid);
  npuc_status status = npuc_executor_run(s->e, s->d, s->in, s->out);
  if (status != NPUC_OK) return status;
  arena *a = npuc_arena_create();
  for (size_t k = 0; npuc_module_state(s->m, a, k, &output, &input); k++) {
    const tensor *from = &s->out[port(g->outputs, g->n_outputs, output)];
    memcpy(s->in[port(g->inputs, g->n_inputs, input)].data, from->data, from->bytes);
  }
  npuc_arena_destroy(a);
  return NPUC_OK;
}

/* Largest difference of a chunk's logits from those of its last token; `cut` is ended by 0. */
static double apart(const module *m, const answers *right, const int64_t *cut, int64_t shift) {
  session s;
  double most = 0.0;
  session_open(&s, m);
  for (int64_t at = 0; *cut && at + *cut + shift <= TOKENS; at += *cut++) {
    assert_int_equal(step(&s, &tokens[at], at + shift, *cut), NPUC_OK);
    comparison c;
    assert_true(npuc_shape_equal(&s.out[0].shape, &right->logits[at].shape));
    assert_int_equal(npuc_compare(s.d, &s.out[0], &right->logits[at + *cut - 1], &c), NPUC_OK);
    if (!c.finite || c.max_abs > most) most = c.finite ? c.max_abs : 1e30;
  }
  session_close(&s);
  return most;
}

static const int64_t cuts[][TOKENS + 1] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 1}, {4, 4, 1}, {1, 4, 4}, {3, 2, 4}, {2, 2, 2, 3},
};

static void check_form(const decoder_case *c, const module *source, const answers *right, int64_t chunk, kv_form form) {
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = npuc_module_clone(source);
  npuc_status status = make_static(d, a, m, chunk, form);
  if (status != NPUC_OK) fail_msg("%s, chunk %lld: %s", c->name, (long long)chunk, npuc_diag_first_error(d)->reason);
  bool attends = false, scatters = false;
  NPUC_EACH_NODE(m->graphs[0], n) {
    attends = attends || node_is(n, OP_ATTENTION);
    scatters = scatters || node_is(n, OP_TENSORSCATTER);
  }
  assert_int_equal(attends, c->attention);
  assert_int_equal(scatters, form == KV_FORM_SCATTER);
  for (size_t i = 0; i < (chunk == 1 ? 1 : sizeof cuts / sizeof *cuts); i++) {
    double d0 = apart(m, right, cuts[i], 0);
    if (d0 > 1e-6) fail_msg("%s, chunk %lld, form %d, cut %zu: %g apart", c->name, (long long)chunk, (int)form, i, d0);
  }
  if (!(apart(m, right, cuts[0], 1) > 1e-3)) fail_msg("%s: a position one too high is not seen", c->name);
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}

static void every_form_is_the_growing_model(void **state) {
  static const int64_t chunks[] = {1, 4};
  const cases *all = *state;
  for (size_t i = 0; i < all->n; i++) {
    const decoder_case *c = &all->list[i];
    if (c->fails) continue;
    module *source = parsed(c);
    answers right;
    grow(source, &right);
    for (size_t k = 0; k < 2; k++) {
      if (c->only_chunk && c->only_chunk != chunks[k]) continue;
      for (int form = KV_FORM_SCATTER; form <= KV_FORM_MATMUL; form++) check_form(c, source, &right, chunks[k], (kv_form)form);
    }
    forget(&right);
    npuc_module_destroy(source);
  }
}

static void what_does_not_fit_is_refused(void **state) {
  const cases *all = *state;
  for (size_t i = 0; i < all->n; i++) {
    const decoder_case *c = &all->list[i];
    if (!c->fails) continue;
    module *m = parsed(c);
    arena *a = npuc_arena_create();
    diag *d = npuc_diag_create(NULL, NULL);
    npuc_status status = make_static(d, a, m, 0, KV_FORM_SCATTER);
    const diag_record *r = npuc_diag_first_error(d);
    if (status == NPUC_OK || !r) fail_msg("%s: not refused", c->name);
    if (strcmp(npuc_diag_info(r->code)->text_code + 5, c->fails) != 0 || !strstr(r->reason, c->reason))
      fail_msg("%s: %s %s", c->name, npuc_diag_info(r->code)->text_code, r->reason);
    npuc_diag_destroy(d);
    npuc_arena_destroy(a);
    npuc_module_destroy(m);
  }
}

static const decoder_case *find(const cases *all, const char *begins) {
  for (size_t i = 0; i < all->n; i++)
    if (strncmp(all->list[i].name, begins, strlen(begins)) == 0) return &all->list[i];
  fail_msg("no case %s", begins);
  return NULL;
}

static void a_call_that_does_not_fit_is_refused(void **state) {
  static const struct {
    int64_t position, valid;
    bool fits;
  } calls[] = {{8, 1, true},  {5, 4, true},  {9, 1, false},  {6, 4, false},
               {0, 0, false}, {0, 5, false}, {-1, 1, false}, {INT64_MAX, 1, false}};
  module *m = parsed(find(*state, "torchscript"));
  arena *a = npuc_arena_create();
  assert_int_equal(make_static(NULL, a, m, 4, KV_FORM_WHERE), NPUC_OK);
  session s;
  session_open(&s, m);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    npuc_diag_clear(s.d);
    assert_int_equal(step(&s, tokens, calls[i].position, calls[i].valid), calls[i].fits ? NPUC_OK : NPUC_USAGE);
    if (!calls[i].fits) assert_int_equal(npuc_diag_first_error(s.d)->code, NPUC_DIAG_E0630);
  }
  session_close(&s);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
}

/* Adds one to each element of the constant: the mask shows a key more, or Attention has a key more. */
static void raise(module *m, const char *name, int64_t by) {
  value *v = npuc_graph_value(m->graphs[0], name);
  assert_non_null(v);
  int64_t numbers[64], n = npuc_tensor_elements(v->constant);
  for (int64_t i = 0; i < n; i++) numbers[i] = npuc_tensor_get_int(v->constant, i) + by;
  npuc_value_replace(v, npuc_graph_constant_ints(m->graphs[0], "raised", DTYPE_I64, numbers, n));
}

static void a_mask_off_by_one_is_seen(void **state) {
  static const struct {
    const char *name;
    op_id reader;
    int32_t operand;
    int64_t by;
  } spots[] = {
      {"one token a call", OP_LESSOREQUAL, 0, -1}, {"one token a call", OP_LESSOREQUAL, 0, 1}, {"Attention over keys", OP_ADD, 1, -1}};
  for (size_t i = 0; i < sizeof spots / sizeof *spots; i++) {
    const decoder_case *c = find(*state, spots[i].name);
    module *source = parsed(c), *m = npuc_module_clone(source);
    arena *a = npuc_arena_create();
    answers right;
    grow(source, &right);
    assert_int_equal(make_static(NULL, a, m, 1, KV_FORM_SCATTER), NPUC_OK);
    assert_true(apart(m, &right, cuts[0], 0) <= 1e-6);
    bool found = false;
    NPUC_EACH_NODE(m->graphs[0], n) {
      if (found || !node_is(n, spots[i].reader) || !n->inputs[spots[i].operand]->constant) continue;
      raise(m, n->inputs[spots[i].operand]->name, spots[i].by);
      found = true;
    }
    assert_true(found);
    if (!(apart(m, &right, cuts[0], 0) > 1e-3)) fail_msg("%s: a mask off by %lld is not seen", c->name, (long long)spots[i].by);
    forget(&right);
    npuc_arena_destroy(a);
    npuc_module_destroy(m);
    npuc_module_destroy(source);
  }
}

/* What the file says of itself: the states, their names, and the source's names for them. */
static void states_are_bound_by_name(void **state) {
  module *m = parsed(find(*state, "torchscript"));
  arena *a = npuc_arena_create();
  const char *output, *input;
  assert_int_equal(make_static(NULL, a, m, 4, KV_FORM_SCATTER), NPUC_OK);
  assert_true(npuc_module_state(m, a, 0, &output, &input));
  assert_string_equal(output, "present.0.key");
  assert_string_equal(input, "past.0.key");
  assert_true(npuc_module_state(m, a, 1, &output, &input));
  assert_string_equal(input, "past.0.value");
  assert_false(npuc_module_state(m, a, 2, &output, &input));
  const graph *g = m->graphs[0];
  assert_int_equal(g->n_inputs, 5);
  assert_string_equal(g->inputs[1]->name, "position");
  assert_string_equal(g->inputs[2]->name, "valid");
  assert_int_equal(g->inputs[3]->shape.dims[2], TOKENS + 4 - 1);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
}

static int setup(void **state) {
  cases *all = calloc(1, sizeof *all);
  all->a = npuc_arena_create();
  read_cases(all);
  *state = all;
  return 0;
}

static int teardown(void **state) {
  cases *all = *state;
  npuc_arena_destroy(all->a);
  free(all);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_form_is_the_growing_model),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(a_call_that_does_not_fit_is_refused),
      cmocka_unit_test(a_mask_off_by_one_is_seen),
      cmocka_unit_test(states_are_bound_by_name),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
