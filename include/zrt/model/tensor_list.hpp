// SPDX-License-Identifier: Apache-2.0
// zrt/model/tensor_list.hpp: the tensors that a model's file holds, as its family's program names them.
#pragma once

#include <zrt/model/check_arch.hpp>
#include <zrt/model/tensor_rows.hpp>
#include <zrt/model/visit_family.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// A tensor that a family's program names.
struct ListedTensor {
  Name name{};
  std::uint32_t rank = 0;
  std::array<std::uint64_t, 4> dims{1, 1, 1, 1};  ///< dims[0] runs fastest, as files count
  std::uint64_t elems = 0;

  [[nodiscard]] Span<const std::uint64_t> extents() const noexcept { return Span(dims).first(rank); }
};

/// Which of the tensors that a family can do without a file holds: those of these names, and those whose names end in
/// one of them behind a dot.
struct OptionalTensors {
  Span<const std::string_view> names{};
  bool listed = true;  ///< false: all but those

  [[nodiscard]] constexpr bool holds(std::string_view tensor) const noexcept {
    for (const std::string_view end : names)
      if (tensor == end ||
          (tensor.size() > end.size() && tensor.ends_with(end) && tensor[tensor.size() - end.size() - 1] == '.'))
        return listed;
    return !listed;
  }
};

namespace detail {

/// What CheckBuilder tells of a program's tensors, each of them once.
struct TensorListing {
  OptionalTensors optional;
  Vector<ListedTensor>* to = nullptr;
  Result<void>* result = nullptr;

  bool takes(const Name& name) const noexcept { return optional.holds(TensorRows::of(name.view()).tensor); }
  void operator()(const Name& name, const Shape& shape) const noexcept {
    if (*result) *result = add(name, shape);
  }

 private:
  [[nodiscard]] Result<void> add(const Name& name, const Shape& shape) const noexcept {
    if (!name.fits() || shape.rank > 4)
      return fail(Errc::limit_exceeded, "tensor '", name.view(), "' has ", unsigned{shape.rank},
                  " dimensions and a name of ", name.view().size(), " bytes or more");
    const TensorRows rows = TensorRows::of(name.view());
    for (const ListedTensor& seen : *to)
      if (seen.name.view() == rows.tensor) return {};
    ListedTensor tensor;
    tensor.name = Name(rows.tensor);
    tensor.rank = shape.rank;
    for (std::size_t axis = 0; axis < shape.rank; ++axis) tensor.dims[shape.rank - 1 - axis] = shape[axis].extent;
    if (rows.total != 0) tensor.dims[shape.rank - 1] = rows.total;
    CheckedSize elems(1);
    for (const std::uint64_t dim : tensor.dims) elems = elems * CheckedSize(dim);
    const auto count = elems.get(rows.tensor);
    if (!count) return pass(count);
    tensor.elems = *count;
    return to->push_back(tensor);
  }
};

}  // namespace detail

/// Lists the tensors of the model that `metadata` describes, in the order in which its family's program names them.
///
/// A family reads the number of token ids from the rows of token_embd.weight, and a few ask whether the file holds some
/// other tensor. `metadata` names those tensors; it needs none of their data.
///
/// Errors: those of visit_family and read_config.
template <class Families>
[[nodiscard]] Result<Vector<ListedTensor>> list_tensors(const GgufFile& metadata, const OptionalTensors& optional,
                                                        const Allocator& allocator) noexcept {
  const auto architecture = metadata.get<std::string_view>("general.architecture");
  if (!architecture) return pass(architecture);
  ConfigReader meta(metadata, *architecture);
  Vector<ListedTensor> tensors(allocator);
  const auto listed =
      visit_family<typename Families::List>(meta, [&]<class F>(std::type_identity<F>) noexcept -> Result<void> {
        typename F::Config config;
        if (auto r = read_config<F>(meta, config); !r) return r;
        Result<void> result;
        CheckBuilder<typename F::Ops, detail::TensorListing> builder(true, {optional, &tensors, &result});
        F::build(builder, config);
        return result;
      });
  if (!listed) return pass(listed);
  return tensors;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
