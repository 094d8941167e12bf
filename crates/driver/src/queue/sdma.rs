//! SDMA: queues of copies, fills and what keeps them in order.

use luthier_abi::Signal;
use luthier_emulator::Footprint;
use luthier_isa::Generation;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::blit::{Place, Plan, Source, carry_out};
use super::{Queue, Step, fault, told};
use crate::clock;
use crate::log::log;
use crate::memory::Access;
use crate::polling;

const NOP: u32 = 0;
const COPY: u32 = 1;
const WRITE: u32 = 2;
const FENCE: u32 = 5;
const TRAP: u32 = 6;
const POLL: u32 = 8;
const ATOMIC: u32 = 10;
const FILL: u32 = 11;
const TIMESTAMP: u32 = 13;
const GCR: u32 = 17;
/// Kinds of copies.
const LINEAR: u32 = 0;
const LINEAR_RECT: u32 = 4;
/// The longest packet that is modelled, but for writes.
const DWORDS: usize = 13;
/// Atomic operations.
const SWAP64: u32 = 0x27;
const ADD64: u32 = 0x2f;

/// Why a packet is not done.
enum Trouble {
    Blocked,
    Access(Access, &'static str),
    Unknown(String),
}

/// Does the packet at the head, if there is one.
pub fn step(queue: &Queue) -> Step {
    let (read, write) = (queue.read_index(), queue.write_index());
    if read == write {
        return Step::Empty;
    }
    if write.wrapping_sub(read) > queue.bytes || read % 4 != 0 || write % 4 != 0 {
        let what = format!("a ring of {} bytes is written up to {write:#x} and read up to {read:#x}", queue.bytes);
        return fault::queue_error(queue, 0, &what);
    }
    let left = (write.wrapping_sub(read) / 4).min(DWORDS as u64) as usize;
    let mut words = [0; DWORDS];
    words.iter_mut().zip(0..left as u64).for_each(|(slot, i)| *slot = word(queue, read, i));
    let _pin = queue.gpu.view.memory.pin();
    match run(queue, &words, read) {
        Ok(dwords) if dwords <= write.wrapping_sub(read) / 4 => {
            queue.set_read_index(read.wrapping_add(4 * dwords));
            Step::Done
        }
        Ok(dwords) => {
            fault::queue_error(queue, 0, &format!("a packet of {dwords} dwords ends behind what was written"))
        }
        Err(Trouble::Blocked) => Step::Blocked,
        Err(Trouble::Access(access, what)) => fault::memory(queue, access, what),
        Err(Trouble::Unknown(what)) => fault::queue_error(queue, 0, &what),
    }
}

/// A dword of the ring.
fn word(queue: &Queue, from: u64, number: u64) -> u32 {
    let at = queue.ring + (from.wrapping_add(4 * number) & (queue.bytes - 1));
    let place: *const u32 = std::ptr::with_exposed_provenance(at as usize);
    // SAFETY: the ring is kept, and a multiple of four.
    unsafe { place.read_volatile() }
}

/// Does a packet, and gives its length in dwords.
fn run(queue: &Queue, w: &[u32; DWORDS], read: u64) -> Result<u64, Trouble> {
    let wide = |at: usize| u64::from(w[at]) | u64::from(w[at + 1]) << 32;
    let view = &queue.gpu.view;
    let (op, sub) = (w[0] & 0xff, w[0] >> 8 & 0xff);
    log!(queue.gpu.config(), "copy queue {}: packet {op}.{sub}", queue.id);
    match (op, sub) {
        (NOP, _) => Ok(1 + u64::from(w[0] >> 16 & 0x3fff)),
        (COPY, LINEAR) => {
            let (from, to, size) = (wide(3), wide(5), u64::from(w[1] & 0x3fff_ffff) + 1);
            let touches = || Footprint::of_copy(Some(bytes(from, size)), bytes(to, size));
            in_order(queue, touches, || copy(queue, from, to, size))?;
            Ok(7)
        }
        (COPY, LINEAR_RECT) => {
            copy_rect(queue, w)?;
            Ok(13)
        }
        (WRITE, LINEAR) => {
            let count = u64::from(w[3] & 0xf_ffff) + 1;
            let to = place(view.resolve(wide(1), 4 * count, true), "what a copy queue writes")?.cast::<u32>();
            // SAFETY: resolved.
            let write = |i: u64| unsafe { to.add(i as usize).write_unaligned(word(queue, read, 4 + i)) };
            let touches = || Footprint::of_copy(None, bytes(wide(1), 4 * count));
            in_order(queue, touches, || {
                (0..count).for_each(write);
                Ok(())
            })?;
            Ok(4 + count)
        }
        (FENCE, _) => {
            let at = place(view.place::<AtomicU32>(wide(1), true), "a fence")?;
            queue.done(queue.ticket(None, true), signal_at(wide(1)));
            // SAFETY: resolved.
            unsafe { &*at }.store(w[3], Ordering::Release);
            Ok(4)
        }
        (TRAP, _) => {
            view.events.raise(w[1] & 0xfff_ffff);
            Ok(2)
        }
        (POLL, _) => {
            // Without the bit for memory it is a register, which flushes a cache and is ready at once.
            if w[0] >> 31 != 0 {
                let at = place(view.place::<AtomicU32>(wide(1), false), "what a copy queue polls")?;
                // SAFETY: resolved.
                let value = unsafe { &*at }.load(Ordering::Acquire) & w[4];
                let passes = match w[0] >> 28 & 7 {
                    0 => true,
                    1 => value < w[3],
                    2 => value <= w[3],
                    3 => value == w[3],
                    4 => value != w[3],
                    5 => value >= w[3],
                    6 => value > w[3],
                    other => return Err(Trouble::Unknown(format!("a poll has no condition {other}"))),
                };
                if !passes {
                    return Err(Trouble::Blocked);
                }
                if let (Some(order), Some(mut ticket)) = (queue.gpu.order(), queue.ticket(None, true)) {
                    order.waited(&mut ticket, signal_at(wide(1)));
                    order.ends(ticket, 0);
                }
            }
            Ok(6)
        }
        (ATOMIC, _) => {
            let at = place(view.place::<AtomicU64>(wide(1), true), "an atomic of a copy queue")?;
            // SAFETY: resolved.
            let at = unsafe { &*at };
            queue.done(queue.ticket(None, true), signal_at(wide(1)));
            match w[0] >> 25 {
                SWAP64 => at.store(wide(3), Ordering::Release),
                ADD64 => {
                    at.fetch_add(wide(3), Ordering::AcqRel);
                }
                other => return Err(Trouble::Unknown(format!("the atomic operation {other:#x} is not modelled"))),
            }
            // The value of a signal, as a rule.
            polling::changed(signal_at(wide(1)));
            Ok(8)
        }
        (FILL, _) => {
            if w[0] >> 30 != 2 {
                return Err(Trouble::Unknown("fills of anything but dwords are not modelled".into()));
            }
            let size = (u64::from(w[4] & 0x3f_ffff) + 4) & !3;
            let to = place(view.resolve(wide(1), size, true), "what a copy queue fills")?.cast::<u32>();
            in_order(
                queue,
                || Footprint::of_copy(None, bytes(wide(1), size)),
                || {
                    // SAFETY: resolved.
                    (0..size as usize / 4).for_each(|i| unsafe { to.add(i).write_unaligned(w[3]) });
                    Ok(())
                },
            )?;
            Ok(5)
        }
        // Of the global clock, into memory.
        (TIMESTAMP, 2) => {
            let at = place(view.place::<AtomicU64>(wide(1), true), "a timestamp")?;
            // SAFETY: resolved.
            unsafe { &*at }.store(clock::nanoseconds(), Ordering::Release);
            Ok(3)
        }
        (GCR, _) => Ok(5),
        _ => Err(Trouble::Unknown(format!("the copy packet {op}.{sub} is not modelled"))),
    }
}

fn bytes(start: u64, size: u64) -> Range<u64> {
    start..start.saturating_add(size)
}

/// The signal whose value is at an address, or one half of it.
fn signal_at(address: u64) -> u64 {
    address & !(align_of::<Signal>() as u64 - 1)
}

/// Moves bytes, which strict mode compares with what other queues do.
fn in_order(
    queue: &Queue,
    touches: impl FnOnce() -> Footprint,
    act: impl FnOnce() -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let (Some(order), Some(mut ticket)) = (queue.gpu.order(), queue.ticket(None, true)) else { return act() };
    order.is_the_runtimes(&mut ticket);
    let done = act();
    if done.is_err() {
        order.drops(&ticket);
        return done;
    }
    let touched = touches();
    if let Some(first) = touched.writes.first() {
        order.is_of_a_copy(&mut ticket, first.bytes.start);
    }
    told::touched(queue, &ticket, touched, "a copy".into(), None, None);
    order.ends(ticket, 0);
    Ok(())
}

fn place<T>(found: Result<T, Access>, what: &'static str) -> Result<T, Trouble> {
    found.map_err(|access| Trouble::Access(access, what))
}

/// Copies bytes; if the places overlap, each piece as if there were another one in between.
fn copy(queue: &Queue, from: u64, to: u64, size: u64) -> Result<(), Trouble> {
    let view = &queue.gpu.view;
    if queue.gpu.config().idle {
        return Ok(());
    }
    let sources = place(view.pieces(from, size, false), "what a copy reads")?;
    let targets = place(view.pieces(to, size, true), "what a copy writes")?;
    let (mut sources, mut targets) = (sources.into_iter(), targets.into_iter());
    let ((mut source, mut readable), (mut target, mut writable)) =
        ((std::ptr::null_mut(), 0), (std::ptr::null_mut(), 0));
    loop {
        if readable == 0 {
            let Some(next) = sources.next() else { return Ok(()) };
            (source, readable) = next;
        }
        if writable == 0 {
            let Some(next) = targets.next() else { return Ok(()) };
            (target, writable) = next;
        }
        let size = readable.min(writable);
        // SAFETY: resolved. The program may write there at the same time, which is its own mistake and does us no harm.
        unsafe {
            std::ptr::copy(source, target, size);
            (source, target) = (source.add(size), target.add(size));
        }
        (readable, writable) = (readable - size, writable - size);
    }
}

/// Bits of the numbers in a packet that copies a box: of x and y, of z, where the pitch of rows begins, and of that of slices.
struct BoxFormat {
    xy: u32,
    z: u32,
    pitch: u32,
    slice: u32,
}

impl BoxFormat {
    const OLDER: BoxFormat = BoxFormat { xy: 14, z: 11, pitch: 13, slice: 28 };
    const GFX12: BoxFormat = BoxFormat { xy: 16, z: 14, pitch: 16, slice: 32 };

    fn of(queue: &Queue) -> &'static BoxFormat {
        match queue.gpu.config().target.generation() {
            Generation::Gfx12 | Generation::Gfx1250 => &BoxFormat::GFX12,
            _ => &BoxFormat::OLDER,
        }
    }
}

fn low(word: u32, bits: u32) -> u64 {
    u64::from(word) & ((1 << bits) - 1)
}

/// A box of elements between two images with pitches of their own.
fn copy_rect(queue: &Queue, w: &[u32; DWORDS]) -> Result<(), Trouble> {
    let (element, BoxFormat { xy, z, pitch, slice }) = (1u64 << (w[0] >> 29), BoxFormat::of(queue));
    // Base, bytes of a row and of a slice, and where in it the box begins.
    let side = |at: usize| {
        let base = u64::from(w[at]) | u64::from(w[at + 1]) << 32;
        let row = (u64::from(w[at + 3] >> pitch) + 1) * element;
        let slice = (low(w[at + 4], *slice) + 1) * element;
        let (x, y, z) = (low(w[at + 2], *xy), low(w[at + 2] >> 16, *xy), low(w[at + 3], *z));
        Place { start: base.wrapping_add(x * element + y * row + z * slice), row, slice }
    };
    let (from, to) = (side(1), side(6));
    let width = (low(w[11], *xy) + 1) * element;
    let (rows, slices) = (low(w[11] >> 16, *xy) + 1, low(w[12], *z) + 1);
    let plan = Plan { width, rows, slices, to, from: Source::Memory(from) };
    let pieces = || plan.offsets(from).zip(plan.offsets(to));
    let touches = || {
        pieces().fold(Footprint::default(), |mut all, (source, target)| {
            let at = |place: &Place, offset| bytes(place.start.wrapping_add(offset), width);
            all.add(Footprint::of_copy(Some(at(&from, source)), at(&to, target)));
            all
        })
    };
    in_order(queue, touches, || {
        if queue.gpu.config().idle || carry_out(&queue.gpu.view, &plan).is_some() {
            return Ok(());
        }
        // In several pieces, one over the other, or a fault.
        for (source, target) in pieces() {
            copy(queue, from.start.wrapping_add(source), to.start.wrapping_add(target), width)?;
        }
        Ok(())
    })
}
