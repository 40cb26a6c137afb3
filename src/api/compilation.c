/* SPDX-License-Identifier: Apache-2.0 */
/* A compilation: a build whose options are set by name and whose calibration samples come from memory. Samples are written to OUT/samples, one sub-folder each, so that what the ranges
 * were measured on can be seen, has an identity (a stage is kept or done again by it), and serves a later command on the same folder. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "formats/npy.h"
#include "import/read.h"
#include "passes/names.h"
#include "stages/stages.h"
#include "stages/target.h"

struct npuc_compilation {
  npuc_context *context;
  arena *arena;
  build *build;
  bool target_set, dim_set, shape_set;
  module *source;     /* read at the first samples: they are for its inputs */
  const char *folder; /* where they are gathered */
  size_t samples;
  array_ports names;
  char *results;
};

npuc_status npuc_compilation_create(npuc_context *context, const char *model, const char *output, npuc_compilation **out_compilation) {
  *out_compilation = NULL;
  npuc_compilation *c = npuc_xcalloc(1, sizeof *c);
  c->context = context;
  c->arena = npuc_arena_create();
  opened_model found = {.path = NULL};
  npuc_status status = model ? npuc_model_find_source(context->diag, c->arena, npuc_arena_str(c->arena, model), &found) : NPUC_OK;
  if (status == NPUC_OK) status = npuc_build_open(context->diag, c->arena, output, model != NULL, &c->build);
  if (status == NPUC_OK) {
    c->build->pool = context->pool;
    c->build->progress = &context->progress;
    npuc_build_inherit(c->build, found.preprocess);
    status = npuc_build_options_load(c->build);
  }
  if (status == NPUC_OK && found.path) c->build->options.model = found.path;
  if (status == NPUC_OK && !c->build->options.model)
    status = npuc_fail(context->diag, NPUC_DIAG_E0905, &(diag_place){.file = output}, "the build records no model");
  if (status != NPUC_OK) {
    npuc_compilation_destroy(c);
    return status;
  }
  *out_compilation = c;
  return NPUC_OK;
}

void npuc_compilation_destroy(npuc_compilation *c) {
  if (!c) return;
  npuc_module_destroy(c->source);
  npuc_build_close(c->build);
  free(c->results);
  npuc_arena_destroy(c->arena);
  free(c);
}

/* -- options -- */

/* The first value of a list replaces the recorded ones. */
static bool *list_state(npuc_compilation *c, const char *option) {
  return strcmp(option, "target") == 0  ? &c->target_set
         : strcmp(option, "dim") == 0   ? &c->dim_set
         : strcmp(option, "shape") == 0 ? &c->shape_set
                                        : NULL;
}

npuc_status npuc_compilation_set(npuc_compilation *c, const char *option, const char *text) {
  build_options before = c->build->options;
  bool *begun = list_state(c, option);
  target_file t;
  if (strcmp(option, "target") == 0) { /* a wrong name is said at once */
    NPUC_TRY(npuc_target_open(c->context->diag, c->arena, text, &t));
    npuc_target_close(&t);
  }
  if (begun && !*begun) npuc_build_option_clear(c->build, option);
  npuc_status status = npuc_build_option_set(c->build, option, text);
  if (status != NPUC_OK)
    c->build->options = before;
  else if (begun)
    *begun = true;
  return status;
}

/* -- samples -- */

static npuc_status begin_samples(npuc_compilation *c) {
  diag *d = c->context->diag;
  NPUC_TRY(npuc_source_read(d, c->build->options.model, &c->source));
  const graph *g = c->source->graphs[0];
  const char **names = (const char **)npuc_arena_array(c->arena, g->n_inputs + 1, sizeof(char *));
  const char **sources = (const char **)npuc_arena_array(c->arena, g->n_inputs + 1, sizeof(char *));
  for (size_t i = 0; i < g->n_inputs; i++) {
    names[i] = g->inputs[i]->name;
    sources[i] = npuc_source_name(g, c->arena, names[i]);
  }
  c->names = (array_ports){.n = g->n_inputs, .names = names, .source_names = sources};
  c->folder = npuc_path_join(c->arena, c->build->path, "samples.npuc-tmp.new");
  NPUC_TRY(npuc_path_remove(d, c->folder));
  return npuc_dir_create(d, c->folder);
}

/* The samples take their place when a run begins, all of them: those that somebody stopped in the middle of are swept away. */
static npuc_status end_samples(npuc_compilation *c) {
  diag *d = c->context->diag;
  if (!c->folder) return NPUC_OK;
  const char *folder = npuc_path_join(c->arena, c->build->path, "samples");
  NPUC_TRY(npuc_path_remove(d, folder));
  if (rename(c->folder, folder) != 0)
    return npuc_fail(d, NPUC_DIAG_E0004, &(diag_place){.file = folder}, "the samples cannot be moved there: %s", strerror(errno));
  npuc_module_destroy(c->source);
  c->source = NULL;
  c->folder = NULL;
  c->samples = 0;
  return npuc_build_option_set(c->build, "calib", npuc_arena_printf(c->arena, "dir:%s", folder));
}

/* How many samples an array holds for an input; `one` becomes the shape of each. E0921 where the axes do not fit; their sizes are judged where the samples are read. */
static npuc_status samples_in(diag *d, const value *input, const tensor *t, size_t *out_count, shape *one) {
  const shape *s = &input->shape;
  *out_count = 1;
  *one = t->shape;
  bool whole = s->rank == 0 || (s->rank > 0 && dim_is_number(s->dims[0]) && s->dims[0] != 1);
  if (whole || (s->rank > 0 && t->shape.rank == s->rank - 1)) return NPUC_OK;
  if (t->shape.rank < 1 || (s->rank > 0 && t->shape.rank != s->rank))
    return npuc_fail(d, NPUC_DIAG_E0921, &(diag_place){.node = input->name}, "samples for '%s' have %d axes; the input has %d", input->name,
                     t->shape.rank, s->rank);
  *out_count = (size_t)t->shape.dims[0];
  one->dims[0] = 1;
  return NPUC_OK;
}

static npuc_status write_sample(npuc_compilation *c, size_t input, const tensor *t, const shape *one, size_t count, size_t index) {
  diag *d = c->context->diag;
  arena *a = npuc_arena_create();
  const char *folder = npuc_arena_printf(a, "%s/%06zu", c->folder, c->samples + index);
  tensor record = {.type = t->type, .shape = *one, .bytes = t->bytes / count};
  record.data = record.bytes ? (char *)t->data + index * record.bytes : NULL;
  npuc_status status = npuc_dir_create(d, folder);
  if (status == NPUC_OK) status = npuc_npy_write(d, npuc_arena_printf(a, "%s/%zu.npy", folder, input), &record);
  npuc_arena_destroy(a);
  return status;
}

npuc_status npuc_compilation_add(npuc_compilation *c, const npuc_array *arrays, size_t n_arrays) {
  diag *d = c->context->diag;
  if (!c->source) NPUC_TRY(begin_samples(c));
  const graph *g = c->source->graphs[0];
  const npuc_array **places = (const npuc_array **)npuc_arena_array(c->arena, g->n_inputs + 1, sizeof(npuc_array *));
  size_t count = 0;
  NPUC_TRY(npuc_array_places(d, &c->names, arrays, n_arrays, places));
  for (size_t k = 0; k < g->n_inputs; k++) {
    tensor t;
    shape one;
    size_t n;
    NPUC_TRY(npuc_array_tensor(d, g->inputs[k]->name, places[k], &t));
    NPUC_TRY(samples_in(d, g->inputs[k], &t, &n, &one));
    if (k && n != count)
      return npuc_fail(d, NPUC_DIAG_E0921, &(diag_place){.node = g->inputs[k]->name}, "%zu samples, and %zu for '%s'", n, count,
                       g->inputs[0]->name);
    count = n;
    for (size_t i = 0; i < n; i++) NPUC_TRY(write_sample(c, k, &t, &one, n, i));
  }
  c->samples += count;
  return NPUC_OK;
}

/* -- stages -- */

static npuc_status find_stage(diag *d, const char *name, stage_id fallback, stage_id *out_stage) {
  *out_stage = fallback;
  if (!name || npuc_stage_find(name, out_stage)) return NPUC_OK;
  return npuc_fail(d, NPUC_DIAG_E0104, NULL, "'%s' is no stage: baseline, import, normalize, static, adapt, quantize, build, verify", name);
}

static void on_stage(void *user, stage_id s, const char *target, const char *status, double seconds, const json_t *gate) {
  const npuc_context_options *o = &((const npuc_context *)user)->options;
  (void)gate;
  if (o->on_stage) o->on_stage(o->user, npuc_stage_name(s), target, status, seconds);
}

npuc_status npuc_compilation_run(npuc_compilation *c, const char *from, const char *to) {
  diag *d = c->context->diag;
  stage_id first, last;
  NPUC_TRY(find_stage(d, from, STAGE_BASELINE, &first));
  NPUC_TRY(find_stage(d, to, STAGE_VERIFY, &last));
  if (first > last) return npuc_fail(d, NPUC_DIAG_E0104, NULL, "stage %s is after stage %s", from, to);
  NPUC_TRY(end_samples(c));
  NPUC_TRY(npuc_build_options_save(c->build));
  if (from) NPUC_TRY(npuc_build_strike(c->build, first, NULL));
  return npuc_pipeline_run(c->build, STAGE_BASELINE, last, on_stage, c->context);
}

const char *npuc_compilation_results(npuc_compilation *c) {
  json_t *document = json_pack("{s:O, s:o, s:s}", "stages", json_object_get(c->build->manifest, "stages"), "targets",
                               npuc_build_results(c->build), "manifest", npuc_path_join(c->arena, c->build->path, "manifest.json"));
  free(c->results);
  c->results = json_dumps(document, JSON_ENSURE_ASCII);
  json_decref(document);
  return c->results ? c->results : "{}";
}
