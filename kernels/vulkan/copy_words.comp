#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/copy_words.comp: what a step takes from the host's memory, or leaves there: a list of copies.
//
// Grid: (ceil(most words of a copy / 1024), copies). A copy with an index begins so many words further as the word there
// says. A lane copies four words.
#extension GL_GOOGLE_include_directive : require
#include "memory.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t copies;
};
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Copy {
  uint64_t from, to, index;
  uint words;
};

void main() {
  Copy copy = Copy(Arguments(address_of_arguments).copies + uint64_t(group_y()) * 32);
  // A token that none may draw is no index.
  const uint at = copy.index == 0 ? 0 : word_at(copy.index, 0);
  const uint64_t skipped = at == 0xffffffffu ? 0 : uint64_t(at);
  for (uint k = 0; k < 4; ++k) {
    const uint i = group_x() * 1024 + k * 256 + lane_id();
    if (i < copy.words) put_word(copy.to, i, word_at(copy.from, skipped + i));
  }
}
