// SPDX-License-Identifier: Apache-2.0
// examples/zrt/validate_program.cpp: a tensor program on two backends, C among them: every instruction's results compared.
#include "commands.hpp"
#include "output.hpp"
#include "program_file.hpp"
#include "tensor_output.hpp"
#include "tensor_program.hpp"
#include <zrt/ir/ptir/attributes.hpp>
#include <zrt/ops/cond.hpp>
#include <zrt/trace/value_pairs.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace program {
namespace {

namespace ptir = zrt::ir::ptir;
namespace trace = zrt::trace;
namespace fs = std::filesystem;

/// A program whose outputs are all results of its instructions, and which instruction each output is of.
struct EveryValue {
  ptir::Program program;
  std::vector<std::size_t> instructions;
};

zrt::Result<EveryValue> every_value(const ptir::Program& source) {
  auto clone = source.clone();
  if (!clone) return zrt::pass(clone);
  EveryValue all{std::move(*clone), {}};
  ptir::Region& main = all.program.regions[0];
  main.results.clear();
  for (std::size_t i = 0; i < main.instructions.size(); ++i) {
    const ptir::Instruction& insn = main.instructions[i];
    const auto types = all.program.types_of(insn.output);
    for (std::uint32_t e = 0; e < types.size(); ++e) {
      const auto operand = insn.output.tuple ? ptir::Operand::tuple_element(insn.id, e) : ptir::Operand::value(insn.id);
      if (auto r = main.results.push_back({operand, types[e]}); !r) return zrt::pass(r);
      all.instructions.push_back(i);
    }
  }
  return all;
}

/// A program as C, built by the system's compiler and loaded.
class CProgram {
 public:
  static constexpr const char* kName = "validated";

  CProgram() = default;
  CProgram(const CProgram&) = delete;
  CProgram& operator=(const CProgram&) = delete;
  ~CProgram() {
    if (library_ != nullptr) (void)dlclose(library_);
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }

  /// Errors: Errc::io_error where there is no compiler, or it refuses the source.
  zrt::Result<void> build(std::string_view source) {
    std::string pattern = (fs::temp_directory_path() / "zrt_c_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) return zrt::fail(zrt::Errc::io_error, "there is no room for a C file");
    folder_ = pattern;
    const std::string file = (folder_ / "program.c").string(), library = (folder_ / "program.so").string();
    std::ofstream(file, std::ios::binary) << source;
    const char* const named = std::getenv("CC");
    const std::string compiler = named != nullptr && *named != '\0' ? named : "cc";
    std::vector<std::string> words;
    std::istringstream in(compiler);  // a compiler with its options
    for (std::string word; in >> word;) words.push_back(word);
    for (const std::string& word :
         {std::string("-std=c99"), std::string("-O1"), std::string("-ffp-contract=off"), std::string("-shared"),
          std::string("-fPIC"), std::string("-o"), library, file, std::string("-lm")})
      words.push_back(word);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    int status = 0;
    if (posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0)
      return zrt::fail(zrt::Errc::io_error, "the C compiler ", std::string_view(compiler), " built no program");
    library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return zrt::fail(zrt::Errc::io_error, "the C program cannot be loaded");
    return {};
  }
  /// Errors: Errc::spec_violation and limit_exceeded, as the function says.
  zrt::Result<void> run(const std::vector<Array>& inputs, std::vector<Array>& outputs) const {
    using Function = int (*)(const void* const*, void* const*, void*, int);
    const auto function = reinterpret_cast<Function>(dlsym(library_, kName));
    const auto* bytes =
        static_cast<const std::uint64_t*>(dlsym(library_, (std::string(kName) + "_arena_bytes").c_str()));
    if (function == nullptr || bytes == nullptr)
      return zrt::fail(zrt::Errc::not_found, "the C program has no function");
    std::vector<std::byte> arena(*bytes);
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const Array& array : inputs) in.push_back(array.data.data());
    for (Array& array : outputs) out.push_back(array.data.data());
    const int status = function(in.data(), out.data(), arena.data(), 0);
    if (status == 0) return {};
    return zrt::fail(status == 2 ? zrt::Errc::limit_exceeded : zrt::Errc::spec_violation,
                     "the C program ended with status ", status);
  }

 private:
  fs::path folder_;
  void* library_ = nullptr;
};

/// What one backend gave, and by how much its ops may be off.
struct Side {
  std::vector<Array> outputs;
  std::vector<double> bounds;  ///< by instruction: its op's own
};

/// By how much an instruction may be off of itself: its op, and what its regions run. A loop may run that any number of
/// times, so that nothing bounds it where anything is off.
template <class F> double own_bound(const ptir::Program& program, const ptir::Instruction& insn, const F& bound) {
  double inside = 0.0;
  for (const ptir::Attribute& attribute : program.attributes_of(insn))
    if (attribute.kind == ptir::AttributeKind::region && attribute.bits < program.regions.size())
      for (const ptir::Instruction& part : program.regions[attribute.bits].instructions)
        inside += own_bound(program, part, bound);
  const bool once = insn.opcode == zrt::ops::Cond::opcode;
  return double{bound(insn.opcode)} + (inside == 0.0 || once ? inside : std::numeric_limits<double>::infinity());
}

zrt::Result<Side> run_on(const std::string& backend, const EveryValue& all, const std::vector<ptir::Shape>& shapes,
                         const std::vector<Array>& inputs, std::uint32_t threads) {
  // What C gives has the types of what the oracle would give.
  const bool in_c = backend == "c";
  zrt::plan::ProgramOrigins origins;
  const auto ready = ready_program(
      all.program, shapes,
      {.backend = in_c ? "reference" : std::string_view(backend), .threads = threads, .origins = &origins});
  if (!ready) return zrt::pass(ready);
  Side side;
  side.outputs = room_for_outputs((*ready)->plan().plan);
  for (const ptir::Instruction& insn : all.program.regions[0].instructions)
    side.bounds.push_back(own_bound(
        all.program, insn, [&](zrt::Opcode opcode) { return in_c ? c_bound(opcode) : (*ready)->bound(opcode); }));
  if (in_c) {
    const auto source = c_source_as_is(all.program, shapes, CProgram::kName);
    if (!source) return zrt::pass(source);
    CProgram program;
    if (auto r = program.build(source->view()); !r) return zrt::pass(r);
    if (auto r = program.run(inputs, side.outputs); !r) return zrt::pass(r);
    return side;
  }
  std::vector<zrt::ConstTensorView> in;
  for (const Array& array : inputs) in.push_back({array.type.dtype, array.type.shape, array.data});
  std::vector<zrt::TensorView> out;
  for (Array& array : side.outputs) out.push_back({array.type.dtype, array.type.shape, array.data});
  if (auto r = (*ready)->run(in, out); !r) return zrt::pass(r);
  return side;
}

/// Of a type's unit in the last place, relative: what is rounded to the type may be off by one where it is off at all.
double unit_of(zrt::DType dtype) {
  const std::size_t bytes = zrt::info(dtype).block_bytes;
  return bytes == 1 ? 0x1p-2 : bytes == 2 ? 0x1p-7 : 0.0;
}

/// By instruction: what both may be off by, along the values that it reads.
std::vector<double> allowed_by(const ptir::Program& program, const Side& first, const Side& second) {
  const ptir::Region& main = program.regions[0];
  std::vector<double> allowed(main.instructions.size());
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    double inherited = 0.0;
    for (const ptir::Operand& operand : program.operands_of(main.instructions[i]))
      for (std::size_t k = 0; k < i && operand.kind != ptir::Operand::Kind::literal; ++k)
        if (main.instructions[k].id == operand.id) inherited = std::max(inherited, allowed[k]);
    allowed[i] = inherited + first.bounds[i] + second.bounds[i];
  }
  return allowed;
}

zrt::Result<std::vector<Array>> whole_feeds(const ptir::Program& program, std::vector<std::optional<Array>>& arrays) {
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i])
      return zrt::fail(zrt::Errc::invalid_argument, "input ",
                       std::string_view(input_name(program.regions[0].parameters[i])), " has no --feed");
    inputs.push_back(std::move(*arrays[i]));
  }
  return inputs;
}

/// The first element outside its bound.
struct ProgramDifference {
  std::size_t instruction = 0;
  std::uint64_t element = 0;
  double first = 0, second = 0, allowed = 0;
};

/// What a comparison of every output found.
struct Comparison {
  std::uint64_t values = 0, differing = 0;
  std::optional<ProgramDifference> difference{};
};

/// Compares output by output, up to the first difference.
Comparison compare(const EveryValue& all, const Side& first, const Side& second) {
  const std::vector<double> allowed = allowed_by(all.program, first, second);
  Comparison found;
  for (std::size_t out = 0; out < first.outputs.size(); ++out) {
    const zrt::TensorType& type = first.outputs[out].type;
    const std::size_t i = all.instructions[out];
    const double may = allowed[i] == 0.0 ? 0.0 : std::max(allowed[i], unit_of(type.dtype));
    const std::uint64_t elements = type.shape.elements({}).raw();
    found.values += elements;
    for (std::uint64_t e = 0; e < elements; ++e) {
      const trace::Agreement seen =
          trace::agree(type.dtype, first.outputs[out].data.data(), second.outputs[out].data.data(), e, may);
      found.differing += seen.differs ? 1 : 0;
      if (!seen.outside) continue;
      found.difference = ProgramDifference{i, e, seen.first, seen.second, may};
      return found;
    }
  }
  return found;
}

std::string text_of(const EveryValue& all, const ValidateOptions& o, const Comparison& found) {
  const auto& instructions = all.program.regions[0].instructions;
  if (const auto& d = found.difference) {
    const ptir::Instruction& insn = instructions[d->instruction];
    char text[512];
    (void)std::snprintf(
        text, sizeof text,
        "difference in instruction %zu: %%%u = %s, element %llu\n  %s  %.17g (%a)\n  %s  %.17g (%a)\n"
        "  expected %s\n",
        d->instruction, insn.id, std::string(ptir::find_op(insn.opcode)->name).c_str(),
        static_cast<unsigned long long>(d->element), o.backends[0].c_str(), d->first, d->first, o.backends[1].c_str(),
        d->second, d->second,
        d->allowed == 0.0 ? "the same bits" : ("within " + std::to_string(d->allowed) + " of the larger").c_str());
    return text;
  }
  return o.backends[0] + " and " + o.backends[1] + " agree: " + std::to_string(found.values) + " values of " +
         std::to_string(instructions.size()) + " instructions, " +
         (found.differing == 0 ? "the same bits" : std::to_string(found.differing) + " in other bits") + "\n";
}

std::string json_of(const EveryValue& all, const ValidateOptions& o, const Comparison& found) {
  const auto& instructions = all.program.regions[0].instructions;
  nlohmann::ordered_json out{{"program", o.program},         {"backends", o.backends},
                             {"values", found.values},       {"instructions", instructions.size()},
                             {"differing", found.differing}, {"difference", nullptr}};
  if (const auto& d = found.difference)
    out["difference"] = {{"instruction", d->instruction},
                         {"value", instructions[d->instruction].id},
                         {"op", ptir::find_op(instructions[d->instruction].opcode)->name},
                         {"element", d->element},
                         {"first", d->first},
                         {"second", d->second},
                         {"allowed", d->allowed}};
  return out.dump(2) + "\n";
}

}  // namespace

int validate_program(const ValidateOptions& o) {
  for (const std::string& backend : o.backends)
    if (backend != "cpu" && backend != "reference" && backend != "c")
      return usage("a tensor program runs on cpu, reference and c, not on " + backend);
  if (o.backends.size() != 2) return usage("--backends needs two: cpu,reference");
  if (o.layers) return usage("a tensor program has no layers: --layers goes with --model");
  std::vector<std::string> feeds = o.feeds;
  const auto source = read_program(o.program, feeds, std::nullopt);
  if (!source) return failed(source.error());
  auto arrays = read_feeds(*source, feeds);
  if (!arrays) return failed(arrays.error());
  const auto shapes = shapes_of(*source, *arrays);
  if (!shapes) return failed(shapes.error());
  const auto inputs = whole_feeds(*source, *arrays);
  if (!inputs) return failed(inputs.error());
  const auto all = every_value(*source);
  if (!all) return failed(all.error());
  const auto first = run_on(o.backends[0], *all, *shapes, *inputs, o.threads);
  if (!first) return failed(first.error());
  const auto second = run_on(o.backends[1], *all, *shapes, *inputs, o.threads);
  if (!second) return failed(second.error());
  const Comparison found = compare(*all, *first, *second);
  if (!print(o.json ? json_of(*all, o, found) : text_of(*all, o, found))) return cannot_write("stdout");
  return found.difference ? kFailed : kOk;
}

}  // namespace program
