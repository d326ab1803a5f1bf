"""Whatever can be pressed does something that a reader sees; menu and contents open and close by every means.

But in the explorers: `test_explorer_family.py` presses what is theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Download, Error, Locator, Page, expect

from conftest import Visit

PHONE, DESK = 390, 1280

# A page of each kind, at one of the widths; the large ones, and those that have little of their own, are slow.
FEW = [("book/intro", DESK), ("book/05c-checking-gradients", PHONE), ("search", PHONE), ("404", DESK)]
MORE = [
    ("book/04-gru-forward", PHONE),
    ("book/glossary", DESK),
    ("book/map", PHONE),
    ("book/instructors", DESK),
    ("book/api-widgets", PHONE),
    ("_modules/gru_lib/cells/gru", DESK),
]
PAGES = [*FEW, *(pytest.param(*page, marks=pytest.mark.slow) for page in MORE)]

Reader = Callable[[str, int], AbstractContextManager[Visit]]

PRESSING = """() => {
  const path = (e) => e === document.body ? "body"
    : `${path(e.parentElement)} > :nth-child(${[...e.parentElement.children].indexOf(e) + 1})`;
  const kind = (e, levels = 4) =>
    e && levels ? `${kind(e.parentElement, levels - 1)} ${e.localName}.${e.className}` : "";
  const shown = (e) => e.checkVisibility({ visibilityProperty: true });
  const pointer = (e) => getComputedStyle(e).cursor === "pointer";
  const controls = "a[href], button, summary, input, select, textarea, [role=button], [role=slider]";
  const field = "input:not([type=radio], [type=checkbox], [type=button]), select, textarea, [role=slider]";
  let pressed, before;
  const note = (what) => (document.documentElement.dataset.pressed = `${what} ${performance.now()}`);

  window.pressing = {
    // Whether one that was found can be pressed now.
    there(place) {
      const e = document.querySelector(place), open = document.querySelector("dialog[open]");
      return e !== null && shown(e) && (open?.contains(e) ?? true);
    },

    // What can be pressed now, by its kind. Links, what unfolds and what copies are of a kind where what they are
    // in has the same names and classes; of the rest each is one.
    async find() {
      const still = Promise.allSettled(document.getAnimations().map((one) => one.finished));
      await Promise.race([still, new Promise((done) => setTimeout(done, 500))]);
      const found = {};
      for (const e of (document.querySelector("dialog[open]") ?? document.body).querySelectorAll("*")) {
        if (e.matches("math *, pre *, label *, label, :disabled, option, [data-afm] *") || !shown(e)) continue;
        if (!e.matches(controls) && (e.closest(controls) || !pointer(e) || pointer(e.parentElement))) continue;
        found[e.matches("a, summary, .copybtn") ? kind(e) : path(e)] ??= path(e);
      }
      return found;
    },

    // Where the mouse hits it, or the keys for it.
    async aim(e) {
      pressed = e;
      history.replaceState(null, "", location.href.split("#")[0]);  // or a link may lead where we are
      e.scrollIntoView({ block: "center" });
      for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);  // the contents show where the reader is
      const place = this.place(e);
      before = this.seen();
      return place;
    },

    // Whether a reader sees anything happen.
    async happens() {
      for (let i = 0; i < 30; i++) {
        if (this.seen() !== before) return true;
        await new Promise((done) => setTimeout(done, 50));
      }
      return false;
    },

    // The keys are those of a field, and Enter for what shows itself in focus alone.
    place(e) {
      if (e.matches(field)) {
        e.focus();
        if (e.matches("[type=text], [type=search], textarea")) return ["a", "1", "Enter"];
        return [e.type === "range" && e.value === e.max ? "ArrowLeft" : "ArrowRight"];
      }
      for (const { x, y, width, height } of [e, ...e.children].flatMap((part) => [...part.getClientRects()])) {
        if (width * height === 0) continue;
        const place = { x: x + width / 2, y: y + height / 2 }, hit = document.elementFromPoint(place.x, place.y);
        if (hit === null) return e.focus(), ["Enter"];
        if (e.contains(hit) || e.labels?.[0]?.contains(hit)) return place;
      }
      return null;
    },

    // What a reader sees: the address, the theme, and of all that is shown its place, its words and its drawing; also
    // that another field has the focus. A link leads somewhere: for it the address alone counts. Nothing counts that a
    // field has in it, nor a menu that closes over what was pressed there, nor what another button says for
    // two seconds when it has copied.
    seen() {
      const active = document.activeElement;
      const all = [location.href, scrollY, JSON.stringify(document.documentElement.dataset)];
      if (pressed?.matches("a")) return all.join("\\n");
      if (active !== pressed && active.matches(field)) all.push(path(active));
      const look = (e) => {
        if (e.matches("[data-afm]") || !shown(e) || (e.matches(".gru-drop ul") && e.contains(pressed))) return;
        const { x, y, width, height } = e.getBoundingClientRect();
        const words = [...e.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim());
        const drawn = e instanceof SVGElement ? [...e.attributes].map((a) => a.value) : [];
        all.push([e.localName, x, y, width, height, ...words, ...drawn].join());
        if (!e.matches("math, pre") && (e === pressed || !e.matches(".copybtn"))) [...e.children].forEach(look);
      };
      look(document.body);
      return all.join("\\n");
    },
  };

  // Nothing is printed. A link that leaves the page is followed as far as can be told from here: nobody prevented it.
  window.print = () => note("print");
  addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || event.defaultPrevented || !/^https?:|html([?#]|$)/.test(link.href)) return;
    if (link.href.split("#")[0] === location.href.split("#")[0]) return;
    event.preventDefault();
    note(link.href);
  });
}"""


class Presser:
    """Presses everything on a page."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.kinds: set[str] = set()
        self.begun: list[str] = []

    def note(self, other: Download | Page) -> None:
        """A download has begun, or another page has opened."""
        self.begun.append(other.url)

    def open(self) -> None:
        """Load the page, with its explorers alive."""
        self.page.goto(self.url)
        self.page.wait_for_function("[...document.querySelectorAll('[data-afm]')].every((e) => 'live' in e.dataset)")
        self.page.evaluate(PRESSING)

    def found(self) -> dict[str, str]:
        """What can be pressed now: its path, by its kind."""
        try:
            if not self.page.evaluate("'pressing' in window"):
                self.open()
            return self.page.evaluate("pressing.find()")
        except Error:  # the page changed at a press, and now another one comes as well
            self.page.wait_for_load_state()
            return self.found()

    def there(self, path: str) -> bool:
        """Whether it can be pressed now."""
        try:
            return self.page.evaluate("path => 'pressing' in window && pressing.there(path)", path)
        except Error:  # another page is coming
            return False

    def press(self, path: str) -> bool:
        """Whether anything happens."""
        page, url, begun = self.page, self.page.url, len(self.begun)
        place = page.locator(path).evaluate("e => pressing.aim(e)")
        if isinstance(place, dict):
            page.mouse.click(**place)
            page.mouse.move(0, 0)
        for key in place if isinstance(place, list) else []:
            page.keyboard.press(key)
            page.wait_for_load_state()
        try:
            return page.evaluate("pressing.happens()") or len(self.begun) > begun
        except Error:  # another page has come, or is coming
            page.wait_for_url(lambda now: now != url)
            return True

    def press_everything(self, *way: str) -> list[str]:
        """What does nothing, of the kinds that were not there before: on the page, or once these were pressed."""
        fresh = {kind: path for kind, path in self.found().items() if kind not in self.kinds}
        self.kinds |= fresh.keys()
        dead = []
        for path in fresh.values():
            if not self.there(path):
                self.page.keyboard.press("Escape")
            if not self.there(path):
                self.open()
                for opener in way:
                    self.press(opener)
            words = self.page.locator(path).evaluate("e => e.outerHTML.slice(0, 200)")
            if not self.press(path):
                dead.append(words)
            dead += self.press_everything(*way, path)
        return dead


@pytest.mark.parametrize(("name", "width"), PAGES, ids=lambda of: of if isinstance(of, int) else f"{of}.html")
def test_what_can_be_pressed_does_something(
    reader: Reader, built_book: Path, book_url: str, name: str, width: int
) -> None:
    """From disk on a phone, over http on a desk. The page for a wrong address is a server's."""
    place = built_book.as_uri() if width == PHONE and name != "404" else book_url
    with reader(f"{place}/{name}.html", width) as visit:
        presser = Presser(visit.page, visit.url)
        for event in ("download", "popup"):
            visit.page.on(event, presser.note)
        presser.open()
        assert presser.press_everything() == []
        for event in ("download", "popup"):
            visit.page.remove_listener(event, presser.note)
        for other in visit.page.context.pages[1:]:
            other.close()
        assert visit.foreign == []
        # What another page has cut off counts as failed too; of a file that is missing, a server says 404.
        cut = [f"failed: {url}" for url in presser.begun]
        assert [c for c in visit.complaints if c not in cut and not c.startswith(f"failed: {book_url}/_static")] == []


@pytest.mark.parametrize(("width", "where"), [
    (PHONE, "file"), pytest.param(768, "http", marks=pytest.mark.slow), (DESK, "file")
])  # fmt: skip
def test_menu_and_contents_open_lead_on_and_close(
    browser: Browser, built_book: Path, book_url: str, width: int, where: str
) -> None:
    """By mouse, touch and keyboard. The focus goes in and comes back. On a desk the menu stands beside the text, and
    its button hides it; the contents are there for good."""
    context = browser.new_context(viewport={"width": width, "height": 900}, has_touch=True, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{built_book.as_uri() if where == 'file' else book_url}/book/04-gru-forward.html")
    by_key = [(lambda e, key=key: e.press(key), lambda *_: page.keyboard.press("Escape")) for key in ("Space", "Enter")]
    means = [*by_key, (Locator.click, page.mouse.click), (Locator.tap, page.touchscreen.tap)]
    for name, words, beside in (("menu", "5. The GRU, backward", width - 9), ("contents", "One step by hand", 9)):
        button, bar = page.locator(f"[data-opens={name}]"), page.locator(f"#{name}")
        dialog = page.locator(f"#{name}-dialog")
        if name == "contents" and width == DESK:
            expect(button).to_be_hidden()
            expect(bar).to_be_visible()
            continue
        for press, close in means:
            press(button)
            if width == DESK:
                expect(bar).to_be_hidden()
                press(button)
                expect(bar).to_be_visible()
            else:
                expect(dialog).to_be_visible()
                assert dialog.evaluate("e => e.contains(document.activeElement)")
                close(beside, 450)
                expect(dialog).to_be_hidden()
            expect(button).to_be_focused()
        for press, _ in means[1:]:  # a link is not followed by Space
            if width != DESK:
                press(button)
            press(bar.get_by_role("link", name=words))
            expect(page.get_by_role("heading", name=words)).to_be_in_viewport()
            expect(dialog).to_be_hidden()
            expect(button).not_to_be_focused()
            page.go_back()
    context.close()
