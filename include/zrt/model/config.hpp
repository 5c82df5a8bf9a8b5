// SPDX-License-Identifier: Apache-2.0
// zrt/model/config.hpp: what an arch program needs to know of a model, read from its metadata.
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/model/gguf.hpp>
#include <zrt/ops/rope_frequencies.hpp>

#include <concepts>

namespace zrt::inline ZRT_ABI::model {

/// Sizes and constants of a decoder. Filled from the file; the KV type is the host's choice.
struct Config {
  std::uint32_t vocabulary = 0;
  std::uint32_t context = 0;  ///< positions that the model was trained for
  std::uint32_t width = 0;
  std::uint32_t layers = 0;
  std::uint32_t ff = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t key_dim = 0;
  std::uint32_t value_dim = 0;
  float norm_eps = 1e-5f;
  ops::RopeParams rope{};
  DType kv_dtype = DType::f16;
};

/// Reads the keys "<architecture>.<key>" of a file.
///
/// Errors, of every call: Errc::missing_metadata or invalid_metadata, naming the key. A call with a fallback takes it
/// where the file lacks the key.
class ConfigReader {
 public:
  explicit ConfigReader(const GgufFile& file, std::string_view architecture) noexcept
      : file_(file), architecture_(architecture) {}

  /// The key as the file spells it.
  [[nodiscard]] Name name_of(std::string_view key) const noexcept { return Name::of(architecture_, ".", key); }
  /// The file, for keys that the calls below do not read.
  [[nodiscard]] const GgufFile& file() const noexcept { return file_; }

  /// A number from 1 to `most`. Choose `most` so that every product of sizes fits 64 bits.
  [[nodiscard]] Result<std::uint32_t> count(std::string_view key, std::uint32_t most) const noexcept {
    const Name full = name_of(key);
    auto value = file_.get<std::uint32_t>(full.view());
    if (!value) return value;
    if (*value == 0 || *value > most)
      return fail(Errc::invalid_metadata, full.view(), " is ", *value, ", expected 1..", most);
    return value;
  }
  [[nodiscard]] Result<std::uint32_t> count_or(std::string_view key, std::uint32_t most,
                                               std::uint32_t fallback) const noexcept {
    if (file_.find(name_of(key).view()) == nullptr) return fallback;
    return count(key, most);
  }
  /// A number that may be 0, as it is where the file lacks the key.
  [[nodiscard]] Result<std::uint32_t> number_of(std::string_view key) const noexcept {
    const Name full = name_of(key);
    if (file_.find(full.view()) == nullptr) return 0u;
    return file_.get<std::uint32_t>(full.view());
  }
  /// A positive number.
  [[nodiscard]] Result<float> number(std::string_view key) const noexcept {
    const Name full = name_of(key);
    auto value = file_.get<float>(full.view());
    if (value && !(*value > 0.0f && *value < 3e38f))
      return fail(Errc::invalid_metadata, full.view(), " must be a positive number");
    return value;
  }
  [[nodiscard]] Result<float> number_or(std::string_view key, float fallback) const noexcept {
    if (file_.find(name_of(key).view()) == nullptr) return fallback;
    return number(key);
  }
  /// Any number, negative ones included.
  [[nodiscard]] Result<float> any_number_or(std::string_view key, float fallback) const noexcept {
    const Name full = name_of(key);
    if (file_.find(full.view()) == nullptr) return fallback;
    return file_.get<float>(full.view());
  }
  /// A positive factor; 0 in the file means 1.
  [[nodiscard]] Result<float> scale_or(std::string_view key, float fallback) const noexcept {
    auto value = file_.get<float>(name_of(key).view());
    return value && *value == 0.0f ? 1.0f : number_or(key, fallback);
  }
  /// A text.
  [[nodiscard]] Result<std::string_view> text_or(std::string_view key, std::string_view fallback) const noexcept {
    const Name full = name_of(key);
    if (file_.find(full.view()) == nullptr) return fallback;
    return file_.get<std::string_view>(full.view());
  }

 private:
  const GgufFile& file_;
  std::string_view architecture_;
};

/// A family with metadata of its own. It lists the keys, and reads them into a Config of its own, which `build` takes:
///
///       struct Config : model::Config { float logit_scale = 1; };
///       static constexpr std::array<std::string_view, 1> keys{"logit_scale"};
///       static Result<void> read_keys(const model::ConfigReader& meta, Config& c) noexcept;
///
/// zrt then neither reads nor refuses a key of the list; what the family makes of it is the family's.
template <class Arch>
concept ReadsKeys = requires(const ConfigReader& meta, typename Arch::Config& c) {
  requires std::derived_from<typename Arch::Config, Config>;
  { *Arch::keys.data() } -> std::convertible_to<std::string_view>;
  { Arch::read_keys(meta, c) } noexcept -> std::same_as<Result<void>>;
};

namespace detail {

template <class Arch> struct OwnKeys {
  using Config = model::Config;
  static constexpr Span<const std::string_view> list{};
};
template <ReadsKeys Arch> struct OwnKeys<Arch> {
  using Config = typename Arch::Config;
  static constexpr Span<const std::string_view> list{Arch::keys.data(), Arch::keys.size()};
};

}  // namespace detail

/// What a family's `build` takes: a Config of its own, or zrt's.
template <class Arch> using ConfigOf = typename detail::OwnKeys<Arch>::Config;

/// The keys that a family reads itself.
template <class Arch> inline constexpr Span<const std::string_view> kOwnKeys = detail::OwnKeys<Arch>::list;

namespace detail {

[[nodiscard]] inline bool is_own(Span<const std::string_view> own, std::string_view key) noexcept {
  for (const std::string_view name : own)
    if (name == key) return true;
  return false;
}

[[nodiscard]] inline Result<void> read_rope(const ConfigReader& meta, Config& c) noexcept {
  ops::RopeParams& rope = c.rope;
  rope.head_dim = c.key_dim;
  auto n_rot = meta.count_or("rope.dimension_count", c.key_dim, c.key_dim);
  if (!n_rot) return pass(n_rot);
  rope.n_rot = *n_rot;
  auto base = meta.number_or("rope.freq_base", 10000.0f);
  if (!base) return pass(base);
  rope.base = *base;
  // The defaults of llama.cpp: linear, by the factor or by its old name; a factor of 0 is none.
  auto scaling = meta.text_or("rope.scaling.type", "linear");
  if (!scaling) return pass(scaling);
  auto old_factor = meta.scale_or("rope.scale_linear", 1.0f);
  if (!old_factor) return pass(old_factor);
  auto factor = meta.scale_or("rope.scaling.factor", *old_factor);
  if (!factor) return pass(factor);
  auto original = meta.count_or("rope.scaling.original_context_length", 1u << 30, c.context);
  if (!original) return pass(original);
  auto magnitude = meta.number_or("rope.scaling.attn_factor", 1.0f);
  if (!magnitude) return pass(magnitude);
  rope.factor = *factor;
  rope.original_context = *original;
  rope.magnitude = *magnitude;
  if (*scaling == "none") {
    rope.factor = 1.0f;
  } else if (*scaling == "linear") {
    rope.scaling = *factor == 1.0f ? ops::RopeScaling::none : ops::RopeScaling::linear;
  } else if (*scaling == "yarn") {
    rope.scaling = ops::RopeScaling::yarn;
    auto yarn_magnitude = meta.number_or("rope.scaling.yarn_attn_factor", 1.0f);
    if (!yarn_magnitude) return pass(yarn_magnitude);
    auto fast = meta.number_or("rope.scaling.yarn_beta_fast", rope.beta_fast);
    if (!fast) return pass(fast);
    auto slow = meta.number_or("rope.scaling.yarn_beta_slow", rope.beta_slow);
    if (!slow) return pass(slow);
    // Below 0 is llama.cpp's way to leave it at 1.
    auto mix = meta.any_number_or("rope.scaling.yarn_ext_factor", 1.0f);
    if (!mix) return pass(mix);
    if (*mix >= 0.0f && *mix != 1.0f)
      return fail(Errc::unimplemented, meta.name_of("rope.scaling.yarn_ext_factor").view(),
                  " is neither 1 nor below 0");
    rope.magnitude = *magnitude * *yarn_magnitude;
    rope.beta_fast = *fast;
    rope.beta_slow = *slow;
  } else {
    return fail(Errc::unimplemented, meta.name_of("rope.scaling.type").view(), " is ", *scaling,
                ", expected none, linear or yarn");
  }
  return {};
}

}  // namespace detail

/// Reads the keys that a dense decoder has. `own` lists what the file's family reads itself: a count of experts and the
/// epsilon of the norms are left to it if they stand there.
///
/// Errors: Errc::missing_metadata or invalid_metadata naming the key; Errc::unimplemented for experts.
[[nodiscard]] inline Result<Config> read_config(const GgufFile& file, Span<const std::string_view> own = {}) noexcept {
  auto architecture = file.get<std::string_view>("general.architecture");
  if (!architecture) return pass(architecture);
  const ConfigReader meta(file, *architecture);
  Config c;
  struct Key {
    std::string_view name;
    std::uint32_t Config::* field;
    std::uint32_t most;
  };
  // The bounds keep every later product of sizes within 64 bits. Each block has a state, whose number is a byte of the
  // plan, and 255 is none.
  constexpr Key required[] = {{"context_length", &Config::context, 1u << 28},
                              {"embedding_length", &Config::width, 1u << 20},
                              {"block_count", &Config::layers, 254},
                              {"feed_forward_length", &Config::ff, 1u << 22},
                              {"attention.head_count", &Config::heads, 1u << 12}};
  for (const Key& key : required) {
    auto value = meta.count(key.name, key.most);
    if (!value) return pass(value);
    c.*key.field = *value;
  }
  auto experts = meta.number_of("expert_count");
  if (!experts) return pass(experts);
  if (*experts != 0 && !detail::is_own(own, "expert_count"))
    return fail(Errc::unimplemented, *architecture, ".expert_count is ", *experts, ": experts are not computed");
  auto kv_heads = meta.count_or("attention.head_count_kv", c.heads, c.heads);
  if (!kv_heads) return pass(kv_heads);
  c.kv_heads = *kv_heads;
  if (c.heads % c.kv_heads != 0)
    return fail(Errc::invalid_metadata, "attention.head_count is ", c.heads, ", expected a multiple of ", c.kv_heads,
                " kv heads");
  const std::uint32_t even_split = c.width / c.heads;
  auto key_dim = meta.count_or("attention.key_length", 512, even_split);
  if (!key_dim) return pass(key_dim);
  auto value_dim = meta.count_or("attention.value_length", 512, even_split);
  if (!value_dim) return pass(value_dim);
  c.key_dim = *key_dim;
  c.value_dim = *value_dim;
  if (constexpr std::string_view key = "attention.layer_norm_rms_epsilon"; !detail::is_own(own, key)) {
    auto eps = meta.number(key);
    if (!eps) return pass(eps);
    c.norm_eps = *eps;
  }
  const GgufTensor* table = file.find_tensor("token_embd.weight");
  if (table == nullptr || table->rank != 2)
    return fail(Errc::missing_weight, "the model has no matrix token_embd.weight");
  if (table->dims[1] > 0x7fffffffu) return fail(Errc::invalid_metadata, "the vocabulary does not fit 31 bits");
  c.vocabulary = static_cast<std::uint32_t>(table->dims[1]);
  if (auto r = detail::read_rope(meta, c); !r) return pass(r);
  return c;
}

}  // namespace zrt::inline ZRT_ABI::model
