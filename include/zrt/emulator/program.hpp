// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/program.hpp: a kernel's code, decoded once from the address space.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/emulator/decode.hpp>
#include <zrt/emulator/memory.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// What an unknown encoding does when it is reached.
inline Flow unknown_encoding(Wave& w, const Decoded& d) noexcept {
  const Name word = hex(static_cast<u32>(d.offset));
  return fault(w, d, Errc::unsupported_opcode, "unknown encoding ", word.view());
}
/// What an output modifier does, which only takes effect in a mode that is not modelled.
inline Flow output_modifier(Wave& w, const Decoded& d) noexcept {
  return fault(w, d, Errc::unimplemented, "output modifiers are ignored where denormals are kept");
}
/// What a jump into the middle of an instruction does.
inline Flow inside_an_instruction(Wave& w, const Decoded& d) noexcept {
  return fault(w, d, Errc::spec_violation, "a jump into the middle of an instruction");
}

/// Code from an entry point to its last reachable instruction, one slot for each word.
class Program {
 public:
  /// Decodes from `entry` until an end behind which no branch goes. Errors: no executable memory there, out of memory.
  [[nodiscard]] static Result<Program> decode(const AddressSpace& memory, u64 entry, DecodeTarget target,
                                              const Allocator& allocator = system_allocator()) noexcept {
    if (entry % 4 != 0)
      return fail(Errc::spec_violation, "the program at ", hex(entry).view(), " is not aligned to 4 bytes");
    const MappedRegion* region = memory.find(entry, 4);
    if (region == nullptr) return fail(Errc::spec_violation, "no memory is mapped at ", hex(entry).view());
    if (!allows(region->permission, Permission::execute))
      return fail(Errc::spec_violation, "the region ", region->name.view(), " forbids execution at ",
                  hex(entry).view());
    const u64 available = (region->bytes.size() - (entry - region->address)) / 4;
    Program p(allocator);
    p.entry_ = entry;
    Vector<u32> words(allocator);
    u64 reach = 0;
    u64 at = 0;
    bool indirect = false;
    for (;;) {
      // An instruction has at most four words.
      while (words.size() < at + 4 && words.size() < available) {
        const u64 offset = entry - region->address + words.size() * 4;
        if (auto r = words.push_back(read_little<u32>(region->bytes.data() + offset)); !r) return pass(r);
      }
      if (at >= words.size()) break;
      while (p.slots_.size() < at + 4) {
        Decoded slot;
        slot.run = &inside_an_instruction;
        if (auto r = p.slots_.push_back(slot); !r) return pass(r);
      }
      Decoded& first = p.slots_[at];
      Decoded second;
      const bool known = emulator::decode({words.data() + at, words.size() - at}, target, first, second);
      if (!known) {
        const Instruction* instruction = first.instruction;
        const bool modified = first.output_modifier != 0;
        first = {};
        first.instruction = instruction;
        first.run = modified ? &output_modifier : &unknown_encoding;
        first.offset = static_cast<i32>(words[at]);
        first.size = 1;
        ++at;
        if (at > reach) break;
        continue;
      }
      if (first.paired != nullptr) {
        p.slots_[at + 1] = second;
        p.slots_[at + 1].size = 0;
      }
      p.note(first);
      const bool branches = first.instruction->encoding == Encoding::sopp &&
                            first.instruction->name.starts_with("s_") &&
                            first.instruction->name.find("branch") != std::string_view::npos;
      if (branches) {
        const i64 to = static_cast<i64>(at) + first.size + static_cast<i16>(first.offset);
        if (to > 0 && static_cast<u64>(to) > reach) reach = static_cast<u64>(to);
      }
      // A called function may stand anywhere behind: then all code is decoded, up to its padding.
      indirect = indirect || first.run == &swap_pc || first.run == &set_pc;
      const bool leaves = first.run == &end_program || first.run == &set_pc || first.run == &not_executable ||
                          first.instruction->name == "s_branch";
      const bool padding = first.run == &not_executable;
      at += first.size;
      if (leaves && at > reach && (padding || !indirect)) break;
    }
    while (p.slots_.size() > at) p.slots_.pop_back();
    return p;
  }

  [[nodiscard]] Span<const Decoded> slots() const noexcept { return slots_.span(); }
  [[nodiscard]] u64 entry() const noexcept { return entry_; }
  /// One more than the highest vector register that any instruction names.
  [[nodiscard]] u32 vgprs() const noexcept { return vgprs_; }

 private:
  explicit Program(const Allocator& allocator) noexcept : slots_(allocator) {}

  void note(const Decoded& d) noexcept {
    for (unsigned i = 4; i-- > 0;) {
      if (d.touched.vector[i] == 0) continue;
      const u32 end = i * 64 + 64 - static_cast<u32>(std::countl_zero(d.touched.vector[i]));
      if (end > vgprs_) vgprs_ = end;
      return;
    }
  }

  Vector<Decoded> slots_;
  u64 entry_ = 0;
  u32 vgprs_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::emulator
