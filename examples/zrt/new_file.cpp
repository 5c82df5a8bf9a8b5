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

/// The place of a descriptor of this process, where its file can be opened and linked whether it has a name or not.
std::string place_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// Opens a file of no name in a folder: whatever ends the process, nothing of it stays. -1 where there are none such.
int open_unnamed(const fs::path& folder) {
  const int made = ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (made < 0 || ::access(place_of(made).c_str(), F_OK) == 0) return made;
  (void)::close(made);
  return -1;
}

}  // namespace

NewFile::~NewFile() {
  if (file_ != nullptr) (void)std::fclose(file_);
  if (!part_.empty() && named_) (void)std::remove(part_.c_str());
}

zrt::Error NewFile::error(int reason) const { return write_error(path_, reason); }

std::string NewFile::part_name(int number) const {
  return target_.string() + ".part" + std::to_string(::getpid()) + "-" + std::to_string(number);
}

template <class Make> int NewFile::make_named(Make make) {
  // Making fails where there is a file of that name.
  for (int i = 0; i < 100; ++i) {
    std::string name = part_name(i);
    const int made = make(name.c_str());
    named_ = made >= 0;
    if (named_) part_ = std::move(name);
    if (named_ || errno != EEXIST) return made;
  }
  return -1;
}

int NewFile::open_part() {
  // A name that is too long is refused now, and not when the file is complete.
  if (::access(part_name(0).c_str(), F_OK) != 0 && errno != ENOENT) return -1;
  const int made = open_unnamed(target_.parent_path());
  if (made < 0)
    return make_named([](const char* name) { return ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  part_ = place_of(made);
  return made;
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
  // A link never replaces a file, so there is a name in between.
  const auto link = [from = part_](const char* name) {
    return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW);
  };
  if (!named_ && make_named(link) < 0) return std::unexpected(error(errno));
  std::error_code failure;
  fs::rename(part_, target_, failure);
  if (failure) return std::unexpected(error(failure.value()));
  part_.clear();
  return {};
}

}  // namespace program
