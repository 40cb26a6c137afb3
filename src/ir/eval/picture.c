/* SPDX-License-Identifier: Apache-2.0 */
/* ImageDecoder: what formats/picture.h decodes, in the order of channels that is asked for. */
#include <string.h>

#include "formats/picture.h"
#include "ir/eval/eval.h"

/* ITU-R 601 in 16-bit fixed point, rounded, as libraries of pictures have it. */
static uint8_t grey_of(const uint8_t *rgb) { return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16); }

static void put(const picture *p, const char *format, uint8_t *to) {
  for (size_t i = 0; i < p->width * p->height; i++) {
    const uint8_t *rgb = p->rgb + 3 * i;
    if (format[0] == 'G') {
      to[i] = grey_of(rgb);
      continue;
    }
    for (size_t k = 0; k < 3; k++) to[3 * i + k] = rgb[format[0] == 'B' ? 2 - k : k];
  }
}

npuc_status npuc_eval_imagedecoder(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const char *format = NPUC_ATTRS(imagedecoder_attributes, c->node)->pixel_format, *problem;
  picture p;
  if (!npuc_picture_decode(inputs[0]->data, inputs[0]->bytes, &p, &problem)) {
    diag_place place = npuc_eval_place(c);
    npuc_status status = npuc_fail(c->d, NPUC_DIAG_E0605, &place, "the bytes are not decoded: %s", problem);
    npuc_fix(c->d, "decode the picture before the network, and give it the pixels");
    return status;
  }
  shape s = {.rank = 3, .dims = {(int64_t)p.height, (int64_t)p.width, format[0] == 'G' ? 1 : 3}};
  npuc_status status = npuc_eval_allocate(c, outputs, 0, &s);
  if (status == NPUC_OK) put(&p, format, outputs[0]->data);
  npuc_buffer_destroy(p.rgb);
  return status;
}
