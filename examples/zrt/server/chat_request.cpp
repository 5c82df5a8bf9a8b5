// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/chat_request.cpp: messages, tools and formats of a chat.
#include "chat_request.hpp"
#include "prompt_field.hpp"
#include "tools.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace program::server {
namespace {

namespace chats = zrt::text::chat;

constexpr std::size_t kMostMessages = 4096;

/// Looks at the parts of messages, and takes out their images. Appends the paths of fields that are not known to
/// `ignored`.
class PartReader {
 public:
  PartReader(const ServedModel& model, std::vector<std::string>& ignored) : model_(model), ignored_(ignored) {}

  void read(const Json& part, const std::string& where, const std::string& role) {
    Fields fields(expect_object(part, where), where);
    const std::string type = expect_text(fields.required("type"), where + ".type");
    const auto refuse = [&](const std::string& why) {
      throw bad_field(where + ".type", "'" + where + ".type' is '" + type + "', " + why);
    };
    if (type == "refusal" && role != "assistant") refuse("which only an assistant's message has");
    // A part says what it is, and has a text under that name.
    if (type == "text" || type == "refusal") {
      (void)expect_text(fields.required(type.c_str()), where + "." + type);
      return fields.name_unknown(ignored_);
    }
    if (type != "image_url") refuse(model_.images ? "expected text or image_url" : "this model reads text alone");
    if (!model_.images) refuse("but the model reads text alone: it is served without an encoder of images (--mmproj)");
    if (role != "user") refuse("which only a user's message has");
    images_.push_back(read_image_part(fields, *model_.images, pixels_));
    fields.name_unknown(ignored_);
  }
  [[nodiscard]] std::vector<std::string>& ignored() { return ignored_; }
  [[nodiscard]] std::vector<RequestImage> take() { return std::move(images_); }

 private:
  const ServedModel& model_;
  std::vector<std::string>& ignored_;
  std::vector<RequestImage> images_;
  std::uint64_t pixels_ = 0;
};

void check_content(const Json& message, const std::string& path, const std::string& role, PartReader& parts) {
  const auto found = message.find("content");
  const std::string at = path + ".content";
  if (found == message.end() || found->is_null()) {
    if (role == "assistant") return;
    throw bad_field(at, "'" + at + "' is missing");
  }
  if (found->is_string()) return;
  std::size_t index = 0;
  for (const Json& part : expect_list(*found, at)) parts.read(part, element_path(at, index++), role);
}

void check_calls(const Json& calls, const std::string& path, std::vector<std::string>& ignored) {
  std::size_t index = 0;
  for (const Json& call : expect_list(calls, path)) {
    const std::string where = element_path(path, index++);
    Fields fields(expect_object(call, where), where);
    (void)fields.text("id");
    Fields function(expect_object(fields.required("function"), where + ".function"), where + ".function");
    (void)expect_text(function.required("name"), where + ".function.name");
    const Json* arguments = function.find("arguments");
    if (arguments != nullptr && !arguments->is_object()) (void)expect_text(*arguments, where + ".function.arguments");
    fields.ignore({"type"});
    fields.name_unknown(ignored);
    function.name_unknown(ignored);
  }
}

void check_message(const Json& message, const std::string& path, PartReader& parts) {
  Fields fields(expect_object(message, path), path);
  const std::string role = expect_text(fields.required("role"), path + ".role");
  constexpr const char* kRoles[] = {"developer", "system", "user", "assistant", "tool"};
  if (std::find(std::begin(kRoles), std::end(kRoles), role) == std::end(kRoles))
    throw bad_field(path + ".role",
                    "'" + path + ".role' is '" + role + "', expected developer, system, user, assistant or tool");
  const Json* calls = role == "assistant" ? fields.find("tool_calls") : nullptr;
  if (calls != nullptr) check_calls(*calls, path + ".tool_calls", parts.ignored());
  check_content(message, path, role, parts);
  (void)fields.text("name");
  if (role == "tool") (void)fields.text("tool_call_id");
}

/// Whether each answer of a tool belongs to a call of a message before it. Calls without ids are answered in order.
void check_answers(const Json& messages) {
  std::set<std::string> called;
  bool nameless = false;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Json& message = messages[i];
    if (const auto calls = message.find("tool_calls"); calls != message.end() && calls->is_array())
      for (const Json& call : *calls) {
        const auto id = call.find("id");
        if (id != call.end() && id->is_string())
          called.insert(id->get<std::string>());
        else
          nameless = true;
      }
    const auto id = message.find("tool_call_id");
    if (message["role"] != "tool" || nameless) continue;
    const std::string path = element_path("messages", i) + ".tool_call_id";
    if (id == message.end() || id->is_null()) throw bad_field(path, "'" + path + "' is missing");
    if (!called.contains(id->get<std::string>()))
      throw bad_field(path, "'" + path + "' answers no call of a message before it");
  }
}

/// A part as templates know it: what an assistant refused with is what it said, and an image is only named.
Json shown_part(const Json& part) {
  if (part["type"] == "refusal") return {{"type", "text"}, {"text", part["refusal"]}};
  if (part["type"] == "image_url") return {{"type", "image"}};
  return part;
}

Json shown_message(const Json& message) {
  Json out = Json::object();
  for (const auto& [name, value] : message.items()) {
    out[name] = name == "content" && value.is_array() ? Json::array() : value;
    if (name == "content" && value.is_array())
      for (const Json& part : value) out[name].push_back(shown_part(part));
  }
  return out;
}

Json read_messages(Fields& fields, PartReader& parts) {
  const Json& messages = expect_list(fields.required("messages"), "messages");
  if (messages.empty() || messages.size() > kMostMessages)
    throw bad_field("messages", "'messages' has " + std::to_string(messages.size()) + " elements, expected 1.." +
                                    std::to_string(kMostMessages));
  for (std::size_t i = 0; i < messages.size(); ++i) check_message(messages[i], element_path("messages", i), parts);
  check_answers(messages);
  Json out = Json::array();
  for (const Json& message : messages) out.push_back(shown_message(message));
  return out;
}

/// A JSON value for a template.
chats::Value value_of(const Json& json, chats::Values& values, const char* param) {
  auto read = chats::read_json(text_of(json), values);
  if (!read) throw api_error(read.error(), param);
  return *read;
}

/// Names that the template sees beside those that the server gives it, which none may replace.
const Json* read_template_names(Fields& fields) {
  const Json* extra = fields.find("chat_template_kwargs");
  if (extra == nullptr) return nullptr;
  constexpr auto kOwn =
      std::to_array<const char*>({"messages", "add_generation_prompt", "tools", "bos_token", "eos_token"});
  for (const char* name : kOwn)
    if (expect_object(*extra, "chat_template_kwargs").contains(name)) {
      const std::string path = std::string("chat_template_kwargs.") + name;
      throw bad_field(path, "'" + path + "' is a name of the server's own, expected one that the template asks for");
    }
  return &expect_object(*extra, "chat_template_kwargs");
}

chats::ChatPrompt render(const Json& messages, const Tools& tools, Fields& fields, const ServedModel& model) {
  chats::Values values;
  chats::RenderOptions options;
  options.now = std::time(nullptr);
  const chats::Value list = value_of(messages, values, "messages");
  if (!tools.list.empty()) options.tools = value_of(tools.list, values, "tools");
  if (const Json* extra = read_template_names(fields)) options.extra = value_of(*extra, values, "chat_template_kwargs");
  auto prompt = model.chat_template->render(values, list, options);
  if (!prompt) throw api_error(prompt.error(), "messages");
  return std::move(*prompt);
}

std::vector<std::int32_t> tokens_of(const chats::ChatPrompt& prompt, const ServedModel& model) {
  const zrt::text::Tokenizer& tokenizer = *model.tokenizer;
  // Most templates write the token that begins a text; then the tokenizer does not.
  const bool begun = tokenizer.bos() && prompt.view().starts_with(tokenizer.token_text(*tokenizer.bos()));
  return encode_prompt(prompt.view(), {.add_special = !begun, .parse_special = true, .given = prompt.given.span()},
                       "messages", model);
}

/// The schema that an answer must match, or null.
Json read_format(Fields& fields, std::vector<std::string>& ignored) {
  const Json* format = fields.find("response_format");
  if (format == nullptr) return nullptr;
  Fields inner(expect_object(*format, "response_format"), "response_format");
  const std::string type = expect_text(inner.required("type"), "response_format.type");
  inner.ignore({"json_schema"});
  inner.name_unknown(ignored);
  if (type == "text") return nullptr;
  if (type == "json_object") return {{"type", "object"}};
  if (type != "json_schema")
    throw bad_field("response_format.type",
                    "'response_format.type' is '" + type + "', expected text, json_object or json_schema");
  const std::string path = "response_format.json_schema";
  Fields schema(expect_object(inner.required("json_schema"), path), path);
  (void)expect_text(schema.required("name"), path + ".name");
  (void)schema.boolean("strict");
  (void)schema.text("description");
  schema.ignore({"schema"});
  schema.name_unknown(ignored);
  return expect_object(schema.required("schema"), path + ".schema");
}

std::shared_ptr<const BoundGrammar> grammar_of(const Json& schema, const char* param, const ServedModel& model,
                                               const std::string& owner) {
  auto grammar = model.grammars->of_schema(text_of(schema), owner);
  if (!grammar) throw api_error(grammar.error(), param);
  return *grammar;
}

/// The forms of the tools' arguments, for models that write them without types.
std::shared_ptr<const chats::ToolParameters> tool_parameters(const Tools& tools) {
  chats::Values values;
  auto read = chats::ToolParameters::make(values, value_of(tools.list, values, "tools"));
  if (!read) throw api_error(read.error(), "tools");
  return std::make_shared<chats::ToolParameters>(std::move(*read));
}

/// What an answer must match.
void read_grammar(Fields& fields, const Tools& tools, const ServedModel& model, const std::string& owner, Asked& choice,
                  GenerationRequest& request) {
  const Json schema = read_format(fields, request.ignored);
  if (!schema.is_null() && !tools.list.empty())
    throw bad_field("response_format",
                    "'response_format' and tools that may be called exclude each other; "
                    "'tool_choice': \"none\" asks for the format");
  request.constrained = !schema.is_null();
  if (request.constrained) choice.grammar = grammar_of(schema, "response_format", model, owner);
  request.calls = !tools.list.empty();
  if (request.calls) request.tools = tool_parameters(tools);
  request.forced_calls = tools.forced;
  request.one_call = !tools.parallel;
  if (tools.forced) choice.grammar = grammar_of(schema_of_calls(tools), "tools", model, owner);
  // A call that is not forced is as the model wrote it; that a strict schema can be honoured is checked all the same.
  if (const Tools strict = strict_ones(tools); !tools.forced && !strict.list.empty())
    (void)grammar_of(schema_of_calls(strict), "tools", model, owner);
  // What a grammar binds is whole only at its own end.
  if (choice.grammar) choice.stops.clear();
}

void read_log_probabilities(Fields& fields, const ServedModel& model, Asked& choice, GenerationRequest& request) {
  request.log_probabilities = fields.boolean("logprobs").value_or(false);
  const auto top = fields.integer("top_logprobs", 0, kMostTop);
  if (top && !request.log_probabilities)
    throw bad_field("top_logprobs", "'top_logprobs' is for a request with 'logprobs': true");
  request.top = static_cast<std::uint32_t>(top.value_or(0));
  if (request.log_probabilities) choice.log_probabilities = std::min(kMostTop, model.vocabulary);
}

/// The smaller of both names of one limit.
std::optional<std::int64_t> read_most_tokens(Fields& fields) {
  const auto a = fields.integer("max_completion_tokens", 1, INT32_MAX);
  const auto b = fields.integer("max_tokens", 1, INT32_MAX);
  return a && b ? std::min(a, b) : a ? a : b;
}

void refuse_what_is_not_done(Fields& fields) {
  for (const char* name : {"functions", "function_call", "audio", "prediction", "web_search_options"})
    if (fields.find(name) != nullptr) throw bad_field(name, std::string("'") + name + "' is not supported");
  if (const Json* modalities = fields.find("modalities"); modalities != nullptr && *modalities != Json::array({"text"}))
    throw bad_field("modalities", "'modalities' is not [\"text\"], the only one that is supported");
  fields.ignore({"metadata", "store", "service_tier", "reasoning_effort", "verbosity", "prompt_cache_key",
                 "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "moderation"});
}

}  // namespace

GenerationRequest read_chat_request(const Json& body, const ServedModel& model, const std::string& owner) {
  Fields fields(body);
  GenerationRequest request;
  Asked choice;
  read_model(fields, model, choice, request);
  refuse_what_is_not_done(fields);
  PartReader parts(model, request.ignored);
  const Json messages = read_messages(fields, parts);
  request.images = parts.take();
  if (!request.images.empty() && !model.chat_template->abilities().image_parts)
    throw bad_field("messages", "the model's chat template has no place for images");
  const std::size_t count = read_generation_fields(fields, model, choice, request);
  read_log_probabilities(fields, model, choice, request);
  const auto most = read_most_tokens(fields);
  const Tools tools = read_tools(fields, request.ignored);
  read_grammar(fields, tools, model, owner, choice, request);
  const chats::ChatPrompt prompt = render(messages, tools, fields, model);
  request.prompt_text = prompt.view();
  choice.special = true;
  choice.tokens = tokens_of(prompt, model);
  if (model.images) choice.tokens = with_image_rows(choice.tokens, model, request.images);
  fit_context(model, "messages", most, choice);
  add_choices(choice, count, request);
  fields.name_unknown(request.ignored);
  return request;
}

}  // namespace program::server
