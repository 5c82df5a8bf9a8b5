// SPDX-License-Identifier: Apache-2.0
// zrt/engine/adapter_pool.hpp: the matrices of the adapters that an engine has loaded, in the memory that its plan reads.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/core/slice.hpp>
#include <zrt/engine/adapter_id.hpp>
#include <zrt/engine/model_identity.hpp>
#include <zrt/engine/options.hpp>
#include <zrt/ir/passes/add_adapters.hpp>
#include <zrt/model/lora_file.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::detail {

/// Room for as many adapters as EngineOptions says, in each weight that a plan adds them to. A place without an adapter
/// is zero.
class AdapterPool {
 public:
  explicit AdapterPool(const Allocator& a) noexcept : allocator_(a), sites_(a), rows_(a) {}

  /// Makes room for the weights of `plan` that adapters change. Without any, it takes no memory.
  [[nodiscard]] Result<void> open(const plan::ExecutionPlan& plan, const EngineOptions& options) noexcept {
    if (options.adapters == 0) return {};
    for (std::size_t i = 0; i < plan.instructions.size(); ++i)
      if (plan.instruction(i).opcode == ops::LoraAdd::opcode)
        if (auto r = add_site(plan, plan.instruction(i)); !r) return r;
    const auto bytes = (floats_ * CheckedSize(sizeof(float))).get("the matrices of adapters");
    if (!bytes) return pass(bytes);
    auto memory = Buffer::zeroed(allocator_, static_cast<std::size_t>(*bytes));
    if (!memory) return pass(memory);
    memory_ = std::move(*memory);
    rank_ = options.adapter_rank;
    return rows_.resize(options.adapters);
  }

  /// The weight of that name, if it is the pool's.
  [[nodiscard]] Result<WeightView> find(std::string_view name) const noexcept {
    for (const Site& site : sites_)
      for (const Matrices* m : {&site.down, &site.up})
        if (m->name.view() == name) return view_of(*m);
    return fail(Errc::missing_weight, "no adapter changes ", name);
  }

  /// Loads an adapter for a model, each of its products times `scale`.
  ///
  /// Errors: those of model::LoraFile::read, and others that say what is expected, found and where: see
  /// Engine::load_adapter. Nothing has changed then.
  [[nodiscard]] Result<AdapterId> load(const model::GgufFile& file, const model::GgufFile& model,
                                       float scale) noexcept {
    if (rows_.empty())
      return fail(Errc::capacity_exceeded, "the engine was opened without room for adapters (EngineOptions::adapters)");
    auto lora = model::LoraFile::read(file, allocator_);
    if (!lora) return pass(lora);
    if (!__builtin_isfinite(scale)) return fail(Errc::invalid_argument, "the adapter's scale is not a finite number");
    if (auto r = check_model(*lora, model); !r) return pass(r);
    const auto row = free_row();
    if (!row) return pass(row);
    for (const Site& site : sites_) write(site, *row, *lora, scale);
    rows_[*row] = {static_cast<AdapterId>(++last_), fingerprint(*lora, scale)};
    return rows_[*row].id;
  }

  /// Calls `visit(view)` for each weight of the pool, until it fails.
  template <class Visit> [[nodiscard]] Result<void> for_each_weight(const Visit& visit) const noexcept {
    for (const Site& site : sites_)
      for (const Matrices* m : {&site.down, &site.up})
        if (auto r = visit(view_of(*m)); !r) return r;
    return {};
  }

  /// Forgets an adapter that no request names. Errors: Errc::not_found.
  [[nodiscard]] Result<void> unload(AdapterId id) noexcept {
    const auto row = row_of(id);
    if (!row) return pass(row);
    if (*row != ops::LoraAdd::kNone) rows_[static_cast<std::size_t>(*row)] = {};
    return {};
  }

  /// The place of an adapter, as the plan's rows name it; LoraAdd::kNone for none. Errors: Errc::not_found.
  [[nodiscard]] Result<std::int32_t> row_of(AdapterId id) const noexcept {
    if (id == AdapterId{}) return ops::LoraAdd::kNone;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (rows_[row].id == id) return static_cast<std::int32_t>(row);
    return fail(Errc::not_found, "no adapter has id ", static_cast<std::uint32_t>(id));
  }
  /// What tells one adapter from another: a hash of its file and its scale; 0 for none.
  [[nodiscard]] std::uint64_t fingerprint_of(std::int32_t row) const noexcept {
    return row == ops::LoraAdd::kNone ? 0 : rows_[static_cast<std::size_t>(row)].fingerprint;
  }

 private:
  /// One weight of the plan: a matrix for each adapter.
  struct Matrices {
    Name name;
    Shape shape;
    std::uint64_t at = 0;  ///< of the first element in the memory

    [[nodiscard]] std::uint64_t elements() const noexcept { return std::uint64_t{shape[1].extent} * shape[2].extent; }
  };
  struct Site {
    Name weight;  ///< a tensor of the model, or rows of one
    Matrices down;
    Matrices up;
  };
  struct Row {
    AdapterId id{};
    std::uint64_t fingerprint = 0;
  };

  [[nodiscard]] Result<void> add_site(const plan::ExecutionPlan& plan, const plan::Instruction& insn) noexcept {
    const auto take = [&](std::size_t i) {
      const plan::PlanWeight& w = plan.weights[plan::index(insn.weights[i])];
      const Matrices m{w.name, w.shape, floats_.ok() ? floats_.raw() : 0};
      floats_ += (CheckedSize(w.shape[0].extent) * CheckedSize(w.shape[1].extent) * CheckedSize(w.shape[2].extent))
                     .aligned(16);
      return m;
    };
    const std::string_view down = plan.weights[plan::index(insn.weights[0])].name.view();
    for (const Site& site : sites_)
      if (site.down.name.view() == down) return {};
    const Name weight = slice(down, 0, down.size() - ir::down_pool({}).view().size());
    const Matrices a = take(0);
    return sites_.push_back({weight, a, take(1)});
  }

  [[nodiscard]] WeightView view_of(const Matrices& m) const noexcept {
    const Span<const float> all{reinterpret_cast<const float*>(memory_.data()) + m.at,
                                m.shape[0].extent * m.elements()};
    return {m.name.view(), DType::f32, m.shape, as_bytes(all)};
  }
  [[nodiscard]] Span<float> of(const Matrices& m, std::size_t row) noexcept {
    return {reinterpret_cast<float*>(memory_.data()) + m.at + row * m.elements(), m.elements()};
  }

  /// Demands that every pair is of a weight that adapters change, with its shape and a rank within the room.
  [[nodiscard]] Result<void> check_model(const model::LoraFile& lora, const model::GgufFile& model) const noexcept {
    const auto architecture = model.get<std::string_view>("general.architecture");
    if (!architecture) return pass(architecture);
    if (lora.architecture() != *architecture)
      return fail(Errc::invalid_argument, "the adapter is for models of ", lora.architecture(), ", expected ",
                  *architecture);
    for (const model::LoraPair& pair : lora.pairs())
      if (auto r = check_pair(pair, model); !r) return r;
    return {};
  }
  [[nodiscard]] Result<void> check_pair(const model::LoraPair& pair, const model::GgufFile& model) const noexcept {
    const model::GgufTensor* tensor = model.find_tensor(pair.weight);
    if (tensor == nullptr)
      return fail(Errc::missing_weight, "the adapter changes ", pair.weight, ", and the model has no such tensor");
    if (!changes(pair.weight))
      return fail(Errc::unimplemented, "the adapter changes ", pair.weight,
                  ", which is no plain projection of a step's rows: adapters change those alone");
    if (tensor->rank != 2 || pair.cols() != tensor->dims[0] || pair.rows() != tensor->dims[1])
      return fail(Errc::shape_mismatch, "the adapter changes ", pair.weight, " as one of ", pair.rows(), " rows and ",
                  pair.cols(), " columns, expected ", tensor->dims[1], " and ", tensor->dims[0]);
    if (pair.rank() > rank_)
      return fail(Errc::capacity_exceeded, "the adapter's rank for ", pair.weight, " is ", pair.rank(),
                  ", the engine was opened for at most ", rank_, " (EngineOptions::adapter_rank)");
    return {};
  }
  [[nodiscard]] bool changes(std::string_view tensor) const noexcept {
    for (const Site& site : sites_)
      if (model::TensorRows::of(site.weight.view()).tensor == tensor) return true;
    return false;
  }

  [[nodiscard]] Result<std::size_t> free_row() const noexcept {
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (rows_[row].id == AdapterId{}) return row;
    return fail(Errc::capacity_exceeded, rows_.size(), " adapters are loaded, the engine was opened for as many",
                " (EngineOptions::adapters)");
  }

  /// Writes what an adapter has for a weight, and zeros around it.
  void write(const Site& site, std::size_t row, const model::LoraFile& lora, float scale) noexcept {
    const Span<float> down = of(site.down, row), up = of(site.up, row);
    for (float& x : down) x = 0.0f;
    for (float& x : up) x = 0.0f;
    const model::TensorRows rows = model::TensorRows::of(site.weight.view());
    const model::LoraPair* pair = lora.find(rows.tensor);
    if (pair == nullptr) return;
    unpack(lora.file(), *pair->down, 0, down, site.down.shape[2].extent);
    unpack(lora.file(), *pair->up, rows.first, up, site.up.shape[2].extent);
    const float factor = lora.scale_of(*pair) * scale;
    for (float& x : up) x *= factor;
  }
  /// Rows of a tensor from row `first` on as f32, `stride` apart, as many as there are or as `to` has room for.
  static void unpack(const model::GgufFile& file, const model::GgufTensor& tensor, std::uint64_t first, Span<float> to,
                     std::uint64_t stride) noexcept {
    const std::uint64_t cols = tensor.dims[0], row_bytes = tensor.bytes / tensor.dims[1];
    const quant::RowFunctions* type = quant::find(tensor.type.dtype);
    const std::byte* data = file.data(tensor).data();
    for (std::uint64_t n = 0; n < to.size() / stride && first + n < tensor.dims[1]; ++n)
      type->dequantise(data + (first + n) * row_bytes, static_cast<std::uint32_t>(cols), to.data() + n * stride);
  }

  [[nodiscard]] static std::uint64_t fingerprint(const model::LoraFile& lora, float scale) noexcept {
    Fingerprint hash;
    hash.add(std::uint64_t{std::bit_cast<std::uint32_t>(scale)});
    for (const model::LoraPair& pair : lora.pairs()) {
      hash.add(pair.weight);
      hash.add(std::uint64_t{std::bit_cast<std::uint32_t>(lora.scale_of(pair))});
      for (const model::GgufTensor* tensor : {pair.down, pair.up}) {
        const Span<const std::byte> bytes = lora.file().data(*tensor);
        hash.add(static_cast<std::uint64_t>(tensor->type.dtype));
        hash.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      }
    }
    return hash.value();
  }

  Allocator allocator_;
  Vector<Site> sites_;
  Vector<Row> rows_;  ///< by place
  CheckedSize floats_ = 0;
  Buffer memory_;
  std::uint32_t rank_ = 0;
  std::uint32_t last_ = 0;  ///< id
};

}  // namespace zrt::inline ZRT_ABI::detail

ZRT_LOAD_TIME_END
