/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an ONNX model: ModelProto's own fields, then its graph (graph.c), then upgrading what needs ranks, inference and verification. The file stays mapped as long
 * as the module lives: its weights are views into it. */
#include <stdlib.h>
#include <string.h>

#include "import/onnx/onnx.h"
#include "import/onnx/reference.h"
#include "import/onnx/source.h"

const char *npuc_onnx_text(onnx_source *s, pb_reader *r, const pb_field *f) {
  pb_span span = npuc_pb_span(r, f);
  if (span.n && memchr(span.bytes, 0, span.n)) {
    if (!r->problem) r->problem = "a text holds a zero byte";
    return "";
  }
  return span.n ? npuc_internn(s->m->names, (const char *)span.bytes, span.n) : "";
}

void npuc_onnx_entry(onnx_source *s, pb_reader *r, const pb_field *f, const char **out_key, const char **out_value) {
  pb_reader inner = npuc_pb_message(r, f);
  pb_field field;
  *out_key = *out_value = "";
  while (npuc_pb_next(&inner, &field)) {
    if (field.number == ENTRY_KEY) *out_key = npuc_onnx_text(s, &inner, &field);
    if (field.number == ENTRY_VALUE) *out_value = npuc_onnx_text(s, &inner, &field);
  }
  if (inner.problem && !r->problem) r->problem = inner.problem;
}

typedef struct model_record {
  bool has_ir, has_graph, has_opsets, has_opset; /* has_opset: of the default domain */
  pb_reader graph;
  const char *producer;
  size_t n_training;
} model_record;

static npuc_status read_opset(onnx_source *s, pb_reader r, bool *io_default) {
  const char *domain = "";
  int64_t version = 0;
  pb_field f;
  while (npuc_pb_next(&r, &f)) {
    if (f.number == OPSET_DOMAIN) domain = npuc_onnx_text(s, &r, &f);
    if (f.number == OPSET_VERSION) version = npuc_pb_int(&r, &f);
  }
  NPUC_TRY(npuc_pb_finish(&r, s->d, "OperatorSetIdProto"));
  if (domain[0] && strcmp(domain, "ai.onnx") != 0) return NPUC_OK;
  s->opset = version;
  *io_default = true;
  return NPUC_OK;
}

static npuc_status read_model_fields(onnx_source *s, pb_reader *r, model_record *m) {
  pb_field f;
  const char *key, *text;
  while (npuc_pb_next(r, &f)) {
    switch (f.number) {
      case MODEL_IR_VERSION:
        s->ir_version = npuc_pb_int(r, &f);
        m->has_ir = true;
        break;
      case MODEL_PRODUCER_NAME:
        m->producer = npuc_onnx_text(s, r, &f);
        break;
      case MODEL_GRAPH:
        m->graph = npuc_pb_message(r, &f);
        m->has_graph = true;
        break;
      case MODEL_OPSET_IMPORT:
        NPUC_TRY(read_opset(s, npuc_pb_message(r, &f), &m->has_opset));
        m->has_opsets = true;
        break;
      case MODEL_METADATA:
        npuc_onnx_entry(s, r, &f, &key, &text);
        npuc_map_put(s->m->metadata, key, npuc_arena_str(s->m->arena, text));
        break;
      case MODEL_TRAINING_INFO:
        m->n_training++;
        break;
      case MODEL_FUNCTIONS:
        NPUC_TRY(npuc_onnx_add_function(s, npuc_pb_message(r, &f)));
        break;
      default:
        break;
    }
  }
  return npuc_pb_finish(r, s->d, "ModelProto");
}

static npuc_status check_model(onnx_source *s, const model_record *m) {
  if (!m->has_ir || !m->has_graph || !m->has_opsets) {
    return npuc_fail(s->d, NPUC_DIAG_E0301, NULL, "the file has no %s",
                     !m->has_ir      ? "IR version"
                     : !m->has_graph ? "graph"
                                     : "opset import");
  }
  if (s->ir_version < ONNX_OLDEST_IR || s->ir_version > ONNX_NEWEST_IR) {
    return npuc_fail(s->d, NPUC_DIAG_E0302, NULL, "IR version %lld; npuc reads %d to %d", (long long)s->ir_version, ONNX_OLDEST_IR,
                     ONNX_NEWEST_IR);
  }
  s->names_no_opset = !m->has_opset;
  if (s->names_no_opset) s->opset = ONNX_NEWEST_OPSET;
  if (s->opset < ONNX_OLDEST_OPSET || s->opset > ONNX_NEWEST_OPSET) {
    npuc_status status = npuc_fail(s->d, NPUC_DIAG_E0303, NULL, "opset %lld of the default domain; npuc reads %d to %d",
                                   (long long)s->opset, ONNX_OLDEST_OPSET, ONNX_NEWEST_OPSET);
    npuc_fix(s->d,
             "python3 -c \"import onnx, onnx.version_converter as v, sys; onnx.save(v.convert_version(onnx.load(sys.argv[1]), 17), "
             "sys.argv[2])\" "
             "IN.onnx OUT.onnx");
    return status;
  }
  if (m->n_training) npuc_note(s->d, NPUC_DIAG_E0315, NULL, "the file's training information is left out");
  return NPUC_OK;
}

/* References are of the file, not of the model: the writer makes its own. */
static void forget_references(onnx_source *s) {
  for (size_t i = 0;; i++) {
    const char *key = npuc_arena_printf(s->scratch, ONNX_REFERENCE "%zu", i);
    if (!npuc_map_get(s->m->metadata, key)) return;
    npuc_map_remove(s->m->metadata, key);
  }
}

static npuc_status read_model(onnx_source *s) {
  pb_reader r = npuc_pb_open(npuc_blob_data(s->file), npuc_blob_size(s->file));
  model_record m = {0};
  NPUC_TRY(read_model_fields(s, &r, &m));
  NPUC_TRY(check_model(s, &m));
  if (m.producer && m.producer[0]) s->m->producer = m.producer;
  const char *producer = npuc_map_get(s->m->metadata, META_PRODUCER);
  if (producer) {
    s->m->producer = producer;
    npuc_map_remove(s->m->metadata, META_PRODUCER);
  }
  NPUC_TRY(npuc_onnx_graph(s, m.graph));
  forget_references(s);
  NPUC_TRY(npuc_onnx_upgrade_inferred(s));
  NPUC_TRY(npuc_graph_infer(s->d, s->g));
  return npuc_module_verify(s->d, s->m, NULL);
}

npuc_status npuc_onnx_read(diag *d, const char *path, module **out_module) {
  *out_module = NULL;
  const char *outer_file = npuc_diag_set_file(d, path);
  mapped_file *file;
  npuc_status status = npuc_file_map(d, path, &file);
  if (status != NPUC_OK) {
    npuc_diag_set_file(d, outer_file);
    return status;
  }
  module *m = npuc_module_create();
  onnx_source s = {.d = d, .m = m, .scratch = npuc_arena_create()};
  m->source_path = npuc_arena_str(m->arena, path);
  s.file = npuc_blob_from_file(file);
  npuc_file_release(file);
  npuc_module_keep_blob(m, s.file);
  npuc_blob_release(s.file);
  s.folder = npuc_path_dirname(s.scratch, path);
  s.external = npuc_map_create(s.scratch);
  s.quant_axes = npuc_map_create(s.scratch);
  s.annotation_tensors = npuc_map_create(s.scratch);
  s.functions = npuc_map_create(s.scratch);
  status = read_model(&s);
  free(s.real_folder);
  npuc_arena_destroy(s.scratch);
  npuc_diag_set_file(d, outer_file);
  if (status != NPUC_OK) {
    npuc_module_destroy(m);
    return status;
  }
  *out_module = m;
  return NPUC_OK;
}
