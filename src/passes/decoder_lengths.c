/* SPDX-License-Identifier: Apache-2.0 */
/* How the growing graph's shapes and small integers depend on P. The graph is inferred with numbers at several P, from 0 to the last chunk's; a dim or an element is taken as
 * at0 + step * P only if every sample lies on that line. What exporters compute lengths with (sums, products with numbers, Max, Min, clamps by Slice) is piecewise linear and bends to one
 * side, so that three points on one line show that there is no bend between the outer ones; whoever bends otherwise is met by the gate, which runs both models. */
#include "passes/decoder.h"

static npuc_status infer_at(decoder *x, int64_t past, int64_t tokens, fact **out_facts) {
  graph *g = x->g;
  fact *inputs = NPUC_NEW_ARRAY(x->c->scratch, g->n_inputs, fact);
  for (size_t i = 0; i < g->n_inputs; i++) {
    inputs[i] = (fact){.type = g->inputs[i]->type};
    NPUC_TRY(npuc_decoder_input_shape(x, g->inputs[i], past, tokens, &inputs[i].shape));
  }
  npuc_status status = npuc_graph_infer_facts(x->c->d, g, inputs, x->c->scratch, out_facts);
  if (status != NPUC_OK)
    npuc_fix(x->c->d, "the model does not take %lld tokens behind %lld cached ones: try a smaller --max-length", (long long)tokens,
             (long long)past);
  return status;
}

npuc_status npuc_decoder_sample(decoder *x) {
  int64_t last = x->max_length - x->chunk, at[DECODER_SAMPLES] = {0, 1, 2, last / 2, last};
  x->n_values = x->g->next_value_id;
  for (size_t i = 0; i < DECODER_SAMPLES; i++) {
    if (i && at[i] <= x->past_at[x->n_samples - 1]) continue;
    x->past_at[x->n_samples] = at[i];
    NPUC_TRY(infer_at(x, at[i], x->chunk, &x->facts[x->n_samples++]));
  }
  return x->chunk_symbol == DIM_UNKNOWN ? NPUC_OK : infer_at(x, 1, x->chunk + 1, &x->longer);
}

bool npuc_decoder_fit(const decoder *x, const int64_t *numbers, line *out_line) {
  *out_line = (line){numbers[0], numbers[1] - numbers[0]};
  for (size_t i = 2; i < x->n_samples; i++) {
    int64_t rise;
    if (__builtin_mul_overflow(out_line->step, x->past_at[i], &rise) || __builtin_add_overflow(rise, numbers[0], &rise)) return false;
    if (rise != numbers[i]) return false;
  }
  return true;
}

int32_t npuc_decoder_rank(const decoder *x, const value *v) { return v && v->id < x->n_values ? x->facts[0][v->id].shape.rank : -1; }

bool npuc_decoder_axis(const decoder *x, const value *v, int32_t axis, line *out_line) {
  int64_t numbers[DECODER_SAMPLES] = {0};
  for (size_t i = 0; i < x->n_samples; i++) {
    const shape *s = &x->facts[i][v->id].shape;
    if (s->rank <= axis || !dim_is_number(s->dims[axis])) return false;
    numbers[i] = s->dims[axis];
  }
  return npuc_decoder_fit(x, numbers, out_line);
}

bool npuc_decoder_growing(const decoder *x, const value *v, uint32_t *out_axes) {
  int32_t rank = npuc_decoder_rank(x, v);
  *out_axes = 0;
  for (int32_t i = 0; i < rank; i++) {
    line l;
    if (!npuc_decoder_axis(x, v, i, &l) || (l.step != 0 && l.step != 1)) return false;
    if (l.step) *out_axes |= 1u << i;
  }
  return rank >= 0;
}

bool npuc_decoder_content(const decoder *x, const value *v, line_content *out_content) {
  if (v->id >= x->n_values) return false;
  const tensor *first = x->facts[0][v->id].constant;
  dtype_kind kind = first ? npuc_dtype_kind(first->type) : KIND_FLOAT;
  if (!first || (kind != KIND_INT && kind != KIND_UINT && kind != KIND_BOOL) || first->shape.rank > 1) return false;
  int64_t count = npuc_tensor_elements(first);
  if (count > DECODER_CONTENT) return false;
  *out_content = (line_content){.rank = first->shape.rank, .count = (int32_t)count};
  for (int32_t k = 0; k < out_content->count; k++) {
    int64_t numbers[DECODER_SAMPLES] = {0};
    for (size_t i = 0; i < x->n_samples; i++) {
      const tensor *t = x->facts[i][v->id].constant;
      if (!t || npuc_tensor_elements(t) != count) return false;
      numbers[i] = npuc_tensor_get_int(t, k);
    }
    if (!npuc_decoder_fit(x, numbers, &out_content->at[k])) return false;
  }
  for (size_t i = 0; i < x->n_samples && !out_content->count; i++) {
    const tensor *t = x->facts[i][v->id].constant;
    if (!t || npuc_tensor_elements(t)) return false;
  }
  return true;
}

bool npuc_decoder_is_row_axis(const decoder *x, const value *v, int32_t axis) {
  line l;
  if (axis < 0 || !npuc_decoder_axis(x, v, axis, &l) || l.step || l.at0 != x->chunk) return false;
  if (!x->longer) return true;
  const shape *s = &x->longer[v->id].shape;
  return s->rank > axis && s->dims[axis] == x->chunk + 1;
}
