"""What a newcomer falls into on the first day, on the device and from Python: each says what is wrong, or just works."""

from __future__ import annotations

import inspect
import subprocess
import warnings

import compiled
import numpy as np
import pytest

import luthier as lt

TYPED = """
KERNEL scale(float *out, const double *in, unsigned n, float by, long offset, bool twice, _Float16 *half) {
    u32 i = global_x();
    if (i < n) out[i] = (float)in[i] * by + offset + (twice ? 1 : 0);
}
"""
PAST = """
KERNEL past(const float *a, float *c, u32 n) {
    u32 i = global_x();
    c[i + n] = a[i];
}
KERNEL spin(volatile u32 *p) {
    while (p[0] == 0) {
    }
}
"""


@pytest.fixture(scope="module")
def typed():
    return lt.CodeObject.open(compiled.build(TYPED, "gfx90a", ("-g",)))


@pytest.fixture(scope="module")
def past(tmp_path_factory):
    """From a file, whose lines can be quoted."""
    folder = tmp_path_factory.mktemp("past")
    (folder / "past.hip").write_text(PAST)
    command = ["clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a", "-O2", "-g"]
    include = ["-include", str(compiled.SOURCES / "gpu.h"), "--no-gpu-bundle-output"]
    subprocess.run([*command, *include, str(folder / "past.hip"), "-o", str(folder / "past.hsaco")], check=True)
    return lt.CodeObject.open(folder / "past.hsaco")


@pytest.fixture(scope="module")
def device():
    return lt.Device("gfx90a")


def _scale(device, code, **changed):
    given = {
        "out": np.zeros(64, np.float32), "in": np.ones(64), "n": 64, "by": 2.0, "offset": -1, "twice": True,
        "half": np.zeros(4, np.float16), **changed,
    }  # fmt: skip
    device.run(code, "scale", blocks=1, block=64, args=list(given.values()))
    return given["out"]


def test_arguments_of_the_declared_types_are_taken(device, typed):
    assert _scale(device, typed)[0] == 2.0
    # An int for a float is the same number; whole numbers of either sign, raw bytes, and bits of a half are memory.
    assert _scale(device, typed, by=3)[0] == 3.0
    assert _scale(device, typed, by=np.float32(3), n=np.uint32(64), half=np.zeros(4, np.uint16))[0] == 3.0
    _scale(device, typed, out=np.zeros(256, np.uint8))


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("out", np.zeros(64), "argument 0 out: pointer: float * needs an array of float32, not of float64 (array.astype(numpy."),
        ("out", np.zeros(64, np.int32), "float * needs an array of float32, not of int32"),
        ("in", np.zeros(64, np.float32), "double * needs an array of float64, not of float32"),
        ("n", 3.5, "argument 2 n: 4 bytes: unsigned int needs a whole number, not 3.5"),
        ("n", -1, "unsigned int holds 0 to 4294967295, not -1"),
        ("n", np.float32(3), "unsigned int needs a uint32, not a float32"),
        ("by", np.float64(3), "float needs a float32, not a float64"),
        ("by", np.int32(3), "float needs a float32, not a int32"),
        ("by", "3", "float needs a number, not a str"),
        ("offset", 1 << 63, "long holds"),
        ("twice", 2, "bool holds 0 to 1, not 2"),
    ],
)
def test_arguments_of_other_types_are_refused(device, typed, name, value, said):
    with pytest.raises(lt.ArgumentError) as error:
        _scale(device, typed, **{name: value})
    assert said in str(error.value)


def test_without_debug_information_sizes_are_what_is_checked(device):
    plain = lt.CodeObject.open(compiled.build(TYPED, "gfx90a"))
    _scale(device, plain, by=np.int32(3))
    with pytest.raises(lt.ArgumentError, match="8 bytes was given"):
        _scale(device, plain, by=np.float64(3))


def _past(device, code, c, n=64, **launch):
    return device.run(code, "past", blocks=1, block=64, args=[np.ones(64, np.float32), c, n], **launch)


def test_a_write_to_a_read_only_array_is_an_error_and_a_finding(device, past):
    for c in (np.zeros(256, np.float32), np.zeros(257, np.float32)[1:]):
        c.flags.writeable = False
        with pytest.raises(
            lt.DeviceError, match=r"read-only.* argument 1 'c' \(1,024 bytes, read-only\), 256 bytes from its start"
        ):
            _past(device, past, c)
        (finding,) = _past(device, past, c, strict=True).findings
        assert "argument 1 'c'" in finding["place"] and finding["source_text"] == "c[i + n] = a[i];"
        assert not c.any()
        _past(device, past, np.zeros(256, np.float32))
        device.run(past, "past", blocks=1, block=64, args=[c, np.zeros(256, np.float32), 64])  # reading it is fine


def test_faults_name_the_argument_and_the_line(device, past):
    with pytest.raises(lt.DeviceError) as error:
        _past(device, past, np.zeros(64, np.float32), n=67)
    text = str(error.value)
    assert "12 bytes past the end of argument 1 'c' (256 bytes)" in text and "source: c[i + n] = a[i];" in text
    raised = error.value
    assert (raised.kernel, raised.workgroup, raised.wave) == ("past", (0, 0, 0), 0)
    assert raised.address is not None and raised.source[0]["line"] == 4
    with pytest.raises(lt.DeviceError, match="is a null pointer|from a null pointer"):
        _past(device, past, None)


def test_findings_name_the_argument(device, past):
    (finding,) = _past(device, past, np.zeros(64, np.float32), n=64, strict=True).findings
    assert finding["place"] == "0 bytes past the end of argument 1 'c' (256 bytes)"


def test_memory_events_are_mapped_to_arguments(device, past):
    c = np.zeros(256, np.float32)
    trace = device.trace(past, "past", blocks=1, block=64, args=[np.ones(64, np.float32), c, 64], events=["memory"])
    found = trace.memory_arguments()
    stores = found[trace.memory["kind"] & 3 == 1]
    assert (stores["argument"] == 1).all() and sorted(stores["offset"]) == [256 + 4 * i for i in range(64)]
    assert {-1, 0, 1} >= set(found["argument"].tolist())


def test_the_watchdog_tells_kernel_instruction_and_line(past):
    with pytest.raises(lt.DeviceError) as error:
        lt.Device("gfx90a", watchdog=100_000).run(past, "spin", blocks=1, block=64, args=[np.zeros(4, np.uint32)])
    text = str(error.value)
    assert text.startswith("kernel spin: stopped after ") and "1 wave at 0x" in text
    addresses = {f"{i.address:#x}: {i.text}" for i in past.kernel("spin").instructions}
    assert any(place in text for place in addresses), text
    assert "past.hip:" in text


def test_blocks_counts_workgroups(device, past):
    c = np.zeros(256, np.float32)
    result = device.run(past, "past", blocks=(2, 1), block=(64, 1), args=[np.ones(128, np.float32), c, 0])
    assert result.grid == (128, 1, 1) and result.workgroups == 2


def test_a_grid_smaller_than_a_workgroup_is_warned_of_where_it_was_written(device, past):
    arrays = [np.ones(64, np.float32), np.zeros(256, np.float32), 0]
    with pytest.warns(lt.LaunchWarning, match="a grid of 4 work-items is smaller than a workgroup of 64.*blocks=") as seen:
        device.run(past, "past", grid=4, block=64, args=arrays)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        device.run(past, "past", grid=100, block=64, args=[np.ones(128, np.float32), np.zeros(256, np.float32), 0])


def test_all_that_launch_take_the_same_keywords():
    def keywords(method):
        taken = inspect.signature(method).parameters.values()
        return {p.name for p in taken if p.kind is p.KEYWORD_ONLY}

    launch = set(lt.LaunchKeywords.__annotations__)
    assert {"grid", "blocks", "block", "args", "lds", "strict", "cooperative", "cluster", "schedule", "variant"} == launch
    for owner in (lt.Device, lt.Module, lt.Linked):
        for name in ("run", "trace", "session"):
            method = getattr(owner, name, None)
            assert method is None or launch <= keywords(method), (owner, name)
    instrument = {"tools", "select", "variants", *lt.InstrumentKeywords.__annotations__}
    for method in (lt.Device.load, lt.Device.run, lt.Device.trace, lt.Device.session):
        assert instrument <= keywords(method), method
    assert keywords(lt.Device.trace) - keywords(lt.Device.run) == keywords(lt.Module.trace) - keywords(lt.Module.run)


def test_the_device_runs_cooperatively_too(device, past):
    arrays = [np.ones(64, np.float32), np.zeros(256, np.float32), 0]
    assert device.run(past, "past", grid=64, block=64, args=arrays, cooperative=True).workgroups == 1
    with pytest.raises(lt.ArgumentError, match="a session is not judged"):
        device.session(past, "past", grid=64, block=64, args=arrays, strict=True)


class ByKernel(lt.Tool):
    """The instructions of each kernel that was launched."""

    def __init__(self):
        self.counts, self.launched = {}, []

    @lt.hook
    def add(count: lt.counter, n: lt.u32):
        count += n

    def on_kernel(self, kernel):
        counter = self.counts[kernel.name] = lt.Counter(name=f"count.{kernel.name}")
        for block in kernel.blocks:
            kernel.insert_before(block.instructions[0], self.add, counter, len(block.instructions))

    def on_launch(self, launch):
        self.launched.append((launch.kernel, launch.grid, launch.block))

    def on_exit(self, report):
        report.result = {name: int(self.counts[name]) for name, _, _ in self.launched}


def test_tools_are_told_which_kernels_are_launched(device, past):
    tool = ByKernel()
    module = device.load(past, tools=[tool])
    result = module.run("past", blocks=2, block=64, args=[np.ones(128, np.float32), np.zeros(256, np.float32), 0])
    assert tool.launched == [("past", (128, 1, 1), (64, 1, 1))]
    assert result.tools == {"by_kernel": {"past": result.app_instructions}}
    module.run("spin", blocks=1, block=64, args=[np.ones(1, np.uint32)])
    assert set(module.reports()[0].result) == {"past", "spin"}
