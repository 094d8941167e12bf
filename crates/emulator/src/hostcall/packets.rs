//! Packets of host calls in device memory.
//!
//! | at | what |
//! |---|---|
//! | 0, 8 | addresses of the headers and of the payloads |
//! | 16 | the signal that is added to: its address |
//! | 24, 32 | tops of the stacks of free packets and of ready ones |
//! | 40 | the bits of a link that are a packet's number; those above count, so that no link comes twice |
//!
//! A header has the link to the next packet of its stack (8 bytes), the lanes that ask (8), the service (4) and a word whose
//! lowest bit says that the packet waits to be served. A payload has eight 64-bit words for each of 64 lanes; the first two
//! of a lane's are its answer as well.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use crate::buffer::Buffer;
use crate::memory::{HostPtr, Memory, Recent};

const HEADERS: u64 = 0;
const PAYLOADS: u64 = 8;
const DOORBELL: u64 = 16;
const FREE: u64 = 24;
const READY: u64 = 32;
const MASK: u64 = 40;
/// Where the signal is, a structure of HSA's: its kind, its value, where an event's number goes, and the number.
const SIGNAL: u64 = 64;
const SIGNAL_MAILBOX: u64 = SIGNAL + 16;
/// Where that number goes.
const MAILBOX: u64 = 128;
const FIRST_HEADER: u64 = 192;
const HEADER: u64 = 24;
const PAYLOAD: u64 = 64 * 64;

/// A packet that waits to be served.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    header: u64,
    payload: u64,
    pub lanes: u64,
    pub service: u32,
}

/// Lays out packets for `waves` waves, and gives their addresses.
pub fn place(memory: &mut Memory, waves: u64) -> Option<Range<u64>> {
    let count = waves.max(2).checked_next_power_of_two().filter(|&count| count <= 1 << 20)?;
    let payloads = (FIRST_HEADER + HEADER * count).next_multiple_of(64);
    let len = payloads + PAYLOAD * count;
    let start = memory.next_address(len);
    let buffer = Arc::new(Buffer::zeroed(len)?);
    if !memory.insert_exact(start, len, true, buffer) {
        return None;
    }
    let put = |at: u64, value: u64| memory.write(start + at, &value.to_le_bytes()).ok();
    put(HEADERS, start + FIRST_HEADER)?;
    put(PAYLOADS, start + payloads)?;
    put(DOORBELL, start + SIGNAL)?;
    put(SIGNAL_MAILBOX, start + MAILBOX)?;
    put(MASK, count - 1)?;
    // A link of 0 ends a stack, so that packet 0 is linked to as if it had been there once before.
    put(FIRST_HEADER + HEADER, count)?;
    for number in 2..count {
        put(FIRST_HEADER + HEADER * number, number - 1)?;
    }
    put(FREE, count - 1)?;
    Some(start..start + len)
}

fn word(memory: &Memory, address: u64) -> Result<HostPtr, String> {
    let mut recent = Recent::NONE;
    memory
        .resolve(&mut recent, address, 8, true)
        .ok()
        .filter(|place| place.is_aligned(8))
        .ok_or_else(|| format!("the kernel has spoiled its host calls: there is no packet at {address:#x}"))
}

fn load(memory: &Memory, address: u64) -> Result<u64, String> {
    Ok(word(memory, address)?.a64().load(Acquire))
}

/// Takes the packets that are ready, the oldest first.
pub fn ready(memory: &Memory, buffer: u64) -> Result<Vec<Packet>, String> {
    let (headers, payloads) = (load(memory, buffer + HEADERS)?, load(memory, buffer + PAYLOADS)?);
    let mask = load(memory, buffer + MASK)?;
    let mut link = word(memory, buffer + READY)?.a64().swap(0, AcqRel);
    let mut found = Vec::new();
    while link != 0 {
        if found.len() as u64 > mask {
            return Err("the kernel has spoiled its host calls: the packets that are ready have no end".into());
        }
        let number = link & mask;
        let header = headers.wrapping_add(HEADER.wrapping_mul(number));
        let service = load(memory, header.wrapping_add(16))? as u32;
        let payload = payloads.wrapping_add(PAYLOAD.wrapping_mul(number));
        found.push(Packet { header, payload, lanes: load(memory, header.wrapping_add(8))?, service });
        link = load(memory, header)?;
    }
    found.reverse();
    Ok(found)
}

impl Packet {
    fn slot(&self, lane: usize) -> u64 {
        self.payload.wrapping_add(64 * lane as u64)
    }

    /// What a lane asks.
    pub fn words(&self, memory: &Memory, lane: usize) -> Result<[u64; 8], String> {
        let mut words = [0; 8];
        for (at, to) in (self.slot(lane)..).step_by(8).zip(&mut words) {
            *to = load(memory, at)?;
        }
        Ok(words)
    }

    pub fn answer(&self, memory: &Memory, lane: usize, answer: u64) -> Result<(), String> {
        word(memory, self.slot(lane))?.a64().store(answer, Release);
        Ok(())
    }

    /// The waiting wave goes on.
    pub fn done(&self, memory: &Memory) -> Result<(), String> {
        word(memory, self.header.wrapping_add(16))?.at(4).a32().fetch_and(!1, Release);
        Ok(())
    }
}

/// The device library that came after ROCm 7 has bits of packets in use where this layout has the signal's address: what
/// it sets is the signal's kind, which nothing else touches.
pub fn is_other_layout(memory: &Memory, buffer: u64) -> bool {
    load(memory, buffer + SIGNAL).is_ok_and(|kind| kind != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(memory: &Memory, address: u64) -> u64 {
        load(memory, address).unwrap()
    }

    /// What the device library does: takes a free packet, fills it, and makes it ready.
    fn ask(memory: &Memory, buffer: u64, service: u32, word: u64) -> u64 {
        let top = get(memory, buffer + FREE);
        let header = get(memory, buffer + HEADERS) + HEADER * (top & get(memory, buffer + MASK));
        memory.write(buffer + FREE, &get(memory, header).to_le_bytes()).unwrap();
        memory.write(header + 8, &1u64.to_le_bytes()).unwrap();
        memory.write(header + 16, &(u64::from(service) | 1 << 32).to_le_bytes()).unwrap();
        let payload = get(memory, buffer + PAYLOADS) + PAYLOAD * (top & get(memory, buffer + MASK));
        memory.write(payload, &word.to_le_bytes()).unwrap();
        memory.write(header, &get(memory, buffer + READY).to_le_bytes()).unwrap();
        memory.write(buffer + READY, &top.to_le_bytes()).unwrap();
        top
    }

    #[test]
    fn every_packet_is_free_once_and_served_in_its_turn() {
        let mut memory = Memory::new();
        let buffer = place(&mut memory, 5).unwrap().start;
        let taken: Vec<u64> = (0..8).map(|n| ask(&memory, buffer, 2, 100 + n)).collect();
        let numbers: std::collections::BTreeSet<u64> = taken.iter().map(|link| link & 7).collect();
        assert!(taken.iter().all(|&link| link != 0) && numbers.len() == 8 && get(&memory, buffer + FREE) == 0);
        let all = ready(&memory, buffer).unwrap();
        let words: Vec<u64> = all.iter().map(|packet| packet.words(&memory, 0).unwrap()[0]).collect();
        assert_eq!(words, (100..108).collect::<Vec<u64>>());
        assert!(ready(&memory, buffer).unwrap().is_empty());
        all[0].answer(&memory, 0, 7).unwrap();
        all[0].done(&memory).unwrap();
        assert_eq!((all[0].words(&memory, 0).unwrap()[0], get(&memory, all[0].header + 16)), (7, 2));
        assert_eq!(get(&memory, all[1].header + 16), 2 | 1 << 32);
    }

    #[test]
    fn spoiled_packets_are_refused() {
        let mut memory = Memory::new();
        let buffer = place(&mut memory, 2).unwrap().start;
        assert!(!is_other_layout(&memory, buffer));
        let link = ask(&memory, buffer, 2, 0);
        memory.write(get(&memory, buffer + HEADERS) + HEADER * (link & 1), &link.to_le_bytes()).unwrap();
        assert!(ready(&memory, buffer).is_err_and(|error| error.contains("have no end")));
        ask(&memory, buffer, 2, 0);
        memory.write(buffer + HEADERS, &64u64.to_le_bytes()).unwrap();
        assert!(ready(&memory, buffer).is_err_and(|error| error.contains("there is no packet at")));
        memory.write(buffer + SIGNAL, &1u64.to_le_bytes()).unwrap();
        assert!(is_other_layout(&memory, buffer));
    }
}
