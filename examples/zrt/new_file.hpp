// SPDX-License-Identifier: Apache-2.0
// examples/zrt/new_file.hpp: a file that bears its name only when it is complete.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

namespace program {

/// Writes a file beside its target, without a name where the system has such files, else under one that no other file
/// has, and gives it the target's name in `complete`. Without that, or after an error, the file beside is removed. A link
/// is followed: what it leads to is replaced.
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
  [[nodiscard]] std::string part_name(int number) const;
  /// Has `make` make the file beside under a name of its own; -1 is a failure.
  template <class Make> [[nodiscard]] int make_named(Make make);

  std::string path_;
  Devices devices_;
  std::filesystem::path target_;  // what `path_` names, behind all links
  std::string part_;              // empty: the target itself is written
  bool named_ = false;            // part_ is a file's name, and no descriptor's place
  std::FILE* file_ = nullptr;
};

}  // namespace program
