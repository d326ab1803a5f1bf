"""Answers to the exercises on series with missing readings, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "carried": """
def f(values, seen):
    last, since = np.empty_like(values), np.empty_like(values)
    v, k = 0.0, 0
    for t in range(len(values)):
        v, k = (values[t], 0) if seen[t] else (v, k + 1)
        last[t], since[t] = v, k
    return last, since
""",
    "work_length": """
def f(said, truth):
    return 1 - np.var(said - truth) / np.var(truth)
""",
}

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "carried": [
        ("(values[t], 0)", "(values[t], 1)", "since"),
        ("(values[t], 0)", "(values[t], k)", "start anew at each reading"),
        ("last[t], since[t] = v, k", "last[t], since[t] = v, not seen[t]", "is the mask, or its opposite"),
        ("last[t], since[t] = v, k", "last[t], since[t] = v, t", "steps since the start"),
        ("return last", "return np.where(seen, values, 0)", "missing values are 0"),
        ("return last", "return np.where(seen, values, np.nanmean(values))", "mean of the series"),
        ("return last", "return np.interp(np.arange(len(values)), np.flatnonzero(seen), values[seen])", "draws a line"),
        ("return last", "return np.append(last[0], last[:-1])", "one step late"),
        ("return last", "return values", "NaN"),
        ("return last", "there = np.flatnonzero(seen)\n    last = values[[min((s for s in there if s >= t), default=there[-1]) for t in range(len(values))]]\n    return last", "the reading after it"),
    ],
    "work_length": [
        ("1 - np.var", "np.var", "the share that is left"),
        ("np.var(truth)", "np.var(said)", "variance of what is said; take that of the truth"),
        ("np.var(said - truth) / np.var(truth)", "np.std(said - truth) / np.std(truth)", "that is the root"),
        ("1 - np.var(said - truth) / np.var(truth)", "np.corrcoef(said, truth)[0, 1]", "that is the correlation\\."),
        ("1 - np.var(said - truth) / np.var(truth)", "np.corrcoef(said, truth)[0, 1] ** 2", "forgives a wrong scale"),
        ("1 - np.var(said - truth) / np.var(truth)", "np.var(said) / np.var(truth)", "over that of the truth; take what is left"),
        ("/ np.var(truth)", "", "not divided by the variance"),
        ("np.var(said - truth) / np.var(truth)", "np.var(truth) / np.var(said - truth)", "upside down"),
        ("1 - np.var(said - truth) / np.var(truth)", "np.var(said - truth)", "the variance that is left"),
        ("1 - np.var(said - truth) / np.var(truth)", "np.var(truth) - np.var(said - truth)", "a difference of variances"),
    ],
}  # fmt: skip
