"""How an array is cut into chunks: as `numpy.array_split` does, so that p need not divide n."""

import operator


def sizes(length: int, pieces: int) -> list[int]:
    """The lengths of the chunks; the first `length % pieces` are one longer.

    Raises:
        ValueError: a length that is negative or not whole.
    """
    try:
        whole = operator.index(length)
    except TypeError:
        raise ValueError(f"length is {length}; it must be a whole number") from None
    if whole < 0:
        raise ValueError(f"length is {length}; it must be 0 or more")
    each, longer = divmod(whole, pieces)
    return [each + 1] * longer + [each] * (pieces - longer)
