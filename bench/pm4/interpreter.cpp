// SPDX-License-Identifier: Apache-2.0
// bench/pm4/interpreter.cpp: how many wave instructions a second the RDNA interpreter runs on one core.
//
//     cmake --preset release && ninja -C build/release zrt_bench_pm4_interpreter
//     build/release/bin/zrt_bench_pm4_interpreter kernels/gfx1201
//
// A loop of arithmetic alone, then the matrix-vector kernels of a folder, a matrix of 1024 x 2048 each.
#include <zrt/backend/pm4/kernel_file/reader.hpp>
#include <zrt/device/adapters/product_kernels.hpp>
#include <zrt/device/upload/types.hpp>
#include <zrt/emulator/run_dispatch.hpp>
#include <zrt/quant/types.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

namespace device = zrt::device;
namespace pm4 = zrt::pm4;
using namespace zrt::emulator;

/// A loop of wave32 vector code for gfx1201, assembled by llvm-mc-19; the comment gives its instructions.
// s_mov_b32 s4, 0x4000; loop: v_add_f32, v_fmac_f32, v_mul_f32, v_lshlrev_b32, v_and_b32, v_add_nc_u32, v_cvt_f32_i32,
// v_bfe_u32, v_fmac_f32, v_max_num_f32, v_cmp_gt_f32, v_cndmask_b32, v_dual_mul_f32 :: v_dual_add_f32, v_dot4_i32_iu8,
// v_add_f32, v_xor_b32, s_add_co_i32, s_cmp_lg_u32, s_cbranch_scc1 loop; s_endpgm
auto loop = std::to_array<std::uint32_t>(
    {0xbe8400ff, 0x00004000, 0x06020702, 0x56080501, 0x100a0701, 0x300c0083, 0x360e0c8f, 0x4a100d07, 0x7e120b08,
     0xd610000a, 0x02210908, 0x56080b09, 0x2c160b04, 0x7c28090b, 0x02180b0b, 0xc8c80501, 0x0e0e0f03, 0xcc164010,
     0x7c421107, 0x06021d0c, 0x3a221110, 0x8104c104, 0xbf078004, 0xbfa2ffea, 0xbfb00000});

/// The best of seven runs, in million wave instructions a second of the core's own time; 0 where one fails.
double rate(const Dispatch& dispatch, const AddressSpace& memory, std::uint64_t& instructions) {
  double best = 0;
  for (int i = 0; i < 7; ++i) {
    const std::clock_t start = std::clock();
    const auto counters = run(dispatch, memory);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (!counters) {
      std::printf("%s\n", std::string(counters.error().text()).c_str());
      return 0;
    }
    instructions = counters->wave_instructions;
    const double found = static_cast<double>(instructions) / seconds * 1e-6;
    if (found > best) best = found;
  }
  return best;
}

bool run_loop() {
  AddressSpace memory;
  if (!memory.map(0x1000, std::as_writable_bytes(std::span(loop)), Permission::read | Permission::execute, "code"))
    return false;
  Dispatch d;
  d.code = 0x1000;
  d.rsrc1 = 0xf0000 | 5;
  d.groups = {16, 1, 1};
  d.threads = {32, 1, 1};
  std::uint64_t instructions = 0;
  const double found = rate(d, memory, instructions);
  std::printf("arithmetic: %.1f million wave instructions a second\n", found);
  return found != 0;
}

bool run_kernel(const std::string& folder, const device::UploadFunctions& type) {
  constexpr std::uint32_t rows = 1024, cols = 2048;
  constexpr std::uint64_t code_at = 0x100000, arguments_at = 0x200000;
  const std::string name = "matvec_" + std::string(zrt::name(type.dtype));
  std::ifstream stream(folder + "/" + name + ".zrt", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  std::vector<std::byte> file(text.size());
  if (!text.empty()) std::memcpy(file.data(), text.data(), text.size());
  const auto kernel = pm4::KernelFile::open(file);
  if (!kernel) {
    std::printf("%s: %s\n", name.c_str(), std::string(kernel.error().text()).c_str());
    return false;
  }
  const bool old = kernel->target().generation == pm4::Generation::gfx11;
  const auto registers = old ? pm4::program_registers<pm4::Gfx1100>(kernel->descriptor(), code_at)
                             : pm4::program_registers<pm4::Gfx1201>(kernel->descriptor(), code_at);
  if (!registers) return false;
  AddressSpace memory;
  std::vector<std::vector<std::byte>> buffers;
  std::vector<std::uint64_t> arguments;
  buffers.reserve(16);
  bool mapped = true;
  const auto add = [&](std::size_t bytes) {
    // Small normal numbers, whatever the type.
    buffers.emplace_back(bytes, std::byte{0x3c});
    arguments.push_back(std::uint64_t{buffers.size()} << 32);
    mapped = mapped &&
             memory.map(arguments.back(), buffers.back(), Permission::read | Permission::write, "buffer").has_value();
  };
  for (const auto& part : type.parts) add(part.bytes(rows, cols / zrt::info(type.dtype).block_elems).raw());
  const zrt::quant::Act act = zrt::quant::facts(type.dtype)->act;
  const auto product = device::find_product({.dtype = type.dtype}, act);
  if (!product) return false;
  const bool plain = act == zrt::quant::Act::none;
  add(cols * (plain ? 4 : 1));
  if (!plain) add(cols);
  arguments.push_back(0);  // no bias
  add(rows * 4);
  const std::array<std::uint32_t, 3> pushed{rows, cols, 1};
  std::vector<std::byte> block(arguments.size() * 8 + 64);
  std::memcpy(block.data(), arguments.data(), arguments.size() * 8);
  std::memcpy(block.data() + arguments.size() * 8, pushed.data(), sizeof pushed);
  std::vector<std::byte> code(kernel->blob().begin(), kernel->blob().end());
  mapped = mapped && memory.map(code_at, code, Permission::read | Permission::execute, "code").has_value() &&
           memory.map(arguments_at, block, Permission::read, "arguments").has_value();
  if (!mapped) return false;
  Dispatch d;
  d.isa = old ? Isa::gfx11 : Isa::gfx12;
  d.wave64 = kernel->header().subgroup_size == 64;
  d.groups = {rows / device::kVectorRows, 1, 1};
  d.threads = {kernel->header().workgroup_size_x, kernel->header().workgroup_size_y, kernel->header().workgroup_size_z};
  d.code = registers->code;
  d.rsrc1 = registers->rsrc1;
  d.rsrc2 = registers->rsrc2;
  d.rsrc3 = registers->rsrc3;
  d.user_data[0] = static_cast<std::uint32_t>(arguments_at);
  d.user_data[1] = 0;
  std::uint64_t instructions = 0;
  const double found = rate(d, memory, instructions);
  std::printf("%s: %.1f million wave instructions a second, %.4f instructions per weight\n", name.c_str(), found,
              static_cast<double>(instructions) / rows / cols);
  return found != 0;
}

}  // namespace

int main(int count, char** words) {
  bool ok = run_loop();
  if (count > 1)
    for (const device::UploadFunctions& type : device::kUploads) ok = run_kernel(words[1], type) && ok;
  return ok ? 0 : 1;
}
