/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a sequence that RNN, GRU and LSTM share, and what a cell sees of it. Every float32 operation has one order:
 *
 *   W x and R h are `lanes16` sums, one per gate and unit; they are added, then the sum of the two biases, then P * C;
 *   what follows is one rounded operation after the other as the formulas of docs/operators.md have them.
 *
 * float16 and bfloat16 are computed in float32 from the first step to the last and rounded where they are written. */
#ifndef NPUC_IR_EVAL_RECURRENT_H
#define NPUC_IR_EVAL_RECURRENT_H

#include "ir/eval/eval.h"
#include "ir/ops/recurrent.h"

typedef struct recurrence {
  const eval_context *context;
  const kernel_set *kernels;
  const recurrent_attributes *a;
  int64_t steps, batch, input, hidden, gates; /* gates: rows of W per hidden unit */
  bool batch_first;
  /* of the direction at hand */
  const gate_activation *activations;
  const float *w, *r;      /* [gates * hidden, input], [gates * hidden, hidden] */
  const float *bias;       /* [gates * hidden], both biases' sum where they are only ever added */
  const float *inner_bias; /* [hidden]: GRU's Rb of h with linear_before_reset */
  const float *peephole;   /* [3 * hidden] or NULL */
  float *h, *cell;         /* [batch, hidden]: the state */
  /* memory of one step */
  float *recurrent;       /* [batch, gates * hidden]: R h */
  float *gate;            /* [batch, gates * hidden] */
  float *spare;           /* [batch, hidden] */
  const int64_t *lengths; /* [batch] */
  int64_t step;
} recurrence;

/* Whether sequence b still runs in this step. */
static inline bool runs(const recurrence *r, int64_t b) { return r->step < r->lengths[b]; }

/* One step: from W x of all sequences [batch, gates * hidden] and the state to the next state. */
typedef void cell_step(recurrence *r, const float *wx);
cell_step npuc_rnn_step, npuc_gru_step, npuc_lstm_step;

/* y[m, n] = a[m, k] b[n, k], split among threads where it is large. */
void npuc_recurrent_product(const recurrence *r, const float *a, const float *b, int64_t m, int64_t k, int64_t n, float *y,
                            int64_t y_stride);

#endif
