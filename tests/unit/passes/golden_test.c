/* SPDX-License-Identifier: Apache-2.0 */
/* Passes as functions from text to text: tests/passes/NAME.txt. A file holds cases:
 *
 *   ### name
 *   RUN fold-batchnorm            a pass, a pipeline or an edit, with its arguments as on the command line (NAME:key=value)
 *   DIM N=2                       --dim, any number of times
 *   LIMIT 1                       --pass-limit
 *   BOUND 0.1                     what an approximate rewrite may differ by, of the largest; at least half of it is used
 *   NEGATIVE pattern ...          patterns that this case is near to and that must not fire
 *   FAILS E0913                   the check after the pipeline (static: npuc_check_static), or the pass, ends with this code
 *   FIRES pattern 1               what fired, in order; nothing fired where the line is missing
 *   --- input
 *   --- expected
 *
 * Every case is a numeric test too: both graphs run on seeded inputs, and must agree as the parity of what fired promises. Each
 * pattern of src/passes must fire in some case and stand under NEGATIVE in some case.
 * NPUC_BLESS=1 writes the FIRES lines and the expected texts anew: read the difference before you commit it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "ir/text.h"
#include "passes/edits/edits.h"
#include "passes/pipelines.h"
#include "tensor/compare.h"

enum { MAX_DIMS = 4, MAX_WORDS = 48, MAX_PORTS = 32 };

static const char folder[] = NPUC_SOURCE_DIR "/tests/passes";

typedef struct golden_case {
  char *name, *run, *fails, *input, *expected;
  char *negative[MAX_WORDS];
  int n_negative;
  char *comments;   /* lines before the first directive word */
  char *directives; /* RUN, DIM, LIMIT, NEGATIVE, FAILS as written */
  char *fires;      /* as written */
  dim_binding dims[MAX_DIMS];
  size_t n_dims;
  int64_t limit;
  double bound; /* 0: by parity */
} golden_case;

typedef struct tally {
  arena *a;
  map *fired, *refused, *edited, *idle; /* patterns; edits */
  int cases, wrong;
  bool bless;
} tally;

/* -- reading -- */

static char *join(arena *a, char *text, const char *line) { return npuc_arena_printf(a, "%s%s\n", text, line); }

static void directive(arena *a, golden_case *c, char *line) {
  char *word = line, *rest = strchr(line, ' ');
  rest = rest ? rest + 1 : line + strlen(line);
  size_t n = (size_t)(strcspn(word, " "));
  if (n == 5 && memcmp(word, "FIRES", 5) == 0) {
    c->fires = join(a, c->fires, line);
    return;
  }
  c->directives = join(a, c->directives, line);
  if (n == 3 && memcmp(word, "RUN", 3) == 0) {
    c->run = npuc_arena_str(a, rest);
  } else if (n == 5 && memcmp(word, "LIMIT", 5) == 0) {
    c->limit = strtoll(rest, NULL, 10);
  } else if (n == 5 && memcmp(word, "BOUND", 5) == 0) {
    c->bound = strtod(rest, NULL);
  } else if (n == 5 && memcmp(word, "FAILS", 5) == 0) {
    c->fails = npuc_arena_str(a, rest);
  } else if (n == 3 && memcmp(word, "DIM", 3) == 0) {
    char *symbol = npuc_arena_str(a, rest), *equals = strchr(symbol, '=');
    assert_non_null(equals);
    *equals = '\0';
    c->dims[c->n_dims++] = (dim_binding){symbol, strtoll(equals + 1, NULL, 10)};
  } else if (n == 8 && memcmp(word, "NEGATIVE", 8) == 0) {
    char *words = npuc_arena_str(a, rest), *save = NULL;
    for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) c->negative[c->n_negative++] = w;
  } else {
    fail_msg("%s: no such directive: %s", c->name, line);
  }
}

static char *read_file(arena *a, const char *path) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *text = npuc_arena_alloc(a, 1 << 20);
  size_t n = fread(text, 1, (1 << 20) - 1, f);
  (void)fclose(f);
  text[n] = '\0';
  return text;
}

/* Returns the number of cases; *out_head is what stands before the first. */
static size_t parse(arena *a, char *text, golden_case *out, size_t most, char **out_head) {
  enum { HEAD, DIRECTIVES, INPUT, EXPECTED } part = HEAD;
  size_t n = 0;
  *out_head = npuc_arena_str(a, "");
  for (char *line = text, *end; *line; line = end + 1) {
    end = strchr(line, '\n');
    assert_non_null(end);
    *end = '\0';
    golden_case *c = n ? &out[n - 1] : NULL;
    if (strncmp(line, "### ", 4) == 0) {
      assert_true(n < most);
      c = &out[n++];
      *c = (golden_case){
          .name = npuc_arena_str(a, line + 4), .limit = -1, .comments = "", .directives = "", .fires = "", .input = "", .expected = ""};
      part = DIRECTIVES;
    } else if (strcmp(line, "--- input") == 0) {
      part = INPUT;
    } else if (strcmp(line, "--- expected") == 0) {
      part = EXPECTED;
    } else if (part == HEAD) {
      *out_head = join(a, *out_head, line);
    } else if (part == DIRECTIVES) {
      if (*line == '#')
        c->comments = join(a, c->comments, line);
      else if (*line)
        directive(a, c, line);
    } else if (part == INPUT) {
      if (*line) c->input = join(a, c->input, line);
    } else if (*line) {
      c->expected = join(a, c->expected, line);
    }
  }
  return n;
}

/* -- running -- */

static module *parsed(diag *d, const golden_case *c) {
  module *m;
  if (npuc_module_parse(d, c->name, c->input, strlen(c->input), &m) != NPUC_OK) return NULL;
  for (size_t i = 0; i < m->n_graphs; i++) {
    if (npuc_graph_infer(d, m->graphs[i]) != NPUC_OK) {
      npuc_module_destroy(m);
      return NULL;
    }
  }
  return m;
}

static npuc_status run_edit(diag *d, arena *a, const golden_case *c, module *m, const pass_options *options, pass_report *out) {
  edit_plan *plan = npuc_edit_plan_create();
  npuc_status status = npuc_edit_plan_add(d, plan, "RUN", c->run);
  if (status == NPUC_OK) status = npuc_edit_plan_finish(d, plan);
  if (status == NPUC_OK) status = npuc_edits_run(d, a, m, plan, options, out);
  npuc_edit_plan_destroy(plan);
  return status;
}

static npuc_status run_pipeline(diag *d, arena *a, const golden_case *c, module *m, pass_report *out) {
  pass_options options = {.dims = c->dims, .n_dims = c->n_dims, .limit = c->limit};
  if (npuc_edit_find(npuc_arena_strn(a, c->run, strcspn(c->run, ":"))) && strcmp(c->run, "absorb-padding") != 0)
    return run_edit(d, a, c, m, &options, out);
  NPUC_TRY(npuc_passes_run(d, a, m, c->run, &options, out));
  if (strcmp(c->run, "static") == 0) NPUC_TRY(npuc_check_static(d, m));
  if (strcmp(c->run, "normalize") == 0 || strcmp(c->run, "adapt") == 0) NPUC_TRY(npuc_check_names(d, m));
  return strcmp(c->run, "adapt") == 0 ? npuc_check_places(d, m) : NPUC_OK;
}

static void say_diagnostics(const golden_case *c, const diag *d) {
  for (size_t i = 0; i < npuc_diag_count(d); i++) {
    const diag_record *r = npuc_diag_at(d, i);
    print_error("%s: %s: %s %s: %s\n", c->name, npuc_diag_info(r->code)->text_code, r->place.node ? r->place.node : "",
                r->place.op ? r->place.op : "", r->reason);
  }
}

/* Inputs: dims of `after` where it has numbers, else 2; values from a fixed sequence, in [-2, 2) or 0..3. */
static void make_input(const value *before, const value *after, uint64_t *seed, tensor *out) {
  shape s = after->shape;
  for (int32_t i = 0; i < s.rank; i++) {
    if (!dim_is_number(s.dims[i])) s.dims[i] = 2;
  }
  assert_int_equal(npuc_tensor_create(NULL, before->type, &s, out), NPUC_OK);
  int64_t n = npuc_tensor_elements(out);
  for (int64_t i = 0; i < n; i++) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    double unit = (double)(*seed >> 40) / (double)(1 << 24);
    npuc_tensor_set(out, i, npuc_dtype_kind(before->type) == KIND_FLOAT ? 4.0 * unit - 2.0 : (double)(int)(4.0 * unit));
  }
}

static bool close_enough(const comparison *c, parity p, double bound) {
  if (bound > 0) return c->finite && c->max_abs <= bound * c->max_ref && 2 * c->max_abs >= bound * c->max_ref;
  if (c->different == 0) return true;
  return p != PARITY_EXACT && c->finite && c->max_abs <= 1e-5 * c->max_ref && c->sqnr_db >= 100.0;
}

/* Do the two graphs agree on seeded inputs, as the parity promises? */
static bool agree(const graph *before, const graph *after, parity p, double bound, const char *name) {
  tensor inputs[MAX_PORTS] = {0}, a[MAX_PORTS], b[MAX_PORTS];
  uint64_t seed = 7;
  assert_true(before->n_inputs == after->n_inputs && before->n_outputs == after->n_outputs && before->n_inputs <= MAX_PORTS &&
              before->n_outputs <= MAX_PORTS);
  for (size_t i = 0; i < before->n_inputs; i++) make_input(before->inputs[i], after->inputs[i], &seed, &inputs[i]);
  diag *d = npuc_diag_create(NULL, NULL);
  exec_options options = {0};
  executor *x = NULL, *y = NULL;
  bool good = npuc_executor_create(d, before, &options, &x) == NPUC_OK && npuc_executor_create(d, after, &options, &y) == NPUC_OK &&
              npuc_executor_run(x, d, inputs, a) == NPUC_OK && npuc_executor_run(y, d, inputs, b) == NPUC_OK;
  for (size_t i = 0; good && i < before->n_outputs; i++) {
    comparison c;
    good = npuc_compare(d, &b[i], &a[i], &c) == NPUC_OK && npuc_shape_equal(&a[i].shape, &b[i].shape) && close_enough(&c, p, bound);
    if (!good && name) print_error("%s: output %zu: max_abs %g of %g, sqnr %g dB\n", name, i, c.max_abs, c.max_ref, c.sqnr_db);
  }
  const diag_record *e = npuc_diag_first_error(d);
  if (e && name) print_error("%s: %s\n", name, e->reason);
  npuc_executor_destroy(x);
  npuc_executor_destroy(y);
  npuc_diag_destroy(d);
  for (size_t i = 0; i < before->n_inputs; i++) npuc_tensor_release(&inputs[i]);
  return good;
}

static char *fires_text(arena *a, const pass_report *report) {
  char *text = npuc_arena_str(a, "");
  for (size_t i = 0; i < report->n_rewrites; i++) {
    text = npuc_arena_printf(a, "%sFIRES %s %zu\n", text, report->rewrites[i].pattern, report->rewrites[i].count);
  }
  return text;
}

static bool has_fired(const pass_report *report, const char *pattern_name) {
  for (size_t i = 0; i < report->n_rewrites; i++) {
    if (strcmp(report->rewrites[i].pattern, pattern_name) == 0) return true;
  }
  return false;
}

static bool check_text(tally *t, golden_case *c, module *m, const pass_report *report) {
  text_options options = {.types = true};
  char *fires = fires_text(t->a, report), *text = npuc_module_print(t->a, m, &options);
  size_t n = strlen(text);
  if (n && text[n - 1] != '\n') text = npuc_arena_printf(t->a, "%s\n", text);
  bool good = strcmp(fires, c->fires) == 0 && strcmp(text, c->expected) == 0;
  if (!good && !t->bless) print_error("%s: gives\n%s%s\n", c->name, fires, text);
  c->fires = fires;
  c->expected = text;
  return good || t->bless;
}

static bool run_case(tally *t, golden_case *c) {
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = parsed(d, c), *before = m ? npuc_module_clone(m) : NULL;
  pass_report report = {0};
  npuc_status status = m ? run_pipeline(d, t->a, c, m, &report) : NPUC_BAD_INPUT;
  const diag_record *error = npuc_diag_first_error(d);
  bool good;
  if (c->fails) {
    good = status != NPUC_OK && error && strcmp(npuc_diag_info(error->code)->text_code + 5, c->fails) == 0;
  } else {
    good = status == NPUC_OK && check_text(t, c, m, &report);
    good = good && agree(before->graphs[0], m->graphs[0], report.parity, c->bound, c->name);
  }
  if (!good) say_diagnostics(c, d);
  const edit_info *edit = npuc_edit_find(npuc_arena_strn(t->a, c->run, strcspn(c->run, ":")));
  if (edit) (void)npuc_map_put(report.n_rewrites ? t->edited : t->idle, edit->name, t);
  for (size_t i = 0; i < report.n_rewrites; i++) (void)npuc_map_put(t->fired, report.rewrites[i].pattern, t);
  for (int i = 0; i < c->n_negative; i++) {
    (void)npuc_map_put(t->refused, c->negative[i], t);
    if (has_fired(&report, c->negative[i])) {
      print_error("%s: %s fired\n", c->name, c->negative[i]);
      good = false;
    }
  }
  npuc_module_destroy(before);
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
  return good;
}

static void write_blessed(const char *path, const char *head, const golden_case *cases, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  (void)fputs(head, f);
  for (size_t i = 0; i < n; i++) {
    const golden_case *c = &cases[i];
    (void)fprintf(f, "### %s\n%s%s%s--- input\n%s", c->name, c->comments, c->directives, c->fails ? "" : c->fires, c->input);
    if (!c->fails) (void)fprintf(f, "--- expected\n%s", c->expected);
    (void)fputs("\n", f);
  }
  assert_int_equal(fclose(f), 0);
}

static void run_file(tally *t, const char *name) {
  enum { MAX_CASES = 64 };
  static golden_case cases[MAX_CASES];
  char *head, *path = npuc_arena_printf(t->a, "%s/%s", folder, name);
  size_t n = parse(t->a, read_file(t->a, path), cases, MAX_CASES, &head);
  for (size_t i = 0; i < n; i++) {
    t->cases++;
    if (!run_case(t, &cases[i])) t->wrong++;
  }
  if (t->bless) write_blessed(path, head, cases, n);
}

static void every_case_is_as_written(void **state) {
  tally *t = *state;
  char **names;
  size_t n;
  assert_int_equal(npuc_dir_list(NULL, t->a, folder, &names, &n), NPUC_OK);
  for (size_t i = 0; i < n; i++) {
    size_t length = strlen(names[i]);
    if (length > 4 && strcmp(names[i] + length - 4, ".txt") == 0) run_file(t, names[i]);
  }
  assert_true(t->cases > 0);
  assert_int_equal(t->wrong, 0);
}

static int look_for(const tally *t, const pattern_set *set) {
  int missing = 0;
  for (size_t k = 0; k < set->count; k++) {
    const char *name = set->patterns[k]->name;
    if (!npuc_map_get(t->fired, name)) print_error("no case fires %s\n", name), missing++;
    if (!npuc_map_get(t->refused, name)) print_error("no case refuses %s\n", name), missing++;
  }
  return missing;
}

static void every_pattern_has_both_cases(void **state) {
  tally *t = *state;
  size_t n;
  int missing = 0;
  const pass_patterns *sets = npuc_pass_patterns(&n);
  for (size_t i = 0; i < n; i++) missing += look_for(t, sets[i].set);
  assert_int_equal(missing, 0);
}

/* An edit that is a function has cases by its own name; ports are for edits_test.c. */
static void every_edit_has_both_cases(void **state) {
  tally *t = *state;
  size_t n;
  int missing = 0;
  const edit_info *edits = npuc_edit_table(&n);
  for (size_t i = 0; i < n; i++) {
    if (edits[i].patterns) missing += look_for(t, edits[i].patterns);
    if (edits[i].changes_ports) continue;
    if (!npuc_map_get(t->edited, edits[i].name)) print_error("no case where %s changes something\n", edits[i].name), missing++;
    if (!npuc_map_get(t->idle, edits[i].name)) print_error("no case where %s changes nothing\n", edits[i].name), missing++;
  }
  assert_int_equal(missing, 0);
}

/* The numeric judge must see a folding that forgot epsilon, and one that is off by a constant. */
static void the_judge_sees_a_wrong_folding(void **state) {
  (void)state;
  const char right[] =
      "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {2.0}, float[1] s = {1.0}, float[1] b = {0.5}, float[1] m = {0.0}, "
      "float[1] v = {0.01}> { c = Conv (x, w) y = BatchNormalization <epsilon = 0.001> (c, s, b, m, v) }";
  const char wrong[] =
      "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {2.0}, float[1] s = {1.0}, float[1] b = {0.5}, float[1] m = {0.0}, "
      "float[1] v = {0.01}> { c = Conv (x, w) y = BatchNormalization <epsilon = 0.0> (c, s, b, m, v) }";
  golden_case a = {.name = "right", .input = (char *)right}, b = {.name = "wrong", .input = (char *)wrong};
  module *x = parsed(NULL, &a), *y = parsed(NULL, &b);
  assert_non_null(x);
  assert_non_null(y);
  assert_true(agree(x->graphs[0], x->graphs[0], PARITY_EXACT, 0, NULL));
  assert_false(agree(x->graphs[0], y->graphs[0], PARITY_REASSOCIATING, 0, NULL));
  npuc_module_destroy(x);
  npuc_module_destroy(y);
}

int main(void) {
  tally t = {.a = npuc_arena_create(), .bless = getenv("NPUC_BLESS") != NULL};
  t.fired = npuc_map_create(t.a);
  t.refused = npuc_map_create(t.a);
  t.edited = npuc_map_create(t.a);
  t.idle = npuc_map_create(t.a);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(every_case_is_as_written, &t),
      cmocka_unit_test_prestate(every_pattern_has_both_cases, &t),
      cmocka_unit_test_prestate(every_edit_has_both_cases, &t),
      cmocka_unit_test(the_judge_sees_a_wrong_folding),
  };
  int failed = cmocka_run_group_tests_name("passes/golden", tests, NULL, NULL);
  npuc_arena_destroy(t.a);
  return failed;
}
