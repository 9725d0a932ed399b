from zerolit.comm import Swap


def broadcast(rank, size, x):
    """Give rank 0's only chunk, x[0], to all, in as few steps as possible."""
    distance = 1
    while distance < size:  # ranks below `distance` have it
        if rank < distance and rank + distance < size:
            yield Swap(x[0], to=rank + distance, chunk=0)
        elif distance <= rank < 2 * distance:
            x[0] = yield Swap(frm=rank - distance, like=x[0])
        distance *= 2
