"""The base of every explorer: a live widget in Jupyter, and its preview where no JavaScript runs."""

from __future__ import annotations

import html
import json
import re
from hashlib import sha256
from typing import Any, ClassVar

import anywidget
from traitlets import Dict, Unicode

from gru_book.widgets._modules import PREVIEWS, assemble, styles

__all__ = ["Explorer"]

# Before the sentence of a preview that stands for a state it does not show.
_AS_IT_STARTS = "This picture shows the explorer as it starts, not as it is set here. "
# What a notebook stores inside the element, for a viewer without widgets; the build puts the preview there.
_NO_WIDGETS = "<p>An explorer: a live notebook shows it, and so does the book.</p>"
_ELEMENT = re.compile(r'(?: id="(?P<anchor>[^"]*)")? data-afm="(?P<module>[^"]*)" data-state="(?P<state>[^"]*)"')


class Explorer(anywidget.AnyWidget):
    """An explorer of the book. Live in a notebook, it also works in a built page, where no kernel runs.

    A subclass names its ES module (`module`, the stem of the `.mjs` beside this file) and declares its state as traits
    tagged ``sync=True``. The module alone computes and draws. The picture for pages without JavaScript is drawn by it
    too, beforehand: ``python tools/previews.py`` stores it in `previews/`, and the build puts it into the page.

    Parameters
    ----------
    anchor
        The element's `id` in the built page, so that a link in the prose can set the state:
        ``[z near 1](#gate?z=0.99)`` reaches the explorer with ``anchor="gate"``.
    **state
        Values for the traits.

    Raises
    ------
    TypeError
        For a name that is not part of the state.
    traitlets.TraitError
        For a value out of range.
    """

    module: ClassVar[str] = ""

    anchor = Unicode("", help="id of the element in the built page")
    value = Dict(read_only=True, help="the whole state; ipywidgets.interactive_output reads it")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Read the module and its styles once, when the class is made."""
        if "module" in vars(cls):  # not in the class that traitlets derives when a trait is added
            cls._esm = assemble(f"{cls.module}.mjs")
            cls._css = styles(cls.module, tokens=True)
        super().__init_subclass__(**kwargs)

    def __init__(self, **state: Any) -> None:
        for name in state:
            if not self.has_trait(name):
                raise TypeError(f"{type(self).__name__}: no argument {name!r}; it takes {', '.join(self._names())}.")
        super().__init__(**state)
        self.observe(self._tell, self.keys_of_state())
        self._tell()

    @classmethod
    def _names(cls, **metadata: Any) -> list[str]:
        """The traits that the explorers declare (not those of ipywidgets), the subclass's first."""
        traits = {name: trait for name, trait in cls.class_traits(**metadata).items() if not trait.read_only}
        declared = [name for base in cls.__mro__ if issubclass(base, Explorer) for name in vars(base)]
        return [name for name in declared if name in traits and not name.startswith("_")]

    @classmethod
    def keys_of_state(cls) -> list[str]:
        """Return the names of the traits that are shared with the page, in order."""
        return cls._names(sync=True)

    def state(self) -> dict[str, Any]:
        """Return the state as plain values; numbers to twelve digits, so that it prints alike everywhere."""
        values = {name: getattr(self, name) for name in self.keys_of_state()}

        def short(v: Any) -> Any:
            if isinstance(v, list):
                return [short(one) for one in v]
            return float(f"{v:.12g}") if isinstance(v, float) else v

        return {name: short(value) for name, value in values.items()}

    def values(self) -> dict[str, Any]:
        """Return what `value` holds: the state; a subclass may add to it."""
        return self.state()

    def _tell(self, _change: Any = None) -> None:
        self.set_trait("value", self.values())

    def _changed(self) -> dict[str, Any]:
        """What of the state differs from the defaults."""
        default = {name: trait.default_value for name, trait in self.class_traits(sync=True).items()}
        return {name: value for name, value in self.state().items() if value != default[name]}

    def preview(self) -> str:
        """Return the name of the file that holds, or would hold, the preview of this state."""
        changed = self._changed()
        digest = sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.module}{f'-{digest}' if changed else ''}.html"

    def fallback(self) -> str:
        """Return the stored preview of this state; failing that the one of the start, which says so."""
        own, start = PREVIEWS / self.preview(), PREVIEWS / f"{self.module}.html"
        if own.is_file():
            return own.read_text("utf-8").replace("\n", "")
        if not start.is_file():  # before tools/previews.py has met the explorer
            return "<p>This explorer needs JavaScript.</p>"
        said = '<p class="ex-say">'
        return start.read_text("utf-8").replace("\n", "").replace(said, said + _AS_IT_STARTS)

    def to_html(self, inside: str | None = None) -> str:
        """Return the element that the host of a built page brings to life; in it stands, by default, the preview."""
        anchor = f' id="{html.escape(self.anchor)}"' if self.anchor else ""
        data = html.escape(json.dumps(self.state(), ensure_ascii=False))
        return (
            f'<div class="gru-ex gru-{self.module}"{anchor} data-afm="{self.module}" data-state="{data}">'
            f"{self.fallback() if inside is None else inside}</div>"
        )

    @staticmethod
    def from_html(text: str) -> Explorer | None:
        """Return the explorer whose element a text holds, such as a notebook's output; None if there is none."""
        found = _ELEMENT.search(text)
        if found is None:
            return None
        classes = {cls.module: cls for cls in Explorer.__subclasses__()}
        state = json.loads(html.unescape(found["state"]))
        return classes[found["module"]](anchor=html.unescape(found["anchor"] or ""), **state)

    def __repr__(self) -> str:
        """Name what differs from the defaults: no address, so that it prints alike every time."""
        shown = [f"{name}={value!r}" for name, value in self._changed().items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]  # None only without a front end
        return {**data, "text/html": self.to_html(_NO_WIDGETS)}, metadata
