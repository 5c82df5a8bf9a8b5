# SPDX-License-Identifier: Apache-2.0
"""Processor time in seconds of a quiet machine: a fixed text is compiled beside a unit, and their ratio counts.

The text includes nothing, so that neither zrt nor the standard library changes what it costs.
"""
import os
import pathlib

import measure

FUNCTIONS = 150
# Seconds of the text at -O2 on a 2-core virtual machine (AMD EPYC): the least of a dozen runs beside other work.
QUIET_SECONDS = {"g++": 2.38, "clang++": 1.46}

HEAD = """template <int N> struct Node {
  long values[4];
  Node<N - 1> next;
  long sum(long x) const {
    long s = next.sum(x);
    for (long v : values) s += v * x;
    return s;
  }
};
template <> struct Node<0> {
  long sum(long x) const { return x; }
};
"""


def function(i):
    return f"""struct Item{i} {{
  const unsigned char* bytes;
  unsigned size;
  Node<{i % 60 + 1}> node;
}};
long work{i}(Item{i}& item, const long* in, long* out, long n) {{
  long sum = item.node.sum({i});
  for (long k = 0; k < n; ++k) {{
    if (item.size < {i} + 8) return -1;
    switch (item.bytes[k % item.size]) {{
      case {i % 7}: sum += in[k] * {i + 3}; break;
      case {i % 11 + 9}: sum ^= in[k] >> {i % 13}; break;
      case {i % 5 + 40}: for (long j = 0; j < 16; ++j) out[j] += in[j + k]; break;
      default: sum -= out[k];
    }}
    out[k] = sum;
  }}
  return sum;
}}
"""


def text(functions=FUNCTIONS):
    return HEAD + "".join(function(i) for i in range(functions))


def kind(compiler):
    return "clang++" if "clang" in os.path.basename(compiler) else "g++"


class Clock:
    """Compiles units between two compilations of the text."""

    def __init__(self, compiler, folder, functions=FUNCTIONS):
        self.compiler, self.source = compiler, pathlib.Path(folder) / "calibration.cpp"
        self.source.write_text(text(functions), encoding="utf-8")
        self.quiet = QUIET_SECONDS[kind(compiler)] * functions / FUNCTIONS
        self.last = self.tick()

    def tick(self):
        status, seconds, _, messages = measure.measure(self.compiler, self.source, ["-O2"])
        if status:
            raise SystemExit(messages)
        return seconds

    def measure(self, source, flags):
        """(exit status, seconds of a quiet machine, MB, messages); the slower neighbour counts."""
        status, seconds, memory, messages = measure.measure(self.compiler, source, flags)
        before, self.last = self.last, self.tick()
        return status, seconds / max(before, self.last) * self.quiet, memory, messages
