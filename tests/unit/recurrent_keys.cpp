// SPDX-License-Identifier: Apache-2.0
// tests/unit/recurrent_keys.cpp: what families with recurrent layers read of a file, and what they refuse.
#include <zrt/model/arch/granitehybrid.hpp>
#include <zrt/model/arch/lfm2.hpp>
#include <zrt/model/arch/mamba.hpp>
#include <zrt/model/arch/mamba2.hpp>
#include <zrt/model/arch/qwen35.hpp>

#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <string>
#include <vector>

namespace recurrent_keys_test {
namespace {

using namespace zrt;

/// A file of family F with two layers and what `change` adds.
template <class F, class Change> Result<typename F::Config> read_file(Change change) {
  const std::string family(F::names[0]);
  test::GgufWriter w;
  w.add("general.architecture", family);
  for (const auto& [key, value] :
       {std::pair{"context_length", 2048u}, std::pair{"embedding_length", 256u}, std::pair{"block_count", 2u}})
    w.add(family + "." + key, value);
  w.add(family + ".attention.layer_norm_rms_epsilon", 1e-5f);
  change(w, family + ".");
  w.add_f32("token_embd.weight", {256, 4}, std::vector<float>(1024, 0.5f));
  const test::ModelFile bytes(w.build());
  const auto file = model::GgufFile::open(bytes.bytes(), system_allocator());
  if (!file) return pass(file);
  model::ConfigReader meta(*file, family, {.context = 1000});
  typename F::Config config;
  if (auto r = model::read_config<F>(meta, config); !r) return pass(r);
  return config;
}

void add_ssm(test::GgufWriter& w, const std::string& of, std::uint32_t rank, std::uint32_t groups) {
  w.add(of + "ssm.conv_kernel", 4u);
  w.add(of + "ssm.inner_size", 512u);
  w.add(of + "ssm.state_size", 64u);
  w.add(of + "ssm.time_step_rank", rank);
  if (groups != 0) w.add(of + "ssm.group_count", groups);
}
void add_heads(test::GgufWriter& w, const std::string& of) {
  w.add(of + "feed_forward_length", 48u);
  w.add(of + "attention.head_count", 4u);
}
template <class C> void refused(const Result<C>& config, Errc code, std::string_view text) {
  ASSERT_FALSE(config) << text;
  EXPECT_EQ(config.error().code(), code);
  EXPECT_EQ(config.error().text(), text);
}

TEST(RecurrentKeys, MambaHasNoAttentionAndNoMlp) {
  const auto mamba = [](std::uint32_t ff, bool norms) {
    return read_file<model::Mamba>([&](test::GgufWriter& w, const std::string& of) {
      add_ssm(w, of, 16, 0);
      w.add(of + "feed_forward_length", ff);
      w.add(of + "attention.head_count", 0u);
      w.add(of + "ssm.dt_b_c_rms", norms);
      w.add(of + "vocab_size", 4u);
    });
  };
  const auto config = mamba(0, false);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->ssm.taps, 4u);
  EXPECT_EQ(config->ssm.inner, 512u);
  EXPECT_EQ(config->ssm.states, 64u);
  EXPECT_EQ(config->ssm.rank, 16u);
  refused(mamba(48, false), Errc::unimplemented,
          "mamba.feed_forward_length is 48, which changes what the model computes, but its family does not read it; "
          "expected 0");
  refused(mamba(0, true), Errc::unimplemented,
          "mamba.ssm.dt_b_c_rms is true, which changes what the model computes, but its family does not read it; "
          "expected 0");
}

TEST(RecurrentKeys, NormsOfMambaAreTheSecondFamilys) {
  const auto opens = [](bool norms) {
    test::GgufWriter w;
    w.add("mamba.ssm.dt_b_c_rms", norms);
    const test::ModelFile bytes(w.build());
    const auto file = model::GgufFile::open(bytes.bytes(), system_allocator());
    return file && model::FalconMamba::opens(model::ConfigReader(*file, "mamba", {}));
  };
  EXPECT_TRUE(opens(true));
  EXPECT_FALSE(opens(false));
  const auto config = read_file<model::FalconMamba>([](test::GgufWriter& w, const std::string& of) {
    add_ssm(w, of, 16, 0);
    w.add(of + "ssm.dt_b_c_rms", true);
  });
  EXPECT_TRUE(config) << config.error().text();
}

TEST(RecurrentKeys, HeadsAndGroupsDivideTheirChannels) {
  const auto mamba2 = [](std::uint32_t rank, std::uint32_t groups) {
    return read_file<model::Mamba2>([&](test::GgufWriter& w, const std::string& of) { add_ssm(w, of, rank, groups); });
  };
  ASSERT_TRUE(mamba2(8, 2));
  EXPECT_EQ(mamba2(8, 2)->ssm.groups, 2u);
  EXPECT_EQ(mamba2(8, 0)->ssm.groups, 1u);
  refused(mamba2(7, 1), Errc::invalid_metadata,
          "mamba2.ssm.inner_size is 512, expected a multiple of ssm.time_step_rank, 7, which must be one of "
          "ssm.group_count, 1");
  EXPECT_EQ(mamba2(8, 3).error().code(), Errc::invalid_metadata);
}

TEST(RecurrentKeys, GraniteSaysWhichLayersAttendAndWhetherTheyRotate) {
  const auto granite = [](auto change) {
    return read_file<model::GraniteHybrid>([&](test::GgufWriter& w, const std::string& of) {
      add_heads(w, of);
      add_ssm(w, of, 8, 1);
      w.add_array(of + "attention.head_count_kv", std::vector<std::uint32_t>{0, 2});
      w.add(of + "attention.scale", 0.25f);
      w.add(of + "logit_scale", 4.0f);
      w.add(of + "expert_shared_feed_forward_length", 64u);
      change(w, of);
    });
  };
  const auto config = granite([](auto&, auto&) {});
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->kv_heads[0], 0u);
  EXPECT_EQ(config->kv_heads[1], 2u);
  EXPECT_EQ(config->rope.n_rot, 64u);
  EXPECT_EQ(config->attention_scale, 0.25f);
  EXPECT_EQ(config->logit_scale, 0.25f);
  EXPECT_EQ(config->residual_scale, 1.0f);
  const auto rotated = [&](auto value) {
    const auto read = granite([&](auto& w, auto& of) { w.add(of + "rope.scaling.finetuned", value); });
    EXPECT_TRUE(read) << read.error().text();
    return read->rope.n_rot != 0;
  };
  EXPECT_FALSE(rotated(false));
  EXPECT_FALSE(rotated(std::uint32_t{0}));
  EXPECT_TRUE(rotated(true));
  const auto experts = granite([](auto& w, auto& of) {
    w.add(of + "expert_count", 8u);
    w.add(of + "expert_used_count", 3u);
  });
  ASSERT_TRUE(experts) << experts.error().text();
  EXPECT_EQ(experts->experts.count, 8u);
  EXPECT_EQ(experts->experts.ff, 48u);
  EXPECT_EQ(experts->experts.shared_ff, 64u);
}

TEST(RecurrentKeys, Lfm2HasTheTapsOfItsConvolutions) {
  const auto lfm2 = [](std::uint32_t taps) {
    return read_file<model::Lfm2>([&](test::GgufWriter& w, const std::string& of) {
      add_heads(w, of);
      w.add_array(of + "attention.head_count_kv", std::vector<std::uint32_t>{0, 2});
      w.add(of + "shortconv.l_cache", taps);
    });
  };
  ASSERT_TRUE(lfm2(3));
  EXPECT_EQ(lfm2(3)->taps, 3u);
  refused(lfm2(17), Errc::invalid_metadata, "lfm2.shortconv.l_cache is 17, expected 1..16");
}

TEST(RecurrentKeys, Qwen35HasSectionsAndAttentionInEveryFewLayers) {
  const auto qwen = [](auto change) {
    return read_file<model::Qwen35>([&](test::GgufWriter& w, const std::string& of) {
      add_heads(w, of);
      add_ssm(w, of, 8, 2);
      w.add(of + "attention.head_count_kv", 2u);
      change(w, of);
    });
  };
  const auto config = qwen([](auto& w, auto& of) {
    w.add(of + "full_attention_interval", 2u);
    w.add_array(of + "rope.dimension_sections", std::vector<std::uint32_t>{11, 11, 10, 0});
  });
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->attention_period, 2u);
  EXPECT_EQ(config->sections, (model::RopeSections{11, 11, 10, 0}));
  EXPECT_EQ(qwen([](auto&, auto&) {})->attention_period, 4u);
  refused(qwen([](auto& w, auto& of) { w.add(of + "attention.value_length", 32u); }), Errc::invalid_metadata,
          "qwen35.attention.value_length is 32, expected the key length, 64");
  EXPECT_EQ(qwen([](auto& w, auto& of) { w.add(of + "nextn_predict_layers", 1u); }).error().code(),
            Errc::unimplemented);
}

}  // namespace
}  // namespace recurrent_keys_test
