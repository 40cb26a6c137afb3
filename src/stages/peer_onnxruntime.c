/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime through its C interface: a table of functions that only grows at its end, asked for by version (docs: "C API", OrtApiBase::GetApi). The
 * numbers below are places in that table; all of them are in version 7 and later, and a library refuses a version that it does not have. */
#include <stdlib.h>
#include <string.h>

#include "stages/peer.h"

typedef struct ort_status ort_status; /* NULL: good */
typedef struct ort_base {
  const void *const *(*get_api)(uint32_t version);
  const char *(*version)(void);
} ort_base;

enum {
  ORT_VERSION = 17,
  ORT_GET_ERROR_MESSAGE = 2,
  ORT_CREATE_ENV = 3,
  ORT_CREATE_SESSION = 7,
  ORT_RUN = 9,
  ORT_CREATE_SESSION_OPTIONS = 10,
  ORT_SET_OPTIMIZATION_LEVEL = 23,
  ORT_SET_INTRA_OP_THREADS = 24,
  ORT_SET_INTER_OP_THREADS = 25,
  ORT_INPUT_COUNT = 30,
  ORT_OUTPUT_COUNT = 31,
  ORT_INPUT_NAME = 36,
  ORT_OUTPUT_NAME = 37,
  ORT_CREATE_TENSOR_WITH_DATA = 49,
  ORT_TENSOR_DATA = 51,
  ORT_ELEMENT_TYPE = 60,
  ORT_DIMENSIONS_COUNT = 61,
  ORT_DIMENSIONS = 62,
  ORT_TYPE_AND_SHAPE = 65,
  ORT_CREATE_CPU_MEMORY_INFO = 69,
  ORT_DEFAULT_ALLOCATOR = 78,
  ORT_RELEASE_ENV = 92,
  ORT_RELEASE_STATUS = 93,
  ORT_RELEASE_MEMORY_INFO = 94,
  ORT_RELEASE_SESSION = 95,
  ORT_RELEASE_VALUE = 96,
  ORT_RELEASE_TYPE_AND_SHAPE = 99,
  ORT_RELEASE_SESSION_OPTIONS = 100,
  ORT_ADD_FREE_DIMENSION = 124,
  ORT_ADD_CONFIG_ENTRY = 130
};

enum { LOG_ERRORS = 3, ENABLE_ALL = 99, DEVICE_ALLOCATOR = 0, DEFAULT_MEMORY = 0 };

typedef struct ort {
  const void *const *api;
  void *env, *options, *session, *memory, *allocator;
  size_t n_inputs, n_outputs;
  const char **input_names, **output_names; /* the allocator's; live as long as the process */
  void **inputs, **outputs;                 /* OrtValue */
  shape *shapes;                            /* of outputs, by the last npuc_peer output call */
} ort;

/* The table's entry as a function pointer: same bits. */
#define CALL(o, index, type, function) \
  type function;                       \
  memcpy(&(function), &(o)->api[index], sizeof(function))

static npuc_status check(const ort *o, diag *d, const char *doing, ort_status *status) {
  if (!status) return NPUC_OK;
  typedef const char *message_function(const ort_status *);
  typedef void release_function(ort_status *);
  CALL(o, ORT_GET_ERROR_MESSAGE, message_function *, message);
  CALL(o, ORT_RELEASE_STATUS, release_function *, release);
  npuc_status result = npuc_peer_fail(d, "ONNX Runtime", doing, message(status));
  release(status);
  return result;
}

static void release(const ort *o, size_t index, void *object) {
  typedef void release_function(void *);
  CALL(o, index, release_function *, call);
  if (object) call(object);
}

static npuc_status make_options(ort *o, diag *d, const peer_request *r) {
  typedef ort_status *create_function(void **);
  typedef ort_status *set_function(void *, int);
  typedef ort_status *dim_function(void *, const char *, int64_t);
  typedef ort_status *entry_function(void *, const char *, const char *);
  CALL(o, ORT_CREATE_SESSION_OPTIONS, create_function *, create);
  CALL(o, ORT_SET_OPTIMIZATION_LEVEL, set_function *, set_level);
  CALL(o, ORT_SET_INTRA_OP_THREADS, set_function *, set_intra);
  CALL(o, ORT_SET_INTER_OP_THREADS, set_function *, set_inter);
  CALL(o, ORT_ADD_FREE_DIMENSION, dim_function *, add_dim);
  CALL(o, ORT_ADD_CONFIG_ENTRY, entry_function *, add_entry);
  NPUC_TRY(check(o, d, "options", create(&o->options)));
  NPUC_TRY(check(o, d, "optimization level", set_level(o->options, ENABLE_ALL)));
  NPUC_TRY(check(o, d, "threads", set_intra(o->options, (int)r->threads)));
  NPUC_TRY(check(o, d, "threads", set_inter(o->options, 1)));
  /* Its threads may spin while it runs, and stop when it is another's turn. */
  NPUC_TRY(check(o, d, "threads", add_entry(o->options, "session.force_spinning_stop", "1")));
  for (size_t i = 0; i < r->n_dims; i++) NPUC_TRY(check(o, d, "dims", add_dim(o->options, r->dims[i].symbol, r->dims[i].value)));
  return NPUC_OK;
}

static npuc_status get_names(ort *o, diag *d, arena *a, size_t count_index, size_t name_index, size_t *out_count, const char ***out_names) {
  typedef ort_status *count_function(const void *, size_t *);
  typedef ort_status *name_function(const void *, size_t, void *, const char **);
  CALL(o, count_index, count_function *, count);
  CALL(o, name_index, name_function *, name);
  NPUC_TRY(check(o, d, "ports", count(o->session, out_count)));
  *out_names = (const char **)npuc_arena_array(a, *out_count + 1, sizeof(char *));
  for (size_t i = 0; i < *out_count; i++) NPUC_TRY(check(o, d, "names", name(o->session, i, o->allocator, &(*out_names)[i])));
  return NPUC_OK;
}

static npuc_status make_session(ort *o, diag *d, arena *a, const peer_request *r) {
  typedef ort_status *env_function(int, const char *, void **);
  typedef ort_status *session_function(const void *, const char *, const void *, void **);
  typedef ort_status *allocator_function(void **);
  typedef ort_status *memory_function(int, int, void **);
  CALL(o, ORT_CREATE_ENV, env_function *, create_env);
  CALL(o, ORT_CREATE_SESSION, session_function *, create_session);
  CALL(o, ORT_DEFAULT_ALLOCATOR, allocator_function *, get_allocator);
  CALL(o, ORT_CREATE_CPU_MEMORY_INFO, memory_function *, create_memory);
  NPUC_TRY(check(o, d, "start", create_env(LOG_ERRORS, "npuc", &o->env)));
  NPUC_TRY(make_options(o, d, r));
  NPUC_TRY(check(o, d, r->model, create_session(o->env, r->model, o->options, &o->session)));
  NPUC_TRY(check(o, d, "memory", get_allocator(&o->allocator)));
  NPUC_TRY(check(o, d, "memory", create_memory(DEVICE_ALLOCATOR, DEFAULT_MEMORY, &o->memory)));
  NPUC_TRY(get_names(o, d, a, ORT_INPUT_COUNT, ORT_INPUT_NAME, &o->n_inputs, &o->input_names));
  return get_names(o, d, a, ORT_OUTPUT_COUNT, ORT_OUTPUT_NAME, &o->n_outputs, &o->output_names);
}

static npuc_status make_inputs(ort *o, diag *d, arena *a, const peer_request *r) {
  typedef ort_status *tensor_function(const void *, void *, size_t, const int64_t *, size_t, int, void **);
  CALL(o, ORT_CREATE_TENSOR_WITH_DATA, tensor_function *, create);
  if (o->n_inputs != r->n_inputs) return npuc_peer_fail(d, "ONNX Runtime", r->model, "its model has another number of inputs");
  if (o->n_outputs < r->n_outputs) return npuc_peer_fail(d, "ONNX Runtime", r->model, "its model has fewer outputs");
  o->inputs = (void **)npuc_arena_array(a, o->n_inputs + 1, sizeof(void *));
  o->outputs = (void **)npuc_arena_array(a, o->n_outputs + 1, sizeof(void *));
  o->shapes = NPUC_NEW_ARRAY(a, o->n_outputs + 1, shape);
  for (size_t i = 0; i < o->n_inputs; i++) {
    const tensor *t = &r->inputs[npuc_peer_input(r, i, o->input_names[i])];
    NPUC_TRY(
        check(o, d, "inputs", create(o->memory, t->data, t->bytes, t->shape.dims, (size_t)t->shape.rank, (int)t->type, &o->inputs[i])));
  }
  return NPUC_OK;
}

static void close_ort(void *state) {
  ort *o = state;
  if (!o) return;
  for (size_t i = 0; o->inputs && i < o->n_inputs; i++) release(o, ORT_RELEASE_VALUE, o->inputs[i]);
  for (size_t i = 0; o->outputs && i < o->n_outputs; i++) release(o, ORT_RELEASE_VALUE, o->outputs[i]);
  release(o, ORT_RELEASE_SESSION, o->session);
  release(o, ORT_RELEASE_SESSION_OPTIONS, o->options);
  release(o, ORT_RELEASE_MEMORY_INFO, o->memory);
  release(o, ORT_RELEASE_ENV, o->env);
}

static npuc_status open_ort(diag *d, arena *a, const peer_request *r, void **out_state, const char **out_version) {
  typedef const ort_base *base_function(void);
  void *library;
  base_function *get_base;
  NPUC_TRY(npuc_peer_load(d, r->library, &library));
  NPUC_TRY(npuc_peer_symbol(d, library, "OrtGetApiBase", &get_base));
  const ort_base *base = get_base();
  ort *o = NPUC_NEW(a, ort);
  o->api = base->get_api(ORT_VERSION);
  *out_version = npuc_arena_str(a, base->version());
  if (!o->api)
    return npuc_fail(d, NPUC_DIAG_E0930, &(diag_place){.file = r->library}, "ONNX Runtime %s is too old: 1.%d or later is needed",
                     *out_version, ORT_VERSION);
  npuc_status status = make_session(o, d, a, r);
  if (status == NPUC_OK) status = make_inputs(o, d, a, r);
  if (status != NPUC_OK) {
    close_ort(o);
    return status;
  }
  *out_state = o;
  return NPUC_OK;
}

/* The first run makes the outputs; the others write them again. */
static npuc_status run_ort(void *state, diag *d) {
  ort *o = state;
  typedef ort_status *run_function(void *, const void *, const char *const *, void *const *, size_t, const char *const *, size_t, void **);
  CALL(o, ORT_RUN, run_function *, run);
  return check(o, d, "run", run(o->session, NULL, o->input_names, o->inputs, o->n_inputs, o->output_names, o->n_outputs, o->outputs));
}

static npuc_status describe(const ort *o, diag *d, const void *info, tensor *t) {
  typedef ort_status *type_function(const void *, int *);
  typedef ort_status *count_function(const void *, size_t *);
  typedef ort_status *dims_function(const void *, int64_t *, size_t);
  CALL(o, ORT_ELEMENT_TYPE, type_function *, get_type);
  CALL(o, ORT_DIMENSIONS_COUNT, count_function *, get_count);
  CALL(o, ORT_DIMENSIONS, dims_function *, get_dims);
  int type;
  size_t rank;
  NPUC_TRY(check(o, d, "outputs", get_type(info, &type)));
  NPUC_TRY(check(o, d, "outputs", get_count(info, &rank)));
  if (rank > MAX_RANK || type <= 0 || type >= DTYPE_END) return npuc_peer_fail(d, "ONNX Runtime", "outputs", "an output of unknown type");
  t->type = (dtype)type;
  t->shape.rank = (int32_t)rank;
  NPUC_TRY(check(o, d, "outputs", get_dims(info, t->shape.dims, rank)));
  if (!npuc_dtype_bytes(t->type, npuc_tensor_elements(t), &t->bytes))
    return npuc_peer_fail(d, "ONNX Runtime", "outputs", "an output without a size");
  return NPUC_OK;
}

static npuc_status output_ort(void *state, diag *d, size_t index, tensor *out_view) {
  const ort *o = state;
  typedef ort_status *info_function(const void *, void **);
  typedef ort_status *data_function(void *, void **);
  CALL(o, ORT_TYPE_AND_SHAPE, info_function *, get_info);
  CALL(o, ORT_TENSOR_DATA, data_function *, get_data);
  void *info = NULL;
  *out_view = (tensor){0};
  NPUC_TRY(check(o, d, "outputs", get_info(o->outputs[index], &info)));
  npuc_status status = describe(o, d, info, out_view);
  release(o, ORT_RELEASE_TYPE_AND_SHAPE, info);
  if (status == NPUC_OK) status = check(o, d, "outputs", get_data(o->outputs[index], &out_view->data));
  return status;
}

const peer_calls npuc_peer_onnxruntime = {.open = open_ort, .run = run_ort, .output = output_ort, .close = close_ort};
