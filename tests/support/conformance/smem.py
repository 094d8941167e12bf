"""Scalar memory instructions: a window of 128 bytes for each wave."""

from __future__ import annotations

import re

import numpy as np

from .assembly import SCALARS, Trial, check_lines, sgpr, tuple_of
from .device import Batch, Refused
from .forms import Form
from .memory import SCALAR_BASE, resource
from .outcome import Outcome
from .pcode.evaluate import Machine, constant
from .pcode.syntax import PcodeError
from .pcode.values import make
from .targets import Target, entries, operands
from .valu import narrow

DATA = 64  # s[64:79]
OFFSET = 16
WINDOW = 128


def smem_forms(target: Target) -> tuple[list[Form], dict[str, str]]:
    """As :func:`forms.vector_forms`."""
    known, candidates, without = operands(target.table), [], {}
    for entry in entries(target.table):
        if entry.family != "SMEM":
            continue
        fields = known.get(entry.key)
        if fields is None or "sdata" not in fields or "PREFETCH" in entry.name:
            without[entry.key] = "it has no data: caches, clocks, prefetches"
            continue
        buffer = "BUFFER" in entry.name
        base = tuple_of("s", SCALAR_BASE, 4) if buffer else tuple_of("s", sgpr("S0"), 2)
        words = fields["sdata"].words
        for kind, offset in (("immediate", f"{OFFSET:#x}"), ("register", f"s{sgpr('S1')}")):
            form = Form(
                entry, kind, f"{target.mnemonic(entry)} {tuple_of('s', DATA, words)}, {base}, {offset}", result=fields["sdata"]
            )
            if "ATOMIC" in entry.name:
                form.text += " glc"
            candidates.append(form)
    complaints = check_lines(target, [form.text for form in candidates])
    bare = check_lines(target, [form.mnemonic for form in candidates])
    good, refused = [], {}
    for form, complaint, existence in zip(candidates, complaints, bare):
        if complaint is None:
            good.append(form)
        elif existence in ("invalid instruction", "instruction not supported on this GPU"):
            refused[form.entry.key] = "the target does not have it"
        else:
            refused[form.entry.key] = f"the assembler refuses {form.text}: {complaint}"
    has = {form.entry.key for form in good}
    return good, {**without, **{k: why for k, why in refused.items() if k not in has}}


def trial_of(target: Target, form: Form) -> Trial:
    words = form.result.words
    before = [f"v_readfirstlane_b32 s{DATA + k}, v{16 + k}" for k in range(words)]
    if "BUFFER" in form.entry.name:
        before += resource(target, WINDOW)
    registers = [16 + k for k in range(words)]
    after = [f"v_mov_b32_e32 v{16 + k}, s{DATA + k}" for k in range(words)]
    if "STORE" in form.entry.name:
        after = ["s_dcache_wb", *after]
    return Trial(form.name, [form.text], registers, registers, before=before, after=after, sgprs=96)


def compare(batch: Batch, form: Form, waves: int, seed: int) -> Outcome:
    target, outcome = batch.target, Outcome(form.name)
    rng = np.random.default_rng([seed, *form.name.encode()])
    words = form.result.words
    memory = rng.integers(0, 256, (waves, WINDOW), np.uint8, endpoint=False)
    start = memory.copy()
    base = batch.buffer(memory)
    scalars = rng.integers(0, 1 << 32, (waves, 16), np.uint32, endpoint=False)
    addresses = (base + np.arange(waves) * WINDOW).astype(np.int64)
    scalars[:, SCALARS["S0"] : SCALARS["S0"] + 2] = addresses.view(np.uint32).reshape(-1, 2)
    unit = 8 if form.entry.name.endswith("_X2") else 4  # an atomic wants its alignment
    offsets = np.full(waves, OFFSET) if form.kind == "immediate" else rng.integers(0, 8, waves) * unit
    scalars[:, SCALARS["S1"]] = offsets
    if "SCRATCH" in form.entry.name and form.kind == "register":  # in units of 64 bytes: manual, Scalar Memory Addressing
        scalars[:, SCALARS["S1"]] = rng.integers(0, WINDOW // 64, waves)
        offsets = scalars[:, SCALARS["S1"]] * 64
    scalars[:, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFFFF
    scalars[:, SCALARS["MODE"]] = 0x3F0
    data = rng.integers(0, 1 << 32, (waves, words), np.uint32, endpoint=False)
    rows = np.repeat(data[:, :, None], target.lanes, axis=2)
    try:
        _, got_rows = batch.run(trial_of(target, form), scalars, rows)
        got_memory = np.frombuffer(batch.device.core.read(base, memory.nbytes), np.uint8).reshape(memory.shape)
    except Refused as error:
        outcome.reason = f"the device refuses: {error}"
        return outcome
    finally:
        batch.device.core.free(base)
    machine = Machine(waves, {}, memory=memory)
    v = machine.variables
    where = make("U", 32, offsets.astype(np.uint64))
    for name in re.findall(r"Calc\w+", form.entry.pseudocode):
        v[f"{name}()"] = lambda *_: where
    for name in ("SBASE", "SOFFSET", "OFFSET", "sgpr_base", "offset", "ADDR"):
        v[name] = where if name == "ADDR" else constant("U", 32, 0)
    whole = [sum(int(w) << 32 * k for k, w in enumerate(row)) for row in data]
    v["SDATA"] = v["DATA"] = v["RETURN_DATA"] = make("B", max(32 * words, 32), whole)
    try:
        machine.run(form.entry.pseudocode)
    except PcodeError as error:
        outcome.reason = f"cannot be evaluated: {error}"
        return outcome
    outcome.compared = waves
    result = machine.variables["RETURN_DATA" if "ATOMIC" in form.entry.name else "SDATA"]
    want = narrow(result, words, waves)
    wrong = (want[:, None, :] != got_rows.transpose(0, 2, 1)).any(axis=(1, 2)) | (memory != got_memory).any(axis=1)
    k = int(np.argmax(wrong))
    outcome.differ(
        int(wrong.sum()),
        lambda: (
            f"{form.text} at {offsets[k]} of {start[k].view(np.uint32)}: data {got_rows[k, :, 0]}, memory "
            f"{got_memory[k].view(np.uint32)}, the table says {want[k]}, {memory[k].view(np.uint32)}"
        ),
    )
    return outcome
