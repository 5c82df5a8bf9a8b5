// SPDX-License-Identifier: Apache-2.0
// examples/zrt/pm4_run.cpp: a recorded ring with its memory, run on the device model and held to what memory should be.
#include "commands.hpp"
#include "output.hpp"
#include "ring_case.hpp"
#include <zrt/emulator/command_processor.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <pm4_model.hpp>

namespace program {
namespace {

using Json = nlohmann::ordered_json;
namespace pm4 = zrt::pm4;

/// Memory of at most a word that is not as it should be.
struct ChangedWord {
  std::size_t at = 0;
  std::string found, expected;
};

std::string hex(const RegionBytes& bytes, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, &bytes[at], std::min<std::size_t>(4, bytes.size() - at));
  return std::string(pm4::Hex(value));
}

/// The first word of region `index` that is neither as it was afterwards nor a float that is near to what is
/// expected, or a float that is not near although it is as it was; the near ones counted.
std::optional<ChangedWord> first_difference(const RingCase& c, std::size_t index, std::size_t& rounded) {
  const CaseRegion& region = c.regions[index];
  for (std::size_t at = 0; at < region.bytes.size(); at += 4) {
    const bool same =
        std::memcmp(&region.bytes[at], &region.after[at], std::min<std::size_t>(4, region.bytes.size() - at)) == 0;
    if (!c.floats || !c.floats->hold(index, at)) {
      if (!same) return ChangedWord{at, hex(region.bytes, at), hex(region.after, at)};
      continue;
    }
    float got = 0;
    std::memcpy(&got, &region.bytes[at], 4);
    if (!c.floats->are_near(at, got))
      return ChangedWord{at, std::to_string(got), std::to_string(c.floats->values[(at - c.floats->offset) / 4])};
    rounded += same ? 0 : 1;
  }
  return std::nullopt;
}

zrt::Result<Json> run_case(RingCase& c) {
  zrt::emulator::AddressSpace space;
  using zrt::emulator::Permission;
  for (CaseRegion& region : c.regions) {
    const Permission permission =
        region.name == "code" ? Permission::read | Permission::execute : Permission::read | Permission::write;
    if (auto r = space.map(region.address, region.bytes, permission, region.name); !r) return zrt::pass(r);
  }
  if (auto r = space.map(c.ring_address, c.ring, Permission::read, "ring"); !r) return zrt::pass(r);
  std::uint64_t instructions = 0;
  zrt::emulator::CommandProcessor queue(space, *c.target);
  queue.follow_workgroups();
  const auto ran = queue.run(c.packets, [&](const auto& dispatch, const auto& memory) -> zrt::Result<void> {
    const auto counters = engines::run_grid(dispatch, memory);
    if (!counters) return zrt::pass(counters);
    instructions += counters->wave_instructions;
    return {};
  });
  if (!ran) return zrt::pass(ran);
  Json out{{"target", std::string(c.target->name)}, {"kernel", c.kernel},
           {"packets", queue.counters().packets},   {"dispatches", queue.counters().dispatches},
           {"wave_instructions", instructions},     {"match", true}};
  for (std::size_t i = 0; i < c.regions.size(); ++i) {
    std::size_t rounded = 0;
    const auto difference = first_difference(c, i, rounded);
    Json one{{"name", c.regions[i].name}, {"match", !difference}, {"rounded_otherwise", rounded}};
    if (difference) {
      out["match"] = false;
      one["first_difference"] = difference->at;
      one["found"] = difference->found;
      one["expected"] = difference->expected;
    }
    out["regions"].push_back(std::move(one));
  }
  return out;
}

std::string run_text(const Json& ran) {
  const auto number = [](const Json& value) { return std::to_string(value.get<std::uint64_t>()); };
  std::string text = ran["target"].get<std::string>() + " " + ran["kernel"].get<std::string>() + ": " +
                     number(ran["packets"]) + " packets, " + number(ran["dispatches"]) + " dispatches, " +
                     number(ran["wave_instructions"]) + " wave instructions\n";
  for (const Json& region : ran["regions"]) {
    text += "  " + region["name"].get<std::string>() + ": ";
    if (region["match"].get<bool>())
      text += region["rounded_otherwise"] == 0 ? "as expected\n"
                                               : number(region["rounded_otherwise"]) + " floats rounded otherwise\n";
    else
      text += "byte " + number(region["first_difference"]) + " holds " + region["found"].get<std::string>() + ", " +
              region["expected"].get<std::string>() + " expected\n";
  }
  return text + (ran["match"].get<bool>() ? "match\n" : "no match\n");
}

}  // namespace

int pm4_run(const Pm4RunOptions& o) {
  auto c = read_ring_case(o.folder);
  if (!c) return failed(c.error());
  const auto ran = run_case(*c);
  if (!ran) return failed(ran.error());
  if (!print(o.json ? ran->dump(2) + "\n" : run_text(*ran))) return cannot_write("stdout");
  return (*ran)["match"].get<bool>() ? kOk : kFailed;
}

}  // namespace program
