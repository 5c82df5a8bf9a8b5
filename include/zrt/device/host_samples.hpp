// SPDX-License-Identifier: Apache-2.0
// zrt/device/host_samples.hpp: the sample ops of a recorded step, on operands that the host sees or copies.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/device/host_sampler.hpp>
#include <zrt/device/recorded_device.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Made when a program is whole; run() allocates nothing. Operands that the host does not see have room here, and are
/// copied in each step.
class HostSamples {
 public:
  explicit HostSamples(const Allocator& allocator) noexcept : calls_(allocator) {}

  /// Errors: Errc::size_overflow, out_of_memory.
  template <class Device> [[nodiscard]] Result<void> make(Device& device, const StepRecord& record) noexcept {
    calls_.clear();
    CheckedSize most = 0, copied = 0;
    for (const RecordedSample& sample : record.samples) {
      const CheckedSize bytes =
          CheckedSize(sample.call.in[0].type.shape.last().extent) * (sizeof(float) + sizeof(ops::Candidate));
      if (!sample.by_kernel && (!bytes.ok() || bytes.raw() > most.raw())) most = bytes;
      if (auto r = calls_.push_back(place(device, sample, record.bounds.extents, copied)); !r) return r;
    }
    if (auto r = make_buffer(most, device.allocator(), scratch_); !r) return r;
    if (auto r = make_buffer(copied, device.allocator(), copies_); !r) return r;
    for (SampleCall& call : calls_) call.use(copies_.data());
    return {};
  }

  /// Before a step: tells a device that carries bytes what run() will look at.
  template <class Device> void expect(Device& device, const ExecutionContext& step) noexcept {
    if constexpr (CarriesBytes<Device>) {
      device.expect_no_read();
      for (const SampleCall& call : calls_)
        if (!call.is_seen()) expect(device, call, step);
    }
  }

  /// Errors: those of the device's copies.
  template <class Device> [[nodiscard]] Result<void> run(Device& device, const ExecutionContext& step) noexcept {
    for (const SampleCall& call : calls_) {
      if (call.is_seen()) {
        (void)sample_on_host(call.host, call.by_kernel, step, scratch_.span());
      } else if (auto r = run_copied(device, call, step); !r) {
        return r;
      }
    }
    return {};
  }

 private:
  static constexpr std::uint64_t kSeen = ~std::uint64_t{0};
  static constexpr std::size_t kLogits = 0, kRequests = 1;
  static constexpr std::uint64_t kFewRows = 4;

  /// One operand: where the host has it, or where its copy is.
  struct Operand {
    std::uint64_t address = 0;
    std::uint64_t copy = kSeen;  ///< byte of its copy
  };
  struct SampleCall {
    HostCall<ops::Sample> host{};
    std::array<Operand, std::tuple_size_v<decltype(HostCall<ops::Sample>::in)>> in{};
    Operand out{};
    bool by_kernel = false;

    [[nodiscard]] bool is_seen() const noexcept { return out.copy == kSeen; }
    void use(std::byte* copies) noexcept {
      for (std::size_t i = 0; i < in.size(); ++i)
        if (in[i].copy != kSeen) host.in[i].data = copies + in[i].copy;
      if (out.copy != kSeen) host.out[0].data = copies + out.copy;
    }
  };

  [[nodiscard]] static Result<void> make_buffer(CheckedSize size, const Allocator& allocator, Buffer& to) noexcept {
    const auto bytes = size.get("the workspace of a sampler");
    if (!bytes) return pass(bytes);
    auto buffer = Buffer::zeroed(allocator, static_cast<std::size_t>(*bytes));
    if (!buffer) return pass(buffer);
    to = std::move(*buffer);
    return {};
  }

  template <class Device>
  [[nodiscard]] static Operand place(Device& device, const Tensor& tensor, const Extents& bounds, HostTensor& host,
                                     CheckedSize& copied) noexcept {
    host.type = tensor.type;
    if (!tensor.present()) return {};
    host.data = device.host_view(tensor.address);
    if (host.data != nullptr) return {.address = tensor.address};
    const Operand operand{.address = tensor.address, .copy = copied.raw()};
    copied = (copied + tensor.type.shape.elements(bounds) * info(tensor.type.dtype).block_bytes).aligned(64);
    return operand;
  }
  template <class Device>
  [[nodiscard]] static SampleCall place(Device& device, const RecordedSample& sample, const Extents& bounds,
                                        CheckedSize& copied) noexcept {
    SampleCall placed;
    placed.by_kernel = sample.by_kernel;
    for (std::size_t i = 0; i < placed.in.size(); ++i)
      placed.in[i] = place(device, sample.call.in[i], bounds, placed.host.in[i], copied);
    placed.out = place(device, sample.call.out[0], bounds, placed.host.out[0], copied);
    return placed;
  }

  template <class Device>
  static void expect(Device& device, const SampleCall& call, const ExecutionContext& step) noexcept {
    const std::uint64_t rows = call.host.out[0].elements(step), cols = call.host.in[kLogits].cols(step);
    device.expect_read(call.out.address, rows * sizeof(std::int32_t), 0);
    const std::byte* const requests = device.written(call.in[kRequests].address, rows * sizeof(ops::SampleRequest));
    if (requests == nullptr || call.in[kLogits].copy == kSeen) return;
    for (std::uint64_t row = 0; row < rows; ++row) {
      const std::uint64_t logits = call.in[kLogits].address + row * cols * sizeof(float);
      const ops::SampleRequest request = request_of(requests, row);
      const RowUse use = use_of(call.host, call.by_kernel, step, request);
      if (use == RowUse::all || (use == RowUse::taken && request.reads_logits != 0))
        device.expect_read(logits, cols * sizeof(float), 0);
      else if (use == RowUse::taken)
        device.expect_read(logits, sizeof(float), call.out.address + row * sizeof(std::int32_t));
    }
  }

  [[nodiscard]] static ops::SampleRequest request_of(const std::byte* requests, std::uint64_t row) noexcept {
    ops::SampleRequest request;
    std::memcpy(&request, requests + row * sizeof request, sizeof request);
    return request;
  }
  template <class Device>
  [[nodiscard]] static Result<void> fetch(Device& device, const Operand& from, const HostTensor& to,
                                          const ExecutionContext& step) noexcept {
    if (from.copy == kSeen || !to.present()) return {};
    const std::uint64_t bytes = to.elements(step) * info(to.type.dtype).block_bytes;
    return device.copy_out(from.address, {to.data, static_cast<std::size_t>(bytes)});
  }
  /// What the host itself has given.
  template <class Device>
  [[nodiscard]] static Result<void> fetch_input(Device& device, const Operand& from, const HostTensor& to,
                                                const ExecutionContext& step) noexcept {
    if (from.copy == kSeen || !to.present()) return {};
    const std::uint64_t bytes = to.elements(step) * info(to.type.dtype).block_bytes;
    if constexpr (CarriesBytes<Device>)
      if (const std::byte* const known = device.written(from.address, bytes); known != nullptr) {
        std::memcpy(to.data, known, static_cast<std::size_t>(bytes));
        return {};
      }
    return device.copy_out(from.address, {to.data, static_cast<std::size_t>(bytes)});
  }
  /// Whether the device has answered all rows.
  [[nodiscard]] static bool is_answered(const SampleCall& call, const ExecutionContext& step) noexcept {
    for (std::uint64_t row = 0; row < call.host.out[0].elements(step) && !call.by_kernel; ++row)
      if (use_of(call.host, false, step, request_of(call.host.in[kRequests].data, row)) != RowUse::taken) return false;
    return true;
  }
  /// Copies of each row what is looked at: where the device took the token, its logit, and else the whole row. Of many
  /// rows all, where a copy has a price of its own.
  template <class Device>
  [[nodiscard]] static Result<void> fetch_logits(Device& device, const SampleCall& call,
                                                 const ExecutionContext& step) noexcept {
    const HostTensor& logits = call.host.in[kLogits];
    const std::uint64_t rows = call.host.out[0].elements(step), cols = logits.cols(step);
    if (call.in[kLogits].copy == kSeen) return {};
    if (!CarriesBytes<Device> && (rows > kFewRows || !is_answered(call, step)))
      return fetch(device, call.in[kLogits], logits, step);
    for (std::uint64_t row = 0; row < rows; ++row) {
      std::uint64_t at = row * cols, count = cols;
      const RowUse use = use_of(call.host, call.by_kernel, step, request_of(call.host.in[kRequests].data, row));
      if (use == RowUse::none) continue;
      if (use == RowUse::taken) {
        const auto token = static_cast<std::uint32_t>(call.host.out[0].template as<std::int32_t>()[row]);
        if (token == ~0u) continue;  // none may be drawn
        if (token >= cols) return fail(Errc::spec_violation, "the device took token ", token, " of ", cols);
        at += token;
        count = 1;
      }
      const Span<std::byte> to{logits.data + at * sizeof(float), static_cast<std::size_t>(count * sizeof(float))};
      if (auto r = device.copy_out(call.in[kLogits].address + at * sizeof(float), to); !r) return r;
    }
    return {};
  }
  /// Copies what the op reads, with the tokens that the device took, and then all tokens back. Where the device has
  /// answered all rows, of that only what tells whether it could.
  template <class Device>
  [[nodiscard]] Result<void> run_copied(Device& device, const SampleCall& call, const ExecutionContext& step) noexcept {
    if (auto r = fetch_input(device, call.in[kRequests], call.host.in[kRequests], step); !r) return r;
    if (auto r = fetch(device, call.out, call.host.out[0], step); !r) return r;
    if (auto r = fetch_logits(device, call, step); !r) return r;
    const bool answered = is_answered(call, step);
    for (std::size_t i = 0; i < call.in.size() && !answered; ++i)
      if (i != kRequests && i != kLogits)
        if (auto r = fetch_input(device, call.in[i], call.host.in[i], step); !r) return r;
    if (!sample_on_host(call.host, call.by_kernel, step, scratch_.span())) return {};
    const HostTensor& out = call.host.out[0];
    const Span<const std::byte> tokens{out.data,
                                       static_cast<std::size_t>(out.elements(step) * info(out.type.dtype).block_bytes)};
    if constexpr (CarriesBytes<Device>)
      if (device.amend(call.out.address, tokens)) return {};
    return device.copy_in(call.out.address, tokens);
  }

  Vector<SampleCall> calls_;
  Buffer scratch_{};
  Buffer copies_{};
};

}  // namespace zrt::inline ZRT_ABI::device
