"""Each kind of strict mode's findings on each generation: a kernel that is right, and one that is wrong in one way, with
all that a finding has to say."""

from __future__ import annotations

import json
import subprocess

import cli
import numpy as np
import pytest
from hazard_oracle import assemble
from test_strict_targets import TARGETS, WAVES

import luthier as lt

SOURCE = """
#define KERNEL extern "C" __attribute__((global)) void
#define lane __builtin_amdgcn_workitem_id_x()
#define barrier() __builtin_amdgcn_s_barrier()
#define wave __builtin_amdgcn_readfirstlane(lane / WAVE)
KERNEL misaligned(char *out, unsigned bad) {
    __atomic_fetch_add((unsigned *)(out + 8 * lane + (lane == 3 ? bad : 0)), 1, __ATOMIC_RELAXED);
}
KERNEL overrun(unsigned *out, unsigned bad) {
    const __attribute__((address_space(4))) char *own = (const __attribute__((address_space(4))) char *)
        __builtin_amdgcn_kernarg_segment_ptr();
    out[lane] = *(const __attribute__((address_space(4))) unsigned *)(own + 8 + bad);
}
KERNEL stray(unsigned *out, unsigned bad) {
    out[lane] = out[lane + (bad ? 1 << 20 : 0)];
}
KERNEL bytes(char *out, unsigned bad) {
    static __attribute__((shared)) volatile char words[512];
    words[2 * lane + 1] = words[2 * lane] = 1;
    if (wave)
        words[2 * lane - bad] = 2;
    else
        out[lane] = words[2 * lane];
}
KERNEL divergence(unsigned *out, unsigned bad) {
    out[lane] = 1;
    if (bad && wave)
        return;
    barrier();
}
KERNEL apart(unsigned *out, unsigned bad) {
    out[lane] = 1;
    if (bad && wave) {
        barrier();
        out[lane] = 2;
    } else {
        barrier();
        out[lane] = 3;
    }
}
KERNEL unread(unsigned *out, unsigned bad) {
    static __attribute__((shared)) volatile unsigned words[512];
    words[lane] = lane;
    (void)words[lane + (bad ? 256 : 0)];
    out[lane] = 1;
}
KERNEL forever(volatile unsigned *out, unsigned bad) {
    do
        out[lane] = 1;
    while (bad);
}
"""
# What the second argument is in a wrong launch, and what is found then.
WRONG = {
    "misaligned": (2, "misaligned"),
    "overrun": (1, "out-of-bounds"),
    "stray": (1, "out-of-bounds"),
    "bytes": (2, "lds-race"),
    "divergence": (1, "barrier-divergence"),
    "apart": (1, "barrier-place"),
    "unread": (1, "undefined-lds-read"),
}
# Looked for only if asked for.
UNUSUAL = {"barrier-place", "undefined-lds-read", "undefined-memory", "launch-race"}


def _compile(folder, target: str, wave: int):
    source, path = folder / "kinds.hip", folder / "kinds.hsaco"
    source.write_text(SOURCE)
    options = ["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={target}", "--no-gpu-bundle-output"]
    options += ["-mwavefrontsize64"] if wave == 64 and target.startswith("gfx1") else []
    options += [f"-DWAVE={wave}", "-O1", "-g"]
    subprocess.run(["clang-22", *options, source, "-o", path], check=True)
    return path


@pytest.fixture(scope="module", params=WAVES)
def built(request, tmp_path_factory):
    target, wave = request.param
    path = _compile(tmp_path_factory.mktemp("kinds"), target, wave)
    return lt.Device(target).load(lt.CodeObject.open(path)), wave


def _findings(built, kernel: str, bad: int, strict=True) -> list[dict]:
    module, wave = built
    args = [np.zeros(4 * wave, np.uint32), np.uint32(bad)]
    return module.run(kernel, grid=2 * wave, block=2 * wave, args=args, strict=strict).findings


@pytest.mark.parametrize("kernel", WRONG)
def test_each_kind(built, kernel: str) -> None:
    bad, kind = WRONG[kernel]
    if kernel == "overrun":
        # The first byte behind the segment, which compilers may take for as long as its alignment allows.
        size = built[0].code_object.core.kernel(kernel)["kernarg_size"]
        bad = (size + 15) // 16 * 16 - 8
    everything = lt.finding_kinds()
    assert _findings(built, kernel, 0, everything) == []
    if kind in UNUSUAL:
        assert _findings(built, kernel, bad) == []
    found = _findings(built, kernel, bad, everything)
    assert kind in {f["kind"] for f in found}
    (first, *_) = [f for f in found if f["kind"] == kind]
    assert first["kernel"] == kernel and first["workgroup"] == [0, 0, 0] and first["wave"] in (0, 1)
    assert first["pc"] and first["text"] and first["source"][0]["file"].endswith("kinds.hip")
    above = SOURCE.splitlines()[: first["source"][0]["line"]]
    assert [line for line in above if line.startswith("KERNEL")][-1].startswith(f"KERNEL {kernel}(")
    if kernel in ("bytes", "divergence", "apart"):
        assert first["other"]["wave"] == 1 - first["wave"] and first["other"]["pc"] and first["other"]["text"]
    if kernel == "misaligned":
        assert first["lane"] == 3 and first["address"] % 4 == 2
    if kernel == "bytes":
        assert first["address"] is not None and first["lane"] is not None


def test_kinds_are_chosen(built) -> None:
    module, wave = built
    args = [np.zeros(4 * wave, np.uint32), np.uint32(1)]
    for strict in (["missing-wait"], ["barrier-divergence"]):
        result = module.run("divergence", grid=2 * wave, block=2 * wave, args=args, strict=strict)
        assert {f["kind"] for f in result.findings} == set(strict) & {"barrier-divergence"}


def test_an_array_of_an_earlier_launch(built) -> None:
    module, wave = built
    address = module.device.core.alloc(4096)
    module.device.core.free(address)
    found = module.run("stray", grid=wave, block=wave, args=[address, np.uint32(0)], strict=True).findings
    assert {f["kind"] for f in found} == {"use-after-free"}
    # The load and the store.
    assert len(found) == 2 and all(f["address"] == address and f["lane"] == 0 for f in found)


@pytest.mark.parametrize("target", TARGETS)
def test_a_wait_without_end_names_all_waves(target: str, tmp_path) -> None:
    wave = 32 if target.startswith("gfx1") else 64
    path = _compile(tmp_path, target, wave)
    device = lt.Device(target, watchdog=100_000)
    args = [np.zeros(4 * wave, np.uint32), np.uint32(1)]
    with pytest.raises(lt.DeviceError, match="stopped after") as caught:
        device.load(lt.CodeObject.open(path)).run("forever", grid=3 * wave, block=3 * wave, args=args, strict=True)
    assert "3 waves at 0x" in str(caught.value)


@pytest.mark.parametrize("target", TARGETS)
def test_registers_beyond_the_descriptor(target: str, tmp_path) -> None:
    wave = 32 if target == "gfx1250" else 64
    body = ["v_mov_b32 v200, 1", "v_mov_b32 v201, v200"]
    path = assemble({"beyond": body, "within": ["v_mov_b32 v50, 1"]}, target, wave, tmp_path)
    module = lt.Device(target).load(lt.CodeObject.open(path))

    def run(kernel: str, strict):
        return module.run(kernel, grid=wave, block=wave, args=[np.zeros(4, np.uint32)], strict=strict).findings

    assert run("within", True) == []
    found = run("beyond", True)
    assert [f["kind"] for f in found] == ["unallocated-register"] * 2 and "v200" in found[0]["message"]
    assert run("beyond", ["lds-race"]) == []
    with pytest.raises(lt.DeviceError, match="v200 is beyond the"):
        run("beyond", False)


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1250"])
def test_the_report_and_the_exit_status(target: str, tmp_path) -> None:
    wave = 64 if target == "gfx942" else 32
    path, report = _compile(tmp_path, target, wave), tmp_path / "report.json"
    run = (
        "run",
        path,
        "--kernel",
        "divergence",
        "--grid",
        str(2 * wave),
        "--block",
        str(2 * wave),
        "--arg",
        "buf:u32[512]=zeros",
    )
    good = cli.luthier(*run, "--arg", "u32=0", "--strict", "--json", report)
    assert good.returncode == 0 and json.loads(report.read_text())["emulator"]["findings"] == []
    bad = cli.luthier(*run, "--arg", "u32=1", "--strict", "--json", report)
    (finding,) = json.loads(report.read_text())["emulator"]["findings"]
    assert bad.returncode == 1 and finding["kind"] == "barrier-divergence" and "barrier-divergence" in bad.stderr
    other = cli.luthier(*run, "--arg", "u32=1", "--strict=lds-race", "--json", report)
    assert other.returncode == 0 and json.loads(report.read_text())["emulator"]["findings"] == []
