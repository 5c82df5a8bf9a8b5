// SPDX-License-Identifier: Apache-2.0
// examples/zrt/ptir_convert.cpp: writes a tensor program in another form.
#include "commands.hpp"
#include "onnx_program.hpp"
#include "output.hpp"
#include "program_file.hpp"
#include "tensor_program.hpp"
#include <zrt/ir/ptir/json.hpp>
#include <zrt/ir/ptir/text.hpp>

#include <filesystem>

namespace program {
namespace {

namespace ptir = zrt::ir::ptir;

zrt::Result<ptir::Program> converted_source(const PtirConvertOptions& o) {
  std::vector<std::string> feeds;
  if (!o.file.ends_with(".onnx")) return read_program(o.file, feeds, {});
  auto source = open_onnx(o.file);
  if (!source) return zrt::pass(source);
  auto program = read_onnx(*source, o.extents);
  return program ? std::move(program) : std::unexpected(of_file(program.error(), o.file));
}

zrt::Result<std::string> written_form(const ptir::Program& program, const PtirConvertOptions& o) {
  const bool json = o.to.empty() ? o.out.ends_with(".json") : o.to == "json";
  if (json) {
    const auto form = ptir::to_json(program);
    if (!form) return zrt::pass(form);
    return form->dump(1) + "\n";
  }
  const auto text = ptir::print(program);
  if (!text) return zrt::pass(text);
  return std::string(text->view());
}

/// Writes the files of a package to the folder that the options name.
zrt::Result<void> write_package(const ptir::Program& program, const PtirConvertOptions& o) {
  if (o.out.empty())
    return zrt::fail(zrt::Errc::invalid_argument, "--to c writes several files; --out names their folder");
  const std::string name = o.name.empty() ? "program" : o.name;
  const auto package = c_package(program, name, o.thread_hook);
  if (!package) return zrt::pass(package);
  std::error_code failed;
  std::filesystem::create_directories(o.out, failed);
  const std::string base = (std::filesystem::path(o.out) / name).string();
  if (auto r = write_file(base + ".c", package->source.view()); !r) return r;
  if (auto r = write_file(base + ".h", package->header.view()); !r) return r;
  if (package->weights.empty()) return {};
  if (auto r = write_file(base + "_weights.S", package->assembly.view()); !r) return r;
  const auto* const bytes = reinterpret_cast<const char*>(package->weights.data());
  return write_file(base + ".weights", {bytes, package->weights.size()});
}

}  // namespace

int ptir_convert(const PtirConvertOptions& o) {
  const auto program = converted_source(o);
  if (!program) return failed(program.error());
  if (o.to == "c") {
    const auto done = write_package(*program, o);
    return done ? kOk : failed(done.error());
  }
  const auto text = written_form(*program, o);
  if (!text) return failed(text.error());
  if (o.out.empty()) return print(*text) ? kOk : cannot_write("stdout");
  const auto done = write_file(o.out, *text);
  return done ? kOk : failed(done.error());
}

}  // namespace program
