#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Demands that one_set.py kept the same lines "bits ..." for every set, and that all sets together ran enough
schedules, none of them twice.

    compare_sets.py --work DIR --schedules LEAST SET...

Exit status 77: what ran agrees, but a set was not run here.
"""
import argparse
import pathlib
import re
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--schedules", type=int, required=True)
    parser.add_argument("sets", nargs="+")
    args = parser.parse_args()
    outputs, unrun = {}, []
    for name in args.sets:
        text = (args.work / f"{name}.out").read_text(encoding="utf-8")
        if text.startswith("not run: "):
            unrun.append(name)
        else:
            outputs[name] = text
        print(f"{name}:\n{text}")
    bits = {tuple(re.findall(r"^bits .*$", text, re.MULTILINE)) for text in outputs.values()}
    if len(bits) != 1 or () in bits:
        sys.exit("the sets of flags do not give the same bits")
    ran = [line for text in outputs.values() for line in text.splitlines() if " schedules, " in line]
    if len(set(ran)) != len(ran):
        sys.exit("two sets of flags ran the same schedules")
    schedules = sum(int(n) for text in outputs.values() for n in re.findall(r"(\d+) schedules", text))
    print(f"{schedules} schedules under {len(outputs)} sets of flags")
    if unrun:
        print("NOT COVERED ON THIS PROCESSOR:", *unrun)
        sys.exit(77)
    if schedules < args.schedules:
        sys.exit(f"expected at least {args.schedules} schedules")


if __name__ == "__main__":
    main()
