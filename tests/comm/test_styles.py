"""Right programs that are written otherwise than ours: all pass, on shares and on numbers."""

import numpy as np
import pytest

from zerolit.comm import (
    Chunks,
    Swap,
    collective,
    examine,
    halving,
    in_phase,
    price,
    ring,
    server,
    simulate,
    tree,
)
from zerolit.comm.price import Network


def each(size):
    return size


@collective("all_reduce", pieces=each)
def to_the_left(rank, size, x):
    for step in range(size - 1):
        arrived = yield Swap(
            x[(rank + step) % size],
            (rank - 1) % size,
            (rank + 1) % size,
            x[(rank + step + 1) % size],
        )
        x[(rank + step + 1) % size] += arrived
    for step in range(size - 1):
        c = (rank + step) % size
        x[c] = yield Swap(x[(c - 1) % size], (rank - 1) % size, (rank + 1) % size, x[c])


@collective("all_reduce", pieces=each)
def another_owner(rank, size, x):
    yield from ring.reduce_scatter(rank, size, x, owner=2)
    yield from ring.all_gather(rank, size, x, owner=2)


@collective("all_reduce", pieces=each)
def with_temporaries(rank, size, x):
    """Sums stand in a variable until the end of the first half."""
    right, left = (rank + 1) % size, (rank - 1) % size
    running = x[rank]
    for step in range(1, size):
        c = (rank - step) % size
        arrived = yield Swap(running, right, left, x[c])
        running = arrived + x[c]
    x[right] = running
    for step in range(1, size):
        c = (rank - step + 1) % size
        running = yield Swap(running, right, left, x[c])
        x[c] = running


@collective("all_reduce", pieces=each)
def with_a_helper(rank, size, x):
    def pass_on(send, receive):
        return (yield Swap(x[send], (rank + 1) % size, (rank - 1) % size, x[receive]))

    for step in range(1, size):
        arrived = yield from pass_on((rank - step + 1) % size, (rank - step) % size)
        x[(rank - step) % size] += arrived
    for step in range(1, size):
        c = (rank - step + 1) % size
        x[c] = yield from pass_on((c + 1) % size, c)


@collective("all_reduce", pieces=each)
def a_message_for_each_chunk(rank, size, x):
    """The parameter server, chunk by chunk."""
    for c in range(size):
        yield from server.all_reduce(rank, size, One(x, c))


class One:
    """One chunk of x, under the number 0."""

    def __init__(self, x, c):
        self.x, self.c = x, c

    def __getitem__(self, index):
        return self.x[self.c]

    def __setitem__(self, index, value):
        self.x[self.c] = value


@collective("all_reduce", pieces=lambda size: 1)
def a_server_at_the_end(rank, size, x):
    last = size - 1
    if rank == last:
        came = []
        for r in range(last):
            came.append((yield Swap(frm=r, like=x[0])))
        x[0] = sum([x[0], *came])
        for r in range(last):
            yield Swap(x[0], to=r)
    else:
        yield Swap(x[0], to=last)
        x[0] = yield Swap(frm=last, like=x[0])


@collective("all_reduce", pieces=each)
def set_aside(rank, size, x):
    """What arrived is added one step later, just before it is needed."""
    right, left = (rank + 1) % size, (rank - 1) % size
    late = None
    for step in range(1, size):
        c = (rank - step + 1) % size
        if late is not None:
            x[c] += late
        late = yield Swap(x[c], right, left, x[(c - 1) % size])
    if late is not None:
        x[right] += late
    yield from ring.all_gather(rank, size, x)


@collective("all_reduce", pieces=each)
def double_buffered(rank, size, x):
    buffers = [x[rank].copy(), None]
    for step in range(1, size):
        c = (rank - step) % size
        arrived = yield Swap(buffers[0], (rank + 1) % size, (rank - 1) % size, x[c])
        buffers[1] = arrived
        buffers[1] += x[c]
        buffers.reverse()
    x[(rank + 1) % size] = buffers[0]
    yield from ring.all_gather(rank, size, x)


@collective("all_reduce", pieces=lambda size: 2 * size)
def in_two_halves(rank, size, x):
    """Two rings, one after the other, each on half of the array, the second to the left."""
    yield from ring.all_reduce(rank, size, Part(x, 0, size))
    yield from ring.all_reduce(rank, size, Part(x, size, size), direction=-1)


class Part:
    """Some of the chunks of x, counted from 0."""

    def __init__(self, x, first, length):
        self.x, self.first, self.length = x, first, length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return self.x[self.first + index]

    def __setitem__(self, index, value):
        self.x[self.first + index] = value


@collective("all_reduce", pieces=lambda size: 1)
def everybody_to_everybody(rank, size, x):
    """Each sends its whole array round and adds what passes."""
    passing = x[0].copy()
    for _ in range(1, size):
        passing = yield Swap(passing, (rank + 1) % size, (rank - 1) % size, x[0])
        x[0] += passing


@collective("all_reduce", pieces=each)
def straight_to_the_owner(rank, size, x):
    """Every chunk goes straight to its owner, and from there straight to all."""
    for away in range(1, size):
        to, frm = (rank + away) % size, (rank - away) % size
        x[rank] += yield Swap(x[to], to, frm, x[rank])
    for away in range(1, size):
        to, frm = (rank + away) % size, (rank - away) % size
        x[frm] = yield Swap(x[rank], to, frm, x[frm])


@collective("all_reduce", pieces=lambda size: 1)
def down_a_chain(rank, size, x):
    if rank:
        x[0] += yield Swap(frm=rank - 1, like=x[0])
    if rank < size - 1:
        yield Swap(x[0], to=rank + 1)
        x[0] = yield Swap(frm=rank + 1, like=x[0])
    if rank:
        yield Swap(x[0], to=rank - 1)


@collective("all_reduce", pieces=each)
def own_share_put_away(rank, size, x):
    """The own share leaves x for a while: x is short of it until it is added again."""
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(1, size):
        c = (rank - step) % size
        mine = x[c].copy()
        x[c] = yield Swap(x[(c + 1) % size], right, left, x[c])
        x[c] = mine + x[c]
    yield from in_phase("gather", ring.all_gather(rank, size, x))


@collective("all_reduce", pieces=each)
def sends_then_receives(rank, size, x):
    """Even ranks send first, odd ranks receive first; of two even neighbours one waits."""
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(1, 2 * size - 1):
        send, receive = (rank - step + 1) % size, (rank - step) % size
        old = x[send].copy()
        if rank % 2 == 0:
            yield Swap(old, to=right)
        arrived = yield Swap(frm=left, like=x[receive])
        if rank % 2 == 1:
            yield Swap(old, to=right)
        x[receive] = x[receive] + arrived if step < size else arrived


@collective("all_reduce", pieces=lambda size: size)
def all_in_one_block(rank, size, x):
    """Rank 0 collects everything in one message from each, and sends it back in one."""
    if rank:
        yield Swap(x[:], to=0)
        x[:] = yield Swap(frm=0, like=x[:])
        return
    for worker in range(1, size):
        x[:] += yield Swap(frm=worker, like=x[:])
    for worker in range(1, size):
        yield Swap(x[:], to=worker)


@collective("reduce_scatter", pieces=lambda size: 2 * size)
def two_chunks_each(rank, size, x):
    for away in range(1, size):
        to, frm = (rank + away) % size, (rank - away) % size
        mine, theirs = slice(2 * rank, 2 * rank + 2), slice(2 * to, 2 * to + 2)
        x[mine] += yield Swap(x[theirs], to, frm, x[mine])
    return [2 * rank, 2 * rank + 1]


@collective("all_gather", pieces=each)
def gather_by_the_left(rank, size, x):
    for step in range(1, size):
        c = (rank + step) % size
        x[c] = yield Swap(x[(c - 1) % size], (rank - 1) % size, (rank + 1) % size, x[c])


@collective("broadcast", pieces=lambda size: 3)
def pipelined(rank, size, x):
    for c in range(3):
        if rank:
            x[c] = yield Swap(frm=rank - 1, like=x[c])
        if rank < size - 1:
            yield Swap(x[c], to=rank + 1)


@collective("reduce", pieces=lambda size: 1, root=1)
def to_rank_one(rank, size, x):
    if rank == 1:
        for r in [0, *range(2, size)]:
            x[0] += yield Swap(frm=r, like=x[0])
    elif size > 1:
        yield Swap(x[0], to=1)


ALL_REDUCES = [
    to_the_left, another_owner, with_temporaries, with_a_helper, a_message_for_each_chunk,
    a_server_at_the_end, set_aside, double_buffered, in_two_halves, everybody_to_everybody,
    straight_to_the_owner, down_a_chain, own_share_put_away, sends_then_receives, all_in_one_block,
    ring.all_reduce, server.all_reduce, tree.all_reduce,
]  # fmt: skip
OTHERS = [two_chunks_each, gather_by_the_left, pipelined, to_rank_one, ring.reduce_scatter]


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("program", [*ALL_REDUCES, *OTHERS], ids=lambda f: f.__name__)
def test_it_is_right(program, size):
    verdict = examine(program, size)
    assert verdict.right, str(verdict)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("program", ALL_REDUCES, ids=lambda f: f.__name__)
def test_it_is_right_on_numbers_too(program, size):
    """Else the tests above would pass a prover that passes everything."""
    arrays = [np.arange(1.0, 2 * size + 2) * 10**rank for rank in range(size)]
    total = sum(arrays)
    states = [Chunks(np.array_split(array, program.pieces(size))) for array in arrays]
    simulate(program, states)
    assert all((array == total).all() for array in arrays)


def test_halving_sends_one_message_a_round():
    for size in (2, 4, 8, 16):
        verdict = examine(halving.all_reduce, size)
        rounds = 2 * (size.bit_length() - 1)
        assert verdict.proof.optimal and verdict.proof.steps == rounds
        time = price(halving.all_reduce, 4 * size, Network(size, 1, 100))
        assert time == 100 * rounds + 2 * (size - 1) * 4


@pytest.mark.parametrize(
    ("program", "bound", "busiest"),
    [(pipelined, 1, 1), (to_rank_one, 1, 1), (gather_by_the_left, 3 / 4, 3 / 4)],
)
def test_bounds(program, bound, busiest):
    proof = examine(program, 4).proof
    assert proof.bound == bound and max(proof.sent) == busiest and proof.optimal


def test_a_broadcast_that_reaches_no_one_and_a_reduce_that_leaves_one_out():
    @collective("broadcast", pieces=lambda size: 1)
    def kept(rank, size, x):
        return
        yield

    @collective("reduce", pieces=lambda size: 1)
    def careless(rank, size, x):
        if rank == 0:
            x[0] = yield Swap(frm=1, like=x[0])
        elif rank == 1:
            yield Swap(x[0], to=0)

    verdict = examine(kept, 3)
    assert (verdict.kind, verdict.rank, verdict.hop) == ("never", 1, (0, 1))
    verdict = examine(careless, 2)
    assert (verdict.kind, verdict.rank, verdict.what["ranks"]) == ("lost", 0, [0])
