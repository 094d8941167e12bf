"""The debugger in weak memory: what it shows has arrived, registers have what was loaded once that was waited for, and where a
loaded value comes from is not followed.
"""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")
AGENT = "__HIP_MEMORY_SCOPE_AGENT"
#: Two workgroups that each load what the other one stores afterwards (load buffering).
SOURCE = f"""
KERNEL crossed(u32 *cells, u32 *out) {{
    u32 *own = cells + 64 * group_x(), *other = cells + 64 * (1 - group_x());
    if (local_x() != 0) return;
    __builtin_amdgcn_s_sleep(1);
    u32 loaded = __hip_atomic_load(own, __ATOMIC_RELAXED, {AGENT});
    __builtin_amdgcn_s_sleep(1);
    __hip_atomic_store(other, 7, __ATOMIC_RELAXED, {AGENT});
    out[group_x()] = loaded;
}}
"""
LAUNCH = {"blocks": 2, "block": 32}


@pytest.fixture(scope="module")
def modules():
    return compiled.modules(SOURCE)


def arrays() -> list[np.ndarray]:
    return [np.zeros(128, np.uint32), np.zeros(2, np.uint32)]


def crossed(module: lt.Module):
    """The outcome in which both have loaded what the other one has stored afterwards."""
    found = module.explore("crossed", args=arrays(), schedules=4000, weak=True, **LAUNCH)
    for outcome in found.outcomes:
        args = arrays()
        module.run("crossed", args=args, schedule=outcome.schedule, **LAUNCH)
        if args[1].tolist() == [7, 7]:
            return outcome
    raise AssertionError("within 4,000 schedules")


@pytest.mark.parametrize("target", TARGETS)
def test_a_late_load_is_told_with_the_store_that_was_done_before_it(modules, target):
    (late, *_) = [one for one in crossed(modules(target)).stale if one.why == "late"]
    assert "load" in late.load.text and "store" in late.store.text and late.load.pc < late.store.pc
    assert (late.load.workgroup, late.load.wave) == (late.store.workgroup, late.store.wave)
    assert "was done late, behind that store of its own wave" in str(late)


@pytest.mark.parametrize("target", TARGETS)
def test_why_has_the_value_that_was_waited_for_and_does_not_follow_it_into_memory(modules, target):
    outcome = crossed(modules(target))
    (late, *_) = [one for one in outcome.stale if one.why == "late"]
    with modules(target).debug("crossed", args=arrays(), schedule=outcome.schedule, **LAUNCH) as stage:
        (function,) = stage.lines.code_object.program.select("crossed")
        store = max(i.address for i in function.instructions if i.is_store)
        stage.break_at(store)
        stop = stage.resume()
        while stop.wave.id[0] != late.load.workgroup[0]:
            stop = stage.resume()
        instruction = stage.lines.instruction(store)
        data = next(o.register for o in instruction.operands if o.is_read and o.register is not None and "data" in o.name)
        origin = stage.why(str(data), wave=stop.wave, lane=0)
        assert (origin.pc, origin.value) == (late.load.pc, 7), origin
        (memory,) = origin.inputs
        assert memory.value is None and memory.note == "in weak memory: which store was seen is not followed"
        assert stage.event == stop.event and stage.last == stop


@pytest.mark.parametrize("target", TARGETS)
def test_a_register_is_shown_as_it_was_until_its_wave_has_waited(modules, target):
    outcome = crossed(modules(target))
    (late, *_) = [one for one in outcome.stale if one.why == "late"]
    with modules(target).debug("crossed", args=arrays(), schedule=outcome.schedule, **LAUNCH) as stage:
        instruction = stage.lines.instruction(late.load.pc)
        (name,) = [str(o.register) for o in instruction.operands if o.is_written and o.register is not None]
        loaded = lambda wave: int(wave.registers.vgprs[int(name[1:])][0])  # noqa: E731
        (function,) = stage.lines.code_object.program.select("crossed")
        last = max(i.address for i in function.instructions if i.is_store)
        stage.break_at(late.store.pc, f"group == {late.load.workgroup[0]}")
        assert loaded(stage.resume().wave) != 7
        stage.break_at(last, f"group == {late.load.workgroup[0]}")
        assert loaded(stage.resume().wave) == 7
        stage.reverse_resume()
        assert loaded(stage.last.wave) != 7, "the way back is the same"


@pytest.mark.parametrize("target", TARGETS)
def test_memory_is_shown_as_it_has_arrived(modules, target):
    with modules(target).debug("crossed", args=arrays(), schedule="weak:3:pct:0", **LAUNCH) as stage:
        (function,) = stage.lines.code_object.program.select("crossed")
        stage.break_at(min(i.address for i in function.instructions if i.is_store))
        group = stage.resume().wave.id[0]
        place = stage.arrays["arg0"].address + 4 * 64 * (1 - group)
        stage.step()
        written = stage.last_write(address=place)
        assert written is not None and written.wave.id[0] == group, "it was executed"
        assert stage.read(place, 4) == bytes(4), "it is under way"
        while stage.resume().why != "over":
            pass
        assert stage.read(place, 4) == (7).to_bytes(4, "little")
