"""What Triton calls to launch a kernel: from bound arguments to the mock device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.runtime import _allocation

from .descriptors import descriptor
from .gpu import Bound, Function, current
from .packing import Packer, places_of


def _is_descriptor(kind: Any) -> bool:
    return isinstance(kind, str) and kind.startswith("tensordesc")


class Launcher:
    """The launcher of one compiled kernel. Triton makes it from what was compiled, and calls it for each launch."""

    def __init__(self, src: Any, metadata: Any):
        signature = src.signature
        self._kinds: list[Any] = list(signature.values())
        self._names = [str(name) for name in signature]
        if hasattr(src, "fn"):
            names = src.fn.arg_names
            self._names = [names[key] if isinstance(key, int) and key < len(names) else str(key) for key in signature]
        #: Of each descriptor, if the hardware takes them; else they are passed as a pointer and numbers.
        self._blocks: list[dict[str, Any]] = list(getattr(metadata, "tensordesc_meta", None) or ())
        self._flat = [i for i, kind in enumerate(self._kinds) if kind != "constexpr"]
        self._is_flat = all(isinstance(self._kinds[i], str) and not _is_descriptor(self._kinds[i]) for i in self._flat)
        self._flat_kinds = [self._kinds[i] for i in self._flat] if self._is_flat else []
        self._flat_names = [self._names[i] for i in self._flat]
        self._cooperative = bool(metadata.launch_cooperative_grid)
        self._warp_size: int = metadata.warp_size
        self._scratch = getattr(metadata, "global_scratch_size", 0), getattr(metadata, "global_scratch_align", 1)
        self._profile = getattr(metadata, "profile_scratch_size", 0), getattr(metadata, "profile_scratch_align", 1)
        self._packers: dict[int, Packer] = {}

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: Any,
        handle: int,
        packed_metadata: Sequence[int],
        launch_metadata: Any,
        enter: Any,
        leave: Any,
        *args: Any,
    ) -> None:
        """Runs the kernel; ``x``, ``y``, ``z`` are programs, each of a whole cluster."""
        if enter is not None:
            enter(launch_metadata)
        if x * y * z:
            self._launch((x, y, z), stream, handle, packed_metadata, args)
        if leave is not None:
            leave(launch_metadata)

    def _launch(
        self, programs: tuple[int, int, int], stream: Any, handle: int, packed_metadata: Sequence[int], args: Sequence[Any]
    ) -> None:
        gpu = current()
        function = gpu.function(handle)
        waves, workgroups, lds = packed_metadata[:3]
        if self._is_flat:
            kinds, names, values = self._flat_kinds, self._flat_names, [args[i] for i in self._flat]
        else:
            kinds, names, values = [], [], []
            blocks = iter(self._blocks)
            for name, kind, value in zip(self._names, self._kinds, args):
                self._flatten(name, kind, value, waves, blocks, (kinds, names, values))
        count = programs[0] * programs[1] * programs[2]
        given = list(values)
        scratch = profile = None
        if self._scratch[0]:
            scratch = _scratch(_allocation._allocator, *self._scratch, count, stream)
        if self._profile[0]:
            profile = _scratch(getattr(_allocation, "_profile_allocator", None), *self._profile, count, stream)
        values += (scratch, profile)
        packer = self._packers.get(handle)
        if packer is None:
            packer = self._packers[handle] = self._packer(function, kinds)
        memory = gpu.device.memory
        memory.sweep()
        kernarg = packer.pack(values, memory)
        x, y, z = programs
        cluster = (workgroups, 1, 1) if workgroups > 1 else None
        places = places_of(names, kinds, given)
        threads = waves * self._warp_size
        bound = lambda: Bound(dict(zip(self._names, args)), list(map(_number, values)), [scratch, profile])  # noqa: E731
        grid = (x * workgroups, y, z)
        result = gpu.launch(function, grid, threads, kernarg, lds, self._cooperative, cluster, given, places, bound)
        if result is None:
            return
        result.again = lambda wanted: gpu.trace(wanted, lambda: self._launch(programs, stream, handle, packed_metadata, args))

    def _packer(self, function: Function, kinds: Sequence[str]) -> Packer:
        return Packer(function.name, [*kinds, "*i8", "*i8"], function.args)

    def _flatten(self, name: str, kind: Any, value: Any, waves: int, blocks: Any, out: tuple[list[Any], ...]) -> None:
        """Appends the types, names and values that an argument is passed as."""
        kinds, names, values = out
        if kind == "constexpr":
            return
        if isinstance(kind, tuple):
            for number, (inner, item) in enumerate(zip(kind, value)):
                self._flatten(f"{name}[{number}]", inner, item, waves, blocks, out)
        elif _is_descriptor(kind):
            found = self._described(kind, value, waves, next(blocks) if self._blocks else None)
            for inner, item in found:
                kinds.append(inner)
                names.append(name)
                values.append(item)
        else:
            kinds.append(kind)
            names.append(name)
            values.append(value)

    def _described(self, kind: str, value: Any, waves: int, block: dict[str, Any] | None) -> list[tuple[str, Any]]:
        """What a tensor descriptor is passed as: by Triton's rules, and its shape and strides behind it."""
        sizes = [("i32", n) for n in value.shape] + [("i64", n) for n in value.strides]
        if block is not None:
            interval, amount = (block.get("interval_padding_pairs") or [(0, 0)])[0]
            base = value.base.data_ptr()
            words = descriptor(
                block["elem_bits"], block["block_size"], waves, interval, amount, list(value.shape), list(value.strides), base
            )
            return [("tensordesc", words), *sizes]
        numbers = [("i64", n) for n in (*value.shape, *value.strides)]
        element = kind[kind.index("<") + 1 :].partition("[")[0]
        flags = [("i1", flag) for flag in self._flags(value)]
        return [("*" + element, value.base), *numbers, *flags, *sizes]

    def _flags(self, value: Any) -> list[bool]:
        """What comes behind a descriptor's strides: how it pads, and from Triton 3.7 on how it rounds."""
        flags = [value.padding == "nan"]
        if hasattr(value, "round_f32_to_tf32"):
            flags.append(bool(value.round_f32_to_tf32))
        return flags


def _number(value: Any) -> int | None:
    return int(value) if hasattr(value, "__index__") else None


def _scratch(allocator: Any, size: int, alignment: int, count: int, stream: Any) -> Any:
    """The memory of all programs that a kernel asks its launcher for, ``size`` bytes for each."""
    function = allocator.get() if allocator is not None else None
    if function is None or isinstance(function, _allocation.NullAllocator):
        from .tensors import tensor

        return tensor(bytearray(size * count), "uint8")
    return function(size * count, alignment, stream)
