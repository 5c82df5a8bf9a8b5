// SPDX-License-Identifier: Apache-2.0
// examples/zrt/new_file.cpp: a file that bears its name only when it is complete.
#include "new_file.hpp"
#include "output.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace program {
namespace {

namespace fs = std::filesystem;

/// The file that `path` names, which need not exist. As many links are followed as Linux follows.
fs::path behind_links(const std::string& path) {
  fs::path target = path;
  std::error_code ignored;
  for (int links = 0; fs::is_symlink(target, ignored) && links < 40; ++links)
    target = target.parent_path() / fs::read_symlink(target, ignored);
  return target;
}

/// Whether there is something at `path` that no file beside it can replace. Links of /proc lead to no name.
bool is_device(const std::string& path, const fs::path& target) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !(fs::is_regular_file(target, ignored) && fs::equivalent(target, path, ignored));
}

}  // namespace

NewFile::~NewFile() {
  if (file_ != nullptr) (void)std::fclose(file_);
  if (!part_.empty()) (void)std::remove(part_.c_str());
}

zrt::Error NewFile::error(int reason) const { return write_error(path_, reason); }

int NewFile::open_part() {
  // Creation fails where there is a file of that name.
  for (int i = 0; i < 100; ++i) {
    std::string name = target_.string() + ".part" + std::to_string(::getpid()) + "-" + std::to_string(i);
    const int made = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made >= 0) part_ = std::move(name);
    if (made >= 0 || errno != EEXIST) return made;
  }
  return -1;
}

zrt::Result<void> NewFile::open() {
  target_ = behind_links(path_);
  int made = -1;
  if (!is_device(path_, target_)) {
    made = open_part();
  } else if (devices_ == Devices::written_as_they_are) {
    made = ::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  } else {
    return std::unexpected(zrt::Error::of(zrt::Errc::io_error, "cannot write ", path_, ": it is no regular file"));
  }
  if (made < 0) return std::unexpected(error(errno));
  file_ = ::fdopen(made, "wb");
  if (file_ != nullptr) return {};
  const int reason = errno;
  (void)::close(made);
  return std::unexpected(error(reason));
}

zrt::Result<void> NewFile::write(zrt::Span<const std::byte> bytes) {
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size()) return {};
  return std::unexpected(error(errno));
}

zrt::Result<void> NewFile::flush() {
  errno = 0;
  if (std::fflush(file_) != 0 || (!part_.empty() && ::fsync(::fileno(file_)) != 0))
    return std::unexpected(error(errno));
  return {};
}

zrt::Result<void> NewFile::complete() {
  if (auto r = flush(); !r) return r;
  if (part_.empty()) return {};
  std::error_code failure;
  fs::rename(part_, target_, failure);
  if (failure) return std::unexpected(error(failure.value()));
  part_.clear();
  return {};
}

}  // namespace program
