"""Conformance of the mock device against the pseudocode of AMD's ISA manuals (docs/audit/conformance.md)."""
