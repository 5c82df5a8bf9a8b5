// SPDX-License-Identifier: Apache-2.0
// tests/pm4/listing_os.hpp: the modelled machine with a list of the calls that were made, and of what they asked for.
#pragma once

#include <pm4/queue_machine.hpp>
#include <string>
#include <utility>
#include <vector>

namespace zrt::test {

/// Calls by the names of a tier's list, each with what it asks for: the flags of memory, the query, the operation.
template <class Tier> class ListingOs : public EmulatedOs {
 public:
  using EmulatedOs::EmulatedOs;

  pm4::SystemValue ioctl(int file, std::uint32_t request, void* argument) noexcept {
    std::string call(pm4::call_name(Tier::calls, request));
    const auto add = [&](std::uint64_t value) { call += ' ' + std::string(zrt::emulator::hex(value).view()); };
    if constexpr (std::is_same_v<Tier, Kfd>) {
      if (request == pm4::kfd::kAllocMemory) add(static_cast<const pm4::kfd::AllocMemory*>(argument)->flags);
    } else {
      using namespace pm4::umq;
      if (request == kGemCreate) {
        add(static_cast<const GemCreate*>(argument)->domains);
        add(static_cast<const GemCreate*>(argument)->domain_flags);
      }
      if (request == kInfo) add(static_cast<std::uint64_t>(static_cast<const Info*>(argument)->query));
      const auto& va = *static_cast<const GemVa*>(argument);
      if (request == kGemVa) call += va.operation == VaOperation::unmap ? " unmap" : " map";
      if (request == kGemVa && va.flags != 0) add(va.flags);
      if (request == kUserQueue) add(static_cast<std::uint64_t>(static_cast<const UserQueue*>(argument)->op));
    }
    calls.push_back(call);
    return EmulatedOs::ioctl(file, request, argument);
  }
  std::vector<std::string> take() { return std::exchange(calls, {}); }

  std::vector<std::string> calls;
};

}  // namespace zrt::test
