"""Answers to the exercises on the GRU, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "gru_step": """
def f(x, h_prev, p):
    r = sigmoid(x @ p.W_xr + h_prev @ p.W_hr + p.b_r)
    z = sigmoid(x @ p.W_xz + h_prev @ p.W_hz + p.b_z)
    n = np.tanh(x @ p.W_xn + (r * h_prev) @ p.W_hn + p.b_n)
    h = z * h_prev + (1 - z) * n
    return h
""",
    "gru_step_backward": """
def f(dh, cache, p):
    x, h_prev, r, _, z, _, n, _ = cache
    h = z * h_prev + (1 - z) * n
    da_z = dh * (h_prev - n) * z * (1 - z)
    da_n = dh * (1 - z) * (1 - n**2)
    dq = da_n @ p.W_hn.T
    da_r = dq * h_prev * r * (1 - r)
    dh_prev = dh * z + da_z @ p.W_hz.T + da_r @ p.W_hr.T + dq * r
    dx = da_r @ p.W_xr.T + da_z @ p.W_xz.T + da_n @ p.W_xn.T
    g = {}
    for k, da in (("r", da_r), ("z", da_z), ("n", da_n)):
        g["W_x" + k] = x.T @ da
        g["W_h" + k] = h_prev.T @ da
        g["b_" + k] = da.sum(axis=0)
    g["W_hn"] = (r * h_prev).T @ da_n
    return dx, dh_prev, g
""",
    "gru_forward": """
def f(xs, h0, p, lengths=None):
    lengths = np.full(xs.shape[1], len(xs)) if lengths is None else lengths
    h, hs = h0, []
    for t in range(len(xs)):
        real = (t < lengths)[:, None]
        new, _ = gru_step(np.where(real, xs[t], 0), h, p)
        h = np.where(real, new, h)
        hs.append(np.where(real, h, 0))
    return np.array(hs), h
""",
    "gru_backward": """
def f(dhs, dh_T, caches, p):
    dh, g, dxs = dh_T, p.zeros_like(dhs.dtype), np.zeros_like(np.array([c.x for c in caches]))
    for t in reversed(range(len(dhs))):
        dxs[t], dh, g_t = gru_step_backward(dh + dhs[t], caches[t], p)
        g.flat[:] += g_t.flat
    return dxs, dh, g
""",
}

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "gru_step": [
        ("z * h_prev + (1 - z) * n", "(1 - z) * h_prev + z * n", "z and 1 − z have changed places"),
        ("(r * h_prev) @ p.W_hn", "r * (h_prev @ p.W_hn)", "acts after the product with W_hn"),
        ("z * h_prev + (1 - z) * n", "r * h_prev + (1 - r) * n", "r stands where z belongs"),
        ("(r * h_prev)", "(z * h_prev)", "z stands where r belongs"),
        ("~r = (.*)\n    z = ", r"z = \1\n    r = ", "r and z have changed places"),
        ("(r * h_prev)", "h_prev", "reset gate is missing"),
        ("(r * h_prev)", "((1 - r) * h_prev)", "1 − r stands where r belongs"),
        ("+ (1 - z) * n", "+ n", "n lacks its share 1 − z"),
        ("= z * h_prev +", "= h_prev +", "h_prev lacks its share z"),
        (" + (1 - z) * n", "", "the candidate is missing from the new state"),
        ("= z * h_prev + ", "= ", "the old state is missing"),
        ("= z * h_prev", "= z * r * h_prev", "the new state uses r"),
        ("~x @ p.W_xn .*", "r * (x @ p.W_xn + h_prev @ p.W_hn + p.b_n))", "multiplies what comes from x as well"),
        ("~= (sigmoid.*b_z\\))", r"= \1.mean(axis=1, keepdims=True)", "^Not yet: z is one number for all units"),
        ("~= sigmoid\\((.*b_r)\\)", r"= sigmoid((\1).sum())", "^Not yet: r is one number for all units"),
        ("~= sigmoid\\((.*b_.)\\)", r"= sigmoid((\1).mean(1, keepdims=True))", "r and z are one number for all units"),
        ("return h", "unused = h", "returns None. Is there a `return`"),
        ("h = z * h_prev + (1 - z) * n", "h = n", "update gate is missing"),
        ("n = np.tanh(", "n = sigmoid(", "σ stands at the candidate"),
        ("sigmoid", "np.tanh", "tanh stands at the gates"),
        ("n = np.tanh(", "n = (", "candidate has no tanh"),
        ("@ p.W_hr", "@ p.W_hr.T", "W_hr is transposed"),
        ("@ p.W_hn", "@ p.W_hn.T", "W_hn is transposed"),
        (" + p.b_z", "", "b_z: missing bias"),
        (r"~ \+ p.b_.", "", "b_r, b_z, b_n: missing bias"),
        ("x @ p.W_xz + ", "", "x is missing from a_z"),
        ("h_prev @ p.W_hz + ", "", "h_prev is missing from a_z"),
        ("= sigmoid(", "= 1 - sigmoid(", "the sign in σ is turned"),
        ("return h", "h_prev *= z; h_prev += (1 - z) * n; return h_prev", "h_prev was changed in place"),
        ("return h", "p.b_r[:] += 1; return h", "^Not yet: p was changed in place"),
        ("return h", "return h.T", r"h must have shape \(3, 4\); it has \(4, 3\)\. It is transposed"),
        ("return h", "return h.sum()", r"h must have shape \(3, 4\); it has \(\)"),
        ("return h", "return h.ravel()", "an axis is kept, dropped or moved"),
        ("return h", "return h / 0", "NaN or infinity"),
        ("return h", "return list", "must be an array of numbers"),
        ("@ p.W_xn", "@ p.W_nx", "stopped with AttributeError in the line `n = .*`: .* has no attribute 'W_nx'"),
        ("@ p.W_xr", "@ p.W_xr.T", "stopped with ValueError in the line `r = sigmoid"),
        ("return h", "return 1.01 * h", r"h is 1\.01 times"),
        ("return h", "return h**2", r"h is wrong: it is .* at \[\d, \d\], and should be"),
        ("sigmoid(", "(", "the gates have no σ"),
        (r"~= sigmoid\((.*)\)", r"= np.clip(0.2 * (\1) + 0.5, 0, 1)", r"a hard sigmoid stands at the gates.* clip\(0\.2 a \+ 0\.5"),
        (r"~= sigmoid\((.*)\)", r"= np.clip((\1) / 6 + 0.5, 0, 1)", r"a hard sigmoid stands at the gates.* clip\(a / 6 \+ 0\.5"),
        (r"~@ p\.W_h(.)", r"@ p.W_h\1.T", "W_hr, W_hz, W_hn are transposed"),
        (" + p.b_r", "", "^Not yet: b_r: missing bias"),
        ("@ p.W_hz", "@ p.W_hz.T", "^Not yet: W_hz is transposed"),
        (" + p.b_n", "", "^Not yet: b_n: missing bias"),
        (r"~h_prev @ p\.W_h. \+ |\(r \* h_prev\) @ p\.W_hn \+ ", "", "h_prev is missing from all three"),
        (r"~x @ p\.W_x. \+ ", "", "x is missing from all three"),
        ("h_prev @ p.W_hr + ", "", "h_prev is missing from a_r"),
        ("x @ p.W_xr + ", "", "x is missing from a_r"),
        ("(r * h_prev) @ p.W_hn + ", "", "h_prev is missing from a_n"),
        ("x @ p.W_xn + ", "", "x is missing from a_n"),
    ],
    "gru_step_backward": [
        ("(h_prev - n)", "(n - h_prev)", "da_z has the wrong sign: ∂h/∂z is h_prev − n"),
        ("da_n = dh * (1 - z)", "da_n = dh * z", "changed places in da_n"),
        ("dh_prev = dh * z", "dh_prev = dh * (1 - z)", "in the direct path of dh_prev"),
        ("(h_prev - n) * z * (1 - z)", "(h_prev - n)", "da_z lacks the slope of σ"),
        ("* r * (1 - r)", "", "da_r lacks the slope of σ"),
        (" * (1 - n**2)", "", "da_n lacks the slope of tanh"),
        ("* z * (1 - z)", "* sigmoid(z) * (1 - sigmoid(z))", r"da_z takes the slope at σ\(z\)"),
        ("* r * (1 - r)", "* sigmoid(r) * (1 - sigmoid(r))", r"da_r takes the slope at σ\(r\)"),
        ("1 - n**2", "1 - np.tanh(n) ** 2", r"da_n takes the slope at tanh\(n\)"),
        (r"~\* ([zr]) \* \(1 - [zr]\)$", r"* sigmoid(\1) * (1 - sigmoid(\1))", "the slopes of the gates are taken at σ"),
        (r"~(?s)z \* \(1 - z\)\n(.*)1 - n\*\*2(.*)r \* \(1 - r\)\n", r"sigmoid(z) * (1 - sigmoid(z))\n\g<1>1 - np.tanh(n) ** 2\2sigmoid(r) * (1 - sigmoid(r))\n", "all slopes are taken of what is squashed already"),
        ("dq * h_prev *", "dq *", "dr lacks its factor h_prev"),
        ("+ dq * r", "+ dq", "lacks its factor r"),
        ("dh_prev = dh * z +", "dh_prev =", "dh_prev lacks a term: dh ⊙ z, the direct path"),
        ("+ da_z @ p.W_hz.T ", "", "dh_prev lacks a term: da_z W_hzᵀ, through the update gate"),
        ("+ da_r @ p.W_hr.T ", "", "dh_prev lacks a term: da_r W_hrᵀ, through the reset gate"),
        ("+ dq * r", "", "dh_prev lacks a term: dq ⊙ r, through the candidate"),
        ("+ dq * r", "- dq * r", "dh_prev has a term with the wrong sign: dq ⊙ r"),
        ("+ da_n @ p.W_xn.T", "", "dx lacks a term: da_n W_xnᵀ"),
        ("da_z @ p.W_hz.T + da_r @ p.W_hr.T", "da_z @ p.W_hz + da_r @ p.W_hr", "W_hrᵀ and W_hzᵀ belong"),
        ("da_n @ p.W_hn.T", "da_n @ p.W_hn", "dq uses W_hn where W_hnᵀ belongs"),
        ("(r * h_prev).T", "h_prev.T", "dW_hn uses h_prev where r ⊙ h_prev"),
        ("= h_prev.T @ da", "= h.T @ da", "dW_hr|dW_h uses h_t"),
        ("da.sum(axis=0)", "da.mean(axis=0)", "db_r is a mean over the batch; it must be the sum"),
        ("da.sum(axis=0)", "da.sum(axis=1)", r"db_r must have shape \(4,\); it has \(3,\)\. .* axis 0, in"),
        ("da.sum(axis=0)", "da", r"db_r must have shape \(4,\); it has \(3, 4\)\. .*sum over the batch"),
        ("x.T @ da", "-x.T @ da", "dW_xr has the wrong sign.*Wrong too: dW_xz, dW_xn"),
        ("= h_prev.T @ da", "= da.T @ h_prev", "dW_hr is transposed"),
        ('g["b_" + k] =', "unused =", "b_r, b_z, b_n missing"),
        ("dx, dh_prev, g", "dx, None, g", "dh_prev is still None"),
        ("dx, dh_prev, g", "dx, dh_prev", "return dx, dh_prev and grads, in this order; got a tuple of 2"),
        ("dx, dh_prev, g", "dx, dh_prev, 3", "grads must be a dict of arrays by name, .*; got a number"),
        ('"r", da_r), ("z", da_z)', '"r", da_z), ("z", da_r)', "dW_xr holds what belongs in dW_xz"),
        (r"~(?s)h_prev - n(.*)dh \* \(1 - z\)(.*)dh_prev = dh \* z", r"h_prev - n\1dh * z\2dh_prev = dh * (1 - z)", "changed places in the backward pass"),
        (r"~ \* z \* \(1 - z\)$| \* r \* \(1 - r\)$| \* \(1 - n\*\*2\)$", "", "the slopes are missing"),
    ],
    "gru_forward": [
        ("0), h, p)", "0), h0, p)", "every step starts from h0"),
        ("h, hs = h0", "h, hs = 0 * h0", "h0 is ignored"),
        ("~np.array\\(hs\\), h$", "np.array(hs)[::-1], h", "hs runs backwards"),
        ("~np.array\\(hs\\), h$", "np.array(hs), hs[0]", "h_T is the first state"),
        ("~np.array\\(hs\\), h$", "np.array([h for _ in hs]), h", "all rows of hs are the last state"),
        ("~np.array\\(hs\\), h$", "np.array([h0, *hs[:-1]]), h", "hs holds h_{t−1} where h_t belongs"),
        ("~np.array\\(hs\\), h$", "np.array(hs).swapaxes(0, 1), h", r"hs must have shape \(5, 3, 4\); it has \(3, 5, 4\)"),
        ("~np.array\\(hs\\), h$", "np.array(hs)", "return hs and h_T, in this order; got an array"),
        (r"~np.array\(hs\), h$", "np.array(hs), hs[-2]", "the state before the last step"),
    ],
    "gru_backward": [
        ("dh + dhs", "(dh if t == len(dhs) - 1 else 0) + dhs", "does not flow back in time"),
        ("dh, g, dxs = dh_T", "dh, g, dxs = 0 * dh_T", "dh_T is left out"),
        ("dh + dhs[t]", "dh + (dhs[t] if t == len(dhs) - 1 else 0)", r"dhs\[t\] is left out"),
        ("g.flat[:] +=", "g.flat[:] =", "those of one step: sum them over time"),
        ("return dxs,", "return dxs[::-1],", "dxs runs backwards"),
    ],
}  # fmt: skip

_WRITE = """
def f(x, h, p):
    r = sigmoid(x @ p.W_xr + h @ p.W_hr)
    z = sigmoid(x @ p.W_xz + h @ p.W_hz)
    n = np.tanh(x @ p.W_xn + (r * h) @ p.W_hn)
    new = (1 - z) * h + z * n
    return new
"""
_AFTER = """
def f(x, h, p):
    r = sigmoid(x @ p.W_xr + h @ p.W_hr + p.b_r)
    z = sigmoid(x @ p.W_xz + h @ p.W_hz + p.b_z)
    n = np.tanh(x @ p.W_xn + p.b_n + r * (h @ p.W_hn + p.b_hn))
    return z * h + (1 - z) * n
"""
# The same for exercises that ask for a variant, by its options: an answer, and what is planted in it.
VARIANTS = {
    ("gru_step", 'convention="write", bias=False'): (_WRITE, [
        ("(1 - z) * h + z * n", "z * h + (1 - z) * n", "z and 1 − z have changed places"),
        ("(r * h) @ p.W_hn", "r * (h @ p.W_hn)", "acts after the product"),
        ("(r * h) @", "h @", "reset gate is missing"),
        ("+ z * n", "+ n", "n lacks its share z"),
        ("~r = (.*)\n    z = ", r"z = \1\n    r = ", "r and z have changed places"),
    ]),
    ("gru_step", "reset_after=True"): (_AFTER, [
        ("r * (h @ p.W_hn + p.b_hn)", "(r * h) @ p.W_hn", "acts before the product"),
        ("r * (h @ p.W_hn + p.b_hn)", "(r * h) @ p.W_hn + p.b_hn", "before the product with W_hn, and b_hn stands outside"),
        ("r * (h @ p.W_hn + p.b_hn)", "(r * h) @ p.W_hn + r * p.b_hn", "before the product with W_hn, and on b_hn by itself"),
        (" + p.b_hn", "", "b_hn: missing bias"),
        ("p.b_n + r * (h @ p.W_hn + p.b_hn)", "p.b_n + p.b_hn + r * (h @ p.W_hn)", "b_hn stands outside"),
        ("z * h + (1 - z) * n", "(1 - z) * h + z * n", "z and 1 − z have changed places"),
        ("p.W_xn + p.b_n", "p.W_xn", "^Not yet: b_n: missing bias"),
        ("np.tanh(x @ p.W_xn + p.b_n + r * (h @ p.W_hn + p.b_hn))", "np.tanh(r * (x @ p.W_xn + p.b_n + h @ p.W_hn + p.b_hn))", "multiplies what comes from x as well"),
    ]),
    ("gru_forward", "lengths=True"): (ANSWERS["gru_forward"], [
        ("np.where(real, new, h)", "new", "must carry the state|h_T is wrong"),
        ("real = (t < lengths)", "real = (t >= 0 * lengths)", r"the padding is read, which holds NaN here. With 0 there: lengths are ignored"),
        ("~(?s)np.where\\(real, xs\\[t\\], 0\\)(.*)np.where\\(real, new, h\\)", r"xs[t]\1new", "the padding is read.* must carry the state; here it goes on"),
        ("np.where(real, h, 0)", "h", "outputs in padding must be zero"),
        ("~np.array\\(hs\\), h$", "np.array(hs), hs[-1]", r"h_T is hs\[-1\]"),
        ("np.where(real, xs[t], 0)", "real * xs[t]", "Right"),
        ("np.where(real, new, h)", "real * new + (1 - real) * h", "Right"),
    ]),
}  # fmt: skip
