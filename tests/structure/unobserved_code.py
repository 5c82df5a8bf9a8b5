#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A replay without an observer is the machine code that it is without observers in the library.

    unobserved_code.py OBJDUMP -- COMPILER FLAGS...

Compiles the step path three times at -O2: as it is; with every call of the watch struck out of host_program.hpp; and
beside a second instance that has an observer. The instructions of the unobserved functions must be the same in all
three, and the observed instance must differ, or this test would compare nothing.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import source

STEP = """
#include <zrt/exec/host_program.hpp>
namespace measured {
using namespace zrt;
bool step(exec::HostProgram& program, const ExecutionContext& context, const ThreadHook& threads,
          const StopPoll& stop) noexcept {
  return program.launch(context, threads, stop);
}
void region(const void* program, const ExecutionContext& context) noexcept {
  exec::HostProgram::run_region(program, context, 3);
}
}
"""
OBSERVED = """
namespace measured {
struct Watcher {
  std::uint64_t* ends;
  Result<void> bind(const exec::ObservedProgram&) noexcept { return {}; }
  void begin_step(const ExecutionContext&) noexcept {}
  void end_step(bool) noexcept {}
  void begin_calls(std::uint32_t) const noexcept {}
  void end_call(const exec::ObservedCall& call) const noexcept { ++ends[call.worker]; }
};
bool observed(exec::HostProgram& program, const ExecutionContext& context, const ThreadHook& threads,
              const StopPoll& stop, Watcher watcher) noexcept {
  return program.launch(context, threads, stop, watcher);
}
}
"""
WATCH = re.compile(r"^\s*(?:watch\.\w+\(.*\);|if \(watch\.\w+\(.*\)\) continue;)\n", re.M)


def functions(objdump, path):
    """{demangled name: instructions} of an object file; what names a place is left out of both."""
    text = subprocess.run([objdump, "-d", "-C", "--no-show-raw-insn", path], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    found = {}
    for head, body in re.findall(r"^[0-9a-f]+ <(.*)>:\n((?:.+\n)*)", text, re.M):
        # Addresses within the function, and the names that targets are given, depend on what else is in the file.
        lines = [re.sub(r"^\s*[0-9a-f]+:\s*", "", line) for line in body.splitlines()]
        code = [re.sub(r"^(j\w+|call|b[.\w]*|bl|cbn?z|tbn?z|adrp?)\b.*", r"\1", re.sub(r"\s*[<#].*|//.*", "", line))
                for line in lines]
        while code and re.match(r"(?:data16 |cs )*(?:nop|xchg\s+%ax,%ax)", code[-1]):
            code.pop()
        found.setdefault(re.sub(r"\s*\[clone.*", "", head), code)
    return found


def main():
    objdump, compiler = sys.argv[1], sys.argv[sys.argv.index("--") + 1:]
    include = source.INCLUDE
    header = include / "zrt/exec/host_program.hpp"
    text = header.read_text(encoding="utf-8")
    struck = WATCH.sub("", text)
    said = []
    if text.count("watch.") < 2 or "watch." in struck:
        said.append(f"{header}: expected calls of the watch, each a line of its own")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "without/zrt/exec").mkdir(parents=True)
        (folder / "without/zrt/exec/host_program.hpp").write_text(struck, encoding="utf-8")

        def compiled(label, code, *extra):
            path = folder / f"{label}.cpp"
            path.write_text(code, encoding="utf-8")
            subprocess.run([*compiler[:1], *extra, *compiler[1:], "-O2", "-DNDEBUG", "-g0", "-Wno-unused-parameter",
                            "-c", path, "-o", folder / f"{label}.o"], check=True)
            return functions(objdump, folder / f"{label}.o")

        plain = compiled("plain", STEP)
        without = compiled("without", STEP, f"-I{folder / 'without'}")
        beside = compiled("beside", STEP + OBSERVED)
    replay = [f for f in plain if "HostProgram" in f or f.startswith("measured::")]
    if len(replay) < 2:
        said.append(f"the step path is expected in the object file, found {sorted(plain)}")
    for function in replay:
        for label, other in (("without any watch", without), ("beside an observed one", beside)):
            if function not in other:
                said.append(f"{function}: is not there {label}")
            elif other[function] != plain[function]:
                said.append(f"{function}: {len(plain[function])} instructions, {len(other[function])} others {label}")
    if not any("Watcher" in f and "HostProgram" in f for f in beside):
        said.append("there is no observed instance to compare with")
    return said


if __name__ == "__main__":
    sys.exit(source.report(main()))
