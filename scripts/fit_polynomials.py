#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The coefficients of src/kernels/math_f32.h: weighted least squares at Chebyshev nodes, reweighted (Lawson) toward the minimax fit of the
relative error, rounded to float32. Development only; needs numpy."""
import math

import numpy as np


def fit(f, low, high, degree, weight):
    n = 4000
    x = (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (np.arange(n) + 0.5) / n)
    y, w, lawson, basis = f(x), weight(x), np.ones(n), np.vander(x, degree + 1, increasing=True)
    for _ in range(60):
        root = np.sqrt(lawson) * w
        c = np.linalg.lstsq(basis * root[:, None], y * root, rcond=None)[0]
        error = np.abs((basis @ c - y) * w)
        lawson *= error + 1e-30
        lawson /= lawson.sum()
    return c, error.max()


def near_zero(series, exact, x):
    small = np.abs(x) < 1e-3
    return np.where(small, series(x), exact(np.where(small, 0.5, x)))


def show(name, result):
    print(f"{name}: {', '.join('%.9g' % np.float32(v) for v in result[0])}    error {result[1]:.2g}")


# e^r = 1 + r + r^2 P(r), |r| <= ln(2)/2
half = np.log(2) / 2 * 1.01
show("exp", fit(lambda r: near_zero(lambda v: 0.5 + v / 6 + v * v / 24, lambda v: (np.expm1(v) - v) / v**2, r), -half, half, 5, lambda r: r * r))
# log(1 + f) = f - f^2/2 + f^3 P(f)
show("log", fit(lambda f: near_zero(lambda v: 1 / 3 - v / 4 + v * v / 5, lambda v: (np.log1p(v) - v + v * v / 2) / v**3, f), np.sqrt(0.5) - 1, np.sqrt(2) - 1, 8, lambda f: f * f))
# tanh(x) = x + x u P(u), u = x^2 <= 0.4
show("tanh", fit(lambda u: (np.tanh(np.sqrt(u)) / np.sqrt(u) - 1) / u, 1e-4, 0.4, 5, lambda u: u))
# erf(x) = x + x P(u), u = x^2 <= 0.875^2; above: erf(x) = 1 - e^P(x), good up to 4, from where on it is 1
erf, erfc = np.vectorize(math.erf), np.vectorize(math.erfc)
show("erf", fit(lambda u: erf(np.sqrt(u)) / np.sqrt(u) - 1, 1e-6, 0.89**2, 6, lambda u: 1 + 0 * u))
show("erfc", fit(lambda t: np.log(erfc(t)), 0.86, 4.0, 8, lambda t: erfc(t)))
