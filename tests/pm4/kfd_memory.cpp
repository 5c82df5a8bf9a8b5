// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kfd_memory.cpp: pools of the GPU's memory; the real system calls, as far as a machine without a card has
// them.
// test-set: smoke
#include <zrt/backend/pm4/linux_os.hpp>
#include <zrt/device/pool.hpp>

#include <gtest/gtest.h>

#include <pm4/kfd_machine.hpp>

namespace kfd_memory_test {
namespace {

using namespace zrt::pm4;
using namespace zrt::test;
using kfd::GpuAccess;
using kfd::Heap;
using zrt::Errc;

TEST(KfdPool, HandsItsMemoryOutOnce) {
  EmulatedOs os;
  {
    const auto device = KfdDevice::open(os);
    ASSERT_TRUE(device);
    auto memory = KfdMemory::allocate(*device, Heap::bar, 8000, GpuAccess::read_write);
    ASSERT_TRUE(memory);
    zrt::device::MemoryPool pool(std::move(*memory));
    const std::uint64_t calls = os.calls(), base = pool.memory().address();
    const auto first = pool.take(3, 1), second = pool.take(100, 256), third = pool.take(8192 - 356, 4);
    ASSERT_TRUE(first && second && third);
    EXPECT_EQ(first->address, base);
    EXPECT_EQ(second->address, base + 256);
    EXPECT_EQ(third->address, base + 356);
    EXPECT_EQ(second->bytes.data(), pool.memory().span().data() + 256);
    EXPECT_EQ(second->bytes.size(), 100u);
    EXPECT_EQ(pool.left(), 0u);
    EXPECT_EQ(pool.take(1, 1).error().code(), Errc::capacity_exceeded);
    EXPECT_EQ(pool.take(~std::uint64_t{0}, 1).error().code(), Errc::capacity_exceeded);
    EXPECT_TRUE(pool.take(0, 4096));
    EXPECT_EQ(pool.take(0, 0).error().code(), Errc::invalid_argument);
    EXPECT_EQ(pool.take(0, 8192).error().code(), Errc::invalid_argument);
    EXPECT_EQ(os.calls(), calls);
    auto hidden = KfdMemory::allocate(*device, Heap::device_local, 1, GpuAccess::read);
    ASSERT_TRUE(hidden);
    zrt::device::MemoryPool unseen(std::move(*hidden));
    EXPECT_TRUE(unseen.take(4096, 4096)->bytes.empty());
  }
  EXPECT_TRUE(os.live().none());
}

TEST(LinuxOs, GivesValuesOrErrnos) {
  LinuxOs os;
  EXPECT_EQ(os.open("/no/such/file", false), -ENOENT);
  EXPECT_EQ(os.open(std::string(300, 'x'), false), -ENAMETOOLONG);
  const auto file = static_cast<int>(os.open("/dev/zero", true));
  ASSERT_GE(file, 0);
  std::array<std::byte, 8> room{std::byte{1}};
  EXPECT_EQ(os.read(file, room), 8);
  EXPECT_EQ(room[0], std::byte{0});
  std::uint32_t version[2]{};
  EXPECT_EQ(os.ioctl(file, kfd::kGetVersion, version), -ENOTTY);
  // Addresses first, then a file's memory in their place, as Memory does it.
  const auto place = os.map({.bytes = 8192});
  ASSERT_GT(place, 0);
  EXPECT_EQ(os.map({.address = static_cast<std::uint64_t>(place),
                    .bytes = 8192,
                    .protection = Protection::read_write,
                    .file = file}),
            place);
  *reinterpret_cast<volatile std::uint64_t*>(static_cast<std::uintptr_t>(place) + 4096) = 5;
  EXPECT_EQ(os.unmap(static_cast<std::uint64_t>(place), 8192), 0);
  EXPECT_EQ(os.unmap(1, 8192), -EINVAL);
  EXPECT_EQ(os.close(file), 0);
  EXPECT_EQ(os.close(file), -EBADF);
  const std::uint64_t before = os.now();
  os.pause();
  EXPECT_GE(os.now(), before);
}

TEST(LinuxOs, SaysThatAMachineHasNoCard) {
  LinuxOs os;
  const SystemValue calls = os.open("/dev/kfd", true);
  if (calls >= 0) os.close(static_cast<int>(calls));
  if (calls != -ENOENT) GTEST_SKIP() << "SKIPPED: this machine has /dev/kfd";
  const auto device = kfd::Device<LinuxOs>::open(os);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), Errc::unsupported_device);
  EXPECT_EQ(text(device), "opening /dev/kfd failed with ENOENT");
}

}  // namespace
}  // namespace kfd_memory_test
