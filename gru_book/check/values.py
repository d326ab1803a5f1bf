"""Compare the numbers that a reader has worked out with the right ones, and find the words for what is wrong.

One rule for all: an answer is right if it is right at the precision that the page prints, in any form in which a reader
would type it: numbers, a list, a tuple, an array, or a text such as "3, 6, 1, 2", "3612", "1/3", "83 %" or "-4 ln 2".
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from gru_book.check.engine import Blank, Fault, Result, described, listed

__all__ = ["VALUES", "Answers", "Slip", "Values", "near", "values", "wanted"]

#: A mistake in one value: which one, what it is then, and the message.
Slip = tuple[str, Any, str]
#: What a generator yields: first the `Values` that are right, then each `Slip`.
Answers = Iterator[Any]


@dataclass
class Values:
    """The right values, by name and in order: numbers, lists of numbers, or words; and how they may go wrong."""

    right: dict[str, Any]
    slips: Sequence[Slip] = ()
    exact: tuple[str, ...] = ()  # whole numbers; of the others about three digits are enough, or two that are right
    also: dict[str, tuple[str, ...]] = field(default_factory=dict)  # other names of a right word
    tolerance: float = 5e-3  # relative
    places: int | None = None  # so many decimals are enough, where the page prints no more
    says: str = ""  # what the right values mean, with a place for each by its name; else they are listed

    def fits(self, label: str, found: Any, value: Any) -> bool:
        """Whether what was found for a label is this value."""
        if label in self.exact:
            return near(found, value, tolerance=0)
        if isinstance(value, str) and value == self.right[label] and found in self.also.get(label, ()):
            return True
        if near(found, value, tolerance=self.tolerance):
            return True
        if self.places is not None and _to_places(found, value, self.places):
            return not self.slipped(label, found)
        return _rounded(found, value) and not self.slipped(label, found)

    def slipped(self, label: str, found: Any) -> bool:
        """Whether what was found for a label is a slip, to the last digit."""
        return any(label == other and near(found, slip, tolerance=1e-9) for other, slip, _ in self.slips)

    def printed(self, found: dict[str, Any], labels: Sequence[str]) -> bool:
        """Whether these are the right numbers as a table prints them, all to the same decimal place."""
        if any(label in self.exact or not _is_number(self.right[label]) for label in labels):
            return False
        if any(self.slipped(label, found[label]) for label in labels):
            return False
        return _to_one_place(*(np.hstack([np.ravel(of[label]) for label in labels]) for of in (found, self.right)))


#: What builds each exercise that asks for numbers, by name.
VALUES: dict[str, Callable[[], Values]] = {}


def values(build: Callable[[], Answers]) -> Callable[..., Result]:
    """Turn a generator of Answers into a check of that name, which takes the values in their order."""
    name = build.__name__

    def task() -> Values:
        right, *slips = build()
        return replace(right, slips=slips)

    @functools.wraps(build)
    def check(*given: Any) -> Result:
        answers = task()
        try:
            found = _compare(answers, given)
        except Fault as fault:
            return Result(False, str(fault), isinstance(fault, Blank))
        shown = {label: _shown(value) for label, value in found.items()}
        listing = ", ".join(f"{label} = {value}" for label, value in shown.items())
        return Result(True, f"{answers.says.format(**shown) or listing}.")

    kind = inspect.Parameter.POSITIONAL_ONLY
    shown = [inspect.Parameter(label, kind) for label in task().right]
    VALUES[name] = task
    vars(check)["__signature__"] = inspect.Signature(shown, return_annotation="Result")
    return check


def near(found: Any, right: Any, *, tolerance: float = 5e-3) -> bool:
    """Whether words are the same, or numbers agree."""
    if not _is_number(right):
        return type(found) is type(right) and bool(found == right)
    return np.shape(found) == np.shape(right) and bool(np.allclose(found, right, rtol=tolerance, atol=1e-9))


def _rounded(found: Any, right: Any) -> bool:
    """Whether numbers are the right ones with two digits each, such as 0.38 for 0.375, and none is as large as 100."""
    if not _is_number(right) or np.shape(found) != np.shape(right):
        return False
    for value, exact in zip(np.ravel(found).tolist(), np.ravel(right).tolist(), strict=True):
        unit = 10.0 ** (np.floor(np.log10(abs(exact))) - 1) if exact else 1.0  # of the second digit
        two = abs(value / unit - round(value / unit)) < 1e-6 and abs(value - exact) <= 0.5000001 * unit
        of_one = value == float(f"{value:.1g}")
        if not (near(value, exact) or (two and not of_one and abs(exact) < 100)):
            return False
    return True


def _to_places(found: Any, right: Any, places: int) -> bool:
    """Whether numbers are the right ones to so many decimals, such as 0.2 for 0.198."""
    if not _is_number(right) or np.shape(found) != np.shape(right):
        return False
    return bool((np.abs(np.subtract(found, right)) <= 0.5000001 * 0.1**places).all())


def _to_one_place(found: Any, right: Any) -> bool:
    """Whether numbers are the right ones to the same place, such as 2.41, 0.29, 0.03; the largest has three digits."""
    places = next((d for d in range(7) if np.allclose(found * 10**d, np.round(found * 10**d), rtol=0, atol=1e-6)), None)
    if places is None or np.abs(right).max() < 100 * 0.1**places:
        return False
    return bool((np.abs(found - right) <= 0.5000001 * 0.1**places).all())


def _is_number(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "biuf"


def _compare(task: Values, given: tuple[Any, ...]) -> dict[str, Any]:
    """Return the right values as they were given, or raise Fault."""
    if len(given) == 1 and len(task.right) > 1:
        (one,) = given
        words = _words(one) if isinstance(one, str) else list(one) if isinstance(one, tuple | list) else []
        if isinstance(one, str) and len(words) != len(task.right):  # "-4 ln 2, ln 2"
            words = [word for word in re.split(r"[,;|]", one.strip("()[] ")) if word.strip()]
        if isinstance(one, np.ndarray) and one.ndim:
            words = list(one)
        given = tuple(words) if words and (len(words) == len(task.right) or not isinstance(one, str)) else given
    if len(given) != len(task.right):
        raise Fault(f"give {listed([*task.right])}, in this order; got {len(given)} of {len(task.right)}.")
    if blank := [label for label, value in zip(task.right, given, strict=True) if value is None or value is Ellipsis]:
        nothing = "`...`" if any(value is ... for value in given) else "None"
        still, answer = ("is still", "answer") if len(blank) == 1 else ("are still", "answers")
        raise Blank(f"{listed(blank)} {still} {nothing}. Put your {answer} there.")
    found = {label: _read(label, value, task.right[label]) for label, value in zip(task.right, given, strict=True)}
    wrong = [label for label, right in task.right.items() if not task.fits(label, found[label], right)]
    wrong = [label for label in wrong if not task.printed(found, [label])]
    if wrong and task.printed(found, [*task.right]):
        wrong = []
    if not wrong:
        return found
    for label, value, message in task.slips:
        if label in wrong and task.fits(label, found[label], value):
            raise Fault(_with_rest(task, wrong, f"{label}: {message}" if len(found) > 1 else message))
    label = wrong[0]
    raise Fault(_with_rest(task, wrong, _unnamed(label, found[label], task.right[label], label in task.exact)))


def _with_rest(task: Values, wrong: list[str], message: str) -> str:
    fine = [label for label in task.right if label not in wrong]
    return message + (f" Right: {listed(fine)}." if fine else "")


def _read(label: str, value: Any, right: Any) -> Any:
    """Turn what was given into an array of numbers or into words, or raise Fault."""
    if not _is_number(right):
        read = _read_words(value, right)
        if type(read) is not type(right):
            raise Fault(f"{label} must be {wanted(right)}; got {described(value)}.")
        return read
    shape = np.shape(right)
    try:
        array = np.asarray(_number_text(value, shape) if isinstance(value, str) else value)
        if array.dtype.kind == "U":
            array = np.array([_number_text(each, ()) for each in array.ravel()]).reshape(array.shape)
        array = array.astype(float)
    except Exception:  # an object may refuse in its own way, and a whole number be too large
        array = None
    if array is not None and [n for n in array.shape if n != 1] == [n for n in shape if n != 1]:
        array = array.reshape(shape)
    if array is None or array.shape != shape:
        raise Fault(f"{label} must be {wanted(right)}; got {described(value)}.")
    if not np.isfinite(array).all():
        raise Fault(f"{label} holds NaN or infinity: a division by 0, or the logarithm of 0?")
    return array


def _words(text: str) -> list[str]:
    """The words of a text, whatever stands between them; minus, point, slash and per cent belong to a number."""
    return re.findall(r"[^\s,;>|()\[\]{}'\"]+", text.replace("−", "-").replace(" %", "%").replace(" / ", "/"))


def _read_words(value: Any, right: Any) -> Any:
    """What was given, as a text, a list of texts, or a set of texts or numbers, if that is what is right."""
    if isinstance(right, str):
        same_word = isinstance(value, str) and value.strip().casefold() == right.casefold()
        return right if same_word else value
    one_each = max(len(str(each)) for each in right) == 1
    of_words = isinstance(right, list) or not _of_numbers(right)
    whole = of_words and one_each and isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, str) or whole:  # 3612
        words = _words(str(value))
        value = list(words[0]) if one_each and len(words) == 1 else words
        if _of_numbers(set(right)) and all(word.isdecimal() for word in value):
            value = list(map(int, value))
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(right, set) and isinstance(value, list | tuple | set | frozenset):
        with suppress(TypeError):  # a list of lists is no set
            plain = not of_words or not all(isinstance(each, str | int) for each in value)
            return set(value) if plain else {str(each).strip() for each in value}
    if isinstance(right, list) and isinstance(value, list | tuple):
        whole = all(isinstance(each, str | int) for each in value)
        return [str(each).strip() for each in value] if whole else list(value)
    return value


def _number_text(text: str, shape: tuple[int, ...]) -> Any:
    """The number or numbers that a text spells, or raise ValueError."""
    if not shape:
        text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)  # 60,672
    words, count = _words(text), int(np.prod(shape))
    if len(words) != count and re.search("[a-z√]", text):
        words = [text] if not shape else re.split(r"[,;]", text.strip().removeprefix("[").removesuffix("]"))
    if len(words) == 1 and count > 1 and words[0].isdecimal() and len(words[0]) == count:
        words = list(words[0])
    return np.array([_spelled(word) for word in words]).reshape(shape)


def _spelled(word: str) -> float:
    """The number that a word spells: 0.617, -3, 1/3, ½, 83%, true, -4 ln 2."""
    if word.lower() in ("true", "false"):
        return float(word.lower() == "true")
    if word.endswith("%"):
        return _spelled(word[:-1]) / 100
    with suppress(ValueError):
        if "/" in word:
            above, below = word.split("/")
            return float(Fraction(above) / Fraction(below))  # 2.77/4 too
        return unicodedata.numeric(word) if len(word) == 1 else float(word)
    return _Sum(word).value()


class _Sum:
    """A sum with ln, log, exp or sqrt as one writes it: -4 ln 2, −4·ln2, -ln(16), -4*np.log(2), ln 1/16."""

    FUNCTIONS: ClassVar = {"ln": math.log, "log": math.log, "log2": math.log2, "exp": math.exp, "sqrt": math.sqrt}
    SIGNS: ClassVar = {"−": "-", "·": "*", "×": "*", "**": "^", "√": "sqrt ", "₂": "2", "log_2": "log2"}
    TOKEN = re.compile(r"\d+\.?\d*|\.\d+|log2(?= ?[\d(])|ln|log|exp|sqrt|[-+*/^()½¼¾]")

    def __init__(self, text: str) -> None:
        text = re.sub(r"\\|np\.|numpy\.|math\.", " ", text.casefold().replace("\\cdot", "*"))
        for sign, plain in self.SIGNS.items():
            text = text.replace(sign, plain)
        self.tokens = self.TOKEN.findall(text)
        if not self.tokens or self.TOKEN.sub("", text).strip():
            raise ValueError(text)

    def value(self) -> float:
        found = self._sum()
        if self.tokens:
            raise ValueError(self.tokens)
        return found

    def _take(self, *wanted: str) -> str:
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in wanted else ""

    def _sum(self) -> float:
        found = self._product()
        while sign := self._take("+", "-"):
            found += self._product() * (1 if sign == "+" else -1)
        return found

    def _product(self) -> float:
        found = self._signed()
        while self.tokens and self.tokens[0] not in "+-)":
            if self._take("/"):
                found /= self._signed()
            else:
                self._take("*")  # or nothing: 4 ln 2
                found *= self._signed()
        return found

    def _signed(self) -> float:
        if sign := self._take("+", "-"):
            return self._signed() * (1 if sign == "+" else -1)
        found = self._atom()
        return found ** self._signed() if self._take("^") else found

    def _atom(self) -> float:
        if not self.tokens:
            raise ValueError("nothing where a number is wanted")
        token = self.tokens.pop(0)
        if token == "(":
            found = self._sum()
            self._take(")")
            return found
        if token in self.FUNCTIONS:
            return self.FUNCTIONS[token](self._argument())
        return unicodedata.numeric(token) if len(token) == 1 else float(token)

    def _argument(self) -> float:
        """What a function is applied to: ln 1/16 is the logarithm of the fraction, ln 2 / 4 a fourth of one."""
        found = self._signed()
        return found / self._signed() if found == 1 and self._take("/") else found


def wanted(right: Any) -> str:
    """What kind of value is wanted, with an example that is nobody's answer."""
    if isinstance(right, bool):
        return "True or False"
    if isinstance(right, str):
        return 'a text in quotes, such as "two words"'
    if isinstance(right, set):
        return "numbers in any order, such as [7, 8]" if _of_numbers(right) else 'a set, such as {"x", "y"}'
    if not _is_number(right):
        return 'a list of texts, such as ["x", "y"]'
    shape = np.shape(right)
    if len(shape) == 2:
        return f"a list of {shape[0]} lists of {shape[1]} numbers each"
    return f"a list of {shape[0]} numbers" if shape else "a number, such as 0.617"


def _of_numbers(values: set[Any]) -> bool:
    return all(map(_is_number, values))


def _shown(value: Any) -> str:
    """A value that is right, in a sentence."""
    if isinstance(value, set):
        return _shown(sorted(value)) if _of_numbers(value) else listed(sorted(value))
    if not _is_number(value):
        return " ".join(value) if isinstance(value, list) else str(value)
    array = np.asarray(value, dtype=float)
    if array.ndim:
        return f"[{', '.join(map(_shown, array))}]"
    return (f"{array:,.4g}" if abs(array) < 1e4 else f"{array:,.0f}").replace("-", "−")


def _unnamed(label: str, found: Any, right: Any, whole: bool) -> str:
    """Describe a wrong value that no slip explains, without giving the answer away. Whole numbers are no shares."""
    if not _is_number(right):
        return f"{label} is not right: {found!r:.60}."
    if not np.all(found == 0) and near(-np.asarray(found), right):
        return f"{label} has the wrong sign."
    if np.any(right) and not whole:
        if np.all(np.abs(right) <= 1) and near(found, 100 * np.asarray(right)):
            return f"{label} is in per cent; give the share."
        for factor, slip in ((1 / np.log(2), "too large by 1 / ln 2"), (np.log(2), "too small by ln 2"),
                             (1 / np.log(10), "too small by ln 10")):  # fmt: skip
            if near(found, factor * np.asarray(right)):
                return f"{label} is {slip}. The natural logarithm, or another?"
    if np.all(found != 0) and near(1 / np.asarray(found), right):
        return f"{label} is the reciprocal of what it should be."
    at = np.unravel_index(np.abs(np.asarray(found) - right).argmax(), np.shape(right))
    place = f" at {[int(i) for i in at]}" if at else ""
    size = "large" if np.asarray(found)[at] > np.asarray(right)[at] else "small"
    return f"{label} is wrong{place}: {np.asarray(found)[at]:.6g} is too {size}."
