# SPDX-License-Identifier: Apache-2.0
"""Requests near valid ones, and answers to them that must not be a 500: python3 mutations.py ZRT MODEL [--count N]

Batch B of a seed is the same in every run: --only B sends it alone and shows it.
"""
import argparse
import collections
import copy
import json
import multiprocessing
import random
import socket
import sys
import time

from operation import descriptors, memory
from server import Server

KEY = "fuzz-key-0123456789"
KEYS = {"tenants": [{"id": "fuzz", "keys": [KEY], "admin": True}]}

CHAT, TEXT, EMBED = b"/v1/chat/completions", b"/v1/completions", b"/v1/embeddings"
USER = [{"role": "user", "content": "Hi"}]
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "strict": True, "parameters": {
    "type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}, "required": ["a"],
    "additionalProperties": False}}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", None]}, "c": {"$ref": "#/$defs/d"},
                                           "e": {"type": "array", "items": {"type": "string", "maxLength": 3}}},
          "required": ["a"], "$defs": {"d": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^[a-z]+$"}]}}}
SEEDS = [
    (CHAT, {"messages": USER, "max_tokens": 1, "temperature": 0.5, "seed": 3, "stop": ["x"], "logit_bias": {"3": 1},
            "logprobs": True, "top_logprobs": 2, "n": 2, "stream": False, "top_p": 0.9, "presence_penalty": 1, "user": "u"}),
    (CHAT, {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "max_tokens": 1, "tools": [TOOL],
            "tool_choice": "auto", "parallel_tool_calls": False}),
    (CHAT, {"messages": USER + [{"role": "assistant", "content": None, "tool_calls": [CALL]},
                                {"role": "tool", "tool_call_id": "call_1", "content": "4"}], "max_tokens": 1,
            "tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}}),
    (CHAT, {"messages": [{"role": "system", "content": "s"}] + USER, "max_tokens": 1,
            "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}}),
    (CHAT, {"messages": USER, "max_tokens": 2, "stream": True, "stream_options": {"include_usage": True},
            "response_format": {"type": "json_object"}, "reasoning_effort": "low", "metadata": {"a": "b"}}),
    (TEXT, {"prompt": ["a", "b"], "max_tokens": 1, "echo": True, "logprobs": 2, "suffix": None, "best_of": 1}),
    (TEXT, {"prompt": [1, 2, 3], "max_tokens": 2, "stream": True, "ignore_eos": True, "min_p": 0.1, "top_k": 5}),
    (TEXT, {"prompt": "ROMEO:", "max_tokens": 1, "stop": "a", "repetition_penalty": 1.1, "frequency_penalty": -1}),
    (EMBED, {"input": ["a", "b"], "encoding_format": "base64", "dimensions": 3}),
]
ODD = [None, True, False, -1, 0, 1, 2, 65, 4096, 2**31, 2**32, 2**53 + 1, 2**63, 2**64, -2**63, 10**30, 1.5, -0.0, 1e308, 5e-324, "",
       "a", "\u0000", "\ud83d\ude00", "\ufeff", "null", "a" * 5000, [], {}, [[]], [None], {"a": {}}, {"": ""}, [1, "a"],
       {"$ref": "#"}, {"type": "object"}]
RAW = [b"1e99999", b"-", b"01", b"1" * 400, b"NaN", b"Infinity", b"'a'", b"\"\\ud800\"", b"\"\xff\"", b"\"\xc0\x80\"",
       b"\"\xed\xa0\x80\"", b"\"\\u00\"", b"[" * 70, b"{\"a\":" * 70, b"[" * 30 + b"]" * 30, b"\"\x01\"", b"\"", b"//", b"\x00"]
TARGETS = [b"/", b"/v1/models", b"/v1/models/bard", b"/v1/models/%00", b"/v1/tenants/fuzz/usage", b"/v1/tenants//usage",
           b"/v1/load", b"/livez", b"/readyz?a=b", b"/../../etc/passwd", b"//", b"*", b"http://localhost/livez", b"/%ff%fe",
           b"/" + b"a" * 9000, b"/v1/chat/completions/", b"/metrics"]
METHODS = [b"GET", b"POST", b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"PATCH", b"get", b"G" * 300, b"CONNECT", b"TRACE"]
HEADERS = [b"Host: localhost", b"Host: evil.example:1:2", b"X: " + b"a" * 20000, b"X: " + b"a" * 9000, b"X-Request-Id: \xff\xfe",
           b"X-Request-Id: " + b"b" * 300, b"Origin: http://a", b"Authorization: Bearer", b"Authorization: Basic YTpi",
           b"api-key: " + b"k" * 5000, b"Content-Type: text/plain", b"Content-Type: application/json; charset=x; y", b"Cookie: a=b",
           b"Connection: upgrade, close", b"Upgrade: h2c", b"Accept-Encoding: br", b"Range: bytes=0-1", b"X:", b": x", b"X : y",
           b" folded: line", b"X: a\rb", b"X: a\nb", b"X: \x00", b"X\x80: y", b"Expect: 100-continue", b"Expect: nothing"]
LENGTHS = [b"-1", b"+5", b"0x10", b" 5", b"5 5", b"5,5", b"99999999999999999999999", b"18446744073709551615", b"4194305", b"1e3", b"",
           b"\xb2"]
CHUNKS = [b"ffffffffffffffff\r\n", b"-1\r\na\r\n", b"0x5\r\nabcde\r\n", b"5\nabcde\n", b"5;" + b"e" * 400 + b"\r\nabcde\r\n", b"\r\n",
          b"g\r\n", b"400001\r\n", b"3\r\nabcde\r\n", b"5\r\nabcdeX\r\n", b"0\r\nX: " + b"t" * 20000 + b"\r\n\r\n", b"0\r\nX\x00\r\n\r\n"]
ALLOWED = {200, 204, 400, 401, 403, 404, 405, 408, 413, 414, 415, 417, 429, 431}

MOST_GROWTH = 8  # MiB: flat to 1 MiB over 60,000 requests


# --- requests -------------------------------------------------------------------------------------------

Request = collections.namedtuple("Request", "data sound method")


def places(value):
    """All places of a value that can be changed."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


def change_value(body, r):
    found = list(places(body))
    if not found:
        return
    where, key = r.choice(found)
    what = r.random()
    if what < 0.6:
        where[key] = copy.deepcopy(r.choice(ODD))
    elif what < 0.75:
        del where[key]
    elif what < 0.85:
        where[key] = [copy.deepcopy(where[key]) for _ in range(r.choice((2, 40)))]
    elif what < 0.95:
        where[key] = copy.deepcopy(r.choice(found)[0])
    else:
        for _ in range(r.choice((5, 70))):
            where[key] = {"a": where[key]} if r.random() < 0.5 else [where[key]]


def change_bytes(text, r):
    for _ in range(r.choice((1, 2, 8))):
        at = r.randrange(len(text) + 1)
        what = r.random()
        if what < 0.35:
            text[at:at + 1] = bytes([r.randrange(256)])
        elif what < 0.6:
            del text[at:at + r.randrange(1, 9)]
        elif what < 0.8:
            text[at:at] = r.choice(RAW)
        else:
            text[at:at] = text[max(0, at - 20):at]


def changed_body(r):
    path, seed = r.choice(SEEDS)
    body = {"model": "bard", **copy.deepcopy(seed)}
    for _ in range(r.choice((0, 1, 1, 2, 3))):
        change_value(body, r)
    text = bytearray(json.dumps(body, ensure_ascii=r.random() < 0.5).encode("utf-8", "surrogatepass"))
    if r.random() < 0.4:
        change_bytes(text, r)
    return path, bytes(text)


def head(method, path, lines):
    return b"\r\n".join([method + b" " + path + b" HTTP/1.1", *lines, b"", b""])


def usual(length):
    return [b"Host: localhost", b"Authorization: Bearer " + KEY.encode(), b"Content-Type: application/json",
            b"Content-Length: %d" % length]


def of_body(r):
    path, body = changed_body(r)
    return Request(head(b"POST", path, usual(len(body))) + body, True, b"POST")


def of_chunks(r):
    path, body = changed_body(r)
    data, at = b"", 0
    while at < len(body):
        size = r.choice((1, 7, 100, 4000))
        data += b"%x\r\n" % len(body[at:at + size]) + body[at:at + size] + b"\r\n"
        at += size
    return Request(head(b"POST", path, usual(0)[:3] + [b"Transfer-Encoding: chunked"]) + data + b"0\r\n\r\n", True, b"POST")


def of_target(r):
    method, path = r.choice(METHODS), r.choice(TARGETS + [CHAT, TEXT])
    lines = usual(0)[:r.choice((1, 2, 3))] + [line for line in (r.choice(HEADERS[8:17]),) if r.random() < 0.5]
    return Request(head(method, path, lines), True, method)


def of_headers(r):
    path, body = changed_body(r)
    lines = usual(len(body))
    for _ in range(r.choice((1, 1, 2, 120))):
        what, at = r.random(), r.randrange(len(lines) + 1)
        if what < 0.6:
            lines.insert(at, r.choice(HEADERS))
        elif what < 0.8 and lines:
            del lines[at:at + 1]
        else:
            lines.insert(at, r.choice(lines or HEADERS))
    return Request(head(b"POST", path, lines) + body, False, b"POST")


def of_lengths(r):
    path, body = changed_body(r)
    lines = usual(max(0, len(body) + r.choice((-30, -1, 1, 30, 5000))))
    if r.random() < 0.5:
        lines[3:] = [b"Content-Length: " + r.choice(LENGTHS) for _ in range(r.choice((1, 1, 2)))]
    if r.random() < 0.2:
        lines.append(b"Transfer-Encoding: " + r.choice((b"chunked", b"gzip, chunked", b"identity", b"xchunked")))
    return Request(head(b"POST", path, lines) + body, False, b"POST")


def of_broken_chunks(r):
    data = b"".join(r.choice(CHUNKS + [b"5\r\nabcde\r\n"] * 6) for _ in range(r.randrange(1, 6)))
    return Request(head(b"POST", r.choice((CHAT, TEXT)), usual(0)[:3] + [b"Transfer-Encoding: chunked"]) + data, False, b"POST")


def of_bytes(r):
    data = bytearray(r.choice((of_body, of_chunks, of_target))(r).data)
    for _ in range(r.choice((1, 2, 5))):
        at = r.randrange(min(len(data), 300) or 1)
        if r.random() < 0.6:
            data[at:at + 1] = bytes([r.randrange(256)])
        else:
            del data[at:at + r.randrange(1, 9)]
    return Request(bytes(data), False, b"POST")


def of_cut(r):
    data = of_body(r).data
    return Request(data[:r.randrange(len(data))], False, b"POST")


BROKEN = (of_headers, of_lengths, of_broken_chunks, of_bytes, of_cut)


def batch(number):
    """Requests of one connection, and the pieces in which they are sent."""
    r = random.Random(number)
    what = r.random()
    if what < 0.5:
        requests = [r.choice((of_body, of_body, of_chunks))(r) for _ in range(r.choice((1, 2, 4, 8)))]
    elif what < 0.6:
        requests = [of_target(r)]
    else:
        requests = [of_body(r) for _ in range(r.choice((0, 0, 1, 3)))] + [r.choice(BROKEN)(r)]
    data = b"".join(request.data for request in requests)
    cuts = sorted(r.randrange(len(data) + 1) for _ in range(r.choice((0, 0, 0, 1, 4))))
    return requests, [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]


# --- answers --------------------------------------------------------------------------------------------

class Closed(Exception):
    """The server ended the connection."""


class Wire:
    """A connection that reads answers one after the other."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data = b""

    def send(self, pieces):
        """Sends what the server takes: one that has refused a request closes."""
        try:
            for piece in pieces:
                self.socket.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def more(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise Closed(self.data[:200])
        self.data += piece

    def until(self, mark):
        while mark not in self.data:
            self.more()
        line, _, self.data = self.data.partition(mark)
        return line

    def take(self, size):
        while len(self.data) < size:
            self.more()
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    def answer(self, method):
        """Status, body, and whether the connection ends."""
        first, *lines = self.until(b"\r\n\r\n").split(b"\r\n")
        status = int(first[9:12])
        if status == 100:
            return self.answer(method)
        fields = dict(line.lower().split(b": ", 1) for line in lines)
        body = b""
        if method == b"HEAD" or status == 204:
            pass
        elif fields.get(b"transfer-encoding") == b"chunked":
            while size := int(self.until(b"\r\n"), 16):
                body += self.take(size)
                self.until(b"\r\n")
            self.until(b"\r\n")
        else:
            body = self.take(int(fields[b"content-length"]))
        return status, body, fields.get(b"connection") == b"close"

    def rest(self):
        """What has come of a connection that may wait for more."""
        self.socket.settimeout(0.01)
        try:
            while True:
                self.more()
        except (Closed, OSError):
            return self.data


def fault_of(status, body):
    """What is wrong with an answer, or None."""
    if status not in ALLOWED:
        return f"status {status}"
    if status >= 400 and body and set(json.loads(body)["error"]) != {"message", "type", "param", "code"}:
        return "no error object"
    return "a server error in a stream" if status == 200 and b'"server_error"' in body else None


def send_sound(port, wire, requests, pieces, statuses):
    """Every request of sound framing has one answer. Returns the connection while it lives, and faults."""
    wire = wire or Wire(port)
    wire.send(pieces)
    for request in requests:
        status, body, closes = wire.answer(request.method)
        statuses[status] += 1
        if fault := fault_of(status, body):
            return None, fault
        if closes:
            wire.socket.close()
            return None, None
    return wire, None


def fault_of_rest(data, statuses):
    found = [int(part[:3]) for part in data.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]
    statuses.update(found)
    return next((f"status {status}" for status in found if status not in ALLOWED and status != 100), None)


def work(port, numbers, most, found):
    """Sends batches; broken ones are heard a while later, since no answer to them is certain."""
    wire, late, statuses, sent, faults = None, collections.deque(), collections.Counter(), 0, []

    def hear(number, broken):
        if fault := fault_of_rest(broken.rest(), statuses):
            faults.append((number, fault))
        broken.socket.close()
    for number in numbers:
        requests, pieces = batch(number)
        sent += len(requests)
        try:
            if all(request.sound for request in requests):
                wire, fault = send_sound(port, wire, requests, pieces, statuses)
                if fault:
                    faults.append((number, fault))
            else:
                late.append((number, Wire(port)))
                late[-1][1].send(pieces)
        except (Closed, OSError, ValueError, KeyError) as error:
            wire = None
            faults.append((number, repr(error)))
        if len(late) > most:
            hear(*late.popleft())
        if len(faults) > 20:
            break
    for one in late:
        hear(*one)
    found.put((sent, statuses, faults))


def early(held):
    """The most memory of the first third: what every request adds to would stand out beside it."""
    return max(held[:len(held) // 3 + 1])


def run(program, model, count, workers, seed, embeddings):
    options = ("--context", "128", "--slots", "8", "--cors-origin", "http://a", *(("--embeddings",) if embeddings else ()))
    with Server(program, model, *options, keys=KEYS) as s:
        before = descriptors(s)
        batches = seed * 100_000_000, seed * 100_000_000 + count * 100 // 277  # of 2.77 requests each
        found = multiprocessing.Queue()
        began = time.monotonic()
        processes = [multiprocessing.Process(target=work, args=(s.port, range(batches[0] + w, batches[1], workers), 32, found))
                     for w in range(workers)]
        for process in processes:
            process.start()
        sent, statuses, faults, held = 0, collections.Counter(), [], []
        for _ in processes:
            while found.empty():
                held.append(memory(s))
                time.sleep(0.2)
            of_one = found.get()
            sent, statuses, faults = sent + of_one[0], statuses + of_one[1], faults + of_one[2]
        for process in processes:
            process.join()
        print(f"{sent} requests in {time.monotonic() - began:.0f} s, answers: {dict(sorted(statuses.items()))}, "
              f"memory: {early(held) >> 20} MiB in the first third, {memory(s) >> 20} at the end")
        for number, fault in faults:
            print(f"FAILED batch {number}: {fault}")
        assert not faults
        assert s.ask("GET", "/livez")[0] == 200
        assert sum(statuses.values()) > sent // 2 and len(statuses) > 8, statuses
        s.wait_idle(key=KEY)
        # Nothing is left of them: no memory and, behind the deadline of those that were cut, no descriptor.
        assert memory(s) < early(held) + (MOST_GROWTH << 20), [one >> 20 for one in held[::max(1, len(held) // 20)]]
        for _ in range(800):
            if descriptors(s) <= before + 1:
                break
            time.sleep(0.05)
        assert descriptors(s) <= before + 1, (descriptors(s), before)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=6000)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--embeddings", action="store_true")
    parser.add_argument("--only", type=int)
    o = parser.parse_args()
    if o.only is None:
        return run(o.program, o.model, o.count, o.workers, o.seed, o.embeddings)
    requests, pieces = batch(o.only)
    with Server(o.program, o.model, "--context", "128", "--slots", "8", *(("--embeddings",) if o.embeddings else ()), keys=KEYS) as s:
        wire = Wire(s.port)
        wire.send(pieces)
        time.sleep(1)
        print([request.data for request in requests], wire.rest(), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
