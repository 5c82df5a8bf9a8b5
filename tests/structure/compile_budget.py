#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Units of bench/compile keep their budgets: memory exactly, time as a multiple of a fixed text compiled beside them.

A unit passes with its first good round of three, and a quarter above its seconds is noise. The narrowed host misses its
budget, so HELD keeps it from growing.

    compile_budget.py COMPILER             measures
    compile_budget.py COMPILER --self-test checks that too long, too large and broken units fail
"""
import pathlib
import sys
import tempfile

import source

sys.path.insert(0, str(source.ROOT / "bench" / "compile"))
import calibration  # noqa: E402
import measure  # noqa: E402

NOISE = 1.25
ROUNDS = 3
BUDGETED = ("umbrella", "models", "compiled_cpu", "compiled_programs")
# Unit, then for each compiler the seconds of a quiet machine and the MB that it may take.
HELD = {"narrow_host": {"g++": (35, 1100), "clang++": (31, 600)}}


def held(name, path, flags, seconds, megabytes, clock):
    """Whether the unit is within both; prints what it took."""
    for _ in range(ROUNDS):
        status, took, memory, messages = clock.measure(path, flags)
        print(f"{name}: {took:.1f} s of {seconds:.1f}, {memory:.0f} MB of {megabytes}", flush=True)
        if status or memory > megabytes:
            sys.stderr.write(messages)
            return False
        if took <= seconds * NOISE:
            return True
    return False


def faults(compiler, folder):
    clock = calibration.Clock(compiler, folder)
    for name, _, flags, seconds, megabytes in measure.UNITS:
        if name in HELD:
            seconds, megabytes = HELD[name][calibration.kind(compiler)]
        elif name not in BUDGETED:
            continue
        if not held(name, measure.HERE / f"{name}.cpp", flags, seconds, megabytes, clock):
            yield f"bench/compile/{name}.cpp exceeds {seconds} s or {megabytes} MB, or does not compile"


def self_test(compiler, folder):
    clock = calibration.Clock(compiler, folder, functions=40)
    unit = pathlib.Path(folder) / "unit.cpp"
    unit.write_text(calibration.text(120), encoding="utf-8")
    broken = pathlib.Path(folder) / "broken.cpp"
    broken.write_text("int broken(", encoding="utf-8")
    enough = 20 * clock.quiet
    cases = [(unit, enough, 1000, True), (unit, clock.quiet, 1000, False), (unit, enough, 10, False),
             (broken, enough, 1000, False)]
    return [f"{path.name} with {seconds:.2f} s and {megabytes} MB is not {good}"
            for path, seconds, megabytes, good in cases
            if held(path.name, path, ["-O2"], seconds, megabytes, clock) != good]


if __name__ == "__main__":
    check = self_test if "--self-test" in sys.argv[2:] else faults
    with tempfile.TemporaryDirectory() as work:
        sys.exit(source.report(list(check(sys.argv[1], work))))
