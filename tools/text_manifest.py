"""Choose the paragraphs of `gru_book.tasks.text`: those that several Pythons share, each once, split by topic.

``python tools/text_manifest.py PYTHON …`` asks each of these interpreters for its help texts and writes
``gru_book/tasks/text.json``. The order and the words are those of the first.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import Any

from gru_book.tasks.text import _MANIFEST, paragraph_hash, paragraphs

ASK = (
    "import json, sys; from pydoc_data.topics import topics;"
    "print(json.dumps(['.'.join(map(str, sys.version_info[:3])), topics]))"
)
LONG = 60  # characters; a shorter paragraph ("Note:", a heading) may come again
PART_OF_ANOTHER = 0.5  # a topic with a larger share of its text in larger topics is left out
WHOLE = 12_000  # characters; a topic above this stays in training, or one topic would be all of validation
SHARE = 0.1  # of the text, for validation and for test


def kept(topics: list[dict[str, str]]) -> dict[str, list[str]]:
    """The paragraphs of each topic that every version has and no larger topic, in the order of the first version."""
    common = set.intersection(*({p for text in one.values() for p in paragraphs(text)} for one in topics))
    seen: set[str] = set()
    chosen: dict[str, list[str]] = {}
    for name, text in sorted(topics[0].items(), key=lambda item: -len(item[1])):
        shared = [p for p in paragraphs(text) if p in common]
        fresh = [p for p in shared if p not in seen or len(p) < LONG]
        new = sum(len(p) for p in shared if p not in seen)
        if not shared or new < (1 - PART_OF_ANOTHER) * sum(map(len, shared)):
            continue
        chosen[name] = []
        for p in fresh:  # a paragraph may also stand twice in one topic
            if p not in seen or len(p) < LONG:
                chosen[name].append(p)
                seen.add(p)
    return {name: chosen[name] for name in topics[0] if name in chosen}


def split(chosen: dict[str, list[str]]) -> dict[str, dict[str, list[str]]]:
    """Validation and test take topics in the order of their names' hashes until they are full."""
    size = {name: sum(map(len, ps)) for name, ps in chosen.items()}
    full = SHARE * sum(size.values())
    order = sorted((n for n in chosen if size[n] < WHOLE), key=lambda n: hashlib.sha256(n.encode()).hexdigest())
    parts: dict[str, dict[str, list[str]]] = {"train": {}, "validation": {}, "test": {}}
    where = {}
    for part in ("validation", "test"):
        held = 0
        while held < full:
            name = order.pop(0)
            where[name], held = part, held + size[name]
    for name, ps in chosen.items():
        parts[where.get(name, "train")][name] = ps
    return parts


def main(pythons: list[str]) -> None:
    """Write the manifest."""
    answers = [json.loads(subprocess.run([p, "-c", ASK], capture_output=True, check=True).stdout) for p in pythons]
    parts = split(kept([topics for _, topics in answers]))
    texts = ["".join("\n\n".join(ps) + "\n\n\n" for ps in topics.values()) for topics in parts.values()]
    manifest: dict[str, Any] = {
        "versions": [version for version, _ in answers],
        "sha256": hashlib.sha256("\0".join(texts).encode("utf8")).hexdigest(),
    }
    for part, topics in parts.items():
        manifest[part] = {name: "".join(map(paragraph_hash, ps)) for name, ps in topics.items()}
    _MANIFEST.write_text(json.dumps(manifest, indent=0) + "\n", "utf8")
    for (part, topics), text in zip(parts.items(), texts, strict=True):
        print(f"{part}: {len(topics)} topics, {len(text)} characters")


if __name__ == "__main__":
    main(sys.argv[1:])
