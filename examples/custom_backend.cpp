// SPDX-License-Identifier: Apache-2.0
// examples/custom_backend.cpp: a backend in the user's own file; nothing of zrt is edited or registered.
#include "run_once.hpp"
#include <zrt/exec/adapter_table.hpp>
#include <zrt/exec/host_device.hpp>
#include <zrt/ir/builder.hpp>
#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/plan/compile.hpp>

#include <iostream>

using Catalog = boost::mp11::mp_list<zrt::ops::RmsNorm, zrt::ops::ResidualAdd>;

/// Names its types and says for every op of the catalog whether it computes it. Host memory and the
/// record of a host program are zrt's; docs/adding-a-backend.md shows a device with its own.
struct MyBackend {
  static constexpr std::string_view name = "mine";
  using Tensor = zrt::HostTensor;
  using Weight = zrt::HostWeight;
  using State = zrt::HostState;
  using Scratch = zrt::Span<std::byte>;
  using Memory = zrt::Buffer;
  using Device = zrt::exec::HostDevice;
  using Program = zrt::exec::HostBackendProgram;
  struct Recorder : zrt::exec::HostRecorder {
    Recorder(Program& program, const Device&) noexcept : HostRecorder(program.recorder()) {}
  };
  using Claims = boost::mp11::mp_list<zrt::ops::ResidualAdd>;
  using Unsupported = boost::mp11::mp_list<zrt::ops::RmsNorm>;
};
/// One adapter per claimed op: it records a call, which every step then replays.
template <> struct zrt::Adapter<MyBackend, zrt::ops::ResidualAdd> {
  static Result<void> record(MyBackend::Recorder& recorder, const Call<MyBackend, ops::ResidualAdd>& c) noexcept {
    return recorder.push(&ops::ResidualAdd::reference, HostCall<ops::ResidualAdd>{c.in, c.out, c.w, c.state, c.params});
  }
};
static_assert(zrt::CheckBackend<MyBackend, Catalog>::kOk);

int main() {
  constexpr zrt::ir::Ops ops = zrt::ir::Ops::of<Catalog>();
  zrt::ir::Builder g(*ops.table);
  const auto x = g.input("x", {zrt::DType::f32, {4}});
  g.output("y", g.emit<zrt::ops::ResidualAdd>({.in = {x, x}, .params = {.scale = 0.5f}})[0]);
  const auto graph = g.finish();
  if (!graph) return 1;
  const auto plan = zrt::plan::compile(*graph, ops, zrt::OpSet::of(MyBackend::Claims{}));
  if (!plan) return 1;
  zrt::exec::HostDevice device;
  std::array<float, 4> y{};
  if (auto r = example::run_once<MyBackend>(*plan, *ops.table, device, std::array{2.0f, 4.0f, 6.0f, 8.0f}, y); !r)
    return 1;
  for (const float value : y) std::cout << value << ' ';  // 1.5 x
  return y == std::array{3.0f, 6.0f, 9.0f, 12.0f} ? 0 : 1;
}
