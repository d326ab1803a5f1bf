"""Bad calls of public functions: each takes a call that works and spoils one argument.

A call fails well if its error is a TypeError or ValueError of ours that names the function and an argument. What fails
otherwise is a raw error. `test_bad_calls.py` makes a part of all calls; with its ``SHARE`` at 1, all.
"""

from __future__ import annotations

import importlib
import inspect
import re
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import gru_lib as g
from gru_lib import cells, convert, gates, layers
from gru_lib.layers import DropoutMasks
from gru_lib.scan import scan

LIBRARY = str(Path(g.__file__).parent)
T, N, D, H = 4, 3, 2, 5
MODULES = (
    "cells.ablated_gru", "cells.cbow", "cells.deltanet", "cells.elman", "cells.gru", "cells.lstm", "cells.mingru",
    "cells.ntm", "cells.registry", "cells.scrn", "cells.stack_rnn", "convert", "decode", "gates", "gradcheck", "io",
    "jacobian", "layers.bidirectional", "layers.dropout", "layers.seq2seq", "layers.stack", "ops", "optim", "scan",
    "tasks.adding", "tasks.ahead", "tasks.dates", "tasks.digits", "tasks.hold", "tasks.memory", "tasks.order",
    "tasks.pendulum", "tasks.strings", "tasks.subtraction", "tasks.text", "tasks.words", "train",
)  # fmt: skip


class Odd:
    """An object that is nothing that anybody asks for."""

    def __repr__(self) -> str:
        return "Odd()"


def functions() -> dict[str, Callable[..., Any]]:
    """Every public function of the modules, by a name such as "ops.sigmoid"."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"gru_lib.{name}")
        for each in module.__all__:
            if inspect.isfunction(getattr(module, each)):
                found[f"{name}.{each}"] = getattr(module, each)
    return found


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


INIT = {
    "ablated_gru": lambda: cells.ablated_gru_init(rng(), D, H, ablation="shared"), "cbow": lambda: cells.cbow_init(D),
    "deltanet": lambda: cells.deltanet_init(rng(), D, H, K=3),
    "elman": lambda: g.elman_init(rng(), D, H), "gru": lambda: g.gru_init(rng(), D, H),
    "lstm": lambda: g.lstm_init(rng(), D, H), "mingru": lambda: cells.mingru_init(rng(), D, H),
    "ntm": lambda: cells.ntm_init(rng(), D, H, R=4, M=3), "scrn": lambda: cells.scrn_init(rng(), D, H, 3),
    "stack_rnn": lambda: cells.stack_rnn_init(rng(), D, H, 3),
    "bidirectional": lambda: g.bidirectional(g.gru_init(rng(), D, H), g.gru_init(rng(), D, H)),
    "stack": lambda: g.stack(g.gru_init(rng(), D, H), g.gru_init(rng(), H, H)),
    "dropout": lambda: g.gru_init(rng(), D, H),
    "seq2seq": lambda: layers.seq2seq_init(rng(), 3, 4, 2, 3, start=3),
}  # fmt: skip


def of_layer(name: str) -> dict[str, Any]:
    """What the functions of a layer take."""
    p = INIT[name]()
    if name == "seq2seq":
        source, target = rng().integers(0, 3, (T, N)), rng().integers(0, 4, (T, N))
        tape = layers.seq2seq_forward(source, target, p)[1]
        lengths = {"source_lengths": [4, 1, 2], "target_lengths": [1, 4, 2], "lengths": [4, 1, 2]}
        return {"p": p, "source": source, "target": target, "tape": tape, **lengths}
    cell, xs, state = g.cell_of(p), rng().normal(size=(T, N, D)), g.zero_state(p, N)
    found = {"p": p, "xs": xs, "x": xs[0], "lengths": [4, 0, 2]}
    for key in ("state0", "h0", "s0", "state", "state_prev", "h_prev", "s_prev"):
        found[key] = state
    found["masks"] = DropoutMasks(np.ones((N, D)), np.ones((N, H))) if name == "dropout" else None
    if cell.takes_h_mask and "bi" not in name:
        found["h_mask"] = np.ones((N, p.H))
    elif "bi" in name:
        found["h_mask"] = (np.ones((N, H)), np.ones((N, H)))
    if name == "dropout":
        hs, end, found["tape"] = layers.dropout_forward(xs, state, p, masks=found["masks"])
    else:
        hs, end, found["tape"] = cell.forward(xs, state, p)
    found |= {"dhs": hs, "dss": hs} | dict.fromkeys(("dstate_T", "dh_T", "ds_T"), end)
    if cell.step is not None:
        *out, new, found["cache"] = cell.step(xs[0], state, p)
        found |= dict.fromkeys(("dstate", "dh", "ds"), new) | {"dout": out[0] if out else None}
    return found


def special(name: str) -> dict[str, Any]:
    """What the other functions take."""
    a, tokens = rng().normal(size=(N, H)), rng().integers(0, 4, (T, N))
    gru, linear, table = g.gru_init(rng(), D, H), g.linear_init(rng(), D, H), g.embedding_init(rng(), 4, D)
    after = g.gru_init(rng(), D, H, reset_after=True)
    stack_ = rng().normal(size=(N, 4, 3))
    log_probs = np.log(np.array([0.5, 0.25, 0.25]))

    def step(state: Any, token: Any) -> tuple[Any, Any]:
        return np.broadcast_to(log_probs, (*np.shape(token), 3)), state

    seq = scan(*rng().normal(size=(2, T, N, H)))
    p = g.linear_init(rng(), 1, 1)
    onnx = convert.to_onnx([gru])
    common = {
        "rng": rng(), "N": N, "T": 8, "D": D, "H": H, "C": 3, "M": 3, "K": 2, "V": 4, "L": 3, "bits": 4, "a": a,
        "p": gru, "cell": "gru", "convention": "write", "ablation": "shared", "activation": "tanh", "index": (0, 1),
        "W": rng().normal(size=(D + H, H)), "state": None, "start": 0, "step": step, "end": 2, "max_steps": 3,
        "width": 2, "new": a, "old": a, "source": "d2l", "layout": "torch", "array": "weight_ih_l0",
        "rate": 0.5, "kind": "per step", "shape": (3, 2), "z": a, "w": a, "lr": 0.1, "steps": 10, "logits": a,
        "max_norm": 1.0, "limit": 1.0, "grads": gru, "tokens": tokens, "xs": rng().normal(size=(T, N, D)),
        "weights": None, "name": "loss", "patience": 3, "distance": (2, 4), "forward": gru, "backward": gru,
        "residual": False, "state0": None, "length": 1.0, "damping": 0.1, "d": 2, "states": None,
    }  # fmt: skip
    table_of = {
        "elman_step_concatenated": of_layer("elman"), "elman_on": {}, "advance": of_layer("gru"),
        "infer": of_layer("gru"), "register_cell": {"cell": g.cell_of(gru)},
        "ntm_address": {"raw": rng().normal(size=(N, 9)), "w_prev": np.ones((N, 4)) / 4, "memory": stack_},
        "ntm_address_backward": {
            "dw": np.ones((N, 4)),
            "cache": cells.ntm_address(rng().normal(size=(N, 9)), np.ones((N, 4)) / 4, stack_)[1],
        },
        "stack_step": {
            "value": stack_[:, 0], "push": np.ones(N) / 2, "pop": np.ones(N) / 3, "values": stack_,
            "strengths": np.ones((N, 4)) / 2,
        },
        "stack_step_backward": {
            "dread": stack_[:, 0], "dvalues": rng().normal(size=(N, 5, 3)), "dstrengths": np.ones((N, 5)),
            "cache": cells.stack_step(stack_[:, 0], np.ones(N) / 2, np.ones(N) / 3, stack_, np.ones((N, 4)) / 2)[3],
        },
        "from_keras": {"weights": convert.to_keras([after])}, "from_onnx": {"W": onnx[0], "R": onnx[1], "B": onnx[2]},
        "from_source": {"arrays": convert.to_source(gru, "d2l")},
        "from_torch": {"state": convert.to_torch([[after]])}, "to_keras": {"directions": [gru, gru]},
        "to_onnx": {"directions": [gru, gru]}, "to_torch": {"layers": [[after]]},
        "convex_update_backward": {"dh": a, "cache": gates.convex_update(a, a, a)[1]},
        "hard_gate_backward": {"dz": a, "cache": a, "straight_through": True},
        "soft_gate_backward": {"dz": a, "cache": gates.soft_gate(a)[1]},
        "gradcheck": {"loss": lambda p: (p.flat**2).sum(), "at": p, "grads": p.on(2 * p.flat)},
        "numeric_gradient": {"loss": lambda p: (p.flat**2).sum(), "at": p}, "sigmoid_pair": {},
        "attention_forward": {"s": rng().normal(size=(T, N, 3)), "hs": rng().normal(size=(T, N, 3))},
        "attention_backward": {
            "dc": np.ones((T, N, 3)), "cache": layers.attention_forward(*rng().normal(size=(2, T, N, 3)))[1],
        },
        "seq2seq_init": {"V_source": 3, "V_target": 4, "E": 2, "cell": g.gru_init},
        "bce_with_logits": {"targets": np.ones((N, H)), "weights": np.ones((N, H))},
        "softmax_cross_entropy": {"targets": tokens[0], "weights": np.ones(N)}, "embedding_forward": {"p": table},
        "embedding_backward": {"p": table, "cache": tokens, "dx": np.ones((T, N, D))},
        "linear_forward": {"p": linear, "x": np.ones((N, D))},
        "linear_backward": {"p": linear, "cache": np.ones((N, D)), "dy": a},
        "scan": {"z": np.ones((T, N, H)) / 2, "w": np.ones((T, N, H)), "h0": a},
        "scan_backward": {"z": np.ones((T, N, H)) / 2, "hs": seq, "dhs": np.ones((T, N, H)), "dh_T": a},
        "train": {
            "p": p, "loss_and_grads": lambda p, batch: (1.0, p.zeros_like()), "batches": [1],
            "optimizer": g.SGD(p, 0.1), "steps": 2, "progress": False,
        },
        "map_state": {"function": lambda *arrays: arrays[0], "states": ((a, a), (a, a))},
        "stack": {"layers": (gru, g.gru_init(rng(), H, H))}, "sample": {"end": 2}, "delayed": {"batch": None},
    }  # fmt: skip
    return common | table_of.get(name, {})


def good_call(name: str, function: Callable[..., Any]) -> dict[str, Any] | None:
    """Arguments that work, by name; None where there are none."""
    short = name.rpartition(".")[2]
    layer = next((each for each in sorted(INIT, key=len, reverse=True) if short.startswith(f"{each}_")), None)
    is_init = short.endswith("_init") or short in ("stack_step", "stack_step_backward", "seq2seq_step", "dropout_mask")
    known = special(short)
    if layer is not None and not is_init and short not in ("dropout_masks", "ntm_address", "ntm_address_backward"):
        known = known | of_layer(layer)
    if short == "seq2seq_step":
        known["p"] = INIT["seq2seq"]()
    if name.startswith("io."):
        path = Path(tempfile.mkdtemp()) / "p.npz"
        g.save(path, known["p"])
        known["path"] = path
    if name.startswith("tasks."):
        known |= of_task(name)
    call = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.name in known and (parameter.default is parameter.empty or known[parameter.name] is not None):
            call[parameter.name] = known[parameter.name]
        elif parameter.default is not parameter.empty:
            call[parameter.name] = parameter.default
        else:
            return None
    return call


def of_task(name: str) -> dict[str, Any]:
    from gru_lib.tasks import ahead, dates, pendulum, subtraction
    from gru_lib.tasks import words as of_words

    _, module, short = name.split(".")

    swings = pendulum.pendulums(rng(), N, 20)
    batch = subtraction.random_pairs(rng(), N, 4)
    tokens = rng().integers(0, 3, (8, N))
    return {
        "T": 5 if short == "all_two_orders" else 8, "kind": "carried", "step": 0.3, "length": np.ones(N),
        "damping": np.ones(N) / 10, "spread": (0.1, 0.1), "marks": 0.2, "question": "same", "task": "parity_since",
        "tokens": tokens[:, 0] if module == "text" else tokens,
        "batch": {"pick": batch, "delayed": ahead.marks(rng(), N, 8, "same")}.get(short, swings),
        "values": np.ones((20, N)), "seen": np.ones((20, N), bool), "day": date(2000, 1, 2), "language": "fr",
        "form": "long", "days": np.array([DAY, DAY + 1]), "size": 4, "found": dates.pairs([DAY], [0, 4, 9]),
        "counts": [1, 2], "topic": "a\n\nb", "word": "länsi", "run": "ti", "numbers": [0, 1],
        "pairs": [("taloa", 0), ("sto", 1), ("osto", 0)], "languages": ("fi", "de"), "count": 1, "more": 1,
        "parts": of_words.Words([("taloa", 0), ("auto", 1)], [("sto", 1)], [("osto", 0)]), "common": 1,
        "images": np.ones((3, 8, 8)), "by": "row", "N": 2 if module in ("words", "dates", "text") else N,
        "lengths": [5, 0, 9], "said": np.ones((20, N, 2)), "lags": 3,
        "bits": 4 if short != "random_batches" else (2, 4),
        "a": np.array([5, 3]) if short == "encode" else np.array([[1, 0, 1]]),
        "b": np.array([2, 1]) if short == "encode" else np.array([[0, 0, 1]]), "index": [0, 1],
    }  # fmt: skip


def spoiled(value: Any) -> Iterator[tuple[str, Any]]:
    """Bad things to put in the place of a good value. Some are good all the same; then nothing need fail."""
    yield from {
        "None": None, "text": "text", "bytes": b"bytes", "empty text": "", "an object": Odd(), "a class": Odd,
        "a function": lambda *_, **__: None, "a dict": {}, "a dict of arrays": {"a": np.ones(2)}, "a set": {1},
        "an empty list": [], "a ragged list": [[1.0], [1.0, 2.0]], "a list of None": [None], "a list of text": ["a"],
        "a tuple of objects": (Odd(), Odd()), "minus one": -1, "zero": 0, "a half": 0.5, "three and a half": 3.5,
        "nan": float("nan"), "inf": float("inf"), "-inf": -float("inf"), "True": True, "1e308": 1e308,
        "a huge integer": 1 << 70, "a number as text": "3", "1j": 1j, "an empty array": np.zeros(0),
        "an array without axes": np.array(1.0), "an array of four axes": np.ones((1, 1, 1, 1)),
        "an array of text": np.array(["a", "b"]), "an array of objects": np.array([None, 1]),
        "an array of dates": np.array(["2020-01-01"], "M8[D]"), "other parameters": OTHER, "an other tape": OTHER_TAPE,
    }.items()  # fmt: skip
    if isinstance(value, np.ndarray):
        yield "one row less", value[:-1]
        yield "one column less", value[..., :-1] if value.ndim else value
        yield "an axis more", value[None]
        yield "transposed", value.T
        for dtype in ("object", "U8", "M8[D]", "longdouble", "clongdouble", "bool", "uint64", "float16"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    yield f"of dtype {dtype}", value.astype(dtype)
                except (TypeError, ValueError):
                    continue
        yield "masked", np.ma.masked_array(value, mask=np.ones(value.shape, bool))
        yield "all nan", np.full(value.shape, np.nan)
        yield "a list of it", [value]
    elif isinstance(value, tuple | list):
        yield "one less", value[:-1]
        yield "one more", [*value, *value[-1:]]
        yield (
            "of None",
            type(value)([None] * len(value)) if not hasattr(value, "_fields") else tuple([None] * len(value)),
        )
        # What is in a tape or a cache is nobody's argument; what is in a state or a batch is.
        if hasattr(value, "_fields") and not type(value).__name__.endswith(("Tape", "Cache")):
            for field in value._fields:
                for bad in (None, "text", np.ones((1, 1, 1)), Odd(), np.ones((7, 7))):
                    yield f"with {field} = {bad!r}", value._replace(**{field: bad})
    elif isinstance(value, g.Params):
        yield "its array", value.flat
        yield "of another size", g.gru_init(rng(), 3, 4)
        yield "a linear layer", g.linear_init(rng(), 3, 4)
        yield "a pair", g.bidirectional(g.gru_init(rng(), D, H), g.lstm_init(rng(), D, H))
        yield "in a list", [value]
    elif isinstance(value, Mapping):
        yield "with a name more", {**value, "more": np.ones(2)}
        yield "with a name less", dict(list(value.items())[1:])
        yield "of None", dict.fromkeys(value)
        yield "of text", dict.fromkeys(value, "text")


DAY = date(2000, 1, 1).toordinal()
OTHER = g.elman_init(rng(), 3, 4)
OTHER_TAPE = g.elman_forward(np.ones((2, 1, 3)), None, OTHER)[2]


# An LSTM's state goes by the names of its halves.
MORE_NAMES = {"h0", "c0", "h_prev", "c_prev", "dh_T", "dc_T", "dh", "dc"}


class Slow(BaseException):
    """A call that takes longer than it should."""


def attempt(name: str, function: Callable[..., Any], call: dict[str, Any]) -> BaseException | None:
    """Make a call and return what it raises."""
    args, keywords = [], {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in call:
            continue
        value = call[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            if not isinstance(value, tuple | list):
                value = (value,)
            args += value
        elif parameter.kind is parameter.KEYWORD_ONLY:
            keywords[parameter.name] = value
        else:
            args.append(value)

    def late(*_: Any) -> None:
        raise Slow

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 60)  # a machine may be busy; what hangs, hangs for ever
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = function(*args, **keywords)
            if inspect.isgenerator(result):
                next(result)
    except (Exception, Slow) as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def is_ours(error: BaseException, names: set[str]) -> bool:
    """Whether an error is one of our checks', and names an argument."""
    if isinstance(error, FileNotFoundError):
        return True  # documented
    if not isinstance(error, TypeError | ValueError):
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    words = set(re.findall(r"\w+", str(error)))
    return last.filename.startswith(LIBRARY) and bool(words & names) and ":" in str(error)


def bad_calls(
    only: Callable[[str], bool] = lambda _: True,
) -> Iterator[tuple[str, str, str, Any, BaseException | None, bool]]:
    """Make bad calls: function, argument, what is put there, the error, and whether it is ours."""
    for name, function in functions().items():
        call = good_call(name, function)
        if call is None:
            continue
        for argument, value in call.items():
            for what, bad in spoiled(value):
                if not only(f"{name} {argument} {what}"):
                    continue
                fresh = call | {key: rng() for key in ("rng",) if key in call} | {argument: bad}
                error = attempt(name, function, fresh)
                yield name, argument, what, error, error is None or is_ours(error, {*call, "options", *MORE_NAMES})
