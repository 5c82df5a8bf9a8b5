// SPDX-License-Identifier: Apache-2.0
// tests/process/alloc_program.cpp: a tensor program that is ready runs without a call for memory.
#include <zrt/ir/ptir/text.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <programs.hpp>
#include <string>
#include <support/memory_call.hpp>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

// --- every way to memory, counted for the whole process -------------------------------------------

namespace {
std::atomic<bool> watching{false};
std::atomic<std::uint64_t> calls{0};

void note(MemoryCall) noexcept {
  if (watching.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

#include "memory_hooks.hpp"

namespace {

using namespace zrt;

/// Loops, a choice and a cell, so that regions run too.
constexpr std::string_view kProgram = R"(spec_version = ptir.v0.4
region @0 main(%0 xs: f32[?T, 4], %1 n: si32[]) {
  %2 = layer_norm(%0, f32[4] {1.0, 2.0, 3.0, 4.0}, f32[4] {0.0, 0.0, 1.0, 1.0}) {epsilon = 1e-05, feature_axis = -1}: f32[?T, 4]
  %3 = constant() {value = f32[4] {0.0, 0.0, 0.0, 0.0}}: f32[4]
  %4 = scan(%3, %2) {body_region = @1, carry_count = 1, scan_output_count = 1}: tuple<f32[4], f32[?T, 4]>
  %5 = while_loop(%1, %4[0]) {cond_region = @2, body_region = @3}: tuple<si32[], f32[4]>
  %6 = top_k(%5[1]) {k = 2, axis = 0, largest = true, indices_dtype = si32}: tuple<f32[2], si32[2]>
  return %4[1]: f32[?T, 4], %6[0]: f32[2], %6[1]: si32[2]
}
region @1 cell(%0: f32[4], %1: f32[4]) {
  %2 = elementwise_binary(%0, %1) {op = add}: f32[4]
  %3 = elementwise_unary(%2) {op = tanh}: f32[4]
  return %3: f32[4], %3: f32[4]
}
region @2 more(%0: si32[], %1: f32[4]) {
  %2 = compare(%0, si32[] {0}) {op = gt}: i1[]
  return %2: i1[], %0: si32[], %1: f32[4]
}
region @3 twice(%0: si32[], %1: f32[4]) {
  %2 = elementwise_binary(%0, si32[] {1}) {op = sub}: si32[]
  %3 = elementwise_binary(%1, %1) {op = add}: f32[4]
  return %2: si32[], %3: f32[4]
}
)";

TEST(AllocProgram, TheHooksSeeMemory) {
  calls = 0;
  watching = true;
  void* volatile memory = ::operator new(10);  // or the compiler leaves the pair out
  ::operator delete(memory);
  watching = false;
  EXPECT_EQ(calls.load(), 2u);
}

template <class B> void run_without_memory() {
  const auto program = ir::ptir::parse(kProgram);
  ASSERT_TRUE(program) << program.error().text();
  const ir::ptir::Shape shapes[]{{5, 4}, {}};
  for (const std::uint32_t threads : {1u, 2u}) {
    ProgramOptions options;
    options.threads = threads;
    auto runner = ProgramRunner<B>::make(*program, shapes, options);
    ASSERT_TRUE(runner) << runner.error().text();
    std::vector<float> xs(20), scanned(20), best(2);
    for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = static_cast<float>(i * i % 7);
    std::int32_t n = 6;
    std::vector<std::int32_t> where(2);
    const ConstTensorView in[]{{DType::f32, {5, 4}, std::as_bytes(std::span(xs))},
                               {DType::si32, {}, std::as_bytes(std::span(&n, 1))}};
    const TensorView out[]{{DType::f32, {5, 4}, std::as_writable_bytes(std::span(scanned))},
                           {DType::f32, {2}, std::as_writable_bytes(std::span(best))},
                           {DType::si32, {2}, std::as_writable_bytes(std::span(where))}};
    ASSERT_TRUE(runner->run(in, out));
    const std::vector<float> first = scanned;
    calls = 0;
    watching = true;
    bool ok = true;
    for (int i = 0; i < 100; ++i) {
      n = i % 10;
      ok = ok && runner->run(in, out).has_value();
    }
    watching = false;
    EXPECT_TRUE(ok);
    EXPECT_EQ(scanned, first);
    EXPECT_EQ(calls.load(), 0u) << threads << " threads";
    std::printf("%u threads: 100 runs, %llu calls for memory\n", threads,
                static_cast<unsigned long long>(calls.load()));
    // A run that fails allocates nothing either.
    const ConstTensorView bad[]{in[0], {DType::f32, {}, in[1].data}};
    calls = 0;
    watching = true;
    const auto refused = runner->run(bad, out);
    watching = false;
    EXPECT_EQ(refused.error().code(), Errc::dtype_mismatch);
    EXPECT_EQ(calls.load(), 0u);
  }
}

TEST(AllocProgram, ARunAllocatesNothing) {
  run_without_memory<engines::ReferencePrograms>();
  run_without_memory<engines::CpuPrograms>();
}

/// What the CPU claims of the IR runs there by its own kernels.
TEST(AllocProgram, TheCpuRunsWhatItClaims) {
  const auto program = ir::ptir::parse(R"(spec_version = ptir.v0.4
region @0 main(%0 table: f32[?V, 3], %1 ids: si32[?N]) {
  %2 = take(%0, %1): f32[?N, 3]
  %3 = stop_gradient(%2): f32[?N, 3]
  %4 = reshape(%3) {new_shape = [-1]}: f32[?]
  return %4: f32[?]
}
)");
  ASSERT_TRUE(program) << program.error().text();
  const ir::ptir::Shape shapes[]{{4, 3}, {2}};
  for (const std::uint32_t threads : {1u, 2u}) {
    ProgramOptions options;
    options.threads = threads;
    auto runner = ProgramRunner<engines::CpuPrograms>::make(*program, shapes, options);
    ASSERT_TRUE(runner) << runner.error().text();
    std::vector<float> table(12), rows(6);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
    std::vector<std::int32_t> ids{3, 1};
    const ConstTensorView in[]{{DType::f32, {4, 3}, std::as_bytes(std::span(table))},
                               {DType::si32, {2}, std::as_bytes(std::span(ids))}};
    const TensorView out[]{{DType::f32, {6}, std::as_writable_bytes(std::span(rows))}};
    ASSERT_TRUE(runner->run(in, out));
    EXPECT_EQ(rows, (std::vector<float>{9, 10, 11, 3, 4, 5}));
    calls = 0;
    watching = true;
    bool ok = true;
    for (int i = 0; i < 100; ++i) ok = ok && runner->run(in, out).has_value();
    watching = false;
    EXPECT_TRUE(ok);
    EXPECT_EQ(calls.load(), 0u);
    ids[1] = 4;
    const auto outside = runner->run(in, out);
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().code(), Errc::spec_violation);
  }
}

}  // namespace
