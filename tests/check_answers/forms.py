"""Answers to the exercises on other forms of the equations, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
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
        ("~return .*", "return sum(h.T @ da for h, da in zip(hs, das))", "by several products"),
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
