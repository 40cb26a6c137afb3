#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small .npu files whose streams are random instructions of every kind, from docs/refnpu.md alone: bit positions are read out
of its tables, the file's layout follows its section 6. Each stream loads 4 KiB of scratchpad, runs its instructions one after the other
(each waits for the one before, whatever its queue), and stores the 4 KiB again: what any instruction did wrong is seen there.

usage: make_tiny.py OUT.npu INPUT.npy [--seed N] [--side 8|16|32] [--length N]"""
import argparse
import random
import re
import struct
import sys
from pathlib import Path

AREA = 4096  # bytes of the scratchpad in use, and of the one input and the one output
KINDS = "META STRS INTS TENS NODE ATTR STEP CONF STRM BIND INST DBUG IOTB WGTS WCRC".split()
RECORD = dict(INTS=8, TENS=128, NODE=64, ATTR=16, STEP=32, CONF=64, STRM=96, BIND=64, INST=16, DBUG=32, IOTB=32, WCRC=4)


def read_document(path):
    """name -> (opcode, {field: (hi, lo, signed, mark)})"""
    table, name = {}, None
    for line in path.read_text().splitlines():
        head = re.match(r"### 0x([0-9A-F]{2}) (\w+)", line)
        if head:
            name = head[2]
            table[name] = (int(head[1], 16), {})
        row = re.match(r"\| (\d+):(\d+) \| (\w+) \| ([us])\d+ \| ([AC-]) \|", line)
        if row and name:
            table[name][1][row[3]] = (int(row[1]), int(row[2]), row[4] == "s", row[5])
        if line.startswith("## 5"):
            break
    return table


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Program:
    """Four instruction lists in which every unit instruction waits for the one before."""

    def __init__(self, isa, rng, side):
        self.isa, self.rng, self.n = isa, rng, side
        self.lists = [[], [], [], []]
        self.tokens = [0, 0, 0, 0]
        self.loaded = False  # a tile is in the next plane

    def put(self, queue, name, signal=0, **fields):
        opcode, layout = self.isa[name]
        word = opcode | signal << 8
        for field, value in fields.items():
            hi, lo, signed, _ = layout[field]
            width = hi - lo + 1
            low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
            assert low <= value <= high, (name, field, value)
            word |= (value & (1 << width) - 1) << lo
        self.lists[queue].append(word.to_bytes(16, "little"))

    def wait(self, queue):
        self.put(queue, "WAIT", **{f"t{q}": self.tokens[q] for q in range(4)})

    def unit(self, queue, name, **fields):
        self.wait(queue)
        if name not in ("DLD", "DST") and self.rng.random() < 0.15:
            self.shrink(queue, name)
        self.put(queue, name, 1, **fields)
        self.tokens[queue] += 1

    def shrink(self, queue, name):
        """An IDX that limits a count: with registers of 0 the limit is minus the offset. LDW of few rows is a smaller tile."""
        counts = [layout for layout in self.isa[name][1].values() if layout[3] == "C"]
        if counts:
            self.put(queue, "IDX", n=1, reg0=self.rng.randrange(8), bit0=self.rng.choice(counts)[1], pitch0=-self.rng.randrange(0, 9))

    def address(self, span=0):
        return self.rng.randrange(0, AREA - span)

    def geometry(self, slot, nx, ny, lanes, wide_source=False):
        """Pitches for which nx * ny pixels of `lanes` bytes, from any address that `base` gives, stay inside."""
        rng = self.rng
        pixel = rng.choice([0, lanes, self.n, 4])
        row = rng.choice([0, nx * pixel, nx * pixel + 3])
        signed = rng.random() < 0.5
        self.put(3, "VGEO", slot=slot, is_signed=int(signed), zp=rng.randint(-128, 127) if signed else rng.randint(0, 255), width=nx, height=ny,
                 row_pitch=row, pixel_pitch=pixel, stride_x=1, stride_y=1)
        return (ny - 1) * row + (nx - 1) * pixel + lanes

    def parameters(self, per_lane=None, wide=None):
        rng = self.rng
        per_lane = rng.random() < 0.5 if per_lane is None else per_lane
        wide = rng.random() < 0.3 if wide is None else wide
        signed = rng.random() < 0.5
        lo, hi = (-128, 127) if signed else (0, 255)
        clamp = {} if wide else dict(zp=rng.randint(lo, hi), lo=rng.choice([lo, lo + 9]), hi=rng.choice([hi, hi - 7]))
        if per_lane:
            self.unit(3, "VPAR", per_lane=1, wide=int(wide), addr=0x1000 + 8 * self.n * rng.randrange(8), bias=rng.randint(-300, 300), **clamp)
        else:
            self.put(3, "VPAR", wide=int(wide), addr=rng.randint(-32768, 32767) & 0xFFFF, bias=rng.choice([0, rng.randint(-70000, 70000)]),
                     m=rng.randint(-32768, 32767), s=rng.choice([0, 1, 15, rng.randint(10, 34), 62]), **clamp)

    def size(self):
        return self.rng.randint(1, 7), self.rng.randint(1, 5), self.rng.randint(1, self.n)

    def array(self):
        rng, n = self.rng, self.n
        if not self.loaded:
            kind = rng.choice(["wb", "wb", "int4", "sp", "transposed"])
            rows, cols = rng.randint(0, n), rng.randint(0, n)
            memory = int(kind in ("sp", "transposed"))
            self.unit(2, "LDW", mem=memory, int4=int(kind == "int4"), transpose=int(kind == "transposed"),
                      addr=n * rng.randrange(8) if kind == "int4" else rng.randrange(0, 512), pitch=0 if kind == "int4" else n, rows=rows, cols=cols)
            self.loaded = True
        width, height = rng.randint(1, 9), rng.randint(1, 9)
        pixel = rng.choice([p for p in (4, 8, 16, 32) if p <= n])
        signed = rng.random() < 0.5
        self.put(2, "ACFG", is_signed=int(signed), zp=rng.randint(-128, 127) if signed else rng.randint(0, 255), width=width, height=height,
                 row_pitch=width * pixel, pixel_pitch=pixel, stride_x=rng.randint(0, 3), stride_y=rng.randint(0, 3))
        swap = rng.random() < 0.7
        self.loaded = self.loaded and not swap
        self.unit(2, "MM", accumulate=rng.randrange(2), swap=int(swap), base=self.address(height * width * pixel + n), x0=rng.randint(-4, 4),
                  y0=rng.randint(-4, 4), nx=rng.randint(1, 12), ny=rng.randint(1, 12), acc=rng.randrange(0, 200))

    def vrq(self):
        nx, ny, lanes = self.size()
        wide = self.rng.random() < 0.4
        self.parameters(wide=wide)
        span = self.geometry(2, nx, ny, lanes)
        self.unit(3, "VRQ", wide_acc=self.rng.randrange(2), wide_out=int(wide), by_row=self.rng.randrange(2), acc=self.rng.randrange(200),
                  acc_lo=self.rng.randrange(200), dst=self.address(span), dst_lo=self.address(span), nx=nx, ny=ny, lanes=lanes,
                  rf=self.rng.randrange(400), shift=self.rng.choice([0, -20, -40, 3, 63, -64]))

    def vwin(self):
        rng = self.rng
        width, height, pixel = rng.randint(1, 9), rng.randint(1, 9), rng.choice([self.n, 4])
        signed = rng.random() < 0.5
        self.put(3, "VGEO", slot=0, is_signed=int(signed), zp=rng.randint(-128, 127), width=width, height=height, row_pitch=width * pixel,
                 pixel_pitch=pixel, stride_x=rng.randint(0, 3), stride_y=rng.randint(0, 3))
        mode = rng.randrange(3)
        self.wait(3)
        for tap in range(rng.randint(1, 3)):
            self.put(3, "VWIN", mode=mode, accumulate=int(tap > 0 or rng.random() < 0.2), hold=rng.randrange(2), base=self.address(height * width * pixel + self.n),
                     x0=rng.randint(-4, 4), y0=rng.randint(-4, 4), nx=rng.randint(1, 9), ny=rng.randint(1, 9), acc=rng.randrange(200), weights=self.address(self.n))
        self.unit(3, "VMOV", op=0, nx=1, ny=1, lanes=0)  # its token stands for the taps before

    def vmov(self):
        nx, ny, lanes = self.size()
        self.parameters(wide=False)
        a, d = self.geometry(0, nx, ny, lanes), self.geometry(2, nx, ny, lanes)
        self.unit(3, "VMOV", op=self.rng.randrange(3), src=self.address(a), dst=self.address(d), nx=nx, ny=ny, lanes=lanes, table=self.address(256))

    def vbin(self):
        nx, ny, lanes = self.size()
        self.put(3, "VPAR", addr=self.rng.randint(-32768, 32767) & 0xFFFF, zp=self.rng.randint(-9, 9), lo=-128, hi=127, m=self.rng.randint(-32768, 32767),
                 s=self.rng.choice([0, 8, 12, 16, 20]))
        a, b, d = (self.geometry(slot, nx, ny, lanes) for slot in range(3))
        self.unit(3, "VBIN", op=self.rng.randrange(2), a=self.address(a), b=self.address(b), dst=self.address(d), nx=nx, ny=ny, lanes=lanes)

    def vfil(self):
        nx, ny, lanes = self.size()
        d = self.geometry(2, nx, ny, lanes)
        self.unit(3, "VFIL", value=self.rng.randrange(256), dst=self.address(d), nx=nx, ny=ny, lanes=lanes)

    def vred(self):
        nx, ny, lanes = self.size()
        a = self.geometry(0, nx, ny, lanes)
        self.unit(3, "VRED", mode=self.rng.randrange(3), accumulate=self.rng.randrange(2), wide=self.rng.randrange(2), src=self.address(a),
                  src_lo=self.address(a), nx=nx, ny=ny, lanes=lanes, rf=self.rng.randrange(400))

    def vrow(self):
        rng = self.rng
        op = rng.choice([0, 1, 1, 2])
        # entries that a variance may have made are not given to a reciprocal: it takes sums up to 2^46
        dst, a = (rng.randrange(400, 480), rng.randrange(0, 380)) if op == 2 else (rng.randrange(400), rng.randrange(380))
        fields = dict(b=rng.randrange(380), cnt=rng.randrange(300), add=rng.randrange(2), imm=rng.randrange(1 << 32)) if op == 2 else {}
        self.unit(3, "VROW", op=op, dst=dst, a=rng.choice([a, 400]) if op == 1 else a, n=rng.randint(1, 20), **fields)

    def vnrm(self):
        nx, _, lanes = self.size()
        centre, wide = self.rng.randrange(2), self.rng.randrange(2)
        self.parameters(per_lane=True if centre else None, wide=bool(wide))
        a, d = self.geometry(0, nx, 1, lanes), self.geometry(2, nx, 1, lanes)
        self.unit(3, "VNRM", wide=self.rng.randrange(2), wide_out=wide, final=self.rng.randrange(2), centre=centre, src=self.address(a),
                  src_lo=self.address(a), dst=self.address(d), dst_lo=self.address(d), nx=nx, lanes=lanes, rf=self.rng.randrange(400),
                  shift=self.rng.choice([0, -8, -20, -40, 10]))

    def vsel(self):
        nx, ny, lanes = self.size()
        a, d = self.geometry(0, nx, ny, lanes), self.geometry(2, nx, ny, lanes)
        self.unit(3, "VSEL", reg=self.rng.randrange(8), step=self.rng.randrange(2), src=self.address(a), dst=self.address(d), nx=nx, ny=ny,
                  lanes=lanes, value=self.rng.randrange(256), first=self.rng.choice([0, 0, 1, 3]))

    def vexp(self):
        nx, _, lanes = self.size()
        a, d = self.geometry(0, nx, 1, lanes), self.geometry(2, nx, 1, lanes)
        self.unit(3, "VEXP", src=self.address(a), dst=self.address(d), dst_lo=self.address(d), table=self.address(512), nx=nx, lanes=lanes, rf=self.rng.randrange(400))

    def build(self, length):
        self.put(0, "DCFG", dram_pitch=64, local_pitch=64)
        self.unit(0, "DLD", mem=0, region=1, dram=0, local=0, bytes=64, rows=AREA // 64)
        self.unit(0, "DLD", mem=0, region=0, dram=4096, local=0x1000, bytes=64 * self.n, rows=1)
        self.unit(1, "DLD", mem=1, region=0, dram=0, local=0, bytes=4096, rows=1)
        steps = [self.array, self.array, self.vrq, self.vrq, self.vwin, self.vmov, self.vbin, self.vfil, self.vred, self.vrow, self.vnrm, self.vsel, self.vexp]
        for _ in range(length):
            self.rng.choice(steps)()
        self.unit(1, "DST", region=1, dram=AREA, local=0, bytes=AREA, rows=1)
        for queue in range(4):
            self.put(queue, "HALT")
        return self.lists


def weights(rng, n):
    """Tiles in the first 4 KiB (int4 sub-scales of 1..15 everywhere: no nibble is 0), then eight sets of lane parameters."""
    tiles = bytes(rng.randint(1, 15) | rng.randint(1, 15) << 4 for _ in range(4096))
    lanes = b"".join(struct.pack("<ihBB", rng.randint(-5000, 5000), rng.randint(-32768, 32767), rng.randint(8, 30), 0) for _ in range(8 * n))
    return tiles + lanes


def sections(lists, constants, n):
    names = ["", f"refnpu-n{n}", "x", "y", "copy", "stream", "random instructions"]
    text = b"".join(name.encode() + b"\0" for name in names)
    at = {name: text.index(b"\0" + name.encode() + b"\0") + 1 if name else 0 for name in names}
    height, width = 16, AREA // 16 // n
    dims = [1, n, height, width, 0, 0, 0, 0]

    def tensor(name, role):
        return struct.pack("<IBBBB8qdqQQI20x", at[name], 3, 4, role, 0, *dims, 0.0, 0, 0, AREA, 0)

    spans = []
    for queue in lists:
        spans += [sum(s for s in spans[1::2]), len(queue)]
    side = {8: 1, 16: 2, 32: 4}[n]
    body = dict(
        META=b"{}", STRS=text, INTS=struct.pack("<qq", 0, 1), TENS=tensor("x", 2) + tensor("y", 3),
        NODE=struct.pack("<II2I2I2IIII20x", 28, at["copy"], 0, 1, 1, 1, 0, 0, 1, at["random instructions"], 0), ATTR=b"",
        STEP=struct.pack("<5I12x", 0, 1, 0, 1, 0), CONF=struct.pack("<9I28x", at[f"refnpu-n{n}"], n, 131072 * side, 65536 * side, 1024, 16, 64, 8, 512),
        STRM=struct.pack("<IIQQ2I8IQQ2I8x", at["stream"], 0, 2 * AREA, 0, 0, 2, *spans, 0, 0, 0, 0),
        BIND=b"".join(struct.pack("<IIQQ6I16x", t, t, AREA * t, AREA, n, height, width, n, n, 0) for t in (0, 1)),
        INST=b"".join(b"".join(queue) for queue in lists), DBUG=b"", IOTB=struct.pack("<III20x", 0, 0, 0) + struct.pack("<III20x", 1, 1, 0), WGTS=constants)
    body["WCRC"] = struct.pack("<I", crc32c(constants))
    return body


def assemble(body):
    table, data, end = b"", b"", 64 + 48 * len(KINDS)
    for kind in KINDS:
        align = 4096 if kind == "WGTS" else 64
        start = -(-end // align) * align
        data += bytes(start - end) + body[kind]
        end = start + len(body[kind])
        record = RECORD.get(kind, 0)
        table += struct.pack("<4sIQQQI12x", kind.encode(), record, start, len(body[kind]), len(body[kind]) // record if record else 0,
                             0 if kind == "WGTS" else crc32c(body[kind]))
    head = struct.pack("<8sIIQIII24x", b"\x89NPU\r\n\x1a\n", 1, 64, end, len(KINDS), 64, crc32c(table))
    return head + struct.pack("<I", crc32c(head)) + table + data


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("input", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--side", type=int, default=16, choices=[8, 16, 32])
    parser.add_argument("--length", type=int, default=60)
    args = parser.parse_args()
    rng = random.Random(args.seed + 1)
    isa = read_document(Path(__file__).resolve().parents[2] / "docs" / "refnpu.md")
    lists = Program(isa, random.Random(args.seed), args.side).build(args.length)
    args.out.write_bytes(assemble(sections(lists, weights(rng, args.side), args.side)))
    header = f"{{'descr': '|i1', 'fortran_order': False, 'shape': (1, {args.side}, 16, {AREA // 16 // args.side}), }}".ljust(117) + "\n"
    args.input.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(rng.randrange(256) for _ in range(AREA)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
