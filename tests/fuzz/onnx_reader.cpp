// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/onnx_reader.cpp: any bytes as an ONNX file; what is read verifies.
// covers: zrt/ir/onnx/wire.hpp 90
// covers: zrt/ir/onnx/model.hpp 90
// covers: zrt/ir/onnx/tensor.hpp 90
// covers: zrt/ir/onnx/reader.hpp 90
// covers: zrt/ir/onnx/call.hpp 90
// covers: zrt/ir/onnx/emit.hpp 90
// covers: zrt/ir/onnx/operators.hpp 90
// covers: zrt/ir/onnx/external_data.hpp 90
// covers: zrt/ir/onnx/known_numbers.hpp 90
// covers: zrt/ir/onnx/ops_attention.hpp 90
// covers: zrt/ir/onnx/ops_cast.hpp 90
// covers: zrt/ir/onnx/ops_control.hpp 90
// covers: zrt/ir/onnx/ops_elementwise.hpp 90
// covers: zrt/ir/onnx/ops_grams.hpp 90
// covers: zrt/ir/onnx/ops_image.hpp 90
// covers: zrt/ir/onnx/ops_index.hpp 90
// covers: zrt/ir/onnx/ops_label.hpp 90
// covers: zrt/ir/onnx/ops_layout.hpp 90
// covers: zrt/ir/onnx/ops_loss.hpp 90
// covers: zrt/ir/onnx/ops_matrix.hpp 90
// covers: zrt/ir/onnx/ops_microsoft.hpp 90
// covers: zrt/ir/onnx/ops_norm.hpp 90
// covers: zrt/ir/onnx/ops_pool.hpp 90
// covers: zrt/ir/onnx/ops_quantize.hpp 90
// covers: zrt/ir/onnx/ops_recurrent.hpp 90
// covers: zrt/ir/onnx/ops_reduce.hpp 90
// covers: zrt/ir/onnx/ops_resize.hpp 90
// covers: zrt/ir/onnx/ops_selection.hpp 90
// covers: zrt/ir/onnx/ops_sequence.hpp 90
// covers: zrt/ir/onnx/ops_shape.hpp 90
// covers: zrt/ir/onnx/ops_signal.hpp 90
// covers: zrt/ir/onnx/ops_slice.hpp 90
// covers: zrt/ir/onnx/ops_string.hpp 90
// covers: zrt/ir/onnx/ops_training.hpp 90
// covers: zrt/ir/onnx/ops_window.hpp 90
// covers: zrt/ir/onnx/strings.hpp 90
// seeds: /usr/share/libonnx-testdata/data/node/test_*/model.onnx
// cases: ../data/onnx_operators.pb
// max-len: 1024
#include <zrt/ir/onnx.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace zrt;
namespace onnx = zrt::ir::onnx;

void demand(bool condition) {
  if (!condition) std::abort();
}

/// The system's memory in blocks of at most 16 MiB, so that a large extent is an error and not a wait.
Allocator small_blocks() {
  Allocator small = system_allocator();
  small.allocate = [](void*, std::size_t bytes, std::size_t alignment) noexcept -> void* {
    return bytes > 16u << 20 ? nullptr : system_allocator().allocate(nullptr, bytes, alignment);
  };
  return small;
}

/// A folder with the data file `w`, of 64 bytes, for tensors whose data is in another file.
class DataFolder {
 public:
  DataFolder() {
    demand(::mkdtemp(path_.data()) != nullptr);
    for (const char* name : kFiles) {
      std::FILE* file = std::fopen((path_ + name).c_str(), "wb");
      demand(file != nullptr);
      std::fwrite(std::string(64, '\x3f').data(), 1, 64, file);
      std::fclose(file);
    }
  }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;
  ~DataFolder() {
    for (const char* name : kFiles) std::remove((path_ + name).c_str());
    std::remove(path_.c_str());
  }
  [[nodiscard]] std::string model() const { return path_ + kFiles[1]; }

 private:
  static constexpr std::array<const char*, 2> kFiles{"/w", "/model.onnx"};
  std::string path_ = "/tmp/zrt_fuzz_onnx_XXXXXX";
};

/// Inputs of a file.
struct Declared {
  std::vector<onnx::InputType> types;        ///< as the file declares them: open extents are 2
  std::vector<std::string_view> of_strings;  ///< those whose elements are numbers of strings
};
Declared declared_inputs(std::string_view file) {
  Declared inputs;
  const auto model = onnx::read_model(file, system_allocator());
  if (!model) return inputs;
  const auto graph = onnx::read_graph(model->graph, system_allocator());
  if (!graph) return inputs;
  for (const onnx::ValueView& input : graph->inputs) {
    bool strings = false;
    const auto extent = [](auto, auto) { return ir::ptir::Dim(2); };
    const auto type = onnx::read_type(input.type, extent, nullptr, &strings);
    if (!type) continue;
    inputs.types.push_back({input.name, *type});
    if (strings) inputs.of_strings.push_back(input.name);
  }
  return inputs;
}

/// Strings that a host feeds: words, or numbers.
constexpr std::array<std::array<const char*, 5>, 2> kFed{
    {{"a", "", "Monday", " b,b c", "\xc3\xbc"}, {"7", "-1.5", "inf", "1e3", "+NaN"}}};

/// How many tensors each input of the file holds that is a sequence, by the file's size; one that may be absent is so in
/// every third file.
std::vector<onnx::InputLength> lengths_in(std::string_view file) {
  std::vector<onnx::InputLength> lengths;
  const auto model = onnx::read_model(file, small_blocks());
  if (!model) return lengths;
  const auto graph = onnx::read_graph(model->graph, small_blocks());
  if (!graph) return lengths;
  for (const onnx::ValueView& input : graph->inputs)
    if (const auto form = onnx::read_form(input.type); form && (form->sequence || form->optional))
      lengths.push_back(
          {input.name, static_cast<std::uint32_t>(file.size() % 4), form->optional && file.size() % 3 == 0});
  return lengths;
}

/// The names of the initialisers of a file's graph.
std::vector<std::string> initialisers_in(std::string_view file) {
  std::vector<std::string> names;
  const auto model = onnx::read_model(file, small_blocks());
  if (!model) return names;
  const auto graph = onnx::read_graph(model->graph, small_blocks());
  if (!graph) return names;
  for (const std::string_view message : graph->initializers)
    if (const auto tensor = onnx::read_tensor(message, small_blocks(), nullptr); tensor)
      names.emplace_back(tensor->name);
  return names;
}

/// Elements of that type that the file's end gives: whole numbers from `least` on, five of them, floats of 0.5 to 2.5.
std::vector<std::byte> elements_of(const ir::ptir::TensorType& type, std::span<const std::uint8_t> file, int least) {
  const std::uint64_t count = type.shape.constant_elements().raw();
  if (!is_computed(type.dtype) || count > 64) return {};
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back((file.empty() ? 1 : file[file.size() - 1 - i % file.size()] % 5 + least) +
                      (is_float(type.dtype) ? 1.5 : 0));
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(type.dtype, count)));
  cast_elements(DType::f64, std::as_bytes(std::span(numbers)).data(), type.dtype, bytes.data(), 0, count);
  return bytes;
}

/// Reads a file with a value for its first input that has no bytes, that is of another type, or that no input has, and
/// with a number for an extent.
void read_with_wrong_values(std::span<const std::byte> file, const onnx::InputType& first) {
  ir::ptir::TensorType other = first.type;
  other.dtype = first.type.dtype == DType::f32 ? DType::si64 : DType::f32;
  const CheckedSize size = ir::ptir::literal_bytes(other);
  const std::vector<std::byte> enough(size.ok() && size.raw() < 4096 ? static_cast<std::size_t>(size.raw()) : 0);
  const onnx::NamedExtent extent{"N", 2};
  const std::array<onnx::InputLength, 2> lengths{{{first.name, 1, true}, {"no input", 1, false}}};
  for (const onnx::BoundInput& wrong :
       {onnx::BoundInput{first.name, first.type, {}}, onnx::BoundInput{first.name, other, enough},
        onnx::BoundInput{"no input", first.type, enough}}) {
    onnx::ReadOptions options;
    options.values = {&wrong, 1};
    options.extents = {&extent, 1};
    options.allocator = small_blocks();
    const auto program = onnx::read(file, options);
    demand(program || !program.error().text().empty());
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    onnx::ReadOptions options;
    options.lengths = Span(lengths).subspan(i, 1);
    options.allocator = small_blocks();
    const auto program = onnx::read(file, options);
    demand(program || !program.error().text().empty());
  }
}

/// Reads a file with all its initialisers as inputs, and with one that it has not.
void read_with_variables(std::span<const std::byte> file, const std::vector<std::string>& initialisers) {
  std::vector<std::string_view> names(initialisers.begin(), initialisers.end());
  for (const bool unknown : {false, true}) {
    if (unknown) names.push_back("no initializer");
    onnx::ReadOptions options;
    options.variables = names;
    options.allocator = small_blocks();
    const auto program = onnx::read(file, options);
    demand(program ? !unknown && ir::ptir::verify(*program) : !program.error().text().empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  const auto file = std::as_bytes(bytes);
  Declared declared = declared_inputs({reinterpret_cast<const char*>(data), size});
  std::vector<onnx::InputType>& types = declared.types;
  // Some files are read for other extents than they say.
  const bool wider = size > 0 && data[size - 1] % 4 == 3;
  if (wider)
    for (onnx::InputType& input : types)
      for (std::uint8_t axis = 0; axis < input.type.shape.rank; ++axis)
        if (input.type.shape[axis].constant() < 64)
          input.type.shape.dims[axis] = static_cast<std::int64_t>(input.type.shape[axis].constant()) + 1;
  if (size > 0 && data[size - 1] % 4 == 1 && !types.empty()) read_with_wrong_values(file, types[0]);
  if (size > 0 && data[size - 1] % 4 == 2)
    read_with_variables(file, initialisers_in({reinterpret_cast<const char*>(data), size}));
  // Inputs whose values must be known are bound, one after the other.
  std::array<Name, 4> names;
  std::array<std::vector<std::byte>, names.size()> elements;
  std::vector<onnx::BoundInput> bound;
  const std::vector<onnx::InputLength> lengths = lengths_in({reinterpret_cast<const char*>(data), size});
  static const DataFolder folder;
  auto external = onnx::ExternalData::beside(folder.model(), small_blocks());
  demand(external.has_value());
  // In some files strings are refused.
  const bool takes_strings = size == 0 || data[size / 2] % 8 != 7;
  onnx::ModelStrings strings(small_blocks());
  for (const char* text : kFed[size == 0 ? 0 : data[size / 3] % 2]) demand(strings.table.number_of(text).has_value());
  for (std::size_t round = 0; round <= names.size(); ++round) {
    Name needed, open;
    onnx::ReadOptions options;
    options.values = bound;
    options.lengths = lengths;
    if (wider) options.types = types;
    if (takes_strings) options.strings = &strings;
    options.needed = &needed;
    options.open_input = &open;
    options.allocator = small_blocks();
    options.external = &*external;
    const auto program = onnx::read(file, options);
    if (program) {
      demand(ir::ptir::verify(*program).has_value());
      const ir::ptir::Region& main = program->regions[0];
      for (const std::uint32_t input : strings.inputs)
        demand(main.parameters[input].type.dtype == onnx::kStringNumbers);
      for (const std::uint32_t output : strings.outputs) demand(output < main.results.size());
      return 0;
    }
    demand(program.error().code() != Errc::ok && !program.error().text().empty());
    if (needed.view().empty() || round == names.size()) return 0;
    names[round] = needed;
    const auto is_needed = [&](const onnx::InputType& input) { return input.name == needed.view(); };
    const auto found = std::find_if(types.begin(), types.end(), is_needed);
    if (found == types.end()) return 0;
    const bool of_strings =
        std::find(declared.of_strings.begin(), declared.of_strings.end(), needed.view()) != declared.of_strings.end();
    elements[round] = elements_of(found->type, bytes, of_strings ? 0 : -1);
    const CheckedSize expected = ir::ptir::literal_bytes(found->type);
    if (!expected.ok() || elements[round].size() != expected.raw()) return 0;
    bound.push_back({names[round].view(), found->type, elements[round]});
  }
  return 0;
}
