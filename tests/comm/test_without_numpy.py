"""All but the arrays works with Python's own library alone."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOES = {
    "import": "import zerolit.comm, zerolit.comm.words",
    "prove": """
from zerolit.comm import prove, ring, server, tree, halving
for p in (2, 4):
    for program in (ring.reduce_scatter, ring.all_gather, ring.all_reduce, server.all_reduce,
                    tree.all_reduce, halving.all_reduce):
        assert prove(program, p).size == p
""",
    "examine": """
from zerolit.comm import examine, collective, Swap
@collective("all_reduce", pieces=lambda size: 1)
def shy(rank, size, x):
    yield Swap(frm=1 - rank, like=x[0])
assert examine(shy, 2).sentence("zh").startswith("第 1 步什么也动不了")
""",
    "price": """
from fractions import Fraction
from zerolit.comm import Network, all_reduce_time, price, ring
assert price(ring.all_reduce, 8, Network(4, 1, 3)) == 6 * (3 + 2) == all_reduce_time(8, 4, 1, 3)
""",
    "order": """
from zerolit.comm import order_of_sum, ring
assert order_of_sum(ring.all_reduce, 4, owner=0) == "0+(3+(2+1))"
""",
    "simulate and log": """
from zerolit.comm import Chunks, CommLog, ring, simulate
from zerolit.comm.chunks import Symbol
class Number(Symbol):
    def reshape(self, _): return self
    def tolist(self): return [self.value]
    def copy(self): return Number(self.value)
log, states = CommLog(3), [Chunks(Number(10**r) for _ in range(3)) for r in range(3)]
simulate(ring.all_reduce, states, log)
assert [chunk.value for chunk in states[1]] == [111] * 3 and log.sent == [4, 4, 4]
assert log.trace[0] == "step 1 reduce-scatter: rank 0 → rank 1, chunk 0, 1 element [1]"
""",
    "judge": """
from zerolit.comm import judge, ring
assert judge(ring.all_reduce, 3, seconds=20).right
assert judge("x = 1").kind == "no_program"
""",
    "arrays are missed only when asked for": """
import zerolit.comm
try:
    zerolit.comm.ring_all_reduce
except ImportError as error:
    assert "numpy" in str(error)
else:
    raise AssertionError
""",
}


@pytest.mark.parametrize("what", DOES)
def test_python_alone(what):
    """`-S` leaves out all that is installed; `-I` what the environment says."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{DOES[what]}\n"
    code += "assert 'numpy' not in sys.modules and 'torch' not in sys.modules\n"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_what_is_imported_is_little():
    """Nor anything that is slow to import, so that a page of programs is there at once."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); before = set(sys.modules)\n"
    code += "import zerolit.comm; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert not {"numpy", "torch", "asyncio", "multiprocessing", "typing_extensions"} & set(
        done.stdout.split()
    )


def test_the_calls_are_still_there_where_numpy_is():
    import zerolit.comm
    from zerolit.comm import calls

    for name in zerolit.comm.__all__:
        assert getattr(zerolit.comm, name) is not None
    assert zerolit.comm.ring_all_reduce is calls.ring_all_reduce
    with pytest.raises(AttributeError, match="has no attribute 'ring_all'"):
        _ = zerolit.comm.ring_all
