"""What a tape was made with, so that backward refuses a tape that does not belong to its parameters.

Every tape carries the `Signature` of the parameters of its forward pass: which they were, and the bytes of their
numbers then. `check_signature` compares kind, dtype, options (sizes, convention, activation …), shapes and bytes with
those that backward gets. A copy with the same numbers is the same to backward. The cache of a single step has no
signature: it is as small as the step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gru_lib.checks import check_instance
from gru_lib.params import Bundle, Params
from gru_lib.types import short_repr

__all__ = ["Signature", "check_signature", "check_tape", "sign"]


@short_repr
class Signature(NamedTuple):
    """What a forward pass says of the parameters it used."""

    where: str  # the function that made the tape
    p: Params
    numbers: bytes | None  # None for a layer made of layers, whose tapes have signatures of their own


def sign(where: str, p: Params, *, numbers: bool = True) -> Signature:
    """Return the signature of `p`, with or without its numbers."""
    return Signature(where, p, p.flat.tobytes() if numbers else None)


def check_tape(where: str, tape: Any, kind: type, p: Any, kind_of_p: type[Params]) -> None:
    """Raise TypeError or ValueError unless p and tape are of their kinds, and the tape was made with these p."""
    check_instance(where, "p", p, kind_of_p)
    check_instance(where, "tape", tape, kind)
    check_signature(where, tape.made, p)


def check_signature(where: str, made: Signature, p: Params) -> None:
    """Raise ValueError unless `p` are the parameters that the tape was made with, or a copy of them."""
    if p is not made.p:
        wanted, found = _facts(made.p), _facts(p)
        for name in {**wanted, **found}:
            if wanted.get(name) != found.get(name):
                must, came = f"{name} = {wanted.get(name)!r}", repr(found.get(name))
                raise ValueError(f"{where}: p must have {must} as when {made.where} made the tape; got {came}.")
    if made.numbers is not None and made.numbers != p.flat.tobytes():
        came = "others: they have changed since, or are another net's"
        raise ValueError(f"{where}: p must hold the same numbers as when {made.where} made the tape; got {came}.")


def _facts(p: Params) -> dict[str, Any]:
    """Kind, dtype, options and shapes by name, those of a bundle's members too."""
    facts = {"kind": type(p).__name__, "dtype": str(p.dtype), **p.options}
    if isinstance(p, Bundle):
        return facts | {f"{name}.{fact}": v for name, one in p.members() for fact, v in _facts(one).items()}
    return facts | {f"{name}.shape": a.shape for name, a in p.items()}
