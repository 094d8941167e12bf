"""The compiler that Triton wants beside every driver. Code for the mock device comes from Triton's own AMD back end."""

from __future__ import annotations

from typing import Any

import triton.backends.compiler as base


class LuthierBackend(base.BaseBackend):
    """Compiles for no target."""

    @staticmethod
    def supports_target(target: Any) -> bool:
        return False

    def _nothing(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("Triton's AMD back end compiles for the mock device")

    hash = parse_options = add_stages = load_dialects = get_module_map = pack_metadata = get_codegen_implementation = _nothing
