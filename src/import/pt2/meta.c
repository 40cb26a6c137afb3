/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes of the program's tensors. A symbolic size is written as SymPy's text: "Symbol('s77', positive=True, integer=True)", or an
 * expression of such. A single symbol becomes the module's symbol of that name; a whole expression becomes a symbol of its own, named by the
 * expression: equal texts are equal numbers, and the static stage computes them from their operators. */
#include <stdio.h>
#include <string.h>

#include "import/pt2/source.h"

/* ScalarType of torch/_export/serde/schema.py */
bool npuc_pt2_dtype(int64_t number, dtype *out_type) {
  static const struct {
    int64_t number;
    dtype type;
  } types[] = {{1, DTYPE_U8},          {2, DTYPE_I8},          {3, DTYPE_I16},     {4, DTYPE_I32},       {5, DTYPE_I64},
               {6, DTYPE_F16},         {7, DTYPE_F32},         {8, DTYPE_F64},     {10, DTYPE_C64},      {11, DTYPE_C128},
               {12, DTYPE_BOOL},       {13, DTYPE_BF16},       {28, DTYPE_U16},    {29, DTYPE_F8E4M3FN}, {30, DTYPE_F8E5M2},
               {31, DTYPE_F8E4M3FNUZ}, {32, DTYPE_F8E5M2FNUZ}, {33, DTYPE_F8E8M0}, {34, DTYPE_U32},      {35, DTYPE_U64}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (types[i].number != number) continue;
    *out_type = types[i].type;
    return true;
  }
  return false;
}

/* "Symbol('s77', ...)" -> "s77" in an expression's text; spaces go. */
static const char *plain_expression(pt2_source *s, const char *text) {
  char *out = NPUC_NEW_ARRAY(s->scratch, strlen(text) + 1, char);
  size_t n = 0;
  while (*text) {
    if (strncmp(text, "Symbol('", 8) == 0) {
      text += 8;
      while (*text && *text != '\'') out[n++] = *text++;
      while (*text && *text != ')') text++;
      if (*text) text++;
    } else {
      if (*text != ' ') out[n++] = *text;
      text++;
    }
  }
  out[n] = '\0';
  return out;
}

npuc_status npuc_pt2_dim(pt2_source *s, json_t *size, dim *out_dim) {
  json_t *number = json_object_get(size, "as_int");
  const char *text = json_string_value(json_object_get(json_object_get(size, "as_expr"), "expr_str"));
  if (json_is_integer(number) && json_integer_value(number) >= 0) {
    *out_dim = (dim)json_integer_value(number);
    return NPUC_OK;
  }
  if (!text) return npuc_fail(s->d, NPUC_DIAG_E0332, NULL, "a size in the program is neither a number nor an expression");
  *out_dim = npuc_module_symbol(s->m, plain_expression(s, text));
  return NPUC_OK;
}

npuc_status npuc_pt2_meta(pt2_source *s, const char *name, pt2_meta *out_meta) {
  json_t *meta = json_object_get(s->metas, name), *sizes = json_object_get(meta, "sizes");
  diag_place place = {.part = s->g->name, .node = name};
  if (!json_is_object(meta) || !json_is_array(sizes))
    return npuc_fail(s->d, NPUC_DIAG_E0332, &place, "the program says neither type nor shape of this tensor");
  if (!npuc_pt2_dtype((int64_t)json_integer_value(json_object_get(meta, "dtype")), &out_meta->type)) {
    return npuc_fail(s->d, NPUC_DIAG_E0334, &place, "the tensor's element type (number %lld of torch's ScalarType) is none that npuc reads",
                     (long long)json_integer_value(json_object_get(meta, "dtype")));
  }
  if (npuc_dtype_kind(out_meta->type) == KIND_COMPLEX) {
    npuc_status status = npuc_fail(s->d, NPUC_DIAG_E0334, &place, "the tensor is complex (%s); NPUs and npuc compute with real numbers",
                                   npuc_dtype_name(out_meta->type));
    npuc_fix(s->d, "write the model with real and imaginary parts apart (torch.view_as_real, two tensors)");
    return status;
  }
  size_t n = json_array_size(sizes);
  if (n > MAX_RANK) return npuc_fail(s->d, NPUC_DIAG_E0334, &place, "the tensor has %zu axes; at most %d are read", n, MAX_RANK);
  out_meta->shape.rank = (int32_t)n;
  for (size_t i = 0; i < n; i++) NPUC_TRY(npuc_pt2_dim(s, json_array_get(sizes, i), &out_meta->shape.dims[i]));
  return NPUC_OK;
}

const char *npuc_pt2_shape_text(pt2_source *s, const shape *dims, char *out, size_t n) {
  size_t at = (size_t)snprintf(out, n, "[");
  for (int32_t i = 0; i < dims->rank && at < n; i++) {
    dim d = dims->dims[i];
    const char *comma = i ? ", " : "";
    at += (size_t)(dim_is_number(d)   ? snprintf(out + at, n - at, "%s%lld", comma, (long long)d)
                   : dim_is_symbol(d) ? snprintf(out + at, n - at, "%s%s", comma, npuc_module_symbol_name(s->m, d))
                                      : snprintf(out + at, n - at, "%s?", comma));
  }
  if (at < n) snprintf(out + at, n - at, dims->rank < 0 ? "?]" : "]");
  return out;
}
