#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/ptir/cast_vectors.txt: casts between all computed types, from exact rational arithmetic.

Usage: python3 tests/tools/cast_vectors.py > tests/data/ptir/cast_vectors.txt
       python3 tests/tools/cast_vectors.py --numpy   compares the casts that numpy defines too with numpy's
       python3 tests/tools/cast_vectors.py --all > tests/data/ptir/cast_digests.txt

The file has a block per source type: a line `from <type>` with the elements' bits in hexadecimal,
then a line per destination type with the bits of the results; any NaN stands for all.

--all casts every value of every type of at most 16 bits: by numpy, to bf16 by torch, to fp8 in
fractions. A line is source, destination, and the sum modulo 2^64 of (bits + 1) (2 i + 1) over values i,
any NaN counted as the one with all bits but the sign, so that no one result can change unseen.
"""
import math
import random
import struct
import sys
from fractions import Fraction

INTEGERS = {"i1": (False, 1), "si4": (True, 4), "ui4": (False, 4), "si8": (True, 8), "ui8": (False, 8),
            "si16": (True, 16), "ui16": (False, 16), "si32": (True, 32), "ui32": (False, 32),
            "si64": (True, 64), "ui64": (False, 64)}
# Exponent bits, mantissa bits, whether the largest exponent holds infinities and NaNs only.
FLOATS = {"fp8_e4m3": (4, 3, False), "fp8_e5m2": (5, 2, True), "bf16": (8, 7, True), "f16": (5, 10, True),
          "f32": (8, 23, True), "f64": (11, 52, True)}
TYPES = list(INTEGERS) + list(FLOATS)
INF, NAN = math.inf, math.nan


def bits_of(dtype):
    return INTEGERS[dtype][1] if dtype in INTEGERS else 1 + sum(FLOATS[dtype][:2])


def limits(dtype):
    signed, bits = INTEGERS[dtype]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def largest(dtype):
    """The code of the largest finite number."""
    exponent, mantissa, ieee = FLOATS[dtype]
    return (((1 << exponent) - 1) << mantissa) - 1 if ieee else (1 << exponent + mantissa) - 2


def decode(dtype, code):
    """(negative, magnitude): an exact Fraction, INF or NAN; an integer's sign is its own."""
    if dtype in INTEGERS:
        signed, bits = INTEGERS[dtype]
        value = code - (1 << bits) if signed and code >> bits - 1 else code
        return value < 0, Fraction(abs(value))
    exponent_bits, mantissa_bits, ieee = FLOATS[dtype]
    magnitude = code & (1 << exponent_bits + mantissa_bits) - 1
    negative = bool(code >> exponent_bits + mantissa_bits)
    if magnitude > largest(dtype):
        return negative, INF if ieee and magnitude == largest(dtype) + 1 else NAN
    field, mantissa = magnitude >> mantissa_bits, magnitude & (1 << mantissa_bits) - 1
    scale = Fraction(2) ** (max(field, 1) - (1 << exponent_bits - 1) + 1 - mantissa_bits)
    return negative, (mantissa + ((1 << mantissa_bits) if field else 0)) * scale


def encode_float(dtype, negative, magnitude):
    exponent_bits, mantissa_bits, ieee = FLOATS[dtype]
    sign = int(negative) << exponent_bits + mantissa_bits
    overflow = largest(dtype) + 1
    if magnitude is NAN:
        return sign | (1 << exponent_bits + mantissa_bits) - 1
    if magnitude is INF:
        return sign | overflow
    if magnitude == 0:
        return sign
    bias = (1 << exponent_bits - 1) - 1
    exponent = 0
    while Fraction(2) ** exponent > magnitude:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    exponent = max(exponent, 1 - bias)
    count = round(magnitude / Fraction(2) ** (exponent - mantissa_bits))  # a Fraction rounds half to even
    if count == 2 << mantissa_bits:
        exponent, count = exponent + 1, 1 << mantissa_bits
    field = exponent + bias if count >> mantissa_bits else 0
    code = (field << mantissa_bits) | count & (1 << mantissa_bits) - 1
    return sign | min(code, overflow)


def cast(source, destination, code):
    negative, magnitude = decode(source, code)
    if destination == "i1":
        return int(magnitude != 0)
    if destination in FLOATS:
        return encode_float(destination, negative, magnitude)
    if magnitude is NAN:
        return 0
    low, high = limits(destination)
    if magnitude is INF:
        value = low if negative else high
    else:
        whole = magnitude.numerator // magnitude.denominator
        value = min(max(-whole if negative else whole, low), high)
    return value & (1 << bits_of(destination)) - 1


def integer_samples(dtype, rng):
    low, high = limits(dtype)
    if high - low < 16:
        return list(range(low, high + 1))
    values = {low, low + 1, high, high - 1}
    for power in (0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 53, 63, 64):
        values |= {sign * (1 << power) + delta for sign in (-1, 1) for delta in (-1, 0, 1)}
    # Halfway between neighbours of every precision, where the lower one is even and where it is odd.
    for precision in (3, 4, 8, 11, 24, 53):
        for dropped in (1, max(0, bits_of(dtype) - precision - 2)):
            for lower in ((1 << precision) - 1, (1 << precision) - 2, (1 << precision - 1) + 1):
                half = (lower << dropped) + (1 << dropped >> 1)
                values |= {half - 1, half, half + 1, -half}
    # The last numbers before overflow of e4m3, e5m2 and f16.
    for edge in (448, 464, 480, 57344, 61440, 65504, 65520):
        values |= {edge - 1, edge, edge + 1, -edge}
    values = {value for value in values if low <= value <= high}
    values |= {rng.randrange(low, high + 1) >> rng.randrange(bits_of(dtype)) for _ in range(8)}
    return sorted(values)


def float_samples(dtype, rng):
    exponent_bits, mantissa_bits, ieee = FLOATS[dtype]
    sign = 1 << exponent_bits + mantissa_bits
    top = largest(dtype)
    one = (sign >> 1) - (1 << mantissa_bits)
    codes = {0, 1, 2, 3, (1 << mantissa_bits) - 1, 1 << mantissa_bits, (1 << mantissa_bits) + 1, one - 1, one,
             one + 1, top - 1, top, top + 1, sign - 1}
    if ieee and mantissa_bits > 2:
        codes |= {top + 2, top + 1 + (1 << mantissa_bits - 1)}

    def around(value):
        """The neighbours of `value` and it, where the type holds it."""
        near = encode_float(dtype, False, value)
        if 0 < near <= top:
            codes.update({near - 1, near, min(near + 1, top)})

    for power in (3, 4, 7, 8, 15, 16, 31, 32, 63, 64):
        around(Fraction(1 << power))
    for value in ("1/2", "3/2", "5/2", "15/2", "255/2", "257/2"):
        around(Fraction(value))
    for narrower, (_, mantissa, _) in FLOATS.items():
        if mantissa >= mantissa_bits:
            continue
        last = largest(narrower)
        unit = 1 << mantissa
        one_there = ((1 << FLOATS[narrower][0] - 1) - 1) << mantissa
        for lower in (0, 1, 2, unit - 2, unit - 1, unit, one_there, one_there + 1, last - 1, last):
            value = decode(narrower, lower)[1]
            below = decode(narrower, lower - 1)[1] if lower else -decode(narrower, 1)[1]
            # Beyond the last number the step is the one before it.
            above = 2 * value - below if lower == last else decode(narrower, lower + 1)[1]
            around((value + above) / 2)
    codes |= {rng.randrange(top) for _ in range(8)}
    return sorted(codes | {sign | code for code in codes if code % 3 == 0 or code < 4 or code >= top})


def samples():
    rng = random.Random(1)
    for dtype in TYPES:
        mask = (1 << bits_of(dtype)) - 1
        yield dtype, [v & mask for v in integer_samples(dtype, rng)] if dtype in INTEGERS else float_samples(dtype, rng)


def write():
    for source, codes in samples():
        print("from", source, *(f"{code:x}" for code in codes))
        for destination in TYPES:
            print(destination, *(f"{cast(source, destination, code):x}" for code in codes))


def compare_with_numpy():
    import numpy
    numpy.seterr(all="ignore")
    kinds = {"i1": "?", "f16": "<f2", "f32": "<f4", "f64": "<f8"}
    kinds |= {name: f"<{'i' if signed else 'u'}{bits // 8}" for name, (signed, bits) in INTEGERS.items() if bits > 4}
    compared = 0
    for source, codes in samples():
        for destination in kinds if source in kinds else ():
            # numpy takes integers to f16 by way of f32, which rounds twice.
            if source in INTEGERS and destination == "f16":
                continue
            for code in codes:
                magnitude = decode(source, code)[1]
                expected = cast(source, destination, code)
                if destination in INTEGERS and destination != "i1":
                    # Beyond the range numpy wraps, or does what the processor does.
                    negative, value = decode(source, code)
                    low, high = limits(destination)
                    if value in (INF, NAN) or not low <= math.trunc(-value if negative else value) <= high:
                        continue
                width = max(1, bits_of(source) // 8)
                element = numpy.frombuffer(code.to_bytes(width, "little"), kinds[source])
                got = int.from_bytes(element.astype(kinds[destination]).tobytes(), "little")
                compared += 1
                if destination in FLOATS and magnitude is NAN:
                    assert decode(destination, got)[1] is NAN, (source, destination, hex(code), hex(got))
                else:
                    assert got == expected, (source, destination, hex(code), hex(got), hex(expected))
    print(compared, "casts equal numpy's")


def digests():
    import numpy as np
    import torch
    np.seterr(all="ignore")
    for source in (dtype for dtype in TYPES if bits_of(dtype) <= 16):
        codes = range(1 << bits_of(source))
        decoded = [decode(source, code) for code in codes]
        # A value of 16 bits is a float64; so is what torch casts, which goes by way of float32, a float32.
        values = np.array([(-1.0 if n else 1.0) * (np.nan if m is NAN else float(m)) for n, m in decoded])
        assert source == "f64" or np.array_equal(values.astype(np.float32), values, equal_nan=True)
        for destination in TYPES:
            if destination.startswith("fp8"):
                results = np.array([encode_float(destination, n, m) for n, m in decoded], np.uint64)
            elif destination == "bf16":
                results = torch.tensor(values).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
            elif destination in FLOATS:
                bits = bits_of(destination) // 8
                results = values.astype(f"<f{bits}").view(f"<u{bits}")
            elif destination == "i1":
                results = values != 0
            else:
                low, high = limits(destination)
                whole = [0 if v != v else low if v <= low else high if v >= high else int(v) for v in values.tolist()]
                inside = [low <= v <= high for v in values.tolist()]
                if bits_of(destination) > 4:  # numpy's own, where it is defined
                    own = values.astype(f"{'i' if low else 'u'}{bits_of(destination) // 8}")
                    assert all(int(o) == w for o, w, i in zip(own, whole, inside) if i)
                results = np.array([w & (1 << bits_of(destination)) - 1 for w in whole], np.uint64)
            results = results.astype(np.uint64)
            if destination in FLOATS:
                results[np.isnan(values)] = (1 << bits_of(destination) - 1) - 1
            for code in codes[::17]:
                expected = cast(source, destination, code)
                nan = destination in FLOATS and decode(destination, expected)[1] is NAN
                assert results[code] == expected or nan, (source, destination, hex(code))
            if destination == "fp8_e4m3":
                results[np.isin(results, (0x7f, 0xff))] = 0x7f
            odd = np.arange(len(results), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
            print(source, destination, f"{int(((results + np.uint64(1)) * odd).sum()):x}")


if __name__ == "__main__":
    # The formats as Python's own conversions know them.
    for dtype, letter in (("f16", "<e"), ("f32", "<f"), ("f64", "<d")):
        for code in (1, 0x3C01, largest(dtype)):
            assert struct.unpack(letter, code.to_bytes(bits_of(dtype) // 8, "little"))[0] == decode(dtype, code)[1]

    if sys.argv[1:] == ["--numpy"]:
        compare_with_numpy()
    elif sys.argv[1:] == ["--all"]:
        digests()
    else:
        write()
