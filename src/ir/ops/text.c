/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on texts: UTF-8, whose elements are references (tensor/reference.h). */
#include <stddef.h>
#include <string.h>

#include "ir/eval/regex.h"
#include "ir/ops/support.h"

static const op_port normalizer_inputs[] = {{.name = "X", .doc = "strings, [C] or [1, C]"}};
static const op_port normalizer_outputs[] = {{.name = "Y", .doc = "strings, [D] or [1, D]; one empty string when all are stopwords"}};
static const op_port concat_inputs[] = {{.name = "X", .doc = "strings"}, {.name = "Y", .doc = "strings, broadcast against X"}};
static const op_port concat_outputs[] = {{.name = "Z", .doc = "strings"}};
static const op_port split_inputs[] = {{.name = "X", .doc = "strings of any shape S"}};
static const op_port split_outputs[] = {{.name = "Y", .doc = "strings, [S, most parts of a string]; empty ones behind the last part"},
                                        {.name = "Z", .optional = true, .doc = "int64, [S]: how many parts each string has"}};
static const op_port regex_inputs[] = {{.name = "X", .doc = "strings of any shape"}};
static const op_port regex_outputs[] = {{.name = "Y", .doc = "bool, of that shape"}};

static const attr_field normalizer_fields[] = {
    FIELD_STRING(stringnormalizer_attributes, case_change_action, "NONE", "what becomes of letters: LOWER, UPPER or NONE"),
    FIELD_INT(stringnormalizer_attributes, is_case_sensitive, 0, "whether stopwords are told from others by case"),
    FIELD_STRING(stringnormalizer_attributes, locale, NULL, "accepted; letters change case as Unicode has it, in every locale"),
    FIELD_STRINGS(stringnormalizer_attributes, stopwords, "these are left out")};
static const attr_field split_fields[] = {
    FIELD_STRING(stringsplit_attributes, delimiter, NULL, "what stands between parts; absent or empty: runs of white space (ASCII)"),
    {.name = "maxsplit",
     .kind = ATTR_INT,
     .offset = offsetof(stringsplit_attributes, maxsplit),
     .default_int = -1,
     .doc = "most cuts, from the left; no limit when absent"}};
static const attr_field regex_fields[] = {FIELD_STRING(regexfullmatch_attributes, pattern, NULL, "RE2's syntax, see the formula")};

static npuc_status want_text(infer_context *c, int32_t i) {
  dtype type = npuc_fact_type(c, i);
  if (type == DTYPE_NONE || type == DTYPE_STRING) return NPUC_OK;
  return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, c->node->op->inputs[i].name, "%s given; string wanted", npuc_dtype_name(type));
}

static npuc_status normalizer_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  NPUC_TRY(want_text(c, 0));
  c->outputs[0].type = DTYPE_STRING;
  if (!x || x->shape.rank < 0) return NPUC_OK;
  bool row = x->shape.rank == 2 && (!dim_is_number(x->shape.dims[0]) || x->shape.dims[0] == 1);
  if (x->shape.rank != 1 && !row) {
    char text[SHAPE_TEXT];
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "X", "%s given; [C] or [1,C] wanted", npuc_shape_text(c->module, &x->shape, text));
  }
  npuc_infer_free_shape(c, x->shape.rank);
  if (row) c->outputs[0].shape.dims[0] = 1;
  if (NPUC_ATTRS(stringnormalizer_attributes, c->node)->stopwords.count == 0) c->outputs[0].shape = x->shape;
  return NPUC_OK;
}

static npuc_status normalizer_verify(diag *d, const node *n) {
  const stringnormalizer_attributes *a = NPUC_ATTRS(stringnormalizer_attributes, n);
  const char *action = a->case_change_action ? a->case_change_action : "";
  if (strcmp(action, "NONE") != 0 && strcmp(action, "LOWER") != 0 && strcmp(action, "UPPER") != 0)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "case_change_action", "\"%s\" given; LOWER, UPPER or NONE wanted", action);
  return npuc_verify_flag(d, n, "is_case_sensitive", a->is_case_sensitive);
}

static npuc_status concat_infer(infer_context *c) {
  NPUC_TRY(want_text(c, 0));
  NPUC_TRY(want_text(c, 1));
  return npuc_infer_broadcast(c);
}

static npuc_status split_infer(infer_context *c) {
  const fact *x = npuc_fact_input(c, 0);
  NPUC_TRY(want_text(c, 0));
  c->outputs[0].type = DTYPE_STRING;
  if (c->node->n_outputs > 1) c->outputs[1].type = DTYPE_I64;
  if (!x || x->shape.rank < 0) return NPUC_OK;
  if (x->shape.rank == MAX_RANK)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "X", "the parts of rank %d have no axis left", MAX_RANK);
  if (c->node->n_outputs > 1) c->outputs[1].shape = x->shape;
  npuc_infer_free_shape(c, x->shape.rank + 1);
  for (int32_t i = 0; i < x->shape.rank; i++) c->outputs[0].shape.dims[i] = x->shape.dims[i];
  return NPUC_OK;
}

static npuc_status regex_infer(infer_context *c) {
  NPUC_TRY(want_text(c, 0));
  NPUC_TRY(npuc_infer_unary(c));
  c->outputs[0].type = DTYPE_BOOL;
  return NPUC_OK;
}

static npuc_status regex_verify(diag *d, const node *n) {
  const char *pattern = NPUC_ATTRS(regexfullmatch_attributes, n)->pattern, *problem;
  if (!pattern) return npuc_op_fail(d, n, NPUC_DIAG_E0440, "pattern", "the attribute is missing");
  arena *scratch = npuc_arena_create();
  npuc_status status = NPUC_OK;
  if (!npuc_regex_compile(scratch, pattern, &problem))
    status = npuc_op_fail(d, n, NPUC_DIAG_E0443, "pattern", "\"%s\": %s", pattern, problem);
  npuc_arena_destroy(scratch);
  return status;
}

const op_def npuc_op_stringnormalizer = {
    ONNX_OP(stringnormalizer, OP_STRINGNORMALIZER, "StringNormalizer", 10, 10),
    .traits = TRAIT_DATA_SHAPE | TRAIT_TAKES_TEXT,
    .summary = "Leaves out stopwords and changes letters' case.",
    .formula = "Y = (changed(x) for x of X unless x is a stopword)",
    PORTS_IN(normalizer_inputs, 1),
    PORTS_OUT(normalizer_outputs, 1),
    ATTRIBUTES(normalizer_fields, stringnormalizer_attributes),
    .infer = normalizer_infer,
    .verify = normalizer_verify,
};

const op_def npuc_op_stringconcat = {
    ONNX_OP(stringconcat, OP_STRINGCONCAT, "StringConcat", 20, 20),
    .traits = TRAIT_TAKES_TEXT,
    .summary = "Joins strings, element by element.",
    .formula = "Z = X followed by Y",
    PORTS_IN(concat_inputs, 2),
    PORTS_OUT(concat_outputs, 1),
    .infer = concat_infer,
};

const op_def npuc_op_stringsplit = {
    ONNX_OP(stringsplit, OP_STRINGSPLIT, "StringSplit", 20, 20),
    .traits = TRAIT_DATA_SHAPE | TRAIT_TAKES_TEXT,
    .summary = "Cuts each string into parts.",
    .formula = "Y[s, i] = part i of X[s], Z[s] = number of parts",
    PORTS_IN(split_inputs, 1),
    PORTS_OUT(split_outputs, 1),
    ATTRIBUTES(split_fields, stringsplit_attributes),
    .infer = split_infer,
};

const op_def npuc_op_regexfullmatch = {
    ONNX_OP(regexfullmatch, OP_REGEXFULLMATCH, "RegexFullMatch", 20, 20),
    .traits = TRAIT_TAKES_TEXT,
    .summary = "Whether each string as a whole matches a regular expression.",
    .formula =
        "Y = X matches pattern: alternatives, groups, * + ? {m,n}, [classes] with \\d \\w \\s \\D \\W \\S and [:names:], . ^ $ \\A \\z \\b "
        "\\B; "
        "refused: flags other than (?i), \\p, \\C",
    PORTS_IN(regex_inputs, 1),
    PORTS_OUT(regex_outputs, 1),
    ATTRIBUTES(regex_fields, regexfullmatch_attributes),
    .infer = regex_infer,
    .verify = regex_verify,
};
