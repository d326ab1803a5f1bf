"""Answers to the exercises on linear recurrences, and mistakes planted in them."""

ANSWERS = {
    "scan_join": """
def f(z1, w1, z2, w2):
    return z1 * z2, z2 * w1 + w2
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
}  # fmt: skip
