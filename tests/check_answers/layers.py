"""Answers to the exercises on dropout, stacks and both directions, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "drop_candidate": """
def f(x, h_prev, p, m):
    r = sigmoid(x @ p.W_xr + h_prev @ p.W_hr + p.b_r)
    z = sigmoid(x @ p.W_xz + h_prev @ p.W_hz + p.b_z)
    n = np.tanh(x @ p.W_xn + (r * h_prev) @ p.W_hn + p.b_n)
    h = z * h_prev + (1 - z) * m * n
    return h
""",
    "deep_reverse": """
def f(xs, lengths):
    out = xs.copy()
    for n, L in enumerate(lengths):
        out[:L, n] = xs[:L, n][::-1]
    return out
""",
    "deep_causal": """
def f(forward, p, T=6):
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(T, 1, p.D))
    hs = forward(xs, None, p)[0]
    for k in range(1, T):
        changed = xs.copy()
        changed[k:] = rng.normal(size=(T - k, 1, p.D))
        if (forward(changed, None, p)[0][:k] != hs[:k]).any():
            return True
    return False
""",
}

FRESH = "changed[k:] = rng.normal(size=(T - k, 1, p.D))"
CHANGED = f"{FRESH}\n        if (forward(changed, None, p)[0][:k] != hs[:k]).any():"
CLOSE = f"{FRESH}\n        if not np.allclose(forward(changed, None, p)[0][:k], hs[:k], atol=1e-6):"
NANS = "changed[k:] = np.nan\n        if np.isnan(forward(changed, None, p)[0][:k]).any():"

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "drop_candidate": [
        (" * m", "", "the mask is missing"),
        ("(1 - z) * m * n\n", "(1 - z) * n\n    h = h * m\n", "the mask falls on the new state"),
        ("z * h_prev + (1 - z) * m * n", "z * m * h_prev + (1 - z) * n", "falls on what is kept; what is kept"),
        ("~np.tanh\\((.*)\\)\n    h = .*", r"np.tanh(m * (\1))\n    h = z * h_prev + (1 - z) * n", "inside tanh"),
        ("~\\(r \\* h_prev\\)(.*)\n    h = .*", r"(m * r * h_prev)\1\n    h = z * h_prev + (1 - z) * n", "old state in the candidate"),
        ("m * n", "(m > 0) * n", "is used as 0 and 1"),
        ("m * n", "m / (1 - 0.4) * n", "used or scaled twice"),
        ("m * n", "(m == 0) / 0.6 * n", "turned over"),
        ("z * h_prev + (1 - z) * m", "(1 - z) * h_prev + z * m", "z and 1 − z have changed places"),
        ("~(?m:h_prev @ p.W_h([rz]))", r"(m * h_prev) @ p.W_h\1", "the gates see a masked state"),
        ("return h", "unused = h", "Is there a `return`"),
        (r"~(?s)h_prev @ p.W_hr(.*)h_prev @ p.W_hz(.*)\(r \* h_prev\)(.*)m \* n", r"(m * h_prev) @ p.W_hr\1(m * h_prev) @ p.W_hz\2(r * m * h_prev)\3n", "the state that all gates see"),
        ("z * h_prev + (1 - z) * m * n", "m * z * h_prev + (1 - m * z) * n", "the mask falls on z"),
    ],
    "deep_reverse": [
        ("out = xs.copy()", "return xs[::-1]", "the whole of it is reversed"),
        ("out = xs.copy()", "return xs", "nothing is reversed"),
        ("out = xs.copy()", "out = np.zeros_like(xs)", "padding is set to zero"),
        ("xs[:L, n][::-1]", "np.roll(xs[:L, n], 1, axis=0)", "the rows are rotated"),
        ("[:L, n]", "[:max(L - 1, 0), n]", "ends one row early"),
        ("[:L, n]", "[:L + 1, n]", "one row of padding is reversed too"),
        ("[:L, n]", "[1:L, n]", "the first row stays"),
        ("[:L, n]", "[L:, n]", "the padding is reversed, and"),
        ("[:L, n]", "[:lengths[1], n]", "within the length of the second"),
        ("out = xs.copy()", "return xs[:, ::-1]", "the batch is reversed"),
        ("out = xs.copy()", "return xs[:, :, ::-1]", "the features are reversed"),
        ("out = xs.copy()", "out = xs", "xs was changed in place"),
        ("out[:L, n] = xs[:L, n][::-1]", "out[:, n] = np.concatenate([xs[L:, n], xs[:L, n][::-1]])", "moved to the front"),
    ],
    "deep_causal": [
        ("[:k] != hs[:k]", "[:k + 1] != hs[:k + 1]", "an output may depend on the input of its own step"),
        ("range(1, T)", "range(1, 2)", "only the last output but one reads the last input"),
        (FRESH, "changed[-1:] = rng.normal(size=(1, 1, p.D))", "only the first output reads the second input"),
        ("[:k] != hs[:k]", "[:k, ..., 0] != hs[:k, ..., 0]", "for one feature only"),
        (CHANGED, CLOSE, "by a billionth"),
        (CHANGED, NANS, "NaN is not positive"),
        (FRESH, "changed[k:] = np.nan", "0 times NaN"),
        (FRESH, "changed[k:] *= -2", "one factor for all leaves them"),
        ("return True", "return False", "a layer that reads backwards looks ahead"),
        ("return False", "return None", "returns None"),
        ("return False", "return 'no'", "must be an array of numbers"),
    ],
}  # fmt: skip
