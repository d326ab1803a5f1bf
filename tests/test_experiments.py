"""What the scripts of experiments/ share: runs are made, stored one by one, and taken up again."""

import importlib
from pathlib import Path

import pytest

from experiments import _store
from experiments._store import load, make, make_parts, seeded

SCRIPTS = sorted(path.stem for path in Path(_store.__file__).parent.glob("[a-z]*.py"))
# these store otherwise, nothing, or what torch made
OTHERWISE = ("explorer_nets", "lists_torch", "pendulum_torch", "subtraction", "words_manifest")
SCRIPTS = [name for name in SCRIPTS if name not in OTHERWISE]
WANTED = seeded([("a",), ("ü",)], range(3))


def run(name, seed):
    return {"right": seed / 3, "name": name}


def keys(path, part="one"):
    return [tuple(row[:-1]) for row in load(path)[part]]


@pytest.mark.parametrize("name", SCRIPTS)
def test_stored_results_are_of_every_run_that_is_wanted_and_of_no_other(name):
    script = importlib.import_module(f"experiments.{name}")
    stored = load(script.STORED)
    assert stored.keys() == script.PARTS.keys()
    for part, (_, settings, *seeds) in script.PARTS.items():  # dates.py lists its runs with their seeds
        wanted = list(settings) if name == "dates" else seeded(settings, seeds[0] if seeds else script.SEEDS)
        assert [tuple(row[:-1]) for row in stored[part]] == wanted, part
        # fewer only where a rate is looked for, where runs that missed something are given more steps, where nothing is
        # drawn, and for controls of chapter 16, whose page says how many
        few = part.endswith(("rates", "later")) or part in ("tuning", "short", "baselines", "prefixes", "words")
        few |= part in ("held", "middle", "language", "counting", "copy, heads")  # "middle", "language", heads: one
        assert len({seed for *_, seed in wanted}) >= 3 or few, part


def test_a_stopped_part_keeps_its_runs_and_is_taken_up_where_it_stopped(tmp_path):
    path, made = tmp_path / "out.json", []

    def stops(name, seed):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append((name, seed))
        return run(name, seed)

    with pytest.raises(KeyboardInterrupt):
        make(path, "one", stops, WANTED)
    assert keys(path) == made == WANTED[:3]
    rest = []
    make_parts(
        path, {"one": (lambda *what: rest.append(what) or run(*what), [("a",), ("ü",)], range(3))}, ["--missing"]
    )
    assert rest == WANTED[3:] and keys(path) == WANTED
