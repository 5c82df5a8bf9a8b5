// SPDX-License-Identifier: Apache-2.0
// tests/unit/pass_attention.cpp: attention from the forms that exporters write, its masks, and near misses.
#include <limits>
#include <support/fusion_program.hpp>

namespace pass_attention_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using B = PtirBuilder;
using T = PtirTensor;
using In = std::vector<T>;
using Ops = std::vector<std::string>;

constexpr double kBound = 1e-5;
constexpr double kLowest = std::numeric_limits<float>::lowest();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Heads [2, 3], 4 queries, 5 keys, 8 elements of a key and 6 of a value.
const std::vector<Shape> kHeads{{2, 3, 4, 8}, {2, 3, 5, 8}, {2, 3, 5, 6}};
const std::vector<Shape> kSquare{{2, 3, 4, 8}, {2, 3, 4, 8}, {2, 3, 4, 6}};

T scores(B& b, const T& q, const T& k) {
  return b.dot_general(q, k, {.batch_lhs = {0, 1}, .batch_rhs = {0, 1}, .contract_lhs = {3}, .contract_rhs = {3}});
}
T values(B& b, const T& p, const T& v) {
  return b.dot_general(p, v, {.batch_lhs = {0, 1}, .batch_rhs = {0, 1}, .contract_lhs = {3}, .contract_rhs = {2}});
}

void expect_attention(const char* what, const std::vector<Shape>& shapes, const Ops& ops, const BuildProgram& build) {
  SCOPED_TRACE(what);
  const FusionResult r = fuse(shapes, build);
  EXPECT_EQ(r.ops, ops);
  EXPECT_LE(r.worst, kBound);
}
void expect_none(const char* what, const std::vector<Shape>& shapes, const BuildProgram& build) {
  SCOPED_TRACE(what);
  const FusionResult r = fuse(shapes, build);
  EXPECT_EQ(r.count("attention"), 0u);
  EXPECT_FALSE(r.ops.empty());
  EXPECT_LE(r.worst, kBound);
}

TEST(FuseAttention, ItsForms) {
  const Ops one{"attention"};
  expect_attention("fully decomposed: max, sub, exp, sum, div", kHeads, one, [](B& b, const In& in) {
    const T s = scores(b, in[0], in[1]) / 2.8284271;
    const T e = b.exp(s - b.reduce_max(s, {-1}, true));
    return values(b, e / b.reduce_sum(e, {-1}, true), in[2]);
  });
  expect_attention("the query scaled, axes dropped and put back", kHeads, one, [](B& b, const In& in) {
    const T s = scores(b, in[0] * 0.35355339, in[1]);
    const T e = b.exp(s - b.reshape(b.reduce_max(s, {3}), {2, 3, 4, 1}));
    return values(b, e * b.reciprocal(b.reshape(b.reduce_sum(e, {3}), {2, 3, 4, 1})), in[2]);
  });
  expect_attention(
      "transposed keys, both scaled", {{2, 3, 4, 8}, {2, 3, 5, 8}, {2, 3, 5, 6}}, one, [](B& b, const In& in) {
        const T k = b.transpose(in[1], {0, 1, 3, 2}) * 0.5;
        const T s = b.dot_general(in[0] * 0.7, k,
                                  {.batch_lhs = {0, 1}, .batch_rhs = {0, 1}, .contract_lhs = {3}, .contract_rhs = {2}});
        return values(b, b.softmax(s), in[2]);
      });
  expect_attention("one head", {{4, 8}, {5, 8}, {5, 6}}, one, [](B& b, const In& in) {
    const T s = b.dot_general(in[0], in[1], {.contract_lhs = {1}, .contract_rhs = {1}});
    return b.dot(b.softmax(s * 0.35), in[2]);
  });
  expect_attention(
      "heads behind the sequence", {{2, 4, 3, 8}, {2, 5, 3, 8}, {2, 5, 3, 6}},
      {"transpose", "transpose", "transpose", "attention"}, [](B& b, const In& in) {
        const T s = b.dot_general(in[0], in[1],
                                  {.batch_lhs = {0, 2}, .batch_rhs = {0, 2}, .contract_lhs = {3}, .contract_rhs = {3}});
        return b.dot_general(b.softmax(s * 0.35), in[2],
                             {.batch_lhs = {0, 1}, .batch_rhs = {0, 2}, .contract_lhs = {3}, .contract_rhs = {1}});
      });
  expect_attention(
      "batched products of rank 3, softmax of rank 4", {{6, 4, 8}, {6, 5, 8}, {6, 5, 6}}, one, [](B& b, const In& in) {
        const T s =
            b.dot_general(in[0], in[1], {.batch_lhs = {0}, .batch_rhs = {0}, .contract_lhs = {2}, .contract_rhs = {2}});
        const T p = b.softmax(b.reshape(s, {2, 3, 4, 5}) * 0.35);
        return b.dot_general(b.reshape(p, {6, 4, 5}), in[2],
                             {.batch_lhs = {0}, .batch_rhs = {0}, .contract_lhs = {2}, .contract_rhs = {1}});
      });
}

TEST(FuseAttention, AddedMasks) {
  std::vector<Shape> shapes = kHeads;
  shapes.push_back({2, 1, 4, 5});
  expect_attention("a mask of the step", shapes, {"attention"}, [](B& b, const In& in) {
    return values(b, b.softmax(scores(b, in[0], in[1]) * 0.35 + in[3]), in[2]);
  });
  shapes = {{6, 4, 8}, {6, 5, 8}, {6, 5, 6}, {2, 1, 4, 5}};
  expect_attention(
      "between batched products of rank 3", shapes, {"reshape", "reshape", "reshape", "attention", "reshape"},
      [](B& b, const In& in) {
        const T s =
            b.dot_general(in[0], in[1], {.batch_lhs = {0}, .batch_rhs = {0}, .contract_lhs = {2}, .contract_rhs = {2}});
        const T p = b.softmax(in[3] + b.reshape(s, {2, 3, 4, 5}) * 0.35);
        return b.dot_general(b.reshape(p, {6, 4, 5}), in[2],
                             {.batch_lhs = {0}, .batch_rhs = {0}, .contract_lhs = {2}, .contract_rhs = {1}});
      });
  shapes = kHeads;
  shapes.push_back({2, 1, 1, 5});
  expect_attention("padding, spread over the queries", shapes, {"broadcast_to", "attention"}, [](B& b, const In& in) {
    return values(b, b.softmax(scores(b, in[0], in[1]) * 0.35 + in[3]), in[2]);
  });
}

std::vector<float> upper(std::size_t n, float value, std::size_t from = 1) {
  std::vector<float> mask(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + from; j < n; ++j) mask[i * n + j] = value;
  return mask;
}
std::vector<float> lower_ones(std::size_t n) {
  std::vector<float> mask = upper(n, 1.0f);
  for (float& x : mask) x = 1.0f - x;
  return mask;
}
T triangle(B& b, bool lower) {
  const T row = b.iota({4, 4}, DType::si32, 0);
  const T column = b.iota({4, 4}, DType::si32, 1);
  return lower ? b.ge(row, column) : b.lt(row, column);
}

TEST(FuseAttention, CausalMasks) {
  const Ops one{"attention"};
  const auto with = [](const std::function<T(B&, const T&)>& mask) {
    return [mask](B& b, const In& in) { return values(b, b.softmax(mask(b, scores(b, in[0], in[1]) * 0.35)), in[2]); };
  };
  const auto spread = [](B& b, const T& x) { return b.broadcast_to(x, {2, 3, 4, 4}); };
  const auto minus_infinity = [=](B& b) { return spread(b, b.scalar(DType::f32, -kInfinity)); };
  expect_attention("added -infinity", kSquare, one,
                   with([](B& b, const T& s) { return s + b.constant({4, 4}, upper(4, -kInfinity)); }));
  expect_attention("added lowest f32, with leading axes", kSquare, one, with([](B& b, const T& s) {
                     return b.constant({1, 1, 4, 4}, upper(4, std::numeric_limits<float>::lowest())) + s;
                   }));
  expect_attention("added choice of 0 and -infinity, computed", kSquare, one, with([&](B& b, const T& s) {
                     const T zero = b.broadcast_to(b.scalar(DType::f32, 0.0), {4, 4});
                     const T hidden = b.broadcast_to(b.scalar(DType::f32, -kInfinity), {4, 4});
                     return s + b.select(triangle(b, true), zero, hidden);
                   }));
  expect_attention("chosen where seen", kSquare, one, with([&](B& b, const T& s) {
                     return b.select(spread(b, triangle(b, true)), s, minus_infinity(b));
                   }));
  expect_attention("chosen where hidden", kSquare, one, with([&](B& b, const T& s) {
                     return b.select(spread(b, triangle(b, false)), minus_infinity(b), s);
                   }));
  expect_attention("scores · taken - shift, as GPT-2 wrote it", kSquare, one, with([](B& b, const T& s) {
                     return s * b.constant({4, 4}, lower_ones(4)) - b.constant({1, 1, 4, 4}, upper(4, 1e10f));
                   }));
  expect_attention("scores · taken + shift", kSquare, one, with([](B& b, const T& s) {
                     return b.constant({4, 4}, upper(4, -kInfinity)) + b.constant({4, 4}, lower_ones(4)) * s;
                   }));
  expect_attention("scores · taken - 1e10 · (1 - taken), computed", kSquare, one, with([&](B& b, const T& s) {
                     const T taken = b.cast(triangle(b, true), DType::f32);
                     return s * taken - 1e10 * (b.broadcast_to(b.scalar(DType::f32, 1.0), {4, 4}) - taken);
                   }));
  // What the flag computes is what the mask said: the first query sees the first key alone.
  const FusionResult r =
      fuse(kSquare, with([](B& b, const T& s) { return s + b.constant({4, 4}, upper(4, -kInfinity)); }));
  const auto v = random_floats(2 * 3 * 4 * 6, 102);
  for (std::size_t d = 0; d < 6; ++d) EXPECT_NEAR(r.values[d], v[d], 1e-6);
}

TEST(FuseAttention, Choices) {
  std::vector<Shape> shapes = kHeads;
  shapes.push_back({2, 1, 4, 5});
  const auto build = [](bool inverted) {
    return [inverted](B& b, const In& in) {
      const T s = scores(b, in[0], in[1]) * 0.35;
      const T seen = b.lt(in[3], b.scalar(DType::f32, 1.0));
      const T hidden = b.broadcast_to(b.scalar(DType::f32, -kInfinity), {2, 3, 4, 5});
      const T wide = b.broadcast_to(seen, {2, 3, 4, 5});
      return values(b, b.softmax(inverted ? b.select(wide, hidden, s) : b.select(wide, s, hidden)), in[2]);
    };
  };
  for (const bool inverted : {false, true}) {
    const FusionResult r = fuse(shapes, build(inverted));
    EXPECT_EQ(r.count("attention"), 1u);
    EXPECT_EQ(r.count("select"), 1u);
    EXPECT_EQ(r.count("softmax") + r.count("dot_general"), 0u);
    EXPECT_LE(r.worst, kBound);
  }
  // A constant choice becomes a constant mask.
  expect_attention("constant, one key later", kSquare, {"constant", "attention"}, [](B& b, const In& in) {
    const T row = b.iota({4, 4}, DType::si32, 0) + b.broadcast_to(b.scalar(DType::si32, 1.0), {4, 4});
    const T seen = b.ge(row, b.iota({4, 4}, DType::si32, 1));
    return values(b,
                  b.softmax(b.select(b.broadcast_to(seen, {2, 3, 4, 4}), scores(b, in[0], in[1]),
                                     b.broadcast_to(b.scalar(DType::f32, -kInfinity), {2, 3, 4, 4}))),
                  in[2]);
  });
}

TEST(FuseAttention, MasksThatAreNotCausal) {
  const auto with = [](const std::function<T(B&, const T&)>& mask) {
    return [mask](B& b, const In& in) { return values(b, b.softmax(mask(b, scores(b, in[0], in[1]) * 0.35)), in[2]); };
  };
  for (const auto& [what, mask] : std::vector<std::pair<const char*, std::vector<float>>>{
           {"one key later", upper(4, -kInfinity, 2)}, {"a finite number", upper(4, -100.0f)}})
    expect_attention(what, kSquare, {"constant", "attention"},
                     with([&](B& b, const T& s) { return s + b.constant({4, 4}, mask); }));
  // Of three heads only the first hides what comes later.
  std::vector<float> of_heads = upper(4, -kInfinity);
  of_heads.resize(3 * 16);
  expect_attention("of one head alone", kSquare, {"constant", "attention"},
                   with([&](B& b, const T& s) { return s + b.constant({1, 3, 4, 4}, of_heads); }));
  expect_none("hidden by a finite number in its place", kSquare, with([](B& b, const T& s) {
                return b.select(b.broadcast_to(triangle(b, true), {2, 3, 4, 4}), s,
                                b.broadcast_to(b.scalar(DType::f32, -100.0), {2, 3, 4, 4}));
              }));
  expect_none("scores · taken, the shift not far below", kSquare, with([](B& b, const T& s) {
                return s * b.constant({4, 4}, lower_ones(4)) - b.constant({4, 4}, upper(4, 1e4f));
              }));
  expect_none("scores · taken, the shift one key later", kSquare, with([](B& b, const T& s) {
                return s * b.constant({4, 4}, lower_ones(4)) - b.constant({4, 4}, upper(4, 1e10f, 2));
              }));
  expect_none("scores · taken, shifted up", kSquare, with([](B& b, const T& s) {
                return s * b.constant({4, 4}, lower_ones(4)) + b.constant({4, 4}, upper(4, 1e10f));
              }));
  expect_none("scaled after the mask", kSquare, [](B& b, const In& in) {
    const T s = scores(b, in[0], in[1]) + b.constant({4, 4}, random_floats(16, 3));
    return values(b, b.softmax(s * 0.35), in[2]);
  });
}

/// A query whose keys are hidden by finite scores alone weighs them all, which `causal` would not.
TEST(FuseAttention, FiniteScoresThatHideKeysBesideAMask) {
  std::vector<Shape> shapes = kSquare;
  shapes.push_back({2, 1, 4, 4});
  const auto finite = [](B& b, const T& s) {
    const T lowest = b.scalar(DType::f32, double{std::numeric_limits<float>::lowest()});
    return b.select(b.broadcast_to(triangle(b, true), {2, 3, 4, 4}), s, b.broadcast_to(lowest, {2, 3, 4, 4}));
  };
  expect_none("a mask outside", shapes, [&](B& b, const In& in) {
    return values(b, b.softmax(finite(b, scores(b, in[0], in[1])) + in[3]), in[2]);
  });
  expect_none("a mask inside", shapes, [&](B& b, const In& in) {
    return values(b, b.softmax(finite(b, scores(b, in[0], in[1]) + in[3])), in[2]);
  });
  expect_none("a mask beside GPT-2's form", shapes, [](B& b, const In& in) {
    const T masked =
        scores(b, in[0], in[1]) * b.constant({4, 4}, lower_ones(4)) - b.constant({1, 1, 4, 4}, upper(4, 1e10f));
    return values(b, b.softmax(masked + in[3]), in[2]);
  });
}

/// The larger one of each score and the lowest number: a query without keys weighs all of them alike.
TEST(FuseAttention, ScoresThatAreLiftedToTheLowestNumber) {
  const auto lifted = [](B& b, const T& s, double lowest = kLowest) {
    return b.maximum(s, b.scalar(DType::f32, lowest));
  };
  const auto none_hidden = [](const char* what, const FusionResult& r) {
    for (const float y : r.values) EXPECT_FALSE(std::isnan(y)) << what;
  };
  const auto with = [&](const char* what, const std::vector<Shape>& shapes, const Ops& ops,
                        const BuildProgram& masked) {
    SCOPED_TRACE(what);
    const FusionResult r = fuse(shapes, [&](B& b, const In& in) { return values(b, b.softmax(masked(b, in)), in[2]); });
    EXPECT_EQ(r.ops, ops);
    EXPECT_LE(r.worst, kBound);
    none_hidden(what, r);
  };
  for (const float hides : {-kInfinity, std::numeric_limits<float>::lowest()})
    with("a causal mask", kSquare, {"attention"}, [&](B& b, const In& in) {
      return lifted(b, scores(b, in[0], in[1]) * 0.35 + b.constant({4, 4}, upper(4, hides)));
    });
  with("a causal choice, and the maximum's operands changed over", kSquare, {"attention"}, [&](B& b, const In& in) {
    const T hidden = b.broadcast_to(b.scalar(DType::f32, -kInfinity), {2, 3, 4, 4});
    const T seen = b.broadcast_to(triangle(b, true), {2, 3, 4, 4});
    return b.maximum(b.scalar(DType::f32, kLowest), b.select(seen, scores(b, in[0], in[1]), hidden));
  });
  with("no mask", kHeads, {"attention"}, [&](B& b, const In& in) { return lifted(b, scores(b, in[0], in[1])); });
  // The second query sees nothing, the third one key.
  std::vector<float> rows(20);
  for (std::size_t j = 0; j < 5; ++j) rows[5 + j] = -kInfinity;
  for (std::size_t j = 1; j < 5; ++j) rows[10 + j] = -kInfinity;
  with("a constant mask that hides all keys of a query", kHeads, {"constant", "attention"},
       [&](B& b, const In& in) { return lifted(b, scores(b, in[0], in[1]) * 0.35 + b.constant({4, 5}, rows)); });
  std::vector<Shape> shapes = kHeads;
  shapes.push_back({2, 1, 4, 5});
  with("a mask of the step that does", shapes,
       {"constant", "constant", "elementwise_binary", "elementwise_binary", "attention"}, [&](B& b, const In& in) {
         return lifted(b, scores(b, in[0], in[1]) * 0.35 + (in[3] + b.constant({4, 5}, rows)));
       });
  shapes.back() = {2, 3, 4, 5};
  with("a choice that does", shapes,
       {"constant", "broadcast_to", "constant", "elementwise_binary", "compare", "constant", "broadcast_to", "select",
        "attention"},
       [&](B& b, const In& in) {
         const T hidden = b.broadcast_to(b.scalar(DType::f32, -kInfinity), {2, 3, 4, 5});
         const T zero = b.broadcast_to(b.scalar(DType::f32, 0), {2, 3, 4, 5});
         const T seen = b.gt(in[3] + b.constant({4, 5}, rows), zero);
         return lifted(b, b.select(seen, scores(b, in[0], in[1]), hidden));
       });
  // OPT's: heads taken apart for the mask, and put together for the softmax.
  shapes = {{6, 4, 8}, {6, 5, 8}, {6, 5, 6}, {2, 1, 4, 5}};
  expect_attention(
      "between products and a softmax of rank 3", shapes,
      {"constant", "elementwise_binary", "reshape", "reshape", "reshape", "attention", "reshape"},
      [&](B& b, const In& in) {
        const T s =
            b.dot_general(in[0], in[1], {.batch_lhs = {0}, .batch_rhs = {0}, .contract_lhs = {2}, .contract_rhs = {2}});
        const T p = b.softmax(b.reshape(lifted(b, b.reshape(s, {2, 3, 4, 5}) + in[3]), {6, 4, 5}));
        return b.dot_general(p, in[2], {.batch_lhs = {0}, .batch_rhs = {0}, .contract_lhs = {2}, .contract_rhs = {1}});
      });
  // What would weigh other keys, or other scores.
  shapes = kSquare;
  shapes.push_back({2, 1, 4, 4});
  expect_none("a mask within a causal choice", shapes, [&](B& b, const In& in) {
    const T hidden = b.broadcast_to(b.scalar(DType::f32, -kInfinity), {2, 3, 4, 4});
    const T seen = b.broadcast_to(triangle(b, true), {2, 3, 4, 4});
    return values(b, b.softmax(lifted(b, b.select(seen, scores(b, in[0], in[1]) + in[3], hidden))), in[2]);
  });
  expect_none("a mask outside", shapes, [&](B& b, const In& in) {
    const T masked = lifted(b, scores(b, in[0], in[1]) + b.constant({4, 4}, upper(4, -kInfinity)));
    return values(b, b.softmax(masked + in[3]), in[2]);
  });
  expect_none("a mask outside a causal choice", shapes, [&](B& b, const In& in) {
    const T hidden = b.broadcast_to(b.scalar(DType::f32, -kInfinity), {2, 3, 4, 4});
    const T seen = b.broadcast_to(triangle(b, true), {2, 3, 4, 4});
    return values(b, b.softmax(lifted(b, b.select(seen, scores(b, in[0], in[1]), hidden)) + in[3]), in[2]);
  });
  expect_none("a number that scores may be below", shapes, [&](B& b, const In& in) {
    return values(b, b.softmax(lifted(b, scores(b, in[0], in[1]) + in[3], -1e4)), in[2]);
  });
  expect_none("the smaller one", shapes, [&](B& b, const In& in) {
    return values(b, b.softmax(b.minimum(scores(b, in[0], in[1]) + in[3], b.scalar(DType::f32, kLowest))), in[2]);
  });
}

TEST(FuseAttention, NearMisses) {
  expect_none("the probabilities are read elsewhere", kSquare, [](B& b, const In& in) {
    const T p = b.softmax(scores(b, in[0], in[1]));
    return values(b, p, in[2]) + b.reduce_sum(p, {-1}, true);
  });
  expect_none("softmax over the queries", kSquare, [](B& b, const In& in) {
    const T s = scores(b, in[0], in[1]);
    const T e = b.exp(s - b.reduce_max(s, {2}, true));
    return values(b, e / b.reduce_sum(e, {2}, true), in[2]);
  });
  for (const double scale : {1e-25, 1e-20})
    expect_none("scales whose product is no factor of f32", kSquare, [=](B& b, const In& in) {
      return values(b, b.softmax(scores(b, in[0] * scale, in[1] * scale)), in[2]);
    });
  expect_none("queries of two heads in a row of softmax's", {{6, 4, 8}, {6, 5, 8}, {6, 5, 6}}, [](B& b, const In& in) {
    const T s =
        b.dot_general(in[0], in[1], {.batch_lhs = {0}, .batch_rhs = {0}, .contract_lhs = {2}, .contract_rhs = {2}});
    const T p = b.softmax(b.reshape(s, {3, 8, 5}));
    return b.dot_general(b.reshape(p, {6, 4, 5}), in[2],
                         {.batch_lhs = {0}, .batch_rhs = {0}, .contract_lhs = {2}, .contract_rhs = {1}});
  });
  const FusionResult nothing = fuse({{2, 3, 4, 8}, {2, 3, 0, 8}, {2, 3, 0, 6}}, [](B& b, const In& in) {
    return values(b, b.softmax(scores(b, in[0], in[1])), in[2]);
  });
  EXPECT_EQ(nothing.count("attention"), 0u) << "there are no keys";
  EXPECT_EQ(nothing.values, std::vector<float>(2 * 3 * 4 * 6));
  expect_none("values of other heads", {{2, 2, 4, 8}, {2, 2, 5, 8}, {2, 2, 5, 6}}, [](B& b, const In& in) {
    return b.dot_general(b.softmax(scores(b, in[0], in[1])), in[2],
                         {.batch_lhs = {1, 0}, .batch_rhs = {0, 1}, .contract_lhs = {3}, .contract_rhs = {2}});
  });
  expect_none("the values contracted over the queries", kSquare, [](B& b, const In& in) {
    return b.dot_general(b.softmax(scores(b, in[0], in[1])), in[2],
                         {.batch_lhs = {0, 1}, .batch_rhs = {0, 1}, .contract_lhs = {2}, .contract_rhs = {2}});
  });
}

}  // namespace
}  // namespace pass_attention_test
