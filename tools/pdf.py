"""The built book as one PDF: ``python tools/pdf.py FILE``.

The pages of ``_build/html``, in the order of ``_toc.yml``, become one page, which the browser prints, with numbers,
chapters at the foot, and links from page to page.
"""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from io import BytesIO
from pathlib import Path

import browser
import yaml
from playwright.sync_api import Browser, Page, sync_playwright
from pypdf import PdfReader, PdfWriter

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"

# Paper has no use for "Show code", and has margins of its own.
STYLE = """
    details.hide:not([open]) { display: none }
    .gru-ex svg { overflow: visible }
    .ex-equations { zoom: 0.9 }
    article { position: relative }
    .pdf-place { position: absolute; top: 0; font-size: 1px }
    @page { size: A4; @bottom-right { content: counter(page); font: 8.5pt "Liberation Sans", Arial, sans-serif } }
"""
# The chapter's name on each of its sheets.
NAMED = '#{0} {{ page: {0} }} @page {0} {{ @bottom-left {{ content: {1}; font: 8.5pt "Liberation Sans", Arial }} }}'
# The browser notes the place of what a link leads to.
PLACE = '<a class="pdf-place" href="#{}">\N{NO-BREAK SPACE}</a>'
LIGHT = "document.documentElement.dataset.mode = document.documentElement.dataset.theme = 'light'"
# An output of up to 108 characters a line keeps its columns, in letters as small as it needs: the style sheet's fit 89.
FIT = """document.querySelectorAll('.cell_output pre').forEach(pre => {
    const longest = Math.max(...pre.textContent.split('\\n').map(line => line.length));
    const size = parseFloat(getComputedStyle(pre).fontSize);
    if (longest > 89 && longest <= 108) pre.style.fontSize = `${size * 89 / longest}px`;
})"""
ARTICLE = re.compile(r"<article\b.*</article>", re.S)
ASSET = re.compile(r'<link [^>]*rel="stylesheet"[^>]*>|<script [^>]*src="[^>]*></script>')
NAMES = re.compile(r'(?<= )((?:id|for|name|aria-labelledby|aria-describedby)=")([^"]+)')
LINK = re.compile(r' href="(?!\w+:)([^"#]*)(#[^"]*)?"')


def contents(root: Path = ROOT) -> list[tuple[str, list[str]]]:
    """The parts of ``_toc.yml`` with their pages, the front page first: ``[("", ["book/intro"]), …]``."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf8"))
    return [("", [toc["root"]])] + [(p["caption"], [c["file"] for c in p["chapters"]]) for p in toc["parts"]]


def as_one(html: Path, pages: list[str]) -> tuple[str, dict[str, str]]:
    """The pages as one, the first with an article for each, and the titles by the articles' names.

    What has a name there is named after its page too.
    """
    files = {f"{Path(page).name}.html": html / f"{page}.html" for page in pages}
    ids = {name: f"page{number}" for number, name in enumerate(files)}
    texts = {name: file.read_text("utf8") for name, file in files.items()}
    articles, titles, style = [], {}, [STYLE]
    for name, text in texts.items():
        own = ids[name]

        def inside(link: re.Match[str], name: str = name) -> str:
            """A link within the book; one to what is not printed leads nowhere."""
            page, place = ids.get(link[1] or name), (link[2] or "").replace("#", "-", 1)
            return f' href="#{page}{place}"' if page else ""

        article = ARTICLE.search(text)[0]  # type: ignore[index]
        titles[own] = unescape(re.sub(r"<a\b.*?</a>|<[^>]+>", "", re.findall("<h1>(.*?)</h1>", article, re.S)[0]))
        article = NAMES.sub(lambda m, own=own: m[1] + " ".join(f"{own}-{each}" for each in m[2].split()), article)
        article = LINK.sub(inside, article.replace("url(#", f"url(#{own}-"))
        articles.append(re.sub(r"<article\b([^>]*)>", rf'<article\1 id="{own}">{PLACE.format(own)}', article, count=1))
        style.append(NAMED.format(own, json.dumps(titles[own], ensure_ascii=False)))
    first = next(iter(texts.values()))
    head = "".join(dict.fromkeys(tag for text in texts.values() for tag in ASSET.findall(text) if tag not in first))
    first = first.replace("</head>", f"{head}<style>{' '.join(style)}</style></head>")
    return ARTICLE.sub(lambda _: "".join(articles), first), titles


def sheet(chromium: Browser) -> Page:
    """A window as wide as the paper between its margins, in print: explorers measure where they stand.

    Its dots are as small as a printer's: letters are sized by their x-height, which a browser rounds to whole dots.
    """
    paper = {"width": 627, "height": 971}
    page = chromium.new_page(viewport=paper, device_scale_factor=4, reduced_motion="reduce", color_scheme="light")
    page.emulate_media(media="print")
    return page


def lay_out(page: Page, address: str) -> None:
    """Load a page, and wait until all of it stands where it will be printed."""
    page.goto(address)
    page.evaluate(LIGHT)
    page.add_style_tag(content=STYLE)
    page.evaluate(FIT)
    page.evaluate("document.fonts.ready.then(() => true)")


def book(chromium: Browser, html: Path, parts: list[tuple[str, list[str]]]) -> PdfWriter:
    """The pages of the parts as one file with bookmarks."""
    text, titles = as_one(html, [page for _, pages in parts for page in pages])
    file = (html / parts[0][1][0]).with_name("whole-book.html")  # beside the pages, for what they load
    file.write_text(text, "utf8")
    try:
        page = sheet(chromium)
        page.set_default_timeout(300_000)
        lay_out(page, file.as_uri())
        printed = PdfReader(BytesIO(page.pdf(prefer_css_page_size=True)))
        page.close()
    finally:
        file.unlink(missing_ok=True)
    whole, articles = PdfWriter(clone_from=printed), iter(titles.items())
    for caption, pages in parts:
        above = None
        for _ in pages:
            name, title = next(articles)
            first = printed.get_destination_page_number(printed.named_destinations[f"/{name}"])
            if caption and above is None:
                above = whole.add_outline_item(title=caption, page_number=first)
            whole.add_outline_item(title=title, page_number=first, parent=above)
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    whole.add_metadata({"/Title": config["title"], "/Author": config["author"]})
    return whole


def main(file: Path) -> None:
    """Print the built book into a file."""
    path = browser.find()
    if path is None:
        sys.exit(browser.ADVICE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=list(browser.ARGUMENTS))
        whole = book(chromium, HTML, contents())
        chromium.close()
    file.parent.mkdir(parents=True, exist_ok=True)
    whole.write(file)
    print(f"{file}: {len(whole.pages)} pages, {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/pdf.py FILE")
    main(Path(sys.argv[1]))
