// SPDX-License-Identifier: Apache-2.0
// examples/zrt/cli_table.hpp: the command line as a table, and what is made from it: shell completion and the man page.
#pragma once

#include <string>
#include <vector>

namespace program {

/// An option or an argument of a command.
struct OptionRow {
  std::vector<std::string> names{};  ///< with their dashes, the long ones last; an argument's name alone
  std::string purpose{};
  std::string type{};                  ///< empty for a flag
  std::vector<std::string> choices{};  ///< all values that there are; empty where they are not listed
  std::string standard{};              ///< the default, if it is a text
  std::string variable{};              ///< of the environment, that stands in for it
  bool is_file = false;
  bool is_argument = false;
};

/// A command with all its options. Groups of commands (`ptir`) have none of their own.
struct CommandRow {
  std::string name{};  ///< as it is typed: "ptir run"
  std::string purpose{};
  std::vector<OptionRow> options{};
};

struct CliTable {
  std::string purpose{};
  std::vector<OptionRow> options{};  ///< before any command
  std::vector<CommandRow> commands{};
};

/// The shells that `completion` writes for.
[[nodiscard]] const std::vector<std::string>& shells();
/// A script that completes commands, options and their values in `shell`, one of shells().
[[nodiscard]] std::string completion_script(const CliTable& table, const std::string& shell);
/// The page zrt(1), in man's format.
[[nodiscard]] std::string man_page(const CliTable& table, const std::string& version);

}  // namespace program
