// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/safetensors.hpp: reads a file of tensors in the safetensors format; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/dtype.hpp>
#include <zrt/core/little_endian.hpp>
#include <zrt/core/span.hpp>
#include <zrt/model/hub/json.hpp>

#include <algorithm>
#include <array>
#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// A tensor of a safetensors file; its data lie in the file.
struct SafeTensor {
  std::string name;
  std::string_view type;               ///< as the format names it, as in "BF16"
  std::optional<DType> dtype;          ///< of a weight: f32, f16 or bf16
  std::vector<std::uint64_t> extents;  ///< the last runs fastest
  std::uint64_t elems = 0;
  Span<const std::byte> data{};

  /// The elements of a row, which lie one behind the other; 1 for a tensor of rank 0.
  [[nodiscard]] std::uint64_t columns() const noexcept { return extents.empty() ? 1 : extents.back(); }
  [[nodiscard]] std::uint64_t rows() const noexcept { return columns() == 0 ? 0 : elems / columns(); }
};

namespace detail {

struct SafeType {
  std::string_view name;
  std::uint8_t bytes;
  std::optional<DType> dtype;
};

/// The element types of whole bytes. Source: the safetensors format, 0.6.
inline constexpr auto kSafeTypes = std::to_array<SafeType>({{"F32", 4, DType::f32},
                                                            {"F16", 2, DType::f16},
                                                            {"BF16", 2, DType::bf16},
                                                            {"F64", 8, {}},
                                                            {"I64", 8, {}},
                                                            {"U64", 8, {}},
                                                            {"I32", 4, {}},
                                                            {"U32", 4, {}},
                                                            {"I16", 2, {}},
                                                            {"U16", 2, {}},
                                                            {"I8", 1, {}},
                                                            {"U8", 1, {}},
                                                            {"BOOL", 1, {}},
                                                            {"F8_E4M3", 1, {}},
                                                            {"F8_E5M2", 1, {}},
                                                            {"F8_E8M0", 1, {}}});

}  // namespace detail

/// The tensors of one file, whose bytes outlive this.
class Safetensors {
 public:
  /// The longest header that the format allows.
  static constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
  static constexpr std::size_t kMaxRank = 8;

  /// Reads the header of `file` and checks that the tensors fill the rest of it.
  ///
  /// Errors: Errc::truncated_file for a file that ends in its header or its data; Errc::invalid_file for what breaks
  /// the format; those of parse_json; Errc::unsupported_tensor_rank; Errc::size_overflow.
  [[nodiscard]] static Result<Safetensors> read(Span<const std::byte> file) {
    constexpr std::size_t kLengthBytes = 8;
    if (file.size() < kLengthBytes)
      return fail(Errc::truncated_file, "the file has ", file.size(), " bytes, expected at least ", kLengthBytes);
    const std::uint64_t length = read_little<std::uint64_t>(file.data());
    if (length > kMaxHeaderBytes)
      return fail(Errc::invalid_file, "the header has ", length, " bytes, expected at most ", kMaxHeaderBytes);
    if (length > file.size() - kLengthBytes)
      return fail(Errc::truncated_file, "the header has ", length, " bytes, the file ", file.size() - kLengthBytes,
                  " behind its length");
    const auto header = file.subspan(kLengthBytes, static_cast<std::size_t>(length));
    const auto json = parse_json({reinterpret_cast<const char*>(header.data()), header.size()});
    if (!json) return pass(json);
    Safetensors made;
    if (auto r = made.list(*json, file.subspan(kLengthBytes + header.size())); !r) return pass(r);
    return made;
  }

  /// In the order of their data.
  [[nodiscard]] const std::vector<SafeTensor>& tensors() const noexcept { return tensors_; }

 private:
  [[nodiscard]] Result<void> list(const HubJson& header, Span<const std::byte> data) {
    if (!header.is_object())
      return fail(Errc::invalid_file, "the header is ", header.type_name(), ", expected an object of tensors");
    for (const auto& [name, entry] : header.items())
      if (name != "__metadata__")
        if (auto r = add(name, entry, data); !r) return r;
    // Of tensors at one place those without elements come first.
    std::ranges::sort(tensors_, [](const SafeTensor& a, const SafeTensor& b) {
      return std::pair(a.data.data(), a.data.size()) < std::pair(b.data.data(), b.data.size());
    });
    return expect_filled(data);
  }

  template <class... Pieces> static std::unexpected<Error> bad(std::string_view name, const Pieces&... what) {
    return fail(Errc::invalid_file, "tensor '", detail::Quoted(name).view(), "': ", what...);
  }

  [[nodiscard]] Result<void> add(const std::string& name, const HubJson& entry, Span<const std::byte> data) {
    SafeTensor tensor;
    tensor.name = name;
    const std::string_view type = text_of(find(&entry, "dtype"));
    const auto* row = std::ranges::find(detail::kSafeTypes, type, &detail::SafeType::name);
    if (row == detail::kSafeTypes.end())
      return bad(name, "dtype is '", detail::Quoted(type).view(), "', expected one of safetensors, as F32 or BF16");
    tensor.type = row->name;
    tensor.dtype = row->dtype;
    if (auto r = read_extents(find(&entry, "shape"), tensor); !r) return r;
    const auto bytes = (CheckedSize(tensor.elems) * CheckedSize(row->bytes)).get(detail::Quoted(name).view());
    if (!bytes) return pass(bytes);
    if (auto r = place(find(&entry, "data_offsets"), *bytes, data, tensor); !r) return r;
    tensors_.push_back(std::move(tensor));
    return {};
  }

  [[nodiscard]] static Result<void> read_extents(const HubJson* shape, SafeTensor& tensor) {
    if (shape == nullptr || !shape->is_array()) return bad(tensor.name, "shape is no list of extents");
    if (shape->size() > kMaxRank)
      return fail(Errc::unsupported_tensor_rank, "tensor '", detail::Quoted(tensor.name).view(), "' has ",
                  shape->size(), " axes, at most ", kMaxRank, " expected");
    CheckedSize elems(1);
    for (const HubJson& extent : *shape) {
      if (!extent.is_number_unsigned()) return bad(tensor.name, "shape holds what is no extent");
      tensor.extents.push_back(extent.get<std::uint64_t>());
      elems *= CheckedSize(tensor.extents.back());
    }
    const auto count = elems.get(detail::Quoted(tensor.name).view());
    if (!count) return pass(count);
    tensor.elems = *count;
    return {};
  }

  [[nodiscard]] static Result<void> place(const HubJson* offsets, std::uint64_t bytes, Span<const std::byte> data,
                                          SafeTensor& tensor) {
    if (offsets == nullptr || !offsets->is_array() || offsets->size() != 2 || !(*offsets)[0].is_number_unsigned() ||
        !(*offsets)[1].is_number_unsigned())
      return bad(tensor.name, "data_offsets are no two offsets");
    const auto begin = (*offsets)[0].get<std::uint64_t>();
    const auto end = (*offsets)[1].get<std::uint64_t>();
    if (begin > end || end - begin != bytes)
      return bad(tensor.name, "data_offsets are ", begin, " and ", end, ", expected ", bytes, " bytes between them");
    if (end > data.size())
      return fail(Errc::truncated_file, "tensor '", detail::Quoted(tensor.name).view(), "' ends at byte ", end,
                  " of the data, which have ", data.size());
    tensor.data = data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes));
    return {};
  }

  /// The format allows no bytes of two tensors or of none.
  [[nodiscard]] Result<void> expect_filled(Span<const std::byte> data) const {
    const std::byte* expected = data.data();
    for (const SafeTensor& tensor : tensors_) {
      if (tensor.data.data() != expected)
        return bad(tensor.name, "its data begin at byte ", tensor.data.data() - data.data(), ", expected ",
                   expected - data.data(), ", where those before it end");
      expected += tensor.data.size();
    }
    if (expected != data.data() + data.size())
      return fail(Errc::invalid_file, "the data have ", data.size(), " bytes, the tensors ", expected - data.data());
    return {};
  }

  std::vector<SafeTensor> tensors_;
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
