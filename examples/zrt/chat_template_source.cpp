// SPDX-License-Identifier: Apache-2.0
// examples/zrt/chat_template_source.cpp: the template of the command line, of the file, or a built-in one.
#include "chat_template_source.hpp"
#include "output.hpp"
#include <zrt/text/chat/chat_template.hpp>

namespace program {

zrt::Result<std::string> chat_template_source(const std::string& chosen, const Model& model) {
  namespace chats = zrt::text::chat;
  if (const auto* built_in = chats::find_built_in_template(chosen)) return std::string(built_in->source);
  if (!chosen.empty()) return read_file(chosen);
  if (model.file().find("tokenizer.chat_template") != nullptr) {
    const auto own = model.file().get<std::string_view>("tokenizer.chat_template");
    if (!own) return zrt::pass(own);
    return std::string(*own);
  }
  warn("the file has no chat template; its answers may be poor. Taken: plain (--chat-template)");
  return std::string(chats::find_built_in_template("plain")->source);
}

}  // namespace program
