// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/family_name_taken.cpp: the families of a host's list have names of their own.
// expect-error: zrt: two families of a host's list bear the same name
#include <zrt/engine/model_loader.hpp>
#include <zrt/model/arch/llama.hpp>

struct SecondLlama : zrt::model::Llama {
#ifndef ZRT_COMPILE_FAIL
  static constexpr std::array<std::string_view, 1> names{"mine"};
#endif
};
struct FamiliesOfOneName {
  using List = boost::mp11::mp_list<zrt::model::Llama, SecondLlama>;
};

zrt::Result<zrt::ModelFacts> read(const zrt::model::GgufFile& file) {
  return zrt::read_model<FamiliesOfOneName>(file, zrt::EngineOptions{});
}
