/* SPDX-License-Identifier: Apache-2.0 */
/* Runs models of one operator each, as tests/peers/op_grid.py makes them, and compares with the values that came with them:
 *
 *   usage: npuc-grid [--spoil] FILE
 *
 * FILE is a run of protobuf fields 1, one case each (the enum below has a case's fields). A case with outputs must run and give them, within
 * what src/ir/accuracy.def states for its operator; then the model is written, read again and run again, which must give the same bytes. A case
 * without outputs must be refused: unsupported or bad input, with a diagnostic. Every case runs in a process of its own, so that a crash is a
 * result. One line is printed for each case that fails: "INDEX NAME VERDICT". --spoil moves each right value by just more than is
 * allowed and turns refusals round: then every case that says anything must fail. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/recorded.h"
#include "exec/executor.h"
#include "import/onnx/onnx.h"
#include "import/onnx/source.h"
#include "ir/accuracy.h"

enum { CASE_NAME = 1, CASE_MODEL = 2, CASE_INPUT = 3, CASE_OUTPUT = 4, CASE_OPERATOR = 5 };
enum { MOST_PORTS = 32, REASON = 500, SECONDS = 60 };

typedef struct grid_case {
  const char *name, *op; /* "Add-13 float32 3", "Add" */
  pb_span model;
  tensor inputs[MOST_PORTS], outputs[MOST_PORTS];
  size_t n_inputs, n_outputs;
} grid_case;

typedef struct verdict {
  char text[REASON]; /* "" when the case passes */
} verdict;

NPUC_PRINTF(2, 3) static bool failed(verdict *v, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)vsnprintf(v->text, sizeof v->text, format, args);
  va_end(args);
  for (char *c = v->text; *c; c++) *c = *c == '\n' ? ' ' : *c;
  return false;
}

static bool failed_by(verdict *v, npuc_status status, const diag *d) {
  const diag_record *r = npuc_diag_first_error(d);
  if (!r) return failed(v, "none: status %d without a diagnostic", (int)status);
  return failed(v, "refused %d %s %s", (int)status, npuc_diag_info(r->code)->text_code, r->reason);
}

/* -- the file -- */

static void read_tensors(onnx_source *s, pb_reader *r, const pb_field *f, tensor *tensors, size_t *io_n) {
  if (*io_n == MOST_PORTS || npuc_onnx_tensor(s, npuc_pb_message(r, f), "recorded", &tensors[*io_n], NULL) != NPUC_OK) {
    const diag_record *record = npuc_diag_first_error(s->d);
    fprintf(stderr, "npuc-grid: a recorded tensor cannot be read: %s\n", record ? record->reason : "too many");
    exit(NPUC_BAD_INPUT);
  }
  ++*io_n;
}

static grid_case read_case(onnx_source *s, pb_reader r) {
  grid_case c = {.name = "", .op = ""};
  pb_field f;
  while (npuc_pb_next(&r, &f)) {
    if (f.number == CASE_NAME || f.number == CASE_OPERATOR) {
      pb_span text = npuc_pb_span(&r, &f);
      const char *copy = npuc_arena_printf(s->m->arena, "%.*s", (int)text.n, (const char *)text.bytes);
      if (f.number == CASE_NAME)
        c.name = copy;
      else
        c.op = copy;
    }
    if (f.number == CASE_MODEL) c.model = npuc_pb_span(&r, &f);
    if (f.number == CASE_INPUT) read_tensors(s, &r, &f, c.inputs, &c.n_inputs);
    if (f.number == CASE_OUTPUT) read_tensors(s, &r, &f, c.outputs, &c.n_outputs);
  }
  return c;
}

/* -- comparing -- */

/* The distance from |x| to the next larger number of the type. */
static double last_place(dtype type, double x) {
  static const struct {
    dtype type;
    int digits, least; /* of the significand behind the point; the exponent of the smallest normal number */
  } formats[] = {{DTYPE_F64, 52, -1022},  {DTYPE_F32, 23, -126},     {DTYPE_F16, 10, -14},   {DTYPE_BF16, 7, -126},
                 {DTYPE_F8E4M3FN, 3, -6}, {DTYPE_F8E4M3FNUZ, 3, -7}, {DTYPE_F8E5M2, 2, -14}, {DTYPE_F8E5M2FNUZ, 2, -15},
                 {DTYPE_F4E2M1, 1, 0},    {DTYPE_F8E8M0, 0, -127},   {DTYPE_C64, 23, -126},  {DTYPE_C128, 52, -1022}};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (formats[i].type != type) continue;
    int exponent = x == 0 || isinf(x) ? formats[i].least : ilogb(x);
    return ldexp(1, (exponent > formats[i].least ? exponent : formats[i].least) - formats[i].digits);
  }
  return 1;
}

/* The largest finite magnitude in it. */
static double largest(const tensor *t, double at_least) {
  for (int64_t i = 0; i < npuc_tensor_elements(t); i++) {
    double x = fabs(npuc_tensor_get(t, i));
    if (isfinite(x) && x > at_least) at_least = x;
  }
  return at_least;
}

/* How far element i may be away. */
static double allowed(const grid_case *c, const op_accuracy *a, const tensor *wanted, int64_t i) {
  if (a->ulp == 0) return 0;
  double x = npuc_tensor_get(wanted, i);
  if (a->of != ULP_OF_ELEMENT) {
    x = largest(wanted, fabs(x));
    for (size_t k = 0; k < c->n_inputs; k++) {
      if (npuc_dtype_kind(c->inputs[k].type) == KIND_FLOAT) x = largest(&c->inputs[k], x);
    }
  }
  return a->ulp * last_place(a->of == ULP_OF_FLOAT32 && wanted->type == DTYPE_F64 ? DTYPE_F32 : wanted->type, x);
}

/* Operators whose zeros have a sign that the specification gives: they hand elements on. (For the others it names real numbers, and makers differ.) */
static bool keeps_zeros(const op_def *op) {
  static const op_id more[] = {OP_IDENTITY, OP_WHERE, OP_CAST, OP_NEG, OP_ABS};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
    if (op == npuc_op(more[i])) return true;
  }
  return op && op->traits & TRAIT_MOVES_DATA;
}

static bool same_number(double got, double wanted, double most, bool keeps_sign) {
  if (isnan(got) || isnan(wanted)) return isnan(got) && isnan(wanted);
  if (got == 0 && wanted == 0 && keeps_sign) return signbit(got) == signbit(wanted);
  return got == wanted || fabs(got - wanted) <= most;
}

static double spoilt(const tensor *t, double x, double most) {
  if (!isfinite(x)) return 0;
  return x + 2.02 * most + last_place(t->type, fabs(x) + 2.02 * most); /* the result may be `most` away itself */
}

static bool compare(verdict *v, const grid_case *c, size_t index, const tensor *got, bool spoils) {
  const tensor *wanted = &c->outputs[index];
  op_accuracy accuracy = npuc_op_accuracy(npuc_op_find("", c->op));
  if (got->type != wanted->type)
    return failed(v, "wrong output %zu is %s, %s wanted", index, npuc_dtype_name(got->type), npuc_dtype_name(wanted->type));
  if (!npuc_shape_equal(&got->shape, &wanted->shape)) {
    char text[2][160];
    return failed(v, "wrong output %zu has shape %s, %s wanted", index, npuc_recorded_shape(&got->shape, text[0], sizeof text[0]),
                  npuc_recorded_shape(&wanted->shape, text[1], sizeof text[1]));
  }
  dtype_kind kind = npuc_dtype_kind(wanted->type);
  for (int64_t i = 0; i < npuc_tensor_elements(got); i++) {
    if (kind != KIND_FLOAT && kind != KIND_COMPLEX) {
      int64_t right = npuc_tensor_get_int(wanted, i) ^ (spoils ? 1 : 0);
      if (npuc_tensor_get_int(got, i) == right) continue;
      return failed(v, "wrong output %zu, element %lld is %lld, %lld wanted", index, (long long)i, (long long)npuc_tensor_get_int(got, i),
                    (long long)right);
    }
    double most = allowed(c, &accuracy, wanted, i), right = npuc_tensor_get(wanted, i);
    if (spoils) right = spoilt(wanted, right, most);
    if (!same_number(npuc_tensor_get(got, i), right, most, keeps_zeros(npuc_op_find("", c->op))))
      return failed(v, "wrong output %zu, element %lld is %.17g, %.17g wanted (%.3g ulp of it, %g allowed)", index, (long long)i,
                    npuc_tensor_get(got, i), right, fabs(npuc_tensor_get(got, i) - right) / last_place(wanted->type, right),
                    most / last_place(wanted->type, right));
  }
  return true;
}

/* -- running -- */

static npuc_status run(diag *d, const char *path, const grid_case *c, module **out_module, tensor *outputs) {
  executor *e; /* lives as long as the process: outputs borrow its memory */
  NPUC_TRY(npuc_onnx_read(d, path, out_module));
  const graph *g = (*out_module)->graphs[0];
  NPUC_TRY(npuc_executor_create(d, g, NULL, &e));
  if (g->n_inputs != c->n_inputs || g->n_outputs > MOST_PORTS) return NPUC_OK; /* the caller sees it */
  return npuc_executor_run(e, d, c->inputs, outputs);
}

static bool check(verdict *v, const grid_case *c, const char *path, bool spoils) {
  diag *d = npuc_diag_create(NULL, NULL);
  module *m, *again;
  tensor first[MOST_PORTS], second[MOST_PORTS];
  npuc_status status = run(d, path, c, &m, first);
  if (c->n_outputs == 0) {
    bool refused = (status == NPUC_UNSUPPORTED || status == NPUC_BAD_INPUT) && npuc_diag_first_error(d);
    if (refused != spoils) return true;
    return status ? failed_by(v, status, d) : failed(v, "accepted, and it is invalid");
  }
  if (status != NPUC_OK) return failed_by(v, status, d);
  const graph *g = m->graphs[0];
  if (g->n_inputs != c->n_inputs || g->n_outputs != c->n_outputs)
    return failed(v, "wrong %zu inputs, %zu outputs", g->n_inputs, g->n_outputs);
  for (size_t i = 0; i < c->n_outputs; i++) {
    if (!compare(v, c, i, &first[i], spoils)) return false;
  }
  status = npuc_onnx_write(d, m, path, NULL);
  if (status != NPUC_OK || (status = run(d, path, c, &again, second)) != NPUC_OK) {
    return failed_by(v, status, d);
  }
  for (size_t i = 0; i < c->n_outputs; i++) {
    if (!npuc_tensor_equal(&first[i], &second[i])) return failed(v, "wrong the written model gives another output %zu", i);
  }
  return true;
}

static bool write_model(const char *path, pb_span model) {
  FILE *f = fopen(path, "wb");
  if (!f) return false;
  bool good = fwrite(model.bytes, 1, model.n, f) == model.n;
  return fclose(f) == 0 && good;
}

/* The verdict comes through a pipe; a child that dies on the way leaves its signal. */
static void judge(const grid_case *c, const char *path, bool spoils, verdict *v) {
  int ends[2];
  *v = (verdict){0};
  fflush(NULL);
  if (!write_model(path, c->model) || pipe(ends) != 0) exit(NPUC_ENVIRONMENT);
  pid_t child = fork();
  if (child < 0) exit(NPUC_ENVIRONMENT);
  if (child == 0) {
    alarm(SECONDS);
    (void)check(v, c, path, spoils);
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

/* Cases without elements have no value that could be spoilt. */
static bool says_something(const grid_case *c) {
  int64_t elements = c->n_outputs == 0;
  for (size_t i = 0; i < c->n_outputs; i++) elements += npuc_tensor_elements(&c->outputs[i]);
  return elements > 0;
}

typedef struct tally {
  size_t cases, passed, silent;
} tally;

static npuc_status run_cases(diag *d, mapped_file *file, const char *path, bool spoils, tally *sum) {
  blob *b = npuc_blob_from_file(file);
  pb_reader r = npuc_pb_open(npuc_file_bytes(file), npuc_file_size(file));
  pb_field f;
  while (npuc_pb_next(&r, &f)) {
    verdict v;
    onnx_source source = {.d = d, .m = npuc_module_create(), .scratch = npuc_arena_create(), .file = b};
    grid_case c = read_case(&source, npuc_pb_message(&r, &f));
    judge(&c, path, spoils, &v);
    if (v.text[0] && !spoils) printf("%zu %s: %s\n", sum->cases, c.name, v.text);
    if (!v.text[0] && spoils && says_something(&c)) printf("%zu %s: passes with a wrong value\n", sum->cases, c.name);
    sum->passed += !v.text[0];
    sum->silent += !says_something(&c);
    sum->cases++;
    npuc_arena_destroy(source.scratch);
    npuc_module_destroy(source.m);
  }
  npuc_blob_release(b);
  return npuc_pb_finish(&r, d, "grid");
}

int main(int argc, char **argv) {
  bool spoils = argc > 1 && strcmp(argv[1], "--spoil") == 0;
  if (argc != 2 + spoils) {
    fprintf(stderr, "usage: npuc-grid [--spoil] FILE\n");
    return NPUC_USAGE;
  }
  diag *d = npuc_diag_create(NULL, NULL);
  mapped_file *file;
  if (npuc_file_map(d, argv[1 + spoils], &file) != NPUC_OK) return NPUC_ENVIRONMENT;
  char in_memory[] = "/dev/shm/npuc-grid-XXXXXX", on_disk[] = "/tmp/npuc-grid-XXXXXX",
       path[64]; /* written models are synced, which takes a disk its time */
  const char *folder = mkdtemp(in_memory);
  if (!folder) folder = mkdtemp(on_disk);
  if (!folder) return NPUC_ENVIRONMENT;
  (void)snprintf(path, sizeof path, "%s/model.onnx", folder);
  tally sum = {0};
  npuc_status status = run_cases(d, file, path, spoils, &sum);
  (void)unlink(path);
  (void)rmdir(folder);
  npuc_file_release(file);
  npuc_diag_destroy(d);
  printf("%zu of %zu cases pass\n", sum.passed, sum.cases);
  if (status != NPUC_OK || sum.cases == 0) return NPUC_BAD_INPUT;
  return spoils ? sum.passed > sum.silent : sum.passed < sum.cases;
}
