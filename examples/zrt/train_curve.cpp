// SPDX-License-Identifier: Apache-2.0
// examples/zrt/train_curve.cpp: the losses of a training as a drawing.
#include "train_curve.hpp"

#include <algorithm>
#include <cstdio>

namespace program {
namespace {

constexpr double kLeft = 64, kTop = 16, kWidth = 656, kHeight = 300;
constexpr std::size_t kMostPoints = 328;

struct CurvePoint {
  double step, loss;
};

/// The losses, or the means of equal stretches of them.
std::vector<CurvePoint> points_of(const std::vector<float>& losses) {
  const std::size_t stretch = (losses.size() + kMostPoints - 1) / kMostPoints;
  std::vector<CurvePoint> points;
  for (std::size_t from = 0; from < losses.size(); from += stretch) {
    const std::size_t count = std::min(stretch, losses.size() - from);
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(losses[from + i]);
    points.push_back(
        {static_cast<double>(from) + static_cast<double>(count + 1) / 2, sum / static_cast<double>(count)});
  }
  return points;
}

std::string number_text(double number, int digits = 4) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.*g", digits, number);
  return text;
}

/// Where steps and losses lie on the drawing.
struct CurveScale {
  double steps, least, most;

  [[nodiscard]] double x(double step) const { return kLeft + kWidth * step / steps; }
  [[nodiscard]] double y(double loss) const { return kTop + kHeight * (most - loss) / (most - least); }
};

std::string polyline(const std::vector<CurvePoint>& points, const CurveScale& scale, std::string_view colour) {
  std::string text = "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + std::string(colour) + "\" points=\"";
  for (const CurvePoint& point : points)
    text += number_text(scale.x(point.step)) + "," + number_text(scale.y(point.loss)) + " ";
  return text + "\"/>\n";
}

std::string text_at(double x, double y, std::string_view anchor, const std::string& text) {
  return "<text x=\"" + number_text(x) + "\" y=\"" + number_text(y) + "\" text-anchor=\"" + std::string(anchor) +
         "\">" + text + "</text>\n";
}

}  // namespace

std::string loss_curve(const std::vector<float>& losses, const std::vector<HeldOutLoss>& validations) {
  std::vector<CurvePoint> batches = points_of(losses);
  std::vector<CurvePoint> held;
  for (const HeldOutLoss& v : validations) held.push_back({static_cast<double>(v.step), static_cast<double>(v.loss)});
  CurveScale scale{std::max(1.0, static_cast<double>(losses.size())), 0, 1};
  if (!batches.empty()) scale.least = scale.most = batches[0].loss;
  for (const auto* line : {&batches, &held})
    for (const CurvePoint& point : *line) {
      scale.least = std::min(scale.least, point.loss);
      scale.most = std::max(scale.most, point.loss);
    }
  if (!(scale.most > scale.least)) scale.most = scale.least + 1;
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 736 360\" font-family=\"sans-serif\" font-size=\"12\" "
      "fill=\"#555\">\n<title>Loss by steps</title>\n<rect width=\"736\" height=\"360\" fill=\"#fff\"/>\n";
  for (int i = 0; i <= 4; ++i) {
    const double loss = scale.least + (scale.most - scale.least) * i / 4, step = scale.steps * i / 4;
    svg += "<path stroke=\"#ddd\" d=\"M" + number_text(kLeft) + " " + number_text(scale.y(loss)) + "h" +
           number_text(kWidth) + "\"/>\n" + text_at(kLeft - 8, scale.y(loss) + 4, "end", number_text(loss, 3)) +
           text_at(scale.x(step), kTop + kHeight + 18, "middle", number_text(step));
  }
  svg += polyline(batches, scale, "#5b7cc4") + polyline(held, scale, "#d0532b");
  svg += text_at(kLeft, 352, "start",
                 "<tspan fill=\"#5b7cc4\">batches</tspan>" +
                     std::string(held.empty() ? "" : "   <tspan fill=\"#d0532b\">held out</tspan>"));
  return svg + "</svg>\n";
}

}  // namespace program
