"""The parts of the hardware that a wave runs on, against what the kernel itself reads of the registers, on every processor."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import TARGETS

import luthier as lt

FIELDS = ("hw_shader_engine", "hw_shader_array", "hw_compute_unit", "hw_simd", "hw_wave_slot")
#: By AMD's manuals: the lowest bit and how many there are, in the order of FIELDS.
EARLY = [(13, 3), (12, 1), (8, 4), (4, 2), (0, 4)]
RDNA1 = [(18, 2), (16, 1), (10, 4), (8, 2), (0, 5)]
LATER = [(18, 3), *RDNA1[1:]]
LAYOUT = {
    "gfx900": [(13, 2), *EARLY[1:]], "gfx908": EARLY, "gfx90a": EARLY, "gfx942": EARLY, "gfx1030": RDNA1, "gfx1100": LATER,
    "gfx1201": LATER,
}  # fmt: skip
KERNEL = """
KERNEL where(u32 *out) {
    u32 id, die = 0;
    asm volatile("s_getreg_b32 %0, hwreg(REGISTER)" : "=s"(id));
    DIE
    if ((local_x() & (WAVE - 1)) == 0) {
        u32 *row = out + (group_x() * 8 + local_x() / WAVE) * 4;
        row[0] = id;
        row[1] = die;
    }
}
"""
GROUPS, WAVES = 40, 6


@lt.hook
def raw(out: lt.ptr[lt.u32]):
    lt.wave_atomic_add(out + (lt.workgroup_id_x() * 8 + lt.wave_in_group()), lt.hw_id())


@lt.hook
def fields(out: lt.ptr[lt.u32]):
    place = (lt.workgroup_id_x() * 8 + lt.wave_in_group()) * 5
    lt.wave_atomic_add(out + place, lt.hw_shader_engine())
    lt.wave_atomic_add(out + (place + 1), lt.hw_shader_array())
    lt.wave_atomic_add(out + (place + 2), lt.hw_compute_unit())
    lt.wave_atomic_add(out + (place + 3), lt.hw_simd())
    lt.wave_atomic_add(out + (place + 4), lt.hw_wave_slot())


@lt.hook
def dies(out: lt.ptr[lt.u32]):
    lt.wave_atomic_add(out + (lt.workgroup_id_x() * 8 + lt.wave_in_group()), lt.hw_xcc())


class Where(lt.Tool):
    """Asks at the kernel's last instruction, where no lane need be on."""

    raw = lt.DeviceArray(lt.u32, GROUPS * 8)
    dies = lt.DeviceArray(lt.u32, GROUPS * 8)
    fields = lt.DeviceArray(lt.u32, GROUPS * 8 * 5)

    def __init__(self, hooks=("raw",)):
        self.hooks = hooks

    def on_kernel(self, kernel):
        for name in self.hooks:
            kernel.insert_before(
                list(kernel.instructions)[-1], {"raw": raw, "fields": fields, "dies": dies}[name], getattr(self, name)
            )


def code(target):
    wave = 64 if target[1] or target[0].startswith("gfx9") else 32
    source = KERNEL.replace("REGISTER", "HW_REG_HW_ID" if target[0].startswith("gfx9") else "HW_REG_HW_ID1").replace(
        "WAVE", str(wave)
    )
    die = 'asm volatile("s_getreg_b32 %0, hwreg(HW_REG_XCC_ID)" : "=s"(die));' if target[0] == "gfx942" else ""
    return lt.CodeObject.open(compiled.build(source.replace("DIE", die), *target)), wave


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
def test_fields_are_those_of_the_register_that_the_kernel_reads(target):
    object_, wave = code(target)
    hooks = ["raw", *["fields"] * (target[0] in LAYOUT), *["dies"] * (target[0] == "gfx942")]
    tool = Where(hooks)
    module = lt.Device(target[0]).load(object_, tools=[tool], check=True, on_rejected="raise")
    out = np.zeros((GROUPS, 8, 4), np.uint32)
    result = module.run("where", grid=GROUPS * WAVES * wave, block=WAVES * wave, args=[out], strict=True)
    assert result.findings == [], [str(finding) for finding in result.findings[:2]]
    np.testing.assert_array_equal(tool.raw.read().reshape(GROUPS, 8)[:, :WAVES], out[:, :WAVES, 0])
    # Waves of one workgroup are told apart, and share a compute unit.
    assert all(len(set(row)) == WAVES for row in out[:, :WAVES, 0].tolist())
    if target[0] in LAYOUT:
        told = tool.fields.read().reshape(GROUPS, 8, 5)[:, :WAVES]
        for n, (first, bits) in enumerate(LAYOUT[target[0]]):
            np.testing.assert_array_equal(told[:, :, n], out[:, :WAVES, 0] >> first & ((1 << bits) - 1), FIELDS[n])
        assert len(np.unique(told[:, :, 2])) > 1 and len(np.unique(told[:, :, 0])) > 1
        assert (told[:, :, :3] == told[:, :1, :3]).all()
    if target[0] == "gfx942":
        told = tool.dies.read().reshape(GROUPS, 8)[:, :WAVES]
        np.testing.assert_array_equal(told, out[:, :WAVES, 1])
        assert set(told[:, 0].tolist()) == set(range(8))


@pytest.mark.parametrize(
    "target, name", [("gfx90a", "dies"), ("gfx1100", "dies"), ("gfx1250", "dies"), ("gfx1250", "fields")], ids=str
)
def test_what_the_hardware_does_not_tell_is_refused_at_its_place(target, name):
    asks = {"dies": "hw_xcc", "fields": "hw_shader_engine"}[name]
    with pytest.raises(lt.HookError, match=f"{asks}: {target} does not tell") as error:
        lt.instrument(code((target, ()))[0], [Where([name])])
    assert f"lt.{asks}()" in str(error.value) and error.value.file == __file__
