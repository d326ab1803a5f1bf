"""Answers to the exercises on σ and the losses, and mistakes planted in them."""

# ruff: noqa: E501

ANSWERS = {
    "sigmoid": """
def f(a):
    return np.where(a > 0, 1 / (1 + np.exp(-abs(a))), 1 - 1 / (1 + np.exp(-abs(a))))
""",
    "bce": """
def f(logits, targets):
    loss = (np.logaddexp(0, logits) - targets * logits).mean()
    return loss, (sigmoid(logits) - targets) / logits.size
""",
}

# What is replaced, by what, and what the message must say. After ~ comes a regular expression.
PLANTED = {
    "sigmoid": [
        (r"~np.where.*", "1 / (1 + np.exp(-a))", "gives a warning: overflow"),
        (r"~np.where.*", "np.exp(a) / (1 + np.exp(a))", r"must be 0 and 1; they are \[ 0. nan\]"),
        (r"~np.where.*", "1 / (1 + np.exp(-np.clip(a, -30, 30)))", "must be 0 and 1"),
        (r"~np.where.*", "1 / (1 + np.exp(a))", "sign in the exponent is turned"),
        (r"~np.where.*", "np.tanh(a)", "that is tanh"),
        ("~np.where.*", "sigmoid(a) * sigmoid(-a)", "that is the slope"),
        ("~np.where.*", "np.exp(a)", "that is exp"),
        ("~np.where.*", "1 + np.exp(-a)", r"that is 1 \+ exp"),
    ],
    "bce": [
        (".mean()", ".sum()", "the loss is a sum, though"),
        ("loss = ", "loss = -", "the loss has the wrong sign"),
        (" / logits.size", "", "dlogits is not divided by the number of elements"),
        (r"~\(np.logaddexp.*\).mean", "(-np.log(np.where(targets > 0, sigmoid(logits), 1 - sigmoid(logits)))).mean", r"s = 1000 and the target d = 0 .* log\(1 \+ exp\(s\)\)"),
        ("loss, (", "loss, -(", "dlogits has the wrong sign"),
        ("(sigmoid(logits) - targets)", "(sigmoid(logits) - targets) * sigmoid(logits) * sigmoid(-logits)", "slope too many"),
        (r"~(?s)\.mean\(\)(.*) / logits.size", r".sum()\1", "loss and gradient are sums"),
        ("loss = ", "targets = 1 - targets\n    loss = ", "targets 0 and 1 have"),
        ("(np.logaddexp(0, logits) - targets * logits)", "(targets * np.logaddexp(0, -logits))", "lacks the half"),
        (".mean()", ".mean() / np.log(2)", "the loss is in bits"),
        ("(sigmoid(logits) - targets)", "(sigmoid(logits) - targets) / (sigmoid(logits) * sigmoid(-logits))", r"gradient in σ\(s\)"),
    ],
}  # fmt: skip
