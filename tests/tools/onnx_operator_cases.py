#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/onnx_operators.pb: one small model for each operator that the node tests of Debian's libonnx-testdata
do not hold, with inputs and what numpy gives for them.

    onnx_operator_cases.py > tests/data/onnx_operators.pb

The formulas are written here from the operators' descriptions, loop by loop where that is plainer. The file is a list
of messages of field 1: 1 the name, 2 the model, 3 the inputs, 4 the outputs, as ONNX's own messages.
"""
import sys

import numpy as np

DOMAIN = {"ai.onnx": "", "ms": "com.microsoft", "ml": "ai.onnx.ml"}
TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
         "float64": 11, "uint32": 12, "uint64": 13}
STRINGS = 8
UINT4, INT4, E4M3 = 21, 22, 17
rng = np.random.default_rng(26)


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + np.float32(value).tobytes()
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


class Packed:
    """Elements of a type that numpy lacks: its number, the extents and the bytes."""

    def __init__(self, number, shape, data):
        self.number, self.shape, self.data = number, shape, data


def nibbles(values, number):
    flat = np.asarray(values).reshape(-1).astype(np.int64) & 15
    flat = np.pad(flat, (0, len(flat) % 2))
    return Packed(number, np.asarray(values).shape, (flat[::2] | flat[1::2] << 4).astype(np.uint8).tobytes())


def number_of(x):
    if isinstance(x, Packed):
        return x.number
    return STRINGS if x.dtype == object else TYPES[x.dtype.name]


def tensor(name, x):
    out = b"".join(field(1, int(extent)) for extent in x.shape) + field(2, number_of(x)) + field(8, name)
    if number_of(x) == STRINGS:
        return out + b"".join(field(6, text) for text in x.reshape(-1))
    return out + field(9, x.data if isinstance(x, Packed) else np.ascontiguousarray(x).tobytes())


def value(name, x):
    shape = b"".join(field(1, field(1, int(extent))) for extent in x.shape)
    return field(1, name) + field(2, field(1, field(1, number_of(x)) + field(2, shape)))


def attribute(name, x):
    if isinstance(x, float):
        return field(1, name) + field(2, x) + field(20, 1)
    if isinstance(x, int):
        return field(1, name) + field(3, x) + field(20, 2)
    if isinstance(x, str):
        return field(1, name) + field(4, x) + field(20, 3)
    if isinstance(x, np.ndarray):
        return field(1, name) + field(5, tensor("", x)) + field(20, 4)
    if isinstance(x[0], float):
        return field(1, name) + b"".join(field(7, v) for v in x) + field(20, 6)
    if isinstance(x[0], str):
        return field(1, name) + b"".join(field(9, v) for v in x) + field(20, 8)
    return field(1, name) + b"".join(field(8, int(v)) for v in x) + field(20, 7)


def case(name, op, inputs, outputs, opset, domain="ai.onnx", known=(), **attributes):
    """`known` numbers the inputs that are constants; an input or output of None is left out."""
    feed = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
    give = {f"y{i}": y for i, y in enumerate(outputs) if y is not None}
    node = b"".join(field(1, f"x{i}" if x is not None else "") for i, x in enumerate(inputs))
    node += b"".join(field(2, f"y{i}" if y is not None else "") for i, y in enumerate(outputs)) + field(4, op)
    node += b"".join(field(5, attribute(key, x)) for key, x in attributes.items()) + field(7, DOMAIN[domain])
    fed = {key: x for key, x in feed.items() if int(key[1:]) not in known}
    graph = field(1, node) + field(2, name)
    graph += b"".join(field(5, tensor(key, x)) for key, x in feed.items() if key not in fed)
    graph += b"".join(field(11, value(key, x)) for key, x in fed.items())
    graph += b"".join(field(12, value(key, y)) for key, y in give.items())
    imports = field(8, field(1, "") + field(2, opset if domain == "ai.onnx" else 21))
    if domain != "ai.onnx":
        imports += field(8, field(1, DOMAIN[domain]) + field(2, opset if domain == "ml" else 1))
    message = field(1, name) + field(2, field(1, 10) + field(7, graph) + imports)
    message += b"".join(field(3, tensor(key, x)) for key, x in fed.items())
    message += b"".join(field(4, tensor(key, y)) for key, y in give.items())
    sys.stdout.buffer.write(field(1, message))


def floats(*shape):
    return rng.uniform(-2, 2, shape).astype(np.float32)


def f32(x):
    return np.asarray(x, dtype=np.float32)


def i64(*values):
    return np.array(values, dtype=np.int64)


ERF = np.vectorize(lambda x: __import__("math").erf(x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1 + ERF(x / np.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def elementwise():
    x = floats(3, 5)
    case("gelu", "Gelu", [x], [f32(gelu(x))], 20)
    case("gelu_tanh", "Gelu", [x], [f32(gelu_tanh(x))], 20, approximate="tanh")
    case("mish", "Mish", [x], [f32(x * np.tanh(np.log1p(np.exp(x))))], 18)
    case("swish", "Swish", [x], [f32(x / (1 + np.exp(-1.5 * x)))], 24, alpha=1.5)
    for dtype in (np.int32, np.uint8, np.int64):
        a = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (4, 3), dtype=dtype)
        b = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (3,), dtype=dtype)
        name = np.dtype(dtype).name
        case("bitwise_and_" + name, "BitwiseAnd", [a, b], [a & b], 18)
        case("bitwise_or_" + name, "BitwiseOr", [a, b], [a | b], 18)
        case("bitwise_xor_" + name, "BitwiseXor", [a, b], [a ^ b], 18)
        case("bitwise_not_" + name, "BitwiseNot", [a], [~a], 18)
    case("bit_cast", "BitCast", [x], [x.view(np.int32)], 26, to=6)
    case("bit_cast_to_float", "BitCast", [x.view(np.uint32)], [x], 26, to=1)


def reductions():
    x = floats(2, 3, 4)
    case("reduce_max_axes", "ReduceMax", [x, i64(-2)], [x.max(1)], 18, known=[1], keepdims=0)
    case("reduce_min_all", "ReduceMin", [x], [x.min(keepdims=True)], 18)
    case("reduce_mean_noop", "ReduceMean", [x, i64()], [x], 18, known=[1], noop_with_empty_axes=1)
    case("reduce_l2_axes", "ReduceL2", [x, i64(0, 2)], [f32(np.sqrt((x * x).sum((0, 2), keepdims=True)))], 18, known=[1])
    case("reduce_prod_axes", "ReduceProd", [x, i64(1)], [x.prod(1, keepdims=True)], 18, known=[1])
    flags = x > 0
    case("reduce_max_bool", "ReduceMax", [flags, i64(1)], [flags.max(1, keepdims=True)], 20, known=[1])
    case("cum_prod", "CumProd", [x, i64(1)[0]], [np.cumprod(x, 1, dtype=np.float32)], 26, known=[1])
    back = np.flip(np.cumprod(np.flip(x, 2), 2), 2)
    shifted = np.concatenate([back[:, :, 1:], np.ones((2, 3, 1), np.float32)], 2)
    case("cum_prod_reverse", "CumProd", [x, i64(2)[0]], [f32(shifted)], 26, known=[1], reverse=1, exclusive=1)
    case("lp_normalization", "LpNormalization", [x], [f32(x / np.abs(x).sum(1, keepdims=True))], 22, axis=1, p=1)
    cube = f32((np.abs(x.astype(np.float64)) ** 3).sum(-1, keepdims=True) ** (1 / 3))
    case("global_lp_pool", "GlobalLpPool", [x], [cube], 22, p=3)


def windows():
    x = floats(1, 2, 5, 6)
    places = [(r, c) for r in range(3) for c in range(4)]
    lp = np.zeros((1, 2, 3, 4), np.float32)
    mean = np.zeros((1, 2, 3, 4), np.float32)
    for r, c in places:
        part = x[:, :, r:r + 4:2, c:c + 4:2][:, :, :2, :2]
        lp[:, :, r, c] = np.sqrt((part * part).sum((2, 3)))
        mean[:, :, r, c] = part.mean((2, 3))
    case("lp_pool_dilated", "LpPool", [x], [lp], 18, kernel_shape=[2, 2], dilations=[2, 2])
    case("average_pool_dilated", "AveragePool", [x], [mean], 19, kernel_shape=[2, 2], dilations=[2, 2])
    columns = floats(2, 3 * 2 * 2, 2 * 3)
    image = np.zeros((2, 3, 7, 9), np.float32)
    for p in range(6):
        for k in range(4):
            row, column = p // 3 * 2 + k // 2 * 2, p % 3 * 2 + k % 2
            image[:, :, row, column] += columns.reshape(2, 3, 4, 6)[:, :, k, p]
    case("col2im", "Col2Im", [columns, i64(4, 5), i64(2, 2)], [image[:, :, 1:5, 1:6]], 18, known=[1, 2],
         strides=[2, 2], dilations=[2, 1], pads=[1, 1, 1, 1])


def shapes():
    x = floats(3, 7)
    parts = [x[:, :3], x[:, 3:6], x[:, 6:]]
    case("split_uneven", "Split", [x], parts, 18, axis=1, num_outputs=3)
    case("pad_axes", "Pad", [x, i64(1, 2), f32(9), i64(-1)], [np.pad(x, ((0, 0), (1, 2)), constant_values=9)], 18,
         known=[1, 2, 3])
    case("pad_wrap", "Pad", [x, i64(2, 3, 1, 6)], [np.pad(x, ((2, 1), (3, 6)), mode="wrap")], 19, known=[1], mode="wrap")
    case("center_crop_pad", "CenterCropPad", [x, i64(6, 4)], [np.pad(x[:, 1:5], ((1, 2), (0, 0)))], 18, known=[1])
    case("center_crop_pad_axis", "CenterCropPad", [x, i64(4)], [x[:, 1:5]], 18, known=[1], axes=[-1])
    mask = np.array([[0, 2, 0], [1, 0, 3]], np.int64)
    case("non_zero", "NonZero", [mask], [np.array(np.nonzero(mask))], 13, known=[0])
    data, places, more = floats(4, 3), np.array([[0, 2, 0], [3, 2, 0]], np.int64), floats(2, 3)
    largest, smallest = data.copy(), data.copy()
    for i in range(2):
        for k in range(3):
            at = places[i, k], k
            largest[at] = max(largest[at], more[i, k])
            smallest[at] = min(smallest[at], more[i, k])
    case("scatter_elements_max", "ScatterElements", [data, places, more], [largest], 18, reduction="max")
    case("scatter_elements_min", "ScatterElements", [data, places, more], [smallest], 18, reduction="min")
    rows = data.copy()
    for i, at in enumerate((1, 3)):
        rows[at] = np.maximum(rows[at], more[i])
    case("scatter_nd_max", "ScatterND", [data, np.array([[1], [3]], np.int64), more], [rows], 18, reduction="max")
    cache, update, first = floats(2, 2, 5, 3), floats(2, 2, 2, 3), i64(1, 4)
    ring, line = cache.copy(), cache.copy()
    for b in range(2):
        for i in range(2):
            ring[b, :, (first[b] + i) % 5] = update[b, :, i]
            line[b, :, b + i] = update[b, :, i]
    case("tensor_scatter_circular", "TensorScatter", [cache, update, first], [ring], 24, mode="circular")
    case("tensor_scatter_linear", "TensorScatter", [cache, update, i64(0, 1)], [line], 24)


def norms():
    x, scale, bias = floats(2, 6, 4), floats(6), floats(6)
    groups = x.reshape(2, 3, 8).astype(np.float64)
    normal = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    y = normal.reshape(2, 6, 4) * scale[:, None] + bias[:, None]
    case("group_normalization", "GroupNormalization", [x, scale, bias], [f32(y)], 21, num_groups=3)
    last = floats(4)
    rms = x / np.sqrt((x * x).mean(2, keepdims=True) + 1e-6)
    case("rms_normalization", "RMSNormalization", [x, last], [f32(rms * last)], 23, epsilon=1e-6)
    both = x / np.sqrt((x * x).mean((1, 2), keepdims=True) + 1e-5)
    wide = floats(6, 4)
    case("rms_normalization_axes", "RMSNormalization", [x, wide], [f32(both * wide)], 23, axis=1)


def attend(q, k, v, scale=None, softcap=0.0, bias=None, allowed=None):
    """q [B, H, S, D], k [B, G, T, D], v [B, G, T, E], one query at a time."""
    scale = 1 / np.sqrt(q.shape[3]) if scale is None else scale
    y = np.zeros((*q.shape[:3], v.shape[3]))
    shape = (*q.shape[:3], k.shape[2])
    bias = np.zeros(shape) if bias is None else np.broadcast_to(bias, shape)
    allowed = np.ones(shape, bool) if allowed is None else np.broadcast_to(allowed, shape)
    for b, h, s in np.ndindex(*q.shape[:3]):
        g = h * k.shape[1] // q.shape[1]
        keys = [j for j in range(k.shape[2]) if allowed[b, h, s, j] and bias[b, h, s, j] > -np.inf]
        if not keys:
            continue
        scores = np.array([q[b, h, s].astype(np.float64) @ k[b, g, j] * scale for j in keys])
        scores = np.tanh(scores / softcap) * softcap if softcap else scores
        weights = softmax(scores + bias[b, h, s, keys])
        y[b, h, s] = weights @ v[b, g, keys]
    return f32(y)


def heads(x, count):
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def joined(x):
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1))


def causal(queries, keys, offset):
    return np.arange(keys)[None, :] <= np.arange(queries)[:, None] + offset


def attention():
    q, k, v = floats(2, 4, 3, 8), floats(2, 2, 5, 8), floats(2, 2, 5, 6)
    case("attention_grouped", "Attention", [q, k, v], [attend(q, k, v)], 23)
    mask = rng.uniform(size=(3, 5)) < 0.6
    mask[1] = False
    case("attention_masked_row", "Attention", [q, k, v, mask], [attend(q, k, v, allowed=mask)], 23)
    bias = floats(2, 1, 3, 5)
    case("attention_softcap", "Attention", [q, k, v, bias], [attend(q, k, v, 0.3, 1.5, bias)], 24, scale=0.3, softcap=1.5)
    pk, pv = floats(2, 2, 4, 8), floats(2, 2, 4, 6)
    ak, av = np.concatenate([pk, k], 2), np.concatenate([pv, v], 2)
    y = attend(q, ak, av, allowed=causal(3, 9, 4))
    case("attention_cache", "Attention", [q, k, v, None, pk, pv], [y, ak, av], 23, is_causal=1)
    flat = [joined(x) for x in (q, k, v)]
    case("attention_flat", "Attention", flat, [joined(attend(q, k, v))], 23, q_num_heads=4, kv_num_heads=2)
    lengths = i64(4, 5)
    allowed = np.stack([causal(3, 5, n - 3) & (np.arange(5) < n)[None, :] for n in lengths])[:, None]
    case("attention_lengths", "Attention", [q, k, v, None, None, None, lengths], [attend(q, k, v, allowed=allowed)], 24,
         is_causal=1)
    near = np.abs(np.arange(5)[None, :] - np.arange(3)[:, None]) <= 1
    case("attention_window", "Attention", [q, k, v], [attend(q, k, v, allowed=near)], 25, left_window_size=1,
         right_window_size=1)
    scores = f32(q.astype(np.float64) @ np.repeat(k, 2, 1).transpose(0, 1, 3, 2) / np.sqrt(8))
    case("attention_scores", "Attention", [q, k, v], [attend(q, k, v), None, None, scores], 23)


def turn(x, cosine, sine, interleaved):
    """x [B, S, H, D] by tables [B, S, half]."""
    half = cosine.shape[2]
    y = x.astype(np.float64)
    for i in range(half):
        a, b = (2 * i, 2 * i + 1) if interleaved else (i, half + i)
        c, s = cosine[:, :, None, i], sine[:, :, None, i]
        y[..., a], y[..., b] = x[..., a] * c - x[..., b] * s, x[..., a] * s + x[..., b] * c
    return f32(y)


def rotary():
    angles = rng.uniform(-3, 3, (10, 3))
    cosine, sine = f32(np.cos(angles)), f32(np.sin(angles))
    x = floats(2, 4, 2 * 8)
    places = np.array([[0, 3, 9, 1], [5, 5, 2, 7]], np.int64)
    parts = x.reshape(2, 4, 2, 8)
    y = turn(parts, cosine[places], sine[places], False).reshape(2, 4, 16)
    case("rotary_partial", "RotaryEmbedding", [x, cosine, sine, places], [y], 23, num_heads=2, rotary_embedding_dim=6)
    y = turn(parts, cosine[places], sine[places], True).transpose(0, 2, 1, 3)
    case("rotary_interleaved", "RotaryEmbedding", [np.ascontiguousarray(parts.transpose(0, 2, 1, 3)), cosine, sine, places],
         [np.ascontiguousarray(y)], 23, interleaved=1, rotary_embedding_dim=6)
    start = np.arange(4)[None, :] + 2
    y = turn(parts, np.repeat(cosine[start], 2, 0), np.repeat(sine[start], 2, 0), False).reshape(2, 4, 16)
    case("ms_rotary_start", "RotaryEmbedding", [x, i64(2), cosine, sine], [y], 1, "ms", num_heads=2,
         rotary_embedding_dim=6)


def images():
    theta = floats(2, 2, 3)
    for aligned in (0, 1):
        ys, xs = [np.linspace(-1, 1, n) if aligned else (2 * np.arange(n) + 1) / n - 1 for n in (3, 4)]
        grid = np.stack([np.broadcast_to(xs[None, :], (3, 4)), np.broadcast_to(ys[:, None], (3, 4)), np.ones((3, 4))], 2)
        case(f"affine_grid_{aligned}", "AffineGrid", [theta, i64(2, 1, 3, 4)],
             [f32(np.einsum("hwk,nik->nhwi", grid, theta))], 20, known=[1], align_corners=aligned)
    x = floats(1, 1, 8, 6)

    def filtered(x, axis, to, scale, weight, support):
        extent, out = x.shape[axis], []
        for i in range(to):
            at = (i + 0.5) / scale - 0.5
            places = range(int(np.floor(at - support)), int(np.ceil(at + support)) + 1)
            weights = np.array([weight(abs(at - p)) for p in places])
            rows = [np.take(x, min(max(p, 0), extent - 1), axis) for p in places]
            out.append(sum(w * r for w, r in zip(weights / weights.sum(), rows)))
        return np.stack(out, axis)

    def triangle(narrow):
        return lambda away: max(0.0, 1 - away * narrow)

    half = filtered(filtered(x.astype(np.float64), 2, 4, 0.5, triangle(0.5), 2), 3, 3, 0.5, triangle(0.5), 2)
    case("resize_antialias", "Resize", [x, None, f32([1, 1, 0.5, 0.5])], [f32(half)], 18, known=[2], mode="linear",
         antialias=1)
    wide = filtered(filtered(x.astype(np.float64), 2, 16, 2, triangle(1), 1), 3, 12, 2, triangle(1), 1)
    case("resize_axes", "Resize", [x, None, f32([2, 2])], [f32(wide)], 18, known=[2], mode="linear", axes=[3, 2])
    # 8 x 6 to at most 6 x 6: both shrink by 0.75, the last axis to 4.5, which rounds up.
    kept = filtered(filtered(x.astype(np.float64), 2, 6, 0.75, triangle(1), 1), 3, 5, 0.75, triangle(1), 1)
    case("resize_not_larger", "Resize", [x, None, None, i64(6, 6)], [f32(kept)], 18, known=[3], mode="linear",
         axes=[2, 3], keep_aspect_ratio_policy="not_larger")


def quantised():
    x = f32(rng.uniform(-3, 3, (4, 6)))
    scale = f32(rng.uniform(0.05, 0.2, (4, 2)))
    steps = np.repeat(scale, 3, 1)
    whole = np.clip(np.round(x / steps), -128, 127).astype(np.int8)
    case("quantize_blocked", "QuantizeLinear", [x, scale, np.zeros((4, 2), np.int8)], [whole], 21, axis=1, block_size=3)
    case("dequantize_blocked", "DequantizeLinear", [whole, scale], [f32(whole * steps)], 21, axis=1, block_size=3)
    case("quantize_int16", "QuantizeLinear", [x, f32(0.01)], [np.round(x / f32(0.01)).astype(np.int16)], 21,
         output_dtype=TYPES["int16"])
    four = rng.integers(-8, 8, (4, 6))
    case("dequantize_int4", "DequantizeLinear", [nibbles(four, INT4), f32(0.25)], [f32(four * 0.25)], 21)
    small = np.clip(np.round(x / 0.5), 0, 15).astype(np.int64)
    case("quantize_uint4", "QuantizeLinear", [x, f32(0.5)], [nibbles(small, UINT4)], 21, output_dtype=UINT4)
    case("dequantize_half", "DequantizeLinear", [whole, f32(0.5)], [(whole * 0.5).astype(np.float16)], 23,
         output_dtype=TYPES["float16"])


def signals():
    x = floats(2, 6, 3, 1)
    for axis in (1, 2):
        spectrum = np.fft.fft(x[..., 0], axis=axis)
        case(f"dft_axis_{axis}", "DFT", [x, None, i64(axis)[0]], [f32(np.stack([spectrum.real, spectrum.imag], -1))], 20,
             known=[2])
    spectrum = np.fft.rfft(x[..., 0], axis=1)
    case("dft_onesided", "DFT", [x, None, i64(1)[0]], [f32(np.stack([spectrum.real, spectrum.imag], -1))], 20, known=[2],
         onesided=1)
    half = floats(2, 4, 3, 2)
    signal = np.fft.irfft(half[..., 0] + 1j * half[..., 1], n=6, axis=1)
    case("dft_inverse_onesided", "DFT", [half, None, i64(1)[0]], [f32(signal[..., None])], 20, known=[2], inverse=1,
         onesided=1)
    triangles, length, rate, low, high = 5, 64, 8000, 100.0, 3500.0
    mel = lambda hertz: 2595 * np.log10(1 + hertz / 700)  # noqa: E731
    # As in ONNX's own data, the range has two parts more than there are triangles.
    edges = 700 * (10 ** (np.linspace(mel(low), mel(high), triangles + 3)[:-1] / 2595) - 1)
    bins = np.floor((length + 1) * edges / rate).astype(int)
    matrix = np.zeros((length // 2 + 1, triangles), np.float32)
    for i in range(triangles):
        first, peak, last = bins[i:i + 3]
        for at in range(first, peak):
            matrix[at, i] = (at - first) / (peak - first)
        matrix[peak, i] = 1
        for at in range(peak + 1, last):
            matrix[at, i] = (last - at) / (last - peak)
    case("mel_weight_matrix", "MelWeightMatrix",
         [i64(triangles)[0], i64(length)[0], i64(rate)[0], f32(low), f32(high)], [matrix], 17, known=range(5))


def layer_norm(x, gamma, beta, epsilon):
    x = x.astype(np.float64)
    return f32((x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * gamma + beta)


def fused():
    x, bias = floats(2, 3, 8), floats(8)
    case("ms_gelu", "Gelu", [x], [f32(gelu(x))], 1, "ms")
    case("ms_bias_gelu", "BiasGelu", [x, bias], [f32(gelu(x + bias))], 1, "ms")
    case("ms_fast_gelu", "FastGelu", [x, bias], [f32(gelu_tanh(x + bias))], 1, "ms")
    case("ms_quick_gelu", "QuickGelu", [x], [f32(x / (1 + np.exp(-1.702 * x)))], 1, "ms")
    a, b = floats(2, 5, 3), floats(2, 4, 5)
    case("ms_fused_mat_mul", "FusedMatMul", [a, b], [f32(0.5 * np.swapaxes(a, 1, 2) @ np.swapaxes(b, 1, 2))], 1, "ms",
         transA=1, transB=1, alpha=0.5)
    skip, gamma, beta = floats(2, 3, 8), floats(8), floats(8)
    sums = x + skip + bias
    case("ms_skip_layer_norm", "SkipLayerNormalization", [x, skip, gamma, beta, bias],
         [layer_norm(sums, gamma, beta, 1e-5), None, None, sums], 1, "ms", epsilon=1e-5)
    rms = lambda x: f32(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gamma)  # noqa: E731
    case("ms_skip_simplified", "SkipSimplifiedLayerNormalization", [x, skip, gamma], [rms(x + skip), None, None, x + skip],
         1, "ms", epsilon=1e-5)
    case("ms_simplified", "SimplifiedLayerNormalization", [x, gamma], [rms(x)], 1, "ms", axis=-1, epsilon=1e-5)
    words, places, segments = floats(9, 8), floats(5, 8), floats(2, 8)
    ids, kinds = np.array([[1, 8, 0], [4, 4, 2]], np.int32), np.array([[0, 1, 1], [0, 0, 1]], np.int32)
    mask = np.array([[1, 1, 0], [1, 0, 0]], np.int32)
    embedded = words[ids] + places[:3] + segments[kinds]
    case("ms_embed_layer_norm", "EmbedLayerNormalization", [ids, kinds, words, places, segments, gamma, beta, mask],
         [layer_norm(embedded, gamma, beta, 1e-5), mask.sum(1).astype(np.int32)], 1, "ms", epsilon=1e-5)
    for bits, zeros in ((4, False), (4, True), (8, True)):
        columns, inner, block = 6, 40, 16
        w = rng.integers(0, 1 << bits, (columns, 3, block))
        z = rng.integers(0, 1 << bits, (columns, 3))
        scales = f32(rng.uniform(0.01, 0.1, (columns, 3)))
        matrix = (w - (z if zeros else np.full((columns, 3), 1 << bits - 1))[:, :, None]) * scales[:, :, None]
        pack = lambda v: (v[..., ::2] | v[..., 1::2] << 4) if bits == 4 else v  # noqa: E731,B023
        packed = pack(w).astype(np.uint8)
        zero = pack(np.concatenate([z, np.zeros((columns, 1), int)], 1) if bits == 4 else z).astype(np.uint8)
        rows = floats(2, 3, inner)
        y = f32(rows.astype(np.float64) @ matrix.reshape(columns, -1)[:, :inner].T)
        case(f"ms_mat_mul_{bits}_bits" + ("_zeros" if zeros else ""), "MatMulNBits",
             [rows, packed, scales.reshape(-1)] + ([zero.reshape(-1)] if zeros else []), [y], 1, "ms", known=[1, 2, 3],
             K=inner, N=columns, bits=bits, block_size=block)


def fused_attention():
    q, k, v = floats(2, 3, 12), floats(2, 4, 12), floats(2, 4, 12)
    bias, mask = floats(36), np.array([[1, 1, 0, 1], [1, 0, 0, 0]], np.int32)
    more = floats(1, 2, 3, 4)
    add = np.where(mask[:, None, None, :] == 0, -10000.0, 0.0) + more
    y = attend(heads(q + bias[:12], 2), heads(k + bias[12:24], 2), heads(v + bias[24:], 2), bias=add)
    case("ms_multi_head", "MultiHeadAttention", [q, k, v, bias, mask, more], [joined(y)], 1, "ms", num_heads=2)
    pk, pv = floats(2, 2, 5, 6), floats(2, 2, 5, 6)
    ak, av = np.concatenate([pk, heads(k, 2)], 2), np.concatenate([pv, heads(v, 2)], 2)
    y = attend(heads(q, 2), ak, av, allowed=causal(3, 9, 5))
    case("ms_multi_head_cache", "MultiHeadAttention", [q, k, v, None, None, None, pk, pv], [joined(y), ak, av], 1, "ms",
         num_heads=2, unidirectional=1)
    x, weights, shift = floats(2, 3, 5), floats(5, 24), floats(24)
    parts = [heads(p, 2) for p in np.split(x @ weights + shift, 3, 2)]
    lengths = np.array([3, 2], np.int32)
    add = np.where(np.arange(3)[None, :] < lengths[:, None], 0.0, -10000.0)[:, None, None, :]
    y = attend(*parts, bias=add, allowed=causal(3, 3, 0))
    case("ms_attention", "Attention", [x, weights, shift, lengths], [joined(y)], 1, "ms", num_heads=2, unidirectional=1)
    past = floats(2, 2, 2, 4, 4)
    ak, av = np.concatenate([past[0], parts[1]], 2), np.concatenate([past[1], parts[2]], 2)
    case("ms_attention_past", "Attention", [x, weights, shift, None, past],
         [joined(attend(parts[0], ak, av)), np.stack([ak, av])], 1, "ms", num_heads=2)
    grouped_query()


def grouped_query():
    angles = rng.uniform(-3, 3, (12, 4))
    cosine, sine = f32(np.cos(angles)), f32(np.sin(angles))
    q, k, v = floats(2, 2, 4 * 8), floats(2, 2, 2 * 8), floats(2, 2, 2 * 8)
    pk, pv = floats(2, 2, 5, 8), floats(2, 2, 5, 8)
    counts = np.array([6, 4], np.int32)  # valid keys less one: pasts of 5 and of 3
    first = counts + 1 - 2
    places = first[:, None] + np.arange(2)[None, :]
    turned = [turn(x.reshape(2, 2, -1, 8), cosine[places], sine[places], False).transpose(0, 2, 1, 3) for x in (q, k)]
    room = [np.concatenate([p, np.zeros((2, 2, 2, 8), np.float32)], 2) for p in (pk, pv)]
    for b in range(2):
        room[0][b, :, first[b]:first[b] + 2] = turned[1][b]
        room[1][b, :, first[b]:first[b] + 2] = heads(v, 2)[b]
    allowed = np.stack([causal(2, 7, f) for f in first])[:, None]
    y = attend(turned[0], *room, allowed=allowed)
    case("ms_grouped_query", "GroupQueryAttention", [q, k, v, pk, pv, counts, np.int32(7), cosine, sine],
         [joined(y), *room], 1, "ms", known=[6], num_heads=4, kv_num_heads=2, do_rotary=1)
    packed = np.concatenate([q, k, v], 2)
    parts = heads(q, 4), heads(k, 2), heads(v, 2)
    near = causal(2, 2, 0) & ~causal(2, 2, -1)
    case("ms_grouped_query_packed", "GroupQueryAttention",
         [packed, None, None, None, None, np.array([1, 1], np.int32), np.int32(2)],
         [joined(attend(*parts, allowed=near)), np.ascontiguousarray(parts[1]), np.ascontiguousarray(parts[2])], 1, "ms",
         known=[6], num_heads=4, kv_num_heads=2, local_window_size=1)


def early_forms():
    """What later forms say by an operand, and softmaxes over all axes from one on."""
    x = floats(2, 3, 4)
    flat = x.reshape(2, 12)
    normal = softmax(flat)
    case("softmax_from_axis", "Softmax", [x], [f32(normal.reshape(x.shape))], 12)
    case("log_softmax_from_axis", "LogSoftmax", [x], [f32(np.log(normal).reshape(x.shape))], 11, axis=-2)
    most = np.zeros((6, 4), np.float32)
    most[np.arange(6), x.reshape(6, 4).argmax(1)] = 1
    case("hardmax_from_axis", "Hardmax", [x], [most.reshape(x.shape)], 11, axis=2)
    case("squeeze_attribute", "Squeeze", [x[:, :1, None]], [x[:, 0]], 12, axes=[1, -2])
    case("unsqueeze_attribute", "Unsqueeze", [x], [x[:, None, :, :, None]], 12, axes=[-1, 1])
    case("split_attribute", "Split", [x], [x[..., :1], x[..., 1:]], 12, axis=-1, split=[1, 3])
    case("reduce_sum_attribute", "ReduceSum", [x], [f32(x.sum((0, 2)))], 12, axes=[0, -1], keepdims=0)
    case("clip_attributes", "Clip", [x], [x.clip(-0.5, 1)], 10, min=-0.5, max=1.0)
    case("clip_attribute", "Clip", [x], [x.clip(max=0.25)], 6, max=0.25)
    case("pad_attributes", "Pad", [x], [np.pad(x[:, 1:], ((0, 1), (0, 0), (2, 0)), constant_values=1.5)], 10,
         pads=[0, -1, 2, 1, 0, 0], value=1.5)
    case("slice_attributes", "Slice", [x], [x[:, 1:, -3:3]], 9, starts=[1, -3], ends=[9, -1], axes=[1, 2])
    case("slice_attributes_all", "Slice", [x], [x[:1, 1:2]], 9, starts=[0, 1], ends=[1, 2])
    order = np.argsort(-x, axis=1, kind="stable")[:, :2]
    best = np.take_along_axis(x, order, 1)
    case("top_k_attribute", "TopK", [x], [best, order], 9, axis=1, k=2)
    case("top_k_operand", "TopK", [x, i64(2)], [best, order], 10, known=[1], axis=1)
    case("arg_max_early", "ArgMax", [x], [x.argmax(1)[:, None]], 11, axis=1)
    case("arg_min_early", "ArgMin", [x], [x.argmin(2)], 8, axis=2, keepdims=0)
    image = floats(1, 4, 4, 6)
    pairs = image.reshape(1, 4, 2, 2, 3, 2)
    case("max_pool_early", "MaxPool", [image], [pairs.max((3, 5))], 8, kernel_shape=[2, 2], strides=[2, 2])
    case("average_pool_early", "AveragePool", [image], [f32(pairs.mean((3, 5)))], 7, kernel_shape=[2, 2], strides=[2, 2])
    deep = image.reshape(1, 2, 2, 1, 4, 6).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 8, 12)
    case("depth_to_space_early", "DepthToSpace", [image], [deep], 1, blocksize=2)
    case("dropout_early", "Dropout", [x], [x], 7, ratio=0.9)


def scatters():
    data, more = floats(4, 3), floats(2, 3)
    places = np.array([[0, -2, 0], [3, 2, 0]], np.int64)
    each, rows = data.copy(), data.copy()
    for i in range(2):
        for k in range(3):
            each[places[i, k], k] *= more[i, k]
        rows[2] *= more[i]
    case("scatter_elements_mul", "ScatterElements", [data, places, more], [each], 18, reduction="mul")
    case("scatter_nd_mul_same", "ScatterND", [data, np.array([[2], [-2]], np.int64), more], [rows], 18, reduction="mul")
    counts = np.array([2, 3, 5, 7], np.int32)
    case("scatter_elements_mul_integers", "ScatterElements", [counts, i64(1, 1, 3), np.array([4, 5, -1], np.int32)],
         [np.array([2, 60, 5, -7], np.int32)], 16, reduction="mul")


def selections():
    """What gives as much as its data says, of data that is known."""
    x = floats(3, 4)
    some = np.array([True, False, True])
    case("compress_axis", "Compress", [x, some], [x[:, [0, 2]]], 11, known=[1], axis=-1)
    case("compress_all", "Compress", [x, some], [x.reshape(-1)[[0, 2]]], 9, known=[1])
    case("compress_nothing", "Compress", [x, ~some & some], [x[:0]], 11, known=[1], axis=0)
    for dtype in (np.int8, np.uint64, np.float16):
        values = np.array([[3, 1, 3, 0], [1, 1, 1, 5], [3, 1, 3, 0]]).astype(dtype)
        values[values == 5] = np.uint64(2**64 - 1) if dtype == np.uint64 else np.int8(-3)
        y, first, which, count = np.unique(values, return_index=True, return_inverse=True, return_counts=True)
        case("unique_" + np.dtype(dtype).name, "Unique", [values], [y, first, which.reshape(-1), count], 11, known=[0])
        y, first, which, count = np.unique(values, axis=1, return_index=True, return_inverse=True, return_counts=True)
        case("unique_columns_" + np.dtype(dtype).name, "Unique", [values], [y, first, which.reshape(-1), count], 11,
             known=[0], axis=-1)
    values = np.array([[2, 2], [1, 3], [2, 2], [0, 1]], np.int32)
    case("unique_rows_in_order", "Unique", [values], [values[[0, 1, 3]], None, i64(0, 1, 0, 2)], 11, known=[0], axis=0,
         sorted=0)
    boxes = f32([[[0, 0, 2, 2], [2, 2, 0, 0.5], [0, 3, 2, 5], [0, 0, 2, 1.9]]])
    scores = f32([[[0.5, 0.9, 0.2, 0.9], [0.1, 0.0, 0.8, 0.3]]])
    case("non_max_suppression", "NonMaxSuppression", [boxes, scores, i64(3), f32(0.5)],
         [np.array([[0, 0, 1], [0, 0, 2], [0, 1, 2], [0, 1, 3]], np.int64)], 11, known=[0, 1, 2, 3])
    case("non_max_suppression_none", "NonMaxSuppression", [boxes, scores], [np.zeros((0, 3), np.int64)], 10,
         known=[0, 1])
    places = np.array([[200, 7, 250], [3, 255, 3]], np.uint8)
    case("arg_min_unsigned", "ArgMin", [places], [places.argmin(1)[:, None]], 13, axis=1)


def grams():
    """Pool: (2) (3), (5, 4) (4, 4); columns 3, 0, 1, 3."""
    pool = dict(pool_int64s=[2, 3, 5, 4, 4, 4], ngram_counts=[0, 2], ngram_indexes=[3, 0, 1, 3], min_gram_length=1,
                max_gram_length=2, max_skip_count=1)
    x = np.array([[2, 5, 4, 4, 2], [5, 3, 4, 4, 4]], np.int64)
    ones, pairs = [(2,), (3,)], [(5, 4), (4, 4)]
    counts = np.zeros((2, 4))
    for row in range(2):
        for i, (token,) in enumerate(ones):
            counts[row, i] = (x[row] == token).sum()
        for i, pair in enumerate(pairs):
            for step in (1, 2):
                counts[row, 2 + i] += sum((x[row, k], x[row, k + step]) == pair for k in range(5 - step))
    weights = [0.5, 2.0, -1.0, 0.25]

    def columns(values):
        y = np.zeros((2, 4), np.float32)
        for i, column in enumerate(pool["ngram_indexes"]):
            y[:, column] += values[:, i]
        return y

    case("tf_idf_counts", "TfIdfVectorizer", [x], [columns(counts)], 9, mode="TF", **pool)
    case("tf_idf_one_row", "TfIdfVectorizer", [x[1].astype(np.int32)], [columns(counts)[1]], 9, mode="TF", **pool)
    case("tf_idf_weights", "TfIdfVectorizer", [x], [columns((counts > 0) * weights)], 9, mode="IDF", weights=weights,
         **pool)
    case("tf_idf_both", "TfIdfVectorizer", [x], [columns(counts * weights)], 9, mode="TFIDF", weights=weights, **pool)


def texts(*values):
    return np.array(values, dtype=object)


def split_texts(x, delimiter=None, most=-1):
    """The parts of each text along a new last axis, filled up with empty ones, and how many each has."""
    parts = [text.split(delimiter, most) for text in x.reshape(-1)]
    width = max(map(len, parts), default=0)
    y = np.array([part + [""] * (width - len(part)) for part in parts], dtype=object)
    return [y.reshape(x.shape + (width,)), np.array([len(part) for part in parts], np.int64).reshape(x.shape)]


def strings():
    labels = texts("cat", "dog", "Grüße", "")
    case("gather_labels", "Gather", [labels, i64(2, 0, -1)], [texts("Grüße", "cat", "")], 13, known=(0,))
    case("gather_known_labels", "Gather", [labels, i64(1)], [texts("dog")], 13, known=(0, 1))
    case("where_strings", "Where", [np.array([True, False]), texts("yes"), texts("no", "never")],
         [texts("yes", "never")], 16)
    case("concat_strings", "Concat", [texts("a", "b"), texts("b")], [texts("a", "b", "b")], 13, axis=0)
    case("reshape_strings", "Reshape", [labels, i64(2, 2)], [labels.reshape(2, 2)], 14, known=(1,))
    case("transpose_strings", "Transpose", [labels.reshape(1, 4)], [labels.reshape(4, 1)], 13)
    case("split_strings_tensor", "Split", [labels], [labels[:2], labels[2:]], 13)
    case("equal_strings", "Equal", [texts("a", "b", "c"), texts("c")], [np.array([False, False, True])], 19)
    case("shape_of_strings", "Shape", [labels.reshape(2, 2)], [i64(2, 2)], 13)
    case("identity_strings", "Identity", [labels], [labels], 14)
    case("constant_string", "Constant", [], [np.array("one", dtype=object)], 13, value_string="one")
    case("constant_strings", "Constant", [], [texts("one", "two")], 13, value_strings=["one", "two"])
    case("cast_int64_to_string", "Cast", [i64(-7, 0, 1 << 60)], [texts("-7", "0", str(1 << 60))], 13, known=(0,), to=8)
    numbers = np.array([0.1, -2.5e-7, 1e22, np.nan, np.inf, -np.inf])
    case("cast_double_to_string", "Cast", [numbers],
         [texts("0.1", "-0.00000025", "1" + "0" * 22, "NaN", "INF", "-INF")], 13, to=8)
    case("cast_float16_to_string", "Cast", [np.array([0.5, -3], np.float16)], [texts("0.5", "-3")], 13, to=8)
    case("cast_string_to_double", "Cast", [texts("0.1", "-1E8", "+1e-5", "nan", "-inf", "+INF", ".5")],
         [np.array([0.1, -1e8, 1e-5, np.nan, -np.inf, np.inf, 0.5])], 13, to=11)
    case("cast_string_to_float16", "Cast", [texts("0.1", "70000")], [np.array([0.1, np.inf], np.float16)], 13, to=10)
    case("cast_string_to_int64", "Cast", [texts("100.5", "-1.9", str(-(1 << 63)), "+12")],
         [i64(100, -1, -(1 << 63), 12)], 13, to=7)
    case("cast_string_to_uint8", "Cast", [texts("255", "-0.5", "2e2")], [np.array([255, 0, 200], np.uint8)], 13, to=2)
    case("cast_like_string_to_int32", "CastLike", [texts("3"), np.zeros(1, np.int32)], [np.array([3], np.int32)], 15)
    case("cast_string_to_string", "Cast", [labels], [labels], 13, to=8)
    words = texts("Monday", "tuesday", "MONDAY")
    case("string_normalizer_insensitive", "StringNormalizer", [words.reshape(1, 3)], [texts("TUESDAY").reshape(1, 1)],
         10, case_change_action="UPPER", stopwords=["monday"])
    case("string_normalizer_nothing_left", "StringNormalizer", [words.reshape(1, 3)], [texts("").reshape(1, 1)], 10,
         stopwords=["monday", "Tuesday"])
    case("string_normalizer_lower", "StringNormalizer", [words], [texts("monday", "tuesday", "monday")], 10,
         case_change_action="LOWER", locale="en_US")
    case("string_normalizer_beyond_ascii", "StringNormalizer", [texts("Grüße", "b")], [texts("Grüße")], 10,
         stopwords=["B"])
    x, y = texts("a", "b", ""), texts(".x", "")
    case("string_concat", "StringConcat", [x, texts("1", "2", "3")], [texts("a1", "b2", "3")], 20)
    case("string_concat_broadcast", "StringConcat", [x.reshape(3, 1), y], [x.reshape(3, 1) + y], 20)
    sentences = texts("hello world", " a  b c ", "", "a,b,,c")
    case("string_split_blanks", "StringSplit", [sentences], split_texts(sentences), 20)
    case("string_split_blanks_at_most", "StringSplit", [sentences], split_texts(sentences, None, 1), 20, maxsplit=1)
    case("string_split_delimiter", "StringSplit", [sentences.reshape(2, 2)], split_texts(sentences.reshape(2, 2), ","),
         20, delimiter=",")
    case("string_split_delimiter_at_most", "StringSplit", [sentences], split_texts(sentences, ",", 2), 20,
         delimiter=",", maxsplit=2)
    case("string_split_long_delimiter", "StringSplit", [sentences], split_texts(sentences, ",b,"), 20, delimiter=",b,")
    case("string_split_nothing", "StringSplit", [texts()], [texts().reshape(0, 0), i64()], 20, delimiter=",")
    pool = dict(pool_strings=["b", "c", "c", "a", "a", "b"], ngram_counts=[0, 2], ngram_indexes=[0, 1, 2, 3],
                min_gram_length=1, max_gram_length=2, max_skip_count=0, mode="TF")
    case("tf_idf_strings", "TfIdfVectorizer", [texts("a", "b", "c", "a", "unseen")], [f32([1, 1, 1, 1])], 9, **pool)


def labels():
    names = texts("Dori", "Amy", "Amy", "Sally")
    case("label_encoder_string_int64", "LabelEncoder", [names], [i64(-1, 5, 5, 6)], 2, "ml",
         keys_strings=["Amy", "Sally"], values_int64s=[5, 6])
    case("label_encoder_string_float", "LabelEncoder", [names.reshape(2, 2)], [f32([[9, 0.5], [0.5, 6]])], 2, "ml",
         keys_strings=["Amy", "Sally"], values_floats=[0.5, 6.0], default_float=9.0)
    case("label_encoder_int64_string", "LabelEncoder", [i64(2, 1, 7)], [texts("b", "a", "_Unused")], 2, "ml",
         keys_int64s=[1, 2], values_strings=["a", "b"])
    case("label_encoder_float_string", "LabelEncoder", [f32([np.nan, 1, 2])], [texts("nothing", "last", "none")], 2,
         "ml", keys_floats=[1.0, np.nan, 1.0], values_strings=["first", "nothing", "last"], default_string="none")
    case("label_encoder_string_string", "LabelEncoder", [names], [texts("?", "A", "A", "S")], 4, "ml",
         keys_strings=["Amy", "Sally"], values_strings=["A", "S"], default_string="?")
    case("label_encoder_tensors", "LabelEncoder", [names], [np.array([42, 0, 0, 1], np.int16)], 4, "ml",
         keys_tensor=texts("Amy", "Sally"), values_tensor=np.array([0, 1], np.int16),
         default_tensor=np.array([42], np.int16))
    case("label_encoder_doubles", "LabelEncoder", [np.array([0.5, 3.0])], [np.array([2.0, -0.0])], 4, "ml",
         keys_tensor=np.array([0.5, np.nan]), values_tensor=np.array([2.0, 4.0]))
    cats = dict(cats_strings=["red", "green"], cats_int64s=[10, 20])
    case("category_mapper_strings", "CategoryMapper", [texts("green", "blue")], [i64(20, -7)], 1, "ml",
         default_int64=-7, **cats)
    case("category_mapper_int64", "CategoryMapper", [i64(10, 30)], [texts("red", "_Unused")], 1, "ml", **cats)
    case("array_feature_extractor_labels", "ArrayFeatureExtractor", [texts("x", "y", "z"), i64(2, 0)],
         [texts("z", "x").reshape(1, 2)], 1, "ml", known=(0,))
    rows = floats(2, 3)
    case("array_feature_extractor_rows", "ArrayFeatureExtractor", [rows, i64(1, 1, 0).reshape(1, 3)],
         [rows[:, [1, 1, 0]]], 1, "ml")


if __name__ == "__main__":
    for part in (elementwise, reductions, windows, shapes, norms, attention, rotary, images, quantised, signals, fused,
                 fused_attention, early_forms, scatters, selections, grams,
                 strings, labels):
        part()
