/* SPDX-License-Identifier: Apache-2.0 */
/* A model file taken to integers as the stages do it: read, normalized, made static with batch 1, adapted, quantized on samples; and run as the
 * host runs it: floats to integers by the rule of docs/numerics.md section 4, the integer graph, integers to floats. */
#ifndef NPUC_TESTS_SUPPORT_QUANTIZED_H
#define NPUC_TESTS_SUPPORT_QUANTIZED_H

#include "exec/executor.h"
#include "quant/quant.h"

typedef struct quantized {
  diag *d;
  module *integer, *qdq;
  quant_report *report;
  executor *integers, *judge; /* of the two */
} quantized;

/* `samples` is float32, its first axis the samples. The model has one input whose first axis is symbol N or 1. Fails the test when a step fails. */
void npuc_quantized_create(const char *path, const tensor *samples, const quant_options *options, quantized *out_quantized);
void npuc_quantized_release(quantized *q);
/* Sample `index` of `samples` through the integer graph: its output, dequantized, in `out` (room for all its elements). */
void npuc_quantized_run(quantized *q, const tensor *samples, int64_t index, float *out);
/* The same through the QDQ graph. */
void npuc_quantized_judge(quantized *q, const tensor *samples, int64_t index, float *out);
/* `index` of `samples` as a tensor with first axis 1 that borrows. */
tensor npuc_quantized_sample(const tensor *samples, int64_t index);

#endif
