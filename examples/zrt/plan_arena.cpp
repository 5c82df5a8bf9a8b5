// SPDX-License-Identifier: Apache-2.0
// examples/zrt/plan_arena.cpp: an arena as a picture.
#include "markup.hpp"
#include "output.hpp"
#include "plan_arena.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace program::drawing {

using Json = nlohmann::ordered_json;

OpColours::OpColours(const Json& plan) {
  for (const Json& insn : plan["instructions"]) {
    const std::string rung = insn["rung"].get<std::string>(), op = insn["op"].get<std::string>();
    auto known = std::ranges::find(rungs_, rung, [](const auto& pair) { return pair.first; });
    if (known == rungs_.end()) known = rungs_.insert(rungs_.end(), {rung, {}});
    if (std::ranges::find(known->second, op) == known->second.end()) known->second.push_back(op);
  }
  // Blue to violet, green and yellow to red: far enough apart to tell rungs, wide enough to tell ops.
  const std::map<std::string, std::pair<double, double>> hues{
      {"fused", {185, 300}}, {"primitive", {20, 70}}, {"macro", {95, 150}}};
  for (const auto& [rung, ops] : rungs_) {
    const auto [low, high] = hues.at(rung);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const double hue = low + (high - low) * (static_cast<double>(i) + 0.5) / static_cast<double>(ops.size());
      colours_[ops[i]] = "hsl(" + decimal(std::round(hue)) + (i % 2 == 0 ? ",62%,72%)" : ",55%,82%)");
    }
  }
}

namespace {

constexpr double kLeft = 74, kTop = 34, kRight = 12, kHeight = 400;

/// Heights of bytes: each range between two ends of boxes takes the cube root of its bytes, so that one large scratch
/// does not press everything else into a line.
class ByteScale {
 public:
  ByteScale(const Places& places, std::uint64_t all, bool wide) {
    const double least = wide ? 14 : 5;
    std::vector<std::uint64_t> ends{0, all};
    for (const auto* list : {&places.of_register, &places.scratch_of})
      for (const auto& place : *list)
        if (place) ends.insert(ends.end(), {place->offset, place->offset + place->bytes});
    std::ranges::sort(ends);
    const auto again = std::ranges::unique(ends);
    ends.erase(again.begin(), again.end());
    double sum = 0;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) sum += std::cbrt(static_cast<double>(ends[i + 1] - ends[i]));
    double y = kTop;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      at_[ends[i]] = y;
      if (i + 1 < ends.size())
        y += std::max(least, kHeight * std::cbrt(static_cast<double>(ends[i + 1] - ends[i])) / sum);
    }
  }

  [[nodiscard]] double operator()(std::uint64_t offset) const { return at_.at(offset); }
  [[nodiscard]] double bottom() const { return at_.rbegin()->second; }
  [[nodiscard]] const std::map<std::uint64_t, double>& ends() const { return at_; }

 private:
  std::map<std::uint64_t, double> at_;
};

/// Where instructions stand; those of folded layers but the first have no column.
class Columns {
 public:
  Columns(const std::vector<FoldedRange>& boxes, std::size_t instructions, bool wide)
      : column_of_(instructions), width_(wide ? 74 : 7), gap_(wide ? 22 : 2) {
    double x = kLeft;
    for (const FoldedRange& box : boxes) {
      starts_.push_back(x);
      for (std::size_t i = 0; i < box.size; ++i, x += width_) column_of_[box.first + i] = x;
      ends_.push_back(x);
      x += gap_;
    }
    right_ = x - gap_;
  }

  [[nodiscard]] std::optional<double> of(std::size_t instruction) const { return column_of_[instruction]; }
  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double gap() const { return gap_; }
  [[nodiscard]] double start(std::size_t box) const { return starts_[box]; }
  [[nodiscard]] double end(std::size_t box) const { return ends_[box]; }
  [[nodiscard]] double right() const { return right_; }

 private:
  std::vector<std::optional<double>> column_of_;
  std::vector<double> starts_, ends_;
  double width_, gap_, right_ = 0;
};

/// A stretch of the picture from left to right.
struct Stretch {
  double from = 0, to = 0;
};

/// Where a register is drawn: from the middle of the column of the instruction that writes it to the middle of the last
/// that reads it. What lives on into layers that are not drawn ends at the edge of its box.
std::vector<Stretch> stretches(const Json& reg, bool is_input, const std::vector<FoldedRange>& boxes,
                               const Columns& columns) {
  const std::size_t written = reg["first_write"].get<std::size_t>();
  const Json& read = reg["last_read"];
  const bool is_read = read.is_number();
  const std::size_t last = is_read ? read.get<std::size_t>() : read == "caller" ? ~std::size_t{0} : written;
  const double half = columns.width() / 2;
  std::vector<Stretch> out;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const std::size_t first = boxes[b].first, end = first + boxes[b].size;
    if (written >= end || last < first) continue;
    Stretch s{columns.start(b), columns.end(b)};
    if (written >= first && !is_input) s.from = *columns.of(written) + half;
    if (last < end) s.to = *columns.of(last) + (is_read ? half : 2 * half);
    if (!out.empty() && boxes[b - 1].repeats == 1)
      out.back().to = s.to;  // on from the box before
    else
      out.push_back(s);
  }
  return out;
}

std::string title_of(const Json& plan, const Json& reg, const std::optional<std::size_t>& writer,
                     const std::string& name, const ArenaRange& place) {
  std::string out = "r" + reg["index"].dump() + "  " + reg["type"].get<std::string>() + "\n";
  out += writer ? "written by " + std::to_string(*writer) + " " +
                      plan["instructions"][*writer]["op"].get<std::string>() + " as " + name
                : "input " + name;
  const Json& read = reg["last_read"];
  out += read.is_number() ? "\nlast read by " + read.dump() + " " +
                                plan["instructions"][read.get<std::size_t>()]["op"].get<std::string>()
         : read == "caller" ? "\nread by the caller"
                            : "\nnever read";
  return out + "\nbytes " + grouped(place.offset) + " to " + grouped(place.offset + place.bytes) + " (" +
         bytes_text(place.bytes) + ")";
}

class Picture {
 public:
  Picture(const Json& plan, const Json& arena, const std::vector<FoldedRange>& boxes, const OpColours& colours,
          bool wide)
      : plan_(plan),
        boxes_(boxes),
        colours_(colours),
        wide_(wide),
        places_(places(plan, arena)),
        y_(places_, arena["bytes"].get<std::uint64_t>(), wide),
        x_(boxes, plan["instructions"].size(), wide) {
    for (const auto& [name, reg] : plan["inputs"].items()) names_[reg.get<std::size_t>()] = {std::nullopt, name};
    for (const Json& insn : plan["instructions"])
      for (const auto& [role, reg] : insn["outputs"].items())
        names_[reg.get<std::size_t>()] = {insn["index"].get<std::size_t>(), role};
  }

  [[nodiscard]] std::string svg() {
    std::string inside = bands() + lines();
    for (std::size_t i = 0; i < places_.scratch_of.size(); ++i) inside += scratch(i);
    for (const Json& reg : plan_["registers"]) inside += boxes_of(reg);
    if (wide_) inside += op_names();
    const double width = x_.right() + kRight, height = y_.bottom() + (wide_ ? 96 : 12);
    return element("svg",
                   {{"xmlns", "http://www.w3.org/2000/svg"},
                    {"class", wide_ ? "arena" : "arena all"},
                    {"width", decimal(width)},
                    {"height", decimal(height)},
                    {"viewBox", "0 0 " + decimal(width) + " " + decimal(height)},
                    {"role", "img"}},
                   inside);
  }

 private:
  static std::string text(double x, double y, const char* style, const std::string& what,
                          const std::string& turned = {}) {
    Attributes attributes{{"x", decimal(x)}, {"y", decimal(y)}, {"class", style}};
    if (!turned.empty()) attributes.emplace_back("transform", turned);
    return element("text", attributes, escaped(what));
  }
  static std::string box(const char* style, double x, double y, double width, double height, const std::string& fill,
                         const std::string& title) {
    Attributes attributes{{"class", style},
                          {"x", decimal(x)},
                          {"y", decimal(y)},
                          {"width", decimal(std::max(width, 0.5))},
                          {"height", decimal(height)}};
    if (!fill.empty()) attributes.emplace_back("fill", fill);
    return element("rect", attributes, element("title", {}, escaped(title)));
  }

  /// A pale ground for each box of instructions, with its name above.
  [[nodiscard]] std::string bands() const {
    std::string out;
    for (std::size_t b = 0; b < boxes_.size(); ++b) {
      const FoldedRange& fold = boxes_[b];
      const std::string name = label(plan_, fold);
      out += box(fold.layer ? "band layer" : "band", x_.start(b) - x_.gap() / 4, kTop - 6,
                 x_.end(b) - x_.start(b) + x_.gap() / 2, y_.bottom() - kTop + 12, {}, name);
      const double middle = (x_.start(b) + x_.end(b)) / 2;
      if (wide_ && fold.layer)
        out += text(middle, kTop - 14, "head", name + (fold.repeats > 1 ? ": alike, drawn once" : ""));
      else if (wide_)
        out += text(middle, kTop - 14, "head", b == 0 ? "before" : "after");
      else if (fold.layer)
        out += text(middle, kTop - 14, "head", std::to_string(*fold.layer));
    }
    return out;
  }

  /// The byte at each end of a box, where there is room for it.
  [[nodiscard]] std::string lines() const {
    std::string out;
    double last = -100;
    std::string said;
    for (const auto& [offset, y] : y_.ends()) {
      const bool is_end = offset == y_.ends().rbegin()->first;
      const bool crowded = y - last < 13 || y_.bottom() - y < 13 || bytes_text(offset) == said;
      if (crowded && !is_end) continue;
      last = y;
      said = bytes_text(offset);
      out += element("line", {{"class", "tick"},
                              {"x1", decimal(kLeft - 8)},
                              {"x2", decimal(x_.right() + 4)},
                              {"y1", decimal(y)},
                              {"y2", decimal(y)}});
      out += text(kLeft - 11, y + 3.5, "byte", said);
    }
    return out;
  }

  [[nodiscard]] std::string scratch(std::size_t i) const {
    const auto& place = places_.scratch_of[i];
    const auto x = x_.of(i);
    if (!place || !x) return {};
    const double y = y_(place->offset), inset = x_.width() * 0.08;
    const double height = y_(place->offset + place->bytes) - y;
    const std::string op = plan_["instructions"][i]["op"].get<std::string>();
    std::string out = box("scratch", *x + inset, y + 0.5, x_.width() - 2 * inset, height - 1, {},
                          "scratch of " + std::to_string(i) + " " + op + "\nbytes " + grouped(place->offset) + " to " +
                              grouped(place->offset + place->bytes) + " (" + bytes_text(place->bytes) + ")");
    if (wide_ && height >= 12) out += text(*x + x_.width() / 2, y + height / 2 + 3.5, "in", "scratch");
    return out;
  }

  /// Each stretch of a register that is drawn.
  [[nodiscard]] std::string boxes_of(const Json& reg) const {
    const std::size_t r = reg["index"].get<std::size_t>();
    const auto& place = places_.of_register[r];
    if (!place) return {};
    const auto& [writer, name] = names_.at(r);
    const std::string fill =
        writer ? colours_.of(plan_["instructions"][*writer]["op"].get<std::string>()) : std::string("#d5d8dc");
    const double y = y_(place->offset), height = y_(place->offset + place->bytes) - y;
    std::string out;
    for (const Stretch& s : stretches(reg, !writer, boxes_, x_)) {
      const double width = s.to - s.from;
      out += box("register", s.from + 0.75, y + 0.75, width - 1.5, height - 1.5, fill,
                 title_of(plan_, reg, writer, name, *place));
      const std::string shown = "r" + std::to_string(r);
      if (!wide_ || height < 12 || width < 20) continue;
      const bool roomy = width > 8.0 * static_cast<double>(shown.size() + name.size() + 1);
      out += text((s.from + s.to) / 2, y + height / 2 + 3.5, "in", roomy ? shown + " " + name : shown);
    }
    return out;
  }

  [[nodiscard]] std::string op_names() const {
    std::string out;
    for (const FoldedRange& fold : boxes_)
      for (std::size_t i = fold.first; i < fold.first + fold.size; ++i) {
        const double x = *x_.of(i) + x_.width() / 2 + 4, y = y_.bottom() + 18;
        const std::string op = plan_["instructions"][i]["op"].get<std::string>();
        out += text(x, y, "op", std::to_string(i) + " " + (op.size() > 20 ? op.substr(0, 19) + "…" : op),
                    "rotate(-28 " + decimal(x) + " " + decimal(y) + ")");
      }
    return out;
  }

  const Json& plan_;
  const std::vector<FoldedRange>& boxes_;
  const OpColours& colours_;
  bool wide_;
  Places places_;
  ByteScale y_;
  Columns x_;
  std::map<std::size_t, std::pair<std::optional<std::size_t>, std::string>> names_;
};

}  // namespace

std::string arena_svg(const Json& plan, const Json& arena, const std::vector<FoldedRange>& boxes,
                      const OpColours& colours, bool wide) {
  return Picture(plan, arena, boxes, colours, wide).svg();
}

}  // namespace program::drawing
