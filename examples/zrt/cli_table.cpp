// SPDX-License-Identifier: Apache-2.0
// examples/zrt/cli_table.cpp: shell completion and the man page, from the table of the command line.
#include "cli_table.hpp"

#include <algorithm>

namespace program {
namespace {

/// `text` with each of `what` behind a backslash.
std::string escaped(const std::string& text, const std::string& what) {
  std::string out;
  for (const char c : text) {
    if (what.find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out;
}
/// In single quotes, for any POSIX shell and zsh.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}
/// In single quotes, for fish.
std::string fish_quoted(const std::string& text) { return "'" + escaped(text, "'\\") + "'"; }

std::string joined(const std::vector<std::string>& list, const char* between) {
  std::string out;
  for (const std::string& entry : list) out += (out.empty() ? "" : between) + entry;
  return out;
}

/// The first words of the commands, each once.
std::vector<std::string> first_words(const CliTable& table) {
  std::vector<std::string> words;
  for (const CommandRow& command : table.commands) {
    std::string word = command.name.substr(0, command.name.find(' '));
    if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
  }
  return words;
}
/// The second words of the group `first`, none if it is a command itself.
std::vector<std::string> second_words(const CliTable& table, const std::string& first) {
  std::vector<std::string> words;
  for (const CommandRow& command : table.commands)
    if (command.name.starts_with(first + " ")) words.push_back(command.name.substr(first.size() + 1));
  return words;
}

std::vector<std::string> option_names(const std::vector<OptionRow>& options) {
  std::vector<std::string> names;
  for (const OptionRow& option : options)
    if (!option.is_argument) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

bool has_file_argument(const std::vector<OptionRow>& options) {
  return std::ranges::any_of(options, [](const OptionRow& o) { return o.is_argument && o.is_file; });
}

std::string bash(const CliTable& table) {
  std::string out =
      "# bash completion of zrt: put it where bash-completion looks, or run: eval \"$(zrt completion bash)\"\n"
      "_zrt() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W " +
      quoted(joined(first_words(table), " ") + " " + joined(option_names(table.options), " ")) +
      " -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case $command in\n";
  for (const std::string& first : first_words(table)) {
    const std::vector<std::string> seconds = second_words(table, first);
    if (seconds.empty()) continue;
    out += "    " + first + ")\n      command=\"" + first +
           " ${COMP_WORDS[2]}\"\n"
           "      if ((COMP_CWORD == 2)); then\n"
           "        COMPREPLY=($(compgen -W " +
           quoted(joined(seconds, " ") + " --help") + " -- \"$current\"))\n        return\n      fi ;;\n";
  }
  out += "  esac\n  case \"$command $before\" in\n";
  for (const CommandRow& command : table.commands) {
    for (const OptionRow& option : command.options) {
      if (option.is_argument || option.type.empty()) continue;
      std::string cases;
      for (const std::string& name : option.names)
        cases += (cases.empty() ? "" : "|") + quoted(command.name + " " + name);
      const std::string words =
          option.choices.empty() ? option.is_file ? "-f" : "" : "-W " + quoted(joined(option.choices, " "));
      out += "    " + cases + ")\n      ";
      out += words.empty() ? "return ;;\n" : "COMPREPLY=($(compgen " + words + " -- \"$current\"))\n      return ;;\n";
    }
  }
  out += "  esac\n  case $command in\n";
  for (const CommandRow& command : table.commands) {
    std::vector<std::string> words = option_names(command.options);
    for (const OptionRow& option : command.options)
      if (option.is_argument) words.insert(words.end(), option.choices.begin(), option.choices.end());
    out += "    " + quoted(command.name) + ") COMPREPLY=($(compgen " +
           (has_file_argument(command.options) ? "-f " : "") + "-W " + quoted(joined(words, " ")) +
           " -- \"$current\")) ;;\n";
  }
  return out + "  esac\n}\ncomplete -o filenames -F _zrt zrt\n";
}

std::string zsh_option(const OptionRow& option) {
  const std::string purpose = escaped(option.purpose, "[]:\\");
  std::string value;
  if (!option.type.empty()) {
    value = ":" + escaped(option.type, ":\\") + ":";
    value += option.is_file ? "_files" : option.choices.empty() ? "" : "(" + joined(option.choices, " ") + ")";
  }
  if (option.is_argument) return quoted("1" + value);
  std::string out;
  for (const std::string& name : option.names)
    out += (out.empty() ? "" : " ") + quoted("*" + name + "[" + purpose + "]" + value);
  return out;
}

std::string zsh(const CliTable& table) {
  std::string out =
      "#compdef zrt\n"
      "# zsh completion of zrt: put it as _zrt into a folder of $fpath\n"
      "_zrt() {\n"
      "  local command=$words[2]\n"
      "  if ((CURRENT == 2)); then\n"
      "    local -a commands=(";
  for (const std::string& first : first_words(table)) {
    const auto found = std::ranges::find(table.commands, first, &CommandRow::name);
    out += "\n      " + quoted(escaped(first, ":") + (found == table.commands.end() ? "" : ":" + found->purpose));
  }
  out += ")\n    _describe command commands\n    _values option " + joined(option_names(table.options), " ") +
         "\n    return\n  fi\n  shift words\n  ((CURRENT -= 1))\n  case $command in\n";
  for (const std::string& first : first_words(table)) {
    const std::vector<std::string> seconds = second_words(table, first);
    if (seconds.empty()) continue;
    out += "    " + first + ")\n      if ((CURRENT == 2)); then\n        compadd " + joined(seconds, " ") +
           "\n        return\n      fi\n      command=\"" + first +
           " $words[2]\"\n      shift words\n      ((CURRENT -= 1)) ;;\n";
  }
  out += "  esac\n  case $command in\n";
  for (const CommandRow& command : table.commands) {
    out += "    " + quoted(command.name) + ")\n      _arguments";
    for (const OptionRow& option : command.options) out += " \\\n        " + zsh_option(option);
    out += " ;;\n";
  }
  return out + "  esac\n}\n_zrt \"$@\"\n";
}

std::string fish(const CliTable& table) {
  std::string out =
      "# fish completion of zrt: put it as zrt.fish into ~/.config/fish/completions\n"
      "complete -c zrt -f\n";
  const std::string all = joined(first_words(table), " ");
  for (const std::string& first : first_words(table)) {
    const auto found = std::ranges::find(table.commands, first, &CommandRow::name);
    out += "complete -c zrt -n 'not __fish_seen_subcommand_from " + all + "' -a " + first;
    out += found == table.commands.end() ? "\n" : " -d " + fish_quoted(found->purpose) + "\n";
    const std::vector<std::string> seconds = second_words(table, first);
    if (!seconds.empty())
      out += "complete -c zrt -n '__fish_seen_subcommand_from " + first + "; and not __fish_seen_subcommand_from " +
             joined(seconds, " ") + "' -a '" + joined(seconds, " ") + "'\n";
  }
  const auto options = [&](const std::string& when, const std::vector<OptionRow>& rows) {
    for (const OptionRow& option : rows) {
      out += "complete -c zrt -n " + fish_quoted(when);
      if (!option.is_argument)
        for (const std::string& name : option.names)
          out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.is_file)
        out += option.is_argument ? " -F" : " -r -F";
      else if (!option.choices.empty())
        out += " -x -a " + fish_quoted(joined(option.choices, " "));
      else if (!option.type.empty())
        out += " -x";
      out += " -d " + fish_quoted(option.purpose) + "\n";
    }
  };
  options("not __fish_seen_subcommand_from " + all, table.options);
  for (const CommandRow& command : table.commands) {
    const std::size_t space = command.name.find(' ');
    std::string when = "__fish_seen_subcommand_from " + command.name.substr(0, space);
    if (space != std::string::npos) when += "; and __fish_seen_subcommand_from " + command.name.substr(space + 1);
    options(when, command.options);
  }
  return out;
}

/// For man: no line begins with a dot or quote, dashes are dashes.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
  return out.starts_with(".") || out.starts_with("'") ? "\\&" + out : out;
}

std::string man_options(const std::vector<OptionRow>& options) {
  std::string out;
  for (const OptionRow& option : options) {
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : "\\fR, \\fB") + troff(name);
    out += ".TP\n\\fB" + names + "\\fR";
    if (!option.type.empty()) out += " \\fI" + troff(option.type) + "\\fR";
    out += "\n" + troff(option.purpose);
    if (!option.choices.empty()) out += ": " + troff(joined(option.choices, ", "));
    if (!option.standard.empty()) out += ". Default: " + troff(option.standard);
    if (!option.variable.empty()) out += ". Environment: " + troff(option.variable);
    out += ".\n";
  }
  return out;
}

}  // namespace

const std::vector<std::string>& shells() {
  static const std::vector<std::string> names{"bash", "zsh", "fish"};
  return names;
}

std::string completion_script(const CliTable& table, const std::string& shell) {
  return shell == "bash" ? bash(table) : shell == "zsh" ? zsh(table) : fish(table);
}

std::string man_page(const CliTable& table, const std::string& version) {
  std::string out = ".TH ZRT 1 \"\" \"zrt " + troff(version) + "\" \"User Commands\"\n.SH NAME\nzrt \\- " +
                    troff(table.purpose) +
                    "\n.SH SYNOPSIS\n.B zrt\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH DESCRIPTION\n"
                    "Results go to standard output, progress, warnings and errors to standard error.\n"
                    ".SH OPTIONS\n" +
                    man_options(table.options) + ".SH COMMANDS\n";
  for (const CommandRow& command : table.commands)
    out += ".SS zrt " + troff(command.name) + "\n" + troff(command.purpose) + ".\n" + man_options(command.options);
  return out +
         ".SH EXIT STATUS\n.TP\n0\nDone.\n.TP\n1\nFailed: one line on standard error says why.\n.TP\n2\nWrong usage.\n"
         ".SH ENVIRONMENT\n.TP\nNO_COLOR\nIf it is set and not empty, nothing is coloured on a terminal.\n";
}

}  // namespace program
