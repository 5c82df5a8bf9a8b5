// SPDX-License-Identifier: Apache-2.0
// zrt/core/file_replacement.hpp: a file that takes its name only when it is complete (POSIX).
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/string.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// Writes a file beside `path` and renames it to that at the end; what is not committed is removed. Whoever opens `path`
/// finds what was there before, or all of the new. A process that is killed leaves `path.partN-M`.
class FileReplacement {
 public:
  explicit FileReplacement(const Allocator& allocator) noexcept : path_(allocator), part_(allocator) {}
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;
  ~FileReplacement() {
    if (file_ < 0) return;
    (void)::close(file_);
    (void)::unlink(part_.view().data());
  }

  /// Errors: Errc::io_error with the system's number; Errc::invalid_argument for a path with a zero byte.
  [[nodiscard]] Result<void> open(std::string_view path) noexcept {
    if (path.find('\0') != path.npos) return fail(Errc::invalid_argument, "a path holds a zero byte");
    if (auto r = path_.append(path); !r) return r;
    if (auto r = path_.push_back('\0'); !r) return r;
    // Of this process alone, but for files that one of its number has left.
    for (unsigned i = 0; i < 100; ++i) {
      part_.clear();
      for (const std::string_view piece :
           {path, Name::of(".part", static_cast<unsigned>(::getpid())).view(), Name::of("-", i).view()})
        if (auto r = part_.append(piece); !r) return r;
      if (auto r = part_.push_back('\0'); !r) return r;
      file_ = ::open(part_.view().data(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file_ >= 0) return {};
      if (errno != EEXIST) break;
    }
    return failed("cannot make a file beside", errno);
  }
  /// Appends bytes.
  [[nodiscard]] Result<void> write(Span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return failed("cannot write", written < 0 ? errno : ENOSPC);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
  }
  /// Gives the file its name.
  [[nodiscard]] Result<void> commit() noexcept {
    if (::rename(part_.view().data(), path_.view().data()) != 0) return failed("cannot replace", errno);
    (void)::close(std::exchange(file_, -1));
    return {};
  }

 private:
  [[nodiscard]] std::unexpected<Error> failed(std::string_view what, int reason) const noexcept {
    const std::string_view path = path_.view().substr(0, path_.size() - 1);
    return fail(Errc::io_error, what, " '", path.substr(0, 120), "': system error ", reason);
  }

  String path_;
  String part_;
  int file_ = -1;
};

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
