"""Answers to the exercises on the steps of training, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "adam": """
def f(p, g, m, v, k, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    m_hat, v_hat = m / (1 - beta1**k), v / (1 - beta2**k)
    return p - lr * m_hat / (np.sqrt(v_hat) + eps), m, v
""",
    "clip": """
def f(grads, max_norm):
    norm = np.sqrt(sum((g**2).sum() for g in grads))
    scale = min(1, max_norm / norm) if norm > 0 else 1
    return [g * scale for g in grads]
""",
}

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "adam": [
        (r"~/ \(1 - beta.\*\*k\)", "/ 1", "the bias correction is missing"),
        ("beta1**k", "beta1**(k - 1)", "p is wrong.*Right: m, v"),
        (r"~\*\*k", "**(k - 1)", "uses k − 1"),
        ("np.sqrt(v_hat) + eps", "np.sqrt(v_hat + eps)", "eps stands inside the root"),
        ("np.sqrt(v_hat)", "v_hat", "the root is missing"),
        ("g**2", "g", "v averages g"),
        ("p - lr", "p + lr", "goes up the gradient"),
        ("~m, v$", "m_hat, v_hat", "returned corrected"),
        ("return", "m_, v_ = m, v; p -= 1; return", "^Not yet: p was changed in place"),
        ("m / (1 - beta1**k)", "m", "m̂ is not corrected"),
        ("v / (1 - beta2**k)", "v", "v̂ is not corrected"),
        (r"~\*\*k", "**(k + 1)", r"uses k \+ 1"),
        (r"~\*\*k", "", "uses 1 − β where"),
        ("    m = beta1", "    beta1, beta2 = beta2, beta1\n    m = beta1", "β1 and β2 have"),
        ("    m = beta1", "    beta1, beta2 = 1 - beta1, 1 - beta2\n    m = beta1", "β and 1 − β have"),
    ],
    "clip": [
        ("[g * scale for g in grads]", "[np.clip(g, -max_norm, max_norm) for g in grads]", "clips every value"),
        ("[g * scale", "[g * min(1, max_norm / np.linalg.norm(g))", "each array is clipped by its own norm"),
        ("np.sqrt(", "(", "the root is missing"),
        ("min(1, max_norm / norm)", "max_norm / norm", "below max_norm must stay as it is"),
        ("min(1, max_norm / norm) if norm > 0 else 1", "min(1, max_norm / float(norm))", "norm 0 divides by 0"),
        ("~scale = .*", "scale = 1", "nothing is clipped"),
        ("np.sqrt(sum((g**2).sum() for g in grads))", "sum(np.abs(g).sum() for g in grads)", r"the norm is Σ\|g\|"),
        ("np.sqrt(sum((g**2).sum() for g in grads))", "np.sqrt(sum((g**2).sum() for g in grads) / sum(g.size for g in grads))", "a root of the mean"),
        ("min(1, max_norm / norm)", "1 / norm", "scaled to norm 1"),
        ("min(1, max_norm / norm)", "norm / max_norm", "is turned over"),
    ],
}  # fmt: skip
