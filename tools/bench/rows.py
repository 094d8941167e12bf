"""Rows of the bench's table."""

from __future__ import annotations


def row(ours: float, other: float, ratio: float, unit: str, against: str, least: float, **more) -> dict:
    """Our figure beside another, what it is, how much better ours is, and how much better it has to be."""
    return {"ours": ours, "other": other, "ratio": ratio, "unit": unit, "against": against, "least": least, **more}


def at_least(ours: float, bound: float, unit: str, **more) -> dict:
    """A figure that must not be less."""
    return row(ours, bound, ours / bound, unit, "the target", 1, **more)


def at_most(ours: float, bound: float, unit: str, **more) -> dict:
    """A figure that must not be more."""
    return row(ours, bound, bound / ours, unit, "the target", 1, **more)


#: What a row that misses its least has beside it in the table.
MARK = "below"


def is_below(found: dict) -> bool:
    """Whether a figure misses what it has to reach. Where one of the two is missing, there is nothing to miss."""
    return "ratio" in found and "least" in found and found["ratio"] < found["least"]


def summary(results: dict[str, dict]) -> str:
    """One line: which rows are below their bounds, and by how much."""
    bounded = sum("ratio" in found and "least" in found for found in results.values())
    below = [f"{name} ({found['ratio']:.3g}x of {found['least']:.3g}x)" for name, found in results.items() if is_below(found)]
    if not below:
        return f"no row is below its bound, of {bounded} that have one"
    rows = "1 row is below its bound" if len(below) == 1 else f"{len(below)} rows are below their bounds"
    return f"{rows}, of {bounded} that have one: {', '.join(below)}"
