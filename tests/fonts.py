"""The fonts that the tests' browser has, whatever the machine has. A page holds with both sets."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import get_data_path

# DejaVu is the widest of the common fonts, and all that a plain Linux has. A reader may have Noto Serif, for which the
# pages ask by name, and Inter as the system's sans. What these two lack comes from DejaVu, and so does code.
DEJAVU = {"serif": "DejaVu Serif", "sans-serif": "DejaVu Sans", "monospace": "DejaVu Sans Mono"}
OTHER = DEJAVU | {"serif": "Noto Serif", "sans-serif": "Inter"}
FACES = [weight + slant for weight, slant in product(("400Regular", "600SemiBold", "700Bold"), ("", "_Italic"))]

CHINESE = "Noto Sans CJK SC"  # a name for which the pages ask

# What Chromium asks for where a page's list comes to its end.
LAST = {"serif": "Times New Roman", "sans-serif": "Arial", "monospace": "Monospace"}

CONFIGURATION = "<fontconfig><dir>{folder}</dir><cachedir>{folder}/cache</cachedir>{aliases}</fontconfig>"
ALIAS = '<alias binding="same"><family>{asked}</family><prefer><family>{given}</family></prefer></alias>'


def environment(folder: Path, *, other: bool) -> dict[str, str]:
    """Put a set of fonts into a folder, and return the variable by which a browser has these alone.

    Chromium reads it on Linux. Elsewhere it has the machine's fonts, and no test is promised to pass but the library's.
    """
    if sys.platform != "linux":
        return {}
    files = [*Path(get_data_path(), "fonts", "ttf").glob("DejaVu*.ttf")]
    if other:
        google = Path(sys.prefix, "node_modules", "@expo-google-fonts")
        files += [
            ttf
            for name, face in product(("inter", "noto-serif"), FACES)
            for ttf in (google / name / face).glob("*.ttf")
        ]
    for file in files:
        (folder / file.name).symlink_to(file)
    chinese(folder / "chinese.ttf")
    names = OTHER if other else DEJAVU
    aliases = [ALIAS.format(asked=asked, given=names[kind]) for kind in names for asked in (kind, LAST[kind])]
    configuration = folder / "fonts.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, aliases="".join(aliases)), "utf8")
    return {"FONTCONFIG_FILE": str(configuration)}


def chinese(file: Path) -> None:
    """Write a font in which every Chinese character is a square: in all Chinese fonts each is as wide as it is high."""
    pen = TTGlyphPen(None)
    pen.moveTo((60, -60))
    for corner in ((60, 820), (940, 820), (940, -60)):
        pen.lineTo(corner)
    pen.closePath()
    square = pen.glyph()
    font = FontBuilder(1000)
    font.setupGlyphOrder([".notdef", "square"])
    font.setupCharacterMap(dict.fromkeys((*range(0x3000, 0xA000), *range(0xFF00, 0xFFF0)), "square"))
    font.setupGlyf({".notdef": square, "square": square})
    font.setupHorizontalMetrics({".notdef": (1000, 60), "square": (1000, 60)})
    font.setupHorizontalHeader(ascent=880, descent=-120)
    font.setupNameTable({"familyName": CHINESE, "styleName": "Regular"})
    font.setupOS2(sTypoAscender=880, sTypoDescender=-120, usWinAscent=880, usWinDescent=120)
    font.setupPost()
    font.save(file)
