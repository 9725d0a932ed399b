import torch

from zerolit.exercises.given import all_reduce


def mean_loss(rank, size, losses):
    """The mean of all ranks' losses; `losses` [tokens] are this rank's."""
    both = torch.stack([losses.sum(), torch.tensor(float(len(losses)))])
    yield from all_reduce(rank, size, both)
    total, tokens = both.tolist()
    return total / tokens
