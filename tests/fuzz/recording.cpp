// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/recording.cpp: any bytes read as a recording, as they are and under a right head and checksum; one that is read is walked and held to itself.
// covers: zrt/trace/recording.hpp 90
// max-len: 4096
#include <zrt/trace/recorder.hpp>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace zrt;

namespace {

// What the checks below insist on.
void demand(bool condition) {
  if (!condition) __builtin_trap();
}

void walk(const trace::RunRecording& r) {
  std::size_t sum = 0;
  const auto within = [](const trace::RecordedRange& range, std::size_t size) {
    demand(range.first <= size && range.count <= size - range.first);
  };
  for (const trace::RecordedRequest& q : r.requests) {
    within(q.prompt, r.tokens.size());
    within(q.stop_tokens, r.tokens.size());
    within(q.biases, r.biases.size());
    within(q.stop_strings, r.texts.size());
    demand(q.prompt.count != 0);
    for (std::uint32_t i = 0; i < q.stop_strings.count; ++i) sum += r.text(q.stop_strings.first + i).size();
  }
  demand(sum == r.chars.size());
  for (const trace::RecordedStep& step : r.steps) {
    within(step.parts, r.parts.size());
    within(step.rows, r.rows.size());
    within(step.refused, r.tokens.size());
    for (const std::uint32_t request : r.tokens_of(step.refused)) demand(request < r.requests.size() || request == 0);
    for (std::uint32_t i = 0; i < step.parts.count; ++i) {
      within(r.parts[step.parts.first + i].tokens, r.tokens.size());
      demand(r.parts[step.parts.first + i].slot < r.header.slots);
    }
  }
  for (const trace::RecordedEvent& event : r.events)
    demand(event.index < (event.kind == trace::RecordedEvent::Kind::step ? r.steps.size() : r.requests.size()));
}

/// Tells a replay of the recording what the recording says: nothing differs.
void hold_to_itself(const trace::RunRecording& r) {
  auto replay = trace::Replay::make(r, system_allocator());
  demand(replay.has_value());
  std::uint64_t id = 100;
  while (replay->more()) {
    while (const trace::RecordedEvent* event = replay->next_input())
      if (event->kind == trace::RecordedEvent::Kind::taken)
        replay->submitted(id++);
      else
        demand(replay->id_of(event->index) >= 100);
    const trace::RecordedStep& step = r.steps[replay->steps()];
    std::vector<std::uint32_t> tokens, slots, positions, rows;
    for (std::uint32_t i = 0; i < step.parts.count; ++i) {
      const trace::RecordedPart& part = r.parts[step.parts.first + i];
      for (const std::uint32_t token : r.tokens_of(part.tokens)) tokens.push_back(token);
      for (std::uint32_t k = 0; k < part.tokens.count; ++k) {
        slots.push_back(part.slot);
        positions.push_back(part.position + k);
      }
    }
    for (std::uint32_t i = 0; i < step.rows.count; ++i) rows.push_back(r.rows[step.rows.first + i].row);
    demand(replay->cuts().size() == r.header.slots);
    exec::Batch batch;
    batch.tokens = tokens;
    batch.slots = slots;
    batch.positions = positions;
    batch.rows = rows;
    batch.prefill = step.prefill;
    replay->planned(batch);
    demand(!replay->difference());
    (void)replay->accepts(100);
    // Logits whose checksum is the recorded one are not to be had: the first row is the end.
    if (step.rows.count != 0) {
      replay->sampled(0, r.rows[step.rows.first].token, {});
      if (replay->difference()) return;
    }
    for (std::uint32_t i = 1; i < step.rows.count && !replay->difference(); ++i)
      replay->sampled(i, r.rows[step.rows.first + i].token, {});
    if (replay->difference()) return;
    const std::size_t before = replay->steps();
    replay->stepped(true);
    demand(replay->steps() == before + 1);
  }
}

void try_bytes(Span<const std::byte> bytes) {
  const auto recording = trace::read_recording(bytes, system_allocator());
  if (!recording) return;
  walk(*recording);
  hold_to_itself(*recording);
}

/// What is written has its length: seven bits to a byte of a number, and nothing behind where it is cut.
void write_parts(Span<const std::byte> bytes) {
  std::uint64_t value = 0;
  if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size() < sizeof value ? bytes.size() : sizeof value);
  trace::detail::RecordingOut out(system_allocator());
  out.number(value);
  const std::size_t number = out.size();
  demand(number == (value == 0 ? 1u : (static_cast<std::size_t>(std::bit_width(value)) + 6) / 7));
  out.fixed64(value);
  out.real(0.5f);
  demand(out.size() == number + 12);
  out.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  demand(out.state().has_value() && out.bytes().size() > number + 12 + bytes.size());
  out.truncate(number);
  demand(out.size() == number);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(data);
  write_parts({bytes, size});
  try_bytes({bytes, size});
  std::vector<std::byte> file;
  for (const char c : {'Z', 'R', 'T', 'R', '\1'}) file.push_back(static_cast<std::byte>(c));
  file.insert(file.end(), bytes, bytes + size);
  const std::uint64_t sum = checksum(Span<const std::byte>(file));
  for (int b = 0; b < 8; ++b) file.push_back(static_cast<std::byte>(sum >> 8 * b));
  try_bytes(file);
  return 0;
}
