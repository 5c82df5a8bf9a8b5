// SPDX-License-Identifier: Apache-2.0
// examples/zrt/inspect.cpp: what a file holds, and whether this build runs it.
#include "commands.hpp"
#include "output.hpp"
#include <zrt/quant/types.hpp>

#include <nlohmann/json.hpp>

#include <map>

namespace program {
namespace {

using Json = nlohmann::ordered_json;
using zrt::model::GgufEntry;
using zrt::model::GgufFile;
using zrt::model::GgufTensor;
using zrt::model::GgufValue;
using zrt::model::GgufValueType;

Json value_json(const GgufValue& value) {
  switch (value.type()) {
    case GgufValueType::boolean:
      return value.as<bool>().value_or(false);
    case GgufValueType::string:
      return value.as<std::string_view>().value_or("");
    case GgufValueType::f32:
    case GgufValueType::f64:
      return value.as<double>().value_or(0.0);
    case GgufValueType::u64:
      return value.as<std::uint64_t>().value_or(0);
    case GgufValueType::array:
      return {{"array_of", std::string(name(value.element_type()))}, {"count", value.count()}};
    case GgufValueType::u8:
    case GgufValueType::i8:
    case GgufValueType::u16:
    case GgufValueType::i16:
    case GgufValueType::u32:
    case GgufValueType::i32:
    case GgufValueType::i64:
      break;
  }
  return value.as<std::int64_t>().value_or(0);
}

bool is_weight_type(zrt::DType dtype) { return zrt::quant::find(dtype) != nullptr; }

Json tensors_json(const GgufFile& file) {
  Json out = Json::array();
  for (const GgufTensor& t : file.tensors())
    out.push_back({{"name", t.name},
                   {"type", t.type.name()},
                   {"dims", std::span(t.dims).first(t.rank)},
                   {"bytes", t.bytes},
                   {"computed", is_weight_type(t.type.dtype)}});
  return out;
}

/// Tensors and bytes by type.
Json types_json(const GgufFile& file) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> types;
  std::map<std::string, bool> computed;
  for (const GgufTensor& t : file.tensors()) {
    auto& [count, bytes] = types[std::string(t.type.name())];
    ++count;
    bytes += t.bytes;
    computed[std::string(t.type.name())] = is_weight_type(t.type.dtype);
  }
  Json out = Json::array();
  for (const auto& [type, sums] : types)
    out.push_back({{"type", type}, {"tensors", sums.first}, {"bytes", sums.second}, {"computed", computed[type]}});
  return out;
}

/// Opens the file on every backend, as small as it goes, and says what came of it.
Json runs_json(const std::string& path) {
  zrt::EngineOptions small;
  small.context = 16;
  small.chunk = 16;
  Json out = Json::array();
  for (const std::string& backend : backends()) {
    const auto model = open_model({.path = path, .backend = backend}, small);
    const auto usual = model ? expect_usual_context((*model)->file()) : zrt::Result<void>{};
    Json row{{"backend", backend}, {"runs", model && usual}};
    if (!model)
      row["why"] = describe(model.error());
    else if (!usual)
      row["why"] = describe(usual.error()) + "; a --context within the window runs it";
    else
      row["isa"] = (*model)->isa();
    out.push_back(std::move(row));
  }
  return out;
}

Json inspect_json(const std::string& path, const GgufFile& file) {
  Json metadata = Json::object();
  // Keys differ, so they are appended: looking each up takes a file with many of them quadratic time.
  for (const GgufEntry& entry : file.entries())
    metadata.get_ref<Json::object_t&>().emplace_back(std::string(entry.key), value_json(entry.value));
  return {{"gguf_version", file.version()}, {"file_bytes", file.file_bytes()}, {"metadata", std::move(metadata)},
          {"types", types_json(file)},      {"tensors", tensors_json(file)},   {"backends", runs_json(path)}};
}

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// One line per value; long texts are cut.
std::string short_text(const Json& value) {
  if (value.is_object())
    return "[" + std::to_string(value["count"].get<std::uint64_t>()) + " " + value["array_of"].get<std::string>() + "]";
  constexpr std::size_t kMost = 72;
  const std::string text = dump(value);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

std::string inspect_text(const Json& file) {
  std::string out = "GGUF version " + dump(file["gguf_version"]) + ", " +
                    bytes_text(file["file_bytes"].get<std::uint64_t>()) + "\n\nmetadata\n";
  for (const auto& [key, value] : file["metadata"].items()) out += "  " + key + " = " + short_text(value) + "\n";
  out += "\ntensors\n";
  for (const Json& t : file["tensors"])
    out += "  " + t["name"].get<std::string>() + "  " + t["type"].get<std::string>() + " " + dump(t["dims"]) + "  " +
           bytes_text(t["bytes"].get<std::uint64_t>()) + "\n";
  out += "\ntypes\n";
  for (const Json& t : file["types"])
    out += "  " + t["type"].get<std::string>() + ": " + dump(t["tensors"]) + " tensors, " +
           bytes_text(t["bytes"].get<std::uint64_t>()) +
           (t["computed"].get<bool>() ? "" : ", not computed by this build") + "\n";
  out += "\nthis build\n";
  for (const Json& b : file["backends"])
    out += "  " + b["backend"].get<std::string>() +
           (b["runs"].get<bool>() ? ": runs it (" + b["isa"].get<std::string>() + ")"
                                  : ": cannot run it: " + b["why"].get<std::string>()) +
           "\n";
  return out;
}

}  // namespace

int inspect(const InspectOptions& o) {
  const auto file = GgufFile::open(o.path);
  if (!file) return failed(of_file(file.error(), o.path));
  const Json found = inspect_json(o.path, *file);
  const std::string text =
      o.json ? found.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : inspect_text(found);
  return print(text) ? kOk : cannot_write("stdout");
}

}  // namespace program
