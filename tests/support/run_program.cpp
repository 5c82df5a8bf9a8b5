// SPDX-License-Identifier: Apache-2.0
// tests/support/run_program.cpp: the runners of programs, and the way from programs to loaded C.
#include <c_programs.hpp>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <programs.hpp>
#include <sstream>
#include <support/c_code.hpp>
#include <support/run_program.hpp>
#include <unistd.h>

namespace zrt::test {

namespace {

/// Workers that come one after the other.
constexpr std::uint32_t kWorkers = 2;
const ThreadHook kInTurn{nullptr,
                         [](void*, ThreadHook::Work work, void* argument) noexcept {
                           for (std::uint32_t i = 0; i < kWorkers; ++i) work(argument, i, kWorkers);
                         },
                         kWorkers};

/// A chain stands as the ops of its steps.
void add_names(const plan::ExecutionPlan& plan, const plan::Instruction& instruction, ProgramRun& result) {
  if (instruction.opcode != ops::ElementChain::opcode) {
    result.ops.emplace_back(kOpTable<ops::Catalog>[number(instruction.opcode)] -> name);
    return;
  }
  ++result.chains;
  const auto params = decode_params<ops::ElementChain>(plan.param_block(*instruction.param_block_id));
  for (std::size_t s = 0; params && s < params->count; ++s) {
    constexpr std::string_view kNames[]{ops::ElementwiseUnary::name, ops::ElementwiseBinary::name, ops::GatedAct::name};
    result.ops.emplace_back(kNames[static_cast<std::size_t>(params->step(s).family)]);
  }
}

template <class B>
ProgramRun run_on(typename B::Device&& device, const ir::ptir::Program& program, std::span<const HostValue> inputs,
                  int times, const ProgramOptions& options) {
  ProgramRun result;
  std::vector<ir::ptir::Shape> shapes;
  std::vector<ConstTensorView> in;
  for (const HostValue& value : inputs) {
    ir::ptir::Shape shape;
    for (std::uint8_t axis = 0; axis < value.type.shape.rank; ++axis) shape.append(value.type.shape[axis].extent);
    shapes.push_back(shape);
    in.push_back({value.type.dtype, value.type.shape, value.bytes});
  }
  auto runner = ProgramRunner<B>::make(program, shapes, device, options);
  if (!runner) {
    result.refused = runner.error();
    return result;
  }
  const plan::ExecutionPlan& plan = runner->compiled().plan;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) add_names(plan, plan.instruction(i), result);
  result.arena_bytes = runner->mapping().arena_bytes;
  std::vector<TensorView> out;
  result.outputs.resize(runner->outputs());
  for (std::size_t i = 0; i < runner->outputs(); ++i) {
    HostValue& value = result.outputs[i];
    value.type = runner->output_type(i);
    value.bytes.resize(bytes_of(value.type.dtype, value.type.shape.elements({}).raw()), std::byte{0xa5});
    out.push_back({value.type.dtype, value.type.shape, value.bytes});
  }
  for (int i = 0; i < times; ++i)
    if (auto r = runner->run(in, out); !r) result.failed = r.error();
  return result;
}

}  // namespace

ProgramRun run_program(const ir::ptir::Program& program, std::span<const HostValue> inputs, int times,
                       std::uint64_t trip_limit, bool optimise) {
  ProgramOptions options;
  options.lower.trip_limit = trip_limit;
  options.optimise = optimise;
  return run_on<engines::ReferencePrograms>({}, program, inputs, times, options);
}

ProgramRun run_program_on_cpu(const ir::ptir::Program& program, std::span<const HostValue> inputs, int times) {
  return run_on<engines::CpuPrograms>(engines::CpuPrograms::Device(system_allocator(), kInTurn), program, inputs, times,
                                      {});
}

struct CCode::State {
  plan::c::Module module;
  void* library = nullptr;
};

CCode::CCode() : state_(new State) {}
CCode::~CCode() {
  if (state_->library != nullptr) (void)dlclose(state_->library);
  delete state_;
}

Result<void> CCode::add(const std::string& name, const ir::ptir::Program& program, std::span<const HostValue> inputs,
                        std::uint64_t trip_limit, bool optimise) {
  std::vector<ir::ptir::Shape> shapes;
  for (const HostValue& value : inputs) {
    ir::ptir::Shape shape;
    for (std::uint8_t axis = 0; axis < value.type.shape.rank; ++axis) shape.append(value.type.shape[axis].extent);
    shapes.push_back(shape);
  }
  plan::c::Options options;
  options.lower.trip_limit = trip_limit;
  options.optimise = optimise;
  return engines::add_to_c(state_->module, name, program, shapes, options);
}

Result<void> CCode::add(const std::string& name, const ir::fused::FusedProgram& program,
                        std::span<const ir::fused::FeedType> feeds) {
  return engines::add_to_c(state_->module, name, program, feeds);
}

std::string CCode::build() {
  const auto text = state_->module.finish();
  if (!text) return std::string(text.error().text());
  const auto folder = std::filesystem::temp_directory_path() / ("zrt_c_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string source = (folder / "code.c").string(), library = (folder / "code.so").string(),
                    log = (folder / "log").string();
  std::ofstream(source, std::ios::binary) << std::string_view(text->view());
  const char* compiler = std::getenv("ZRT_TEST_CC");
  const std::string command = std::string(compiler != nullptr ? compiler : "cc") +
                              " -std=c99 -Wall -Wextra -Werror -pedantic -O1 -shared -fPIC -o " + library + " " +
                              source + " -lm >" + log + " 2>&1";
  std::string said;
  if (std::system(command.c_str()) != 0) {
    std::stringstream words;
    words << command << "\n" << std::ifstream(log).rdbuf();
    said = words.str().substr(0, 4000);
  } else if ((state_->library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) == nullptr) {
    said = dlerror();
  }
  if (std::getenv("ZRT_TEST_KEEP_C") == nullptr) std::filesystem::remove_all(folder);
  return said;
}

int CCode::call(const std::string& name, std::span<const HostValue> inputs, std::span<HostValue> outputs,
                bool training) const {
  using Function = int (*)(const void* const*, void* const*, void*, int);
  const auto function = reinterpret_cast<Function>(dlsym(state_->library, name.c_str()));
  const auto* arena_bytes = static_cast<const std::uint64_t*>(dlsym(state_->library, (name + "_arena_bytes").c_str()));
  if (function == nullptr || arena_bytes == nullptr) return -1;
  // What lay there before, and behind it, is nothing that a function may count on or change.
  std::vector<std::byte> arena(*arena_bytes + 64, std::byte{0xa5});
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const HostValue& value : inputs) in.push_back(value.bytes.data());
  for (HostValue& value : outputs) out.push_back(value.bytes.data());
  const int status = function(in.data(), out.data(), arena.data(), training ? 1 : 0);
  for (std::size_t i = *arena_bytes; i < arena.size(); ++i)
    if (arena[i] != std::byte{0xa5}) return -2;
  return status;
}

}  // namespace zrt::test
