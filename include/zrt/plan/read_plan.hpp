// SPDX-License-Identifier: Apache-2.0
// zrt/plan/read_plan.hpp: a plan from the bytes of a file, judged like any other input.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/plan_format.hpp>

#include <concepts>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

namespace detail {

/// Takes integers from a file; keeps the first error with its offset, and reads zeros after it.
class PlanReader {
 public:
  static constexpr bool kReads = true;
  explicit PlanReader(Span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  template <std::unsigned_integral T> void number(T& value) noexcept {
    value = 0;
    if (!has(sizeof(T))) return;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) sum |= std::to_integer<std::uint64_t>(bytes_[at_ + i]) << 8 * i;
    value = static_cast<T>(sum);
    at_ += sizeof(T);
  }
  void zeros(std::size_t count) noexcept {
    if (!has(count)) return;
    for (std::size_t i = 0; i < count; ++i, ++at_) {
      if (bytes_[at_] == std::byte{0}) continue;
      refuse("a reserved byte is not zero");
      return;
    }
  }
  void align(std::size_t alignment) noexcept { zeros(align_up(at_, alignment) - at_); }
  /// Reports a value just read that the format does not allow.
  void refuse(std::string_view what) noexcept { stop(Error::of(Errc::invalid_file, "plan file: ", what)); }
  void stop(Error error) noexcept {
    if (ok_) error_ = error.at_offset(at_);
    ok_ = false;
  }
  [[nodiscard]] bool has(std::uint64_t count) noexcept {
    if (ok_ && count > bytes_.size() - at_)
      stop(
          Error::of(Errc::truncated_file, "plan file: ", count, " bytes expected, ", bytes_.size() - at_, " are left"));
    return ok_;
  }
  /// The next `count` bytes, which are there.
  [[nodiscard]] Span<const std::byte> take(std::size_t count) noexcept {
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::unexpected<Error> error() const noexcept { return std::unexpected<Error>(error_); }

 private:
  Span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
  Error error_{};
};

struct SectionEntry {
  std::uint32_t kind = 0;
  std::uint32_t alignment = 0;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

/// Finds a section where the format puts it, and its bytes in the file.
template <class T>
[[nodiscard]] Result<void> check_entry(PlanReader& r, file::Section section, const SectionEntry& entry) noexcept {
  r.align(kSectionAlignment<T>);
  if (!r.ok()) return r.error();
  const CheckedSize bytes = CheckedSize(entry.count) * kRecordBytes<T>;
  if (entry.kind != static_cast<std::uint32_t>(section) || entry.alignment != kSectionAlignment<T> ||
      entry.offset != r.at() || !bytes.ok() || bytes.raw() != entry.bytes) {
    Error error = Error::of(Errc::invalid_file, "plan file: section ", static_cast<std::uint32_t>(section),
                            " has another kind, alignment, place or size than the format gives it");
    return std::unexpected<Error>(
        error.at_offset(file::kHeaderBytes + static_cast<std::size_t>(section) * file::kEntryBytes));
  }
  if (!r.has(entry.bytes)) return r.error();
  return {};
}

/// Reads one list. The file's size has been compared with the section's, so `count` costs no more
/// memory than a small multiple of the file.
template <class T>
[[nodiscard]] Result<void> read_section(PlanReader& r, file::Section section, const SectionEntry& entry,
                                        Vector<T>& list) noexcept {
  if (auto done = check_entry<T>(r, section, entry); !done) return done;
  if constexpr (std::is_same_v<T, std::byte>) {
    return list.append(r.take(static_cast<std::size_t>(entry.bytes)));
  } else {
    if (auto done = list.reserve(static_cast<std::size_t>(entry.count)); !done) return done;
    for (std::uint64_t i = 0; i < entry.count; ++i) {
      T item{};
      walk(r, item);
      if (!r.ok()) return r.error();
      if (auto done = list.push_back(item); !done) return done;
    }
    return {};
  }
}

/// Reads the form of a plan and of its regions; what they say is judged later, all at once.
[[nodiscard]] inline Result<void> read_form(Span<const std::byte> bytes, std::size_t depth, ExecutionPlan& plan,
                                            Vector<PlanDiagnostic>& diagnostics,
                                            std::uint64_t& instructions_at) noexcept {
  PlanReader r(bytes);
  for (char c : file::kMagic) {
    std::uint8_t found = 0;
    r.number(found);
    if (r.ok() && found != static_cast<std::uint8_t>(c)) r.refuse("the magic is not ZRTPLAN");
  }
  std::uint32_t version = 0;
  std::uint32_t sections = 0;
  std::uint64_t size = 0;
  r.number(version);
  if (r.ok() && version != file::kVersion)
    r.stop(Error::of(Errc::unsupported_version, "plan file: version ", version, ", expected ", file::kVersion));
  r.number(sections);
  if (r.ok() && sections != file::kSections) r.refuse("the number of sections is not that of the version");
  r.number(size);
  if (r.ok() && size > bytes.size())
    r.stop(Error::of(Errc::truncated_file, "plan file: ", size, " bytes announced, ", bytes.size(), " found"));
  if (r.ok() && size != bytes.size()) r.refuse("there are bytes after the end");
  std::array<SectionEntry, file::kSections> entries{};
  for (SectionEntry& entry : entries) {
    r.number(entry.kind);
    r.number(entry.alignment);
    r.number(entry.offset);
    r.number(entry.count);
    r.number(entry.bytes);
  }
  if (!r.ok()) return r.error();

  if (depth > kMaxRegionDepth) r.refuse("regions lie too deep");
  if (!r.ok()) return r.error();
  instructions_at = entries[0].offset;
  Result<void> result{};
  each_section(plan, diagnostics, [&](file::Section section, auto& list) {
    if (result) result = read_section(r, section, entries[static_cast<std::size_t>(section)], list);
  });
  if (!result) return result;
  if (auto done = check_entry<std::byte>(r, file::Section::regions, entries.back()); !done) return done;
  if (r.ok() && entries.back().bytes != bytes.size() - r.at()) r.refuse("there are bytes after the last section");
  while (r.ok() && r.at() != bytes.size()) {
    r.align(kSectionAlignment<std::byte>);
    if (!r.has(file::kHeaderBytes)) return r.error();
    const std::size_t begin = r.at();
    PlanReader header(bytes.subspan(begin + 16));
    std::uint64_t length = 0;
    header.number(length);
    if (!r.has(length)) return r.error();
    ExecutionPlan region(plan.allocator);
    Vector<PlanDiagnostic> remarks(plan.allocator);
    std::uint64_t ignored = 0;
    if (auto done = read_form(r.take(static_cast<std::size_t>(length)), depth + 1, region, remarks, ignored); !done) {
      Error error = done.error();
      return std::unexpected<Error>(error.offset() == Error::kNoOffset ? error
                                                                       : error.at_offset(begin + error.offset()));
    }
    if (!remarks.empty()) {
      r.refuse("a region has remarks of its own");
      return r.error();
    }
    if (auto done = plan.regions.push_back(std::move(region)); !done) return done;
  }
  if (!r.ok()) return r.error();
  for (const PlanDiagnostic& d : diagnostics)
    if (d.kind == DiagnosticKind::never_read) {
      Error error = Error::of(Errc::invalid_file, "plan file: a never_read remark is stored");
      return std::unexpected<Error>(
          error.at_offset(entries[static_cast<std::size_t>(file::Section::diagnostics)].offset));
    }
  return {};
}

}  // namespace detail

/// Reads a plan from a file or a mapping of one; everything is copied, so `bytes` may go afterwards.
///
/// A plan file is judged like any other input: its form while it is read, then references, types,
/// parameters and order of reads and writes by `validate`, and its liveness is computed anew.
/// Errors: truncated_file, invalid_file, unsupported_version, out_of_memory and those of `validate`,
/// each with the offset where the fault was seen.
[[nodiscard]] inline Result<CompiledPlan> read_plan(Span<const std::byte> bytes, const OpTable& table,
                                                    Allocator allocator = system_allocator()) noexcept {
  CompiledPlan compiled(allocator);
  std::uint64_t instructions_at = 0;
  if (auto r = detail::read_form(bytes, 0, compiled.plan, compiled.diagnostics, instructions_at); !r)
    return pass(r, Phase::plan);
  if (auto r = validate(compiled.plan, table, Validation::normal); !r) {
    Error error = r.error();
    const std::uint64_t record = error.instruction() == Error::kNoIndex
                                     ? 0
                                     : std::uint64_t{error.instruction()} * detail::kRecordBytes<InstructionRecord>;
    // A finding in a region counts that region's instructions.
    return std::unexpected<Error>(error.at_offset(compiled.plan.regions.empty() ? instructions_at + record : 0));
  }
  if (auto r = analyse(compiled); !r) return pass(r);
  return compiled;
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
