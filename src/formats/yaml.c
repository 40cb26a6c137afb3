/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml gives the tree of a document, in which an alias is the node it names; here the tree becomes JSON. A node that is named often is copied often, so what comes out is bounded, not only what
 * goes in. */
#include "formats/yaml.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"

enum { MAX_BYTES = 1 << 20, MAX_NODES = 1 << 16, MAX_DEPTH = 64 };

typedef struct reader {
  yaml_document_t document;
  size_t nodes;
  const char *reason; /* of what was refused */
  size_t line;
} reader;

static json_t *refuse(reader *r, const yaml_node_t *n, const char *reason) {
  r->reason = reason;
  r->line = n->start_mark.line + 1;
  return NULL;
}

static bool is_number(const char *text, size_t n, json_t **out_number) {
  char *end = NULL;
  if (n == 0 || !(isdigit((unsigned char)text[0]) || strchr("+-.", text[0])) || strcspn(text, "xXnN") != n) return false;
  errno = 0;
  long long whole = strtoll(text, &end, 10);
  if (end == text + n && errno == 0) {
    *out_number = json_integer(whole);
    return true;
  }
  double real = strtod(text, &end);
  if (end != text + n || !(real - real == 0.0)) return false;
  *out_number = json_real(real);
  return true;
}

/* true, True, TRUE. */
static bool is_word(const char *text, const char *word) {
  bool lower = strcmp(text + 1, word + 1) == 0, upper = true;
  for (size_t i = 0; word[i]; i++) {
    if (tolower((unsigned char)text[i]) != word[i]) return false;
    upper = upper && isupper((unsigned char)text[i]);
  }
  return text[strlen(word)] == '\0' && (lower || upper);
}

static json_t *scalar(reader *r, const yaml_node_t *n) {
  const char *text = (const char *)n->data.scalar.value;
  size_t length = n->data.scalar.length;
  json_t *found = NULL;
  if (n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
    if (length == 0 || strcmp(text, "~") == 0 || is_word(text, "null")) return json_null();
    if (is_word(text, "true")) return json_true();
    if (is_word(text, "false")) return json_false();
    if (is_number(text, length, &found)) return found;
  }
  found = json_stringn(text, length);
  return found ? found : refuse(r, n, "a text is not UTF-8 or holds a NUL");
}

static json_t *convert(reader *r, int index, int depth);

static json_t *sequence(reader *r, const yaml_node_t *n, int depth) {
  json_t *list = json_array();
  for (const yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top; i++) {
    json_t *item = convert(r, *i, depth);
    if (!item) {
      json_decref(list);
      return NULL;
    }
    json_array_append_new(list, item);
  }
  return list;
}

static bool add_member(reader *r, json_t *o, const yaml_node_pair_t *pair, int depth) {
  const yaml_node_t *key = yaml_document_get_node(&r->document, pair->key);
  if (key->type != YAML_SCALAR_NODE) return refuse(r, key, "a key is no scalar") != NULL;
  const char *name = (const char *)key->data.scalar.value;
  if (json_object_get(o, name)) return refuse(r, key, "a key is there twice") != NULL;
  json_t *v = convert(r, pair->value, depth);
  if (v && json_object_set_new(o, name, v) == 0) return true;
  return v ? refuse(r, key, "a key is not UTF-8") != NULL : false;
}

static json_t *mapping(reader *r, const yaml_node_t *n, int depth) {
  json_t *o = json_object();
  for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
    if (add_member(r, o, p, depth)) continue;
    json_decref(o);
    return NULL;
  }
  return o;
}

static bool has_known_tag(const yaml_node_t *n) {
  static const char *const tags[] = {YAML_STR_TAG, YAML_SEQ_TAG, YAML_MAP_TAG};
  for (size_t i = 0; n->tag && i < sizeof tags / sizeof *tags; i++) {
    if (strcmp((const char *)n->tag, tags[i]) == 0) return true;
  }
  return !n->tag;
}

static json_t *convert(reader *r, int index, int depth) {
  const yaml_node_t *n = yaml_document_get_node(&r->document, index);
  if (depth == MAX_DEPTH) return refuse(r, n, "it is nested more than 64 deep");
  if (r->nodes++ == MAX_NODES) return refuse(r, n, "it has more than 65,536 values");
  if (!has_known_tag(n)) return refuse(r, n, "tags have no meaning here");
  switch (n->type) {
    case YAML_SCALAR_NODE:
      return scalar(r, n);
    case YAML_SEQUENCE_NODE:
      return sequence(r, n, depth + 1);
    case YAML_MAPPING_NODE:
      return mapping(r, n, depth + 1);
    case YAML_NO_NODE:
      break;
  }
  return refuse(r, n, "it holds something that is no value");
}

npuc_status npuc_yaml_parse(diag *d, const diag_place *place, diag_code broken, const char *text, size_t n, json_t **out_json) {
  yaml_parser_t parser;
  reader r = {.nodes = 0};
  *out_json = NULL;
  if (n > MAX_BYTES) return npuc_fail(d, broken, place, "it has more than 1 MiB");
  if (!yaml_parser_initialize(&parser)) return npuc_fail(d, NPUC_DIAG_E0002, place, "no memory for a YAML reader");
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
  if (!yaml_parser_load(&parser, &r.document)) {
    npuc_status status =
        npuc_fail(d, broken, place, "line %zu: %s", parser.problem_mark.line + 1, parser.problem ? parser.problem : "no YAML");
    yaml_parser_delete(&parser);
    return status;
  }
  *out_json = yaml_document_get_root_node(&r.document) ? convert(&r, 1, 0) : json_null();
  yaml_document_delete(&r.document);
  yaml_document_t more;
  if (*out_json && yaml_parser_load(&parser, &more)) {
    if (yaml_document_get_root_node(&more)) r.reason = "it holds a second document";
    yaml_document_delete(&more);
  }
  yaml_parser_delete(&parser);
  if (!r.reason) return NPUC_OK;
  json_decref(*out_json);
  *out_json = NULL;
  return npuc_fail(d, broken, place, "line %zu: %s", r.line, r.reason);
}

npuc_status npuc_yaml_read(diag *d, const char *path, diag_code broken, json_t **out_json) {
  mapped_file *file;
  *out_json = NULL;
  NPUC_TRY(npuc_file_map(d, path, &file));
  size_t n = npuc_file_size(file);
  npuc_status status = npuc_yaml_parse(d, &(diag_place){.file = path}, broken, n ? (const char *)npuc_file_bytes(file) : "", n, out_json);
  npuc_file_release(file);
  return status;
}
