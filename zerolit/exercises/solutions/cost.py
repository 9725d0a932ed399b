def cost(size, nbytes, latency, bandwidth):
    """Seconds of a ring all-reduce of `nbytes` on `size` cards."""
    chunk = nbytes / size
    return 2 * (size - 1) * (latency + chunk / bandwidth)
