/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline: which stages run, which are kept. A stage's key is the hash of everything that decides its result: npuc's version, the stage before (its outputs'
 * hashes), the options that it reads, the files that those name. Equal key and whole outputs: kept. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "npuc/library.h"
#include "stages/stages.h"
#include "stages/target.h"

static npuc_status (*const run_stage[])(stage_work *) = {
    [STAGE_BASELINE] = npuc_stage_baseline, [STAGE_IMPORT] = npuc_stage_import, [STAGE_NORMALIZE] = npuc_stage_normalize,
    [STAGE_STATIC] = npuc_stage_static,     [STAGE_ADAPT] = npuc_stage_adapt,   [STAGE_QUANTIZE] = npuc_stage_quantize,
    [STAGE_BUILD] = npuc_stage_build,       [STAGE_VERIFY] = npuc_stage_verify,
};

/* -- keys -- */

/* What a key is made of, text after text. A file that is there and cannot be read has no identity: the first such failure is kept, and the key fails with it. */
typedef struct identity {
  build *b;
  arena *arena;
  npuc_status status;
} identity;

static void keep_failure(identity *id, npuc_status status) {
  if (id->status == NPUC_OK) id->status = status;
}

/* Identity of a file that an option names: its content for files up to 256 MB, else device, inode, size and time. */
static const char *file_identity(identity *id, const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return "absent";
  if (S_ISREG(info.st_mode) && info.st_size <= (off_t)256 << 20) {
    const char *hash = "unread";
    npuc_status status = npuc_hash_file(id->b->diag, id->arena, path, &hash);
    if (status != NPUC_OK) keep_failure(id, status);
    return hash;
  }
  return npuc_arena_printf(id->arena, "%ju:%ju:%jd:%jd", (uintmax_t)info.st_dev, (uintmax_t)info.st_ino, (intmax_t)info.st_size,
                           (intmax_t)info.st_mtime);
}

/* A folder's is that of its files: its own time does not move when one of them is written over. */
static const char *tree_identity(identity *id, const char *path, int depth) {
  enum { DEEPEST = 3 };
  char **names;
  size_t n;
  if (!npuc_path_is_dir(path) || depth == DEEPEST) return file_identity(id, path);
  npuc_status status = npuc_dir_list(id->b->diag, id->arena, path, &names, &n);
  if (status != NPUC_OK) {
    keep_failure(id, status);
    return "unread";
  }
  const char *text = "folder";
  for (size_t i = 0; i < n; i++)
    text = npuc_hash_text(id->arena, npuc_arena_printf(id->arena, "%s|%s=%s", text, names[i],
                                                       tree_identity(id, npuc_path_join(id->arena, path, names[i]), depth + 1)));
  return text;
}

/* The state dict and what is asked of it; empty without one, as in builds of before there were any. */
static const char *state_identity(identity *id, const build_options *o) {
  if (!o->state_dict) return "";
  return npuc_arena_printf(id->arena, "|state %s %s %s", tree_identity(id, o->state_dict, 0),
                           o->state_dict_prefix ? o->state_dict_prefix : "(found)", o->state_dict_match ? o->state_dict_match : "all");
}

/* Identity of the source: the model's file, and the files beside it that hold its weights (external data). */
static const char *model_identity(identity *id, const char *path) {
  const char *text = file_identity(id, path), *name;
  mapped_file *file;
  size_t at = 0;
  void *item;
  if (!npuc_path_exists(path)) return text;
  npuc_status status = npuc_file_map(id->b->diag, path, &file);
  if (status != NPUC_OK) {
    keep_failure(id, status);
    return text;
  }
  map *locations = npuc_map_create(id->arena);
  npuc_onnx_locations(id->arena, npuc_file_bytes(file), npuc_file_size(file), locations);
  npuc_file_release(file);
  while (npuc_map_next(locations, &at, &name, &item))
    text =
        npuc_arena_printf(id->arena, "%s|%s", text, file_identity(id, npuc_path_join(id->arena, npuc_path_dirname(id->arena, path), name)));
  return text;
}

/* DATA is [KIND:]PATH: the path is what follows the last colon when the whole names no file. */
static const char *data_identity(identity *id, const char *data) {
  if (!data) return "none";
  const char *path = data, *colon = strrchr(data, ':');
  if (!npuc_path_exists(path) && colon) path = colon + 1;
  const char *labels = npuc_arena_printf(id->arena, "%s.labels.npy", path);
  size_t n = strlen(path);
  if (n > 4 && strcmp(path + n - 4, ".npy") == 0) labels = npuc_arena_printf(id->arena, "%.*s.labels.npy", (int)(n - 4), path);
  return npuc_arena_printf(id->arena, "%s|%s|%s", data, tree_identity(id, path, 0), file_identity(id, labels));
}

static const char *spec_identity(identity *id, const char *spec) {
  return spec ? npuc_arena_printf(id->arena, "%s|%s", spec, npuc_path_exists(spec) ? file_identity(id, spec) : "inline") : "none";
}

static const char *outputs_identity(const build *b, stage_id s, const char *target) {
  json_t *outputs = json_object_get(npuc_build_record(b, s, target), "outputs"), *entry;
  const char *text = npuc_stage_name(s);
  size_t i;
  json_array_foreach(outputs, i, entry) text =
      npuc_arena_printf(b->arena, "%s,%s", text, json_string_value(json_object_get(entry, "xxh3")));
  return text;
}

static const char *shapes_identity(const build *b) {
  const char *text = "";
  for (size_t i = 0; i < b->options.n_dims; i++)
    text = npuc_arena_printf(b->arena, "%s;%s=%" PRId64, text, b->options.dims[i].symbol, b->options.dims[i].value);
  for (size_t i = 0; i < b->options.n_shapes; i++) {
    text = npuc_arena_printf(b->arena, "%s;%s:", text, b->options.shapes[i].input);
    for (int32_t k = 0; k < b->options.shapes[i].shape.rank; k++)
      text = npuc_arena_printf(b->arena, "%sx%" PRId64, text, b->options.shapes[i].shape.dims[k]);
  }
  const build_options *o = &b->options;
  if (o->max_length) text = npuc_arena_printf(b->arena, "%s;decoder %s %s", text, o->max_length, o->chunk ? o->chunk : "");
  return text;
}

/* Empty without edits, as in builds of before there were any. */
static const char *edits_identity(identity *id, const build_options *o) {
  const char *text = o->edits ? npuc_arena_printf(id->arena, "|edits %s", file_identity(id, o->edits)) : "";
  for (size_t i = 0; i < o->n_edit; i++) text = npuc_arena_printf(id->arena, "%s|edit %s", text, o->edit[i]);
  for (size_t i = 0; i < o->n_skip_edit; i++) text = npuc_arena_printf(id->arena, "%s|skip %s", text, o->skip_edit[i]);
  return text;
}

static npuc_status target_identity(identity *id, const char *name, const char **out_text) {
  target_file t;
  NPUC_TRY(npuc_target_open(id->b->diag, id->arena, name, &t));
  *out_text = npuc_arena_printf(id->arena, "%s|%s", name, file_identity(id, t.path));
  npuc_target_close(&t);
  return NPUC_OK;
}

/* The key, and in *out_inputs what it was made of: the manifest shows why a stage ran again. `cut`: this command's cut of the passes is meant for the stage;
 * a stage that others stand on is wanted whole. */
npuc_status npuc_stage_key(build *b, stage_id s, const char *target, bool cut, const char **out_key, const char **out_inputs) {
  const build_options *o = &b->options;
  arena *a = b->arena;
  identity id = {.b = b, .arena = a};
  const char *parts = npuc_arena_printf(a, "npuc %s|%s|", npuc_version(), npuc_stage_name(s));
  const char *data = npuc_arena_printf(a, "%s|%s|%s|%" PRIu64, data_identity(&id, o->calib), data_identity(&id, o->eval),
                                       spec_identity(&id, o->preprocess), b->seed);
  const char *target_text = "";
  if (target) NPUC_TRY(target_identity(&id, target, &target_text));
  switch (s) {
    case STAGE_BASELINE:
      parts = npuc_arena_printf(a, "%s%s%s|%s|%s", parts, model_identity(&id, o->model), state_identity(&id, o), data, shapes_identity(b));
      break;
    case STAGE_IMPORT:
      parts = npuc_arena_printf(a, "%s%s%s|%s|%s", parts, model_identity(&id, o->model), state_identity(&id, o),
                                o->reference ? tree_identity(&id, o->reference, 0) : "none", outputs_identity(b, STAGE_BASELINE, NULL));
      break;
    case STAGE_ADAPT:
      parts = npuc_arena_printf(a, "%s%s|%s|%s%s", parts, target_text, shapes_identity(b), outputs_identity(b, STAGE_STATIC, NULL),
                                edits_identity(&id, o));
      break;
    case STAGE_QUANTIZE:
      parts = npuc_arena_printf(a, "%s%s|%s|%s|%s|%.17g|%d|%s", parts, data, o->scheme ? o->scheme : "", o->observer ? o->observer : "",
                                target_text, o->max_drop, (int)o->bias_correction, outputs_identity(b, STAGE_ADAPT, target));
      break;
    case STAGE_VERIFY:
      parts = npuc_arena_printf(a, "%s%s|%s|%s", parts, target_text, outputs_identity(b, STAGE_QUANTIZE, target),
                                outputs_identity(b, STAGE_BUILD, target));
      break;
    default:
      parts = npuc_arena_printf(a, "%s%s|%s|%s", parts, target_text, shapes_identity(b),
                                outputs_identity(b, (stage_id)(s - 1), npuc_stage_per_target((stage_id)(s - 1)) ? target : NULL));
  }
  bool has_passes = s == STAGE_NORMALIZE || s == STAGE_STATIC || s == STAGE_ADAPT;
  if (cut && has_passes && (b->controls.limit >= 0 || b->controls.stop_after))
    parts = npuc_arena_printf(a, "%s|cut %" PRId64 " %s", parts, b->controls.limit, b->controls.stop_after ? b->controls.stop_after : "");
  if (s == STAGE_STATIC && o->kv_form) parts = npuc_arena_printf(a, "%s|kv %s", parts, o->kv_form);
  *out_inputs = parts;
  *out_key = npuc_hash_text(a, parts);
  return id.status;
}

/* -- running -- */

/* Every stage before must have been done, with the options and files of now: the chain that a stage stands on is whole or it does not run. */
static npuc_status needs(build *b, stage_id s, const char *target) {
  for (int k = 0; k < (int)s; k++) {
    const char *t = npuc_stage_per_target((stage_id)k) ? target : NULL, *key, *inputs;
    NPUC_TRY(npuc_stage_key(b, (stage_id)k, t, false, &key, &inputs));
    if (npuc_build_holds(b, (stage_id)k, t, key)) continue;
    bool recorded = npuc_build_record(b, (stage_id)k, t) != NULL;
    npuc_status status =
        npuc_fail(b->diag, NPUC_DIAG_E0905, &(diag_place){.file = b->path}, "stage %s needs stage %s, which %s", npuc_stage_name(s),
                  npuc_stage_name((stage_id)k), recorded ? "was done with other options or files" : "has not been done");
    npuc_fix(b->diag, "npuc %s %s%s%s", npuc_stage_name((stage_id)k), b->path, t ? " -t " : "", t ? t : "");
    return status;
  }
  return NPUC_OK;
}

static npuc_status finish(stage_work *w, const char *key, const char *inputs, double seconds) {
  json_t *record = w->extras;
  json_object_set_new(record, "key", json_string(key));
  json_object_set_new(record, "inputs", json_string(inputs));
  json_object_set(record, "gate", w->gate);
  json_object_set_new(record, "seconds", json_real(seconds));
  json_object_set_new(record, "peak_rss_bytes", json_integer((json_int_t)npuc_peak_rss_bytes()));
  return npuc_build_done(w->b, w->stage, w->target, json_incref(record), w->outputs, w->n_outputs);
}

static const char *module_json_path(const build *b) { return npuc_path_join(b->arena, b->path, "module.json"); }

static npuc_status one_stage(build *b, stage_id s, const char *target, stage_listener *listener, void *user) {
  const char *key, *inputs;
  if (npuc_progress_cancelled(b->progress)) return npuc_fail(b->diag, NPUC_DIAG_E0005, NULL, "stopped before stage %s", npuc_stage_name(s));
  NPUC_TRY(npuc_stage_key(b, s, target, true, &key, &inputs));
  if (npuc_build_holds(b, s, target, key)) {
    json_t *record = npuc_build_record(b, s, target);
    if (listener) listener(user, s, target, "kept", json_real_value(json_object_get(record, "seconds")), json_object_get(record, "gate"));
    return NPUC_OK;
  }
  NPUC_TRY(npuc_path_remove(b->diag, module_json_path(b))); /* written again at the end: never older than the stages */
  NPUC_TRY(npuc_build_strike(b, s, target));
  double started = npuc_clock_seconds();
  stage_work w = {.b = b, .stage = s, .target = target, .gate = json_object(), .extras = json_object()};
  assert(s < STAGE_COUNT && run_stage[s]);
  npuc_status status = run_stage[s](&w);
  double seconds = npuc_clock_seconds() - started;
  if (status == NPUC_OK) status = finish(&w, key, inputs, seconds);
  if (listener) listener(user, s, target, status == NPUC_OK ? "done" : "failed", seconds, w.gate);
  json_decref(w.gate);
  json_decref(w.extras);
  return status;
}

static npuc_status run_stages(build *b, stage_id from, stage_id to, stage_listener *listener, void *user) {
  if (!npuc_stage_per_target(from)) NPUC_TRY(needs(b, from, NULL));
  for (int s = (int)from; s <= (int)to; s++)
    if (!npuc_stage_per_target((stage_id)s)) NPUC_TRY(one_stage(b, (stage_id)s, NULL, listener, user));
  if (!npuc_stage_per_target(to)) return NPUC_OK;
  if (b->options.n_targets == 0) {
    npuc_status status = npuc_fail(b->diag, NPUC_DIAG_E0907, &(diag_place){.attribute = "--target"},
                                   "stage %s is for a target, and none is named", npuc_stage_name(to));
    npuc_fix(b->diag, "-t refnpu-n16");
    return status;
  }
  for (size_t i = 0; i < b->options.n_targets; i++) {
    if (npuc_stage_per_target(from)) NPUC_TRY(needs(b, from, b->options.targets[i]));
    for (int s = from > STAGE_ADAPT ? (int)from : (int)STAGE_ADAPT; s <= (int)to; s++)
      NPUC_TRY(one_stage(b, (stage_id)s, b->options.targets[i], listener, user));
  }
  return NPUC_OK;
}

/* module.json describes the stages that stand, also those before one that failed. */
npuc_status npuc_pipeline_run(build *b, stage_id from, stage_id to, stage_listener *listener, void *user) {
  NPUC_TRY(npuc_build_check_pool(b));
  npuc_status status = run_stages(b, from, to, listener, user);
  if (status == NPUC_ENVIRONMENT || npuc_path_exists(module_json_path(b))) return status;
  npuc_status described = npuc_module_json_write(b);
  return status != NPUC_OK ? status : described;
}

stage_id npuc_pipeline_next(const build *b, const char **out_target) {
  *out_target = NULL;
  for (int s = 0; s < STAGE_COUNT; s++) {
    if (!npuc_stage_per_target((stage_id)s)) {
      if (!npuc_build_record(b, (stage_id)s, NULL)) return (stage_id)s;
      continue;
    }
    if (b->options.n_targets == 0) return (stage_id)s;
    for (size_t i = 0; i < b->options.n_targets; i++) {
      if (npuc_build_record(b, (stage_id)s, b->options.targets[i])) continue;
      *out_target = b->options.targets[i];
      return (stage_id)s;
    }
  }
  return STAGE_COUNT;
}
