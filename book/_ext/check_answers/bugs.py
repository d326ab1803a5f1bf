"""Answers to the exercises on gradient checks, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "bug_direction": """
def f(loss, p, u):
    return loss(p + 1e-30j * u).imag / 1e-30
""",
    "bug_consistent": """
def f(dh, cache, p):
    x, h_prev, r, z, q, n, x_before = cache
    da_z = dh * (x_before - n) * z * (1 - z)
    da_n = dh * (1 - z) * (1 - n**2)
    dq = da_n @ p.W_hn.T
    da_r = dq * h_prev * r * (1 - r)
    dh_prev = da_z @ p.W_hz.T + da_r @ p.W_hr.T + dq * r
    dx = da_r @ p.W_xr.T + da_z @ p.W_xz.T + da_n @ p.W_xn.T
    g = p.zeros_like()
    g.W_xr[:], g.W_xz[:], g.W_xn[:] = x.T @ da_r, x.T @ da_z, x.T @ da_n
    g.W_hr[:], g.W_hz[:], g.W_hn[:] = h_prev.T @ da_r, h_prev.T @ da_z, q.T @ da_n
    g.b_r[:], g.b_z[:], g.b_n[:] = da_r.sum(0), da_z.sum(0), da_n.sum(0)
    return dx, dh_prev, dh * z, g
""",
    "bug_later": """
def f(dhs, caches, p, step_backward):
    dh, dxs, grads = 0, [], p.zeros_like()
    for back in range(len(caches)):
        t = len(caches) - 1 - back
        if back % 2 == 0:
            dh = 0 * dh
        dx, dh, g = step_backward(dhs[t] + dh, caches[t], p)
        dxs.append(dx)
        grads.flat[:] += g.flat
    return np.array(dxs[::-1]), dh, grads
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
        ("~return .*", "return np.sqrt(sum((loss(p + 1e-30j * e).imag / 1e-30) ** 2 for e in np.eye(len(p))))", "the length of the gradient"),
    ],
    "bug_consistent": [
        ("(x_before - n)", "(h_prev - n)", "dz is that of the right GRU"),
        ("dh_prev = ", "dh_prev = dh * z + ", "still has its kept part"),
        ("dh * z, g", "dh * (1 - z), g", "the share 1 − z, which is the candidate's"),
        ("dx = ", "dx = dh * z + ", "is added to dx"),
        ("(x_before - n)", "(n - x_before)", "dz has the wrong sign"),
        ("dx, dh_prev, dh * z, g", "dx, dh_prev, g", "return dx, dh_prev, dx_before and grads, in this order; got a tuple of 3"),
        ("q.T @ da_n", "h_prev.T @ da_n", "dW_hn"),
        (r"~(?s)\(x_before - n\)(.*)dh_prev = ", r"(h_prev - n)\1dh_prev = dh * z + ", "backward pass of the right GRU"),
    ],
    "bug_later": [
        ("dhs[t] + dh", "dhs[t]", "no gradient is carried"),
        ("+= g.flat", "= g.flat", "are those of one step"),
        ("dxs[::-1]", "dxs", "the order of going back"),
        ("if back % 2 == 0:", "if False:", "right at T = 3 too"),
        ("dh, grads", "2 * dh if len(caches) == 1 else dh, grads", "at T = 1 it is wrong"),
    ],
}  # fmt: skip
