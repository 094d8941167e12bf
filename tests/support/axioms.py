"""The outcomes that LLVM's memory model allows for a litmus test, by its axioms: all candidate executions are tried.

An execution says which write each load reads from (rf) and in which order the writes of a place come (co). The axioms are those
of C++20 for relaxed atomics and fences, which LLVM's language reference takes over, with one scope that all threads share:

* coherence: what happens before something else (hb) is not contradicted by rf, co and fr (a load comes before the writes
  that follow the one it has read from);
* a release fence synchronizes with an acquire fence where a write behind the one is read by a load before the other;
* sequentially consistent fences have an order that agrees with hb and with rf, co and fr between them (psc);
* no value comes out of thin air: what a write depends on was not read from it. Programs here name no dependencies, so that
  nothing is left of that but that writes have their own values.

Nothing of this knows of caches, orders of steps or schedules.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Pair = tuple[int, int]
Outcome = tuple[int, ...]


@dataclass(frozen=True)
class Event:
    """A step of a thread; a write of zero by none begins each place."""

    thread: int | None
    what: str
    place: str = ""
    value: int = 0
    #: Of a fence.
    order: str = ""


def _closure(pairs: Iterable[Pair]) -> set[Pair]:
    found = set(pairs)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


def _chain(*relations: set[Pair]) -> set[Pair]:
    found = relations[0]
    for relation in relations[1:]:
        found = {(a, d) for a, b in found for c, d in relation if b == c}
    return found


def _is_acyclic(pairs: set[Pair]) -> bool:
    return all(a != b for a, b in _closure(pairs))


def _events(threads: tuple[tuple[str, ...], ...], fences: tuple[str, ...] | None) -> list[Event]:
    events = [Event(None, "W", place) for place in "xy"]
    for number, steps in enumerate(threads):
        for step in steps:
            what, *rest = step.split()
            if what == "F":
                if fences is not None:
                    events.append(Event(number, "F", order=fences[number % len(fences)]))
            else:
                events.append(Event(number, what, rest[0], int(rest[1]) if what == "W" else 0))
    return events


def _candidates(events: list[Event]) -> Iterator[tuple[set[Pair], set[Pair]]]:
    """All rf and co."""
    numbered = list(enumerate(events))
    writes = {place: [n for n, e in numbered if e.what == "W" and e.place == place] for place in "xy"}
    loads = [(n, e) for n, e in numbered if e.what == "R"]
    # The first one is the initial one.
    orders = [[(first, *rest) for rest in itertools.permutations(others)] for first, *others in writes.values()]
    for sources in itertools.product(*(writes[e.place] for _, e in loads)):
        rf = {(source, n) for source, (n, _) in zip(sources, loads, strict=True)}
        for chosen in itertools.product(*orders):
            yield rf, {pair for order in chosen for pair in itertools.combinations(order, 2)}


def _is_consistent(events: list[Event], rf: set[Pair], co: set[Pair]) -> bool:
    numbers = range(len(events))
    thread, order = [e.thread for e in events], [e.order for e in events]
    sb = {(a, b) for a in numbers for b in numbers if a < b and thread[a] == thread[b] is not None}
    begins = {(a, b) for a in numbers for b in numbers if thread[a] is None and thread[b] is not None}
    releases = {(a, b) for a, b in sb if order[a] in ("release", "acq_rel", "seq_cst") and events[b].what == "W"}
    acquires = {(a, b) for a, b in sb if order[b] in ("acquire", "acq_rel", "seq_cst") and events[a].what == "R"}
    hb = _closure(sb | begins | _chain(releases, rf, acquires))
    fr = {(load, later) for write, load in rf for first, later in co if first == write}
    eco = _closure(rf | co | fr)
    if not _is_acyclic(hb) or not _is_acyclic(eco) or any((b, a) in eco for a, b in hb):
        return False
    fences = {(n, n) for n in numbers if order[n] == "seq_cst"}
    psc = _chain(fences, hb | _chain(hb, eco, hb), fences)
    return _is_acyclic(psc)


def allowed(threads: tuple[tuple[str, ...], ...], fences: tuple[str, ...] | None) -> set[Outcome]:
    """What the loads bring, in order, and what is in x and y at the end, of every consistent execution. ``fences``: the order of
    each thread's fences, in turn; None leaves them out."""
    events = _events(threads, fences)
    found = set()
    for rf, co in _candidates(events):
        if _is_consistent(events, rf, co):
            source = {load: write for write, load in rf}
            loads = [events[source[n]].value for n, e in enumerate(events) if e.what == "R"]
            firsts = {first for first, _ in co}
            last = [
                events[n].value
                for place in "xy"
                for n, e in enumerate(events)
                if (e.what, e.place) == ("W", place) and n not in firsts
            ]
            found.add((*loads, *last))
    return found
