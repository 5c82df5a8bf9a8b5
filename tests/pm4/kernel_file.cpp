// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernel_file.cpp: kernels from code objects to .zrt files and to what is uploaded; hostile bytes at each step.
// test-set: smoke
#include <zrt/backend/pm4/code_object/convert.hpp>
#include <zrt/backend/pm4/kernel_file/specialise.hpp>

#include <gtest/gtest.h>

#include <pm4/stream_cases.hpp>
#include <tools/gguf_counting_allocator.hpp>

namespace kernel_file_test {
namespace {

using namespace zrt::pm4;
using zrt::Errc;
using zrt::Result;
using Bytes = std::vector<std::byte>;

Bytes code_object(const std::string& target) {
  return zrt::test::file_bytes(ZRT_TEST_DATA_DIR "/pm4/kernels-" + target + ".hsaco");
}

/// The first kernel of the object has a constant, the second has none.
std::span<const Placeholder> placeholders_of(std::string_view kernel) {
  static constexpr std::array<Placeholder, 1> scale{{{"scale", 0xcafe0001}}};
  return kernel == "scaled_add" ? std::span<const Placeholder>(scale) : std::span<const Placeholder>();
}

/// The kernels of an object as .zrt files.
Result<std::vector<Bytes>> converted(std::span<const std::byte> object_bytes,
                                     const zrt::Allocator& allocator = zrt::system_allocator()) {
  const auto object = CodeObject::open(object_bytes);
  if (!object) return zrt::pass(object);
  std::vector<Bytes> files;
  const auto all = for_each_kernel(*object, [&](const KernelMetadata& metadata) -> Result<void> {
    const auto file = convert_kernel(*object, metadata, placeholders_of(metadata.name), allocator);
    if (!file) return zrt::pass(file);
    files.emplace_back(file->begin(), file->end());
    return {};
  });
  if (!all) return zrt::pass(all);
  return files;
}

/// Reads all that a file shows, as whoever uploads it would.
std::size_t walk(const KernelFile& file) {
  std::size_t sum = file.name().size() + file.blob().size() + file.code().size() + file.target().name.size();
  for (const std::byte b : file.blob()) sum += std::to_integer<std::size_t>(b);
  std::vector<KernelConstant> constants;
  for (std::uint32_t i = 0; i < file.patch_count() && i < 8; ++i) constants.push_back({file.patch_name(i), i});
  Bytes room(file.blob().size());
  return sum + write_specialised(file, constants, room).has_value();
}

TEST(KernelFile, HoldsWhatTheCompilerMade) {
  for (const std::string target : {"gfx1201", "gfx1100"}) {
    const Bytes object = code_object(target);
    const auto files = converted(object);
    ASSERT_TRUE(files) << files.error().text();
    ASSERT_EQ(files->size(), 2u);
    // As llvm-readelf and llvm-objdump tell it.
    const auto add = KernelFile::open((*files)[0]);
    ASSERT_TRUE(add);
    EXPECT_EQ(add->name(), "scaled_add");
    EXPECT_EQ(add->target().name, target);
    EXPECT_EQ(add->header().buffer_count, 3u);
    EXPECT_EQ(add->header().push_const_bytes, 4u);
    EXPECT_EQ(add->header().subgroup_size, 32u);
    EXPECT_EQ(add->header().workgroup_size_x, 256u);
    EXPECT_EQ(add->header().vgpr_count, 6u);
    EXPECT_EQ(add->header().sgpr_count, target == "gfx1201" ? 10u : 18u);
    EXPECT_EQ(add->descriptor().pgm_rsrc1, target == "gfx1201" ? 0x600f0040u : 0x60af0080u);
    ASSERT_EQ(add->patch_count(), 1u);
    EXPECT_EQ(add->patch_name(0), "scale");
    EXPECT_EQ(add->patch(0).code_offset, 256u + 0x20);
    EXPECT_EQ(add->patch(0).placeholder, 0xcafe0001u);
    EXPECT_EQ(add->code().size(), 0x100u);
    EXPECT_TRUE(std::ranges::equal(add->code(), std::span(object).subspan(0xa00, 0x100)));
    const auto reverse = KernelFile::open((*files)[1]);
    ASSERT_TRUE(reverse);
    EXPECT_EQ(reverse->name(), "reverse_rows");
    EXPECT_EQ(reverse->header().buffer_count, 2u);
    EXPECT_EQ(reverse->header().push_const_bytes, 12u);
    EXPECT_EQ(reverse->header().workgroup_size_x, 32u);
    EXPECT_EQ(reverse->header().workgroup_size_y, 2u);
    EXPECT_EQ(reverse->header().lds_bytes, 256u);
    EXPECT_EQ(reverse->patch_count(), 0u);
    EXPECT_TRUE(std::ranges::equal(reverse->code(), std::span(object).subspan(0xb00, 0x280)));
  }
}

TEST(KernelFile, IsReadSafelyWhateverItHolds) {
  const auto files = converted(code_object("gfx1201"));
  ASSERT_TRUE(files);
  for (const Bytes& good : *files) {
    for (std::size_t size = 0; size < good.size(); ++size) {
      const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
      const auto opened = KernelFile::open(cut);
      ASSERT_FALSE(opened) << size;
      EXPECT_LE(opened.error().offset(), size);
    }
    std::size_t refused = 0;
    for (std::size_t at = 0; at < good.size(); ++at)
      for (const unsigned change : {0x01u, 0x80u, 0xffu}) {
        Bytes bad(good);
        bad[at] ^= static_cast<std::byte>(change);
        const auto opened = KernelFile::open(bad);
        if (opened)
          walk(*opened);
        else
          ++refused;
      }
    // All of header, descriptor, gap and names but the code itself, counts within bounds, and float modes.
    EXPECT_GT(refused, (64 + 250) * 3u);
    Bytes longer(good);
    longer.push_back(std::byte{0});
    EXPECT_FALSE(KernelFile::open(longer));
  }
}

TEST(KernelFile, SaysWhereAFieldIsWrong) {
  const auto files = converted(code_object("gfx1201"));
  ASSERT_TRUE(files);
  const Bytes& good = (*files)[0];
  const std::size_t names = 64 + (*KernelFile::open(good)).header().code_size;
  const auto refused = [&](std::size_t at, std::uint32_t word, Errc code, std::uint64_t offset) {
    Bytes bad(good);
    zrt::write_little(bad.data() + at, word);
    const auto opened = KernelFile::open(bad);
    ASSERT_FALSE(opened) << at;
    EXPECT_EQ(opened.error().code(), code) << at << ' ' << opened.error().text();
    EXPECT_EQ(opened.error().offset(), offset) << at << ' ' << opened.error().text();
  };
  refused(0, 0x005a5254, Errc::invalid_file, 0);
  refused(4, 0x00010002, Errc::unsupported_version, 4);
  refused(4, 0x00100001, Errc::unsupported_device, 6);
  refused(8, 0xffffffff, Errc::invalid_file, 8);
  refused(8, 0xfffffffc, Errc::truncated_file, good.size());
  refused(12, 0, Errc::invalid_file, 12);
  refused(12, 260, Errc::invalid_file, 12);
  refused(12, 512, Errc::invalid_file, 12);
  refused(16, 4, Errc::invalid_file, 72);
  refused(16, 0x80000003, Errc::invalid_file, 72);
  refused(20, 8, Errc::invalid_file, 72);
  refused(24, 64, Errc::invalid_file, 120);
  refused(24, 0, Errc::invalid_file, 24);
  refused(28, 0, Errc::invalid_file, 28);
  refused(28, 2048, Errc::invalid_file, 28);
  refused(32, 0x80000000, Errc::invalid_file, 28);
  refused(40, 512, Errc::invalid_file, 64);
  refused(40, 0x10001, Errc::invalid_file, 40);
  refused(44, 9, Errc::invalid_file, 112);
  refused(44, 257, Errc::invalid_file, 44);
  refused(48, 129, Errc::invalid_file, 48);
  refused(52, 17, Errc::invalid_file, 52);
  refused(56, 64, Errc::invalid_file, 56);
  refused(60, 0, Errc::invalid_file, 60);
  refused(60, 0xffffffff, Errc::invalid_file, 60);
  refused(60, 255, Errc::truncated_file, good.size());
  refused(64 + 16, 512, Errc::invalid_file, 80);
  refused(64 + 56, 0x409, Errc::invalid_file, 64);
  refused(64 + 128, 1, Errc::invalid_file, 64 + 128);
  refused(names, 0x0a0a0a0a, Errc::invalid_file, names);
  const std::size_t count = names + 10;
  refused(count, 0xffffffff, Errc::truncated_file, good.size());
  refused(count, 2, Errc::truncated_file, good.size());
  refused(count, 0, Errc::invalid_file, count + 4);
  refused(count + 4, 64, Errc::invalid_file, count + 4);
  refused(count + 8, 0, Errc::invalid_file, count + 8);
  refused(count + 8, 6, Errc::truncated_file, good.size());
  refused(count + 12, 252, Errc::invalid_file, count + 12);
  refused(count + 12, 258, Errc::invalid_file, count + 12);
  refused(count + 12, 512, Errc::invalid_file, count + 12);
  refused(count + 12, 256, Errc::invalid_file, 64 + 256);
  refused(count + 16, 7, Errc::invalid_file, 64 + 256 + 0x20);
}

TEST(KernelFile, TakesItsConstantsByName) {
  const auto files = converted(code_object("gfx1201"));
  ASSERT_TRUE(files);
  Bytes bytes = (*files)[0];
  const auto file = KernelFile::open(bytes);
  ASSERT_TRUE(file);
  Bytes room(file->blob().size());
  const std::array<KernelConstant, 2> constants{{{"scale", 0x12345678}, {"other", 1}}};
  ASSERT_TRUE(write_specialised(*file, std::span(constants).first(1), room));
  for (std::size_t i = 0; i < room.size(); ++i)
    EXPECT_EQ(room[i],
              i / 4 == 0x120 / 4 ? std::byte{static_cast<unsigned char>(0x12345678 >> i % 4 * 8)} : file->blob()[i])
        << i;
  EXPECT_EQ(write_specialised(*file, {}, room).error().text(), "kernel scaled_add needs constant scale");
  EXPECT_EQ(write_specialised(*file, constants, room).error().text(), "kernel scaled_add has no constant other");
  const std::array twice{constants[0], constants[0]};
  EXPECT_EQ(write_specialised(*file, twice, room).error().text(), "constant scale is given twice");
  EXPECT_EQ(write_specialised(*file, constants, std::span(room).first(8)).error().code(), Errc::invalid_argument);
  // The bytes change behind the reader's back.
  for (std::size_t at = 64; at < bytes.size(); ++at) {
    const std::byte before = bytes[at];
    bytes[at] = std::byte{0xff};
    (void)write_specialised(*file, std::span(constants).first(1), room);
    bytes[at] = before;
  }
  bytes[64 + 0x120] = std::byte{0};
  EXPECT_EQ(write_specialised(*file, std::span(constants).first(1), room).error().code(), Errc::invalid_file);
}

TEST(CodeObject, IsReadSafelyWhateverItHolds) {
  const Bytes good = code_object("gfx1100");
  std::size_t taken = 0;
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(converted(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)))) << size;
  Bytes bad(good);
  for (std::size_t at = 0; at < good.size(); ++at) {
    bad[at] ^= at % 2 == 0 ? std::byte{0x01} : std::byte{0x80};
    taken += converted(bad).has_value();
    bad[at] = good[at];
  }
  EXPECT_GT(taken, 1000u);
  EXPECT_LT(taken, good.size() - 500);
}

TEST(CodeObject, IsRefusedWhereAKernelNeedsMoreThanItsArguments) {
  const Bytes good = code_object("gfx1201");
  const auto refused = [&](std::string_view from, std::string_view to, std::string_view text) {
    Bytes bad(good);
    const auto* first = reinterpret_cast<const std::byte*>(from.data());
    auto at = bad.begin();
    std::size_t changed = 0;
    while ((at = std::search(at, bad.end(), first, first + from.size())) != bad.end()) {
      std::memcpy(&*at, to.data(), to.size());
      ++changed;
    }
    EXPECT_GT(changed, 0u) << from;
    const auto files = converted(bad);
    ASSERT_FALSE(files) << to;
    EXPECT_NE(files.error().text().find(text), std::string_view::npos) << files.error().text();
  };
  refused("global_buffer", "hidden_printf", "of kind hidden_printf");
  refused("__oclc_ABI_version", "__table_of_scales_", "has data, __table_of_scales_: pass it in a buffer");
  refused(".relro_padding", ".bss__________", "section .bss__________ has variables");
  refused("reverse_rows.kd", "reverse_rows.zz", "has data, reverse_rows.zz");
  refused(".reqd_workgroup_size", ".read_workgroup_size", "has no reqd_work_group_size");
  refused("amdhsa.kernels", "amdhsa.kernelz", "lists no kernels");
  refused(std::string_view("AMDGPU\0", 7), std::string_view("AMDCPU\0", 7), "has no metadata");
}

TEST(CodeObject, ADescriptorOfOtherCodeIsRefused) {
  Bytes bytes = code_object("gfx1201");
  // The entry offset of the first descriptor, as llvm-objdump shows the section.
  ASSERT_EQ(zrt::read_little<std::uint32_t>(bytes.data() + 0x910), 0x1100u);
  zrt::write_little(bytes.data() + 0x910, 0x1200u);
  const auto files = converted(bytes);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().text(), "the descriptor of scaled_add does not point to its code");
}

TEST(CodeObject, ANoteThatEndsOutsideItsSectionIsRefused) {
  Bytes bytes = code_object("gfx1201");
  // The section of notes begins with the sizes of its only one: name, content.
  constexpr std::size_t note = 0x200;
  ASSERT_EQ(zrt::read_little<std::uint32_t>(bytes.data() + note), 7u);
  for (const std::size_t size_at : {note, note + 4})
    for (const std::uint32_t size : {0x00010000u, 0xfffffffcu, 0xffffffffu}) {
      Bytes bad(bytes);
      zrt::write_little(bad.data() + size_at, size);
      const auto files = converted(bad);
      ASSERT_FALSE(files);
      EXPECT_NE(files.error().text().find("ends outside its section"), std::string_view::npos) << files.error().text();
    }
}

TEST(CodeObject, AKernelThatCannotBeLaunchedIsNoOthersFault) {
  Bytes bytes = code_object("gfx1201");
  // The arguments of reverse_rows are listed last.
  const std::string_view kind = "global_buffer";
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const std::size_t at = std::string_view(text, bytes.size()).rfind(kind);
  ASSERT_NE(at, std::string_view::npos);
  bytes[at] = std::byte{'G'};
  const auto object = CodeObject::open(bytes);
  ASSERT_TRUE(object);
  std::vector<std::string> said;
  const auto all = for_each_kernel(*object, [&](const KernelMetadata& metadata) -> Result<void> {
    const auto file = convert_kernel(*object, metadata, placeholders_of(metadata.name), zrt::system_allocator());
    said.emplace_back(file ? "" : file.error().text());
    return {};
  });
  EXPECT_TRUE(all);
  EXPECT_EQ(said,
            (std::vector<std::string>{
                "", "kernel reverse_rows: an argument is of kind Global_buffer, global_buffer or by_value expected"}));
}

TEST(CodeObject, PlaceholdersAreFoundOrRefused) {
  const Bytes bytes = code_object("gfx1201");
  const auto object = CodeObject::open(bytes);
  ASSERT_TRUE(object);
  const auto text = [&](std::span<const Placeholder> placeholders) {
    std::string said;
    const auto all = for_each_kernel(*object, [&](const KernelMetadata& metadata) -> Result<void> {
      const auto file = convert_kernel(*object, metadata, placeholders, zrt::system_allocator());
      if (!file) said = file.error().text();
      return {};
    });
    EXPECT_TRUE(all);
    return said;
  };
  EXPECT_EQ(text(std::array<Placeholder, 1>{{{"a", 0xcafe0002}}}),
            "placeholder 0xcafe0002 of constant a is not in the code");
  EXPECT_EQ(text(std::array<Placeholder, 2>{{{"a", 1}, {"b", 1}}}),
            "constants a and b have the placeholder 0x00000001");
}

TEST(CodeObject, RunsOutOfMemoryCleanly) {
  const Bytes bytes = code_object("gfx1201");
  std::size_t failures = 0;
  for (std::size_t n = 0; n < 32; ++n) {
    zrt::test::CountingAllocator counting;
    counting.fail_at = n;
    const auto files = converted(bytes, counting.hook());
    if (!files) {
      EXPECT_EQ(files.error().code(), Errc::out_of_memory);
      ++failures;
    }
    EXPECT_EQ(counting.live, 0u);
  }
  EXPECT_GE(failures, 5u);
}

TEST(MessagePack, ReadsEachKindOfValue) {
  // [None, True, False, 5, -1, 200, 70000, 2**40, -200, -70000, 1.5, "ab", b"cd", [1], {2: 3}], written by the specification.
  const std::string_view packed(
      "\x9f\xc0\xc3\xc2\x05\xff\xcc\xc8\xce\x00\x01\x11\x70\xcf\x00\x00\x01\x00\x00\x00\x00\x00\xd1\xff\x38"
      "\xd2\xff\xfe\xee\x90\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00\xa2\x61\x62\xc4\x02\x63\x64\x91\x01\x81\x02\x03",
      51);
  const Bytes bytes(reinterpret_cast<const std::byte*>(packed.data()),
                    reinterpret_cast<const std::byte*>(packed.data()) + packed.size());
  MessagePackReader in(bytes);
  using Kind = MessagePackReader::Kind;
  const struct {
    Kind kind;
    std::uint64_t number;
  } expected[] = {{Kind::array, 15},
                  {Kind::nil, 0},
                  {Kind::boolean, 1},
                  {Kind::boolean, 0},
                  {Kind::unsigned_integer, 5},
                  {Kind::signed_integer, static_cast<std::uint64_t>(-1)},
                  {Kind::unsigned_integer, 200},
                  {Kind::unsigned_integer, 70000},
                  {Kind::unsigned_integer, std::uint64_t{1} << 40},
                  {Kind::signed_integer, static_cast<std::uint64_t>(-200)},
                  {Kind::signed_integer, static_cast<std::uint64_t>(-70000)},
                  {Kind::real, 0x3ff8000000000000u},
                  {Kind::text, 2},
                  {Kind::bytes, 2},
                  {Kind::array, 1},
                  {Kind::unsigned_integer, 1},
                  {Kind::map, 1},
                  {Kind::unsigned_integer, 2},
                  {Kind::unsigned_integer, 3}};
  for (const auto& e : expected) {
    const auto value = in.next();
    ASSERT_TRUE(value) << in.offset();
    EXPECT_EQ(value->kind, e.kind) << in.offset();
    EXPECT_EQ(value->number, e.number) << in.offset();
  }
  EXPECT_EQ(in.offset(), bytes.size());
  EXPECT_FALSE(in.next());
  EXPECT_TRUE(MessagePackReader(bytes).skip());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(MessagePackReader(cut).skip()) << size;
  }
  // Counts of elements that no bytes follow end at once.
  const Bytes bomb(64, std::byte{0xdd});
  EXPECT_FALSE(MessagePackReader(bomb).skip());
}

}  // namespace
}  // namespace kernel_file_test
