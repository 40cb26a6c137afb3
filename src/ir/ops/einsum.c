/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum: definition, and reading its equation. */
#include "ir/ops/einsum.h"

#include <stddef.h>
#include <string.h>

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Labels of one term, up to ',' or '-' or the end. `hidden`: how many axes an ellipsis stands for; they are the last of the labels behind 127. */
static const char *read_term(const char **at, int32_t hidden, int32_t *labels, int32_t *out_rank, bool *out_ellipsis) {
  *out_rank = 0;
  *out_ellipsis = false;
  for (; **at && **at != ',' && **at != '-'; ++*at) {
    if (**at == ' ') continue;
    if (is_letter(**at)) {
      if (*out_rank == MAX_RANK) return "a term has too many labels";
      labels[(*out_rank)++] = **at;
    } else if (strncmp(*at, "...", 3) == 0 && !*out_ellipsis) {
      *out_ellipsis = true;
      *at += 2;
      for (int32_t i = 0; i < hidden; i++) {
        if (*out_rank == MAX_RANK) return "a term has too many labels";
        labels[(*out_rank)++] = EINSUM_LABELS - hidden + i;
      }
    } else {
      return "the equation holds something that is neither a letter, '...', ',' nor '->'";
    }
  }
  return NULL;
}

/* Axes of an ellipsis broadcast, letters agree. */
static bool merge_size(einsum_plan *p, int32_t label, dim size) {
  dim *have = &p->sizes[label];
  bool first = !p->used[label];
  p->used[label] = true;
  if (first || (label >= 128 && *have == 1)) {
    *have = size;
    return true;
  }
  return (label >= 128 && size == 1) || npuc_dim_merge(*have, size, have);
}

static const char *read_operand(const char **at, const shape *s, einsum_plan *p) {
  const char *start = *at;
  int32_t *labels = p->labels[p->n_terms], rank;
  bool ellipsis;
  const char *problem = read_term(at, 0, labels, &rank, &ellipsis);
  if (!problem && ellipsis) {
    if (rank > s->rank) return "a term has more labels than its operand axes";
    *at = start;
    problem = read_term(at, s->rank - rank, labels, &rank, &ellipsis);
  }
  if (problem) return problem;
  if (rank != s->rank) return "a term has not as many labels as its operand axes";
  p->ranks[p->n_terms++] = rank;
  for (int32_t i = 0; i < rank; i++) {
    if (!merge_size(p, labels[i], s->dims[i])) return "a label has two sizes";
  }
  return NULL;
}

static int32_t hidden_axes(const einsum_plan *p) {
  int32_t n = 0;
  while (n < MAX_RANK && p->used[EINSUM_LABELS - 1 - n]) n++;
  return n;
}

/* Without '->': the ellipsis, then the letters that come once, in order. */
static const char *implied_output(einsum_plan *p) {
  int32_t counts[128] = {0}, hidden = hidden_axes(p);
  for (int32_t t = 0; t < p->n_terms; t++) {
    for (int32_t i = 0; i < p->ranks[t]; i++) {
      if (p->labels[t][i] < 128) counts[p->labels[t][i]]++;
    }
  }
  for (int32_t i = 0; i < hidden; i++) p->out_labels[p->out_rank++] = EINSUM_LABELS - hidden + i;
  for (int32_t letter = 0; letter < 128; letter++) {
    if (counts[letter] != 1) continue;
    if (p->out_rank == MAX_RANK) return "the result has too many axes";
    p->out_labels[p->out_rank++] = letter;
  }
  return NULL;
}

const char *npuc_einsum_plan(const char *equation, const shape *const *operands, int32_t count, einsum_plan *out) {
  memset(out, 0, sizeof *out);
  if (!equation) return "there is no equation";
  if (count > EINSUM_TERMS) return "too many operands";
  const char *at = equation, *problem;
  for (int32_t i = 0; i < count; i++) {
    if (i && *at++ != ',') return "the equation has fewer terms than the node operands";
    if ((problem = read_operand(&at, operands[i], out))) return problem;
  }
  if (!*at) return implied_output(out);
  if (*at == ',') return "the equation has more terms than the node operands";
  if (at[1] != '>') return "'->' is wanted before the result";
  at += 2;
  bool ellipsis, seen[EINSUM_LABELS] = {false};
  if ((problem = read_term(&at, hidden_axes(out), out->out_labels, &out->out_rank, &ellipsis))) return problem;
  if (*at) return "something stands behind the result";
  for (int32_t i = 0; i < out->out_rank; i++) {
    if (!out->used[out->out_labels[i]]) return "a label of the result is in no operand";
    if (seen[out->out_labels[i]]) return "a label comes twice in the result";
    seen[out->out_labels[i]] = true;
  }
  return NULL;
}

static const op_port einsum_inputs[] = {{.name = "Inputs", .variadic = true, .doc = "one per term"}};
static const op_port einsum_outputs[] = {{.name = "Output", .doc = "as the equation says"}};
static const attr_field einsum_fields[] = {{.name = "equation",
                                            .kind = ATTR_STRING,
                                            .offset = offsetof(einsum_attributes, equation),
                                            .required = true,
                                            .doc = "terms of labels, '...' for axes without; '->' and the result"}};

static npuc_status einsum_infer(infer_context *c) {
  const shape *operands[EINSUM_TERMS];
  NPUC_TRY(npuc_infer_same_type(c, 0, c->node->n_inputs - 1));
  c->outputs[0].type = npuc_fact_type(c, 0);
  if (c->node->n_inputs > EINSUM_TERMS)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0443, "Inputs", "more than %d operands", (int)EINSUM_TERMS);
  for (int32_t i = 0; i < c->node->n_inputs; i++) {
    const fact *f = npuc_fact_input(c, i);
    if (!f || f->shape.rank < 0) return NPUC_OK;
    operands[i] = &f->shape;
  }
  einsum_plan p;
  const char *problem = npuc_einsum_plan(NPUC_ATTRS(einsum_attributes, c->node)->equation, operands, c->node->n_inputs, &p);
  if (problem) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "equation", "%s", problem);
  shape y = {.rank = p.out_rank};
  for (int32_t i = 0; i < p.out_rank; i++) {
    y.dims[i] = p.sizes[p.out_labels[i]];
    if (y.dims[i] == DIM_UNKNOWN) y.dims[i] = npuc_infer_free_dim(c, 0, i);
  }
  c->outputs[0].shape = y;
  return NPUC_OK;
}

const op_def npuc_op_einsum = {
    ONNX_OP(einsum, OP_EINSUM, "Einsum", 28, 12),
    .summary = "Sums of products by labels of axes.",
    .formula = "Output[out] = sum over the labels not in out of the product of the operands",
    PORTS_IN(einsum_inputs, 1),
    PORTS_OUT(einsum_outputs, 1),
    ATTRIBUTES(einsum_fields, einsum_attributes),
    .infer = einsum_infer,
};
