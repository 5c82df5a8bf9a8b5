// SPDX-License-Identifier: Apache-2.0
// tests/unit/unread_requests.cpp: the intake of requests against a plain list of them; without memory nothing is lost.
#include <zrt/engine/arrival_turns.hpp>
#include <zrt/engine/mailbox.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <vector>

namespace unread_requests_test {
namespace {

using namespace zrt;
using detail::ActiveRequest;
using detail::ArrivalTurns;
using detail::Mailbox;
using detail::PauseNote;
using detail::RequestTable;
using detail::UnreadRequests;
using Ids = std::vector<std::uint64_t>;

Owned<ActiveRequest> make(std::uint64_t id, TenantId tenant = {}) {
  auto made = Owned<ActiveRequest>::make(system_allocator(), RequestId{id}, system_allocator());
  EXPECT_TRUE(made);
  (*made)->tenant = tenant;
  return std::move(*made);
}

constexpr std::size_t kTenants = 6;  // the host is one of them
constexpr std::size_t kMostUnread = 40;
constexpr std::size_t kStepReads = 16;

/// The intake, and beside it what it should hold: lists of all requests, oldest first, that are passed over each time.
class Intake {
 public:
  explicit Intake(std::uint32_t seed) : random_(seed) {
    EXPECT_TRUE(mailbox_.reserve(kTenants, kMostUnread));
    EXPECT_TRUE(unread_.reserve(kTenants + 1));
    EXPECT_TRUE(turns_.reserve(kTenants + 1, kStepReads));
    EXPECT_TRUE(read_.reserve(kStepReads));
    for (std::uint32_t row = 1; row < kTenants; ++row) create(row);
  }

  [[nodiscard]] std::size_t floods() const { return floods_; }
  [[nodiscard]] std::size_t refused() const { return refused_; }
  void run(int events) {
    for (int i = 0; i < events; ++i) {
      const std::uint32_t what = pick(100);
      if (what < 1)
        replace(1 + pick(kTenants - 1));
      else if (what < 5)
        step();
      else if (what < 15)
        cancel(1 + pick(static_cast<std::uint32_t>(last_id_ + 2)));
      else
        post(pick(3) == 0 ? pick(kTenants + 1) : 1);
      compare();
    }
    while (!known_.empty()) step();
    compare();
  }

 private:
  struct Item {
    std::uint64_t id;
    std::uint32_t row;
  };
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  void create(std::uint32_t row) {
    ids_[row] = TenantId{serve::handle_of(row, ++generation_)};
    mailbox_.admit(ids_[row]);
  }
  /// A tenant goes, and another takes its row. What it sent is a stranger's.
  void replace(std::uint32_t row) {
    mailbox_.forget(ids_[row], unread_);
    for (std::deque<Item>* all : {&collected_, &posted_})
      for (Item& item : *all) item.row = item.row == row ? kTenants : item.row;
    counts_[kTenants] += counts_[row];
    counts_[row] = 0;
    create(row);
  }
  void post(std::uint32_t row) {
    const TenantId tenant = row == kTenants ? TenantId{serve::handle_of(3, 999'999)} : ids_[row];
    const auto posted = mailbox_.post(make(++last_id_, tenant));
    EXPECT_EQ(posted.has_value(), counts_[row] < kMostUnread);
    refused_ += posted ? 0u : 1u;
    if (!posted) return;
    ++counts_[row];
    posted_.push_back({last_id_, row});
    known_.push_back(last_id_);
  }
  void cancel(std::uint64_t id) {
    mailbox_.cancel(RequestId{id});
    const bool known = std::find(known_.begin(), known_.end(), id) != known_.end();
    if (known && std::find(notes_.begin(), notes_.end(), id) == notes_.end()) notes_.push_back(id);
  }
  void step() {
    mailbox_.collect(unread_, cancelled_, pauses_);
    collected_.insert(collected_.end(), posted_.begin(), posted_.end());
    posted_.clear();
    Ids noted;
    for (const RequestId id : cancelled_) noted.push_back(static_cast<std::uint64_t>(id));
    EXPECT_EQ(noted, notes_);
    for (const std::uint64_t id : notes_) {
      ActiveRequest* const a = mailbox_.find(RequestId{id});
      ASSERT_NE(a, nullptr);
      ASSERT_TRUE(a->unread);
      end(*unread_.take(*a));
      std::erase_if(collected_, [&](const Item& item) { return item.id == id; });
    }
    notes_.clear();
    floods_ += unread_.size() > kStepReads ? 1u : 0u;
    turns_.choose(unread_, read_);
    Ids found;
    for (const Owned<ActiveRequest>& a : read_) {
      EXPECT_FALSE(a->unread);
      found.push_back(static_cast<std::uint64_t>(a->id));
      end(*a);
    }
    read_.clear();
    EXPECT_EQ(found, choose());
    mailbox_.note_unread(unread_);
    counts_ = {};
    for (const Item& item : collected_) ++counts_[item.row];
  }
  void end(const ActiveRequest& a) {
    mailbox_.drop(a);
    std::erase(known_, static_cast<std::uint64_t>(a.id));
  }
  /// Takes those that the step reads out of the list: whole rounds of one of each tenant that has one.
  Ids choose() {
    std::vector<std::size_t> parts(kTenants + 1), have(kTenants + 1);
    for (const Item& item : collected_) ++have[item.row];
    for (std::size_t room = kStepReads;;) {
      std::size_t round = 0;
      for (std::size_t row = 0; row <= kTenants; ++row) round += have[row] > parts[row] ? 1u : 0u;
      if (round == 0 || round > room) break;
      room -= round;
      for (std::size_t row = 0; row <= kTenants; ++row) parts[row] += have[row] > parts[row] ? 1u : 0u;
    }
    Ids chosen;
    std::deque<Item> kept;
    for (const Item& item : collected_) {
      if (parts[item.row] == 0) {
        kept.push_back(item);
      } else {
        --parts[item.row];
        chosen.push_back(item.id);
      }
    }
    collected_ = kept;
    return chosen;
  }

  void compare() {
    EXPECT_EQ(unread_.size(), collected_.size());
    EXPECT_EQ(mailbox_.has_requests(), !posted_.empty());
    std::vector<Ids> rows(kTenants + 1), expected(kTenants + 1);
    unread_.each([&](const ActiveRequest& a) { rows[a.tenant_row].push_back(static_cast<std::uint64_t>(a.id)); });
    for (const Item& item : collected_) expected[item.row].push_back(item.id);
    EXPECT_EQ(rows, expected);
    for (std::uint32_t row = 0; row <= kTenants; ++row) EXPECT_EQ(unread_.count(row), expected[row].size());
    for (std::uint32_t row = 0; row < kTenants; ++row) EXPECT_EQ(mailbox_.has_unread(ids_[row]), counts_[row] != 0);
    const std::uint64_t id = 1 + pick(static_cast<std::uint32_t>(last_id_ + 2));
    const ActiveRequest* const found = mailbox_.find(RequestId{id});
    EXPECT_EQ(found != nullptr, std::find(known_.begin(), known_.end(), id) != known_.end());
    EXPECT_TRUE(found == nullptr || found->id == RequestId{id});
  }

  std::mt19937 random_;
  Mailbox mailbox_{system_allocator()};
  UnreadRequests unread_{system_allocator()};
  ArrivalTurns turns_{system_allocator()};
  Vector<Owned<ActiveRequest>> read_;
  Vector<RequestId> cancelled_;
  Vector<PauseNote> pauses_;
  std::array<TenantId, kTenants> ids_{};
  std::uint32_t generation_ = 0;
  std::uint64_t last_id_ = 0;
  std::deque<Item> posted_, collected_;
  std::array<std::size_t, kTenants + 1> counts_{};
  Ids known_, notes_;
  std::size_t floods_ = 0, refused_ = 0;
};

TEST(UnreadRequests, ServeAsAListThatIsPassedOverEachTime) {
  std::size_t floods = 0, refused = 0;
  for (std::uint32_t seed = 0; seed < 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Intake intake(seed);
    intake.run(600);
    floods += intake.floods();
    refused += intake.refused();
  }
  EXPECT_GT(floods, 1000u) << "steps that had more than they read";
  EXPECT_GT(refused, 1000u);
}

/// What was there already counts among those that a step reads.
TEST(UnreadRequests, FillWhatRoomAStepHas) {
  UnreadRequests unread(system_allocator());
  ArrivalTurns turns(system_allocator());
  ASSERT_TRUE(unread.reserve(2) && turns.reserve(2, 4));
  Vector<Owned<ActiveRequest>> read;
  ASSERT_TRUE(read.reserve(8));
  for (std::uint64_t id = 1; id <= 6; ++id) {
    auto a = make(id);
    a->submitted = id;
    unread.push(std::move(a));
  }
  ASSERT_TRUE(read.push_back(make(99)));
  turns.choose(unread, read);
  Ids found;
  for (const Owned<ActiveRequest>& a : read) found.push_back(static_cast<std::uint64_t>(a->id));
  EXPECT_EQ(found, (Ids{99, 1, 2, 3}));
  while (read.size() < 5) ASSERT_TRUE(read.push_back(make(100)));
  turns.choose(unread, read);
  EXPECT_EQ(unread.size(), 3u) << "a step that has more than it reads takes none";
}

TEST(UnreadRequests, GoOneByOneHoweverManyThereAre) {
  auto unread = std::make_unique<UnreadRequests>(system_allocator());
  ASSERT_TRUE(unread->reserve(1));
  for (std::uint64_t id = 1; id <= 60'000; ++id) unread->push(make(id));
  unread.reset();  // not one inside the other, for which no stack is deep enough
}

/// An allocator that can be told to fail.
struct Refusals {
  bool refuses = false;
  [[nodiscard]] Allocator allocator() noexcept {
    return {this,
            [](void* context, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              const Allocator system = system_allocator();
              if (static_cast<Refusals*>(context)->refuses) return nullptr;
              return system.allocate(system.context, bytes, alignment);
            },
            system_allocator().release};
  }
};

TEST(UnreadRequests, WithoutMemoryNothingIsLost) {
  Refusals memory;
  Mailbox mailbox(memory.allocator());
  UnreadRequests unread(memory.allocator());
  ASSERT_TRUE(mailbox.reserve(2, 100) && unread.reserve(3));
  for (std::uint64_t id = 1; id <= 60; ++id) ASSERT_TRUE(mailbox.post(make(id)));
  memory.refuses = true;
  for (std::uint64_t id = 61; id <= 100; ++id) EXPECT_TRUE(mailbox.post(make(id))) << "which needs none";
  const auto past = mailbox.post(make(101));
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().code(), Errc::capacity_exceeded);
  EXPECT_EQ(mailbox.find(RequestId{101}), nullptr);
  const auto more = mailbox.reserve_ids(50);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), Errc::out_of_memory);
  for (std::uint64_t id = 1; id <= 100; ++id) EXPECT_NE(mailbox.find(RequestId{id}), nullptr);
  for (std::uint64_t id = 1; id <= 100; ++id) mailbox.cancel(RequestId{id});
  memory.refuses = false;
  EXPECT_TRUE(mailbox.reserve_ids(50));
  for (std::uint64_t id = 1; id <= 100; ++id) EXPECT_NE(mailbox.find(RequestId{id}), nullptr);
  for (std::uint64_t id = 1; id <= 100; ++id) mailbox.cancel(RequestId{id});
  Vector<RequestId> cancelled;
  Vector<PauseNote> pauses;
  mailbox.collect(unread, cancelled, pauses);
  EXPECT_EQ(unread.size(), 100u);
  ASSERT_EQ(cancelled.size(), 100u) << "each is noted once, and those that found no memory when asked again";
  for (std::size_t i = 0; i < cancelled.size(); ++i) EXPECT_EQ(cancelled[i], RequestId{i + 1});
}

/// Ids that share buckets are told apart, and one that is not there leaves the others.
TEST(RequestTables, FindEachOfABucket) {
  RequestTable table(system_allocator());
  ASSERT_TRUE(table.reserve(1));
  std::vector<Owned<ActiveRequest>> all;
  for (std::uint64_t id = 1; id <= 64; ++id) {
    all.push_back(make(id));
    table.add(*all.back());
  }
  const auto stranger = make(5 + 16);
  table.drop(*stranger);
  for (std::uint64_t id = 1; id <= 64; id += 3) table.drop(*all[id - 1]);
  for (std::uint64_t id = 1; id <= 64; ++id)
    EXPECT_EQ(table.find(RequestId{id}), id % 3 == 1 ? nullptr : all[id - 1].get()) << id;
  EXPECT_EQ(table.find(RequestId{65}), nullptr);
}

}  // namespace
}  // namespace unread_requests_test
