"""Vector ALU instructions: what the table says of them, lane by lane, beside what the device does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import modes, modifiers, samples
from .assembly import SCALARS, Trial
from .device import Batch, Refused
from .forms import TRUTH_TABLE, Form
from .modes import Mode
from .outcome import Outcome
from .pcode import floats, syntax
from .pcode.evaluate import Machine, constant
from .pcode.syntax import PcodeError
from .pcode.values import FLOATS, Value, choose_eight_bits, make
from .readings import Reading, functions, reading
from .targets import Operand, Target, library


@dataclass
class Lanes:
    """One wave's or many waves' elements: lanes of all waves in one row after the other."""

    target: Target
    sources: dict[str, np.ndarray]  # (elements, words)
    old: np.ndarray  # the destination before
    vcc: np.ndarray  # lane masks, one for each element
    exec: np.ndarray
    mask: np.ndarray
    lane: np.ndarray


@dataclass
class Expected:
    result: np.ndarray  # (elements, words)
    bit: np.ndarray | None  # this lane's bit of the mask result
    exec_bit: np.ndarray | None
    any_nan: np.ndarray  # a NaN of this lane may have any payload
    sources: dict[str, np.ndarray]  # of instructions that write to them


def wide(words: np.ndarray) -> Value:
    """(elements, words) as one number each."""
    if words.shape[1] == 1:
        return make("B", 32, words[:, 0].astype(np.uint64))
    if words.shape[1] == 2:
        return make("B", 64, words[:, 0].astype(np.uint64) | words[:, 1].astype(np.uint64) << np.uint64(32))
    total = sum(words[:, k].astype(object) * (1 << 32 * k) for k in range(words.shape[1]))
    return make("B", 32 * words.shape[1], list(total))


def narrow(value: Value, words: int, count: int) -> np.ndarray:
    bits = np.broadcast_to(value.bits, count)
    columns = [
        (bits >> (32 * k if value.width > 64 else np.uint64(32 * k))) if 32 * k < value.width else bits * 0 for k in range(words)
    ]
    limit = 0xFFFFFFFF if value.width > 64 else np.uint64(0xFFFFFFFF)
    return np.stack([(c & limit).astype(np.uint32) for c in columns], axis=1)


def evaluate(target: Target, form: Form, lanes: Lanes, mode: Mode, how: Reading) -> Expected:
    """The table's word on all elements, after the modifiers' work on the sources."""
    count = len(lanes.lane)
    machine = Machine(
        count,
        {},
        round32=floats.NEAREST if how.nearest else mode.round32,
        round64=floats.NEAREST if how.nearest else mode.round64,
        library=library(target.table).get,
    )
    machine.flushes = how.flushes_between
    v = machine.variables
    if how.flushes_always:
        mode_of_flushing = Mode("", 0)
    else:
        mode_of_flushing = mode
    for name, operand, _, _ in form.sources:
        words = lanes.sources[name]
        operand = how.retyped.get(name, operand)
        if how.flushes and not (how.keeps_halves and "F16" in operand.format):
            words = modes.flush(mode_of_flushing, operand, words, result=False)
        v[name] = wide(words)
    v["S"] = [v.get(f"S{k}", constant("B", 32, 0)) for k in range(3)]
    old = lanes.old
    by_name = "VGPR[laneId][VDST.u32]" in form.entry.pseudocode  # it says itself which bits
    if how.accumulates and form.modifiers.get("op_sel", 0) & 8 and form.entry.family != "VOP3P" and not by_name:
        old = old >> 16
    if how.flushes and form.result and how.accumulates:
        old = modes.flush(mode_of_flushing, form.result, old, result=False)
    v["D0"] = make("U", 64, [0] * count) if form.mask_only else wide(old)
    v["D"] = v["D0"]
    v["D1"] = make("U", 64, [0] * count)
    carry = lanes.mask if form.mask_source else lanes.vcc
    v["VCC"] = make("U", 64, carry)
    v["EXEC"] = make("U", 64, lanes.exec)
    v["INST"] = {
        name: constant("U", 3, TRUTH_TABLE >> shift & mask)
        for name, shift, mask in (("OMOD", 6, 3), ("ABS", 3, 7), ("NEG", 0, 7))
    }
    v["SDWA_SRC0_SEL"] = constant("U", 3, 6)  # the modifiers have done that
    v |= {f"BYTE{k}": constant("U", 3, k) for k in range(4)} | {"WORD1": constant("U", 3, 5)}
    v["laneId"] = make("U", 32, lanes.lane)
    v["WAVE_MODE"] = {"IEEE": constant("U", 1, mode.ieee)}
    v["SIMM32"] = constant("B", 32, form.literal)
    v["SIMM16"] = constant("B", 16, form.literal & 0xFFFF)
    v["NEG"] = constant("U", 3, form.modifiers.get("neg", 0))
    v["OPSEL"] = constant("U", 4, form.modifiers.get("op_sel", 0))
    v["OPSEL_HI"] = constant("U", 3, form.modifiers.get("op_sel_hi", 0 if "MIX" in form.entry.name else 7))
    rounding = form.result is not None and form.result.format.endswith("F32")
    v["ROUND_MODE"] = constant("U", 32, mode.round32 if rounding else mode.round64)
    v.update({**how.variables, **functions(machine)})
    if "ROUND_MODE" not in form.entry.pseudocode:
        del v["ROUND_MODE"]
    machine.mask = lanes.exec >> lanes.lane & np.uint64(1) != 0
    if how.instead is None:
        machine.run(how.pseudocode(form.entry.pseudocode))
    else:
        how.instead(machine, form.entry)
    v = machine.variables  # a call of a function puts another dictionary in its place
    lane = lanes.lane.astype(np.uint64)
    bit = exec_bit = None
    if form.mask_only:
        bit = np.broadcast_to(v["D0"].bits, count) >> lane & np.uint64(1)
    elif form.mask:
        bit = np.broadcast_to(v["VCC"].bits, count) >> lane & np.uint64(1)
        if "DIV_SCALE" in form.entry.name:
            bit = np.broadcast_to(v["VCC"].bits, count) & np.uint64(1)
        elif "D1" in form.entry.pseudocode:
            bit = np.broadcast_to(v["D1"].bits, count) & np.uint64(1)
    if form.entry.name.startswith("V_CMPX"):
        exec_bit = np.broadcast_to(v["EXEC"].bits, count) >> lane & np.uint64(1)
    result = lanes.old
    if form.result is not None:
        source = "D" if "D." in form.entry.pseudocode.replace("D0.", "") and "\nD.b" in form.entry.pseudocode else "D0"
        result = narrow(v[source], form.result.words, count)
        if how.flushes and not how.keeps_results:
            to = how.retyped.get("D0", form.result)
            high = "MIXHI" in form.entry.name  # the half that is written is the upper one
            turned = (result << 16 | result >> 16) if high else result
            flushed = modes.flush(mode_of_flushing, to, turned, result=True)
            result = (flushed << 16 | flushed >> 16) if high else flushed
        upper = form.modifiers.get("op_sel", 0) & 8 and not by_name
        says = "OPSEL" in form.entry.pseudocode and target.major == 9  # the text itself, which half
        if form.result.bits == 16 and not says and (not how.keeps_high or "sdwa" in form.modifiers or upper):
            result = result & np.uint32(0xFFFF)
    after = {name: narrow(v[name], lanes.sources[name].shape[1], count) for name in lanes.sources} if how.writes_sources else {}
    return Expected(result, bit, exec_bit, machine.made_nan, after)


def trial_of(form: Form) -> Trial:
    loads = [r + k for _, operand, _, r in form.sources for k in range(operand.words)]
    stores: list[int] = []
    if form.result is not None:
        result = [form.result_vgpr + k for k in range(form.result.words)]
        loads += result
        stores += result
    if "SWAP" in form.entry.name:
        stores += [r for _, _, _, r in form.sources]
    return Trial(form.name, [form.text], loads, stores, vgprs=max(loads, default=8) + 8)


def compare(batch: Batch, form: Form, waves: int, seed: int, mode_list: tuple[Mode, ...]) -> Outcome:
    """Runs a form on ``waves`` waves of operands in each mode, and compares everything that it may have written."""
    target, outcome = batch.target, Outcome(form.name)
    choose_eight_bits(fnuz=target.processor == "gfx942")
    how = reading(target, form)
    if how.listed:
        outcome.reason = how.listed
        return outcome
    rng = np.random.default_rng([seed, *form.name.encode()])
    trial = trial_of(form)
    lanes = target.lanes
    if not is_float(form):
        mode_list = mode_list[:1]
    elif not waves:  # the default, and another
        mode_list = (mode_list[0], mode_list[int(rng.integers(1, len(mode_list)))])
    waves = max(waves, 1)
    operands = [operand for _, operand, _, _ in form.sources]
    if form.result is not None:
        operands = [*operands, form.result]
    count = waves * len(mode_list)
    per_mode = [samples.fill(rng, operands, waves * lanes) for _ in mode_list]
    rows = np.concatenate(
        [
            np.concatenate([words.reshape(waves, lanes, -1).transpose(0, 2, 1) for words in filled], axis=1)
            if filled
            else np.zeros((waves, 1, lanes), np.uint32)
            for filled in per_mode
        ]
    )
    scalars = rng.integers(0, 1 << 32, (count, 16), np.uint32, endpoint=False)
    full = rng.integers(0, 4, count) != 0
    scalars[:, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] |= np.where(full, 0xFFFFFFFF, 0).astype(np.uint32)[:, None]
    scalars[:, SCALARS["SCC"]] &= 1
    for k, mode in enumerate(mode_list):
        scalars[k * waves : (k + 1) * waves, SCALARS["MODE"]] = mode.bits
    try:
        got_scalars, got_rows = batch.run(trial, scalars, rows)
    except Refused as error:
        outcome.reason = f"the device refuses: {error}"
        return outcome
    for k, mode in enumerate(mode_list):
        here = slice(k * waves, (k + 1) * waves)
        try:
            judge(
                target,
                form,
                reading(target, form, mode),
                mode,
                per_mode[k],
                scalars[here],
                got_scalars[here],
                got_rows[here],
                outcome,
            )
        except PcodeError as error:
            outcome.reason = f"cannot be evaluated: {error}"
            return outcome
    return outcome


def is_float(form: Form) -> bool:
    return any(
        samples.element(o)[1] in ("F", "BF") for o in [x[1] for x in form.sources] + ([form.result] if form.result else [])
    ) or ("f32" in form.entry.pseudocode or "f16" in form.entry.pseudocode)


def pairs(words: np.ndarray, first: int) -> np.ndarray:
    return words[:, first].astype(np.uint64) | words[:, first + 1].astype(np.uint64) << np.uint64(32)


def judge(
    target: Target,
    form: Form,
    how: Reading,
    mode: Mode,
    filled: list[np.ndarray],
    scalars: np.ndarray,
    got_scalars: np.ndarray,
    got_rows: np.ndarray,
    outcome: Outcome,
) -> None:
    waves, width = len(scalars), target.lanes
    limit = np.uint64((1 << width) - 1 if width < 64 else 0xFFFFFFFFFFFFFFFF)

    def spread(name: str) -> np.ndarray:
        return np.repeat(pairs(scalars, SCALARS[name]) & limit, width)

    names = [name for name, _, _, _ in form.sources]
    lanes = Lanes(
        target,
        dict(zip(names, filled)),
        filled[-1] if form.result is not None else np.zeros((waves * width, 1), np.uint32),
        spread("VCC"),
        spread("EXEC"),
        spread("MASK"),
        np.tile(np.arange(width, dtype=np.uint64), waves),
    )
    changed, active = modifiers.prepare(form, lanes, how)
    expected = evaluate(target, form, changed, mode, how)
    outcome.compared += int(active.sum())

    def describe(index: int, what: str, want: object, got: object) -> str:
        inputs = ", ".join(f"{n}=" + "_".join(f"{int(w):08x}" for w in lanes.sources[n][index][::-1]) for n in names)
        old = "_".join(f"{int(w):08x}" for w in lanes.old[index][::-1])
        return f"{form.text} [{mode.name}] {inputs} old={old} vcc={int(lanes.vcc[index]) >> int(lanes.lane[index]) & 1}: {what} {got}, the table says {want}"

    if form.result is not None:
        words = form.result.words
        got = got_rows[:, :words].transpose(0, 2, 1).reshape(-1, words)
        want = modifiers.finish(target, form, mode, expected.result, lanes.old, how)
        want = np.where(active[:, None], want, lanes.old)
        if "sdwa" in form.modifiers and form.modifiers["sdwa"][0] != "DWORD":  # a part of a NaN is not to be told from other bits
            wrong = (want != got).any(axis=1) & ~expected.any_nan
        else:
            moved = modifiers.place(form)
            low = [(x << (32 - moved) | x >> moved) if moved else x for x in (want, got)]
            wrong = different(form.result, *low, expected.any_nan, how.ulps) & (want != got).any(axis=1)
            if how.error:
                wrong &= ~_near(form.result, *low, how.error)
        first = int(np.argmax(wrong))
        outcome.differ(
            int(wrong.sum()),
            lambda: describe(
                first,
                "device",
                "_".join(f"{int(w):08x}" for w in want[first][::-1]),
                "_".join(f"{int(w):08x}" for w in got[first][::-1]),
            ),
        )
    if expected.sources:
        name = names[0]
        got = got_rows[:, form.result.words :].transpose(0, 2, 1).reshape(waves * width, -1)
        want = np.where(active[:, None], expected.sources[name], lanes.sources[name])
        wrong = (want != got).any(axis=1)
        outcome.differ(int(wrong.sum()), lambda: describe(int(np.argmax(wrong)), "source", "another", "one"))

    def gathered(bits: np.ndarray) -> np.ndarray:
        shifted = np.where(active, bits.astype(np.uint64), np.uint64(0)) << lanes.lane
        return np.bitwise_or.reduce(shifted.reshape(waves, width), axis=1)

    want_vcc, want_exec = pairs(scalars, SCALARS["VCC"]) & limit, pairs(scalars, SCALARS["EXEC"]) & limit
    want_sdst = np.zeros(waves, np.uint64)
    if expected.bit is not None:
        if form.mask == "vcc":
            want_vcc = gathered(expected.bit)
        elif form.mask == "sdst":
            want_sdst = gathered(expected.bit)
    if expected.exec_bit is not None:
        want_exec = gathered(expected.exec_bit)
    checks = [("VCC", 2, want_vcc), ("EXEC", 4, want_exec), ("the mask result", 6, want_sdst)]
    for what, at, want in checks:
        got = pairs(got_scalars, at) & limit
        wrong = want != got
        if wrong.any():
            wave = int(np.argmax(wrong))
            lane = int(want[wave] ^ got[wave]).bit_length() - 1
            text = describe(wave * width + lane, f"{what} is", hex(want[wave]), hex(got[wave]))
            outcome.differ(int(wrong.sum()), lambda text=text: text)
    same = (got_scalars[:, 8] == scalars[:, SCALARS["SCC"]]) & (got_scalars[:, 9] == scalars[:, SCALARS["M0"]])
    outcome.differ(int((~same).sum()), lambda: f"{form.text}: SCC or M0 changed")


def _near(operand: Operand, want: np.ndarray, got: np.ndarray, error: float) -> np.ndarray:
    """Where two numbers, of which a register holds one, are so close."""
    kind = np.float32 if samples.element(operand)[2] == 32 else np.float16
    with np.errstate(invalid="ignore"):
        a, b = (np.ascontiguousarray(x).view(kind)[:, 0].astype(np.float64) for x in (want, got))
    with np.errstate(invalid="ignore"):
        return np.abs(a - b) <= (error if kind is np.float32 else 2.0**-11)


def different(operand: Operand, want: np.ndarray, got: np.ndarray, any_nan: np.ndarray, ulps: float) -> np.ndarray:
    """Where two results differ by more than they may: NaNs made by arithmetic have any payload, and transcendentals
    a bound in units of the last place."""
    pieces, kind, width = samples.element(operand)
    if kind not in ("F", "BF", "FP") or width not in (8, 16, 32, 64):
        return (want != got).any(axis=1)
    if width == 8:
        nan = np.array([FLOATS[kind, width].is_nan(code) for code in range(256)])
        a, b = (np.ascontiguousarray(x).view(np.uint8) for x in (want, got))
        alike = nan[a] & nan[b] & any_nan[:, None] & (np.arange(a.shape[1]) < pieces)
        return ((a != b) & ~alike).any(axis=1)
    size = f"u{width // 8}"
    f = FLOATS[kind, width]
    a, b = (np.ascontiguousarray(x).view(size).astype(np.uint64) for x in (want, got))
    magnitude = np.uint64(f.sign - 1)
    nan_a, nan_b = ((x & magnitude) > np.uint64(f.infinity) for x in (a, b))
    apart = a != b
    inside = np.zeros(a.shape[1], bool)
    inside[:pieces] = True
    apart &= ~(nan_a & nan_b & any_nan[:, None] & inside)
    if ulps:
        order = [
            np.where(x & np.uint64(f.sign) != 0, -(x & magnitude).view(np.int64), (x & magnitude).view(np.int64)) for x in (a, b)
        ]
        close = np.abs(order[0] - order[1]) <= ulps
        apart &= ~(close & ~nan_a & ~nan_b & inside)
    return apart.any(axis=1)


def unparsed(text: str) -> str | None:
    """Why a piece of pseudocode is not code, if it is not."""
    try:
        syntax.parse(text)
    except PcodeError as error:
        return str(error)
    return None
