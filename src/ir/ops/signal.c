/* SPDX-License-Identifier: Apache-2.0 */
/* Windows, MelWeightMatrix, DFT, STFT. */
#include <stddef.h>

#include "ir/ops/support.h"

static const op_port size_input[] = {{.name = "size", .doc = "int32 or int64 scalar: number of elements"}};
static const op_port window_output[] = {{.name = "output", .doc = "[size]"}};
static const attr_field window_fields[] = {
    FIELD_INT(signal_window_attributes, output_datatype, 1, "TensorProto.DataType of the output"),
    FIELD_INT(signal_window_attributes, periodic, 1, "1: N = size; 0: N = size - 1, symmetric"),
};

static npuc_status window_infer(infer_context *c) {
  int64_t type = NPUC_ATTRS(signal_window_attributes, c->node)->output_datatype;
  const fact *size = npuc_fact_input(c, 0);
  if (type <= DTYPE_NONE || type >= DTYPE_END || npuc_dtype_bits((dtype)type) == 0)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "output_datatype", "%lld is not a number type", (long long)type);
  c->outputs[0].type = (dtype)type;
  npuc_infer_free_shape(c, 1);
  elements e;
  if (!npuc_elements_read(size, &e) || e.count != 1) return NPUC_OK;
  if (e.at[0].is_number && e.at[0].number < 0)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "size", "%lld given; 0 or more wanted", (long long)e.at[0].number);
  dim length = npuc_element_dim(&e.at[0]);
  if (length != DIM_UNKNOWN) c->outputs[0].shape.dims[0] = length;
  return NPUC_OK;
}

static npuc_status window_verify(diag *d, const node *n) {
  return npuc_verify_flag(d, n, "periodic", NPUC_ATTRS(signal_window_attributes, n)->periodic);
}

#define WINDOW(op_symbol, op_enum, name, text, rule)       \
  const op_def npuc_op_##op_symbol = {                     \
      ONNX_OP(op_symbol, op_enum, name, 17, 17),           \
      .summary = text,                                     \
      .formula = rule,                                     \
      PORTS_IN(size_input, 1),                             \
      PORTS_OUT(window_output, 1),                         \
      ATTRIBUTES(window_fields, signal_window_attributes), \
      .infer = window_infer,                               \
      .verify = window_verify,                             \
  }

WINDOW(hannwindow, OP_HANNWINDOW, "HannWindow", "Hann window.", "output[i] = 0.5 - 0.5 cos(2 pi i / N)");
WINDOW(hammingwindow, OP_HAMMINGWINDOW, "HammingWindow", "Hamming window.", "output[i] = 25/46 - 21/46 cos(2 pi i / N)");
WINDOW(blackmanwindow, OP_BLACKMANWINDOW, "BlackmanWindow", "Blackman window.",
       "output[i] = 0.42 - 0.5 cos(2 pi i / N) + 0.08 cos(4 pi i / N)");

/* -- MelWeightMatrix -- */
static const op_port mel_inputs[] = {
    {.name = "num_mel_bins", .doc = "int32 or int64 scalar: M"},
    {.name = "dft_length", .doc = "int32 or int64 scalar: N"},
    {.name = "sample_rate", .doc = "int32 or int64 scalar, hertz"},
    {.name = "lower_edge_hertz", .doc = "float scalar"},
    {.name = "upper_edge_hertz", .doc = "float scalar"},
};
static const op_port mel_outputs[] = {{.name = "output", .doc = "[floor(N / 2) + 1, M]"}};
static const attr_field mel_fields[] = {FIELD_INT(signal_window_attributes, output_datatype, 1, "TensorProto.DataType of the output")};

/* A number of scalar input `index`: DIM_UNKNOWN when it is not one that is known. */
static npuc_status scalar_of(infer_context *c, int32_t index, int64_t least, dim *out) {
  elements e;
  *out = DIM_UNKNOWN;
  if (!npuc_elements_numbers(npuc_fact_input(c, index), &e) || e.count != 1) return NPUC_OK;
  *out = e.at[0].number;
  if (*out >= least) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, c->node->op->inputs[index].name, "%lld given; %lld or more wanted", (long long)*out,
                      (long long)least);
}

static npuc_status mel_infer(infer_context *c) {
  int64_t type = NPUC_ATTRS(signal_window_attributes, c->node)->output_datatype;
  if (type <= DTYPE_NONE || type >= DTYPE_END || npuc_dtype_bits((dtype)type) == 0)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "output_datatype", "%lld is not a number type", (long long)type);
  c->outputs[0].type = (dtype)type;
  npuc_infer_free_shape(c, 2);
  dim bins, length, rate;
  NPUC_TRY(scalar_of(c, 0, 0, &bins));
  NPUC_TRY(scalar_of(c, 1, 1, &length));
  NPUC_TRY(scalar_of(c, 2, 1, &rate));
  if (length != DIM_UNKNOWN) c->outputs[0].shape.dims[0] = length / 2 + 1;
  if (bins != DIM_UNKNOWN) c->outputs[0].shape.dims[1] = bins;
  return NPUC_OK;
}

const op_def npuc_op_melweightmatrix = {
    ONNX_OP(melweightmatrix, OP_MELWEIGHTMATRIX, "MelWeightMatrix", 17, 17),
    .summary = "Triangular filters of equal width on the mel scale, for the bins of a one-sided DFT.",
    .formula =
        "mel(f) = 2595 log10(1 + f / 700); edges e[k] = floor((N + 1) hertz(mel(lower) + k (mel(upper) - mel(lower)) / (M + 2)) / "
        "sample_rate); column i rises from e[i] to 1 at e[i + 1] and falls to e[i + 2]",
    PORTS_IN(mel_inputs, 5),
    PORTS_OUT(mel_outputs, 1),
    ATTRIBUTES(mel_fields, signal_window_attributes),
    .infer = mel_infer,
};

/* -- DFT, STFT -- */
static const op_port dft_inputs[] = {
    {.name = "input", .doc = "[..., 1] real or [..., 2] complex"},
    {.name = "dft_length", .optional = true, .doc = "integer scalar N; the axis is cut or filled with 0 to it"},
    {.name = "axis", .optional = true, .doc = "int64 scalar; -2 when absent"},
};
static const op_port dft_outputs[] = {
    {.name = "output", .doc = "as input with N along the axis, [..., 2]; [..., 1] when inverse and one-sided"}};
static const attr_field dft_fields[] = {
    FIELD_INT(dft_attributes, inverse, 0, "1: the inverse transform, divided by N"),
    FIELD_INT(dft_attributes, onesided, 0,
              "1: of N values of a real signal's transform only the first floor(N / 2) + 1 are made, or given"),
};

static npuc_status last_axis(infer_context *c, const char *port, const fact *x) {
  const dft_attributes *a = NPUC_ATTRS(dft_attributes, c->node);
  dim last = x->shape.rank > 0 ? x->shape.dims[x->shape.rank - 1] : 1;
  if (a->onesided && !a->inverse && last == 2)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "onesided", "the input is complex: only a real signal's transform is symmetric");
  if (x->shape.rank >= 2 && (!dim_is_number(last) || last == 1 || last == 2)) return NPUC_OK;
  char text[SHAPE_TEXT];
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, port, "%s given; a signal axis and a last axis of 1 (real) or 2 (complex) wanted",
                      npuc_shape_text(c->module, &x->shape, text));
}

/* The dim along the transformed axis. */
static dim bins_of(infer_context *c, const dft_attributes *a, dim signal, dim given, int32_t axis) {
  dim n = given;
  if (npuc_fact_input(c, 1) == NULL) n = !dim_is_number(signal) || !(a->inverse && a->onesided) ? signal : 2 * (signal - 1);
  if (dim_is_number(n) && a->onesided && !a->inverse) n = n / 2 + 1;
  bool changed = a->onesided && !dim_is_number(n);
  return n == DIM_UNKNOWN || changed ? npuc_infer_free_dim(c, 0, axis) : n;
}

static npuc_status dft_infer(infer_context *c) {
  const dft_attributes *a = NPUC_ATTRS(dft_attributes, c->node);
  const fact *x = npuc_fact_input(c, 0);
  elements e = {0};
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->type != DTYPE_NONE && npuc_dtype_kind(x->type) != KIND_FLOAT)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "input", "%s given; floats wanted", npuc_dtype_name(x->type));
  dim length;
  NPUC_TRY(scalar_of(c, 1, 1, &length));
  if (x->shape.rank < 0) return NPUC_OK;
  NPUC_TRY(last_axis(c, "input", x));
  int32_t rank = x->shape.rank, axis = rank - 2;
  bool known = !npuc_fact_input(c, 2) || (npuc_elements_numbers(npuc_fact_input(c, 2), &e) && e.count == 1);
  if (npuc_fact_input(c, 2) && known) NPUC_TRY(npuc_require_axis(c, e.at[0].number, rank, &axis));
  if (axis == rank - 1) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "axis", "the last axis holds real and imaginary parts");
  fact *y = &c->outputs[0];
  y->shape = x->shape;
  y->shape.dims[rank - 1] = a->inverse && a->onesided ? 1 : 2;
  for (int32_t i = 0; !known && i < rank - 1; i++) y->shape.dims[i] = npuc_infer_free_dim(c, 0, i);
  if (known) y->shape.dims[axis] = bins_of(c, a, x->shape.dims[axis], length, axis);
  if (y->shape.dims[axis] == 0) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "input", "a transform of no elements");
  return NPUC_OK;
}

static npuc_status dft_verify(diag *d, const node *n) {
  const dft_attributes *a = NPUC_ATTRS(dft_attributes, n);
  NPUC_TRY(npuc_verify_flag(d, n, "inverse", a->inverse));
  return npuc_verify_flag(d, n, "onesided", a->onesided);
}

const op_def npuc_op_dft = {
    ONNX_OP(dft, OP_DFT, "DFT", 20, 20),
    .summary = "Discrete Fourier transform along an axis.",
    .formula = "y[k] = sum over n of x[n] exp(-2 pi j k n / N); inverse: x[n] = (1 / N) sum over k of y[k] exp(2 pi j k n / N)",
    PORTS_IN(dft_inputs, 1),
    PORTS_OUT(dft_outputs, 1),
    ATTRIBUTES(dft_fields, dft_attributes),
    .infer = dft_infer,
    .verify = dft_verify,
};

static const op_port stft_inputs[] = {
    {.name = "signal", .doc = "[B, L, 1] real or [B, L, 2] complex"},
    {.name = "frame_step", .doc = "integer scalar: samples from frame to frame"},
    {.name = "window", .optional = true, .doc = "[N]: multiplies each frame; 1 when absent"},
    {.name = "frame_length", .optional = true, .doc = "integer scalar N; the window's length, or L, when absent"},
};
static const op_port stft_outputs[] = {{.name = "output", .doc = "[B, floor((L - N) / step) + 1, N or floor(N / 2) + 1, 2]"}};
static const attr_field stft_fields[] = {FIELD_INT(dft_attributes, onesided, 1, "1: only the first floor(N / 2) + 1 values")};

static npuc_status frame_length(infer_context *c, const shape *x, dim *out) {
  const fact *window = npuc_fact_input(c, 2);
  dim of_window = DIM_UNKNOWN;
  NPUC_TRY(scalar_of(c, 3, 1, out));
  if (window && window->shape.rank >= 0) {
    if (window->shape.rank != 1)
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "window", "rank %d given; 1 wanted", (int)window->shape.rank);
    of_window = window->shape.dims[0];
  }
  if (!npuc_dim_merge(*out, of_window, out))
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "window", "%lld elements given; frame_length is %lld", (long long)of_window,
                        (long long)*out);
  if (!window && !npuc_fact_input(c, 3)) *out = x->dims[1];
  return NPUC_OK;
}

static npuc_status stft_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  dim step, n;
  if (!x) return NPUC_OK;
  c->outputs[0].type = x->type;
  if (x->type != DTYPE_NONE && npuc_dtype_kind(x->type) != KIND_FLOAT)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "signal", "%s given; floats wanted", npuc_dtype_name(x->type));
  NPUC_TRY(scalar_of(c, 1, 1, &step));
  npuc_infer_free_shape(c, 4);
  if (x->shape.rank < 0) return NPUC_OK;
  if (x->shape.rank != 3) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "signal", "rank %d given; 3 wanted", (int)x->shape.rank);
  NPUC_TRY(last_axis(c, "signal", x));
  NPUC_TRY(frame_length(c, &x->shape, &n));
  shape *y = &c->outputs[0].shape;
  y->dims[0] = x->shape.dims[0];
  y->dims[3] = 2;
  if (!dim_is_number(n)) return NPUC_OK;
  if (n < 1) return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "window", "frames of no elements");
  y->dims[2] = NPUC_ATTRS(dft_attributes, c->node)->onesided ? n / 2 + 1 : n;
  if (!dim_is_number(x->shape.dims[1]) || !dim_is_number(step)) return NPUC_OK;
  if (x->shape.dims[1] < n)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "signal", "%lld samples given; a frame has %lld", (long long)x->shape.dims[1],
                        (long long)n);
  y->dims[1] = (x->shape.dims[1] - n) / step + 1;
  return NPUC_OK;
}

const op_def npuc_op_stft = {
    ONNX_OP(stft, OP_STFT, "STFT", 17, 17),
    .summary = "Discrete Fourier transforms of overlapping frames of a signal.",
    .formula = "output[b, f, k] = sum over n of window[n] signal[b, f * step + n] exp(-2 pi j k n / N)",
    PORTS_IN(stft_inputs, 2),
    PORTS_OUT(stft_outputs, 1),
    ATTRIBUTES(stft_fields, dft_attributes),
    .infer = stft_infer,
    .verify = dft_verify,
};
