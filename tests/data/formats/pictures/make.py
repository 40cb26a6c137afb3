# SPDX-License-Identifier: Apache-2.0
"""Small pictures in every form that npuc decodes, and NAME.rgb, their pixels as Pillow decodes them: python make.py"""

import pathlib

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(3)


def write(name, picture, **options):
    picture.save(HERE / name, **options)
    rgb = np.asarray(Image.open(HERE / name).convert("RGB"))
    (HERE / f"{name}.rgb").write_bytes(np.array(rgb.shape[:2], "<u2").tobytes() + rgb.tobytes())


color = Image.fromarray(rng.integers(0, 256, (7, 5, 3), np.uint8))
smooth = Image.fromarray(np.add.outer(np.arange(9) * 3, np.arange(33) * 5).astype(np.uint8)[..., None].repeat(3, 2))
grey = color.convert("L")
for name, picture in (("rgb", color), ("smooth", smooth), ("grey", grey), ("alpha", color.convert("RGBA")), ("palette", color.quantize(11)), ("bits", grey.convert("1"))):
    write(f"{name}.png", picture)
for name, picture in (("rgb", color), ("palette", color.quantize(11)), ("alpha", color.convert("RGBA"))):
    write(f"{name}.bmp", picture)
write("rgb.ppm", color)
write("grey.pgm", grey)
write("rgb.tiff", color)
write("grey.tiff", grey)
