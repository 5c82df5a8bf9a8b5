# SPDX-License-Identifier: Apache-2.0
"""HAProxy in front of two replicas, as docs/scaling.md has it: python3 gateway.py ZRT MODEL"""
import contextlib
import http.server
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from server import Server, events_of, run_all

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "gateway")
HAPROXY = shutil.which("haproxy") or "/usr/sbin/haproxy"
SKIPPED = 77
OPTIONS = ("--context", "1024", "--slots", "2")
BODY = {"model": "bard", "prompt": "To be, or not to be, that is the question. " * 3, "max_tokens": 2, "seed": 1}
LONG = {"model": "bard", "prompt": "a", "max_tokens": 1000, "ignore_eos": True, "stream": True}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Gateway(Server):
    """HAProxy and the program that sets its weights; a client of the gateway is one of a server."""

    def __init__(self, replicas):  # pylint: disable=super-init-not-called
        self.folder = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self.folder.name, "haproxy")
        self.port = free_port()
        self.log = open(os.path.join(self.folder.name, "log"), "w+", encoding="utf-8")
        places = {f"ZRT_{i}": f"127.0.0.1:{replica.port}" for i, replica in enumerate(replicas, 1)}
        environment = {**os.environ, **places, "GATEWAY": f"127.0.0.1:{self.port}", "HAPROXY_SOCKET": self.socket}
        urls = [f"replicas/{name}=http://127.0.0.1:{replica.port}" for name, replica in zip(("one", "two"), replicas)]
        self.processes = [
            subprocess.Popen([HAPROXY, "-db", "-f", os.path.join(EXAMPLE, "haproxy.cfg")], env=environment,
                             stdout=self.log, stderr=self.log)]
        self.wait(lambda: self.say("show servers state replicas"))
        self.processes.append(
            subprocess.Popen([sys.executable, os.path.join(EXAMPLE, "weights.py"), "--socket", self.socket, "--seconds", "0.2",
                              *urls], stdout=self.log, stderr=self.log))

    def __exit__(self, kind, value, trace):
        for process in self.processes:
            process.terminate()
            process.wait(timeout=20)
        self.log.seek(0)
        if kind is not None:
            print(self.log.read())
        self.log.close()
        self.folder.cleanup()

    def say(self, command):
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(5)
                client.connect(self.socket)
                client.sendall(command.encode() + b"\n")
                return client.recv(65536).decode()
        except OSError:
            return ""

    def weight(self, name):
        return int(self.say(f"get weight replicas/{name}").split()[0])

    def is_up(self, name):
        """The operational state of a server: 2 takes requests."""
        lines = [line.split() for line in self.say("show servers state replicas").splitlines()]
        return next(line[5] == "2" for line in lines if len(line) > 5 and line[3] == name)

    @staticmethod
    def wait(what, seconds=20):
        for _ in range(seconds * 20):
            if what():
                return
            time.sleep(0.05)
        raise AssertionError("waited in vain")


@contextlib.contextmanager
def house(program, model):
    """Two replicas and a gateway that takes both for ready."""
    with Server(program, model, *OPTIONS) as one, Server(program, model, *OPTIONS) as two, Gateway((one, two)) as gateway:
        gateway.wait(lambda: gateway.is_up("one") and gateway.is_up("two") and gateway.weight("one") == gateway.weight("two") == 256)
        yield one, two, gateway


def taken(server):
    return server.metric("zrt_requests_total")


def requests_are_spread(program, model):
    with house(program, model) as (one, two, gateway):
        for _ in range(20):
            status, _, body = gateway.ask("POST", "/v1/completions", BODY)
            assert status == 200, body
        assert taken(one) + taken(two) == 20 and 8 <= taken(one) <= 12, (taken(one), taken(two))


def sessions_stay(program, model):
    """By a header or by a cookie a client stays at one replica, which finds its prefixes again."""
    with house(program, model) as (one, two, gateway):
        for session in ("a", "b", "c"):
            before = taken(one)
            for turn in range(4):
                status, _, body = gateway.ask("POST", "/v1/completions", BODY, headers={"X-Session-Id": session})
                assert status == 200 and (turn == 0 or body["usage"]["prompt_tokens_details"]["cached_tokens"] >= 16), body
            assert taken(one) - before in (0, 4), (before, taken(one))
        _, fields, _ = gateway.ask("POST", "/v1/completions", BODY)
        cookie = fields["set-cookie"].split(";")[0]
        before = taken(one), taken(two)
        for _ in range(6):
            _, fields, _ = gateway.ask("POST", "/v1/completions", BODY, headers={"Cookie": cookie})
            assert "set-cookie" not in fields
        assert sorted((taken(one) - before[0], taken(two) - before[1])) == [0, 6]


def long_streams(server, count):
    """Streams that run on one replica, past the gateway."""
    connections = []
    for _ in range(count):
        connections.append(server.connect())
        connections[-1].request("POST", "/v1/completions", json.dumps({**LONG, "max_tokens": 1000}), {"Content-Type": "application/json"})
    return connections


def weights_follow_the_load(program, model):
    with house(program, model) as (one, two, gateway):
        streams = long_streams(one, 100)
        gateway.wait(lambda: gateway.weight("one") < 64)
        assert gateway.weight("two") > 200
        before = taken(two)
        for _ in range(12):
            assert gateway.ask("POST", "/v1/completions", BODY)[0] == 200
        assert taken(two) - before >= 9, taken(two) - before
        for stream in streams:
            stream.close()
        gateway.wait(lambda: gateway.weight("one") == 256)


def full_replicas_pass_requests_on(program, model):
    """A replica whose queue is full refuses; HAProxy asks the other one, and the client hears nothing of it."""
    with Server(program, model, *OPTIONS, "--queue", "1") as one, Server(program, model, *OPTIONS) as two, Gateway((one, two)) as gateway:
        gateway.wait(lambda: gateway.is_up("one") and gateway.is_up("two"))
        gateway.processes[1].terminate()
        streams = long_streams(one, 3)
        gateway.wait(lambda: one.metric("zrt_num_requests_running") + one.metric("zrt_num_requests_waiting") == 3)
        gateway.say("set server replicas/one weight 256")
        gateway.say("set server replicas/two weight 1")
        assert one.ask("POST", "/v1/completions", BODY)[0] == 503
        for _ in range(6):
            assert gateway.ask("POST", "/v1/completions", BODY)[0] == 200
        for stream in streams:
            stream.close()


def replicas_leave_without_an_error(program, model):
    """A replica drains: its stream goes on to the end, and its sessions and all that is new go to the other one."""
    with house(program, model) as (one, two, gateway):
        session = {"X-Session-Id": "x"}
        before = taken(one)
        assert gateway.ask("POST", "/v1/completions", BODY, headers=session)[0] == 200
        leaving, staying = (one, two) if taken(one) > before else (two, one)
        connection = gateway.connect()
        connection.request("POST", "/v1/completions", json.dumps({**LONG, "max_tokens": 900}),
                           {"Content-Type": "application/json", **session})
        answer = connection.getresponse()
        data = answer.read(1)
        leaving.process.send_signal(signal.SIGTERM)
        for turn in range(30):
            status, _, body = gateway.ask("POST", "/v1/completions", BODY, headers=session if turn % 2 else {})
            assert status == 200, (turn, status, body)
        data += answer.read()
        assert events_of(data)[-1] == "[DONE]"
        connection.close()
        assert taken(staying) >= 30 and leaving.process.wait(timeout=30) == 0


def full_pages_of_two_models_are_no_load(_program, _model):
    """Each of two models has 60 % of its pages in use: the fuller one counts, not both together."""
    class Figures(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            text = "".join(f'zrt_{name}{{model="{model}"}} {value}\n' for model, running in (("a", 1), ("b", 0)) for name, value in (
                ("num_requests_running", running), ("num_requests_waiting", 0), ("slots", 8), ("kv_cache_usage_perc", 0.6)))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass
    spec = importlib.util.spec_from_file_location("weights", os.path.join(EXAMPLE, "weights.py"))
    weights = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(weights)
    with http.server.HTTPServer(("127.0.0.1", 0), Figures) as server:
        threading.Thread(target=server.handle_request).start()
        found = weights.figures(f"http://127.0.0.1:{server.server_port}", None)
    assert found["zrt_slots"] == 16 and found["zrt_kv_cache_usage_perc"] == 0.6, found
    assert weights.weight_of(found) == 241, weights.weight_of(found)


CASES = {case.__name__: case for case in (full_pages_of_two_models_are_no_load, requests_are_spread, sessions_stay, weights_follow_the_load, full_replicas_pass_requests_on,
                                          replicas_leave_without_an_error)}

if __name__ == "__main__":
    if not os.path.exists(HAPROXY):
        print("SKIPPED: no haproxy is installed; ./dev test installs it")
        sys.exit(SKIPPED)
    names = sys.argv[3:] or list(CASES)
    sys.exit(run_all({name: CASES[name] for name in names}, *sys.argv[1:3]))
