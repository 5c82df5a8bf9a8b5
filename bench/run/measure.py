#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures zrt's prefill and decode, beside llama.cpp's where its llama-bench is given, in one run.

Both read the same file, the same number of tokens, with the same number of threads and keys and values in f16, in
turn, round after round; a row's ratio is the median of its rounds' (zrt's tokens per second over the peer's), with
the quartiles beside it. With --check the program fails where a median is below --floor.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


def of_zrt(args, model):
    """Tokens per second of prefill and decode."""
    out = subprocess.run([args.program, "bench", "--model", model, "-p", str(args.prompt), "-n", str(args.generate),
                          "--batch", "1", "--threads", str(args.threads), "-r", str(args.repeat), "--json"],
                         check=True, capture_output=True, text=True).stdout
    rows = {row["test"]: row["tokens_per_second"] for row in json.loads(out)["rows"]}
    return rows["prefill"], rows["decode"]


def of_peer(args, model):
    out = subprocess.run([args.peer, "-m", model, "-p", str(args.prompt), "-n", str(args.generate),
                          "-t", str(args.threads), "-r", str(args.repeat), "-o", "json"],
                         check=True, capture_output=True, text=True).stdout
    rows = json.loads(out)
    prefill = next(row["avg_ts"] for row in rows if row["n_prompt"] and not row["n_gen"])
    decode = next(row["avg_ts"] for row in rows if row["n_gen"] and not row["n_prompt"])
    return prefill, decode


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--program", required=True, help="the program zrt")
    parser.add_argument("--peer", help="llama.cpp's llama-bench")
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--generate", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--floor", type=float, default=0.5)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    missed = 0
    print(f"{args.threads} thread(s), {args.rounds} rounds, load {os.getloadavg()[0]:.1f} at the start")
    for model in args.models:
        ours, theirs = [], []
        for _ in range(args.rounds):
            ours.append(of_zrt(args, model))
            if args.peer:
                theirs.append(of_peer(args, model))
        for at, row in enumerate((f"prefill of {args.prompt}", f"decode of {args.generate}")):
            line = f"{os.path.basename(model):20} {row:15} zrt {statistics.median(v[at] for v in ours):8.0f} tokens/s"
            if theirs:
                low, middle, high = quartiles([a[at] / b[at] for a, b in zip(ours, theirs)])
                missed += middle < args.floor
                line += (f"  peer {statistics.median(v[at] for v in theirs):8.0f}  ratio {middle:.2f} "
                         f"({low:.2f}-{high:.2f})")
            print(line, flush=True)
    sys.exit(1 if args.check and missed else 0)


if __name__ == "__main__":
    main()
