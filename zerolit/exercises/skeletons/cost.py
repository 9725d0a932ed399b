def cost(size, nbytes, latency, bandwidth):
    """Seconds of a ring all-reduce of `nbytes` on `size` cards."""
    return latency + nbytes / bandwidth
