# SPDX-License-Identifier: Apache-2.0
"""What `zrt serve` and `zrt chat` make of replies of every format, said by models made for it: python3 replies.py ZRT MODEL"""
import json
import os
import subprocess
import sys
import tempfile

from server import Server, run_all
from speaker import write_speaker

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
    "city": {"type": "string"}, "count": {"type": "integer"}}}}}]
PARIS = {"city": "Paris", "count": 3}
JSON = '{"city": "Paris", "count": 3}'
SIGNS = {"hermes": "<tool_call>", "mistral": "[TOOL_CALLS]", "llama3": "<|start_header_id|>", "harmony": "<|channel|>",
         "deepseek": "<｜tool▁calls▁begin｜>", "deepseek-v3.2": "｜DSML｜", "gemma4": "<|tool_call>", "lfm2": "List of tools: ",
         "seed": "<seed:tool_call>", "granite": "<|tool_call|>", "nemotron": "<TOOLCALL>", "cohere": "<|START_ACTION|>",
         "kimi": "<|tool_calls_section_begin|>"}
CONTROLS = ["<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>", "<｜tool▁calls▁begin｜>",
            "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<|constrain|>", "<|call|>", "<|tool_call>", "<tool_call|>", "<|tool_call_start|>",
            "<|tool_call_end|>", "<seed:tool_call>", "</seed:tool_call>", "<|tool_call|>", "<|START_ACTION|>", "<|END_ACTION|>",
            "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_calls_section_end|>"]


class Speaker:
    """A server whose model says a text to whatever it is asked."""

    def __init__(self, program, family, said):
        self.folder = tempfile.TemporaryDirectory()
        self.model = write_speaker(os.path.join(self.folder.name, "speaker.gguf"), {"Z": said},
                                   [mark for mark in CONTROLS if said.count(mark) == 1])
        self.template = os.path.join(self.folder.name, "template.jinja")
        with open(self.template, "w", encoding="utf-8") as file:
            file.write("{# " + SIGNS[family] + " #}Z")
        self.server = Server(program, self.model, "--chat-template", self.template)

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *error):
        self.server.__exit__(*error)
        self.folder.cleanup()

    def ask(self, **fields):
        """The message of an answer and why it ended; a stream of the same must add up to the same."""
        fields = {"tools": TOOLS, "temperature": 0, "max_tokens": 300, **fields}
        fields = {name: value for name, value in fields.items() if value is not None}
        status, body = self.server.chat(**fields)
        assert status == 200, body
        choice = body["choices"][0]
        message = choice["message"]
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])]
        whole = (message["content"] or "", message.get("reasoning_content", ""), calls, choice["finish_reason"])
        assert joined(self.server.chat_stream(**fields)) == whole, (whole, joined(self.server.chat_stream(**fields)))
        return whole


def joined(events):
    """What the deltas of a stream add up to."""
    content, reasoning, calls, finish = "", "", [], None
    for event in events:
        for choice in event["choices"] if event != "[DONE]" else []:
            content += choice["delta"].get("content") or ""
            reasoning += choice["delta"].get("reasoning_content") or ""
            finish = choice["finish_reason"] or finish
            for call in choice["delta"].get("tool_calls", []):
                if call["index"] == len(calls):
                    calls.append((call["function"]["name"], ""))
                name, before = calls[call["index"]]
                calls[call["index"]] = (name, before + call["function"]["arguments"])
    return content, reasoning, calls, finish


CALLS = {
    "hermes": ("hermes", '<tool_call>\n{"name": "f", "arguments": ' + JSON + '}\n</tool_call>'),
    "tags of Qwen": ("hermes", "<tool_call>\n<function=f>\n<parameter=city>\nParis\n</parameter>\n<parameter=count>\n3\n</parameter>\n"
                     "</function>\n</tool_call>"),
    "tags of GLM": ("hermes", "<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
                    "<arg_key>count</arg_key>\n<arg_value>3</arg_value>\n</tool_call>"),
    "mistral": ("mistral", "[TOOL_CALLS]f[ARGS]" + JSON),
    "llama3": ("llama3", '{"name": "f", "parameters": ' + JSON + "}"),
    "llama3 behind a mark": ("llama3", '<|python_tag|>{"name": "f", "parameters": ' + JSON + "}"),
    "deepseek": ("deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>" + JSON
                 + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    "deepseek 3.2": ("deepseek-v3.2", '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="city" '
                     'string="true">Paris</｜DSML｜parameter>\n<｜DSML｜parameter name="count" string="false">3'
                     '</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'),
    "gemma4": ("gemma4", '<|tool_call>call:f{city:<|"|>Paris<|"|>,count:3}<tool_call|>'),
    "lfm2": ("lfm2", "<|tool_call_start|>[f(city='Paris', count=3)]<|tool_call_end|>"),
    "seed": ("seed", "<seed:tool_call>\n<function=f>\n<parameter=city>Paris</parameter>\n<parameter=count>3</parameter>\n"
             "</function>\n</seed:tool_call>"),
    "granite": ("granite", '<|tool_call|>[{"name": "f", "arguments": ' + JSON + "}]"),
    "nemotron": ("nemotron", '<TOOLCALL>[{"name": "f", "arguments": ' + JSON + "}]</TOOLCALL>"),
    "cohere": ("cohere", '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": ' + JSON + "}]<|END_ACTION|>"),
    "kimi": ("kimi", "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>" + JSON
             + "<|tool_call_end|><|tool_calls_section_end|>"),
    "harmony": ("harmony", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>" + JSON + "<|call|>"),
    "harmony with the role": ("harmony", " to=functions.f<|channel|>commentary <|constrain|>json<|message|>" + JSON + "<|call|>"),
}


def calls_of_every_format_are_read(program, _):
    for name, (family, said) in CALLS.items():
        with Speaker(program, family, said) as s:
            content, _, calls, finish = s.ask()
            assert [(tool, json.loads(arguments)) for tool, arguments in calls] == [("f", PARIS)], (name, calls, content)
            assert finish == "tool_calls" and not content.strip(), (name, content, finish)
            for fields in ({"tool_choice": "none"}, {"tools": None}):
                content, _, calls, finish = s.ask(**fields)
                assert not calls and finish == "stop" and "Paris" in content, (name, fields, content, calls, finish)


def calls_that_are_cut_are_text(program, _):
    for name, (family, said) in CALLS.items():
        with Speaker(program, family, said) as s:
            def ask(**fields):
                status, body = s.server.chat(tools=TOOLS, temperature=0, **fields)
                assert status == 200, body
                choice = body["choices"][0]
                calls = [call["function"]["arguments"] for call in choice["message"].get("tool_calls", [])]
                # What is cut is no call, or already a whole one.
                assert all(json.loads(arguments) == PARIS for arguments in calls), (name, fields, choice)
                return choice["finish_reason"], calls
            tokens, finish = 0, "length"
            while finish == "length":
                tokens += 1
                finish, calls = ask(max_tokens=tokens)
            assert tokens > 2 and finish == "tool_calls" and calls, (name, tokens, finish)
            for at in range(0, len(said) - 3, 3):
                finish, calls = ask(stop=said[at:at + 6], max_tokens=300)
                assert finish == ("tool_calls" if calls else "stop"), (name, said[at:at + 6], finish, calls)
            # Each piece of a stream is the same.
            for limit in {1, tokens // 2, tokens - 1}:
                s.ask(max_tokens=limit)


def arguments_are_as_they_were_written(program, _):
    arguments = '{"count":12345678901234567890,  "city": "see </tool_call> here"}'
    with Speaker(program, "hermes", '<tool_call>{"name": "f", "arguments": ' + arguments + "}</tool_call>") as s:
        assert s.ask()[2] == [("f", arguments)], s.ask()


def a_chat_in_the_terminal_has_no_tools(program, _):
    said = '{"name": "Ann", "parameters": {"age": 7}}'
    with tempfile.TemporaryDirectory() as folder:
        model = write_speaker(os.path.join(folder, "speaker.gguf"), {"Z": said})
        template = os.path.join(folder, "template.jinja")
        with open(template, "w", encoding="utf-8") as file:
            file.write("{# " + SIGNS["llama3"] + " #}Z")
        run = subprocess.run([program, "chat", "--model", model, "--chat-template", template, "--temp", "0", "--threads", "1"],
                             input="Who?\n", capture_output=True, text=True, timeout=60, check=True)
        assert run.stdout.strip() == said, run


CASES = {case.__name__: case for case in (calls_of_every_format_are_read, calls_that_are_cut_are_text,
                                            arguments_are_as_they_were_written,
                                            a_chat_in_the_terminal_has_no_tools)}

if __name__ == "__main__":
    sys.exit(run_all(CASES, *sys.argv[1:3]))
