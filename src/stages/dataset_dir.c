/* SPDX-License-Identifier: Apache-2.0 */
/* A folder with one sample an entry, in the order of their names: NAME.npy (the only input), NAME.npz (inputs by name), or a sub-folder with INPUT.npy for each input (or 0.npy, 1.npy ...,
 * in the inputs' order, whatever they are called). Labels: `labels.npy` in the folder. Each sample is opened when it is asked for, and may have its own shape as long as it fits the input. */
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "formats/npz.h"
#include "stages/dataset_internal.h"

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static npuc_status put_record(const dataset *s, diag *d, size_t port, const tensor *record, tensor *out_input) {
  preprocess_plan plan;
  NPUC_TRY(npuc_dataset_plan(d, s, port, record->type, &record->shape, &plan));
  return npuc_dataset_convert(s, d, port, record, &plan, out_input);
}

static npuc_status sample_npy(const dataset *s, diag *d, size_t port, const char *path, tensor *out_input) {
  tensor t;
  NPUC_TRY(npuc_npy_read(d, path, &t));
  npuc_status status = put_record(s, d, port, &t, out_input);
  npuc_tensor_release(&t);
  return status;
}

static npuc_status sample_npz(const dataset *s, diag *d, const char *path, tensor *out_inputs) {
  npz z;
  NPUC_TRY(npuc_npz_read(d, path, &z));
  npuc_status status = NPUC_OK;
  for (size_t k = 0; k < s->n_ports && status == NPUC_OK; k++) {
    const tensor *t = npuc_npz_get(&z, s->ports[k].port.name);
    if (!t && s->n_ports == 1) t = npuc_npz_get(&z, "x");
    status = t ? put_record(s, d, k, t, &out_inputs[k])
               : npuc_dataset_fail(d, s, NPUC_DIAG_E1108, "%s has no array '%s'", npuc_path_basename(path), s->ports[k].port.name);
  }
  npuc_npz_release(&z);
  return status;
}

static npuc_status sample_dir(const dataset *s, diag *d, size_t index, tensor *out_inputs) {
  arena *a = npuc_arena_create();
  char *path = npuc_path_join(a, s->folder, s->files[index]);
  npuc_status status = NPUC_OK;
  if (ends_with(path, ".npz")) {
    status = sample_npz(s, d, path, out_inputs);
  } else if (ends_with(path, ".npy")) {
    status = npuc_dataset_expect_one_port(d, s, "a folder of .npy files, as");
    if (status == NPUC_OK) status = sample_npy(s, d, 0, path, &out_inputs[0]);
  } else {
    for (size_t k = 0; k < s->n_ports && status == NPUC_OK; k++) {
      const char *numbered = npuc_path_join(a, path, npuc_arena_printf(a, "%zu.npy", k));
      const char *named = npuc_path_join(a, path, npuc_arena_printf(a, "%s.npy", s->ports[k].port.name));
      status = sample_npy(s, d, k, !npuc_path_exists(named) && npuc_path_exists(numbered) ? numbered : named, &out_inputs[k]);
    }
  }
  npuc_arena_destroy(a);
  return status;
}

static bool is_picture(const char *name) {
  static const char *const ends[] = {".png", ".jpg", ".jpeg", ".JPEG", ".bmp", ".ppm"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    if (ends_with(name, ends[i])) return true;
  }
  return false;
}

npuc_status npuc_dataset_open_dir(diag *d, dataset *s, const char *path) {
  char **names;
  size_t n, n_pictures = 0;
  NPUC_TRY(npuc_dir_list(d, s->arena, path, &names, &n));
  s->folder = npuc_arena_str(s->arena, path);
  s->files = NPUC_NEW_ARRAY(s->arena, n, const char *);
  for (size_t i = 0; i < n; i++) {
    if (names[i][0] == '.' || strcmp(names[i], "labels.npy") == 0) continue;
    n_pictures += is_picture(names[i]);
    if (ends_with(names[i], ".npy") || ends_with(names[i], ".npz") || npuc_path_is_dir(npuc_path_join(s->arena, path, names[i])))
      s->files[s->count++] = names[i];
  }
  if (s->count == 0 && n_pictures) {
    npuc_status status = npuc_dataset_fail(d, s, NPUC_DIAG_E1107, "folders of pictures are not read yet");
    npuc_fix(d, "python3 -c \"import numpy; numpy.save('data.npy', ...)\"");
    return status;
  }
  if (s->count == 0) return npuc_dataset_fail(d, s, NPUC_DIAG_E1103, "the folder has no .npy or .npz files and no sub-folders");
  s->sample = sample_dir;
  return npuc_dataset_read_labels(d, s, npuc_path_join(s->arena, path, "labels.npy"));
}
