// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/convert.hpp: writes a folder of Hugging Face as one GGUF file; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/core/hooks.hpp>
#include <zrt/model/hub/families.hpp>
#include <zrt/model/hub/pooling_key.hpp>
#include <zrt/model/hub/reranker.hpp>
#include <zrt/model/hub/unread_folders.hpp>
#include <zrt/model/hub/vocabulary.hpp>
#include <zrt/model/mixture.hpp>
#include <zrt/model/shared_rows.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// A tensor that has been written.
struct ConvertedTensor {
  std::string_view name;
  DType type;
  std::uint64_t bytes = 0;
};

struct ConvertOptions {
  ThreadHook threads{};            ///< rows are shared out among its workers; the bytes do not depend on their number
  const FileType* type = nullptr;  ///< null: bf16 where the folder's first matrix is, else f16
  std::string_view pre{};          ///< tokenizer.ggml.pre, where tokenizer.json does not tell
  std::string_view name{};         ///< general.name; the folder's where it is empty
  void* context = nullptr;         ///< of `done`
  void (*done)(void* context, const ConvertedTensor& tensor) noexcept = nullptr;  ///< after each tensor
};

namespace detail {

/// Rows of a tensor on their way into the file.
struct ConvertedRows {
  const MadeTensor* tensor = nullptr;
  quant::Encode encode = nullptr;
  const float* weight = nullptr;  ///< ones
  float* buffers = nullptr;       ///< a row for each worker
  std::byte* to = nullptr;
  std::uint8_t* faults = nullptr;  ///< one for each row
  float largest = 0;               ///< what the type holds
  std::uint64_t row_bytes = 0;
  std::uint64_t first = 0;
  model::detail::SharedRows rows{};

  void run(std::uint32_t worker) noexcept {
    const std::uint64_t elems = tensor->columns();
    float* x = buffers + worker * elems;
    rows.each([&](std::uint32_t row) noexcept {
      if (tensor->is_packed()) {
        faults[row] = tensor->read_packed(first + row, to + row * row_bytes) ? 0 : 1;
        return;
      }
      tensor->read(first + row, x);
      bool held = true;
      for (std::uint64_t i = 0; i < elems; ++i) held = held && __builtin_fabsf(x[i]) <= largest;
      faults[row] = held ? 0 : 1;
      encode(x, weight, elems, to + row * row_bytes);
    });
  }
};

}  // namespace detail

/// Converts one folder. Memory: the vocabulary, the tensors' names, some megabytes for rows, and the pages of one tensor of the
/// mapped files.
class Converter {
 public:
  /// Reads the folder's configuration, vocabulary and lists of tensors.
  ///
  /// Errors: those of Folder, Safetensors and add_vocabulary; Errc::unknown_architecture for a folder of no family of
  /// the list; Errc::missing_metadata and Errc::invalid_metadata for what config.json lacks or has otherwise;
  /// Errc::not_found for a tensor that the family does not know; those of MadeTensor.
  [[nodiscard]] static Result<Converter> open(const std::string& path, const ConvertOptions& options) {
    Converter made(path, options);
    auto config = made.folder_.json("config.json");
    if (!config) return pass(config);
    made.config_ = std::make_unique<HubJson>(std::move(*config));
    if (auto r = made.find_family(); !r) return pass(r);
    auto tensors = FolderTensors::open(made.folder_);
    if (!tensors) return pass(tensors);
    made.files_ = std::make_unique<FolderTensors>(std::move(*tensors));
    if (auto r = made.read(); !r) return pass(r);
    return made;
  }

  [[nodiscard]] const HubFamily& family() const noexcept { return *family_; }
  [[nodiscard]] const FileType& type() const noexcept { return *type_; }
  [[nodiscard]] const std::vector<MadeTensor>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const Keys& keys() const noexcept { return *keys_; }
  /// Tensors of the folder that belong to encoders of images or sounds or to layers behind the last, which the file leaves
  /// out.
  [[nodiscard]] std::uint32_t left_out() const noexcept { return left_out_; }

  /// Writes the file. Errors: those of GgufWriter; Errc::invalid_file for a value that is not finite or that the type
  /// cannot hold, with its tensor and row.
  [[nodiscard]] Result<void> write(ByteSink sink) {
    GgufWriter writer(sink, system_allocator());
    if (auto r = keys_->write(writer); !r) return r;
    const auto types = choose();
    if (!types) return pass(types);
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (auto r = writer.add_tensor(tensors_[i].name(), *find_ggml_type((*types)[i]),
                                     {tensors_[i].dims().data(), tensors_[i].dims().size()});
          !r)
        return r;
    if (auto r = writer.begin(); !r) return r;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (auto r = fill(tensors_[i], (*types)[i], writer); !r) return r;
    return writer.finish();
  }

 private:
  /// The type of each tensor: as FileType says, in f32 where that keeps a tensor; its own where it is blocks.
  [[nodiscard]] Result<Vector<DType>> choose() const {
    std::vector<GgufTensor> as_f32(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const MadeTensor& tensor = tensors_[i];
      as_f32[i].name = tensor.name();
      as_f32[i].type = *find_ggml_type(DType::f32);
      as_f32[i].rank = static_cast<std::uint32_t>(tensor.dims().size());
      for (std::size_t axis = 0; axis < tensor.dims().size(); ++axis) as_f32[i].dims[axis] = tensor.dims()[axis];
      as_f32[i].elems = tensor.columns() * tensor.rows();
    }
    const std::uint32_t heads = keys_->first_of_model("attention.head_count", 0);
    const MixedModel model{family_->name, layers_, keys_->first_of_model("expert_count", 0), heads,
                           keys_->first_of_model("attention.head_count_kv", heads)};
    auto types = choose_types(*type_, model, {}, as_f32, system_allocator());
    for (std::size_t i = 0; types && i < tensors_.size(); ++i) {
      if (tensors_[i].is_packed()) (*types)[i] = DType::mxfp4;
      if (stays_half(tensors_[i].name())) (*types)[i] = info(type_->type).block_elems == 1 ? type_->type : DType::f16;
    }
    return types;
  }

  /// Matrices that no quantizer touches, and that folders have in halves all the same.
  [[nodiscard]] static constexpr bool stays_half(std::string_view name) noexcept {
    return name == "per_layer_model_proj.weight" || name.ends_with(".attn_rel_b.weight");
  }

  /// general.file_type of whole matrices and experts in MXFP4. Source: the GGUF specification.
  static constexpr std::uint32_t kMxfp4Experts = 38;

  Converter(const std::string& path, const ConvertOptions& options) : folder_(path), options_(options) {}

  /// The first of `architectures`, or nothing.
  [[nodiscard]] static std::string_view architecture(const HubJson* config) {
    const HubJson* names = hub::find(config, "architectures");
    return names != nullptr && names->is_array() && !names->empty() ? text_of(&(*names)[0]) : std::string_view();
  }

  [[nodiscard]] Result<void> find_family() {
    Settings settings(*config_);
    const std::string_view name = architecture(config_.get());
    if (name.empty()) return fail(Errc::missing_metadata, "config.json names no architecture in 'architectures'");
    family_ = hub::find_family(name, settings);
    if (family_ == nullptr && !reason_unread(name).empty())
      return fail(Errc::unknown_architecture, "config.json: folders of architecture '", name,
                  "' are not read: ", reason_unread(name));
    // A model of images or sounds around a decoder that has a name of its own.
    if (family_ == nullptr) family_ = hub::find_family(architecture(settings.decoder()), settings);
    if (family_ == nullptr)
      return fail(Errc::unknown_architecture, "config.json: architecture '", detail::Quoted(name).view(),
                  "' is none whose folders are read; docs/model-files.md lists them");
    if (const HubJson* blocks = hub::find(config_.get(), "quantization_config");
        blocks != nullptr && !(family_->takes_mxfp4 && text_of(hub::find(blocks, "quant_method")) == "mxfp4"))
      return fail(Errc::unsupported_weight_type, "config.json has a quantization_config",
                  ", expected weights of f32, f16 or bf16");
    return {};
  }

  [[nodiscard]] Result<void> read() {
    Settings settings(*config_);
    keys_ = std::make_unique<Keys>(family_->name);
    add_general_keys();
    family_->add_keys(settings, *keys_);
    if (family_->add_tensors != nullptr) family_->add_tensors(settings, *keys_, tensors_);
    layers_ = settings.count({"num_hidden_layers", "n_layers", "n_layer", "num_layers"});
    if (family_->pools)
      if (auto r = add_pooling_key(folder_, *keys_); !r) return r;
    answers_ = family_->answers_yes != nullptr && family_->answers_yes(folder_, settings);
    if (answers_) add_reranker_keys(*keys_);
    if (auto r = settings.result(); !r) return r;
    if (auto r = map_tensors(settings); !r) return r;
    settle_type();
    if (auto r = add_vocabulary(folder_, *family_, settings, options_.pre, embedding_rows(), *keys_); !r) return r;
    return settings.result();
  }

  void add_general_keys() {
    keys_->set("general.type", std::string("model"));
    keys_->set("general.name", std::string(options_.name.empty() ? folder_.name() : std::string_view(options_.name)));
    keys_->set("general.quantization_version", std::uint32_t{2});
  }

  /// How many tokens the embeddings are of.
  [[nodiscard]] std::uint32_t embedding_rows() const {
    const auto at = places_.find("token_embd.weight");
    if (at == places_.end()) return 0;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(tensors_[at->second].rows(), 0xffffffffu));
  }

  /// Settles the type, of the folder's first matrix where none is asked for.
  void settle_type() {
    type_ = options_.type;
    for (const auto& file : files_->files())
      for (const SafeTensor& tensor : file->tensors())
        if (type_ == nullptr && tensor.extents.size() >= 2 && tensor.dtype && *tensor.dtype != DType::f32)
          type_ = find_file_type(zrt::name(*tensor.dtype));
    if (type_ == nullptr) type_ = find_file_type("f16");
    std::uint32_t number = type_->number;
    for (const MadeTensor& tensor : tensors_)
      if (tensor.is_packed() && info(type_->type).block_elems == 1) number = kMxfp4Experts;
    if (number != kNoFileType) keys_->set("general.file_type", number);
  }

  /// Parts of a tensor's name that mark it as another model's beside the decoder.
  [[nodiscard]] static bool of_another_part(std::string_view name) {
    for (const std::string_view part : {"visual.",          "vision.",       "audio.",         "vision_",
                                        "audio_",           "projector.",    ".mtp_",          "mtp.",
                                        "image_newline",    "patch_embed",   "patch_merger.",  "pre_mm_projector_norm",
                                        "view_seperator",   "talker.",       "token2wav.",     "code2wav.",
                                        "model.connector.", "model.merger.", "model.aligner.", "model.vqmodel.",
                                        "model.generation_"})
      if (name.find(part) != name.npos) return true;
    for (const std::string_view part : {"mlp", "vit.", "vpm.", "siglip2.", "conformer.", "merger.", "resampler.",
                                        "sound_encoder.", "sound_projection.", "speech_embeddings."})
      if (name.starts_with(part)) return true;
    return false;
  }
  [[nodiscard]] bool of_later_layer(std::string_view whole) const {
    constexpr std::string_view kLayers = "model.layers.";
    std::uint32_t layer = 0;
    if (!family_->drops_later_layers) return false;
    const std::string inner = inner_name(whole);
    std::string_view name = inner;
    if (!name.starts_with(kLayers)) return false;
    name.remove_prefix(kLayers.size());
    return detail::take_number(name, layer) && layer >= layers_;
  }
  /// The name without what wraps the decoder.
  [[nodiscard]] std::string inner_name(std::string_view name) const {
    std::string inner(name);
    constexpr std::string_view kWrap = "language_model.";
    if (const auto at = inner.find(kWrap); at != inner.npos) inner.erase(at, kWrap.size());
    constexpr std::string_view kOuter = "transformer.";
    if (inner.starts_with(kOuter)) inner.erase(0, kOuter.size());
    if (!inner.starts_with(family_->within) && !inner.starts_with("lm_head")) inner.insert(0, family_->within);
    for (const Renaming& renaming : family_->renamings)
      if (const auto at = inner.find(renaming.from); at != inner.npos)
        inner.replace(at, renaming.from.size(), renaming.to);
    return inner;
  }

  [[nodiscard]] Result<void> map_tensors(Settings& settings) {
    for (const auto& file : files_->files())
      for (const SafeTensor& tensor : file->tensors()) {
        if (of_another_part(tensor.name) || of_later_layer(tensor.name)) {
          ++left_out_;
          continue;
        }
        if (auto r = map_tensor(tensor); !r) return r;
      }
    HeadSizes sizes = family_->heads != nullptr ? family_->heads(settings) : HeadSizes{};
    if (auto r = settings.result(); !r) return r;
    if (family_->drops_equal_head) drop_equal_head();
    if (family_->drops_tied_head && settings.flag({"tie_word_embeddings"})) drop_head();
    if (answers_)
      if (auto r = make_head_of_answers(settings, sizes); !r) return r;
    for (MadeTensor& tensor : tensors_) {
      if (family_->add_scales != nullptr) family_->add_scales(settings, tensor.name(), tensor.scales());
      if (auto r = tensor.settle(sizes); !r) return r;
    }
    return settings.result();
  }

  /// Puts the rows of "yes" and "no" in place of the head, or beside embeddings that are the head.
  [[nodiscard]] Result<void> make_head_of_answers(Settings& settings, HeadSizes& sizes) {
    const auto files = TokenizerFiles::read(folder_);
    if (!files) return pass(files);
    for (std::size_t i = 0; i < kAnswers.size(); ++i) {
      const auto id = files->token(kAnswers[i]);
      if (!id)
        return fail(Errc::unsupported_tokenizer, "tokenizer.json has no token '", kAnswers[i],
                    "', which a reranker answers with");
      sizes.answers[i] = *id;
    }
    const bool tied = settings.flag({"tie_word_embeddings"});
    const auto head = places_.find(tied ? "token_embd.weight" : "output.weight");
    if (head == places_.end())
      return fail(Errc::missing_weight, "the folder has no head, whose rows of 'yes' and 'no' a reranker scores with");
    MadeTensor answers = tensors_[head->second].again_as("cls.output.weight", {.rows = Rows::answers});
    if (tied)
      tensors_.push_back(std::move(answers));
    else
      tensors_[head->second] = std::move(answers);
    find_places();
    return {};
  }

  void find_places() {
    places_.clear();
    for (std::size_t i = 0; i < tensors_.size(); ++i) places_.emplace(tensors_[i].name(), i);
  }

  void drop_equal_head() {
    const auto head = places_.find("output.weight");
    const auto embeddings = places_.find("token_embd.weight");
    if (head == places_.end() || embeddings == places_.end()) return;
    if (tensors_[head->second].equals(tensors_[embeddings->second])) drop_head();
  }
  void drop_head() {
    const auto head = places_.find("output.weight");
    if (head == places_.end()) return;
    tensors_.erase(tensors_.begin() + static_cast<std::ptrdiff_t>(head->second));
    find_places();
  }

  /// Applies the rules of the first list that has one for this tensor.
  [[nodiscard]] Result<void> map_tensor(const SafeTensor& tensor) {
    const std::string name = inner_name(tensor.name);
    for (const Span<const TensorRule> rules : {family_->tensors, Span<const TensorRule>(kDecoderTensors)}) {
      bool known = false;
      for (const TensorRule& rule : rules)
        if (auto r = apply(rule, name, tensor, known); !r) return r;
      if (known) return {};
    }
    return fail(Errc::not_found, "tensor '", detail::Quoted(tensor.name).view(), "' is none that ", family_->name,
                " has");
  }

  [[nodiscard]] Result<void> apply(const TensorRule& rule, std::string_view name, const SafeTensor& tensor,
                                   bool& known) {
    std::string_view end;
    NameNumbers numbers = match_name(rule.from, name);
    for (const std::string_view ending : {".weight", ".bias"})
      if (!numbers.fits && name.ends_with(ending)) {
        numbers = match_name(rule.from, name.substr(0, name.size() - ending.size()));
        end = ending;
      }
    if (!numbers.fits) return {};
    known = true;
    if (rule.to.empty()) return {};
    std::string to(rule.to);
    if (const auto star = to.find('*'); star != to.npos) to.replace(star, 1, std::to_string(numbers.at[0]));
    if (!to.ends_with(end)) to += end;
    const std::uint32_t place = rule.change.rows == Rows::stacked ? numbers.at[numbers.count - 1u] : rule.part;
    return made(to, rule.change).add(place, tensor);
  }

  [[nodiscard]] MadeTensor& made(const std::string& name, const TensorChange& change) {
    const auto [at, added] = places_.try_emplace(name, tensors_.size());
    if (added) tensors_.emplace_back(name, change);
    return tensors_[at->second];
  }

  [[nodiscard]] Result<void> fill(const MadeTensor& tensor, DType type, GgufWriter& writer) {
    detail::ConvertedRows job;
    job.tensor = &tensor;
    job.encode = quant::find_encoder(type);
    job.largest = type == DType::f16 ? 65504.0f : __FLT_MAX__;
    job.row_bytes = tensor.columns() / info(type).block_elems * info(type).block_bytes;
    const std::uint64_t rows = tensor.columns() == 0 ? 0 : tensor.rows();
    const std::uint64_t chunk = model::detail::rows_at_once(rows, job.row_bytes);
    make_room(job, chunk);
    for (; job.first < rows; job.first += chunk) {
      job.rows.begin(chunk < rows - job.first ? chunk : rows - job.first);
      run_on_workers(options_.threads, job);
      for (std::uint32_t row = 0; row < job.rows.count(); ++row)
        if (faults_[row] != 0)
          return fail(Errc::invalid_file, "tensor '", detail::Quoted(tensor.name()).view(), "': row ", job.first + row,
                      " holds a value that is not finite or that ", zrt::name(type), " cannot hold");
      if (auto r = writer.write({out_.data(), static_cast<std::size_t>(job.rows.count() * job.row_bytes)}); !r)
        return r;
    }
    files_->release_pages();
    if (options_.done != nullptr) options_.done(options_.context, {tensor.name(), type, rows * job.row_bytes});
    return {};
  }

  void make_room(detail::ConvertedRows& job, std::uint64_t rows) {
    const auto columns = static_cast<std::size_t>(job.tensor->columns());
    out_.resize(static_cast<std::size_t>(rows * job.row_bytes));
    faults_.assign(static_cast<std::size_t>(rows), 0);
    buffers_.resize(columns * workers_of(options_.threads));
    weight_.assign(columns, 1.0f);
    job.to = out_.data();
    job.faults = faults_.data();
    job.buffers = buffers_.data();
    job.weight = weight_.data();
  }

  Folder folder_;
  ConvertOptions options_;
  std::unique_ptr<HubJson> config_;
  std::unique_ptr<FolderTensors> files_;
  std::unique_ptr<Keys> keys_;
  const HubFamily* family_ = nullptr;
  const FileType* type_ = nullptr;
  std::vector<MadeTensor> tensors_;
  std::map<std::string, std::size_t> places_;
  std::uint32_t layers_ = 0;
  std::uint32_t left_out_ = 0;
  bool answers_ = false;  ///< the head is the rows of "yes" and "no"
  std::vector<float> weight_;
  std::vector<float> buffers_;
  std::vector<std::uint8_t> faults_;
  std::vector<std::byte> out_;
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
