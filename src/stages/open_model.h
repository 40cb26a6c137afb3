/* SPDX-License-Identifier: Apache-2.0 */
/* MODEL, recognised by content: an ONNX file, a .pt2 archive, tensors of torch.save, a .npu file, OUT, OUT@STAGE, OUT@STAGE.TARGET. */
#ifndef NPUC_STAGES_OPEN_MODEL_H
#define NPUC_STAGES_OPEN_MODEL_H

#include "import/read.h"

typedef enum model_kind { MODEL_GRAPH, MODEL_NPU, MODEL_TENSORS } model_kind;

typedef struct opened_model {
  model_kind kind;
  const char *path;       /* the file */
  const char *label;      /* as the user wrote it */
  module *module;         /* MODEL_GRAPH; owned by this struct */
  const char *out;        /* folder of the build it belongs to, or NULL */
  const char *preprocess; /* the build's recorded SPEC, or NULL: applies again */
} opened_model;

/* Finds the file only (module stays NULL). */
npuc_status npuc_model_find(diag *d, arena *a, const char *text, opened_model *out_model) NPUC_MUST_USE;
/* Finds and reads; tensors without a graph are refused. */
npuc_status npuc_model_open(diag *d, arena *a, const char *text, opened_model *out_model) NPUC_MUST_USE;
void npuc_model_close(opened_model *m);
/* The model that a build may be made from, found and not read: a file, a stage of a build, or of a whole build its import (E0933 says so). */
npuc_status npuc_model_find_source(diag *d, arena *a, const char *text, opened_model *out_model) NPUC_MUST_USE;

typedef struct symbol_binding {
  const char *symbol;
  int64_t value;
} symbol_binding;
/* Inputs of every part get numbers for the symbols named, and shapes are inferred anew. */
npuc_status npuc_model_bind(diag *d, opened_model *m, const symbol_binding *dims, size_t n) NPUC_MUST_USE;
/* Input or output of the main graph by its own or its source's name (module metadata npuc.name.NAME); NULL when none. */
value *npuc_model_port(const opened_model *m, const char *name);

#endif
