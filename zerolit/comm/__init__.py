"""Collectives as rank programs: one text that is run, proved and priced.

`ring`, `server`, `tree` and `halving` hold the programs; `simulate` runs one on arrays, `prove` on
names of ranks, `price` on sizes, `order_of_sum` on symbols; `judge` proves a stranger's, in a
process of its own. The calls `ring_all_reduce` and so on are for everyday use; they alone need
numpy, and import it when they are first asked for.
"""

from typing import TYPE_CHECKING, Any

from . import halving, ring, server, tree
from .chunks import Block, Chunks
from .judge import judge
from .log import CommLog, Message
from .order import order_of_sum
from .price import Network, all_reduce_time, price
from .prove import examine, prove
from .simulate import simulate
from .swap import CommError, ProofError, ProtocolError, RankProgram, Swap, collective, in_phase, tap
from .verdict import Proof, Verdict

if TYPE_CHECKING:
    from .calls import (
        parameter_server_all_reduce,
        ring_all_gather,
        ring_all_reduce,
        ring_reduce_scatter,
    )

__all__ = [
    "Block",
    "Chunks",
    "CommError",
    "CommLog",
    "Message",
    "Network",
    "Proof",
    "ProofError",
    "ProtocolError",
    "RankProgram",
    "Swap",
    "Verdict",
    "all_reduce_time",
    "collective",
    "examine",
    "halving",
    "in_phase",
    "judge",
    "order_of_sum",
    "parameter_server_all_reduce",
    "price",
    "prove",
    "ring",
    "ring_all_gather",
    "ring_all_reduce",
    "ring_reduce_scatter",
    "server",
    "simulate",
    "tap",
    "tree",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import calls

    return getattr(calls, name)
