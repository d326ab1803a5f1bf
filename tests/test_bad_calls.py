"""A bad call says what is wrong with it, in words of ours that name the argument, and nothing wrong passes quietly.

A bad call is one that works, that of the example in the docstring, with one argument spoiled. It fails well if its
error is a TypeError or ValueError of ours that names an argument.
"""

import doctest
import importlib
import inspect
import pkgutil
import re
import traceback
from pathlib import Path

import numpy as np
import pytest

import gru_book
import gru_lib as g
from gru_lib import convert, layers

OURS = tuple(Path(package.__file__).parent for package in (g, gru_book))
PUBLIC = r"(cells\.|convert|decode|gradcheck|io|jacobian|layers\.|newton|ops|optim|scan|tasks\.|train)(?!_)\w*"
# Errors that are not ours, or name a part of the argument: what a caller's function raises, and the parts of other
# layouts.
KNOWN = (
    "convert.from_", "convert.to_source", "dropout_forward masks", "train batches",
    "at other parameters", "elman_on W", "io.load p other",
)  # fmt: skip
# What is good all the same in the place of an example's value: by function, argument and the kind of that value.
OF_TEXT = r"early_stopping name|endings run|stem word"
OF_LAYERS = (
    r"(advance|infer|reads_backwards|dropout_forward|dropout_masks|newton_forward|cell_of|zero_state) p |norm grads "
)
GOOD = {
    "None": r"NoneType$|_backward d\w+ |(lengths|end) ",
    "True": "bool$",
    "zero": r"(std|forget_bias|alpha|offset|least|rate|last|marks|people|brk|bracket|filler|cut|start|end|seed) |"
    r"agreement distance |drift (step|noise) |zero_state N |dropout_masks [TN] |(tokens|index|encode b) ",
    "minus one": "(forget_bias|least|start|index) ",
    "a half": "float$|(top_p|clip_norm|tol) ",
    "a huge integer": "(std|forget_bias|offset|least|temperature|max_norm|clip_norm|lr|last|step|noise|cut|tol) ",
    "a function": "(function|pick|stop) ",
    "a dict": "gradient at ",
    "with a name less": "gradient at ",
    "one more": "list$|mask shape ",
    "one less": "list$|mask shape ",
    "an empty list": "pick index |mask shape ",
    "an empty array": "pick index ",
    "an array of four axes": "log_softmax a ",
    "an axis more": "linear_forward x |(tokens|days|index|encode [ab]) ",
    "one row less": r"(xs?|attention_forward h?s|cbow\S+ dh|start|source|target|tokens|days|images|index) array",
    "one column less": "(start|reverse xs|source|tokens|days|index) array",
    "transposed": "array",
    "all nan": "array f|reverse xs|images",
    "of dtype bool": "array [fb]|reverse xs|targets|images|subtract_bits",
    "of dtype float16": "array f|reverse xs|targets|images|subtract_bits",
    "of dtype object": "images|encode [ab] ",
    "other parameters": f"dtype |bidirectional (for|back)ward |{OF_LAYERS}",
    "of another size": f"bidirectional (for|back)ward |gru_forward p |with_convention p |{OF_LAYERS}",
    "a pair": OF_LAYERS,
    "text": OF_TEXT,
}
ANYTHING_GOES = r"^decode\.\w+ state |cbow_step_backward cache |pair_count days |ops\.sigmoid(_pair)? a "
UNREAD = r"with (language|form|angles|length|damping) ="  # parts that the function does not read


def accepts(where, what):
    return re.search(ANYTHING_GOES, where) or re.match(UNREAD, what) or re.search(GOOD.get(what, "^$"), where)


PARTS = {"options", "h0", "c0", "h_prev", "c_prev", "dh_T", "dc_T", "dh", "dc"}  # an LSTM's state goes by its halves


class Odd:
    """An object that is nothing that anybody asks for."""


def rng():
    return np.random.default_rng(0)


def functions():
    """Every public function, by a name such as "ops.sigmoid"."""
    walked = (m.name for p in (g, gru_book) for m in pkgutil.walk_packages(p.__path__, f"{p.__name__}."))
    for whole in walked:
        name = whole.partition(".")[2]
        module = importlib.import_module(whole) if re.fullmatch(PUBLIC, name) else None
        for each in getattr(module, "__all__", ()):
            if inspect.isfunction(getattr(module, each)) and each != "long_borrows":  # called as random_pairs is
                yield f"{name}.{each}", getattr(module, each)


FUNCTIONS = dict(functions())


class Called(Exception):
    """The example has come to the call; what it was given is the argument."""


def good_call(function):
    """What the function is given in its own example, by name."""

    def note(*args, **keywords):
        raise Called(inspect.signature(function).bind(*args, **keywords))

    names = {"np": np, "note": note}
    with pytest.raises(Called) as called:
        for example in doctest.DocTestParser().get_examples(function.__doc__):
            exec(re.sub(rf"\b(?:\w+\.)?{function.__name__}\(", "note(", example.source), names)
    (bound,) = called.value.args
    bound.apply_defaults()
    return {name: array(value) for name, value in bound.arguments.items() if not isinstance(value, dict) or value}


def array(value):
    """A list of numbers as an array, which can be spoiled in more ways."""
    return np.array(value) if isinstance(value, list) and re.fullmatch(r"[-\[\]\d., ]+", repr(value)) else value


OTHER = g.elman_init(rng(), 3, 4)
ANYTHING = {
    "None": None, "text": "text", "an object": Odd(), "a function": lambda *_, **__: None, "a dict": {},
    "an empty list": [], "a ragged list": [[1.0], [1.0, 2.0]], "minus one": -1, "zero": 0, "a half": 0.5,
    "nan": float("nan"), "inf": float("inf"), "True": True, "a huge integer": 1 << 70, "1j": 1j,
    "an empty array": np.zeros(0), "an array of four axes": np.ones((1, 1, 1, 1)), "an array of text": np.array(["a"]),
    "other parameters": OTHER, "an other tape": g.elman_forward(np.ones((2, 1, 3)), None, OTHER)[2],
}  # fmt: skip


def spoiled(value):
    """Bad things to put in the place of a good value. Some are good all the same, as `GOOD` says."""
    yield from ANYTHING.items()
    if isinstance(value, np.ndarray):
        yield "one row less", value[:-1]
        yield "one column less", value[..., :-1]
        yield "an axis more", value[None]
        yield "transposed", value.T
        yield "all nan", np.full(value.shape, np.nan)
        for dtype in ("object", "bool", "float16"):
            yield f"of dtype {dtype}", value.astype(dtype)
    elif isinstance(value, tuple | list):
        yield "one less", value[:-1]
        yield "one more", [*value, *value[-1:]]
        # What is in a tape or a cache is nobody's argument; what is in a state or a batch is.
        if hasattr(value, "_fields") and not type(value).__name__.endswith(("Tape", "Cache")):
            for field in value._fields:
                for bad in (None, "text", np.ones((7, 7))):
                    yield f"with {field} = {bad!r}", value._replace(**{field: bad})
    elif isinstance(value, g.Params):
        yield "its array", value.flat
        yield "of another size", g.gru_init(rng(), 3, 4)
        yield "a pair", g.bidirectional(g.gru_init(rng(), 2, 5), g.lstm_init(rng(), 2, 5))
    elif isinstance(value, dict):
        yield "with a name less", dict(list(value.items())[1:])
        yield "of None", dict.fromkeys(value)


def attempt(function, call):
    """Make a call and return what it raises."""
    bound = inspect.BoundArguments(inspect.signature(function), call)
    try:
        result = function(*bound.args, **bound.kwargs)
        if inspect.isgenerator(result):
            next(result)
    except Exception as error:
        return error
    return None


def is_ours(error, names):
    """Whether an error is one of our checks', and names an argument."""
    if isinstance(error, FileNotFoundError):
        return True  # documented
    last = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    words = set(re.findall(r"\w+", str(error)))
    return isinstance(error, TypeError | ValueError) and any(map(last.is_relative_to, OURS)) and bool(words & names)


@pytest.mark.filterwarnings("ignore")
def test_bad_calls_are_refused_by_errors_that_name_an_argument(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for what saves
    count, wrong = 0, []
    for name, function in FUNCTIONS.items():
        call = good_call(function)
        for argument, value in call.items():
            for what, bad in spoiled(value):
                said = f"{name} {argument} {what}"
                if argument in ("states", "layers") or any(known in said for known in KNOWN):  # as many as one likes
                    continue
                fresh = call | {key: rng() for key in call if key == "rng"} | {argument: bad}
                error = attempt(function, fresh)
                count += error is not None
                if error is not None and not is_ours(error, {*call, *PARTS}):
                    wrong.append(f"{said}: {error!r}")
                kind = f"array {value.dtype.kind}" if isinstance(value, np.ndarray) else type(value).__name__
                if error is None and not accepts(f"{name} {argument} {kind}", what):
                    wrong.append(f"{said}: accepted")
    assert count > 1500
    assert wrong == [], "a check is missing; or say in GOOD what is good all the same"


QUIET = {  # what was accepted, each with a wrong result, or crashed somewhere inside
    "text for a rate": (lambda: layers.dropout_mask(rng(), (2, 3), "0.5"), "rate must be a number; got '0.5'"),
    "an end that no token is": (
        lambda: g.beam_search(step, None, 0, width=2, end=2, max_steps=3), "end must be a token, in 0..1; got 2"
    ),
    "advance backwards": (
        lambda: g.advance(XS[0], None, both_ways(rng(), 2, 3, np.float64)), "advance: p must be of a layer that reads"
    ),
    "a decoder that reads backwards": (
        lambda: layers.seq2seq_init(rng(), 3, 4, 2, 4, start=3, feed=False, attend=True, carry=False, cell=both_ways),
        "cell must make a decoder that reads forwards; got BidirectionalParams",
    ),
    "directions that reset otherwise": (lambda: convert.to_onnx([GRU, AFTER]), "directions must have one kind"),
    "layers of two sizes": (lambda: convert.to_torch([[LSTM], [WIDE]]), "to_torch: layers must have one kind, one H"),
    "a cache of another size": (
        lambda: g.gru_step_backward(
            np.ones((1, 3)), g.gru_step([[0.0, 0, 0]], np.zeros((1, 3)), g.gru_init(rng(), 3, 3))[1], GRU
        ),
        "gru_step_backward: cache must be of a step with D = 2 and H = 3; got D = 3 and H = 3",
    ),
}  # fmt: skip
GRU, LSTM, WIDE = g.gru_init(rng(), 2, 3), g.lstm_init(rng(), 2, 3), g.lstm_init(rng(), 3, 4)
AFTER = g.gru_init(rng(), 2, 3, reset_after=True)
XS = rng().normal(size=(4, 3, 2))


def both_ways(rng, D, H, dtype):
    return g.bidirectional(g.gru_init(rng, D, 2, dtype=dtype), g.gru_init(rng, D, 2, dtype=dtype))


def step(state, token):
    return np.log(np.full((*np.shape(token), 2), 0.5)), state


@pytest.mark.parametrize("what", QUIET)
def test_what_was_accepted_in_silence_is_refused(what):
    call, message = QUIET[what]
    with pytest.raises((TypeError, ValueError), match=message):
        call()
