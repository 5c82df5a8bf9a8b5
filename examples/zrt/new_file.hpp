// SPDX-License-Identifier: Apache-2.0
// examples/zrt/new_file.hpp: a file that bears its name only when it is complete.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>

#include <cstdio>
#include <string>

namespace program {

/// Writes PATH.part and gives it its name in `complete`. Without that, or after an error, the part is removed.
class NewFile {
 public:
  explicit NewFile(std::string path);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  [[nodiscard]] zrt::Result<void> open();
  [[nodiscard]] zrt::Result<void> write(zrt::Span<const std::byte> bytes);
  /// Puts everything on the disk, then renames.
  [[nodiscard]] zrt::Result<void> complete();
  [[nodiscard]] const std::string& part() const { return part_; }

 private:
  std::string path_;
  std::string part_;
  std::FILE* file_ = nullptr;
};

}  // namespace program
