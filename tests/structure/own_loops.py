#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CpuBackend computes every op by loops of its own: none of its headers names a reference.

An adapter may use what an op's header says of single elements, of places and of ranges (SHARED); it may not call the op's
`reference`, ask for its `reference_scratch`, include the reference backend, or go through the loops by which references
cast, map, fold and gather elements.

Each adapter says what its loops are (`loops`, cpu::Loops). docs/performance.md names the ops that have no vectors.

    own_loops.py               checks include/zrt/backend/cpu.hpp and cpu/, and docs/performance.md
    own_loops.py --print       prints all ops by what their loops are
    own_loops.py --self-test   checks this script on small sources
"""
import re
import sys

import source

BANNED = {
    r"(?:::|\.|->|&)\s*reference\b\s*[(,;)<]": "calls a reference",
    r"\breference_scratch\b|\bHasReference(?:Scratch)?\b": "asks for a reference's scratch",
    r"#\s*include\s*[<\"]zrt/backend/reference": "includes the reference backend",
    r"\bReferenceBackend\b": "names the reference backend",
    # What references loop by. What these do to one element (a domain's load, a cast's `to_domain`) is shared.
    r"\b(?:cast_elements|map_elements|unpack_as|pack_from|store_accumulated|for_each_cast|read_whole|write_whole|"
    r"for_each_place|copy_strided|copy_value|fill_with|pass_value)\b|\bDotGeneral\s*::\s*contract\b"
    r"|#\s*include\s*[<\"]zrt/core/(?:map_elements|accumulator)\.hpp": "has a loop of the references",
}
# The functions of op headers that adapters call: none of them loops over a tensor's elements.
SHARED = {"Attention::mask_offset", "Clamp::apply", "Compare::apply", "Concat::for_each_box", "Convolve::patches_type",
          "Dequantize::apply", "DotGeneral::infer", "MlaKvWrite::key_dim", "MoeGateTopk::before",
          "DotGeneral::listed", "DynamicUpdateSlice::box", "ElementIndex::of", "ElementwiseBinary::apply",
          "ElementwiseUnary::apply", "FlashAttnVarlen::span_end", "LoraAdd::adapter_of", "Pad::box", "Quantize::apply", "Reduce::reduced", "Requantize::apply",
          "RmsNormFusedRopeKvWrite::norm", "RngNormal::angle", "RngNormal::from_polar", "RngNormal::radius_draw",
          "RngNormal::number64", "RngUniform::number32",
          "RngUniform::number64", "RngUniform::precision", "Sample::check_choice", "SsmDeltaNet::gates_of",
          "SsmDeltaNet::inverse_norm", "SsmDeltaNet::query_scale",
          "SsmGatedNorm::weight_of", "SsmScan::b_of", "SsmScan::x_of", "Take::granule", "sampling::is_forbidden", "sampling::uniform",
          "Whole::of",
          # of no op in particular
          "combine", "domain_bytes", "fold", "identity", "index_at", "keyed", "plus", "random_counter", "random_key", "relative_bucket",
          "rope_frequency", "rope_magnitude", "scatter_scratch"}


def problems(name, code):
    found = [(match.start(), what) for pattern, what in BANNED.items() for match in re.finditer(pattern, code)]
    found += [(match.start(), f"calls ops::{match[1]}, which is not in SHARED")
              for match in re.finditer(r"\bops\s*::\s*(\w+\s*::\s*\w+|[a-z]\w*)\s*(?:<[\w:\s]*>)?\s*\(", code)
              if re.sub(r"\s", "", match[1]) not in SHARED]
    return [f"{name}:{code[:start].count(chr(10)) + 1}: {what}" for start, what in found]


KINDS = ["vector", "typed", "scalar", "control"]
# Those that docs/performance.md lists.
LISTED = ["scalar", "control"]


def loops_of(name, code):
    """({op: kind}, problems) of the adapters in a header."""
    ops = re.findall(r"struct Adapter<ops::(\w+)>\s*\{", code)
    if re.search(r"template <BoxOp O> struct Adapter<O>", code):
        ops += re.findall(r"ops::(\w+)", re.search(r"using BoxOps = ([^;]*);", code).group(1))
    kinds = re.findall(r"static constexpr Loops loops = Loops::(\w+);", code)
    snake = [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", op).lower() for op in ops]
    if not ops:
        return {}, []
    if len(kinds) != 1 or kinds[0] not in KINDS:
        return {}, [f"{name}: an adapter says in one member `loops` what its loops are, found {len(kinds)}"]
    return {op: kinds[0] for op in snake}, []


def table(kinds, rows=KINDS):
    return [f"| {kind} | {', '.join(f'`{op}`' for op in sorted(kinds) if kinds[op] == kind)} |" for kind in rows]


CASES = [  # source, what must be said
    ("O::reference(call, step, worker);", "calls a reference"),
    ("return r.push(&O::reference, c);", "calls a reference"),
    ("using ops::Pad; Pad :: reference (c, step, w);", "calls a reference"),
    ("return O::reference_scratch(call, bounds);", "asks for"),
    ("if constexpr (HasReferenceScratch<O>) {}", "asks for"),
    ("#include <zrt/backend/reference.hpp>", "includes"),
    ("map_elements<T, R>(from, to, y, n, f, x);", "a loop of the references"),
    ("cast_elements (from, x, to, y, 0, n);", "a loop of the references"),
    ("ops::DotGeneral::contract(p, a, b, dtype, y, step, read);", "a loop of the references"),
    ("#include <zrt/core/map_elements.hpp>", "a loop of the references"),
    ("ops::Sample::row(p, logits, draw);", "not in SHARED"),
    ("ops :: sampling::sample (x);", "not in SHARED"),
    ("ops::clear(c.out[0], step);", "not in SHARED"),
    ("ops::widen<double>(x, y);", "not in SHARED"),
    ("ops::read_whole(from, x, 0, n, q);", "a loop of the references"),
    ("y[i] = ops::identity<T>(kind);", None),
    ("y[i] = ops::Clamp::apply(x[i], low, high);", None),
    ("r.push(&gather<4>, c);", None),
    ("copy_box(dtype, from, to, O::box(c, step), step, worker);", None),
    ("const int& reference = x;", None),
]


def self_test():
    said = []
    for number, (code, wanted) in enumerate(CASES):
        got = "\n".join(problems("x.hpp", code))
        if (wanted is None and got) or (wanted is not None and wanted not in got):
            said.append(f"case {number}: expected {wanted!r}, got {got!r}")
    adapter = "template <> struct Adapter<ops::TopK> {\n static constexpr Loops loops = Loops::scalar;\n};"
    if loops_of("x.hpp", adapter) != ({"top_k": "scalar"}, []):
        said.append(f"an adapter is read as {loops_of('x.hpp', adapter)}")
    if not loops_of("x.hpp", adapter.replace("Loops::scalar", "Loops::other"))[1]:
        said.append("an adapter that does not say what its loops are is not seen")
    return said


def check():
    folder = source.INCLUDE / "zrt" / "backend"
    said, kinds = [], {}
    for path in [folder / "cpu.hpp", *sorted((folder / "cpu").rglob("*.hpp"))]:
        name = path.relative_to(source.INCLUDE).as_posix()
        code = source.without_comments(path.read_text(encoding="utf-8"))
        said += problems(name, code)
        found, wrong = loops_of(name, code)
        said += wrong
        kinds.update(found)
    if "--print" in sys.argv:
        print("\n".join(table(kinds)))
    else:
        page = (source.ROOT / "docs" / "performance.md").read_text(encoding="utf-8").splitlines()
        said += [f"docs/performance.md: the list of loops lacks the line {line}" for line in table(kinds, LISTED)
                 if line not in page]
    return said


if __name__ == "__main__":
    sys.exit(source.report(self_test() if "--self-test" in sys.argv else check()))
