// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/settings.hpp: what a model's config.json says; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/json.hpp>

#include <initializer_list>
#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Names that versions of transformers and authors use for one value; the first that is there counts.
using Aliases = std::initializer_list<std::string_view>;

/// What models of images and sounds call the configuration of their decoder.
inline constexpr auto kDecoderConfigs =
    std::to_array<std::string_view>({"text_config", "llm_config", "lm_config", "language_config", "lfm"});

/// Reads values of a configuration, those of its decoder's (`text_config`, or another of kDecoderConfigs) first. Absent
/// and null are the same.
///
/// The first error stays: Errc::missing_metadata for a value that is needed, Errc::invalid_metadata for one of another
/// kind. After it, readers return zeros.
class Settings {
 public:
  /// Refers to `config`, an object.
  explicit Settings(const HubJson& config) : config_(config) {
    const HubJson* thinker = hub::find(&config, "thinker_config");
    for (const HubJson* outer : {&config, thinker})
      for (const std::string_view name : kDecoderConfigs)
        if (text_ == nullptr) text_ = hub::find(outer, name);
  }

  /// The configuration of the decoder within a model of images or sounds, or null.
  [[nodiscard]] const HubJson* decoder() const noexcept { return text_; }

  [[nodiscard]] Result<void> result() const {
    if (ok_) return {};
    return std::unexpected<Error>(error_);
  }

  [[nodiscard]] const HubJson* find(Aliases names) const {
    for (const std::string_view name : names)
      for (const HubJson* object : {text_, &config_})
        if (const HubJson* value = hub::find(object, name)) return value;
    return nullptr;
  }
  [[nodiscard]] bool has(Aliases names) const { return find(names) != nullptr; }

  [[nodiscard]] std::uint32_t count(Aliases names) {
    const auto value = count_if(names);
    return value ? *value : missing<std::uint32_t>(names);
  }
  [[nodiscard]] std::optional<std::uint32_t> count_if(Aliases names) {
    const HubJson* value = find(names);
    std::uint32_t number = 0;
    if (value == nullptr) return {};
    if (!is_count(value, number)) unexpected(names, *value, "a number from 0 to 2^32 - 1");
    return number;
  }
  [[nodiscard]] float number(Aliases names) {
    const auto value = number_if(names);
    return value ? *value : missing<float>(names);
  }
  [[nodiscard]] std::optional<float> number_if(Aliases names) {
    const HubJson* value = find(names);
    if (value == nullptr) return {};
    if (value->is_number()) return static_cast<float>(value->get<double>());
    unexpected(names, *value, "a number");
    return 0.0f;
  }
  [[nodiscard]] bool flag(Aliases names) const { return is_true(find(names)); }
  [[nodiscard]] std::string_view text(Aliases names) const { return text_of(find(names)); }

  /// Adds an error of a family's own.
  template <class... Pieces> void refuse(Errc code, const Pieces&... pieces) {
    if (ok_) error_ = Error::of(code, "config.json: ", pieces...);
    ok_ = false;
  }

 private:
  [[nodiscard]] static std::string_view first(Aliases names) { return *names.begin(); }
  template <class T> [[nodiscard]] T missing(Aliases names) {
    refuse(Errc::missing_metadata, "expected a value of '", first(names), "', found none");
    return T{};
  }
  void unexpected(Aliases names, const HubJson& value, std::string_view expected) {
    const std::string text = value.is_structured() ? value.type_name() : value.dump(-1, ' ', true);
    refuse(Errc::invalid_metadata, "'", first(names), "' is ", detail::Quoted(text).view(), ", expected ", expected);
  }

  const HubJson& config_;
  const HubJson* text_ = nullptr;
  bool ok_ = true;
  Error error_{};
};

/// How a configuration scales rotations: the object that newer files call `rope_parameters`, for layers that see the
/// whole text.
class RopeSettings {
 public:
  explicit RopeSettings(Settings& settings)
      : settings_(settings), all_(settings.find({"rope_parameters", "rope_scaling"})) {
    const HubJson* full = hub::find(all_, "full_attention");
    by_kind_ = full != nullptr || hub::find(all_, "sliding_attention") != nullptr;
    full_ = full != nullptr ? full : all_;
  }

  /// linear, yarn, longrope, llama3, ...; empty where nothing is scaled.
  [[nodiscard]] std::string_view type() const {
    const std::string_view type = text_of(hub::find(full_, "rope_type"));
    return type.empty() ? text_of(hub::find(full_, "type")) : type;
  }
  [[nodiscard]] const HubJson* find(std::string_view name) const { return hub::find(full_, name); }
  [[nodiscard]] std::optional<double> number_if(std::string_view name) const { return as_number(find(name)); }
  /// Of all layers, where those of each kind have objects of their own.
  [[nodiscard]] std::optional<double> number_of_all(std::string_view name) const {
    return as_number(hub::find(all_, name));
  }
  [[nodiscard]] double number(std::string_view name) const {
    if (const auto value = number_if(name)) return *value;
    settings_.refuse(Errc::missing_metadata, "expected a number '", name, "' of rope_scaling, found none");
    return 0;
  }
  [[nodiscard]] std::optional<double> base() const {
    if (const auto own = number_if("rope_theta"); own || by_kind_) return own;
    return as_number(settings_.find(
        {"global_rope_theta", "rope_global_theta", "rope_theta_global", "rope_theta", "rotary_emb_base"}));
  }
  /// Of layers with a window.
  [[nodiscard]] std::optional<double> windowed_base() const {
    if (by_kind_) return as_number(hub::find(hub::find(all_, "sliding_attention"), "rope_theta"));
    return as_number(settings_.find(
        {"local_rope_theta", "rope_local_theta", "rope_theta_local", "swa_rope_theta", "rope_local_base_freq"}));
  }
  /// Which part of a head is rotated.
  [[nodiscard]] std::optional<double> part() const {
    if (const auto own = number_if("partial_rotary_factor"); own || by_kind_) return own;
    return as_number(settings_.find({"partial_rotary_factor", "rope_pct", "rope_percent"}));
  }
  [[nodiscard]] std::uint32_t original_context() const {
    std::uint32_t number = 0;
    if (is_count(find("original_max_position_embeddings"), number)) return number;
    return settings_.count({"original_max_position_embeddings"});
  }

 private:
  [[nodiscard]] static std::optional<double> as_number(const HubJson* value) {
    if (value == nullptr || !value->is_number()) return {};
    return value->get<double>();
  }

  Settings& settings_;
  const HubJson* all_;
  const HubJson* full_ = nullptr;
  bool by_kind_ = false;  // of layers
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
