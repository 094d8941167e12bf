"""Tools' tables as Arrow, Parquet, CSV and JSON, and the page that `luthier report` makes of them."""

from __future__ import annotations

import csv
import json

import compiled
import numpy as np
import pytest
from browser import look, needs_chromium

import luthier as lt
from luthier.cli import main
from luthier.reports.files import write_tables
from luthier.views import report_page


def run(tmp_path, *more: str) -> int:
    args = [a for init in ("arange", "ones", "zeros") for a in ("--arg", f"buf:f32[1000]={init}")]
    return main(
        ["run", str(compiled.code_object("vecadd", flags=("-g",))), "--kernel", "vecadd", "--grid", "1024", "--block", "256"]
        + [*args, "--arg", "u32=1000", "--tool", "opcode_hist", "--json", str(tmp_path / "r.json"), *more]
    )


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_each_table_is_a_file_with_the_numbers_of_the_result(tmp_path, capsys, format):
    assert run(tmp_path, "--out", str(tmp_path / "out"), "--out-format", format) == 0
    opcodes = json.loads((tmp_path / "r.json").read_text())["tools"]["opcode_hist"]["opcodes"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        f"opcode_hist.{t}.{format}" for t in ("classes", "opcode_hist")
    ]
    path = tmp_path / f"out/opcode_hist.opcode_hist.{format}"
    if format == "parquet":
        import pyarrow.parquet

        rows = [tuple(row.values()) for row in pyarrow.parquet.read_table(path).to_pylist()]
    elif format == "csv":
        rows = [(name, int(n)) for name, n in list(csv.reader(path.open()))[1:]]
    else:
        rows = [tuple(row.values()) for row in json.loads(path.read_text())]
    assert dict(rows) == opcodes


def test_a_report_comes_back_from_json_as_it_was():
    report = lt.Report("t")
    report.table("a", [("x", 1), ("y", 2.5)], ("name", "n"))
    report.column("c", {0x1900: 3}, unit="waves", combine="max", about="what")
    report.plot("p", {"mark": "bar"})
    again = lt.Report.of(json.loads(json.dumps(report.to_dict())))
    assert again.to_dict() == report.to_dict()
    tables = report.to_arrow()
    assert tables["a"].to_pydict() == {"name": ["x", "y"], "n": [1.0, 2.5]}
    assert tables["by instruction"].to_pydict() == {"address": [0x1900], "c": [3]}


def test_records_are_in_files_and_arrow_and_not_in_what_people_read(tmp_path):
    report = lt.Report("t")
    report.records("many", {"n": np.arange(3, dtype="u4"), "name": ["a", "b", "c"]})
    assert report.to_arrow()["many"].to_pydict() == {"n": [0, 1, 2], "name": ["a", "b", "c"]}
    paths = [write_tables([report], tmp_path / format, format)[0] for format in ("csv", "json")]
    assert open(paths[0]).read() == "n,name\n0,a\n1,b\n2,c\n"
    assert json.load(open(paths[1])) == [{"n": n, "name": name} for n, name in enumerate("abc")]
    assert report.tables == [] and report.to_dict()["tables"] == [] and repr(report.data) == "[<Records many: 3 rows of n, name>]"
    with pytest.raises(ValueError, match="columns of different lengths"):
        report.records("bad", {"a": [1], "b": [1, 2]})


def test_columns_of_several_kinds_become_text():
    report = lt.Report("t")
    report.table("a", [("all", "not counted"), ("some", 3)], ("what", "n"))
    assert report.to_arrow()["a"].to_pydict()["n"] == ["not counted", "3"]


def test_what_is_no_report_is_refused_in_a_line(tmp_path, capsys):
    (tmp_path / "bad.json").write_text('{"reports": [{"tool": 1}]}')
    (tmp_path / "no.json").write_text("no")
    for name, words in (("bad.json", "holds no reports"), ("no.json", "no JSON"), ("missing.json", "cannot read")):
        assert main(["report", str(tmp_path / name), "-o", str(tmp_path / "r.html")]) == 2
        error = capsys.readouterr().err
        assert words in error and error.count("\n") == 1
    assert not (tmp_path / "r.html").exists()


@needs_chromium
def test_the_page_of_reports_searches_and_sorts_and_shows_plots_in_a_browser(tmp_path, capsys):
    pytest.importorskip("vl_convert", reason="plots need vl-convert-python")
    report = lt.Report("lanes")
    report.table("t", [("a", 3), ("b", 20), ("c", 1)], ("name", "n"))
    spec = {"data": {"values": [{"x": "a", "n": 3}, {"x": "b", "n": 20}]}, "mark": "bar",
            "encoding": {"x": {"field": "x"}, "y": {"field": "n", "type": "quantitative"}}}  # fmt: skip
    report.plot("by name", spec)
    (tmp_path / "r.json").write_text(json.dumps({"reports": [report.to_dict()]}))
    page = tmp_path / "r.html"
    assert main(["report", str(tmp_path / "r.json"), "-o", str(page)]) == 0
    seen = look(
        page,
        """
        const names = () => [...document.querySelectorAll("section td:first-child")].map(td => td.textContent).join("");
        const first = names(); document.querySelectorAll("section th")[1].click(); const sorted = names();
        const box = document.getElementById("search"); box.value = "20"; box.oninput({target: box});
        return {first, sorted, left: [...document.querySelectorAll("section td")].filter(shown).length, hits: document.getElementById("hits").textContent,
                bars: document.querySelectorAll("figure svg path[aria-roledescription=bar]").length};
        """,
    )
    assert seen == {"first": "abc", "sorted": "bac", "left": 2, "hits": "1 rows", "bars": 2}


def test_a_page_of_many_tools_and_runs_leads_to_each(tmp_path, capsys):
    files = []
    for n, tools in enumerate((("opcode_hist", "roofline"), ("coalescing",))):
        files.append(str(tmp_path / f"run{n}.json"))
        assert run(tmp_path, *(word for tool in tools for word in ("--tool", tool)), "--json", files[-1]) == 0
    page = tmp_path / "r.html"
    assert main(["report", *files, "-o", str(page)]) == 0
    text = page.read_text()
    told = [f"{report['tool']}: {name}" for name in files for report in json.loads(open(name).read())["reports"]]
    assert len(told) == 5  # opcode_hist is in both
    for n, heading in enumerate(told):
        assert f'<a href="#report-{n}">{heading}</a>' in text and f'<section id="report-{n}"><h2>{heading}</h2>' in text
    assert main(["report", files[1], "-o", str(page)]) == 0
    assert "<h2>coalescing</h2>" in page.read_text()


def test_pages_have_addresses_as_such_and_say_where_there_is_nothing():
    report = lt.Report("t")
    report.table("a", [], ("name", "n"))
    report.column("c", {0x1900: 6400}, unit="waves")
    page = report_page.page([report], "t")
    assert "0x1900" in page and "6,400" in page and ">none<" in page
