"""Exercises that ask for numbers: what is right, what a typical slip gives, and what it is called, by chapter."""

from __future__ import annotations

import math
from collections.abc import Callable

from gru_lib.check.oracle import sig
from gru_lib.check.values import Values, values

__all__ = [
    "beam_hand", "beam_tip", "cmp_units", "conv_advice", "drop_half", "drop_jensen", "drop_lstm", "fade_border",
    "fade_sigmoid", "fade_turn", "fast_batch", "fast_budget", "gate_drift", "gate_hand", "gate_long", "gate_quiet",
    "gru_half_life", "gru_second", "hwy_e", "lm_start", "lm_units", "lstm_count", "mem_bias", "other_alpha",
    "other_pile", "other_sharp", "s2s_mean", "sub_add", "sub_msb", "sub_steep", "sum_number", "sum_shortest",
]  # fmt: skip


def _at(points: tuple[float, ...], f: Callable[[float], float]) -> list[float]:
    return [f(v) for v in points]


# Chapter 1


@values
def sum_shortest() -> Values:
    """Check the smallest T at which the sum of T floating-point numbers can depend on their order, chapter 1."""
    slips = [
        ("T", 1, "one number has only one order."),
        ("T", 2, "with two, x₁ + x₂ = x₂ + x₁, rounded alike; and 0 + x₁ is exact."),
        ("T", 4, "fewer are enough: which number is added last already matters."),
    ]
    return Values({"T": 3}, slips, exact=("T",))


@values
def sum_number() -> Values:
    """Check W_h, and up to how many digits the number that is read is exact in float64, chapter 1."""
    slips = [
        ("W_h", 0.5, "½ halves what was read. A digit that follows doubles the worth of those before it."),
        ("W_h", 1, "with W_h = 1 it counts the ones; place value is missing."),
        ("W_h", 10, "that reads decimal digits; these are binary."),
        ("digits", 52, "52 digits of the fraction are stored; the leading 1 is not, and counts too."),
        ("digits", 54, "2⁵⁴ − 1 is odd, and odd numbers of that size are no longer stored."),
        ("digits", 64, "64 bits are sign, exponent and fraction together; only the fraction holds digits."),
        ("digits", 24, "that is float32."),
        ("digits", 1023, "there float64 overflows; whole numbers stop being exact far below."),
    ]
    return Values({"W_h": 2, "digits": 53}, slips, exact=("digits",))


# Chapter 2


@values
def fade_sigmoid() -> Values:
    """Check the norm of W_h below which the gradient of an Elman net with σ surely vanishes, chapter 2."""
    slips = [
        ("norm", 1, "1 belongs to tanh, whose slope is at most 1; that of σ is at most ¼."),
        ("norm", 0.25, "¼ is the largest slope s (1 − s); the norm times the slope must be below 1."),
        ("norm", 2, "the largest slope of σ is ½ · ½ = ¼, not ½."),
        ("norm", 16, "1/16 is the slope squared; the bound has it once for each W_h."),
    ]
    return Values({"norm": 4}, slips)


@values
def fade_turn() -> Values:
    """Check the angles in degrees, for n = 2, 10 and 1000, chapter 2."""
    n = (2, 10, 1000)
    slips = [
        ("angles", _at(n, lambda n: math.acos(1 / math.sqrt(n))), "these are radians; degrees are wanted."),
        ("angles", _at(n, lambda n: 1 / math.sqrt(n)), "that is the cosine; take its arccos, in degrees."),
        ("angles", _at(n, lambda n: math.degrees(math.asin(1 / math.sqrt(n)))), "1/√n is the cosine, not the sine."),
        ("angles", _at(n, lambda n: math.degrees(math.acos(1 / n))), "the clipped row has the length c√n, not cn."),
    ]
    return Values({"angles": _at(n, lambda n: math.degrees(math.acos(1 / math.sqrt(n))))}, slips)


@values
def fade_border() -> Values:
    """Check the exponent with which T enters ∂h_T / ∂h_0 for large T, chapter 2."""
    slips = [
        ("exponent", -0.5, "that is the state, h_T; its derivative in h_0 is (h_T / h_0)³."),
        ("exponent", -1, "that is h_T²; the derivative is (h_T / h_0)³."),
        ("exponent", -3, "h_T itself falls like T^(−½), and the derivative like its third power."),
        ("exponent", -2, "1/h_T² grows like T, so h_T falls like T^(−½), and the derivative like its third power."),
        ("exponent", 0, "the slope 1 − h² is below 1 as long as h is not 0: it does fade."),
    ]
    return Values({"exponent": -1.5}, slips)


# Chapter 3


@values
def gate_hand() -> Values:
    """Check h = [h_1, h_2, h_3] and the weights w = [w_0, …, w_3], chapter 3."""
    slips = [
        ("h", [6, 1.5, 16], "g is the share that is written: h = g n + (1 − g) h."),
        ("h", [6, 6, 8], "each step starts from the state before it, not from h_0."),
        ("h", [12, 12, 28], "the old state lacks its share 1 − g: h = g n + (1 − g) h."),
        ("h", [2, 0, 0], "the old state is left out: h = g n + (1 − g) h."),
        ("w", [0, 1 / 4, 3 / 8, 3 / 8], "they run backwards: w_0 belongs to h_0 and stands first."),
        ("w", [3 / 8, 1 / 2, 1 / 4, 0], "what is written at step k is also multiplied by every later z."),
        ("w", [1 / 2, 3 / 8, 1 / 4, 0], "w_0 is the product of all z: h_0 goes through every step."),
        ("w", [0, 0, 0, 1], "z = 1 − g is kept; here g and z have changed places."),
    ]
    return Values({"h": [6, 4.5, 4.5], "w": [3 / 8, 3 / 8, 1 / 4, 0]}, slips)


@values
def gate_long() -> Values:
    """Check z, and the bias of a gate that keeps and of one that writes, chapter 3."""
    z = 0.05 ** (1 / 100)
    b = math.log(z / (1 - z))
    slips = [
        ("z", 0.95 ** (1 / 100), "z¹⁰⁰ is the weight of what is older than 100: 0.05, not 0.95."),
        ("z", 0.5 ** (1 / 100), "that is a half-life of 100: 50 % on the last 100."),
        ("z", 1 - z, "that is the share written; z is the share kept."),
        ("b_keep", -b, "the sign is turned: to keep, z must be near 1."),
        ("b_keep", math.log(z), "that is ln z; the inverse of σ is ln(z / (1 − z))."),
        ("b_keep", z / (1 - z), "the logarithm is missing: ln(z / (1 − z))."),
        ("b_keep", math.log10(z / (1 - z)), "that is log₁₀; the inverse of σ has the natural logarithm."),
        ("b_write", b, "here the gate is 1 − z: 1 − σ(b) = σ(−b)."),
    ]
    return Values({"z": z, "b_keep": b, "b_write": -b}, slips)


@values
def gate_quiet() -> Values:
    """Check the c that leaves the smallest spread, for y = 0.4 and p = 0.1, chapter 3."""
    p, one, zero = 0.1, (1 - 0.4) ** 2, 0.4**2
    slips = [
        ("c", p * one + (1 - p) * zero, "that is the mean loss; the best c is (1 − p) L₁ + p L₀."),
        ("c", 0, "without c the spread is larger: L has the same sign in both cases."),
        ("c", (one + zero) / 2, "that is the plain mean of L₁ and L₀; weigh them by 1 − p and p."),
        ("c", one, "that is L₁ alone: then (1 − p)(L₁ − c) is 0, and −p (L₀ − c) is not."),
        ("c", zero, "that is L₀ alone: then −p (L₀ − c) is 0, and (1 − p)(L₁ − c) is not."),
        ("c", (1 - p) * one, "p L₀ is missing: c = (1 − p) L₁ + p L₀."),
    ]
    return Values({"c": (1 - p) * one + p * zero}, slips)


@values
def gate_drift() -> Values:
    """Check the best constant gate for s = 0.3 and ν = 1, chapter 3."""
    q = 0.3**2
    root = math.sqrt(q * q + 4 * q)
    g = (root - q) / 2
    slips = [
        ("g", (math.sqrt(q + 4 * 0.3) - 0.3) / 2, "q is s² / ν²; that is the gate for q = s / ν."),
        ("g", (-root - q) / 2, "that is the other root; a gate lies between 0 and 1."),
        ("g", (root + q) / 2, "the sign of q is turned: g² + q g − q = 0."),
        ("g", 1 - g, "that is the share kept."),
        ("g", g * g, "that is g²."),
        ("g", math.sqrt(q), "the term q g is left out: g² + q g − q = 0."),
        ("g", q / (1 + q), "the error that was there before is left out: weigh ν² against v + s²."),
    ]
    return Values({"g": g}, slips)


# Chapter 4


@values
def gru_second() -> Values:
    """Check r and z of unit 1 in the second step, chapter 4."""
    h = (0.8054, -0.5048)
    r, z = sig(2 * h[0]), sig(2 * h[1] + 1)
    slips = [
        ("r", 2 * h[0], "that is a_r; σ is missing."),
        ("r", 1 - r, "that is 1 − r."),
        ("r", math.tanh(2 * h[0]), "a gate takes σ, not tanh."),
        ("r", sig(1), "that comes from the first old state, 0.5; the old state is h_1 now."),
        ("r", sig(2 * h[0] + 1), "x is 0 now, and r has no bias."),
        ("r", sig(h[0] + 3 * h[1]), "that is unit 2: unit 1 is the first column of W_hr."),
        ("z", 2 * h[1] + 1, "that is a_z; σ is missing."),
        ("z", sig(2 * h[1]), "the bias 1 is missing from a_z."),
        ("z", sig(2 * h[0] + 1), "z of unit 1 sees unit 2 of the old state: the first column of W_hz is (0, 2)."),
    ]
    return Values({"r": r, "z": z}, slips)


@values
def gru_half_life() -> Values:
    """Check b_z for a half-life of 1,000 steps, for keep and for write, chapter 4."""
    z = 0.5 ** (1 / 1000)
    b = math.log(z / (1 - z))
    slips = [
        ("b_keep", -b, "the sign is turned: with keep, a z near 1 holds."),
        ("b_keep", math.log(1000), "that leaves 1/e after 1,000 steps; half is wanted."),
        ("b_keep", z, "that is z; solve σ(b_z) = z for the bias."),
        ("b_keep", math.log10(z / (1 - z)), "that is log₁₀; the inverse of σ has the natural logarithm."),
        ("b_keep", math.log2(z / (1 - z)), "that is log₂; the inverse of σ has the natural logarithm."),
        ("b_write", b, "with write, z is the share written: 1 − σ(b) = σ(−b)."),
    ]
    return Values({"b_keep": b, "b_write": -b}, slips)


# Chapter 7


@values
def sub_msb() -> Values:
    """Check the largest share of bits that a function of the bits read so far can get right, chapter 7."""
    slips = [
        ("share", 1, "8 − 0 and 8 − 1 begin alike, and their first bits differ."),
        ("share", 0.5, "guessing gets half; the bits of a and b tell more than that."),
        ("share", 452, "that is the count; divide by the number of bits, 544."),
        ("share", 452 / 136, "divide by the number of bits, 4 for each of the 136 pairs."),
        ("share", 92 / 544, "that is the share that must be wrong."),
    ]
    return Values({"share": 452 / 544}, slips)


@values
def sub_add() -> Values:
    """Check CARRY.next and CARRY.bit, each with a row for a state and a column for 00, 01, 10, 11, chapter 7."""
    slips = [
        ("next", [[0, 1, 0, 0], [1, 1, 0, 1]], "that is the borrow; a carry is 1 where two of a, b, c are."),
        ("next", [[0, 0, 0, 1], [0, 0, 0, 1]], "the carry that comes in is not used."),
        ("next", [[0, 1, 1, 1], [0, 0, 0, 1]], "the rows have changed places: row 0 is no carry."),
        ("next", [[0, 1, 1, 1], [1, 1, 1, 1]], "one 1 is enough there; a carry needs two of a, b, c."),
        ("next", [[0, 0, 0, 1], [1, 1, 1, 1]], "a carry once made never ends: with a = b = 0 it must."),
        ("next", [[1, 0, 0, 0], [1, 1, 1, 0]], "the columns run backwards: 00, 01, 10, 11."),
        ("next", [[0, 1, 1, 0], [1, 0, 0, 1]], "that is the bit; the carry is wanted."),
        ("bit", [[0, 1, 1, 0], [0, 1, 1, 0]], "the carry is left out: the bit is a ⊕ b ⊕ c."),
        ("bit", [[1, 0, 0, 1], [0, 1, 1, 0]], "the rows have changed places: row 0 is no carry."),
        ("bit", [[0, 1, 1, 1], [1, 1, 1, 1]], "that is or; the bit is a ⊕ b ⊕ c."),
        ("bit", [[0, 0, 0, 1], [0, 1, 1, 1]], "that is the carry; the bit is a ⊕ b ⊕ c."),
    ]
    return Values({"next": [[0, 0, 0, 1], [0, 1, 1, 1]], "bit": [[0, 1, 1, 0], [1, 0, 0, 1]]}, slips)


@values
def sub_steep() -> Values:
    """Check the smallest whole K for which some δ makes a proof, chapter 7."""
    slips = [
        ("K", 7, "at 7 no δ makes a proof; hard pairs even show errors."),
        ("K", 9, "at 9 there is a proof, and at 8 too: try more values of δ."),
        ("K", 20, "the text proved 20; a smaller K will do with another δ."),
        ("K", 80, "the text proved 80; a far smaller K will do."),
        ("K", 1, "at 1 the network is far too soft: its answers are wrong."),
    ]
    return Values({"K": 8}, slips, exact=("K",))


# Chapters 8 to 10


@values
def mem_bias() -> Values:
    """Check b_z for T = 10, 100, 1000 and 10,000, chapter 8."""
    T = (10, 100, 1000, 10_000)
    b = _at(T, lambda t: -math.log(math.expm1(math.log(2) / t)))
    slips = [
        ("b_z", [-v for v in b], "the sign is turned: the longer the memory, the larger b_z."),
        ("b_z", _at(T, math.log), "that is log T: it leaves about 1/e, not a half."),
        ("b_z", _at(T, lambda t: math.log(t) + 0.37), "the rule of thumb is too large at T = 10: solve σ(b)^T = ½."),
        ("b_z", _at(T, lambda t: math.log(t) - 0.3665), "−log log 2 is positive: log T + 0.37."),
        ("b_z", _at(T, lambda t: 2 ** (-1 / t)), "that is z; solve σ(b_z) = z for the bias."),
        ("b_z", _at(T, lambda t: math.expm1(math.log(2) / t)), "that is e^(−b); take minus the logarithm."),
        ("b_z", [v / math.log(10) for v in b], "that is log₁₀; σ needs the natural logarithm."),
    ]
    return Values({"b_z": b}, slips)


@values
def hwy_e() -> Values:
    """Check the limit of T f for large T, with f the value at the best gate, chapter 9."""
    slips = [
        ("limit", math.e, "(1 − 1/T)^T tends to 1/e, not to e."),
        ("limit", 1, "(1 − 1/T)^(T − 1) does not tend to 1: it is multiplied T − 1 times."),
        ("limit", 0, "f itself tends to 0; multiply by T first."),
        ("limit", 1 - 1 / math.e, "that is 1 − 1/e."),
        ("limit", 0.5, "½ is the other gate, not a limit here."),
    ]
    return Values({"limit": 1 / math.e}, slips)


@values
def conv_advice() -> Values:
    """Check p.b_z, the sum of PyTorch's two biases, and Keras's bias, for H = 2, chapter 10."""
    slips = [
        ("ours", [-1, -1], "the sign turns: our z is the share kept, the paper's the share written."),
        ("ours", [0, 0], "the advice does not vanish: σ(−a) = 1 − σ(a), so b_z turns its sign."),
        ("torch", [0, 0, -1, -1, 0, 0], "PyTorch keeps, too: the sign turns."),
        ("torch", [1, 1, 0, 0, 0, 0], "PyTorch's order is r, z, n: z has the middle rows."),
        ("torch", [0, 0, 2, 2, 0, 0], "PyTorch adds its two biases: 1 in one of them is enough."),
        ("torch", [0, 0, 0, 0, 1, 1], "PyTorch's order is r, z, n: those are the candidate's rows."),
        ("torch", [1, 1, 1, 1, 1, 1], "only the update gate's bias is meant."),
        ("keras", [-1, -1, 0, 0, 0, 0], "Keras keeps, too: the sign turns."),
        ("keras", [0, 0, 1, 1, 0, 0], "Keras's order is z, r, n: z comes first."),
        ("keras", [0, 0, 0, 0, 1, 1], "Keras's order is z, r, n: those are the candidate's."),
        ("keras", [1, 1, 1, 1, 1, 1], "only the update gate's bias is meant."),
    ]
    right = {"ours": [1, 1], "torch": [0, 0, 1, 1, 0, 0], "keras": [1, 1, 0, 0, 0, 0]}
    return Values(right, slips)


# Chapters 11 and 12


@values
def fast_budget() -> Values:
    """Check the operations of a training step, and the hours for 10,000 of them, chapter 11."""
    T, N, D, H = 100, 64, 64, 512
    F = 18 * T * N * H * (D + H)
    hours = 1e4 * F / 60e9 / 3600
    slips = [
        ("operations", F / 3, "that is the forward pass; backward costs twice as much again."),
        ("operations", F * 2 / 3, "that is the backward pass alone; add the forward pass."),
        ("operations", F / 2, "a multiplication and an addition are two operations."),
        ("operations", F / T, "that is one time step; the sequence has 100."),
        ("operations", F / N, "that is one sequence; the batch has 64."),
        ("operations", F * 4 / 3, "that is an LSTM; a GRU has three products of a kind, not four."),
        ("operations", 18 * T * N * H * H, "the product with x is left out: D + H in place of H."),
        ("operations", F / 1e9, "those are billions; give the number itself."),
        ("hours", F / 60e9, "that is one step in seconds; 10,000 of them in hours are wanted."),
        ("hours", hours * 3600, "those are seconds."),
        ("hours", hours * 60, "those are minutes."),
    ]
    return Values({"operations": F, "hours": hours}, slips)


@values
def fast_batch() -> Values:
    """Check from which N on the product is limited by arithmetic, chapter 11."""
    slips = [
        ("N", 24, "each of the N rows costs a multiplication and an addition, and a weight in float32 has 4 bytes."),
        ("N", 6, "those are the operations for each byte; a weight has 4 bytes and takes part in 2N operations."),
        ("N", 3, "a weight in float32 has 4 bytes; this reads one byte."),
    ]
    return Values({"N": 12}, slips)


@values
def lstm_count() -> Values:
    """Check how many parameters can be left out, and how many units fit into the size of a GRU, chapter 12."""
    slips = [
        ("spare", 1024, "those are all the biases; one of each block must stay."),
        ("spare", 384, "an LSTM has four blocks, and in all four the two biases are only added."),
        ("spare", 128, "that is one block of four."),
        ("units", 96, "¾ of the units are too few: the parameters grow with the square of the units."),
        ("units", 128, "an LSTM of 128 units is larger by a third."),
        ("units", 147, "the LSTM is the larger cell: it must have fewer units."),
        ("units", 110, "110 units are just too many: count exactly, with one bias for each block."),
        ("units", 108, "one more still fits."),
    ]
    size = 3 * (28 * 128 + 128 * 128 + 128)
    units = max(k for k in range(128) if 4 * (28 * k + k * k + k) <= size)
    return Values({"spare": 512, "units": units}, slips, exact=("spare", "units"))


# Chapter 13


@values
def other_pile() -> Values:
    """Check the strengths of a, b, c after each step, and their shares in each read: both (3, 3), chapter 13."""
    first, s2, read2 = [0.6, 0, 0], [0.6, 0.6, 0], [0.4, 0.6, 0]
    slips = [
        ("strengths", [first, s2, [0, 0.4, 0.2]], "the pop takes from the top, b first; this took a first."),
        ("strengths", [first, s2, [0.6, 0, 0]], "pop first, then push: this took from c, which was not there yet."),
        ("strengths", [first, s2, [0.6, 0, 0.2]], "the pop of 0.8 takes 0.6 from b, and the 0.2 that is left from a."),
        ("strengths", [first, s2, [0.6, 0.6, 0.2]], "the pop is missing at step 3."),
        ("strengths", [first, s2, [0, 0, 0.2]], "the pop takes 0.8 in all, not 0.8 from each."),
        ("strengths", [first, [0.4, 0.6, 0], [0.2, 0, 0.2]], "a read takes nothing away: a keeps 0.6 at step 2."),
        ("read", [first, [0.6, 0.4, 0], [0.4, 0, 0.2]], "the read begins at the top: 0.6 of b, then 0.4 of a."),
        ("read", [first, [0.6, 0.6, 0], [0.4, 0, 0.2]], "a read is at most 1 in all: after 0.6 of b, 0.4 of a."),
        ("read", [first, [0, 0.6, 0], [0, 0, 0.2]], "the read goes on below the top until it has 1 in all."),
        ("read", [[1, 0, 0], read2, [2 / 3, 0, 1 / 3]], "a read is not scaled to 1; it may be less."),
        ("read", [[1, 0, 0], read2, [0.8, 0, 0.2]], "no entry gives more than its strength."),
    ]  # fmt: skip
    return Values({"strengths": [first, s2, [0.4, 0, 0.2]], "read": [first, read2, [0.4, 0, 0.2]]}, slips)


@values
def other_alpha() -> Values:
    """Check α for T = 10, 100 and 1000, chapter 13."""
    T = (10, 100, 1000)
    slips = [
        ("alpha", _at(T, lambda t: math.exp(-1 / t)), "that leaves 1/e after T steps; half is wanted."),
        ("alpha", _at(T, lambda t: 1 - 0.5 / t), "the loss is not shared out evenly: α^T = ½, not T (1 − α) = ½."),
        ("alpha", _at(T, lambda t: 1 - 2 ** (-1 / t)), "that is 1 − α, with which the input enters."),
        ("alpha", _at(T, lambda t: 2 ** (1 / t)), "that grows; α must be below 1: the exponent is −1/T."),
        ("alpha", _at(T, lambda t: 2**-t), "that is 2^(−T); the T-th root is wanted."),
    ]
    return Values({"alpha": _at(T, lambda t: 2 ** (-1 / t))}, slips)


@values
def other_sharp() -> Values:
    """Check the weight q at which the row behind settles, for ε = 0.1 and γ = 2, chapter 13."""
    low, high = ((7 / 9 + sign * math.sqrt(45 / 81)) / 2 for sign in (-1, 1))
    slips = [
        ("q", 0.1, "that is ε; sharpening raises it to the power γ."),
        ("q", 0.01, "that is ε^γ, the rough estimate: what was behind before adds to it."),
        ("q", (0.1 / 0.9) ** 2, "that is after one step; go on until q no longer changes."),
        ("q", high, "that is the other fixed point; it repels."),
        ("q", 0.9**100, "that is the right row without sharpening."),
        ("q", math.sqrt(low), "that is √q, before sharpening."),
    ]
    return Values({"q": low}, slips, tolerance=0.02)


# Chapter 14


@values
def drop_half() -> Values:
    """Check the number of steps for p = 0.05, 0.1, 0.25 and 0.5, chapter 14."""
    P = (0.05, 0.1, 0.25, 0.5)
    slips = [
        ("T", _at(P, lambda p: math.log(0.5) / math.log(p)), "p is the share dropped: (1 − p)^T = ½."),
        ("T", _at(P, lambda p: math.log(0.5) * math.log(1 - p)), "divide the logarithms: T = ln ½ / ln(1 − p)."),
        ("T", _at(P, lambda p: 0.5 / p), "the losses do not add up: (1 − p)^T = ½, not T p = ½."),
        ("T", _at(P, lambda p: math.log(2) / p), "ln(1 − p) ≈ −p is for small p only."),
        ("T", _at(P, lambda p: -1 / math.log(1 - p)), "after that many steps 1/e is left; half is wanted."),
        ("T", _at(P, lambda p: 1 / p), "that is the mean time until it is dropped; half of the cases are asked for."),
        ("T", _at(P, lambda p: math.log(1 - p) / math.log(0.5)), "the fraction stands on its head."),
    ]
    return Values({"T": _at(P, lambda p: math.log(0.5) / math.log(1 - p))}, slips)


@values
def drop_jensen() -> Values:
    """Check the mean of tanh(m x) over masks, for p = 0.1, 0.25 and 0.5, chapter 14."""
    P = (0.1, 0.25, 0.5)
    slips = [
        ("mean", _at(P, lambda p: math.tanh(1)), "that is tanh of the mean; the mean of tanh is wanted."),
        ("mean", _at(P, lambda p: math.tanh(1 / (1 - p))), "that is the case in which it is kept; it counts 1 − p."),
        ("mean", _at(P, lambda p: (1 - p) * math.tanh(1)), "a mask that keeps is 1 / (1 − p), not 1."),
        ("mean", _at(P, lambda p: math.tanh(1 - p)), "the mean of m stands inside tanh, and it is 1, not 1 − p."),
        ("mean", _at(P, lambda p: p * math.tanh(1 / (1 - p))), "p is the share dropped; 1 − p is kept."),
        ("mean", _at(P, lambda p: (1 - p) * math.tanh(1 / p)), "a mask that keeps is 1 / (1 − p), not 1 / p."),
    ]  # fmt: skip
    return Values({"mean": _at(P, lambda p: (1 - p) * math.tanh(1 / (1 - p)))}, slips)


@values
def drop_lstm() -> Values:
    """Check the share of c that is left after 20 steps with b_f = 5 and all of h dropped, chapter 14."""
    f = sig(5)
    slips = [
        ("share", 0, "c is not masked: only h is, and c is multiplied by f."),
        ("share", 1, "f is σ(5), a gate: it is not quite 1."),
        ("share", f, "that is after one step; there are 20."),
        ("share", 0.5**20, "f is σ(b_f), not σ(0): the bias is not masked."),
        ("share", 1 - f**20, "that is the share forgotten."),
        ("share", 20 * f, "the steps multiply: f²⁰."),
    ]
    return Values({"share": f**20}, slips)


# Chapters 16 to 19


@values
def lm_units() -> Values:
    """Check bits per character, perplexity, and the bytes of the compressed text, chapter 16."""
    nats, n = 1.38, 200_000
    bits = nats / math.log(2)
    slips = [
        ("bits", nats * math.log(2), "divide by ln 2: a bit is the smaller unit, so there are more of them."),
        ("bits", nats, "those are nats."),
        ("bits", nats / math.log(10), "that is log₁₀: decimal digits, not bits."),
        ("bits", math.exp(nats), "that is the perplexity."),
        ("perplexity", 2**nats, "2 belongs to bits; with nats it is e."),
        ("perplexity", math.exp(bits), "e belongs to nats; with bits it is 2."),
        ("perplexity", bits, "those are the bits; the perplexity is 2 to that power."),
        ("size", n * bits, "those are bits; a byte has 8."),
        ("size", n * nats / 8, "those are nats divided by 8: turn them into bits first."),
        ("size", bits / 8, "that is one character; the text has 200,000."),
        ("size", n * bits / 8000, "those are kilobytes."),
        ("size", n, "that is the text as it is, a byte for each character."),
    ]
    return Values({"bits": bits, "perplexity": math.exp(nats), "size": n * bits / 8}, slips)


@values
def lm_start() -> Values:
    """Check the first loss of a network with V = 102, in nats and in bits, chapter 16."""
    V = 102
    slips = [
        ("nats", math.log2(V), "those are bits: the natural logarithm gives nats."),
        ("nats", math.log10(V), "that is log₁₀."),
        ("nats", V, "that is the perplexity: take the logarithm."),
        ("nats", 1 / V, "that is the probability of each character: minus its logarithm is the loss."),
        ("nats", 0, "a loss of 0 means to know every character for certain."),
        ("bits", math.log(V), "those are nats: log₂ gives bits."),
        ("bits", math.log(V) * math.log(2), "divide the nats by ln 2."),
    ]
    return Values({"nats": math.log(V), "bits": math.log2(V)}, slips)


@values
def s2s_mean() -> Values:
    """Check L, what it would be divided by T N, and the factor of the gradient, chapter 17."""
    L = math.log(2)
    slips = [
        ("L", 10 * L, "that is the sum; L is the mean over the real tokens."),
        ("L", 1, "those are bits; the loss is in nats."),
        ("L", 0.5, "that is the probability: its minus logarithm is the loss."),
        ("L", 10 / 16 * L, "that is divided by T N; L is divided by the 10 real tokens."),
        ("L", 5 * L, "that is divided by the two sequences; L is divided by the 10 real tokens."),
        ("wrong", L, "the sum stays 10 log 2, but it is divided by T N = 16."),
        ("wrong", 10 * L / 8, "T N is 8 · 2 = 16, not 8."),
        ("factor", 1.6, "the wrong one over the right one: 10/16."),
        ("factor", 1, "the gradient is divided by the same number as the loss."),
        ("factor", 1 / 16, "the right one is divided by 10 already."),
    ]
    return Values({"L": L, "wrong": 10 / 16 * L, "factor": 10 / 16}, slips)


@values
def beam_hand() -> Values:
    """Check greedy search's sequence, the beam's for k = 2, and the list of all four, likeliest first, chapter 18."""
    slips = [
        ("greedy", "ba", "greedy search takes the likeliest first token, a."),
        ("greedy", "ab", "after a, a is the likelier: 0.55."),
        ("beam", "aa", "with k = 2 the beginning b stays, and ba has 0.4 · 0.9 = 0.36."),
        ("beam", "ab", "ab has 0.6 · 0.45 = 0.27."),
        ("beam", "bb", "after b, a is the likelier: 0.9."),
        ("ranking", ["bb", "ab", "aa", "ba"], "that is the least likely first."),
        ("ranking", ["aa", "ab", "ba", "bb"], "that is the order of the alphabet, or of the first token alone."),
        ("ranking", ["ba", "ab", "aa", "bb"], "aa has 0.6 · 0.55 = 0.33, ab 0.27."),
        ("ranking", ["aa", "ba", "ab", "bb"], "ba has 0.4 · 0.9 = 0.36, aa 0.33."),
    ]  # fmt: skip
    return Values({"greedy": "aa", "beam": "ba", "ranking": ["ba", "aa", "ab", "bb"]}, slips)


@values
def beam_tip() -> Values:
    """Check the α from which on the longer sequence wins, chapter 18."""
    short, long = math.log(0.2), math.log(0.45 * 0.55 * 0.7)
    alpha = math.log(long / short) / math.log(3)
    slips = [
        ("alpha", long / short, "that is 3^α: take the logarithm, and divide by ln 3."),
        ("alpha", math.log(long / short), "divide by ln 3: 3^α = log P₃ / log P₁."),
        ("alpha", -alpha, "the fraction stands on its head: 3^α > log P₃ / log P₁."),
        ("alpha", math.log(long / short) / math.log(2), "there are three tokens, the end included: divide by ln 3."),
        ("alpha", math.log(0.2 / (0.45 * 0.55 * 0.7)) / math.log(3), "compare the logarithms of P, not P."),
        ("alpha", 1, "α = 1 is the mean per token; it tips far below that."),
    ]
    return Values({"alpha": alpha}, slips)


@values
def cmp_units() -> Values:
    """Check how many units an LSTM and a tanh net have for a GRU with 100, for large H, chapter 19."""
    slips = [
        ("lstm", 75, "the parameters grow with the square of the units: √(3/4), not 3/4."),
        ("lstm", 100 * math.sqrt(4 / 3), "the LSTM is the larger cell: it must have fewer units."),
        ("lstm", 100, "equal units are not equal parameters: 4 H² against 3 H²."),
        ("tanh", 300, "the parameters grow with the square of the units: √3, not 3."),
        ("tanh", 100 / math.sqrt(3), "the tanh net is the smaller cell: it may have more units."),
        ("tanh", 200, "√3 against the GRU; 2 is against the LSTM."),
    ]
    return Values({"lstm": 100 * math.sqrt(3 / 4), "tanh": 100 * math.sqrt(3)}, slips)
