/* SPDX-License-Identifier: Apache-2.0 */
/* One codec for every small float, driven by a row of parameters. A value's quantum is 2^(e - mantissa bits), e its exponent but not
 * below the smallest normal one; rounding |x| / quantum to an integer r gives subnormals (r < 2^m), normals, and the carry into the
 * next exponent (r = 2^(m+1)) by the same addition: code = ((e + bias - 1) << m) + r. */
#include "tensor/minifloat.h"

#include <assert.h>
#include <math.h>

typedef struct float_format {
  unsigned exponent_bits, mantissa_bits;
  int bias;
  bool has_infinity;
  uint32_t largest; /* code of the largest finite value */
  uint32_t nan;     /* 0: none */
} float_format;

static const float_format *format_of(dtype type) {
  static const float_format f16 = {5, 10, 15, true, 0x7bff, 0x7e00};
  static const float_format bf16 = {8, 7, 127, true, 0x7f7f, 0x7fc0};
  static const float_format e4m3fn = {4, 3, 7, false, 0x7e, 0x7f};
  static const float_format e4m3fnuz = {4, 3, 8, false, 0x7f, 0x80};
  static const float_format e5m2 = {5, 2, 15, false, 0x7b, 0x7e};
  static const float_format e5m2fnuz = {5, 2, 16, false, 0x7f, 0x80};
  static const float_format e2m1 = {2, 1, 1, false, 0x7, 0};
  switch (type) {
    case DTYPE_F16:
      return &f16;
    case DTYPE_BF16:
      return &bf16;
    case DTYPE_F8E4M3FN:
      return &e4m3fn;
    case DTYPE_F8E4M3FNUZ:
      return &e4m3fnuz;
    case DTYPE_F8E5M2:
      return &e5m2;
    case DTYPE_F8E5M2FNUZ:
      return &e5m2fnuz;
    case DTYPE_F4E2M1:
      return &e2m1;
    default:
      return NULL;
  }
}

static double decode_e8m0(uint32_t code) { return code == 0xff ? (double)NAN : ldexp(1.0, (int)code - 127); }

static uint32_t encode_e8m0(double x, minifloat_mode mode) {
  if (isnan(x)) return 0xff;
  double a = fabs(x);
  if (isinf(a)) return mode.overflows ? 0xff : 0xfe;
  if (a == 0.0) return mode.overflows ? 0xff : 0;
  int e;
  double m = frexp(a, &e); /* a = m 2^e, m in [0.5, 1) */
  bool up = mode.rounding == ROUND_UP ? m > 0.5 : mode.rounding == ROUND_NEAREST && m >= 0.75;
  int code = (up ? e : e - 1) + 127;
  if (mode.overflows && (code < 0 || code > 0xfe)) return 0xff;
  return (uint32_t)(code < 0 ? 0 : code > 0xfe ? 0xfe : code);
}

double npuc_minifloat_decode(dtype type, uint32_t code) {
  if (type == DTYPE_F8E8M0) return decode_e8m0(code & 0xff);
  const float_format *f = format_of(type);
  assert(f);
  unsigned magnitude_bits = f->exponent_bits + f->mantissa_bits;
  uint32_t magnitude = code & ((1u << magnitude_bits) - 1);
  bool negative = (code >> magnitude_bits) & 1;
  bool fnuz = f->nan == (1u << magnitude_bits);
  if (fnuz && code == f->nan) return (double)NAN;
  if (!fnuz && magnitude > f->largest) {
    bool infinite = (f->has_infinity || type == DTYPE_F8E5M2) && magnitude == f->largest + 1;
    return infinite ? (negative ? -(double)INFINITY : (double)INFINITY) : (double)NAN;
  }
  uint32_t e = magnitude >> f->mantissa_bits;
  uint32_t m = magnitude & ((1u << f->mantissa_bits) - 1);
  int quantum = (int)(e ? e : 1) - f->bias - (int)f->mantissa_bits;
  double a = ldexp((double)(e ? m + (1u << f->mantissa_bits) : m), quantum);
  return negative ? -a : a;
}

uint32_t npuc_minifloat_encode(dtype type, double x) { return npuc_minifloat_encode_by(type, x, (minifloat_mode){false, ROUND_UP}); }

/* What a number beyond the largest becomes where it is not clamped: infinity, or NaN in a type without; a type without either clamps. */
static uint32_t overflow_of(dtype type, const float_format *f) {
  return type == DTYPE_F8E5M2 ? f->largest + 1 : f->nan ? f->nan : f->largest;
}

uint32_t npuc_minifloat_encode_by(dtype type, double x, minifloat_mode mode) {
  if (type == DTYPE_F8E8M0) return encode_e8m0(x, mode);
  const float_format *f = format_of(type);
  assert(f);
  unsigned magnitude_bits = f->exponent_bits + f->mantissa_bits;
  uint32_t sign = signbit(x) ? 1u << magnitude_bits : 0;
  bool fnuz = f->nan == (1u << magnitude_bits);
  if (isnan(x)) return fnuz || !f->nan ? f->nan : f->nan | sign;
  double a = fabs(x);
  uint32_t infinity = f->has_infinity ? f->largest + 1 : mode.overflows ? overflow_of(type, f) : f->largest;
  uint32_t code;
  if (isinf(a)) {
    code = infinity;
  } else if (a == 0.0) {
    code = 0;
  } else {
    int e = ilogb(a);
    if (e < 1 - f->bias) e = 1 - f->bias;
    if (e > 2000 - f->bias) e = 2000 - f->bias;
    double r = rint(ldexp(a, (int)f->mantissa_bits - e)); /* <= 2^(m+1) */
    int64_t wide = (int64_t)r + ((int64_t)(e + f->bias - 1) << f->mantissa_bits);
    code = wide > (int64_t)f->largest ? infinity : (uint32_t)wide;
  }
  return fnuz && (code == 0 || code == f->nan) ? code : code | sign;
}
