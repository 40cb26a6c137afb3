/* SPDX-License-Identifier: Apache-2.0 */
/* Declares what aten.def promises: a missing translator is a link error. */
#ifndef NPUC_IMPORT_PT2_ATEN_H
#define NPUC_IMPORT_PT2_ATEN_H

#include "import/pt2/source.h"

#define ATEN(name, translator, onnx) pt2_translator npuc_aten_##translator;
#include "import/pt2/aten.def"
#undef ATEN

/* -- aten_view.c -- */
pt2_view npuc_pt2_slice_view(int64_t axis, pt2_int start, pt2_int end, int64_t step);
npuc_status npuc_pt2_slice_args(pt2_node *n, const value *x, pt2_view *out_view) NPUC_MUST_USE;
npuc_status npuc_pt2_select_view(pt2_node *n, int64_t axis, pt2_int index, pt2_view *out_view) NPUC_MUST_USE;

/* -- aten_fourier.c -- */
bool npuc_pt2_is_complex(pt2_node *n, const char *name);
npuc_status npuc_pt2_complex_abs(pt2_node *n) NPUC_MUST_USE;
/* Of conversions: whether the argument dtype is complex64; a float32 tensor with imaginary parts of zero. */
bool npuc_pt2_becomes_complex(pt2_node *n);
npuc_status npuc_pt2_to_complex(pt2_node *n) NPUC_MUST_USE;

/* -- aten_mask.c -- */
/* x[mask]: the elements (behind the mask's axes: the parts) where it is true. */
npuc_status npuc_pt2_choose(pt2_node *n, value *x, value *mask, value **out) NPUC_MUST_USE;

/* -- aten_binary.c -- */
/* Two operands in their common type; either may be a number (pow, where), not both. */
typedef struct npuc_pt2_pair {
  value *a, *b;
  dtype type;
} npuc_pt2_pair;
npuc_status npuc_pt2_read_pair(pt2_node *n, const char *first, const char *second, bool to_float, npuc_pt2_pair *out_pair) NPUC_MUST_USE;

#endif
