// SPDX-License-Identifier: Apache-2.0
// examples/train.cpp: trains a small transformer over bytes on a text file, then lets it write.
//
// usage: train TEXT [steps=300] [batch=8] [length=64] [width=64] [heads=4] [layers=2] [dropout=0] [rate=0.003]
//              [seed=1] [print=50] [sample=200] [threads=1]
// The last tenth of the text is held out. tests/tools/train_byte_transformer.py does the same in PyTorch.
#include "train/byte_transformer.hpp"
#include <zrt/exec/fused_runner.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string_view>

namespace {

using namespace example;
// A host writes zrt::CpuBackend; this one shares what engines/programs.hpp declares as compiled elsewhere.
using Runner = zrt::FusedRunner<engines::CpuPrograms>;

/// A model on the backend with its batch, its variables and its outputs.
class Session {
 public:
  static zrt::Result<Session> make(const TransformerSizes& sizes, std::uint64_t seed,
                                   const zrt::ir::train::AdamW* optimizer, std::uint32_t threads) {
    auto model = TransformerBuilder(sizes, seed).build(optimizer);
    if (!model) return zrt::pass(model);
    std::vector<fused::FeedType> feeds{model->tokens, model->targets};
    for (const Variable& v : model->variables) feeds.push_back(v.feed);
    zrt::ProgramOptions options;
    options.threads = threads;
    auto runner = Runner::make(model->program, feeds, options);
    if (!runner) return zrt::pass(runner);
    return Session(std::move(*model), std::move(*runner));
  }

  /// Puts `text` in row `row`, each byte the target of the one before.
  void fill(std::size_t row, std::string_view text) {
    const std::size_t length = text.size() - 1;
    for (std::size_t i = 0; i < length; ++i) {
      tokens_[row * length + i] = static_cast<unsigned char>(text[i]);
      targets_[row * length + i] = static_cast<unsigned char>(text[i + 1]);
    }
  }
  /// Runs once, in training with the update; gives the loss.
  zrt::Result<float> run(bool training, std::uint64_t seed = 0) {
    std::vector<zrt::BoundFeed> feeds{{model_.tokens.id, {DType::si32, places(), std::as_bytes(std::span(tokens_))}},
                                      {model_.targets.id, {DType::si32, places(), std::as_bytes(std::span(targets_))}}};
    float loss = 0;
    zrt::Shape logits = places().appended(256);
    std::vector<zrt::TensorView> outputs{{DType::f32, {}, std::as_writable_bytes(std::span(&loss, 1))},
                                         {DType::f32, logits, std::as_writable_bytes(std::span(logits_))}};
    for (Variable& v : model_.variables)
      feeds.push_back({v.feed.id, {DType::f32, shape(v), std::as_bytes(std::span(v.data))}});
    for (const fused::StateUpdate& state : model_.program.state_out)
      for (Variable& v : model_.variables)
        if (v.feed.id == state.state)
          outputs.push_back({DType::f32, shape(v), std::as_writable_bytes(std::span(v.data))});
    if (auto r = runner_.run(feeds, outputs, training, seed); !r) return zrt::pass(r);
    return loss;
  }

  std::span<const float> logits(std::size_t place) const { return std::span(logits_).subspan(place * 256, 256); }
  /// Takes the parameters of a session of another batch.
  void copy_parameters(const Session& from) {
    for (std::size_t i = 0; i < model_.variables.size(); ++i) model_.variables[i].data = from.model_.variables[i].data;
  }

 private:
  Session(Transformer model, Runner runner) : model_(std::move(model)), runner_(std::move(runner)) {
    const auto count = static_cast<std::size_t>(model_.sizes.batch * model_.sizes.length);
    tokens_.resize(count);
    targets_.resize(count);
    logits_.resize(count * 256);
  }
  zrt::Shape places() const {
    return {static_cast<std::uint32_t>(model_.sizes.batch), static_cast<std::uint32_t>(model_.sizes.length)};
  }
  static zrt::Shape shape(const Variable& v) {
    zrt::Shape shape;
    for (const auto dim : v.feed.type.shape.view()) shape = shape.appended(static_cast<std::uint32_t>(dim.constant()));
    return shape;
  }

  Transformer model_;
  Runner runner_;
  std::vector<std::int32_t> tokens_, targets_;
  std::vector<float> logits_;
};

int failed(const zrt::Error& error) {
  std::cerr << "train: " << error.text() << '\n';
  return 1;
}

/// A byte drawn by the probabilities that the logits stand for.
char draw(std::span<const float> logits, Draws& draws) {
  const float most = *std::max_element(logits.begin(), logits.end());
  float sum = 0;
  for (const float logit : logits) sum += std::exp(logit - most);
  float left = (draws.real(0.5f) + 0.5f) * sum;
  for (std::size_t byte = 0; byte < logits.size(); ++byte)
    if ((left -= std::exp(logits[byte] - most)) < 0) return static_cast<char>(byte);
  return ' ';
}

}  // namespace

int main(int argc, char** argv) {
  struct Option {
    double value, least;
  };
  std::map<std::string, Option, std::less<>> options{{"steps", {300, 0}}, {"batch", {8, 1}},    {"length", {64, 1}},
                                                     {"width", {64, 1}},  {"heads", {4, 1}},    {"layers", {2, 0}},
                                                     {"dropout", {0, 0}}, {"rate", {0.003, 0}}, {"seed", {1, 0}},
                                                     {"print", {50, 1}},  {"sample", {200, 0}}, {"threads", {1, 1}}};
  constexpr double kMost = 1e9;
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::size_t equals = std::min(argument.find('='), argument.size());
    const auto option = options.find(argument.substr(0, equals));
    const char* end = argument.data() + argument.size();
    if (option == options.end() || equals + 1 >= argument.size() ||
        std::from_chars(argument.data() + equals + 1, end, option->second.value).ptr != end) {
      std::cerr << "train: " << argument << " is no option\n";
      return 2;
    }
    if (!(option->second.value >= option->second.least && option->second.value <= kMost)) {
      std::cerr << "train: " << argument << ", expected " << option->second.least << " to " << kMost << '\n';
      return 2;
    }
  }
  if (argc < 2) {
    std::cerr << "usage: train TEXT [option=number...]\n";
    return 2;
  }
  const auto number = [&](const char* name) { return static_cast<std::int64_t>(options.find(name)->second.value); };
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  TransformerSizes sizes{number("batch"), number("length"), number("width"),
                         number("heads"), number("layers"), options["dropout"].value};
  const auto rows = static_cast<std::size_t>(sizes.batch), length = static_cast<std::size_t>(sizes.length);
  const std::size_t held = text.size() - text.size() / 10;
  if (sizes.width % sizes.heads != 0 || text.size() / 10 <= (rows + 1) * (length + 1)) {
    std::cerr << "train: the text is too short, or the width is no multiple of the heads\n";
    return 1;
  }

  const auto seed = static_cast<std::uint64_t>(number("seed"));
  const zrt::ir::train::AdamW optimizer{.rate = options["rate"].value};
  auto session = Session::make(sizes, seed, &optimizer, static_cast<std::uint32_t>(number("threads")));
  if (!session) return failed(session.error());
  const auto window = [&](std::size_t start) { return std::string_view(text).substr(start, length + 1); };
  std::cout.setf(std::ios::fixed);
  std::cout.precision(6);
  Draws order(seed + 1);
  for (std::int64_t step = 0; step < number("steps"); ++step) {
    for (std::size_t row = 0; row < rows; ++row) session->fill(row, window(order.next() % (held - length)));
    const auto loss = session->run(true, seed + static_cast<std::uint64_t>(step));
    if (!loss) return failed(loss.error());
    if (step % number("print") == 0 || step + 1 == number("steps"))
      std::cout << "step " << step << ": loss " << *loss << std::endl;
  }

  double sum = 0;
  std::size_t batches = 0;
  const std::size_t windows = (text.size() - held - 1) / length / rows * rows;
  for (std::size_t first = 0; first < windows; first += rows, ++batches) {
    for (std::size_t row = 0; row < rows; ++row) session->fill(row, window(held + (first + row) * length));
    const auto loss = session->run(false);
    if (!loss) return failed(loss.error());
    sum += double{*loss};
  }
  std::cout << "held out: loss " << sum / static_cast<double>(batches) << " over " << batches << " batches\n";

  sizes.batch = 1;
  auto writer = Session::make(sizes, seed, nullptr, 1);
  if (!writer) return failed(writer.error());
  writer->copy_parameters(*session);
  std::string written(window(held).substr(0, length));
  for (std::int64_t i = 0; i < number("sample"); ++i) {
    // The last place writes; the byte after it is not known yet.
    writer->fill(0, written.substr(written.size() - length) + ' ');
    if (auto r = writer->run(false); !r) return failed(r.error());
    written += draw(writer->logits(length - 1), order);
  }
  std::cout << written.substr(length) << '\n';
  return 0;
}
