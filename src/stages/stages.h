/* SPDX-License-Identifier: Apache-2.0 */
/* The stages, and the pipeline that runs them. */
#ifndef NPUC_STAGES_STAGES_H
#define NPUC_STAGES_STAGES_H

#include "ir/rewrite.h"
#include "npu/arch.h"
#include "passes/pass.h"
#include "tensor/compare.h"
#include "stages/build.h"
#include "stages/runner.h"

enum { STAGE_MAX_OUTPUTS = 512 };

/* One stage at work: it fills gate, extras and outputs; the pipeline records them. */
typedef struct stage_work {
  build *b;
  stage_id stage;
  const char *target;                     /* name, NULL for stages without */
  json_t *gate;                           /* {"pass": bool, ...numbers} */
  json_t *extras;                         /* further members of the stage's record: rewrites, metrics, notes */
  const char *outputs[STAGE_MAX_OUTPUTS]; /* relative to OUT; the first is the stage's model or artifact */
  size_t n_outputs;
} stage_work;

npuc_status npuc_stage_baseline(stage_work *w) NPUC_MUST_USE;
npuc_status npuc_stage_import(stage_work *w) NPUC_MUST_USE;
npuc_status npuc_stage_normalize(stage_work *w) NPUC_MUST_USE;
npuc_status npuc_stage_static(stage_work *w) NPUC_MUST_USE;
npuc_status npuc_stage_adapt(stage_work *w) NPUC_MUST_USE;
npuc_status npuc_stage_quantize(stage_work *w) NPUC_MUST_USE;
npuc_status npuc_stage_build(stage_work *w) NPUC_MUST_USE;
npuc_status npuc_stage_verify(stage_work *w) NPUC_MUST_USE;

/* Told of each stage as it ends: "done", "kept", "failed". record is borrowed (NULL when failed). */
typedef void stage_listener(void *user, stage_id s, const char *target, const char *status, double seconds, const json_t *gate);

/* Runs [from, to] for every target of the options; stages whose keys hold are kept. What is before `from` must hold (E0905). */
npuc_status npuc_pipeline_run(build *b, stage_id from, stage_id to, stage_listener *listener, void *user) NPUC_MUST_USE;
/* What a stage's result follows from, hashed, and in *out_inputs as a text: the manifest shows why a stage ran again. `cut`: with this command's cut of the passes. */
npuc_status npuc_stage_key(build *b, stage_id s, const char *target, bool cut, const char **out_key, const char **out_inputs) NPUC_MUST_USE;
/* Every stage model again with all weights inside OUT; E0905 when a stage does not hold. */
npuc_status npuc_build_materialize(build *b) NPUC_MUST_USE;
/* The next legal stage, STAGE_COUNT when all are done; *out_target as it applies. */
stage_id npuc_pipeline_next(const build *b, const char **out_target);

/* By target: {target, accuracy?, sqnr_db?, cycles?, utilization?, artifact?}, as far as the stages have been done. New reference. */
json_t *npuc_build_results(const build *b);

/* -- shared by the stages -- */
/* The hardware of the stage's target. */
npuc_status npuc_stage_arch(const stage_work *w, npu_arch *out_arch) NPUC_MUST_USE;
/* Reads the source as the options say: with the state dict, of which *out_report (may be NULL) tells, in it. */
npuc_status npuc_build_source(build *b, module **out_module, json_t **out_report) NPUC_MUST_USE;
/* Reads the model that stage `s` left. */
npuc_status npuc_stage_model(const stage_work *w, stage_id s, module **out_module) NPUC_MUST_USE;
/* Writes the stage's model and names it as the first output; on gate failure it is kept as NAME.failed.onnx. */
npuc_status npuc_stage_write(stage_work *w, const module *m) NPUC_MUST_USE;
npuc_status npuc_stage_gate_failed(stage_work *w, const module *m, npuc_status status) NPUC_MUST_USE;
/* Runs both on the baseline's inputs; equal within `bound` or E0911. */
npuc_status npuc_gate_parity(stage_work *w, const graph *before, const graph *after, parity bound) NPUC_MUST_USE;

/* Every output's sum of comparisons within `bound`, recorded in the gate; E0911 names the first that is not. */
npuc_status npuc_gate_judge(stage_work *w, const graph *after, const comparison_sum *sums, parity bound) NPUC_MUST_USE;
/* The model whose cache grows against the static decoder, call by call; the calls become the samples of later stages. */
npuc_status npuc_gate_decoder(stage_work *w, const module *growing, const module *fixed, const pass_options *options) NPUC_MUST_USE;

/* The source framework's own outputs (--reference), within float rounding: E0919. */
npuc_status npuc_gate_reference(stage_work *w, const graph *g) NPUC_MUST_USE;

typedef struct baseline {
  size_t n_samples, n_inputs, n_outputs;
  tensor *inputs;  /* [n_samples, ...] each */
  tensor *outputs; /* likewise, float32 or the model's dtype */
} baseline;
npuc_status npuc_baseline_load(build *b, const graph *g, baseline *out_baseline) NPUC_MUST_USE;
void npuc_baseline_release(baseline *b);
/* Stacked tensors as files FOLDER/KIND/PORT.npy of the stage, named in its record as KIND_files. */
npuc_status npuc_baseline_write(stage_work *w, const char *folder, const char *kind, value *const *ports, const tensor *tensors,
                                size_t n) NPUC_MUST_USE;
/* sample_function over a baseline's inputs. */
npuc_status npuc_sample_of_baseline(void *user, diag *d, size_t index, tensor *out_inputs);

/* Opens DATA for a runner's ports, with the build's preprocessing. */
npuc_status npuc_build_dataset(build *b, const char *text, const runner *r, dataset **out_dataset) NPUC_MUST_USE;
/* Gives every input dim that `--dim`/`--shape` names its number; a decoder whose cache grows gets one length of it (--max-length). */
npuc_status npuc_apply_dims(build *b, module *m) NPUC_MUST_USE;
/* The first half of it: what the options name. */
npuc_status npuc_apply_given_dims(build *b, module *m) NPUC_MUST_USE;
/* --max-length, --chunk and --kv-form as the passes take them. */
npuc_status npuc_build_decoder_options(const build *b, pass_options *out_options) NPUC_MUST_USE;
/* Every --dim and --shape names something of the source model. */
npuc_status npuc_check_dims(build *b, const module *m) NPUC_MUST_USE;

typedef struct accuracy {
  size_t samples, top1, top5;
  int64_t classes; /* scores a sample */
} accuracy;
/* Classifies every sample of the dataset (output 0, first largest index) against its labels; at most `limit` (0: all). out_answers: by sample, or NULL. */
npuc_status npuc_accuracy(diag *d, const progress *p, const char *what, runner *r, const dataset *data, size_t limit, int64_t *out_answers,
                          accuracy *out_accuracy) NPUC_MUST_USE;
double npuc_percent(size_t part, size_t whole);
/* Whether `label` is the first largest element of the (last axis) row; and its rank among the row (0: first). */
size_t npuc_rank_of(const tensor *scores, int64_t label);

/* JSON of a comparison: the numbers of `diff`. */
json_t *npuc_comparison_json(const char *name, const comparison *c);
/* A double as JSON; infinities and NaN, which JSON has not, as strings "inf", "-inf", "nan". */
json_t *npuc_json_number(double v);

#endif
