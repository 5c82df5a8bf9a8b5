// SPDX-License-Identifier: Apache-2.0
// zrt/engine/open_model.hpp: a model file, read, compiled and bound to a backend with its workers.
#pragma once

#include <zrt/core/checksum.hpp>
#include <zrt/core/owned.hpp>
#include <zrt/core/string.hpp>
#include <zrt/engine/adapter_pool.hpp>
#include <zrt/engine/held_memory.hpp>
#include <zrt/engine/model_identity.hpp>
#include <zrt/engine/model_loader.hpp>
#include <zrt/engine/tensor_copies.hpp>
#include <zrt/exec/executor.hpp>
#include <zrt/exec/thread_pool.hpp>

#include <optional>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::detail {

/// The part of an engine that never changes after loading. Its address must not change either.
template <class B, class Families, class Catalog, class O> class OpenModel {
 public:
  OpenModel(model::GgufFile file, const EngineOptions& options, const DeviceOptionsOf<B>& device_options,
            O observer) noexcept
      : options_(options),
        device_options_(device_options),
        observer_(observer),
        loaded_(std::move(file), options.allocator),
        copies_(options.allocator),
        adapters_(options.allocator),
        packed_file_(options.allocator),
        suppressed_(options.allocator) {}

  /// Reads, compiles and binds the model, and starts the default workers.
  [[nodiscard]] Result<void> load() noexcept {
    if (auto r = packed_file_.append(options_.packed_file); !r) return r;
    options_.packed_file = packed_file_;
    if (auto r = read_suppressed(); !r) return r;
    if (auto r = ModelLoader<B, Families>::load(loaded_, options_); !r) return r;
    for (const std::int32_t token : suppressed_)
      if (token < 0 || static_cast<std::uint32_t>(token) >= config().vocabulary)
        return fail(Errc::invalid_metadata, kSuppressed, " names token ", token, ", expected 0..",
                    config().vocabulary - 1);
    if (auto r = prepare(); !r) return r;
    return bind();
  }

  /// Gives back the device with weights, states and arenas. What tells about the model stays, as do adapters, and the
  /// copies that a host's reader gave: the reader may be gone.
  void release() noexcept {
    executor_.reset();
    device_ = typename B::Device{};
    file().release_pages();
  }
  /// Binds the model again.
  [[nodiscard]] Result<void> bind() noexcept {
    device_ = make_device<B>(options_.allocator, threads_, device_options_);
    if constexpr (requires { device_.ready(); })
      if (auto r = device_.ready(); !r) return r;
    bool keeps = !options_.packed_file.empty();
    if (keeps)
      if (auto r = take_packed(); !r) {
        // What ran before runs again, whatever happened to the file.
        if (!was_bound_) return r;
        options_.log(LogLevel::warn, r.error().text());
        keeps = false;
      }
    auto executor = exec::Executor<B, O>::make(plan::ModelPlans::of(plan()),
                                               exec::OpAdapters<B>::template with_rows<Catalog>(*loaded_.ops),
                                               plan_weights(), sizes_, device_, observer_);
    if (!executor) return pass(executor);
    executor_.emplace(std::move(*executor));
    was_bound_ = true;
    if constexpr (requires { device_.keep_packed(options_.packed_file); })
      if (keeps)
        if (auto r = device_.keep_packed(options_.packed_file); !r) options_.log(LogLevel::warn, r.error().text());
    if constexpr (requires { B::Device::kCopiesWeights; }) file().release_pages();
    return {};
  }
  [[nodiscard]] bool is_bound() const noexcept { return executor_.has_value(); }

  /// Memory of the bound model; nothing where it is not bound, but for copies that a reader gave.
  [[nodiscard]] HeldMemory memory() noexcept {
    HeldMemory use;
    use.weights = copies_.bytes();
    if (!executor_) return use;
    bool uploads = false;
    executor_->for_each_memory([&](std::string_view what, const auto& memory) {
      if (what == "weights") {
        uploads = true;
        use.weights += memory_bytes(memory);
      } else {
        use.work += memory_bytes(memory);
      }
    });
    use.caches = executor_->states().bytes();
    use.work -= use.caches < use.work ? use.caches : use.work;
    if (!uploads && use.weights == 0) use.weights = file_bytes_;
    if constexpr (requires { device_.packed(); })
      if (const auto store = device_.packed()) use.weights += (*store)->bytes();
    return use;
  }

  /// Returns the identity that the state of a sequence with the adapter at a place belongs to. Reads pieces of every
  /// tensor.
  [[nodiscard]] Result<ModelIdentity> identity(std::int32_t adapter = ops::LoraAdd::kNone) const noexcept {
    auto fingerprint =
        model_fingerprint(config(), loaded_.facts.values, loaded_.vocabulary.tokens.span(), plan().plan, weights());
    if (!fingerprint) return pass(fingerprint);
    return ModelIdentity{config().kv_dtype, options_.numerics.act, *fingerprint ^ adapters_.fingerprint_of(adapter)};
  }

  /// Logs what was opened, and the plan's warnings.
  void log_opened() const noexcept {
    // An Error holds its text inline, so it builds a short message without memory.
    Error message = Error::of(Errc::ok, "opened on ", B::name);
    if constexpr (requires { name(device_.isa()); }) message.append(" (").append(name(device_.isa())).append(")");
    message.append(": ").append(plan().plan.instructions.size()).append(" instructions, ");
    message.append(options_.slots).append(" slots of ").append(context_).append(" positions, ");
    message.append(executor_->states().bytes()).append(" bytes of state");
    options_.log(LogLevel::info, message.text());
    if (context_ > config().context)
      options_.log(LogLevel::warn,
                   Error::of(Errc::ok, "the context has ", context_, " positions, but the model was trained for ",
                             config().context, ": text beyond them may make no sense")
                       .text());
    for (const plan::PlanDiagnostic& d : plan().diagnostics) {
      if (d.level != Severity::warning) continue;
      const Finding warning = plan::finding(d, plan().plan, *loaded_.ops);
      options_.log(LogLevel::warn, warning.error.text());
    }
  }

  [[nodiscard]] const EngineOptions& options() const noexcept { return options_; }
  [[nodiscard]] const model::GgufFile& file() const noexcept { return loaded_.file; }
  [[nodiscard]] const model::Config& config() const noexcept { return loaded_.facts.config; }
  /// Null when the file has no vocabulary.
  [[nodiscard]] const text::Tokenizer* tokenizer() const noexcept {
    return loaded_.tokenizer ? &*loaded_.tokenizer : nullptr;
  }
  /// Bytes of the longest token.
  [[nodiscard]] std::size_t longest_token() const noexcept { return loaded_.vocabulary.longest; }
  /// Tokens that no request is answered with, whatever its biases.
  [[nodiscard]] Span<const std::int32_t> suppressed() const noexcept { return suppressed_.span(); }
  [[nodiscard]] const plan::CompiledPlan& plan() const noexcept { return loaded_.compiled; }
  /// Rows of all ops that the plan can hold.
  [[nodiscard]] const OpTable& op_rows() const noexcept { return *loaded_.ops; }
  [[nodiscard]] exec::Executor<B, O>& executor() noexcept {
    ZRT_ASSERT(executor_);
    return *executor_;
  }
  [[nodiscard]] const exec::Executor<B, O>& executor() const noexcept {
    ZRT_ASSERT(executor_);
    return *executor_;
  }
  /// How large the executor is made.
  [[nodiscard]] const exec::ExecutorSizes& sizes() const noexcept { return sizes_; }
  [[nodiscard]] ThreadHook workers() const noexcept { return threads_; }
  [[nodiscard]] const O& observer() const noexcept { return observer_; }
  [[nodiscard]] typename B::Device& device() noexcept { return device_; }
  /// Loads an adapter for the model, onto its device too.
  ///
  /// Errors: those of AdapterPool::load and of the device. No adapter is loaded then.
  [[nodiscard]] Result<AdapterId> load_adapter(const model::GgufFile& from, float scale) noexcept {
    const auto id = adapters_.load(from, file(), scale);
    if constexpr (RewritesWeights<B>) {
      if (!id || !is_bound()) return id;
      const auto written =
          adapters_.for_each_weight([this](const WeightView& weight) noexcept { return device_.rewrite(weight); });
      if (!written) {
        (void)adapters_.unload(*id);
        return pass(written);
      }
    }
    return id;
  }
  [[nodiscard]] AdapterPool& adapters() noexcept { return adapters_; }
  /// Positions per slot.
  [[nodiscard]] std::uint32_t context() const noexcept { return context_; }

 private:
  static constexpr std::string_view kSuppressed = "tokenizer.ggml.suppress_tokens";

  /// Names the model for its file of packed weights, and opens that.
  [[nodiscard]] Result<void> take_packed() noexcept {
    if constexpr (requires { device_.keep_packed(options_.packed_file); }) {
      if (!file().has_data())
        return fail(Errc::invalid_argument, "packed_file is given, but the model comes through a reader");
      // Of a file its size and time, as builds know files by; what a host holds in memory is read.
      const Span<const std::byte> bytes = file().memory();
      Fingerprint id;
      id.add(bytes.size());
      id.add(file().modified() != 0 ? file().modified() : checksum(bytes));
      return device_.take_packed(options_.packed_file, {bytes, id.value()});
    } else {
      return fail(Errc::invalid_argument, "packed_file is given, but ", B::name, " packs no weights");
    }
  }

  /// Reads the tokens that the model never says, and makes room for their biases beside a request's own.
  [[nodiscard]] Result<void> read_suppressed() noexcept {
    if (file().find(kSuppressed) == nullptr) return {};
    auto tokens = file().template list<std::int32_t>(kSuppressed);
    if (!tokens) return pass(tokens);
    constexpr std::size_t kMost = 4096;
    if (tokens->size() > kMost)
      return fail(Errc::limit_exceeded, kSuppressed, " has ", tokens->size(), " tokens, at most ", kMost, " expected");
    suppressed_ = std::move(*tokens);
    options_.bias_entries += static_cast<std::uint32_t>(suppressed_.size());
    return {};
  }

  /// What outlives a release: workers, sizes, copies and adapters.
  [[nodiscard]] Result<void> prepare() noexcept {
    ThreadHook& threads = threads_;
    threads = options_.thread_hook;
    if (threads.run == nullptr && options_.threads > 1) {
      auto pool = Owned<exec::ThreadPool>::make(options_.allocator, options_.allocator);
      if (!pool) return pass(pool);
      pool_ = std::move(*pool);
      if (auto r = pool_->start(options_.threads); !r) return r;
      threads = pool_->hook();
    }
    warn_of_workers(options_.thread_hook.run != nullptr ? threads.workers : options_.threads, threads.workers);
    context_ = config().positions;
    const std::uint32_t pages_per_slot = pages_for(context_);
    const auto pages =
        narrow<std::uint32_t>((CheckedSize(pages_per_slot) * CheckedSize(options_.slots)).raw(), "the number of pages");
    if (!pages) return pass(pages);
    exec::ExecutorSizes& sizes = sizes_;
    sizes.slots = options_.slots;
    sizes.prefill_tokens = options_.chunk + options_.slots;
    const std::uint32_t drawn = options_.slots + options_.draft_tokens;
    sizes.prefill_rows = options_.logit_rows > drawn ? options_.logit_rows : drawn;
    if (config().whole_texts && context_ > options_.chunk) sizes.prefill_tokens = context_ + options_.slots;
    if (config().embeddings) sizes.prefill_rows = sizes.prefill_tokens;
    sizes.pages = options_.pages != 0 ? options_.pages : *pages;
    sizes.pages_per_slot = pages_per_slot;
    sizes.keep_values = options_.keep_values;
    if (!file().has_data())
      if (auto r = copies_.read(file(), plan().plan); !r) return r;
    if constexpr (TakesAdapters<Families>)
      if (auto r = adapters_.open(plan().plan, options_); !r) return r;
    const auto bytes = bytes_in_file();
    if (!bytes) return pass(bytes);
    file_bytes_ = *bytes;
    return {};
  }

  template <class Memory> [[nodiscard]] static std::uint64_t memory_bytes(const Memory& memory) noexcept {
    if constexpr (requires { memory.heap(); })
      return memory.bytes();
    else
      return memory.size();
  }
  /// Of the tensors that the plan reads, each once.
  [[nodiscard]] Result<std::uint64_t> bytes_in_file() const noexcept {
    Vector<std::uint8_t> counted(options_.allocator);
    if (auto r = counted.resize(file().tensors().size()); !r) return pass(r);
    std::uint64_t bytes = 0;
    for (const plan::PlanWeight& w : plan().plan.weights) {
      if (w.inline_data()) continue;
      const model::GgufTensor* tensor = file().find_tensor(model::TensorRows::of(w.name.view()).tensor);
      if (tensor == nullptr ||
          std::exchange(counted[static_cast<std::size_t>(tensor - file().tensors().data())], std::uint8_t{1}) != 0)
        continue;
      bytes += tensor->bytes;
    }
    return bytes;
  }

  void warn_of_workers(std::uint32_t asked, std::uint32_t run) const noexcept {
    const std::uint32_t cores = exec::usable_cores();
    if (asked > cores) options_.log(LogLevel::warn, exec::too_many_workers(asked, cores, run).text());
  }

  [[nodiscard]] exec::WeightSource weights() const noexcept {
    return file().has_data() ? model::weight_source(file()) : copies_.source();
  }

  /// Those of the file, and the matrices of adapters.
  [[nodiscard]] exec::WeightSource plan_weights() const noexcept {
    if (!TakesAdapters<Families> || options_.adapters == 0) return weights();
    return {this, [](const void* context, std::string_view name) noexcept -> Result<WeightView> {
              const auto& self = *static_cast<const OpenModel*>(context);
              if (ir::is_adapter_pool(name)) return self.adapters_.find(name);
              const exec::WeightSource file = self.weights();
              return file.find(file.context, name);
            }};
  }

  EngineOptions options_;
  [[no_unique_address]] DeviceOptionsOf<B> device_options_;
  [[no_unique_address]] O observer_;
  LoadedModel loaded_;
  TensorCopies copies_;
  AdapterPool adapters_;
  String packed_file_;
  Vector<std::int32_t> suppressed_;
  bool was_bound_ = false;
  Owned<exec::ThreadPool> pool_;
  ThreadHook threads_{};
  exec::ExecutorSizes sizes_{};
  std::uint64_t file_bytes_ = 0;
  typename B::Device device_{};
  std::optional<exec::Executor<B, O>> executor_;
  std::uint32_t context_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::detail

ZRT_LOAD_TIME_END
