// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/chosen_os.hpp: the machine's own operating system or the device model, chosen when a program runs.
#pragma once

#include <zrt/backend/pm4/linux_os.hpp>
#include <zrt/emulator/os.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// Makes the calls of Linux, or those of a device model that outlives it.
class ChosenOs {
 public:
  ChosenOs() = default;
  explicit ChosenOs(EmulatedOs& model) noexcept : model_(&model) {}

  [[nodiscard]] pm4::SystemValue open(std::string_view path, bool writes) noexcept {
    return model_ != nullptr ? model_->open(path, writes) : linux_.open(path, writes);
  }
  [[nodiscard]] pm4::SystemValue open_once(std::string_view path) noexcept {
    return model_ != nullptr ? model_->open_once(path) : linux_.open_once(path);
  }
  pm4::SystemValue close(int file) noexcept { return model_ != nullptr ? model_->close(file) : linux_.close(file); }
  [[nodiscard]] pm4::SystemValue read(int file, Span<std::byte> to) noexcept {
    return model_ != nullptr ? model_->read(file, to) : linux_.read(file, to);
  }
  [[nodiscard]] pm4::SystemValue ioctl(int file, std::uint32_t request, void* argument) noexcept {
    return model_ != nullptr ? model_->ioctl(file, request, argument) : linux_.ioctl(file, request, argument);
  }
  [[nodiscard]] pm4::SystemValue map(const pm4::MapRequest& m) noexcept {
    return model_ != nullptr ? model_->map(m) : linux_.map(m);
  }
  pm4::SystemValue unmap(std::uint64_t address, std::uint64_t bytes) noexcept {
    return model_ != nullptr ? model_->unmap(address, bytes) : linux_.unmap(address, bytes);
  }
  [[nodiscard]] pm4::EventPage& event_page() noexcept {
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

  [[nodiscard]] bool is_modelled() const noexcept { return model_ != nullptr; }
  /// The device model, or null.
  [[nodiscard]] EmulatedOs* model() const noexcept { return model_; }

 private:
  EmulatedOs* model_ = nullptr;
  pm4::LinuxOs linux_{};
};
static_assert(pm4::OperatingSystem<ChosenOs>);

}  // namespace zrt::inline ZRT_ABI::emulator
