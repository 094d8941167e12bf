//! Floating-point arithmetic as the device does it, where the host's differs.
