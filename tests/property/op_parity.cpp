// SPDX-License-Identifier: Apache-2.0
// tests/property/op_parity.cpp: every op against its expansions, and every backend against the reference.
#include <boost/mp11/algorithm.hpp>
#include <gtest/gtest.h>

#include <programs.hpp>
#include <property/op_cases/all.hpp>
#include <property/op_cases/run.hpp>

namespace op_parity_test {
namespace {

using namespace op_cases;
using zrt::ActPolicy;
using zrt::HasExpansion;
using zrt::HasReference;
using zrt::OpSet;
using zrt::Rung;
using zrt::ops::Catalog;
namespace mp = boost::mp11;

// The plain backends with the targets of ONNX; these are compiled once for all tests.
using Reference = engines::ReferencePrograms;
using Cpu = engines::CpuPrograms;

constexpr std::uint32_t kCases = 48;
/// What the memory of the run that is taken for right holds before, and that of the run beside it.
constexpr std::byte kSoil{0x5A}, kOtherSoil{0xA5};
constexpr auto kOps = zrt::ir::Ops::of<Catalog>();
constexpr OpSet kReferenceClaims = OpSet::of(Reference::Claims{});

/// The claims of a set that `keep` (a predicate over op types) holds.
template <class Keep> OpSet claims_if(const OpSet& from, Keep keep) {
  OpSet set;
  mp::mp_for_each<mp::mp_transform<mp::mp_identity, Catalog>>([&](auto op) {
    using O = typename decltype(op)::type;
    if (from.contains(O::opcode) && keep.template operator()<O>()) set.insert(O::opcode);
  });
  return set;
}

/// Everything but the op itself.
OpSet without(zrt::Opcode opcode) {
  return claims_if(kReferenceClaims, [&]<class O>() { return O::opcode != opcode; });
}
/// Nothing that can be expanded: what is left is primitives, and leaves of the fused rung.
OpSet bottom() {
  return claims_if(kReferenceClaims, []<class O>() { return !HasExpansion<O>; });
}

template <class... O> consteval bool all_above_primitives(mp::mp_list<O...>) {
  return ((O::rung != Rung::primitive) && ...);
}

template <class B>
zrt::Result<Outcome> lower_and_run(const Case& c, const Batch& b, const OpSet& claims, ActPolicy act,
                                   std::uint32_t seed, std::byte soil,
                                   typename B::Device device = typename B::Device(zrt::system_allocator())) {
  auto graph = one_node(c, b, kOps);
  if (!graph) return zrt::pass(graph);
  auto compiled = zrt::plan::compile(*graph, kOps, claims, {act, zrt::Validation::strict});
  if (!compiled) return zrt::pass(compiled);
  return run<B>(c, b, *compiled, *kOps.table, seed, soil, std::move(device));
}

std::string text(const zrt::Error& error) { return std::string(name(error.code())) + ": " + std::string(error.text()); }

#define ZRT_ASSERT_RAN(outcome) ASSERT_TRUE(outcome) << text((outcome).error())

template <class O> constexpr Tolerance tolerance_of() {
  if constexpr (requires { OpCases<O>::tolerance; })
    return OpCases<O>::tolerance;
  else
    return {};
}

TEST(OpDistance, SeesOneBit) {
  const auto one = bytes_of(std::vector<float>{1.0f, std::nanf(""), 100.0f});
  auto other = bytes_of(std::vector<float>{1.0f, -std::nanf("1"), 100.0f});
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(distance(DType::f32, one, other, {}), 0.0) << "NaNs compare equal";
  other = bytes_of(std::vector<float>{1.0f + 0x1p-23f, std::nanf(""), 100.0f});
  EXPECT_EQ(distance(DType::f32, one, other, {}), infinity);
  EXPECT_NEAR(distance(DType::f32, one, other, {0x1p-22, 0}), 0.5, 1e-6);
  EXPECT_NEAR(distance(DType::f32, one, other, {0, 0x1p-22}), 0.005, 1e-6);
  other = bytes_of(std::vector<float>{1.0f, 0.0f, 100.0f});
  EXPECT_EQ(distance(DType::f32, one, other, {1.0, 1.0}), infinity) << "a NaN for a number";
  other.pop_back();
  EXPECT_EQ(distance(DType::f32, one, other, {1.0, 1.0}), infinity) << "another size";
  EXPECT_EQ(distance(DType::si32, one, one, {}), 0.0);
  // As bits of a float both are NaN.
  EXPECT_EQ(distance(DType::si32, bytes_of(std::vector{-3}), bytes_of(std::vector{-4}), {1.0, 1.0}), infinity);
}

TEST(OpDistance, SeesWhatIsNotWritten) {
  using Iota = zrt::ops::Iota;
  Random r(1);
  const Batch b = Batch::draw(r);
  for (int n = 0; n < 8; ++n) {
    const Case c = draw<Iota>(r, b);
    const auto one = lower_and_run<Reference>(c, b, kReferenceClaims, ActPolicy::none, 0, kSoil);
    const auto other = lower_and_run<Reference>(c, b, kReferenceClaims, ActPolicy::none, 0, kOtherSoil);
    ZRT_ASSERT_RAN(one);
    ZRT_ASSERT_RAN(other);
    EXPECT_EQ(distance(c, *one, *other, {}), 0.0);
    for (std::byte byte : one->before[0]) EXPECT_EQ(byte, kSoil);
    for (std::byte byte : other->before[0]) EXPECT_EQ(byte, kOtherSoil);
  }
}

template <class O> class OpParity : public testing::Test {};
template <class O> class OpBackend : public testing::Test {};

struct OpName {
  template <class O> static std::string GetName(int) { return std::string(O::name); }
};

using CatalogTypes = mp::mp_rename<op_cases::CatalogWithCases, testing::Types>;
template <class O> using Expands = mp::mp_bool<HasExpansion<O>>;
using Expanding = mp::mp_rename<mp::mp_copy_if<Catalog, Expands>, testing::Types>;

TYPED_TEST_SUITE(OpParity, Expanding, OpName);
TYPED_TEST_SUITE(OpBackend, CatalogTypes, OpName);

/// (a) as claimed (a macro: as its first expansion), (b) without the op itself, (c) down to the bottom.
TYPED_TEST(OpParity, ExpansionEqualsReference) {
  using O = TypeParam;
  double worst = 0;
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(testing::Message() << O::name << ", case " << seed);
    Random r(seed);
    const Batch b = Batch::draw(r);
    const Case c = draw<O>(r, b);
    for (ActPolicy act : {ActPolicy::none, ActPolicy::weight}) {
      const auto claimed = lower_and_run<Reference>(c, b, kReferenceClaims, act, seed, kSoil);
      ZRT_ASSERT_RAN(claimed);
      EXPECT_EQ(claimed->status, zrt::StepStatus::kClean);
      constexpr bool exact = all_above_primitives(typename O::expands_to{});
      if (exact || act == ActPolicy::none) {
        const auto expanded = lower_and_run<Reference>(c, b, without(O::opcode), act, seed, kOtherSoil);
        ZRT_ASSERT_RAN(expanded);
        EXPECT_LE(distance(c, *expanded, *claimed, exact ? Tolerance{} : tolerance_of<O>()), 1.0);
      }
      // Primitives do not round activations.
      if (act == ActPolicy::weight) continue;
      const auto lowest = lower_and_run<Reference>(c, b, bottom(), act, seed, kOtherSoil);
      ZRT_ASSERT_RAN(lowest);
      const double apart = distance(c, *lowest, *claimed, tolerance_of<O>());
      EXPECT_LE(apart, 1.0);
      worst = std::max(worst, apart);
    }
  }
  this->RecordProperty("share_of_tolerance_used", std::to_string(worst));
}

/// True when every weight of the case is of a type that all backends must compute.
bool has_common_weights(const Case& c) {
  for (const Stored& w : c.w)
    if (w.present && w.dtype != DType::f32 && w.dtype != DType::f16 && w.dtype != DType::bf16 &&
        w.dtype != DType::q8_0 && w.dtype != DType::q4_0)
      return false;
  return true;
}

/// B gives the reference's bits for every op that it runs, whatever the number of workers. A backend
/// may leave weight types out, if it says so.
template <class B, class O, class Devices> void backend_vs_reference(Devices devices) {
  if constexpr (zrt::Runs<B, O>) {
    const OpSet claims = OpSet::of(typename B::Claims{});
    constexpr zrt::AdapterCapability capability = zrt::exec::capability_of<B, O>();
    Tolerance allowed{};
    if (capability.numerics == zrt::NumericsClass::relaxed) allowed.relative = static_cast<double>(capability.bound);
    for (std::uint32_t seed = 0; seed < kCases / 2; ++seed) {
      SCOPED_TRACE(testing::Message() << B::name << ": " << O::name << ", case " << seed);
      Random r(seed);
      const Batch b = Batch::draw(r);
      const Case c = draw<O>(r, b);
      for (ActPolicy act : {ActPolicy::none, ActPolicy::weight}) {
        const auto expected = lower_and_run<Reference>(c, b, kReferenceClaims, act, seed, kSoil);
        ZRT_ASSERT_RAN(expected);
        for (std::uint32_t workers : {1u, 2u})
          for (const auto& device : devices(one_after_the_other(workers))) {
            const auto got = lower_and_run<B>(c, b, claims, act, seed, kOtherSoil, device);
            if (!got && got.error().code() == zrt::Errc::unsupported_weight_type && !has_common_weights(c)) continue;
            ZRT_ASSERT_RAN(got);
            const bool relaxed = allowed.relative != 0;
            EXPECT_LE(distance(c, *got, *expected, allowed), relaxed ? 1.0 : 0.0) << workers << " workers";
          }
      }
    }
  }
}

TYPED_TEST(OpBackend, Reference) {
  using Device = Reference::Device;
  backend_vs_reference<Reference, TypeParam>(
      [](const zrt::ThreadHook& threads) { return std::array{Device(zrt::system_allocator(), threads)}; });
}

/// One device per instruction set that this processor runs.
TYPED_TEST(OpBackend, Cpu) {
  backend_vs_reference<Cpu, TypeParam>([](const zrt::ThreadHook& threads) {
    std::vector<Cpu::Device> devices;
    for (zrt::cpu::Isa isa : zrt::cpu::kIsas)
      if (isa <= zrt::cpu::detect_isa()) devices.emplace_back(zrt::system_allocator(), threads, isa);
    return devices;
  });
}

}  // namespace
}  // namespace op_parity_test
