#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/ops/swiglu_biases.json: gated blocks with biases, in f64 by the textbook's formulas.

Usage: python3 tests/tools/swiglu_biases.py > tests/data/ops/swiglu_biases.json

A case lists the weights that it has, each row-major, the input and the output. Weights and inputs are multiples of
2^-6, so that f32 holds them exactly.
"""
import json
import math
import random

TOKENS, WIDTH, INNER, EPS = 3, 8, 6, 1e-5
ROLES = {"norm": (1, WIDTH), "gate": (INNER, WIDTH), "up": (INNER, WIDTH), "down": (WIDTH, INNER),
         "gate_bias": (1, INNER), "up_bias": (1, INNER), "down_bias": (1, WIDTH)}
BIASES = ("gate_bias", "up_bias", "down_bias")


def project(x, matrix, bias):
    sums = [math.fsum(a * b for a, b in zip(row, x)) for row in matrix]
    return [s + b for s, b in zip(sums, bias[0])] if bias else sums


def silu(x):
    return x / (1 + math.exp(-x))


def block(x, w):
    if "norm" in w:
        scale = 1 / math.sqrt(math.fsum(v * v for v in x) / len(x) + EPS)
        x = [v * scale * weight for v, weight in zip(x, w["norm"][0])]
    h = project(x, w["up"], w.get("up_bias"))
    if "gate" in w:
        h = [silu(g) * u for g, u in zip(project(x, w["gate"], w.get("gate_bias")), h)]
    else:
        h = [silu(u) for u in h]
    return project(h, w["down"], w.get("down_bias"))


def main():
    numbers = random.Random(20261121)

    def draw(rows, cols):
        return [[numbers.randint(-96, 96) / 64 for _ in range(cols)] for _ in range(rows)]

    def flat(matrix):
        return [v for row in matrix for v in row]

    cases = []
    for form in (("norm", "gate"), ("gate",), ("norm",), ()):
        for some in range(8):
            biases = [b for bit, b in enumerate(BIASES) if some >> bit & 1]
            if "gate_bias" in biases and "gate" not in form:
                continue
            roles = [r for r in ROLES if r in form or r in ("up", "down") or r in biases]
            x = draw(TOKENS, WIDTH)
            weights = {r: draw(*ROLES[r]) for r in roles}
            cases.append({"x": flat(x), "weights": {r: flat(weights[r]) for r in roles},
                          "y": flat([block(row, weights) for row in x])})
    print("[" + ",\n".join(json.dumps(c) for c in cases) + "]")


if __name__ == "__main__":
    main()
