// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/device.hpp: host memory, threads, and the kernels chosen for the processor.
#pragma once

#include <zrt/backend/cpu/kernels.hpp>
#include <zrt/backend/cpu/recorder.hpp>
#include <zrt/core/file_exists.hpp>
#include <zrt/exec/host_device.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// A host device with the best of some kernel sets for this processor. It outlives its programs; they are bound and
/// destroyed by one thread at a time.
class KernelDevice : public exec::HostDevice {
 public:
  /// A copy packs for programs of its own.
  KernelDevice(const KernelDevice& other) noexcept
      : exec::HostDevice(other), sets_(other.sets_), kernels_(other.kernels_), processor_(other.processor_) {}
  KernelDevice(KernelDevice&&) noexcept = default;
  KernelDevice& operator=(KernelDevice&&) noexcept = default;

  /// The kernels; without any if the device is not ready.
  [[nodiscard]] const KernelSet& kernels() const noexcept { return *kernels_; }
  /// The instruction set of the kernels.
  [[nodiscard]] Isa isa() const noexcept { return kernels_->isa; }

  /// Whether the processor runs a variant that the backend was compiled for.
  ///
  /// Errors: Errc::unsupported_device, naming the processor's variant and those of the backend.
  [[nodiscard]] Result<void> ready() const noexcept {
    if (kernels_ != &kNoKernels) return {};
    Error error = Error::of(Errc::unsupported_device, "cpu: this processor runs ", name(processor_),
                            " and below, the backend was compiled for");
    for (const KernelSet* set : sets_)
      if (set != nullptr) error.append(" ").append(name(set->isa));
    return std::unexpected<Error>(error.append(" alone: add a variant to the Variants of BasicCpuBackend"));
  }

  /// Block types that meet rounded activations are read once, when a program packs them.
  static constexpr bool kCopiesWeights = true;
  /// The packed weights, which outlive a move of the device.
  [[nodiscard]] Result<PackedStore*> packed() noexcept {
    if (!packed_) {
      auto store = Owned<PackedStore>::make(allocator(), allocator());
      if (!store) return pass(store);
      packed_ = std::move(*store);
    }
    return packed_.get();
  }

  /// Says which model will be bound, and takes its packed weights from the file at `path`. A file that is missing, of
  /// another model or of another layout gives none.
  ///
  /// Errors: those of PackedFile::open. Packed weights can still be kept after them.
  [[nodiscard]] Result<void> take_packed(std::string_view path, const PackedModel& model) noexcept {
    auto store = packed();
    if (!store) return pass(store);
    (*store)->take_from(model, {});
    const auto there = file_exists(path, allocator());
    if (!there) return pass(there);
    if (!*there) return {};
    auto file = PackedFile::open(path, model.id, allocator());
    if (!file) return file.error().code() == Errc::invalid_argument ? Result<void>{} : Result<void>(pass(file));
    (*store)->take_from(model, std::move(*file));
    return {};
  }
  /// Writes packed weights to `path`, unless all came from there.
  ///
  /// Errors: those of PackedFile::write.
  [[nodiscard]] Result<void> keep_packed(std::string_view path) noexcept {
    auto store = packed();
    if (!store) return pass(store);
    return (*store)->keep(path);
  }

  /// Takes a weight as it lies; see exec::HostDevice::weight.
  ///
  /// Errors: also Errc::unsupported_weight_type for a type that the backend was not compiled for.
  [[nodiscard]] Result<HostWeight> weight(const WeightView& view) const noexcept {
    if (auto r = ready(); !r) return pass(r);
    if (quant::facts(view.dtype) != nullptr && kernels_->find(view.dtype) == nullptr)
      return fail(Errc::unsupported_weight_type, "cpu: weight ", view.name, " is ", name(view.dtype),
                  ", which the backend was not compiled for: add the type to the WeightTypes of BasicCpuBackend");
    return exec::HostDevice::weight(view);
  }

 protected:
  KernelDevice(const Allocator& allocator, const ThreadHook& threads, Isa isa,
               Span<const KernelSet* const> sets) noexcept
      : exec::HostDevice(allocator, threads), sets_(sets), processor_(isa) {
    if (const KernelSet* set = kernels_for(isa, sets)) kernels_ = set;
  }

 private:
  static constexpr KernelSet kNoKernels{};

  Span<const KernelSet* const> sets_;
  const KernelSet* kernels_ = &kNoKernels;
  Isa processor_;
  Owned<PackedStore> packed_;
};

/// The device of a backend with the kernels of its policies.
template <class Types, class Set> class BasicDevice : public KernelDevice {
 public:
  BasicDevice() noexcept : BasicDevice(system_allocator()) {}
  explicit BasicDevice(const Allocator& allocator, const ThreadHook& threads = {}) noexcept
      : BasicDevice(allocator, threads, detect_isa(detail::HighestIsa<Set>::kIsa)) {}
  /// Takes `isa` for what the processor has; the processor must have it, and for Isa::amx detect_isa must have asked the
  /// system for tiles.
  BasicDevice(const Allocator& allocator, const ThreadHook& threads, Isa isa) noexcept;
};

// Outside of the class: a source that declares the device as compiled elsewhere compiles no kernels.
template <class Types, class Set>
BasicDevice<Types, Set>::BasicDevice(const Allocator& allocator, const ThreadHook& threads, Isa isa) noexcept
    : KernelDevice(allocator, threads, isa, kKernelSets<Types, Set>) {}

using Device = BasicDevice<AllWeightTypes, AllVariants>;

class Program : public exec::HostBackendProgram {
 public:
  explicit Program(const exec::HostDevice& device) noexcept
      : exec::HostBackendProgram(device), packed_(device.allocator()) {}

  /// The weights that the program multiplies by in packed form.
  [[nodiscard]] Vector<PackedStore::Use>& packed() noexcept { return packed_; }

 private:
  Vector<PackedStore::Use> packed_;
};

/// A cpu::Recorder over a program of a device.
class DeviceRecorder : public Recorder {
 public:
  DeviceRecorder(Program& program, KernelDevice& device) noexcept
      : Recorder(device.kernels(), program.recorder(), program.packed(), device.threads()), device_(&device) {}

  /// The kernels of the engine's variant.
  [[nodiscard]] const KernelSet& kernels() const noexcept { return device_->kernels(); }

  /// Errors: those of KernelDevice::ready and KernelDevice::packed.
  [[nodiscard]] Result<void> begin(const exec::RecordSite<Span<std::byte>>& site) noexcept {
    if (auto r = device_->ready(); !r) return r;
    auto store = device_->packed();
    if (!store) return pass(store);
    share(**store);
    return Recorder::begin(site);
  }

 private:
  KernelDevice* device_;
};

}  // namespace zrt::inline ZRT_ABI::cpu
