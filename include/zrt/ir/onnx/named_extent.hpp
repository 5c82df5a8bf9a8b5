// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/named_extent.hpp: the number that a model's named extent is.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// The number that a named extent of a model's inputs is.
struct NamedExtent {
  std::string_view symbol;
  std::uint32_t extent = 0;
};

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
