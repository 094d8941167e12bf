"""The zoo: of each published bug, strict mode reports the kernel that has it, and is silent on the mended one."""

from __future__ import annotations

from typing import Any

import pytest
from exhibits import compilers, endless, lds, memory
from exhibits.exhibit import FOLDER, ROOT, Exhibit, places, said

import luthier as lt
from luthier.replay.exploring import schedules
from luthier.reports.findings import Finding

EXHIBITS = {e.name: e for e in (*lds.EXHIBITS, *memory.EXHIBITS, *compilers.EXHIBITS, *endless.EXHIBITS)}
EVERY = [(name, target) for name, e in EXHIBITS.items() for target in e.targets]
COMPARED = [(name, target) for name, target in EVERY if EXHIBITS[name].is_compared]
ENDLESS = [(name, target) for name, target in EVERY if EXHIBITS[name].stops_within]
MISSED = [(name, target) for name, target in EVERY if EXHIBITS[name].missed]
FOUND = [pair for pair in EVERY if pair not in (*COMPARED, *ENDLESS, *MISSED)]
PAGE = ROOT / "docs/bugs.md"


def assert_reported(exhibit: Exhibit, target: str, **how: Any) -> list[Finding]:
    """The findings of the kernel with the bug, which are all on marked lines and of the kinds marked there."""
    _, findings = exhibit.run(target, mended=False, **how)
    found, marks = places(findings, exhibit.path), exhibit.marks()
    assert found or how, "nothing was found"
    assert not [place for place in found if place[1] not in marks.get(place[0], ())], findings
    return findings


@pytest.mark.parametrize("name, target", FOUND)
def test_the_bug_is_reported_where_it_is(name, target):
    assert_reported(EXHIBITS[name], target)


@pytest.mark.parametrize("name", dict(FOUND))
def test_one_schedule_at_most_of_five_hides_the_bug(name):
    exhibit = EXHIBITS[name]
    found = [assert_reported(exhibit, exhibit.targets[-1], schedule=schedule) != [] for schedule in schedules(5, 0)]
    assert sum(found) >= 4


@pytest.mark.parametrize("name", dict(FOUND))
def test_the_page_says_what_is_said(name):
    exhibit = EXHIBITS[name]
    _, findings = exhibit.run(exhibit.targets[0], mended=False)
    assert said(findings[0], exhibit.path) in PAGE.read_text()


@pytest.mark.parametrize("name, target", COMPARED)
def test_what_is_wrong_and_allowed_is_found_beside_the_mended_code(name, target):
    exhibit = EXHIBITS[name]
    assert exhibit.run(target, mended=False)[1] == []
    compared = exhibit.compare(target)
    (differs,) = (n for n, line in enumerate(exhibit.path.read_text().splitlines(), 1) if line.endswith("// differs"))
    (different,) = compared.differences
    assert different.region.what.startswith("argument 1")
    assert all(store is not None and store.source[0].line == differs for store in compared.stores)


@pytest.mark.parametrize("name, target", MISSED)
def test_what_is_said_to_be_missed_is_missed(name, target):
    """If this fails something has got better: the exhibit is to say so."""
    assert EXHIBITS[name].run(target, mended=False)[1] == []


@pytest.mark.parametrize("name, target", EVERY)
def test_the_mended_kernel_is_silent_and_right(name, target):
    launch, findings = EXHIBITS[name].run(target, mended=True)
    assert findings == []
    launch.check()


@pytest.mark.parametrize("name", EXHIBITS)
def test_no_schedule_has_the_mended_kernel_reported_or_wrong(name):
    for schedule in ("alternate", "random:1", "random:2"):
        launch, findings = EXHIBITS[name].run(EXHIBITS[name].targets[-1], mended=True, schedule=schedule)
        assert findings == []
        launch.check()


@pytest.mark.parametrize("name, target", ENDLESS)
def test_what_never_ends_is_stopped_at_its_loop(name, target):
    exhibit = EXHIBITS[name]
    loops = [n for n, line in enumerate(exhibit.path.read_text().splitlines(), 1) if line.endswith("// endless")]
    stops = []
    for schedule in schedules(exhibit.stops_within, 0):
        try:
            exhibit.run(target, mended=False, schedule=schedule)
        except lt.DeviceError as stop:
            stops.append(str(stop))
    assert stops and all("the device's watchdog" in stop for stop in stops)
    assert any(f"{exhibit.path.name}:{loop}" in stop for stop in stops for loop in loops), stops


def test_every_kernel_is_an_exhibit_and_every_exhibit_has_its_section():
    assert {path.stem for path in (FOLDER / "kernels").iterdir()} == set(EXHIBITS)
    text = PAGE.read_text()
    for name, exhibit in EXHIBITS.items():
        assert f"\n## {name}\n" in text and exhibit.sources and all(source in text for source in exhibit.sources), name
