# SPDX-License-Identifier: Apache-2.0
"""LoRA adapters that `zrt serve` shows as models of their own: python3 adapters.py ZRT MODEL"""
import concurrent.futures
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

from server import Server, run_all

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from gguf_file import gguf  # noqa: E402

WIDTH, HIDDEN, LAYERS, RANK = 256, 768, 6, 4
NAMES = ("bard", "poet", "clown")
PROMPT = "ROMEO:\nWhat light is it that breaks through yonder window, and who is at it? "


def write_adapter(path, seed):
    """Random matrices beside two projections of each layer of bard."""
    rng = random.Random(seed)

    def matrix(cols, rows):
        return (cols, rows), 0, struct.pack(f"<{cols * rows}f", *(rng.uniform(-0.25, 0.25) for _ in range(cols * rows)))

    tensors = {}
    for layer in range(LAYERS):
        for weight, cols, rows in (("attn_output", WIDTH, WIDTH), ("ffn_down", HIDDEN, WIDTH)):
            tensors[f"blk.{layer}.{weight}.weight.lora_a"] = matrix(cols, RANK)
            tensors[f"blk.{layer}.{weight}.weight.lora_b"] = matrix(RANK, rows)
    metadata = {"general.type": "adapter", "general.architecture": "llama", "adapter.type": "lora",
                "adapter.lora.alpha": float(RANK)}
    with open(path, "wb") as file:
        file.write(gguf(metadata, tensors))
    return path


def files(folder):
    return [write_adapter(os.path.join(folder, f"{name}.gguf"), seed) for seed, name in enumerate(NAMES[1:])]


def options(paths):
    return ["--adapter", f"poet={paths[0]}", "--adapter", f"clown={paths[1]}:0.5"]


def answer(s, model, **fields):
    status, body = s.complete(PROMPT, model=model, temperature=0, max_tokens=24, **fields)
    assert status == 200 and body["model"] == model, (status, body)
    return body["choices"][0]["text"], body["usage"].get("prompt_tokens_details", {}).get("cached_tokens", 0)


def each_is_a_model(program, model):
    with tempfile.TemporaryDirectory() as folder, Server(program, model, *options(files(folder))) as s:
        _, _, listed = s.ask("GET", "/v1/models")
        assert [(m["id"], m.get("parent")) for m in listed["data"]] == [
            ("bard", None), ("poet", "bard"), ("clown", "bard")], listed
        assert s.ask("GET", "/v1/models/clown")[2]["id"] == "clown"
        assert s.ask("GET", "/v1/models/king")[0] == 404
        assert s.complete(model="king")[1]["error"]["code"] == "model_not_found"
        status, chat = s.chat(model="poet")
        assert status == 200 and chat["model"] == "poet", chat


def adapters_at_work_are_named(program, model):
    """As routers of vLLM ask for them, to send a request where its adapter is."""
    with tempfile.TemporaryDirectory() as folder, \
            Server(program, model, *options(files(folder)), "--metrics-compat", "vllm", "--slots", "1", "--context", "4096") as s:
        def named():
            found = re.search(r'vllm:lora_requests_info{.*max_lora="2",running_lora_adapters="(.*)",waiting_lora_adapters="(.*)"} (\S+)',
                              s.ask("GET", "/metrics")[2].decode())
            assert found and abs(float(found.group(3)) - time.time()) < 60, found
            return found.group(1), found.group(2)
        assert named() == ("", "")
        connections = []
        for name in ("poet", "clown"):
            connections.append(s.connect())
            connections[-1].request("POST", "/v1/completions", json.dumps({"model": name, "prompt": "a", "max_tokens": 4000,
                                                                           "ignore_eos": True, "stream": True}),
                                    {"Content-Type": "application/json"})
            s.wait_taken()
            time.sleep(0.3)
        for _ in range(100):
            if named() == ("poet", "clown"):
                break
            time.sleep(0.05)
        assert named() == ("poet", "clown"), named()
        for connection in connections:
            connection.close()
        s.wait_idle()
        assert named() == ("", "")


def answers_are_their_own(program, model):
    with tempfile.TemporaryDirectory() as folder:
        paths = files(folder)
        with Server(program, model, *options(paths)) as s:
            found = {name: answer(s, name) for name in NAMES}
            alone = {name: text for name, (text, _) in found.items()}
            assert len(set(alone.values())) == len(NAMES), alone
            # A page that one has computed is no page of another.
            assert [cached for _, cached in found.values()] == [0, 0, 0], found
            assert all(answer(s, name)[1] > 0 for name in NAMES)
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                asked = [NAMES[i % len(NAMES)] for i in range(24)]
                for name, (text, _) in zip(asked, pool.map(lambda name: answer(s, name), asked)):
                    assert text == alone[name], (name, text, alone[name])
        with Server(program, model) as s:
            assert answer(s, "bard")[0] == alone["bard"]
        for name, choice in (("poet", paths[0]), ("clown", paths[1] + ":0.5")):
            run = subprocess.run([program, "generate", "--model", model, "--adapter", choice, "--prompt", PROMPT,
                                  "--temp", "0", "--max-tokens", "24"], capture_output=True, text=True, check=True)
            assert alone[name].strip() in run.stdout, (name, run.stdout, alone[name])


def slips_are_named(program, model):
    def said(*given):
        run = subprocess.run([program, "serve", "--model", model, "--port", "0", "--alias", "bard", *given],
                             capture_output=True, text=True, timeout=30, check=False)
        return run.returncode, run.stderr

    with tempfile.TemporaryDirectory() as folder:
        path = files(folder)[0]
        for status, given, text in ((2, ["--adapter", path], "NAME=FILE"),
                                    (2, ["--adapter", f"a={path}", "--adapter", f"a={path}"], "another adapter"),
                                    (2, ["--adapter", f"bard={path}"], "the model's id"),
                                    (2, ["--adapter", f"a={path}", "--embeddings"], "--embeddings"),
                                    (1, ["--adapter", "a=none.gguf"], "none.gguf"),
                                    (1, ["--adapter", f"a={model}"], "general.type")):
            found, error = said(*given)
            assert found == status and text in error, (given, found, error)


CASES = {case.__name__: case for case in (each_is_a_model, adapters_at_work_are_named, answers_are_their_own, slips_are_named)}

if __name__ == "__main__":
    sys.exit(run_all(CASES, *sys.argv[1:3]))
