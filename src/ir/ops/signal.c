/* SPDX-License-Identifier: Apache-2.0 */
/* HannWindow, HammingWindow, BlackmanWindow. */
#include <stddef.h>

#include "ir/ops/support.h"

static const op_port size_input[] = {{.name = "size", .doc = "int32 or int64 scalar: number of elements"}};
static const op_port window_output[] = {{.name = "output", .doc = "[size]"}};
static const attr_field window_fields[] = {
    FIELD_INT(signal_window_attributes, output_datatype, 1, "TensorProto.DataType of the output"),
    FIELD_INT(signal_window_attributes, periodic, 1, "1: N = size; 0: N = size - 1, symmetric"),
};

static npuc_status window_infer(infer_context *c) {
  int64_t type = NPUC_ATTRS(signal_window_attributes, c->node)->output_datatype;
  const fact *size = npuc_fact_input(c, 0);
  if (type <= DTYPE_NONE || type >= DTYPE_END || npuc_dtype_bits((dtype)type) == 0)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "output_datatype", "%lld is not a number type", (long long)type);
  c->outputs[0].type = (dtype)type;
  npuc_infer_free_shape(c, 1);
  elements e;
  if (!npuc_elements_read(size, &e) || e.count != 1) return NPUC_OK;
  if (e.at[0].is_number && e.at[0].number < 0)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0440, "size", "%lld given; 0 or more wanted", (long long)e.at[0].number);
  dim length = npuc_element_dim(&e.at[0]);
  if (length != DIM_UNKNOWN) c->outputs[0].shape.dims[0] = length;
  return NPUC_OK;
}

static npuc_status window_verify(diag *d, const node *n) {
  return npuc_verify_flag(d, n, "periodic", NPUC_ATTRS(signal_window_attributes, n)->periodic);
}

#define WINDOW(op_symbol, op_enum, name, text, rule)       \
  const op_def npuc_op_##op_symbol = {                     \
      ONNX_OP(op_symbol, op_enum, name, 17, 17),           \
      .summary = text,                                     \
      .formula = rule,                                     \
      PORTS_IN(size_input, 1),                             \
      PORTS_OUT(window_output, 1),                         \
      ATTRIBUTES(window_fields, signal_window_attributes), \
      .infer = window_infer,                               \
      .verify = window_verify,                             \
  }

WINDOW(hannwindow, OP_HANNWINDOW, "HannWindow", "Hann window.", "output[i] = 0.5 - 0.5 cos(2 pi i / N)");
WINDOW(hammingwindow, OP_HAMMINGWINDOW, "HammingWindow", "Hamming window.", "output[i] = 25/46 - 21/46 cos(2 pi i / N)");
WINDOW(blackmanwindow, OP_BLACKMANWINDOW, "BlackmanWindow", "Blackman window.",
       "output[i] = 0.42 - 0.5 cos(2 pi i / N) + 0.08 cos(4 pi i / N)");
