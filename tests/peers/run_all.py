# SPDX-License-Identifier: Apache-2.0
"""The whole way through the npuc command line, on real networks and data, against right values and peers.

    python run_all.py --npuc build/npuc --shared ../shared --work DIR [--rows PATTERN] [--limit N] [--threads N]
                      [--other-npuc build-clang/npuc]

Prints a table (row, wanted, got, verdict), keeps it in DIR/results.json (rows of earlier runs stay until they are run again) and every
command with its output in DIR/transcript.txt. `--rows` is a regular expression over row names; `--limit` caps the number of images: such rows show
what they found and count as skipped.
"""

import argparse
import json
import pathlib
import re
import time

import common
import rows_exactness
import rows_networks
import rows_resnet
from npuc import CommandFailed, Npuc


class Context:
    """What a row needs: the command line, folders, and the cap on images."""

    def __init__(self, args):
        self.work = args.work.resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.shared = args.shared.resolve() / "data"
        self.demo = pathlib.Path(__file__).resolve().parents[2] / "examples" / "demo"
        self.npuc = Npuc(args.npuc.resolve(), self.work / "transcript.txt", args.threads)
        self.other = Npuc(args.other_npuc.resolve(), self.work / "transcript.txt", args.threads) if args.other_npuc else None
        self.limit = args.limit
        self.built = {}

    def limited(self, count):
        """(images to take, whether that is fewer than the row wants)."""
        return (self.limit, True) if self.limit and self.limit < count else (count, False)

    def compile(self, name, model, targets, *options):
        """Compiles once a run into work/out/NAME; later calls return the same folder."""
        folder = self.work / "out" / name
        if folder not in self.built:
            folder.parent.mkdir(exist_ok=True)
            flags = [flag for target in targets for flag in ("-t", target)]
            self.built[folder] = self.npuc("compile", model, *flags, "-o", folder, *options)
        return folder


class Table:
    def __init__(self, path):
        self.path, self.tally = path, common.Tally()
        self.kept = {row["row"]: row for row in json.loads(path.read_text())} if path.exists() else {}

    def put(self, row, wanted, got, ok, seconds):
        """`ok` is True, False or None (skipped)."""
        word = {True: "ok", False: "FAILED", None: "skipped"}[ok]
        self.tally.passed += ok is True
        self.tally.failed += ok is False
        self.tally.skipped += ok is None
        self.kept[row] = {"row": row, "wanted": wanted, "got": got, "ok": ok, "seconds": round(seconds, 1)}
        self.path.write_text(json.dumps(list(self.kept.values()), indent=1) + "\n")
        print(f"| {row} | {wanted} | {got} | {word} |", flush=True)


def attempt(row, context, table):
    began = time.monotonic()
    try:
        got, ok = row.run(context)
    except (CommandFailed, OSError, KeyError, ValueError, SystemExit) as error:
        got, ok = f"{type(error).__name__}: {error}", False
    table.put(row.name, row.wanted, got, ok, time.monotonic() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--npuc", type=pathlib.Path, required=True)
    parser.add_argument("--other-npuc", type=pathlib.Path, help="the same source built with another compiler")
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--rows", default="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    args = parser.parse_args()
    rows = [*rows_resnet.rows(), *rows_networks.rows(), *rows_exactness.rows()]
    rows = [row for row in rows if re.search(args.rows, row.name)]
    if args.list:
        print("\n".join(row.name for row in rows))
        return 0
    context = Context(args)
    table = Table(context.work / "results.json")
    print("| row | wanted | got | |\n| --- | --- | --- | --- |")
    for row in rows:
        attempt(row, context, table)
    return table.tally.close()


if __name__ == "__main__":
    raise SystemExit(main())
