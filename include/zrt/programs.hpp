// SPDX-License-Identifier: Apache-2.0
// zrt/programs.hpp: tensor programs from ONNX files and from text, and what runs them.
#pragma once

#include <zrt/exec/onnx_model_members.hpp>
#include <zrt/exec/program_runner.hpp>
#include <zrt/ir/onnx.hpp>
#include <zrt/ir/onnx/targets.hpp>
#include <zrt/ir/ptir/text.hpp>
