// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/custom_targets.cpp: the targets of custom calls have versioned names that differ.
// expect-error: zrt: a custom target lacks a name like namespace.name.v1 or its run; see exec/custom_targets.hpp
// expect-error: zrt: two custom targets of a backend have one name
#include <zrt/exec/custom_targets.hpp>

struct One {
  static constexpr std::string_view target = "test.one.v1";
  static void run(const zrt::HostCall<zrt::ops::CustomCall>&, const zrt::ExecutionContext&,
                  const zrt::Worker&) noexcept {}
};
struct Other : One {
#ifdef ZRT_COMPILE_FAIL
  static constexpr std::string_view target = "one";
#else
  static constexpr std::string_view target = "test.one.v2";
#endif
};

using List = boost::mp11::mp_list<One, Other>;
#ifdef ZRT_COMPILE_FAIL
using Twice = boost::mp11::mp_list<One, One>;
#else
using Twice = boost::mp11::mp_list<One>;
#endif

[[maybe_unused]] constexpr std::size_t kRows =
    zrt::exec::CustomTargets<List>::kRows.size() + zrt::exec::CustomTargets<Twice>::kRows.size();
