// SPDX-License-Identifier: Apache-2.0
// zrt/trace/recording.hpp: a run of an engine as one small file: requests, batches, tokens; read from anywhere.
#pragma once

#include <zrt/core/checksum.hpp>
#include <zrt/core/error.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/ops/kv_page.hpp>
#include <zrt/ops/op_table.hpp>
#include <zrt/ops/sampling.hpp>

#include <array>
#include <bit>
#include <string_view>

namespace zrt::inline ZRT_ABI::trace {

/// The model and the options that a run was made with. An engine with the same gives the same batches.
struct RunHeader {
  std::uint64_t fingerprint = 0;  ///< of the model; see Engine::fingerprint
  DType kv_type = DType::f16;
  ActPolicy act = ActPolicy::weight;
  std::uint32_t slots = 1;
  std::uint32_t context = 0;  ///< positions per slot
  std::uint32_t chunk = 0;
  std::uint32_t logit_rows = 0;
  std::uint32_t penalty_window = 0;
  std::uint32_t bias_entries = 0;
};

/// Entries of a list of a RunRecording.
struct RecordedRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// A request, as it was taken. Numbers of requests count from 0 in the order in which they were taken.
struct RecordedRequest {
  RecordedRange prompt{};  ///< tokens
  ops::SampleRequest sampling{};
  RecordedRange biases{};
  RecordedRange stop_tokens{};   ///< tokens
  RecordedRange stop_strings{};  ///< texts
  std::uint32_t max_tokens = 0;
  std::uint32_t log_probabilities = 0;
  bool ignore_eos = false;
  std::uint64_t step_latency_ns = 0;
};

/// Tokens of one slot in a batch, which follow each other.
struct RecordedPart {
  std::uint32_t slot = 0;
  std::uint32_t position = 0;  ///< of the first
  RecordedRange tokens{};
};

/// A row of a batch that reached the head, and what came of it.
struct RecordedRow {
  std::uint32_t row = 0;     ///< of the batch
  std::int32_t token = 0;    ///< sampled
  std::uint64_t logits = 0;  ///< checksum of the row's logits
};

struct RecordedStep {
  bool prefill = false;
  RecordedRange parts{};
  RecordedRange rows{};
  RecordedRange refused{};  ///< tokens: numbers of requests whose callable said no to a token of this step
};

/// What happened, in order.
struct RecordedEvent {
  enum class Kind : std::uint8_t { taken = 1, cancelled, step };
  Kind kind = Kind::taken;
  std::uint32_t index = 0;  ///< of the request, or of the step
};

/// A run, read from a file.
struct RunRecording {
  explicit RunRecording(Allocator a) noexcept
      : requests(a), steps(a), events(a), tokens(a), biases(a), texts(a), chars(a), parts(a), rows(a) {}

  RunHeader header{};
  Vector<RecordedRequest> requests;
  Vector<RecordedStep> steps;
  Vector<RecordedEvent> events;
  // What the ranges are of.
  Vector<std::uint32_t> tokens;
  Vector<ops::TokenBias> biases;
  Vector<RecordedRange> texts;  ///< chars
  Vector<char> chars;
  Vector<RecordedPart> parts;
  Vector<RecordedRow> rows;

  [[nodiscard]] Span<const std::uint32_t> tokens_of(const RecordedRange& r) const noexcept {
    return tokens.span().subspan(r.first, r.count);
  }
  [[nodiscard]] std::string_view text(std::size_t index) const noexcept {
    return {chars.data() + texts[index].first, texts[index].count};
  }
};

namespace detail {

inline constexpr std::array<char, 4> kRecordingMagic{'Z', 'R', 'T', 'R'};
inline constexpr std::uint8_t kRecordingVersion = 1;
inline constexpr std::size_t kRecordingChecksum = 8;
inline constexpr std::size_t kMostStopTokens = 64;

/// Appends numbers to bytes: small ones take few bytes (LEB128), floats and hashes all of theirs.
class RecordingOut {
 public:
  explicit RecordingOut(Allocator a) noexcept : bytes_(a) {}

  void number(std::uint64_t value) noexcept {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80u));
    byte(static_cast<std::uint8_t>(value));
  }
  void fixed32(std::uint32_t value) noexcept {
    for (int b = 0; b < 4; ++b) byte(static_cast<std::uint8_t>(value >> 8 * b));
  }
  void fixed64(std::uint64_t value) noexcept {
    fixed32(static_cast<std::uint32_t>(value));
    fixed32(static_cast<std::uint32_t>(value >> 32));
  }
  void real(float value) noexcept { fixed32(std::bit_cast<std::uint32_t>(value)); }
  void text(std::string_view value) noexcept {
    number(value.size());
    for (const char c : value) byte(static_cast<std::uint8_t>(c));
  }
  /// Drops what was appended since the size was this.
  void truncate(std::size_t size) noexcept {
    while (bytes_.size() > size) bytes_.pop_back();
  }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] Vector<std::byte>& bytes() noexcept { return bytes_; }
  [[nodiscard]] const Result<void>& state() const noexcept { return state_; }

 private:
  void byte(std::uint8_t value) noexcept {
    if (!state_) return;
    state_ = bytes_.push_back(static_cast<std::byte>(value));
  }

  Vector<std::byte> bytes_;
  Result<void> state_{};
};

/// Reads a recording's bytes. Believes nothing: every count is held to the bytes that are left.
class RecordingIn {
 public:
  RecordingIn(Span<const std::byte> bytes, Allocator a) noexcept : bytes_(bytes), out_(a) {}

  [[nodiscard]] Result<RunRecording> run() noexcept {
    if (auto r = head(); !r) return pass(r);
    while (at_ < bytes_.size())
      if (auto r = event(); !r) return pass(r);
    return std::move(out_);
  }

 private:
  template <class... Pieces> [[nodiscard]] std::unexpected<Error> bad(Pieces... pieces) const noexcept {
    Error error = Error::of(Errc::invalid_file, "the recording: ", pieces...);
    return std::unexpected<Error>(error.at_offset(at_));
  }

  [[nodiscard]] Result<std::uint64_t> number(std::uint64_t most, std::string_view what) noexcept {
    std::uint64_t value = 0;
    const std::size_t begin = at_;
    for (unsigned shift = 0;; shift += 7) {
      if (at_ == bytes_.size()) return ends(what);
      const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
      const std::uint64_t part = byte & 0x7fu;
      if (shift > 63 || (shift == 63 && part > 1)) return bad(what, " does not fit 64 bits");
      value |= part << shift;
      if ((byte & 0x80u) == 0) break;
    }
    if (value <= most) return value;
    at_ = begin;
    return bad(what, " is ", value, ", expected at most ", most);
  }
  [[nodiscard]] std::unexpected<Error> ends(std::string_view what) const noexcept {
    Error error = Error::of(Errc::truncated_file, "the recording ends within ", what);
    return std::unexpected<Error>(error.at_offset(at_));
  }
  template <class N> [[nodiscard]] Result<void> into(N& to, std::uint64_t most, std::string_view what) noexcept {
    const auto value = number(most, what);
    if (!value) return pass(value);
    to = static_cast<N>(*value);
    return {};
  }
  /// Number of entries of a list, of `each` bytes at least.
  [[nodiscard]] Result<std::uint32_t> count(std::size_t each, std::string_view what) noexcept {
    const auto value = number(0xffffffffu, what);
    if (!value) return pass(value);
    if (*value > (bytes_.size() - at_) / each)
      return bad(what, " is ", *value, ", and ", bytes_.size() - at_, " bytes are left");
    return static_cast<std::uint32_t>(*value);
  }
  [[nodiscard]] Result<std::uint64_t> fixed(std::size_t width, std::string_view what) noexcept {
    if (bytes_.size() - at_ < width) return ends(what);
    std::uint64_t value = 0;
    for (std::size_t b = 0; b < width; ++b) value |= std::uint64_t{static_cast<std::uint8_t>(bytes_[at_ + b])} << 8 * b;
    at_ += width;
    return value;
  }
  [[nodiscard]] Result<void> real(float& to, std::string_view what) noexcept {
    const auto bits = fixed(4, what);
    if (!bits) return pass(bits);
    to = std::bit_cast<float>(static_cast<std::uint32_t>(*bits));
    return {};
  }
  /// A list of numbers up to `most`, appended to the tokens.
  [[nodiscard]] Result<void> list(RecordedRange& to, std::uint64_t most, std::string_view what) noexcept {
    const auto size = count(1, what);
    if (!size) return pass(size);
    to = {static_cast<std::uint32_t>(out_.tokens.size()), *size};
    for (std::uint32_t i = 0; i < *size; ++i) {
      const auto token = number(most, what);
      if (!token) return pass(token);
      if (auto r = out_.tokens.push_back(static_cast<std::uint32_t>(*token)); !r) return r;
    }
    return {};
  }

  [[nodiscard]] Result<void> head() noexcept {
    RunHeader& h = out_.header;
    const auto fingerprint = fixed(8, "the model's fingerprint");
    if (!fingerprint) return pass(fingerprint);
    h.fingerprint = *fingerprint;
    std::uint8_t kv_type = 0;
    std::uint8_t act = 0;
    if (auto r = into(kv_type, 255, "the type of keys and values"); !r) return r;
    if (!is_dtype(kv_type) || !KvPage::stores(static_cast<DType>(kv_type)))
      return bad("type ", unsigned{kv_type}, " of keys and values, expected ", kPageTypeNames);
    h.kv_type = static_cast<DType>(kv_type);
    if (auto r = into(act, static_cast<std::uint64_t>(ActPolicy::weight), "the rounding of activations"); !r) return r;
    h.act = static_cast<ActPolicy>(act);
    if (auto r = into(h.slots, 4096, "slots"); !r) return r;
    if (h.slots == 0) return bad("no slots");
    if (auto r = into(h.context, 1u << 28, "the context"); !r) return r;
    if (auto r = into(h.chunk, 8192, "the chunk"); !r) return r;
    if (auto r = into(h.logit_rows, 8192, "logit rows"); !r) return r;
    if (auto r = into(h.penalty_window, 65536, "the penalty window"); !r) return r;
    return into(h.bias_entries, 65536, "bias entries");
  }

  [[nodiscard]] Result<void> event() noexcept {
    const auto kind = number(3, "an event");
    if (!kind) return pass(kind);
    RecordedEvent event{static_cast<RecordedEvent::Kind>(*kind), 0};
    Result<void> read{};
    if (event.kind == RecordedEvent::Kind::taken) {
      event.index = static_cast<std::uint32_t>(out_.requests.size());
      read = request();
    } else if (event.kind == RecordedEvent::Kind::cancelled) {
      if (out_.requests.empty()) return bad("a request is cancelled before any is taken");
      read = into(event.index, out_.requests.size() - 1, "the number of a request");
    } else if (event.kind == RecordedEvent::Kind::step) {
      event.index = static_cast<std::uint32_t>(out_.steps.size());
      read = step();
    } else {
      return bad("an event of kind 0");
    }
    if (!read) return read;
    return out_.events.push_back(event);
  }

  [[nodiscard]] Result<void> request() noexcept {
    RecordedRequest q;
    if (auto r = list(q.prompt, 0x7fffffffu, "the tokens of a prompt"); !r) return r;
    if (q.prompt.count == 0) return bad("a prompt has no tokens");
    if (auto r = sampling(q.sampling); !r) return r;
    if (auto r = biases(q.biases); !r) return r;
    if (auto r = list(q.stop_tokens, 0x7fffffffu, "stop tokens"); !r) return r;
    if (q.stop_tokens.count > kMostStopTokens) return bad(q.stop_tokens.count, " stop tokens");
    if (auto r = texts(q.stop_strings); !r) return r;
    if (auto r = into(q.max_tokens, 0xffffffffu, "the number of tokens to generate"); !r) return r;
    if (auto r = into(q.log_probabilities, 0xffffffffu, "the number of log-probabilities"); !r) return r;
    if (auto r = into(q.ignore_eos, 1, "whether to go on at the end"); !r) return r;
    if (auto r = into(q.step_latency_ns, ~std::uint64_t{0}, "the latency"); !r) return r;
    return out_.requests.push_back(q);
  }
  [[nodiscard]] Result<void> sampling(ops::SampleRequest& s) noexcept {
    const auto seed = fixed(8, "a seed");
    if (!seed) return pass(seed);
    s.seed_low = static_cast<std::uint32_t>(*seed);
    s.seed_high = static_cast<std::uint32_t>(*seed >> 32);
    if (auto r = into(s.top_k, 0xffffffffu, "top-k"); !r) return r;
    if (auto r = into(s.history, 0xffffffffu, "the penalty window"); !r) return r;
    for (float* value :
         {&s.temperature, &s.top_p, &s.min_p, &s.repetition_penalty, &s.frequency_penalty, &s.presence_penalty})
      if (auto r = real(*value, "the sampling"); !r) return r;
    return {};
  }
  [[nodiscard]] Result<void> biases(RecordedRange& to) noexcept {
    const auto size = count(5, "logit biases");
    if (!size) return pass(size);
    to = {static_cast<std::uint32_t>(out_.biases.size()), *size};
    for (std::uint32_t i = 0; i < *size; ++i) {
      ops::TokenBias bias;
      if (auto r = into(bias.token, 0x7fffffffu, "a biased token"); !r) return r;
      if (auto r = real(bias.bias, "a bias"); !r) return r;
      if (auto r = out_.biases.push_back(bias); !r) return r;
    }
    return {};
  }
  [[nodiscard]] Result<void> texts(RecordedRange& to) noexcept {
    const auto size = count(1, "stop strings");
    if (!size) return pass(size);
    to = {static_cast<std::uint32_t>(out_.texts.size()), *size};
    for (std::uint32_t i = 0; i < *size; ++i) {
      const auto length = count(1, "the length of a stop string");
      if (!length) return pass(length);
      if (auto r = out_.texts.push_back({static_cast<std::uint32_t>(out_.chars.size()), *length}); !r) return r;
      for (std::uint32_t c = 0; c < *length; ++c)
        if (auto r = out_.chars.push_back(static_cast<char>(bytes_[at_++])); !r) return r;
    }
    return {};
  }

  [[nodiscard]] Result<void> step() noexcept {
    RecordedStep s;
    if (auto r = into(s.prefill, 1, "the kind of a step"); !r) return r;
    const auto parts = count(4, "the parts of a batch");
    if (!parts) return pass(parts);
    s.parts = {static_cast<std::uint32_t>(out_.parts.size()), *parts};
    std::uint64_t tokens = 0;
    for (std::uint32_t i = 0; i < *parts; ++i) {
      RecordedPart part;
      if (auto r = into(part.slot, out_.header.slots - 1, "a slot"); !r) return r;
      if (auto r = into(part.position, out_.header.context, "a position"); !r) return r;
      if (auto r = list(part.tokens, 0x7fffffffu, "the tokens of a slot"); !r) return r;
      tokens += part.tokens.count;
      if (auto r = out_.parts.push_back(part); !r) return r;
    }
    if (tokens == 0) return bad("a batch has no tokens");
    if (auto r = rows(s.rows, tokens); !r) return r;
    if (auto r = list(s.refused, out_.requests.empty() ? 0 : out_.requests.size() - 1, "the number of a request"); !r)
      return r;
    return out_.steps.push_back(s);
  }
  [[nodiscard]] Result<void> rows(RecordedRange& to, std::uint64_t tokens) noexcept {
    const auto size = count(10, "the rows of a batch");
    if (!size) return pass(size);
    to = {static_cast<std::uint32_t>(out_.rows.size()), *size};
    for (std::uint32_t i = 0; i < *size; ++i) {
      RecordedRow row;
      if (auto r = into(row.row, tokens - 1, "a row"); !r) return r;
      if (auto r = into(row.token, 0x7fffffffu, "a sampled token"); !r) return r;
      const auto logits = fixed(8, "the checksum of logits");
      if (!logits) return pass(logits);
      row.logits = *logits;
      if (auto r = out_.rows.push_back(row); !r) return r;
    }
    return {};
  }

  Span<const std::byte> bytes_;
  std::size_t at_ = 0;
  RunRecording out_;
};

}  // namespace detail

/// Reads a recording from anywhere: "ZRTR", a byte of version, the events, the checksum of all before it.
///
/// Errors: Errc::truncated_file, invalid_file (no recording, or damaged) and unsupported_version; out_of_memory.
[[nodiscard]] inline Result<RunRecording> read_recording(Span<const std::byte> bytes,
                                                         const Allocator& allocator) noexcept {
  constexpr std::size_t kHead = detail::kRecordingMagic.size() + 1;
  if (bytes.size() < kHead + detail::kRecordingChecksum)
    return fail(Errc::truncated_file, "a recording of ", bytes.size(), " bytes, expected at least ",
                kHead + detail::kRecordingChecksum);
  for (std::size_t i = 0; i < detail::kRecordingMagic.size(); ++i)
    if (static_cast<char>(bytes[i]) != detail::kRecordingMagic[i])
      return fail(Errc::invalid_file, "a recording begins with ZRTR, which this does not");
  const std::size_t end = bytes.size() - detail::kRecordingChecksum;
  std::uint64_t found = 0;
  for (std::size_t b = 0; b < detail::kRecordingChecksum; ++b)
    found |= std::uint64_t{static_cast<std::uint8_t>(bytes[end + b])} << 8 * b;
  if (const std::uint64_t sum = checksum(bytes.first(end)); sum != found)
    return fail(Errc::invalid_file, "the recording is damaged: its bytes have the checksum ", sum, ", expected ",
                found);
  if (const auto version = static_cast<std::uint8_t>(bytes[kHead - 1]); version != detail::kRecordingVersion)
    return fail(Errc::unsupported_version, "the recording has version ", unsigned{version}, ", expected ",
                unsigned{detail::kRecordingVersion});
  if (bytes.size() > 0xffffffffu) return fail(Errc::limit_exceeded, "a recording of ", bytes.size(), " bytes");
  return detail::RecordingIn(bytes.subspan(kHead, end - kHead), allocator).run();
}

}  // namespace zrt::inline ZRT_ABI::trace
