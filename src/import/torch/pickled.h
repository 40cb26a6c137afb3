/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the reader of torch.save's files: what its two forms (zip, legacy) share. */
#ifndef NPUC_IMPORT_TORCH_PICKLED_H
#define NPUC_IMPORT_TORCH_PICKLED_H

#include "base/map.h"
#include "formats/pickle.h"
#include "import/torch/torch.h"

/* What a persistent id names. */
typedef struct torch_storage {
  dtype type; /* DTYPE_NONE: untyped, the tensor says */
  blob *owner;
  const uint8_t *data;
  size_t bytes;
} torch_storage;

struct torch_file {
  arena *arena;
  const char *path;
  torch_tensor *tensors;
  size_t n, capacity;
  map *by_name;
  map *storages; /* key -> torch_storage */
  blob **owners; /* released with the file */
  size_t n_owners, owners_capacity;
  diag *d;       /* during reading */
  size_t budget; /* values that may still be visited: a tree that shares parts can be exponentially large */
};

/* What a persistent id says: ('storage', class, key, location, elements[, (view key, view offset, view size)]). */
typedef struct storage_id {
  const char *key;
  dtype type;     /* DTYPE_NONE: untyped */
  int64_t offset; /* of a view on the storage, in elements (files of PyTorch 0.x) */
} storage_id;

npuc_status npuc_torch_storage_id(torch_file *f, const pickle_value *id, storage_id *out_id) NPUC_MUST_USE;
void npuc_torch_keep(torch_file *f, blob *owner); /* takes over the reference */
/* Every tensor of the tree into the list. */
npuc_status npuc_torch_collect(torch_file *f, const pickle_value *root) NPUC_MUST_USE;
npuc_status npuc_torch_fail(torch_file *f, const char *where, const char *reason, const char *detail) NPUC_MUST_USE;
#ifdef __clang_analyzer__
#define npuc_torch_fail(...) npuc_diag_never_ok(npuc_torch_fail(__VA_ARGS__))
#endif

#endif
