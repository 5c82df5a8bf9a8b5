// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/plan_text.hpp: the instructions of a plan as statements of C.
#pragma once

#include <zrt/plan/arena_layout.hpp>
#include <zrt/plan/c/claims.hpp>
#include <zrt/plan/c/custom_forms.hpp>
#include <zrt/plan/c/emit_fold.hpp>
#include <zrt/plan/c/emit_index.hpp>
#include <zrt/plan/c/emit_quantize.hpp>
#include <zrt/plan/c/emit_random.hpp>
#include <zrt/plan/c/emit_window.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// The operands of one instruction.
struct EmitArgs {
  OperandInfo operands;  ///< types and parameters
  Span<const Tensor> in;
  Span<const Tensor> out;
  Span<const Region> regions;
};
using EmitFn = void (*)(Context& context, const EmitArgs& args) noexcept;

/// What the table knows of an op: how it is written, and its workspace.
struct EmitRow {
  EmitFn emit = nullptr;
  ScratchFn scratch = nullptr;
};

namespace detail {

template <class O> ZRT_COLD void emit_node(Context& context, const EmitArgs& args) noexcept {
  EmitCall<O> call;
  if (auto r = decode_params<O>(args.operands.params, call.params); !r) return context.w.set(r.error());
  fill(call.in, args.in);
  fill(call.out, args.out);
  if constexpr (HasRegions<O>) fill(call.region, args.regions);
  O::emit_c(context, call);
}

/// Bytes that the reference of an op wants, which its form in C wants too.
template <class O> ZRT_COLD Result<std::uint64_t> scratch_row(const OperandInfo& operands) noexcept {
  TypeCall<O> call;
  if (auto r = fill_type_call<O>(operands, call); !r) return pass(r);
  return O::reference_scratch(call, Extents{}).get(O::name);
}

template <class O> consteval EmitRow emit_row() {
  EmitRow row{&emit_node<O>};
  if constexpr (requires { O::emit_c_scratch; }) row.scratch = &scratch_row<O>;
  if constexpr (DefinedByHost<O>) row.scratch = &custom_call_scratch;
  return row;
}

template <class... O> consteval auto emit_rows(boost::mp11::mp_list<O...>) {
  std::array<EmitRow, 256> rows{};
  ((rows[number(O::opcode)] = emit_row<O>()), ...);
  return rows;
}

inline constexpr auto kEmitRows = emit_rows(Claims{});
inline constexpr auto kScratchRows = [] {
  ScratchTable rows{};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = kEmitRows[i].scratch;
  return rows;
}();

}  // namespace detail

/// Instructions whose outermost loop workers share, each as a function of its own.
class SharedLoops {
 public:
  /// Functions are called by `part`, a number from 0 on, and _of_`name`: so is no function of a module.
  SharedLoops(Source& functions, std::string_view part, std::string_view name) noexcept
      : w_(&functions), part_(part), name_(name) {}

  /// Makes `text` a function; gives its call.
  [[nodiscard]] Expr add(std::string_view text, const Constants& constants) noexcept {
    const Expr function{part_, count_++, "_of_", name_};
    w_->line({});
    w_->open({"static void ", function, "(void *argument, unsigned part, unsigned parts)"});
    w_->line({"const struct zrt_call *const call = (const struct zrt_call *)argument;"});
    w_->line({"const void *const *const inputs = call->inputs;"});
    w_->line({"const void *const weights = call->weights;"});
    w_->line({"unsigned char *const a = call->a;"});
    w_->line({"(void)inputs, (void)weights, (void)a;"});
    if (auto r = constants.declare(*w_, text); !r) w_->set(r.error());
    w_->lines(text);
    w_->close();
    return {"zrt_share(threads, ", function, ", &call);"};
  }

 private:
  Source* w_;
  std::string_view part_;
  std::string_view name_;
  unsigned count_ = 0;
};

/// Writes the instructions of a plan and of its regions.
class PlanText {
 public:
  /// `base` is where the plan's arena begins in the function's. A plan that is no region has its inputs where
  /// the caller has them.
  PlanText(const ExecutionPlan& plan, const ArenaLayout& layout, const OpTable& table, std::uint64_t base,
           bool is_region, Context& context, SharedLoops* shared = nullptr) noexcept
      : plan_(plan),
        layout_(layout),
        table_(table),
        base_(base),
        registers_(plan.allocator),
        context_(context),
        shared_(shared) {
    if (auto r = place(is_region); !r) context.w.set(r.error());
  }

  [[nodiscard]] const Tensor& tensor(RegisterRef reg) const noexcept { return registers_[index(reg)]; }
  /// The bytes of the arena that the planner gave a register.
  [[nodiscard]] CodePlace planned(RegisterRef reg) const noexcept {
    return {CodePlace::Kind::arena, 0, base_ + layout_.mapping.of(reg).offset};
  }

  void write() noexcept {
    for (std::size_t i = 0; i < plan_.instructions.size() && !context_.w.failed(); ++i) {
      const Instruction insn = plan_.instruction(i);
      const OpRow& row = *table_[number(insn.opcode)];
      if (insn.opcode == ops::Constant::opcode || is_view(plan_, insn, row, layout_.mapping)) continue;
      write(i, insn, row);
      if (context_.w.failed()) context_.w.at_instruction(static_cast<std::uint32_t>(i), number(insn.opcode));
    }
  }

 private:
  /// Where every register lies: literals and inputs where they are, views in what they view.
  [[nodiscard]] Result<void> place(bool is_region) noexcept {
    if (auto r = registers_.resize(plan_.registers.size()); !r) return r;
    for (std::size_t i = 0; i < registers_.size(); ++i)
      registers_[i] = {planned(static_cast<RegisterRef>(i)), plan_.registers[i], true};
    if (!is_region)
      for (std::uint32_t i = 0; i < plan_.inputs.size(); ++i)
        registers_[index(plan_.inputs[i].reg)].place = {CodePlace::Kind::input, i, 0};
    for (std::size_t i = 0; i < plan_.instructions.size(); ++i) {
      const Instruction insn = plan_.instruction(i);
      if (insn.opcode == ops::Constant::opcode) {
        if (auto r = place_constant(insn); !r) return r;
      } else if (is_view(plan_, insn, *table_[number(insn.opcode)], layout_.mapping)) {
        CodePlace at = tensor(insn.inputs[0]).place;
        at.offset += planned(insn.outputs[0]).offset - planned(insn.inputs[0]).offset;
        registers_[index(insn.outputs[0])].place = at;
      }
    }
    return {};
  }

  [[nodiscard]] Result<void> place_constant(const Instruction& insn) noexcept {
    const PlanWeight& weight = plan_.weights[index(insn.weights[0])];
    Tensor& to = registers_[index(insn.outputs[0])];
    if (!weight.inline_data())
      return fail(Errc::unimplemented, "weight ", weight.name.view(),
                  " is not in the plan, and C is written of plans that carry their constants");
    if (to.elements() == 0) return {};
    Span<const std::byte> bytes(plan_.constants.data() + weight.data_offset, weight.data_bytes);
    Vector<float> widened(plan_.allocator);
    if (to.dtype() != weight.dtype) {
      // A row is a number of whole blocks.
      const std::uint64_t cols = weight.shape.last().extent;
      if (auto r = widened.resize(to.elements()); !r) return r;
      for (std::uint64_t row = 0; row < widened.size() / cols; ++row)
        quant::find(weight.dtype)
            ->dequantise(bytes.data() + row * bytes_of(weight.dtype, cols), cols, widened.data() + row * cols);
      bytes = as_bytes(widened.span());
    }
    const auto number = context_.constants.add(to.dtype(), bytes.first(to.bytes()));
    if (!number) return pass(number);
    to.place = {CodePlace::Kind::constant, *number, 0};
    return {};
  }

  void write(std::size_t i, const Instruction& insn, const OpRow& row) noexcept {
    OperandStorage storage;
    Repeated<Tensor> in;
    Repeated<Tensor> out;
    const auto of = [&](RegisterRef reg) { return reg == kNoRegister ? Tensor{} : tensor(reg); };
    fill(in, insn.inputs, of);
    fill(out, insn.outputs, of);
    const std::uint16_t physical = layout_.mapping.scratch_to_physical[i];
    const std::uint64_t scratch =
        base_ + (physical == PhysicalMapping::kNoScratch ? 0 : layout_.mapping.physical_specs[physical].offset);
    const Expr around = context_.scratch;
    context_.scratch = CodePlace{CodePlace::Kind::arena, 0, scratch}.pointer();
    ++context_.depth;
    if (auto r = take_attributes(insn); !r) return context_.w.set(r.error());
    context_.w.line({"/* ", i, ": ", row.name, " */"});
    write_with_regions(insn, {plan_.operand_info(insn, storage), {in.data(), in.size()}, {out.data(), out.size()}, {}},
                       scratch);
    context_.scratch = around;
    --context_.depth;
  }

  /// The attributes of a custom call, bytes of the plan.
  [[nodiscard]] Result<void> take_attributes(const Instruction& insn) noexcept {
    context_.attributes = {};
    if (insn.opcode != ops::CustomCall::opcode || insn.weights.empty() || insn.weights[0] == kNoWeight) return {};
    const PlanWeight& weight = plan_.weights[index(insn.weights[0])];
    if (!weight.inline_data())
      return fail(Errc::unimplemented, "weight ", weight.name.view(),
                  " is not in the plan, and C is written of plans that carry their constants");
    context_.attributes = {plan_.constants.data() + weight.data_offset, weight.data_bytes};
    return {};
  }

  ZRT_NOINLINE void write_with_regions(const Instruction& insn, EmitArgs args, std::uint64_t scratch) noexcept {
    Vector<PlanText> texts(plan_.allocator);
    Vector<Tensor> border(plan_.allocator);
    std::array<Region, kMaxRegions> regions;
    Result<void> kept = texts.reserve(insn.regions);
    for (std::size_t k = 0; k < insn.regions && kept; ++k) {
      const ExecutionPlan& region = plan_.regions[insn.first_region + k];
      const ArenaLayout& layout = layout_.regions[insn.first_region + k];
      scratch = align_up(scratch, kArenaAlign);
      kept = texts.push_back(PlanText(region, layout, table_, scratch, true, context_));
      scratch += layout.mapping.arena_bytes;
    }
    std::size_t ports = 0;
    for (std::size_t k = 0; k < insn.regions; ++k)
      ports += plan_.regions[insn.first_region + k].inputs.size() + plan_.regions[insn.first_region + k].outputs.size();
    if (kept) kept = border.reserve(ports);
    if (!kept) return context_.w.set(kept.error());
    if (context_.w.failed()) return;
    for (std::size_t k = 0; k < insn.regions; ++k) {
      const ExecutionPlan& region = plan_.regions[insn.first_region + k];
      const auto list = [&](const Vector<PlanPort>& named) {
        const std::size_t first = border.size();
        for (const PlanPort& port : named) (void)border.push_back(texts[k].tensor(port.reg));
        return Span<const Tensor>(border.data() + first, named.size());
      };
      regions[k] = {&texts[k], [](PlanText& text) noexcept { text.write(); }, list(region.inputs),
                    list(region.outputs)};
    }
    args.regions = Span(regions).first(insn.regions);
    const EmitFn emit = detail::kEmitRows[number(insn.opcode)].emit;
    if (shared_ == nullptr || insn.regions != 0) return emit(context_, args);
    Source own(plan_.allocator);
    Context part{own,           context_.constants, context_.scratch, context_.attributes, Context::Parts::allowed,
                 context_.depth};
    emit(part, args);
    const auto text = own.finish();
    if (!text) return context_.w.set(text.error());
    if (part.parts == Context::Parts::taken)
      context_.w.line({shared_->add(text->view(), context_.constants)});
    else
      context_.w.lines(text->view());
  }

  const ExecutionPlan& plan_;
  const ArenaLayout& layout_;
  const OpTable& table_;
  std::uint64_t base_;
  Vector<Tensor> registers_;
  Context& context_;
  SharedLoops* shared_;  ///< null where workers share nothing
};

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
