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

/// Writes a file beside `path` and renames it to that at the end, over what is there, a link too; what is not committed
/// is removed. Whoever opens `path`, also after a crash, finds what was there before or all of the new.
///
/// While it is written the file has no name, where the file system has such files, and `path.partPROCESS-N` elsewhere.
class FileReplacement {
 public:
  explicit FileReplacement(const Allocator& allocator) noexcept : path_(allocator), part_(allocator) {}
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;
  ~FileReplacement() {
    if (file_ >= 0) (void)::close(file_);
    if (named_) (void)::unlink(part_.view().data());
  }

  /// Errors: Errc::io_error with the system's number; Errc::invalid_argument for a path with a zero byte.
  [[nodiscard]] Result<void> open(std::string_view path) noexcept {
    if (path.find('\0') != path.npos) return fail(Errc::invalid_argument, "a path holds a zero byte");
    if (auto r = path_.append(path); !r) return r;
    if (auto r = path_.push_back('\0'); !r) return r;
    const std::size_t slash = path.rfind('/');
    if (auto r = part_.append(slash == path.npos ? std::string_view(".") : std::string_view(path.data(), slash + 1));
        !r)
      return r;
    if (auto r = part_.push_back('\0'); !r) return r;
    file_ = ::open(part_.view().data(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (file_ >= 0) return {};
    return with_name([&] {
      file_ = ::open(part_.view().data(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      return file_ >= 0;
    });
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
    // Else a file system may keep the name before the bytes.
    if (::fsync(file_) != 0) return failed("cannot write", errno);
    if (!named_) {
      const Name place = Name::of("/proc/self/fd/", static_cast<unsigned>(file_), std::string_view("", 1));
      auto linked = with_name([&] {
        return ::linkat(AT_FDCWD, place.view().data(), AT_FDCWD, part_.view().data(), AT_SYMLINK_FOLLOW) == 0;
      });
      if (!linked) return linked;
    }
    if (::close(std::exchange(file_, -1)) != 0) return failed("cannot write", errno);
    if (::rename(part_.view().data(), path_.view().data()) != 0) return failed("cannot replace", errno);
    named_ = false;
    return {};
  }

 private:
  [[nodiscard]] std::string_view path() const noexcept { return {path_.view().data(), path_.size() - 1}; }

  /// Calls `make` with names in part_ until one is new.
  template <class Make> [[nodiscard]] Result<void> with_name(Make&& make) noexcept {
    for (unsigned i = 0; i < 100; ++i) {
      const Name ending = Name::of(".part", static_cast<unsigned>(::getpid()), "-", i);
      part_.clear();
      if (auto r = part_.append(path()); !r) return r;
      if (auto r = part_.append(ending.view()); !r) return r;
      if (auto r = part_.push_back('\0'); !r) return r;
      named_ = make();
      if (named_) return {};
      if (errno != EEXIST) break;
    }
    return failed("cannot make a file beside", errno);
  }
  [[nodiscard]] std::unexpected<Error> failed(std::string_view what, int reason) const noexcept {
    const std::string_view shown(path().data(), path().size() < 120 ? path().size() : 120);
    return fail(Errc::io_error, what, " '", shown, "': system error ", reason);
  }

  String path_;
  String part_;
  int file_ = -1;
  bool named_ = false;
};

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
