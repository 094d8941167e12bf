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
