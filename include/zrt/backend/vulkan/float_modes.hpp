// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/float_modes.hpp: how a device is told to round and to keep denormals, where it can be told.
#pragma once

#include <zrt/backend/vulkan/api.hpp>
#include <zrt/backend/vulkan/spirv.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// An execution mode of float controls for numbers of so many bits, with the capability that it needs.
struct FloatMode {
  std::uint32_t mode = 0;
  std::uint32_t capability = 0;
  std::uint32_t bits = 0;

  friend constexpr bool operator==(const FloatMode&, const FloatMode&) = default;
};

/// The modes that a device's kernels get. None is a promise by itself: the probe tries what comes of them.
class FloatModes {
 public:
  constexpr void add(const FloatMode& mode) noexcept { all_[count_++] = mode; }
  [[nodiscard]] constexpr Span<const FloatMode> all() const noexcept {
    return Span<const FloatMode>(all_).first(count_);
  }

 private:
  std::array<FloatMode, 9> all_{};
  std::size_t count_ = 0;
};

namespace detail {

/// One kind of mode: its number, its capability, and for which widths the device has it.
struct ModeKind {
  std::uint32_t mode = 0;
  std::uint32_t capability = 0;
  std::array<bool, 3> has{};  ///< of 16, 32 and 64 bits
};

/// Where a device has one setting for several widths, a kernel names the mode for all of these or for none.
constexpr void add_modes(const ModeKind& kind, VkShaderFloatControlsIndependence independence,
                         FloatModes& to) noexcept {
  constexpr std::array<std::uint32_t, 3> bits{16, 32, 64};
  auto takes = kind.has;
  if (independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY)
    takes[0] = takes[2] = kind.has[0] && kind.has[2];
  if (independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE)
    takes[0] = takes[1] = takes[2] = kind.has[0] && kind.has[1] && kind.has[2];
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (takes[i]) to.add({kind.mode, kind.capability, bits[i]});
}

}  // namespace detail

/// To keep denormals, to round to the nearest, and to keep zeros' signs, infinities and NaNs: for each width what the
/// device offers. Numbers are those of the specification of SPIR-V.
[[nodiscard]] constexpr FloatModes float_modes_of(const VkPhysicalDeviceVulkan12Properties& p) noexcept {
  FloatModes modes;
  detail::add_modes({4459,
                     4464,
                     {p.shaderDenormPreserveFloat16 != VK_FALSE, p.shaderDenormPreserveFloat32 != VK_FALSE,
                      p.shaderDenormPreserveFloat64 != VK_FALSE}},
                    p.denormBehaviorIndependence, modes);
  detail::add_modes({4462,
                     4467,
                     {p.shaderRoundingModeRTEFloat16 != VK_FALSE, p.shaderRoundingModeRTEFloat32 != VK_FALSE,
                      p.shaderRoundingModeRTEFloat64 != VK_FALSE}},
                    p.roundingModeIndependence, modes);
  detail::add_modes(
      {4461,
       4466,
       {p.shaderSignedZeroInfNanPreserveFloat16 != VK_FALSE, p.shaderSignedZeroInfNanPreserveFloat32 != VK_FALSE,
        p.shaderSignedZeroInfNanPreserveFloat64 != VK_FALSE}},
      VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL, modes);
  return modes;
}

/// The module with these modes for each of its entry points. It must name none itself, and be of SPIR-V 1.4 or later,
/// whose core they are.
///
/// Errors: Errc::invalid_file for another module; out_of_memory.
[[nodiscard]] inline Result<Vector<std::uint32_t>> with_modes(Span<const std::uint32_t> module, std::string_view kernel,
                                                              const FloatModes& modes,
                                                              const Allocator& allocator) noexcept {
  if (auto r = spirv::check(module, kernel); !r) return pass(r);
  if (module[spirv::kVersion] < 0x00010400)
    return fail(Errc::invalid_file, "kernel ", kernel, " is of a SPIR-V before 1.4");
  Vector<std::uint32_t> to(allocator), chosen(allocator);
  if (auto r = to.reserve(module.size() + modes.all().size() * 6); !r) return pass(r);
  if (auto r = spirv::put(to, module.first(spirv::kHeaderWords)); !r) return pass(r);
  bool has_capabilities = false;
  spirv::Instructions all(module);
  for (spirv::Statement each; all.next(each);) {
    if (each.op == spirv::Code::execution_mode && each[2] >= 4459 && each[2] <= 4463)
      return fail(Errc::invalid_file, "kernel ", kernel, " says itself how it rounds");
    // Entry points stand behind the capabilities, execution modes behind the entry points.
    if (each.op != spirv::Code::capability && !has_capabilities) {
      has_capabilities = true;
      std::uint32_t last = 0;
      for (const FloatMode& mode : modes.all()) {
        if (mode.capability != last)
          if (auto r = spirv::put(to, spirv::Code::capability, std::array{mode.capability}); !r) return pass(r);
        last = mode.capability;
      }
    }
    if (each.op != spirv::Code::entry_point && !chosen.empty()) {
      for (const std::uint32_t entry : chosen)
        for (const FloatMode& mode : modes.all())
          if (auto r = spirv::put(to, spirv::Code::execution_mode, std::array{entry, mode.mode, mode.bits}); !r)
            return pass(r);
      chosen.clear();
    }
    if (each.op == spirv::Code::entry_point)
      if (auto r = chosen.push_back(each[2]); !r) return pass(r);
    if (auto r = spirv::put(to, each.words); !r) return pass(r);
  }
  return to;
}

}  // namespace zrt::inline ZRT_ABI::vulkan
