// SPDX-License-Identifier: Apache-2.0
// tests/data/docs/statements.hpp: plain statements, for docs_code.py --self-test.
// around each block:
namespace NAME {
inline void example() {
BLOCK
}
}  // namespace NAME
