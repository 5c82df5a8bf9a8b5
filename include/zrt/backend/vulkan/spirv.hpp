// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/spirv.hpp: a module of SPIR-V as instructions.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::vulkan::spirv {

/// Opcodes of the specification of SPIR-V, section "Instructions".
enum class Code : std::uint16_t {
  undef = 1,
  entry_point = 15,
  execution_mode = 16,
  capability = 17,
  type_float = 22,
  function = 54,
  function_parameter = 55,
  function_end = 56,
  decorate = 71,
  label = 248,
  return_value = 254,
};

inline constexpr std::uint32_t kMagic = 0x07230203;
/// Words before the first instruction; of them the version and the bound of ids.
inline constexpr std::size_t kHeaderWords = 5, kVersion = 1, kBound = 3;

/// One instruction: its opcode, and all of its words.
struct Statement {
  Code op{};
  Span<const std::uint32_t> words{};

  /// Word `i`, counted from 1 behind the opcode; 0 where there is none.
  [[nodiscard]] constexpr std::uint32_t operator[](std::size_t i) const noexcept {
    return i < words.size() ? words[i] : 0;
  }
};

/// The instructions of a module, in order. It ends before one that is longer than what is left.
class Instructions {
 public:
  explicit Instructions(Span<const std::uint32_t> module) noexcept
      : left_(module.size() < kHeaderWords ? Span<const std::uint32_t>{} : module.subspan(kHeaderWords)) {}

  [[nodiscard]] bool next(Statement& to) noexcept {
    const std::size_t size = left_.empty() ? 0 : left_[0] >> 16;
    if (size == 0 || size > left_.size()) return false;
    to = {static_cast<Code>(left_[0] & 0xffffu), left_.first(size)};
    left_ = left_.subspan(size);
    return true;
  }
  /// Whether all words were instructions.
  [[nodiscard]] bool is_whole() const noexcept { return left_.empty(); }

 private:
  Span<const std::uint32_t> left_;
};

/// Errors: Errc::invalid_file for words that are no module.
[[nodiscard]] inline Result<void> check(Span<const std::uint32_t> module, std::string_view kernel) noexcept {
  if (module.size() < kHeaderWords || module[0] != kMagic)
    return fail(Errc::invalid_file, "kernel ", kernel, " is no SPIR-V");
  Instructions all(module);
  for (Statement each; all.next(each);) {
  }
  if (!all.is_whole()) return fail(Errc::invalid_file, "kernel ", kernel, " ends within an instruction");
  return {};
}

/// Appends an instruction. Errors: out_of_memory.
template <std::size_t N>
[[nodiscard]] Result<void> put(Vector<std::uint32_t>& to, Code op,
                               const std::array<std::uint32_t, N>& operands) noexcept {
  if (auto r = to.push_back(static_cast<std::uint32_t>(N + 1) << 16 | static_cast<std::uint32_t>(op)); !r) return r;
  for (const std::uint32_t operand : operands)
    if (auto r = to.push_back(operand); !r) return r;
  return {};
}
[[nodiscard]] inline Result<void> put(Vector<std::uint32_t>& to, Span<const std::uint32_t> words) noexcept {
  for (const std::uint32_t word : words)
    if (auto r = to.push_back(word); !r) return r;
  return {};
}

}  // namespace zrt::inline ZRT_ABI::vulkan::spirv
