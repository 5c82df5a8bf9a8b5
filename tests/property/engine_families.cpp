// SPDX-License-Identifier: Apache-2.0
// tests/property/engine_families.cpp: small models of every family: both backends agree to the bit, rounding costs little.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <data/models/tiny_models.hpp>
#include <string>
#include <support/engines.hpp>
#include <vector>

namespace engine_families_test {
namespace {

using namespace zrt;
using test::On;

constexpr DType kWeights[] = {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0};

std::vector<float> logits_of(On on, const test::ModelFile& file, const EngineOptions& options) {
  std::vector<float> all;
  const auto engine = test::open_engine(on, file.bytes(), options);
  if (!engine) {
    ADD_FAILURE() << engine.error().text();
    return all;
  }
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 50, 21);
  const std::vector<std::int32_t> decode = test::tiny_prompt(64, 8, 22);
  const auto done = (*engine)->evaluate(tokens, decode, [&](std::uint32_t, std::span<const float> row) {
    all.insert(all.end(), row.begin(), row.end());
  });
  EXPECT_TRUE(done) << done.error().text();
  EXPECT_EQ(all.size(), 58u * 64u);
  return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && !a.empty() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

double nmse(const std::vector<float>& found, const std::vector<float>& expected) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double d = double{found[i]} - double{expected[i]};
    error += d * d;
    power += double{expected[i]} * double{expected[i]};
  }
  return error / power;
}

class EngineFamilies : public testing::TestWithParam<std::size_t> {};

TEST_P(EngineFamilies, BothBackendsAgreeForEveryTypeOfWeightsAndMemory) {
  for (const DType weights : kWeights) {
    SCOPED_TRACE(std::string(name(weights)));
    test::TinySpec spec = test::kTinyFamilies[GetParam()];
    spec.weights = weights;
    const test::ModelFile file = test::tiny_model(spec);
    EngineOptions options;
    options.logit_rows = 64;
    std::vector<float> exact;
    for (const DType kv : kPageTypes) {
      // Pages know nothing of the type of weights.
      if (is_block(kv) && weights != kWeights[0]) continue;
      options.kv_type = kv;
      options.numerics.act = ActPolicy::none;
      const std::vector<float> none = logits_of(On::cpu, file, options);
      EXPECT_TRUE(same_bits(none, logits_of(On::reference, file, options)));
      options.numerics.act = ActPolicy::weight;
      const std::vector<float> plan = logits_of(On::cpu, file, options);
      EXPECT_TRUE(same_bits(plan, logits_of(On::reference, file, options)));
      const bool rounds = weights == DType::q8_0 || weights == DType::q4_0;
      EXPECT_EQ(same_bits(none, plan), !rounds);
      if (rounds) {
        EXPECT_GT(nmse(plan, none), 1e-8);
        EXPECT_LT(nmse(plan, none), 1e-2);
      }
      if (kv == DType::f32)
        exact = none;
      else
        // Rounding may tip a router over to another expert.
        EXPECT_LT(nmse(none, exact), kv == DType::f16    ? 1e-4
                                     : kv == DType::q4_0 ? 0.2
                                     : kv == DType::q8_0 ? 0.03
                                                         : 1e-2);
      // However the prompt is cut.
      options.chunk = 16;
      EXPECT_TRUE(same_bits(plan, logits_of(On::cpu, file, options)));
      options.chunk = 512;
    }
  }
}

/// A property of the file that the arch program missed would not move the logits.
TEST_P(EngineFamilies, EveryTensorOfTheFileMatters) {
  const test::TinySpec spec = test::kTinyFamilies[GetParam()];
  const test::ModelFile file = test::tiny_model(spec);
  EngineOptions options;
  options.logit_rows = 64;
  const std::vector<float> expected = logits_of(On::cpu, file, options);
  const auto index = model::GgufFile::open(file.bytes(), system_allocator());
  ASSERT_TRUE(index);
  std::size_t tensors = 0;
  for (const model::GgufTensor& tensor : index->tensors()) {
    std::vector<std::byte> changed(file.bytes().begin(), file.bytes().end());
    const std::span<const std::byte> data = index->data(tensor);
    const auto at = static_cast<std::size_t>(data.data() - file.bytes().data());
    for (std::size_t i = 0; i < data.size(); i += 4) {
      float value;
      std::memcpy(&value, changed.data() + at + i, 4);
      value = value * 0.75f + 0.125f;
      std::memcpy(changed.data() + at + i, &value, 4);
    }
    EXPECT_FALSE(same_bits(expected, logits_of(On::cpu, test::ModelFile(changed), options))) << tensor.name;
    ++tensors;
  }
  EXPECT_GT(tensors, 2u + 6u * spec.layers);
}
INSTANTIATE_TEST_SUITE_P(Property, EngineFamilies, testing::Range(std::size_t{0}, test::kTinyFamilies.size()),
                         [](const auto& param) {
                           std::string name(test::kTinyFamilies[param.param].name);
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace engine_families_test
