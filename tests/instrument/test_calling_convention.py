"""Hooks placed by the calling convention: the kernel computes the same, tools report the same, and it costs more."""

from __future__ import annotations

import cli
import compiled
import kernel_cases
import numpy as np
import pytest

import luthier as lt


class Lanes(lt.Tool):
    """How many lanes come to each instruction, by a hook that needs vector registers."""

    @lt.hook
    def add(lanes: lt.ptr[lt.u64]):
        lt.wave_atomic_add(lanes, lt.u64(lt.active_lanes()))

    def on_kernel(self, kernel):
        self.lanes = lt.DeviceArray(lt.u64, len(kernel.instructions), name=f"lanes.{kernel.name}")
        for number, instr in enumerate(kernel.instructions):
            kernel.insert_before(instr, self.add, self.lanes.at(number))


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("name", ["vecadd", "reduce"])
def test_kernels_and_tools_find_what_they_find_in_free_registers(processor, name):
    code_object = lt.CodeObject.open(compiled.code_object(name, target=processor))
    launch = kernel_cases.launches(name)[0]
    ran = []
    for options in ({}, {"calling_convention": True}):
        tools = [Lanes(), lt.tools.load("instr_count")]
        module = lt.Device(processor).load(
            code_object, tools=tools, kernels=[launch.kernel], check=True, on_rejected="raise", **options
        )
        args = [a.copy() if isinstance(a, np.ndarray) else a for a in launch.args]
        result = module.run(launch.kernel, grid=launch.grid, block=launch.block, args=args, strict=True)
        launch.check(args)
        assert not result.findings
        ran.append((tools[0].lanes.read().tolist(), int(tools[1].count), result))
    (lanes, count, free), (lanes_called, count_called, called) = ran
    assert any(lanes) and lanes == lanes_called
    assert count == count_called == free.app_instructions == called.app_instructions
    scratch = sum(n for name, n in called.histogram.items() if name.startswith("scratch_"))
    assert scratch and called.instructions > free.instructions


def test_the_command_line_places_by_the_calling_convention(tmp_path):
    code_object, out = compiled.code_object("vecadd"), tmp_path / "out.hsaco"
    cli.succeeds("instrument", code_object, "--tool", "instr_count", "--calling-convention", "--check", "-o", out)
    assert "scratch_store_dword" in cli.succeeds("disasm", out)
    assert "scratch_store_dword" not in cli.succeeds("disasm", code_object)
