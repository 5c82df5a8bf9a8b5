// SPDX-License-Identifier: Apache-2.0
// tests/unit/vision_encoder.cpp: the vision encoder against llama.cpp's rows, its rows in a decoder, and what its files may lack.
#include <zrt/engine/image_encoder.hpp>
#include <zrt/exec/executor.hpp>
#include <zrt/exec/step_fault.hpp>
#include <zrt/model/arch/qwen3vl_images.hpp>
#include <zrt/model/image_places.hpp>
#include <zrt/model/vision_plan.hpp>
#include <zrt/model/visit_family.hpp>
#include <zrt/model/weights.hpp>
#include <zrt/plan/stages.hpp>
#include <zrt/serve/batch_planner.hpp>

#include <gtest/gtest.h>

#include <programs.hpp>
#include <string>
#include <support/peer_images.hpp>
#include <support/run_plan.hpp>

namespace vision_encoder_test {
namespace {

using namespace zrt;

/// A plan for what backend B claims, and the file that it is of.
template <class B> struct Encoder {
  model::GgufFile file;
  model::VisionConfig config;
  plan::CompiledPlan compiled;
};
template <class B> Result<Encoder<B>> encoder() {
  auto file = model::GgufFile::open(test::kPeerFolder + "qwen3vl-vision.gguf");
  if (!file) return pass(file);
  auto config = model::read_vision_config(*file);
  if (!config) return pass(config);
  auto compiled = model::compile_vision_encoder(*file, *config, test::catalog_ops(), OpSet::of(typename B::Claims{}));
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

double nmse(std::span<const float> found, std::span<const float> expected) {
  double error = 0, square = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double x = expected[i];
    error += (found[i] - x) * (found[i] - x);
    square += x * x;
  }
  return error / square;
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
  for (const test::Image& image : test::images(columns)) {
    auto inputs = model::vision_inputs(e->file, e->config, image.rgb, image.width, image.height);
    ASSERT_TRUE(inputs) << inputs.error().text();
    EXPECT_EQ(inputs->merged, image.rows);
    all.push_back(std::move(*inputs));
    const auto rows = encode(*e, std::span(all).last(1));
    ASSERT_TRUE(rows) << rows.error().text();
    ASSERT_EQ(rows->size(), image.expected.size());
    const double far = nmse(*rows, image.expected);
    EXPECT_LT(far, 2e-11) << image.width << " x " << image.height;
    ::testing::Test::RecordProperty("nmse_" + std::to_string(image.width), std::to_string(far * 1e15));
    alone.insert(alone.end(), rows->begin(), rows->end());
  }
  const auto together = encode(*e, std::span<const model::VisionInputs>(all));
  ASSERT_TRUE(together) << together.error().text();
  EXPECT_EQ(*together, alone);
}

TYPED_TEST(VisionEncoder, AnOpenEncoderGivesTheRowsOfThePeerAndTheirPlaces) {
  auto file = model::GgufFile::open(test::kPeerFolder + "qwen3vl-vision.gguf");
  ASSERT_TRUE(file) << file.error().text();
  typename TypeParam::Device device;
  auto encoder = ImageEncoder<TypeParam>::open(std::move(*file), device);
  ASSERT_TRUE(encoder) << encoder.error().text();
  std::uint32_t columns = 0;
  for (const test::Image& image : test::images(columns)) {
    EXPECT_EQ(encoder->columns(), columns);
    const auto rows = encoder->encode(image.rgb, {image.width, image.height}, {1, 4096});
    ASSERT_TRUE(rows) << rows.error().text();
    ASSERT_EQ(rows->rows.size(), image.expected.size());
    EXPECT_LT(nmse(rows->rows.span(), image.expected), 2e-11) << image.width << " x " << image.height;
    const EmbeddingSpan span = rows->at(3);
    EXPECT_EQ(span.first, 3u);
    EXPECT_EQ(span.places.size(), std::size_t{image.rows} * 3);
    EXPECT_EQ(span.advance, std::max(image.width, image.height) / 8);
  }
  EXPECT_EQ(encoder->encode({}, {8, 8}).error().code(), Errc::invalid_argument);
}

TEST(ImageEncoder, AFileOfTextIsRefused) {
  auto file = model::GgufFile::open(test::kPeerFolder + "qwen3vl-images.gguf");
  ASSERT_TRUE(file) << file.error().text();
  engines::CpuPrograms::Device device;
  const auto encoder = ImageEncoder<engines::CpuPrograms>::open(std::move(*file), device);
  ASSERT_FALSE(encoder);
  EXPECT_EQ(encoder.error().code(), Errc::unimplemented);
}

/// A plan of what `build` writes, for what backend B claims; weights are those of `file`, if there is one.
template <class B, class Build>
Result<plan::CompiledPlan> compiled(const Build& build, const model::GgufFile* file = nullptr) {
  ir::Builder g(*test::catalog_ops().table, system_allocator(),
                file == nullptr ? ir::WeightLookup{} : model::weight_lookup(*file));
  build(g);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  return plan::compile(*graph, test::catalog_ops(), OpSet::of(typename B::Claims{}));
}
template <class B> Result<plan::CompiledPlan> scatter(std::uint32_t columns) {
  return compiled<B>([&](ir::Builder& g) { model::build_vision_scatter(g, columns); });
}

struct Decoder {
  model::GgufFile file;
  model::Qwen3VlImages::Config config;
};
Result<Decoder> decoder() {
  auto file = model::GgufFile::open(test::kPeerFolder + "qwen3vl-images.gguf");
  if (!file) return pass(file);
  Decoder d{std::move(*file), {}};
  model::ConfigReader meta(d.file, "qwen3vl", {.kv_dtype = DType::f32, .given_embeddings = true});
  if (auto r = model::read_config<model::Qwen3VlImages>(meta, d.config); !r) return pass(r);
  return d;
}

/// The text with the image's rows in it, as the scheduler holds it.
serve::Sequence sequence(const test::TextAroundImage& text, std::span<const float> rows, std::uint32_t lines,
                         std::uint32_t columns) {
  serve::Sequence s(system_allocator());
  const auto places = model::ImagePlaces::of(lines, columns);
  const std::vector<std::uint32_t> image(std::size_t{lines} * columns, 0);
  const std::span<const std::uint32_t> tokens(text.tokens);
  EXPECT_TRUE(places && s.tokens.append(tokens.first(text.before)) && s.tokens.append(std::span(image)) &&
              s.tokens.append(tokens.subspan(text.before)) && s.embeddings.append(rows) &&
              s.places.append(places->places.span()) &&
              s.given.push_back({text.before, lines * columns, 0, 0, places->advance}));
  s.prompt_tokens = static_cast<std::uint32_t>(s.tokens.size());
  s.every_row = true;
  return s;
}

/// Logits of every row of `s`, read in chunks of at most `chunk` rows.
template <class B>
std::vector<float> logits(const plan::ModelPlans& stages, const Decoder& d, serve::Sequence s, std::uint32_t chunk) {
  const auto rows = static_cast<std::uint32_t>(s.tokens.size());
  constexpr std::uint32_t pages = 4;
  typename B::Device device;
  auto executor = exec::Executor<B>::make(
      stages, *test::catalog_ops().table, model::weight_source(d.file),
      {.slots = 1, .prefill_tokens = chunk + 1, .prefill_rows = chunk, .pages = pages, .pages_per_slot = pages},
      device);
  auto planner = serve::BatchPlanner::make({.slots = 1,
                                            .chunk = chunk,
                                            .prefill_rows = chunk,
                                            .given_width = d.config.given_width(),
                                            .rope_axes = d.config.rope_axes},
                                           system_allocator());
  EXPECT_TRUE(executor) << executor.error().text();
  std::vector<float> all;
  if (!executor || !planner) return all;
  const std::array<std::uint32_t, pages> list{0, 1, 2, 3};
  while (s.processed < rows) {
    serve::Sequence* const one[] = {&s};
    const std::uint32_t cuts[] = {chunk};
    const exec::Batch batch = planner->plan(one, list.data(), cuts);
    const auto done = executor->step(batch);
    EXPECT_TRUE(done) << done.error().text();
    if (!done) break;
    const std::size_t at = all.size();
    all.resize(at + batch.rows.size() * d.config.vocabulary);
    EXPECT_TRUE(executor->read(exec::port::kLogits, 0, std::as_writable_bytes(std::span(all).subspan(at))));
  }
  return all;
}

TYPED_TEST(VisionEncoder, ItsRowsInADecoderGiveTheLogitsOfThePeer) {
  const auto e = encoder<TypeParam>();
  ASSERT_TRUE(e) << e.error().text();
  std::uint32_t columns = 0;
  const test::TextAroundImage text = test::text_around_image();
  const test::Image image = test::images(columns).at(text.image);
  const std::uint32_t side = e->config.patch * e->config.merge;
  const std::array inputs{*model::vision_inputs(e->file, e->config, image.rgb, image.width, image.height)};
  const auto rows = encode(*e, std::span<const model::VisionInputs>(inputs));
  ASSERT_TRUE(rows) << rows.error().text();

  const auto d = decoder();
  ASSERT_TRUE(d) << d.error().text();
  const auto middle = scatter<TypeParam>(columns);
  const auto plan = compiled<TypeParam>([&](ir::Builder& g) { model::Qwen3VlImages::build(g, d->config); }, &d->file);
  ASSERT_TRUE(middle) << middle.error().text();
  ASSERT_TRUE(plan) << plan.error().text();
  const plan::ModelPlans stages{&e->compiled, &*middle, &*plan, &*plan};
  const auto whole = [&] { return sequence(text, *rows, image.height / side, image.width / side); };
  const std::vector<float> found = logits<TypeParam>(stages, *d, whole(), 64);
  ASSERT_EQ(found.size(), text.expected.size());
  const double far = nmse(found, text.expected);
  ::testing::Test::RecordProperty("nmse", std::to_string(far * 1e15));
  EXPECT_LT(far, 2e-11);
  EXPECT_EQ(logits<TypeParam>(stages, *d, whole(), 3), found) << "in chunks";
  serve::Sequence other = whole();
  other.embeddings[columns / 2] += 0.25f;
  EXPECT_GT(nmse(logits<TypeParam>(stages, *d, std::move(other), 64), found), 1e-9) << "features of a layer count";
  other = whole();
  other.places[4] += 1;
  EXPECT_GT(nmse(logits<TypeParam>(stages, *d, std::move(other), 64), found), 1e-9) << "lines count";
}

TYPED_TEST(VisionEncoder, ADecoderOfOtherRowsIsRefusedWhenItIsBound) {
  const auto e = encoder<TypeParam>();
  auto d = decoder();
  ASSERT_TRUE(e && d);
  d->config.given_features = 0;
  const auto middle = scatter<TypeParam>(2 * d->config.width);
  const auto plan = compiled<TypeParam>([&](ir::Builder& g) { model::Qwen3VlImages::build(g, d->config); }, &d->file);
  ASSERT_TRUE(middle && plan);
  typename TypeParam::Device device;
  const auto executor =
      exec::Executor<TypeParam>::make({&e->compiled, &*middle, &*plan, &*plan}, *test::catalog_ops().table,
                                      model::weight_source(d->file), {1, 4, 4, 1, 1}, device);
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().code(), Errc::stage_handoff);
  const auto narrow = scatter<TypeParam>(d->config.width);
  ASSERT_TRUE(narrow);
  EXPECT_EQ(plan::check_handoff(e->compiled.plan, narrow->plan, "image_embeddings").error().code(),
            Errc::stage_handoff);
}

TEST(ImagePlaces, SidesAreChecked) {
  for (const auto& [lines, columns] : {std::pair{0u, 3u}, {3u, 0u}, {3u, 4097u}})
    EXPECT_EQ(model::ImagePlaces::of(lines, columns).error().code(), Errc::invalid_argument);
  EXPECT_EQ(model::ImagePlaces::of(2, 3)->advance, 3u);
}

TEST(VisionPlan, ATensorThatNothingReadsIsRefusedByName) {
  const auto file = model::GgufFile::open(test::kPeerFolder + "qwen3vl-vision.gguf");
  ASSERT_TRUE(file);
  auto config = model::read_vision_config(*file);
  ASSERT_TRUE(config);
  config->layers -= 1;
  const auto compiled = model::compile_vision_encoder(*file, *config, test::catalog_ops(), test::reference_claims());
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code(), Errc::unimplemented);
  EXPECT_NE(compiled.error().text().find("tensor v.blk.2."), std::string_view::npos) << compiled.error().text();
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
  const auto file = model::GgufFile::open(test::kPeerFolder + "qwen3vl-vision.gguf");
  ASSERT_TRUE(file);
  const model::ConfigReader meta(*file, *file->get<std::string_view>("general.architecture"));
  const auto opened =
      model::visit_family<boost::mp11::mp_list<model::Qwen3Vl>>(meta, [](auto) noexcept -> Result<void> { return {}; });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Errc::unknown_architecture);
  EXPECT_NE(opened.error().text().find("an encoder of images"), std::string_view::npos) << opened.error().text();
}

TEST(VisionConfig, AFileOfText) {
  const auto file = model::GgufFile::open(test::kPeerFolder + "qwen3vl.gguf");
  ASSERT_TRUE(file);
  const auto config = model::read_vision_config(*file);
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().text().find("expected qwen3vl_merger"), std::string_view::npos);
}

}  // namespace
}  // namespace vision_encoder_test
