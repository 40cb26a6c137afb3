/* SPDX-License-Identifier: Apache-2.0 */
/* A build: the folder OUT, its manifest, and the stages that have been done in it.
 *
 *   OUT/manifest.json            command, options as resolved, versions, hashes, gates, rewrites, times: the memory between commands
 *   OUT/module.json              parts, states, links, the map from sanitized names to the source's
 *   OUT/weights/HASH.bin         every constant of at least 1 KiB, once, under its content's XXH3-128
 *   OUT/0-baseline/ ... 7-verify.TARGET/
 *
 * A stage is done when manifest.json says so: its outputs are written first (aside, then renamed), the manifest last. A stage whose key (hash of
 * its inputs and options) and outputs still hold is kept. Starting a stage first strikes it and all later ones from the manifest and
 * removes their files, so that nothing stale looks finished. */
#ifndef NPUC_STAGES_BUILD_H
#define NPUC_STAGES_BUILD_H

#include <jansson.h>

#include "base/progress.h"
#include "base/threads.h"
#include "import/onnx/onnx.h"
#include "stages/open_model.h"

typedef enum stage_id {
#define STAGE(id, name, number, per_target, file) STAGE_##id,
#include "stages/stage.def"
#undef STAGE
  STAGE_COUNT
} stage_id;

const char *npuc_stage_name(stage_id s);
bool npuc_stage_per_target(stage_id s);
bool npuc_stage_find(const char *name, stage_id *out_stage);

typedef struct input_shape {
  const char *input;
  shape shape;
} input_shape;

/* What the user asked for, resolved. Recorded in the manifest; a later command on the same OUT starts from the recorded ones. */
typedef struct build_options {
  const char *model; /* path as given */
  const char *const *targets;
  size_t n_targets;
  const char *scheme;                    /* NULL: the target's */
  const char *observer;                  /* NULL: default */
  const char *calib, *eval, *preprocess; /* NULL: none */
  const char *reference;
  const char *state_dict, *state_dict_prefix, *state_dict_match; /* as state_request */
  const char *edits;                                             /* file of --edits, or NULL */
  const char *const *edit, *const *skip_edit;                    /* as written on the command line */
  size_t n_edit, n_skip_edit;
  const symbol_binding *dims;
  size_t n_dims;
  const input_shape *shapes;
  size_t n_shapes;
  const char *max_length, *chunk, *kv_form; /* of a decoder; NULL: not asked */
  double max_drop;                          /* points; 0.5 unless asked */
  bool bias_correction;
} build_options;

/* Bisection and dumps of the pass stages. A stage that was cut short has another key: without the cut it is done again. */
typedef struct pass_controls {
  int64_t limit;           /* rewrites in all; -1: no limit */
  const char *stop_after;  /* pass name or NULL */
  const char *print_after; /* pass name, "all" or NULL */
  bool dump_after_edit;    /* into OUT/intermediates */
  void (*print)(void *user, const char *pass, const graph *g);
  void *user;
} pass_controls;

typedef struct build {
  const char *path;
  arena *arena;
  diag *diag;
  thread_pool *pool;
  const progress *progress;
  uint64_t seed;
  json_t *manifest;
  build_options options;
  int lock;               /* file descriptor of OUT/.lock */
  size_t reference_above; /* constants in source files of more bytes stay there; SIZE_MAX: all weights go into the pool */
  pass_controls controls;
  /* For tests of the gates, NULL otherwise: may damage what a stage made (the module before it is written; for stage build NULL and the artifact's path). */
  npuc_status (*tamper)(void *user, stage_id s, module *m, const char *path);
  void *tamper_user;
} build;

/* Opens OUT, creating it when `create`. A folder that exists, is not empty and is no build of ours is refused (E0901). Another running npuc in it: E0902. */
npuc_status npuc_build_open(diag *d, arena *a, const char *path, bool create, build **out_build) NPUC_MUST_USE;
/* For looking only: no lock, nothing is written or swept, also beside a running compile. */
npuc_status npuc_build_look(diag *d, arena *a, const char *path, build **out_build) NPUC_MUST_USE;
void npuc_build_close(build *b);
/* True when `path` is a folder with a manifest of ours. */
bool npuc_build_is(const char *path);
/* Path of a stage's model or folder inside OUT; target NULL for stages that have none. In the build's arena. */
const char *npuc_build_path(const build *b, stage_id s, const char *target);

/* -- options -- */
/* Options by their names of docs/cli.md without the dashes, as texts, which are copied: "target", "calib", "dim" ("N=4"), "set" ("quantize.observer=mse"). Those that
 * are lists get one more. E0102: no such option; E0104, E0922: no such value. */
npuc_status npuc_build_option_set(build *b, const char *name, const char *text) NPUC_MUST_USE;
const char *npuc_build_option_text(const build *b, const char *name); /* of an option that is kept as its text; NULL: not set */
void npuc_build_option_clear(build *b, const char *name);             /* empties a list */
/* What the manifest recorded, and the defaults for the rest. */
npuc_status npuc_build_options_load(build *b) NPUC_MUST_USE;
/* A model that comes out of a build brings the preprocessing that was recorded there; what this build recorded itself is stronger. spec may be NULL. */
void npuc_build_inherit(build *b, const char *spec);
/* "1x3x224x224"; "SYMBOL=N". `option` is what errors are about. */
npuc_status npuc_parse_shape(diag *d, const char *option, const char *text, shape *out_shape) NPUC_MUST_USE;
npuc_status npuc_parse_binding(diag *d, arena *a, const char *option, const char *text, symbol_binding *out_binding) NPUC_MUST_USE;

/* -- records of stages -- */
json_t *npuc_build_record(const build *b, stage_id s, const char *target); /* borrowed, NULL when not done */
/* Strikes stage s and the later ones and removes their files. */
npuc_status npuc_build_strike(build *b, stage_id s, const char *target) NPUC_MUST_USE;
/* Takes `record`, fills in hashes of the named outputs, writes the manifest. */
npuc_status npuc_build_done(build *b, stage_id s, const char *target, json_t *record, const char *const *outputs,
                            size_t n_outputs) NPUC_MUST_USE;
/* The key and every recorded output still hold. */
bool npuc_build_holds(build *b, stage_id s, const char *target, const char *key);
npuc_status npuc_build_save(build *b) NPUC_MUST_USE;
/* Records b->options and the seed in the manifest and saves it. */
npuc_status npuc_build_options_save(build *b) NPUC_MUST_USE;

/* -- writing models -- */
/* Whether a written model refers to the constant where it is. */
bool npuc_build_stays_in_source(const build *b, const tensor *t);
/* ONNX with constants in OUT/weights, or where they are. */
npuc_status npuc_build_write_model(build *b, const module *m, const char *path) NPUC_MUST_USE;
/* The same without a build: constants in FOLDER/weights, the model in FOLDER itself. */
npuc_status npuc_pool_write_model(diag *d, arena *a, const char *folder, const module *m, const char *path) NPUC_MUST_USE;
/* Every file of OUT/weights against its name: a damaged one is removed, and the stages that may have read it are struck, with a warning (E0927). */
npuc_status npuc_build_check_pool(build *b) NPUC_MUST_USE;
/* The same for a reader of OUT: changes nothing, E0927 for the first damaged file. */
npuc_status npuc_pool_verify(diag *d, arena *a, const char *out) NPUC_MUST_USE;

/* OUT/module.json from the newest stage model: parts with ports, states, links, names of the source. */
npuc_status npuc_module_json_write(build *b) NPUC_MUST_USE;

/* XXH3-64 of a file as 16 hex digits, in the arena. */
npuc_status npuc_hash_file(diag *d, arena *a, const char *path, const char **out_hex) NPUC_MUST_USE;
const char *npuc_hash_text(arena *a, const char *text);

#endif
