"""Random hooks on the mock device and in the model, compared bit for bit."""

from __future__ import annotations

import importlib.util
import random
import tempfile
from pathlib import Path
from typing import Any

import compiled
import numpy as np

import luthier as lt

from .generate import Generated, generate
from .kinds import kind_of
from .model import Wave

#: The hook stands where EXEC is what the launch says, and the kernel goes on behind it.
KERNEL = """
KERNEL masked(u64 mask, u32 *out) {
    if (__builtin_amdgcn_wavefrontsize() == 64)
        asm volatile("s_mov_b64 s[20:21], exec\\n s_mov_b64 exec, %0\\n s_nop 7\\n s_mov_b64 exec, s[20:21]" ::"s"(mask) : "s20", "s21");
    else
        asm volatile("s_mov_b32 s20, exec_lo\\n s_mov_b32 exec_lo, %0\\n s_nop 7\\n s_mov_b32 exec_lo, s20" ::"s"((u32)mask) : "s20");
    out[local_x()] = 3 * local_x();
}
"""


#: A hook that does nothing for the wave runs without lanes as it is: what its loads would have given decides, undefined,
#: which way the wave goes to do nothing.
WITHOUT_LANES = [kind for kind in lt.finding_kinds() if kind != "undefined-register"]
#: What strict mode says of LLVM's code without a wrong result, by generation. RDNA1 and 2: conversions to f16 with SDWA are
#: taken to read the register that they replace. RDNA3: an instruction reads one half of a register whose other half a
#: transcendental one has just written; LLVM does not wait for that.
NOT_WRONG = {"gfx10": "undefined-register: ", "gfx11": "hazard: transcendental-use: "}


def masks(seed: int, lanes: int, needs_lanes: bool) -> list[int]:
    """All lanes, some, one, and none."""
    rng = random.Random(f"masks {seed}")
    some = rng.getrandbits(lanes) & rng.choice([rng.getrandbits(lanes), -1])
    chosen = [(1 << lanes) - 1, some, 1 << rng.randrange(lanes)]
    return [mask for mask in chosen if mask] + [0] * (not needs_lanes)


def check(seed: int, target: str, flags: tuple[str, ...] = ()) -> int:
    """Compares the hook of a seed; gives the number of elements compared, or an AssertionError that shows the hook."""
    made = generate(seed, target.startswith(("gfx9", "gfx101")))
    code = lt.CodeObject.open(compiled.build(KERNEL, target, (*flags, "-g")))
    lanes, elements = code.program.wavefront_size, 0
    hook = _compiled(made.source)
    for mask in masks(seed, lanes, made.needs_lanes):
        title = f"hook {seed} on {target} in waves of {lanes}, EXEC {mask:#x}"
        tool = _tool(hook, made)
        try:
            module = lt.Device(target).load(code, tools=[tool], on_rejected="raise", bodies=("in-place", "called")[seed % 2])
            out = np.zeros(lanes, np.uint32)
            strict = lt.finding_kinds() if mask else WITHOUT_LANES
            result = module.run("masked", grid=lanes, block=lanes, args=[np.uint64(mask), out], strict=strict)
        except lt.LuthierError as error:
            raise AssertionError(f"{title}: {error}\n{made.source}") from error
        want = Wave(made.source, made.arrays, lanes, mask, made.states, made.times)
        not_wrong = NOT_WRONG.get(target[:5], "none")
        wrong = [f"finding: {one}" for one in result.findings if not str(one).startswith(not_wrong)]
        if not np.array_equal(out, 3 * np.arange(lanes)):
            wrong.append(f"the kernel's own output: {out}")
        for name, expected in want.arrays.items():
            got = getattr(tool, name).read()
            elements += got.size
            wrong += [f"{name}[{i}]: expected {expected[i]!r}, came {got[i]!r}" for i in differences(got, expected)]
        if made.records and tool.came != want.records:
            wrong.append(f"records: expected {want.records[:8]}, came {tool.came[:8]}")
        if made.counts and int(tool.count) != want.count:
            wrong.append(f"count: expected {want.count}, came {int(tool.count)}")
        assert not wrong, "\n".join([title, *wrong[:8], *_inputs(made), made.source])
    return elements


def differences(got: np.ndarray, expected: np.ndarray) -> list[int]:
    """Where two arrays differ in a bit; one NaN is as good as another."""
    same = got.view(np.uint8).reshape(got.size, -1) == expected.view(np.uint8).reshape(got.size, -1)
    equal = same.all(axis=1)
    if got.dtype.kind == "f":
        equal |= np.isnan(got) & np.isnan(expected)
    return np.flatnonzero(~equal).tolist()


def _inputs(made: Generated) -> list[str]:
    return [f"{name} = {array.tolist()}" for name, array in made.arrays.items() if name.startswith(("in_", "t_"))]


def _compiled(source: str) -> lt.Hook:
    """The hook, read while there is a file of it."""
    with tempfile.TemporaryDirectory(prefix="luthier-hooks-") as folder:
        path = Path(folder) / "random_hook.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location("random_hook", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            module.hook.check()
        except lt.HookError as error:
            raise AssertionError(f"the generator writes what the language refuses: {error}\n{source}") from error
        return module.hook


def _tool(hook: lt.Hook, made: Generated) -> Any:
    def on_kernel(self: lt.Tool, kernel: lt.Kernel) -> None:
        (place,) = (one for one in kernel.instructions if one.text == "s_nop 7")
        names = [*made.arrays, *made.states, *["lds"] * made.lds, *["records"] * made.records, *["count"] * made.counts]
        for _ in range(made.times):
            kernel.insert_before(place, hook, *(getattr(self, name) for name in names))

    def on_records(self: lt.Tool, channel: lt.Channel, records: np.ndarray) -> None:
        self.came += [(int(a), int(b)) for a, b in zip(records["a"], records["b"])]  # type: ignore[attr-defined]

    states = {
        name: (lt.WaveState if name == "wave_state" else lt.LaneState)(getattr(lt, kind)) for name, kind in made.states.items()
    }
    more: dict[str, Any] = {"lds": lt.shared(lt.u32, 128)} if made.lds else {}
    if made.records:
        more |= {"records": lt.Channel(1 << 12, a=lt.u32, b=lt.i64), "on_records": on_records, "came": []}
    variables = {name: lt.DeviceArray(getattr(lt, kind_of(a)), a.size, init=a) for name, a in made.arrays.items()}
    return type("RandomHook", (lt.Tool,), {**variables, **states, **more, "count": lt.Counter(), "on_kernel": on_kernel})()
