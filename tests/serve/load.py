# SPDX-License-Identifier: Apache-2.0
"""Many clients, of which some are killed, stall or leave: python3 load.py ZRT MODEL [--minutes M] [--clients N] [--tls]

Only the right errors come, and in the end nothing is left: no request, no descriptor, no page, no memory.
"""
import argparse
import collections
import json
import random
import socket
import struct
import sys
import threading
import time

import mixed_requests
from operation import descriptors, memory, threads
from server import Server, events_of, speaks_tls

ROOT = "root-key-0123456789"
TENANTS = [{"id": "chat", "keys": ["chat-key-0123456789"], "queue": 24}, {"id": "work", "keys": ["work-key-0123456789"], "priority": "standard"},
           {"id": "batch", "keys": ["batch-key-0123456789"], "priority": "batch", "slots": 3, "queue": 8}]
KEYS = {"tenants": TENANTS + [{"id": "root", "keys": [ROOT], "admin": True}]}
CONTEXT, SLOTS = 512, 12
PATIENCE = 300  # seconds: batch work waits long on a machine that does much else
LONG = {"model": "bard", "prompt": "a", "max_tokens": 450, "ignore_eos": True}
# Slots and queue, or those of the tenant, are full; the client was told to come again.
REFUSED = {(429, "rate_limit_exceeded"), (503, "overloaded")}


class Client:
    """Asks again and again, in one way after the other, until the time is over."""

    def __init__(self, server, number, until, found):
        self.server, self.until, self.found = server, until, found
        self.random = random.Random(number)

    def run(self):
        while time.monotonic() < self.until:
            way = self.random.choice((self.whole, self.whole, self.stream, self.stream, self.leave_a_stream, self.be_killed, self.stall,
                                      self.send_slowly, self.leave_while_waiting, self.ask_wrongly, self.look))
            try:
                self.found[way.__name__, way()] += 1
            except Exception as error:  # pylint: disable=broad-except
                self.found["FAILED", f"{way.__name__}: {error!r}"[:300]] += 1

    def key(self):
        return self.random.choice(TENANTS)["keys"][0]

    def open(self, path, body, key=None):
        connection = self.server.connect(PATIENCE)
        connection.request("POST", path, json.dumps(body),
                           {"Content-Type": "application/json", "Authorization": f"Bearer {key or self.key()}"})
        return connection

    def refusal(self, answer):
        """The right refusal, behind which the client waits a little."""
        error = json.loads(answer.read())["error"]
        assert (answer.status, error["code"]) in REFUSED and 1 <= int(answer.headers["Retry-After"]) <= 60, (answer.status, error)
        time.sleep(self.random.uniform(0.1, 0.5))
        return "refused"

    def whole(self):
        path, body = mixed_requests.request(self.random.randrange(1 << 40))
        connection = self.open(path, body)
        answer = connection.getresponse()
        if answer.status != 200:
            return self.refusal(answer)
        mixed_requests.plain_answer(json.loads(answer.read()))
        connection.close()
        return "fine"

    def stream(self):
        path, body = mixed_requests.request(self.random.randrange(1 << 40))
        connection = self.open(path, {**body, "stream": True, "stream_options": {"include_usage": True}})
        answer = connection.getresponse()
        if answer.status != 200:
            return self.refusal(answer)
        mixed_requests.plain_answer(mixed_requests.whole_of(events_of(answer.read())))
        connection.close()
        return "fine"

    def begin(self):
        connection = self.open("/v1/completions", {**LONG, "stream": True, "n": self.random.choice((1, 3))})
        answer = connection.getresponse()
        if answer.status == 200:
            answer.read(self.random.choice((1, 500, 5000)))
        return connection, answer

    def leave_a_stream(self):
        connection, answer = self.begin()
        answer.close()
        connection.close()
        return "left"

    def be_killed(self):
        """The end of a process whose socket still had bytes: a reset."""
        connection, answer = self.begin()
        connection.sock and connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        answer.close()
        connection.close()
        return "killed"

    def stall(self):
        """Reads nothing for a while and then the rest, which may say that it was too slow."""
        connection, answer = self.begin()
        if answer.status != 200:
            return self.refusal(answer)
        time.sleep(self.random.choice((0.2, 1, 3)))
        data = answer.read()
        connection.close()
        assert b"[DONE]" in data[-40:] or b"client_too_slow" in data[-400:], data[-400:]
        return "fine"

    def send_slowly(self):
        body = json.dumps({**LONG, "max_tokens": 2}).encode()
        head = (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
                b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (self.key().encode(), len(body)))
        data = b""
        with self.server.open_socket(PATIENCE) as client:
            for piece in (head[:20], head[20:], body[:5], body[5:]):
                client.sendall(piece)
                time.sleep(0.1)
            while piece := client.recv(65536):
                data += piece
        assert data.startswith((b"HTTP/1.1 200", b"HTTP/1.1 429", b"HTTP/1.1 503")), data[:200]
        return "fine"

    def leave_while_waiting(self):
        connection = self.open("/v1/completions", LONG)
        time.sleep(self.random.choice((0, 0.01, 0.1)))
        connection.close()
        return "left"

    def ask_wrongly(self):
        status, answer = self.server.post("/v1/completions", {**LONG, "top_p": 7}, key=self.key())
        assert status == 400 and answer["error"]["param"] == "top_p", (status, answer)
        return "fine"

    def look(self):
        for path in ("/metrics", "/v1/load", "/readyz", "/livez"):
            assert self.server.ask("GET", path, key=ROOT)[0] == 200, path
        return "fine"


def check_nothing_is_held(s):
    """All pages are there: as many answers as there are slots fill the whole context, and none gives way to another."""
    s.wait_idle(60, ROOT)
    before = s.metric("zrt_preemptions_total", ROOT)
    status, answer = s.post("/v1/completions", {**LONG, "prompt": [5], "n": SLOTS, "max_tokens": CONTEXT}, key=ROOT)
    assert status == 200 and answer["usage"]["completion_tokens"] == SLOTS * CONTEXT, (status, answer.get("usage", answer))
    assert s.metric("zrt_preemptions_total", ROOT) == before, "pages are missing"


def check_figures(s, opened, threads_before):
    for _ in range(100):
        if descriptors(s) <= opened:
            break
        time.sleep(0.1)
    assert descriptors(s) <= opened, f"{descriptors(s)} descriptors, {opened} before"
    assert threads(s) == threads_before, f"{threads(s)} threads, {threads_before} before"
    text = s.ask("GET", "/metrics", key=ROOT)[2].decode()
    assert 'zrt_http_answers_total{status="500"}' not in text


def run(program, model, minutes, clients, secure):
    options = ("--context", str(CONTEXT), "--slots", str(SLOTS), "--queue", "40")
    with Server(program, model, *options, keys=KEYS, secure=secure) as s:
        check_nothing_is_held(s)
        opened, threads_before = descriptors(s), threads(s)
        found, began, seen = collections.Counter(), time.monotonic(), []
        until = began + 60 * minutes
        running = [threading.Thread(target=Client(s, number, until, found).run) for number in range(clients)]
        for thread in running:
            thread.start()
        while time.monotonic() < until:
            time.sleep(min(1.0, max(0.0, until - time.monotonic())))
            seen.append(memory(s) / 2**20)
        for thread in running:
            thread.join()
        check_figures(s, opened, threads_before)
        check_nothing_is_held(s)
        early = max(seen[:max(1, len(seen) // 5)])
        print(f"{clients} clients{' by TLS' if secure else ''}, {minutes:g} minutes; memory: {early:.0f} MiB most in the first fifth, {max(seen):.0f} ever, "
              f"{memory(s) / 2**20:.0f} at the end")
        for (way, outcome), count in sorted(found.items()):
            print(f"  {way:20} {outcome:10} {count}")
        assert not any(way == "FAILED" for way, _ in found)
        assert sum(found.values()) > clients
        # The allocator keeps what its busiest moment took.
        assert memory(s) / 2**20 < early + 16, seen[::max(1, len(seen) // 20)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--minutes", type=float, default=0.25)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--tls", action="store_true", help="all clients speak TLS")
    o = parser.parse_args()
    if o.tls and not speaks_tls(o.program):
        print("SKIPPED: a build without OpenSSL; ./dev setup installs it")
        return 77
    run(o.program, o.model, o.minutes, o.clients, o.tls)
    return 0


if __name__ == "__main__":
    sys.exit(main())
