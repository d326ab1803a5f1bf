"""The beam as a tree: what is followed, what is cut, what wins (chapter 18)."""

from __future__ import annotations

import json
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gru_lib.decode import Hypothesis, beam_search, greedy
from gru_lib.widgets._explorer import Explorer, Number, OneOf, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, still, text

__all__ = ["BeamExplorer"]

BEAM = json.loads((HERE / "beam.json").read_text("utf-8"))  # start, limits, trees, layout and words
_START, _LIMITS, DEPTH = BEAM["start"], BEAM["limits"], BEAM["depth"]


class _Node(NamedTuple):
    text: str
    level: int
    log_prob: float
    leaf: bool
    row: float


class BeamExplorer(Explorer):
    """A tree of at most three steps with three tokens, searched by a beam, greedily and exhaustively.

    Attributes
    ----------
    tree : "greedy", "overtaken" or "short"
        One of three fixed trees; in the last a sequence may end before three steps.
    width : int in [1, 9]
        Beginnings that the beam keeps.
    alpha : float in [0, 2]
        Length normalisation: the score is log P / length^alpha.
    value : dict
        All of these; `best`, `greedy` and `exact`: [sequence, log P, score] of the beam, of greedy search, and of the
        best of all; `seen`, the number of nodes that the beam looked at.

    Examples
    --------
    >>> from gru_lib.widgets import BeamExplorer
    >>> value = BeamExplorer(tree="greedy", width=2).value
    >>> value["greedy"][0], value["best"][0]
    ('aaa', 'bab')
    """

    module: ClassVar[str] = "beam"

    tree = OneOf(list(BEAM["trees"]), _START["tree"], help="which of the trees").tag(sync=True)
    width = Whole(_START["width"], min=1, max=_LIMITS["width"][1], help="beginnings kept").tag(sync=True)
    alpha = Number(float(_START["alpha"]), min=0, max=_LIMITS["alpha"][1], help="length normalisation").tag(sync=True)

    def step(self, before: str | None, token: int) -> tuple[np.ndarray, str]:
        """Return the log-probabilities after a beginning, as `beam_search` and `greedy` ask for them."""
        tree = BEAM["trees"][self.tree]
        prefix = "" if before is None else before + tree["tokens"][int(token)]
        return np.log(tree["next"][prefix]), prefix

    def search(self) -> tuple[list[Hypothesis], set[str]]:
        """Return what the beam finds, and the beginnings that it followed."""
        followed: set[str] = set()

        def step(before: str | None, token: int) -> tuple[np.ndarray, str]:
            log_probs, prefix = self.step(before, token)
            followed.add(prefix)
            return log_probs, prefix

        end = BEAM["trees"][self.tree]["end"]
        found = beam_search(step, None, 0, width=self.width, end=end, max_steps=DEPTH, alpha=self.alpha)
        return found, followed

    def _text(self, tokens: Any) -> str:
        return "".join(BEAM["trees"][self.tree]["tokens"][int(k)] for k in tokens)

    def _greedy(self) -> tuple[str, float]:
        found = greedy(self.step, None, 0, end=BEAM["trees"][self.tree]["end"], max_steps=DEPTH)
        return self._text(found.tokens), float(found.log_prob)

    def _nodes(self) -> list[_Node]:
        """All nodes, parents first."""
        tree, nodes, rows = BEAM["trees"][self.tree], [], 0

        def visit(prefix: str, level: int, log_prob: float) -> float:
            nonlocal rows
            leaf = level == DEPTH or (
                level > 0 and tree["end"] is not None and prefix[-1] == tree["tokens"][tree["end"]]
            )
            place = len(nodes)
            nodes.append(None)
            if leaf:
                row, rows = float(rows), rows + 1
            else:
                below = [
                    visit(prefix + token, level + 1, log_prob + float(np.log(p)))
                    for token, p in zip(tree["tokens"], tree["next"][prefix], strict=True)
                ]
                row = (below[0] + below[-1]) / 2
            nodes[place] = _Node(prefix, level, log_prob, leaf, row)
            return row

        visit("", 0, 0.0)
        return nodes

    def values(self) -> dict[str, Any]:
        """Return the state, the three sequences, and how many nodes the beam looked at."""
        found, followed = self.search()
        nodes, (said, log_prob) = self._nodes(), self._greedy()
        leaves = [(n.log_prob / n.level**self.alpha, n) for n in nodes if n.leaf]
        exact_score, exact = max(leaves, key=lambda leaf: leaf[0])
        return self.state() | {
            "best": [self._text(found[0].tokens), found[0].log_prob, found[0].score],
            "greedy": [said, log_prob, log_prob / len(said) ** self.alpha],
            "exact": [exact.text, exact.log_prob, exact_score],
            "seen": sum(bool(n.level) and n.text[:-1] in followed for n in nodes),
        }

    def fallback(self) -> str:
        """Return the tree as static SVG, with what it says as the caption."""
        words, value = BEAM["words"][self.lang or "en"], self.values()
        (best, log_prob, score), (said, greedy_log, _), (exact, _, exact_score) = (
            value[name] for name in ("best", "greedy", "exact")
        )
        verdict = "same" if best == said else "higher" if log_prob > greedy_log else "lower"
        caption = words["say"].format(
            width=self.width,
            seen=value["seen"],
            all=len(self._nodes()) - 1,
            best=best,
            log_prob=fixed(log_prob),
            score=fixed(score),
            greedy=said,
            greedy_log=fixed(greedy_log),
            verdict=words[verdict],
            exact=exact,
            exact_score=fixed(exact_score),
        )
        pictures = {name: (at["W"], at["H"], self._drawing(at, words)) for name, at in BEAM["layout"].items()}
        return still(pictures, "ex-tree", words["diagram"], caption)

    def _drawing(self, at: dict[str, Any], words: dict[str, str]) -> str:
        """Return the inside of the <svg>: that of drawTree in beam.mjs."""
        (found, followed), nodes, (said, _) = self.search(), self._nodes(), self._greedy()
        scores = {self._text(one.tokens): one.score for one in found}
        best, rows = self._text(found[0].tokens), {node.text: node.row for node in nodes}
        out = [text("ex-small", at["x"][t] - 4, 14, "start", f"{words['step']} {t}") for t in (1, 2, 3)]
        marks = []
        for node in nodes:
            x, y = at["x"][node.level], at["top"] + 8 + node.row * at["row"]
            kept = not node.level or node.text in followed or node.text in scores
            how = "kept" if kept else "cut" if node.text[:-1] in followed else "never"
            if node.level:
                left = at["x"][node.level - 1] + (6 if node.level == 1 else 58)
                above = at["top"] + 8 + rows[node.text[:-1]] * at["row"]
                out.append(f'<path class="ex-branch ex-{how}" d="M{num(left)} {num(above)}L{num(x - 7)} {num(y)}"/>')
                score = f" ({fixed(scores[node.text], 2)})" if at["score"] and node.text in scores else ""
                token = node.text[-1]
                shown = token if how == "never" else f"{token} {fixed(node.log_prob, 2)}{score}"
                marks.append(text(f"ex-node ex-{how}", x + 8, y + 4, "start", shown))
            if node.text and node.text == best:
                marks.append(f'<rect class="ex-won" x="{num(x - 4)}" y="{num(y - 4)}" width="8" height="8"/>')
            else:
                marks.append(f'<circle class="ex-dot ex-{how}" cx="{num(x)}" cy="{num(y)}" r="2"/>')
            if said.startswith(node.text):
                marks.append(f'<circle class="ex-greedy" cx="{num(x)}" cy="{num(y)}" r="6"/>')
        return "".join(out) + "".join(marks)
