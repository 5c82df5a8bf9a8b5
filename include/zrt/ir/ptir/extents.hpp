// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/extents.hpp: what the dynamic extents of a program are for one set of input shapes.
#pragma once

#include <zrt/ir/ptir/program_rule.hpp>

#include <limits>
#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// The extents of a program's symbols, each with the place that it was read from. A symbol is one extent
/// within a region; a region sees those of the region around it, and what it learns itself is forgotten
/// when it ends.
class SymbolExtents {
 public:
  /// Where a value of a region says what an extent is.
  struct Place {
    std::uint32_t region = 0;
    ValueId value = 0;
    std::uint32_t axis = 0;
  };

  /// Refers to `program`. Errors: Errc::out_of_memory.
  [[nodiscard]] static Result<SymbolExtents> of(const Program& program) noexcept {
    SymbolExtents extents(program);
    if (auto r = extents.rows_.resize(program.symbols.size()); !r) return pass(r);
    return extents;
  }

  /// Compares `dim` of the program with its extent, and keeps the extent of a symbol met for the first time.
  ///
  /// Errors: Errc::shape_mismatch naming the dim, both extents and where they come from.
  [[nodiscard]] Result<void> learn(Dim dim, std::uint32_t extent, const Place& place) noexcept {
    if (dim.is_any() || dim.is_constant(extent)) return {};
    if (!dim.is_symbol())
      return std::unexpected<Error>(append_place(Error::of(Errc::shape_mismatch), place)
                                        .append(" is ")
                                        .append(extent)
                                        .append(", expected ")
                                        .append(dim.code()));
    Row& row = rows_[static_cast<std::size_t>(dim.symbol())];
    if (row.extent == extent) return {};
    if (row.extent) {
      Error error = Error::of(Errc::shape_mismatch, "extent ?", program_->symbol_name(dim), " is ", *row.extent, " (");
      append_place(error, row.place).append("), ");
      return std::unexpected<Error>(append_place(error, place).append(" is ").append(extent));
    }
    if (auto r = learned_.push_back(static_cast<std::uint32_t>(dim.symbol())); !r) return r;
    row = {extent, place};
    return {};
  }

  /// The extent of a constant that fits 32 bits or of a known symbol.
  [[nodiscard]] std::optional<std::uint32_t> find(Dim dim) const noexcept {
    if (dim.is_symbol()) return rows_[static_cast<std::size_t>(dim.symbol())].extent;
    if (!dim.is_constant() || dim.constant() > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return static_cast<std::uint32_t>(dim.constant());
  }

  /// How many symbols are known; `forget` goes back to as many.
  [[nodiscard]] std::size_t known() const noexcept { return learned_.size(); }
  void forget(std::size_t known) noexcept {
    for (; learned_.size() > known; learned_.pop_back()) rows_[learned_.back()].extent.reset();
  }

 private:
  struct Row {
    std::optional<std::uint32_t> extent;
    Place place;
  };

  explicit SymbolExtents(const Program& program) noexcept
      : program_(&program), rows_(program.allocator), learned_(program.allocator) {}

  /// Appends "axis 1 of %0 x", and the region unless it is the program itself.
  Error& append_place(Error& error, const Place& place) const noexcept {
    error.append("axis ").append(place.axis).append(" of %").append(place.value);
    const Region& region = program_->regions[place.region];
    for (const Parameter& p : region.parameters)
      if (p.id == place.value && !p.name.view().empty()) error.append(" ").append(p.name.view());
    if (place.region != 0) error.append(" in region @").append(place.region);
    return error;
  }
  Error append_place(Error&& error, const Place& place) const noexcept { return append_place(error, place); }

  const Program* program_;
  Vector<Row> rows_;
  Vector<std::uint32_t> learned_;  ///< symbols, the latest last
};

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
