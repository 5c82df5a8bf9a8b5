// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/control.hpp: branches, barriers, waits, modes, exec masks and scalar loads.
#pragma once

#include <zrt/emulator/accesses.hpp>
#include <zrt/emulator/dispatch.hpp>
#include <zrt/emulator/scalars.hpp>

namespace zrt::inline ZRT_ABI::emulator {

inline Flow end_program(Wave&, const Decoded&) noexcept { return Flow::end; }

/// s_branch and s_cbranch: the immediate counts words from the next instruction.
template <auto kTaken> Flow branch(Wave& w, const Decoded& d) noexcept {
  if (!kTaken(w)) return Flow::next;
  w.pc = static_cast<u32>(static_cast<i32>(w.pc) + d.size + static_cast<i16>(d.offset));
  return Flow::jump;
}

/// The address of the next instruction.
[[nodiscard]] inline u64 next_address(const Wave& w, const Decoded& d) noexcept {
  return w.code_address + (u64{w.pc} + d.size) * 4;
}
inline Flow jump_to(Wave& w, const Decoded& d, u64 address) noexcept {
  const u64 words_from_start = (address - w.code_address) / 4;
  if (address % 4 != 0 || words_from_start > ~u32{0}) {
    const Name at = hex(address);
    return fault(w, d, Errc::spec_violation, "jumps to ", at.view(), ", outside its program");
  }
  w.pc = static_cast<u32>(words_from_start);
  return Flow::jump;
}
inline Flow get_pc(Wave& w, const Decoded& d) noexcept {
  w.write_sgpr_pair(d.dst.index, next_address(w, d));
  return Flow::next;
}
inline Flow set_pc(Wave& w, const Decoded& d) noexcept {
  return jump_to(w, d, detail::scalar_argument<u64>(w, d.src[0]));
}
inline Flow swap_pc(Wave& w, const Decoded& d) noexcept {
  const u64 to = detail::scalar_argument<u64>(w, d.src[0]);
  w.write_sgpr_pair(d.dst.index, next_address(w, d));
  return jump_to(w, d, to);
}
inline Flow call(Wave& w, const Decoded& d) noexcept {
  const u64 back = next_address(w, d);
  w.write_sgpr_pair(d.dst.index, back);
  return jump_to(w, d, back + static_cast<u64>(i64{static_cast<i16>(d.offset)} * 4));
}

// --- barriers ---

/// Counts one more wave at the barrier; the last one that can come completes it.
inline void complete_barrier(Workgroup& g) noexcept {
  if (g.arrived == 0 || g.arrived + g.ended < g.waves) return;
  g.arrived = 0;
  ++g.barrier_phase;
}
inline Flow arrive(Wave& w, const Decoded& d) noexcept {
  if (w.signaled) return fault(w, d, Errc::spec_violation, "the wave signals a barrier again before it has waited");
  if (w.group->waves > 1 && w.waits.stores_locally())
    return fault(w, d, Errc::spec_violation,
                 "what the wave wrote to local memory may still be on its way; a wait is missing");
  w.signaled = true;
  w.awaited_phase = w.group->barrier_phase;
  ++w.group->arrived;
  complete_barrier(*w.group);
  return Flow::next;
}
inline Flow barrier_wait(Wave& w, const Decoded& d) noexcept {
  if (static_cast<i16>(d.offset) != -1)
    return fault(w, d, Errc::unimplemented, "only the workgroup's barrier (-1) is modelled");
  if (!w.signaled) return fault(w, d, Errc::spec_violation, "the wave waits at a barrier that it has not signaled");
  w.signaled = false;
  return w.group->barrier_phase == w.awaited_phase ? Flow::barrier : Flow::next;
}
inline Flow barrier(Wave& w, const Decoded& d) noexcept {
  if (arrive(w, d) == Flow::fault) return Flow::fault;
  w.signaled = false;
  return w.group->barrier_phase == w.awaited_phase ? Flow::barrier : Flow::next;
}
template <bool kIsFirst> Flow barrier_signal(Wave& w, const Decoded& d) noexcept {
  if (scalar_word(w, d.src[0], 0) != ~u32{0})
    return fault(w, d, Errc::unimplemented, "only the workgroup's barrier (-1) is modelled");
  if (kIsFirst) w.scc = w.group->arrived == 0;
  return arrive(w, d);
}

// --- waits ---

template <WaitCounter kCounter> Flow wait_for(Wave& w, const Decoded& d) noexcept {
  w.waits.wait(kCounter, static_cast<u32>(d.offset) & 63u);
  return Flow::next;
}
/// Two counters of GFX12 in one instruction: LDS in bits 5:0, the other in bits 13:8.
template <WaitCounter kCounter> Flow wait_for_both(Wave& w, const Decoded& d) noexcept {
  w.waits.wait(WaitCounter::ds, static_cast<u32>(d.offset) & 63u);
  w.waits.wait(kCounter, static_cast<u32>(d.offset) >> 8 & 63u);
  return Flow::next;
}
/// s_waitcnt of GFX11: lgkmcnt in bits 9:4, vmcnt in bits 15:10.
inline Flow wait_counts(Wave& w, const Decoded& d) noexcept {
  w.waits.wait(WaitCounter::ds, static_cast<u32>(d.offset) >> 4 & 63u);
  w.waits.wait(WaitCounter::load, static_cast<u32>(d.offset) >> 10 & 63u);
  return Flow::next;
}
inline Flow wait_idle(Wave& w, const Decoded&) noexcept {
  for (const WaitCounter c : {WaitCounter::load, WaitCounter::store, WaitCounter::ds, WaitCounter::scalar})
    w.waits.wait(c, 0);
  return Flow::next;
}

// --- modes and hardware registers ---

inline Flow require_mode(Wave& w, const Decoded& d, u32 mode) noexcept {
  if ((mode & 0xffu) != kNearestWithDenormals)
    return fault(w, d, Errc::unimplemented, "only rounding to nearest with denormals (mode 0xf0) is modelled, not ",
                 mode & 0xffu);
  w.mode = mode;
  return Flow::next;
}
inline Flow round_mode(Wave& w, const Decoded& d) noexcept {
  return require_mode(w, d, (w.mode & ~15u) | (static_cast<u32>(d.offset) & 15u));
}
inline Flow denorm_mode(Wave& w, const Decoded& d) noexcept {
  return require_mode(w, d, (w.mode & ~0xf0u) | (static_cast<u32>(d.offset) & 15u) << 4);
}

/// The field of a hardware register that the immediate names: id in bits 5:0, offset in 10:6, size - 1 in 15:11.
struct HardwareField {
  u32 id, offset, mask;
  explicit constexpr HardwareField(i32 immediate) noexcept
      : id(static_cast<u32>(immediate) & 63u),
        offset(static_cast<u32>(immediate) >> 6 & 31u),
        mask(((static_cast<u32>(immediate) >> 11 & 31u) == 31
                  ? 0
                  : u32{1} << ((static_cast<u32>(immediate) >> 11 & 31u) + 1)) -
             1) {}
};
inline Flow get_register(Wave& w, const Decoded& d) noexcept {
  const HardwareField f(d.offset);
  u32 value = 0;
  if (f.id == 1)
    value = w.mode;
  else if (f.id == 20 && w.group->isa == Isa::gfx11)
    value = static_cast<u32>(w.scratch);
  else if (f.id == 21 && w.group->isa == Isa::gfx11)
    value = static_cast<u32>(w.scratch >> 32);
  else if (f.id == 29)
    value = static_cast<u32>(w.instructions);
  else
    return fault(w, d, Errc::unimplemented, "the hardware register ", f.id, " is not modelled");
  w.write_sgpr(d.dst.index, value >> f.offset & f.mask);
  return Flow::next;
}
inline Flow set_register(Wave& w, const Decoded& d) noexcept {
  const HardwareField f(d.offset);
  if (f.id != 1) return fault(w, d, Errc::unimplemented, "the hardware register ", f.id, " is not modelled");
  const u32 value = scalar_word(w, d.src[0], 0);
  return require_mode(w, d, (w.mode & ~(f.mask << f.offset)) | (value & f.mask) << f.offset);
}
inline Flow trap(Wave& w, const Decoded& d) noexcept {
  return fault(w, d, Errc::spec_violation, "the program traps with code ", d.offset);
}
inline Flow not_executable(Wave& w, const Decoded& d) noexcept {
  return fault(w, d, Errc::spec_violation, "execution ran past the end of the program");
}

// --- exec masks ---

/// s_*_saveexec and s_*_wrexec: exec becomes F(source, exec); the destination holds the old or the new exec.
template <auto F, class T, bool kOld> Flow change_exec(Wave& w, const Decoded& d) noexcept {
  const Operand exec{Operand::Kind::sgpr, 0, sgpr::kExec, 0, 0, false};
  const T old = detail::scalar_argument<T>(w, exec);
  const T changed = F(detail::scalar_argument<T>(w, d.src[0]), old);
  detail::write_scalar(w, d.dst, kOld ? old : changed);
  detail::write_scalar(w, exec, changed);
  w.scc = changed != 0;
  return Flow::next;
}
template <class T, auto F, bool kOld = true>
inline constexpr Semantics kExecOf = own_function(&change_exec<F, T, kOld>, kTypeOf<T>, kTypeOf<T>);

// --- scalar loads ---

/// s_load: `access.bytes` of one, two or four bytes widen to a register; more come in words.
inline Flow scalar_load(Wave& w, const Decoded& d) noexcept {
  const ElementAccess access = d.instruction->semantics.access;
  const unsigned bytes = access.bytes;
  const u64 base = detail::scalar_argument<u64>(w, d.src[0]);
  const u64 address = base + scalar_word(w, d.src[1], 0) + static_cast<u64>(i64{d.offset});
  const unsigned alignment = bytes < 4 ? bytes : 4;
  if (address % alignment != 0) return misaligned(w, d, address, alignment, 0);
  const MappedRegion* region = w.group->memory->find(address, bytes);
  if (region == nullptr || !allows(region->permission, Permission::read))
    return memory_fault(w, d, address, bytes, false, 0);
  if (!is_read_ordered(w, *region, address, bytes, Cache::scalar)) return memory_fault(w, d, address, bytes, false, 0);
  const std::byte* from = region->bytes.data() + (address - region->address);
  if (region->id < w.group->counters->regions.size()) w.group->counters->regions[region->id].bytes_read += bytes;
  if (bytes < 4) {
    const u32 raw = bytes == 1 ? std::to_integer<u32>(from[0]) : u32{read_little<u16>(from)};
    const bool sign = access.extend == ElementAccess::Extend::sign;
    w.write_sgpr(d.dst.index, !sign        ? raw
                              : bytes == 1 ? static_cast<u32>(i32{static_cast<i8>(raw)})
                                           : static_cast<u32>(i32{static_cast<i16>(raw)}));
  } else {
    for (unsigned i = 0; i < bytes / 4; ++i) w.write_sgpr(d.dst.index + i, read_little<u32>(from + i * 4));
  }
  w.waits.issue(WaitCounter::scalar, {d.dst.index, static_cast<u8>(bytes < 4 ? 1 : bytes / 4), true});
  return Flow::next;
}

/// The semantics of a scalar load of so many bytes.
[[nodiscard]] constexpr Semantics scalar_load_of(unsigned bytes,
                                                 ElementAccess::Extend extend = ElementAccess::Extend::none) noexcept {
  const Type data = bytes <= 4    ? Type::u32
                    : bytes == 8  ? Type::u64
                    : bytes == 12 ? Type::b96
                    : bytes == 16 ? Type::b128
                    : bytes == 32 ? Type::b256
                                  : Type::b512;
  Semantics s = own_function(&scalar_load, data, Type::u64, Type::u32);
  s.access = {static_cast<u8>(bytes), extend, false, false};
  return s;
}

}  // namespace zrt::inline ZRT_ABI::emulator
