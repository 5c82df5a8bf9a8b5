#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/ptir/edges/<op>.json: every op and type at the edges of shapes and of values.

Usage: python3 tests/tools/ptir_vectors_edges.py tests/data/ptir/edges

Numpy computes, in float32, float64 and the integer types; exp, log, tanh and erf are torch's in
float64. What numpy has no type for is rounded by cast_vectors.py, in fractions, and compared with
torch for bf16 and with numpy for f16; fp8 and 4 bits have fractions and masks alone. What the
specification says is torch's (gather, scatter_reduce, index_select) is compared with torch, and so are
the values of top_k.

A file has the symbol `n` and cases as in movement.json, attributes under their names in the IR.
`overflow` marks a case where a result lies outside of its type: computed wider it is finite, or
another integer.

For each op and type a file has tensors of rank 8 with a dynamic extent that hold every special value,
of rank 0, and without elements; for each kind of an op (`op`, `kind`, `reduce`) the first of these.
"""
import itertools
import json
import os
import struct
import sys

import cast_vectors as cv
import numpy as np
import ptir_vectors_movement as mv
import torch
from ptir_vectors_movement import COMPLEX, PLAIN, Tensor, array, bits_of, indices

np.seterr(all="ignore")
mv.N = 3
RANK8 = (1, -1, 1, 2, 1, 1, 2, 1)
PAIRS = 6  # axis of RANK8 that folds run over; two elements have one order
ROWS8 = (2, -1, 1, 2, 1, 1, 1, 1)
EMPTY = (2, 0)
FLOATS, INTEGERS = list(cv.FLOATS), [t for t in cv.INTEGERS if t != "i1"]
NUMBERS = INTEGERS + FLOATS
TORCH = ("si8", "ui8", "si16", "si32", "si64", "f32", "f64")
CASES = {}


# --- elements -------------------------------------------------------------------------------------

def special(dtype):
    """Twelve codes, two by two: sums of a pair overflow, are NaN or infinite, or are plain numbers."""
    if dtype in COMPLEX:
        part = {"cf32": "f32", "cf64": "f64"}[dtype]
        codes = special(part)
        return [a | b << bits_of(part) for a, b in zip(codes, codes[5:] + codes[:5])]
    if dtype in cv.INTEGERS:
        low, high = cv.limits(dtype)
        numbers = [high, high, low, low, high, 1, low, min(high, 3), 0, 1, min(high, 2), high // 2]
        return [number & (1 << cv.bits_of(dtype)) - 1 for number in numbers]
    sign, top = 1 << cv.bits_of(dtype) - 1, cv.largest(dtype)
    infinity = top + 1 if cv.FLOATS[dtype][2] else top
    one, two = cv.cast("si8", dtype, 1), cv.cast("si8", dtype, 2)
    return [top, top, sign - 1, one, infinity, sign | infinity, infinity, two, 1, sign | top, sign | two, one]


def filled(dtype, shape, turn=0):
    """A tensor with the special values in turn."""
    codes, real = special(dtype), mv.extents(shape)
    return Tensor(dtype, array((codes[(i + turn) % 12] for i in range(int(np.prod(real)))), real), shape)


def native(dtype):
    if dtype in cv.FLOATS:
        return np.float64 if dtype == "f64" else np.float32
    signed, bits = cv.INTEGERS[dtype]
    return np.dtype(f"{'i' if signed else 'u'}{max(bits, 8) // 8}").type


def number(dtype, code):
    negative, magnitude = cv.decode(dtype, int(code))
    if dtype in cv.INTEGERS:
        return -int(magnitude) if negative else int(magnitude)
    return np.float64(-1 if negative else 1) * (np.nan if magnitude is cv.NAN else np.float64(magnitude))


def numbers(t, kind):
    values = np.empty(t.codes.shape, kind)
    for at in np.ndindex(t.codes.shape):
        values[at] = number(t.dtype, t.codes[at])
    return values


def stored(dtype, values):
    """The codes of numpy's numbers, rounded to the type or with its low bits."""
    values = np.asarray(values)
    result = np.empty(values.shape, object)
    for at in np.ndindex(values.shape):
        if dtype in cv.INTEGERS:
            result[at] = int(values[at]) & (1 << cv.bits_of(dtype)) - 1
        else:
            wide = "f64" if values.dtype == np.float64 else "f32"
            code = int.from_bytes(values[at].tobytes(), "little")
            result[at] = code if wide == dtype else cv.cast(wide, dtype, code)
    peer = {"f16": lambda: values.astype(np.float16).view(np.uint16),
            "bf16": lambda: torch.tensor(values).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)}
    if dtype in peer and values.ndim and values.size:
        for ours, theirs, value in zip(result.ravel(), peer[dtype]().ravel(), values.ravel()):
            assert int(theirs) == ours or np.isnan(value), (dtype, value, hex(theirs), hex(ours))
    return result


def finite(dtype, code):
    return dtype in cv.INTEGERS or (int(code) & (1 << cv.bits_of(dtype) - 1) - 1) <= cv.largest(dtype)


def computed(function, operands, result, accumulator=None):
    """function of numpy's arrays in the domain of `accumulator`; and whether a number left the range of `result`."""
    d = accumulator or operands[0].dtype
    kind = native(d)
    integers = d in cv.INTEGERS
    codes = stored(d if integers else result, function(*(numbers(t, kind) for t in operands)))
    wide = np.asarray(function(*(numbers(t, object if integers else np.longdouble) for t in operands)))
    lost = False
    for at in np.ndindex(codes.shape):
        if integers:
            lost |= int(wide[at]) != number(d, codes[at])
        else:
            lost |= bool(np.isfinite(wide[at])) and not finite(result, codes[at])
    if integers and result != d:
        codes = array((cv.cast(d, result, int(code)) for code in codes.ravel()), codes.shape)
    return codes, lost


def same(dtype, ours, theirs):
    """Two results of one operation; all NaNs are one."""
    for a, b in zip(ours.ravel(), theirs.ravel(), strict=True):
        nan = dtype in cv.FLOATS and all(cv.decode(dtype, int(c))[1] is cv.NAN for c in (a, b))
        assert a == b or nan, (dtype, hex(a), hex(b))


def case(op, attributes, inputs, outputs, overflow=False, violates=False):
    line = {"op": op, "attrs": attributes, "in": [t.line() for t in inputs], "out": [t.line() for t in outputs]}
    line |= {"overflow": True} if overflow else {}
    CASES.setdefault(op, []).append(line | ({"violates": True} if violates else {}))


def index(i, values):
    return indices(("si32", "si64")[i % 2], np.array(values, np.int64))


# --- ops on elements --------------------------------------------------------------------------------

def in_f64(function):
    """Torch's function in float64, rounded to where the operand came from."""
    return lambda x: function(torch.tensor(x.astype(np.float64))).numpy().astype(x.dtype)


UNARY = {"neg": lambda x: -x, "abs": abs, "exp": in_f64(torch.exp), "log": in_f64(torch.log),
         "tanh": in_f64(torch.tanh), "erf": in_f64(torch.erf), "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
         "reciprocal": lambda x: x.dtype.type(1) / x}
ROUNDED = {"exp": 3, "log": 5, "tanh": 5, "erf": 6}  # in f64: one more than core/elementary64.hpp states


def quotient(a, b):
    if a.dtype.kind == "f":
        return a / b
    return np.array([abs(int(p)) // abs(int(q)) * (1 if (p < 0) == (q < 0) else -1) for p, q in
                     zip(a.ravel(), b.ravel())], object).reshape(a.shape)


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": quotient, "maximum": np.maximum,
          "minimum": np.minimum}
COMPARE = {"lt": np.less, "le": np.less_equal, "eq": np.equal, "ge": np.greater_equal, "gt": np.greater,
           "ne": np.not_equal}


def shapes_of(i, kinds, k):
    """Every shape for one kind of an op and each type, rank 8 for all of them."""
    return (RANK8, (), EMPTY) if (i + k) % kinds == 0 else (RANK8,)


def elementwise():
    for k, (kind, function) in enumerate(UNARY.items()):
        types = NUMBERS if kind in ("neg", "abs") else FLOATS
        kinds = 2 if kind in ("neg", "abs") else 0
        for i, dtype in enumerate(types):
            for shape in shapes_of(i, 2, k) if kinds else (RANK8,):
                x = filled(dtype, shape)
                wide = kind in ROUNDED
                codes, lost = computed(function, [x], dtype) if not wide else (
                    stored(dtype, function(numbers(x, native(dtype)))), kind == "exp" and shape == RANK8)
                case("elementwise_unary", {"op": kind}, [x], [Tensor(dtype, codes, shape)], lost)
                if wide:
                    bound = ROUNDED[kind] if dtype == "f64" else 2 if dtype == "f32" else 1
                    CASES["elementwise_unary"][-1]["ulps"] = bound
    for k, (kind, function) in enumerate(BINARY.items()):
        for i, dtype in enumerate(cv.TYPES if kind in ("mul", "maximum", "minimum") else NUMBERS):
            for shape in shapes_of(cv.TYPES.index(dtype), 6, k) if dtype != "i1" else (RANK8, (), EMPTY):
                a, b = filled(dtype, shape), filled(dtype, shape, 0 if kind in ("add", "mul") else 9)
                if kind == "div" and dtype in cv.INTEGERS:
                    b.codes = array(((code or 1) for code in b.codes.ravel()), b.codes.shape)
                    if b.codes.size > 1 and cv.INTEGERS[dtype][0]:  # the lowest number by -1
                        a.codes.flat[0], b.codes.flat[0] = 1 << cv.bits_of(dtype) - 1, (1 << cv.bits_of(dtype)) - 1
                codes, lost = computed(function, [a, b], dtype)
                case("elementwise_binary", {"op": kind}, [a, b], [Tensor(dtype, codes, shape)], lost)
    for k, (kind, function) in enumerate(COMPARE.items()):
        for i, dtype in enumerate(cv.TYPES):
            for shape in shapes_of(i, 6, k):
                a, b = filled(dtype, shape), filled(dtype, shape, k)
                y = function(numbers(a, native(dtype)), numbers(b, native(dtype)))
                case("compare", {"op": kind}, [a, b], [Tensor("i1", stored("i1", np.asarray(y, np.uint8)), shape)])
    for i, (dtype, shape) in enumerate(itertools.product(PLAIN, (RANK8, (), EMPTY))):
        x, y = filled(dtype, shape), filled(dtype, shape, 5)
        pred = Tensor("i1", array(((j + i) % 2 for j in range(x.codes.size)), x.codes.shape), shape)
        case("select", {}, [pred, x, y], [Tensor(dtype, np.where(pred.codes.astype(bool), x.codes, y.codes), shape)])
        case("stop_gradient", {}, [x], [x])
    for i, (dtype, shape) in enumerate(itertools.product(cv.TYPES, (RANK8, (), EMPTY))):
        x, low, high = filled(dtype, shape), filled(dtype, shape, 3), filled(dtype, shape, 8)
        codes, _ = computed(lambda a, b, c: np.minimum(np.maximum(a, b), c), [x, low, high], dtype)
        case("clamp", {}, [x, low, high], [Tensor(dtype, codes, shape)])
        to = {"si4": "ui4"}.get(dtype, "si4" if i % 2 else "ui4" if dtype in FLOATS or dtype[0] == "s" else "si4")
        y = array((cv.cast(dtype, to, int(code)) for code in x.codes.ravel()), x.codes.shape)
        lost = any(finite(dtype, c) and not cv.limits(to)[0] <= int(number(dtype, c)) <= cv.limits(to)[1]
                   for c in x.codes.ravel())
        case("cast", {"dtype": to}, [x], [Tensor(to, y, shape)], lost)


# --- folds ------------------------------------------------------------------------------------------

def end(kind, dtype):
    """The end of the range that no element passes, 0 for a sum."""
    if kind == "sum":
        return 0
    if dtype in cv.INTEGERS:
        return cv.limits(dtype)[0 if kind == "max" else 1]
    infinite = np.inf if dtype != "fp8_e4m3" else 448.0
    return -infinite if kind == "max" else infinite


def folded(kind, accumulator, axis):
    """Along an axis of any number of elements; the lanes of the header's order hold one or none here."""
    step = {"sum": np.add, "max": np.fmax, "min": np.fmin}[kind]

    def fold(x):
        total = np.full(np.delete(x.shape, axis), end(kind, accumulator), x.dtype)
        for k in range(x.shape[axis]):
            total = step(total, np.take(x, k, axis))
        return total
    return fold


def accumulator_of(dtype, kind="sum"):
    return "si32" if dtype == "i1" and kind == "sum" else "f32" if dtype in FLOATS and dtype != "f64" else dtype


def folds():
    for k, kind in enumerate(("sum", "max", "min")):
        for i, dtype in enumerate(cv.TYPES):
            accumulator = accumulator_of(dtype, kind)
            explicit = {"accum_dtype": accumulator} if dtype == "i1" else {}
            stated = {"accum_dtype": accumulator, "out_dtype": dtype}
            for shape in shapes_of(i, 3, k):
                x = filled(dtype, shape)
                axis = min(PAIRS, len(shape) - 1)
                if not shape:
                    codes, lost = computed(lambda a: folded(kind, accumulator, 0)(a[None]), [x], dtype, accumulator)
                    case("reduce", dict(explicit, kind=kind, axes=[]), [x], [Tensor(dtype, codes)], lost)
                    case("reduce_window", dict(stated, kind=kind, window=[], strides=[], pad_low=[], pad_high=[],
                                               base_dilation=[], window_dilation=[]), [x], [Tensor(dtype, codes)], lost)
                    continue
                codes, lost = computed(folded(kind, accumulator, axis), [x], dtype, accumulator)
                left = shape[:axis] + shape[axis + 1:]
                keep = i % 2 == 0
                y = Tensor(dtype, np.expand_dims(codes, axis) if keep else codes,
                           shape[:axis] + ((1,) if keep else ()) + left[axis:])
                case("reduce", dict(explicit, kind=kind, axes=[axis], keepdims=keep), [x], [y], lost)
                ones = [1] * len(shape)
                window = ones[:axis] + [2] + ones[axis + 1:]
                # Without elements, a place of padding before and after gives one window.
                pad = [0] * axis + [int(shape == EMPTY)] + [0] * (len(shape) - axis - 1)
                case("reduce_window", dict(stated, kind=kind, window=window, strides=ones, pad_low=pad, pad_high=pad,
                                           base_dilation=ones, window_dilation=ones),
                     [x], [Tensor(dtype, np.expand_dims(codes, axis), shape[:axis] + (1,) + left[axis:])], lost)
            for shape in ((ROWS8, EMPTY) if (i + k) % 3 == 0 else (ROWS8,)):
                # By rows: the pairs of special values stand above each other.
                x = filled(dtype, shape)
                if shape == ROWS8:
                    x.codes = array(special(dtype), (6, 2)).T.reshape(x.codes.shape)
                codes, lost = computed(folded(kind, accumulator, 0), [x], dtype, accumulator)
                none = cv.cast(accumulator, dtype, int(stored(accumulator, native(accumulator)(end(kind, accumulator)))))
                y = np.stack([np.full(codes.shape, none, object), codes])
                case("segment_reduce", dict(accum_dtype=accumulator, kind=kind, num_segments=2), [x, index(i, [1, 1])],
                     [Tensor(dtype, y, shape)], lost)
    for i, dtype in enumerate(cv.TYPES):
        for shape in (RANK8, EMPTY):
            x, axis = filled(dtype, shape), PAIRS if shape == RANK8 else 0
            values = np.moveaxis(numbers(x, native(dtype)), axis, -1)
            best = np.zeros(values.shape[:-1], np.int64)
            for at in np.ndindex(best.shape):
                best[at] = np.nanargmax(values[at]) if (values[at] == values[at]).any() else 0
            to = ("si32", "si64")[i % 2]
            y = index(i, best)
            y.shape = list(shape[:axis] + shape[axis + 1:])
            case("arg_max", {"axis": axis, "keepdims": False, "output_dtype": to}, [x], [y])
            largest = i % 2 == 0
            order = np.zeros(values.shape, np.int64)
            for at in np.ndindex(best.shape):
                value = values[at]
                key = [(not np.isnan(v), 0 if np.isnan(v) else -v) if largest else (np.isnan(v), 0 if np.isnan(v) else v)
                       for v in (value if dtype in FLOATS else [int(v) for v in value])]
                order[at] = sorted(range(len(key)), key=key.__getitem__)
                if dtype in FLOATS:
                    peer = torch.topk(torch.tensor(value), len(value), largest=largest)[0].numpy()
                    assert np.array_equal(peer, value[order[at]], equal_nan=True), (value, order[at])
            places = np.moveaxis(order, -1, axis)
            y = index(i, places)
            y.shape = list(shape)
            case("top_k", {"k": shape[axis], "axis": axis, "largest": largest, "indices_dtype": to}, [x],
                 [Tensor(dtype, np.take_along_axis(x.codes, places, axis) if x.codes.size else x.codes, shape), y])


def accumulators():
    """Sums that are rounded to a narrow accumulator before they are widened."""
    for dtype in ("fp8_e4m3", "fp8_e5m2", "bf16", "f16"):
        x, y = filled(dtype, (6, 2)), filled(dtype, (6, 2), 4)
        types = {"accum_dtype": dtype, "out_dtype": "f32"}
        wide = lambda values: Tensor("f32", array((cv.cast(dtype, "f32", int(c)) for c in stored(dtype, values)), (6,)))
        a, b = numbers(x, np.float32), numbers(y, np.float32)
        case("reduce", types | {"kind": "sum", "axes": [1], "keepdims": False}, [x], [wide(folded("sum", dtype, 1)(a))])
        case("dot_general", types | {"batch_lhs": [0], "batch_rhs": [0], "contract_lhs": [1], "contract_rhs": [1]},
             [x, y], [wide(folded("sum", dtype, 1)(a * b + 0))])


def products():
    for i, dtype in enumerate(cv.TYPES):
        accumulator = accumulator_of(dtype)
        explicit = {"accum_dtype": accumulator} if dtype == "i1" else {}
        for shape in (RANK8, (), EMPTY):
            a, b = filled(dtype, shape), filled(dtype, shape)
            if shape == RANK8:
                batch, contract = [0, 1, 3], [2, 4, 5, 6, 7]
                sums = lambda p, q: folded("sum", accumulator, 3)((p * q + 0).reshape(1, mv.N, 2, 2))
            elif shape:
                batch, contract, sums = [0], [1], lambda p, q: folded("sum", accumulator, 1)(p * q)
            else:
                batch, contract, sums = [], [], lambda p, q: np.asarray(p * q + 0)
            codes, lost = computed(sums, [a, b], dtype, accumulator)
            axes = {f"{what}_{side}": list_ for side in ("lhs", "rhs")
                    for what, list_ in (("batch", batch), ("contract", contract))}
            case("dot_general", axes | explicit, [a, b], [Tensor(dtype, codes, [shape[k] for k in batch])], lost)
    bits = lambda x: int.from_bytes(struct.pack("<d", x), "little")
    for dtype in FLOATS:
        for shape, axis in ((RANK8, PAIRS), (EMPTY, 0)):
            x = filled(dtype, shape)
            one, zero, top = cv.cast("si8", dtype, 1), 0, cv.largest(dtype)
            gamma, beta = Tensor(dtype, array([one, top], (2,))), Tensor(dtype, array([zero, top], (2,)))

            def norm(v, g, b):
                v = np.moveaxis(v, axis, -1)
                n = v.dtype.type(2)
                mean = ((v[..., :1] + v[..., 1:]) + 0) / n
                c = v - mean
                square = c * c
                variance = (square[..., :1] + square[..., 1:]) / n
                scale = v.dtype.type(1) / np.sqrt(variance + v.dtype.type(1e-3))
                return np.moveaxis(c * scale * g + b, -1, axis)
            codes, lost = computed(norm, [x, gamma, beta], dtype)
            case("layer_norm", {"epsilon": bits(1e-3), "feature_axis": axis}, [x, gamma, beta],
                 [Tensor(dtype, codes, shape)], lost)


def scatters():
    steps = {"add": np.add, "max": np.maximum, "min": np.minimum, "replace": lambda a, b: b}
    for k, (kind, step) in enumerate(steps.items()):
        for i, dtype in enumerate(PLAIN):
            if kind != "replace" and dtype in COMPLEX or kind == "add" and dtype == "i1":
                continue
            for shape in ((RANK8, EMPTY) if kind == "replace" or (i + k) % 3 == 0 else (RANK8,)):
                x, u = filled(dtype, shape), filled(dtype, shape)
                axis = min(PAIRS, len(shape) - 1)

                def scatter(a, b):
                    y = a.copy()
                    for j in range(a.shape[axis]):
                        place = (slice(None),) * axis + (1,)
                        y[place] = step(y[place], np.take(b, j, axis))
                    return y
                codes, lost = (scatter(x.codes, u.codes), False) if kind == "replace" else computed(scatter, [x, u], dtype)
                if kind != "replace" and dtype in TORCH and x.codes.size:  # the specification's own words
                    given = [torch.tensor(numbers(t, native(dtype))) for t in (x, u)]
                    peer = given[0].scatter_reduce(axis, torch.ones(given[1].shape, dtype=torch.int64), given[1],
                                                   {"add": "sum", "max": "amax", "min": "amin"}[kind])
                    same(dtype, codes, stored(dtype, peer.numpy()))
                at = index(i, np.ones(x.codes.shape))
                at.shape = list(shape)
                case("scatter_reduce", {"axis": axis, "reduce": kind}, [x, at, u], [Tensor(dtype, codes, shape)], lost)
    for i, dtype in enumerate(NUMBERS):
        for shape in (ROWS8, EMPTY, ()):
            x, u = filled(dtype, shape, 1), filled(dtype, shape)

            def rows(a, b):
                y = a.copy()
                if not shape:
                    return np.asarray(y + b, a.dtype)
                for j in range(2):
                    y[1] = y[1] + b[j]
                return y
            codes, lost = computed(rows, [x, u], dtype)
            axes = list(range(1, len(shape)))
            case("scatter_add", {"update_window_dims": axes, "inserted_window_dims": [0] if shape else [],
                                 "scatter_dims_to_operand_dims": [0] if shape else [], "index_vector_dim": len(shape[:1])},
                 [x, index(i, [1, 1] if shape else []), u], [Tensor(dtype, codes, shape)], lost)


# --- moves, on the elements' bits -------------------------------------------------------------------

def moves():
    for i, (dtype, shape) in enumerate(itertools.product(PLAIN, (RANK8, (), EMPTY))):
        x, real = filled(dtype, shape), list(mv.extents(shape))
        rank, axis = len(shape), min(PAIRS, len(shape) - 1)
        # Extents of axis 1, which no move touches, by the symbol.
        open_ = lambda dims: list(dims[:1]) + [-1] + list(dims[2:]) if rank == 8 else list(dims)
        moved = lambda codes: Tensor(dtype, codes, open_(codes.shape))
        put = lambda values, at, value: values[:at] + [value] + values[at + 1:]
        fixed = Tensor(dtype, x.codes)
        case("constant", {}, [fixed], [fixed])
        flat = [1, -(x.codes.size // mv.N) if rank == 8 else x.codes.size]
        case("reshape", {"shape": flat}, [x], [Tensor(dtype, x.codes.reshape(1, -1), flat)])
        perm = list(range(rank))[::-1]
        case("transpose", {"perm": perm}, [x], [Tensor(dtype, x.codes.T, shape[::-1])])
        wide = put(real, 0, 2) if rank == 8 else [2] + real
        case("broadcast_to", {"shape": open_(wide)}, [x], [moved(np.broadcast_to(x.codes, wide))])
        window = (slice(None),) * axis + (slice(1, None),) if rank else ()
        sizes = put(real, axis, max(real[axis] - 1, 0)) if rank else []
        starts = put([0] * rank, axis, min(1, real[axis])) if rank else []
        y = moved(x.codes[window] if rank else x.codes)
        case("slice", {"starts": starts, "sizes": open_(sizes)}, [x], [y])
        index_type = ("si32", "si64")[i % 2]
        case("dynamic_slice", {"sizes": open_(sizes)}, [x, index(i, [5] * rank)], [y])
        update = moved(array(reversed(y.codes.ravel().tolist()), y.codes.shape))
        z = x.codes.copy()
        z[window] = update.codes
        case("dynamic_update_slice", {"sizes": open_(sizes)}, [x, update, index(i, [5] * rank)], [Tensor(dtype, z, shape)])
        low, high, inner = (put([0] * rank, axis, v) if rank else [] for v in (1, 2, 1))
        value = special(dtype)[2]
        padded = x.codes
        if rank:
            padded = np.full(put(real, axis, 3 + max(2 * real[axis] - 1, 0)), value, object)
            if x.codes.size:
                padded[(slice(None),) * axis + (slice(1, 1 + 2 * real[axis], 2),)] = x.codes
        case("pad", {"low": low, "high": high, "interior": inner, "value": mv.pack(dtype, [value])}, [x],
             [moved(padded)])
        repeats = put([1] * rank, axis, 2) if rank else []
        case("tile", {"repeats": repeats}, [x], [moved(np.tile(x.codes, repeats) if rank else x.codes)])
        if not rank:
            continue
        case("concat", {"axis": axis}, [x, x], [moved(np.concatenate([x.codes, x.codes], axis))])
        rows = filled(dtype, ROWS8) if rank == 8 else x
        case("take", {}, [rows, index(i, [1, 0, 1])], [moved(np.take(rows.codes, [1, 0, 1], 0))])
        at = index(i, np.full(x.codes.shape, max(real[axis] - 1, 0)))
        at.shape = list(shape)
        gathered = x.codes
        if x.codes.size:
            gathered = x.codes[(slice(None),) * axis + (slice(1, None),)].repeat(real[axis], axis)
            if dtype in TORCH:
                given = torch.tensor(numbers(x, native(dtype)))
                places = torch.full(given.shape, real[axis] - 1, dtype=torch.int64)
                same(dtype, gathered, stored(dtype, given.gather(axis, places).numpy()))
                same(dtype, np.take(rows.codes, [1, 0, 1], 0), stored(dtype, torch.tensor(
                    numbers(rows, native(dtype))).index_select(0, torch.tensor([1, 0, 1])).numpy()))
        case("gather", {"axis": axis}, [x, at], [moved(gathered)])
        # Windows of two elements over the axis before the channel, with the place before them as padding.
        spatial = shape[1:-1] if rank == 8 else (0,)
        image = x if rank == 8 else filled(dtype, (2, 0, 2))
        ones, zeros = [1] * len(spatial), [0] * len(spatial)
        pads = put(zeros, len(spatial) - 1, 1)
        filler = np.full(image.codes.shape[:-2] + (1,) + image.codes.shape[-1:], value, object)
        longer = np.concatenate([filler, image.codes], -2)
        n = longer.shape[-2] - 1
        y = np.concatenate([longer[..., :n, :], longer[..., 1:, :]], -1)
        case("extract_patches", {"window": put(ones, len(spatial) - 1, 2), "strides": ones, "pad_low": pads,
                                 "pad_high": zeros, "dilation": ones, "pad_value": mv.pack(dtype, [value])},
             [image], [moved(y)])
    longest = {"si4": (9,), "ui4": (17,), "si8": (129,), "ui8": (257,), "fp8_e4m3": (466,)}
    for dtype, shape in [pair for dtype in NUMBERS for pair in ((dtype, RANK8), (dtype, EMPTY))] + list(longest.items()):
        real, axis = mv.extents(shape), min(1, len(shape) - 1)
        counted = np.arange(real[axis], dtype=np.int64 if dtype in cv.INTEGERS else np.float32)
        codes, value = stored(dtype, counted), counted.reshape([-1 if k == axis else 1 for k in range(len(real))])
        codes = np.broadcast_to(codes.reshape(value.shape), real)
        case("iota", {"shape": shape, "dtype": dtype, "axis": axis}, [], [Tensor(dtype, codes, shape)], len(shape) == 1)


# --- quantization -------------------------------------------------------------------------------------

def rounded_whole(x):
    return 0 if np.isnan(x) else int(np.sign(x)) << 1100 if np.isinf(x) else int(np.rint(x))


def quantization():
    f32 = lambda values, shape: Tensor("f32", stored("f32", np.array(values, np.float32).reshape(shape)))
    si32 = lambda values, shape: Tensor("si32", stored("si32", np.array(values, np.int32).reshape(shape)))
    for op, types, targets in (("quantize", FLOATS, INTEGERS), ("dequantize", INTEGERS, FLOATS[:5]),
                               ("requantize", INTEGERS, INTEGERS)):
        for (i, source), (shape, axis) in itertools.product(enumerate(types), ((RANK8, PAIRS), ((), None), (EMPTY, 0))):
            to = targets[(2 * i + 1) % len(targets)]
            x = filled(source, shape)
            per_axis = (lambda a, b: [a, b]) if shape else (lambda a, b: [a])
            channel = (2,) if shape else ()
            large = 3e38 if op == "dequantize" else 0.5
            scales = [f32(per_axis(large, np.inf if op == "dequantize" else 2.0), channel),
                      si32(per_axis(1, -3), channel)]
            scales += [f32(per_axis(0.25, 3.0), channel), si32(per_axis(-1, 2), channel)] if op == "requantize" else []
            y, lost = np.empty(x.codes.shape, object), False
            kind = np.float64 if "f64" in (source, to) else np.float32
            for at in np.ndindex(x.codes.shape):
                c = (at[axis],) if shape else ()
                scale, zero = number("f32", scales[0].codes[c]), number("si32", scales[1].codes[c])
                value = number(source, x.codes[at])
                if op != "quantize":
                    value = kind(value - zero) * kind(scale)
                    if op == "dequantize":
                        y[at] = int(stored(to, kind(value)))
                        lost |= bool(np.isfinite(scale)) and not finite(to, y[at])
                        continue
                    scale, zero = number("f32", scales[2].codes[c]), number("si32", scales[3].codes[c])
                whole = rounded_whole(kind(value) / kind(scale)) + zero
                low, high = cv.limits(to)
                lost |= bool(np.isfinite(value)) and not low <= whole <= high
                y[at] = min(max(whole, low), high) & (1 << cv.bits_of(to)) - 1
            case(op, {"output_dtype": to} | ({"axis": axis} if shape else {}), [x] + scales, [Tensor(to, y, shape)], lost)
    # Sums with a zero point beyond 2^64, and sums that come back from there.
    codes = lambda dtype, values: Tensor(dtype, stored(dtype, np.array(values, native(dtype))))
    far = [2.0 ** 64, 2.0 ** 64 + 2.0 ** 31, 2.0 ** 64 + 2.0 ** 32, 2.0 ** 65, 2.0 ** 64 - 2048, -2.0 ** 64]
    for dtype, zero in (("f64", -(1 << 31)), ("f32", -3), ("f64", 7)):
        kept = [float(native(dtype)(x)) for x in far]
        y = [min(max(int(x) + zero, 0), (1 << 64) - 1) for x in kept]
        case("quantize", {"output_dtype": "ui64"}, [codes(dtype, kept), f32([1.0], ()), si32([zero], ())],
             [Tensor("ui64", array(y, (len(y),)))], True)
    for source, values, zero in (("ui64", [(1 << 64) - 1, (1 << 64) - 4096, 0], -(1 << 31)),
                                 ("si64", [(1 << 63) - 1, -(1 << 63), 0], (1 << 31) - 1)):
        y = [np.float64(v - zero) for v in values]
        case("dequantize", {"output_dtype": "f64"},
             [Tensor(source, array((v & (1 << 64) - 1 for v in values), (3,))), f32([1.0], ()), si32([zero], ())],
             [codes("f64", y)])


def main():
    for part in (elementwise, folds, accumulators, products, scatters, moves, quantization):
        part()
    for op, lines in CASES.items():
        with open(os.path.join(sys.argv[1], op + ".json"), "w") as file:
            file.write('{"n": %d, "cases": [\n' % mv.N)
            file.write(",\n".join(json.dumps(line, separators=(",", ":")) for line in lines))
            file.write("\n]}\n")


if __name__ == "__main__":
    main()
