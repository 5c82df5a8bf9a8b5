// SPDX-License-Identifier: Apache-2.0
// tests/data/docs/opencl.h: statements of a kernel in OpenCL C, whose names C99 gets from here.
typedef unsigned int uint;
void kernel_of_page(uint *out);
// around each block:
void kernel_of_page(uint *out) {
BLOCK
  *out = scale;
}
