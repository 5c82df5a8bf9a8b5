// SPDX-License-Identifier: Apache-2.0
// tests/serve/mutated_requests.cpp: requests near valid ones, through all readers: each is read, or is the client's fault.
#include <zrt/engine/vocabulary.hpp>

#include <gtest/gtest.h>

#include <chat_request.hpp>
#include <completion_request.hpp>
#include <cstdio>
#include <cstdlib>
#include <embedding_request.hpp>
#include <http_reader.hpp>
#include <iostream>
#include <json_body.hpp>
#include <map>
#include <random>

namespace mutated_requests_test {
namespace {

using namespace program::server;
using State = HttpReader::State;

/// Valid bodies, by route.
struct Seed {
  const char* path;
  const char* body;
};
constexpr Seed kSeeds[] = {
    {"/v1/chat/completions",
     R"({"model":"bard","messages":[{"role":"user","content":"Hi"}],"max_tokens":1,"temperature":0.5,"seed":3,"stop":["x"],
         "logit_bias":{"3":1},"logprobs":true,"top_logprobs":2,"n":2,"stream":false,"top_p":0.9,"presence_penalty":1})"},
    {"/v1/chat/completions",
     R"({"model":"bard","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]},
         {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
         {"role":"tool","tool_call_id":"c","content":"4"}],"tools":[{"type":"function","function":{"name":"f","parameters":
         {"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}}}],
         "tool_choice":"required","parallel_tool_calls":false})"},
    {"/v1/chat/completions",
     R"({"model":"bard","messages":[{"role":"system","content":"s"},{"role":"user","content":"Hi"}],"stream":true,
         "stream_options":{"include_usage":true},"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":
         {"type":"object","properties":{"a":{"type":"integer"},"b":{"enum":["x",null]},"c":{"$ref":"#/$defs/d"},
         "e":{"type":"array","items":{"type":"string","maxLength":3}}},"required":["a"],
         "$defs":{"d":{"anyOf":[{"type":"null"},{"type":"string"}]}}}}}})"},
    {"/v1/chat/completions",
     R"({"model":"bard","messages":[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"image_url","image_url":
         {"detail":"low","url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA)"
     R"(60e6kgAAAABJRU5ErkJggg=="}}]}],"max_tokens":1})"},
    {"/v1/completions",
     R"({"model":"bard","prompt":["a","b"],"max_tokens":1,"echo":true,"logprobs":2,"suffix":null,"best_of":1,"min_p":0.1,
         "top_k":5,"repetition_penalty":1.1,"frequency_penalty":-1,"ignore_eos":true})"},
    {"/v1/completions", R"({"model":"bard","prompt":[1,2,3],"max_tokens":2,"stream":true})"},
    {"/v1/embeddings", R"({"model":"bard","input":["a",[1,2]],"encoding_format":"base64","dimensions":3})"},
};
constexpr const char* kOdd[] = {"null",
                                "true",
                                "-1",
                                "0",
                                "65",
                                "4096",
                                "4294967296",
                                "9223372036854775808",
                                "18446744073709551616",
                                "1.5",
                                "-0.0",
                                "1e308",
                                "5e-324",
                                R"("")",
                                R"("a")",
                                R"("\u0000")",
                                R"("\ud83d\ude00")",
                                "[]",
                                "{}",
                                "[[]]",
                                "[null]",
                                R"({"a":{}})",
                                R"({"":""})",
                                R"([1,"a"])",
                                R"({"$ref":"#"})",
                                R"({"type":"object"})",
                                R"({"type":["string","null"]})",
                                R"({"enum":[1,"a",{}]})",
                                R"({"pattern":"a"})",
                                R"({"type":"array","maxItems":1e9})"};
constexpr const char* kRaw[] = {
    "1e99999",          "-",       "01", "NaN", "Infinity", "\"\\ud800\"", "\"\xff\"", "\"\xc0\x80\"",
    "[[[[[[[[[[[[[[[[", "{\"a\":", "\"", "//",  "\x01",     "\\",          ","};
constexpr const char* kHeaders[] = {"Host: a",
                                    "X: \xff\xfe",
                                    "X:",
                                    ": x",
                                    "X : y",
                                    " folded: line",
                                    "X: a\rb",
                                    "Expect: 100-continue",
                                    "Content-Length: 5",
                                    "Content-Length: -1",
                                    "Content-Length: 99999999999999999999",
                                    "Transfer-Encoding: chunked",
                                    "Transfer-Encoding: gzip, chunked",
                                    "Connection: upgrade, close"};

using Random = std::mt19937_64;

std::size_t below(Random& r, std::size_t bound) { return static_cast<std::size_t>(r() % bound); }
template <class T, std::size_t N> T choose(Random& r, const T (&of)[N]) { return of[below(r, N)]; }

/// Counts the values of a body, and changes the one of that number in a drawn way.
void change_value(Json& value, std::size_t& left, Random& r, const Json& whole) {
  for (auto place = value.begin(); place != value.end(); ++place) {
    if (left-- != 0) {
      if (place->is_structured()) change_value(*place, left, r, whole);
      if (left == ~std::size_t{0}) return;
      continue;
    }
    left = ~std::size_t{0};
    switch (below(r, 8)) {
      case 0:
        value.erase(place);
        return;
      case 1:
        *place = Json::array({*place, *place});
        return;
      case 2:
        *place = whole;
        return;
      case 3:
        for (int depth = 0; depth < 70; ++depth) *place = Json::array({std::move(*place)});
        return;
      default:
        *place = Json::parse(choose(r, kOdd));
        return;
    }
  }
}
std::size_t values_of(const Json& value) {
  std::size_t count = 0;
  if (value.is_structured())
    for (const Json& one : value) count += 1 + values_of(one);
  return count;
}

void change_bytes(std::string& text, Random& r) {
  for (std::size_t left = 1 + below(r, 4); left != 0; --left) {
    const std::size_t at = below(r, text.size() + 1);
    switch (below(r, 4)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(r());
        break;
      case 1:
        text.erase(at, 1 + below(r, 8));
        break;
      case 2:
        text.insert(at, choose(r, kRaw));
        break;
      default:
        text.insert(at, text.substr(at, 20));
    }
  }
}

/// A request of HTTP whose body is a changed seed, in one piece or in chunks; now and then the framing is changed too.
std::string request(Random& r) {
  const Seed seed = choose(r, kSeeds);
  Json json = Json::parse(seed.body);
  for (std::size_t left = below(r, 4); left != 0; --left) {
    const std::size_t values = values_of(json);
    if (values == 0) break;
    std::size_t number = below(r, values);
    change_value(json, number, r, json);
  }
  std::string body = json.dump(-1, ' ', r() % 2 == 0, Json::error_handler_t::replace);
  if (below(r, 5) < 2) change_bytes(body, r);
  std::string head = std::string("POST ") + seed.path + " HTTP/1.1\r\nHost: localhost\r\n";
  if (below(r, 6) == 0) head += std::string(choose(r, kHeaders)) + "\r\n";
  std::string text;
  if (below(r, 4) == 0) {
    text = head + "Transfer-Encoding: chunked\r\n\r\n";
    char size[32];
    for (std::size_t at = 0; at < body.size();) {
      const std::string part = body.substr(at, 1 + below(r, 300));
      (void)std::snprintf(size, sizeof size, "%zx\r\n", part.size());
      text += size + part + "\r\n";
      at += part.size();
    }
    text += "0\r\n\r\n";
  } else {
    text = head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  if (below(r, 10) == 0) change_bytes(text, r);
  return text;
}

/// Reads a whole request as the server's routes do. Its status: 200 for one that an engine would be asked, or the error's.
int status_of(const std::string& text, const ServedModel& model, Random& r) {
  HttpReader reader({});
  State state = State::idle;
  for (std::size_t at = 0; at < text.size() && state != State::refused && state != State::complete;) {
    const std::size_t piece = below(r, 4) == 0 ? 1 + below(r, 50) : text.size();
    state = reader.feed(std::string_view(text).substr(at, piece));
    at += std::min(piece, text.size() - at);
  }
  if (state == State::refused) return reader.refusal().status;
  if (state != State::complete) return 408;
  const HttpRequest request = reader.take();
  try {
    const Json body = read_body(request.body);
    if (request.path == "/v1/chat/completions")
      (void)read_chat_request(body, model, "a");
    else if (request.path == "/v1/completions")
      (void)read_completion_request(body, model, "a");
    else if (request.path == "/v1/embeddings")
      (void)read_embedding_request(body, model);
    else
      return 404;
  } catch (const ApiError& error) {
    return error.status;
  }
  return 200;
}

// ZRT_MUTATED_REQUESTS=N reads as many, and ZRT_MUTATED_SEED=S others.
TEST(MutatedRequests, AreReadOrAreTheClientsFault) {
  const auto number = [](const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  };
  const std::uint64_t count = number("ZRT_MUTATED_REQUESTS", 5000), first = number("ZRT_MUTATED_SEED", 1) << 32;
  const auto file = zrt::model::GgufFile::open(ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf");
  ASSERT_TRUE(file) << file.error().text();
  auto vocabulary = zrt::read_vocabulary(*file, zrt::system_allocator());
  ASSERT_TRUE(vocabulary) << vocabulary.error().text();
  const auto tokenizer = zrt::text::Tokenizer::make(vocabulary->spec);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  auto trie = zrt::text::grammar::TokenTrie::make(*tokenizer);
  ASSERT_TRUE(trie) << trie.error().text();
  constexpr std::string_view kTemplate = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";
  auto chat_template = zrt::text::chat::ChatTemplate::make(kTemplate, "", "");
  ASSERT_TRUE(chat_template) << chat_template.error().text();
  ServedModel served;
  served.id = "bard";
  served.tokenizer = &*tokenizer;
  served.context = 256;
  served.vocabulary = static_cast<std::uint32_t>(tokenizer->vocab_size());
  served.chat_template.emplace(std::move(*chat_template));
  served.format = &zrt::text::chat::reply_format_of(kTemplate);
  served.grammars = std::make_unique<GrammarCache>(std::move(*trie));
  served.images.emplace();
  served.images->config.patch = 16;
  served.images->row_token = zrt::kNoToken;  // the template writes none
  std::map<int, std::uint64_t> found;
  for (std::uint64_t i = 0; i < count; ++i) {
    Random r(first + i);
    const std::string text = request(r);
    try {
      const int status = status_of(text, served, r);
      ++found[status];
      ASSERT_TRUE(status == 200 || (status >= 400 && status < 500))
          << "request " << i << ", status " << status << ": " << text;
    } catch (const std::exception& error) {
      FAIL() << "request " << i << ": " << error.what() << ": " << text;
    }
  }
  for (const auto& [status, requests] : found) std::cout << "status " << status << ": " << requests << "\n";
  EXPECT_GT(found[200], count / 20);
  EXPECT_GT(found[400], count / 5);
}

}  // namespace
}  // namespace mutated_requests_test
