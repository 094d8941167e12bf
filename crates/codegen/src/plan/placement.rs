//! What is kept of the application's state around hooks.

/// How hooks are placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Placement {
    /// In registers that are free there; what is needed and in the way is put away.
    #[default]
    FreeRegisters,
    /// As a call by the C calling convention would be, which knows nothing of the hook or of the place: see
    /// [`crate::splice::convention`].
    CallingConvention,
}

impl Placement {
    /// Bytes of scratch in each lane that one place may take.
    pub fn room(self) -> u32 {
        match self {
            Placement::FreeRegisters => 256,
            // Every VGPR that a function may change.
            Placement::CallingConvention => 640,
        }
    }
}
