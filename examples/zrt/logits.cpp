// SPDX-License-Identifier: Apache-2.0
// examples/zrt/logits.cpp: logits of given tokens as a file that other programs compare.
#include "commands.hpp"
#include "output.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <bit>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace program {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

/// "ZRTL", u32 version, u32 n_vocab, u32 n_rows; then per row u32 token and n_vocab f32.
class LogitsFile {
 public:
  explicit LogitsFile(const std::string& path) : target_(path) {
    // The rows go beside the target, which is replaced only by a whole file; a device is written as it is.
    std::error_code ignored;
    const bool exists = fs::exists(target_, ignored);
    for (int links = 0; fs::is_symlink(target_, ignored) && links < 40; ++links)
      target_ = target_.parent_path() / fs::read_symlink(target_, ignored);
    if (exists && !(fs::is_regular_file(target_, ignored) && fs::equivalent(target_, path, ignored)))
      open_as_is(path);
    else
      open_beside();
  }
  LogitsFile(const LogitsFile&) = delete;
  LogitsFile& operator=(const LogitsFile&) = delete;
  ~LogitsFile() {
    std::error_code ignored;
    if (!beside_.empty()) fs::remove(beside_, ignored);
  }

  void header(std::uint32_t vocabulary, std::uint32_t rows) {
    file_.write("ZRTL", 4);
    for (const std::uint32_t word : {1u, vocabulary, rows}) put(word);
  }
  void row(std::int32_t token, std::span<const float> logits) {
    put(static_cast<std::uint32_t>(token));
    file_.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size_bytes()));
  }
  /// False when something of it could not be written; `reason` is then errno's, or 0.
  [[nodiscard]] bool good() const { return file_.good(); }
  [[nodiscard]] int reason() const { return reason_; }
  /// Puts the file in its place; false when something of it could not be written.
  [[nodiscard]] bool finish() {
    const bool whole = good();
    file_.close();
    if (whole && !file_) reason_ = errno;
    if (!file_) return false;
    if (beside_.empty()) return true;
    std::error_code error;
    fs::rename(beside_, target_, error);
    if (error) reason_ = error.value();
    if (!error) beside_.clear();
    return !error;
  }

 private:
  void open_as_is(const std::string& path) {
    file_.open(path, std::ios::binary | std::ios::trunc);
    if (!file_) reason_ = errno;
  }
  /// Takes a name that no file has: creation fails where there is one.
  void open_beside() {
    for (int i = 0; i < 100; ++i) {
      fs::path name = target_;
      name += ".part" + std::to_string(getpid()) + "-" + std::to_string(i);
      const int made = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (made < 0 && errno == EEXIST) continue;
      if (made >= 0) {
        (void)close(made);
        beside_ = name;
        file_.open(name, std::ios::binary);
        return;
      }
      break;
    }
    reason_ = errno;
    file_.setstate(std::ios::failbit);
  }
  void put(std::uint32_t word) {
    const auto bytes = std::bit_cast<std::array<char, 4>>(word);
    file_.write(bytes.data(), bytes.size());
  }

  fs::path target_;  // what --out names, behind all links
  fs::path beside_;  // empty: the target itself is written
  int reason_ = 0;
  std::ofstream file_;
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
  if (!out.good()) return failed(write_error(o.out, out.reason()));
  const auto rows = static_cast<std::uint32_t>(o.tokens.size() + steps);
  out.header((*model)->config().vocabulary, rows);
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
  if (!out.finish()) return failed(write_error(o.out, out.reason()));
  if (!o.json) return kOk;
  const Json summary{{"file", o.out},          {"n_vocab", (*model)->config().vocabulary},
                     {"n_rows", rows},         {"backend", (*model)->backend()},
                     {"isa", (*model)->isa()}, {"kv", o.kv},
                     {"act", o.act},           {"context", (*model)->context()},
                     {"rows", std::move(best)}};
  return print(summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n") ? kOk : cannot_write("stdout");
}

}  // namespace program
