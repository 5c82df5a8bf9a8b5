#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders conversations with chat templates by python3-jinja2, as the expected outputs of tests.

    chat_conversations.py small OUT                    the templates in tests/data/chat, each construct once
    chat_conversations.py FOLDER OUT [--most BYTES]    every *.jinja of a folder

A file of OUT: {"templates": {name: source}, "cases": [{"template", "name", "context", "out"}]}; `out` is null where the
template refuses. The environment is that of the libraries which models are published for: lists may be changed, tojson
keeps the order of keys and escapes nothing for HTML, and the clock stands still.
"""
import argparse
import copy
import datetime
import itertools
import json
import pathlib
import random
import types

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

NOW = datetime.datetime(2026, 7, 31, tzinfo=datetime.timezone.utc)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.Scope(body).set_lineno(line)


def refuse(message):
    raise jinja2.TemplateError(message)


def environment():
    env = jinja2.sandbox.SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                              extensions=[Generation, "jinja2.ext.loopcontrols"])

    def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        # What map and select give is a list here, not a generator, which JSON has no form for.
        lists = list if isinstance(value, types.GeneratorType) else lambda v: v
        return json.dumps(lists(value), ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    env.filters["tojson"] = to_json
    env.filters["from_json"] = json.loads
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = NOW.strftime
    return env


TOOLS = [
    {"type": "function",
     "function": {"name": "get_weather", "description": "The weather at a place",
                  "parameters": {"type": "object",
                                 "properties": {"city": {"type": "string", "description": "Name of a city"},
                                                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                                                "days": {"type": "integer", "default": 1}},
                                 "required": ["city"]}}},
    {"type": "function",
     "function": {"name": "search", "description": "Finds \"pages\" & <texts> with é",
                  "parameters": {"type": "object",
                                 "properties": {"words": {"type": "array", "items": {"type": "string"}},
                                                "options": {"type": "object",
                                                            "properties": {"deep": {"type": "boolean"}}}},
                                 "required": ["words"]}}},
]


def call(number, name, arguments):
    return {"id": f"call{number:05d}", "type": "function", "function": {"name": name, "arguments": arguments}}


TEXTS = ["Hello", "What is 2 + 2?", "Zürich, 東京 and 🙂", " spaces \n around ", "", "<think>\nhm\n</think>\n\nFour.",
         "quotes ' and \" and \\ here", "line one\nline two\n"]


def conversations():
    user = lambda text: {"role": "user", "content": text}
    said = lambda text: {"role": "assistant", "content": text}
    system = {"role": "system", "content": "You are brief."}
    weather = {"role": "assistant", "content": "", "tool_calls": [call(1, "get_weather", {"city": "Bern", "days": 2})]}
    result = {"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "{\"sky\": \"clear\"}"}
    yield "user", [user("Hello")], {}
    yield "system", [system, user("Hi"), said("Hello!"), user("Bye")], {}
    yield "turns", [user("a"), said("<think>\nso\n</think>\n\nb"), user("c"), said("d"), user("e")], {}
    yield "tools", [user("Weather in Bern?")], {"tools": TOOLS}
    yield "system tools", [system, user("Weather?")], {"tools": TOOLS[:1]}
    yield "call", [user("Weather in Bern?"), weather, result], {"tools": TOOLS}
    yield "answered", [system, user("Weather?"), weather, result, said("Clear."), user("Thanks")], {"tools": TOOLS}
    yield "text arguments", [user("Weather?"), {"role": "assistant", "content": None,
                                                "tool_calls": [call(1, "get_weather", "{\"city\": \"Bern\"}")]},
                             result], {"tools": TOOLS}
    yield "two calls", [user("Both"), {"role": "assistant", "content": "Looking.",
                                       "tool_calls": [call(1, "get_weather", {"city": "Genève"}),
                                                      call(2, "search", {"words": ["a", "b"], "options": {"deep": True}})]},
                        result, {"role": "tool", "tool_call_id": "call00002", "name": "search", "content": "none"}], \
        {"tools": TOOLS}
    yield "parts", [{"role": "user", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]}], {}
    yield "two users", [user("a"), user("b")], {}
    yield "reasoning", [user("a"), {"role": "assistant", "content": "b", "reasoning_content": "because"}, user("c")], {}
    yield "empty", [], {}
    for i, text in enumerate(TEXTS):
        yield f"text {i}", [system, user(text), said(text), user(text)], {}


def contexts(rounds):
    for name, messages, more in conversations():
        for prompt, thinking in itertools.product((True, False), (None, True, False)):
            if thinking is not None and name not in ("user", "system", "turns", "call", "reasoning"):
                continue
            context = {"messages": messages, "add_generation_prompt": prompt, "bos_token": "<s>", "eos_token": "</s>",
                       **more}
            if thinking is not None:
                context |= {"enable_thinking": thinking, "thinking": thinking}
            yield f"{name} {prompt} {thinking}", context
    chance = random.Random(1)
    for i in range(rounds):
        messages = [{"role": "system", "content": chance.choice(TEXTS)}] if chance.random() < 0.3 else []
        for _ in range(chance.randrange(1, 5)):
            messages.append({"role": "user", "content": chance.choice(TEXTS)})
            if chance.random() < 0.3:
                arguments = {chance.choice("abc"): chance.choice([1, 2.5, True, None, "x'y", [1, "é"], {"k": []}])}
                messages.append({"role": "assistant", "content": chance.choice(["", "ok"]),
                                 "tool_calls": [call(i, "search", arguments)]})
                messages.append({"role": "tool", "tool_call_id": f"call{i:05d}", "content": chance.choice(TEXTS)})
            messages.append({"role": "assistant", "content": chance.choice(TEXTS)})
        if chance.random() < 0.8:
            messages.pop()
        context = {"messages": messages, "add_generation_prompt": chance.random() < 0.5, "bos_token": "<s>",
                   "eos_token": "</s>"}
        if chance.random() < 0.4:
            context["tools"] = TOOLS[:chance.randrange(1, 3)]
        yield f"random {i}", context


def render(env, source, context):
    try:
        return env.from_string(source).render(**copy.deepcopy(context)), None
    except Exception as error:  # a refusal of any kind counts as one
        return None, str(error)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--reasons", action="store_true", help="say why a template refuses")
    args = parser.parse_args()
    small = args.folder == "small"
    folder = pathlib.Path(__file__).parents[1] / "data/chat" if small else pathlib.Path(args.folder)
    env = environment()
    templates = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jinja"))}
    cases = []
    for name, source in templates.items():
        chosen = contexts(0 if small else args.rounds)
        if small:
            chosen = [(n, c) for n, c in chosen if n.endswith("True None")]
        for case, context in chosen:
            out, error = render(env, source, context)
            cases.append({"template": name, "name": case, "context": context, "out": out})
            if args.reasons and error:
                cases[-1]["error"] = error
    args.out.write_text(json.dumps({"templates": templates, "cases": cases}, ensure_ascii=False), encoding="utf-8")
    print(f"{len(templates)} templates, {len(cases)} conversations, {sum(c['out'] is None for c in cases)} refused")


main()
