// SPDX-License-Identifier: Apache-2.0
// tests/pm4/packets.cpp: the strict decoder takes what encoders and other drivers write, and names every fault.
// test-set: smoke
#include <zrt/backend/pm4/disassemble.hpp>
#include <zrt/backend/pm4/packets.hpp>

#include <gtest/gtest.h>

#include <pm4/stream_cases.hpp>
#include <random>
#include <set>

namespace packets_test {
namespace {

using namespace zrt::pm4;
using zrt::Errc;
using zrt::Result;
using zrt::test::Words;

/// The finding of a stream, or "" where it is good.
std::string finding(const Words& words, Generation generation, PacketPlace place = PacketPlace::ring) {
  // A copy of the exact size, so that a read beyond it is seen by a sanitizer.
  const Words exact(words);
  const auto checked = check_stream(exact, generation, place);
  return checked ? "" : std::string(checked.error().text());
}

bool has_fault(const std::string& text, PacketFault fault, std::size_t dword) {
  return text.starts_with(std::string(name(fault)) + ": dword " + std::to_string(dword) + ",");
}

template <class Target> class Packets : public testing::Test {};
using Generations = testing::Types<Gfx11, Gfx12>;
TYPED_TEST_SUITE(Packets, Generations);

TYPED_TEST(Packets, AreTakenAsTheyAreWritten) {
  std::set<std::string_view> seen;
  for (const Words& words : zrt::test::one_of_each<TypeParam>()) {
    ASSERT_FALSE(words.empty());
    EXPECT_EQ(finding(words, TypeParam::generation), "");
    PacketReader reader(words, TypeParam::generation);
    const auto packet = reader.next();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->words.size(), words.size());
    EXPECT_TRUE(reader.done());
    seen.insert(packet->kind->name);
  }
  for (const Packet* packet : kPackets)
    EXPECT_TRUE(packet->use != Use::compute || seen.contains(packet->name)) << packet->name;
}

TYPED_TEST(Packets, CutAnywhereAreTruncated) {
  for (const Words& words : zrt::test::one_of_each<TypeParam>())
    for (std::size_t size = 1; size < words.size(); ++size)
      EXPECT_TRUE(has_fault(
          finding(Words(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(size)), TypeParam::generation),
          PacketFault::truncated, 0))
          << std::hex << words[0] << " cut to " << size;
}

TYPED_TEST(Packets, OfAnotherLengthAreRefused) {
  for (const Words& words : zrt::test::one_of_each<TypeParam>()) {
    const Packet& kind = *find_packet(static_cast<std::uint8_t>(words[0] >> 8));
    for (const std::size_t payload : {kind.least - 1u, kind.most + 1u}) {
      if (payload == 0 || payload > kMostPayload) continue;
      Words longer(words);
      longer.resize(payload + 1);
      longer[0] = header_word(kind.opcode, payload);
      EXPECT_TRUE(has_fault(finding(longer, TypeParam::generation), PacketFault::wrong_length, 0)) << kind.name;
    }
  }
}

TYPED_TEST(Packets, AReservedBitIsFoundWhereItIs) {
  std::size_t tried = 0;
  for (const Words& words : zrt::test::one_of_each<TypeParam>()) {
    const Packet& kind = *find_packet(static_cast<std::uint8_t>(words[0] >> 8));
    for (std::size_t dword = 1; dword <= kind.fixed(); ++dword)
      for (unsigned bit = 0; bit < 32; ++bit) {
        if ((reserved_bits(kind.fields, dword, TypeParam::generation) >> bit & 1) == 0) continue;
        Words bad(words);
        bad[dword] |= 1u << bit;
        EXPECT_TRUE(has_fault(finding(bad, TypeParam::generation), PacketFault::reserved_bits, dword))
            << kind.name << " dword " << dword << " bit " << bit;
        ++tried;
      }
    for (const std::uint32_t bit : {1u, 4u, 8u, 0x80u}) {
      Words bad(words);
      bad[0] |= bit;
      EXPECT_TRUE(has_fault(finding(bad, TypeParam::generation), PacketFault::reserved_bits, 0)) << kind.name;
    }
  }
  EXPECT_GT(tried, 100u);
}

TYPED_TEST(Packets, AValueThatAFieldCannotHaveIsFound) {
  std::size_t tried = 0;
  for (const Words& words : zrt::test::one_of_each<TypeParam>()) {
    const Packet& kind = *find_packet(static_cast<std::uint8_t>(words[0] >> 8));
    for (const BitField& field : kind.fields) {
      if (!holds(field.defined, TypeParam::generation) || field.bits > 8 || field.values.empty()) continue;
      for (std::uint64_t value = 0; value <= field.most(); ++value) {
        if (!field.name_of(value).empty()) continue;
        Words bad(words);
        field.set(std::span(bad).subspan(1), 1, value);
        EXPECT_TRUE(has_fault(finding(bad, TypeParam::generation), PacketFault::bad_value, field.dword))
            << kind.name << '.' << field.name << " = " << value;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 50u);
}

TYPED_TEST(Packets, EveryOtherOpcodeIsUnknown) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const Packet* kind = find_packet(static_cast<std::uint8_t>(opcode));
    const std::string text = finding({header_word(static_cast<std::uint8_t>(opcode), 1), 0}, TypeParam::generation);
    if (kind == nullptr) {
      EXPECT_TRUE(has_fault(text, PacketFault::unknown_opcode, 0)) << text;
    } else if (kind->use == Use::fields_unstated) {
      EXPECT_TRUE(has_fault(text, PacketFault::fields_unstated, 0)) << text;
    }
  }
  EXPECT_TRUE(has_fault(finding({0xc0016900, 0, 0}, TypeParam::generation), PacketFault::not_on_compute_queue, 0));
  EXPECT_TRUE(has_fault(finding({0xc0002300, 0x01000001}, TypeParam::generation), PacketFault::not_in_a_ring, 0));
  EXPECT_EQ(finding({0xc0002300, 0x01000001}, TypeParam::generation, PacketPlace::indirect_buffer), "");
  EXPECT_TRUE(has_fault(finding({kFiller, 0}, TypeParam::generation), PacketFault::unknown_type, 1));
  EXPECT_TRUE(has_fault(finding({0x40000000}, TypeParam::generation), PacketFault::unknown_type, 0));
  EXPECT_TRUE(has_fault(finding({kFiller | 1}, TypeParam::generation), PacketFault::unknown_type, 0));
  EXPECT_EQ(finding({kFiller, kNopWord, 0xc0001000, 77}, TypeParam::generation), "");
}

TYPED_TEST(Packets, FieldsAreHeldToEachOther) {
  const auto refused = [](const auto& packet, std::size_t dword, std::uint32_t value, PacketFault fault,
                          std::size_t at) {
    const auto stream = stream_of<TypeParam>(packet);
    Words words(stream.span().begin(), stream.span().end());
    words[dword] = value;
    const std::string text = finding(words, TypeParam::generation);
    EXPECT_TRUE(has_fault(text, fault, at)) << text;
  };
  refused(PartialFlush{}, 1, 0x507, PacketFault::bad_value, 1);
  for (const std::uint32_t of_release : {0x514u, 0x528u, 0x62fu})
    refused(PartialFlush{}, 1, of_release, PacketFault::bad_value, 1);
  refused(ReleaseMem{.address = 8}, 3, 4, PacketFault::bad_value, 3);
  refused(ReleaseMem{.address = 8}, 3, 6, PacketFault::misaligned, 3);
  refused(ReleaseMem{.address = 8}, 1, 0x407, PacketFault::bad_value, 1);
  refused(ReleaseMem{.address = 8}, 1, 0x614, PacketFault::bad_value, 1);
  refused(WaitMemory{.address = 8}, 2, 2, PacketFault::bad_value, 2);
  refused(WaitMemory{.address = 8}, 3, 0x10000, PacketFault::bad_value, 3);
  refused(WaitMemory{.address = 8}, 1, 0x55, PacketFault::bad_value, 1);
  refused(WaitMemory64{.address = 8}, 2, 4, PacketFault::bad_value, 2);
  refused(WriteWaitRegister{1, 2}, 1, 0x5, PacketFault::bad_value, 3);
  refused(IndirectBuffer{8, 1}, 3, 0x00800000, PacketFault::bad_value, 3);
  refused(IndirectBuffer{8, 1}, 3, 0x00900001, PacketFault::bad_value, 3);
  refused(IndirectBuffer{8, 1}, 3, 0x00000001, PacketFault::bad_value, 3);
  refused(IndirectBuffer{8, 1}, 1, 6, PacketFault::misaligned, 1);
  refused(CopyMemory{8, 8, true}, 2, 12, PacketFault::bad_value, 2);
  refused(CopyMemory{8, 8, true}, 4, 12, PacketFault::bad_value, 4);
  refused(AcquireMem{}, 3, 0x100, PacketFault::bad_value, 2);
  refused(DispatchDirect{}, 4, 0x8004, PacketFault::bad_value, 4);
}

TYPED_TEST(Packets, RegistersAreKnownAndWritable) {
  const auto text = [](std::uint32_t offset, std::uint32_t value) {
    return finding({0xc0017600, offset, value}, TypeParam::generation);
  };
  EXPECT_EQ(text(0x20c, 1), "");
  EXPECT_TRUE(has_fault(text(0x20d, 0x100), PacketFault::reserved_bits, 2));
  EXPECT_TRUE(has_fault(text(0x203, 0), PacketFault::unknown_register, 2));
  EXPECT_TRUE(has_fault(text(0x214, 0), PacketFault::unwritable_register, 2));
  EXPECT_TRUE(has_fault(text(0x400, 0), PacketFault::outside_aperture, 1));
  EXPECT_TRUE(has_fault(finding({0xc0027600, 0x3ff, 0, 0}, TypeParam::generation), PacketFault::outside_aperture, 1));
  EXPECT_TRUE(has_fault(finding({0xc0017900, 0x4000, 0}, TypeParam::generation), PacketFault::outside_aperture, 1));
  // The ninth shader engine, and 18 bits of a wave's scratch, are RDNA4's alone; half workgroups RDNA3's.
  const bool gfx12 = TypeParam::generation == Generation::gfx12;
  EXPECT_EQ(text(0x223, ~0u).empty(), gfx12);
  EXPECT_EQ(text(0x218, 1u << 29).empty(), gfx12);
  EXPECT_EQ(text(0x209, 1u << 16).empty(), !gfx12);
}

TEST(PacketWriter, KeepsItsFirstErrorAndWritesWholePackets) {
  std::array<std::uint32_t, 6> room{};
  PacketWriter<Gfx12> writer(room);
  writer.add(PartialFlush{}).add(DispatchDirect{}).add(PartialFlush{});
  ASSERT_FALSE(writer.finish());
  EXPECT_EQ(writer.finish().error().code(), Errc::capacity_exceeded);
  EXPECT_EQ(writer.finish().error().text(), "DISPATCH_DIRECT needs 5 dwords, 4 are left of 6");
  EXPECT_EQ(room[2], 0u);
  EXPECT_EQ(PacketWriter<Gfx12>(room).pad(6).finish()->size(), 6u);
  EXPECT_FALSE(PacketWriter<Gfx12>(room).pad(7).finish());

  const auto text = [&](const auto& packet) {
    std::array<std::uint32_t, 64> more{};
    const auto done = PacketWriter<Gfx12>(more).add(packet).finish();
    return done ? std::string() : std::string(done.error().text());
  };
  EXPECT_EQ(text(IndirectBuffer{0x1002, 1}), "INDIRECT_BUFFER.ADDRESS is 0x00001002, a multiple of 4 expected");
  EXPECT_EQ(text(IndirectBuffer{0, 1u << 20}), "INDIRECT_BUFFER.SIZE is 0x00100000, at most 0x000fffff expected");
  EXPECT_EQ(text(ReleaseMem{.address = 1ull << 48}),
            "RELEASE_MEM.ADDRESS is 0x1000000000000, at most 0xffffffffffff expected");
  EXPECT_EQ(text(SetShReg{0x240, {}}), "SET_SH_REG has 1 dwords after its header, 2 to 1025 expected");
}

TEST(PacketWriter, LeavesAtZeroWhatAGenerationLacks) {
  EXPECT_EQ(stream_of<Gfx11>(ReleaseMem{8}).words[1], 0x0070f514u);
  EXPECT_EQ(stream_of<Gfx12>(ReleaseMem{8}).words[1], 0x00704514u);
  // A driver that sets the bits on RDNA4 all the same is understood.
  EXPECT_EQ(finding({0xc0064900, 0x0070f514, 0x20000000, 8, 0, 1, 0, 0}, Generation::gfx12), "");
}

TEST(PacketReader, ReadsNothingOutsideAnyStream) {
  std::mt19937 random(7);
  std::vector<Words> good = zrt::test::one_of_each<Gfx12>();
  std::size_t taken = 0;
  for (int round = 0; round < 400; ++round) {
    Words words;
    for (auto n = random() % 4 + 1; n > 0; --n) {
      const Words& next = good[random() % good.size()];
      words.insert(words.end(), next.begin(), next.end());
    }
    for (auto n = random() % 3; n > 0; --n) words[random() % words.size()] ^= 1u << random() % 32;
    words.resize(words.size() - random() % 2);
    for (const Generation generation : {Generation::gfx11, Generation::gfx12})
      taken += finding(words, generation).empty();
  }
  EXPECT_GT(taken, 50u);
}

TEST(PacketReader, TakesWhatAnotherDriverWrites) {
  const auto cases = zrt::test::golden_cases();
  if (cases.empty()) GTEST_SKIP() << "SKIPPED: no golden PM4 cases in " ZRT_SHARED_DIR;
  EXPECT_EQ(cases.size(), 15u);
  for (const auto& folder : cases)
    EXPECT_EQ(finding(zrt::test::file_words(folder / "ring.bin"), zrt::test::generation_of(folder)), "")
        << folder.filename();
}

TEST(Disassemble, NamesPacketsFieldsAndRegisters) {
  const auto stream = stream_of<Gfx12>(SetShReg{register_offset("COMPUTE_TMPRING_SIZE"), std::array{0x00020200u}},
                                       SetShReg{register_offset("COMPUTE_USER_DATA_"), std::array{7u, 0x6000u}},
                                       DispatchDirect{{2, 1, 1}}, ReleaseMem{0x6000'0030'0000, 0x1234abcd});
  std::string text;
  PacketReader reader(stream.span(), Generation::gfx12);
  while (!reader.done()) {
    const auto packet = reader.next();
    ASSERT_TRUE(packet);
    disassemble(*packet, Generation::gfx12, [&](std::string_view piece) { text += piece; });
  }
  EXPECT_EQ(text,
            "0x00000000  SET_SH_REG OFFSET=536\n"
            "              COMPUTE_TMPRING_SIZE = 0x00020200 WAVES=512 WAVESIZE=32\n"
            "0x0000000c  SET_SH_REG OFFSET=576\n"
            "              COMPUTE_USER_DATA_0 = 0x00000007\n"
            "              COMPUTE_USER_DATA_1 = 0x00006000\n"
            "0x0000001c  DISPATCH_DIRECT DIM_X=2 DIM_Y=1 DIM_Z=1 COMPUTE_SHADER_EN FORCE_START_AT_000 CS_W32_EN\n"
            "0x00000030  RELEASE_MEM EVENT_TYPE=CACHE_FLUSH_AND_INV_TS_EVENT EVENT_INDEX=5 GLV_INV GL2_INV GL2_WB SEQ "
            "DST_SEL=MEMORY_CONTROLLER INT_SEL=NONE DATA_SEL=64_BITS ADDRESS=0x600000300000 DATA=0x1234abcd\n");
}

}  // namespace
}  // namespace packets_test
