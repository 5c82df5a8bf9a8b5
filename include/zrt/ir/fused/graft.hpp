// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/graft.hpp: adds steps to a fused program, written as expressions of the portable tensor IR.
#pragma once

#include <zrt/ir/fused/from_ptir.hpp>
#include <zrt/ir/fused/instantiate.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

/// Adds steps, feeds, outputs and states to a fused program; `finish` gives a new one.
///
/// `value` gives a value of the program as a tensor of `builder()`; what is built from such tensors becomes
/// steps, if an output, a state or a step of the graft needs it. The program's own values keep their ids. The
/// first error is kept, by the builder, and `finish` returns it. A graft does not move, and the program that
/// it began with stays until `finish`.
class Graft {
 public:
  /// Begins with `onto` for feeds of these types, whose extents are constants; what it names by extents that they tell
  /// is made for these.
  ///
  /// Errors: those of `instantiate`; Errc::unimplemented for a dynamic extent. `cut`, where given, tells the
  /// place.
  Graft(const FusedProgram& onto, Span<const FeedType> feeds, CutWire* cut = nullptr) noexcept
      : told_(with_told_extents(onto, feeds)),
        from_(told_ ? *told_ : onto),
        store_(from_.store.clone()),
        builder_(store_ ? std::move(*store_) : ptir::Program(onto.store.allocator)) {
    CutWire unasked(onto.store.allocator);
    keep(told_);
    keep(store_);
    if (told_ && store_) keep(begin(onto, feeds, cut != nullptr ? *cut : unasked));
  }
  Graft(const Graft&) = delete;
  Graft& operator=(const Graft&) = delete;

  [[nodiscard]] ptir::Builder& builder() noexcept { return builder_; }
  /// The program that the graft began with.
  [[nodiscard]] const FusedProgram& program() const noexcept { return from_; }

  /// The type of a value of the program.
  [[nodiscard]] ptir::TensorType type_of(ValueId id) noexcept {
    const auto row = std::lower_bound(types_.begin(), types_.end(), id,
                                      [](const FeedType& type, ValueId wanted) { return type.id < wanted; });
    if (row != types_.end() && row->id == id) return row->type;
    builder_.set(Error::of(Errc::dangling_value, "value ", id, " is given by nothing"));
    return {};
  }
  /// True for a feed of the program or of the graft.
  [[nodiscard]] bool is_feed(ValueId id) const noexcept {
    return std::find(to_.feeds.begin(), to_.feeds.end(), id) != to_.feeds.end();
  }
  /// A value of the program as a tensor.
  [[nodiscard]] ptir::Tensor value(ValueId id) noexcept {
    for (const Standing& row : standing_)
      if (row.id == id) return row.tensor;
    const ptir::Tensor made = builder_.parameter(type_of(id));
    keep(standing_.push_back({id, made}));
    return made;
  }
  /// The id that a tensor has in the program that `finish` gives. No literal has one, nor has an element of a tuple.
  [[nodiscard]] ValueId id_of(const ptir::Tensor& x) noexcept {
    if (x.operand().kind != ptir::Operand::Kind::value)
      builder_.set(Error::of(Errc::invalid_argument, "a literal or an element of a tuple has no id of its own"));
    for (const Standing& row : standing_)
      if (row.tensor.operand().id == x.operand().id) return row.id;
    return first_ + x.operand().id;
  }

  /// A feed more.
  [[nodiscard]] ptir::Tensor feed(const ptir::TensorType& type) noexcept {
    const ptir::Tensor made = fresh(type);
    keep(to_.feeds.push_back(id_of(made)));
    return made;
  }
  /// An output more.
  void output(const Name& name, const ptir::Tensor& x) noexcept { keep(to_.outputs.push_back({name, exposed(x)})); }
  /// Declares `state`, a feed, a state, which a run in training leaves as `next`.
  void update(const ptir::Tensor& state, const ptir::Tensor& next) noexcept {
    const ValueId id = id_of(state);
    if (std::find(to_.state_in.begin(), to_.state_in.end(), id) == to_.state_in.end()) keep(to_.state_in.push_back(id));
    keep(to_.state_out.push_back({id, exposed(next)}));
  }
  /// A step of an op that heeds the mode; `results` take what it gives, of these types. Its attributes are
  /// numbers.
  void mode_step(std::string_view op, ptir::Tensors in, Span<const Attribute> attributes,
                 Span<const ptir::TensorType> types, Vector<ptir::Tensor>& results) noexcept {
    Vector<ValueId> inputs(to_.store.allocator), given(to_.store.allocator);
    for (const ptir::Tensor& x : in) keep(inputs.push_back(exposed(x)));
    for (const ptir::TensorType& type : types) {
      const ptir::Tensor made = fresh(type);
      keep(given.push_back(id_of(made)));
      keep(results.push_back(made));
    }
    const auto in_pool = to_.add_ids(inputs.span()), out_pool = to_.add_ids(given.span());
    if (!in_pool || !out_pool || given.empty()) return keep(in_pool ? out_pool : in_pool);
    keep(to_.steps.push_back({given[0], op, *in_pool, {}, *out_pool, true}));
    set_attributes(to_.steps.size() - 1, attributes);
  }

  /// Gives the program with its graft, in level order, or the first error.
  [[nodiscard]] Result<FusedProgram> finish() noexcept {
    auto added = builder_.finish();
    if (!added) return pass(added);
    if (auto r = detail::keep_needed(*added); !r) return pass(r);
    auto store = added->clone();
    if (!store) return pass(store);
    to_.store = std::move(*store);
    to_.store.regions[0] = ptir::Region(to_.store.allocator);
    for (const Changed& change : changed_) {
      const auto range = to_.store.add(to_.store.attributes, attributes_.span().subspan(change.first, change.count));
      if (!range) return pass(range);
      to_.steps[change.step].attributes = *range;
    }
    detail::FromPtir writer(*added, to_, first_);
    for (const Standing& row : standing_)
      if (auto r = writer.replace(row.tensor.operand().id, row.id); !r) return pass(r);
    if (auto r = writer.steps(); !r) return pass(r);
    std::sort(to_.feeds.begin(), to_.feeds.end());
    std::sort(to_.state_in.begin(), to_.state_in.end());
    std::sort(to_.meta.begin(), to_.meta.end(), [](const Meta& a, const Meta& b) { return a.id < b.id; });
    if (auto r = schedule(to_); !r) return pass(r);
    if (auto r = verify(to_); !r) return pass(r);
    return std::move(to_);
  }

 private:
  /// A value of the program, and the builder's parameter that stands for it.
  struct Standing {
    ValueId id;
    ptir::Tensor tensor;
  };
  struct Changed {
    std::size_t step;
    std::uint32_t first, count;
  };

  template <class T> void keep(const Result<T>& r) noexcept {
    if (!r) builder_.set(r.error());
  }
  /// Gives a step (by its index) other attributes, all of them numbers.
  void set_attributes(std::size_t step, Span<const Attribute> attributes) noexcept {
    keep(changed_.push_back(
        {step, static_cast<std::uint32_t>(attributes_.size()), static_cast<std::uint32_t>(attributes.size())}));
    keep(attributes_.append(attributes));
  }
  [[nodiscard]] ptir::Tensor fresh(const ptir::TensorType& type) noexcept {
    const ptir::Tensor made = builder_.parameter(type);
    keep(to_.meta.push_back({id_of(made), type, {}}));
    return made;
  }
  /// The id of what must be among the steps. A reshape to the same shape has one where x has none of its own.
  [[nodiscard]] ValueId exposed(const ptir::Tensor& x) noexcept {
    const bool own = x.operand().kind == ptir::Operand::Kind::value;
    const ptir::Tensor made = own ? x : builder_.reshape(x, x.shape());
    builder_.result(made);
    return id_of(made);
  }

  [[nodiscard]] Result<void> begin(const FusedProgram& onto, Span<const FeedType> feeds, CutWire& at) noexcept {
    if (auto r = detail::bind_feeds(onto, feeds, true, at); !r) return r;
    const auto origins = detail::ValueOrigins::of(from_, at);
    if (!origins) return pass(origins);
    auto store = from_.store.clone();
    if (!store) return pass(store);
    ptir::Builder typed(std::move(*store));
    RunSeed seed;
    Vector<ptir::Tensor> values(from_.store.allocator);
    for (const FeedType& feed : at.types)
      if (auto r = values.push_back(typed.parameter(feed.type)); !r) return r;
    if (auto r = detail::emit_steps(from_, *origins, true, typed, seed, values, at); !r) return r;
    const auto type = [&](ValueId id, std::size_t ordinal) -> Result<void> {
      if (!values[ordinal].shape().is_constant())
        return fail(Errc::unimplemented, "value ", id, " has a dynamic extent, expected constants");
      first_ = std::max(first_, id + 1);
      return types_.push_back({id, values[ordinal].type()});
    };
    std::size_t ordinal = 0;
    for (const ValueId id : from_.feeds)
      if (auto r = type(id, ordinal++); !r) return r;
    for (const Step& step : from_.steps)
      for (const ValueId id : from_.results_of(step))
        if (auto r = type(id, ordinal++); !r) return r;
    std::sort(types_.begin(), types_.end(), [](const FeedType& a, const FeedType& b) { return a.id < b.id; });
    if (auto r = to_.feeds.append(from_.feeds.span()); !r) return r;
    if (auto r = to_.steps.append(from_.steps.span()); !r) return r;
    if (auto r = to_.outputs.append(from_.outputs.span()); !r) return r;
    if (auto r = to_.state_in.append(from_.state_in.span()); !r) return r;
    if (auto r = to_.state_out.append(from_.state_out.span()); !r) return r;
    if (auto r = to_.meta.append(from_.meta.span()); !r) return r;
    if (auto r = to_.ids.append(from_.ids.span()); !r) return r;
    return {};
  }

  Result<FusedProgram> told_;
  const FusedProgram& from_;
  Result<ptir::Program> store_;
  ptir::Builder builder_;
  FusedProgram to_{from_.store.allocator};
  Vector<FeedType> types_{from_.store.allocator};  ///< of every value of the program, ascending
  Vector<Standing> standing_{from_.store.allocator};
  Vector<Changed> changed_{from_.store.allocator};
  Vector<Attribute> attributes_{from_.store.allocator};
  ValueId first_ = 0;  ///< the lowest id that the program does not use
};

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
