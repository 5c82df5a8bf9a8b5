#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one libFuzzer program over its seeds and for some seconds, then checks its line coverage.

The source states what it must cover, one line per header, and may name files of the system as seeds, and the
most bytes that an input has; `cases` names a file of tests/tools/onnx_operator_cases.py, whose models are seeds:
    // covers: zrt/model/gguf.hpp 90
    // seeds: /usr/share/data/*/file.bin
    // cases: ../data/onnx_operators.pb
    // max-len: 64
Its own seeds lie in corpus/NAME/, a file each, or in corpus/NAME.hex, a line each.
The program fails on a crash, a leak, an input that takes 10 s, 2 GB of memory, or lower coverage.
"""
import argparse
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys


def fields(message):
    """(number, bytes) of each field of bytes of a protocol buffers message that has no others."""
    at = 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        number, size = varint() >> 3, varint()
        yield number, message[at:at + size]
        at += size


def models(path):
    """The models of a file of cases."""
    for _, case in fields(path.read_bytes()):
        yield from (model for number, model in fields(case) if number == 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--profdata", required=True)
    parser.add_argument("--cov", required=True)
    args = parser.parse_args()

    shutil.rmtree(args.work, ignore_errors=True)
    found = args.work / "found"
    found.mkdir(parents=True)
    corpora = [found]
    seeds = args.source.parent / "corpus" / args.source.stem
    if seeds.is_dir():
        corpora.append(seeds)
    lines = seeds.with_suffix(".hex")
    if lines.is_file():
        unpacked = args.work / "unpacked"
        unpacked.mkdir()
        for i, line in enumerate(lines.read_text().split()):
            (unpacked / str(i)).write_bytes(bytes.fromhex(line))
        corpora.append(unpacked)
    text = args.source.read_text()
    longest = re.search(r"^// max-len: (\d+)\s*$", text, re.M)
    for pattern in re.findall(r"^// seeds: (\S+)\s*$", text, re.M):
        given = args.work / "given"
        given.mkdir(exist_ok=True)
        for i, seed in enumerate(sorted(glob.glob(pattern))):
            if not longest or os.path.getsize(seed) <= int(longest[1]):
                shutil.copy(seed, given / str(i))
        if not any(given.iterdir()):
            sys.exit(f"no seed {pattern}: is its package installed?")
        corpora.append(given)
    for path in re.findall(r"^// cases: (\S+)\s*$", text, re.M):
        made = args.work / "cases"
        made.mkdir(exist_ok=True)
        for i, model in enumerate(models(args.source.parent / path)):
            (made / str(i)).write_bytes(model)
        corpora.append(made)
    raw = args.work / "raw.profraw"
    run = subprocess.run(
        [args.program, *corpora, f"-max_total_time={args.seconds}", "-timeout=10",
         "-rss_limit_mb=2048", "-seed=1", "-print_final_stats=1", f"-artifact_prefix={args.work}/",
         *([f"-max_len={longest[1]}", "-len_control=0"] if longest else [])],
        # Short stacks of allocations: taking long ones is most of the time of what allocates much.
        env={**os.environ, "LLVM_PROFILE_FILE": str(raw), "ASAN_OPTIONS": "malloc_context_size=2:quarantine_size_mb=16"}, stderr=subprocess.STDOUT,
        stdout=subprocess.PIPE, text=True, errors="replace")
    print("\n".join(run.stdout.splitlines()[-40:]))
    if run.returncode != 0:
        sys.exit(f"{args.program.name} failed with {run.returncode}")

    wanted = re.findall(r"^// covers: (\S+) (\d+)\s*$", text, re.M)
    if not wanted:
        return
    merged = args.work / "merged.profdata"
    subprocess.run([args.profdata, "merge", "-sparse", raw, "-o", merged], check=True)
    report = json.loads(subprocess.run(
        [args.cov, "export", "-summary-only", f"-instr-profile={merged}", args.program],
        check=True, stdout=subprocess.PIPE, text=True).stdout)
    files = {f["filename"]: f["summary"]["lines"] for f in report["data"][0]["files"]}
    low = 0
    for header, percent in wanted:
        lines = [s for name, s in files.items() if name.endswith("/" + header)]
        reached = lines[0]["percent"] if lines else 0.0
        print(f"{header}: {reached:.1f} % of its lines, {percent} % demanded")
        low += reached < int(percent)
    sys.exit(1 if low else 0)


if __name__ == "__main__":
    main()
