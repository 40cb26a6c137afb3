/* SPDX-License-Identifier: Apache-2.0 */
/* Every gate stops the build on a fault that is seeded in its stage, and nothing is left that looks finished. The demo network without a fault passes all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "formats/npu_file.h"
#include "stages/stages.h"
#include "support/scratch.h"

#define DEMO NPUC_SOURCE_DIR "/examples/demo/"

typedef struct fault {
  stage_id stage;
  const char *code; /* what the gate must say */
  npuc_status (*seed)(module *m, const char *path);
} fault;

static npuc_status tamper(void *user, stage_id s, module *m, const char *path) {
  const fault *f = user;
  return f && f->seed && f->stage == s ? f->seed(m, path) : NPUC_OK;
}

/* -- faults -- */

static node *first_of(module *m, op_id op) {
  NPUC_EACH_NODE(m->graphs[0], n) {
    if (node_is(n, op)) return n;
  }
  return NULL;
}

/* Puts a changed copy in the place of the first (Q)Conv's weights. */
static npuc_status change_weights(module *m, void (*change)(tensor *t)) {
  node *n = first_of(m, OP_CONV) ? first_of(m, OP_CONV) : first_of(m, OP_QCONV);
  const tensor *w = n->inputs[1]->constant;
  tensor copy;
  npuc_status status = npuc_tensor_create(NULL, w->type, &w->shape, &copy);
  if (status != NPUC_OK) return status;
  memcpy(copy.data, w->data, w->bytes);
  change(&copy);
  npuc_node_set_input(n, 1, npuc_graph_add_constant(m->graphs[0], "changed_weights", &copy));
  npuc_tensor_release(&copy);
  return NPUC_OK;
}

static void one_element(tensor *t) { npuc_tensor_set(t, 0, npuc_tensor_get(t, 0) + 0.25); }
static void not_a_number(tensor *t) { ((float *)t->data)[0] = (float)strtod("nan", NULL); }
static void all_zero(tensor *t) { memset(t->data, 0, t->bytes); }

static npuc_status wrong_weight(module *m, const char *path) {
  (void)path;
  return change_weights(m, one_element);
}
static npuc_status nan_weight(module *m, const char *path) {
  (void)path;
  return change_weights(m, not_a_number);
}
static npuc_status lost_weights(module *m, const char *path) {
  (void)path;
  return change_weights(m, all_zero);
}
static npuc_status bad_name(module *m, const char *path) {
  (void)path;
  npuc_value_rename(m->graphs[0]->first->outputs[0], "not a/clean name");
  return NPUC_OK;
}
static npuc_status dynamic_dim(module *m, const char *path) {
  (void)path;
  m->graphs[0]->inputs[0]->shape.dims[2] = npuc_module_symbol(m, "height");
  return NPUC_OK;
}
static npuc_status no_place(module *m, const char *path) {
  (void)path;
  m->graphs[0]->first->place = NULL;
  return NPUC_OK;
}
static npuc_status cut_in_half(module *m, const char *path) {
  (void)m;
  return truncate(path, 4096) == 0 ? NPUC_OK : NPUC_ENVIRONMENT;
}

/* A weight that the array loads, changed behind a valid checksum: only execution can find it. */
static npuc_status wrong_image(module *m, const char *path) {
  (void)m;
  npu_file f;
  npuc_status status = npuc_npu_file_open(NULL, path, &f);
  if (status != NPUC_OK) return status;
  npu_section sections[NPU_SECTION_COUNT];
  memcpy(sections, f.sections, sizeof sections);
  uint8_t *weights = malloc(sections[NPU_WGTS].bytes);
  assert_non_null(weights);
  memcpy(weights, sections[NPU_WGTS].data, sections[NPU_WGTS].bytes);
  for (size_t i = 0; i < sections[NPU_WGTS].bytes; i += 97) weights[i] ^= 0x15;
  sections[NPU_WGTS].data = weights;
  status = npuc_npu_file_write(NULL, path, sections, NULL);
  free(weights);
  npuc_npu_file_close(&f);
  return status;
}

static const fault faults[] = {
    {STAGE_BASELINE, "NPUC-E0910", nan_weight}, {STAGE_IMPORT, "NPUC-E0911", wrong_weight}, {STAGE_NORMALIZE, "NPUC-E0911", wrong_weight},
    {STAGE_NORMALIZE, "NPUC-E0912", bad_name},  {STAGE_STATIC, "NPUC-E0911", wrong_weight}, {STAGE_STATIC, "NPUC-E0913", dynamic_dim},
    {STAGE_ADAPT, "NPUC-E0911", wrong_weight},  {STAGE_ADAPT, "NPUC-E0914", no_place},      {STAGE_QUANTIZE, "NPUC-E0915", lost_weights},
    {STAGE_BUILD, "NPUC-E0916", cut_in_half},   {STAGE_BUILD, "NPUC-E0917", wrong_image},
};

/* -- the build -- */

static const char *const targets[] = {"refnpu-n8"};

static npuc_status compile_demo(const char *out, diag *d, const fault *f, bool with_eval) {
  arena *a = npuc_arena_create();
  build *b = NULL;
  npuc_status status = npuc_build_open(d, a, out, true, &b);
  assert_int_equal(status, NPUC_OK);
  b->options = (build_options){.model = DEMO "model.onnx",
                               .targets = targets,
                               .n_targets = 1,
                               .calib = "npy:" DEMO "calib.npy",
                               .preprocess = "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25",
                               .eval = with_eval ? "npy:" DEMO "test.npy" : NULL,
                               .max_drop = 2.0,
                               .bias_correction = true};
  b->tamper = tamper;
  b->tamper_user = (void *)(uintptr_t)f;
  status = npuc_pipeline_run(b, STAGE_BASELINE, STAGE_VERIFY, NULL, NULL);
  npuc_build_close(b);
  npuc_arena_destroy(a);
  return status;
}

static bool has_error(const diag *d, const char *code) {
  for (size_t i = 0; i < npuc_diag_count(d); i++) {
    const diag_record *r = npuc_diag_at(d, i);
    if (r->severity == DIAG_ERROR && strcmp(npuc_diag_info(r->code)->text_code, code) == 0) return true;
  }
  return false;
}

/* The artifact and every later stage are absent from disk and from the manifest. */
static void nothing_looks_finished(const char *out, stage_id failed) {
  diag *d = npuc_diag_create(NULL, NULL);
  arena *a = npuc_arena_create();
  build *b = NULL;
  assert_int_equal(npuc_build_open(d, a, out, false, &b), NPUC_OK);
  for (int s = (int)failed; s < STAGE_COUNT; s++) {
    const char *target = npuc_stage_per_target((stage_id)s) ? targets[0] : NULL;
    if (s == (int)failed && failed == STAGE_BUILD) continue; /* its wrong image is found by verify */
    assert_null(npuc_build_record(b, (stage_id)s, target));
    if (s >= STAGE_IMPORT && s <= STAGE_QUANTIZE) assert_false(npuc_path_exists(npuc_build_path(b, (stage_id)s, target)));
  }
  npuc_build_close(b);
  npuc_arena_destroy(a);
  npuc_diag_destroy(d);
}

static void every_gate_stops_its_fault(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    arena *a = npuc_arena_create();
    char *folder = npuc_scratch_create(a);
    const char *out = npuc_path_join(a, folder, "out");
    diag *d = npuc_diag_create(NULL, NULL);
    npuc_status status = compile_demo(out, d, &faults[i], faults[i].stage == STAGE_QUANTIZE);
    if (status == NPUC_OK || !has_error(d, faults[i].code))
      fail_msg("fault %zu in stage %s: status %d, no %s", i, npuc_stage_name(faults[i].stage), (int)status, faults[i].code);
    nothing_looks_finished(out, faults[i].stage);
    npuc_diag_destroy(d);
    npuc_scratch_remove(folder);
    npuc_arena_destroy(a);
  }
}

/* The control: no fault, no complaint; and a second run keeps every stage's bytes. */
static void a_sound_network_passes(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *folder = npuc_scratch_create(a);
  const char *out = npuc_path_join(a, folder, "out");
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(compile_demo(out, d, NULL, true), NPUC_OK);
  assert_null(npuc_diag_first_error(d));
  assert_int_equal(compile_demo(out, d, NULL, true), NPUC_OK);
  npuc_diag_destroy(d);
  npuc_scratch_remove(folder);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_gate_stops_its_fault), cmocka_unit_test(a_sound_network_passes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
