/* SPDX-License-Identifier: Apache-2.0 */
/* Files of named tensors, one list whatever their form. */
#include "import/state_dict.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "import/read.h"

struct state_dict {
  arena *arena;
  torch_tensor *tensors;
  size_t n, capacity;
  map *names;
};

static npuc_status add(diag *d, state_dict *s, const char *path, const char *name, const tensor *t) {
  if (npuc_map_get(s->names, name))
    return npuc_fail(d, NPUC_DIAG_E0340, &(diag_place){.file = path, .node = name}, "the tensor is in two files");
  s->tensors = npuc_arena_grow(s->arena, s->tensors, s->n, s->n + 1, sizeof *s->tensors, &s->capacity);
  torch_tensor *to = &s->tensors[s->n++];
  *to = (torch_tensor){.name = npuc_arena_str(s->arena, name), .value = *t};
  if (t->owner) npuc_blob_retain(t->owner);
  npuc_map_put(s->names, to->name, s->names);
  return NPUC_OK;
}

static npuc_status add_safetensors(diag *d, state_dict *s, const char *path) {
  safetensors *f;
  NPUC_TRY(npuc_safetensors_open(d, path, &f));
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < npuc_safetensors_count(f) && status == NPUC_OK; i++)
    status = add(d, s, path, npuc_safetensors_at(f, i)->name, &npuc_safetensors_at(f, i)->value);
  npuc_safetensors_close(f);
  return status;
}

static npuc_status add_torch(diag *d, state_dict *s, const char *path) {
  torch_file *f;
  NPUC_TRY(npuc_torch_open(d, path, &f));
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < npuc_torch_count(f) && status == NPUC_OK; i++)
    status = add(d, s, path, npuc_torch_at(f, i)->name, &npuc_torch_at(f, i)->value);
  npuc_torch_close(f);
  return status;
}

/* -- which form -- */

typedef enum form { FORM_NONE, FORM_TORCH, FORM_SAFETENSORS, FORM_INDEX } form;

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static form form_of(const char *path) {
  mapped_file *file;
  source_format format;
  if (ends_with(path, ".index.json")) return FORM_INDEX;
  if (npuc_file_map(NULL, path, &file) != NPUC_OK) return FORM_NONE;
  bool safe = npuc_safetensors_is(npuc_file_bytes(file), npuc_file_size(file), npuc_file_size(file));
  npuc_file_release(file);
  if (safe || ends_with(path, ".safetensors")) return FORM_SAFETENSORS; /* one that was cut short is told as one */
  return npuc_source_format(NULL, path, &format) == NPUC_OK && format == SOURCE_TORCH ? FORM_TORCH : FORM_NONE;
}

/* The usual names, the ones that transformers looks for first. NULL: none is there. */
static const char *inside(arena *a, const char *folder) {
  static const char *const names[] = {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                      "pytorch_model.bin.index.json"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *path = npuc_path_join(a, folder, names[i]);
    if (npuc_path_exists(path)) return path;
  }
  return NULL;
}

bool npuc_state_dict_is(const char *path) {
  arena *a = npuc_arena_create();
  const char *file = npuc_path_is_dir(path) ? inside(a, path) : path;
  bool is = file && form_of(file) != FORM_NONE;
  npuc_arena_destroy(a);
  return is;
}

/* -- an index -- */

static npuc_status bad_index(diag *d, const char *path, const char *name, const char *reason) {
  return npuc_fail(d, NPUC_DIAG_E0340, &(diag_place){.file = path, .node = name}, "%s", reason);
}

static npuc_status add_file(diag *d, state_dict *s, const char *path) {
  return form_of(path) == FORM_SAFETENSORS ? add_safetensors(d, s, path) : add_torch(d, s, path);
}

static npuc_status add_shards(diag *d, state_dict *s, const char *path, const json_t *places) {
  map *files = npuc_map_create(s->arena);
  const char *name, *folder = npuc_path_dirname(s->arena, path);
  json_t *entry;
  if (!json_is_object(places)) return bad_index(d, path, NULL, "the index has no weight_map");
  json_object_foreach((json_t *)(uintptr_t)places, name, entry) {
    const char *file = json_string_value(entry);
    if (!file || !*file || strchr(file, '/') || strchr(file, '\\') || strcmp(file, "..") == 0)
      return bad_index(d, path, name, "the index names a file outside its folder");
    if (npuc_map_get(files, file)) continue;
    npuc_map_put(files, npuc_arena_str(s->arena, file), files);
    NPUC_TRY(add_file(d, s, npuc_path_join(s->arena, folder, file)));
  }
  json_object_foreach((json_t *)(uintptr_t)places, name, entry) {
    if (!npuc_map_get(s->names, name)) return bad_index(d, path, name, "the index names a tensor that its file does not have");
  }
  return NPUC_OK;
}

static npuc_status add_index(diag *d, state_dict *s, const char *path) {
  json_t *index;
  NPUC_TRY(npuc_json_read(d, path, NPUC_DIAG_E0340, &index));
  npuc_status status = add_shards(d, s, path, json_object_get(index, "weight_map"));
  json_decref(index);
  return status;
}

/* -- opening -- */

static npuc_status open_path(diag *d, state_dict *s, const char *path) {
  const char *file = npuc_path_is_dir(path) ? inside(s->arena, path) : path;
  if (!file) return bad_index(d, path, NULL, "the folder has neither model.safetensors nor pytorch_model.bin, nor the index of either");
  mapped_file *mapped;
  NPUC_TRY(npuc_file_map(d, file, &mapped)); /* says what is wrong with a path that leads nowhere */
  npuc_file_release(mapped);
  switch (form_of(file)) {
    case FORM_INDEX:
      return add_index(d, s, file);
    case FORM_SAFETENSORS:
      return add_safetensors(d, s, file);
    default:
      return add_torch(d, s, file); /* whose reader says what else it is */
  }
}

npuc_status npuc_state_dict_open(diag *d, const char *path, state_dict **out_dict) {
  *out_dict = NULL;
  state_dict *s = npuc_xcalloc(1, sizeof *s);
  s->arena = npuc_arena_create();
  s->names = npuc_map_create(s->arena);
  npuc_status status = open_path(d, s, path);
  if (status != NPUC_OK) {
    npuc_state_dict_close(s);
    return status;
  }
  *out_dict = s;
  return NPUC_OK;
}

void npuc_state_dict_close(state_dict *s) {
  if (!s) return;
  for (size_t i = 0; i < s->n; i++) npuc_tensor_release(&s->tensors[i].value);
  npuc_arena_destroy(s->arena);
  free(s);
}

size_t npuc_state_dict_count(const state_dict *s) { return s->n; }
const torch_tensor *npuc_state_dict_at(const state_dict *s, size_t index) { return &s->tensors[index]; }
