/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a program, and what it says of itself. */
#include "runtime/program.h"

#include "npu/write.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

npuc_status npuc_error_from(const diag *d, npuc_status status, npuc_error *out_error) {
  if (!out_error) return status;
  memset(out_error, 0, sizeof *out_error);
  out_error->status = status;
  const diag_record *r = d ? npuc_diag_first_error(d) : NULL;
  if (!r || status == NPUC_OK) return status;
  snprintf(out_error->code, sizeof out_error->code, "%s", npuc_diag_info(r->code)->text_code);
  snprintf(out_error->message, sizeof out_error->message, "%s%s%s%s%s", r->place.file ? r->place.file : "", r->place.file ? ": " : "",
           r->place.node ? r->place.node : "", r->place.node ? ": " : "", r->reason);
  return status;
}

static void describe_port(const qtensor *t, npuc_port *out) {
  *out = (npuc_port){.name = t->name,
                     .source_name = t->source,
                     .dtype = (int32_t)t->type,
                     .rank = t->rank,
                     .bytes = t->bytes,
                     .quantized = t->has_quant,
                     .scale = (float)t->scale,
                     .zero_point = (int32_t)t->zero_point};
  memcpy(out->dims, t->dims, sizeof out->dims);
}

static npuc_status read_all(diag *d, npuc_program *p) {
  p->n_configurations = p->file.sections[NPU_CONF].records;
  if (p->n_configurations == 0 || p->n_configurations > 64)
    return npuc_fail(d, NPUC_DIAG_E1004, &(diag_place){.file = npuc_file_path(p->file.file), .node = "CONF"},
                     "%zu configurations; 1 to 64 are possible", p->n_configurations);
  p->programs = (npu_program **)npuc_arena_array(p->arena, p->n_configurations, sizeof(npu_program *));
  for (size_t i = 0; i < p->n_configurations; i++) NPUC_TRY(npuc_npu_read(d, p->arena, &p->file, (uint32_t)i, &p->graph, &p->programs[i]));
  p->inputs = NPUC_NEW_ARRAY(p->arena, p->graph->n_inputs, npuc_port);
  p->outputs = NPUC_NEW_ARRAY(p->arena, p->graph->n_outputs, npuc_port);
  for (size_t i = 0; i < p->graph->n_inputs; i++) describe_port(&p->graph->tensors[p->graph->inputs[i]], &p->inputs[i]);
  for (size_t i = 0; i < p->graph->n_outputs; i++) describe_port(&p->graph->tensors[p->graph->outputs[i]], &p->outputs[i]);
  return NPUC_OK;
}

npuc_status npuc_program_open(diag *d, const char *path, npuc_program **out_program) {
  *out_program = NULL;
  arena *a = npuc_arena_create();
  npuc_program *p = NPUC_NEW(a, npuc_program);
  p->arena = a;
  npuc_diag_set_file(d, path);
  npuc_status status = npuc_npu_file_open(d, path, &p->file);
  if (status == NPUC_OK) status = read_all(d, p);
  if (status != NPUC_OK) {
    npuc_program_destroy(p);
    return status;
  }
  *out_program = p;
  return NPUC_OK;
}

npuc_status npuc_program_load(const char *path, npuc_program **out_program, npuc_error *out_error) {
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_status status = npuc_error_from(d, npuc_program_open(d, path, out_program), out_error);
  npuc_diag_destroy(d);
  return status;
}

void npuc_program_destroy(npuc_program *program) {
  if (!program) return;
  npuc_npu_file_close(&program->file);
  npuc_arena_destroy(program->arena);
}

npuc_status npuc_program_audit(const npuc_program *program, npuc_error *out_error) {
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_status status = npuc_npu_file_check_weights(d, &program->file, 0, npuc_npu_file_weight_blocks(&program->file));
  status = npuc_error_from(d, status, out_error);
  npuc_diag_destroy(d);
  return status;
}

size_t npuc_program_inputs(const npuc_program *program) { return program->graph->n_inputs; }
size_t npuc_program_outputs(const npuc_program *program) { return program->graph->n_outputs; }
const npuc_port *npuc_program_input(const npuc_program *program, size_t index) {
  return index < program->graph->n_inputs ? &program->inputs[index] : NULL;
}
const npuc_port *npuc_program_output(const npuc_program *program, size_t index) {
  return index < program->graph->n_outputs ? &program->outputs[index] : NULL;
}

/* -- the boundary: docs/numerics.md section 4 -- */

void npuc_port_quantize(const npuc_port *port, const float *x, void *q, size_t n) {
  bool is_signed = port->dtype == DTYPE_I8;
  int32_t lo = is_signed ? -128 : 0, hi = is_signed ? 127 : 255;
  for (size_t i = 0; i < n; i++) {
    float v = x[i] / port->scale;
    v = isnan(v) ? 0.0f : v > 1e6f ? 1e6f : v < -1e6f ? -1e6f : rintf(v);
    int32_t k = (int32_t)v + port->zero_point;
    k = k < lo ? lo : k > hi ? hi : k;
    if (is_signed)
      ((int8_t *)q)[i] = (int8_t)k;
    else
      ((uint8_t *)q)[i] = (uint8_t)k;
  }
}

void npuc_port_dequantize(const npuc_port *port, const void *q, float *x, size_t n) {
  bool is_signed = port->dtype == DTYPE_I8;
  for (size_t i = 0; i < n; i++) {
    int32_t k = is_signed ? ((const int8_t *)q)[i] : ((const uint8_t *)q)[i];
    x[i] = (float)(k - port->zero_point) * port->scale;
  }
}
