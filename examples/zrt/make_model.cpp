// SPDX-License-Identifier: Apache-2.0
// examples/zrt/make_model.cpp: a model of any family with random weights.
#include "commands.hpp"
#include "model.hpp"
#include "model_shapes.hpp"
#include "new_file.hpp"
#include "output.hpp"
#include <zrt/exec/thread_pool.hpp>
#include <zrt/model/byte_vocabulary.hpp>
#include <zrt/model/random_model.hpp>
#include <zrt/models.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unistd.h>
#include <vector>

namespace program {
namespace {

using Json = nlohmann::ordered_json;
using IndexBytes = std::vector<std::byte>;
using zrt::model::GgufFile;
using zrt::model::GgufWriter;

/// ModelKeys of a model as texts, in the order in which they came first.
struct ModelKeys {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> with;
  std::vector<std::string> without;

  [[nodiscard]] const std::string* find(std::string_view key) const {
    for (const auto& [name, value] : values)
      if (name == key) return &value;
    return nullptr;
  }
  void set(const std::string& key, const std::string& value) {
    if (key == "with") return with.push_back(value);
    if (key == "without") return without.push_back(value);
    for (auto& [name, old] : values)
      if (name == key) return void(old = value);
    values.emplace_back(key, value);
  }
};

/// Reads words KEY=VALUE; a # begins a remark that ends with its line. `place` says where they stand.
zrt::Result<void> read_keys(std::string_view text, std::string_view place, ModelKeys& keys) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    constexpr std::string_view kBlanks = " \t\r\n";
    if (kBlanks.find(text[at]) != kBlanks.npos) {
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    const std::string word(text.substr(at, end - at));
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == word.npos || equals + 1 == word.size())
      return zrt::fail(zrt::Errc::invalid_argument, place, ": '", word, "' is no KEY=VALUE");
    keys.set(word.substr(0, equals), word.substr(equals + 1));
    at = end;
  }
  return {};
}

/// Why there is no such shape, or nothing. The lists are longer than an error's text.
std::string shape_fault(const MakeModelOptions& o) {
  if (o.shape.empty() || find_shape(o.shape, o.architecture) != nullptr) return {};
  if (is_shape(o.shape))
    return "--shape " + o.shape + " is not there for --arch " + o.architecture + ", but for" +
           architectures_of(o.shape);
  std::error_code error;
  if (std::filesystem::is_regular_file(o.shape, error)) return {};
  return "--shape '" + o.shape + "' is neither a file of KEY=VALUE words nor one of" + shape_names();
}

zrt::Result<ModelKeys> keys_of(const MakeModelOptions& o) {
  ModelKeys keys;
  if (const ModelShape* shape = find_shape(o.shape, o.architecture)) {
    for (const std::string_view text : shape->texts)
      if (const auto r = read_keys(text, o.shape, keys); !r) return zrt::pass(r);
  } else if (!o.shape.empty()) {
    const auto text = read_file(o.shape);
    if (!text) return zrt::pass(text);
    if (const auto r = read_keys(*text, o.shape, keys); !r) return zrt::pass(r);
  }
  for (const std::string& word : o.set)
    if (const auto r = read_keys(word, "--set", keys); !r) return zrt::pass(r);
  return keys;
}

template <class T> bool is_number(std::string_view text, T& number) {
  const auto [stopped, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && stopped == text.data() + text.size();
}

/// Adds a key whose value is a text of the command line.
zrt::Result<void> add_value(GgufWriter& writer, const std::string& key, const std::string& text) {
  const auto bad = [&](const char* expected) {
    return zrt::fail(zrt::Errc::invalid_argument, key, " is ", text, ", expected ", expected);
  };
  if (text == "true" || text == "false") return writer.add(key, text == "true");
  if (text.front() == '[') {
    std::vector<std::uint32_t> list;
    std::size_t at = 1;
    while (at < text.size() && text.back() == ']') {
      const std::size_t end = text.find_first_of(",]", at);
      if (std::uint32_t number = 0; is_number(std::string_view(text).substr(at, end - at), number))
        list.push_back(number);
      else
        break;
      at = end + 1;
    }
    if (at != text.size()) return bad("[N,N,...] with numbers from 0 to 2^32 - 1");
    return writer.add_list(key, zrt::Span<const std::uint32_t>(list.data(), list.size()));
  }
  if (std::uint32_t number = 0; is_number(text, number)) return writer.add(key, number);
  if (text.find_first_not_of("0123456789") == text.npos) return bad("a whole number below 2^32");
  if (float number = 0; is_number(text, number)) return writer.add(key, number);
  return writer.add(key, std::string_view(text));
}

zrt::Result<std::uint32_t> count_of(const ModelKeys& keys, const char* key) {
  const std::string* text = keys.find(key);
  std::uint32_t number = 0;
  if (text == nullptr || !is_number(*text, number))
    return zrt::fail(zrt::Errc::missing_metadata, "the shape says ", text == nullptr ? "no" : "a wrong", " ", key,
                     ", expected a number; --set ", key, "=N sets it");
  return number;
}

/// The index of a file that has these keys, and the tensors that a family asks a file for before it names its own.
zrt::Result<IndexBytes> metadata_of(const MakeModelOptions& o, const ModelKeys& keys) {
  const auto tokens = count_of(keys, "vocab_size");
  if (!tokens) return zrt::pass(tokens);
  const auto width = count_of(keys, "embedding_length");
  if (!width) return zrt::pass(width);
  IndexBytes bytes;
  const zrt::model::ByteSink sink{&bytes, [](void* context, zrt::Span<const std::byte> more) noexcept {
                                    auto& to = *static_cast<IndexBytes*>(context);
                                    to.insert(to.end(), more.begin(), more.end());
                                    return zrt::Result<void>{};
                                  }};
  GgufWriter writer(sink, zrt::system_allocator());
  if (const auto r = writer.add("general.architecture", std::string_view(o.architecture)); !r) return zrt::pass(r);
  // Some programs take a name for a promise of that family's own vocabulary.
  const std::string name = "random weights, seed " + std::to_string(o.seed);
  if (const auto r = writer.add("general.name", std::string_view(name)); !r) return zrt::pass(r);
  for (const auto& [key, value] : keys.values) {
    const bool whole = key.starts_with("tokenizer.") || key.starts_with("general.");
    if (const auto r = add_value(writer, whole ? key : o.architecture + "." + key, value); !r) return zrt::pass(r);
  }
  if (const auto r = zrt::model::ByteVocabulary(*tokens).write(writer); !r) return zrt::pass(r);
  const zrt::model::GgmlType& type = *zrt::model::find_ggml_type(zrt::DType::f32);
  const std::array<std::uint64_t, 2> table{*width, *tokens};
  if (const auto r = writer.add_tensor("token_embd.weight", type, table); !r) return zrt::pass(r);
  const std::array<std::uint64_t, 1> one{1};
  for (const std::string& tensor : keys.with)
    if (const auto r = writer.add_tensor(tensor, type, one); !r) return zrt::pass(r);
  if (const auto r = writer.begin(); !r) return zrt::pass(r);
  return bytes;
}

/// Opens an index without data, as a file so large that it has room for all tensors.
zrt::Result<GgufFile> open_index(IndexBytes& bytes) {
  return GgufFile::open(zrt::model::GgufReader{
      &bytes, [](void*) noexcept { return std::uint64_t{1} << 62; },
      [](void* context, std::uint64_t offset, std::size_t size, std::byte* to) noexcept {
        const auto& from = *static_cast<const IndexBytes*>(context);
        const std::size_t there = offset < from.size() ? std::min<std::size_t>(size, from.size() - offset) : 0;
        std::memset(to + there, 0, size - there);
        if (there != 0) std::memcpy(to, from.data() + offset, there);
        return true;
      }});
}

/// What has been written, and a line on a terminal meanwhile.
struct MadeTensors {
  std::size_t tensors = 0;
  std::size_t done = 0;
  std::uint64_t bytes = 0;
  bool shown = false;

  static void step(void* context, const zrt::model::RandomTensorDone& tensor) noexcept {
    auto& self = *static_cast<MadeTensors*>(context);
    self.bytes += tensor.bytes;
    ++self.done;
    if (self.shown)
      (void)std::fprintf(stderr, "\r\033[K%zu of %zu: %.*s", self.done, self.tensors,
                         static_cast<int>(tensor.name.size()), tensor.name.data());
  }
};

}  // namespace

int make_model(const MakeModelOptions& o) {
  if (const std::string fault = shape_fault(o); !fault.empty()) return usage(fault);
  const auto keys = keys_of(o);
  if (!keys) return failed(keys.error());
  auto bytes = metadata_of(o, *keys);
  if (!bytes) return failed(bytes.error());
  const auto metadata = open_index(*bytes);
  if (!metadata) return failed(metadata.error());
  const std::vector<std::string_view> with(keys->with.begin(), keys->with.end());
  const std::vector<std::string_view> without(keys->without.begin(), keys->without.end());
  const std::vector<std::string_view>& named = without.empty() ? with : without;
  const auto tensors = zrt::model::list_tensors<zrt::AllFamilies>(
      *metadata, {{named.data(), named.size()}, without.empty()}, zrt::system_allocator());
  if (!tensors) return failed(tensors.error());

  zrt::exec::ThreadPool pool(zrt::system_allocator());
  if (o.threads > 1)
    if (const auto started = pool.start(o.threads); !started) return failed(started.error());
  MadeTensors progress{tensors->size(), 0, 0, ::isatty(2) != 0};
  zrt::model::RandomModelOptions options;
  if (o.threads > 1) options.threads = pool.hook();
  options.seed = o.seed;
  options.pure = o.pure;
  options.context = &progress;
  options.done = &MadeTensors::step;
  NewFile out(o.out);
  if (const auto opened = out.open(); !opened) return failed(opened.error());
  const zrt::model::ByteSink sink{&out, [](void* context, zrt::Span<const std::byte> more) noexcept {
                                    return static_cast<NewFile*>(context)->write(more);
                                  }};
  zrt::model::RandomModel model(*metadata, tensors->span(), *zrt::model::find_file_type(o.type), options);
  const auto written = model.write(sink);
  if (progress.shown) (void)std::fprintf(stderr, "\r\033[K");
  if (!written) return failed(written.error());
  if (const auto flushed = out.flush(); !flushed) return failed(flushed.error());
  if (const auto sound = expect_runs(out.part()); !sound) return failed(of_file(sound.error(), o.out));
  if (const auto complete = out.complete(); !complete) return failed(complete.error());
  if (o.json) {
    const Json json{{"architecture", o.architecture},
                    {"type", o.type},
                    {"seed", o.seed},
                    {"tensors", tensors->size()},
                    {"bytes", progress.bytes}};
    return print(json.dump(2) + "\n") ? kOk : cannot_write("stdout");
  }
  return print(o.out + ": " + std::to_string(tensors->size()) + " tensors, " + bytes_text(progress.bytes) + " as " +
               o.type + "\n")
             ? kOk
             : cannot_write("stdout");
}

}  // namespace program
