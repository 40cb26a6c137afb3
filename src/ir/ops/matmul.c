/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: Gemm (two matrices and a bias), MatMul (batches of matrices, as numpy.matmul) and its integer forms; DynamicQuantizeLinear. */
#include <stddef.h>

#include "ir/ops/support.h"

/* -- Gemm -- */
static const op_port gemm_inputs[] = {
    {.name = "A", .doc = "[M, K], or [K, M] with transA"},
    {.name = "B", .doc = "[K, N], or [N, K] with transB"},
    {.name = "C", .optional = true, .doc = "broadcasts to [M, N]"},
};
static const op_port gemm_outputs[] = {{.name = "Y", .doc = "[M, N]"}};
static const attr_field gemm_fields[] = {
    FIELD_FLOAT(gemm_attributes, alpha, 1.0f, "factor of the product"),
    FIELD_FLOAT(gemm_attributes, beta, 1.0f, "factor of C"),
    FIELD_INT(gemm_attributes, transA, 0, "1: A is transposed"),
    FIELD_INT(gemm_attributes, transB, 0, "1: B is transposed"),
};

static npuc_status check_matrix(infer_context *c, const char *port, const fact *f) {
  if (f->shape.rank < 0 || f->shape.rank == 2) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, port, "rank %d given; a matrix (rank 2) wanted", f->shape.rank);
}

/* C broadcasts to [M, N] in one direction: it may not make the result larger. */
static npuc_status check_bias(infer_context *c, const fact *bias, const shape *y) {
  if (!bias || bias->shape.rank < 0) return NPUC_OK;
  bool fits = bias->shape.rank <= 2;
  for (int32_t i = 0; fits && i < bias->shape.rank; i++) {
    dim given = bias->shape.dims[bias->shape.rank - 1 - i], wanted = y->dims[1 - i];
    if (dim_is_number(given) && given != 1 && dim_is_number(wanted)) fits = given == wanted;
  }
  if (fits) return NPUC_OK;
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "C", "%s given; it must broadcast to %s", npuc_shape_text(c->module, &bias->shape, a),
                      npuc_shape_text(c->module, y, b));
}

static npuc_status gemm_infer(infer_context *c) {
  const gemm_attributes *a = NPUC_ATTRS(gemm_attributes, c->node);
  const fact *A = npuc_fact_input(c, 0), *B = npuc_fact_input(c, 1);
  if (!A || !B) return NPUC_OK;
  NPUC_TRY(npuc_infer_same_type(c, 0, 2));
  fact *y = &c->outputs[0];
  y->type = A->type != DTYPE_NONE ? A->type : B->type;
  NPUC_TRY(check_matrix(c, "A", A));
  NPUC_TRY(check_matrix(c, "B", B));
  shape result = {.rank = 2};
  result.dims[0] = A->shape.rank == 2 ? A->shape.dims[a->transA ? 1 : 0] : npuc_infer_free_dim(c, 0, 0);
  result.dims[1] = B->shape.rank == 2 ? B->shape.dims[a->transB ? 0 : 1] : npuc_infer_free_dim(c, 0, 1);
  if (A->shape.rank == 2 && B->shape.rank == 2) {
    dim k, ka = A->shape.dims[a->transA ? 0 : 1], kb = B->shape.dims[a->transB ? 1 : 0];
    if (!npuc_dim_merge(ka, kb, &k)) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "B",
                          "the product runs over %lld elements of A and %lld of B; equal numbers wanted", (long long)ka, (long long)kb);
    }
  }
  y->shape = result;
  return check_bias(c, npuc_fact_input(c, 2), &result);
}

static npuc_status gemm_verify(diag *d, const node *n) {
  const gemm_attributes *a = NPUC_ATTRS(gemm_attributes, n);
  NPUC_TRY(npuc_verify_flag(d, n, "transA", a->transA));
  return npuc_verify_flag(d, n, "transB", a->transB);
}

static void gemm_cost(const node *n, op_cost *out_cost) {
  const gemm_attributes *a = NPUC_ATTRS(gemm_attributes, n);
  const shape *A = &n->inputs[0]->shape;
  double outputs = npuc_value_elements(n->outputs[0]);
  dim k = A->rank == 2 ? A->dims[a->transA ? 0 : 1] : 0;
  out_cost->macs = outputs * (dim_is_number(k) ? (double)k : 1.0);
  out_cost->operations = n->n_inputs > 2 && n->inputs[2] ? outputs : 0;
}

/* -- MatMul -- */
static const op_port matmul_inputs[] = {{.name = "A", .doc = "[..., M, K], or [K]"}, {.name = "B", .doc = "[..., K, N], or [K]"}};
static const op_port matmul_outputs[] = {{.name = "Y", .doc = "[..., M, N]; M or N is left out where the operand is a vector"}};

/* The leading axes of a matrix stack. */
static shape batch_of(const shape *s) {
  shape batch = *s;
  batch.rank = s->rank > 2 ? s->rank - 2 : 0;
  return batch;
}

static npuc_status matmul_shape(infer_context *c, const shape *a, const shape *b, shape *out) {
  dim k, ka = a->dims[a->rank - 1], kb = b->dims[b->rank > 1 ? b->rank - 2 : 0];
  char ta[SHAPE_TEXT], tb[SHAPE_TEXT];
  if (!npuc_dim_merge(ka, kb, &k)) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "B",
                        "the product of %s and %s runs over %lld and %lld elements; equal numbers wanted",
                        npuc_shape_text(c->module, a, ta), npuc_shape_text(c->module, b, tb), (long long)ka, (long long)kb);
  }
  shape batch_a = batch_of(a), batch_b = batch_of(b);
  if (!npuc_shape_broadcast(&batch_a, &batch_b, out)) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "B", "the leading axes of %s and %s do not broadcast",
                        npuc_shape_text(c->module, a, ta), npuc_shape_text(c->module, b, tb));
  }
  for (int32_t i = 0; i < out->rank; i++) {
    if (out->dims[i] == DIM_UNKNOWN) out->dims[i] = npuc_infer_free_dim(c, 0, i);
  }
  if (a->rank > 1) out->dims[out->rank++] = a->dims[a->rank - 2];
  if (b->rank > 1) out->dims[out->rank++] = b->dims[b->rank - 1];
  return NPUC_OK;
}

static npuc_status product_infer(infer_context *c, const fact *a, const fact *b) {
  if (!a || !b) return NPUC_OK;
  if (a->shape.rank < 0 || b->shape.rank < 0) return NPUC_OK;
  if (a->shape.rank == 0 || b->shape.rank == 0) {
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, a->shape.rank == 0 ? "A" : "B", "a scalar given; rank 1 or more wanted");
  }
  shape result;
  NPUC_TRY(matmul_shape(c, &a->shape, &b->shape, &result));
  c->outputs[0].shape = result;
  return NPUC_OK;
}

static npuc_status matmul_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_same_type(c, 0, 1));
  c->outputs[0].type = npuc_fact_type(c, 0) != DTYPE_NONE ? npuc_fact_type(c, 0) : npuc_fact_type(c, 1);
  return product_infer(c, npuc_fact_input(c, 0), npuc_fact_input(c, 1));
}

static npuc_status matmulinteger_infer(infer_context *c) {
  c->outputs[0].type = DTYPE_I32;
  return product_infer(c, npuc_fact_input(c, 0), npuc_fact_input(c, 1));
}

static npuc_status qlinearmatmul_infer(infer_context *c) {
  c->outputs[0].type = npuc_fact_type(c, 7);
  return product_infer(c, npuc_fact_input(c, 0), npuc_fact_input(c, 3));
}

static npuc_status dynamicquantize_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_unary(c));
  c->outputs[0].type = DTYPE_U8;
  for (int32_t i = 1; i < c->node->n_outputs; i++) {
    c->outputs[i].type = i == 1 ? DTYPE_F32 : DTYPE_U8;
    c->outputs[i].shape = SHAPE_SCALAR;
  }
  return NPUC_OK;
}

static void matmul_cost(const node *n, op_cost *out_cost) {
  const shape *a = &n->inputs[0]->shape;
  dim k = a->rank > 0 ? a->dims[a->rank - 1] : 0;
  out_cost->macs = npuc_value_elements(n->outputs[0]) * (dim_is_number(k) ? (double)k : 1.0);
}

const op_def npuc_op_gemm = {
    .id = OP_GEMM,
    .domain = "",
    .type = "Gemm",
    .since_version = 13,
    .oldest_version = 11,
    .summary = "Product of two matrices and a bias.",
    .formula = "Y = alpha * A' B' + beta * C",
    .source = "ONNX Gemm-13",
    PORTS_IN(gemm_inputs, 2),
    PORTS_OUT(gemm_outputs, 1),
    ATTRIBUTES(gemm_fields, gemm_attributes),
    .infer = gemm_infer,
    .verify = gemm_verify,
    .cost = gemm_cost,
    .eval = npuc_eval_gemm,
};

const op_def npuc_op_matmul = {
    .id = OP_MATMUL,
    .domain = "",
    .type = "MatMul",
    .since_version = 13,
    .oldest_version = 9,
    .summary = "Product of stacks of matrices; leading axes broadcast.",
    .formula = "Y[..., m, n] = sum over k of A[..., m, k] * B[..., k, n]",
    .source = "ONNX MatMul-13; numpy.matmul",
    PORTS_IN(matmul_inputs, 2),
    PORTS_OUT(matmul_outputs, 1),
    .infer = matmul_infer,
    .cost = matmul_cost,
    .eval = npuc_eval_matmul,
};

/* -- ONNX's own integer operators -- */
static const op_port integer_inputs[] = {
    {.name = "A", .doc = "[..., M, K], 8 bits"},
    {.name = "B", .doc = "[..., K, N], 8 bits"},
    {.name = "a_zero_point", .optional = true, .doc = "one, or one per row; 0 when absent"},
    {.name = "b_zero_point", .optional = true, .doc = "one, or one per column; 0 when absent"},
};
static const op_port integer_outputs[] = {{.name = "Y", .doc = "[..., M, N], int32"}};
static const op_port qlinear_inputs[] = {
    {.name = "a", .doc = "[..., M, K], 8 bits"},          {.name = "a_scale", .doc = "one, or one per row"},
    {.name = "a_zero_point", .doc = "as a_scale"},        {.name = "b", .doc = "[..., K, N], 8 bits"},
    {.name = "b_scale", .doc = "one, or one per column"}, {.name = "b_zero_point", .doc = "as b_scale"},
    {.name = "y_scale", .doc = "one, or one per row"},    {.name = "y_zero_point", .doc = "as y_scale; gives y's type"},
};
static const op_port qlinear_outputs[] = {{.name = "y", .doc = "[..., M, N]"}};
static const op_port dynamic_inputs[] = {{.name = "x", .doc = "float32, any shape"}};
static const op_port dynamic_outputs[] = {
    {.name = "y", .doc = "uint8, as x"}, {.name = "y_scale", .doc = "scalar"}, {.name = "y_zero_point", .doc = "uint8 scalar"}};

const op_def npuc_op_matmulinteger = {
    ONNX_OP(matmulinteger, OP_MATMULINTEGER, "MatMulInteger", 10, 10),
    .summary = "Product of stacks of 8-bit matrices in 32 bits.",
    .formula = "Y[..., m, n] = sum over k of (A[..., m, k] - a_zero_point) * (B[..., k, n] - b_zero_point)",
    PORTS_IN(integer_inputs, 2),
    PORTS_OUT(integer_outputs, 1),
    .infer = matmulinteger_infer,
    .cost = matmul_cost,
};

const op_def npuc_op_qlinearmatmul = {
    ONNX_OP(qlinearmatmul, OP_QLINEARMATMUL, "QLinearMatMul", 21, 21),
    .summary = "Product of stacks of quantized matrices, quantized again.",
    .formula = "y = saturate(round_half_even(sum of (a - a_zero_point)(b - b_zero_point) * a_scale * b_scale / y_scale) + y_zero_point)",
    PORTS_IN(qlinear_inputs, 8),
    PORTS_OUT(qlinear_outputs, 1),
    .infer = qlinearmatmul_infer,
    .cost = matmul_cost,
};

const op_def npuc_op_dynamicquantizelinear = {
    ONNX_OP(dynamicquantizelinear, OP_DYNAMICQUANTIZELINEAR, "DynamicQuantizeLinear", 11, 11),
    .summary = "Quantizes by the range that the tensor itself has.",
    .formula =
        "y_scale = (max(x, 0) - min(x, 0)) / 255, 1 where that is 0; y_zero_point = round(-min(x, 0) / y_scale); y = saturate(round(x / "
        "y_scale) + y_zero_point)",
    PORTS_IN(dynamic_inputs, 1),
    PORTS_OUT(dynamic_outputs, 3),
    .infer = dynamicquantize_infer,
};
