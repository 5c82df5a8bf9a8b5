// SPDX-License-Identifier: Apache-2.0
// tests/flags/schedules.cpp: random schedules on every variant; prints the bits that every set of flags must give, and what ran.
//
// The arguments are a seed and a number of schedules per world: each set has its own schedules, all compared
// with what the requests give alone.
#include "chosen_backend.hpp"
#include "op_bits.hpp"
#include <zrt/engine/engine_members.hpp>
#include <zrt/model/arch/llama.hpp>

#include <cstdio>
#include <cstdlib>
#include <support/schedules.hpp>
#include <support/two_workers.hpp>

namespace {

using namespace zrt;

struct OnlyLlama {
  using List = boost::mp11::mp_list<model::Llama>;
};
using ChosenEngine = Engine<chosen::Backend, OnlyLlama>;

/// The variants that this unit builds and this processor runs.
std::vector<cpu::Isa> variants() {
  std::vector<cpu::Isa> found;
  for (const cpu::Isa isa : cpu::kIsas)
    if (isa <= cpu::detect_isa() && cpu::kernels_for(isa, chosen::kVariants)->isa == isa) found.push_back(isa);
  return found;
}

ZRT_COLD int failed(const test::ScheduleWorld& world, std::string_view where, std::string_view what) {
  std::printf("weights %.*s, kv %.*s, %.*s: %.*s\n", static_cast<int>(name(world.spec.weights).size()),
              name(world.spec.weights).data(), static_cast<int>(name(world.spec.kv).size()), name(world.spec.kv).data(),
              static_cast<int>(where.size()), where.data(), static_cast<int>(what.size()), what.data());
  return 1;
}

/// Every second schedule has two workers: threads that sleep between instructions, and once the engine's
/// own pool, which spins and so takes long where other programs run too.
ZRT_COLD int run_world(const test::ScheduleSpec& spec, std::uint64_t seed, int schedules) {
  test::ScheduleWorld world(spec);
  const std::vector<cpu::Isa> isas = variants();
  for (std::size_t i = 0; i <= isas.size(); ++i) {
    chosen::choice = i < isas.size() ? chosen::Choice{isas[i], false} : chosen::Choice{isas[0], true};
    const std::string_view where = chosen::choice.reference ? "reference" : name(chosen::choice.isa);
    auto engine = ChosenEngine::open(world.file.bytes(), world.options());
    if (!engine) return failed(world, where, engine.error().text());
    const std::string fault =
        i == 0 ? test::run_alone(world, *engine) : test::same_alone(world, *engine, world.asks.size());
    if (!fault.empty()) return failed(world, where, fault);
  }
  test::TinyRandom random((seed * 64 + static_cast<std::uint64_t>(spec.weights)) * 64 +
                          static_cast<std::uint64_t>(spec.kv));
  test::ScheduleTally tally;
  test::TwoWorkers two;
  for (int i = 0; i < schedules; ++i) {
    chosen::choice = {isas[static_cast<std::size_t>(i) / 2 % isas.size()], false};
    EngineOptions options = world.random_options(random);
    if (i == 1)
      options.threads = 2;
    else if (i % 2 == 1)
      options.thread_hook = two.hook();
    auto engine = ChosenEngine::open(world.file.bytes(), options);
    const std::string where = std::string(name(chosen::choice.isa)) + ", schedule " + std::to_string(i);
    if (!engine) return failed(world, where, engine.error().text());
    if (const std::string fault = test::run_schedule(world, *engine, random, tally); !fault.empty())
      return failed(world, where, fault);
  }
  std::printf("bits %016llx\n%s\n", static_cast<unsigned long long>(test::digest(world)), tally.text().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const int schedules = argc > 2 ? std::atoi(argv[2]) : 12;
  op_bits::print();
  // One layer and few requests: without optimisation every one of them counts.
  const int faults = run_world({DType::f32, DType::f32, ActPolicy::weight, 1, 12, 6}, seed, schedules) +
                     run_world({DType::q8_0, DType::f16, ActPolicy::weight, 1, 12, 6}, seed, schedules) +
                     run_world({DType::bf16, DType::bf16, ActPolicy::weight, 1, 12, 6}, seed, schedules) +
                     run_world({DType::q4_0, DType::f16, ActPolicy::none, 1, 12, 6}, seed, schedules);
  return faults == 0 ? 0 : 1;
}
