/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler as a library: what `npuc compile` does, in one call.
 *
 *   npuc_compile_options o;
 *   npuc_compile_options_init(&o);
 *   const char *targets[] = {"refnpu-n16"};
 *   o.model = "model.onnx", o.output = "out", o.targets = targets, o.n_targets = 1;
 *   o.calibration = "npy:calib.npy";
 *   npuc_status status = npuc_compile(&o);
 *
 * Nothing is printed and the process never ends: diagnostics and progress come through callbacks. Thread-safe: calls with different output folders may run at once. */
#ifndef NPUC_COMPILER_H
#define NPUC_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npuc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum npuc_severity { NPUC_SEVERITY_ERROR, NPUC_SEVERITY_WARNING, NPUC_SEVERITY_NOTE } npuc_severity;

/* Strings are valid during the callback; any place member may be NULL. */
typedef struct npuc_diagnostic {
  npuc_severity severity;
  const char *code; /* "NPUC-E0312" */
  const char *file, *part, *node, *op, *attribute;
  const char *reason;
  const char *const *fixes; /* n_fixes commands or actions, best first */
  size_t n_fixes;
  size_t count; /* how many times it was raised */
} npuc_diagnostic;

typedef struct npuc_compile_options {
  size_t struct_bytes; /* set by npuc_compile_options_init: lets the struct grow */
  const char *model;   /* path of the source model; required */
  const char *output;  /* folder of the build; made when absent; required */
  const char *const *targets;
  size_t n_targets; /* at least 1 */
  /* DATA and SPEC as on the command line (docs/cli.md); NULL: none. */
  const char *calibration, *evaluation, *preprocess, *reference;
  const char *observer; /* NULL: the default */
  double max_drop;      /* accuracy points that quantization may cost; 0.5 after init */
  size_t threads;       /* 0: all processors */
  uint64_t seed;
  bool force;                                                           /* do again what has not changed */
  void (*on_diagnostic)(void *user, const npuc_diagnostic *diagnostic); /* when the compile has ended, in order */
  void (*on_stage)(void *user, const char *stage, const char *target, const char *status, double seconds);
  void (*on_progress)(void *user, const char *what, uint64_t done, uint64_t total);
  bool (*cancelled)(void *user); /* polled; true ends the compile with NPUC_ENVIRONMENT */
  void *user;
} npuc_compile_options;

NPUC_API void npuc_compile_options_init(npuc_compile_options *out_options);
/* Runs every stage. On failure no artifact is left that looks finished; calling again goes on from the last finished stage. */
NPUC_API npuc_status npuc_compile(const npuc_compile_options *options) NPUC_MUST_USE;

/* The story of a diagnostic's code ("E0312", "NPUC-E0312" or its name), or NULL when there is none. Static strings. */
NPUC_API const char *npuc_explain(const char *code);

#ifdef __cplusplus
}
#endif
#endif
