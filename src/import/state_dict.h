/* SPDX-License-Identifier: Apache-2.0 */
/* State dicts: named tensors without a graph, and how they come into one.
 *
 * A file of torch.save or safetensors, the index of a sharded one (*.index.json), or a folder that holds one of these under its usual name.
 * Trainers wrap names: DataParallel writes `module.`, torch.compile `_orig_mod.`, checkpoints `state_dict.` or `model.`, averages `ema.`. The prefix under which
 * most of the graph's parameters are found is the one that is meant; of equal ones an average's is the last. */
#ifndef NPUC_IMPORT_STATE_DICT_H
#define NPUC_IMPORT_STATE_DICT_H

#include <jansson.h>

#include "import/torch/torch.h"
#include "ir/graph.h"

typedef struct state_dict state_dict;

/* Whether a path names tensors without a graph, by what it holds. Anything that cannot be read is none. */
bool npuc_state_dict_is(const char *path);
/* E0215, E0216, E0217, E0330 as the readers say; E0340 for an index that names what is not there. */
npuc_status npuc_state_dict_open(diag *d, const char *path, state_dict **out_dict) NPUC_MUST_USE;
void npuc_state_dict_close(state_dict *s); /* NULL is fine */
size_t npuc_state_dict_count(const state_dict *s);
const torch_tensor *npuc_state_dict_at(const state_dict *s, size_t index);

typedef struct state_request {
  const char *path;   /* NULL: nothing is asked */
  const char *prefix; /* of the names in the file; NULL: found */
  const char *match;  /* "all" (or NULL): every parameter of the graph must be there; "some": at least one */
} state_request;

/* Gives the constants of the module the file's bytes (views, nothing is copied unless a float has another width). All or nothing: E0341 where names are missing or shapes and types differ, E0342 (a warning) for
 * names that the graph does not have. *out_report (may be NULL): {file, prefix, matched, missing, unexpected, mismatched}; new reference, also on E0341. */
npuc_status npuc_state_dict_load(diag *d, module *m, const state_request *request, json_t **out_report) NPUC_MUST_USE;

#endif
