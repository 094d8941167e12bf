"""What hooks are given besides their parameters, because they ask for it, be it in functions that they call.

A fact becomes a parameter of every function on the way, and an argument that placement fills in. It costs something only
where compiled code looks at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .types import Scalar, Type, bool_, u32, u64


@dataclass(frozen=True)
class Fact:
    """One of them."""

    #: What the parameter is called: no name that Python could have.
    name: str
    type: Type
    #: Whose value it is, as placement takes it (``luthier_codegen::Arg`` as JSON).
    argument: Any

    def __hash__(self) -> int:
        return hash(self.name)


def _entry(name: str, type: Scalar, value: Any) -> Fact:
    return Fact(f"lt.{name}", type, {"entry": value})


IN_RANGE = Fact("lt.access_in_range", bool_, "in_range")
DISPATCH_PTR = _entry("dispatch_ptr", u64, "dispatch_ptr")
QUEUE_PTR = _entry("queue_ptr", u64, "queue_ptr")
KERNARG_PTR = _entry("kernarg_ptr", u64, "kernarg_ptr")
DISPATCH_ID = _entry("dispatch_id", u64, "dispatch_id")
#: Of clusters, where a launch has some.
GROUP_X, GROUP_Y, GROUP_Z = (_entry(f"group_{axis}", u32, {"workgroup_id": axis}) for axis in "xyz")
#: gfx1250: four bits for each dimension of the workgroup's place in its cluster.
PLACE_IN_CLUSTER = _entry("place_in_cluster", u32, "place_in_cluster")
#: Of each lane, ten bits for each dimension.
WORKITEM_IDS = _entry("workitem_ids", u32, "workitem_ids")
#: Bytes from the kernel's arguments to the hidden ones.
IMPLICIT_OFFSET = Fact("lt.implicit_offset", u32, "implicit_offset")
#: Bytes of LDS that all tools have in a workgroup.
SHARED_BYTES = Fact("lt.shared_bytes", u32, "shared_bytes")
#: Known when a hook is compiled.
HAS_CLUSTERS = Fact("lt.has_clusters", bool_, "has_clusters")
WAVE_SIZE = Fact("lt.wave_size", u32, "wave_size")


def kernel_argument(name: str, size: int) -> Fact:
    """The byte offset of a kernel's argument of this name, which has to have this many bytes."""
    return Fact(f"lt.kernel_arg({name}, {size})", u32, {"kernel_argument": {"name": name, "size": size}})
