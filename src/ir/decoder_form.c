/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/decoder_form.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool number(const module *m, const char *key, int64_t *out) {
  const char *text = npuc_map_get(m->metadata, key);
  char *end = NULL;
  if (!text) return false;
  *out = strtoll(text, &end, 10);
  return *end == '\0' && *out >= 1 && *out <= INT32_MAX;
}

static int32_t input_named(const graph *g, const char *name) {
  for (size_t i = 0; i < g->n_inputs; i++) {
    if (strcmp(g->inputs[i]->name, name) == 0) return (int32_t)i;
  }
  return -1;
}

bool npuc_decoder_form_of(const module *m, decoder_form *out_form) {
  decoder_form f;
  if (!m->n_graphs || !number(m, "npuc.decoder.max_length", &f.max_length) || !number(m, "npuc.decoder.chunk", &f.chunk)) return false;
  f.position = input_named(m->graphs[0], "position");
  f.valid = input_named(m->graphs[0], "valid");
  if (f.position < 0 || f.valid < 0) return false;
  *out_form = f;
  return true;
}

static void set_number(module *m, const char *key, int64_t n) {
  (void)npuc_map_put(m->metadata, key, npuc_arena_printf(m->arena, "%" PRId64, n));
}

void npuc_decoder_form_set(module *m, int64_t max_length, int64_t chunk) {
  set_number(m, "npuc.decoder.max_length", max_length);
  set_number(m, "npuc.decoder.chunk", chunk);
}

static npuc_status refuse(diag *d, const char *input, const char *what, int64_t given, int64_t least, int64_t most) {
  return npuc_fail(d, NPUC_DIAG_E0630, &(diag_place){.node = input}, "%s%" PRId64 " given; %" PRId64 " to %" PRId64 " wanted", what, given,
                   least, most);
}

npuc_status npuc_decoder_form_check(diag *d, const decoder_form *f, const tensor *inputs) {
  const tensor *positions = &inputs[f->position], *valids = &inputs[f->valid];
  int64_t n = npuc_tensor_elements(positions);
  for (int64_t i = 0; i < n && i < npuc_tensor_elements(valids); i++) {
    int64_t position = npuc_tensor_get_int(positions, i), valid = npuc_tensor_get_int(valids, i);
    if (valid < 1 || valid > f->chunk) return refuse(d, "valid", "", valid, 1, f->chunk);
    if (position < 0 || position > f->max_length - valid)
      return refuse(d, "position", valid > 1 ? "a chunk of valid tokens at " : "a token at ", position, 0, f->max_length - valid);
  }
  return NPUC_OK;
}

bool npuc_module_state(const module *m, arena *a, size_t k, const char **out_output, const char **out_input) {
  const char *text = npuc_map_get(m->metadata, npuc_arena_printf(a, "npuc.state.%zu", k)), *arrow = text ? strstr(text, " > ") : NULL;
  if (!arrow) return false;
  *out_output = npuc_arena_strn(a, text, (size_t)(arrow - text));
  *out_input = npuc_arena_str(a, arrow + 3);
  return true;
}

void npuc_module_set_state(module *m, size_t k, const char *output, const char *input) {
  (void)npuc_map_put(m->metadata, npuc_arena_printf(m->arena, "npuc.state.%zu", k), npuc_arena_printf(m->arena, "%s > %s", output, input));
}
