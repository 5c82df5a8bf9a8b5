// SPDX-License-Identifier: Apache-2.0
// tests/serve/request_fields.cpp: bodies, fields and tools of requests without a model or a socket.
#include <gtest/gtest.h>

#include <fields.hpp>
#include <functional>
#include <json_body.hpp>
#include <metrics.hpp>
#include <tools.hpp>

namespace request_fields_test {
namespace {

using namespace program::server;

ApiError error_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const ApiError& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(RequestFields, BodiesAreBounded) {
  EXPECT_EQ(read_body(R"({"a": 1, "a": 2})")["a"], 2);
  const std::string deep = "{\"a\":" + std::string(63, '[') + std::string(63, ']') + "}";
  EXPECT_TRUE(read_body(deep).is_object());
  EXPECT_EQ(error_of([] { (void)read_body("{\"a\":" + std::string(64, '[')); }).status, 400);
  EXPECT_TRUE(read_body(R"({"a": "[[[[\"{{{{\\"})").is_object());
  EXPECT_EQ(read_body(R"({"a":[18446744073709551615,-9223372036854775808]})").dump(),
            R"({"a":[18446744073709551615,-9223372036854775808]})");
  EXPECT_EQ(read_body(R"({"a": "18446744073709551616", "b": 0.12345678901234567890123456789, "c": 1e30})").size(), 3u);
  EXPECT_TRUE(read_body(R"({"a": 18446744073709551616})")["a"].is_number_float());
  for (const char* number : {"18446744073709551616", "-9223372036854775809", "100000000000000000000000"})
    EXPECT_EQ(error_of([&] { (void)read_body(std::string("{\"a\":[1, ") + number + "]}"); }).message,
              "the body has a whole number that 64 bits do not hold at byte 9");
  for (const char* text :
       {"", "1", "[]", "{\"a\": NaN}", "{\"a\": 1e999}", "{\"a\": \"\xff\"}", "{\"a\": \"\\ud800\"}"})
    EXPECT_EQ(error_of([&] { (void)read_body(text); }).status, 400) << text;
}

TEST(RequestFields, MembersAreBoundedForAnObjectAndForAll) {
  const auto object_of = [](std::size_t members) {
    std::string text = "{";
    for (std::size_t i = 0; i < members; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
    return text + "}";
  };
  EXPECT_EQ(read_body(object_of(kMostJsonMembers)).size(), kMostJsonMembers);
  EXPECT_EQ(error_of([&] { (void)read_body(object_of(kMostJsonMembers + 1)); }).status, 400);
  // Also within the body, once.
  std::string text = "{\"a\":[" + object_of(kMostJsonMembers);
  EXPECT_EQ(read_body(text + "]}")["a"][0].size(), kMostJsonMembers);
  EXPECT_EQ(error_of([&] { (void)read_body(text + "," + object_of(kMostJsonMembers) + "]}"); }).status, 400);
  text = "{\"a\":[1";
  for (int i = 0; i < 300; ++i) text += "," + object_of(100);
  EXPECT_EQ(read_body(text + "]}")["a"].size(), 301u);
  for (int i = 0; i < 600; ++i) text += "," + object_of(100);
  EXPECT_EQ(error_of([&] { (void)read_body(text + "]}"); }).status, 400);
}

TEST(RequestFields, FieldsNameWhatIsWrong) {
  const Json json = Json::parse(R"({"a": 1, "b": 1.5, "c": "x", "d": null, "e": [1], "f": 18446744073709551615})");
  Fields fields(json, "top");
  EXPECT_EQ(fields.integer("a", 0, 1), 1);
  EXPECT_EQ(error_of([&] { (void)fields.integer("a", 2, 3); }).param, "top.a");
  EXPECT_EQ(error_of([&] { (void)fields.integer("b", 0, 3); }).message, "'top.b' is 1.5, expected an integer of 0..3");
  EXPECT_EQ(error_of([&] { (void)fields.integer("f", INT64_MIN, INT64_MAX); }).param, "top.f");
  EXPECT_EQ(fields.number("b", 0.0, 2.0), 1.5);
  EXPECT_FALSE(fields.text("d"));
  EXPECT_EQ(error_of([&] { (void)fields.required("d"); }).code, "missing_required_parameter");
  EXPECT_EQ(error_of([&] { (void)fields.texts("e", 4); }).param, "top.e[0]");
  EXPECT_EQ(fields.texts("c", 4), std::vector<std::string>{"x"});
  EXPECT_TRUE(fields.unknown().empty());
  EXPECT_EQ(Fields(json).unknown().size(), 6u);
}

TEST(RequestFields, CallsOfToolsAreASchema) {
  const Json body = Json::parse(R"({"tools": [
    {"type": "function", "function": {"name": "f", "parameters":
      {"type": "object", "properties": {"x": {"$ref": "#/$defs/y"}}, "$defs": {"y": {"type": "string"}}}}},
    {"type": "function", "function": {"name": "g"}}], "tool_choice": "required"})");
  Fields fields(body);
  std::vector<std::string> ignored;
  const Tools tools = read_tools(fields, ignored);
  EXPECT_TRUE(tools.forced);
  const Json schema = schema_of_calls(tools);
  EXPECT_EQ(schema["$defs"]["f"]["properties"]["x"]["$ref"], "#/$defs/f/$defs/y");
  EXPECT_EQ(schema["items"]["anyOf"].size(), 2u);
  EXPECT_EQ(schema["maxItems"], 8);
  const Json one = Json::parse(R"({"tools": [{"type": "function", "function": {"name": "g"}}],
                                   "tool_choice": {"type": "function", "function": {"name": "g"}}})");
  Fields of_one(one);
  EXPECT_EQ(schema_of_calls(read_tools(of_one, ignored))["maxItems"], 1);
}

// A tool's references move with it; what looks like one in a value, or is the name of a property, stays.
TEST(RequestFields, ReferencesOfToolsAreThoseOfSchemas) {
  const Json body =
      Json::parse(R"({"tools": [{"type": "function", "function": {"name": "f", "strict": true, "parameters":
      {"$id": "x", "properties": {"const": {"$ref": "#/$defs/enum"}, "$ref": {"const": {"$ref": "#/x"}},
        "a": {"enum": [{"$ref": "#/x"}]}, "b": {"default": {"$ref": "#/x"}, "examples": [{"$ref": "#/x"}]},
        "c": {"anyOf": [{"$ref": "#"}]}}, "$defs": {"enum": {"items": {"$ref": "#/properties/a"}}}}}},
      {"type": "function", "function": {"name": "g", "strict": false}}], "tool_choice": "required"})");
  Fields fields(body);
  std::vector<std::string> ignored;
  const Tools tools = read_tools(fields, ignored);
  const Json f = schema_of_calls(tools)["$defs"]["f"];
  EXPECT_FALSE(f.contains("$id"));
  const Json& properties = f["properties"];
  EXPECT_EQ(properties["const"]["$ref"], "#/$defs/f/$defs/enum");
  EXPECT_EQ(properties["c"]["anyOf"][0]["$ref"], "#/$defs/f");
  EXPECT_EQ(f["$defs"]["enum"]["items"]["$ref"], "#/$defs/f/properties/a");
  EXPECT_EQ(properties["$ref"]["const"]["$ref"], "#/x");
  EXPECT_EQ(properties["a"]["enum"][0]["$ref"], "#/x");
  EXPECT_EQ(properties["b"]["default"]["$ref"], "#/x");
  EXPECT_EQ(properties["b"]["examples"][0]["$ref"], "#/x");
  EXPECT_EQ(strict_ones(tools).list.size(), 1u);
}

TEST(RequestFields, ErrorsOfTheLibraryAreTheClientsOrNot) {
  EXPECT_EQ(api_error(zrt::Error::of(zrt::Errc::invalid_argument, "x"), "p").param, "p");
  EXPECT_EQ(api_error(zrt::Error::of(zrt::Errc::capacity_exceeded, "x")).code, "context_length_exceeded");
  EXPECT_EQ(api_error(zrt::Error::of(zrt::Errc::out_of_memory, "x")).status, 503);
  EXPECT_EQ(api_error(zrt::Error::of(zrt::Errc::spec_violation, "x")).status, 500);
  EXPECT_EQ(error_json({400, "t", "", "p", "m\xff", 0})["error"]["code"], nullptr);
  EXPECT_EQ(text_of(Json("m\xff")), "\"m\xEF\xBF\xBD\"");
}

TEST(Metrics, CountsPerTenant) {
  Metrics metrics({"a \"model\"", "b"});
  const zrt::ModelId a{0}, b{1};
  metrics.add(a, Figure::queue, 0.002);
  metrics.add(a, Figure::first_token, 0.03);
  metrics.add(a, Figure::between_tokens, 0.03);
  metrics.add(a, Figure::prompt_tokens, 30);
  metrics.ended(a, "length");
  const zrt::TenantLedger used{.prompt_tokens = 5, .cached_tokens = 3, .delivered_tokens = 2, .requests_accepted = 1};
  metrics.set_usage("t", {used, used});
  metrics.set_load(b, {.running = 2, .report = {.memory = {.weights = 7}, .resident = true}});
  EXPECT_EQ(sum_of(*metrics.usage("t")).prompt_tokens, 10u);
  EXPECT_FALSE(metrics.usage("u"));
  const std::string text = metrics.text(true, 3);
  for (const char* line :
       {"zrt_requests_total{model_name=\"a \\\"model\\\"\",tenant=\"t\"} 1\n",
        "zrt_requests_total{model_name=\"b\",tenant=\"t\"} 1\n", "zrt_num_requests_running{model_name=\"b\"} 2\n",
        "zrt_model_memory_bytes{model_name=\"b\",part=\"weights\"} 7\n", "zrt_model_resident{model_name=\"b\"} 1\n",
        "zrt_time_to_first_token_seconds_bucket{model_name=\"a \\\"model\\\"\",le=\"0.04\"} 1\n",
        "vllm:prefix_cache_hits_total{model_name=\"a \\\"model\\\"\",engine=\"0\"} 3\n",
        "zrt_time_to_first_token_seconds_bucket{model_name=\"a \\\"model\\\"\",le=\"0.02\"} 0\n",
        "vllm:inter_token_latency_seconds_count{model_name=\"a \\\"model\\\"\",engine=\"0\"} 1\n",
        "vllm:time_per_output_token_seconds_count{model_name=\"a \\\"model\\\"\",engine=\"0\"} 1\n",
        "vllm:request_prompt_tokens_bucket{model_name=\"a \\\"model\\\"\",engine=\"0\",le=\"50\"} 1\n",
        "vllm:request_success_total{model_name=\"a \\\"model\\\"\",engine=\"0\",finished_reason=\"length\"} 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_EQ(metrics.text(false, 3).find("vllm:"), std::string::npos);
}

TEST(Metrics, ShowsATenantItsOwnAlone) {
  Metrics metrics({"a"});
  const zrt::ModelId a{0};
  metrics.add(a, Figure::prompt_tokens, 30);
  metrics.ended(a, "failed");
  metrics.set_usage("t", {{.prompt_tokens = 5, .drafts = 4}});
  metrics.set_usage("u", {{.prompt_tokens = 7}});
  metrics.set_load(a, {.running = 2, .waiting = 1, .slots = 4, .pages = 10, .pages_used = 0.5});
  metrics.set_slots(a, {{.tenant = "t", .pages = 2}, {.tenant = "u", .pages = 3}, {.tenant = "u"}});
  const std::string text = metrics.text_of("t", true);
  for (const char* line :
       {"zrt_prompt_tokens_total{model_name=\"a\",tenant=\"t\"} 5\n",
        "vllm:prompt_tokens_total{model_name=\"a\",engine=\"0\"} 5\n",
        "vllm:spec_decode_num_drafts_total{model_name=\"a\",engine=\"0\"} 4\n",
        "zrt_num_requests_running{model_name=\"a\"} 1\n", "zrt_num_requests_waiting{model_name=\"a\"} 0\n",
        "zrt_kv_cache_usage_perc{model_name=\"a\"} 0.2\n", "zrt_slots{model_name=\"a\"} 4\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  for (const char* name : {"tenant=\"u\"", "request_prompt_tokens", "ends_total", "steps_total", "success_total"})
    EXPECT_EQ(text.find(name), std::string::npos) << name << text;
  EXPECT_NE(metrics.text(true, 0).find("finished_reason=\"error\"} 1\n"), std::string::npos);
  const std::string open = metrics.text_for_routers(false);
  EXPECT_NE(open.find("zrt_num_requests_running{model_name=\"a\"} 2\n"), std::string::npos);
  metrics.arrived(a, "t");
  EXPECT_NE(metrics.text_of("t", false).find("zrt_num_requests_waiting{model_name=\"a\"} 1\n"), std::string::npos);
  EXPECT_NE(metrics.text_for_routers(false).find("zrt_num_requests_waiting{model_name=\"a\"} 2\n"), std::string::npos);
  metrics.set_slots(a, {{.tenant = "t", .embeds = true}});
  EXPECT_NE(metrics.text_of("t", false).find("zrt_num_requests_running{model_name=\"a\"} 1\n"), std::string::npos);
  EXPECT_EQ(open.find("tokens"), std::string::npos) << open;
}

}  // namespace
}  // namespace request_fields_test
