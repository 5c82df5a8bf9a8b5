// SPDX-License-Identifier: Apache-2.0
// tests/package/debug_containers.cpp: every front door, for a host with the standard library's debug mode.
#include <zrt/backend/cpu.hpp>
#include <zrt/backend/pm4.hpp>
#include <zrt/backend/reference.hpp>
#include <zrt/exec/program_runner.hpp>
#include <zrt/ir/onnx.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>
