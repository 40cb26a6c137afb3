#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases.txt: small models in ONNX text with inputs and the outputs that ONNX Runtime gives for them (see support.py)."""
import numpy as np

from support import case, f, s8, u8, write


def conv(name, x, w, b, attrs, rtol=1e-5, atol=1e-5):
    d = lambda a: ",".join(map(str, a.shape))
    inputs = [x, w] + ([b] if b is not None else [])
    args = f"float[{d(x)}] x, float[{d(w)}] w" + (f", float[{d(b)}] b" if b is not None else "")
    case(name, f"g ({args}) => (float y) {{\n y = Conv<{attrs}>(x, w{', b' if b is not None else ''})\n}}".replace("=> (float y)", f"=> (float[{','.join('abcdefgh'[:x.ndim])}] y)"), inputs, rtol, atol)


conv("conv_plain", f(2, 3, 7, 9), f(5, 3, 3, 3), f(5), "kernel_shape=[3,3]")
conv("conv_pads_stride", f(1, 4, 9, 8), f(6, 4, 3, 3), None, "kernel_shape=[3,3], strides=[2,2], pads=[1,0,2,1]")
conv("conv_group_dilation", f(1, 6, 10, 11), f(4, 3, 3, 2), f(4), "kernel_shape=[3,2], group=2, dilations=[2,3], pads=[2,1,2,2]")
conv("conv_depthwise", f(2, 5, 8, 8), f(5, 1, 3, 3), f(5), "kernel_shape=[3,3], group=5, pads=[1,1,1,1]")
conv("conv_depthwise_multiplier", f(1, 3, 6, 6), f(6, 1, 3, 3), f(6), "kernel_shape=[3,3], group=3, strides=[2,1], pads=[1,1,1,1]")
conv("conv_same_upper", f(1, 2, 7, 7), f(3, 2, 4, 4), f(3), 'kernel_shape=[4,4], strides=[2,2], auto_pad="SAME_UPPER"')
conv("conv_same_lower", f(1, 2, 7, 7), f(3, 2, 4, 4), f(3), 'kernel_shape=[4,4], strides=[2,2], auto_pad="SAME_LOWER"')
conv("conv_1d", f(2, 3, 17), f(4, 3, 5), f(4), "kernel_shape=[5], strides=[2], pads=[2,2]")
conv("conv_3d", f(1, 2, 5, 6, 7), f(3, 2, 2, 3, 3), f(3), "kernel_shape=[2,3,3], pads=[1,1,1,0,1,1]")
conv("conv_1x1", f(2, 9, 5, 5), f(7, 9, 1, 1), f(7), "kernel_shape=[1,1]")
conv("conv_tiny_image", f(3, 4, 2, 2), f(5, 4, 3, 3), f(5), "kernel_shape=[3,3], pads=[1,1,1,1]")

case("gemm_transb", "g (float[3,37] a, float[5,37] b, float[5] c) => (float[3,5] y) {\n y = Gemm<transB=1>(a, b, c)\n}", [f(3, 37), f(5, 37), f(5)])
case("gemm_alpha_beta", "g (float[6,4] a, float[6,9] b, float[4,1] c) => (float[4,9] y) {\n y = Gemm<transA=1, alpha=0.5, beta=2.0>(a, b, c)\n}", [f(6, 4), f(6, 9), f(4, 1)])
case("gemm_both", "g (float[33,4] a, float[9,33] b) => (float[4,9] y) {\n y = Gemm<transA=1, transB=1, alpha=3.0>(a, b)\n}", [f(33, 4), f(9, 33)])
case("matmul_2d", "g (float[7,19] a, float[19,13] b) => (float[7,13] y) {\n y = MatMul(a, b)\n}", [f(7, 19), f(19, 13)])
case("matmul_batch", "g (float[2,1,3,5] a, float[4,5,6] b) => (float[2,4,3,6] y) {\n y = MatMul(a, b)\n}", [f(2, 1, 3, 5), f(4, 5, 6)])
case("matmul_vectors", "g (float[5] a, float[3,5,2] b) => (float[3,2] y) {\n y = MatMul(a, b)\n}", [f(5), f(3, 5, 2)])
case("matmul_int32", "g (int32[2,3] a, int32[3,2] b) => (int32[2,2] y) {\n y = MatMul(a, b)\n}", [np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(6, dtype=np.int32).reshape(3, 2) - 3])

x = np.concatenate([f(40, scale=3), np.array([0, -0.0, 90, -90, 30, -30, 1e-4, -1e-4], np.float32)])
for op, attrs in (("Relu", ""), ("LeakyRelu", "<alpha=0.2>"), ("Sigmoid", ""), ("HardSigmoid", "<alpha=0.25, beta=0.4>"), ("HardSwish", ""), ("Tanh", "")):
    case(op.lower(), f"g (float[48] x) => (float[48] y) {{\n y = {op}{attrs}(x)\n}}", [x])
case("clip", "g (float[48] x, float lo, float hi) => (float[48] y) {\n y = Clip(x, lo, hi)\n}", [x, np.float32(-1.5), np.float32(2)])
case("clip_min_only", "g (float[48] x, float lo) => (float[48] y) {\n y = Clip(x, lo)\n}", [x, np.float32(0.25)])
case("clip_int8", "g (int8[6] x, int8 lo, int8 hi) => (int8[6] y) {\n y = Clip(x, lo, hi)\n}", [s8(6), np.int8(-20), np.int8(50)])
case("softmax_last", "g (float[3,37] x) => (float[3,37] y) {\n y = Softmax(x)\n}", [f(3, 37, scale=4)], 1e-5, 1e-7)
case("softmax_axis1", "g (float[2,5,3] x) => (float[2,5,3] y) {\n y = Softmax<axis=1>(x)\n}", [f(2, 5, 3)], 1e-5, 1e-7)
case("logsoftmax", "g (float[4,10] x) => (float[4,10] y) {\n y = LogSoftmax(x)\n}", [f(4, 10, scale=5)])
case("batchnorm", "g (float[2,3,4,5] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4,5] y) {\n y = BatchNormalization<epsilon=0.001>(x, s, b, m, v)\n}", [f(2, 3, 4, 5), f(3), f(3), f(3), abs(f(3)) + 0.1])

for op in ("Add", "Sub", "Mul", "Div"):
    case(op.lower() + "_channel", f"g (float[2,3,4,5] a, float[3,1,1] b) => (float[2,3,4,5] y) {{\n y = {op}(a, b)\n}}", [f(2, 3, 4, 5), f(3, 1, 1) + 3])
case("add_two_sided", "g (float[4,1,5] a, float[3,1] b) => (float[4,3,5] y) {\n y = Add(a, b)\n}", [f(4, 1, 5), f(3, 1)])
case("sub_scalar_first", "g (float a, float[7] b) => (float[7] y) {\n y = Sub(a, b)\n}", [np.float32(2.5), f(7)])
case("div_int64", "g (int64[4] a, int64[4] b) => (int64[4] y) {\n y = Div(a, b)\n}", [np.array([7, -7, 9, -9], np.int64), np.array([2, 2, -4, 5], np.int64)])
case("add_double", "g (double[4] a, double[4] b) => (double[4] y) {\n y = Add(a, b)\n}", [f(4).astype(np.float64), f(4).astype(np.float64)], 1e-15, 0)
case("max_three", "g (float[2,3] a, float[3] b, float[2,1] c) => (float[2,3] y) {\n y = Max(a, b, c)\n}", [f(2, 3), f(3), f(2, 1)])
case("min_two", "g (float[2,3] a, float[3] b) => (float[2,3] y) {\n y = Min(a, b)\n}", [f(2, 3), f(3)])

case("maxpool", "g (float[2,3,7,8] x) => (float[a,b,c,d] y) {\n y = MaxPool<kernel_shape=[3,2], strides=[2,2], pads=[1,0,1,1]>(x)\n}", [f(2, 3, 7, 8)])
case("maxpool_dilation_ceil", "g (float[1,2,9,9] x) => (float[a,b,c,d] y) {\n y = MaxPool<kernel_shape=[2,3], strides=[3,2], dilations=[2,2], ceil_mode=1>(x)\n}", [f(1, 2, 9, 9)])
case("maxpool_indices", "g (float[1,2,5,5] x) => (float[a,b,c,d] y, int64[a,b,c,d] i) {\n y, i = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)\n}", [f(1, 2, 5, 5)])
case("maxpool_u8", "g (uint8[1,2,6,6] x) => (uint8[a,b,c,d] y) {\n y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)\n}", [u8(1, 2, 6, 6)])
case("maxpool_s8_1d", "g (int8[1,2,9] x) => (int8[a,b,c] y) {\n y = MaxPool<kernel_shape=[3], strides=[2], pads=[1,1]>(x)\n}", [s8(1, 2, 9)])
case("averagepool", "g (float[2,3,7,8] x) => (float[a,b,c,d] y) {\n y = AveragePool<kernel_shape=[3,2], strides=[2,2], pads=[1,0,1,1]>(x)\n}", [f(2, 3, 7, 8)])
case("averagepool_include", "g (float[1,3,7,8] x) => (float[a,b,c,d] y) {\n y = AveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], count_include_pad=1>(x)\n}", [f(1, 3, 7, 8)])
case("averagepool_p10", "g (float[1,1,4,4] x) => (float[a,b,c,d] y) {\n y = AveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], ceil_mode=1, count_include_pad=1>(x)\n}", [np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)])
case("averagepool_p12", "g (float[1,2,9] x) => (float[a,b,c] y) {\n y = AveragePool<kernel_shape=[7], strides=[3], pads=[3,3], ceil_mode=1, count_include_pad=1>(x)\n}", [f(1, 2, 9)])
case("averagepool_dilated", "g (float[1,2,9,11] x) => (float[a,b,c,d] y) {\n y = AveragePool<kernel_shape=[3,2], dilations=[2,3], strides=[1,2], pads=[2,1,1,1]>(x)\n}", [f(1, 2, 9, 11)])
case("averagepool_whole", "g (float[2,3,8,8] x) => (float[a,b,c,d] y) {\n y = AveragePool<kernel_shape=[8,8]>(x)\n}", [f(2, 3, 8, 8)])
case("globalaveragepool", "g (float[2,5,7,6] x) => (float[2,5,1,1] y) {\n y = GlobalAveragePool(x)\n}", [f(2, 5, 7, 6)])
case("globalmaxpool", "g (float[2,5,7,6] x) => (float[2,5,1,1] y) {\n y = GlobalMaxPool(x)\n}", [f(2, 5, 7, 6)])
case("reducemean_axes", "g (float[2,3,4,5] x) => (float[2,4] y)\n<int64[2] axes = {1, -1}>\n{\n y = ReduceMean<keepdims=0>(x, axes)\n}", [f(2, 3, 4, 5)])
case("reducesum_first", "g (float[9,3,7] x) => (float[1,3,7] y)\n<int64[1] axes = {0}>\n{\n y = ReduceSum(x, axes)\n}", [f(9, 3, 7)])
case("reducesum_all", "g (float[3,4] x) => (float[1,1] y) {\n y = ReduceSum(x)\n}", [f(3, 4)])
case("reducesum_int64", "g (int64[3,4] x) => (int64[3] y)\n<int64[1] axes = {1}>\n{\n y = ReduceSum<keepdims=0>(x, axes)\n}", [np.arange(12).reshape(3, 4)])
case("argmax", "g (float[3,5] x) => (int64[3,1] y) {\n y = ArgMax<axis=1>(x)\n}", [f(3, 5)])
case("argmax_last", "g (float[2,4] x) => (int64[4] y) {\n y = ArgMax<axis=0, keepdims=0, select_last_index=1>(x)\n}", [np.array([[1, 2, 3, 4], [1, 0, 3, 5]], np.float32)])

case("concat", "g (float[2,1,3] a, float[2,2,3] b) => (float[2,3,3] y) {\n y = Concat<axis=1>(a, b)\n}", [f(2, 1, 3), f(2, 2, 3)])
case("split", "g (float[2,7] x) => (float[2,3] a, float[2,4] b)\n<int64[2] s = {3, 4}>\n{\n a, b = Split<axis=1>(x, s)\n}", [f(2, 7)])
case("split_outputs", "g (float[7,2] x) => (float[3,2] a, float[3,2] b, float[1,2] c) {\n a, b, c = Split<num_outputs=3>(x)\n}", [f(7, 2)])
case("slice", "g (float[5,6,7] x) => (float[a,b,c] y)\n<int64[3] s = {1, -1, 0}, int64[3] e = {4, -100, 9999}, int64[3] ax = {0, 1, 2}, int64[3] st = {1, -2, 3}>\n{\n y = Slice(x, s, e, ax, st)\n}", [f(5, 6, 7)])
case("transpose", "g (float[2,3,4,5] x) => (float[5,3,2,4] y) {\n y = Transpose<perm=[3,1,0,2]>(x)\n}", [f(2, 3, 4, 5)])
case("transpose_u8", "g (uint8[3,4] x) => (uint8[4,3] y) {\n y = Transpose(x)\n}", [u8(3, 4)])
case("expand", "g (float[3,1] x) => (float[2,3,4] y)\n<int64[3] s = {2, 1, 4}>\n{\n y = Expand(x, s)\n}", [f(3, 1)])
case("gather", "g (float[4,3,2] x, int64[2,2] i) => (float[4,2,2,2] y) {\n y = Gather<axis=1>(x, i)\n}", [f(4, 3, 2), np.array([[0, -1], [2, 1]], np.int64)])
for mode in ("constant", "edge", "reflect", "wrap"):
    case("pad_" + mode, f'g (float[2,4,5] x) => (float[a,b,c] y)\n<int64[6] p = {{0, 2, 3, 1, 1, 2}}>\n{{\n y = Pad<mode="{mode}">(x, p)\n}}'.replace("{0, 2, 3, 1, 1, 2}", "{0, 2, 3, 0, 1, 2}"), [f(2, 4, 5)])
case("pad_negative_axes", "g (float[2,4,5] x, float v) => (float[a,b,c] y)\n<int64[4] p = {-1, 1, 2, -2}, int64[2] ax = {1, 2}>\n{\n y = Pad(x, p, v, ax)\n}", [f(2, 4, 5), np.float32(7.5)])
case("reshape_flatten", "g (float[2,3,4] x) => (float[2,12] y) {\n z = Flatten(x)\n y = Identity(z)\n}", [f(2, 3, 4)])
case("squeeze_unsqueeze", "g (float[2,1,4] x) => (float[1,2,4] y)\n<int64[1] one = {1}, int64[1] zero = {0}>\n{\n z = Squeeze(x, one)\n y = Unsqueeze(z, zero)\n}", [f(2, 1, 4)])
case("shape_slice", "g (float[2,3,4] x) => (int64[2] y) {\n y = Shape<start=1>(x)\n}", [f(2, 3, 4)])
case("cast_to_u8", "g (float[6] x) => (int32[6] y) {\n y = Cast<to=6>(x)\n}", [np.array([1.9, -1.9, 0.5, 2.5, -0.5, 100.99], np.float32)])
case("cast_to_bool", "g (float[4] x) => (bool[4] y) {\n y = Cast<to=9>(x)\n}", [np.array([0, 1, -2, 0.1], np.float32)])
case("cast_half", "g (float[5] x) => (float[5] y) {\n h = Cast<to=10>(x)\n y = Cast<to=1>(h)\n}", [f(5)], 0, 0)
case("dropout", "g (float[5] x) => (float[5] y) {\n y = Dropout(x)\n}", [f(5)], 0, 0)
q = np.array([-3.5, -0.25, -0.05, 0.05, 0.15, 0.25, 12.75, 25.7, 99], np.float32)
case("quantize_u8", "g (float[9] x, float s, uint8 z) => (uint8[9] y) {\n y = QuantizeLinear(x, s, z)\n}", [q, np.float32(0.1), np.uint8(3)], 0, 0)
case("quantize_s8_axis", "g (float[2,3,4] x, float[3] s, int8[3] z) => (int8[2,3,4] y) {\n y = QuantizeLinear<axis=1>(x, s, z)\n}", [f(2, 3, 4, scale=5), np.array([0.1, 0.05, 0.2], np.float32), np.array([0, 5, -7], np.int8)], 0, 0)
case("dequantize_axis", "g (int8[2,3,4] x, float[3] s, int8[3] z) => (float[2,3,4] y) {\n y = DequantizeLinear<axis=1>(x, s, z)\n}", [s8(2, 3, 4), np.array([0.1, 0.05, 0.2], np.float32), np.array([0, 5, -7], np.int8)])
case("dequantize_i32", "g (int32[4] x, float s) => (float[4] y) {\n y = DequantizeLinear(x, s)\n}", [np.array([1, -2, 3000, -40000], np.int32), np.float32(0.01)])
case("dequantize_block", "g (uint8[2,6] x, float[2,3] s, uint8[2,3] z) => (float[2,6] y) {\n y = DequantizeLinear<axis=1, block_size=2>(x, s, z)\n}", [u8(2, 6), abs(f(2, 3)), u8(2, 3)])
case("residual_fusion", "g (float[2,4,6,9] x, float[4,4,3,3] w, float[4] b, float[4,4,1,1] v) => (float[2,4,6,9] y, float[2,4,6,9] z) {\n c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w, b)\n s = Conv<kernel_shape=[1,1]>(x, v)\n a = Add(c, s)\n y = Relu(a)\n d = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(y, w)\n e = Add(d, y)\n z = Relu(e)\n}", [f(2, 4, 6, 9), f(4, 4, 3, 3), f(4), f(4, 4, 1, 1)], 1e-5, 1e-4)

write("cases.txt")
