"""Where a wave is, in the hook language: worked out from what waves start with and from the dispatch packet.

A launch of clusters (gfx1250) has another packet, which counts clusters; ``_is_of_clusters()`` is false by itself on all
other processors.
"""

from __future__ import annotations

from typing import Any, cast

from . import device, dispatch_ptr, kernarg_ptr, ptr, readfirstlane, u32, u64, wave_size
from . import min as min_
from .functions import DeviceFunction
from .intrinsics import Intrinsic


def _own(name: str) -> Any:
    return Intrinsic.of_fact(name)


_group_x, _group_y, _group_z = _own("GROUP_X"), _own("GROUP_Y"), _own("GROUP_Z")
_place_in_cluster, _workitem_ids = _own("PLACE_IN_CLUSTER"), _own("WORKITEM_IDS")
_shared_bytes = _own("SHARED_BYTES")
_implicit_offset, _has_clusters = _own("IMPLICIT_OFFSET"), _own("HAS_CLUSTERS")


@device
def _packet(word: u32) -> u32:
    return ptr[u32, "const"](dispatch_ptr())[word]


@device
def _is_of_clusters() -> bool:
    return _has_clusters() and _packet(0) & 0xFF == 0


@device
def _shared_base() -> u32:
    # The packet says how much LDS a workgroup has, whatever the launch has added. Ours ends there, and begins on 16 bytes.
    return (_packet(7) - _shared_bytes() + 15) & 0xFFFFFFF0


@device
def workgroup_size_x() -> u32:
    return _packet(1) & 0xFFFF


@device
def workgroup_size_y() -> u32:
    return _packet(1) >> 16


@device
def workgroup_size_z() -> u32:
    return _packet(2) & 0xFFFF


@device
def cluster_size_x() -> u32:
    return _packet(5) & 0xFF if _is_of_clusters() else 1


@device
def cluster_size_y() -> u32:
    return _packet(5) >> 8 & 0xFF if _is_of_clusters() else 1


@device
def cluster_size_z() -> u32:
    return _packet(5) >> 16 & 0xFF if _is_of_clusters() else 1


@device
def grid_size_x() -> u32:
    return _packet(3) * cluster_size_x() * workgroup_size_x() if _is_of_clusters() else _packet(3)


@device
def grid_size_y() -> u32:
    return (_packet(4) & 0xFFFF) * cluster_size_y() * workgroup_size_y() if _is_of_clusters() else _packet(4)


@device
def grid_size_z() -> u32:
    return (_packet(4) >> 16) * cluster_size_z() * workgroup_size_z() if _is_of_clusters() else _packet(5)


@device
def num_workgroups_x() -> u32:
    return (grid_size_x() - 1) // workgroup_size_x() + 1


@device
def num_workgroups_y() -> u32:
    return (grid_size_y() - 1) // workgroup_size_y() + 1


@device
def num_workgroups_z() -> u32:
    return (grid_size_z() - 1) // workgroup_size_z() + 1


@device
def private_segment_size() -> u32:
    return _packet(6)


@device
def workgroup_id_in_cluster_x() -> u32:
    return _place_in_cluster() & 15 if _is_of_clusters() else 0


@device
def workgroup_id_in_cluster_y() -> u32:
    return _place_in_cluster() >> 4 & 15 if _is_of_clusters() else 0


@device
def workgroup_id_in_cluster_z() -> u32:
    return _place_in_cluster() >> 8 & 15 if _is_of_clusters() else 0


@device
def cluster_id_x() -> u32:
    return _group_x()


@device
def cluster_id_y() -> u32:
    return _group_y()


@device
def cluster_id_z() -> u32:
    return _group_z()


@device
def workgroup_id_x() -> u32:
    return _group_x() * cluster_size_x() + workgroup_id_in_cluster_x()


@device
def workgroup_id_y() -> u32:
    return _group_y() * cluster_size_y() + workgroup_id_in_cluster_y()


@device
def workgroup_id_z() -> u32:
    return _group_z() * cluster_size_z() + workgroup_id_in_cluster_z()


@device
def workitem_id_x() -> u32:
    return _workitem_ids() & 0x3FF


@device
def workitem_id_y() -> u32:
    return _workitem_ids() >> 10 & 0x3FF


@device
def workitem_id_z() -> u32:
    return _workitem_ids() >> 20 & 0x3FF


@device
def wave_in_group() -> u32:
    # Work-items are numbered through in the workgroup that there is: those at the grid's edges have fewer of them. Any lane's
    # number tells the wave; one that is off need not have been given its own.
    first = readfirstlane(_workitem_ids())
    wide = min_(workgroup_size_x(), grid_size_x() - workgroup_id_x() * workgroup_size_x())
    high = min_(workgroup_size_y(), grid_size_y() - workgroup_id_y() * workgroup_size_y())
    line = (first >> 10 & 0x3FF) + high * (first >> 20)
    return ((first & 0x3FF) + wide * line) // wave_size()


@device
def wave_id() -> u64:
    line = u64(workgroup_id_z()) * num_workgroups_y() + workgroup_id_y()
    group = line * num_workgroups_x() + workgroup_id_x()
    items = workgroup_size_x() * workgroup_size_y() * workgroup_size_z()
    return group * ((items + wave_size() - 1) // wave_size()) + wave_in_group()


@device
def implicitarg_ptr() -> u64:
    return kernarg_ptr() + _implicit_offset()


#: Where the LDS of hooks' own begins in the workgroup's.
SHARED_BASE = cast(DeviceFunction, _shared_base)
#: What the intrinsics stand for.
FUNCTIONS: dict[str, DeviceFunction] = {
    name: value for name, value in globals().items() if isinstance(value, DeviceFunction) and not name.startswith("_")
}
