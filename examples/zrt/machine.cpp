// SPDX-License-Identifier: Apache-2.0
// examples/zrt/machine.cpp: read bandwidth and arithmetic peaks, by loops of our own.
#include "machine.hpp"
#include "peak_loops.hpp"
#include "read_buffer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace program {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Bytes of the largest cache of the first core; 32 MiB where the system does not say.
std::uint64_t last_level_cache() {
  std::uint64_t largest = 0;
  for (int level = 0; level < 5; ++level) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(level) + "/size");
    std::uint64_t kib = 0;
    if (file >> kib) largest = std::max(largest, kib << 10);
  }
  return largest != 0 ? largest : std::uint64_t{32} << 20;
}

/// Runs `work(thread)` on all threads at once and returns the sum of what they return.
template <class Work> double on_all(std::uint32_t threads, Work work) {
  std::atomic<std::uint32_t> ready{0};
  std::vector<double> results(threads, 0.0);
  const auto run = [&](std::uint32_t thread) {
    ready.fetch_add(1);
    while (ready.load() != threads) std::this_thread::yield();
    results[thread] = work(thread);
  };
  {
    std::vector<std::jthread> others;
    for (std::uint32_t i = 1; i < threads; ++i) others.emplace_back(run, i);
    run(0);
  }
  double sum = 0.0;
  for (const double result : results) sum += result;
  return sum;
}

using Line = std::uint64_t __attribute__((vector_size(16)));

/// Reads `count` lines. The sums are the result, so that no read is left out.
std::uint64_t read_lines(const Line* lines, std::size_t count) {
  constexpr std::size_t kSums = 8;
  Line sums[kSums]{};
  for (std::size_t i = 0; i + kSums <= count; i += kSums)
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kSums; ++k) sums[k] ^= lines[i + k];
  std::uint64_t all = 0;
  for (const Line& sum : sums) all ^= sum[0] ^ sum[1];
  return all;
}

std::atomic<std::uint64_t> read_result{0};

/// Billions of bytes per second that the threads read of the first `bytes` of `buffer`, a part each.
double read_rate(const Line* buffer, std::uint64_t bytes, std::uint32_t threads) {
  const std::size_t part = static_cast<std::size_t>(bytes) / sizeof(Line) / threads / 8 * 8;
  const double rate = on_all(threads, [&](std::uint32_t thread) {
    const Line* mine = buffer + thread * part;
    double best = 0.0;
    const auto begin = Clock::now();
    do {
      const auto start = Clock::now();
      read_result.fetch_xor(read_lines(mine, part));
      best = std::max(best, static_cast<double>(part * sizeof(Line)) / seconds_since(start));
    } while (seconds_since(begin) < 0.06);
    return best;
  });
  return rate / 1e9;
}

/// Billions of operations per second of one loop, best of four stretches of about 10 ms.
double peak(PeakLoop loop, std::uint32_t threads) {
  if (loop == nullptr) return 0.0;
  double best = 0.0;
  for (int stretch = 0; stretch < 4; ++stretch) {
    const double rate = on_all(threads, [&](std::uint32_t) {
      const auto start = Clock::now();
      double operations = 0.0;
      do operations += loop(kPeakRounds);
      while (seconds_since(start) < 0.01);
      return operations / seconds_since(start);
    });
    best = std::max(best, rate);
  }
  return best / 1e9;
}

}  // namespace

zrt::Result<Machine> Machine::make(std::uint32_t threads, std::string_view isa, std::uint64_t weight_bytes) {
  Machine machine;
  machine.threads_ = threads;
  machine.isa_ = isa;
  machine.cache_bytes_ = last_level_cache();
  machine.resident_bytes_ = std::max<std::uint64_t>(weight_bytes, 1u << 20);
  const auto bytes = read_buffer_bytes(machine.cache_bytes_, machine.resident_bytes_, free_memory());
  if (!bytes) return zrt::pass(bytes);
  machine.buffer_bytes_ = *bytes;
  return machine;
}

zrt::Result<MachineRates> Machine::measure() const {
  const std::size_t lines = static_cast<std::size_t>(buffer_bytes_) / sizeof(Line);
  const std::unique_ptr<Line[]> buffer(new (std::nothrow) Line[lines]);
  if (buffer == nullptr)
    return zrt::fail(zrt::Errc::out_of_memory, "a buffer of ", buffer_bytes_ >> 20,
                     " MiB measures the machine's read bandwidth, and is refused");
  std::fill_n(buffer.get(), lines, Line{1, 1});
  return MachineRates{read_rate(buffer.get(), buffer_bytes_, threads_),
                      read_rate(buffer.get(), resident_bytes_, threads_), peak(int8_loop(isa_), threads_),
                      peak(f32_loop(isa_), threads_), peak(bf16_loop(isa_), threads_)};
}

std::string Machine::processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  return "unknown";
}

}  // namespace program
