/* SPDX-License-Identifier: Apache-2.0 */
/* bench_kernels: multiply-accumulates a second of the convolution kernels on the shapes of small networks, one thread, best of several runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "kernels/conv.h"
#include "kernels/conv_i8.h"

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static kernel_window square(int64_t batch, int64_t channels, int64_t out_channels, int64_t group, int64_t size, int64_t kernel,
                            int64_t stride) {
  int64_t out = (size + 2 * (kernel / 2) - kernel) / stride + 1, pad = kernel / 2;
  return (kernel_window){.batch = batch,
                         .channels = channels,
                         .out_channels = out_channels,
                         .group = group,
                         .in = {1, size, size},
                         .out = {1, out, out},
                         .kernel = {1, kernel, kernel},
                         .stride = {1, stride, stride},
                         .begin = {0, pad, pad},
                         .end = {0, pad, pad},
                         .dilation = {1, 1, 1}};
}

typedef struct buffers {
  void *x, *w, *packed, *y, *scratch;
  int32_t *parameters;
} buffers;

/* As inside the executor: blocked images, x with the border that the window needs, and planar where it is the network's input. */
static conv_f32 f32_conv(const kernel_set *kernels, const kernel_window *g) {
  conv_f32 conv = {.g = *g, .clip_lo = 0.0f, .clip_hi = INFINITY};
  image_border border = npuc_conv_border(g);
  bool fits = g->channels == 3 ? npuc_image_planar(g->channels, g->in, &border, &conv.x_image)
                               : npuc_image_blocked(g->channels, kernels->lanes, g->in, &border, &conv.x_image);
  if (!fits || !npuc_image_blocked(g->out_channels, kernels->lanes, g->out, NULL, &conv.y_image)) exit(1);
  return conv;
}

static void run(const kernel_set *kernels, const kernel_window *g, const buffers *b, int is_i8) {
  if (is_i8) {
    int32_t *p = b->parameters;
    conv_i8 conv = {.g = *g,
                    .x_last = true,
                    .y_last = true,
                    .x = {.data = b->x, .zero_point = 3},
                    .packed = b->packed,
                    .y = {.data = b->y, .lo = 0, .hi = 255},
                    .scale = {.bias = p, .m = p + g->out_channels, .s = p + 2 * g->out_channels}};
    npuc_conv_i8(kernels, NULL, &conv, b->scratch);
  } else {
    conv_f32 conv = f32_conv(kernels, g);
    conv.x = b->x;
    conv.packed = b->packed;
    conv.y = b->y;
    npuc_conv_f32(kernels, NULL, &conv, b->scratch);
  }
}

static void measure(const kernel_set *kernels, const char *name, kernel_window g, int is_i8) {
  int64_t taps = g.channels / g.group * window_volume(g.kernel), outputs = g.batch * g.out_channels * window_volume(g.out);
  conv_weights weights = conv_weights_of(kernels, &g);
  const conv_i8 shape = {.g = g, .x_last = true, .y_last = true};
  conv_f32 conv = f32_conv(kernels, &g);
  size_t scratch, packed = is_i8 ? npuc_conv_i8_packed_elements(kernels, &g) : npuc_conv_f32_packed_elements(&weights);
  if (!(is_i8 ? npuc_conv_i8_scratch(kernels, &shape, 1, &scratch) : npuc_conv_f32_scratch(kernels, &conv, 1, &scratch))) return;
  size_t x = (size_t)(g.batch * conv.x_image.sample), y = (size_t)(g.batch * conv.y_image.sample), w = (size_t)(g.out_channels * taps);
  buffers b = {npuc_buffer_create(x * 4), npuc_buffer_create(w * 4),   npuc_buffer_create(packed * 4),
               npuc_buffer_create(y * 4), npuc_buffer_create(scratch), npuc_buffer_create((size_t)g.out_channels * 12)};
  for (int64_t o = 0; o < g.out_channels; o++) {
    b.parameters[g.out_channels + o] = 25000;
    b.parameters[2 * g.out_channels + o] = 24;
  }
  if (is_i8) {
    npuc_conv_i8_pack(kernels, &g, b.w, b.packed);
  } else {
    npuc_conv_f32_pack(&weights, b.w, b.packed);
  }
  double best = INFINITY;
  for (int i = 0; i < 15; i++) {
    double start = seconds();
    run(kernels, &g, &b, is_i8);
    double time = seconds() - start;
    if (time < best) best = time;
  }
  printf("%-4s %-22s %8.3f ms  %7.2f GMAC/s\n", is_i8 ? "i8" : "f32", name, 1e3 * best, (double)(outputs * taps) / best * 1e-9);
  npuc_buffer_destroy(b.x), npuc_buffer_destroy(b.w), npuc_buffer_destroy(b.packed), npuc_buffer_destroy(b.y),
      npuc_buffer_destroy(b.scratch);
  npuc_buffer_destroy(b.parameters);
}

int main(void) {
  kernel_set kernels;
  diag *d = npuc_diag_create(NULL, NULL);
  if (npuc_kernels_select(d, &kernels) != NPUC_OK) return 1;
  npuc_diag_destroy(d);
  printf("level %s\n", npuc_cpu_name(kernels.level));
  for (int is_i8 = 0; is_i8 < 2; is_i8++) {
    measure(&kernels, "3->16 32x32 3x3", square(8, 3, 16, 1, 32, 3, 1), is_i8);
    measure(&kernels, "16->16 32x32 3x3", square(8, 16, 16, 1, 32, 3, 1), is_i8);
    measure(&kernels, "16->32 32x32 3x3 s2", square(8, 16, 32, 1, 32, 3, 2), is_i8);
    measure(&kernels, "32->32 16x16 3x3", square(8, 32, 32, 1, 16, 3, 1), is_i8);
    measure(&kernels, "64->64 8x8 3x3", square(8, 64, 64, 1, 8, 3, 1), is_i8);
    measure(&kernels, "64->64 25x25 1x1", square(8, 64, 64, 1, 25, 1, 1), is_i8);
    measure(&kernels, "64 dw 25x25 3x3", square(8, 64, 64, 64, 25, 3, 1), is_i8);
    measure(&kernels, "960->160 7x7 1x1", square(4, 960, 160, 1, 7, 1, 1), is_i8);
    measure(&kernels, "672 dw 14x14 5x5", square(1, 672, 672, 672, 14, 5, 1), is_i8);
    measure(&kernels, "256->256 14x14 1x1", square(4, 256, 256, 1, 14, 1, 1), is_i8);
    measure(&kernels, "16->96 112x112 1x1", square(1, 16, 96, 1, 112, 1, 1), is_i8);
    measure(&kernels, "144->24 56x56 1x1", square(1, 144, 24, 1, 56, 1, 1), is_i8);
    measure(&kernels, "960->320 7x7 1x1", square(1, 960, 320, 1, 7, 1, 1), is_i8);
    measure(&kernels, "96 dw 112x112 3x3 s2", square(1, 96, 96, 96, 112, 3, 2), is_i8);
    measure(&kernels, "480 dw 14x14 5x5", square(1, 480, 480, 480, 14, 5, 1), is_i8);
    measure(&kernels, "3->32 224x224 3x3 s2", square(1, 3, 32, 1, 224, 3, 2), is_i8);
  }
  return 0;
}
