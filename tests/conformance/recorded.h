/* SPDX-License-Identifier: Apache-2.0 */
/* The recorded data of ONNX's test cases: files of TensorProto, SequenceProto or OptionalProto, as the model declares its inputs and outputs. */
#ifndef NPUC_TESTS_CONFORMANCE_RECORDED_H
#define NPUC_TESTS_CONFORMANCE_RECORDED_H

#include "ir/graph.h"
#include "tensor/tensor.h"

enum { MOST_RECORDED = 64 };

typedef struct recorded_set {
  tensor inputs[MOST_RECORDED], outputs[MOST_RECORDED];
  size_t n_inputs, n_outputs;
  void *owner;
} recorded_set;

/* Data set `index` of a case; without inputs and outputs when there is none. */
npuc_status npuc_recorded_read(diag *d, const char *folder, const graph *g, size_t index, recorded_set *out_set) NPUC_MUST_USE;
void npuc_recorded_release(recorded_set *set);

typedef struct tolerance {
  double rtol, atol;
} tolerance;
/* CASE/tolerance, or what ONNX's test runner takes. */
tolerance npuc_recorded_tolerance(const char *folder);

/* "[2,3]" into `out`; returns it. */
const char *npuc_recorded_shape(const shape *s, char *out, size_t bytes);

#endif
