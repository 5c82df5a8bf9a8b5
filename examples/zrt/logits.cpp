// SPDX-License-Identifier: Apache-2.0
// examples/zrt/logits.cpp: logits of given tokens as a file that other programs compare.
#include "commands.hpp"
#include "new_file.hpp"
#include "output.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <bit>

namespace program {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

/// "ZRTL", u32 version, u32 n_vocab, u32 n_rows; then per row u32 token and n_vocab f32. The first failure is kept.
class LogitsFile {
 public:
  explicit LogitsFile(const std::string& path) : file_(path, NewFile::Devices::written_as_they_are) {}

  [[nodiscard]] zrt::Result<void> open(std::uint32_t vocabulary, std::uint32_t rows) {
    if (auto r = file_.open(); !r) return r;
    put(std::array{'Z', 'R', 'T', 'L'});
    put(std::array{1u, vocabulary, rows});
    return state_;
  }
  void row(std::int32_t token, std::span<const float> logits) {
    put(std::array{token});
    put(logits);
  }
  /// Puts the file in its place, unless something of it could not be written.
  [[nodiscard]] zrt::Result<void> finish() {
    if (!state_) return state_;
    return file_.complete();
  }

 private:
  void put(const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    if (state_) state_ = file_.write({bytes.data(), bytes.size()});
  }

  NewFile file_;
  zrt::Result<void> state_;
};

/// The first of the largest; NaN never wins, as in the op greedy_token.
std::int32_t argmax(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i)
    if (logits[i] > logits[best] || (logits[best] != logits[best] && logits[i] == logits[i])) best = i;
  return static_cast<std::int32_t>(best);
}

/// The context to open with: what was asked for, else the model's own.
zrt::Result<std::uint32_t> context_of(const LogitsOptions& o) {
  if (o.context != 0) return o.context;
  auto file = zrt::model::GgufFile::open(o.model.path);
  if (!file) return zrt::pass(file);
  auto architecture = file->get<std::string_view>("general.architecture");
  if (!architecture) return zrt::pass(architecture);
  return file->get<std::uint32_t>(zrt::Name::of(*architecture, ".context_length").view());
}

}  // namespace

int logits(const LogitsOptions& o) {
  auto context = context_of(o);
  if (!context) return failed(context.error());
  zrt::EngineOptions options;
  options.context = *context;
  options.kv_type = kv_type(o.kv);
  options.numerics.act = act_policy(o.act);
  options.logit_rows = 64;
  auto model = open_model(o.model, options);
  if (!model) return failed(model.error());

  const std::size_t steps = o.decode.value_or(o.feed.size());
  LogitsFile out(o.out);
  const auto rows = static_cast<std::uint32_t>(o.tokens.size() + steps);
  if (const auto opened = out.open((*model)->config().vocabulary, rows); !opened) return failed(opened.error());
  Json best = Json::array();
  std::int32_t fed = zrt::kNoToken;
  const auto done = (*model)->evaluate_steps(o.tokens, steps, [&](std::uint32_t position, std::span<const float> row) {
    const std::int32_t read = position < o.tokens.size() ? o.tokens[position] : fed;
    out.row(read, row);
    if (o.json) {
      const std::int32_t top = argmax(row);
      best.push_back({{"token", read}, {"best", top}, {"logit", row[static_cast<std::size_t>(top)]}});
    }
    if (position + 1 < o.tokens.size()) return zrt::kNoToken;
    const std::size_t next = position + 1 - o.tokens.size();
    fed = o.decode ? argmax(row) : next < o.feed.size() ? o.feed[next] : zrt::kNoToken;
    return fed;
  });
  if (!done) return failed(done.error());
  if (const auto finished = out.finish(); !finished) return failed(finished.error());
  if (!o.json) return kOk;
  const Json summary{{"file", o.out},          {"n_vocab", (*model)->config().vocabulary},
                     {"n_rows", rows},         {"backend", (*model)->backend()},
                     {"isa", (*model)->isa()}, {"kv", o.kv},
                     {"act", o.act},           {"context", (*model)->context()},
                     {"rows", std::move(best)}};
  return print(summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n") ? kOk : cannot_write("stdout");
}

}  // namespace program
