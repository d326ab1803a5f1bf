"""Training runs of chapter 16, too long for its page, and the net of its explorer.

Results are stored in ``language_model.json``. To rerun all parts or some, for all seeds or some:

``python tools/environment.py python -m experiments.language_model [PART …] [SEED …] [--missing]``

The part ``net`` trains one GRU as in `cells` and stores its weights, rounded to 8 bits, in
``gru_book/widgets/language-net.json``. Every run has its own seed, so any of them can be repeated alone. The runs of
minutes, `longer`, leave a checkpoint in ``_build`` and go on from there if they were stopped. float32. With
``KERNELS=own`` before it, three seeds of `cells` are made with this processor's own kernels, into
``language_model_own.json``.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from experiments._store import MISSING, chosen, file_for_kernels, fixed_kernels, make, seeded
from gru_book.models.language_model import LMDropout, lm_bits, lm_init, lm_loss
from gru_book.models.ngram import KneserNey
from gru_book.tasks.text import english, streams
from gru_lib import Adam, Bundle, gru_forward, gru_step, train
from gru_lib.ops import log_softmax
from gru_lib.optim import clip_by_global_norm, linear_decay
from gru_lib.train import Chunks, History

STORED = file_for_kernels("language_model")
NET = Path(__file__).resolve().parents[1] / "gru_book" / "widgets" / "language-net.json"
SEEDS = range(5)
D, EPOCHS = 32, 8
H = 192
BEST = 0.004  # the learning rate; "rates" has the others
N, K = 16, 64  # streams side by side, characters per piece
FEW = 10_000  # characters that "short" is measured on
LONG = 40  # epochs with dropout
MASKED = 0.05  # the rate of dropout
ON = (0.05, 0.1, 0.2, 0.4)  # learning rates of a network that learns on
CHECKPOINTS = Path(__file__).resolve().parents[1] / "_build" / STORED.stem

Row = dict[str, Any]
Arrays = tuple[np.ndarray, ...]


@cache
def tokens() -> Arrays:
    """Training, validation and test as tokens."""
    text = english()
    return tuple(text.encode(part) for part in (text.train, text.validation, text.test))


def network(seed: int) -> Bundle:
    """The language model before training."""
    return lm_init(np.random.default_rng(seed), english().V, D, H, dtype=np.float32)


def fit(
    m: Bundle,
    characters: np.ndarray,
    *,
    lr: float = BEST,
    epochs: float = EPOCHS,
    n: int = N,
    k: int = K,
    loss: Callable[..., Any] = lm_loss,
    clip_norm: float | None = 1.0,
    evaluate: Callable[[Any], dict[str, float]] | None = None,
    every: int = 1,
    **kept: Any,
) -> History:
    """Train `m` in place with a learning rate that falls linearly to 0; evaluate every few epochs.

    `kept` is `train`'s `checkpoint` and `rng`.
    """
    chunks = Chunks(*streams(characters, n), k)
    epoch = -(-len(chunks.xs) // k)
    steps = max(1, round(epochs * epoch))
    return train(
        m,
        loss,
        chunks,
        Adam(m, lr),
        steps=steps,
        clip_norm=clip_norm,
        schedule=linear_decay(lr, steps),
        evaluate=evaluate,
        every=every * epoch,
        progress=False,
        **kept,
    )


def cells(lr: float, seed: int, epochs: float = EPOCHS) -> Row:
    """Bits per character of the validation text after each epoch, and of the test text at the end."""
    m = network(seed)
    training, validation, test = tokens()
    history = fit(m, training, lr=lr, epochs=epochs, evaluate=lambda p: {"bits": lm_bits(p, validation)})
    return {"curve": history.curve("bits")[1], "test": lm_bits(m, test)}


def longer(rate: float, epochs: int, seed: int, lr: float = BEST) -> Row:
    """The same network with variational dropout, for more epochs; the bits are read every second."""
    m = network(seed)
    training, validation, test = tokens()
    rng = np.random.default_rng(1000 + seed)
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    checkpoint = CHECKPOINTS / f"longer-{rate}-{epochs}-{lr}-{seed}.npz"
    history = fit(
        m,
        training,
        lr=lr,
        epochs=epochs,
        loss=partial(lm_loss, dropout=LMDropout(rng, rate, "variational") if rate else None),
        evaluate=lambda p: {"bits": lm_bits(p, validation)},
        every=2,
        checkpoint=checkpoint,
        rng=rng,
    )
    checkpoint.unlink()
    return {"curve": history.curve("bits")[1], "test": lm_bits(m, test)}


def short(seed: int) -> Row:
    """A quarter of an epoch: short enough for a test to repeat."""
    m = network(seed)
    training, validation, _ = tokens()
    fit(m, training, epochs=0.25)
    return {"validation": lm_bits(m, validation[:FEW])}


def reads_on(m: Bundle, characters: np.ndarray, rate: float) -> float:
    """Bits per character of a text read in one stream, where `m` learns from each piece once it has predicted it."""
    m, nats = m.copy(), 0.0
    xs, ys = streams(characters, 1)
    for _, piece in zip(range(0, len(xs), K), Chunks(xs, ys, K), strict=False):
        loss, grads = lm_loss(m, piece)
        nats += float(loss) * len(piece.xs)
        clip_by_global_norm(grads, 1.0)
        m.flat -= np.float32(rate) * grads.flat
    return nats / len(xs) / float(np.log(2))


def adapting(masked: float, epochs: int, seed: int) -> Row:
    """The network reads the test text frozen, and learning on at the rate that is the best in validation."""
    m, rng = network(seed), np.random.default_rng(1000 + seed)
    training, validation, test = tokens()
    dropout = LMDropout(rng, masked, "variational") if masked else None
    fit(m, training, epochs=epochs, loss=partial(lm_loss, dropout=dropout))
    tried = [reads_on(m, validation, rate) for rate in ON]
    best = ON[int(np.argmin(tried))]
    return {"validation": tried, "rate": best, "frozen": reads_on(m, test, 0), "adapting": reads_on(m, test, best)}


def counting(order: int, every: int, seed: int) -> Row:
    """Kneser–Ney reads the test text frozen, and counting what it has read, anew after every so many characters."""
    training, _, test = tokens()
    costs = []
    for start in range(0, len(test), every):
        counts = KneserNey(np.concatenate((training, test[:start])), order, english().V)
        begin = max(0, start - order + 1)
        costs.append(-np.log2(counts.probabilities(test[begin : start + every])[start - begin :]))
    on = np.concatenate(costs)[1:].mean()  # the network does not predict the first
    frozen = KneserNey(training, order, english().V).probabilities(test)[1:]
    return {"frozen": -np.log2(frozen).mean(), "adapting": on}


def line_ends(s: str) -> np.ndarray:
    """Where a text ends a line of at least 48 characters."""
    return np.array([c == "\n" and i - s.rfind("\n", 0, i) > 48 for i, c in enumerate(s)])


def held(units: list[int], rows: int = 16, length: int = 1000) -> list[float]:
    """By how many bits line ends cost more if a unit of the explorer's net is held at its mean, for each of some units.

    The mean is that of the first half of the validation text, the bits are those of the second, read in `rows` rows.
    """
    from gru_book.widgets.language import trained as stored_net

    net, text = stored_net().astype(np.float32), english()
    row = text.encode(text.validation)
    half = len(row) // 2
    mean = gru_forward(net.embed.E[row[:half], None], None, net.rnn)[0][:, 0].mean(axis=0)
    part = slice(half, half + rows * length)
    read = row[part].reshape(rows, length).T
    ends = line_ends(text.validation)[part].reshape(rows, length).T[1:]

    def bits(which: list[int]) -> float:
        h, costs = np.zeros((rows, net.rnn.H), np.float32), []
        for now, after in pairwise(read):
            h, _ = gru_step(net.embed.E[now], h, net.rnn)
            h[:, which] = mean[which]
            costs.append(-log_softmax(h @ net.out.W + net.out.b)[np.arange(rows), after] / np.log(2))
        return float(np.array(costs)[ends].mean())

    free = bits([])
    return [bits([unit]) - free for unit in units]


def held_alone(seed: int) -> Row:
    """Each unit held alone."""
    return {"line end": held(list(range(H)))}


PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]] = {
    "cells": (cells, ((BEST,),), SEEDS),
    "rates": (cells, ((0.002,), (0.008,)), range(1)),
    "longer": (longer, ((MASKED, LONG),), range(3)),
    "adapting": (adapting, ((0, EPOCHS),), range(3)),
    "counting": (counting, ((12, 256),), range(1)),
    "short": (short, ((),), range(1)),
    "held": (held_alone, ((),), range(1)),
}
if not fixed_kernels():  # what chooses nothing
    PARTS = {"cells": (*PARTS["cells"][:2], range(3))}


# --------------------------------------------------------------------------------------------- the explorer's net


def rounded(W: np.ndarray) -> Row:
    """A matrix as 8-bit integers times one scale for each column."""
    W = W.astype(np.float64)
    scale = np.array([float(f"{s:.6g}") for s in np.abs(W).max(axis=0) / 127])
    whole = np.clip(np.rint(W / scale), -127, 127).astype(np.int8)
    return {"shape": list(W.shape), "scale": scale.tolist(), "data": base64.b64encode(whole.tobytes()).decode()}


def store_net(seed: int = 0, epochs: float = EPOCHS) -> None:
    """Train a GRU, round its weights, and store them."""
    m = network(seed)
    training, validation, _ = tokens()
    fit(m, training, epochs=epochs)
    arrays = {
        name: rounded(a) if a.ndim == 2 else {"shape": list(a.shape), "values": [float(f"{v:.5g}") for v in a]}
        for name, a in m.items()
    }
    origin = "python tools/environment.py python -m experiments.language_model net"
    net = {"origin": origin, "seed": seed, "V": english().V, "D": D, "H": H}
    net |= {"vocabulary": english().vocabulary, "bits": {}, "arrays": arrays}
    from gru_book.widgets.language import read_net

    bits = {"float32": lm_bits(m, validation), "8 bits": lm_bits(read_net(net).astype(np.float32), validation)}
    net["bits"] = {name: round(value, 4) for name, value in bits.items()}
    NET.write_text(json.dumps(net, ensure_ascii=False, separators=(",", ":")) + "\n", "utf8")
    print(f"net: {net['bits']}, {NET.stat().st_size} bytes", flush=True)


def main(asked: list[str]) -> None:
    """Run the named parts, or all, with the given seeds, or all, and store them; --missing, what is not stored yet."""
    missing, asked = MISSING in asked, [word for word in asked if word != MISSING]
    only = {int(word) for word in asked if word.isdigit()}
    known = [*PARTS, "net"] if fixed_kernels() else PARTS  # the explorer's net is of one set of kernels
    for part in chosen([word for word in asked if not word.isdigit()], known):
        if part == "net":
            store_net()
            continue
        run, settings, seeds = PARTS[part]
        picked = seeded(settings, [seed for seed in seeds if not only or seed in only])
        make(STORED, part, run, seeded(settings, seeds), picked, missing=missing)


if __name__ == "__main__":
    main(sys.argv[1:])
