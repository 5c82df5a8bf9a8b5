// SPDX-License-Identifier: Apache-2.0
// zrt/zrt.hpp: everything but backends and model families.
#pragma once

#include <zrt/engine/engine.hpp>
#include <zrt/ir/builder.hpp>
#include <zrt/model/gguf.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/text/tokenizer.hpp>
