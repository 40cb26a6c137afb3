/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of 256 entries: functions of one byte, exponentials and logarithms of softmax. By our own exp and log, so that the bytes do not depend on a C
 * library. */
#ifndef NPUC_QUANT_TABLES_H
#define NPUC_QUANT_TABLES_H

#include "ir/graph.h"
#include "quant/range.h"

/* e^v and ln v to about 1e-15 relative, by basic operations alone. */
double npuc_exact_exp(double v);
double npuc_exact_log(double v);

/* One entry for each byte of x in the order of Lookup's index. False when the operator is no function of one value. */
bool npuc_table_unary(const node *n, const qparams *x, const qparams *y, int32_t out_table[256]);
void npuc_table_softmax(float x_scale, uint16_t out_table[256]);

typedef struct log_tables {
  int32_t logs[256], m[2], s;
} log_tables;
/* bits: 31 or 15. False when y's scale is far too small. */
bool npuc_table_logsoftmax(float x_scale, float y_scale, int32_t bits, log_tables *out);

#endif
