/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "cli/build_options.h"
#include "cli/npu_view.h"
#include "formats/npy.h"
#include "passes/batch.h"
#include "passes/names.h"

/* File systems end names at 255 bytes: a long one is cut between characters, and its hash keeps it apart from others that begin like it. */
static const char *file_stem(arena *a, const char *name) {
  enum { LONGEST = 200, KEPT = 160 };
  char *clean = npuc_arena_str(a, name);
  for (char *p = clean; *p; p++)
    if (*p == '/' || *p == '\\' || (unsigned char)*p < 0x20) *p = '_';
  if (clean[0] == '.') clean[0] = '_';
  if (strlen(clean) <= LONGEST) return clean;
  size_t n = KEPT;
  while (n > 0 && ((unsigned char)clean[n] & 0xc0) == 0x80) n--;
  return npuc_arena_printf(a, "%.*s_%s", (int)n, clean, npuc_hash_text(a, name));
}

const char *npuc_cli_port_path(arena *a, const char *folder, const char *name) {
  return npuc_arena_printf(a, "%s/%s.npy", folder, file_stem(a, name));
}

static bool is_taken(const json_t *list, const char *path) {
  size_t i;
  json_t *entry;
  json_array_foreach(list, i, entry) {
    const char *file = json_string_value(json_object_get(entry, "file"));
    if (file && strcmp(file, path) == 0) return true;
  }
  return false;
}

/* "a/b" and "a_b" clean to the same: the later one gets a number, the first that is free. */
const char *npuc_cli_new_port_path(arena *a, const char *folder, const char *name, const json_t *list) {
  const char *path = npuc_cli_port_path(a, folder, name);
  for (size_t k = json_array_size(list); is_taken(list, path); k++)
    path = npuc_arena_printf(a, "%s/%s_%zu.npy", folder, file_stem(a, name), k);
  return path;
}

static bool is_name(const char *text, size_t n, const char *name) { return name && strlen(name) == n && memcmp(name, text, n) == 0; }

npuc_status npuc_cli_input_files(cli *c, const char *const *names, const char *const *source_names, size_t n, const char **out_files) {
  const char **texts;
  size_t given = npuc_cli_list(&c->line, c->arena, "--input", &texts);
  for (size_t i = 0; i < given; i++) {
    const char *equal = strchr(texts[i], '=');
    size_t length = equal ? (size_t)(equal - texts[i]) : 0, found = n;
    for (size_t k = 0; k < n; k++)
      if (is_name(texts[i], length, names[k]) || is_name(texts[i], length, source_names ? source_names[k] : NULL)) found = k;
    if (!equal && n == 1) { /* one input: the file alone is clear */
      out_files[0] = texts[i];
      continue;
    }
    if (found == n) {
      npuc_status status =
          npuc_fail(c->diag, NPUC_DIAG_E0921, &(diag_place){.attribute = "-i"}, "'%s' names no input of the model", texts[i]);
      const char *near = npuc_nearest(npuc_arena_strn(c->arena, texts[i], length), names, n);
      npuc_fix(c->diag, "-i %s=FILE.npy", near ? near : n ? names[0] : "NAME");
      return status;
    }
    if (out_files[found])
      return npuc_fail(c->diag, NPUC_DIAG_E0103, &(diag_place){.attribute = "-i"}, "input '%s' is given twice", names[found]);
    out_files[found] = equal + 1;
  }
  return NPUC_OK;
}

/* splitmix64: a sequence that is the same everywhere. */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void npuc_cli_random(uint64_t seed, uint64_t stream, tensor *t) {
  uint64_t state = seed * 0x2545f4914f6cdd1du + stream;
  int64_t n = npuc_tensor_elements(t), lo = 0, hi = 15;
  bool bounded = npuc_dtype_bits(t->type) <= 8 && npuc_dtype_range(t->type, &lo, &hi);
  for (int64_t i = 0; i < n; i++) {
    uint64_t r = next_random(&state);
    if (npuc_dtype_kind(t->type) == KIND_FLOAT)
      npuc_tensor_set(t, i, (double)(r >> 40) / 8388608.0 - 1.0);
    else if (t->type == DTYPE_BOOL)
      npuc_tensor_set_int(t, i, (int64_t)(r >> 63));
    else
      npuc_tensor_set_int(t, i, bounded ? lo + (int64_t)(r % (uint64_t)(hi - lo + 1)) : (int64_t)(r % 16));
  }
}

npuc_status npuc_cli_check_dims(cli *c, const module *m) {
  const symbol_binding *dims;
  size_t n;
  NPUC_TRY(npuc_cli_dims(c, "--dim", &dims, &n));
  for (size_t i = 0; i < n; i++) NPUC_TRY(npuc_graph_check_symbol(c->diag, m->graphs[0], dims[i].symbol));
  return NPUC_OK;
}

npuc_status npuc_cli_bind_dims(cli *c, module *m) {
  const symbol_binding *dims;
  size_t n;
  NPUC_TRY(npuc_cli_dims(c, "--dim", &dims, &n));
  graph *g = m->graphs[0];
  for (size_t i = 0; i < g->n_inputs; i++) {
    shape *s = &g->inputs[i]->shape;
    for (int32_t k = 0; k < s->rank; k++) {
      if (dim_is_number(s->dims[k])) continue;
      const char *name = dim_is_symbol(s->dims[k]) ? npuc_module_symbol_name(m, s->dims[k]) : NULL;
      dim before = s->dims[k];
      for (size_t j = 0; j < n; j++)
        if (name && strcmp(name, dims[j].symbol) == 0) s->dims[k] = dims[j].value;
      if (s->dims[k] == before && k == 0) s->dims[k] = 1;
    }
  }
  return NPUC_OK;
}

npuc_status npuc_cli_bind_batch(cli *c, module *m, int64_t batch, bool *out_changed) {
  graph *g = m->graphs[0];
  *out_changed = false;
  NPUC_TRY(npuc_cli_check_dims(c, m));
  for (size_t i = 0; i < g->n_inputs && batch; i++) {
    shape *s = &g->inputs[i]->shape;
    if (s->rank > 0 && !dim_is_number(s->dims[0])) s->dims[0] = batch;
  }
  NPUC_TRY(npuc_cli_bind_dims(c, m));
  for (size_t i = 0; i < g->n_inputs && batch; i++) *out_changed |= g->inputs[i]->shape.rank < 1 || g->inputs[i]->shape.dims[0] != batch;
  return *out_changed ? npuc_graph_set_batch(c->diag, g, batch) : NPUC_OK;
}

static npuc_status check_fits(cli *c, const value *v, const char *file, const tensor *t) {
  bool fits = v->shape.rank < 0 || v->shape.rank == t->shape.rank;
  for (int32_t k = 0; fits && k < v->shape.rank; k++) {
    fits = !dim_is_number(v->shape.dims[k]) || v->shape.dims[k] == t->shape.dims[k];
  }
  bool type = t->type == v->type || (v->quant && t->type == DTYPE_F32);
  if (fits && type) return NPUC_OK;
  npuc_status status =
      npuc_fail(c->diag, NPUC_DIAG_E0921, &(diag_place){.file = file, .node = v->name},
                "the input wants %s of %s%s; the file holds %s of %s", npuc_cli_dims_text(c->arena, &v->shape), npuc_dtype_name(v->type),
                v->quant ? " (or float32 to be quantized)" : "", npuc_cli_dims_text(c->arena, &t->shape), npuc_dtype_name(t->type));
  if (!fits) npuc_fix(c->diag, "--dim SYMBOL=N, where the axis has a name (npuc inspect MODEL)");
  return status;
}

static npuc_status input_from_file(cli *c, const value *v, const char *file, tensor *out) {
  tensor t = {0};
  NPUC_TRY(npuc_npy_read(c->diag, file, &t));
  npuc_status status = check_fits(c, v, file, &t);
  if (status == NPUC_OK && t.type != v->type) {
    status = npuc_tensor_create(c->diag, v->type, &t.shape, out);
    if (status == NPUC_OK) npuc_quantize_tensor(v->quant, &t, out);
    npuc_tensor_release(&t);
    return status;
  }
  if (status != NPUC_OK)
    npuc_tensor_release(&t);
  else
    *out = t;
  return status;
}

static npuc_status random_input(cli *c, const value *v, uint64_t stream, tensor *out) {
  if (!npuc_shape_is_static(&v->shape)) {
    npuc_status status =
        npuc_fail(c->diag, NPUC_DIAG_E0913, &(diag_place){.node = v->name}, "input '%s' has a dim that is not a number", v->name);
    npuc_fix(c->diag, "--dim SYMBOL=N");
    return status;
  }
  NPUC_TRY(npuc_tensor_create(c->diag, v->type, &v->shape, out));
  npuc_cli_random(c->seed, stream, out);
  return NPUC_OK;
}

npuc_status npuc_cli_graph_inputs(cli *c, const opened_model *m, tensor **out_inputs) {
  graph *g = m->module->graphs[0];
  size_t n = g->n_inputs;
  const char **names = (const char **)npuc_arena_array(c->arena, n + 1, sizeof(char *)),
             **files = (const char **)npuc_arena_array(c->arena, n + 1, sizeof(char *));
  const char **sources = (const char **)npuc_arena_array(c->arena, n + 1, sizeof(char *));
  for (size_t i = 0; i < n; i++) names[i] = g->inputs[i]->name, sources[i] = npuc_source_name(g, c->arena, g->inputs[i]->name);
  *out_inputs = NPUC_NEW_ARRAY(c->arena, n + 1, tensor);
  NPUC_TRY(npuc_cli_input_files(c, names, sources, n, files));
  for (size_t i = 0; i < n; i++) {
    if (files[i])
      NPUC_TRY(input_from_file(c, g->inputs[i], files[i], &(*out_inputs)[i]));
    else
      NPUC_TRY(random_input(c, g->inputs[i], i, &(*out_inputs)[i]));
  }
  return NPUC_OK;
}

void npuc_cli_release_inputs(tensor *inputs, size_t n) {
  for (size_t i = 0; inputs && i < n; i++) npuc_tensor_release(&inputs[i]);
}
