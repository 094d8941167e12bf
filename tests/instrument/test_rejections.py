"""What cannot be inserted is told of: by a warning, an error or in the report, from Python and on the command line."""

from __future__ import annotations

import json
import warnings

import cli
import compiled
import pytest

import luthier as lt


class TooMuch(lt.Tool):
    """Hooks behind the end of the program, one more that is fine."""

    waves = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def bump(waves: lt.ptr[lt.u64]):
        lt.wave_atomic_add(waves, 1)

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.bump, self.waves)
        for instr in kernel.instructions:
            if instr.is_end:
                kernel.insert_after(instr, self.bump, self.waves)
                kernel.remove(instr)


@pytest.fixture(scope="module")
def vecadd():
    return lt.CodeObject.open(compiled.code_object("vecadd"))


def test_a_rejection_is_a_warning_that_names_the_place_and_the_reason(vecadd):
    end = [i for i in vecadd.kernel("vecadd").instructions if i.is_end][0]
    with pytest.warns(lt.RejectedWarning) as caught:
        result = lt.instrument(vecadd, [TooMuch()])
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith("2 of 3 insertions") and f"at {end.address:#x}: s_endpgm" in text and "\n" not in text
    assert warning.filename == __file__
    rejected = result.instrumentation["rejected"]
    assert {(r["address"], r["kind"]) for r in rejected} == {(end.address, "nothing_follows"), (end.address, "control_flow")}
    assert result.instrumentation["points"] == 1


def test_on_rejected_raise_gives_an_error_that_lists_all(vecadd):
    with pytest.raises(lt.RejectedError, match="2 of 3 insertions") as caught:
        lt.instrument(vecadd, [TooMuch()], on_rejected="raise")
    assert len(caught.value.rejected) == 2 and isinstance(caught.value, lt.InstrumentError)
    for load in (
        lambda: lt.Device("gfx90a").load(vecadd, tools=[TooMuch()], on_rejected="raise"),
        lambda: lt.Device("gfx90a").run(vecadd, "vecadd", grid=1, block=1, tools=[TooMuch()], on_rejected="raise"),
        lambda: lt.Device("gfx90a").trace(vecadd, "vecadd", grid=1, block=1, tools=[TooMuch()], on_rejected="raise"),
        lambda: lt.Device("gfx90a").session(vecadd, "vecadd", grid=1, block=1, tools=[TooMuch()], on_rejected="raise"),
    ):
        with pytest.raises(lt.RejectedError):
            load()


def test_on_rejected_report_is_silent(vecadd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = lt.instrument(vecadd, [TooMuch()], on_rejected="report")
    assert len(result.instrumentation["rejected"]) == 2


def test_nothing_is_said_where_nothing_was_rejected(vecadd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lt.instrument(vecadd, [lt.tools.load("instr_count")]).instrumentation["rejected"] == []


def test_on_rejected_is_one_of_three_words(vecadd):
    for call in (
        lambda: lt.instrument(vecadd, [], on_rejected="ignore"),
        lambda: lt.Device("gfx90a").load(vecadd, on_rejected=None),
    ):
        with pytest.raises(lt.ArgumentError, match="on_rejected"):
            call()


TOOL = """
import luthier as lt

class After(lt.Tool):
    waves = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def bump(waves: lt.ptr[lt.u64]):
        lt.wave_atomic_add(waves, 1)

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.bump, self.waves)
        kernel.insert_after(kernel.instructions[-1], self.bump, self.waves)
"""


def test_the_command_line_says_it_in_one_line(vecadd, tmp_path):
    (tmp_path / "tool.py").write_text(TOOL)
    path, out, report = compiled.code_object("vecadd"), tmp_path / "out.hsaco", tmp_path / "report.json"
    last = vecadd.kernel("vecadd").instructions[-1]
    common = ["instrument", path, "--tool", tmp_path / "tool.py", "-o", out, "--json", report, "--check"]

    done = cli.luthier(*common)
    assert done.returncode == 0 and out.exists()
    (line,) = done.stderr.splitlines()
    assert line.startswith("luthier: warning: 1 of 2 insertions") and f"{last.address:#x}" in line
    assert len(json.loads(report.read_text())["rejected"]) == 1

    done = cli.luthier(*common, "--on-rejected", "report")
    assert done.returncode == 0 and done.stderr == ""

    out.unlink(), report.unlink()
    done = cli.luthier(*common, "--on-rejected", "raise")
    assert done.returncode == 2 and not out.exists() and not report.exists()
    (line,) = done.stderr.splitlines()
    assert line.startswith("luthier: error: 1 of 2 insertions")

    run = ["run", path, "--kernel", "vecadd", "--grid", "64", "--block", "64", *["--arg", "buf:f32[64]=ones"] * 3]
    run += ["--arg", "u32=64", "--tool", tmp_path / "tool.py"]
    assert cli.luthier(*run).stderr.startswith("luthier: warning: 1 of 2 insertions")
    assert cli.luthier(*run, "--on-rejected", "raise").returncode == 2
