// SPDX-License-Identifier: Apache-2.0
// examples/custom_op.cpp: a host's own op beside zrt's, on the CPU backend, in a graph of two ops.
#include "run_once.hpp"
#include <zrt/backend/cpu.hpp>
#include <zrt/zrt.hpp>

#include <iostream>

/// y = x * x. An op says its number and name, its operands, its shape rule and its meaning.
struct Square {
  using Params = zrt::NoParams;
  static constexpr zrt::Opcode opcode{127};
  static constexpr std::string_view name = "square";
  static constexpr zrt::Rung rung = zrt::Rung::fused;
  static constexpr std::array input_roles{zrt::Role{"x"}};
  static constexpr std::array output_roles{zrt::Role{"y"}};
  static constexpr auto weight_roles = zrt::kNoRoles;
  static constexpr std::array may_alias{zrt::Alias{0, 0}};
  static constexpr zrt::StateLifecycle lifecycle = zrt::StateLifecycle::none;
  static constexpr zrt::Result<void> infer(const zrt::TypeCall<Square>& c, zrt::OutputTypes<Square>& out) noexcept {
    out[0] = c.in[0].type;
    return {};
  }
  static void reference(const zrt::HostCall<Square>& c, const zrt::ExecutionContext& step,
                        const zrt::Worker& worker) noexcept {
    const auto mine = zrt::cpu::split(c.in[0].elements(step), 16, worker);
    for (auto i = mine.first; i < mine.last; ++i)
      c.out[0].as<float>()[i] = c.in[0].as<float>()[i] * c.in[0].as<float>()[i];
  }
};
/// How the CPU computes it: here by the same loop, which splits its output among the workers.
template <> struct zrt::cpu::Adapter<Square> {
  static Result<void> record(Recorder& r, const HostCall<Square>& c) noexcept { return r.push(&Square::reference, c); }
};
using Backend = zrt::BasicCpuBackend<zrt::cpu::WeightTypes<>, zrt::cpu::AllVariants, boost::mp11::mp_list<Square>>;
/// What the program's graphs are made of. Tables are made for these ops alone.
using Ops = boost::mp11::mp_list<zrt::ops::ResidualAdd, Square>;

int main() {
  constexpr auto ops = zrt::ir::Ops::of<Ops>();
  zrt::ir::Builder g(*ops.table);
  const auto x = g.input("x", {zrt::DType::f32, {4}});
  const auto squared = g.emit<Square>({.in = {x}})[0];
  g.output("y", g.emit<zrt::ops::ResidualAdd>({.in = {x, squared}, .params = {.scale = 2.0f}})[0]);
  const auto graph = g.finish();
  if (!graph) return 1;
  const auto plan = zrt::plan::compile(*graph, ops, zrt::OpSet::of(Backend::Claims{}));
  if (!plan) return 1;
  Backend::Device device;
  const std::array in{1.0f, 2.0f, 3.0f, 4.0f};
  std::array<float, 4> out{};
  if (auto r = example::run_once<Backend>(*plan, zrt::exec::OpAdapters<Backend>::of<Ops>(), device, in, out); !r)
    return 1;
  for (const float y : out) std::cout << y << ' ';  // x + 2 x²
  return out == std::array{3.0f, 10.0f, 21.0f, 36.0f} ? 0 : 1;
}
