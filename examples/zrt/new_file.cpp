// SPDX-License-Identifier: Apache-2.0
// examples/zrt/new_file.cpp: a file that bears its name only when it is complete.
#include "new_file.hpp"
#include "output.hpp"

#include <cerrno>
#include <unistd.h>

namespace program {

NewFile::NewFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {}

NewFile::~NewFile() {
  if (file_ == nullptr) return;
  (void)std::fclose(file_);
  (void)std::remove(part_.c_str());
}

zrt::Result<void> NewFile::open() {
  file_ = std::fopen(part_.c_str(), "wb");
  if (file_ == nullptr) return std::unexpected(write_error(part_, errno));
  return {};
}

zrt::Result<void> NewFile::write(zrt::Span<const std::byte> bytes) {
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size()) return {};
  return std::unexpected(write_error(part_, errno));
}

zrt::Result<void> NewFile::complete() {
  errno = 0;
  if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) return std::unexpected(write_error(part_, errno));
  if (std::rename(part_.c_str(), path_.c_str()) != 0) return std::unexpected(write_error(path_, errno));
  (void)std::fclose(file_);
  file_ = nullptr;
  return {};
}

}  // namespace program
