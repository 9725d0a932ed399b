def adamw_slice(parameters, gradient, m, v, step, lr, wd, beta1, beta2, eps):
    """Update a slice of parameters, m and v in place; `step` counts from 1."""
    m.mul_(beta1).add_(gradient, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    parameters.mul_(1 - lr * wd)
    parameters.sub_(lr * m / (v.sqrt() + eps))
