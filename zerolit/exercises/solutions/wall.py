def wall(params, flops, bandwidth, gradient_bytes, overlap):
    """Tokens a card needs in each step to hide a ring of very many cards."""
    ring = 2 * gradient_bytes / bandwidth  # seconds for each parameter
    token = 6 / flops  # seconds for each parameter and token
    return ring / (overlap * token)
