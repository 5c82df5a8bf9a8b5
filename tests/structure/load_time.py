#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What runs when a model opens is compiled for size, and what runs in a step or for a prompt is not.

Every header of model/, plan/ and ir/ stands between ZRT_LOAD_TIME_BEGIN and ZRT_LOAD_TIME_END, but for kernels of ONNX
operators, which run in a step. No header of the folders in STEP has such a region, nor those of RUNS_IN_A_STEP, which
steps call in loops.

    load_time.py               checks include/zrt
    load_time.py --self-test   checks this script on small headers
"""
import pathlib
import re
import sys
import tempfile

import source

LOAD = ("model", "plan", "ir")
STEP = ("quant", "serve", "backend/cpu", "emulator", "text")
RUNS_IN_A_STEP = re.compile(
    r"ir/onnx/(kernels_\w+|scalar_math)\.hpp|core/(span|string|vector)\.hpp|"
    r"exec/(batch|check_pages|executor|host_program|shares|thread_pool)\.hpp|engine/(delivery|engine_core|evaluation)\.hpp")


def problems(include):
    for path in source.headers(include):
        name = path.relative_to(include / "zrt").as_posix()
        text = source.without_comments(path.read_text(encoding="utf-8"), strings=False)
        if not re.search(r"^namespace ", text, re.M) or source.is_fragment(path):
            continue
        marks = re.findall(r"^ZRT_LOAD_TIME_(BEGIN|END)$", text, re.M)
        loads = name.startswith(tuple(f"{folder}/" for folder in LOAD)) and not RUNS_IN_A_STEP.fullmatch(name)
        steps = name.startswith(tuple(f"{folder}/" for folder in STEP)) or RUNS_IN_A_STEP.fullmatch(name)
        if loads and marks != ["BEGIN", "END"]:
            yield f"{name}: runs when a model opens, but does not stand in one region of ZRT_LOAD_TIME_BEGIN"
        if steps and marks:
            yield f"{name}: runs in a step or for a prompt, but is compiled for size"


def self_test():
    body = "namespace zrt {\n}\n"
    region = "ZRT_LOAD_TIME_BEGIN\n" + body + "ZRT_LOAD_TIME_END\n"
    headers = {"model/good.hpp": region, "model/bad.hpp": body, "plan/open.hpp": "ZRT_LOAD_TIME_BEGIN\n" + body,
               "ir/onnx/kernels_x.hpp": body, "model/all.hpp": "#include <zrt/model/good.hpp>\n",
               "serve/good.hpp": body, "backend/cpu/bad.hpp": region, "exec/check_pages.hpp": region, "engine/either.hpp": region}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in headers.items():
            path = pathlib.Path(folder) / "zrt" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = {problem.split(":")[0] for problem in problems(pathlib.Path(folder))}
    expected = {"model/bad.hpp", "plan/open.hpp", "backend/cpu/bad.hpp", "exec/check_pages.hpp"}
    return source.report([] if found == expected else [f"found {sorted(found)}, expected {sorted(expected)}"])


if __name__ == "__main__":
    sys.exit(self_test() if "--self-test" in sys.argv[1:] else source.report(list(problems(source.INCLUDE))))
