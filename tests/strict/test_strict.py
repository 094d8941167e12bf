"""Strict mode finds what was broken on purpose, and says where in the source that is.

That it finds nothing in good kernels is part of every proof (proof.py).
"""

from __future__ import annotations

import json
import subprocess

import cli
import numpy as np
import pytest

import luthier as lt

SOURCE = """
#define DEVICE __attribute__((device))
DEVICE static inline unsigned neighbour(unsigned *words, unsigned i) {
    return words[i ^ 64];
}
extern "C" __attribute__((global)) void turn(unsigned *out) {
    static __attribute__((shared)) unsigned words[128];
    unsigned i = __builtin_amdgcn_workitem_id_x();
    words[i] = i;
    SYNC
    out[i] = neighbour(words, i);
}
"""
FENCED = """__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");"""


def _turn(tmp_path, sync: str):
    source = tmp_path / "turn.hip"
    source.write_text(SOURCE.replace("SYNC", sync))
    path = tmp_path / "turn.hsaco"
    options = ["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a", "--no-gpu-bundle-output"]
    subprocess.run(["clang-22", *options, "-O1", "-g", source, "-o", path], check=True)
    return path


def _run(path, tools=(), strict: lt.Strict = True):
    module = lt.Device("gfx90a").load(lt.CodeObject.open(path), tools=[lt.tools.load(t) for t in tools])
    return module.run("turn", grid=128, block=128, args=[np.zeros(128, np.uint32)], strict=strict)


def _symbolized(path, address: int) -> list[tuple[str, int]]:
    done = subprocess.run(
        ["llvm-symbolizer-22", f"--obj={path}", "--inlines", "--output-style=JSON", hex(address)],
        capture_output=True,
        check=True,
    )
    (entry,) = json.loads(done.stdout)
    return [(symbol["FunctionName"].partition("(")[0], symbol["Line"]) for symbol in entry["Symbol"]]


def test_a_race_is_found_in_the_source(tmp_path):
    assert _run(_turn(tmp_path, FENCED)).findings == []
    path = _turn(tmp_path, "")
    findings = _run(path).findings
    races = [f for f in findings if f["kind"] == "lds-race"]
    assert races, findings
    for race in races:
        for place in (race, race["other"]):
            frames = [(frame["function"], frame["line"]) for frame in place["source"]]
            assert frames == _symbolized(path, place["pc"])
            assert all(frame["file"].endswith("turn.hip") for frame in place["source"])
    # One of the two is the read in the inlined function.
    chains = [[f["function"] for f in place["source"]] for race in races for place in (race, race["other"])]
    assert ["neighbour", "turn"] in chains


def test_instrumented_code_is_found_at_its_original_place(tmp_path):
    path = _turn(tmp_path, "")
    plain = [f for f in _run(path).findings if f["kind"] == "lds-race"]
    instrumented = [f for f in _run(path, ["instr_count"]).findings if f["kind"] == "lds-race"]
    assert [f["original_pc"] for f in plain] == [None] * len(plain)
    assert [f["original_pc"] for f in instrumented] == [f["pc"] for f in plain]
    assert [f["source"] for f in instrumented] == [f["source"] for f in plain]
    assert all(f["pc"] != f["original_pc"] for f in instrumented)


def test_a_fault_says_its_line(tmp_path):
    path = _turn(tmp_path, FENCED)
    module = lt.Device("gfx90a").load(lt.CodeObject.open(path))
    with pytest.raises(lt.DeviceError, match=r"turn\.hip:12"):
        module.run("turn", grid=128, block=128, args=[None])


def test_kinds_may_be_chosen(tmp_path):
    path = _turn(tmp_path, "")
    kinds = {f["kind"] for f in _run(path).findings}
    assert {"lds-race", "undefined-lds"} <= kinds <= set(lt.finding_kinds())
    assert {f["kind"] for f in _run(path, strict=["lds-race"]).findings} == {"lds-race"}
    assert _run(path, strict=["hazard"]).findings == []
    with pytest.raises(lt.ArgumentError, match="no kind strange"):
        _run(path, strict=["strange"])
    with pytest.raises(lt.ArgumentError, match="a list of kinds"):
        _run(path, strict="lds-race")


def test_kinds_on_the_command_line(tmp_path):
    command = ["run", _turn(tmp_path, ""), "--kernel", "turn", "--grid", "128", "--block", "128", "--arg", "buf:u32[128]=zeros"]
    done = cli.luthier(*command, "--strict=lds-race")
    assert done.returncode == 1
    first, *_ = done.stderr.splitlines()
    assert "lds-race" in first and "turn.hip:4:" in first and "inlined at" in first and "the other is wave" in first
    assert "undefined-lds" not in done.stderr
    assert cli.luthier(*command, "--strict=hazard").returncode == 0
    done = cli.luthier(*command, "--strict=strange")
    assert done.returncode == 2 and "no kind 'strange'" in done.stderr and "lds-race" in done.stderr
