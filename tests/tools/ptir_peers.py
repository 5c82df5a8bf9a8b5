#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What numpy and torch give for the cases of ptir_vectors_arithmetic.py, which calls `agree` for each of its own.

They compute in float32, float64 and integers, sums in the lanes that the ops' headers name; exp, log,
tanh, erf, sin and cos are torch's in float64. A result must be the vector's, or lie within the bound
that the case states. What only exact arithmetic gives:

- a cast, and the last rounding to a type that numpy lacks: cast_vectors.py, which is compared with
  numpy and torch by its own --numpy;
- fused multiply-adds of float64, whose products numpy rounds: dot_general in f64 is compared within
  2^-50 of the sum of the products' sizes, in f32 with the sums of exact products in long double;
- Philox4x32-10, which neither has on a CPU: checked against the paper's numbers;
- which of two zeros maximum, minimum and clamp give.
"""
import struct

import numpy as np
import torch

import cast_vectors as cv
import ptir_vectors_edges as edges
import ptir_vectors_movement as mv

DTYPES = ["i1", "si4", "ui4", "si8", "ui8", "si16", "ui16", "si32", "ui32", "si64", "ui64",
          "fp8_e4m3", "fp8_e5m2", "bf16", "f16", "f32", "f64", "cf32", "cf64"]
UNARY = list((edges.UNARY | {"sin": edges.in_f64(torch.sin), "cos": edges.in_f64(torch.cos)}).values())
BINARY, COMPARE = list(edges.BINARY.values()), list(edges.COMPARE.values())
ALONE = ("select", "stop_gradient", "cast", "rng_uniform", "rng_normal")  # moved, or compared elsewhere
compared = {}


def lanes(kind, d, values):
    """Folds the last axis in 16 lanes, then halves of them."""
    step = {"sum": np.add, "max": np.fmax, "min": np.fmin}[kind]
    total = np.full(values.shape[:-1] + (16,), edges.end(kind, d), values.dtype)
    for i in range(values.shape[-1]):
        total[..., i % 16] = step(total[..., i % 16], values[..., i])
    return halves(step, total)


def halves(step, total):
    for half in (8, 4, 2, 1):
        total = step(total[..., :half], total[..., half:2 * half])
    return total[..., 0]


def widened(t, d):
    """The elements, cast to the type d, in numpy's own."""
    codes = [cv.cast(t.dtype, d, int(code)) for code in t.codes.ravel()]
    return edges.numbers(mv.Tensor(d, mv.array(codes, t.codes.shape)), edges.native(d))


def reduced(block, x, y):
    kind, mask, d = ("sum", "max", "min")[block[0]], block[2], DTYPES[block[3]]
    axes = [axis for axis in range(x.codes.ndim) if mask >> axis & 1]
    values = np.moveaxis(widened(x, d), axes, range(-len(axes), 0)) if axes else widened(x, d)
    left = values.shape[:values.ndim - len(axes)]
    folded = lanes(kind, d, values.reshape(left + (int(np.prod(values.shape[values.ndim - len(axes):])),)))
    codes = edges.stored(d, folded)
    return [cv.cast(d, y.dtype, int(code)) for code in codes.ravel()]


def dotted(block, a, b, y):
    lists, counts = [list(block[8 * k:8 * k + 8]) for k in range(4)], struct.unpack("<II", block[32:40])
    (bl, br), (cl, cr) = ([axes[:counts[k]] for axes in lists[2 * k:2 * k + 2]] for k in (0, 1))
    d = DTYPES[block[40]]
    sides = []
    for t, batch, contract in ((a, bl, cl), (b, br, cr)):
        values = edges.numbers(t, edges.native(t.dtype)) if t.dtype in cv.FLOATS and edges.native(t.dtype) == (
            edges.native(d) if d in cv.FLOATS else None) else widened(t, d)
        free = [axis for axis in range(values.ndim) if axis not in batch + contract]
        values = values.transpose(batch + free + contract)
        shape = values.shape
        size = lambda axes: int(np.prod(axes))
        sides.append(values.reshape(size(shape[:len(batch)]), size(shape[len(batch):len(batch) + len(free)]),
                                    size(shape[len(batch) + len(free):])))
    p, q = sides[0][:, :, None, :], sides[1][:, None, :, :]
    kind = object if d in cv.INTEGERS else np.longdouble
    exact, total = p.astype(kind) * q.astype(kind), None
    if d in cv.INTEGERS:
        codes = edges.stored(d, exact.sum(-1) if exact.shape[-1] else np.zeros(exact.shape[:-1], object))
        return [cv.cast(d, y.dtype, int(code)) for code in codes.ravel()], None
    total = np.zeros(exact.shape[:-1] + (16,), edges.native(d))
    for i in range(exact.shape[-1]):
        total[..., i % 16] = (exact[..., i] + total[..., i % 16]).astype(edges.native(d))
    codes = edges.stored(d, halves(np.add, total))
    slack = np.ldexp(np.abs(exact).sum(-1), -50).ravel() if d == "f64" else None
    return [cv.cast(d, y.dtype, int(code)) for code in codes.ravel()], slack


def normed(block, x, gamma, beta, y):
    epsilon, axis, _ = struct.unpack("<dII", block)
    v = np.moveaxis(edges.numbers(x, edges.native(x.dtype)), axis, -1)
    d = "f64" if x.dtype == "f64" else "f32"
    n = v.dtype.type(v.shape[-1])
    c = v - (lanes("sum", d, v) / n)[..., None]
    scale = v.dtype.type(1) / np.sqrt(lanes("sum", d, c * c) / n + v.dtype.type(epsilon))
    result = c * scale[..., None] * edges.numbers(gamma, v.dtype) + edges.numbers(beta, v.dtype)
    return edges.stored(y.dtype, np.moveaxis(result, -1, axis)).ravel()


def largest(block, x, y):
    v = np.moveaxis(edges.numbers(x, edges.native(x.dtype)), block[0], -1)
    if v.dtype.kind != "f":
        return np.argmax(v, -1).ravel()
    lost = np.isnan(v).all(-1)
    return np.where(lost, 0, np.argmax(np.where(np.isnan(v), -np.inf, v) if not np.isneginf(v).any() else
                                       np.where(np.isnan(v), -np.inf, np.where(np.isneginf(v), np.finfo(v.dtype).min, v)),
                                       -1)).ravel()


def scaled(op, block, inputs, y):
    x, to, whole_shape = inputs[0], y.dtype, y.codes.shape
    shape = [-1 if axis == block[2] else 1 for axis in range(x.codes.ndim)] if block[1] else []
    along = lambda t, kind: np.broadcast_to(edges.numbers(t, kind).reshape(shape), whole_shape)
    kind = edges.native(x.dtype if op == "quantize" else to if op == "dequantize" else "f32")
    if op != "quantize":
        whole = np.asarray(edges.numbers(x, object) - along(inputs[2], object), object)
        x = np.asarray(whole.astype(kind) * along(inputs[1], kind))
        if op == "dequantize":
            return edges.stored(to, x).ravel()
        inputs = inputs[2:]
    else:
        x = edges.numbers(x, kind)
    quotient = np.asarray(x / along(inputs[1], kind))
    low, high = cv.limits(to)
    return [min(max(edges.rounded_whole(v) + int(z), low), high) & (1 << cv.bits_of(to)) - 1
            for v, z in zip(quotient.ravel(), along(inputs[2], object).ravel())]


def agree(op, block, inputs, outputs, bounds):
    """Fails where numpy's results are others than `outputs`; tensors are of ptir_vectors_movement.py."""
    y = outputs[0]
    values = [edges.numbers(t, edges.native(t.dtype)) for t in inputs] if op not in ALONE and op != "reduce" else []
    slack, zeros = None, False
    if op in ALONE:
        return
    if op == "elementwise_unary":
        expected = edges.stored(y.dtype, UNARY[block[0]](values[0])).ravel()
    elif op == "elementwise_binary":
        zeros = block[0] > 3
        expected = edges.stored(y.dtype, BINARY[block[0]](*values)).ravel() if y.codes.size else []
    elif op == "compare":
        expected = edges.stored("i1", np.asarray(COMPARE[block[0]](*values), np.uint8)).ravel()
    elif op == "clamp":
        zeros = True
        expected = edges.stored(y.dtype, np.minimum(np.maximum(values[0], values[1]), values[2])).ravel()
    elif op == "reduce":
        expected = reduced(block, inputs[0], y)
    elif op == "arg_max":
        expected = largest(block, inputs[0], y)
    elif op == "dot_general":
        expected, slack = dotted(block, *inputs, y)
    elif op == "layer_norm":
        expected = normed(block, *inputs, y)
    elif op == "iota":
        axis = block[44]
        counted = np.arange(y.codes.shape[axis], dtype=np.int64 if y.dtype in cv.INTEGERS else np.float32)
        shape = [-1 if k == axis else 1 for k in range(y.codes.ndim)]
        expected = np.broadcast_to(edges.stored(y.dtype, counted).reshape(shape), y.codes.shape).ravel()
    else:
        expected = scaled(op, block, inputs, y)
    for i, (ours, theirs) in enumerate(zip(y.codes.ravel(), expected)):
        same(y.dtype, int(ours), int(theirs), bounds, slack[i] if slack is not None else 0, zeros, (op, block.hex(), i))
    compared[op] = compared.get(op, 0) + 1


def same(dtype, ours, theirs, bounds, slack, zeros, where):
    if ours == theirs:
        return
    a, b = edges.number(dtype, ours), edges.number(dtype, theirs)
    if dtype in cv.FLOATS and (a != a and b != b or zeros and a == b == 0):
        return
    sign = (1 << cv.bits_of(dtype) - 1) - 1
    if dtype in cv.FLOATS and (abs((ours & sign) - (theirs & sign)) <= bounds.get("ulps", 0) or
                               abs(a - b) <= max(bounds.get("absolute", 0), slack)):
        return
    raise AssertionError((where, dtype, hex(ours), hex(theirs), a, b))
