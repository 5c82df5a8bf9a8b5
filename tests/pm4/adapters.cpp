// SPDX-License-Identifier: Apache-2.0
// tests/pm4/adapters.cpp: LoRA adapters on modelled cards, loaded while they serve, give the reference's bits.
#include <gtest/gtest.h>

#include <pm4/engine_card.hpp>
#include <support/adapted_answers.hpp>
#include <support/engines.hpp>

namespace zrt::test::pm4_adapters_test {
namespace {

static_assert(RewritesWeights<zrt::emulator::Pm4Backend>);

TEST(Pm4Adapters, SeveralInAStepAnswerAsOnTheReference) {
  const ModelFile model = tiny_model({.weights = DType::q8_0});
  const auto reference = open_engine(On::reference, model.bytes(), room_for_adapters());
  ASSERT_TRUE(reference) << reference.error().text();
  const auto expected = adapted_answers(**reference);
  ASSERT_NE(expected.at(1), expected.at(3)) << "an adapter changes what is said";
  for (const CardWay& way : kCardWays) {
    SCOPED_TRACE(way.name());
    OnCard on(way, model.bytes(), room_for_adapters());
    ASSERT_TRUE(on.engine) << on.why(on.engine.error());
    EXPECT_EQ(adapted_answers(*on.engine), expected) << on.card.model().queues().stopped();
  }
}

}  // namespace
}  // namespace zrt::test::pm4_adapters_test
