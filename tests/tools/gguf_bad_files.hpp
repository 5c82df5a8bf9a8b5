// SPDX-License-Identifier: Apache-2.0
// tests/tools/gguf_bad_files.hpp: GGUF files that each break one rule, with the error that it must give.
#pragma once

#include "gguf_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zrt::test {

/// A file that a reader must refuse.
struct BadFile {
  std::string name;
  Bytes bytes;
  Errc code;
  std::string text;  ///< what the error's text must contain
};

/// A short valid file with one string, one array, one bool and two tensors, for exhaustive changes.
inline Bytes small_gguf(std::uint32_t version = 3) {
  return GgufWriter(version)
      .add("general.architecture", "llama")
      .align(8)
      .add_array<std::string_view>("s", {"a", ""})
      .add("b", true)
      .add_f32("t", {2}, {1.0f, 2.0f})
      .add_tensor("q", DType::q8_0, {32}, Bytes(34))
      .build();
}

/// A valid file with every metadata type, arrays of all of them, and tensors of several types.
inline GgufWriter full_gguf(std::uint32_t version = 3) {
  GgufWriter writer(version);
  writer.add("general.architecture", "llama").align(32);
  writer.add("v.u8", std::uint8_t{200}).add("v.i8", std::int8_t{-100});
  writer.add("v.u16", std::uint16_t{60000}).add("v.i16", std::int16_t{-30000});
  writer.add("v.u32", std::uint32_t{4000000000}).add("v.i32", std::int32_t{-2000000000});
  writer.add("v.u64", ~std::uint64_t{0}).add("v.i64", std::int64_t{-1} - 0x7fffffffffffffff);
  writer.add("v.f32", 1.5f).add("v.f64", 1e300).add("v.bool", true).add("v.string", "text");
  writer.add_array<std::uint8_t>("a.u8", {1, 2}).add_array<std::int8_t>("a.i8", {-1, 2});
  writer.add_array<std::uint16_t>("a.u16", {1, 2}).add_array<std::int16_t>("a.i16", {-1, 2});
  writer.add_array<std::uint32_t>("a.u32", {1, 2}).add_array<std::int32_t>("a.i32", {-1, 2});
  writer.add_array<std::uint64_t>("a.u64", {1, 2}).add_array<std::int64_t>("a.i64", {-1, 2});
  writer.add_array<float>("a.f32", {0.5f, 2}).add_array<double>("a.f64", {0.25, 2});
  writer.add_array<bool>("a.bool", {true, false}).add_array<std::string_view>("a.string", {"one", "", "three"});
  writer.add_array<float>("a.empty", {});
  const GgufBlob inner = blob_array<std::uint16_t>({7, 8});
  writer.add_blob("a.nested", blob_array(9, {inner, blob_array<std::string_view>({"x"}), inner}));
  writer.add_f32("t.f32", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  writer.add_tensor("t.q4_0", DType::q4_0, {64, 1, 1, 2}, Bytes(72, std::byte{3}));
  writer.add_tensor("t.i8", DType::si8, {5}, Bytes(5, std::byte{4}));
  writer.add_tensor("t.scalar", DType::f64, {}, Bytes(8, std::byte{5}));
  return writer;
}

namespace detail {

class BadFileMaker {
 public:
  BadFileMaker() : base_(full_gguf().build(&marks_)) {}

  std::vector<BadFile> make() && {
    headers();
    keys();
    values();
    arrays();
    alignments();
    duplicates();
    tensor_entries();
    tensor_types();
    placements();
    return std::move(files_);
  }

 private:
  void add(std::string name, Bytes bytes, Errc code, std::string text) {
    files_.push_back({std::move(name), std::move(bytes), code, std::move(text)});
  }

  /// The full file with `value` over the part called `mark`, `shift` bytes on.
  template <class T>
  void patched(const std::string& name, const std::string& mark, std::size_t shift, T value, Errc code,
               std::string text) {
    Bytes bytes = base_;
    patch(bytes, marks_.at(mark) + shift, value);
    add(name + ": " + mark, std::move(bytes), code, std::move(text));
  }

  /// The full file, cut at the part called `mark`, `shift` bytes on. A cut in the metadata announces no
  /// tensors and no later entries: their number alone would give the cut away.
  void cut(const std::string& mark, std::size_t shift, Errc code, std::string text) {
    Bytes bytes = base_;
    const std::size_t end = marks_.at(mark) + shift;
    if (end > marks_.at("entries") + 8 && end < marks_.at("name length t.f32")) {
      std::uint64_t entries = 0;
      for (const std::string& key : names_after("key length "))
        if (marks_.at("key length " + key) < end) ++entries;
      patch(bytes, marks_.at("tensors"), std::uint64_t{0});
      patch(bytes, marks_.at("entries"), entries);
    }
    bytes.resize(end);
    add("cut at " + mark + " + " + std::to_string(shift), std::move(bytes), code, std::move(text));
  }

  void headers() {
    add("empty file", {}, Errc::truncated_file, "inside the magic");
    add("zeros", Bytes(64), Errc::invalid_file, "the magic is '??");
    for (std::size_t i = 0; i < 4; ++i) {
      Bytes bytes = base_;
      bytes[i] = std::byte{'X'};
      add("magic with letter " + std::to_string(i) + " changed", std::move(bytes), Errc::invalid_file, "the magic is");
    }
    for (const char* magic : {"ggml", "lmgg", "GGML", "tjgg", "FUGG", "PK\3\4"}) {
      Bytes bytes = base_;
      for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(magic[i]);
      add(std::string("magic ") + magic, std::move(bytes), Errc::invalid_file, "'GGUF' expected");
    }
    for (std::uint32_t version : {0u, 4u, 5u, 100u, 0xffffu, 0x10003u, ~0u})
      patched("version " + std::to_string(version), "version", 0, version, Errc::unsupported_version,
              "2 or 3 expected");
    patched("version 1", "version", 0, 1u, Errc::unsupported_version, "version 1 has other field widths");
    for (std::uint32_t version : {1u, 2u, 3u})
      patched("big-endian " + std::to_string(version), "version", 0, version << 24, Errc::unsupported_version,
              "big-endian");
    for (const char* what : {"tensors", "entries"}) {
      for (std::uint64_t count : {std::uint64_t{1} << 10, std::uint64_t{1} << 20, std::uint64_t{1} << 24})
        patched("count " + std::to_string(count), what, 0, count, Errc::truncated_file, "announced, ");
      for (std::uint64_t count :
           {(std::uint64_t{1} << 24) + 1, std::uint64_t{1} << 32, std::uint64_t{1} << 63, ~std::uint64_t{0}})
        patched("count " + std::to_string(count), what, 0, count, Errc::limit_exceeded, "at most 16777216 allowed");
    }
    cut("version", 3, Errc::truncated_file, "inside the version");
    cut("tensors", 1, Errc::truncated_file, "inside the tensor count");
    cut("entries", 7, Errc::truncated_file, "inside the metadata count");
  }

  [[nodiscard]] std::vector<std::string> names_after(const std::string& prefix) const {
    std::vector<std::string> names;
    for (const auto& [mark, offset] : marks_)
      if (mark.starts_with(prefix)) names.push_back(mark.substr(prefix.size()));
    return names;
  }

  void keys() {
    for (const std::string& key : names_after("value type ")) {
      const std::string length = "key length " + key;
      patched("key empty", length, 0, std::uint64_t{0}, Errc::invalid_file, "the key is empty");
      patched("key of 65536 bytes", length, 0, std::uint64_t{65536}, Errc::invalid_file, "at most 65535");
      patched("key with a control byte", "key " + key, 1, std::uint8_t{0x1f}, Errc::invalid_file,
              "byte 1 of the key is 31");
      patched("key outside ASCII", "key " + key, 0, std::uint8_t{0xc3}, Errc::invalid_file,
              "is 195, a printable ASCII");
      patched("value type 13", "value type " + key, 0, 13u, Errc::invalid_file, "the value type is 13, 0 to 12");
    }
    patched("key of all bytes", "key length v.u8", 0, ~std::uint64_t{0}, Errc::invalid_file, "at most 65535");
    patched("key past the end", "key length v.u8", 0, std::uint64_t{65535}, Errc::truncated_file, "inside the key");
    patched("key with a zero byte", "key v.u8", 3, std::uint8_t{0}, Errc::invalid_file, "byte 3 of the key is 0");
    patched("key with DEL", "key v.u8", 0, std::uint8_t{0x7f}, Errc::invalid_file, "byte 0 of the key is 127");
    patched("value type 255", "value type v.u8", 0, 255u, Errc::invalid_file, "the value type is 255");
    patched("value type with a high byte", "value type v.u8", 3, std::uint8_t{1}, Errc::invalid_file,
            "0 to 12 expected");
  }

  void values() {
    for (int byte : {2, 3, 128, 255})
      patched("bool " + std::to_string(byte), "value v.bool", 0, static_cast<std::uint8_t>(byte),
              Errc::invalid_metadata, "a bool is " + std::to_string(byte));
    for (int i : {0, 1})
      patched("bool array " + std::to_string(i), "value a.bool", 12 + static_cast<std::size_t>(i), std::uint8_t{2},
              Errc::invalid_metadata, "0 or 1 expected");
    for (std::uint64_t length :
         {std::uint64_t{1} << 20, std::uint64_t{1} << 40, std::uint64_t{1} << 63, ~std::uint64_t{0}})
      patched("string of " + std::to_string(length), "value v.string", 0, length, Errc::truncated_file,
              "inside the string");
    for (const char* key : {"v.u8", "v.u16", "v.u32", "v.u64", "v.f32", "v.f64", "v.bool"})
      cut(std::string("value ") + key, 0, Errc::truncated_file, std::string("inside the ") + (key + 2));
    for (const char* key : {"v.i8", "v.i16", "v.i32", "v.i64"})
      cut(std::string("value type ") + key, 2, Errc::truncated_file, "inside the value type");
  }

  void arrays() {
    for (const std::string& key : names_after("value a.")) {
      const std::string mark = "value a." + key;
      patched("element type 13", mark, 0, 13u, Errc::invalid_file, "the array element type is 13");
      patched("array of all", mark, 4, ~std::uint64_t{0}, Errc::truncated_file, "needs at least");
      patched("array of 2^60", mark, 4, std::uint64_t{1} << 60, Errc::truncated_file,
              "an array of 1152921504606846976");
      patched("array past the end", mark, 4, std::uint64_t{base_.size()}, Errc::truncated_file, "bytes left");
      cut(mark, 3, Errc::truncated_file, "inside the array element type");
      cut(mark, 5, Errc::truncated_file, "inside the array length");
    }
    patched("string in an array too long", "value a.string", 12, ~std::uint64_t{0}, Errc::truncated_file,
            "inside the string");
    patched("nested element type", "value a.nested", 12, 77u, Errc::invalid_file, "the array element type is 77");
    patched("nested length", "value a.nested", 16, std::uint64_t{1} << 50, Errc::truncated_file, "needs at least");
    cut("value a.f64", 20, Errc::truncated_file, "an array of 2 f64");
    for (int depth : {5, 6, 200}) {
      GgufBlob value = blob_array<std::uint8_t>({1});
      for (int i = 1; i < depth; ++i) value = blob_array(9, {value});
      add("arrays " + std::to_string(depth) + " deep", GgufWriter().add_blob("deep", value).build(),
          Errc::limit_exceeded, "more than 4 deep");
    }
  }

  void alignments() {
    const auto with = [](GgufBlob value) {
      return GgufWriter().add_blob("general.alignment", std::move(value)).add_f32("t", {1}, {1}).build();
    };
    const auto typed = [&](const char* name, GgufBlob value) {
      add(std::string("alignment of type ") + name, with(std::move(value)), Errc::invalid_metadata,
          std::string("u32 expected, ") + name);
    };
    typed("u8", blob(std::uint8_t{32}));
    typed("i8", blob(std::int8_t{32}));
    typed("u16", blob(std::uint16_t{32}));
    typed("i16", blob(std::int16_t{32}));
    typed("i32", blob(std::int32_t{32}));
    typed("u64", blob(std::uint64_t{32}));
    typed("i64", blob(std::int64_t{32}));
    typed("f32", blob(32.0f));
    typed("f64", blob(32.0));
    typed("bool", blob(true));
    typed("string", blob(std::string_view("32")));
    typed("array", blob_array<std::uint32_t>({32}));
    for (std::uint32_t value : {0u, 3u, 12u, 33u, 48u, 100u, ~0u})
      add("alignment " + std::to_string(value), with(blob(value)), Errc::invalid_metadata, "not a power of two");
    for (std::uint32_t value : {1u, 2u, 4u, 1u << 25, 1u << 31})
      add("alignment " + std::to_string(value), with(blob(value)), Errc::invalid_metadata, "8 to 16777216 expected");
  }

  void duplicates() {
    for (const char* key : {"general.architecture", "v.u8", "v.string", "a.f32", "a.nested"})
      add(std::string("key twice: ") + key, full_gguf().add(key, 1.0f).build(), Errc::duplicate_name,
          std::string("metadata key '") + key + "' of entry 28");
    add("alignment twice", full_gguf().align(32).build(), Errc::duplicate_name, "general.alignment");
    for (const char* name : {"t.f32", "t.q4_0", "t.i8"})
      add(std::string("tensor twice: ") + name, full_gguf().add_f32(name, {1}, {1}).build(), Errc::duplicate_name,
          std::string("tensor name '") + name + "' of entry 4");
  }

  void tensor_entries() {
    for (const std::string& name : names_after("rank ")) {
      patched("name empty", "name length " + name, 0, std::uint64_t{0}, Errc::invalid_file, "the name is empty");
      patched("name of 65 bytes", "name length " + name, 0, std::uint64_t{65}, Errc::invalid_file, "at most 64");
      patched("name of all bytes", "name length " + name, 0, ~std::uint64_t{0}, Errc::invalid_file, "at most 64");
      patched("name with a newline", "name " + name, 1, '\n', Errc::invalid_file, "is 10, a control character");
      patched("rank 5", "rank " + name, 0, 5u, Errc::unsupported_tensor_rank, "the rank is 5");
      patched("rank of all", "rank " + name, 0, ~0u, Errc::unsupported_tensor_rank, "at most 4");
      cut("rank " + name, 1, Errc::truncated_file, "inside the rank");
      cut("type " + name, 1, Errc::truncated_file, "inside the type");
      cut("offset " + name, 1, Errc::truncated_file, "inside the offset");
      cut("name " + name, 1, Errc::truncated_file, name == "t.f32" ? "tensors of at least" : "inside the name");
    }
    // A cut in the first tensor's entry already contradicts the number of tensors.
    std::erase_if(files_, [](const BadFile& file) { return file.name == "cut at name t.f32 + 1"; });
    for (std::size_t d = 0; d < 4; ++d) {
      const std::string number = std::to_string(d);
      patched("dimension " + number + " zero", "dims t.q4_0", 8 * d, std::uint64_t{0}, Errc::invalid_file,
              "dimension " + number + " is zero");
      patched("dimension " + number + " huge", "dims t.q4_0", 8 * d, ~std::uint64_t{0}, Errc::size_overflow,
              "does not fit 63 bits");
    }
    patched("dimension times 2^58", "dims t.q4_0", 8, std::uint64_t{1} << 58, Errc::size_overflow, "dimension 1 is");
    patched("bytes past 64 bits", "dims t.f32", 0, std::uint64_t{1} << 61, Errc::size_overflow, "does not fit 64 bits");
    cut("dims t.q4_0", 9, Errc::truncated_file, "inside the dimensions");
  }

  void tensor_types() {
    for (std::uint32_t id : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u})
      patched("removed type " + std::to_string(id), "type t.i8", 0, id, Errc::unsupported_weight_type,
              "the type is " + std::to_string(id) + " (" + std::string(model::removed_ggml_type(id)) + ")");
    for (std::uint32_t id : {42u, 43u, 64u, 255u, 1u << 16, ~0u})
      patched("unknown type " + std::to_string(id), "type t.i8", 0, id, Errc::unsupported_weight_type,
              "the type is " + std::to_string(id) + ", which is not known");
    for (const model::GgmlType& type : model::kGgmlTypes)
      if (type.block_elems() > 1)
        add("row of " + std::string(type.name()) + " cut inside a block",
            GgufWriter().add_tensor("t", type.id, {type.block_elems() + 1u}, Bytes(1024)).build(), Errc::invalid_file,
            "expected for " + std::string(type.name()));
  }

  void placements() {
    for (std::uint64_t offset : {1u, 4u, 8u, 16u, 31u, 33u})
      patched("offset " + std::to_string(offset), "offset t.i8", 0, offset, Errc::invalid_file,
              "is not a multiple of 32");
    for (std::uint64_t offset :
         {std::uint64_t{4096}, std::uint64_t{1} << 32, std::uint64_t{1} << 63, ~std::uint64_t{31}})
      patched("offset " + std::to_string(offset), "offset t.i8", 0, offset, Errc::truncated_file,
              "reach past the data section");
    patched("tensor larger than the file", "dims t.i8", 0, std::uint64_t{1} << 40, Errc::truncated_file, "reach past");
    patched("two tensors at one place", "offset t.q4_0", 0, std::uint64_t{0}, Errc::invalid_file,
            "overlaps the 32 bytes of 't.f32'");
    patched("tensor inside another", "offset t.i8", 0, std::uint64_t{64}, Errc::invalid_file,
            "overlaps the 72 bytes of 't.q4_0'");
    patched("tensor one byte too long", "dims t.f32", 0, std::uint64_t{5}, Errc::invalid_file, "overlaps the 40 bytes");
    patched("tensors out of order and overlapping", "offset t.scalar", 0, std::uint64_t{32}, Errc::invalid_file,
            "overlaps");
    cut("index end", 0, Errc::truncated_file, "behind the end of the file");
    cut("data", 0, Errc::truncated_file, "data section of 0 bytes");
    cut("data", 31, Errc::truncated_file, "'t.f32': 32 bytes at 0");
    cut("data", 100, Errc::truncated_file, "'t.q4_0'");
    Bytes bytes = full_gguf().add_f32("last", {16}, std::vector<float>(16)).build();
    bytes.pop_back();
    add("last byte missing", std::move(bytes), Errc::truncated_file, "'last': 64 bytes");
  }

  GgufWriter::Marks marks_;
  Bytes base_;
  std::vector<BadFile> files_;
};

}  // namespace detail

/// Returns all bad files; every name is different.
inline std::vector<BadFile> bad_gguf_files() { return detail::BadFileMaker().make(); }

}  // namespace zrt::test
