# SPDX-License-Identifier: Apache-2.0
"""Images in chats of `zrt serve`: python3 images.py ZRT MODEL"""
import base64
import concurrent.futures
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import zlib

from server import Server, run_all, text_of

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
PEER = os.path.join(DATA, "peer")
WORDS, VISION = (os.path.join(PEER, f"qwen3vl-{name}.gguf") for name in ("words", "vision"))
PLACE = "<|vision_start|><|image_pad|><|vision_end|>"
# What the messages hold and nothing else, so that a prompt is what zrt generate has for one.
TEMPLATE = ("{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
            "{% if p.type == 'image' %}" + PLACE + "{% else %}{{ p.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}")
COMMON = {"model": "bard", "temperature": 0, "ignore_eos": True, "max_tokens": 6}


MEASURED = {"logprobs": True, "top_logprobs": 20}


def bits_of(body):
    choice = body["choices"][0]
    return choice["message"]["content"], json.dumps(choice["logprobs"])


def image_path(name):
    return os.path.join(DATA, "image", name)


def contents(name):
    with open(image_path(name), "rb") as file:
        return file.read()


def part(data, kind="png"):
    url = f"data:image/{kind};base64," + base64.b64encode(data).decode()
    return {"type": "image_url", "image_url": {"url": url, "detail": "auto"}}


def image(name):
    return part(contents(name), "png" if name.endswith("png") else "jpeg")


def text(words):
    return {"type": "text", "text": words}


def user(*parts):
    return [{"role": "user", "content": list(parts)}]


def noise(width, height, seed):
    """A PNG of random pixels."""
    pixels = random.Random(seed)
    lines = b"".join(b"\0" + pixels.randbytes(3 * width) for _ in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def turned(jpeg, orientation):
    """A JPEG whose camera was held otherwise."""
    notes = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01" + struct.pack(">HHIHHI", 0x0112, 3, 1, orientation, 0, 0)
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(notes) + 2) + notes + jpeg[2:]


class Images(Server):
    """A server of the small model with its encoder."""

    def __init__(self, program, *options, **more):
        self.templates = tempfile.TemporaryDirectory()
        path = os.path.join(self.templates.name, "template.jinja")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TEMPLATE)
        super().__init__(program, WORDS, "--mmproj", VISION, "--kv", "f32", "--chat-template", path, *options, **more)

    def __exit__(self, *how):
        super().__exit__(*how)
        self.templates.cleanup()

    def say(self, messages, **fields):
        status, body = self.post("/v1/chat/completions", {**COMMON, "messages": messages, **fields})
        assert status == 200, (status, body)
        return body

    def said(self, messages, **fields):
        return self.say(messages, **fields)["choices"][0]["message"]["content"]

    def bits(self, messages, **fields):
        """The answer with its log-probabilities: what the model computed."""
        return bits_of(self.say(messages, **MEASURED, **fields))

    def refused(self, messages, code, param="messages[0].content[0].image_url.url", **fields):
        status, body = self.post("/v1/chat/completions", {**COMMON, "messages": messages, **fields})
        assert status == 400 and body["error"]["code"] == code and body["error"]["param"] == param, (code, status, body)
        return body["error"]["message"]


def generate(program, prompt, images, *options):
    """What zrt generate says to files of images: the last object of its output."""
    given = [word for path in images for word in ("--image", path)]
    run = subprocess.run([program, "generate", "--model", WORDS, "--mmproj", VISION, "--kv", "f32", "--temp", "0", "--ignore-eos",
                          "-n", "6", "--prompt", prompt, "--json", *given, *options], capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def reads(program):
    """Whether this build reads PNG and JPEG."""
    for name in ("exact.png", "baseline.jpg"):
        run = subprocess.run([program, "generate", "--model", WORDS, "--mmproj", VISION, "--image", image_path(name), "-n", "1",
                              "--prompt", "a"], capture_output=True, text=True, check=False)
        if "unimplemented" in run.stderr:
            return False
    return True


def answers_are_those_of_generate(program, _):
    """And so llama.cpp's, whose answers to these files tests/data has."""
    with open(os.path.join(PEER, "qwen3vl-words.json"), encoding="utf-8") as file:
        answers = json.load(file)
    for answer in answers:
        limits = ("--image-min-tokens", str(answer["least"]), "--image-max-tokens", str(answer["most"]))
        own = generate(program, answer["prompt"], [image_path(answer["image"])], *limits)
        assert own["tokens"] == answer["tokens"], (own, answer)
        with Images(program, *limits) as s:
            body = s.say(user(image(answer["image"]), text(answer["prompt"])))
            assert body["choices"][0]["message"]["content"] == own["text"], (body, own)
            assert body["usage"]["prompt_tokens"] == own["prompt_tokens"], (body, own)
            assert body["usage"]["prompt_tokens_details"]["cached_tokens"] == 0, body
            events = s.stream("/v1/chat/completions", {**COMMON, "messages": user(image(answer["image"]), text(answer["prompt"]))})
            assert events[-1] == "[DONE]" and text_of(events) == own["text"], events


def several_stand_where_messages_say(program, _):
    own = generate(program, f"a{PLACE}b{PLACE}c", [image_path("exact.png"), image_path("grey.jpg")])
    with Images(program) as s:
        body = s.say(user(text("a"), image("exact.png"), text("b"), image("grey.jpg"), text("c")))
        assert body["choices"][0]["message"]["content"] == own["text"] and body["usage"]["prompt_tokens"] == own["prompt_tokens"]
        talk = [*user(text("a"), image("exact.png")), {"role": "assistant", "content": "b"}, *user(image("grey.jpg"), text("c"))]
        assert s.said(talk) == own["text"], "images of several messages"
        # Which image stands where matters.
        pairs = [("exact.png", "grey.jpg"), ("grey.jpg", "exact.png"), ("exact.png", "exact.png")]
        assert len({s.bits(user(text("a"), image(first), text("b"), image(second), text("c"))) for first, second in pairs}) == 3


def a_camera_that_was_held_otherwise(program, _):
    with tempfile.TemporaryDirectory() as folder, Images(program) as s:
        said = []
        for orientation in (1, 3, 6):
            path = os.path.join(folder, f"{orientation}.jpg")
            data = turned(contents("baseline.jpg"), orientation)
            with open(path, "wb") as file:
                file.write(data)
            own = generate(program, "ab", [path])
            assert s.said(user(part(data, "jpeg"), text("ab"))) == own["text"], orientation
            said.append((own["text"], own["prompt_tokens"]))
        assert said[0] == (s.said(user(image("baseline.jpg"), text("ab"))), said[0][1]), said


def each_equals_its_solo_run(program, _):
    """Many at a time, with text among them, in few slots; the same text with other pixels shares nothing."""
    asked = []
    for seed in range(12):
        size = (16 + 8 * (seed % 5), 24 + 8 * (seed % 3))
        parts = [part(noise(*size, seed)), text("what is it.")]
        asked.append(user(*parts) if seed % 4 else user(text("who is in it."), *parts, part(noise(24, 24, 100 + seed)), text("b")))
    asked += [user(text("what is it.")), user(text("a b c"))]
    fields = {"max_tokens": 24, "temperature": 1, "seed": 7}
    with Images(program, "--slots", "1") as s:
        solo = [s.bits(messages, **fields) for messages in asked]
    assert len(set(solo)) == len(asked), solo
    with Images(program, "--slots", "3", "--step-ms", "1") as s:
        for _ in range(3):
            with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
                again = list(pool.map(lambda messages: s.say(messages, **MEASURED, **fields), asked))
            for body, alone in zip(again, solo):
                assert bits_of(body) == alone, (body, alone)
            assert all(body["usage"]["prompt_tokens_details"]["cached_tokens"] == 0 for body in again[:-2]), again
        # The ids of an image's tokens are no image: what stood behind one is found by no other prompt.
        assert s.say(user(part(noise(64, 40, 5)), text("a")))["usage"]["prompt_tokens"] == 43
        usage = s.post("/v1/completions", {**COMMON, "prompt": [1] + [3] * 40 + [2, 4]})[1]["usage"]
        assert usage["prompt_tokens"] == 43 and usage["prompt_tokens_details"]["cached_tokens"] == 0, usage
        choices = s.say(asked[1], n=3, **fields)
        assert [c["message"]["content"] for c in choices["choices"]] == \
            [s.said(asked[1], **{**fields, "seed": 7 + k}) for k in range(3)], choices
        assert choices["usage"]["prompt_tokens"] == again[1]["usage"]["prompt_tokens"]
    # Guesses from the answers so far change nothing.
    with Images(program, "--slots", "2", "--draft", "4") as s:
        for messages, alone in zip(asked, solo):
            assert s.bits(messages, **fields) == alone


def preempted_ones_go_on(program, _):
    """A tenant of a higher class takes the slots of a lower one, whose images come back with its prompt."""
    batch, team = "batch-key-0123456789", "team-key-0123456789"
    # 200 tokens of 300 in the first five seconds: they are still at work when others come.
    keys = {"tenants": [{"id": "batch", "keys": [batch], "priority": "batch", "answer_tokens_per_second": 40},
                        {"id": "team", "keys": [team]}]}
    body = {**COMMON, **MEASURED, "messages": user(part(noise(40, 48, 1)), text("what is it.")), "max_tokens": 100}
    with Images(program, "--slots", "3", "--context", "512", keys=keys) as s:
        alone = bits_of(s.post("/v1/chat/completions", body, key=team)[1])
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            low = [pool.submit(s.post, "/v1/chat/completions", body, key=batch) for _ in range(3)]
            for _ in range(1000):
                if s.metric("zrt_generation_tokens_total", batch) > 150:
                    break
                time.sleep(0.01)
            high = [pool.submit(s.post, "/v1/completions", {**COMMON, "prompt": "a b c", "max_tokens": 300}, key=team)
                    for _ in range(4)]
            for one in low:
                status, found = one.result()
                assert status == 200 and bits_of(found) == alone, (status, found)
            assert all(one.result()[0] == 200 for one in high)
        used = s.ask("GET", "/v1/tenants/batch/usage", key=batch)[2]
        assert used["preemptions"] >= 1, used


def what_is_no_image_is_refused(program, model):
    with Images(program, "--context", "64") as s:
        assert s.ask("GET", "/v1/models")[2]["data"][0]["images"] is True
        good = contents("exact.png")

        def url(text_of_url):
            return user({"type": "image_url", "image_url": {"url": text_of_url}})
        for address in ("https://example.com/a.png", "http://127.0.0.1:1/a.png", "file:///etc/passwd"):
            assert "fetches nothing from the network" in s.refused(url(address), "invalid_image_url")
        s.refused(url("data:image/webp;base64,AAAA"), "unsupported_image_media_type")
        s.refused(url("data:image/png;base64,A"), "invalid_base64_image")
        s.refused(url("data:image/png;base64,"), "empty_image_file")
        s.refused(user(part(b"GIF89a")), "image_parse_error")
        s.refused(user(part(good[:30])), "image_parse_error")
        # What the head does not show comes from the thread that reads the pixels.
        assert "cut off" in s.refused(user(text("a"), part(good), part(good[:-40])), "image_parse_error",
                                      "messages[0].content[2].image_url.url")
        bomb = noise(1, 1, 0).replace(struct.pack(">II", 1, 1), struct.pack(">II", 8192, 8192), 1)
        bomb = bomb[:29] + struct.pack(">I", zlib.crc32(bomb[12:29])) + bomb[33:]
        assert "8192 x 8192" in s.refused(user(part(bomb)), "image_too_large")
        s.refused(user({"type": "image_url"}), "missing_required_parameter", "messages[0].content[0].image_url")
        s.refused(user({"type": "image_url", "image_url": "data:,"}), "invalid_value", "messages[0].content[0].image_url")
        s.refused([{"role": "system", "content": [image("exact.png")]}, *user(text("a"))], "invalid_value", "messages[0].content[0].type")
        s.refused(user({"type": "input_audio"}), "invalid_value", "messages[0].content[0].type")
        s.refused(user(*[part(noise(64, 64, 1))] * 2), "context_length_exceeded", "messages")
        # A text is a text, whatever it looks like.
        status, body = s.post("/v1/chat/completions", {**COMMON, "messages": user(text(PLACE))})
        assert status == 200 and body["usage"]["prompt_tokens"] > 3, (status, body)
        assert s.say(user(image("exact.png"), text(PLACE)))
    # A template that writes no place for an image.
    with Server(program, WORDS, "--mmproj", VISION, "--chat-template", "plain") as s:
        status, body = s.post("/v1/chat/completions", {**COMMON, "messages": user(image("exact.png"), text("a"))})
        assert status == 400 and "no place for images" in body["error"]["message"], (status, body)
    with Server(program, model) as s:
        assert s.ask("GET", "/v1/models")[2]["data"][0]["images"] is False
        status, body = s.post("/v1/chat/completions", {**COMMON, "messages": user(image("exact.png"))})
        assert status == 400 and body["error"]["param"] == "messages[0].content[0].type", (status, body)
        assert "without an encoder of images" in body["error"]["message"], body


def encoders_belong_to_models(program, model):
    def said(*given):
        run = subprocess.run([program, "serve", "--port", "0", *given], capture_output=True, text=True, timeout=30, check=False)
        return run.returncode, run.stderr

    two = ["--model", f"a={WORDS}", "--model", f"b={model}"]
    for status, given, why in ((1, ["--model", WORDS, "--mmproj", WORDS], "clip.projector_type"),
                               (1, ["--model", model, "--mmproj", VISION], ""),
                               (2, [*two, "--mmproj", VISION], "MODEL=FILE"),
                               (2, [*two, "--mmproj", f"c={VISION}"], "'c="),
                               (2, [*two, "--mmproj", f"a={VISION}", "--mmproj", f"a={VISION}"], "MODEL=FILE"),
                               (2, ["--model", WORDS, "--mmproj", VISION, "--image-min-tokens", "9", "--image-max-tokens", "8"],
                                "--image-max-tokens"),
                               (1, ["--model", WORDS, "--mmproj", "none.gguf"], "none.gguf")):
        found, error = said(*given)
        assert found == status and why in error, (given, found, error)
    own = generate(program, "ab", [image_path("exact.png")])
    with tempfile.TemporaryDirectory() as folder:
        template = os.path.join(folder, "template.jinja")
        with open(template, "w", encoding="utf-8") as file:
            file.write(TEMPLATE)
        memory = ()
        for _ in range(2):
            with Server(program, [f"a={WORDS}", f"b={model}", f"c={model}"], "--mmproj", f"a={VISION}", "--kv", "f32",
                        "--context", "256", "--slots", "1", "--chat-template", template, *memory) as s:
                for _ in range(2):
                    status, body = s.post("/v1/chat/completions",
                                          {**COMMON, "model": "a", "messages": user(image("exact.png"), text("ab"))})
                    assert status == 200 and body["choices"][0]["message"]["content"] == own["text"], (status, body)
                    for name in ("b", "c"):
                        assert s.post("/v1/completions", {**COMMON, "model": name, "prompt": "a"})[0] == 200
                assert s.post("/v1/chat/completions", {**COMMON, "model": "b", "messages": user(image("exact.png"))})[0] == 400
                # Without memory for all of them they take each other's place.
                found = s.ask("GET", "/v1/load")[2]["models"]
                assert not memory or found[0]["evictions"] >= 1, found
                memory = ("--memory", str(sum(m["memory_bytes"] for m in found) - 1 >> 20))


CASES = {case.__name__: case for case in (answers_are_those_of_generate, several_stand_where_messages_say,
                                          a_camera_that_was_held_otherwise, each_equals_its_solo_run, preempted_ones_go_on,
                                          what_is_no_image_is_refused, encoders_belong_to_models)}

if __name__ == "__main__":
    if not reads(sys.argv[1]):
        print("SKIPPED: no libpng or no libjpeg")
        sys.exit(77)
    sys.exit(run_all(CASES, *sys.argv[1:3]))
