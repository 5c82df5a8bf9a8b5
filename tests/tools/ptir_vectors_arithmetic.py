#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/ptir/arithmetic.json: what the arithmetic ops of the portable tensor IR must give.

Usage: python3 tests/tools/ptir_vectors_arithmetic.py > tests/data/ptir/arithmetic.json

Every operation is computed exactly, in fractions or in 60 decimal digits, and rounded where the op's
header says so: numpy has no bf16, fp8 or 4-bit integers, and adds in an order of its own. ptir_peers.py
has numpy and torch compute each case too, in that order, and says what they cannot. A line is a case: op, parameter block, inputs and outputs as [dtype, shape, bytes]. `ulps` and `absolute` bound
the distance of floats, 0 if absent; `violates` marks a step that reports a violation, `error` a call
that the shape rule refuses. An extent -k is k times the step's symbol, which is `n`, 3 if absent.
"""
import itertools
import json
import math
import random
import struct
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

import cast_vectors as cv
import ptir_peers
import ptir_vectors_movement as mv

getcontext().prec = 60
RNG = random.Random(11)
SAMPLES = dict(cv.samples())
DTYPES = ["i1", "si4", "ui4", "si8", "ui8", "si16", "ui16", "si32", "ui32", "si64", "ui64",
          "fp8_e4m3", "fp8_e5m2", "bf16", "f16", "f32", "f64", "cf32", "cf64"]
FLOATS = list(cv.FLOATS)
NUMBERS = [dtype for dtype in cv.TYPES if dtype != "i1"]
INTEGERS = [dtype for dtype in NUMBERS if dtype in cv.INTEGERS]
N = 3
INF, NAN = math.inf, math.nan


# --- elements -------------------------------------------------------------------------------------

def bits_of(dtype):
    return {"i1": 8, "cf32": 64, "cf64": 128}.get(dtype) or cv.bits_of(dtype)


def pack(dtype, codes):
    if bits_of(dtype) == 4:
        codes = list(codes) + [0] * (len(codes) % 2)
        return bytes(low | high << 4 for low, high in zip(codes[::2], codes[1::2])).hex()
    return b"".join(code.to_bytes(bits_of(dtype) // 8, "little") for code in codes).hex()


def value(dtype, code):
    """A Python integer, or a float, which holds every float type."""
    negative, magnitude = cv.decode(dtype, code)
    if dtype in cv.INTEGERS:
        return -int(magnitude) if negative else int(magnitude)
    return math.copysign(float(magnitude), -1 if negative else 1)


def encode(dtype, x):
    """Rounds a number; integers keep their low bits."""
    if dtype in cv.INTEGERS:
        return int(x) & (1 << cv.bits_of(dtype)) - 1
    if isinstance(x, float):
        negative = math.copysign(1, x) < 0
        return cv.encode_float(dtype, negative, NAN if math.isnan(x) else INF if math.isinf(x) else Fraction(abs(x)))
    return cv.encode_float(dtype, x < 0, abs(Fraction(x)))


def domain(dtype):
    return "int" if dtype in cv.INTEGERS else "f64" if dtype == "f64" else "f32"


def rounded(d, x):
    """A float or an exact number, rounded to the domain."""
    return x if d == "int" else value(d, encode(d, x))


# --- float arithmetic, each operation rounded to the domain ----------------------------------------

def finite(*xs):
    return all(math.isfinite(x) for x in xs)


def add(d, a, b):
    if d == "int":
        return a + b
    if not finite(a, b):
        return a + b
    exact = Fraction(a) + Fraction(b)
    return rounded(d, exact) if exact else a + b


def sub(d, a, b):
    return add(d, a, -b)


def mul(d, a, b):
    if d == "int":
        return a * b
    sign = math.copysign(1, a) * math.copysign(1, b)
    if not finite(a, b):
        return a * b
    return math.copysign(rounded(d, abs(Fraction(a) * Fraction(b))), sign)


def div(d, a, b):
    sign = math.copysign(1, a) * math.copysign(1, b)
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b)) or (a == 0 and b == 0):
        return NAN
    if math.isinf(a) or b == 0:
        return math.copysign(INF, sign)
    if math.isinf(b):
        return math.copysign(0.0, sign)
    return math.copysign(rounded(d, abs(Fraction(a) / Fraction(b))), sign)


def fma(d, a, b, c):
    if d == "int":
        return a * b + c
    if not finite(a, b, c):
        # A product of finite numbers that is too large for a Python float is finite all the same.
        return c if finite(a, b) else a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return rounded(d, exact)
    negative = math.copysign(1, a) * math.copysign(1, b) < 0 and math.copysign(1, c) < 0
    return -0.0 if negative and (a == 0 or b == 0) and c == 0 else 0.0


def sqrt(d, x):
    if math.isnan(x) or x < 0:
        return NAN
    if x == 0 or math.isinf(x):
        return x
    return rounded(d, Fraction(decimal(x).sqrt()))


def rsqrt(d, x):
    return div(d, 1.0, sqrt(d, x))


# --- elementary functions in decimal digits --------------------------------------------------------

def decimal(x):
    return Decimal(x) if isinstance(x, float) else Decimal(x.numerator) / Decimal(x.denominator)


def pi_of(digits):
    getcontext().prec = digits + 10
    total, k, power = Decimal(0), 0, Decimal(1)
    while power > Decimal(10) ** -(digits + 5):  # Bailey, Borwein, Plouffe
        total += power * (Decimal(4) / (8 * k + 1) - Decimal(2) / (8 * k + 4) - Decimal(1) / (8 * k + 5) -
                          Decimal(1) / (8 * k + 6))
        power /= 16
        k += 1
    getcontext().prec = 60
    return total


PI = pi_of(400)


def wave(x, cosine):
    getcontext().prec = 400
    rest = Decimal(x) % (2 * PI)
    getcontext().prec = 80
    term = Decimal(1) if cosine else +rest
    total, k = Decimal(0), 0 if cosine else 1
    while abs(term) > Decimal(10) ** -75:
        total += term
        term = -term * rest * rest / ((k + 1) * (k + 2))
        k += 2
    getcontext().prec = 60
    return Fraction(+total)


def exp(x):
    return INF if x > 720 else Fraction(0) if x < -800 else Fraction(Decimal(x).exp())


def tanh(x):
    if abs(x) > 60:
        return Fraction(1 if x > 0 else -1)
    if abs(x) < 1e-12:
        return Fraction(x) - Fraction(x) ** 3 / 3
    e = (2 * Decimal(x)).exp()
    return Fraction((e - 1) / (e + 1))


def erf(x):
    if abs(x) > 8:
        return Fraction(1 if x > 0 else -1)
    getcontext().prec = 120
    d = Decimal(x)
    term, total, n = d, Decimal(0), 0
    while abs(term) > abs(d) * Decimal(10) ** -90:
        total += term / (2 * n + 1)
        n += 1
        term = -term * d * d / n
    total = 2 * total / PI.sqrt()
    getcontext().prec = 60
    return Fraction(+total)


def unary(kind, d, x):
    if kind == "neg":
        return -x
    if kind == "abs":
        return abs(x)
    if kind == "rsqrt":
        return rsqrt(d, x)
    if kind == "reciprocal":
        return div(d, 1.0, x)
    if math.isnan(x):
        return NAN
    if kind == "log":
        return NAN if x < 0 else -INF if x == 0 else INF if math.isinf(x) else rounded(d, Fraction(decimal(x).ln()))
    if math.isinf(x):
        return {"exp": INF if x > 0 else 0.0, "sin": NAN, "cos": NAN}.get(kind, math.copysign(1.0, x))
    if x == 0 and kind in ("tanh", "erf", "sin"):
        return x
    exact = {"exp": exp, "tanh": tanh, "erf": erf, "sin": lambda y: wave(y, False),
             "cos": lambda y: wave(y, True)}[kind](x)
    return rounded(d, exact)


# --- cases ----------------------------------------------------------------------------------------

LINES = []


def extents(shape):
    return [-dim * N if dim < 0 else dim for dim in shape]


def count(shape):
    return math.prod(extents(shape))


class Tensor:
    def __init__(self, dtype, shape, codes):
        self.dtype, self.shape, self.codes = dtype, list(shape), list(codes)
        assert len(self.codes) == count(shape), (shape, len(self.codes))

    def values(self):
        return [value(self.dtype, code) for code in self.codes]

    def line(self):
        return [self.dtype, self.shape, pack(self.dtype, self.codes)]


def element(dtype, small=0.0):
    """An element with any bits of interest, or with this probability a small number."""
    if dtype.startswith("cf"):
        return RNG.getrandbits(bits_of(dtype))
    if RNG.random() < small:
        low = 0 if dtype in cv.INTEGERS and not cv.INTEGERS[dtype][0] else -7
        return cv.cast("si64", dtype, RNG.randrange(low, 8) & (1 << 64) - 1)
    return RNG.choice(SAMPLES[dtype])


def tensor(dtype, shape, small=0.0):
    return Tensor(dtype, shape, [element(dtype, small) for _ in range(count(shape))])


def dtype_number(dtype):
    return DTYPES.index(dtype)


def case(op, block, inputs, outputs, **more):
    LINES.append({"op": op, "block": block.hex(), "in": [t.line() for t in inputs],
                  "out": [t.line() for t in outputs]} | more)
    if "violates" not in more:
        of_numpy = lambda t: mv.Tensor(t.dtype, mv.array(t.codes, extents(t.shape)))
        ptir_peers.agree(op, block, [of_numpy(t) for t in inputs], [of_numpy(t) for t in outputs], more)


def refused(op, block, inputs, error):
    """Inputs as (dtype, shape)."""
    LINES.append({"op": op, "block": block.hex(), "in": [[dtype, list(shape), ""] for dtype, shape in inputs],
                  "error": error})


def shape_block(shape):
    dims = list(shape) + [0] * (8 - len(shape))
    return struct.pack("<8I8BI", *(abs(dim) for dim in dims), *(int(dim < 0) for dim in dims), len(shape))


SHAPES = [(), (0,), (5,), (-2, 3), (2, 0, 3), (131,), (1, 2, 1, 3, 1, 2, 1, 2)]
UNARY = ["neg", "abs", "exp", "log", "tanh", "erf", "rsqrt", "reciprocal", "sin", "cos"]
# core/elementary.hpp and elementary64.hpp state the errors; a float below f32 may lie on the other side of a border.
ULPS64 = {"exp": 2, "log": 4, "tanh": 4, "erf": 5}


def unary_cases():
    for number, kind in enumerate(UNARY):
        exact = kind in ("neg", "abs", "rsqrt", "reciprocal")
        for dtype in NUMBERS if kind in ("neg", "abs") else FLOATS:
            d = domain(dtype)
            codes = {encode(dtype, x) for x in (0.1, -0.3, 0.7, 1.0, -2.5, 9.0)} if d != "int" else set()
            codes = sorted(codes | set(RNG.sample(SAMPLES[dtype], min(10, len(SAMPLES[dtype])))))
            if d != "int":
                codes += [0, 1 << bits_of(dtype) - 1, cv.largest(dtype), cv.largest(dtype) + 1]
            if kind in ("sin", "cos"):
                # Between zeros, where an error of one ulp of 1 does not show.
                codes += [encode(dtype, x) for x in (1e22, -3e5, 1e300)] if dtype == "f64" else []
            y = [encode(dtype, unary(kind, d, value(dtype, code))) for code in codes]
            bound = {} if exact else {"ulps": 2 if dtype == "f32" else 1}
            if dtype == "f64" and not exact:
                bound = {"absolute": 2.0 ** -52} if kind in ("sin", "cos") else {"ulps": ULPS64[kind]}
            case("elementwise_unary", bytes([number]), [Tensor(dtype, [len(codes)], codes)],
                 [Tensor(dtype, [len(codes)], y)], **bound)
    for shape in SHAPES:
        for dtype in ("si4", "bf16"):
            x = tensor(dtype, shape)
            case("elementwise_unary", bytes([0]), [x],
                 [Tensor(dtype, shape, [encode(dtype, -v) for v in x.values()])])
    for dtype, kind, error in (("i1", 0, "dtype_mismatch"), ("i1", 1, "dtype_mismatch"), ("si32", 2, "dtype_mismatch"),
                               ("cf32", 0, "unimplemented"), ("cf64", 2, "unimplemented"), ("cf32", 1, "dtype_mismatch"),
                               ("cf32", 5, "dtype_mismatch"), ("ui4", 6, "dtype_mismatch"), ("f32", 10, "invalid_params")):
        refused("elementwise_unary", bytes([kind]), [(dtype, (2,))], error)


BINARY = ["add", "sub", "mul", "div", "maximum", "minimum"]


def binary(kind, d, a, b):
    if kind in ("maximum", "minimum"):
        if a != a or b != b:
            return NAN
        return b if (b > a if kind == "maximum" else b < a) else a
    if d == "int" and kind == "div":
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    return {"add": add, "sub": sub, "mul": mul, "div": div}[kind](d, a, b)


def binary_cases():
    for number, kind in enumerate(BINARY):
        for dtype in cv.TYPES:
            if dtype == "i1" and kind in ("add", "sub", "div"):
                refused("elementwise_binary", bytes([number]), [(dtype, (2,))] * 2, "dtype_mismatch")
                continue
            d = domain(dtype)
            a, b = tensor(dtype, [13], 0.2), tensor(dtype, [13], 0.3)
            if d == "int" and kind == "div":
                b.codes = [code or 1 for code in b.codes]
            if d == "int" and dtype != "i1" and cv.INTEGERS[dtype][0]:  # the lowest number and -1
                a.codes[0], b.codes[0] = 1 << bits_of(dtype) - 1, (1 << bits_of(dtype)) - 1
            if d != "int":
                sign, top = 1 << bits_of(dtype) - 1, cv.largest(dtype)
                a.codes[:6] = [0, sign, top, sign | top + 1, top, sign]
                b.codes[:6] = [sign, 0, top, top + 1, 0, sign]
            y = [encode(dtype, binary(kind, d, p, q)) for p, q in zip(a.values(), b.values())]
            case("elementwise_binary", bytes([number]), [a, b], [Tensor(dtype, [13], y)])
    for shape in SHAPES:
        for dtype in ("ui4", "f16"):
            a, b = tensor(dtype, shape), tensor(dtype, shape)
            case("elementwise_binary", bytes([0]), [a, b], [Tensor(dtype, shape, [
                encode(dtype, add(domain(dtype), p, q)) for p, q in zip(a.values(), b.values())])])
    for dtype in INTEGERS:
        case("elementwise_binary", bytes([3]), [Tensor(dtype, [2], [6, 5]), Tensor(dtype, [2], [2, 0])],
             [Tensor(dtype, [2], [3, 0])], violates=True)
    refused("elementwise_binary", bytes([0]), [("f32", (2,)), ("f16", (2,))], "dtype_mismatch")
    refused("elementwise_binary", bytes([0]), [("f32", (2,)), ("f32", (1,))], "shape_mismatch")
    refused("elementwise_binary", bytes([0]), [("cf32", (2,))] * 2, "unimplemented")
    refused("elementwise_binary", bytes([4]), [("cf32", (2,))] * 2, "dtype_mismatch")
    # 6 is a power, which zrt has beside the specification's kinds.
    refused("elementwise_binary", bytes([6]), [("si32", (2,))] * 2, "dtype_mismatch")
    refused("elementwise_binary", bytes([6]), [("f64", (2,))] * 2, "dtype_mismatch")
    refused("elementwise_binary", bytes([7]), [("f32", (2,))] * 2, "invalid_params")


def compare_cases():
    kinds = [lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a == b, lambda a, b: a >= b, lambda a, b: a > b,
             lambda a, b: a != b]
    for number, kind in enumerate(kinds):
        for dtype in cv.TYPES:
            a, b = tensor(dtype, [8], 0.6), tensor(dtype, [8], 0.6)
            if domain(dtype) != "int":
                a.codes[:4] = [0, (1 << bits_of(dtype) - 1) - 1, 5, (1 << bits_of(dtype) - 1) - 1]
                b.codes[:4] = [1 << bits_of(dtype) - 1, 5, a.codes[1], a.codes[1]]
            case("compare", bytes([number]), [a, b],
                 [Tensor("i1", [8], [int(kind(p, q)) for p, q in zip(a.values(), b.values())])])
    for shape in SHAPES:
        a, b = tensor("si8", shape, 0.9), tensor("si8", shape, 0.9)
        case("compare", bytes([0]), [a, b],
             [Tensor("i1", shape, [int(p < q) for p, q in zip(a.values(), b.values())])])
    refused("compare", bytes([0]), [("cf32", (2,))] * 2, "dtype_mismatch")
    refused("compare", bytes([2]), [("cf32", (2,))] * 2, "unimplemented")
    refused("compare", bytes([2]), [("si64", (2,)), ("si64", (2, 1))], "shape_mismatch")


def select_cases():
    for dtype, shape in [(dtype, (7,)) for dtype in DTYPES] + [("ui4", shape) for shape in SHAPES]:
        pred, a, b = tensor("i1", shape), tensor(dtype, shape), tensor(dtype, shape)
        case("select", b"", [pred, a, b],
             [Tensor(dtype, shape, [p if c else q for c, p, q in zip(pred.codes, a.codes, b.codes)])])
    refused("select", b"", [("ui8", (2,)), ("f32", (2,)), ("f32", (2,))], "dtype_mismatch")
    refused("select", b"", [("i1", ()), ("f32", (2,)), ("f32", (2,))], "shape_mismatch")


def cast_cases():
    for i, source in enumerate(cv.TYPES):
        for k in range(3):
            to = cv.TYPES[(i * 5 + k * 3) % len(cv.TYPES)]
            shape = SHAPES[2 + (i + k) % 2]
            x = tensor(source, shape)
            case("cast", bytes([dtype_number(to)]), [x],
                 [Tensor(to, shape, [cv.cast(source, to, code) for code in x.codes])])
    for shape in SHAPES:
        x = tensor("f32", shape, 0.7)
        case("cast", bytes([dtype_number("si4")]), [x],
             [Tensor("si4", shape, [cv.cast("f32", "si4", code) for code in x.codes])])
    refused("cast", bytes([dtype_number("f32")]), [("cf32", (2,))], "dtype_mismatch")
    refused("cast", bytes([dtype_number("cf32")]), [("f32", (2,))], "unimplemented")
    refused("cast", bytes([36]), [("f32", (32,))], "invalid_params")  # q8_0


def stop_gradient_cases():
    for dtype, shape in [(dtype, (7,)) for dtype in DTYPES] + [("si4", shape) for shape in SHAPES]:
        x = tensor(dtype, shape)
        case("stop_gradient", b"", [x], [x])


def clamp_cases():
    for dtype, shape in [(dtype, (12,)) for dtype in cv.TYPES] + [("si4", shape) for shape in SHAPES]:
        x, low, high = tensor(dtype, shape, 0.5), tensor(dtype, shape, 0.8), tensor(dtype, shape, 0.8)
        if dtype in FLOATS:
            for k, operand in enumerate((x, low, high)):
                operand.codes[k] = (1 << bits_of(dtype) - 1) - 1  # NaN
        y = [encode(dtype, binary("minimum", domain(dtype), binary("maximum", domain(dtype), v, l), h))
             for v, l, h in zip(x.values(), low.values(), high.values())]
        case("clamp", b"", [x, low, high], [Tensor(dtype, shape, y)])
    refused("clamp", b"", [("cf32", (2,))] * 3, "dtype_mismatch")
    refused("clamp", b"", [("f32", (2,)), ("f32", (2,)), ("f32", ())], "shape_mismatch")


# --- folds ----------------------------------------------------------------------------------------

def default_accumulator(dtype):
    return "f32" if dtype in ("f16", "bf16", "fp8_e4m3", "fp8_e5m2") else dtype


def tree(d, lanes):
    half = 8
    while half:
        for j in range(half):
            lanes[j] = add(d, lanes[j], lanes[j + half])
        half //= 2
    return lanes[0]


def identity(kind, accumulator):
    if accumulator in cv.INTEGERS:
        return cv.limits(accumulator)[0 if kind == "max" else 1]
    end = INF if cv.FLOATS[accumulator][2] else value(accumulator, cv.largest(accumulator))
    return -end if kind == "max" else end


def fold(kind, accumulator, values):
    d = domain(accumulator)
    if kind == "sum":
        lanes = [0 if d == "int" else 0.0] * 16
        for i, x in enumerate(values):
            lanes[i % 16] = add(d, lanes[i % 16], x)
        return tree(d, lanes)
    best = identity(kind, accumulator)
    for x in values:
        if x > best if kind == "max" else x < best:
            best = x
    return best


def places(shape):
    return list(itertools.product(*(range(dim) for dim in shape)))


def index(shape, place):
    result = 0
    for dim, at in zip(shape, place):
        result = result * dim + at
    return result


def left(shape, axes, keep):
    return [1 if axis in axes else dim for axis, dim in enumerate(shape) if keep or axis not in axes]


def reduce_case(kind, x, axes, keep, accumulator, out):
    real = extents(x.shape)
    elements = [value(accumulator, cv.cast(x.dtype, accumulator, code)) for code in x.codes]
    y = []
    kept = [1 if axis in axes else dim for axis, dim in enumerate(real)]
    for at in places(kept):
        inner = [range(dim) if axis in axes else [at[axis]] for axis, dim in enumerate(real)]
        folded = fold(kind, accumulator, [elements[index(real, p)] for p in itertools.product(*inner)])
        y.append(cv.cast(accumulator, out, encode(accumulator, folded)))
    block = bytes([["sum", "max", "min"].index(kind), int(keep), sum(1 << axis for axis in axes),
                   dtype_number(accumulator), dtype_number(out)])
    case("reduce", block, [x], [Tensor(out, left(x.shape, axes, keep), y)])


def reduce_cases():
    for kind in ("sum", "max", "min"):
        for dtype in cv.TYPES:
            accumulator = "si32" if dtype == "i1" and kind == "sum" else default_accumulator(dtype)
            reduce_case(kind, tensor(dtype, (2, 19), 0.8), [1], False, accumulator, dtype)
            reduce_case(kind, tensor(dtype, (1, 0), 0.8), [1], True, accumulator, dtype)
        for shape, axes in (((), []), ((5,), []), ((5,), [0]), ((0, 3), [0]), ((-2, 3), [0]), ((2, -1, 4), [0, 2]),
                            ((2, 3, 4), [1]), ((2, 3, 4), [0, 1, 2]), ((1, 2, 1, 3, 1, 2, 1, 2), [1, 3, 7]),
                            ((140,), [0])):
            for dtype, accumulator, out in (("f32", "f32", "f32"), ("si8", "si32", "si64"), ("bf16", "f64", "f32"),
                                            ("f32", "f16", "f32"), ("f64", "f32", "si4"), ("f16", "si16", "bf16")):
                if RNG.random() < 0.3 or accumulator == dtype:
                    reduce_case(kind, tensor(dtype, shape, 0.9), axes, RNG.random() < 0.5, accumulator, out)
    f32 = dtype_number("f32")
    refused("reduce", bytes([0, 0, 1, 0, 0]), [("i1", (2,))], "dtype_mismatch")
    refused("reduce", bytes([1, 0, 1, f32, f32]), [("cf32", (2,))], "dtype_mismatch")
    refused("reduce", bytes([0, 0, 1, 17, 17]), [("cf32", (2,))], "unimplemented")
    refused("reduce", bytes([0, 0, 2, f32, f32]), [("f32", (2,))], "invalid_params")
    refused("reduce", bytes([3, 0, 1, f32, f32]), [("f32", (2,))], "invalid_params")
    refused("reduce", bytes([0, 2, 1, f32, f32]), [("f32", (2,))], "invalid_params")
    refused("reduce", bytes([0, 0, 1, 32, f32]), [("f32", (2,))], "invalid_params")


def arg_max_case(x, axis, keep, dtype):
    real, values, y = extents(x.shape), x.values(), []
    for at in places(left(real, [axis], True)):
        line = [values[index(real, at[:axis] + (i,) + at[axis + 1:])] for i in range(real[axis])]
        numbers = [v for v in line if v == v]
        y.append(line.index(max(numbers)) if numbers else 0)
    case("arg_max", bytes([axis, int(keep), dtype_number(dtype)]), [x], [Tensor(dtype, left(x.shape, [axis], keep), y)])


def arg_max_cases():
    for i, dtype in enumerate(cv.TYPES):
        arg_max_case(tensor(dtype, (3, 5), 0.3), i % 2, i % 3 == 0, ("si32", "si64")[i % 2])
        arg_max_case(tensor(dtype, (2, 5, 2), 0.9), 1, False, "si32")
    for shape, axis in (((-2, 3), 0), ((0, 3), 1), ((140,), 0), ((1, 2, 1, 3, 1, 2, 1, 2), 3)):
        arg_max_case(tensor("f32", shape, 0.5), axis, True, "si64")
    nan = (1 << 31) - 1
    arg_max_case(Tensor("f32", (2, 3), [nan, 0xff800000, nan, nan, nan, nan]), 1, False, "si32")
    arg_max_case(Tensor("f32", (1, 3), [0xff800000, 0x80000000, 0]), 1, False, "si32")
    LINES.append({"op": "arg_max", "block": bytes([0, 0, 7]).hex(), "in": [["f32", [-1, 2], ""]],
                  "out": [["si32", [2], pack("si32", [0, 0])]], "n": 0, "violates": True})
    LINES.append({"op": "arg_max", "block": bytes([0, 0, 7]).hex(), "in": [["f32", [-1, 0], ""]],
                  "out": [["si32", [0], ""]], "n": 0})
    refused("arg_max", bytes([1, 0, 7]), [("f32", (2, 0))], "shape_mismatch")
    refused("arg_max", bytes([0, 0, 8]), [("f32", (2,))], "dtype_mismatch")
    refused("arg_max", bytes([0, 0, 7]), [("f32", ())], "invalid_params")
    refused("arg_max", bytes([0, 0, 7]), [("cf64", (2,))], "dtype_mismatch")


def dot_block(bl, br, cl, cr, accumulator, out):
    eight = lambda axes: bytes(list(axes) + [0] * (8 - len(axes)))
    return (eight(bl) + eight(br) + eight(cl) + eight(cr) + struct.pack("<II", len(bl), len(cl)) +
            struct.pack("<BBHf", dtype_number(accumulator), dtype_number(out), 0, 1))


def dot_case(a, b, bl, br, cl, cr, accumulator, out):
    ra, rb = extents(a.shape), extents(b.shape)
    fl = [axis for axis in range(len(ra)) if axis not in bl + cl]
    fr = [axis for axis in range(len(rb)) if axis not in br + cr]
    d = domain(accumulator)
    same = domain(a.dtype) == d and (d != "int" or cv.INTEGERS[a.dtype][0] == cv.INTEGERS[accumulator][0])
    read = lambda t: t.values() if same else [value(accumulator, cv.cast(t.dtype, accumulator, c)) for c in t.codes]
    va, vb, y = read(a), read(b), []
    shape = [a.shape[axis] for axis in bl + fl] + [b.shape[axis] for axis in fr]
    for at in places(extents(shape)):
        batch, free_l, free_r = at[:len(bl)], at[len(bl):len(bl) + len(fl)], at[len(bl) + len(fl):]
        lanes = [0 if d == "int" else 0.0] * 16
        for k, inner in enumerate(places([ra[axis] for axis in cl])):
            pa, pb = [0] * len(ra), [0] * len(rb)
            for axes, values in ((bl, batch), (fl, free_l), (cl, inner)):
                for axis, v in zip(axes, values):
                    pa[axis] = v
            for axes, values in ((br, batch), (fr, free_r), (cr, inner)):
                for axis, v in zip(axes, values):
                    pb[axis] = v
            lanes[k % 16] = fma(d, va[index(ra, pa)], vb[index(rb, pb)], lanes[k % 16])
        y.append(cv.cast(accumulator, out, encode(accumulator, tree(d, lanes))))
    case("dot_general", dot_block(bl, br, cl, cr, accumulator, out), [a, b], [Tensor(out, shape, y)])


def dot_cases():
    for dtype in cv.TYPES:
        accumulator = "si32" if dtype == "i1" else default_accumulator(dtype)
        dot_case(tensor(dtype, (1, 19), 0.9), tensor(dtype, (19, 2), 0.9), [], [], [1], [0], accumulator, dtype)
        dot_case(tensor(dtype, (2, 3), 0.9), tensor(dtype, (2, 3), 0.9), [0], [0], [1], [1], accumulator, "f32")
    for a, b, bl, br, cl, cr in (((), (), [], [], [], []), ((3,), (2,), [], [], [], []), ((2, 0), (0, 3), [], [], [1], [0]),
                                 ((0, 2), (2, 3), [], [], [1], [0]), ((-1, 4), (4,), [], [], [1], [0]),
                                 ((2, 3, 4), (4, 2, 3), [0], [1], [2, 1], [0, 2]), ((2, 140), (1, 140), [], [], [1], [1]),
                                 ((2, 2, 2, 3), (2, 3, 2), [1, 0], [0, 2], [3], [1]),
                                 ((1, 2, 1, 2, 1), (2, 1, 2, 3), [1], [2], [], [])):
        for dtype, accumulator, out in (("f32", "f32", "f32"), ("si8", "si32", "f16"), ("f16", "f64", "f16"),
                                        ("f32", "f16", "f32"), ("ui8", "si16", "ui4")):
            dot_case(tensor(dtype, a, 0.95), tensor(dtype, b, 0.95), bl, br, cl, cr, accumulator, out)
    ok = dot_block([], [], [1], [0], "f32", "f32")
    refused("dot_general", ok, [("f32", (3, 4)), ("f32", (5, 6))], "shape_mismatch")
    refused("dot_general", ok, [("f32", (3, 4)), ("f16", (4,))], "dtype_mismatch")
    refused("dot_general", ok, [("cf32", (3, 4)), ("cf32", (4,))], "unimplemented")
    refused("dot_general", dot_block([], [], [0], [0], "i1", "i1"), [("i1", (4,)), ("i1", (4,))], "dtype_mismatch")
    refused("dot_general", dot_block([], [], [], [], "f32", "f32"), [("f32", (1,) * 5), ("f32", (1,) * 4)],
            "unsupported_tensor_rank")


# --- the rest -------------------------------------------------------------------------------------

def iota_cases():
    for dtype in NUMBERS:
        for shape, axis in (((300 if dtype in ("si4", "ui8", "fp8_e4m3", "bf16") else 20,), 0), ((3, -1, 2), 1)):
            real = extents(shape)
            codes = [p[axis] & (1 << bits_of(dtype)) - 1 if dtype in cv.INTEGERS else cv.cast("ui64", dtype, p[axis])
                     for p in places(real)]
            case("iota", shape_block(shape) + bytes([axis, dtype_number(dtype), 0, 0]), [], [Tensor(dtype, shape, codes)])
    for shape, axis in (((0, 3), 1), ((1, 2, 1, 3, 1, 2, 1, 2), 3)):
        case("iota", shape_block(shape) + bytes([axis, dtype_number("si4"), 0, 0]), [],
             [Tensor("si4", shape, [p[axis] for p in places(extents(shape))])])
    refused("iota", shape_block(()) + bytes([0, 15, 0, 0]), [], "invalid_params")
    refused("iota", shape_block((2,)) + bytes([0, 0, 0, 0]), [], "dtype_mismatch")
    refused("iota", shape_block((2,)) + bytes([0, 17, 0, 0]), [], "unimplemented")


def layer_norm_case(dtype, shape, axis, epsilon):
    d, real = "f64" if dtype == "f64" else "f32", extents(shape)
    number = lambda: encode(dtype, RNG.uniform(-3, 3))
    x = Tensor(dtype, shape, [number() for _ in range(count(shape))])
    gamma, beta = (Tensor(dtype, [shape[axis]], [number() for _ in range(real[axis])]) for _ in range(2))
    values, y = x.values(), [0] * count(shape)
    n = rounded(d, Fraction(real[axis]))
    for at in places(left(real, [axis], True)):
        line = [index(real, at[:axis] + (i,) + at[axis + 1:]) for i in range(real[axis])]
        mean = div(d, fold("sum", d, [values[i] for i in line]), n)
        centred = [sub(d, values[i], mean) for i in line]
        variance = div(d, fold("sum", d, [mul(d, c, c) for c in centred]), n)
        scale = rsqrt(d, add(d, variance, rounded(d, epsilon)))
        for i, c, g, b in zip(line, centred, gamma.values(), beta.values()):
            y[i] = encode(dtype, add(d, mul(d, mul(d, c, scale), g), b))
    case("layer_norm", struct.pack("<dII", epsilon, axis, 0), [x, gamma, beta], [Tensor(dtype, shape, y)])


def layer_norm_cases():
    for dtype in FLOATS:
        layer_norm_case(dtype, (2, 17), 1, 1e-5)
        layer_norm_case(dtype, (3, -1, 2), 1, 1e-3)
    for shape, axis in (((0, 4), 1), ((4, 0), 1), ((1,), 0), ((140,), 0), ((1, 2, 1, 3, 1, 2, 1, 2), 3)):
        layer_norm_case("f32", shape, axis, 0.0 if shape != (1,) else 1e-5)
    block = lambda epsilon, axis: struct.pack("<dII", epsilon, axis, 0)
    refused("layer_norm", block(1e-5, 0), [("si32", (2,))] * 3, "dtype_mismatch")
    refused("layer_norm", block(1e-5, 1), [("f32", (2,))] * 3, "invalid_params")
    refused("layer_norm", block(-1.0, 0), [("f32", (2,))] * 3, "invalid_params")
    refused("layer_norm", block(NAN, 0), [("f32", (2,))] * 3, "invalid_params")
    refused("layer_norm", block(1e-5, 1), [("f32", (2, 3)), ("f32", (2,)), ("f32", (3,))], "shape_mismatch")


def philox(counter, key):
    """Philox4x32-10 as in the paper."""
    counter, key = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [b >> 32 ^ counter[1] ^ key[0], b & 0xffffffff, a >> 32 ^ counter[3] ^ key[1], a & 0xffffffff]
        key = [key[0] + 0x9E3779B9 & 0xffffffff, key[1] + 0xBB67AE85 & 0xffffffff]
    return counter


assert philox([0xffffffff] * 4, [0xffffffff] * 2) == [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]


def rng_cases():
    words = lambda x: [x & 0xffffffff, x >> 32]
    mask = (1 << 64) - 1
    for dtype in FLOATS:
        for shape, seed, stream in (((-1, 7), 0, 0), ((130,), mask, 1 << 40), ((), 5, 9), ((0, 2), 1, 1),
                                    ((1, 2, 1, 3, 1, 2, 1, 1), 3, 2)):
            if shape == (130,) and dtype != "f32":
                shape = (30,)
            random_words = [philox(words(i) + words(stream), words(seed)) for i in range(count(shape))]
            block = struct.pack("<QQ", seed, stream) + shape_block(shape) + bytes([dtype_number(dtype), 0, 0, 0])
            p = cv.FLOATS[dtype][1] + 1
            uniform, normal = [], []
            for a, b, c, e in random_words:
                uniform.append(encode(dtype, Fraction((a << 32 | b) >> 64 - p, 1 << p)))
                if dtype == "f64":
                    d, u, v = "f64", ((a << 32 | b) >> 11) + 1, (c << 32 | e) >> 11
                    u, v = Fraction(u, 1 << 53), Fraction(v, 1 << 53)
                else:
                    d, u, v = "f32", Fraction((a >> 8) + 1, 1 << 24), Fraction(b >> 8, 1 << 24)
                logarithm = rounded(d, Fraction(decimal(u).ln()))
                angle = mul(d, float(v), rounded(d, Fraction(2 * PI)))
                normal.append(encode(dtype, mul(d, sqrt(d, abs(2 * logarithm)), rounded(d, wave(angle, True)))))
            case("rng_uniform", block, [], [Tensor(dtype, shape, uniform)])
            bound = {"absolute": 2.0 ** -48} if dtype == "f64" else {"ulps": 4 if dtype == "f32" else 1}
            case("rng_normal", block, [], [Tensor(dtype, shape, normal)], **bound)
            # The same numbers under the seed as an operand.
            block, seed = bytes(8) + block[8:], [Tensor("si64", (), [seed])]
            case("rng_uniform", block, seed, [Tensor(dtype, shape, uniform)])
            case("rng_normal", block, seed, [Tensor(dtype, shape, normal)], **bound)
    for op in ("rng_uniform", "rng_normal"):
        block = lambda dtype: bytes(16) + shape_block((2,)) + bytes([dtype, 0, 0, 0])
        refused(op, block(7), [], "dtype_mismatch")
        refused(op, block(17), [], "dtype_mismatch")
        refused(op, block(99), [], "invalid_params")
        refused(op, block(dtype_number("f32")), [("si32", ())], "dtype_mismatch")
        refused(op, block(dtype_number("f32")), [("si64", (1,))], "shape_mismatch")
        refused(op, b"\1" + block(dtype_number("f32"))[1:], [("si64", ())], "invalid_params")


def nearest(x):
    """The nearest whole number; an infinity is as good as one beyond every type and zero point."""
    if math.isnan(x):
        return 0
    whole = 1 << 1100 if math.isinf(x) else round(Fraction(abs(x)))
    return -whole if x < 0 else whole


def saturated(dtype, whole):
    low, high = cv.limits(dtype)
    return min(max(whole, low), high) & (1 << bits_of(dtype)) - 1


def quantization_case(op, source, to, shape, axis):
    real = extents(shape)
    per_axis = axis is not None
    channels = [shape[axis]] if per_axis else []
    block = bytes([dtype_number(to), int(per_axis), axis or 0, 0])

    def scaling():
        n = count(channels)
        scale = [encode("f32", RNG.choice([0.1, 0.5, 1.0, 2.0, 1e-30, 1e30, 0.0, -0.25])) for _ in range(n)]
        zero = [RNG.choice([0, 1, 128, -7 & 0xffffffff, 0x7fffffff, 0x80000000]) for _ in range(n)]
        return Tensor("f32", channels, scale), Tensor("si32", channels, zero)

    x = tensor(source, shape, 0.6)
    first, second = scaling(), scaling()
    channel = [p[axis] if per_axis else 0 for p in places(real)]
    at = lambda t: [t.values()[c] for c in channel]
    y = []
    if op == "quantize":
        d = domain(source)
        for v, s, z in zip(x.values(), at(first[0]), at(first[1])):
            y.append(saturated(to, nearest(div(d, v, s)) + z))
        case(op, block, [x, *first], [Tensor(to, shape, y)])
    elif op == "dequantize":
        d = domain(to)
        for v, s, z in zip(x.values(), at(first[0]), at(first[1])):
            y.append(encode(to, mul(d, rounded(d, Fraction(v - z)), s)))
        case(op, block, [x, *first], [Tensor(to, shape, y)])
    else:
        for v, s, z, s2, z2 in zip(x.values(), at(first[0]), at(first[1]), at(second[0]), at(second[1])):
            real_value = mul("f32", rounded("f32", Fraction(v - z)), s)
            y.append(saturated(to, nearest(div("f32", real_value, s2)) + z2))
        case(op, block, [x, *first, *second], [Tensor(to, shape, y)])


def quantization_cases():
    ops = (("quantize", FLOATS, INTEGERS), ("dequantize", INTEGERS, FLOATS), ("requantize", INTEGERS, INTEGERS))
    for op, sources, targets in ops:
        for i, source in enumerate(sources):
            for k in range(2 if len(sources) > 6 else 4):
                to = targets[(3 * i + k) % len(targets)]
                quantization_case(op, source, to, (4, 6), None if k % 2 else 1)
        for shape, axis in (((), None), ((0, 3), 1), ((-1, 5), 0), ((65,), 0), ((1, 2, 1, 3, 1, 2, 1, 2), 3)):
            quantization_case(op, sources[3], targets[1], shape, axis)
        good_in, good_to = sources[2], dtype_number(targets[2])
        n = 2 if op == "requantize" else 1
        scales = lambda shape: [("f32", shape), ("si32", shape)] * n
        refused(op, bytes([good_to, 0, 0, 0]), [("i1", (2,))] + scales(()), "dtype_mismatch")
        refused(op, bytes([good_to, 0, 0, 0]), [("cf32", (2,))] + scales(()), "dtype_mismatch")
        refused(op, bytes([0, 0, 0, 0]), [(good_in, (2,))] + scales(()), "dtype_mismatch")
        refused(op, bytes([good_to, 0, 0, 0]), [(good_in, (2,))] + scales((2,)), "shape_mismatch")
        refused(op, bytes([good_to, 1, 1, 0]), [(good_in, (2,))] + scales((2,)), "invalid_params")
        refused(op, bytes([good_to, 0, 0, 0]), [(good_in, (2,)), ("f32", ()), ("si8", ())] + scales(())[2:],
                "dtype_mismatch")
    for op, sources, targets in ops:
        for source, to in itertools.product(sources, targets):
            quantization_case(op, source, to, (5, 2), RNG.choice((None, 1)))


def main():
    for cases in (unary_cases, binary_cases, compare_cases, select_cases, cast_cases, stop_gradient_cases, clamp_cases,
                  reduce_cases, arg_max_cases, dot_cases, iota_cases, layer_norm_cases, rng_cases, quantization_cases):
        cases()
    print(sum(ptir_peers.compared.values()), "cases equal numpy's:", ptir_peers.compared, file=sys.stderr)
    print("[\n" + ",\n".join(json.dumps(line, separators=(",", ":")) for line in LINES) + "\n]")


if __name__ == "__main__":
    main()
