from zerolit.exercises.given import reduce_scatter


def zero2(rank, size, passes):
    """The slices of the summed gradients, layer by layer."""
    for backward in passes:  # one micro-batch after the other
        kept = dict(backward)  # the last layer comes first
    slices = []
    for layer in sorted(kept):
        slices.append((yield from reduce_scatter(rank, size, kept[layer])))
    return slices
