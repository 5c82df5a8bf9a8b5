// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/tell_extents.hpp: named extents, told by the feeds that have them.
#pragma once

#include <zrt/ir/fused/program.hpp>
#include <zrt/ir/ptir/program_rule.hpp>

#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

namespace detail {

/// The extent that each symbol of a program is, by the types that its feeds are bound with; a symbol that no feed tells
/// stays itself.
class ToldExtents {
 public:
  /// A feed that tells another extent of a symbol than one before it.
  struct Disagreement {
    ValueId feed, earlier;
    ptir::Dim symbol, told, earlier_told;
  };

  explicit ToldExtents(Allocator a) noexcept : told_(a) {}

  /// A feed of another type than its meta tells nothing.
  [[nodiscard]] Result<void> read(const FusedProgram& p, Span<const FeedType> feeds) noexcept {
    if (auto r = told_.resize(p.store.symbols.size()); !r) return r;
    for (std::uint32_t symbol = 0; symbol < told_.size(); ++symbol) told_[symbol].dim = ptir::Dim::of_symbol(symbol);
    for (const FeedType& feed : feeds) {
      const Meta* meta = p.meta_of(feed.id);
      if (meta == nullptr || !compatible(feed.type, meta->type)) continue;
      for (std::size_t axis = 0; axis < meta->type.shape.size(); ++axis)
        if (const ptir::Dim dim = meta->type.shape[axis]; is_known(dim)) tell(dim, feed.id, feed.type.shape[axis]);
    }
    return {};
  }
  /// The first there is.
  [[nodiscard]] const std::optional<Disagreement>& disagreement() const noexcept { return disagreement_; }

  [[nodiscard]] ptir::Dim of(ptir::Dim dim) const noexcept { return is_known(dim) ? told_[dim.symbol()].dim : dim; }
  void tell(ptir::TensorType& type) const noexcept {
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) type.shape.dims[axis] = of(type.shape[axis]);
  }

 private:
  struct Told {
    ptir::Dim dim{};
    ValueId by = 0;
  };

  [[nodiscard]] bool is_known(ptir::Dim dim) const noexcept { return dim.is_symbol() && dim.symbol() < told_.size(); }
  void tell(ptir::Dim symbol, ValueId feed, ptir::Dim extent) noexcept {
    Told& row = told_[symbol.symbol()];
    if (!extent.is_constant()) return;
    if (!row.dim.is_constant())
      row = {extent, feed};
    else if (!(row.dim == extent) && !disagreement_)
      disagreement_ = Disagreement{feed, row.by, symbol, extent, row.dim};
  }

  Vector<Told> told_;
  std::optional<Disagreement> disagreement_;
};

/// Writes told extents where a program names them: in the types of values and of parameters, and in attributes.
[[nodiscard]] inline Result<void> tell_store(ptir::Program& store, const ToldExtents& told) noexcept {
  for (ptir::TensorType& type : store.types) told.tell(type);
  for (ptir::Region& region : store.regions)
    for (ptir::Parameter& parameter : region.parameters) told.tell(parameter.type);
  Vector<std::int64_t> codes(store.allocator);
  for (Attribute& a : store.attributes) {
    if (a.kind != ptir::AttributeKind::shape) continue;
    codes.clear();
    for (const std::int64_t code : store.words_of(a))
      if (auto r = codes.push_back(told.of(ptir::Dim::from_code(code)).code()); !r) return r;
    // Words of its own: others may share those that it had.
    const auto range = store.add(store.words, codes.span());
    if (!range) return pass(range);
    a.range = *range;
  }
  return {};
}

}  // namespace detail

/// Copies `p` with constants in place of the named extents for which its feeds are bound.
///
/// Errors: Errc::out_of_memory, Errc::limit_exceeded for pools that are full.
[[nodiscard]] inline Result<FusedProgram> with_told_extents(const FusedProgram& p,
                                                            Span<const FeedType> feeds) noexcept {
  FusedProgram made(p.store.allocator);
  auto store = p.store.clone();
  if (!store) return pass(store);
  made.store = std::move(*store);
  made.version = p.version;
  Result<void> kept;
  const auto copy = [&](auto& to, const auto& from) {
    if (kept) kept = to.append(from.span());
  };
  copy(made.feeds, p.feeds);
  copy(made.steps, p.steps);
  copy(made.outputs, p.outputs);
  copy(made.state_in, p.state_in);
  copy(made.state_out, p.state_out);
  copy(made.meta, p.meta);
  copy(made.ids, p.ids);
  if (!kept) return pass(kept);
  detail::ToldExtents told(p.store.allocator);
  if (auto r = told.read(p, feeds); !r) return pass(r);
  for (Meta& meta : made.meta) told.tell(meta.type);
  if (auto r = detail::tell_store(made.store, told); !r) return pass(r);
  return made;
}

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
