"""Scalar ALU instructions: one set of operands for each wave."""

from __future__ import annotations

import re

import numpy as np

from . import samples
from .assembly import RESULTS, SCALARS, Trial, check_lines, sgpr, tuple_of
from .device import Batch, Refused
from .faults import FAULTS
from .forms import Form
from .outcome import Outcome
from .pcode.evaluate import Machine, constant
from .pcode.syntax import PcodeError
from .pcode.values import make
from .readings import SCALAR_LISTED
from .targets import Operand, Target, entries, library, operands
from .valu import pairs

SCALAR = ("SOP1", "SOP2", "SOPC", "SOPK")
IMMEDIATES = (0, 1, 5, 0x7FFF, 0x8000, 0xFFFF, 0x1234)


def scalar_forms(target: Target) -> tuple[list[Form], dict[str, str]]:
    """As :func:`forms.vector_forms`."""
    known, candidates, without = operands(target.table), [], {}
    for entry in entries(target.table):
        if entry.family not in SCALAR:
            continue
        if entry.name in SCALAR_LISTED:
            without[entry.key] = SCALAR_LISTED[entry.name]
            continue
        fields = known.get(entry.key)
        if fields is None:
            without[entry.key] = "the machine-readable specification has no operands for it"
            continue
        for immediate in IMMEDIATES if entry.family == "SOPK" else (0,):
            form = Form(entry, f"{immediate:#x}" if entry.family == "SOPK" else "", "", literal=immediate)
            texts = []
            for field, name in (("sdst", "D0"), ("ssrc0", "S0"), ("ssrc1", "S1")):
                operand = fields.get(field)
                if operand is None:
                    continue
                if entry.family == "SOPK" and "CMPK" in entry.name:
                    name = "S0"
                texts.append(tuple_of("s", sgpr(name), operand.words))
                if name == "D0":
                    form.result = operand
                else:
                    form.sources.append((name, operand, "s", sgpr(name)))
            if entry.family == "SOPK":
                texts.append(f"{immediate:#x}")
            if "SIMM32" in entry.pseudocode:
                form.literal = 0x40490FDB
                texts.insert(2 if "MK_" in entry.name else 3, f"{form.literal:#x}")
            form.text = f"{target.mnemonic(entry)} {', '.join(texts)}"
            candidates.append(form)
    complaints = check_lines(target, [form.text for form in candidates])
    bare = check_lines(target, [form.mnemonic for form in candidates])
    good = []
    for form, complaint, existence in zip(candidates, complaints, bare):
        if complaint is None:
            good.append(form)
        elif existence in ("invalid instruction", "instruction not supported on this GPU"):
            without[form.entry.key] = "the target does not have it"
        else:
            without[form.entry.key] = f"the assembler refuses {form.text}: {complaint}"
    return good, without


def trial_of(form: Form) -> Trial:
    return Trial(form.name, [form.text])


def compare(batch: Batch, form: Form, waves: int, seed: int) -> Outcome:
    """Runs a form on as many sets of operands as there are waves."""
    target, outcome = batch.target, Outcome(form.name)
    rng = np.random.default_rng([seed, *form.name.encode()])
    needed = [operand for _, operand, _, _ in form.sources] or [Operand("NUM_B32", 32, "SSRC")]
    filled = samples.fill(rng, needed, waves)
    scalars = rng.integers(0, 1 << 32, (waves, 16), np.uint32, endpoint=False)
    for (name, operand, _, _), words in zip(form.sources, filled):
        scalars[:, SCALARS[name] : SCALARS[name] + operand.words] = words
    for name in ("EXEC", "VCC", "D0"):
        edge = rng.integers(0, 4, waves)
        at = slice(SCALARS[name], SCALARS[name] + 2)
        scalars[edge == 0, at] = 0
        scalars[edge == 1, at] = 0xFFFFFFFF
    scalars[:, SCALARS["SCC"]] &= 1
    moves = "MOVREL" in form.entry.name
    if moves:  # the registers that M0 leads to are those of the record
        scalars[:, SCALARS["M0"]] &= 1 if form.entry.name.endswith("32") else 0
    scalars[:, SCALARS["MODE"]] = 0x3F0
    try:
        got, _ = batch.run(trial_of(form), scalars, np.zeros((waves, 1, target.lanes), np.uint32))
    except Refused as error:
        outcome.reason = f"the device refuses: {error}"
        return outcome
    outcome.compared = waves
    limit = np.uint64((1 << target.lanes) - 1)
    before = {name: pairs(scalars, SCALARS[name]) for name in ("S0", "S1", "D0", "VCC", "EXEC")}
    machine = Machine(waves, {}, library=library(target.table).get)
    v = machine.variables
    v.update({name: make("B", 64, bits) for name, bits in before.items()})
    v["VCC"], v["EXEC"] = make("U", 64, before["VCC"] & limit), make("U", 64, before["EXEC"] & limit)
    v["SCC"] = make("U", 1, scalars[:, SCALARS["SCC"]].astype(np.uint64))
    v["M0"] = make("B", 32, scalars[:, SCALARS["M0"]].astype(np.uint64))
    for name, operand, _, _ in form.sources:
        v[name] = make("B", 64 if operand.bits == 64 else 32, v[name].bits)
    if form.result is not None:
        v["D0"] = make("B", 64 if form.result.bits == 64 else 32, v["D0"].bits)
    if moves:
        v["SRC0"], v["DST"] = constant("U", 32, sgpr("S0")), constant("U", 32, sgpr("D0"))
        machine.arrays["SGPR"] = np.concatenate([np.zeros((waves, 16), np.uint32), scalars], axis=1)
    immediate = constant("B", 16, form.literal & 0xFFFF)
    v["SIMM32"] = constant("B", 32, form.literal)
    if "ROUND_MODE" in form.entry.pseudocode:
        v["ROUND_MODE"] = constant("U", 32, 0)
    if form.entry.family == "SOPK":
        v["S1" if "CMPK" in form.entry.name else "S0"] = immediate
        v["SIMM16"] = immediate
    # Of a scalar as of a vector: what is wrong with V_RNDNE is with S_RNDNE.
    name = f"V_{form.entry.name[2:]}"
    fault = next((f for f in FAULTS if re.fullmatch(f.names, name) and f.since <= batch.target.major), None)
    try:
        if fault and fault.instead:
            fault.instead(machine, form.entry)
        else:
            machine.run(form.entry.pseudocode)
    except PcodeError as error:
        outcome.reason = f"cannot be evaluated: {error}"
        return outcome
    v = machine.variables
    want = {name: np.broadcast_to(v[name].bits, waves) for name in ("EXEC", "VCC", "SCC", "M0")}
    want |= {name: want[name].astype(np.uint64) & limit for name in ("EXEC", "VCC")}
    want["D0"] = before["D0"]
    if form.result is not None:
        bits = np.broadcast_to(v["D0"].bits, waves)
        high = before["D0"] & np.uint64(0xFFFFFFFF00000000)
        want["D0"] = bits if form.result.bits == 64 else bits & np.uint64(0xFFFFFFFF) | high
    if re.search("MOVRELS?D", form.entry.name):
        want["D0"] = pairs(machine.arrays["SGPR"], sgpr("D0"))
    found = {name: pairs(got, RESULTS[name]) for name in ("D0", "VCC", "EXEC")}
    found |= {name: got[:, RESULTS[name]].astype(np.uint64) for name in ("SCC", "M0")}
    found["VCC"], found["EXEC"] = found["VCC"] & limit, found["EXEC"] & limit
    for name in want:
        wrong = want[name].astype(np.uint64) != found[name]
        k = int(np.argmax(wrong))
        inputs = ", ".join(f"{n}={int(x[k]):x}" for n, x in before.items())
        outcome.differ(
            int(wrong.sum()),
            lambda name=name, k=k, inputs=inputs: (
                f"{form.text} {inputs} scc={scalars[k, SCALARS['SCC']]}: {name} is {int(found[name][k]):x}, "
                f"the table says {int(want[name][k]):x}"
            ),
        )
    return outcome


def base(name: str) -> str:
    return re.sub(r" .*", "", name)
