"""The launcher: results by rank, and each fault named with its rank, phase and cause, in time."""

import multiprocessing as mp
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import forkserver
from pathlib import Path

import pytest
import torch

from tests.engine import jobs
from zerolit.comm import Chunks, simulate
from zerolit.engine import EngineError, launch, status, watch
from zerolit.engine.launch import unguarded
from zerolit.engine.stock import beside_gloo
from zerolit.engine.watch import GRACE, SETTLE, Rank, Watch

SIZE = 4
PATIENCE = 300.0  # s; on a busy machine, a process alone takes a minute to start
HANGS = 4.0  # s after which a rank counts as hanging; far more than a busy machine needs


@pytest.fixture(autouse=True, scope="module")
def warm():
    """The first launch starts the fork server, which imports torch."""
    launch(jobs.say_rank, 1)


@pytest.fixture(autouse=True)
def all_have_time(monkeypatch):
    """Ranks that share the cores with others may come late."""
    monkeypatch.setattr(watch, "SETTLE", 2.0)


def test_what_the_launcher_waits_for_is_within_the_promised_second():
    assert GRACE + SETTLE <= 1


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    """No process, and no file, whatever the test did."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert mp.active_children() == []
    assert list(tmp_path.glob("zerolit-*")) == []
    wait_for(lambda: ranks_alive() == [])


def ranks_alive():
    """The children of the fork server; the resource tracker is not one."""
    server = forkserver._forkserver._forkserver_pid
    told = subprocess.run(["pgrep", "-P", str(server)], capture_output=True, text=True)
    return told.stdout.split()


def wait_for(condition):
    """With more patience: a launcher of its own imports torch twice before its ranks start."""
    deadline = time.monotonic() + 5 * PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_results_come_in_rank_order_from_processes_of_their_own():
    results = launch(jobs.say_rank, SIZE)
    assert [rank for rank, *_ in results] == [0, 1, 2, 3]
    assert len({pid for *_, pid in results} | {os.getpid()}) == SIZE + 1


def failed(job, *arguments, timeout=None, **options):
    """What the launcher says: of itself, long before ranks give up, which they do after 1200 s."""
    start = time.monotonic()
    with pytest.raises(EngineError) as caught:
        launch(job, SIZE, *arguments, timeout=timeout or 10 * PATIENCE, **options)
    assert time.monotonic() - start < (timeout or 0) + PATIENCE
    return caught.value


@pytest.mark.parametrize(
    ("which", "cause"),
    [
        ("killed", "was killed by SIGKILL"),
        ("exits", "exited (3)"),
        ("raises", "raised ValueError: the loss is nan"),
    ],
)
@pytest.mark.parametrize("culprit", [0, 1, 3])
def test_a_rank_that(which, cause, culprit):
    error = failed(jobs.fault, which, culprit)
    assert (error.rank, error.cause) == (culprit, cause)
    assert str(error) == f"rank {culprit} {cause} (computing, phase 'all-gather')"


def test_a_rank_killed_in_a_collective():
    error = failed(jobs.killed_in_exchange)
    assert (error.rank, error.phase, error.cause) == (1, "gradients", "was killed by SIGKILL")


def test_a_rank_that_hangs():
    error = failed(jobs.fault, "hangs", timeout=HANGS)
    assert (error.rank, error.cause) == (1, "hangs: no sign for 4 s")


@pytest.mark.parametrize(
    ("which", "theirs", "ours"),
    [
        ("another shape", "(3,) torch.float32", "(2,) torch.float32"),
        ("another dtype", "(2,) torch.float64", "(2,) torch.float32"),
        ("another collective", "phase 'parameters'", "phase 'gradients'"),
    ],
)
def test_ranks_that_do_not_fit(which, theirs, ours):
    """Rank 1 differs from both its neighbours, so it is the odd one out; told at once."""
    error = failed(jobs.fault, which)
    sent, expected = error.cause.split(" to rank 2, which expects ")
    assert (error.rank, theirs in sent, ours in expected) == (1, True, True)


@pytest.mark.parametrize("which", ["killed", "hangs"])
def test_chunks_of_different_lengths_mislead_nobody(which):
    """11 numbers on 4 ranks: neighbours send 3 and expect 2, as they should."""
    error = failed(jobs.fault, which, 1, 11, timeout=HANGS)
    assert error.rank == 1 and ("SIGKILL" in error.cause or "hangs" in error.cause)


def test_a_tree_that_hangs_names_the_rank_that_does():
    """Ranks 0 and 1 finish, 3 waits for 2, which hangs before it passes the sum on."""
    error = failed(jobs.tree_that_hangs, 2, timeout=HANGS)
    assert (error.rank, error.cause) == (2, "hangs: no sign for 4 s")


def test_a_rank_that_hangs_after_the_last_message():
    error = failed(jobs.hangs_at_the_end, timeout=HANGS)
    assert (error.rank, error.cause) == (1, "hangs: no sign for 4 s")


def test_a_neighbour_that_computes_for_long_is_no_fault():
    """Rank 0 has sent and returned; rank 1 has its message but waits to send to a slow rank 2."""
    assert launch(jobs.slow_receiver, 3) == [None, None, None]


def test_a_rank_that_returns_early():
    error = failed(jobs.returns_early)
    assert error.rank == 1
    assert error.cause == "returned while rank 2 waits for it in phase 'gradients'"


def test_a_rank_that_returns_early_from_torchs_own_collective():
    """The others' messages are not ours to see, so it takes their timeout."""
    error = failed(jobs.misses_torchs_barrier, timeout=HANGS)
    assert error.rank == 1 and error.cause.startswith("returned while rank ")


def test_a_program_on_a_smaller_group_names_ranks_among_all():
    error = failed(jobs.killed_in_a_smaller_group)
    assert (error.rank, error.cause) == (3, "returned while rank 2 waits for it in phase 'pair'")


def runs(pid):
    """And is more than an entry that nobody has collected yet."""
    told = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return told.stdout.strip()[:1] not in ("", "Z")


def test_if_the_launcher_is_killed_its_ranks_and_files_go_too(tmp_path):
    code = "from tests.engine import jobs; from zerolit.engine import launch; "
    code += f"launch(jobs.say_where_and_hang, 2, {str(tmp_path)!r})"
    here = {**os.environ, "TMPDIR": str(tmp_path)}
    launcher = subprocess.Popen([sys.executable, "-c", code], env=here)
    try:
        wait_for(lambda: len(list(tmp_path.glob("[0-9]*"))) == 2)
    finally:
        launcher.kill()
        launcher.wait()
    wait_for(lambda: not any(runs(path.name) for path in tmp_path.glob("[0-9]*")))
    assert list(tmp_path.glob("zerolit-*")) == []


def test_a_mismatch_that_is_over_when_looked_at_again_is_still_told(monkeypatch):
    """The ranks went on, and their latest messages are others."""
    ranks = [Rank(None, None, mp.RawArray("c", status.LENGTH)) for _ in range(2)]
    watch, looks = Watch(ranks, 1.0, print), iter([{(0, 1): ("this", "that")}, {}])
    monkeypatch.setattr(watch, "_misfits", lambda: next(looks))
    with pytest.raises(EngineError, match="rank 0 sends this to rank 1, which expects that"):
        watch._misfit()


def test_of_a_pair_that_does_not_fit_the_sender_is_named():
    with pytest.raises(EngineError) as caught:
        launch(jobs.sends_more_than_is_expected, 2)
    assert caught.value.rank == 1
    assert caught.value.cause.startswith("sends (3,) torch.float32 in phase '' to rank 0, which ex")


def test_an_exception_that_sounds_like_glooes_is_not_taken_for_one():
    error = failed(jobs.loses_its_data)
    assert (error.rank, error.cause) == (1, "raised ConnectionError: Connection refused: data")


def test_ranks_that_exchange_for_long_after_one_has_returned_are_no_fault():
    assert launch(jobs.goes_on_for_long, 3, timeout=3) == [None, None, None]


def test_ranks_that_return_after_a_long_silence_are_no_fault():
    """As in a collective of torch's own on a busy machine; the first to return is a sign."""
    assert launch(jobs.silent_for_long, 2, timeout=3) == [None, None]


def test_ranks_that_return_at_once_after_a_long_silence_are_no_fault():
    ranks = [Rank(None, None, mp.RawArray("c", status.LENGTH)) for _ in range(2)]
    watch = Watch(ranks, 1.0, print)
    watch._judge()
    watch.last_sign -= 100
    for rank in ranks:
        rank.finished = True
    watch._judge()


def test_many_tensors_come_back_by_value():
    """Not in files of shared memory, of which there are only so many."""
    for rank, (pid, tensors) in enumerate(launch(jobs.many_tensors, 2)):
        assert len(tensors) == 2000 and all(t.tolist() == [rank] for t in tensors)
        assert list(Path("/dev/shm").glob(f"torch_{pid}_*")) == []


def test_without_a_watch_what_ranks_tell_is_no_error():
    assert sorted(unguarded(jobs.count_to, 2, 3, timeout=PATIENCE)) == [
        "rank 0: returns",
        "rank 1: returns",
    ]


def test_an_interface_that_does_not_exist(monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo,nosuch0")
    with pytest.raises(ValueError, match=r"GLOO_SOCKET_IFNAME is 'nosuch0'; this machine has .*lo"):
        launch(jobs.say_rank, 1)


def test_devices_that_are_not_there():
    with pytest.raises(ValueError, match="device is 'tpu'; it must be 'cpu' or 'cuda'"):
        launch(jobs.say_rank, 1, device="tpu")
    found = torch.cuda.device_count()
    told = f"device is 'cuda' with {found + 1} ranks on this machine, which has {found} GPUs"
    with pytest.raises(ValueError, match=told):
        launch(jobs.say_rank, found + 1, device="cuda")


def test_ranks_that_wait_for_each_other():
    error = failed(jobs.waits_for_each_other, timeout=HANGS)
    assert error.phase == "ring" and error.cause.startswith("waits in a circle of ranks, ")


def test_after_a_failure_all_is_well():
    failed(jobs.fault, "killed")
    assert len(launch(jobs.say_rank, SIZE)) == SIZE


def test_fifty_launches_in_a_row():
    for _ in range(50):
        assert [rank for rank, *_ in launch(jobs.say_rank, 2)] == [0, 1]


def test_progress_is_heard():
    news = []
    assert launch(jobs.count_to, 2, 3, on_tell=news.append) == [3, 3]
    assert news == [0, 1, 2]


def test_arguments_that_processes_cannot_get():
    told = "processes cannot get these functions or arguments: .*generator"
    with pytest.raises(ValueError, match=told):
        launch(print, 2, (i for i in range(3)))


def test_functions_of_a_cell_go_by_value():
    """As in a notebook: of `__main__`, which no process can import, with its globals."""
    code = "import torch, torch.distributed as dist\nfrom zerolit.engine import launch\nten = 10\n"
    code += "def times(x):\n    y = torch.full((1,), x * ten)\n    dist.all_reduce(y)\n"
    code += "    return y.item()\nprint(launch(times, 2, 3), launch(lambda: ten, 2))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "[60, 60] [10, 10]\n", run.stderr


def test_a_program_from_stdin_is_refused_in_a_sentence():
    code = "from zerolit.engine import launch\nlaunch(print, 2)"
    run = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True)
    assert "ranks cannot be started from <stdin>; save the program as a file" in run.stderr


def test_a_program_without_a_guard_is_refused_in_a_sentence(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("from zerolit.engine import launch\nprint(launch(int, 2))\n")
    run = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert run.returncode == 1 and run.stdout == ""
    *_, told = run.stderr.splitlines()
    assert told == (
        "ValueError: every rank imports the program and comes to this call again; put it behind "
        "`if __name__ == '__main__':`"
    )
    assert run.stderr.count("Traceback") == 1  # the reader's own
    program.write_text(program.read_text().replace("print", "if __name__ == '__main__':\n  print"))
    run = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert run.stdout == "[0, 0]\n"


def test_no_ranks():
    with pytest.raises(ValueError, match="size is 0; it must be at least 1"):
        launch(jobs.say_rank, 0)


@pytest.mark.parametrize("size", [2, 3, 4, 8])
@pytest.mark.parametrize("n", [1, 17, 4099])
def test_the_ring_to_the_left_is_gloos_all_reduce_to_the_bit(size, n):
    """Whatever n is: gloo's chunks are of an even length."""
    for ours, theirs in launch(beside_gloo, size, n, -1):
        assert torch.equal(ours, theirs)


def test_the_ring_to_the_right_adds_up_in_another_order_from_four_ranks_on():
    """On three, the first two addends change places only, and a + b = b + a."""
    for size, same in ((2, True), (3, True), (4, False)):
        pairs = launch(beside_gloo, size, 4096 * size, 1)
        assert all(torch.equal(*pair) == same for pair in pairs)


@pytest.mark.parametrize("name", ["server", "tree", "halving"])
def test_every_program_gives_the_simulators_bits(name):
    """Though what arrives is only lent to it."""
    program, pieces = jobs.PROGRAMS[name]
    arrays = [jobs.numbers(rank) for rank in range(4)]
    simulate(program, [Chunks(array.tensor_split(pieces)) for array in arrays])
    for real, array in zip(launch(jobs.sum_by, 4, name), arrays, strict=True):
        assert torch.equal(real, array)


def test_a_round_of_halving_is_one_message_of_several_chunks():
    first = launch(jobs.messages_of_halving, 4)[0]
    away = [(1, 2, range(2, 4)), (2, 1, range(1, 2))]  # half, then a quarter, is given away
    back = [(3, 1, range(1)), (4, 2, range(2))]  # what is finished: one chunk, then two
    assert first == away + back


@pytest.mark.parametrize(("peer", "told"), [(-1, "names rank -1, but"), (2, "names rank 2, but")])
def test_a_rank_that_does_not_exist_is_refused_before_anything_is_sent(peer, told):
    for sentence in launch(jobs.names_another, 2, peer):
        assert told in sentence and "ranks are 0 to 1; is `% size` missing?" in sentence


def test_a_rank_that_sends_to_itself_is_refused():
    assert "rank 0, step 1: sends to itself" in launch(jobs.names_itself, 2)[0]


def test_our_collectives_have_torchs_results():
    for rank, (gathered, summed, whole) in enumerate(launch(jobs.collectives, 3)):
        assert gathered == [0, 1, 2, 10, 11, 12, 20, 21, 22]
        first = 2 * rank
        assert summed == [3 * first + 3, 3 * (first + 1) + 3]  # ranks add 0, 1 and 2
        assert whole == [i + rank for i in range(6)]  # the input is left as it is


def test_only_sums():
    error = failed(jobs.refuses_max)
    assert "op is" in error.cause and "must be SUM or AVG" in error.cause


def test_the_mean_is_the_sum_divided_after_as_gloo_does():
    for ours, theirs in launch(jobs.means, 3):
        assert ours == theirs


def test_asynchronous_calls_are_refused():
    error = failed(jobs.refuses_async)
    assert "async_op is True" in error.cause
