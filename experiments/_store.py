"""Make the runs of an experiment and store them: what the scripts of this folder share.

A script has parts. A part is a function and a list of runs, each given by its arguments, the seed last. Results are
stored in a JSON file of `gru_book/results/`, where pages find them, or, if run with other kernels, of
`experiments/results/`: by part, one line per run, ``[*arguments, result]``.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from gru_book.results import FOLDER

Row = list[Any]  # [*arguments, result]
Stored = dict[str, list[Row]]

MISSING = "--missing"
OWN = Path(__file__).parent / "results"


def file_for_kernels(name: str) -> Path:
    """Where a script stores: ``name.json``, or ``name_own.json`` if it runs with ``KERNELS=own``.

    Counts of trainings are made with both kernels, so that a page states only what does not turn on the last bit.
    """
    return stored_file(name if fixed_kernels() else f"{name}_own")


def stored_file(name: str) -> Path:
    """The file of this name, without ".json": in `OWN` if it ends with "_own", else among what pages load."""
    return (OWN if name.endswith("_own") else FOLDER) / f"{name}.json"


def fixed_kernels() -> bool:
    """Whether this process has the kernels that tools/environment.py fixes, and not this processor's own."""
    return os.environ.get("OPENBLAS_CORETYPE") == "Haswell"


def load(path: Path) -> Stored:
    """Read what is stored, by part; nothing if there is no file yet."""
    return json.loads(path.read_text("utf8")) if path.exists() else {}


def save(path: Path, stored: Mapping[str, Sequence[Row]]) -> None:
    """Store the parts in the given order, one line per row."""
    parts = (f'"{part}": [\n' + ",\n".join(map(_line, rows)) + "\n]" for part, rows in stored.items())
    replace(path, "{\n" + ",\n".join(parts) + "\n}\n")


def replace(path: Path, text: str) -> None:
    """Write a file as a whole: a script that is stopped, or a reader meanwhile, finds the old text or the new."""
    new = path.with_name(path.name + ".new")
    new.write_text(text, "utf8")
    os.replace(new, path)


def decimals(count: int) -> Callable[[float], float]:
    """Rounding to `count` decimals."""
    return lambda value: round(value, count)


def digits(count: int) -> Callable[[float], float]:
    """Rounding to `count` significant digits."""
    return lambda value: float(f"{value:.{count}g}")


FOUR_DECIMALS = decimals(4)


def as_stored(value: Any, rounding: Callable[[float], float] = FOUR_DECIMALS) -> Any:
    """The value as JSON gives it back, its floats rounded."""
    return json.loads(_line(value), parse_float=lambda text: rounding(float(text)))


def chosen(asked: Iterable[str], known: Collection[str]) -> list[str]:
    """The parts to make: those asked for, or all. Exits with the list of parts if a name is unknown."""
    names = list(asked) or list(known)
    for name in names:
        if name not in known:
            raise SystemExit(f"no part is called {name!r}; the parts are: {', '.join(known)}")
    return names


def seeded(settings: Iterable[tuple[Any, ...]], seeds: Iterable[int]) -> list[tuple[Any, ...]]:
    """The runs of a part, seed by seed: every setting with every seed."""
    settings = list(settings)
    return [(*setting, seed) for seed in seeds for setting in settings]


def make(
    path: Path,
    part: str,
    run: Callable[..., Any],
    wanted: Sequence[tuple[Any, ...]],
    picked: Sequence[tuple[Any, ...]] | None = None,
    *,
    missing: bool = False,
    rounding: Callable[[float], float] = FOUR_DECIMALS,
) -> None:
    """Make the runs of a part, and store each as soon as it is done.

    A new run replaces a stored one with the same arguments, so a script that is stopped loses only the current run.
    Progress is a bar, or a line per run if ``TQDM_DISABLE`` turns the bar off.

    Parameters
    ----------
    path
        The JSON file.
    part, run
        Name of the part, and its function.
    wanted
        The arguments of every run of the part, in the order in which the rows are stored. Other rows are dropped.
    picked
        Which of them to make now; default all.
    missing
        Make only those that are not stored yet.
    rounding
        Applied to each float of a result.
    """
    order = {_line(what): i for i, what in enumerate(wanted)}
    done = {_line(row[:-1]) for row in load(path).get(part, [])} if missing else set()
    todo = [what for what in (wanted if picked is None else picked) if _line(what) not in done]
    begin = time.perf_counter()
    with tqdm(todo, desc=part, unit="run") as bar:
        for count, what in enumerate(bar, 1):
            new = [*what, as_stored(run(*what), rounding)]
            stored = load(path)  # every time: another process may be making another part
            rows = {_line(row[:-1]): row for row in [*stored.get(part, []), new]}
            stored[part] = [rows[key] for key in sorted(rows.keys() & order.keys(), key=order.__getitem__)]
            save(path, stored)
            if bar.disable:
                spent = time.perf_counter() - begin
                print(f"{part}: {count} of {len(todo)}, {', '.join(map(str, what))}, {spent:.0f} s", flush=True)
    print(f"{part}: {len(todo)} runs, {time.perf_counter() - begin:.0f} s", flush=True)


def make_parts(
    path: Path,
    parts: Mapping[str, tuple[Callable[..., Any], Iterable[tuple[Any, ...]], Iterable[int]]],
    arguments: Iterable[str],
    *,
    rounding: Callable[[float], float] = FOUR_DECIMALS,
) -> None:
    """Make the parts named in a command line, or all; with --missing, only what is not stored yet.

    `parts` gives for each name the function, the settings, and the seeds to run every setting with.
    """
    arguments = list(arguments)
    for part in chosen([name for name in arguments if name != MISSING], parts):
        run, settings, seeds = parts[part]
        make(path, part, run, seeded(settings, seeds), missing=MISSING in arguments, rounding=rounding)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
