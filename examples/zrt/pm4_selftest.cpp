// SPDX-License-Identifier: Apache-2.0
// examples/zrt/pm4_selftest.cpp: each packet and each kernel, once on a card.
#include "commands.hpp"
#include "open_card.hpp"
#include "output.hpp"
#include "packet_cases.hpp"
#include "packet_coverage.hpp"
#include <zrt/backend/pm4/selftest/self_test.hpp>

#include <algorithm>

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
    auto page = CardMemory::allocate(device_, pm4::Heap::host_visible, 4096, pm4::GpuAccess::read_write);
    if (!page) return zrt::pass(page);
    auto inside = CardMemory::allocate(device_, pm4::Heap::host_visible, 4096, pm4::GpuAccess::read);
    if (!inside) return zrt::pass(inside);
    const PacketCases<Target> cases(queue_, page->address(), *inside, device_.tier() == pm4::Tier::user_queue);
    for (const auto& stream : cases.inside())
      if (auto r = coverage_.add(stream, pm4::PacketPlace::indirect_buffer); !r) return zrt::pass(r);
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
    auto code = CardMemory::allocate(device_, pm4::Heap::bar, *bytes, pm4::GpuAccess::execute);
    if (!code) return zrt::pass(code);
    pm4::KernelTable table(zrt::system_allocator());
    if (auto r = table.load<Target>(files, device_.target(), code->address(), code->span()); !r) return zrt::pass(r);
    Walk walk{this, &table, {}};
    const auto visited =
        zrt::device::for_each_kernel_case(zrt::system_allocator(), zrt::device::kUploads,
                                          {&walk, [](void* context, const zrt::device::KernelCase& c) noexcept {
                                             return static_cast<Walk*>(context)->visit(c);
                                           }});
    if (!visited) return zrt::pass(visited);
    for (const pm4::Kernel& kernel : table.kernels())
      if (std::ranges::find(walk.tried, kernel.signature.name.view()) == walk.tried.end())
        return zrt::fail(zrt::Errc::unimplemented, "there is no case for kernel ", kernel.signature.name.view());
    return walk.tried.size();
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
    if (auto r = coverage_.add(packets, pm4::PacketPlace::ring); !r) return r;
    const auto fence = queue_.submit(packets);
    if (!fence) return zrt::pass(fence);
    return queue_.wait(*fence, kSelftestTimeout);
  }

  /// The cases, each by both kinds of launch.
  struct Walk {
    Selftest* test;
    const pm4::KernelTable* table;
    std::vector<std::string> tried;

    zrt::Result<void> visit(const zrt::device::KernelCase& c) {
      const pm4::Kernel* const kernel = table->find(c.kernel_name());
      const zrt::device::KernelAbi* const abi = zrt::device::find_kernel_abi(c.kernel_name());
      if (kernel == nullptr && abi != nullptr && abi->is_optional) return {};
      if (kernel == nullptr) return zrt::fail(zrt::Errc::not_found, "there is no kernel ", c.kernel_name());
      tried.emplace_back(c.kernel_name());
      for (const pm4::GridSource grid : {pm4::GridSource::packet, pm4::GridSource::memory}) {
        const auto run = [&](std::span<const std::uint32_t> packets) { return test->run(packets); };
        if (auto r = pm4::run_case<Target, CardMemory>(test->device_, *kernel, c, grid, run); !r)
          return named(c.kernel_name(), r.error());
      }
      return {};
    }
  };

  const CardDevice& device_;
  CardQueue& queue_;
  PacketCoverage coverage_{Target::generation};
};

/// `name` is what the card is called.
template <class Target> int selftest(const CardDevice& device, const std::string& name) {
  auto queue = CardQueue::open(device);
  if (!queue) return failed(queue.error());
  Selftest<Target> test(device, *queue);
  const auto packets = test.packets();
  if (!packets) return failed(packets.error());
  const auto kernels = test.kernels(engines::kernels());
  if (!kernels) return failed(kernels.error());
  if (auto r = test.complete(); !r) return failed(r.error());
  const std::string text = name + " by " + std::string(pm4::name(device.tier())) + ": " + std::to_string(*packets) +
                           " forms of packets, " + std::to_string(*kernels) + " kernels, each as it should be\n";
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
  const std::string name = (*card)->name_of(device->target());
  if (device->target().generation == pm4::Generation::gfx11) return selftest<pm4::Gfx1100>(*device, name);
  return selftest<pm4::Gfx1201>(*device, name);
}

}  // namespace program
