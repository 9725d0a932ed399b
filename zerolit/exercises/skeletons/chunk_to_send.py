def chunk_to_send(rank: int, size: int, step: int) -> int:
    """The chunk that `rank` sends in `step` 1, 2, … of the reduce-scatter."""
    return rank
