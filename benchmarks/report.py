"""Tables and a plot of the measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.contenders import CONTENDERS, Case

Row = dict[str, Any]


def _others(results: list[Row]) -> list[str]:
    return [n for n in CONTENDERS if n != "gru_lib" and any(n in r["seconds"] for r in results)]


def _grid(head: list[str], lines: list[list[str]]) -> str:
    """Columns as wide as needed, the first left-aligned, the others right-aligned."""
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True)))
        for line in [head, *lines]
    )


def ratios(results: list[Row]) -> str:
    """Time of the others over that of gru_lib, one line per row."""
    names = _others(results)
    lines = []
    for r in results:
        ours = r["seconds"]["gru_lib"]
        cells = [f"{r['seconds'][n] / ours:.2f}" if n in r["seconds"] else "–" for n in names]
        lines.append([str(Case(*r["case"])), f"{ours * 1e3:.3f}", *cells])
    return _grid(["TxNxDxH", "gru_lib ms", *names], lines)


def memory(results: list[Row]) -> str:
    """Peak memory in MB, one line per row."""
    names = [n for n in CONTENDERS if any(r["bytes"].get(n) is not None for r in results)]
    lines = []
    for r in results:
        known = [r["bytes"].get(n) for n in names]
        lines.append([str(Case(*r["case"])), *("–" if b is None else f"{b / 1e6:.1f}" for b in known)])
    return _grid(["TxNxDxH", *names], lines)


def plot(results: list[Row], path: Path) -> bool:
    """Draw the ratios as points on a logarithmic axis. False if matplotlib is not installed."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return False
    names = _others(results)
    figure, ax = plt.subplots(figsize=(8, 1 + 0.5 * len(results)), layout="constrained")
    for name, marker in zip(names, "osD^vPX", strict=False):
        rows = [i for i, r in enumerate(results) if name in r["seconds"]]
        ratios = [results[i]["seconds"][name] / results[i]["seconds"]["gru_lib"] for i in rows]
        ax.plot(ratios, rows, marker, label=name, ms=5)
    ax.axvline(1, color="black", lw=0.8)
    labels = [f"{r['cell']} {Case(*r['case'])} {r['dtype']} {r['what']}, {r['threads']} thr." for r in results]
    ax.set(xscale="log", yticks=range(len(results)), yticklabels=labels, xlabel="time over gru_lib's")
    ax.invert_yaxis()
    ax.legend(fontsize=8)
    figure.savefig(path)
    return True
