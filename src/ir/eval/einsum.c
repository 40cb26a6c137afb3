/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum as its definition: for each output the sum, ascending over the remaining labels, of products; floats in double, integers in int64. */
#include "ir/ops/einsum.h"

#include "ir/eval/eval.h"
#include "kernels/convert.h"

typedef struct einsum {
  const tensor *const *inputs;
  tensor *y;
  const einsum_plan *p;
  int32_t n_labels; /* the result's, then those that are summed */
  int32_t order[EINSUM_LABELS];
  int64_t strides[EINSUM_TERMS][EINSUM_LABELS]; /* by place in order */
  int64_t sums;
} einsum;

static void set_strides(einsum *e, int32_t term) {
  int64_t own[MAX_RANK];
  const shape *s = &e->inputs[term]->shape;
  npuc_shape_strides(s, own);
  for (int32_t k = 0; k < e->n_labels; k++) {
    e->strides[term][k] = 0;
    for (int32_t i = 0; i < s->rank; i++) { /* a label twice in a term is its diagonal */
      if (e->p->labels[term][i] == e->order[k] && (s->dims[i] != 1 || e->p->sizes[e->order[k]] == 1)) e->strides[term][k] += own[i];
    }
  }
}

/* Adds to each operand's offset the place that `index` names in labels [first, last). */
static void add_offsets(const einsum *e, int32_t first, int32_t last, int64_t index, int64_t *offsets) {
  for (int32_t k = last - 1; k >= first; k--) {
    int64_t n = e->p->sizes[e->order[k]], at = index % n;
    index /= n;
    for (int32_t t = 0; t < e->p->n_terms; t++) offsets[t] += at * e->strides[t][k];
  }
}

static void body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const einsum *e = context;
  bool floats = npuc_dtype_kind(e->y->type) == KIND_FLOAT;
  for (int64_t o = (int64_t)begin; o < (int64_t)end; o++) {
    double real = 0.0;
    uint64_t whole = 0;
    for (int64_t s = 0; s < e->sums; s++) {
      int64_t offsets[EINSUM_TERMS] = {0};
      double factor = 1.0;
      uint64_t count = 1;
      add_offsets(e, 0, e->p->out_rank, o, offsets);
      add_offsets(e, e->p->out_rank, e->n_labels, s, offsets);
      for (int32_t t = 0; t < e->p->n_terms; t++) {
        if (floats) {
          factor *= npuc_tensor_get(e->inputs[t], offsets[t]);
        } else {
          count *= (uint64_t)npuc_tensor_get_int(e->inputs[t], offsets[t]);
        }
      }
      real += factor;
      whole += count;
    }
    int64_t v = (int64_t)whole;
    if (floats) {
      npuc_convert_from_f64(&real, 1, e->y, o);
    } else {
      npuc_convert_from_i64(&v, 1, e->y, o);
    }
  }
}

npuc_status npuc_eval_einsum(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const shape *operands[EINSUM_TERMS];
  einsum_plan p;
  einsum e = {.inputs = inputs, .y = outputs[0], .p = &p, .sums = 1};
  if (npuc_dtype_kind(e.y->type) != KIND_FLOAT && !npuc_dtype_is_integer(e.y->type)) return npuc_eval_unsupported(c, e.y->type);
  for (int32_t i = 0; i < c->node->n_inputs; i++) operands[i] = &inputs[i]->shape; /* inference took no more than EINSUM_TERMS */
  const char *problem = npuc_einsum_plan(NPUC_ATTRS(einsum_attributes, c->node)->equation, operands, c->node->n_inputs, &p);
  diag_place place = npuc_eval_place(c);
  if (problem) return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "%s", problem);
  bool in_result[EINSUM_LABELS] = {false};
  for (int32_t i = 0; i < p.out_rank; i++) {
    in_result[p.out_labels[i]] = true;
    e.order[e.n_labels++] = p.out_labels[i];
  }
  for (int32_t label = 0; label < EINSUM_LABELS; label++) {
    if (!p.used[label] || in_result[label]) continue;
    e.order[e.n_labels++] = label;
    e.sums *= p.sizes[label];
  }
  for (int32_t t = 0; t < p.n_terms; t++) set_strides(&e, t);
  npuc_parallel_for(c->pool, (size_t)npuc_tensor_elements(e.y), 0, body, &e);
  return NPUC_OK;
}
