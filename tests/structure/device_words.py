#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The device room (include/zrt/device) speaks of no maker, driver or interface of devices: it serves them all.

With --self-test the rule is tried on texts that break it and on one that keeps it.
"""
import re
import sys

import source

OF_ONE_DEVICE = re.compile(
    r"amd|\bati\b|radeon|rdna|gfx|pm4|\bkfd\b|\bumq\b|packet|doorbell|\bwaves?\b|wavefront|\bbar\b|"
    r"vulkan|\bvk|spir|glsl|cuda|nvidia|\bptx\b|\bwarps?\b|intel|metal|opencl", re.IGNORECASE)


def problems_of(name, text):
    return [f"{name}:{number}: the device room names one kind of device: {match[0]}"
            for number, line in enumerate(text.splitlines(), 1) for match in OF_ONE_DEVICE.finditer(line)]


def problems():
    found = []
    for header in source.headers():
        name = header.relative_to(source.INCLUDE).as_posix()
        if name.startswith("zrt/device/"):
            found += problems_of(name, header.read_text(encoding="utf-8"))
    return found


def self_test():
    failures = [f"this is refused: {p}" for p in problems_of("a", "a queue, its barriers and an interval")]
    for bad in ("#include <zrt/backend/pm4/a.hpp>", "// a wave of 32", "// VkBuffer", "CUDA", "// a doorbell", "gfx1201"):
        if not problems_of("a", bad):
            failures.append(f"this passes: {bad}")
    return failures


if __name__ == "__main__":
    sys.exit(source.report(self_test() if "--self-test" in sys.argv else problems()))
