// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_recurrent.hpp: RNN, GRU and LSTM, unrolled over their time steps.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_shape.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// Time steps that a recurrent node is unrolled for.
inline constexpr std::int64_t kMaxUnrolledSteps = 1024;

/// A function that a recurrent node applies to its gates, by the name of its operator.
struct RecurrentActivation {
  std::string_view name;
  Tensor (*of)(const Tensor& x) noexcept;
};
inline constexpr auto kRecurrentActivations = std::to_array<RecurrentActivation>({{"Relu", &relu_of},
                                                                                  {"Sigmoid", &sigmoid_of},
                                                                                  {"Softplus", &softplus_of},
                                                                                  {"Softsign", &softsign_of},
                                                                                  {"Tanh", &tanh_of}});

/// One direction of a recurrent node: rows of gates over the hidden size.
struct RecurrentPart {
  Tensor input;                ///< [steps, batch, gates * hidden]: x times W, and the bias of W
  Tensor recurrence;           ///< [gates * hidden, hidden]
  std::optional<Tensor> bias;  ///< of the recurrence [gates * hidden]
  std::int64_t hidden, gates, batch;
  std::array<Tensor (*)(const Tensor&) noexcept, 3> act;  ///< f, g and h of the specification

  [[nodiscard]] Tensor rows(const Tensor& x, std::int64_t first, std::int64_t count) const noexcept {
    const auto width = static_cast<std::int64_t>(x.shape().size() == 2 ? x.shape()[1].constant() : 0);
    return x.shape().size() == 2 ? slice(x, {first * hidden, 0}, {count * hidden, width})
                                 : slice(x, {first * hidden}, {count * hidden});
  }
  /// h times the gates [first, first + count) of the recurrence, and their bias: [batch, count * hidden].
  [[nodiscard]] Tensor times(const Tensor& h, std::int64_t first, std::int64_t count) const noexcept {
    const Tensor y = dot(h, rows(recurrence, first, count), {}, {}, {1}, {1});
    return bias ? y + rows(*bias, first, count) : y;
  }
  [[nodiscard]] Tensor gate(const Tensor& of_all, std::int64_t index) const noexcept {
    return slice(of_all, {0, index * hidden}, {batch, hidden});
  }
};
[[nodiscard]] inline Tensor rnn_step(const RecurrentPart& p, const Tensor& x, const Tensor& h) noexcept {
  return p.act[0](x + p.times(h, 0, 1));
}
/// Gates in the order update, reset, hidden.
[[nodiscard]] inline Tensor gru_step(NodeCall& n, const RecurrentPart& p, const Tensor& x, const Tensor& h) noexcept {
  const Tensor both = p.times(h, 0, 2);
  const Tensor update = p.act[0](p.gate(x, 0) + p.gate(both, 0));
  const Tensor reset = p.act[0](p.gate(x, 1) + p.gate(both, 1));
  const Tensor inner = n.integer("linear_before_reset", 0) != 0 ? reset * p.times(h, 2, 1) : p.times(reset * h, 2, 1);
  const Tensor fresh = p.act[1](p.gate(x, 2) + inner);
  return fresh + update * (h - fresh);
}
/// Gates in the order input, output, forget, cell; `peep` is [3 * hidden] in the order of the first three.
[[nodiscard]] inline Tensor lstm_step(const RecurrentPart& p, const Tensor& x, const Tensor& h, Tensor& c,
                                      const std::optional<Tensor>& peep) noexcept {
  const Tensor all = x + p.times(h, 0, 4);
  const auto look = [&](std::int64_t gate, const Tensor& cell) {
    const Tensor of_gate = p.gate(all, gate);
    return p.act[0](peep ? of_gate + p.rows(*peep, gate, 1) * cell : of_gate);
  };
  const Tensor in = look(0, c);
  const Tensor forget = look(2, c);
  c = forget * c + in * p.act[1](p.gate(all, 3));
  return look(1, c) * p.act[2](c);
}

enum class RecurrentKind : std::uint8_t { rnn, gru, lstm };
/// The functions of direction `d`: those that the node names, else a sigmoid of gates and a tanh of what they let by.
inline void recurrent_activations(NodeCall& n, RecurrentKind kind, std::int64_t d, RecurrentPart& p) noexcept {
  const std::size_t each = kind == RecurrentKind::lstm ? 3 : kind == RecurrentKind::gru ? 2 : 1;
  p.act = {kind == RecurrentKind::rnn ? &tanh_of : &sigmoid_of, &tanh_of, &tanh_of};
  const AttributeView* names = n.attribute("activations", AttributeType::texts);
  if (names == nullptr) return;
  const std::size_t first = static_cast<std::size_t>(d) * each;
  if (names->texts.size() < first + each)
    return n.fail(Errc::invalid_params, "activations has ", names->texts.size(), " names, expected ", each,
                  " for each direction");
  for (std::size_t i = 0; i < each; ++i) {
    const std::string_view wanted = names->texts[first + i];
    const auto* row = std::find_if(kRecurrentActivations.begin(), kRecurrentActivations.end(),
                                   [&](const RecurrentActivation& a) { return a.name == wanted; });
    if (row == kRecurrentActivations.end())
      return n.unsupported("activation ", zrt::slice(wanted, 0, 40),
                           ": only Relu, Sigmoid, Softplus, Softsign and Tanh are read");
    p.act[i] = row->of;
  }
}
inline void recurrent(NodeCall& n, RecurrentKind kind) noexcept {
  Builder& b = n.b();
  if (n.has_attribute("clip")) return n.unsupported("attribute clip");
  if (n.integer("input_forget", 0) != 0) return n.unsupported("attribute input_forget other than 0");
  const bool batch_first = n.integer("layout", 0) != 0;
  const std::string_view direction = n.text("direction", "forward");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  const std::int64_t gates = kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1;
  Tensor x = n.in(0);
  if (batch_first) x = transpose(x, {1, 0, 2});
  const IntList xs = n.shape(x);
  const IntList rs = n.shape(2);
  if (n.failed()) return;
  if (xs.size() != 3 || rs.size() != 3 || rs[0] != directions || rs[1] != gates * rs[2] || xs[0] < 1)
    return n.fail(Errc::shape_mismatch, "x must be [steps, batch, n] and R [directions, gates * hidden, hidden]");
  if (xs[0] > kMaxUnrolledSteps)
    return n.unsupported(xs[0], " time steps, at most ", kMaxUnrolledSteps, " are unrolled");
  const std::int64_t hidden = rs[2];
  const std::int64_t batch = xs[1];
  const IntList state{batch, hidden};
  const auto initial = [&](std::size_t i, std::int64_t d) {
    if (!n.has(i)) return b.broadcast_to(scalar_like(x, 0), shape_of(n.b(), state));
    Tensor given = n.in(i);
    if (batch_first) given = transpose(given, {1, 0, 2});
    return reshape(slice(given, {d, 0, 0}, {1, batch, hidden}), state);
  };
  Vector<Tensor> all_y(n.allocator()), all_h(n.allocator()), all_c(n.allocator());
  for (std::int64_t d = 0; d < directions && !n.failed(); ++d) {
    const Tensor w = reshape(slice(n.in(1), {d, 0, 0}, {1, gates * hidden, xs[2]}), {gates * hidden, xs[2]});
    const Tensor r = reshape(slice(n.in(2), {d, 0, 0}, {1, gates * hidden, hidden}), {gates * hidden, hidden});
    RecurrentPart p{dot(x, w, {}, {}, {2}, {1}), r, {}, hidden, gates, batch, {}};
    recurrent_activations(n, kind, d, p);
    if (n.has(3)) {
      const Tensor both = n.in(3);
      p.input = p.input + reshape(slice(both, {d, 0}, {1, gates * hidden}), {gates * hidden});
      p.bias = reshape(slice(both, {d, gates * hidden}, {1, gates * hidden}), {gates * hidden});
    }
    std::optional<Tensor> peep;
    if (kind == RecurrentKind::lstm && n.has(7)) peep = reshape(slice(n.in(7), {d, 0}, {1, 3 * hidden}), {3 * hidden});
    Tensor h = initial(5, d);
    Tensor c = initial(kind == RecurrentKind::lstm ? 6 : 5, d);
    const bool backward = direction == "reverse" || d == 1;
    Vector<Tensor> ys(n.allocator());
    for (std::int64_t i = 0; i < xs[0] && !n.failed(); ++i) {
      const std::int64_t t = backward ? xs[0] - 1 - i : i;
      const Tensor at = reshape(slice(p.input, {t, 0, 0}, {1, batch, gates * hidden}), {batch, gates * hidden});
      Tensor cell = c;
      const Tensor next = kind == RecurrentKind::rnn   ? rnn_step(p, at, h)
                          : kind == RecurrentKind::gru ? gru_step(n, p, at, h)
                                                       : lstm_step(p, at, h, cell, peep);
      Tensor y = next;
      if (n.has(4)) {
        // Past its length a sequence keeps its state and gives zeros.
        const Tensor lives = reshape(b.gt(n.in(4), scalar_like(n.in(4), static_cast<double>(t))), {batch, 1});
        y = b.select(lives, next, scalar_like(next, 0));
        h = b.select(lives, next, h);
        c = b.select(lives, cell, c);
      } else {
        h = next;
        c = cell;
      }
      if (auto pushed = ys.push_back(reshape(y, {1, 1, batch, hidden})); !pushed) return n.fail(pushed.error());
    }
    if (n.failed()) return;
    if (backward)
      for (std::size_t i = 0; i < ys.size() / 2; ++i) std::swap(ys[i], ys[ys.size() - 1 - i]);
    for (auto [list, value] :
         {std::pair{&all_y, concat(ys.span(), 0, b)}, std::pair{&all_h, reshape(h, {1, batch, hidden})},
          std::pair{&all_c, reshape(c, {1, batch, hidden})}})
      if (auto pushed = list->push_back(value); !pushed) return n.fail(pushed.error());
  }
  if (n.failed()) return;
  const Tensor y = concat(all_y.span(), 1, b);
  const Tensor h = concat(all_h.span(), 0, b);
  const Tensor c = concat(all_c.span(), 0, b);
  n.out(0, batch_first ? transpose(y, {2, 0, 1, 3}) : y);
  n.out(1, batch_first ? transpose(h, {1, 0, 2}) : h);
  if (kind == RecurrentKind::lstm) n.out(2, batch_first ? transpose(c, {1, 0, 2}) : c);
}
inline void rnn(NodeCall& n) noexcept { recurrent(n, RecurrentKind::rnn); }
inline void gru(NodeCall& n) noexcept { recurrent(n, RecurrentKind::gru); }
inline void lstm(NodeCall& n) noexcept { recurrent(n, RecurrentKind::lstm); }

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
