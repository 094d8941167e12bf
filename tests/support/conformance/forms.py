"""How the entries of a table are written in assembly: one form for each encoding that a target has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .assembly import FIRST_VGPR, MASK_RESULT, MASK_SOURCE, check_lines, tuple_of
from .modifiers import dpp_variants, half_variants, sdwa_variants, variants
from .targets import Entry, Operand, Target, entries, operands

VECTOR = ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P")
#: Names that LLVM has for what the table calls otherwise.
RENAMED = {
    "v_mad_mix_f32": "v_fma_mix_f32",
    "v_mad_mixlo_f16": "v_fma_mixlo_f16",
    "v_mad_mixhi_f16": "v_fma_mixhi_f16",
}


#: Of three sources, for v_bitop3: no symmetry hides a mistake.
TRUTH_TABLE = 0x1D


@dataclass
class Form:
    """An instruction with its operands in registers."""

    entry: Entry
    #: e32, e64, sdwa, dpp, and what else distinguishes it.
    kind: str
    text: str
    #: What the pseudocode calls S0, S1, S2, and where it is: ``v`` with its first register, or ``mask``.
    sources: list[tuple[str, Operand, str, int]] = field(default_factory=list)
    result: Operand | None = None
    result_vgpr: int = 0
    #: Where a lane mask goes: ``vcc``, ``sdst``; and whether there is nothing else.
    mask: str = ""
    mask_only: bool = False
    #: The carry in comes from the mask operand instead of VCC.
    mask_source: bool = False
    literal: int = 0
    modifiers: dict = field(default_factory=dict)

    @property
    def literal_in_text(self) -> bool:
        return "SIMM" in self.entry.pseudocode

    @property
    def mnemonic(self) -> str:
        return self.text.split()[0]

    @property
    def name(self) -> str:
        return f"{self.entry.key} {self.kind}"


def mnemonic(entry: Entry, target: Target) -> str:
    name = target.mnemonic(entry)
    return RENAMED.get(name, name)


def vector_form(target: Target, entry: Entry, kind: str, fields: dict[str, Operand], literal: int = 0x40490FDB) -> Form:
    """The plain form: every vector operand in VGPRs of its own."""
    form = Form(entry, kind, "", literal=literal & 0xFFFF if entry.name.endswith("F16") else literal)
    literal = form.literal
    if "vsrc0" in fields:  # as the RDNA 4 specification calls it
        fields = {**fields, "src0": fields["vsrc0"]}
    register = FIRST_VGPR
    texts = []
    for index, name in enumerate(("src0", "src1", "src2") if "src1" in fields else ("src0", "vsrc1")):
        operand = fields.get(name)
        if operand is None:
            continue
        if operand.type == "SREG":
            form.mask_source = True
            texts.append(tuple_of("s", MASK_SOURCE, target.mask_words))
            continue
        form.sources.append((f"S{index}", operand, "v", register))
        texts.append(tuple_of("v", register, operand.words))
        register += (operand.words + 1) // 2 * 2
    form.result = fields.get("vdst")
    form.result_vgpr = register
    to_mask = tuple_of("s", MASK_RESULT, target.mask_words)
    vcc = f"vcc{target.mask}"
    family = entry.family
    compare = family == "VOPC" or (form.result is not None and form.result.type == "SREG")
    exec_only = target.major >= 10 and entry.name.startswith("V_CMPX")
    if compare:
        form.result = None
        form.mask_only = True
        form.mask = "" if exec_only else "vcc" if kind != "e64" and not form.modifiers.get("sdwa_sdst") else "sdst"
        texts = ([] if exec_only else [vcc if form.mask == "vcc" else to_mask]) + texts
    else:
        texts = [tuple_of("v", register, form.result.words if form.result else 1)] + texts
        text = entry.pseudocode
        if family == "VOP3SD" or ("sdst" in fields):
            form.mask = "sdst"
            texts.insert(1, to_mask)
        elif family == "VOP2" and "VCC.u64[laneId] =" in text:
            form.mask = "vcc"
            texts.insert(1, vcc)
        if family == "VOP2" and "VCC.u64[laneId]" in text.replace("VCC.u64[laneId] =", ""):
            texts.append(vcc)
        if "SIMM32" in text or "SIMM16.f16" in text:
            texts.insert(2 if "MK_" in entry.name else 3, f"{literal:#x}")
    if entry.name in ("V_MOV_B16", "V_SWAP_B16"):  # LLVM's assembler wants to hear which halves
        texts = [f"{text}.l" for text in texts]
    suffix = {"VOP3P": ""}.get(family, f"_{kind.split()[0]}")
    form.text = f"{mnemonic(entry, target)}{suffix} {', '.join(texts)}"
    if "TTBL" in entry.pseudocode:
        form.text += f" bitop3:{TRUTH_TABLE:#x}"
    return form


def vector_forms(target: Target, with_modifiers: bool = True) -> tuple[list[Form], dict[str, str]]:
    """Every vector entry of the target's table in every encoding that the assembler accepts; and of the rest, by key,
    what it said about the last of them."""
    known = operands(target.table)
    candidates: list[Form] = []
    without: dict[str, str] = {}
    seen = set()
    for entry in entries(target.table):
        if entry.family not in VECTOR:
            continue
        fields = known.get(entry.key)
        if entry.name.startswith("V_S_"):
            without[entry.key] = "V_EXP and its kin on a scalar: the device runs those, which are compared"
            continue
        if fields is None:
            without[entry.key] = "the machine-readable specification has no operands for it"
            continue
        kinds: Iterable[str]
        if entry.family in ("VOP1", "VOP2", "VOPC"):
            kinds = ("e32", "e64")
        elif entry.family == "VOP3P":
            kinds = ("vop3p",)
        else:
            kinds = ("e64",)
        for kind in kinds:
            shape = fields
            if kind == "e64" and entry.family in ("VOP1", "VOP2", "VOPC"):
                other = next((k for k in (f"VOP3SD.{entry.name}", f"VOP3.{entry.name}") if k in known), None)
                if other is None:
                    continue
                shape = known[other]
            if (entry.name, kind) in seen:
                continue
            seen.add((entry.name, kind))
            form = vector_form(target, entry, kind, shape)
            candidates.append(form)
            if with_modifiers:
                candidates += variants(target, form)
                if kind == "e32" and target.major >= 11:
                    candidates += half_variants(form)
                if kind == "e32" and not form.literal_in_text:
                    candidates += sdwa_variants(target, form) if target.major < 11 else []
                    candidates += [] if form.mask else dpp_variants(target, form)
                if kind == "e64" and target.major >= 11 and not form.mask:
                    candidates += dpp_variants(target, form)
    complaints = check_lines(target, [form.text for form in candidates])
    bare = check_lines(target, [form.mnemonic for form in candidates])
    good, good_names, bad = [], set(), {}
    for form, complaint, existence in zip(candidates, complaints, bare):
        if complaint is None:
            good.append(form)
            good_names.add(form.entry.name)
        elif not form.modifiers and existence not in ("invalid instruction", "instruction not supported on this GPU"):
            bad[form.entry.key] = f"the assembler refuses {form.text}: {complaint}"
    for entry in entries(target.table):
        if entry.family in VECTOR and entry.name not in good_names:
            without.setdefault(entry.key, bad.get(entry.key, "the target does not have it"))
    return good, {**without, **{k: v for k, v in bad.items() if k.split(".")[1] not in good_names}}
