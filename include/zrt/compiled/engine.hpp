// SPDX-License-Identifier: Apache-2.0
// zrt/compiled/engine.hpp: what the headers of compiled engines share: what a host calls, without the code behind it.
#pragma once

#include <zrt/text/tokenizer.hpp>
#include <zrt/zrt.hpp>

#include <type_traits>

namespace zrt::inline ZRT_ABI {

namespace trace {
struct RunObserver;
struct TimelineObserver;
}  // namespace trace

namespace compiled {

/// The observers that engines are compiled with.
template <class O>
inline constexpr bool kObserver = std::is_same_v<O, exec::NoObserver> || std::is_same_v<O, trace::TimelineObserver> ||
                                  std::is_same_v<O, trace::RunObserver>;

}  // namespace compiled

}  // namespace zrt::inline ZRT_ABI
