#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains in PyTorch what examples/train.cpp trains: same weights to begin with, same batches, same AdamW.

Usage: python3 tests/tools/train_byte_transformer.py TEXT [steps=300] [batch=8] [length=64] [width=64] [heads=4]
       [layers=2] [rate=0.003] [seed=1] [print=50]
Prints the loss of every `print`-th step and at last that on the held-out tenth of the text. Written for PyTorch 1.13.
"""
import sys

import numpy as np
import torch
import torch.nn.functional as F

options = dict(steps=300, batch=8, length=64, width=64, heads=4, layers=2, rate=0.003, seed=1, print=50)
for argument in sys.argv[2:]:
    key, value = argument.split("=")
    options[key] = float(value) if key == "rate" else int(value)
steps, B, T, D, H, L = (options[k] for k in ("steps", "batch", "length", "width", "heads", "layers"))


class Draws:
    """splitmix64."""

    def __init__(self, seed):
        self.state = seed

    def next(self, count):
        with np.errstate(over="ignore"):
            z = np.uint64(self.state) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            self.state = int(z[-1])
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            return z ^ (z >> np.uint64(31))

    def real(self, shape, scale):
        u = (self.next(int(np.prod(shape))) >> np.uint64(40)).astype(np.float32)
        x = (u * np.float32(2.0 ** -23) - np.float32(1)) * np.float32(scale)
        return torch.tensor(x.reshape(shape), requires_grad=True)


draws = Draws(options["seed"])
parameters = []


def parameter(shape, scale):
    parameters.append(draws.real(shape, scale))
    return parameters[-1]


def matrix(rows, cols):
    return parameter((rows, cols), np.float32(1) / np.sqrt(np.float32(rows)))


def norm():
    parameters.append(torch.ones(D, requires_grad=True))
    parameters.append(torch.zeros(D, requires_grad=True))
    return parameters[-2:]


embedding, position = parameter((256, D), 0.1), parameter((T, D), 0.1)
blocks = []
for _ in range(L):
    blocks.append([norm(), matrix(D, D), matrix(D, D), matrix(D, D), matrix(D, D), norm(), matrix(D, 4 * D),
                   matrix(4 * D, D)])
last, head = norm(), matrix(D, 256)
mask = torch.triu(torch.full((T, T), -1e30), 1)


def loss_of(tokens, targets):
    x = embedding[tokens] + position
    for n1, wq, wk, wv, wo, n2, w1, w2 in blocks:
        y = F.layer_norm(x, (D,), *n1)
        q, k, v = ((y @ w).view(-1, T, H, D // H).transpose(1, 2) for w in (wq, wk, wv))
        p = torch.softmax(q @ k.transpose(2, 3) * (D // H) ** -0.5 + mask, -1)
        x = x + (p @ v).transpose(1, 2).reshape(-1, T, D) @ wo
        x = x + F.gelu(F.layer_norm(x, (D,), *n2) @ w1) @ w2
    logits = F.layer_norm(x, (D,), *last) @ head
    return F.cross_entropy(logits.reshape(-1, 256), targets.reshape(-1))


text = np.frombuffer(open(sys.argv[1], "rb").read(), np.uint8).astype(np.int64)
held = len(text) - len(text) // 10
order = Draws(options["seed"] + 1)


def rows(starts):
    windows = np.stack([text[s:s + T + 1] for s in starts])
    return torch.tensor(windows[:, :-1]), torch.tensor(windows[:, 1:])


optimizer = torch.optim.AdamW(parameters, lr=options["rate"], weight_decay=0.01)
for step in range(steps):
    starts = [int(n) for n in order.next(B) % np.uint64(held - T)]
    loss = loss_of(*rows(starts))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % options["print"] == 0 or step + 1 == steps:
        print(f"step {step}: loss {loss.item():.6f}", flush=True)
with torch.no_grad():
    starts = list(range(held, len(text) - T, T))
    starts = starts[:len(starts) // B * B]
    losses = [loss_of(*rows(starts[i:i + B])).item() for i in range(0, len(starts), B)]
print(f"held out: loss {sum(losses) / len(losses):.6f} over {len(losses)} batches")
