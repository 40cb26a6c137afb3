/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes whose dims are numbers or named symbols.
 *
 *   dim >= 0            a number
 *   DIM_UNKNOWN         nothing is known
 *   other negatives     symbol: the (-1 - dim)-th name of the module's symbol table
 * Two equal symbols are the same number at run time; two different ones may be. */
#ifndef NPUC_TENSOR_SHAPE_H
#define NPUC_TENSOR_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_RANK = 8 };
typedef int64_t dim;
#define DIM_UNKNOWN INT64_MIN
static inline bool dim_is_number(dim d) { return d >= 0; }
static inline bool dim_is_symbol(dim d) { return d < 0 && d != DIM_UNKNOWN; }
static inline dim dim_of_symbol(int32_t id) { return -1 - (dim)id; }
static inline int32_t dim_symbol_id(dim d) { return (int32_t)(-1 - d); }

typedef struct shape {
  int32_t rank; /* -1: unknown */
  dim dims[MAX_RANK];
} shape;

#define SHAPE_UNKNOWN ((shape){.rank = -1})
#define SHAPE_SCALAR ((shape){.rank = 0})

bool npuc_shape_equal(const shape *a, const shape *b); /* same rank, dims identical (unknown equals nothing) */
bool npuc_shape_is_static(const shape *s);             /* rank known, every dim a number */
/* Product of the dims; false when not static or when it overflows int64. */
bool npuc_shape_elements(const shape *s, int64_t *out_count);
/* Numpy broadcasting with symbols (equal symbols stay; symbol with 1 gives the symbol; symbol with number n > 1 gives n). false when impossible. */
bool npuc_shape_broadcast(const shape *a, const shape *b, shape *out);
/* Negative axes counted from the end; false when out of [-rank, rank). */
bool npuc_axis_normalize(int64_t axis, int32_t rank, int32_t *out_axis);
/* Row-major strides in elements of a static shape. */
void npuc_shape_strides(const shape *s, int64_t out_strides[MAX_RANK]);

#endif
