/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model over samples: the one loop behind baseline, gates, eval, diff and verify. Samples run one by one, several at a time on the pool's threads
 * (one executor a thread), and are delivered in order, so that no result depends on the number of threads.
 *
 * Inputs and outputs are floats at this boundary: a quantized input is quantized by docs/numerics.md section 4, and outputs keep their integers (the
 * consumer dequantizes when it compares). */
#ifndef NPUC_STAGES_RUNNER_H
#define NPUC_STAGES_RUNNER_H

#include "base/progress.h"
#include "ir/op.h"
#include "stages/dataset.h"

typedef struct runner runner;

typedef struct model_port {
  const char *name;
  dtype type;
  shape shape;        /* inputs: static, but for a first axis that is taken as 1; outputs: as far as known */
  const quant *quant; /* or NULL */
} model_port;

/* What can be run: a graph in the executor, a .npu in the runtime or the simulator. One worker is one private state; a worker is used by one thread at a time. */
typedef struct runner_backend {
  const model_port *inputs, *outputs;
  size_t n_inputs, n_outputs;
  npuc_status (*open)(const void *model, diag *d, void **out_worker);
  /* inputs as the ports' own dtypes; outputs borrow the worker's memory until its next run. */
  npuc_status (*run)(void *worker, diag *d, const tensor *inputs, tensor *out_outputs);
  void (*close)(void *worker);
  const void *model;
} runner_backend;

/* The backend's ports and model are borrowed. */
npuc_status npuc_runner_create_with(diag *d, thread_pool *pool, const runner_backend *backend, runner **out_runner) NPUC_MUST_USE;
/* A graph (borrowed) in the executor. Symbolic dims other than an input's first axis must have been bound. */
npuc_status npuc_runner_create(diag *d, thread_pool *pool, const graph *g, runner **out_runner) NPUC_MUST_USE;
void npuc_runner_destroy(runner *r);
const model_port *npuc_runner_outputs(const runner *r, size_t *out_count);
/* Ports for npuc_dataset_open: float32 for quantized inputs. Borrowed. */
const sample_port *npuc_runner_ports(const runner *r, size_t *out_count);

/* Fills tensors (type, shape, data set as the ports say). Called from several threads. */
typedef npuc_status sample_function(void *user, diag *d, size_t index, tensor *out_inputs);
/* Sees sample `index`'s outputs, in order of index; tensors are valid during the call. */
typedef npuc_status consume_function(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs);

npuc_status npuc_runner_run(runner *r, diag *d, const progress *p, const char *what, size_t first, size_t count, sample_function *sample,
                            void *sample_user, consume_function *consume, void *consume_user) NPUC_MUST_USE;

/* A dataset as sample_function (user: const dataset *). */
npuc_status npuc_sample_of_dataset(void *user, diag *d, size_t index, tensor *out_inputs);

/* Boundary of the integer module: float32 -> t's dtype by q; and back to float32. */
void npuc_quantize_tensor(const quant *q, const tensor *from, tensor *to);
void npuc_dequantize_tensor(const quant *q, const tensor *from, tensor *to); /* `to`: float32 of the same shape */
/* A float32 copy of t (dequantized when q is not NULL, else converted). */
npuc_status npuc_dequantized(diag *d, const quant *q, const tensor *t, tensor *out_float) NPUC_MUST_USE;

#endif
