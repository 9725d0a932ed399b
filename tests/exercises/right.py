"""Right solutions, written otherwise than ours."""

RIGHT = {
    ("chunk-to-send", "by counting down"): """
def chunk_to_send(rank, size, step):
    chunk = rank
    for _ in range(step - 1):
        chunk = chunk - 1 if chunk else size - 1
    return chunk
""",
    ("chunk-to-send", "from a list"): """
def chunk_to_send(rank, size, step):
    order = list(range(size)) * 2
    return order[rank - step + 1 + size]
""",
    ("chunk-to-send", "by what the left neighbour sent"): """
def chunk_to_send(rank, size, step):
    if step == 1:
        return rank
    return chunk_to_send((rank - 1) % size, size, step - 1)
""",
    ("reduce-scatter", "what it sends next is what it has just added to"): """
from zerolit.comm import Swap


def reduce_scatter(rank, size, x):
    at = rank
    for _ in range(size - 1):
        before = (at - 1) % size
        x[before] += yield Swap(x[at], (rank + 1) % size, (rank - 1) % size, x[before], at)
        at = before
    return at
""",
    ("reduce-scatter", "to the left"): """
from zerolit.comm import Swap


def reduce_scatter(rank, size, x):
    for step in range(1, size):
        send, receive = (rank + step - 1) % size, (rank + step) % size
        x[receive] += yield Swap(x[send], (rank - 1) % size, (rank + 1) % size, x[receive], send)
    return (rank - 1) % size
""",
    ("reduce-scatter", "everybody to the owner, one after the other"): """
from zerolit.comm import Swap


def reduce_scatter(rank, size, x):
    mine = x[rank]
    for distance in range(1, size):
        to, frm = (rank + distance) % size, (rank - distance) % size
        mine = mine + (yield Swap(x[to], to=to, frm=frm, like=x[rank], chunk=to))
    x[rank] = mine
    return rank
""",
    ("all-gather", "passes on what has just arrived"): """
from zerolit.comm import Swap


def all_gather(rank, size, x):
    at = (rank + 1) % size
    while at != (rank + 2) % size:
        before = (at - 1) % size
        x[before] = yield Swap(x[at], (rank + 1) % size, (rank - 1) % size, x[before], at)
        at = before
""",
    ("all-gather", "to the left"): """
from zerolit.comm import Swap


def all_gather(rank, size, x):
    for step in range(1, size):
        send, receive = (rank + step) % size, (rank + step + 1) % size
        x[receive] = yield Swap(x[send], (rank - 1) % size, (rank + 1) % size, x[receive], send)
""",
    ("all-gather", "straight to everybody"): """
from zerolit.comm import Swap


def all_gather(rank, size, x):
    mine = (rank + 1) % size
    for distance in range(1, size):
        to, frm = (rank + distance) % size, (rank - distance) % size
        theirs = (frm + 1) % size
        x[theirs] = yield Swap(x[mine], to=to, frm=frm, like=x[theirs], chunk=mine)
""",
    ("all-reduce", "one loop"): """
from zerolit.comm import Swap


def all_reduce(rank, size, x):
    for step in range(1, 2 * size - 1):
        send, receive = (rank - step + 1) % size, (rank - step) % size
        arrived = yield Swap(x[send], (rank + 1) % size, (rank - 1) % size, x[receive], send)
        x[receive] = x[receive] + arrived if step < size else arrived
""",
    ("all-reduce", "to the left"): """
from zerolit.comm import Swap


def all_reduce(rank, size, x):
    for step in range(1, 2 * size - 1):
        send, receive = (rank + step - 1) % size, (rank + step) % size
        arrived = yield Swap(x[send], (rank - 1) % size, (rank + 1) % size, x[receive], send)
        x[receive] = x[receive] + arrived if step < size else arrived
""",
    ("all-reduce", "straight to the owner and back"): """
from zerolit.comm import Swap


def all_reduce(rank, size, x):
    mine = x[rank]
    for distance in range(1, size):
        to, frm = (rank + distance) % size, (rank - distance) % size
        mine = mine + (yield Swap(x[to], to, frm, x[rank], to))
    x[rank] = mine
    for distance in range(1, size):
        to, frm = (rank + distance) % size, (rank - distance) % size
        x[frm] = yield Swap(x[rank], to, frm, x[frm], rank)
""",
    ("broadcast", "by bits, the lowest first"): """
from zerolit.comm import Swap


def broadcast(rank, size, x):
    bits = (size - 1).bit_length()
    for bit in range(bits):
        partner = rank ^ (1 << bit)
        if rank < 1 << bit and partner < size:
            yield Swap(x[0], to=partner, chunk=0)
        elif rank >> bit == 1:
            x[0] = yield Swap(frm=partner, like=x[0])
""",
    ("broadcast", "the far half first"): """
from zerolit.comm import Swap


def broadcast(rank, size, x):
    distance = 1
    while distance < size:
        distance *= 2
    while distance > 1:
        distance //= 2
        if rank % (2 * distance) == 0 and rank + distance < size:
            yield Swap(x[0], to=rank + distance, chunk=0)
        elif rank % (2 * distance) == distance:
            x[0] = yield Swap(frm=rank - distance, like=x[0])
""",
    ("broadcast", "by halves of a range"): """
from zerolit.comm import Swap


def broadcast(rank, size, x, low=0):
    high = size
    while high - low > 1:
        middle = (low + high + 1) // 2
        if rank == low:
            yield Swap(x[0], to=middle, chunk=0)
        elif rank == middle:
            x[0] = yield Swap(frm=low, like=x[0])
        low, high = (low, middle) if rank < middle else (middle, high)
""",
    ("cost", "step by step"): """
def cost(size, nbytes, latency, bandwidth):
    seconds = 0
    for _ in range(2):
        for _ in range(size - 1):
            seconds += latency + nbytes / size / bandwidth
    return seconds
""",
    ("cost", "α and β apart"): """
def cost(size, nbytes, latency, bandwidth):
    steps = 2 * size - 2
    return steps * latency + steps * nbytes / (size * bandwidth)
""",
    ("cost", "in double precision"): """
def cost(size, nbytes, latency, bandwidth):
    share = (size - 1) / size
    return 2 * (size - 1) * float(latency) + 2 * share * nbytes / float(bandwidth)
""",
    ("wall", "the formula"): """
def wall(params, flops, bandwidth, gradient_bytes, overlap):
    return gradient_bytes * flops / (3 * overlap * bandwidth)
""",
    ("wall", "with parameters that cancel"): """
def wall(params, flops, bandwidth, gradient_bytes, overlap):
    sent = 2 * gradient_bytes * params / bandwidth
    hidden = overlap * 6 * params / flops
    return sent / hidden
""",
    ("wall", "by an equation of one unknown"): """
def wall(params, flops, bandwidth, gradient_bytes, overlap):
    left = 2 * params * gradient_bytes / bandwidth
    for_a_million = float(overlap) * 6 * params * 1e6 / flops
    return 1e6 * left / for_a_million
""",
    ("two-level", "by the collectives of the package"): """
from zerolit.comm import two_level as theirs


def two_level(rank, size, x, cards):
    yield from theirs.all_reduce(rank, size, x, cards)
""",
    ("two-level", "straight to the owner inside, a ring across"): """
from zerolit.comm import Swap


def two_level(rank, size, x, cards):
    node, card = divmod(rank, cards)
    nodes, first = size // cards, node * cards
    part = [slice(c * nodes, (c + 1) * nodes) for c in range(cards)]
    for d in range(1, cards):
        to, frm = (card + d) % cards, (card - d) % cards
        x[part[card]] += yield Swap(x[part[to]], first + to, first + frm, x[part[card]], part[to])
    right, left = (rank + cards) % size, (rank - cards) % size
    for step in range(1, 2 * nodes - 1):
        a = card * nodes + (node - step + 1) % nodes
        b = card * nodes + (node - step) % nodes
        got = yield Swap(x[a], right, left, x[b], a)
        x[b] = x[b] + got if step < nodes else got
    for d in range(1, cards):
        to, frm = (card + d) % cards, (card - d) % cards
        x[part[frm]] = yield Swap(x[part[card]], first + to, first + frm, x[part[frm]], part[card])
""",
    ("two-level", "to the left inside, a ring across"): """
from zerolit.comm import Swap


def two_level(rank, size, x, cards):
    node, card = divmod(rank, cards)
    nodes, first = size // cards, node * cards
    part = [slice(c * nodes, (c + 1) * nodes) for c in range(cards)]
    right, left = first + (card - 1) % cards, first + (card + 1) % cards
    for step in range(1, cards):
        a, b = part[(card + step - 1) % cards], part[(card + step) % cards]
        x[b] += yield Swap(x[a], right, left, x[b], a)
    mine = (card - 1) % cards
    ahead, behind = (rank + cards) % size, (rank - cards) % size
    for step in range(1, 2 * nodes - 1):
        a = mine * nodes + (node - step + 1) % nodes
        b = mine * nodes + (node - step) % nodes
        got = yield Swap(x[a], ahead, behind, x[b], a)
        x[b] = x[b] + got if step < nodes else got
    for step in range(1, cards):
        a, b = part[(mine + step - 1) % cards], part[(mine + step) % cards]
        x[b] = yield Swap(x[a], right, left, x[b], a)
""",
    ("culprit", "from the last that waits"): """
def culprit(reports):
    rank = max(r for r, (doing, _) in enumerate(reports) if doing == "waits")
    while reports[rank][1] is not None:
        rank = reports[rank][1]
    return rank
""",
    ("culprit", "waited for, and does not wait"): """
def culprit(reports):
    waited = {peer for _, peer in reports if peer is not None}
    (rank,) = (r for r in waited if reports[r][0] != "waits")
    return rank
""",
    ("culprit", "by recursion"): """
def culprit(reports):
    def follow(rank):
        doing, peer = reports[rank]
        return follow(peer) if doing == "waits" else rank

    return next(follow(r) for r, (doing, _) in enumerate(reports) if doing == "waits")
""",
    ("mean-loss", "two sums apart"): """
import torch

from zerolit.exercises.given import all_reduce


def mean_loss(rank, size, losses):
    total, tokens = losses.sum().reshape(1), torch.tensor([float(losses.numel())])
    yield from all_reduce(rank, size, total)
    yield from all_reduce(rank, size, tokens)
    return total.item() / tokens.item()
""",
    ("mean-loss", "means weighted by tokens"): """
import torch

from zerolit.exercises.given import all_reduce


def mean_loss(rank, size, losses):
    tokens = torch.tensor([float(len(losses))])
    yield from all_reduce(rank, size, tokens)
    part = (losses / tokens).sum().reshape(1)
    yield from all_reduce(rank, size, part)
    return part
""",
    ("mean-loss", "by a tree"): """
import torch

from zerolit.comm import Chunks, tree


def mean_loss(rank, size, losses):
    both = torch.tensor([losses.sum().item(), len(losses)])
    yield from tree.all_reduce(rank, size, Chunks([both]))
    return (both[0] / both[1]).item()
""",
    ("data-parallel", "divided before the sum"): """
import torch

from zerolit.exercises.given import all_reduce


def data_parallel(rank, size, gradients, tokens):
    count = torch.tensor([float(sum(tokens))])
    yield from all_reduce(rank, size, count)
    total = sum(gradient / count for gradient in gradients)
    yield from all_reduce(rank, size, total)
    return total
""",
    ("data-parallel", "the count travels with the gradient"): """
import torch

from zerolit.exercises.given import all_reduce


def data_parallel(rank, size, gradients, tokens):
    both = torch.cat([sum(gradients), torch.tensor([float(sum(tokens))])])
    yield from all_reduce(rank, size, both)
    return both[:-1] / both[-1]
""",
    ("data-parallel", "by reduce-scatter and all-gather"): """
import torch

from zerolit.exercises.given import all_gather, all_reduce, cut, reduce_scatter


def data_parallel(rank, size, gradients, tokens):
    count = torch.tensor([float(sum(tokens))])
    yield from all_reduce(rank, size, count)
    total = torch.zeros_like(gradients[0])
    for gradient in gradients:
        total += gradient
    mine = yield from reduce_scatter(rank, size, total)
    mine /= count
    yield from all_gather(rank, size, total)
    return total
""",
    ("adamw-slice", "in the order of the paper"): """
def adamw_slice(parameters, gradient, m, v, step, lr, wd, beta1, beta2, eps):
    m[:] = beta1 * m + (1 - beta1) * gradient
    v[:] = beta2 * v + (1 - beta2) * gradient**2
    m_hat, v_hat = m / (1 - beta1**step), v / (1 - beta2**step)
    parameters[:] = parameters - lr * (m_hat / (v_hat**0.5 + eps) + wd * parameters)
""",
    ("adamw-slice", "by lerp"): """
def adamw_slice(parameters, gradient, m, v, step, lr, wd, beta1, beta2, eps):
    parameters *= 1 - lr * wd
    m.lerp_(gradient, 1 - beta1)
    v.lerp_(gradient.square(), 1 - beta2)
    scale = (v / (1 - beta2**step)).sqrt_().add_(eps)
    parameters.addcdiv_(m, scale, value=-lr / (1 - beta1**step))
""",
    ("adamw-slice", "number by number"): """
def adamw_slice(parameters, gradient, m, v, step, lr, wd, beta1, beta2, eps):
    for i, g in enumerate(gradient.tolist()):
        m[i] += (1 - beta1) * (g - m[i])
        v[i] += (1 - beta2) * (g * g - v[i])
        update = m[i] / (1 - beta1**step) / ((v[i] / (1 - beta2**step)) ** 0.5 + eps)
        parameters[i] -= lr * (update + wd * parameters[i])
""",
    ("clip", "norms are gathered"): """
import torch

from zerolit.exercises.given import all_gather


def clip(rank, size, share, max_norm):
    norms = torch.zeros(size)
    norms[rank] = share.norm()
    yield from all_gather(rank, size, norms)
    norm = norms.norm()
    if norm > max_norm:
        share *= max_norm / norm
""",
    ("clip", "by a tree"): """
from zerolit.comm import Chunks, tree


def clip(rank, size, share, max_norm):
    squares = (share * share).sum().reshape(1)
    yield from tree.all_reduce(rank, size, Chunks([squares]))
    share *= min(1.0, max_norm / (squares.item() ** 0.5 + 1e-6))
""",
    ("clip", "as a dot product"): """
import torch

from zerolit.exercises.given import all_reduce


def clip(rank, size, share, max_norm):
    squares = torch.dot(share, share)[None]
    yield from all_reduce(rank, size, squares)
    norm = float(squares) ** 0.5
    share.div_(max(norm / max_norm, 1.0))
""",
    ("zero1", "the skeleton's order, by setdefault"): """
from zerolit.exercises import given
from zerolit.zero import FlatAdamW


def zero1(rank, size, parameters, gradient, kept):
    summed = yield from given.reduce_scatter(rank, size, gradient)
    mine = given.cut(parameters, size)[rank]
    kept.setdefault("optimizer", FlatAdamW(len(mine))).step(mine, summed)
    yield from given.all_gather(rank, size, parameters)
""",
    ("zero1", "AdamW by hand, m and v kept"): """
import torch

from zerolit.comm import Chunks, ring


LR, WD, B1, B2, EPS = 3e-3, 0.1, 0.9, 0.95, 1e-8


def zero1(rank, size, parameters, gradient, kept):
    shards = Chunks(gradient.tensor_split(size))
    yield from ring.reduce_scatter(rank, size, shards, owner=0)
    g, p = shards[rank], parameters.tensor_split(size)[rank]
    if not kept:
        kept.update(m=torch.zeros_like(g), v=torch.zeros_like(g), t=0)
    kept["t"] += 1
    m, v, t = kept["m"], kept["v"], kept["t"]
    p.mul_(1 - LR * WD)
    m.lerp_(g, 1 - B1)
    v.mul_(B2).addcmul_(g, g, value=1 - B2)
    p.addcdiv_(m, (v.sqrt() / (1 - B2**t) ** 0.5).add_(EPS), value=-LR / (1 - B1**t))
    yield from ring.all_gather(rank, size, Chunks(parameters.tensor_split(size)), owner=0)
""",
    ("zero1", "torch's own AdamW on the slice"): """
import torch

from zerolit.exercises.given import all_gather, cut, reduce_scatter


def zero1(rank, size, parameters, gradient, kept):
    if not kept:
        kept["slice"] = torch.nn.Parameter(cut(parameters, size)[rank])
        kept["adamw"] = torch.optim.AdamW([kept["slice"]], 3e-3, (0.9, 0.95), 1e-8, 0.1)
    kept["slice"].grad = yield from reduce_scatter(rank, size, gradient)
    kept["adamw"].step()
    kept["slice"].grad = None
    yield from all_gather(rank, size, parameters)
""",
    ("zero1", "the other way round the ring"): """
from zerolit.comm import Chunks, ring
from zerolit.zero import FlatAdamW


def zero1(rank, size, parameters, gradient, kept):
    shards = Chunks(gradient.tensor_split(size))
    yield from ring.reduce_scatter(rank, size, shards, direction=-1, owner=0)
    mine = parameters.tensor_split(size)[rank]
    if "adamw" not in kept:
        kept["adamw"] = FlatAdamW(len(mine))
    kept["adamw"].step(mine, shards[rank])
    slices = Chunks(parameters.tensor_split(size))
    yield from ring.all_gather(rank, size, slices, direction=-1, owner=0)
""",
    ("zero2", "sums in place, in lists"): """
import torch

from zerolit.exercises import given


def zero2(rank, size, passes):
    sums = []
    for backward in passes:
        for layer, gradient in backward:
            mine = yield from given.reduce_scatter(rank, size, gradient)
            if len(sums) <= layer:
                sums += [None] * (layer + 1 - len(sums))
            sums[layer] = mine + (0 if sums[layer] is None else sums[layer])
    return sums
""",
    ("zero2", "by slots, made at the first layer"): """
import torch

from zerolit.comm import Chunks, ring


def zero2(rank, size, passes):
    kept = {}
    for backward in passes:
        for layer, gradient in backward:
            slices = Chunks(gradient.tensor_split(size))
            yield from ring.reduce_scatter(rank, size, slices, owner=0)
            kept.setdefault(layer, torch.zeros(len(slices[rank]))).add_(slices[rank])
            slices = None
    return [kept[layer] for layer in range(len(kept))]
""",
    ("zero2", "as a hook: one function for each gradient"): """
from zerolit.exercises.given import reduce_scatter


def reduced(rank, size, gradient):
    mine = yield from reduce_scatter(rank, size, gradient)
    return mine.clone()


def zero2(rank, size, passes):
    kept = {}
    for backward in passes:
        while step := next(backward, None):
            mine = yield from reduced(rank, size, step[1])
            kept[step[0]] = mine if step[0] not in kept else kept[step[0]].add_(mine)
            step = None
    return list(dict(sorted(kept.items())).values())
""",
    ("zero3", "the last unit is kept for its backward"): """
import torch

from zerolit.exercises.given import all_gather, cut, reduce_scatter


def zero3(rank, size, n, shares, order, forward, backward):
    grads = [torch.zeros_like(share) for share in shares]
    for layer, unit in enumerate(order):
        whole = None
        whole = torch.zeros(n)
        cut(whole, size)[rank][:] = shares[unit]
        yield from all_gather(rank, size, whole)
        forward(layer, whole)
    for layer in range(len(order) - 1, -1, -1):
        if layer < len(order) - 1:
            cut(whole, size)[rank][:] = shares[order[layer]]
            yield from all_gather(rank, size, whole)
        gradient = backward(layer, whole)
        grads[order[layer]] += yield from reduce_scatter(rank, size, gradient)
        del gradient
    return grads
""",
    ("zero3", "one buffer for all units"): """
import torch

from zerolit.comm import Chunks, ring


def zero3(rank, size, n, shares, order, forward, backward):
    buffer = torch.empty(n)
    slices = Chunks(buffer.tensor_split(size))

    def fill(unit):
        slices[rank].copy_(shares[unit])
        return ring.all_gather(rank, size, slices, owner=0)

    grads = [torch.zeros(len(share)) for share in shares]
    for layer, unit in enumerate(order):
        yield from fill(unit)
        forward(layer, buffer)
    for layer, unit in list(enumerate(order))[::-1]:
        yield from fill(unit)
        parts = Chunks(backward(layer, buffer).tensor_split(size))
        yield from ring.reduce_scatter(rank, size, parts, owner=0)
        grads[unit].add_(parts[rank])
        del parts
    return grads
""",
    ("zero3", "the whole lives in a function of its own"): """
import torch

from zerolit.exercises.given import all_gather, cut, reduce_scatter


def use(rank, size, n, share, function, layer):
    whole = torch.cat([share if r == rank else torch.empty(len(c)) for r, c in
                       enumerate(torch.empty(n).tensor_split(size))])
    yield from all_gather(rank, size, whole)
    return function(layer, whole)


def zero3(rank, size, n, shares, order, forward, backward):
    for layer, unit in enumerate(order):
        yield from use(rank, size, n, shares[unit], forward, layer)
    kept = {}
    for layer, unit in reversed([*enumerate(order)]):
        gradient = yield from use(rank, size, n, shares[unit], backward, layer)
        mine = (yield from reduce_scatter(rank, size, gradient)) + kept.get(unit, 0)
        kept[unit] = mine
        gradient = None
    return [kept[unit] for unit in range(len(shares))]
""",
}
