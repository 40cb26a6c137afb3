/* SPDX-License-Identifier: Apache-2.0 */
/* OpenVINO's CPU device through its C interface (libopenvino_c): functions by name. Its element type's numbers changed between releases, so sizes tell
 * the types of outputs here. */
#include <stdlib.h>
#include <string.h>

#include "stages/peer.h"

typedef struct ov_dims {
  int64_t rank;
  int64_t *dims;
} ov_dims; /* ov_shape_t */

typedef struct ov_range {
  int64_t min, max;
} ov_range; /* ov_dimension_t */

typedef struct ov_partial {
  ov_range rank;
  ov_range *dims;
} ov_partial; /* ov_partial_shape_t */

typedef struct ov_version {
  const char *build, *description;
} ov_version; /* ov_version_t */

/* FUNCTION(name, result, parameters): ov_NAME of the library. Results of int are statuses, 0 good. */
#define FUNCTIONS                                                                                     \
  FUNCTION(get_openvino_version, int, (ov_version *))                                                 \
  FUNCTION(version_free, void, (ov_version *))                                                        \
  FUNCTION(get_last_err_msg, const char *, (void))                                                    \
  FUNCTION(free, void, (const char *))                                                                \
  FUNCTION(core_create, int, (void **))                                                               \
  FUNCTION(core_free, void, (void *))                                                                 \
  FUNCTION(core_read_model, int, (const void *, const char *, const char *, void **))                 \
  FUNCTION(core_compile_model, int, (const void *, const void *, const char *, size_t, void **, ...)) \
  FUNCTION(model_free, void, (void *))                                                                \
  FUNCTION(model_inputs_size, int, (const void *, size_t *))                                          \
  FUNCTION(model_outputs_size, int, (const void *, size_t *))                                         \
  FUNCTION(model_const_input_by_index, int, (const void *, size_t, void **))                          \
  FUNCTION(model_reshape, int, (const void *, const char **, const ov_partial *, size_t))             \
  FUNCTION(output_const_port_free, void, (void *))                                                    \
  FUNCTION(port_get_any_name, int, (const void *, char **))                                           \
  FUNCTION(compiled_model_create_infer_request, int, (const void *, void **))                         \
  FUNCTION(compiled_model_free, void, (void *))                                                       \
  FUNCTION(infer_request_get_input_tensor_by_index, int, (const void *, size_t, void **))             \
  FUNCTION(infer_request_get_output_tensor_by_index, int, (const void *, size_t, void **))            \
  FUNCTION(infer_request_infer, int, (void *))                                                        \
  FUNCTION(infer_request_free, void, (void *))                                                        \
  FUNCTION(tensor_data, int, (const void *, void **))                                                 \
  FUNCTION(tensor_get_byte_size, int, (const void *, size_t *))                                       \
  FUNCTION(tensor_get_shape, int, (const void *, ov_dims *))                                          \
  FUNCTION(tensor_free, void, (void *))                                                               \
  FUNCTION(shape_free, int, (ov_dims *))

typedef struct ov_calls {
#define FUNCTION(name, result, parameters) result(*name) parameters;
  FUNCTIONS
#undef FUNCTION
} ov_calls;

typedef struct ov {
  ov_calls call;
  void *core, *model, *compiled, *request;
  void **outputs; /* ov_tensor_t of the last run */
  size_t n_outputs;
} ov;

static npuc_status load_calls(diag *d, void *library, ov_calls *c) {
#define FUNCTION(name, result, parameters) NPUC_TRY(npuc_peer_symbol(d, library, "ov_" #name, &c->name));
  FUNCTIONS
#undef FUNCTION
  return NPUC_OK;
}

static npuc_status check(const ov *o, diag *d, const char *doing, int status) {
  return status == 0 ? NPUC_OK : npuc_peer_fail(d, "OpenVINO", doing, o->call.get_last_err_msg());
}

/* -- the model, with the inputs' dims -- */

static npuc_status input_name(const ov *o, diag *d, arena *a, size_t index, const char **out_name) {
  void *port = NULL;
  char *name = NULL;
  NPUC_TRY(check(o, d, "inputs", o->call.model_const_input_by_index(o->model, index, &port)));
  npuc_status status = check(o, d, "inputs", o->call.port_get_any_name(port, &name));
  if (status == NPUC_OK) *out_name = npuc_arena_str(a, name);
  if (name) o->call.free(name);
  o->call.output_const_port_free(port);
  return status;
}

static npuc_status set_dims(const ov *o, diag *d, arena *a, const peer_request *r, size_t *positions) {
  const char **names = (const char **)npuc_arena_array(a, r->n_inputs + 1, sizeof(char *));
  ov_partial *shapes = NPUC_NEW_ARRAY(a, r->n_inputs + 1, ov_partial);
  for (size_t i = 0; i < r->n_inputs; i++) {
    NPUC_TRY(input_name(o, d, a, i, &names[i]));
    positions[i] = npuc_peer_input(r, i, names[i]);
    const shape *s = &r->inputs[positions[i]].shape;
    ov_range *dims = NPUC_NEW_ARRAY(a, (size_t)s->rank + 1, ov_range);
    for (int32_t k = 0; k < s->rank; k++) dims[k] = (ov_range){s->dims[k], s->dims[k]};
    shapes[i] = (ov_partial){.rank = {s->rank, s->rank}, .dims = dims};
  }
  return check(o, d, "dims", o->call.model_reshape(o->model, names, shapes, r->n_inputs));
}

static npuc_status fill_inputs(const ov *o, diag *d, const peer_request *r, const size_t *positions) {
  for (size_t i = 0; i < r->n_inputs; i++) {
    void *t = NULL, *data = NULL;
    size_t bytes = 0;
    const tensor *from = &r->inputs[positions[i]];
    NPUC_TRY(check(o, d, "inputs", o->call.infer_request_get_input_tensor_by_index(o->request, i, &t)));
    npuc_status status = check(o, d, "inputs", o->call.tensor_get_byte_size(t, &bytes));
    if (status == NPUC_OK) status = check(o, d, "inputs", o->call.tensor_data(t, &data));
    if (status == NPUC_OK && bytes != from->bytes)
      status = npuc_peer_fail(d, "OpenVINO", "inputs", "its model has an input of another size");
    if (status == NPUC_OK && bytes) memcpy(data, from->data, bytes);
    o->call.tensor_free(t);
    NPUC_TRY(status);
  }
  return NPUC_OK;
}

static npuc_status make_request(ov *o, diag *d, arena *a, const peer_request *r) {
  size_t n_inputs = 0;
  size_t *positions = NPUC_NEW_ARRAY(a, r->n_inputs + 1, size_t);
  const char *threads = npuc_arena_printf(a, "%zu", r->threads);
  NPUC_TRY(check(o, d, "start", o->call.core_create(&o->core)));
  NPUC_TRY(check(o, d, r->model, o->call.core_read_model(o->core, r->model, NULL, &o->model)));
  NPUC_TRY(check(o, d, "inputs", o->call.model_inputs_size(o->model, &n_inputs)));
  NPUC_TRY(check(o, d, "outputs", o->call.model_outputs_size(o->model, &o->n_outputs)));
  if (n_inputs != r->n_inputs) return npuc_peer_fail(d, "OpenVINO", r->model, "its model has another number of inputs");
  if (o->n_outputs < r->n_outputs) return npuc_peer_fail(d, "OpenVINO", r->model, "its model has fewer outputs");
  o->outputs = (void **)npuc_arena_array(a, o->n_outputs + 1, sizeof(void *));
  NPUC_TRY(set_dims(o, d, a, r, positions));
  NPUC_TRY(check(o, d, "compile",
                 o->call.core_compile_model(o->core, o->model, "CPU", (size_t)8, &o->compiled, "INFERENCE_NUM_THREADS", threads,
                                            "INFERENCE_PRECISION_HINT", "f32", "PERFORMANCE_HINT", "LATENCY", "NUM_STREAMS", "1")));
  NPUC_TRY(check(o, d, "request", o->call.compiled_model_create_infer_request(o->compiled, &o->request)));
  return fill_inputs(o, d, r, positions);
}

static void drop_outputs(ov *o) {
  for (size_t i = 0; o->outputs && i < o->n_outputs; i++) {
    if (o->outputs[i]) o->call.tensor_free(o->outputs[i]);
    o->outputs[i] = NULL;
  }
}

static void close_ov(void *state) {
  ov *o = state;
  if (!o) return;
  drop_outputs(o);
  if (o->request) o->call.infer_request_free(o->request);
  if (o->compiled) o->call.compiled_model_free(o->compiled);
  if (o->model) o->call.model_free(o->model);
  if (o->core) o->call.core_free(o->core);
}

static npuc_status open_ov(diag *d, arena *a, const peer_request *r, void **out_state, const char **out_version) {
  void *library;
  ov *o = NPUC_NEW(a, ov);
  NPUC_TRY(npuc_peer_load(d, r->library, &library));
  NPUC_TRY(load_calls(d, library, &o->call));
  ov_version version = {0};
  *out_version = "unknown";
  if (o->call.get_openvino_version(&version) == 0) {
    if (version.build) *out_version = npuc_arena_strn(a, version.build, strcspn(version.build, "-")); /* the rest names a branch */
    o->call.version_free(&version);
  }
  npuc_status status = make_request(o, d, a, r);
  if (status == NPUC_OK)
    *out_state = o;
  else
    close_ov(o);
  return status;
}

static npuc_status run_ov(void *state, diag *d) {
  ov *o = state;
  return check(o, d, "run", o->call.infer_request_infer(o->request));
}

static npuc_status describe(const ov *o, diag *d, const void *t, tensor *view) {
  ov_dims dims = {0};
  NPUC_TRY(check(o, d, "outputs", o->call.tensor_data(t, &view->data)));
  NPUC_TRY(check(o, d, "outputs", o->call.tensor_get_byte_size(t, &view->bytes)));
  NPUC_TRY(check(o, d, "outputs", o->call.tensor_get_shape(t, &dims)));
  bool fits = dims.rank >= 0 && dims.rank <= MAX_RANK;
  view->shape.rank = fits ? (int32_t)dims.rank : 0;
  for (int32_t i = 0; i < view->shape.rank; i++) view->shape.dims[i] = dims.dims[i];
  o->call.shape_free(&dims);
  size_t wanted = 0;
  int64_t n = npuc_tensor_elements(view);
  if (npuc_dtype_bytes(view->type, n, &wanted) && wanted == view->bytes && fits) return NPUC_OK;
  view->type = DTYPE_F32; /* integers there are floats here: a QDQ model */
  return fits && npuc_dtype_bytes(view->type, n, &wanted) && wanted == view->bytes
             ? NPUC_OK
             : npuc_peer_fail(d, "OpenVINO", "outputs", "an output whose size fits no type that is expected");
}

static npuc_status output_ov(void *state, diag *d, size_t index, tensor *out_view) {
  ov *o = state;
  if (!o->outputs[index])
    NPUC_TRY(check(o, d, "outputs", o->call.infer_request_get_output_tensor_by_index(o->request, index, &o->outputs[index])));
  *out_view = (tensor){.type = out_view->type};
  return describe(o, d, o->outputs[index], out_view);
}

const peer_calls npuc_peer_openvino = {.open = open_ov, .run = run_ov, .output = output_ov, .close = close_ov};
