// SPDX-License-Identifier: Apache-2.0
// tests/kernels/harness.cpp: both backends' adapters of all ops, compiled elsewhere, beside each other.
// test-set: smoke threads
#include <algorithm>
#include <kernels/harness.hpp>
#include <support/gated_workers.hpp>
#include <support/run_plan.hpp>

namespace cpu_kernels {
namespace {

/// Some kernels have scratch for 8 workers, some for 16: of more than these, the others have nothing to do.
constexpr std::array kWorkers{1u, 2u, 5u, 9u, 17u};
constexpr std::span kFewWorkers = std::span(kWorkers).first(3);
constexpr zrt::OpSet kCapsWorkers =
    zrt::OpSet::of(boost::mp11::mp_list<ops::Attention, ops::Convolve, ops::FlashAttnBatched, ops::LayerNorm,
                                        ops::Sample, ops::TopK>{});

/// The words behind a kernel's scratch, which it must leave alone.
constexpr std::size_t kGuard = 64;

/// Where a type of floats, or of pairs of them, holds a NaN.
struct FloatForm {
  std::size_t bytes = 0;  ///< of one number; 0 for a type without NaN
  std::uint64_t magnitude = 0, infinity = 0;

  [[nodiscard]] bool is_nan(const std::byte* at) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, bytes);
    return (bits & magnitude) > infinity;
  }
};

FloatForm form_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::cf32:
      return {4, 0x7fffffff, 0x7f800000};
    case DType::f64:
    case DType::cf64:
      return {8, 0x7fffffffffffffff, 0x7ff0000000000000};
    case DType::f16:
      return {2, 0x7fff, 0x7c00};
    case DType::bf16:
      return {2, 0x7fff, 0x7f80};
    case DType::fp8_e4m3:
      return {1, 0x7f, 0x7e};
    case DType::fp8_e5m2:
      return {1, 0x7f, 0x7c};
    default:
      return {};
  }
}

/// What a call's operands are to the shape rule and to the sizes of scratch.
class Types {
 public:
  explicit Types(const AnyCall& call) {
    for (const zrt::HostTensor& t : call.in) in_.push_back({t.present(), t.type});
    for (const zrt::HostWeight& w : call.w)
      w_.push_back({w.present(), w.dtype,
                    w.rows == 0                                  ? Shape{w.cols}
                    : call.experts != 0 && w.rows > call.experts ? Shape{call.experts, w.rows / call.experts, w.cols}
                                                                 : Shape{w.rows, w.cols}});
    info_ = {in_, w_, call.state.info, {call.params_version, call.opcode, call.params}};
  }
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;

  [[nodiscard]] const zrt::OperandInfo& info() const { return info_; }

 private:
  std::vector<zrt::InputInfo> in_;
  std::vector<zrt::WeightInfo> w_;
  zrt::OperandInfo info_;
};

template <class B> std::vector<exec::TensorHandle<B>> handles(std::span<const zrt::HostTensor> tensors) {
  std::vector<exec::TensorHandle<B>> list;
  for (const zrt::HostTensor& t : tensors) list.push_back({{}, t, {}});
  return list;
}

}  // namespace

const std::vector<cpu::Isa>& variants() {
  static const std::vector<cpu::Isa> kVariants = [] {
    std::vector<cpu::Isa> isas;
    for (const cpu::Isa isa : cpu::kIsas) {
      if (isa > cpu::detect_isa()) continue;
      const cpu::Device device(zrt::system_allocator(), {}, isa);
      if (device.ready() && (isas.empty() || isas.back() != device.isa())) isas.push_back(device.isa());
    }
    return isas;
  }();
  return kVariants;
}

template <class B> void Case::run(typename B::Device device, const AnyCall& call) {
  const exec::BindEntry<B>& entry = exec::AllAdapters<B>::table()[zrt::number(call.opcode)];
  ASSERT_NE(entry.record, nullptr) << B::name << " does not run the op";
  const Types types(call);
  const auto size = entry.scratch(types.info(), bounds);
  ASSERT_TRUE(size) << size.error().text();
  std::vector<std::byte> scratch(*size + kGuard, std::byte{0xff});
  typename B::Program program(device);
  typename B::Recorder recorder(program, device);
  ASSERT_TRUE(recorder.begin({7, call.opcode, std::span(scratch).first(*size)}));
  const auto in = handles<B>(call.in);
  const auto out = handles<B>(call.out);
  const exec::StateBlockHandle<B> state{0, call.state};
  const auto recorded =
      entry.record(recorder, {in,
                              out,
                              call.w,
                              call.state.info.lifecycle == zrt::StateLifecycle::none ? nullptr : &state,
                              {call.params_version, call.opcode, call.params}});
  ASSERT_TRUE(recorded) << recorded.error().text();
  status_.word.store(zrt::StepStatus::kClean);
  const auto ran = program.launch(device, step, {});
  ASSERT_TRUE(ran && *ran);
  for (std::size_t i = *size; i < scratch.size(); ++i) ASSERT_EQ(scratch[i], std::byte{0xff}) << "scratch too small";
}

void Case::check(const AnyCall& call) {
  const zrt::OpRow& row = *zrt::test::catalog_ops().row(call.opcode);
  const Types types(call);
  std::array<zrt::TensorType, zrt::kMaxOperands> inferred;
  const auto rule = row.infer(types.info(), inferred);
  ASSERT_TRUE(rule) << rule.error().text();

  const auto all = [&] {
    return std::vector<std::byte>(memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(used_));
  };
  // What a kernel does not write must not look like what it should have written.
  const std::vector<std::byte> before = all();
  soil(call, std::byte{0xa5});
  run<engines::ReferencePrograms>(engines::ReferencePrograms::Device(zrt::system_allocator()), call);
  if (testing::Test::HasFatalFailure()) return;
  std::vector<std::byte> wanted = all();
  const std::uint64_t wanted_status = status_.word.load();

  for (const cpu::Isa isa : std::span(variants()).first(one_variant ? 1 : variants().size())) {
    const bool many = kCapsWorkers.contains(call.opcode) && (one_variant || isa == variants().back());
    for (const std::uint32_t workers : many ? std::span(kWorkers) : kFewWorkers) {
      if (!before.empty()) std::memcpy(memory_.data(), before.data(), used_);
      soil(call, std::byte{0x5a});
      zrt::test::GatedWorkers threads(workers);
      run<engines::CpuPrograms>(cpu::Device(zrt::system_allocator(), threads.hook(), isa), call);
      if (testing::Test::HasFatalFailure()) return;
      const std::size_t at = difference(wanted, call);
      ASSERT_EQ(at, used_) << row.name << " on " << cpu::name(isa) << " with " << workers << " workers, byte " << at;
      EXPECT_EQ(wanted_status, status_.word.load());
    }
  }
  std::memcpy(memory_.data(), before.data(), used_);
}

std::size_t Case::difference(std::vector<std::byte>& wanted, const AnyCall& call) const {
  // Nearly always nothing differs, and byte by byte most of the time goes here, under the thread sanitizer above all.
  if (std::memcmp(wanted.data(), memory_.data(), wanted.size()) == 0) return used_;
  for (const zrt::HostTensor& t : call.out) {
    const FloatForm form = form_of(t.type.dtype);
    if (form.bytes == 0) continue;
    const std::uint64_t size = zrt::bytes_of(t.type.dtype, t.type.shape.elements(step.extents).raw());
    for (std::byte* at = t.data; at < t.data + size; at += form.bytes) {
      std::byte* const expected = wanted.data() + (at - memory_.data());
      if (form.is_nan(at) && form.is_nan(expected)) std::memcpy(expected, at, form.bytes);
    }
  }
  if (std::memcmp(wanted.data(), memory_.data(), wanted.size()) == 0) return used_;
  const auto differs = std::mismatch(wanted.begin(), wanted.end(), memory_.begin());
  return static_cast<std::size_t>(differs.first - wanted.begin());
}

void Case::soil(const AnyCall& call, std::byte pattern) {
  for (const zrt::HostTensor& t : call.out) {
    const bool also_in =
        std::ranges::any_of(call.in, [&](const zrt::HostTensor& in) { return in.present() && in.data == t.data; });
    // The half of a last byte belongs to no element.
    if (also_in || zrt::info(t.type.dtype).block_elems == 2) continue;
    std::memset(t.data, static_cast<int>(pattern),
                zrt::bytes_of(t.type.dtype, t.type.shape.elements(step.extents).raw()));
  }
}

}  // namespace cpu_kernels
