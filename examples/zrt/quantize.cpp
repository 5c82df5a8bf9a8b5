// SPDX-License-Identifier: Apache-2.0
// examples/zrt/quantize.cpp: writes a model anew with matrices of another weight type.
#include "commands.hpp"
#include "new_file.hpp"
#include "output.hpp"
#include <zrt/core/file_mapping.hpp>
#include <zrt/exec/thread_pool.hpp>
#include <zrt/model/importance_dat.hpp>
#include <zrt/model/quantize.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <unistd.h>
#include <vector>

namespace program {
namespace {

using Json = nlohmann::ordered_json;

/// What has been written, and a line on a terminal meanwhile. There is room for all tensors.
struct QuantizeProgress {
  std::vector<zrt::model::QuantizedTensor> tensors;
  bool shown = false;

  static void done(void* context, const zrt::model::QuantizedTensor& tensor) noexcept {
    auto& self = *static_cast<QuantizeProgress*>(context);
    self.tensors.push_back(tensor);
    if (self.shown)
      (void)std::fprintf(stderr, "\r\033[K%zu of %zu: %.*s", self.tensors.size(), self.tensors.capacity(),
                         static_cast<int>(tensor.name.size()), tensor.name.data());
  }
  [[nodiscard]] Json list() const {
    Json out = Json::array();
    for (const zrt::model::QuantizedTensor& t : tensors)
      out.push_back({{"name", t.name},
                     {"from", name(t.from)},
                     {"to", name(t.to)},
                     {"bytes", t.bytes},
                     {"error", t.error},
                     {"weighted", t.weighted}});
    return out;
  }
  /// "12 of 14 matrices": those that changed their type and were weighted.
  [[nodiscard]] std::string weighted_text() const {
    const auto of = [&](auto is) { return std::to_string(std::count_if(tensors.begin(), tensors.end(), is)); };
    return of([](const auto& t) { return t.weighted; }) + " of " + of([](const auto& t) { return t.from != t.to; }) +
           " matrices";
  }
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const zrt::model::QuantizedTensor& t : tensors) sum += t.bytes;
    return sum;
  }
};

/// Opens the file as it was written, and compares its index with what was to be written.
zrt::Result<void> check_written(const std::string& path, const zrt::model::GgufFile& source,
                                const QuantizeProgress& made) {
  const auto written = zrt::model::GgufFile::open(path);
  if (!written) return zrt::pass(written);
  const auto tensors = written->tensors();
  if (tensors.size() != made.tensors.size())
    return zrt::fail(zrt::Errc::invalid_file, "the file has ", tensors.size(), " tensors, expected ",
                     made.tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const zrt::model::QuantizedTensor& expected = made.tensors[i];
    if (tensors[i].name != expected.name || tensors[i].type.dtype != expected.to ||
        tensors[i].dims != source.tensors()[i].dims)
      return zrt::fail(zrt::Errc::invalid_file, "tensor ", i, " is '", tensors[i].name, "' of ", tensors[i].type.name(),
                       ", expected '", expected.name, "' of ", name(expected.to));
  }
  return {};
}

/// An importance matrix in a file of GGUF, or of the form that llama.cpp had before.
class ImportanceFile {
 public:
  [[nodiscard]] zrt::Result<void> open(const std::string& path) {
    {
      auto mapping = zrt::FileMapping::open(path, zrt::system_allocator());
      if (!mapping) return zrt::pass(mapping);
      const zrt::Span<const std::byte> bytes = mapping->span();
      if (!zrt::model::is_gguf(bytes)) {
        const zrt::model::ByteSink sink{&made_, [](void* context, zrt::Span<const std::byte> part) noexcept {
                                          return static_cast<zrt::Vector<std::byte>*>(context)->append(part);
                                        }};
        if (auto r = zrt::model::write_importance_of_dat(bytes, sink, zrt::system_allocator()); !r) return r;
      }
    }
    auto opened = made_.empty() ? zrt::model::GgufFile::open(path) : zrt::model::GgufFile::open(made_.span());
    if (!opened) return zrt::pass(opened);
    file_.emplace(std::move(*opened));
    return {};
  }
  [[nodiscard]] const zrt::model::GgufFile& file() const noexcept { return *file_; }

 private:
  zrt::Vector<std::byte> made_{zrt::system_allocator()};
  std::optional<zrt::model::GgufFile> file_;
};

std::string percent_text(double part) {
  std::array<char, 16> text{};
  (void)std::snprintf(text.data(), text.size(), "%.3f %%", part * 100.0);
  return text.data();
}

std::string table_text(const Json& tensors) {
  std::string out;
  for (const Json& t : tensors) {
    std::string line = t["name"].get<std::string>();
    line.resize(std::max<std::size_t>(line.size() + 1, 36), ' ');
    line += t["from"].get<std::string>() + " -> " + t["to"].get<std::string>();
    if (t["from"] != t["to"]) line += ", error " + percent_text(t["error"].get<double>());
    out += line + "\n";
  }
  return out;
}

}  // namespace

int quantize(const QuantizeOptions& o) {
  const auto file = zrt::model::GgufFile::open(o.path);
  if (!file) return failed(of_file(file.error(), o.path));
  ImportanceFile importance;
  if (!o.importance.empty())
    if (const auto opened = importance.open(o.importance); !opened)
      return failed(of_file(opened.error(), o.importance));
  zrt::exec::ThreadPool pool(zrt::system_allocator());
  if (o.threads > 1)
    if (const auto started = pool.start(o.threads); !started) return failed(started.error());
  QuantizeProgress progress;
  progress.tensors.reserve(file->tensors().size());
  progress.shown = ::isatty(2) != 0;
  zrt::model::QuantizeOptions options;
  if (o.threads > 1) options.threads = pool.hook();
  options.pure = o.pure;
  options.from_blocks = o.from_blocks;
  if (!o.importance.empty()) options.importance = &importance.file();
  options.context = &progress;
  options.done = &QuantizeProgress::done;
  NewFile out(o.out);
  if (const auto opened = out.open(); !opened) return failed(opened.error());
  const zrt::model::ByteSink sink{&out, [](void* context, zrt::Span<const std::byte> bytes) noexcept {
                                    return static_cast<NewFile*>(context)->write(bytes);
                                  }};
  zrt::model::Quantizer quantizer(*file, *zrt::model::find_file_type(o.type), options);
  const auto written = quantizer.write(sink);
  if (progress.shown) (void)std::fprintf(stderr, "\r\033[K");
  if (!written && written.error().code() == zrt::Errc::io_error) return failed(written.error());
  if (!written) return failed(of_file(written.error(), o.path));
  if (const auto flushed = out.flush(); !flushed) return failed(flushed.error());
  if (const auto sound = check_written(out.part(), *file, progress); !sound)
    return failed(of_file(sound.error(), o.out));
  if (const auto complete = out.complete(); !complete) return failed(complete.error());
  if (o.json) {
    const Json json{{"type", o.type}, {"bytes", progress.bytes()}, {"tensors", progress.list()}};
    return print(json.dump(2) + "\n") ? kOk : cannot_write("stdout");
  }
  const std::string weighted = !o.importance.empty() ? ", weighted for " + progress.weighted_text() : "";
  const std::string end = o.out + ": " + bytes_text(progress.bytes()) + " of tensors as " + o.type + weighted + "\n";
  return print((o.verbose ? table_text(progress.list()) : "") + end) ? kOk : cannot_write("stdout");
}

}  // namespace program
