// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/module.hpp: compiled plans as functions of C99 in one file.
#pragma once

#include <zrt/plan/c/helpers.hpp>
#include <zrt/plan/c/names.hpp>
#include <zrt/plan/c/plan_text.hpp>
#include <zrt/plan/compiled_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// What the functions of a module take beside inputs, outputs, arena and training.
struct ModuleForm {
  /// Constants of 256 bytes or more stand in a file, which the functions take as `const void *weights` before training.
  bool weights_apart = false;
  /// `const struct zrt_threads *threads` comes last: products share their loops among its workers. Null is one worker.
  bool threads = false;
};

/// A module as files that belong together.
struct Package {
  explicit Package(const Allocator& a) noexcept : source(a), header(a), assembly(a), weights(a) {}

  String source;              ///< NAME.c, which includes NAME.h
  String header;              ///< NAME.h: what functions take and give, and their declarations, for C and C++
  String assembly;            ///< NAME_weights.S: the weights as the object NAME_weights; empty where there are none
  Vector<std::byte> weights;  ///< NAME.weights, to be mapped where the object is not linked; little-endian
};

/// A file of C99 functions that need libm and nothing else. For each plan that is added:
///
///     const uint64_t NAME_arena_bytes;
///     int NAME(const void *const *inputs, void *const *outputs, void *arena, int training);
///
/// inputs and outputs are dense tensors in the plan's order, in the host's byte order; 4-bit elements lie two
/// to a byte. Outputs may be the memory of inputs. arena is memory of that many bytes, of any alignment, which
/// the call uses and leaves. The result is 0; 1 where data broke the contract of an op and 2 for a loop past
/// its limit, outputs then being left alone. The functions keep no state: threads may call them at once.
///
/// Arithmetic is the runner's, in the same order; exp, log, tanh, erf, sin, cos and powf are those of libm.
class Module {
 public:
  explicit Module(const Allocator& allocator = system_allocator()) noexcept : Module(ModuleForm{}, allocator) {}
  /// A module for finish_package; its functions have more arguments, see ModuleForm.
  explicit Module(const ModuleForm& form, const Allocator& allocator = system_allocator()) noexcept
      : allocator_(allocator),
        form_(form),
        body_(allocator),
        declared_(allocator),
        constants_(allocator, form.weights_apart ? kLeastApart : Constants::kNone) {}

  /// Adds a function that heeds `training` where the two plans differ. They give the same outputs and take the
  /// same inputs, of which one may take more: the last one is then read in its mode alone. Their ops are those of kClaims, and their extents constants.
  ///
  /// Errors: Errc::invalid_argument for a name that may_name_function refuses, plans that disagree or an extent that
  /// follows the step, Errc::unimplemented for weights that the plans do not carry and custom calls,
  /// Errc::unsupported_opcode, those of plan_memory.
  [[nodiscard]] Result<void> add(std::string_view name, const ExecutionPlan& evaluation,
                                 const ExecutionPlan& training) noexcept {
    if (!may_name_function(name))
      return fail(Errc::invalid_argument, "a function's name is ", name, ", expected an identifier of C and C++");
    for (const ExecutionPlan* each : {&evaluation, &training})
      if (auto r = check(*each); !r) return r;
    const bool evaluation_takes_more = evaluation.inputs.size() > training.inputs.size();
    const std::size_t shared = (evaluation_takes_more ? training : evaluation).inputs.size();
    if (auto r = check_border("input", evaluation, training, evaluation.inputs.span().first(shared),
                              training.inputs.span().first(shared));
        !r)
      return r;
    if (auto r = check_border("output", evaluation, training, evaluation.outputs.span(), training.outputs.span()); !r)
      return r;
    std::uint64_t arena = 0;
    String parts(allocator_), own_parts(allocator_);
    const auto quiet = function_text(evaluation, arena, name, "zrt_part_", parts);
    if (!quiet) return pass(quiet);
    auto learning = function_text(training, arena, name, "zrt_part_", own_parts);
    if (!learning) return pass(learning);
    const bool modes = quiet->view() != learning->view() || parts.view() != own_parts.view();
    Source& w = body_;
    w.put(parts.view());
    if (modes && form_.threads) {
      // The functions of both modes bear names of their own.
      own_parts = String(allocator_);
      learning = function_text(training, arena, name, "zrt_training_part_", own_parts);
      if (!learning) return pass(learning);
      w.put(own_parts.view());
    }
    w.line({});
    Source& said = alone() ? body_ : declared_;
    if (!alone()) said.line({});
    describe(said, name, evaluation_takes_more ? evaluation : training);
    said.line({"extern const uint64_t ", name, "_arena_bytes;"});
    if (!alone()) {
      said.put("int ");
      said.put(name);
      arguments(said);
      said.put(";\n");
    }
    w.line({"const uint64_t ", name, "_arena_bytes = ", arena, ";"});
    w.put("int ");
    w.put(name);
    arguments(w);
    w.put(" ");
    w.open({});
    w.line({"unsigned char *const a = arena;"});
    w.line({"int status = 0;"});
    w.line({"(void)a, (void)inputs, (void)outputs, (void)training;"});
    if (form_.weights_apart) {
      w.line({"(void)weights;"});
      String code(allocator_);
      if (auto r = code.append(quiet->view()); !r) return r;
      if (modes)
        if (auto r = code.append(learning->view()); !r) return r;
      if (auto r = constants_.declare(w, code.view()); !r) return r;
    } else if (form_.threads) {
      w.line({"const void *const weights = 0;"});
    }
    if (form_.threads) {
      w.line({"struct zrt_call call;"});
      w.line({"call.inputs = inputs, call.weights = weights, call.a = a;"});
      w.line({"(void)call, (void)threads;"});
    }
    if (modes) w.open({"if (training == 0)"});
    w.lines(quiet->view());
    if (modes) {
      w.close();
      w.open({"else"});
      w.lines(learning->view());
      w.close();
    }
    w.line({"return 0;"});
    w.close();
    return body_.failed() ? Result<void>(pass(body_.finish())) : Result<void>();
  }
  [[nodiscard]] Result<void> add(std::string_view name, const ExecutionPlan& plan) noexcept {
    return add(name, plan, plan);
  }

  /// The file; the module is used up.
  ///
  /// Errors: Errc::invalid_argument where functions have arguments that only a package declares.
  [[nodiscard]] Result<String> finish() noexcept {
    if (!alone()) return fail(Errc::invalid_argument, "weights apart and threads are for packages, not for one file");
    auto body = body_.finish();
    if (!body) return body;
    return file(body->view(), "");
  }
  /// The files of package `name`; the module is used up.
  ///
  /// Errors: Errc::invalid_argument for a name that may_name_function refuses, and for a module without a form.
  [[nodiscard]] Result<Package> finish_package(std::string_view name) noexcept {
    if (alone()) return fail(Errc::invalid_argument, "a package has weights apart or threads, and this module neither");
    if (!may_name_function(name))
      return fail(Errc::invalid_argument, "a package's name is ", name, ", expected an identifier of C and C++");
    Package made(allocator_);
    if (form_.weights_apart) {
      body_.line({});
      body_.line({"const uint64_t ", name, "_weights_bytes = ", constants_.apart().size(), ";"});
    }
    const auto body = body_.finish();
    if (!body) return pass(body);
    auto source = file(body->view(), name);
    if (!source) return pass(source);
    auto header = header_of(name);
    if (!header) return pass(header);
    made.source = std::move(*source);
    made.header = std::move(*header);
    if (!constants_.apart().empty()) {
      auto assembly = assembly_of(name);
      if (!assembly) return pass(assembly);
      made.assembly = std::move(*assembly);
    }
    made.weights = constants_.take_apart();
    return made;
  }

 private:
  /// Whether the functions stand in one file, which declares them.
  [[nodiscard]] bool alone() const noexcept { return !form_.weights_apart && !form_.threads; }

  /// Constants of fewer bytes stay where they are read.
  static constexpr std::size_t kLeastApart = 256;

  /// The text of a file around `body`; it includes the header of `package`, if it has one.
  [[nodiscard]] Result<String> file(std::string_view body, std::string_view package) noexcept {
    Source w(allocator_);
    w.put("/* Generated by zrt: C99, libm. */\n#include <math.h>\n#include <stdint.h>\n#include <string.h>\n\n");
    if (!package.empty()) {
      w.line({"#include \"", package, ".h\""});
      w.line({});
    }
    // GCC fuses nothing in ISO mode, and warns of the pragma.
    w.put("#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#endif\n\n");
    if (form_.weights_apart)
      w.put(
          "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n"
          "#error \"the weights are little-endian\"\n#endif\n\n");
    if (form_.threads) w.put(kShare);
    if (auto r = write_helpers(w, body, allocator_); !r) return pass(r);
    if (auto r = constants_.write(w, body); !r) return pass(r);
    w.put(body);
    return w.finish();
  }
  [[nodiscard]] Result<String> header_of(std::string_view name) noexcept {
    const auto declared = declared_.finish();
    if (!declared) return pass(declared);
    Source w(allocator_);
    w.put(
        "/* Generated by zrt. The result is 0, 1 for data outside an op's contract, 2 for a loop past its limit. */\n");
    w.line({"#ifndef ZRT_PACKAGE_", name});
    w.line({"#define ZRT_PACKAGE_", name});
    w.put("#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    if (form_.threads) w.put(kThreads);
    if (form_.weights_apart) {
      w.line({});
      if (constants_.apart().empty()) {
        w.line({"/* There are no weights: functions take null. */"});
      } else {
        w.line({"/* What functions take as weights, at a multiple of 64 bytes: ", name, ".weights, or the object of ",
                name, "_weights.S. */"});
        w.line({"extern const unsigned char ", name, "_weights[];"});
      }
      w.line({"extern const uint64_t ", name, "_weights_bytes;"});
    }
    w.put(declared->view());
    w.put("\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return w.finish();
  }
  [[nodiscard]] Result<String> assembly_of(std::string_view name) noexcept {
    Source w(allocator_);
    w.line({"/* Generated by zrt: ", name,
            ".weights as an object; .incbin finds the file in the working folder or by -I. */"});
    w.put(
        "#ifdef __APPLE__\n    .const\n#define ZRT_SYMBOL(name) _##name\n#else\n"
        "    .section .rodata\n#define ZRT_SYMBOL(name) name\n#endif\n");
    w.line({"    .globl ZRT_SYMBOL(", name, "_weights)"});
    w.line({"    .balign 64"});
    w.line({"ZRT_SYMBOL(", name, "_weights):"});
    w.line({"    .incbin \"", name, ".weights\""});
    w.put("#ifdef __ELF__\n");
    w.line({"    .type ", name, "_weights, %object"});
    w.line({"    .size ", name, "_weights, . - ", name, "_weights"});
    w.put("    .section .note.GNU-stack,\"\",%progbits\n#endif\n");
    return w.finish();
  }
  /// The arguments of a function.
  void arguments(Source& w) const noexcept {
    w.put("(const void *const *inputs, void *const *outputs, void *arena, ");
    if (form_.weights_apart) w.put("const void *weights, ");
    w.put("int training");
    if (form_.threads) w.put(", const struct zrt_threads *threads");
    w.put(")");
  }

  static constexpr std::string_view kThreads = R"(
/* run calls task(argument, i, workers) for each i below workers, on any threads and in any order, and returns when all
   have. */
#ifndef ZRT_THREADS
#define ZRT_THREADS
struct zrt_threads {
  void *context;
  unsigned workers;
  void (*run)(void *context, void (*task)(void *argument, unsigned i, unsigned workers), void *argument);
};
#endif
)";
  static constexpr std::string_view kShare = R"(struct zrt_call {
  const void *const *inputs;
  const void *weights;
  unsigned char *a;
};
static inline void zrt_share(const struct zrt_threads *threads, void (*task)(void *, unsigned, unsigned),
                             struct zrt_call *call) {
  if (threads == 0 || threads->workers < 2)
    task(call, 0, 1);
  else
    threads->run(threads->context, task, call);
}

)";

  [[nodiscard]] static Result<void> check(const ExecutionPlan& plan) noexcept {
    for (const TensorType& type : plan.registers)
      for (std::size_t axis = 0; axis < type.shape.rank; ++axis)
        if (type.shape[axis].symbol != 0)
          return fail(Errc::invalid_argument, "a register has an extent that follows the step, expected constants");
    for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
      const Opcode opcode = plan.instructions[i].opcode;
      if (detail::kEmitRows[number(opcode)].emit == nullptr) {
        Error error = Error::of(Errc::unsupported_opcode, "opcode ", unsigned{number(opcode)}, " has no form in C");
        return std::unexpected<Error>(error.at_instruction(static_cast<std::uint32_t>(i), number(opcode)));
      }
    }
    for (const ExecutionPlan& region : plan.regions)
      if (auto r = check(region); !r) return r;
    return {};
  }
  [[nodiscard]] static Result<void> check_border(std::string_view what, const ExecutionPlan& a, const ExecutionPlan& b,
                                                 Span<const PlanPort> of_a, Span<const PlanPort> of_b) noexcept {
    if (of_a.size() != of_b.size())
      return fail(Errc::invalid_argument, "the plans of two modes have ", of_a.size(), " and ", of_b.size(), " ", what,
                  "s, expected the same");
    for (std::size_t i = 0; i < of_a.size(); ++i)
      if (!(a.registers[index(of_a[i].reg)] == b.registers[index(of_b[i].reg)]))
        return fail(Errc::invalid_argument, "the plans of two modes differ in the type of ", what, " ", i);
    return {};
  }

  /// The statements of function `name`, from its instructions to its outputs; `arena` grows to what they need, and `parts`
  /// takes the functions of what workers share, whose names begin with `part`.
  [[nodiscard]] Result<String> function_text(const ExecutionPlan& plan, std::uint64_t& arena, std::string_view name,
                                             std::string_view part, String& parts) noexcept {
    constexpr const OpTable& kTable = kOpTable<ops::Catalog>;
    const auto layout = lay_out(plan, kTable, detail::kScratchRows, InputsLie::with_caller);
    if (!layout) return pass(layout);
    Source w(allocator_);
    Source functions(allocator_);
    SharedLoops shared(functions, part, name);
    Context context{w, constants_};
    PlanText text(plan, *layout, kTable, 0, false, context, form_.threads ? &shared : nullptr);
    text.write();
    auto made = functions.finish();
    if (!made) return pass(made);
    parts = std::move(*made);
    if (w.failed()) return w.finish();
    w.line({"if (status != 0) return status;"});
    // An output may be written over an input that another one still is: such are held behind everything else.
    std::uint64_t end = layout->mapping.arena_bytes;
    Vector<Tensor> results(allocator_);
    for (const PlanPort& port : plan.outputs) {
      Tensor from = text.tensor(port.reg);
      if (from.place.kind == CodePlace::Kind::input) {
        Tensor held = from;
        held.place = {CodePlace::Kind::arena, 0, align_up(end, kArenaAlign)};
        end = held.place.offset + from.bytes();
        copy_whole(w, from, held);
        from = held;
      }
      if (auto r = results.push_back(from); !r) return pass(r);
    }
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
      const Tensor& from = results[i];
      const std::uint64_t bytes = from.bytes();
      if (bytes == 0) continue;
      w.line({"memcpy(outputs[", i, "], ", from.pointer(), ", ", bytes, ");"});
      // The half of the last byte that belongs to no element.
      if (info(from.dtype()).block_elems == 2 && from.elements() % 2 != 0)
        w.line({"((unsigned char *)outputs[", i, "])[", bytes - 1, "] &= 15u;"});
    }
    if (end > arena) arena = end;
    return w.finish();
  }

  /// A comment that says what the function takes and gives.
  static void describe(Source& body, std::string_view name, const ExecutionPlan& plan) noexcept {
    body.line({"/* ", name});
    const auto list = [&](std::string_view what, const Vector<PlanPort>& ports) {
      for (std::size_t i = 0; i < ports.size(); ++i) {
        const TensorType& type = plan.registers[index(ports[i].reg)];
        body.put(" * ");
        body.put(what);
        body.put(Expr{"[", i, "]: ", zrt::name(type.dtype), "["}.view());
        for (std::size_t axis = 0; axis < type.shape.rank; ++axis)
          body.put(Expr{axis == 0 ? "" : ", ", type.shape[axis].extent}.view());
        body.put("] ");
        // A name may hold anything, the end of a comment too.
        for (const char c : ports[i].name.view()) {
          const bool plain = c == '.' || is_identifier(std::string_view(&c, 1)) || (c >= '0' && c <= '9');
          body.put(plain ? std::string_view(&c, 1) : "_");
        }
        body.line({});
      }
    };
    list("inputs", plan.inputs);
    list("outputs", plan.outputs);
    body.line({" */"});
  }

  Allocator allocator_;
  ModuleForm form_;
  Source body_;
  Source declared_;  ///< what a package's header says of the functions
  Constants constants_;
};

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
