/* SPDX-License-Identifier: Apache-2.0 */
/* Function bodies of the integer operators: ONNX text, `Name <attributes> (inputs) => (outputs) { ... }`, opset 21. */
#ifndef NPUC_IR_OPS_INTEGER_BODIES_H
#define NPUC_IR_OPS_INTEGER_BODIES_H

extern const char npuc_body_qconv[];
extern const char npuc_body_qgemm[];
extern const char npuc_body_qadd[];
extern const char npuc_body_qmul[];
extern const char npuc_body_requantize[];
extern const char npuc_body_qglobalaveragepool[];
extern const char npuc_body_lookup[];
extern const char npuc_body_qaveragepool[];
extern const char npuc_body_qsoftmax[];
extern const char npuc_body_qlogsoftmax[];
extern const char npuc_body_qnormalize[];

#endif
