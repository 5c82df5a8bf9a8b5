// SPDX-License-Identifier: Apache-2.0
// tests/pm4/op_parity.cpp: every op that cards claim gives the reference's bits, on random cases of the catalog.
#include <boost/mp11/algorithm.hpp>
#include <gtest/gtest.h>

#include <pm4/engine_card.hpp>
#include <programs.hpp>
#include <property/op_cases/all.hpp>
#include <property/op_cases/run.hpp>

namespace zrt::test::pm4_op_parity_test {
namespace {

using namespace op_cases;
using zrt::Shape;
using zrt::ops::Catalog;
using Card = zrt::emulator::Pm4Backend;
using Reference = engines::ReferencePrograms;
namespace mp = boost::mp11;

constexpr auto kOps = zrt::ir::Ops::of<Catalog>();
/// Cases of an op that run, two on each processor, and how many are drawn for them.
constexpr std::uint32_t kCases = 6, kDrawn = 1000;
constexpr std::array<std::string_view, 3> kTargets{"gfx1201", "gfx1100", "gfx1151"};

/// That the weight's rows are multiplied, or taken, as a whole.
template <class O> bool is_taken_by_rows(std::size_t weight) {
  if constexpr (RoundsActivations<O>)
    for (const auto& act : O::act_fields)
      if (act.weight == weight) return true;
  return std::is_same_v<O, ops::Embedding> || std::is_same_v<O, ops::LoraAdd>;
}

/// That a card computes the case: it has kernels for the types of weights and pages, and the rows that kernels take as a
/// whole are of whole pieces.
template <class O> bool is_computed_on_cards(const Case& c) {
  if (is_block(c.state.dtype)) return false;
  for (std::size_t i = 0; i < c.w.size(); ++i) {
    if (!c.w[i].present) continue;
    const device::UploadFunctions* const type =
        device::upload_of(c.w[i].dtype, c.w[i].shape.rank == 1, device::kUploads);
    if (type == nullptr) return false;
    if (is_taken_by_rows<O>(i) && c.w[i].shape.last().extent % type->columns() != 0) return false;
  }
  if constexpr (std::is_same_v<O, ops::Embedding>)
    if (c.in[1].present) return false;  // rows of given embeddings
  if constexpr (std::is_same_v<O, ops::Take>) {
    const Shape& x = c.in[0].type.shape;
    return c.in[0].type.dtype == DType::f32 && c.in[1].type.dtype == DType::si32 && x.rank == 2 && x[1].symbol == 0;
  }
  return true;
}

template <class B>
Result<Outcome> lower_and_run(const Case& c, const Batch& b, std::uint32_t seed, std::byte soil,
                              typename B::Device device) {
  auto graph = one_node(c, b, kOps);
  if (!graph) return pass(graph);
  auto compiled = plan::compile(*graph, kOps, OpSet::of(typename B::Claims{}), {ActPolicy::weight, Validation::strict});
  if (!compiled) return pass(compiled);
  return run<B>(c, b, *compiled, *kOps.table, seed, soil, std::move(device));
}

template <class O> class Pm4Op : public testing::Test {};
struct OpName {
  template <class O> static std::string GetName(int) { return std::string(O::name); }
};
using Claimed = mp::mp_rename<device::Claims, testing::Types>;
TYPED_TEST_SUITE(Pm4Op, Claimed, OpName);

TYPED_TEST(Pm4Op, GivesTheReferencesBitsOnEachProcessor) {
  using O = TypeParam;
  std::uint32_t ran = 0;
  for (std::uint32_t seed = 0; ran < kCases && seed < kDrawn; ++seed) {
    Random r(seed);
    const Batch b = Batch::draw(r);
    const Case c = draw<O>(r, b);
    if (!is_computed_on_cards<O>(c)) continue;
    const std::string_view target = kTargets[ran++ % kTargets.size()];
    SCOPED_TRACE(testing::Message() << O::name << ", case " << seed << " on " << target);
    const auto expected = lower_and_run<Reference>(c, b, seed, std::byte{0x5A}, Reference::Device(system_allocator()));
    ASSERT_TRUE(expected) << expected.error().text();
    // Kernels whose workgroups race are refused.
    engines::ModelledCard card({.target = pm4::find_target(target), .follows_workgroups = true});
    Card::Device device(system_allocator(), {}, {.os = &card.os(), .kernels = engines::kernels()});
    const auto ready = device.ready();
    ASSERT_TRUE(ready) << ready.error().text();
    const auto got = lower_and_run<Card>(c, b, seed, std::byte{0xA5}, std::move(device));
    ASSERT_TRUE(got) << got.error().text() << " / " << card.model().queues().stopped();
    EXPECT_EQ(distance(c, *got, *expected, {}), 0.0);
  }
  EXPECT_EQ(ran, kCases) << "of " << kDrawn << " cases";
}

}  // namespace
}  // namespace zrt::test::pm4_op_parity_test
