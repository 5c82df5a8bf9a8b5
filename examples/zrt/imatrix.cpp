// SPDX-License-Identifier: Apache-2.0
// examples/zrt/imatrix.cpp: an importance matrix from a text: how large the activations are that meet each column.
#include "commands.hpp"
#include "new_file.hpp"
#include "output.hpp"
#include <zrt/model/importance.hpp>
#include <zrt/model/importance_writer.hpp>
#include <zrt/model/weights.hpp>
#include <zrt/trace/input_squares.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <unistd.h>
#include <vector>

namespace program {
namespace {

using SquareSums = std::vector<zrt::model::TensorSquares>;

/// Most and fewest tokens of a step, multiples of what a step takes. A matrix is read once a step, so fewer take longer.
constexpr std::uint32_t kStepTokens = 64;
constexpr std::uint32_t kFewestTokens = 16;

/// Bytes that the values of a step may have in a model whose tensors are all smaller.
constexpr std::uint64_t kLeastRoom = std::uint64_t{32} << 20;

/// Bytes of the text that are read: a hundred times what is plenty. The text and its tokens are kept.
constexpr std::uint64_t kMostText = std::uint64_t{64} << 20;

/// Opens the model with steps of as many tokens as have their values in the room of its largest tensor, or of
/// kLeastRoom: a step keeps all its values, so they grow with the layers.
Opened open_in_room(const ImatrixOptions& o) {
  zrt::EngineOptions options;
  options.context = o.chunk;
  options.kv_type = kv_type(o.kv);
  options.numerics.act = act_policy(o.act);
  options.keep_values = true;
  options.chunk = kFewestTokens;
  std::uint32_t tokens = kFewestTokens;
  {
    // Without a log: what there is to warn of is said once.
    const auto model = open_cpu(o.path, options, {});
    if (!model) return std::unexpected(of_file(model.error(), o.path));
    if ((*model)->config().embeddings)
      return zrt::fail(zrt::Errc::unimplemented, "the model is an encoder, expected one that predicts tokens");
    std::uint64_t room = kLeastRoom;
    for (const zrt::model::GgufTensor& tensor : (*model)->file().tensors()) room = std::max(room, tensor.bytes);
    const EngineMemory memory = (*model)->memory_parts();
    // A step has room for a token of each slot beside those of a prompt.
    const auto arena = [&](std::uint64_t step) {
      return memory.prefill->arena_bytes / memory.prefill_tokens * (step + memory.slots);
    };
    while (tokens < kStepTokens && arena(tokens + kFewestTokens) <= room) tokens += kFewestTokens;
  }
  options.chunk = tokens;
  return open_model({o.path, "cpu", {}, o.threads}, options);
}

/// The text as tokens of whole chunks; each begins as a text does.
zrt::Result<zrt::Vector<std::int32_t>> tokens_of(const ImatrixOptions& o, const Model& model) {
  const auto text = read_beginning(o.data, kMostText);
  if (!text) return zrt::pass(text);
  if (text->more && o.chunks == 0)
    return zrt::fail(zrt::Errc::limit_exceeded, "the text has more than ", std::string_view(bytes_text(kMostText)),
                     ", expected --chunks, which says how much of it is read");
  const zrt::text::Tokenizer* tokenizer = model.tokenizer();
  if (tokenizer == nullptr) return zrt::fail(zrt::Errc::unsupported_tokenizer, "the model has no vocabulary");
  auto ids = tokenizer->encode(text->text, {.add_special = true, .parse_special = false});
  if (!ids) return ids;
  std::size_t chunks = ids->size() / o.chunk;
  if (o.chunks != 0) chunks = std::min<std::size_t>(chunks, o.chunks);
  // Where the text was cut, the last of its words may be another.
  if (text->more && ids->size() / 2 / o.chunk < o.chunks)
    return zrt::fail(zrt::Errc::limit_exceeded, "the text has more than ", std::string_view(bytes_text(kMostText)),
                     ", expected at most ", ids->size() / 2 / o.chunk, " chunks of it");
  if (chunks == 0)
    return zrt::fail(zrt::Errc::invalid_argument, "the text has ", ids->size(), " tokens, expected a chunk of ",
                     o.chunk, " or more");
  if (const auto cut = ids->resize(chunks * o.chunk); !cut) return zrt::pass(cut);
  if (tokenizer->adds_bos() && tokenizer->bos())
    for (std::size_t at = 0; at < ids->size(); at += o.chunk) (*ids)[at] = *tokenizer->bos();
  return ids;
}

zrt::Result<void> collect(zrt::trace::InputSquares& squares, const zrt::Vector<std::int32_t>& tokens,
                          std::uint32_t chunk, std::uint32_t step) {
  const bool shown = ::isatty(2) != 0;
  const std::span<const std::uint32_t> all(reinterpret_cast<const std::uint32_t*>(tokens.data()), tokens.size());
  for (std::size_t at = 0; at < all.size(); at += chunk) {
    if (shown) (void)std::fprintf(stderr, "\r\033[Kchunk %zu of %zu", at / chunk + 1, all.size() / chunk);
    if (const auto r = squares.restart(); !r) return r;
    for (std::size_t in = 0; in < chunk; in += step)
      if (const auto r = squares.feed(all.subspan(at + in, std::min<std::size_t>(step, chunk - in))); !r) return r;
  }
  if (shown) (void)std::fprintf(stderr, "\r\033[K");
  return {};
}

/// The sums by tensor of the file: where a weight is some rows of a tensor, all rows have the same.
SquareSums by_tensor(const zrt::trace::InputSquares& squares) {
  SquareSums list;
  for (const zrt::trace::WeightSquares& weight : squares.weights()) {
    const std::string_view tensor = zrt::model::TensorRows::of(weight.name).tensor;
    if (std::ranges::find(list, tensor, &zrt::model::TensorSquares::name) != list.end()) continue;
    list.push_back({tensor, weight.columns, weight.matrices, squares.sums(weight), squares.counts(weight)});
  }
  std::ranges::sort(list, {}, &zrt::model::TensorSquares::name);
  return list;
}

/// Reads a file that was written as `zrt quantize` does.
zrt::Result<void> expect_readable(const std::string& path, const SquareSums& list) {
  const auto file = zrt::model::GgufFile::open(path);
  if (!file) return zrt::pass(file);
  for (const zrt::model::TensorSquares& tensor : list) {
    std::vector<float> weights(std::size_t{tensor.columns} * tensor.matrices);
    const auto r = zrt::model::Importance(*file).read(tensor.name, tensor.columns, tensor.matrices,
                                                      {weights.data(), weights.size()});
    if (!r) return zrt::pass(r);
  }
  return {};
}

zrt::Result<void> write_sums(NewFile& out, const ImatrixOptions& o, const SquareSums& list, std::size_t chunks) {
  const zrt::model::ByteSink sink{&out, [](void* context, zrt::Span<const std::byte> bytes) noexcept {
                                    return static_cast<NewFile*>(context)->write(bytes);
                                  }};
  const std::string name = std::filesystem::path(o.data).filename().string();
  if (auto r =
          zrt::model::write_importance({list.data(), list.size()}, {name, static_cast<std::uint32_t>(chunks), o.chunk},
                                       sink, zrt::system_allocator());
      !r)
    return r;
  if (auto r = out.flush(); !r) return r;
  if (auto r = expect_readable(out.part(), list); !r) return r;
  return out.complete();
}

}  // namespace

int imatrix(const ImatrixOptions& o) {
  const auto model = open_in_room(o);
  if (!model) return failed(model.error());
  const auto tokens = tokens_of(o, **model);
  if (!tokens) return failed(of_file(tokens.error(), o.data));
  // Before the work, so that hours of it never end at a name that cannot be written.
  NewFile out(o.out);
  if (const auto opened = out.open(); !opened) return failed(opened.error());
  auto squares = zrt::trace::InputSquares::make((*model)->validated(), zrt::model::weight_source((*model)->file()),
                                                zrt::system_allocator());
  if (!squares) return failed(squares.error());
  const std::uint32_t step = (*model)->memory_parts().prefill_tokens - (*model)->memory_parts().slots;
  if (const auto r = collect(*squares, *tokens, o.chunk, step); !r) return failed(of_file(r.error(), o.path));
  const SquareSums list = by_tensor(*squares);
  const std::size_t chunks = tokens->size() / o.chunk;
  if (const auto r = write_sums(out, o, list, chunks); !r) return failed(of_file(r.error(), o.out));
  std::uint64_t unmet = 0;
  for (const zrt::model::TensorSquares& tensor : list)
    unmet += static_cast<std::uint64_t>(std::ranges::count(tensor.counts, 0u));
  if (unmet != 0) warn(std::to_string(unmet) + " experts met no token: all their columns will count alike");
  if (o.json) {
    const nlohmann::ordered_json json{{"tensors", list.size()},
                                      {"chunks", chunks},
                                      {"chunk_size", o.chunk},
                                      {"step_tokens", step},
                                      {"unmet_experts", unmet}};
    return print(json.dump(2) + "\n") ? kOk : cannot_write("stdout");
  }
  const std::string end = o.out + ": " + std::to_string(list.size()) + " matrices, " + std::to_string(chunks) +
                          " chunks of " + std::to_string(o.chunk) + " tokens\n";
  return print(end) ? kOk : cannot_write("stdout");
}

}  // namespace program
