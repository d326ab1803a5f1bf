"""Answers to the exercises on Elman's network, and mistakes planted in them."""

ANSWERS = {
    "elman_step": """
def f(x, h_prev, p):
    return np.tanh(x @ p.W_x + h_prev @ p.W_h + p.b)
""",
    "elman_step_backward": """
def f(dh, cache, p):
    x, h_prev, a, h = cache
    da = dh * (1 - h**2)
    g = p.zeros_like(dh.dtype)
    g.W_x[:], g.W_h[:], g.b[:] = x.T @ da, h_prev.T @ da, da.sum(axis=0)
    return da @ p.W_x.T, da @ p.W_h.T, g
""",
}

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "elman_step": [
        (" + p.b", "", "bias b is missing"),
        ("@ p.W_h", "@ p.W_h.T", "W_h is transposed"),
        ("x @ p.W_x + h_prev @ p.W_h", "np.concatenate([x, h_prev], 1) @ p.W", r"\[x, h_prev\] W stands"),
        ("h_prev @ p.W_h + ", "", "h_prev is missing"),
        ("np.tanh", "sigmoid", "σ stands where tanh belongs"),
        ("np.tanh", "", "there is no tanh"),
        ("np.tanh", "np.tanh(-1) * ", "h is "),
        ("x @ p.W_x + ", "", "^Not yet: x is missing"),
        ("np.tanh(", "-np.tanh(", "the sign is turned"),
        ("np.tanh(", "np.maximum(0, ", "relu stands where tanh"),
    ],
    "elman_step_backward": [
        (" * (1 - h**2)", "", "lacks the slope of tanh"),
        ("1 - h**2", "1 - a**2", "this is 1 − a²"),
        ("1 - h**2", "1 - np.tanh(h) ** 2", r"the slope is taken at tanh\(h\)"),
        ("1 - h**2", "h * (1 - h)", "slope of σ"),
        ("h_prev.T @ da", "h.T @ da", "dW_h uses h_t where h_{t−1} belongs"),
        ("da @ p.W_h.T", "da @ p.W_h", "dh_prev uses W_h where W_hᵀ belongs"),
        ("1 - h**2", "1 - h", r"this is 1 − h\."),
    ],
}  # fmt: skip
