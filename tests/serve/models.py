# SPDX-License-Identifier: Apache-2.0
"""Several models behind one `zrt serve`: python3 models.py ZRT MODEL"""
import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile

from adapters import write_adapter
from server import Server, run_all

NAMES = ("bard", "hybrid", "windowed")
PROMPT = "ROMEO:\nWhat light is it? "


def make(program, folder):
    """Small random models beside bard: one with recurrent layers, one with windows."""
    paths = []
    for name, family in (("hybrid", "lfm2"), ("windowed", "gemma3")):
        paths.append(os.path.join(folder, f"{name}.gguf"))
        subprocess.run([program, "make-model", "--arch", family, "--shape", "tiny", "--type", "q8_0", "--seed", "3", "--out",
                        paths[-1]], check=True,
                       stdout=subprocess.DEVNULL)
    return paths


def serve(program, model, paths, *options, keys=None):
    return Server(program, [f"{name}={path}" for name, path in zip(NAMES, (model, *paths))], "--context", "256",
                  *options, keys=keys)


def answer(s, name, key=None):
    status, body = s.post("/v1/completions", {"model": name, "prompt": PROMPT, "temperature": 0, "max_tokens": 24,
                                              "ignore_eos": True}, key=key)
    assert status == 200 and body["model"] == name, (status, body)
    return body["choices"][0]["text"]


def states(s):
    return {m["id"]: m for m in s.ask("GET", "/v1/load")[2]["models"]}


def each_answers_as_alone(program, model):
    with tempfile.TemporaryDirectory() as folder:
        paths = make(program, folder)
        alone = {}
        for name, path in zip(NAMES, (model, *paths)):
            with Server(program, path, "--context", "256", "--alias", name) as s:
                alone[name] = answer(s, name)
        assert len(set(alone.values())) == len(NAMES), alone
        with serve(program, model, paths) as s:
            _, _, listed = s.ask("GET", "/v1/models")
            assert [m["id"] for m in listed["data"]] == list(NAMES), listed
            assert all(m["state"] == "loaded" and m["memory_bytes"] > 0 for m in listed["data"]), listed
            status, body = s.complete(model="king")
            assert status == 404 and body["error"]["code"] == "model_not_found", (status, body)
            assert s.post("/v1/completions", {"prompt": "x"})[1]["error"]["param"] == "model"
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                asked = [NAMES[i % len(NAMES)] for i in range(18)]
                for name, text in zip(asked, pool.map(lambda name: answer(s, name), asked)):
                    assert text == alone[name], (name, text, alone[name])
            most = max(m["memory_bytes"] for m in states(s).values())
        # With memory for the largest alone they take each other's place.
        bound = ["--memory", str(most // (1 << 20) + 1)]
        with serve(program, model, paths, *bound) as s:
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                for name, text in zip(asked, pool.map(lambda name: answer(s, name), asked)):
                    assert text == alone[name], (name, text, alone[name])
            assert answer(s, "bard") == alone["bard"]
            found = states(s)
            assert found["bard"]["state"] == "loaded" and sum(m["evictions"] for m in found.values()) >= 2, found
            assert any(m["state"] == "evicted" and m["memory_bytes"] < m["needs_bytes"] for m in found.values()), found
            assert sum(m["memory_bytes"] for m in found.values()) <= int(bound[1]) << 20, found
            assert s.metric("zrt_model_resident") == sum(m["state"] != "evicted" for m in found.values())


def usage_is_by_model(program, model):
    admin = "admin-key-0123456789"
    keys = {"tenants": [{"id": "alice", "keys": ["alice-key-0123456789"]}, {"id": "admin", "keys": [admin], "admin": True}]}
    with tempfile.TemporaryDirectory() as folder, serve(program, model, make(program, folder), keys=keys) as s:
        key = "alice-key-0123456789"
        answer(s, "bard", key), answer(s, "bard", key), answer(s, "hybrid", key)
        used = s.ask("GET", "/v1/tenants/alice/usage", key=key)[2]
        assert used["completion_tokens"] == 72, used
        assert [used["models"][name]["completion_tokens"] for name in NAMES] == [48, 24, 0], used
        text = s.ask("GET", "/metrics", key=key)[2].decode()
        assert 'zrt_generation_tokens_total{model_name="hybrid",tenant="alice"} 24' in text, text
        # What is in memory depends on what others ask.
        memory = 'zrt_model_memory_bytes{model_name="windowed",part="weights"}'
        assert memory not in text and memory in s.ask("GET", "/metrics", key=admin)[2].decode(), text


def what_is_in_memory_is_the_admins_to_see(program, model):
    """With memory for one model alone, each request of one tenant changes what is loaded, and another sees none of it."""
    bob, admin = ({"Authorization": f"Bearer {name}-key-0123456789"} for name in ("bob", "admin"))
    keys = {"tenants": [{"id": name, "keys": [f"{name}-key-0123456789"], "admin": name == "admin"}
                        for name in ("alice", "bob", "admin")]}
    with tempfile.TemporaryDirectory() as folder:
        paths = make(program, folder)
        with serve(program, model, paths) as s:
            most = max(m["memory_bytes"] for m in states(s).values())
        with serve(program, model, paths, "--memory", str(most // (1 << 20) + 1), keys=keys) as s:
            def seen(by):
                found = [s.ask("GET", path, headers=by)[2] for path in ("/v1/models", "/v1/models/bard", "/v1/load")]
                found.append([line for line in s.ask("GET", "/metrics", headers=by)[2].decode().splitlines()
                              if line.startswith(("zrt_model", "zrt_slots", "zrt_kv"))])
                return found

            views, bobs = [], []
            for name in ("bard", "hybrid", "bard"):
                answer(s, name, "alice-key-0123456789")
                views.append(seen(admin)), bobs.append(seen(bob))
            assert views[0][0] != views[1][0] and views[0][2] != views[1][2], views
            assert bobs[0] == bobs[1] == bobs[2], bobs
            assert "state" not in bobs[0][1] and "state" in views[0][1], (bobs[0], views[0])


def tenants_have_models_of_their_own(program, model):
    """Whoever may use one model alone sees and asks no other one, by any route; and its adapters are apart from it."""
    alice, bob, admin = (f"{name}-key-0123456789" for name in ("alice", "bob", "admin"))
    tenants = [{"id": "alice", "keys": [alice], "models": ["bard"]}, {"id": "bob", "keys": [bob], "models": ["hybrid", "poet"]},
               {"id": "admin", "keys": [admin], "admin": True}]
    seen = {alice: ["bard"], bob: ["poet", "hybrid"], admin: ["bard", "poet", *NAMES[1:]]}
    with tempfile.TemporaryDirectory() as folder:
        paths = make(program, folder)
        adapter = write_adapter(os.path.join(folder, "poet.gguf"), 1)
        with serve(program, model, paths, "--adapter", f"bard:poet={adapter}", keys={"tenants": tenants}) as s:
            for key, own in seen.items():
                listed = s.ask("GET", "/v1/models", key=key)[2]["data"]
                assert [m["id"] for m in listed] == own, (key, listed)
                for name in ("bard", "poet", *NAMES[1:], "king"):
                    status, _, body = s.ask("GET", f"/v1/models/{name}", key=key)
                    found = [(status, body)]
                    for path, fields in (("chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}),
                                         ("completions", {"prompt": "a", "max_tokens": 1}), ("embeddings", {"input": "a"})):
                        found.append(s.post(f"/v1/{path}", {"model": name, **fields}, key=key))
                    if name not in own:
                        assert all((status, body["error"]["code"]) == (404, "model_not_found") for status, body in found), (name, found)
                    else:
                        # A model of texts gives no embeddings here, which is another fault.
                        assert [status for status, _ in found] == [200, 200, 200, 400], (name, found)
            assert [m["id"] for m in s.ask("GET", "/v1/load", key=alice)[2]["models"]] == ["bard"]
            assert list(s.ask("GET", "/v1/tenants/bob/usage", key=bob)[2]["models"]) == ["bard", "hybrid"]
            # A model that is misspelt changes nothing, and may be a key.
            tenants[0]["models"] = ["bard", "secret-of-alice"]
            s.write_keys({"tenants": tenants})
            s.process.send_signal(signal.SIGHUP)
            s.wait_text("the keys stay as they were")
            assert "'tenants[0].models[1]' is no model" in s.text() and "secret" not in s.text(), s.text()
            tenants[0]["models"] = ["windowed"]
            s.write_keys({"tenants": tenants})
            s.process.send_signal(signal.SIGHUP)
            s.wait_text("the keys were read again")
            assert [m["id"] for m in s.ask("GET", "/v1/models", key=alice)[2]["data"]] == ["windowed"]


def names_of_files_are_texts(program, model):
    """A file whose name is no UTF-8 has a name that it can be asked by."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder.encode(), b"a\xff.gguf")
        os.symlink(os.path.abspath(model), path)
        with Server(program, os.fsdecode(path), "--context", "128", "--alias", "x") as s:
            assert answer(s, "x")
        with Server(program, [os.fsdecode(path)], "--context", "128", alias=False) as s:
            name = s.ask("GET", "/v1/models")[2]["data"][0]["id"]
            assert name == "a\ufffd", name
            assert answer(s, name) and s.ask("GET", "/v1/models/a%EF%BF%BD")[0] == 200
            assert f'model_name="{name}"' in s.ask("GET", "/metrics")[2].decode()
        run = subprocess.run([program, "serve", "--port", "0", "--model", model, "--alias", b"\xff"], capture_output=True,
                             text=True, timeout=30, check=False)
        assert run.returncode == 2 and "UTF-8" in run.stderr, run


def slips_are_named(program, model):
    def said(*given):
        run = subprocess.run([program, "serve", "--port", "0", *given], capture_output=True, text=True, timeout=30,
                             check=False)
        return run.returncode, run.stderr

    two = ["--model", f"a={model}", "--model", f"b={model}"]
    for status, given, text in ((2, ["--model", model, "--model", f"b={model}"], "NAME=FILE"),
                                (2, ["--model", f"a={model}", "--model", f"a={model}"], "'a'"),
                                (2, [*two, "--alias", "c"], "--alias"),
                                (2, [*two, "--adapter", "c=x.gguf"], "MODEL:NAME=FILE"),
                                (2, [*two, "--adapter", "a:b=x.gguf"], "'b'"),
                                (1, [*two, "--memory", "1"], "needs"),
                                (1, ["--model", "a=none.gguf"], "none.gguf")):
        found, error = said(*given)
        assert found == status and text in error, (given, found, error)


CASES = {case.__name__: case for case in (each_answers_as_alone, usage_is_by_model, what_is_in_memory_is_the_admins_to_see,
                                            tenants_have_models_of_their_own,
                                            names_of_files_are_texts,
                                            slips_are_named)}

if __name__ == "__main__":
    sys.exit(run_all(CASES, *sys.argv[1:3]))
