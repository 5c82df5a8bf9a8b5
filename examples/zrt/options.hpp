// SPDX-License-Identifier: Apache-2.0
// examples/zrt/options.hpp: what the command line sets, one struct per subcommand.
#pragma once

#include "model.hpp"
#include <zrt/model/fitted_image.hpp>

#include <map>
#include <optional>
#include <vector>

namespace program {

/// Images of a prompt.
struct ImageOptions {
  std::string mmproj;               ///< file of the encoder
  std::vector<std::string> images;  ///< files
  zrt::model::ImageLimits limits;
};

struct GenerateOptions : SampledOptions {
  std::string prompt;
  std::optional<std::string> prompt_file;
  std::optional<std::string> suffix;
  std::uint32_t max_tokens = 128;
  std::vector<std::string> stop;
  std::string grammar;      ///< file in GBNF, or empty
  std::string json_schema;  ///< file, or empty
  std::string adapter;      ///< file, or file:scale, or empty
  bool ignore_eos = false;
  bool json = false;
  ImageOptions images;
};

struct ChatOptions : SampledOptions {
  std::string system;
  std::string chat_template;  ///< file or name of a built-in one; empty: the model's own
  std::uint32_t max_tokens = 1024;
  bool hide_reasoning = false;
};

struct ServeOptions {
  ModelOptions model;               ///< how each model is opened; its path is empty
  std::vector<std::string> models;  ///< FILE, or NAME=FILE for each of several
  std::uint64_t memory_mib = 0;     ///< of all models together; 0: no bound
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::string alias;            ///< the model's id; empty: the file's name
  std::string keys;             ///< file with tenants; empty: anyone on this machine
  std::string tls_certificate;  ///< file of PEM; empty: no TLS
  std::string tls_key;
  std::string chat_template;
  std::vector<std::string> adapters;  ///< NAME=FILE[:SCALE], of several models MODEL:NAME=FILE[:SCALE]
  std::vector<std::string> mmproj;    ///< encoders of images: a FILE, or MODEL=FILE of some of several
  zrt::model::ImageLimits image_limits;
  std::vector<std::string> origins;
  std::string metrics_compat;
  std::uint32_t slots = 8;
  std::uint32_t queue = 256;
  std::uint32_t context = 0;
  std::string kv = "f16";
  std::uint32_t http_threads = 4;
  std::uint32_t body_mib = 4;
  std::uint32_t drain_seconds = 30;
  std::uint32_t longest_step_ms = 120000;
  std::uint32_t step_ms = 100;
  bool embeddings = false;
  bool metrics_open = false;
};

struct LogitsOptions {
  ModelOptions model;
  std::vector<std::int32_t> tokens;
  std::optional<std::size_t> decode;
  std::vector<std::int32_t> feed;
  std::string act = "plan";
  std::string kv = "f32";
  std::uint32_t context = 0;  ///< 0: the model's context_length
  std::string out;
  bool json = false;
};

struct TokenizeOptions {
  std::string path;
  std::string text;
  std::optional<std::string> file;
  bool decode = false;
  bool special = false;
  bool json = false;
};

struct InspectOptions {
  std::string path;
  bool json = false;
};

struct PlanOptions {
  ModelOptions model;
  std::uint32_t context = 0;
  std::uint32_t slots = 1;
  std::string kv = "f16";
  std::string act = "plan";
  std::string format = "text";
  bool memory = false;
};

struct QuantizeOptions {
  std::string path;
  std::string out;
  std::string type;
  std::string importance;
  std::uint32_t threads = 1;
  bool pure = false;
  bool from_blocks = false;
  bool verbose = false;
  bool json = false;
};

struct ConvertOptions {
  std::string path;
  std::string out;
  std::string type = "auto";
  std::string pre;
  std::string name;
  std::uint32_t threads = 1;
  bool json = false;
};

struct ImatrixOptions {
  std::string path;
  std::string data;
  std::string out;
  std::uint32_t chunk = 512;
  std::uint32_t chunks = 0;  ///< 0: all of the text
  std::uint32_t threads = 1;
  std::string kv = "f16";
  std::string act = "plan";
  bool json = false;
};

struct MakeModelOptions {
  std::string architecture;
  std::string shape;
  std::string type;
  std::string out;
  std::vector<std::string> set;
  std::uint64_t seed = 0;
  std::uint32_t threads = 1;
  bool pure = false;
  bool json = false;
};

struct PerplexityOptions {
  ModelOptions model;
  std::string file;
  std::uint32_t context = 0;
  std::string kv = "f16";
  std::string act = "plan";
  bool json = false;
};

struct EmbedOptions {
  ModelOptions model;
  std::vector<std::string> prompts;
  std::optional<std::string> prompt_file;
  std::string pooling;  ///< empty: as the file says
  std::uint32_t context = 0;
  std::string kv = "f16";
  bool raw = false;
  bool special = false;
  bool json = false;
};

struct PtirOptions {
  std::string file;
  std::vector<std::string> feeds;
  std::string backend = "cpu";
  std::uint32_t threads = 1;
  std::string ordering = "program";
  std::string fit = "least";
  std::optional<std::uint64_t> trip_limit;     ///< absent: the library's own
  std::optional<std::int64_t> unrolled_trips;  ///< absent: the reader's own
  std::string dump;
  std::string out;
  bool json = false;
};

struct PtirConvertOptions {
  std::string file;
  std::string out;                               ///< empty: stdout; of c the folder
  std::string to;                                ///< text, json or c; empty: by the name of `out`
  std::string name;                              ///< of the function of c; empty: program
  bool thread_hook = false;                      ///< of c: share products among threads
  std::map<std::string, std::uint32_t> extents;  ///< of symbols
};

struct InspectOnnxOptions {
  std::string file;
  std::string backend = "cpu";
  std::map<std::string, std::uint32_t> extents;  ///< of symbols
  bool json = false;
};

struct BenchOnnxOptions {
  std::string file;
  std::vector<std::string> feeds;
  std::string backend = "cpu";
  std::uint32_t threads = 1;
  std::uint32_t runs = 10;
  std::map<std::string, std::uint32_t> extents;  ///< of symbols
  bool json = false;
};

struct FusedOptions {
  std::string file;
  std::vector<std::string> feeds;
  std::string backend = "cpu";
  std::uint32_t threads = 1;
  std::string fit = "least";
  bool training = false;
  std::uint64_t seed = 0;
  std::string dump;
  std::string out;
  bool json = false;
};

struct TrainOptions {
  std::string file;
  std::string data;
  std::string target;
  std::string validation;
  double hold_out = 0;
  std::string parameters;
  std::vector<std::string> freeze;
  std::string loss = "cross-entropy";
  std::string output;
  std::int64_t class_axis = -1;
  std::string optimizer = "adamw";
  double rate = 1e-3;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double clip_norm = 0;
  std::string schedule = "constant";
  double last_rate = 0;
  std::uint64_t warmup = 0;
  std::uint64_t steps = 1000;
  std::uint64_t epochs = 0;
  std::uint32_t batch = 32;
  std::uint64_t seed = 1;
  std::string backend = "cpu";
  std::uint32_t threads = 1;
  std::uint64_t print = 100;
  std::string checkpoint;
  std::uint64_t every = 0;
  std::string resume;
  std::string out;
  std::string curve;
  bool json = false;
};

struct Pm4DecodeOptions {
  std::string file;
  std::string target = "gfx1201";
  bool indirect = false;
  bool json = false;
};

struct Pm4PackOptions {
  std::string file;
  std::string kernel;
  std::vector<std::string> constants;
  std::string out;
};

struct Pm4RunOptions {
  std::string folder;
  bool json = false;
};

/// A card, or a modelled one.
struct Pm4CardOptions {
  CardChoice card;
  std::uint64_t cycles = 10000;
};

/// Requests that an engine is watched with.
struct WatchOptions {
  ModelOptions model;
  std::string prompt = "ROMEO:\n";
  std::uint32_t requests = 1;
  std::uint32_t slots = 16;
  std::uint32_t max_tokens = 128;
  std::uint32_t context = 0;
  std::uint64_t seed = 0;
  std::string kv = "f16";
  bool ignore_eos = false;
};

struct TraceOptions {
  WatchOptions watch;
  std::uint64_t buffer_mib = 64;
  std::string out;
};

struct RecordOptions {
  WatchOptions watch;
  std::uint32_t stagger = 0;
  std::uint32_t chunk = 512;
  double step_latency_ms = 0.0;
  std::string out;
};

struct ReplayOptions {
  ModelOptions model;
  std::string file;
};

/// Two backends on the same tokens.
struct ValidateOptions {
  std::string path;
  std::string program;  ///< a tensor program in place of a model
  std::vector<std::string> feeds;
  std::vector<std::string> backends;
  CardChoice card{};
  std::uint32_t threads = 1;
  std::string prompt = "ROMEO:\n";
  std::vector<std::int32_t> tokens;
  std::size_t steps = 8;
  std::uint32_t context = 0;
  std::uint32_t chunk = 64;
  std::string kv = "f16";
  std::string act = "plan";
  bool layers = false;
  bool json = false;
};

struct TopOptions {
  WatchOptions watch;
  std::uint32_t interval_ms = 500;
};

struct SimulateOptions {
  std::uint64_t seeds = 10000;
  std::uint64_t seed = 0;
};

struct BenchOptions {
  ModelOptions model;
  std::uint32_t prompt_tokens = 512;
  std::uint32_t generated_tokens = 64;
  std::uint32_t depth = 0;
  bool rows_asked = false;  ///< something that only rows of timing have was given
  std::vector<std::uint32_t> batches{1, 4, 16};
  std::uint32_t repetitions = 5;
  std::string kv = "f16";
  bool json = false;
};

}  // namespace program
