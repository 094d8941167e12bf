"""What findings of programs tell: the program's own lines, both parties, how many lanes, what lies there, which launch."""

from __future__ import annotations

import json

import pytest
import rocm

from luthier.reports.findings import finding_text


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> tuple[list[str], list[dict]]:
    rocm.need("hipcc")
    out = tmp_path_factory.mktemp("told") / "findings.json"
    done = rocm.mock(rocm.hip("told"), options=("--strict", "--json", str(out)))
    assert done.returncode == 1, done.stderr
    lines = rocm.said(done.stderr).splitlines()
    assert lines[-1] == f"luthier: strict: 3 launches checked, {len(lines) - 1} findings"
    return lines[:-1], json.loads(out.read_text())["strict"]["findings"]


def _line(mark: str) -> int:
    text = (rocm.SOURCES / "told.hip").read_text().splitlines()
    (line,) = [number for number, words in enumerate(text, 1) if f"// {mark}" in words]
    return line


def _of(findings: list[dict], kind: str) -> list[dict]:
    some = [finding for finding in findings if finding["kind"] == kind]
    assert some
    return some


def _only(findings: list[dict], kind: str) -> dict:
    (finding,) = _of(findings, kind)
    return finding


def _own_lines(frames: list[dict]) -> list[int]:
    return [frame["line"] for frame in frames if frame["file"].endswith("told.hip")]


def test_a_finding_in_an_inlined_function_has_the_programs_own_line(told):
    lines, findings = told
    finding = _only(findings, "out-of-bounds")
    assert not finding["source"][0]["file"].endswith("told.hip"), "it is in one of the runtime's headers"
    assert _own_lines(finding["source"]) == [_line("add")]
    (line,) = [line for line in lines if "out-of-bounds" in line]
    assert f"told.hip:{_line('add')}" in line


def test_the_driver_and_python_say_the_same_of_a_finding(told):
    """In a program's lines and in what commands judge later there is one wording."""
    lines, findings = told
    assert len({finding["kind"] for finding in findings}) == 3 and any(finding["other"] for finding in findings)
    assert lines == [f"luthier: launch {finding['launch']}: {finding_text(finding)}" for finding in findings]
    assert [finding["line"] for finding in findings] == [line.removeprefix("luthier: ") for line in lines]


def test_a_finding_counts_its_lanes_and_names_the_nearest_allocation(told):
    lines, findings = told
    assert _only(findings, "out-of-bounds")["count"] == 36
    (line,) = [line for line in lines if "out-of-bounds" in line]
    assert "36 lanes" in line and "past the end of the 400 bytes of memory of GPU 0" in line


def test_launches_are_the_programs_own(told):
    lines, findings = told
    launches = {(finding["kind"], finding["launch"]) for finding in findings}
    assert launches == {("out-of-bounds", 2), ("lds-race", 3), ("undefined-lds", 3)}
    assert any(line.startswith("luthier: launch 2: out-of-bounds: ") for line in lines)


def test_a_race_has_the_lines_of_both_parties(told):
    lines, findings = told
    pair = {_line("race: the store"), _line("race: the load")}
    for finding in _of(findings, "lds-race"):
        assert {*_own_lines(finding["source"]), *_own_lines(finding["other"]["source"])} == pair
    for line in (line for line in lines if "lds-race" in line):
        assert all(f"told.hip:{number}" in line for number in pair)
        assert "null pointer" not in line, "an address of LDS is none of memory"
