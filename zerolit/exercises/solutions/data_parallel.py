import torch

from zerolit.exercises.given import all_reduce


def data_parallel(rank, size, gradients, tokens):
    """The gradient [n] of the mean loss over the tokens of all ranks."""
    count = torch.tensor([float(sum(tokens))])
    yield from all_reduce(rank, size, count)
    total = torch.stack(gradients).sum(0)  # first here, in memory
    yield from all_reduce(rank, size, total)  # then once over the ranks
    return total / count
