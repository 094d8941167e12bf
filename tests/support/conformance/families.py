"""The families of instructions: which entries each accounts for, and how they are run."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import crosslane, memory, modes, salu, smem, valu
from .device import Batch
from .forms import VECTOR, Form, vector_forms
from .outcome import Outcome
from .targets import Target, entries


@dataclass
class Report:
    """What became of every entry of some encodings."""

    outcomes: list[Outcome] = field(default_factory=list)
    #: Not compared, by key, and why.
    listed: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    #: Entries with the text of another that was compared, in the encoding in which it was.
    twins: set[str] = field(default_factory=set)

    @property
    def compared(self) -> set[str]:
        return {o.name.split()[0] for o in self.outcomes if o.compared and not o.reason} | self.twins

    @property
    def absent(self) -> set[str]:
        return {key for key, why in self.listed.items() if why == ABSENT} - self.compared

    @property
    def differing(self) -> list[Outcome]:
        return [o for o in self.outcomes if o.different]

    @property
    def unaccounted(self) -> set[str]:
        return self.keys - self.compared - set(self.listed)


REFUSED = "the device refuses it by name"
ABSENT = "the target does not have it"
MATRIX = "the entry is a formula of matrices, D = A * B + C: nothing about lanes, order or rounding"
#: Encodings of which no entry is compared.
OTHERS = {
    "SOPP": "branches, waits, messages: there is no result to compare; the kernels of the other tests run them",
    "MTBUF": "ConvertFromFormat() and ConvertToFormat() are in another chapter: compared by test_typed_buffers.py",
    "MIMG": "images",
    "VIMAGE": "images",
    "VSAMPLE": "images",
    "VINTERP": "interpolation of pixel attributes",
    "LDSDIR": "interpolation of pixel attributes",
    "VOPD": "two operations of VOP1 and VOP2 at once: what to do is their entries'",
}


def _finish(report: Report, families: Sequence[str], target: Target) -> Report:
    report.keys = {entry.key for entry in entries(target.table) if entry.family in families}
    for outcome in report.outcomes:
        key = outcome.name.split()[0]
        if outcome.reason and key not in report.compared:
            refused = outcome.reason.startswith("the device refuses")
            report.listed.setdefault(key, REFUSED if refused else outcome.reason)
    return report


def _chunks(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [items[k : k + size] for k in range(0, len(items), size)]


def _sampled(forms: Sequence[Form], seed: int) -> list[Form]:
    """All plain forms; of those with modifiers one for each entry and encoding."""
    rng = random.Random(seed)
    groups: dict[tuple[str, str], list[Form]] = {}
    for form in forms:
        if form.modifiers:
            groups.setdefault((form.entry.key, form.kind.split()[0]), []).append(form)
    return [form for form in forms if not form.modifiers] + [rng.choice(group) for group in groups.values()]


def _cross_lane(report: Report, target: Target, families: Sequence[str], waves: int, seed: int) -> None:
    found = [(entry, way) for entry, way in crosslane.ways(target) if entry.family in families]
    batch = Batch(target, [crosslane.trial_of(target, entry, way) for entry, way in found])
    report.outcomes += [crosslane.compare(batch, entry, way, 16 * max(waves, 1), seed) for entry, way in found]
    for key in report.compared:
        report.listed.pop(key, None)


def vector(target: Target, waves: int, seed: int, plain: bool = False) -> Report:
    forms, without = vector_forms(target)
    report = Report(listed=without)
    runnable = []
    for form in forms:
        if form.entry.name not in crosslane.WAYS and not valu.unparsed(form.entry.pseudocode):
            runnable.append(form)
    for entry in entries(target.table):  # also those that the target has under another name
        if entry.family in VECTOR and valu.unparsed(entry.pseudocode):
            report.listed[entry.key] = MATRIX
    if not waves:
        runnable = _sampled(runnable, seed)
    if plain:
        runnable = [form for form in runnable if not form.modifiers]
    for some in _chunks(runnable, 400):
        batch = Batch(target, [valu.trial_of(form) for form in some])
        report.outcomes += [valu.compare(batch, form, waves, seed, modes.of(target)) for form in some]
    _cross_lane(report, target, VECTOR, waves, seed)
    # An operation's entries of two encodings are one text: what runs as VOP2 e64 is the VOP3 entry.
    done = {key.split(".")[1] for key in report.compared}
    report.twins = {e.key for e in entries(target.table) if e.name in done and e.family in VECTOR}
    report.listed = {k: why for k, why in report.listed.items() if k not in report.twins}
    for outcome in report.outcomes:
        if outcome.reason and not outcome.reason.startswith("cannot"):
            name = outcome.name.split()[0].split(".")[1]
            same = (e.key for e in entries(target.table) if e.name == name and e.family in VECTOR)
            refused = outcome.reason.startswith("the device refuses")
            report.listed |= {k: REFUSED if refused else outcome.reason for k in same if k not in done and k not in report.twins}
    return _finish(report, VECTOR, target)


def scalar(target: Target, waves: int, seed: int) -> Report:
    forms, without = salu.scalar_forms(target)
    report = Report(listed=without)
    batch = Batch(target, [salu.trial_of(form) for form in forms])
    report.outcomes += [salu.compare(batch, form, 64 * max(waves, 1), seed) for form in forms]
    return _finish(report, salu.SCALAR, target)


def memories(target: Target, waves: int, seed: int) -> Report:
    accesses, without = memory.accesses(target)
    report = Report(listed=without)
    batch = Batch(target, [memory.trial_of(target, access) for access in accesses])
    report.outcomes += [memory.compare(batch, access, waves, seed, modes.of(target)) for access in accesses]
    _cross_lane(report, target, memory.FAMILIES, waves, seed)
    return _finish(report, memory.FAMILIES, target)


def scalar_memory(target: Target, waves: int, seed: int) -> Report:
    forms, without = smem.smem_forms(target)
    report = Report(listed=without)
    batch = Batch(target, [smem.trial_of(target, form) for form in forms])
    report.outcomes += [smem.compare(batch, form, 8 * max(waves, 1), seed) for form in forms]
    return _finish(report, ("SMEM",), target)


def others(target: Target, waves: int, seed: int) -> Report:
    report = Report()
    report.keys = {entry.key for entry in entries(target.table) if entry.family in OTHERS}
    report.listed = {key: OTHERS[key.split(".")[0]] for key in report.keys}
    return report


FAMILIES: dict[str, Callable[[Target, int, int], Report]] = {
    "vector": vector,
    "scalar": scalar,
    "memory": memories,
    "scalar memory": scalar_memory,
    "others": others,
}
