/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a build: one table of names, whose values are texts. The command line, the C API and a manifest that is read again all set them here, and
 * the manifest keeps what they came to, so that a later command goes on with it. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "quant/range.h"
#include "stages/build.h"

static npuc_status bad_value(build *b, const char *name, const char *format, const char *text) {
  return npuc_fail(b->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = npuc_arena_printf(b->arena, "--%s", name)}, format, text);
}

/* -- spellings -- */

npuc_status npuc_parse_shape(diag *d, const char *option, const char *text, shape *out_shape) {
  shape s = {.rank = 0};
  for (const char *p = text;;) {
    char *end = NULL;
    long long v = strtoll(p, &end, 10);
    if (end == p || v < 0 || v > INT32_MAX || s.rank == MAX_RANK || (*end != 'x' && *end != '\0'))
      return npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.attribute = option}, "dims are written 1x3x224x224, not '%s'", text);
    s.dims[s.rank++] = v;
    if (*end == '\0') break;
    p = end + 1;
  }
  *out_shape = s;
  return NPUC_OK;
}

static npuc_status split_pair(diag *d, arena *a, const char *option, const char *text, const char **out_key, const char **out_value) {
  const char *equal = strchr(text, '=');
  if (!equal || equal == text || equal[1] == '\0')
    return npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.attribute = option}, "%s wants NAME=VALUE, not '%s'", option, text);
  *out_key = npuc_arena_strn(a, text, (size_t)(equal - text));
  *out_value = npuc_arena_str(a, equal + 1);
  return NPUC_OK;
}

npuc_status npuc_parse_binding(diag *d, arena *a, const char *option, const char *text, symbol_binding *out_binding) {
  const char *number = NULL;
  char *end = NULL;
  NPUC_TRY(split_pair(d, a, option, text, &out_binding->symbol, &number));
  out_binding->value = strtoll(number, &end, 10);
  if (*end == '\0' && out_binding->value >= 1 && out_binding->value <= INT32_MAX) return NPUC_OK;
  return npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.attribute = option}, "a dim is a number from 1 on, not '%s'", number);
}

/* -- setters -- */

/* A list with room for one more: options are few, and what was before stays where it is. */
static void *grown(build *b, const void *list, size_t n, size_t bytes) {
  char *more = npuc_arena_array(b->arena, n + 1, bytes);
  if (n) memcpy(more, list, n * bytes);
  return more;
}

static npuc_status add_target(build *b, const char *name, const char *text) {
  (void)name;
  build_options *o = &b->options;
  const char **list = grown(b, (const void *)o->targets, o->n_targets, sizeof *list);
  list[o->n_targets++] = npuc_arena_str(b->arena, text);
  o->targets = list;
  return NPUC_OK;
}

static const char *const *with_text(build *b, const char *const *list, size_t *n, const char *text) {
  const char **more = grown(b, (const void *)list, *n, sizeof *more);
  more[(*n)++] = npuc_arena_str(b->arena, text);
  return more;
}

static npuc_status add_edit(build *b, const char *name, const char *text) {
  (void)name;
  b->options.edit = with_text(b, b->options.edit, &b->options.n_edit, text);
  return NPUC_OK;
}

static npuc_status add_skip_edit(build *b, const char *name, const char *text) {
  (void)name;
  b->options.skip_edit = with_text(b, b->options.skip_edit, &b->options.n_skip_edit, text);
  return NPUC_OK;
}

static npuc_status add_dim(build *b, const char *name, const char *text) {
  (void)name;
  build_options *o = &b->options;
  symbol_binding *list = grown(b, o->dims, o->n_dims, sizeof *list);
  NPUC_TRY(npuc_parse_binding(b->diag, b->arena, "--dim", text, &list[o->n_dims]));
  o->dims = list;
  o->n_dims++;
  return NPUC_OK;
}

static npuc_status add_shape(build *b, const char *name, const char *text) {
  (void)name;
  build_options *o = &b->options;
  input_shape *list = grown(b, o->shapes, o->n_shapes, sizeof *list);
  const char *dims = NULL;
  NPUC_TRY(split_pair(b->diag, b->arena, "--shape", text, &list[o->n_shapes].input, &dims));
  NPUC_TRY(npuc_parse_shape(b->diag, "--shape", dims, &list[o->n_shapes].shape));
  o->shapes = list;
  o->n_shapes++;
  return NPUC_OK;
}

static npuc_status set_max_drop(build *b, const char *name, const char *text) {
  char *end = NULL;
  double points = strtod(text, &end);
  if (end == text || *end != '\0' || !(points >= -1e9 && points <= 1e9)) return bad_value(b, name, "a number is wanted, not '%s'", text);
  b->options.max_drop = points;
  return NPUC_OK;
}

static npuc_status set_seed(build *b, const char *name, const char *text) {
  char *end = NULL;
  long long seed = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || seed < 0) return bad_value(b, name, "a whole number from 0 on is wanted, not '%s'", text);
  b->seed = (uint64_t)seed;
  return NPUC_OK;
}

static npuc_status apply_setting(build *b, const char *name, const char *text) {
  static const char *const keys[] = {"quantize.observer", "quantize.bias_correction"};
  build_options *o = &b->options;
  const char *key = NULL, *setting = NULL;
  (void)name;
  NPUC_TRY(split_pair(b->diag, b->arena, "--set", text, &key, &setting));
  if (strcmp(key, keys[0]) == 0) {
    quant_observer kind;
    if (npuc_observer_parse(setting, &kind)) {
      o->observer = npuc_observer_name(kind);
      return NPUC_OK;
    }
    return npuc_fail(b->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = key}, "observers are min-max, percentile, mse and kl, not '%s'",
                     setting);
  }
  if (strcmp(key, keys[1]) == 0) {
    o->bias_correction = strcmp(setting, "true") == 0;
    if (o->bias_correction || strcmp(setting, "false") == 0) return NPUC_OK;
    return npuc_fail(b->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = key}, "true or false, not '%s'", setting);
  }
  npuc_status status = npuc_fail(b->diag, NPUC_DIAG_E0922, &(diag_place){.attribute = key}, "there is no setting '%s'", key);
  const char *near = npuc_nearest(key, keys, sizeof keys / sizeof *keys);
  if (near) npuc_fix(b->diag, "--set %s=VALUE", near);
  return status;
}

/* -- the table -- */

/* A text is kept where `text` says; anything else has its setter. */
static const struct {
  const char *name, *recorded; /* as given; as the manifest calls it, NULL where it is not read back through the table */
  size_t text;
  npuc_status (*set)(build *b, const char *name, const char *text);
} table[] = {
#define TEXT(name, member) \
  { name, #member, offsetof(build_options, member), NULL }
    TEXT("calib", calib),
    TEXT("eval", eval),
    TEXT("preprocess", preprocess),
    TEXT("reference", reference),
    TEXT("scheme", scheme),
    TEXT("state-dict", state_dict),
    TEXT("state-dict-prefix", state_dict_prefix),
    TEXT("state-dict-match", state_dict_match),
    TEXT("edits", edits),
    TEXT("max-length", max_length),
    TEXT("chunk", chunk),
    TEXT("kv-form", kv_form),
#undef TEXT
    {"target", NULL, 0, add_target},
    {"edit", NULL, 0, add_edit},
    {"skip-edit", NULL, 0, add_skip_edit},
    {"dim", NULL, 0, add_dim},
    {"shape", NULL, 0, add_shape},
    {"max-drop", NULL, 0, set_max_drop},
    {"seed", NULL, 0, set_seed},
    {"set", NULL, 0, apply_setting},
};
enum { N_OPTIONS = sizeof table / sizeof *table };

static const char **text_of(build *b, size_t i) { return (const char **)((char *)&b->options + table[i].text); }

npuc_status npuc_build_option_set(build *b, const char *name, const char *text) {
  const char *names[N_OPTIONS];
  for (size_t i = 0; i < N_OPTIONS; i++) {
    names[i] = table[i].name;
    if (strcmp(name, table[i].name) != 0) continue;
    if (table[i].set) return table[i].set(b, name, text);
    *text_of(b, i) = npuc_arena_str(b->arena, text);
    return NPUC_OK;
  }
  npuc_status status = npuc_fail(b->diag, NPUC_DIAG_E0102, &(diag_place){.attribute = name}, "a build has no option '%s'", name);
  const char *near = npuc_nearest(name, names, N_OPTIONS);
  if (near) npuc_fix(b->diag, "%s", near);
  return status;
}

const char *npuc_build_option_text(const build *b, const char *name) {
  for (size_t i = 0; i < N_OPTIONS; i++)
    if (strcmp(name, table[i].name) == 0 && !table[i].set) return *text_of((build *)(uintptr_t)b, i);
  return NULL;
}

void npuc_build_option_clear(build *b, const char *name) {
  build_options *o = &b->options;
  if (strcmp(name, "target") == 0) o->n_targets = 0;
  if (strcmp(name, "edit") == 0) o->n_edit = 0;
  if (strcmp(name, "skip-edit") == 0) o->n_skip_edit = 0;
  if (strcmp(name, "dim") == 0) o->n_dims = 0;
  if (strcmp(name, "shape") == 0) o->n_shapes = 0;
}

/* -- the manifest -- */

static const char *pair_text(build *b, const char *key, const json_t *v) {
  return json_is_integer(v) ? npuc_arena_printf(b->arena, "%s=%" JSON_INTEGER_FORMAT, key, json_integer_value(v))
                            : npuc_arena_printf(b->arena, "%s=%s", key, json_string_value(v) ? json_string_value(v) : "");
}

static npuc_status load_texts(build *b, const json_t *list, const char *option) {
  json_t *entry;
  size_t i;
  json_array_foreach(list, i, entry) NPUC_TRY(npuc_build_option_set(b, option, json_string_value(entry) ? json_string_value(entry) : ""));
  return NPUC_OK;
}

static npuc_status load_lists(build *b, const json_t *j) {
  json_t *entry;
  const char *key;
  NPUC_TRY(load_texts(b, json_object_get(j, "targets"), "target"));
  NPUC_TRY(load_texts(b, json_object_get(j, "edit"), "edit"));
  NPUC_TRY(load_texts(b, json_object_get(j, "skip_edit"), "skip-edit"));
  json_object_foreach(json_object_get(j, "dims"), key, entry) NPUC_TRY(npuc_build_option_set(b, "dim", pair_text(b, key, entry)));
  json_object_foreach(json_object_get(j, "shapes"), key, entry) NPUC_TRY(npuc_build_option_set(b, "shape", pair_text(b, key, entry)));
  return NPUC_OK;
}

npuc_status npuc_build_options_load(build *b) {
  const json_t *j = json_object_get(b->manifest, "options");
  const char *model = json_string_value(json_object_get(j, "model")), *kind = json_string_value(json_object_get(j, "observer"));
  json_t *drop = json_object_get(j, "max_drop"), *correction = json_object_get(j, "bias_correction");
  b->options = (build_options){.model = model ? npuc_arena_str(b->arena, model) : NULL,
                               .max_drop = drop ? json_number_value(drop) : 0.5,
                               .bias_correction = correction ? json_is_true(correction) : true};
  b->seed = (uint64_t)json_integer_value(json_object_get(j, "seed"));
  for (size_t i = 0; i < N_OPTIONS; i++) {
    const char *text = table[i].recorded ? json_string_value(json_object_get(j, table[i].recorded)) : NULL;
    if (text) *text_of(b, i) = npuc_arena_str(b->arena, text);
  }
  if (kind) NPUC_TRY(npuc_build_option_set(b, "set", npuc_arena_printf(b->arena, "quantize.observer=%s", kind)));
  return load_lists(b, j);
}

void npuc_build_inherit(build *b, const char *spec) {
  json_t *options = json_object_get(b->manifest, "options");
  if (!options) json_object_set_new(b->manifest, "options", options = json_object());
  if (spec && !json_is_string(json_object_get(options, "preprocess"))) json_object_set_new(options, "preprocess", json_string(spec));
}

static void set_text(json_t *o, const char *key, const char *text) {
  if (text) json_object_set_new(o, key, json_string(text));
}

npuc_status npuc_build_options_save(build *b) {
  const build_options *o = &b->options;
  json_t *j = json_object(), *targets = json_array(), *edit = json_array(), *skip = json_array(), *dims = json_object(),
         *list = json_object();
  set_text(j, "model", o->model);
  set_text(j, "observer", o->observer);
  for (size_t i = 0; i < N_OPTIONS; i++)
    if (table[i].recorded) set_text(j, table[i].recorded, *text_of(b, i));
  for (size_t i = 0; i < o->n_targets; i++) json_array_append_new(targets, json_string(o->targets[i]));
  for (size_t i = 0; i < o->n_edit; i++) json_array_append_new(edit, json_string(o->edit[i]));
  for (size_t i = 0; i < o->n_skip_edit; i++) json_array_append_new(skip, json_string(o->skip_edit[i]));
  for (size_t i = 0; i < o->n_dims; i++) json_object_set_new(dims, o->dims[i].symbol, json_integer(o->dims[i].value));
  for (size_t i = 0; i < o->n_shapes; i++) {
    const char *text = "";
    const shape *s = &o->shapes[i].shape;
    for (int32_t k = 0; k < s->rank; k++) text = npuc_arena_printf(b->arena, "%s%s%" PRId64, text, k ? "x" : "", s->dims[k]);
    json_object_set_new(list, o->shapes[i].input, json_string(text));
  }
  json_object_set_new(j, "targets", targets);
  json_object_set_new(j, "edit", edit);
  json_object_set_new(j, "skip_edit", skip);
  json_object_set_new(j, "dims", dims);
  json_object_set_new(j, "shapes", list);
  json_object_set_new(j, "max_drop", json_real(o->max_drop));
  json_object_set_new(j, "bias_correction", json_boolean(o->bias_correction));
  json_object_set_new(j, "seed", json_integer((json_int_t)b->seed));
  json_object_set_new(b->manifest, "options", j);
  return npuc_build_save(b);
}
