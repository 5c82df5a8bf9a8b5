#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A header includes only from its own folder or from a lower floor.

With --self-test the rule is tried on a made-up tree that breaks it in every way.
"""
import pathlib
import sys
import tempfile

import source

FLOORS = [{"core"}, {"quant"}, {"ops"}, {"ir"}, {"plan"}, {"exec"}, {"model", "text"}, {"serve"},
          {"engine"}]
FLOOR = {folder: number for number, folders in enumerate(FLOORS) for folder in folders}
BACKEND_MAY = {"core", "quant", "ops", "plan", "exec", "device"}
# What recorded devices share; only backends and their models include it.
DEVICE_MAY = {"core", "quant", "ops", "plan", "exec", "device"}
TRACE_MAY = {"core", "quant", "ops", "ir", "plan", "exec", "trace"}
MAY_TRACE = {"serve", "engine"}
# The device model speaks the packets, registers and system calls of the pm4 backend, and nothing includes the model.
EMULATOR_MAY = {"core", "device", "emulator"}
EMULATED = "pm4"
# Headers of compiled engines stand in for a host's source.
COMPILED = "compiled"
SIDES = {"backend", "device", "trace", "emulator", COMPILED}


def place(path):
    """(folder, backend) of `zrt/...`; folder is '' for an umbrella, backend names its folder or
    policy header."""
    parts = path.split("/")[1:]
    if len(parts) == 1:
        return "", None
    if parts[0] == "backend":
        name = parts[1].removesuffix(".hpp")
        return "backend", name
    return parts[0], None


def fault(includer, included):
    """Why `includer` may not include `included`, or None."""
    folder, backend = place(includer)
    to_folder, to_backend = place(included)
    if to_folder and to_folder not in FLOOR and to_folder not in SIDES:
        return f"there is no folder {to_folder} in the floor table"
    if folder == "":
        if to_folder in ("backend", "device", "emulator", COMPILED):
            return f"an umbrella header includes no {to_folder}"
        return None
    if folder == COMPILED:
        return None
    if to_folder == COMPILED:
        return f"{folder or 'an umbrella header'} includes compiled/, which only a host includes"
    if to_folder == "":
        return "only a host includes an umbrella header"
    if folder == "emulator":
        return None if to_folder in EMULATOR_MAY or to_backend == EMULATED else f"emulator/ includes {included}"
    if to_folder == "emulator":
        return f"{folder}/ includes emulator/, which only a host includes"
    if folder == "backend":
        if to_folder == "backend":
            return None if backend == to_backend else f"backend {backend} includes backend {to_backend}"
        return None if to_folder in BACKEND_MAY else f"a backend includes {to_folder}/"
    if folder == "device":
        return None if to_folder in DEVICE_MAY else f"device/ includes {to_folder}/"
    if folder == "trace":
        return None if to_folder in TRACE_MAY else f"trace/ includes {to_folder}/"
    if folder not in FLOOR:
        return f"there is no folder {folder} in the floor table"
    if to_folder == "backend":
        return f"{folder}/ includes a backend"
    if to_folder == "device":
        return f"{folder}/ includes device/, which only backends include"
    if to_folder == "trace":
        return None if folder in MAY_TRACE else f"{folder}/ includes trace/"
    if folder == to_folder or FLOOR[to_folder] < FLOOR[folder]:
        return None
    return f"{folder}/ (floor {FLOOR[folder]}) includes {to_folder}/ (floor {FLOOR[to_folder]})"


def problems(include):
    found = []
    for header in source.headers(include):
        name = header.relative_to(include).as_posix()
        folder, _ = place(name)
        if folder and folder not in FLOOR and folder not in SIDES:
            found.append(f"{name}: there is no folder {folder} in the floor table")
            continue
        for line, included, angled in source.includes(header.read_text(encoding="utf-8")):
            if not angled:
                found.append(f"{name}:{line}: write <{included}> with its path from include/")
                continue
            if not included.startswith("zrt/"):
                continue
            if not (include / included).is_file():
                found.append(f"{name}:{line}: <{included}> does not exist")
                continue
            why = fault(name, included)
            if why:
                found.append(f"{name}:{line}: {why}: <{included}>")
    return found


def self_test():
    good = {
        "zrt.hpp": ["engine/engine.hpp", "core/a.hpp"],
        "models.hpp": ["model/a.hpp", "text/a.hpp"],
        "core/a.hpp": ["core/b.hpp"], "core/b.hpp": [],
        "model/a.hpp": ["exec/a.hpp"], "text/a.hpp": ["core/a.hpp"],
        "exec/a.hpp": ["core/a.hpp"], "ir/a.hpp": ["core/a.hpp"],
        "engine/engine.hpp": ["model/a.hpp", "trace/a.hpp"], "trace/a.hpp": ["exec/a.hpp"],
        "backend/cpu.hpp": ["backend/cpu/a.hpp", "exec/a.hpp"],
        "backend/cpu/a.hpp": ["backend/cpu.hpp", "core/a.hpp"],
        "backend/pm4.hpp": ["backend/pm4/a.hpp", "device/a.hpp"], "backend/pm4/a.hpp": ["core/a.hpp", "device/b/a.hpp"],
        "device/a.hpp": ["device/b/a.hpp", "exec/a.hpp"], "device/b/a.hpp": ["core/a.hpp"],
        "emulator/a.hpp": ["backend/pm4.hpp", "backend/pm4/a.hpp", "emulator/b.hpp", "device/a.hpp"], "emulator/b.hpp": ["core/a.hpp"],
        "compiled/a.hpp": ["zrt.hpp", "backend/cpu.hpp", "engine/engine.hpp"],
    }
    bad = [
        ("core/x.hpp", "exec/a.hpp"), ("model/x.hpp", "text/a.hpp"), ("text/x.hpp", "model/a.hpp"),
        ("exec/x.hpp", "engine/engine.hpp"), ("backend/cpu/x.hpp", "model/a.hpp"),
        ("backend/cpu/x.hpp", "ir/a.hpp"), ("backend/cpu/x.hpp", "backend/pm4.hpp"),
        ("backend/pm4/x.hpp", "backend/cpu/a.hpp"), ("engine/x.hpp", "backend/cpu.hpp"),
        ("zrt_all.hpp", "backend/cpu.hpp"), ("core/x.hpp", "zrt.hpp"), ("exec/x.hpp", "trace/a.hpp"),
        ("trace/x.hpp", "engine/engine.hpp"), ("core/x.hpp", "core/missing.hpp"),
        ("backend/pm4/x.hpp", "emulator/a.hpp"), ("emulator/x.hpp", "backend/cpu/a.hpp"),
        ("emulator/x.hpp", "exec/a.hpp"), ("engine/x.hpp", "emulator/a.hpp"), ("zrt_all.hpp", "emulator/a.hpp"),
        ("device/x.hpp", "backend/pm4/a.hpp"), ("device/x.hpp", "model/a.hpp"), ("device/x.hpp", "ir/a.hpp"),
        ("exec/x.hpp", "device/a.hpp"), ("engine/x.hpp", "device/a.hpp"), ("trace/x.hpp", "device/a.hpp"),
        ("zrt_all.hpp", "device/a.hpp"), ("attic/x.hpp", "core/a.hpp"), ("engine/x.hpp", "compiled/a.hpp"), ("zrt_all.hpp", "compiled/a.hpp"),
    ]
    failures = []

    def tree(extra=None):
        with tempfile.TemporaryDirectory() as name:
            include = pathlib.Path(name)
            files = {**good, **({extra[0]: [extra[1]]} if extra else {})}
            for path, included in files.items():
                target = include / "zrt" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text("// #include <zrt/commented/out.hpp>\n" +
                                  "".join(f"#include <zrt/{i}>\n" for i in included))
            return problems(include)

    for problem in tree():
        failures.append(f"the good tree is refused: {problem}")
    for extra in bad:
        said = tree(extra)
        if not any(p.startswith("zrt/" + extra[0]) for p in said):
            failures.append(f"{extra[0]} may include {extra[1]}, which it must not")
    return failures


if __name__ == "__main__":
    sys.exit(source.report(self_test() if "--self-test" in sys.argv else problems(source.INCLUDE)))
