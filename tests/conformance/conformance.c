/* SPDX-License-Identifier: Apache-2.0 */
/* Runs recorded ONNX cases: FOLDER/.../CASE/{model.onnx, test_data_set_N/{input,output}_K.pb}. Each model is imported, run by the executor on
 * the recorded inputs and compared with the recorded outputs. Then it is written as ONNX, read again and run again, and printed as text, parsed and run again, which
 * must both give the same bytes.
 *
 *   usage: npuc-conformance LIST FOLDER...            compare with LIST: exit 1 when a case's result is not the listed one
 *          npuc-conformance --write LIST FOLDER...    write LIST
 *
 * LIST names every case that does not pass, one a line: "CASE CODE REASON". A case that it does not name must pass, and a case that it
 * names must fail, so that the list cannot rot. Tolerances are the case's own: a file CASE/tolerance with "RTOL ATOL", else those of
 * ONNX's test runner; integers, booleans and strings are equal or wrong. Every case runs in a process of its own: a crash is a result. */
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/recorded.h"
#include "exec/executor.h"
#include "exec/heap.h"
#include "import/onnx/onnx.h"
#include "ir/text.h"
#include "tensor/reference.h"

enum { MOST_PORTS = 64, REASON = 600, SECONDS = 60 };

typedef struct conformance_case {
  const char *name, *folder; /* "node/test_abs" and where it lies */
} conformance_case;

typedef struct case_list {
  conformance_case *items;
  size_t n, capacity;
  arena *a;
} case_list;

/* -- one case -- */

typedef struct verdict {
  char text[REASON]; /* "" when the case passes, else "CODE REASON" */
} verdict;

NPUC_PRINTF(2, 3) static bool failed(verdict *v, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)vsnprintf(v->text, sizeof v->text, format, args);
  va_end(args);
  for (char *c = v->text; *c; c++) *c = *c == '\n' ? ' ' : *c;
  return false;
}

static bool failed_by(verdict *v, const diag *d) {
  const diag_record *r = npuc_diag_first_error(d);
  if (!r) return failed(v, "none a status without a diagnostic");
  return failed(v, "%s %s%s%s", npuc_diag_info(r->code)->text_code, r->place.op ? r->place.op : "", r->place.op ? ": " : "", r->reason);
}

static bool same_number(double a, double b, double rtol, double atol) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (isinf(a) || isinf(b)) return a == b;
  return fabs(a - b) <= atol + rtol * fabs(b);
}

/* The recorders of before onnx 1.17 had no bfloat16 and stored its codes as uint16. */
static void restore_bfloat16(tensor *t, dtype wanted) {
  if (t->type == DTYPE_U16 && wanted == DTYPE_BF16) t->type = DTYPE_BF16;
}

/* The specification leaves the generator open, and these cases were recorded from the middle of a stream: type and shape are judged. What seeds
 * mean here is tests/unit/eval/random_test.c's. */
static bool is_random(const graph *g) {
  static const op_id random[] = {OP_RANDOMNORMAL,      OP_RANDOMNORMALLIKE, OP_RANDOMUNIFORM,
                                 OP_RANDOMUNIFORMLIKE, OP_BERNOULLI,        OP_MULTINOMIAL};
  NPUC_EACH_NODE(g, n) {
    for (size_t i = 0; i < sizeof random / sizeof *random; i++) {
      if (node_is(n, random[i])) return true;
    }
  }
  return false;
}

static bool compare_header(verdict *v, size_t index, const tensor *got, const tensor *wanted) {
  if (got->type != wanted->type)
    return failed(v, "wrong output %zu is %s, %s recorded", index, npuc_dtype_name(got->type), npuc_dtype_name(wanted->type));
  if (npuc_shape_equal(&got->shape, &wanted->shape)) return true;
  char text[2][160];
  return failed(v, "wrong output %zu has shape %s, %s recorded", index, npuc_recorded_shape(&got->shape, text[0], sizeof text[0]),
                npuc_recorded_shape(&wanted->shape, text[1], sizeof text[1]));
}

static bool compare(verdict *v, size_t index, const tensor *got, const tensor *wanted, const tolerance *t, bool values) {
  if (!compare_header(v, index, got, wanted)) return false;
  bool exact = npuc_dtype_kind(got->type) != KIND_FLOAT && npuc_dtype_kind(got->type) != KIND_COMPLEX;
  for (int64_t i = 0; values && i < npuc_tensor_elements(got); i++) {
    if (npuc_dtype_is_list(got->type)) {
      if (!compare(v, index, npuc_tensor_item(got, i), npuc_tensor_item(wanted, i), t, values)) return false;
      continue;
    }
    if (got->type == DTYPE_STRING) {
      text_span a = npuc_tensor_text(got, i), b = npuc_tensor_text(wanted, i);
      if (npuc_text_compare(a, b) != 0)
        return failed(v, "wrong output %zu, element %lld is \"%.60s\", \"%.60s\" recorded", index, (long long)i, a.bytes, b.bytes);
      continue;
    }
    bool same = exact ? npuc_tensor_get_int(got, i) == npuc_tensor_get_int(wanted, i)
                      : same_number(npuc_tensor_get(got, i), npuc_tensor_get(wanted, i), t->rtol, t->atol);
    if (!same)
      return failed(v, "wrong output %zu, element %lld is %.9g, %.9g recorded", index, (long long)i, npuc_tensor_get(got, i),
                    npuc_tensor_get(wanted, i));
  }
  return true;
}

static bool compare_set(verdict *v, const graph *g, const tensor *outputs, recorded_set *set, const tolerance *t) {
  if (set->n_outputs > g->n_outputs) return failed(v, "wrong %zu outputs recorded, the model has %zu", set->n_outputs, g->n_outputs);
  for (size_t i = 0; i < set->n_outputs; i++) {
    restore_bfloat16(&set->outputs[i], outputs[i].type);
    if (!compare(v, i, &outputs[i], &set->outputs[i], t, !is_random(g))) return false;
  }
  return true;
}

/* Runs every data set on a module; with `t` NULL results need not be right, they are kept in `results` ([sets, outputs]) all the same. */
static bool run_module(verdict *v, const module *m, const char *folder, const tolerance *t, run_heap *heap, tensor *results,
                       size_t *out_count) {
  diag *d = npuc_diag_create(NULL, NULL);
  const graph *g = m->graphs[0];
  executor *e;
  if (npuc_executor_create(d, g, &(exec_options){.takes_references = true}, &e) != NPUC_OK) return failed_by(v, d);
  size_t count = 0, sets = 0;
  for (;; sets++) {
    recorded_set set;
    npuc_status status = npuc_recorded_read(d, folder, g, sets, &set);
    if (status != NPUC_OK) return failed_by(v, d);
    if (set.n_inputs == 0 && set.n_outputs == 0) break;
    if (set.n_inputs != g->n_inputs) return failed(v, "wrong %zu inputs recorded, the model has %zu", set.n_inputs, g->n_inputs);
    for (size_t i = 0; i < set.n_inputs; i++) restore_bfloat16(&set.inputs[i], g->inputs[i]->type);
    tensor outputs[MOST_PORTS];
    if (g->n_outputs > MOST_PORTS || count + g->n_outputs > MOST_PORTS) return failed(v, "none more outputs than the runner takes");
    if (npuc_executor_run(e, d, set.inputs, outputs) != NPUC_OK) return failed_by(v, d);
    if (t && !compare_set(v, g, outputs, &set, t)) return false;
    for (size_t i = 0; i < g->n_outputs; i++, count++) {
      if (npuc_run_heap_copy(d, heap, &outputs[i], &results[count]) != NPUC_OK) return failed_by(v, d);
    }
    npuc_recorded_release(&set);
  }
  *out_count = count;
  npuc_executor_destroy(e);
  npuc_diag_destroy(d);
  return sets ? true : failed(v, "none the case has no recorded data");
}

static bool same_again(verdict *v, const module *again, const conformance_case *c, run_heap *heap, const tensor *first, size_t n,
                       const char *what) {
  tensor second[MOST_PORTS];
  size_t n_second;
  if (!run_module(v, again, c->folder, NULL, heap, second, &n_second)) return false;
  for (size_t i = 0; i < n; i++) {
    if (n_second != n || !npuc_tensor_equal(&first[i], &second[i]))
      return failed(v, "wrong the %s model gives another output %zu", what, i);
  }
  return true;
}

static bool check_written(verdict *v, diag *d, const module *m, const conformance_case *c, const char *copy, run_heap *heap,
                          const tensor *first, size_t n) {
  module *again;
  if (npuc_onnx_write(d, m, copy, NULL) != NPUC_OK || npuc_onnx_read(d, copy, &again) != NPUC_OK) return failed_by(v, d);
  bool same = same_again(v, again, c, heap, first, n, "written");
  npuc_module_destroy(again);
  return same;
}

static bool check_printed(verdict *v, diag *d, const module *m, const conformance_case *c, run_heap *heap, const tensor *first, size_t n) {
  static const text_options whole = {.max_elements = -1};
  module *again;
  arena *a = npuc_arena_create();
  const char *text = npuc_module_print(a, m, &whole);
  if (npuc_module_parse(d, "printed", text, strlen(text), &again) != NPUC_OK || npuc_graph_infer(d, again->graphs[0]) != NPUC_OK)
    return failed_by(v, d);
  bool same = same_again(v, again, c, heap, first, n, "printed");
  npuc_module_destroy(again);
  npuc_arena_destroy(a);
  return same;
}

static bool check_case(verdict *v, const conformance_case *c, const char *copy) {
  diag *d = npuc_diag_create(NULL, NULL);
  arena *a = npuc_arena_create();
  run_heap *heap = npuc_run_heap_create();
  module *m;
  tensor first[MOST_PORTS];
  size_t n;
  tolerance t = npuc_recorded_tolerance(c->folder);
  if (npuc_onnx_read(d, npuc_arena_printf(a, "%s/model.onnx", c->folder), &m) != NPUC_OK) return failed_by(v, d);
  if (!run_module(v, m, c->folder, &t, heap, first, &n)) return false;
  if (!check_written(v, d, m, c, copy, heap, first, n) || !check_printed(v, d, m, c, heap, first, n)) return false;
  npuc_module_destroy(m);
  npuc_run_heap_destroy(heap);
  npuc_arena_destroy(a);
  npuc_diag_destroy(d);
  return true;
}

/* The verdict comes through a pipe; a child that dies on the way leaves its signal. */
static void judge(const conformance_case *c, const char *copy, verdict *v) {
  int ends[2];
  *v = (verdict){0};
  fflush(NULL);
  if (pipe(ends) != 0) exit(NPUC_ENVIRONMENT);
  pid_t child = fork();
  if (child < 0) exit(NPUC_ENVIRONMENT);
  if (child == 0) {
    alarm(SECONDS);
    (void)check_case(v, c, copy);
    _exit(write(ends[1], v->text, strlen(v->text)) < 0);
  }
  close(ends[1]);
  size_t n = 0;
  for (ssize_t got; (got = read(ends[0], v->text + n, sizeof v->text - 1 - n)) > 0;) n += (size_t)got;
  v->text[n] = '\0';
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) (void)failed(v, "crash %s", strsignal(WTERMSIG(status)));
}

/* -- the cases -- */

static int by_name(const void *a, const void *b) {
  return strcmp(((const conformance_case *)a)->name, ((const conformance_case *)b)->name);
}

static void add_cases(case_list *list, const char *folder) {
  DIR *d = opendir(folder);
  const char *kind = strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder;
  for (struct dirent *entry; d && (entry = readdir(d));) {
    struct stat s;
    const char *path = npuc_arena_printf(list->a, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] == '.' || stat(npuc_arena_printf(list->a, "%s/model.onnx", path), &s) != 0) continue;
    list->items = npuc_arena_grow(list->a, list->items, list->n, list->n + 1, sizeof *list->items, &list->capacity);
    list->items[list->n++] = (conformance_case){npuc_arena_printf(list->a, "%s/%s", kind, entry->d_name), path};
  }
  if (d) closedir(d);
}

/* -- the list -- */

static map *read_list(arena *a, const char *path) {
  map *known = npuc_map_create(a);
  FILE *f = fopen(path, "r");
  char line[2 * REASON];
  if (!f) return known;
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    char *space = strchr(line, ' ');
    if (line[0] == '#' || !space) continue;
    *space = '\0';
    npuc_map_put(known, npuc_arena_str(a, line), npuc_arena_str(a, space + 1));
  }
  fclose(f);
  return known;
}

typedef struct tally {
  size_t passed, unexpected;
} tally;

static void report(const conformance_case *c, const verdict *v, const map *known, FILE *out, tally *sum) {
  bool passed = !v->text[0], listed = known && npuc_map_get(known, c->name);
  sum->passed += passed;
  if (out && !passed) fprintf(out, "%s %s\n", c->name, v->text);
  const char *note = !known || listed != passed ? "" : passed ? "  (listed as failing: refresh the list)" : "  (expected to pass)";
  sum->unexpected += note[0] != '\0';
  printf("%s %s%s\n", c->name, passed ? "pass" : v->text, note);
}

int main(int argc, char **argv) {
  bool writes = argc > 1 && strcmp(argv[1], "--write") == 0;
  int at = writes ? 2 : 1;
  if (argc < at + 2) {
    fprintf(stderr, "usage: npuc-conformance [--write] LIST FOLDER...\n");
    return NPUC_USAGE;
  }
  arena *a = npuc_arena_create();
  case_list list = {.a = a};
  for (int i = at + 1; i < argc; i++) add_cases(&list, argv[i]);
  if (list.n) qsort(list.items, list.n, sizeof *list.items, by_name);
  char scratch[] = "/tmp/npuc-conformance-XXXXXX";
  if (!mkdtemp(scratch)) return NPUC_ENVIRONMENT;
  const char *copy = npuc_arena_printf(a, "%s/copy.onnx", scratch);
  map *known = writes ? NULL : read_list(a, argv[at]);
  FILE *out = writes ? fopen(argv[at], "w") : NULL;
  if (writes && !out) return NPUC_ENVIRONMENT;
  tally sum = {0};
  for (size_t i = 0; i < list.n; i++) {
    verdict v;
    judge(&list.items[i], copy, &v);
    report(&list.items[i], &v, known, out, &sum);
  }
  (void)unlink(copy);
  (void)rmdir(scratch);
  if (out) fprintf(out, "# %zu of %zu cases pass\n", sum.passed, list.n);
  bool written = !out || fclose(out) == 0;
  printf("%zu of %zu cases pass, %zu not as listed\n", sum.passed, list.n, sum.unexpected);
  npuc_arena_destroy(a);
  return !written ? NPUC_ENVIRONMENT : sum.unexpected || list.n == 0 ? NPUC_INTERNAL : NPUC_OK;
}
