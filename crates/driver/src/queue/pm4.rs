//! PM4 in an indirect buffer: what ROCr asks of the packet processor itself, which is little.

use luthier_abi::packet::Pm4;

use super::Queue;
use super::trouble::{Trouble, code};
use crate::log::log;

const NOP: u32 = 0x10;
const WRITE_DATA: u32 = 0x37;
const EVENT_WRITE: u32 = 0x46;
const ACQUIRE_MEM: u32 = 0x58;
/// Bytes of a buffer at most; ROCr's has a page.
const MOST: u32 = 1 << 20;

pub fn run(queue: &Queue, packet: &Pm4) -> Result<(), Trouble> {
    let [jump, low, high, size] = packet.jump;
    let (start, dwords) = (u64::from(low & !3) | u64::from(high & 0xffff) << 32, size & 0xf_ffff);
    let refuse = |what: String| Trouble::Error(code::VENDOR_FORMAT, what);
    if jump >> 8 & 0xff != 0x3f || 4 * dwords > MOST {
        return Err(refuse("a PM4 packet that does not jump to an indirect buffer".into()));
    }
    let words = queue.gpu.view.resolve(start, 4 * u64::from(dwords), false);
    let words = words.map_err(|access| Trouble::Access(access, "its PM4 buffer"))?.cast::<u32>();
    // SAFETY: resolved, and the program leaves it alone until the packet is done.
    let word = |i: u32| unsafe { words.add(i as usize).read_volatile() };
    let mut at = 0;
    while at < dwords {
        let header = word(at);
        let (kind, length, op) = (header >> 30, (header >> 16 & 0x3fff) + 1, header >> 8 & 0xff);
        if kind == 2 {
            at += 1;
            continue;
        }
        if kind != 3 || at + 1 + length > dwords && op != NOP {
            return Err(refuse(format!("{header:#010x} is no PM4 packet (dword {at} of {start:#x})")));
        }
        log!(queue.gpu.config(), "queue {}: PM4 {op:#x}", queue.id);
        match op {
            NOP | EVENT_WRITE => {}
            // Caches are coherent here, but for translated code.
            ACQUIRE_MEM => queue.gpu.view.memory.code_changed(),
            // To memory, a dword after the other.
            WRITE_DATA if length >= 3 && word(at + 1) >> 8 & 15 == 5 => {
                let to = u64::from(word(at + 2)) | u64::from(word(at + 3)) << 32;
                let place = queue.gpu.view.resolve(to, 4 * u64::from(length - 3), true);
                let place = place.map_err(|access| Trouble::Access(access, "a PM4 write"))?.cast::<u32>();
                for i in 0..length - 3 {
                    // SAFETY: resolved.
                    unsafe { place.add(i as usize).write_unaligned(word(at + 4 + i)) };
                }
            }
            other => return Err(refuse(format!("the PM4 packet {other:#x} is not modelled"))),
        }
        at += 1 + length;
    }
    Ok(())
}
