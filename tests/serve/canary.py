# SPDX-License-Identifier: Apache-2.0
"""Answers beside others' are those alone, for requests of every kind: python3 canary.py ZRT MODEL [--count N]

Each request runs alone on a server of its own first; then several tenants ask for all of them at once.
"""
import argparse
import random
import sys
import threading
import time

import mixed_requests
from server import Server

TENANTS = [{"id": "chat", "keys": ["chat-key-0123456789"], "weight": 32},
           {"id": "work", "keys": ["work-key-0123456789"], "priority": "standard", "slots": 5},
           {"id": "batch", "keys": ["batch-key-0123456789"], "priority": "batch"}]
KEYS = {"tenants": TENANTS + [{"id": "root", "keys": ["root-key-0123456789"], "admin": True}]}


def run_threads(count, work):
    threads = [threading.Thread(target=work, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def alone(program, model, numbers):
    """One request at a time on a server with one slot."""
    with Server(program, model, "--context", "512", "--slots", "1") as s:
        connection = s.connect()
        return {number: mixed_requests.ask(s, number, False, None, connection) for number in numbers}


def together(program, model, numbers, clients, expected):
    """All tenants at once, as streams or whole, with slots for less than they ask for. Returns which differ."""
    wrong = []
    left = list(numbers)
    random.Random(1).shuffle(left)
    with Server(program, model, "--context", "512", "--slots", "12", keys=KEYS) as s:
        def work(_):
            while left:
                number = left.pop()
                key = TENANTS[number % len(TENANTS)]["keys"][0]
                try:
                    if mixed_requests.ask(s, number, number % 2 == 0, key) != expected[number]:
                        wrong.append((number, "differs"))
                except Exception as error:  # pylint: disable=broad-except
                    wrong.append((number, repr(error)[:300]))
        run_threads(clients, work)
        s.wait_idle(key="root-key-0123456789")
        preempted = s.metric("zrt_preemptions_total", "root-key-0123456789")
        cached = s.metric("zrt_prefix_cache_hit_tokens_total", "root-key-0123456789")
        print(f"{preempted:.0f} preemptions, {cached:.0f} tokens from prefixes")
        assert cached > 0
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--clients", type=int, default=32)
    o = parser.parse_args()
    numbers = range(o.first, o.first + o.count)
    began = time.monotonic()
    expected = alone(o.program, o.model, numbers)
    between = time.monotonic()
    wrong = together(o.program, o.model, numbers, o.clients, expected)
    print(f"{o.count} requests, {len(wrong)} differ; alone {between - began:.0f} s, together {time.monotonic() - between:.0f} s")
    for one in wrong[:20]:
        print("FAILED", *one)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
