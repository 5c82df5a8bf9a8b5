// SPDX-License-Identifier: Apache-2.0
// tests/pm4/ring.cpp: packets survive the end of the ring at every phase, and a full ring is an error.
// test-set: smoke
#include <zrt/backend/pm4/decode.hpp>
#include <zrt/backend/pm4/dispatch.hpp>
#include <zrt/backend/pm4/ring.hpp>

#include <gtest/gtest.h>

#include <pm4/stream_cases.hpp>

namespace ring_test {
namespace {

using namespace zrt::pm4;
using zrt::Errc;
using zrt::test::Words;

constexpr std::size_t kDwords = 256;

/// A ring in host memory, and a device that reads it up to the doorbell.
struct Device {
  Words memory = Words(kDwords, 0xdeadbeef);
  std::uint64_t write_pointer = 0;
  volatile std::uint64_t doorbell = 0;
  std::uint64_t read = 0;
  Ring ring = *Ring::over(memory, &write_pointer, &doorbell);

  Words take() {
    Words taken;
    for (; read < doorbell; ++read) taken.push_back(memory[read % kDwords]);
    return taken;
  }
};

Words submission(std::uint64_t value) {
  Words words(128);
  PacketWriter<Gfx1201> writer(words);
  write_dispatch(writer, {.arguments = value << 8});
  write_fence(writer, 0x6000'0030'0000, value);
  EXPECT_TRUE(writer.finish());
  words.resize(writer.size());
  return words;
}

TEST(Ring, KeepsPacketsWholeAtEveryPhaseOfItsEnd) {
  // The submission is moved over the end dword by dword.
  for (std::size_t phase = 0; phase < kDwords; ++phase) {
    Device device;
    Words padding(phase);
    ASSERT_TRUE(PacketWriter<Gfx1201>(padding).pad(phase).finish());
    ASSERT_TRUE(device.ring.write(padding));
    device.ring.publish();
    (void)device.take();
    ASSERT_TRUE(device.ring.release(phase));
    for (std::uint64_t value = 1; value < 7; ++value) {
      const Words sent = submission(value);
      ASSERT_TRUE(device.ring.write(sent));
      EXPECT_TRUE(device.take().empty()) << "not published yet";
      device.ring.publish();
      EXPECT_EQ(device.write_pointer, device.doorbell);
      const Words seen = device.take();
      ASSERT_EQ(seen, sent) << phase;
      ASSERT_TRUE(check_stream(seen, Generation::gfx12));
      Words last(sent.size());
      EXPECT_EQ(device.ring.copy_from(device.ring.position() - sent.size(), last), sent.size());
      EXPECT_EQ(last, sent);
      ASSERT_TRUE(device.ring.release(device.ring.position()));
    }
  }
}

TEST(Ring, ThatIsFullIsAnErrorAndStaysAsItWas) {
  Device device;
  const Words most(kDwords - 10, kNopWord);
  ASSERT_TRUE(device.ring.write(most));
  device.ring.publish();
  EXPECT_EQ(device.ring.room(), 10u);
  const Words before = device.memory;
  const auto refused = device.ring.write(Words(11, kFiller));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::capacity_exceeded);
  EXPECT_EQ(refused.error().text(), "the ring has room for 10 of 256 dwords, 11 are to be written");
  EXPECT_EQ(device.memory, before);
  ASSERT_TRUE(device.ring.write(Words(10, kFiller)));
  EXPECT_EQ(device.ring.room(), 0u);
  EXPECT_TRUE(device.ring.write({}));
  // Only what was published and not given back before can be given back.
  EXPECT_FALSE(device.ring.release(kDwords));
  ASSERT_TRUE(device.ring.release(100));
  EXPECT_FALSE(device.ring.release(99));
  EXPECT_EQ(device.ring.room(), 100u);
}

TEST(Ring, ShowsOnlyWhatIsStillThere) {
  Device device;
  Words words(4);
  EXPECT_EQ(device.ring.copy_from(0, words), 0u);
  for (std::uint32_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(device.ring.write(std::array{i}));
    device.ring.publish();
    ASSERT_TRUE(device.ring.release(device.ring.position()));
  }
  EXPECT_EQ(device.ring.copy_from(43, words), 0u);
  EXPECT_EQ(device.ring.copy_from(44, words), 4u);
  EXPECT_EQ(words, (Words{44, 45, 46, 47}));
  EXPECT_EQ(device.ring.copy_from(298, words), 2u);
  EXPECT_EQ(device.ring.copy_from(300, words), 0u);
}

TEST(Ring, IsAPowerOfTwo) {
  Words words(1024);
  std::uint64_t pointer = 0;
  volatile std::uint64_t doorbell = 0;
  EXPECT_TRUE(Ring::over(words, &pointer, &doorbell));
  EXPECT_FALSE(Ring::over(std::span(words).first(1000), &pointer, &doorbell));
  EXPECT_FALSE(Ring::over(std::span(words).first(128), &pointer, &doorbell));
  EXPECT_FALSE(Ring::over({}, &pointer, &doorbell));
  EXPECT_FALSE(Ring::over(words, nullptr, &doorbell));
  EXPECT_FALSE(Ring::over(words, &pointer, nullptr));
}

}  // namespace
}  // namespace ring_test
