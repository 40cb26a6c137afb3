/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of small integer tensors during inference: read from a fact, written to an output. */
#include <string.h>

#include "ir/ops/support.h"

element npuc_element_of_dim(dim d) {
  if (dim_is_number(d)) return element_of_number(d);
  return (element){.is_number = false, .symbol = d};
}

dim npuc_element_dim(const element *e) {
  if (!e->is_number) return e->symbol;
  return e->number >= 0 ? e->number : DIM_UNKNOWN;
}

static bool carries_elements(dtype type) { return npuc_dtype_is_integer(type) || type == DTYPE_BOOL; }

bool npuc_elements_read(const fact *f, elements *out) {
  if (!f || !carries_elements(f->type)) return false;
  if (f->constant) {
    int64_t count = npuc_tensor_elements(f->constant);
    if (f->constant->shape.rank > 1 || count > MAX_CONTENT) return false;
    out->rank = f->constant->shape.rank;
    out->count = (int32_t)count;
    for (int32_t i = 0; i < out->count; i++) out->at[i] = element_of_number(npuc_tensor_get_int(f->constant, i));
    return true;
  }
  if (!f->content || f->n_content > MAX_CONTENT) return false;
  out->rank = f->shape.rank == 0 ? 0 : 1;
  out->count = f->n_content;
  for (int32_t i = 0; i < out->count; i++) out->at[i] = npuc_element_of_dim(f->content[i]);
  return true;
}

bool npuc_elements_numbers(const fact *f, elements *out) {
  if (!npuc_elements_read(f, out)) return false;
  for (int32_t i = 0; i < out->count; i++) {
    if (!out->at[i].is_number) return false;
  }
  return true;
}

/* A constant in scratch memory: later nodes evaluate with it. */
static const tensor *constant_of(infer_context *c, dtype type, const elements *e) {
  size_t bytes;
  if (!npuc_dtype_bytes(type, e->count, &bytes)) return NULL;
  tensor *t = NPUC_NEW(c->scratch, tensor);
  t->type = type;
  t->shape.rank = e->rank;
  if (e->rank == 1) t->shape.dims[0] = e->count;
  t->bytes = bytes;
  t->data = bytes ? npuc_arena_alloc(c->scratch, bytes) : NULL;
  for (int32_t i = 0; i < e->count; i++) npuc_tensor_set_int(t, i, e->at[i].number);
  return t;
}

void npuc_elements_write(infer_context *c, int32_t output, const elements *e) {
  fact *y = &c->outputs[output];
  if (!carries_elements(y->type) || e->count > MAX_CONTENT) return;
  dim *content = NPUC_NEW_ARRAY(c->scratch, (size_t)e->count, dim);
  bool numbers = true;
  for (int32_t i = 0; i < e->count; i++) {
    content[i] = npuc_element_dim(&e->at[i]);
    numbers = numbers && e->at[i].is_number;
  }
  y->content = content;
  y->n_content = e->count;
  if (numbers) y->constant = constant_of(c, y->type, e);
}

void npuc_elements_forward(infer_context *c) {
  elements e;
  int32_t rank = c->outputs[0].shape.rank;
  if (rank < 0 || rank > 1 || !npuc_elements_read(npuc_fact_input(c, 0), &e)) return;
  if (rank == 0 && e.count != 1) return;
  e.rank = rank;
  npuc_elements_write(c, 0, &e);
}
