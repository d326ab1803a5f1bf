"""What the library can do without: whoever meets a missing package reads which extra brings it."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

SAVE, GRU = "import gru_lib as g, numpy as np; g.save", "g.gru_init(np.random.default_rng(0), 1, 1)"

DATE = "import datetime as d; from gru_lib.tasks.dates import write; write(d.date(1, 1, 1), 'fr', 'long')"

# What a reader does, the module that is missing then, what the error says, and the extra it names.
MISSING = [
    ("import gru_lib.widgets", "anywidget", "gru_lib.widgets needs anywidget", "widgets"),
    ("from gru_lib import viz; viz.use_style()", "matplotlib", "gru_lib.viz needs matplotlib", "viz"),
    ("from gru_lib.tasks.digits import digits; digits()", "sklearn", "digits needs scikit-learn", "tasks"),
    (DATE, "babel", "gru_lib.tasks.dates needs Babel", "tasks"),
    (f"{SAVE}('p.safetensors', {GRU})", "safetensors", "save: p.safetensors needs safetensors", "safetensors"),
]


@pytest.mark.parametrize(("code", "module", "needs", "extra"), MISSING)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(code, module, needs, extra, tmp_path):
    run = [sys.executable, "-c", f"import sys; sys.modules[{module!r}] = None; {code}"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    last = done.stderr.rstrip().rpartition("\n")[2]
    assert last == f'ImportError: {needs}: pip install "gru-lib[{extra}]"', done.stderr


def optional_imports() -> list[tuple[str, str, str | None]]:
    """File, package and extra of every import in `gru_lib` of what is neither Python's own nor NumPy.

    The extra is that of the `with needs(...)` around it, "" under TYPE_CHECKING and in a `try`, else None.
    """
    own = set(sys.stdlib_module_names) | {"numpy", "gru_lib"}
    found = []

    def look(node: ast.AST, file: str, extra: str | None) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            found.extend((file, name.partition(".")[0], extra) for name in names)
        if isinstance(node, ast.With) and isinstance(call := node.items[0].context_expr, ast.Call):
            extra = call.args[2].value if getattr(call.func, "id", "") == "needs" else extra
        if isinstance(node, ast.Try) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            extra = ""
        for child in ast.iter_child_nodes(node):
            look(child, file, extra)

    for path in sorted((ROOT / "gru_lib").rglob("*.py")):
        look(ast.parse(path.read_text("utf8")), path.relative_to(ROOT).as_posix(), None)
    return [(file, package, extra) for file, package, extra in found if package not in own]


def test_every_optional_import_names_an_extra_that_brings_the_package():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]["optional-dependencies"]
    asked = {extra: {canonicalize_name(Requirement(line).name) for line in lines} for extra, lines in extras.items()}
    from_widgets = {"anywidget", "traitlets"}  # every module there is imported after _explorer.py has asked for both
    distributions = packages_distributions()
    named = set()
    for file, package, extra in optional_imports():
        if extra is None:
            assert file.startswith("gru_lib/widgets/") and package in from_widgets, f"{file} imports {package} unasked"
        elif extra:
            brings = {canonicalize_name(name) for name in distributions[package]}
            assert brings & asked[extra], f"{file}: {extra} does not bring {package}"
            named.add(extra)
    assert named == {"safetensors", "tasks", "viz", "widgets"}
