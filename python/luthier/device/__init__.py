"""The mock device: what a launch is told, and what it did."""
