"""Answers to the exercises that ask for numbers or words: as their page prints them, and as readers would type them."""

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

BOOK = Path(__file__).resolve().parents[2] / "book"
NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?!\w)")


@functools.cache
def notebooks() -> list[list[dict[str, Any]]]:
    """The cells of each page."""
    return [json.loads(path.read_text("utf8"))["cells"] for path in sorted(BOOK.glob("*.ipynb"))]


@functools.cache
def solution(name: str) -> str:
    """What stands in the solution of the exercise that the check is named after, outputs included."""
    label, said = "ex-" + name.replace("_", "-"), []
    for cells in notebooks():
        inside = False
        for cell in cells:
            source = "".join(cell["source"])
            before, start, after = source.partition(f"{{solution-start}} {label}\n")
            inside |= bool(start)
            if inside and cell["cell_type"] == "markdown":
                said.append((after if start else before).partition("{solution-end}")[0])
            for output in cell.get("outputs", []) if inside else []:
                data = output.get("data", {})
                text = "".join(output.get("text", data.get("text/html", data.get("text/plain", ""))))
                said.append(re.sub(r"<[^>]*>", " ", text))
            inside &= "{solution-end}" not in (after if start else before)
    return "\n".join(said)


def as_printed(name: str, right: Any) -> Any:
    """The right numbers with as few digits as the solution has of all of them, or as they are.

    A list, as a table prints it: to one decimal place, where the largest has three digits.
    """
    exact = np.ravel(np.asarray(right, float))
    tokens = {token.replace(",", "").replace("−", "-") for token in NUMBER.findall(solution(name))}
    for places in range(7):
        own = [token for token in tokens if len(token.partition(".")[2]) == places]
        found = [[float(t) for t in own if abs(float(t) - v) <= 0.5000001 * 10**-places] for v in exact]
        if all(found) and (np.abs(exact).max() * 10**places >= 100 or np.allclose([f[0] for f in found], exact)):
            rounded = np.reshape([f[0] for f in found], np.shape(right))
            return rounded.tolist()
    return right


def spellings(value: Any, *, whole: bool) -> Iterator[Any]:
    """A right value as readers would type it; `whole`: numbers are counts."""
    if isinstance(value, str):
        yield from (value, f" {value}\n", value.upper())
    elif isinstance(value, set):
        words = sorted(map(str, value))
        yield from (value, sorted(value), tuple(value), np.array(sorted(value)), ", ".join(words), " ".join(words))
        yield from ["".join(words)] if all(len(word) == 1 for word in words) else []
    elif np.ndim(value) == 0:
        number = int(value) if whole else value
        typed = (f"{number}", f" {number:,} ".replace("-", "−"))
        yield from (value, [value], np.array([value]), np.float64(value), *typed)
    else:
        array = np.array(value)
        yield from (array.tolist(), tuple(array.tolist()), array, array.tolist().__repr__())
        if array.ndim == 1:
            words = [str(each) for each in array.tolist()]
            yield from (", ".join(words), " ".join(words), "; ".join(words), words, tuple(words))
            if array.dtype.kind != "U":
                yield from (array[:, None], array[None])
            if all(len(word) == 1 for word in words):
                yield "".join(words)
