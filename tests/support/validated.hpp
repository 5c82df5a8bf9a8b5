// SPDX-License-Identifier: Apache-2.0
// tests/support/validated.hpp: two engines on the same tokens, every value of every step compared.
#pragma once

#include <zrt/ops/catalog.hpp>
#include <zrt/trace/run_comparison.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace zrt::test {

/// Says what `d` is, in a line.
inline std::string text_of(const trace::RunComparison& validation, const trace::Difference& d) {
  const trace::ValuePair& pair = validation.pairs()[d.pair];
  const OpRow& row = *kOpTable<ops::Catalog>[number(pair.opcode)];
  std::string text = "step " + std::to_string(d.step) + ", position " + std::to_string(d.position) + ", layer " +
                     std::to_string(pair.layer) + ", instruction " + std::to_string(pair.instruction[0]) + ", ";
  text += std::string(row.name) + ", " + (pair.is_state ? "state" : std::string(row.output(pair.output).name));
  return text + ", element " + std::to_string(d.element) + ": " + std::to_string(d.first) + " and " +
         std::to_string(d.second);
}

/// Feeds `prompt` in chunks and then `decode` one by one; expects that every value is the same on both, or as close as
/// their capabilities say, and that no value is left out.
inline void expect_validated(const trace::ValidatedExecutor& first, const trace::ValidatedExecutor& second,
                             std::span<const std::int32_t> prompt, std::span<const std::int32_t> decode,
                             std::size_t chunk) {
  auto validation = trace::RunComparison::make(first, second, kOpTable<ops::Catalog>, system_allocator());
  ASSERT_TRUE(validation) << validation.error().text();
  EXPECT_EQ(validation->unpaired_first(), 0u);
  EXPECT_EQ(validation->unpaired_second(), 0u);
  const auto feed = [&](std::span<const std::int32_t> ids, bool prefill) {
    const std::vector<std::uint32_t> tokens(ids.begin(), ids.end());
    const auto done = validation->step(tokens, prefill);
    ASSERT_TRUE(done) << done.error().text();
  };
  for (std::size_t at = 0; at < prompt.size(); at += chunk)
    feed(prompt.subspan(at, std::min(chunk, prompt.size() - at)), true);
  for (std::size_t i = 0; i < decode.size(); ++i) feed(decode.subspan(i, 1), false);
  std::uint64_t values = 0;
  for (const trace::LayerAgreement& layer : validation->layers()) values += layer.values;
  EXPECT_GT(values, prompt.size() * 100) << "hardly anything was compared";
  if (validation->difference()) ADD_FAILURE() << text_of(*validation, *validation->difference());
}

}  // namespace zrt::test
