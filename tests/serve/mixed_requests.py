# SPDX-License-Identifier: Apache-2.0
"""Requests of every kind that a server answers, made from numbers, and their answers in a form that can be compared."""
import json
import random

PROMPTS = ["ROMEO:\n", "To be, or not", "Who is there?", "KING HENRY:\nNow ", "What light ", "O", "The quality of mercy is not",
           "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\nSpeak, speak.\n\n"]
CITY = {"type": "function", "function": {"name": "city", "parameters": {
    "type": "object", "properties": {"name": {"enum": ["Rome", "Paris"]}, "big": {"type": "boolean"}}, "required": ["name"],
    "additionalProperties": False}}}
NOW = {"type": "function", "function": {"name": "now"}}
SCHEMAS = [
    {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"enum": ["x", "y", None]}}, "required": ["a", "b"],
     "additionalProperties": False},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
    {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}, "required": ["t"], "additionalProperties": False,
     "$defs": {"t": {"anyOf": [{"const": 1}, {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 2}]}}},
    {"type": "string", "maxLength": 12},
]


def sampling(r):
    fields = {"seed": r.randrange(1 << 40), "max_tokens": r.choice((1, 4, 12, 24, 48)), "temperature": r.choice((0, 0.5, 1, 1.5))}
    if r.random() < 0.3:
        fields["n"] = r.choice((2, 3))
    if r.random() < 0.3:
        fields["stop"] = r.choice(("e", [" th", "\n"], [r.choice("abcdefgh") + "o", "you"]))
    if r.random() < 0.2:
        fields.update(r.choice(({"top_p": 0.8}, {"top_k": 20}, {"min_p": 0.05}, {"frequency_penalty": 1.0, "presence_penalty": 0.5},
                                {"repetition_penalty": 1.2})))
    if r.random() < 0.15:
        fields["logit_bias"] = {str(r.randrange(3, 400)): r.choice((-9, -5, 5)) for _ in range(3)}
    return fields


def of_chat(r):
    messages = [{"role": "user", "content": r.choice(PROMPTS)}]
    if r.random() < 0.5:
        messages.insert(0, {"role": "system", "content": r.choice(("Be brief.", "Speak as a king. " * 12))})
    fields = {"logprobs": True, "top_logprobs": r.randrange(4)} if r.random() < 0.2 else {}
    return "/v1/chat/completions", {"messages": messages, **sampling(r), **fields}


def of_schema(r):
    path, body = of_chat(r)
    form = {"type": "json_object"} if r.random() < 0.2 else {
        "type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": r.choice(SCHEMAS)}}
    return path, {**body, "response_format": form, "max_tokens": r.choice((8, 60))}


def of_tools(r):
    path, body = of_chat(r)
    choice = r.choice(("auto", "required", "required", {"type": "function", "function": {"name": "now"}}))
    return path, {**body, "tools": [CITY, NOW], "tool_choice": choice, "parallel_tool_calls": r.random() < 0.5,
                  "max_tokens": r.choice((8, 80))}


def of_text(r):
    prompt = r.choice((r.choice(PROMPTS), [r.choice(PROMPTS), "a"], [r.randrange(3, 2000) for _ in range(r.choice((1, 20, 100)))]))
    fields = r.choice(({}, {}, {"logprobs": 2}, {"echo": True}, {"echo": True, "logprobs": 1}, {"ignore_eos": True},
                       # Beside a grammar a ban can leave no token at all.
                       {"logit_bias": {str(r.randrange(3, 2000)): -100 for _ in range(40)}}))
    return "/v1/completions", {"prompt": prompt, **sampling(r), **fields}


def request(number):
    """The path and body of a request, without whether it streams."""
    r = random.Random(number)
    path, body = r.choice((of_chat, of_chat, of_schema, of_tools, of_text, of_text))(r)
    return path, {"model": "bard", **body}


# --- answers --------------------------------------------------------------------------------------------

def plain_message(message):
    calls = [call["function"] for call in message.get("tool_calls") or []]
    return message.get("content") or "", message.get("reasoning_content") or "", calls


def plain_choice(choice):
    said = plain_message(choice["message"]) if "message" in choice else choice["text"]
    return choice["index"], said, choice["finish_reason"], choice["logprobs"]


def plain_usage(usage):
    """Cached tokens depend on what came before, and nothing else does."""
    return {name: usage[name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")}


def plain_answer(answer):
    return [plain_choice(choice) for choice in answer["choices"]], plain_usage(answer["usage"])


def add_logprobs(whole, more):
    for name, values in (more or {}).items():
        if isinstance(values, list):
            whole.setdefault(name, []).extend(values)
        else:
            whole[name] = values


def add_delta(message, delta):
    for name in ("content", "reasoning_content"):
        message[name] = message.get(name, "") + (delta.get(name) or "")
    for call in delta.get("tool_calls", []):
        calls = message.setdefault("tool_calls", [])
        if call["index"] == len(calls):
            calls.append({"function": {"name": call["function"]["name"], "arguments": ""}})
        calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]


def whole_of(events):
    """The answer that the events of a stream with usage add up to."""
    assert events[-1] == "[DONE]", events[-1]
    choices = {}
    for event in events[:-2]:
        for part in event["choices"]:
            choice = choices.setdefault(part["index"], {"index": part["index"], "finish_reason": None, "logprobs": {}})
            if "delta" in part:
                add_delta(choice.setdefault("message", {}), part["delta"])
            else:
                choice["text"] = choice.get("text", "") + part["text"]
            add_logprobs(choice["logprobs"], part.get("logprobs"))
            choice["finish_reason"] = part["finish_reason"] or choice["finish_reason"]
    for choice in choices.values():
        choice["logprobs"] = choice["logprobs"] or None
    return {"choices": [choices[index] for index in sorted(choices)], "usage": events[-2]["usage"]}


def ask(server, number, stream, key, connection=None):
    """Asks for request `number`; returns the answer to compare."""
    path, body = request(number)
    if not stream:
        status, answer = server.post(path, body, key=key, connection=connection)
        assert status == 200, (number, status, answer)
        return plain_answer(answer)
    return plain_answer(whole_of(server.stream(path, {**body, "stream_options": {"include_usage": True}}, key=key)))
