// SPDX-License-Identifier: Apache-2.0
// examples/zrt/plan_page.cpp: a plan and its memory as one page.
#include "markup.hpp"
#include "output.hpp"
#include "plan_arena.hpp"
#include "plan_page.hpp"
#include "plan_style.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>

namespace program::drawing {

using Json = nlohmann::ordered_json;

namespace {

/// The kinds of bytes that an instruction moves, by their name in JSON and on the page.
constexpr std::array<std::pair<const char*, const char*>, 3> kKinds{
    {{"weights", "weights"}, {"pages", "keys and values"}, {"activations", "activations"}}};

std::string tag(std::string_view name, std::string_view style, const std::string& inside) {
  return element(name, style.empty() ? Attributes{} : Attributes{{"class", std::string(style)}}, inside);
}
std::string words(std::string_view name, std::string_view style, std::string_view text) {
  return tag(name, style, escaped(text));
}

/// Bytes of a step by kind.
struct Moved {
  std::array<std::uint64_t, kKinds.size()> by_kind{};

  void add(const Json& insn, std::uint64_t times = 1) {
    for (std::size_t k = 0; k < kKinds.size(); ++k)
      by_kind[k] += times * insn["bytes"][kKinds[k].first].get<std::uint64_t>();
  }
  [[nodiscard]] std::uint64_t all() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t bytes : by_kind) sum += bytes;
    return sum;
  }
};

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return decimal(whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole)) + "%";
}

/// "41.2 %", and "under 0.1 %" for what would read as nothing.
std::string share(std::uint64_t part, std::uint64_t whole) {
  const double value = whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part != 0 && value < 0.1) return "under 0.1 %";
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f %%", value);
  return text.data();
}

/// The kinds side by side, the whole as wide as `whole` bytes.
std::string stacked(const Moved& moved, std::uint64_t whole) {
  std::string out;
  for (std::size_t k = 0; k < kKinds.size(); ++k)
    if (moved.by_kind[k] != 0)
      out += element("span", {{"class", kKinds[k].first}, {"style", "width:" + percent(moved.by_kind[k], whole)}});
  return out;
}

std::string by_kind_text(const Moved& moved) {
  std::string out;
  for (std::size_t k = 0; k < kKinds.size(); ++k)
    if (moved.by_kind[k] != 0)
      out += (out.empty() ? "" : ", ") + std::string(kKinds[k].second) + " " + bytes_text(moved.by_kind[k]);
  return out.empty() ? "nothing" : out;
}

std::string bar(const Moved& moved, std::uint64_t whole) {
  return element("div", {{"class", "bar"}, {"title", by_kind_text(moved)}}, stacked(moved, whole));
}

std::string op_chip(const std::string& op, const OpColours& colours) {
  return element("span", {{"class", "op"}, {"style", "background:" + colours.of(op)}}, escaped(op));
}

std::string parameter_text(const Json& value) {
  if (!value.is_number_float()) return value.dump();
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.6g", value.get<double>());
  return text.data();
}

class Page {
 public:
  Page(const Json& plan, const Json& memory) : plan_(plan), memory_(memory), colours_(plan), boxes_(fold(plan)) {
    for (const FoldedRange& box : boxes_)
      for (std::size_t i = 0; i < box.size; ++i) step_.add(plan["instructions"][box.first + i], box.repeats);
    for (const Json& w : plan["weights"]) weights_[w["name"].get<std::string>()] = &w;
    for (const Json& insn : plan["instructions"])
      for (const auto& [role, reg] : insn["outputs"].items())
        writers_[reg.get<std::size_t>()] = insn["index"].dump() + " " + insn["op"].get<std::string>();
    for (const auto& [name, reg] : plan["inputs"].items()) writers_[reg.get<std::size_t>()] = "input " + name;
  }

  [[nodiscard]] std::string html() const {
    const std::string name = model_name();
    return "<!DOCTYPE html>\n" +
           element("html", {{"xmlns", "http://www.w3.org/1999/xhtml"}, {"lang", "en"}},
                   tag("head", {},
                       element("meta", {{"charset", "utf-8"}}) + words("title", {}, "The plan of " + name) +
                           tag("style", {}, kStyle)) +
                       "\n" + tag("body", {}, head(name) + step() + arenas() + heaps())) +
           "\n";
  }

 private:
  [[nodiscard]] std::string model_name() const {
    const std::string name = plan_["model"]["name"].get<std::string>();
    return name.empty() ? plan_["model"]["architecture"].get<std::string>() : name;
  }
  [[nodiscard]] std::string slots_text() const {
    const std::uint64_t slots = plan_["step"]["slots"].get<std::uint64_t>();
    return slots == 1 ? "one slot" : std::to_string(slots) + " slots";
  }

  static std::string tile(const std::string& value, const std::string& what) {
    return tag("div", "tile", words("b", {}, value) + words("span", "dim", what));
  }
  [[nodiscard]] std::uint64_t arena_bytes(const char* which) const {
    return memory_[which]["bytes"].get<std::uint64_t>();
  }
  [[nodiscard]] std::string head(const std::string& name) const {
    std::uint64_t all = 0;
    for (const Json& heap : memory_["heaps"]) all += heap["bytes"].get<std::uint64_t>();
    return words("h1", {}, name) +
           words("p", "dim",
                 plan_["model"]["architecture"].get<std::string>() + " on " + plan_["backend"].get<std::string>() +
                     " (" + plan_["isa"].get<std::string>() + "), " + slots_text() + " of " +
                     memory_["context"].dump() + " positions") +
           tag("div", "tiles",
               tile(grouped(plan_["instructions"].size()), "instructions") +
                   tile(grouped(plan_["registers"].size()),
                        "registers, at most " + plan_["peak_registers"].dump() + " alive") +
                   tile(bytes_text(step_.all()), "moved by a full step") +
                   tile(bytes_text(arena_bytes("decode_arena")), "arena of a decode step") +
                   tile(bytes_text(arena_bytes("prefill_arena")), "arena of a prefill step") +
                   tile(bytes_text(all), "memory in all"));
  }

  // --- the step ------------------------------------------------------------------------------------

  [[nodiscard]] Moved moved_by(const FoldedRange& box) const {
    Moved moved;
    for (std::size_t i = 0; i < box.size; ++i) moved.add(plan_["instructions"][box.first + i]);
    return moved;
  }

  [[nodiscard]] std::string kinds_key() const {
    std::string out;
    for (const auto& [style, name] : kKinds)
      out += tag("span", {}, element("i", {{"class", style}}, " ") + escaped(name));
    return tag("p", "key", out);
  }

  /// Every layer for itself, as wide as its bytes.
  [[nodiscard]] std::string strip() const {
    std::string out;
    for (const FoldedRange& box : boxes_) {
      const Moved moved = moved_by(box);
      for (std::size_t n = 0; n < box.repeats; ++n) {
        const std::string name = box.layer ? "layer " + std::to_string(*box.layer + n) : label(plan_, box);
        out += element("div",
                       {{"style", "width:" + percent(moved.all(), step_.all())},
                        {"title", name + ": " + bytes_text(moved.all()) + ", " + by_kind_text(moved)}},
                       stacked(moved, moved.all()) + strip_name(box, n, moved.all()));
      }
    }
    return tag("div", "strip", out);
  }

  /// What a stretch of the strip is called, where there is room for it.
  [[nodiscard]] std::string strip_name(const FoldedRange& box, std::size_t n, std::uint64_t bytes) const {
    if (static_cast<double>(bytes) < 0.02 * static_cast<double>(step_.all())) return {};
    return words("b", {}, box.layer ? std::to_string(*box.layer + n) : box.first == 0 ? "in" : "head");
  }

  /// "the slot generates a token", "each of 4 slots generates a token".
  [[nodiscard]] std::string step_text() const {
    const std::uint64_t slots = plan_["step"]["slots"].get<std::uint64_t>();
    return slots == 1 ? "the slot generates a token" : "each of " + std::to_string(slots) + " slots generates a token";
  }

  [[nodiscard]] std::string step() const {
    const Json& step = plan_["step"];
    std::string out = words("h2", {}, "One step, instruction by instruction") +
                      words("p", {},
                            "Widths are bytes: what each instruction reads and writes at least, when " + step_text() +
                                " and the cache holds " + grouped(step["cached"].get<std::uint64_t>()) +
                                " positions. The same plan runs every batch. Click a box to open it.") +
                      kinds_key() + strip();
    std::string boxes;
    for (const FoldedRange& box : boxes_) boxes += box_of(box);
    return out + tag("div", {}, boxes);
  }

  [[nodiscard]] std::string box_of(const FoldedRange& box) const {
    const Moved one = moved_by(box);
    const std::uint64_t all = one.all() * box.repeats;
    Moved total;
    for (std::size_t i = 0; i < box.size; ++i) total.add(plan_["instructions"][box.first + i], box.repeats);
    std::string name = escaped(label(plan_, box));
    if (box.repeats > 1) name += words("span", "times", std::to_string(box.repeats) + " ×");
    std::string inside =
        tag("summary", {},
            tag("span", {}, name) + bar(total, step_.all()) +
                tag("span", "bytes", escaped(bytes_text(all)) + " " + words("small", {}, share(all, step_.all()))));
    if (box.repeats > 1)
      inside += words("p", "dim note",
                      "The first of " + std::to_string(box.repeats) +
                          " layers that differ in their weights alone. Bars and shares below are of one layer.");
    for (std::size_t i = 0; i < box.size; ++i)
      inside += instruction(plan_["instructions"][box.first + i], box, one.all());
    return element("details",
                   {{"class", "box"},
                    {"data-first", std::to_string(box.first)},
                    {"data-size", std::to_string(box.size)},
                    {"data-repeats", std::to_string(box.repeats)},
                    {"data-bytes", std::to_string(all)}},
                   inside);
  }

  [[nodiscard]] std::string instruction(const Json& insn, const FoldedRange& box, std::uint64_t whole) const {
    Moved moved;
    moved.add(insn);
    const std::string op = insn["op"].get<std::string>();
    const std::string summary =
        tag("span", {}, words("small", {}, insn["index"].dump() + " ") + op_chip(op, colours_)) + bar(moved, whole) +
        tag("span", "bytes", escaped(bytes_text(moved.all())) + " " + words("small", {}, share(moved.all(), whole)));
    return element("details",
                   {{"class", "insn"},
                    {"data-index", insn["index"].dump()},
                    {"data-repeats", std::to_string(box.repeats)},
                    {"data-bytes", std::to_string(moved.all())}},
                   tag("summary", {}, summary) + operands(insn));
  }

  static std::string row(const std::string& what, const std::string& name, const std::string& inside) {
    return tag("tr", {}, words("td", "dim", what) + words("td", {}, name) + tag("td", {}, inside));
  }
  [[nodiscard]] std::string register_text(const Json& reg) const {
    const std::size_t r = reg.get<std::size_t>();
    return words("span", "type", "r" + reg.dump() + " " + plan_["registers"][r]["type"].get<std::string>());
  }
  [[nodiscard]] std::string operands(const Json& insn) const {
    std::string out;
    for (const auto& [role, reg] : insn["inputs"].items())
      out += row("reads", role,
                 register_text(reg) + words("span", "dim", ", from " + writers_.at(reg.get<std::size_t>())));
    for (const auto& [role, reg] : insn["outputs"].items()) out += row("writes", role, register_text(reg));
    for (const auto& [role, weight] : insn["weights"].items()) {
      const Json& w = *weights_.at(weight.get<std::string>());
      out += row("weight", role,
                 words("span", "type", weight.get<std::string>() + " " + w["type"].get<std::string>()) +
                     words("span", "dim", ", " + bytes_text(w["bytes"].get<std::uint64_t>())));
    }
    if (insn.contains("state"))
      out += row("state", insn["state"].dump(), escaped(state_text(insn["state"].get<std::size_t>())));
    if (insn.contains("params") && !insn["params"].empty()) {
      std::string list;
      for (const auto& [field, value] : insn["params"].items())
        list += (list.empty() ? "" : ", ") + field + " = " + parameter_text(value);
      out += row("parameters", "", escaped(list));
    }
    return tag("table", {}, out);
  }
  [[nodiscard]] std::string state_text(std::size_t id) const {
    const Json& s = plan_["states"][id];
    return s["type"].get<std::string>() + ", " + bytes_text(s["unit_bytes"].get<std::uint64_t>()) + " per " +
           s["unit"].get<std::string>();
  }

  // --- arenas --------------------------------------------------------------------------------------

  [[nodiscard]] std::string ops_key() const {
    std::string out;
    for (const auto& [rung, ops] : colours_.rungs()) {
      std::string line = words("b", {}, rung + " ops: ");
      for (const std::string& op : ops) line += op_chip(op, colours_) + " ";
      out += tag("p", {}, line);
    }
    return out;
  }

  [[nodiscard]] std::string arena(const char* which, const std::string& title) const {
    const Json& a = memory_[which];
    const std::vector<FoldedRange> all = unfolded(plan_);
    return words("h3", {}, title + ": " + bytes_text(arena_bytes(which))) +
           tag("div", "scroll", arena_svg(plan_, a, fold(plan_, &a), colours_, true)) +
           tag("details", {},
               words("summary", {}, "Every instruction, nothing folded") +
                   tag("div", "scroll", arena_svg(plan_, a, all, colours_, false)));
  }

  [[nodiscard]] std::string arenas() const {
    return words("h2", {}, "The arena") +
           words(
               "p", {},
               "One allocation holds every register. Time runs to the right, one column an instruction; bytes run "
               "down, on a scale of cube roots, so that small registers stay visible. A box is a register: it begins "
               "with the instruction that writes it and ends with the last that reads it. Boxes under each other live "
               "at the same time, boxes beside each other share bytes. Hatched is an instruction's scratch, grey what "
               "the host hands in. Point at a box for its type, its readers and its bytes.") +
           hatch() + ops_key() + arena("decode_arena", "A decode step, a token in each slot") +
           arena("prefill_arena", "A prefill step, up to " + memory_["prefill_tokens"].dump() + " tokens");
  }
  static std::string hatch() {
    const std::string stripes =
        element("rect", {{"width", "6"}, {"height", "6"}, {"fill", "#f3f4f6"}}) +
        element("line",
                {{"x1", "0"}, {"y1", "0"}, {"x2", "0"}, {"y2", "6"}, {"stroke", "#b8c0c9"}, {"stroke-width", "2"}});
    return element("svg",
                   {{"xmlns", "http://www.w3.org/2000/svg"}, {"width", "0"}, {"height", "0"}, {"aria-hidden", "true"}},
                   tag("defs", {},
                       element("pattern",
                               {{"id", "hatch"},
                                {"width", "6"},
                                {"height", "6"},
                                {"patternUnits", "userSpaceOnUse"},
                                {"patternTransform", "rotate(45)"}},
                               stripes)));
  }

  // --- heaps ---------------------------------------------------------------------------------------

  static std::string heap_row(const char* style, const std::string& heap, const std::string& what, std::uint64_t bytes,
                              std::uint64_t whole) {
    const std::string bar =
        element("div", {{"class", "bar"}},
                element("span", {{"class", "weights"}, {"style", "width:" + percent(bytes, whole)}}));
    return element("tr", {{"class", style}, {"data-bytes", std::to_string(bytes)}},
                   words("td", {}, heap) + words("td", {}, what) + words("td", "n", bytes_text(bytes)) +
                       words("td", "n", share(bytes, whole)) + tag("td", "bar-cell", bar));
  }

  [[nodiscard]] std::string heaps() const {
    std::uint64_t all = 0;
    for (const Json& heap : memory_["heaps"]) all += heap["bytes"].get<std::uint64_t>();
    std::string rows;
    for (const Json& heap : memory_["heaps"]) {
      rows += heap_row("heap", heap["heap"].get<std::string>(), "", heap["bytes"].get<std::uint64_t>(), all);
      for (const Json& part : heap["parts"])
        rows += heap_row("part", "", part["what"].get<std::string>(), part["bytes"].get<std::uint64_t>(), all);
    }
    return words("h2", {}, "Memory by heap") +
           words("p", {},
                 "What the open engine holds, with " + slots_text() + " of " + memory_["context"].dump() +
                     " positions: " + bytes_text(all) + " in all.") +
           element("table", {{"class", "heaps"}}, rows);
  }

  const Json& plan_;
  const Json& memory_;
  OpColours colours_;
  std::vector<FoldedRange> boxes_;
  Moved step_;
  std::map<std::string, const Json*> weights_;
  std::map<std::size_t, std::string> writers_;
};

}  // namespace

std::string plan_page(const Json& plan, const Json& memory) { return Page(plan, memory).html(); }

}  // namespace program::drawing
