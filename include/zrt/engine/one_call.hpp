// SPDX-License-Identifier: Apache-2.0
// zrt/engine/one_call.hpp: keeps a host's callable from calling the engine that is calling it.
#pragma once

#include <zrt/core/error.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// One call of an engine, for as long as it lives; false inside another one.
class OneCall {
 public:
  explicit OneCall(bool& busy) noexcept : busy_(busy), first_(!busy) { busy = true; }
  ~OneCall() {
    if (first_) busy_ = false;
  }
  OneCall(const OneCall&) = delete;
  OneCall& operator=(const OneCall&) = delete;

  explicit operator bool() const noexcept { return first_; }

  [[nodiscard]] static std::unexpected<Error> refusal() noexcept {
    return fail(Errc::invalid_argument,
                "a callable may call submit and cancel of the engine that calls it, and nothing else");
  }

 private:
  bool& busy_;
  bool first_;
};

}  // namespace zrt::inline ZRT_ABI::detail
