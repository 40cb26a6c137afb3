# SPDX-License-Identifier: Apache-2.0
"""Right values of the preprocessing test, from NumPy in float32: python preprocess.py prints them as C hexadecimal floats."""

import numpy as np

x = (np.arange(3 * 4 * 6) * 37 % 256).astype(np.uint8).reshape(3, 4, 6)
mean = np.float32([0.485, 0.456, 0.406]).reshape(3, 1, 1)
std = np.float32([0.229, 0.224, 0.225]).reshape(3, 1, 1)
y = (x.astype(np.float32) * np.float32(1 / 255) - mean) / std
print("normalized", [float(v).hex() for v in y.ravel()[[0, 1, 23, 24, 50, 71]]])


def bilinear(plane, height, width):
    """Half-pixel centres, no antialiasing, in float64."""
    h, w = plane.shape
    ys = np.clip((np.arange(height) + 0.5) * h / height - 0.5, 0, None)
    xs = np.clip((np.arange(width) + 0.5) * w / width - 0.5, 0, None)
    y0, x0 = np.minimum(ys.astype(int), h - 1), np.minimum(xs.astype(int), w - 1)
    y1, x1 = np.minimum(y0 + 1, h - 1), np.minimum(x0 + 1, w - 1)
    fy, fx = (ys - y0)[:, None], xs - x0
    top = plane[y0][:, x0] * (1 - fx) + plane[y0][:, x1] * fx
    bottom = plane[y1][:, x0] * (1 - fx) + plane[y1][:, x1] * fx
    return top * (1 - fy) + bottom * fy


z = np.stack([bilinear(p.astype(np.float64), 6, 9) for p in x])[:, 0:5, 1:8]  # resize=6 (shorter side), crop=5x7
print("resized", [round(float(v), 4) for v in z.ravel()[[0, 1, 17, 34, 35, 70, 104]]])

try:
    import torch

    t = torch.nn.functional.interpolate(torch.from_numpy(x.astype(np.float64))[None], size=(6, 9), mode="bilinear", align_corners=False)
    assert np.allclose(t.numpy()[0][:, 0:5, 1:8], z)
    print("torch agrees")
except ImportError:
    pass
