from zerolit.comm import Swap


def reduce_scatter(rank, size, x):
    """Sum each chunk of x over the ranks; return the one you finish."""
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(1, size):
        send, receive = rank, rank  # which chunks?
        x[receive] += yield Swap(x[send], right, left, x[receive], send)
    return rank
