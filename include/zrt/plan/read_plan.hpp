// SPDX-License-Identifier: Apache-2.0
// zrt/plan/read_plan.hpp: a plan from the bytes of a file, judged like any other input.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/plan_format.hpp>

#include <concepts>

namespace zrt::inline ZRT_ABI::plan {

namespace detail {

/// Takes integers from a file; keeps the first error with its offset, and reads zeros after it.
class PlanReader {
 public:
  static constexpr bool kReads = true;
  explicit PlanReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

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
  [[nodiscard]] std::span<const std::byte> take(std::size_t count) noexcept {
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::unexpected<Error> error() const noexcept { return std::unexpected<Error>(error_); }

 private:
  std::span<const std::byte> bytes_;
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

/// Reads one list. The file's size has been compared with the section's, so `count` costs no more
/// memory than a small multiple of the file.
template <class T>
[[nodiscard]] Result<void> read_section(PlanReader& r, file::Section section, const SectionEntry& entry,
                                        Vector<T>& list) noexcept {
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

}  // namespace detail

/// Reads a plan from a file or a mapping of one; everything is copied, so `bytes` may go afterwards.
///
/// A plan file is judged like any other input: its form while it is read, then references, types,
/// parameters and order of reads and writes by `validate`, and its liveness is computed anew.
/// Errors: truncated_file, invalid_file, unsupported_version, out_of_memory and those of `validate`,
/// each with the offset where the fault was seen.
[[nodiscard]] inline Result<CompiledPlan> read_plan(std::span<const std::byte> bytes, const OpTable& table,
                                                    Allocator allocator = system_allocator()) noexcept {
  detail::PlanReader r(bytes);
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
  std::array<detail::SectionEntry, file::kSections> entries{};
  for (detail::SectionEntry& entry : entries) {
    r.number(entry.kind);
    r.number(entry.alignment);
    r.number(entry.offset);
    r.number(entry.count);
    r.number(entry.bytes);
  }
  if (!r.ok()) return r.error();

  CompiledPlan compiled(allocator);
  Result<void> result{};
  detail::each_section(compiled, [&](file::Section section, auto& list) {
    if (result) result = detail::read_section(r, section, entries[static_cast<std::size_t>(section)], list);
  });
  if (!result) return pass(result);
  if (r.at() != bytes.size()) {
    r.refuse("there are bytes after the last section");
    return r.error();
  }
  for (const PlanDiagnostic& d : compiled.diagnostics)
    if (d.kind == DiagnosticKind::never_read) {
      Error error = Error::of(Errc::invalid_file, "plan file: a never_read remark is stored");
      return std::unexpected<Error>(error.at_offset(entries.back().offset));
    }
  if (result = validate(compiled.plan, table, Validation::normal); !result) {
    Error error = result.error();
    const std::uint64_t record = error.instruction() == Error::kNoIndex
                                     ? 0
                                     : std::uint64_t{error.instruction()} * detail::kRecordBytes<InstructionRecord>;
    return std::unexpected<Error>(error.at_offset(entries[0].offset + record));
  }
  if (result = analyse(compiled); !result) return pass(result);
  return compiled;
}

}  // namespace zrt::inline ZRT_ABI::plan
