// SPDX-License-Identifier: Apache-2.0
// examples/zrt/output.hpp: exit statuses, errors on stderr, and small conversions of option values.
#pragma once

#include <zrt/core/dtype.hpp>
#include <zrt/core/error.hpp>
#include <zrt/plan/compile.hpp>

#include <string>
#include <string_view>

namespace program {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

/// Prints "zrt: code: text (place)" on stderr and returns kFailed.
[[nodiscard]] int failed(const zrt::Error& error);
[[nodiscard]] int failed(std::string_view what);
/// An io_error about `target`.
[[nodiscard]] int cannot_write(std::string_view target);
/// An io_error about `target`, with errno's reason where that is not 0.
[[nodiscard]] zrt::Error write_error(std::string_view target, int reason);
[[nodiscard]] int usage(std::string_view what);
/// The error with the path of the file that it is about, unless it names the path or is not about a file.
[[nodiscard]] zrt::Error of_file(const zrt::Error& error, std::string_view path);
/// Prints "zrt: warning: what" on stderr, once however often a command opens its model.
void warn(std::string_view what);
/// Prints "zrt: note: what" on stderr.
void note(std::string_view what);

/// The error as one line, without a name in front.
[[nodiscard]] std::string describe(const zrt::Error& error);

/// The beginning of a file, and whether more follows.
struct Beginning {
  std::string text;
  bool more = false;
};
/// The first `most` bytes of a file, or all of a shorter one; "-" is standard input.
[[nodiscard]] zrt::Result<Beginning> read_beginning(const std::string& path, std::uint64_t most);
/// The whole file, byte for byte; "-" is standard input. A device or a pipe may give 1 GiB.
[[nodiscard]] zrt::Result<std::string> read_file(const std::string& path);
/// Whether standard input is a pipe or a file, not a terminal or nothing.
[[nodiscard]] bool input_waits();
/// Makes `path` a file of these bytes. Where that fails it leaves no part of a file.
[[nodiscard]] zrt::Result<void> write_file(const std::string& path, std::string_view bytes);

/// The element type called `name`, which the command line has checked.
[[nodiscard]] zrt::DType kv_type(std::string_view name);
[[nodiscard]] zrt::ActPolicy act_policy(std::string_view name);

/// 5631904 -> "5.37 MiB".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

/// Writes all of `text` to stdout; false when it is closed or full, or was for an earlier write.
[[nodiscard]] bool print(std::string_view text);

}  // namespace program
