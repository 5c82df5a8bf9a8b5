// SPDX-License-Identifier: Apache-2.0
// tests/serve/image_turns.cpp: turns of tenants whose images are encoded: shares by weight, and the room of their rows.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <image_queue.hpp>
#include <image_turns.hpp>
#include <new>

namespace image_turns_test {
namespace {

using namespace program::server;

std::unique_ptr<ImageJob> job(const std::string& tenant, std::size_t images, std::uint32_t rows,
                              std::uint64_t bytes = 1, std::uint32_t weight = 16) {
  auto made = std::make_unique<ImageJob>();
  made->tenant = tenant;
  made->weight = weight;
  made->bytes = bytes;
  made->images.resize(images);
  for (RequestImage& image : made->images) image.rows = rows;
  made->gone = [] { return false; };
  return made;
}

zrt::ImageRows rows_of(std::uint32_t count) {
  return {zrt::Vector<float>(zrt::system_allocator()), count, {zrt::Vector<std::uint32_t>(zrt::system_allocator()), 1}};
}

/// Encodes the next image. Whose it was; nothing where none may run.
std::string run(ImageTurns& turns) {
  ImageJob* const next = turns.next();
  if (next == nullptr) return {};
  const std::string tenant = next->tenant;
  (void)turns.hold(*next);
  const std::uint32_t rows = next->images[next->done.size()].rows;
  turns.charge(*next, rows);
  next->done.push_back(rows_of(rows));
  if (next->is_done()) (void)turns.take(*next);
  return tenant;
}

TEST(ImageTurns, AnotherTenantWaitsForOneImage) {
  ImageTurns turns(1000);
  turns.push(job("heavy", 100, 50));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(run(turns), "heavy");
  turns.push(job("light", 1, 10));
  const std::string first = run(turns), second = run(turns);
  EXPECT_TRUE(first == "light" || second == "light") << first << ", " << second;
}

TEST(ImageTurns, SharesFollowWeights) {
  ImageTurns turns(1000);
  turns.push(job("one", 100, 10, 1, 16));
  turns.push(job("three", 100, 10, 1, 48));
  int three = 0;
  for (int i = 0; i < 40; ++i) three += run(turns) == "three" ? 1 : 0;
  EXPECT_NEAR(three, 30, 1);
}

TEST(ImageTurns, RowsHaveRoomOrWait) {
  ImageTurns turns(10);
  turns.push(job("a", 1, 1, 6));
  turns.push(job("a", 1, 1, 6));
  turns.push(job("b", 1, 1, 100));
  EXPECT_EQ(run(turns), "a");
  // Who holds nothing begins however much the others hold; who holds some waits until there is room.
  EXPECT_EQ(run(turns), "b");
  EXPECT_EQ(run(turns), "");
  turns.give_back("b", 100);
  EXPECT_EQ(run(turns), "");
  turns.give_back("a", 6);
  EXPECT_EQ(run(turns), "a");
  EXPECT_EQ(turns.size(), 0u);
}

/// A request that has begun goes on whatever others hold by then.
TEST(ImageTurns, ARequestHasRoomForAllOfItsImages) {
  ImageTurns turns(10);
  turns.push(job("a", 3, 1, 10));
  turns.push(job("b", 1, 1, 10));
  EXPECT_EQ(run(turns), "a");
  EXPECT_EQ(run(turns), "b");
  EXPECT_EQ(run(turns), "a");
  EXPECT_EQ(run(turns), "a");
  EXPECT_EQ(turns.size(), 0u);
}

/// What a queue says of a request.
struct Heard {
  std::unique_ptr<ImageJob> job;
  std::optional<zrt::Errc> error;
};

/// A queue with an encoder that waits until it is let on.
struct Queued {
  ServedImages model;
  std::promise<void> let_on;
  std::shared_future<void> waits = let_on.get_future().share();
  ImageQueue queue;

  explicit Queued(std::size_t requests = 4, std::uint64_t bytes = 100) : queue(requests, bytes) {
    model.encode = [this](std::string_view file) -> zrt::Result<zrt::ImageRows> {
      waits.wait();
      if (file == "bad") return zrt::fail(zrt::Errc::invalid_file, "no image");
      if (file == "vast") throw std::bad_alloc();
      return rows_of(2);
    };
  }
  std::future<Heard> push(const std::string& tenant, std::vector<std::string> files, std::uint32_t rows = 2,
                          std::optional<std::uint64_t> most_open = {}) {
    auto made = job(tenant, files.size(), rows);
    made->model = &model;
    for (std::size_t i = 0; i < files.size(); ++i) made->images[i].file = files[i];
    const auto heard = std::make_shared<std::promise<Heard>>();
    made->hear = [heard](std::unique_ptr<ImageJob> done, const zrt::Error* error) {
      heard->set_value({std::move(done), error == nullptr ? std::optional<zrt::Errc>() : error->code()});
    };
    auto future = heard->get_future();
    queue.push(std::move(made), most_open);
    return future;
  }
};

TEST(ImageQueue, TellsWhatTheEncoderMade) {
  Queued q;
  q.let_on.set_value();
  const Heard good = q.push("a", {"x", "y"}).get();
  EXPECT_FALSE(good.error);
  EXPECT_EQ(good.job->done.size(), 2u);
  EXPECT_NE(good.job->lease, nullptr);
  const Heard bad = q.push("a", {"x", "bad", "y"}).get();
  EXPECT_EQ(bad.error, zrt::Errc::invalid_file);
  EXPECT_EQ(bad.job->done.size(), 1u) << "the second image is the one that is wrong";
  EXPECT_EQ(q.push("a", {"vast"}).get().error, zrt::Errc::out_of_memory);
  EXPECT_EQ(q.push("a", {"x"}, 3).get().error, zrt::Errc::invalid_state) << "another number of rows than foreseen";
}

TEST(ImageQueue, WaitingIsBounded) {
  Queued q(3, 100);
  std::vector<std::future<Heard>> heard;
  const auto status = [&](const std::string& tenant, const std::string& file,
                          std::optional<std::uint64_t> most_open = {}) {
    try {
      heard.push_back(q.push(tenant, {file}, 2, most_open));
    } catch (const ApiError& error) {
      return error.status;
    }
    return 200;
  };
  EXPECT_EQ(status("a", std::string(90, 'x')), 200);
  EXPECT_EQ(status("b", std::string(11, 'x')), 503) << "bytes";
  EXPECT_EQ(status("a", "x", 1), 429) << "of one tenant";
  EXPECT_EQ(status("b", "x", 1), 200);
  EXPECT_EQ(status("c", "x"), 200);
  EXPECT_EQ(status("d", "x"), 503) << "requests";
  q.let_on.set_value();
  for (auto& one : heard) EXPECT_FALSE(one.get().error);
  EXPECT_EQ(status("d", std::string(90, 'x')), 200);
  EXPECT_FALSE(heard.back().get().error);
}

TEST(ImageQueue, WhatWaitsAtTheEndHearsOfIt) {
  Queued q(1000, 1000);
  std::vector<std::future<Heard>> heard;
  for (int i = 0; i < 2; ++i) heard.push_back(q.push("a", {"x"}));
  std::thread ends([&q] { q.queue.stop(); });
  // It refuses from the moment on in which it is told to end.
  for (bool open = true; open; std::this_thread::sleep_for(std::chrono::milliseconds(1))) try {
      heard.push_back(q.push("a", {"x"}));
    } catch (const ApiError& error) {
      EXPECT_EQ(error.status, 503);
      open = false;
    }
  q.let_on.set_value();
  ends.join();
  (void)heard.front().get();  // which the encoder may have had
  for (std::size_t i = 1; i < heard.size(); ++i) EXPECT_EQ(heard[i].get().error, zrt::Errc::cancelled) << i;
}

}  // namespace
}  // namespace image_turns_test
