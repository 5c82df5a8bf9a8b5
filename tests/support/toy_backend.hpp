// SPDX-License-Identifier: Apache-2.0
// tests/support/toy_backend.hpp: a second backend in one file, as a user would write it: a command list
// for a device whose memory the host cannot touch. docs/adding-a-backend.md walks through it.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/exec/adapter_table.hpp>
#include <zrt/exec/backend.hpp>
#include <zrt/ops/concat.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/greedy_token.hpp>
#include <zrt/ops/kv_write_batched.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/reduce.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/residual_rms_norm.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/softmax.hpp>

#include <cstring>

namespace toy {

using zrt::Errc;
using zrt::Result;

/// A place in device memory. The number of a block is not an address: only the device resolves it.
struct Handle {
  std::uint32_t block = 0;  ///< 0 names none
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  [[nodiscard]] bool present() const noexcept { return block != 0; }
};

struct Tensor {
  Handle at{};
  zrt::TensorType type{};
  [[nodiscard]] bool present() const noexcept { return at.present(); }
};

struct Weight {
  Handle at{};
  zrt::DType dtype = zrt::DType::f32;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  std::uint64_t row_bytes = 0;
  [[nodiscard]] bool present() const noexcept { return at.present(); }
};

struct State {
  Handle at{};
  std::uint64_t unit_bytes = 0;
  std::uint32_t units = 0;
  zrt::StateInfo info{};
};

/// The blocks of the device, which outlive whoever names them.
struct Vram {
  explicit Vram(zrt::Allocator allocator) noexcept : blocks(allocator) {}
  zrt::Vector<zrt::Buffer> blocks;  ///< block n is entry n - 1
  [[nodiscard]] std::byte* resolve(const Handle& h) noexcept {
    return h.present() ? blocks[h.block - 1].data() + h.offset : nullptr;
  }
};

/// Owns one block and gives it back to the device.
class Memory {
 public:
  Memory() = default;
  Memory(Vram& vram, Handle handle) noexcept : vram_(&vram), handle_(handle) {}
  Memory(Memory&& other) noexcept : vram_(std::exchange(other.vram_, nullptr)), handle_(other.handle_) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(vram_, other.vram_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Memory() {
    if (vram_ != nullptr && handle_.present()) vram_->blocks[handle_.block - 1] = {};
  }
  [[nodiscard]] const Handle& handle() const noexcept { return handle_; }

 private:
  Vram* vram_ = nullptr;
  Handle handle_{};
};

/// Serves memory by handle; counts what crosses the border between host and device.
class Device {
 public:
  explicit Device(zrt::Allocator allocator = zrt::system_allocator()) noexcept
      : allocator_(allocator), vram_(allocator) {}
  /// As an engine makes it. Its one command queue needs no threads of the host.
  Device(const zrt::Allocator& allocator, const zrt::ThreadHook&) noexcept : Device(allocator) {}

  [[nodiscard]] Result<Memory> allocate(std::uint64_t bytes) noexcept {
    // Memory of no bytes has a block too, so that its tensors are present.
    auto block = zrt::Buffer::zeroed(allocator_, static_cast<std::size_t>(bytes == 0 ? 1 : bytes));
    if (!block) return zrt::pass(block);
    if (auto r = vram_.blocks.push_back(std::move(*block)); !r) return zrt::pass(r);
    return Memory(vram_, {static_cast<std::uint32_t>(vram_.blocks.size()), 0, bytes});
  }
  [[nodiscard]] Tensor tensor(Memory& memory, std::uint64_t offset, const zrt::TensorType& type) noexcept {
    return {{memory.handle().block, offset, memory.handle().bytes - offset}, type};
  }
  [[nodiscard]] Handle scratch(Memory& memory, std::uint64_t offset, std::uint64_t bytes) noexcept {
    return {memory.handle().block, offset, bytes};
  }
  /// Counts what will be uploaded.
  [[nodiscard]] Result<void> expect(const zrt::WeightView&) noexcept {
    expected_ += 1;
    return {};
  }
  /// Uploads a weight once; the file may go afterwards.
  [[nodiscard]] Result<Weight> weight(const zrt::WeightView& view) noexcept {
    const auto elements = view.shape.elements({}).get(view.name);
    if (!elements) return zrt::pass(elements);
    const std::uint32_t cols = view.shape.last().extent;
    Weight w{{},
             view.dtype,
             cols == 0 ? 0 : static_cast<std::uint32_t>(*elements / cols),
             cols,
             zrt::bytes_of(view.dtype, cols)};
    if (w.rows * w.row_bytes > view.data.size())
      return zrt::fail(Errc::shape_mismatch, "weight ", view.name, " is shorter than its shape");
    auto memory = allocate(w.rows * w.row_bytes);
    if (!memory) return zrt::pass(memory);
    w.at = memory->handle();
    std::memcpy(vram_.resolve(w.at), view.data.data(), static_cast<std::size_t>(w.rows * w.row_bytes));
    uploads_ += 1;
    if (auto r = weights_.push_back(std::move(*memory)); !r) return zrt::pass(r);
    return w;
  }
  [[nodiscard]] State state(Memory& memory, const zrt::StateDescriptor& d, std::uint32_t units) noexcept {
    return {memory.handle(), d.size_bytes, units, d.info};
  }
  [[nodiscard]] Result<void> write(const Tensor& tensor, std::span<const std::byte> from) noexcept {
    if (from.size() > tensor.at.bytes)
      return zrt::fail(Errc::invalid_argument, "an upload is longer than its tensor's memory");
    if (!from.empty()) std::memcpy(vram_.resolve(tensor.at), from.data(), from.size());
    uploads_ += 1;
    return {};
  }
  [[nodiscard]] Result<void> read(const Tensor& tensor, std::uint64_t offset, std::span<std::byte> to) noexcept {
    if (offset > tensor.at.bytes || to.size() > tensor.at.bytes - offset)
      return zrt::fail(Errc::invalid_argument, "a download is longer than its tensor's memory");
    if (!to.empty()) std::memcpy(to.data(), vram_.resolve(tensor.at) + offset, to.size());
    downloads_ += 1;
    return {};
  }
  [[nodiscard]] Result<void> read_unit(State& state, std::uint32_t unit, std::span<std::byte> to) noexcept {
    std::memcpy(to.data(), vram_.resolve(state.at) + unit * state.unit_bytes, to.size());
    downloads_ += 1;
    return {};
  }
  [[nodiscard]] Result<void> write_unit(State& state, std::uint32_t unit, std::span<const std::byte> from) noexcept {
    std::memcpy(vram_.resolve(state.at) + unit * state.unit_bytes, from.data(), from.size());
    uploads_ += 1;
    return {};
  }

  [[nodiscard]] const zrt::Allocator& allocator() const noexcept { return allocator_; }
  [[nodiscard]] Vram& vram() noexcept { return vram_; }
  /// Weights that zrt said would come.
  [[nodiscard]] std::uint64_t expected() const noexcept { return expected_; }
  [[nodiscard]] std::uint64_t uploads() const noexcept { return uploads_; }
  [[nodiscard]] std::uint64_t downloads() const noexcept { return downloads_; }

 private:
  zrt::Allocator allocator_;
  Vram vram_;
  zrt::Vector<Memory> weights_{allocator_};
  std::uint64_t expected_ = 0;
  std::uint64_t uploads_ = 0;
  std::uint64_t downloads_ = 0;
};

/// A kernel as the device sees it: arguments by handle, resolved when it runs.
using Kernel = void (*)(Vram& vram, const std::byte* args, const zrt::ExecutionContext& step,
                        const zrt::Worker& worker) noexcept;

/// What a command does: launch a kernel, wait for an earlier one, or end the stage.
enum class CommandKind : std::uint8_t { launch, wait, finish };

struct Command {
  CommandKind kind = CommandKind::launch;
  std::uint32_t instruction = 0;
  zrt::Opcode opcode{};
  Kernel kernel = nullptr;
  std::size_t args = 0;  ///< into the program's argument bytes
  Handle scratch{};
};

/// The command list. Replaying it is one submission.
class Program {
 public:
  explicit Program(Device& device) noexcept : commands_(device.allocator()), args_(device.allocator()) {}

  /// Runs every command in order; false when `stop` ended the step early.
  [[nodiscard]] Result<bool> launch(Device& device, const zrt::ExecutionContext& step,
                                    const zrt::exec::StopPoll& stop) noexcept {
    ++submissions_;
    for (const Command& c : commands_) {
      switch (c.kind) {
        case CommandKind::wait:
          if (stop()) return false;
          break;
        case CommandKind::finish:
          ++finishes_;
          break;
        case CommandKind::launch: {
          ++launches_;
          const std::span<std::byte> scratch(device.vram().resolve(c.scratch),
                                             static_cast<std::size_t>(c.scratch.bytes));
          c.kernel(device.vram(), args_.data() + c.args, step, {0, 1, c.instruction, scratch});
        }
      }
    }
    return true;
  }

  /// Kernel launches of one step.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t count = 0;
    for (const Command& c : commands_) count += c.kind == CommandKind::launch ? 1u : 0u;
    return count;
  }
  [[nodiscard]] std::span<const Command> commands() const noexcept { return commands_.span(); }
  /// The largest step that it may be launched with.
  [[nodiscard]] const zrt::exec::StepBounds& bounds() const noexcept { return bounds_; }
  [[nodiscard]] std::uint64_t launches() const noexcept { return launches_; }
  [[nodiscard]] std::uint64_t finishes() const noexcept { return finishes_; }
  [[nodiscard]] std::uint64_t submissions() const noexcept { return submissions_; }

 private:
  friend class Recorder;
  zrt::Vector<Command> commands_;
  zrt::Vector<std::byte> args_;
  zrt::exec::StepBounds bounds_{};
  std::uint64_t launches_ = 0;
  std::uint64_t finishes_ = 0;
  std::uint64_t submissions_ = 0;
};

/// Logs commands while a plan is bound.
class Recorder {
 public:
  Recorder(Program& program, const Device&) noexcept : program_(&program) {}

  /// Keeps the bounds; a device with memory of its own makes room for the step's data.
  [[nodiscard]] Result<void> reserve(const zrt::exec::StepBounds& bounds) noexcept {
    program_->bounds_ = bounds;
    return {};
  }
  /// Starts an instruction; a dependency becomes a wait command.
  [[nodiscard]] Result<void> begin(const zrt::exec::RecordSite<Handle>& site) noexcept {
    site_ = site;
    if (site.wait_for == site.kNoWait) return {};
    return program_->commands_.push_back({CommandKind::wait, site.wait_for, site.opcode, nullptr, 0, {}});
  }
  /// Appends one launch.
  template <class Args> [[nodiscard]] Result<void> launch(Kernel kernel, const Args& args) noexcept {
    static_assert(std::is_trivially_copyable_v<Args> && alignof(Args) <= 16);
    const std::size_t at = zrt::align_up(program_->args_.size(), 16);
    if (auto r = program_->args_.resize(at + sizeof(Args)); !r) return r;
    std::memcpy(program_->args_.data() + at, &args, sizeof(Args));
    return program_->commands_.push_back(
        {CommandKind::launch, site_.instruction, site_.opcode, kernel, at, site_.scratch});
  }
  /// Ends the stage: what follows may read its results.
  [[nodiscard]] Result<void> finish() noexcept {
    return program_->commands_.push_back({CommandKind::finish, 0, {}, nullptr, 0, {}});
  }

 private:
  Program* program_;
  zrt::exec::RecordSite<Handle> site_{};
};

/// The policy type that a host names.
struct Backend {
  static constexpr std::string_view name = "toy";
  using Tensor = toy::Tensor;
  using Weight = toy::Weight;
  using State = toy::State;
  using Scratch = Handle;
  using Memory = toy::Memory;
  using Device = toy::Device;
  using Program = toy::Program;
  using Recorder = toy::Recorder;
  using Claims =
      boost::mp11::mp_list<zrt::ops::ElementwiseUnary, zrt::ops::ElementwiseBinary, zrt::ops::Reshape, zrt::ops::Concat,
                           zrt::ops::Slice, zrt::ops::Linear, zrt::ops::RmsNorm, zrt::ops::ResidualAdd,
                           zrt::ops::Softmax, zrt::ops::Reduce, zrt::ops::GatedAct, zrt::ops::KvWriteBatched>;
  using Unsupported = boost::mp11::mp_list<zrt::ops::GreedyToken>;
};

/// The ops that the toy knows of: what it claims, one that runs through its expansion
/// (ResidualRmsNorm), and one that it leaves out.
using Catalog =
    boost::mp11::mp_append<Backend::Claims, boost::mp11::mp_list<zrt::ops::ResidualRmsNorm, zrt::ops::GreedyToken>>;

/// The device's "kernel" of O: resolves the handles, then computes as the reference does.
template <class O> struct KernelOf {
  static zrt::HostTensor host(Vram& vram, const Tensor& t) noexcept { return {vram.resolve(t.at), t.type}; }
  static zrt::HostWeight host(Vram& vram, const Weight& w) noexcept {
    return {vram.resolve(w.at), w.dtype, w.rows, w.cols, w.row_bytes};
  }
  static void run(Vram& vram, const std::byte* args, const zrt::ExecutionContext& step,
                  const zrt::Worker& worker) noexcept {
    const auto& c = *std::launder(reinterpret_cast<const zrt::Call<Backend, O>*>(args));
    zrt::HostCall<O> call;
    auto resolve = [&vram](const auto& operand) { return host(vram, operand); };
    zrt::fill(call.in, c.in, resolve);
    zrt::fill(call.out, c.out, resolve);
    zrt::fill(call.w, c.w, resolve);
    call.state = {vram.resolve(c.state.at), c.state.unit_bytes, c.state.units, c.state.info};
    call.params = c.params;
    O::reference(call, step, worker);
  }
};

}  // namespace toy

template <class O>
  requires boost::mp11::mp_contains<toy::Backend::Claims, O>::value
struct zrt::Adapter<toy::Backend, O> {
  /// Softmax is a kernel for one slot at a time, so that routing has something to refuse; residual_add serves 16.
  static constexpr AdapterCapability capability{.supports_batch = !std::is_same_v<O, ops::Softmax>,
                                                .max_batch_size = std::is_same_v<O, ops::ResidualAdd> ? 16u : 0u};
  static CheckedSize scratch(const TypeCall<O>& call, const Extents& bounds) noexcept {
    if constexpr (HasReferenceScratch<O>)
      return O::reference_scratch(call, bounds);
    else
      return 0;
  }
  static Result<void> record(toy::Recorder& recorder, const Call<toy::Backend, O>& call) noexcept {
    return recorder.launch(&toy::KernelOf<O>::run, call);
  }
};

static_assert(zrt::CheckBackend<toy::Backend, toy::Catalog>::kOk);
