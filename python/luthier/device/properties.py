"""What a device has room for."""

from __future__ import annotations

from dataclasses import dataclass


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
    #: Whether workgroups can be launched in clusters.
    clusters: bool
    #: What kernels that fill a GPU once are to size their grids by. A mock device has as many as it is told.
    compute_units: int


def properties_of(processor: str, compute_units: int) -> Properties:
    """What a processor has, after LLVM's target description."""
    gfx9, gfx1250 = processor.startswith("gfx9"), processor.startswith("gfx125")
    lds = {"gfx950": 160, "gfx1250": 320, "gfx1251": 320}.get(processor, 64) << 10
    return Properties(
        processor=processor,
        wave_sizes=(64,) if gfx9 else (32,) if gfx1250 else (32, 64),
        lds=lds,
        workgroup=1024,
        vgprs=1024 if gfx1250 else 256,
        sgprs=102 if gfx9 else 106,
        clusters=gfx1250,
        compute_units=compute_units,
    )
