// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/gguf_reader.cpp: any bytes opened as a GGUF file, as a span and through a reader, and walked.
// covers: zrt/model/gguf/cursor.hpp 90
// covers: zrt/model/gguf/file.hpp 90
// covers: zrt/model/gguf/index.hpp 90
// covers: zrt/core/file_mapping.hpp 90
// covers: zrt/model/gguf/name_order.hpp 90
// covers: zrt/model/gguf/placement.hpp 90
// covers: zrt/model/gguf/source.hpp 90
// covers: zrt/model/gguf/value.hpp 90
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <sys/resource.h>
#include <tools/gguf_bad_files.hpp>
#include <tools/gguf_counting_allocator.hpp>
#include <tools/gguf_walk.hpp>
#include <unistd.h>
#include <vector>

using zrt::model::GgufFile;
using zrt::test::Bytes;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

// What the checks below insist on.
void demand(bool condition) {
  if (!condition) __builtin_trap();
}

const std::vector<Bytes>& seeds() {
  static const std::vector<Bytes> all = [] {
    std::vector<Bytes> made{zrt::test::small_gguf(2), zrt::test::small_gguf(3), zrt::test::full_gguf(2).build(),
                            zrt::test::full_gguf(3).build()};
    for (auto& bad : zrt::test::bad_gguf_files()) made.push_back(std::move(bad.bytes));
    // Tensors whose order in the index is not that of their data.
    zrt::test::GgufWriter::Marks marks;
    Bytes swapped = zrt::test::GgufWriter()
                        .add_f32("a", {8}, std::vector<float>(8))
                        .add_f32("b", {8}, std::vector<float>(8))
                        .build(&marks);
    zrt::test::patch(swapped, marks.at("offset a"), std::uint64_t{32});
    zrt::test::patch(swapped, marks.at("offset b"), std::uint64_t{0});
    made.push_back(std::move(swapped));
    return made;
  }();
  return all;
}

bool same_error(const zrt::Error& a, const zrt::Error& b) {
  return a.code() == b.code() && a.text() == b.text() && a.offset() == b.offset();
}

std::uint64_t sink = 0;

void open_by_path(const Bytes& bytes) {
  std::string path = "zrt_fuzz_gguf_XXXXXX";
  const int file = ::mkstemp(path.data());
  demand(file >= 0);
  demand(::write(file, bytes.data(), bytes.size()) == static_cast<::ssize_t>(bytes.size()));
  ::close(file);
  auto mapped = GgufFile::open(path.c_str());
  const auto spanned = GgufFile::open(std::span<const std::byte>(bytes));
  std::remove(path.c_str());
  demand(mapped.has_value() == spanned.has_value());
  if (!mapped) return;
  const auto total = zrt::test::walk(*mapped);
  GgufFile moved = std::move(*mapped);
  demand(zrt::test::walk(moved) == total);
  *mapped = std::move(moved);
  mapped->release_pages();
  demand(zrt::test::walk(*mapped) == total);
}

// One allocation fails: the result is that, or what it would have been.
void open_short_of_memory(std::span<const std::byte> bytes, const zrt::Result<GgufFile>& expected) {
  zrt::test::CountingAllocator span, reader;
  span.fail_at = reader.fail_at = bytes.size() % 24;
  {
    const auto file = GgufFile::open(bytes, span.hook());
    zrt::test::MemoryReader memory{bytes};
    const auto read = GgufFile::open(memory.reader(), reader.hook());
    for (const auto* result : {&file, &read}) {
      if (*result)
        demand(expected.has_value());
      else
        demand(result->error().code() == zrt::Errc::out_of_memory || same_error(result->error(), expected.error()));
    }
  }
  demand(span.live == 0 && reader.live == 0);
}

// No file can be opened: the process may hold no more of them.
void open_one_file_too_many() {
  ::rlimit before{};
  demand(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const ::rlimit none{0, before.rlim_max};
  demand(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto file = GgufFile::open(".");
  demand(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  demand(!file && file.error().text().find("too many open files") != std::string_view::npos);
}

// An index that would be too long to load through a reader.
void open_beyond_the_limit() {
  zrt::test::GgufWriter::Marks marks;
  Bytes bytes = zrt::test::GgufWriter().add_array<std::uint8_t>("a", {}).build(&marks);
  zrt::test::patch(bytes, marks.at("value a") + 4, std::uint64_t{1} << 40);
  bytes.resize(zrt::model::kGgufPieceBytes);
  zrt::test::MemoryReader memory{bytes};
  memory.claimed_extra = std::uint64_t{1} << 41;
  demand(GgufFile::open(memory.reader()).error().code() == zrt::Errc::limit_exceeded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Every file of the generator once, so that what is covered does not depend on how fast the machine is.
  for (const Bytes& seed : seeds())
    (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(seed.data()), seed.size());
  open_by_path(zrt::test::full_gguf().build());
  open_by_path({});
  open_beyond_the_limit();
  open_one_file_too_many();
  demand(!GgufFile::open("no such file").has_value());
  demand(!GgufFile::open(".").has_value());
  demand(!GgufFile::open(std::string(100000, 'a')).has_value());
  demand(!GgufFile::open(std::string_view("\0", 1)).has_value());
  demand(!GgufFile::open(static_cast<const char*>(nullptr)).has_value());
  demand(!GgufFile::open(zrt::model::GgufReader{}).has_value());
  return 0;
}

// Starts now and then from a file of the generator: no seeds have to lie anywhere.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  if (size < 8 || seed % 8 == 0) {
    const Bytes& chosen = seeds()[(seed / 8) % seeds().size()];
    if (!chosen.empty() && chosen.size() <= max_size) {
      std::memcpy(data, chosen.data(), chosen.size());
      size = chosen.size();
      if (seed % 16 == 0) return size;
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const auto file = GgufFile::open(bytes);
  zrt::test::MemoryReader memory{bytes};
  const auto read = GgufFile::open(memory.reader());
  demand(file.has_value() == read.has_value());
  open_short_of_memory(bytes, file);
  if (!file) {
    demand(same_error(file.error(), read.error()));
    demand(file.error().code() != zrt::Errc::ok && !file.error().text().empty());
    demand(file.error().offset() <= size);
    // A size that the reader does not keep; a whole piece is loaded, which is slow to do each time.
    if (size % 16 != 0) return 0;
    zrt::test::MemoryReader liar{bytes};
    liar.claimed_extra = std::uint64_t{1} << 40;
    (void)GgufFile::open(liar.reader());
    return 0;
  }
  sink += zrt::test::walk(*file) + zrt::test::walk(*read);
  for (const auto& tensor : file->tensors()) {
    const auto data_of = file->data(tensor);
    demand(data_of.empty() ||
           (data_of.data() >= bytes.data() && data_of.data() + data_of.size() <= bytes.data() + size));
  }

  // A reader that fails once the index is there.
  zrt::test::MemoryReader stops{bytes, 1};
  if (const auto stopped = GgufFile::open(stops.reader())) sink += zrt::test::walk(*stopped);

  // The bytes change under the opened file.
  Bytes changing(bytes.begin(), bytes.end());
  const auto unstable = GgufFile::open(std::span<const std::byte>(changing));
  demand(unstable.has_value());
  for (std::size_t i = 4; i < changing.size(); i += 1 + changing.size() / 64) changing[i] ^= std::byte{0xff};
  for (const auto& entry : unstable->entries()) sink += zrt::test::detail::sum_value(entry.value, 0);
  return 0;
}
