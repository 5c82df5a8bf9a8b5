// SPDX-License-Identifier: Apache-2.0
// tests/unit/mixture.cpp: file types give each tensor the type that llama.cpp's quantiser gives it.
#include <zrt/model/gguf.hpp>
#include <zrt/model/mixture.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <tools/gguf_writer.hpp>
#include <tools/hub_folder.hpp>

namespace mixture_test {
namespace {

using namespace zrt;
using test::HubJson;

const std::filesystem::path kData = ZRT_TEST_DATA_DIR;

/// See tools/peer_file_types.py.
const HubJson& cases() {
  static const HubJson all = HubJson::parse(test::file_text(kData / "quant" / "file_types.json"));
  return all;
}

model::GgufTensor tensor_of(std::string_view name, const std::vector<std::uint64_t>& dims) {
  model::GgufTensor tensor;
  tensor.name = name;
  tensor.type = *model::find_ggml_type(DType::f32);
  tensor.rank = static_cast<std::uint32_t>(dims.size());
  tensor.elems = 1;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) tensor.elems *= tensor.dims[axis] = dims[axis];
  return tensor;
}

/// The tensors of a case, with the names that they point to.
struct Tensors {
  std::deque<std::string> names;
  std::vector<model::GgufTensor> list;

  explicit Tensors(const HubJson& rows) {
    for (const HubJson& row : rows) {
      const auto pattern = row[0].get<std::string>();
      const auto star = pattern.find('*');
      const auto first = row[1].get<std::uint32_t>();
      const std::uint32_t layers = star == pattern.npos ? 1 : row[2].get<std::uint32_t>();
      for (std::uint32_t layer = first; layer < first + layers; ++layer) {
        std::string name = pattern;
        if (star != name.npos) name.replace(star, 1, std::to_string(layer));
        list.push_back(tensor_of(names.emplace_back(name), row[3].get<std::vector<std::uint64_t>>()));
      }
    }
  }
};

std::string names_of(const Vector<DType>& types) {
  std::string out;
  for (std::size_t i = 0, next = 0; i < types.size(); i = next) {
    while (next < types.size() && types[next] == types[i]) ++next;
    out += (out.empty() ? "" : " ") + std::string(name(types[i])) + "*" + std::to_string(next - i);
  }
  return out;
}

/// Compares all types of a case, and counts them.
std::size_t expect_types(const std::string& name, const HubJson& expected, const model::MixedModel& model,
                         Span<const model::GgufTensor> tensors) {
  std::size_t compared = 0;
  for (const bool weighted : {false, true})
    for (const auto& [type, plain] : expected["plain"].items()) {
      const bool own = weighted && expected.contains("weighted") && expected["weighted"].contains(type);
      const model::FileType* file = model::find_file_type(type);
      if (file == nullptr) {
        ADD_FAILURE() << "no file type " << type;
        continue;
      }
      const auto types = model::choose_types(*file, model, {.weighted = weighted}, tensors, system_allocator());
      EXPECT_EQ(names_of(*types), (own ? expected["weighted"][type] : plain).get<std::string>())
          << name << " as " << type << (weighted ? ", weighted" : "");
      ++compared;
    }
  return compared;
}

TEST(Mixture, LargeModelsGetThePeersTypes) {
  std::size_t compared = 0;
  for (const auto& [name, row] : cases()["models"].items()) {
    const Tensors tensors(row["tensors"]);
    const HubJson& keys = row["keys"];
    const auto architecture = row["architecture"].get<std::string>();
    const model::MixedModel model{architecture, keys["block_count"].get<std::uint32_t>(),
                                  keys.value("expert_count", 0u), keys["attention.head_count"].get<std::uint32_t>(),
                                  keys["attention.head_count_kv"].get<std::uint32_t>()};
    compared += expect_types(name, row, model, tensors.list);
  }
  EXPECT_GT(compared, 1000u);
}

TEST(Mixture, FilesGetThePeersTypes) {
  std::size_t compared = 0;
  for (const auto& [name, row] : cases()["files"].items()) {
    const auto file = model::GgufFile::open((kData / "peer" / (name + ".gguf")).string());
    ASSERT_TRUE(file) << name;
    const auto model = model::MixedModel::of(*file);
    ASSERT_TRUE(model) << model.error().text();
    std::vector<model::GgufTensor> by_name(file->tensors().begin(), file->tensors().end());
    std::sort(by_name.begin(), by_name.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    compared += expect_types(name, row, *model, by_name);
  }
  EXPECT_GT(compared, 500u);
}

/// Every file type of the peer is one of ours, under its number.
TEST(Mixture, EveryTypeOfThePeerIsCompared) {
  std::size_t own = 0;
  for (const model::FileType& type : model::kFileTypes)
    own += cases()["models"]["llama-8b"]["plain"].contains(type.name) ? 0u : 1u;
  EXPECT_EQ(own, 2u) << "only mxfp4 and nvfp4 are no types of the peer's program";
}

TEST(Mixture, PureFilesHaveOneType) {
  const HubJson& row = cases()["models"]["llama-8b"];
  const Tensors tensors(row["tensors"]);
  const model::MixedModel model{"llama", 32, 0, 32, 8};
  for (const model::FileType& type : model::kFileTypes) {
    const auto types = model::choose_types(type, model, {.pure = true}, tensors.list, system_allocator());
    for (std::size_t i = 0; i < tensors.list.size(); ++i)
      EXPECT_EQ((*types)[i], tensors.list[i].rank == 1 ? DType::f32 : type.type) << tensors.list[i].name;
  }
}

TEST(Mixture, FineMatricesStay) {
  for (const char* fine : {"blk.0.ffn_gate_inp.weight", "blk.0.laurel_l.weight", "v.patch_embd.weight",
                           "blk.0.time_mix_w1.weight", "enc.blk.0.attn_rel_b.weight", "blk.0.attn_q.bias"})
    EXPECT_FALSE(model::may_be_coarse(tensor_of(fine, {256, 256}))) << fine;
  for (const char* coarse : {"blk.0.ffn_gate_inp_shexp.weight", "blk.0.time_mix_value.weight", "output.weight"})
    EXPECT_TRUE(model::may_be_coarse(tensor_of(coarse, {256, 256}))) << coarse;
  EXPECT_FALSE(model::may_be_coarse(tensor_of("output.weight", {256, 1}))) << "a vector";
}

TEST(Mixture, AModelIsReadFromItsKeys) {
  test::GgufWriter w;
  w.add("general.architecture", "llama");
  w.add("llama.block_count", std::uint32_t{80});
  w.add("llama.attention.head_count", std::uint32_t{8});
  w.add_array("llama.attention.head_count_kv", std::vector<std::uint32_t>(80, 2));
  const test::Bytes bytes = w.build();
  const auto file = model::GgufFile::open(Span<const std::byte>(bytes.data(), bytes.size()));
  const auto model = model::MixedModel::of(*file);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->heads, 8u);
  EXPECT_EQ(model->kv_heads, 2u);
  EXPECT_EQ(model->experts, 0u);
  EXPECT_TRUE(model->is_large());
}

TEST(Mixture, NamesHaveAliases) {
  EXPECT_EQ(model::find_file_type("q4_k"), model::find_file_type("q4_k_m"));
  EXPECT_EQ(model::find_file_type("q3_k"), model::find_file_type("q3_k_m"));
  EXPECT_EQ(model::find_file_type("q9_k"), nullptr);
}

}  // namespace
}  // namespace mixture_test
