// SPDX-License-Identifier: Apache-2.0
// zrt/engine/adapter_id.hpp: the name of an adapter that an engine has loaded.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// Names an adapter that Engine::load_adapter loaded; never reused by an engine. AdapterId{} is none: the model as it is.
enum class AdapterId : std::uint32_t {};

}  // namespace zrt::inline ZRT_ABI
