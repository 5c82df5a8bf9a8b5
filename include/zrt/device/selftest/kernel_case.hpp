// SPDX-License-Identifier: Apache-2.0
// zrt/device/selftest/kernel_case.hpp: one launch of a kernel on small operands, and what it must leave.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/core/dtype.hpp>
#include <zrt/core/name.hpp>

#include <array>
#include <bit>
#include <cstring>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::device {

/// A buffer of a launch: absent, read, held to what it should have afterwards, or a workspace.
struct CaseBuffer {
  Span<const std::byte> before{};
  Span<const std::byte> after{};
  DType dtype = DType::ui8;  ///< of its elements, where these are floats or signed bytes
  bool is_workspace = false;

  [[nodiscard]] constexpr bool is_written() const noexcept { return is_workspace || !after.empty(); }
};

/// A launch by the kernel's name: its buffers and values in the order of its arguments (docs/kernel-abi.md). What it
/// shows is good while it is visited.
class KernelCase {
 public:
  static constexpr std::size_t kMostBuffers = 12, kMostValues = 12;

  explicit KernelCase(const Name& kernel, const std::array<std::uint32_t, 3>& grid = {1, 1, 1}) noexcept
      : kernel_(kernel), grid_(grid) {}

  template <class T> KernelCase& reads(Span<T> values) noexcept { return add({as_bytes(values), {}}); }
  template <class T> KernelCase& becomes(Span<T> before, Span<T> after) noexcept {
    using Element = std::remove_const_t<T>;
    return becomes(as_bytes(before), as_bytes(after),
                   std::is_same_v<Element, float>         ? DType::f32
                   : std::is_same_v<Element, std::int8_t> ? DType::si8
                                                          : DType::ui8);
  }
  KernelCase& becomes(Span<const std::byte> before, Span<const std::byte> after, DType dtype) noexcept {
    return add({before, after, dtype});
  }
  /// Written to, whatever is left there.
  template <class T> KernelCase& works_in(Span<T> values) noexcept {
    return add({as_bytes(values), {}, DType::ui8, true});
  }
  KernelCase& absent() noexcept { return add({}); }
  KernelCase& value(std::uint32_t word) noexcept {
    ZRT_ASSERT(value_count_ < kMostValues);
    values_[value_count_++] = word;
    return *this;
  }
  KernelCase& value(float number) noexcept { return value(std::bit_cast<std::uint32_t>(number)); }

  [[nodiscard]] std::string_view kernel_name() const noexcept { return kernel_.view(); }
  [[nodiscard]] Span<const CaseBuffer> buffers() const noexcept {
    return Span<const CaseBuffer>(buffers_).first(buffer_count_);
  }
  [[nodiscard]] Span<const std::uint32_t> values() const noexcept {
    return Span<const std::uint32_t>(values_).first(value_count_);
  }
  [[nodiscard]] const std::array<std::uint32_t, 3>& grid() const noexcept { return grid_; }

 private:
  KernelCase& add(const CaseBuffer& buffer) noexcept {
    ZRT_ASSERT(buffer_count_ < kMostBuffers);
    buffers_[buffer_count_++] = buffer;
    return *this;
  }

  Name kernel_;
  std::array<CaseBuffer, kMostBuffers> buffers_{};
  std::array<std::uint32_t, kMostValues> values_{};
  std::array<std::uint32_t, 3> grid_;
  std::size_t buffer_count_ = 0;
  std::size_t value_count_ = 0;
};

/// Who looks at one case after the other.
struct CaseVisitor {
  void* context = nullptr;
  Result<void> (*visit)(void* context, const KernelCase& kernel_case) noexcept = nullptr;

  [[nodiscard]] Result<void> operator()(const KernelCase& c) const noexcept { return visit(context, c); }
};

/// The operands of cases: memory that is handed out from front to back, and random numbers that are the same each time.
class CaseData {
 public:
  // The largest case, a matrix of F32 with its parts and its results, takes 150 KiB.
  static constexpr std::size_t kBytes = std::size_t{512} << 10;

  /// Errors: Errc::out_of_memory.
  [[nodiscard]] static Result<CaseData> make(const Allocator& allocator) noexcept {
    auto memory = Buffer::zeroed(allocator, kBytes);
    if (!memory) return pass(memory);
    return CaseData(std::move(*memory));
  }

  /// Takes back all that was handed out.
  void clear() noexcept { used_ = 0; }

  /// So many elements, all 0.
  template <class T> [[nodiscard]] Span<T> zeros(std::size_t count) noexcept {
    const std::size_t bytes = (count * sizeof(T) + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
    // Every case is made of constants: one that does not fit fails the first test that visits it.
    ZRT_ASSERT(bytes <= kBytes - used_);
    std::byte* const at = memory_.data() + used_;
    used_ += bytes;
    std::memset(at, 0, bytes);
    return {reinterpret_cast<T*>(at), count};
  }
  template <class T> [[nodiscard]] Span<T> copy(Span<const T> values) noexcept {
    const Span<T> copied = zeros<T>(values.size());
    std::memcpy(copied.data(), values.data(), values.size() * sizeof(T));
    return copied;
  }
  template <class T, std::size_t N> [[nodiscard]] Span<T> copy(const std::array<T, N>& values) noexcept {
    return copy(Span<const T>(values));
  }
  /// What a kernel overwrites, so that a launch that does nothing is found out.
  template <class T> [[nodiscard]] Span<T> unwritten(Span<T> like) noexcept {
    const Span<T> to = zeros<T>(like.size());
    std::memset(static_cast<void*>(to.data()), 0xee, to.size() * sizeof(T));
    return to;
  }
  /// Numbers between -scale and scale.
  [[nodiscard]] Span<float> reals(std::size_t count, float scale = 1.0f) noexcept {
    const Span<float> values = zeros<float>(count);
    for (float& v : values) v = scale * (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f);
    return values;
  }
  /// 32 random bits (SplitMix64).
  [[nodiscard]] std::uint32_t random() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<std::uint32_t>((z ^ z >> 31) >> 32);
  }

 private:
  explicit CaseData(Buffer memory) noexcept : memory_(std::move(memory)) {}

  Buffer memory_;
  std::size_t used_ = 0;
  std::uint64_t state_ = 1;
};

}  // namespace zrt::inline ZRT_ABI::device

ZRT_LOAD_TIME_END
