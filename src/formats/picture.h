/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures without loss, as red, green and blue of 8 bits: PNG, BMP, PNM (P5, P6), and TIFF in strips without compression. */
#ifndef NPUC_FORMATS_PICTURE_H
#define NPUC_FORMATS_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct picture {
  size_t width, height;
  uint8_t *rgb; /* [height, width, 3], a buffer of npuc_buffer_create */
} picture;

/* False with a sentence in *out_problem: the bytes are broken, of another format, or in a form that is not decoded. */
bool npuc_picture_decode(const uint8_t *bytes, size_t n, picture *out_picture, const char **out_problem);

/* -- inside the decoders -- */
/* Memory for the pixels of a picture of these dims, 1 to 2^24 each; false when they are others or there is none. */
bool npuc_picture_begin(uint64_t width, uint64_t height, picture *p, const char **out_problem);
bool npuc_png_decode(const uint8_t *bytes, size_t n, picture *p, const char **out_problem);
bool npuc_tiff_decode(const uint8_t *bytes, size_t n, picture *p, const char **out_problem);

#endif
