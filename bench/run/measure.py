#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures prefill and decode on the CPU, beside peers where their programs are given, in alternating rounds.

    measure.py --program ZRT [MODEL...] [--make ARCH:SHAPE:TYPE...] [--peer PROGRAM...] [--out FILE]

A peer is a llama-bench, which measures prefill and decode of one sequence, or a llama-batched-bench, which measures
decode of several. All read the same file, the same number of tokens, with the same number of threads and keys and
values in f16, in turn, round after round. Each run of zrt reads the machine's bandwidth and peaks just before and just
after what it times; shares are of the mean of the two. A row has the median of its rounds and their quartiles; its
ratio is the median of the rounds' ratios, zrt's tokens per second over those of the fastest peer. With --check the
program fails where a ratio is below --floor.

Models are files named NAME-TYPE.gguf, or made here by `zrt make-model` and kept in --folder. Without either, all
models of the table are made, about 20 GB.
"""
import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys

TYPES = ("q4_0", "q4_k_m", "q6_k", "q8_0", "bf16", "f16")
MODELS = [f"{shape}:{type}" for shape in ("llama:llama-1b", "qwen3:qwen3-0.6b") for type in TYPES] + [
    "qwen3moe:qwen3-moe-6b:q4_0", "granitehybrid:granite-4-h-tiny:q4_0"]


def printed(command):
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {run.returncode}\n{run.stderr[-2000:]}")
    return run.stdout


def made(args, wanted):
    """The file of ARCH:SHAPE:TYPE."""
    arch, shape, type = wanted.split(":")
    path = os.path.join(args.folder, f"{shape}-{type}.gguf")
    if not os.path.exists(path):
        os.makedirs(args.folder, exist_ok=True)
        printed([args.program, "make-model", "--arch", arch, "--shape", shape, "--type", type, "--out", path])
    return path


def of_zrt(args, model):
    """Rows of one run by test and batch. Prefill gains nothing from a batch, so it has one."""
    rows = []
    for prompt, generate, batches in ((args.prompt, 0, [1]), (0, args.generate, args.batch)):
        if prompt + generate != 0:
            rows += json.loads(printed([
                args.program, "bench", "--model", model, "-p", prompt, "-n", generate, "--depth", args.depth, "--batch",
                ",".join(map(str, batches)), "--threads", args.threads, "-r", args.repeat, "--json"]))["rows"]
    return {(row["test"], row["batch"]): row for row in rows}


def of_llama_bench(peer, args, model):
    command = [peer, "-m", model, "-t", args.threads, "-r", args.repeat, "-fa", 1, "-o", "json"]
    rows = []
    if args.prompt != 0:
        rows += json.loads(printed(command + ["-p", args.prompt, "-n", 0]))
    if args.generate != 0:
        depth = ["-d", args.depth] if args.depth != 0 else []
        rows += json.loads(printed(command + ["-p", 0, "-n", args.generate] + depth))
    return {("decode" if row["n_gen"] else "prefill", 1): row["avg_ts"] for row in rows}


def of_llama_batched_bench(peer, args, model):
    prompt = max(args.depth, 1)
    lines = printed([peer, "-m", model, "-t", args.threads, "-fa", "on", "-npp", prompt, "-ntg", args.generate, "-npl",
                     ",".join(map(str, args.batch)), "-c", max(args.batch) * (prompt + args.generate) + 64,
                     "--output-format", "jsonl"]).splitlines()
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    return {("decode", row["pl"]): row["speed_tg"] for row in rows}


def of_peer(peer, args, model):
    """Tokens per second by test and batch."""
    if "batched" in os.path.basename(peer):
        return of_llama_batched_bench(peer, args, model) if args.generate != 0 else {}
    return of_llama_bench(peer, args, model)


def spread(values):
    """Least quarter, median, greatest quarter."""
    if len(values) < 2:
        return [values[0]] * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def strongest(run):
    """The strongest instructions that most of a run's arithmetic could use, and the share of their peak."""
    if run["int8_gops"] >= run["f32_gflops"]:
        return "int8 " + run["isa"], run["share"]["int8"]
    # There are no tiles of f32.
    return "f32 " + run["isa"].replace("amx", "v4"), run["share"]["f32"]


def row_of(args, model, key, runs, peers):
    """peers: of each peer by name, its rate of each round."""
    rates = [run["tokens_per_second"] for run in runs]
    shares = [run["share"]["memory"] for run in runs]
    low, middle, high = spread(rates)
    name = os.path.basename(model).removesuffix(".gguf")
    row = {"model": name, "type": name.rpartition("-")[2], "test": key[0], "batch": key[1], "threads": args.threads,
           "tokens_per_second": middle, "quartiles": [low, high], "rounds": len(runs),
           "share_of_bandwidth": statistics.median(shares),
           "best_three_of_bandwidth": statistics.mean(sorted(shares)[-3:]),
           "share_of_peak": statistics.median(strongest(run)[1] for run in runs), "peak": strongest(runs[0])[0],
           "peers": {peer: statistics.median(seen) for peer, seen in peers.items()}}
    if peers:
        low, row["ratio"], high = spread([ours / max(theirs) for ours, *theirs in zip(rates, *peers.values())])
        row["ratio_quartiles"] = [low, high]
    return row


def rows_of(args, model):
    ours, theirs = {}, {}
    for _ in range(args.rounds):
        for key, row in of_zrt(args, model).items():
            ours.setdefault(key, []).append(row)
        for peer in args.peer:
            for key, rate in of_peer(peer, args, model).items():
                theirs.setdefault(key, {}).setdefault(peer, []).append(rate)
    return [row_of(args, model, key, runs, theirs.get(key, {})) for key, runs in ours.items()]


def print_row(row):
    low, high = row["quartiles"]
    line = (f"{row['model']:24} {row['test']:7} batch {row['batch']:<3} {row['tokens_per_second']:9.1f} tokens/s "
            f"({low:.1f}-{high:.1f})  {100 * row['share_of_bandwidth']:5.1f} % of bandwidth  "
            f"{100 * row['share_of_peak']:5.1f} % of {row['peak']}")
    if "ratio" in row:
        low, high = row["ratio_quartiles"]
        line += f"  peer {max(row['peers'].values()):.1f}  ratio {row['ratio']:.2f} ({low:.2f}-{high:.2f})"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--program", required=True, help="the program zrt")
    parser.add_argument("--make", nargs="+", default=[], metavar="ARCH:SHAPE:TYPE")
    parser.add_argument("--folder", default="build/bench", help="of the models that are made")
    parser.add_argument("--peer", nargs="+", default=[], help="a llama-bench or llama-batched-bench")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--generate", type=int, default=32)
    parser.add_argument("--depth", type=int, default=128,
                        help="positions in the cache before a decode; 0 for a llama-bench without -d")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 16, 32], help="sequences that decode together")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1, help="of each run, after one that warms up")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", help="the rows as JSON")
    parser.add_argument("--floor", type=float, default=0.5)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    wanted = args.make or ([] if args.models else MODELS)
    rows = []
    print(f"{args.threads} thread(s), {args.rounds} rounds, load {os.getloadavg()[0]:.1f} at the start")
    for model in itertools.chain(args.models, (made(args, words) for words in wanted)):
        for row in rows_of(args, model):
            print_row(row)
            rows.append(row)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump({"rows": rows}, file, indent=2)
    sys.exit(1 if args.check and any(row.get("ratio", args.floor) < args.floor for row in rows) else 0)


if __name__ == "__main__":
    main()
