//! What kernels ask of their host: AMD's host calls, by which the device library prints and gets memory for `malloc`, and
//! what they print into a buffer ([`buffered`]).
//!
//! A wave fills a packet ([`packets`]), adds one to a signal, which sends an interrupt (`s_sendmsg`), and then waits until
//! the packet is marked as done. Here the interrupt itself serves all packets that are ready, so that no thread has to look
//! for them, and the waiting wave finds its answer at once. A launch has packets of its own; what is allocated is the
//! device's ([`heap::Heap`]), as with AMD's runtime.
//!
//! Source: the device library (ROCm-Device-Libs, ockl: hostcall_impl.cl, services.cl, dm.cl) and AMD's runtime (clr:
//! devhostcall.cpp, devhcmessages.cpp, devhcprintf.cpp), up to ROCm 7. The library that comes after it (2026) has another
//! layout ([`packets::is_other_layout`]).

pub mod buffered;
mod cut;
pub mod format;
pub mod heap;
mod messages;
mod opencl;
mod packets;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::memory::Memory;
use messages::Messages;
use packets::Packet;

/// Text that a kernel has printed, a call of `printf` each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Printed {
    /// For standard error.
    pub is_error: bool,
    pub text: Vec<u8>,
}

/// What a device's kernels have printed and the host has not taken yet.
#[derive(Default, Debug)]
pub struct Output(Mutex<Vec<Printed>>);

impl Output {
    pub fn push(&self, printed: Printed) {
        lock(&self.0).push(printed);
    }
    pub fn take(&self) -> Vec<Printed> {
        std::mem::take(&mut lock(&self.0))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is inside is whole between any two statements that could panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The services of AMD's host calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Service {
    Print,
    Memory,
}

impl Service {
    fn of(number: u32) -> Result<Service, String> {
        let unsupported = |what: &str| Err(format!("host-call service {number}, {what}, is not supported"));
        match number {
            1 => unsupported("a call of a function of the host's"),
            2 => Ok(Service::Print),
            3 => Ok(Service::Memory),
            4 => unsupported("a report of the address sanitizer's"),
            _ => unsupported("which LLVM does not define"),
        }
    }
}

/// The host calls of one launch.
#[derive(Debug)]
pub struct HostCalls {
    /// Where the device has the packets.
    buffer: Range<u64>,
    output: Arc<Output>,
    /// Also held by the thread that serves, so that one serves at a time.
    messages: Mutex<Messages>,
    /// Something was ready to be served.
    called: AtomicBool,
    /// Nothing is to be served, for the launch is to be taken back; whether something was ready then.
    held: AtomicBool,
    missed: AtomicBool,
}

impl HostCalls {
    /// Puts packets for `waves` waves at a time into memory; `None` if there is no room.
    pub fn new(memory: &mut Memory, waves: u64, output: Arc<Output>) -> Option<HostCalls> {
        let buffer = packets::place(memory, waves)?;
        Some(HostCalls {
            buffer,
            output,
            messages: Mutex::default(),
            called: AtomicBool::default(),
            held: AtomicBool::default(),
            missed: AtomicBool::default(),
        })
    }

    /// The hidden argument.
    pub fn buffer(&self) -> u64 {
        self.buffer.start
    }

    /// Whether the packets are at an address.
    pub fn holds(&self, address: u64) -> bool {
        self.buffer.contains(&address)
    }

    /// Whether a kernel has called.
    pub fn were_made(&self) -> bool {
        self.called.load(Relaxed)
    }

    /// From now on a kernel that calls is stopped: the launch will be taken back.
    pub fn hold(&self) {
        self.missed.store(false, Relaxed);
        self.held.store(true, Relaxed);
    }

    /// Whether a kernel was stopped for a call.
    pub fn were_missed(&self) -> bool {
        self.missed.load(Relaxed)
    }

    /// Calls are served again.
    pub fn go_on(&self) {
        self.held.store(false, Relaxed);
    }

    /// Serves what is ready.
    ///
    /// # Errors
    /// What was asked for is not supported, or makes no sense. The packet stays as it is.
    pub fn serve(&self, memory: &Memory) -> Result<(), String> {
        let mut messages = lock(&self.messages);
        let ready = packets::ready(memory, self.buffer.start)?;
        if !ready.is_empty() && self.held.load(Relaxed) {
            self.missed.store(true, Relaxed);
            return Err("the launch is to be taken back, and what the host does cannot be".to_owned());
        }
        for packet in ready {
            self.called.store(true, Relaxed);
            let service = Service::of(packet.service)?;
            for lane in crate::masks::lanes(packet.lanes) {
                self.answer(memory, &packet, service, lane, &mut messages)?;
            }
            packet.done(memory)?;
        }
        Ok(())
    }

    fn answer(
        &self,
        memory: &Memory,
        packet: &Packet,
        service: Service,
        lane: usize,
        messages: &mut Messages,
    ) -> Result<(), String> {
        let words = packet.words(memory, lane)?;
        let answer = match service {
            Service::Print => {
                let (answer, printed) = messages.take(words)?;
                printed.into_iter().for_each(|printed| self.output.push(printed));
                answer
            }
            Service::Memory if words[0] != 0 => {
                if !memory.heap().free(words[0]) {
                    return Err(format!("free() of {:#x}, which malloc() has not given", words[0]));
                }
                0
            }
            // Out of memory, malloc() gives a null pointer.
            Service::Memory => memory.heap().allocate(words[1]).unwrap_or(0),
        };
        packet.answer(memory, lane, answer)
    }

    /// The assertion that has failed, or else what was written to standard error last.
    pub fn last_words(&self) -> Option<String> {
        lock(&self.messages).last_words()
    }

    /// Whether the kernel has used the packets as if they had the layout of a newer device library.
    pub fn is_other_layout(&self, memory: &Memory) -> bool {
        packets::is_other_layout(memory, self.buffer.start)
    }
}
