/* SPDX-License-Identifier: Apache-2.0 */
/* ImageDecoder: a file's bytes become pixels. */
#include <stddef.h>
#include <string.h>

#include "ir/ops/support.h"

static const op_port decoder_inputs[] = {{.name = "encoded_stream", .doc = "uint8, [bytes]: PNG, BMP, PNM, or TIFF without compression"}};
static const op_port decoder_outputs[] = {{.name = "image", .doc = "uint8, [height, width, 3], or 1 for Grayscale"}};
static const attr_field decoder_fields[] = {FIELD_STRING(imagedecoder_attributes, pixel_format, "RGB", "RGB, BGR or Grayscale")};

static bool is_grey(const node *n) { return strcmp(NPUC_ATTRS(imagedecoder_attributes, n)->pixel_format, "Grayscale") == 0; }

static npuc_status decoder_verify(diag *d, const node *n) {
  const char *format = NPUC_ATTRS(imagedecoder_attributes, n)->pixel_format;
  if (strcmp(format, "RGB") == 0 || strcmp(format, "BGR") == 0 || is_grey(n)) return NPUC_OK;
  return npuc_op_fail(d, n, NPUC_DIAG_E0440, "pixel_format", "\"%s\" given; RGB, BGR or Grayscale wanted", format);
}

static npuc_status decoder_infer(infer_context *c) {
  dtype type = npuc_fact_type(c, 0);
  if (type != DTYPE_NONE && type != DTYPE_U8)
    return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0442, "encoded_stream", "%s given; uint8 wanted", npuc_dtype_name(type));
  c->outputs[0].type = DTYPE_U8;
  npuc_infer_free_shape(c, 3);
  c->outputs[0].shape.dims[2] = is_grey(c->node) ? 1 : 3;
  return NPUC_OK;
}

const op_def npuc_op_imagedecoder = {
    ONNX_OP(imagedecoder, OP_IMAGEDECODER, "ImageDecoder", 20, 20),
    .traits = TRAIT_DATA_SHAPE,
    .summary = "Decodes a picture that is stored without loss.",
    .formula = "image[y, x] = the pixel's red, green, blue; Grayscale: 0.299 red + 0.587 green + 0.114 blue, in 16-bit fixed point",
    PORTS_IN(decoder_inputs, 1),
    PORTS_OUT(decoder_outputs, 1),
    ATTRIBUTES(decoder_fields, imagedecoder_attributes),
    .infer = decoder_infer,
    .verify = decoder_verify,
};
