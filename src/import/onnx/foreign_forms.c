/* SPDX-License-Identifier: Apache-2.0 */
/* The forms, see foreign.h. The first that suits is taken. tests/data/foreign has ONNX Runtime's answer to each, and QONNX's formulas. */
#include "import/onnx/foreign.h"

#define QUANT(round_node, when_mode)                                                                                    \
  {                                                                                                                     \
    "qonnx", "Quant", when_mode,                                                                                        \
        "Quant <signed: int = 1, narrow: int = 0, rounding_mode: string = \"ROUND\"> (x, scale, zero, bits) => (y) {\n" \
        "  one = Constant <value = float {1}> ()\n"                                                                     \
        "  two = Constant <value = float {2}> ()\n"                                                                     \
        "  si = Constant <value_int: int = @signed> ()\n"                                                               \
        "  s = Cast <to: int = 1> (si)\n"                                                                               \
        "  ni = Constant <value_int: int = @narrow> ()\n"                                                               \
        "  n = Cast <to: int = 1> (ni)\n"                                                                               \
        "  magnitude = Sub (bits, s)\n"                                                                                 \
        "  p = Pow (two, magnitude)\n"                                                                                  \
        "  narrowed = Sub (n, p)\n"                                                                                     \
        "  lo = Mul (s, narrowed)\n"                                                                                    \
        "  unsigned = Sub (one, s)\n"                                                                                   \
        "  cut = Mul (unsigned, n)\n"                                                                                   \
        "  top = Sub (p, one)\n"                                                                                        \
        "  hi = Sub (top, cut)\n"                                                                                       \
        "  scaled = Div (x, scale)\n"                                                                                   \
        "  shifted = Add (scaled, zero)\n"                                                                              \
        "  below = Min (shifted, hi)\n"                                                                                 \
        "  q = Max (below, lo)\n" round_node                                                                            \
        "  single = Equal (bits, one)\n"                                                                                \
        "  is_signed = Cast <to: int = 9> (si)\n"                                                                       \
        "  bipolar = And (single, is_signed)\n"                                                                         \
        "  zero_ = Constant <value = float {0}> ()\n"                                                                   \
        "  minus = Neg (one)\n"                                                                                         \
        "  up = GreaterOrEqual (shifted, zero_)\n"                                                                      \
        "  signs = Where (up, one, minus)\n"                                                                            \
        "  integer = Where (bipolar, signs, rounded)\n"                                                                 \
        "  centred = Sub (integer, zero)\n"                                                                             \
        "  y = Mul (centred, scale)\n"                                                                                  \
        "}\n"                                                                                                           \
  }

/* Away from and toward 0: of the absolute value, whose sign comes back. */
#define BY_MAGNITUDE(nodes) "  sign = Sign (q)\n  size = Abs (q)\n" nodes "  rounded = Mul (sign, whole)\n"
#define HALF "  half = Constant <value = float {0.5}> ()\n"

#define TRUNC(round_node, when_mode)                                                               \
  {                                                                                                \
    "qonnx", "Trunc", when_mode,                                                                   \
        "Trunc <rounding_mode: string = \"FLOOR\"> (x, scale, zero, in_bits, out_bits) => (y) {\n" \
        "  two = Constant <value = float {2}> ()\n"                                                \
        "  scaled = Div (x, scale)\n"                                                              \
        "  shifted = Add (scaled, zero)\n"                                                         \
        "  integer = Round (shifted)\n"                                                            \
        "  bits = Sub (in_bits, out_bits)\n"                                                       \
        "  step = Pow (two, bits)\n"                                                               \
        "  q = Div (integer, step)\n" round_node                                                   \
        "  centred = Sub (rounded, zero)\n"                                                        \
        "  y = Mul (centred, scale)\n"                                                             \
        "}\n"                                                                                      \
  }

#define ROUNDINGS(OP, usual)                                                                                               \
  OP("  rounded = Round (q)\n", "rounding_mode=ROUND" usual), OP("  rounded = Round (q)\n", "rounding_mode=HALF_EVEN"),    \
      OP("  rounded = Ceil (q)\n", "rounding_mode=CEIL"), OP(BY_MAGNITUDE("  whole = Ceil (size)\n"), "rounding_mode=UP"), \
      OP(BY_MAGNITUDE("  whole = Floor (size)\n"), "rounding_mode=DOWN"),                                                  \
      OP(BY_MAGNITUDE(HALF "  more = Add (size, half)\n  whole = Floor (more)\n"), "rounding_mode=HALF_UP"),               \
      OP(BY_MAGNITUDE(HALF "  less = Sub (size, half)\n  whole = Ceil (less)\n"), "rounding_mode=HALF_DOWN")

#define ML "ai.onnx.ml"
#define MS "com.microsoft"
#define RMS(domain)                                                                                                            \
  {                                                                                                                            \
    domain, "SimplifiedLayerNormalization", "",                                                                                \
        "SimplifiedLayerNormalization <axis, epsilon, stash_type> (X, scale) => (Y) {\n"                                       \
        "  Y = RMSNormalization <axis: int = @axis, epsilon: float = @epsilon, stash_type: int = @stash_type> (X, scale)\n}\n" \
  }

#define SKIP(type, when, inputs, sum, norm) \
  { MS, type, when, type " <epsilon: float = 1e-12> " inputs " => (output, mean, inv_std_var, input_skip_bias_sum) {\n" sum norm "}\n" }
#define SKIP_SUM "  input_skip_bias_sum = Add (input, skip)\n"
#define SKIP_BIAS_SUM "  both = Add (input, skip)\n  input_skip_bias_sum = Add (both, bias)\n"
#define LAYER_NORM \
  "  output, mean, inv_std_var = LayerNormalization <axis: int = -1, epsilon: float = @epsilon> (input_skip_bias_sum, gamma, beta)\n"
#define RMS_NORM "  output = RMSNormalization <axis: int = -1, epsilon: float = @epsilon> (input_skip_bias_sum, gamma)\n"

#define FUSED_MATMUL(when, left, right)                                                                                                 \
  {                                                                                                                                     \
    MS, "FusedMatMul", when " transBatchA=0? transBatchB=0?",                                                                           \
        "FusedMatMul <alpha: float = 1.0, transA: int = 0, transB: int = 0, transBatchA: int = 0, transBatchB: int = 0> (A, B) => (Y) " \
        "{\n" left right                                                                                                                \
        "  product = MatMul (a, b)\n  factor = Constant <value_float: float = @alpha> ()\n  typed = CastLike (factor, A)\n"             \
        "  Y = Mul (product, typed)\n}\n"                                                                                               \
  }
#define PLAIN(to, from) "  " to " = Identity (" from ")\n"
#define TURNED(to, from) "  " to " = Einsum <equation: string = \"...ij->...ji\"> (" from ")\n"

#define CONV_FIELDS "auto_pad, dilations, group, kernel_shape, pads, strides"
#define CONV                                                                                                                    \
  "Conv <auto_pad: string = @auto_pad, dilations: ints = @dilations, group: int = @group, kernel_shape: ints = @kernel_shape, " \
  "pads: ints = @pads, strides: ints = @strides> (X, W, B)\n"
#define FUSED_CONV(name, activation)                                                                                                    \
  {MS, "FusedConv", "!3 activation=" name,                                                                                              \
   "FusedConv <" CONV_FIELDS ", activation, activation_params> (X, W, B, Z) => (Y) {\n  v = " CONV activation "}\n"},                   \
  {                                                                                                                                     \
    MS, "FusedConv", "3 activation=" name,                                                                                              \
        "FusedConv <" CONV_FIELDS ", activation, activation_params> (X, W, B, Z) => (Y) {\n  c = " CONV "  v = Add (c, Z)\n" activation \
        "}\n"                                                                                                                           \
  }
#define FUSED_GEMM(name, activation)                                                                                                    \
  {                                                                                                                                     \
    MS, "FusedGemm", "activation=" name,                                                                                                \
        "FusedGemm <alpha, beta, transA, transB, activation, activation_alpha, activation_beta, activation_gamma> (A, B, C) => (Y) {\n" \
        "  v = Gemm <alpha: float = @alpha, beta: float = @beta, transA: int = @transA, transB: int = @transB> (A, B, C)\n" activation  \
        "}\n"                                                                                                                           \
  }
/* activation_params are elements of a list here: operators that take them as inputs. */
#define PARAMETER(name, index) "  at" #index " = Constant <value = int64 {" #index "}> ()\n  " name " = Gather (params, at" #index ")\n"
#define PARAMETERS "  params = Constant <value_floats: floats = @activation_params> ()\n"

#define DEQUANTIZE(to, x, scale, zero) "  " to " = DequantizeLinear (" x ", " scale ", " zero ")\n"
#define QUANTIZE(zero) "  C = QuantizeLinear (r, C_scale, " zero ")\n"
/* Without a zero point of the result it is 0, of A's type. */
#define ZERO_LIKE(x) "  none = Constant <value = int32 {0}> ()\n  of_type = CastLike (none, " x ")\n"
#define QLINEAR_BINARY(type, node)                                                                                                    \
  {MS, type, "7",                                                                                                                     \
   type " (A, A_scale, A_zero, B, B_scale, B_zero, C_scale, C_zero) => (C) {\n" DEQUANTIZE("a", "A", "A_scale", "A_zero")             \
       DEQUANTIZE("b", "B", "B_scale", "B_zero") "  r = " node " (a, b)\n" QUANTIZE("C_zero") "}\n"},                                 \
  {                                                                                                                                   \
    MS, type, "!7",                                                                                                                   \
        type " (A, A_scale, A_zero, B, B_scale, B_zero, C_scale) => (C) {\n" ZERO_LIKE("A") DEQUANTIZE("a", "A", "A_scale", "A_zero") \
            DEQUANTIZE("b", "B", "B_scale", "B_zero") "  r = " node " (a, b)\n" QUANTIZE("of_type") "}\n"                             \
  }
#define QLINEAR_UNARY(type, when, fields, node)                                                                          \
  {MS, type, "4 " when,                                                                                                  \
   type fields " (X, X_scale, X_zero, C_scale, C_zero) => (C) {\n" DEQUANTIZE("v", "X", "X_scale", "X_zero")             \
       node QUANTIZE("C_zero") "}\n"},                                                                                   \
  {                                                                                                                      \
    MS, type, "!4 " when,                                                                                                \
        type fields " (X, X_scale, X_zero, C_scale) => (C) {\n" ZERO_LIKE("X") DEQUANTIZE("v", "X", "X_scale", "X_zero") \
            node QUANTIZE("of_type") "}\n"                                                                               \
  }
#define POOL_FIELDS " <auto_pad, ceil_mode, count_include_pad, kernel_shape, pads, strides, channels_last: int = 0>"
#define POOL                                                                                                                    \
  "  r = AveragePool <auto_pad: string = @auto_pad, ceil_mode: int = @ceil_mode, count_include_pad: int = @count_include_pad, " \
  "kernel_shape: ints = @kernel_shape, pads: ints = @pads, strides: ints = @strides> (v)\n"
#define CONCAT_PART(i) DEQUANTIZE("v" #i, "x" #i, "s" #i, "z" #i)
#define QLINEAR_CONCAT(when, ports, nodes, values)                                                                       \
  {                                                                                                                      \
    MS, "QLinearConcat", when,                                                                                           \
        "QLinearConcat <axis> (C_scale, C_zero, " ports ") => (C) {\n" nodes "  r = Concat <axis: int = @axis> (" values \
        ")\n" QUANTIZE("C_zero") "}\n"                                                                                   \
  }

/* Weights of 4 bits, the low half of a byte first: B [N, blocks, block_size / 2] becomes [N, blocks, block_size]. */
#define HALVES(to, from)                                                                                              \
  "  fifteen" to " = Constant <value = uint8 {15}> ()\n  low" to " = BitwiseAnd (" from ", fifteen" to ")\n  four" to \
  " = Constant <value = uint8 {4}> ()\n"                                                                              \
  "  high" to " = BitShift <direction: string = \"RIGHT\"> (" from ", four" to ")\n  last" to                         \
  " = Constant <value_ints: ints = [-1]> ()\n"                                                                        \
  "  low_" to " = Unsqueeze (low" to ", last" to ")\n  high_" to " = Unsqueeze (high" to ", last" to                  \
  ")\n"                                                                                                               \
  "  " to " = Concat <axis: int = -1> (low_" to ", high_" to ")\n"
#define NBITS_HEAD \
  "MatMulNBits <K, N, bits: int = 4, block_size, accuracy_level> (A, B, scales, zeros, order, bias) => (Y) {\n" HALVES("pairs", "B") \
  "  rows = Constant <value_ints: ints = [0, 0, -1]> ()\n  codes = Reshape (pairs, rows)\n  q = CastLike (codes, scales)\n"        \
  "  grid = Shape <start: int = 0, end: int = 2> (B)\n  single = Constant <value_ints: ints = [1]> ()\n"                            \
  "  per_block = Concat <axis: int = 0> (grid, single)\n  s = Reshape (scales, per_block)\n"
#define NBITS_TAIL                                                                                                                       \
  "  centred = Sub (q, z)\n  w = Mul (centred, s)\n  matrix = Constant <value_ints: ints = [0, -1]> ()\n  whole = Reshape (w, matrix)\n" \
  "  zero = Constant <value_ints: ints = [0]> ()\n  depth = Constant <value_int: int = @K> ()\n  end = Unsqueeze (depth, zero)\n"        \
  "  used = Slice (whole, zero, end, single)\n  turned = Transpose <perm: ints = [1, 0]> (used)\n"
#define NBITS_EIGHT "  eight = Constant <value = int32 {8}> ()\n  z = CastLike (eight, scales)\n"
#define NBITS_ZEROS \
  "  outs = Shape <start: int = 0, end: int = 1> (B)\n  minus = Constant <value_ints: ints = [-1]> ()\n  lines = Concat <axis: int = 0> " \
  "(outs, minus)\n" \
  "  packed = Reshape (zeros, lines)\n" HALVES("z_pairs", "packed") "  z_all = Reshape (z_pairs, lines)\n"              \
  "  none = Constant <value_ints: ints = [0]> ()\n  blocks = Shape <start: int = 1, end: int = 2> (B)\n"                  \
  "  z_used = Slice (z_all, none, blocks, single)\n  z_typed = CastLike (z_used, scales)\n  z = Reshape (z_typed, per_block)\n"
#define NBITS(when, zeros, last) \
  { MS, "MatMulNBits", when " !4 bits=4?", NBITS_HEAD zeros NBITS_TAIL last "}\n" }
#define NBITS_PLAIN "  Y = MatMul (A, turned)\n"
#define NBITS_BIAS "  product = MatMul (A, turned)\n  Y = Add (product, bias)\n"

/* Query heads in groups of those that share a key head: [B, Hkv, group, L, E]. `parameter` and `cast` say in which type scores and probabilities are. */
#define FLEX(when, parameter, cast)                                                                                                  \
  {                                                                                                                                  \
    "ai.onnx.preview", "FlexAttention", when,                                                                                      \
        "FlexAttention <" parameter "scale: float = nan, score_mod, prob_mod> (Q, K, V) => (Y) {\n"                                \
        "  given = Constant <value_float: float = @scale> ()\n"                                                                    \
        "  size = Shape <start: int = 3, end: int = 4> (Q)\n  size_f = Cast <to: int = 1> (size)\n  root = Sqrt (size_f)\n"        \
        "  usual = Reciprocal (root)\n  absent = IsNaN (given)\n  scale1 = Where (absent, usual, given)\n"                         \
        "  half = Sqrt (scale1)\n  factor = CastLike (half, Q)\n"                                                                  \
        "  zero = Constant <value_ints: ints = [0]> ()\n  rest = Constant <value_ints: ints = [-1]> ()\n"                          \
        "  two = Constant <value_ints: ints = [2]> ()\n"                                                                           \
        "  kv = Shape <start: int = 1, end: int = 2> (K)\n  le = Shape <start: int = 2, end: int = 4> (Q)\n"                       \
        "  rows = Shape <start: int = 0, end: int = 3> (Q)\n  keys = Shape <start: int = 2, end: int = 3> (K)\n"                   \
        "  width = Shape <start: int = 3, end: int = 4> (V)\n  length = Shape <start: int = 2, end: int = 3> (Q)\n"                \
        "  q_dims = Concat <axis: int = 0> (zero, kv, rest, le)\n  q = Mul (Q, factor)\n  k = Mul (K, factor)\n"                   \
        "  q5 = Reshape (q, q_dims)\n  kt = Transpose <perm: ints = [0, 1, 3, 2]> (k)\n  k5 = Unsqueeze (kt, two)\n"               \
        "  s5 = MatMul (q5, k5)\n  s_dims = Concat <axis: int = 0> (rows, keys)\n  s4 = Reshape (s5, s_dims)\n" cast("s4", "s")    \
        "  m = npuc.Inline <graph: graph = @score_mod> (s)\n  p = Softmax <axis: int = -1> (m)\n"                                  \
        "  w = npuc.Inline <graph: graph = @prob_mod> (p)\n"                                                                       \
        "  p_dims = Concat <axis: int = 0> (zero, kv, rest, length, keys)\n  p5 = Reshape (w, p_dims)\n" cast("V", "v")            \
        "  v5 = Unsqueeze (v, two)\n  y5 = MatMul (p5, v5)\n  y_dims = Concat <axis: int = 0> (rows, width)\n"                    \
        "  y4 = Reshape (y5, y_dims)\n  Y = CastLike (y4, V)\n}\n" \
  }
#define FLEX_KEEP(from, to) "  " to " = Identity (" from ")\n"
#define FLEX_FLOAT(from, to) "  " to " = Cast <to: int = 1> (" from ")\n"
#define FLEX_GIVEN(from, to) "  " to " = Cast <to: int = @softmax_precision> (" from ")\n"

/* A table of keys, searched by comparing with all of them; NaN, the one value that differs from itself, finds NaN. */
#define LABELS(keys_kind, keys, values_kind, values, others_kind, others, when, defaults)                                      \
  {                                                                                                                            \
    ML, "LabelEncoder", keys "* " values "* " when,                                                                            \
        "LabelEncoder <" keys ", " values ", " defaults                                                                        \
        "> (X) => (Y) {\n"                                                                                                     \
        "  keys = Constant <" keys_kind " = @" keys "> ()\n  values = Constant <" values_kind " = @" values                    \
        "> ()\n"                                                                                                               \
        "  others = Constant <" others_kind " = @" others                                                                      \
        "> ()\n"                                                                                                               \
        "  last = Constant <value_ints: ints = [-1]> ()\n  x = Unsqueeze (X, last)\n  same = Equal (x, keys)\n"                \
        "  xx = Equal (x, x)\n  kk = Equal (keys, keys)\n  x_nan = Not (xx)\n  k_nan = Not (kk)\n  nan = And (x_nan, k_nan)\n" \
        "  hit = Or (same, nan)\n  hits = Cast <to: int = 6> (hit)\n"                                                          \
        "  place = ArgMax <axis: int = -1, keepdims: int = 0> (hits)\n"                                                        \
        "  any = ReduceMax <keepdims: int = 0> (hits, last)\n  found = Cast <to: int = 9> (any)\n"                             \
        "  v = Gather <axis: int = 0> (values, place)\n  Y = Where (found, v, others)\n}\n"                                    \
  }
#define LABELS_OF(keys_kind, keys)                                                                                    \
  LABELS(keys_kind, keys, "value_strings: strings", "values_strings", "value_string: string", "default_string", "",   \
         "default_string: string = \"_Unused\", default_int64, default_float"),                                       \
      LABELS(keys_kind, keys, "value_ints: ints", "values_int64s", "value_int: int", "default_int64", "",             \
             "default_int64: int = -1, default_string, default_float"),                                               \
      LABELS(keys_kind, keys, "value_floats: floats", "values_floats", "value_float: float", "default_float", "",     \
             "default_float: float = -0.0, default_int64, default_string"),                                           \
      LABELS(keys_kind, keys, "value: tensor", "values_tensor", "value: tensor", "default_tensor", "default_tensor*", \
             "default_tensor, default_int64, default_string, default_float")

const foreign_form npuc_foreign_forms[] = {
    LABELS_OF("value_strings: strings", "keys_strings"),
    LABELS_OF("value_ints: ints", "keys_int64s"),
    LABELS_OF("value_floats: floats", "keys_floats"),
    LABELS_OF("value: tensor", "keys_tensor"),
    {ML, "Binarizer", "",
     "Binarizer <threshold: float = 0.0> (X) => (Y) {\n  t = Constant <value_float: float = @threshold> ()\n"
     "  wide_t = Cast <to: int = 11> (t)\n  wide = Cast <to: int = 11> (X)\n  above = Greater (wide, wide_t)\n  Y = CastLike (above, "
     "X)\n}\n"},
    {ML, "ArrayFeatureExtractor", "", /* a vector's features are a row: [1, n] */
     "ArrayFeatureExtractor (X, Y) => (Z) {\n  rest = Constant <value_ints: ints = [-1]> ()\n  at = Reshape (Y, rest)\n"
     "  z = Gather <axis: int = -1> (X, at)\n  lead = Shape <start: int = 0, end: int = -1> (X)\n  dims = Shape (X)\n  rank = Shape "
     "(dims)\n"
     "  one = Constant <value_ints: ints = [1]> ()\n  zero = Constant <value_ints: ints = [0]> ()\n  flat = Equal (rank, one)\n"
     "  row = Cast <to: int = 7> (flat)\n  first = Slice (one, zero, row)\n  target = Concat <axis: int = 0> (first, lead, rest)\n"
     "  Z = Reshape (z, target)\n}\n"},
    FLEX("softmax_precision! 0:double", "", FLEX_KEEP),
    FLEX("softmax_precision!", "", FLEX_FLOAT),
    FLEX("", "softmax_precision, ", FLEX_GIVEN),
    ROUNDINGS(QUANT, "?"),
    TRUNC("  rounded = Floor (q)\n", "rounding_mode=FLOOR?"),
    QUANT("  rounded = Floor (q)\n", "rounding_mode=FLOOR"),
    ROUNDINGS(TRUNC, ""),
    {"qonnx", "BipolarQuant", "",
     "BipolarQuant (x, scale) => (y) {\n"
     "  one = Constant <value = float {1}> ()\n"
     "  minus = Neg (one)\n"
     "  zero = Constant <value = float {0}> ()\n"
     "  v = Div (x, scale)\n"
     "  up = GreaterOrEqual (v, zero)\n"
     "  signs = Where (up, one, minus)\n"
     "  y = Mul (signs, scale)\n"
     "}\n"},
    RMS(""),
    RMS(MS),
    SKIP("SkipLayerNormalization", "!4", "(input, skip, gamma, beta)", SKIP_SUM, LAYER_NORM),
    SKIP("SkipLayerNormalization", "4", "(input, skip, gamma, beta, bias)", SKIP_BIAS_SUM, LAYER_NORM),
    SKIP("SkipSimplifiedLayerNormalization", "!3", "(input, skip, gamma)", SKIP_SUM, RMS_NORM),
    SKIP("SkipSimplifiedLayerNormalization", "3", "(input, skip, gamma, bias)", SKIP_BIAS_SUM, RMS_NORM),
    {MS, "Gelu", "", "Gelu (X) => (Y) {\n  Y = Gelu (X)\n}\n"},
    {MS, "FastGelu", "!1", "FastGelu (X) => (Y) {\n  Y = Gelu <approximate: string = \"tanh\"> (X)\n}\n"},
    {MS, "FastGelu", "1", "FastGelu (X, bias) => (Y) {\n  v = Add (X, bias)\n  Y = Gelu <approximate: string = \"tanh\"> (v)\n}\n"},
    {MS, "BiasGelu", "", "BiasGelu (A, B) => (C) {\n  v = Add (A, B)\n  C = Gelu (v)\n}\n"},
    {MS, "QuickGelu", "", "QuickGelu <alpha: float = 1.702> (X) => (Y) {\n  Y = Swish <alpha: float = @alpha> (X)\n}\n"},
    FUSED_MATMUL("transA=0? transB=0?", PLAIN("a", "A"), PLAIN("b", "B")),
    FUSED_MATMUL("transA=1 transB=0?", TURNED("a", "A"), PLAIN("b", "B")),
    FUSED_MATMUL("transA=0? transB=1", PLAIN("a", "A"), TURNED("b", "B")),
    FUSED_MATMUL("transA=1 transB=1", TURNED("a", "A"), TURNED("b", "B")),
    FUSED_CONV("Relu", "  Y = Relu (v)\n"),
    FUSED_CONV("Sigmoid", "  Y = Sigmoid (v)\n"),
    FUSED_CONV("Tanh", "  Y = Tanh (v)\n"),
    FUSED_CONV("LeakyRelu", PARAMETERS PARAMETER("slope", 0) "  Y = PRelu (v, slope)\n"),
    FUSED_CONV("Clip", PARAMETERS PARAMETER("lo", 0) PARAMETER("hi", 1) "  Y = Clip (v, lo, hi)\n"),
    FUSED_CONV("HardSigmoid",
               PARAMETERS PARAMETER("slope", 0) PARAMETER("base", 1) "  none = Constant <value = float {0}> ()\n  all = Constant <value = "
                                                                     "float {1}> ()\n  p = Mul (v, slope)\n  q = Add (p, base)\n"
                                                                     "  Y = Clip (q, none, all)\n"),
    FUSED_GEMM("Relu", "  Y = Relu (v)\n"),
    FUSED_GEMM("Sigmoid", "  Y = Sigmoid (v)\n"),
    FUSED_GEMM("Tanh", "  Y = Tanh (v)\n"),
    FUSED_GEMM("LeakyRelu", "  Y = LeakyRelu <alpha: float = @activation_alpha> (v)\n"),
    {MS, "QuantizeLinear", "",
     "QuantizeLinear <axis> (x, scale, zero) => (y) {\n  y = QuantizeLinear <axis: int = @axis> (x, scale, zero)\n}\n"},
    {MS, "DequantizeLinear", "",
     "DequantizeLinear <axis> (x, scale, zero) => (y) {\n  y = DequantizeLinear <axis: int = @axis> (x, scale, zero)\n}\n"},
    QLINEAR_BINARY("QLinearAdd", "Add"),
    QLINEAR_BINARY("QLinearMul", "Mul"),
    QLINEAR_UNARY("QLinearSigmoid", "", "", "  r = Sigmoid (v)\n"),
    QLINEAR_UNARY("QLinearLeakyRelu", "", " <alpha: float = 0.01>", "  r = LeakyRelu <alpha: float = @alpha> (v)\n"),
    QLINEAR_UNARY("QLinearSoftmax", "opset=13", " <axis: int = -1, opset: int = 13>", "  r = Softmax <axis: int = @axis> (v)\n"),
    QLINEAR_UNARY("QLinearAveragePool", "channels_last=0?", POOL_FIELDS, POOL),
    QLINEAR_UNARY("QLinearGlobalAveragePool", "channels_last=0?", " <channels_last: int = 0>", "  r = GlobalAveragePool (v)\n"),
    QLINEAR_CONCAT("4 !5", "x0, s0, z0", CONCAT_PART(0), "v0"),
    QLINEAR_CONCAT("7 !8", "x0, s0, z0, x1, s1, z1", CONCAT_PART(0) CONCAT_PART(1), "v0, v1"),
    QLINEAR_CONCAT("10 !11", "x0, s0, z0, x1, s1, z1, x2, s2, z2", CONCAT_PART(0) CONCAT_PART(1) CONCAT_PART(2), "v0, v1, v2"),
    QLINEAR_CONCAT("13 !14", "x0, s0, z0, x1, s1, z1, x2, s2, z2, x3, s3, z3", CONCAT_PART(0) CONCAT_PART(1) CONCAT_PART(2) CONCAT_PART(3),
                   "v0, v1, v2, v3"),
    {MS, "DynamicQuantizeMatMul", "!4",
     "DynamicQuantizeMatMul (A, B, b_scale, b_zero) => (Y) {\n"
     "  a, scale, zero = DynamicQuantizeLinear (A)\n  sums = MatMulInteger (a, B, zero, b_zero)\n  wide = Cast <to: int = 1> (sums)\n"
     "  both = Mul (scale, b_scale)\n  Y = Mul (wide, both)\n}\n"},
    {MS, "DynamicQuantizeMatMul", "4",
     "DynamicQuantizeMatMul (A, B, b_scale, b_zero, bias) => (Y) {\n"
     "  a, scale, zero = DynamicQuantizeLinear (A)\n  sums = MatMulInteger (a, B, zero, b_zero)\n  wide = Cast <to: int = 1> (sums)\n"
     "  both = Mul (scale, b_scale)\n  r = Mul (wide, both)\n  Y = Add (r, bias)\n}\n"},
    NBITS("!3 !5", NBITS_EIGHT, NBITS_PLAIN),
    NBITS("!3 5", NBITS_EIGHT, NBITS_BIAS),
    NBITS("3 !5", NBITS_ZEROS, NBITS_PLAIN),
    NBITS("3 5", NBITS_ZEROS, NBITS_BIAS),
    {MS, "MultiHeadAttention", "1 2 !3 !4 !8",
     "MultiHeadAttention <num_heads, scale, unidirectional, mask_filter_value> (query, key, value, b, m, attention_bias, past_key, "
     "past_value) "
     "=> (output, present_key, present_value) {\n"
     "  output, present_key, present_value = Attention <q_num_heads: int = @num_heads, kv_num_heads: int = @num_heads, scale: float = "
     "@scale, "
     "is_causal: int = @unidirectional> (query, key, value, attention_bias, past_key, past_value)\n}\n"},
};
const size_t npuc_foreign_count = sizeof npuc_foreign_forms / sizeof *npuc_foreign_forms;
