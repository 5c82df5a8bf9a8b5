# SPDX-License-Identifier: Apache-2.0
"""`zrt chat` in a terminal: python3 terminal.py ZRT MODEL"""
import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

from server import run_all

SHORT = ("--max-tokens", "24", "--temp", "0", "--context", "512")


class Terminal:
    """A program whose input, output and errors are one terminal."""

    def __init__(self, *command):
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.place, self.text = ours, ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self.place)

    def type(self, text):
        os.write(self.place, text.encode())

    def read(self, seconds):
        ready, _, _ = select.select([self.place], [], [], seconds)
        try:
            piece = os.read(self.place, 4096) if ready else b""
        except OSError:  # the program has ended
            piece = b""
        self.text += piece.decode("utf-8", "replace").replace("\r\n", "\n")
        return piece

    def wait(self, found, seconds=60):
        """Waits until `found` of what came since the last wait is true; returns that text."""
        until = time.monotonic() + seconds
        while not found(self.text):
            assert time.monotonic() < until, f"never came: {self.text!r}"
            self.read(0.2)
        text, self.text = self.text, ""
        return text

    def say(self, text):
        """The answer to a line, when it has ended."""
        self.type(text + "\n")
        return self.wait(lambda seen: seen.endswith("\n> ") and seen.count("\n") >= 2).split("\n", 1)[1][:-3]


def chat(program, model, *options):
    return Terminal(program, "chat", "--model", model, "--threads", "1", *options)


def answers_see_what_was_said(program, model):
    with chat(program, model, *SHORT) as t:
        t.wait(lambda seen: seen.endswith("> "))
        first = t.say("Who is there?")
        again = t.say("Who is there?")
        assert first and again != first, (first, again)  # the same words, behind others
        t.type("/clear\n")
        t.wait(lambda seen: seen.endswith("> "))
        assert t.say("Who is there?") == first
        t.type("\x04")
        assert t.process.wait(timeout=30) == 0


def an_interrupt_ends_the_answer(program, model):
    with chat(program, model, "--max-tokens", "100000", "--context", "100000", "--temp", "1") as t:
        t.wait(lambda seen: seen.endswith("> "))
        t.type("Tell me a long story.\n")
        t.wait(lambda seen: len(seen) > 60)  # it streams
        t.type("\x03")
        t.wait(lambda seen: "(stopped)" in seen and seen.endswith("> "))
        # At the prompt it ends nothing either.
        t.type("\x03")
        t.wait(lambda seen: seen.endswith("\n> "))
        assert t.process.poll() is None
        t.type("And then?\n")
        t.wait(lambda seen: len(seen) > 60)
        t.type("\x03")
        t.wait(lambda seen: "(stopped)" in seen and seen.endswith("> "))
        t.type("\x04")
        assert t.process.wait(timeout=30) == 0


def a_full_context_says_what_to_do(program, model):
    with chat(program, model, "--max-tokens", "500", "--temp", "0", "--context", "128") as t:
        t.wait(lambda seen: seen.endswith("> "))
        t.say("Who is there?")
        seen = t.say("And who are you? " * 20)
        assert "the context is full: /clear" in seen, seen
        t.type("/clear\n")
        t.wait(lambda seen: seen.endswith("> "))
        assert "(cut: the context is full: /clear" in t.say("Tell me a long story."), "it ended before its context"
        t.type("\x04")
        assert t.process.wait(timeout=30) == 0


def seconds_of(process):
    """Processor time of a program up to now."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def a_turn_reads_what_is_new_alone(program, model):
    """A short line behind a long one costs a part of it, where reading all of the conversation again would cost more."""
    with chat(program, model, "--max-tokens", "1", "--temp", "0", "--context", "8192") as t:
        t.wait(lambda seen: seen.endswith("> "))
        t.say("Who is there?")  # warms up
        at = [seconds_of(t.process)]
        for line in ("To be or not to be that is the question whether it is nobler in the mind " * 50, "And then?"):
            t.say(line)
            at.append(seconds_of(t.process))
        long, short = at[1] - at[0], at[2] - at[1]
        assert short < long / 4, (long, short)
        t.type("\x04")
        assert t.process.wait(timeout=30) == 0


CASES = {case.__name__: case for case in (answers_see_what_was_said, an_interrupt_ends_the_answer, a_full_context_says_what_to_do,
                                            a_turn_reads_what_is_new_alone)}

if __name__ == "__main__":
    sys.exit(run_all(CASES, *sys.argv[1:3]))
