"""Chapter 7: its stored trainings are complete and can be made again."""

import json

import pytest

from experiments import subtraction

STORED = json.loads(subtraction.STORED.read_text("utf8"))


def result(part, *what):
    (row,) = [row[-1] for row in STORED[part] if row[:-1] == list(what)]
    return row


def test_stored_results_hold_every_setting_with_ten_seeds():
    for part, (_, settings) in subtraction.PARTS.items():
        wanted = {(*setting, seed) for setting in settings for seed in subtraction.SEEDS}
        assert {tuple(row[:-1]) for row in STORED[part]} == wanted and len(STORED[part]) == len(wanted), part


def test_the_first_epochs_of_one_pair_at_a_time_made_anew_are_those_stored():
    again, stored = subtraction.aiedu(0, epochs=8), result("aiedu", 0)
    assert again["right"] == pytest.approx(stored["right"][:8], abs=2)  # rounding differs between machines
    assert again["0 - 0"] == stored["0 - 0"] == [0.5] * 4


@pytest.mark.parametrize("cell", subtraction.CELLS)
def test_a_split_made_anew_gives_what_is_stored(cell):
    again, stored = subtraction.split(34, cell, 0), result("split", 34, cell, 0)
    assert again["numbers"] == stored["numbers"] and again["seen"] == stored["seen"] == 1
    assert again["unseen"] == pytest.approx(stored["unseen"], abs=0.03)


def test_results_are_stored_as_they_were_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(subtraction, "STORED", tmp_path / "out.json")
    monkeypatch.setattr(subtraction, "PARTS", {"one": (lambda name, seed: {"right": seed / 3}, (("a",), ("b",)))})
    subtraction.main([])
    rows = json.loads((tmp_path / "out.json").read_text("utf8"))["one"]
    assert rows[3] == ["b", 1, {"right": 0.3333}] and len(rows) == 20
