#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the plans of three models with the texts in tests/data/plans, line by line.

usage: plan_texts.py ZRT SOURCE SHARED [--write]

ZRT is the program, SOURCE the repository's root, SHARED the folder with the golden data. --write writes the texts anew:
a change of a plan is read before it is kept. Exit status 77 (skipped) where a model's file is not there.
"""
import difflib
import pathlib
import subprocess
import sys

SKIPPED = 77


def main():
    zrt, source, shared = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    write = "--write" in sys.argv[4:]
    models = {
        "llama3": shared / "golden" / "arch" / "llama-rope3.gguf",
        "qwen3moe": shared / "golden" / "arch" / "qwen3moe.gguf",
        "granitehybrid": source / "tests" / "data" / "peer" / "granitehybrid-moe.gguf",
    }
    status = 0
    for name, model in models.items():
        if not model.exists():
            print(f"NOT RUN: {model} is not there")
            status = status or SKIPPED
            continue
        plan = subprocess.run([zrt, "plan", "--model", model, "--backend", "reference"], check=True, text=True,
                              capture_output=True).stdout
        kept = source / "tests" / "data" / "plans" / f"{name}.txt"
        if write:
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(plan)
            continue
        expected = kept.read_text()
        if plan == expected:
            print(f"{name}: {len(plan.splitlines())} lines as they were")
            continue
        status = 1
        print(f"{name}: the plan differs from {kept.name}; if it should, run this script with --write")
        sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), plan.splitlines(True), "kept", "now"))
    sys.exit(status)


if __name__ == "__main__":
    main()
