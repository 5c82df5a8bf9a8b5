// SPDX-License-Identifier: Apache-2.0
// examples/zrt/pm4_run.cpp: a recorded ring with its memory, run on the device model and held to what memory should be.
#include "commands.hpp"
#include "output.hpp"
#include <zrt/backend/pm4/emulator/command_processor.hpp>
#include <zrt/backend/pm4/emulator/run_dispatch.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <optional>

namespace program {
namespace {

using Json = nlohmann::ordered_json;
namespace pm4 = zrt::pm4;
using RegionBytes = std::vector<std::byte>;

/// A region of the case: its memory, and what it should be afterwards.
struct CaseRegion {
  std::string name;
  std::uint64_t address = 0;
  RegionBytes bytes{};
  RegionBytes after{};
};

/// Floats that may be rounded otherwise.
struct CaseFloats {
  std::string region;
  std::size_t offset = 0;
  double tolerance = 0;
  std::vector<double> values;
};

/// A folder with case.json; see the golden data.
struct RingCase {
  const pm4::TargetFacts* target = nullptr;
  std::string kernel;
  std::vector<CaseRegion> regions;
  std::vector<std::uint32_t> ring;
  CaseFloats floats;
};

zrt::Result<RegionBytes> read_region(const std::string& path, std::size_t size) {
  const auto text = read_file(path);
  if (!text) return zrt::pass(text);
  if (text->size() > size)
    return zrt::fail(zrt::Errc::invalid_file, std::string_view(path), " has ", text->size(), " bytes for a region of ",
                     size);
  RegionBytes bytes(size);
  if (!text->empty()) std::memcpy(bytes.data(), text->data(), text->size());
  return bytes;
}

/// Throws what nlohmann's library throws where case.json is not as it should be.
zrt::Result<RingCase> read_case(const std::string& folder) {
  constexpr std::size_t most = std::size_t{1} << 32;
  const auto text = read_file(folder + "/case.json");
  if (!text) return zrt::pass(text);
  const Json json = Json::parse(*text);
  RingCase c;
  c.kernel = json.at("kernel").get<std::string>();
  c.target = pm4::find_target(json.at("target").get<std::string>());
  if (c.target == nullptr) return zrt::fail(zrt::Errc::unsupported_device, "the case is for none of RDNA3 and RDNA4");
  for (const Json& r : json.at("regions")) {
    CaseRegion region{.name = r.at("name"), .address = std::stoull(r.at("va").get<std::string>(), nullptr, 16)};
    const auto size = r.at("size").get<std::size_t>();
    if (size > most) return zrt::fail(zrt::Errc::limit_exceeded, "a region has ", size, " bytes");
    auto before = read_region(folder + "/" + r.at("file").get<std::string>(), size);
    if (!before) return zrt::pass(before);
    auto after = r.contains("after") ? read_region(folder + "/" + r["after"].get<std::string>(), size) : *before;
    if (!after) return zrt::pass(after);
    region.bytes = std::move(*before);
    region.after = std::move(*after);
    c.regions.push_back(std::move(region));
  }
  const auto ring = read_file(folder + "/" + json.at("ring").at("file").get<std::string>());
  if (!ring) return zrt::pass(ring);
  c.ring.resize(ring->size() / 4);
  if (!c.ring.empty()) std::memcpy(c.ring.data(), ring->data(), c.ring.size() * 4);
  if (json.contains("expect_f32") && json["expect_f32"].is_object()) {
    const Json& f = json["expect_f32"];
    c.floats = {f.at("region"), f.at("offset"), f.at("tolerance"), f.at("values")};
  }
  return c;
}

bool is_close(const RingCase& c, const CaseRegion& region, std::size_t at) {
  const CaseFloats& f = c.floats;
  if (region.name != f.region || at < f.offset || (at - f.offset) / 4 >= f.values.size()) return false;
  float got = 0;
  std::memcpy(&got, &region.bytes[at], 4);
  const double want = f.values[(at - f.offset) / 4];
  return std::fabs(got - want) <= f.tolerance * std::max(1.0, std::fabs(want));
}

/// The first word that is not as it should be, the others that are close to it counted; nothing where all are.
std::optional<std::size_t> first_difference(const RingCase& c, const CaseRegion& region, std::size_t& rounded) {
  for (std::size_t at = 0; at + 4 <= region.bytes.size(); at += 4) {
    if (std::memcmp(&region.bytes[at], &region.after[at], 4) == 0) continue;
    if (!is_close(c, region, at)) return at;
    ++rounded;
  }
  return std::nullopt;
}

zrt::Result<Json> run_case(RingCase& c) {
  pm4::emulator::AddressSpace space;
  using pm4::emulator::Permission;
  for (CaseRegion& region : c.regions) {
    const Permission permission =
        region.name == "code" ? Permission::read | Permission::execute : Permission::read | Permission::write;
    if (auto r = space.map(region.address, region.bytes, permission, region.name); !r) return zrt::pass(r);
  }
  std::uint64_t instructions = 0;
  pm4::emulator::CommandProcessor queue(space, *c.target);
  const auto ran = queue.run(c.ring, [&](const auto& dispatch, const auto& memory) -> zrt::Result<void> {
    const auto counters = pm4::emulator::run(dispatch, memory);
    if (!counters) return zrt::pass(counters);
    instructions += counters->wave_instructions;
    return {};
  });
  if (!ran) return zrt::pass(ran);
  Json out{{"target", std::string(c.target->name)}, {"kernel", c.kernel},
           {"packets", queue.counters().packets},   {"dispatches", queue.counters().dispatches},
           {"wave_instructions", instructions},     {"match", true}};
  for (const CaseRegion& region : c.regions) {
    std::size_t rounded = 0;
    const auto at = first_difference(c, region, rounded);
    Json one{{"name", region.name}, {"match", !at}, {"rounded_otherwise", rounded}};
    if (at) {
      out["match"] = false;
      one["first_difference"] = *at;
      one["found"] = zrt::read_little<std::uint32_t>(&region.bytes[*at]);
      one["expected"] = zrt::read_little<std::uint32_t>(&region.after[*at]);
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
      text += "byte " + number(region["first_difference"]) + " holds " +
              std::string(pm4::Hex(region["found"].get<std::uint64_t>())) + ", " +
              std::string(pm4::Hex(region["expected"].get<std::uint64_t>())) + " expected\n";
  }
  return text + (ran["match"].get<bool>() ? "match\n" : "no match\n");
}

}  // namespace

int pm4_run(const Pm4RunOptions& o) {
  try {
    auto c = read_case(o.folder);
    if (!c) return failed(c.error());
    const auto ran = run_case(*c);
    if (!ran) return failed(ran.error());
    if (!print(o.json ? ran->dump(2) + "\n" : run_text(*ran))) return cannot_write("stdout");
    return (*ran)["match"].get<bool>() ? kOk : kFailed;
  } catch (const std::exception& error) {
    return failed(zrt::fail(zrt::Errc::invalid_file, "case.json: ", error.what()).error());
  }
}

}  // namespace program
