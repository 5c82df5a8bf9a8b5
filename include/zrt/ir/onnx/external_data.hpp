// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/external_data.hpp: files beside an ONNX model that hold the data of its tensors.
#pragma once

#include <zrt/core/file_mapping.hpp>
#include <zrt/core/slice.hpp>
#include <zrt/core/vector.hpp>

#include <array>
#include <climits>
#include <cstdlib>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// Maps the data files of a model when a tensor first needs them, and keeps them mapped.
///
/// A file must lie in the folder of the model, below it, or where the model's own link leads: a name that is absolute,
/// steps up, or is a link to elsewhere is refused.
class ExternalData {
 public:
  /// Of the model at `path`.
  ///
  /// Errors: Errc::io_error where no file is there, Errc::out_of_memory.
  [[nodiscard]] static Result<ExternalData> beside(std::string_view path, const Allocator& a) noexcept {
    ExternalData files(a);
    if (auto r = files.folder_.append(folder_of(path)); !r) return pass(r);
    if (auto r = real_path(files.folder_.view(), files.real_folder_, a); !r) return pass(r);
    String target(a);
    if (auto r = real_path(path, target, a); !r) return pass(r);
    if (auto r = files.real_target_.append(folder_of(target.view())); !r) return pass(r);
    return files;
  }

  /// Bytes `offset` to `offset + size` of the file called `location`; valid as long as this object.
  ///
  /// Errors: Errc::invalid_file for a location outside the folder, Errc::io_error for one that cannot be read,
  /// Errc::truncated_file where the file ends before.
  [[nodiscard]] Result<Span<const std::byte>> find(std::string_view location, std::uint64_t offset,
                                                   std::uint64_t size) noexcept {
    const auto file = open(location);
    if (!file) return pass(file);
    if (offset > file->size() || size > file->size() - offset)
      return fail(Errc::truncated_file, "file ", zrt::slice(location, 0, 80), " has ", file->size(),
                  " bytes, the data is ", size, " bytes from ", offset, " on");
    return file->subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  }

 private:
  struct File {
    String location;
    FileMapping mapping;
  };

  explicit ExternalData(const Allocator& a) noexcept
      : allocator_(a), folder_(a), real_folder_(a), real_target_(a), files_(a) {}

  [[nodiscard]] static std::string_view folder_of(std::string_view path) noexcept {
    const std::size_t slash = path.rfind('/');
    if (slash == path.npos) return ".";
    return slash == 0 ? "/" : zrt::slice(path, 0, slash);
  }
  [[nodiscard]] static Result<void> real_path(std::string_view path, String& to, const Allocator& a) noexcept {
    String terminated(a);
    if (auto r = terminated.append(path); !r) return r;
    if (auto r = terminated.push_back('\0'); !r) return r;
    std::array<char, PATH_MAX> resolved{};
    if (::realpath(terminated.view().data(), resolved.data()) == nullptr)
      return fail(Errc::io_error, "cannot find '", zrt::slice(path, 0, 120), "'");
    return to.append(std::string_view(resolved.data()));
  }
  [[nodiscard]] static bool is_below(std::string_view path, std::string_view folder) noexcept {
    if (folder == "/") return true;
    return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
  }
  /// True for a relative path without empty parts, "." or "..".
  [[nodiscard]] static bool is_plain(std::string_view location) noexcept {
    while (true) {
      const std::size_t slash = location.find('/');
      const std::string_view part = zrt::slice(location, 0, slash);
      if (part.empty() || part == "." || part == ".." || part.find('\0') != part.npos) return false;
      if (slash == location.npos) return true;
      location.remove_prefix(slash + 1);
    }
  }

  [[nodiscard]] Result<Span<const std::byte>> open(std::string_view location) noexcept {
    while (location.starts_with("./")) location.remove_prefix(2);
    for (const File& file : files_)
      if (file.location.view() == location) return file.mapping.span();
    const auto outside = [&] {
      return fail(Errc::invalid_file, "its data is in '", zrt::slice(location, 0, 80),
                  "', expected a file in the model's folder");
    };
    if (!is_plain(location)) return outside();
    String path(allocator_);
    for (const std::string_view piece : {folder_.view(), std::string_view("/"), location})
      if (auto r = path.append(piece); !r) return pass(r);
    String real(allocator_);
    if (auto r = real_path(path.view(), real, allocator_); !r) return pass(r);
    if (!is_below(real.view(), real_folder_.view()) && !is_below(real.view(), real_target_.view())) return outside();
    auto mapping = FileMapping::open(real.view(), allocator_);
    if (!mapping) return pass(mapping);
    File file{String(allocator_), std::move(*mapping)};
    if (auto r = file.location.append(location); !r) return pass(r);
    if (auto r = files_.push_back(std::move(file)); !r) return pass(r);
    return files_.back().mapping.span();
  }

  Allocator allocator_;
  String folder_;       ///< of the model's path, as it was given
  String real_folder_;  ///< the same without links
  String real_target_;  ///< the folder of the file that the model's path leads to
  Vector<File> files_;
};

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
