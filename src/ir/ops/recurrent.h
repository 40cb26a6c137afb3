/* SPDX-License-Identifier: Apache-2.0 */
/* What the recurrent operators' definitions and their evaluation share: gates, directions, and the functions between them. */
#ifndef NPUC_IR_OPS_RECURRENT_H
#define NPUC_IR_OPS_RECURRENT_H

#include "ir/ops/support.h"

typedef enum gate_function {
  GATE_RELU,
  GATE_TANH,
  GATE_SIGMOID,
  GATE_AFFINE,
  GATE_LEAKYRELU,
  GATE_THRESHOLDEDRELU,
  GATE_SCALEDTANH,
  GATE_HARDSIGMOID,
  GATE_ELU,
  GATE_SOFTSIGN,
  GATE_SOFTPLUS
} gate_function;

typedef struct gate_activation {
  gate_function function;
  float alpha, beta;
} gate_activation;

enum { MOST_GATE_ACTIVATIONS = 6 };

/* Rows of W per hidden unit: RNN 1, GRU 3, LSTM 4. */
int32_t npuc_recurrent_gates(const node *n);
/* Activations of one direction: RNN 1, GRU 2, LSTM 3. */
int32_t npuc_recurrent_functions(const node *n);
/* 2 for bidirectional. */
int32_t npuc_recurrent_directions(const node *n);
/* The activations of all directions in order, alpha and beta consumed by those that have them. */
npuc_status npuc_recurrent_activations(diag *d, const node *n, gate_activation out[MOST_GATE_ACTIVATIONS]) NPUC_MUST_USE;

#endif
