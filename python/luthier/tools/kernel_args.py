"""kernel_args: the arguments of each launch, decoded. Nothing is inserted."""

from __future__ import annotations

import struct
from typing import Any

import luthier as lt
from luthier.objects.parameters import Declared, declared, explicit
from luthier.reports.as_json import plain


class KernelArgs(lt.Tool):
    """``{"launches": [{"kernel", "grid", "block", "args": [...]}]}``: arrays as ``{"array": dtype, "shape", "bytes"}``, numbers as
    they are. ``most=N`` keeps the first N launches and counts the others under ``"more"``. In programs (``luthier trace``) arguments are
    read from where the launch has them: pointers as ``{"pointer": address}``, numbers by the types that DWARF or the metadata
    give, what has no such type as ``{"bytes": hex}``; ``"args"`` is null where the metadata tell of none."""

    #: The packet, and the memory that it points to, are there when :meth:`on_launch` is called.
    decides = True

    def __init__(self, most: int = 10_000) -> None:
        self.most = most
        self.launches: list[dict[str, Any]] = []
        self.more = 0
        #: Programs' kernels by the names that the source has.
        self.names: dict[str, str] = {}

    def on_launch(self, launch: lt.Launch) -> None:
        if len(self.launches) >= self.most:
            self.more += 1
            return
        args = [_told(value) for value in launch.args] if launch.args else None
        if self.app is not None and isinstance(kernarg := getattr(launch, "kernarg", None), int):
            args = self._read(launch, kernarg)
        grid, block = (list(getattr(launch, name)) for name in ("grid", "block"))
        if self.app is not None and (loaded := getattr(launch, "object", None)) is not None:
            self.names[launch.kernel] = loaded.demangled(launch.kernel)
        self.launches.append({"kernel": launch.kernel, "grid": grid, "block": block, "args": args})

    def _read(self, launch: Any, kernarg: int) -> list[Any] | None:
        """The arguments of a program's launch, out of its memory."""
        assert self.app is not None
        core = launch.object.code_object.core
        facts = core.kernel(launch.kernel)
        if facts is None or facts["args"] is None:
            return None
        wanted = explicit(launch.kernel, facts)
        types = declared(core, launch.kernel, wanted)
        size = max((arg["offset"] + arg["size"] for arg in wanted), default=0)
        data = self.app.read(kernarg, size) if size else b""
        return [_decoded(data[arg["offset"] :][: arg["size"]], arg, told) for arg, told in zip(wanted, types)]

    def on_exit(self, report: lt.Report) -> None:
        report.result = {"launches": self.launches, "more": self.more}
        rows = []
        for at in self.launches:
            args = "not known" if at["args"] is None else ", ".join(_text(value) for value in at["args"])
            rows.append(
                (
                    self.names.get(at["kernel"], at["kernel"]),
                    "x".join(map(str, at["grid"])),
                    "x".join(map(str, at["block"])),
                    args,
                )
            )
        report.table("kernel_args", rows, ("kernel", "grid", "workgroup", "arguments"))


def _told(value: Any) -> Any:
    if getattr(value, "shape", ()) or hasattr(value, "data_ptr"):
        return {"array": str(value.dtype), "shape": list(value.shape), "bytes": int(value.nbytes)}
    return {"bytes": bytes(value).hex()} if isinstance(value, (bytes, bytearray)) else plain(value)


def _decoded(data: bytes, arg: dict[str, Any], kind: Declared | None) -> Any:
    """An argument's bytes as what it is."""
    if "buffer" in arg["kind"] or arg["kind"] in ("pipe", "image", "sampler", "queue"):
        address = int.from_bytes(data, "little")
        return {"pointer": f"{address:#x}"} if address else None
    number = None if kind is None else kind.number
    if number is None or number.kind != "bool" and not number.dtype:
        return {"bytes": data.hex()}
    if number.kind == "float":
        return struct.unpack({2: "<e", 4: "<f", 8: "<d"}[len(data)], data)[0]
    return bool(data[0]) if number.kind == "bool" else int.from_bytes(data, "little", signed=number.kind == "signed")


def _text(value: Any) -> str:
    if isinstance(value, dict) and "pointer" in value:
        return str(value["pointer"])
    if isinstance(value, dict) and "array" in value:
        return f"{value['array']}[{'x'.join(map(str, value['shape']))}]"
    return "null" if value is None else str(value)
