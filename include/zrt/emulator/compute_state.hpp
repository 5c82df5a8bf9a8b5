// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/compute_state.hpp: the registers that a stream has set, and the dispatch that they describe.
#pragma once

#include <zrt/backend/pm4/decode.hpp>
#include <zrt/backend/pm4/preamble.hpp>
#include <zrt/emulator/dispatch.hpp>
#include <zrt/emulator/unmodelled_fields.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// The SH registers of a queue. What no packet has set has no value: a dispatch that needs it is an error.
class ComputeState {
 public:
  explicit ComputeState(pm4::Generation generation) noexcept : generation_(generation) {}

  void set(std::uint32_t offset, std::uint32_t value) noexcept {
    values_[offset] = value;
    known_[offset] = true;
  }

  /// How many shader engines the card has; 1 where nobody says.
  void set_engines(std::uint32_t engines) noexcept { engines_ = engines; }
  /// From now on a dispatch needs the masks of compute units of every engine that the generation has registers for: some
  /// unit of each of the card's, and none of the others.
  void require_masks() noexcept { needs_masks_ = true; }

  /// The dispatch of a DISPATCH_DIRECT or DISPATCH_INDIRECT with that grid.
  ///
  /// Errors: Errc::invalid_packet where a register that it needs was not set, or where no unit or no scratch is left for
  /// a workgroup; Errc::unimplemented for grids in threads, grids that do not start at 0 or start again, and partial
  /// workgroups; Errc::spec_violation for less scratch memory than TMPRING_SIZE parts.
  [[nodiscard]] Result<Dispatch> dispatch(const pm4::PacketView& packet, const std::array<std::uint32_t, 3>& groups,
                                          const AddressSpace& memory) const noexcept {
    if (auto r = refuse_fields(packet, {"PARTIAL_TG_EN", "USE_THREAD_DIMENSIONS", "ORDERED_APPEND_ENBL",
                                        "TUNNEL_ENABLE", "RESTORE", "INTERLEAVE_2D_EN"});
        !r)
      return pass(r);
    constexpr std::array needed{
        pm4::register_offset("COMPUTE_NUM_THREAD_X"), pm4::register_offset("COMPUTE_NUM_THREAD_Y"),
        pm4::register_offset("COMPUTE_NUM_THREAD_Z"), pm4::register_offset("COMPUTE_PGM_LO"),
        pm4::register_offset("COMPUTE_PGM_HI"),       pm4::register_offset("COMPUTE_PGM_RSRC1"),
        pm4::register_offset("COMPUTE_PGM_RSRC2"),    pm4::register_offset("COMPUTE_PGM_RSRC3"),
        pm4::register_offset("COMPUTE_TMPRING_SIZE"), pm4::register_offset("COMPUTE_RESOURCE_LIMITS")};
    for (const std::uint16_t offset : needed)
      if (!known_[offset]) return unset(packet, offset);
    if (auto r = check_masks(packet); !r) return pass(r);
    for (std::uint16_t i = 0; i < 3; ++i) {
      const auto offset = static_cast<std::uint16_t>(pm4::register_offset("COMPUTE_START_X") + i);
      if (packet.get("FORCE_START_AT_000") != 0) break;
      if (!known_[offset]) return unset(packet, offset);
      if (values_[offset] != 0) return fail(Errc::unimplemented, "a grid that does not start at 0 is not modelled");
    }
    for (std::uint16_t i = 0; i < 3; ++i)
      if (values_[pm4::register_offset("COMPUTE_RESTART_X") + i] != 0)
        return fail(Errc::unimplemented, "a grid that starts again where it was is not modelled");
    Dispatch d;
    d.isa = generation_ == pm4::Generation::gfx11 ? Isa::gfx11 : Isa::gfx12;
    d.wave64 = packet.get("CS_W32_EN") == 0;
    d.groups = groups;
    for (std::uint16_t i = 0; i < 3; ++i)
      d.threads[i] = static_cast<u32>(
          field(static_cast<std::uint16_t>(pm4::register_offset("COMPUTE_NUM_THREAD_X") + i), "NUM_THREAD_FULL"));
    d.code = (std::uint64_t{value(pm4::register_offset("COMPUTE_PGM_HI"))} << 32 |
              value(pm4::register_offset("COMPUTE_PGM_LO")))
             << 8;
    d.rsrc1 = value(pm4::register_offset("COMPUTE_PGM_RSRC1"));
    d.rsrc2 = value(pm4::register_offset("COMPUTE_PGM_RSRC2"));
    d.rsrc3 = value(pm4::register_offset("COMPUTE_PGM_RSRC3"));
    for (std::uint16_t i = 0; i < d.user_data.size(); ++i) {
      const auto offset = static_cast<std::uint16_t>(pm4::register_offset("COMPUTE_USER_DATA_") + i);
      // What is left over from others is nothing to compute with.
      d.user_data[i] = known_[offset] ? values_[offset] : 0xcccccccc;
    }
    return with_scratch(packet, d, memory);
  }

 private:
  [[nodiscard]] std::uint32_t value(std::uint16_t offset) const noexcept { return values_[offset]; }
  [[nodiscard]] std::uint64_t field(std::uint16_t offset, std::string_view name) const noexcept {
    for (const pm4::BitField& f : pm4::find_register(offset, generation_)->fields)
      if (f.name == name && holds(f.defined, generation_)) return f.get(Span(&values_[offset], 1), 0);
    return 0;
  }
  [[nodiscard]] std::unexpected<Error> unset(const pm4::PacketView& packet, std::uint16_t offset) const noexcept {
    return fail(Errc::invalid_packet, packet.kind->name, " needs ", find_register(offset, generation_)->name,
                ", which no packet has set");
  }

  [[nodiscard]] Result<void> check_masks(const pm4::PacketView& packet) const noexcept {
    std::uint32_t engine = 0;
    for (const pm4::MaskRow& row : pm4::kMaskRows) {
      if (!needs_masks_ || !holds(row.defined, generation_)) continue;
      for (std::uint16_t i = 0; i < row.count; ++i, ++engine) {
        const auto offset = static_cast<std::uint16_t>(row.offset + i);
        if (!known_[offset]) return unset(packet, offset);
        if ((values_[offset] != 0) == (engine < engines_)) continue;
        return fail(Errc::invalid_packet, packet.kind->name, " has ", find_register(offset, generation_)->name, " = ",
                    std::string_view(pm4::Hex(values_[offset])), " on a card of ", engines_, " shader engines");
      }
    }
    return check_units(packet);
  }
  /// Some unit of the card's is left, whoever set the masks.
  [[nodiscard]] Result<void> check_units(const pm4::PacketView& packet) const noexcept {
    std::uint32_t engine = 0;
    for (const pm4::MaskRow& row : pm4::kMaskRows)
      for (std::uint16_t i = 0; i < row.count && engine < engines_; ++i, ++engine)
        if (const std::size_t offset = row.offset + std::size_t{i}; !known_[offset] || values_[offset] != 0) return {};
    return fail(Errc::invalid_packet, packet.kind->name, " has masks that leave none of the card's compute units");
  }

  [[nodiscard]] Result<Dispatch> with_scratch(const pm4::PacketView& packet, Dispatch d,
                                              const AddressSpace& memory) const noexcept {
    constexpr std::uint16_t ring = pm4::register_offset("COMPUTE_TMPRING_SIZE");
    constexpr std::uint16_t low = pm4::register_offset("COMPUTE_DISPATCH_SCRATCH_BASE_LO");
    constexpr std::uint16_t high = pm4::register_offset("COMPUTE_DISPATCH_SCRATCH_BASE_HI");
    if ((d.rsrc2 & 1) == 0) return d;
    if (!known_[low] || !known_[high]) return unset(packet, known_[low] ? high : low);
    d.scratch_base = (std::uint64_t{value(high)} << 32 | value(low)) << 8;
    d.scratch_wave_bytes = static_cast<u32>(field(ring, "WAVESIZE") * 256);
    const MappedRegion* region = memory.find(d.scratch_base, 1);
    if (region == nullptr)
      return fail(Errc::spec_violation, "scratch at ", std::string_view(pm4::Hex(d.scratch_base)), " is not mapped");
    const std::uint64_t waves = field(ring, "WAVES"), lanes = d.wave64 ? 64 : 32;
    const std::uint64_t in_group = (std::uint64_t{d.threads[0]} * d.threads[1] * d.threads[2] + lanes - 1) / lanes;
    if (waves < in_group)
      return fail(Errc::invalid_packet, "COMPUTE_TMPRING_SIZE has scratch for ", waves,
                  " waves of a shader engine, a workgroup has ", in_group);
    const std::uint64_t room = region->bytes.size() - (d.scratch_base - region->address);
    d.scratch_bytes = waves * d.scratch_wave_bytes * engines_;
    if (d.scratch_bytes > room)
      return fail(Errc::spec_violation, "scratch of ", d.scratch_bytes, " bytes at ",
                  std::string_view(pm4::Hex(d.scratch_base)), ", ", room, " are mapped there");
    return d;
  }

  pm4::Generation generation_;
  std::uint32_t engines_ = 1;
  bool needs_masks_ = false;  ///< else the queue has its masks from the start
  std::array<std::uint32_t, pm4::kShCount> values_{};
  std::array<bool, pm4::kShCount> known_{};
};

}  // namespace zrt::inline ZRT_ABI::emulator
