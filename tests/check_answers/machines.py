"""Answers to the exercises that ask for weights, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "lstm_odometer": """
def f(H):
    p = gru_init(np.random.default_rng(0), D=2, H=H)
    p.flat[:] = 0
    below = np.arange(H)
    p.b_r[:] = 40
    p.W_hz[:] = -40.0 * (below[:, None] < below)
    p.b_z[:] = 40.0 * (below - 1)
    p.W_xz[1] = 80
    p.W_hn[:] = -40 * np.eye(H)
    return p
""",
    "mem_latch": """
def f():
    p = gru_init(np.random.default_rng(0), D=2, H=1)
    p.flat[:] = 0
    p.b_r[:], p.b_z[:] = 40, 40
    p.W_xz[1] = -80
    p.W_xn[1] = 20
    return p
""",
    "other_by_hand": """
def f():
    p = stack_rnn_init(np.random.default_rng(0), D=5, H=4, M=2)
    p.flat[:] = 0
    gru, act = p.controller, p.act
    gru.b_z[:], gru.b_r[:] = -40, 40
    gru.W_xn[:4, :2] = 20 * np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]])
    gru.W_xn[:4, 2], gru.W_xn[4, 2] = -20, 20
    gru.W_xn[4, 3], gru.W_hn[2, 3], gru.b_n[3] = 40, 20, -40
    act.W[2, 0] = -40
    act.W[3, 1] = 40
    act.W[0, 2], act.W[1, 3] = 20, 20
    return p
""",
}

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "lstm_odometer": [
        ("-40 * np.eye", "40 * np.eye", "no digit ever turns over"),
        ("below[:, None] < below", "below[:, None] > below", "right if W_hz is transposed"),
        ("p.W_xz[1] = 80", "pass", "b is counted too"),
        ("p.W_xz[1]", "p.W_xz[0]", "counts the b"),
        ("np.arange(H)", "np.arange(H)[::-1]", "the highest digit comes first"),
        ("below = np.arange(H)", "below = 0 * np.arange(H)", "every digit turns over at each a"),
        ("-40.0 *", "40.0 *", "it counts down"),
        ("-40.0 *", "-10.0 *", "digits is wrong"),
        ("np.arange(H)", "np.minimum(np.arange(H), 7)", "wrong with 9 units after"),
        ("def f(H):", "def f(H):\n    H = 3", "D = 2 and H = 4; this one has D = 2 and H = 3"),
        ("H=H)", "H=H, reset_after=True)", "acts before the product"),
        ("return p", "return p.W_hn", "a GRU's parameters"),
    ],
    "mem_latch": [
        ("p.W_xz[1] = -80", "pass", "it never says yes"),
        ("p.W_xn[1] = 20", "p.W_xn[:] = 20; p.b_z[:] = -40", "it says yes from the first step"),
        ("40, 40", "40, -40", "forgets it at the next 0"),
        ("p.W_xn[1] = 20", "p.b_z[:] = -20; p.W_hz[:] = -60; p.W_xz[1] = -100; p.W_xn[0] = 20; p.W_xn[1] = -20",
         "yes and no have changed places"),
        ("p.W_xz[1] = -80\n    p.W_xn[1] = 20", "p.W_xz[0] = -80\n    p.W_xn[0] = 20", "0 and 1 have changed places"),
        ("p.W_xn[1] = 20", "p.W_xn[1] = 20; p.W_hn[:] = -40", "a second 1 takes the yes back"),
        ("p.b_z[:] = 40, 40", "p.b_z[:] = 40, 4", "something leaks"),
        ("return p", "return p.flat", "return a GRU's parameters, made by gru_init; got an array"),
        ("D=2", "D=3", "this one has D = 3"),
        ("H=1", "H=1, convention='write'", "z is kept"),
        ("20\n", "np.inf - np.inf\n", "becomes NaN or infinite"),
    ],
    "other_by_hand": [
        ("40, 20, -40", "40, 0, -20", "popped before it is said"),
        ("act.W[3, 1] = 40", "act.b[1] = -40", "nothing is popped"),
        ("act.W[0, 2], act.W[1, 3]", "act.W[0, 3], act.W[1, 2]", "the two bits of a letter"),
        ("= 20, 20", "= -20, 20", "first bit has the wrong sign"),
        ("= 20, 20", "= 20, -20", "the second bit"),
        ("= 20, 20", "= -20, -20", "both bits"),
        ("act.W[2, 0] = -40", "act.b[0] = 40", "letter 0: is each letter pushed, and nothing at a blank"),
        ("act.W[0, 2], act.W[1, 3] = 20, 20", "act.b[2:] = 20", "letter 3"),
        ("act.W[3, 1] = 40", "act.W[3, 1], act.b[1] = 4, -1", "right for strings of 5 letters, wrong for .*something leaks. A pop must take off"),
        # Letters turned round without a stack are no answer.
        ("def f():", "def f(letters):\n    return letters[::-1]", "TypeError"),
        ("return p", "return lambda letters: letters[::-1]", "made by stack_rnn_init; got a function"),
        ("D=5", "D=6", "they are 6, 4 and 2"),
        ("= 20, 20", "= np.nan, 20", "NaN or infinite"),
    ],
}  # fmt: skip
