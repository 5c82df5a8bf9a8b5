// SPDX-License-Identifier: Apache-2.0
// tests/unit/params.cpp: parameter layouts audited through Boost.Hana, and the codec's bytes pinned.
#include <zrt/ops/params_audit.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace params_test {
namespace {

namespace mp = boost::mp11;
namespace ops = zrt::ops;
using zrt::Errc;

static_assert(zrt::kParamsAudited<ops::Catalog>);
/// A struct in a tensor instead of a block.
struct RequestRow {
  using Params = ops::SampleRequest;
};
static_assert(zrt::ParamsAudit<RequestRow>::kOk);

template <class O> std::vector<unsigned> encoded(const typename O::Params& params) {
  std::vector<std::byte> bytes(zrt::kParamBytes<typename O::Params>);
  zrt::encode_params(params, std::span<std::byte>(bytes));
  std::vector<unsigned> numbers;
  for (std::byte b : bytes) numbers.push_back(std::to_integer<unsigned>(b));
  return numbers;
}

TEST(Params, EncodesLittleEndian) {
  // eps 1e-5 = 0x3727c5ac, offset 1 = 0x3f800000, dim 0x01020304.
  EXPECT_EQ(encoded<ops::RmsNorm>({1e-5f, 1.0f, 0x01020304u}),
            (std::vector<unsigned>{0xac, 0xc5, 0x27, 0x37, 0, 0, 0x80, 0x3f, 4, 3, 2, 1}));
  EXPECT_EQ(encoded<ops::Linear>({zrt::quant::Act::q8_256, {}}), (std::vector<unsigned>{2, 0, 0, 0}));
  EXPECT_EQ(encoded<ops::KvWriteBatched>({1, 0x100, 0x10000}),
            (std::vector<unsigned>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(encoded<ops::LmHead>({0.5f, 30.0f, zrt::quant::Act::q8_32, {7, 8, 9}}),
            (std::vector<unsigned>{0, 0, 0, 0x3f, 0, 0, 0xf0, 0x41, 1, 7, 8, 9}));
  EXPECT_EQ(encoded<ops::Softmax>({}), std::vector<unsigned>{});
  const auto rope = encoded<ops::Rope>({});
  EXPECT_EQ(rope.size(), 36u);
  EXPECT_EQ(rope[8] | rope[9] << 8 | rope[10] << 16 | rope[11] << 24, std::bit_cast<std::uint32_t>(10000.0f));
  EXPECT_EQ(encoded<ops::MultiheadAttention>({}).size(), 32u + 36u + 8u);
}

TEST(Params, DecodesWhatItEncoded) {
  mp::mp_for_each<mp::mp_transform<mp::mp_identity, ops::Catalog>>([](auto op) {
    using O = typename decltype(op)::type;
    using P = typename O::Params;
    SCOPED_TRACE(O::name);
    // Every byte differs, so that a field read from a wrong place shows.
    std::vector<std::byte> bytes(zrt::kParamBytes<P>);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + 1);
    const auto params = zrt::decode_params<O>({P::version, O::opcode, bytes});
    ASSERT_TRUE(params);
    std::vector<std::byte> again(bytes.size());
    zrt::encode_params(*params, std::span<std::byte>(again));
    EXPECT_EQ(again, bytes);
  });
}

TEST(Params, RefusesAnotherAbi) {
  mp::mp_for_each<mp::mp_transform<mp::mp_identity, ops::Catalog>>([](auto op) {
    using O = typename decltype(op)::type;
    using P = typename O::Params;
    SCOPED_TRACE(O::name);
    const std::vector<std::byte> bytes(zrt::kParamBytes<P> + 1);
    const std::span<const std::byte> right(bytes.data(), bytes.size() - 1);
    auto code = [](const zrt::ParamBlock& block) {
      const auto result = zrt::decode_params<O>(block);
      if (!result) {
        EXPECT_NE(result.error().text().find(O::name), std::string_view::npos);
      }
      return result ? Errc::ok : result.error().code();
    };
    EXPECT_EQ(code({P::version, O::opcode, right}), Errc::ok);
    EXPECT_EQ(code({static_cast<std::uint8_t>(P::version + 1), O::opcode, right}), Errc::invalid_param_block_abi);
    EXPECT_EQ(code({0, O::opcode, right}), Errc::invalid_param_block_abi);
    EXPECT_EQ(code({P::version, zrt::Opcode{255}, right}), Errc::invalid_param_block_abi);
    EXPECT_EQ(code({P::version, O::opcode, bytes}), Errc::invalid_param_block_abi);
    if (!right.empty()) {
      EXPECT_EQ(code({P::version, O::opcode, right.first(right.size() - 1)}), Errc::invalid_param_block_abi);
      EXPECT_EQ(code({P::version, O::opcode, {}}), Errc::invalid_param_block_abi);
    }
  });
}

}  // namespace
}  // namespace params_test
