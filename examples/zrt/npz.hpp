// SPDX-License-Identifier: Apache-2.0
// examples/zrt/npz.hpp: .npz archives, which are zip files of .npy files.
#pragma once

#include <zrt/core/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace program {

/// A file of an archive.
struct NpzMember {
  std::string name;   ///< of the tensor: without .npy
  std::string bytes;  ///< the .npy file
};

/// True for a path that names an archive.
[[nodiscard]] bool is_npz(std::string_view path);

/// The members of an archive, stored or deflated.
///
/// Errors: Errc::invalid_file for what is no zip file, is damaged, encrypted, or larger than 4 GiB.
[[nodiscard]] zrt::Result<std::vector<NpzMember>> read_npz(std::string_view archive);

/// An archive of these members, stored.
///
/// Errors: Errc::size_overflow for one of 4 GiB or more.
[[nodiscard]] zrt::Result<std::string> write_npz(const std::vector<NpzMember>& members);

/// Each archive among `feeds` by its members: NAME=ARCHIVE.npz:NAME for all of ARCHIVE.npz.
[[nodiscard]] zrt::Result<std::vector<std::string>> feeds_of_archives(const std::vector<std::string>& feeds);

/// The .npy file at `path`, which may be one of an archive: ARCHIVE.npz:NAME.
[[nodiscard]] zrt::Result<std::string> read_npy_file(const std::string& path);

}  // namespace program
