// SPDX-License-Identifier: Apache-2.0
// zrt/model/random_model.hpp: writes a model of any family with random weights, from its metadata and a seed.
#pragma once

#include <zrt/core/hash.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/core/philox.hpp>
#include <zrt/model/gguf/file.hpp>
#include <zrt/model/gguf/writer.hpp>
#include <zrt/model/mixture.hpp>
#include <zrt/model/shared_rows.hpp>
#include <zrt/model/tensor_list.hpp>

#include <bit>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Where a tensor's values lie and how far they spread.
struct RandomSpread {
  float middle = 0.0f;
  float step = 0.0f;  ///< 147.8 steps are the standard deviation

  /// Matrices spread so that a product with a normed row has values near 1.5, norms lie around 1, biases around 0; the
  /// decay of a state space lies around -1, factors of positions around 2.
  [[nodiscard]] static constexpr RandomSpread of(std::string_view name, std::uint32_t rank,
                                                 std::uint64_t columns) noexcept {
    constexpr float kDeviation = 147.8f;  // of four bytes together
    const bool vector = rank == 1;
    const bool decay = name.ends_with("ssm_a");
    RandomSpread spread;
    spread.step = 0.2f / kDeviation;
    if (!vector && !decay) spread.step = 1.5f / kDeviation / __builtin_sqrtf(static_cast<float>(columns));
    if (decay)
      spread.middle = -1.0f;
    else if (name.find("rope_") != name.npos)
      spread.middle = 2.0f;
    else if (vector && !name.ends_with(".bias"))
      spread.middle = 1.0f;
    return spread;
  }
};

/// The values of one tensor.
///
/// Value i is middle + step · (the sum of the four bytes of w - 510), rounded to f32, where w is word i mod 4 of
/// philox4x32 under the key (seed mod 2^32, seed / 2^32) for the counter (i / 4 mod 2^32, i / 2^34, h mod 2^32,
/// h / 2^32), and h is hash_bytes of the tensor's name. The product and the sum are exact in f64, so every machine and
/// every order gives the same bits.
class RandomTensor {
 public:
  constexpr RandomTensor(std::uint64_t seed, std::string_view name, const RandomSpread& spread) noexcept
      : spread_(spread), hash_(hash_bytes(name)), key_{low(seed), high(seed)} {}

  /// Writes values `first` to `first` + `count` - 1.
  constexpr void fill(std::uint64_t first, std::uint64_t count, float* to) const noexcept {
    std::array<std::uint32_t, 4> words{};
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t i = first + k;
      if (k == 0 || i % 4 == 0) words = philox4x32({low(i / 4), high(i / 4), low(hash_), high(hash_)}, key_);
      const std::uint32_t w = words[i % 4];
      const auto sum = static_cast<std::int32_t>((w & 0xffu) + (w >> 8 & 0xffu) + (w >> 16 & 0xffu) + (w >> 24)) - 510;
      to[k] = static_cast<float>(static_cast<double>(spread_.middle) +
                                 static_cast<double>(spread_.step) * static_cast<double>(sum));
    }
  }

 private:
  [[nodiscard]] static constexpr std::uint32_t low(std::uint64_t x) noexcept { return static_cast<std::uint32_t>(x); }
  [[nodiscard]] static constexpr std::uint32_t high(std::uint64_t x) noexcept {
    return static_cast<std::uint32_t>(x >> 32);
  }

  RandomSpread spread_;
  std::uint64_t hash_;
  std::array<std::uint32_t, 2> key_;
};

/// A tensor that has been written.
struct RandomTensorDone {
  std::string_view name;
  DType type;
  std::uint64_t bytes = 0;
};

struct RandomModelOptions {
  Allocator allocator = system_allocator();
  ThreadHook threads{};  ///< rows are shared out among its workers; the bytes do not depend on their number
  std::uint64_t seed = 0;
  bool pure = false;                                                               ///< as in QuantizeOptions
  void* context = nullptr;                                                         ///< of `done`
  void (*done)(void* context, const RandomTensorDone& tensor) noexcept = nullptr;  ///< after each tensor
};

namespace detail {

/// Rows of a tensor on their way into the file.
struct RandomRows {
  const RandomTensor* values = nullptr;
  quant::Encode encode = nullptr;
  const float* weight = nullptr;  ///< ones
  float* buffers = nullptr;       ///< a row for each worker
  std::byte* to = nullptr;
  std::uint64_t elems = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t first = 0;
  SharedRows rows{};

  void run(std::uint32_t worker) noexcept {
    float* x = buffers + worker * elems;
    rows.each([&](std::uint32_t row) noexcept {
      values->fill((first + row) * elems, elems, x);
      encode(x, weight, elems, to + row * row_bytes);
    });
  }
};

}  // namespace detail

/// Writes a model whose weights are random. Memory: the index, and some megabytes for rows.
class RandomModel {
 public:
  /// `metadata` has what the file will say, `tensors` what list_tensors gave for it; both outlive the model.
  RandomModel(const GgufFile& metadata, Span<const ListedTensor> tensors, const FileType& type,
              const RandomModelOptions& options) noexcept
      : metadata_(metadata),
        tensors_(tensors),
        type_(type),
        options_(options),
        weight_(options.allocator),
        buffers_(options.allocator),
        out_(options.allocator) {}

  /// Writes the whole file: the metadata's keys and general.file_type, then each tensor.
  ///
  /// Errors: those of GgufWriter; Errc::missing_metadata without an architecture or a block_count.
  [[nodiscard]] Result<void> write(ByteSink sink) noexcept {
    const auto types = choose();
    if (!types) return pass(types);
    GgufWriter writer(sink, options_.allocator);
    constexpr std::string_view kFileType = "general.file_type";
    for (const GgufEntry& entry : metadata_.entries())
      if (entry.key != kFileType)
        if (auto r = writer.add(entry); !r) return r;
    if (type_.number != kNoFileType)
      if (auto r = writer.add(kFileType, type_.number); !r) return r;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (auto r = writer.add_tensor(tensors_[i].name.view(), *find_ggml_type((*types)[i]), tensors_[i].extents()); !r)
        return r;
    if (auto r = writer.begin(); !r) return r;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (auto r = fill(tensors_[i], (*types)[i], writer); !r) return r;
    return writer.finish();
  }

 private:
  /// The type of each tensor.
  [[nodiscard]] Result<Vector<DType>> choose() const noexcept {
    const auto model = MixedModel::of(metadata_);
    if (!model) return pass(model);
    Vector<GgufTensor> as_f32(options_.allocator);
    for (const ListedTensor& listed : tensors_) {
      GgufTensor tensor;
      tensor.name = listed.name.view();
      tensor.type = *find_ggml_type(DType::f32);
      tensor.rank = listed.rank;
      tensor.dims = listed.dims;
      tensor.elems = listed.elems;
      if (auto r = as_f32.push_back(tensor); !r) return pass(r);
    }
    return choose_types(type_, *model, {.pure = options_.pure}, as_f32.span(), options_.allocator);
  }

  [[nodiscard]] Result<void> fill(const ListedTensor& tensor, DType type, GgufWriter& writer) noexcept {
    const RandomTensor values(options_.seed, tensor.name.view(),
                              RandomSpread::of(tensor.name.view(), tensor.rank, tensor.dims[0]));
    detail::RandomRows job;
    job.values = &values;
    job.encode = quant::find_encoder(type);
    job.elems = tensor.dims[0];
    job.row_bytes = job.elems / info(type).block_elems * info(type).block_bytes;
    const std::uint64_t rows = job.elems == 0 ? 0 : tensor.elems / job.elems;
    const std::uint64_t chunk = detail::rows_at_once(rows, job.row_bytes);
    if (auto r = make_room(job, chunk); !r) return r;
    for (; job.first < rows; job.first += chunk) {
      job.rows.begin(chunk < rows - job.first ? chunk : rows - job.first);
      run_on_workers(options_.threads, job);
      if (auto r = writer.write(out_.span().first(static_cast<std::size_t>(job.rows.count() * job.row_bytes))); !r)
        return r;
    }
    if (options_.done != nullptr) options_.done(options_.context, {tensor.name.view(), type, rows * job.row_bytes});
    return {};
  }

  [[nodiscard]] Result<void> make_room(detail::RandomRows& job, std::uint64_t rows) noexcept {
    const auto out = detail::room_of_rows(CheckedSize(rows) * CheckedSize(job.row_bytes));
    const auto buffers = detail::room_of_rows(CheckedSize(job.elems) * CheckedSize(workers_of(options_.threads)));
    if (!out) return pass(out);
    if (!buffers) return pass(buffers);
    if (auto r = out_.resize(*out); !r) return r;
    if (auto r = buffers_.resize(*buffers); !r) return r;
    if (auto r = weight_.resize(static_cast<std::size_t>(job.elems)); !r) return r;
    for (float& w : weight_) w = 1.0f;
    job.to = out_.data();
    job.buffers = buffers_.data();
    job.weight = weight_.data();
    return {};
  }

  const GgufFile& metadata_;
  Span<const ListedTensor> tensors_;
  const FileType& type_;
  RandomModelOptions options_;
  Vector<float> weight_;
  Vector<float> buffers_;
  Vector<std::byte> out_;
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
