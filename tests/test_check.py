"""The checker: a right answer passes, each planted mistake gets its own name.

The answers are short programs as a reader would write them; a mistake is planted by changing a piece of the text.
"""

import linecache
import re

import numpy as np
import pytest

from gru_lib import (
    LSTMState,
    bce_with_logits,
    check,
    gru_forward,
    gru_init,
    gru_step,
    gru_step_backward,
    lstm_step,
    lstm_step_backward,
    sigmoid,
)

GRU_STEP = """
def f(x, h_prev, p):
    r = sigmoid(x @ p.W_xr + h_prev @ p.W_hr + p.b_r)
    z = sigmoid(x @ p.W_xz + h_prev @ p.W_hz + p.b_z)
    n = np.tanh(x @ p.W_xn + (r * h_prev) @ p.W_hn + p.b_n)
    h = z * h_prev + (1 - z) * n
    return h
"""
GRU_BACK = """
def f(dh, cache, p):
    x, h_prev, r, _, z, _, n, _ = cache
    h = z * h_prev + (1 - z) * n
    da_z = dh * (h_prev - n) * z * (1 - z)
    da_n = dh * (1 - z) * (1 - n**2)
    dq = da_n @ p.W_hn.T
    da_r = dq * h_prev * r * (1 - r)
    dh_prev = dh * z + da_z @ p.W_hz.T + da_r @ p.W_hr.T + dq * r
    dx = da_r @ p.W_xr.T + da_z @ p.W_xz.T + da_n @ p.W_xn.T
    g = {}
    for k, da in (("r", da_r), ("z", da_z), ("n", da_n)):
        g["W_x" + k] = x.T @ da
        g["W_h" + k] = h_prev.T @ da if k != "n" else (r * h_prev).T @ da
        g["b_" + k] = da.sum(axis=0)
    return dx, dh_prev, g
"""
GRU_FORWARD = """
def f(xs, h0, p, lengths=None):
    lengths = np.full(xs.shape[1], len(xs)) if lengths is None else lengths
    h, hs = h0, []
    for t in range(len(xs)):
        real = (t < lengths)[:, None]
        new, _ = gru_step(np.where(real, xs[t], 0), h, p)
        h = np.where(real, new, h)
        hs.append(np.where(real, h, 0))
    return np.array(hs), h
"""
GRU_BPTT = """
def f(dhs, dh_T, caches, p):
    dh, g, dxs = dh_T, p.zeros_like(dhs.dtype), np.zeros_like(np.array([c.x for c in caches]))
    for t in reversed(range(len(dhs))):
        dxs[t], dh, g_t = gru_step_backward(dh + dhs[t], caches[t], p)
        g.flat[:] += g_t.flat
    return dxs, dh, g
"""
ELMAN = """
def f(x, h_prev, p):
    return np.tanh(x @ p.W_x + h_prev @ p.W_h + p.b)
"""
ELMAN_BACK = """
def f(dh, cache, p):
    x, h_prev, a, h = cache
    da = dh * (1 - h**2)
    g = p.zeros_like(dh.dtype)
    g.W_x[:], g.W_h[:], g.b[:] = x.T @ da, h_prev.T @ da, da.sum(axis=0)
    return da @ p.W_x.T, da @ p.W_h.T, g
"""
LSTM = """
def f(x, state, p):
    h_prev, c_prev = state
    i = sigmoid(x @ p.W_xi + h_prev @ p.W_hi + p.b_i)
    f = sigmoid(x @ p.W_xf + h_prev @ p.W_hf + p.b_f)
    g = np.tanh(x @ p.W_xg + h_prev @ p.W_hg + p.b_g)
    o = sigmoid(x @ p.W_xo + h_prev @ p.W_ho + p.b_o)
    c = f * c_prev + i * g
    h = o * np.tanh(c)
    return h, c
"""
LSTM_BACK = """
def f(dstate, cache, p):
    dh, dc = dstate
    x, h_prev, c_prev, i, f, g, o, c = cache
    dc = dc + dh * o * (1 - np.tanh(c) ** 2)
    da = {"i": dc * g * i * (1 - i)}
    da["f"] = dc * c_prev * f * (1 - f)
    da["g"] = dc * i * (1 - g**2)
    da["o"] = dh * np.tanh(c) * o * (1 - o)
    grads = {}
    for k, a in da.items():
        grads |= {"W_x" + k: x.T @ a, "W_h" + k: h_prev.T @ a, "b_" + k: a.sum(axis=0)}
    dx = sum(a @ getattr(p, "W_x" + k).T for k, a in da.items())
    dh_prev = sum(a @ getattr(p, "W_h" + k).T for k, a in da.items())
    return dx, (dh_prev, dc * f), grads
"""
SIGMOID = """
def f(a):
    return np.where(a > 0, 1 / (1 + np.exp(-abs(a))), 1 - 1 / (1 + np.exp(-abs(a))))
"""
BCE = """
def f(logits, targets):
    loss = (np.logaddexp(0, logits) - targets * logits).mean()
    return loss, (sigmoid(logits) - targets) / logits.size
"""
SOFTMAX = """
def f(logits, targets):
    rows = np.arange(len(logits))
    a = logits - logits.max(axis=1, keepdims=True)
    log_s = a - np.log(np.exp(a).sum(axis=1, keepdims=True))
    d = np.exp(log_s)
    d[rows, targets] -= 1
    return -log_s[rows, targets].mean(), d / len(logits)
"""
ADAM = """
def f(p, g, m, v, k, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    m_hat, v_hat = m / (1 - beta1**k), v / (1 - beta2**k)
    return p - lr * m_hat / (np.sqrt(v_hat) + eps), m, v
"""
CLIP = """
def f(grads, max_norm):
    norm = np.sqrt(sum((g**2).sum() for g in grads))
    scale = min(1, max_norm / norm) if norm > 0 else 1
    return [g * scale for g in grads]
"""
ANSWERS = {
    "gru_step": GRU_STEP,
    "gru_step_backward": GRU_BACK,
    "gru_forward": GRU_FORWARD,
    "gru_backward": GRU_BPTT,
    "elman_step": ELMAN,
    "elman_step_backward": ELMAN_BACK,
    "lstm_step": LSTM,
    "lstm_step_backward": LSTM_BACK,
    "sigmoid": SIGMOID,
    "bce": BCE,
    "softmax_cross_entropy": SOFTMAX,
    "adam": ADAM,
    "clip": CLIP,
}

# Exercise, what is replaced, by what, and what the message must say.
# ruff: noqa: E501
PLANTED = [
    ("gru_step", "z * h_prev + (1 - z) * n", "(1 - z) * h_prev + z * n", "z and 1 − z have changed places"),
    ("gru_step", "(r * h_prev) @ p.W_hn", "r * (h_prev @ p.W_hn)", "acts after the product with W_hn"),
    ("gru_step", "z * h_prev + (1 - z) * n", "r * h_prev + (1 - r) * n", "r stands where z belongs"),
    ("gru_step", "(r * h_prev)", "(z * h_prev)", "z stands where r belongs"),
    ("gru_step", "~r = (.*)\n    z = ", r"z = \1\n    r = ", "r and z have changed places"),
    ("gru_step", "(r * h_prev)", "h_prev", "reset gate is missing"),
    ("gru_step", "h = z * h_prev + (1 - z) * n", "h = n", "update gate is missing"),
    ("gru_step", "n = np.tanh(", "n = sigmoid(", "σ stands at the candidate"),
    ("gru_step", "sigmoid", "np.tanh", "tanh stands at the gates"),
    ("gru_step", "n = np.tanh(", "n = (", "candidate has no tanh"),
    ("gru_step", "@ p.W_hr", "@ p.W_hr.T", "W_hr is transposed"),
    ("gru_step", "@ p.W_hn", "@ p.W_hn.T", "W_hn is transposed"),
    ("gru_step", " + p.b_z", "", "b_z: missing bias"),
    ("gru_step", r"~ \+ p.b_.", "", "b_r, b_z, b_n: missing bias"),
    ("gru_step", "x @ p.W_xz + ", "", "x is missing from a_z"),
    ("gru_step", "h_prev @ p.W_hz + ", "", "h_prev is missing from a_z"),
    ("gru_step", "= sigmoid(", "= 1 - sigmoid(", "the sign in σ is turned"),
    ("gru_step", "return h", "h_prev *= z; h_prev += (1 - z) * n; return h_prev", "h_prev was changed in place"),
    ("gru_step", "return h", "p.b_r[:] += 1; return h", "^Not yet: p was changed in place"),
    ("gru_step", "return h", "return h.T", r"h must have shape \(3, 4\); it has \(4, 3\)\. It is transposed"),
    ("gru_step", "return h", "return h.sum()", r"h must have shape \(3, 4\); it has \(\)"),
    ("gru_step", "return h", "return h.ravel()", "an axis is kept, dropped or moved"),
    ("gru_step", "return h", "return h / 0", "NaN or infinity"),
    ("gru_step", "return h", "return h.astype(np.float64)", "h is float64 when everything given is float32"),
    ("gru_step", "return h", "return list", "must be an array of numbers"),
    ("gru_step", "@ p.W_xn", "@ p.W_nx", "stopped with AttributeError in the line `n = .*`: GRUParams has no 'W_nx'"),
    ("gru_step", "@ p.W_xr", "@ p.W_xr.T", "stopped with ValueError in the line `r = sigmoid"),
    ("gru_step", "return h", "return 1.01 * h", r"h is 1\.01 times"),
    ("gru_step", "return h", "return h**2", r"h is wrong: it is .* at \[\d, \d\], and should be"),
    ("gru_step_backward", "(h_prev - n)", "(n - h_prev)", "da_z has the wrong sign: ∂h/∂z is h_prev − n"),
    ("gru_step_backward", "da_n = dh * (1 - z)", "da_n = dh * z", "changed places in da_n"),
    ("gru_step_backward", "dh_prev = dh * z", "dh_prev = dh * (1 - z)", "in the direct path of dh_prev"),
    ("gru_step_backward", "(h_prev - n) * z * (1 - z)", "(h_prev - n)", "da_z lacks the slope of σ"),
    ("gru_step_backward", "* r * (1 - r)", "", "da_r lacks the slope of σ"),
    ("gru_step_backward", " * (1 - n**2)", "", "da_n lacks the slope of tanh"),
    ("gru_step_backward", "dq * h_prev *", "dq *", "dr lacks its factor h_prev"),
    ("gru_step_backward", "+ dq * r", "+ dq", "lacks its factor r"),
    ("gru_step_backward", "dh_prev = dh * z +", "dh_prev =", "dh_prev lacks a term: dh ⊙ z, the direct path"),
    ("gru_step_backward", "+ da_z @ p.W_hz.T", "", "dh_prev lacks a term: da_z W_hzᵀ, through the update gate"),
    ("gru_step_backward", "+ da_r @ p.W_hr.T", "", "dh_prev lacks a term: da_r W_hrᵀ, through the reset gate"),
    ("gru_step_backward", "+ dq * r", "", "dh_prev lacks a term: dq ⊙ r, through the candidate"),
    ("gru_step_backward", "+ dq * r", "- dq * r", "dh_prev has a term with the wrong sign: dq ⊙ r"),
    ("gru_step_backward", "+ da_n @ p.W_xn.T", "", "dx lacks a term: da_n W_xnᵀ"),
    ("gru_step_backward", "da_z @ p.W_hz.T + da_r @ p.W_hr.T", "da_z @ p.W_hz + da_r @ p.W_hr", "W_hrᵀ and W_hzᵀ belong"),
    ("gru_step_backward", "da_n @ p.W_hn.T", "da_n @ p.W_hn", "dq uses W_hn where W_hnᵀ belongs"),
    ("gru_step_backward", "(r * h_prev).T", "h_prev.T", "dW_hn uses h_prev where r ⊙ h_prev"),
    ("gru_step_backward", "h_prev.T @ da if", "h.T @ da if", "dW_hr|dW_h uses h_t"),
    ("gru_step_backward", "da.sum(axis=0)", "da.mean(axis=0)", "db_r is a mean over the batch; it must be the sum"),
    ("gru_step_backward", "da.sum(axis=0)", "da.sum(axis=1)", r"db_r must have shape \(4,\); it has \(3,\)\. .* axis 0, in"),
    ("gru_step_backward", "da.sum(axis=0)", "da", r"db_r must have shape \(4,\); it has \(3, 4\)\. .*sum over the batch"),
    ("gru_step_backward", "x.T @ da", "-x.T @ da", "dW_xr has the wrong sign.*Wrong too: dW_xz, dW_xn"),
    ("gru_step_backward", "h_prev.T @ da if", "da.T @ h_prev if", "dW_hr is transposed"),
    ("gru_step_backward", 'g["b_" + k] =', "unused =", "b_r, b_z, b_n missing"),
    ("gru_step_backward", "dx, dh_prev, g", "dx, None, g", "dh_prev is still None"),
    ("gru_step_backward", "dx, dh_prev, g", "dx, dh_prev", "must return dx, dh_prev, grads; it returns 2 things"),
    ("gru_step_backward", "dx, dh_prev, g", "dx, dh_prev, 3", "grads must be a Params .* or a dict; it is a int"),
    ("gru_step_backward", '"r", da_r), ("z", da_z)', '"r", da_z), ("z", da_r)', "dW_xr holds what belongs in dW_xz"),
    ("gru_forward", "0), h, p)", "0), h0, p)", "every step starts from h0"),
    ("gru_forward", "h, hs = h0", "h, hs = 0 * h0", "h0 is ignored"),
    ("gru_forward", "~np.array\\(hs\\), h$", "np.array(hs)[::-1], h", "hs runs backwards"),
    ("gru_forward", "~np.array\\(hs\\), h$", "np.array(hs), hs[0]", "h_T is the first state"),
    ("gru_forward", "~np.array\\(hs\\), h$", "np.array([h for _ in hs]), h", "all rows of hs are the last state"),
    ("gru_forward", "~np.array\\(hs\\), h$", "np.array([h0, *hs[:-1]]), h", "hs holds h_{t−1} where h_t belongs"),
    ("gru_forward", "~np.array\\(hs\\), h$", "np.array(hs).swapaxes(0, 1), h", r"hs must have shape \(5, 3, 4\); it has \(3, 5, 4\)"),
    ("gru_forward", "~np.array\\(hs\\), h$", "np.array(hs)", "must return hs, h_T; it returns one ndarray"),
    ("gru_backward", "dh + dhs", "(dh if t == len(dhs) - 1 else 0) + dhs", "does not flow back in time"),
    ("gru_backward", "dh, g, dxs = dh_T", "dh, g, dxs = 0 * dh_T", "dh_T is left out"),
    ("gru_backward", "dh + dhs[t]", "dh + (dhs[t] if t == len(dhs) - 1 else 0)", r"dhs\[t\] is left out"),
    ("gru_backward", "g.flat[:] +=", "g.flat[:] =", "those of one step: sum them over time"),
    ("gru_backward", "return dxs,", "return dxs[::-1],", "dxs runs backwards"),
    ("elman_step", " + p.b", "", "bias b is missing"),
    ("elman_step", "@ p.W_h", "@ p.W_h.T", "W_h is transposed"),
    ("elman_step", "x @ p.W_x + h_prev @ p.W_h", "np.concatenate([x, h_prev], 1) @ p.W", r"\[x, h_prev\] W stands"),
    ("elman_step", "h_prev @ p.W_h + ", "", "h_prev is missing"),
    ("elman_step", "np.tanh", "sigmoid", "σ stands where tanh belongs"),
    ("elman_step", "np.tanh", "", "there is no tanh"),
    ("elman_step", "np.tanh", "np.tanh(-1) * ", "h is "),
    ("elman_step_backward", " * (1 - h**2)", "", "lacks the slope of tanh"),
    ("elman_step_backward", "1 - h**2", "1 - a**2", "this is 1 − a²"),
    ("elman_step_backward", "1 - h**2", "h * (1 - h)", "slope of σ"),
    ("elman_step_backward", "h_prev.T @ da", "h.T @ da", "dW_h uses h_t where h_{t−1} belongs"),
    ("elman_step_backward", "da @ p.W_h.T", "da @ p.W_h", "dh_prev uses W_h where W_hᵀ belongs"),
    ("lstm_step", "f * c_prev + i * g", "i * c_prev + f * g", "i and f have changed places"),
    ("lstm_step", "f * c_prev + i * g", "c_prev + i * g", "the forget gate is missing"),
    ("lstm_step", "o * np.tanh(c)", "o * c", "h lacks a tanh"),
    ("lstm_step", "o * np.tanh(c)", "np.tanh(c)", "the output gate is missing"),
    ("lstm_step", "return h, c", "return c, h", "h and c have changed places"),
    ("lstm_step", "+ p.b_f", "+ p.b_f + 1", "the forget bias is added again"),
    ("lstm_step", "@ p.W_hg", "@ p.W_hg.T", "W_hg is transposed"),
    ("lstm_step", r"~ \+ p.b_.", "", "b_i, b_f, b_g, b_o: missing bias"),
    ("lstm_step_backward", "dc = dc + dh", "dc = dh", "the dc that comes in is not used"),
    ("lstm_step_backward", "~dc = dc \\+ dh.*", "", "what h sends to c is missing"),
    ("lstm_step_backward", "dh * o * (", "dh * (", "dc lacks the factor o"),
    ("lstm_step_backward", " * (1 - np.tanh(c) ** 2)", "", "slope of tanh at c"),
    ("lstm_step_backward", "dc * c_prev * f", "dc * c * f", "da_f uses c_t where"),
    ("lstm_step_backward", "dh * np.tanh(c) * o", "dh * c * o", "da_o uses c where tanh"),
    ("lstm_step_backward", "dc * g * i", "dc * f * i", "da_i uses f where g belongs"),
    ("lstm_step_backward", r"~ \* [ifo] \* \(1 - [ifo]\)", "", "the gates lack the slope of σ"),
    ("lstm_step_backward", "1 - g**2", "1", "da_g lacks the slope of tanh"),
    ("lstm_step_backward", "(dh_prev, dc * f)", "(dh_prev, dc)", "dc_prev lacks the factor f"),
    ("lstm_step_backward", "(dh_prev, dc * f)", "(dh_prev, dstate[1] * f)", "dc_prev is made of the dc that came in"),
    ("lstm_step_backward", '"W_h" + k).T', '"W_h" + k)', "dh_prev uses W_h where W_hᵀ belongs"),
    ("lstm_step_backward", "a.sum(axis=0)", "a.mean(axis=0)", "db_i"),
    ("lstm_step_backward", "(dh_prev, dc * f)", "dh_prev", "must be the pair \\(dh_prev, dc_prev\\)"),
    ("lstm_step_backward", "dc = dc + dh", "dc += dh", "dstate was changed in place"),
    ("sigmoid", r"~np.where.*", "1 / (1 + np.exp(-a))", "gives a warning: overflow"),
    ("sigmoid", r"~np.where.*", "np.exp(a) / (1 + np.exp(a))", r"must be 0 and 1; they are \[ 0. nan\]: an overflow"),
    ("sigmoid", r"~np.where.*", "1 / (1 + np.exp(a))", "sign in the exponent is turned"),
    ("sigmoid", r"~np.where.*", "np.tanh(a)", "that is tanh"),
    ("bce", ".mean()", ".sum()", "the loss is a sum, though"),
    ("bce", "loss = ", "loss = -", "the loss has the wrong sign"),
    ("bce", " / logits.size", "", "dlogits is not divided by the number of elements"),
    ("bce", r"~\(np.logaddexp.*\).mean", "(-np.log(np.where(targets > 0, sigmoid(logits), 1 - sigmoid(logits)))).mean", "log\\(1 \\+ exp\\(a\\)\\)"),
    ("bce", "loss, (", "loss, -(", "dlogits has the wrong sign"),
    ("bce", "(sigmoid(logits) - targets)", "(sigmoid(logits) - targets) * sigmoid(logits) * sigmoid(-logits)", "slope too many"),
    ("softmax_cross_entropy", " - logits.max(axis=1, keepdims=True)", "", r"exp\(1000\) overflows"),
    ("softmax_cross_entropy", "np.exp(a).sum(axis=1", "np.exp(a).sum(axis=0", "sums over the batch"),
    ("softmax_cross_entropy", "d[rows, targets] -= 1", "pass", "1 must be taken off"),
    ("softmax_cross_entropy", "d / len(logits)", "d", "dlogits is not divided by N"),
    ("adam", r"~/ \(1 - beta.\*\*k\)", "/ 1", "the bias correction is missing"),
    ("adam", "beta1**k", "beta1**(k - 1)", "p is wrong.*Right: m, v"),
    ("adam", r"~\*\*k", "**(k - 1)", "uses k − 1"),
    ("adam", "np.sqrt(v_hat) + eps", "np.sqrt(v_hat + eps)", "eps stands inside the root"),
    ("adam", "np.sqrt(v_hat)", "v_hat", "the root is missing"),
    ("adam", "g**2", "g", "v averages g"),
    ("adam", "p - lr", "p + lr", "goes up the gradient"),
    ("adam", "~m, v$", "m_hat, v_hat", "returned corrected"),
    ("adam", "return", "m_, v_ = m, v; p -= 1; return", "^Not yet: p was changed in place"),
    ("clip", "[g * scale for g in grads]", "[np.clip(g, -max_norm, max_norm) for g in grads]", "clips every value"),
    ("clip", "[g * scale", "[g * min(1, max_norm / np.linalg.norm(g))", "each array is clipped by its own norm"),
    ("clip", "np.sqrt(", "(", "the root is missing"),
    ("clip", "min(1, max_norm / norm)", "max_norm / norm", "below max_norm must stay as it is"),
    ("clip", "min(1, max_norm / norm) if norm > 0 else 1", "min(1, max_norm / float(norm))", "norm 0 divides by 0"),
    ("clip", "~scale = .*", "scale = 1", "nothing is clipped"),
]  # fmt: skip


def program(source, name="answer"):
    """Run the source and return its f. Registering the lines lets a traceback quote them, as in a notebook."""
    space = {"np": np, "sigmoid": sigmoid, "gru_step": gru_step, "gru_step_backward": gru_step_backward}
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), space)
    return space["f"]


def plant(source, old, new):
    """Replace a piece of a program: a literal piece, or after ~ a regular expression."""
    if old.startswith("~"):
        wrong, count = re.subn(old[1:], new, source, flags=re.MULTILINE)
    else:
        wrong, count = source.replace(old, new), source.count(old)
    assert count, "the text to replace is not in the answer"
    return wrong


@pytest.mark.parametrize("name", ANSWERS)
def test_a_right_answer_passes(name):
    result = getattr(check, name)(program(ANSWERS[name]))
    assert result.ok and bool(result)
    assert repr(result) == f"Right: {name} does what the equations say."


@pytest.mark.parametrize(("name", "old", "new", "message"), PLANTED)
def test_a_planted_mistake_is_named(name, old, new, message):
    result = getattr(check, name)(program(plant(ANSWERS[name], old, new)))
    assert not result.ok and not result
    assert re.search(message, repr(result)), repr(result)
    assert "\n" not in repr(result)


def test_every_planted_mistake_of_an_exercise_gets_another_message():
    seen = {}
    for name, old, new, _ in PLANTED:
        message = getattr(check, name)(program(plant(ANSWERS[name], old, new))).message
        assert message not in seen.setdefault(name, set()), message
        seen[name].add(message)
    assert sum(map(len, seen.values())) == len(PLANTED) > 100


@pytest.mark.parametrize("body", ["return None", "return ...", "raise NotImplementedError", "pass"])
@pytest.mark.parametrize("name", ANSWERS)
def test_a_blank_stub_gets_a_kind_sentence(name, body):
    result = getattr(check, name)(program(f"def f(*args, **kwargs):\n    {body}\n"))
    assert not result.ok
    assert "still blank. Take your time" in result.message


def test_a_call_in_place_of_the_function_is_explained():
    assert "give the function itself" in check.sigmoid(np.zeros(3)).message


def library_lstm_step_backward(dstate, cache, p):
    """The library's function, given the cache of its own forward step."""
    return lstm_step_backward(dstate, lstm_step(cache.x, LSTMState(cache.h_prev, cache.c_prev), p)[1], p)


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_the_oracle_agrees_with_the_library_in_every_variant(convention, after, bias):
    """Two programs written apart, one with loops and one with matrices, give the same numbers."""
    options = {"convention": convention, "reset_after": after, "bias": bias}
    for result in (
        check.gru_step(gru_step, **options),
        check.gru_step_backward(gru_step_backward, **options),
        check.gru_forward(gru_forward, **options),
        check.gru_forward(gru_forward, lengths=True, **options),
        check.gru_backward(program(GRU_BPTT), **options),
        check.lstm_step(lstm_step),
        check.lstm_step_backward(library_lstm_step_backward),
        check.bce(bce_with_logits),
        check.sigmoid(sigmoid),
    ):
        assert result.ok, result


def test_the_variant_asked_for_is_the_variant_checked():
    assert "z and 1 − z" in check.gru_step(program(GRU_STEP), convention="write").message
    assert "acts before the product" in check.gru_step(program(GRU_STEP), reset_after=True).message
    with pytest.raises(ValueError, match=r"check\.gru_step: convention must be one of"):
        check.gru_step(gru_step, convention="both")


PADDING = [
    ("np.where(real, new, h)", "new", "must carry the state|h_T is wrong"),
    ("np.where(real, h, 0)", "h", "outputs in padding must be zero"),
    ("~np.array\\(hs\\), h$", "np.array(hs), hs[-1]", r"h_T is hs\[-1\]"),
    ("np.where(real, xs[t], 0)", "real * xs[t]", "Right"),
    ("np.where(real, new, h)", "real * new + (1 - real) * h", "h[sT_]* is float64 when"),
]


@pytest.mark.parametrize(("old", "new", "message"), PADDING)
def test_mistakes_with_padding_are_named(old, new, message):
    result = check.gru_forward(program(plant(GRU_FORWARD, old, new)), lengths=True)
    assert re.search(message, repr(result)), result


def test_nan_in_padding_is_named():
    wrong = (
        GRU_FORWARD.replace("np.where(real, xs[t], 0)", "xs[t]")
        .replace("np.where(real, new, h)", "real * new + (1 - real) * h")
        .replace("np.where(real, h, 0)", "real * h")
    )
    assert "NaN in the padding reaches the result" in check.gru_forward(program(wrong), lengths=True).message


ODD = [
    (),
    [],
    {},
    "text",
    [[1], [2, 3]],
    object(),
    1,
    1j,
    np.nan,
    (None,) * 3,
    ("a", [[1], [2, 3]], {}),
    np.array(["a"]),
    np.zeros(0),
]


@pytest.mark.parametrize("name", ANSWERS)
def test_whatever_comes_back_the_checker_answers(name):
    others = [gru_init(np.random.default_rng(0), 1, 1, bias=False)]
    for value in [*ODD, *((a, a, b) for a in (np.zeros((3, 2)), None) for b in (*others, {}, 3))]:
        result = getattr(check, name)(lambda *_, value=value, **__: value)
        assert not result.ok and result.message and "\n" not in result.message
