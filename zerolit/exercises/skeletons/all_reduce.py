def all_reduce(rank, size, x):
    """Sum every chunk over the ranks, on every rank."""
    yield from reduce_scatter(rank, size, x)
