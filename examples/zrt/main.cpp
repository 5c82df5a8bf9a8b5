// SPDX-License-Identifier: Apache-2.0
// examples/zrt/main.cpp: the command line of zrt. The only file that sees CLI11.
#include "cli_table.hpp"
#include "commands.hpp"
#include "cores.hpp"
#include "model_shapes.hpp"
#include "output.hpp"
#include <zrt/backend/pm4/target.hpp>
#include <zrt/core/version.hpp>
#include <zrt/engine/check_sampling.hpp>
#include <zrt/model/file_type.hpp>
#include <zrt/plan/order.hpp>
#include <zrt/plan/placement.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <limits>
#include <new>
#include <set>
#include <unistd.h>

namespace program {
namespace {

/// Reads a number written in decimal digits alone; false for a sign, a leading zero, or one too large for N.
template <class N> bool read_decimal(std::string_view text, N& number) {
  if (text.empty() || text[0] < '0' || text[0] > '9' || (text[0] == '0' && text.size() > 1)) return false;
  const auto [stopped, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && stopped == text.data() + text.size();
}

// What is checked before main may not allocate: nothing catches what fails there. So these become validators where
// they are used.

/// CLI11 would take 010 for octal, and a number above 2^64 for the largest.
struct Decimal {
  operator CLI::Validator() const {  // NOLINT: it stands for one
    return CLI::Validator(
        [](const std::string& text) {
          std::uint64_t number = 0;
          return read_decimal(text, number) ? std::string() : "'" + text + "' is no decimal number from 0 to 2^64 - 1";
        },
        "");
  }
};
constexpr Decimal kDecimal;

struct OneOf {
  std::initializer_list<const char*> names;
  operator CLI::Validator() const {  // NOLINT: it stands for one
    return CLI::IsMember(std::vector<std::string>(names.begin(), names.end()));
  }
};
/// Asks the library whether a request may sample by this number.
CLI::Validator sampling_number(float zrt::Sampling::* field) {
  return CLI::Validator(
      [field](const std::string& text) {
        zrt::Sampling sampling;
        const auto [stopped, code] = std::from_chars(text.data(), text.data() + text.size(), sampling.*field);
        if (code != std::errc() || stopped != text.data() + text.size()) return "'" + text + "' is no number";
        const auto checked = zrt::check(sampling);
        return checked ? std::string() : std::string(checked.error().text());
      },
      "");
}

/// An option that takes numbers from `least` to `most`, parted by commas, at least one.
template <class N>
CLI::Option* add_list(CLI::App& app, const char* names, std::vector<N>& list, N least, N most, const char* purpose) {
  const auto read = [=, &list](const CLI::results_t& given) {
    const std::string_view text = given.empty() ? std::string_view() : given.back();
    list.clear();
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      const std::string_view one = text.substr(at, end - at);
      N number{};
      if (!read_decimal(one, number) || number < least || number > most)
        throw CLI::ValidationError(names, "'" + std::string(one) + "' is no decimal number from " +
                                              std::to_string(least) + " to " + std::to_string(most));
      list.push_back(number);
      at = end + 1;
    }
    return true;
  };
  return app.add_option(names, read, purpose)->type_name("UINT,...");
}

/// Token ids; which of them the model has is known only once it is open.
CLI::Option* add_ids(CLI::App& app, const char* name, std::vector<std::int32_t>& ids, const char* purpose) {
  return add_list(app, name, ids, 0, std::numeric_limits<std::int32_t>::max(), purpose);
}

constexpr auto kBackendNames = {"cpu", "reference"};
constexpr auto kKvTypeNames = {"f32", "f16", "bf16", "q8_0", "q4_0"};
constexpr auto kRoundingNames = {"none", "plan"};
constexpr auto kPoolingNames = {"none", "mean", "cls", "last", "rank"};
constexpr auto kLossNames = {"cross-entropy", "binary-cross-entropy", "mse", "mae", "huber", "output"};
constexpr auto kScheduleNames = {"constant", "linear", "cosine"};
constexpr auto kOptimizerNames = {"sgd", "adam", "adamw"};
constexpr OneOf kLosses{kLossNames};
constexpr OneOf kSchedules{kScheduleNames};
constexpr OneOf kOptimizers{kOptimizerNames};
constexpr OneOf kBackends{kBackendNames};
constexpr OneOf kKvTypes{kKvTypeNames};
constexpr OneOf kRoundings{kRoundingNames};

/// How an option that takes a file is shown, and told to shells.
constexpr const char* kFile = "FILE";

void add_path(CLI::App& app, std::string& path) {
  app.add_option("-m,--model", path, "GGUF file")->required()->envname("ZRT_MODEL")->type_name(kFile);
}

void add_threads(CLI::App& app, std::uint32_t& threads, const char* purpose) {
  threads = default_threads();
  app.add_option("-t,--threads", threads, purpose)
      ->check(kDecimal)
      ->check(CLI::Range(1u, 1024u))
      ->envname("ZRT_THREADS")
      ->default_str("one for each physical core that the process may use");
}

CLI::Option* add_device(CLI::App& app, CardChoice& card) {
  return app.add_option(
      "--device", card.device,
      "Of vulkan: a number of zrt devices, a UUID, or software. Of pm4: emulated-gfx1201 (or another processor), a "
      "modelled card. Default: the machine's best");
}
CLI::Option* add_tier(CLI::App& app, CardChoice& card) {
  return app.add_option("--tier", card.tier, "Interface to the card's queues. Default: the first that works")
      ->check(CLI::IsMember(tiers()));
}

CLI::Option* add_layers(CLI::App& app, CardChoice& card) {
  return app
      .add_option("--device-layers", card.layers,
                  "Of vulkan: so many of the last layers run on the device with the head, those before them on the "
                  "processor; auto: as many as the device has memory for. Default: all, or auto where they do not fit")
      ->check([](const std::string& text) {
        const bool number = !text.empty() && text.size() < 6 && text.find_first_not_of("0123456789") == text.npos;
        return number || text == kLayersThatFit ? std::string() : "'" + text + "' is no number of layers, and not auto";
      });
}

void add_backend(CLI::App& app, ModelOptions& model) {
  app.add_option("--backend", model.backend,
                 "cpu, reference, vulkan for a GPU, pm4 for an AMD card by its queues, or auto: a GPU by Vulkan, else "
                 "the processor")
      ->check(CLI::IsMember(backend_choices()))
      ->capture_default_str();
  const CLI::Option* const device = add_device(app, model.card);
  const CLI::Option* const tier = add_tier(app, model.card);
  const CLI::Option* const layers = add_layers(app, model.card);
  app.parse_complete_callback([&model, device, tier, layers] {
    if (device->count() != 0 && !has_devices(model.backend))
      throw CLI::ValidationError(device->get_name(), "backend " + model.backend + " has no devices");
    if (tier->count() != 0 && !has_tiers(model.backend))
      throw CLI::ValidationError(tier->get_name(), "backend " + model.backend + " has no tiers");
    if (layers->count() != 0 && !has_layers(model.backend))
      throw CLI::ValidationError(layers->get_name(), "backend " + model.backend + " runs all layers or none");
  });
  add_threads(app, model.threads, "Workers of a step");
  app.add_flag("--cache", model.cache, "Keep weights as the processor packs them in MODEL.packed, for the next start");
}

void add_model(CLI::App& app, ModelOptions& model) {
  add_path(app, model.path);
  add_backend(app, model);
}

void add_kv(CLI::App& app, std::string& kv) {
  app.add_option("--kv", kv, "Type of keys and values in the cache: f32, f16, bf16, q8_0 or q4_0")
      ->check(kKvTypes)
      ->capture_default_str();
}

void add_act(CLI::App& app, std::string& act) {
  app.add_option("--act", act, "Rounding of activations that meet quantised weights: as the plan says, or none")
      ->check(kRoundings)
      ->capture_default_str();
}

/// What an engine takes.
constexpr std::uint32_t kMostContext = 1u << 28;

void add_context(CLI::App& app, std::uint32_t& context, const char* without) {
  app.add_option("-c,--context", context, std::string("Positions per sequence; ") + without)
      ->check(kDecimal)
      ->check(CLI::Range(1u, kMostContext));
}

CLI::Option* add_draft(CLI::App& app, ModelOptions& model) {
  app.add_option("--draft", model.draft,
                 "Tokens that a step may guess from the text so far; answers stay the same. Default: 8 with a draft "
                 "model, else 0")
      ->check(kDecimal)
      ->check(CLI::Range(0u, zrt::EngineOptions{}.chunk));
  return app
      .add_option("--draft-model", model.draft_model,
                  "GGUF file of a smaller model with the same vocabulary that guesses too")
      ->type_name(kFile);
}

constexpr const char* kOwnContext = "default: the model's own, at most 4096";

void add_sampling(CLI::App& app, zrt::Sampling& s) {
  const auto group = app.add_option_group("Sampling");
  group->add_option("--temp", s.temperature, "Temperature; 0 takes the most likely token")
      ->check(sampling_number(&zrt::Sampling::temperature))
      ->capture_default_str();
  group->add_option("--top-k", s.top_k, "Keep the k most likely tokens; 0 keeps all")
      ->check(kDecimal)
      ->capture_default_str();
  group->add_option("--top-p", s.top_p, "Keep the most likely tokens that add up to this probability")
      ->check(sampling_number(&zrt::Sampling::top_p))
      ->capture_default_str();
  group->add_option("--min-p", s.min_p, "Keep tokens at least this likely, relative to the best")
      ->check(sampling_number(&zrt::Sampling::min_p))
      ->capture_default_str();
  group->add_option("--repetition-penalty", s.repetition_penalty, "Divides the logit of seen tokens")
      ->check(sampling_number(&zrt::Sampling::repetition_penalty))
      ->capture_default_str();
  group->add_option("--frequency-penalty", s.frequency_penalty, "Subtracts per earlier occurrence")
      ->check(sampling_number(&zrt::Sampling::frequency_penalty))
      ->capture_default_str();
  group->add_option("--presence-penalty", s.presence_penalty, "Subtracts once if seen")
      ->check(sampling_number(&zrt::Sampling::presence_penalty))
      ->capture_default_str();
  group->add_option("--penalty-window", s.penalty_window, "Number of recent tokens that penalties look at")
      ->check(kDecimal)
      ->check(CLI::Range(0u, 65536u))
      ->capture_default_str();
  group->add_option("--seed", s.seed, "Same seed, same text")->check(kDecimal)->capture_default_str();
}

void add_image_limits(CLI::App& app, zrt::model::ImageLimits& limits) {
  const auto limit = [&](const char* name, std::uint32_t& value, const char* purpose) {
    app.add_option(name, value, purpose)->check(kDecimal)->check(CLI::Range(1u, 1u << 16))->capture_default_str();
  };
  limit("--image-min-tokens", limits.least, "Enlarge an image that is fewer tokens");
  limit("--image-max-tokens", limits.most, "Shrink an image that is more tokens");
}

/// Images of a prompt, each with what it needs.
void add_images(CLI::App& app, ImageOptions& o, CLI::Option* suffix) {
  const auto encoder = app.add_option("--mmproj", o.mmproj, "GGUF file of the encoder of images")->type_name(kFile);
  const auto images =
      app.add_option("--image", o.images,
                     "PNG or JPEG in the prompt, for each <|vision_start|><|image_pad|><|vision_end|> in it, or "
                     "before it if it has none; may be given several times")
          ->take_all()
          ->needs(encoder)
          ->excludes(suffix)
          ->type_name(kFile);
  encoder->needs(images);
  add_image_limits(app, o.limits);
}

void add_generate(CLI::App& app, GenerateOptions& o) {
  add_model(app, o.model);
  const auto prompt = app.add_option("-p,--prompt", o.prompt, "Text to continue");
  app.add_option("-f,--prompt-file", o.prompt_file,
                 "File with the text to continue; - is standard input. A pipe is read without this option too")
      ->excludes(prompt)
      ->type_name(kFile);
  const auto suffix = app.add_option(
      "--suffix", o.suffix, "Text after the answer: the model fills in what is missing between prompt and suffix");
  add_images(app, o.images, suffix);
  app.add_option("-n,--max-tokens", o.max_tokens, "Maximum tokens to generate")
      ->check(kDecimal)
      ->check(CLI::Range(1u, ~0u))
      ->capture_default_str();
  app.add_option("--stop", o.stop, "End before this text; may be given several times")
      ->check([](const std::string& text) { return text.empty() ? "an empty text stops nothing" : std::string(); })
      ->take_all();
  app.add_flag("--ignore-eos", o.ignore_eos, "Go on past an end-of-generation token");
  const auto grammar =
      app.add_option("--grammar", o.grammar, "File with a grammar in GBNF that the text matches")->type_name(kFile);
  app.add_option("--json-schema", o.json_schema, "File with a JSON schema that the text matches")
      ->excludes(grammar)
      ->type_name(kFile);
  app.add_option("--adapter", o.adapter, "File with a LoRA adapter; :SCALE behind it multiplies what it adds")
      ->type_name(kFile);
  add_context(app, o.context, kOwnContext);
  add_kv(app, o.kv);
  add_draft(app, o.model);
  app.add_flag("--json", o.json, "Print a line of JSON for each token, and one about the whole run at the end");
  add_sampling(app, o.sampling);
}

void add_chat_template(CLI::App& app, std::string& chat_template) {
  app.add_option("--chat-template", chat_template,
                 "File with a chat template, or chatml or plain (default: the model's own)");
}

void add_chat(CLI::App& app, ChatOptions& o) {
  add_model(app, o.model);
  app.add_option("--system", o.system, "System message");
  add_chat_template(app, o.chat_template);
  app.add_option("-n,--max-tokens", o.max_tokens, "Maximum tokens of an answer")
      ->check(kDecimal)
      ->check(CLI::Range(1u, ~0u))
      ->capture_default_str();
  app.add_flag("--hide-reasoning", o.hide_reasoning, "Do not print what the model thinks before it answers");
  add_context(app, o.context, kOwnContext);
  add_kv(app, o.kv);
  add_draft(app, o.model);
  add_sampling(app, o.sampling);
}

void add_serve(CLI::App& app, ServeOptions& o) {
  const auto count = [&app](const char* name, auto& value, std::uint32_t least, std::uint32_t most,
                            const char* purpose) {
    app.add_option(name, value, purpose)->check(kDecimal)->check(CLI::Range(least, most))->capture_default_str();
  };
  app.add_option("-m,--model", o.models, "GGUF file, or NAME=FILE; given several times, each is NAME=FILE")
      ->required()
      ->envname("ZRT_MODEL")
      ->type_name(kFile)
      ->take_all();
  add_backend(app, o.model);
  count("--memory", o.memory_mib, 0, 1u << 30,
        "MiB of all models together; who is idle makes room for others. 0: all stay in memory");
  app.add_option("--host", o.host, "Address or name to listen on, or unix:PATH")->capture_default_str();
  count("--port", o.port, 0, 65535, "Port to listen on; 0 takes a free one");
  app.add_option("--alias", o.alias, "Id of the one model (default: the file's name)");
  app.add_option("--keys", o.keys, "JSON file with tenants and their keys; SIGHUP reads it again")->type_name(kFile);
  const auto certificate =
      app.add_option("--tls-cert", o.tls_certificate, "PEM file of the certificate and its chain: speaks TLS alone")
          ->type_name(kFile);
  const auto tls_key = app.add_option("--tls-key", o.tls_key, "PEM file of its key; SIGHUP reads both again");
  tls_key->type_name(kFile)->needs(certificate);
  certificate->needs(tls_key);
  add_chat_template(app, o.chat_template);
  const auto adapters =
      app.add_option("--adapter", o.adapters,
                     "LoRA adapter as a model of its own: NAME=FILE, :SCALE behind it; of one of several models "
                     "MODEL:NAME=FILE; may be given several times")
          ->type_name("NAME=FILE")
          ->take_all();
  const auto embeddings = app.add_flag("--embeddings", o.embeddings, "Serve vectors of texts in place of text");
  embeddings->excludes(adapters);
  const auto encoders =
      app.add_option("--mmproj", o.mmproj,
                     "GGUF file of the encoder of images, so that messages may hold PNG and JPEG; of some of several "
                     "models MODEL=FILE, and may be given several times")
          ->type_name(kFile)
          ->take_all();
  embeddings->excludes(encoders);
  add_image_limits(app, o.image_limits);
  count("--slots", o.slots, 1, 4096, "Answers that are written at the same time");
  count("--queue", o.queue, 0, 65536, "Answers that wait for a slot; more are refused");
  count("--drain", o.drain_seconds, 0, 86400, "Seconds that running requests may take after SIGTERM");
  count("--longest-step-ms", o.longest_step_ms, 1, 86400000,
        "Milliseconds that a step may take before /livez says 503");
  count("--step-ms", o.step_ms, 0, 60000,
        "Milliseconds of a step that reads prompts, as far as it can be cut; 0: no target");
  count("--max-body", o.body_mib, 1, 1024, "Maximum size of a request in MiB");
  count("--http-threads", o.http_threads, 1, 256, "Threads that read requests and write answers");
  app.add_option("--cors-origin", o.origins, "Origin of pages that may use the server; may be given several times")
      ->take_all();
  app.add_option("--metrics-compat", o.metrics_compat, "Also name figures as dashboards of this server expect them")
      ->check(OneOf{{"vllm"}});
  app.add_flag("--metrics-open", o.metrics_open, "Show figures without names of tenants to clients without a key");
  add_context(app, o.context, kOwnContext);
  add_kv(app, o.kv);
  add_draft(app, o.model)->excludes(embeddings);
}

void add_logits(CLI::App& app, LogitsOptions& o) {
  add_model(app, o.model);
  add_ids(app, "--tokens", o.tokens, "Prompt as ids: 1,2,3")->required();
  const auto decode = app.add_option("--decode", o.decode, "Greedy steps after the prompt")->check(kDecimal);
  add_ids(app, "--feed", o.feed, "Ids to feed one by one after the prompt")->excludes(decode);
  app.add_option("-o,--out", o.out, "File to write: ZRTL, version, n_vocab, n_rows; per row the id fed and its logits")
      ->required()
      ->type_name(kFile);
  add_act(app, o.act);
  add_kv(app, o.kv);
  add_context(app, o.context, "default: the model's context_length");
  app.add_flag("--json", o.json, "Print JSON about the file that was written");
}

void add_tokenize(CLI::App& app, TokenizeOptions& o) {
  add_path(app, o.path);
  const auto source = app.add_option_group("Input");
  source->add_option("--text", o.text, "Text, or ids with --decode");
  source->add_option("--file", o.file, "File with the text, or with the ids")->type_name(kFile);
  source->require_option(1);
  app.add_flag("--decode", o.decode, "Turn ids into text");
  app.add_flag("--special", o.special, "Add BOS and EOS as the model wants; read and write control tokens as text");
  app.add_flag("--json", o.json, "Print JSON");
}

void add_inspect(CLI::App& app, InspectOptions& o) {
  add_path(app, o.path);
  app.add_flag("--json", o.json, "Print JSON");
}

void add_plan(CLI::App& app, PlanOptions& o) {
  add_model(app, o.model);
  const auto format =
      app.add_option("--format", o.format, "text, json, dot for Graphviz, or html: a page that draws it")
          ->check(CLI::IsMember({"text", "json", "dot", "html"}))
          ->capture_default_str();
  app.add_flag_callback("--json", [&o] { o.format = "json"; }, "The same as --format json")->excludes(format);
  app.add_flag("--memory", o.memory,
               "Print the memory map (weights, KV pages, state, arena) instead of the instructions");
  app.add_option("--slots", o.slots, "Sequences at the same time")
      ->check(kDecimal)
      ->check(CLI::Range(1u, 4096u))
      ->capture_default_str();
  add_context(app, o.context, kOwnContext);
  add_kv(app, o.kv);
  add_act(app, o.act);
}

/// The names of the types that a model's file can have.
std::vector<std::string> file_type_names() {
  std::vector<std::string> types;
  for (const zrt::model::FileType& row : zrt::model::kFileTypes) types.emplace_back(row.name);
  for (const zrt::model::FileTypeAlias& row : zrt::model::kFileTypeAliases) types.emplace_back(row.name);
  return types;
}

/// The file to write.
void add_out(CLI::App& app, std::string& out) {
  app.add_option("-o,--out", out, "File to write; it appears when it is complete")->required()->type_name(kFile);
}

/// The type of a model's file, and the file to write.
void add_new_file(CLI::App& app, std::string& type, std::string& out) {
  app.add_option("--type", type, "Type of the matrices; the list begins with the largest")
      ->required()
      ->check(CLI::IsMember(file_type_names()));
  add_out(app, out);
}

void add_pure(CLI::App& app, bool& pure) {
  app.add_flag("--pure", pure, "Give every matrix the type itself, the head too");
}

void add_convert(CLI::App& app, ConvertOptions& o) {
  app.add_option("-m,--model", o.path, "Folder with config.json, *.safetensors and the tokenizer's files")
      ->required()
      ->type_name("FOLDER");
  std::vector<std::string> types = file_type_names();
  types.emplace_back("auto");
  app.add_option("--type", o.type, "Type of the matrices; auto: that of the folder's, f16 for f32")
      ->check(CLI::IsMember(types));
  add_out(app, o.out);
  app.add_option("--name", o.name, "Name of the model (general.name); default: the folder's");
  app.add_option("--pre", o.pre, "Pre-tokenizer (tokenizer.ggml.pre) of a vocabulary whose own is not known");
  add_threads(app, o.threads, "Workers");
  app.add_flag("--json", o.json, "Print JSON");
}

void add_quantize(CLI::App& app, QuantizeOptions& o) {
  add_path(app, o.path);
  add_new_file(app, o.type, o.out);
  app.add_option("--imatrix", o.importance, "Importance matrix (GGUF) that says how much each column's error counts")
      ->type_name(kFile);
  add_pure(app, o.pure);
  app.add_flag("--from-blocks", o.from_blocks, "Accept a file that is quantised already; quality is lost");
  add_threads(app, o.threads, "Workers");
  app.add_flag("--verbose", o.verbose, "List the tensors with types and errors");
  app.add_flag("--json", o.json, "Print JSON");
}

void add_perplexity(CLI::App& app, PerplexityOptions& o) {
  add_model(app, o.model);
  app.add_option("-f,--file", o.file, "Text to score")->required()->type_name(kFile);
  add_context(app, o.context, kOwnContext);
  add_kv(app, o.kv);
  add_act(app, o.act);
  app.add_flag("--json", o.json, "Print JSON");
}

void add_embed(CLI::App& app, EmbedOptions& o) {
  add_model(app, o.model);
  const auto prompt = app.add_option("-p,--prompt", o.prompts, "Text to embed; may be given several times")->take_all();
  app.add_option("-f,--prompt-file", o.prompt_file,
                 "File with a text on each line; - is standard input, which is read without texts too")
      ->excludes(prompt)
      ->type_name(kFile);
  app.add_option("--pooling", o.pooling,
                 "Pooling of the tokens' vectors: none, mean, cls, last, or rank for scores of lines with a query, a "
                 "tab and a document. Default: as the file says")
      ->check(OneOf{kPoolingNames});
  app.add_flag("--raw", o.raw, "Do not scale the vectors to length 1");
  app.add_flag("--special", o.special, "Read control tokens written in the texts as such");
  add_context(app, o.context, kOwnContext);
  add_kv(app, o.kv);
  app.add_flag("--json", o.json,
               "Print JSON; else a line of numbers for each vector, with none an empty one between texts");
}

/// The names of a list of enumerators.
template <class List> CLI::IsMember names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto entry : list) names.emplace_back(name(entry));
  return CLI::IsMember(names);
}
void add_fit(CLI::App& app, std::string& fit) {
  app.add_option("--fit", fit,
                 "Packing of tensors in the arena: the first gap that fits, the best, or whichever needs least")
      ->check(names_of(zrt::plan::kFits))
      ->capture_default_str();
}

void add_ptir_run(CLI::App& app, PtirOptions& o) {
  app.add_option("file", o.file, "Program: .json, .onnx, or text under any other name")->required()->type_name(kFile);
  app.add_option("--feed", o.feeds,
                 "An input, by name or as %id, from a .npy file, or all of a .npz file; may be given several times")
      ->type_name("NAME=FILE")
      ->take_all();
  app.add_option("--backend", o.backend, "cpu or reference")->check(kBackends)->capture_default_str();
  add_threads(app, o.threads, "Workers");
  app.add_option("--ordering", o.ordering,
                 "Order of instructions: the program's, or one that usually needs less memory")
      ->check(names_of(zrt::plan::kOrderings))
      ->capture_default_str();
  add_fit(app, o.fit);
  app.add_option("--trip-limit", o.trip_limit, "Maximum trips of a loop; one more ends the run. Default: 2^32")
      ->check(kDecimal);
  app.add_option("--unrolled-trips", o.unrolled_trips,
                 "Maximum trips of an ONNX Loop with scan outputs, which is unrolled. Default: 256")
      ->check(kDecimal);
  app.add_option("--dump", o.dump, "Print the plan, the program for Graphviz, or the program as C, and do not run it")
      ->check(CLI::IsMember({"plan", "dot", "c"}));
  app.add_option("--out", o.out,
                 "Folder for the outputs as .npy files, created if missing, or one .npz file. Default: print them");
  app.add_flag("--json", o.json, "Print JSON");
}

/// Extents of symbols.
void add_extents(CLI::App& app, std::map<std::string, std::uint32_t>& extents) {
  const auto read = [&extents](const CLI::results_t& given) {
    for (const std::string& one : given) {
      const std::size_t equals = one.find('=');
      std::uint32_t number = 0;
      if (equals == std::string::npos || equals == 0 ||
          !read_decimal(std::string_view(one).substr(equals + 1), number) || number == 0)
        throw CLI::ValidationError("--extent", "'" + one + "' is no SYMBOL=NUMBER");
      extents[one.substr(0, equals)] = number;
    }
    return true;
  };
  app.add_option("--extent", read, "Extent of a symbol of an ONNX file; may be given several times")
      ->type_name("SYMBOL=UINT")
      ->take_all();
}

void add_ptir_convert(CLI::App& app, PtirConvertOptions& o) {
  app.add_option("file", o.file, "Program: .json, .onnx, or text under any other name")->required()->type_name(kFile);
  app.add_option("-o,--out", o.out,
                 "File to write, as JSON if it ends in .json; with --to c the folder. Default: stdout")
      ->type_name(kFile);
  app.add_option("--to", o.to, "Form to write, whatever the file is called")
      ->check(CLI::IsMember({"text", "json", "c"}));
  app.add_option("--name", o.name, "With --to c: name of the function and its files. Default: program");
  app.add_flag("--thread-hook", o.thread_hook, "With --to c: the function takes threads to share products among");
  add_extents(app, o.extents);
}

void add_onnx_inspect(CLI::App& app, InspectOnnxOptions& o) {
  app.add_option("file", o.file, "ONNX file")->required()->type_name(kFile);
  app.add_option("--backend", o.backend, "cpu or reference")->check(kBackends)->capture_default_str();
  add_extents(app, o.extents);
  app.add_flag("--json", o.json, "Print JSON");
}

void add_onnx_bench(CLI::App& app, BenchOnnxOptions& o) {
  app.add_option("file", o.file, "ONNX file")->required()->type_name(kFile);
  app.add_option("--feed", o.feeds, "An input from a .npy file, or all of a .npz file; others are ones")
      ->type_name("NAME=FILE")
      ->take_all();
  app.add_option("--backend", o.backend, "cpu or reference")->check(kBackends)->capture_default_str();
  add_threads(app, o.threads, "Workers");
  app.add_option("-r,--runs", o.runs, "Runs to measure")
      ->check(kDecimal)
      ->check(CLI::Range(1u, 100000u))
      ->capture_default_str();
  add_extents(app, o.extents);
  app.add_flag("--json", o.json, "Print JSON");
}

void add_fused_run(CLI::App& app, FusedOptions& o) {
  app.add_option("file", o.file, "Fused program as JSON")->required()->type_name(kFile);
  app.add_option("--feed", o.feeds,
                 "A feed, by its id, from a .npy file, or all of a .npz file; may be given several times")
      ->type_name("ID=FILE")
      ->take_all();
  app.add_option("--backend", o.backend, "cpu or reference")->check(kBackends)->capture_default_str();
  add_threads(app, o.threads, "Workers");
  add_fit(app, o.fit);
  app.add_flag("--training", o.training, "Run in training mode: dropout drops, and states are updated");
  app.add_option("--seed", o.seed, "Key of random draws without a key of their own")
      ->check(kDecimal)
      ->capture_default_str();
  app.add_option("--dump", o.dump, "Print the program as C, with the mode as an argument, and do not run it")
      ->check(CLI::IsMember({"c"}));
  app.add_option("--out", o.out, "Folder for the outputs as .npy files, created if missing. Default: print them");
  app.add_flag("--json", o.json, "Print JSON");
}

void add_train(CLI::App& app, TrainOptions& o) {
  app.add_option("file", o.file, "Program: .onnx, a fused program as .json, or PTIR as .json or text")
      ->required()
      ->type_name(kFile);
  const auto add_file = [&](const char* name, std::string& value, const char* purpose) {
    return app.add_option(name, value, purpose)->type_name(kFile);
  };
  const auto add_number = [&](const char* name, double& value, double most, const char* purpose) {
    app.add_option(name, value, purpose)->check(CLI::Range(0.0, most))->capture_default_str();
  };
  const auto count = [&](const char* name, std::uint64_t& value, std::uint64_t least, const char* purpose) {
    app.add_option(name, value, purpose)
        ->check(kDecimal)
        ->check(CLI::Range(least, std::uint64_t{1} << 40))
        ->capture_default_str();
  };
  constexpr double kMost = 1e6, kBelowOne = 0.9999999;
  add_file("--data", o.data, "Examples: a .npz archive whose tensors bear the names of inputs")->required();
  app.add_option("--target", o.target, "Tensor of the examples that the loss compares with")->type_name("NAME");
  add_file("--validation", o.validation, "Examples that are held out, as --data");
  app.add_option("--hold-out", o.hold_out, "Share of the examples, their last, that is held out")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  add_file("--parameters", o.parameters, "First values of parameters: a .npz archive. Default: the file's, or drawn");
  app.add_option("--freeze", o.freeze, "Parameters that keep their values, \"*\" for any characters; several times")
      ->type_name("NAME")
      ->take_all();
  app.add_option("--loss", o.loss, "What is made small: output is the program's own output")
      ->check(kLosses)
      ->capture_default_str();
  app.add_option("--output", o.output, "Output that the loss reads. Default: the first")->type_name("NAME");
  app.add_option("--class-axis", o.class_axis, "Axis of the classes in the output, for cross-entropy")
      ->check(CLI::Range(-8, 7))
      ->capture_default_str();
  app.add_option("--optimizer", o.optimizer, "How gradients move parameters")
      ->check(kOptimizers)
      ->capture_default_str();
  add_number("--rate", o.rate, kMost, "Learning rate");
  add_number("--momentum", o.momentum, kBelowOne, "Share of the last step that sgd keeps");
  app.add_flag("--nesterov", o.nesterov, "Let sgd look ahead by its momentum");
  add_number("--weight-decay", o.weight_decay, kMost, "Pull of parameters towards 0");
  add_number("--beta1", o.beta1, kBelowOne, "Share of the gradient's mean that adam keeps");
  add_number("--beta2", o.beta2, kBelowOne, "Share of the gradient's square that adam keeps");
  add_number("--epsilon", o.epsilon, kMost, "Least divisor of adam");
  add_number("--clip-norm", o.clip_norm, kMost, "Greatest length of all gradients together; 0 for none");
  app.add_option("--schedule", o.schedule, "How the rate goes to --last-rate")
      ->check(kSchedules)
      ->capture_default_str();
  add_number("--last-rate", o.last_rate, kMost, "Rate of the last step, but for a constant one");
  count("--warmup", o.warmup, 0, "Steps in which the rate grows from 0");
  count("--steps", o.steps, 1, "Steps in all");
  count("--epochs", o.epochs, 0, "Times that all examples are seen, in place of --steps");
  app.add_option("--batch", o.batch, "Examples of a step")
      ->check(kDecimal)
      ->check(CLI::Range(1u, 1u << 20))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "Key of the order of examples, of first values and of dropout")
      ->check(kDecimal)
      ->capture_default_str();
  app.add_option("--backend", o.backend, "cpu or reference")->check(kBackends)->capture_default_str();
  add_threads(app, o.threads, "Workers");
  count("--print", o.print, 1, "Steps from one line of progress, and one look at held-out examples, to the next");
  add_file("--checkpoint", o.checkpoint,
           "File to keep the training in: a .npz archive, at the end and every --every steps");
  count("--every", o.every, 0, "Steps from one checkpoint to the next; 0 for the end alone");
  add_file("--resume", o.resume, "Checkpoint to go on from");
  add_file("--out", o.out, "File for the trained parameters: .npz, or .onnx for the model with them");
  add_file("--curve", o.curve, "File for the loss by steps, as an SVG drawing");
  app.add_flag("--json", o.json, "Print an object for each line of progress");
}

std::set<std::string> pm4_targets() {
  std::set<std::string> names;
  for (const zrt::pm4::TargetFacts& target : zrt::pm4::kTargets) names.emplace(target.name);
  return names;
}

void add_pm4_decode(CLI::App& app, Pm4DecodeOptions& o) {
  app.add_option("file", o.file, "Packet stream: dwords, little-endian")->required()->type_name(kFile);
  app.add_option("--target", o.target, "Processor that the stream is for")
      ->check(CLI::IsMember(pm4_targets()))
      ->capture_default_str();
  app.add_flag("--indirect", o.indirect, "The stream is an indirect buffer, not a ring");
  app.add_flag("--json", o.json, "Print JSON");
}

void add_pm4_pack(CLI::App& app, Pm4PackOptions& o) {
  app.add_option("file", o.file, "Code object for RDNA3 or RDNA4, as clang writes it (.hsaco)")
      ->required()
      ->type_name(kFile);
  app.add_option("--kernel", o.kernel, "Kernel to pack. Default: the only one");
  app.add_option("--constant", o.constants, "A constant and its placeholder in the code; may be given several times")
      ->type_name("NAME=0xHEX")
      ->take_all();
  app.add_option("-o,--out", o.out, "File to write (.zrt)")->required()->type_name(kFile);
}

void add_pm4_run(CLI::App& app, Pm4RunOptions& o) {
  app.add_option("folder", o.folder, "Folder with case.json, the ring, and memory before and after")->required();
  app.add_flag("--json", o.json, "Print JSON");
}

void add_pm4_card(CLI::App& app, Pm4CardOptions& o) {
  add_device(app, o.card);
  app.add_option("--kernel", o.card.kernel, "Linux version of a modelled card")
      ->check(CLI::IsMember(modelled_kernels()))
      ->capture_default_str();
}
void add_pm4_tier(CLI::App& app, Pm4CardOptions& o) {
  add_pm4_card(app, o);
  add_tier(app, o.card);
}
void add_pm4_memtest(CLI::App& app, Pm4CardOptions& o) {
  add_pm4_tier(app, o);
  app.add_option("--cycles", o.cycles, "Cycles to run")->check(kDecimal)->capture_default_str();
}

void add_watch(CLI::App& app, WatchOptions& o) {
  add_model(app, o.model);
  app.add_option("-p,--prompt", o.prompt, "Text to continue");
  app.add_option("-n,--max-tokens", o.max_tokens, "Maximum tokens to generate per request")
      ->check(kDecimal)
      ->check(CLI::Range(1u, ~0u))
      ->capture_default_str();
  app.add_option("-r,--requests", o.requests, "Requests with the same prompt, each with its own seed")
      ->check(kDecimal)
      ->check(CLI::Range(1u, 65536u))
      ->capture_default_str();
  app.add_option("--slots", o.slots, "Requests that run at the same time; others wait")
      ->check(kDecimal)
      ->check(CLI::Range(1u, 4096u))
      ->capture_default_str();
  app.add_flag("--ignore-eos", o.ignore_eos, "Go on past an end-of-generation token");
  app.add_option("--seed", o.seed, "Seed of the first request")->check(kDecimal)->capture_default_str();
  add_context(app, o.context, kOwnContext);
  add_kv(app, o.kv);
}

void add_trace(CLI::App& app, TraceOptions& o) {
  add_watch(app, o.watch);
  app.add_option("-o,--out", o.out, "File to write: Chrome trace events as JSON, for ui.perfetto.dev")
      ->required()
      ->type_name(kFile);
  app.add_option("--buffer", o.buffer_mib, "MiB for recorded calls; steps that do not fit are dropped and counted")
      ->check(kDecimal)
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{65536}))
      ->capture_default_str();
}

void add_top(CLI::App& app, TopOptions& o) {
  add_watch(app, o.watch);
  app.add_option("--interval", o.interval_ms, "Milliseconds between two views")
      ->check(kDecimal)
      ->check(CLI::Range(10u, 60000u))
      ->capture_default_str();
}

void add_record(CLI::App& app, RecordOptions& o) {
  add_watch(app, o.watch);
  app.add_option("-o,--out", o.out, "File to write (.zrtr)")->required()->type_name(kFile);
  app.add_option("--stagger", o.stagger, "Steps from one request to the next; 0 submits all before the first step")
      ->check(kDecimal)
      ->capture_default_str();
  app.add_option("--chunk", o.chunk, "Maximum prompt tokens in a step, a multiple of 16")
      ->check(kDecimal)
      ->check(CLI::Range(16u, 8192u))
      ->capture_default_str();
  app.add_option("--step-latency", o.step_latency_ms,
                 "Milliseconds that a step with prompt tokens should take at most: prompts are cut by the clock")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
}

void add_replay(CLI::App& app, ReplayOptions& o) {
  app.add_option("file", o.file, "Recording, as zrt record writes it")->required()->type_name(kFile);
  add_model(app, o.model);
}

void add_validate(CLI::App& app, ValidateOptions& o) {
  app.add_option("-m,--model", o.path, "GGUF file")->envname("ZRT_MODEL")->type_name(kFile);
  app.add_option("--ptir,--onnx", o.program, "Tensor program in place of a model: .json, .onnx, or text")
      ->type_name(kFile);
  app.add_option("--feed", o.feeds, "An input of the program, by name or as %id, from a .npy file")
      ->type_name("NAME=FILE")
      ->take_all();
  app.add_option("--backends", o.backends,
                 "Two of cpu, reference and pm4; the first chooses the tokens. For a tensor program: two of cpu, "
                 "reference and c")
      ->required()
      ->delimiter(',')
      ->expected(1, 2)
      ->type_name("NAME,NAME");
  add_device(app, o.card);
  add_tier(app, o.card);
  add_threads(app, o.threads, "Workers of a step");
  const auto prompt = app.add_option("-p,--prompt", o.prompt, "Text to read")->capture_default_str();
  add_ids(app, "--tokens", o.tokens, "Prompt as ids: 1,2,3")->excludes(prompt);
  app.add_option("--steps", o.steps, "Greedy decode steps after the prompt")->check(kDecimal)->capture_default_str();
  app.add_option("--chunk", o.chunk, "Maximum prompt tokens in a step, a multiple of 16")
      ->check(kDecimal)
      ->check(CLI::Range(16u, 8192u))
      ->capture_default_str();
  app.add_flag("--layers", o.layers, "Go on past a difference, and show how each layer agrees");
  add_context(app, o.context, kOwnContext);
  add_kv(app, o.kv);
  add_act(app, o.act);
  app.add_flag("--json", o.json, "Machine-readable output");
}

void add_imatrix(CLI::App& app, ImatrixOptions& o) {
  add_path(app, o.path);
  app.add_option("--data", o.data, "Text that is typical of the model's use; the last part of a chunk is left out")
      ->required()
      ->type_name(kFile);
  add_out(app, o.out);
  app.add_option("-c,--context", o.chunk, "Tokens of a chunk, each of which begins a text")
      ->check(kDecimal)
      ->check(CLI::Range(16u, 1u << 20))
      ->capture_default_str();
  app.add_option("--chunks", o.chunks, "Maximum chunks to read; 0 reads all")->check(kDecimal)->capture_default_str();
  add_threads(app, o.threads, "Workers of a step");
  add_kv(app, o.kv);
  add_act(app, o.act);
  app.add_flag("--json", o.json, "Print JSON");
}

void add_make_model(CLI::App& app, MakeModelOptions& o) {
  app.add_option("--arch", o.architecture, "Family of the model, as general.architecture names it")->required();
  app.add_option("--shape", o.shape,
                 "Sizes of the model: a file of KEY=VALUE words, or one of" + shape_names() +
                     "; the last is there for each family")
      ->type_name(kFile);
  app.add_option("--set", o.set, "A key of the architecture in place of the shape's, or beside it")
      ->type_name("KEY=VALUE")
      ->take_all();
  add_new_file(app, o.type, o.out);
  add_pure(app, o.pure);
  app.add_option("--seed", o.seed, "Same seed, same bytes")->check(kDecimal)->capture_default_str();
  add_threads(app, o.threads, "Workers");
  app.add_flag("--json", o.json, "Print JSON");
}

void add_simulate(CLI::App& app, SimulateOptions& o) {
  app.add_option("--seeds", o.seeds, "Runs, each from a seed of its own")
      ->check(kDecimal)
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "The first seed")->check(kDecimal)->capture_default_str();
}

/// Longer than any context, and few enough to count in 32 bits for hundreds of sequences.
constexpr std::uint32_t kMostBenchTokens = 1u << 20;

void add_bench(CLI::App& app, BenchOptions& o) {
  add_model(app, o.model);
  const auto of_rows = [&o](CLI::Option* option) {
    return option->each([&o](const std::string&) { o.rows_asked = true; });
  };
  of_rows(app.add_option("-p,--prompt-tokens", o.prompt_tokens, "Tokens of a prefill; 0 skips it"))
      ->check(kDecimal)
      ->check(CLI::Range(0u, kMostBenchTokens))
      ->capture_default_str();
  app.add_option("-n,--generated-tokens", o.generated_tokens, "Tokens of a decode; 0 skips it")
      ->check(kDecimal)
      ->check(CLI::Range(0u, kMostBenchTokens))
      ->capture_default_str();
  app.add_option("-d,--depth", o.depth, "Tokens in the cache before a decode")
      ->check(kDecimal)
      ->check(CLI::Range(0u, kMostBenchTokens))
      ->capture_default_str();
  of_rows(add_list(app, "-b,--batch", o.batches, 1u, 4096u, "Sequences at the same time, one row of the table each"))
      ->default_str("1,4,16");
  of_rows(app.add_option("-r,--repetitions", o.repetitions, "Minimum runs of each row"))
      ->check(kDecimal)
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  add_kv(app, o.kv);
  app.add_flag("--json", o.json, "Print JSON");
}

template <class Options>
void add(CLI::App& app, const char* name, const char* purpose, void (*describe)(CLI::App&, Options&),
         int (*run)(const Options&), int& status) {
  const auto options = std::make_shared<Options>();
  const auto command = app.add_subcommand(name, purpose);
  // With one of these a command reads the environment only when it is the one called.
  command->parse_complete_callback([] {});
  describe(*command, *options);
  command->callback([options, run, &status] { status = run(*options); });
}

/// What a list of values is shown as: "{a,b}" -> a and b.
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> choices;
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return choices;
  for (std::size_t at = open + 1; at < close;) {
    const std::size_t end = std::min(type.find(',', at), close);
    choices.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return choices;
}

OptionRow row_of(const CLI::Option& option) {
  OptionRow row;
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  row.is_argument = row.names.empty();
  if (row.is_argument) row.names.push_back(option.get_name());
  row.purpose = option.get_description();
  if (option.get_items_expected_max() != 0) {
    const std::string type = option.get_type_name();
    row.choices = choices_of(type);
    row.type = type.substr(0, type.find_first_of(":{ "));
    if (row.type.empty()) row.type = "TEXT";
    row.is_file = row.type == kFile;
  }
  row.standard = option.get_default_str();
  row.variable = option.get_envname();
  return row;
}

/// The options of a command; those of a group of options are a nameless command's.
void add_rows(const CLI::App& app, std::vector<OptionRow>& rows) {
  for (const CLI::Option* option : app.get_options()) rows.push_back(row_of(*option));
  for (const CLI::App* group : app.get_subcommands(nullptr))
    if (group->get_name().empty()) add_rows(*group, rows);
}

void add_rows(const CLI::App& app, const std::string& before, std::vector<CommandRow>& rows) {
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name().empty()) continue;
    const std::string name = before + command->get_name();
    const std::size_t known = rows.size();
    add_rows(*command, name + " ", rows);
    if (rows.size() != known) continue;
    rows.push_back({name, command->get_description(), {}});
    add_rows(*command, rows.back().options);
  }
}

CliTable table_of(const CLI::App& app) {
  CliTable table;
  table.purpose = app.get_description();
  add_rows(app, table.options);
  add_rows(app, "", table.commands);
  return table;
}

/// Changes of a letter that make one text of the other.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

/// ": did you mean X?" for the nearest of `names`, empty if none is near.
std::string suggestion(const std::string& typed, const std::vector<std::string>& names) {
  std::string best;
  std::size_t least = std::min<std::size_t>(3, typed.size() / 2 + 1);  // half of the letters stay
  for (const std::string& name : names)
    if (const std::size_t changes = distance(typed, name); changes < least) least = changes, best = name;
  return best.empty() ? "" : "; did you mean " + best + "?";
}

/// The command that was being read.
const CLI::App& last_command(const CLI::App& app) {
  const auto called = app.get_subcommands();
  return called.empty() ? app : last_command(*called.back());
}

std::string name_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? "zrt" : name_of(*app.get_parent()) + " " + app.get_name();
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  if (const std::size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

/// What is wrong with the number of an option's values.
std::string mismatch_text(const std::string& what) {
  if (what.find(": At Most ") == std::string::npos) return what.substr(0, what.find(':')) + " needs a value";
  return replaced(replaced(what, ": At Most ", " takes at most "), " required but received ", ", found ");
}

/// What is wrong with a call, without CLI11's words.
std::string in_plain_words(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = last_command(app);
  const std::string name = name_of(command);
  const std::string help = "; " + name + " --help lists what there is";
  std::vector<OptionRow> options;
  add_rows(command, options);
  std::vector<std::string> commands;
  for (const CLI::App* one : command.get_subcommands(nullptr))
    if (!one->get_name().empty()) commands.push_back(one->get_name());
  std::string what = error.what();
  const auto extras = command.remaining(true);
  if (!extras.empty() && !commands.empty() && !extras.front().starts_with("-"))
    return "'" + extras.front() + "' is no command of " + name + suggestion(extras.front(), commands) + help;
  if (!extras.empty() && (!commands.empty() || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)) {
    if (!extras.front().starts_with("-")) return "'" + extras.front() + "' is one word too many for " + name + help;
    std::vector<std::string> names;
    for (const OptionRow& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
    return name + " has no option " + extras.front() + suggestion(extras.front(), names) + help;
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (!commands.empty()) return name + " needs a command" + help;
    if (what.find("Exactly 1 option from [") != std::string::npos) {
      const std::size_t first = what.find('[') + 1;
      return name + " needs one of " + what.substr(first, what.find(']') - first) + help;
    }
    return name + " needs " + replaced(what, " is required", "") + help;
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return replaced(what, " excludes ", " and ") + " exclude each other: give one of them" + help;
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return mismatch_text(what) + help;
  what = replaced(what, " not in {", " is none of {");
  what = replaced(what, "Value ", "");
  what = replaced(what, " not in range ", " is outside ");
  what = replaced(what, "Could not convert: ", "cannot read the number of ");
  return what + help;
}

/// The words of a call, backwards, as CLI11 takes them. `--name=` has an empty value, for which CLI11 would take the next
/// word.
std::vector<std::string> words_backwards(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = argc - 1; i > 0; --i) {
    const std::string_view word = argv[i];
    const bool empty_value = word.starts_with("--") && word.size() > 3 && word.find('=') == word.size() - 1;
    if (empty_value) words.emplace_back();
    words.emplace_back(empty_value ? word.substr(0, word.size() - 1) : word);
  }
  return words;
}

int print_page(const std::string& page) { return print(page) ? kOk : cannot_write("stdout"); }

int run(int argc, char** argv) {
  CLI::App app("Runs language models from GGUF files, and tensor programs from PTIR and ONNX files.", "zrt");
  app.set_version_flag("--version", "zrt " + std::string(zrt::version()), "Print the version and exit");
  app.require_subcommand(1);
  int status = kOk;
  add(app, "generate", "Continue a text", &add_generate, &generate, status);
  add(app, "chat", "Talk with a model", &add_chat, &chat, status);
  add(app, "serve", "Serve the OpenAI API and a chat page over HTTP", &add_serve, &serve_model, status);
  add(app, "logits", "Write the logits of given tokens to a file", &add_logits, &logits, status);
  add(app, "tokenize", "Turn text into token ids, or ids into text", &add_tokenize, &tokenize, status);
  add(app, "inspect", "Show a file's metadata and tensors, and whether this build runs it", &add_inspect, &inspect,
      status);
  add(app, "plan", "Show a model's instructions or memory on a backend", &add_plan, &plan, status);
  add(app, "quantize", "Write a model with its matrices in another weight type", &add_quantize, &quantize, status);
  add(app, "convert", "Convert a Hugging Face folder to a GGUF file", &add_convert, &convert, status);
  add(app, "imatrix", "Measure on a text how much each column of each matrix matters", &add_imatrix, &imatrix, status);
  add(app, "make-model", "Write a model of random weights", &add_make_model, &make_model, status);
  add(app, "perplexity", "Score a text by its perplexity", &add_perplexity, &perplexity, status);
  add(app, "embed", "Turn texts into vectors, or score documents for queries", &add_embed, &embed, status);
  const auto ptir = app.add_subcommand("ptir", "Tensor programs: portable tensor IR or ONNX");
  ptir->require_subcommand(1);
  add(*ptir, "run", "Run a program on tensors from files", &add_ptir_run, &ptir_run, status);
  add(*ptir, "convert", "Write a program as text, JSON or C, an ONNX file too", &add_ptir_convert, &ptir_convert,
      status);
  const auto onnx = app.add_subcommand("onnx", "ONNX files: what they hold and need, their results, their speed");
  onnx->require_subcommand(1);
  add(*onnx, "inspect", "Show inputs, outputs, operators, what is refused, and what a run takes", &add_onnx_inspect,
      &onnx_inspect, status);
  add(*onnx, "run", "Run a file on tensors from files", &add_ptir_run, &ptir_run, status);
  add(*onnx, "bench", "Measure preparing and running", &add_onnx_bench, &onnx_bench, status);
  const auto fused = app.add_subcommand("fused", "Fused programs: steps in order, in evaluation or training");
  fused->require_subcommand(1);
  add(*fused, "run", "Run a program on tensors from files", &add_fused_run, &fused_run, status);
  add(app, "train", "Train a tensor program on examples from files", &add_train, &train, status);
  const auto pm4 = app.add_subcommand("pm4", "Packets of AMD's compute queues");
  pm4->require_subcommand(1);
  add(*pm4, "decode", "Print a packet stream, and refuse what a queue would refuse", &add_pm4_decode, &pm4_decode,
      status);
  add(*pm4, "pack", "Pack a kernel of a code object as a .zrt file", &add_pm4_pack, &pm4_pack, status);
  add(*pm4, "run", "Run a recorded ring on the device model", &add_pm4_run, &pm4_run, status);
  add(*pm4, "probe", "Show which interfaces to a card's queues work, and why others do not", &add_pm4_card, &pm4_probe,
      status);
  add(*pm4, "memtest", "Create and release queues and memory in random order", &add_pm4_memtest, &pm4_memtest, status);
  add(*pm4, "selftest", "Run each packet and kernel once on a card and compare the results", &add_pm4_tier,
      &pm4_selftest, status);
  const auto listed = app.add_subcommand("devices", "List what this machine can compute on, and why not on more");
  listed->callback([&] { status = devices(); });
  add(app, "trace", "Run requests and write what ran when, for Perfetto", &add_trace, &trace, status);
  add(app, "top", "Run requests and show live where the time goes", &add_top, &top, status);
  add(app, "record", "Run requests and write down what the engine did, for zrt replay", &add_record, &record, status);
  add(app, "replay", "Run a recording again, up to the first difference", &add_replay, &replay, status);
  add(app, "validate", "Run two backends on the same tokens and compare what every instruction writes", &add_validate,
      &validate, status);
  add(app, "simulate", "Run the scheduler of tenants on a modelled machine and check what it promises", &add_simulate,
      &simulate_tenants, status);
  add(app, "bench", "Measure prefill and decode, beside what the machine can do", &add_bench, &bench, status);
  std::string shell;
  const auto completion = app.add_subcommand("completion", "Print a script that completes commands and options");
  completion->add_option("shell", shell, "Shell")->required()->check(CLI::IsMember(shells()));
  completion->callback([&] { status = print_page(completion_script(table_of(app), shell)); });
  const auto man = app.add_subcommand("man", "Print this program's manual page: zrt man | man -l -");
  man->callback([&] { status = print_page(man_page(table_of(app), std::string(zrt::version()))); });
  try {
    app.parse(words_backwards(argc, argv));
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : usage(in_plain_words(app, error));
  }
  return status;
}

/// Ends the program with a typed error where the system gave no memory, even for an exception that says so: the runtime
/// then terminates without one. Any other end is a fault.
void end_without_memory() {
  if (std::current_exception() != nullptr) {
    try {
      throw;
    } catch (const std::bad_alloc&) {
    } catch (...) {
      std::abort();
    }
  }
  constexpr std::string_view kText = "zrt: out_of_memory: the system gives this process no more memory\n";
  const auto written = write(STDERR_FILENO, kText.data(), kText.size());
  _exit(written == static_cast<ssize_t>(kText.size()) ? 1 : 2);
}

/// Before all other constructors, which ask for memory before main does.
[[gnu::constructor(101)]] void expect_little_memory() { std::set_terminate(&end_without_memory); }

}  // namespace
}  // namespace program

int main(int argc, char** argv) {
  try {
    return program::run(argc, argv);
  } catch (const std::bad_alloc&) {
    return program::failed(zrt::Error::of(zrt::Errc::out_of_memory, "the system gives this process no more memory"));
  } catch (const std::exception& error) {
    return program::failed(error.what());
  }
}
