/* SPDX-License-Identifier: Apache-2.0 */
/* Edits: passes that are asked for by name, with arguments. edits.def has one row each; this is the table, and how an edit list is read:
 *
 *   defaults (the target's)   <   a file (YAML or JSON)   <   the command line
 *
 * An edit that is given again keeps the place it has and takes the later arguments (a bare name takes none away); a new one stands at the end; what is skipped is removed last. */
#ifndef NPUC_PASSES_EDITS_EDITS_H
#define NPUC_PASSES_EDITS_EDITS_H

#include "formats/json.h"
#include "passes/pipelines.h"

typedef enum edit_parameter_kind { EDIT_INT, EDIT_NUMBER, EDIT_TEXT, EDIT_INTS, EDIT_TEXTS } edit_parameter_kind;

typedef struct edit_parameter {
  const char *name;
  edit_parameter_kind kind;
  const char *fallback; /* JSON text; NULL: must be given */
  const char *doc;
} edit_parameter;

typedef struct edit_info {
  const char *name, *concern, *summary;
  parity parity;
  bool changes_ports;
  const pattern_set *patterns; /* NULL: a function */
  const edit_parameter *parameters;
  size_t n_parameters;
} edit_info;

const edit_info *npuc_edit_table(size_t *out_count);
/* Case, - and _ do not matter; NULL when there is none. */
const edit_info *npuc_edit_find(const char *name);

typedef struct edit_step {
  const edit_info *edit;
  json_t *arguments; /* an object with every parameter */
} edit_step;

typedef struct edit_plan {
  edit_step *steps;
  size_t n, capacity;
  bool *skipped; /* by place in the table */
} edit_plan;

edit_plan *npuc_edit_plan_create(void);
void npuc_edit_plan_destroy(edit_plan *p);
/* "NAME", "NAME:key=value,key=value" or torq-tools' "NAME:[value, value]". `option` stands in messages. */
npuc_status npuc_edit_plan_add(diag *d, edit_plan *p, const char *option, const char *text) NPUC_MUST_USE;
/* A list, or an object with `edits` (or `graph_edits`) and `excludes`; entries are names or {name, args}, args a list, an object or one value. */
npuc_status npuc_edit_plan_add_json(diag *d, edit_plan *p, const diag_place *place, const json_t *list) NPUC_MUST_USE;
npuc_status npuc_edit_plan_read(diag *d, edit_plan *p, const char *path) NPUC_MUST_USE;
npuc_status npuc_edit_plan_skip(diag *d, edit_plan *p, const char *option, const char *name) NPUC_MUST_USE;
/* Removes what is skipped and fills in defaults: E0508 where a parameter without one was not given. */
npuc_status npuc_edit_plan_finish(diag *d, edit_plan *p) NPUC_MUST_USE;

/* Runs them over the main part, in order; shapes are inferred before each, the graph is verified after each. Names go from one edit to the next as in pipelines. */
npuc_status npuc_edits_run(diag *d, arena *a, module *m, const edit_plan *p, const pass_options *options,
                           pass_report *out_report) NPUC_MUST_USE;

/* -- for edits: arguments, from pass_context.arguments or match.parameters -- */
int64_t npuc_edit_int(const void *arguments, const char *name);
double npuc_edit_number(const void *arguments, const char *name);
const char *npuc_edit_text(const void *arguments, const char *name);
/* Whether `text` is one of a parameter's texts. */
bool npuc_edit_names(const void *arguments, const char *name, const char *text);
int32_t npuc_edit_ints(const void *arguments, const char *name, int64_t *out, int32_t most);

#endif
