/* SPDX-License-Identifier: Apache-2.0 */
/* Times of engines that take turns: a machine that is slow for a while is slow for all of them. */
#ifndef NPUC_STAGES_BENCH_H
#define NPUC_STAGES_BENCH_H

#include "base/progress.h"
#include "stages/npu_engine.h"

/* One engine: a call that does the whole work once, and how long each took (clock; processor time of all threads). */
typedef struct bench_lane {
  npuc_status (*run)(void *state, diag *d);
  void *state;
  double *seconds, *cpu_seconds; /* [repeat], filled by npuc_bench_run */
} bench_lane;

/* Some rounds that are not counted, then `repeat` rounds in which each lane runs once; another lane begins in every round. */
npuc_status npuc_bench_run(diag *d, const progress *p, bench_lane *lanes, size_t n_lanes, size_t repeat) NPUC_MUST_USE;

typedef struct bench_times {
  double min, p10, median, p90; /* between two samples by their weights */
} bench_times;
/* Sorts the samples. */
bench_times npuc_bench_times(double *samples, size_t n);

/* What is benched of ours: a graph in the executor, or a program in the runtime's graph engine. Float inputs in, float outputs out, the boundary's
 * quantization included, as a peer's QDQ model has it. */
typedef struct bench_model bench_model;
/* Exactly one of g and npu. inputs: one each, static, float32 where the model's is quantized; borrowed. */
npuc_status npuc_bench_model_open(diag *d, arena *a, thread_pool *pool, const graph *g, npu_engine *npu, const tensor *inputs,
                                  bench_model **out_model) NPUC_MUST_USE;
npuc_status npuc_bench_model_run(void *model, diag *d) NPUC_MUST_USE; /* a lane's call */
/* Of the last run, borrowed. */
const tensor *npuc_bench_model_output(const bench_model *m, size_t index);
size_t npuc_bench_model_outputs(const bench_model *m);
void npuc_bench_model_close(bench_model *m); /* NULL is fine */

#endif
