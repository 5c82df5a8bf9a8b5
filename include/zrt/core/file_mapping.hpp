// SPDX-License-Identifier: Apache-2.0
// zrt/core/file_mapping.hpp: a whole file mapped read-only into memory (POSIX).
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/string.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// Owns a read-only mapping of a regular file; move-only. The file's descriptor is closed already.
///
/// A process that shortens the file meanwhile makes the missing pages fault on access.
class FileMapping {
 public:
  FileMapping() = default;
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;
  FileMapping(FileMapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        modified_(std::exchange(other.modified_, 0)) {}
  FileMapping& operator=(FileMapping&& other) noexcept {
    if (this != &other) {
      unmap();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
      modified_ = std::exchange(other.modified_, 0);
    }
    return *this;
  }
  ~FileMapping() { unmap(); }

  /// Maps the file at `path`. An empty file gives an empty mapping.
  ///
  /// Fails with Errc::io_error when it cannot be opened, is no regular file, or cannot be mapped.
  [[nodiscard]] static Result<FileMapping> open(std::string_view path, const Allocator& allocator) noexcept {
    if (path.find('\0') != path.npos) return fail(Errc::invalid_argument, "a path holds a zero byte");
    String terminated(allocator);
    if (auto r = terminated.append(path); !r) return pass(r);
    if (auto r = terminated.push_back('\0'); !r) return pass(r);

    int file = -1;
    do {
      file = ::open(terminated.view().data(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (file < 0 && errno == EINTR);
    if (file < 0) return system_failure("cannot open", path, errno);
    auto mapping = of(file, path);
    ::close(file);
    return mapping;
  }

  [[nodiscard]] Span<const std::byte> span() const noexcept { return {data_, size_}; }
  /// When the file was last written before it was mapped, in nanoseconds since 1970; 0 without a file.
  [[nodiscard]] std::uint64_t modified() const noexcept { return modified_; }

  /// Lets the system take back what it has read of the file; it is read again where it is needed.
  void release_pages() const noexcept {
    if (data_ != nullptr) (void)::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
  }

 private:
  [[nodiscard]] static std::string_view shortened(std::string_view path) noexcept {
    return {path.data(), path.size() < 120 ? path.size() : 120};
  }

  [[nodiscard]] static std::unexpected<Error> system_failure(std::string_view what, std::string_view path,
                                                             int code) noexcept {
    auto error = Error::of(code == ENOMEM ? Errc::out_of_memory : Errc::io_error, what, " '", shortened(path), "': ");
    switch (code) {
      case ENOENT:
        error.append("no such file");
        break;
      case EACCES:
        error.append("permission denied");
        break;
      case EMFILE:
        error.append("too many open files");
        break;
      case ENOMEM:
        error.append("no memory");
        break;
      default:
        error.append("system error ").append(code);
        break;
    }
    return std::unexpected<Error>(error);
  }

  [[nodiscard]] static Result<FileMapping> of(int file, std::string_view path) noexcept {
    struct stat status{};
    if (::fstat(file, &status) != 0) return system_failure("cannot examine", path, errno);
    if (!S_ISREG(status.st_mode)) return fail(Errc::io_error, "'", shortened(path), "' is no regular file");
    const auto size = narrow<std::size_t>(status.st_size, "the size of the file");
    if (!size) return pass(size);
    FileMapping mapping;
    if (*size == 0) return mapping;
    void* memory = ::mmap(nullptr, *size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) return system_failure("cannot map", path, errno);
    mapping.data_ = static_cast<const std::byte*>(memory);
    mapping.size_ = *size;
    mapping.modified_ = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                        static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
    return mapping;
  }

  void unmap() noexcept {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
    data_ = nullptr;
    size_ = 0;
    modified_ = 0;
  }

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t modified_ = 0;
};

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
