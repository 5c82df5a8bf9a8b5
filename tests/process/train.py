#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""train.py ZRT ROOT: `zrt train` against optimizers and losses written out here, on PTIR, fused and ONNX files.

A training that stops and goes on has the bits of one that does not, at any number of threads; digits are learnt; an
ONNX file that is written computes what the parameters say; wrong calls are told what was expected.
"""
import array
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

program, root = sys.argv[1], pathlib.Path(sys.argv[2])
folder = pathlib.Path(tempfile.mkdtemp())
problems = []
ROWS, WIDE = 25, 3  # odd, so that signs do not cancel out


def expect(condition, what):
    if not condition:
        problems.append(what)


def call(*args, status=0):
    done = subprocess.run([program, "train", *map(str, args)], capture_output=True, check=False, text=True)
    if done.returncode != status:
        problems.append(f"{args} ended with {done.returncode}: {done.stderr}")
        print(problems[-1], flush=True)
    return done


def steps(*args):
    return [json.loads(line) for line in call(*args, "--json").stdout.splitlines()]


def npy(code, kind, shape, values):
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({''.join(f'{n},' for n in shape)}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() +
            array.array(kind, values).tobytes())


def write_npz(name, **members):
    with zipfile.ZipFile(folder / name, "w") as out:
        for member, (kind, shape, values) in members.items():
            out.writestr(member + ".npy", npy({"f": "<f4", "q": "<i8", "d": "<f8"}[kind], kind, shape, values))
    return folder / name


def floats(path, member):
    with zipfile.ZipFile(path) as archive:
        data = archive.read(member + ".npy")
    return list(array.array("f", data[10 + int.from_bytes(data[8:10], "little"):]))


def members(path):
    if not path.exists():
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


# --- a linear model whose training is written out: y = x w + b ------------------------------------------

draw = random.Random(5)
x = [[draw.uniform(-1, 1) for _ in range(WIDE)] for _ in range(ROWS)]
y = [sum(a * b for a, b in zip(row, (1.5, -2.0, .5))) + .25 + draw.gauss(0, .01) for row in x]
LINEAR = """spec_version = ptir.v0.4

region @0 main(%0 x: f32[?N, 3], %1 w: f32[3, 1], %2 b: f32[1]) {
  %3 = dot_general(%0, %1) {batch_lhs = [], batch_rhs = [], contract_lhs = [-1], contract_rhs = [0]}: f32[?N, 1]
  %4 = broadcast_to(%2) {result_shape = [?N, 1]}: f32[?N, 1]
  %5 y = elementwise_binary(%3, %4) {op = add}: f32[?N, 1]
  return %5: f32[?N, 1]
}
"""
linear = folder / "linear.ptir"
linear.write_text(LINEAR, encoding="utf-8")
data = write_npz("data.npz", x=("f", (ROWS, WIDE), [v for row in x for v in row]), y=("f", (ROWS, 1), y))
first = write_npz("first.npz", w=("f", (WIDE, 1), [.1, .2, .3]), b=("f", (1,), [-.1]))

LOSSES = {
    "mse": (lambda d: d * d, lambda d: 2 * d),
    "mae": (abs, lambda d: math.copysign(1, d)),
    "huber": (lambda d: d * d / 2 if abs(d) <= 1 else abs(d) - .5, lambda d: max(-1, min(1, d))),
}
OPTIMIZERS = {
    "sgd": ["--rate", .1, "--momentum", .9, "--weight-decay", .01],
    "nesterov": ["--optimizer", "sgd", "--rate", .1, "--momentum", .9, "--nesterov"],
    "adam": ["--rate", .05, "--weight-decay", .1],
    "adamw": ["--rate", .05, "--weight-decay", .1],
}


def trained(loss, optimizer, count, clip=0.0):
    """Losses and parameters of full batches, in float64."""
    value, slope = LOSSES[loss]
    p, m, v, losses = [.1, .2, .3, -.1], [0.0] * 4, [0.0] * 4, []
    for t in range(1, count + 1):
        differences = [sum(a * b for a, b in zip(row, p)) + p[3] - target for row, target in zip(x, y)]
        losses.append(sum(map(value, differences)) / ROWS)
        g = [sum(slope(d) * (row[i] if i < 3 else 1) for d, row in zip(differences, x)) / ROWS for i in range(4)]
        if clip:
            g = [n * min(1, clip / math.sqrt(sum(n * n for n in g))) for n in g]
        for i in range(4):
            if optimizer in ("sgd", "nesterov"):
                gradient = g[i] + (.01 * p[i] if optimizer == "sgd" else 0)
                m[i] = .9 * m[i] + gradient
                p[i] -= .1 * (m[i] if optimizer == "sgd" else gradient + .9 * m[i])
                continue
            gradient = g[i] + (.1 * p[i] if optimizer == "adam" else 0)
            m[i], v[i] = .9 * m[i] + .1 * gradient, .999 * v[i] + .001 * gradient * gradient
            if optimizer == "adamw":
                p[i] *= 1 - .05 * .1
            p[i] -= .05 * m[i] / (1 - .9**t) / (math.sqrt(v[i] / (1 - .999**t)) + 1e-8)
    return losses, p


def near(found, wanted, what):
    expect(len(found) == len(wanted) and all(abs(a - b) <= 2e-5 * (1 + abs(b)) for a, b in zip(found, wanted)),
           f"{what}: {found}, expected {wanted}")


full = [linear, "--data", data, "--target", "y", "--parameters", first, "--batch", ROWS, "--print", 1]
for loss in LOSSES:
    for optimizer, options in OPTIMIZERS.items():
        name = [] if "--optimizer" in options else ["--optimizer", optimizer]
        out = folder / "out.npz"
        lines = steps(*full, "--loss", loss, *name, *options, "--steps", 20, "--out", out)
        losses, p = trained(loss, optimizer, 20)
        near([line["loss"] for line in lines], losses, f"losses of {loss} by {optimizer}")
        near(floats(out, "w") + floats(out, "b"), p, f"parameters of {loss} by {optimizer}")
lines = steps(*full, "--loss", "mse", "--optimizer", "sgd", *OPTIMIZERS["sgd"], "--steps", 20, "--clip-norm", .5)
near([line["loss"] for line in lines], trained("mse", "sgd", 20, .5)[0], "losses with --clip-norm")

# Rates.
WAYS = {"constant": lambda t: 1, "linear": lambda t: 1 - t, "cosine": lambda t: (1 + math.cos(math.pi * t)) / 2}
for name, way in WAYS.items():
    lines = steps(*full, "--loss", "mse", "--rate", .5, "--last-rate", .1, "--schedule", name, "--warmup", 4, "--steps",
                  13)
    last = .5 if name == "constant" else .1
    wanted = [.5 * (t + 1) / 4 if t < 4 else last + (.5 - last) * way((t - 4) / 8) for t in range(13)]
    near([line["rate"] for line in lines], wanted, f"rates of {name}")

# What --freeze names stays.
out = folder / "frozen.npz"
lines = steps(*full, "--loss", "mse", "--steps", 5, "--freeze", "w*", "--out", out)
near([lines[0]["loss"]], trained("mse", "sgd", 1)[0], "the loss with values for a frozen parameter")
expect(list(members(out)) == ["b.npy"], "a frozen parameter is written")

# --- a fused program with dropout, whose loss is its output -----------------------------------------------

DOT = {"batch_lhs": [], "batch_rhs": [], "contract_lhs": [-1], "contract_rhs": [0]}
OPS = [("dropout", [0], {"rate": 0.5}), ("dot_general", [3, 1], DOT), ("elementwise_binary", [4, 2], {"op": "sub"}),
       ("elementwise_binary", [5, 5], {"op": "mul"})]
FUSED = {"version": 1, "feeds": [0, 1, 2],
         "steps": [{"step_id": i, "op_name": op, "input_ids": ids, "attrs": attrs, "result_id": 3 + i,
                    "mode_sensitive": op == "dropout"} for i, (op, ids, attrs) in enumerate(OPS)],
         "outputs": {"square": 6}, "state_in": [], "state_out": [],
         "meta": [{"id": 1, "dtype": "f32", "shape": [3, 1], "device": "cpu"}]}
fused = folder / "fused.json"
fused.write_text(json.dumps(FUSED), encoding="utf-8")
by_id = write_npz("by_id.npz", **{"0": ("f", (ROWS, WIDE), [v for row in x for v in row]), "2": ("f", (ROWS, 1), y)})
common = [fused, "--data", by_id, "--loss", "output", "--batch", 4, "--hold-out", .25, "--print", 2, "--rate", .01]
whole = steps(*common, "--steps", 12, "--out", folder / "whole.npz", "--checkpoint", folder / "kept.npz",
              "--threads", 2)
call(*common, "--steps", 5, "--checkpoint", folder / "part.npz")
rest = steps(*common, "--steps", 12, "--resume", folder / "part.npz", "--out", folder / "rest.npz")
expect(members(folder / "whole.npz") == members(folder / "rest.npz"), "a training that goes on has other bits")
expect([line["loss"] for line in rest][-3:] == [line["loss"] for line in whole][-3:], "its losses are others")
expect(all("held_out_loss" in line for line in whole), "nothing is held out")
expect(steps(*common, "--steps", 4, "--seed", 2)[-1]["loss"] != steps(*common, "--steps", 4)[-1]["loss"],
       "the seed decides nothing")
for change, what in ((["--seed", 3, "--batch", 4], "another --seed"), (["--batch", 2], "another --batch")):
    without = [word for word in common if word not in ("--batch", 4)]
    message = call(*without, *change, "--steps", 12, "--resume", folder / "part.npz", status=1).stderr
    expect(what in message, f"a checkpoint of {what} is taken: {message}")
broken = bytearray((folder / "part.npz").read_bytes())
broken[len(broken) // 3] ^= 1
(folder / "broken.npz").write_bytes(broken)
call(*common, "--steps", 12, "--resume", folder / "broken.npz", status=1)

# --- an ONNX file ------------------------------------------------------------------------------------------


def field(number, payload):
    def varint(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def onnx_tensor(name, shape, values, raw=True):
    body = b"".join(field(1, n) for n in shape) + field(2, 1) + field(8, name)
    packed = struct.pack(f"<{len(values)}f", *values)
    if raw:
        return body + field(9, packed)
    return body + b"".join(b"\x25" + packed[i:i + 4] for i in range(0, len(packed), 4))


def onnx_value(name, shape):
    dims = b"".join(field(1, field(1, n) if isinstance(n, int) else field(2, n)) for n in shape)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


def onnx_node(op, inputs, output):
    return b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, op)


def onnx_model(raw):
    graph = (field(1, onnx_node("MatMul", ["x", "w"], "h")) + field(1, onnx_node("Add", ["h", "b"], "y_hat")) +
             field(2, "linear") + field(5, onnx_tensor("w", (WIDE, 1), [.1, .2, .3], raw)) +
             field(5, onnx_tensor("b", (1,), [-.1], raw)) + field(11, onnx_value("x", ("N", WIDE))) +
             field(12, onnx_value("y_hat", ("N", 1))))
    path = folder / f"linear_{raw}.onnx"
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
    return path


onnx, made = onnx_model(True), folder / "made.onnx"
lines = steps(onnx, "--data", data, "--target", "y", "--loss", "mse", "--optimizer", "adam", *OPTIMIZERS["adam"],
              "--batch", ROWS, "--steps", 20, "--print", 1, "--out", made, "--curve", folder / "curve.svg")
losses, p = trained("mse", "adam", 20)
near([line["loss"] for line in lines], losses, "losses of an ONNX file")
done = subprocess.run([program, "onnx", "run", made, "--feed", data, "--out", folder / "results"], capture_output=True,
                      check=False, text=True)
if "no input y" in done.stderr:
    only = write_npz("x.npz", x=("f", (ROWS, WIDE), [v for row in x for v in row]))
    done = subprocess.run([program, "onnx", "run", made, "--feed", only, "--out", folder / "results"],
                          capture_output=True, check=False, text=True)
expect(done.returncode == 0, f"the file that was written does not run: {done.stderr}")
if done.returncode == 0:
    result = (folder / "results" / "y_hat.npy").read_bytes()
    found = array.array("f", result[10 + int.from_bytes(result[8:10], "little"):])
    near(list(found), [sum(a * b for a, b in zip(row, p)) + p[3] for row in x], "results of the written file")
expect((folder / "curve.svg").read_text(encoding="utf-8").startswith("<svg"), "no curve is drawn")
one_by_one = call(onnx_model(False), "--data", data, "--target", "y", "--loss", "mse", "--batch", ROWS, "--steps", 2,
                  "--out", made, status=1).stderr
expect("write a .npz" in one_by_one, f"elements one by one are written: {one_by_one}")

# --- digits --------------------------------------------------------------------------------------------------

digits = folder / "digits.npz"
subprocess.run([sys.executable, root / "examples/train/digits.py", digits, "--count", "800"], check=True)
lines = steps(root / "examples/train/digits.ptir", "--data", digits, "--target", "digits", "--hold-out", .2, "--epochs",
              16, "--rate", .003, "--print", 40)
expect(lines[-1]["held_out_accuracy"] > .8, f"digits are not learnt: {lines[-1]}")
expect(lines[-1]["step"] == 16 * (640 // 32), "epochs are counted wrongly")

# --- wrong calls ---------------------------------------------------------------------------------------------

for args, status, words in (
        ([linear, "--data", data], 2, "--target"),
        ([linear, "--data", data, "--target", "z", "--loss", "mse", "--batch", 4], 1, "no tensor z"),
        ([linear, "--data", data, "--target", "y", "--loss", "mse"], 1, "expected at least a batch of 32"),
        ([linear, "--data", data, "--target", "y", "--loss", "mse", "--batch", 4, "--output", "q"], 1, "no output q"),
        ([linear, "--data", data, "--target", "x", "--loss", "mse", "--batch", 4], 1, "f32[4, 3]"),
        ([linear, "--data", write_npz("f64.npz", x=("d", (4, 3), [0.0] * 12)), "--loss", "output", "--batch", 4], 1,
         "expected f32, the examples have f64"),
        ([linear, "--data", write_npz("odd.npz", x=("f", (4, 3), [0.0] * 12), y=("f", (3, 1), [0.0] * 3)), "--loss",
          "output"], 1, "y has 3 examples, x has 4"),
        ([linear, "--data", data, "--target", "y", "--loss", "mse", "--batch", 4, "--rate", 100000, "--optimizer",
          "sgd"], 1, "no finite number"),
        ([linear, "--data", data, "--target", "y", "--loss", "mse", "--batch", 4, "--out", "a.onnx"], 2, ".npz"),
        ([linear, "--data", data, "--target", "y", "--loss", "mse", "--batch", 4, "--freeze", "*"], 1, "no parameters"),
        ([fused, "--data", data, "--loss", "output", "--batch", 4], 1, "feed 0 has neither")):
    message = call(*args, status=status).stderr
    expect(words in message, f"{args}: expected '{words}' in: {message}")

for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
