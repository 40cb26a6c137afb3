/* SPDX-License-Identifier: Apache-2.0 */
/* Other inference engines ("peers"), loaded when a command asks for one and called through their published C interfaces. npuc links none of them
 * and has none of their headers: what is declared here is the part of their binary interface that is used. */
#ifndef NPUC_STAGES_PEER_H
#define NPUC_STAGES_PEER_H

#include "tensor/tensor.h"

/* A symbolic dim of the model's inputs and its number. */
typedef struct peer_dim {
  const char *symbol;
  int64_t value;
} peer_dim;

/* What a peer is to run: always on `threads` threads, one request at a time. */
typedef struct peer_request {
  const char *library; /* the file to load */
  const char *model;   /* ONNX; for OpenVINO also its .xml */
  size_t threads;
  const tensor *inputs; /* static; read when the peer is opened */
  const char *const *input_names, *const *source_names;
  size_t n_inputs, n_outputs;
  const peer_dim *dims;
  size_t n_dims;
} peer_request;

typedef struct peer_calls {
  /* out_version is in `a`. */
  npuc_status (*open)(diag *d, arena *a, const peer_request *request, void **out_state, const char **out_version);
  npuc_status (*run)(void *state, diag *d);
  /* Output `index` of the last run, borrowed. out_view->type comes in as the dtype that is expected, for peers that do not say theirs. */
  npuc_status (*output)(void *state, diag *d, size_t index, tensor *out_view);
  void (*close)(void *state); /* NULL is fine */
} peer_calls;

#define PEER(symbol, name, title, variable, package, library) extern const peer_calls npuc_peer_##symbol;
#include "stages/peers.def"
#undef PEER

typedef struct peer_info {
  const char *name, *title, *variable, *package, *library;
  const peer_calls *calls;
} peer_info;
const peer_info *npuc_peer_table(size_t *out_count);
const peer_info *npuc_peer_find(const char *name); /* NULL: none */

/* The library's file: the peer's environment variable (the file, or a folder above it), then `python` (an environment's folder or its interpreter; may be
 * NULL), VIRTUAL_ENV, and npuc's own environments ($XDG_CACHE_HOME/npuc/tools/PACKAGE). E0930, which says how to get it, where there is none. */
npuc_status npuc_peer_library(diag *d, arena *a, const peer_info *p, const char *python, const char **out_file) NPUC_MUST_USE;
/* The folder of npuc's own environment for a package, whether it is there or not. */
const char *npuc_tool_folder(arena *a, const char *package);

/* The environment of an interpreter; the folder itself when it is one. NULL gives NULL. */
const char *npuc_peer_environment(arena *a, const char *python);

/* For the peers' files. A peer's own complaint, E0931. */
npuc_status npuc_peer_fail(diag *d, const char *title, const char *doing, const char *message) NPUC_MUST_USE;
/* dlopen, local symbols; stays loaded to the end (engines keep threads that a closed library would lose). */
npuc_status npuc_peer_load(diag *d, const char *file, void **out_library) NPUC_MUST_USE;
/* The function called `name` into the pointer at out_function. */
npuc_status npuc_peer_symbol(diag *d, void *library, const char *name, void *out_function) NPUC_MUST_USE;
/* Which of the request's inputs the peer's input `index`, called `name`, is: by either name, else by position. */
size_t npuc_peer_input(const peer_request *request, size_t index, const char *name);

#endif
