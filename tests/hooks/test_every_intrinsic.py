"""Every intrinsic of AMDGPU that LLVM has, in a hook: placed, or refused in one line that names it; LLVM's crashes are its own.

``LUTHIER_INTRINSICS=1`` is the deep run: all of them on all processors; else it is a sample. With a file's name instead of
1, what became of each is written there.
"""

from __future__ import annotations

import os
from pathlib import Path

import compiled
import llvm_intrinsics as li
import pytest
from instrumented import TARGETS

import luthier as lt

DEEP = os.environ.get("LUTHIER_INTRINSICS")
FEW = [("gfx90a", ()), ("gfx1100", ()), ("gfx1250", ())]
#: LLVM 22 crashes on it for gfx1250.
CRASHES = "int_amdgcn_cvt_scalef32_pk_fp4_f32"
#: Choices of types that are compiled.
TRIES = 4
KERNEL = "KERNEL idle(u32 *out) { out[local_x()] = 1; }"


class Once(lt.Tool):
    """The hook of a module, once."""

    given = lt.DeviceArray(lt.u8, 8192)
    out = lt.DeviceArray(lt.u8, 8192)

    def __init__(self, library=None):
        self.library = library

    def on_kernel(self, kernel):
        kernel.insert_before(kernel.instructions[0], self.library["hook"], self.given, self.out)


def outcome(code: lt.CodeObject, name: str) -> str:
    """``placed``, or why not."""
    refused, tries = "no choice of types is valid", 0
    for text in li.functions(name):
        try:
            report = lt.instrument(code, [Once(lt.HookLibrary(text, "ir"))], on_rejected="report", check=True).instrumentation
        except lt.LoadError as error:
            refused = str(error)  # this choice of types
            continue
        except lt.HookError as error:
            refused = str(error)
            tries += 1
            if "LLVM" not in refused or tries == TRIES:
                return refused
            continue  # another choice may be one that the processor has
        if not report["rejected"]:
            return "placed"
        refused = report["rejected"][0]["reason"]
    return refused


@pytest.mark.parametrize("target", TARGETS if DEEP else FEW, ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
def test_each_is_placed_or_refused_by_name(target):
    code = lt.CodeObject.open(compiled.build(KERNEL, *target))
    chosen = li.names() if DEEP else li.names()[ord(target[0][-1]) % 7 :: 180]
    placed, unclear = 0, []
    for name in chosen:
        said = outcome(code, name)
        if DEEP and DEEP != "1":
            with Path(DEEP).open("a") as listed:
                listed.write(f"{target[0]}{''.join(target[1])}\t{li.spelled(name)}\t{said}\n")
        placed += said == "placed"
        assert "\n" not in said, (name, said)
        if (
            said != "placed"
            and li.spelled(name) not in said
            and not any(word in said for word in ("valid", "registers", "concerns", "hidden arguments"))
        ):
            unclear.append((name, said))
    print(
        f"{target[0]}{target[1]}: {len(chosen)} intrinsics, {placed} placed, {len(chosen) - placed} refused, {len(unclear)} unclear"
    )
    assert placed > 0
    assert not unclear, unclear[:20]


def test_a_crash_of_llvm_is_one_line_and_this_process_goes_on():
    code = lt.CodeObject.open(compiled.build(KERNEL, "gfx1250"))
    (text,) = li.functions(CRASHES)
    for _ in range(2):
        with pytest.raises(lt.HookError) as error:
            lt.instrument(code, [Once(lt.HookLibrary(text, "ir"))])
        assert str(error.value).endswith(
            "LLVM crashes on it: gfx1250 may not have one of the operations that it asks for: llvm.amdgcn.cvt.scalef32.pk.fp4.f32"
        )
    assert outcome(code, "int_amdgcn_sqrt") == "placed"
    code = lt.CodeObject.open(compiled.build(KERNEL, "gfx942"))
    assert li.spelled(CRASHES) in outcome(code, CRASHES)
