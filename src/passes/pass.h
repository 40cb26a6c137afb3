/* SPDX-License-Identifier: Apache-2.0 */
/* Passes and pipelines. passes.def has one line a pass; a pipeline is an ordered list of names with the reason for each position. After every pass the verifier runs. What was
 * rewritten is recorded with its parity: the stage's gate is the weakest of them. */
#ifndef NPUC_PASSES_PASS_H
#define NPUC_PASSES_PASS_H

#include "ir/rewrite.h"

typedef struct dim_binding {
  const char *symbol;
  int64_t value;
} dim_binding;

/* Whether a node may run on the NPU: fills the reason in either case (static or arena string). NULL place function: everything is "host". */
typedef struct pass_target {
  const char *name;
  bool (*place)(void *user, const node *n, const char **out_reason);
  void *user;
} pass_target;

/* What an edit takes out of the model (a table, a part) and who keeps it. */
typedef struct side_files {
  npuc_status (*tensor)(void *user, diag *d, const char *name, const tensor *t);
  npuc_status (*model)(void *user, diag *d, const char *name, const module *m);
  npuc_status (*text)(void *user, diag *d, const char *name, const char *text);
  /* After each edit, for --dump-after-edit; may be NULL. */
  npuc_status (*after)(void *user, diag *d, size_t index, const char *edit, const module *m);
  void *user;
} side_files;
/* How a write into a decoder's cache is spelled. */
typedef enum kv_form { KV_FORM_SCATTER, KV_FORM_WHERE, KV_FORM_MATMUL } kv_form;

typedef struct pass_options {
  const dim_binding *dims; /* --dim; the batch rule of docs/cli.md applies to the rest */
  size_t n_dims;
  int64_t max_length;        /* --max-length: the decoder's tokens; 0: caches stay as they are */
  int64_t chunk;             /* --chunk: tokens a call; 0: as the model says, else 1 */
  kv_form kv_form;           /* --kv-form */
  const pass_target *target; /* adapt */
  int64_t limit;             /* --pass-limit: at most so many rewrites; -1: no limit */
  const char *stop_after;    /* pass name or NULL */
  const char *print_after;   /* pass name, "all" or NULL */
  void (*print)(void *user, const char *pass, const graph *g);
  void *user;
  const side_files *side_files; /* of edits; NULL: those that write one are refused */
} pass_options;

typedef struct rewrite_record {
  const char *pass, *pattern;
  parity parity;
  size_t count;
  const char *first_node; /* source name of the first place */
} rewrite_record;

typedef struct pass_report {
  rewrite_record *rewrites;
  size_t n_rewrites;
  uint64_t visits; /* nodes that patterns looked at */
  parity parity;   /* the weakest that fired; PARITY_EXACT when none did */
} pass_report;

/* Runs pipeline "normalize", "static" or "adapt" over every part. The report is in `a`. */
npuc_status npuc_passes_run(diag *d, arena *a, module *m, const char *pipeline, const pass_options *options,
                            pass_report *out_report) NPUC_MUST_USE;

/* Gate checks. */
/* Every name is [A-Za-z0-9_.]+ and unique: E0912. */
npuc_status npuc_check_names(diag *d, const module *m) NPUC_MUST_USE;
/* No symbolic dim, no Shape on run-time values: E0913 for each, with the input symbol that caused it. */
npuc_status npuc_check_static(diag *d, const module *m) NPUC_MUST_USE;
/* Every node has a place and a reason: E0914. */
npuc_status npuc_check_places(diag *d, const module *m) NPUC_MUST_USE;

#endif
