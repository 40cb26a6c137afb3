/* SPDX-License-Identifier: Apache-2.0 */
/* The table of edits, the passes that their patterns make, and their arguments. */
#include <ctype.h>
#include <string.h>

#include "passes/edits/edits.h"

#define PORTS true
#define NO_PORTS false

#define PATTERN_EDIT(symbol, name, concern, parity, summary, ...) extern const pattern_set npuc_edit_##symbol##_patterns;
#define EDIT(symbol, name, concern, parity, ports, summary, ...)
#define PASS_EDIT(name, concern, parity, summary)
#include "passes/edits/edits.def"
#undef PATTERN_EDIT
#undef EDIT
#undef PASS_EDIT

#define PATTERN_EDIT(symbol, name, concern, parity, summary, ...)                \
  npuc_status npuc_pass_##symbol(pass_context *c, graph *g, bool *out_changed) { \
    return npuc_pass_rewrite(c, g, npuc_edit_##symbol##_patterns, out_changed);  \
  }
#define EDIT(symbol, name, concern, parity, ports, summary, ...)
#define PASS_EDIT(name, concern, parity, summary)
#include "passes/edits/edits.def"
#undef PATTERN_EDIT
#undef EDIT
#undef PASS_EDIT

/* The first parameter is an empty one, so that a row without any has an array too. */
#define ROW(name_text, concern_text, parity_value, ports, set, summary_text, ...)                                                  \
  {                                                                                                                                \
    .name = (name_text), .concern = (concern_text), .summary = (summary_text), .parity = (parity_value), .changes_ports = (ports), \
    .patterns = (set), .parameters = (const edit_parameter[]){{.name = NULL}, __VA_ARGS__} + 1,                                    \
    .n_parameters = sizeof((const edit_parameter[]){{.name = NULL}, __VA_ARGS__}) / sizeof(edit_parameter) - 1                     \
  }
static const edit_info table[] = {
#define PATTERN_EDIT(symbol, name, concern, parity, summary, ...) \
  ROW(name, concern, parity, false, &npuc_edit_##symbol##_patterns, summary, __VA_ARGS__),
#define EDIT(symbol, name, concern, parity, ports, summary, ...) ROW(name, concern, parity, ports, NULL, summary, __VA_ARGS__),
#define PASS_EDIT(name, concern, parity, summary) ROW(name, concern, parity, false, NULL, summary, ),
#include "passes/edits/edits.def"
#undef PATTERN_EDIT
#undef EDIT
#undef PASS_EDIT
};

const edit_info *npuc_edit_table(size_t *out_count) {
  *out_count = sizeof table / sizeof *table;
  return table;
}

static char next_letter(const char **p) {
  while (**p == '-' || **p == '_') ++*p;
  return **p ? (char)tolower((unsigned char)*(*p)++) : '\0';
}

static bool same_name(const char *a, const char *b) {
  for (char x = next_letter(&a);; x = next_letter(&a)) {
    if (x != next_letter(&b)) return false;
    if (!x) return true;
  }
}

const edit_info *npuc_edit_find(const char *name) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (same_name(name, table[i].name)) return &table[i];
  }
  return NULL;
}

int64_t npuc_edit_int(const void *arguments, const char *name) { return json_integer_value(json_object_get(arguments, name)); }

double npuc_edit_number(const void *arguments, const char *name) { return json_number_value(json_object_get(arguments, name)); }

const char *npuc_edit_text(const void *arguments, const char *name) { return json_string_value(json_object_get(arguments, name)); }

bool npuc_edit_names(const void *arguments, const char *name, const char *text) {
  const json_t *list = json_object_get(arguments, name);
  size_t n = json_array_size(list);
  for (size_t i = 0; i < n; i++) {
    if (strcmp(json_string_value(json_array_get(list, i)), text) == 0) return true;
  }
  return false;
}

int32_t npuc_edit_ints(const void *arguments, const char *name, int64_t *out, int32_t most) {
  const json_t *list = json_object_get(arguments, name);
  int32_t n = (int32_t)json_array_size(list);
  for (int32_t i = 0; i < n && i < most; i++) out[i] = json_integer_value(json_array_get(list, (size_t)i));
  return n;
}
