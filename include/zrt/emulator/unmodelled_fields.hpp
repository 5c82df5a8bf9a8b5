// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/unmodelled_fields.hpp: fields of packets that the device model refuses.
#pragma once

#include <zrt/backend/pm4/decode.hpp>

#include <initializer_list>
#include <string_view>

namespace zrt::inline ZRT_ABI::emulator {

/// Errors: Errc::unimplemented, with the field's name, where one of them is not 0.
[[nodiscard]] inline Result<void> refuse_fields(const pm4::PacketView& packet,
                                                std::initializer_list<std::string_view> fields) noexcept {
  for (const std::string_view name : fields)
    if (packet.get(name) != 0)
      return fail(Errc::unimplemented, packet.kind->name, " has ", name, " set, which is not modelled");
  return {};
}

}  // namespace zrt::inline ZRT_ABI::emulator
