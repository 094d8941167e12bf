"""Two kernels side by side: every instruction of both stands there once, in order, and equal ones in one row."""

from __future__ import annotations

import json

import compiled
import numpy as np
import pytest
from browser import look, needs_chromium

import luthier as lt
from luthier.cli import main
from luthier.views.difference import Difference


def kernel(level: str, target: str = "gfx90a") -> lt.Kernel:
    return lt.CodeObject.open(compiled.code_object("matmul", level=level, target=target)).kernel("matmul")


@pytest.mark.parametrize(("a", "b"), [(("O3",), ("O1",)), (("O3",), ("O3", "gfx1100")), (("O0",), ("O3", "gfx942"))])
def test_both_kernels_are_there_in_their_order(a, b):
    left, right = kernel(*a), kernel(*b)
    rows = Difference(left, right).rows
    assert [x.text for _, x, _ in rows if x] == [i.text for i in left.instructions]
    assert [y.text for _, _, y in rows if y] == [i.text for i in right.instructions]
    for kind, x, y in rows:
        assert kind == ("-" if y is None else "+" if x is None else "=" if x.text == y.text else "~")
        assert x is None or y is None or x.opcode == y.opcode
    assert any(kind in "-+" for kind, _, _ in rows)


def test_a_kernel_beside_itself_is_equal_throughout():
    assert {kind for kind, _, _ in Difference(kernel("O3"), kernel("O3")).rows} == {"="}


def test_the_command_writes_text_and_json_and_refuses_what_is_not_there(tmp_path, capsys):
    one, other = (str(compiled.code_object("matmul", level=level)) for level in ("O3", "O1"))
    assert main(["annotate", one, "--kernel", "matmul", "--diff", other]) == 0
    text = capsys.readouterr().out
    assert "waves a SIMD" in text and "  matrix" not in text and "  valu" in text
    assert main(["annotate", one, "--kernel", "matmul", "--diff", other, "-o", str(tmp_path / "d.json")]) == 0
    data = json.loads((tmp_path / "d.json").read_text())
    assert ["instructions", len(kernel("O3").instructions), len(kernel("O1").instructions)] in data["summary"]
    for wrong, words in (
        (["annotate", one, "--diff", other], "--kernel"),
        (["annotate", one, "--kernel", "matmul", "--diff", other, "--diff-kernel", "none"], "no kernel none"),
    ):
        assert main(wrong) == 2
        assert words in capsys.readouterr().err


@needs_chromium
def test_the_page_shows_every_row_in_a_browser(tmp_path):
    page = tmp_path / "d.html"
    difference = Difference(kernel("O3"), kernel("O1"))
    page.write_text(difference.html())
    rows = look(
        page, 'return [...document.querySelectorAll("table")[1].rows].filter(r => r.querySelector("td") && shown(r)).length;'
    )
    assert rows == len(difference.rows)


def collatz(n: int, tool: str = "block_count") -> lt.RunResult:
    args = [np.arange(1, 65, dtype="u4") * n, np.zeros(64, "u4"), np.uint32(64)]
    return lt.Device("gfx90a").run(
        lt.CodeObject.open(compiled.code_object("collatz", flags=("-g",))), "collatz", grid=64, block=64, args=args, tools=[tool]
    )


def test_two_runs_stand_side_by_side_with_what_differs(tmp_path, capsys):
    short, long = collatz(1), collatz(27)
    difference = short.difference(long, column="lanes")
    assert {kind for kind, _, _ in difference.rows} == {"="}
    sides = [{c.title: c.values for c in run.reports[0].columns}["lanes"] for run in (short, long)]
    for _, a, b in difference.rows:
        assert (a.value, b.value) == (sides[0].get(a.address), sides[1].get(b.address))
    changes = {a.address: change for change, a, _ in difference.worst(most=10_000)}
    assert changes == {at: n - sides[0].get(at, 0) for at, n in sides[1].items() if n != sides[0].get(at, 0)} != {}
    assert [abs(change) for change, _, _ in difference.worst()] == sorted(map(abs, changes.values()), reverse=True)[:10]
    files = []
    for n, run in ((1, short), (2, long)):
        files.append(str(tmp_path / f"{n}.json"))
        (tmp_path / f"{n}.json").write_text(json.dumps(run.to_dict()))
    path = str(compiled.code_object("collatz", flags=("-g",)))
    command = ["annotate", path, "--kernel", "collatz", "--with", files[0], "--diff-with", files[1], "--column", "lanes"]
    assert main([*command, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads(json.dumps(difference.to_dict())) and told["column"] == "lanes"
    assert main(command) == 0
    assert f"{difference.worst()[0][0]:+,}" in capsys.readouterr().out
    assert "differs most" in difference.html()


def test_runs_without_a_column_of_both_are_refused(capsys):
    with pytest.raises(lt.ArgumentError, match="no column lanes"):
        collatz(1).difference(collatz(1, "opcode_hist"), column="lanes")
    with pytest.raises(lt.ArgumentError, match="no column that both have"):
        collatz(1).difference(collatz(1, "coalescing"))
    assert collatz(1, "instr_count").difference(collatz(2, "instr_count")).worst() == []
