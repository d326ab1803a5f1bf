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
from gru_book.models.language_model import LMDropout, lm_bits, lm_init, lm_logits, lm_loss
from gru_book.models.ngram import KneserNey
from gru_book.tasks.text import english, streams
from gru_lib import Adam, Bundle, elman_init, gru_forward, gru_init, gru_step, train
from gru_lib.ops import log_softmax
from gru_lib.optim import linear_decay
from gru_lib.train import Chunk, Chunks, History

STORED = file_for_kernels("language_model")
NET = Path(__file__).resolve().parents[1] / "gru_book" / "widgets" / "language-net.json"
SEEDS = range(5)
D, EPOCHS = 32, 8
UNITS = {"GRU": 192, "Elman": 340}  # about as many parameters: 143,325 and 149,573
BEST = 0.004  # the learning rate that was best for both; "rates" has the others
N, K = 16, 64  # streams side by side, characters per piece
FEW = 10_000  # characters that "short" is measured on
LONG = 40  # epochs with dropout
MASKED = 0.05  # the rate of dropout
HIGHEST = 12  # order of the Kneser–Ney model; the next ones gain less than 0.001 bits
BLOCK = 1000  # characters: the differences of blocks are taken as independent
CHECKPOINTS = Path(__file__).resolve().parents[1] / "_build" / STORED.stem

Row = dict[str, Any]
Arrays = tuple[np.ndarray, ...]


@cache
def tokens() -> Arrays:
    """Training, validation and test as tokens."""
    text = english()
    return tuple(text.encode(part) for part in (text.train, text.validation, text.test))


def network(rng: np.random.Generator, cell: str) -> Bundle:
    """A language model around a GRU or an Elman net."""
    init: Callable[..., Any] = gru_init if cell == "GRU" else elman_init
    return lm_init(rng, english().V, D, UNITS[cell], init=init, dtype=np.float32)


def cut_every(length: int, state: str = "carried") -> Callable[[Bundle, Chunk], tuple[Any, Bundle]]:
    """`lm_loss` of a chunk with the gradient cut every `length` characters; with state "zero", the state as well."""

    def loss(p: Bundle, chunk: Chunk) -> tuple[Any, Bundle]:
        states, parts = [chunk.state], []
        for start in range(0, len(chunk.xs), length):
            xs, ys = (tokens[start : start + length] for tokens in (chunk.xs, chunk.ys))
            begin = states[-1] if state == "carried" else None
            parts.append((len(xs) / len(chunk.xs), *lm_loss(p, Chunk(xs, ys, begin, states.append))))
        chunk.carry(states[-1])
        grads = parts[0][2]
        grads.flat[:] = sum(share * part.flat for share, _, part in parts)
        return sum(share * nats for share, nats, _ in parts), grads

    return loss


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


def cells(cell: str, lr: float, seed: int, epochs: float = EPOCHS) -> Row:
    """Bits per character on validation after each epoch, and on all three parts at the end."""
    m = network(np.random.default_rng(seed), cell)
    training, validation, test = tokens()
    history = fit(m, training, lr=lr, epochs=epochs, evaluate=lambda p: {"bits": lm_bits(p, validation)})
    return {
        "curve": history.curve("bits")[1],
        "validation": history.last("bits"),
        "training": lm_bits(m, training[: len(validation)]),
        "test": lm_bits(m, test),
    }


@cache
def counted() -> KneserNey:
    """The n-gram model beside which `longer` stands."""
    return KneserNey(tokens()[0], HIGHEST, english().V)


def probabilities(m: Bundle, row: np.ndarray) -> np.ndarray:
    """Of each token of a row but the first, all read in one stream."""
    xs, ys = streams(row, 1)
    parts, state = [], None
    for start in range(0, len(xs), 1000):
        logits, state = lm_logits(m, xs[start : start + 1000], state)
        parts.append(np.take_along_axis(log_softmax(logits.astype(float)), ys[start : start + 1000, :, None], axis=2))
    return np.exp(np.concatenate(parts))[:, 0, 0]


def longer(rate: float, epochs: int, seed: int, lr: float = BEST) -> Row:
    """A GRU with variational dropout beside Kneser–Ney, and both mixed.

    The weight of the GRU in the mixture is chosen on validation. "ahead" is by how many bits it is better than
    Kneser–Ney on the test text, and the standard error of that over its blocks.
    """
    m = network(np.random.default_rng(seed), "GRU")
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
    steps, curve = history.curve("bits")
    p = {part: probabilities(m, row) for part, row in (("validation", validation), ("test", test))}
    q = {part: counted().probabilities(row)[1:] for part, row in (("validation", validation), ("test", test))}
    mixed = {
        weight: -np.log2(weight * p["validation"] + (1 - weight) * q["validation"]).mean()
        for weight in np.linspace(0, 1, 21).round(2).tolist()
    }
    weight = min(mixed, key=mixed.__getitem__)
    gain = np.log2(p["test"] / q["test"])
    blocks = gain[: len(gain) // BLOCK * BLOCK].reshape(-1, BLOCK).mean(axis=1)
    row = {
        "epochs": [round(2 * step / steps[0]) for step in steps],
        "curve": curve,
        "validation": curve[-1],
        "training": lm_bits(m, training[: len(validation)]),
        "test": lm_bits(m, test),
        "weight": weight,
        "mixed": [mixed[weight], -np.log2(weight * p["test"] + (1 - weight) * q["test"]).mean()],
        "ahead": [blocks.mean(), blocks.std(ddof=1) / len(blocks) ** 0.5],
    }
    checkpoint.unlink()
    return row


def short(cell: str, seed: int) -> Row:
    """A quarter of an epoch: short enough for a test to repeat."""
    m = network(np.random.default_rng(seed), cell)
    training, validation, _ = tokens()
    fit(m, training, epochs=0.25)
    return {"validation": lm_bits(m, validation[:FEW])}


def forgetful_bits(m: Bundle, row: np.ndarray, length: int) -> float:
    """Bits per character of a row if the state is set to zero every `length` characters."""
    xs, ys = (part[: len(part) // length * length].reshape(-1, length).T for part in (row[:-1], row[1:]))
    log_p = log_softmax(lm_logits(m, xs)[0].astype(float))
    return float(-np.take_along_axis(log_p, ys[..., None], axis=2).mean() / np.log(2))


def trained(length: int, state: str, seed: int, epochs: float = EPOCHS) -> Row:
    """As `cells`, the gradient cut every `length` characters within the pieces of 64; same start, same updates.

    The bits are read with the state carried; with state "zero", "as trained" are those with zeros as in training.
    """
    m = network(np.random.default_rng(seed), "GRU")
    training, validation, _ = tokens()
    loss = cut_every(length, state)
    history = fit(m, training, epochs=epochs, loss=loss, evaluate=lambda p: {"bits": lm_bits(p, validation)})
    row = {"curve": history.curve("bits")[1], "validation": history.last("bits")}
    return row | ({"as trained": forgetful_bits(m, validation, length)} if state == "zero" else {})


def mixed(p: Arrays, q: Arrays) -> list[float]:
    """Weight of the first, chosen on validation, and bits on validation and test, of a mixture of two."""
    bits = {
        weight: [-np.log2(weight * a + (1 - weight) * b).mean() for a, b in zip(p, q, strict=True)]
        for weight in np.linspace(0, 1, 21).round(2).tolist()
    }
    weight = min(bits, key=lambda w: bits[w][0])
    return [weight, *bits[weight]]


def events(s: str) -> dict[str, np.ndarray]:
    """Where a text has a question mark, and where it ends a line of at least 48 characters."""
    column, found = 0, {"question mark": np.array([c == "?" for c in s]), "line end": np.zeros(len(s), bool)}
    for i, c in enumerate(s):
        found["line end"][i] = c == "\n" and column >= 48
        column = 0 if c == "\n" else column + 1
    return found


def held(units: list[list[int]], rows: int = 16, length: int = 1000) -> list[Row]:
    """What holding units of the explorer's net at their mean costs, in bits: for each list of units, by event.

    The mean is that of the first half of the validation text, the bits are those of the second, read in `rows` rows.
    """
    from gru_book.widgets.language import trained as stored_net

    net, text = stored_net().astype(np.float32), english()
    row = text.encode(text.validation)
    half = len(row) // 2
    mean = gru_forward(net.embed.E[row[:half], None], None, net.rnn)[0][:, 0].mean(axis=0)
    part = slice(half, half + rows * length)
    read = row[part].reshape(rows, length).T
    where = {name: at[part].reshape(rows, length).T[1:] for name, at in events(text.validation).items()}
    where["any"] = np.ones_like(where["line end"])

    def bits(which: list[int]) -> dict[str, float]:
        h, costs = np.zeros((rows, net.rnn.H), np.float32), []
        for now, after in pairwise(read):
            h, _ = gru_step(net.embed.E[now], h, net.rnn)
            h[:, which] = mean[which]
            costs.append(-log_softmax(h @ net.out.W + net.out.b)[np.arange(rows), after] / np.log(2))
        return {name: float(np.array(costs)[at].mean()) for name, at in where.items()}

    free = bits([])
    return [{name: more - free[name] for name, more in bits(which).items()} for which in units]


def held_alone(seed: int) -> Row:
    """Each unit held alone."""
    each = held([[unit] for unit in range(UNITS["GRU"])])
    return {"units": {name: [row[name] for row in each] for name in each[0]}}


PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]] = {
    "cells": (cells, (("GRU", BEST), ("Elman", BEST)), SEEDS),
    "rates": (cells, tuple((c, r) for c in UNITS for r in (0.002, 0.008)), range(1)),
    "longer": (longer, ((MASKED, LONG),), range(3)),
    "short": (short, tuple((c,) for c in UNITS), range(1)),
    "trained": (trained, ((4, "carried"), (4, "zero")), range(3)),
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
    m = network(np.random.default_rng(seed), "GRU")
    training, validation, _ = tokens()
    fit(m, training, epochs=epochs)
    arrays = {
        name: rounded(a) if a.ndim == 2 else {"shape": list(a.shape), "values": [float(f"{v:.5g}") for v in a]}
        for name, a in m.items()
    }
    origin = "python tools/environment.py python -m experiments.language_model net"
    net = {"origin": origin, "seed": seed, "V": english().V, "D": D, "H": UNITS["GRU"]}
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
