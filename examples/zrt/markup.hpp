// SPDX-License-Identifier: Apache-2.0
// examples/zrt/markup.hpp: text for pages and pictures: escaping, numbers, elements.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace program::drawing {

/// `text` for the inside of an element or of an attribute.
[[nodiscard]] std::string escaped(std::string_view text);

/// A length: two decimals, without zeros at the end.
[[nodiscard]] std::string decimal(double value);

/// `123456` -> `123,456`.
[[nodiscard]] std::string grouped(std::uint64_t value);

using Attributes = std::vector<std::pair<std::string_view, std::string>>;

/// `<name a="1">inside</name>`; values are escaped, `inside` is markup already.
[[nodiscard]] std::string element(std::string_view name, const Attributes& attributes, const std::string& inside = {});

}  // namespace program::drawing
