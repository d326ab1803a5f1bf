"""Answers to the exercises on gradient checks, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "bug_direction": """
def f(loss, p, u):
    return loss(p + 1e-30j * u).imag / 1e-30
""",
    "bug_consistent": """
def f(dh, cache, p):
    x, h_prev, r, not_r, z, not_z, n, _ = cache
    da_z = dh * (h_prev - n) * z * not_z
    da_n = dh * not_z * (1 - n**2)
    du = da_n * r
    dr = da_n * (h_prev @ p.W_hn)
    da_r = dr * r * not_r
    dh_prev = dh * z + da_z @ p.W_hz.T + da_r @ p.W_hr.T + du @ p.W_hn.T
    dx = da_r @ p.W_xr.T + da_z @ p.W_xz.T + da_n @ p.W_xn.T
    g = p.zeros_like()
    g.W_xr[:], g.W_xz[:], g.W_xn[:] = x.T @ da_r, x.T @ da_z, x.T @ da_n
    g.W_hr[:], g.W_hz[:], g.W_hn[:] = h_prev.T @ da_r, h_prev.T @ da_z, h_prev.T @ du
    g.b_r[:], g.b_z[:], g.b_n[:] = da_r.sum(0), da_z.sum(0), da_n.sum(0)
    return dx, dh_prev, g
""",
}

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "bug_direction": [
        (" / 1e-30", "", "not divided by ε"),
        (".imag / 1e-30", ".real", "that is the loss itself"),
        ("1e-30j * u)", "1e-30j * u / np.sqrt(u @ u))", "divided by its length"),
        ("1e-30j * u", "1e-30j", "u is not used"),
        ("1e-30j * u", "1e-30j * np.abs(u)", "the signs of u count"),
        ("1e-30j * u", "-1e-30j * u", "has the wrong sign"),
        ("~return .*", "return (loss(p + 1e-5 * u) - loss(p - 1e-5 * u)) / 2e-5", "a difference of two losses"),
        ("~return .*", "return np.sqrt(sum((loss(p + 1e-30j * e).imag / 1e-30) ** 2 for e in np.eye(len(p))))", "the length of the gradient"),
    ],
    "bug_consistent": [
        ("da_n * (h_prev @ p.W_hn)", "(da_n @ p.W_hn.T) * h_prev", "dr is that of the reset before the product"),
        ("dr = da_n", "dr = du", "dr is r times too small"),
        ("du @ p.W_hn.T", "(da_n @ p.W_hn.T) * r", "r stands after the product now"),
        ("du @ p.W_hn.T", "da_n @ p.W_hn.T", "the last term of dh_prev lacks r"),
        ("h_prev.T @ du", "h_prev.T @ da_n", "dW_hn lacks r"),
        ("h_prev.T @ du", "(r * h_prev).T @ da_n", "dW_hn is that of the reset before"),
        ("h_prev.T @ du", "(r * h_prev).T @ du", "dW_hn has r twice"),
        ("return dx, dh_prev, g", "return dx, dh_prev", "return dx, dh_prev and grads, in this order; got a tuple of 2"),
        (r"~(?s)da_n \* \(h_prev @ p.W_hn\)(.*)du @ p.W_hn.T(.*)h_prev.T @ du", r"(da_n @ p.W_hn.T) * h_prev\1(da_n @ p.W_hn.T) * r\2(r * h_prev).T @ da_n", "the backward pass of the reset before the product"),
    ],
}  # fmt: skip
