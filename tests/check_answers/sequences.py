"""Answers to the exercises on models of sequences, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "lm_temperature": """
def f(logits, targets, temperature):
    a = logits / temperature
    a = a - a.max(axis=1, keepdims=True)
    log_p = a - np.log(np.exp(a).sum(axis=1, keepdims=True))
    bits = -log_p[np.arange(len(targets)), targets] / np.log(2)
    return bits.mean()
""",
    "s2s_softmax": """
def f(logits, targets, mask):
    M, V = mask.sum(), logits.shape[-1]
    a = logits - logits.max(axis=-1, keepdims=True)
    log_p = a - np.log(np.exp(a).sum(axis=-1, keepdims=True))
    onehot = np.eye(V, dtype=logits.dtype)[targets]
    loss = -(mask * (log_p * onehot).sum(axis=-1)).sum() / M
    dlogits = mask[:, :, None] * (np.exp(log_p) - onehot) / M
    return loss, dlogits
""",
    "att_backward": """
def f(dc, alpha, s, h):
    dalpha = dc @ h.T
    de = alpha * (dalpha - (alpha * dalpha).sum(axis=1, keepdims=True))
    return de @ h, alpha.T @ dc + de.T @ s
""",
    "beam_safe": """
def f(step, state, start, width, max_steps):
    beam = beam_search(step, state, start, width=width, end=None, max_steps=max_steps)[0].log_prob
    one = greedy(step, state, start, end=None, max_steps=max_steps).log_prob
    return max(float(beam), float(one))
""",
}

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "lm_temperature": [
        ("logits / temperature", "logits * temperature", "multiplied by the temperature"),
        ("logits / temperature", "logits", "temperature is not used"),
        (" / np.log(2)", "", "those are nats"),
        ("/ np.log(2)", "* np.log(2)", "by dividing by ln 2, not by multiplying"),
        ("bits.mean()", "bits.sum()", "that is the sum"),
        ("= -log_p", "= log_p", "the sign is turned"),
        ("bits.mean()", "2 ** bits.mean()", "that is the perplexity"),
        ("a.max(axis=1, keepdims=True)", "a.max()", "overflows"),
        ("/ np.log(2)", "/ np.log(2) ** 2", "once too often"),
        ("bits.mean()", "bits.mean() / len(bits)", "mean divided by N"),
        ("np.exp(a).sum(axis=1", "np.exp(a).sum(axis=0", "bits is"),
        ("bits.mean()", "-np.log2((2**-bits).mean())", "logarithm of the mean probability"),
        ("bits.mean()", "-(np.exp(log_p) * log_p).sum(axis=1).mean() / np.log(2)", "entropy of the predictions"),
        (r"~(?s)logits / temperature(.*)-log_p\[(.*?)\]", r"logits\1-(log_p - np.log(temperature))[\2]", "the probabilities are divided"),
        (r"~(?s)logits / temperature(.*)bits.mean\(\)", r"logits\1bits.mean() / temperature", "the loss is divided by t"),
        ("axis=1", "axis=0", "axis 0; it must run"),
    ],
    "s2s_softmax": [
        ("mask.sum()", "mask.size", "both are divided by T N"),
        ("mask.sum()", "mask.shape[1]", "both are divided by N"),
        (".sum() / M", ".sum() / mask.size", "the loss is divided by T N"),
        ("onehot) / M", "onehot) / mask.size", "dlogits is divided by T N"),
        (" / M", "", "both are sums"),
        ("onehot) / M", "onehot)", "dlogits is not divided by M"),
        ("mask[:, :, None] * ", "", "must be zero in padding"),
        ("(np.exp(log_p) - onehot)", "np.exp(log_p)", "lacks the one-hot"),
        ("(np.exp(log_p) - onehot)", "(onehot - np.exp(log_p))", "wrong sign: softmax"),
        ("-(mask", "(mask", "the loss has the wrong sign"),
        ("axis=-1, keepdims", "axis=0, keepdims", "the softmax runs over time"),
        (" - logits.max(axis=-1, keepdims=True)", "", "overflows"),
        ("~log_p = .*", "log_p = np.log(np.exp(a) / np.exp(a).sum(axis=-1, keepdims=True))", "rounded to 0"),
        ("    M, V", "    mask = 0 * mask + 1\n    M, V", "padding is counted"),
        ("    a = logits", "    mask = 0 * mask + 1\n    a = logits", "padding is in the sum"),
        (").sum() / M", ").sum() / M / np.log(2)", "the loss is in bits"),
    ],
    "att_backward": [
        ("~de = .*", "de = dalpha", "the softmax is left out"),
        ("alpha * (dalpha - (", "1 * (dalpha - (", "lacks α in front"),
        (" - (alpha * dalpha).sum(axis=1, keepdims=True)", "", "lacks the mean"),
        ("(alpha * dalpha).sum", "dalpha.mean", "not weighted"),
        ("dalpha - (", "dalpha + (", "wrong sign: it is subtracted"),
        ("axis=1, keepdims=True", "axis=0", "runs over t"),
        ("~de = .*", "de = alpha * (1 - alpha) * dalpha", "slope of a sigmoid"),
        ("alpha.T @ dc + ", "", "dh lacks a term: through the mean"),
        (" + de.T @ s", "", "dh lacks a term: through the score"),
    ],
    "beam_safe": [
        ("max(float(beam), float(one))", "float(one)", "that is greedy search's, though"),
        ("max(float(beam), float(one))", "float(beam)", "below greedy search: take the larger"),
        ("max(float(beam), float(one))", "float(np.exp(max(beam, one)))", "that is the probability"),
        ("max(float(beam), float(one))", "max(float(beam), float(one)) / max_steps", "divided by the length"),
        ("max(float(beam), float(one))", "-max(float(beam), float(one))", "the sign is turned"),
        ("max(float(beam), float(one))", "float(beam) + float(one)", "together"),
        ("max(float(beam), float(one))", "(float(beam) + float(one)) / 2", "mean of the two"),
        ("max(float(beam), float(one))", "max(float(beam), float(one)) / np.log(2)", "those are bits"),
        ("width=width", "width=2", "not for width 1 and 2"),
        ("max_steps=max_steps", "max_steps=2", "not for width 1 and 1"),
        ("return max(float(beam), float(one))", "best = beam_search(step, state, start, width=width, end=None, max_steps=max_steps)[0]\n    return float(step(state, start)[0][best.tokens[0]])", "the first step alone"),
        ("return max(float(beam), float(one))", "best = beam_search(step, state, start, width=width, end=None, max_steps=max_steps)[0]\n    return float(beam - step(state, start)[0][best.tokens[0]])", "the last step alone"),
    ],
}  # fmt: skip
