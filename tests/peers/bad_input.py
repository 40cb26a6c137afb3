# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile input through the command line: each ends with the right exit status and a named diagnostic in JSON, in little
time and memory, and leaves nothing that looks finished.

    python bad_input.py --npuc build/npuc --work DIR [--only PATTERN]
    python bad_input.py --self-test --work DIR
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time

import numpy as np

import common
from damage import Damage

DEMO = pathlib.Path(__file__).resolve().parents[2] / "examples" / "demo"
PREPROCESS = "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25"
USAGE, UNSUPPORTED, GATE, ENVIRONMENT, BAD = 2, 3, 4, 5, 6
MEMORY, SECONDS = 4 << 30, 60
TARGET = "refnpu-n16"


class Runner:
    def __init__(self, npuc, work, tally):
        self.npuc, self.work, self.tally = str(npuc), work, tally

    def command(self, *args):
        return [self.npuc, "--json", *map(str, args)]

    def compile_command(self, model, out, calib=DEMO / "calib.npy", extra=()):
        return self.command("compile", model, "-t", TARGET, "-o", out, "--calib", calib, "--preprocess", PREPROCESS, *extra)

    def run(self, command):
        def limits():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        sanitized = b"__asan_init" in pathlib.Path(self.npuc).read_bytes()  # which reserves terabytes of addresses
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False,
                                  preexec_fn=None if sanitized else limits)
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stderr

    def refused(self, name, command, statuses, words="", out=None):
        """The command fails with one of `statuses`, says a code (and a text that matches `words`), and leaves nothing finished in `out`."""
        status, errors = self.run(command)
        found = [event for event in events(errors) if event.get("severity") == "error"]
        text = "; ".join(f"{e.get('code')} {e.get('reason')}" for e in found)
        good = status in statuses and any(re.fullmatch(r"NPUC-E\d{4}", e.get("code", "")) for e in found)
        good = good and re.search(words, json.dumps(found), re.I) is not None and not finished(out)
        left = " AND LEFT " + ", ".join(finished(out)) if finished(out) else ""
        return self.tally.check(good, f"{name}: status {status} (wanted {' or '.join(map(str, statuses))}) {text or errors[-200:]}{left}")


def events(errors):
    for line in errors.splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(event, dict):
            yield event


def finished(out):
    """What looks like an artifact, or like a half-written file of one."""
    if out is None or not out.exists():
        return []
    return [str(p.relative_to(out)) for p in out.rglob("*") if p.suffix == ".npu" or ".npuc-tmp" in p.name]


def fresh(path):
    shutil.rmtree(path, ignore_errors=True)
    return path


def models(r, damage):
    out = r.work / "out"
    size = len(damage.source)
    cases = [(f"truncated to {n}", damage.truncated(n), (BAD,), "") for n in (0, 1, 7, 100, size // 2, size - 1)]
    cases += [
        ("a field of 10 GB", damage.huge_field(), (BAD,), ""),
        ("a tensor of 10 GB", damage.huge_tensor(), (BAD,), ""),
        ("a tensor whose size overflows", damage.overflowing_tensor(), (BAD,), ""),
        ("graphs 1,300 deep", damage.deep(), (UNSUPPORTED, BAD), ""),
        ("a cycle", damage.cycle(), (BAD,), "cycl"),
        ("an undefined value", damage.undefined(), (BAD,), "nowhere"),
        ("an unknown operator", damage.unknown_operator(), (UNSUPPORTED,), r"Relux.*\bRelu\b"),
        ("external data that is missing", damage.external("weights/absent.bin"), (ENVIRONMENT, BAD), "absent"),
        ("external data outside the folder", damage.external("../outside.bin"), (BAD,), "outside"),
        ("external data at an absolute path", damage.external("/etc/hostname"), (BAD,), "hostname"),
        ("NaN weights", damage.nan_weights(), (GATE, BAD), "finite|nan|not a number"),
        ("batch norm in training mode", damage.training_norm(), (UNSUPPORTED,), "training_mode"),
        ("no such model", damage.folder / "absent.onnx", (ENVIRONMENT, BAD), "absent"),
    ]
    (damage.folder.parent / "outside.bin").write_bytes(bytes(1 << 16))
    for name, path, statuses, words in cases:
        r.refused(name, r.compile_command(path, fresh(out)), statuses, words, out)


def flips(r, damage):
    """A flipped bit may be harmless; it never crashes, hangs or counts as our own fault."""
    found = {}
    for seed in range(40):
        status, _ = r.run(r.command("inspect", damage.flipped(seed)))
        found.setdefault(status, []).append(seed)
    bad = {status: seeds for status, seeds in found.items() if status not in (0, UNSUPPORTED, GATE, BAD)}
    counts = {status: len(seeds) for status, seeds in found.items()}
    r.tally.check(not bad and found.get(BAD), f"40 files with flipped bits: statuses {counts}{f', wrong: {bad}' if bad else ''}")


def calibration(r, damage):
    out, good = r.work / "out", DEMO / "model.onnx"
    calib = np.load(DEMO / "calib.npy")
    cases = [
        ("calibration of the wrong shape", damage.samples("wrong_shape", calib[:, :, :15]), (USAGE, BAD)),
        ("calibration without samples", damage.samples("empty", calib[:0]), (USAGE, BAD)),
        ("constant calibration", damage.samples("constant", np.full_like(calib, 128)), (GATE, BAD)),
        ("calibration that is not finite", damage.samples("nan", np.where(calib == 7, np.nan, calib).astype(np.float32)), (GATE, BAD)),
        ("calibration of 10 GB", damage.huge_samples(), (BAD,)),
        ("calibration that is missing", damage.folder / "absent.npy", (USAGE, ENVIRONMENT, BAD)),
        ("calibration that is no data", DEMO / "README.md", (USAGE, BAD)),
    ]
    for name, path, statuses in cases:
        r.refused(name, r.compile_command(good, fresh(out), path), statuses, out=out)


def usage(r, _):
    out, good = fresh(r.work / "out"), DEMO / "model.onnx"
    r.refused("an unknown option", r.command("compile", good, "--calibb", "x"), (USAGE,), r"--calib\b")
    r.refused("an unknown command", r.command("compiel", good), (USAGE,), r"\bcompile\b")
    r.refused("an option twice", r.compile_command(good, out, extra=("-o", out)), (USAGE,))
    r.refused("an option of another command", r.command("inspect", good, "--calib", "x"), (USAGE,))
    r.refused("an unknown target", r.command("compile", good, "-t", "refnpu-n17", "-o", out), (USAGE, UNSUPPORTED), "refnpu-n16")


def foreign(r, _):
    """An output folder that is not a build of ours, or not a folder."""
    out = fresh(r.work / "foreign")
    out.mkdir()
    (out / "thesis.txt").write_text("do not touch")
    r.refused("somebody's folder", r.compile_command(DEMO / "model.onnx", out), (USAGE, ENVIRONMENT), out=out)
    r.tally.check([p.name for p in out.iterdir()] == ["thesis.txt"], "somebody's folder holds what it held")
    r.refused("a file instead of a folder", r.compile_command(DEMO / "model.onnx", out / "thesis.txt"), (USAGE, ENVIRONMENT))
    r.tally.check((out / "thesis.txt").read_text() == "do not touch", "the file is as it was")


def full_disk(r, _):
    place = r.work / "full"
    for kilobytes in (64, 300, 700):
        place.mkdir(exist_ok=True)
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", place], capture_output=True, check=False)
        if made.returncode != 0:
            r.tally.skip("a disk that fills: mounting a small tmpfs needs root")
            return
        try:
            r.refused(f"a disk of {kilobytes} kB", r.compile_command(DEMO / "model.onnx", place / "out"), (ENVIRONMENT,), out=place / "out")
        finally:
            subprocess.run(["umount", place], check=True)


def kills(r, _):
    """Killed at twenty moments: an artifact that is there is whole, and running again finishes with the same bytes."""
    whole = fresh(r.work / "whole")
    began = time.monotonic()
    status, errors = r.run(r.compile_command(DEMO / "model.onnx", whole))
    seconds = time.monotonic() - began
    if not r.tally.check(status == 0, f"the demo compiles in {seconds:.1f} s {errors[-200:] if status else ''}"):
        return
    artifact = pathlib.Path(f"6-build.{TARGET}") / "model.npu"
    wanted, torn, unequal = (whole / artifact).read_bytes(), [], []
    for moment in range(20):
        out = fresh(r.work / "killed")
        process = subprocess.Popen(r.compile_command(DEMO / "model.onnx", out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds * (moment + 0.5) / 20)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (out / artifact).exists() and (out / artifact).read_bytes() != wanted:
            torn.append(moment)
        status, _ = r.run(r.compile_command(DEMO / "model.onnx", out))
        if status != 0 or not (out / artifact).exists() or (out / artifact).read_bytes() != wanted:
            unequal.append(moment)
    r.tally.check(not torn, f"20 kills: no artifact half-written {torn or ''}")
    r.tally.check(not unequal, f"20 kills: running again finishes with the same bytes {unequal or ''}")


GROUPS = {"models": models, "flips": flips, "calibration": calibration, "usage": usage, "foreign": foreign, "full_disk": full_disk, "kills": kills}


def run_groups(npuc, work, tally, only=""):
    damage = Damage((DEMO / "model.onnx").read_bytes(), work / "damaged")
    runner = Runner(npuc, work, tally)
    for name, group in GROUPS.items():
        if re.search(only, name):
            group(runner, damage)


def self_test(work, tally):
    """Stand-ins for npuc that accept everything, crash, or fail without a word pass no check that wants a refusal."""
    scripts = {"accepts": "exit 0", "crashes": "kill -SEGV $$", "is silent": "exit 6"}
    for name, body in scripts.items():
        stand_in = work / "stand-in"
        stand_in.write_text(f"#!/bin/sh\n{body}\n")
        stand_in.chmod(0o755)
        quiet = common.Tally()
        print(f"-- a stand-in that {name}:")
        run_groups(stand_in, work, quiet, "models|calibration|usage")
        tally.check(quiet.passed == 0 and quiet.failed > 20, f"self-test: one that {name} fails all {quiet.failed} checks")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--npuc", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help=f"groups, a regular expression over {', '.join(GROUPS)}")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    tally = common.Tally()
    if args.self_test:
        self_test(args.work.resolve(), tally)
    elif args.npuc:
        run_groups(args.npuc.resolve(), args.work.resolve(), tally, args.only)
    else:
        parser.error("--npuc is needed")
    return tally.close()


if __name__ == "__main__":
    raise SystemExit(main())
