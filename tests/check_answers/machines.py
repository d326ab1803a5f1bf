"""Answers to the exercises that ask for weights, and mistakes planted in them."""

ANSWERS = {
    "mem_latch": """
def f():
    p = gru_init(np.random.default_rng(0), D=2, H=1)
    p.flat[:] = 0
    p.b_r[:], p.b_z[:] = 40, 40
    p.W_xz[1] = -80
    p.W_xn[1] = 20
    return p
""",
    "mem_checksum": """
def f():
    p = gru_init(np.random.default_rng(0), D=4, H=1)
    p.flat[:] = 0
    p.b_r[:], p.b_z[:] = 40, 40
    p.W_xz[1:] = -80
    p.W_hn[:] = -20
    p.W_xn[2], p.W_xn[3] = 20, -20
    return p
""",
}

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "mem_latch": [
        ("p.W_xz[1] = -80", "pass", "it never says yes"),
        ("p.W_xn[1] = 20", "p.W_xn[:] = 20; p.b_z[:] = -40", "it says yes from the first step"),
        ("40, 40", "40, -40", "forgets it at the next 0"),
        ("p.W_xn[1] = 20", "p.b_z[:] = -20; p.W_hz[:] = -60; p.W_xz[1] = -100; p.W_xn[0] = 20; p.W_xn[1] = -20",
         "yes and no have changed places"),
        ("p.W_xz[1] = -80\n    p.W_xn[1] = 20", "p.W_xz[0] = -80\n    p.W_xn[0] = 20", "0 and 1 have changed places"),
        ("p.W_xn[1] = 20", "p.W_xn[1] = 20; p.W_hn[:] = -40", "a second 1 takes the yes back"),
        ("p.b_z[:] = 40, 40", "p.b_z[:] = 40, 4", "something leaks"),
        ("return p", "return p.flat", "must return a GRU's parameters"),
        ("D=2", "D=3", "this one has D = 3"),
        ("H=1", "H=1, convention='write'", "z is kept"),
        ("20\n", "np.inf - np.inf\n", "becomes NaN or infinite"),
    ],
    "mem_checksum": [
        ("20, -20", "-20, 20", "e sets h to 1"),
        ("20, -20", "20, 20", "the claim is not used"),
        ("20, -20", "-20, -20", "the answer is turned round"),
        ("p.W_hn[:] = -20", "p.W_xz[1] = 0", "no 1 changes anything"),
        ("p.W_xz[1:] = -80", "p.W_xz[:] = -80; p.W_hn[:] = -20", "a 0 flips too"),
        ("p.W_xz[1:] = -80", "p.W_xz[:] = -80; p.W_xz[1] = 0", "the zeros are counted"),
        ("p.W_xn[2], p.W_xn[3] = 20, -20", "p.W_hn[:], p.b_n[:] = 0, 20", "always says"),
        ("p.W_xn[2], p.W_xn[3] = 20, -20", "p.W_hn[:], p.b_n[:] = 0, -20", "it never says"),
    ],
}  # fmt: skip
