// SPDX-License-Identifier: Apache-2.0
// tests/unit/packed_store.cpp: packed weights are shared by programs, and go with the last of them.
#include <zrt/backend/cpu/packed_store.hpp>
#include <zrt/exec/thread_pool.hpp>
#include <zrt/quant/types.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <vector>

namespace packed_store_test {
namespace {

using namespace zrt;
using cpu::PackedStore;

constexpr const cpu::PackedType& kType = cpu::kPackedType<DType::q4_0>;

/// A weight of so many rows of 64 elements.
struct Weight {
  explicit Weight(std::uint32_t rows) : bytes(std::size_t{rows} * 36) {
    std::mt19937 random(5);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0x3bu);
    view = {bytes.data(), DType::q4_0, rows, 64, 36};
  }
  std::vector<std::byte> bytes;
  HostWeight view{};
};

TEST(PackedStore, ProgramsShareAWeightUntilTheLastOfThemEnds) {
  PackedStore store(system_allocator());
  const Weight a(40), b(16);
  std::optional<PackedStore::Use> first, second;
  first.emplace(std::move(*store.use(a.view, kType, 0, {})));
  second.emplace(std::move(*store.use(a.view, kType, 0, {})));
  EXPECT_EQ(first->weight().data, second->weight().data);
  EXPECT_EQ(store.bytes(), 3u * 16 * 36) << "40 rows fill three groups";
  const PackedStore::Use other = std::move(*store.use(b.view, kType, 0, {}));
  EXPECT_EQ(store.bytes(), 4u * 16 * 36);
  first.reset();
  EXPECT_EQ(store.bytes(), 4u * 16 * 36);
  second.reset();
  EXPECT_EQ(store.bytes(), 1u * 16 * 36);
  EXPECT_NE(other.weight().data, nullptr);
}

TEST(PackedStore, MatricesBeginWithGroupsOfTheirOwn) {
  PackedStore store(system_allocator());
  const Weight a(60);
  const PackedStore::Use whole = std::move(*store.use(a.view, kType, 0, {}));
  const PackedStore::Use parts = std::move(*store.use(a.view, kType, 20, {}));
  EXPECT_EQ(store.bytes(), (4u + 3 * 2) * 16 * 36) << "another cut is another weight";
  const cpu::PackedWeight& w = parts.weight();
  EXPECT_EQ(w.group(20) - w.data, 2 * 16 * 36);
  EXPECT_EQ(w.group(36) - w.data, 3 * 16 * 36);
  EXPECT_EQ(std::memcmp(w.data, whole.weight().data, 16 * 36), 0) << "both begin with rows 0 to 15";
}

TEST(PackedStore, AnyNumberOfThreadsPacksTheSame) {
  exec::ThreadPool pool(system_allocator());
  ASSERT_TRUE(pool.start(3));
  PackedStore alone(system_allocator()), shared(system_allocator());
  const Weight a(333);
  const PackedStore::Use one = std::move(*alone.use(a.view, kType, 0, {}));
  const PackedStore::Use three = std::move(*shared.use(a.view, kType, 0, pool.hook()));
  ASSERT_EQ(alone.bytes(), shared.bytes());
  EXPECT_EQ(std::memcmp(one.weight().data, three.weight().data, alone.bytes()), 0);
}

TEST(PackedStore, ToldOfMemoryThatThereIsNot) {
  const Allocator none{nullptr, [](void*, std::size_t, std::size_t) noexcept -> void* { return nullptr; },
                       [](void*, void*, std::size_t, std::size_t) noexcept {}};
  PackedStore store(none);
  const Weight a(16);
  const auto refused = store.use(a.view, kType, 0, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::out_of_memory);
  HostWeight empty = a.view;
  empty.rows = 0;
  EXPECT_EQ(store.use(empty, kType, 0, {}).error().code(), Errc::out_of_memory) << "not even its entry";
}

}  // namespace
}  // namespace packed_store_test
