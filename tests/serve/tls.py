# SPDX-License-Identifier: Apache-2.0
"""TLS of `zrt serve`, with the clients of Python and curl: python3 tls.py ZRT MODEL"""
import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import warnings

from server import Server, events_of, make_certificate, run_all, speaks_tls

ALICE = "alice-key-0123456789"
KEYS = {"tenants": [{"id": "alice", "keys": [ALICE]}]}
BODY = {"model": "bard", "prompt": "a", "max_tokens": 2}


def descriptors(s):
    return len(os.listdir(f"/proc/{s.process.pid}/fd"))


def threads(s):
    return len(os.listdir(f"/proc/{s.process.pid}/task"))


def secured(s, versions=None, protocols=None):
    """A connection behind its handshake."""
    context = ssl.create_default_context(cafile=s.certificate)
    if versions:
        with warnings.catch_warnings(action="ignore"):
            context.minimum_version, context.maximum_version = versions
    if protocols:
        context.set_alpn_protocols(protocols)
    plain = socket.create_connection(("127.0.0.1", s.port), timeout=20)
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def read_all(client):
    data = b""
    while piece := client.recv(65536):
        data += piece
    return data


def answers(program, model):
    """What a client gets in plain it gets by TLS: whole, as a stream, one after the other on a connection."""
    with Server(program, model, "--context", "256") as plain, \
            Server(program, model, "--context", "256", keys=KEYS, secure=True) as s:
        assert "https://127.0.0.1:" in s.text()
        asked = {"max_tokens": 40, "seed": 5}
        expected = plain.complete("To be", **asked)[1]["choices"]
        connection = s.connect()
        for _ in range(3):
            status, _, body = s.ask("POST", "/v1/completions", {**BODY, "prompt": "To be", **asked}, key=ALICE, connection=connection)
            assert status == 200 and body["choices"] == expected, body
        connection.close()
        events = s.stream("/v1/completions", {**BODY, "prompt": "To be", **asked}, key=ALICE)
        assert events[-1] == "[DONE]"
        assert "".join(e["choices"][0]["text"] for e in events[:-1]) == expected[0]["text"]
        assert s.ask("GET", "/v1/models")[0] == 401 and s.ask("GET", "/livez")[0] == 200
        # A body of many records, which is refused when it is whole.
        status, _, body = s.ask("POST", "/v1/completions", {**BODY, "prompt": "a" * 3_000_000}, key=ALICE)
        assert status == 400 and body["error"]["code"] == "context_length_exceeded", (status, body)
        # One that nobody wants is not read.
        with secured(s) as client:
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{")
            assert read_all(client).startswith(b"HTTP/1.1 401 ")
        # What is sent behind a request in one record waits for its turn.
        with secured(s) as client:
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3 + b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert read_all(client).count(b"HTTP/1.1 200 ") == 4


def versions(program, model):
    with Server(program, model, "--context", "128", secure=True) as s:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with secured(s, (version, version)) as client:
                assert client.version() == version.name.replace("_", ".")
                client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                # An end that TLS does not say would be an error here.
                assert read_all(client).startswith(b"HTTP/1.1 200 ")
        with secured(s, protocols=["h2", "http/1.1"]) as client:
            assert client.selected_alpn_protocol() == "http/1.1"
        for wrong in ({"protocols": ["h2"]}, {"versions": (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1)}):
            try:
                secured(s, **wrong).close()
            except (ssl.SSLError, ConnectionResetError):
                continue
            raise AssertionError(f"{wrong} came through")
        if shutil.which("curl"):
            found = subprocess.run(["curl", "-sS", "--cacert", s.certificate, f"https://127.0.0.1:{s.port}/readyz"], capture_output=True, check=False)
            assert found.returncode == 0, found


def a_session_is_resumed(program, model):
    """A ticket saves the second handshake's signature; the server keeps nothing for it."""
    with Server(program, model, "--context", "128", secure=True) as s:
        context = ssl.create_default_context(cafile=s.certificate)
        session = None
        for turn in range(2):
            plain = socket.create_connection(("127.0.0.1", s.port), timeout=20)
            with context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as client:
                client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert read_all(client).startswith(b"HTTP/1.1 200 ")
                session = client.session
                assert client.session_reused == (turn == 1)


def plain_requests(program, model):
    """A client without TLS hears what is wrong, whatever it says."""
    with Server(program, model, "--context", "128", secure=True) as s:
        for text in (b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", b"POST /v1/completions HTTP/1.1\r\n", b"\r\n", b"\x00" * 100, b"x" * 100000):
            answer = s.raw(text)
            assert answer.startswith(b"HTTP/1.1 400 ") and b"https" in answer, (text[:20], answer)
        # What only begins as TLS ends without a word in plain.
        for text in (b"\x16\x03\x01\xff\xff" + b"x" * 70000, b"\x16" * 1000, b"\x16\x03\x01\x00\x05hello"):
            assert not s.raw(text).startswith(b"HTTP"), text[:20]
        assert s.ask("GET", "/livez")[0] == 200


def half_handshake(s):
    """The first bytes of a handshake, as a client of Python sends them."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context(cafile=s.certificate).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def slow_handshakes(program, model):
    """They end when a slow head would, cost no thread, and hold nobody else up."""
    with Server(program, model, "--context", "128", secure=True) as s:
        hello = half_handshake(s)
        assert s.ask("GET", "/livez")[0] == 200
        time.sleep(1)  # until what asked is closed
        before, threads_before = descriptors(s), threads(s)
        began = time.monotonic()
        silent, half, drip = ([socket.create_connection(("127.0.0.1", s.port), timeout=20) for _ in range(100)] for _ in range(3))
        for client in half:
            client.sendall(hello)
        for at in range(14):
            for client in drip:
                with contextlib.suppress(OSError):
                    client.sendall(hello[at:at + 1])
            assert s.ask("GET", "/livez")[0] == 200 and threads(s) == threads_before
            left = descriptors(s) - before
            # A busy machine takes longer for all of this.
            assert left >= 300 or time.monotonic() - began > 9, (left, "ended early")
            time.sleep(1)
        for client in (silent[0], half[0], drip[0]):
            with contextlib.suppress(ConnectionResetError):
                read_all(client)
        assert time.monotonic() - began < 40 and descriptors(s) <= before + 1, descriptors(s)
        # Who is through has the time of an idle connection.
        with secured(s) as client:
            time.sleep(12)
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert read_all(client).startswith(b"HTTP/1.1 200 ")
        # A head in pieces of a record each is as slow as any.
        with secured(s) as client:
            began = time.monotonic()
            client.settimeout(1)
            answer = b""
            while not answer and time.monotonic() - began < 20:
                client.sendall(b"G")
                with contextlib.suppress(TimeoutError):
                    answer = client.recv(4096)
            assert answer.startswith(b"HTTP/1.1 408 ") and 9 < time.monotonic() - began < 14, answer


def clients_that_leave(program, model):
    """At any point of a handshake and of an answer; nothing of them is left."""
    with Server(program, model, "--context", "4096", "--slots", "4", secure=True) as s:
        assert s.ask("GET", "/livez")[0] == 200
        before = descriptors(s)
        hello = half_handshake(s)
        for size in list(range(0, len(hello), 7)) + [len(hello)] * 20:
            with socket.create_connection(("127.0.0.1", s.port), timeout=20) as client:
                client.sendall(hello[:size])
        text = json.dumps({**BODY, "max_tokens": 4000, "ignore_eos": True, "stream": True})
        for _ in range(8):
            client = secured(s)
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (len(text), text.encode()))
            client.recv(100)
            client.close()
        s.wait_idle()
        for _ in range(100):
            if descriptors(s) <= before:
                break
            time.sleep(0.05)
        assert descriptors(s) <= before, (descriptors(s), before)


def clients_that_read_late(program, model):
    """A client for whom records waited gets every token in the end, and the end of the answer."""
    with Server(program, model, "--slots", "4", "--context", "4096", secure=True) as s:
        body = {"model": "bard", "prompt": "a", "max_tokens": 700, "ignore_eos": True, "seed": 3, "n": 4, "logprobs": 5}
        whole = s.ask("POST", "/v1/completions", body)[2]
        text = json.dumps(body | {"stream": True}).encode()
        with socket.socket() as plain:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            plain.connect(("127.0.0.1", s.port))
            with s.tls.wrap_socket(plain, server_hostname="127.0.0.1") as client:
                client.sendall(b"POST /v1/completions HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                               b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
                s.wait_taken()
                time.sleep(3)
                client.settimeout(60)
                data = read_all(client)
        events = events_of(data.partition(b"\r\n\r\n")[2])
        assert events[-1] == "[DONE]", events[-1]
        texts = [""] * 4
        for event in events[:-1]:
            for choice in event["choices"]:
                texts[choice["index"]] += choice["text"]
        assert texts == [choice["text"] for choice in whole["choices"]]


def files_are_read_again(program, model):
    def wait_for(s, text, count=1):
        for _ in range(200):
            if s.text().count(text) >= count:
                return
            time.sleep(0.02)
        raise AssertionError(s.text())
    with Server(program, model, "--context", "4096", keys=KEYS, secure=True) as s:
        stream = s.connect()
        stream.request("POST", "/v1/completions", json.dumps({**BODY, "max_tokens": 2000, "ignore_eos": True, "stream": True}),
                       {"Content-Type": "application/json", "Authorization": f"Bearer {ALICE}"})
        answer = stream.getresponse()
        data = answer.read(1)
        old = s.tls
        make_certificate(s.certificate, s.key)
        s.process.send_signal(signal.SIGHUP)
        wait_for(s, "the certificate was read again")
        assert "the keys were read again" in s.text()
        new = ssl.create_default_context(cafile=s.certificate)
        s.tls = new
        assert s.ask("GET", "/livez")[0] == 200
        s.tls = old
        try:
            s.ask("GET", "/livez")
            raise AssertionError("the old certificate is still there")
        except ssl.SSLCertVerificationError:
            pass
        # A connection keeps its keys.
        data += answer.read()
        assert events_of(data)[-1] == "[DONE]"
        stream.close()
        s.tls = new
        # Files that do not belong together change nothing.
        with open(s.key, "w", encoding="ascii") as file:
            file.write("no key")
        s.process.send_signal(signal.SIGHUP)
        wait_for(s, "the certificate stays as it was")
        assert s.key in s.text() and s.ask("GET", "/livez")[0] == 200


def files_that_do_not_do(program, model):
    """Each fault names its file, and no server starts."""
    with Server(program, model, "--context", "128", secure=True) as s:
        other, other_key, nothing = (os.path.join(s.folder.name, name) for name in ("other.pem", "other-key.pem", "nothing.pem"))
        locked = os.path.join(s.folder.name, "locked.pem")
        make_certificate(other, other_key)
        subprocess.run(["openssl", "ec", "-in", s.key, "-aes128", "-passout", "pass:secret", "-out", locked], check=True, capture_output=True)

        def start(*options):
            return subprocess.run([program, "serve", "--model", model, "--port", "0", *options], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=60, check=False)
        for certificate, key, named, why in ((s.certificate, other_key, other_key, "mismatch"), (s.certificate, nothing, nothing, "No such file"),
                                             (nothing, s.key, nothing, "No such file"), (s.key, s.key, s.key, "no certificate"),
                                             (s.certificate, s.certificate, s.certificate, "no key"), (s.certificate, locked, locked, "no key"),
                                             (s.certificate, model, model, "no key")):
            found = start("--tls-cert", certificate, "--tls-key", key)
            assert found.returncode == 1 and named in found.stderr and why in found.stderr, (certificate, key, found)
        for lone in (("--tls-cert", s.certificate), ("--tls-key", s.key)):
            assert start(*lone).returncode == 2, lone


CASES = {case.__name__: case for case in (
    answers, versions, a_session_is_resumed, plain_requests, slow_handshakes, clients_that_leave, clients_that_read_late,
    files_are_read_again, files_that_do_not_do)}


def main(program, model, *names):
    if not speaks_tls(program):
        print("SKIPPED: a build without OpenSSL; ./dev setup installs it")
        return 77
    return run_all({name: CASES[name] for name in names or CASES}, program, model, waiting=("slow_handshakes",))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
