# SPDX-License-Identifier: Apache-2.0
"""Keys, quotas, draining and hostile clients of `zrt serve`: python3 operation.py ZRT MODEL"""
import base64
import concurrent.futures
import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from server import Server, run_all, events_of

ALICE, BOB, ROOT = "alice-key-0123456789", "bob-key-0123456789", "root-key-0123456789"
KEYS = {"tenants": [{"id": "alice", "keys": [ALICE]}, {"id": "bob", "keys": [BOB], "slots": 1, "queue": 2},
                    {"id": "admin", "keys": [ROOT], "admin": True, "priority": "standard"}]}
BODY = {"model": "bard", "prompt": "a", "max_tokens": 2}
LONG = {"model": "bard", "prompt": "a", "max_tokens": 250, "ignore_eos": True}


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def basic(key, name="anyone"):
    return {"Authorization": "bAsIc " + base64.b64encode(f"{name}:{key}".encode()).decode()}


def keys(program, model):
    with Server(program, model, "--context", "256", keys=KEYS) as s:
        for path in ("/", "/v1/models", "/metrics", "/v1/tenants/alice/usage", "/v1/load"):
            for headers in ({}, bearer("wrong-key-0123456789"), basic("wrong-key-0123456789"), {"Authorization": ALICE},
                            {"Authorization": "Basic"}, {"Authorization": "Basic " + ALICE}, {"Authorization": "Basic YWxpY2U="}):
                status, fields, _ = s.ask("GET", path, headers=headers)
                # A browser asks its user for a password where it reads Basic, and so for the page alone.
                assert status == 401 and fields["www-authenticate"].startswith("Basic realm=" if path == "/" else "Bearer"), (path, headers, fields)
            for headers in (bearer(ROOT), basic(ROOT), basic(ROOT, "")):
                assert s.ask("GET", path, headers=headers)[0] == 200, (path, headers)
        status, fields, body = s.ask("POST", "/v1/completions", BODY)
        assert status == 401 and body["error"]["code"] == "invalid_api_key" and fields["www-authenticate"] == "Bearer"
        for path in ("/livez", "/readyz", "/health"):
            assert s.ask("GET", path)[0] == 200, path
        # Who has no key learns no routes and no methods.
        for method, path, status in (("GET", "/v1/nothing", 404), ("DELETE", "/v1/models", 405), ("POST", "/", 405)):
            assert s.ask(method, path)[0] == 401 and s.ask(method, path, key=ALICE)[0] == status, path
        assert s.ask("OPTIONS", "/v1/nothing")[0] == 204 and s.ask("PUT", "/livez")[0] == 405
        for scheme in ("Bearer", "bearer", "BEARER"):
            assert s.ask("GET", "/v1/models", headers={"Authorization": f"{scheme} {ALICE}"})[0] == 200
        assert s.ask("GET", "/v1/models", headers={"api-key": ALICE})[0] == 200
        assert s.ask("POST", "/v1/completions", BODY, headers=basic(ALICE))[0] == 200
        assert s.ask("GET", "/v1/tenants/alice/usage", key=ALICE)[2]["completion_tokens"] == 2
        assert s.ask("GET", "/v1/tenants/alice/usage", key=BOB)[0] == 403
        assert s.ask("GET", "/v1/tenants/alice/usage", key=ROOT)[0] == 200
        assert s.ask("GET", "/v1/tenants/nobody/usage", key=ROOT)[0] == 404
        assert s.metric("zrt_generation_tokens_total", key=ROOT) == 2
        assert s.metric("zrt_generation_tokens_total", key=BOB) == 0, "a figure of another tenant"
        # Of more choices than its queue holds not even an idle machine takes one.
        status, _, body = s.ask("POST", "/v1/completions", {**BODY, "n": 3}, key=BOB)
        assert status == 400 and body["error"]["param"] == "n", body
        assert s.ask("POST", "/v1/completions", {**BODY, "n": 2}, key=BOB)[0] == 200

        # A new file takes the place of the old one; a broken one does not.
        s.write_keys({"tenants": [{"id": "carol", "keys": ["carol-key-0123456789"], "context": 64}]})
        s.process.send_signal(signal.SIGHUP)
        for _ in range(100):
            if s.ask("GET", "/v1/models", key=ALICE)[0] == 401:
                break
            time.sleep(0.05)
        assert s.ask("GET", "/v1/models", key=ALICE)[0] == 401
        assert s.ask("GET", "/v1/models", key="carol-key-0123456789")[0] == 200
        # An answer ends where its tenant's context does.
        status, body = s.post("/v1/completions", LONG, key="carol-key-0123456789")
        assert status == 200 and body["usage"]["total_tokens"] == 64, body
        with open(s.keys_path, "w", encoding="utf-8") as file:
            file.write("{")
        s.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert s.ask("GET", "/v1/models", key="carol-key-0123456789")[0] == 200


def figures_are_a_tenants_own(program, model):
    """Without the admin right nothing that is shown depends on what another tenant asks."""
    with Server(program, model, "--context", "4096", "--metrics-compat", "vllm", "--metrics-open", keys=KEYS) as s:
        def shown(key):
            return s.ask("GET", "/metrics", key=key)[2].decode(), s.ask("GET", "/v1/load", key=key)[2]
        assert s.ask("POST", "/v1/completions", BODY, key=BOB)[0] == 200
        before = shown(BOB)
        long = {**BODY, "prompt": "To be, or not to be, that is the question: whether it is nobler in the mind"}
        for _ in range(2):
            assert s.ask("POST", "/v1/completions", long, key=ALICE)[0] == 200
        connection, answer = begin(s, ALICE, max_tokens=4000)
        answer.read(1)
        during = shown(BOB)
        for _ in range(100):
            if shown(ALICE)[1]["running"] == 1:
                break
            time.sleep(0.05)
        text, load = shown(ALICE)
        admin, all_of_it = shown(ROOT)
        anyone = s.ask("GET", "/metrics")[2].decode()
        connection.close()
        assert before == during, (before, during)
        assert load["running"] == 1 and load["pages_used"] > 0 and [t["id"] for t in load["tenants"]] == ["alice"], load
        assert 'vllm:num_requests_running{model_name="bard",engine="0"} 1\n' in text and "zrt_cached" not in text
        hits = s.ask("GET", "/v1/tenants/alice/usage", key=ALICE)[2]["cached_tokens"]
        assert hits > 0 and f'vllm:prefix_cache_hits_total{{model_name="bard",engine="0"}} {hits}\n' in text, text
        assert all_of_it["running"] == 1 and "connections" in all_of_it and "zrt_request_prompt_tokens_sum" in admin
        assert "tenant=\"alice\"" in admin
        # Routers learn how full it is, and nothing of any request.
        names = {line.split("{")[0] for line in anyone.splitlines() if not line.startswith("#")}
        assert names == {"zrt_slots", "zrt_kv_pages", "vllm:cache_config_info", "vllm:gpu_cache_usage_perc", "vllm:num_requests_swapped",
                         *(prefix + name for prefix in ("zrt_", "vllm:") for name in
                           ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"))}, names


def key_files_are_checked(program, model):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "keys.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**KEYS, "tenant": []}, file)
        run = subprocess.run([program, "serve", "--model", model, "--port", "0", "--keys", path], capture_output=True, text=True,
                             timeout=60, check=False)
        assert run.returncode == 1 and "'tenant'" in run.stderr, run


def guesses_are_counted(program, model):
    """A guess of several tokens is one draft, as vLLM counts them."""
    with Server(program, model, "--context", "512", "--draft", "8", "--metrics-compat", "vllm") as s:
        status, _ = s.post("/v1/completions", {"model": "bard", "prompt": "ha ha ha ha ha ha ha ha ha ha ha ha", "max_tokens": 60, "temperature": 0,
                                               "ignore_eos": True})
        assert status == 200
        drafts, tokens, right = (s.metric(f"vllm:spec_decode_num_{name}_total") for name in ("drafts", "draft_tokens", "accepted_tokens"))
        assert 0 < drafts < tokens and right <= tokens and drafts == s.metric("zrt_drafts_total"), (drafts, tokens, right)


def choices_share_a_prompt(program, model):
    """The choices of a request compute its prompt once, and each is what it is alone."""
    prompt = {"model": "bard", "prompt": [5 + i % 90 for i in range(200)], "max_tokens": 6, "ignore_eos": True, "temperature": 1.2}
    keys_of = {"tenants": [{"id": "alice", "keys": [ALICE]}, {"id": "bob", "keys": [BOB], "queue": 3},
                           {"id": "admin", "keys": [ROOT], "admin": True}]}
    with Server(program, model, "--context", "512", "--slots", "2", keys=keys_of) as s:
        def ask(key, **fields):
            status, body = s.post("/v1/completions", {**prompt, "seed": 1, **fields}, key=key)
            assert status == 200, body
            return [choice["text"] for choice in body["choices"]], body["usage"]
        alone = [ask(ROOT, seed=1 + k)[0][0] for k in range(4)]
        texts, usage = ask(ALICE, n=4)
        used = s.ask("GET", "/v1/tenants/alice/usage", key=ALICE)[2]
        assert texts == alone and usage["prompt_tokens"] == 200 and usage["completion_tokens"] == 24, (texts, alone, usage)
        assert used["cached_tokens"] == 3 * 192 and used["computed_tokens"] < 2 * 200, used
        events = s.stream("/v1/completions", {**prompt, "seed": 1, "n": 4, "prompt": prompt["prompt"][::-1]}, key=ALICE)
        ends = [e["choices"][0]["index"] for e in events[:-1] if e["choices"][0]["finish_reason"]]
        assert sorted(ends) == [0, 1, 2, 3] and events[-1] == "[DONE]", events[-1]
        # Where its queue is bounded, each choice takes its place at once.
        assert ask(BOB, n=3)[0] == alone[:3]
        # A client that leaves takes with it what has not begun.
        for stream in (True, False):
            connection = s.connect()
            connection.request("POST", "/v1/completions", json.dumps({**prompt, "prompt": [9] * 400, "n": 8, "max_tokens": 100, "stream": stream}),
                               {"Content-Type": "application/json", "Authorization": f"Bearer {ALICE}"})
            for _ in range(200):
                if s.metric("zrt_num_requests_running", ROOT) + s.metric("zrt_num_requests_waiting", ROOT) == 8:
                    break
                time.sleep(0.005)
            connection.close()
            s.wait_idle(10, ROOT)
        assert ask(ALICE, n=2)[0] == alone[:2]


def begin(s, key, **fields):
    """A stream that has begun, as a connection and its answer."""
    connection = s.connect()
    connection.request("POST", "/v1/completions", json.dumps({**LONG, "stream": True, **fields}),
                       {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})
    return connection, connection.getresponse()


def quotas(program, model):
    """What a tenant may have at once: one runs, two wait, another is refused, and no other tenant minds."""
    with Server(program, model, "--context", "4096", keys=KEYS) as s:
        running, answer = begin(s, BOB, max_tokens=4000)
        assert answer.getheader("X-RateLimit-Limit-Requests") == "3"
        assert answer.getheader("X-RateLimit-Remaining-Requests") == "2"
        answer.read(1)
        waiting = [begin(s, BOB, max_tokens=4000)[0] for _ in range(2)]
        status, fields, body = s.ask("POST", "/v1/completions", BODY, key=BOB)
        assert status == 429 and body["error"]["code"] == "rate_limit_exceeded", (status, body)
        assert 1 <= int(fields["retry-after"]) <= 60
        assert fields["x-ratelimit-limit-requests"] == "3" and fields["x-ratelimit-remaining-requests"] == "0"
        assert s.ask("POST", "/v1/completions", {**BODY, "stream": True}, key=BOB)[0] == 429
        assert s.ask("POST", "/v1/completions", BODY, key=ALICE)[0] == 200
        assert s.metric("zrt_num_requests_running", key=ROOT) >= 1
        for connection in (running, *waiting):
            connection.close()
        for _ in range(100):
            if s.metric("zrt_num_requests_running", key=ROOT) == 0:
                break
            time.sleep(0.05)
        assert s.ask("POST", "/v1/completions", BODY, key=BOB)[0] == 200
        used = s.ask("GET", "/v1/tenants/bob/usage", key=BOB)[2]
        assert used["refused"] == 2 and used["requests"] == 4, used


def prefixes_are_a_tenants_own(program, model):
    with Server(program, model, "--context", "256", keys=KEYS) as s:
        prompt = {"model": "bard", "prompt": "To be, or not to be, that is the question: whether it is nobler in the "
                                             "mind to suffer, or to take arms.", "max_tokens": 4, "seed": 1}
        def ask(key, **fields):
            status, body = s.post("/v1/completions", {**prompt, **fields}, key=key)
            assert status == 200, body
            return body["usage"]["prompt_tokens_details"]["cached_tokens"], body
        first, alone = ask(ALICE)
        again, cached = ask(ALICE)
        assert first == 0 and again > 0 and again % 16 == 0 and again < cached["usage"]["prompt_tokens"]
        assert cached["choices"] == alone["choices"]
        other, beside = ask(BOB)
        assert other == 0 and beside["choices"] == alone["choices"]
        assert s.ask("GET", "/v1/tenants/alice/usage", key=ALICE)[2]["cached_tokens"] == again
        assert s.ask("GET", "/v1/tenants/bob/usage", key=BOB)[2]["cached_tokens"] == 0
        # A prompt counts once, however many choices it has.
        several, body = ask(ALICE, n=3)
        assert several == again and body["usage"]["prompt_tokens"] == alone["usage"]["prompt_tokens"]


def seconds_to_first(s, key, text):
    """Of a short answer, on a connection that is open already."""
    connection = s.connect()
    connection.request("GET", "/livez")
    connection.getresponse().read()
    body = json.dumps({"model": "bard", "prompt": text, "max_tokens": 1})
    began = time.perf_counter()
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})
    status = connection.getresponse().status
    took = time.perf_counter() - began
    connection.close()
    assert status == 200
    return took


def chance_of_sooner(some, others):
    """How often one of the first is less than one of the second: a half where nothing tells them apart."""
    return sum((a < b) + (a == b) / 2 for a in some for b in others) / (len(some) * len(others))


def prefixes_are_not_seen_in_time(program, model):
    """Who asks what another tenant asked gets its first token no sooner than who asks something new; its own, sooner."""
    words = ["to be or not", "that is the question", "whether it is nobler", "in the mind", "to suffer", "slings and arrows"]
    with Server(program, model, "--context", "1024", keys=KEYS) as s:
        own, others, new = [], [], []
        for number in range(40):
            r = random.Random(number)
            # No two begin alike, so that nobody finds a part of another text of his own.
            asked, fresh = (f"{number} {kind} " + " ".join(r.choice(words) for _ in range(100)) for kind in ("asked", "fresh"))
            seconds_to_first(s, ALICE, asked)
            # In turn, so that what else the machine does falls on all.
            for found, key, text in r.sample([(others, BOB, asked), (new, BOB, fresh), (own, ALICE, asked)], 3):
                found.append(seconds_to_first(s, key, text))
        assert s.ask("GET", "/v1/tenants/bob/usage", key=BOB)[2]["cached_tokens"] == 0
        assert s.ask("GET", "/v1/tenants/alice/usage", key=ALICE)[2]["cached_tokens"] > 0
        seen, control = chance_of_sooner(others, new), chance_of_sooner(own, new)
        print(f"a prefix of another tenant's is sooner in {seen:.2f} of comparisons, an own one in {control:.2f}")
        # Of 40 against 40 that do not differ, one in 10,000 runs lies outside of this.
        assert 0.25 < seen < 0.75 < control, (seen, control)


def classes(program, model):
    """An interactive request takes the slot of a batch one, which goes on later with the same text."""
    keys_of = {"tenants": [{"id": "job", "keys": [ALICE], "priority": "batch"}, {"id": "chat", "keys": [BOB]}]}
    long = {"model": "bard", "prompt": "To be", "max_tokens": 600, "ignore_eos": True, "seed": 3}
    with Server(program, model, "--context", "4096", "--slots", "1", keys=keys_of) as s:
        whole = s.post("/v1/completions", long, key=ALICE)[1]["choices"][0]["text"]
        connection, answer = begin(s, ALICE, **long)
        data = answer.read(1)
        status, body = s.post("/v1/completions", {**BODY, "prompt": "O"}, key=BOB)
        assert status == 200, body
        data += answer.read()
        connection.close()
        events = events_of(data)
        assert events[-1] == "[DONE]" and "".join(e["choices"][0]["text"] for e in events[:-1]) == whole
        assert s.ask("GET", "/v1/tenants/job/usage", key=ALICE)[2]["preemptions"] >= 1


def tenants_that_change(program, model):
    """A file that is read again while requests run: who leaves is served to the end, who stays is not disturbed."""
    with Server(program, model, "--context", "4096", "--slots", "2", keys=KEYS) as s:
        def change(tenants, key, status):
            s.write_keys({"tenants": tenants})
            s.process.send_signal(signal.SIGHUP)
            for _ in range(200):
                if s.ask("GET", "/v1/models", key=key)[0] == status:
                    return
                time.sleep(0.02)
            raise AssertionError("the file was not read")
        admin = {"id": "admin", "keys": [ROOT], "admin": True, "priority": "standard"}
        connection, answer = begin(s, ALICE, max_tokens=2000)
        data = answer.read(1)
        assert s.ask("POST", "/v1/completions", BODY, key=ROOT)[0] == 200
        change([admin, {"id": "bob", "keys": [BOB], "priority": "batch"}], ALICE, 401)
        data += answer.read()
        assert events_of(data)[-1] == "[DONE]"
        connection.close()
        assert s.ask("POST", "/v1/completions", BODY, key=BOB)[0] == 200
        assert s.ask("GET", "/v1/tenants/alice/usage", key=ROOT)[2]["completion_tokens"] == 2000
        assert s.ask("GET", "/v1/tenants/admin/usage", key=ROOT)[2]["completion_tokens"] == 2
        # One that comes back goes on counting.
        change([admin, {"id": "alice", "keys": [ALICE]}], ALICE, 200)
        assert s.ask("POST", "/v1/completions", BODY, key=ALICE)[0] == 200
        assert s.ask("GET", "/v1/tenants/alice/usage", key=ALICE)[2]["completion_tokens"] == 2002
        # Reservations that do not fit change nothing, and end nothing that runs.
        connection, answer = begin(s, ALICE, max_tokens=2000)
        data = answer.read(1)
        s.write_keys({"tenants": [admin, {"id": "alice", "keys": [ALICE], "pages": 1},
                                  {"id": "bob", "keys": [BOB], "reserved_pages": 1 << 20}]})
        s.process.send_signal(signal.SIGHUP)
        for _ in range(100):
            if "stay as they were" in s.text():
                break
            time.sleep(0.02)
        # By its place: what stands there may be a key.
        assert "stay as they were: capacity_exceeded: keys: 'tenants[2]': " in s.text() and "bob" not in s.text(), s.text()
        events = events_of(data + answer.read())
        connection.close()
        assert events[-1] == "[DONE]" and events[-2]["choices"][0]["finish_reason"] == "length", events[-2]
        assert s.ask("POST", "/v1/completions", BODY, key=ALICE)[0] == 200
        assert s.ask("GET", "/v1/models", key=BOB)[0] == 401


def open_hosts_need_keys(program, model):
    status = os.system(f"{program} serve --model {model} --host 0.0.0.0 --port 0 >/dev/null 2>&1")
    assert os.waitstatus_to_exitcode(status) == 2


def long_stream(s, tokens=250):
    connection = s.connect()
    body = {"model": "bard", "prompt": "a", "max_tokens": tokens, "ignore_eos": True, "stream": True}
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read(1)
    return connection, answer


def embeddings_are_shared(program, model):
    tenants = {"tenants": [{"id": "heavy", "keys": [ALICE]}, {"id": "light", "keys": [BOB]},
                           {"id": "slow", "keys": [ROOT], "prompt_tokens_per_second": 4, "slots": 1, "queue": 1}]}
    text = "Shall I compare thee to a summer's day? " * 4

    def embed(s, key, count, **more):
        began = time.monotonic()
        status, fields, body = s.ask("POST", "/v1/embeddings", {"model": "bard", "input": [text] * count}, key=key, **more)
        return status, time.monotonic() - began, body, fields

    with Server(program, model, "--context", "256", "--embeddings", keys=tenants) as s, \
            concurrent.futures.ThreadPoolExecutor(4) as pool:
        long = [pool.submit(embed, s, ALICE, 256) for _ in range(4)]
        time.sleep(0.2)
        quick = max(embed(s, BOB, 1)[1] for _ in range(3))
        taken = [answer.result() for answer in long]
        assert [status for status, _, _, _ in taken] == [200] * 4
        # One request of the other's takes a quarter of this at least.
        assert quick < max(took for _, took, _, _ in taken) / 16, (quick, taken[0][1])
        used = s.ask("GET", "/v1/tenants/heavy/usage", key=ALICE)[2]
        assert used["prompt_tokens"] == sum(body["usage"]["prompt_tokens"] for _, _, body, _ in taken), used
        # No five seconds hold such a text.
        status, _, body, _ = embed(s, ROOT, 1)
        assert status == 400 and body["error"]["param"] == "input", body
        # Nor such a request: one runs, one waits, and there is no place for a third.
        words = {"model": "bard", "input": ["To be"] * 12}
        waiting = [pool.submit(s.ask, "POST", "/v1/embeddings", words, key=ROOT) for _ in range(3)]
        answers = sorted(answer.result()[0] for answer in waiting)
        assert answers == [200, 200, 429], answers


def drained(program, model):
    with Server(program, model, "--context", "4096", "--drain", "300") as s:
        _, answer = long_stream(s, 4000)
        s.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        status, fields, _ = s.ask("GET", "/readyz")
        assert status == 503 and int(fields["retry-after"]) <= 60
        assert s.ask("GET", "/livez")[0] == 200
        assert s.ask("POST", "/v1/completions", BODY)[0] == 503
        events = events_of(answer.read())
        assert events[-1] == "[DONE]", events[-1]
        assert s.process.wait(timeout=60) == 0


def a_restart_begins_clean_and_says_so(program, model):
    prompt = {"model": "bard", "prompt": "ROMEO:\nWhat light is it that breaks through yonder window? " * 3, "max_tokens": 1}
    for _ in range(2):
        with Server(program, model, "--context", "512") as s:
            assert "nothing is kept from an earlier run: no requests, no caches" in s.text(), s.text()
            assert s.metric("zrt_requests_total") == 0
            cached = [s.post("/v1/completions", prompt)[1]["usage"].get("prompt_tokens_details", {}).get("cached_tokens", 0)
                      for _ in range(2)]
            assert cached[0] == 0 < cached[1], cached


def keys_that_move_are_served(program, model):
    """A key whose tenant gets another name is never refused while the file is read again."""
    key = "a-key-that-moves-0001"
    with Server(program, model, "--context", "256", keys={"tenants": [{"id": "t0", "keys": [key]}]}) as s:
        found, ends = {}, threading.Event()

        def ask():
            while not ends.is_set():
                status = s.ask("POST", "/v1/completions", {**BODY, "max_tokens": 1}, key=key)[0]
                found[status] = found.get(status, 0) + 1

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for i in range(1, 13):
            s.write_keys({"tenants": [{"id": f"t{i}", "keys": [key]}]})
            s.process.send_signal(signal.SIGHUP)
            for _ in range(100):
                if s.text().count("the keys were read again") == i:
                    break
                time.sleep(0.05)
        ends.set()
        for thread in threads:
            thread.join()
        assert set(found) == {200}, found


def a_drain_is_no_longer_than_it_says(program, model):
    """Also with a client that reads nothing; who is in the middle of a request hears that the server goes."""
    with Server(program, model, "--context", "4096", "--drain", "3") as s:
        with s.open_socket() as unread, s.open_socket() as begun:
            body = json.dumps({**LONG, "max_tokens": 4000, "stream": True, "logprobs": 5}).encode()
            head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            unread.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            begun.sendall(head + b"Content-Length: 100\r\n\r\n{")
            s.wait_taken()
            time.sleep(1)
            began = time.monotonic()
            s.process.send_signal(signal.SIGTERM)
            assert s.process.wait(timeout=60) == 0
            assert time.monotonic() - began < 3.5, time.monotonic() - began
            answer = begun.recv(4096)
            assert answer.startswith(b"HTTP/1.1 503 ") and b"shutting down" in answer, answer


def ended_by_a_second_signal(program, model):
    with Server(program, model, "--context", "4096") as s:
        _, answer = long_stream(s, 4000)
        s.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        s.process.send_signal(signal.SIGTERM)
        events = events_of(answer.read())
        assert "error" in events[-1] and events[-1]["error"]["code"] == "cancelled", events[-1]
        assert s.process.wait(timeout=60) == 0


def full_queues(program, model):
    with Server(program, model, "--slots", "1", "--queue", "1", "--context", "4096") as s:
        streams = [long_stream(s, 3000)]
        second = s.connect()
        second.request("POST", "/v1/completions", json.dumps({**LONG, "max_tokens": 3000}),
                       {"Content-Type": "application/json"})
        for _ in range(100):
            if s.metric("zrt_num_requests_waiting") == 1:
                break
            time.sleep(0.02)
        status, fields, body = s.ask("POST", "/v1/completions", BODY)
        assert status == 503 and body["error"]["code"] == "overloaded" and fields["retry-after"], body
        streams[0][0].close()
        second.close()
        s.wait_idle()
        assert s.ask("POST", "/v1/completions", BODY)[0] == 200


def descriptors(s):
    return len(os.listdir(f"/proc/{s.process.pid}/fd"))


def memory(s):
    with open(f"/proc/{s.process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def slow_and_many_clients(program, model):
    with Server(program, model, "--context", "256") as s:
        assert s.ask("POST", "/v1/completions", BODY)[0] == 200
        before, open_before = memory(s), descriptors(s)
        idle = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(500)]
        for client in idle[:250]:
            client.sendall(b"GET /livez HT")
        began = time.monotonic()
        assert s.ask("POST", "/v1/completions", BODY)[0] == 200
        assert time.monotonic() - began < 5
        # A byte now and then does not keep a head open.
        for _ in range(14):
            for client in idle[:250:50]:
                try:
                    client.sendall(b"T")
                except OSError:
                    pass
            time.sleep(1)
        answer = idle[0].recv(4096)
        assert answer.startswith(b"HTTP/1.1 408"), answer
        for client in idle:
            client.close()
        # A head without end.
        with socket.create_connection(("127.0.0.1", s.port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nX: ")
            try:
                for _ in range(200):
                    client.sendall(b"a" * (1 << 20))
            except OSError:
                pass
        for _ in range(100):
            if descriptors(s) <= open_before + 1:
                break
            time.sleep(0.05)
        assert descriptors(s) <= open_before + 1, (descriptors(s), open_before)
        assert memory(s) - before < 32 << 20, memory(s) - before


def bodies_that_come_slowly(program, model):
    with Server(program, model, "--context", "128", "--cors-origin", "http://page.example") as s:
        with socket.create_connection(("127.0.0.1", s.port), timeout=45) as client:
            began = time.monotonic()
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Origin: http://page.example\r\nContent-Length: 100\r\n\r\n")
            client.settimeout(1)
            answer = b""
            # A byte now and then does not help.
            while not answer and time.monotonic() - began < 45:
                client.sendall(b" ")
                try:
                    answer = client.recv(4096)
                except TimeoutError:
                    pass
            assert answer.startswith(b"HTTP/1.1 408 ") and 29 < time.monotonic() - began < 33, (answer, time.monotonic() - began)
            assert b"Access-Control-Allow-Origin: http://page.example\r\n" in answer, answer


def prompts_that_take_long(program, model):
    """A stream whose first token is seconds away is kept alive with comments, which are no events."""
    slow = {"tenants": [{"id": "alice", "keys": [ALICE], "prompt_tokens_per_second": 16}]}
    with Server(program, model, "--context", "512", keys=slow) as s:
        connection, answer = begin(s, ALICE, prompt=[5] * 240, max_tokens=2)
        assert answer.status == 200
        data = answer.read()
        connection.close()
        assert data.startswith(b": keep-alive\n\n") and events_of(data)[-1] == "[DONE]", data[:300]


def wait_stuck(s, path):
    """Waits until a probe says that a step takes too long."""
    for _ in range(20000):
        status, fields, body = s.ask("GET", path)
        if status == 503:
            assert body["error"]["code"] == "stuck" and "retry-after" in fields, body
            return
    raise AssertionError("no step took so long")


def asked(s, **fields):
    """A connection with a request on it."""
    connection = s.connect()
    connection.request("POST", "/v1/completions", json.dumps({**LONG, **fields}), {"Content-Type": "application/json", **bearer(ALICE)})
    return connection


def ends_within_a_long_step(program, model):
    """Whoever waits hears that the server goes, although the engine's thread says nothing for seconds."""
    # Prompts are not cut for her own answers, and the slowest of backends makes a step of seconds.
    patient = {"tenants": [{"id": "alice", "keys": [ALICE], "first_token_ms": 0, "token_gap_ms": 0}]}
    for signals, options, most in ((2, (), 4), (1, ("--drain", "3"), 5)):
        with Server(program, model, "--context", "4096", "--step-ms", "0", "--longest-step-ms", "300", "--backend", "reference", *options,
                    keys=patient) as s:
            stream = asked(s, stream=True, max_tokens=4000)
            events = stream.getresponse()
            data = events.read(1)
            whole = asked(s, prompt=[5] * 4000, max_tokens=1)
            wait_stuck(s, "/livez")
            late = asked(s, stream=True)
            # The tenants change behind the step, which keeps nobody from hearing the signals behind this one.
            s.process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
            began = time.monotonic()
            s.process.send_signal(signal.SIGTERM)
            s.wait_text("no new requests")
            status, _, body = s.ask("GET", "/readyz")
            assert status == 503 and body["error"]["code"] == "draining", body
            if signals == 2:
                s.process.send_signal(signal.SIGTERM)
            # To its last chunk.
            last = events_of(data + events.read())[-1]
            assert last["error"]["code"] == "cancelled" and "shutting down" in last["error"]["message"], last
            for connection in (whole, late):
                answer = connection.getresponse()
                assert answer.status == 503 and answer.getheader("Retry-After") == "1" and answer.getheader("X-Request-Id"), answer.status
                assert "shutting down" in json.loads(answer.read())["error"]["message"]
            s.status = s.process.wait(timeout=60)
            assert time.monotonic() - began < most, time.monotonic() - began
            # A machine of many times the speed may end the step in time.
            assert s.status == ("what still ran was broken off" in s.text()), (s.status, s.text())


def models_that_load(program, model):
    """The port is open before there are models, and a signal ends the program meanwhile."""
    for ends in (signal.SIGTERM, signal.SIGINT, None):
        with tempfile.TemporaryDirectory() as folder:
            template, log = (os.path.join(folder, name) for name in ("template", "log"))
            # A file that nobody writes yet holds the loading up.
            os.mkfifo(template)
            with open(log, "wb") as out:
                process = subprocess.Popen([program, "serve", "--model", model, "--alias", "bard", "--port", "0", "--context", "128",
                                            "--chat-template", template], stdout=out, stderr=out)
            s = Server.__new__(Server)
            s.process, s.log_path = process, log
            s.wait_text("is open, and the models load")
            s.port = int(re.search(r"port (\d+) is open", s.text()).group(1))
            assert s.ask("GET", "/livez")[0] == 200 and s.ask("OPTIONS", "/v1/completions")[0] == 204
            for method, path in (("GET", "/readyz"), ("GET", "/"), ("GET", "/metrics"), ("POST", "/v1/completions")):
                status, fields, body = s.ask(method, path, BODY if method == "POST" else None)
                assert status == 503 and body["error"]["code"] == "loading" and fields["retry-after"] == "1", (path, status, body)
            if ends is None:
                with open(template, "w", encoding="utf-8") as file:
                    file.write("{% for m in messages %}{{ m.content }}{% endfor %}")
                s.wait_text("serving bard at")
                assert s.ask("GET", "/readyz")[0] == 200 and s.ask("POST", "/v1/completions", BODY)[0] == 200
                assert 'zrt_http_answers_total{status="503"} 4' in s.ask("GET", "/metrics")[2].decode()
                process.terminate()
            else:
                process.send_signal(ends)
            assert process.wait(timeout=20) == 0, s.text()


def strangers_cost_little(program, model):
    """However long what somebody gives as a key, and however many keys there are."""
    many = {"tenants": [{"id": f"t{t}", "keys": [f"a-key-of-tenant-{t}-number-{k}" for k in range(64)]} for t in range(60)]}

    def seconds(s):
        with open(f"/proc/{s.process.pid}/stat", encoding="ascii") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    with Server(program, model, "--context", "128", keys=many) as s:
        for key in ("k" * 15000, "k" * 512):
            began = seconds(s)
            for _ in range(100):
                head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
                assert s.raw(head + b"Authorization: Bearer %s\r\n\r\n" % key.encode()).startswith(b"HTTP/1.1 401 ")
            took = (seconds(s) - began) / 100
            print(f"a request with a wrong key of {len(key)} bytes: {took * 1e3:.2f} ms")
            assert took < 0.005, took
        assert s.ask("GET", "/v1/models", key="a-key-of-tenant-59-number-63")[0] == 200


def a_step_that_takes_too_long_is_seen(program, model):
    """Whoever looks after the program learns that the engine is stuck; what waits for a tenant's rate is not."""
    with Server(program, model, "--context", "4096", "--step-ms", "0", "--longest-step-ms", "4") as s:
        connection = s.connect()
        connection.request("POST", "/v1/completions", json.dumps({"model": "bard", "prompt": [5] * 4000, "max_tokens": 1}),
                           {"Content-Type": "application/json"})
        for path in ("/livez", "/readyz"):
            wait_stuck(s, path)
        assert connection.getresponse().status == 200
        connection.close()
        s.wait_idle()
        assert s.ask("GET", "/livez")[0] == s.ask("GET", "/readyz")[0] == 200
    slow = {"tenants": [{"id": "alice", "keys": [ALICE], "prompt_tokens_per_second": 16}]}
    with Server(program, model, "--context", "512", "--longest-step-ms", "1000", keys=slow) as s:
        connection, answer = begin(s, ALICE, prompt=[5] * 160, max_tokens=2)
        probes = [(time.sleep(0.02), s.ask("GET", "/livez")[0])[1] for _ in range(100)]
        assert set(probes) == {200}, probes
        answer.read()
        connection.close()


def clients_that_do_not_read(program, model):
    with Server(program, model, "--slots", "8", "--context", "4096") as s:
        body = json.dumps({"model": "bard", "prompt": "a", "max_tokens": 4000, "ignore_eos": True, "stream": True, "n": 8,
                           "logprobs": 5}).encode()
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", s.port))
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        s.wait_taken()
        # The engine waits for it, and goes on with others.
        assert s.ask("POST", "/v1/completions", BODY)[0] == 200
        s.wait_idle(60)
        text = s.ask("GET", "/metrics")[2].decode()
        assert 'finished_reason="client_too_slow"' in text, text
        data = b""
        client.settimeout(10)
        try:
            while piece := client.recv(65536):
                data += piece
        except OSError:
            pass
        client.close()
        assert b"client_too_slow" in data[-2000:], data[-300:]
        assert len(data) < 1 << 20, "what was made for it is what its socket holds and little more"


def clients_that_read_late(program, model):
    """A client for whom the engine waited gets every token in the end."""
    with Server(program, model, "--slots", "4", "--context", "4096") as s:
        body = {"model": "bard", "prompt": "a", "max_tokens": 700, "ignore_eos": True, "seed": 3, "n": 4, "logprobs": 5}
        whole = s.ask("POST", "/v1/completions", body)[2]
        text = json.dumps(body | {"stream": True}).encode()
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", s.port))
            client.sendall(b"POST /v1/completions HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
            s.wait_taken()
            time.sleep(3)
            data = b""
            client.settimeout(60)
            while piece := client.recv(65536):
                data += piece
        events = events_of(data.partition(b"\r\n\r\n")[2])
        assert events[-1] == "[DONE]", events[-1]
        answers = [""] * 4
        for event in events[:-1]:
            for choice in event["choices"]:
                answers[choice["index"]] += choice["text"]
        assert answers == [choice["text"] for choice in whole["choices"]]


def bodies_that_nobody_wants(program, model):
    """A head that is refused is answered before its body has come."""
    with Server(program, model, "--context", "128", keys=KEYS) as s:
        def ask(path=b"/v1/completions", key=ALICE, kind=b"application/json", method=b"POST", more=b""):
            return s.raw(b"%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\n%s"
                         b"Content-Length: 1000000\r\n\r\n{" % (method, path, key.encode(), kind, more))
        for status, answer in ((401, ask(key="no")), (404, ask(b"/v1/nothing")), (415, ask(kind=b"text/plain")),
                               (405, ask(method=b"PUT")), (204, ask(method=b"OPTIONS")), (200, ask(b"/v1/models", method=b"GET")),
                               (401, ask(key="no", more=b"Expect: 100-continue\r\n"))):
            assert answer.startswith(b"HTTP/1.1 %d " % status) and b"Connection: close" in answer, (status, answer)


def bodies_share_a_bound(program, model):
    """Bodies that hang fill what all share. Who comes next with a long one is told to come again; short ones are read."""
    size = 1 << 20
    with Server(program, model, "--context", "128", "--max-body", "1") as s:
        assert s.ask("POST", "/v1/completions", BODY)[0] == 200
        before = memory(s)
        head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        clients, answers = [], []
        for _ in range(40):
            clients.append(socket.create_connection(("127.0.0.1", s.port), timeout=0.5))
            try:
                clients[-1].sendall(head % size + b" " * (size - 1))
                answers.append(clients[-1].recv(4096))
            except OSError:
                answers.append(b"")
        refused = [b"HTTP/1.1 503 " in answer and b"Retry-After: 1" in answer for answer in answers]
        assert not any(refused[:15]) and all(refused[20:]), refused
        assert memory(s) - before < 64 << 20, memory(s) - before
        assert s.ask("POST", "/v1/completions", BODY)[0] == 200
        for client in clients:
            client.close()
        long = json.dumps({**BODY, "user": "u" * (size - 200)})
        for _ in range(100):
            status, fields, _ = s.ask("POST", "/v1/completions", long)
            if status == 200:
                break
            assert status == 503 and fields["retry-after"] == "1", status
            time.sleep(0.05)
        assert status == 200, "the room was not given back"


def threads(s):
    return len(os.listdir(f"/proc/{s.process.pid}/task"))


def ten_thousand_connections(program, model):
    """Connections that wait cost no thread and little memory, and keep nobody from being served."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    count = min(10_000, most - 200)
    if count < 10_000:
        print(f"{count} connections: the system lets a process have {most} descriptors")
    with Server(program, model, "--context", "128") as s:
        assert s.ask("POST", "/v1/completions", BODY)[0] == 200
        memory_before, threads_before, open_before = memory(s), threads(s), descriptors(s)
        idle = [socket.create_connection(("127.0.0.1", s.port), timeout=30) for _ in range(count)]
        for client in idle[::2]:
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: loc")
        began = time.monotonic()
        for _ in range(20):
            assert s.ask("POST", "/v1/completions", BODY)[0] == 200
        took = time.monotonic() - began
        assert s.metric("zrt_http_connections") >= count
        assert threads(s) == threads_before, (threads(s), threads_before)
        assert memory(s) - memory_before < 4096 * count, memory(s) - memory_before
        assert took < 10, took
        for client in idle:
            client.close()
        for _ in range(200):
            if descriptors(s) <= open_before + 1:
                break
            time.sleep(0.05)
        assert descriptors(s) <= open_before + 1, (descriptors(s), open_before)


CASES = {case.__name__: case for case in (
    keys, figures_are_a_tenants_own, key_files_are_checked, guesses_are_counted, choices_share_a_prompt, quotas, prefixes_are_a_tenants_own, prefixes_are_not_seen_in_time, classes, tenants_that_change, open_hosts_need_keys, embeddings_are_shared, drained, a_restart_begins_clean_and_says_so, a_drain_is_no_longer_than_it_says, keys_that_move_are_served, ended_by_a_second_signal, full_queues, slow_and_many_clients,
    clients_that_do_not_read, clients_that_read_late, bodies_that_come_slowly, prompts_that_take_long, a_step_that_takes_too_long_is_seen, ends_within_a_long_step, models_that_load, strangers_cost_little, bodies_that_nobody_wants, bodies_share_a_bound, ten_thousand_connections)}

# In which the server's clock alone does something for most of half a minute.
WAITING = ("bodies_that_come_slowly", "clients_that_do_not_read", "embeddings_are_shared", "slow_and_many_clients")

if __name__ == "__main__":
    names = sys.argv[3:] or list(CASES)
    sys.exit(run_all({name: CASES[name] for name in names}, *sys.argv[1:3], waiting=WAITING))
