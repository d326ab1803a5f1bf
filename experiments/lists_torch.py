"""Page 18b's Transformer on the lists of experiments/attention.py, and where it looks when it writes backwards.

Stored in lists_torch.json. Needs torch, from the group ``frameworks``. To rerun it, about three minutes a seed for the
lists, a minute a seed for the digits:

``python tools/environment.py python -m experiments.lists_torch [lists] [backwards] [--missing]``

One row of the lists holds the source and then the answer, which begins with the start token; source and answer have
tokens and positions of their own. The rate and the steps were chosen on another split of the days,
`split_days(seed=0)`. The program that writes backwards is the page's own, taken from its text.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from experiments._store import make_parts, stored_file
from experiments.attention import LISTS, N, drawn, shown_lists
from gru_book.tasks.dates import LISTED_ISO, LISTED_WRITTEN, Batch, listed, split_days

STORED = stored_file("lists_torch")
D, HEADS, BLOCKS = 24, 4, 2
STEPS, RATE = 3000, 0.01
WIDTH = 256  # positions, of source and answer each
PAGE = Path(__file__).parents[1] / "book_text" / "18b-transformer-block.md"
DIGITS = "31075264"  # the text whose weights are drawn


class Block(nn.Module):
    """The block that the page shows; a test compares the two."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.mix = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # (N, T, d)
        N, T, d = x.shape
        parts = self.qkv(self.norm1(x))
        parts = parts.view(N, T, 3, self.heads, d // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mix(y.transpose(1, 2).reshape(N, T, d))
        return x + self.down(torch.relu(self.up(self.norm2(x))))


def positions(count: int, d: int) -> torch.Tensor:
    """Sines and cosines of `count` positions, as Vaswani et al. have them."""
    angles = np.arange(count)[:, None] / 10_000 ** (np.arange(d // 2) / (d // 2))
    return torch.tensor(np.concatenate([np.sin(angles), np.cos(angles)], axis=1), dtype=torch.float32)


class Translator(nn.Module):
    """The Transformer that the page shows; a test compares the two."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(LISTED_WRITTEN.size + LISTED_ISO.size, D)
        self.blocks = nn.Sequential(*(Block(D, HEADS) for _ in range(BLOCKS)))
        self.norm, self.out = nn.LayerNorm(D), nn.Linear(D, LISTED_ISO.size)
        self.register_buffer("where", torch.cat([positions(WIDTH, D), positions(WIDTH, D)]), persistent=False)

    def forward(self, tokens: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens) + self.where[where]
        return self.out(self.norm(self.blocks(x)))


def rows(batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Each source followed by its answer, padded at the end: tokens and positions (N, T), and what is to be said at
    each place, -100 where nothing is."""
    read, write = batch.source_lengths, batch.target_lengths
    shape = len(read), int((read + write).max())
    tokens, where, said = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.full(shape, -100)
    for n, (S, T) in enumerate(zip(read, write, strict=True)):
        before = np.concatenate([[LISTED_ISO.start], batch.target[: T - 1, n]])
        tokens[n, : S + T] = np.concatenate([batch.source[:S, n], LISTED_WRITTEN.size + before])
        where[n, : S + T] = np.concatenate([np.arange(S), WIDTH + np.arange(T)])
        said[n, S : S + T] = batch.target[:T, n]
    return torch.from_numpy(tokens), torch.from_numpy(where), torch.from_numpy(said)


def fit(seed: int, steps: int = STEPS, rate: float = RATE, split: int = 1) -> Translator:
    """Train one on lists of one to three dates, as the GRUs of experiments/attention.py."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng, (days, _) = np.random.default_rng(seed), split_days(seed=split)
    m = Translator()
    adam = torch.optim.Adam(m.parameters(), lr=rate)
    for step in range(steps):
        adam.param_groups[0]["lr"] = rate * min((step + 1) / 100, 1 - step / steps)
        counts = rng.integers(1, LISTS + 1, N)
        tokens, where, said = rows(listed(drawn(rng, days, counts.sum()), counts))
        loss = cross_entropy(m(tokens, where).flatten(0, 1), said.flatten(), ignore_index=-100)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        adam.step()
    return m


@torch.no_grad()
def exact(m: Translator, batch: Batch) -> float:
    """Share of the lists whose every character is right. With greedy decoding a list is right as a whole if and only if
    each of its characters is the likeliest after the right ones."""
    tokens, where, said = rows(batch)
    right = (m(tokens, where).argmax(dim=2) == said) | (said == -100)
    return float(right.all(dim=1).float().mean())


def lists(steps: int, seed: int) -> dict[str, Any]:
    """Lists of one to three dates; tested on lists of one to four."""
    m = fit(seed, steps)
    row: dict[str, Any] = {"parameters": sum(a.numel() for a in m.parameters())}
    return row | {str(count): exact(m, shown_lists(count)[1]) for count in range(1, LISTS + 2)}


def weights(block: Any, x: torch.Tensor) -> torch.Tensor:
    """Where each place looks: the weights of the block's heads (N, heads, T, T), computed from queries and keys."""
    N, T, d = x.shape
    size = d // block.heads
    q, k, v = block.qkv(block.norm1(x)).view(N, T, 3, block.heads, size).permute(2, 0, 3, 1, 4)
    scores = q @ k.transpose(2, 3) / size**0.5
    found = scores.masked_fill(torch.ones(T, T).triu(1) == 1, -torch.inf).softmax(dim=3)
    torch.testing.assert_close(found @ v, scaled_dot_product_attention(q, k, v, is_causal=True))
    return found


@torch.no_grad()
def looks(model: Any, text: torch.Tensor) -> torch.Tensor:
    """The weights of all heads of all blocks (N, blocks, heads, T, T) on texts, all but their last token."""
    found: list[torch.Tensor] = []
    hooks = [b.register_forward_pre_hook(lambda b, given: found.append(weights(b, given[0]))) for b in model.blocks]
    model(text[:, :-1], torch.arange(text.shape[1] - 1))
    for hook in hooks:
        hook.remove()
    return torch.stack(found, dim=1)


def on_the_digit(found: torch.Tensor) -> torch.Tensor:
    """The mean weight of each head (blocks, heads) on the digit that is to be written: place 7 + n looks at 7 - n."""
    n = torch.arange(8)
    return found[..., 7 + n, 7 - n].mean(dim=(0, 3))


#: What the page's program is trained without, and how that changes its code.
CONTROLS = {
    "mask": (", is_causal=True", ""),
    "root": ("is_causal=True", "is_causal=True, scale=1.0"),
    "more than a head": ("heads=4", "heads=1"),
    "more than a block": ("blocks=2", "blocks=1"),
    "places": ("x = x + torch.cat([angle.sin(), angle.cos()], dim=-1)", "pass"),
}


def program(seed: int, change: tuple[str, str] | None = None) -> dict[str, Any]:
    """What the page's listings define and find, from this seed, perhaps with one change of their code."""
    names: dict[str, Any] = {}
    codes = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf8"), re.M | re.S)
    assert change is None or sum(code.count(change[0]) for code in codes) == 1
    for code in codes:
        exec(code.replace("manual_seed(0)", f"manual_seed({seed})").replace(*change or ("", "")), names)
    return names


@torch.no_grad()
def written(model: Any, text: torch.Tensor) -> float:
    """The share of texts whose second half the model writes without an error."""
    said = text[:, :8]
    for n in range(8, 16):
        said = torch.cat([said, model(said, torch.arange(n))[:, -1:].argmax(dim=2)], dim=1)
    return (said == text).all(dim=1).float().mean().item()


@torch.no_grad()
def without(model: Any, block: int, head: int, text: torch.Tensor) -> float:
    """The share written rightly when what one head has found is replaced, at each place, by its mean over the texts."""
    mix, size, seen = model.blocks[block].mix, D // HEADS, []
    hook = mix.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    model(text[:, :-1], torch.arange(text.shape[1] - 1))
    hook.remove()
    mean, part = seen[0].mean(dim=0), slice(head * size, (head + 1) * size)

    def replaced(_: Any, given: tuple[torch.Tensor, ...]) -> torch.Tensor:
        joined = given[0].clone()
        joined[..., part] = mean[: joined.shape[1], part]
        return joined

    hook = mix.register_forward_pre_hook(replaced)
    share = written(model, text)
    hook.remove()
    return share


def backwards(seed: int) -> dict[str, Any]:
    """The page's program: its mean weights on 1,000 new texts, the head with the largest on the text DIGITS, what is
    written without a head, and by programs trained without the root or without vectors for the places."""
    torch.set_num_threads(1)
    names = program(seed)
    model, text = names["model"], names["texts"](1000)
    right = on_the_digit(looks(model, text))
    block, head = divmod(int(right.argmax()), right.shape[1])
    drawn = torch.tensor([[*map(int, DIGITS + DIGITS[::-1])]])
    row = {"exact": written(model, text), "on the digit": right.tolist(), "best": [block, head]}
    row["without head"] = [[without(model, b, h, text) for h in range(HEADS)] for b in range(BLOCKS)]
    others = {what: program(seed, change) for what, change in CONTROLS.items()}
    row["trained without"] = {
        what: [names["loss"].item(), written(names["model"], text)] for what, names in others.items()
    }
    return row | {"grid": looks(model, drawn)[0, block, head].tolist()}


PARTS: dict[str, Any] = {
    "lists": (lists, [(STEPS,)], range(3)),
    "backwards": (backwards, [()], range(3)),
}


if __name__ == "__main__":
    make_parts(STORED, PARTS, sys.argv[1:])
