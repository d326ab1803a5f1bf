"""Answers to the exercises on linear recurrences, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "scan_join": """
def f(z1, w1, z2, w2):
    return z1 * z2, z2 * w1 + w2
""",
    "scan_gradients": """
def f(dhs, z, hs):
    dz, dw = np.empty_like(z), np.empty_like(z)
    later = np.zeros_like(dhs[0])
    for t in reversed(range(len(z))):
        delta = dhs[t] + later
        dz[t], dw[t] = delta * hs[t], delta
        later = z[t] * delta
    return dz, dw, later
""",
}

# What is replaced, by what, and what the message must say.
PLANTED = {
    "scan_join": [
        ("z2 * w1 + w2", "z1 * w2 + w1", "wrong order"),
        ("z2 * w1 + w2", "w1 + w2", "multiplied by z₂"),
        ("z2 * w1 + w2", "z2 * w1", "what step 2 writes is missing"),
        ("z2 * w1 + w2", "w2", "what step 1 writes is missing"),
        ("z2 * w1 + w2", "z2 * (w1 + w2)", "added as it is"),
        ("z2 * w1 + w2", "z1 * z2 * w1 + w2", "it meets z₂ alone"),
        ("z2 * w1 + w2", "z1 * w1 + w2", "w₁ meets z₂, not z₁"),
        ("z1 * z2,", "z1 + z2,", "product, not their sum"),
        ("z1 * z2,", "z2,", "step 1 keeps too"),
        ("z1 * z2,", "z1,", "step 2 keeps too"),
        ("z2 * w1 + w2", "z2 * (1 - z1) * w1 + (1 - z2) * w2", "not multiplied by 1 − z once more"),
        ("z1 * z2, z2 * w1 + w2", "z2 * w1 + w2, z1 * z2", "changed places"),
        ("return", "both =", "Is there a `return`"),
    ],
    "scan_gradients": [
        ("delta = dhs[t] + later", "delta = dhs[t] + z[t] * later", "multiplied by z_t too"),
        ("later = z[t] * delta\n    return dz, dw, later", "later = delta * z[t - 1]\n    return dz, dw, z[0] * dw[0]", "yours takes z_t"),
        ("dhs[t] + later", "dhs[t]", "no gradient comes from the step after"),
        ("later = z[t] * delta\n    return dz, dw, later", "later = delta\n    return dz, dw, z[0] * dw[0]", "without its factor"),
        ("hs[t], delta", "hs[t + 1], delta", "not δ_t h_t"),
        ("delta * hs[t],", "delta,", "the state that z met"),
        ("dw, later", "dw, dw[0]", "passes the first step"),
        ("dw, later", "dw, z[-1] * dw[-1]", "not the last"),
        ("hs[t], delta", "hs[t], z[t] * delta", "added as it is"),
        ("hs[t], delta", "hs[t], (1 - z[t]) * delta", "belongs to n"),
        ("later = z[t] * delta\n    return dz, dw, later", "later = (1 - z[t]) * delta\n    return dz, dw, z[0] * dw[0]", "cut off by 1 − z"),
        ("return dz, dw,", "return dw, dz,", "changed places"),
        (r"~(?s)delta = dhs\[t\] \+ later(.*)later = .*", "delta = z[t] * (dhs[t] + later)\\1later = delta\n    return dz, dw, z[0] * dw[0]", "dh_t is multiplied by z as well"),
        ("~(?s)reversed\\((range.*?)\\):\n(.*)dhs\\[t\\] \\+ later(.*)later = .*", "\\1:\n\\2dhs[t] + z[t] * later\\3later = delta\n    return dz, dw, z[0] * dw[0]", "the loop runs forwards"),
    ],
}  # fmt: skip
