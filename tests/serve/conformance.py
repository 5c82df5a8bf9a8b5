# SPDX-License-Identifier: Apache-2.0
"""The OpenAI API of `zrt serve` over HTTP: python3 conformance.py ZRT MODEL"""
import base64
import email.utils
import json
import math
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import models
import mutations
import operation
from server import Server, run_all, text_of

CASES = {}
CHAT = "/v1/chat/completions"


def case(function):
    CASES[function.__name__] = function
    return function


def refused(answer, status, param=None, code=None):
    found, body = answer
    assert found == status, (found, body)
    error = body["error"]
    assert set(error) == {"message", "type", "param", "code"} and error["message"], error
    if param is not None:
        assert error["param"] == param, error
    if code is not None:
        assert error["code"] == code, error


def fine(answer):
    assert answer[0] == 200, answer
    return answer[1]


def content(answer):
    return fine(answer)["choices"][0]["message"]["content"]


# --- basics ---

@case
def models_are_listed(s):
    status, _, body = s.ask("GET", "/v1/models")
    assert status == 200 and body["object"] == "list"
    assert set(body["data"][0]) == {"id", "object", "created", "owned_by", "images", "embeddings", "state", "memory_bytes"}
    assert s.ask("GET", "/v1/models/bard")[2]["id"] == "bard"
    refused(s.ask("GET", "/v1/models/other")[::2], 404, code="model_not_found")


@case
def unknown_routes_and_methods(s):
    refused(s.ask("GET", "/v2/models")[::2], 404)
    for method, path, allowed in (("DELETE", "/v1/models", "GET, HEAD, OPTIONS"), ("GET", CHAT, "POST, OPTIONS")):
        status, fields, body = s.ask(method, path)
        refused((status, body), 405, code="method_not_allowed")
        assert fields["allow"] == allowed, fields


@case
def request_ids(s):
    first = s.ask("GET", "/v1/models")[1]["x-request-id"]
    second = s.ask("GET", "/v1/models")[1]["x-request-id"]
    assert first != second
    assert s.ask("GET", "/v1/models", headers={"X-Request-Id": "abc-1"})[1]["x-request-id"] == "abc-1"
    assert s.ask("GET", "/v1/models", headers={"X-Request-Id": "a b"})[1]["x-request-id"] != "a b"
    # What never becomes a request has one too, its own where the head was read so far.
    for head, own in ((b"GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine-1\r\n folded\r\n\r\n", True),
                      (b"POST / HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine-1\r\nContent-Length: 99999999\r\n\r\n", True),
                      (b"POST / HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine-1\r\nTransfer-Encoding: gzip\r\n\r\n", True),
                      (b"GET / HTTP/1.1\r\nX-Request-Id: a b\r\n\r\n", False), (b"GET / HTTP/2.0\r\n\r\n", False),
                      (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", False)):
        found = re.search(rb"\r\nX-Request-Id: ([\w.-]+)\r\n", s.raw(head))
        assert found and (found.group(1) == b"mine-1") == own, (head[:60], found)


@case
def origins(s):
    allowed = {"Origin": "http://page.example", "Access-Control-Request-Headers": "x-stainless-os"}
    status, fields, _ = s.ask("OPTIONS", CHAT, headers=allowed)
    assert status == 204 and fields["access-control-allow-origin"] == "http://page.example"
    assert fields["access-control-allow-headers"] == "x-stainless-os"
    # A page sees of an answer the headers that it is shown.
    _, fields, _ = s.ask("GET", "/v1/models", headers=allowed)
    shown = fields["access-control-expose-headers"].lower().split(", ")
    assert {"x-request-id", "retry-after", "x-zrt-ignored-fields"} <= set(shown) and "x-request-id" in fields, fields
    _, fields, _ = s.ask("OPTIONS", CHAT, headers={"Origin": "http://other.example"})
    assert "access-control-allow-origin" not in fields


def answers_by_status(s):
    text = s.ask("GET", "/metrics")[2].decode()
    return {int(status): int(count) for status, count in re.findall(r'zrt_http_answers_total{status="(\d+)"} (\d+)', text)}


@case
def refusals_are_answers_too(s):
    """What is refused before it is a request is shown to pages of other origins, and counted."""
    before = answers_by_status(s)
    origin, long = b"Origin: http://page.example\r\n", b"X: " + b"a" * 20000
    post = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
    refusals = [(post + origin + b"Content-Length: 99999999\r\n\r\n", 413), (b"GET / HTTP/1.1\r\n" + origin + long, 431),
                (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 200 + origin + b"\r\n", 431),
                (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n" + origin + b"\r\n", 414),
                (b"GET / HTTP/1.1\r\n folded\r\n" + origin + b"\r\n", 400),
                (post + origin + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
                (b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + origin + b"\r\n", 204)]
    for head, status in refusals:
        found = s.raw(head)
        assert found.startswith(b"HTTP/1.1 %d " % status), (head[:60], found[:60])
        assert b"\r\nAccess-Control-Allow-Origin: http://page.example\r\n" in found, (head[:60], found)
        other = s.raw(head.replace(b"page.example", b"other.example"))
        assert other.startswith(b"HTTP/1.1 %d " % status) and b"Access-Control" not in other, (head[:60], other)
    after = answers_by_status(s)
    for status in {status for _, status in refusals}:
        expected = 2 * sum(one == status for _, one in refusals)
        assert after[status] - before.get(status, 0) == expected, (status, before, after)


@case
def hosts_of_other_names_are_refused(s):
    refused(s.ask("GET", "/v1/models", headers={"Host": "evil.example"})[::2], 403)


@case
def bad_bodies(s):
    for body in ["", "{", "[]", "1", '{"model": NaN}', '{"a": "\ud800"}'.encode("utf-8", "surrogatepass"), b'{"a": "\xff"}',
                 '{"a": "\\ud800"}', '{"a":' * 100 + "1" + "}" * 100, "[" * 100000, '{"a": 1e999}',
                 "{" + ",".join(f'"{i}":1' for i in range(5000)) + "}"]:
        refused(s.post(CHAT, body), 400)
    # An object within the body may have as many members as the body itself.
    fine(s.chat(metadata={str(i): "" for i in range(2048)}))
    refused(s.chat(metadata={str(i): "" for i in range(2049)}), 400)
    assert "byte" in s.post(CHAT, '{"a": [' + "[" * 80 + "]")[1]["error"]["message"]


@case
def bom_and_equal_keys(s):
    body = '{"model": "x", "model": "bard", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}'
    fine(s.post(CHAT, body))
    fine(s.post(CHAT, b"\xef\xbb\xbf" + body.encode()))


@case
def content_types(s):
    body = json.dumps({"model": "bard", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1})
    refused(s.post(CHAT, body, headers={"Content-Type": "text/plain"}), 415)
    fine(s.post(CHAT, body, headers={"Content-Type": "application/json; charset=utf-8"}))
    fine(s.post(CHAT, body, headers={"Content-Encoding": "Identity"}))
    for coding in ("gzip", "identity, br"):
        refused(s.post(CHAT, body, headers={"Content-Encoding": coding}), 415)


@case
def large_bodies(s):
    refused(s.post(CHAT, b" " * (5 << 20)), 413)
    head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    body = b"\r\n100000\r\n" + (b"x" * 0x100000 + b"\r\n100000\r\n") * 5
    assert b" 413 " in s.raw(head + b"Content-Type: application/json\r\n" + body)
    assert b" 415 " in s.raw(head + body)  # what the head says is judged before the body is read


@case
def forms_of_requests(s):
    connection = s.connect()
    for _ in range(3):  # one connection, kept alive
        assert s.ask("GET", "/v1/models", connection=connection)[0] == 200
    assert s.ask("HEAD", "/v1/models", connection=connection)[2] == b""
    assert s.ask("GET", "/livez", connection=connection)[0] == 200
    get = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
    two = s.raw(get + b"\r\n" + get + b"Connection: close\r\n\r\n")
    assert two.count(b"HTTP/1.1 200 OK") == 2, two
    assert b"200 OK" in s.raw(b"GET /livez HTTP/1.0\r\n\r\n")
    body = b'{"model":"bard","prompt":"a","max_tokens":1}'
    head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (1, body[i:i + 1]) for i in range(len(body))) + b"0\r\n\r\n"
    assert b"text_completion" in s.raw(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    # A proxy's way to say where: the address counts, not the header beside it.
    for address, status in ((b"http://localhost/livez", 200), (b"HTTP://127.0.0.1:1?a=b", 200), (b"http://evil.example/livez", 403),
                            (b"http:///livez", 400), (b"http://me@localhost/livez", 400)):
        found = s.raw(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % address)
        assert found.startswith(b"HTTP/1.1 %d " % status), (address, found)
    expected = s.raw(head + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert expected.startswith(b"HTTP/1.1 100 Continue\r\n\r\n") and b"text_completion" in expected


@case
def broken_heads(s):
    for head, status in [(b"GET / HTTP/2.0\r\n\r\n", 400), (b"GET /\r\n\r\n", 400), (b"GET / HTTP/1.1\r\n\r\n", 400),
                         (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
                         (b"GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", 400),
                         (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
                         (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
                         (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
                         (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
                         (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 20000 + b"\r\n\r\n", 431),
                         (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: a\r\n" * 200 + b"\r\n", 431)]:
        found = s.raw(head)
        assert found.startswith(b"HTTP/1.1 %d " % status), (head[:60], found[:60])
        error = json.loads(found.partition(b"\r\n\r\n")[2])["error"]
        assert error["type"] == "invalid_request_error", error


@case
def clients_that_send_no_more(s):
    """The end of what a client sends is not the end of what it reads."""
    body = {"model": "bard", "prompt": "ROMEO:\n", "max_tokens": 60, "seed": 1, "ignore_eos": True}
    whole = fine(s.post("/v1/completions", body))["choices"][0]["text"]
    for version, stream in ((b"1.1", False), (b"1.1", True), (b"1.0", False), (b"1.0", True)):
        text = json.dumps({**body, "stream": stream}).encode()
        with s.open_socket() as client:
            client.sendall(b"POST /v1/completions HTTP/%s\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (version, len(text), text))
            client.shutdown(socket.SHUT_WR)
            data = b""
            while piece := client.recv(65536):
                data += piece
        if stream:
            parts = re.findall(rb"data: ({.*})\n", data)
            assert b"[DONE]" in data and "".join(json.loads(part)["choices"][0]["text"] for part in parts) == whole, data
        else:
            assert json.loads(data[data.index(b'{"'):])["choices"][0]["text"] == whole, data


# --- chat ---

@case
def a_chat(s):
    body = fine(s.chat())
    assert body["object"] == "chat.completion" and body["id"].startswith("chatcmpl-")
    choice = body["choices"][0]
    assert choice["message"]["role"] == "assistant" and isinstance(choice["message"]["content"], str)
    assert choice["finish_reason"] == "length" and choice["logprobs"] is None
    usage = body["usage"]
    assert usage["completion_tokens"] == 8 and usage["total_tokens"] == usage["prompt_tokens"] + 8
    assert usage["prompt_tokens_details"] == {"cached_tokens": 0, "audio_tokens": 0}, usage
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
                                                  "audio_tokens": 0}, usage
    assert body["system_fingerprint"] == fine(s.chat())["system_fingerprint"]


@case
def roles_and_parts(s):
    for role in ("system", "developer"):
        fine(s.chat(messages=[{"role": role, "content": "Be brief."}, {"role": "user", "content": "Hi"}]))
    parts = [{"type": "text", "text": "Who is "}, {"type": "text", "text": "there?"}]
    assert content(s.chat(messages=[{"role": "user", "content": parts}])) == content(s.chat("Who is there?"))
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    fine(s.chat(messages=asked + [{"role": "tool", "tool_call_id": "call_1", "content": "4"}]))
    refused(s.chat(messages=asked + [{"role": "tool", "tool_call_id": "call_2", "content": "4"}]), 400,
            "messages[2].tool_call_id")
    # What an assistant refused with is a text of its own; nobody else refuses.
    def said(part):
        return [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [part]}, {"role": "user", "content": "Why?"}]
    text, refusal = {"type": "text", "text": "No."}, {"type": "refusal", "refusal": "No."}
    assert content(s.chat(messages=said(refusal))) == content(s.chat(messages=said(text)))
    refused(s.chat(messages=[{"role": "user", "content": [refusal]}]), 400, "messages[0].content[0].type")


@case
def names_of_templates(s):
    """A template sees names of the client's, but for those that are the server's."""
    fine(s.chat(chat_template_kwargs={"enable_thinking": False}))
    for name in ("messages", "add_generation_prompt", "tools", "bos_token", "eos_token"):
        refused(s.chat(chat_template_kwargs={name: []}), 400, f"chat_template_kwargs.{name}")


@case
def bad_messages(s):
    refused(s.chat(messages=[]), 400, "messages")
    refused(s.chat(messages=None), 400, "messages")
    refused(s.chat(messages=["Hi"]), 400, "messages[0]")
    refused(s.chat(messages=[{"role": "robot", "content": "Hi"}]), 400, "messages[0].role")
    refused(s.chat(messages=[{"role": "user"}]), 400, "messages[0].content")
    image = [{"type": "image_url", "image_url": {"url": "data:,"}}]
    refused(s.chat(messages=[{"role": "user", "content": image}]), 400, "messages[0].content[0].type")
    refused(s.chat(model="other"), 404, code="model_not_found")


@case
def absent_and_unknown_fields(s):
    names = ["frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs", "n", "seed", "stop",
             "stream", "stream_options", "temperature", "top_p", "tools", "tool_choice", "parallel_tool_calls",
             "response_format", "user", "metadata", "store", "service_tier", "reasoning_effort", "max_completion_tokens",
             "functions", "function_call", "modalities", "audio", "prediction", "top_k", "min_p"]
    fine(s.chat(**{name: None for name in names}))
    body = {"model": "bard", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "shiny": 1}
    status, fields, _ = s.ask("POST", CHAT, body)
    assert status == 200 and fields["x-zrt-ignored-fields"] == "shiny"
    assert s.ask("POST", CHAT, {**body, "foo bar": 1})[1]["x-zrt-ignored-fields"] == "shiny, foo%20bar"
    many = s.ask("POST", CHAT, {**body, **{f"field_{i}": 1 for i in range(200)}})[1]["x-zrt-ignored-fields"]
    assert len(many) <= 512 and many.endswith(", ..."), many
    del body["shiny"]
    assert "x-zrt-ignored-fields" not in s.ask("POST", CHAT, body)[1]
    inside = {"stream": True, "stream_options": {"odd": 1, "include_obfuscation": False}, "top_odd": 1,
              "response_format": {"type": "text", "odd": 2}}
    assert sorted(s.ask("POST", CHAT, {**body, **inside})[1]["x-zrt-ignored-fields"].split(", ")) == [
        "response_format.odd", "stream_options.odd", "top_odd"]
    call = {"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}", "odd": 1}, "index": 0}
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]},
                {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "noon"}]
    choice = {"type": "function", "odd": 1, "function": {"name": "now", "odd": 2}}
    status, fields, _ = s.ask("POST", CHAT, {**body, "messages": messages, "tools": [NOW], "tool_choice": choice})
    named = fields["x-zrt-ignored-fields"].replace("%5B", "[").replace("%5D", "]")
    assert status == 200 and sorted(named.split(", ")) == [
        "messages[0].content[0].cache_control", "messages[1].tool_calls[0].function.odd", "messages[1].tool_calls[0].index",
        "tool_choice.function.odd", "tool_choice.odd"], fields


@case
def limits_of_tokens(s):
    body = fine(s.chat(max_tokens=1))
    assert body["usage"]["completion_tokens"] == 1 and body["choices"][0]["finish_reason"] == "length"
    assert fine(s.chat(max_tokens=5, max_completion_tokens=3))["usage"]["completion_tokens"] == 3
    for bad in (0, -1, 1.5, "5", True, 2**70):
        refused(s.chat(max_tokens=bad), 400, "max_tokens")


@case
def long_prompts(s):
    refused(s.complete([1] * 300), 400, "prompt", "context_length_exceeded")
    body = fine(s.complete([1] * 256, max_tokens=10, ignore_eos=True))
    assert body["usage"]["completion_tokens"] == 1 and body["choices"][0]["finish_reason"] == "length"
    assert fine(s.complete([1] * 250, max_tokens=100, ignore_eos=True))["usage"]["completion_tokens"] == 7


@case
def ranges_of_sampling(s):
    for fields in ({"temperature": 0}, {"temperature": 2}, {"top_p": 1}, {"frequency_penalty": -2, "presence_penalty": 2}):
        fine(s.chat(**fields))
    assert content(s.chat(top_p=0, seed=3)) == content(s.chat(temperature=0, seed=4))
    for name, values in {"temperature": (2.01, -0.1, "1"), "top_p": (1.1, -0.1), "frequency_penalty": (2.1, -2.1),
                         "presence_penalty": (3,), "n": (0, 17, "2"), "seed": (1.5, "a"), "min_p": (2,)}.items():
        for value in values:
            refused(s.chat(**{name: value}), 400, name)


@case
def logit_biases(s):
    forced = fine(s.complete(logit_bias={"40": 100}, temperature=0, max_tokens=3))["choices"][0]["text"]
    assert len(set(forced)) == 1, forced
    free = fine(s.complete(temperature=0, max_tokens=1, logprobs=1))["choices"][0]
    # Of all parts of the vocabulary one holds the likeliest token, and only without that part is another said.
    without = [fine(s.complete(logit_bias={str(first + i): -100 for i in range(256)}, temperature=0, max_tokens=1))
               for first in range(0, 2048, 256)]
    assert sum(body["choices"][0]["text"] != free["text"] for body in without) == 1
    refused(s.complete(logit_bias={"999999": 1}), 400, "logit_bias")
    refused(s.complete(logit_bias={"x": 1}), 400, "logit_bias")
    refused(s.complete(logit_bias={"1": 101}), 400, "logit_bias")
    assert free["text"]


@case
def stops(s):
    whole = content(s.chat(max_tokens=40))
    for stop in (whole[3:6], [whole[3:6]], ["never there", whole[3:6]], [whole[5:9], whole[3:6]]):
        body = fine(s.chat(max_tokens=40, stop=stop))
        cut = min(whole.find(one) for one in ([stop] if isinstance(stop, str) else stop) if one in whole)
        assert body["choices"][0]["message"]["content"] == whole[:cut]
        assert body["choices"][0]["finish_reason"] == "stop"
    assert content(s.chat(max_tokens=40, stop=whole[0])) == ""
    for bad in ("", [""], ["a"] * 17, 1, [1], "a" * 300):
        status, _ = s.chat(stop=bad)
        assert status == 400


@case
def several_choices(s):
    body = fine(s.chat(n=3, seed=5, temperature=1.5, max_tokens=12))
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2]
    alone = [content(s.chat(seed=5 + k, temperature=1.5, max_tokens=12)) for k in range(3)]
    assert [choice["message"]["content"] for choice in body["choices"]] == alone
    assert body["usage"]["prompt_tokens"] == fine(s.chat())["usage"]["prompt_tokens"]
    assert body["usage"]["completion_tokens"] == 36


@case
def seeds(s):
    assert content(s.chat(seed=7)) == content(s.chat(seed=7))
    assert len({content(s.chat(seed=k, max_tokens=16, temperature=2)) for k in range(4)}) > 1
    assert len({content(s.chat(seed=None, max_tokens=16, temperature=2)) for _ in range(4)}) > 1
    fine(s.chat(seed=-1))


@case
def log_probabilities(s):
    shown = fine(s.chat(logprobs=True, temperature=0))["choices"][0]["logprobs"]
    assert len(shown["content"]) == 8 and shown["refusal"] is None
    assert all(token["top_logprobs"] == [] for token in shown["content"])
    body = fine(s.chat(logprobs=True, top_logprobs=20, temperature=0))
    for token in body["choices"][0]["logprobs"]["content"]:
        top = [one["logprob"] for one in token["top_logprobs"]]
        assert len(top) == 20 and top == sorted(top, reverse=True)
        assert token["logprob"] == top[0] and bytes(token["bytes"]).decode("utf-8", "replace") == token["token"]
        assert sum(2.718281828 ** one for one in top) <= 1.0001
    # A token that nearly never comes has its own, among the likeliest or not.
    likely = {one["token"] for token in body["choices"][0]["logprobs"]["content"] for one in token["top_logprobs"]}
    forced = fine(s.chat(logprobs=True, top_logprobs=20, temperature=0, max_tokens=1, logit_bias={str(3 + 0xff): 100}))
    token = forced["choices"][0]["logprobs"]["content"][0]
    assert token["token"] not in likely and -9999 < token["logprob"] < token["top_logprobs"][-1]["logprob"], token
    shown = fine(s.complete(logprobs=2, temperature=0, max_tokens=1, logit_bias={str(3 + 0xff): 100}))["choices"][0]["logprobs"]
    assert -9999 < shown["token_logprobs"][0] < min(shown["top_logprobs"][0].values()) + 1e-6 and len(shown["top_logprobs"][0]) == 3, shown
    # The token that ends an answer is no part of it.
    for ended in (fine(s.chat(logprobs=True, logit_bias={"2": 100}, temperature=0, max_tokens=4)),
                  fine(s.complete(logprobs=1, logit_bias={"2": 100}, temperature=0, max_tokens=4))):
        choice = ended["choices"][0]
        shown = choice["logprobs"]
        assert choice["finish_reason"] == "stop" and (shown["content"] if "content" in shown else shown["tokens"]) == [], choice
    refused(s.chat(top_logprobs=2), 400, "top_logprobs")
    refused(s.chat(logprobs=True, top_logprobs=21), 400, "top_logprobs")


# --- streams ---

@case
def a_stream(s):
    events = s.chat_stream()
    assert events[-1] == "[DONE]"
    chunks = events[:-1]
    assert len({(c["id"], c["created"], c["object"]) for c in chunks}) == 1
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert chunks[-1]["choices"][0]["delta"] == {} and chunks[-1]["choices"][0]["finish_reason"] == "length"
    assert all("finish_reason" in c["choices"][0] and "usage" not in c for c in chunks)
    assert text_of(events) == content(s.chat())


@case
def usage_of_streams(s):
    chunks = s.chat_stream(stream_options={"include_usage": True})[:-1]
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["completion_tokens"] == 8
    assert all(c["usage"] is None for c in chunks[:-1])
    assert all("usage" not in c for c in s.chat_stream(stream_options={})[:-1])
    refused(s.chat(stream_options={"include_usage": True}), 400, "stream_options")


@case
def choices_of_streams(s):
    events = s.chat_stream(n=2, max_tokens=12)
    whole = fine(s.chat(n=2, max_tokens=12))
    for k in (0, 1):
        own = [c["choices"][0] for c in events[:-1] if c["choices"][0]["index"] == k]
        assert own[0]["delta"].get("role") == "assistant" and own[-1]["finish_reason"]
        assert text_of(events, k) == whole["choices"][k]["message"]["content"]


@case
def log_probabilities_of_streams(s):
    events = s.chat_stream(logprobs=True, top_logprobs=2)
    tokens = []
    for event in events[:-1]:
        tokens += (event["choices"][0]["logprobs"] or {"content": []})["content"]
    assert tokens == fine(s.chat(logprobs=True, top_logprobs=2))["choices"][0]["logprobs"]["content"]


@case
def stops_of_streams(s):
    whole = content(s.chat(max_tokens=40))
    events = s.chat_stream(max_tokens=40, stop=whole[4:8])
    assert text_of(events) == whole[:whole.find(whole[4:8])]
    assert events[-2]["choices"][0]["finish_reason"] == "stop"


@case
def connections_live_on_behind_a_stream(s):
    connection = s.connect()
    for _ in range(2):
        connection.request("POST", CHAT, json.dumps({"model": "bard", "stream": True, "max_tokens": 2,
                                                     "messages": [{"role": "user", "content": "Hi"}]}),
                           {"Content-Type": "application/json"})
        assert connection.getresponse().read().endswith(b"data: [DONE]\n\n")


@case
def clients_that_leave_free_their_slots(s):
    for stream in (True, False):
        body = json.dumps({"model": "bard", "prompt": "a", "max_tokens": 250, "n": 4, "ignore_eos": True, "stream": stream})
        with socket.create_connection(("127.0.0.1", s.port)) as client:
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (len(body), body.encode()))
            for _ in range(200):
                if s.metric("zrt_num_requests_running") > 0:
                    break
                time.sleep(0.01)
        s.wait_idle(5)
    assert 'finished_reason="cancelled"' in s.ask("GET", "/metrics")[2].decode()


# --- tools ---

WEATHER = {"type": "function", "function": {"name": "weather", "description": "The weather", "parameters": {
    "type": "object", "properties": {"city": {"enum": ["Rome", "Paris"]}, "days": {"type": "integer"}},
    "required": ["city"], "additionalProperties": False}}}
NOW = {"type": "function", "function": {"name": "now"}}


def check_call(call):
    assert call["type"] == "function" and call["id"]
    arguments = json.loads(call["function"]["arguments"])
    if call["function"]["name"] == "weather":
        assert arguments["city"] in ("Rome", "Paris")
    else:
        assert call["function"]["name"] == "now" and arguments == {}


@case
def tools_that_may_be_called(s):
    body = fine(s.chat(tools=[WEATHER]))
    assert body["choices"][0]["finish_reason"] == "length" and "tool_calls" not in body["choices"][0]["message"]
    assert "tool_calls" not in fine(s.chat(tools=[WEATHER], tool_choice="none"))["choices"][0]["message"]


@case
def tools_that_must_be_called(s):
    ids = set()
    for fields in ({"tool_choice": "required"}, {"tool_choice": {"type": "function", "function": {"name": "now"}}},
                   {"tool_choice": "required", "parallel_tool_calls": False}):
        body = fine(s.chat(tools=[WEATHER, NOW], max_tokens=200, temperature=0.5, **fields))
        choice = body["choices"][0]
        if choice["finish_reason"] == "length":
            assert "tool_calls" not in choice["message"]
            continue
        assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None
        for call in choice["message"]["tool_calls"]:
            check_call(call)
            ids.add(call["id"])
    assert ids, "no answer held a call"


@case
def calls_of_streams(s):
    fields = {"tools": [NOW], "tool_choice": {"type": "function", "function": {"name": "now"}}, "max_tokens": 200}
    whole = fine(s.chat(**fields))["choices"][0]
    events = s.chat_stream(**fields)
    deltas = [c["choices"][0]["delta"]["tool_calls"][0] for c in events[:-1] if "tool_calls" in c["choices"][0]["delta"]]
    assert whole["finish_reason"] == "tool_calls" and events[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert deltas[0]["index"] == 0 and deltas[0]["id"] and deltas[0]["type"] == "function"
    assert deltas[0]["function"] == {"name": "now", "arguments": ""}
    assert "".join(d["function"]["arguments"] for d in deltas) == whole["message"]["tool_calls"][0]["function"]["arguments"]


@case
def several_calls(s):
    """Some seeds call twice, whole and as a stream; none does where calls in parallel are forbidden."""
    def calls(seed, **fields):
        choice = fine(s.chat(tools=[NOW], tool_choice="required", max_tokens=200, seed=seed, **fields))["choices"][0]
        return choice["message"].get("tool_calls", [])
    twice = next(seed for seed in range(40) if len(calls(seed)) == 2)
    assert len({call["id"] for call in calls(twice)}) == 2
    events = s.chat_stream(tools=[NOW], tool_choice="required", max_tokens=200, seed=twice)
    deltas = [d for e in events[:-1] for d in e["choices"][0]["delta"].get("tool_calls", [])]
    assert [d["index"] for d in deltas if "id" in d] == [0, 1] and len({d["id"] for d in deltas if "id" in d}) == 2
    for index, call in enumerate(calls(twice)):
        arguments = "".join(d["function"]["arguments"] for d in deltas if d["index"] == index)
        assert arguments == call["function"]["arguments"]
    assert all(len(calls(seed, parallel_tool_calls=False)) <= 1 for seed in range(twice + 1))


@case
def calls_that_are_cut(s):
    choice = fine(s.chat(tools=[WEATHER], tool_choice="required", max_tokens=3))["choices"][0]
    assert choice["finish_reason"] == "length" and "tool_calls" not in choice["message"]


@case
def bad_tools(s):
    def named(name):
        return {"type": "function", "function": {"name": name}}
    refused(s.chat(tools=[named("a b")]), 400, "tools[0].function.name")
    refused(s.chat(tools=[named("a"), named("a")]), 400, "tools[1].function.name")
    refused(s.chat(tools=[named(f"t{i}") for i in range(129)]), 400, "tools")
    refused(s.chat(tools=[{"type": "custom"}]), 400, "tools[0].type")
    refused(s.chat(tool_choice="required"), 400, "tool_choice")
    refused(s.chat(tools=[NOW], tool_choice={"type": "function", "function": {"name": "other"}}), 400, "tool_choice")
    refused(s.chat(functions=[{"name": "f"}]), 400, "functions")
    # A strict schema is checked whether or not a call is forced.
    def with_pattern(strict):
        parameters = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(a)\\1"}}}
        return [NOW, {"type": "function", "function": {"name": "f", "strict": strict, "parameters": parameters}}]
    for choice in ("auto", "required"):
        refused(s.chat(tools=with_pattern(True), tool_choice=choice), 400, "tools")
        assert "pattern" in s.chat(tools=with_pattern(True), tool_choice=choice)[1]["error"]["message"]
    fine(s.chat(tools=with_pattern(False)))
    fine(s.chat(tools=with_pattern(True), tool_choice="none"))


@case
def references_in_tools(s):
    parameters = {"type": "object", "properties": {"a": {"$ref": "#/$defs/c"}}, "required": ["a"],
                  "additionalProperties": False, "$defs": {"c": {"enum": ["x"]}}}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    choice = fine(s.chat(tools=[tool], tool_choice="required", parallel_tool_calls=False, max_tokens=200))["choices"][0]
    if choice["finish_reason"] == "tool_calls":
        assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"a": "x"}
    # What looks like one within a value is none.
    parameters = {"$id": "x", "type": "object", "properties": {"const": {"const": {"$ref": "#/x"}}}, "required": ["const"],
                  "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    choice = fine(s.chat(tools=[tool], tool_choice="required", parallel_tool_calls=False, max_tokens=250))["choices"][0]
    if choice["finish_reason"] == "tool_calls":
        assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"const": {"$ref": "#/x"}}


# --- structured answers ---

def structured(schema):
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


@case
def answers_that_match(s):
    for schema in ({"enum": ["yes", "no"]}, {"const": 4}, {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
                   {"type": "object", "properties": {"a": {"anyOf": [{"const": 1}, {"const": 2}]}}, "required": ["a"],
                    "additionalProperties": False}):
        choice = fine(s.chat(response_format=structured(schema) if schema.get("type") else structured(
            {"type": "object", "properties": {"v": schema}, "required": ["v"], "additionalProperties": False}),
            max_tokens=200, temperature=0.7))["choices"][0]
        if choice["finish_reason"] == "stop":
            json.loads(choice["message"]["content"])
    # Of objects that the model does not end most are cut.
    ended = 0
    for seed in range(40):
        choice = fine(s.chat(response_format={"type": "json_object"}, max_tokens=150, seed=seed, temperature=0.9))["choices"][0]
        assert choice["message"]["content"].lstrip().startswith("{"), choice
        if choice["finish_reason"] == "stop":
            ended += isinstance(json.loads(choice["message"]["content"]), dict)
    assert ended > 0
    tree = {"anyOf": [{"const": 1}, {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2}]}
    schema = {"type": "object", "properties": {"t": {"$ref": "#/$defs/tree"}}, "required": ["t"], "additionalProperties": False,
              "$defs": {"tree": tree}}

    def depth(node):
        assert node == 1 or (isinstance(node, list) and len(node) <= 2), node
        return 0 if node == 1 else 1 + max(map(depth, node), default=0)
    depths = []
    for seed in range(30):
        choice = fine(s.chat(response_format=structured(schema), max_tokens=150, seed=seed, temperature=2))["choices"][0]
        if choice["finish_reason"] == "stop":
            depths.append(depth(json.loads(choice["message"]["content"])["t"]))
    assert max(depths) >= 2, depths
    fine(s.chat(response_format={"type": "text"}))


@case
def bounds_and_patterns(s):
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": -3, "maximum": 12}, "x": {"type": "number", "minimum": 0, "maximum": 1},
                                               "p": {"type": "string", "pattern": "^[a-f]{2}-\\d$"}, "d": {"type": "string", "format": "date"}},
              "required": ["n", "x", "p", "d"], "additionalProperties": False}
    for seed in range(8):
        choice = fine(s.chat(response_format=structured(schema), max_tokens=200, seed=seed, temperature=1.5))["choices"][0]
        assert choice["finish_reason"] == "stop", choice
        value = json.loads(choice["message"]["content"])
        assert -3 <= value["n"] <= 12 and 0 <= value["x"] <= 1 and re.fullmatch("[a-f]{2}-[0-9]", value["p"]), value
        assert re.fullmatch("[0-9]{4}-[01][0-9]-[0-3][0-9]", value["d"]), value


@case
def schemas_that_are_refused(s):
    refused(s.chat(response_format=structured({"type": "object", "properties": {"a": {"type": "integer", "multipleOf": 2}}})),
            400, "response_format")
    assert "pattern" in s.chat(response_format=structured({"type": "string", "pattern": "(a)\\1"}))[1]["error"]["message"]
    # A definition that nothing refers to says nothing of the answer.
    unused = {"type": "boolean", "$defs": {"a": {"type": "integer", "multipleOf": 2}}}
    fine(s.chat(response_format=structured(unused)))
    used = {**unused, "type": "array", "items": {"$ref": "#/$defs/a"}}
    assert "multipleOf" in s.chat(response_format=structured(used))[1]["error"]["message"]
    refused(s.chat(response_format=structured({"type": "nothing"})), 400)
    refused(s.chat(response_format={"type": "xml"}), 400, "response_format.type")
    refused(s.chat(response_format={"type": "json_schema"}), 400)
    refused(s.chat(response_format={"type": "json_object"}, tools=[NOW]), 400, "response_format")
    for schema in ({"type": "string", "enum": [5]}, {"type": "array", "minItems": 1, "maxItems": 0}, {"required": "a"},
                   {"enum": list(range(5001))}):
        refused(s.chat(response_format=structured(schema)), 400, "response_format")
    # Too deep, too many of a part, a list where a schema stands: said at once.
    chain = {f"d{i}": {"type": "object", "properties": {"a": {"$ref": f"#/$defs/d{i + 1}"}}, "required": ["a"]} for i in range(80)}
    began = time.monotonic()
    for schema, word in (({"$ref": "#/$defs/d0", "$defs": {**chain, "d80": {"type": "null"}}}, "nested"),
                         ({"type": "string", "maxLength": 10**6}, "maxLength"), ({"type": "array", "maxItems": 10**6}, "maxItems"),
                         ({"type": "string", "pattern": "("}, "pattern"), ({"type": "array", "items": [{"type": "string"}]}, "items")):
        answer = s.chat(response_format=structured(schema))
        refused(answer, 400, "response_format")
        assert word in answer[1]["error"]["message"], answer
    assert time.monotonic() - began < 5
    fine(s.chat(response_format=structured({"enum": [f"value {i}" for i in range(5000)]})))
    fine(s.chat(response_format=structured({"anyOf": [{"type": "object", "properties": {f"p{i}": {"type": "null"}}}
                                                      for i in range(1000)]})))
    deep = {"type": "object"}
    for _ in range(25):
        deep = {"type": "object", "properties": {"a": deep}}
    fine(s.chat(response_format=structured(deep)))


@case
def many_schemas(s):
    def memory():
        with open(f"/proc/{s.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    before = None
    for i in range(1000):
        fine(s.chat(response_format=structured({"type": "object", "properties": {f"p{i}": {"const": i}}}), max_tokens=1))
        if i == 300:
            before = memory()
    assert memory() - before < 32 << 20, memory() - before


# --- completions ---

@case
def forms_of_prompts(s):
    text = fine(s.complete())["choices"][0]["text"]
    assert fine(s.complete(["ROMEO:\n"]))["choices"][0]["text"] == text
    both = fine(s.complete(["ROMEO:\n", "JULIET:\n"], n=2))
    assert [c["index"] for c in both["choices"]] == [0, 1, 2, 3] and both["choices"][0]["text"] == text
    fine(s.complete([1, 2, 3]))
    fine(s.complete([[1, 2], [3]]))
    fine(s.complete(None))
    for bad in ("", [], [""], [[]], [-1], [1, "a"], {}, 5, [10**9], [1.5]):
        assert s.complete(bad)[0] == 400, bad


@case
def older_fields(s):
    body = fine(s.post("/v1/completions", {"model": "bard", "prompt": "a", "ignore_eos": True}))
    assert body["usage"]["completion_tokens"] == 16 and body["object"] == "text_completion"
    plain = fine(s.complete())["choices"][0]["text"]
    assert fine(s.complete(echo=True))["choices"][0]["text"] == "ROMEO:\n" + plain
    assert fine(s.complete(echo=True, max_tokens=0))["choices"][0]["text"] == "ROMEO:\n"
    refused(s.complete(max_tokens=0), 400, "max_tokens")
    refused(s.complete(suffix="x"), 400, "suffix")
    refused(s.complete(best_of=3), 400, "best_of")
    fine(s.complete(best_of=1))
    shown = fine(s.complete(logprobs=5))["choices"][0]["logprobs"]
    assert len({len(shown[name]) for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset")}) == 1
    refused(s.complete(logprobs=6), 400, "logprobs")
    events = s.stream("/v1/completions", {"model": "bard", "prompt": "ROMEO:\n", "max_tokens": 8, "seed": 1})
    assert "".join(e["choices"][0]["text"] for e in events[:-1]) == plain
    assert all(e["object"] == "text_completion" for e in events[:-1])
    refused(s.post("/v1/embeddings", {"model": "bard", "input": "a"}), 400, "model")


def likelihoods(s, ids, best):
    """Of each id but the first, and of the `best` likeliest at its place: from the model's logits, in double precision."""
    program, model = s.process.args[0], s.process.args[s.process.args.index("--model") + 1]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "logits")
        subprocess.run([program, "logits", "--model", model, "--kv", "f16", "--tokens", ",".join(map(str, ids)), "--decode", "0",
                        "--out", path], check=True, stdout=subprocess.DEVNULL)
        with open(path, "rb") as file:
            data = file.read()
    _, vocabulary, _ = struct.unpack_from("<3I", data, 4)
    found = []
    for row, following in enumerate(ids[1:]):
        logits = struct.unpack_from(f"<{vocabulary}f", data, 16 + row * 4 * (vocabulary + 1) + 4)
        top = max(logits)
        total = top + math.log(sum(math.exp(x - top) for x in logits))
        found.append((logits[following] - total, [x - total for x in sorted(logits, reverse=True)[:best]]))
    return found


def check_told(told, tokens, text, expected, best):
    """The log-probabilities of an echoed prompt: `tokens` of them, in front of those of the answer."""
    assert len({len(told[name]) for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset")}) == 1, told
    assert told["token_logprobs"][0] is None and told["top_logprobs"][0] is None and told["text_offset"][0] == 0, told
    for i, (own, likeliest) in enumerate(expected, 1):
        assert abs(told["token_logprobs"][i] - own) < 1e-4, (i, told["token_logprobs"][i], own)
        shown = sorted(told["top_logprobs"][i].values(), reverse=True)
        assert best <= len(shown) <= best + 1 and told["top_logprobs"][i][told["tokens"][i]] == told["token_logprobs"][i], (i, shown)
        assert all(abs(a - b) < 1e-4 for a, b in zip(shown, likeliest)), (i, shown, likeliest)
    assert told["text_offset"] == sorted(told["text_offset"])
    for i in range(1, tokens):
        assert text[told["text_offset"][i]:].startswith(told["tokens"][i]), (i, told["tokens"][i])


@case
def echoed_prompts_have_log_probabilities(s):
    prompt = "First Citizen:\nBefore we proceed any further, hear me speak.\n"
    ids = [r["token"] for r in json.loads(subprocess.run(
        [s.process.args[0], "logits", "--model", s.process.args[s.process.args.index("--model") + 1], "--tokens", "1", "--decode", "40",
         "--out", os.devnull, "--json"], check=True, stdout=subprocess.PIPE).stdout)["rows"]]
    expected = likelihoods(s, ids, 3)
    ask = {"echo": True, "logprobs": 3}
    alone = fine(s.complete(ids, max_tokens=0, **ask))
    assert alone["usage"] == {**alone["usage"], "prompt_tokens": len(ids), "completion_tokens": 0, "total_tokens": len(ids)}
    choice = alone["choices"][0]
    assert choice["finish_reason"] == "length" and len(choice["logprobs"]["tokens"]) == len(ids)
    check_told(choice["logprobs"], len(ids), choice["text"], expected, 3)
    # Behind its own prefix, with an answer, as a stream, several at once: the same numbers.
    told = choice["logprobs"]
    answered = fine(s.complete(ids, max_tokens=6, n=2, **ask))
    plain = fine(s.complete(ids, max_tokens=6, n=2, logprobs=3))
    for one, other in zip(answered["choices"], plain["choices"]):
        assert one["text"] == choice["text"] + other["text"]
        for name, values in one["logprobs"].items():
            assert values[:len(ids)] == told[name]
            shift = len(choice["text"]) if name == "text_offset" else 0
            assert values[len(ids):] == [value + shift if shift else value for value in other["logprobs"][name]], name
    events = s.stream("/v1/completions", {"model": "bard", "prompt": ids, "max_tokens": 6, "n": 2, "seed": 1, **ask})
    for one in answered["choices"]:
        parts = [e["choices"][0] for e in events[:-1] if e["choices"][0]["index"] == one["index"]]
        assert "".join(part["text"] for part in parts) == one["text"]
        for name, values in one["logprobs"].items():
            assert sum((part["logprobs"][name] for part in parts if part["logprobs"]), []) == values, name
    # Texts, several prompts, one token, no alternatives.
    both = fine(s.complete([prompt, "a"], max_tokens=0, **ask))["choices"]
    assert [one["text"] for one in both] == [prompt, "a"]
    shown = both[0]["logprobs"]
    assert "".join(shown["tokens"]).endswith(prompt)
    for token, offset in list(zip(shown["tokens"], shown["text_offset"]))[-8:]:
        assert prompt[offset:].startswith(token), (token, offset)
    single = fine(s.complete([5], max_tokens=0, **ask))["choices"][0]["logprobs"]
    assert single["token_logprobs"] == [None] and single["top_logprobs"] == [None]
    none = fine(s.complete(ids, max_tokens=0, echo=True, logprobs=0))["choices"][0]["logprobs"]
    assert none["token_logprobs"] == told["token_logprobs"] and none["top_logprobs"][1:] == [{}] * (len(ids) - 1)


# --- operation ---

@case
def figures(s):
    text = s.ask("GET", "/metrics")[2].decode()
    line = re.compile(r'^(# (HELP|TYPE) [a-zA-Z_:][a-zA-Z0-9_:]* .+|[a-zA-Z_:][a-zA-Z0-9_:]*\{([a-z_]+="[^"]*",?)*\} [-+0-9.eInf]+)$')
    assert all(line.match(one) for one in text.splitlines()), [one for one in text.splitlines() if not line.match(one)]
    assert "vllm:num_requests_running{" in text
    before = s.metric("zrt_generation_tokens_total")
    fine(s.chat())
    assert s.metric("zrt_generation_tokens_total") == before + 8
    assert s.ask("GET", "/v1/tenants/default/usage")[2]["completion_tokens"] >= 8
    assert s.ask("GET", "/v1/load")[2]["slots"] == 4
    # Names and reasons that vLLM has.
    def counted(text, name, labels=""):
        found = re.search(rf'^{name}{{model_name="bard",engine="0"{labels}}} (\S+)$', text, re.MULTILINE)
        assert found, (name, labels)
        return float(found.group(1))
    text = s.ask("GET", "/metrics")[2].decode()
    reasons = set(re.findall(r'vllm:request_success_total{.*finished_reason="(\w+)"', text))
    assert reasons == {"stop", "length", "abort", "error"}, reasons
    steps, chosen, length = (counted(text, "vllm:" + name, labels) for name, labels in (
        ("iteration_tokens_total_sum", ""), ("request_params_n_sum", ""), ("request_success_total", ',finished_reason="length"')))
    usage = fine(s.chat(n=3))["usage"]
    steps += 3 * usage["prompt_tokens"] + usage["completion_tokens"]
    for _ in range(100):  # a step is counted when all of its tokens are told
        text = s.ask("GET", "/metrics")[2].decode()
        if counted(text, "vllm:iteration_tokens_total_sum") == steps:
            break
        time.sleep(0.02)
    assert counted(text, "vllm:iteration_tokens_total_sum") == steps, (steps, text)
    assert counted(text, "vllm:request_params_n_sum") == chosen + 3
    assert counted(text, "vllm:request_success_total", ',finished_reason="length"') == length + 3
    assert counted(text, "vllm:spec_decode_num_drafts_total") == 0 and "vllm:lora_requests_info" not in text


@case
def times_of_pages(s):
    """Pages of a prefix that comes again are used again, and more prefixes than there are pages evict each other."""
    def counted():
        text = s.ask("GET", "/metrics")[2].decode()
        found = {}
        for name in ("lifetime", "idle_before_evict", "reuse_gap"):
            own, theirs = (dict(re.findall(rf'^{prefix}kv_block_{name}_seconds_(?:bucket.*,le="|)(\S+?)(?:"}}|{{.*}}) (\S+)$', text, re.MULTILINE))
                           for prefix in ("zrt_", "vllm:"))
            assert own == theirs and own["+Inf"] == own["count"] and len(own) == 24, (name, own, theirs)
            found[name] = float(own["count"])
        return found

    def grow(name, least, ask):
        before = counted()[name]
        ask()
        for _ in range(100):  # what a step did is shown behind it
            if counted()[name] >= before + least:
                return
            time.sleep(0.02)
        raise AssertionError((name, before, least, counted()))
    # A prompt of 40 tokens has two whole pages.
    grow("reuse_gap", 2, lambda: [fine(s.complete([7] * 40, max_tokens=1)) for _ in range(2)])
    pages = s.metric("zrt_kv_pages")
    grow("lifetime", 20, lambda: [fine(s.complete([100 + i] * 48, max_tokens=1)) for i in range(int(pages) // 3 + 8)])
    assert counted()["idle_before_evict"] == counted()["lifetime"]


@case
def answers_beside_others_are_those_alone(s):
    alone = {k: content(s.chat(seed=k, max_tokens=24)) for k in range(8)}
    found = {}

    def ask(k):
        found[k] = content(s.chat(seed=k % 8, max_tokens=24))
    threads = [threading.Thread(target=ask, args=(k,)) for k in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[k] == alone[k % 8] for k in range(64))


@case
def a_page(s):
    status, fields, body = s.ask("GET", "/")
    assert status == 200 and fields["content-type"].startswith("text/html") and b"<title>" in body
    assert "frame-ancestors 'none'" in fields["content-security-policy"]
    assert b"http://" not in body.replace(b"http://www.w3.org", b"") and b"https://" not in body


def embeddings_are_load_and_count_as_refused(program, model):
    """Texts to embed wait and run as answers do, for routers and for quotas."""
    key = "alice-key-0123456789"
    keys = {"tenants": [{"id": "alice", "keys": [key], "slots": 1, "queue": 2}]}
    body = {"model": "bard", "input": ["word " * 200] * 40}
    with Server(program, model, "--embeddings", "--context", "256", "--metrics-compat", "vllm", keys=keys) as s:
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(s.ask("POST", "/v1/embeddings", body, key=key)))
                   for _ in range(5)]
        for thread in threads:
            thread.start()
        seen = set()
        while any(thread.is_alive() for thread in threads):
            load = s.ask("GET", "/v1/load", key=key)[2]
            seen.add((load["running"], load["waiting"]))
            seen.add(("vllm", s.metric("vllm:num_requests_running", key), s.metric("vllm:num_requests_waiting", key)))
        for thread in threads:
            thread.join()
        assert {(1, 2), ("vllm", 1, 2)} <= seen, seen
        assert sorted(status for status, _, _ in answers) == [200, 200, 200, 429, 429], answers
        for status, fields, _ in answers:
            assert fields["x-ratelimit-limit-requests"] == "3", fields
            assert status == 200 or fields["x-ratelimit-remaining-requests"] == "0", fields
        assert {fields["x-ratelimit-remaining-requests"] for status, fields, _ in answers if status == 200} == {"2", "1", "0"}
        assert s.ask("GET", "/v1/tenants/alice/usage", key=key)[2]["refused"] == 2
        s.wait_idle(key=key)


def embeddings(program, model):
    with Server(program, model, "--embeddings", "--context", "256") as s:
        def ask(text, **fields):
            return fine(s.post("/v1/embeddings", {"model": "bard", "input": text, **fields}))
        one = ask("To be")["data"][0]["embedding"]
        packed = base64.b64decode(ask("To be", encoding_format="base64")["data"][0]["embedding"])
        assert list(struct.unpack(f"<{len(one)}f", packed)) == [struct.unpack("f", struct.pack("f", x))[0] for x in one]
        batch = ask(["or not", "To be", "a"])
        assert [d["index"] for d in batch["data"]] == [0, 1, 2] and batch["data"][1]["embedding"] == one
        assert abs(sum(x * x for x in one) - 1) < 1e-3
        assert ask([1, 2, 3])["usage"]["prompt_tokens"] == 3
        fine(s.post("/v1/embeddings", {"model": "bard", "input": "a", "dimensions": len(one)}))
        charged = s.metric("zrt_prompt_tokens_total")
        refused(s.post("/v1/embeddings", {"model": "bard", "input": "a", "dimensions": 7}), 400, "dimensions")
        assert s.metric("zrt_prompt_tokens_total") == charged
        for bad in ("", [], [""], None, [[]], [1] * 300):
            assert s.post("/v1/embeddings", {"model": "bard", "input": bad})[0] == 400, bad
        refused(s.post("/v1/embeddings", {"model": "bard", "input": "a", "encoding_format": "hex"}), 400, "encoding_format")
        refused(s.chat(), 400, "model")
        fields = s.ask("POST", "/v1/embeddings", {"model": "bard", "input": "a", "user": "me", "shiny": 1})[1]
        assert fields["x-zrt-ignored-fields"] == "shiny", fields


def names_in_paths(program, model):
    """An id may hold what a path cannot: it comes encoded."""
    with Server(program, model, "--context", "64", "--alias", "a/b c") as s:
        for path in ("a%2Fb%20c", "a/b%20c", "%61%2fb%20c"):
            status, _, body = s.ask("GET", "/v1/models/" + path)
            assert status == 200 and body["id"] == "a/b c", (path, body)
        for path in ("a%2Fb", "a%2Fb%2", "a%2Fb%zzc", "a%2Fb%2520c"):
            refused(s.ask("GET", "/v1/models/" + path)[::2], 404, code="model_not_found")


def tools_without_a_description(program, model):
    """It is optional, and templates that join it to a text need not mind."""
    template = ("{% for tool in tools %}// {{ '' + tool.function.description }}\n{{ tool.function.name }}{% endfor %}"
                "{% for message in messages %}{{ message.content }}{% endfor %}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "template.jinja")
        with open(path, "w", encoding="utf-8") as file:
            file.write(template)
        with Server(program, model, "--context", "256", "--chat-template", path) as s:
            for description in ({}, {"description": None}, {"description": "The time"}):
                fine(s.chat(tools=[{"type": "function", "function": {"name": "now", **description}}]))


@case
def ends_of_answers(s):
    ended = fine(s.complete(logit_bias={"2": 100}, max_tokens=4, temperature=0))["choices"][0]
    assert ended["finish_reason"] == "stop" and ended["text"] == "", ended
    body = fine(s.complete(logit_bias={"2": 100}, max_tokens=4, temperature=0, ignore_eos=True))
    assert body["choices"][0]["finish_reason"] == "length" and body["usage"]["completion_tokens"] == 4, body


@case
def characters_over_tokens(s):
    """Bytes of a character come as tokens of their own here; a stream has it whole, or as what is no character."""
    schema = {"type": "object", "properties": {"a": {"const": "\u20ac\U0001f600"}}, "required": ["a"],
              "additionalProperties": False}
    events = s.chat_stream(response_format=structured(schema), max_tokens=200)
    parts = [e["choices"][0]["delta"].get("content") or "" for e in events[:-1] if e["choices"]]
    assert json.loads("".join(parts)) == {"a": "\u20ac\U0001f600"}, parts
    assert not any("\ufffd" in part for part in parts), parts
    lone = fine(s.complete(logit_bias={str(3 + 0xe2): 100}, max_tokens=3, temperature=0))["choices"][0]["text"]
    assert lone == "\ufffd" * 3, lone


@case
def stops_in_characters_and_calls(s):
    schema = {"type": "object", "properties": {"a": {"const": "\u20ac\U0001f600!"}}, "required": ["a"], "additionalProperties": False}
    # What a grammar binds ends where it is whole, whatever stands in it.
    choice = fine(s.chat(response_format=structured(schema), max_tokens=200, stop="\U0001f600"))["choices"][0]
    assert json.loads(choice["message"]["content"]) == {"a": "\u20ac\U0001f600!"} and choice["finish_reason"] == "stop", choice
    events = s.chat_stream(response_format=structured(schema), max_tokens=200, stop=["\u20ac", "}"])
    assert json.loads(text_of(events)) == {"a": "\u20ac\U0001f600!"} and events[-2]["choices"][0]["finish_reason"] == "stop"
    choice = fine(s.chat(tools=[NOW], tool_choice="required", parallel_tool_calls=False, max_tokens=200, stop="now"))["choices"][0]
    assert choice["finish_reason"] == "tool_calls" and len(choice["message"]["tool_calls"]) == 1, choice
    # Bytes of a character come as tokens of their own, and a stop is found across them.
    bytes_of = {str(3 + byte): 100 for byte in "\u20ac".encode()}
    whole = fine(s.complete(logit_bias=bytes_of, max_tokens=60, temperature=1, ignore_eos=True))["choices"][0]["text"]
    assert whole.count("\u20ac") > 0, whole
    cut = fine(s.complete(logit_bias=bytes_of, max_tokens=60, temperature=1, ignore_eos=True, stop="\u20ac"))["choices"][0]
    assert cut["text"] == whole[:whole.find("\u20ac")] and cut["finish_reason"] == "stop", (cut, whole)


@case
def arguments_of_past_calls(s):
    """Arguments are JSON in a text; an object, as some programs send them, means the same."""
    def said(arguments):
        call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return s.chat(messages=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": [call]},
                                {"role": "tool", "tool_call_id": "call_1", "content": "4"}])
    assert content(said('{"a": 1}')) == content(said({"a": 1}))
    for bad in ([1], 1, True):
        refused(said(bad), 400, "messages[1].tool_calls[0].function.arguments")


@case
def dates(s):
    for path in ("/livez", "/nowhere"):
        date = email.utils.parsedate_to_datetime(s.ask("GET", path)[1]["date"])
        assert abs(date.timestamp() - time.time()) < 30 and date.utcoffset().total_seconds() == 0


THINKING = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}<|im_start|>assistant
<think>
{# <tool_call> #}"""


def constrained_answers_are_content(program, model):
    """Behind a template that begins to reason, in the format of Hermes and in harmony's: no mark is looked for."""
    marks = {"x": "x<think>y</think>z<tool_call>{}</tool_call><|channel|>analysis<|message|>"}
    schema = {"type": "object", "properties": {"a": {"const": marks["x"]}}, "required": ["a"], "additionalProperties": False}
    for source in (THINKING, THINKING.replace("<tool_call>", "<|channel|>")):
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as file:
            file.write(source)
            file.flush()
            with Server(program, model, "--context", "512", "--chat-template", file.name) as s:
                for more in ({}, {"logprobs": True}):
                    body = fine(s.chat(response_format=structured(schema), max_tokens=300, **more))
                    message = body["choices"][0]["message"]
                    assert json.loads(message["content"]) == {"a": marks["x"]} and "reasoning_content" not in message, body
                    assert body["usage"]["completion_tokens_details"]["reasoning_tokens"] == 0, body
                    events = s.chat_stream(response_format=structured(schema), max_tokens=300, **more)
                    assert text_of(events) == message["content"], events
                    assert not any("reasoning_content" in c["delta"] for e in events[:-1] for c in e["choices"])
                body = fine(s.chat(response_format={"type": "json_object"}, max_tokens=20))
                assert body["choices"][0]["message"]["content"].lstrip().startswith("{"), body
                if source is THINKING:
                    message = fine(s.chat())["choices"][0]["message"]
                    assert message["reasoning_content"] and not message["content"], message


def other_addresses(program, model):
    """IPv6, where the machine has it, and a socket in the file system."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "zrt.sock")
    command = [program, "serve", "--model", model, "--host", "unix:" + path]

    def lives():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return client.recv(4096).startswith(b"HTTP/1.1 200 ")

    # What a server left that was killed is in nobody's way.
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                if lives():
                    break
            except ConnectionRefusedError:
                time.sleep(0.05)
        # A second server leaves the first one its socket.
        second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert second.returncode == 1 and "another server listens there" in second.stderr, second
        assert lives()
    finally:
        process.terminate()
        assert process.wait(timeout=60) == 0
    assert not os.path.exists(path), "the socket is left"
    shutil.rmtree(folder)
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return print("SKIPPED IPv6: the machine has no ::1")
    with Server(program, model, "--context", "64", "--host", "::1") as s:
        with socket.create_connection(("::1", s.port)) as client:
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")


# Cases by their number in the list of the API's reference, and who proves them: a function here, one of operation.py,
# or a case of the official client, its name with _ for spaces.
NUMBERS = {
    1: "models_are_listed client:lists_models",
    2: "models_are_listed client:lists_models",
    3: "unknown_routes_and_methods",
    4: "unknown_routes_and_methods",
    5: "operation:keys models:tenants_have_models_of_their_own client:needs_a_key",
    6: "operation:keys",
    7: "operation:keys",
    8: "request_ids",
    9: "origins",
    10: "origins",
    11: "bad_bodies bom_and_equal_keys large_bodies operation:bodies_that_come_slowly",
    12: "content_types",
    13: "forms_of_requests",
    14: "forms_of_requests",
    15: "a_chat client:chats",
    16: "roles_and_parts",
    17: "roles_and_parts",
    18: "roles_and_parts",
    19: "roles_and_parts",
    20: "bad_messages",
    21: "bad_messages",
    22: "bad_messages",
    23: "absent_and_unknown_fields",
    24: "absent_and_unknown_fields",
    25: "limits_of_tokens",
    26: "limits_of_tokens",
    27: "limits_of_tokens",
    28: "long_prompts",
    29: "long_prompts",
    30: "ranges_of_sampling",
    31: "ranges_of_sampling",
    32: "ranges_of_sampling",
    33: "logit_biases",
    34: "stops stops_in_characters_and_calls",
    35: "several_choices operation:prefixes_are_a_tenants_own",
    36: "ranges_of_sampling",
    37: "seeds answers_beside_others_are_those_alone",
    38: "a_chat",
    39: "log_probabilities",
    40: "log_probabilities",
    41: "log_probabilities",
    42: "log_probabilities",
    43: "a_chat operation:prefixes_are_a_tenants_own",
    44: "ends_of_answers",
    45: "ends_of_answers",
    46: "a_stream client:streams_what_it_says_whole",
    47: "a_stream",
    48: "usage_of_streams",
    49: "usage_of_streams",
    50: "a_stream",
    51: "choices_of_streams",
    52: "characters_over_tokens",
    53: "operation:prompts_that_take_long",
    54: "clients_that_leave_free_their_slots client:leaves_a_stream",
    55: "operation:clients_that_do_not_read",
    56: "operation:ended_by_a_second_signal",
    57: "operation:drained",
    58: "connections_live_on_behind_a_stream",
    59: "client:streams_through_the_helper",
    60: "log_probabilities_of_streams",
    61: "tools_that_may_be_called",
    62: "tools_that_must_be_called client:calls_tools",
    63: "tools_that_must_be_called client:calls_tools",
    64: "tools_that_may_be_called",
    65: "several_calls",
    66: "calls_of_streams",
    67: "calls_of_streams",
    68: "calls_of_streams",
    69: "roles_and_parts",
    70: "tools_that_must_be_called client:calls_tools",
    71: "bad_tools",
    72: "references_in_tools",
    73: "client:runs_tools",
    74: "roles_and_parts arguments_of_past_calls",
    75: "calls_that_are_cut",
    76: "answers_that_match",
    77: "answers_that_match",
    78: "schemas_that_are_refused",
    79: "schemas_that_are_refused",
    80: "schemas_that_are_refused",
    81: "client:parses_answers_by_a_schema_of_zod",
    82: "calls_that_are_cut client:parses_answers_by_a_schema_of_zod",
    83: "schemas_that_are_refused",
    84: "many_schemas",
    85: "many_schemas",
    86: "forms_of_prompts",
    87: "older_fields echoed_prompts_have_log_probabilities client:scores_a_prompt",
    88: "older_fields",
    89: "older_fields",
    90: "forms_of_prompts",
    91: "older_fields",
    92: "older_fields",
    93: "embeddings client:embeds",
    94: "figures",
    95: "operation:full_queues client:comes_again_when_the_queue_was_full",
    96: "operation:quotas client:comes_again_when_its_tenant_has_enough",
    97: "operation:drained",
    98: "operation:ended_by_a_second_signal",
    99: "answers_beside_others_are_those_alone",
    100: "operation:prefixes_are_a_tenants_own operation:prefixes_are_not_seen_in_time",
    101: "operation:keys",
    102: "mutations:run",
    103: "dates operation:quotas",
    104: "other_addresses",
    105: "operation:slow_and_many_clients",
}
# Cases with servers of their own.
ALONE = {one.__name__: one for one in (embeddings, embeddings_are_load_and_count_as_refused, other_addresses, names_in_paths,
                                       tools_without_a_description, constrained_answers_are_content)}


def every_number_has_its_proof():
    """The table names what exists, and each of the 105 cases is proved."""
    assert set(NUMBERS) == set(range(1, 106)), set(range(1, 106)) ^ set(NUMBERS)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "client", "client.mjs"), encoding="utf-8") as file:
        of_client = {name.replace(" ", "_") for name in re.findall(r'async "([^"]+)"', file.read())}
    here = {**CASES, **ALONE}
    for number, proofs in NUMBERS.items():
        for proof in proofs.split():
            where, _, name = proof.rpartition(":")
            assert name in {"": here, "operation": operation.CASES, "client": of_client, "models": models.CASES, "mutations": vars(mutations)}[where], (number, proof)


def main(program, model):
    options = ("--context", "256", "--slots", "4", "--metrics-compat", "vllm", "--cors-origin", "http://page.example")
    with Server(program, model, *options) as s:
        failed = run_all(CASES, s)
    failed |= run_all({"every_number_has_its_proof": every_number_has_its_proof})
    return failed | run_all(ALONE, program, model)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
