# SPDX-License-Identifier: Apache-2.0
"""The chat page in headless Chromium: python3 page.py ZRT MODEL [FOLDER-FOR-SCREENSHOTS]"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from adapters import write_adapter
from images import Images, noise, reads
from server import Server

ALICE, BOB, ROOT = "alice-key-0123456789", "bob-key-0123456789", "root-key-0123456789"
# Slowly enough that both are still at work while the page is looked at.
KEYS = {"tenants": [{"id": "alice", "keys": [ALICE], "answer_tokens_per_second": 100},
                    {"id": "bob", "keys": [BOB], "answer_tokens_per_second": 100}, {"id": "root", "keys": [ROOT], "admin": True}]}


class Browser:
    """One page, driven through the pipes that Chromium speaks its protocol on."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, from_us = os.pipe()
        from_browser, to_us = os.pipe()

        def place_pipes():
            # The protocol is spoken on 3 and 4, which either pipe may have already.
            kept_in, kept_out = os.dup(to_browser), os.dup(to_us)
            os.dup2(kept_in, 3)
            os.dup2(kept_out, 4)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder.name}", "about:blank"],
            preexec_fn=place_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(to_us)
        self.output = os.fdopen(from_us, "wb", buffering=0)
        self.input = os.fdopen(from_browser, "rb", buffering=0)
        self.held, self.number, self.session, self.problems = b"", 0, None, []
        self.password, self.asked = None, 0  # what the browser's user answers when it asks for a password, and how often it did
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def post(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.output.write(json.dumps(message).encode() + b"\0")
        return self.number

    def call(self, method, **parameters):
        number = self.post(method, **parameters)
        while True:
            while b"\0" not in self.held:
                piece = self.input.read(65536)
                assert piece, "the browser ended"
                self.held += piece
            text, self.held = self.held.split(b"\0", 1)
            found = json.loads(text)
            self.hear(found)
            if found.get("id") == number:
                assert "error" not in found, found
                return found["result"]

    def hear(self, event):
        if event.get("method") == "Fetch.requestPaused":
            self.post("Fetch.continueRequest", requestId=event["params"]["requestId"])
        if event.get("method") == "Fetch.authRequired":
            self.asked += 1
            answer = {"response": "CancelAuth"} if self.password is None else \
                {"response": "ProvideCredentials", "username": "anyone", "password": self.password}
            self.post("Fetch.continueWithAuth", requestId=event["params"]["requestId"], authChallengeResponse=answer)
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(event["params"]["exceptionDetails"])
        if event.get("method") == "Network.requestWillBeSent":
            url = event["params"]["request"]["url"]
            if not url.startswith(("http://127.0.0.1", "data:", "about:")):
                self.problems.append(url)

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, script, seconds=30):
        for _ in range(int(seconds * 20)):
            if self.run(script):
                return
            time.sleep(0.05)
        raise AssertionError(f"never true: {script}; the page: {self.run('document.body.innerText')!r}")

    def key(self, key, code=0, modifiers=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=modifiers,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def type(self, text):
        self.call("Input.insertText", text=text)

    def size(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, folder, name):
        if folder:
            data = self.call("Page.captureScreenshot", format="png")["data"]
            with open(os.path.join(folder, name + ".png"), "wb") as file:
                file.write(base64.b64decode(data))

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.folder.cleanup()


LAST = "document.querySelector('#log .turn:last-child')"
ALT = 1


def talk(b, folder):
    b.wait("document.querySelector('#model')?.textContent === 'bard'")
    assert b.run("document.activeElement.id") == "text"
    b.run("at('max_tokens').value = 60; at('max_tokens').onchange()")
    b.type("Who is there?")
    b.key("Enter", 13, text="\r")
    b.wait(f"/tokens\\/s/.test({LAST}.querySelector('.note')?.textContent) && !running")
    first = b.run(f"{LAST}.querySelector('.text').textContent")
    assert first, "no answer"
    assert b.run("document.querySelectorAll('.turn').length") == 2
    b.picture(folder, "answer")

    # Again, with another seed than the first: it may differ, and there is still one answer.
    b.key("r", 82, ALT)
    b.wait(f"!running && /tokens/.test({LAST}.querySelector('.note')?.textContent)")
    assert b.run("document.querySelectorAll('.turn').length") == 2


def stop(b, folder):
    b.run("at('max_tokens').value = 3500; at('max_tokens').onchange()")
    b.key("n", 78, ALT)
    assert b.run("document.querySelectorAll('#chats li').length") == 2
    b.type("Tell me a long story.")
    b.key("Enter", 13, text="\r")
    b.wait(f"running && {LAST}.querySelector('.text').textContent.length > 40")
    b.picture(folder, "streaming")
    assert b.run("!at('stop').hidden && at('send').hidden")
    b.key("Escape", 27)
    b.wait(f"!running && /stopped/.test({LAST}.querySelector('.note').textContent)")


def settings(b, folder):
    b.key("s", 83, ALT)
    b.wait("document.activeElement.id === 'system'")
    b.type("You are a king.")
    b.run("at('system').onchange()")
    b.wait("/Slots in use/.test(at('figures').textContent)")
    assert b.run("request_of(now).messages[0].content") == "You are a king."
    b.picture(folder, "settings")
    b.key("Escape", 27)
    assert not b.run("at('settings').classList.contains('shown')")


def picture_of_pages(b, folder, url):
    """For a key: slots, pages as cells in the colours of tenants, and tenants; an admin's key shows all."""
    # The browser asks for a password, before anything of the page is there.
    b.call("Fetch.enable", handleAuthRequests=True)
    b.call("Page.navigate", url=url)
    b.wait("/expected Authorization/.test(document.body?.innerText)")
    assert b.asked == 1 and b.run("typeof find_model === 'undefined'")
    # The one that it is given serves the page's own requests too: no key is typed into the page.
    b.password = ROOT
    b.call("Page.navigate", url=url)
    b.wait("typeof find_model !== 'undefined' && at('model').textContent === 'bard'")
    assert b.asked == 2 and b.run("key === '' && at('key').value === ''")
    b.key("s", 83, ALT)
    tenant = "Array.from(document.querySelectorAll('#figures tr')).filter(row => /^Tenant/.test(row.textContent)).map(row => row.cells[0].textContent)"
    coloured = "Array.from(document.querySelectorAll('#pages rect')).filter(cell => cell.style.fill).map(cell => cell.style.fill)"

    def enter(key):
        b.run(f"at('key').value = {key!r}; at('key').onchange()")
        b.wait("at('model').textContent === 'bard'")
    b.wait(f"JSON.stringify({tenant}) === JSON.stringify(['Tenant alice', 'Tenant bob', 'Tenant root'])")
    b.wait(f"new Set({coloured}).size === 2")
    b.wait("/Slots in use2 of 2/.test(at('figures').textContent)")
    b.picture(folder, "pages")
    first = b.run(f"{coloured}.length")
    b.wait(f"{coloured}.length > {first}")
    enter(ALICE)
    b.wait(f"JSON.stringify({tenant}) === JSON.stringify(['Tenant alice'])")
    assert b.run("!/bob/.test(document.body.innerText)")
    # A key that is wrong is a message of the page's, not another question of the browser's.
    b.run("at('key').value = 'wrong-key-0123456789'; at('key').onchange()")
    b.wait("/not known/.test(at('model').textContent)")
    assert b.asked == 2
    b.run("at('key').value = ''; at('key').onchange()")
    b.wait("typeof find_model !== 'undefined' && key === '' && at('model').textContent === 'bard'")
    b.key("s", 83, ALT)
    b.wait(f"JSON.stringify({tenant}) === JSON.stringify(['Tenant alice', 'Tenant bob', 'Tenant root'])")
    b.run("sessionStorage.clear()")
    b.call("Fetch.disable")


def with_keys(b, folder, program, model):
    """Two tenants at work, and an admin who looks."""
    def stream(s, key):
        connection = s.connect()
        connection.request("POST", "/v1/completions", json.dumps({"model": "bard", "prompt": "a", "max_tokens": 16000, "ignore_eos": True,
                                                                  "stream": True}),
                           {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        answer.read(1)
        return connection, answer
    with Server(program, model, "--context", "16384", "--slots", "2", "--drain", "0", keys=KEYS) as s:
        streams = [stream(s, key) for key in (ALICE, BOB)]
        reading = [threading.Thread(target=answer.read, daemon=True) for _, answer in streams]
        for thread in reading:
            thread.start()
        picture_of_pages(b, folder, f"http://127.0.0.1:{s.port}/")


def errors(b, _):
    b.run("at('temperature').value = 9; at('temperature').onchange()")
    b.key("n", 78, ALT)
    b.type("Hi")
    b.key("Enter", 13, text="\r")
    b.wait(f"!running && /temperature/.test({LAST}.querySelector('.bad')?.textContent)")
    b.run("at('temperature').value = 0.8; at('temperature').onchange()")
    # Of the text of a model of plays few answers end by themselves, and a busy machine writes one of 3,500 tokens for minutes.
    most = b.run("at('max_tokens').value")
    b.run("at('max_tokens').value = 24; at('max_tokens').onchange()")
    # What comes behind it goes on as one message, so that templates whose sides alternate take it.
    b.type("Ho")
    b.key("Enter", 13, text="\r")
    b.wait(f"!running && /tokens/.test({LAST}.querySelector('.note')?.textContent) && now.turns.length === 4")
    asked = b.run("request_of({turns: now.turns.slice(0, 3)}).messages.map(m => [m.role, m.content].join(':')).join('|')")
    assert asked.endswith("user:Hi\n\nHo") and asked.count("user:") == 1, asked
    b.run(f"at('max_tokens').value = {most!r}; at('max_tokens').onchange()")


def two_tabs(b, url):
    """Tabs of one browser show each other's chats, and none takes away what another keeps."""
    first = b.session
    b.session = None
    target = b.call("Target.createTarget", url="about:blank")["targetId"]
    second = b.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    b.session = second
    for domain in ("Page", "Runtime"):
        b.call(domain + ".enable")
    b.call("Page.navigate", url=url)
    b.wait("typeof find_model !== 'undefined' && at('model').textContent === 'bard'")
    titles, kept = "chats.map(title_of)", "JSON.parse(localStorage.getItem('zrt.chats')).map(title_of)"

    def say(session, text):
        b.session = session
        b.run("at('max_tokens').value = 8; at('max_tokens').onchange()")
        b.run(f"show(begin()); at('text').value = {text!r}; send()")
        b.wait("!running && now.turns.length === 2")
    say(first, "From one")
    say(second, "From two")
    say(first, "One again")
    for session in (first, second):
        b.session = session
        for text in ("From one", "From two", "One again"):
            b.wait(f"{titles}.includes({text!r}) && {kept}.filter(one => one === {text!r}).length === 1")
    # What one deletes is gone from both, and stays so.
    b.session = first
    b.run("show(chats.find(one => title_of(one) === 'From two')); document.querySelector('#chats .now .plain').onclick()")
    b.session = second
    b.wait(f"!{titles}.includes('From two')")
    say(second, "Two again")
    assert not b.run(f"{kept}.includes('From two')") and b.run(f"{kept}.includes('Two again')")
    b.session = None
    b.call("Target.closeTarget", targetId=target)
    b.session = first
    b.wait(f"{titles}.includes('Two again')")



def several_models(b, folder, program, model):
    """One that gives vectors is not offered; of the others and their adapters one is chosen, by keys too."""
    with tempfile.TemporaryDirectory() as files:
        encoder, adapter = os.path.join(files, "encoder.gguf"), os.path.join(files, "king.gguf")
        subprocess.run([program, "make-model", "--arch", "bert", "--shape", "tiny", "--type", "q8_0", "--out", encoder], check=True,
                       stdout=subprocess.DEVNULL)
        write_adapter(adapter, seed=3)
        with Server(program, [f"encoder={encoder}", f"bard={model}"], "--context", "256", "--adapter", f"bard:king={adapter}") as s:
            _, _, listed = s.ask("GET", "/v1/models")
            assert [one["embeddings"] for one in listed["data"]] == [True, False, False], listed
            b.size(1100, 760)
            b.call("Page.navigate", url=f"http://127.0.0.1:{s.port}/")
            b.wait("document.querySelector('#models')?.value === 'bard' && !at('models').hidden && at('model').hidden")
            assert b.run("[...at('models').options].map(one => one.value).join()") == "bard,king"
            b.run("at('max_tokens').value = 5; at('max_tokens').onchange(); at('models').focus()")
            b.key("ArrowDown", 40)
            b.wait("model === 'king' && /king/.test(at('log').textContent)")
            b.picture(folder, "models")
            before = s.metric("zrt_requests_total")
            b.run("at('text').focus()")
            b.type("Who is there?")
            b.key("Enter", 13, text="\r")
            b.wait(f"!running && /tokens/.test({LAST}.querySelector('.note')?.textContent)")
            assert s.metric("zrt_requests_total") == before + 1
            b.size(375, 720, mobile=True)
            assert b.run("document.documentElement.scrollWidth <= 375 && at('models').getBoundingClientRect().width > 40")
            b.picture(folder, "models-phone")
            b.size(1100, 760)
            b.call("Page.reload")
            b.wait("document.querySelector('#models')?.value === 'king' && model === 'king'")


def images(b, folder, program):
    """A model with an encoder is shown images; they are shown in the chat, and leave with the tab."""
    assert b.run("at('attach').hidden"), "a model that reads text alone"
    with Images(program) as s:
        url = f"http://127.0.0.1:{s.port}/"
        b.call("Page.navigate", url=url)
        b.wait("typeof find_model !== 'undefined' && at('model').textContent === 'bard' && !at('attach').hidden")
        b.run("at('max_tokens').value = 8; at('max_tokens').onchange(); settings.system = ''")
        data = base64.b64encode(noise(80, 64, 1)).decode()
        b.run(f"const bytes = Uint8Array.from(atob('{data}'), c => c.charCodeAt(0)); show(begin());"
              "attach([new File([bytes], 'a.png', {type: 'image/png'}), new File(['x'], 'b.txt', {type: 'text/plain'}),"
              "new File(['x'], 'c.png', {type: 'image/png'})])")
        b.wait("document.querySelectorAll('#attached img').length === 1 && attached.length === 1")
        b.picture(folder, "attached")
        b.run("at('text').focus()")
        b.type("what is it.")
        b.key("Enter", 13, text="\r")
        b.wait(f"!running && /tokens/.test({LAST}.querySelector('.note')?.textContent)")
        assert b.run("document.querySelectorAll('.turn.user img').length") == 1 and not b.run("attached.length")
        content = b.run("request_of(now).messages[0].content")
        assert content == [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + data}}, {"type": "text", "text": "what is it."}]
        b.picture(folder, "image")
        # What is larger than a model looks at is drawn smaller.
        size = b.run("""(async () => {
            const canvas = document.createElement('canvas'), image = new Image();
            [canvas.width, canvas.height] = [3000, 1500];
            const blob = await new Promise(done => canvas.toBlob(done, 'image/png'));
            image.src = await url_of(new File([blob], 'a.png', {type: 'image/png'}));
            await image.decode();
            return [image.width, image.height];
        })()""")
        assert size == [2048, 1024], size
        b.call("Page.navigate", url=url)
        b.wait("typeof find_model !== 'undefined' && at('model').textContent === 'bard'")
        b.run("show(chats.find(chat => chat.turns[0]?.pictures))")
        b.wait("/an image that was not kept/.test(document.querySelector('.turn.user').textContent)")
        assert b.run("request_of(now).messages[0].content") == "what is it."


def looks(b, folder):
    b.run("show(chats[chats.length - 1])")
    b.scheme("dark")
    dark = b.run("getComputedStyle(document.body).backgroundColor")
    b.picture(folder, "dark")
    b.size(375, 720, mobile=True)
    assert b.run("document.documentElement.scrollWidth <= 375"), "the page is wider than a phone"
    assert b.run("getComputedStyle(at('side')).display") == "none"
    b.picture(folder, "phone")
    b.run("at('menu').click()")
    assert b.run("getComputedStyle(at('side')).display") == "flex"
    b.picture(folder, "phone-menu")
    b.run("at('menu').click()")
    b.scheme("light")
    assert b.run("getComputedStyle(document.body).backgroundColor") != dark
    b.run("at('theme').click()")
    assert b.run("getComputedStyle(document.body).backgroundColor") == dark


def lives_on(b, url):
    count = b.run("chats.length")
    b.call("Page.navigate", url=url)
    b.wait("typeof find_model !== 'undefined' && document.querySelector('#model')?.textContent === 'bard'")
    assert b.run("chats.length") == count and b.run("settings.system") == "You are a king."


def main(program, model, folder=None):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("SKIPPED: no chromium; ./dev setup installs it")
        return 77
    with Server(program, model, "--context", "4096", "--slots", "2") as s:
        b = Browser(browser)
        try:
            url = f"http://127.0.0.1:{s.port}/"
            b.size(1100, 760)
            b.scheme("light")
            b.call("Page.navigate", url=url)
            for part in (talk, stop, settings, errors, looks):
                part(b, folder)
            lives_on(b, url)
            two_tabs(b, url)
            if reads(program):
                images(b, folder, program)
            several_models(b, folder, program, model)
            with_keys(b, folder, program, model)
            assert not b.problems, b.problems
        finally:
            b.close()
    print("the page did what it should")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
