"""What a kernel prints, held to what C prints."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from typing import Any

import luthier as lt


def listening(target: str = "gfx90a", **more: Any) -> tuple[lt.Device, io.StringIO]:
    """A device, and where what its kernels print is written."""
    output = io.StringIO()
    return lt.Device(target, output=output, **more), output


def assert_prints_as_in_c(code: Any, target: str, statements: str, head: str, folder: Path) -> None:
    """The kernel ``say`` of ``code`` prints with one work-item what the statements print in C behind ``head``, in strict mode
    too."""
    program = folder / "host"
    source = f"#include <stdio.h>\n{head}\nint main(void) {{ {statements} }}"
    subprocess.run(["cc", "-w", "-x", "c", "-", "-o", program], input=source.encode(), check=True)
    expected = subprocess.run([program], capture_output=True, check=True).stdout.decode()
    device, output = listening(target)
    for strict in (False, True):
        output.truncate(output.seek(0))
        assert device.run(code, "say", grid=64, block=64, strict=strict).findings == []
        assert output.getvalue() == expected
