// SPDX-License-Identifier: Apache-2.0
// zrt/core/file_exists.hpp: whether something lies at a path (POSIX).
#pragma once

#include <zrt/core/string.hpp>

#include <cerrno>
#include <string_view>
#include <sys/stat.h>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// Whether `path` names something, a link to nothing too.
///
/// Errors: Errc::out_of_memory; Errc::invalid_argument for a path with a zero byte.
[[nodiscard]] inline Result<bool> file_exists(std::string_view path, const Allocator& allocator) noexcept {
  if (path.find('\0') != path.npos) return fail(Errc::invalid_argument, "a path holds a zero byte");
  String terminated(allocator);
  if (auto r = terminated.append(path); !r) return pass(r);
  if (auto r = terminated.push_back('\0'); !r) return pass(r);
  struct stat status{};
  return ::lstat(terminated.view().data(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
