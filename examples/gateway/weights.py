# SPDX-License-Identifier: Apache-2.0
"""Sets the weights of HAProxy's servers by the figures of `zrt serve`, once a second.

python3 weights.py --socket /run/haproxy.sock replicas/one=http://10.0.0.1:8080 replicas/two=http://10.0.0.2:8080

A key of an admin or of a tenant comes from the environment, ZRT_KEY.
"""
import argparse
import os
import socket
import sys
import time
import urllib.request

MOST = 256


def figures(url, key):
    """A replica's figures by name: sums over its models, and of what is a part of something the largest."""
    request = urllib.request.Request(url + "/metrics", headers={"Authorization": f"Bearer {key}"} if key else {})
    with urllib.request.urlopen(request, timeout=2) as answer:
        lines = answer.read().decode().splitlines()
    found = {}
    for line in lines:
        if not line.startswith("#"):
            name, value = line.split("{")[0], line.rsplit(" ", 1)[1]
            parts = found.get(name, 0.0), float(value)
            found[name] = max(parts) if name.endswith("_perc") else sum(parts)
    return found


def weight_of(found):
    """256 for an idle replica, a half of it where all slots run, a fifth where three times as many wait as run.

    Prefixes that were found are pages of finished requests and no load, so pages count where they run short.
    """
    busy = (found["zrt_num_requests_running"] + found["zrt_num_requests_waiting"]) / max(1.0, found["zrt_slots"])
    short = max(0.0, found["zrt_kv_cache_usage_perc"] - 0.9) * 5
    return max(1, round(MOST / (1 + busy) * (1 - short)))


def set_weight(path, server, weight):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        client.connect(path)
        client.sendall(f"set server {server} weight {weight}\n".encode())
        answer = client.recv(4096).decode().strip()
    if answer:
        print(f"{server}: {answer}", file=sys.stderr)


def follow(path, servers, key, seconds):
    while True:
        for server, url in servers:
            try:
                set_weight(path, server, weight_of(figures(url, key)))
            except (OSError, KeyError, ValueError) as error:
                # HAProxy's own check takes a replica out that does not answer; the weight stays.
                print(f"{server}: {error}", file=sys.stderr)
        time.sleep(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--socket", required=True)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("servers", nargs="+", help="BACKEND/SERVER=URL")
    o = parser.parse_args()
    follow(o.socket, [one.split("=", 1) for one in o.servers], os.environ.get("ZRT_KEY"), o.seconds)


if __name__ == "__main__":
    main()
