"""Answers to the exercises on the LSTM, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "lstm_step": """
def f(x, state, p):
    h_prev, c_prev = state
    i = sigmoid(x @ p.W_xi + h_prev @ p.W_hi + p.b_i)
    f = sigmoid(x @ p.W_xf + h_prev @ p.W_hf + p.b_f)
    g = np.tanh(x @ p.W_xg + h_prev @ p.W_hg + p.b_g)
    o = sigmoid(x @ p.W_xo + h_prev @ p.W_ho + p.b_o)
    c = f * c_prev + i * g
    h = o * np.tanh(c)
    return h, c
""",
    "lstm_step_backward": """
def f(dstate, cache, p):
    dh, dc = dstate
    x, h_prev, c_prev, i, f, g, o, c = cache
    dc = dc + dh * o * (1 - np.tanh(c) ** 2)
    da = {"i": dc * g * i * (1 - i)}
    da["f"] = dc * c_prev * f * (1 - f)
    da["g"] = dc * i * (1 - g**2)
    da["o"] = dh * np.tanh(c) * o * (1 - o)
    grads = {}
    for k, a in da.items():
        grads |= {"W_x" + k: x.T @ a, "W_h" + k: h_prev.T @ a, "b_" + k: a.sum(axis=0)}
    dx = sum(a @ getattr(p, "W_x" + k).T for k, a in da.items())
    dh_prev = sum(a @ getattr(p, "W_h" + k).T for k, a in da.items())
    return dx, (dh_prev, dc * f), grads
""",
}

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "lstm_step": [
        ("f * c_prev + i * g", "i * c_prev + f * g", "i and f have changed places"),
        ("f * c_prev + i * g", "c_prev + i * g", "the forget gate is missing"),
        ("o * np.tanh(c)", "o * c", "h lacks a tanh"),
        ("o * np.tanh(c)", "np.tanh(c)", "the output gate is missing"),
        ("return h, c", "return c, h", "h and c have changed places"),
        ("+ p.b_f", "+ p.b_f + 1", "the forget bias is added again"),
        ("@ p.W_hg", "@ p.W_hg.T", "W_hg is transposed"),
        (r"~ \+ p.b_.", "", "b_i, b_f, b_g, b_o: missing bias"),
        ("    c = f", "    i, o = o, i\n    c = f", "i and o have changed"),
        ("    c = f", "    f, o = o, f\n    c = f", "f and o have changed"),
        ("+ i * g", "+ g", "the input gate is missing"),
        ("g = np.tanh(", "g = sigmoid(", "σ stands at the candidate"),
        ("sigmoid(", "np.tanh(", "tanh stands at the gates"),
        (r"~@ p\.W_h(.)", r"@ p.W_h\1.T", "W_hi, W_hf, W_hg, W_ho are"),
        ("@ p.W_hi", "@ p.W_hi.T", "^Not yet: W_hi is transposed"),
        ("@ p.W_hf", "@ p.W_hf.T", "^Not yet: W_hf is transposed"),
        ("@ p.W_ho", "@ p.W_ho.T", "^Not yet: W_ho is transposed"),
        (" + p.b_i", "", "^Not yet: b_i: missing bias"),
        (" + p.b_f", "", "^Not yet: b_f: missing bias"),
        (" + p.b_g", "", "^Not yet: b_g: missing bias"),
        (" + p.b_o", "", "^Not yet: b_o: missing bias"),
    ],
    "lstm_step_backward": [
        ("dc = dc + dh", "dc = dh", "the dc that comes in is not used"),
        ("~dc = dc \\+ dh.*", "", "what h sends to c is missing"),
        ("dh * o * (", "dh * (", "dc lacks the factor o"),
        (" * (1 - np.tanh(c) ** 2)", "", "slope of tanh at c"),
        ("dc * c_prev * f", "dc * c * f", "da_f uses c_t where"),
        ("dh * np.tanh(c) * o", "dh * c * o", "da_o uses c where tanh"),
        ("dc * g * i", "dc * f * i", "da_i uses f where g belongs"),
        (r"~ \* [ifo] \* \(1 - [ifo]\)", "", "the gates lack the slope of σ"),
        (r"~\* ([ifo]) \* \(1 - [ifo]\)", r"* sigmoid(\1) * (1 - sigmoid(\1))", "the slopes of the gates are taken at σ"),
        ("1 - g**2", "1 - np.tanh(g) ** 2", "da_g takes the slope at tanh"),
        ("1 - g**2", "1", "da_g lacks the slope of tanh"),
        ("(dh_prev, dc * f)", "(dh_prev, dc)", "dc_prev lacks the factor f"),
        ("(dh_prev, dc * f)", "(dh_prev, dstate[1] * f)", "dc_prev is made of the dc that came in"),
        ('"W_h" + k).T', '"W_h" + k)', "dh_prev uses W_h where W_hᵀ belongs"),
        ("a.sum(axis=0)", "a.mean(axis=0)", "db_i"),
        ("(dh_prev, dc * f)", "dh_prev", "must be the pair \\(dh_prev, dc_prev\\)"),
        ("dc = dc + dh", "dc += dh", "dstate was changed in place"),
    ],
}  # fmt: skip
