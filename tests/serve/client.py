# SPDX-License-Identifier: Apache-2.0
"""The official client of the OpenAI API against `zrt serve`: python3 client.py ZRT MODEL"""
import os
import shutil
import subprocess
import sys

from server import Server


KEYS = {"tenants": [{"id": "alice", "keys": ["alice-key-0123456789"]},
                    {"id": "bob", "keys": ["bob-key-0123456789"], "slots": 1, "queue": 1}]}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main(program, model):
    folder = os.path.join(ROOT, "build", "client")
    if shutil.which("node") is None or not os.path.isdir(os.path.join(folder, "node_modules", "openai")):
        print("SKIPPED: no node, or no client; ./dev setup installs both")
        return 77
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client", "client.mjs")
    with Server(program, model, "--context", "256") as text, \
            Server(program, model, "--context", "256", "--embeddings") as vectors, \
            Server(program, model, "--context", "1024", "--slots", "1", "--queue", "3", keys=KEYS) as guarded:
        urls = [f"http://127.0.0.1:{server.port}" for server in (text, vectors, guarded)]
        return subprocess.run(["node", script, *urls, folder], check=False, timeout=200).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
