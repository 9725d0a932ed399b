from zerolit.exercises.given import all_reduce


def data_parallel(rank, size, gradients, tokens):
    """The gradient [n] of the mean loss over the tokens of all ranks."""
    for gradient in gradients:
        yield from all_reduce(rank, size, gradient)
    return gradients[-1] / size
