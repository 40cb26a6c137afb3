/* SPDX-License-Identifier: Apache-2.0 */
/* Opsets 1 to 6 brought to 7's form; upgrade.c goes on from there.
 *
 *   broadcasting            `broadcast`, `axis`: B stands at A's axes from `axis` on, by default at the last; now numpy's rule
 *   PRelu                   slope [C] belongs to the channels: [C, 1, ..., 1]
 *   hints                   consumed_inputs, Gemm's broadcast, is_test of BatchNormalization and Dropout, output_sequence of recurrences
 *   attributes as inputs    Reshape's shape (5)
 *   other names, defaults   Pad's paddings (2), Concat's axis 1 (4), Cast's `to` as text (6), Selu's constants (6)
 *   other meaning           Tile by one axis (6) and Upsample by two factors (7) are refused */
#include <string.h>

#include "import/onnx/source.h"

static bool is_one_of(const char *type, const char *const *names) {
  for (; *names; names++) {
    if (strcmp(type, *names) == 0) return true;
  }
  return false;
}

/* -- broadcasting -- */

static npuc_status no_rank(onnx_source *s, const onnx_node *n, const char *attribute) {
  return npuc_onnx_fail(s, n, NPUC_DIAG_E0311, attribute,
                        "the ranks of the inputs are needed to broadcast as this opset does, and the file does not say them");
}

/* inputs[1] gets `count` axes of size 1 behind its own. */
static void append_axes(onnx_source *s, onnx_node *n, int32_t count) {
  int64_t axes[MAX_RANK];
  value *b = n->inputs[1];
  for (int32_t i = 0; i < count; i++) axes[i] = b->shape.rank + i;
  const char *name = npuc_arena_printf(s->scratch, "%s_aligned", npuc_onnx_label(n));
  value *inputs[] = {b, npuc_graph_constant_ints(s->g, npuc_graph_unique_name(s->g, npuc_arena_printf(s->scratch, "%s_axes", name)),
                                                 DTYPE_I64, axes, count)};
  location *l = NPUC_NEW(s->m->arena, location);
  l->name = npuc_onnx_label(n);
  node *added = npuc_graph_insert_node(s->g, NULL, npuc_op(OP_UNSQUEEZE), npuc_graph_unique_name(s->g, name), inputs, 2, 1, l);
  npuc_onnx_set_input(s, n, 1, added->outputs[0]);
}

static npuc_status align(onnx_source *s, onnx_node *n, int64_t axis, const char *attribute) {
  if (n->n_inputs < 2 || !n->inputs[0] || !n->inputs[1]) return NPUC_OK; /* the verifier names it */
  int32_t a = n->inputs[0]->shape.rank, b = n->inputs[1]->shape.rank;
  if (a < 0 || b < 0) return no_rank(s, n, attribute);
  if (axis < 0) axis += a;
  if (axis < 0 || axis + b > a)
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0440, attribute, "rank %d does not fit into rank %d from axis %lld on", (int)b, (int)a,
                          (long long)axis);
  if (a - axis - b > 0) append_axes(s, n, (int32_t)(a - axis - b));
  return NPUC_OK;
}

static npuc_status upgrade_broadcast(onnx_source *s, onnx_node *n) {
  const onnx_attribute *axis = npuc_onnx_attribute(n, "axis"), *broadcast = npuc_onnx_attribute(n, "broadcast");
  bool aligned = axis && broadcast && axis->type == ONNX_INT && broadcast->type == ONNX_INT && broadcast->i;
  int64_t from = aligned ? axis->i : 0;
  npuc_onnx_remove_attribute(n, "axis");
  npuc_onnx_remove_attribute(n, "broadcast");
  return aligned ? align(s, n, from, "axis") : NPUC_OK;
}

static npuc_status upgrade_prelu(onnx_source *s, onnx_node *n) {
  if (n->n_inputs < 2 || !n->inputs[1]) return NPUC_OK;
  const shape *slope = &n->inputs[1]->shape;
  if (slope->rank == 0 || (slope->rank == 1 && slope->dims[0] == 1)) return NPUC_OK;
  return align(s, n, 1, "slope");
}

/* -- the others -- */

static npuc_status upgrade_reshape(onnx_source *s, onnx_node *n) {
  const onnx_attribute *a = npuc_onnx_attribute(n, "shape");
  if (s->opset >= 5 || !a || a->type != ONNX_INTS) return NPUC_OK;
  const char *name = npuc_graph_unique_name(s->g, npuc_arena_printf(s->scratch, "%s_shape", npuc_onnx_label(n)));
  npuc_onnx_set_input(s, n, 1, npuc_graph_constant_ints(s->g, name, DTYPE_I64, a->ints.values, a->ints.count));
  npuc_onnx_remove_attribute(n, "shape");
  return NPUC_OK;
}

static npuc_status upgrade_test_mode(onnx_source *s, onnx_node *n) {
  const onnx_attribute *a = npuc_onnx_attribute(n, "is_test");
  bool trains = !a || a->type != ONNX_INT || a->i == 0;
  npuc_onnx_remove_attribute(n, "is_test");
  if (trains && strcmp(n->type, "BatchNormalization") == 0 && n->n_output_names > 1)
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0311, "is_test", "training form: the statistics are the batch's own");
  return NPUC_OK;
}

static npuc_status upgrade_pad(onnx_source *s, onnx_node *n) {
  onnx_attribute *a = npuc_onnx_attribute(n, "paddings");
  if (s->opset < 2 && a) a->name = "pads";
  return NPUC_OK;
}

static npuc_status upgrade_concat(onnx_source *s, onnx_node *n) {
  if (s->opset < 4 && !npuc_onnx_attribute(n, "axis")) npuc_onnx_add_attribute(s, n, "axis", ONNX_INT)->i = 1;
  return NPUC_OK;
}

static npuc_status upgrade_cast(onnx_source *s, onnx_node *n) {
  onnx_attribute *a = npuc_onnx_attribute(n, "to");
  if (s->opset >= 6 || !a || a->type != ONNX_STRING) return NPUC_OK;
  char lower[32] = {0};
  for (size_t i = 0; a->s[i] && i + 1 < sizeof lower; i++) lower[i] = (char)(a->s[i] >= 'A' && a->s[i] <= 'Z' ? a->s[i] + 32 : a->s[i]);
  dtype type;
  if (!npuc_dtype_parse(lower, &type)) return npuc_onnx_fail(s, n, NPUC_DIAG_E0440, "to", "\"%s\" is not an element type", a->s);
  a->type = ONNX_INT;
  a->i = type;
  return NPUC_OK;
}

/* The constants of before opset 6 had fewer digits. */
static npuc_status upgrade_selu(onnx_source *s, onnx_node *n) {
  if (s->opset >= 6) return NPUC_OK;
  if (!npuc_onnx_attribute(n, "alpha")) npuc_onnx_add_attribute(s, n, "alpha", ONNX_FLOAT)->f = 1.6732f;
  if (!npuc_onnx_attribute(n, "gamma")) npuc_onnx_add_attribute(s, n, "gamma", ONNX_FLOAT)->f = 1.0507f;
  return NPUC_OK;
}

static npuc_status refuse(onnx_source *s, onnx_node *n) {
  if (strcmp(n->type, "Tile") == 0 && s->opset >= 6) return NPUC_OK;
  return npuc_onnx_fail(s, n, NPUC_DIAG_E0311, NULL, "%s of opset %lld is another operator", n->type, (long long)s->opset);
}

static npuc_status drop_hints(onnx_source *s, onnx_node *n) {
  static const char *const recurrent[] = {"RNN", "GRU", "LSTM", NULL};
  npuc_onnx_remove_attribute(n, "consumed_inputs");
  if (strcmp(n->type, "Gemm") == 0) npuc_onnx_remove_attribute(n, "broadcast");
  if (is_one_of(n->type, recurrent)) npuc_onnx_remove_attribute(n, "output_sequence");
  (void)s;
  return NPUC_OK;
}

npuc_status npuc_onnx_upgrade_early(onnx_source *s, onnx_node *n) {
  static const char *const pairs[] = {"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater", NULL};
  static const struct {
    const char *type;
    npuc_status (*run)(onnx_source *s, onnx_node *n);
  } rows[] = {
      {"BatchNormalization", upgrade_test_mode},
      {"Cast", upgrade_cast},
      {"Concat", upgrade_concat},
      {"Dropout", upgrade_test_mode},
      {"PRelu", upgrade_prelu},
      {"Pad", upgrade_pad},
      {"Selu", upgrade_selu},
      {"Reshape", upgrade_reshape},
      {"Tile", refuse},
      {"Upsample", refuse},

  };
  NPUC_TRY(drop_hints(s, n));
  if (is_one_of(n->type, pairs)) return upgrade_broadcast(s, n);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].type, n->type) == 0) return rows[i].run(s, n);
  }
  return NPUC_OK;
}
