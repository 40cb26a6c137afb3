# SPDX-License-Identifier: Apache-2.0
"""Zip archives as Python's zipfile writes them, and some made to deceive: python make_zip.py"""

import io
import pathlib
import struct
import warnings
import zipfile

HERE = pathlib.Path(__file__).parent
DAY = (2026, 1, 1, 0, 0, 0)


def archive(members, method=zipfile.ZIP_STORED, zip64=False):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, data in members:
            info = zipfile.ZipInfo(name, DAY)
            info.compress_type = method
            with z.open(info, "w", force_zip64=zip64) as f:
                f.write(data)
    return bytearray(out.getvalue())


two = [("a/first.bin", bytes(range(64))), ("second.txt", b"two " * 100)]
(HERE / "stored.zip").write_bytes(archive(two))
(HERE / "deflated.zip").write_bytes(archive(two, zipfile.ZIP_DEFLATED))
(HERE / "zip64.zip").write_bytes(archive(two, zip64=True))
(HERE / "nested.zip").write_bytes(archive([("inner.zip", bytes(archive(two)))]))
(HERE / "twice.zip").write_bytes(archive([("x", b"1"), ("x", b"2")]))
bomb = archive([("big", b"\0" * 4096)], zipfile.ZIP_DEFLATED)
at = bomb.index(b"PK\1\2")
bomb[at + 24 : at + 28] = struct.pack("<I", 2**31 - 1)  # the directory's uncompressed size
(HERE / "bomb.zip").write_bytes(bomb)
wrong = archive(two)
wrong[wrong.index(bytes(range(8)))] ^= 1  # a stored byte: its checksum no longer holds
(HERE / "wrong-crc.zip").write_bytes(wrong)
locked = archive(two)
locked[locked.index(b"PK\1\2") + 8] |= 1
(HERE / "encrypted.zip").write_bytes(locked)
