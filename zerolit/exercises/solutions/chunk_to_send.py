def chunk_to_send(rank: int, size: int, step: int) -> int:
    """The chunk that `rank` sends in `step` 1, 2, … of the reduce-scatter."""
    return (rank - step + 1) % size  # first its own, then the one before
