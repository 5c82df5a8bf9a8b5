// SPDX-License-Identifier: Apache-2.0
// tests/onnx/in_c.cpp: node tests whose programs call kernels of ONNX, as C: what the compiled functions give is what
// ReferenceBackend gives.
#include <array>
#include <cstdio>
#include <limits>
#include <onnx/run_case.hpp>
#include <support/c_code.hpp>
#include <support/run_program.hpp>

namespace zrt::test {

namespace {

/// The targets that a program calls, regions included.
std::set<std::string> targets_of(const ir::ptir::Program& program) {
  std::set<std::string> found;
  for (const auto& region : program.regions)
    for (const auto& i : region.instructions)
      if (ir::ptir::find_op(i.opcode)->name == "custom_call")
        found.emplace(program.text(program.attributes_of(i)[0].range));
  return found;
}

/// Functions of libm differ from the library's own by some units in the last place.
constexpr Tolerance kTolerance{.relative = 2e-6};

/// A square root of f64 for each of `count`, which no node test takes; that of f32 is a primitive.
Result<ir::ptir::Program> square_roots(std::int64_t count) {
  ir::ptir::Builder b;
  const ir::ptir::TensorType type{DType::f64, {count}};
  b.result(b.custom_call("zrt.onnx.sqrt.v1", {b.parameter(type)}, {}, {type}, false)[0]);
  return b.finish();
}

}  // namespace

std::size_t run_in_c(const std::vector<NodeCase>& tests) {
  struct Case {
    std::string name;
    std::vector<HostValue> inputs;
    std::vector<HostValue> expected;
  };
  std::vector<Case> cases;
  CCode code;
  std::set<std::string> targets;
  std::size_t bad = 0;
  const auto take = [&](std::string name, const ir::ptir::Program& program, std::vector<HostValue> inputs) {
    const std::set<std::string> called = targets_of(program);
    if (called.empty()) return;
    const ProgramRun run = run_program(program, inputs, 1, 1u << 20, false);
    if (run.refused || run.failed) return;  // the list of node tests says why
    if (const auto added = code.add(name, program, inputs, 1u << 20, false); !added) {
      ++bad;
      std::printf("NO FORM %s | %.*s\n", name.c_str(), static_cast<int>(added.error().text().size()),
                  added.error().text().data());
      return;
    }
    targets.insert(called.begin(), called.end());
    cases.push_back({std::move(name), std::move(inputs), run.outputs});
  };
  for (const NodeCase& test : tests) {
    const auto read = read_case(test);
    if (!read) continue;
    std::vector<HostValue> inputs;
    for (const CaseTensor& t : read->inputs) inputs.push_back({t.type, t.bytes});
    take(test.name, read->program, std::move(inputs));
  }
  constexpr std::array<double, 6> kSquares{0, 2, 1e-310, 6.25, std::numeric_limits<double>::infinity(), -1};
  const auto bytes = std::as_bytes(std::span(kSquares));
  if (const auto program = square_roots(kSquares.size()))
    take("sqrt_f64", *program, {{{DType::f64, {kSquares.size()}}, {bytes.begin(), bytes.end()}}});
  if (const std::string said = code.build(); !said.empty()) return std::printf("%s\n", said.c_str()), bad + 1;
  for (const Case& c : cases) {
    std::vector<HostValue> got = c.expected;
    for (HostValue& value : got) std::fill(value.bytes.begin(), value.bytes.end(), std::byte{0x5a});
    std::string differs;
    if (const int status = code.call(c.name, c.inputs, got); status != 0) differs = "status " + std::to_string(status);
    for (std::size_t i = 0; i < got.size() && differs.empty(); ++i) {
      double worst = 0;
      differs = difference(c.expected[i].type, c.expected[i].bytes, got[i].bytes, kTolerance, worst);
    }
    if (differs.empty()) continue;
    ++bad;
    std::printf("WRONG %s | %s\n", c.name.c_str(), differs.c_str());
  }
  // A target that nothing calls has no evidence here.
  boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, onnx::Targets>>([&](auto target) {
    const std::string name(decltype(target)::type::target);
    if (targets.contains(name)) return;
    ++bad;
    std::printf("UNTESTED %s\n", name.c_str());
  });
  std::printf("%zu programs with %zu targets as C; %zu bad\n", cases.size(), targets.size(), bad);
  return bad + (cases.empty() ? 1 : 0);
}

}  // namespace zrt::test
