// SPDX-License-Identifier: Apache-2.0
// zrt/model/quantize.hpp: writes a model anew with matrices of another weight type.
#pragma once

#include <zrt/core/hooks.hpp>
#include <zrt/core/name.hpp>
#include <zrt/model/gguf/file.hpp>
#include <zrt/model/gguf/writer.hpp>
#include <zrt/model/importance.hpp>
#include <zrt/model/mixture.hpp>
#include <zrt/model/shared_rows.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// A tensor that has been written.
struct QuantizedTensor {
  std::string_view name;
  DType from;
  DType to;
  std::uint64_t bytes = 0;
  double error = 0;       ///< sqrt(sum (x - value)² / sum x²); 0 for a tensor that is copied
  bool weighted = false;  ///< the importance matrix says how much its columns matter
};

struct QuantizeOptions {
  Allocator allocator = system_allocator();
  ThreadHook threads{};                  ///< rows are shared out among its workers
  bool pure = false;                     ///< every matrix gets the file's type, the head too
  bool from_blocks = false;              ///< take matrices of block types too, whose own rounding is then added
  const GgufFile* importance = nullptr;  ///< an importance matrix, or null: errors of all columns count alike
  void* context = nullptr;               ///< of `done`
  void (*done)(void* context, const QuantizedTensor& tensor) noexcept = nullptr;  ///< after each tensor
};

namespace detail {

/// Rows of a matrix on their way from one type to another.
struct RowsJob {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  float* buffers = nullptr;  ///< 2 rows for each worker
  const float* weight = nullptr;
  const quant::RowFunctions* source = nullptr;
  const quant::RowFunctions* target = nullptr;
  quant::Encode encode = nullptr;
  double* squares = nullptr;  ///< 2 for each row: of the error and of the values
  std::uint64_t elems = 0;
  std::uint64_t from_row = 0;
  std::uint64_t to_row = 0;
  std::uint64_t first = 0;           ///< the tensor's row at `from`
  std::uint64_t rows_of_matrix = 0;  ///< with weights of their own; 0 where all matrices have the same
  SharedRows rows{};

  /// Blocks keep their scale in 16 or 8 bits. A row that loses more than it would as a smaller copy of itself is beyond
  /// them, which rows of values below this are in no type.
  static constexpr float kLarge = 1000.0f;

  void run(std::uint32_t worker) noexcept {
    float* x = buffers + 2 * worker * elems;
    float* value = x + elems;
    rows.each([&](std::uint32_t row) noexcept {
      std::byte* out = to + row * to_row;
      const float* w = rows_of_matrix == 0 ? weight : weight + (first + row) / rows_of_matrix * elems;
      source->dequantise(from + row * from_row, elems, x);
      float largest = 0;
      for (std::uint64_t i = 0; i < elems; ++i) largest = __builtin_fmaxf(largest, __builtin_fabsf(x[i]));
      double least = __builtin_huge_val();
      if (largest > kLarge && largest < __builtin_huge_valf()) {
        int exponent = 0;
        (void)__builtin_frexpf(largest, &exponent);
        const float down = __builtin_ldexpf(1.0f, -exponent);
        for (std::uint64_t i = 0; i < elems; ++i) x[i] *= down;
        const Squares copy = encode_row(x, w, out, value);
        least = copy.error + 1e-3 * copy.energy;
        least /= static_cast<double>(down) * static_cast<double>(down);
        source->dequantise(from + row * from_row, elems, x);
      }
      const Squares done = encode_row(x, w, out, value);
      squares[2 * row] = done.error > 1.1 * least ? __builtin_huge_val() : done.error;
      squares[2 * row + 1] = done.energy;
    });
  }

 private:
  struct Squares {
    double error = 0;
    double energy = 0;
  };

  [[nodiscard]] Squares encode_row(const float* x, const float* w, std::byte* out, float* value) const noexcept {
    encode(x, w, elems, out);
    target->dequantise(out, elems, value);
    Squares sum;
    for (std::uint64_t i = 0; i < elems; ++i) {
      const double exact = static_cast<double>(x[i]);
      const double off = exact - static_cast<double>(value[i]);
      sum.error += off * off;
      sum.energy += exact * exact;
    }
    return sum;
  }
};

}  // namespace detail

/// Writes models of one file type. Memory: the index, and some megabytes for each tensor's rows.
class Quantizer {
 public:
  Quantizer(const GgufFile& file, const FileType& type, const QuantizeOptions& options) noexcept
      : file_(file),
        type_(type),
        options_(options),
        types_(options.allocator),
        weight_(options.allocator),
        buffers_(options.allocator),
        squares_(options.allocator),
        out_(options.allocator) {}

  /// Writes the whole model: metadata as it is but for general.file_type, then each tensor in the file's order.
  ///
  /// Errors: those of GgufWriter and Importance; Errc::invalid_argument for a file that was opened by a reader, and for
  /// an importance matrix that names none of the matrices to quantise; Errc::unsupported_weight_type for a matrix of
  /// a block type without from_blocks; Errc::invalid_file for a part of a model in several files, and for a matrix
  /// that changes its type and holds a NaN, an infinity or a value that the new type cannot hold, named with its row.
  [[nodiscard]] Result<void> write(ByteSink sink) noexcept {
    if (!file_.has_data()) return fail(Errc::invalid_argument, "a model is quantised where it lies in memory");
    GgufWriter writer(sink, options_.allocator, file_.alignment());
    if (auto r = announce(writer); !r) return r;
    if (auto r = writer.begin(); !r) return r;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const GgufTensor& tensor = file_.tensors()[i];
      QuantizedTensor done{tensor.name, tensor.type.dtype, types_[i]};
      const auto type = find_ggml_type(done.to);
      done.bytes = tensor.elems / type->block_elems() * type->block_bytes();
      auto r = done.from == done.to ? writer.write(file_.data(tensor)) : convert(tensor, done, writer);
      if (!r) return r;
      if (options_.done != nullptr) options_.done(options_.context, done);
    }
    return writer.finish();
  }

 private:
  [[nodiscard]] Result<void> announce(GgufWriter& writer) noexcept {
    constexpr std::string_view kFileType = "general.file_type";
    const auto model = MixedModel::of(file_);
    if (!model) return pass(model);
    auto types = choose_types(type_, *model, {options_.importance != nullptr, options_.pure}, file_.tensors(),
                              options_.allocator);
    if (!types) return pass(types);
    types_ = std::move(*types);
    auto parts = file_.get_or<std::uint16_t>("split.count", 1);
    if (!parts) return pass(parts);
    if (*parts > 1)
      return fail(Errc::invalid_file, "split.count is ", *parts,
                  ", expected a model in one file: join its parts first");
    for (const GgufEntry& entry : file_.entries())
      if (entry.key != kFileType)
        if (auto r = writer.add(entry); !r) return r;
    if (type_.number != kNoFileType)
      if (auto r = writer.add(kFileType, type_.number); !r) return r;
    std::uint32_t weighted = 0;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const GgufTensor& tensor = file_.tensors()[i];
      const DType to = types_[i];
      if (to != tensor.type.dtype) {
        if (auto r = expect_source(tensor); !r) return r;
        if (is_weighted(tensor)) ++weighted;
      }
      if (auto r = writer.add_tensor(tensor.name, *find_ggml_type(to), Span(tensor.dims).first(tensor.rank)); !r)
        return r;
    }
    if (options_.importance != nullptr && weighted == 0)
      return fail(Errc::invalid_argument, "the importance matrix names none of the model's matrices, expected '",
                  "NAME.in_sum2' and 'NAME.counts' for some");
    return {};
  }

  [[nodiscard]] bool is_weighted(const GgufTensor& tensor) const noexcept {
    return options_.importance != nullptr && Importance(*options_.importance).has(tensor.name);
  }

  [[nodiscard]] Result<void> expect_source(const GgufTensor& tensor) const noexcept {
    const DType from = tensor.type.dtype;
    if (quant::find(from) == nullptr)
      return fail(Errc::unsupported_weight_type, "tensor '", detail::Quoted(tensor.name).view(), "' is ",
                  tensor.type.name(), ", expected a weight type");
    if (info(from).block_elems == 1 || options_.from_blocks) return {};
    return fail(Errc::unsupported_weight_type, "tensor '", detail::Quoted(tensor.name).view(), "' is ", name(from),
                ", expected f32, f16 or bf16: rounding what is rounded already loses more");
  }

  [[nodiscard]] Result<void> convert(const GgufTensor& tensor, QuantizedTensor& done, GgufWriter& writer) noexcept {
    detail::RowsJob job;
    job.elems = tensor.dims[0];
    job.source = quant::find(done.from);
    job.target = quant::find(done.to);
    job.encode = quant::find_encoder(done.to);
    job.from_row = job.elems / info(done.from).block_elems * info(done.from).block_bytes;
    job.to_row = job.elems / info(done.to).block_elems * info(done.to).block_bytes;
    const std::uint64_t rows = job.elems == 0 ? 0 : tensor.elems / job.elems;
    if (auto r = weigh(tensor, job); !r) return r;
    done.weighted = is_weighted(tensor);
    const std::uint64_t chunk = detail::rows_at_once(rows, job.to_row);
    if (auto r = make_room(job, chunk); !r) return r;
    const Span<const std::byte> data = file_.data(tensor);
    double error = 0;
    double energy = 0;
    for (std::uint64_t at = 0; at < rows; at += chunk) {
      job.rows.begin(chunk < rows - at ? chunk : rows - at);
      job.from = data.data() + at * job.from_row;
      job.first = at;
      run_on_workers(options_.threads, job);
      for (std::uint32_t row = 0; row < job.rows.count(); ++row) {
        // Anything that is not finite makes the sum so.
        if (!(squares_[2 * row + 1] < __builtin_huge_val()))
          return fail(Errc::invalid_file, "tensor '", detail::Quoted(tensor.name).view(), "': row ", at + row,
                      " holds a value that is not finite");
        if (!(squares_[2 * row] < __builtin_huge_val()))
          return fail(Errc::invalid_file, "tensor '", detail::Quoted(tensor.name).view(), "': row ", at + row,
                      " holds a value that ", name(done.to), " cannot hold");
        error += squares_[2 * row];
        energy += squares_[2 * row + 1];
      }
      if (auto r = writer.write(out_.span().first(static_cast<std::size_t>(job.rows.count() * job.to_row))); !r)
        return r;
    }
    done.error = energy > 0 ? __builtin_sqrt(error / energy) : 0;
    return {};
  }

  /// The weights of the tensor's columns.
  [[nodiscard]] Result<void> weigh(const GgufTensor& tensor, detail::RowsJob& job) noexcept {
    const bool own = is_weighted(tensor);
    const std::uint64_t matrices = own ? tensor.dims[2] * tensor.dims[3] : 1;
    const auto count = detail::room_of_rows(CheckedSize(job.elems) * CheckedSize(matrices));
    if (!count) return pass(count);
    if (auto r = weight_.resize(*count); !r) return r;
    job.weight = weight_.data();
    if (own) {
      job.rows_of_matrix = tensor.dims[1];
      return Importance(*options_.importance).read(tensor.name, job.elems, matrices, weight_.span());
    }
    for (float& w : weight_) w = 1.0f;
    return {};
  }

  [[nodiscard]] Result<void> make_room(detail::RowsJob& job, std::uint64_t rows) noexcept {
    const auto out = detail::room_of_rows(CheckedSize(rows) * CheckedSize(job.to_row));
    const auto buffers =
        detail::room_of_rows(CheckedSize(job.elems) * CheckedSize(2) * CheckedSize(workers_of(options_.threads)));
    if (!out) return pass(out);
    if (!buffers) return pass(buffers);
    if (auto r = out_.resize(*out); !r) return r;
    if (auto r = buffers_.resize(*buffers); !r) return r;
    if (auto r = squares_.resize(static_cast<std::size_t>(2 * rows)); !r) return r;
    job.to = out_.data();
    job.buffers = buffers_.data();
    job.squares = squares_.data();
    return {};
  }

  const GgufFile& file_;
  const FileType& type_;
  QuantizeOptions options_;
  Vector<DType> types_;  ///< by tensor
  Vector<float> weight_;
  Vector<float> buffers_;
  Vector<double> squares_;
  Vector<std::byte> out_;
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
