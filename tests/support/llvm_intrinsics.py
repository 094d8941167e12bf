"""Every intrinsic of AMDGPU that LLVM has, each in a function of its own, by LLVM's own tables (llvm-tblgen)."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from typing import Any

TBLGEN, INCLUDE = "/usr/lib/llvm-22/bin/llvm-tblgen", "/usr/lib/llvm-22/include"
#: What stands for a type that the caller chooses, in the order of trying.
INTS, FLOATS = ("i32", "i64", "i16", "v8i32"), ("f32", "f16", "f64", "v8f32", "v8f16", "v2f16", "v4f32", "bf16")
ANY = ("i32", "f32", "v4f32", "v2f16", "v2i32", "v8f16", "v8f32", "v8i32", "v16f16", "v16bf16", "v8bf16", "i64")
_VECTOR = re.compile(r"v(\d+)(\w+)")
_SCALARS = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}


@cache
def table() -> dict[str, Any]:
    """LLVM's records."""
    command = [TBLGEN, "--dump-json", "-I", INCLUDE, f"{INCLUDE}/llvm/IR/Intrinsics.td"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


@cache
def names() -> tuple[str, ...]:
    """The records of AMDGPU's intrinsics."""
    return tuple(sorted(name for name in table()["!instanceof"]["Intrinsic"] if name.startswith("int_amdgcn_")))


def spelled(name: str) -> str:
    """As IR has it, without the types."""
    return table()[name]["LLVMName"] or "llvm." + name.removeprefix("int_").replace("_", ".")


def llvm(kind: str) -> str:
    """A type's name in IR."""
    vector = _VECTOR.fullmatch(kind)
    if vector:
        return f"<{vector[1]} x {llvm(vector[2])}>"
    return _SCALARS.get(kind, kind)


def functions(name: str) -> Iterator[str]:
    """Modules with a hook that calls the intrinsic, for one choice of its types after the other: not all of them are valid."""
    record = table()[name]
    tried = set()
    for choice in range(len(ANY)):
        text = _function(name, record, choice)
        if text is not None and text not in tried:
            tried.add(text)
            yield text


def _function(name: str, record: dict[str, Any], choice: int) -> str | None:
    all_types, chosen, suffix = [], [], ""
    is_image = name.startswith("int_amdgcn_image_")
    described = iter(("<8 x i32>", "<4 x i32>")) if is_image else iter(())
    for n, one in enumerate((*record["RetTypes"], *record["ParamTypes"])):
        kind = _type(one["def"], chosen, choice)
        if is_image and one["def"] == "llvm_any_ty":
            # An image and its sampler have one type each; what is loaded is tried as floats first.
            loaded = "<4 x float>" if "_gather4_" in name or "_msaa_" in name else "float"
            kind = next(described, kind) if n >= len(record["RetTypes"]) else loaded if choice == 0 else kind
        if kind is None:
            return None
        if table()[one["def"]].get("isAny"):
            chosen.append(kind)
            suffix += "." + _mangled(kind)
        all_types.append(kind)
    results, params = all_types[: len(record["RetTypes"])], all_types[len(record["RetTypes"]) :]
    if "metadata" in params or "vararg" in all_types:
        return None
    returns = "void" if not results else results[0] if len(results) == 1 else f"{{ {', '.join(results)} }}"
    fixed, body, args = _immediates(record), "", []
    if is_image and "_atomic_" not in name and fixed:
        # The channels that are accessed: of none LLVM makes no instruction, on any processor.
        fixed[min(fixed)] = 1
    # The offset that all lanes share is the last of a buffer's: LLVM takes none from a vector register.
    shared = max((n for n in range(len(params)) if n not in fixed), default=-1) if "buffer_" in name else -1
    for n, kind in enumerate(params):
        if n in fixed or n == shared and kind == "i32":
            args.append(f"{kind} {'false' if kind == 'i1' else fixed.get(n, 0)}")
            continue
        place = f"%p{n} = getelementptr i8, ptr addrspace(1) %in, i64 {256 * n}"
        body += f"  {place}\n  %a{n} = load {kind}, ptr addrspace(1) %p{n}, align 4\n"
        args.append(f"{kind} %a{n}")
    call = f"call {returns} @{spelled(name)}{suffix}({', '.join(args)})"
    body += f"  {call}\n" if not results else f"  %r = {call}\n  store {returns} %r, ptr addrspace(1) %out, align 4\n"
    declare = f"declare {returns} @{spelled(name)}{suffix}({', '.join(params)})"
    return f"define void @hook(ptr addrspace(1) %in, ptr addrspace(1) %out) {{\n{body}  ret void\n}}\n{declare}\n"


def _type(of: str, chosen: list[str], choice: int) -> str | None:
    record = table()[of]
    supers = record["!superclasses"]
    if "LLVMMatchType" in supers:
        number = record["Number"]
        kind = chosen[number] if number < len(chosen) else None
        if kind is None or "LLVMVectorElementType" in supers or "LLVMScalarOrSameVectorWidth" in supers:
            return None
        return kind
    if "LLVMQualPointerType" in supers or of.endswith("ptr_ty") and not record.get("isAny"):
        return f"ptr addrspace({record['Sig'][1] if len(record['Sig']) > 1 else 0})"
    if record.get("isAny"):
        if of == "llvm_anyptr_ty":
            return f"ptr addrspace({(1, 3, 0, 4, 8, 7, 5)[choice % 7]})"
        pool = {
            "llvm_anyint_ty": INTS,
            "llvm_anyfloat_ty": FLOATS,
            "llvm_anyvector_ty": ("v4f32", "v8f16", "v2i32", "v4i32"),
        }.get(of, ANY)
        return llvm(pool[(choice + len(chosen) * (choice // len(pool))) % len(pool)])
    value = (record.get("VT") or {}).get("def", "")
    if value == "MetadataVT":
        return "metadata"
    if value == "isVoid" or not value:
        return "vararg" if "vararg" in of else None
    return llvm(value.lower()) if value != "OtherVT" else None


def _mangled(kind: str) -> str:
    pointer = re.fullmatch(r"ptr addrspace\((\d+)\)", kind)
    if pointer:
        return f"p{pointer[1]}"
    vector = re.fullmatch(r"<(\d+) x (\w+)>", kind)
    back = {to: of for of, to in _SCALARS.items()}
    return f"v{vector[1]}{back.get(vector[2], vector[2])}" if vector else back.get(kind, kind)


def _immediates(record: dict[str, Any]) -> dict[int, int]:
    """Arguments that have to be constants, and a number that is in their range."""
    found: dict[int, int] = {}
    for one in record["IntrProperties"]:
        one = table()[one["def"]]
        number = one.get("ArgNo")
        if "ImmArg" in one["!superclasses"]:
            found.setdefault(number, 0)
        elif "Range" in one["!superclasses"] and one.get("Lower", 0) > 0:
            found[number] = one["Lower"]
    # Of the results, and of arguments from 1 on.
    return {number - 1: value for number, value in found.items() if number > 0}
