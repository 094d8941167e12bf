"""What a device has room for."""

from __future__ import annotations

from dataclasses import dataclass

from . import _core


@dataclass(frozen=True)
class Properties:
    """What workgroups and waves of a processor may have. Of what no code depends on, such as clocks, there is nothing."""

    processor: str
    #: Lanes of a wave: what the code may be compiled for, the compiler's usual one first.
    wave_sizes: tuple[int, ...]
    #: Bytes of LDS of a workgroup.
    lds: int
    #: Work-items of a workgroup.
    workgroup: int
    #: Vector registers of a wave that instructions can name, AGPRs not counted.
    vgprs: int
    #: Scalar registers of a wave.
    sgprs: int
    #: Bytes of scratch memory of a wave.
    scratch: int
    #: Whether workgroups can be launched in clusters.
    clusters: bool
    #: What kernels that fill a GPU once are to size their grids by. A mock device has as many as it is told.
    compute_units: int


def properties_of(processor: str, compute_units: int) -> Properties:
    """What a processor has, after LLVM's target description."""
    found = _core.limits(processor)
    return Properties(
        processor=processor,
        wave_sizes=tuple(found["wave_sizes"]),
        lds=found["lds"],
        workgroup=1024,
        vgprs=found["vgprs"],
        sgprs=found["sgprs"],
        scratch=found["scratch"],
        clusters=found["clusters"],
        compute_units=compute_units,
    )
