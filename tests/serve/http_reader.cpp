// SPDX-License-Identifier: Apache-2.0
// tests/serve/http_reader.cpp: requests however their bytes arrive, and what is refused.
#include <gtest/gtest.h>

#include <ctime>
#include <http_reader.hpp>
#include <string>

namespace http_reader_test {
namespace {

using namespace program::server;
using State = HttpReader::State;

const std::string kSized = "POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
const std::string kChunked =
    "POST /a?b=c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nT: u\r\n\r\n";

HttpRefusal refusal_of(const std::string& bytes, const HttpLimits& limits = {}) {
  HttpReader reader(limits);
  EXPECT_EQ(reader.feed(bytes), State::refused) << bytes.substr(0, 80);
  return reader.refusal();
}

TEST(HttpReader, ReadsTheSameHoweverBytesArrive) {
  for (const std::string& text : {kSized, kChunked})
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      HttpReader reader({});
      for (std::size_t at = 0; at < text.size(); at += piece) {
        ASSERT_NE(reader.state(), State::complete) << piece;
        (void)reader.feed(std::string_view(text).substr(at, piece));
      }
      ASSERT_EQ(reader.state(), State::complete) << piece;
      const HttpRequest request = reader.take();
      EXPECT_EQ(request.method, "POST");
      EXPECT_EQ(request.path, "/a");
      EXPECT_EQ(request.query, "b=c");
      EXPECT_EQ(request.header("host"), "x");
      EXPECT_EQ(request.body, "hello");
      EXPECT_EQ(reader.waiting(), 0u);
    }
}

/// Processor time of a reader that gets a body in chunks of one byte, `piece` of them at a time.
double seconds_of_chunks(std::size_t piece) {
  std::string chunks;
  for (std::size_t i = 0; i < piece; ++i) chunks += "1\r\nx\r\n";
  HttpReader reader({});
  (void)reader.feed("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::clock_t begin = std::clock();
  for (std::size_t sent = 0; sent < (1u << 18); sent += piece) EXPECT_EQ(reader.feed(chunks), State::body);
  EXPECT_EQ(reader.held(), 1u << 18);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// Each chunk moved what lay behind it forward, so that a client with small chunks held the thread of all connections.
TEST(HttpReader, AChunkTakesNoLongerWhereMoreLieBehindIt) {
  EXPECT_LT(seconds_of_chunks(1 << 15), 3 * seconds_of_chunks(1 << 8) + 0.02);
}

TEST(HttpReader, ReadsRequestsOneBehindTheOther) {
  HttpReader reader({});
  EXPECT_EQ(reader.feed(kSized + kChunked + "\r\n" + kSized), State::complete);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(reader.take().body, "hello");
    EXPECT_EQ(reader.advance(), i < 2 ? State::complete : State::idle);
  }
}

TEST(HttpReader, KeepsConnectionsAliveAsTheVersionSays) {
  const auto keeps = [](const std::string& head) {
    HttpReader reader({});
    EXPECT_EQ(reader.feed(head), State::complete) << head;
    return reader.keeps_alive();
  };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(HttpReader, ReadsAWholeAddressAsATarget) {
  const auto read = [](const std::string& target) {
    HttpReader reader({});
    EXPECT_EQ(reader.feed("GET " + target + " HTTP/1.1\r\nHost: other\r\n\r\n"), State::complete) << target;
    return reader.take();
  };
  const HttpRequest request = read("http://host:81/a/b?c=d");
  EXPECT_EQ(request.path, "/a/b");
  EXPECT_EQ(request.query, "c=d");
  EXPECT_EQ(request.header("host"), "host:81");
  EXPECT_EQ(read("HTTPS://host").path, "/");
  EXPECT_EQ(read("http://host?c").query, "c");
  EXPECT_EQ(read("/http://host").header("host"), "other");
  EXPECT_EQ(refusal_of("GET http:// HTTP/1.1\r\nHost: x\r\n\r\n").status, 400);
  EXPECT_EQ(refusal_of("GET http://me@host/ HTTP/1.1\r\nHost: x\r\n\r\n").status, 400);
}

TEST(HttpReader, PathsAreDecodedAndNamesEncoded) {
  EXPECT_EQ(percent_decoded("a%2Fb%20c"), "a/b c");
  for (const char* broken : {"%", "%2", "%zz", "a%2Fb%"}) EXPECT_FALSE(percent_decoded(broken)) << broken;
  EXPECT_EQ(percent_encoded("a b\xff-_."), "a%20b%FF-_.");
}

TEST(HttpReader, SaysOnceThatAClientWaits) {
  HttpReader reader({});
  EXPECT_EQ(reader.feed("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"),
            State::body);
  EXPECT_TRUE(reader.take_expectation());
  EXPECT_FALSE(reader.take_expectation());
}

TEST(HttpReader, GivesARequestWithoutTheBodyThatNobodyWants) {
  HttpReader reader({});
  EXPECT_EQ(reader.feed("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhello"), State::body);
  EXPECT_EQ(reader.head().path, "/a");
  EXPECT_EQ(reader.held(), 5u);
  const HttpRequest request = reader.take_unread();
  EXPECT_EQ(request.path, "/a");
  EXPECT_EQ(request.body, "");
  EXPECT_EQ(reader.held(), 0u);
  EXPECT_FALSE(reader.keeps_alive());
  EXPECT_EQ(reader.feed("wide" + kSized), State::refused);
}

TEST(HttpReader, KnowsWhoAsksAlsoOfAHeadThatIsNotRead) {
  HttpLimits limits;
  limits.target_bytes = 20;
  limits.head_bytes = 200;
  limits.headers = 3;
  limits.body_bytes = 8;
  const auto origin_of = [&](const std::string& text) {
    HttpReader reader(limits);
    (void)reader.feed(text);
    return std::string(reader.known_head().header("origin"));
  };
  const std::string get = "GET / HTTP/1.1\r\n", who = "Origin: me\r\n";
  EXPECT_EQ(origin_of(get + who), "me");
  EXPECT_EQ(origin_of(get + "Origin: me"), "") << "more of it may come";
  EXPECT_EQ(origin_of(get + who + "Host: x\r\nContent-Length: 9\r\n\r\n"), "me");
  EXPECT_EQ(origin_of(get + who + "X: " + std::string(300, 'a')), "me");
  EXPECT_EQ(origin_of(get + "a: b\r\nc: d\r\ne: f\r\n" + who + "\r\n"), "me");
  EXPECT_EQ(origin_of("GET /" + std::string(30, 'a') + " HTTP/1.1\r\n" + who + "\r\n"), "me");
  EXPECT_EQ(origin_of(get + " folded\r\n" + who + "\r\n"), "me");
  EXPECT_EQ(origin_of(get + "Host: x\r\n folded\r\n\r\n" + who), "") << "that is the body";
  EXPECT_EQ(origin_of("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" + who + "\r\nzz\r\n"), "me");
  EXPECT_EQ(origin_of(""), "");
}

TEST(HttpReader, RefusesWhatTwoReadersMayReadDifferently) {
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(refusal_of(head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n").status, 400);
  EXPECT_EQ(refusal_of(head + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n").status, 400);
  EXPECT_EQ(refusal_of(head + "Content-Length: +1\r\n\r\n").status, 400);
  EXPECT_EQ(refusal_of(head + "Content-Length: 99999999999999999999\r\n\r\n").status, 400);
  EXPECT_EQ(refusal_of(head + "Transfer-Encoding: chunked, gzip\r\n\r\n").status, 400);
  EXPECT_EQ(refusal_of(head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n").status, 400);
  EXPECT_EQ(refusal_of(head + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc").status, 400);
  EXPECT_EQ(refusal_of(head + " folded: x\r\n\r\n").status, 400);
  EXPECT_EQ(refusal_of(head + "Name : x\r\n\r\n").status, 400);
  EXPECT_EQ(refusal_of(head + "Name: a\nb\r\n\r\n").status, 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\n\r\n").status, 400);
  EXPECT_EQ(refusal_of("GET / HTTP/3.0\r\n\r\n").status, 400);
}

TEST(HttpReader, KeepsToItsLimits) {
  HttpLimits limits;
  limits.target_bytes = 20;
  limits.head_bytes = 100;
  limits.headers = 2;
  limits.body_bytes = 8;
  EXPECT_EQ(refusal_of("GET /" + std::string(30, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n", limits).status, 414);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: " + std::string(200, 'a'), limits).status, 431);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: x\r\na: b\r\nc: d\r\n\r\n", limits).status, 431);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", limits).status, 413);
  const std::string chunks = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(refusal_of(chunks + "5\r\nabcde\r\n4\r\n", limits).status, 413);
  EXPECT_EQ(refusal_of(chunks + "ffffffffffffffff\r\n", limits).status, 413);
  EXPECT_EQ(refusal_of(chunks + "0\r\n" + std::string(200, 'a'), limits).status, 431);
}

}  // namespace
}  // namespace http_reader_test
