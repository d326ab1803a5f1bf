"""Exercises that ask for numbers: what is right, what a typical slip gives, and what it is called, by chapter."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gru_book.check.oracle import sig
from gru_book.check.values import VALUES, Answers, Values, values
from gru_book.tasks.order import two_orders


def _at(points: tuple[float, ...], f: Callable[[float], float]) -> list[float]:
    return [f(v) for v in points]


@values
def zero_mix() -> Answers:
    """Check h_1, h_2 and h_3 of one unit whose z is 0, 1 and 0.25, chapter 0."""
    yield Values({"states": [0.9, 0.9, 0.525]}, says="h goes through [0.9, 0.9, 0.525]")
    yield "states", [0, -0.5, -0.275], "z is the share that is kept: h = z h_prev + (1 − z) n."
    yield "states", [0.9, 0, 0.3], "the old state is left out: h = z h_prev + (1 − z) n."
    yield (
        "states",
        [0.9, 0.9, 0.775],
        "at the third step the shares have changed places: 0.25 is kept, 0.75 is written.",
    )
    yield "states", [0.9, 0.4, 0.5], "z = 1 writes nothing: the candidate has the share 1 − z."
    yield "states", [0.9, 0.9, 0.625], "1 − z belongs to the candidate: 0.25 · 0.9 + 0.75 · 0.4."
    yield "states", [0.9, 0.9, 0.3], "at the third step the old state is left out: a quarter of it stays."


@values
def zero_count() -> Answers:
    """Check the numbers of parameters of a GRU, of the reader around it, and of that in PyTorch, chapter 0."""
    D, H, V, K = 32, 64, 85, 12
    gru, around = 3 * (D * H + H * H + H), V * D + H * K + K
    names = ("in_cell", "in_reader", "in_torch")
    yield Values(
        dict(zip(names, (gru, gru + around, gru + around + 3 * H), strict=True)),
        exact=names,
        says="{in_cell} in the GRU, {in_reader} in the reader, {in_torch} in PyTorch",
    )
    yield "in_cell", gru // 3, "that is one of r, z and n; each has matrices and a bias of its own."
    yield "in_cell", 3 * (D * H + H * H), "the three biases are missing."
    yield "in_cell", 2 * (D * H + H * H + H), "those are the gates; the candidate has as many."
    yield "in_cell", 4 * (D * H + H * H + H), "four blocks are an LSTM; a GRU has r, z and n."
    yield "in_cell", gru + 3 * H, "that is PyTorch's, with its second bias."
    yield "in_reader", gru, "the embedding and the linear layer belong to the reader too."
    yield "in_reader", gru + around - K, "the linear layer's bias is missing."
    yield "in_reader", gru + around - V * D, "the embedding is missing: it is learned too."
    yield "in_reader", gru + V * D, "the linear layer is missing."
    yield "in_torch", gru + around + H, "each of r, z and n has a second bias in PyTorch, 3H numbers."
    yield "in_torch", gru + 3 * H, "that is nn.GRU alone; the whole reader is wanted."
    yield "in_torch", gru + around, "nn.GRU has a second bias for each of r, z and n."


@values
def sum_half() -> Answers:
    """Check the last states of h = h_prev / 2 + x for abb, bab and bba, where a adds 1 and b −1, chapter 1."""
    yield Values({"h": [-1.25, -0.75, 0.25]}, says="the last states are {h}")
    yield "h", [-1, -1, -1], "with the factor 1 it is a sum; here the old state is halved first."
    yield "h", [-0.625, -0.375, 0.125], "only the old state is halved; the new letter counts in full."
    yield "h", [0.25, -0.75, -1.25], "that reads from right to left."
    yield "h", [-0.5, 0.5, -1.5], "those are the states after two letters; each word has three."


@values
def sum_number() -> Answers:
    """Check W_h, and up to how many digits the number that is read is exact in float64, chapter 1."""
    yield Values(
        {"W_h": 2, "max_digits": 53},
        exact=("max_digits",),
        says="W_h = {W_h} doubles what was read, and {max_digits} digits are exact",
    )
    yield "W_h", 0.5, "½ halves what was read. A digit that follows doubles the worth of those before it."
    yield "W_h", 1, "with W_h = 1 it counts the ones; place value is missing."
    yield "W_h", 10, "that reads decimal digits; these are binary."
    yield "max_digits", 52, "52 digits of the fraction are stored; the leading 1 is not, and counts too."
    yield "max_digits", 54, "2⁵⁴ − 1 is odd, and odd numbers of that size are no longer stored."
    yield "max_digits", 64, "64 bits are sign, exponent and fraction together; only the fraction holds digits."
    yield "max_digits", 24, "that is float32."
    yield "max_digits", 1023, "there float64 overflows; whole numbers stop being exact far below."


@values
def sum_product() -> Answers:
    """Check the answers, 0 or 1, to ``two_orders(np.random.default_rng(8), 100, 1000)``, page 1b."""
    batch = two_orders(np.random.default_rng(8), 100, 1000)
    a, b, c, d = batch.xs[:, :, :4].argmax(axis=0).T
    yes = (a < b) == (c < d)
    first, second = (0.5 ** (999.0 - early) - 0.5 ** (999.0 - late) for early, late in ((a, b), (c, d)))
    yield Values({"answers": yes.astype(int)}, exact=("answers",), says="all 100 answers are right")
    yield "answers", ~yes, "all of them the other way round: equal signs mean yes."
    yield "answers", first * second > 0, "h₁ h₂ is below 2⁻¹⁰⁷⁴ for some, and then 0 in float64: multiply the signs."
    yield "answers", first + second > 0, "h₁ + h₂ is a linear readout; on the page no linear readout can do it."
    yield "answers", a < b, "that is whether a comes before b; c and d count too."
    yield "answers", c < d, "that is whether c comes before d; a and b count too."
    yield "answers", (a < b) & (c < d), "if both are false the answer is yes as well."
    yield "answers", np.zeros(100), "never yes. With the factor 1 in place of ½ both units end at 0."


@values
def fade_sigmoid() -> Answers:
    """Check the norm of W_h below which the gradient of an Elman net with σ surely vanishes, chapter 2."""
    yield Values({"bound": 4}, says="below a norm of {bound} the gradient must vanish")
    yield "bound", 1, "1 belongs to tanh, whose slope is at most 1; that of σ is at most ¼."
    yield "bound", 0.25, "¼ is the largest slope σ (1 − σ); the norm times the slope must be below 1."
    yield "bound", 2, "the largest slope of σ is ½ · ½ = ¼, not ½."
    yield "bound", 16, "1/16 is the slope squared; the bound has it once for each W_h."


@values
def gate_hand() -> Answers:
    """Check h = [h_1, h_2, h_3] and the weights w = [w_0, …, w_3], chapter 3."""
    yield Values(
        {"my_h": [6, 4.5, 4.5], "my_w": [3 / 8, 3 / 8, 1 / 4, 0]}, says="h is {my_h}, and the weights are {my_w}"
    )
    yield "my_h", [6, 1.5, 16], "z is the share that is kept: h = z h + (1 − z) n."
    yield "my_h", [6, 6, 8], "each step starts from the state before it, not from h_0."
    yield "my_h", [12, 12, 28], "the old state lacks its share z: h = z h + (1 − z) n."
    yield "my_h", [2, 0, 0], "the old state is left out: h = z h + (1 − z) n."
    yield "my_w", [0, 1 / 4, 3 / 8, 3 / 8], "they run backwards: w_0 belongs to h_0 and stands first."
    yield "my_w", [3 / 8, 1 / 2, 1 / 4, 0], "what is written at step k is also multiplied by every later z."
    yield "my_w", [1 / 2, 3 / 8, 1 / 4, 0], "w_0 is the product of all z: h_0 goes through every step."
    yield "my_w", [0, 0, 0, 1], "z is kept and 1 − z written; here they have changed places."


@values
def gate_long() -> Answers:
    """Check z, and the bias of a gate that keeps and of one that writes, chapter 3."""
    z = 0.05 ** (1 / 100)
    b = math.log(z / (1 - z))
    yield Values(
        {"my_z": z, "b_keep": b, "b_write": -b}, says="z = {my_z}; the bias is {b_keep} to keep, {b_write} to write"
    )
    yield "my_z", 0.95 ** (1 / 100), "z¹⁰⁰ is the weight of what is older than 100: 0.05, not 0.95."
    yield "my_z", 0.5 ** (1 / 100), "that is a half-life of 100: 50 % on the last 100."
    yield "my_z", 1 - z, "that is the share written; z is the share kept."
    yield "b_keep", -b, "the sign is turned: to keep, z must be near 1."
    yield "b_keep", math.log(z), "that is ln z; the inverse of σ is ln(z / (1 − z))."
    yield "b_keep", z / (1 - z), "the logarithm is missing: ln(z / (1 − z))."
    yield "b_keep", math.log10(z / (1 - z)), "that is log₁₀; the inverse of σ has the natural logarithm."
    yield "b_write", b, "here the gate is 1 − z: 1 − σ(b) = σ(−b)."


@values
def gate_drift() -> Answers:
    """Check the best constant gate for s = 0.3 and ν = 1, chapter 3."""
    q = 0.3**2
    root = math.sqrt(q * q + 4 * q)
    z = (2 + q - root) / 2
    yield Values({"best_z": z}, says="z = {best_z} leaves the smallest error")
    yield "best_z", (2.3 - math.sqrt(0.3**2 + 4 * 0.3)) / 2, "q is s² / ν²; that is the gate for q = s / ν."
    yield "best_z", (2 + q + root) / 2, "that is the other root; a gate lies between 0 and 1."
    yield "best_z", (2 - q - root) / 2, "the sign of q is turned: (1 − z)² = q z."
    yield "best_z", 1 - z, "that is the share written."
    yield "best_z", (1 - z) ** 2, "that is (1 − z)²."
    yield "best_z", 1 - math.sqrt(q), "the factor z is left out: (1 − z)² = q z."
    yield "best_z", 1 / (1 + q), "the error that was there before is left out: weigh ν² against v + s²."


@values
def gru_second() -> Answers:
    """Check r and z of unit 0 in the second step, chapter 4."""
    h = (0.8416, -0.5048)
    r, z = sig(2 * h[0]), sig(2 * h[1] + 0.5)
    yield Values({"my_r": r, "my_z": z}, says="r = {my_r} and z = {my_z}: unit 0 writes more than it keeps")
    yield "my_r", z, "that is z. Have the two changed places?"
    yield "my_z", r, "that is r. Have the two changed places?"
    yield "my_r", 2 * h[0], "that is a_r; σ is missing."
    yield "my_r", 1 - r, "that is 1 − r."
    yield "my_r", sig(1), "that comes from the first old state, 0.5; the old state is h_1 now."
    yield "my_r", sig(2 * h[0] + 1), "x is 0 now, and r has no bias."
    yield "my_r", sig(h[0] + 3 * h[1]), "that is unit 1: unit 0 is the first column of W_hr."
    yield "my_z", 2 * h[1] + 0.5, "that is a_z; σ is missing."
    yield "my_z", sig(2 * h[1]), "the bias 0.5 is missing from a_z."
    yield "my_z", sig(2 * h[0] + 0.5), "z of unit 0 sees unit 1 of the old state: the first column of W_hz is (0, 2)."


@values
def bug_mystery() -> Answers:
    """Check the factor in A, and the arrays whose lines are wrong in B and C, chapter 6."""
    yield Values(
        {"factor": 1 / 3, "B": "dx", "C": "W_hz"},
        also={"C": ("dW_hz", "g.W_hz", "grads.W_hz")},
        says="the factor {factor} in A, the line of {B} in B, that of {C} in C",
    )
    yield "factor", 0.33, "0.33 is rounded to two digits: which count of the check has this reciprocal?"
    yield "factor", 3, "the given gradient is the true one times the factor, so it is below 1."
    yield "factor", 0.25, "that would be 1/H; the check has N = 3 examples."
    yield "B", "xs", "xs collects from every step; which array of a single step is it made of?"
    yield "B", "da_n", "da_n is right: all of group n is."
    yield "B", "dh_prev", "h0 is right, so dh_prev is."
    yield "C", "da_z", "da_z is right, since W_xz and b_z are made of it."
    yield "C", "dh_prev", "h0 is right, so dh_prev is."


@values
def bwd_hand() -> Answers:
    """Check three more gradients of the step with one unit, chapter 5."""
    x, h = 1.0, 0.5
    r, z = sig(-x + 2 * h + 1), sig(-0.5 * x + h + 0.5)
    n = math.tanh(-x - r * h + 0.5)
    da_z, da_n = (h - n) * z * (1 - z), (1 - z) * (1 - n * n)
    da_r = -da_n * h * r * (1 - r)
    dx = -da_r - 0.5 * da_z - da_n
    yield Values({"dx": dx, "dW_hz": h * da_z, "dW_hn": r * h * da_n})
    yield "dx", 2 * da_r + da_z - da_n, "those are the state's weights; x has weights of its own."
    yield "dx", -0.5 * da_z - da_n, "the term through r is missing."
    yield "dx", -da_r - da_n, "the term through z is missing."
    yield "dx", -da_r - 0.5 * da_z, "the term through n is missing."
    yield "dW_hz", x * da_z, "that is the gradient of W_xz: W_hz is multiplied with h_prev."
    yield "dW_hz", z * da_z, "W_hz is multiplied with h_prev, not with z."
    yield "dW_hn", h * da_n, "the candidate does not see h_prev but q = r h_prev."
    yield "dW_hn", x * da_n, "that is the gradient of W_xn: W_hn is multiplied with q."
    yield "dW_hn", r * h * (1 - z), "the slope of tanh is missing: da_n, not dn."


@values
def bwd_open() -> Answers:
    """Check which terms remain at z = 0 and at r = 0, and how many arrays get no gradient at r = 0, chapter 5."""
    names = ("at_z", "at_r", "silent")
    yield Values(
        {"at_z": {3, 4}, "at_r": {1, 2}, "silent": 4},
        exact=names,
        says="terms {at_z} at z = 0, {at_r} at r = 0; {silent} arrays are silent",
    )
    yield "at_z", {1, 2}, "those go: term 1 has the factor z, and da_z the factor z (1 − z)."
    yield "at_z", {2, 3}, "with z = 0 nothing comes through z: da_z has the factor z (1 − z). Nor is term 4 touched."
    yield "at_z", {2, 3, 4}, "z is not only in term 1: what is da_z at z = 0?"
    yield "at_z", {2, 4}, "da_z has the factor z (1 − z), which is 0."
    yield "at_r", {3, 4}, "those go: term 4 has the factor r, and da_r the factor r (1 − r)."
    yield "at_r", {1, 4}, "term 4 is q's, and has the factor r."
    yield "at_r", {1, 2, 3}, "r is not only in term 4: what is da_r at r = 0?"
    yield "at_r", {1, 3}, "da_r has the factor r (1 − r), which is 0."
    yield "silent", 3, "besides W_xr, W_hr and b_r there is the matrix that q is multiplied with."
    yield "silent", 1, "da_r is 0 too, and with it whatever it is a factor of."
    yield "silent", 6, "z gets its gradient without r; and x W_xn and b_n enter the candidate beside q."


@values
def sub_bias() -> Answers:
    """Check in how many of the 544 places a subtractor without biases answers ½, whatever its weights, chapter 7."""
    yield Values({"count": 36 + 10 + 3 + 1}, exact=("count",), says="in {count} places the answer is fixed")
    yield "count", 36, "those are the first places; the state stays 0 until the first 1 is read."
    yield "count", 4, "those are the places of 0 − 0; other pairs begin with zeros too."
    yield "count", 144, "those are all places with two zeros; once a 1 has been read the state is not 0 any more."
    yield "count", 1, "that is one pair, or one place; count all places up to the first 1 of either number."


@values
def sub_add() -> Answers:
    """Check CARRY.next and CARRY.bit, each with a row for a state and a column for 00, 01, 10, 11, chapter 7."""
    yield Values(
        {"carry_next": [[0, 0, 0, 1], [0, 1, 1, 1]], "carry_bit": [[0, 1, 1, 0], [1, 0, 0, 1]]},
        says="carry and bit are those of addition",
    )
    yield "carry_next", [[0, 1, 0, 0], [1, 1, 0, 1]], "that is the borrow; a carry is 1 where two of a, b, c are."
    yield "carry_next", [[0, 0, 0, 1], [0, 0, 0, 1]], "the carry that comes in is not used."
    yield "carry_next", [[0, 1, 1, 1], [0, 0, 0, 1]], "the rows have changed places: row 0 is no carry."
    yield "carry_next", [[0, 1, 1, 1], [1, 1, 1, 1]], "one 1 is enough there; a carry needs two of a, b, c."
    yield "carry_next", [[0, 0, 0, 1], [1, 1, 1, 1]], "a carry once made never ends: with a = b = 0 it must."
    yield "carry_next", [[1, 0, 0, 0], [1, 1, 1, 0]], "the columns run backwards: 00, 01, 10, 11."
    yield "carry_next", [[0, 1, 1, 0], [1, 0, 0, 1]], "that is the bit; the carry is wanted."
    yield "carry_bit", [[0, 1, 1, 0], [0, 1, 1, 0]], "the carry is left out: the bit is a ⊕ b ⊕ c."
    yield "carry_bit", [[1, 0, 0, 1], [0, 1, 1, 0]], "the rows have changed places: row 0 is no carry."
    yield "carry_bit", [[0, 1, 1, 1], [1, 1, 1, 1]], "that is or; the bit is a ⊕ b ⊕ c."
    yield "carry_bit", [[0, 0, 0, 1], [0, 1, 1, 1]], "that is the carry; the bit is a ⊕ b ⊕ c."


@values
def sub_steep() -> Answers:
    """Check the smallest whole K for which some δ makes a proof, chapter 7."""
    yield Values({"smallest_K": 8}, exact=("smallest_K",), says="K = {smallest_K} is the smallest with a proof")
    yield "smallest_K", 7, "at 7 no δ makes a proof; hard pairs even show errors."
    yield "smallest_K", 9, "at 9 there is a proof, and at 8 too: try more values of δ."
    yield "smallest_K", 20, "the text proved 20; a smaller K will do with another δ."
    yield "smallest_K", 80, "the text proved 80; a far smaller K will do."
    yield "smallest_K", 1, "at 1 the network is far too soft: its answers are wrong."


@values
def mem_trace() -> Answers:
    """Check z, r and h of the unit that holds the parity since a break, as it reads ``1 0 1 | 1 1``, chapter 8."""
    z, r, h = [0, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 1], [1, 1, -1, -1, 1, -1]
    yield Values(
        {"my_z": z, "my_r": r, "my_h": h}, exact=("my_z", "my_r", "my_h"), says="z, r and h agree at all six steps"
    )
    yield "my_z", [1 - v for v in z], "z is the share that is kept: a 1 and a break write, a 0 keeps."
    yield "my_z", [0, 1, 0, 1, 0, 0], "at the break z is 0 too: it has to be written."
    yield "my_z", [0] * 6, "at a 0 nothing is to be written: z is 1 there."
    yield "my_r", [1 - v for v in r], "r = 0 hides the old state, which is wanted at the break only."
    yield "my_r", [1] * 6, "at the break a_r = 40 − 80: the candidate is not to see the old state."
    yield "my_r", z, "that is z; r is 0 at the break only."
    yield "my_h", [1, 1, -1, 1, -1, 1], "at the break h becomes −1 whatever it was; it does not flip."
    yield "my_h", [1, 1, 0, 0, 1, 0], "even is −1 here, not 0, but at the start."
    yield "my_h", [1, -1, 1, -1, 1, -1], "a 0 keeps: it does not flip."
    yield "my_h", [1, 1, -1, 0, 1, -1], "at the break a_n = 20 − 40 = −20, so h = −1."


@values
def hwy_explode() -> Answers:
    """Check the W_hn of one unit for which ∂h_100/∂h_0 is 2^100, chapter 9."""
    step = 2  # what each step multiplies by
    yield Values(
        {"weight": int(4 * (step - 0.5))},
        exact=("weight",),
        says="with W_hn = {weight} the gradient is exactly 2^100 after 100 steps",
    )
    yield "weight", 2 * (step - 0.5), "W_hn has two factors ½: one is 1 − z, the other r."
    yield "weight", 4 * step, "the direct path is missing: it adds z = ½ at every step."
    yield "weight", 2 * step, "the direct path is missing, which adds z = ½, and so is r = ½."
    yield "weight", step, "that is what a step multiplies by: solve ½ + ¼ W_hn for it."
    yield "weight", -10, "each step then multiplies by −2, but W_hn > 0 is asked for."


@values
def hwy_line() -> Answers:
    """Check at which digits of ``..3..<6.1>.....5..<.2>..`` a dot hardly moves the last state, chapter 9."""
    yield Values({"digits": {"3", "6", "1", "2"}}, says="a dot in place of {digits} hardly moves the last state")
    yield "digits", {"6", "1", "2"}, "the 3 is outside brackets, but the 5 came after it and took its place."
    yield "digits", {"3"}, "digits inside brackets do not count either."
    yield "digits", {"3", "6", "1", "5"}, "the 5 is the answer; the 2 stands in brackets."
    yield "digits", {"3", "6", "1"}, "the 2 comes last, but it stands in brackets."
    yield "digits", {"5"}, "that is the one that does count; the others are asked for."


@values
def conv_advice() -> Answers:
    """Check p.b_z, the sum of PyTorch's two biases, and Keras's bias, for H = 2, chapter 10."""
    right = {"b_ours": 1, "b_torch": [0, 0, 1, 1, 0, 0], "b_keras": [1, 1, 0, 0, 0, 0]}
    yield Values(right, says="b_z is {b_ours} in ours, and in its place in both frameworks")
    yield "b_ours", -1, "the sign turns: our z is the share kept, the paper's the share written."
    yield "b_ours", 0, "the advice does not vanish: σ(−a) = 1 − σ(a), so b_z turns its sign."
    yield "b_torch", [0, 0, -1, -1, 0, 0], "PyTorch keeps, too: the sign turns."
    yield "b_torch", [1, 1, 0, 0, 0, 0], "PyTorch's order is r, z, n: z has the middle rows."
    yield "b_torch", [0, 0, 2, 2, 0, 0], "PyTorch adds its two biases: 1 in one of them is enough."
    yield "b_torch", [0, 0, 0, 0, 1, 1], "PyTorch's order is r, z, n: those are the candidate's rows."
    yield "b_torch", [1, 1, 1, 1, 1, 1], "only the update gate's bias is meant."
    yield "b_keras", [-1, -1, 0, 0, 0, 0], "Keras keeps, too: the sign turns."
    yield "b_keras", [0, 0, 1, 1, 0, 0], "Keras's order is z, r, n: z comes first."
    yield "b_keras", [0, 0, 0, 0, 1, 1], "Keras's order is z, r, n: those are the candidate's."
    yield "b_keras", [1, 1, 1, 1, 1, 1], "only the update gate's bias is meant."


@values
def fast_budget() -> Answers:
    """Check the operations of a training step, and the hours for 10,000 of them, chapter 11."""
    T, N, D, H = 100, 64, 64, 512
    F = 18 * T * N * H * (D + H)
    hours = 1e4 * F / 60e9 / 3600
    says = f"a training step takes {F:,} operations, and 10,000 steps {{hours}} hours"
    yield Values({"operations": F, "hours": hours}, says=says)
    yield "operations", F / 3, "that is the forward pass; backward costs twice as much again."
    yield "operations", F * 2 / 3, "that is the backward pass alone; add the forward pass."
    yield "operations", F / 2, "a multiplication and an addition are two operations."
    yield "operations", F / T, "that is one time step; the sequence has 100."
    yield "operations", F / N, "that is one sequence; the batch has 64."
    yield "operations", F * 4 / 3, "that is an LSTM; a GRU has three products of a kind, not four."
    yield "operations", 18 * T * N * H * H, "the product with x is left out: D + H in place of H."
    yield "operations", F / 1e9, "those are billions; give the number itself."
    yield "hours", F / 60e9, "that is one step in seconds; 10,000 of them in hours are wanted."
    yield "hours", hours * 3600, "those are seconds."
    yield "hours", hours * 60, "those are minutes."


@values
def lstm_count() -> Answers:
    """Check how many parameters can be left out, and how many units fit into the size of a GRU, chapter 12."""
    size = 3 * (28 * 128 + 128 * 128 + 128)
    units = max(k for k in range(128) if 4 * (28 * k + k * k + k) <= size)
    yield Values(
        {"spare": 512, "units": units}, exact=("spare", "units"), says="{spare} numbers can go, and {units} units fit"
    )
    yield "spare", 1024, "those are all the biases; one of each block must stay."
    yield "spare", 384, "an LSTM has four blocks, and in all four the two biases are only added."
    yield "spare", 128, "that is one block of four."
    yield "units", 96, "¾ of the units are too few: the parameters grow with the square of the units."
    yield "units", 128, "an LSTM of 128 units is larger by a third."
    yield "units", 147, "the LSTM is the larger cell: it must have fewer units."
    yield "units", 110, "110 units are just too many: count exactly, with one bias for each block."
    yield "units", 108, "one more still fits."


@values
def lstm_biases() -> Answers:
    """Check b_f, b_i, the share that is left after 199 forget gates, and the half-life in steps, chapter 12."""
    f = 199 / 200
    b = math.log(199)
    yield Values(
        {"my_b_f": b, "my_b_i": -b, "share": f**199, "half_life": math.log(0.5) / math.log(f)},
        tolerance=0.012,  # share and half-life of a b_f of 5.3 are right too
        says="b_f = {my_b_f}, b_i = {my_b_i}: {share} is left, half after {half_life} steps",
    )
    yield "my_b_f", -b, "the sign is turned: to keep, f must be near 1."
    yield "my_b_f", f, "that is f; the bias is ln(f / (1 − f))."
    yield "my_b_f", math.log10(199), "that is log₁₀; σ needs the natural logarithm."
    yield "my_b_i", b, "keep and write are to add up to 1: b_i = −b_f."
    yield "my_b_i", 0, "that writes half of each candidate; keep and write are to add up to 1: b_i = −b_f."
    yield "share", f, "that is one step; the token has gone through 199 forget gates."
    yield "share", 0.5, "half is left after the half-life; after 199 steps it is less."
    yield "share", 1 - f**199, "that is what is lost."
    yield "half_life", 199 * f**199, "divide the logarithms: ln ½ / ln f."
    yield "half_life", 1 / (1 - f), "after that many steps 1/e is left, not half."
    yield "half_life", math.log(f) / math.log(0.5), "the fraction stands on its head: ln ½ / ln f."


@values
def other_pile() -> Answers:
    """Check the strengths of a, b, c after each step, and their shares in each read: both (3, 3), chapter 13."""
    first, s2, read2 = [0.6, 0, 0], [0.6, 0.6, 0], [0.4, 0.6, 0]
    yield Values(
        {"my_strengths": [first, s2, [0.4, 0, 0.2]], "my_reads": [first, read2, [0.4, 0, 0.2]]},
        says="strengths and reads agree at all three steps",
    )
    yield "my_strengths", [first, s2, [0, 0.4, 0.2]], "the pop takes from the top, b first; this took a first."
    yield "my_strengths", [first, s2, [0.6, 0, 0]], "pop first, then push: this took from c, which was not there yet."
    yield (
        "my_strengths",
        [first, s2, [0.6, 0, 0.2]],
        "the pop of 0.8 takes 0.6 from b, and the 0.2 that is left from a.",
    )
    yield "my_strengths", [first, s2, [0.6, 0.6, 0.2]], "the pop is missing at step 3."
    yield "my_strengths", [first, s2, [0, 0, 0.2]], "the pop takes 0.8 in all, not 0.8 from each."
    yield "my_strengths", [first, [0.4, 0.6, 0], [0.2, 0, 0.2]], "a read takes nothing away: a keeps 0.6 at step 2."
    yield "my_reads", [first, [0.6, 0.4, 0], [0.4, 0, 0.2]], "the read begins at the top: 0.6 of b, then 0.4 of a."
    yield "my_reads", [first, [0.6, 0.6, 0], [0.4, 0, 0.2]], "a read is at most 1 in all: after 0.6 of b, 0.4 of a."
    yield "my_reads", [first, [0, 0.6, 0], [0, 0, 0.2]], "the read goes on below the top until it has 1 in all."
    yield "my_reads", [[1, 0, 0], read2, [2 / 3, 0, 1 / 3]], "a read is not scaled to 1; it may be less."
    yield "my_reads", [[1, 0, 0], read2, [0.8, 0, 0.2]], "no entry gives more than its strength."


@values
def other_alpha() -> Answers:
    """Check 1 − α for T = 10, 100 and 1000, chapter 13: so near to 1, two α would look alike."""
    T = (10, 100, 1000)
    yield Values({"lost": _at(T, lambda t: 1 - 2 ** (-1 / t))}, says="half is left with 1 − α = {lost}")
    yield "lost", _at(T, lambda t: 1 - math.exp(-1 / t)), "that leaves 1/e after T steps; half is wanted."
    yield "lost", _at(T, lambda t: 0.5 / t), "the loss is not shared out evenly: α^T = ½, not T (1 − α) = ½."
    yield "lost", _at(T, lambda t: math.log(2) / t), "that is right for large T only: 1 − 2^(−1/T)."
    yield "lost", _at(T, lambda t: 2 ** (-1 / t)), "that is α; 1 − α is wanted, what one step loses."
    yield "lost", _at(T, lambda t: 2 ** (1 / t) - 1), "that is for α = 2^(1/T), which grows: the exponent is −1/T."
    yield "lost", _at(T, lambda t: 1 - 2**-t), "that is for α = 2^(−T); the T-th root is wanted."


@values
def other_product() -> Answers:
    """Check the best constant k and its mean squared error for the product of two marked numbers, chapter 13."""
    yield Values({"best_k": 1 / 4, "error": 7 / 144}, says="k = {best_k} is best, with the error {error}")
    yield "best_k", 1, "that is the mean of the sum; the mean of the product is wanted."
    yield "best_k", 1 / 2, "that is the mean of one of the two numbers."
    yield "best_k", 1 / 3, "that is the mean of a square; the two numbers are independent."
    yield "error", 1 / 144, "variances of independent numbers add up in a sum; in a product they do not multiply."
    yield "error", 1 / 9, "that is the mean of the square; take away the square of the mean."
    yield "error", 1 / 6, "that is the error for the sum."
    yield "error", 1 / 12, "that is the variance of one of the two numbers."


@values
def other_head() -> Answers:
    """Check the weights of a head that goes on from row 2 of four, and what it reads, chapter 13."""
    behind, right = 0.04 / 0.68, 0.64 / 0.68
    yield Values(
        {"my_w": [0, 0, behind, right], "my_read": [-behind, -right]},
        places=2,
        says="the weights are {my_w}, the read {my_read}",
    )
    yield "my_w", [0, 0, 0.2, 0.8], "that is before sharpening: square the weights, then divide by their sum."
    yield "my_w", [0, 0, 0.04, 0.64], "the squares must sum to 1: divide by 0.68."
    yield "my_w", [0, right, behind, 0], "the head went a row back: π₁ is the share that goes on."
    yield "my_w", [right, 0, behind, 0], "row 3 follows row 2."
    yield "my_w", [0, 0, right, behind], "0.8 goes on to row 3, 0.2 stays at row 2."
    yield "my_read", [-0.2, -0.8], "that is read with the weights before sharpening."
    yield "my_read", [behind, right], "the rows hold −1."
    yield "my_read", [-right, -behind], "row 2 is (−1, 0), with the smaller weight."


@values
def other_sharp() -> Answers:
    """Check the ratio q at which the row behind settles, for ε = 0.1 and γ = 2, chapter 13."""
    low, high = ((7 / 9 + sign * math.sqrt(45 / 81)) / 2 for sign in (-1, 1))
    yield Values({"q": low}, tolerance=0.02, says="the ratio settles at {q}")
    yield "q", 0.1, "that is ε; sharpening raises it to the power γ."
    yield "q", 0.01, "that is ε^γ, the rough estimate: what was behind before adds to it."
    yield "q", (0.1 / 0.9) ** 2, "that is after one step; go on until q no longer changes."
    yield "q", high, "that is the other fixed point; it repels."
    yield "q", 0.9**100, "that is the right row without sharpening."
    yield "q", math.sqrt(low), "that is √q, before sharpening."


@values
def drop_lstm() -> Answers:
    """Check the share of c that is left after 20 steps with b_f = 5 and all of h dropped, chapter 14."""
    f = sig(5)
    yield Values({"still_held": f**20}, says="{still_held} of c is left after 20 steps")
    yield "still_held", 0, "c is not masked: only h is, and c is multiplied by f."
    yield "still_held", 1, "f is σ(5), a gate: it is not quite 1."
    yield "still_held", f, "that is after one step; there are 20."
    yield "still_held", 0.5**20, "f is σ(b_f), not σ(0): the bias is not masked."
    yield "still_held", 1 - f**20, "that is the share forgotten."
    yield "still_held", 20 * f, "the steps multiply: f²⁰."


@values
def lm_units() -> Answers:
    """Check bits per character, perplexity, and the bytes of the compressed text, chapter 16."""
    nats, n = 1.38, 200_000
    bits = nats / math.log(2)
    yield Values(
        {"model_bits": bits, "perplexity": math.exp(nats), "size": n * bits / 8},
        says="{model_bits} bits, a perplexity of {perplexity}, {size} bytes",
    )
    yield "model_bits", nats * math.log(2), "divide by ln 2: a bit is the smaller unit, so there are more of them."
    yield "model_bits", nats, "those are nats."
    yield "model_bits", nats / math.log(10), "that is log₁₀: decimal digits, not bits."
    yield "model_bits", math.exp(nats), "that is the perplexity."
    yield "perplexity", 2**nats, "2 belongs to bits; with nats it is e."
    yield "perplexity", math.exp(bits), "e belongs to nats; with bits it is 2."
    yield "perplexity", bits, "those are the bits; the perplexity is 2 to that power."
    yield "size", n * bits, "those are bits; a byte has 8."
    yield "size", n * nats / 8, "those are nats divided by 8: turn them into bits first."
    yield "size", bits / 8, "that is one character; the text has 200,000."
    yield "size", n * bits / 8000, "those are kilobytes."
    yield "size", n, "that is the text as it is, a byte for each character."


@values
def lm_start() -> Answers:
    """Check the first loss of a network with V = 61, in nats and in bits, chapter 16."""
    V = 61
    yield Values(
        {"first_nats": math.log(V), "first_bits": math.log2(V)}, says="{first_nats} nats, or {first_bits} bits"
    )
    yield "first_nats", math.log2(V), "those are bits: the natural logarithm gives nats."
    yield "first_nats", math.log10(V), "that is log₁₀."
    yield "first_nats", V, "that is the perplexity: take the logarithm."
    yield "first_nats", 1 / V, "that is the probability of each character: minus its logarithm is the loss."
    yield "first_nats", 0, "a loss of 0 means to know every character for certain."
    yield "first_bits", math.log(V), "those are nats: log₂ gives bits."
    yield "first_bits", math.log(V) * math.log(2), "divide the nats by ln 2."


@values
def s2s_product() -> Answers:
    """Check log P and the loss L of a target whose four tokens have the probabilities ½, ¼, ½ and 1, chapter 17."""
    log_p = -math.log(16)
    yield Values({"log_P": log_p, "L": -log_p / 4}, says="log P = {log_P}, and the loss is {L}")
    yield "log_P", 1 / 16, "that is P; take its logarithm."
    yield "log_P", math.log(2.25), "the probabilities are multiplied, not added."
    yield "log_P", log_p / 4, "that is the mean; log P is the sum over the tokens."
    yield "log_P", -4, "those are bits; the natural logarithm is wanted."
    yield "L", -log_p, "that is the sum; the loss is the mean over the tokens."
    yield "L", -log_p / 3, "a token that is certain costs nothing, and counts in the mean all the same."
    yield "L", log_p / 4, "the loss is minus the mean logarithm."
    yield "L", -math.log(2.25 / 4), "that is the logarithm of the mean; the mean of the logarithms is wanted."


@values
def s2s_mean() -> Answers:
    """Check L, what it would be divided by T N, and the factor of the gradient, chapter 17."""
    L = math.log(2)
    yield Values(
        {"mean_L": L, "wrong_L": 10 / 16 * L, "factor": 10 / 16},
        says="L = {mean_L}, not {wrong_L}; the gradient is off by the factor {factor}",
    )
    yield "mean_L", 10 * L, "that is the sum; L is the mean over the real tokens."
    yield "mean_L", 1, "those are bits; the loss is in nats."
    yield "mean_L", 0.5, "that is the probability: its minus logarithm is the loss."
    yield "mean_L", 10 / 16 * L, "that is divided by T N; L is divided by the 10 real tokens."
    yield "mean_L", 5 * L, "that is divided by the two sequences; L is divided by the 10 real tokens."
    yield "wrong_L", L, "the sum stays 10 log 2, but it is divided by T N = 16."
    yield "wrong_L", 10 * L / 8, "T N is 8 · 2 = 16, not 8."
    yield "factor", 1.6, "the wrong one over the right one: 10/16."
    yield "factor", 1, "the gradient is divided by the same number as the loss."
    yield "factor", 1 / 16, "the right one is divided by 10 already."


@values
def att_hand() -> Answers:
    """Check the three weights and the context, chapter 18."""
    c = [2 / 7 * math.log(2), 4 / 7 * math.log(4)]
    yield Values(
        {"my_weights": [1 / 7, 2 / 7, 4 / 7], "my_context": c},
        places=2,
        says="weights {my_weights}, context {my_context}",
    )
    yield "my_weights", [0, 1 / 3, 2 / 3], "that is the score over the sum of the scores; take exponentials first."
    yield "my_weights", [0, math.log(2), math.log(4)], "those are the scores; the softmax makes weights of them."
    yield "my_weights", [1, 2, 4], "those are the exponentials; divide by their sum, 7."
    yield "my_weights", [0, 0, 1], "that takes the best place alone; a softmax leaves all some weight."
    yield "my_context", [math.log(2), math.log(4)], "that is the sum of the states; weigh them."
    yield "my_context", [math.log(2) / 3, math.log(4) / 3], "that is the plain mean; weigh the states."
    yield "my_context", [4 / 7 * math.log(2), 2 / 7 * math.log(4)], "the weights of h₂ and h₃ have changed places."
    yield "my_context", [2 * math.log(2), 4 * math.log(4)], "the weights there are not divided by 7."


@values
def att_pad() -> Answers:
    """Check the weight that goes to the padding, and the factor of the context, chapter 18."""
    yield Values(
        {"lost": 2 / 9, "factor": 7 / 9}, says="{lost} is lost to the padding, {factor} of the context is left"
    )
    yield "lost", 0, "a padded place scores 0, and e⁰ is 1, not 0."
    yield "lost", 1 / 9, "there are two padded places."
    yield "lost", 2 / 7, "the padding is in the sum below the fraction too: 7 + 2."
    yield "lost", 2 / 5, "that is the share of the places; weigh them by e to the score."
    yield "factor", 1, "the states of padding are zero, but the real weights have become smaller."
    yield "factor", 2 / 9, "that is what is lost; the factor is what is left."
    yield "factor", 9 / 7, "the wrong one over the right one: 7/9."


@values
def self_hand() -> Answers:
    """Check what each of three places gets by masked self-attention, page 18b."""
    yield Values({"my_row": [3, 5, 8.5]}, says="the three places get {my_row}")
    yield "my_row", [8.5, 8.5, 8.5], "that is without the mask: place t sees places 1 to t."
    yield "my_row", [3, 4.5, 7], "those are plain means; weigh the values by e to the score."
    yield "my_row", [3, 15, 51], "those are the weighted sums; divide by the sum of the exponentials."
    yield "my_row", [3, 6, 12], "those are the values; each place gets a mean."
    yield "my_row", [8.5, 9.6, 12], "that mask hides the earlier places; hide the later ones."


@values
def self_size() -> Answers:
    """Check the number of parameters of a Transformer block of width 24, page 18b."""
    yield Values({"parameters": 7224}, exact=("parameters",), says="{parameters} parameters")
    yield "parameters", 6912, "the matrices alone have that; count the biases and the normalisations."
    yield "parameters", 7008, "count the biases of the four layers too: 3d + d + 4d + d."
    yield "parameters", 7128, "96 are missing, as many as both normalisations have, or up has biases."
    yield "parameters", 7152, "72 are missing, as many as the biases of queries, keys and values."
    yield (
        "parameters",
        7176,
        "48 are missing, as many as one of the two normalisations has, a gain and a bias.",
    )
    yield (
        "parameters",
        7200,
        "24 are missing, as many as the biases of mix, or of down.",
    )
    yield "parameters", 7296, "72 are too many: a layer has a bias for each number that it gives out, so down has d."
    yield "parameters", 6024, "queries, keys and values have a matrix each."
    yield "parameters", 3696, "the small network has 4d units inside: up gives out 4d numbers, and down d."


@values
def beam_hand() -> Answers:
    """Check greedy search's sequence, the beam's for k = 2, and the list of all four, likeliest first, chapter 19."""
    yield Values(
        {"by_greedy": "aa", "by_beam": "ba", "ranking": ["ba", "aa", "ab", "bb"]},
        says="greedy search says {by_greedy}, the beam {by_beam}; the ranking is {ranking}",
    )
    yield "by_greedy", "ba", "greedy search takes the likeliest first token, a."
    yield "by_greedy", "ab", "after a, a is the likelier: 0.55."
    yield "by_beam", "aa", "with k = 2 the beginning b stays, and ba has 0.4 · 0.9 = 0.36."
    yield "by_beam", "ab", "ab has 0.6 · 0.45 = 0.27."
    yield "by_beam", "bb", "after b, a is the likelier: 0.9."
    yield "ranking", ["bb", "ab", "aa", "ba"], "that is the least likely first."
    yield "ranking", ["aa", "ab", "ba", "bb"], "that is the order of the alphabet, or of the first token alone."
    yield "ranking", ["ba", "ab", "aa", "bb"], "aa has 0.6 · 0.55 = 0.33, ab 0.27."
    yield "ranking", ["aa", "ba", "ab", "bb"], "ba has 0.4 · 0.9 = 0.36, aa 0.33."


@values
def beam_tip() -> Answers:
    """Check the α from which on the longer sequence wins, chapter 19."""
    short, long = math.log(0.2), math.log(0.45 * 0.55 * 0.7)
    alpha = math.log(long / short) / math.log(3)
    yield Values({"tip": alpha}, says="from α = {tip} on the longer one wins")
    yield "tip", long / short, "that is 3^α: take the logarithm, and divide by ln 3."
    yield "tip", math.log(long / short), "divide by ln 3: 3^α = log P₃ / log P₁."
    yield "tip", -alpha, "the fraction stands on its head: 3^α > log P₃ / log P₁."
    yield "tip", math.log(long / short) / math.log(2), "there are three tokens, the end included: divide by ln 3."
    yield "tip", math.log(0.2 / (0.45 * 0.55 * 0.7)) / math.log(3), "compare the logarithms of P, not P."
    yield "tip", 1, "α = 1 is the mean per token; it tips far below that."


@values
def cmp_units() -> Answers:
    """Check how many units an LSTM and a tanh net have for a GRU with 100, for large H, chapter 20."""
    yield Values(
        {"lstm_units": 100 * math.sqrt(3 / 4), "tanh_units": 100 * math.sqrt(3)},
        tolerance=5e-3,  # whole units will do, 87 and 173
        says="{lstm_units} units for an LSTM, {tanh_units} for a tanh net",
    )
    yield "lstm_units", 86, "that is the most that fit with D = K = 10; for large H it is √(3/4) of 100."
    yield "tanh_units", 175, "that is the most that fit with D = K = 10; for large H it is √3 times 100."
    yield "lstm_units", 75, "the parameters grow with the square of the units: √(3/4), not 3/4."
    yield "lstm_units", 100 * math.sqrt(4 / 3), "the LSTM is the larger cell: it must have fewer units."
    yield "lstm_units", 100, "equal units are not equal parameters: 4 H² against 3 H²."
    yield "tanh_units", 300, "the parameters grow with the square of the units: √3, not 3."
    yield "tanh_units", 100 / math.sqrt(3), "the tanh net is the smaller cell: it may have more units."
    yield "tanh_units", 200, "√3 against the GRU; 2 is against the LSTM."


@values
def loop_round() -> Answers:
    """Check how the steps are missed, their slopes, and the states after one round of Newton's method, page 21b."""
    yield Values(
        {"my_missed": [0, 0.25, 0.25], "my_slopes": [0, 0.5, 0.5], "my_h": [1, 1.25, 1.375]},
        says="missed by {my_missed}, slopes {my_slopes}; the states are then {my_h}",
    )
    yield "my_missed", [0, -0.25, -0.25], "what is missed is f − h, not h − f."
    yield "my_missed", [0, 0.25, 0.390625], "all steps are missed at the guess; no state has moved yet."
    yield "my_missed", [0.25, 0.25, 0.25], "step 1 starts from h_0 = 0, which is no guess."
    yield "my_slopes", [0.5, 0.5, 0.5], "step 1 starts from h_0 = 0: its slope is 0."
    yield "my_slopes", [0, 0.25, 0.25], "that is h²/4 itself; its slope is h/2."
    yield "my_slopes", [0, 1, 1], "the slope of h²/4 is h/2."
    yield "my_h", [1, 1.25, 1.25], "the correction of step 2 goes on to step 3, times its slope: that is missing."
    yield "my_h", [1, 1.25, 1.390625], "those are the loop's; one round gives the third state only nearly."
    yield "my_h", [1, 1.25, 1.5], "what step 2 hands on is multiplied by the slope ½ first."
    yield "my_h", [0, 0.25, 0.375], "those are the corrections; add them to the guess."


@values
def scan_parity() -> Answers:
    """Check for how many steps of ones a minGRU with 8 units and z in (0, 1) can say the parity, chapter 21."""
    yield Values({"at_most": 9}, exact=("at_most",), says="{at_most} steps at most")
    yield "at_most", 8, "8 sign changes lie between 9 steps."
    yield "at_most", 10, "10 steps would need 9 sign changes; 8 units give at most 8."
    yield "at_most", 7, "each unit can give a sign change: 8, not 6."
    yield "at_most", 256, "that would be states of 8 bits; a sum of 8 powers changes sign 8 times."
    yield "at_most", 16, "a unit gives one sign change, not two."


@values
def scan_three() -> Answers:
    """Check the smallest angle above 0, in degrees, of a factor that counts modulo 3, chapter 21."""
    yield Values({"angle": 120}, says="{angle} degrees: three steps make a full turn")
    yield "angle", 180, "that is −1, which counts modulo 2."
    yield "angle", 60, "that counts modulo 6: three steps must make a full turn."
    yield "angle", 90, "that counts modulo 4: three steps must make a full turn."
    yield "angle", 2 * math.pi / 3, "those are radians; degrees are wanted."
    yield "angle", 240, "that counts too, the other way round; the smallest angle is wanted."
    yield "angle", -120, "that counts too, the other way round; the smallest positive angle is wanted."
    yield "angle", 360, "a full turn in one step is the factor 1, which counts nothing."


__all__ = [*VALUES]  # every function under `values`, so this stands last
