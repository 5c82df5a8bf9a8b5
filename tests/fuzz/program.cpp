// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/program.cpp: random programs, some of them broken: verified, lowered, compiled, planned, proven.
// covers: zrt/ir/ptir/verify.hpp 90
// covers: zrt/ir/ptir/infer.hpp 90
// covers: zrt/ir/ptir/lower.hpp 90
// covers: zrt/ir/ptir/lower_call.hpp 90
// covers: zrt/ir/ptir/rules_region.hpp 90
// covers: zrt/ir/ptir/lowering.hpp 90
// covers: zrt/ir/ptir/reshaped.hpp 90
// covers: zrt/ops/attributes.hpp 90
// covers: zrt/ops/rule_call.hpp 90
// covers: zrt/plan/liveness.hpp 90
// covers: zrt/plan/memory.hpp 90
// covers: zrt/plan/order.hpp 90
// covers: zrt/plan/storage.hpp 90
// covers: zrt/plan/placement.hpp 90
// covers: zrt/plan/check_memory.hpp 90
// max-len: 160
//
// Byte 0: edits of the program and of its memory (low and high half), byte 1: instructions, ordering and shapes; then
// four bytes for each edit; the rest makes the program.
#include <zrt/ir/ptir/lower.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/memory.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fuzz/support/byte_program.hpp>
#include <string_view>
#include <vector>

namespace {

using namespace zrt;
namespace ptir = zrt::ir::ptir;

/// What programs lower to, and nothing that would expand.
template <class O> using IsPrimitive = std::bool_constant<O::rung == Rung::primitive>;
using Primitives = boost::mp11::mp_copy_if<ops::Catalog, IsPrimitive>;
constexpr ir::Ops kOps = ir::Ops::of<Primitives>();
constexpr OpSet kClaims = OpSet::of(Primitives{});

void demand(bool condition) {
  if (!condition) std::abort();
}

/// The fuzzer's bytes one after the other, then zeros.
struct Bytes {
  std::span<const std::uint8_t> left;

  std::uint32_t operator()() noexcept {
    if (left.empty()) return 0;
    const std::uint32_t value = left.front();
    left = left.subspan(1);
    return value;
  }
};

/// Numbers that rules compare with: small ones, and those at the ends.
std::int64_t number_of(std::uint32_t byte) {
  static constexpr std::array<std::int64_t, 8> kEnds{INT64_MIN, INT64_MAX, INT32_MAX, UINT32_MAX,
                                                     -9,        65536,     255,       1 << 20};
  return byte < 248 ? static_cast<std::int64_t>(byte % 16) - 5 : kEnds[byte - 248];
}

/// Sets one thing in one of the pools.
void edit(ptir::Program& p, Bytes& bytes) {
  const std::uint32_t what = bytes(), place = bytes(), field = bytes();
  const std::int64_t value = number_of(bytes());
  const auto id = static_cast<std::uint32_t>(value);
  const auto at = [&](auto& pool, auto set) {
    if (!pool.empty()) set(pool[place % pool.size()]);
  };
  const auto type = [&](ptir::TensorType& t) {
    if (field % 4 == 0)
      t.dtype = static_cast<DType>(value);
    else if (field % 4 == 1)
      t.shape.rank = static_cast<std::uint8_t>(value);
    else
      t.shape.dims[field % kMaxRank] = ptir::Dim::from_code(value);
  };
  const auto range = [&](ptir::PoolRange& r) { (field % 2 == 0 ? r.first : r.count) = id; };
  ptir::Region& region = p.regions[field % p.regions.size()];
  switch (what % 12) {
    case 0:
      return at(p.operands, [&](ptir::Operand& o) { o.id = id; });
    case 1:
      return at(p.operands, [&](ptir::Operand& o) {
        o.kind = static_cast<ptir::Operand::Kind>(field % 3);
        o.element = id;
      });
    case 2:
      return at(p.types, type);
    case 3:
      return at(p.attributes, [&](ptir::Attribute& a) { a.bits = static_cast<std::uint64_t>(value); });
    case 4:
      return at(p.attributes, [&](ptir::Attribute& a) { a.kind = static_cast<ptir::AttributeKind>(field % 15); });
    case 5:
      return at(p.attributes, [&](ptir::Attribute& a) { range(a.range); });
    case 6:
      return at(p.words, [&](std::int64_t& w) { w = value; });
    case 7:
      return at(region.instructions, [&](ptir::Instruction& i) {
        if (value < 0)
          i.id = 0u - id;
        else if (value < 4)
          range(i.operands);
        else if (value < 6)
          range(i.attributes);
        else if (value < 8)
          range(i.output.elements);
        else if (value == 8)
          i.output.tuple = !i.output.tuple;
        else
          i.opcode = static_cast<Opcode>(64 + place % 48);
      });
    case 8:
      return at(region.parameters, [&](ptir::Parameter& q) {
        type(q.type);
        if (value < 0) q.id = id;
      });
    case 9:
      return at(region.results, [&](ptir::RegionResult& r) {
        type(r.type);
        if (value < 0) r.operand.id = id;
      });
    case 10:
      return at(p.literals, [&](ptir::Literal& l) {
        if (value < 0)
          type(l.type);
        else
          (field % 2 == 0 ? l.first : l.bytes) = static_cast<std::uint64_t>(value);
      });
    default:
      return at(p.entries, [&](ptir::MapEntry& e) { range(field % 4 < 2 ? e.key : e.value.range); });
  }
}

/// Sets one place of planned memory; the check may say what it likes of it.
void edit(plan::PhysicalMapping& mapping, Bytes& bytes) {
  const std::uint32_t what = bytes(), place = bytes(), value = bytes();
  (void)bytes();
  if (what % 4 == 3) {
    if (!mapping.scratch_bytes.empty()) mapping.scratch_bytes[place % mapping.scratch_bytes.size()] = value;
  } else if (!mapping.physical_specs.empty()) {
    plan::PhysicalSpec& spec = mapping.physical_specs[place % mapping.physical_specs.size()];
    if (what % 4 == 2)
      mapping.register_to_physical[value % mapping.register_to_physical.size()] =
          static_cast<std::uint16_t>(place % mapping.physical_specs.size());
    else
      (what % 4 == 0 ? spec.offset : spec.size) = value / 64 * 64;
  }
}

enum class Given { even, uneven, negative, large };
/// What the parameters are given: 2 for every open extent, or uneven ones, which disagree, and one too few; or one
/// extent that none can have.
std::vector<ptir::Shape> shapes_of(const ptir::Program& program, Given given) {
  const bool uneven = given == Given::uneven;
  std::vector<ptir::Shape> shapes;
  for (const ptir::Parameter& p : program.regions[0].parameters) {
    ptir::Shape shape;
    for (const ptir::Dim dim : p.type.shape.view())
      shape.append(dim.is_constant() ? dim : ptir::Dim(uneven ? static_cast<std::int64_t>(shapes.size() % 4) : 2));
    if (uneven && shapes.size() % 8 == 7) shape.append(1);
    if (shape.rank != 0 && !p.type.shape[0].is_constant()) {
      if (given == Given::negative) shape.dims[0] = ptir::Dim::any();
      if (given == Given::large) shape.dims[0] = ptir::Dim(std::int64_t{1} << 40);
    }
    shapes.push_back(shape);
  }
  if (uneven && shapes.size() % 4 == 3) shapes.pop_back();
  return shapes;
}

/// One of a list, by its name, as who types it.
template <class T, std::size_t N> T named(const std::array<T, N>& all, std::size_t index) {
  const std::string_view wanted = name(all[index % N]);
  const auto found = std::find_if(all.begin(), all.end(), [&](T one) { return name(one) == wanted; });
  demand(found != all.end() && *found == all[index % N]);
  return *found;
}

void plan_graph(const ir::Graph& graph, plan::CompileOptions options, std::uint32_t edits, Bytes& bytes) {
  demand(ir::verify(graph, *kOps.table).has_value());
  auto compiled = plan::compile(graph, kOps, kClaims, options);
  if (!compiled) return demand(compiled.error().code() != Errc::ok);
  std::vector<std::uint64_t> scratch(compiled->plan.instructions.size());
  for (std::size_t i = 0; i < scratch.size(); ++i) scratch[i] = i % 3 == 0 ? 96 * i : 0;
  const auto fit = named(plan::kFits, edits);
  auto mapping = plan::plan_memory(compiled->plan, compiled->liveness, *kOps.table, {}, scratch, {fit});
  if (!mapping) return demand(mapping.error().code() != Errc::ok);
  demand(plan::check_memory(compiled->plan, *kOps.table, {}, *mapping).has_value());
  // With the inputs elsewhere, as in C.
  std::vector<std::uint8_t> outside(compiled->plan.registers.size());
  for (const plan::PlanPort& port : compiled->plan.inputs) outside[plan::index(port.reg)] = 1;
  // A plan that keeps every value holds apart what lives to the end.
  plan::MemoryOptions keeps{fit};
  keeps.keep_values = true;
  const auto kept = plan::plan_memory(compiled->plan, compiled->liveness, *kOps.table, {}, scratch, keeps);
  demand(!kept || plan::check_memory(compiled->plan, *kOps.table, {}, *kept, {}, true).has_value());
  const auto apart = plan::plan_memory(compiled->plan, compiled->liveness, *kOps.table, {}, scratch, {fit, outside});
  demand(apart.has_value() || apart.error().code() != Errc::ok);
  demand(!apart || plan::check_memory(compiled->plan, *kOps.table, {}, *apart, outside).has_value());
  for (; edits > 0; --edits) edit(*mapping, bytes);
  (void)plan::check_memory(compiled->plan, *kOps.table, {}, *mapping);
  // Workspaces that no arena holds.
  std::fill(scratch.begin(), scratch.end(), std::uint64_t{1} << 62);
  const auto wide = plan::plan_memory(compiled->plan, compiled->liveness, *kOps.table, {}, scratch, {fit});
  demand(scratch.size() < 4 || (!wide && wide.error().code() == Errc::size_overflow));
  // A register that no memory holds.
  auto& registers = compiled->plan.registers;
  if (registers.empty()) return;
  registers[bytes() % registers.size()].shape = Shape{0x80000000u, 0x80000000u, 0x80000000u};
  const auto huge = plan::plan_memory(compiled->plan, compiled->liveness, *kOps.table, {}, scratch, {fit});
  demand(!huge && huge.error().code() == Errc::size_overflow);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint32_t edits = data[0] % 4u, memory_edits = data[0] / 16 % 4u;
  const std::size_t places = std::min(size, std::size_t{2} + 4 * (edits + memory_edits));
  Bytes where{{data + 2, places - 2}};
  auto program = test::program_of_bytes({data + places, size - places}, 1 + data[1] % 6u);
  if (!program) return 0;
  demand(ptir::verify(*program).has_value());
  for (std::uint32_t i = 0; i < edits; ++i) edit(*program, where);
  if (const auto good = ptir::verify(*program); !good) {
    demand(good.error().code() != Errc::ok && !good.error().text().empty());
    // What verify refuses, lower refuses.
    demand(!ptir::lower(*program, shapes_of(*program, Given::even), *kOps.table));
    return 0;
  }
  const std::uint32_t kind = data[1] / 32u;
  const Given given = kind == 7 ? Given::uneven : kind == 6 ? Given::negative : kind == 5 ? Given::large : Given::even;
  const auto graph = ptir::lower(*program, shapes_of(*program, given), *kOps.table);
  if (!graph) {
    demand(graph.error().code() != Errc::ok && !graph.error().text().empty());
    return 0;
  }
  plan::CompileOptions options;
  options.ordering = named(plan::kOrderings, data[1] / 8);
  plan_graph(*graph, options, memory_edits, where);
  return 0;
}
