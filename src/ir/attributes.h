/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes structs of the op table, one per operator that has attributes; fields have ONNX's names. */
#ifndef NPUC_IR_ATTRIBUTES_H
#define NPUC_IR_ATTRIBUTES_H

#include <float.h>

#include "ir/op.h"

/* Sliding windows: Conv, pools and their integer forms. After `complete`: auto_pad is "NOTSET", lists have one entry per spatial axis
 * (pads: all begins, then all ends). */
typedef struct conv_attributes {
  const char *auto_pad; /* NOTSET, SAME_UPPER, SAME_LOWER, VALID */
  int_list kernel_shape, strides, pads, dilations;
  int64_t group;
} conv_attributes;

typedef struct pool_attributes {
  const char *auto_pad;
  int_list kernel_shape, strides, pads, dilations;
  int64_t ceil_mode;
  int64_t count_include_pad; /* AveragePool */
  int64_t storage_order;     /* MaxPool */
  int64_t p;                 /* LpPool */
} pool_attributes;

typedef struct gemm_attributes {
  float alpha, beta;
  int64_t transA, transB;
} gemm_attributes;
typedef struct batchnorm_attributes {
  float epsilon, momentum;
  int64_t training_mode;
} batchnorm_attributes;
typedef struct alpha_attributes {
  float alpha;
} alpha_attributes; /* LeakyRelu, Elu, Celu, ThresholdedRelu, Swish */
typedef struct hardsigmoid_attributes {
  float alpha, beta;
} hardsigmoid_attributes;
typedef struct axis_attributes {
  int64_t axis;
} axis_attributes; /* Softmax, LogSoftmax, Concat, Gather, Flatten */
#define ABSENT_SEED INT64_MIN
typedef struct dropout_attributes {
  int64_t seed; /* ABSENT_SEED: none */
} dropout_attributes;
typedef struct reduce_attributes {
  int64_t keepdims, noop_with_empty_axes;
} reduce_attributes; /* axes is input 1 */
typedef struct argmax_attributes {
  int64_t axis, keepdims, select_last_index;
} argmax_attributes;
typedef struct split_attributes {
  int64_t axis, num_outputs;
} split_attributes;
typedef struct pad_attributes {
  const char *mode;
} pad_attributes; /* constant, edge, reflect, wrap */
typedef struct reshape_attributes {
  int64_t allowzero;
} reshape_attributes;
typedef struct transpose_attributes {
  int_list perm;
} transpose_attributes;
typedef struct shape_attributes {
  int64_t start, end;
} shape_attributes; /* end INT64_MAX: to the last axis */
typedef struct cast_attributes {
  int64_t to, saturate;
  const char *round_mode;
} cast_attributes;
typedef struct constant_attributes {
  const tensor *value;
} constant_attributes; /* every other spelling becomes `value` on import */
typedef struct constantofshape_attributes {
  const tensor *value;
} constantofshape_attributes;
typedef struct quantize_attributes {
  int64_t axis, block_size, output_dtype, precision, saturate;
} quantize_attributes; /* (De)QuantizeLinear */

typedef struct selu_attributes {
  float alpha, gamma;
} selu_attributes;
typedef struct shrink_attributes {
  float lambd, bias;
} shrink_attributes;
typedef struct isinf_attributes {
  int64_t detect_negative, detect_positive;
} isinf_attributes;
typedef struct gelu_attributes {
  const char *approximate; /* none, tanh */
} gelu_attributes;

typedef struct bitshift_attributes {
  const char *direction; /* LEFT, RIGHT */
} bitshift_attributes;
typedef struct mod_attributes {
  int64_t fmod;
} mod_attributes;

typedef struct scatter_attributes {
  int64_t axis; /* ScatterElements */
  const char *reduction;
} scatter_attributes;
typedef struct gathernd_attributes {
  int64_t batch_dims;
} gathernd_attributes;
typedef struct tensorscatter_attributes {
  int64_t axis;
  const char *mode;
} tensorscatter_attributes;
#define COMPRESS_FLAT INT64_MIN /* Compress, Unique: no axis */
typedef struct compress_attributes {
  int64_t axis;
} compress_attributes;
typedef struct unique_attributes {
  int64_t axis, sorted;
} unique_attributes;
typedef struct blocksize_attributes {
  int64_t blocksize;
  const char *mode; /* DCR, CRD */
} blocksize_attributes;
typedef struct reversesequence_attributes {
  int64_t batch_axis, time_axis;
} reversesequence_attributes;
typedef struct trilu_attributes {
  int64_t upper;
} trilu_attributes;
typedef struct axes_attributes {
  int_list axes;
} axes_attributes; /* CenterCropPad, MeanVarianceNormalization */
typedef struct eyelike_attributes {
  int64_t dtype, k;
} eyelike_attributes;
typedef struct stash_attributes {
  int64_t stash_type;
} stash_attributes;
typedef struct cumulative_attributes {
  int64_t exclusive, reverse;
} cumulative_attributes;
typedef struct topk_attributes {
  int64_t axis, largest, sorted;
} topk_attributes;

typedef struct layernorm_attributes {
  int64_t axis;
  float epsilon;
  int64_t stash_type;
} layernorm_attributes; /* LayerNormalization, RMSNormalization */
typedef struct groupnorm_attributes {
  int64_t num_groups;
  float epsilon;
  int64_t stash_type;
} groupnorm_attributes;
typedef struct epsilon_attributes {
  float epsilon;
} epsilon_attributes; /* InstanceNormalization */
typedef struct lpnorm_attributes {
  int64_t axis, p;
} lpnorm_attributes;
typedef struct lrn_attributes {
  int64_t size;
  float alpha, beta, bias;
} lrn_attributes;
#define LOSS_IGNORES_NONE INT64_MIN
typedef struct loss_attributes {
  int64_t ignore_index;
  const char *reduction; /* none, sum, mean */
} loss_attributes;

#define ABSENT_FLOAT (-FLT_MAX) /* a float attribute without a default that the file leaves out */
typedef struct random_attributes {
  int_list shape; /* RandomNormal, RandomUniform */
  int64_t dtype;  /* 0: the input's */
  float seed;     /* ABSENT_FLOAT: none */
  float mean, scale, low, high;
  int64_t sample_size; /* Multinomial */
} random_attributes;

typedef struct attention_attributes {
  int64_t is_causal, q_num_heads, kv_num_heads;
  float scale, softcap;
  int64_t softmax_precision, qk_matmul_output_mode, left_window_size, right_window_size;
} attention_attributes;
typedef struct rotary_attributes {
  int64_t interleaved, num_heads, rotary_embedding_dim;
} rotary_attributes;
typedef struct linearattention_attributes {
  int64_t q_num_heads, kv_num_heads;
  const char *update_rule;
  float scale;
  int64_t chunk_size;
} linearattention_attributes;
typedef struct activation_attributes {
  const char *activation;
} activation_attributes; /* CausalConvWithState */

typedef struct recurrent_attributes {
  const char *direction; /* forward, reverse, bidirectional */
  int64_t hidden_size;   /* 0: as R says */
  string_list activations;
  float_list activation_alpha, activation_beta;
  float clip; /* ABSENT_FLOAT: none */
  int64_t layout;
  int64_t linear_before_reset; /* GRU */
  int64_t input_forget;        /* LSTM */
} recurrent_attributes;

typedef struct resize_attributes {
  const char *mode, *coordinate_transformation_mode, *nearest_mode, *keep_aspect_ratio_policy;
  float cubic_coeff_a, extrapolation_value;
  int64_t exclude_outside, antialias;
  int_list axes;
} resize_attributes;
typedef struct grid_attributes {
  const char *mode, *padding_mode;
  int64_t align_corners;
} grid_attributes;
typedef struct convtranspose_attributes {
  const char *auto_pad;
  int_list kernel_shape, strides, pads, dilations, output_padding, output_shape;
  int64_t group;
} convtranspose_attributes;
typedef struct nms_attributes {
  int64_t center_point_box;
} nms_attributes;

typedef struct signal_window_attributes {
  int64_t output_datatype, periodic;
} signal_window_attributes; /* HannWindow, HammingWindow, BlackmanWindow */

typedef struct p_attributes {
  int64_t p;
} p_attributes; /* GlobalLpPool */
typedef struct unpool_attributes {
  int_list kernel_shape, strides, pads;
} unpool_attributes; /* MaxUnpool */
typedef struct col2im_attributes {
  int_list strides, pads, dilations;
} col2im_attributes;
typedef struct roialign_attributes {
  const char *coordinate_transformation_mode, *mode;
  int64_t output_height, output_width, sampling_ratio;
  float spatial_scale;
} roialign_attributes;
typedef struct maxroipool_attributes {
  int_list pooled_shape;
  float spatial_scale;
} maxroipool_attributes;
typedef struct align_attributes {
  int64_t align_corners;
} align_attributes; /* AffineGrid */
typedef struct deformconv_attributes {
  int_list kernel_shape, strides, pads, dilations;
  int64_t group, offset_group;
} deformconv_attributes;

typedef struct tfidf_attributes {
  const char *mode; /* TF, IDF, TFIDF */
  int64_t min_gram_length, max_gram_length, max_skip_count;
  int_list ngram_counts, ngram_indexes, pool_int64s;
  string_list pool_strings;
  float_list weights;
} tfidf_attributes;

typedef struct dft_attributes {
  int64_t inverse, onesided;
} dft_attributes; /* DFT, STFT */

typedef struct einsum_attributes {
  const char *equation;
} einsum_attributes;

typedef struct if_attributes {
  graph *then_branch, *else_branch;
} if_attributes;
typedef struct loop_attributes {
  graph *body;
} loop_attributes;
typedef struct scan_attributes {
  graph *body;
  int64_t num_scan_inputs;
  int_list scan_input_axes, scan_input_directions, scan_output_axes, scan_output_directions;
} scan_attributes;

/* -- integer module (docs/numerics.md). y = clamp(y_zero_point + ((acc*M + (s ? 2^(s-1) : 0)) >> s), lo, hi) -- */
typedef struct qconv_attributes { /* inputs x, w, bias, M, s */
  int_list kernel_shape, strides, pads, dilations;
  int64_t group;
  int64_t x_zero_point, y_zero_point, lo, hi;
  int64_t y_dtype; /* ONNX dtype number of y: 2 (u8) or 3 (s8) */
} qconv_attributes;

/* -- sequences and optionals -- */
typedef struct sequenceempty_attributes {
  int64_t dtype;
} sequenceempty_attributes;
typedef struct splittosequence_attributes {
  int64_t axis, keepdims;
} splittosequence_attributes;
typedef struct concatfromsequence_attributes {
  int64_t axis, new_axis;
} concatfromsequence_attributes;
typedef struct sequencemap_attributes {
  graph *body;
} sequencemap_attributes;
typedef struct optional_attributes {
  dtype type; /* of what an empty one would hold */
} optional_attributes;

typedef struct imagedecoder_attributes {
  const char *pixel_format; /* RGB, BGR, Grayscale */
} imagedecoder_attributes;

/* -- texts -- */
typedef struct stringnormalizer_attributes {
  const char *case_change_action; /* NONE, LOWER, UPPER */
  int64_t is_case_sensitive;
  const char *locale;
  string_list stopwords;
} stringnormalizer_attributes;
typedef struct stringsplit_attributes {
  const char *delimiter; /* NULL or "": runs of white space */
  int64_t maxsplit;      /* below 0: no limit */
} stringsplit_attributes;
typedef struct regexfullmatch_attributes {
  const char *pattern;
} regexfullmatch_attributes;

/* -- the integer module -- */
typedef struct qgemm_attributes {
  int64_t x_zero_point, y_zero_point, lo, hi, y_dtype;
} qgemm_attributes; /* inputs x [R,K], w [N,K], bias, M, s */
/* QAdd: inputs a, b, Ma, Mb, s. QMul: inputs a, b, M, s. */
typedef struct qbinary_attributes {
  int64_t a_zero_point, b_zero_point, y_zero_point, lo, hi, y_dtype;
} qbinary_attributes;
/* Requantize, QGlobalAveragePool: inputs x, M, s. */
typedef struct qunary_attributes {
  int64_t x_zero_point, y_zero_point, lo, hi, y_dtype;
} qunary_attributes;
/* QAveragePool: inputs x, M [k], s [k], counts [k] (the distinct window counts, ascending). */
typedef struct qpool_attributes {
  int_list kernel_shape, strides, pads, dilations;
  int64_t ceil_mode, count_include_pad;
  int64_t x_zero_point, y_zero_point, lo, hi, y_dtype;
} qpool_attributes;
/* Lookup: inputs x (u8 | s8), table [256] (u8 | s8), indexed by x as unsigned for u8, by x + 128 for s8. No attributes. */
/* QSoftmax: inputs x, T u16 [256], scale [1] (log2 of 1/y_scale). QLogSoftmax: inputs x, T u16 [256], L [256], M [2], s [1].
 * Everywhere M, s, bias, counts, scale, L are int32 tensors. */
typedef struct qsoftmax_attributes {
  int64_t axis, y_zero_point, lo, hi, y_dtype;
} qsoftmax_attributes;
/* QNormalize: inputs x, bias, M, s [P]. */
typedef struct qnormalize_attributes {
  int64_t count, inner, repeat, centre, epsilon, x_zero_point, y_zero_point, lo, hi, y_dtype;
} qnormalize_attributes;

#endif
