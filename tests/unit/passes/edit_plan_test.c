/* SPDX-License-Identifier: Apache-2.0 */
/* Edit lists: order, precedence, arguments, slips. The lists are of the forms that torq-tools' harness takes (names, {name, args}, `edits`, flags with a YAML tail). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/yaml.h"
#include "passes/edits/edits.h"
#include "support/ir.h"

typedef struct fixture {
  diag *d;
  edit_plan *p;
  json_t *list;
} fixture;

static int start(void **state) {
  fixture *f = npuc_xcalloc(1, sizeof *f);
  *f = (fixture){.d = npuc_diag_create(NULL, NULL), .p = npuc_edit_plan_create()};
  *state = f;
  return 0;
}

static int end(void **state) {
  fixture *f = *state;
  npuc_edit_plan_destroy(f->p);
  npuc_diag_destroy(f->d);
  free(f);
  return 0;
}

static npuc_status list(fixture *f, const char *yaml) {
  json_t *j;
  NPUC_TRY(npuc_yaml_parse(f->d, NULL, NPUC_DIAG_E0509, yaml, strlen(yaml), &j));
  npuc_status status = npuc_edit_plan_add_json(f->d, f->p, &(diag_place){.file = "edits.yaml"}, j);
  json_decref(j);
  return status;
}

/* "name{args} name{args}", without the arguments that are defaults' own spelling. */
static void is(fixture *f, const char *wanted) {
  char text[1024] = "";
  assert_int_equal(npuc_edit_plan_finish(f->d, f->p), NPUC_OK);
  for (size_t i = 0; i < f->p->n; i++) {
    char *arguments = json_dumps(f->p->steps[i].arguments, JSON_COMPACT | JSON_SORT_KEYS);
    size_t n = strlen(text);
    (void)snprintf(text + n, sizeof text - n, "%s%s%s", n ? " " : "", f->p->steps[i].edit->name, strcmp(arguments, "{}") ? arguments : "");
    free(arguments);
  }
  assert_string_equal(text, wanted);
}

static void fails(fixture *f, npuc_status status, const char *code, const char *reason) {
  assert_int_not_equal(status, NPUC_OK);
  const diag_record *r = npuc_diag_first_error(f->d);
  assert_non_null(r);
  assert_string_equal(npuc_diag_info(r->code)->text_code + 5, code);
  if (!strstr(r->reason, reason) && !(r->n_fixes && strstr(r->fixes[0], reason))) fail_msg("%s does not say %s", r->reason, reason);
}

static void lists_of_torq_tools_load(void **state) {
  fixture *f = *state;
  assert_int_equal(list(f, "edits:\n  - RemoveIsNaN\n  - name: EliminateExpand\n    args: [[Add, Mul]]\n"), NPUC_OK);
  assert_int_equal(list(f, "- name: WidenStridedDepthwiseConv\n  args: [64, 4]\n- {name: BroadcastOpInputs, args: Mul}\n"), NPUC_OK);
  is(f,
     "remove-is-nan eliminate-expand{\"ops\":[\"Add\",\"Mul\"]} "
     "widen-strided-depthwise-conv{\"bus_width_bytes\":64,\"element_bytes\":0,\"sg_groups_max\":4} "
     "broadcast-op-inputs{\"inp_idx\":[],\"ops\":[\"Mul\"],\"policy\":\"materialize\"}");
}

static void flags_have_keys_or_a_list(void **state) {
  fixture *f = *state;
  assert_int_equal(npuc_edit_plan_add(f->d, f->p, "--edit", "EliminateExpand:[Add, Mul]"), NPUC_OK);
  assert_int_equal(npuc_edit_plan_add(f->d, f->p, "--edit", "replace-int64-float-cast:512"), NPUC_OK);
  assert_int_equal(npuc_edit_plan_add(f->d, f->p, "--edit", "broadcast-op-inputs:ops=Add,Mul,inp_idx=1,policy=skip"), NPUC_OK);
  is(f,
     "eliminate-expand{\"ops\":[\"Add\",\"Mul\"]} replace-int64-float-cast{\"max_int\":512} "
     "broadcast-op-inputs{\"inp_idx\":[1],\"ops\":[\"Add\",\"Mul\"],\"policy\":\"skip\"}");
}

static void what_is_given_again_keeps_its_place(void **state) {
  fixture *f = *state;
  assert_int_equal(list(f, "[eliminate-transpose, {name: broadcast-op-inputs, args: {ops: [Mul], policy: skip}}, fold-scalar-mat-mul]"),
                   NPUC_OK);
  assert_int_equal(list(f, "[{name: BroadcastOpInputs, args: [[Sub]]}, remove-is-nan]"), NPUC_OK);
  assert_int_equal(npuc_edit_plan_add(f->d, f->p, "--edit", "broadcast-op-inputs:ops=Add"), NPUC_OK);
  assert_int_equal(npuc_edit_plan_add(f->d, f->p, "--edit", "broadcast-op-inputs"), NPUC_OK); /* takes nothing away */
  assert_int_equal(npuc_edit_plan_skip(f->d, f->p, "--skip-edit", "Remove_IsNaN"), NPUC_OK);
  assert_int_equal(npuc_edit_plan_skip(f->d, f->p, "--skip-edit", "fold-scalar-mat-mul"), NPUC_OK);
  is(f, "eliminate-transpose broadcast-op-inputs{\"inp_idx\":[],\"ops\":[\"Add\"],\"policy\":\"materialize\"}");
}

static void a_list_can_exclude(void **state) {
  fixture *f = *state;
  assert_int_equal(list(f, "{edits: [remove-is-nan, eliminate-transpose], excludes: [RemoveIsNaN]}"), NPUC_OK);
  is(f, "eliminate-transpose");
}

#define SLIP(name, call, code, reason) \
  static void name(void **state) {     \
    fixture *f = *state;               \
    fails(f, call, code, reason);      \
  }
SLIP(an_unknown_edit_is_named, npuc_edit_plan_add(f->d, f->p, "--edit", "eliminate-transposes"), "E0507", "eliminate-transpose")
SLIP(an_unknown_edit_cannot_be_skipped, npuc_edit_plan_skip(f->d, f->p, "--skip-edit", "remove-is-nam"), "E0507", "remove-is-nan")
SLIP(an_unknown_parameter_is_named, npuc_edit_plan_add(f->d, f->p, "--edit", "eliminate-expand:opps=Mul"), "E0508", "ops")
SLIP(a_parameter_has_a_kind, npuc_edit_plan_add(f->d, f->p, "--edit", "replace-int64-float-cast:max_int=many"), "E0508", "whole number")
SLIP(there_are_so_many_parameters, npuc_edit_plan_add(f->d, f->p, "--edit", "replace-int64-float-cast:[1, 2]"), "E0508", "1 parameters")
SLIP(an_entry_has_a_name, list(f, "[{args: [1]}]"), "E0509", "name")
SLIP(an_entry_has_nothing_else, list(f, "[{name: remove-is-nan, when: now}]"), "E0509", "when")
SLIP(a_list_is_a_list, list(f, "remove-is-nan"), "E0509", "list")
SLIP(a_list_has_known_keys, list(f, "{edit: [remove-is-nan]}"), "E0509", "edit")

static void a_parameter_without_default_must_be_given(void **state) {
  fixture *f = *state;
  assert_int_equal(npuc_edit_plan_add(f->d, f->p, "--edit", "replace-int64-float-cast"), NPUC_OK);
  fails(f, npuc_edit_plan_finish(f->d, f->p), "E0508", "max_int");
}

/* Every row: a name of its own under the loose comparison, defaults of their kinds. */
static void the_table_is_sound(void **state) {
  fixture *f = *state;
  size_t n;
  const edit_info *edits = npuc_edit_table(&n);
  for (size_t i = 0; i < n; i++) {
    assert_ptr_equal(npuc_edit_find(edits[i].name), &edits[i]);
    assert_non_null(npuc_pass_find(edits[i].name));
    for (size_t k = 0; k < edits[i].n_parameters; k++) {
      const edit_parameter *p = &edits[i].parameters[k];
      json_t *v = p->fallback ? json_loads(p->fallback, JSON_DECODE_ANY, NULL) : NULL;
      if (p->fallback && (!v || (p->kind == EDIT_INT) != json_is_integer(v) || (p->kind == EDIT_TEXT) != json_is_string(v)))
        fail_msg("%s: the default of %s is no value of its kind", edits[i].name, p->name);
      json_decref(v);
    }
  }
  (void)f;
}

/* Edits run in order, each on what the one before left; the report names them. */
static void edits_run_in_order(void **state) {
  fixture *f = *state;
  arena *a = npuc_arena_create();
  pass_report report;
  module *m = npuc_test_module(
      "g (float[2,1] x) => (float[1,2] y) <int64[4] p = {0, -1, 0, 1}> { t = Transpose <perm = [1, 0]> (x) u = Pad (t, p) y = Abs (u) }");
  assert_int_equal(list(f, "[rewrite-negative-pads, replace-pad-with-concat, eliminate-transpose, remove-is-nan]"), NPUC_OK);
  assert_int_equal(npuc_edit_plan_finish(f->d, f->p), NPUC_OK);
  assert_int_equal(npuc_edits_run(f->d, a, m, f->p, &(pass_options){.limit = -1}, &report), NPUC_OK);
  assert_int_equal(report.n_rewrites, 3);
  assert_string_equal(report.rewrites[0].pass, "rewrite-negative-pads");
  assert_string_equal(report.rewrites[1].pattern, "pad-to-concat");
  assert_string_equal(report.rewrites[2].pass, "eliminate-transpose");
  assert_int_equal(report.parity, PARITY_EXACT);
  assert_int_equal(npuc_diag_count(f->d), 1); /* remove-is-nan found nothing */
  npuc_module_destroy(m);
  npuc_arena_destroy(a);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, start, end)
  const struct CMUnitTest tests[] = {
      T(lists_of_torq_tools_load),
      T(flags_have_keys_or_a_list),
      T(what_is_given_again_keeps_its_place),
      T(a_list_can_exclude),
      T(an_unknown_edit_is_named),
      T(an_unknown_edit_cannot_be_skipped),
      T(an_unknown_parameter_is_named),
      T(a_parameter_has_a_kind),
      T(there_are_so_many_parameters),
      T(an_entry_has_a_name),
      T(an_entry_has_nothing_else),
      T(a_list_is_a_list),
      T(a_list_has_known_keys),
      T(a_parameter_without_default_must_be_given),
      T(the_table_is_sound),
      T(edits_run_in_order),
  };
  return cmocka_run_group_tests_name("passes/edit_plan", tests, NULL, NULL);
}
