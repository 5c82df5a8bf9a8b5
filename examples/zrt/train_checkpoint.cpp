// SPDX-License-Identifier: Apache-2.0
// examples/zrt/train_checkpoint.cpp: a training as a file.
#include "npz.hpp"
#include "onnx_variables.hpp"
#include "output.hpp"
#include "train_checkpoint.hpp"

#include <algorithm>
#include <cstring>

namespace program {
namespace {

constexpr std::string_view kProgress = "training/progress", kLossesSoFar = "training/losses",
                           kHeldOut = "training/held_out";
constexpr std::size_t kHeldOutNumbers = 3;

template <class T> Array array_of_numbers(zrt::DType dtype, const zrt::Shape& shape, const std::vector<T>& numbers) {
  Array array{{dtype, shape}, std::vector<std::byte>(numbers.size() * sizeof(T))};
  if (!numbers.empty()) std::memcpy(array.data.data(), numbers.data(), array.data.size());
  return array;
}

/// What must be the same for a training to go on.
std::vector<std::int64_t> identity_of(const TrainOptions& o, std::size_t examples, std::uint64_t steps) {
  return {static_cast<std::int64_t>(steps), static_cast<std::int64_t>(o.seed), static_cast<std::int64_t>(o.batch),
          static_cast<std::int64_t>(examples)};
}

/// The feeds of a training that a checkpoint holds.
std::vector<TrainFeed*> held_feeds(Training& training) {
  std::vector<TrainFeed*> feeds;
  for (auto* list : {&training.parameters(), &training.slots()})
    for (TrainFeed& feed : *list) feeds.push_back(&feed);
  return feeds;
}

zrt::Error not_of_this(const std::string& path, std::string_view what) {
  return zrt::Error::of(zrt::Errc::invalid_argument, std::string_view(path), ": the checkpoint has ", what);
}

/// A member's numbers.
template <class T>
zrt::Result<std::vector<T>> numbers_in(const std::vector<NpzMember>& members, std::string_view name, zrt::DType dtype) {
  const auto member = std::ranges::find(members, name, &NpzMember::name);
  if (member == members.end()) return zrt::fail(zrt::Errc::invalid_file, "no checkpoint: ", name, " is missing");
  const auto array = read_npy(member->bytes, dtype);
  if (!array) return zrt::pass(array);
  std::vector<T> numbers(array->data.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), array->data.data(), array->data.size());
  return numbers;
}

zrt::Result<TrainProgress> progress_in(const std::vector<NpzMember>& members) {
  TrainProgress progress;
  auto losses = numbers_in<float>(members, kLossesSoFar, zrt::DType::f32);
  if (!losses) return zrt::pass(losses);
  const auto held = numbers_in<float>(members, kHeldOut, zrt::DType::f32);
  if (!held) return zrt::pass(held);
  for (std::size_t i = 0; i + kHeldOutNumbers <= held->size(); i += kHeldOutNumbers)
    progress.validations.push_back({static_cast<std::uint64_t>((*held)[i]), (*held)[i + 1], (*held)[i + 2]});
  progress.losses = std::move(*losses);
  progress.steps = progress.losses.size();
  return progress;
}

zrt::Result<void> take_feed(const std::string& path, const std::vector<NpzMember>& members, TrainFeed& feed) {
  const auto member = std::ranges::find(members, feed.name, &NpzMember::name);
  if (member == members.end()) return std::unexpected(not_of_this(path, "no " + feed.name));
  auto value = read_npy(member->bytes, feed.value.type.dtype);
  if (!value || !(value->type == feed.value.type))
    return std::unexpected(not_of_this(path, "a " + feed.name + " of another type or shape"));
  feed.value = std::move(*value);
  return {};
}

}  // namespace

zrt::Result<void> write_checkpoint(const std::string& path, const TrainOptions& o, std::size_t examples,
                                   Training& training, const TrainProgress& progress) {
  std::vector<NpzMember> members;
  for (const TrainFeed* feed : held_feeds(training)) members.push_back({feed->name, write_npy(feed->value)});
  const auto add = [&](std::string_view name, const Array& array) {
    members.push_back({std::string(name), write_npy(array)});
  };
  std::vector<float> held;
  for (const HeldOutLoss& v : progress.validations)
    held.insert(held.end(), {static_cast<float>(v.step), v.loss, v.accuracy});
  const auto identity = identity_of(o, examples, progress.steps);
  const auto extent = [](std::size_t count) { return zrt::Dim(static_cast<std::uint32_t>(count)); };
  add(kProgress, array_of_numbers(zrt::DType::si64, {extent(identity.size())}, identity));
  add(kLossesSoFar, array_of_numbers(zrt::DType::f32, {extent(progress.losses.size())}, progress.losses));
  add(kHeldOut,
      array_of_numbers(zrt::DType::f32, {extent(progress.validations.size()), extent(kHeldOutNumbers)}, held));
  const auto archive = write_npz(members);
  if (!archive) return zrt::pass(archive);
  return write_file(path, *archive);
}

zrt::Result<TrainProgress> read_checkpoint(const std::string& path, const TrainOptions& o, std::size_t examples,
                                           Training& training) {
  const auto archive = read_file(path);
  if (!archive) return zrt::pass(archive);
  const auto members = read_npz(*archive);
  if (!members) return std::unexpected(of_file(members.error(), path));
  auto progress = progress_in(*members);
  if (!progress) return std::unexpected(of_file(progress.error(), path));
  const auto identity = numbers_in<std::int64_t>(*members, kProgress, zrt::DType::si64);
  if (!identity) return std::unexpected(of_file(identity.error(), path));
  const auto own = identity_of(o, examples, progress->steps);
  constexpr auto kWhat = std::to_array<std::string_view>(
      {"another number of steps than of losses", "another --seed", "another --batch", "another number of examples"});
  for (std::size_t i = 0; i < own.size(); ++i)
    if (identity->size() != own.size() || (*identity)[i] != own[i]) return std::unexpected(not_of_this(path, kWhat[i]));
  for (TrainFeed* feed : held_feeds(training))
    if (auto r = take_feed(path, *members, *feed); !r) return zrt::pass(r);
  return progress;
}

zrt::Result<void> write_parameters(const std::string& path, const TrainOptions& o, Training& training) {
  if (path.ends_with(".onnx")) {
    auto source = open_onnx(o.file);
    if (!source) return zrt::pass(source);
    std::vector<OnnxVariable> variables;
    for (const TrainFeed& feed : training.parameters()) variables.push_back({feed.name, feed.value});
    const auto bytes = onnx_with(*source, variables);
    if (!bytes) return std::unexpected(of_file(bytes.error(), o.file));
    return write_file(path, *bytes);
  }
  std::vector<NpzMember> members;
  for (const TrainFeed& feed : training.parameters()) members.push_back({feed.name, write_npy(feed.value)});
  const auto archive = write_npz(members);
  if (!archive) return zrt::pass(archive);
  return write_file(path, *archive);
}

}  // namespace program
