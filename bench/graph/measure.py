#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures zrt's tensor programs against PyTorch, row by row, in one run.

Rows and their shapes are those of the graph runtime's tables: a perceptron of three square layers, and a pre-norm
transformer block of four heads. For each row both run in turn, block after block, on the same weights, the same
input and the same number of threads; a block's ratio is that of its medians, a row's the median of its blocks'.
PyTorch's block runs with softmax written out and with its fused attention; in each block the faster one counts.

The results are compared as well. The program fails where they differ, and with --check where a bound is missed.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

MISSING = """PyTorch is missing. On Debian 12: apt-get install python3-torch libopenblas0-pthread, and run this with
/usr/bin/python3. Without libopenblas0-pthread PyTorch multiplies by the reference BLAS, which is ten times slower
and no fair peer."""

# Batch, tokens (0 for a perceptron), width.
ROWS = [(1, 0, 512), (32, 0, 512), (128, 0, 512), (1, 0, 2048), (32, 0, 2048),
        (1, 16, 64), (4, 16, 64), (1, 64, 128), (4, 64, 128), (1, 128, 256), (4, 128, 256)]
HEADS = 4
ROW_BOUND = 1.03
MEAN_BOUND = 0.85
SMALLEST_BOUND = 0.25  # of 1x16x64
OVERHEAD_BOUND = 50.0  # nanoseconds per instruction
TOLERANCE = 1e-4       # of the largest magnitude


def row_name(row):
    return "×".join(str(n) for n in row if n)


def perceptron(torch, width):
    layer = lambda: torch.nn.Linear(width, width)
    relu = torch.nn.ReLU
    return torch.nn.Sequential(layer(), relu(), layer(), relu(), layer())


def block_class(torch):
    functional = torch.nn.functional
    fused = getattr(functional, "scaled_dot_product_attention", None)
    if fused is None:
        before_2_0 = getattr(functional, "_scaled_dot_product_attention", None)
        fused = before_2_0 and (lambda q, k, v: before_2_0(q, k, v)[0])

    class Block(torch.nn.Module):
        # Members stand in the order in which the tensor program takes its weights.
        def __init__(self, width):
            super().__init__()
            self.norm_in = torch.nn.LayerNorm(width)
            self.q, self.k, self.v, self.out = (torch.nn.Linear(width, width) for _ in range(4))
            self.norm_mid = torch.nn.LayerNorm(width)
            self.up = torch.nn.Linear(width, 4 * width)
            self.down = torch.nn.Linear(4 * width, width)
            self.attend = self.plain

        @staticmethod
        def plain(q, k, v):
            scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(q.shape[-1]))
            return functional.softmax(scores, dim=-1) @ v

        def forward(self, x):
            normed = self.norm_in(x)
            heads = lambda y: y.view(*y.shape[:2], HEADS, -1).transpose(1, 2)
            mixed = self.attend(heads(self.q(normed)), heads(self.k(normed)), heads(self.v(normed)))
            mid = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
            return mid + self.down(functional.relu(self.up(self.norm_mid(mid))))

    return Block, fused


def models_of(torch, row):
    """The row's modules, with the same weights, by name."""
    torch.manual_seed(7)
    if not row[1]:
        return {"eager": perceptron(torch, row[2])}
    block, fused = block_class(torch)
    models = {"softmax": block(row[2])}
    if fused:
        models["fused"] = block(row[2])
        models["fused"].load_state_dict(models["softmax"].state_dict())
        models["fused"].attend = fused
    return models


class Program:
    """A row on zrt, in a process of its own; what it prints first is `told`."""

    def __init__(self, name, path, *arguments):
        self.process = subprocess.Popen([path, *map(str, arguments)], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        first = self.process.stdout.readline()
        if not first.strip():
            sys.exit(f"{path} does not run {name}")
        self.told = json.loads(first)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def run(self, times):
        return [float(each) / 1e3 for each in self.ask(f"run {times}").split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run_model(model, x, times):
    took = []
    for _ in range(times):
        start = time.perf_counter_ns()
        model(x)
        took.append((time.perf_counter_ns() - start) / 1e3)
    return took


def measure(torch, args, row, folder):
    models = models_of(torch, row)
    first = next(iter(models.values()))
    x = torch.randn(*(n for n in row if n))
    data = folder / "data"
    data.write_bytes(b"".join(p.detach().numpy().tobytes() for p in [*first.parameters(), x]))
    program = Program(row_name(row), args.program, data, *row, args.threads)
    expected = first(x)
    runners = {"zrt": program.run} | {
        name: (lambda times, model=model: run_model(model, x, times)) for name, model in models.items()}
    # As many runs as take the block's time, after some that warm up.
    times = {}
    for name, run in runners.items():
        run(3)
        times[name] = max(3, int(args.block_ms * 1e3 / statistics.median(run(5))))
    blocks = [{name: statistics.median(run(times[name])) for name, run in runners.items()} for _ in range(args.blocks)]
    program.ask(f"output {folder / 'output'}")
    found = torch.frombuffer(bytearray((folder / "output").read_bytes()), dtype=torch.float32)
    program.close()
    off = ((found - expected.flatten()).abs().max() / expected.abs().max()).item()
    if not off <= TOLERANCE:
        sys.exit(f"{row_name(row)}: zrt is {off} of the largest magnitude away from PyTorch")
    ratios = sorted(b["zrt"] / min(b[name] for name in models) for b in blocks)
    return {"row": row_name(row), "us": {name: statistics.median(b[name] for b in blocks) for name in runners},
            "ratio": statistics.median(ratios), "ratios": ratios,
            "off": off, **program.told}


def blas_of():
    """The library that multiplies for PyTorch, by what this process has loaded."""
    names = {pathlib.Path(line.split()[-1]).name for line in open("/proc/self/maps") if ".so" in line}
    for word in ("mkl_rt", "openblas", "blis"):
        if found := sorted(n for n in names if word in n):
            return found[0]
    return next(iter(sorted(n for n in names if n.startswith("libblas"))), "its own code")


def load_torch(args):
    """PyTorch with the threads and the products that `args` names; begins the program anew where that takes it."""
    # Read when PyTorch is loaded, so set before, and its libraries are found anew.
    wanted = {"OMP_NUM_THREADS": str(args.threads), "OPENBLAS_NUM_THREADS": str(args.threads)}
    if args.blas:
        wanted["LD_LIBRARY_PATH"] = args.blas
    # OpenBLAS older than the processor falls back to its slowest kernels.
    if "OPENBLAS_CORETYPE" not in os.environ and "avx512f" in pathlib.Path("/proc/cpuinfo").read_text():
        wanted["OPENBLAS_CORETYPE"] = "SkylakeX"
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})
    try:
        import torch
    except ImportError:
        sys.exit(MISSING)
    torch.set_num_threads(args.threads)
    torch.set_grad_enabled(False)
    return torch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--blocks", type=int, default=11)
    parser.add_argument("--block-ms", type=float, default=20.0)
    parser.add_argument("--rows", help="rows by name, comma-separated; 'x' may stand for '×'")
    parser.add_argument("--blas", help="folder with the libblas.so.3 that PyTorch is to use")
    parser.add_argument("--check", action="store_true", help="fail where a bound is missed")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    torch = load_torch(args)

    names = args.rows.replace("x", "×").split(",") if args.rows else [row_name(row) for row in ROWS]
    print(f"PyTorch {torch.__version__}, products by {blas_of()}; {args.threads} thread(s), {args.blocks} blocks of "
          f"{args.block_ms:g} ms", file=sys.stderr)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        if not args.json:
            print("| row | zrt | PyTorch | with fused attention | ratio to the faster | quartiles | instructions |\n"
                  "|---|---|---|---|---|---|---|")
        for row in ROWS:
            if row_name(row) not in names:
                continue
            r = measure(torch, args, row, pathlib.Path(folder))
            results.append(r)
            if not args.json:
                us = list(r["us"].values()) + [None]
                cells = [f"{v:.1f} us" if v else "" for v in us[:3]]
                quarter = len(r["ratios"]) // 4
                print(f"| {r['row']} | {cells[0]} | {cells[1]} | {cells[2]} | {r['ratio']:.2f} | "
                      f"{r['ratios'][quarter]:.2f}-{r['ratios'][-1 - quarter]:.2f} | {len(r['ops'])} |", flush=True)
    mean = math.exp(statistics.fmean(math.log(r["ratio"]) for r in results))
    overhead = max(r["overhead_ns"] for r in results)
    if args.json:
        print(json.dumps({"torch": torch.__version__, "blas": blas_of(), "threads": args.threads, "rows": results,
                          "geometric_mean": mean, "overhead_ns": overhead}))
    else:
        print(f"\ngeometric mean {mean:.2f}; at most {overhead:.1f} ns per instruction besides the kernels")
    missed = [r["row"] for r in results if r["ratio"] > (SMALLEST_BOUND if r["row"] == "1×16×64" else ROW_BOUND)]
    missed += ["the geometric mean"] * (mean > MEAN_BOUND) + ["the overhead"] * (overhead > OVERHEAD_BOUND)
    print("bounds missed: " + ", ".join(missed) if missed else "every bound holds", file=sys.stderr)
    sys.exit(1 if args.check and missed else 0)


if __name__ == "__main__":
    main()
