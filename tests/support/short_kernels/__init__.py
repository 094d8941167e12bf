"""Random short kernels in assembly, and launches with them: what they leave in memory must not depend on native code."""
