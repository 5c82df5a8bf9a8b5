// SPDX-License-Identifier: Apache-2.0
// examples/zrt/perplexity.cpp: perplexity of a text.
#include "commands.hpp"
#include "output.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace program {

int perplexity(const PerplexityOptions& o) {
  const auto text = read_file(o.file);
  if (!text) return failed(text.error());
  zrt::EngineOptions options;
  options.context = o.context;
  options.kv_type = kv_type(o.kv);
  options.numerics.act = act_policy(o.act);
  options.logit_rows = 64;
  auto model = open_model(o.model, options);
  if (!model) return failed(model.error());
  const auto value = (*model)->perplexity(*text);
  if (!value) return failed(value.error());
  if (!o.json) {
    (void)std::printf("%.4f\n", *value);
    return print("") ? kOk : cannot_write("stdout");
  }
  const nlohmann::ordered_json out{{"perplexity", *value},
                                   {"context", (*model)->context()},
                                   {"backend", (*model)->backend()},
                                   {"isa", (*model)->isa()},
                                   {"kv", o.kv},
                                   {"act", o.act}};
  return print(out.dump(2) + "\n") ? kOk : cannot_write("stdout");
}

}  // namespace program
