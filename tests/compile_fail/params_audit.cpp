// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/params_audit.cpp: a field list that fits the struct's size, but not its members.
// expect-error: zrt: the field list of a parameter struct names another member here than the struct has
// expect-error: ParamFieldAudit<SwappedOp, .*"scale"
// expect-error: zrt: the field list of a parameter struct has this member at another offset than the struct
// expect-error: ParamFieldAudit<MovedOp, .*"cap"
// expect-error: zrt: the field list of a parameter struct has this member with another type than the struct
// expect-error: ParamFieldAudit<RetypedOp, .*"kind"
// expect-error: zrt: the field list of a parameter struct has not as many fields as the struct has members
// expect-error: ParamsAudit<MergedOp>
#include "small_ops.hpp"
#include <zrt/ops/params_audit.hpp>

#ifdef ZRT_COMPILE_FAIL
constexpr bool kSwapped = true;
#else
constexpr bool kSwapped = false;
#endif

struct SwappedParams {
  float cap = 0.0f;
  float scale = 1.0f;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = zrt::field_list(zrt::Member{&SwappedParams::cap, kSwapped ? "scale" : "cap"},
                                                 zrt::Member{&SwappedParams::scale, kSwapped ? "cap" : "scale"});
};
struct SwappedOp : compile_fail::SmallOp<120, zrt::Rung::fused, SwappedParams> {};
static_assert(zrt::ParamsAudit<SwappedOp>::kOk);

struct MovedParams {
  float cap = 0.0f;
  float scale = 1.0f;

  static constexpr std::uint8_t version = 1;
  static constexpr std::array fields{zrt::Field{"cap", kSwapped ? 4 : 0, 4, 1, zrt::FieldKind::floating},
                                     zrt::Field{"scale", kSwapped ? 0 : 4, 4, 1, zrt::FieldKind::floating}};
};
struct MovedOp : compile_fail::SmallOp<120, zrt::Rung::fused, MovedParams> {};
static_assert(zrt::ParamsAudit<MovedOp>::kOk);

struct RetypedParams {
  std::uint32_t kind = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr std::array fields{
      zrt::Field{"kind", 0, 4, 1, kSwapped ? zrt::FieldKind::floating : zrt::FieldKind::unsigned_integer}};
};
struct RetypedOp : compile_fail::SmallOp<120, zrt::Rung::fused, RetypedParams> {};
static_assert(zrt::ParamsAudit<RetypedOp>::kOk);

struct MergedParams {
  std::uint16_t low = 0;
  std::uint16_t high = 0;

  static constexpr std::uint8_t version = 1;
#ifdef ZRT_COMPILE_FAIL
  static constexpr std::array fields{zrt::Field{"low", 0, 2, 2, zrt::FieldKind::unsigned_integer}};
#else
  static constexpr auto fields =
      zrt::field_list(zrt::Member{&MergedParams::low, "low"}, zrt::Member{&MergedParams::high, "high"});
#endif
};
struct MergedOp : compile_fail::SmallOp<120, zrt::Rung::fused, MergedParams> {};
static_assert(zrt::ParamsAudit<MergedOp>::kOk);
