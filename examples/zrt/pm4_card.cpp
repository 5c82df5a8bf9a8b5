// SPDX-License-Identifier: Apache-2.0
// examples/zrt/pm4_card.cpp: which ways to a card's queues work; whether queues and memory are given back.
#include "commands.hpp"
#include "open_card.hpp"
#include "output.hpp"

#include <array>
#include <random>

namespace program {

namespace pm4 = zrt::pm4;

int pm4_probe(const Pm4CardOptions& o) {
  const auto card = CardSystem::make(o.card);
  if (!card) return failed(card.error());
  std::string text, chosen;
  for (const pm4::Tier tier : pm4::kTiers) {
    text += std::string(pm4::name(tier)) + ": ";
    const auto device = CardDevice::open((*card)->os(), tier);
    if (!device) {
      // The error names the way itself.
      std::string_view why = device.error().text();
      if (const std::string head = std::string(pm4::name(tier)) + ": "; why.starts_with(head))
        why.remove_prefix(head.size());
      if (const std::size_t end = why.rfind("; cpu and reference"); end != why.npos) why = why.substr(0, end);
      text += "no: " + std::string(why) + "\n";
      continue;
    }
    const auto memory = device->available_memory();
    text += "yes: " + (*card)->name_of(device->target()) + ", " + std::to_string(device->compute_units()) +
            " compute units in " + std::to_string(device->shader_engines()) + " shader engines, " +
            (memory ? bytes_text(*memory) : std::string(memory.error().text())) +
            " of video memory left; a queue has passed its fence\n";
    if (chosen.empty()) chosen = pm4::name(tier);
  }
  text += chosen.empty() ? "chosen: none; the backends cpu and reference need no card\n" : "chosen: " + chosen + "\n";
  if (!print(text)) return cannot_write("stdout");
  return chosen.empty() ? kFailed : kOk;
}

namespace {

struct MemtestCounts {
  std::uint64_t queues = 0, memories = 0, submissions = 0, refused = 0;
};

/// Errors: what a card should not refuse; bytes that are not back.
zrt::Result<MemtestCounts> cycle(const CardDevice& device, std::uint64_t cycles, std::uint64_t most_bytes) {
  const auto before = device.available_memory();
  if (!before) return zrt::pass(before);
  MemtestCounts counts;
  {
    std::mt19937_64 random(20251122);
    std::array<std::optional<CardQueue>, 3> queues;
    std::array<std::optional<CardMemory>, 8> memories;
    for (std::uint64_t i = 0; i < cycles; ++i) {
      auto& memory = memories[random() % memories.size()];
      const auto heap = static_cast<pm4::Heap>(random() % 3);
      const auto access = static_cast<pm4::GpuAccess>(random() % 3);
      const std::uint64_t bytes = 1 + random() % most_bytes;
      if (memory) {
        memory.reset();
      } else if (auto made = CardMemory::allocate(device, heap, bytes, access)) {
        memory.emplace(std::move(*made));
        ++counts.memories;
      } else if (made.error().code() == zrt::Errc::out_of_memory) {
        ++counts.refused;
      } else {
        return zrt::pass(made);
      }
      auto& queue = queues[random() % queues.size()];
      if (queue && random() % 4 == 0) {
        queue.reset();
      } else if (queue) {
        // Half of it is not waited for: queues are destroyed while they have work.
        const auto fence = queue->submit({});
        if (!fence) return zrt::pass(fence);
        ++counts.submissions;
        if (random() % 2 != 0)
          if (auto r = queue->wait(*fence, 10'000'000'000); !r) return zrt::pass(r);
      } else if (auto made = CardQueue::open(device, {.ring_bytes = std::uint64_t{4096} << random() % 3})) {
        queue.emplace(std::move(*made));
        ++counts.queues;
      } else if (made.error().code() == zrt::Errc::out_of_memory) {
        ++counts.refused;
      } else {
        return zrt::pass(made);
      }
    }
  }
  const auto after = device.available_memory();
  if (!after) return zrt::pass(after);
  if (*after != *before)
    return zrt::fail(zrt::Errc::io_error, "video memory had ", *before, " bytes left before the cycles and has ",
                     *after, " behind them");
  return counts;
}

}  // namespace

int pm4_memtest(const Pm4CardOptions& o) {
  // Little video memory, so that a modelled card runs out of it now and then.
  const auto card = CardSystem::make(o.card, std::uint64_t{32} << 20);
  if (!card) return failed(card.error());
  std::string text;
  {
    const auto device = CardDevice::open((*card)->os(), forced_tier(o.card));
    if (!device) return failed(device.error());
    const auto counts = cycle(*device, o.cycles, std::uint64_t{8} << 20);
    if (!counts) return failed(counts.error());
    text = (*card)->name_of(device->target()) + " by " + std::string(pm4::name(device->tier())) + ": " +
           std::to_string(o.cycles) + " cycles, " + std::to_string(counts->memories) + " allocations, " +
           std::to_string(counts->queues) + " queues, " + std::to_string(counts->submissions) + " submissions, " +
           std::to_string(counts->refused) + " times out of memory; every byte of video memory is back\n";
  }
  if ((*card)->modelled() != nullptr) {
    const zrt::emulator::EmulatedOs& model = (*card)->modelled()->model();
    if (!model.live().none()) return failed("the modelled process still holds something");
    if (const auto report = model.queues(); !report.stopped().empty())
      return failed("a modelled queue stopped: " + std::string(report.stopped()));
  }
  if (!print(text)) return cannot_write("stdout");
  return kOk;
}

}  // namespace program
