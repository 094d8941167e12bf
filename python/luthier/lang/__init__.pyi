"""The hook language as type checkers see it.

A hook is no Python: Luthier checks it, with types of fixed width. Type checkers are told to leave the functions alone
(``no_type_check``), and to take the types for Python's own wherever else they stand, ``total: lt.u64 = 0`` included.
"""

from typing import Any, Generic, TypeAlias, TypeVar
from typing import no_type_check as device
from typing import no_type_check as hook

from typing_extensions import TypeVar as TypeVarWithDefault

from .errors import HookError as HookError
from .errors import Span as Span
from .functions import DeviceFunction as DeviceFunction
from .functions import Hook as Hook
from .functions import Param as Param
from .types import Array as Array
from .types import Counter as Counter
from .types import InOut as InOut
from .types import Pointer as Pointer
from .types import Scalar as Scalar
from .types import Table as Table
from .types import Type as Type

__all__ = [
    "HookError", "Span", "DeviceFunction", "Hook", "Param", "device", "hook", "bitcast", "record", "printf", "Array", "InOut", "Pointer", "Scalar",
    "Type", "ElementType", "array", "bool_", "channel", "counter", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "inout", "ptr",
    "u8", "u16", "u32", "u64", "exec_mask", "active_lanes", "lane_id", "clock", "realtime", "access_in_range", "trap",
    "popcount", "ctz",
    "clz", "ballot", "readfirstlane", "readlane", "sqrt", "floor", "fma", "abs", "min", "max", "atomic_add", "atomic_and",
    "atomic_or", "atomic_xor", "atomic_min", "atomic_max", "atomic_exchange", "atomic_cas", "wave_atomic_add", "exp2", "log2",
    "rsqrt", "add_sat", "sub_sat", "pk_add_f16", "pk_mul_f16", "pk_fma_f16", "pk_add_u16", "pk_sub_u16", "pk_mul_u16",
    "wave_sum", "wave_min", "wave_max", "prefix_sum", "wave_any", "wave_all", "match_any", "shuffle",
    "shuffle_xor", "shuffle_up", "shuffle_down",
    "workgroup_id_x", "workgroup_id_y", "workgroup_id_z", "workitem_id_x", "workitem_id_y", "workitem_id_z",
    "workgroup_size_x", "workgroup_size_y", "workgroup_size_z", "grid_size_x", "grid_size_y", "grid_size_z",
    "num_workgroups_x", "num_workgroups_y", "num_workgroups_z", "private_segment_size", "cluster_id_x", "cluster_id_y", "cluster_id_z",
    "cluster_size_x", "cluster_size_y", "cluster_size_z", "workgroup_id_in_cluster_x", "workgroup_id_in_cluster_y",
    "workgroup_id_in_cluster_z", "wave_in_group", "wave_id", "wave_size",
    "scalar_atomic_add", "scalar_atomic_sub", "scalar_atomic_min", "scalar_atomic_max", "scalar_atomic_and", "scalar_atomic_or",
    "scalar_atomic_xor", "scalar_atomic_inc", "scalar_atomic_dec", "scalar_atomic_exchange", "scalar_atomic_cas",
    "wave_atomic_exchange", "hw_id", "hw_xcc", "hw_shader_engine", "hw_shader_array", "hw_compute_unit", "hw_simd", "hw_wave_slot", "dispatch_ptr", "queue_ptr", "kernarg_ptr",
    "implicitarg_ptr", "dispatch_id", "kernel_arg",
]  # fmt: skip

u8: TypeAlias = int
u16: TypeAlias = int
u32: TypeAlias = int
u64: TypeAlias = int
i8: TypeAlias = int
i16: TypeAlias = int
i32: TypeAlias = int
i64: TypeAlias = int
f16: TypeAlias = float
f32: TypeAlias = float
f64: TypeAlias = float
bool_: TypeAlias = bool

#: What a :class:`luthier.DeviceArray` may have as elements: ``lt.u8`` to ``lt.f64``.
ElementType: TypeAlias = type[int] | type[float]

_T = TypeVar("_T")
_S = TypeVarWithDefault("_S", default=Any)

class ptr(Generic[_T, _S]):
    """The address of elements of one type: ``lt.ptr[lt.u64]``, ``lt.ptr[lt.u32, "lds"]``."""

    def __init__(self, address: int, /) -> None: ...
    def __getitem__(self, index: int, /) -> _T: ...
    def __setitem__(self, index: int, value: _T, /) -> None: ...
    def __add__(self, elements: int, /) -> ptr[_T, _S]: ...
    def __radd__(self, elements: int, /) -> ptr[_T, _S]: ...
    def __sub__(self, elements: int, /) -> ptr[_T, _S]: ...

class counter(int):
    """A 64-bit count of the wave's own, kept in registers: ``count += n``."""

class channel:
    """A channel of the tool's, for :func:`record`."""

class inout(Generic[_T, _S]):
    """An application register, or a value that waves or lanes carry, which the hook may also change. Of a table with ``n``
    values: ``lt.inout[lt.u32, n]``."""

    def __getitem__(self, index: int, /) -> _T: ...
    def __setitem__(self, index: int, value: _T, /) -> None: ...

def array(of: type[_T], length: int) -> list[_T]:
    """``a = lt.array(lt.u32, 8)`` inside a hook: eight zeros, an array for each lane."""

def bitcast(type: type[_T], x: Any) -> _T:
    """The same bits as another type of the same size."""

def exec_mask() -> int:
    """One bit for each active lane."""

def active_lanes() -> int:
    """How many lanes are active."""

def lane_id() -> int:
    """The lane's number in the wave, from 0."""

def clock() -> int:
    """A count of cycles of 64 bits, which never goes back within a wave (docs/hooks.md says what counts on which processor)."""

def realtime() -> int:
    """A count of 64 bits whose frequency never changes: 100 MHz, on CDNA2 25 MHz."""

def access_in_range() -> bool:
    """Whether the instruction's access is made: false in lanes that are outside of their buffer, in whole or in part, where
    hardware reads zero and writes nothing. True where nothing bounds the access but the memory itself."""

def trap() -> None:
    """Stops the wave (s_trap 2): the dispatch fails."""

def popcount(x: int) -> int:
    """How many bits of an integer are set."""

def ctz(x: int) -> int:
    """Zero bits below the lowest set one; all of them when x is 0."""

def clz(x: int) -> int:
    """Zero bits above the highest set one; all of them when x is 0."""

def ballot(condition: Any) -> int:
    """One bit for each active lane with a true condition."""

def readfirstlane(x: _T) -> _T:
    """The value that the first active lane has (lane 0 when none is), the same in all lanes."""

def readlane(x: _T, lane: int) -> _T:
    """The value that one lane has, active or not; lane must be uniform."""

def sqrt(x: float) -> float:
    """The square root of a float."""

def floor(x: float) -> float:
    """The largest whole float that is not above x."""

def fma(x: float, y: float, z: float) -> float:
    """x * y + z, rounded once."""

def abs(x: _T) -> _T:
    """The absolute value; the most negative integer stays itself."""

def min(a: _T, b: _T) -> _T:
    """The smaller of two."""

def max(a: _T, b: _T) -> _T:
    """The larger of two."""

def atomic_add(p: ptr[_T, Any], x: _T) -> _T:
    """Each active lane adds x to *p; gives what was there before."""

def atomic_and(p: ptr[_T, Any], x: _T) -> _T:
    """Each active lane keeps the bits of *p that are in x; gives the old value."""

def atomic_or(p: ptr[_T, Any], x: _T) -> _T:
    """Each active lane sets the bits of x in *p; gives the old value."""

def atomic_xor(p: ptr[_T, Any], x: _T) -> _T:
    """Each active lane flips the bits of x in *p; gives the old value."""

def atomic_min(p: ptr[_T, Any], x: _T) -> _T:
    """Each active lane lowers *p to x; gives the old value."""

def atomic_max(p: ptr[_T, Any], x: _T) -> _T:
    """Each active lane raises *p to x; gives the old value."""

def atomic_exchange(p: ptr[_T, Any], x: _T) -> _T:
    """Each active lane stores x to *p; gives the old value."""

def atomic_cas(p: ptr[_T, Any], expected: _T, x: _T) -> _T:
    """Each active lane stores x to *p if expected is there; gives what was there."""

def wave_atomic_add(p: ptr[int], x: int) -> int:
    """The wave adds x to *p once, however many lanes are active, none included; gives what was there before. p and x must be the
    same in all lanes."""

def wave_atomic_exchange(p: ptr[int], x: int) -> int:
    """The wave stores x to *p once, however many lanes are active, none included; gives what was there before, the same in all
    lanes. p and x must be the same in all lanes."""

def scalar_atomic_add(p: ptr[int], x: int) -> int:
    """The wave adds x to *p once by a scalar instruction, however many lanes are active, none included; gives what was
    there before. p and x must be the same in all lanes. GCN 5, CDNA and RDNA 1 have it."""

def scalar_atomic_sub(p: ptr[int], x: int) -> int:
    """The wave subtracts x from *p once by a scalar instruction, however many lanes are active, none included; gives what was
    there before. p and x must be the same in all lanes. GCN 5, CDNA and RDNA 1 have it."""

def scalar_atomic_min(p: ptr[int], x: int) -> int:
    """The wave lowers *p to x once by a scalar instruction, however many lanes are active, none included; gives what was
    there before. p and x must be the same in all lanes. GCN 5, CDNA and RDNA 1 have it."""

def scalar_atomic_max(p: ptr[int], x: int) -> int:
    """The wave raises *p to x once by a scalar instruction, however many lanes are active, none included; gives what was
    there before. p and x must be the same in all lanes. GCN 5, CDNA and RDNA 1 have it."""

def scalar_atomic_and(p: ptr[int], x: int) -> int:
    """The wave keeps the bits of *p that are in x once by a scalar instruction, however many lanes are active, none included; gives what was
    there before. p and x must be the same in all lanes. GCN 5, CDNA and RDNA 1 have it."""

def scalar_atomic_or(p: ptr[int], x: int) -> int:
    """The wave sets the bits of x in *p once by a scalar instruction, however many lanes are active, none included; gives what was
    there before. p and x must be the same in all lanes. GCN 5, CDNA and RDNA 1 have it."""

def scalar_atomic_xor(p: ptr[int], x: int) -> int:
    """The wave flips the bits of x in *p once by a scalar instruction, however many lanes are active, none included; gives what was
    there before. p and x must be the same in all lanes. GCN 5, CDNA and RDNA 1 have it."""

def scalar_atomic_inc(p: ptr[int], x: int) -> int:
    """The wave counts *p up, and from x (or more) to 0, once by a scalar instruction, however many lanes are active, none included; gives what was
    there before. p and x must be the same in all lanes. GCN 5, CDNA and RDNA 1 have it."""

def scalar_atomic_dec(p: ptr[int], x: int) -> int:
    """The wave counts *p down, and from 0 (or more than x) to x, once by a scalar instruction, however many lanes are active, none included; gives what was
    there before. p and x must be the same in all lanes. GCN 5, CDNA and RDNA 1 have it."""

def scalar_atomic_exchange(p: ptr[int], x: int) -> int:
    """The wave stores x to *p once by a scalar instruction, however many lanes are active, none included; gives what was
    there before. p and x must be the same in all lanes. GCN 5, CDNA and RDNA 1 have it."""

def scalar_atomic_cas(p: ptr[int], expected: int, x: int) -> int:
    """The wave stores x to *p once by a scalar instruction if expected is there; gives what was there before."""

def record(channel: channel, *values: Any, per_wave: bool = False) -> None:
    """Puts a record of these values into a channel, for each active lane, or one for the wave, of values that all lanes share."""

def printf(text: str, *values: Any, per_wave: bool = False) -> None:
    """Prints a text with up to six values in it (%d, %u, %x, %o, %c, %e, %f, %g), for each active lane, or once for the wave."""

def exp2(x: float) -> float:
    """2 to the power of a float of 16 or 32 bits, as exactly as the hardware has it."""

def log2(x: float) -> float:
    """The binary logarithm of a float of 16 or 32 bits, as exactly as the hardware has it."""

def rsqrt(x: float) -> float:
    """1 divided by the square root of a float, both rounded."""

def add_sat(a: int, b: int) -> int:
    """The sum of two integers, or the value of their type that is nearest to it."""

def sub_sat(a: int, b: int) -> int:
    """a - b of integers, or the value of their type that is nearest to it."""

def pk_add_f16(a: int, b: int) -> int:
    """The sums of the two floats of 16 bits in a u32, low and high, each rounded."""

def pk_mul_f16(a: int, b: int) -> int:
    """The products of the two floats of 16 bits in a u32, each rounded."""

def pk_fma_f16(a: int, b: int, c: int) -> int:
    """a * b + c of the two floats of 16 bits in a u32, each rounded once."""

def pk_add_u16(a: int, b: int) -> int:
    """The sums of the two integers of 16 bits in a u32, each modulo 65536."""

def pk_sub_u16(a: int, b: int) -> int:
    """The differences of the two integers of 16 bits in a u32, each modulo 65536."""

def pk_mul_u16(a: int, b: int) -> int:
    """The products of the two integers of 16 bits in a u32, each modulo 65536."""

def wave_sum(x: _T) -> _T:
    """The sum over the active lanes, the same in all: floats are added in the order of the lanes."""

def wave_min(x: _T) -> _T:
    """The smallest that an active lane has, the same in all; NaNs are left out."""

def wave_max(x: _T) -> _T:
    """The largest that an active lane has, the same in all; NaNs are left out."""

def prefix_sum(x: _T) -> _T:
    """The sum of what the active lanes below this one have; floats in their order."""

def wave_any(condition: Any) -> bool:
    """Whether it is true in any active lane."""

def wave_all(condition: Any) -> bool:
    """Whether it is true in all active lanes."""

def match_any(x: Any) -> int:
    """One bit for each active lane that has the same bits as this one, itself among them."""

def shuffle(x: _T, lane: int) -> _T:
    """What another lane has, each lane its own choice; 0 if that lane is not active."""

def shuffle_xor(x: _T, mask: int) -> _T:
    """What the lane has whose number is this one's xor mask; 0 if it is not active."""

def shuffle_up(x: _T, n: int) -> _T:
    """What the lane n below has; 0 if there is none, or it is not active."""

def shuffle_down(x: _T, n: int) -> _T:
    """What the lane n above has; 0 if there is none, or it is not active."""

def workgroup_id_x() -> int:
    """The workgroup's place in the grid, first dimension, from 0."""

def workgroup_id_y() -> int:
    """The workgroup's place in the grid, second dimension, from 0."""

def workgroup_id_z() -> int:
    """The workgroup's place in the grid, third dimension, from 0."""

def workitem_id_x() -> int:
    """The lane's place in its workgroup, first dimension, from 0."""

def workitem_id_y() -> int:
    """The lane's place in its workgroup, second dimension, from 0."""

def workitem_id_z() -> int:
    """The lane's place in its workgroup, third dimension, from 0."""

def workgroup_size_x() -> int:
    """Work-items of a workgroup, first dimension, as launched (at the grid's edges it has fewer)."""

def workgroup_size_y() -> int:
    """Work-items of a workgroup, second dimension, as launched (at the grid's edges it has fewer)."""

def workgroup_size_z() -> int:
    """Work-items of a workgroup, third dimension, as launched (at the grid's edges it has fewer)."""

def grid_size_x() -> int:
    """Work-items in all, first dimension."""

def grid_size_y() -> int:
    """Work-items in all, second dimension."""

def grid_size_z() -> int:
    """Work-items in all, third dimension."""

def num_workgroups_x() -> int:
    """Workgroups in all, first dimension, one that is not whole among them."""

def num_workgroups_y() -> int:
    """Workgroups in all, second dimension, one that is not whole among them."""

def private_segment_size() -> int:
    """Bytes of scratch that the launch gives each lane, with those of hooks."""

def num_workgroups_z() -> int:
    """Workgroups in all, third dimension, one that is not whole among them."""

def cluster_id_x() -> int:
    """The cluster's place in the grid, first dimension; without clusters, the workgroup's."""

def cluster_id_y() -> int:
    """The cluster's place in the grid, second dimension; without clusters, the workgroup's."""

def cluster_id_z() -> int:
    """The cluster's place in the grid, third dimension; without clusters, the workgroup's."""

def cluster_size_x() -> int:
    """Workgroups of a cluster, first dimension; 1 without clusters."""

def cluster_size_y() -> int:
    """Workgroups of a cluster, second dimension; 1 without clusters."""

def cluster_size_z() -> int:
    """Workgroups of a cluster, third dimension; 1 without clusters."""

def workgroup_id_in_cluster_x() -> int:
    """The workgroup's place in its cluster, first dimension."""

def workgroup_id_in_cluster_y() -> int:
    """The workgroup's place in its cluster, second dimension."""

def workgroup_id_in_cluster_z() -> int:
    """The workgroup's place in its cluster, third dimension."""

def hw_id() -> int:
    """The register that says where the wave runs, as it is: HW_ID, from RDNA 1 on HW_ID1."""

def hw_xcc() -> int:
    """The die that the wave runs on (CDNA 3 and 4)."""

def hw_shader_engine() -> int:
    """The shader engine that the wave runs on."""

def hw_shader_array() -> int:
    """The shader array in its engine."""

def hw_compute_unit() -> int:
    """The compute unit in its array; on RDNA the workgroup processor, which is two of them."""

def hw_simd() -> int:
    """The SIMD of the compute unit, or workgroup processor."""

def hw_wave_slot() -> int:
    """The wave's slot on its SIMD."""

def wave_in_group() -> int:
    """The wave's number in its workgroup, from 0."""

def wave_id() -> int:
    """A number that no other wave of the dispatch has: workgroups in order, x fastest, and their waves."""

def wave_size() -> int:
    """Lanes of a wave: 32 or 64."""

def dispatch_ptr() -> int:
    """The address of the dispatch packet."""

def queue_ptr() -> int:
    """The address of the queue (amd_queue_t)."""

def kernarg_ptr() -> int:
    """The address of the kernel's arguments."""

def implicitarg_ptr() -> int:
    """The address of the kernel's hidden arguments."""

def dispatch_id() -> int:
    """The dispatch's number in its queue."""

def kernel_arg(name: str, type: type[_T], /) -> _T:
    """An argument of the kernel by name, as it was when the kernel was launched: ``lt.kernel_arg("n", lt.u32)``."""
