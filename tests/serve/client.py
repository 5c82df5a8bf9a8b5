# SPDX-License-Identifier: Apache-2.0
"""The official client of the OpenAI API against `zrt serve`: python3 client.py ZRT MODEL"""
import os
import re
import shutil
import subprocess
import sys

from server import Server, speaks_tls


KEYS = {"tenants": [{"id": "alice", "keys": ["alice-key-0123456789"]},
                    {"id": "bob", "keys": ["bob-key-0123456789"], "slots": 1, "queue": 1}]}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# Of which file's type the requests of a route are.
TYPES = (("chat/completions/completions.d.ts", "ChatCompletionCreateParamsBase"), ("completions.d.ts", "CompletionCreateParamsBase"),
         ("embeddings.d.ts", "EmbeddingCreateParams"))


def check_page(folder):
    """docs/api.md says of each field that the client's types have whether it is honoured, refused or ignored."""
    with open(os.path.join(ROOT, "docs", "api.md"), encoding="utf-8") as file:
        page = file.read()
    for path, name in TYPES:
        with open(os.path.join(folder, "node_modules", "openai", "resources", path), encoding="utf-8") as file:
            body = file.read().split(f"export interface {name} {{", 1)[1].split("\n}", 1)[0]
        fields = re.findall(r"^    (\w+)\??:", body, re.MULTILINE)
        assert len(fields) >= 5, (path, fields)
        missing = [field for field in fields if not re.search(rf"`{field}\b", page)]
        assert not missing, f"docs/api.md says nothing of {missing} of {name}"


def main(program, model):
    folder = os.path.join(ROOT, "build", "client")
    packages = [os.path.join(folder, "node_modules", name) for name in ("openai", "zod")]
    if shutil.which("node") is None or not all(map(os.path.isdir, packages)):
        print("SKIPPED: no node, or no client; ./dev setup installs both")
        return 77
    check_page(folder)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client", "client.mjs")
    with Server(program, model, "--context", "256") as text, \
            Server(program, model, "--context", "256", "--embeddings") as vectors, \
            Server(program, model, "--context", "1024", "--slots", "1", "--queue", "3", keys=KEYS, secure=speaks_tls(program)) as guarded:
        urls = [f"{'https' if server.tls else 'http'}://127.0.0.1:{server.port}" for server in (text, vectors, guarded)]
        environment = {**os.environ, "NODE_EXTRA_CA_CERTS": guarded.certificate} if guarded.tls else None
        return subprocess.run(["node", script, *urls, folder], check=False, timeout=200, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
