"""How an array is cut into chunks: as `numpy.array_split` does, so that p need not divide n."""

import operator


def sizes(nbytes: int, pieces: int) -> list[int]:
    """The sizes of the chunks; the first `nbytes % pieces` are one byte longer.

    Raises:
        ValueError: a size that is negative or not whole.
    """
    try:
        whole = operator.index(nbytes)
    except TypeError:
        raise ValueError(f"nbytes is {nbytes}; it must be a whole number") from None
    if whole < 0:
        raise ValueError(f"nbytes is {nbytes}; it must be 0 or more")
    each, longer = divmod(whole, pieces)
    return [each + 1] * longer + [each] * (pieces - longer)
