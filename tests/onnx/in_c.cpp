// SPDX-License-Identifier: Apache-2.0
// tests/onnx/in_c.cpp: node tests whose programs call kernels of ONNX, as C: what the compiled functions give is what
// ReferenceBackend gives.
#include <cstdio>
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
constexpr double kRelative = 2e-6;

/// Empty when both hold the same numbers.
std::string difference(const HostValue& wanted, const HostValue& got) {
  const DType dtype = wanted.type.dtype;
  const std::uint64_t count = wanted.type.shape.elements({}).raw();
  if (!is_float(dtype)) return wanted.bytes == got.bytes ? "" : "the bytes differ";
  for (std::uint64_t i = 0; i < count; ++i) {
    double x = 0, y = 0;
    const std::size_t width = info(dtype).block_bytes;
    cast_elements(dtype, wanted.bytes.data() + i * width, DType::f64, reinterpret_cast<std::byte*>(&x), 0, 1);
    cast_elements(dtype, got.bytes.data() + i * width, DType::f64, reinterpret_cast<std::byte*>(&y), 0, 1);
    const bool same = (std::isnan(x) && std::isnan(y)) || x == y || std::abs(x - y) <= kRelative * std::abs(x);
    if (!same) return "element " + std::to_string(i) + " is " + std::to_string(y) + ", expected " + std::to_string(x);
  }
  return "";
}

}  // namespace

std::size_t run_in_c(const std::vector<std::filesystem::path>& folders) {
  struct Case {
    std::string name;
    std::vector<HostValue> inputs;
    std::vector<HostValue> expected;
  };
  std::vector<Case> cases;
  CCode code;
  std::set<std::string> targets;
  std::size_t bad = 0;
  for (const std::filesystem::path& folder : folders) {
    const auto read = read_case(NodeCase::load(folder));
    if (!read) continue;
    const std::set<std::string> called = targets_of(read->program);
    if (called.empty()) continue;
    targets.insert(called.begin(), called.end());
    Case c{folder.filename().string(), {}, {}};
    for (const CaseTensor& t : read->inputs) c.inputs.push_back({t.type, t.bytes});
    const ProgramRun run = run_program(read->program, c.inputs, 1, 1u << 20, false);
    if (run.refused || run.failed) continue;  // the list of node tests says why
    c.expected = run.outputs;
    if (const auto added = code.add(c.name, read->program, c.inputs, 1u << 20, false); !added) {
      ++bad;
      std::printf("NO FORM %s | %.*s\n", c.name.c_str(), static_cast<int>(added.error().text().size()),
                  added.error().text().data());
      continue;
    }
    cases.push_back(std::move(c));
  }
  if (const std::string said = code.build(); !said.empty()) return std::printf("%s\n", said.c_str()), bad + 1;
  for (const Case& c : cases) {
    std::vector<HostValue> got = c.expected;
    for (HostValue& value : got) std::fill(value.bytes.begin(), value.bytes.end(), std::byte{0x5a});
    std::string differs;
    if (const int status = code.call(c.name, c.inputs, got); status != 0) differs = "status " + std::to_string(status);
    for (std::size_t i = 0; i < got.size() && differs.empty(); ++i) differs = difference(c.expected[i], got[i]);
    if (differs.empty()) continue;
    ++bad;
    std::printf("WRONG %s | %s\n", c.name.c_str(), differs.c_str());
  }
  // A target that no node test calls has no evidence here.
  boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, onnx::Targets>>([&](auto target) {
    const std::string name(decltype(target)::type::target);
    if (targets.contains(name)) return;
    std::printf("UNTESTED %s\n", name.c_str());
  });
  std::printf("%zu node tests with %zu targets as C; %zu bad\n", cases.size(), targets.size(), bad);
  return bad + (cases.empty() ? 1 : 0);
}

}  // namespace zrt::test
