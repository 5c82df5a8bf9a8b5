// SPDX-License-Identifier: Apache-2.0
// examples/zrt/devices.cpp: what this machine can compute on: variants of the processor's kernels, Vulkan devices, AMD
// queues; what each runs, and why others do not.
#include "commands.hpp"
#include "machine.hpp"
#include "open_card.hpp"
#include "output.hpp"
#include "vulkan_choice.hpp"
#include <zrt/backend/cpu/simd/isa.hpp>
#include <zrt/backend/vulkan/numerics_probe.hpp>

#include <thread>
#include <vulkan.hpp>

namespace program {
namespace {

namespace vulkan = zrt::vulkan;

std::string processor_lines() {
  const zrt::cpu::Isa best = zrt::cpu::detect_isa();
  std::string variants;
  for (const zrt::cpu::Isa isa : zrt::cpu::kIsas)
    variants += (variants.empty() ? "" : ", ") + std::string(name(isa)) + (isa <= best ? "" : " (not this processor)");
  return "cpu: " + Machine::processor() + ", " + std::to_string(std::thread::hardware_concurrency()) +
         " threads\n  kernels: " + variants + "; chosen: " + std::string(name(best)) +
         "\n  runs every family and weight type, canonical\n";
}

/// What a recorded device runs whose kernels read `read`.
std::string decoders_text(zrt::Span<const zrt::device::UploadFunctions> read) {
  std::string types;
  for (const zrt::device::UploadFunctions& type : read)
    types += (types.empty() ? "" : ", ") + std::string(zrt::name(type.dtype));
  if (read.size() == zrt::device::kAllUploads.size()) types = "every type";
  return "  runs decoders with weights of " + types + "\n";
}

/// What a device computes with the reference's bits, and how.
std::string numerics_text(const vulkan::DeviceNumerics& numerics) {
  const std::string promise = numerics.promise == zrt::NumericsClass::canonical ? "canonical" : "relaxed";
  return promise + ", fma " + (numerics.fma == vulkan::FmaMode::soft ? "in f64" : "native") +
         ", division and square root " + (numerics.divides_in_f64 ? "in f64" : "native");
}

/// Opens the device and tries its arithmetic.
zrt::Result<vulkan::DeviceNumerics> probed(std::uint32_t index) {
  auto device = vulkan::Device::open(zrt::system_allocator(), vulkan::SystemLoader{}, {.index = index});
  if (!device) return zrt::pass(device);
  for (const vulkan::KernelFile& file : engines::vulkan_kernels()) {
    if (file.name != vulkan::kProbeName) continue;
    const auto words = vulkan::words_of(file, zrt::system_allocator());
    return words ? vulkan::probe_numerics(**device, words->span())
                 : zrt::Result<vulkan::DeviceNumerics>(zrt::pass(words));
  }
  return zrt::fail(zrt::Errc::not_found, "this program has no kernel ", vulkan::kProbeName);
}

std::string device_lines(const vulkan::DeviceFacts& facts, std::uint32_t index) {
  std::string text = "vulkan " + std::to_string(index) + ": " + std::string(facts.name.view()) + ", " +
                     std::string(vulkan::name(facts.type)) + ", " + bytes_text(facts.local_bytes) + "\n";
  if (!facts.usable) return text + "  no: " + std::string(facts.usable.error().text()) + "\n";
  text += "  driver " + std::string(facts.driver.view()) + ", UUID " + text_of(facts.uuid) + "\n";
  const auto numerics = probed(index);
  if (!numerics) return text + "  no: " + std::string(numerics.error().text()) + "\n";
  text += decoders_text(zrt::device::kAllUploads) + "  " + numerics_text(*numerics) + "\n";
  if (facts.is_software()) text += "  the processor computes: taken where it is named\n";
  return text;
}

std::string vulkan_lines() {
  const auto instance = vulkan::Instance::open(vulkan::SystemLoader{});
  if (!instance) return "vulkan: none: " + std::string(instance.error().text()) + "\n";
  const auto all = vulkan::list_devices(*instance, zrt::system_allocator());
  if (!all) return "vulkan: none: " + std::string(all.error().text()) + "\n";
  if (all->empty()) return "vulkan: none: no driver has a device here (Debian: mesa-vulkan-drivers)\n";
  std::string text;
  for (std::uint32_t i = 0; i < all->size(); ++i) text += device_lines((*all)[i], i);
  return text;
}

std::string queue_lines() {
  CardSystem system;
  std::string text;
  for (const zrt::pm4::Tier tier : zrt::pm4::kTiers) {
    const auto device = CardDevice::open(system.os(), tier);
    text += "pm4 by " + std::string(zrt::pm4::name(tier)) + ": ";
    if (device)
      text += system.name_of(device->target()) + ", " + std::to_string(device->compute_units()) + " compute units\n" +
              decoders_text(zrt::device::kUploads);
    else
      text += "no: " + std::string(device.error().text()) + "\n";
  }
  return text;
}

}  // namespace

int devices() {
  if (!print(processor_lines() + vulkan_lines() + queue_lines())) return cannot_write("stdout");
  return kOk;
}

}  // namespace program
