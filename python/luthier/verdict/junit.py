"""A verdict as JUnit's XML: one case for each kernel that has findings, and one for the launches."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import defaultdict

from ..reports.frames import chain, relative, shown
from .policy import Judged, Standing, Verdict
from .sentence import calls, message

#: What XML 1.0 cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(verdict: Verdict) -> str:
    """The file. Findings that count are failures, those that are suppressed or known are skipped, and the rest is output."""
    kernels: defaultdict[str, list[Judged]] = defaultdict(list)
    for judged in verdict.judged:
        kernels[judged.finding["kernel"]].append(judged)
    suite = ET.Element("testsuite", name="luthier strict")
    cases = [_launches(suite, verdict), *(_kernel(suite, kernel, found) for kernel, found in kernels.items())]
    counts = {"tests": len(cases), "failures": 0, "errors": 0, "skipped": 0}
    for case in cases:
        counts["failures"] += case.find("failure") is not None
        counts["skipped"] += case.find("skipped") is not None
    for name, number in counts.items():
        suite.set(name, str(number))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _launches(suite: ET.Element, verdict: Verdict) -> ET.Element:
    case = ET.SubElement(suite, "testcase", classname="luthier.strict", name="launches checked", time="0")
    if verdict.unwritten:
        ET.SubElement(case, "failure", message=f"{verdict.unwritten} findings were counted and not written down")
    elif not verdict.launches and not verdict.judged:
        ET.SubElement(case, "skipped", message="strict mode has looked at no launch")
    ET.SubElement(case, "system-out").text = f"{verdict.launches} launches checked"
    return case


def _kernel(suite: ET.Element, kernel: str, found: list[Judged]) -> ET.Element:
    case = ET.SubElement(suite, "testcase", classname="luthier.strict", name=_clean(kernel), time="0")
    frames = chain(found[0].finding)
    if frames:
        case.set("file", _clean(relative(frames[0]["file"])))
        case.set("line", str(frames[0]["line"]))
    failing = [judged for judged in found if judged.standing is Standing.FAILS]
    for judged in failing:
        failure = ET.SubElement(case, "failure", type=judged.finding["kind"], message=_clean(message(judged)))
        failure.text = _clean(_body(judged))
    quiet = [judged for judged in found if judged.standing in (Standing.SUPPRESSED, Standing.KNOWN)]
    if not failing and quiet:
        why = "; ".join(sorted({judged.rule.reason if judged.rule else "in the baseline" for judged in quiet}))
        ET.SubElement(case, "skipped", message=_clean(why))
    if told := [judged for judged in found if judged.standing is Standing.TOLD]:
        ET.SubElement(case, "system-out").text = _clean("\n".join(_body(judged) for judged in told))
    return case


def _body(judged: Judged) -> str:
    frames = chain(judged.finding)
    place = shown(frames[0]) if frames else f"pc {judged.finding['pc']:#x}"
    lines = [f"{place}: {judged.finding['kind']}: {message(judged)}", f"instruction {judged.finding['text']}"]
    return "\n".join([*lines, *(f"inlined from {call}" for call in calls(judged.finding)[1:])])


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
