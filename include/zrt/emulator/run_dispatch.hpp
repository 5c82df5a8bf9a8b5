// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/run_dispatch.hpp: runs one compute dispatch over all its workgroups.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/core/buffer.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/core/mutex.hpp>
#include <zrt/core/rounding_mode.hpp>
#include <zrt/emulator/disassemble.hpp>
#include <zrt/emulator/dispatch.hpp>
#include <zrt/emulator/program.hpp>

namespace zrt::inline ZRT_ABI::emulator {

namespace detail {

/// What nobody has written reads as this, so that nothing works by a zero that a card does not promise.
inline constexpr u32 kUnwritten = 0xcccccccc;

/// Runs `w` until its end, a barrier, a fault, or for `slice` instructions (Flow::next).
[[nodiscard]] inline Flow run_wave(Wave& w, Span<const Decoded> code, u64 slice, u64 limit) noexcept {
  const Decoded* slots = code.data();
  const auto count = static_cast<u32>(code.size());
  for (u64 n = 0; n < slice; ++n) {
    if (w.pc >= count) [[unlikely]] {
      ++w.instructions;
      return fault(w, Decoded{}, Errc::spec_violation, "execution leaves the program");
    }
    const Decoded& d = slots[w.pc];
    if (w.waits.any() && d.touched.meets(w.waits.pending())) [[unlikely]]
      return fault(w, d, Errc::spec_violation, "touches a register that waits for memory; a wait is missing");
    ++w.instructions;
    const Flow flow = d.run(w, d);
    if (flow == Flow::next) [[likely]] {
      w.pc += d.size;
      continue;
    }
    if (flow == Flow::jump) continue;
    if (flow == Flow::barrier) w.pc += d.size;
    return flow;
  }
  if (w.instructions >= limit)
    return fault(w, Decoded{}, Errc::limit_exceeded, "the wave has not ended after ", w.instructions, " instructions");
  return Flow::next;
}

/// Adds the instructions before and behind an unknown one to its error.
inline void name_neighbours(Error& error, const Wave& w, Span<const Decoded> code, DecodeTarget target) noexcept {
  auto text_at = [&](u64 slot) {
    u32 words[4]{};
    unsigned count = 0;
    while (count < 4) {
      const auto at = w.group->memory->at(w.code_address + (slot + count) * 4, 4, Permission::execute);
      if (!at) break;
      words[count++] = read_little<u32>(*at);
    }
    unsigned size = 0;
    return disassemble({words, count}, target, size);
  };
  for (u32 back = 1; back <= 4 && back <= w.pc; ++back) {
    if (code[w.pc - back].size != back) continue;
    error.append(", behind: ").append(text_at(w.pc - back).view());
    break;
  }
  error.append(", before: ").append(text_at(u64{w.pc} + 1).view());
}

/// One dispatch while it runs. Workers claim workgroups in ascending order, so that the error of the lowest workgroup
/// that fails is always found.
class DispatchRun {
 public:
  DispatchRun(const Dispatch& d, const DispatchShape& shape, const Program& program, const AddressSpace& memory,
              const Allocator& allocator) noexcept
      : d_(d), shape_(shape), program_(program), memory_(memory), allocator_(allocator), total_(count(d)) {}

  [[nodiscard]] Result<Counters> run(const ThreadHook& threads) noexcept {
    counters_.regions = Vector<RegionTraffic>(allocator_);
    if (auto r = counters_.regions.resize(memory_.ids()); !r) return pass(r);
    Workgroups workgroups{*this};
    run_on_workers(total_ == 1 ? ThreadHook{} : threads, workgroups);
    if (failed_ != ~u64{0}) return std::unexpected<Error>(error_);
    return std::move(counters_);
  }

 private:
  static constexpr u64 kStart = 256;  ///< about what it costs to fill a wave's registers, in instructions

  /// The job of all workers.
  struct Workgroups {
    DispatchRun& dispatch;

    void run(std::uint32_t index) noexcept { dispatch.worker(index); }
  };

  /// What one worker needs to run workgroups, one after the other.
  struct Bench {
    Vector<Wave> waves;
    Vector<u32> vgprs;
    Buffer lds;
    Counters counters{};
  };

  [[nodiscard]] static u64 count(const Dispatch& d) noexcept {
    const CheckedSize all = CheckedSize(d.groups[0]) * d.groups[1] * d.groups[2];
    return all.ok() ? all.raw() : 0;
  }
  /// Vector registers per lane that a wave's memory holds: those that the program names.
  [[nodiscard]] u32 vgprs() const noexcept { return program_.vgprs() == 0 ? 1 : program_.vgprs(); }
  [[nodiscard]] u32 halves() const noexcept { return d_.wave64 ? 2 : 1; }

  [[nodiscard]] Result<Bench> prepare() const noexcept {
    Bench b{Vector<Wave>(allocator_), Vector<u32>(allocator_), {}, {}};
    b.counters.regions = Vector<RegionTraffic>(allocator_);
    if (auto r = b.waves.resize(shape_.waves); !r) return pass(r);
    if (auto r = b.vgprs.resize(std::size_t{shape_.waves} * halves() * vgprs() * kLanes); !r) return pass(r);
    if (auto r = b.counters.regions.resize(memory_.ids()); !r) return pass(r);
    auto lds = Buffer::zeroed(allocator_, shape_.lds_bytes);
    if (!lds) return pass(lds);
    b.lds = std::move(*lds);
    return b;
  }

  void worker(u32 index) noexcept {
    // Scratch is enough for so many workers.
    if (shape_.scratch && (u64{index} + 1) * shape_.waves * d_.scratch_wave_bytes > d_.scratch_bytes) {
      if (index == 0) report(0, Error::of(Errc::invalid_argument, "the scratch memory holds not even one workgroup"));
      return;
    }
    const RoundingMode nearest;
    auto bench = prepare();
    if (!bench) return report(0, bench.error());
    for (;;) {
      const u64 number = next_.fetch_add(1, MemoryOrder::relaxed);
      if (number >= total_ || number > failed_so_far()) break;
      if (auto r = run_group(*bench, number, index); !r) {
        report(number, r.error(), faulted_access(*bench));
        break;
      }
    }
    const MutexLock lock(mutex_);
    counters_.add(bench->counters);
  }

  void report(u64 number, const Error& error, const AccessFault& access = {}) noexcept {
    const MutexLock lock(mutex_);
    if (number >= failed_) return;
    failed_ = number;
    error_ = error;
    if (d_.fault != nullptr) *d_.fault = access;
  }
  [[nodiscard]] static AccessFault faulted_access(const Bench& bench) noexcept {
    for (const Wave& w : bench.waves)
      if (w.fault.bytes != 0) return w.fault;
    return {};
  }
  [[nodiscard]] u64 failed_so_far() noexcept {
    const MutexLock lock(mutex_);
    return failed_;
  }

  [[nodiscard]] bool has_room_for(u64 instructions) noexcept {
    return spent_.fetch_add(instructions, MemoryOrder::relaxed) + instructions <= d_.grid_limit;
  }
  [[nodiscard]] Error too_long() const noexcept {
    return Error::of(Errc::limit_exceeded, "the grid of ", d_.groups[0], " x ", d_.groups[1], " x ", d_.groups[2],
                     " workgroups has not ended after ", d_.grid_limit, " instructions, ", kStart,
                     " for each start of a wave among them");
  }

  [[nodiscard]] Result<void> run_group(Bench& b, u64 number, u32 worker_index) noexcept {
    Workgroup g;
    g.id = {static_cast<u32>(number % d_.groups[0]), static_cast<u32>(number / d_.groups[0] % d_.groups[1]),
            static_cast<u32>(number / d_.groups[0] / d_.groups[1])};
    g.number = number;
    g.lds = b.lds.span();
    for (std::byte& byte : g.lds) byte = static_cast<std::byte>(kUnwritten & 0xffu);
    g.memory = &memory_;
    g.counters = &b.counters;
    g.coherence = d_.coherence;
    g.any_address = d_.any_address;
    g.kernels = kernels_;
    g.isa = d_.isa;
    g.waves = shape_.waves;
    ++b.counters.workgroups;
    if (!has_room_for(u64{shape_.waves} * kStart)) return std::unexpected<Error>(too_long());
    for (u32 i = 0; i < shape_.waves; ++i) start_wave(b, g, i, worker_index * shape_.waves + i);
    // Waves take turns: each runs to its end, to a barrier, or for a while.
    constexpr u64 kSlice = 1u << 16;
    while (g.ended < g.waves) {
      bool progress = false;
      for (Wave& w : b.waves) {
        if (w.ended || (w.waiting && g.barrier_phase == w.awaited_phase)) continue;
        w.waiting = false;
        progress = true;
        const u64 before = w.instructions;
        const Flow flow = run_wave(w, program_.slots(), kSlice, d_.instruction_limit);
        b.counters.wave_instructions += w.instructions - before;
        if (flow == Flow::fault) {
          if (w.error.code() == Errc::unsupported_opcode)
            name_neighbours(w.error, w, program_.slots(), {d_.isa, d_.wave64});
          return std::unexpected<Error>(w.error);
        }
        if (!has_room_for(w.instructions - before)) return std::unexpected<Error>(too_long());
        w.waiting = flow == Flow::barrier;
        if (flow != Flow::end) continue;
        w.ended = true;
        ++b.counters.waves;
        ++g.ended;
        complete_barrier(g);
      }
      if (!progress)
        return fail(Errc::spec_violation, "workgroup ", g.id[0], ",", g.id[1], ",", g.id[2],
                    ": every wave that has not ended waits at a barrier");
    }
    return {};
  }

  void start_wave(Bench& b, Workgroup& g, u32 index, u32 scratch_slot) const noexcept {
    Wave& w = b.waves[index];
    w = Wave{};
    w.group = &g;
    w.index = index;
    w.halves = halves();
    w.vgpr_count = vgprs();
    w.waits = Waits(d_.isa);
    w.mode = shape_.mode;
    w.code_address = program_.entry();
    const std::size_t words = std::size_t{w.halves} * w.vgpr_count * kLanes;
    w.vgprs = b.vgprs.data() + index * words;
    for (std::size_t i = 0; i < words; ++i) w.vgprs[i] = kUnwritten;
    for (u32& s : w.sgpr) s = kUnwritten;
    w.sgpr[sgpr::kNull] = 0;
    for (u32 i = 0; i < shape_.user_sgprs; ++i) w.sgpr[i] = d_.user_data[i < d_.user_data.size() ? i : 0];
    if (d_.isa == Isa::gfx11) {
      u32 at = shape_.user_sgprs;
      for (u32 axis = 0; axis < 3; ++axis)
        if ((d_.rsrc2 >> (7 + axis) & 1u) != 0) w.sgpr[at++] = g.id[axis];
    } else {
      w.sgpr[sgpr::kTtmp + 9] = g.id[0];
      w.sgpr[sgpr::kTtmp + 7] = (g.id[1] & 0xffffu) | g.id[2] << 16;
    }
    u32 exec[2]{};
    for (u32 lane = 0; lane < w.lanes(); ++lane) {
      const u32 thread = index * w.lanes() + lane;
      if (thread >= shape_.threads) break;
      exec[lane / kLanes] |= u32{1} << lane % kLanes;
      const u32 x = thread % d_.threads[0], y = thread / d_.threads[0] % d_.threads[1],
                z = thread / d_.threads[0] / d_.threads[1];
      w.vgpr(lane / kLanes, 0)[lane % kLanes] = x | y << 10 | z << 20;
    }
    w.sgpr[sgpr::kExec] = exec[0];
    if (w.halves == 2) w.sgpr[sgpr::kExec + 1] = exec[1];
    if (shape_.scratch) {
      w.scratch = d_.scratch_base + u64{scratch_slot} * d_.scratch_wave_bytes;
      w.scratch_per_lane = d_.scratch_wave_bytes / w.lanes();
    }
  }

  const Dispatch& d_;
  const DispatchShape& shape_;
  const Program& program_;
  const AddressSpace& memory_;
  const Allocator& allocator_;
  const LaneKernels kernels_ = lane_kernels();
  const u64 total_;
  Atomic<u64> next_{0};
  Atomic<u64> spent_{0};  ///< of the grid's limit
  Mutex mutex_{};
  u64 failed_ = ~u64{0};
  Error error_{};
  Counters counters_{};
};

}  // namespace detail

/// Runs `d` with a program that was decoded from its code address, on the workers of `threads` or on the caller's.
///
/// The result is the same whatever the threads, as far as the kernel itself does not race. Errors name workgroup,
/// wave, address and instruction: Errc::spec_violation for a fault of the kernel, unsupported_opcode for an unknown
/// encoding, unimplemented for what the model leaves out, limit_exceeded for an endless loop.
[[nodiscard]] inline Result<Counters> run(const Dispatch& d, const Program& program, const AddressSpace& memory,
                                          const ThreadHook& threads = {},
                                          const Allocator& allocator = system_allocator()) noexcept {
  const auto shape = DispatchShape::of(d);
  if (!shape) return pass(shape);
  if (program.entry() != d.code)
    return fail(Errc::invalid_argument, "the program begins at ", hex(program.entry()).view(), ", the dispatch at ",
                hex(d.code).view());
  if (program.vgprs() > shape->vgprs)
    return fail(Errc::spec_violation, "the program names v", program.vgprs() - 1, ", RSRC1 allocates ", shape->vgprs,
                " vector registers");
  if (d.coherence != nullptr && !program.slots().empty())
    if (const MappedRegion* code = memory.find(d.code, program.slots().size() * 4); code != nullptr)
      if (auto r = d.coherence->check_read(*code, d.code, program.slots().size() * 4, Cache::instruction); !r)
        return pass(r);
  detail::DispatchRun state(d, *shape, program, memory, allocator);
  auto counters = state.run(threads);
  if (counters && d.clock != nullptr) *d.clock += counters->wave_instructions;
  return counters;
}

/// Decodes the program at the dispatch's code address and runs it.
[[nodiscard]] inline Result<Counters> run(const Dispatch& d, const AddressSpace& memory, const ThreadHook& threads = {},
                                          const Allocator& allocator = system_allocator()) noexcept {
  const auto program = Program::decode(memory, d.code, {d.isa, d.wave64}, allocator);
  if (!program) {
    if (d.fault != nullptr) (void)memory.at(d.code, 4, Permission::execute, d.fault);
    return pass(program);
  }
  return run(d, *program, memory, threads, allocator);
}

}  // namespace zrt::inline ZRT_ABI::emulator
