// SPDX-License-Identifier: Apache-2.0
// tests/support/npy_file.hpp: the bytes of .npy files.
#pragma once

#include <string>
#include <vector>

namespace zrt::test {

/// A .npy file as numpy writes it, of a transposed array `by_columns`.
inline std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                       bool by_columns = false) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (by_columns ? "True" : "False") +
                       ", 'shape': (" + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ').append(1, '\n');
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes + header + data;
}

/// Elements as a file holds them.
template <class T> std::string elements(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace zrt::test
