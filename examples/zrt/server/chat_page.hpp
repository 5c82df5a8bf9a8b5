// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/chat_page.hpp: the chat page, which the build embeds.
#pragma once

#include <string_view>

namespace program::server {

/// examples/zrt/server/page.html.
extern const std::string_view kChatPage;

}  // namespace program::server
