/* SPDX-License-Identifier: Apache-2.0 */
/* A state dict into a graph. First the pairing of names, whole, with its report; then, when the pairing is good, the bytes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "import/state_dict.h"

typedef struct pairing {
  arena *arena;
  const state_dict *dict;
  map *entries;       /* name in the file -> torch_tensor */
  value **parameters; /* constants that the file may know */
  size_t n_parameters, capacity;
  const char *prefix, *own_prefix; /* of the file's names; of the graph's */
  size_t matched, parts;           /* parts: parameters that the file must have */
  json_t *missing, *unexpected, *mismatched;
} pairing;

/* -- prefixes -- */

/* What wraps a model's names in a file, each followed by a dot; averages stand behind the weights themselves. */
static const char *const wrappers[] = {"module",    "_orig_mod", "model",          "state_dict",     "model_state_dict",
                                       "net",       "network",   "weights",        "params",         "ema",
                                       "ema_model", "model_ema", "ema_state_dict", "state_dict_ema", "params_ema"};
enum { N_WRAPPERS = sizeof wrappers / sizeof *wrappers, FIRST_AVERAGE = 9 };

/* Index of the wrapper that `name` begins with, or N_WRAPPERS. */
static size_t wrapper_of(const char *name) {
  for (size_t i = 0; i < N_WRAPPERS; i++) {
    size_t n = strlen(wrappers[i]);
    if (strncmp(name, wrappers[i], n) == 0 && name[n] == '.') return i;
  }
  return N_WRAPPERS;
}

static bool has_average(const char *prefix) {
  for (const char *p = prefix; *p; p = strchr(p, '.') + 1)
    if (wrapper_of(p) >= FIRST_AVERAGE && wrapper_of(p) < N_WRAPPERS) return true;
  return false;
}

/* Every beginning of `name` that is made of wrappers, the empty one too. */
static void add_prefixes(arena *a, map *prefixes, const char *name) {
  for (size_t n = 0;;) {
    const char *prefix = npuc_arena_strn(a, name, n);
    if (!npuc_map_get(prefixes, prefix)) npuc_map_put(prefixes, prefix, prefixes);
    size_t w = wrapper_of(name + n);
    if (w == N_WRAPPERS) return;
    n += strlen(wrappers[w]) + 1;
  }
}

static const torch_tensor *entry_of(const pairing *p, const value *v, const char *prefix, const char *own_prefix) {
  size_t n = strlen(own_prefix);
  if (strncmp(v->name, own_prefix, n) != 0) return NULL;
  char name[1024];
  int length = snprintf(name, sizeof name, "%s%s", prefix, v->name + n);
  return length > 0 && (size_t)length < sizeof name ? npuc_map_get(p->entries, name) : NULL;
}

static size_t count_matches(const pairing *p, const char *prefix, const char *own_prefix) {
  size_t n = 0;
  for (size_t i = 0; i < p->n_parameters; i++) n += entry_of(p, p->parameters[i], prefix, own_prefix) != NULL;
  return n;
}

static void choose_prefixes(pairing *p, const char *wanted) {
  map *theirs = npuc_map_create(p->arena), *ours = npuc_map_create(p->arena);
  const char *prefix, *own;
  size_t at = 0, best = 0;
  if (wanted)
    npuc_map_put(theirs, wanted, theirs);
  else
    for (size_t i = 0; i < npuc_state_dict_count(p->dict); i++) add_prefixes(p->arena, theirs, npuc_state_dict_at(p->dict, i)->name);
  npuc_map_put(ours, "", ours);
  for (size_t i = 0; i < p->n_parameters; i++) add_prefixes(p->arena, ours, p->parameters[i]->name);
  p->prefix = wanted ? wanted : "";
  p->own_prefix = "";
  while (npuc_map_next(theirs, &at, &prefix, NULL)) {
    size_t own_at = 0;
    while (npuc_map_next(ours, &own_at, &own, NULL)) {
      size_t n = count_matches(p, prefix, own);
      if (n < best || n == 0) continue;
      if (n == best && (!has_average(p->prefix) || has_average(prefix))) continue;
      best = n;
      p->prefix = prefix;
      p->own_prefix = own;
    }
  }
}

/* -- the report -- */

static const char *describe(arena *a, const tensor *t) {
  const char *text = npuc_arena_printf(a, "%s[", npuc_dtype_name(t->type));
  for (int32_t i = 0; i < t->shape.rank; i++) text = npuc_arena_printf(a, "%s%s%" PRId64, text, i ? "," : "", t->shape.dims[i]);
  return npuc_arena_printf(a, "%s]", text);
}

static bool fits(const tensor *graph_tensor, const tensor *file_tensor) {
  bool types = graph_tensor->type == file_tensor->type ||
               (npuc_dtype_kind(graph_tensor->type) == KIND_FLOAT && npuc_dtype_kind(file_tensor->type) == KIND_FLOAT);
  return types && npuc_shape_equal(&graph_tensor->shape, &file_tensor->shape);
}

/* A number that stands alone, or integers, may be the exporter's own (an epsilon, an axis): those the file need not know. */
static bool must_be_there(const value *v) { return npuc_dtype_kind(v->type) == KIND_FLOAT && npuc_tensor_elements(v->constant) > 1; }

static void judge(pairing *p) {
  map *used = npuc_map_create(p->arena);
  for (size_t i = 0; i < p->n_parameters; i++) {
    const value *v = p->parameters[i];
    const torch_tensor *t = entry_of(p, v, p->prefix, p->own_prefix);
    p->parts += must_be_there(v);
    if (!t && must_be_there(v)) json_array_append_new(p->missing, json_string(v->name));
    if (!t) continue;
    npuc_map_put(used, t->name, used);
    if (fits(v->constant, &t->value))
      p->matched++;
    else
      json_array_append_new(p->mismatched, json_pack("{s:s, s:s, s:s}", "name", v->name, "graph", describe(p->arena, v->constant), "file",
                                                     describe(p->arena, &t->value)));
  }
  static const char counter[] = "num_batches_tracked"; /* of a batch norm: inference does not read it */
  size_t n = strlen(p->prefix);
  for (size_t i = 0; i < npuc_state_dict_count(p->dict); i++) {
    const char *name = npuc_state_dict_at(p->dict, i)->name;
    size_t length = strlen(name);
    if (strncmp(name, p->prefix, n) != 0 || npuc_map_get(used, name)) continue;
    if (length >= sizeof counter - 1 && strcmp(name + length - (sizeof counter - 1), counter) == 0) continue;
    json_array_append_new(p->unexpected, json_string(name));
  }
}

/* The first few names of a list, and how many more there are. */
static const char *names_text(arena *a, const json_t *list) {
  enum { SHOWN = 4 };
  const char *text = "";
  json_t *entry;
  size_t i;
  json_array_foreach(list, i, entry) {
    const char *name = json_string_value(json_is_object(entry) ? json_object_get(entry, "name") : entry);
    if (i == SHOWN) return npuc_arena_printf(a, "%s and %zu more", text, json_array_size(list) - SHOWN);
    text = npuc_arena_printf(a, "%s%s%s", text, i ? ", " : "", name ? name : "?");
    if (json_is_object(entry))
      text = npuc_arena_printf(a, "%s (graph %s, file %s)", text, json_string_value(json_object_get(entry, "graph")),
                               json_string_value(json_object_get(entry, "file")));
  }
  return text;
}

static npuc_status refuse(diag *d, const pairing *p, const state_request *request) {
  const char *text = npuc_arena_printf(p->arena, "%zu of the graph's %zu parameters are in it", p->matched, p->parts);
  if (json_array_size(p->missing)) text = npuc_arena_printf(p->arena, "%s; missing: %s", text, names_text(p->arena, p->missing));
  if (json_array_size(p->mismatched))
    text = npuc_arena_printf(p->arena, "%s; of another shape or type: %s", text, names_text(p->arena, p->mismatched));
  if (json_array_size(p->unexpected))
    text = npuc_arena_printf(p->arena, "%s; not in the graph: %s", text, names_text(p->arena, p->unexpected));
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0341, &(diag_place){.file = request->path, .attribute = "--state-dict"}, "%s", text);
  npuc_fix(d, "npuc inspect '%s'", request->path);
  if (p->matched) npuc_fix(d, "--state-dict-match some, to keep the graph's own where the file has none");
  if (!request->prefix) npuc_fix(d, "--state-dict-prefix PREFIX., where the file's names begin with something else");
  return status;
}

static void warn(diag *d, const pairing *p, const state_request *request) {
  diag_place place = {.file = request->path, .attribute = "--state-dict"};
  if (json_array_size(p->unexpected)) npuc_warn(d, NPUC_DIAG_E0342, &place, "not in the graph: %s", names_text(p->arena, p->unexpected));
  if (json_array_size(p->missing)) npuc_warn(d, NPUC_DIAG_E0342, &place, "the graph keeps its own: %s", names_text(p->arena, p->missing));
  if (json_array_size(p->mismatched))
    npuc_warn(d, NPUC_DIAG_E0342, &place, "of another shape or type, the graph keeps its own: %s", names_text(p->arena, p->mismatched));
}

/* -- doing it -- */

static npuc_status put(diag *d, module *m, value *v, const tensor *from) {
  tensor *to = NPUC_NEW(m->arena, tensor);
  if (from->type == v->type) {
    *to = *from;
    if (to->owner) npuc_blob_retain(to->owner);
  } else {
    NPUC_TRY(npuc_tensor_cast(d, from, v->type, to));
  }
  if (to->owner) {
    npuc_module_keep_blob(m, to->owner);
    npuc_blob_release(to->owner);
  }
  v->constant = to;
  return NPUC_OK;
}

static void gather_parameters(pairing *p, const module *m) {
  for (size_t k = 0; k < m->n_graphs; k++) {
    size_t at = 0;
    void *item;
    while (npuc_map_next(m->graphs[k]->values, &at, NULL, &item)) {
      value *v = item;
      if (!v->constant) continue;
      p->parameters = npuc_arena_grow(p->arena, p->parameters, p->n_parameters, p->n_parameters + 1, sizeof *p->parameters, &p->capacity);
      p->parameters[p->n_parameters++] = v;
    }
  }
}

static npuc_status load(diag *d, module *m, pairing *p, const state_request *request) {
  bool some = request->match && strcmp(request->match, "some") == 0;
  if (request->match && !some && strcmp(request->match, "all") != 0)
    return npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.attribute = "--state-dict-match"}, "all or some, not '%s'", request->match);
  for (size_t i = 0; i < npuc_state_dict_count(p->dict); i++)
    npuc_map_put(p->entries, npuc_state_dict_at(p->dict, i)->name, (void *)(uintptr_t)npuc_state_dict_at(p->dict, i));
  gather_parameters(p, m);
  choose_prefixes(p, request->prefix);
  judge(p);
  bool whole = json_array_size(p->missing) == 0 && json_array_size(p->mismatched) == 0;
  if (p->matched == 0 || (!whole && !some)) return refuse(d, p, request);
  warn(d, p, request);
  for (size_t i = 0; i < p->n_parameters; i++) {
    const torch_tensor *t = entry_of(p, p->parameters[i], p->prefix, p->own_prefix);
    if (t && fits(p->parameters[i]->constant, &t->value)) NPUC_TRY(put(d, m, p->parameters[i], &t->value));
  }
  return NPUC_OK;
}

npuc_status npuc_state_dict_load(diag *d, module *m, const state_request *request, json_t **out_report) {
  state_dict *dict;
  if (out_report) *out_report = NULL;
  NPUC_TRY(npuc_state_dict_open(d, request->path, &dict));
  pairing p = {.arena = npuc_arena_create(), .dict = dict, .prefix = "", .own_prefix = ""};
  p.entries = npuc_map_create(p.arena);
  p.missing = json_array(), p.unexpected = json_array(), p.mismatched = json_array();
  npuc_status status = load(d, m, &p, request);
  json_t *report = json_pack("{s:s, s:s, s:I, s:o, s:o, s:o}", "file", request->path, "prefix", p.prefix, "matched", (json_int_t)p.matched,
                             "missing", p.missing, "unexpected", p.unexpected, "mismatched", p.mismatched);
  if (out_report)
    *out_report = report;
  else
    json_decref(report);
  npuc_state_dict_close(dict);
  npuc_arena_destroy(p.arena);
  return status;
}
