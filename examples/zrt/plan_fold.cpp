// SPDX-License-Identifier: Apache-2.0
// examples/zrt/plan_fold.cpp: a plan as few boxes.
#include "plan_fold.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <set>

namespace program::drawing {

using Json = nlohmann::ordered_json;

Places places(const Json& plan, const Json& arena) {
  Places out{std::vector<std::optional<ArenaRange>>(plan["registers"].size()),
             std::vector<std::optional<ArenaRange>>(plan["instructions"].size())};
  for (const Json& buffer : arena["buffers"]) {
    const ArenaRange place{buffer["offset"].get<std::uint64_t>(), buffer["bytes"].get<std::uint64_t>()};
    for (const Json& reg : buffer["registers"]) out.of_register[reg.get<std::size_t>()] = place;
    for (const Json& insn : buffer["scratch_of"]) out.scratch_of[insn.get<std::size_t>()] = place;
  }
  return out;
}

namespace {

std::optional<std::uint32_t> layer_of(const Json& insn) {
  if (!insn.contains("layer")) return std::nullopt;
  return insn["layer"].get<std::uint32_t>();
}

/// What instructions of two layers have in common when they do the same.
class Signatures {
 public:
  Signatures(const Json& plan, const Json* arena) : plan_(plan) {
    for (const Json& w : plan["weights"]) weights_[w["name"].get<std::string>()] = w["type"].get<std::string>();
    for (const auto& [port, reg] : plan["inputs"].items()) from_host_.insert(reg.get<std::size_t>());
    if (arena != nullptr) places_ = places(plan, *arena);
  }

  /// Of `size` instructions from `first` on.
  [[nodiscard]] std::string of(std::size_t first, std::size_t size) const {
    std::string out;
    for (std::size_t i = first; i < first + size; ++i) out += of(plan_["instructions"][i]) + "\n";
    return out;
  }

 private:
  [[nodiscard]] std::string of(const Json& insn) const {
    std::string out = insn["op"].get<std::string>();
    if (insn.contains("params")) out += insn["params"].dump();
    for (const char* side : {"inputs", "outputs"})
      for (const auto& [role, reg] : insn[side].items()) {
        out += " " + role + plan_["registers"][reg.get<std::size_t>()]["type"].get<std::string>();
        if (places_) out += place(places_->of_register[reg.get<std::size_t>()]);
      }
    for (const auto& [role, weight] : insn["weights"].items())
      out += " " + role + weights_.at(weight.get<std::string>());
    if (!places_) return out;
    // Which of its inputs die says how long registers live. What the host hands in dies in one layer alone.
    for (const auto& [role, reg] : insn["inputs"].items())
      for (const Json& dead : insn["dies"])
        if (dead == reg && !from_host_.contains(reg.get<std::size_t>())) out += " -" + role;
    return out + place(places_->scratch_of[insn["index"].get<std::size_t>()]);
  }

  static std::string place(const std::optional<ArenaRange>& place) {
    return place ? "@" + std::to_string(place->offset) + "+" + std::to_string(place->bytes) : std::string("@");
  }

  const Json& plan_;
  std::map<std::string, std::string> weights_;
  std::set<std::size_t> from_host_;
  std::optional<Places> places_;
};

/// A layer ends where it has as many instructions as the one before, if those do the same: what follows without a
/// weight of its own belongs to the head.
void part_from_last_layer(std::vector<FoldedRange>& boxes, const Signatures& signatures) {
  for (std::size_t i = boxes.size(); i-- > 1;) {
    const FoldedRange before = boxes[i - 1];
    FoldedRange& last = boxes[i];
    if (!last.layer) continue;
    if (!before.layer || last.size <= before.size ||
        signatures.of(before.first, before.size) != signatures.of(last.first, before.size))
      return;
    const FoldedRange rest{last.first + before.size, last.size - before.size, 1, {}};
    last.size = before.size;
    if (i + 1 < boxes.size() && !boxes[i + 1].layer) {
      boxes[i + 1].first = rest.first;
      boxes[i + 1].size += rest.size;
    } else {
      boxes.insert(boxes.begin() + static_cast<std::ptrdiff_t>(i) + 1, rest);
    }
    return;
  }
}

std::vector<FoldedRange> parts(const Json& plan) {
  std::vector<FoldedRange> boxes;
  const Json& instructions = plan["instructions"];
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const auto layer = layer_of(instructions[i]);
    if (boxes.empty() || boxes.back().layer != layer) boxes.push_back({i, 0, 1, layer});
    ++boxes.back().size;
  }
  part_from_last_layer(boxes, Signatures(plan, nullptr));
  return boxes;
}

}  // namespace

std::vector<FoldedRange> unfolded(const Json& plan) { return parts(plan); }

std::vector<FoldedRange> fold(const Json& plan, const Json* arena) {
  const Signatures signatures(plan, arena);
  std::vector<FoldedRange> boxes;
  for (const FoldedRange& part : parts(plan)) {
    const bool same = !boxes.empty() && boxes.back().layer && part.layer && boxes.back().size == part.size &&
                      signatures.of(boxes.back().first, part.size) == signatures.of(part.first, part.size);
    if (same)
      ++boxes.back().repeats;
    else
      boxes.push_back(part);
  }
  return boxes;
}

std::string label(const Json& plan, const FoldedRange& box) {
  if (box.layer) {
    const std::string first = std::to_string(*box.layer);
    return box.repeats == 1
               ? "layer " + first
               : "layers " + first + " to " + std::to_string(*box.layer + static_cast<std::uint32_t>(box.repeats) - 1);
  }
  std::string out;
  std::set<std::string> seen;
  for (std::size_t i = box.first; i < box.first + box.size; ++i) {
    const std::string op = plan["instructions"][i]["op"].get<std::string>();
    if (seen.insert(op).second && seen.size() <= 6) out += (out.empty() ? "" : ", ") + op;
  }
  return seen.size() > 6 ? out + " and others" : out;
}

}  // namespace program::drawing
