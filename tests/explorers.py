"""What the explorers' tests share: states drawn at random, the model behind a page, and places in a drawing."""

from pathlib import Path

import numpy as np

from gru_book.widgets import EXPLORERS
from gru_book.widgets._traits import Line, Natural, Number, Numbers, OneOf, Permutation, Whole, Wholes

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
DESK = {"width": 1366, "height": 768}  # the screen of a common laptop
ALL = sorted(EXPLORERS)


# The book's own style: a broad explorer's width is a part of it.
BOOK = (Path(__file__).parents[1] / "book" / "_static" / "gru-book.css").read_text("utf-8")


def random_explorer(name, seed, **more):
    """An explorer in a state drawn over its whole range."""
    rng = np.random.default_rng(seed)
    state = {}
    for key, trait in EXPLORERS[name].class_traits(sync=True).items():
        if isinstance(trait, Whole):
            state[key] = int(rng.integers(trait.min, trait.max + 1))
        elif isinstance(trait, Permutation):
            state[key] = rng.permutation(trait.length).tolist()
        elif isinstance(trait, Natural):
            state[key] = str(int(rng.integers(0, 2 ** (trait.bits - 1))) * 2 + 1 >> int(rng.integers(0, trait.bits)))
        elif isinstance(trait, Wholes):
            state[key] = rng.integers(trait.min, trait.max + 1, trait.length).tolist()
        elif isinstance(trait, Numbers):
            state[key] = np.round(rng.uniform(trait.min, trait.max, trait.length), 2).tolist()
        elif isinstance(trait, Number):
            state[key] = round(rng.uniform(trait.min, trait.max), 3)
        elif isinstance(trait, Line):
            state[key] = "".join(rng.choice(list("aeinst ,=(")) for _ in range(trait.length // 2)) + "7"
        elif isinstance(trait, OneOf):
            state[key] = trait.values[rng.integers(len(trait.values))]
    return EXPLORERS[name](**(state | more))


def spoilt(trait):
    """Values that a key of the state cannot have, and what the error says that it must be."""
    if isinstance(trait, OneOf):
        return {f"one of {', '.join(map(repr, trait.values))}": ["no such", 1]}
    if isinstance(trait, Line):
        return {f"a text of at most {trait.length} characters": ["a" * (trait.length + 1), 3]}
    if isinstance(trait, Natural):
        values = [2**trait.bits, -1, 1.0, True, "1.5", "x", "", "9" * 5000, None]
        return {f"a whole number in [0, 2**{trait.bits}), as an int or as decimal digits": values}
    if isinstance(trait, Permutation):
        return {f"each of 0 … {trait.length - 1} once": [[0] * trait.length, "dogs"]}
    within, beyond = f"in [{trait.min:g}, {trait.max:g}]", [trait.min - 1, trait.max + 1, float("nan")]
    if isinstance(trait, Numbers):
        lists = [[trait.min] * (trait.length - 1), *([one] * trait.length for one in beyond)]
        said = {f"{trait.length} numbers {within}": ["a", *lists]}
        return said | {"whole numbers": [[trait.min + 0.5] * trait.length]} if isinstance(trait, Wholes) else said
    said = {f"a number {within}": [*beyond, "a", True]}
    return said | {"a whole number": [trait.min + 0.5]} if isinstance(trait, Whole) else said


def state_in(page, name):
    """The state of the first explorer of the page."""
    return page.evaluate(
        """keys => {
      const model = afmHost.modelOf(document.querySelector('[data-afm]'));
      return Object.fromEntries(keys.map(key => [key, model.get(key)]));
    }""",
        EXPLORERS[name].keys_of_state(),
    )


def put(page, state):
    """Set keys of the model of the first explorer from outside, as Python would."""
    page.evaluate(
        """state => {
      const model = afmHost.modelOf(document.querySelector('[data-afm]'));
      for (const [key, value] of Object.entries(state)) model.set(key, value);
    }""",
        state,
    )


# A clock ten times as fast, for movements that take 0.4 s each.
FAST = """<script>{
  const [now, frame] = [performance.now.bind(performance), requestAnimationFrame];
  performance.now = () => 10 * now();
  window.requestAnimationFrame = (draw) => frame((time) => draw(10 * time));
}</script>"""

# Time to be drawn in another size.
SETTLED = "async () => { for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); }"

# The words in a drawing whose letters lie on those of others: pieces of text as high as their ink.
OVERLAPS = """() => {
  const paper = document.createElement('canvas').getContext('2d'), range = document.createRange(), found = [];
  const ink = (node) => {
    range.selectNodeContents(node);
    const { left, right, top, height } = range.getBoundingClientRect();
    paper.font = getComputedStyle(node.parentElement).font;
    const is = paper.measureText(node.data), zoom = height / (is.fontBoundingBoxAscent + is.fontBoundingBoxDescent);
    const base = top + zoom * is.fontBoundingBoxAscent;
    const [up, down] = [is.actualBoundingBoxAscent, is.actualBoundingBoxDescent];
    return { left, right, top: base - zoom * up, bottom: base + zoom * down };
  };
  for (const svg of document.querySelectorAll('svg')) {
    const walk = document.createTreeWalker(svg, NodeFilter.SHOW_TEXT), pieces = [];
    while (walk.nextNode()) {
      const node = walk.currentNode, text = node.parentElement.closest('text');
      if (text && node.data.trim()) pieces.push([text, node.data, ink(node)]);
    }
    pieces.forEach(([a, said, p], i) => pieces.slice(i + 1).forEach(([b, other, q]) => {
      const dx = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const dy = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (a !== b && dx > 1 && dy > 1) found.push([said, other, dx, dy]);
    }));
  }
  return found;
}"""

# The height of the live explorer, and of the place that is kept for it until it wakes.
ROOM = """async () => {
  const el = document.querySelector('[data-afm]');
  const drawn = (svg) => svg.childElementCount || !svg.checkVisibility(), end = performance.now() + 4000;
  while (![...el.querySelectorAll('svg')].every(drawn) && performance.now() < end) // some take long
    await new Promise(requestAnimationFrame);
  const inside = [...el.childNodes], live = el.offsetHeight;
  delete el.dataset.live;
  el.replaceChildren();
  const kept = el.offsetHeight;
  el.dataset.live = '';
  el.replaceChildren(...inside);
  return [live, kept];
}"""

# What of an explorer is on paper.
PRINTED = {"svg": True, ".ex-say": True, "input": False, ".ex-presets": False}


def set_folds(page, unfolded):
    page.evaluate("open => document.querySelectorAll('details').forEach(d => { d.open = open; })", unfolded)


def same_state(a, b, digits=1e-6):
    assert a.keys() == b.keys()
    for key, value in a.items():
        if isinstance(value, str | bool):
            assert value == b[key], key
        else:
            np.testing.assert_allclose(b[key], value, rtol=digits, atol=digits, err_msg=key)


# ------------------------------------------------------------------------------------------------ in a drawing


def layout_of(page, data):
    """The layout of an explorer's JSON that the page draws by."""
    return data["layout"]["slim" if page.viewport_size["width"] < 560 else "wide"]


def at_point(page, drawing, x, y):
    """The place on the page of a point of a drawing, given in the drawing's own units."""
    box = page.locator(drawing).bounding_box()
    zoom = box["width"] / page.evaluate("one => document.querySelector(one).viewBox.baseVal.width", drawing)
    return box["x"] + zoom * x, box["y"] + zoom * y


def at_column(page, data, t, row, share):
    """The place on the page of column t in a row of the drawing .ex-rows; share 0 is the row's top, 1 its bottom."""
    layout = layout_of(page, data)
    place = layout[row]
    top, high = (place["y"] - place["half"], 2 * place["half"]) if "half" in place else (place["y"], place["high"])
    return at_point(page, ".ex-rows", layout["left"] + (t - 0.5) * layout["column"], top + share * high)


def drag(page, *places, touch=False):
    """Press at the first place, move over the others, release at the last; with the mouse or a finger."""
    if touch:
        session = page.context.new_cdp_session(page)
        for kind, at in zip(["touchStart"] + ["touchMove"] * len(places), [places[0], *places], strict=True):
            points = {"type": kind, "touchPoints": [{"x": at[0], "y": at[1]}]}
            session.send("Input.dispatchTouchEvent", points)
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        return
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place)
    page.mouse.up()


def gru_for_page(p):
    """The parameters of a GRU as gru-math.mjs takes them."""
    names = [f"W_{a}{g}" for a in "xh" for g in "rzn"] + ["b_r", "b_z", "b_n"] + ["b_hn"] * p.reset_after
    options = {"reset_after": p.reset_after, "convention": p.convention}
    return {name: getattr(p, name).tolist() for name in names} | options
