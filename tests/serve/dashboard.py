# SPDX-License-Identifier: Apache-2.0
"""Every figure that the dashboard reads and the pages name is exported, with its labels: python3 dashboard.py ZRT MODEL"""
import json
import os
import re
import sys

from server import Server, run_all

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGES = ("docs/serving.md", "docs/scaling.md")
KEY = "root-key-0123456789"
KEYS = {"tenants": [{"id": "root", "keys": [KEY], "admin": True}]}
# Prometheus gives each figure the replica that it comes from.
OF_PROMETHEUS = {"instance", "le"}


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def exported(program, model):
    """Names of figures and the labels that each has."""
    with Server(program, model, "--context", "128", "--metrics-compat", "vllm", keys=KEYS) as s:
        assert s.ask("POST", "/v1/completions", {"model": "bard", "prompt": "a", "max_tokens": 3}, key=KEY)[0] == 200
        found = {}
        for line in s.ask("GET", "/metrics", key=KEY)[2].decode().splitlines():
            if not line.startswith("#"):
                found.setdefault(line.split("{")[0], set()).update(re.findall(r'(\w+)="', line))
        return found


def expressions(dashboard):
    """Selectors of the dashboard: names and the labels that stand behind them."""
    texts = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    texts += [one["query"].replace(",", "{},", 1) for one in dashboard["templating"]["list"] if one["type"] == "query"]
    return texts


def check_dashboard(found):
    dashboard = json.loads(text_of("examples/grafana/dashboard.json"))
    texts = expressions(dashboard)
    assert len(texts) > 20
    for text in texts:
        selectors = re.findall(r"((?:zrt_|vllm:)\w+)\{([^}]*)\}", text)
        assert selectors and len(selectors) == len(re.findall(r"\b(?:zrt_|vllm:)", text)), text
        grouped = [label for group in re.findall(r"by \(([^)]*)\)", text) for label in group.split(", ")]
        for name, inside in selectors:
            assert name in found, f"{name} is not exported"
            labels = set(re.findall(r"(\w+)=~", inside)) | set(grouped)
            assert labels - OF_PROMETHEUS <= found[name], (name, labels - found[name])


def check_panels(_):
    """Panels have ids of their own and lie beside each other."""
    panels = json.loads(text_of("examples/grafana/dashboard.json"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [(x, y) for place in (panel["gridPos"] for panel in panels) for x in range(place["x"], place["x"] + place["w"])
             for y in range(place["y"], place["y"] + place["h"])]
    assert len(cells) == len(set(cells)) and all(x < 24 for x, _ in cells)


def check_pages(found):
    """A name in a page is a figure, or a histogram without its endings."""
    names = {name for page in PAGES for name in re.findall(r"`((?:zrt_|vllm:)\w+)", text_of(page))}
    assert len(names) > 10, names
    for name in names:
        assert name in found or name + "_bucket" in found, f"{name} is not exported"


if __name__ == "__main__":
    FIGURES = exported(*sys.argv[1:3])
    sys.exit(run_all({case.__name__: case for case in (check_dashboard, check_panels, check_pages)}, FIGURES))
