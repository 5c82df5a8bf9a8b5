// SPDX-License-Identifier: Apache-2.0
// examples/zrt/convert.cpp: a model's folder, as Hugging Face publishes it, becomes one GGUF file.
#include "commands.hpp"
#include "model.hpp"
#include "new_file.hpp"
#include "output.hpp"
#include <zrt/exec/thread_pool.hpp>
#include <zrt/model/hub/convert.hpp>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <unistd.h>
#include <vector>

namespace program {
namespace {

/// What has been written, and a line on a terminal meanwhile.
struct ConvertedSoFar {
  std::vector<zrt::model::hub::ConvertedTensor> tensors{};
  std::size_t expected = 0;
  std::uint64_t bytes = 0;
  bool shown = false;

  static void step(void* context, const zrt::model::hub::ConvertedTensor& tensor) noexcept {
    auto& self = *static_cast<ConvertedSoFar*>(context);
    self.bytes += tensor.bytes;
    self.tensors.push_back(tensor);
    if (self.shown)
      (void)std::fprintf(stderr, "\r\033[K%zu of %zu: %.*s", self.tensors.size(), self.expected,
                         static_cast<int>(tensor.name.size()), tensor.name.data());
  }
};

nlohmann::ordered_json report_json(const zrt::model::hub::Converter& converter, const ConvertedSoFar& made) {
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  for (const auto& tensor : made.tensors)
    tensors.push_back({{"name", tensor.name}, {"type", zrt::name(tensor.type)}, {"bytes", tensor.bytes}});
  return {{"architecture", converter.family().name},
          {"type", converter.type().name},
          {"bytes", made.bytes},
          {"left_out", converter.left_out()},
          {"tensors", std::move(tensors)}};
}

std::string report_text(const std::string& out, const zrt::model::hub::Converter& converter,
                        const ConvertedSoFar& made) {
  std::string text = out + ": " + std::string(converter.family().name) + ", " + std::to_string(made.tensors.size()) +
                     " tensors, " + bytes_text(made.bytes) + " as " + std::string(converter.type().name);
  if (converter.left_out() != 0)
    text += "; " + std::to_string(converter.left_out()) + " tensors of other parts left out";
  return text + "\n";
}

}  // namespace

int convert(const ConvertOptions& o) {
  zrt::exec::ThreadPool pool(zrt::system_allocator());
  if (o.threads > 1)
    if (const auto started = pool.start(o.threads); !started) return failed(started.error());
  ConvertedSoFar made;
  zrt::model::hub::ConvertOptions options;
  if (o.threads > 1) options.threads = pool.hook();
  if (o.type != "auto") options.type = zrt::model::find_file_type(o.type);
  options.pre = o.pre;
  options.name = o.name;
  options.context = &made;
  options.done = &ConvertedSoFar::step;
  auto converter = zrt::model::hub::Converter::open(o.path, options);
  if (!converter) return failed(of_file(converter.error(), o.path));
  made.expected = converter->tensors().size();
  made.tensors.reserve(made.expected);
  made.shown = ::isatty(2) != 0;
  NewFile out(o.out);
  if (const auto opened = out.open(); !opened) return failed(opened.error());
  const zrt::model::ByteSink sink{&out, [](void* context, zrt::Span<const std::byte> bytes) noexcept {
                                    return static_cast<NewFile*>(context)->write(bytes);
                                  }};
  const auto written = converter->write(sink);
  if (made.shown) (void)std::fprintf(stderr, "\r\033[K");
  if (!written && written.error().code() == zrt::Errc::io_error) return failed(written.error());
  if (!written) return failed(of_file(written.error(), o.path));
  if (const auto flushed = out.flush(); !flushed) return failed(flushed.error());
  if (const auto sound = expect_runs(out.part()); !sound) return failed(of_file(sound.error(), o.out));
  if (const auto complete = out.complete(); !complete) return failed(complete.error());
  return print(o.json ? report_json(*converter, made).dump(2) + "\n" : report_text(o.out, *converter, made))
             ? kOk
             : cannot_write("stdout");
}

}  // namespace program
