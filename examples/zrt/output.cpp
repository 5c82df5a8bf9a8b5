// SPDX-License-Identifier: Apache-2.0
// examples/zrt/output.cpp: exit statuses, errors on stderr, and small conversions of option values.
#include "output.hpp"
#include <zrt/ops/kv_page.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace program {
namespace {

/// Whether stderr is a terminal whose user has not asked for plain text (no-color.org).
bool coloured() {
  const char* const plain = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && (plain == nullptr || *plain == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

/// One line on stderr, its head in `colour` (of ANSI's "select graphic rendition").
void say(const char* head, const char* colour, std::string_view what) {
  const bool in_colour = coloured();
  std::fprintf(stderr, "%s%s%s%s%s %.*s\n", in_colour ? "\033[1;" : "", in_colour ? colour : "", in_colour ? "m" : "",
               head, in_colour ? "\033[0m" : "", static_cast<int>(what.size()), what.data());
}

}  // namespace

std::string describe(const zrt::Error& error) {
  std::string line(name(error.code()));
  line.append(": ").append(error.text());
  if (error.offset() != zrt::Error::kNoOffset) line += " (at byte " + std::to_string(error.offset()) + ")";
  if (error.instruction() != zrt::Error::kNoIndex) line += " (instruction " + std::to_string(error.instruction()) + ")";
  return line;
}

int failed(std::string_view what) {
  say("zrt:", "31", what);
  return kFailed;
}

zrt::Error of_file(const zrt::Error& error, std::string_view path) {
  const zrt::Errc code = error.code();
  if (code == zrt::Errc::invalid_argument || code == zrt::Errc::out_of_memory ||
      code == zrt::Errc::unsupported_device || error.text().find(path) != std::string_view::npos)
    return error;
  zrt::Error named = zrt::Error::of(code, path, ": ", error.text());
  return named.at_offset(error.offset());
}

void warn(std::string_view what) {
  static std::set<std::string, std::less<>> said;
  if (said.emplace(what).second) say("zrt: warning:", "33", what);
}

void note(std::string_view what) { say("zrt: note:", "36", what); }

bool input_waits() {
  struct stat status{};
  return fstat(STDIN_FILENO, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode));
}

int failed(const zrt::Error& error) { return failed(describe(error)); }

int cannot_write(std::string_view target) { return failed(write_error(target, 0)); }

zrt::Error write_error(std::string_view target, int reason) {
  if (reason == 0) return zrt::Error::of(zrt::Errc::io_error, "cannot write ", target);
  return zrt::Error::of(zrt::Errc::io_error, "cannot write ", target, ": ", std::string_view(std::strerror(reason)));
}

int usage(std::string_view what) {
  (void)failed(what);
  return kUsage;
}

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) (void)std::fclose(file);
  }
};

}  // namespace

zrt::Result<Beginning> read_beginning(const std::string& path, std::uint64_t most) {
  const bool input = path == "-";
  const std::string_view name = input ? std::string_view("standard input") : std::string_view(path);
  errno = 0;
  const std::unique_ptr<std::FILE, CloseFile> file(input ? stdin : std::fopen(path.c_str(), "rb"));
  if (file == nullptr)
    return zrt::fail(zrt::Errc::io_error, "cannot open ", name, ": ", std::string_view(std::strerror(errno)));
  Beginning read;
  std::array<char, 65536> part{};
  // One byte more than is kept says whether more follows.
  while (read.text.size() <= most) {
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), most + 1 - read.text.size()));
    const std::size_t count = std::fread(part.data(), 1, wanted, file.get());
    if (count == 0) break;
    read.text.append(part.data(), count);
  }
  // A folder opens as a file and fails at the first read.
  if (std::ferror(file.get()) != 0)
    return zrt::fail(zrt::Errc::io_error, "cannot read ", name, ": ", std::string_view(std::strerror(errno)));
  read.more = read.text.size() > most;
  if (read.more) read.text.resize(static_cast<std::size_t>(most));
  return read;
}

zrt::Result<std::string> read_file(const std::string& path) {
  // A file ends; what only devices and pipes could give without an end is bounded.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  std::error_code ignored;
  const bool ends = path != "-" && std::filesystem::is_regular_file(path, ignored);
  auto read = read_beginning(path, ends ? std::numeric_limits<std::uint64_t>::max() - 1 : kMost);
  if (!read) return zrt::pass(read);
  if (read->more)
    return zrt::fail(zrt::Errc::limit_exceeded,
                     path == "-" ? std::string_view("standard input") : std::string_view(path),
                     " is no regular file and has more than ", std::string_view(bytes_text(kMost)));
  return std::move(read->text);
}

zrt::Result<void> write_file(const std::string& path, std::string_view bytes) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const bool opened = file.is_open();
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return {};
  const int reason = errno;
  std::error_code ignored;
  if (opened && std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  return std::unexpected(write_error(path, reason));
}

zrt::DType kv_type(std::string_view name) {
  for (const zrt::DType type : zrt::kPageTypes)
    if (zrt::name(type) == name) return type;
  return zrt::DType::f16;
}

zrt::ActPolicy act_policy(std::string_view name) {
  return name == "none" ? zrt::ActPolicy::none : zrt::ActPolicy::weight;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < units.size()) {
    value /= 1024.0;
    ++unit;
  }
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
  return text.data();
}

bool print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 &&
         std::ferror(stdout) == 0;
}

}  // namespace program
