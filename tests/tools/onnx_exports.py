#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/onnx: small models that PyTorch exported, and what PyTorch computes with them.

Usage: /usr/bin/python3 tests/tools/onnx_exports.py tests/data/onnx [CASE...]

Needs PyTorch 1.13 (Debian's python3-torch). A case is a folder laid out as the node tests of ONNX are: model.onnx,
and the tensors of test_data_set_0 as messages of the type TensorProto. Each case writes one computation in the way
that some exporter or some model's source does.
"""
import math
import pathlib
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, BATCH, TOKENS, WIDTH, HEADS = 24, 2, 6, 16, 2
HEAD = WIDTH // HEADS
# The smallest block of the graph runtime's log, whose memory tests/unit/transformer_arena.cpp bounds.
TOY = {"BATCH": 1, "TOKENS": 32, "WIDTH": 64, "HEADS": 4, "HEAD": 16}


# --- masks, scores and softmax ---------------------------------------------------------------------

def scores_masked_fill(s):
    mask = torch.tril(torch.ones(TOKENS, TOKENS)).view(1, 1, TOKENS, TOKENS)
    return s.masked_fill(mask[:, :, :s.size(-2), :s.size(-1)] == 0, float("-inf"))


def scores_where_lowest(s):
    mask = torch.tril(torch.ones((TOKENS, TOKENS), dtype=torch.bool)).view(1, 1, TOKENS, TOKENS)
    return torch.where(mask, s, torch.full([], torch.finfo(s.dtype).min))


def scores_triu_added(s):
    return s + torch.triu(torch.full((TOKENS, TOKENS), float("-inf")), diagonal=1)


def scores_gpt2_original(s):
    mask = torch.tril(torch.ones(TOKENS, TOKENS)).view(1, 1, TOKENS, TOKENS)
    return s * mask - 1e10 * (1 - mask)


def scores_logical_not(s):
    hidden = ~torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()
    return s.masked_fill(hidden, torch.finfo(s.dtype).min)


def scores_max_lowest(s):
    """OPT: a mask of the lowest number, lest a sum of two becomes -infinity."""
    mask = torch.triu(torch.full((TOKENS, TOKENS), torch.finfo(s.dtype).min), diagonal=1)
    return torch.max(s + mask, torch.tensor(torch.finfo(s.dtype).min))


def scores_clamp_lowest(s):
    mask = torch.triu(torch.full((TOKENS, TOKENS), float("-inf")), diagonal=1)
    return torch.clamp(s + mask, min=torch.finfo(s.dtype).min)


def scores_all(s):
    return s


def softmax_op(s):
    return F.softmax(s, dim=-1)


def softmax_views(s):
    """OPT: heads put together for the softmax, as they are for its products."""
    return F.softmax(s.view(BATCH * HEADS, TOKENS, TOKENS), dim=-1).view(s.shape)


def softmax_by_hand(s):
    e = torch.exp(s - s.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)


def softmax_amax(s):
    e = (s - s.amax(-1, keepdim=True)).exp()
    return e * (1.0 / e.sum(-1, keepdim=True))


def softmax_float(s):
    """Hugging Face: computed in f32, which these scores are already."""
    return F.softmax(s, dim=-1, dtype=torch.float32).to(s.dtype)


def softmax_type_as(s):
    return F.softmax(s.to(torch.float32), dim=-1).type_as(s)


def attend(q, k, v, mask, softmax, scale="divide"):
    if scale == "divide":
        s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    elif scale == "multiply":
        s = torch.matmul(q, k.transpose(-1, -2)) * (1.0 / math.sqrt(q.size(-1)))
    elif scale == "query":
        s = torch.matmul(q * q.size(-1) ** -0.5, k.transpose(2, 3))
    elif scale == "both":
        root = math.sqrt(math.sqrt(q.size(-1)))
        s = (q / root) @ (k / root).transpose(-2, -1)
    elif scale == "tensor":
        s = torch.matmul(q, k.transpose(-1, -2))
        s = s / torch.full([], k.size(-1) ** 0.5, dtype=s.dtype)
    else:
        s = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.size(-1))
    p = softmax(mask(s))
    return torch.einsum("bhqk,bhkd->bhqd", p, v) if scale == "einsum" else p @ v


# --- activations -----------------------------------------------------------------------------------

def gelu_erf_by_hand(x):
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


def gelu_erf_cdf(x):
    return 0.5 * x * (1.0 + torch.erf(x * 0.7071067811865475))


def gelu_new(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def gelu_fast(x):
    return 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))


def gelu_cubed(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def gelu_op(x):
    return F.gelu(x)


def gelu_op_tanh(x):
    return F.gelu(x, approximate="tanh")


def silu_op(x):
    return F.silu(x)


def silu_sigmoid(x):
    return x * torch.sigmoid(x)


def silu_by_hand(x):
    return x / (1 + torch.exp(-x))


def silu_float(x):
    return F.silu(x.to(torch.float32)).to(x.dtype)


def gelu_float(x):
    return F.gelu(x.float()).type_as(x)


# --- norms -----------------------------------------------------------------------------------------

class LayerNormByHand(nn.Module):
    def __init__(self, width, form):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.form = form

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        if self.form == "pow":
            y = (x - mean) / torch.sqrt((x - mean).pow(2).mean(-1, keepdim=True) + 1e-5)
            return self.weight * y + self.bias
        centred = x - mean
        if self.form == "float":
            centred = x.float() - x.to(torch.float32).mean(-1, keepdim=True)
            return (centred * torch.rsqrt(centred.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight \
                + self.bias
        y = centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)
        return y * self.weight + self.bias


class RmsNorm(nn.Module):
    def __init__(self, width, form):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.form = form

    def forward(self, x):
        if self.form == "pow":
            return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
        if self.form == "sqrt":
            return x / torch.sqrt(torch.mean(x * x, dim=-1, keepdim=True) + 1e-6) * self.weight
        if self.form == "float":
            h = x.to(torch.float32)
            h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
            return self.weight * h.to(x.dtype)
        if self.form == "type_as":
            return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight
        if self.form == "square":
            return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * self.weight
        return x * torch.pow(torch.mean(x ** 2, -1, keepdim=True) + 1e-6, -0.5) * self.weight


def norm_of(kind):
    if kind == "layer":
        return nn.LayerNorm(WIDTH)
    family, form = kind.split("/")
    return LayerNormByHand(WIDTH, form) if family == "layer" else RmsNorm(WIDTH, form)


# --- rotary positions ------------------------------------------------------------------------------

def angles(base=10000.0):
    frequency = 1.0 / base ** (torch.arange(0, HEAD, 2).float() / HEAD)
    return torch.outer(torch.arange(TOKENS).float(), frequency)


class RopeRotateHalf(nn.Module):
    """Hugging Face: tables of both halves, x · cos + rotate_half(x) · sin."""
    def __init__(self):
        super().__init__()
        both = torch.cat((angles(), angles()), dim=-1)
        self.register_buffer("cos", both.cos())
        self.register_buffer("sin", both.sin())

    def forward(self, x):
        x1 = x[..., :x.shape[-1] // 2]
        x2 = x[..., x.shape[-1] // 2:]
        return x * self.cos + torch.cat((-x2, x1), dim=-1) * self.sin


class RopeHalves(nn.Module):
    """Slices of the two halves, each turned, then joined."""
    def __init__(self):
        super().__init__()
        self.register_buffer("cos", angles(500000.0).cos())
        self.register_buffer("sin", angles(500000.0).sin())

    def forward(self, x):
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * self.cos - b * self.sin, b * self.cos + a * self.sin), dim=-1)


class RopePairs(nn.Module):
    """Pairs that lie side by side, stacked again."""
    def __init__(self):
        super().__init__()
        self.register_buffer("cos", angles().cos())
        self.register_buffer("sin", angles().sin())

    def forward(self, x):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * self.cos - b * self.sin, a * self.sin + b * self.cos), dim=-1).flatten(-2)


class RopeReshapedPairs(nn.Module):
    """Llama's own, with real numbers: x as [.., pairs, 2]."""
    def __init__(self):
        super().__init__()
        self.register_buffer("cos", angles().cos())
        self.register_buffer("sin", angles().sin())

    def forward(self, x):
        pairs = x.reshape(*x.shape[:-1], HEAD // 2, 2)
        a, b = pairs.unbind(-1)
        turned = torch.stack((a * self.cos - b * self.sin, b * self.cos + a * self.sin), dim=-1)
        return turned.reshape(x.shape)


class RopePartial(nn.Module):
    """Half of the dims of a head are turned, as GPT-NeoX does."""
    def __init__(self):
        super().__init__()
        frequency = 1.0 / 10000.0 ** (torch.arange(0, HEAD // 2, 2).float() / (HEAD // 2))
        angle = torch.outer(torch.arange(TOKENS).float(), frequency)
        both = torch.cat((angle, angle), dim=-1)
        self.register_buffer("cos", both.cos())
        self.register_buffer("sin", both.sin())

    def forward(self, x):
        turn, rest = x[..., :HEAD // 2], x[..., HEAD // 2:]
        half = torch.cat((-turn[..., HEAD // 4:], turn[..., :HEAD // 4]), dim=-1)
        return torch.cat((turn * self.cos + half * self.sin, rest), dim=-1)


# --- blocks ----------------------------------------------------------------------------------------

class Conv1D(nn.Module):
    """GPT-2's projection: weights [in, out]."""
    def __init__(self, out, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, out) * 0.2)
        self.bias = nn.Parameter(torch.randn(out) * 0.1)

    def forward(self, x):
        y = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return y.view(*x.shape[:-1], self.weight.size(1))


def split_heads(x):
    return x.view(x.size(0), x.size(1), HEADS, HEAD).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).contiguous().view(x.size(0), TOKENS, WIDTH)


class Block(nn.Module):
    def __init__(self, norm="layer", qkv="one", mask=scores_masked_fill, softmax=softmax_op, scale="divide",
                 act=gelu_op, gated=False, rope=None, inner=4 * WIDTH, bias=True):
        super().__init__()
        self.norm_1, self.norm_2 = norm_of(norm), norm_of(norm)
        self.qkv, self.mask, self.softmax, self.scale, self.act, self.gated = qkv, mask, softmax, scale, act, gated
        if qkv == "conv1d":
            self.attention, self.out = Conv1D(3 * WIDTH, WIDTH), Conv1D(WIDTH, WIDTH)
            self.up, self.down = Conv1D(inner, WIDTH), Conv1D(WIDTH, inner)
        else:
            if qkv == "three":
                self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, bias=bias) for _ in range(3))
            else:
                self.attention = nn.Linear(WIDTH, 3 * WIDTH, bias=bias)
            self.out = nn.Linear(WIDTH, WIDTH, bias=bias)
            self.up, self.down = nn.Linear(WIDTH, inner, bias=bias), nn.Linear(inner, WIDTH, bias=bias)
        if gated:
            self.gate = nn.Linear(WIDTH, inner, bias=bias)
        self.rope = rope() if rope else None

    def heads(self, x):
        if self.qkv == "three":
            return [split_heads(part(x)) for part in (self.q, self.k, self.v)]
        y = self.attention(x)
        if self.qkv == "permute":
            return list(y.reshape(x.size(0), TOKENS, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4))
        if self.qkv == "slice":
            return [split_heads(y[..., i * WIDTH:(i + 1) * WIDTH]) for i in range(3)]
        return [split_heads(part) for part in (y.chunk(3, dim=-1) if self.qkv == "chunk" else y.split(WIDTH, dim=2))]

    def forward(self, x):
        q, k, v = self.heads(self.norm_1(x))
        if self.rope:
            q, k = self.rope(q), self.rope(k)
        x = x + self.out(merge_heads(attend(q, k, v, self.mask, self.softmax, self.scale)))
        h = self.norm_2(x)
        h = self.act(self.gate(h)) * self.up(h) if self.gated else self.act(self.up(h))
        return x + self.down(h)


class Decoder(nn.Module):
    """GPT-2: embeddings of tokens and positions, blocks, a last norm, logits by the embedding's matrix."""
    def __init__(self, layers=2, **how):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.ModuleList(Block(**how) for _ in range(layers))
        self.norm = norm_of(how.get("norm", "layer"))

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.size(1)))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)


class Llama(nn.Module):
    def __init__(self, layers=1, **how):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(gated=True, bias=False, inner=24, **how) for _ in range(layers))
        self.norm = norm_of(how["norm"])
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Multihead(nn.Module):
    """The block of the log, by nn.MultiheadAttention."""
    def __init__(self, causal):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS)
        self.causal = causal

    def forward(self, x):
        h = self.norm(x)
        mask = torch.triu(torch.full((TOKENS, TOKENS), float("-inf")), diagonal=1) if self.causal else None
        y, _ = self.attention(h, h, h, attn_mask=mask, need_weights=not self.causal)
        return x + y


class TransformerLayer(nn.Module):
    def __init__(self, act, first):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, 0.0, act, norm_first=first)

    def forward(self, x):
        return self.layer(x)


class Head(nn.Module):
    """Two layers that score classes: an activation without a gate, a softmax that no attention surrounds."""
    def __init__(self, act, softmax):
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, 24), nn.Linear(24, 5)
        self.act, self.softmax = act, softmax

    def forward(self, x):
        return self.softmax(self.second(self.act(self.first(x))))


class Extents(nn.Module):
    """Extents and pads that the exporter computes with nodes."""
    def forward(self, x):
        y = F.pad(x, (1, 2, 3, 0), value=2.0)
        y = torch.index_put(y, (torch.tensor([0, 2]), torch.tensor([1, 3])), torch.tensor([9.0, 8.0]))
        return y.unsqueeze(1).expand(-1, 4, -1)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Conv2d(3, 8, 3, padding=1)
        self.deep = nn.Conv2d(8, 8, 3, stride=2, groups=8, bias=False)
        self.point = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        return self.point(F.relu(self.deep(F.relu(self.wide(x)))))


class Upsampler(nn.Module):
    """A decoder of images: transposed and dilated convolutions."""
    def __init__(self):
        super().__init__()
        self.grow = nn.ConvTranspose2d(4, 6, 4, stride=2, padding=1, output_padding=1, groups=2)
        self.spread = nn.Conv2d(6, 3, 3, padding=2, dilation=2)

    def forward(self, x):
        return self.spread(F.silu(self.grow(x)))


class Convolution1D(nn.Module):
    """The front of a speech encoder."""
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(4, 8, 3, padding=1)
        self.second = nn.Conv1d(8, 8, 3, stride=2, padding=1)

    def forward(self, x):
        return F.gelu(self.second(F.gelu(self.first(x))))


class Convolution3D(nn.Module):
    """The front of a network over video."""
    def __init__(self):
        super().__init__()
        self.first = nn.Conv3d(2, 4, (2, 3, 3), padding=(0, 1, 1), stride=(1, 2, 2))
        self.second = nn.Conv3d(4, 4, 2, groups=2, bias=False)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


class Recurrent(nn.Module):
    """Recurrent layers of every kind, with what they end in."""
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.RNN(3, 4, nonlinearity="relu", bidirectional=True), nn.GRU(8, 4, bias=False),
                                     nn.LSTM(4, 3, bidirectional=True), nn.RNN(6, 3)])

    def forward(self, x):
        ends = []
        for layer in self.layers:
            x, end = layer(x)
            ends += [e.flatten() for e in (end if isinstance(end, tuple) else (end,))]
        return torch.cat([x.flatten()] + ends)


IDS = "ids"
ROWS = (BATCH, TOKENS, WIDTH)
CASES = [
    # GPT-2-shaped decoders.
    ("gpt2_conv1d", 13, IDS, lambda: Decoder(qkv="conv1d", mask=scores_where_lowest, act=gelu_new, scale="tensor")),
    ("gpt2_masked_fill", 17, IDS, lambda: Decoder(qkv="one", mask=scores_masked_fill, act=gelu_op)),
    ("gpt2_triu", 14, IDS, lambda: Decoder(qkv="chunk", mask=scores_triu_added, act=gelu_op_tanh, scale="multiply")),
    ("gpt2_original", 15, IDS, lambda: Decoder(qkv="slice", mask=scores_gpt2_original, act=gelu_fast, scale="query")),
    # The log's block: norm, attention, norm, activation.
    ("block_softmax_by_hand", 13, ROWS, lambda: Block(qkv="three", mask=scores_all, softmax=softmax_by_hand,
                                                      act=F.relu, norm="layer/pow")),
    ("block_softmax_amax", 17, ROWS, lambda: Block(qkv="permute", mask=scores_logical_not, softmax=softmax_amax,
                                                   act=gelu_erf_by_hand, norm="layer/rsqrt", scale="both")),
    ("block_einsum", 14, ROWS, lambda: Block(qkv="three", mask=scores_triu_added, act=gelu_erf_cdf, scale="einsum")),
    ("block_gelu_cubed", 16, ROWS, lambda: Block(qkv="slice", mask=scores_where_lowest, softmax=softmax_by_hand,
                                                 act=gelu_cubed)),
    ("block_max_lowest", 13, ROWS, lambda: Block(qkv="three", mask=scores_max_lowest, scale="query", act=F.relu)),
    ("block_max_views", 16, ROWS, lambda: Block(qkv="three", mask=scores_max_lowest, softmax=softmax_views,
                                                scale="query", act=F.relu)),
    ("block_clamp_lowest", 17, ROWS, lambda: Block(qkv="one", mask=scores_clamp_lowest, act=F.relu)),
    ("block_toy_separate", 14, TOY, lambda: Block(qkv="three", mask=scores_all, act=F.relu, inner=256)),
    ("block_toy_fused", 17, TOY, lambda: Block(qkv="one", mask=scores_all, act=F.relu, inner=256)),
    ("multihead", 14, (TOKENS, BATCH, WIDTH), lambda: Multihead(False)),
    ("multihead_causal", 17, (TOKENS, BATCH, WIDTH), lambda: Multihead(True)),
    ("encoder_relu", 13, (TOKENS, BATCH, WIDTH), lambda: TransformerLayer("relu", False)),
    ("encoder_gelu", 17, (TOKENS, BATCH, WIDTH), lambda: TransformerLayer("gelu", True)),
    # Llama-shaped decoders: RMS norm, rotary positions, a gate.
    ("llama_rotate_half", 13, IDS, lambda: Llama(norm="rms/pow", qkv="three", rope=RopeRotateHalf, act=silu_op,
                                                 mask=scores_triu_added)),
    ("llama_halves", 14, IDS, lambda: Llama(norm="rms/sqrt", qkv="three", rope=RopeHalves, act=silu_sigmoid,
                                            mask=scores_masked_fill)),
    ("llama_pairs", 15, IDS, lambda: Llama(norm="rms/square", qkv="chunk", rope=RopePairs, act=silu_by_hand,
                                           mask=scores_where_lowest)),
    ("llama_reshaped_pairs", 17, IDS, lambda: Llama(norm="rms/power", qkv="three", rope=RopeReshapedPairs,
                                                    act=gelu_op, mask=scores_logical_not)),
    ("llama_partial", 17, IDS, lambda: Llama(norm="rms/pow", qkv="one", rope=RopePartial, act=gelu_op_tanh,
                                             mask=scores_triu_added)),
    ("llama_gelu_by_hand", 16, IDS, lambda: Llama(norm="rms/sqrt", qkv="chunk", rope=RopeRotateHalf,
                                                  act=gelu_erf_by_hand, mask=scores_where_lowest)),
    ("llama_gelu_fast", 13, IDS, lambda: Llama(norm="rms/power", qkv="three", rope=RopePairs, act=gelu_fast,
                                               mask=scores_masked_fill)),
    # Casts to the type that is there, as sources write them that also run in half precision.
    ("llama_casts", 13, IDS, lambda: Llama(norm="rms/float", qkv="three", rope=RopeRotateHalf, act=silu_float,
                                           softmax=softmax_float, mask=scores_triu_added)),
    ("llama_type_as", 17, IDS, lambda: Llama(norm="rms/type_as", qkv="chunk", rope=RopeHalves, act=gelu_float,
                                             softmax=softmax_type_as, mask=scores_where_lowest)),
    ("block_casts", 14, ROWS, lambda: Block(qkv="one", norm="layer/float", act=silu_float, softmax=softmax_float,
                                            mask=scores_masked_fill)),
    # Classes.
    ("head_silu", 17, ROWS, lambda: Head(silu_op, softmax_op)),
    ("head_silu_sigmoid", 14, ROWS, lambda: Head(silu_sigmoid, softmax_amax)),
    ("head_silu_by_hand", 13, ROWS, lambda: Head(silu_by_hand, softmax_by_hand)),
    # Data movement.
    ("extents", 13, (3, 7), Extents),
    # Time steps.
    ("recurrent", 14, (4, 2, 3), Recurrent),
    # Convolutions.
    ("conv_2d", 13, (2, 3, 9, 11), Convolutions),
    ("conv_1d", 17, (2, 4, 16), Convolution1D),
    ("conv_3d", 14, (1, 2, 4, 7, 6), Convolution3D),
    ("conv_transpose", 15, (2, 4, 5, 6), Upsampler),
]


# --- TensorProto, by hand --------------------------------------------------------------------------

def varint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])


def tensor_message(name, tensor):
    kind = {torch.float32: 1, torch.int64: 7}[tensor.dtype]
    dims = b"".join(varint(1 << 3) + varint(d) for d in tensor.shape)
    data = tensor.contiguous().numpy().tobytes()
    return (dims + varint(2 << 3) + varint(kind) + varint(8 << 3 | 2) + varint(len(name)) + name.encode()
            + varint(9 << 3 | 2) + varint(len(data)) + data)


def main():
    folder = pathlib.Path(sys.argv[1])
    warnings.filterwarnings("ignore")
    for name, opset, inputs, make in CASES:
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        torch.manual_seed(sum(name.encode()))
        others = {key: globals()[key] for key in TOY}
        if inputs == TOY:
            globals().update(TOY)
        model = make().eval()
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                if inputs == TOY:
                    # As they begin training, norms are all the same. Other weights are few numbers, and take little room.
                    if "norm" not in key:
                        parameter.copy_(torch.randint(-4, 5, parameter.shape) / 16)
                elif "norm" in key:
                    parameter.add_(torch.randn_like(parameter) * 0.2)
            if inputs == TOY:
                x = torch.randn(BATCH, TOKENS, WIDTH)
            else:
                x = torch.randint(0, VOCABULARY, (BATCH, TOKENS)) if inputs == IDS else torch.randn(inputs)
            y = model(x)
            data = folder / name / "test_data_set_0"
            data.mkdir(parents=True, exist_ok=True)
            torch.onnx.export(model, (x,), str(folder / name / "model.onnx"), opset_version=opset,
                              input_names=["x"], output_names=["y"])
        (data / "input_0.pb").write_bytes(tensor_message("x", x))
        (data / "output_0.pb").write_bytes(tensor_message("y", y))
        globals().update(others)


main()
