// SPDX-License-Identifier: Apache-2.0
// examples/zrt/model_shapes.hpp: the shapes that zrt make-model knows by name.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace program {

/// Keys and values of a model. A value that stands in a later text counts instead of the earlier one.
///
/// Texts are words KEY=VALUE. A key is the architecture's unless it begins with "tokenizer." or "general.". A value is
/// 8, 0.5, true, a word, or [1,0,1]. `vocab_size` is the number of tokens. `with` names a tensor that the family can do
/// without and the file has, or the end of such names; `without` says that it has all of those but the ones named.
struct ModelShape {
  std::string_view name;
  std::string_view architecture;
  std::array<std::string_view, 4> texts;
};

/// The shape of that name for that architecture, or null.
[[nodiscard]] const ModelShape* find_shape(std::string_view name, std::string_view architecture);

/// Whether a shape of that name is there for some architecture.
[[nodiscard]] bool is_shape(std::string_view name);

/// The names of shapes, or the architectures that have the shape `name`, each once, with a space before each.
[[nodiscard]] std::string shape_names();
[[nodiscard]] std::string architectures_of(std::string_view name);

}  // namespace program
