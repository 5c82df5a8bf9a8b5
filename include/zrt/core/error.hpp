// SPDX-License-Identifier: Apache-2.0
// zrt/core/error.hpp: one error code enum, a trivially copyable Error with inline text, and Result<T>.
#pragma once

#include <zrt/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>
#include <type_traits>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// Names what went wrong; the text of the Error says what was expected and what was found.
enum class Errc : std::uint16_t {
  ok = 0,                   ///< no error: never the code of a returned Error
  out_of_memory,            ///< an allocation through the host's allocator failed
  size_overflow,            ///< a size computed from a file or a request does not fit
  invalid_argument,         ///< a caller passed something outside the documented range
  io_error,                 ///< the operating system or the caller's reader reported a failure
  invalid_file,             ///< a file breaks its format
  truncated_file,           ///< a file ends before what it announces
  unsupported_version,      ///< a file's version is not one that this build reads
  duplicate_name,           ///< two things that must differ bear the same name
  missing_metadata,         ///< a metadata key that the model needs is absent
  invalid_metadata,         ///< a metadata value has the wrong type or an impossible value
  missing_weight,           ///< a required tensor is absent
  unsupported_weight_type,  ///< a tensor's type is known but this backend does not compute it
  unknown_architecture,     ///< general.architecture names no family of this build
  unsupported_tokenizer,    ///< the vocabulary's model or pre-tokenizer is not known
  shape_mismatch,           ///< extents differ from what the op's shape rule needs
  dtype_mismatch,           ///< an element type differs from what the op's rule needs
  unsupported_tensor_rank,  ///< a rank above the plan's limit
  unsupported_device,       ///< the device or processor lacks what the backend was compiled for
  unsupported_opcode,       ///< an opcode that the backend neither claims nor can expand
  invalid_param_block_abi,  ///< wrong version, size or opcode of a parameter block
  invalid_params,           ///< a parameter's value is outside its op's range
  dangling_value,           ///< a value is read that nothing produces
  undeclared_in_place,      ///< an in-place write that the op's may_alias does not allow
  overlapping_writers,      ///< two writers may touch the same memory
  unordered_read,           ///< a read is not ordered against an in-place write
  invalid_state,            ///< a state id or class that does not fit its use
  invalid_plan,             ///< a plan (file) breaks an invariant
  stage_handoff,            ///< neighbouring stages disagree on what passes between them
  batch_unsupported,        ///< a batch larger than an adapter's capability
  capacity_exceeded,        ///< no slot, page or context is left for the request
  not_found,                ///< an id or name is not known
  spec_violation,           ///< data broke an op's contract at run time
  cancelled,                ///< the caller's stop poll ended it
  unimplemented,            ///< verified, but computing it is not part of this build
  limit_exceeded,           ///< a loop or a count ran past its stated limit
  invalid_packet,           ///< a packet stream holds what a compute queue refuses
  device_lost,              ///< the device stopped and takes no more work; an engine can be opened anew
};

/// Returns the stable snake_case name of `code`.
[[nodiscard]] constexpr std::string_view name(Errc code) noexcept {
  switch (code) {
    case Errc::ok:
      return "ok";
    case Errc::out_of_memory:
      return "out_of_memory";
    case Errc::size_overflow:
      return "size_overflow";
    case Errc::invalid_argument:
      return "invalid_argument";
    case Errc::io_error:
      return "io_error";
    case Errc::invalid_file:
      return "invalid_file";
    case Errc::truncated_file:
      return "truncated_file";
    case Errc::unsupported_version:
      return "unsupported_version";
    case Errc::duplicate_name:
      return "duplicate_name";
    case Errc::missing_metadata:
      return "missing_metadata";
    case Errc::invalid_metadata:
      return "invalid_metadata";
    case Errc::missing_weight:
      return "missing_weight";
    case Errc::unsupported_weight_type:
      return "unsupported_weight_type";
    case Errc::unknown_architecture:
      return "unknown_architecture";
    case Errc::unsupported_tokenizer:
      return "unsupported_tokenizer";
    case Errc::shape_mismatch:
      return "shape_mismatch";
    case Errc::dtype_mismatch:
      return "dtype_mismatch";
    case Errc::unsupported_tensor_rank:
      return "unsupported_tensor_rank";
    case Errc::unsupported_device:
      return "unsupported_device";
    case Errc::unsupported_opcode:
      return "unsupported_opcode";
    case Errc::invalid_param_block_abi:
      return "invalid_param_block_abi";
    case Errc::invalid_params:
      return "invalid_params";
    case Errc::dangling_value:
      return "dangling_value";
    case Errc::undeclared_in_place:
      return "undeclared_in_place";
    case Errc::overlapping_writers:
      return "overlapping_writers";
    case Errc::unordered_read:
      return "unordered_read";
    case Errc::invalid_state:
      return "invalid_state";
    case Errc::invalid_plan:
      return "invalid_plan";
    case Errc::stage_handoff:
      return "stage_handoff";
    case Errc::batch_unsupported:
      return "batch_unsupported";
    case Errc::capacity_exceeded:
      return "capacity_exceeded";
    case Errc::not_found:
      return "not_found";
    case Errc::spec_violation:
      return "spec_violation";
    case Errc::cancelled:
      return "cancelled";
    case Errc::unimplemented:
      return "unimplemented";
    case Errc::limit_exceeded:
      return "limit_exceeded";
    case Errc::invalid_packet:
      return "invalid_packet";
    case Errc::device_lost:
      return "device_lost";
  }
  return "unknown";
}

/// The phase in which a fault was found.
enum class Phase : std::uint8_t {
  none,   ///< outside of a plan: a model file, a request, a call's arguments
  graph,  ///< ir::verify
  plan,   ///< plan::compile, plan::validate, plan::read_plan
  bind,   ///< exec::bind
  step,   ///< a step: data broke an op's contract
};

/// Carries a code, inline text and the place of a failure. Trivially copyable; owns nothing.
///
/// The text is one line, cut between characters at its capacity, and valid UTF-8 as long as its pieces are: pieces
/// may come from files, so a control character becomes a question mark.
class Error {
 public:
  // Above 272 bytes GCC copies an Error by one string instruction, below by 32 moves, in a thousand places.
  static constexpr std::size_t kTextCapacity = 248;
  static constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};
  static constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};

  constexpr Error() = default;
  constexpr explicit Error(Errc code) noexcept : code_(code) {}

  /// Builds an error whose text is `pieces` one after the other (strings, characters, integers).
  ///
  /// By value, so that literals of all lengths share an instantiation.
  template <class... Pieces>
  [[nodiscard]] ZRT_NOINLINE static constexpr Error of(Errc code, Pieces... pieces) noexcept {
    Error error(code);
    (error.append(pieces), ...);
    return error;
  }

  [[nodiscard]] constexpr Errc code() const noexcept { return code_; }
  [[nodiscard]] constexpr std::string_view text() const noexcept { return {text_, length_}; }

  /// Sets the byte offset in the file where the fault was seen.
  constexpr Error& at_offset(std::uint64_t offset) noexcept {
    offset_ = offset;
    return *this;
  }
  /// Sets the index of the instruction (or graph node) and its opcode.
  constexpr Error& at_instruction(std::uint32_t index, std::uint8_t opcode) noexcept {
    instruction_ = index;
    opcode_ = opcode;
    return *this;
  }
  /// Sets the phase. Only the first call counts, because the code that found the fault makes it.
  constexpr Error& in_phase(Phase phase) noexcept {
    if (phase_ == Phase::none) phase_ = phase;
    return *this;
  }
  /// Sets the value of a graph or the register of a plan.
  constexpr Error& at_tensor(std::uint32_t index) noexcept {
    tensor_ = index;
    return *this;
  }
  /// Sets the instructions at both ends of a broken wire.
  constexpr Error& on_wire(std::uint32_t producer, std::uint32_t consumer) noexcept {
    producer_ = producer;
    consumer_ = consumer;
    return *this;
  }

  /// File offset, or kNoOffset.
  [[nodiscard]] constexpr std::uint64_t offset() const noexcept { return offset_; }
  /// Instruction index, or kNoIndex.
  [[nodiscard]] constexpr std::uint32_t instruction() const noexcept { return instruction_; }
  [[nodiscard]] constexpr std::uint8_t opcode() const noexcept { return opcode_; }
  [[nodiscard]] constexpr Phase phase() const noexcept { return phase_; }
  /// Index of the value or register, or kNoIndex.
  [[nodiscard]] constexpr std::uint32_t tensor() const noexcept { return tensor_; }
  [[nodiscard]] constexpr std::uint32_t producer() const noexcept { return producer_; }
  [[nodiscard]] constexpr std::uint32_t consumer() const noexcept { return consumer_; }

  // Out of line and cold: errors are built in hundreds of places, none of them hot.
  ZRT_NOINLINE constexpr Error& append(std::string_view piece) noexcept {
    for (const char c : piece) {
      const auto byte = static_cast<unsigned char>(c);
      if (length_ == kTextCapacity) {
        if (continues(byte)) blank_last_character();
        break;
      }
      text_[length_++] = byte < 0x20 || byte == 0x7f ? '?' : c;
    }
    return *this;
  }
  constexpr Error& append(const char* piece) noexcept { return append(std::string_view(piece)); }
  constexpr Error& append(char c) noexcept { return append(std::string_view(&c, 1)); }
  template <std::integral I>
    requires(!std::same_as<I, char> && !std::same_as<I, bool>)
  ZRT_NOINLINE constexpr Error& append(I value) noexcept {
    char digits[24]{};
    std::size_t n = 0;
    bool negative = false;
    auto magnitude = static_cast<std::uint64_t>(value);
    if constexpr (std::is_signed_v<I>) {
      if (value < 0) {
        negative = true;
        magnitude = ~magnitude + 1;
      }
    }
    do {
      digits[n++] = static_cast<char>('0' + magnitude % 10);
      magnitude /= 10;
    } while (magnitude != 0);
    if (negative) digits[n++] = '-';
    while (n > 0) append(digits[--n]);
    return *this;
  }

 private:
  /// Whether a byte of UTF-8 is not the first of its character.
  [[nodiscard]] static constexpr bool continues(unsigned char byte) noexcept { return (byte & 0xc0u) == 0x80; }

  constexpr void blank_last_character() noexcept {
    std::uint32_t at = length_;
    while (at > 0 && continues(static_cast<unsigned char>(text_[--at]))) text_[at] = '.';
    text_[at] = '.';
  }

  Errc code_ = Errc::ok;
  std::uint8_t opcode_ = 0xff;
  Phase phase_ = Phase::none;
  std::uint32_t length_ = 0;
  std::uint32_t instruction_ = kNoIndex;
  std::uint32_t producer_ = kNoIndex;
  std::uint32_t consumer_ = kNoIndex;
  std::uint32_t tensor_ = kNoIndex;
  std::uint64_t offset_ = kNoOffset;
  char text_[kTextCapacity]{};
};
static_assert(std::is_trivially_copyable_v<Error>);

/// Either a T or an Error. Every call that can fail returns one.
template <class T> using Result = std::expected<T, Error>;

/// Makes the error side of a Result from a code and text pieces.
template <class... Pieces> [[nodiscard]] constexpr std::unexpected<Error> fail(Errc code, Pieces... pieces) noexcept {
  return std::unexpected<Error>(Error::of(code, pieces...));
}

/// Passes the error of `result` on as one of `phase`.
template <class T> [[nodiscard]] constexpr std::unexpected<Error> pass(const Result<T>& result, Phase phase) noexcept {
  Error error = result.error();
  return std::unexpected<Error>(error.in_phase(phase));
}

/// Passes the error of `result` on as the error side of another Result.
template <class T> [[nodiscard]] constexpr std::unexpected<Error> pass(const Result<T>& result) noexcept {
  return std::unexpected<Error>(result.error());
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
