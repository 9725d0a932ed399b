"""The ring as a plain double loop over lists of arrays: what the programs are compared with."""

import numpy as np


def ring_all_reduce(arrays, direction=1, owner=1):
    """Every rank's sum, and nothing shared with the package but the order of summation."""
    p = len(arrays)
    x = [np.array_split(array.reshape(-1).copy(), p) for array in arrays]
    for step in range(1, p):
        sent = [x[r][(r + owner - direction * step) % p].copy() for r in range(p)]
        for r in range(p):
            x[(r + direction) % p][(r + owner - direction * step) % p] += sent[r]
    for step in range(1, p):
        for r in range(p):
            chunk = (r + owner - direction * (step - 1)) % p
            x[(r + direction) % p][chunk] = x[r][chunk].copy()
    return [np.concatenate(row).reshape(arrays[0].shape) for row in x]


def server_all_reduce(arrays):
    """Rank 0's own array, plus the others' in rank order."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return [total] * len(arrays)
