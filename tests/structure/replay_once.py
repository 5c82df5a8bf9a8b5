#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exactly one function loops over a program's entries, and it calls each in one place.

A program is a list (`Vector<Entry> entries_;`) of records that hold a function pointer. Whoever reads
an element of such a list, or calls through a record, replays it; a count, an append and a
construction do not. For every backend with a policy header, the headers of exec/ and of the backend
must hold one such function between them, with one loop around one call. A backend whose programs are packets
has none of its own. The device model beside it is no backend.

    replay_once.py               checks include/zrt
    replay_once.py --self-test   checks this script on small programs
"""
import re
import sys

import source

POINTER = r"\(\s*\*\s*(\w+)\s*\)\s*\("
ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*[^;]*\(\s*\*\s*\)\s*\(")
STRUCT = re.compile(r"\b(?:struct|class)\s+(\w+)[^;{}()]*\{")
# What may be done with a list besides reading it.
HARMLESS = r"(?:\s*\.\s*(?:size|empty|push_back|append|reserve|clear)\s*\(|\s*\()"
CONTROL = {"if", "for", "while", "switch", "catch", "return", "sizeof", "decltype", "requires", "alignas"}


def closing(code, start):
    """The offset after the bracket that closes the one at `start`."""
    pairs = {"{": "}", "(": ")"}
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] == code[start]) - (code[at] == pairs[code[start]])
        if depth == 0:
            return at + 1
    return len(code)


def functions(code):
    """(begin, end, name) of every function body; lambdas belong to the function around them."""
    found = []
    for match in re.finditer(r"\{", code):
        head = code[max(code.rfind(c, 0, match.start()) for c in ";{}") + 1:match.start()]
        head = re.sub(r"(?m)^\s*#.*$", "", head)
        named = re.search(r"([~\w]+)\s*\(", head)
        if not named or named.group(1) in CONTROL or re.match(r"\s*(?:else|do)\b", head):
            continue
        before = head[:named.start()]
        if "=" in before or "]" in re.sub(r"\[\[.*?\]\]", "", before) or not before.strip() and ":" not in head \
                and not re.search(r"\)\s*(?:noexcept|const)", head):
            continue
        found.append((match.start(), closing(code, match.start()), named.group(1)))
    return found


def loops(code):
    """(begin, end) of every for and while statement, head and body."""
    for match in re.finditer(r"\b(?:for|while)\s*\(", code):
        body = closing(code, match.end() - 1)
        rest = re.match(r"\s*\{", code[body:])
        if rest:
            yield match.start(), closing(code, body + rest.end() - 1)
        else:  # one statement, which may itself be a block behind another head
            end = body
            while end < len(code) and code[end] not in ";{":
                end = closing(code, end) if code[end] == "(" else end + 1
            yield match.start(), closing(code, end) if code[end:end + 1] == "{" else end


def records(texts):
    """Struct names with the function pointers that they hold."""
    aliases = {name for code in texts for name in ALIAS.findall(code)}
    found = {}
    for code in texts:
        for match in STRUCT.finditer(code):
            body = code[match.end() - 1:closing(code, match.end() - 1)]
            flat = re.sub(r"\{[^{}]*\}", ";", body[1:-1])
            members = set(re.findall(POINTER, flat))
            for alias in aliases:
                members |= set(re.findall(rf"\b{alias}(?:<[^;()]*>)?\s+(\w+)\s*[;={{]", flat))
            if members:
                found.setdefault(match.group(1), set()).update(members)
    return found


def replays(headers):
    """The functions that replay a program: {(header, name): (loops around a call, calls)}.

    `headers` maps a name to its text without comments."""
    lists, pointers = set(), set()
    for struct, members in records(headers.values()).items():
        for code in headers.values():
            names = re.findall(rf"\b(?:Vector|vector)<(?:const\s+)?{struct}\b[^;()]*>\s+(\w+)\s*[;{{=]", code)
            lists |= set(names)
            pointers |= members if names else set()
    found = {}
    for header, code in headers.items():
        bodies = functions(code)
        heads = list(loops(code))

        def function(at):
            inside = [b for b in bodies if b[0] < at < b[1]]
            return (header, max(inside)[2] if inside else f"line {code[:at].count(chr(10)) + 1}")

        for name in lists:
            for match in re.finditer(rf"\b{name}\b(?!{HARMLESS})", code):
                declares = re.match(r"\s*(?:;|\{[^{}]*\}\s*;)", code[match.end():])
                if not (declares and re.search(r">\s+$", code[:match.start()])):
                    found.setdefault(function(match.start()), ([], []))
        for pointer in pointers:
            for match in re.finditer(rf"(?:\.|->)\s*{pointer}\s*\(", code):
                around = found.setdefault(function(match.start()), ([], []))
                around[1].append(match.start())
                around[0].extend(h for h in heads if h[0] < match.start() < h[1])
    return found


def problems(shared, backends):
    """`shared` is the headers of exec/, `backends` the headers of each backend, by name."""
    said = []
    for backend, own in backends.items():
        found = replays({**shared, **own})
        if len(found) != 1:
            where = ", ".join(f"{header}: {name}" for header, name in sorted(found)) or "none"
            said.append(f"{backend}: exactly one function may read a program's entries, found {where}")
            continue
        (header, name), (around, calls) = next(iter(found.items()))
        if len(calls) != 1 or len(around) != 1:
            said.append(f"{backend}: {header}: {name} must call entries in one place in one loop, "
                        f"found {len(calls)} calls in {len(around)} loops")
    return said


GOOD = """
template <class Args> using Kernel = void (*)(const Args& args) noexcept;
class Program {
 public:
  explicit Program(Allocator a) noexcept : entries_(a) {}
  template <class Args> Result<void> push(Kernel<Args> kernel) noexcept { return entries_.push_back({&run, kernel}); }
  [[nodiscard]] bool launch(Hook hook) noexcept {
    for (std::size_t i = 0; i < entries_.size(); ++i) hook.run(&replay, i);
    return true;
  }
 private:
  struct Entry {
    void (*call)(void (*kernel)(), const std::byte* args) noexcept;
    std::size_t args = 0;
  };
  static void replay(void* argument) noexcept {
    for (std::size_t i = first; i < last; ++i) {
      if (stop) return;
      const Entry& entry = program.entries_[i];
      if (entry.args != 0) entry.call(entry.kernel, args + entry.args);
    }
  }
  Vector<Entry> entries_;
};
"""
LAUNCH = "for (std::size_t i = 0; i < entries_.size(); ++i) hook.run(&replay, i);"
CALL = "if (entry.args != 0) entry.call(entry.kernel, args + entry.args);"
ALIASED = """
template <class A> using Kernel = void (*)(A);
struct Command { Kind kind; Kernel<int> run = nullptr; };
struct Queue {
  std::vector<Command> commands;
  void submit() { for (const Command& c : commands) c.run(1); }
};
"""
CASES = [  # shared, own, what must be said
    (GOOD, "", None),
    ("", GOOD, None),
    ("", ALIASED, None),
    ("", ALIASED.replace("c.run(1);", "c.run(1), c.run(2);"), "found 2 calls"),
    ("", "", "found none"),
    (GOOD, GOOD, "exactly one function"),
    (GOOD.replace(LAUNCH, "for (const Entry& e : entries_) e.call(e.kernel, nullptr);"), "", "launch"),
    (GOOD.replace(LAUNCH, "for (std::size_t i = 0; i < n; ++i) entries_[i].call(nullptr, nullptr);"), "", "launch"),
    (GOOD.replace(LAUNCH, "const Entry* e = entries_.data(); while (n-- != 0) (e++)->call(nullptr, nullptr);"), "",
     "launch"),
    (GOOD.replace(LAUNCH, "for (std::size_t i = 0; i < entries_.size(); ++i) one(i);\n  }\n"
                          "  void one(std::size_t i) noexcept {\n    entries_[i].call(nullptr, nullptr);"), "", "one"),
    (GOOD, "void Mine::launch() noexcept { for (auto& e : span()) e.call(e.kernel, nullptr); }", "launch"),
    (GOOD.replace(" private:", "  auto span() const noexcept { return entries_.span(); }\n private:"), "", "span"),
    (GOOD, "void Mine::again() noexcept {\n  auto run = [&](auto& e) { e.call(e.kernel, nullptr); };\n}", "again"),
    (GOOD.replace(CALL, CALL + " " + CALL), "", "found 2 calls"),
    (GOOD.replace(CALL, "for (int twice = 0; twice < 2; ++twice) " + CALL), "", "in 2 loops"),
    (GOOD.replace("for (std::size_t i = first; i < last; ++i) {", "{"), "", "in 0 loops"),
]


def self_test():
    said = []
    for number, (shared, own, wanted) in enumerate(CASES):
        got = "\n".join(problems({"exec.hpp": shared}, {"backend": {"backend.hpp": own}}))
        if (wanted is None and got) or (wanted is not None and wanted not in got):
            said.append(f"case {number}: expected {wanted!r}, got {got!r}")
    return said


def headers(*places):
    return {path.relative_to(source.ROOT).as_posix():
            source.without_comments(path.read_text(encoding="utf-8"), strings=False)
            for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*.hpp")))
            if "emulator" not in path.parts}


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        sys.exit(source.report(self_test()))
    zrt = source.INCLUDE / "zrt"
    sys.exit(source.report(problems(
        headers(zrt / "exec"),
        {policy.stem: headers(policy, policy.with_suffix("")) for policy in sorted((zrt / "backend").glob("*.hpp"))})))
