/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler as a library. Three handles:
 *
 *   npuc_context      threads, diagnostics, progress, cancellation; the other two stand on one and must go before it
 *   npuc_network      a model that was read: what is in it, and the executor that runs it
 *   npuc_compilation  a build folder: options as the texts of docs/cli.md, calibration samples from memory, the stages
 *
 *   npuc_context *context;
 *   npuc_compilation *compilation;
 *   if (npuc_context_create(NULL, &context) != NPUC_OK) ...
 *   if (npuc_compilation_create(context, "model.pt2", "out", &compilation) == NPUC_OK &&
 *       npuc_compilation_set(compilation, "target", "refnpu-n16") == NPUC_OK &&
 *       npuc_compilation_set(compilation, "calib", "npy:calib.npy") == NPUC_OK &&
 *       npuc_compilation_run(compilation, NULL, NULL) == NPUC_OK)
 *     puts(npuc_compilation_results(compilation));
 *   else
 *     ... npuc_context_diagnostic(context, 0, &diagnostic) ...
 *
 * A call that fails returns what kind of failure it is (npuc/status.h) and leaves diagnostics in the context. Nothing is printed and the process never
 * ends. A context and what stands on it is used by one thread at a time; different contexts, with different build folders, by as many as there are. What a function gives out as
 * `const` belongs to the handle; texts are UTF-8 and end in a zero byte. Artifacts (`.npu`) are run by npuc/runtime.h. */
#ifndef NPUC_COMPILER_H
#define NPUC_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npuc/runtime.h"
#include "npuc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- context -- */

typedef enum npuc_severity { NPUC_SEVERITY_ERROR, NPUC_SEVERITY_WARNING, NPUC_SEVERITY_NOTE } npuc_severity;

/* Any place member may be NULL. Strings live until the context's diagnostics are cleared. */
typedef struct npuc_diagnostic {
  npuc_severity severity;
  npuc_status status; /* what a call that fails with this code returns */
  const char *code;   /* "NPUC-E0312" */
  const char *file, *part, *node, *op, *attribute;
  const char *reason;
  const char *const *fixes; /* n_fixes commands or actions, best first */
  size_t n_fixes;
  size_t count; /* how many times it was raised */
} npuc_diagnostic;

typedef struct npuc_context npuc_context;
typedef struct npuc_network npuc_network;
typedef struct npuc_compilation npuc_compilation;

/* Callbacks may be NULL; they are called from the thread that called npuc, or while that one waits. They must not call npuc with the same context. */
typedef struct npuc_context_options {
  size_t struct_bytes; /* set by npuc_context_options_init: lets the struct grow */
  size_t threads;      /* 0: all processors */
  void (*on_progress)(void *user, const char *what, uint64_t done, uint64_t total); /* total 0: not known */
  /* A stage of a compilation has ended. target: NULL for stages that have none; status: "done", "kept", "failed". */
  void (*on_stage)(void *user, const char *stage, const char *target, const char *status, double seconds);
  bool (*cancelled)(void *user); /* polled; true ends a compilation's run with NPUC_ENVIRONMENT (E0005) */
  void *user;
} npuc_context_options;

NPUC_API void npuc_context_options_init(npuc_context_options *out_options);
/* options may be NULL. NPUC_USAGE: options that were not initialised; NPUC_ENVIRONMENT: no threads. On failure *out_context is NULL. */
NPUC_API npuc_status npuc_context_create(const npuc_context_options *options, npuc_context **out_context) NPUC_MUST_USE;
NPUC_API void npuc_context_destroy(npuc_context *context); /* NULL is fine */
/* Errors, warnings and notes of all calls since the last clear, in order. False when there is no such index. */
NPUC_API size_t npuc_context_diagnostics(const npuc_context *context);
NPUC_API bool npuc_context_diagnostic(const npuc_context *context, size_t index, npuc_diagnostic *out_diagnostic);
NPUC_API void npuc_context_clear(npuc_context *context);

/* The story of a diagnostic's code ("E0312", "NPUC-E0312" or its name), or NULL when there is none. Static strings. */
NPUC_API const char *npuc_explain(const char *code);

/* -- networks -- */

/* Dense row-major elements in the caller's memory, or (outputs of a run) in the network's. */
typedef struct npuc_array {
  const char *name; /* of the input or output; NULL: the one of this place in the list */
  int32_t dtype;    /* ONNX TensorProto.DataType */
  int32_t rank;     /* 0: a scalar */
  int64_t dims[NPUC_MAX_RANK];
  void *data;   /* read only where the array is an input; may be NULL where bytes is 0 */
  size_t bytes; /* all of them: elements times their size, 4-bit types packed */
} npuc_array;

/* MODEL as on the command line (an ONNX file, a .pt2 archive, a build folder, OUT@STAGE). NPUC_BAD_INPUT, NPUC_UNSUPPORTED, NPUC_ENVIRONMENT. On failure *out_network is NULL. */
NPUC_API npuc_status npuc_network_open(npuc_context *context, const char *model, npuc_network **out_network) NPUC_MUST_USE;
NPUC_API void npuc_network_destroy(npuc_network *network); /* NULL is fine */
/* The number of a symbolic dim: "batch", 4. Before the first run. NPUC_USAGE: no input has a dim of that name. */
NPUC_API npuc_status npuc_network_bind(npuc_network *network, const char *symbol, int64_t size) NPUC_MUST_USE;
/* Weights by name from a state dict (torch.save, safetensors, an index of shards, a folder), before the first run. prefix: what the file's names begin with, NULL: found. some: parameters
 * that the file does not have stay as they are; else they are a failure. NPUC_USAGE (E0341): names are missing, shapes or types differ; nothing has changed then. */
NPUC_API npuc_status npuc_network_load(npuc_network *network, const char *state_dict, const char *prefix, bool some) NPUC_MUST_USE;
/* Ports of the main part, in order; NULL when there is no such index. rank is -1 and dims are -1 where they are not known or symbolic; bytes is 0 then. Lives until the network goes. */
NPUC_API size_t npuc_network_inputs(const npuc_network *network);
NPUC_API size_t npuc_network_outputs(const npuc_network *network);
NPUC_API const npuc_port *npuc_network_input(const npuc_network *network, size_t index);
NPUC_API const npuc_port *npuc_network_output(const npuc_network *network, size_t index);
/* The JSON document of `npuc inspect MODEL --json`: {"parts":[{name, inputs, outputs, ops, parameters, macs, ..}]}. Lives until the next call or the network's end. */
NPUC_API const char *npuc_network_describe(npuc_network *network);
/* As ONNX, weights inside. Atomic. */
NPUC_API npuc_status npuc_network_save(npuc_network *network, const char *path) NPUC_MUST_USE;
/* One execution by the reference executor. inputs: one for each input, by name (of the model or of its source) or by place; they are read where they lie and not copied, unless their
 * address is odd for their type or a float32 array is given to an integer input, which quantizes it. out_outputs: npuc_network_outputs() of
 * them, filled in; their memory is the network's and stands until its next run or end. NPUC_USAGE (E0921, E0601): an input that is missing, given twice or not there, another dtype, another shape. */
NPUC_API npuc_status npuc_network_run(npuc_network *network, const npuc_array *inputs, size_t n_inputs,
                                      npuc_array *out_outputs) NPUC_MUST_USE;

/* -- compilations -- */

/* Opens the build folder `output`, which is made when it is not there and locked until destroy. model: MODEL as for npuc_network_open, or NULL to go on with the one that the folder's manifest
 * records; what else the manifest records are the options to begin with. NPUC_USAGE: a folder that is not a build. NPUC_ENVIRONMENT: somebody works in it. */
NPUC_API npuc_status npuc_compilation_create(npuc_context *context, const char *model, const char *output,
                                             npuc_compilation **out_compilation) NPUC_MUST_USE;
NPUC_API void npuc_compilation_destroy(npuc_compilation *compilation); /* NULL is fine; what was built stays */
/* An option of `npuc compile` by its long name without the dashes (docs/cli.md): "target", "calib", "eval", "preprocess", "scheme", "max-drop", "dim" ("N=4"), "shape", "reference",
 * "seed", "set" ("quantize.observer=mse"), "state-dict", "state-dict-prefix", "state-dict-match". "target", "dim" and "shape" are lists: the first call for one of them replaces what the manifest recorded, each further one adds.
 * NPUC_USAGE: no such option or value. */
NPUC_API npuc_status npuc_compilation_set(npuc_compilation *compilation, const char *option, const char *value) NPUC_MUST_USE;
/* More calibration samples, one array for each input of the model, by name or place. An array of the input's rank has samples along its first axis (a batch of them), one of a rank less is one sample; where
 * the input's first dim is a number other than 1, the array is one sample as it is. The samples go to OUTPUT/samples, and "calib" names that folder: the first call empties it. NPUC_USAGE: missing or unknown inputs, unequal numbers of samples. */
NPUC_API npuc_status npuc_compilation_add(npuc_compilation *compilation, const npuc_array *arrays, size_t n_arrays) NPUC_MUST_USE;
/* Runs the stages from `from` to `to` (names as in docs/cli.md; NULL: the first, the last). What has not changed since the last run is kept; `from` and what follows is not. On failure no artifact is left that looks
 * finished; running again goes on behind the last good stage. */
NPUC_API npuc_status npuc_compilation_run(npuc_compilation *compilation, const char *from, const char *to) NPUC_MUST_USE;
/* JSON: {"stages": {name: record}, "targets": [{target, accuracy?, sqnr_db?, cycles?, utilization?, artifact?}], "manifest": PATH}, as far as stages have been done. Lives until the next call or the end. */
NPUC_API const char *npuc_compilation_results(npuc_compilation *compilation);

#ifdef __cplusplus
}
#endif
#endif
