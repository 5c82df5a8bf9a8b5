// SPDX-License-Identifier: Apache-2.0
// examples/zrt/markup.cpp: text for pages and pictures.
#include "markup.hpp"

#include <array>
#include <cstdio>

namespace program::drawing {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (byte < 0x20 || byte == 0x7f)
      out += ' ';  // a file's names may hold what no page may
    else
      out += c;
  }
  return out;
}

std::string decimal(double value) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.2f", value);
  std::string out = text.data();
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

std::string grouped(std::uint64_t value) {
  std::string out = std::to_string(value);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, 1, ',');
  return out;
}

std::string element(std::string_view name, const Attributes& attributes, const std::string& inside) {
  std::string out = "<";
  out += name;
  for (const auto& [key, value] : attributes) {
    out += ' ';
    out += key;
    out += "=\"" + escaped(value) + "\"";
  }
  if (inside.empty() && name != "span" && name != "div") return out + "/>";
  out += ">" + inside + "</";
  out += name;
  return out + ">";
}

}  // namespace program::drawing
