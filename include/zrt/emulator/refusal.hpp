// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/refusal.hpp: the errno of a refused call, with its reason in words.
#pragma once

#include <zrt/backend/pm4/os.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// Remembers why the last refused call was refused: the kernel gives a number, whoever develops wants a sentence.
class SyscallRefusal {
 public:
  /// The negated errno; the pieces are the reason.
  template <class... Pieces> [[nodiscard]] pm4::SystemValue operator()(int error, const Pieces&... pieces) noexcept {
    reason_ = Error(Errc::invalid_argument);
    (reason_.append(pieces), ...);
    return -error;
  }
  /// Empty before the first refusal.
  [[nodiscard]] std::string_view reason() const noexcept { return reason_.text(); }

 private:
  Error reason_{};
};

}  // namespace zrt::inline ZRT_ABI::emulator
