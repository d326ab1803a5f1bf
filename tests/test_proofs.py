"""Proofs for every length: what they accept is right, and what is wrong they do not accept."""

from __future__ import annotations

from itertools import product

import mpmath
import numpy as np
import pytest
from helpers import exact_gru_step, exactly, gru_weights, refused

from gru_book import results
from gru_book.models.hand_set import hand_set
from gru_book.models.proofs import (
    BORROW,
    HALVES,
    PAIRS_OF_BITS,
    SIGNS,
    Automaton,
    Boxes,
    box_step,
    boxes_hold,
    disagreement,
    find_boxes,
    minimise,
    read_machine,
)
from gru_book.models.reader import subtractor_accuracy, subtractor_init
from gru_book.tasks.subtraction import random_pairs, subtract_bits
from gru_lib import bundle, gru_init, gru_step, linear_init


def answers(machine: Automaton, word: tuple[int, ...]) -> list[int]:
    """Run an automaton on a word."""
    state, out = 0, []
    for symbol in word:
        out.append(int(machine.bit[state, symbol]))
        state = machine.next[state, symbol]
    return out


@pytest.fixture(scope="module")
def trained():
    """A tidied subtractor of chapter 7, and its table."""
    m = subtractor_init(np.random.default_rng(0), 10)
    with np.load(results.path("subtraction_nets")) as nets:
        m.flat[:] = nets["tidied"][0]
    return m, read_machine(m, PAIRS_OF_BITS, SIGNS)


def test_borrow_automaton_subtracts() -> None:
    a, b = (v.ravel() for v in np.meshgrid(np.arange(32), np.arange(32)))
    bits = [np.array([n >> t & 1 for t in range(5)]) for n in (a, b)]
    d, _ = subtract_bits(*bits)
    for i, word in enumerate(zip(*(2 * bits[0] + bits[1]).tolist(), strict=True)):
        assert answers(BORROW, word) == d[:, i].tolist()
    assert PAIRS_OF_BITS.tolist() == [[u, v] for u in (0, 1) for v in (0, 1)]


def test_disagreement_is_the_shortest_word_answered_differently() -> None:
    words = [w for L in range(1, 10) for w in product(range(2), repeat=L)]
    found = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        one = Automaton(rng.integers(0, 8, (8, 2)), rng.integers(0, 2, (8, 2)))
        other = Automaton(one.next, one.bit.copy())
        other.bit[2, 1] ^= 1  # one answer in one state, which may be out of reach
        shortest = next((w for w in words if answers(one, w) != answers(other, w)), None)
        word = disagreement(one, other)
        assert (word and len(word)) == (shortest and len(shortest))
        assert word is None or answers(one, tuple(word)) != answers(other, tuple(word))
        found.add(word is None)
    assert found == {True, False}


def test_minimise_undoes_splitting_states() -> None:
    """Every state of BORROW in four copies; each arrow leads to any copy."""
    state = np.repeat([0, 1], 4)
    after = BORROW.next[state] * 4 + np.random.default_rng(0).integers(0, 4, (8, 4))
    big = Automaton(after, BORROW.bit[state])
    smallest, group = minimise(big)
    assert (smallest.next == BORROW.next).all() and (smallest.bit == BORROW.bit).all()
    assert (group == state).all() and disagreement(big, smallest) is None


def test_minimise_keeps_apart_what_differs_only_later() -> None:
    """A counter to 4 that answers 1 at the end: all states answer alike but one, and yet no two are the same."""
    counter = Automaton(np.array([[1], [2], [3], [0]]), np.array([[0], [0], [0], [1]]))
    smallest, group = minimise(counter)
    assert len(smallest.next) == 4 and sorted(group) == [0, 1, 2, 3]


@pytest.mark.parametrize("levels", [HALVES, SIGNS], ids=["halves", "signs"])
def test_table_answers_as_the_rounded_network(trained, levels) -> None:
    m, _ = trained
    machine = read_machine(m, PAIRS_OF_BITS, levels)
    rng = np.random.default_rng(1)
    h, state = np.zeros((20, m.rnn.H)), np.zeros(20, int)
    for _ in range(100):
        symbol = rng.integers(0, 4, 20)
        raw, _ = gru_step(PAIRS_OF_BITS[symbol], h, m.rnn)
        h = levels[np.abs(raw[..., None] - levels).argmin(axis=-1)]
        bit, state = machine.automaton.bit[state, symbol], machine.automaton.next[state, symbol]
        assert (h == machine.states[state]).all()
        assert (((h @ m.out.W + m.out.b)[:, 0] > 0) == (bit == 1)).all()
    assert machine.margin > 1e-6 and disagreement(machine.automaton, BORROW) is None


def test_corrupted_weight_is_not_proved_by_search() -> None:
    for name, column in (("W_xn", 0), ("W_hn", 0), ("b_n", 1)):
        m = hand_set()
        getattr(m.rnn, name)[..., column] *= -1
        assert disagreement(read_machine(m, PAIRS_OF_BITS, SIGNS).automaton, BORROW) is not None


def test_saturated_network_is_a_finite_automaton_without_rounding_and_no_other() -> None:
    machine = read_machine(hand_set(80), PAIRS_OF_BITS, None, most_states=5)
    assert set(np.unique(machine.states[1:])) == {-1.0, 1.0} and disagreement(machine.automaton, BORROW) is None
    assert read_machine(hand_set(80), PAIRS_OF_BITS, None, most_states=4) is None
    assert read_machine(hand_set(10), PAIRS_OF_BITS, None, most_states=500) is None  # new states keep coming


def test_margin_is_the_distance_from_a_tie() -> None:
    m = subtractor_init(np.random.default_rng(0), 1)
    m.flat[:] = 0
    m.rnn.b_z[:] = -40
    m.rnn.b_n[:] = np.arctanh(0.3)  # h is .3 at every step: .05 from the tie at .25, and rounds to .5
    m.out.W[:], m.out.b[:] = 8, -1
    machine = read_machine(m, PAIRS_OF_BITS, HALVES)
    assert machine.states.tolist() == [[0], [0.5]]
    assert machine.margin == pytest.approx(0.05, abs=1e-12)


VARIANTS = [
    dict(zip(("convention", "reset_after", "bias"), which, strict=True))
    for which in product(("keep", "write"), (False, True), (True, False))
]


@pytest.mark.parametrize("options", VARIANTS, ids=lambda o: "-".join(map(str, o.values())))
def test_image_of_a_box_holds_the_image_of_its_points(options) -> None:
    rng = np.random.default_rng(0)
    for width in (0.0, 1e-9, 0.1, 1.0):
        p = gru_init(rng, 2, 3, **options)
        p.flat[:] = rng.normal(0, 3, p.size)
        middle = rng.uniform(-1, 1, (1, 3))
        box = Boxes(middle - width, middle + width)
        x = rng.integers(0, 2, (1, 2)).astype(float)
        image = box_step(x, box, p)
        corners = np.where(rng.integers(0, 2, (100, 3)) == 1, box.hi, box.lo)
        points = np.concatenate([box.lo, box.hi, rng.uniform(box.lo, box.hi, (200, 3)), corners])
        h, _ = gru_step(np.repeat(x, len(points), axis=0), points, p)
        assert (image.lo <= h).all() and (h <= image.hi).all()
        with mpmath.workdps(50):
            said = {name: options[name] for name in ("reset_after", "convention")}
            exact = exact_gru_step(exactly(x), exactly(points[:12]), gru_weights(p), **said)
            assert (exactly(image.lo) <= exact).all() and (exact <= exactly(image.hi)).all()


def test_trained_network_stays_in_its_boxes(trained) -> None:
    m, machine = trained
    boxes = find_boxes(m, PAIRS_OF_BITS, machine.automaton)
    assert boxes_hold(m, PAIRS_OF_BITS, machine.automaton, boxes)
    rng = np.random.default_rng(2)
    h, state = np.zeros((50, m.rnn.H)), np.zeros(50, int)
    for _ in range(400):
        symbol = rng.integers(0, 4, 50)
        h, _ = gru_step(PAIRS_OF_BITS[symbol], h, m.rnn)
        bit, state = machine.automaton.bit[state, symbol], machine.automaton.next[state, symbol]
        assert (boxes.lo[state] <= h).all() and (h <= boxes.hi[state]).all()
        assert (((h @ m.out.W + m.out.b)[:, 0] > 0) == (bit == 1)).all()
    assert subtractor_accuracy(m, random_pairs(rng, 32, 1024)) == (1, 1)


def test_boxes_are_refused_when_anything_about_them_is_wrong(trained) -> None:
    m, machine = trained
    A = machine.automaton
    lo, hi = find_boxes(m, PAIRS_OF_BITS, A)
    assert boxes_hold(m, PAIRS_OF_BITS, A, Boxes(lo, hi))
    middle, off = (lo + hi) / 2, 1e-12 * (np.arange(len(lo)) == 0)[:, None]
    assert not boxes_hold(m, PAIRS_OF_BITS, A, Boxes(middle + 0.3 * (lo - middle), middle + 0.3 * (hi - middle)))
    assert not boxes_hold(m, PAIRS_OF_BITS, A, Boxes(lo + off, hi + off))  # h_0 = 0 is outside, and all else holds
    for i, symbol in ((0, 0), (1, 2), (len(A.next) - 1, 3)):
        wrong = A.bit.copy()
        wrong[i, symbol] ^= 1
        assert not boxes_hold(m, PAIRS_OF_BITS, Automaton(A.next, wrong), Boxes(lo, hi))
    swapped = A.next.copy()
    swapped[1, 0] = next(s for s in range(len(A.next)) if (machine.states[s] != machine.states[A.next[1, 0]]).any())
    assert not boxes_hold(m, PAIRS_OF_BITS, Automaton(swapped, A.bit), Boxes(lo, hi))


def test_corrupted_weight_is_not_proved_by_boxes(trained) -> None:
    m, machine = trained
    boxes = find_boxes(m, PAIRS_OF_BITS, machine.automaton)
    for name in ("W_xn", "W_hn", "b_n"):
        broken = m.copy()
        getattr(broken.rnn, name)[:] *= -1
        assert not boxes_hold(broken, PAIRS_OF_BITS, machine.automaton, boxes)
        assert find_boxes(broken, PAIRS_OF_BITS, machine.automaton) is None


def test_leaking_latch_is_not_proved() -> None:
    # Unit 1 is set by the symbol (1, 0) and then kept with z = σ(4): it leaks toward n = −1, and after some fifty
    # steps the answer is wrong. Rounded to a sign the same network never forgets.
    m = bundle(rnn=gru_init(np.random.default_rng(0), 2, 1), out=linear_init(np.random.default_rng(0), 1, 1))
    m.flat[:] = 0
    m.rnn.b_z[:], m.rnn.b_n[:], m.out.W[:] = 4, -20, 1
    m.rnn.W_xz[0], m.rnn.W_xn[0] = -50, 40
    symbols = np.array([[0.0, 0], [1, 0]])
    latch = Automaton(np.array([[0, 1], [1, 1]]), np.array([[0, 1], [1, 1]]))
    rounded = read_machine(m, symbols, SIGNS)
    assert disagreement(rounded.automaton, latch) is None
    assert find_boxes(m, symbols, rounded.automaton) is None
    h, steps = np.zeros((1, 1)), 0
    for x in [[1.0, 0]] + [[0.0, 0]] * 100:
        h, _ = gru_step([x], h, m.rnn)
        steps += h[0, 0] > 0
    assert 30 < steps < 60


def test_proofs_name_the_argument_that_is_wrong() -> None:
    m = hand_set()
    refused(TypeError, "m must be a Bundle", read_machine, m.rnn, PAIRS_OF_BITS, SIGNS)
    refused(ValueError, "levels must be two or more rising numbers", read_machine, m, PAIRS_OF_BITS, [1, 0])
    refused(ValueError, r"symbols must have shape \(A, D\)", read_machine, m, np.zeros((4, 3)), SIGNS)
    with pytest.raises(ValueError, match=r"boxes.lo must have shape \(S, H\) = \(2, 3\)"):
        boxes_hold(m, PAIRS_OF_BITS, BORROW, Boxes(np.zeros((2, 2)), np.zeros((2, 2))))
    refused(ValueError, "widen must be >= 0", find_boxes, m, PAIRS_OF_BITS, BORROW, widen=-1)
    wide = bundle(rnn=m.rnn, out=linear_init(np.random.default_rng(0), 3, 2))
    refused(ValueError, r"m.out.W must have shape \(H, 1\)", read_machine, wide, PAIRS_OF_BITS, SIGNS)
    refused(TypeError, "must be float64", read_machine, m.astype(np.float32), PAIRS_OF_BITS, SIGNS)
