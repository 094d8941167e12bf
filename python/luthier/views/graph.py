"""Control flow graphs, drawn: blocks in layers from the entry down, as SVG.

Layers are the longest ways from the entry without the edges that go back; within a layer the blocks are sorted by the
middle of their neighbours above and below, over a few rounds (Sugiyama's method). Edges that skip layers go through
places that are kept free for them.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._core import Function

_GAP_X, _GAP_Y, _LINE, _CHARACTER, _THIN = 24, 34, 15, 6.7, 10
_ROUNDS = 6


@dataclass
class Node:
    """A block: lines of text, and how hot it is, from 0 to 1 (None: not known)."""

    lines: Sequence[str]
    heat: float | None = None
    #: What the page finds it by.
    key: str = ""


def function_svg(function: Function) -> str:
    """The blocks of a function, with their sizes and last instructions."""
    blocks = list(function.blocks)
    number = {block.address: i for i, block in enumerate(blocks)}
    nodes = [Node([f"{b.address:#x}", f"{len(b.instructions)} instructions", b.instructions[-1].text[:34]]) for b in blocks]
    return svg(nodes, [[number[s.address] for s in b.successors if s.address in number] for b in blocks])


def svg(nodes: Sequence[Node], successors: Sequence[Sequence[int]]) -> str:
    """The graph whose entry is node 0."""
    back, order = _depth_first(successors)
    layer = _layers(successors, back, order, len(nodes))
    rows, chains = _rows(successors, back, layer)
    _sort(rows, chains)
    return _draw(nodes, rows, chains)


def _depth_first(successors: Sequence[Sequence[int]]) -> tuple[set[tuple[int, int]], list[int]]:
    """The edges that go back to a node on the way, and the nodes in reverse postorder; what the entry does not reach comes
    behind."""
    back: set[tuple[int, int]] = set()
    state = [0] * len(successors)
    done: list[int] = []
    for root in range(len(successors)):
        if state[root]:
            continue
        state[root], part = 1, list[int]()
        todo = [(root, iter(successors[root]))]
        while todo:
            node, rest = todo[-1]
            for to in rest:
                if state[to] == 1:
                    back.add((node, to))
                elif not state[to]:
                    state[to] = 1
                    todo.append((to, iter(successors[to])))
                    break
            else:
                todo.pop()
                state[node] = 2
                part.append(node)
        done += part[::-1]
    return back, done


def _layers(successors: Sequence[Sequence[int]], back: set[tuple[int, int]], order: list[int], count: int) -> list[int]:
    layer = [0] * count
    for _ in range(2):  # a second root may lead to nodes of the first
        for node in order:
            for to in successors[node]:
                if (node, to) not in back:
                    layer[to] = max(layer[to], layer[node] + 1)
    return layer


#: A way from a node to another, through places (negative numbers) in the layers between; and whether it goes back.
_Chain = tuple[list[int], bool]


def _rows(
    successors: Sequence[Sequence[int]], back: set[tuple[int, int]], layer: list[int]
) -> tuple[list[list[int]], list[_Chain]]:
    rows: list[list[int]] = [[] for _ in range(max(layer, default=0) + 1)]
    for node, depth in enumerate(layer):
        rows[depth].append(node)
    chains: list[_Chain] = []
    place = 0
    for node, targets in enumerate(successors):
        for to in dict.fromkeys(targets):
            goes_back = (node, to) in back or layer[to] <= layer[node]
            top, bottom = (to, node) if goes_back else (node, to)
            chain = [top]
            for depth in range(layer[top] + 1, layer[bottom]):
                place -= 1
                rows[depth].append(place)
                chain.append(place)
            chains.append(([*chain, bottom], goes_back))
    return rows, chains


def _sort(rows: list[list[int]], chains: list[_Chain]) -> None:
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for chain, _ in chains:
        for a, b in zip(chain, chain[1:]):
            below.setdefault(a, []).append(b)
            above.setdefault(b, []).append(a)
    at = {node: i for row in rows for i, node in enumerate(row)}
    for round in range(_ROUNDS):
        neighbours = above if round % 2 == 0 else below
        for row in rows if round % 2 == 0 else rows[::-1]:
            middle = {n: sum(at[m] for m in near) / len(near) if (near := neighbours.get(n)) else at[n] for n in row}
            row.sort(key=middle.__getitem__)
            at.update((node, i) for i, node in enumerate(row))


def _draw(nodes: Sequence[Node], rows: list[list[int]], chains: list[_Chain]) -> str:
    def width(node: int) -> float:
        return _THIN if node < 0 else max(map(len, nodes[node].lines)) * _CHARACTER + 16

    def height(node: int) -> float:
        return 0 if node < 0 else len(nodes[node].lines) * _LINE + 10

    widest = max((sum(width(n) + _GAP_X for n in row) for row in rows), default=0)
    x: dict[int, float] = {}
    y: dict[int, float] = {}
    tall: dict[int, float] = {}
    top = 12.0
    for row in rows:
        left = 12 + (widest - sum(width(n) + _GAP_X for n in row)) / 2
        deep = max((height(n) for n in row), default=0)
        for node in row:
            x[node], y[node], tall[node] = left + width(node) / 2, top, deep
            left += width(node) + _GAP_X
        top += deep + _GAP_Y
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cfg" viewBox="0 0 {widest + 24:.0f} {top:.0f}" '
        f'width="{widest + 24:.0f}" height="{top:.0f}" font-family="ui-monospace,monospace" font-size="11">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
        '<path d="M0 0 8 4 0 8z" fill="context-stroke"/></marker></defs>',
    ]
    for chain, goes_back in chains:
        points = []
        for i, node in enumerate(chain):
            if node < 0:
                points += [(x[node], y[node]), (x[node], y[node] + tall[node])]
            elif i == 0:
                points.append((x[node], y[node] + height(node)))
            else:
                points.append((x[node], y[node] - 2))
        if len(chain) == 2 and chain[0] == chain[1] or y[chain[0]] == y[chain[-1]]:
            right, where = x[chain[0]] + width(chain[0]) / 2, y[chain[0]] + height(chain[0]) / 2
            path = f"M{right:.0f} {where + 6:.0f}c26 8 26 -20 0 -12"
        else:
            path = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
            for (ax, ay), (bx, by) in zip(points, points[1:]):
                middle = (ay + by) / 2
                path += f"C{ax:.0f} {middle:.0f} {bx:.0f} {middle:.0f} {bx:.0f} {by:.0f}"
        kind, tip = ("back", "marker-start") if goes_back else ("on", "marker-end")
        stroke = "#b5542b" if goes_back else "currentColor"
        dashes = ' stroke-dasharray="5 3"' if goes_back else ""
        parts.append(
            f'<path class="edge {kind}" d="{path}" fill="none" stroke="{stroke}"{dashes} {tip}="url(#tip)" opacity=".75"/>'
        )
    for number, block in enumerate(nodes):
        left, above = x[number] - width(number) / 2, y[number]
        heat = 0.0 if block.heat is None else block.heat
        parts.append(
            f'<g class="node" data-key="{html.escape(block.key)}"><rect x="{left:.0f}" y="{above:.0f}" width="{width(number):.0f}" '
            f'height="{height(number):.0f}" rx="4" fill="#e8590c" fill-opacity="{0.06 + 0.6 * heat:.2f}" stroke="currentColor"/>'
        )
        for i, line in enumerate(block.lines):
            weight = ' font-weight="bold"' if i == 0 else ""
            parts.append(
                f'<text x="{left + 8:.0f}" y="{above + 16 + i * _LINE:.0f}" fill="currentColor"{weight}>{html.escape(line)}</text>'
            )
        parts.append("</g>")
    return "".join(parts) + "</svg>"
