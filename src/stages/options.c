/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a build in its manifest, so that a later command goes on with them. */
#include <inttypes.h>

#include "stages/build.h"

static void set_text(json_t *o, const char *key, const char *text) {
  if (text) json_object_set_new(o, key, json_string(text));
}

npuc_status npuc_build_options_save(build *b) {
  const build_options *o = &b->options;
  json_t *j = json_object(), *targets = json_array(), *dims = json_object(), *list = json_object();
  set_text(j, "model", o->model);
  set_text(j, "scheme", o->scheme);
  set_text(j, "observer", o->observer);
  set_text(j, "calib", o->calib);
  set_text(j, "eval", o->eval);
  set_text(j, "preprocess", o->preprocess);
  set_text(j, "reference", o->reference);
  for (size_t i = 0; i < o->n_targets; i++) json_array_append_new(targets, json_string(o->targets[i]));
  for (size_t i = 0; i < o->n_dims; i++) json_object_set_new(dims, o->dims[i].symbol, json_integer(o->dims[i].value));
  for (size_t i = 0; i < o->n_shapes; i++) {
    const char *text = "";
    const shape *s = &o->shapes[i].shape;
    for (int32_t k = 0; k < s->rank; k++) text = npuc_arena_printf(b->arena, "%s%s%" PRId64, text, k ? "x" : "", s->dims[k]);
    json_object_set_new(list, o->shapes[i].input, json_string(text));
  }
  json_object_set_new(j, "targets", targets);
  json_object_set_new(j, "dims", dims);
  json_object_set_new(j, "shapes", list);
  json_object_set_new(j, "max_drop", json_real(o->max_drop));
  json_object_set_new(j, "bias_correction", json_boolean(o->bias_correction));
  json_object_set_new(j, "seed", json_integer((json_int_t)b->seed));
  json_object_set_new(b->manifest, "options", j);
  return npuc_build_save(b);
}
