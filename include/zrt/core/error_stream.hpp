// SPDX-License-Identifier: Apache-2.0
// zrt/core/error_stream.hpp: an Error on a stream, which a host includes.
#pragma once

#include <zrt/core/error.hpp>

#include <iosfwd>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// Writes "code: text", and where the error has one its place: the byte of the file or the instruction.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Error& error) {
  out << name(error.code()) << ": " << error.text();
  if (error.offset() != Error::kNoOffset) out << " (at byte " << error.offset() << ')';
  if (error.instruction() != Error::kNoIndex) out << " (instruction " << error.instruction() << ')';
  return out;
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
