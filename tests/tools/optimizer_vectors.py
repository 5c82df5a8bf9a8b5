#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what PyTorch's optimizers make of three numbers in five steps, for tests/unit/optimizer.cpp.

Usage: python3 tests/tools/optimizer_vectors.py
The loss is sum(p^4) / 4 - sum(p); written with PyTorch 1.13.0.
"""
import torch

O = torch.optim
CASES = [
    ("sgd", lambda p: O.SGD(p, lr=0.01)),
    ("sgd, decay", lambda p: O.SGD(p, lr=0.01, weight_decay=0.1)),
    ("sgd, momentum", lambda p: O.SGD(p, lr=0.01, momentum=0.9, weight_decay=0.1)),
    ("sgd, nesterov", lambda p: O.SGD(p, lr=0.01, momentum=0.9, nesterov=True)),
    ("adam", lambda p: O.Adam(p, lr=0.05)),
    ("adam, decay", lambda p: O.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1)),
    ("adamw", lambda p: O.AdamW(p, lr=0.05, weight_decay=0.1)),
]
for name, make in CASES:
    p = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64, requires_grad=True)
    optimizer = make([p])
    for _ in range(5):
        optimizer.zero_grad()
        ((p ** 4).sum() / 4 - p.sum()).backward()
        optimizer.step()
    print(f'{{"{name}", {{{", ".join(f"{x:.17g}" for x in p.tolist())}}}}},')
