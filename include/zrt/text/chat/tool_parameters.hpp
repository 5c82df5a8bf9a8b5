// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/tool_parameters.hpp: which parameters of tools are texts, for models that write arguments without types.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/text/chat/value.hpp>

namespace zrt::inline ZRT_ABI::text::chat {

/// What an argument that stands between tags means.
enum class ArgumentForm : std::uint8_t {
  unknown,       ///< a JSON value where it reads as one, else a text
  text,          ///< a text
  text_or_null,  ///< a text; null is none
  value,         ///< a JSON value
};

/// The tools that a model was given, and the forms of their parameters.
class ToolParameters {
 public:
  explicit ToolParameters(const Allocator& allocator = system_allocator()) noexcept
      : allocator_(allocator), tools_(allocator), parameters_(allocator) {}

  /// Reads a list of tools as the OpenAI API has them. Errors: Errc::out_of_memory.
  [[nodiscard]] static Result<ToolParameters> make(Values& values, const Value& tools) noexcept {
    ToolParameters out(values.allocator());
    for (std::size_t i = 0; i < values.items(tools).size(); ++i)
      if (auto r = out.add(values, values.items(tools)[i]); !r) return pass(r);
    return out;
  }

  [[nodiscard]] bool has_tool(std::string_view name) const noexcept {
    for (const String& tool : tools_)
      if (tool.view() == name) return true;
    return false;
  }
  [[nodiscard]] ArgumentForm form_of(std::string_view tool, std::string_view parameter) const noexcept {
    for (const Parameter& p : parameters_)
      if (tools_[p.tool].view() == tool && p.name.view() == parameter) return p.form;
    return ArgumentForm::unknown;
  }

 private:
  static constexpr std::uint32_t kDepth = 8;

  struct Parameter {
    std::size_t tool;
    String name;
    ArgumentForm form;
  };
  /// Which types a schema allows.
  struct Types {
    bool text = false;
    bool null = false;
    bool other = false;
    bool any = false;  ///< it does not say
  };

  [[nodiscard]] Result<void> add(Values& values, const Value& tool) noexcept {
    const Value function = values.get(tool, "function");
    auto name = String::of(values.get(function, "name").string_or_empty(), allocator_);
    if (!name) return pass(name);
    if (auto r = tools_.push_back(std::move(*name)); !r) return r;
    const Value schema = values.get(function, "parameters");
    const Value properties = values.get(schema, "properties");
    for (std::size_t i = 0; i < values.entries(properties).size(); ++i) {
      const Entry entry = values.entries(properties)[i];
      auto parameter = String::of(entry.key.text, allocator_);
      if (!parameter) return pass(parameter);
      const ArgumentForm form = form_in(types_of(values, schema, entry.value, 0));
      if (auto r = parameters_.push_back({tools_.size() - 1, std::move(*parameter), form}); !r) return r;
    }
    return {};
  }
  [[nodiscard]] static ArgumentForm form_in(const Types& types) noexcept {
    if (types.any) return ArgumentForm::unknown;
    if (!types.text) return ArgumentForm::value;
    return types.null ? ArgumentForm::text_or_null : ArgumentForm::text;
  }
  [[nodiscard]] static Types types_of(Values& values, const Value& root, const Value& schema,
                                      std::uint32_t depth) noexcept {
    Types types;
    const Value type = values.get(schema, "type");
    const Value constant = values.get(schema, "const");
    const Value reference = values.get(schema, "$ref");
    if (depth > kDepth) return {.any = true};
    if (type.is_string()) {
      add_type(type.text, types);
    } else if (!values.items(type).empty()) {
      for (const Value& one : values.items(type)) add_type(one.string_or_empty(), types);
    } else if (!constant.is(Kind::undefined)) {
      add_value(constant, types);
    } else if (reference.is_string()) {
      return types_of(values, root, resolved(values, root, reference.text), depth + 1);
    } else {
      for (const Value& one : values.items(values.get(schema, "enum"))) add_value(one, types);
      for (const std::string_view many : {"anyOf", "oneOf"})
        for (std::size_t i = 0; i < values.items(values.get(schema, many)).size(); ++i) {
          const Types more = types_of(values, root, values.items(values.get(schema, many))[i], depth + 1);
          types = {types.text || more.text, types.null || more.null, types.other || more.other, types.any || more.any};
        }
      types.any = types.any || !(types.text || types.null || types.other);
    }
    return types;
  }
  static void add_type(std::string_view type, Types& types) noexcept {
    (type == "string" ? types.text : type == "null" ? types.null : types.other) = true;
  }
  static void add_value(const Value& value, Types& types) noexcept {
    (value.is_string() ? types.text : value.is(Kind::none) ? types.null : types.other) = true;
  }
  /// What a path of names behind # leads to, or an undefined value.
  [[nodiscard]] static Value resolved(Values& values, const Value& root, std::string_view path) noexcept {
    Value at = root;
    if (!path.starts_with("#/")) return {};
    for (path.remove_prefix(2); !path.empty();) {
      const std::size_t end = path.find('/');
      at = values.get(at, slice(path, 0, end));
      path = end == std::string_view::npos ? std::string_view{} : slice(path, end + 1);
    }
    return at;
  }

  Allocator allocator_;
  Vector<String> tools_;
  Vector<Parameter> parameters_;
};

}  // namespace zrt::inline ZRT_ABI::text::chat
