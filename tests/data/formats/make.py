# SPDX-License-Identifier: Apache-2.0
"""Small files as NumPy and gzip write them, for the readers' tests: python make.py"""

import gzip
import pathlib
import struct

import numpy as np

HERE = pathlib.Path(__file__).parent
a = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8
np.save(HERE / "f32.npy", a)
np.save(HERE / "fortran.npy", np.asfortranarray(a))
np.save(HERE / "scalar.npy", np.float64(2.5))
np.save(HERE / "i16.npy", np.array([-3, 0, 300], np.int16))
np.save(HERE / "bool.npy", np.array([True, False]))
np.save(HERE / "empty.npy", np.zeros((0, 3), np.uint8))
np.save(HERE / "big.npy", np.arange(3, dtype=">f4"))
np.save(HERE / "text.npy", np.array(["a", "bc"]))
np.savez(HERE / "stored.npz", x=a, y=np.array([1, 2], np.int64))
np.savez_compressed(HERE / "deflated.npz", x=a, y=np.array([1, 2], np.int64))
images = (np.arange(3 * 4 * 5) * 7 % 256).astype(np.uint8).reshape(3, 4, 5)
idx = bytes([0, 0, 8, 3]) + struct.pack(">3I", *images.shape) + images.tobytes()
(HERE / "three-images-idx3-ubyte").write_bytes(idx)
(HERE / "three-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx, mtime=0))
(HERE / "three-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + struct.pack(">I", 3) + bytes([4, 1, 9]))
(HERE / "three-labels-idx1-ubyte.gz").write_bytes(gzip.compress(bytes([0, 0, 8, 1]) + struct.pack(">I", 3) + bytes([4, 1, 9]), mtime=0))
(HERE / "shorts-idx").write_bytes(bytes([0, 0, 11, 1]) + struct.pack(">I2h", 2, -2, 513))
