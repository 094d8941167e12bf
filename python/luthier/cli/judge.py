"""``luthier judge``: a kernel against a reference, both in a Python file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ..base.outputs import Outputs
from ..errors import ArgumentError
from .ending import FOUND

#: What a file may say, each as the keyword of :func:`luthier.judge`.
_MAY = ("sizes", "dtypes", "seeds", "targets", "schedules", "tolerance", "special_values")


def main(args: Any) -> int:
    """Judges; status 1 if a check failed."""
    from ..judging import judge

    told = _read(args.file)
    for name in ("kernel", "reference", "case"):
        if name not in told:
            raise ArgumentError(f"{args.file}: it defines no {name}: it needs kernel, reference and case")
    options = {name: told[name] for name in _MAY if name in told}
    if args.targets:
        options["targets"] = args.targets
    with Outputs() as outputs:
        out = outputs.open(args.json) if args.json not in (None, "-") else None
        made = judge(told["kernel"], told["reference"], told["case"], **options)
        text = json.dumps(made.to_dict(), indent=1) + "\n"
        if out is not None:
            out.write(text.encode())
        outputs.commit()
    if args.json == "-":
        print(text, end="")
    else:
        _show(made)
    return 0 if made.ok else FOUND


def _show(made: Any) -> None:
    from .tables import show

    show("judged", ("check", "made", "failed", "the first"), made.table())
    rows = [("verdict", "right" if made.ok else "not right"), ("launches", f"{made.launches:,}"), ("tolerance", made.tolerance)]
    if made.ulps is not None:
        rows.append(("greatest error", f"{made.ulps:,.0f} ulps"))
    rows += [(f"instructions, {target}", f"{number:,}") for target, number in made.instructions.items()]
    show("in all", (), rows)


def _read(path: str) -> dict[str, Any]:
    """The names that a file defines. Its kernels are Triton's, which reads their source: it has to be a module."""
    import importlib.util

    if not Path(path).is_file():
        raise ArgumentError(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location(f"luthier_judged_{Path(path).stem}", path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{path}: it is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ArgumentError(f"{path}:{error.lineno}: {error.msg}") from None
    return vars(module)
