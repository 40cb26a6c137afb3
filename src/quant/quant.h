/* SPDX-License-Identifier: Apache-2.0 */
/* Post-training quantization to 8 bits: a static float graph and samples become an integer module (domain npuc) and the same thing as
 * standard QDQ ONNX.
 *
 *   plan       which float nodes become which integer operator; ReLU and Clip go into their producer's clamp
 *   calibrate  one run of the float graph over the samples: ranges of activations, means of the layers' inputs
 *   params     scale and zero point of every value
 *   lower      integer nodes with their constants; qdq: the float graph with QuantizeLinear and DequantizeLinear
 *
 * docs/numerics.md has the arithmetic. */
#ifndef NPUC_QUANT_QUANT_H
#define NPUC_QUANT_QUANT_H

#include "base/progress.h"
#include "base/threads.h"
#include "ir/graph.h"
#include "quant/range.h"

typedef struct quant_options {
  quant_observer observer;
  double percentile; /* for OBSERVER_PERCENTILE */
  quant_grid activations;
  int32_t multiplier_bits; /* 31, or 15 for refnpu */
  bool bias_correction;
  size_t max_samples;       /* 0: all */
  thread_pool *pool;        /* may be NULL */
  const progress *progress; /* may be NULL */
} quant_options;

/* mse, uint8 asymmetric, 31 bits, bias correction. */
quant_options npuc_quant_options_default(void);

/* Samples by number. Both callbacks are called from several threads where the options have a pool; without one, in order.
 *
 * `read` fills `inputs`, one for each graph input, of its type and shape; or sets them to tensors that stay valid until the same thread's next call.
 * `ran`, where it is not NULL, sees what the float graph gave for each sample. */
typedef struct quant_samples {
  size_t count;
  npuc_status (*read)(void *user, diag *d, size_t index, tensor *inputs);
  npuc_status (*ran)(void *user, diag *d, size_t index, const tensor *outputs);
  void *user;
} quant_samples;

/* What was decided for one operator's output. */
typedef struct quant_layer {
  const char *node, *op, *output; /* source's names */
  double min, max;                /* observed */
  double lo, hi;                  /* chosen */
  float scale;
  int32_t zero_point;
  double weight_sqnr_db;     /* NaN without weights */
  double bias_correction;    /* largest, in output steps */
  int64_t raised_channels;   /* whose bias did not fit */
  int64_t vanished_channels; /* whose multiplier is 0 */
} quant_layer;

typedef struct quant_report {
  arena *arena;
  quant_layer *layers;
  size_t n_layers, layers_capacity;
  size_t samples;
  quant_observer observer;
  size_t fused_clamps, requantizes, lookups;
} quant_report;

quant_report *npuc_quant_report_create(void);
void npuc_quant_report_destroy(quant_report *r);

/* `float_module`: one static graph, batch norm folded. Either output may be NULL. On failure nothing is left. */
npuc_status npuc_quantize(diag *d, const module *float_module, const quant_options *options, const quant_samples *samples,
                          module **out_integer, module **out_qdq, quant_report *report) NPUC_MUST_USE;

/* Every value is an integer (constants too): no float edge inside. E0706 names the first ones. */
npuc_status npuc_quant_check_integer_only(diag *d, const graph *g) NPUC_MUST_USE;

#endif
