"""The simulator: torch tensors, other rings, and ranks that do not fit together."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from tests.comm import plain
from zerolit.comm import Chunks, CommLog, ProtocolError, Swap, ring, server, simulate


def states(arrays):
    return [Chunks(np.array_split(array, len(arrays))) for array in arrays]


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("owner", [0, 1, 2])
@pytest.mark.parametrize("p", [1, 2, 3, 5, 8])
def test_direction_and_owner_settle_the_order_of_summation(p, direction, owner):
    rng = np.random.default_rng(p)
    arrays = [rng.standard_normal(23).astype(np.float32) for _ in range(p)]
    expected = plain.ring_all_reduce(arrays, direction, owner)
    simulate(ring.all_reduce, states(arrays), direction=direction, owner=owner)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(arrays, expected, strict=True))


def test_gloos_ring_adds_to_the_left_and_leaves_chunk_r_with_rank_r():
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(5).astype(np.float32) for _ in range(5)]
    given = [array.copy() for array in arrays]
    assert simulate(ring.reduce_scatter, states(arrays), direction=-1, owner=0) == [0, 1, 2, 3, 4]
    for chunk in range(5):  # x[c-1] + x[c-2] + … + x[c], as gloo sums
        total = given[(chunk - 1) % 5][chunk]
        for back in range(2, 6):
            total = given[(chunk - back) % 5][chunk] + total
        assert arrays[chunk][chunk].tobytes() == total.tobytes()


def test_torch_tensors_give_numpys_bits():
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(37).astype(np.float32) for _ in range(4)]
    expected = plain.ring_all_reduce(arrays)
    tensors = [torch.from_numpy(array.copy()) for array in arrays]
    log = CommLog(4)
    chunks = [Chunks(torch.tensor_split(tensor, 4)) for tensor in tensors]
    simulate(ring.all_reduce, chunks, log)
    assert all(t.numpy().tobytes() == e.tobytes() for t, e in zip(tensors, expected, strict=True))
    assert sum(log.sent) == 2 * 3 * 37


@pytest.mark.parametrize(("direction", "owner"), [(1, 1), (1, 0), (-1, 0), (-1, 2)])
@pytest.mark.parametrize("p", [1, 3, 5])
def test_torch_goes_round_any_ring_as_numpy_does(p, direction, owner):
    rng = np.random.default_rng(p)
    arrays = [rng.standard_normal((3, 4)).astype(np.float32) for _ in range(p)]
    expected = plain.ring_all_reduce(arrays, direction, owner)
    tensors = [torch.from_numpy(array) for array in arrays]
    chunks = [Chunks(torch.tensor_split(tensor.view(-1), p)) for tensor in tensors]
    simulate(ring.all_reduce, chunks, direction=direction, owner=owner)
    assert all(t.numpy().tobytes() == e.tobytes() for t, e in zip(tensors, expected, strict=True))


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("owner", [0, 1, 2])
def test_each_rank_owns_what_was_promised(direction, owner):
    arrays = [np.full(10, 10.0**rank) for rank in range(5)]
    chunks = states(arrays)
    owned = simulate(ring.reduce_scatter, chunks, direction=direction, owner=owner)
    assert owned == [(rank + owner) % 5 for rank in range(5)]
    assert all((chunks[rank][owned[rank]] == 11111).all() for rank in range(5))


def test_the_simulator_works_in_place_and_logs_torch_values():
    tensors = [torch.tensor([1.5, 2.0], dtype=torch.bfloat16) for _ in range(2)]
    log = CommLog(2)
    simulate(ring.all_reduce, [Chunks(t.tensor_split(2)) for t in tensors], log)
    assert all(t.tolist() == [3, 4] and t.dtype == torch.bfloat16 for t in tensors)
    assert [m.values for m in log.messages] == [(1.5,), (2.0,), (4.0,), (3.0,)]


@pytest.mark.parametrize("kind", [np.ones, torch.ones])
def test_messages_of_more_dimensions_and_of_no_chunk_are_logged(kind):
    def one_way(rank, size, x):
        half = {"to": 1, "payload": x[0]} if rank == 0 else {"frm": 0, "like": x[0]}
        yield Swap(**half, phase="hand over")

    log = CommLog(2)
    simulate(one_way, [Chunks([kind((2, 3))]) for _ in range(2)], log)
    assert log.sent == [6, 0] and log.received == [0, 6]
    assert log.trace == ["step 1 hand over: rank 0 → rank 1, 6 elements [1 1 1 1 1 1]"]


def test_comm_needs_no_torch():
    code = "import sys, zerolit.comm, zerolit.plan; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_a_message_in_flight_does_not_change(kind):
    """Both ranks send their only chunk and add what arrives: each must get the old one."""

    def swap_and_add(rank, size, x):
        x[0] += yield Swap(x[0], to=1 - rank, frm=1 - rank, like=x[0])

    ones, twos = kind([1.0, 1.0]), kind([2.0, 2.0])
    simulate(swap_and_add, [Chunks([ones]), Chunks([twos])])
    assert ones.tolist() == twos.tolist() == [3, 3]


def test_who_sends_and_who_receives_is_told_apart():
    def one_way(rank, size, x):
        if rank == 0:
            yield Swap(x[0], to=1)
        else:
            yield Swap(frm=0, like=x[0])

    log = CommLog(2)
    simulate(one_way, [Chunks([np.ones(3)]), Chunks([np.ones(3)])], log)
    assert log.sent == [3, 0] and log.received == [0, 3]


def test_send_then_receive_round_a_ring_deadlocks_and_is_told():
    def careless(rank, size, x):
        yield Swap(x[0], to=(rank + 1) % size, chunk=0)
        yield Swap(frm=(rank - 1) % size, like=x[0])

    with pytest.raises(ProtocolError) as told:
        simulate(careless, [Chunks([np.ones(1)]) for _ in range(3)])
    assert str(told.value) == (
        "nothing can move in step 1: rank 0 offers chunk 0 to rank 1; "
        "rank 1 offers chunk 0 to rank 2; rank 2 offers chunk 0 to rank 0; "
        "all ranks do the same, and so each waits for another"
    )


def test_waiting_for_each_other_is_told():
    def shy(rank, size, x):
        yield Swap(frm=1 - rank, like=x[0])

    with pytest.raises(ProtocolError, match="rank 0 waits for rank 1; rank 1 waits for rank 0"):
        simulate(shy, [Chunks([np.ones(1)]) for _ in range(2)])


def test_a_message_that_nobody_expects_is_told():
    def talkative(rank, size, x):
        if rank == 0:
            yield Swap(x[0], to=1, chunk=0)

    match = "rank 0 offers chunk 0 to rank 1; finished: rank 1, 2"
    with pytest.raises(ProtocolError, match=match):
        simulate(talkative, [Chunks([np.ones(1)]) for _ in range(3)])


@pytest.mark.parametrize("other", [np.ones(3), np.ones(2, np.float32), np.ones((2, 1))])
def test_a_message_that_does_not_fit_is_told(other):
    with pytest.raises(ProtocolError, match=r"step 1: rank 1 sends chunk 0 of .* to rank 0, which"):
        simulate(server.all_reduce, [Chunks([np.ones(2)]), Chunks([other])])


def test_a_rank_that_does_not_exist_is_told():
    def lost(rank, size, x):
        yield Swap(x[0], to=size)

    with pytest.raises(ProtocolError, match="rank 0, step 1: names rank 2, but ranks are 0 to 1"):
        simulate(lost, [Chunks([np.ones(1)]) for _ in range(2)])


def test_an_empty_swap_is_told():
    def idle(rank, size, x):
        yield Swap()

    with pytest.raises(
        ProtocolError, match="rank 0, step 1: yields a swap that neither sends nor receives"
    ):
        simulate(idle, [Chunks([np.ones(1)])])


@pytest.mark.parametrize("p", range(1, 10))
@pytest.mark.parametrize("direction", [1, -1])
def test_any_ring_is_the_textbook_ring_under_other_names(p, direction):
    """Hop for hop: rank r is called direction·r, chunk c is called owner + direction·(c - 1)."""

    def hops(**options):
        log = CommLog(p)
        simulate(ring.all_reduce, states([np.ones(2 * p + 1)] * p), log, **options)
        return [(m.step, m.phase, m.source, m.destination, m.chunk) for m in log.messages]

    for owner in range(-1, p + 1):
        renamed = [
            (s, ph, direction * a % p, direction * b % p, (owner + direction * (c - 1)) % p)
            for s, ph, a, b, c in hops()
        ]
        assert sorted(hops(direction=direction, owner=owner)) == sorted(renamed)


def test_a_ring_runs_to_the_right_or_to_the_left():
    with pytest.raises(ValueError, match="direction is 2; it must be 1 or -1"):
        simulate(ring.all_reduce, states([np.ones(3)] * 3), direction=2)


def test_blocks_are_sent_added_and_written_chunk_by_chunk():
    """Two ranks swap two of three chunks in one message, and one of them adds."""

    def program(rank, size, x):
        if rank == 0:
            x[1:] += yield Swap(x[1:], 1, 1, x[1:], slice(1, 3))
        else:
            x[1:] = yield Swap(x[1:], 0, 0, x[1:], slice(1, 3))

    arrays, log = [np.arange(5.0), 10 * np.arange(5.0)], CommLog(2)
    simulate(program, [Chunks(np.array_split(array, 3)) for array in arrays], log)
    assert arrays[0].tolist() == [0, 1, 22, 33, 44]  # the first chunk has two numbers
    assert arrays[1].tolist() == [0, 10, 2, 3, 4]  # what rank 0 had before it added
    assert log.trace[0] == "step 1: rank 0 → rank 1, chunks 1 to 2, 3 elements [2 3 4]"
    assert log.messages[1].chunk == range(1, 3) and log.steps == 1
