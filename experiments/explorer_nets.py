"""The nets behind the explorers of chapters 7 and 8, trained from seeds and rounded. To remake them (a minute):

``python tools/environment.py python -m experiments.explorer_nets``

They are stored beside the explorers, as `subtraction-nets.json` and `sequence-nets.json`: weights to three decimals,
and measurements of the rounded nets for every seed that was tried. The docstring of the function that picks a seed
states its rule.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from experiments import subtraction as chapter7
from gru_book.models.hand_set import hand_set, hand_set_gru
from gru_book.models.proofs import BORROW, PAIRS_OF_BITS, SIGNS, boxes_hold, disagreement, find_boxes, read_machine
from gru_book.models.reader import reader_accuracy, reader_init, reader_loss, subtractor_accuracy
from gru_book.tasks.memory import Batch, class_bits, parity_outside, parity_since
from gru_book.tasks.subtraction import all_pairs, long_borrows, random_pairs, subtract_bits
from gru_lib import Adam, Bundle, bundle, gru_forward, gru_init, linear_init, train

WIDGETS = Path(__file__).resolve().parents[1] / "gru_book" / "widgets"
SEEDS = range(10)
Row = dict[str, Any]

# ------------------------------------------------------------------------------------------ chapter 7: subtraction

UNITS = 5


def four_bits(seed: int) -> Bundle:
    """Train on pairs of four bits, as chapter 7 does in "Longer numbers"; rounded."""
    return rounded(chapter7.trained_on((4, 4), seed, H=UNITS, steps=600))


def tidied(seed: int) -> Bundle:
    """Train on pairs of four to eight bits with chapter 7's two terms that tidy the state; rounded."""
    return rounded(chapter7.tidy(seed, H=UNITS))


def proved(m: Bundle) -> bool:
    """Whether chapter 7's boxes prove the net right for numbers of every length."""
    machine = read_machine(m, PAIRS_OF_BITS, SIGNS)
    if machine is None or disagreement(machine.automaton, BORROW) is not None:
        return False
    boxes = find_boxes(m, PAIRS_OF_BITS, machine.automaton)
    return boxes is not None and boxes_hold(m, PAIRS_OF_BITS, machine.automaton, boxes)


def measure_subtractor(m: Bundle, count: int = 1000) -> Row:
    """Share of pairs with every bit right: all of four bits, and of 64 bits random ones and ones with a long borrow."""
    rng = np.random.default_rng(10_000)
    tests = {"four": all_pairs(4), "random": random_pairs(rng, count, 64), "long": long_borrows(rng, count, 64)}
    return {name: subtractor_accuracy(m, batch).pairs for name, batch in tests.items()} | {"proved": proved(m)}


def borrow_unit(m: Bundle, count: int = 200, bits: int = 32) -> Row:
    """The unit whose sign most often equals the borrow or its opposite, and in what share of the places."""
    batch = random_pairs(np.random.default_rng(7), count, bits)
    hs = gru_forward(batch.xs, None, m.rnn)[0]
    borrow = subtract_bits(batch.xs[..., 0], batch.xs[..., 1])[1][1:, :, None]
    agree = ((hs > 0) == (borrow == 1)).mean(axis=(0, 1))
    unit = int(np.maximum(agree, 1 - agree).argmax())
    sign = 1 if agree[unit] > 0.5 else -1
    return {"unit": unit, "sign": sign, "share": float(max(agree[unit], 1 - agree[unit]))}


def subtraction() -> Row:
    """Pick the first seed right on all pairs of four bits but not of 64, and the first tidied one that is proved."""
    made = {"four": [four_bits(seed) for seed in SEEDS], "eight": [tidied(seed) for seed in SEEDS]}
    rows = {name: [measure_subtractor(m) for m in nets] for name, nets in made.items()}
    picked = {
        "four": next(s for s in SEEDS if rows["four"][s]["four"] == 1 and rows["four"][s]["random"] < 0.5),
        "eight": next(s for s in SEEDS if rows["eight"][s]["proved"]),
    }
    nets = {name: made[name][seed] for name, seed in picked.items()} | {"hand": hand_set(20)}
    measured = {name: measure_subtractor(m) | {"borrow": borrow_unit(m)} for name, m in nets.items()}
    return {
        "seed": picked,
        "measured": measured,
        "tried": rows,
        "nets": {name: as_lists(m) for name, m in nets.items()},
    }


# --------------------------------------------------------------------------------------------- chapter 8: memories

STEPS = 24  # in the explorer, and in training
TASK_UNITS = 4
UPDATE_BIAS = {"keep": 4.0, "skip": 0.0, "afresh": 0.0}


def keep(rng: np.random.Generator, N: int, T: int = STEPS) -> Batch:
    """Which of three tokens came first? Two bits; asked at every step. `first_token` with three classes."""
    tokens = rng.integers(0, 3, (T, N))
    ys = np.broadcast_to(class_bits(tokens[0])[:, :2], (T, N, 2))
    return Batch(np.eye(3)[tokens], ys.copy(), np.ones((T, N), bool), tokens)


def skip(rng: np.random.Generator, N: int, T: int = STEPS) -> Batch:
    """Parity of the 1s outside brackets, with few brackets or many."""
    return parity_outside(rng, N, T, bracket=float(rng.choice([0.1, 0.2, 0.4])))


def afresh(rng: np.random.Generator, N: int, T: int = STEPS) -> Batch:
    """Parity of the 1s since the latest break, with few breaks or many."""
    return parity_since(rng, N, T, brk=float(rng.choice([0.05, 0.15, 0.3])))


TASKS: dict[str, Callable[..., Batch]] = {"keep": keep, "skip": skip, "afresh": afresh}


def reader(task: str, seed: int, steps: int = 1500) -> Bundle:
    """Train a reader of four units on a task; rounded."""
    draw, rng = TASKS[task], np.random.default_rng(seed)
    shape = draw(np.random.default_rng(0), 1)
    m = reader_init(rng, shape.xs.shape[2], shape.ys.shape[2], TASK_UNITS)
    m.rnn.b_z[:] = UPDATE_BIAS[task]

    def source() -> Iterator[Batch]:
        while True:
            yield draw(rng, 32)

    train(m, reader_loss, source(), Adam(m, 0.01), steps=steps, clip_norm=1.0, progress=False)
    return rounded(m)


def measure_reader(task: str, m: Bundle, count: int = 4000) -> Row:
    """Share of sequences with every answer right, at the explorer's length and at ten times that."""
    rng = np.random.default_rng(10_000)
    tests = [TASKS[task](rng, count) for _ in range(5)]  # each with its own share of breaks
    right = round(float(np.mean([reader_accuracy(m, batch).sequences for batch in tests])), 5)
    return {"right": right, "longer": reader_accuracy(m, TASKS[task](rng, 500, 10 * STEPS)).sequences}


def hand(task: str) -> Bundle:
    """The hand-set net of chapter 8 as a bundle; for three classes, `first_token`'s needs only two of its bits."""
    name = {"keep": "first_token", "skip": "parity_outside", "afresh": "parity_since"}[task]
    p, units, threshold = hand_set_gru(name)
    tokens, kept = (3, [0, 1, 3]) if task == "keep" else (p.D, list(range(p.H)))
    q = gru_init(np.random.default_rng(0), tokens, len(kept))
    for gate in "rzn":
        getattr(q, f"W_x{gate}")[:] = getattr(p, f"W_x{gate}")[:tokens, kept]
        getattr(q, f"W_h{gate}")[:] = getattr(p, f"W_h{gate}")[np.ix_(kept, kept)]
        getattr(q, f"b_{gate}")[:] = getattr(p, f"b_{gate}")[kept]
    K = min(units, len(kept) - 1) if task == "keep" else units
    out = linear_init(np.random.default_rng(0), len(kept), K)
    out.W[:] = np.eye(len(kept), K)
    out.b[:] = -threshold
    return bundle(rnn=q, out=out)


def sequence() -> Row:
    """For each task, pick the first seed without an error at the explorer's length."""
    found: Row = {"seed": {}, "measured": {}, "tried": {}, "nets": {}}
    for task in TASKS:
        made = [reader(task, seed) for seed in SEEDS]
        rows = found["tried"][task] = [measure_reader(task, m) for m in made]
        seed = found["seed"][task] = next(s for s in SEEDS if rows[s]["right"] == 1)
        found["measured"][task] = rows[seed]
        found["nets"][task] = {"hand": as_lists(hand(task)), "trained": as_lists(made[seed])}
    return found


# --------------------------------------------------------------------------------------------------------- storing


def rounded(m: Bundle) -> Bundle:
    """The same net with three decimals, and no negative zero."""
    m.flat[:] = np.round(m.flat, 3) + 0.0
    return m


def as_lists(m: Bundle) -> Row:
    """Weights by name, in the form that gru-math.mjs takes; `out` is the linear layer."""
    names = [f"W_{a}{g}" for a in "xh" for g in "rzn"] + [f"b_{g}" for g in "rzn"]
    return {n: (getattr(m.rnn, n) + 0.0).tolist() for n in names} | {
        "out": {n: (v + 0.0).tolist() for n, v in m.out.items()}
    }


def from_lists(net: Row) -> Bundle:
    """The bundle back: the inverse of `as_lists`."""
    D, H = np.shape(net["W_xr"])
    m = bundle(
        rnn=gru_init(np.random.default_rng(0), D, H), out=linear_init(np.random.default_rng(0), H, len(net["out"]["b"]))
    )
    for name, values in net.items():
        if name != "out":
            getattr(m.rnn, name)[:] = values
    for name, values in net["out"].items():
        getattr(m.out, name)[:] = values
    return m


PARTS: dict[str, Callable[[], Row]] = {"subtraction": subtraction, "sequence": sequence}


def store(name: str, found: Row) -> None:
    """Write the nets of an explorer beside it, one line for every net and every seed."""
    origin = "python tools/environment.py python -m experiments.explorer_nets"

    def lines(value: Any, depth: int) -> str:
        if not isinstance(value, dict) or not depth:
            return json.dumps(value)
        return "{\n" + ",\n".join(f"{json.dumps(k)}: {lines(v, depth - 1)}" for k, v in value.items()) + "\n}"

    (WIDGETS / f"{name}-nets.json").write_text(lines({"origin": origin} | found, 3) + "\n", "utf8")


def main() -> None:
    """Make all nets and store them."""
    for name, make in PARTS.items():
        found = make()
        store(name, found)
        print(name, found["seed"], found["measured"], flush=True)


if __name__ == "__main__":
    main()
