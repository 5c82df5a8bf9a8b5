// SPDX-License-Identifier: Apache-2.0
// tests/unit/vision_encoder.cpp: the vision encoder against llama.cpp's rows, its stages, and what its files may lack.
#include <zrt/exec/step_fault.hpp>
#include <zrt/model/arch/qwen3vl.hpp>
#include <zrt/model/vision_encoder.hpp>
#include <zrt/model/vision_inputs.hpp>
#include <zrt/model/visit_family.hpp>
#include <zrt/ops/vision_scatter.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/stages.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <programs.hpp>
#include <string>
#include <support/run_plan.hpp>

namespace vision_encoder_test {
namespace {

using namespace zrt;

const std::string kFolder = std::string(ZRT_TEST_DATA_DIR) + "/peer/";

struct Image {
  std::uint32_t width = 0, height = 0, rows = 0;
  std::vector<std::uint8_t> rgb;
  std::vector<float> expected;  ///< [rows][columns]
};

/// See tools/peer_vision.py.
std::vector<Image> images(std::uint32_t& columns) {
  std::ifstream in(kFolder + "qwen3vl-vision.vis", std::ios::binary);
  const auto number = [&] {
    std::uint32_t value = 0;
    in.read(reinterpret_cast<char*>(&value), 4);
    return value;
  };
  EXPECT_EQ(number(), 0x5349565au);
  EXPECT_EQ(number(), 1u);
  std::vector<Image> all(number());
  columns = number();
  for (Image& image : all) {
    image.width = number();
    image.height = number();
    image.rows = number();
    image.rgb.resize(std::size_t{image.width} * image.height * 3);
    image.expected.resize(std::size_t{image.rows} * columns);
    in.read(reinterpret_cast<char*>(image.rgb.data()), static_cast<std::streamsize>(image.rgb.size()));
    in.ignore(static_cast<std::streamsize>((4 - image.rgb.size() % 4) % 4));
    in.read(reinterpret_cast<char*>(image.expected.data()), static_cast<std::streamsize>(image.expected.size() * 4));
  }
  EXPECT_TRUE(in);
  return all;
}

/// A plan for what backend B claims, and the file that it is of.
template <class B> struct Encoder {
  model::GgufFile file;
  model::VisionConfig config;
  plan::CompiledPlan compiled;
};
template <class B> Result<Encoder<B>> encoder() {
  auto file = model::GgufFile::open(kFolder + "qwen3vl-vision.gguf");
  if (!file) return pass(file);
  auto config = model::read_vision_config(*file);
  if (!config) return pass(config);
  ir::Builder g(*test::catalog_ops().table, system_allocator(), model::vision_weight_lookup(*file));
  model::build_vision_encoder(g, *config);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  auto compiled = plan::compile(*graph, test::catalog_ops(), OpSet::of(typename B::Claims{}));
  if (!compiled) return pass(compiled);
  return Encoder<B>{std::move(*file), *config, std::move(*compiled)};
}

/// The rows of the images of `inputs`, each in a slot of its own.
template <class B> Result<std::vector<float>> encode(const Encoder<B>& e, std::span<const model::VisionInputs> inputs) {
  const plan::ExecutionPlan& plan = e.compiled.plan;
  std::vector<float> patches, places;
  std::vector<std::int32_t> coordinates;
  std::vector<std::uint32_t> slots;
  Extents extents;
  for (const model::VisionInputs& image : inputs) {
    patches.insert(patches.end(), image.patches.begin(), image.patches.end());
    places.insert(places.end(), image.places.begin(), image.places.end());
    coordinates.insert(coordinates.end(), image.coordinates.begin(), image.coordinates.end());
    slots.insert(slots.end(), image.coordinates.size() / 2, static_cast<std::uint32_t>(&image - inputs.data()));
    extents.value[1] += image.merged;
  }
  typename B::Device device;
  auto weights = exec::bind_weights<B>(plan, model::vision_weight_source(e.file), device);
  if (!weights) return pass(weights);
  auto states = exec::StateStore<B>::make(plan, device, 0, 0);
  if (!states) return pass(states);
  const exec::BindSizes sizes{.bounds = extents,
                              .batch_slots = static_cast<std::uint32_t>(inputs.size()),
                              .batch_tokens = static_cast<std::uint32_t>(slots.size())};
  auto bound = exec::bind<B>(e.compiled, *test::catalog_ops().table, *weights, *states, sizes, device);
  if (!bound) return pass(bound);
  const auto write = [&](std::string_view port, const auto& values) {
    return device.write(bound->tensor(plan.find_input(port)->reg), std::as_bytes(std::span(values)));
  };
  if (auto r = write("patches", patches); !r) return pass(r);
  if (auto r = write("places", places); !r) return pass(r);
  if (auto r = write("coordinates", coordinates); !r) return pass(r);
  StepStatus status;
  ExecutionContext step;
  step.extents = extents;
  step.tokens = static_cast<std::uint32_t>(slots.size());
  step.slots = slots.data();
  step.slot_count = static_cast<std::uint32_t>(inputs.size());
  step.status = &status;
  auto done = bound->launch(device, step, {});
  if (!done) return pass(done);
  if (auto fault = exec::step_fault(status, plan); !fault) return pass(fault);
  const plan::RegisterRef out = plan.find_output("image_embeddings")->reg;
  std::vector<float> rows(std::size_t{extents.value[1]} * plan.registers[plan::index(out)].shape[1].extent);
  if (auto r = device.read(bound->tensor(out), 0, std::as_writable_bytes(std::span(rows))); !r) return pass(r);
  return rows;
}

template <class B> class VisionEncoder : public ::testing::Test {};
using Backends = ::testing::Types<engines::ReferencePrograms, engines::CpuPrograms>;
TYPED_TEST_SUITE(VisionEncoder, Backends);

/// The bound is that of other F32 files; llama.cpp computes gelu as it is written, not by its table of f16, which alone
/// moves these rows by 1.6e-7.
TYPED_TEST(VisionEncoder, RowsAreThoseOfThePeerAndImagesOfAStepDoNotSeeEachOther) {
  const auto e = encoder<TypeParam>();
  ASSERT_TRUE(e) << e.error().text();
  std::uint32_t columns = 0;
  std::vector<model::VisionInputs> all;
  std::vector<float> alone;
  for (const Image& image : images(columns)) {
    auto inputs = model::vision_inputs(e->file, e->config, image.rgb, image.width, image.height);
    ASSERT_TRUE(inputs) << inputs.error().text();
    EXPECT_EQ(inputs->merged, image.rows);
    all.push_back(std::move(*inputs));
    const auto rows = encode(*e, std::span(all).last(1));
    ASSERT_TRUE(rows) << rows.error().text();
    ASSERT_EQ(rows->size(), image.expected.size());
    double error = 0, square = 0;
    for (std::size_t i = 0; i < rows->size(); ++i) {
      const double x = image.expected[i];
      error += ((*rows)[i] - x) * ((*rows)[i] - x);
      square += x * x;
    }
    EXPECT_LT(error / square, 2e-11) << image.width << " x " << image.height;
    ::testing::Test::RecordProperty("nmse_" + std::to_string(image.width), std::to_string(error / square * 1e15));
    alone.insert(alone.end(), rows->begin(), rows->end());
  }
  const auto together = encode(*e, std::span<const model::VisionInputs>(all));
  ASSERT_TRUE(together) << together.error().text();
  EXPECT_EQ(*together, alone);
}

TYPED_TEST(VisionEncoder, ItsPlanHandsItsRowsToAScatterStage) {
  const auto e = encoder<TypeParam>();
  ASSERT_TRUE(e) << e.error().text();
  const auto stage = [&](std::uint32_t columns) {
    ir::Builder g(*test::catalog_ops().table);
    const Dim images(1, g.symbol("merged", 0)), tokens(1, g.symbol("tokens", 0));
    const auto rows = g.input("image_embeddings", {DType::f32, Shape{images, columns}});
    const auto source = g.input("source", {DType::si32, Shape{tokens}});
    g.output("embeddings", g.emit<ops::VisionScatter>({.in = {rows, source}, .params = {.width = 16}})[0]);
    auto graph = g.finish();
    EXPECT_TRUE(graph) << graph.error().text();
    return plan::compile(*graph, test::catalog_ops(), OpSet::of(typename TypeParam::Claims{}));
  };
  const auto right = stage(32), wrong = stage(16);
  ASSERT_TRUE(right && wrong);
  EXPECT_TRUE(plan::check_handoff(e->compiled.plan, right->plan, "image_embeddings"));
  const auto refused = plan::check_handoff(e->compiled.plan, wrong->plan, "image_embeddings");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::stage_handoff);
}

TEST(VisionInputs, SidesAndBytesAreChecked) {
  const auto e = encoder<engines::CpuPrograms>();
  ASSERT_TRUE(e) << e.error().text();
  const std::vector<std::uint8_t> rgb(24 * 24 * 3);
  for (const auto& [width, height] : {std::pair{24u, 20u}, {0u, 24u}, {32u, 24u}}) {
    const auto inputs = model::vision_inputs(e->file, e->config, rgb, width, height);
    ASSERT_FALSE(inputs);
    EXPECT_EQ(inputs.error().code(), Errc::invalid_argument);
  }
}

TEST(VisionConfig, ItsFileIsNoLanguageModel) {
  const auto file = model::GgufFile::open(kFolder + "qwen3vl-vision.gguf");
  ASSERT_TRUE(file);
  const model::ConfigReader meta(*file, *file->get<std::string_view>("general.architecture"));
  const auto opened =
      model::visit_family<boost::mp11::mp_list<model::Qwen3Vl>>(meta, [](auto) noexcept -> Result<void> { return {}; });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Errc::unknown_architecture);
  EXPECT_NE(opened.error().text().find("an encoder of images"), std::string_view::npos) << opened.error().text();
}

TEST(VisionConfig, AFileOfText) {
  const auto file = model::GgufFile::open(kFolder + "qwen3vl.gguf");
  ASSERT_TRUE(file);
  const auto config = model::read_vision_config(*file);
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().text().find("expected qwen3vl_merger"), std::string_view::npos);
}

}  // namespace
}  // namespace vision_encoder_test
