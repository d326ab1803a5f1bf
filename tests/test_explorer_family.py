"""What holds for every explorer alike, in a browser: drawn as described, reached by all means, linked, cleaned up.

What one explorer computes and shows is tested in a file of its own.
"""

import html
import json
import re
from itertools import count
from urllib.parse import parse_qsl

import page_checks
import pytest
from explorers import (
    ALL,
    BOOK,
    DESK,
    FAST,
    OVERLAPS,
    PHONE,
    PRINTED,
    SETTLED,
    WIDE,
    put,
    random_explorer,
    same_state,
    set_folds,
    spoilt,
    state_in,
)
from traitlets import TraitError

from conftest import ROOT
from gru_book.widgets import EXPLORERS
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Line


def own_words(text):
    return set(re.findall(r"[a-z]+", text.lower()))


@pytest.mark.parametrize("name", ALL)
def test_no_two_words_stand_under_each_others_keys(name):
    """``"kept": "written", "written": "kept"``."""
    said = {
        key: own_words(one)
        for key, one in data(f"{name}.json")["words"].items()
        if isinstance(one, str) and len(key) > 1 and len(one) < 40
    }
    assert [(a, b) for a in said for b in said if a in said[b] - said[a] and b in said[a] - said[b]] == []


# ------------------------------------------------------------------------------ tests that only read share a page


def make(page, size):
    """Give a page another size, and time to be drawn in it."""
    if page.viewport_size != size:
        page.bring_to_front()  # behind another page there are no frames
        page.set_viewport_size(size)
        page.evaluate(SETTLED)


def at(*widths):
    """The tests of one width come one after the other."""
    return pytest.mark.parametrize("width", widths, scope="module")


@pytest.fixture(scope="module", params=ALL)
def name(request):
    """An explorer: all tests that take it from here run for one before the next one's begin."""
    return request.param


@pytest.fixture(scope="module")
def shown(visits, name):
    """The explorer by width: as it is at first, with an anchor, and then in three random states.

    To open a page takes longer than to read it, or to give it another width. So the tests of this section share one.
    None of them may change a state; each sets the folds as it needs them, and puts back what else it changes.
    """
    traits = EXPLORERS[name].class_traits(sync=True)
    keys = [key for key in EXPLORERS[name].keys_of_state() if not isinstance(traits[key], Line)]
    query = "&amp;".join([f"{key}=none" for key in keys] + ["preset=toString", "q=1"])
    with visits(f"shown {name}") as visit:
        page = visit(
            EXPLORERS[name](anchor="it"),
            *(random_explorer(name, seed) for seed in (1, 0, 2)),
            before=f'<p><a href="#it?{query}">nonsense</a></p>',
            viewport=WIDE,
            reduced_motion="reduce",  # or axe may measure a button's contrast in the middle of its change of colour
        )

        def shown(width):
            make(page, {1280: WIDE, 390: PHONE}[width])
            return page

        yield shown


# Two explorers are enough for axe at one width, and one at the other: it is slow, and so it is for what stands beside.
FOR_AXE = {1280: 2, 390: 1}

TAKE_OUT = """count => {
  const others = [...document.querySelectorAll('[data-afm]')].slice(count);
  const places = others.map(() => document.createComment('one more'));
  others.forEach((e, i) => e.replaceWith(places[i]));
  const { style } = document.documentElement;
  style.opacity = 1;
  window.putBack = () => {
    style.opacity = '';
    others.forEach((e, i) => places[i].replaceWith(e));
  };
}"""


@at(1280, 390)
def test_axe_finds_nothing(shown, width):
    """But of colours, of which the next test asks more."""
    page = shown(width)
    set_folds(page, True)
    page.evaluate(TAKE_OUT, FOR_AXE[width])
    found = page_checks.violations(page)
    page.evaluate("putBack()")
    assert found == []


@at(1280, 390)
def test_all_text_has_contrast(shown, width):
    """Of all four explorers, folded or not, in the light and in the dark."""
    assert page_checks.faint_text(shown(width), "dark", "light") == []


@pytest.mark.fonts
@at(390)
def test_nothing_is_wider_than_a_phone(shown, width):
    """But the equations of the gate explorer, which scroll in a box of their own."""
    page = shown(width)
    set_folds(page, True)
    wide = page.evaluate("""() => [...document.querySelectorAll('main *')]
      .filter(e => !e.closest('svg, .ex-equations > *') && e.getBoundingClientRect().right > innerWidth + 0.5)
      .map(e => e.outerHTML.slice(0, 80))""")
    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@at(1280, 390)
def test_targets_are_large_enough(shown, width):
    page = shown(width)
    set_folds(page, True)
    small = page.evaluate(
        """least => [...document.querySelectorAll('button, summary, input')]
      .filter(e => !e.closest('[hidden]') && e.getBoundingClientRect().height < least - 0.01)
      .map(e => e.outerHTML.slice(0, 80))""",
        {1280: 32, 390: 40}[width],
    )
    assert small == []


@pytest.mark.fonts
@at(1280, 390)
def test_words_in_a_drawing_do_not_overlap(shown, width):
    page = shown(width)
    set_folds(page, False)
    assert page.evaluate(OVERLAPS) == []


CUT = """() => {
  const cut = [];
  for (const svg of document.querySelectorAll('[data-afm] svg')) {
    const { left, right } = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      const out = Math.max(left - box.left, box.right - right);
      if (out > 3) cut.push([text.textContent, out]);
    }
  }
  return cut;
}"""


@pytest.mark.fonts
@at(390)
def test_no_label_leaves_its_drawing(shown, width):
    """What stands outside is cut by a page's column."""
    assert shown(width).evaluate(CUT) == []


@at(1280, 390)
def test_words_are_there_and_filled_in(shown, name, width):
    page = shown(width)
    title = data(f"{name}.json")["words"]["title"]
    assert page.locator(f".gru-{name}[role=group]").first.get_attribute("aria-label") == title
    text = page.evaluate("document.querySelector('main').innerHTML")
    text = re.sub('data-state="[^"]*"', "", text)
    text = re.sub('href="[^"]*"', "", text)  # the link with nonsense
    assert not re.search(r"undefined|NaN|\{\w+\}|\[object", text)


@at(1280)
def test_link_with_nonsense_changes_nothing(shown, name, width):
    page = shown(width)
    before = state_in(page, name)
    page.locator("text=nonsense").click()
    assert page.evaluate("location.hash").startswith("#it?"), "the link was not followed"
    assert state_in(page, name) == before


@at(1280)
def test_print_keeps_the_drawing_and_drops_the_controls(shown, width):
    page = shown(width)
    set_folds(page, False)
    page.emulate_media(media="print")
    kept = {each: page.locator(f"[data-afm]:first-of-type {each}:visible").count() for each in PRINTED}
    words = "[data-afm]:first-of-type :is(text, tspan):not(details *)"
    gone = page.evaluate(f"""() => [...document.querySelectorAll("{words}")]
      .filter(e => getComputedStyle(e).display === 'none').map(e => e.textContent)""")
    page.emulate_media(media="screen")
    assert {each: count > 0 for each, count in kept.items()} == PRINTED
    assert gone == []


STILL = """() => ({
  shown: [...document.querySelectorAll('svg')].filter(e => e.checkVisibility()).map(e => ({
    layout: e.getAttribute('class').split('-').at(-1),
    label: e.getAttribute('aria-label'),
    width: e.getBoundingClientRect().width,
  })),
  said: document.querySelector('.ex-say').innerText,
  heights: ['[data-afm]', '.ex-preview'].map(each => document.querySelector(each).getBoundingClientRect().height),
})"""


def test_without_javascript_there_is_a_picture_with_its_sentence(visits, name):
    with visits(f"still {name}") as visit:
        page = visit(EXPLORERS[name](), viewport=WIDE, java_script_enabled=False)
        for width, layout in ((1280, "wide"), (390, "slim")):
            page.set_viewport_size({"width": width, "height": 900})
            found = page.evaluate(STILL)
            (shown,), said = found["shown"], found["said"]
            assert len(said) > 60 and not re.search(r"[{}]|None|nan", said)
            assert said in shown["label"]
            assert shown["width"] > 340 and shown["layout"] == layout
            assert found["heights"][0] < found["heights"][1] + 40, "room kept for what will not come"


# ------------------------------------------------------------------------------ tests that use the controls share one


def views_of(page, name):
    """The explorer as it is, in each of its views one after the other, if it has several."""
    start, trait = state_in(page, name), EXPLORERS[name].class_traits().get("view")
    for view in [None] if trait is None else trait.values:
        put(page, start | ({"view": view} if view else {}))
        yield view


@pytest.fixture(scope="module")
def page_in_use(visits, name):
    """One live explorer with its link below, which the tests from here on use in turn; and the state of its start."""
    states = {"gate": {"reset": "after"}, "sequence": {"task": "skip"}}  # else b_hn is not read, and one unit drawn
    state = states.get(name, {})
    with visits(f"used {name}") as visit:
        page = visit(
            EXPLORERS[name](anchor="it", **state),
            before=f'<style media="not all">main{{max-width:none}}{BOOK}</style><div class="plain">',
            after="<p>after</p>" * 40 + "</div>",
            reduced_motion="no-preference",
        )
        yield page, state_in(page, name)
        page.emulate_media(reduced_motion="no-preference")  # the window is used again: it ends as it began


# Whether the page has the book's style, and the article's room in it.
AS_IN_THE_BOOK = """(inBook) => {
  const article = document.querySelector('.gru-text, .plain'), sheet = document.querySelector('main style');
  article.className = inBook ? 'gru-text' : 'plain';
  article.style.margin = inBook ? '0 77px 0 289px' : '';
  sheet.media = inBook ? '' : 'not all';
}"""


def use(page_in_use, size, motion):
    """The explorer on a page so wide, folded; set back to its start when a test is done with it."""
    page, start = page_in_use
    page.bring_to_front()
    set_folds(page, False)
    page.emulate_media(reduced_motion=motion)
    page.evaluate(AS_IN_THE_BOOK, size is DESK)
    make(page, size)
    yield page
    put(page, start)


@pytest.fixture
def used(page_in_use):
    """Without the book around it."""
    yield from use(page_in_use, WIDE, "no-preference")


MOVE = """async () => {
  const input = document.querySelector('input[type=range]'), heard = document.querySelector('[aria-live]');
  const seen = () => [document.querySelector('svg[role=img]').innerHTML, document.querySelector('.ex-say').textContent];
  const opened = performance.now();
  while (!heard.textContent && performance.now() < opened + 4000) await new Promise(requestAnimationFrame); // the first
  const before = [...seen(), heard.textContent], given = performance.now();
  input.value = input.value === input.min ? input.max : input.min;
  input.dispatchEvent(new Event('input', { bubbles: true }));
  await new Promise(requestAnimationFrame);
  const then = [...seen(), heard.textContent];
  const frames = [];
  do { // until it has been heard; to write a text takes the language model many frames
    await new Promise(requestAnimationFrame);
    frames.push(seen());
  } while (heard.textContent === before[2] && performance.now() < given + 4000);
  return { before, then, frames, heard: heard.textContent };
}"""


def test_sentence_is_renewed_with_the_drawing_and_heard_once_it_rests(used):
    """In no frame does the sentence lag behind: where the drawing has come to its end, so has the sentence."""
    found = used.evaluate(MOVE)
    (_, _, heard), (drawn, said, hearing) = found["before"], found["then"]
    assert hearing == heard, "a moving value must not be read out"
    *_, (last_drawn, last_said) = found["frames"]
    assert drawn != found["before"][0] and last_said != found["before"][1], "nothing was moved"
    late = [s for d, s in [(drawn, said), *found["frames"]] if d == last_drawn and s != last_said]
    assert late == []
    assert found["heard"] == last_said
    assert used.locator("[aria-live], output").count() == 1, "every output would speak at every change"
    assert used.locator(".ex-say[aria-hidden=true]").count() == 1, "or it would be read twice"


FOCUSED = """(at) => {
  const slider = [...document.querySelectorAll('input[type=range]')].filter(e => e.checkVisibility())[at];
  slider?.focus();
  return slider && [slider.dataset.key, ...[slider.value, slider.step, slider.max].map(Number)];
}"""


def test_every_slider_answers_the_keyboard_by_its_step(used, name):
    set_folds(used, True)
    for _ in views_of(used, name):
        for nth in count():
            focused = used.evaluate(FOCUSED, nth)
            if focused is None:
                break
            key, before, step, most = focused
            forward = before + step <= most
            used.keyboard.press("ArrowRight" if forward else "ArrowLeft")
            moved = before + (step if forward else -step)
            value, said = used.evaluate("[Number(document.activeElement.value), document.activeElement.ariaValueText]")
            assert value == pytest.approx(moved, abs=1e-9), key
            assert said, key
        assert nth, "no slider"


DRAGGED = """async steps => {
  const drawn = () => [...document.querySelectorAll('[data-afm] svg')].map(svg => svg.innerHTML).join();
  const still = [];
  for (const input of document.querySelectorAll('input[type=range][data-key]')) {
    if (input.closest('[hidden]')) continue;
    const seen = new Set();
    for (let i = 0; i <= steps; i++) {
      input.value = Number(input.min) + (input.max - input.min) * i / steps;
      input.dispatchEvent(new Event('input', { bubbles: true }));
      if (seen.size > 1) continue;
      await new Promise(requestAnimationFrame);
      seen.add(drawn());
    }
    if (seen.size < 2) still.push(input.dataset.key);
  }
  return still;
}"""


def test_drag_of_any_slider_redraws_in_the_next_frame(used, name):
    """Over the whole range of each. Once a drawing has changed, the rest of the drag needs no frames."""
    still = []
    for view in views_of(used, name):
        still += [(view, key) for key in used.evaluate(DRAGGED, 5)]
    assert still == [], "these change no drawing"


def test_what_a_field_cannot_use_is_said_beside_it(used, name):
    """In words, as long as it stands there; what is drawn stays true of what could be used."""
    silent = []
    for field in used.locator("input[type=text]:visible").all():
        before = field.input_value()
        field.fill("☃☃")
        said = field.evaluate("""e => {
          const place = document.getElementById(e.getAttribute('aria-describedby')?.split(' ').at(-1));
          const [a, b] = [e, place ?? e].map(one => one.getBoundingClientRect());
          const near = place && Math.max(a.top - b.bottom, b.top - a.bottom, a.left - b.right, b.left - a.right) < 24;
          return near && e.ariaInvalid === 'true' && place.checkVisibility() ? place.textContent : '';
        }""")
        if len(said) < 30:
            silent.append((field.get_attribute("id"), said))
        assert used.locator("svg[role=img]").first.evaluate("svg => !/NaN|undefined/.test(svg.innerHTML)")
        field.fill(before)
        assert field.get_attribute("aria-invalid") is None
        described = (field.get_attribute("aria-describedby") or "none").split(" ")[-1]
        assert used.evaluate("id => document.getElementById(id)?.textContent ?? ''", described) == ""
    assert silent == []


# ------------------------------------------------------------------------------ a hand and its effect on one screen


@pytest.fixture
def broad(page_in_use):
    """On a page of the book on a laptop."""
    yield from use(page_in_use, DESK, "reduce")


@pytest.fixture
def on_a_phone(page_in_use):
    yield from use(page_in_use, PHONE, "reduce")


# Uses every control that can be seen, and brings it to the lower edge of the screen, then to the upper. Of the drawings
# that it changed the nearest counts: how much of it can be seen with the control, and of how much. A control that
# changes nothing at all is idle.
REACHED = """async () => {
  const el = document.querySelector('[data-afm]');
  const drawings = [...el.querySelectorAll('svg')].filter(e => e.checkVisibility());
  const controls = [...el.querySelectorAll('input[type=range], input[type=radio], button')].filter(e =>
    e.checkVisibility() && !e.closest('.ex-share, .ex-stage, .ex-best, .ex-chip')); // a chip is dragged
  const leaves = (e) => Number(e.dataset.choice === 'view'); // the other controls of the view go with it
  controls.sort((a, b) => leaves(a) - leaves(b));
  const frames = async (n) => { for (let i = 0; i < n; i++) await new Promise(requestAnimationFrame); };
  const drawn = () => drawings.map(e => e.innerHTML);
  const all = () => el.innerHTML.replace(/(ex-heard[^>]*>)[^<]*/, '$1'); // what is heard comes late
  const found = [], idle = [];
  for (const control of controls) {
    if (!control.checkVisibility() || control.disabled) continue; // it went with what it belongs to
    if (control.checked || control.ariaPressed === 'true') continue; // it is set
    const before = drawn(), shown = all();
    if (control.type === 'range') {
      control.value = control.value === control.max ? control.min : control.max;
      control.dispatchEvent(new Event('input', { bubbles: true }));
    } else control.click();
    for (let i = 0; i < 20 && all() === shown; i++) await frames(1);
    await frames(2);
    const now = drawn(), changed = drawings.filter((_, i) => now[i] !== before[i]);
    const name = control.dataset.key ?? control.value + control.textContent;
    if (all() === shown) idle.push(name);
    if (!changed.length) continue;
    const best = { name, seen: -1, of: 1, covered: false };
    for (const [from, block] of [[0, 'end'], [1e6, 'nearest']]) {
      scrollTo(0, from);
      control.scrollIntoView({ block });
      const box = control.getBoundingClientRect();
      const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      if (!hit || !(hit === control || control.contains(hit) || hit.closest('label')?.contains(control))) {
        best.covered = block;
      }
      if (block !== 'end') continue;
      for (const drawing of changed) {
        const { top, bottom, height } = drawing.getBoundingClientRect();
        const seen = Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, 0));
        // a control above its drawing can go to the upper edge of the screen
        const below = Math.max(bottom, box.bottom) - Math.min(top, box.top);
        const whole = below <= innerHeight ? height : seen;
        if (whole / height > best.seen / best.of) Object.assign(best, { seen: whole, of: height });
      }
    }
    found.push(best);
  }
  scrollTo(0, 0);
  return { found, idle };
}"""


def out_of_sight(page, name, least):
    """The controls whose drawing cannot be seen with them, whole or `least` px of it; those that are covered."""
    far, covered = [], []
    for view in views_of(page, name):
        found, idle = page.evaluate(REACHED).values()
        assert found, "nothing was used"
        assert idle == [], "these do nothing"
        far += [(view, c["name"], c["seen"], c["of"]) for c in found if c["seen"] < min(c["of"] - 0.5, least)]
        covered += [(view, c["name"], c["covered"]) for c in found if c["covered"]]
    return far, covered


def test_a_hand_and_what_it_changes_are_on_one_screen(broad, name):
    """The whole drawing, on a laptop."""
    far, covered = out_of_sight(broad, name, 1e9)
    assert (far, covered) == ([], [])


@pytest.mark.fonts
def test_broad_explorer_keeps_to_its_room(broad, name):
    """It takes what the page has beside the sidebar, at most 920 px; nothing in it runs off, or into something else."""
    for width, seed in ((1366, 1), (1280, 0), (1200, 2)):
        broad.set_viewport_size({"width": width, "height": 768})
        set_folds(broad, width == 1366)
        put(broad, random_explorer(name, seed).state())
        broad.evaluate(SETTLED)
        found = broad.evaluate("""() => {
          const el = document.querySelector('[data-afm]'), box = el.getBoundingClientRect();
          const parts = [...el.querySelectorAll('.ex-shown, .ex-set')].map(e => e.getBoundingClientRect());
          const off = [...el.querySelectorAll('*')].filter(e => !e.closest('svg *, .ex-equations > *, .ex-heard'))
            .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > box.right + 0.5);
          return {
            wide: box.width, page: document.documentElement.scrollWidth, off: off.map(e => e.outerHTML.slice(0, 80)),
            gap: parts.length ? parts[1].left - parts[0].right : null,
          };
        }""")
        assert found["off"] == [] and found["page"] <= width
        assert found["gap"] is None or (840 <= found["wide"] <= 920 and found["gap"] >= 20)
        assert broad.evaluate(OVERLAPS) == broad.evaluate(CUT) == []


# Of every line of text in a drawing, what it says and how large it is on the screen; not where it was made to fit.
SIZES = """() => [...document.querySelectorAll('[data-afm] svg')].filter(e => e.checkVisibility()).flatMap(svg => {
  const zoom = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  const size = (one) => parseFloat(getComputedStyle(one).fontSize) * zoom;
  return [...svg.querySelectorAll('text:not(.ex-tight)')].map(one => [one.textContent, size(one)]);
})"""


def test_a_finger_sees_what_it_changes(on_a_phone, name):
    """The drawing, or as much of it as a third of a phone's screen holds."""
    far, covered = out_of_sight(on_a_phone, name, PHONE["height"] / 3)
    assert (far, covered) == ([], [])


def test_what_a_finger_drags_does_not_scroll_the_page_in_its_place(on_a_phone, name):
    """What listens to a finger that goes down, or what can be held in it, says which movements the browser may take."""
    session = on_a_phone.context.new_cdp_session(on_a_phone)
    whole = session.send("Runtime.evaluate", {"expression": "document.querySelector('[data-afm]')"})["result"]
    asked = {"objectId": whole["objectId"], "depth": -1}
    found = session.send("DOMDebugger.getEventListeners", asked)["listeners"]
    for node in {one["backendNodeId"] for one in found if one["type"] == "pointerdown"}:
        it = session.send("DOM.resolveNode", {"backendNodeId": node})["object"]["objectId"]
        read = """function () {
          const said = [this, ...this.querySelectorAll('*')].map(e => getComputedStyle(e).touchAction);
          return `${this.className.baseVal ?? this.className}: ${said.find(one => one !== 'auto') ?? 'auto'}`;
        }"""
        said = session.send("Runtime.callFunctionOn", {"functionDeclaration": read, "objectId": it})["result"]["value"]
        assert not said.endswith(": auto")
    session.detach()


@pytest.mark.parametrize("place", ["broad", "on_a_phone"])
def test_labels_are_as_large_as_those_of_the_page(request, place, name):
    """13 px, where the page is 1280 wide; subscripts apart."""
    page = request.getfixturevalue(place)
    if place == "broad":
        page.set_viewport_size({"width": 1280, "height": 900})
    set_folds(page, True)
    sizes = [(view, *one) for view in views_of(page, name) for one in page.evaluate(SIZES)]
    assert len(sizes) > 10 and [one for one in sizes if one[2] < 13] == []


# The module once more, with a model of its own: what it listens to and shows meanwhile, and when it was told to stop.
CLEANED_UP = """async (name) => {
  const host = window.afmHost, script = document.createElement('script');
  const caught = await new Promise((register) => {
    window.afmHost = { register: (_, explorer) => register(explorer) };
    script.src = `${name}.js`;
    document.head.append(script);
  });
  window.afmHost = host;
  const listeners = [], el = document.body.appendChild(document.createElement('div'));
  const model = {
    get: () => undefined, set() {}, save_changes() {},
    on: (event, listener) => listeners.push([event, listener]),
    off: (event, listener) => listeners.splice(listeners.findIndex(e => e[0] === event && e[1] === listener), 1),
  };
  const stop = caught.render({ model, el });
  const during = [listeners.length, el.childElementCount];
  el.querySelector('[data-preset]').click();
  stop();
  const left = [listeners.length, el.childElementCount];
  el.remove();
  script.remove();
  return [during, left];
}"""


def test_clean_up_lets_go_of_everything(on_a_phone, name):
    during, left = on_a_phone.evaluate(CLEANED_UP, name)
    assert during[0] == len(EXPLORERS[name].keys_of_state()) and during[1] > 1, "a listener for each key"
    assert left == [0, 0]


# Presses the button below the explorer; the address it has made, once it says so.
LINKED = """async () => {
  const [button, status] = document.querySelectorAll('[data-afm] > .ex-share > *');
  status.textContent = '';
  button.click();
  for (let i = 0; i < 300 && !status.textContent.includes('address bar'); i++) {
    await new Promise(requestAnimationFrame);
  }
  return status.textContent && location.hash;
}"""


def test_link_to_a_state_opens_that_state(on_a_phone, name):
    """The address that the button below the explorer makes, opened anew, gives the state back."""
    page = on_a_phone
    assert page.evaluate(LINKED) == "#it", "the link of an untouched explorer is its anchor"

    wanted = random_explorer(name, 4).state()
    put(page, wanted)
    assert page.evaluate(LINKED).startswith("#it?")
    width = "document.querySelector('svg[role=img]').viewBox.baseVal?.width"
    on_phone = page.evaluate(width)
    page.reload()
    page.wait_for_function("performance.getEntriesByType('mark').some(m => m.name.startsWith('afm-ready'))")
    same_state(wanted, state_in(page, name))
    page.wait_for_function(f"wide => {width} === wide", arg=on_phone)  # drawn for a phone from the first
    page.evaluate("history.replaceState(null, '', '#it')")


# ------------------------------------------------------------------------------ each on a page of its own


# Presses each preset and "start again", in turn: those that do not come to their end, at once or after a glide.
PRESSED = """async ([first, glide]) => {
  const model = afmHost.modelOf(document.querySelector('[data-afm]')), late = [];
  const again = () => Object.entries(first).every(([key, value]) => String(model.get(key)) === String(value));
  for (const button of document.querySelectorAll('[data-preset], [data-again]')) {
    if (!button.checkVisibility()) continue;
    button.click();
    const there = () => ('again' in button.dataset ? again() : button.ariaPressed === 'true');
    const end = performance.now() + (glide ? 40_000 : 0);
    while (!there() && performance.now() < end) await new Promise(requestAnimationFrame);
    if (!there()) late.push(button.textContent);
  }
  return late;
}"""


@pytest.mark.parametrize("name", ALL)
def test_presets_and_start_again(visit, name):
    """They glide; for a reader who asked for less motion they jump."""
    page = visit(random_explorer(name, 3), before=FAST, reduced_motion="no-preference")
    first = state_in(page, name)
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(PRESSED, [first, False]) == []
    page.emulate_media(reduced_motion="no-preference")  # the window is used again: it ends as it began
    assert page.evaluate(PRESSED, [first, True]) == []


# ------------------------------------------------------------------------------ without a page


def test_what_a_link_says_is_held_in_its_range_and_no_preset_is_inherited(inside):
    numbers, link = (
        (lambda *a: inside("explorer")("numbersFrom", *a)),
        {"ranges": {"a": [0, 1]}, "presets": {"b": {"a": 0.5}}},
    )
    assert numbers("-3, 0.5,9", [0, 2], 3) == [0, 0.5, 2] and numbers("1,2", [0, 2], 3) is None
    read = lambda **asked: inside("explorer")("readLink", asked, link)  # noqa: E731
    assert read(a="7") == {"a": 1} and read(preset="b") == {"a": 0.5} and read(preset="b", a="0.7") == {"a": 0.7}
    assert read(preset="constructor") == read(preset="__proto__") == read(preset="") == {}
    kept = inside("explorer")(
        "(p) => Object.hasOwn(readLink({ preset: 'x' }, { presets: Object.create({ x: p }) }), 'a')", {"a": 1}
    )
    assert kept is False


READ = "asked => fromLink(() => undefined, asked)"


@pytest.mark.parametrize("name", ALL)
def test_a_link_sets_every_choice(inside, name):
    for key, trait in EXPLORERS[name].class_traits(sync=True).items():
        for value in getattr(trait, "values", ()):
            assert inside(name)(READ, {key: value}).get(key) == value, (key, value)


MADE = re.compile(r"\b(\w+)Explorer\(.*?anchor=\"([\w-]+)\"", re.S)
NUMBER = re.compile(r"(?<!near )(?<![\d.])-?\d+(?:\.\d+)?(?![\d.]* units)")
OF_PAGE = re.compile(r"\[([^\]\[]*)\]\(#([\w-]+)\?([^)]+)\)")


def test_a_link_of_a_page_sets_what_it_names_and_the_number_that_its_words_say(inside):
    """A value that an explorer does not know is dropped in silence; and a preset may hold another number."""
    wrong = []
    for text in (page.read_text("utf8") for page in sorted((ROOT / "book_text").glob("*.md"))):
        names = {anchor: name.lower() for name, anchor in MADE.findall(text)}
        for words, anchor, query in OF_PAGE.findall(text):
            asked = dict(parse_qsl(query))
            got = inside(names[anchor])(READ, asked)
            without = [{k: v for k, v in asked.items() if k != key} for key in asked]
            idle = [key for key, rest in zip(asked, without, strict=True) if inside(names[anchor])(READ, rest) == got]
            held = NUMBER.findall(json.dumps([got, asked], ensure_ascii=False))
            unheld = {n for n in NUMBER.findall(words.replace("−", "-")) if float(n) not in map(float, held)}
            wrong += [(words, query, "sets nothing:", idle, "is not set:", unheld)] * bool(idle or unheld)
    assert wrong == []


@pytest.mark.parametrize("name", ALL)
def test_a_value_that_a_key_cannot_have_is_refused_by_name(name):
    explorer = EXPLORERS[name]
    for key in explorer.keys_of_state():
        for said, values in spoilt(explorer.class_traits()[key]).items():
            for value in values:
                with pytest.raises(TraitError, match=rf"{key} must (be|hold) {re.escape(said)}; got "):
                    explorer(**{key: value})


@pytest.mark.parametrize("name", ALL)
def test_static_html_holds_the_state(name):
    explorer = random_explorer(name, 5, anchor="it")
    text = explorer.to_html()
    assert json.loads(html.unescape(re.search('data-state="([^"]*)"', text)[1])) == explorer.state()
    assert eval(repr(explorer), {type(explorer).__name__: type(explorer)}).state() == explorer.state()
    assert len(text) < 60_000
