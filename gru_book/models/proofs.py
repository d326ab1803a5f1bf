"""Is a GRU right for inputs of every length? Three ways to prove it, each a finite computation.

The GRU reads one of A symbols at each step and answers with one bit, the sign of a linear layer on its state. A finite
automaton says what the answer should be. All three proofs are inductions over the steps; they differ in how they state
"the GRU is in a state from which it will keep answering right":

- `read_machine`: the state is rounded after each step, so there are finitely many states. Visit them all.
- `disagreement`: run the table found that way beside the automaton until nothing new comes up.
- `find_boxes`, `boxes_hold`: nothing is rounded. Each state of the table has a box around it. Whatever symbol is read,
  a step takes every box into the box of the following state, and the answer has the table's sign on all of it.

Chapter 7.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.cells.gru import GRUParams, gru_step
from gru_lib.checks import as_array, check_instance, check_int, check_number
from gru_lib.ops import LinearParams, sigmoid
from gru_lib.params import Bundle

__all__ = [
    "BORROW", "HALVES", "PAIRS_OF_BITS", "SIGNS", "Automaton", "Boxes", "Machine", "box_step", "boxes_hold",
    "disagreement", "find_boxes", "minimise", "read_machine",
]  # fmt: skip

Array = NDArray[Any]


class Automaton(NamedTuple):
    """A finite automaton that answers with a bit at each step. It starts in state 0.

    S states and A symbols; both arrays are (S, A).
    """

    next: Array  # state after reading the symbol
    bit: Array  # the answer


#: The symbols of the subtraction task, in order: a pair (bit of a, bit of b).
PAIRS_OF_BITS: Array = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float64)

#: Subtraction, least significant bit first. The state is the borrow c: bit = a ⊕ b ⊕ c, next = [a − b − c < 0].
BORROW = Automaton(
    next=np.array([[0, 1, 0, 0], [1, 1, 0, 1]]),
    bit=np.array([[0, 1, 1, 0], [1, 0, 0, 1]]),
)


# ---------------------------------------------------------------------------------------------- the network as a table

#: Levels to round a state to: the multiples of ½ in [−1, 1].
HALVES: Array = np.array([-1, -0.5, 0, 0.5, 1])
#: Levels to round a state to: the signs.
SIGNS: Array = np.array([-1.0, 1.0])


class Machine(NamedTuple):
    """A network with a rounded state, written out as an automaton."""

    states: Array  # (S, H), the rounded states that can be reached; the first is h_0 = 0
    automaton: Automaton
    margin: float  # how far everything that is rounded, and every logit, stays from where the table would change


def read_machine(m: Bundle, symbols: ArrayLike, levels: ArrayLike | None, *, most_states: int = 5000) -> Machine | None:
    """Visit every state that a network can reach when its state is rounded after each step.

    A breadth-first search from h_0 = 0 that reads each symbol once in each state it reaches.

    Parameters
    ----------
    m : Bundle
        `m.rnn` (a GRU) and `m.out` (a linear layer with one output; the answer is 1 where it is positive).
    symbols : array (A, D)
        The possible inputs of a step.
    levels : array (L,), rising
        Each number of the state becomes the nearest of these: `HALVES`, `SIGNS`. None rounds nothing beyond what
        floating point does by itself.
    most_states : int
        Give up beyond this many.

    Returns
    -------
    Machine, or None if there are more than `most_states` states.

    Notes
    -----
    The search runs the program `gru_step` itself, rounding errors included. The table also holds for any other
    evaluation (another order of summation, exact arithmetic), as long as the errors stay below `Machine.margin`.
    Without levels the margin is 0.

    Examples
    --------
    >>> from gru_book.models import proofs
    >>> from gru_book.models.hand_set import hand_set
    >>> m, symbols = hand_set(), proofs.PAIRS_OF_BITS
    >>> machine = proofs.read_machine(m, symbols, proofs.SIGNS)
    >>> len(machine.states)
    5
    >>> proofs.disagreement(machine.automaton, proofs.BORROW) is None
    True
    """
    where = "read_machine"
    symbols = _check_network(where, m, symbols)
    if levels is not None:
        levels = as_array(where, "levels", levels, ("L",), {})
        if len(levels) < 2 or not (np.diff(levels) > 0).all():
            raise ValueError(f"{where}: levels must be two or more rising numbers; got {levels}.")
    check_int(where, "most_states", most_states)
    A = len(symbols)
    states = [np.zeros(m.rnn.H)]
    index = {states[0].tobytes(): 0}
    after: list[list[int]] = []
    bits: list[Array] = []
    margin = np.inf
    while len(after) < len(states):
        h, _ = gru_step(symbols, np.repeat(states[len(after)][None], A, axis=0), m.rnn)  # (A, H)
        if levels is not None:
            h, distance = _round_to(h, levels)
            margin = min(margin, distance)
        h = h + 0.0  # −0 becomes 0: equal numbers must have equal bytes
        logits = (h @ m.out.W + m.out.b)[:, 0]
        margin = min(margin, float(np.abs(logits).min()))
        row = []
        for state in h:
            key = state.tobytes()
            if key not in index:
                if len(states) == most_states:
                    return None
                index[key] = len(states)
                states.append(state)
            row.append(index[key])
        after.append(row)
        bits.append((logits > 0).astype(int))
    return Machine(np.array(states), Automaton(np.array(after), np.array(bits)), margin if levels is not None else 0.0)


def _round_to(h: Array, levels: Array) -> tuple[Array, float]:
    """Round to the nearest level; also return the smallest distance from a midpoint between two levels."""
    between = (levels[1:] + levels[:-1]) / 2
    return levels[np.searchsorted(between, h)], float(np.abs(h[..., None] - between).min())


def disagreement(machine: Automaton, spec: Automaton) -> list[int] | None:
    """Find the shortest input that two automata answer differently, as a list of symbols; None if there is none.

    Breadth-first search over pairs of states, one of each automaton. There are finitely many; if the answers agree in
    every pair that can be reached, they agree after any number of steps, by induction.

    Examples
    --------
    >>> from gru_book.models.proofs import BORROW, Automaton, disagreement
    >>> xor = Automaton(next=np.zeros((1, 4), int), bit=BORROW.bit[:1])
    >>> disagreement(xor, BORROW)  # 0 − 1 borrows; then 0 − 0 is wrong
    [1, 0]
    """
    came_from: dict[Any, Any] = {(0, 0): None}  # pair -> (pair before, symbol)
    queue = deque(came_from)
    while queue:
        pair = queue.popleft()
        for symbol in range(spec.next.shape[1]):
            if machine.bit[pair[0], symbol] != spec.bit[pair[1], symbol]:
                path, step = [symbol], came_from[pair]
                while step is not None:
                    path.append(step[1])
                    step = came_from[step[0]]
                return path[::-1]
            following = int(machine.next[pair[0], symbol]), int(spec.next[pair[1], symbol])
            if following not in came_from:
                came_from[following] = (pair, symbol)
                queue.append(following)
    return None


def minimise(machine: Automaton) -> tuple[Automaton, Array]:
    """Merge the states that no input can tell apart (Moore's refinement).

    Returns
    -------
    smallest : Automaton
        The smallest automaton with the same answers, its states numbered in order of first appearance.
    group : integers (S,)
        The merged state that each state went into.

    Examples
    --------
    >>> from gru_book.models.proofs import Automaton, minimise
    >>> after = np.array([[1, 2], [0, 2], [2, 0]])  # 0 and 1 do the same
    >>> bit = np.array([[0, 1], [0, 1], [1, 0]])
    >>> smallest, group = minimise(Automaton(after, bit))
    >>> group, smallest.next
    (array([0, 0, 1]), array([[0, 1],
           [1, 0]]))
    """
    group = np.unique(machine.bit, axis=0, return_inverse=True)[1].reshape(-1)
    while True:
        looks = np.concatenate([group[:, None], group[machine.next]], axis=1)
        finer = np.unique(looks, axis=0, return_inverse=True)[1].reshape(-1)
        if finer.max() == group.max():
            break
        group = finer
    _, first = np.unique(group, return_index=True)
    group = np.argsort(np.argsort(first))[group]  # number the groups by their first state
    first = np.sort(first)
    return Automaton(group[machine.next[first]], machine.bit[first]), group


# ----------------------------------------------------------------------------------------------------- boxes of states


class Boxes(NamedTuple):
    """A box of states around each state of a table, (S, H) each: lo ≤ h ≤ hi, entry by entry."""

    lo: Array
    hi: Array


_EPS = float(np.finfo(np.float64).eps)


def box_step(x: ArrayLike, boxes: Boxes, p: GRUParams) -> Boxes:
    """Carry boxes through a step: a state in a box goes into the result.

    Interval arithmetic, an operation at a time: σ and tanh are increasing, so they map ends to ends; a product is
    largest and smallest at ends; h = z ⊙ h_prev + (1 − z) ⊙ n increases in h_prev and n, and is linear in z.

    Takes x (N, D) and boxes (N, H); p must be float64.

    Notes
    -----
    Every interval is padded outward by more than the rounding errors of both this computation and of `gru_step` in
    float64, whatever the order of its sums. So the result holds for exact arithmetic and for the program. It assumes
    IEEE arithmetic, and exp and tanh right to 4 units in the last place.

    Examples
    --------
    >>> from gru_lib import gru_init
    >>> from gru_book.models.proofs import Boxes, box_step
    >>> p = gru_init(np.random.default_rng(0), D=1, H=1)
    >>> p.flat[:] = 0  # h = h_prev / 2
    >>> after = box_step([[0.0]], Boxes(lo=[[-1.0]], hi=[[0.5]]), p)
    >>> after.lo.round(6), after.hi.round(6)
    (array([[-0.5]]), array([[0.25]]))
    """
    x = as_array("box_step", "x", x, ("N", "D"), {"D": p.D})
    lo, hi = _check_boxes("box_step", boxes, ("N", "H"), len(x), p.H)
    a_r = _affine(x, p.W_xr, p.b_r, lo, hi, p.W_hr)
    a_z = _affine(x, p.W_xz, p.b_z, lo, hi, p.W_hz)
    (r_lo, r_hi), (z_lo, z_hi) = _rising(sigmoid, a_r), _rising(sigmoid, a_z)
    if p.reset_after:
        nothing = np.zeros_like(p.W_xn)
        inner = _affine(x, nothing, p.b_hn, lo, hi, p.W_hn)
        q_lo, q_hi = _product(r_lo, r_hi, *inner)
        a_n = _affine(x, p.W_xn, p.b_n, q_lo, q_hi, np.eye(p.H))
    else:
        q_lo, q_hi = _product(r_lo, r_hi, lo, hi)
        a_n = _affine(x, p.W_xn, p.b_n, q_lo, q_hi, p.W_hn)
    n_lo, n_hi = _rising(np.tanh, a_n)
    if p.convention == "write":
        z_lo, z_hi = 1 - z_hi, 1 - z_lo
    ends = np.stack([z_lo, z_hi])
    new_lo = (ends * lo + (1 - ends) * n_lo).min(axis=0)
    new_hi = (ends * hi + (1 - ends) * n_hi).max(axis=0)
    pad = 64 * _EPS * np.maximum(1, np.maximum(abs(lo), abs(hi)))
    return Boxes(new_lo - pad, new_hi + pad)


def _affine(x: Array, W_x: Array, b: Any, lo: Array, hi: Array, W: Array) -> tuple[Array, Array]:
    """x W_x + b + h W for every h between lo and hi: a positive weight takes lo to lo, a negative one hi to lo."""
    up, down = np.maximum(W, 0), np.minimum(W, 0)
    fixed = x @ W_x + b
    size = np.abs(x) @ np.abs(W_x) + np.abs(b) + np.maximum(np.abs(lo), np.abs(hi)) @ np.abs(W)
    pad = 2 * (W_x.shape[0] + 2 * W.shape[0] + 8) * _EPS * size  # a sum of k terms is off by at most k·eps/2·size
    return fixed + lo @ up + hi @ down - pad, fixed + hi @ up + lo @ down + pad


def _rising(f: Callable[[Array], Array], ends: tuple[Array, Array]) -> tuple[Array, Array]:
    """σ or tanh of an interval."""
    return f(ends[0]) - 64 * _EPS, f(ends[1]) + 64 * _EPS


def _product(r_lo: Array, r_hi: Array, lo: Array, hi: Array) -> tuple[Array, Array]:
    ends = np.stack([r_lo * lo, r_lo * hi, r_hi * lo, r_hi * hi])
    return ends.min(axis=0), ends.max(axis=0)


def _images(m: Bundle, symbols: Array, boxes: Boxes) -> tuple[Boxes, Array, Array]:
    """The image of each box under each symbol, (S, A, H), and the ends of its logit, (S, A) each."""
    (S, H), A = boxes.lo.shape, len(symbols)
    each = Boxes(np.repeat(boxes.lo, A, axis=0), np.repeat(boxes.hi, A, axis=0))
    image = box_step(np.tile(symbols, (S, 1)), each, m.rnn)
    low, high = _affine(np.zeros((S * A, 1)), np.zeros((1, 1)), m.out.b, image.lo, image.hi, m.out.W)
    shape = (S, A, H)
    return Boxes(image.lo.reshape(shape), image.hi.reshape(shape)), low.reshape(S, A), high.reshape(S, A)


def boxes_hold(
    m: Bundle,
    symbols: ArrayLike,
    machine: Automaton,
    boxes: Boxes,
) -> bool:
    """Check a proof that a network answers as `machine` does, at every length and without rounding.

    The induction needs three conditions: h_0 = 0 lies in box 0; a step takes every state in box i, whatever symbol is
    read, into the box of the state that follows i; and the logit of every state it leads to has the right sign.

    Takes symbols (A, D), the machine's table (S, A) and boxes (S, H), from `find_boxes` or a guess. True is a proof,
    under the assumptions of `box_step`. False proves nothing: other boxes may hold.

    Examples
    --------
    >>> from gru_book.models import proofs
    >>> from gru_book.models.hand_set import hand_set
    >>> m, symbols = hand_set(), proofs.PAIRS_OF_BITS
    >>> machine = proofs.read_machine(m, symbols, proofs.SIGNS).automaton
    >>> boxes = proofs.find_boxes(m, symbols, machine)
    >>> proofs.boxes_hold(m, symbols, machine, boxes)
    True
    """
    symbols = _check_network("boxes_hold", m, symbols)
    S, H = len(machine.next), m.rnn.H
    lo, hi = _check_boxes("boxes_hold", boxes, ("S", "H"), S, H)
    image, low, high = _images(m, symbols, Boxes(lo, hi))
    starts = (lo[0] <= 0) & (hi[0] >= 0)
    into = machine.next  # (S, A): the box that an image must lie in
    inside = (image.lo >= lo[into]) & (image.hi <= hi[into])
    answers = np.where(machine.bit == 1, low > 0, high < 0)
    return bool(starts.all() and inside.all() and answers.all())


def find_boxes(
    m: Bundle, symbols: ArrayLike, machine: Automaton, *, widen: float = 0.05, rounds: int = 200
) -> Boxes | None:
    """Look for boxes that `boxes_hold` accepts; None if a box still grows after all rounds, or a logit's sign is wrong.

    Start from the point h_0 = 0. In each round, carry every box through a step, and stretch the box that should contain
    the image until it does, and a little more (`widen` of its width, and 1e−12). Stop when nothing sticks out.

    Examples
    --------
    >>> from gru_book.models import proofs
    >>> from gru_book.models.hand_set import hand_set
    >>> m, symbols = hand_set(), proofs.PAIRS_OF_BITS
    >>> machine = proofs.read_machine(m, symbols, proofs.SIGNS).automaton
    >>> boxes = proofs.find_boxes(m, symbols, machine)
    >>> boxes.lo.shape, bool((boxes.lo <= boxes.hi).all())
    ((5, 3), True)
    """
    symbols = _check_network("find_boxes", m, symbols)
    check_number("find_boxes", "widen", widen, least=0)
    check_int("find_boxes", "rounds", rounds)
    S, H = len(machine.next), m.rnn.H
    lo, hi = np.full((S, H), np.inf), np.full((S, H), -np.inf)  # nothing yet
    lo[0] = hi[0] = 0
    for _ in range(rounds):
        known = np.flatnonzero(lo[:, 0] <= hi[:, 0])
        image, low, high = _images(m, symbols, Boxes(lo[known], hi[known]))
        if not np.where(machine.bit[known] == 1, low > 0, high < 0).all():
            return None
        wanted_lo, wanted_hi = lo.copy(), hi.copy()
        np.minimum.at(wanted_lo, machine.next[known], image.lo)
        np.maximum.at(wanted_hi, machine.next[known], image.hi)
        grown = ((wanted_lo < lo) | (wanted_hi > hi)).any(axis=1)
        if not grown.any():
            return Boxes(lo, hi)
        more = widen * (wanted_hi - wanted_lo)[grown] + 1e-12
        lo[grown], hi[grown] = wanted_lo[grown] - more, wanted_hi[grown] + more
    return None


def _check_boxes(where: str, boxes: Boxes, axes: tuple[str, str], rows: int, H: int) -> tuple[Array, Array]:
    sizes = {axes[0]: rows, axes[1]: H}
    return as_array(where, "boxes.lo", boxes.lo, axes, sizes), as_array(where, "boxes.hi", boxes.hi, axes, sizes)


def _check_network(where: str, m: Bundle, symbols: ArrayLike) -> Array:
    check_instance(where, "m", m, Bundle)
    check_instance(where, "m.rnn", m.rnn, GRUParams)
    check_instance(where, "m.out", m.out, LinearParams)
    if m.out.W.shape != (m.rnn.H, 1):
        raise ValueError(f"{where}: m.out.W must have shape (H, 1) = ({m.rnn.H}, 1); got {m.out.W.shape}.")
    if m.flat.dtype != np.float64:
        raise TypeError(f"{where}: m must be float64; got {m.flat.dtype}.")
    return as_array(where, "symbols", symbols, ("A", "D"), {"D": m.rnn.D})
