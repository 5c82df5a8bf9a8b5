// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/typed_runs.hpp: runs of elements as values of their domain, and from one type to another.
#pragma once

#include <zrt/core/cast.hpp>

#include <bit>
#include <cstring>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::cpu {

/// Elements that a typed loop holds at a time, on the stack. Even, so that a run of 4-bit elements begins at a byte.
inline constexpr std::uint64_t kTypedRun = 128;

/// Whether elements of `dtype` lie in memory as values of T do.
template <DomainValue T> [[nodiscard]] constexpr bool lies_as(DType dtype) noexcept {
  constexpr DType kPlain = std::same_as<T, float>          ? DType::f32
                           : std::same_as<T, double>       ? DType::f64
                           : std::same_as<T, std::int64_t> ? DType::si64
                                                           : DType::ui64;
  return dtype == kPlain && std::endian::native == std::endian::little;
}

/// A tensor's elements, run by run: where they lie, or in `room` if they are of another form than values of T.
template <DomainValue T> class RunsOf {
 public:
  RunsOf(const ElementFunctions<T>& type, DType dtype, const std::byte* data) noexcept
      : type_(&type),
        data_(data),
        plain_(lies_as<T>(dtype) && reinterpret_cast<std::uintptr_t>(data) % alignof(T) == 0) {}
  RunsOf(DType dtype, const std::byte* data) noexcept : RunsOf(element_functions<T>(dtype), dtype, data) {}

  /// Elements [first, first + count); count <= kTypedRun, which `room` holds.
  [[nodiscard]] const T* read(std::uint64_t first, std::uint64_t count, T* room) const noexcept {
    if (plain_) return reinterpret_cast<const T*>(data_) + first;
    type_->unpack(data_, first, count, room);
    return room;
  }

 private:
  const ElementFunctions<T>* type_;
  const std::byte* data_;
  bool plain_;
};

/// Where a tensor's elements go, run by run.
template <DomainValue T> class RunsTo {
 public:
  RunsTo(const ElementFunctions<T>& type, DType dtype, std::byte* data) noexcept
      : type_(&type),
        data_(data),
        plain_(lies_as<T>(dtype) && reinterpret_cast<std::uintptr_t>(data) % alignof(T) == 0) {}
  RunsTo(DType dtype, std::byte* data) noexcept : RunsTo(element_functions<T>(dtype), dtype, data) {}

  /// Where elements from `first` on are to be written before `wrote`: their place, or `room`.
  [[nodiscard]] T* place(std::uint64_t first, T* room) const noexcept {
    return plain_ ? reinterpret_cast<T*>(data_) + first : room;
  }
  void wrote(std::uint64_t first, std::uint64_t count, const T* room) const noexcept {
    if (!plain_) type_->pack(room, first, count, data_);
  }

 private:
  const ElementFunctions<T>* type_;
  std::byte* data_;
  bool plain_;
};

/// Values of one domain as those of the domain of `to`, before they are rounded to `to` itself: what `cast_elements`
/// gives, by the processor's own conversion where that rounds as it does (to nearest, under RoundingMode).
template <DomainValue F, DomainValue T>
void convert_values(const F* in, std::uint64_t count, DType to, T* out) noexcept {
  const auto target = zrt::detail::cast_target<T>(to);
  if constexpr (std::floating_point<T>) {
    if (target.rounding == Rounding::nearest_even) {
      for (std::uint64_t i = 0; i < count; ++i) out[i] = static_cast<T>(in[i]);
      return;
    }
  }
  for (std::uint64_t i = 0; i < count; ++i) out[i] = zrt::detail::to_domain(in[i], target);
}

/// Rounds values to `dtype`, of their domain; count <= kTypedRun.
template <DomainValue T> void round_values(DType dtype, T* values, std::uint64_t count) noexcept {
  if (lies_as<T>(dtype)) return;
  const ElementFunctions<T>& type = element_functions<T>(dtype);
  std::byte packed[kTypedRun * sizeof(T)]{};
  type.pack(values, 0, count, packed);
  type.unpack(packed, 0, count, values);
}

/// Reads elements [first, first + count) of `data`, cast from `dtype` to `as`, whose domain is T; count <= kTypedRun.
template <DomainValue T>
void read_as(DType dtype, const std::byte* data, std::uint64_t first, std::uint64_t count, DType as, T* out) noexcept {
  if (dtype == as) return element_functions<T>(as).unpack(data, first, count, out);
  visit_domain(dtype, [&]<class F>(std::type_identity<F>) {
    F values[kTypedRun];
    element_functions<F>(dtype).unpack(data, first, count, values);
    convert_values(values, count, as, out);
  });
  round_values(as, out, count);
}

/// Rounds `count` values to `accumulator`, once, and casts them to the elements of `dtype` at `dst`.
template <DomainValue T>
void write_accumulated(DType accumulator, const T* values, std::uint64_t count, DType dtype, std::byte* dst) noexcept {
  T rounded[kTypedRun];
  for (std::uint64_t first = 0; first < count; first += kTypedRun) {
    const std::uint64_t run = count - first < kTypedRun ? count - first : kTypedRun;
    std::memcpy(rounded, values + first, run * sizeof(T));
    round_values(accumulator, rounded, run);
    visit_domain(dtype, [&]<class U>(std::type_identity<U>) {
      U out[kTypedRun];
      convert_values(rounded, run, dtype, out);
      element_functions<U>(dtype).pack(out, first, run, dst);
    });
  }
}

}  // namespace zrt::inline ZRT_ABI::cpu
ZRT_FP_END
