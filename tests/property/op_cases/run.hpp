// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/run.hpp: runs a case as a one-node graph on a backend and compares results.
#pragma once

#include <zrt/core/cast.hpp>
#include <zrt/exec/bind.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <property/op_cases/op_case.hpp>
#include <string>

namespace op_cases {

/// What a run leaves: the outputs, the bytes of the state, the step's status.
struct Outcome {
  std::vector<Value> out;
  std::vector<std::vector<std::byte>> before;  ///< the outputs' memory as the last launch found it
  std::vector<std::byte> state;
  std::uint64_t status = 0;
  std::size_t instructions = 0;
};

/// The weights of a case are named "w0", "w1", ...
inline zrt::Result<zrt::WeightView> find_weight(const void* context, std::string_view name) noexcept {
  const Case& c = *static_cast<const Case*>(context);
  for (std::size_t i = 0; i < c.w.size(); ++i)
    if (c.w[i].present && zrt::Name::of("w", static_cast<unsigned>(i)).view() == name)
      return zrt::WeightView{name, c.w[i].dtype, c.w[i].shape, c.w[i].data};
  return zrt::fail(zrt::Errc::missing_weight, "the case has no weight ", name);
}
inline zrt::WeightInfo weight_info(const void* context, std::string_view name) noexcept {
  const auto found = find_weight(context, name);
  return found ? zrt::WeightInfo{true, found->dtype, found->shape} : zrt::WeightInfo{};
}

/// The case's op alone, its inputs and outputs at the border.
inline zrt::Result<zrt::ir::Graph> one_node(const Case& c, const Batch& b, const zrt::ir::Ops& ops) {
  namespace ir = zrt::ir;
  ir::Builder g(*ops.table, zrt::system_allocator(), {&c, &weight_info});
  (void)g.symbol("tokens", b.bound);
  std::vector<ir::ValueId> in(c.in.size()), out(zrt::kMaxOperands);
  std::vector<ir::WeightId> w(c.w.size());
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (c.in[i].present) in[i] = g.input(zrt::Name::of("in", static_cast<unsigned>(i)), c.in[i].type);
  for (std::size_t i = 0; i < c.w.size(); ++i)
    if (c.w[i].present) w[i] = g.weight(zrt::Name::of("w", static_cast<unsigned>(i)), c.w[i].shape);
  ir::StateId state{};
  if (c.row->lifecycle != zrt::StateLifecycle::none) state = g.state(c.state);
  std::vector<ir::RegionId> regions;
  for (ir::Graph& region : region_graphs(c, *ops.table, b)) regions.push_back(g.region(std::move(region)));
  out.resize(g.append(c.row->opcode, in, w, state, c.block(), out, regions));
  for (std::size_t i = 0; i < out.size(); ++i) g.output(zrt::Name::of("out", static_cast<unsigned>(i)), out[i]);
  return g.finish();
}

/// Pages, or blocks of `bytes` in all, that hold something everywhere, so that a key read too many shows.
inline std::vector<std::byte> state_contents(const zrt::StateInfo& state, std::uint64_t bytes, Random& r) {
  std::vector<std::byte> contents(bytes);
  if (state.lifecycle == zrt::StateLifecycle::recurrent) {
    for (std::uint64_t at = 0; at < bytes; at += sizeof(float)) {
      const float x = r.real(-2.0f, 2.0f);
      std::memcpy(contents.data() + at, &x, sizeof x);
    }
    return contents;
  }
  const zrt::KvPage page = zrt::KvPage::of(state);
  const std::uint64_t unit = zrt::unit_bytes(state).raw();
  const auto drawn = [&](std::uint32_t count) {
    std::vector<float> numbers(count);
    for (float& x : numbers) x = r.real(-2.0f, 2.0f);
    return numbers;
  };
  for (std::uint64_t at = 0; at < bytes; at += unit)
    for (std::uint32_t i = 0; i < page.heads * zrt::kPageTokens; ++i) {
      const std::uint32_t head = i / zrt::kPageTokens, token = i % zrt::kPageTokens;
      page.store_key(contents.data() + at, head, token, drawn(page.key_dim).data());
      page.store_value(contents.data() + at, head, token, drawn(page.value_dim).data());
    }
  return contents;
}

/// Runs workers one after the other, the last one first.
inline zrt::ThreadHook one_after_the_other(std::uint32_t workers) {
  static constexpr auto run = []<std::uint32_t N>() {
    return +[](void*, zrt::ThreadHook::Work work, void* argument) noexcept {
      for (std::uint32_t i = N; i-- > 0;) work(argument, i, N);
    };
  };
  zrt::ThreadHook hook;
  hook.run = workers == 2 ? run.template operator()<2>() : run.template operator()<1>();
  hook.workers = workers;
  return hook;
}

/// Units of a state of the batch: pages, or a block per slot.
inline std::uint32_t units_of(const zrt::StateInfo& state, const Batch& b) {
  return state.lifecycle == zrt::StateLifecycle::recurrent ? b.slot_count : b.page_count();
}

/// Binds `compiled` on B, runs one step of batch `b`, and reads everything back.
///
/// The state's contents are drawn from `seed`. The step runs twice from the same inputs and state, so
/// that what the first leaves in the arena must not reach the second. Before each launch every register of the arena
/// is filled with `soil`: of two runs with different soil, one that leaves elements unwritten shows.
template <class B>
zrt::Result<Outcome> run(const Case& c, const Batch& b, const zrt::plan::CompiledPlan& compiled,
                         const zrt::OpTable& table, std::uint32_t seed, std::byte soil, typename B::Device device) {
  namespace exec = zrt::exec;
  auto weights = exec::bind_weights<B>(compiled.plan, {&c, &find_weight}, device);
  if (!weights) return zrt::pass(weights);
  auto states = exec::StateStore<B>::make(compiled.plan, device, b.page_count(), b.slot_count);
  if (!states) return zrt::pass(states);
  exec::BindSizes sizes;
  sizes.bounds.value[kTokens] = b.bound;
  sizes.batch_slots = b.slot_count;
  sizes.batch_tokens = b.bound;
  sizes.pages_per_slot = Batch::kPagesPerSlot;
  auto bound = exec::bind<B>(compiled, table, *weights, *states, sizes, device);
  if (!bound) return zrt::pass(bound);

  zrt::StepStatus status;
  zrt::ExecutionContext step;
  step.extents.value[kTokens] = b.tokens();
  step.tokens = b.tokens();
  step.slots = b.slots.data();
  step.positions = b.positions.data();
  step.pages = b.pages.data();
  step.pages_per_slot = Batch::kPagesPerSlot;
  step.slot_count = b.slot_count;
  step.status = &status;

  Outcome outcome;
  outcome.instructions = compiled.plan.instructions.size();
  for (int launch = 0; launch < 2; ++launch) {
    for (std::size_t i = 0; i < states->descriptors().size(); ++i) {
      Random r(seed);
      const std::uint64_t unit = states->descriptors()[i].size_bytes;
      const auto contents = state_contents(c.state, unit * units_of(c.state, b), r);
      for (std::uint32_t page = 0; page < units_of(c.state, b); ++page)
        if (auto w = device.write_unit(states->state(i), page, std::span(contents).subspan(page * unit, unit)); !w)
          return zrt::pass(w);
    }
    for (std::size_t i = 0; i < compiled.plan.registers.size(); ++i) {
      const zrt::TensorType& type = compiled.plan.registers[i];
      const std::vector<std::byte> filled(zrt::bytes_of(type.dtype, elements(type.shape, b)), soil);
      const auto reg = zrt::plan::RegisterRef(static_cast<std::uint32_t>(i));
      if (bound->mapping().outside_of(reg) != zrt::plan::kNoRegister) continue;
      if (auto w = device.write(bound->tensor(reg), filled); !w) return zrt::pass(w);
    }
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      const auto reg = compiled.plan.input(zrt::Name::of("in", static_cast<unsigned>(i)).view());
      if (!c.in[i].present) continue;
      if (auto w = device.write(bound->tensor(reg), c.in[i].data); !w) return zrt::pass(w);
    }
    outcome.before.clear();
    for (const auto& port : compiled.plan.outputs) {
      const zrt::TensorType& type = compiled.plan.registers[zrt::plan::index(port.reg)];
      auto& bytes = outcome.before.emplace_back(zrt::bytes_of(type.dtype, elements(type.shape, b)));
      if (auto r = device.read(bound->tensor(port.reg), 0, bytes); !r) return zrt::pass(r);
    }
    auto finished = bound->program().launch(device, step, {});
    if (!finished) return zrt::pass(finished);
  }
  outcome.status = status.word.load();
  for (const auto& port : compiled.plan.outputs) {
    Value value{true, compiled.plan.registers[zrt::plan::index(port.reg)], {}};
    value.data.resize(zrt::bytes_of(value.type.dtype, elements(value.type.shape, b)));
    if (auto r = device.read(bound->tensor(port.reg), 0, value.data); !r) return zrt::pass(r);
    // Of an odd number of 4-bit elements the last half byte holds nothing.
    if (zrt::info(value.type.dtype).block_elems == 2 && elements(value.type.shape, b) % 2 != 0)
      value.data.back() &= std::byte{0x0F};
    outcome.out.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < states->descriptors().size(); ++i) {
    const std::uint64_t unit = states->descriptors()[i].size_bytes;
    outcome.state.resize(unit * units_of(c.state, b));
    for (std::uint32_t page = 0; page < units_of(c.state, b); ++page)
      if (auto r = device.read_unit(states->state(i), page, std::span(outcome.state).subspan(page * unit, unit)); !r)
        return zrt::pass(r);
  }
  return outcome;
}

/// Elements of a float type; each is a double.
inline std::vector<double> numbers(DType dtype, const std::vector<std::byte>& data) {
  std::vector<double> values(data.size() / zrt::info(dtype).block_bytes);
  zrt::cast_elements(dtype, data.data(), DType::f64, reinterpret_cast<std::byte*>(values.data()), 0, values.size());
  return values;
}

/// The largest distance, as a multiple of what `tolerance` allows; NaN equals NaN. With a tolerance of
/// zero it is 0 for equal bits, and infinite otherwise.
inline double distance(DType dtype, const std::vector<std::byte>& got, const std::vector<std::byte>& expected,
                       const Tolerance& tolerance) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (got.size() != expected.size()) return infinity;
  if (got == expected) return 0;
  if (!zrt::is_float(dtype)) return infinity;
  const auto a = numbers(dtype, got);
  const auto e = numbers(dtype, expected);
  double largest = 0;
  for (double x : e)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint64_t>(a[i]) == std::bit_cast<std::uint64_t>(e[i]) ||
        (std::isnan(a[i]) && std::isnan(e[i])))
      continue;
    const double allowed = tolerance.relative * std::abs(e[i]) + tolerance.of_largest * largest;
    const double apart = std::abs(a[i] - e[i]);
    worst = std::max(worst, allowed > 0 && std::isfinite(apart) ? apart / allowed
                            : apart == 0 && allowed > 0         ? 0
                                                                : infinity);
  }
  return worst;
}

/// All that pages hold, as f32.
inline std::vector<std::byte> page_numbers(const zrt::StateInfo& state, const std::vector<std::byte>& pages) {
  const zrt::KvPage page = zrt::KvPage::of(state);
  std::vector<float> numbers;
  for (std::uint64_t at = 0; at < pages.size(); at += zrt::unit_bytes(state).raw())
    for (std::uint32_t n = 0; n < page.heads * zrt::kPageTokens; ++n) {
      const std::uint32_t head = n / zrt::kPageTokens, token = n % zrt::kPageTokens;
      for (std::uint32_t i = 0; i < page.key_dim; ++i)
        numbers.push_back(page.load_key(pages.data() + at, head, token, i));
      for (std::uint32_t i = 0; i < page.value_dim; ++i)
        numbers.push_back(page.load_value(pages.data() + at, head, token, i));
    }
  return bytes_of(numbers);
}

/// The larger of the distances of all outputs and of the state, which is rounded to its pages' type.
inline double distance(const Case& c, const Outcome& got, const Outcome& expected, const Tolerance& tolerance) {
  double worst = got.out.size() == expected.out.size() && got.status == expected.status
                     ? 0
                     : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < got.out.size() && i < expected.out.size(); ++i) {
    EXPECT_EQ(got.out[i].type, expected.out[i].type);
    worst = std::max(worst, distance(got.out[i].type.dtype, got.out[i].data, expected.out[i].data, tolerance));
  }
  Tolerance stored = tolerance;
  const bool exact = tolerance.relative == 0 && tolerance.of_largest == 0;
  // One step of the page's type, in case a value lies at the border of two.
  if (!exact) stored.relative += c.state.dtype == DType::f16 ? 0x1p-10 : c.state.dtype == DType::bf16 ? 0x1p-7 : 0;
  if (!exact) stored.of_largest += c.state.dtype == DType::q8_0 ? 0x1p-6 : c.state.dtype == DType::q4_0 ? 0x1p-2 : 0;
  if (!zrt::is_block(c.state.dtype)) return std::max(worst, distance(c.state.dtype, got.state, expected.state, stored));
  if (exact && got.state != expected.state) return std::numeric_limits<double>::infinity();
  return std::max(
      worst, distance(DType::f32, page_numbers(c.state, got.state), page_numbers(c.state, expected.state), stored));
}

}  // namespace op_cases
