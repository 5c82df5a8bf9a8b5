# SPDX-License-Identifier: Apache-2.0
"""A `zrt serve` in a process of its own, and clients of it."""
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time


class Server:
    """Starts `zrt serve` on a free port; leaving the context ends it and checks how it ended."""

    tls = None  # how its clients speak TLS
    status = 0  # that it is to end with

    def __init__(self, program, model, *options, keys=None, secure=False, alias=True):
        self.folder = tempfile.TemporaryDirectory()
        self.log_path = os.path.join(self.folder.name, "log")
        self.keys_path = os.path.join(self.folder.name, "keys.json")
        if keys is not None:
            self.write_keys(keys)
            options = (*options, "--keys", self.keys_path)
        if secure:
            self.certificate, self.key = (os.path.join(self.folder.name, name) for name in ("certificate.pem", "key.pem"))
            make_certificate(self.certificate, self.key)
            self.trust()
            options = (*options, "--tls-cert", self.certificate, "--tls-key", self.key)
        self.log = open(self.log_path, "wb")
        models = [model] if isinstance(model, str) else model
        given = [word for each in models for word in ("--model", each)]
        if alias and len(models) == 1 and "--alias" not in options:
            options = ("--alias", "bard", *options)
        self.process = subprocess.Popen(
            [program, "serve", *given, "--port", "0", "--threads", "1", *options],
            stdout=self.log, stderr=self.log)
        self.port = self.wait_for_port()

    def write_keys(self, keys):
        with open(self.keys_path, "w", encoding="utf-8") as file:
            json.dump(keys, file)

    def trust(self):
        """Has clients take the certificate that lies there now, and no other one."""
        self.tls = ssl.create_default_context(cafile=self.certificate)

    def wait_for_port(self):
        for _ in range(600):
            found = re.search(r"https?://[^ ]*:(\d+)", self.text())
            if found:
                return int(found.group(1))
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit(f"the server did not start: {self.text()}")

    def text(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_text(self, text, seconds=20):
        """Waits until the server has said it."""
        for _ in range(int(seconds * 20)):
            if text in self.text():
                return
            time.sleep(0.05)
        raise AssertionError(f"never said {text!r}: {self.text()}")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.send_signal(signal.SIGINT)
        status = self.process.wait(timeout=60)
        self.log.close()
        if kind is None:
            assert status == self.status, (status, self.text())
        self.folder.cleanup()

    # --- clients ---

    def connect(self, timeout=60):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def open_socket(self, timeout=60):
        """A connection of bytes, behind its handshake."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        return self.tls.wrap_socket(plain, server_hostname="127.0.0.1") if self.tls else plain

    def ask(self, method, path, body=None, headers=None, key=None, connection=None):
        """Returns status, headers in lower case and the body: JSON where it is."""
        own = connection or self.connect()
        headers = dict(headers or {})
        if key:
            headers["Authorization"] = f"Bearer {key}"
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        own.request(method, path, body, headers)
        answer = own.getresponse()
        data = answer.read()
        fields = {name.lower(): value for name, value in answer.getheaders()}
        if connection is None:
            own.close()
        is_json = fields.get("content-type", "").startswith("application/json")
        return answer.status, fields, json.loads(data) if is_json and data else data

    def post(self, path, body, **more):
        status, fields, answer = self.ask("POST", path, body, **more)
        return status, answer

    def chat(self, text="Who is there?", **fields):
        body = {"model": "bard", "messages": [{"role": "user", "content": text}], "max_tokens": 8, "seed": 1}
        return self.post("/v1/chat/completions", {**body, **fields})

    def complete(self, prompt="ROMEO:\n", **fields):
        body = {"model": "bard", "prompt": prompt, "max_tokens": 8, "seed": 1}
        return self.post("/v1/completions", {**body, **fields})

    def raw(self, data, timeout=20, until_closed=True):
        """Sends bytes and returns what comes until the server closes or nothing comes for a while."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(data)
            out = b""
            try:
                while piece := s.recv(65536):
                    out += piece
                    if not until_closed:
                        break
            except (socket.timeout, ConnectionResetError):
                pass
            return out

    def stream(self, path, body, key=None):
        """Returns the events of a stream, [DONE] as a string."""
        connection = self.connect()
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        connection.request("POST", path, json.dumps({**body, "stream": True}), headers)
        answer = connection.getresponse()
        assert answer.status == 200, (answer.status, answer.read())
        assert answer.getheader("Content-Type") == "text/event-stream"
        assert answer.getheader("X-Accel-Buffering") == "no"
        events = events_of(answer.read())
        connection.close()
        return events

    def chat_stream(self, text="Who is there?", **fields):
        body = {"model": "bard", "messages": [{"role": "user", "content": text}], "max_tokens": 8, "seed": 1}
        return self.stream("/v1/chat/completions", {**body, **fields})

    def metric(self, name, key=None):
        """The sum of a figure over its labels."""
        status, _, text = self.ask("GET", "/metrics", key=key)
        assert status == 200
        lines = [line for line in text.decode().splitlines() if line.startswith(name + "{")]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    def wait_taken(self, seconds=20, key=None):
        """Waits until the engine has taken a request."""
        for _ in range(int(seconds * 100)):
            if self.metric("zrt_requests_total", key) != 0:
                return
            time.sleep(0.01)
        raise AssertionError("no request was taken")

    def wait_idle(self, seconds=20, key=None):
        for _ in range(int(seconds * 20)):
            if self.metric("zrt_num_requests_running", key) + self.metric("zrt_num_requests_waiting", key) == 0:
                return
            time.sleep(0.05)
        raise AssertionError("requests still run")


def make_certificate(certificate, key):
    """Writes a certificate of 127.0.0.1 that vouches for itself, and its key."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=zrt", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)


def speaks_tls(program):
    """Whether the program was built with OpenSSL; one that was not says so of the options."""
    found = subprocess.run([program, "serve", "--model", "none", "--tls-cert", "none", "--tls-key", "none"], capture_output=True,
                           text=True, check=False)
    assert found.returncode == 1, found
    return "need OpenSSL, and this build found none" not in found.stderr


def events_of(data):
    events = []
    for event in data.decode("utf-8").split("\n\n"):
        lines = [line[6:] for line in event.split("\n") if line.startswith("data: ")]
        if lines:
            text = "\n".join(lines)
            events.append(text if text == "[DONE]" else json.loads(text))
    return events


def text_of(events, choice=0):
    """The content that the deltas of a chat add up to."""
    out = ""
    for event in events:
        if event != "[DONE]" and "choices" in event:
            for one in event["choices"]:
                if one["index"] == choice:
                    out += one["delta"].get("content") or ""
    return out


def run_all(cases, *arguments, waiting=()):
    """Runs functions by name and says which failed; those of `waiting` run beside the others, from the begin."""
    failed = []

    def run(name):
        try:
            cases[name](*arguments)
        except Exception as error:  # pylint: disable=broad-except
            failed.append(name)
            print(f"FAILED {name}: {type(error).__name__}: {error}")

    beside = [threading.Thread(target=run, args=(name,)) for name in cases if name in waiting]
    for thread in beside:
        thread.start()
    for name in cases:
        if name not in waiting:
            run(name)
    for thread in beside:
        thread.join()
    print(f"{len(cases) - len(failed)} of {len(cases)} cases passed")
    return 1 if failed else 0
