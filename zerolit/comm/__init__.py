"""Collectives as rank programs: one text that is run, proved and priced.

`ring`, `server`, `tree` and `halving` hold the programs; `simulate` runs one on arrays, `prove` on
multisets of ranks, `price` on sizes, `order_of_sum` on symbols. The calls `ring_all_reduce` and so
on are for everyday use.
"""

from . import halving, ring, server, tree
from .calls import (
    parameter_server_all_reduce,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)
from .log import CommLog, Message
from .order import order_of_sum
from .price import Network, all_reduce_time, price
from .prove import Proof, prove
from .simulate import Chunks, simulate
from .swap import CommError, ProofError, ProtocolError, RankProgram, Swap, collective, in_phase, tap

__all__ = [
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
    "all_reduce_time",
    "collective",
    "halving",
    "in_phase",
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
