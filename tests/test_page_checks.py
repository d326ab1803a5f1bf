"""The checks of the pages find what they look for: each gets a page of the book with one fault for its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import page_checks
import pytest

from conftest import Visit

PAGE = "book/bibliography"
FIGURE = '<svg class="gru-fig" role="img" aria-label="A figure for a test" viewBox="0 0 9 9" font-size="4">{}</svg>'
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="

Plant = Callable[..., Path]
Open = Callable[..., Visit]
Reader = Callable[[str, int], AbstractContextManager[Visit]]


@pytest.fixture
def rewrite(tmp_path: Path, built_book: Path) -> Callable[[str, Callable[[str], str]], Path]:
    """A copy of a page with another text, beside the rest of the book: ``rewrite(page, change)`` is its path."""

    def make(page: str, change: Callable[[str], str]) -> Path:
        path = tmp_path / f"{page}.html"
        path.parent.mkdir()
        for beside in (*built_book.iterdir(), *(built_book / "book").iterdir()):
            copy = tmp_path / beside.relative_to(built_book)
            if copy not in (path, path.parent):
                copy.symlink_to(beside)
        path.write_text(change((built_book / f"{page}.html").read_text("utf8")), "utf8")
        return path

    return make


@pytest.fixture
def plant(rewrite: Callable[[str, Callable[[str], str]], Path]) -> Plant:
    """A copy of a page with its heading and something else in its article: ``plant(html)`` is its path. With ``free``
    the page has no content security policy, which would stop some faults."""

    def make(html: str, *, free: bool = False) -> Path:
        article = re.compile("(<article[^>]*>.*?</h1>).*(?=</article>)", re.S)
        policy = page_checks.POLICY if free else re.compile("(?!)")
        return rewrite(
            PAGE,
            lambda whole: article.sub(lambda found: f"{found[1]}</section>{html}", policy.sub("<head>", whole)),
        )

    return make


@pytest.fixture
def visit(plant: Plant, reader: Reader) -> Iterator[Open]:
    """Open such a page, on a phone: ``visit(html)``."""
    with ExitStack() as visits:

        def open_page(html: str, **how: bool) -> Visit:
            visit = visits.enter_context(reader(plant(html, **how).as_uri(), 390))
            visit.open()
            return visit

        yield open_page


def test_page_without_a_fault_passes_every_check(visit: Open, plant: Plant, tmp_path: Path) -> None:
    seen = visit("")
    path = tmp_path / f"{PAGE}.html"
    assert (seen.foreign, seen.complaints) == ([], [])
    assert page_checks.maths_not_set(seen.page) == []
    assert page_checks.too_wide(seen.page) == []
    assert page_checks.faint_text(seen.page) == []
    assert page_checks.violations(seen.page) == []
    for check in (
        page_checks.broken_links,
        page_checks.wordless_figures,
        page_checks.fixed_colours,
        page_checks.repeated_ids,
    ):
        assert check(path) == []


def test_window_that_was_used_before_has_kept_nothing(reader: Reader, built_book: Path) -> None:
    url = (built_book / f"{PAGE}.html").as_uri()
    with reader(url, 390) as first:
        first.open()
        first.page.evaluate("localStorage.kept = sessionStorage.kept = 'kept'; console.error('a word')")
        first.page.set_viewport_size({"width": 1280, "height": 900})
    with reader(url, 390) as second:
        second.open()
        assert second.page is first.page
        kept = second.page.evaluate("[localStorage.kept ?? null, sessionStorage.kept ?? null, innerWidth]")
    assert (kept, first.complaints, second.complaints) == ([None, None, 390], ["error: a word"], [])


def test_request_to_another_host_is_noted_and_blocked(visit: Open, book_url: str) -> None:
    """A picture of this machine by another name, which Chromium would find."""
    url = f"{book_url.replace('127.0.0.1', 'book.localhost')}/_static/minus.png"
    seen = visit(f'<img alt="" id="foreign" src="{url}">', free=True)
    assert seen.foreign == [url]
    assert seen.page.evaluate("document.getElementById('foreign').naturalWidth") == 0


def test_complaints_of_a_page_are_noted(visit: Open) -> None:
    faults = {
        "<script>console.error('an error')</script>": "error: an error",
        "<script>console.warn('a warning')</script>": "warning: a warning",
        "<script>throw new Error('an exception')</script>": "uncaught: an exception",
        "<img alt='' src='missing.png'>": "failed: ",
    }
    complaints = visit("".join(faults), free=True).complaints
    for said in faults.values():
        assert any(complaint.startswith(said) for complaint in complaints), said


FORMULA = re.compile(r"<math><semantics>(?P<drawn>.*?)(?P<tex><annotation[^>]*>.*?</annotation>)</semantics></math>")


@pytest.mark.parametrize(
    ("form", "found"),
    [
        (r"\g<0>", []),
        ("<math><merror><mtext>\\\\gz[_t</mtext></merror></math>", ["\\gz[_t"]),
        (r"<math><semantics><mrow></mrow>\g<tex></semantics></math>", None),
        (r"<math><semantics>\g<drawn></semantics></math>", None),
        (
            r"<math style='display: none'><semantics>\g<drawn>\g<tex></semantics></math>",
            None,
        ),
        ("z<sub>t</sub>", ["zt"]),
        (r"\\(z_t\\)", [r"\(z_t\)"]),
        ("$z_t$", ["$z_t$"]),
    ],
)
def test_faulty_maths_is_found_among_right_formulas(
    reader: Reader, rewrite: Callable[..., Path], form: str, found: list[str] | None
) -> None:
    """One of the notation's formulas is given another form; the first one here is its own."""
    path = rewrite("book/notation", lambda whole: FORMULA.sub(form, whole, count=1))
    with reader(path.as_uri(), 390) as seen:
        seen.open()
        assert seen.page.locator("article math").count() > 60
        said = page_checks.maths_not_set(seen.page)
        assert set(said) == set(found) if found is not None else len(said) == 1


def test_page_that_goes_on_below_its_footer_is_found(visit: Open) -> None:
    far = "<div style='height: 0'><div style='height: 9000px; visibility: hidden'></div></div>"
    assert page_checks.below_the_footer(visit(far).page) > 1000


def test_lines_that_move_as_the_page_loads_are_found(visit: Open) -> None:
    late = "<div id='late'></div><p>A line of text that moves.</p>"
    push = "requestAnimationFrame(() => requestAnimationFrame(() => { late.style.height = '300px'; }))"
    seen = visit(f"{late}<script>addEventListener('load', () => {push})</script>", free=True)
    seen.page.wait_for_function("late.style.height")
    seen.page.wait_for_timeout(100)
    assert page_checks.shift(seen.page) > 0.01


def test_weight_counts_each_file_once_and_gzipped(tmp_path: Path) -> None:
    (tmp_path / "a b.js").write_text("a" * 100_000)
    url = (tmp_path / "a b.js").as_uri()
    assert 100 < page_checks.weight([url, url, "data:,aaa"]) < 500


def test_wide_element_is_found(visit: Open) -> None:
    assert page_checks.too_wide(visit("<div style='width: 500px'>wide</div>").page) != []


@pytest.mark.parametrize(
    ("style", "found"),
    [
        ("", []),
        ("width: 900px", ["it on bd-sidebar-secondary"]),
        ("margin-left: -100px", ["it on bd-sidebar-primary"]),
        ("width: 1300px", ["it runs off the screen", "it on bd-sidebar-secondary"]),
    ],
)
def test_explorer_on_a_sidebar_is_found(
    rewrite: Callable[..., Path], reader: Reader, style: str, found: list[str]
) -> None:
    explorer = f'<div data-afm="it" id="it" style="height: 300px; {style}">explorer</div>'
    heading = re.compile("<article[^>]*>.*?</h1>", re.S)
    path = rewrite("book/notation", lambda whole: heading.sub(lambda h: h[0] + explorer, whole, count=1))
    with reader(path.as_uri(), 1366) as seen:
        seen.open()
        assert [said[: len(each)] for said, each in zip(page_checks.covered(seen.page), found, strict=True)] == found


def test_element_that_fits_with_narrow_letters_alone_is_found(visit: Open) -> None:
    """A line that may not break, 13 px from the edge of the screen."""
    style = "display: inline-block; font-size: 12px; white-space: nowrap"
    line = f"<span id='tight' style='{style}'>check.every_step_backward(my_step_backward)</span>"
    fill = "tight.style.paddingRight = `${360 - tight.getBoundingClientRect().width}px`"
    seen = visit(f"<p>{line}</p><script>{fill}</script>", free=True)
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 390
    assert page_checks.too_wide(seen.page) != []


def test_formula_that_fits_with_narrow_letters_alone_is_found(visit: Open) -> None:
    """3 px from the edge of the screen."""
    letters = "".join(f"<mi>{letter}</mi><mo>+</mo>" for letter in "abcdefg")
    seen = visit(f"<p style='white-space: nowrap'><math id='tight'>{letters}<mi>h</mi></math></p>")
    edge = "document.getElementById('tight').getBoundingClientRect().right"
    seen.page.evaluate(f"document.getElementById('tight').style.marginLeft = `${{387 - {edge}}}px`")
    assert seen.page.evaluate(f"[{edge}, document.documentElement.scrollWidth]") == [387, 390]
    assert page_checks.too_wide(seen.page) != []


FAINT = '<span style="color: #888888">word</span>'  # 3.4 : 1 in the light, 5.1 : 1 in the dark


@pytest.mark.parametrize(
    "place",
    [
        "<p>{}</p>",
        "<p>alike</p><p>alike</p><p>{}</p>",
        "<ul><li><p>alike</p></li><li><p>{}</p></li></ul>",
        "<table><tr><td>1</td></tr><tr><td>{}</td></tr></table>",
        "<div class='highlight'><pre>first</pre></div><div class='highlight'><pre>1\n2 {}</pre></div>",
        "<figure><figcaption>{}</figcaption></figure>",
        "<details><summary>more</summary>{}</details>",
        "<div hidden>{}</div>",
        "<div data-afm='none'><button style='background: none'>{}</button></div>",
        "<div style='position: absolute; background: #FFFFFF'>{}</div>",
        "<h2>{}</h2>",
        "<p><a href='#'>{}</a></p>",
    ],
)
def test_faint_word_is_found_wherever_it_stands(visit: Open, place: str) -> None:
    seen = visit(place.format(FAINT))
    seen.set_theme("light")
    assert [html for _, html in page_checks.faint_text(seen.page)] == [FAINT]
    seen.set_theme("dark")
    assert page_checks.faint_text(seen.page) == [] or "#FFFFFF" in place


SUM = "<math><mrow><mi>{}</mi><mo>=</mo><mi>{}</mi><mo>+</mo><mi>c</mi></mrow></math>"
CODE = "<div class='highlight'><pre><span class='n'>{}</span> <span class='n'>{}</span> <span>c</span></pre></div>"


@pytest.mark.parametrize(
    ("html", "faint"),
    [
        (SUM.format("a", "b") * 2, ""),
        (SUM.format("a", "b") + f"<p style='color: #888888'>{SUM.format('x', 'y')}</p>", "xcy=+"),
        (SUM.format("a", "b") + f"<p style='background: #555555'>{SUM.format('x', 'y')}</p>", "xcy=+"),
        (SUM.format("a", "b") + SUM.format("x", "y").replace("<mi>y", "<mi style='color: #888'>y"), "y"),
        (CODE.format("a", "b") + CODE.format("x", "y").replace("'n'>y", "'n' style='color: #888'>y"), "y"),
        (CODE.format("a", "b") + CODE.format("x", "y").replace("<pre", "<pre style='background: #666'"), "xyc"),
    ],
)
def test_what_looks_alike_is_asked_once_and_what_does_not_is_found(visit: Open, html: str, faint: str) -> None:
    """Of the pieces of a faint block at least one, and no other."""
    seen = visit(html)
    seen.set_theme("light")
    found = {re.sub("<[^>]*>", "", text).strip() for _, text in page_checks.faint_text(seen.page)}
    assert found <= {*faint} and bool(found) == bool(faint)


@pytest.mark.parametrize(
    ("html", "what"),
    [
        (FIGURE.format("<text fill='#888888'>word</text>"), "contrast 3."),
        (FIGURE.format("<rect width='9' height='9' fill='#000'/><text y='5' fill='#fff'>w</text>"), ""),
        (FIGURE.format("<rect width='9' height='9' fill='#999'/><text y='5' fill='#fff'>w</text>"), "contrast 2."),
        (FIGURE.format("<rect x='8' width='1' height='9'/><text y='5' fill='#fff'>w</text>"), "contrast 1."),
        ("<p style='color: #888888'><math><mi>x</mi></math></p>", "contrast 3."),
        ("<p style='color: #888888; font-size: 24px'>large</p>", ""),
        ("<p style='color: #888888; font-size: 19px; font-weight: 700'>large and bold</p>", ""),
        ("<p style='color: #888888; font-size: 19px'>neither</p>", "contrast 3."),
        ("<p style='color: rgb(0 0 0 / 0.4)'>half</p>", "contrast 2."),
        ("<div style='background: rgb(0 0 0 / 0.6)'><p>on grey</p></div>", "contrast 2."),
        ("<style>article tr:nth-child(3) { background: #555555 }</style>"
         "<table><tr><td>1</td></tr><tr><td>2</td></tr><tr><td>3</td></tr></table>", "contrast 2."),
        ("<p style='position: absolute'>over what</p>", "contrast unknown"),
        ("<p style='background: linear-gradient(#000, #FFF)'>words</p>", "contrast unknown"),
        ("<p style='opacity: 0.9'>words</p>", "contrast unknown"),
        ("<input aria-label='name' type='text' placeholder='word'>"
         "<style>article ::placeholder { color: #AAAAAA }</style>", "contrast 2."),
        ("<p>words before a <a href='#' style='text-decoration: none'>link</a></p>", "link like the words around"),
    ],
)  # fmt: skip
def test_contrast_is_that_of_colours_size_weight_and_ground(visit: Open, html: str, what: str) -> None:
    """Those with no words here are in order in the light."""
    seen = visit(html)
    seen.set_theme("light")
    found = {said for said, _ in page_checks.faint_text(seen.page)}
    assert len(found) == bool(what)
    assert all(said.startswith(what) for said in found)


def test_text_that_is_faint_in_the_dark_is_found(visit: Open) -> None:
    seen = visit("<p style='color: #1B1E23'>word</p>")
    seen.set_theme("light")
    assert page_checks.faint_text(seen.page) == []
    seen.set_theme("dark")
    assert len(page_checks.faint_text(seen.page)) == 1
    ((what, _),) = page_checks.faint_text(seen.page, "dark", "light")
    assert what.startswith("dark: contrast 1.")
    assert seen.page.evaluate("document.documentElement.dataset.theme") == "light"


def test_what_looks_alike_in_the_light_alone_is_found_in_the_dark(visit: Open) -> None:
    """Formulas that look alike lose their nodes between the themes, but only where they stand alike as well; and none
    in a table, which might no longer scroll."""
    formula = "<math><mrow><mi>{}</mi></mrow></math>"
    seen = visit(
        "<style>[data-theme=dark] .odd mi { color: #1B1E23 }</style>"
        f"<p>{formula.format('x')}</p><p class='odd'>{formula.format('y')}</p><p>{formula.format('z')}</p>"
        f"<table><tr><td>{formula.format('u')}</td><td>{formula.format('v')}</td></tr></table>"
    )
    ((what, html),) = page_checks.faint_text(seen.page, "light", "dark")
    assert what.startswith("dark: contrast 1.")
    assert html == "<mi>y</mi>"
    assert seen.page.locator("article math mi").all_text_contents() == ["x", "y", "u", "v"]


def test_a_drawing_that_moves_between_the_themes_is_measured_anew(visit: Open) -> None:
    drawing = FIGURE.format("<rect y='3' width='9' height='3' fill='#fff'/><text y='5' fill='#000'>word</text>")
    lines = "".join("<p><math><mi style='font-size: 90px'>x</mi></math></p>" for _ in range(9))
    seen = visit(f"{lines}{drawing}")
    assert page_checks.faint_text(seen.page, "light", "dark") == []


def test_axe_finds_the_same_faint_text(visit: Open) -> None:
    """Of greys on greys in three sizes, in the light and in the dark."""
    greys = ("#000000", "#666666", "#777777", "#8A8A8A", "#BBBBBB", "#FFFFFF")
    seen = visit(
        "".join(
            f"<p style='color: {ink}; background: {ground}; font: {font} sans-serif'>words</p>"
            for ink in greys
            for ground in (*greys, "none")
            if ink != ground  # axe does not say of words that nobody can see
            for font in ("16px", "bold 19px", "24px")
        )
    )
    for theme in ("light", "dark"):
        seen.set_theme(theme)
        ours = [html for _, html in page_checks.faint_text(seen.page)]
        ((rule, its),) = page_checks.axe(seen.page, runOnly=["color-contrast"])
        assert (rule, sorted(its)) == ("color-contrast", sorted(ours))
        assert 30 < len(ours) < 100


def test_axe_violations_are_found(visit: Open) -> None:
    faults = {
        "image-alt": f"<img src='{PIXEL}'>",
        "button-name": "<button></button>",
        "empty-table-header": "<table><tr><th></th><td>1</td></tr></table>",
    }
    seen = visit("".join(faults.values()))
    seen.set_theme("light")
    assert {name for name, _ in page_checks.violations(seen.page)} == set(faults)


def test_axe_leaves_explorers_whole(visit: Open) -> None:
    """They are drawn once, and other tests look at them afterwards. A figure keeps what can be reached."""
    drawing = "<svg role='img' aria-label='A line'><g><path d='M0 0h9'/><circle tabindex='0' role='button'/></g></svg>"
    seen = visit(f"{drawing}<div data-afm='none'>{drawing}</div>")
    page_checks.violations(seen.page)
    count = "drawing => drawing.querySelectorAll('path, circle').length"
    assert [e.evaluate(count) for e in seen.page.locator("article svg").all()] == [1, 2]


def test_what_axe_read_before_is_left_out_and_nothing_else(visit: Open) -> None:
    """Explorers and buttons stay; figures were read at the other width."""
    image = f"<img src='{PIXEL}'>"
    seen = visit(f"<figure>{image}</figure><button></button><div data-afm='none'><p>{image}</p></div>")
    seen.set_theme("light")
    seen.page.evaluate(page_checks.WITHOUT_PROSE)
    found = {name: len(nodes) for name, nodes in page_checks.violations(seen.page)}
    assert (found["image-alt"], found["button-name"]) == (1, 1)


@pytest.mark.parametrize("href", ["nowhere.html", "#nowhere", "notation.html#nowhere", "../nowhere"])
def test_broken_link_is_found(plant: Plant, href: str) -> None:
    assert page_checks.broken_links(plant(f"<a href='{href}'>there</a>")) == [href]


@pytest.mark.parametrize("alt", ["", "alt='a curve'", "alt='../_images/0123456789abcdef0123.png'"])
def test_picture_without_words_is_found(plant: Plant, alt: str) -> None:
    assert len(page_checks.wordless_figures(plant(f"<img src='{PIXEL}' {alt}>"))) == 1


@pytest.mark.parametrize(
    ("html", "found"),
    [(FIGURE.format('<path fill="#123456"/>'), "#123456"), ("<img src='figure.svg'>", "figure.svg")],
)
def test_colour_that_does_not_follow_the_page_is_found(plant: Plant, html: str, found: str) -> None:
    assert page_checks.fixed_colours(plant(html)) == [found]


def test_repeated_id_is_found(plant: Plant) -> None:
    assert page_checks.repeated_ids(plant("<p id='twice'></p><p id='twice'></p>")) == ["twice"]


def test_page_that_no_contents_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    for name in ("index", "search", "book/intro", "book/left-over"):
        (tmp_path / f"{name}.html").touch()
    assert page_checks.built_pages(tmp_path) == {"book/intro", "book/left-over"}


INJECTED = [
    "<script>document.title = 'injected'</script>",
    """<img src="" alt="nothing" onerror="document.title = 'injected'">""",
    """<button onclick="document.title = 'injected'" id="press">Press</button>""",
    "<script src='https://example.org/a.js'></script>",
    """<iframe srcdoc="<script>parent.document.title = 'injected'</script>"></iframe>""",
]


@pytest.mark.parametrize("html", INJECTED)
def test_injected_script_does_not_run(visit: Open, html: str) -> None:
    seen = visit(html)
    if "press" in html:
        seen.page.locator("#press").click()
    assert seen.page.title() != "injected"
    assert any("Content Security Policy" in complaint for complaint in seen.complaints)


GOOD = "default-src 'none'; script-src 'self' 'sha256-{}='; style-src 'self' 'unsafe-inline'; base-uri 'none'"
HEAD = '<head>\n<meta charset="utf-8"/><meta content="{}" http-equiv="Content-Security-Policy"/>\n<script></script>'


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("", "", []),
        ("script-src 'self'", "script-src 'self' 'unsafe-eval'", ["'unsafe-eval'", "script-src 'self' 'unsafe-eval'"]),
        ("script-src 'self'", "script-src 'self' 'unsafe-inline'", ["'unsafe-inline'", "script-src"]),
        ("script-src 'self'", "script-src 'self' https:", ["https:", "script-src 'self' https:"]),
        ("default-src 'none'", "default-src *", ["default-src", "default-src *"]),
        ("base-uri 'none'", "img-src data:", ["base-uri"]),
        ('<meta charset="utf-8"/>', "<script></script>", ["no policy before all else"]),
        ("<script></script>", '<b onclick="f()">x</b>', ['<b onclick="f()">']),
        ("<script></script>", '<a href="javascript:f()">x</a>', ['<a href="javascript:f()">']),
    ],
)
def test_lax_policy_is_found(old: str, new: str, wrong: list[str]) -> None:
    whole = HEAD.format(GOOD.format("A" * 43))
    assert old in whole
    found = page_checks.lax(whole.replace(old, new, 1) if old else whole)
    assert [w for w in wrong if not any(f.startswith(w) for f in found)] == []
    assert len(found) == len(wrong)
