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

bool is_onnx(const PtirConvertOptions& o) { return o.file.ends_with(".onnx"); }

zrt::Result<ptir::Program> converted_source(const PtirConvertOptions& o) {
  std::vector<std::string> feeds;
  if (!is_onnx(o)) return read_program(o.file, feeds, {});
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

/// C has numbers for all extents.
///
/// Errors: Errc::shape_mismatch, with what the command line can do about it.
zrt::Result<void> check_constant(const ptir::Program& program, const PtirConvertOptions& o) {
  for (const ptir::Parameter& p : program.regions[0].parameters)
    for (const ptir::Dim dim : p.type.shape.view()) {
      if (dim.is_constant()) continue;
      const std::string_view symbol = program.symbol_name(dim);
      const bool may_fix = is_onnx(o) && !symbol.empty();
      return zrt::fail(zrt::Errc::shape_mismatch, "input ", p.name.view(), " has an open extent",
                       may_fix ? "; --extent " : ", which the file must give", may_fix ? symbol : "",
                       may_fix ? "=NUMBER fixes it" : "");
    }
  return {};
}

/// Writes the files of a package to the folder that the options name. The source comes last: where it is
/// new, all is.
zrt::Result<void> write_package(const ptir::Program& program, const PtirConvertOptions& o) {
  if (o.out.empty())
    return zrt::fail(zrt::Errc::invalid_argument, "--to c writes several files; --out names their folder");
  const std::string name = o.name.empty() ? "program" : o.name;
  if (auto r = check_constant(program, o); !r) return r;
  const auto package = c_package(program, name, o.thread_hook);
  if (!package) return zrt::pass(package);
  std::error_code failed;
  std::filesystem::create_directories(o.out, failed);
  const std::string base = (std::filesystem::path(o.out) / name).string();
  if (package->weights.empty()) {
    // Those of an earlier program.
    for (const char* const ending : {".weights", "_weights.S"})
      if (!std::filesystem::remove(base + ending, failed) && failed)
        return std::unexpected(write_error(base + ending, failed.value()));
  } else {
    const auto* const bytes = reinterpret_cast<const char*>(package->weights.data());
    if (auto r = write_file(base + ".weights", {bytes, package->weights.size()}); !r) return r;
    if (auto r = write_file(base + "_weights.S", package->assembly.view()); !r) return r;
  }
  if (auto r = write_file(base + ".h", package->header.view()); !r) return r;
  return write_file(base + ".c", package->source.view());
}

}  // namespace

int ptir_convert(const PtirConvertOptions& o) {
  if (o.to != "c" && (!o.name.empty() || o.thread_hook)) return usage("--name and --thread-hook are for --to c");
  if (!is_onnx(o) && !o.extents.empty()) return usage("--extent is for ONNX files, and " + o.file + " is none");
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
