"""What strict mode finds in programs with planted mistakes, in each form, read back by readers that are not ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from importlib import resources
from pathlib import Path

import cli
import jsonschema
import planted
import pytest
import rocm
from places import ROOT
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif

import luthier as lt
from luthier.verdict.kinds import KINDS

FORMS = ("text", "json", "sarif", "github", "junit")
_COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def _schema() -> dict:
    return json.loads(resources.files("luthier.verdict").joinpath("findings.schema.json").read_text())


def _formats(folder: Path) -> list[str]:
    return [word for form in FORMS for word in ("--format", f"{form}={folder / form}")]


def _unescaped(text: str) -> str:
    return re.sub("%(25|0D|0A|3A|2C)", lambda found: chr(int(found[1], 16)), text)


def _annotations(text: str) -> list[tuple[str, dict[str, str], str]]:
    found = []
    for line in text.splitlines():
        match = _COMMAND.fullmatch(line)
        assert match is not None, line
        told = dict(part.split("=", 1) for part in match[2].split(","))
        found.append((match[1], {key: _unescaped(value) for key, value in told.items()}, _unescaped(match[3])))
    return found


def _check_sarif(data: dict) -> None:
    Sarif.model_validate(data)
    # The OASIS schema itself, where it is there: PyPI has no package with it.
    if path := os.environ.get("LUTHIER_SARIF_SCHEMA"):
        schema = json.loads(Path(path).read_text())
        jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker()).validate(data)


def _read(folder: Path) -> list[set[tuple[str, str, int]]]:
    """Kind, file and line of each finding that counts, as each form has them."""
    data = json.loads((folder / "json").read_text())
    jsonschema.Draft202012Validator(_schema()).validate(data)
    of_json = {
        (f["kind"], os.path.relpath(f["source"][0]["file"], ROOT), f["source"][0]["line"])
        for f in data["findings"]
        if f["standing"] == "fails"
    }
    sarif = json.loads((folder / "sarif").read_text())
    _check_sarif(sarif)
    (run,) = sarif["runs"]
    of_sarif = set()
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        if result["level"] == "error":
            of_sarif.add((result["ruleId"], place["artifactLocation"]["uri"], place["region"]["startLine"]))
    of_github = {
        (told["title"].rpartition("(")[2].rstrip(")"), told["file"], int(told["line"]))
        for level, told, _ in _annotations((folder / "github").read_text())
        if level == "error"
    }
    root = ET.parse(folder / "junit").getroot()
    of_junit = set()
    for failure in root.iter("failure"):
        place = re.match(r"(.+?):(\d+)(?::\d+)?: ", failure.text or "")
        assert place is not None
        of_junit.add((failure.get("type"), place[1], int(place[2])))
    (suite,) = root
    assert int(suite.get("failures", -1)) == len([case for case in suite if case.find("failure") is not None])
    assert int(suite.get("tests", -1)) == len(suite)
    of_text = set()
    for line in (folder / "text").read_text().splitlines():
        found = re.match(r"luthier: strict: ([a-z-]+): .*? at (\S+?):(\d+)(?::\d+)?, (?:inlined|workgroup)", line)
        if found is not None:
            of_text.add((found[1], os.path.relpath(found[2], ROOT), int(found[3])))
    return [of_json, of_sarif, of_github, of_junit, of_text]


@pytest.mark.parametrize("name", planted.NAMES)
def test_each_planted_mistake_is_told_at_its_line_in_each_form(name, tmp_path):
    done = cli.luthier(*planted.command(name), planted.strict(name), *_formats(tmp_path), cwd=ROOT)
    assert done.returncode == 1, done.stderr
    wanted = planted.mistake(name)
    first, *others = _read(tmp_path)
    assert wanted in first, first
    assert all(other == first for other in others), (first, others)


@pytest.mark.parametrize(
    "case, kind",
    [("race_in_lds", "lds-race"), ("store_behind_the_end", "out-of-bounds"), ("store_to_freed_memory", "use-after-free")],
)
def test_mistakes_of_hip_programs_are_told_in_each_form(case, kind, tmp_path):
    rocm.need("hipcc")
    program = rocm.hip("mistakes")
    done = rocm.mock(program, case, options=("--strict", *_formats(tmp_path)), folder=ROOT)
    assert done.returncode != 0
    first, *others = _read(tmp_path)
    assert kind in {found for found, _, _ in first} or (kind, case) == ("use-after-free", "store_to_freed_memory")
    assert first and all(file.startswith("tests/hip/") for _, file, _ in first)
    assert all(other == first for other in others[:-1]), (first, others)


def test_both_parties_and_the_calls_are_in_sarif(tmp_path):
    cli.luthier(*planted.command("race_lds"), "--strict=lds-race", *_formats(tmp_path), cwd=ROOT)
    results = json.loads((tmp_path / "sarif").read_text())["runs"][0]["results"]
    lines = {result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in results}
    others = {r["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] for r in results}
    assert lines == others and len(lines) == 2
    cli.luthier(*planted.command("past_end"), "--strict", *_formats(tmp_path), cwd=ROOT)
    (result,) = json.loads((tmp_path / "sarif").read_text())["runs"][0]["results"]
    frames = [frame["location"]["logicalLocations"][0]["name"] for frame in result["stacks"][0]["frames"]]
    assert frames == ["put", "planted"]
    assert "inlined from planted at tests/planted/past_end.hip:6" in (tmp_path / "junit").read_text()
    ((_, _, text), _) = _annotations((tmp_path / "github").read_text())
    assert "argument 0 'out'" in text and "the first of 8 lanes" in text


def test_a_clean_run_is_told_to_be_one(tmp_path):
    done = cli.luthier(*planted.command("race_lds"), "--strict=hazard", *_formats(tmp_path), cwd=ROOT)
    assert done.returncode == 0 and done.stderr == "luthier: strict: 1 launch checked, 0 findings\n"
    assert _annotations((tmp_path / "github").read_text()) == [("notice", {"title": "luthier"}, "1 launch checked: no findings")]
    assert json.loads((tmp_path / "json").read_text())["findings"] == []
    assert json.loads((tmp_path / "sarif").read_text())["runs"][0]["results"] == []


def test_code_without_line_numbers_has_its_kernel_and_address(tmp_path):
    stripped = tmp_path / "stripped.hsaco"
    subprocess.run(["llvm-objcopy-22", "--strip-debug", planted.build("past_end"), stripped], check=True)
    words = planted.command("past_end")
    words[1] = str(stripped)
    assert cli.luthier(*words, "--strict", *_formats(tmp_path)).returncode == 1
    sarif = json.loads((tmp_path / "sarif").read_text())
    _check_sarif(sarif)
    (location,) = sarif["runs"][0]["results"][0]["locations"]
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "planted"
    assert location["physicalLocation"]["address"]["absoluteAddress"] > 0
    ((_, told, _), _) = _annotations((tmp_path / "github").read_text())
    assert told.keys() == {"title"}


def test_one_form_alone_is_on_standard_output():
    words = [*planted.command("past_end"), "--strict"]
    done = cli.luthier(*words, "--format", "json", cwd=ROOT)
    assert [f["kind"] for f in json.loads(done.stdout)["findings"]] == ["out-of-bounds"]
    assert "workgroups, waves" in done.stderr  # tables go there then
    assert _annotations(cli.luthier(*words, "--format", "github", cwd=ROOT).stdout)[0][0] == "error"
    assert "one form" in cli.fails(*words, "--format", "json", "--format", "sarif")
    assert "one form" in cli.fails(*words, "--format", "json", "--json", "-")
    assert "there are text, json" in cli.fails(*words, "--format", "xml")
    assert "give --strict" in cli.fails(*words[:-1], "--format", "json")


def test_every_kind_has_a_sentence_and_a_cure():
    assert set(lt.finding_kinds()) <= set(KINDS)


def test_the_page_of_kinds_is_what_its_script_writes():
    import importlib.machinery
    import importlib.util

    path = str(ROOT / "tools/kinds-page")
    loader = importlib.machinery.SourceFileLoader("kinds_page", path)
    spec = importlib.util.spec_from_loader("kinds_page", loader)
    assert spec is not None
    script = importlib.util.module_from_spec(spec)
    loader.exec_module(script)
    assert (ROOT / "docs/kinds.md").read_text() == script.page(), "tools/kinds-page writes it"


def test_on_a_terminal_a_finding_is_a_paragraph_that_fits():
    import numpy as np

    from luthier.verdict import Policy, text

    path = planted.build("race_lds", "gfx90a")
    found = lt.Device("gfx90a").run(path, "planted", blocks=1, block=128, args=[np.zeros(128, "u4")], strict=True).findings
    verdict = Policy.of(environment={}).judge(found, 1)
    told = text.render(verdict, 60)
    assert max(map(len, told.splitlines())) <= 60 and len(told.splitlines()) > 4 * len(verdict.judged)
    whole = " ".join(told.split())
    first = verdict.judged[0].finding
    source = first["source"][0]
    assert f"strict: {first['kind']}: {first['message']}" in whole and first["text"] in whole and first["source_text"] in whole
    assert f":{source['line']}" in whole and "the other is wave" in whole and "LDS offset" in whole
    # Files have a line for each, and colours only where they are asked for.
    assert len(text.render(verdict).splitlines()) == len(verdict.judged)
    assert "\x1b" not in told and "\x1b[1;31mlds-race\x1b[0m: " in text.render(verdict, 60, color=True)
