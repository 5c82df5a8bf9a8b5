#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/image: small PNG and JPEG files, and the pixels that llama.cpp reads from them and gives its encoder.

usage: peer_pixels.py PEER_PIXELS CJPEG [--check]

PEER_PIXELS is the program of peer_pixels.cpp, built with the headers and the sources of llama.cpp's tools/mtmd as
peer_vision.py says, and with vendor/stb. CJPEG is libjpeg-turbo's program. --check compares what is checked in with what
they give, and writes nothing.

Layout of FILE.pixels: "ZPIX", version 1, least and most rows, then for the file as it is read width, height and RGB bytes
[height][width][3] padded to 4, then for what the encoder gets width, height and f32 [height][width][3]. All numbers have
32 bits, little-endian.
"""
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "data" / "image"
MMPROJ = FOLDER.parent / "peer" / "qwen3vl-vision.gguf"
GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
FILES = {  # name: kind, width, height, bits, least rows, most rows
    "exact.png": (RGB, 32, 24, 8, 8, 4096),  # its own size
    "shrunk.png": (RGB, 61, 47, 8, 1, 12),
    "enlarged.png": (RGB, 9, 5, 8, 8, 4096),
    "wide.png": (RGB, 90, 7, 8, 1, 4096),
    "tall.png": (RGBA, 6, 70, 8, 1, 6),
    "grey.png": (GREY, 20, 33, 8, 1, 4096),
    "bits.png": (GREY, 19, 17, 1, 1, 4096),
    "palette.png": (PALETTE, 21, 18, 8, 1, 4096),
    "alpha.png": (GREY_ALPHA, 16, 16, 8, 1, 4096),
    "baseline.jpg": (("-quality", "90"), 45, 35, 8, 1, 4096),
    "progressive.jpg": (("-quality", "75", "-progressive", "-sample", "1x1"), 40, 32, 8, 1, 4096),
    "grey.jpg": (("-quality", "85", "-grayscale"), 24, 30, 8, 1, 4096),
}


def smooth(x, y, width, height):
    """A colour of a soft picture: a light spot on a slope."""
    near = max(0.0, 1 - ((x / width - 0.6) ** 2 + (y / height - 0.4) ** 2) * 6)
    return int(255 * x / width), int(200 * y / height), int(40 + 200 * near)


def samples(kind, width, height, noise):
    """The samples of an image, one byte each: a soft picture, and noise for what is stored without loss."""
    for y in range(height):
        for x in range(width):
            if isinstance(kind, tuple):
                yield from smooth(x, y, width, height)
            elif kind == PALETTE:
                yield (x * 7 + y * 3) % 5
            else:
                yield from (noise.randrange(256) for _ in range(CHANNELS[kind]))


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def lines(kind, width, height, bits, data):
    row = width * CHANNELS[kind]
    for y in range(height):
        line = data[y * row:(y + 1) * row]
        if bits == 1:
            line += bytes(-len(line) % 8)
            line = bytes(sum((line[i + j] & 1) << (7 - j) for j in range(8)) for i in range(0, len(line), 8))
        yield b"\0" + line


def png(kind, width, height, bits, data):
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0))
    if kind == PALETTE:
        out += chunk(b"PLTE", bytes((255, 0, 0, 0, 128, 255, 7, 7, 7, 250, 240, 10, 90, 20, 200)))
    return out + chunk(b"IDAT", zlib.compress(b"".join(lines(kind, width, height, bits, data)), 9)) + chunk(b"IEND", b"")


def jpeg(program, options, width, height, data):
    made = subprocess.run([program, *options], input=b"P6 %d %d 255\n" % (width, height) + data, check=True,
                          capture_output=True)
    return made.stdout


def pixels(program, path, least, most, folder):
    subprocess.run([program, MMPROJ, path, str(least), str(most), folder / "pixels"], check=True, capture_output=True)
    out = (folder / "pixels").read_bytes()
    width, height = struct.unpack_from("<II", out)
    end = 8 + width * height * 3
    return b"ZPIX" + struct.pack("<III", 1, least, most) + out[:end] + bytes(-end % 4) + out[end:]


def files(peer, cjpeg, folder):
    """The name and the bytes of each file."""
    noise = random.Random(5)
    for name, (kind, width, height, bits, least, most) in FILES.items():
        data = bytes(samples(kind, width, height, noise))
        made = jpeg(cjpeg, kind, width, height, data) if isinstance(kind, tuple) else png(kind, width, height, bits, data)
        (folder / name).write_bytes(made)
        yield name, made
        yield name + ".pixels", pixels(peer, folder / name, least, most, folder)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    peer, cjpeg = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name:
        for file, made in files(peer, cjpeg, pathlib.Path(name)):
            if "--check" in sys.argv:
                assert (FOLDER / file).read_bytes() == made, f"{file} differs"
            else:
                (FOLDER / file).write_bytes(made)


if __name__ == "__main__":
    main()
