// SPDX-License-Identifier: Apache-2.0
// examples/zrt/train_data.cpp: examples from archives.
#include "npz.hpp"
#include "output.hpp"
#include "train_data.hpp"

#include <cstring>
#include <numeric>
#include <utility>

namespace program {
namespace {

std::size_t rows_in(const Array& array) { return array.type.shape.rank == 0 ? 0 : array.type.shape[0].extent; }

}  // namespace

const Array* Examples::find(std::string_view name) const {
  for (const ExampleTensor& tensor : tensors)
    if (tensor.name == name) return &tensor.array;
  return nullptr;
}

zrt::Result<Examples> read_examples(const std::string& path) {
  const auto archive = read_file(path);
  if (!archive) return zrt::pass(archive);
  const auto members = read_npz(*archive);
  if (!members) return std::unexpected(of_file(members.error(), path));
  Examples examples;
  for (const NpzMember& member : *members) {
    auto array = read_any_npy(member.bytes);
    if (!array)
      return zrt::fail(array.error().code(), std::string_view(path), ": ", std::string_view(member.name), ": ",
                       array.error().text());
    const std::size_t rows = rows_in(*array);
    if (!examples.tensors.empty() && rows != examples.count)
      return zrt::fail(zrt::Errc::shape_mismatch, std::string_view(path), ": ", std::string_view(member.name), " has ",
                       rows, " examples, ", std::string_view(examples.tensors[0].name), " has ", examples.count);
    examples.count = rows;
    examples.tensors.push_back({member.name, std::move(*array)});
  }
  return examples;
}

Examples take_last(Examples& from, std::size_t count) {
  Examples last;
  last.count = count;
  for (ExampleTensor& tensor : from.tensors) {
    const std::size_t bytes = from.count == 0 ? 0 : tensor.array.data.size() / from.count * count;
    Array part{tensor.array.type,
               {tensor.array.data.end() - static_cast<std::ptrdiff_t>(bytes), tensor.array.data.end()}};
    part.type.shape.dims[0] = zrt::Dim(static_cast<std::uint32_t>(count));
    tensor.array.data.resize(tensor.array.data.size() - bytes);
    tensor.array.type.shape.dims[0] = zrt::Dim(static_cast<std::uint32_t>(from.count - count));
    last.tensors.push_back({tensor.name, std::move(part)});
  }
  from.count -= count;
  return last;
}

bool same_rows(const Array& a, const Array& b) {
  bool same = a.type.dtype == b.type.dtype && a.type.shape.rank == b.type.shape.rank;
  for (std::uint8_t axis = 1; same && axis < a.type.shape.rank; ++axis) same = a.type.shape[axis] == b.type.shape[axis];
  return same;
}

void copy_rows(const Array& from, std::span<const std::uint32_t> rows, Array& to) {
  const std::size_t bytes = from.data.size() / rows_in(from);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (bytes != 0) std::memcpy(to.data.data() + i * bytes, from.data.data() + rows[i] * bytes, bytes);
}

std::vector<std::uint32_t> order_of(std::size_t count, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  SplitMix draws(SplitMix(seed).next() + epoch);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[draws.below(i)]);
  return order;
}

std::uint64_t SplitMix::next() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
std::uint64_t SplitMix::below(std::uint64_t bound) {
  // The rest of the last whole multiple would make small numbers likelier.
  const std::uint64_t least = (0 - bound) % bound;
  std::uint64_t drawn = next();
  while (drawn < least) drawn = next();
  return drawn % bound;
}
double SplitMix::real(double scale) { return (static_cast<double>(next() >> 11) * 0x1p-52 - 1.0) * scale; }

}  // namespace program
