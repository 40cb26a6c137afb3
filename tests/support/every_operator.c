/* SPDX-License-Identifier: Apache-2.0 */
#include "support/every_operator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "npu/from_ir.h"
#include "npu/lower.h"
#include "npu/write.h"
#include "support/random.h"

typedef struct writer {
  FILE *out;
  uint64_t random;
} writer;

static void constant(writer *w, const char *type, const char *name, int count, int64_t lo, int64_t hi) {
  fprintf(w->out, " %s %s = {", type, name);
  for (int i = 0; i < count; i++)
    fprintf(w->out, "%s%lld", i ? ", " : "", (long long)(lo + (int64_t)(random_next(&w->random) % (uint64_t)(hi - lo + 1))));
  fprintf(w->out, "},\n");
}

/* Tables of softmax: falling from 65535. */
static void exponentials(writer *w) {
  int64_t v = 65535;
  fprintf(w->out, " uint16[256] T = {");
  for (int i = 0; i < 256; i++, v = v * 15 / 16) fprintf(w->out, "%s%lld", i ? ", " : "", (long long)v);
  fprintf(w->out, "},\n");
}

static void constants(writer *w, const char *type) {
  char table[32];
  (void)snprintf(table, sizeof table, "%s[256]", type);
  constant(w, "int8[4,4,3,3]", "w1", 144, -127, 127);
  constant(w, "int32[4]", "b1", 4, -3000, 3000);
  constant(w, "int32[4]", "m1", 4, 1 << 14, (1 << 15) - 1);
  constant(w, "int32[4]", "s1", 4, 24, 25);
  constant(w, "int8[4,1,3,3]", "w2", 36, -127, 127);
  constant(w, "int32[1]", "m", 1, 1 << 14, (1 << 15) - 1);
  constant(w, "int32[1]", "mb", 1, -32767, -8192);
  constant(w, "int32[1]", "s15", 1, 15, 15);
  constant(w, "int32[1]", "s20", 1, 20, 20);
  constant(w, "int32[1]", "s17", 1, 17, 17);
  constant(w, "int32[3]", "m3", 3, 1 << 14, (1 << 15) - 1);
  constant(w, "int32[3]", "s3", 3, 17, 18);
  constant(w, table, "table", 256, 0, 127);
  constant(w, "int8[5,18]", "wg", 90, -127, 127);
  constant(w, "int32[5]", "bg", 5, -3000, 3000);
  constant(w, "int32[5]", "mg", 5, -32767, 32767);
  constant(w, "int32[5]", "sg", 5, 24, 24);
  constant(w, "int32[256]", "L", 256, 0, 30000);
  constant(w, "int32[2]", "ml", 2, 10000, 30000);
  constant(w, "int32[3]", "bn", 3, -8000, 8000);
  constant(w, "int32[3]", "mn", 3, 1 << 14, (1 << 15) - 1);
  constant(w, "int32[3]", "sn", 3, 22, 23);
  exponentials(w);
}

static const char body[] =
    " int32[3] counts = {4, 6, 9}, int32[1] scale = {8}, int64[8] pads = {0, 0, 1, 0, 0, 1, 0, 2}, int64[2] starts = {8, 1}, int64[2] ends "
    "= {-10, 5},\n"
    " int64[2] slice_axes = {1, 3}, int64[2] steps = {-2, 2}, int64[2] sizes = {2, 3}, int64[3] indices = {3, 0, -1}, int64[1] axis0 = "
    "{0}, int64[1] axis1 = {1},\n"
    " int64[2] column = {5, 1}>\n"
    "{\n"
    "  c = npuc.QConv <kernel_shape = [3,3], strides = [1,1], pads = [1,1,1,1], dilations = [1,1], group = 1, x_zero_point = 3, "
    "y_zero_point = 60, lo = 0, hi = 127, y_dtype = %D> (x, w1, b1, m1, s1)\n"
    "  dw = npuc.QConv <kernel_shape = [3,3], strides = [2,1], pads = [0,1,1,0], dilations = [1,1], group = 4, x_zero_point = 60, "
    "y_zero_point = 50, lo = 0, hi = 127, y_dtype = %D> (c, w2, b1, m1, s1)\n"
    "  a = npuc.QAdd <a_zero_point = 60, b_zero_point = 3, y_zero_point = 64, lo = 0, hi = 127, y_dtype = %D> (c, x, m, mb, s15)\n"
    "  mu = npuc.QMul <a_zero_point = 64, b_zero_point = 60, y_zero_point = 64, lo = 0, hi = 127, y_dtype = %D> (a, c, m, s20)\n"
    "  r = npuc.Requantize <x_zero_point = 64, y_zero_point = 50, lo = 0, hi = 127, y_dtype = %D> (mu, m, s15)\n"
    "  ap = npuc.QAveragePool <kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1], dilations = [1,1], ceil_mode = 0, "
    "count_include_pad = 0, x_zero_point = 50, y_zero_point = 40, lo = 0, hi = 127, "
    "y_dtype = %D> (r, m3, s3, counts)\n"
    "  mp = MaxPool <kernel_shape = [2,2], strides = [2,2]> (r)\n"
    "  cc = Concat <axis = 1> (ap, mp)\n"
    "  pd = Pad <mode = \"constant\"> (cc, pads, fill)\n"
    "  sl = Slice (pd, starts, ends, slice_axes, steps)\n"
    "  tr = Transpose <perm = [0,3,1,2]> (sl)\n"
    "  sp0, sp1 = Split <axis = 2> (tr, sizes)\n"
    "  ga = Gather <axis = 3> (sp1, indices)\n"
    "  lk = npuc.Lookup (ga, table)\n"
    "  nm = npuc.QNormalize <count = 3, inner = 6, repeat = 6, centre = 1, epsilon = 40, x_zero_point = 60, y_zero_point = 64, lo = 0, hi "
    "= "
    "127, y_dtype = %D> (lk, bn, mn, sn)\n"
    "  gl = npuc.QGlobalAveragePool <x_zero_point = 64, y_zero_point = 64, lo = 0, hi = 127, y_dtype = %D> (nm, m, s17)\n"
    "  fl = Flatten <axis = 1> (lk)\n"
    "  gm = npuc.QGemm <x_zero_point = 64, y_zero_point = 70, lo = 0, hi = 127, y_dtype = %D> (fl, wg, bg, mg, sg)\n"
    "  sm = npuc.QSoftmax <axis = 1, y_zero_point = 0, lo = 0, hi = 127, y_dtype = %D> (gm, T, scale)\n"
    "  ls = npuc.QLogSoftmax <axis = 1, y_zero_point = 127, lo = 0, hi = 127, y_dtype = %D> (gm, T, L, ml, s15)\n"
    "  us = Unsqueeze (sm, axis0)\n"
    "  sq = Squeeze (us, axis1)\n"
    "  rs = Reshape (sq, column)\n"
    "  id = Identity (rs)\n"
    "  am = ArgMax <axis = 1, keepdims = 0> (gm)\n"
    "}\n";

const char *npuc_every_operator_text(arena *a, bool is_signed) {
  char *text = NULL;
  size_t n = 0;
  writer w = {.out = open_memstream(&text, &n), .random = is_signed ? 5 : 4};
  assert_non_null(w.out);
  const char *t = is_signed ? "int8" : "uint8";
  fprintf(w.out,
          "<ir_version: 10, opset_import: [\"\" : 28, \"npuc\" : 1]>\nmain (%s[1,4,6,6] x) => (%s[1,4,3,5] dw, %s[1,2,2,4] sp0, "
          "%s[1,2,1,1] gl, %s[5,1] id, %s[1,5] ls, int64[1] am)\n<",
          t, t, t, t, t, t);
  constants(&w, t);
  fprintf(w.out, " %s fill = {7},\n", t);
  for (const char *p = body; *p; p++) {
    if (p[0] == '%' && p[1] == 'D')
      fputs(is_signed ? "3" : "2", w.out), p++;
    else
      fputc(*p, w.out);
  }
  assert_int_equal(fclose(w.out), 0);
  const char *copy = npuc_arena_str(a, text);
  free(text);
  return copy;
}

void npuc_test_build_npu(const graph *g, int n, const char *path) {
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  npu_arch arch;
  qgraph *q = NULL;
  npu_program *p = NULL;
  npuc_status status = npuc_npu_arch_load(d, a, npuc_arena_printf(a, "%s/share/npuc/targets/refnpu-n%d.json", NPUC_SOURCE_DIR, n), &arch);
  if (status == NPUC_OK) status = npuc_npu_from_ir(d, a, g, &q);
  if (status == NPUC_OK) status = npuc_npu_compile(d, a, q, &arch, &p);
  if (status == NPUC_OK) status = npuc_npu_write(d, path, q, p, NULL, NULL);
  if (status != NPUC_OK)
    fail_msg("%s: %s", npuc_diag_first_error(d)->place.node ? npuc_diag_first_error(d)->place.node : "", npuc_diag_first_error(d)->reason);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}
