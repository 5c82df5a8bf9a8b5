// SPDX-License-Identifier: Apache-2.0
// examples/custom_op.cpp: a host's own op with a vector kernel beside zrt's, on the CPU backend, in a graph of two ops.
#include "run_once.hpp"
#include "square.hpp"
#include <zrt/backend/cpu.hpp>
#include <zrt/zrt.hpp>

#include <iostream>

/// The CPU with the op of square.hpp, for f32 weights alone.
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
