/* SPDX-License-Identifier: Apache-2.0 */
/* An edit list: what was asked for, in order, with arguments whose names and kinds are checked when they are read, so that a slip is told with its place and not when half the edits have run. */
#include <stdlib.h>
#include <string.h>

#include "formats/yaml.h"
#include "passes/edits/edits.h"

edit_plan *npuc_edit_plan_create(void) {
  size_t n;
  (void)npuc_edit_table(&n);
  edit_plan *p = npuc_xcalloc(1, sizeof *p);
  p->skipped = npuc_xcalloc(n, sizeof *p->skipped);
  return p;
}

void npuc_edit_plan_destroy(edit_plan *p) {
  if (!p) return;
  for (size_t i = 0; i < p->n; i++) json_decref(p->steps[i].arguments);
  free(p->steps);
  free(p->skipped);
  free(p);
}

/* -- slips -- */

static npuc_status unknown_edit(diag *d, const diag_place *place, const char *name) {
  size_t n;
  const edit_info *edits = npuc_edit_table(&n);
  const char **names = npuc_xcalloc(n, sizeof *names);
  for (size_t i = 0; i < n; i++) names[i] = edits[i].name;
  const char *near = npuc_nearest(name, names, n);
  free(names);
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0507, place, "there is no edit named \"%s\"", name);
  if (near) npuc_fix(d, "did you mean %s?", near);
  npuc_fix(d, "npuc edit --list");
  return status;
}

static npuc_status bad_argument(diag *d, const diag_place *place, const edit_info *e, const edit_parameter *p) {
  static const char *const kinds[] = {[EDIT_INT] = "a whole number",
                                      [EDIT_NUMBER] = "a number",
                                      [EDIT_TEXT] = "a text",
                                      [EDIT_INTS] = "whole numbers",
                                      [EDIT_TEXTS] = "a list of texts"};
  return npuc_fail(d, NPUC_DIAG_E0508, place, "%s: %s is %s (%s)", e->name, p->name, kinds[p->kind], p->doc);
}

static npuc_status unknown_parameter(diag *d, const diag_place *place, const edit_info *e, const char *key) {
  const char **names = npuc_xcalloc(e->n_parameters + 1, sizeof *names);
  for (size_t i = 0; i < e->n_parameters; i++) names[i] = e->parameters[i].name;
  const char *near = npuc_nearest(key, names, e->n_parameters);
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0508, place, "%s has no parameter named \"%s\"", e->name, key);
  if (near || e->n_parameters) npuc_fix(d, "did you mean %s?", near ? near : names[0]);
  free(names);
  return status;
}

/* -- arguments -- */

static bool all_are(const json_t *list, bool (*is)(const json_t *v)) {
  size_t i;
  json_t *v;
  json_array_foreach(list, i, v) {
    if (!is(v)) return false;
  }
  return json_is_array(list);
}
static bool is_text(const json_t *v) { return json_is_string(v); }
static bool is_int(const json_t *v) { return json_is_integer(v); }

/* One value stands for a list of it; a new reference, or NULL where the kind is wrong. */
static json_t *of_kind(edit_parameter_kind kind, json_t *v) {
  switch (kind) {
    case EDIT_INT:
      return json_is_integer(v) ? json_incref(v) : NULL;
    case EDIT_NUMBER:
      return json_is_number(v) ? json_incref(v) : NULL;
    case EDIT_TEXT:
      return json_is_string(v) ? json_incref(v) : NULL;
    case EDIT_INTS:
      return all_are(v, is_int) ? json_incref(v) : json_is_integer(v) ? json_pack("[O]", v) : NULL;
    case EDIT_TEXTS:
      return all_are(v, is_text) ? json_incref(v) : json_is_string(v) ? json_pack("[O]", v) : NULL;
  }
  return NULL;
}

static npuc_status set_argument(diag *d, const diag_place *place, const edit_info *e, size_t index, json_t *v, json_t *out) {
  const edit_parameter *p = &e->parameters[index];
  json_t *typed = of_kind(p->kind, v);
  if (!typed) return bad_argument(d, place, e, p);
  json_object_set_new(out, p->name, typed);
  return NPUC_OK;
}

/* In the order of the table. torq-tools spells a list's elements as arguments of their own: ops "Add", "Mul". */
static npuc_status positional(diag *d, const diag_place *place, const edit_info *e, json_t *list, json_t *out) {
  size_t n = json_array_size(list);
  if (e->n_parameters && n > 1 && e->parameters[0].kind == EDIT_TEXTS && all_are(list, is_text))
    return set_argument(d, place, e, 0, list, out);
  if (e->n_parameters && n > 1 && e->parameters[0].kind == EDIT_INTS && all_are(list, is_int))
    return set_argument(d, place, e, 0, list, out);
  if (n > e->n_parameters)
    return npuc_fail(d, NPUC_DIAG_E0508, place, "%s has %zu parameters, and %zu arguments are given", e->name, e->n_parameters, n);
  for (size_t i = 0; i < n; i++) NPUC_TRY(set_argument(d, place, e, i, json_array_get(list, i), out));
  return NPUC_OK;
}

static npuc_status named(diag *d, const diag_place *place, const edit_info *e, json_t *object, json_t *out) {
  const char *key;
  json_t *v;
  json_object_foreach(object, key, v) {
    size_t i = 0;
    while (i < e->n_parameters && strcmp(e->parameters[i].name, key) != 0) i++;
    if (i == e->n_parameters) return unknown_parameter(d, place, e, key);
    NPUC_TRY(set_argument(d, place, e, i, v, out));
  }
  return NPUC_OK;
}

static npuc_status arguments_of(diag *d, const diag_place *place, const edit_info *e, json_t *given, json_t *out) {
  if (!given || json_is_null(given)) return NPUC_OK;
  if (json_is_object(given)) return named(d, place, e, given, out);
  if (json_is_array(given)) return positional(d, place, e, given, out);
  json_t *one = json_pack("[O]", given);
  npuc_status status = positional(d, place, e, one, out);
  json_decref(one);
  return status;
}

/* -- steps -- */

static edit_step *step_of(edit_plan *p, const edit_info *e) {
  for (size_t i = 0; i < p->n; i++) {
    if (p->steps[i].edit == e) return &p->steps[i];
  }
  if (p->n == p->capacity) {
    p->capacity = 2 * p->capacity + 8;
    p->steps = npuc_xrealloc(p->steps, p->capacity * sizeof *p->steps);
  }
  p->steps[p->n] = (edit_step){.edit = e, .arguments = json_object()};
  return &p->steps[p->n++];
}

static npuc_status add(diag *d, edit_plan *p, const diag_place *place, const char *name, json_t *given) {
  const edit_info *e = npuc_edit_find(name);
  if (!e) return unknown_edit(d, place, name);
  json_t *arguments = json_object();
  npuc_status status = arguments_of(d, place, e, given, arguments);
  edit_step *step = step_of(p, e);
  if (status == NPUC_OK && json_object_size(arguments)) {
    json_decref(step->arguments);
    step->arguments = json_incref(arguments);
  }
  json_decref(arguments);
  return status;
}

static npuc_status skip(diag *d, edit_plan *p, const diag_place *place, const char *name) {
  size_t n;
  const edit_info *e = npuc_edit_find(name), *table = npuc_edit_table(&n);
  if (!e) return unknown_edit(d, place, name);
  p->skipped[e - table] = true;
  return NPUC_OK;
}

npuc_status npuc_edit_plan_skip(diag *d, edit_plan *p, const char *option, const char *name) {
  return skip(d, p, &(diag_place){.attribute = option}, name);
}

/* "key=value,key=value"; a piece without '=' goes on with the list before it. */
static json_t *pairs(diag *d, const diag_place *place, const char *text) {
  json_t *o = json_object();
  json_t *list = NULL;
  for (const char *p = text; *p;) {
    size_t n = strcspn(p, ","), key = strcspn(p, "=");
    json_t *v = NULL;
    const char *from = key < n ? p + key + 1 : p;
    if ((key >= n && !list) || npuc_yaml_parse(d, place, NPUC_DIAG_E0508, from, (size_t)(p + n - from), &v) != NPUC_OK) {
      json_decref(o);
      return NULL;
    }
    if (key < n) json_object_setn_new_nocheck(o, p, key, list = json_array());
    json_array_append_new(list, v);
    p += n + (p[n] == ',');
  }
  const char *name;
  void *next;
  json_object_foreach_safe(o, next, name, list) {
    if (json_array_size(list) == 1) json_object_set(o, name, json_array_get(list, 0));
  }
  return o;
}

npuc_status npuc_edit_plan_add(diag *d, edit_plan *p, const char *option, const char *text) {
  diag_place place = {.attribute = option};
  size_t n = strcspn(text, ":");
  char *name = npuc_xcalloc(n + 1, 1);
  memcpy(name, text, n);
  const char *rest = text[n] ? text + n + 1 : "";
  json_t *given = NULL;
  npuc_status status = NPUC_OK;
  if (*rest && *rest != '[' && strchr(rest, '=')) {
    given = pairs(d, &place, rest);
    if (!given) status = npuc_fail(d, NPUC_DIAG_E0508, &place, "%s: arguments are written key=value,key=value, not \"%s\"", name, rest);
  } else if (*rest) {
    status = npuc_yaml_parse(d, &place, NPUC_DIAG_E0508, rest, strlen(rest), &given);
  }
  if (status == NPUC_OK) status = add(d, p, &place, name, given);
  json_decref(given);
  free(name);
  return status;
}

static npuc_status add_entry(diag *d, edit_plan *p, const diag_place *place, const json_t *entry) {
  if (json_is_string(entry)) return add(d, p, place, json_string_value(entry), NULL);
  const char *name = json_string_value(json_object_get(entry, "name")), *key;
  json_t *v;
  if (!name) return npuc_fail(d, NPUC_DIAG_E0509, place, "an entry is a name or {name, args}");
  json_object_foreach((json_t *)(uintptr_t)entry, key, v) {
    if (strcmp(key, "name") != 0 && strcmp(key, "args") != 0)
      return npuc_fail(d, NPUC_DIAG_E0509, place, "%s: an entry has a name and args, and no \"%s\"", name, key);
  }
  return add(d, p, place, name, json_object_get(entry, "args"));
}

static npuc_status each(diag *d, edit_plan *p, const diag_place *place, const json_t *list, bool skips) {
  size_t i;
  json_t *entry;
  if (!json_is_array(list)) return npuc_fail(d, NPUC_DIAG_E0509, place, "a list of edits is wanted");
  json_array_foreach(list, i, entry) {
    const char *name = json_is_string(entry) ? json_string_value(entry) : json_string_value(json_object_get(entry, "name"));
    if (skips && !name) return npuc_fail(d, NPUC_DIAG_E0509, place, "an entry of excludes is a name");
    NPUC_TRY(skips ? skip(d, p, place, name) : add_entry(d, p, place, entry));
  }
  return NPUC_OK;
}

npuc_status npuc_edit_plan_add_json(diag *d, edit_plan *p, const diag_place *place, const json_t *list) {
  const char *key;
  json_t *v;
  if (!json_is_object(list)) return json_is_null(list) ? NPUC_OK : each(d, p, place, list, false);
  json_object_foreach((json_t *)(uintptr_t)list, key, v) {
    bool skips = strcmp(key, "excludes") == 0;
    if (!skips && strcmp(key, "edits") != 0 && strcmp(key, "graph_edits") != 0)
      return npuc_fail(d, NPUC_DIAG_E0509, place, "an edit list has edits (or graph_edits) and excludes, and no \"%s\"", key);
    NPUC_TRY(each(d, p, place, v, skips));
  }
  return NPUC_OK;
}

npuc_status npuc_edit_plan_read(diag *d, edit_plan *p, const char *path) {
  json_t *list;
  NPUC_TRY(npuc_yaml_read(d, path, NPUC_DIAG_E0509, &list));
  npuc_status status = npuc_edit_plan_add_json(d, p, &(diag_place){.file = path}, list);
  json_decref(list);
  return status;
}

/* Defaults are JSON texts of the table, so they are there in the same form as what was given. */
static npuc_status fill(diag *d, const edit_step *s) {
  for (size_t i = 0; i < s->edit->n_parameters; i++) {
    const edit_parameter *p = &s->edit->parameters[i];
    if (json_object_get(s->arguments, p->name)) continue;
    if (!p->fallback) {
      npuc_status status =
          npuc_fail(d, NPUC_DIAG_E0508, &(diag_place){.attribute = p->name}, "%s wants %s: %s", s->edit->name, p->name, p->doc);
      npuc_fix(d, "--edit %s:%s=...", s->edit->name, p->name);
      return status;
    }
    json_object_set_new(s->arguments, p->name, json_loads(p->fallback, JSON_DECODE_ANY, NULL));
  }
  return NPUC_OK;
}

npuc_status npuc_edit_plan_finish(diag *d, edit_plan *p) {
  size_t kept = 0, n;
  const edit_info *table = npuc_edit_table(&n);
  for (size_t i = 0; i < p->n; i++) {
    if (p->skipped[p->steps[i].edit - table]) {
      json_decref(p->steps[i].arguments);
    } else {
      p->steps[kept++] = p->steps[i];
    }
  }
  p->n = kept;
  for (size_t i = 0; i < p->n; i++) NPUC_TRY(fill(d, &p->steps[i]));
  return NPUC_OK;
}
