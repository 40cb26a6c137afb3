/* SPDX-License-Identifier: Apache-2.0 */
/* Opsets 7 to 27 (older ones: upgrade_early.c) brought to 28's form, node by node as they are read. A row says: a node of this type from an opset before `before` is passed through `run`; rows
 * of one type apply in order. What only widened (more types, new attributes whose default is the old behaviour) needs no row.
 *
 *   attributes that became inputs   Squeeze, Unsqueeze, ReduceSum (13), the other reductions (18), Slice (10), Pad, Clip (11), Split (13), Dropout (12)
 *   attributes that went away       BatchNormalization's spatial (9)
 *   outputs that went away          BatchNormalization's statistics of training (14), Dropout's mask of the data's type (10)
 *   Split without sizes (18)        num_outputs says how many
 *   Softmax, LogSoftmax, Hardmax (13)        normalized over all axes from `axis` on, seen as one: see upgrade_softmax
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/onnx/source.h"
#include "ir/attributes.h"

static value *add_ints(onnx_source *s, const onnx_node *n, const char *what, const int64_t *values, int64_t count) {
  const char *name = npuc_graph_unique_name(s->g, npuc_arena_printf(s->scratch, "%s_%s", npuc_onnx_label(n), what));
  return npuc_graph_constant_ints(s->g, name, DTYPE_I64, values, count);
}

/* A scalar of the type of `like` where that is known (old files state it of inputs and weights), else float32. */
static npuc_status add_float(onnx_source *s, const onnx_node *n, const char *what, float v, const value *like, value **out) {
  const char *name = npuc_graph_unique_name(s->g, npuc_arena_printf(s->scratch, "%s_%s", npuc_onnx_label(n), what));
  if (!like || like->type == DTYPE_NONE || like->type == DTYPE_F32) {
    *out = npuc_graph_constant_floats(s->g, name, &v, -1);
    return NPUC_OK;
  }
  double wide = (double)v;
  tensor t;
  NPUC_TRY(npuc_tensor_of_floats(s->d, like->type, &wide, -1, &t));
  *out = npuc_graph_add_constant(s->g, name, &t);
  npuc_tensor_release(&t);
  return NPUC_OK;
}

static npuc_status expect(onnx_source *s, const onnx_node *n, const onnx_attribute *a, onnx_attribute_type type) {
  if (a->type == type) return NPUC_OK;
  return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, a->name, "the attribute '%s' has the wrong kind", a->name);
}

/* The integer list `name` becomes input `index`. Absent (or, with skip_empty, empty): no input. */
static npuc_status ints_to_input(onnx_source *s, onnx_node *n, const char *name, int32_t index, bool skip_empty) {
  const onnx_attribute *a = npuc_onnx_attribute(n, name);
  if (!a) return NPUC_OK;
  NPUC_TRY(expect(s, n, a, ONNX_INTS));
  if (a->ints.count || !skip_empty) npuc_onnx_set_input(s, n, index, add_ints(s, n, name, a->ints.values, a->ints.count));
  npuc_onnx_remove_attribute(n, name);
  return NPUC_OK;
}

static npuc_status require(onnx_source *s, const onnx_node *n, const char *name) {
  if (npuc_onnx_attribute(n, name)) return NPUC_OK;
  return npuc_onnx_fail(s, n, NPUC_DIAG_E0412, name, "the attribute '%s' is missing", name);
}

static npuc_status upgrade_axes(onnx_source *s, onnx_node *n) { return ints_to_input(s, n, "axes", 1, true); }

static npuc_status upgrade_unsqueeze(onnx_source *s, onnx_node *n) {
  NPUC_TRY(require(s, n, "axes"));
  return ints_to_input(s, n, "axes", 1, false);
}

static npuc_status upgrade_slice(onnx_source *s, onnx_node *n) {
  NPUC_TRY(require(s, n, "starts"));
  NPUC_TRY(require(s, n, "ends"));
  NPUC_TRY(ints_to_input(s, n, "starts", 1, false));
  NPUC_TRY(ints_to_input(s, n, "ends", 2, false));
  return ints_to_input(s, n, "axes", 3, true);
}

/* The float `name` becomes scalar input `index`, unless it is absent. */
static npuc_status float_to_input(onnx_source *s, onnx_node *n, const char *name, int32_t index, const value *like) {
  const onnx_attribute *a = npuc_onnx_attribute(n, name);
  if (!a) return NPUC_OK;
  NPUC_TRY(expect(s, n, a, ONNX_FLOAT));
  value *v;
  NPUC_TRY(add_float(s, n, name, a->f, like, &v));
  npuc_onnx_set_input(s, n, index, v);
  npuc_onnx_remove_attribute(n, name);
  return NPUC_OK;
}

static const value *first_input(const onnx_node *n) { return n->n_inputs ? n->inputs[0] : NULL; }

static npuc_status upgrade_pad(onnx_source *s, onnx_node *n) {
  NPUC_TRY(require(s, n, "pads"));
  NPUC_TRY(ints_to_input(s, n, "pads", 1, false));
  const onnx_attribute *a = npuc_onnx_attribute(n, "value");
  if (a && a->type == ONNX_FLOAT && a->f == 0 && !signbit(a->f)) npuc_onnx_remove_attribute(n, "value"); /* the default */
  return float_to_input(s, n, "value", 2, first_input(n));
}

static npuc_status upgrade_clip(onnx_source *s, onnx_node *n) {
  NPUC_TRY(float_to_input(s, n, "min", 1, first_input(n)));
  return float_to_input(s, n, "max", 2, first_input(n));
}

static npuc_status upgrade_split_sizes(onnx_source *s, onnx_node *n) { return ints_to_input(s, n, "split", 1, true); }

static npuc_status upgrade_split_count(onnx_source *s, onnx_node *n) {
  if (n->n_inputs > 1 && n->inputs[1]) return NPUC_OK;
  if (npuc_onnx_attribute(n, "num_outputs")) return NPUC_OK;
  npuc_onnx_add_attribute(s, n, "num_outputs", ONNX_INT)->i = n->n_outputs;
  return NPUC_OK;
}

static npuc_status upgrade_dropout_ratio(onnx_source *s, onnx_node *n) { return float_to_input(s, n, "ratio", 1, NULL); }

/* Extra outputs (Dropout's early mask, the statistics of a training batch normalization) that nothing reads are dropped; uses are not recorded yet while nodes are
 * being added, so the check is put off: the value keeps no producer, and npuc_onnx_upgrade_inferred finds one that is read. */
static npuc_status drop_outputs(onnx_source *s, onnx_node *n) {
  for (int32_t i = 1; i < n->n_outputs; i++) {
    if (!n->outputs[i]) continue;
    s->dropped = npuc_arena_grow(s->scratch, s->dropped, s->n_dropped, s->n_dropped + 1, sizeof *s->dropped, &s->dropped_capacity);
    s->dropped[s->n_dropped++] = (dropped_output){n->outputs[i], npuc_onnx_label(n)};
  }
  if (n->n_outputs > 1) n->n_outputs = 1;
  return NPUC_OK;
}

static npuc_status upgrade_spatial(onnx_source *s, onnx_node *n) {
  const onnx_attribute *a = npuc_onnx_attribute(n, "spatial");
  if (!a) return NPUC_OK;
  NPUC_TRY(expect(s, n, a, ONNX_INT));
  if (a->i != 1)
    return npuc_onnx_fail(s, n, NPUC_DIAG_E0311, "spatial", "spatial = %lld: statistics for each element, not for each channel",
                          (long long)a->i);
  npuc_onnx_remove_attribute(n, "spatial");
  return NPUC_OK;
}

static npuc_status upgrade_upsample_scales(onnx_source *s, onnx_node *n) {
  NPUC_TRY(require(s, n, "scales"));
  const onnx_attribute *a = npuc_onnx_attribute(n, "scales");
  NPUC_TRY(expect(s, n, a, ONNX_FLOATS));
  const char *name = npuc_graph_unique_name(s->g, npuc_arena_printf(s->scratch, "%s_scales", npuc_onnx_label(n)));
  npuc_onnx_set_input(s, n, 1, npuc_graph_constant_floats(s->g, name, a->floats.values, a->floats.count));
  npuc_onnx_remove_attribute(n, "scales");
  return NPUC_OK;
}

/* Upsample 9 is Resize 10. */
static npuc_status upgrade_upsample(onnx_source *s, onnx_node *n) {
  (void)s;
  n->type = "Resize";
  return NPUC_OK;
}

/* Which cell is the nearest one in Resize 10: the specification leaves it open, its test (1, 2, 3, 4 by 0.6 gives 1, 3) and ONNX Runtime take the one before where an
 * axis grows, the one behind where it shrinks. Scales that only a run knows are taken to grow. */
static npuc_status early_nearest(onnx_source *s, const onnx_node *n, const char **out_mode) {
  const tensor *scales = n->inputs[2] ? n->inputs[2]->constant : NULL;
  bool grows = false, shrinks = false;
  for (int64_t i = 0; scales && i < npuc_tensor_elements(scales); i++) {
    grows |= npuc_tensor_get(scales, i) > 1.0;
    shrinks |= npuc_tensor_get(scales, i) < 1.0;
  }
  *out_mode = shrinks ? "ceil" : "floor";
  const onnx_attribute *mode = npuc_onnx_attribute((onnx_node *)n, "mode");
  bool nearest = !mode || (mode->type == ONNX_STRING && strcmp(mode->s, "nearest") == 0);
  return !(nearest && grows && shrinks)
             ? NPUC_OK
             : npuc_onnx_fail(s, n, NPUC_DIAG_E0311, "mode",
                              "nearest with an axis that grows and one that shrinks, which newer versions have no single node for");
}

/* Resize 10: scales come second, places are x / scale. */
static npuc_status upgrade_resize(onnx_source *s, onnx_node *n) {
  if (n->n_inputs > 1) {
    value *scales = n->inputs[1];
    npuc_onnx_set_input(s, n, 1, NULL);
    npuc_onnx_set_input(s, n, 2, scales);
  }
  const char *nearest = "floor";
  if (n->n_inputs > 2) NPUC_TRY(early_nearest(s, n, &nearest));
  npuc_onnx_add_attribute(s, n, "coordinate_transformation_mode", ONNX_STRING)->s = "asymmetric";
  npuc_onnx_add_attribute(s, n, "nearest_mode", ONNX_STRING)->s = nearest;
  return NPUC_OK;
}

/* The modes' earlier names. */
static npuc_status upgrade_grid(onnx_source *s, onnx_node *n) {
  (void)s;
  onnx_attribute *a = npuc_onnx_attribute(n, "mode");
  if (!a || a->type != ONNX_STRING) return NPUC_OK;
  if (strcmp(a->s, "bilinear") == 0) a->s = "linear";
  if (strcmp(a->s, "bicubic") == 0) a->s = "cubic";
  return NPUC_OK;
}

/* Its present name. */
static npuc_status upgrade_scatter(onnx_source *s, onnx_node *n) {
  (void)s;
  n->type = "ScatterElements";
  return NPUC_OK;
}

static npuc_status upgrade_topk(onnx_source *s, onnx_node *n) {
  NPUC_TRY(require(s, n, "k"));
  const onnx_attribute *a = npuc_onnx_attribute(n, "k");
  NPUC_TRY(expect(s, n, a, ONNX_INT));
  npuc_onnx_set_input(s, n, 1, add_ints(s, n, "k", &a->i, 1));
  npuc_onnx_remove_attribute(n, "k");
  return NPUC_OK;
}

/* `axis` counted all axes from 1 on; now it is a scalar input that counts from the back. */
static npuc_status upgrade_dft(onnx_source *s, onnx_node *n) {
  const onnx_attribute *a = npuc_onnx_attribute(n, "axis");
  int64_t axis = 1;
  if (a) {
    NPUC_TRY(expect(s, n, a, ONNX_INT));
    axis = a->i;
  }
  npuc_onnx_set_input(s, n, 2, add_ints(s, n, "axis", &axis, -1));
  npuc_onnx_remove_attribute(n, "axis");
  return NPUC_OK;
}

/* Coordinates were those of the whole cells. */
static npuc_status upgrade_roialign(onnx_source *s, onnx_node *n) {
  npuc_onnx_add_attribute(s, n, "coordinate_transformation_mode", ONNX_STRING)->s = "output_half_pixel";
  return NPUC_OK;
}

static const struct upgrade_row {
  const char *type;
  int64_t before;
  npuc_status (*run)(onnx_source *s, onnx_node *n);
} rows[] = {
    {"BatchNormalization", 9, upgrade_spatial},
    {"BatchNormalization", 14, drop_outputs},
    {"Clip", 11, upgrade_clip},
    {"DFT", 20, upgrade_dft},
    {"Dropout", 10, drop_outputs},
    {"Dropout", 12, upgrade_dropout_ratio},
    {"Pad", 11, upgrade_pad},
    {"ReduceL1", 18, upgrade_axes},
    {"ReduceL2", 18, upgrade_axes},
    {"ReduceLogSum", 18, upgrade_axes},
    {"ReduceLogSumExp", 18, upgrade_axes},
    {"ReduceMax", 18, upgrade_axes},
    {"ReduceMean", 18, upgrade_axes},
    {"ReduceMin", 18, upgrade_axes},
    {"ReduceProd", 18, upgrade_axes},
    {"ReduceSum", 13, upgrade_axes},
    {"ReduceSumSquare", 18, upgrade_axes},
    {"Upsample", 9, upgrade_upsample_scales},
    {"Upsample", 10, upgrade_upsample},
    {"Resize", 11, upgrade_resize},
    {"GridSample", 20, upgrade_grid},
    {"Scatter", 11, upgrade_scatter},
    {"RoiAlign", 16, upgrade_roialign},
    {"Slice", 10, upgrade_slice},
    {"Split", 13, upgrade_split_sizes},
    {"Split", 18, upgrade_split_count},
    {"Squeeze", 13, upgrade_axes},
    {"TopK", 10, upgrade_topk},
    {"Unsqueeze", 13, upgrade_unsqueeze},
};

/* -- Constant: every spelling becomes `value`, in every opset -- */
static npuc_status constant_texts(onnx_source *s, const onnx_attribute *a, tensor *out) {
  bool list = a->type == ONNX_STRINGS;
  const shape s_out = list ? (shape){.rank = 1, .dims = {a->strings.count}} : SHAPE_SCALAR;
  NPUC_TRY(npuc_tensor_create(s->d, DTYPE_STRING, &s_out, out));
  for (int64_t i = 0; i < npuc_tensor_elements(out); i++) {
    const char *text = list ? a->strings.values[i] : a->s;
    npuc_reference_set(out, i, npuc_onnx_text_element(s, (text_span){text, strlen(text)}));
  }
  return NPUC_OK;
}

static npuc_status constant_tensor(onnx_source *s, const onnx_node *n, const onnx_attribute *a, tensor *out) {
  int64_t count = a->type == ONNX_INT || a->type == ONNX_FLOAT ? -1 : a->type == ONNX_INTS ? a->ints.count : a->floats.count;
  if (strcmp(a->name, "value_int") == 0 && a->type == ONNX_INT) return npuc_tensor_of_ints(s->d, DTYPE_I64, &a->i, count, out);
  if (strcmp(a->name, "value_ints") == 0 && a->type == ONNX_INTS) return npuc_tensor_of_ints(s->d, DTYPE_I64, a->ints.values, count, out);
  if (strcmp(a->name, "value_string") == 0 && a->type == ONNX_STRING) return constant_texts(s, a, out);
  if (strcmp(a->name, "value_strings") == 0 && a->type == ONNX_STRINGS) return constant_texts(s, a, out);
  bool floats = strcmp(a->name, "value_floats") == 0 && a->type == ONNX_FLOATS;
  if (!floats && !(strcmp(a->name, "value_float") == 0 && a->type == ONNX_FLOAT)) {
    bool known = strcmp(a->name, "sparse_value") == 0;
    return npuc_onnx_fail(s, n, known ? NPUC_DIAG_E0305 : NPUC_DIAG_E0312, a->name, "a constant with '%s' is not supported", a->name);
  }
  const float *from = floats ? a->floats.values : &a->f;
  int64_t length = floats ? count : 1;
  double *wide = NPUC_NEW_ARRAY(s->scratch, (size_t)length, double);
  for (int64_t i = 0; i < length; i++) wide[i] = (double)from[i];
  return npuc_tensor_of_floats(s->d, DTYPE_F32, wide, count, out);
}

static npuc_status upgrade_constant(onnx_source *s, onnx_node *n) {
  if (n->n_attributes != 1) return npuc_onnx_fail(s, n, NPUC_DIAG_E0312, NULL, "the node has %zu attributes", n->n_attributes);
  const onnx_attribute *a = &n->attributes[0];
  if (strcmp(a->name, "value") == 0) return NPUC_OK;
  tensor *t = NPUC_NEW(s->m->arena, tensor);
  NPUC_TRY(constant_tensor(s, n, a, t));
  if (t->owner) {
    npuc_module_keep_blob(s->m, t->owner);
    npuc_blob_release(t->owner);
  }
  n->n_attributes = 0;
  npuc_onnx_add_attribute(s, n, "value", ONNX_TENSOR)->t = t;
  return NPUC_OK;
}

npuc_status npuc_onnx_upgrade(onnx_source *s, onnx_node *n) {
  if (n->domain[0]) return NPUC_OK;
  if (strcmp(n->type, "Constant") == 0) return upgrade_constant(s, n);
  if (s->opset < 7) NPUC_TRY(npuc_onnx_upgrade_early(s, n));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (s->opset < rows[i].before && strcmp(rows[i].type, n->type) == 0) NPUC_TRY(rows[i].run(s, n));
  }
  return NPUC_OK;
}

/* -- what needs the whole graph -- */
static npuc_status check_dropped(onnx_source *s) {
  for (size_t i = 0; i < s->n_dropped; i++) {
    value *v = s->dropped[i].value;
    diag_place place = {.part = v->owner->name, .node = s->dropped[i].label};
    if (v->n_uses || v->is_output)
      return npuc_fail(s->d, NPUC_DIAG_E0311, &place, "its output '%s' is used, which has a meaning in training only", v->name);
    npuc_graph_remove_value(v->owner, v);
  }
  return NPUC_OK;
}

/* Before opset 13, softmax(x, axis) flattens x to [prod(dims before axis), prod(dims from axis on)] and normalizes the rows. Where at most one of the dims from axis on is
 * not 1, that is a softmax along it; else  y = Reshape(Softmax(Flatten(x, axis), -1), Shape(x)). */
static bool sole_axis(const shape *x, int64_t axis, int64_t *out_axis) {
  int32_t first;
  if (x->rank < 1 || !npuc_axis_normalize(axis, x->rank, &first)) return false;
  int32_t found = x->rank - 1, others = 0;
  for (int32_t i = first; i < x->rank; i++) {
    if (x->dims[i] == 1) continue;
    found = i;
    others++;
  }
  *out_axis = found;
  return others <= 1;
}

/* Known to be empty: a dim 0 is meant as it stands. */
static bool has_zero_dim(const shape *x) {
  for (int32_t i = 0; i < x->rank; i++) {
    if (x->dims[i] == 0) return true;
  }
  return false;
}

static void flatten_softmax(onnx_source *s, const legacy_softmax *old) {
  node *n = old->node, *next = n->next;
  graph *g = n->owner;
  value *x = n->inputs[0], *y = n->outputs[0];
  node *shape_of =
      npuc_graph_insert_node(g, n, npuc_op(OP_SHAPE), npuc_arena_printf(s->scratch, "%s_shape", n->name), &x, 1, 1, n->location);
  node *flat = npuc_graph_insert_node(g, n, npuc_op(OP_FLATTEN), npuc_arena_printf(s->scratch, "%s_flat", n->name), &x, 1, 1, n->location);
  NPUC_ATTRS(axis_attributes, flat)->axis = old->axis;
  value *inputs[] = {x, shape_of->outputs[0]}; /* x for the moment: y's other uses are to become the new value, this one is not */
  node *back =
      npuc_graph_insert_node(g, next, npuc_op(OP_RESHAPE), npuc_arena_printf(s->scratch, "%s_back", n->name), inputs, 2, 1, n->location);
  NPUC_ATTRS(reshape_attributes, back)->allowzero = has_zero_dim(&x->shape);
  value *restored = back->outputs[0];
  restored->type = y->type;
  restored->shape = y->shape;
  npuc_value_replace(y, restored);
  npuc_node_set_input(back, 0, y);
  npuc_node_set_input(n, 0, flat->outputs[0]);
  y->shape = SHAPE_UNKNOWN;
  NPUC_ATTRS(axis_attributes, n)->axis = -1;
}

npuc_status npuc_onnx_upgrade_inferred(onnx_source *s) {
  npuc_onnx_finish_lists(s);
  NPUC_TRY(check_dropped(s));
  if (s->n_softmaxes == 0) return NPUC_OK;
  for (size_t i = 0; i < s->n_softmaxes; i++) NPUC_ATTRS(axis_attributes, s->softmaxes[i].node)->axis = s->softmaxes[i].axis;
  NPUC_TRY(npuc_graph_infer(s->d, s->g)); /* an old softmax's shape is the new one's */
  for (size_t i = 0; i < s->n_softmaxes; i++) {
    const legacy_softmax *old = &s->softmaxes[i];
    const node *n = old->node;
    if (n->n_inputs != 1 || n->n_outputs != 1 || !n->inputs[0] || !n->outputs[0]) continue; /* the verifier names it */
    if (!sole_axis(&n->inputs[0]->shape, old->axis, &NPUC_ATTRS(axis_attributes, n)->axis)) flatten_softmax(s, old);
  }
  return NPUC_OK;
}
