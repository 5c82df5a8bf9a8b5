// SPDX-License-Identifier: Apache-2.0
// zrt/zrt.hpp: everything but backends, model families and tokenizers.
#pragma once

#include <zrt/core/error_stream.hpp>
#include <zrt/core/version.hpp>
#include <zrt/engine/engine.hpp>
#include <zrt/ir/builder.hpp>
#include <zrt/model/gguf.hpp>
#include <zrt/plan/compile.hpp>
