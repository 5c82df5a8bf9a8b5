#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the units of this folder and holds each to its budget of seconds and memory.

    measure.py [--compiler g++ --compiler clang++-19] [--json]

Of Clang, which can tell, it prints the instantiations too. Exits 1 if a budget is exceeded or a unit does not
compile. Seconds are processor time, and the best of three runs counts for units that take less than 5 s, so that
another process does not fail the measurement by itself; sharing a core still makes a compiler slower by a third or
so.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# unit, what it is, flags, seconds, MB; the seconds are for a 2-core machine, and None is no budget.
UNITS = [
    ("umbrella", "#include <zrt/zrt.hpp>", ["-O0"], 2, 400),
    ("models", "#include <zrt/models.hpp>, <zrt/zrt.hpp>", ["-O0"], 5, 700),
    ("engine", "Engine<CpuBackend>, default weight types", ["-O2"], 40, 1500),
    ("narrow_host", "a program, Q8_0 on v3 alone", ["-O2"], 12, None),
    ("narrow_family", "the program with one family", ["-O2"], 12, None),
    ("narrow_engine", "Engine, Q8_0 on v3 alone, loader apart", ["-O2"], 12, None),
    ("narrow_loader", "its ModelLoader", ["-O2"], 12, None),
    ("narrow", "the two as one unit", ["-O2"], 12, None),
    ("compiled_cpu", "a host of zrt::cpu_compiled", ["-O2"], 5, 400),
    ("compiled_programs", "a host of zrt::programs_compiled", ["-O2"], 8, 400),
    ("compiled_reference", "a host of zrt::reference_compiled", ["-O2"], 5, 400),
    ("compiled_pm4", "a host of zrt::pm4_compiled", ["-O2"], 5, 400),
]


def measure(compiler, source, flags):
    """(exit status, seconds, MB, messages). The memory is the largest process of the compiler."""
    process = subprocess.Popen(
        [compiler, "-std=c++23", *flags, f"-I{ROOT / 'include'}", "-c", source, "-o", os.devnull],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    messages = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, messages


def instantiations(compiler, source, flags):
    """(classes, functions) that the compiler instantiates, or None where it does not tell (only Clang does)."""
    if "clang" not in os.path.basename(compiler):
        return None
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.json")
        subprocess.run([compiler, "-std=c++23", *flags, f"-I{ROOT / 'include'}", "-c", "-emit-llvm", "-Xclang",
                        "-disable-llvm-passes", f"-ftime-trace={trace}", "-ftime-trace-granularity=0", source, "-o",
                        os.path.join(folder, "unit.bc")], check=True, capture_output=True)
        with open(trace, encoding="utf-8") as file:
            names = [event["name"] for event in json.load(file)["traceEvents"]]
    return names.count("InstantiateClass"), names.count("InstantiateFunction")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", action="append")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    compilers = args.compiler or [c for c in ("g++", "clang++-19") if shutil.which(c)]
    rows, failed = [], 0
    for name, what, flags, seconds_budget, memory_budget in UNITS:
        source = HERE / f"{name}.cpp"
        for compiler in compilers:
            status, seconds, memory, messages = measure(compiler, source, flags)
            for _ in range(2 if status == 0 and seconds < 5 else 0):
                seconds = min(seconds, measure(compiler, source, flags)[1])
            good = status == 0 and (seconds_budget is None or seconds <= seconds_budget) and (
                memory_budget is None or memory <= memory_budget)
            failed += not good
            if status:
                sys.stderr.write(messages)
            counts = None if status else instantiations(compiler, source, flags)
            rows.append({"unit": name, "what": what, "compiler": compiler, "flags": " ".join(flags),
                         "seconds": round(seconds, 2), "seconds_budget": seconds_budget,
                         "mb": round(memory), "mb_budget": memory_budget, "within": good,
                         "class_instantiations": counts and counts[0],
                         "function_instantiations": counts and counts[1]})
            if not args.json:
                print(f"{what:42} {compiler:11} {flags[0]}  {seconds:6.2f} s of {seconds_budget or '-':>3}  "
                      f"{memory:5.0f} MB of {memory_budget or '-':>4}  "
                      f"{'ok' if good else 'DOES NOT COMPILE' if status else 'OVER BUDGET'}"
                      + (f"  {counts[0]} classes, {counts[1]} functions instantiated" if counts else ""), flush=True)
    if args.json:
        print(json.dumps(rows, indent=2))
    sys.exit(1 if failed or not rows else 0)


if __name__ == "__main__":
    main()
