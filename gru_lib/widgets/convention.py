"""The convention switch: one GRU written in the layout of seven programs and texts, beside our own (chapter 10)."""

from __future__ import annotations

import json
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_lib import convert
from gru_lib.cells.gru import GRUParams, gru_init
from gru_lib.widgets._explorer import Explorer, OneOf, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, still, text

__all__ = ["ConventionExplorer"]

CONVENTION = json.loads((HERE / "convention.json").read_text("utf-8"))  # start, weights, layouts, places and words
_START, _PLACES = CONVENTION["start"], CONVENTION["places"]
_LAYOUTS = {layout["id"]: layout for layout in CONVENTION["layouts"]}
D, H = np.shape(CONVENTION["weights"]["W_xr"])


class _Entry(NamedTuple):
    """One number of the GRU, by our name."""

    name: str
    gate: str
    row: int
    column: int
    v: float


_ENTRIES = [
    _Entry(name, name[-1], i, j, v)
    for name, rows in CONVENTION["weights"].items()
    for i, row in enumerate(rows)
    for j, v in enumerate(row)
]


class ConventionExplorer(Explorer):
    """One GRU, D = 3 and H = 2, in eight layouts; one of its numbers is marked in each of them.

    Attributes
    ----------
    gate : "r", "z" or "n"
        Which part of the GRU.
    part : "W_x", "W_h" or "b"
        Which of its arrays.
    row, column : int
        Which number, from 0; a row that the array does not have is its last one. For `b` of the candidate, reset
        after, row 1 is `b_hn`.
    reset : "before" or "after"
        Where this GRU resets. It is a choice of the model.
    convention : "keep" or "write"
        How our own layout writes it. The GRU is the same.
    value : dict
        All of these; `name`, `index` and `number`, the marked number in our layout; `places`, for each of the other
        layouts the place and the number there, or None where it has none.

    Examples
    --------
    >>> from gru_lib.widgets import ConventionExplorer
    >>> marked = ConventionExplorer(gate="z", part="W_h", row=0, column=1).value
    >>> marked["number"], marked["places"]["ai-edu"]
    (0.31, ('W[0, 1]', -0.31))
    >>> marked["places"]["torch"] is None  # PyTorch resets after, and this GRU before
    True
    """

    module: ClassVar[str] = "convention"

    gate = OneOf(["r", "z", "n"], _START["gate"], help="which part of the GRU").tag(sync=True)
    part = OneOf(["W_x", "W_h", "b"], _START["part"], help="which of its arrays").tag(sync=True)
    row = Whole(_START["row"], min=0, max=D - 1, help="row of the marked number").tag(sync=True)
    column = Whole(_START["column"], min=0, max=H - 1, help="column of the marked number").tag(sync=True)
    reset = OneOf(["before", "after"], _START["reset"], help="where this GRU resets").tag(sync=True)
    convention = OneOf(["keep", "write"], _START["convention"], help="how our layout writes it").tag(sync=True)

    def params(self) -> GRUParams:
        """Return the GRU, in our layout."""
        p = gru_init(np.random.default_rng(0), D, H, reset_after=self.reset == "after")
        for name, rows in CONVENTION["weights"].items():
            if name != "b_hn" or p.reset_after:
                getattr(p, name)[...] = rows if name[0] == "W" else rows[0]
        return convert.with_convention(p, self.convention)

    def values(self) -> dict[str, Any]:
        """Return the state, the marked number, and where it stands in every layout."""
        state = self.state()
        found = {name: _find(name, state) for name in _LAYOUTS}
        ours = found.pop("ours")
        assert ours is not None  # ours has both resets, and biases
        marked = _picked(state)
        index = [marked.column] if marked.name[0] == "b" else [marked.row, marked.column]
        places = {name: place and (place[0], place[1]) for name, place in found.items()}
        return state | {"name": marked.name, "index": index, "number": ours[1], "places": places}

    def fallback(self) -> str:
        """Return the eight layouts as static SVG, with what they say as the caption."""
        words = CONVENTION["words"][self.lang or "en"]
        state = self.state()
        pictures = {name: (at["W"], at["H"], _maps(state, at, words)) for name, at in CONVENTION["layout"].items()}
        return still(pictures, "ex-maps", words["diagram"], _sentence(state, words))


def written(layout: str, p: GRUParams) -> dict[str, NDArray[Any]]:
    """Return the arrays of one layout, by the name they have there."""
    if layout == "ours":
        return {"W_x": p.W_x, "W_h": p.W_h, "b": p.b} | ({"b_hn": p.b_hn} if p.reset_after else {})
    if layout == "torch":
        return convert.to_torch([[p]])
    if layout == "keras":
        return dict(zip(("kernel", "recurrent_kernel", "bias"), convert.to_keras([p]), strict=True))
    if layout == "onnx":
        W, R, B = convert.to_onnx([p])
        return {"W": W, "R": R} | ({} if B is None else {"B": B})
    return convert.to_source(p, layout)


def _picked(s: dict[str, Any]) -> _Entry:
    """The marked number, by our name."""
    name = f"{s['part']}{s['gate']}" if s["part"] != "b" else f"b_{s['gate']}"
    if name == "b_n" and s["reset"] == "after" and s["row"]:
        name = "b_hn"
    row = min(s["row"], len(CONVENTION["weights"][name]) - 1)
    return next(e for e in _ENTRIES if (e.name, e.row, e.column) == (name, row, s["column"]))


def _number(layout: str, place: int, s: dict[str, Any]) -> float:
    """The number at a place of a layout: `place` counts our numbers from 1, negative where it is negated."""
    if place == 0:
        return 0.0
    entry = _ENTRIES[abs(place) - 1]
    turned = layout == "ours" and s["convention"] == "write" and entry.gate == "z"
    return -entry.v if (place < 0) != turned else entry.v


def _find(layout: str, s: dict[str, Any]) -> tuple[str, float, str, int, int] | None:
    """The address and the number of the marked one: also its array, row and column as drawn."""
    if s["reset"] not in _PLACES[layout]:
        return None
    marked = _ENTRIES.index(_picked(s)) + 1
    for name, rows in _PLACES[layout][s["reset"]].items():
        for i, row in enumerate(rows):
            for j, place in enumerate(row):
                if abs(place) == marked:
                    return _address(layout, name, rows, i, j), _number(layout, place, s), name, i, j
    return None


def _address(layout: str, name: str, rows: list[list[int]], i: int, j: int) -> str:
    axes = _LAYOUTS[layout]["axes"].get(name, "ij")
    if axes == "k" and 1 in np.shape(rows):  # Keras: one axis for one bias, two for two
        return f"{name}[{i if len(rows) > 1 else j}]"
    return f"{name}[{'0, ' if axes == '0ij' else ''}{i}, {j}]"


def _maps(s: dict[str, Any], at: dict[str, Any], words: dict[str, str]) -> str:
    """Return the inside of the <svg>; convention.mjs draws the same, and a test holds the two equal."""
    out = []
    for nth, layout in enumerate(CONVENTION["layouts"]):
        x, y = nth % at["columns"] * at["slot"][0], nth // at["columns"] * at["slot"][1]
        out.append(f'<g transform="translate({x} {y})">{_map(layout, s, words)}</g>')
    return "".join(out)


def _map(layout: dict[str, Any], s: dict[str, Any], words: dict[str, str]) -> str:
    cell, (left, top) = CONVENTION["cell"], CONVENTION["origin"]
    places, own = _PLACES[layout["id"]], s["reset"] in _PLACES[layout["id"]]
    reset = s["reset"] if own else next(iter(places))
    share = s["convention"] if layout["id"] == "ours" else layout["convention"]
    out = [
        text("ex-net", 0, 14, "start", words.get(layout["id"], layout["name"])),
        text("ex-small", 0, 30, "start", words["kind"].format(z=words[share], reset=words[reset])),
    ]
    for gate, x, y in layout["letters"]:
        lit = f" ex-{gate}" if own and gate == s["gate"] else ""
        out.append(text(f"ex-it ex-letter-{gate}{lit}", left + cell * x, top + cell * y + 4.5, "middle", gate))
    marks: dict[str, str] = {}
    for name, rows in places[reset].items():
        x0, y0 = (o + cell * v for o, v in zip((left, top), layout["at"][name], strict=True))
        wide, high = cell * len(rows[0]), cell * len(rows)
        out.append(
            f'<rect class="{"ex-array" if own else "ex-none"}" x="{num(x0)}" y="{num(y0)}" '
            f'width="{wide}" height="{high}"/>'
        )
        if not own:
            continue
        for i, row in enumerate(rows):
            for j, place in enumerate(row):
                v = _number(layout["id"], place, s)
                lit = place and _ENTRIES[abs(place) - 1].gate == s["gate"]
                kind = f"ex-{'down' if v < 0 else 'up'} ex-{s['gate'] if lit else 'dim'}"
                side = (cell - 2) * abs(v) ** 0.5 - (1.5 if v < 0 else 0)
                if v:
                    corner = f"{num(x0 + cell * (j + 0.5) - side / 2)} {num(y0 + cell * (i + 0.5) - side / 2)}"
                    marks[kind] = marks.get(kind, "") + f"M{corner}h{num(side)}v{num(side)}h{num(-side)}z"
    out += [f'<path class="{kind}" d="{marks[kind]}"/>' for kind in sorted(marks)]
    found = _find(layout["id"], s)
    if found:
        address, v, name, i, j = found
        x0, y0 = (o + cell * v for o, v in zip((left, top), layout["at"][name], strict=True))
        out.append(
            f'<rect class="ex-frame" x="{num(x0 + cell * j)}" y="{num(y0 + cell * i)}" width="{cell}" height="{cell}"/>'
        )
        lines = address, _change(layout["id"], v, s, words)
    elif own:
        lines = words["bare"], words["zeros"]
    else:
        lines = words["only"].format(reset=words[reset]), words["never"]
    out += [text("ex-part", 0, 188 + 17 * k, "start", line) for k, line in enumerate(lines)]
    return "".join(out)


def _turned(layout: str) -> bool:
    return bool(_LAYOUTS[layout]["transposed"])


def _change(layout: str, v: float, s: dict[str, Any], words: dict[str, str]) -> str:
    """What is done to our number to get the one of a layout, after the number itself."""
    value, marked = fixed(v, 2), _picked(s)
    if layout == "ours":
        return value
    second = _LAYOUTS[layout].get("second", {}).get(s["reset"])
    if second and marked.name in ("b_r", "b_z"):
        return words["plus"].format(v=value, second=second)
    ours = _find("ours", s)
    changes = [
        words[change]
        for change, made in (
            ("transposed", _turned(layout) and s["part"] != "b"),
            ("negated", ours is not None and ours[1] != v),
        )
        if made
    ]
    return f"{value}, {', '.join(changes) or words['same']}"


def _sentence(s: dict[str, Any], words: dict[str, str]) -> str:
    marked, ours = _picked(s), _find("ours", s)
    assert ours is not None
    index = f"[{marked.column}]" if s["part"] == "b" else f"[{marked.row}, {marked.column}]"
    meaning = words[marked.name if marked.name == "b_hn" else s["part"]].format(
        i=marked.row, j=marked.column, gate=words[f"gate_{s['gate']}"]
    )
    parts = [words["say"].format(name=f"{marked.name}{index}", v=fixed(ours[1], 2), meaning=meaning)]
    others = [name for name in _LAYOUTS if name != "ours"]
    found = {name: _find(name, s) for name in others}
    groups = {
        "say_transposed": [n for n in others if found[n] and _turned(n) and s["part"] != "b"],
        "say_negated": [n for n in others if (place := found[n]) and place[1] != ours[1]],
        "say_bare": [n for n in others if not found[n] and s["reset"] in _PLACES[n]],
        "say_never": [n for n in others if s["reset"] not in _PLACES[n]],
    }
    for key, names in groups.items():
        if names:
            shown = [words.get(name, _LAYOUTS[name]["name"]) for name in names]
            listed = words["and"].join([words["comma"].join(shown[:-1]), shown[-1]] if shown[1:] else shown)
            parts.append(words[key].format(list=listed, reset=words["after" if s["reset"] == "before" else "before"]))
    return words["space"].join(parts)
