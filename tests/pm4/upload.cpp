// SPDX-License-Identifier: Apache-2.0
// tests/pm4/upload.cpp: matrices in the parts that kernels read: sizes, places, and every bit of a block once.
#include <zrt/device/upload/types.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

namespace zrt::test::upload_test {
namespace {

/// Writes a matrix to one allocation and returns it.
std::vector<std::byte> uploaded(const device::UploadFunctions& u, const std::vector<std::byte>& matrix,
                                std::uint32_t rows, std::uint32_t blocks) {
  const auto places = u.places(rows, blocks * info(u.dtype).block_elems);
  EXPECT_TRUE(places.has_value());
  std::vector<std::byte> memory(places->bytes);
  std::array<std::byte*, device::kMaxParts> to{};
  for (std::size_t p = 0; p < u.parts.size(); ++p) to[p] = memory.data() + places->offset[p];
  u.write(matrix.data(), std::uint64_t{blocks} * info(u.dtype).block_bytes, rows, blocks, to.data());
  return memory;
}

TEST(Upload, EveryBitOfAMatrixHasAPlaceOfItsOwn) {
  constexpr std::uint32_t kRows = 2, kBlocks = 2;
  for (const device::UploadFunctions& u : device::kUploads) {
    SCOPED_TRACE(name(u.dtype));
    std::vector<std::byte> matrix(std::size_t{kRows} * kBlocks * info(u.dtype).block_bytes);
    const std::vector<std::byte> zeros = uploaded(u, matrix, kRows, kBlocks);
    std::vector<int> taken;
    for (std::size_t bit = 0; bit < matrix.size() * 8; ++bit) {
      matrix[bit / 8] = std::byte{1} << bit % 8;
      const std::vector<std::byte> memory = uploaded(u, matrix, kRows, kBlocks);
      matrix[bit / 8] = std::byte{0};
      taken.resize(memory.size() * 8);
      int places = 0;
      for (std::size_t i = 0; i < memory.size(); ++i)
        if (const auto differ = std::to_integer<unsigned>(memory[i] ^ zeros[i]); differ != 0) {
          places += std::popcount(differ);
          ++taken[i * 8 + static_cast<std::size_t>(std::countr_zero(differ))];
        }
      ASSERT_EQ(places, 1) << "bit " << bit;
    }
    EXPECT_LE(*std::max_element(taken.begin(), taken.end()), 1);
  }
}

TEST(Upload, PartsFollowEachOtherAtWholeLines) {
  // Five rows are a group of 32, of three blocks: 3072 bytes, and 192 of scales.
  const auto q8 = device::upload_of(DType::q8_0)->places(5, 96);
  ASSERT_TRUE(q8.has_value());
  EXPECT_EQ(q8->offset, (std::array<std::uint64_t, 4>{0, 3072}));
  EXPECT_EQ(q8->bytes, 3328u);
  // 33 rows are two groups of 32, of three blocks: 192 of each part.
  const auto q6 = device::upload_of(DType::q6_k)->places(33, 768);
  ASSERT_TRUE(q6.has_value());
  EXPECT_EQ(q6->offset, (std::array<std::uint64_t, 4>{0, 192 * 128, 192 * 192, 192 * 208}));
  EXPECT_EQ(q6->bytes, q6->offset[3] + 512);
  // Piece 5 of row 33, block 1: a group's blocks and this one's, the pieces of block 0 and five of block 1, a row.
  EXPECT_EQ(device::upload_of(DType::q6_k)->parts[0].place(33, 1, 3, 5), (32u * 3 * 8 + 32 * 8 + 5 * 32 + 1) * 16);
  EXPECT_EQ(device::upload_of(DType::q6_k)->parts[3].place(33, 2, 3), (32u * 3 + 2 * 32 + 1) * 2);
  // The scales of seven blocks of a row of Q4_0: four side by side, then two, then one.
  const device::UploadPart& scales = device::upload_of(DType::q4_0)->parts[1];
  constexpr std::uint64_t group = 32 * 7;
  for (const auto& [block, index] : {std::pair{0u, 4u}, {3u, 7u}, {4u, 128u + 2}, {5u, 128u + 3}, {6u, 192u + 1}})
    EXPECT_EQ(scales.place(33, block, 7), (group + index) * 2) << block;
  // Element 2 of a row of F16 in its second piece: 32 rows have eight of the first piece, those before it eight more.
  EXPECT_EQ(device::upload_of(DType::f16)->parts[0].place(33, 10, 16), (32u * 16 + 32 * 8 + 8 + 2) * 2);
  EXPECT_EQ(device::upload_of(DType::f16, true)->parts[0].place(0, 10, 16), 10u * 2);
  EXPECT_EQ(device::upload_of(DType::si32), nullptr);
  EXPECT_EQ(device::upload_of(DType::f32)->places(0xffffffffu, 0xffffffffu).error().code(), Errc::size_overflow);
}

}  // namespace
}  // namespace zrt::test::upload_test
