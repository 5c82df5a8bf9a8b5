#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `zrt serve` beside llama.cpp's llama-server: the same file, threads, context, slots and requests, in turn.

Three figures: tokens per second at 1 to 64 clients whose prompts and answers have the lengths of chats; the time to the
first token of a short request while another client's long prompt is computed, by the clock and in processor time; and the
processor time that zrt's threads other than the engine's take for a streamed token.
"""
import argparse
import http.client
import json
import os
import random
import re
import signal
import statistics
import subprocess
import tempfile
import threading
import time

KEYS = {"tenants": [{"id": "chat", "keys": ["chat-key-0123456789"]}, {"id": "batch", "keys": ["batch-key-0123456789"], "priority": "batch"}]}


STREAMED = 500  # tokens of an answer whose processor time is taken


class Server:
    """A server of the OpenAI API in a process of its own."""

    def __init__(self, command, ready):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        self.port = None
        for _ in range(600):
            self.log.seek(0)
            text = self.log.read()
            found = re.search(ready, text)
            if found:
                self.port = int(found.group(1))
                break
            if self.process.poll() is not None:
                raise SystemExit(text)
            time.sleep(0.1)
        self.wait_healthy()

    def wait_healthy(self):
        for _ in range(600):
            try:
                connection = self.connect()
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit("the server did not get ready")

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def process_seconds(self):
        """Of the process, threads that have ended included."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def cpu_seconds(self):
        """Of each thread, by the nanoseconds that the scheduler counts: a thread that runs for microseconds has no ticks."""
        found = {}
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{thread}/schedstat", encoding="ascii") as file:
                found[thread] = int(file.read().split()[0]) / 1e9
        return found


def of_zrt(o, slots, context, keys=None, program=None):
    return Server([program or o.program, "serve", "--model", o.model, "--port", "0", "--threads", str(o.threads), "--slots", str(slots),
                   "--context", str(context), "--alias", "m", *(("--keys", keys) if keys else ())], r"http://[^ ]*:(\d+)")


def of_peer(o, slots, context):
    # A context beyond the one that the file names must be asked for twice.
    return Server([o.peer, "-m", o.model, "--port", str(o.port), "-t", str(o.threads), "-tb", str(o.threads), "-np", str(slots), "-c", str(slots * context),
                   "--override-kv", f"llama.context_length=int:{context}", "--alias", "m", "--no-webui"], r"listening on http://[^ ]*:(\d+)")


def ask(server, prompt, tokens, stream=False, key=None, seed=1):
    """The answer's body, to be read, on a connection of its own: not every server keeps one alive behind a stream."""
    body = {"model": "m", "prompt": prompt, "max_tokens": tokens, "temperature": 1.0, "seed": seed, "ignore_eos": True, "stream": stream}
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    connection = server.connect()
    connection.request("POST", "/v1/completions", json.dumps(body), {**headers, "Connection": "close"})
    answer = connection.getresponse()
    if answer.status != 200:
        raise SystemExit(f"status {answer.status}: {answer.read()[:300]}")
    return answer


def prompt_of(r, vocabulary, length):
    """Ids, so that both servers have the same number of tokens; no two prompts begin alike."""
    return [r.randrange(300, vocabulary) for _ in range(length)]


def lengths(r, scale):
    """Of a chat's prompt and answer: a lognormal, and a mixture of short and long answers."""
    prompt = min(3000, max(16, round(scale * r.lognormvariate(6.63, 0.99))))
    answer = r.lognormvariate(4.5, 0.6) if r.random() < 0.6 else r.gauss(400, 40)
    return prompt, min(512, max(8, round(scale * answer)))


def throughput(server, o, clients):
    """Prompt and answer tokens per second, and all tokens per second of the server's processor time."""
    done, until = [], time.monotonic() + o.seconds
    before = server.process_seconds()

    def client(number):
        r = random.Random(1000 * clients + number)
        while time.monotonic() < until:
            prompt, tokens = lengths(r, o.scale)
            # With room for the token that begins a text: an answer that the context cuts is shorter than the other server's.
            prompt = min(prompt, o.context - tokens - 1)
            usage = json.loads(ask(server, prompt_of(r, o.vocabulary, prompt), tokens, seed=r.randrange(1 << 30)).read())["usage"]
            assert usage["completion_tokens"] == tokens and usage["prompt_tokens"] - prompt in (0, 1), usage
            done.append((time.monotonic(), prompt, tokens))
    began = time.monotonic()
    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Every request that began is counted, and the time until the last one's end.
    took = max(end for end, _, _ in done) - began
    prompts, answers = sum(p for _, p, _ in done), sum(t for _, _, t in done)
    return prompts / took, answers / took, (prompts + answers) / (server.process_seconds() - before)


def first_tokens(server, o, keys):
    """Seconds to the first token of short requests and the server's processor time in them, alone and while long prompts of
    another client are computed. On a machine that does much else the processor time says what the server had to do first."""
    chat, batch = keys or (None, None)
    r, ends, busy = random.Random(5), threading.Event(), threading.Event()

    def long_client():
        own = random.Random(6)
        while not ends.is_set():
            busy.set()
            ask(server, prompt_of(own, o.vocabulary, o.long), 1, key=batch).read()
            busy.clear()
            time.sleep(0.02)

    def measure(count, while_busy):
        found = []
        while len(found) < count:
            if while_busy and not busy.wait(30):
                raise SystemExit("no long prompt runs")
            # Some way into the prompt.
            time.sleep(r.random() * 0.2)
            sure = not while_busy or busy.is_set()
            spent, began = server.cpu_seconds(), time.monotonic()
            answer = ask(server, prompt_of(r, o.vocabulary, 20), 2, stream=True, key=chat)
            line = answer.readline()
            while not line.startswith(b"data: "):
                line = answer.readline()
            took = time.monotonic() - began
            computed = sum(now - spent.get(thread, 0) for thread, now in server.cpu_seconds().items())
            answer.read()
            if sure:
                found.append((took, computed))
        return found
    alone = measure(40, False)
    thread = threading.Thread(target=long_client)
    thread.start()
    beside = measure(o.samples, True)
    ends.set()
    thread.join()
    return alone, beside


def http_time(o, clients, program):
    """Microseconds of zrt's threads other than the engine's, and of the engine's, for a streamed token."""
    with of_zrt(o, clients, 4096, program=program) as server:
        before = server.cpu_seconds()

        def client(number):
            for _ in range(3):
                ask(server, [300 + number], STREAMED, stream=True).read()
        threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spent = sorted(now - before.get(thread, 0) for thread, now in server.cpu_seconds().items())
        # The engine's thread computes the model and is the busiest by far.
        return 1e6 * sum(spent[:-1]) / (clients * 3 * STREAMED), 1e6 * spent[-1] / (clients * 3 * STREAMED)


def milliseconds(values):
    ordered = sorted(values)
    return (f"p50 {1e3 * statistics.median(ordered):.1f} ms, p99 {1e3 * ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]:.1f} ms, "
            f"most {1e3 * ordered[-1]:.1f} ms of {len(ordered)}")


def compare_throughput(o):
    print("| clients | zrt: prompt, generated tokens/s | llama-server | ratio of all | tokens by processor second: zrt, llama-server, "
          "ratio |\n|---|---|---|---|---|")
    for clients in o.clients:
        rows = []
        for _ in range(o.rounds):
            with of_zrt(o, clients, o.context) as server:
                p, g, by_time = throughput(server, o, clients)
            with of_peer(o, clients, o.context) as server:
                q, h, peer_by_time = throughput(server, o, clients)
            rows.append((f"{p:,.0f}, {g:,.0f}", f"{q:,.0f}, {h:,.0f}", f"{(p + g) / (q + h):.2f}",
                         f"{by_time:,.0f}, {peer_by_time:,.0f}, {by_time / peer_by_time:.2f}"))
        print(f"| {clients} | " + " | ".join("; ".join(column) for column in zip(*rows)) + " |", flush=True)


def show_first_tokens(name, found):
    print(f"{name}:", flush=True)
    for where, pairs in zip(("alone", "beside"), found):
        for what, values in zip(("by the clock", "processor time"), zip(*pairs)):
            print(f"  {where}, {what}: {milliseconds(values)}", flush=True)


def compare_first_tokens(o):
    print("Time to the first token of 20 tokens: alone, and beside a long prompt.")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as keys:
        json.dump(KEYS, keys)
        keys.flush()
        with of_zrt(o, 4, o.long + 256, keys.name) as server:
            show_first_tokens("zrt", first_tokens(server, o, [t["keys"][0] for t in KEYS["tenants"]]))
    if o.peer is None:
        return
    with of_peer(o, 4, o.long + 256) as server:
        show_first_tokens("llama-server", first_tokens(server, o, None))


def show_http_time(o):
    """One program, or two in turn: noise that lasts longer than a round meets both."""
    for clients in (1, 16):
        found = {program: [] for program in (o.program, *o.beside)}
        for _ in range(o.rounds):
            for program, rounds in found.items():
                rounds.append(http_time(o, clients, program))
        for program, rounds in found.items():
            layer, engine = (sorted(column) for column in zip(*rounds))
            print(f"{clients} client(s), {program}: {statistics.median(layer):.1f} us of the HTTP layer ({layer[0]:.1f} - {layer[-1]:.1f}) and "
                  f"{statistics.median(engine):.1f} us of the engine for a streamed token", flush=True)


PARTS = {"throughput": compare_throughput, "first": compare_first_tokens, "http": show_http_time}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--program", required=True, help="the program zrt")
    parser.add_argument("--beside", nargs="*", default=[], help="other builds of zrt, whose HTTP layer is measured in turn")
    parser.add_argument("--peer", help="llama.cpp's llama-server; throughput needs it")
    parser.add_argument("--port", type=int, default=18080, help="of the peer")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 4, 16, 64])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--scale", type=float, default=1, help="of all lengths of throughput, for large models on small machines")
    parser.add_argument("--context", type=int, default=4096, help="of a slot in throughput")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--vocabulary", type=int, default=2048)
    parser.add_argument("--long", type=int, default=8192, help="tokens of the long prompt")
    parser.add_argument("--samples", type=int, default=100)
    o = parser.parse_args()
    if o.peer is None and "throughput" in o.parts:
        parser.error("--peer is missing")
    print(f"{o.threads} thread(s), load {os.getloadavg()[0]:.1f} at the start", flush=True)
    for part in o.parts:
        PARTS[part](o)


if __name__ == "__main__":
    main()
