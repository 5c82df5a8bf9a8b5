// SPDX-License-Identifier: Apache-2.0
// tests/pm4/ring.cpp: packets survive the end of the ring at every phase, a full ring is an error, and what is published is
// stored in the order that a card needs.
// test-set: smoke
#include <zrt/backend/pm4/decode.hpp>
#include <zrt/backend/pm4/dispatch.hpp>
#include <zrt/backend/pm4/ring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <pm4/stream_cases.hpp>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

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

/// Two pages that trap when they are stored to, the write pointer's and the doorbell's, and what was there at each trap.
struct Traps {
  struct Trap {
    const std::uint64_t* page = nullptr;
    const std::uint8_t* code = nullptr;  ///< the instruction that stores
    bool packets_there = false;
    std::uint64_t other = 0;  ///< the write pointer, where the doorbell is rung and that page is open
  };
  static constexpr std::size_t kPage = 4096;

  std::uint64_t* pointer = map();
  std::uint64_t* doorbell = map();
  std::span<const std::uint32_t> expected{}, memory{};
  std::array<Trap, 4> hit{};
  std::size_t hits = 0;

  static std::uint64_t* map() {
    void* const page = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? nullptr : static_cast<std::uint64_t*>(page);
  }
  void close() {
    munmap(pointer, kPage);
    munmap(doorbell, kPage);
  }
};
Traps* traps = nullptr;

extern "C" void take_trap(int, siginfo_t* info, void* context) {
  auto* const page = static_cast<std::uint64_t*>(info->si_addr);
  if (traps->hits == traps->hit.size() || (page != traps->pointer && page != traps->doorbell)) _exit(99);
  Traps::Trap& t = traps->hit[traps->hits++];
  t.page = page;
#if defined(__x86_64__)
  t.code = reinterpret_cast<const std::uint8_t*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#else
  (void)context;
#endif
  t.packets_there = std::memcmp(traps->memory.data(), traps->expected.data(), traps->expected.size_bytes()) == 0;
  if (page == traps->doorbell && traps->hits > 1) t.other = *traps->pointer;
  if (mprotect(page, Traps::kPage, PROT_READ | PROT_WRITE) != 0) _exit(99);
}

/// Whether code has an instruction that waits for the stores before it: mfence, or a locked one on the stack.
[[maybe_unused]] bool has_fence(const std::uint8_t* from, const std::uint8_t* end) {
  constexpr std::array<std::uint8_t, 3> mfence{0x0f, 0xae, 0xf0}, locked{0xf0, 0x48, 0x83},
      locked_word{0xf0, 0x83, 0x0c};
  for (const auto& wanted : {mfence, locked, locked_word})
    if (std::search(from, end, wanted.begin(), wanted.end()) != end) return true;
  return false;
}

TEST(Ring, PublishesPacketsThenThePointerThenTheDoorbellWithAFenceBetween) {
  Traps t;
  ASSERT_TRUE(t.pointer != nullptr && t.doorbell != nullptr);
  Words memory(kDwords);
  const Words sent = submission(7);
  t.expected = sent;
  t.memory = memory;
  traps = &t;
  struct sigaction action{}, before{};
  action.sa_sigaction = take_trap;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
  auto ring = Ring::over(memory, t.pointer, t.doorbell);
  const bool written = ring && ring->write(sent);
  if (written) ring->publish();
  ASSERT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
  traps = nullptr;
  ASSERT_TRUE(written);
  ASSERT_EQ(t.hits, 2u);
  EXPECT_EQ(t.hit[0].page, t.pointer) << "the pointer comes before the doorbell";
  EXPECT_EQ(t.hit[1].page, t.doorbell);
  EXPECT_TRUE(t.hit[0].packets_there && t.hit[1].packets_there);
  EXPECT_EQ(t.hit[1].other, sent.size());
  EXPECT_EQ(*t.doorbell, sent.size());
#if defined(__x86_64__)
  // The code may be inlined here or stand by itself; either way the fence before the pointer is close to it, but for the
  // checks of sanitizers.
#if defined(__has_feature)
  constexpr std::ptrdiff_t near = __has_feature(address_sanitizer) ? 512 : 64;
#else
  constexpr std::ptrdiff_t near = 64;
#endif
  EXPECT_TRUE(has_fence(t.hit[0].code - near, t.hit[0].code));
  ASSERT_LT(t.hit[0].code, t.hit[1].code);
  EXPECT_TRUE(has_fence(t.hit[0].code, t.hit[1].code));
#endif
  t.close();
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
