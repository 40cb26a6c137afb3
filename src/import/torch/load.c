/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms of torch.save's files.
 *
 *   zip:     NAME/data.pkl, NAME/data/KEY (one storage each), NAME/byteorder
 *   legacy:  pickle(magic) pickle(1001) pickle(system) pickle(object) pickle([keys]) then for each key: int64 elements, bytes
 *
 * The legacy form gives a storage's type in the object's pickle only, so its storages are found in a second walk. */
#include <stdio.h>
#include <string.h>

#include "formats/zip.h"
#include "import/torch/pickled.h"

enum { VALUES_MAX = 1 << 22 };
/* 0x1950a86a20f9469cfc6c, little-endian */
static const uint8_t legacy_magic[10] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

static bool is_legacy(const void *data, size_t bytes) { /* PROTO 2, LONG1 of ten bytes */
  const uint8_t *p = data;
  return bytes >= 14 && p[0] == 0x80 && p[2] == 0x8a && p[3] == 10 && memcmp(p + 4, legacy_magic, sizeof legacy_magic) == 0;
}

static void add_storage(torch_file *f, const char *key, dtype type, blob *owner, const uint8_t *data, size_t bytes) {
  torch_storage *s = NPUC_NEW(f->arena, torch_storage);
  *s = (torch_storage){.type = type, .owner = owner, .data = data, .bytes = bytes};
  npuc_map_put(f->storages, key, s);
}

/* -- zip -- */
static const zip_member *member_called(const zip_archive *z, const char *folder, size_t n, const char *name, char *scratch, size_t room) {
  snprintf(scratch, room, "%.*s%s", (int)n, folder, name);
  return npuc_zip_find(z, scratch);
}

static npuc_status check_byte_order(torch_file *f, const zip_archive *z, const zip_member *m) {
  if (!m) return NPUC_OK; /* before 2.1 there was none, and only little-endian machines */
  blob *owner;
  const uint8_t *data;
  NPUC_TRY(npuc_zip_read(f->d, z, m, true, &owner, &data));
  bool little = m->bytes == 6 && memcmp(data, "little", 6) == 0;
  npuc_blob_release(owner);
  return little ? NPUC_OK : npuc_torch_fail(f, NULL, "its numbers are in big-endian order", NULL);
}

static npuc_status read_zip_storages(torch_file *f, const zip_archive *z, size_t n_folder) {
  for (size_t i = 0; i < npuc_zip_count(z); i++) {
    const zip_member *m = npuc_zip_at(z, i);
    if (strlen(m->name) <= n_folder + 5 || strncmp(m->name + n_folder, "data/", 5) != 0) continue;
    blob *owner;
    const uint8_t *data;
    NPUC_TRY(npuc_zip_read(f->d, z, m, false, &owner, &data));
    npuc_torch_keep(f, owner);
    add_storage(f, m->name + n_folder + 5, DTYPE_NONE, owner, data, (size_t)m->bytes);
  }
  return NPUC_OK;
}

static npuc_status read_zip_members(torch_file *f, const zip_archive *z) {
  const zip_member *pickle = NULL;
  size_t n_folder = 0;
  char name[4200];
  for (size_t i = 0; i < npuc_zip_count(z) && !pickle; i++) {
    const char *at = npuc_zip_at(z, i)->name;
    size_t n = strlen(at);
    if (n >= 8 && strcmp(at + n - 8, "data.pkl") == 0 && (n == 8 || at[n - 9] == '/')) {
      pickle = npuc_zip_at(z, i);
      n_folder = n - 8;
    }
  }
  if (!pickle) return npuc_torch_fail(f, NULL, "the archive has no data.pkl: torch.save did not write it", NULL);
  if (member_called(z, pickle->name, n_folder, "constants.pkl", name, sizeof name)) {
    diag_place place = {.file = f->path};
    npuc_status status = npuc_fail(f->d, NPUC_DIAG_E0331, &place, "the file is a TorchScript archive (torch.jit.save)");
    npuc_fix(f->d, "export from Python instead: torch.export.save(torch.export.export(model, args), 'model.pt2')");
    return status;
  }
  NPUC_TRY(check_byte_order(f, z, member_called(z, pickle->name, n_folder, "byteorder", name, sizeof name)));
  NPUC_TRY(read_zip_storages(f, z, n_folder));
  blob *owner;
  const uint8_t *data;
  NPUC_TRY(npuc_zip_read(f->d, z, pickle, true, &owner, &data));
  npuc_torch_keep(f, owner);
  const pickle_value *root;
  size_t used;
  NPUC_TRY(npuc_pickle_read(f->d, f->arena, f->path, data, (size_t)pickle->bytes, &root, &used));
  return npuc_torch_collect(f, root);
}

static npuc_status read_zip(torch_file *f, blob *owner, const void *data, size_t bytes) {
  zip_archive *z;
  NPUC_TRY(npuc_zip_open(f->d, f->path, owner, data, bytes, &z));
  npuc_status status = read_zip_members(f, z);
  npuc_zip_close(z);
  return status;
}

/* -- legacy -- */
/* Storages by key with their types, from every persistent id of the tree. */
static npuc_status find_types(torch_file *f, const pickle_value *v, map *ids, int depth) {
  if (!v) return NPUC_OK;
  if (depth > 128 || f->budget == 0) return npuc_torch_fail(f, NULL, "its containers are nested too deeply or share too much", NULL);
  f->budget--;
  if (v->kind == PICKLE_PERSISTENT) {
    storage_id *id = NPUC_NEW(f->arena, storage_id);
    NPUC_TRY(npuc_torch_storage_id(f, v->args, id));
    npuc_map_put(ids, id->key, id);
    return NPUC_OK;
  }
  NPUC_TRY(find_types(f, v->args, ids, depth + 1));
  NPUC_TRY(find_types(f, v->state, ids, depth + 1));
  for (size_t i = 0; i < v->n_items; i++) NPUC_TRY(find_types(f, v->items[i], ids, depth + 1));
  return NPUC_OK;
}

static npuc_status read_legacy_storages(torch_file *f, const pickle_value *keys, const map *ids, blob *owner, const uint8_t *at,
                                        size_t left) {
  if (!npuc_pickle_is(keys, PICKLE_LIST)) return npuc_torch_fail(f, NULL, "the list of storages is none", NULL);
  for (size_t i = 0; i < keys->n_items; i++) {
    const char *key = keys->items[i]->kind == PICKLE_STRING ? keys->items[i]->text : NULL;
    const storage_id *id = key ? npuc_map_get(ids, key) : NULL;
    if (!id) return npuc_torch_fail(f, NULL, "a storage of the file is used by no tensor", key);
    int64_t elements;
    size_t bytes;
    if (left < 8) return npuc_torch_fail(f, NULL, "it is cut off before a storage", key);
    memcpy(&elements, at, 8);
    if (elements < 0 || !npuc_dtype_bytes(id->type == DTYPE_NONE ? DTYPE_U8 : id->type, elements, &bytes) || bytes > left - 8) {
      return npuc_torch_fail(f, NULL, "a storage is longer than what is left of the file", key);
    }
    add_storage(f, key, id->type, owner, at + 8, bytes);
    at += 8 + bytes;
    left -= 8 + bytes;
  }
  return NPUC_OK;
}

static npuc_status read_legacy(torch_file *f, blob *owner, const uint8_t *data, size_t bytes) {
  const pickle_value *parts[5] = {NULL}; /* magic, protocol, system, object, keys */
  size_t at = 0;
  for (size_t i = 0; i < 5; i++) {
    size_t used;
    NPUC_TRY(npuc_pickle_read(f->d, f->arena, f->path, data + at, bytes - at, &parts[i], &used));
    at += used;
  }
  if (!npuc_pickle_is(parts[1], PICKLE_INT) || parts[1]->integer != 1001) return npuc_torch_fail(f, NULL, "its protocol is not 1001", NULL);
  const pickle_value *little = npuc_pickle_get(parts[2], "little_endian");
  if (little && !little->integer) return npuc_torch_fail(f, NULL, "its numbers are in big-endian order", NULL);
  map *ids = npuc_map_create(f->arena);
  NPUC_TRY(find_types(f, parts[3], ids, 0));
  f->budget = VALUES_MAX;
  NPUC_TRY(read_legacy_storages(f, parts[4], ids, owner, data + at, bytes - at));
  return npuc_torch_collect(f, parts[3]);
}

/* Not of torch.save: a damaged pickle says where, a sound one what it is. */
static npuc_status refuse_other(torch_file *f, const void *data, size_t bytes) {
  const pickle_value *root;
  size_t used;
  if (bytes && *(const uint8_t *)data == 0x80) NPUC_TRY(npuc_pickle_read(f->d, f->arena, f->path, data, bytes, &root, &used));
  return npuc_torch_fail(f, NULL, "torch.save did not write it: it is neither its zip archive nor its legacy form", NULL);
}

/* -- all of it -- */
npuc_status npuc_torch_open_bytes(diag *d, const char *name, blob *owner, const void *data, size_t bytes, torch_file **out_file) {
  *out_file = NULL;
  arena *a = npuc_arena_create();
  torch_file *f = NPUC_NEW(a, torch_file);
  *f = (torch_file){.arena = a,
                    .path = npuc_arena_str(a, name),
                    .by_name = npuc_map_create(a),
                    .storages = npuc_map_create(a),
                    .d = d,
                    .budget = VALUES_MAX};
  npuc_status status;
  if (bytes >= 4 && memcmp(data, "PK\3\4", 4) == 0)
    status = read_zip(f, owner, data, bytes);
  else if (is_legacy(data, bytes))
    status = read_legacy(f, owner, data, bytes);
  else
    status = refuse_other(f, data, bytes);
  f->d = NULL;
  if (status != NPUC_OK) {
    npuc_torch_close(f);
    return status;
  }
  *out_file = f;
  return NPUC_OK;
}

npuc_status npuc_torch_open(diag *d, const char *path, torch_file **out_file) {
  *out_file = NULL;
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file));
  blob *b = npuc_blob_from_file(file);
  npuc_file_release(file);
  npuc_status status = npuc_torch_open_bytes(d, path, b, npuc_blob_data(b), npuc_blob_size(b), out_file);
  if (status == NPUC_OK)
    npuc_torch_keep(*out_file, b);
  else
    npuc_blob_release(b);
  return status;
}

void npuc_torch_close(torch_file *f) {
  if (!f) return;
  for (size_t i = 0; i < f->n; i++) npuc_tensor_release(&f->tensors[i].value);
  for (size_t i = 0; i < f->n_owners; i++) npuc_blob_release(f->owners[i]);
  npuc_arena_destroy(f->arena);
}

size_t npuc_torch_count(const torch_file *f) { return f->n; }
const torch_tensor *npuc_torch_at(const torch_file *f, size_t index) { return &f->tensors[index]; }
const torch_tensor *npuc_torch_find(const torch_file *f, const char *name) { return npuc_map_get(f->by_name, name); }
