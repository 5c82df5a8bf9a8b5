// SPDX-License-Identifier: Apache-2.0
// covers: device/upload/planes.hpp, quant/code_form.hpp
// What lies in planes gives each type's integers, factors, scales and offsets back, bit by bit.
#include <zrt/device/upload/types.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <support/block_scales.hpp>
#include <vector>

namespace zrt::test::plane_upload_test {
namespace {

/// Rows of more than one group, and where each part of them lies.
struct PlaneMatrix {
  static constexpr std::uint32_t kRows = 33, kBlocks = 3;

  std::vector<std::byte> file;
  std::vector<std::vector<std::byte>> parts;

  explicit PlaneMatrix(const device::UploadFunctions& type) {
    const std::uint32_t bytes = info(type.dtype).block_bytes;
    std::mt19937 random(static_cast<unsigned>(type.dtype));
    file.resize(std::size_t{kRows} * kBlocks * bytes);
    for (std::byte& b : file) b = static_cast<std::byte>(random());
    for (std::uint32_t b = 0; b < kRows * kBlocks; ++b)
      set_scales(type.dtype, &file[std::size_t{b} * bytes], 0.01f * static_cast<float>(b + 1), 0.5f);
    std::array<std::byte*, device::kMaxParts> to{};
    for (const device::UploadPart& part : type.parts) parts.emplace_back(part.bytes(kRows, kBlocks).raw());
    for (std::size_t p = 0; p < parts.size(); ++p) to[p] = parts[p].data();
    type.write(file.data(), std::uint64_t{kBlocks} * bytes, kRows, kBlocks, to.data());
  }
  /// Word or half word `index` of `count` of a row, as a kernel finds it.
  template <class T>
  [[nodiscard]] T at(std::size_t part, std::uint32_t row, std::uint32_t index, std::uint32_t count,
                     std::uint32_t pieces_of = sizeof(T), std::uint32_t within = 0) const {
    const std::size_t piece = std::size_t{row / 32 * 32} * count + std::size_t{index} * 32 + row % 32;
    return read_little<T>(parts[part].data() + piece * pieces_of + within);
  }
};

template <class U> class PlaneRow {
 public:
  using L = quant::Layout<U::kDType>;
  static constexpr device::PlaneForm kForm = U::kForm;

  PlaneRow(const PlaneMatrix& matrix, std::uint32_t row) : matrix_(&matrix), row_(row) {}

  [[nodiscard]] int integer(std::uint32_t element) const {
    const std::uint32_t chunk = element / 32, c = element % 32 / 4, cols = PlaneMatrix::kBlocks * L::kElems;
    std::uint32_t code = 0, below = 0;
    std::size_t part = 0;
    for (std::uint32_t plane = 4; plane != 0; plane /= 2) {
      if ((kForm.codes.bits & plane) == 0) continue;
      const auto word = matrix_->at<std::uint32_t>(part++, row_, chunk, cols / 32, 4 * plane, c % plane * 4);
      code |= (word >> (element % 4 * 8 + c / plane * plane) & ((1u << plane) - 1)) << below;
      below += plane;
    }
    return kForm.codes.levels == nullptr ? static_cast<int>(code) + kForm.codes.lowest : kForm.codes.levels[code];
  }
  /// The stored scale of an element's run, or its offset.
  [[nodiscard]] float scale(std::uint32_t element, std::uint32_t offset) const {
    const std::uint32_t each = kForm.has_offset ? 2 : 1, cols = PlaneMatrix::kBlocks * L::kElems;
    const std::uint32_t index = element / kForm.under_scale * each + offset, count = cols / kForm.under_scale * each;
    const std::size_t part = static_cast<std::size_t>(std::popcount(kForm.codes.bits));
    if (kForm.codes.scale == DType::f32)
      return std::bit_cast<float>(matrix_->at<std::uint32_t>(part, row_, index, count));
    const auto bits = matrix_->at<std::uint16_t>(part, row_, index, count);
    return kForm.codes.scale == DType::f16 ? to_f32(Half{bits}) : to_f32(BFloat16{bits});
  }
  [[nodiscard]] int factor(std::uint32_t element, std::uint32_t offset) const {
    const std::uint32_t words = kForm.factor_words(), all = words * (kForm.has_offset ? 2 : 1);
    const std::uint32_t unit = element / kForm.unit, part_of = element % kForm.unit / kForm.part;
    const std::size_t part = static_cast<std::size_t>(std::popcount(kForm.codes.bits)) + 1;
    const auto word = matrix_->at<std::uint32_t>(part, row_, unit * all + offset * words + part_of / 4,
                                                 PlaneMatrix::kBlocks * L::kElems / kForm.unit * all);
    return static_cast<std::int8_t>(word >> part_of % 4 * 8 & 255u);
  }

 private:
  const PlaneMatrix* matrix_;
  std::uint32_t row_;
};

template <class U> void expect_row(const PlaneMatrix& matrix, std::uint32_t row) {
  using L = quant::Layout<U::kDType>;
  const PlaneRow<U> planes(matrix, row);
  for (std::uint32_t b = 0; b < PlaneMatrix::kBlocks; ++b) {
    const std::byte* block = &matrix.file[(std::size_t{row} * PlaneMatrix::kBlocks + b) * L::kBytes];
    std::int8_t q[L::kElems]{};
    L::unpack(block, q);
    const quant::Factors f = L::factors_of(block);
    for (std::uint32_t i = 0; i < L::kElems; ++i) {
      const std::uint32_t element = b * L::kElems + i;
      ASSERT_EQ(planes.integer(element), q[i]) << "row " << row << " element " << element;
      ASSERT_EQ(planes.scale(element, 0), L::scale(block, i / L::kRun));
      if constexpr (L::kHasOffset) {
        ASSERT_EQ(planes.scale(element, 1), L::offset(block, i / L::kRun));
      }
      if constexpr (U::kForm.part != 0) {
        ASSERT_EQ(planes.factor(element, 0), f.scale[i / L::kPart]);
        if constexpr (L::kHasOffset) {
          ASSERT_EQ(planes.factor(element, 1), f.offset[i / L::kPart]);
        }
      }
    }
  }
}

template <class... U> void expect_all(boost::mp11::mp_list<U...>) {
  (
      [] {
        SCOPED_TRACE(name(U::kDType));
        const PlaneMatrix matrix(*device::upload_of(U::kDType));
        for (const std::uint32_t row : {0u, 31u, 32u}) expect_row<U>(matrix, row);
      }(),
      ...);
}

TEST(PlaneUpload, GivesBackWhatEachTypeHas) { expect_all(device::PlaneTypes{}); }

TEST(PlaneUpload, EveryTypeHasPartsOfItsOwnOrPlanes) {
  EXPECT_EQ(device::kAllUploads.size(), boost::mp11::mp_size<quant::OwnTypes>::value);
  for (const quant::TypeFacts& type : quant::kTypeFactsOf<quant::OwnTypes>)
    EXPECT_NE(device::upload_of(type.dtype), nullptr) << name(type.dtype);
}

TEST(PlaneUpload, TakesWhatCodesScalesAndFactorsTake) {
  const auto bits_of = [](DType dtype) {
    std::uint32_t bytes = 0;
    for (const device::UploadPart& part : device::upload_of(dtype)->parts) bytes += part.block_bytes;
    return 8.0 * bytes / info(dtype).block_elems;
  };
  EXPECT_EQ(bits_of(DType::q4_1), 5.0);
  EXPECT_EQ(bits_of(DType::q5_1), 6.0);
  EXPECT_EQ(bits_of(DType::q3_k), 3.0 + 0.5 + 0.125);
  EXPECT_EQ(bits_of(DType::iq2_xxs), 3.0 + 0.25 + 0.125);
  EXPECT_EQ(bits_of(DType::q1_0), 1.125);
}

}  // namespace
}  // namespace zrt::test::plane_upload_test
