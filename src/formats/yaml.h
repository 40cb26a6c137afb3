/* SPDX-License-Identifier: Apache-2.0 */
/* YAML as JSON, by libyaml: lists of edits, and settings that people write by hand. JSON is read by the same reader. */
#ifndef NPUC_FORMATS_YAML_H
#define NPUC_FORMATS_YAML_H

#include "formats/json.h"

/* One document of at most 1 MiB, 65,536 nodes and 64 levels; *out_json is JSON null for an empty one. Plain scalars are numbers, true, false, null (or ~) by YAML's core schema, else texts; keys
 * that are there twice, tags, and keys that are no scalars are refused. What is no YAML is `broken`, with line and reason; `place` says where the text is from. json_decref. */
npuc_status npuc_yaml_parse(diag *d, const diag_place *place, diag_code broken, const char *text, size_t n,
                            json_t **out_json) NPUC_MUST_USE;
/* The same from a file. */
npuc_status npuc_yaml_read(diag *d, const char *path, diag_code broken, json_t **out_json) NPUC_MUST_USE;

#endif
