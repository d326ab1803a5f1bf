"""``{predict}``: a question that a reader answers before the page does, with the right answer and why in one block.

    ```{predict} How often can the adding machine be right?
    :label: pre-sum-half
    It sees every word twice, once forwards and once backwards.
    - 25 %
    - [x] 50 %
    ---
    It gives a word and its reverse the same answer, and is right about one of the two.
    ```

Without options the answer is typed: ``:answer: 50 %`` is a number, right ``:within: 2`` (else to the last digit that it
has); ``:answer: fade | vanish`` a word, of which the first is shown. `predict.js` asks, compares and remembers; without
it the answer is in a fold, and so it is in the notebooks. ``{ref}`text <label>``` and ``[text](#label)`` lead to it.

sphinx-exercise compares no answers and sphinx-design only folds; jupyterquiz sets no formulas in JupyterLab;
teachbooks-questions and sphinx-yaq bring 75 and 750 KB of scripts.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

SCRIPT = Path(__file__).parent / "predict.js"
NUMBER = re.compile(r"([-−]?\d[\d,]*(?:\.(\d+))?(?:e(-?\d+))?)\s*([^\d|]*)")
MARK = "[x] "


class prediction(nodes.Element):
    """The block: a title, blocks of the question, `prediction_options` if it has some, `prediction_answer`."""


class prediction_options(nodes.bullet_list):
    """The options, each a list item; `right` is the place of the right one."""


class prediction_answer(nodes.Element):
    """What is right, as a paragraph, and why."""


class Predict(SphinxDirective):
    """The directive."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = dict.fromkeys(("label", "answer", "within"), directives.unchanged_required)

    def run(self) -> list[nodes.Node]:
        """Return the block; what is wrong with it is said with its line."""
        lines = list(self.content)
        cut = lines.index("---") if "---" in lines else len(lines)
        label, given = self.options.get("label", ""), self.options.get("answer", "")
        if not label:
            raise self.error("predict: it has no :label:, by which a reader's answer is kept and text refers to it")
        if not any(map(str.strip, lines[cut + 1 :])):
            raise self.error(f"predict: {label} does not say why; write it below a line ---")

        # A label of a rubric has a title by which Sphinx knows it.
        title = nodes.rubric(
            "", "", *self.parse_inline(self.arguments[0])[0], names=[nodes.fully_normalize_name(label)]
        )
        self.state.document.note_explicit_target(title, title)
        block = prediction("", title)
        self.state.nested_parse(self.content[:cut], self.content_offset, block)
        answer = prediction_answer()
        options = block.children.pop() if isinstance(block[-1], nodes.bullet_list) else None
        if options is not None:
            options = prediction_options("", *options.children)
            options["right"] = self._right(label, options)
            block += options
            said: list[nodes.Node] = [node.deepcopy() for node in options[options["right"]][0].children]
        elif given:
            said = [nodes.Text(self._typed(block, given))]
        else:
            raise self.error(f"predict: {label} has no answer; mark an option with [x], or give :answer:")
        answer += nodes.paragraph("", "", *said)
        self.state.nested_parse(self.content[cut + 1 :], self.content_offset + cut + 1, answer)
        block += answer
        return [block]

    def _right(self, label: str, options: nodes.Element) -> int:
        """The place of the right option, whose mark goes."""
        found = []
        for place, item in enumerate(options.children):
            first = next(iter(item.findall(nodes.Text)), nodes.Text(""))
            if first.startswith(MARK):
                first.parent.replace(first, nodes.Text(first.removeprefix(MARK)))
                found.append(place)
        if len(found) != 1:
            raise self.error(f"predict: {label} marks {len(found)} of its options with [x]; one has to be right")
        return found[0]

    def _typed(self, block: nodes.Element, given: str) -> str:
        """Note what is right, a number or words, and return what is shown."""
        number = NUMBER.fullmatch(given)
        if number is None:
            block["words"] = [word.strip() for word in given.split("|")]
            return str(block["words"][0])
        last = 10.0 ** (int(number[3] or 0) - len(number[2] or "")) / 2
        try:
            within = float(self.options.get("within", last))
        except ValueError:
            raise self.error(f"predict: :within: is a number; got {self.options['within']!r}") from None
        value = float(number[1].replace("−", "-").replace(",", ""))
        block["number"] = {"answer": f"{value!r}", "within": f"{within!r}", "unit": number[4].strip()}
        return given


def visit_prediction(writer: Any, node: nodes.Element) -> None:
    """Open the block: what it compares with, and its title as the legend of what is asked."""
    right = {name: str(value) for name, value in node.get("number", {}).items()}
    right |= {"words": "|".join(node["words"])} if "words" in node else {}
    data = "".join(f' data-{name}="{escape(value)}"' for name, value in right.items())
    writer.body.append(f'<div class="gru-predict" id="{node[0]["ids"][0]}"{data}>\n<fieldset>\n<legend>')
    title = node.children[0]
    for child in title.children:
        child.walkabout(writer)
    writer.body.append("</legend>\n")
    asked, answer = node.children[1:-1], node.children[-1]
    for child in asked:
        child.walkabout(writer)
    if not isinstance(asked[-1] if asked else None, prediction_options):
        unit = escape(right.get("unit", ""))
        field = '<input type="text" autocomplete="off" autocapitalize="off" spellcheck="false"/>'
        writer.body.append(f'<label class="gru-typed"><span>Your answer</span> {field} {unit}</label>\n')
    writer.body.append('<button type="button" hidden>Commit</button>\n</fieldset>\n<p role="status"></p>\n')
    answer.walkabout(writer)
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def visit_options(writer: Any, node: nodes.Element) -> None:
    """Radio buttons, each with its option as its label."""
    for place, item in enumerate(node.children):
        right = " data-right" if place == node["right"] else ""
        name = node.parent[0]["ids"][0]
        writer.body.append(f'<label{right}><input type="radio" name="{name}"/> <span>')
        for child in item.children[0].children:
            child.walkabout(writer)
        writer.body.append("</span></label>\n")
    raise nodes.SkipNode


def visit_answer(writer: Any, _: nodes.Element) -> None:
    """Open the fold."""
    writer.body.append("<details><summary>Answer</summary>\n")


def depart_answer(writer: Any, _: nodes.Element) -> None:
    """Close it."""
    writer.body.append("</details>\n")


def add_script(app: Sphinx, _pagename: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Give a page with a prediction the script."""
    if 'class="gru-predict"' in context.get("body", ""):
        app.add_js_file(SCRIPT.name, loading_method="defer")


def place_script(_app: Sphinx, config: Config) -> None:
    """Put the script where pages load it from."""
    config.html_static_path.append(str(SCRIPT))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_directive("predict", Predict)
    app.add_node(prediction, html=(visit_prediction, None))
    app.add_node(prediction_options, html=(visit_options, None))
    app.add_node(prediction_answer, html=(visit_answer, depart_answer))
    app.connect("config-inited", place_script)
    app.connect("html-page-context", add_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
