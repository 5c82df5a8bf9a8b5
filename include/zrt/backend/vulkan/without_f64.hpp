// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/without_f64.hpp: a kernel for a device that has no numbers of 64 bits.
#pragma once

#include <zrt/backend/vulkan/spirv.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

namespace detail {

/// Which ids go with the type of 64-bit floats, and which functions are emptied.
class F64Ids {
 public:
  F64Ids(Span<const std::uint32_t> module, const Allocator& allocator) noexcept
      : module_(module), gone_(allocator), emptied_(allocator) {}

  /// Errors: out_of_memory; Errc::invalid_file for an id that is none.
  [[nodiscard]] Result<void> find(std::string_view kernel) noexcept {
    const std::uint32_t bound = module_[spirv::kBound];
    // No module of so many words defines more ids.
    if (bound > module_.size()) return fail(Errc::invalid_file, "kernel ", kernel, " has too many ids");
    if (auto r = gone_.resize(bound); !r) return r;
    if (auto r = emptied_.resize(bound); !r) return r;
    std::uint32_t function = 0;
    bool has_label = false;
    spirv::Instructions all(module_);
    for (spirv::Statement each; all.next(each);) {
      if (each.op == spirv::Code::function) {
        function = each[2];
        has_label = false;
      } else if (each.op == spirv::Code::function_end) {
        function = 0;
      } else if (function == 0) {
        if (is_type(each) && names_gone(each)) mark(each[result_of(each)]);
      } else if (each.op == spirv::Code::label && !has_label) {
        has_label = true;
      } else if (names_gone(each) && function < bound) {
        emptied_[function] = 1;
      }
    }
    return mark_bodies();
  }

  [[nodiscard]] bool any() const noexcept { return f64_ != 0; }
  [[nodiscard]] bool is_gone(std::uint32_t id) const noexcept { return id < gone_.size() && gone_[id] != 0; }
  [[nodiscard]] bool is_emptied(std::uint32_t function) const noexcept {
    return function < emptied_.size() && emptied_[function] != 0;
  }
  /// Types and constants name their result first or second.
  [[nodiscard]] static constexpr std::size_t result_of(const spirv::Statement& each) noexcept {
    return is_constant(each) ? 2 : 1;
  }
  [[nodiscard]] static constexpr bool is_type(const spirv::Statement& each) noexcept {
    const auto op = static_cast<unsigned>(each.op);
    return (op >= 19 && op <= 33) || is_constant(each);
  }

 private:
  [[nodiscard]] static constexpr bool is_constant(const spirv::Statement& each) noexcept {
    const auto op = static_cast<unsigned>(each.op);
    return (op >= 41 && op <= 52) || op == 1 || op == 59;
  }
  void mark(std::uint32_t id) noexcept {
    if (id < gone_.size()) gone_[id] = 1;
  }
  [[nodiscard]] bool names_gone(const spirv::Statement& each) noexcept {
    if (each.op == spirv::Code::type_float && each[2] == 64) {
      f64_ = each[1];
      mark(f64_);
      return true;
    }
    // Of an instruction whose type has gone the result has; literals among the other words name no type.
    const auto op = static_cast<unsigned>(each.op);
    if (op == 32) return is_gone(each[3]);
    if (op == 23) return is_gone(each[2]);
    if (op == 33) {
      for (std::size_t i = 2; i < each.words.size(); ++i)
        if (is_gone(each[i])) return true;
    }
    if (op >= 19 && op <= 33) return false;
    return is_gone(each[1]);
  }
  /// Everything that an emptied function defines behind its first label goes.
  [[nodiscard]] Result<void> mark_bodies() noexcept {
    bool within = false, has_label = false;
    spirv::Instructions all(module_);
    for (spirv::Statement each; all.next(each);) {
      if (each.op == spirv::Code::function) {
        within = is_emptied(each[2]);
        has_label = false;
      } else if (each.op == spirv::Code::label) {
        if (within && has_label) mark(each[1]);
        has_label = true;
      } else if (within && has_label && each.words.size() > 2 && each.op != spirv::Code::function_end &&
                 has_result(each)) {
        mark(each[2]);
      }
    }
    return {};
  }
  /// Of what functions hold, all but stores, merges and branches has a type and a result.
  [[nodiscard]] static constexpr bool has_result(const spirv::Statement& each) noexcept {
    const auto op = static_cast<unsigned>(each.op);
    return op != 62 && op != 63 && op != 246 && op != 247 && (op < 249 || op > 255);
  }

  Span<const std::uint32_t> module_;
  Vector<std::uint8_t> gone_, emptied_;
  std::uint32_t f64_ = 0;
};

}  // namespace detail

/// The module with no type of 64-bit floats: functions with a number of one in them return nothing in particular. Kernels
/// call these only where a specialisation constant asks for it; see kernels/vulkan/arithmetic.glsl.
///
/// Errors: Errc::invalid_file for words that are no module, or for a function with such numbers that is the kernel's own;
/// out_of_memory.
[[nodiscard]] inline Result<Vector<std::uint32_t>> without_f64(Span<const std::uint32_t> module,
                                                               std::string_view kernel,
                                                               const Allocator& allocator) noexcept {
  constexpr std::uint32_t kFloat64 = 10;
  if (auto r = spirv::check(module, kernel); !r) return pass(r);
  detail::F64Ids ids(module, allocator);
  if (auto r = ids.find(kernel); !r) return pass(r);
  Vector<std::uint32_t> to(allocator);
  if (auto r = to.reserve(module.size()); !r) return pass(r);
  if (auto r = spirv::put(to, module.first(spirv::kHeaderWords)); !r) return pass(r);
  std::uint32_t entry = 0, returned = 0;
  bool emptied = false, has_label = false;
  spirv::Instructions all(module);
  for (spirv::Statement each; all.next(each);) {
    if (each.op == spirv::Code::entry_point) entry = each[2];
    if (each.op == spirv::Code::capability && each[1] == kFloat64) continue;
    if (each.op == spirv::Code::decorate && ids.is_gone(each[1])) continue;
    if (each.op == spirv::Code::function) {
      emptied = ids.is_emptied(each[2]);
      has_label = false;
      if (ids.is_gone(each[1]) || ids.is_gone(each[4]))
        return fail(Errc::invalid_file, "kernel ", kernel, " passes 64-bit numbers between functions");
      if (emptied && each[2] == entry)
        return fail(Errc::invalid_file, "kernel ", kernel, " has 64-bit numbers of its own");
      if (emptied) returned = each[1];
    }
    if (each.op == spirv::Code::label && emptied && !has_label) {
      has_label = true;
      const std::uint32_t value = to[spirv::kBound]++;
      if (auto r = spirv::put(to, each.words); !r) return pass(r);
      if (auto r = spirv::put(to, spirv::Code::undef, std::array{returned, value}); !r) return pass(r);
      if (auto r = spirv::put(to, spirv::Code::return_value, std::array{value}); !r) return pass(r);
      continue;
    }
    if (emptied && has_label && each.op != spirv::Code::function_end) continue;
    if (detail::F64Ids::is_type(each) && ids.is_gone(each[detail::F64Ids::result_of(each)])) continue;
    if (auto r = spirv::put(to, each.words); !r) return pass(r);
    if (each.op == spirv::Code::function_end) emptied = has_label = false;
  }
  return to;
}

}  // namespace zrt::inline ZRT_ABI::vulkan
