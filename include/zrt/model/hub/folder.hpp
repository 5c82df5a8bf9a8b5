// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/folder.hpp: the files of a model's folder as Hugging Face publishes it; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/core/file_mapping.hpp>
#include <zrt/model/hub/safetensors.hpp>

#include <memory>
#include <set>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// A folder whose files are read when they are asked for.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The last part of the path.
  [[nodiscard]] std::string_view name() const noexcept {
    std::string_view name(path_);
    while (name.ends_with('/')) name.remove_suffix(1);
    return slice(name, name.rfind('/') + 1);
  }
  [[nodiscard]] std::string path_of(std::string_view name) const { return path_ + "/" + std::string(name); }

  [[nodiscard]] bool has(std::string_view name) const {
    struct stat status{};
    return ::stat(path_of(name).c_str(), &status) == 0 && S_ISREG(status.st_mode);
  }
  /// Errors: those of FileMapping.
  [[nodiscard]] Result<FileMapping> open(std::string_view name) const {
    return FileMapping::open(path_of(name), system_allocator());
  }
  [[nodiscard]] Result<std::string> text(std::string_view name) const {
    const auto file = open(name);
    if (!file) return pass(file);
    return std::string(reinterpret_cast<const char*>(file->span().data()), file->span().size());
  }
  /// Errors: those of FileMapping and parse_json, with the file's name.
  [[nodiscard]] Result<HubJson> any_json(std::string_view name) const {
    const auto file = open(name);
    if (!file) return pass(file);
    auto read = parse_json({reinterpret_cast<const char*>(file->span().data()), file->span().size()});
    if (!read) return in(name, read.error());
    return read;
  }
  /// Reads an object. Errors: those of any_json; Errc::invalid_file.
  [[nodiscard]] Result<HubJson> json(std::string_view name) const {
    auto read = any_json(name);
    if (!read) return read;
    if (!read->is_object()) return fail(Errc::invalid_file, name, " holds ", read->type_name(), ", expected an object");
    return read;
  }
  /// Reads an object, or nothing where the file is absent.
  [[nodiscard]] Result<HubJson> json_if(std::string_view name) const {
    if (!has(name)) return HubJson(nullptr);
    return json(name);
  }

  /// The same error, with a file's name before its text.
  [[nodiscard]] static std::unexpected<Error> in(std::string_view name, const Error& error) {
    auto named = Error::of(error.code(), name, ": ", error.text());
    if (error.offset() != Error::kNoOffset) named.at_offset(error.offset());
    return std::unexpected<Error>(named);
  }

 private:
  std::string path_;
};

/// The tensors of a folder: of `model.safetensors`, or of the files that `model.safetensors.index.json` names.
class FolderTensors {
 public:
  /// Maps the files. Errors: those of Folder and Safetensors; Errc::missing_weight for a tensor of the index that no
  /// file has, Errc::invalid_file for a file that leads out of the folder, Errc::duplicate_name for a tensor that two
  /// files have.
  [[nodiscard]] static Result<FolderTensors> open(const Folder& folder) {
    FolderTensors made;
    std::set<std::string> files;
    const auto index = folder.json_if("model.safetensors.index.json");
    if (!index) return pass(index);
    const HubJson* map = find(&*index, "weight_map");
    if (!index->is_null() && (map == nullptr || !map->is_object()))
      return fail(Errc::invalid_file, "model.safetensors.index.json has no object 'weight_map'");
    if (map == nullptr) files.emplace("model.safetensors");
    if (map != nullptr)
      for (const HubJson& file : *map) files.emplace(text_of(&file));
    for (const std::string& file : files)
      if (auto r = made.add(folder, file); !r) return pass(r);
    if (map != nullptr)
      for (const auto& [name, file] : map->items())
        if (!made.names_.contains(name))
          return fail(Errc::missing_weight, "tensor '", detail::Quoted(name).view(), "' is in no file, expected in '",
                      detail::Quoted(text_of(&file)).view(), "'");
    return made;
  }

  /// Each file's, in the order of the files' names and then of their data. They stay where they are.
  [[nodiscard]] const std::vector<std::unique_ptr<Safetensors>>& files() const noexcept { return files_; }
  /// Lets the system take back what it has read of the files.
  void release_pages() const noexcept {
    for (const FileMapping& mapping : mappings_) mapping.release_pages();
  }

 private:
  [[nodiscard]] Result<void> add(const Folder& folder, const std::string& name) {
    if (name.empty() || name.find('/') != name.npos)
      return fail(Errc::invalid_file, "model.safetensors.index.json names the file '", detail::Quoted(name).view(),
                  "', expected one of the folder");
    auto mapping = folder.open(name);
    if (!mapping) return pass(mapping);
    auto tensors = Safetensors::read(mapping->span());
    if (!tensors) return Folder::in(name, tensors.error());
    mappings_.push_back(std::move(*mapping));
    files_.push_back(std::make_unique<Safetensors>(std::move(*tensors)));
    for (const SafeTensor& tensor : files_.back()->tensors())
      if (!names_.insert(tensor.name).second)
        return fail(Errc::duplicate_name, "two files have a tensor '", detail::Quoted(tensor.name).view(), "'");
    return {};
  }

  std::vector<FileMapping> mappings_;
  std::vector<std::unique_ptr<Safetensors>> files_;
  std::set<std::string_view> names_;
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
