/* SPDX-License-Identifier: Apache-2.0 */
/* A session: all memory of a run, taken once. The steps of one hardware configuration are executed in order; where no device is plugged in, an NPU step runs its nodes by plain kernels. */
#include "runtime/session.h"

#include <string.h>

struct npuc_session {
  arena *arena;
  const npuc_program *program;
  diag *diag;              /* for npuc_session_run; made anew after a failure */
  const npu_program *plan; /* of the configuration */
  void *block;             /* activations */
  size_t block_bytes;
  void *scratch;
  int32_t *packed_block;
  const int32_t **packed; /* by node */
  kernel_set kernels;
  void **tensors; /* by tensor: where its bytes are now */
  stream_executor *run_stream;
  void *stream_user;
  tensor_observer *observe;
  void *observe_user;
};

void npuc_session_set_stream_executor(npuc_session *s, stream_executor *run, void *user) { s->run_stream = run, s->stream_user = user; }
void npuc_session_set_observer(npuc_session *s, tensor_observer *observe, void *user) { s->observe = observe, s->observe_user = user; }
size_t npuc_session_memory(const npuc_session *session) { return session->block_bytes; }

/* -- creating -- */

static npuc_status take_activations(diag *d, npuc_session *s) {
  const qgraph *g = s->program->graph;
  size_t *offsets;
  npuc_plan_activations(s->arena, g, true, &offsets, &s->block_bytes);
  s->block = npuc_buffer_create(s->block_bytes);
  s->tensors = (void **)npuc_arena_array(s->arena, g->n_tensors + 1, sizeof(void *));
  if (!s->block) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "%zu bytes for activations", s->block_bytes);
  for (size_t t = 0; t < g->n_tensors; t++) {
    /* Constants are read-only in the map; kernels take them as const. */
    s->tensors[t] = g->tensors[t].role == QROLE_CONSTANT ? (void *)(uintptr_t)g->tensors[t].data : (char *)s->block + offsets[t];
  }
  return NPUC_OK;
}

static npuc_status take_weights(diag *d, npuc_session *s) {
  const qgraph *g = s->program->graph;
  size_t elements = 0, scratch = 64;
  for (size_t i = 0; i < g->n_nodes; i++) {
    size_t need = npuc_node_scratch(&s->kernels, g, &g->nodes[i]);
    if (need == SIZE_MAX)
      return npuc_fail(d, NPUC_DIAG_E1005, &(diag_place){.node = g->nodes[i].name}, "the node is too large for the kernels");
    elements += npuc_node_packed_elements(&s->kernels, g, &g->nodes[i]);
    if (need > scratch) scratch = need;
  }
  s->scratch = npuc_buffer_create(scratch);
  s->packed_block = npuc_buffer_create(elements * sizeof(int32_t) + 64);
  s->packed = (const int32_t **)npuc_arena_array(s->arena, g->n_nodes + 1, sizeof(int32_t *));
  if (!s->scratch || !s->packed_block) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "%zu bytes for weights", elements * sizeof(int32_t));
  elements = 0;
  for (size_t i = 0; i < g->n_nodes; i++) {
    size_t n = npuc_node_packed_elements(&s->kernels, g, &g->nodes[i]);
    if (n == 0) continue;
    npuc_node_pack(&s->kernels, g, &g->nodes[i], s->packed_block + elements);
    s->packed[i] = s->packed_block + elements;
    elements += n;
  }
  return NPUC_OK;
}

static npuc_session *new_session(const npuc_program *program) {
  diag *d = npuc_diag_create(NULL, NULL);
  if (!d) return NULL;
  arena *a = npuc_arena_create();
  npuc_session *s = NPUC_NEW(a, npuc_session);
  s->arena = a, s->program = program, s->diag = d;
  return s;
}

static npuc_status fill_session(diag *d, npuc_session *s, const npuc_session_options *options) {
  const npuc_program *program = s->program;
  size_t configuration = options ? options->configuration : 0;
  if (configuration >= program->n_configurations)
    return npuc_fail(d, NPUC_DIAG_E1005, NULL, "the file has %zu configurations, number %zu was asked for", program->n_configurations,
                     configuration);
  s->plan = program->programs[configuration];
  NPUC_TRY(npuc_kernels_select(d, &s->kernels));
  NPUC_TRY(take_activations(d, s));
  return take_weights(d, s);
}

static npuc_status finish_session(npuc_session *s, npuc_status status, npuc_session **out_session) {
  *out_session = status == NPUC_OK ? s : NULL;
  if (status != NPUC_OK) npuc_session_destroy(s);
  return status;
}

npuc_status npuc_session_create_diag(diag *d, const npuc_program *program, const npuc_session_options *options,
                                     npuc_session **out_session) {
  npuc_session *s = new_session(program);
  *out_session = NULL;
  if (!s) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "no memory for a session");
  return finish_session(s, fill_session(d, s, options), out_session);
}

npuc_status npuc_session_create(const npuc_program *program, const npuc_session_options *options, npuc_session **out_session,
                                npuc_error *out_error) {
  npuc_session *s = new_session(program);
  *out_session = NULL;
  if (!s) return npuc_error_from(NULL, NPUC_ENVIRONMENT, out_error);
  return finish_session(s, npuc_error_from(s->diag, fill_session(s->diag, s, options), out_error), out_session);
}

void npuc_session_destroy(npuc_session *session) {
  if (!session) return;
  npuc_buffer_destroy(session->block);
  npuc_buffer_destroy(session->scratch);
  npuc_buffer_destroy(session->packed_block);
  npuc_diag_destroy(session->diag);
  npuc_arena_destroy(session->arena);
}

/* -- running -- */

static npuc_status run_nodes(npuc_session *s, diag *d, const npu_step *step) {
  const qgraph *g = s->program->graph;
  for (size_t i = step->first_node; i < (size_t)step->first_node + step->n_nodes; i++) {
    const qnode *n = &g->nodes[i];
    NPUC_TRY(npuc_node_run(d, &s->kernels, g, n, s->tensors, s->packed[i], s->scratch));
    for (int32_t k = 0; s->observe && k < n->n_outputs; k++) s->observe(s->observe_user, n->outputs[k], s->tensors[n->outputs[k]]);
  }
  return NPUC_OK;
}

static npuc_status run_stream(npuc_session *s, diag *d, const npu_step *step) {
  NPUC_TRY(s->run_stream(s->stream_user, d, s->plan, step->stream, s->tensors));
  const npu_stream *stream = &s->plan->streams[step->stream];
  for (size_t i = 0; s->observe && i < stream->n_bindings; i++)
    if (stream->bindings[i].is_output) s->observe(s->observe_user, stream->bindings[i].tensor, s->tensors[stream->bindings[i].tensor]);
  return NPUC_OK;
}

npuc_status npuc_session_run_diag(npuc_session *s, diag *d, const void *const *inputs, void *const *outputs) {
  const npuc_program *p = s->program;
  for (size_t i = 0; i < p->graph->n_inputs; i++) {
    memcpy(s->tensors[p->graph->inputs[i]], inputs[i], p->inputs[i].bytes);
    if (s->observe) s->observe(s->observe_user, p->graph->inputs[i], inputs[i]);
  }
  for (size_t i = 0; i < s->plan->n_steps; i++) {
    const npu_step *step = &s->plan->steps[i];
    NPUC_TRY(step->on_npu && s->run_stream ? run_stream(s, d, step) : run_nodes(s, d, step));
  }
  for (size_t i = 0; i < p->graph->n_outputs; i++) memcpy(outputs[i], s->tensors[p->graph->outputs[i]], p->outputs[i].bytes);
  return NPUC_OK;
}

npuc_status npuc_session_run(npuc_session *session, const void *const *inputs, void *const *outputs, npuc_error *out_error) {
  npuc_status status = npuc_error_from(session->diag, npuc_session_run_diag(session, session->diag, inputs, outputs), out_error);
  if (status == NPUC_OK) return status;
  npuc_diag_destroy(session->diag); /* the next failure's record must be the first */
  session->diag = npuc_diag_create(NULL, NULL);
  return status;
}
