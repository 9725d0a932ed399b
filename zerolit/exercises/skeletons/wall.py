def wall(params, flops, bandwidth, gradient_bytes, overlap):
    """Tokens a card needs in each step to hide a ring of very many cards."""
    ring = gradient_bytes * params / bandwidth
    token = 6 * params / flops
    return ring / token
