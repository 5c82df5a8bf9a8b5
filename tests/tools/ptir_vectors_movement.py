#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/ptir/movement.json: what the ops that move, index and slide windows must give.

Usage: python3 tests/tools/ptir_vectors_movement.py > tests/data/ptir/movement.json

Moves are numpy's, on the elements' bits; folds are written out here in the order that the ops'
headers name, in numpy's float32 and float64 and in exact integers. A line is a case: op, attributes,
inputs and outputs as [dtype, shape, bytes], and whether the step reports a violation. An extent -k
is k times the step's symbol, which is `n`.
"""
import itertools
import json
import random

import cast_vectors as cv
import numpy as np

np.seterr(all="ignore")
RNG = random.Random(7)
COMPLEX = {"cf32": 64, "cf64": 128}
PLAIN = cv.TYPES + list(COMPLEX)
NUMBERS = [dtype for dtype in cv.TYPES if dtype != "i1"]
SAMPLES = dict(cv.samples())
N = 5  # the symbol of every case that has one
LINES = []


def bits_of(dtype):
    return COMPLEX[dtype] if dtype in COMPLEX else 8 if dtype == "i1" else cv.bits_of(dtype)


def pack(dtype, codes):
    """The tensor's bytes in hexadecimal; 4-bit elements low half first."""
    codes = [int(code) & (1 << bits_of(dtype)) - 1 for code in codes]
    if bits_of(dtype) == 4:
        codes += [0] * (len(codes) % 2)
        return bytes(low | high << 4 for low, high in zip(codes[::2], codes[1::2])).hex()
    return b"".join(code.to_bytes(bits_of(dtype) // 8, "little") for code in codes).hex()


def extents(shape):
    return tuple(-dim * N if dim < 0 else dim for dim in shape)


class Tensor:
    """Elements as bits in a numpy array of Python integers; `shape` may name the symbol."""

    def __init__(self, dtype, codes, shape=None):
        self.dtype = dtype
        self.codes = codes if isinstance(codes, np.ndarray) else array([codes], ())  # numpy gives a scalar for rank 0
        self.shape = list(self.codes.shape if shape is None else shape)

    def line(self):
        return [self.dtype, self.shape, pack(self.dtype, self.codes.ravel())]


def array(codes, shape):
    result = np.empty(shape, object)
    result.ravel()[:] = list(codes)  # a view: the array is contiguous
    return result


def tensor(dtype, shape, numbers=False):
    """Random elements, the special ones among them; `numbers` keeps most of them small."""
    real = extents(shape)

    def element():
        if dtype in COMPLEX:
            return RNG.getrandbits(bits_of(dtype))
        if numbers and RNG.random() < 0.85:
            value = RNG.randrange(-6, 7) if dtype not in cv.INTEGERS or cv.INTEGERS[dtype][0] else RNG.randrange(7)
            return cv.cast("si64", dtype, value & (1 << 64) - 1)
        return RNG.choice(SAMPLES[dtype])

    return Tensor(dtype, array((element() for _ in range(int(np.prod(real)))), real), shape)


def indices(dtype, values, shape=None):
    return Tensor(dtype, np.vectorize(lambda v: int(v) & (1 << bits_of(dtype)) - 1, otypes=[object])(values)
                  if np.size(values) else np.empty(np.shape(values), object), shape)


def case(op, attributes, inputs, outputs, violates=False):
    LINES.append({"op": op, "attrs": attributes, "in": [t.line() for t in inputs],
                  "out": [t.line() for t in outputs]} | ({"violates": True} if violates else {}))


def zeros(dtype, shape):
    return Tensor(dtype, array([0] * int(np.prod(extents(shape))), extents(shape)), shape)


# --- moves --------------------------------------------------------------------------------------

SHAPES = [(), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 5), (1, 2, 1, 3, 1, 2, 1, 2)]


def every(types=PLAIN, shapes=SHAPES, least=1):
    """Each type with some shapes and each shape with some types."""
    pairs = set()
    for i, dtype in enumerate(types):
        for k in range(least):
            pairs.add((dtype, shapes[(i + k) % len(shapes)]))
    for dtype in ("f32", "si4"):
        if dtype in types:
            pairs |= {(dtype, shape) for shape in shapes}
    return sorted(pairs)


def moves():
    for dtype, shape in every():
        x = tensor(dtype, shape)
        case("constant", {}, [x], [x])
        case("reshape", {"shape": [1, int(np.prod(shape))]}, [x], [Tensor(dtype, x.codes.reshape(1, -1))])
        perm = list(range(len(shape)))
        RNG.shuffle(perm)
        case("transpose", {"perm": perm}, [x], [Tensor(dtype, x.codes.transpose(perm))])
        wide = [2] * (1 if len(shape) < 8 else 0) + [(3 if len(shape) < 4 else 2) if dim == 1 else dim for dim in shape]
        case("broadcast_to", {"shape": wide}, [x], [Tensor(dtype, np.broadcast_to(x.codes, wide))])
        starts = [RNG.randrange(dim + 1) for dim in shape]
        sizes = [RNG.randrange(dim - start + 1) for dim, start in zip(shape, starts)]
        if RNG.random() < 0.7:
            starts, sizes = [min(s, max(d - 1, 0)) for s, d in zip(starts, shape)], [min(d, 1) for d in shape]
        window = tuple(slice(s, s + n) for s, n in zip(starts, sizes))
        case("slice", {"starts": starts, "sizes": sizes}, [x], [Tensor(dtype, x.codes[window])])
        low, high, interior = ([RNG.randrange(3 if len(shape) < 4 else 2) for _ in shape] for _ in range(3))
        value = RNG.choice(SAMPLES[dtype]) if dtype in SAMPLES else RNG.getrandbits(bits_of(dtype))
        padded = [l + d + h + max(d - 1, 0) * i for l, d, h, i in zip(low, shape, high, interior)]
        if np.prod(padded) < 400:
            y = array([value] * int(np.prod(padded)), padded)
            inner = tuple(slice(l, l + max(d - 1, 0) * (i + 1) + min(d, 1), i + 1)
                          for l, d, i in zip(low, shape, interior))
            if x.codes.size:
                y[inner] = x.codes
            case("pad", {"low": low, "high": high, "interior": interior, "value": pack(dtype, [value])}, [x],
                 [Tensor(dtype, y)])
        repeats = [RNG.choice((0, 1, 2, 3)) if len(shape) < 4 else RNG.choice((1, 1, 2)) for _ in shape]
        if not RNG.randrange(3):
            repeats = [2] * min(len(shape), 3) + [1] * max(len(shape) - 3, 0)
        case("tile", {"repeats": repeats}, [x], [Tensor(dtype, np.tile(x.codes, repeats) if shape else x.codes)])
        if shape:
            axis = RNG.randrange(len(shape))
            parts = [tensor(dtype, shape[:axis] + (RNG.randrange(4),) + shape[axis + 1:])
                     for _ in range(RNG.choice((1, 2, 5)))]
            case("concat", {"axis": axis}, [x] + parts,
                 [Tensor(dtype, np.concatenate([p.codes for p in [x] + parts], axis))])
    x, y = tensor("f16", (2, -2)), tensor("f16", (2, -1))
    case("concat", {"axis": 1}, [x, y], [Tensor("f16", np.concatenate([x.codes, y.codes], 1), (2, -3))])
    x = tensor("si4", (-1, 3))
    case("transpose", {"perm": [1, 0]}, [x], [Tensor("si4", x.codes.T, (3, -1))])
    case("tile", {"repeats": [2, 1]}, [x], [Tensor("si4", np.tile(x.codes, (2, 1)), (-2, 3))])
    case("reshape", {"shape": [-3]}, [x], [Tensor("si4", x.codes.reshape(-1), (-3,))])
    case("slice", {"starts": [2, 1], "sizes": [3, 2]}, [x], [Tensor("si4", x.codes[2:5, 1:3])])
    case("slice", {"starts": [3, 0], "sizes": [3, 2]}, [x], [zeros("si4", (3, 2))], violates=True)


def dynamic():
    for i, (dtype, shape) in enumerate(every()):
        x = tensor(dtype, shape)
        sizes = [RNG.randrange(dim + 1) if RNG.random() < 0.3 else max(dim - 1, min(dim, 1)) for dim in shape]
        raw = [RNG.choice((-3, -1, 0, 1, dim - size, dim, 1 << 30)) for dim, size in zip(shape, sizes)]
        start = [min(max(s, 0), dim - size) for s, dim, size in zip(raw, shape, sizes)]
        at = indices(("si32", "si64")[i % 2], np.array(raw, np.int64))
        window = tuple(slice(s, s + n) for s, n in zip(start, sizes))
        case("dynamic_slice", {"sizes": sizes}, [x, at], [Tensor(dtype, x.codes[window])])
        update = tensor(dtype, tuple(sizes))
        y = x.codes.copy()
        y[window] = update.codes
        case("dynamic_update_slice", {"sizes": sizes}, [x, update, at], [Tensor(dtype, y)])
    x = tensor("bf16", (-1, 2))
    at = indices("si64", np.array([-(1 << 62), 1 << 62]))
    case("dynamic_slice", {"sizes": [3, 1]}, [x, at], [Tensor("bf16", x.codes[:3, 1:])])
    case("dynamic_slice", {"sizes": [7, 1]}, [x, at], [zeros("bf16", (7, 1))], violates=True)
    case("dynamic_update_slice", {"sizes": [7, 1]}, [x, tensor("bf16", (7, 1)), at], [x], violates=True)


def lookups():
    for i, dtype in enumerate(PLAIN):
        index = ("si32", "si64")[i % 2]
        for shape, at in (((5, 3), (4,)), ((4,), (2, 2)), ((3, 1, 2), ()), ((2, 0), (3,)), ((0, 2), (0,))):
            if dtype not in ("f32", "si4") and at not in ((4,), ()):
                continue
            x = tensor(dtype, shape)
            rows = np.array([RNG.randrange(max(shape[0], 1)) for _ in range(int(np.prod(at)))], np.int64).reshape(at)
            case("take", {}, [x, indices(index, rows)],
                 [Tensor(dtype, np.take(x.codes, rows, 0) if rows.size else np.empty(at + shape[1:], object))])
        for shape, axis, extent in (((3, 4), 1, 5), ((2, 3, 2), 0, 1), ((3,), 0, 0)):
            x = tensor(dtype, shape)
            places = np.array([RNG.randrange(shape[axis]) for _ in range(int(np.prod(shape)) // shape[axis] * extent)],
                              np.int64).reshape(shape[:axis] + (extent,) + shape[axis + 1:])
            case("gather", {"axis": axis}, [x, indices(index, places)],
                 [Tensor(dtype, np.take_along_axis(x.codes, places, axis))])
    x = tensor("si4", (3, 3))
    for index, bad in itertools.product(("si32", "si64"), (-1, 3, -(1 << 31), (1 << 31) - 1)):
        y = np.take(x.codes, [1, 0, 2], 0)
        y[1] = 0
        case("take", {}, [x, indices(index, np.array([1, bad, 2]))], [Tensor("si4", y)], violates=True)
        z = np.take_along_axis(x.codes, np.array([[0, 0], [1, 2], [2, 1]]), 1)
        z[1, 1] = 0
        case("gather", {"axis": 1}, [x, indices(index, np.array([[0, 0], [1, bad], [2, 1]]))], [Tensor("si4", z)],
             violates=True)
    wide = indices("si64", np.array([1, 1 << 32, 2]))  # its low half is a row
    y = np.take(x.codes, [1, 0, 2], 0)
    y[1] = 0
    case("take", {}, [x, wide], [Tensor("si4", y)], violates=True)
    case("take", {}, [tensor("f32", (0, 2)), indices("si32", np.array([0]))], [zeros("f32", (1, 2))], violates=True)
    rank8 = tensor("ui8", (2, 1, 2, 1, 2, 1, 2, 1))
    places = np.array([RNG.randrange(2) for _ in range(8)]).reshape(2, 1, 2, 1, 2, 1, 1, 1)
    case("gather", {"axis": 6}, [rank8, indices("si32", places)],
         [Tensor("ui8", np.take_along_axis(rank8.codes, places, 6))])


# --- folds --------------------------------------------------------------------------------------

def domain(dtype):
    return None if dtype in cv.INTEGERS else np.float64 if dtype == "f64" else np.float32


def value_of(dtype, code):
    negative, magnitude = cv.decode(dtype, code)
    kind = domain(dtype)
    if kind is None:
        return int(-magnitude if negative else magnitude)
    if magnitude is cv.NAN:
        return kind(np.nan)
    return kind(-1 if negative else 1) * kind(float(magnitude))


def code_of(dtype, value):
    """Rounds a value of the domain to the type, once."""
    kind = domain(dtype)
    if kind is None:
        return value & (1 << cv.bits_of(dtype)) - 1
    wide = "f64" if kind is np.float64 else "f32"
    code = int.from_bytes(kind(value).tobytes(), "little")
    return code if wide == dtype else cv.cast(wide, dtype, code)


def identity(kind, dtype):
    if kind == "sum":
        return value_of(dtype, 0)
    if dtype in cv.INTEGERS:
        return cv.limits(dtype)[0 if kind == "max" else 1]
    top = cv.largest(dtype) + (1 if cv.FLOATS[dtype][2] else 0)
    value = value_of(dtype, top)
    return -value if kind == "max" else value


def fold(kind, a, x):
    if kind == "sum":
        return a + x
    return x if (x > a if kind == "max" else x < a) else a


def wrapped(dtype, value):
    if dtype not in cv.INTEGERS:
        return value
    value &= (1 << 64) - 1
    return value - (1 << 64) if cv.INTEGERS[dtype][0] and value >> 63 else value


def by_lanes(kind, dtype, values):
    lanes = [identity(kind, dtype)] * 16
    for i, value in enumerate(values):
        lanes[i % 16] = fold(kind, lanes[i % 16], value)
    for half in (8, 4, 2, 1):
        lanes = [fold(kind, lanes[i], lanes[i + half]) for i in range(half)]
    return wrapped(dtype, lanes[0])


def accumulated(kind, source, accumulator, codes, result, order):
    value = order(kind, accumulator, [value_of(accumulator, cv.cast(source, accumulator, code)) for code in codes])
    return cv.cast(accumulator, result, code_of(accumulator, value))


def in_order(kind, dtype, values):
    total = identity(kind, dtype)
    for value in values:
        total = fold(kind, total, value)
    return wrapped(dtype, total)


def fold_types():
    """(type, accumulator, kind): the defaults, and every type as an accumulator of another."""
    for dtype in cv.TYPES:
        for kind in ("sum", "max", "min"):
            if not (dtype == "i1" and kind == "sum"):
                yield dtype, "f32" if dtype in ("f16", "bf16") else dtype, kind
        other = RNG.choice([t for t in NUMBERS if t != dtype])
        yield dtype, other, RNG.choice(("sum", "max", "min"))
    yield "f16", "f16", "sum"


def segments():
    for i, (dtype, accumulator, kind) in enumerate(fold_types()):
        x = tensor(dtype, (6, 2), numbers=True)
        ids = [RNG.choice((0, 1, 3)) for _ in range(6)]
        y = array([accumulated(kind, dtype, accumulator, [x.codes[r, k] for r in range(6) if ids[r] == s], dtype,
                               in_order) for s in range(4) for k in range(2)], (4, 2))
        case("segment_reduce", {"kind": kind, "accum_dtype": accumulator, "num_segments": 4},
             [x, indices(("si32", "si64")[i % 2], np.array(ids))], [Tensor(dtype, y)])
    x = tensor("si8", (4, 2), numbers=True)
    for bad in (-1, 2):
        y = array([accumulated("sum", "si8", "si8", [x.codes[r, k] for r in rows], "si8", in_order)
                   for rows in ((0,), (2, 3)) for k in range(2)], (2, 2))
        case("segment_reduce", {"kind": "sum", "accum_dtype": "si8", "num_segments": 2},
             [x, indices("si64", np.array([0, bad, 1, 1]))], [Tensor("si8", y)], violates=True)
    for shape, count in (((0, 2), 2), ((3,), 0), ((3, 0), 2)):
        case("segment_reduce", {"kind": "max", "accum_dtype": "f32", "num_segments": count},
             [tensor("f32", shape), indices("si32", np.array([0] * shape[0], np.int64))],
             [Tensor("f32", array([0xff800000] * int(np.prod((count,) + shape[1:])), (count,) + shape[1:]))],
             violates=count == 0)


def under(shape, window, stride, low, high, base, dilation):
    """For each place, the elements under the window in row-major order, None for padding."""
    spread = [(d - 1) * b + 1 if d else 0 for d, b in zip(shape, base)]
    spans = [(w - 1) * d + 1 for w, d in zip(window, dilation)]
    places = [0 if l + s + h < n else (l + s + h - n) // t + 1
              for l, s, h, n, t in zip(low, spread, high, spans, stride)]
    for place in itertools.product(*map(range, places)):
        elements = []
        for offset in itertools.product(*map(range, window)):
            at = [p * t + o * d - l for p, t, o, d, l in zip(place, stride, offset, dilation, low)]
            real = all(0 <= a < s and a % b == 0 for a, s, b in zip(at, spread, base))
            elements.append(tuple(a // b for a, b in zip(at, base)) if real else None)
        yield places, elements
    if 0 in places:
        yield places, None


def windows():
    settings = [((4, 5), (2, 3), (1, 2), (1, 0), (0, 1), (1, 1), (1, 1)),
                ((3, 4), (2, 2), (1, 1), (0, 2), (1, 0), (2, 3), (1, 2)),
                ((7,), (3,), (2,), (2,), (2,), (1,), (2,)),
                ((5, 4), (5, 4), (1, 1), (0, 0), (0, 0), (1, 1), (1, 1))]
    edges = [((), (), (), (), (), (), ()), ((0, 2), (1, 1), (1, 1), (1, 0), (1, 0), (2, 1), (1, 1)),
             ((2,), (5,), (1,), (1,), (1,), (1,), (1,)),
             ((1, 2, 1, 2, 1, 2, 1, 2), (1, 2) * 4, (1,) * 8, (0,) * 8, (0, 1) + (0,) * 6, (1,) * 8, (1,) * 8)]
    runs = [(kind, settings[i % 4]) for i, kind in enumerate(fold_types())]
    runs += [(("f32", "f32", kind), edge) for edge in edges for kind in ("sum", "max")]
    for i, ((dtype, accumulator, kind), (shape, *window)) in enumerate(runs):
        x = tensor(dtype, shape, numbers=True)
        result = dtype if i % 3 else RNG.choice(cv.TYPES)
        codes, places = [], []
        for places, elements in under(shape, *window):
            if elements is not None:
                codes.append(accumulated(kind, dtype, accumulator, [x.codes[e] for e in elements if e is not None],
                                         result, by_lanes))
        names = ("window", "strides", "pad_low", "pad_high", "base_dilation", "window_dilation")
        case("reduce_window", dict(zip(names, map(list, window)), kind=kind, accum_dtype=accumulator,
                                   out_dtype=result), [x], [Tensor(result, array(codes, places))])
    for i, dtype in enumerate(PLAIN):
        for shape, *window in [settings[i % 3]] + (edges[1:3] if dtype in ("f32", "ui4") else []):
            window[4] = (1,) * len(shape)
            x = tensor(dtype, (2 if i % 4 == 0 else 1,) + shape + (2,))
            value = RNG.choice(SAMPLES[dtype]) if dtype in SAMPLES else RNG.getrandbits(bits_of(dtype))
            patches, places = [], []
            for image in x.codes:
                for places, elements in under(shape, *window):
                    patches += [value if e is None else image[e + (c,)] for e in elements or () for c in range(2)]
            names = ("window", "strides", "pad_low", "pad_high", "base", "dilation")
            attributes = {n: list(w) for n, w in zip(names, window) if n != "base"}
            case("extract_patches", dict(attributes, pad_value=pack(dtype, [value])), [x],
                 [Tensor(dtype, array(patches, [len(x.codes)] + list(places) + [2 * int(np.prod(window[0]))]))])


def tops():
    for i, dtype in enumerate(cv.TYPES):
        for largest, (shape, axis, k) in itertools.product((True, False), (((8,), 0, 8), ((2, 4, 2), 1, 3))):
            x = tensor(dtype, shape, numbers=True)
            moved = np.moveaxis(x.codes, axis, -1)
            values, places = [], []
            for row in moved.reshape(-1, shape[axis]):
                def key(j):
                    value = value_of(dtype, row[j])
                    nan = value != value
                    return (not nan, 0 if nan else -value) if largest else (nan, 0 if nan else value)
                order = sorted(range(len(row)), key=key)[:k]  # stable: the smaller index first
                values += [row[j] for j in order]
                places += order
            there = moved.shape[:-1] + (k,)
            case("top_k", {"k": k, "axis": axis, "largest": largest, "indices_dtype": ("si32", "si64")[i % 2]}, [x],
                 [Tensor(dtype, np.moveaxis(array(values, there), -1, axis)),
                  indices(("si32", "si64")[i % 2], np.moveaxis(np.array(places).reshape(there), -1, axis))])
    nothing = {"axis": 0, "largest": True, "indices_dtype": "si32"}
    case("top_k", dict(nothing, k=0), [tensor("f32", (3, 2))], [zeros("f32", (0, 2)), zeros("si32", (0, 2))])
    case("top_k", dict(nothing, k=2), [tensor("f32", (4, 0))], [zeros("f32", (2, 0)), zeros("si32", (2, 0))])
    case("top_k", dict(nothing, k=6), [tensor("f32", (-1,))], [zeros("f32", (6,)), zeros("si32", (6,))], violates=True)


def combine(kind, a, b):
    if kind == "add":
        return a + b
    if a != a or b != b:
        return a if a != a else b
    return (b if b > a else a) if kind == "max" else (b if b < a else a)


def scattered(kind, x, pairs):
    """x with (place, code) applied in order, rounded once."""
    if kind == "replace":
        y = x.codes.copy()
        for place, code in pairs:
            y[place] = code
        return Tensor(x.dtype, y, x.shape)
    values = {place: value_of(x.dtype, x.codes[place]) for place in np.ndindex(x.codes.shape)}
    for place, code in pairs:
        values[place] = wrapped(x.dtype, combine(kind, values[place], value_of(x.dtype, code)))
    return Tensor(x.dtype, array((code_of(x.dtype, values[p]) for p in np.ndindex(x.codes.shape)), x.codes.shape),
                  x.shape)


def scatters():
    for i, dtype in enumerate(PLAIN):
        for kind in ("add", "max", "min", "replace"):
            if kind != "replace" and dtype in COMPLEX or kind == "add" and dtype == "i1":
                continue
            shape, axis, extent = (((3, 3), 1, 5), ((2, 2, 2), 1, 3), ((5,), 0, 9))[i % 3]
            there = shape[:axis] + (extent,) + shape[axis + 1:]
            x, updates = tensor(dtype, shape, numbers=True), tensor(dtype, there, numbers=True)
            places = np.array([RNG.randrange(shape[axis]) for _ in range(int(np.prod(there)))], np.int64).reshape(there)
            pairs = [(p[:axis] + (int(places[p]),) + p[axis + 1:], updates.codes[p]) for p in np.ndindex(there)]
            case("scatter_reduce", {"axis": axis, "reduce": kind},
                 [x, indices(("si32", "si64")[i % 2], places), updates], [scattered(kind, x, pairs)])
    for dtype, kind in itertools.product(("fp8_e4m3", "f16", "f64"), ("add", "max", "min")):
        one, two, nan = cv.cast("si8", dtype, 1), cv.cast("si8", dtype, 2), (1 << bits_of(dtype) - 1) - 1
        x = Tensor(dtype, array([one, nan, two, two], (4,)))
        updates = Tensor(dtype, array([nan, one, two, nan, one], (5,)))
        places = [0, 1, 2, 2, 2]
        case("scatter_reduce", {"axis": 0, "reduce": kind}, [x, indices("si32", np.array(places)), updates],
             [scattered(kind, x, [((p,), c) for p, c in zip(places, updates.codes)])])
    for kind, bad in itertools.product(("add", "replace"), (-1, 3)):
        x, updates = tensor("si16", (3,), numbers=True), tensor("si16", (4,), numbers=True)
        pairs = [((0,), updates.codes[0]), ((2,), updates.codes[2]), ((0,), updates.codes[3])]
        case("scatter_reduce", {"axis": 0, "reduce": kind}, [x, indices("si32", np.array([0, bad, 2, 0])), updates],
             [scattered(kind, x, pairs)], violates=True)
    for i, dtype in enumerate(NUMBERS):
        index = ("si32", "si64")[i % 2]
        # rows added: places of one number, without and with an axis for it
        x, updates = tensor(dtype, (4, 3), numbers=True), tensor(dtype, (5, 3), numbers=True)
        rows = [RNG.randrange(4) for _ in range(5)]
        y = scattered("add", x, [((rows[p], k), updates.codes[p, k]) for p in range(5) for k in range(3)])
        attributes = {"update_window_dims": [1], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0]}
        case("scatter_add", dict(attributes, index_vector_dim=1), [x, indices(index, np.array(rows)), updates], [y])
        case("scatter_add", dict(attributes, index_vector_dim=1),
             [x, indices(index, np.array(rows).reshape(5, 1)), updates], [y])
        # windows of 2 x 2 in axes 1 and 2 of x, at (axis 2, axis 1), the places on axis 0 of indices
        x, updates = tensor(dtype, (2, 4, 3), numbers=True), tensor(dtype, (2, 2, 3, 2), numbers=True)
        at = np.array([[RNG.randrange(2) for _ in range(3)], [RNG.randrange(3) for _ in range(3)]])
        pairs = [((a, int(at[1, p]) + b, int(at[0, p]) + c), updates.codes[a, b, p, c])
                 for a, b, p, c in np.ndindex(2, 2, 3, 2)]
        case("scatter_add", {"update_window_dims": [0, 1, 3], "inserted_window_dims": [],
                             "scatter_dims_to_operand_dims": [2, 1], "index_vector_dim": 0},
             [x, indices(index, at), updates], [scattered("add", x, pairs)])
    x, updates = tensor("f32", (4, 3), numbers=True), tensor("f32", (2, 2), numbers=True)
    for bad in (-1, 2, 1 << 31):  # a window of two columns fits at 0 and 1
        pairs = [((2, 1), updates.codes[0, 0]), ((2, 2), updates.codes[0, 1])]
        case("scatter_add", {"update_window_dims": [1], "inserted_window_dims": [0],
                             "scatter_dims_to_operand_dims": [0, 1], "index_vector_dim": 1},
             [x, indices("si64", np.array([[2, 1], [0, bad]])), updates], [scattered("add", x, pairs)], violates=True)
    one = tensor("f32", (), numbers=True)
    scalar = tensor("f32", (), numbers=True)
    case("scatter_add", {"update_window_dims": [], "inserted_window_dims": [], "scatter_dims_to_operand_dims": [],
                         "index_vector_dim": 0}, [one, indices("si32", np.empty((0,), np.int64)), scalar],
         [scattered("add", one, [((), scalar.codes[()])])])


def types():
    """Each type under each movement; rows of 4-bit elements do not end with a byte."""
    for i, dtype in enumerate(PLAIN):
        x, narrow, column, window = (tensor(dtype, shape) for shape in ((3, 5), (3, 2), (3, 1), (2, 3)))
        index = ("si64", "si32")[i % 2]
        case("constant", {}, [x], [x])
        case("reshape", {"shape": [5, 3]}, [x], [Tensor(dtype, x.codes.reshape(5, 3))])
        case("transpose", {"perm": [1, 0]}, [x], [Tensor(dtype, x.codes.T)])
        case("broadcast_to", {"shape": [2, 3, 3]}, [column], [Tensor(dtype, np.broadcast_to(column.codes, (2, 3, 3)))])
        case("slice", {"starts": [1, 1], "sizes": [2, 3]}, [x], [Tensor(dtype, x.codes[1:, 1:4])])
        case("concat", {"axis": 1}, [narrow, x, column],
             [Tensor(dtype, np.concatenate([narrow.codes, x.codes, column.codes], 1))])
        value = x.codes[0, 0]
        padded = array([value] * 20, (4, 5))
        padded[1:, 0:3:2] = narrow.codes
        case("pad", {"low": [1, 0], "high": [0, 2], "interior": [0, 1], "value": pack(dtype, [value])}, [narrow],
             [Tensor(dtype, padded)])
        case("tile", {"repeats": [2, 1]}, [x], [Tensor(dtype, np.tile(x.codes, (2, 1)))])
        at = indices(index, np.array([1, 2]))
        case("dynamic_slice", {"sizes": [2, 3]}, [x, at], [Tensor(dtype, x.codes[1:, 2:])])
        updated = x.codes.copy()
        updated[1:, 2:] = window.codes
        case("dynamic_update_slice", {"sizes": [2, 3]}, [x, window, at], [Tensor(dtype, updated)])
        case("take", {}, [x, indices(index, np.array([2, 0, 2]))], [Tensor(dtype, x.codes[[2, 0, 2]])])
        places = np.array([[4, 0], [1, 1], [3, 2]])
        case("gather", {"axis": 1}, [x, indices(index, places)],
             [Tensor(dtype, np.take_along_axis(x.codes, places, 1))])


def main():
    for part in (moves, dynamic, lookups, segments, windows, tops, scatters, types):
        part()
    print('{"n": %d, "cases": [' % N)
    print(",\n".join(json.dumps(line, separators=(",", ":")) for line in LINES))
    print("]}")


if __name__ == "__main__":
    main()
