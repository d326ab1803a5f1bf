"""Answers to the exercises on other forms of the equations, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "bwd_jacobian": """
def f(cache, p):
    _, v, r, not_r, z, not_z, n, _ = (a[0] for a in cache)
    slope_z, slope_r, slope_n = z * not_z, r * not_r, 1 - n**2
    to_z, to_r = np.diag((v - n) * slope_z), np.diag(v * slope_r)
    W_hz, W_hr, W_hn = p.W_hz.T, p.W_hr.T, p.W_hn.T
    to_n = np.diag(not_z * slope_n)
    in_n = W_hn @ np.diag(r)
    return np.diag(z) + to_z @ W_hz + to_n @ W_hn @ to_r @ W_hr + to_n @ in_n
""",
    "conv_columns": """
def f(W_z, H):
    return W_z[:, :H].T, W_z[:, H:].T
""",
    "fast_sum": """
def f(hs, das):
    return hs.reshape(-1, hs.shape[2]).T @ das.reshape(-1, das.shape[2])
""",
    "hwy_only": """
def f(zs):
    return np.diag(zs.prod(axis=0))
""",
}

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "bwd_jacobian": [
        ("np.diag(z) +", "np.diag(1 - z) +", "the direct path is diag"),
        ("np.diag(z) +", "", "J lacks a term: diag"),
        ("(v - n)", "(n - v)", "the sign of h_prev − n is turned"),
        ("slope_z, slope_r, slope_n = z * not_z", "slope_z, slope_r, slope_n = 1", "through the update gate: z ⊙"),
        ("r * not_r,", "1,", "slope of σ is missing from the term through the reset gate"),
        ("= z * not_z", "= sigmoid(z) * sigmoid(-z)", r"the slope is taken at σ\(z\)"),
        ("r * not_r,", "sigmoid(r) * sigmoid(-r),", r"the slope is taken at σ\(r\)"),
        ("1 - n**2", "1 - np.tanh(n) ** 2", r"the slope is taken at tanh\(n\)"),
        ("z * not_z, r * not_r, 1 - n**2", "sigmoid(z) * sigmoid(-z), sigmoid(r) * sigmoid(-r), 1 - np.tanh(n) ** 2", "all slopes are taken of what is squashed already"),
        ("1 - n**2", "1", "the slope of tanh is missing"),
        ("not_z * slope_n", "slope_n", "lacks its share 1 − z"),
        ("np.diag(v * slope_r)", "np.diag(slope_r)", "lacks the factor h_prev"),
        ("W_hn @ np.diag(r)", "W_hn", "the factor r is missing"),
        ("W_hn @ np.diag(r)", "np.diag(r) @ W_hn", "stands after W_hn"),
        ("p.W_hz.T, p.W_hr.T, p.W_hn.T", "p.W_hz, p.W_hr, p.W_hn", "must be transposed"),
        ("to_z @ W_hz + to_n @ W_hn @ to_r @ W_hr", "W_hz @ to_z + to_n @ W_hn @ W_hr @ to_r", "stand on the right"),
        (" + to_n @ W_hn @ to_r @ W_hr", "", "lacks a term: … W_hr"),
        ("~return (.*)", r"return (\1).T", "J is transposed"),
    ],
    "conv_columns": [
        ("W_z[:, :H].T, W_z[:, H:].T", "W_z[:, -H:].T, W_z[:, :-H].T", "x was taken to stand on top"),
        ("W_z[:, :H].T", "W_z[:, :H]", "W_hz is not transposed"),
        ("W_z[:, :H].T", "W_z[:, -H:].T", "W_hz holds the last H"),
        ("W_z[:, H:].T", "W_z[:, :-H].T", "W_xz holds the first D"),
        ("W_z[:, H:].T", "W_z[:, H:].reshape(-1, H)", "do not reshape it"),
        ("W_z[:, H:].T", "W_z[:, H:]", r"W_xz must have shape \(2, 4\); it has \(4, 2\). It is transposed"),
        ("W_z[:, :H].T, W_z[:, H:].T", "W_z[:, :H].T", "return W_hz and W_xz, in this order; got an array of shape"),
        ("W_z[:, :H].T, W_z[:, H:].T", "W_z[:, :H], W_z[:, H:].reshape(-1, H)", "both are reshaped"),
    ],
    "fast_sum": [
        ("~return .*", "return hs[-1].T @ das[-1]", "the last step alone"),
        ("~return .*", "return (hs.transpose(0, 2, 1) @ das).mean(axis=0)", "the mean over the steps"),
        ("hs.reshape(-1", "hs.transpose(1, 0, 2).reshape(-1", "in different orders"),
        ("hs.reshape(-1, hs.shape[2]).T", "hs.reshape(hs.shape[2], -1)", "must be transposed"),
        ("~return .*", "return hs.transpose(0, 2, 1) @ das", "must have shape"),
        ("~return .*", "return hs[0].T @ das[0]", "the first step alone"),
        ("~return .*", "return (hs.transpose(0, 2, 1) @ das).mean(axis=0) / hs.shape[1]", "the mean over steps and sequences"),
        ("~return .*", "return hs[:, 0].T @ das[:, 0]", "the first sequence alone"),
        ("~return .*", "return (hs[:-1].transpose(0, 2, 1) @ das[1:]).sum(axis=0)", "one step behind"),
    ],
    "hwy_only": [
        ("zs.prod", "(1 - zs).prod", "the shares that are written"),
        ("zs.prod", "zs.sum", "the gates of the steps are added"),
        ("zs.prod(axis=0)", "zs[-1]", "the last step alone"),
        ("zs.prod", "zs[1:].prod", "z_1 stands between"),
        ("np.diag(zs.prod(axis=0))", "np.eye(zs.shape[1]) * zs.prod()", "each unit has its own gates"),
        ("np.diag(zs.prod(axis=0))", "np.tile(zs.prod(axis=0), (zs.shape[1], 1))", "beside the diagonal"),
        ("np.diag(zs.prod(axis=0))", "zs.prod(axis=0)", "must have shape"),
        ("zs.prod", "zs.mean", "the mean of the gates"),
        ("zs.prod", "zs[:-1].prod", "z_T stands between"),
        ("np.diag(zs.prod(axis=0))", "np.tile(zs.prod(axis=0), (zs.shape[1], 1)).T", "are swapped too"),
    ],
}  # fmt: skip
