// SPDX-License-Identifier: Apache-2.0
// examples/zrt/commands.hpp: the subcommands. Each returns the exit status of the program.
#pragma once

#include "options.hpp"

namespace program {

[[nodiscard]] int generate(const GenerateOptions& options);
[[nodiscard]] int chat(const ChatOptions& options);
[[nodiscard]] int serve_model(const ServeOptions& options);
[[nodiscard]] int logits(const LogitsOptions& options);
[[nodiscard]] int tokenize(const TokenizeOptions& options);
[[nodiscard]] int inspect(const InspectOptions& options);
[[nodiscard]] int plan(const PlanOptions& options);
[[nodiscard]] int quantize(const QuantizeOptions& options);
[[nodiscard]] int convert(const ConvertOptions& options);
[[nodiscard]] int imatrix(const ImatrixOptions& options);
[[nodiscard]] int make_model(const MakeModelOptions& options);
[[nodiscard]] int perplexity(const PerplexityOptions& options);
[[nodiscard]] int embed(const EmbedOptions& options);
[[nodiscard]] int ptir_run(const PtirOptions& options);
[[nodiscard]] int ptir_convert(const PtirConvertOptions& options);
[[nodiscard]] int onnx_inspect(const InspectOnnxOptions& options);
[[nodiscard]] int onnx_bench(const BenchOnnxOptions& options);
[[nodiscard]] int fused_run(const FusedOptions& options);
[[nodiscard]] int train(const TrainOptions& options);
[[nodiscard]] int pm4_decode(const Pm4DecodeOptions& options);
[[nodiscard]] int pm4_pack(const Pm4PackOptions& options);
[[nodiscard]] int pm4_run(const Pm4RunOptions& options);
[[nodiscard]] int pm4_probe(const Pm4CardOptions& options);
[[nodiscard]] int pm4_memtest(const Pm4CardOptions& options);
[[nodiscard]] int pm4_selftest(const Pm4CardOptions& options);
[[nodiscard]] int devices();
[[nodiscard]] int trace(const TraceOptions& options);
[[nodiscard]] int top(const TopOptions& options);
[[nodiscard]] int record(const RecordOptions& options);
[[nodiscard]] int replay(const ReplayOptions& options);
[[nodiscard]] int validate_program(const ValidateOptions& options);
[[nodiscard]] int validate(const ValidateOptions& options);
[[nodiscard]] int simulate_tenants(const SimulateOptions& options);
[[nodiscard]] int bench(const BenchOptions& options);
[[nodiscard]] int bench_card(const BenchOptions& options);

}  // namespace program
