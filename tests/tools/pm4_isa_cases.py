#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/pm4/isa_cases.txt: instructions assembled by LLVM, with results computed here, in Python.

    pm4_isa_cases.py [--llvm-mc llvm-mc-19] > tests/data/pm4/isa_cases.txt

Nothing here shares code with the interpreter: integers are Python's, sums and products are exact fractions
rounded once. Elementary functions are those of the C library in f64; their results may differ by the units of
the last place that the case states.

Lines: `inputs NAME`, then `v REGISTER 32 words` and `s REGISTER word` until `end`; `case ISA INPUTS ULP WORDS | RESULTS`
with results `vN=` 32 words, `sN=` one word, `scc=` 0 or 1, `mem=` and `lds=` FNV-1a hashes of the memory after.
"""
import argparse
import math
import random
import struct
import subprocess
from fractions import Fraction

parser = argparse.ArgumentParser()
parser.add_argument("--llvm-mc", default="llvm-mc-19")
arguments = parser.parse_args()
LANES = 32
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
rng = random.Random(1201)


# --- numbers -------------------------------------------------------------------------------------

def signed(x, bits):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


FORMATS = {"f16": (5, 10), "f32": (8, 23), "f64": (11, 52), "bf16": (8, 7)}


class Float:
    """A float by its bits: exact value, or one of the special ones."""

    def __init__(self, bits, form):
        e, m = FORMATS[form]
        self.bits, self.form = bits, form
        self.sign = bits >> (e + m) & 1
        exponent, mantissa = bits >> m & ((1 << e) - 1), bits & ((1 << m) - 1)
        self.nan = exponent == (1 << e) - 1 and mantissa != 0
        self.inf = exponent == (1 << e) - 1 and mantissa == 0
        bias = (1 << (e - 1)) - 1
        if self.nan or self.inf:
            self.value = None
        elif exponent == 0:
            self.value = Fraction(mantissa) * Fraction(2) ** (1 - bias - m)
        else:
            self.value = Fraction(mantissa | 1 << m) * Fraction(2) ** (exponent - bias - m)
        if self.value is not None and self.sign:
            self.value = -self.value

    def real(self):
        if self.nan:
            return math.nan
        if self.inf:
            return -math.inf if self.sign else math.inf
        return -0.0 if self.value == 0 and self.sign else float(self.value)


def special(form, sign, nan=False):
    e, m = FORMATS[form]
    return sign << (e + m) | ((1 << e) - 1) << m | ((1 << (m - 1)) if nan else 0)


def rounded(value, form, negative_zero=False):
    """The bits of an exact value rounded to nearest, ties to even."""
    e, m = FORMATS[form]
    bias = (1 << (e - 1)) - 1
    if value == 0:
        return (1 << (e + m)) if negative_zero else 0
    sign = value < 0
    size = abs(value)
    k = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** k > size:
        k -= 1
    k = max(k, 1 - bias)
    unit = Fraction(2) ** (k - m)
    n = size / unit
    low = n.numerator // n.denominator
    rest = n - low
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low & 1):
        low += 1
    if low >> (m + 1):
        low >>= 1
        k += 1
    if k > bias:
        return special(form, int(sign))
    code = low if low < 1 << m else (k + bias) << m | (low & ((1 << m) - 1))
    return int(sign) << (e + m) | code


def from_real(x, form):
    if math.isnan(x):
        return special(form, 0, True)
    if math.isinf(x):
        return special(form, int(x < 0))
    return rounded(Fraction(x), form, math.copysign(1, x) < 0)


def arithmetic(form, op):
    """a op b for + - *, with the rules for special values by way of Python's own floats."""
    def run(a, b):
        x, y = Float(a, form), Float(b, form)
        if x.value is None or y.value is None:
            r = op(x.real(), y.real())
            return from_real(r, form)
        exact = op(x.value, y.value)
        # A zero result takes its sign from IEEE's rules, which Python's floats follow.
        return rounded(exact, form, exact == 0 and math.copysign(1, op(x.real(), y.real())) < 0)
    return run


def fma(form):
    def run(a, b, c):
        x, y, z = Float(a, form), Float(b, form), Float(c, form)
        if None in (x.value, y.value, z.value):
            if x.nan or y.nan or z.nan or (x.value is None and y.value == 0) or (y.value is None and x.value == 0):
                return special(form, 0, True)
            if x.value is None or y.value is None:
                product_sign = x.sign ^ y.sign
                if z.inf and z.sign != product_sign:
                    return special(form, 0, True)
                return special(form, product_sign)
            return c
        exact = x.value * y.value + z.value
        zero_sign = (x.sign ^ y.sign) & z.sign if x.value * y.value == 0 or z.value == 0 else 0
        return rounded(exact, form, exact == 0 and zero_sign == 1)
    return run


def pick(form, want_larger, nan_wins=False):
    def run(a, b):
        x, y = Float(a, form), Float(b, form)
        if x.nan or y.nan:
            if nan_wins:
                return a if x.nan else b
            return b if x.nan else a
        if x.real() == y.real():
            first = bool(x.sign) != want_larger
            return a if first else b
        return a if (x.real() > y.real()) == want_larger else b
    return run


def compare(form, op):
    names = {"lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
             "eq": lambda x, y: x == y, "lg": lambda x, y: x < y or x > y, "ne": lambda x, y: x != y,
             "o": lambda x, y: not (math.isnan(x) or math.isnan(y)), "u": lambda x, y: math.isnan(x) or math.isnan(y)}
    negated = {"nlt": "lt", "nle": "le", "ngt": "gt", "nge": "ge", "neq": "eq", "nlg": "lg"}

    def run(a, b):
        if form in FORMATS:
            a, b = Float(a, form).real(), Float(b, form).real()
        elif form[0] == "i":
            a, b = signed(a, int(form[1:])), signed(b, int(form[1:]))
        return not names[negated[op]](a, b) if op in negated else names[op](a, b)
    return run


def to_int(form, bits, is_signed):
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)

    def run(a):
        x = Float(a, form)
        if x.nan:
            return 0
        r = (low if x.sign else high) if x.inf else min(max(math.trunc(x.value), low), high)
        return r & ((1 << bits) - 1)
    return run


def real_function(form, f):
    def run(a):
        x = Float(a, form).real()
        if math.isnan(x):
            return special(form, 0, True)
        try:
            return from_real(f(x), form)
        except (ValueError, OverflowError):
            return None
    return run


# --- inputs --------------------------------------------------------------------------------------

def word_f32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def ints():
    special_ints = [0, 1, 2, M32, 0x80000000, 0x7fffffff, 31, 0x12345678]
    return special_ints + [rng.getrandbits(32) >> rng.choice([0, 0, 0, 8, 16, 24]) for _ in range(LANES - 8)]


def floats():
    specials = [0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x80400000,
                0x7f7fffff]
    rng.shuffle(specials)
    return specials + [word_f32(rng.uniform(-1, 1) * 2.0 ** rng.randint(-20, 20)) for _ in range(LANES - 10)]


def halves():
    def one():
        if rng.random() < 0.2:
            return rng.choice([0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7e00, 1, 0x83ff, 0x7bff])
        return from_real(rng.uniform(-1, 1) * 2.0 ** rng.randint(-10, 8), "f16")
    return [one() | one() << 16 for _ in range(LANES)]


def doubles():
    def one():
        if rng.random() < 0.2:
            return rng.choice([0, 1 << 63, 0x3ff0000000000000, 0x7ff0000000000000, 0x7ff8000000000000, 1])
        return struct.unpack("<Q", struct.pack("<d", rng.uniform(-1, 1) * 2.0 ** rng.randint(-40, 40)))[0]
    return [one() for _ in range(LANES)]


INPUTS = {}


def make_inputs(name, make, wide=False):
    v, s = {}, {}
    for r in (2, 4, 6):
        values = make()
        v[r] = [x & M32 for x in values]
        v[r + 1] = [x >> 32 for x in values] if wide else make()
    v[0] = list(range(LANES))
    v[1] = [16 * i for i in range(LANES)]
    v[8] = [0x10000 + 16 * i for i in range(LANES)]
    v[9] = [0] * LANES
    for r in range(10, 18):
        v[r] = [0x11111111 * (r - 9) & M32] * LANES
    for r in (4, 5, 6, 7, 8, 9):
        s[r] = v[r - 2 if r % 2 == 0 else r - 2][11 + r]
    s[20], s[21] = 0x10000, 0
    s[106], s[126] = 0x5a5a1234, M32
    INPUTS[name] = (v, s)


make_inputs("int", ints)
make_inputs("f32", floats)
make_inputs("f16", halves)
make_inputs("f64", doubles, True)
MEMORY = bytes((i * 37 + 11) & 255 for i in range(4096))
CASES = []  # (mnemonics by isa, assembly, inputs, ulp, results)


def fnv(data):
    h = 0xcbf29ce484222325
    for b in data:
        h = (h ^ b) * 0x100000001b3 & M64
    return h


def v(inputs, r, lane, bits=32):
    regs = INPUTS[inputs][0]
    x = regs[r][lane]
    if bits == 64:
        x |= regs[r + 1][lane] << 32
    return x & ((1 << bits) - 1)


def s(inputs, r, bits=32):
    regs = INPUTS[inputs][1]
    return (regs[r] | (regs.get(r + 1, 0) << 32 if bits == 64 else 0)) & ((1 << bits) - 1)


def reg(kind, r, bits):
    return f"{kind}[{r}:{r + 1}]" if bits == 64 else f"{kind}{r}"


def bits_of(t):
    return int(t.lstrip("fiub"))


def vector(names, dst, sources, f, ulp=0, suffix="", inputs=None):
    """f of the sources in each lane; types such as u32, f16; a 16-bit result keeps the register's upper half."""
    inputs = inputs or {"f": sources[0]}.get(sources[0][0], "f64" if any(bits_of(t) == 64 for t in sources) else "int")
    regs = [2, 4, 6][:len(sources)]
    text = ", ".join([reg("v", 10, bits_of(dst))] + [reg("v", r, bits_of(t)) for r, t in zip(regs, sources)]) + suffix
    lanes = [f(*[v(inputs, r, i, bits_of(t)) for r, t in zip(regs, sources)]) for i in range(LANES)]
    if any(x is None for x in lanes):
        lanes = [0 if x is None else x for x in lanes]
    results = {}
    width = bits_of(dst)
    lanes = [x & ((1 << width) - 1) for x in lanes]
    if width == 16:
        results["v10"] = [0x11110000 | x for x in lanes]
    else:
        results["v10"] = [x & M32 for x in lanes]
        if width == 64:
            results["v11"] = [x >> 32 for x in lanes]
    for name in names.split():
        CASES.append((name, text, inputs, ulp, results))


def scalar(names, dst, sources, f, inputs=None):
    """f gives the value, or (value, scc); dst None: scc alone."""
    inputs = inputs or {"f": sources[0]}.get(sources[0][0], "int")
    regs = [4, 6, 8][:len(sources)]
    operands = [reg("s", 10, bits_of(dst))] if dst else []
    text = ", ".join(operands + [reg("s", r, bits_of(t)) for r, t in zip(regs, sources)])
    r = f(*[s(inputs, r, bits_of(t)) for r, t in zip(regs, sources)])
    results = {}
    if dst is None:
        results["scc"] = int(r)
    else:
        value, scc = r if isinstance(r, tuple) else (r, None)
        width = bits_of(dst)
        results["s10"] = value & M32 & ((1 << width) - 1)
        if width == 64:
            results["s11"] = value >> 32 & M32
        if scc is not None:
            results["scc"] = int(scc)
    for name in names.split():
        CASES.append((name, text, inputs, 0, results))


def mask_case(names, sources, f):
    inputs = sources[0] if sources[0] in INPUTS else "f64" if bits_of(sources[0]) == 64 else "int"
    text = ", ".join(reg("v", r, bits_of(t)) for r, t in zip([2, 4], sources))
    mask = sum(int(bool(f(*[v(inputs, r, i, bits_of(t)) for r, t in zip([2, 4], sources)]))) << i for i in range(LANES))
    for name in names.split():
        if name.startswith("v_cmpx"):
            CASES.append((name, text, inputs, 0, {"s126": mask}))
        else:
            CASES.append((name, "vcc_lo, " + text, inputs, 0, {"s106": mask}))
            CASES.append((name, "s10, " + text, inputs, 0, {"s10": mask}))


# --- scalar instructions -------------------------------------------------------------------------

def nz(x, bits=32):
    x &= (1 << bits) - 1
    return x, x != 0


def overflow(x):
    return x & M32, not -(1 << 31) <= x < 1 << 31


scalar("s_add_u32 s_add_co_u32", "u32", ["u32", "u32"], lambda a, b: (a + b & M32, a + b > M32))
scalar("s_sub_u32 s_sub_co_u32", "u32", ["u32", "u32"], lambda a, b: (a - b & M32, b > a))
scalar("s_add_i32 s_add_co_i32", "u32", ["i32", "i32"], lambda a, b: overflow(signed(a, 32) + signed(b, 32)))
scalar("s_sub_i32 s_sub_co_i32", "u32", ["i32", "i32"], lambda a, b: overflow(signed(a, 32) - signed(b, 32)))
scalar("s_addc_u32 s_add_co_ci_u32", "u32", ["u32", "u32"], lambda a, b: (a + b + 1 & M32, a + b + 1 > M32))
scalar("s_subb_u32 s_sub_co_ci_u32", "u32", ["u32", "u32"], lambda a, b: (a - b - 1 & M32, b + 1 > a))
scalar("s_absdiff_i32", "u32", ["i32", "i32"], lambda a, b: nz(abs(signed(a, 32) - signed(b, 32))))
for n in (1, 2, 3, 4):
    scalar(f"s_lshl{n}_add_u32", "u32", ["u32", "u32"], lambda a, b: ((a << n) + b & M32, (a << n) + b > M32))
for t, g in (("i32", lambda x: signed(x, 32)), ("u32", lambda x: x)):
    scalar("s_min_" + t, "u32", [t, t], lambda a, b: (a if g(a) < g(b) else b, g(a) < g(b)))
    scalar("s_max_" + t, "u32", [t, t], lambda a, b: (b if g(a) < g(b) else a, g(a) >= g(b)))
    for op in ("eq", "lg", "gt", "ge", "lt", "le"):
        scalar(f"s_cmp_{op}_{t}", None, [t, t], compare(t, "ne" if op == "lg" else op))
scalar("s_cmp_eq_u64", None, ["u64", "u64"], lambda a, b: a == b)
scalar("s_cmp_lg_u64", None, ["u64", "u64"], lambda a, b: a != b)
for w in (32, 64):
    u = f"u{w}"
    for name, f in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b),
                    ("nand", lambda a, b: ~(a & b)), ("nor", lambda a, b: ~(a | b)), ("xnor", lambda a, b: ~(a ^ b)),
                    ("and_not1", lambda a, b: a & ~b), ("or_not1", lambda a, b: a | ~b)):
        scalar(f"s_{name}_b{w}", u, [u, u], lambda a, b: nz(f(a, b), w))
    scalar(f"s_lshl_b{w}", u, [u, "u32"], lambda a, b: nz(a << (b % w), w))
    scalar(f"s_lshr_b{w}", u, [u, "u32"], lambda a, b: nz(a >> (b % w), w))
    scalar(f"s_ashr_i{w}", u, [u, "u32"], lambda a, b: nz(signed(a, w) >> (b % w), w))
    scalar(f"s_cselect_b{w}", u, [u, u], lambda a, b: a)
    scalar(f"s_mov_b{w}", u, [u], lambda a: a)
    scalar(f"s_cmov_b{w}", u, [u], lambda a: a)
    scalar(f"s_not_b{w}", u, [u], lambda a: nz(~a, w))
    scalar(f"s_brev_b{w}", u, [u], lambda a: int(f"{a:0{w}b}"[::-1], 2))
    scalar(f"s_bcnt1_i32_b{w}", "u32", [u], lambda a: nz(a.bit_count()))
    scalar(f"s_bcnt0_i32_b{w}", "u32", [u], lambda a: nz(w - a.bit_count()))
    scalar(f"s_ctz_i32_b{w}", "u32", [u], lambda a: (a & -a).bit_length() - 1)
    scalar(f"s_clz_i32_u{w}", "u32", [u], lambda a: w - a.bit_length() if a else -1)
    scalar(f"s_bitcmp0_b{w}", None, [u, "u32"], lambda a, b: not a >> (b % w) & 1)
    scalar(f"s_bitcmp1_b{w}", None, [u, "u32"], lambda a, b: a >> (b % w) & 1)

    def field(a, b):
        offset, width = b % w, min(b >> 16 & 0x7f, w - b % w)
        return a >> offset & ((1 << width) - 1), width

    def signed_field(a, b):
        x, width = field(a, b)
        return signed(x, width) if width else 0
    scalar(f"s_bfe_u{w}", u, [u, "u32"], lambda a, b: nz(field(a, b)[0], w))
    scalar(f"s_bfe_i{w}", u, [u, "u32"], lambda a, b: nz(signed_field(a, b), w))
    scalar(f"s_bfm_b{w}", u, ["u32", "u32"], lambda a, b: ((1 << a % w) - 1 << b % w))
    for name, f in (("and", lambda a, e: a & e), ("or", lambda a, e: a | e), ("xor", lambda a, e: a ^ e),
                    ("nand", lambda a, e: ~(a & e)), ("nor", lambda a, e: ~(a | e)), ("xnor", lambda a, e: ~(a ^ e)),
                    ("and_not0", lambda a, e: ~a & e), ("or_not0", lambda a, e: ~a | e),
                    ("and_not1", lambda a, e: a & ~e), ("or_not1", lambda a, e: a | ~e)):
        if w == 32:
            a, e = s("int", 4), M32
            x = f(a, e) & M32
            CASES.append((f"s_{name}_saveexec_b32", "s10, s4", "int", 0, {"s10": e, "s126": x, "scc": int(x != 0)}))
for name, f in (("and_not0", lambda a, e: ~a & e), ("and_not1", lambda a, e: a & ~e)):
    x = f(s("int", 4), M32) & M32
    CASES.append((f"s_{name}_wrexec_b32", "s10, s4", "int", 0, {"s10": x, "s126": x, "scc": int(x != 0)}))
scalar("s_cls_i32", "u32", ["u32"], lambda a: -1 if a in (0, M32) else 31 - (a ^ (M32 if a >> 31 else 0)).bit_length() + 1)
scalar("s_sext_i32_i8", "u32", ["u32"], lambda a: signed(a, 8))
scalar("s_sext_i32_i16", "u32", ["u32"], lambda a: signed(a, 16))
scalar("s_abs_i32", "u32", ["u32"], lambda a: nz(abs(signed(a, 32))))
scalar("s_mul_i32", "u32", ["u32", "u32"], lambda a, b: a * b)
scalar("s_mul_hi_u32", "u32", ["u32", "u32"], lambda a, b: a * b >> 32)
scalar("s_mul_hi_i32", "u32", ["i32", "i32"], lambda a, b: signed(a, 32) * signed(b, 32) >> 32)
scalar("s_add_nc_u64", "u64", ["u64", "u64"], lambda a, b: a + b)
scalar("s_sub_nc_u64", "u64", ["u64", "u64"], lambda a, b: a - b)
scalar("s_mul_u64", "u64", ["u64", "u64"], lambda a, b: a * b)
scalar("s_pack_ll_b32_b16", "u32", ["u32", "u32"], lambda a, b: a & 0xffff | b << 16)
scalar("s_pack_lh_b32_b16", "u32", ["u32", "u32"], lambda a, b: a & 0xffff | b & 0xffff0000)
scalar("s_pack_hh_b32_b16", "u32", ["u32", "u32"], lambda a, b: a >> 16 | b & 0xffff0000)
scalar("s_pack_hl_b32_b16", "u32", ["u32", "u32"], lambda a, b: a >> 16 | b << 16)
for t in ("f32", "f16"):
    scalar("s_add_" + t, t, [t, t], arithmetic(t, lambda a, b: a + b))
    scalar("s_sub_" + t, t, [t, t], arithmetic(t, lambda a, b: a - b))
    scalar("s_mul_" + t, t, [t, t], arithmetic(t, lambda a, b: a * b))
    scalar("s_min_num_" + t, t, [t, t], pick(t, False))
    scalar("s_max_num_" + t, t, [t, t], pick(t, True))
    scalar("s_minimum_" + t, t, [t, t], pick(t, False, True))
    scalar("s_maximum_" + t, t, [t, t], pick(t, True, True))
    for op in ("lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt"):
        scalar(f"s_cmp_{op}_{t}", None, [t, t], compare(t, op))
scalar("s_cvt_f32_i32", "f32", ["i32"], lambda a: rounded(Fraction(signed(a, 32)), "f32"))
scalar("s_cvt_f32_u32", "f32", ["u32"], lambda a: rounded(Fraction(a), "f32"))
scalar("s_cvt_i32_f32", "u32", ["f32"], to_int("f32", 32, True))
scalar("s_cvt_u32_f32", "u32", ["f32"], to_int("f32", 32, False))


def constants(name, text, results, inputs="int"):
    CASES.append((name, text, inputs, 0, results))


constants("s_movk_i32", "s10, 0x8001", {"s10": 0xffff8001})
constants("s_cmovk_i32", "s10, 0x1234", {"s10": 0x1234})
constants("s_mulk_i32", "s4, 0x123", {"s4": s("int", 4) * 0x123 & M32})
constants("s_addk_i32", "s4, 0x123", {"s4": s("int", 4) + 0x123 & M32})
constants("s_addk_co_i32", "s4, 0x123", {"s4": s("int", 4) + 0x123 & M32})
for t in ("i32", "u32"):
    for op in ("eq", "lg", "gt", "ge", "lt", "le"):
        constants(f"s_cmpk_{op}_{t}", "s4, 0x8123" if t == "u32" else "s4, 0x123",
                  {"scc": int(compare(t, "ne" if op == "lg" else op)(s("int", 4), 0x8123 if t == "u32" else 0x123))})
constants("s_bitset0_b32", "s5, s6", {"s5": s("int", 5) & ~(1 << s("int", 6) % 32)})
constants("s_bitset1_b32", "s5, s6", {"s5": s("int", 5) | 1 << s("int", 6) % 32})
constants("s_getreg_b32", "s10, hwreg(HW_REG_MODE, 4, 4)", {"s10": 15})
for name in "s_nop s_sleep s_setprio s_delay_alu s_clause s_round_mode".split():
    constants(name, "0" if name != "s_delay_alu" else "instid0(VALU_DEP_1)" if name != "s_clause" else "0x1", {"s10": 0})

# --- vector arithmetic ---------------------------------------------------------------------------

for t in ("f32", "f16", "f64"):
    add, mul = arithmetic(t, lambda a, b: a + b), arithmetic(t, lambda a, b: a * b)
    sub = arithmetic(t, lambda a, b: a - b)
    vector("v_add_" + t, t, [t, t], add)
    vector("v_mul_" + t, t, [t, t], mul)
    if t != "f64":
        vector("v_sub_" + t, t, [t, t], sub)
        vector("v_subrev_" + t, t, [t, t], lambda a, b: sub(b, a))
        vector("v_fmac_" + t, t, [t, t], lambda a, b: fma(t)(a, b, 0x11111111 & (1 << bits_of(t)) - 1))
    vector("v_fma_" + t, t, [t, t, t], fma(t))
    low, high = pick(t, False), pick(t, True)
    vector(f"v_min_{t} v_min_num_{t}", t, [t, t], low)
    vector(f"v_max_{t} v_max_num_{t}", t, [t, t], high)
    vector("v_minimum_" + t, t, [t, t], pick(t, False, True))
    vector("v_maximum_" + t, t, [t, t], pick(t, True, True))
    if t != "f64":
        vector(f"v_min3_{t} v_min3_num_{t}", t, [t] * 3, lambda a, b, c: low(low(a, b), c))
        vector(f"v_max3_{t} v_max3_num_{t}", t, [t] * 3, lambda a, b, c: high(high(a, b), c))
        vector(f"v_minmax_{t} v_minmax_num_{t}", t, [t] * 3, lambda a, b, c: high(low(a, b), c))
        vector(f"v_maxmin_{t} v_maxmin_num_{t}", t, [t] * 3, lambda a, b, c: low(high(a, b), c))

        def middle(a, b, c):
            if any(Float(x, t).nan for x in (a, b, c)):
                return low(low(a, b), c)
            order = sorted((a, b, c), key=lambda x: (Float(x, t).real(), -Float(x, t).sign))
            return order[1]
        vector(f"v_med3_{t} v_med3_num_{t}", t, [t] * 3, middle)
    for op in ("lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt"):
        mask_case(f"v_cmp_{op}_{t} v_cmpx_{op}_{t}", [t, t], compare(t, op))

    def rounding(f):
        def run(a):
            x = Float(a, t)
            if x.value is None:
                return a if x.inf else a
            return rounded(Fraction(f(x.value)), t, bool(x.sign))
        return run
    for name, f in (("floor", math.floor), ("ceil", math.ceil), ("trunc", math.trunc), ("rndne", round)):
        vector(f"v_{name}_{t}", t, [t], rounding(f))

    def exponent(a):
        x = Float(a, t)
        return 0 if not x.value else math.frexp(float(x.value))[1] if t != "f64" else math.frexp(x.real())[1]

    def mantissa(a):
        x = Float(a, t)
        return a if not x.value else from_real(math.frexp(x.real())[0], t)
    vector(f"v_frexp_mant_{t}", t, [t], mantissa)
    vector("v_frexp_exp_i16_f16" if t == "f16" else "v_frexp_exp_i32_" + t, "u16" if t == "f16" else "u32", [t], exponent)

    def class_of(a):
        e, m = FORMATS[t]
        x = Float(a, t)
        if x.nan:
            return 1 if a >> (m - 1) & 1 else 0
        if x.inf:
            return 2 if x.sign else 9
        if x.value == 0:
            return 5 if x.sign else 6
        tiny = (a >> m & ((1 << e) - 1)) == 0
        return (4 if tiny else 3) if x.sign else (7 if tiny else 8)
    mask_case(f"v_cmp_class_{t} v_cmpx_class_{t}", [t, "u32"], lambda a, b: b >> class_of(a) & 1)
for t in ("f32", "f16"):
    ulp = 1
    vector("v_rcp_" + t, t, [t], real_function(t, lambda x: 1 / x if x else math.copysign(math.inf, x)), ulp)
    vector("v_sqrt_" + t, t, [t], real_function(t, lambda x: math.sqrt(x) if x >= 0 else math.nan), ulp)
    vector("v_rsq_" + t, t, [t], real_function(
        t, lambda x: math.nan if x < 0 else 1 / math.sqrt(x) if x else math.copysign(math.inf, x)), ulp)
    vector("v_exp_" + t, t, [t], real_function(t, lambda x: math.inf if x > 1000 else 2.0 ** max(x, -1000)), ulp)
    vector("v_log_" + t, t, [t], real_function(
        t, lambda x: math.nan if x < 0 else x if x == math.inf else math.log2(x) if x else -math.inf), ulp)


def turns(f):
    def run(x):
        return math.nan if math.isinf(x) else f(math.remainder(x, 1) * 2 * math.pi)
    return run


# Of angles within one turn: the C library's are reduced here.
small = [v("f32", 2, i) for i in range(LANES)]
vector("v_fract_f32", "f32", ["f32"], real_function(
    "f32", lambda x: math.nan if math.isinf(x) else min(float(Fraction(x) - math.floor(Fraction(x))), 1 - 2.0 ** -24)))
vector("v_rcp_iflag_f32", "f32", ["f32"], real_function("f32", lambda x: 1 / x if x else math.copysign(math.inf, x)), 1)
vector("v_sin_f32", "f32", ["f32"], real_function("f32", turns(math.sin)), 2)
vector("v_cos_f32", "f32", ["f32"], real_function("f32", turns(math.cos)), 2)
for op in ("lt", "eq", "le", "gt", "ne", "ge"):
    for t in ("i16", "u16", "i32", "u32", "i64", "u64"):
        mask_case(f"v_cmp_{op}_{t} v_cmpx_{op}_{t}", [t, t], compare(t, op))
vector("v_cvt_f32_i32", "f32", ["i32"], lambda a: rounded(Fraction(signed(a, 32)), "f32"))
vector("v_cvt_f32_u32", "f32", ["u32"], lambda a: rounded(Fraction(a), "f32"))
vector("v_cvt_f64_i32", "f64", ["i32"], lambda a: rounded(Fraction(signed(a, 32)), "f64"))
vector("v_cvt_f64_u32", "f64", ["u32"], lambda a: rounded(Fraction(a), "f64"))
vector("v_cvt_i32_f32", "u32", ["f32"], to_int("f32", 32, True))
vector("v_cvt_u32_f32", "u32", ["f32"], to_int("f32", 32, False))
vector("v_cvt_i32_f64", "u32", ["f64"], to_int("f64", 32, True))
vector("v_cvt_u32_f64", "u32", ["f64"], to_int("f64", 32, False))


def convert(a, old, new):
    x = Float(a, old)
    return from_real(x.real(), new) if x.value is None else rounded(x.value, new, bool(x.sign))


vector("v_cvt_f16_f32", "f16", ["f32"], lambda a: convert(a, "f32", "f16"))
vector("v_cvt_f32_f16", "f32", ["f16"], lambda a: convert(a, "f16", "f32"))
vector("v_cvt_f32_f64", "f32", ["f64"], lambda a: convert(a, "f64", "f32"))
vector("v_cvt_f64_f32", "f64", ["f32"], lambda a: convert(a, "f32", "f64"))
vector("v_cvt_f16_u16", "f16", ["u16"], lambda a: rounded(Fraction(a), "f16"))
vector("v_cvt_f16_i16", "f16", ["i16"], lambda a: rounded(Fraction(signed(a, 16)), "f16"))
vector("v_cvt_u16_f16", "u16", ["f16"], to_int("f16", 16, False))
vector("v_cvt_i16_f16", "u16", ["f16"], to_int("f16", 16, True))
vector("v_cvt_i32_i16", "u32", ["i16"], lambda a: signed(a, 16))
vector("v_cvt_u32_u16", "u32", ["u16"], lambda a: a)
for i in range(4):
    vector(f"v_cvt_f32_ubyte{i}", "f32", ["u32"], lambda a: rounded(Fraction(a >> 8 * i & 255), "f32"))
vector("v_mov_b32", "u32", ["u32"], lambda a: a)
vector("v_not_b32", "u32", ["u32"], lambda a: ~a)
vector("v_bfrev_b32", "u32", ["u32"], lambda a: int(f"{a:032b}"[::-1], 2))
vector("v_clz_i32_u32", "u32", ["u32"], lambda a: 32 - a.bit_length() if a else -1)
vector("v_ctz_i32_b32", "u32", ["u32"], lambda a: (a & -a).bit_length() - 1)
vector("v_cls_i32", "u32", ["u32"], lambda a: -1 if a in (0, M32) else 32 - (a ^ (M32 if a >> 31 else 0)).bit_length())
for name, f in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
    vector(f"v_{name}_b32", "u32", ["u32", "u32"], f)
    vector(f"v_{name}_b16", "u16", ["u16", "u16"], f)
vector("v_xnor_b32", "u32", ["u32", "u32"], lambda a, b: ~(a ^ b))
vector("v_not_b16", "u16", ["u16"], lambda a: ~a)
for w, u in ((32, "b32"), (16, "b16")):
    t = f"u{w}"
    vector(f"v_lshlrev_b{w}", t, [t, t], lambda a, b: b << a % w)
    vector(f"v_lshrrev_b{w}", t, [t, t], lambda a, b: b >> a % w)
    vector(f"v_ashrrev_i{w}", t, [t, t], lambda a, b: signed(b, w) >> a % w)
vector("v_lshlrev_b64", "u64", ["u32", "u64"], lambda a, b: b << a % 64, inputs="int")
vector("v_lshrrev_b64", "u64", ["u32", "u64"], lambda a, b: b >> a % 64, inputs="int")
vector("v_ashrrev_i64", "u64", ["u32", "u64"], lambda a, b: signed(b, 64) >> a % 64, inputs="int")
vector("v_add_nc_u32", "u32", ["u32", "u32"], lambda a, b: a + b)
vector("v_sub_nc_u32", "u32", ["u32", "u32"], lambda a, b: a - b)
vector("v_subrev_nc_u32", "u32", ["u32", "u32"], lambda a, b: b - a)
vector("v_add_nc_i32", "u32", ["u32", "u32"], lambda a, b: a + b)
vector("v_sub_nc_i32", "u32", ["u32", "u32"], lambda a, b: a - b)
for t in ("u16", "i16"):
    vector("v_add_nc_" + t, t, [t, t], lambda a, b: a + b)
    vector("v_sub_nc_" + t, t, [t, t], lambda a, b: a - b)
vector("v_mul_lo_u16", "u16", ["u16", "u16"], lambda a, b: a * b)
vector("v_mul_lo_u32", "u32", ["u32", "u32"], lambda a, b: a * b)
vector("v_mul_hi_u32", "u32", ["u32", "u32"], lambda a, b: a * b >> 32)
vector("v_mul_hi_i32", "u32", ["i32", "i32"], lambda a, b: signed(a, 32) * signed(b, 32) >> 32)
vector("v_mul_i32_i24", "u32", ["i32", "i32"], lambda a, b: signed(a, 24) * signed(b, 24))
vector("v_mul_u32_u24", "u32", ["u32", "u32"], lambda a, b: (a & 0xffffff) * (b & 0xffffff))
vector("v_mul_hi_i32_i24", "u32", ["i32", "i32"], lambda a, b: signed(a, 24) * signed(b, 24) >> 32)
vector("v_mul_hi_u32_u24", "u32", ["u32", "u32"], lambda a, b: (a & 0xffffff) * (b & 0xffffff) >> 32)
vector("v_mad_i32_i24", "u32", ["i32"] * 3, lambda a, b, c: signed(a, 24) * signed(b, 24) + c)
vector("v_mad_u32_u24", "u32", ["u32"] * 3, lambda a, b, c: (a & 0xffffff) * (b & 0xffffff) + c)
vector("v_mad_u16", "u16", ["u16"] * 3, lambda a, b, c: a * b + c)
vector("v_mad_i16", "u16", ["i16"] * 3, lambda a, b, c: a * b + c)
vector("v_mad_u32_u16", "u32", ["u16", "u16", "u32"], lambda a, b, c: a * b + c)
vector("v_mad_i32_i16", "u32", ["i16", "i16", "u32"], lambda a, b, c: signed(a, 16) * signed(b, 16) + c)
for t, w in (("i32", 32), ("u32", 32), ("i16", 16), ("u16", 16)):
    key = (lambda x: signed(x, w)) if t[0] == "i" else (lambda x: x)
    low, high = (lambda *x: min(x, key=key)), (lambda *x: max(x, key=key))
    vector("v_min_" + t, t, [t, t], low)
    vector("v_max_" + t, t, [t, t], high)
    vector("v_min3_" + t, t, [t] * 3, low)
    vector("v_max3_" + t, t, [t] * 3, high)
    vector("v_med3_" + t, t, [t] * 3, lambda *x: sorted(x, key=key)[1])
    if w == 32:
        vector("v_minmax_" + t, t, [t] * 3, lambda a, b, c: high(low(a, b), c))
        vector("v_maxmin_" + t, t, [t] * 3, lambda a, b, c: low(high(a, b), c))


def bfe(a, b, c):
    return a >> b % 32 & ((1 << c % 32) - 1)


vector("v_bfe_u32", "u32", ["u32"] * 3, bfe)
vector("v_bfe_i32", "u32", ["u32"] * 3,
       lambda a, b, c: signed((signed(a, 32) >> b % 32) & ((1 << c % 32) - 1), c % 32) if c % 32 else 0)
vector("v_bfi_b32", "u32", ["u32"] * 3, lambda a, b, c: a & b | ~a & c)
vector("v_bfm_b32", "u32", ["u32"] * 2, lambda a, b: (1 << a % 32) - 1 << b % 32)
vector("v_alignbit_b32", "u32", ["u32"] * 3, lambda a, b, c: (a << 32 | b) >> c % 32)
vector("v_alignbyte_b32", "u32", ["u32"] * 3, lambda a, b, c: (a << 32 | b) >> 8 * (c % 4))
vector("v_xor3_b32", "u32", ["u32"] * 3, lambda a, b, c: a ^ b ^ c)
vector("v_or3_b32", "u32", ["u32"] * 3, lambda a, b, c: a | b | c)
vector("v_and_or_b32", "u32", ["u32"] * 3, lambda a, b, c: a & b | c)
vector("v_add3_u32", "u32", ["u32"] * 3, lambda a, b, c: a + b + c)
vector("v_lshl_add_u32", "u32", ["u32"] * 3, lambda a, b, c: (a << b % 32) + c)
vector("v_add_lshl_u32", "u32", ["u32"] * 3, lambda a, b, c: (a + b & M32) << c % 32)
vector("v_lshl_or_b32", "u32", ["u32"] * 3, lambda a, b, c: a << b % 32 | c)
vector("v_xad_u32", "u32", ["u32"] * 3, lambda a, b, c: (a ^ b) + c)
vector("v_bcnt_u32_b32", "u32", ["u32"] * 2, lambda a, b: a.bit_count() + b)


def bytes4(x):
    return [x >> 8 * i & 255 for i in range(4)]


def permuted(a, b, c):
    data = bytes4(b) + bytes4(a)
    out = 0
    for i, sel in enumerate(bytes4(c)):
        byte = data[sel] if sel < 8 else (255 if data[2 * (sel - 8) + 1] >> 7 else 0) if sel < 12 else 0 if sel == 12 else 255
        out |= byte << 8 * i
    return out


vector("v_perm_b32", "u32", ["u32"] * 3, permuted)
vector("v_sad_u8", "u32", ["u32"] * 3, lambda a, b, c: sum(abs(x - y) for x, y in zip(bytes4(a), bytes4(b))) + c)
vector("v_sad_hi_u8", "u32", ["u32"] * 3,
       lambda a, b, c: (sum(abs(x - y) for x, y in zip(bytes4(a), bytes4(b))) << 16) + c)
vector("v_sad_u16", "u32", ["u32"] * 3,
       lambda a, b, c: abs((a & 0xffff) - (b & 0xffff)) + abs((a >> 16) - (b >> 16)) + c)
vector("v_sad_u32", "u32", ["u32"] * 3, lambda a, b, c: abs(a - b) + c)


def clamp(x, low, high):
    return min(max(x, low), high)


vector("v_cvt_pk_u16_u32", "u32", ["u32"] * 2, lambda a, b: clamp(a, 0, 65535) | clamp(b, 0, 65535) << 16)
vector("v_cvt_pk_i16_i32", "u32", ["i32"] * 2, lambda a, b: (clamp(signed(a, 32), -32768, 32767) & 0xffff)
       | (clamp(signed(b, 32), -32768, 32767) & 0xffff) << 16)
vector("v_cvt_pk_i16_f32", "u32", ["f32"] * 2, lambda a, b: to_int("f32", 16, True)(a) | to_int("f32", 16, True)(b) << 16)
vector("v_cvt_pk_u16_f32", "u32", ["f32"] * 2, lambda a, b: to_int("f32", 16, False)(a) | to_int("f32", 16, False)(b) << 16)
vector("v_pack_b32_f16", "u32", ["u16"] * 2, lambda a, b: a | b << 16, inputs="f16")
vector("v_pack_b32_f16", "u32", ["u32"] * 2, lambda a, b: a >> 16 | (b & 0xffff) << 16, suffix=" op_sel:[1,0,0]", inputs="f16")


def toward_zero(a):
    x = Float(a, "f32")
    if x.value is None or x.value == 0:
        return convert(a, "f32", "f16")
    near = rounded(x.value, "f16")
    y = Float(near, "f16")
    if y.inf or abs(y.value) > abs(x.value):
        near -= 1
    return near


vector("v_cvt_pk_rtz_f16_f32", "u32", ["f32"] * 2, lambda a, b: toward_zero(a) | toward_zero(b) << 16)


def scaled(form, n_bits):
    def run(a, n):
        x = Float(a, form)
        if not x.value:
            return a
        return rounded(x.value * Fraction(2) ** clamp(signed(n, n_bits), -3000, 3000), form, bool(x.sign))
    return run


def zero_keeps_sign(f, form):
    def run(a, n):
        r = f(a, n)
        e, m = FORMATS[form]
        return r | (a >> (e + m) & 1) << (e + m) if r & ((1 << (e + m)) - 1) == 0 else r
    return run


vector("v_ldexp_f32", "f32", ["f32", "u32"], zero_keeps_sign(scaled("f32", 32), "f32"))
vector("v_ldexp_f16", "f16", ["f16", "u16"], zero_keeps_sign(scaled("f16", 16), "f16"))

# carries, and a mask as a source
V = INPUTS["int"][0]
VCC = INPUTS["int"][1][106]
for name, f in (("v_add_co_ci_u32", lambda a, b, c: a + b + c), ("v_sub_co_ci_u32", lambda a, b, c: a - b - c),
                ("v_subrev_co_ci_u32", lambda a, b, c: b - a - c)):
    r = [f(V[2][i], V[4][i], VCC >> i & 1) for i in range(LANES)]
    carry = sum(int(not 0 <= x <= M32) << i for i, x in enumerate(r))
    CASES.append((name, "v10, vcc_lo, v2, v4, vcc_lo", "int", 0, {"v10": [x & M32 for x in r], "s106": carry}))
    CASES.append((name, "v10, s10, v2, v4, vcc_lo", "int", 0, {"v10": [x & M32 for x in r], "s10": carry}))
for name, f in (("v_add_co_u32", lambda a, b: a + b), ("v_sub_co_u32", lambda a, b: a - b),
                ("v_subrev_co_u32", lambda a, b: b - a)):
    r = [f(V[2][i], V[4][i]) for i in range(LANES)]
    carry = sum(int(not 0 <= x <= M32) << i for i, x in enumerate(r))
    CASES.append((name, "v10, s10, v2, v4", "int", 0, {"v10": [x & M32 for x in r], "s10": carry}))
for names, narrow, wide in (("v_mad_u64_u32 v_mad_co_u64_u32", lambda x: x, lambda x: x),
                            ("v_mad_i64_i32 v_mad_co_i64_i32", lambda x: signed(x, 32), lambda x: signed(x, 64))):
    r = [narrow(V[2][i]) * narrow(V[4][i]) + wide(V[6][i] | V[7][i] << 32) for i in range(LANES)]
    results = {"v10": [x & M32 for x in r], "v11": [x >> 32 & M32 for x in r]}
    for name in names.split():
        CASES.append((name, "v[10:11], null, v2, v4, v[6:7]", "int", 0, results))
        # The mask is bit 64 of the exact sum.
        CASES.append((name, "v[10:11], s10, v2, v4, v[6:7]", "int", 0,
                      results | {"s10": sum((x >> 64 & 1) << i for i, x in enumerate(r))}))
CASES.append(("v_cndmask_b32", "v10, v2, v4, vcc_lo", "int", 0,
              {"v10": [V[4][i] if VCC >> i & 1 else V[2][i] for i in range(LANES)]}))
CASES.append(("v_cndmask_b16", "v10, v2, v4, vcc_lo", "int", 0,
              {"v10": [0x11110000 | (V[4][i] if VCC >> i & 1 else V[2][i]) & 0xffff for i in range(LANES)]}))
CASES.append(("v_cndmask_b32_e64", "v10, -v2, -|v4|, vcc_lo", "int", 0,
              {"v10": [V[4][i] | 0x80000000 if VCC >> i & 1 else V[2][i] ^ 0x80000000 for i in range(LANES)]}))
CASES.append(("v_cndmask_b16", "v10, |v2|, -v4, vcc_lo", "int", 0,
              {"v10": [0x11110000 | ((V[4][i] ^ 0x8000) if VCC >> i & 1 else V[2][i] & 0x7fff) & 0xffff for i in range(LANES)]}))
CASES.append(("v_mbcnt_lo_u32_b32", "v10, v2, v4", "int", 0,
              {"v10": [(V[2][i] & (1 << i) - 1).bit_count() + V[4][i] & M32 for i in range(LANES)]}))
CASES.append(("v_mbcnt_hi_u32_b32", "v10, v2, v4", "int", 0, {"v10": V[4]}))
# lanes
CASES.append(("v_readfirstlane_b32", "s10, v2", "int", 0, {"s10": V[2][0]}))
CASES.append(("v_readlane_b32", "s10, v2, 9", "int", 0, {"s10": V[2][9]}))
CASES.append(("v_writelane_b32", "v10, s4, 5", "int", 0,
              {"v10": [s("int", 4) if i == 5 else 0x11111111 for i in range(LANES)]}))
CASES.append(("v_swap_b32", "v2, v4", "int", 0, {"v2": V[4], "v4": V[2]}))
CASES.append(("v_permlane64_b32", "v10, v2", "int", 0, {"v10": V[2]}))
for name, other in (("v_permlane16_b32", 0), ("v_permlanex16_b32", 16)):
    both = s("int", 4) | s("int", 5) << 32
    CASES.append((name, "v10, v2, s4, s5", "int", 0,
                  {"v10": [V[2][(i & 16 ^ other) | both >> 4 * (i % 16) & 15] for i in range(LANES)]}))
    CASES.append((name.replace("16_b32", "16_var_b32"), "v10, v2, v4", "int", 0,
                  {"v10": [V[2][(i & 16 ^ other) | V[4][i] & 15] for i in range(LANES)]}))
for text, source in (("quad_perm:[3,1,2,0]", lambda i: i & ~3 | [3, 1, 2, 0][i & 3]),
                     ("row_ror:3", lambda i: i & 16 | (i - 3) % 16), ("row_mirror", lambda i: i & 16 | 15 - i % 16),
                     ("row_half_mirror", lambda i: i ^ 7), ("row_share:5", lambda i: i & 16 | 5),
                     ("row_xmask:6", lambda i: i ^ 6)):
    CASES.append(("v_mov_b32_dpp", f"v10, v2 {text} row_mask:0xf bank_mask:0xf", "int", 0,
                  {"v10": [V[2][source(i)] for i in range(LANES)]}))
CASES.append(("v_mov_b32_dpp", "v10, v2 row_shl:2 row_mask:0xf bank_mask:0xf", "int", 0,
              {"v10": [V[2][i + 2] if i % 16 < 14 else 0x11111111 for i in range(LANES)]}))
CASES.append(("v_mov_b32_dpp", "v10, v2 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:1", "int", 0,
              {"v10": [V[2][i - 2] if i % 16 > 1 else 0 for i in range(LANES)]}))
CASES.append(("v_add_nc_u32_dpp", "v10, v2, v4 row_xmask:1 row_mask:0x1 bank_mask:0x5", "int", 0,
              {"v10": [V[2][i ^ 1] + V[4][i] & M32 if i < 16 and i // 4 % 2 == 0 else 0x11111111 for i in range(LANES)]}))
# A comparison: lanes that DPP leaves out have no bit.
CASES.append(("v_cmp_le_u32_dpp", "vcc_lo, v2, v4 row_xmask:1 row_mask:0x1 bank_mask:0x5", "int", 0,
              {"s106": sum(1 << i for i in range(LANES) if i < 16 and i // 4 % 2 == 0 and V[2][i ^ 1] <= V[4][i])}))
CASES.append(("v_cmp_ne_u32_dpp", "vcc_lo, v2, v4 row_shl:2 row_mask:0xf bank_mask:0xf", "int", 0,
              {"s106": sum(1 << i for i in range(LANES) if i % 16 < 14 and V[2][i + 2] != V[4][i])}))
CASES.append(("v_mov_b32_dpp", "v10, v2 dpp8:[7,6,5,4,3,2,1,0]", "int", 0, {"v10": [V[2][i ^ 7] for i in range(LANES)]}))
# modifiers and constants
F = INPUTS["f32"][0]
add = arithmetic("f32", lambda a, b: a + b)


def nanless(x):
    return x


CASES.append(("v_add_f32_e64", "v10, -v2, |v4|", "f32", 0,
              {"v10": [add(F[2][i] ^ 1 << 31, F[4][i] & ~(1 << 31)) for i in range(LANES)]}))


def unit(a):
    x = Float(a, "f32")
    return 0 if x.nan or x.real() <= 0 else 0x3f800000 if x.real() > 1 else a


CASES.append(("v_add_f32_e64", "v10, v2, v4 clamp", "f32", 0,
              {"v10": [unit(add(F[2][i], F[4][i])) for i in range(LANES)]}))
for text, value in (("0.5", 0x3f000000), ("-4.0", 0xc0800000), ("0.15915494", 0x3e22f983), ("0x40490fdb", 0x40490fdb)):
    CASES.append(("v_add_f32", f"v10, {text}, v4", "f32", 0, {"v10": [add(value, F[4][i]) for i in range(LANES)]}))
CASES.append(("v_add_nc_u32", "v10, -16, v4", "int", 0, {"v10": [V[4][i] - 16 & M32 for i in range(LANES)]}))
CASES.append(("v_add_nc_u32", "v10, s4, v4", "int", 0, {"v10": [V[4][i] + s("int", 4) & M32 for i in range(LANES)]}))
H = INPUTS["f16"][0]
CASES.append(("v_add_f16_e64", "v10, v2, v4 op_sel:[1,0,1]", "f16", 0,
              {"v10": [0x1111 | arithmetic("f16", lambda a, b: a + b)(H[2][i] >> 16, H[4][i] & 0xffff) << 16 for i in range(LANES)]}))
fma32 = fma("f32")
CASES.append(("v_fmamk_f32", "v10, v2, 0x40490fdb, v4", "f32", 0, {"v10": [fma32(F[2][i], 0x40490fdb, F[4][i]) for i in range(LANES)]}))
CASES.append(("v_fmaak_f32", "v10, v2, v4, 0x40490fdb", "f32", 0, {"v10": [fma32(F[2][i], F[4][i], 0x40490fdb) for i in range(LANES)]}))
fma16 = fma("f16")
CASES.append(("v_fmamk_f16", "v10, v2, 0x4248, v4", "f16", 0, {"v10": [0x11110000 | fma16(H[2][i] & 0xffff, 0x4248, H[4][i] & 0xffff) for i in range(LANES)]}))
CASES.append(("v_fmaak_f16", "v10, v2, v4, 0x4248", "f16", 0, {"v10": [0x11110000 | fma16(H[2][i] & 0xffff, H[4][i] & 0xffff, 0x4248) for i in range(LANES)]}))

# --- packed, mixed, dots -------------------------------------------------------------------------

def packed(names, f, inputs, arity=2, suffix="", low=lambda x: x & 0xffff, high=lambda x: x >> 16):
    regs = INPUTS[inputs][0]
    text = ", ".join(["v10"] + [f"v{r}" for r in (2, 4, 6)[:arity]]) + suffix
    out = []
    for i in range(LANES):
        x = [regs[r][i] for r in (2, 4, 6)[:arity]]
        out.append(f(*map(low, x)) & 0xffff | (f(*map(high, x)) & 0xffff) << 16)
    for name in names.split():
        CASES.append((name, text, inputs, 0, {"v10": out}))


packed("v_pk_add_f16", arithmetic("f16", lambda a, b: a + b), "f16")
packed("v_pk_add_f16", arithmetic("f16", lambda a, b: a + b), "f16", suffix=" op_sel:[1,1] op_sel_hi:[0,0]",
       low=lambda x: x >> 16, high=lambda x: x & 0xffff)
packed("v_pk_mul_f16", arithmetic("f16", lambda a, b: a * b), "f16")
packed("v_pk_fma_f16", fma("f16"), "f16", 3)
packed("v_pk_min_f16 v_pk_min_num_f16", pick("f16", False), "f16")
packed("v_pk_max_f16 v_pk_max_num_f16", pick("f16", True), "f16")
packed("v_pk_minimum_f16", pick("f16", False, True), "f16")
packed("v_pk_maximum_f16", pick("f16", True, True), "f16")
for t in ("u16", "i16"):
    key = (lambda x: signed(x, 16)) if t[0] == "i" else (lambda x: x)
    packed("v_pk_add_" + t, lambda a, b: a + b, "int")
    packed("v_pk_sub_" + t, lambda a, b: a - b, "int")
    packed("v_pk_mad_" + t, lambda a, b, c: a * b + c, "int", 3)
    packed("v_pk_min_" + t, lambda a, b: min(a, b, key=key), "int")
    packed("v_pk_max_" + t, lambda a, b: max(a, b, key=key), "int")
packed("v_pk_mul_lo_u16", lambda a, b: a * b, "int")
packed("v_pk_lshlrev_b16", lambda a, b: b << a % 16, "int")
packed("v_pk_lshrrev_b16", lambda a, b: b >> a % 16, "int")
packed("v_pk_ashrrev_i16", lambda a, b: signed(b, 16) >> a % 16, "int")


def dot(bits, sa, sb):
    def run(a, b, c):
        g = [(lambda x, f=f: signed(x, bits) if f else x) for f in (sa, sb)]
        m = (1 << bits) - 1
        return sum(g[0](a >> k & m) * g[1](b >> k & m) for k in range(0, 32, bits)) + c
    return run


for text, sa, sb in ((" neg_lo:[1,1,0]", 1, 1), (" neg_lo:[1,0,0]", 1, 0), ("", 0, 0)):
    vector("v_dot4_i32_iu8", "u32", ["u32"] * 3, dot(8, sa, sb), suffix=text)
    vector("v_dot8_i32_iu4", "u32", ["u32"] * 3, dot(4, sa, sb), suffix=text)
vector("v_dot4_u32_u8", "u32", ["u32"] * 3, dot(8, 0, 0))
vector("v_dot8_u32_u4", "u32", ["u32"] * 3, dot(4, 0, 0))
vector("v_dot4_i32_iu8", "u32", ["u32"] * 3,
       lambda a, b, c: clamp(dot(8, 1, 1)(a, b, signed(c, 32)), -(1 << 31), (1 << 31) - 1), suffix=" neg_lo:[1,1,0] clamp")


def mixed(a, b, c):
    return fma32(a, convert(b & 0xffff, "f16", "f32"), c)


f32s, f16s = INPUTS["f32"][0], INPUTS["f16"][0]
mix = [fma32(convert(f16s[2][i] >> 16, "f16", "f32"), convert(f16s[4][i] & 0xffff, "f16", "f32"),
             convert(f16s[6][i] & 0xffff, "f16", "f32")) for i in range(LANES)]
CASES.append(("v_fma_mix_f32", "v10, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,1,1]", "f16", 0, {"v10": mix}))
CASES.append(("v_fma_mix_f32", "v10, v2, -v4, |v6|", "f32", 0,
              {"v10": [fma32(f32s[2][i], f32s[4][i] ^ 1 << 31, f32s[6][i] & ~(1 << 31)) for i in range(LANES)]}))
CASES.append(("v_fma_mixlo_f16", "v10, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,1,1]", "f16", 0,
              {"v10": [0x11110000 | convert(x, "f32", "f16") for x in mix]}))
CASES.append(("v_fma_mixhi_f16", "v10, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,1,1]", "f16", 0,
              {"v10": [0x1111 | convert(x, "f32", "f16") << 16 for x in mix]}))
for opx, opy, fx, fy in (("v_dual_mul_f32 v10, v2, v4", "v_dual_add_f32 v11, v3, v5", arithmetic("f32", lambda a, b: a * b), add),
                         ("v_dual_sub_f32 v10, v2, v4", "v_dual_subrev_f32 v11, v3, v5", arithmetic("f32", lambda a, b: a - b),
                          lambda a, b: arithmetic("f32", lambda x, y: x - y)(b, a)),
                         ("v_dual_fmac_f32 v10, v2, v4", "v_dual_mul_f32 v11, v3, v5", lambda a, b: fma32(a, b, 0x11111111),
                          arithmetic("f32", lambda a, b: a * b)),
                         ("v_dual_mov_b32 v10, v2", "v_dual_lshlrev_b32 v11, v3, v5", lambda a, b: a, lambda a, b: b << a % 32),
                         ("v_dual_add_f32 v10, v2, v4", "v_dual_and_b32 v11, v3, v5", add, lambda a, b: a & b),
                         ("v_dual_cndmask_b32 v10, v2, v4", "v_dual_add_nc_u32 v11, v3, v5", None, lambda a, b: a + b)):
    x = [(F[4][i] if VCC >> i & 1 else F[2][i]) if fx is None else fx(F[2][i], F[4][i]) & M32 for i in range(LANES)]
    y = [fy(F[3][i], F[5][i]) & M32 for i in range(LANES)]
    CASES.append((opx.split()[0], opx.split(" ", 1)[1] + " :: " + opy, "f32", 0, {"v10": x, "v11": y}))
# Each half reads what the other writes.
CASES.append(("v_dual_mov_b32", "v2, v5 :: v_dual_mov_b32 v5, v2", "f32", 0, {"v2": F[5], "v5": F[2]}))

# --- memory --------------------------------------------------------------------------------------

def word_at(data, at, n):
    return int.from_bytes(data[at:at + n], "little")


def loads(make, local):
    for name, n, kind in (("u8", 1, "z"), ("i8", 1, "s"), ("u16", 2, "z"), ("i16", 2, "s"), ("b32", 4, ""), ("b64", 8, ""),
                          ("b96", 12, ""), ("b128", 16, "")):
        out = {f"v{10 + k}": [] for k in range(max(1, n // 4))}
        for i in range(LANES):
            at = 16 * i + 4
            if n < 4:
                x = word_at(MEMORY, at, n)
                out["v10"].append((signed(x, 8 * n) if kind == "s" else x) & M32)
            else:
                for k in range(n // 4):
                    out[f"v{10 + k}"].append(word_at(MEMORY, at + 4 * k, 4))
        dst = "v10" if n <= 4 else f"v[10:{9 + n // 4}]"
        CASES.append((*make("load_" + name, dst, None), "int", 0, out))
    for name, n, half, kind in (("u8", 1, 0, "z"), ("i8", 1, 0, "s"), ("b16", 2, 0, "z"), ("hi_u8", 1, 1, "z"), ("hi_i8", 1, 1, "s"),
                                ("hi_b16", 2, 1, "z")):
        x = [word_at(MEMORY, 16 * i + 4, n) for i in range(LANES)]
        x = [(signed(y, 8 * n) if kind == "s" else y) & 0xffff for y in x]
        out = [y << 16 | 0x1111 if half else y | 0x11110000 for y in x]
        ds = {"u8": "u8_d16", "i8": "i8_d16", "b16": "u16_d16", "hi_u8": "u8_d16_hi", "hi_i8": "i8_d16_hi", "hi_b16": "u16_d16_hi"}
        CASES.append((*make("load_" + (ds[name] if local else "d16_" + name), "v10", None), "int", 0, {"v10": out}))
    for name, n, shift in (("b8", 1, 0), ("b16", 2, 0), ("b32", 4, 0), ("b64", 8, 0), ("b96", 12, 0), ("b128", 16, 0), ("hi_b8", 1, 16),
                           ("hi_b16", 2, 16)):
        data = bytearray(MEMORY)
        for i in range(LANES):
            x = sum(V[2 + k][i] << 32 * k for k in range(4)) >> shift
            at = 16 * i + (4 if n < 16 or True else 0)
            data[at:at + n] = (x & (1 << 8 * n) - 1).to_bytes(n, "little")
        src = "v2" if n <= 4 else f"v[2:{1 + n // 4}]"
        hi = {"hi_b8": "b8_d16_hi", "hi_b16": "b16_d16_hi"}
        text = "store_" + ((hi[name] if local else "d16_" + name) if shift else name)
        CASES.append((*make(text, None, src), "int", 0, {"lds" if local else "mem": fnv(data)}))


loads(lambda op, dst, src: ("global_" + op, f"{dst}, v[8:9], off offset:4" if dst else f"v[8:9], {src}, off offset:4"), False)
loads(lambda op, dst, src: ("flat_" + op, f"{dst}, v[8:9] offset:4" if dst else f"v[8:9], {src} offset:4"), False)
loads(lambda op, dst, src: ("ds_" + op, f"{dst}, v1 offset:4" if dst else f"v1, {src} offset:4"), True)
CASES.append(("global_load_b32", "v10, v1, s[20:21] offset:8", "int", 0,
              {"v10": [word_at(MEMORY, 16 * i + 8, 4) for i in range(LANES)]}))
for name, f, size in (("swap", lambda o, x: x, "b"), ("add", lambda o, x: o + x, "u"), ("sub", lambda o, x: o - x, "u"),
                      ("min", min, "u"), ("max", max, "u"), ("min", None, "i"), ("max", None, "i"), ("and", lambda o, x: o & x, "b"),
                      ("or", lambda o, x: o | x, "b"), ("xor", lambda o, x: o ^ x, "b"), ("inc", lambda o, x: 0 if o >= x else o + 1, "u"),
                      ("dec", lambda o, x: x if o == 0 or o > x else o - 1, "u")):
    for w in (32, 64):
        n = w // 8
        g = f or (lambda o, x, name=name, w=w: (min if name == "min" else max)(o, x, key=lambda y: signed(y, w)))
        data, old = bytearray(MEMORY), []
        for i in range(LANES):
            o = word_at(MEMORY, 16 * i, n)
            old.append(o)
            data[16 * i:16 * i + n] = (g(o, v("int", 2, i, w)) & (1 << w) - 1).to_bytes(n, "little")
        out = {"v10": [x & M32 for x in old]}
        if w == 64:
            out["v11"] = [x >> 32 for x in old]
        src, dst = reg("v", 2, w), reg("v", 10, w)
        CASES.append((f"global_atomic_{name}_{size}{w}", f"v[8:9], {src}, off", "int", 0, {"mem": fnv(data)}))
        for order in ("glc", "th:TH_ATOMIC_RETURN"):
            CASES.append((f"global_atomic_{name}_{size}{w}", f"{dst}, v[8:9], {src}, off {order}", "int", 0, {"mem": fnv(data), **out}))
        rtn = f"ds_{'storexchg' if name == 'swap' else name}_rtn_{size}{w}"
        CASES.append((rtn, f"{dst}, v1, {src}", "int", 0, {"lds": fnv(data), **out}))
        if name != "swap":
            CASES.append((f"ds_{name}_{size}{w}", f"v1, {src}", "int", 0, {"lds": fnv(data)}))
data = bytearray(MEMORY)
for i in range(LANES):
    data[16 * i:16 * i + 4] = (V[2][i] if word_at(MEMORY, 16 * i, 4) == V[3][i] else word_at(MEMORY, 16 * i, 4)).to_bytes(4, "little")
CASES.append(("global_atomic_cmpswap_b32", "v[8:9], v[2:3], off", "int", 0, {"mem": fnv(data)}))
for wide, k in (("b32", 1), ("b64", 2)):
    for stride, unit_size in (("", 1), ("stride64_", 64)):
        step = 4 * k * unit_size
        # Small addresses: the second access is at most 3 strides off.
        a0, a1 = (1, 3) if unit_size == 1 else (0, 1)
        out = {f"v{10 + j}": [] for j in range(2 * k)}
        data = bytearray(MEMORY)
        for i in range(LANES):
            for n, a in enumerate((a0, a1)):
                for j in range(k):
                    out[f"v{10 + n * k + j}"].append(word_at(MEMORY, 16 * i + a * step + 4 * j, 4))
        for i in range(LANES):
            for n, a in enumerate((a0, a1)):
                for j in range(k):
                    at = 16 * i + a * step + 4 * j
                    data[at:at + 4] = V[(2, 4)[n] + j][i].to_bytes(4, "little")
        if unit_size == 1 and k == 2:
            data = None
        CASES.append((f"ds_load_2addr_{stride}{wide}", f"v[10:{9 + 2 * k}], v1 offset0:{a0} offset1:{a1}", "int", 0, out))
        if data is not None:
            CASES.append((f"ds_store_2addr_{stride}{wide}", f"v1, {reg('v', 2, 32 * k)}, {reg('v', 4, 32 * k)} offset0:{a0} offset1:{a1}",
                          "int", 0, {"lds": fnv(data)}))
CASES.append(("ds_bpermute_b32", "v10, v4, v2", "int", 0, {"v10": [V[2][V[4][i] // 4 % 32] for i in range(LANES)]}))
sent = [0] * LANES
for i in range(LANES):
    sent[V[4][i] // 4 % 32] = V[2][i]
CASES.append(("ds_permute_b32", "v10, v4, v2", "int", 0, {"v10": sent}))
CASES.append(("ds_swizzle_b32", "v10, v2 offset:swizzle(QUAD_PERM,1,0,3,2)", "int", 0, {"v10": [V[2][i ^ 1] for i in range(LANES)]}))
CASES.append(("ds_swizzle_b32", "v10, v2 offset:swizzle(SWAP,8)", "int", 0, {"v10": [V[2][i ^ 8] for i in range(LANES)]}))
# Rotation by one to the right but for the upper half of a quad, and the order of a Fourier transform of 16.
CASES.append(("ds_swizzle_b32", "v10, v2 offset:0xc422", "int", 0, {"v10": [V[2][i & 2 | i - 1 & 29] for i in range(LANES)]}))
SIXTEEN = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]
CASES.append(("ds_swizzle_b32", "v10, v2 offset:0xe010", "int", 0, {"v10": [V[2][i & 16 | SIXTEEN[i & 15]] for i in range(LANES)]}))
for n in (1, 2, 3, 4, 8, 16):
    out = {f"s{24 + k}": word_at(MEMORY, 12 + 4 * k, 4) for k in range(n)}
    dst = "s24" if n == 1 else f"s[24:{23 + n}]"
    CASES.append((f"s_load_b{32 * n}", f"{dst}, s[20:21], 0xc", "int", 0, out))
for name, n, f in (("u8", 1, lambda x: x), ("i8", 1, lambda x: signed(x, 8)), ("u16", 2, lambda x: x), ("i16", 2, lambda x: signed(x, 16))):
    CASES.append(("s_load_" + name, "s24, s[20:21], 0x1e", "int", 0, {"s24": f(word_at(MEMORY, 0x1e, n)) & M32}))

# --- matrix instructions -------------------------------------------------------------------------
# Registers of A from v2 on, B and C of v18 on, as the input set `tile` lays them out.
TILE_V = {0: list(range(LANES))}
for r in range(1, 50):
    TILE_V[r] = [rng.getrandbits(32) for _ in range(LANES)]
INPUTS["tile"] = (TILE_V, dict(INPUTS["int"][1]))
HALF_V = {0: list(range(LANES))}
for r in range(1, 50):
    HALF_V[r] = [sum(from_real(rng.randint(-8, 8) / 4, "f16") << 16 * h for h in range(2)) for _ in range(LANES)]
for r in range(34, 50):
    HALF_V[r] = [word_f32(rng.randint(-64, 64) / 8) for _ in range(LANES)]
INPUTS["halves"] = (HALF_V, dict(INPUTS["int"][1]))


def repeated(name):
    """The input set whose registers of A and B have every row in both halves of the wave, as GFX11 wants it."""
    regs, scalars = INPUTS[name]
    INPUTS[f"{name}_repeated"] = ({r: x[:16] * 2 if 2 <= r < 34 else x for r, x in regs.items()}, scalars)
    return f"{name}_repeated"


def element(regs, first, lane, k, bits):
    at = k * bits
    return regs[first + at // 32][lane] >> at % 32 & (1 << bits) - 1


def tile(isa, name, inputs, bits, depth, decode_a, decode_b, decode_c, encode, suffix=""):
    """Integers and small halves: every order of the sums gives the same bits."""
    inputs = repeated(inputs) if isa == "gfx11" else inputs
    regs = INPUTS[inputs][0]
    a0, b0, c0, d0 = 2, 18, 34, 50
    per = depth // 2 if isa == "gfx12" else depth

    def factor(first, row, k):
        return element(regs, first, row + 16 * (k // per), k % per, bits) if isa == "gfx12" else element(regs, first, row, k, bits)

    def place(row, column):
        return (row % 8, column + 16 * (row // 8)) if isa == "gfx12" else (row // 2, column + 16 * (row % 2))
    out = {f"v{d0 + k}": [0] * LANES for k in range(8)}
    for row in range(16):
        for column in range(16):
            word, lane = place(row, column)
            total = decode_c(regs[c0 + word][lane])
            for k in range(depth):
                total += decode_a(factor(a0, row, k)) * decode_b(factor(b0, column, k))
            out[f"v{d0 + word}"][lane] = encode(total)
    n = bits * per // 32

    def span(first, count):
        return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"
    text = f"{span(d0, 8)}, {span(a0, n)}, {span(b0, n)}, {span(c0, 8)}{suffix}"
    CASES.append((name, text, inputs, 0, out, isa))


for isa in ("gfx11", "gfx12"):
    for sa, sb in ((1, 1), (0, 1)):
        neg = f" neg_lo:[{sa},{sb},0]"
        for name, bits, depth in (("v_wmma_i32_16x16x16_iu8", 8, 16), ("v_wmma_i32_16x16x16_iu4", 4, 16), ("v_wmma_i32_16x16x32_iu4", 4, 32)):
            if depth == 32 and isa == "gfx11":
                continue
            tile(isa, name, "tile", bits, depth, lambda x: signed(x, bits) if sa else x, lambda x: signed(x, bits) if sb else x,
                 lambda x: signed(x, 32), lambda x: x & M32, neg)

    def half(x):
        return Float(x, "f16").value
    tile(isa, "v_wmma_f32_16x16x16_f16", "halves", 16, 16, half, half, lambda x: Float(x, "f32").value, lambda x: rounded(x, "f32"))

# --- the rest of the list ------------------------------------------------------------------------

for t in ("f32", "f16"):
    for name, f in (("floor", math.floor), ("ceil", math.ceil), ("trunc", math.trunc), ("rndne", round)):
        def whole(a, t=t, f=f):
            x = Float(a, t)
            return a if x.value is None else rounded(Fraction(f(x.value)), t, bool(x.sign))
        scalar(f"s_{name}_{t}", t, [t], whole)
    for name, f in (("rcp", lambda x: 1 / x), ("sqrt", lambda x: math.sqrt(x) if x >= 0 else math.nan),
                    ("rsq", lambda x: 1 / math.sqrt(x) if x > 0 else math.nan), ("exp", lambda x: 2.0 ** min(max(x, -1000), 1000)),
                    ("log", lambda x: math.log2(x) if x > 0 else math.nan)):
        r = real_function(t, f)(s(t, 4, bits_of(t)))
        CASES.append((f"v_s_{name}_{t}", "s10, s4", t, 1, {"s10": r}))
    scalar("s_fmac_" + t, t, [t, t], lambda a, b: fma(t)(a, b, 0))
    low, high = pick(t, False, True), pick(t, True, True)
    vector("v_minimum3_" + t, t, [t] * 3, lambda a, b, c: low(low(a, b), c))
    vector("v_maximum3_" + t, t, [t] * 3, lambda a, b, c: high(high(a, b), c))
    vector("v_minimummaximum_" + t, t, [t] * 3, lambda a, b, c: high(low(a, b), c))
    vector("v_maximumminimum_" + t, t, [t] * 3, lambda a, b, c: low(high(a, b), c))
CASES.append(("s_fmamk_f32", "s10, s4, 0x40490fdb, s6", "f32", 0, {"s10": fma32(s("f32", 4, 32), 0x40490fdb, s("f32", 6, 32))}))
CASES.append(("s_fmaak_f32", "s10, s4, s6, 0x40490fdb", "f32", 0, {"s10": fma32(s("f32", 4, 32), s("f32", 6, 32), 0x40490fdb)}))
scalar("s_cvt_pk_rtz_f16_f32", "u32", ["f32"] * 2, lambda a, b: toward_zero(a) | toward_zero(b) << 16)
scalar("s_cvt_f16_f32", "f16", ["f32"], lambda a: convert(a, "f32", "f16"))
scalar("s_cvt_f32_f16", "f32", ["f16"], lambda a: convert(a, "f16", "f32"))
scalar("s_cvt_hi_f32_f16", "f32", ["u32"], lambda a: convert(a >> 16, "f16", "f32"), inputs="f16")
for t in ("f16", "f32", "f64", "i32", "u32", "i64", "u64"):
    mask_case(f"v_cmp_f_{t} v_cmpx_f_{t}", [t, t], lambda a, b: False)
    mask_case(f"v_cmp_t_{t} v_cmpx_t_{t}", [t, t], lambda a, b: True)
for name, f in (("and", lambda a, e: a & e), ("or", lambda a, e: a | e), ("xor", lambda a, e: a ^ e),
                ("nand", lambda a, e: ~(a & e)), ("nor", lambda a, e: ~(a | e)), ("xnor", lambda a, e: ~(a ^ e)),
                ("and_not0", lambda a, e: ~a & e), ("or_not0", lambda a, e: ~a | e), ("and_not1", lambda a, e: a & ~e),
                ("or_not1", lambda a, e: a | ~e)):
    x = f(s("int", 4, 64), M32) & M64
    out = {"s126": x & M32, "s127": x >> 32, "scc": int(x != 0)}
    CASES.append((f"s_{name}_saveexec_b64", "s[10:11], s[4:5]", "int", 0, {"s10": M32, "s11": 0, **out}))
    if name in ("and_not0", "and_not1"):
        CASES.append((f"s_{name}_wrexec_b64", "s[10:11], s[4:5]", "int", 0, {"s10": x & M32, "s11": x >> 32, **out}))
x = s("int", 4, 64)
constants("s_bitset0_b64", "s[4:5], s6", {"s4": (y := x & ~(1 << s("int", 6) % 64)) & M32, "s5": y >> 32})
constants("s_bitset1_b64", "s[4:5], s6", {"s4": (y := x | 1 << s("int", 6) % 64) & M32, "s5": y >> 32})
for name, immediate in (("s_wait_dscnt", "0x0"), ("s_wait_kmcnt", "0x0"), ("s_wait_loadcnt", "0x0"), ("s_wait_storecnt", "0x0"),
                        ("s_wait_samplecnt", "0x0"), ("s_wait_bvhcnt", "0x0"), ("s_wait_expcnt", "0x0"), ("s_wait_loadcnt_dscnt", "0x0"),
                        ("s_wait_storecnt_dscnt", "0x0"), ("s_wait_idle", ""), ("s_waitcnt", "0"), ("s_waitcnt_depctr", "0xfff"),
                        ("s_waitcnt_vscnt", "null, 0x0"), ("s_waitcnt_vmcnt", "null, 0x0"), ("s_waitcnt_lgkmcnt", "null, 0x0"),
                        ("s_waitcnt_expcnt", "null, 0x0"), ("s_denorm_mode", "0xf"), ("s_icache_inv", ""), ("s_wakeup", ""),
                        ("s_set_inst_prefetch_distance", "0x1"), ("s_sendmsg", "sendmsg(MSG_DEALLOC_VGPRS)"), ("s_incperflevel", "1"),
                        ("s_decperflevel", "1"), ("s_ttracedata", ""), ("s_ttracedata_imm", "0x1"), ("s_wait_event", "0x1"),
                        ("s_version", "0x1"), ("v_nop", ""), ("s_dcache_inv", ""), ("s_gl1_inv", ""), ("global_inv", ""), ("global_wb", ""),
                        ("global_wbinv", ""), ("ds_nop", ""), ("s_singleuse_vdst", "0x1")):
    constants(name, immediate, {"s10": 0})
constants("s_setreg_b32", "hwreg(HW_REG_MODE, 0, 1), s21", {"s10": 0})
# A taken branch leaves the first move out. scc is 1, vcc and exec are not 0.
for name, taken in (("s_branch", 1), ("s_cbranch_scc0", 0), ("s_cbranch_scc1", 1), ("s_cbranch_vccz", 0), ("s_cbranch_vccnz", 1),
                    ("s_cbranch_execz", 0), ("s_cbranch_execnz", 1)):
    constants(name, "1\ns_mov_b32 s10, 1\ns_mov_b32 s11, 2", {"s10": 1 - taken, "s11": 2})
constants("s_call_b64", "s[12:13], 1\ns_mov_b32 s10, 1\ns_mov_b32 s11, 2", {"s10": 0, "s11": 2, "s12": 0x100004, "s13": 0})
constants("s_getpc_b64", "s[12:13]", {"s12": 0x100004, "s13": 0})

vector("v_mul_dx9_zero_f32", "f32", ["f32"] * 2, lambda a, b: 0 if 0 in (a & 0x7fffffff, b & 0x7fffffff)
       else arithmetic("f32", lambda x, y: x * y)(a, b))
vector("v_cvt_floor_i32_f32", "u32", ["f32"], lambda a: to_int("f32", 32, True)(a) if Float(a, "f32").value is None
       else clamp(math.floor(Float(a, "f32").value), -(1 << 31), (1 << 31) - 1))
vector("v_cvt_nearest_i32_f32", "u32", ["f32"], lambda a: to_int("f32", 32, True)(a) if Float(a, "f32").value is None
       else clamp(math.floor(Float(a, "f32").value + Fraction(1, 2)), -(1 << 31), (1 << 31) - 1))
vector("v_cvt_off_f32_i4", "f32", ["u32"], lambda a: rounded(Fraction(signed(a, 4), 16), "f32"))
vector("v_sat_pk_u8_i16", "u16", ["u32"], lambda a: clamp(signed(a & 0xffff, 16), 0, 255) | clamp(signed(a >> 16, 16), 0, 255) << 8)
vector("v_fract_f16", "f16", ["f16"], real_function(
    "f16", lambda x: math.nan if math.isinf(x) else min(float(Fraction(x) - math.floor(Fraction(x))), 1 - 2.0 ** -11)))
vector("v_fract_f64", "f64", ["f64"], real_function(
    "f64", lambda x: math.nan if math.isinf(x) else min(float(Fraction(x) - math.floor(Fraction(x))), 1 - 2.0 ** -53)))
vector("v_ldexp_f64", "f64", ["f64", "u32"], zero_keeps_sign(scaled("f64", 32), "f64"))
vector("v_rcp_f64", "f64", ["f64"], real_function("f64", lambda x: 1 / x if x else math.copysign(math.inf, x)))
vector("v_sqrt_f64", "f64", ["f64"], real_function("f64", lambda x: math.sqrt(x) if x >= 0 else math.nan))
vector("v_rsq_f64", "f64", ["f64"], real_function(
    "f64", lambda x: math.nan if x < 0 else 1 / math.sqrt(x) if x else math.inf))
vector("v_sin_f16", "f16", ["f16"], real_function("f16", turns(math.sin)), 1)
vector("v_cos_f16", "f16", ["f16"], real_function("f16", turns(math.cos)), 1)


def small_float(exponent_bits, mantissa_bits, no_infinity):
    def run(a):
        a &= 255
        sign, e, m = a >> 7, a >> mantissa_bits & (1 << exponent_bits) - 1, a & (1 << mantissa_bits) - 1
        bias = (1 << exponent_bits - 1) - 1
        if no_infinity and a & 0x7f == 0x7f:
            return special("f32", sign, True)
        if not no_infinity and e == (1 << exponent_bits) - 1:
            return special("f32", sign, m != 0)
        value = Fraction(m, 1 << mantissa_bits) * Fraction(2) ** (1 - bias) if e == 0 else (1 + Fraction(m, 1 << mantissa_bits)) * Fraction(2) ** (e - bias)
        return rounded(-value if sign else value, "f32", bool(sign))
    return run


vector("v_cvt_f32_fp8", "f32", ["u32"], small_float(4, 3, True))
vector("v_cvt_f32_bf8", "f32", ["u32"], small_float(5, 2, False))
packed("v_pk_fmac_f16", lambda a, b: fma("f16")(a, b, 0x1111), "f16")
for name, form in (("v_dot2_f32_f16", "f16"), ("v_dot2_f32_bf16", "bf16")):
    vs = {r: [sum((from_real(rng.randint(-8, 8) / 4, form)) << 16 * h for h in range(2)) for _ in range(LANES)] for r in (2, 4)}
    vs[6] = [word_f32(rng.randint(-64, 64) / 8) for _ in range(LANES)]
    INPUTS[name] = ({**V, **vs}, dict(INPUTS["int"][1]))
    CASES.append((name, "v10, v2, v4, v6", name, 0, {"v10": [rounded(
        sum(Float(vs[2][i] >> 16 * h & 0xffff, form).value * Float(vs[4][i] >> 16 * h & 0xffff, form).value for h in (0, 1))
        + Float(vs[6][i], "f32").value, "f32") for i in range(LANES)]}))
    # A constant stands in the lower half.
    CASES.append((name, "v10, v2, 1.0, v6", name, 0, {"v10": [rounded(
        Float(vs[2][i] & 0xffff, form).value + Float(vs[6][i], "f32").value, "f32") for i in range(LANES)]}))
    if form == "f16":
        # What v10 holds before.
        first = Float(0x11111111, "f32").value
        CASES.append(("v_dot2acc_f32_f16", "v10, v2, v4", name, 0, {"v10": [rounded(
            Float(vs[2][i] >> 16, form).value * Float(vs[4][i] >> 16, form).value + Float(rounded(
                Float(vs[2][i] & 0xffff, form).value * Float(vs[4][i] & 0xffff, form).value + first, "f32"), "f32").value,
            "f32") for i in range(LANES)]}))
# DPP permutes the first source's whole registers, before halves of it are chosen.
for text, source in (("quad_perm:[3,1,2,0] row_mask:0xf bank_mask:0xf", lambda i: i & ~3 | [3, 1, 2, 0][i & 3]),
                     ("dpp8:[7,6,5,4,3,2,1,0]", lambda i: i ^ 7)):
    f16s, pairs = INPUTS["f16"][0], INPUTS["v_dot2_f32_f16"][0]
    mix = [fma32(convert(f16s[2][source(i)] >> 16, "f16", "f32"), convert(f16s[4][i] & 0xffff, "f16", "f32"),
                 convert(f16s[6][i] & 0xffff, "f16", "f32")) for i in range(LANES)]
    operands = "v10, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,1,1] " + text
    CASES.append(("v_fma_mix_f32_e64_dpp", operands, "f16", 0, {"v10": mix}))
    CASES.append(("v_fma_mixlo_f16_e64_dpp", operands, "f16", 0, {"v10": [0x11110000 | convert(x, "f32", "f16") for x in mix]}))
    CASES.append(("v_fma_mixhi_f16_e64_dpp", operands, "f16", 0, {"v10": [0x1111 | convert(x, "f32", "f16") << 16 for x in mix]}))
    CASES.append(("v_fma_mix_f32_e64_dpp", "v10, -|v2|, v4, v6 " + text, "f32", 0,
                  {"v10": [fma32(f32s[2][source(i)] | 1 << 31, f32s[4][i], f32s[6][i]) for i in range(LANES)]}))
    for second, factors in (("v4", lambda i: pairs[4][i]), ("1.0", lambda i: 0x3c00)):
        CASES.append(("v_dot2_f32_f16_e64_dpp", f"v10, v2, {second}, v6 " + text, "v_dot2_f32_f16", 0, {"v10": [rounded(
            sum(Float(pairs[2][source(i)] >> 16 * h & 0xffff, "f16").value * Float(factors(i) >> 16 * h & 0xffff, "f16").value
                for h in (0, 1)) + Float(pairs[6][i], "f32").value, "f32") for i in range(LANES)]}))
    CASES.append(("v_dot2acc_f32_f16_dpp", "v10, v2, v4 " + text, "v_dot2_f32_f16", 0, {"v10": [fma32(
        *[convert(pairs[r][lane] >> 16, "f16", "f32") for r, lane in ((2, source(i)), (4, i))],
        fma32(*[convert(pairs[r][lane] & 0xffff, "f16", "f32") for r, lane in ((2, source(i)), (4, i))], 0x11111111))
        for i in range(LANES)]}))
    CASES.append(("v_pk_fmac_f16_dpp", "v10, v2, v4 " + text, "f16", 0, {"v10": [
        sum(fma16(f16s[2][source(i)] >> s & 0xffff, f16s[4][i] >> s & 0xffff, 0x1111) << s for s in (0, 16))
        for i in range(LANES)]}))
# Lanes that the masks leave out keep what they have; those whose source is out of bounds too, but for bound_ctrl.
sums = [rounded(sum(Float(pairs[2][i ^ 1] >> 16 * h & 0xffff, "f16").value * Float(pairs[4][i] >> 16 * h & 0xffff, "f16").value
                    for h in (0, 1)) + Float(pairs[6][i], "f32").value, "f32") for i in range(LANES)]
CASES.append(("v_dot2_f32_f16_e64_dpp", "v10, v2, v4, v6 row_xmask:1 row_mask:0x1 bank_mask:0x5", "v_dot2_f32_f16", 0,
              {"v10": [x if i < 16 and i // 4 % 2 == 0 else 0x11111111 for i, x in enumerate(sums)]}))
moved = [fma32(f32s[2][i + 2], f32s[4][i], f32s[6][i]) if i % 16 < 14 else 0x11111111 for i in range(LANES)]
CASES.append(("v_fma_mix_f32_e64_dpp", "v10, v2, v4, v6 row_shl:2 row_mask:0xf bank_mask:0xf", "f32", 0, {"v10": moved}))
CASES.append(("v_fma_mixhi_f16_e64_dpp", "v10, v2, v4, v6 op_sel_hi:[1,1,0] row_shl:2 row_mask:0xf bank_mask:0xf",
              "v_dot2_f32_f16", 0, {"v10": [0x11111111 if i % 16 > 13 else 0x1111 | convert(fma32(
                  convert(pairs[2][i + 2] & 0xffff, "f16", "f32"), convert(pairs[4][i] & 0xffff, "f16", "f32"), pairs[6][i]),
                  "f32", "f16") << 16 for i in range(LANES)]}))
# Of packed integers a constant is the word that it is of f32.
CASES.append(("v_pk_add_u16", "v10, v2, 1.0", "int", 0, {"v10": [
    v("int", 2, i, 32) & 0xffff | ((v("int", 2, i, 32) >> 16) + 0x3f80 & 0xffff) << 16 for i in range(LANES)]}))


def float_word(name):
    return {"add": arithmetic("f32", lambda a, b: a + b), "min": pick("f32", False), "max": pick("f32", True)}[name]


def both_memories(global_names, local_names, n, f, text_global, text_local, inputs="int"):
    """f(lane, old) gives the new word of `n` bytes at 16 times the lane."""
    data, old = bytearray(MEMORY), []
    for i in range(LANES):
        o = word_at(MEMORY, 16 * i, n)
        old.append(o)
        data[16 * i:16 * i + n] = (f(i, o) & (1 << 8 * n) - 1).to_bytes(n, "little")
    out = {"v10": [x & M32 for x in old]}
    if n == 8:
        out["v11"] = [x >> 32 for x in old]
    for name in global_names.split():
        CASES.append((name, text_global, inputs, 0, {"mem": fnv(data)}))
    for name in local_names.split():
        if "_rtn" in name:
            CASES.append((name, reg("v", 10, 8 * n) + ", " + text_local, inputs, 0, {"lds": fnv(data), **out}))
        else:
            CASES.append((name, text_local, inputs, 0, {"lds": fnv(data)}))


# Sums without NaN, whose bits are nobody's promise; no word of the memory is one.
INPUTS["finite"] = ({**V, 2: [word_f32(rng.uniform(-1, 1) * 2.0 ** rng.randint(-20, 20)) for _ in range(LANES)]}, dict(INPUTS["int"][1]))
for name, suffixes in (("add", [""]), ("min", ["", "_num"]), ("max", ["", "_num"])):
    for suffix in suffixes:
        both_memories(f"global_atomic_{name}{suffix}_f32", f"ds_{name}{suffix}_f32 ds_{name}{suffix}_rtn_f32", 4,
                      lambda i, o: float_word(name)(o, INPUTS["finite"][0][2][i]), "v[8:9], v2, off", "v1, v2", "finite")
for w in (32, 64):
    both_memories("", f"ds_rsub_u{w} ds_rsub_rtn_u{w}", w // 8, lambda i, o: v("int", 2, i, w) - o, "", "v1, " + reg("v", 2, w))
    # Every other lane compares with what is there.
    compare_words = [word_at(MEMORY, 16 * i, 8) if i % 2 else 5 for i in range(LANES)]
    INPUTS[f"exchange{w}"] = ({**V, 4: [x & M32 for x in compare_words], 5: [x >> 32 for x in compare_words]}, dict(INPUTS["int"][1]))
    if w == 32:
        # v2 is the new value, v3 what it is compared with.
        INPUTS["exchange32"][0][3] = INPUTS["exchange32"][0][4]
    data = bytearray(MEMORY)
    for i in range(1, LANES, 2):
        data[16 * i:16 * i + w // 8] = v("int", 2, i, w).to_bytes(w // 8, "little")
    CASES.append((f"ds_cmpstore_b{w}", f"v1, {reg('v', 2, w)}, {reg('v', 4, w)}", f"exchange{w}", 0, {"lds": fnv(data)}))
    CASES.append((f"ds_cmpstore_rtn_b{w}", f"{reg('v', 10, w)}, v1, {reg('v', 2, w)}, {reg('v', 4, w)}", f"exchange{w}", 0,
                  {"lds": fnv(data), "v10": [word_at(MEMORY, 16 * i, 4) for i in range(LANES)]}))
    CASES.append((f"global_atomic_cmpswap_b{w}", f"v[8:9], v[2:{1 + w // 16}], off", f"exchange{w}", 0, {"mem": fnv(data)}))
data = bytearray(MEMORY)
for i in range(LANES):
    data[16 * i:16 * i + 16] = b"".join(V[r][i].to_bytes(4, "little") for r in (2, 3, 4, 5))
CASES.append(("ds_store_2addr_b64", "v1, v[2:3], v[4:5] offset0:0 offset1:1", "int", 0, {"lds": fnv(data)}))
# Scratch: what one instruction stores another loads; it is 0 before.
for name, n, shift in (("b8", 1, 0), ("b16", 2, 0), ("b32", 4, 0), ("b64", 8, 0), ("b96", 12, 0), ("b128", 16, 0), ("d16_hi_b8", 1, 16),
                       ("d16_hi_b16", 2, 16)):
    out = {f"v{10 + k}": [] for k in range(4)}
    for i in range(LANES):
        x = (sum(V[2 + k][i] << 32 * k for k in range(4)) >> shift & (1 << 8 * n) - 1) << 8
        for k in range(4):
            out[f"v{10 + k}"].append(x >> 32 * k & M32)
    src = "v2" if n <= 4 else f"v[2:{1 + n // 4}]"
    CASES.append(("scratch_store_" + name, f"off, {src}, off offset:9\nscratch_load_b128 v[10:13], off, off offset:8", "int", 0, out))
for name, n, place in (("u8", 1, "z"), ("i8", 1, "s"), ("u16", 2, "z"), ("i16", 2, "s"), ("b32", 4, ""), ("b64", 8, ""), ("b96", 12, ""),
                       ("b128", 16, ""), ("d16_u8", 1, "lz"), ("d16_i8", 1, "ls"), ("d16_b16", 2, "l"), ("d16_hi_u8", 1, "hz"),
                       ("d16_hi_i8", 1, "hs"), ("d16_hi_b16", 2, "h")):
    out = {f"v{10 + k}": [] for k in range(max(1, n // 4))}
    for i in range(LANES):
        x = sum(V[2 + k][i] << 32 * k for k in range(4)) & (1 << 8 * n) - 1
        if "s" in place:
            x = signed(x, 8 * n) & M32
        if "l" in place:
            x = 0x11110000 | x & 0xffff
        if "h" in place:
            x = 0x1111 | (x & 0xffff) << 16
        for k in range(max(1, n // 4)):
            out[f"v{10 + k}"].append(x >> 32 * k & M32)
    dst = "v10" if n <= 4 else f"v[10:{9 + n // 4}]"
    # v0 is the lane: a vector address, which a scalar one joins.
    text = f"{dst}, v0, off offset:9" if n == 4 else f"{dst}, off, off offset:8"
    at = "v0, v[2:5], off offset:9" if n == 4 else "off, v[2:5], off offset:8"
    CASES.append(("scratch_load_" + name, None, "int", 0, out, None, f"scratch_store_b128 {at}\nscratch_load_{name} {text}"))
for isa in ("gfx11", "gfx12"):
    def brain(x):
        return Float(x, "bf16").value
    regs = INPUTS["halves"][0]
    brains = {r: [sum(from_real(rng.randint(-8, 8) / 4, "bf16") << 16 * h for h in range(2)) for _ in range(LANES)] for r in range(1, 34)}
    INPUTS["brains"] = ({**regs, **brains}, dict(INPUTS["int"][1])) if "brains" not in INPUTS else INPUTS["brains"]
    tile(isa, "v_wmma_f32_16x16x16_bf16", "brains", 16, 16, brain, brain, lambda x: Float(x, "f32").value, lambda x: rounded(x, "f32"))

# --- division, as LLVM expands it -----------------------------------------------------------------

def quotient(a, b):
    x, y = Float(a, "f32"), Float(b, "f32")
    sign = x.sign ^ y.sign
    if x.nan or y.nan or (x.inf and y.inf) or (x.value == 0 and y.value == 0):
        return special("f32", 0, True)
    if x.inf or y.value == 0:
        return special("f32", sign)
    if y.inf or x.value == 0:
        return sign << 31
    return rounded(x.value / y.value, "f32", sign == 1) | sign << 31


hard = [0x00000001, 0x00800000, 0x7f7fffff, 0x3f800000, 0x40400000, 0x7e800000, 0x01000000, 0x80000003, 0x7f000000, 0x00400000]
numerators = [rng.choice(hard) for _ in range(16)] + [rng.getrandbits(32) for _ in range(16)]
denominators = [rng.choice(hard) for _ in range(16)] + [rng.getrandbits(32) for _ in range(16)]
INPUTS["division"] = ({**INPUTS["f32"][0], 2: numerators, 4: denominators}, INPUTS["f32"][1])
# Quotients near the ends of the range.
for k in range(8):
    numerators = [rng.getrandbits(31) for _ in range(LANES)]
    denominators = [clamp((x >> 23) + rng.choice([-149, -148, -140, -127, -126, 0, 96, 126, 127, 148]), 0, 254) << 23 | rng.getrandbits(23)
                    for x in numerators]
    INPUTS[f"division{k}"] = ({**INPUTS["f32"][0], 2: numerators, 4: denominators}, INPUTS["f32"][1])
DIVISION = """v30, null, v4, v4, v2
v_div_scale_f32 v31, vcc_lo, v2, v4, v2
v_rcp_f32 v32, v30
v_fma_f32 v33, -v30, v32, 1.0
v_fmac_f32 v32, v33, v32
v_mul_f32 v34, v31, v32
v_fma_f32 v35, -v30, v34, v31
v_fmac_f32 v34, v35, v32
v_fma_f32 v36, -v30, v34, v31
v_div_fmas_f32 v37, v36, v32, v34
v_div_fixup_f32 v10, v37, v4, v2"""
for inputs in ["division", "f32"] + [f"division{k}" for k in range(8)]:
    a, b = INPUTS[inputs][0][2], INPUTS[inputs][0][4]
    CASES.append(("v_div_scale_f32", DIVISION, inputs, 0, {"v10": [quotient(x, y) for x, y in zip(a, b)]}))

# --- assembly ------------------------------------------------------------------------------------

def assemble(cpu, texts):
    """The words of each text, None where this target has no such instruction."""
    source = "".join(f"{t}\ns_nop 0x1234\n" for t in texts)
    run = subprocess.run([arguments.llvm_mc, "-triple=amdgcn-amd-amdhsa", f"-mcpu={cpu}", "-show-encoding"], input=source,
                         capture_output=True, text=True, check=False)
    result, current = [], None
    for line in run.stdout.splitlines():
        if "encoding: [" not in line:
            continue
        code = bytes(int(x, 16) for x in line.split("encoding: [")[1].split("]")[0].split(","))
        if code == bytes([0x34, 0x12, 0x80, 0xbf]):
            result.append(current)
            current = None
        else:
            current = (current or b"") + code
    return result


CPUS = {"gfx11": "gfx1100", "gfx12": "gfx1201"}
for name, (vs, ss) in INPUTS.items():
    print("inputs", name)
    for r, lanes in sorted(vs.items()):
        print("v", r, "".join(f"{x & M32:08x}" for x in lanes))
    for r, x in sorted(ss.items()):
        print("s", r, f"{x & M32:08x}")
    print("end")
for isa, cpu in CPUS.items():
    chosen = [c for c in CASES if len(c) == 5 or c[5] in (isa, None)]
    codes = assemble(cpu, [c[6] if len(c) == 7 else f"{c[0]} {c[1]}" for c in chosen])
    assert len(codes) == len(chosen), (len(codes), len(chosen))
    for case, code in zip(chosen, codes):
        if code is None or len(code) < 4 * (case[6] if len(case) == 7 else case[1]).count("\n") + 4:
            continue
        words = "".join(f"{x:08x}" for x in struct.unpack(f"<{len(code) // 4}I", code))
        results = " ".join(f"{k}=" + ("".join(f"{x & M32:08x}" for x in r) if isinstance(r, list) else
                                      f"{r:x}") for k, r in case[4].items())
        print("case", isa, case[2], case[3], words, "|", results)
