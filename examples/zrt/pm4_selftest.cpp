// SPDX-License-Identifier: Apache-2.0
// examples/zrt/pm4_selftest.cpp: each packet and each kernel, once on a card.
#include "commands.hpp"
#include "kernel_cases.hpp"
#include "open_card.hpp"
#include "output.hpp"
#include "packet_cases.hpp"
#include "packet_coverage.hpp"

#include <algorithm>
#include <cstring>

namespace program {
namespace {

namespace pm4 = zrt::pm4;
constexpr std::uint64_t kSelftestTimeout = std::uint64_t{30} * 1'000'000'000;

/// A queue with what the cases need; stops at the first thing that is not as it should be.
template <class Target> class Selftest {
 public:
  Selftest(const CardDevice& device, CardQueue& queue) : device_(device), queue_(queue) {}

  /// Runs each form of each packet.
  zrt::Result<std::size_t> packets() {
    auto page = CardMemory::allocate(device_, pm4::Heap::host_visible, 4096, pm4::Access::read_write);
    if (!page) return zrt::pass(page);
    auto inside = CardMemory::allocate(device_, pm4::Heap::host_visible, 4096, pm4::Access::read);
    if (!inside) return zrt::pass(inside);
    const PacketCases<Target> cases(queue_, page->address(), *inside, device_.tier() == pm4::Tier::user_queue);
    for (const auto& stream : cases.inside())
      if (auto r = coverage_.add(stream, pm4::Place::indirect_buffer); !r) return zrt::pass(r);
    for (const PacketCase& c : cases.all()) {
      if (auto r = run(c.words); !r) return named(c.name, r.error());
      const auto found = zrt::read_little<std::uint64_t>(page->span().data() + c.at);
      if (c.result == PacketCase::Result::clock ? found == 0
                                                : c.result == PacketCase::Result::value && found != c.expected)
        return zrt::fail(zrt::Errc::spec_violation, c.name, " left ", std::string_view(pm4::Hex(found)), ", ",
                         c.result == PacketCase::Result::clock ? "a clock" : std::string_view(pm4::Hex(c.expected)),
                         " expected");
    }
    return cases.all().size();
  }

  zrt::Result<std::size_t> kernels(pm4::KernelFiles files) {
    const auto bytes = pm4::KernelTable::code_bytes(files, device_.target());
    if (!bytes) return zrt::pass(bytes);
    auto code = CardMemory::allocate(device_, pm4::Heap::bar, *bytes, pm4::Access::execute);
    if (!code) return zrt::pass(code);
    pm4::KernelTable table(zrt::system_allocator());
    if (auto r = table.load<Target>(files, device_.target(), code->address(), code->span()); !r) return zrt::pass(r);
    const std::vector<KernelCase> cases = kernel_cases();
    for (const pm4::Kernel& kernel : table.kernels())
      if (std::ranges::find(cases, kernel.name.view(), &KernelCase::kernel) == cases.end())
        return zrt::fail(zrt::Errc::unimplemented, "there is no case for kernel ", kernel.name.view());
    for (const KernelCase& c : cases) {
      const pm4::Kernel* const kernel = table.find(c.kernel);
      if (kernel == nullptr) return zrt::fail(zrt::Errc::not_found, "there is no kernel ", std::string_view(c.kernel));
      for (const bool indirect : {false, true})
        if (auto r = launch(*kernel, c, indirect); !r) return named(c.kernel, r.error());
    }
    return cases.size();
  }

  /// Errors: a packet of the catalog, or a value of a field, that has not run and is not left out by name.
  [[nodiscard]] zrt::Result<void> complete() const {
    const std::string missing = coverage_.missing(device_.tier() == pm4::Tier::user_queue);
    if (missing.empty()) return {};
    return zrt::fail(zrt::Errc::unimplemented, "there is no case for ", std::string_view(missing));
  }

 private:
  static std::unexpected<zrt::Error> named(std::string_view what, const zrt::Error& why) {
    return zrt::fail(why.code(), what, ": ", why.text());
  }
  zrt::Result<void> run(std::span<const std::uint32_t> packets) {
    if (auto r = coverage_.add(packets, pm4::Place::ring); !r) return r;
    const auto fence = queue_.submit(packets);
    if (!fence) return zrt::pass(fence);
    return queue_.wait(*fence, kSelftestTimeout);
  }

  zrt::Result<void> launch(const pm4::Kernel& kernel, const KernelCase& c, bool indirect) {
    if (kernel.buffers != c.buffers.size() || kernel.value_bytes != c.values.size() * 4)
      return zrt::fail(zrt::Errc::invalid_file, "it has ", kernel.buffers, " buffers and ", kernel.value_bytes,
                       " bytes of values, ", c.buffers.size(), " and ", c.values.size() * 4, " expected");
    auto arguments = CardMemory::allocate(device_, pm4::Heap::bar, 4096, pm4::Access::read);
    if (!arguments) return zrt::pass(arguments);
    std::byte* to = arguments->span().data();
    std::vector<CardMemory> memories;
    for (const CaseBuffer& buffer : c.buffers) {
      std::uint64_t address = 0;
      if (!buffer.before.empty()) {
        // What is read lies in video memory, what is written in the host's.
        const bool written = !buffer.after.empty();
        auto memory = CardMemory::allocate(device_, written ? pm4::Heap::host_visible : pm4::Heap::bar,
                                           buffer.before.size(), written ? pm4::Access::read_write : pm4::Access::read);
        if (!memory) return zrt::pass(memory);
        std::memcpy(memory->span().data(), buffer.before.data(), buffer.before.size());
        address = memory->address();
        memories.push_back(std::move(*memory));
      }
      zrt::write_little(to, address);
      to += 8;
    }
    for (const std::uint32_t value : c.values) {
      zrt::write_little(to, value);
      to += 4;
    }
    // Counts of an indirect launch, behind the arguments.
    constexpr std::size_t counts = 2048;
    for (std::size_t i = 0; i < 3; ++i) zrt::write_little(arguments->span().data() + counts + i * 4, c.grid[i]);
    std::array<std::uint32_t, 256> packets{};
    pm4::PacketWriter<Target> writer(packets);
    pm4::write_full_barrier(writer);
    // An indirect launch takes the registers of one that starts nothing.
    pm4::write_dispatch(writer, {.program = kernel.program,
                                 .arguments = arguments->address(),
                                 .workgroup = kernel.workgroup,
                                 .grid = indirect ? std::array<std::uint32_t, 3>{0, 1, 1} : c.grid,
                                 .wave32 = kernel.wave32});
    if (indirect) {
      writer.add(pm4::DispatchIndirect{arguments->address() + counts, {.wave32 = kernel.wave32}});
      writer.add(pm4::PartialFlush{});
    }
    const auto stream = writer.finish();
    if (!stream) return zrt::pass(stream);
    if (auto r = run(*stream); !r) return r;
    std::size_t next = 0;
    for (std::size_t i = 0; i < c.buffers.size(); ++i) {
      if (c.buffers[i].before.empty()) continue;
      const std::span<const std::byte> found = memories[next++].span();
      const std::vector<std::byte>& after = c.buffers[i].after;
      const auto [wrong, expected] = std::ranges::mismatch(found.first(after.size()), after);
      if (expected != after.end())
        return zrt::fail(zrt::Errc::spec_violation, "byte ", static_cast<std::uint64_t>(expected - after.begin()),
                         " of buffer ", i, " is ", static_cast<unsigned>(*wrong), ", ",
                         static_cast<unsigned>(*expected), " expected", indirect ? " (indirect launch)" : "");
    }
    return {};
  }

  const CardDevice& device_;
  CardQueue& queue_;
  PacketCoverage coverage_{Target::generation};
};

template <class Target> int selftest(const CardDevice& device) {
  auto queue = CardQueue::open(device);
  if (!queue) return failed(queue.error());
  Selftest<Target> test(device, *queue);
  const auto packets = test.packets();
  if (!packets) return failed(packets.error());
  const auto kernels = test.kernels(engines::kernels());
  if (!kernels) return failed(kernels.error());
  if (auto r = test.complete(); !r) return failed(r.error());
  const std::string text = std::string(device.target().name) + " by " + std::string(pm4::name(device.tier())) + ": " +
                           std::to_string(*packets) + " forms of packets, " + std::to_string(*kernels) +
                           " kernels, each as it should be\n";
  return print(text) ? kOk : cannot_write("stdout");
}

}  // namespace

int pm4_selftest(const Pm4CardOptions& o) {
  CardChoice choice = o.card;
  choice.finds_races = true;
  const auto card = CardSystem::make(choice);
  if (!card) return failed(card.error());
  const auto device = CardDevice::open((*card)->os(), forced_tier(o.card));
  if (!device) return failed(device.error());
  if (device->target().generation == pm4::Generation::gfx11) return selftest<pm4::Gfx1100>(*device);
  return selftest<pm4::Gfx1201>(*device);
}

}  // namespace program
