"""One right program, and what beginners do to it; by the kind of the verdict."""

from zerolit.comm.judge import defined

RIGHT = """\
@collective("all_reduce", pieces=lambda size: size)
def program(rank, size, x):
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(1, 2 * size - 1):
        send, receive = (rank - step + 1) % size, (rank - step) % size
        arrived = yield Swap(x[send], right, left, x[receive], send)
        x[receive] = x[receive] + arrived if step < size else arrived
"""

MARK, HEAD = '@collective("all_reduce", pieces=lambda size: size)\n', "(rank, size, x):"
SWAP = "yield Swap(x[send], right, left, x[receive], send)"
STORE = "x[receive] = x[receive] + arrived if step < size else arrived"
LOOP = "range(1, 2 * size - 1)"

# kind, what in RIGHT is replaced by what
CHANGES = {
    "unmarked": [(MARK, "")],
    "pieces": [("lambda size: size", "lambda size: size / 2")],
    "start": [("all_reduce", "all_gather"), ("lambda size: size", "lambda size: size + 1")],
    "root": [("all_reduce", "broadcast"), ("size: size)", "size: size, root=3)")],
    "holds": [
        ("all_reduce", "all_gather"), ("size: size)", "size: size, holds=lambda r, p: 1 / 0)"),
    ],
    "half_a_rank": [("(rank - 1) % size\n", "(rank + 1) / 2\n")],
    "signature": [(HEAD, "(rank, x):")],
    "no_generator": [(SWAP, "Swap(x[send], right, left, x[receive], send) and x[send]")],
    "no_swap": [(SWAP, "yield x[send], right")],
    "itself": [("(rank + 1) % size, (", "rank, (")],
    "no_rank": [("(rank + 1) % size, (", "rank + 1, (")],
    "minus_one": [("(rank - 1) % size\n", "rank - 1\n")],
    "empty": [(SWAP, "yield Swap(x[send])")],
    "payload": [(SWAP, "yield Swap(x, right, left, x[receive], send)")],
    "a_list": [(SWAP, "yield Swap([x[send], x[receive]], right, left, x[receive], send)")],
    "every_other": [(SWAP, "yield Swap(x[::2], right, left, x[:2])")],
    "like": [(SWAP, "yield Swap(x[send], right, left, chunk=send)")],
    "arithmetic": [(STORE, "x[receive] = (x[receive] + arrived) / size")],
    "compare": [(STORE, "x[receive] = max(x[receive], arrived)")],
    "look_into": [(STORE, "x[receive] = x[receive] + arrived[0]")],
    "operand": [(STORE, "x[receive] += 1 / size")],
    "nothing": [("    for step", """\
    if rank == 0:
        x[1] += yield Swap(x[1], right)
    if rank == 1:
        yield Swap(frm=left, like=x[1])
    for step""")],
    "stored": [(STORE, "x[receive] = 0")],
    "index": [(STORE, "x[rank + size] = arrived")],
    "forged": [(STORE, "x[receive] = type(arrived)(receive, range(size))")],
    "foreign": [
        (MARK, "box = {}\n" + MARK),
        (STORE, "box[rank] = arrived; x[receive] = x[receive] + box.get(right, arrived)"),
    ],
    "list": [
        (MARK, "lists = {}\n" + MARK),
        (STORE, "lists[rank] = x; x[receive] = lists.get(left, x)[receive]"),
    ],
    "changed": [(STORE, "arrived.ranks = 7")],
    "exception": [(STORE, "x[receive] = x[recieve] + arrived")],
    "returned": [("all_reduce", "reduce_scatter"), (LOOP, "range(1, size)")],
    "owners": [
        ("all_reduce", "reduce_scatter"), (LOOP, "range(1, size)"),
        (STORE, STORE + "\n    return 1"),
    ],
    "twice": [(STORE, "x[receive] = x[receive] + arrived")],
    "mixed": [(STORE, "x[send] = x[send] + arrived")],
    "junk": [("all_reduce", "all_gather"), (LOOP, "range(1, size)"), (
        "(rank - step + 1) % size, (rank - step) % size",
        "(rank - step + 1) % size, (rank - step) % size"),
        (STORE, "x[receive] = x[receive] + arrived")],
    "lost": [(STORE, "x[receive] = arrived")],
    "early": [
        ("    for step", "    old = [chunk.copy() for chunk in x]\n    for step"),
        (SWAP, "yield Swap(old[send] if rank == 1 else x[send], right, left, x[receive], send)"),
    ],
    "dropped": [(STORE, "\n".join([
        "if rank == 0 and step == 1:", "            continue", "        " + STORE]))],
    "never": [(LOOP, "range(1, 2 * size - 2)")],
    "uneven": [(SWAP, "yield Swap(x[send], right, left, x[send], send)")],
    "stuck": [(SWAP, "yield Swap(x[send], right, left if rank else right, x[receive], send)")],
    "alike": [
        (SWAP, "yield Swap(x[send], right); arrived = yield Swap(frm=left, like=x[receive])"),
    ],
    "ended": [(LOOP, "range(1, 2 * size - 1 - (rank == 2))")],
    "misfit": [(SWAP, "yield Swap(x[send], right, left, x[receive], send, f'part {rank % 2}')")],
    "budget": [("for step in range(1, 2 * size - 1):", "step = 1\n    while True:")],
}  # fmt: skip


def source(changes):
    """The right program with some of its text replaced; each must be there."""
    text = RIGHT
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def program(changes):
    return defined(source(changes))
