"""List the words of `gru_book.tasks.words`: those that several versions of Babel share.

``python -m experiments.words_manifest FOLDER …`` takes folders made by ``pip install --target FOLDER Babel==…`` and
writes ``gru_book/tasks/words.json``.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from typing import Any

from gru_book.tasks.words import _MANIFEST, LANGUAGES, fingerprint, word_hash

ASK = """
import json
from babel import Locale, __version__
from gru_book.tasks.words import LANGUAGES, words_of
print(json.dumps([__version__, {language: words_of(Locale(language)._data, language) for language in LANGUAGES}]))
"""


def ask(folder: str) -> tuple[str, dict[str, list[str]]]:
    """The version of the Babel in a folder, and its words."""
    path = os.pathsep.join((folder, *filter(None, sys.path)))
    run = [sys.executable, "-c", ASK]
    done = subprocess.run(run, env=os.environ | {"PYTHONPATH": path}, capture_output=True, check=True)
    version, words = json.loads(done.stdout)
    return version, words


def manifest(answers: list[tuple[str, dict[str, list[str]]]]) -> dict[str, Any]:
    """What words.json holds: versions, fingerprint, and for each language the hashes of the shared words."""
    shared = {k: sorted(set.intersection(*(set(words[k]) for _, words in answers))) for k in LANGUAGES}
    hashes = {k: b"".join(sorted(word_hash(k, word) for word in words)) for k, words in shared.items()}
    return {
        "versions": [version for version, _ in answers],
        "sha256": fingerprint(shared),
        "words": {k: base64.b64encode(raw).decode() for k, raw in hashes.items()},
    }


def main(folders: list[str]) -> None:
    """Write the manifest."""
    answers = [ask(folder) for folder in folders]
    _MANIFEST.write_text(json.dumps(made := manifest(answers), indent=0) + "\n", "utf8")
    for version, words in answers:
        print(f"Babel {version}: {sum(map(len, words.values()))} words")
    print(f"shared: {sum(len(digits) // 4 for digits in made['words'].values())} words")


if __name__ == "__main__":
    main(sys.argv[1:])
