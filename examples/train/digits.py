#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes pictures of handwritten-looking digits and what they show, for zrt train.

    digits.py OUT.npz [--count 4000] [--seed 1]

Each picture is 16 × 16 values from 0 to 1: a digit as strokes, turned, stretched, moved and drawn with a soft pen, with
noise. Members: `pictures`, f32 [count, 256], and `digits`, si64 [count]. Needs nothing but Python.
"""
import argparse
import array
import math
import random
import zipfile

SIDE = 16
# Strokes in a square of 1, y downwards.
STROKES = [
    [[(.5, .1), (.75, .25), (.8, .5), (.7, .8), (.5, .9), (.3, .8), (.2, .5), (.25, .25), (.5, .1)]],
    [[(.35, .25), (.55, .1), (.55, .9)]],
    [[(.25, .3), (.35, .12), (.6, .1), (.75, .28), (.65, .5), (.25, .88), (.78, .88)]],
    [[(.25, .15), (.7, .12), (.45, .42), (.72, .55), (.7, .8), (.45, .92), (.22, .8)]],
    [[(.6, .9), (.6, .1), (.2, .62), (.8, .62)]],
    [[(.72, .12), (.32, .12), (.28, .48), (.6, .42), (.76, .62), (.66, .86), (.4, .92), (.22, .8)]],
    [[(.66, .12), (.4, .3), (.26, .62), (.36, .88), (.62, .88), (.72, .68), (.58, .52), (.3, .6)]],
    [[(.22, .14), (.78, .14), (.42, .9)]],
    [[(.5, .1), (.72, .25), (.5, .46), (.28, .25), (.5, .1)], [(.5, .46), (.75, .7), (.5, .92), (.25, .7), (.5, .46)]],
    [[(.7, .4), (.5, .5), (.3, .36), (.36, .14), (.6, .1), (.72, .26), (.68, .6), (.5, .9)]],
]


def distance(x, y, a, b):
    """From a point to the stroke from a to b."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    along = ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy or 1)
    along = min(1.0, max(0.0, along))
    return math.hypot(x - a[0] - along * dx, y - a[1] - along * dy)


def picture(digit, draw):
    turn, wide, high = draw.uniform(-.25, .25), draw.uniform(.75, 1.1), draw.uniform(.75, 1.1)
    right, down, pen = draw.uniform(-.1, .1), draw.uniform(-.1, .1), draw.uniform(.05, .08)
    cos, sin = math.cos(turn), math.sin(turn)

    def placed(point):
        x, y = (point[0] - .5) * wide + draw.gauss(0, .012), (point[1] - .5) * high + draw.gauss(0, .012)
        return .5 + cos * x - sin * y + right, .5 + sin * x + cos * y + down

    lines = [[placed(point) for point in stroke] for stroke in STROKES[digit]]
    values = []
    for row in range(SIDE):
        for column in range(SIDE):
            x, y = (column + .5) / SIDE, (row + .5) / SIDE
            least = min(distance(x, y, a, b) for line in lines for a, b in zip(line, line[1:]))
            ink = min(1.0, max(0.0, 1.5 - least / pen))
            values.append(min(1.0, max(0.0, ink + draw.gauss(0, .08))))
    return values


def npy(code, kind, shape, values):
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + array.array(kind, values).tobytes()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    digits = [draw.randrange(10) for _ in range(args.count)]
    pictures = [value for digit in digits for value in picture(digit, draw)]
    with zipfile.ZipFile(args.out, "w") as out:
        out.writestr("pictures.npy", npy("<f4", "f", (args.count, SIDE * SIDE), pictures))
        out.writestr("digits.npy", npy("<i8", "q", (args.count,), digits))


if __name__ == "__main__":
    main()
