from zerolit.exercises.given import all_reduce


def mean_loss(rank, size, losses):
    """The mean of all ranks' losses; `losses` [tokens] are this rank's."""
    mean = losses.mean().reshape(1)
    yield from all_reduce(rank, size, mean)
    return mean.item() / size
