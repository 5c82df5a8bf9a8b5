// SPDX-License-Identifier: Apache-2.0
// zrt/plan/write_plan.hpp: a compiled plan as a file.
#pragma once

#include <zrt/plan/plan_format.hpp>

#include <concepts>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

namespace detail {

/// Appends integers to a file; keeps the first error.
class PlanWriter {
 public:
  static constexpr bool kReads = false;
  explicit PlanWriter(Allocator allocator) noexcept : bytes_(allocator) {}

  template <std::unsigned_integral T> void number(const T& value) noexcept {
    for (std::size_t i = 0; i < sizeof(T); ++i) put(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i));
  }
  void zeros(std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) put(std::byte{0});
  }
  void raw(Span<const std::byte> bytes) noexcept {
    if (result_) result_ = bytes_.append(bytes);
  }
  void align(std::size_t alignment) noexcept { zeros(align_up(bytes_.size(), alignment) - bytes_.size()); }
  /// Overwrites an integer that was written before.
  template <std::unsigned_integral T> void patch(std::size_t at, T value) noexcept {
    if (!result_) return;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_[at + i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i);
  }
  void refuse(std::string_view) noexcept {}

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] Result<Vector<std::byte>> finish() noexcept {
    if (!result_) return pass(result_);
    return std::move(bytes_);
  }

 private:
  void put(std::byte byte) noexcept {
    if (result_) result_ = bytes_.push_back(byte);
  }
  Vector<std::byte> bytes_;
  Result<void> result_{};
};

inline void write_entry(PlanWriter& w, file::Section section, std::uint32_t alignment, std::size_t begin,
                        std::uint64_t count) noexcept {
  const std::size_t entry = file::kHeaderBytes + static_cast<std::size_t>(section) * file::kEntryBytes;
  w.patch(entry, static_cast<std::uint32_t>(section));
  w.patch(entry + 4, alignment);
  w.patch(entry + 8, static_cast<std::uint64_t>(begin));
  w.patch(entry + 16, count);
  w.patch(entry + 24, static_cast<std::uint64_t>(w.size() - begin));
}

template <class T> void write_section(PlanWriter& w, file::Section section, const Vector<T>& list) noexcept {
  w.align(kSectionAlignment<T>);
  const std::size_t begin = w.size();
  std::uint64_t count = list.size();
  if constexpr (std::is_same_v<T, std::byte>) {
    w.raw(list.span());
  } else {
    for (T item : list) {
      // What `analyse` finds is found again when the file is read.
      if constexpr (std::is_same_v<T, PlanDiagnostic>) {
        if (item.kind == DiagnosticKind::never_read) {
          --count;
          continue;
        }
      }
      walk(w, item);
    }
  }
  write_entry(w, section, kSectionAlignment<T>, begin, count);
}

[[nodiscard]] inline Result<Vector<std::byte>> write_plan(const ExecutionPlan& plan,
                                                          const Vector<PlanDiagnostic>& diagnostics) noexcept {
  PlanWriter w(plan.allocator);
  for (char c : file::kMagic) w.number(static_cast<std::uint8_t>(c));
  w.number(file::kVersion);
  w.number(static_cast<std::uint32_t>(file::kSections));
  w.number(std::uint64_t{0});
  w.zeros(file::kSections * file::kEntryBytes);
  each_section(plan, diagnostics, [&](file::Section section, const auto& list) { write_section(w, section, list); });
  w.align(kSectionAlignment<std::byte>);
  const std::size_t begin = w.size();
  for (const ExecutionPlan& region : plan.regions) {
    const auto bytes = write_plan(region, Vector<PlanDiagnostic>(plan.allocator));
    if (!bytes) return pass(bytes);
    w.align(kSectionAlignment<std::byte>);
    w.raw(bytes->span());
  }
  write_entry(w, file::Section::regions, kSectionAlignment<std::byte>, begin, w.size() - begin);
  w.patch(16, static_cast<std::uint64_t>(w.size()));
  return w.finish();
}

}  // namespace detail

/// Writes a compiled plan as a file; its memory comes from the plan's allocator.
[[nodiscard]] inline Result<Vector<std::byte>> write_plan(const CompiledPlan& compiled) noexcept {
  return detail::write_plan(compiled.plan, compiled.diagnostics);
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
