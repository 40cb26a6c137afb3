/* SPDX-License-Identifier: Apache-2.0 */
/* Where an archive keeps the program and its tensors. Three layouts were written by torch 2.5 to 2.13:
 *
 *   raw       FOLDER/models/NAME.json   FOLDER/data/weights/NAME_weights_config.json + weight_K (a storage's bytes each), constants alike
 *   pickled   FOLDER/models/NAME.json   FOLDER/data/weights/NAME.pt, FOLDER/data/constants/NAME.pt (torch.save of a dict)
 *   flat      serialized_exported_program.json   serialized_state_dict.pt, serialized_constants.pt (or .json, with the same content) */
#include <stdio.h>
#include <string.h>

#include "import/pt2/pt2.h"
#include "import/pt2/source.h"
#include "import/torch/torch.h"

#define FLAT_PROGRAM "serialized_exported_program.json"
enum { NEWEST_MAJOR = 8, OLDEST_MAJOR = 7 };

static npuc_status fail_archive(pt2_source *s, const char *member, const char *reason) {
  diag_place place = {.node = member};
  return npuc_fail(s->d, NPUC_DIAG_E0332, &place, "%s", reason);
}

/* The member FOLDER/models/NAME.json; *out_folder is the length of "FOLDER/". */
static const zip_member *find_program(const zip_archive *z, size_t *out_folder, size_t *out_count) {
  const zip_member *found = NULL;
  *out_count = 0;
  for (size_t i = 0; i < npuc_zip_count(z); i++) {
    const zip_member *m = npuc_zip_at(z, i);
    const char *models = strncmp(m->name, "models/", 7) == 0 ? m->name : strstr(m->name, "/models/");
    size_t n = strlen(m->name);
    if (!models || n < 5 || strcmp(m->name + n - 5, ".json") != 0) continue;
    if (models != m->name) models++;
    if (strchr(models + 7, '/')) continue;
    ++*out_count;
    if (found && strcmp(models, "models/model.json") != 0) continue;
    found = m;
    *out_folder = (size_t)(models - m->name);
  }
  return found;
}

bool npuc_pt2_is(const zip_archive *z) {
  size_t folder, count;
  return npuc_zip_find(z, FLAT_PROGRAM) || find_program(z, &folder, &count);
}

/* -- JSON members -- */
static npuc_status read_json(pt2_source *s, const zip_member *m, json_t **out_json) {
  blob *owner;
  const uint8_t *data;
  *out_json = NULL;
  NPUC_TRY(npuc_zip_read(s->d, s->zip, m, true, &owner, &data));
  json_error_t error;
  *out_json = json_loadb((const char *)data, (size_t)m->bytes, JSON_REJECT_DUPLICATES, &error);
  npuc_blob_release(owner);
  if (*out_json) return NPUC_OK;
  diag_place place = {.node = m->name};
  return npuc_fail(s->d, NPUC_DIAG_E0332, &place, "its JSON is malformed at line %d, column %d: %s", error.line, error.column, error.text);
}

static const zip_member *member(const pt2_source *s, const char *format, const char *name) {
  char path[4200];
  int n = snprintf(path, sizeof path, "%s", s->folder);
  snprintf(path + n, sizeof path - (size_t)n, format, name);
  return npuc_zip_find(s->zip, path);
}

/* -- the pickled layouts -- */
static npuc_status read_pickled(pt2_source *s, const zip_member *m) {
  blob *owner;
  const uint8_t *data;
  torch_file *f;
  NPUC_TRY(npuc_zip_read(s->d, s->zip, m, false, &owner, &data));
  npuc_status status = npuc_torch_open_bytes(s->d, m->name, owner, data, (size_t)m->bytes, &f);
  npuc_blob_release(owner);
  if (status != NPUC_OK) return status;
  if (!s->pickled) s->pickled = npuc_map_create(s->scratch);
  for (size_t i = 0; i < npuc_torch_count(f); i++) {
    const torch_tensor *t = npuc_torch_at(f, i);
    tensor *kept = NPUC_NEW(s->scratch, tensor);
    *kept = t->value;
    if (kept->owner) npuc_module_keep_blob(s->m, kept->owner);
    npuc_map_put(s->pickled, t->name, kept);
  }
  npuc_torch_close(f);
  return NPUC_OK;
}

static npuc_status read_flat(pt2_source *s) {
  static const char *const names[] = {"serialized_state_dict", "serialized_constants"};
  s->folder = "";
  NPUC_TRY(read_json(s, npuc_zip_find(s->zip, FLAT_PROGRAM), &s->program));
  for (size_t i = 0; i < 2; i++) {
    const zip_member *m = member(s, "%s.pt", names[i]);
    if (!m) m = member(s, "%s.json", names[i]); /* torch.save's bytes under another name */
    if (m && m->bytes) NPUC_TRY(read_pickled(s, m));
  }
  return NPUC_OK;
}

static npuc_status read_payloads(pt2_source *s, const char *name, const char *config, const char *pickled, json_t **out_config) {
  const zip_member *m = member(s, config, name);
  if (m) return read_json(s, m, out_config);
  m = member(s, pickled, name);
  if (!m) return fail_archive(s, NULL, "the archive holds neither raw nor pickled weights for its program");
  return read_pickled(s, m);
}

static npuc_status read_folders(pt2_source *s) {
  size_t n_folder, count;
  const zip_member *program = find_program(s->zip, &n_folder, &count);
  if (!program) return fail_archive(s, NULL, "the archive holds no exported program");
  s->folder = npuc_arena_strn(s->scratch, program->name, n_folder);
  const char *file = strrchr(program->name, '/') + 1;
  const char *name = npuc_arena_strn(s->scratch, file, strlen(file) - 5);
  if (count > 1) npuc_note(s->d, NPUC_DIAG_E0337, NULL, "the archive holds %zu programs; '%s' is read", count, name);
  NPUC_TRY(read_json(s, program, &s->program));
  NPUC_TRY(read_payloads(s, name, "data/weights/%s_weights_config.json", "data/weights/%s.pt", &s->weights));
  return read_payloads(s, name, "data/constants/%s_constants_config.json", "data/constants/%s.pt", &s->constants);
}

/* -- versions -- */
static npuc_status check_version(pt2_source *s) {
  json_t *version = json_object_get(s->program, "schema_version");
  long long major = (long long)json_integer_value(json_object_get(version, "major"));
  long long minor = (long long)json_integer_value(json_object_get(version, "minor"));
  if (!json_is_object(version)) return fail_archive(s, NULL, "the program has no schema version");
  if (major >= OLDEST_MAJOR && major <= NEWEST_MAJOR) return NPUC_OK;
  const char *torch = json_string_value(json_object_get(s->program, "torch_version"));
  npuc_status status =
      npuc_fail(s->d, NPUC_DIAG_E0333, NULL, "the program's schema is %lld.%lld (written by torch %s); npuc reads %d to %d", major, minor,
                torch ? torch : "of unknown version", OLDEST_MAJOR, NEWEST_MAJOR);
  npuc_fix(s->d, "export with a version of torch from 2.5 to 2.13");
  return status;
}

npuc_status npuc_pt2_open(pt2_source *s, const char *path) {
  mapped_file *file;
  NPUC_TRY(npuc_file_map(s->d, path, &file));
  s->file = npuc_blob_from_file(file);
  npuc_file_release(file);
  npuc_module_keep_blob(s->m, s->file);
  npuc_blob_release(s->file);
  NPUC_TRY(npuc_zip_open(s->d, path, s->file, npuc_blob_data(s->file), npuc_blob_size(s->file), &s->zip));
  NPUC_TRY(npuc_zip_find(s->zip, FLAT_PROGRAM) ? read_flat(s) : read_folders(s));
  return check_version(s);
}

void npuc_pt2_close(pt2_source *s) {
  json_decref(s->program);
  json_decref(s->weights);
  json_decref(s->constants);
  npuc_zip_close(s->zip);
}

/* -- tensors -- */
static npuc_status read_list(pt2_source *s, json_t *list, int64_t *out, int32_t *out_n) {
  size_t n = json_array_size(list);
  if (n > MAX_RANK) return fail_archive(s, NULL, "a weight has more than 8 axes");
  for (size_t i = 0; i < n; i++) {
    json_t *v = json_object_get(json_array_get(list, i), "as_int");
    if (!json_is_integer(v)) return fail_archive(s, NULL, "a weight's size or stride is no number");
    out[i] = (int64_t)json_integer_value(v);
  }
  *out_n = (int32_t)n;
  return NPUC_OK;
}

static npuc_status raw_payload(pt2_source *s, const char *name, json_t *meta, blob *storage, const uint8_t *data, size_t bytes,
                               tensor *out) {
  strided w = {.storage = storage, .data = data, .bytes = bytes};
  int32_t n_strides = 0;
  json_t *type = json_object_get(meta, "dtype");
  diag_place place = {.node = name};
  if (!json_is_integer(type) || !npuc_pt2_dtype((int64_t)json_integer_value(type), &w.type))
    return npuc_fail(s->d, NPUC_DIAG_E0334, &place, "the weight's element type (number %lld) is none that npuc reads",
                     (long long)json_integer_value(type));
  json_t *layout = json_object_get(meta, "layout");
  if (json_is_integer(layout) && json_integer_value(layout) != 7)
    return npuc_fail(s->d, NPUC_DIAG_E0334, &place, "the weight is sparse or in a vendor's layout; dense ones are read");
  NPUC_TRY(read_list(s, json_object_get(meta, "sizes"), w.sizes, &w.rank));
  NPUC_TRY(read_list(s, json_object_get(meta, "strides"), w.strides, &n_strides));
  if (n_strides != w.rank) return npuc_fail(s->d, NPUC_DIAG_E0332, &place, "the weight has %d sizes and %d strides", w.rank, n_strides);
  w.offset = (int64_t)json_integer_value(json_object_get(json_object_get(meta, "storage_offset"), "as_int"));
  return npuc_strided_tensor(s->d, name, &w, out);
}

static npuc_status pickled_payload(pt2_source *s, const char *name, const zip_member *m, blob *owner, const uint8_t *data, tensor *out) {
  torch_file *f;
  NPUC_TRY(npuc_torch_open_bytes(s->d, m->name, owner, data, (size_t)m->bytes, &f));
  if (npuc_torch_count(f) == 1) {
    *out = npuc_torch_at(f, 0)->value;
    npuc_blob_retain(out->owner);
  }
  bool one = npuc_torch_count(f) == 1;
  npuc_torch_close(f);
  if (one) return NPUC_OK;
  diag_place place = {.node = name};
  return npuc_fail(s->d, NPUC_DIAG_E0334, &place,
                   "the weight is pickled and holds not one plain tensor (a custom object or a tensor subclass)");
}

static npuc_status configured_payload(pt2_source *s, const char *name, json_t *entry, const char *format, tensor *out) {
  const char *path = json_string_value(json_object_get(entry, "path_name"));
  const zip_member *m = path ? member(s, format, path) : NULL;
  diag_place place = {.node = name};
  if (!m) return npuc_fail(s->d, NPUC_DIAG_E0332, &place, "the archive lacks the bytes of this tensor (%s)", path ? path : "no path_name");
  blob *owner;
  const uint8_t *data;
  NPUC_TRY(npuc_zip_read(s->d, s->zip, m, false, &owner, &data));
  bool pickled = json_is_true(json_object_get(entry, "use_pickle"));
  npuc_status status = pickled ? pickled_payload(s, name, m, owner, data, out)
                               : raw_payload(s, name, json_object_get(entry, "tensor_meta"), owner, data, (size_t)m->bytes, out);
  npuc_blob_release(owner);
  return status;
}

npuc_status npuc_pt2_payload(pt2_source *s, const char *name, tensor *out_tensor) {
  json_t *weight = json_object_get(json_object_get(s->weights, "config"), name);
  json_t *constant = json_object_get(json_object_get(s->constants, "config"), name);
  const tensor *pickled = s->pickled ? npuc_map_get(s->pickled, name) : NULL;
  if (pickled) {
    *out_tensor = *pickled;
    npuc_blob_retain(out_tensor->owner);
    return NPUC_OK;
  }
  if (weight) return configured_payload(s, name, weight, "data/weights/%s", out_tensor);
  if (constant) return configured_payload(s, name, constant, "data/constants/%s", out_tensor);
  diag_place place = {.node = name};
  return npuc_fail(s->d, NPUC_DIAG_E0332, &place, "the program uses a parameter, buffer or constant that the archive does not hold");
}
