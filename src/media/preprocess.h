/* SPDX-License-Identifier: Apache-2.0 */
/* Preprocessing: what turns a stored record (usually bytes of a picture) into a model's float32 input.
 *
 *   SPEC  scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,resize=256,crop=224,layout=nchw     or a JSON file with these keys
 *
 *   y[c] = ((x * scale) - mean[c]) / std[c]     each operation rounded to float32, in this order: numpy's result for float32 arrays
 *
 * scale is computed in double (1/255) and rounded once to float32, as numpy.float32(1/255) is. mean and std have one number, or one a channel.
 * resize=N makes the shorter side N and keeps the proportion (the longer side is rounded down); resize=HxW makes exactly that. Bilinear, half-pixel
 * centres, edges repeated, no antialiasing, on float32 values before scale: source = (target + 0.5) * in/out - 0.5. crop=N or HxW cuts from the
 * centre (offset (in - out) / 2, rounded down). layout says how the model's input is laid out, nchw (the default) or nhwc: that is where
 * the channels are, and a record that has them at the other end is transposed. */
#ifndef NPUC_MEDIA_PREPROCESS_H
#define NPUC_MEDIA_PREPROCESS_H

#include "tensor/tensor.h"

enum { PREPROCESS_MAX_CHANNELS = 64 };

typedef enum image_layout { LAYOUT_NONE, LAYOUT_NCHW, LAYOUT_NHWC } image_layout;

typedef struct image_size {
  int64_t height, width; /* 0, 0: not asked for; height 0: width is the shorter side (resize) */
} image_size;

typedef struct preprocess {
  double scale; /* 1: none */
  int32_t n_mean, n_std;
  double mean[PREPROCESS_MAX_CHANNELS], std[PREPROCESS_MAX_CHANNELS];
  image_size resize, crop;
  image_layout layout;
} preprocess;

/* SPEC in either form. E1110 names the key and the nearest known one. The result lives in the arena. */
npuc_status npuc_preprocess_parse(diag *d, arena *a, const char *text, preprocess **out_preprocess) NPUC_MUST_USE;
/* The inline form with every number written so that it reads back the same; "" when it does nothing. */
char *npuc_preprocess_print(arena *a, const preprocess *p);

/* How records of one shape become inputs of another: decided once, applied to each. */
typedef struct preprocess_plan {
  dtype type;                      /* of the record */
  int64_t channels, height, width; /* of the record as a picture; 1, 1, elements when it is none */
  image_layout from, to;           /* equal: no transposition */
  int64_t resized_height, resized_width, top, left, out_height, out_width;
  bool resamples;
  float scale;
  bool has_scale, has_mean, has_std;
  float mean[PREPROCESS_MAX_CHANNELS], std[PREPROCESS_MAX_CHANNELS]; /* one a channel */
} preprocess_plan;

/* `record` and `wanted` are shapes of one sample, without the batch axis. p may be NULL (conversion alone). E1101 when they do not fit: both are named. */
npuc_status npuc_preprocess_plan(diag *d, const preprocess *p, dtype type, const shape *record, const shape *wanted,
                                 preprocess_plan *out_plan) NPUC_MUST_USE;
/* `record` is of the plan's type and shape, at any alignment; `out` has room for the wanted elements. Thread-safe. */
npuc_status npuc_preprocess_apply(diag *d, const preprocess_plan *plan, const void *record, float *out) NPUC_MUST_USE;

#endif
