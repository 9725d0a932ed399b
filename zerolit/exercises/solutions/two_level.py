from zerolit.comm import Swap


def two_level(rank, size, x, cards):
    """All-reduce `size` chunks; ranks 0 … cards - 1 are on one node, and so on."""
    node, card = divmod(rank, cards)
    nodes = size // cards
    shares = [x_range(share, nodes) for share in range(cards)]
    mates = [node * cards + other for other in range(cards)]
    yield from around(mates, card, x, shares, adds=True)  # inside the node
    mine = (card + 1) % cards  # the share that this card now owns
    single = [slice(mine * nodes + n, mine * nodes + n + 1) for n in range(nodes)]
    peers = [other * cards + card for other in range(nodes)]
    yield from around(peers, node, x, single, adds=True)  # between nodes
    yield from around(peers, node, x, single, adds=False)
    yield from around(mates, card, x, shares, adds=False)


def x_range(share, nodes):
    """The chunks of a share."""
    return slice(share * nodes, (share + 1) * nodes)


def around(ranks, me, x, parts, adds):
    """One way round the ring of `ranks`: a reduce-scatter, or its all-gather."""
    p = len(ranks)
    right, left = ranks[(me + 1) % p], ranks[(me - 1) % p]
    for step in range(1, p):
        at = me - step + (1 if adds else 2)
        send, receive = parts[at % p], parts[(at - 1) % p]
        arrived = yield Swap(x[send], right, left, x[receive], send)
        x[receive] = x[receive] + arrived if adds else arrived
