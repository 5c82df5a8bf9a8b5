# Writes OUT: a source that holds the bytes of PAGE.
file(READ ${PAGE} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "#include \"chat_page.hpp\"
namespace program::server {
namespace {
constexpr unsigned char kBytes[] = {${bytes}};
}
const std::string_view kChatPage(reinterpret_cast<const char*>(kBytes), sizeof kBytes);
}  // namespace program::server
")
