#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/process/bench_cpu.py: what ./dev bench cpu runs prints a row for each test and batch, and writes it as JSON.
"""usage: bench_cpu.py ZRT ROOT

Measures a model of the examples and one that it makes, beside stand-ins for the peers' programs, whose rates are known.
"""
import json
import os
import stat
import subprocess
import sys
import tempfile

PREFILL, DECODE, BATCHED = 1000.0, 1e-3, 1e9
LLAMA_BENCH = f"""#!{sys.executable}
import json, sys
prompt, generated = (int(sys.argv[sys.argv.index(option) + 1]) for option in ("-p", "-n"))
print(json.dumps([{{"n_prompt": prompt, "n_gen": generated, "avg_ts": {DECODE} if generated else {PREFILL}}}]))
"""
BATCHED_BENCH = f"""#!{sys.executable}
import json, sys
print("a line of its log")
for batch in sys.argv[sys.argv.index("-npl") + 1].split(","):
    print(json.dumps({{"pl": int(batch), "speed_tg": {BATCHED}}}))
"""


def stand_in(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def check_row(row, model):
    """A row's fields, and that figures stand in the order that their names say."""
    assert (row["model"], row["type"], row["threads"]) == (model, model.rpartition("-")[2], 1), row
    low, high = row["quartiles"]
    assert 0 < low <= row["tokens_per_second"] <= high, row
    assert min(row["share_of_bandwidth"], row["best_three_of_bandwidth"], row["share_of_peak"]) > 0, row
    assert row["peak"].split()[0] in ("int8", "f32"), row
    expected = {("prefill", 1): [PREFILL], ("decode", 1): [DECODE, BATCHED], ("decode", 2): [BATCHED]}
    rates = expected[row["test"], row["batch"]]
    assert sorted(row["peers"].values()) == rates, row
    # The peers' rates do not change, so the median of the ratios is the ratio of the medians.
    assert abs(row["ratio"] * max(rates) / row["tokens_per_second"] - 1) < 1e-6, row


def main():
    program, root = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        peers = [stand_in(folder, "llama-bench", LLAMA_BENCH), stand_in(folder, "llama-batched-bench", BATCHED_BENCH)]
        out = os.path.join(folder, "rows.json")

        def measure(*options):
            return subprocess.run(
                [sys.executable, os.path.join(root, "bench", "run", "measure.py"), "--program", program, "--folder",
                 folder, "--generate", "3", "--depth", "2", "--threads", "1", "--out", out,
                 *options], capture_output=True, text=True)

        run = measure(os.path.join(root, "examples", "models", "bard-q8_0.gguf"), "--prompt", "8", "--rounds", "2",
                      "--batch", "1", "2", "--peer", *peers)
        assert run.returncode == 0, run.stderr
        with open(out, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        assert [(row["test"], row["batch"]) for row in rows] == [("prefill", 1), ("decode", 1), ("decode", 2)], rows
        for row in rows:
            check_row(row, "bard-q8_0")
        lines = run.stdout.splitlines()[1:]
        assert len(lines) == 3 and all("ratio" in line and "bandwidth" in line for line in lines), run.stdout

        # A model that is made is kept; without peers there is no ratio, and nothing to miss.
        tiny = ["--make", "llama:tiny:q4_0", "--prompt", "0", "--rounds", "1", "--batch", "1", "--check"]
        run = measure(*tiny)
        assert run.returncode == 0, run.stderr
        assert os.path.exists(os.path.join(folder, "tiny-q4_0.gguf"))
        assert "ratio" not in run.stdout and run.stdout.count("tiny-q4_0") == 1, run.stdout
        run = measure(*tiny, "--peer", peers[1])
        assert run.returncode == 1 and "ratio 0.00" in run.stdout, run.stdout + run.stderr

        run = measure(os.path.join(folder, "absent.gguf"), "--rounds", "1")
        assert run.returncode != 0 and "absent.gguf" in run.stderr, run.stderr


if __name__ == "__main__":
    main()
