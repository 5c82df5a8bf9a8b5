// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/chosen_os.hpp: the machine's own operating system or the device model, chosen when a program runs.
#pragma once

#include <zrt/backend/pm4/emulator/os.hpp>
#include <zrt/backend/pm4/linux_os.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// Makes the calls of Linux, or those of a device model that outlives it.
class ChosenOs {
 public:
  ChosenOs() = default;
  explicit ChosenOs(emulator::EmulatedOs& model) noexcept : model_(&model) {}

  [[nodiscard]] SystemValue open(std::string_view path, bool writes) noexcept {
    return model_ != nullptr ? model_->open(path, writes) : linux_.open(path, writes);
  }
  [[nodiscard]] SystemValue open_once(std::string_view path) noexcept {
    return model_ != nullptr ? model_->open_once(path) : linux_.open_once(path);
  }
  SystemValue close(int file) noexcept { return model_ != nullptr ? model_->close(file) : linux_.close(file); }
  [[nodiscard]] SystemValue read(int file, Span<std::byte> to) noexcept {
    return model_ != nullptr ? model_->read(file, to) : linux_.read(file, to);
  }
  [[nodiscard]] SystemValue ioctl(int file, std::uint32_t request, void* argument) noexcept {
    return model_ != nullptr ? model_->ioctl(file, request, argument) : linux_.ioctl(file, request, argument);
  }
  [[nodiscard]] SystemValue map(const MapRequest& m) noexcept {
    return model_ != nullptr ? model_->map(m) : linux_.map(m);
  }
  SystemValue unmap(std::uint64_t address, std::uint64_t bytes) noexcept {
    return model_ != nullptr ? model_->unmap(address, bytes) : linux_.unmap(address, bytes);
  }
  [[nodiscard]] EventPage& event_page() noexcept {
    return model_ != nullptr ? model_->event_page() : linux_.event_page();
  }
  [[nodiscard]] std::uint64_t now() noexcept { return model_ != nullptr ? model_->now() : linux_.now(); }
  void rung() noexcept {
    if (model_ != nullptr) model_->rung();
  }
  void pause() noexcept { model_ != nullptr ? model_->pause() : linux_.pause(); }

  /// Why the device model stopped a queue, in words; empty where it has not, and for a card.
  [[nodiscard]] std::string_view complaint() const noexcept {
    return model_ != nullptr ? model_->complaint() : std::string_view{};
  }

  /// The device model, or null.
  [[nodiscard]] emulator::EmulatedOs* model() const noexcept { return model_; }

 private:
  emulator::EmulatedOs* model_ = nullptr;
  LinuxOs linux_{};
};
static_assert(OperatingSystem<ChosenOs>);

}  // namespace zrt::inline ZRT_ABI::pm4
