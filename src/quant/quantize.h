/* SPDX-License-Identifier: Apache-2.0 */
/* Post-training quantization: a static float module (stage 4) becomes the integer module (domain npuc, integer in, integer out) and the same numbers as standard QDQ ONNX.
 * Rules and formulas: docs/numerics.md. */
#ifndef NPUC_QUANT_QUANTIZE_H
#define NPUC_QUANT_QUANTIZE_H

#include "base/progress.h"
#include "base/threads.h"
#include "ir/graph.h"

typedef enum quant_observer { OBSERVER_MINMAX, OBSERVER_PERCENTILE, OBSERVER_MSE, OBSERVER_KL } quant_observer;

typedef struct quant_options {
  quant_observer observer;    /* default: npuc_quant_default_observer() */
  bool bias_correction;
  bool symmetric_activations; /* s8, zero point 0; else u8 asymmetric */
  int32_t multiplier_bits;    /* 31 or 15: docs/numerics.md section 3 */
  thread_pool *pool;
  const progress *progress;
} quant_options;

/* Calibration samples: fills one tensor for each graph input (type, shape, data set: one sample of the graph's own static shape, float32). Thread-safe. */
typedef struct calibration_source {
  size_t count;
  npuc_status (*sample)(void *user, diag *d, size_t index, tensor *out_inputs);
  void *user;
} calibration_source;

/* One activation or weight tensor as it was quantized. */
typedef struct quant_record {
  const char *value;  /* name in the integer module */
  const char *source; /* node it comes from */
  double lo, hi;      /* observed range */
  double scale;       /* first channel's where per channel */
  int64_t zero_point;
  double sqnr_db;     /* weights: float against dequantized; activations: on calibration data where measured, else 0 */
  bool is_weight;
} quant_record;

typedef struct quant_report {
  quant_record *records; /* in the arena given */
  size_t n_records;
  size_t bias_corrected, weight_scales_raised;
} quant_report;

quant_observer npuc_quant_default_observer(void);
bool npuc_quant_observer_find(const char *name, quant_observer *out_observer); /* "minmax", "percentile", "mse", "kl" */

/* `float_module` is not changed. On success both modules are the caller's. out_qdq may be NULL. */
npuc_status npuc_quantize(diag *d, arena *a, const module *float_module, const quant_options *options, const calibration_source *calibration, module **out_integer,
                          module **out_qdq, quant_report *out_report) NPUC_MUST_USE;
/* E0918 for the first float value in the graph. */
npuc_status npuc_quant_check_integer_only(diag *d, const graph *g) NPUC_MUST_USE;

#endif
