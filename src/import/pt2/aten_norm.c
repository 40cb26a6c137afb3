/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations, for inference: batch norm uses its running statistics. */
#include <string.h>

#include "import/pt2/aten.h"

/* A vector of `count` ones or zeros for a weight or bias that the program leaves out. */
static value *filled(pt2_node *n, dtype type, int64_t count, double v) {
  tensor t;
  shape s = {.rank = 1, .dims = {count}};
  if (npuc_tensor_create(n->s->d, type, &s, &t) != NPUC_OK) return NULL;
  for (int64_t i = 0; i < count; i++) npuc_tensor_set(&t, i, v);
  value *c = npuc_graph_add_constant(n->s->g, npuc_graph_unique_name(n->s->g, npuc_arena_printf(n->s->scratch, "%s_c", n->name)), &t);
  npuc_tensor_release(&t);
  return c;
}

static npuc_status need(pt2_node *n, value **io, dtype type, int64_t count, double v) {
  if (*io) return NPUC_OK;
  if (count < 0) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "input", "the number of channels is not known");
  *io = filled(n, type, count, v);
  return *io ? NPUC_OK : NPUC_ENVIRONMENT;
}

/* y = (x - mean) / sqrt(var + eps) * weight + bias with the mean and variance of the batch: a layer that keeps no running statistics. */
static npuc_status own_statistics(pt2_node *n, value *x, value *weight, value *bias, double eps) {
  int64_t axes[MAX_RANK], channels = x->shape.rank > 1 ? x->shape.dims[1] : -1;
  size_t count = 0;
  value *list, *mean, *d, *y, *part[2] = {weight, bias};
  node *made;
  if (!dim_is_number(channels)) channels = -1;
  for (int64_t i = 0; i < x->shape.rank; i++)
    if (i != 1) axes[count++] = i;
  pt2_int column[MAX_RANK] = {pt2_number(channels)};
  for (size_t i = 1; i < count; i++) column[i] = pt2_number(1);
  for (size_t i = 0; i < 2; i++) {
    NPUC_TRY(need(n, &part[i], x->type, channels, i == 0 ? 1.0 : 0.0));
    NPUC_TRY(npuc_pt2_reshape(n, part[i], column, count, &part[i]));
  }
  list = npuc_pt2_constant_ints(n, axes, count);
  NPUC_TRY(npuc_pt2_emit(n, "ReduceMean", (value *[]){x, list}, 2, 1, &made)); /* keepdims is 1 */
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  mean = made->outputs[0];
  NPUC_TRY(npuc_pt2_binary(n, "Sub", x, mean, &d));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", d, d, &y));
  NPUC_TRY(npuc_pt2_binary(n, "ReduceMean", y, list, &y));
  NPUC_TRY(npuc_pt2_binary(n, "Add", y, npuc_pt2_constant(n, x->type, eps), &y));
  NPUC_TRY(npuc_pt2_unary(n, "Sqrt", y, &y));
  NPUC_TRY(npuc_pt2_binary(n, "Div", d, y, &y));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", y, part[0], &y));
  NPUC_TRY(npuc_pt2_binary(n, "Add", y, part[1], &y));
  return npuc_pt2_results(n, &y, 1);
}

npuc_status npuc_aten_batch_norm(pt2_node *n) {
  value *x, *weight, *bias, *mean, *var;
  double eps;
  bool training;
  NPUC_TRY(npuc_pt2_tensor(n, "input", &x));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "weight", &weight));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "bias", &bias));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "running_mean", &mean));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "running_var", &var));
  NPUC_TRY(npuc_pt2_float_arg(n, "eps", 1e-5, &eps));
  NPUC_TRY(npuc_pt2_bool_arg(n, "training", false, &training));
  npuc_pt2_ignore(n, "momentum");
  npuc_pt2_ignore(n, "cudnn_enabled");
  if (!mean && !var) return own_statistics(n, x, weight, bias, eps);
  if (training || !mean || !var) {
    npuc_status status = npuc_pt2_fail(n, NPUC_DIAG_E0336, "training", "the batch norm computes statistics of its batch, as in training");
    npuc_fix(n->s->d, "export the model in evaluation mode: torch.export.export(model.eval(), args)");
    return status;
  }
  NPUC_TRY(need(n, &weight, mean->type, mean->shape.dims[0], 1.0));
  NPUC_TRY(need(n, &bias, mean->type, mean->shape.dims[0], 0.0));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "BatchNormalization", (value *[]){x, weight, bias, mean, var}, 5, 1, &made));
  npuc_pt2_set_float(made, "epsilon", eps);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_results(n, &made->outputs[0], 1);
}

npuc_status npuc_aten_layer_norm(pt2_node *n) {
  value *x, *weight, *bias;
  int64_t *dims;
  size_t n_dims;
  double eps;
  NPUC_TRY(npuc_pt2_tensor(n, "input", &x));
  NPUC_TRY(npuc_pt2_ints(n, "normalized_shape", &dims, &n_dims));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "weight", &weight));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "bias", &bias));
  NPUC_TRY(npuc_pt2_float_arg(n, "eps", 1e-5, &eps));
  npuc_pt2_ignore(n, "cudnn_enable");
  if (n_dims == 0 || (int32_t)n_dims > x->shape.rank) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "normalized_shape", "%zu axes", n_dims);
  if (!weight) {
    int64_t count = 1;
    for (size_t i = 0; i < n_dims; i++) count *= dims[i];
    NPUC_TRY(need(n, &weight, x->type, count, 1.0));
    pt2_int lengths[MAX_RANK];
    for (size_t i = 0; i < n_dims; i++) lengths[i] = pt2_number(dims[i]);
    if (n_dims > 1) NPUC_TRY(npuc_pt2_reshape(n, weight, lengths, n_dims, &weight));
  }
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "LayerNormalization", (value *[]){x, weight, bias}, 3, 1, &made));
  npuc_pt2_set_int(made, "axis", -(int64_t)n_dims);
  npuc_pt2_set_float(made, "epsilon", eps);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_results(n, &made->outputs[0], 1);
}

npuc_status npuc_aten_rms_norm(pt2_node *n) {
  value *x, *weight;
  int64_t *dims;
  size_t n_dims;
  double eps;
  NPUC_TRY(npuc_pt2_tensor(n, "input", &x));
  NPUC_TRY(npuc_pt2_ints(n, "normalized_shape", &dims, &n_dims));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "weight", &weight));
  NPUC_TRY(npuc_pt2_float_arg(n, "eps", x->type == DTYPE_F64 ? 2.220446049250313e-16 : 1.1920928955078125e-07, &eps));
  if (n_dims != 1 && !weight) return npuc_pt2_fail(n, NPUC_DIAG_E0335, "weight", "over several axes and without a weight");
  NPUC_TRY(need(n, &weight, x->type, n_dims ? dims[n_dims - 1] : -1, 1.0));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "RMSNormalization", (value *[]){x, weight}, 2, 1, &made));
  npuc_pt2_set_int(made, "axis", -(int64_t)n_dims);
  npuc_pt2_set_float(made, "epsilon", eps);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

static npuc_status group_norm(pt2_node *n, const char *groups_name, bool several) {
  value *x, *weight, *bias;
  int64_t groups;
  double eps;
  NPUC_TRY(npuc_pt2_tensor(n, "input", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, groups_name, 1, &groups));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "weight", &weight));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "bias", &bias));
  NPUC_TRY(npuc_pt2_float_arg(n, "eps", 1e-5, &eps));
  static const char *const sizes[] = {"N", "C", "HxW", "cudnn_enabled"};
  for (size_t i = 0; i < 4; i++) npuc_pt2_ignore(n, sizes[i]);
  int64_t channels = x->shape.rank > 1 ? x->shape.dims[1] : -1;
  NPUC_TRY(need(n, &weight, x->type, channels, 1.0));
  NPUC_TRY(need(n, &bias, x->type, channels, 0.0));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "GroupNormalization", (value *[]){x, weight, bias}, 3, 1, &made));
  npuc_pt2_set_int(made, "num_groups", groups);
  npuc_pt2_set_float(made, "epsilon", eps);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return several ? npuc_pt2_results(n, &made->outputs[0], 1) : npuc_pt2_result(n, made->outputs[0]);
}

npuc_status npuc_aten_group_norm(pt2_node *n) { return group_norm(n, "num_groups", false); }
npuc_status npuc_aten_native_group_norm(pt2_node *n) { return group_norm(n, "group", true); }

npuc_status npuc_aten_instance_norm(pt2_node *n) {
  value *x, *weight, *bias;
  double eps;
  bool own_statistics;
  NPUC_TRY(npuc_pt2_tensor(n, "input", &x));
  NPUC_TRY(npuc_pt2_bool_arg(n, "use_input_stats", true, &own_statistics));
  if (!own_statistics) return npuc_aten_batch_norm(n);
  NPUC_TRY(npuc_pt2_optional_tensor(n, "weight", &weight));
  NPUC_TRY(npuc_pt2_optional_tensor(n, "bias", &bias));
  NPUC_TRY(npuc_pt2_float_arg(n, "eps", 1e-5, &eps));
  static const char *const unused[] = {"running_mean", "running_var", "momentum", "cudnn_enabled"};
  for (size_t i = 0; i < 4; i++) npuc_pt2_ignore(n, unused[i]);
  int64_t channels = x->shape.rank > 1 ? x->shape.dims[1] : -1;
  NPUC_TRY(need(n, &weight, x->type, channels, 1.0));
  NPUC_TRY(need(n, &bias, x->type, channels, 0.0));
  node *made;
  NPUC_TRY(npuc_pt2_emit(n, "InstanceNormalization", (value *[]){x, weight, bias}, 3, 1, &made));
  npuc_pt2_set_float(made, "epsilon", eps);
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return npuc_pt2_result(n, made->outputs[0]);
}

/* v * (g / |v|), the norm over all axes but `dim`, or with -1 over all. */
npuc_status npuc_aten_weight_norm(pt2_node *n) {
  value *v, *g, *y[2];
  int64_t kept, axes[MAX_RANK];
  size_t count = 0;
  NPUC_TRY(npuc_pt2_tensor(n, "v", &v));
  NPUC_TRY(npuc_pt2_tensor(n, "g", &g));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &kept));
  if (kept != -1) NPUC_TRY(npuc_pt2_axis(n, "dim", kept, v->shape.rank, &kept));
  for (int32_t i = 0; i < v->shape.rank; i++)
    if (i != kept) axes[count++] = i;
  if (count)
    NPUC_TRY(npuc_pt2_binary(n, "ReduceL2", v, npuc_pt2_constant_ints(n, axes, count), &y[1]));
  else
    NPUC_TRY(npuc_pt2_unary(n, "Abs", v, &y[1]));
  NPUC_TRY(npuc_pt2_binary(n, "Div", g, y[1], &y[0]));
  NPUC_TRY(npuc_pt2_binary(n, "Mul", v, y[0], &y[0]));
  return n->onnx ? npuc_pt2_results(n, y, 2) : npuc_pt2_result(n, y[0]);
}
