// SPDX-License-Identifier: Apache-2.0
// zrt/model/importance_dat.hpp: an importance matrix of llama.cpp from before GGUF (imatrix.dat), as GGUF.
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/model/gguf/cursor.hpp>
#include <zrt/model/gguf/writer.hpp>

#include <bit>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

namespace detail {

/// A walk over the entries: a count of them, then for each a name, how often it was met, and its values, all of 32 bits.
class ImportanceDat {
 public:
  explicit ImportanceDat(Span<const std::byte> file) noexcept : rest_(file), size_(file.size()) {}

  /// Calls entry(name, count, values) for each entry; values are f32, little-endian. Ends at the first error.
  template <class Entry> [[nodiscard]] Result<void> each(Entry&& entry) noexcept {
    const auto entries = number(1);
    if (!entries) return pass(entries);
    for (std::uint32_t i = 0; i < *entries; ++i) {
      const auto length = number(1);
      if (!length) return pass(length);
      const auto name = bytes(*length);
      if (!name) return pass(name);
      const auto count = number(0);
      if (!count) return pass(count);
      const auto values = number(1);
      if (!values) return pass(values);
      const auto sums = bytes(std::uint64_t{*values} * 4);
      if (!sums) return pass(sums);
      if (auto r = entry(std::string_view(reinterpret_cast<const char*>(name->data()), name->size()), *count, *sums);
          !r)
        return r;
    }
    return {};
  }
  /// Behind the entries: of how many chunks they are, and of which text. Files from before that have neither.
  [[nodiscard]] std::uint32_t chunks() noexcept {
    const auto count = number(0);
    return count ? *count : 0;
  }
  [[nodiscard]] std::string_view dataset() noexcept {
    const auto length = number(1);
    if (!length) return {};
    const auto name = bytes(*length);
    return name ? std::string_view(reinterpret_cast<const char*>(name->data()), name->size()) : std::string_view();
  }

 private:
  [[nodiscard]] Result<Span<const std::byte>> bytes(std::uint64_t count) noexcept {
    if (count > rest_.size())
      return std::unexpected(
          Error::of(Errc::truncated_file, "an entry wants ", count, " bytes, and ", rest_.size(), " are left")
              .at_offset(size_ - rest_.size()));
    const Span<const std::byte> read = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(read.size());
    return read;
  }
  /// A signed number that is at least `least`, which is 0 or more.
  [[nodiscard]] Result<std::uint32_t> number(std::uint32_t least) noexcept {
    const std::uint64_t at = size_ - rest_.size();
    const auto read = bytes(4);
    if (!read) return pass(read);
    const auto value = read_little<std::uint32_t>(read->data());
    if (value < least || value > 0x7fffffffu)
      return std::unexpected(Error::of(Errc::invalid_file, "neither GGUF nor an importance matrix of entries: ",
                                       std::bit_cast<std::int32_t>(value), " stands where a number from ", least,
                                       " on was expected")
                                 .at_offset(at));
    return value;
  }

  Span<const std::byte> rest_;
  std::uint64_t size_;
};

}  // namespace detail

/// Whether a file is GGUF, by its first bytes.
[[nodiscard]] inline bool is_gguf(Span<const std::byte> file) noexcept {
  return file.size() >= 4 && read_little<std::uint32_t>(file.data()) == 0x46554747u;
}

/// Writes as GGUF what `dat` says, so that model::Importance reads it: of an entry a row of sums and one count.
///
/// Errors: Errc::truncated_file and Errc::invalid_file with the offset, and those of GgufWriter.
[[nodiscard]] inline Result<void> write_importance_of_dat(Span<const std::byte> dat, ByteSink sink,
                                                          const Allocator& allocator) noexcept {
  GgufWriter writer(sink, allocator);
  const GgmlType& f32 = *find_ggml_type(DType::f32);
  detail::ImportanceDat walk(dat);
  const auto listed = walk.each([&](std::string_view name, std::uint32_t, Span<const std::byte> sums) noexcept {
    const std::uint64_t columns[] = {sums.size() / 4};
    const std::uint64_t one[] = {1};
    const Name of_sums = Name::of(name, ".in_sum2");
    if (!of_sums.fits())
      return Result<void>(fail(Errc::invalid_file, "the name '", detail::Quoted(name).view(), "' has ", name.size(),
                               " bytes, expected that of a tensor"));
    if (auto r = writer.add_tensor(of_sums.view(), f32, columns); !r) return r;
    return writer.add_tensor(Name::of(name, ".counts").view(), f32, one);
  });
  if (!listed) return listed;
  if (auto r = writer.add("general.type", std::string_view("imatrix")); !r) return r;
  if (auto r = writer.add("imatrix.chunk_count", walk.chunks()); !r) return r;
  if (auto r = writer.add("imatrix.chunk_size", std::uint32_t{0}); !r) return r;
  const std::string_view dataset = walk.dataset();
  if (auto r = writer.add_texts("imatrix.datasets", 1, [&](std::uint64_t) noexcept { return Name(dataset); }); !r)
    return r;
  if (auto r = writer.begin(); !r) return r;
  const auto written = detail::ImportanceDat(dat).each(
      [&](std::string_view, std::uint32_t count, Span<const std::byte> sums) noexcept -> Result<void> {
        if (auto r = writer.write(sums); !r) return r;
        // llama.cpp divides by no count of 0.
        std::byte bytes[4];
        write_little(bytes, std::bit_cast<std::uint32_t>(static_cast<float>(count == 0 ? 1 : count)));
        return writer.write({bytes, sizeof bytes});
      });
  return written ? writer.finish() : written;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
