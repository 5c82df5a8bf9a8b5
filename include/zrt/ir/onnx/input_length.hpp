// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/input_length.hpp: how many tensors an input holds that is no tensor.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// How many tensors an input holds that is a sequence, or that an optional input is not there.
struct InputLength {
  std::string_view name;
  std::uint32_t tensors = 0;  ///< of a sequence; its tensors become inputs `name[0]`, `name[1]`, ...
  bool absent = false;        ///< of an optional input, which is there otherwise
};

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
