// SPDX-License-Identifier: Apache-2.0
// examples/zrt/new_file.hpp: a file that bears its name only when it is complete.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

namespace program {

/// Writes a file beside its target, under a name that no other file has, and gives it the target's name in `complete`.
/// Without that, or after an error, the file beside is removed. A link is followed: what it leads to is replaced.
class NewFile {
 public:
  /// What a target may be that exists and is no regular file, as a device or a pipe is.
  enum class Devices { refused, written_as_they_are };

  explicit NewFile(std::string path, Devices devices = Devices::refused) : path_(std::move(path)), devices_(devices) {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  [[nodiscard]] zrt::Result<void> open();
  [[nodiscard]] zrt::Result<void> write(zrt::Span<const std::byte> bytes);
  /// Puts everything on the disk, where it can then be read as `part()`.
  [[nodiscard]] zrt::Result<void> flush();
  /// Flushes, then gives the file its name.
  [[nodiscard]] zrt::Result<void> complete();
  [[nodiscard]] const std::string& part() const { return part_; }

 private:
  [[nodiscard]] zrt::Error error(int reason) const;
  [[nodiscard]] int open_part();

  std::string path_;
  Devices devices_;
  std::filesystem::path target_;  // what `path_` names, behind all links
  std::string part_;              // empty: the target itself is written
  std::FILE* file_ = nullptr;
};

}  // namespace program
