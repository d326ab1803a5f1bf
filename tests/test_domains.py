"""A docstring's bounds, choices and defaults are the code's: its example's call is made again at each and past it.

They are read where they are said of a parameter: under "Parameters", after "- name:", or in prose, after `name`.
"""

import inspect
import pickle
import re

import numpy as np
import pytest
from docstring_shapes import fits, section
from helpers import INSIDE
from test_bad_calls import attempt, good_call, is_ours, rng
from test_examples import MODULES

from gru_lib.decode import beam_search
from gru_lib.train import early_stopping

NUMBER = r"(?:[A-Z]\b|-?\d+(?:\.\d+)?)(?: ?[−+^] ?(?:[A-Z]\b|\d+))*"
BOUNDS = {  # the phrase, and by its groups the range: an end, whether it belongs to it, the other, whether it does
    rf"\b[Aa]t least ({NUMBER})": lambda a: (a, True, None, False),
    rf"\b[Aa]t most ({NUMBER})": lambda a: (None, False, a, True),
    rf"\b[Aa]bove ({NUMBER})": lambda a: (a, False, None, False),
    rf"\b[Bb]elow ({NUMBER})": lambda a: (None, False, a, False),
    r"(?<!it is )\b[Pp]ositive\b": lambda: ("0", False, None, False),
    rf"\bin ([\[(])({NUMBER}), ({NUMBER})([\])])": lambda o, a, b, c: (a, o == "[", b, c == "]"),
    rf"\bin ({NUMBER})\.\.({NUMBER})": lambda a, b: (a, True, b, True),
}
DEFAULT = rf"(?<!the )\b[Dd]efault (?:`(\w+)`|({NUMBER}))|({NUMBER}) if (?:left out|not given)"
WORDS = r"""(?<!with )["'](\w[\w ]*)["']|\b((?:float|complex)\d+)\b"""
MORE = {"bce_with_logits": {"weights": np.ones(2)}}  # what an example leaves out
LISTED = {
    "name_of layout": "the texts stand in `from_source`",
    "name_of array": "names of three layouts; each layout has its own",
    "newton_forward most": "T is the first axis of xs, whose shape `gru_forward` says",
    "last_outside filler": "the bound is on the sum with `bracket`",
}


def words(text):
    return {a or b for a, b in re.findall(WORDS, text)}


def number(text, sizes):
    return eval(text.replace("−", "-").replace("^", "**"), {}, sizes)


def said(doc):
    """What a docstring says of each parameter, as (name, text)."""
    body = re.search(r"^Parameters\n-+\n((?:(?!\w+\n-+\n).*\n?)*)", doc, re.M)
    for names, kind, text in re.findall(
        r"^(\w+(?:, \w+)*)(?: : (.*))?\n((?:    .*\n)*)", body[1] if body else "", re.M
    ):
        each, parts = names.split(", "), text.split("; ")
        apart = len(parts) == len(each) and ". " not in text  # "N, T": "the number of sequences; of steps, at least 3"
        yield from ((name, f"{kind}. {parts[i] if apart else text}") for i, name in enumerate(each))
    yield from re.findall(r"^- (\w+)[^:\n]*: (.*(?:\n  .*)*)", doc, re.M)
    for clause in re.split(r"[.;]\s|\n\n", doc.replace(body[0], "") if body else doc):
        found = re.split(r"(?<!`)`(\w+)`|\b([A-Z])(?= is (?:a[tb]|below|positive|in ))", clause)
        for name, letter, text in zip(found[1::3], found[2::3], found[3::3], strict=True):
            yield name or letter, text


def edges(text, sizes):
    """The bounds in a text: the phrase, the end, whether it belongs to the range, and on which side the range lies."""
    for phrase, meaning in BOUNDS.items():
        for found in re.finditer(phrase, text):
            low, has_low, high, has_high = meaning(*found.groups())
            ends = ((low, has_low, 1), (high, has_high, -1))
            yield from ((found[0], number(end, sizes), has, side) for end, has, side in ends if end)


def put(old, value):
    """A value in the place of a good one: of an array or a pair, the first entry."""
    if isinstance(old, np.ndarray):
        return np.concatenate([[value], old.flat[1:]]).astype(old.dtype).reshape(old.shape)
    return (value, *old[1:]) if isinstance(old, tuple) else value


def trials(function, doc):
    """Every trial of what a docstring says of a function, as (parameter, what is wrong or "")."""
    name = function.__name__
    parameters = {p: each for p, each in inspect.signature(function).parameters.items() if f"{name} {p}" not in LISTED}
    doc = re.sub(r"``\w+\([^`]*``", "", doc.split("\nExamples\n---")[0] + "\n")  # no calls
    texts = [(p, text) for p, text in said(doc) if p in parameters]
    kinds = {p: str(each.annotation) for p, each in parameters.items() if each.kind != each.VAR_POSITIONAL}
    strings = [p for p, kind in kinds.items() if words(doc) and re.match("str|DType", kind)]
    numbers = [(p, t) for p, t in texts if p not in strings and any(re.search(b, t) for b in (*BOUNDS, DEFAULT))]
    if not (strings or numbers):
        return
    call = good_call(function) | MORE.get(name, {})
    shapes, sizes = dict(section(doc, "Parameters")), {}
    for p, each in shapes.items():
        any(call.get(p) is not None and fits(np.shape(call[p]), one, sizes) for one in each)
    sizes |= {p: value for p, value in call.items() if isinstance(value, int)}
    sizes |= {letter: call[p] for letter, p in re.findall(r"\b([A-Z]) = `(\w+)`", doc)}

    def fresh(p, value):
        return call | {key: rng() for key in call if key == "rng"} | {p: value}

    def refusal(p, value):
        error = attempt(function, fresh(p, value))
        return error if error is not None and is_ours(error, {p}) else None

    for p in strings:
        known = words(str(refusal(p, "no such")).split("; got")[0].partition("must be")[2])
        if known & words(doc):
            yield p, f"nothing is said of {known - words(doc)}" if known - words(doc) else ""
        for word in sorted(words(" ".join(text for q, text in texts if q == p))):
            yield p, str(refusal(p, word) or "")
    for p, text in numbers:
        old, of = call[p], 1 if text.startswith("integer") or "int" in kinds[p] else 1.0
        if old is None and shapes.get(p):
            old = np.full([number(axis, sizes) for axis in re.findall(NUMBER, shapes[p][0])], of)
        kind = np.result_type(of if old is None or isinstance(old, tuple) else old)
        for phrase, end, has, side in edges(text, sizes):
            lower, upper = (end + s if kind.kind in "iu" else np.nextafter(kind.type(end), s * np.inf) for s in (-1, 1))
            beyond, within = (lower, upper)[::side]
            good, bad = (end, beyond) if has else (within, end)
            yield p, f"{phrase}: {refusal(p, put(old, good))}" if refusal(p, put(old, good)) else ""
            yield p, "" if refusal(p, put(old, bad)) else f"{phrase}: {bad!r} is accepted"
        for other, one, two in re.findall(DEFAULT, text):
            stated, default = call[other] if other else number(one or two, sizes), parameters[p].default
            if default is None:  # what it stands for gives the same
                value = np.full_like(old, stated) if isinstance(old, np.ndarray) else stated
                default, stated = (pickle.dumps(function(**fresh(p, v))) for v in (None, value))
            yield p, "" if default == stated else f"default {other or one or two}: it is {default!r}"


@pytest.mark.filterwarnings("ignore")
def test_what_a_docstring_says_of_its_parameters_is_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    modules = [m for m in MODULES if m.__name__ not in INSIDE and not re.search(r"\.(check|widgets)\b", m.__name__)]
    values = (getattr(m, name) for m in modules for name in getattr(m, "__all__", ()))
    things = {f for f in values if callable(f) and f.__module__.startswith("gru_") and "Warning" not in f.__name__}
    done = [(f"{f.__name__} {p}", what) for f in things for p, what in trials(f, inspect.getdoc(f) or "")]
    assert len(done) > 80
    assert sorted(f"{where}: {what}" for where, what in done if what) == []
    assert set(LISTED) <= {f"{f.__name__} {p}" for f in things for p in inspect.signature(f).parameters}


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [(beam_search, "[0, 50)", "[0, 51)"), (early_stopping, ', "max" if larger is', "")],
)
def test_a_docstring_that_says_otherwise_is_found(function, old, new):
    doc = inspect.getdoc(function)
    assert not any(what for _, what in trials(function, doc))
    assert any(what for _, what in trials(function, doc.replace(old, new)))
