"""An evaluator of the manuals' pseudocode language, for many operands at once. It shares nothing with the device."""
