#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/npz/product.npz, a deflated archive as numpy makes it: npz_inputs.py FOLDER."""
import sys

import numpy

x = numpy.arange(1, 7, dtype=numpy.float32).reshape(2, 3)
y = numpy.zeros((2, 4), dtype=numpy.float32)
y[:, 3] = 1, 2
numpy.savez_compressed(sys.argv[1] + "/product.npz", x=x, y=y)
