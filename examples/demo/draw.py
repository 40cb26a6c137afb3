# SPDX-License-Identifier: Apache-2.0
"""The demo's pictures: ten small signs on textured, noisy grounds, drawn with NumPy alone.

A sign is a region of the plane given by an inequality in its own coordinates (u, v), which a random rotation,
scale and shift place in the picture. It is sampled at SUPER x SUPER points a pixel, so that edges are
anti-aliased. Colours, lighting, a distracting blob and noise make the task hard enough that a network of fifty
thousand weights errs on a few pictures in a hundred, and damage by quantization has somewhere to show.

The same seed draws the same bytes on every machine: PCG64 and float64 arithmetic, rounded once at the end.
"""

import numpy as np

SIZE = 16
SUPER = 3
CLASSES = ("disc", "ring", "square", "frame", "up", "down", "plus", "cross", "bars", "crescent")


def triangle(u, v):
    return (v < 0.62) & (v > 1.75 * np.abs(u) - 0.85)


def plus(u, v):
    return (np.minimum(np.abs(u), np.abs(v)) < 0.26) & (np.maximum(np.abs(u), np.abs(v)) < 0.85)


SIGNS = {
    "disc": lambda u, v: u * u + v * v < 0.62,
    "ring": lambda u, v: np.abs(np.hypot(u, v) - 0.62) < 0.2,
    "square": lambda u, v: np.maximum(np.abs(u), np.abs(v)) < 0.69,
    "frame": lambda u, v: np.abs(np.maximum(np.abs(u), np.abs(v)) - 0.58) < 0.18,
    "up": lambda u, v: triangle(u, v),
    "down": lambda u, v: triangle(u, -v),
    "plus": plus,
    "cross": lambda u, v: plus((u + v) * np.sqrt(0.5), (u - v) * np.sqrt(0.5)),
    "bars": lambda u, v: (np.abs(np.abs(v) - 0.48) < 0.2) & (np.abs(u) < 0.75),
    "crescent": lambda u, v: (u * u + v * v < 0.64) & ((u - 0.42) ** 2 + v * v > 0.4),
}


def colour_pair(rng):
    """A sign's colour and a ground's: not closer than a person could tell apart under the noise."""
    while True:
        sign, ground = rng.uniform(0.08, 0.92, (2, 3))
        if np.abs(sign - ground).mean() > 0.2:
            return sign, ground


def texture(rng, x, y):
    """Two gratings and a slope of brightness, the same in all channels but for their strength."""
    total = rng.uniform(-0.12, 0.12) * x + rng.uniform(-0.12, 0.12) * y
    for _ in range(2):
        angle, frequency, phase = rng.uniform(0, 2 * np.pi), rng.uniform(2, 9), rng.uniform(0, 2 * np.pi)
        total = total + rng.uniform(0, 0.1) * np.sin(frequency * (x * np.cos(angle) + y * np.sin(angle)) + phase)
    return total[None] * rng.uniform(0.5, 1.5, (3, 1, 1))


def picture(rng, label):
    """One picture, uint8 [3, SIZE, SIZE]."""
    points = SIZE * SUPER
    axis = (np.arange(points) + 0.5) / points * 2 - 1
    y, x = np.meshgrid(axis, axis, indexing="ij")
    sign, ground = colour_pair(rng)

    angle, scale = rng.uniform(-0.42, 0.42), rng.uniform(0.5, 0.95)
    dx, dy = rng.uniform(-0.28, 0.28, 2)
    u = ((x - dx) * np.cos(angle) + (y - dy) * np.sin(angle)) / scale
    v = ((y - dy) * np.cos(angle) - (x - dx) * np.sin(angle)) / scale
    mask = SIGNS[CLASSES[label]](u, v)

    bx, by = rng.uniform(-1, 1, 2)
    blob = (x - bx) ** 2 + (y - by) ** 2 < rng.uniform(0.1, 0.32) ** 2
    canvas = np.where(mask[None], sign[:, None, None], ground[:, None, None])
    canvas = np.where(blob[None], rng.uniform(0, 1, (3, 1, 1)), canvas)
    canvas = canvas + texture(rng, x, y)
    pixels = canvas.reshape(3, SIZE, SUPER, SIZE, SUPER).mean((2, 4))
    pixels = pixels + rng.normal(0, rng.uniform(0.02, 0.1), pixels.shape)
    return np.clip(np.rint(pixels * 255), 0, 255).astype(np.uint8)


def pictures(seed, count):
    """`count` pictures uint8 [count, 3, SIZE, SIZE] with labels int64 [count], classes in equal shares, shuffled."""
    rng = np.random.Generator(np.random.PCG64(seed))
    labels = rng.permutation(np.arange(count) % len(CLASSES)).astype(np.int64)
    return np.stack([picture(rng, label) for label in labels]), labels
