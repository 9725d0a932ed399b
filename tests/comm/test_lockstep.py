"""The lock step itself: which message moves when, and what is said when none can."""

import re
import threading

import numpy as np
import pytest

from zerolit.comm import Chunks, CommLog, ProtocolError, Swap, simulate


def run(program, size):
    """Simulate on one chunk of two ones per rank; return the log and what the ranks returned."""
    log = CommLog(size)
    returned = simulate(program, [Chunks([np.ones(2)]) for _ in range(size)], log)
    return [(m.step, m.source, m.destination) for m in log.messages], returned


def test_a_message_moves_in_the_step_in_which_both_its_ends_are_open():
    def relay(rank, size, x):
        if rank == 0:
            yield Swap(x[0], to=2, frm=2, like=x[0])  # out in step 3, when rank 2 listens to it
        elif rank == 1:
            yield Swap(x[0], to=2)
        else:
            yield Swap(frm=1, like=x[0])
            yield Swap(x[0], to=0)
            yield Swap(frm=0, like=x[0])

    assert run(relay, 3)[0] == [(1, 1, 2), (2, 2, 0), (3, 0, 2)]


def test_a_rank_goes_on_only_when_both_halves_of_its_swap_are_done():
    def halves(rank, size, x):
        if rank == 0:
            yield Swap(x[0], to=1, frm=2, like=x[0])  # the send is done in 1, the receive in 2
            yield Swap(x[0], to=1)
        elif rank == 1:
            yield Swap(frm=0, like=x[0])
            yield Swap(x[0], to=2)
            yield Swap(frm=0, like=x[0])
        else:
            yield Swap(frm=1, like=x[0])
            yield Swap(x[0], to=0)

    assert run(halves, 3)[0] == [(1, 0, 1), (2, 1, 2), (3, 2, 0), (4, 0, 1)]


def test_what_arrives_is_handed_to_the_rank_it_was_sent_to_and_only_once():
    def ask_round(rank, size, x):
        x[0][:] = rank
        arrived = yield Swap(x[0], (rank + 1) % size, (rank - 1) % size, x[0])
        nothing = yield Swap(x[0], to=1) if rank == 0 else Swap(frm=0, like=x[0])
        return arrived.tolist(), nothing is None

    assert run(ask_round, 2)[1] == [([1, 1], True), ([0, 0], False)]


def test_what_the_ranks_return_is_in_rank_order_whoever_ends_first():
    def chain(rank, size, x):
        if rank < size - 1:
            yield Swap(frm=rank + 1, like=x[0])
        if rank > 0:
            yield Swap(x[0], to=rank - 1)
        return 10 * rank

    assert run(chain, 4) == ([(1, 3, 2), (2, 2, 1), (3, 1, 0)], [0, 10, 20, 30])


def test_a_deadlock_after_some_steps_names_the_step_and_all_that_ranks_want():
    def half_way(rank, size, x):
        yield Swap(x[0], (rank + 1) % size, (rank - 1) % size, x[0])
        if rank == 0:
            yield Swap(x[0], to=1, frm=2, like=x[0], chunk=7)
        elif rank == 1:
            yield Swap(x[0], to=0)  # of no chunk

    with pytest.raises(ProtocolError) as told:
        run(half_way, 3)
    assert str(told.value) == (
        "nothing can move in step 2: rank 0 offers chunk 7 to rank 1 and waits for rank 2; "
        "rank 1 offers a message to rank 0; finished: rank 2; first out of turn: rank 1 in step 2"
    )


@pytest.mark.parametrize("peer", [2, 5, -1, -2])
@pytest.mark.parametrize("half", ["to", "frm"])
def test_every_rank_out_of_range_is_told(peer, half):
    def lost(rank, size, x):
        good = {"to": 1 - rank, "frm": 1 - rank}
        yield Swap(x[0], like=x[0], **{**good, half: peer})

    with pytest.raises(
        ProtocolError, match=f"rank 0, step 1: names rank {peer}, but ranks are 0 to 1"
    ):
        run(lost, 2)


@pytest.mark.parametrize("what", [None, (1, 2)], ids=str)
def test_what_is_no_swap_is_refused(what):
    def program(rank, size, x):
        yield what

    with pytest.raises(ProtocolError, match=r"rank 0, step 1: yields .*; a rank program may"):
        simulate(program, [np.zeros(1), np.zeros(1)])


def test_a_misfit_tells_both_sizes_and_dtypes():
    def program(rank, size, x):
        if rank == 1:
            yield Swap(np.ones((2, 3), np.float32), to=0, chunk=4)
        else:
            yield Swap(frm=1, like=np.ones(5))

    with pytest.raises(ProtocolError) as told:
        run(program, 2)
    assert str(told.value) == (
        "step 1: rank 1 sends chunk 4 of (2, 3) float32 to rank 0, which expects (5,) float64"
    )


def test_on_threads_ranks_compute_at_the_same_time():
    """Each waits for the other between two messages; one after the other would wait for ever."""
    together = threading.Barrier(2, timeout=120)

    def program(rank, size, x):
        together.wait()
        x += yield Swap(x, to=1 - rank, frm=1 - rank, like=x)
        together.wait()
        return x[0]

    assert simulate(program, [np.ones(1), np.ones(1)], threads=2) == [2, 2]


def test_an_error_on_a_thread_is_that_ranks():
    def program(rank, size, x):
        if rank == 1:
            raise ZeroDivisionError("rank 1")
        yield Swap(x, to=1 - rank, frm=1 - rank, like=x)

    with pytest.raises(ZeroDivisionError, match="rank 1"):
        simulate(program, [np.ones(1)] * 2, threads=2)


def test_no_threads():
    with pytest.raises(ValueError, match="threads is 0; it must be at least 1"):
        simulate(lambda rank, size, x: iter(()), [np.ones(1)], threads=0)


def test_both_ends_must_mean_the_same():
    """Two collectives of one size fit each other, and would mix what they move."""

    def mixed(rank, size, x):
        phase = "gradients" if rank == 0 else "parameters"
        yield Swap(x[0], 1 - rank, 1 - rank, x[0], 0, phase)

    told = (
        "step 1: rank 0 sends chunk 0 of (2,) float64 in phase 'gradients' to rank 1, which "
        "expects (2,) float64 in phase 'parameters'"
    )
    with pytest.raises(ProtocolError, match=re.escape(told)):
        simulate(mixed, [Chunks([np.ones(2)]) for _ in range(2)])
