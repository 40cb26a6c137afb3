/* SPDX-License-Identifier: Apache-2.0 */
/* The folder that a command of one model writes (`npuc edit`, `npuc convert-dtype`):
 *
 *   DIR/NAME.onnx            the model
 *   DIR/weights/HASH.bin     its constants of at least 1 KiB, by content
 *   DIR/intermediates/       models after each step, where asked for
 *   DIR/npuc.json            what was done; written last, so a folder with "done": true is whole
 *
 * A folder that exists, is not empty and has no npuc.json is never written into (E0901). */
#ifndef NPUC_STAGES_MODEL_FOLDER_H
#define NPUC_STAGES_MODEL_FOLDER_H

#include <jansson.h>

#include "ir/graph.h"

typedef struct model_folder {
  const char *path;
  arena *arena;
} model_folder;

npuc_status npuc_model_folder_open(diag *d, arena *a, const char *path, model_folder *out_folder) NPUC_MUST_USE;
/* `name` with .onnx behind it, or with a folder before it: made where it is not there. */
npuc_status npuc_model_folder_write(const model_folder *f, diag *d, const char *name, const module *m, const char **out_path) NPUC_MUST_USE;
npuc_status npuc_model_folder_finish(const model_folder *f, diag *d, json_t *record) NPUC_MUST_USE;
/* A path's last part without its extension, of letters that every file system takes. */
const char *npuc_model_stem(arena *a, const char *path);

#endif
