/* SPDX-License-Identifier: Apache-2.0 */
/* The way into evaluation for callers without an executor, and the helpers that the evaluation files share. */
#include "ir/eval/eval.h"

#include <stdlib.h>
#include <string.h>

#include "base/limit.h"
#include "ir/ops/support.h"

const kernel_set *npuc_eval_kernels(const eval_context *c) { return c->kernels ? c->kernels : npuc_kernels_scalar(); }

diag_place npuc_eval_place(const eval_context *c) { return (diag_place){.node = c->node->name, .op = c->node->op->type}; }

npuc_status npuc_eval_scratch(const eval_context *c, size_t bytes, void **out_memory) {
  *out_memory = c->scratch(c->user, bytes);
  if (*out_memory) return NPUC_OK;
  diag_place place = npuc_eval_place(c);
  return npuc_fail_memory(c->d, &place, bytes, "scratch memory");
}

npuc_status npuc_eval_unsupported(const eval_context *c, dtype type) {
  diag_place place = npuc_eval_place(c);
  npuc_status status = npuc_fail(c->d, NPUC_DIAG_E0602, &place, "no evaluation for %s", npuc_dtype_name(type));
  npuc_fix(c->d, "cast the node's inputs to float32");
  return status;
}

npuc_status npuc_eval_allocate(const eval_context *c, tensor *const *outputs, int32_t i, const shape *s) {
  if (i >= c->node->n_outputs || !outputs[i]) return NPUC_OK;
  if (c->allocate) return c->allocate(c->allocate_user, i, s, outputs[i]);
  if (npuc_shape_equal(s, &outputs[i]->shape)) return NPUC_OK;
  diag_place place = npuc_eval_place(c);
  char found[SHAPE_TEXT], declared[SHAPE_TEXT];
  return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "output %d has shape %s by the data, and is declared %s", (int)i,
                   npuc_shape_text(NULL, s, found), npuc_shape_text(NULL, &outputs[i]->shape, declared));
}

npuc_status npuc_eval_run_body(const eval_context *c, int32_t body, const tensor *inputs, tensor *results) {
  if (c->run_body) return c->run_body(c, body, inputs, results);
  diag_place place = npuc_eval_place(c);
  return npuc_fail(c->d, NPUC_DIAG_E0602, &place, "bodies run in the executor only");
}

npuc_status npuc_eval_keep(const eval_context *c, size_t bytes, void **out_memory) {
  diag_place place = npuc_eval_place(c);
  if (!c->keep) return npuc_fail(c->d, NPUC_DIAG_E0602, &place, "strings and sequences are made in the executor only");
  *out_memory = c->keep(c->keep_user, bytes);
  return *out_memory ? NPUC_OK : npuc_fail_memory(c->d, &place, bytes, "strings and sequences");
}

npuc_status npuc_eval_keep_tensor(const eval_context *c, dtype type, const shape *s, tensor **out_tensor) {
  enum { HEAD = (sizeof(tensor) + 63) / 64 * 64 };
  diag_place place = npuc_eval_place(c);
  int64_t n;
  size_t bytes;
  void *memory;
  if (!npuc_shape_elements(s, &n) || !npuc_dtype_memory(type, n, &bytes) || bytes > SIZE_MAX - HEAD)
    return npuc_fail_memory(c->d, &place, SIZE_MAX, "an element of a sequence");
  NPUC_TRY(npuc_eval_keep(c, HEAD + bytes, &memory));
  *out_tensor = memory;
  **out_tensor = (tensor){.type = type, .shape = *s, .data = bytes ? (char *)memory + HEAD : NULL, .bytes = bytes};
  return NPUC_OK;
}

void npuc_eval_copy(const tensor *from, tensor *to) {
  if (from->data != to->data && to->bytes) memcpy(to->data, from->data, to->bytes);
}

axis_split npuc_eval_split_at(const shape *s, int32_t axis) {
  axis_split split = {1, s->dims[axis], 1};
  for (int32_t i = 0; i < axis; i++) split.outer *= s->dims[i];
  for (int32_t i = axis + 1; i < s->rank; i++) split.inner *= s->dims[i];
  return split;
}

/* Scratch of one call: grows by replacing, as the contract has one piece per call at a time. */
static void *call_scratch(void *user, size_t bytes) {
  void **memory = user;
  npuc_buffer_destroy(*memory);
  *memory = npuc_buffer_create(bytes ? bytes : 1);
  return *memory;
}

static bool is_aligned(const tensor *t) {
  size_t bytes = npuc_dtype_width(t->type);
  return !t->data || bytes < 2 || (uintptr_t)t->data % bytes == 0;
}

npuc_status npuc_eval_node(const eval_context *given, const tensor *const *inputs, tensor *const *outputs) {
  eval_context c = *given;
  void *memory = NULL;
  if (!c.scratch) {
    c.scratch = call_scratch;
    c.user = &memory;
  }
  int32_t n = c.node->n_inputs;
  tensor *copies = npuc_xcalloc((size_t)n + 1, sizeof *copies);
  const tensor **aligned = npuc_xcalloc((size_t)n + 1, sizeof *aligned);
  npuc_status status = NPUC_OK;
  for (int32_t i = 0; i < n && status == NPUC_OK; i++) {
    aligned[i] = inputs[i];
    if (!inputs[i] || is_aligned(inputs[i])) continue;
    status = npuc_tensor_create(c.d, inputs[i]->type, &inputs[i]->shape, &copies[i]);
    if (status == NPUC_OK) {
      memcpy(copies[i].data, inputs[i]->data, inputs[i]->bytes);
      aligned[i] = &copies[i];
    }
  }
  if (status == NPUC_OK) status = c.node->op->eval ? c.node->op->eval(&c, aligned, outputs) : npuc_eval_unsupported(&c, DTYPE_NONE);
  for (int32_t i = 0; i < n; i++) npuc_tensor_release(&copies[i]);
  free(copies);
  free(aligned);
  npuc_buffer_destroy(memory);
  return status;
}

int32_t npuc_eval_bytes_axis(int32_t axis, int32_t rank, bool last) {
  if (!last || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

shape npuc_eval_bytes_shape(const shape *s, bool last) {
  shape t = *s;
  for (int32_t i = 0; i < s->rank; i++) t.dims[npuc_eval_bytes_axis(i, s->rank, last)] = s->dims[i];
  return t;
}
