// SPDX-License-Identifier: Apache-2.0
// tests/unit/catalog.cpp: tables made from the catalog, and what a backend runs.
#include <zrt/backend/reference.hpp>
#include <zrt/ir/expand.hpp>

#include <gtest/gtest.h>

#include <string>

namespace catalog_test {
namespace {

namespace mp = boost::mp11;
using zrt::OpRow;
using zrt::ReferenceBackend;
using zrt::Rung;
using zrt::ops::Catalog;

template <class F> void for_each_op(F f) {
  mp::mp_for_each<mp::mp_transform<mp::mp_identity, Catalog>>(
      [&](auto op) { f.template operator()<typename decltype(op)::type>(); });
}

TEST(Catalog, RowsSayWhatTheOpsSay) {
  std::size_t rows = 0;
  for (const OpRow* row : zrt::kOpTable<Catalog>) rows += row != nullptr ? 1 : 0;
  EXPECT_EQ(rows, mp::mp_size<Catalog>::value);
  for_each_op([]<class O>() {
    SCOPED_TRACE(O::name);
    const OpRow* row = zrt::kOpTable<Catalog>[number(O::opcode)];
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->name, O::name);
    EXPECT_EQ(row->inputs.size(), zrt::kInputs<O>);
    EXPECT_EQ(row->outputs.size(), zrt::kOutputs<O>);
    EXPECT_EQ(row->weights.size(), zrt::kWeights<O>);
    EXPECT_EQ(row->has_reference, zrt::HasReference<O>);
    EXPECT_EQ(zrt::ir::kExpandTable<Catalog>[number(O::opcode)] != nullptr, zrt::HasExpansion<O>);
    for (const zrt::Alias& alias : row->may_alias) {
      EXPECT_LT(alias.output, row->outputs.size());
      EXPECT_LT(alias.input, row->inputs.size());
    }
    EXPECT_EQ(row->params_bytes, zrt::kParamBytes<typename O::Params>);
  });
}

TEST(Catalog, NamesAreSnakeCaseAndDiffer) {
  for (const OpRow* row : zrt::kOpTable<Catalog>) {
    if (row == nullptr) continue;
    EXPECT_EQ(row->name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos)
        << row->name;
    for (const OpRow* other : zrt::kOpTable<Catalog>)
      EXPECT_TRUE(other == nullptr || other == row || other->name != row->name) << row->name;
  }
}

/// A macro has an expansion alone; a primitive is a leaf; nobody expands upwards.
TEST(Catalog, RungsAreALadder) {
  for_each_op([]<class O>() {
    SCOPED_TRACE(O::name);
    EXPECT_FALSE(O::rung == Rung::macro && zrt::HasReference<O>);
    EXPECT_TRUE(O::rung != Rung::primitive || zrt::HasReference<O> || zrt::DefinedByHost<O>);
    const OpRow& row = *zrt::kOpTable<Catalog>[number(O::opcode)];
    for (const OpRow* other : zrt::kOpTable<Catalog>) {
      if (other == nullptr || !row.expands_to.contains(other->opcode)) continue;
      EXPECT_GE(other->rung, O::rung) << other->name;
    }
  });
}

TEST(Catalog, ExpansionsStayInTheCatalog) {
  for_each_op([]<class O>() {
    if constexpr (zrt::HasExpansion<O>)
      mp::mp_for_each<mp::mp_transform<mp::mp_identity, typename O::expands_to>>(
          []<class I>(I) { EXPECT_TRUE((mp::mp_contains<Catalog, typename I::type>::value)) << O::name; });
  });
}

/// The reference claims what has loops and what the host defines, and so runs everything.
TEST(Catalog, TheReferenceRunsEveryOp) {
  for_each_op([]<class O>() {
    SCOPED_TRACE(O::name);
    constexpr bool claimed = zrt::HasReference<O> || zrt::DefinedByHost<O>;
    EXPECT_EQ((mp::mp_contains<ReferenceBackend::Claims, O>::value), claimed);
    EXPECT_TRUE((zrt::Runs<ReferenceBackend, O>));
    EXPECT_EQ(zrt::exec::kAdapterTable<ReferenceBackend>[number(O::opcode)].record != nullptr, claimed);
  });
}

}  // namespace
}  // namespace catalog_test
