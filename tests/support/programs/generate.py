"""Whole random programs: two halves of a kernel, what they call, and how they are launched."""

from __future__ import annotations

import random

from .expressions import Scope
from .functions import Maker, Structure, helper, transform
from .model import INTEGERS, U32, U64, Function, Program

BLOCKS = [32, 64, 64, 96, 128, 128, 192, 256, 48, 80, 100, 250, 20, 1]
#: Controls of DPP that every processor has: quads, row shifts and rotations, mirrors.
DPP = [0x1B, 0xB1, 0x4E, 0x00, 0x93, 0x101, 0x104, 0x10F, 0x111, 0x118, 0x121, 0x12C, 0x140, 0x141]
ITEM = [("it.item", U32), ("it.local", U32), ("it.group", U32), ("it.uniform", U64), ("it.uniform", U64)]


def program(seed: int, number: int) -> Program:
    rng = random.Random(f"program {seed} {number}")
    name = f"program_{seed}_{number}"
    common = Scope()
    texts: list[str] = []
    functions: list[Function | str] = []
    for k in range(rng.randrange(2)):
        t, length = rng.choice(INTEGERS), 1 << rng.randrange(2, 6)
        values = ", ".join(f"({t}){rng.getrandbits(64):#x}ul" for _ in range(length))
        texts.append(f"CONSTANT {t} table{k}_{name}[{length}] = {{{values}}};")
        common.arrays.append((f"table{k}_{name}", t, length))
    structures = [Structure(rng, f"S{k}_{name}") for k in range(rng.randrange(3))]
    texts += [structure.text for structure in structures]
    for k in range(rng.randrange(4)):
        made, callee = helper(rng, common, structures, f"f{k}_{name}")
        functions.append(made)
        if rng.random() < 0.4:
            others = [helper(rng, common, structures, f"f{k}{n}_{name}", like=callee) for n in range(rng.choice([1, 3]))]
            functions += [one for one, _ in others]
            callee.cost = max(callee.cost, *(one.cost for _, one in others))
            listed = ", ".join([made.name, *(one.name for one, _ in others)])
            kind = f"F{k}_{name}"
            functions.append(f"typedef {callee.returns} (*{kind})({', '.join(map(str, callee.parameters))});")
            functions.append(f"CONSTANT {kind} choice{k}_{name}[{len(others) + 1}] = {{{listed}}};")
            common.tables.append((f"choice{k}_{name}", len(others) + 1, callee))
        common.pure.append(callee)
    for k in range(rng.randrange(3)):
        made, callee = helper(rng, common, structures, f"g{k}_{name}", pointer=True)
        functions.append(made)
        common.effectful.append(callee)
    for structure in structures:
        if rng.random() < 0.5:
            made, types = transform(rng, common, structure, f"t_{structure.name}")
            functions.append(made)
            common.transforms.append((made.name, structure.name, types))
    functions += [_half(rng, common, structures, name, second) for second in (False, True)]
    block = rng.choice(BLOCKS)
    flip = rng.randrange(block) if block & (block - 1) == 0 else 0
    return Program(name, block, texts, functions, f"{rng.choice(DPP):#x}, {flip}, {_attribute(rng, block)}")


def _attribute(rng: random.Random, block: int) -> str:
    """What leaves the compiler few registers, or many."""
    size = f"amdgpu_flat_work_group_size(1, {block if rng.random() < 0.5 else 1024})"
    if rng.random() < 0.3:
        size += f" FEW({rng.choice([24, 32, 40, 64])})"
    return f"__attribute__(({size}))"


def _half(rng: random.Random, common: Scope, structures: list[Structure], name: str, second: bool) -> Function:
    own = Scope(
        values=ITEM + [(f"it.in[{k}]", U64) for k in range(8)],
        arrays=list(common.arrays),
        memory=[("it.row", 64), ("it.lds", 64)],
    )
    own.pure, own.effectful, own.tables, own.transforms = common.pure, common.effectful, common.tables, common.transforms
    maker = Maker(rng, own, structures, name)
    if second:
        state = [(f"s.s[{k}]", U64) for k in range(4)]
        own.values += state * 2
        maker.scalars += state
    maker.declare(rng.randrange(3, 8), rng.randrange(3), rng.randrange(2), rng.randrange(2), rng.randrange(3), rng.randrange(2))
    first_out = 8 if second else 0
    maker.returning = f"{{ it.out[{first_out}] = {maker.made.any(U64, 1)}; return; }}"
    body = maker.statements(rng.randrange(4, 11), 3)
    ending = ["u64 h[8] = {};"]
    for k, term in enumerate(maker.folded()):
        ending.append(f"h[{k % 8}] = h[{k % 8}] * 0x9e3779b1 + {term};")
    ending += [f"it.out[{first_out + k}] = h[{k}];" for k in range(8)]
    if second:
        ending += [f"it.out[{16 + k}] = it.lds[{k}];" for k in range(8)]
    else:
        ending += [f"s.s[{k}] = h[{k}] ^ h[{k + 4}] >> 7;" for k in range(4)]
    attribute = rng.choice(["INLINE", "FREE", "NOINLINE"])
    parameters = [("const Item &", "it"), ("State &", "s")]
    return Function(f"{name}_{'second' if second else 'first'}", "void", parameters, attribute, maker.variables, body, ending)


def programs(seed: int, count: int) -> list[Program]:
    return [program(seed, number) for number in range(count)]
