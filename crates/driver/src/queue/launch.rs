//! What a dispatch packet comes to once it is checked.

use luthier_emulator::Packet;

/// A dispatch that may run: the emulator's packet, and the kernel object.
pub struct Launch {
    pub packet: Packet,
    pub object: u64,
}
