#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Published chat templates, rendered by zrt and by python3-jinja2 on the same conversations; and the calls that they show,
read by zrt.

    chat_templates.py UNIT_TESTS FOLDER

Skips, with a reason, without the folder or without jinja2.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
if not list(folder.glob("*.jinja")):
    print(f"SKIPPED: {folder} holds no templates")
    sys.exit(SKIPPED)
try:
    import jinja2  # noqa: F401
except ImportError:
    print("SKIPPED: install python3-jinja2")
    sys.exit(SKIPPED)
script = pathlib.Path(__file__).parents[1] / "tools/chat_conversations.py"
with tempfile.TemporaryDirectory() as scratch:
    cases = f"{scratch}/cases.json"
    subprocess.run([sys.executable, script, folder, cases], check=True)
    run = subprocess.run([program, "--gtest_filter=ChatTemplate.RendersAsJinjaDoes:ReplyOfTemplates.*"],
                         env=os.environ | {"ZRT_CHAT_CASES": cases, "ZRT_CHAT_TEMPLATES": str(folder)}, check=False)
sys.exit(run.returncode)
