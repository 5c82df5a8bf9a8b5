// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/hana_params_too_many.cpp: a parameter struct has no more members than a structured binding names.
// expect-error: zrt: a parameter struct has more members than zrt/ops/hana.hpp takes apart
// expect-error: ManyParams
#include <zrt/ops/hana.hpp>

#include <boost/hana/length.hpp>

struct ManyParams {
  std::uint8_t m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15;
#ifdef ZRT_COMPILE_FAIL
  std::uint8_t m16;
#endif

  static constexpr std::uint8_t version = 1;
  static constexpr std::array fields{zrt::Field{"m0", 0, 1, 16, zrt::FieldKind::unsigned_integer}};
};
constexpr auto kAccessors = boost::hana::accessors<ManyParams>();
static_assert(decltype(boost::hana::length(kAccessors))::value == 16);
