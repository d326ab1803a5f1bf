"""What a tape was made with, so that backward refuses a tape that does not belong to its parameters.

Every tape carries the `Signature` of the parameters of its forward pass. `check_signature` compares it with those that
backward gets:

- exactly: the kind of the parameters, names, shapes, options (sizes, convention, activation …) and dtype;
- the numbers: all of them, bit by bit, up to 32 KiB. Of more, 64 numbers that are spread evenly and the sum of the bits
  of all, as integers. A change of any one number changes it.

So what may pass unseen, above 32 KiB, is a change of several numbers that leaves the sum as it was (two that changed
places). An optimiser's step, another net, and a gate set to another value are seen, but for one chance in 2³² or less.
A copy with the same numbers is the same to backward.

The cache of a single step has no signature: it is as small as the step, and a fingerprint would not be small beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gru_lib._core.checks import check_instance
from gru_lib._core.params import Bundle, Params
from gru_lib._core.types import short_repr

__all__ = ["Signature", "check_signature", "check_tape", "sign"]

_WHOLE = 1 << 15  # bytes; up to here a copy costs less than any sum
_SAMPLE = 64  # numbers


@short_repr
class Signature(NamedTuple):
    """What a forward pass says of the parameters it used."""

    where: str  # the function that made the tape
    kind: type[Params]
    form: Any
    dtype: np.dtype
    numbers: bytes | None  # None for a layer made of layers, whose tapes have signatures of their own


def sign(where: str, p: Params, *, numbers: bool = True) -> Signature:
    """Return the signature of `p`, with or without its numbers."""
    return Signature(where, type(p), _form(p), p.dtype, _numbers(p) if numbers else None)


def check_tape(where: str, tape: Any, kind: type, p: Any, kind_of_p: type[Params]) -> None:
    """Raise TypeError or ValueError unless p and tape are of their kinds, and the tape was made with these p."""
    check_instance(where, "p", p, kind_of_p)
    check_instance(where, "tape", tape, kind)
    check_signature(where, tape.made, p)


def check_signature(where: str, made: Signature, p: Params) -> None:
    """Raise ValueError unless `p` are the parameters that the tape was made with, or a copy of them."""
    if made.kind is not type(p):
        _refuse(where, made, f"be {made.kind.__name__}", type(p).__name__)
    form = _form(p)
    if made.form is not form and made.form != form:
        wanted, found = _flat(made.form), _flat(form)
        for name in {**wanted, **found}:
            if wanted.get(name) != found.get(name):
                _refuse(where, made, f"have {name} = {wanted.get(name)!r}", f"{found.get(name)!r}")
    if made.dtype != p.dtype:
        _refuse(where, made, f"be {made.dtype}", str(p.dtype))
    if made.numbers is not None and made.numbers != _numbers(p):
        _refuse(where, made, "hold the same numbers", "others: they have changed since, or are another net's")


def _refuse(where: str, made: Signature, wanted: str, came: str) -> None:
    raise ValueError(f"{where}: p must {wanted} as when {made.where} made the tape; got {came}.")


def _form(p: Params) -> Any:
    """Names, shapes and options; all parameters that are made from each other share one object, bundles apart."""
    if isinstance(p, Bundle):
        return p.options, {name: (type(member), _form(member)) for name, member in p.members()}
    return p.__dict__["_recipe"]


def _numbers(p: Params) -> bytes:
    flat = p.flat
    if flat.nbytes <= _WHOLE:
        return flat.tobytes()
    bits = flat.view(np.uint32 if flat.itemsize == 4 else np.uint64)
    return flat[:: (flat.size // _SAMPLE) | 1].tobytes() + np.add.reduce(bits, dtype=bits.dtype).tobytes()


def _flat(form: Any, prefix: str = "") -> dict[str, Any]:
    """The options and shapes of a form by name, those of a bundle's members too."""
    if hasattr(form, "options"):
        shapes: Mapping[str, Any] = {f"the shape of {prefix}{name}": shape for name, shape in form.shapes.items()}
        return {f"{prefix}{name}": value for name, value in form.options.items()} | dict(shapes)
    options, members = form
    flat = {f"{prefix}{name}": value for name, value in options.items()}
    for name, (kind, member) in members.items():
        flat |= {f"the kind of {prefix}{name}": kind.__name__} | _flat(member, f"{prefix}{name}.")
    return flat
