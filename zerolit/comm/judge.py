"""Judge a stranger's rank program, in a process of its own that is stopped when its time is over.

A program that computes for ever cannot be stopped from inside. The verdict is the one of `examine`;
what the program prints comes back with it.
"""

import json
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, BinaryIO

from .prove import flaw
from .shares import line_now
from .swap import Swap, collective, unbind
from .verdict import Verdict, from_plain
from .watch import Watch, line_of, told_error

STARTUP = 60.0  # seconds for Python and the program's imports, which are not its own time
GRACE = 0.5  # seconds for the process to say where the program stood
_SAYS = "from zerolit.comm.judge import serve; serve()"
_NAME = "<program>"  # the file of a program that came as source


def judge(
    program: str | Callable,
    size: int | Sequence[int] = 4,
    seconds: float = 1.0,
    prints: int = 2000,
    budget: int | None = None,
    **options: Any,
) -> Verdict:
    """The verdict on `program`, run in a process of its own.

    Args:
        program: a rank program, also one that was defined in a cell of a notebook; or the source
            of one: the last function in it that `collective` marks. `Swap` and `collective` need
            no import there.
        size: the number of ranks, or several, one after the other; the first wrong verdict counts.
        seconds: how long the program may take, imports and the start of Python not included.
        prints: how many bytes of what it prints are kept.
        budget: how many messages it may send, as in `prove`.
        options: passed on to the program.

    Returns:
        The verdict; its `prints` are what the program printed.

    Raises:
        ValueError: no size, or one below 1, or seconds that are not above 0.
    """
    sizes = [size] if isinstance(size, int) else list(size)
    if not sizes or min(sizes) < 1:
        raise ValueError(f"size is {size}; it must be at least 1, or several of these")
    if not seconds > 0:
        raise ValueError(f"seconds is {seconds}; it must be above 0")
    try:
        task = {"sizes": sizes, "seconds": seconds, "budget": budget, **_packed(program, options)}
    except Exception as error:
        return Verdict("unpicklable", sizes[0], what={"error": told_error(error)})
    return _Apart(task).verdict(seconds, prints)


# On this side


def _packed(program: str | Callable, options: dict[str, Any]) -> dict[str, Any]:
    if isinstance(program, str):
        return {"source": program, "options": options}
    return {"pickle": _by_value(program), "options": options}


def _by_value(program: Callable) -> bytes:
    """A function as bytes that hold its code, so that no process need import where it is from."""
    marked, _ = unbind(program, {})
    home = getattr(marked, "__module__", None) or "__main__"
    if home.split(".")[0] == __name__.split(".")[0]:
        return pickle.dumps(program)
    try:
        import cloudpickle
    except ImportError:
        raise TypeError("it takes the package cloudpickle (pip install cloudpickle)") from None
    module = sys.modules.get(home)
    if module is None or home == "__main__":
        return cloudpickle.dumps(program)
    known = home in cloudpickle.list_registry_pickle_by_value()
    if not known:
        cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(program)
    finally:
        if not known:
            cloudpickle.unregister_pickle_by_value(module)


class _Apart:
    """A Python process with a program in it, and the two pipes that come from it."""

    def __init__(self, task: dict[str, Any]):
        self.task = task
        self.answers, answer = os.pipe()
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-u", "-c", f"ANSWER = {answer}; {_SAYS}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=[answer],
                start_new_session=True,
            )
        finally:
            os.close(answer)
        self.heard, self.closed = b"", False

    def verdict(self, seconds: float, prints: int) -> Verdict:
        """Hand over the task, and wait for the answer as long as it may take."""
        kept = _Kept(self.process.stdout, prints)  # type: ignore[arg-type]
        try:
            with suppress(BrokenPipeError):
                self.process.stdin.write(pickle.dumps(self.task))  # type: ignore[union-attr]
                self.process.stdin.close()  # type: ignore[union-attr]
            begun = self._hear(1, STARTUP)
            verdict = self._hear(2, seconds + GRACE) if begun else None
            ending = self._end()
        finally:
            self._end()
            os.close(self.answers)
        told = kept.text()
        if verdict is not None:
            return replace(from_plain(json.loads(verdict)), prints=told)
        size = self.task["sizes"][0]
        if ending is None:
            return Verdict("timeout", size, what={"seconds": f"{seconds:g}"}, prints=told)
        return Verdict("crashed", size, what={"ending": ending}, prints=told)

    def _hear(self, number: int, seconds: float) -> bytes | None:
        """The line of this number that the process says, if it does so in time."""
        end = time.monotonic() + seconds
        while len(lines := self.heard.split(b"\n")) <= number:
            left = max(0.0, end - time.monotonic())
            if not select.select([self.answers], [], [], left)[0]:
                return None
            got = os.read(self.answers, 1 << 16)
            if not got:
                self.closed = True
                return None
            self.heard += got
        return lines[number - 1]

    def _end(self) -> str | None:
        """End the process and all that it started; say how it had ended by itself, if it had."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(10 * GRACE if self.closed else 0)
        code = self.process.poll()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if code is None:
            return None
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


class _Kept(threading.Thread):
    """Reads all that is printed, so that no one has to wait, and keeps the beginning."""

    def __init__(self, stream: BinaryIO, limit: int):
        super().__init__(daemon=True)
        self.stream, self.limit, self.kept, self.left_out = stream, limit, b"", 0
        self.start()

    def run(self) -> None:
        with self.stream:
            while got := os.read(self.stream.fileno(), 1 << 16):
                room = self.limit - len(self.kept)
                self.kept += got[:room]
                self.left_out += len(got) - len(got[:room])

    def text(self) -> str:
        """What was printed, and how much of it was left out."""
        self.join(GRACE)
        text = self.kept.decode(errors="replace")
        return text if not self.left_out else f"{text}… ({self.left_out} bytes more)"


# In the other process


def serve() -> None:
    """Read a task, say that it begins, and answer with the verdict."""
    answer = sys.modules["__main__"].ANSWER  # type: ignore[attr-defined]
    os.set_inheritable(answer, False)
    task = pickle.load(sys.stdin.buffer)
    program = pickle.loads(task["pickle"]) if "pickle" in task else None
    answering = _Answering(answer, task)
    os.write(answer, b"begins\n")
    answering.start()
    answering.say(answering.examine(program))


class _Answering(threading.Thread):
    """Examines a program; when the time is over, says where it stands instead."""

    def __init__(self, descriptor: int, task: dict[str, Any]):
        super().__init__(daemon=True)
        self.descriptor, self.task, self.lock = descriptor, task, threading.Lock()
        self.watch: Watch | None = None

    def run(self) -> None:
        time.sleep(self.task["seconds"])
        watch, size = self.watch, self.task["sizes"][0]
        what = {"seconds": f"{self.task['seconds']:g}"}
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        line = line_now(frame, watch.file if watch else _NAME)
        if watch is None:
            self.say(Verdict("timeout", size, what=what, line=line))
        else:
            self.say(
                Verdict("timeout", watch.size, watch.running, watch.step, None, None, what, line)
            )

    def say(self, verdict: Verdict) -> None:
        """Answer, once, and end the process, whatever the program has left running."""
        with self.lock:
            os.write(self.descriptor, json.dumps(verdict.plain()).encode() + b"\n")
            os._exit(0)

    def examine(self, program: Any) -> Verdict:
        """The first wrong verdict, or the last right one."""
        size = self.task["sizes"][0]
        if program is None:
            try:
                program = defined(self.task["source"])
            except (Exception, SystemExit) as error:
                line = error.lineno if isinstance(error, SyntaxError) else line_of(error, _NAME)
                return Verdict("source", size, what={"error": told_error(error)}, line=line)
            if program is None:
                return Verdict("no_program", size)
        marked, options = unbind(program, self.task["options"])
        for size in self.task["sizes"]:
            verdict = flaw(marked, size, options) or self._run(marked, size, options)
            if not verdict.right:
                break
        return verdict

    def _run(self, program: Any, size: int, options: dict[str, Any]) -> Verdict:
        self.watch = Watch(program, size, options, self.task["budget"])
        return self.watch.run()


def defined(source: str) -> Any:
    """The last marked function of a source."""
    names: dict[str, Any] = {"__name__": "program", "Swap": Swap, "collective": collective}
    exec(compile(source, _NAME, "exec"), names)
    marked = [value for value in names.values() if callable(value) and hasattr(value, "goal")]
    own = [f for f in marked if getattr(f, "__module__", None) == "program"]
    return (own or marked or [None])[-1]
