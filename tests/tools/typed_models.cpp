// SPDX-License-Identifier: Apache-2.0
// tests/tools/typed_models.cpp: writes the models of support/typed_model.hpp, one of each architecture and type.
#include <zrt/core/hash.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <support/typed_model.hpp>

using namespace zrt;

int main(int argc, char** argv) {
  if (argc != 2)
    return std::fputs("usage: typed_models FOLDER\nPrints the name and the hash of each file.\n", stderr), 2;
  for (const std::string_view architecture : test::kTypedArchitectures)
    for (const quant::TypeFacts& facts : quant::kTypeFactsOf<quant::OwnTypes>) {
      const test::Bytes file = test::TypedModel(architecture, facts.dtype).build();
      const std::string stem = std::string(architecture) + "-" + std::string(name(facts.dtype));
      std::ofstream out(std::string(argv[1]) + "/" + stem + ".gguf", std::ios::binary);
      out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
      if (!out.flush()) return std::fprintf(stderr, "cannot write %s\n", stem.c_str()), 1;
      std::printf(
          "%s %016llx\n", stem.c_str(),
          static_cast<unsigned long long>(hash_bytes({reinterpret_cast<const char*>(file.data()), file.size()})));
    }
  return 0;
}
