"""The judge in a process of its own: it ends, it brings the prints back, it takes any function."""

import fcntl
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

from zerolit.comm import collective, examine, judge, ring, server

from .wrong import RIGHT, source

ENDLESS = RIGHT.replace("    for step", "    while True:\n        pass\n    for step")


def test_a_source_is_judged_as_a_function_is():
    verdict = judge(RIGHT, 4)
    assert verdict.right and verdict.proof == examine(ring.all_reduce, 4).proof
    assert verdict.prints == ""


def test_a_wrong_source_gets_the_sentence_of_examine():
    verdict = judge(source([("x[receive] + arrived if step < size else ", "")]), 4)
    assert (verdict.kind, verdict.rank, verdict.step, verdict.hop) == ("lost", 0, 1, (3, 0))
    assert verdict.sentence("zh").startswith("第一处出错的传输：第 1 步，rank 3 → rank 0，第 3 块")


def test_code_that_computes_for_ever_is_stopped_where_it_stands():
    begun = time.monotonic()
    verdict = judge(ENDLESS, 4, seconds=3)
    assert time.monotonic() - begun < 30  # and not never
    assert (verdict.kind, verdict.rank, verdict.step) == ("timeout", 0, 0)
    assert verdict.line in (4, 5)
    where = f"rank 0, before any message, line {verdict.line}: "
    assert verdict.sentence() == (
        f"{where}the program was stopped after 3 s: it computes on and on, without a yield"
    )
    assert verdict.sentence("zh") == (
        f"rank 0，收发之前，第 {verdict.line} 行：程序运行 3 秒后被停止：它一直在计算，不再 yield"
    )


def test_it_says_in_which_step_it_was_stopped():
    text = RIGHT + "        while rank == 1 and step == 2:\n            pass\n"
    verdict = judge(text, 3, seconds=3)
    assert (verdict.kind, verdict.rank, verdict.step) == ("timeout", 1, 2)


def test_a_source_that_computes_for_ever_before_it_has_a_program():
    verdict = judge("while True:\n    pass", seconds=3)
    assert (verdict.kind, verdict.rank) == ("timeout", None) and verdict.line in (1, 2)


def test_a_call_into_c_that_cannot_be_interrupted_is_ended_from_outside():
    verdict = judge(
        RIGHT.replace("    for step", "    sum(range(10**12))\n    for step"), seconds=2
    )
    assert (verdict.kind, verdict.line) == ("timeout", None)
    assert str(verdict) == (
        "the program was stopped after 2 s: it computes on and on, without a yield"
    )


def test_swapping_for_ever_ends_by_the_budget():
    text = "@collective('all_reduce', pieces=lambda size: 1)\ndef f(rank, size, x):\n" + (
        "    while True:\n        yield Swap(x[0], (rank + 1) % size, (rank - 1) % size, x[0])\n"
    )
    verdict = judge(text, 4, seconds=20)
    # 2·4²·(1 + 8) messages, four a step
    assert (verdict.kind, verdict.what["budget"], verdict.what["steps"]) == ("budget", 288, 73)
    assert judge(text, 4, seconds=20, budget=40).what["steps"] == 11


def test_prints_come_back_and_no_more_than_is_asked_for():
    text = RIGHT.replace("    for step", "    print('rank', rank)\n    for step")
    assert judge(text, 2).prints == "rank 0\nrank 1\n"
    assert judge(text, 2, prints=6).prints == "rank 0… (8 bytes more)"


def test_printing_for_ever_is_stopped_too():
    text = RIGHT.replace("    for step", "    while True:\n        print('again')\n    for step")
    verdict = judge(text, 2, seconds=4, prints=12)
    assert verdict.kind == "timeout" and verdict.prints.startswith("again\nagain\n… (")


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        ("import os; os._exit(3)", "crashed", "exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashed", "killed by SIGSEGV"),
        ("import sys; sys.exit(2)", "exception", "SystemExit: 2"),
        ("input()", "exception", "EOFError: EOF when reading a line"),
        (
            "raise ValueError('no ring')",
            "exception",
            "line 4: the program fails: ValueError: no ring",
        ),
    ],
)
def test_a_program_that_ends_its_process(line, kind, words):
    verdict = judge(RIGHT.replace("    for step", f"    {line}\n    for step"))
    assert verdict.kind == kind and words in str(verdict)
    assert verdict.sentence("zh")


def test_a_source_that_cannot_be_run():
    verdict = judge("x = 1\ny = (")
    assert (verdict.kind, verdict.line) == ("source", 2)
    assert str(verdict).startswith("line 2: the source cannot be run: SyntaxError: ")
    assert verdict.sentence("zh").startswith("第 2 行：源代码无法运行：SyntaxError: ")
    verdict = judge("x = 1\ny = 1 / 0")
    assert str(verdict) == "line 2: the source cannot be run: ZeroDivisionError: division by zero"


def test_a_source_without_a_program():
    verdict = judge("x = 1")
    assert verdict.sentence() == (
        "the source has no rank program: mark a function by @collective(goal, pieces=…)"
    )
    assert verdict.sentence("zh") == (
        "源代码里没有 rank 程序：请用 @collective(goal, pieces=…) 标记一个函数"
    )


def test_of_several_sizes_the_first_that_fails():
    text = RIGHT.replace("range(1, 2 * size - 1)", "range(1, 2 * min(size, 4) - 1)")
    verdict = judge(text, [2, 3, 4, 5, 6])
    assert verdict.kind == "never" and verdict.size == 5
    assert judge(RIGHT, [2, 3, 4, 5, 6]).size == 6


def test_our_own_programs_and_their_options():
    assert judge(ring.all_reduce, 3, direction=-1, owner=0).right
    assert judge(partial(ring.all_reduce, direction=-1, owner=0), 3).right


def test_a_function_of_a_function_goes_by_value():
    weights = np.ones(3)  # something that a closure holds

    @collective("all_reduce", pieces=lambda size: 1)
    def program(rank, size, x):
        print(len(weights))
        yield from server.all_reduce(rank, size, x)

    assert judge(program, 2).prints == "3\n3\n"


def test_a_function_that_cannot_go():
    lock = threading.Lock()

    @collective("all_reduce", pieces=lambda size: 1)
    def program(rank, size, x):
        assert not lock.locked()
        yield from server.all_reduce(rank, size, x)

    assert examine(program, 2).right
    verdict = judge(program, 2)
    assert str(verdict) == (
        "the function cannot be taken to a process of its own: TypeError: cannot pickle "
        "'_thread.lock' object; hand over its source, or a function that uses only what can be "
        "pickled"
    )
    assert verdict.sentence("zh") == (
        "这个函数无法送到另一个进程：TypeError: cannot pickle '_thread.lock' object；"
        "请改为提供源代码，或只使用可以 pickle 的对象"
    )


RING = RIGHT.replace("(rank + 1) % size, (rank - 1) % size\n", "neighbours(rank, size)\n")
CELL = f"""
from zerolit.comm import Swap, collective, judge
offset = 1
def neighbours(rank, size):
    return (rank + offset) % size, (rank - offset) % size
{RING}
print(judge(program, 4).kind)
offset = 2
print(judge(program, 4).kind)
"""


def test_a_function_of_a_cell_takes_along_what_the_cell_defines():
    """`__main__` of a script is what a notebook's cells are: no process can import it."""
    done = subprocess.run([sys.executable, "-c", CELL], capture_output=True, text=True, timeout=60)
    assert done.stdout == "right\nmixed\n", done.stderr


def test_without_cloudpickle_a_cells_function_is_refused_in_a_sentence():
    code = "import sys; sys.modules['cloudpickle'] = None\n" + CELL.replace(".kind", "")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith(
        "the function cannot be taken to a process of its own: TypeError: it takes the package "
        "cloudpickle (pip install cloudpickle); "
    ), done.stderr


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"size": 0}, "size is 0; it must be at least 1"),
        ({"size": []}, r"size is \[\]; it must be at least 1"),
        ({"seconds": 0}, "seconds is 0; it must be above 0"),
    ],
)
def test_bad_arguments(how, told):
    with pytest.raises(ValueError, match=told):
        judge(RIGHT, **how)


def test_it_leaves_no_process_behind(tmp_path):
    """What the program starts holds a lock on a file, for ten minutes if it is left alone."""
    file = tmp_path / "held"
    child = (
        f"import fcntl, time; held = open({str(file)!r}, 'w'); fcntl.flock(held, fcntl.LOCK_EX); "
        "print('holds', flush=True); time.sleep(600)"
    )
    text = RIGHT.replace(
        "    for step",
        f"    import subprocess, sys\n    child = [sys.executable, '-c', {child!r}]\n"
        "    started = subprocess.Popen(child, stdout=subprocess.PIPE)\n"
        "    print(started.stdout.readline())\n    for step",
    )
    verdict = judge(text, 1, seconds=30)
    assert verdict.right and "holds" in verdict.prints
    with file.open() as held:
        for _ in range(600):
            with suppress(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(0.05)
    pytest.fail("the file is still held")
