//! What a launch runs.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLockReadGuard, RwLockWriteGuard};

use crate::code::{Answer, Code, Instead, Kernel};
use crate::complete;
use crate::followed::Place;
use crate::hsa::Packet;
use crate::late::Late;
use crate::link::{Link, LinkError};
use crate::memory::Shared;
use crate::message::{Asked, By, Said};
use crate::ring::Entry;
use crate::session::{COUNTERS, SLOTS, Session, UNSEEN, lock, thread};
use crate::wrap::Source;

impl Session {
    fn code(&self) -> RwLockReadGuard<'_, Code> {
        self.code.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn code_mut(&self) -> RwLockWriteGuard<'_, Code> {
        self.code.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a dispatch packet of a queue run what its kernel is to run. Gives the kernel's slot, the launch's number and
    /// its place if it is followed to its end.
    pub fn direct(&'static self, source: Source, packet: &mut Packet) -> Option<(usize, u64, Place)> {
        let address = packet.kernel_object();
        let known = self.code().kernel(address);
        let Some(kernel) = known.or_else(|| self.ask(address)) else {
            self.count(UNSEEN, 0);
            return None;
        };
        let chosen = (kernel.instead.is_some() || kernel.heard) && kernel.wants(packet.grid());
        let mut instead = kernel.instead.filter(|instead| chosen && instead.fits(packet.group()));
        let number = self.launches.fetch_add(1, Ordering::Relaxed);
        let mut is_told = false;
        if self.wants.decide && (kernel.instead.is_some() || chosen) {
            let original = self.decide((kernel.slot, number), source, packet, instead.is_some());
            instead = kernel.instead.filter(|instead| !original && instead.fits(packet.group()));
            is_told = true;
        } else if self.wants.every_launch && chosen {
            let by = By { queue: source.queue, thread: thread() };
            self.put(&Entry::Launched { slot: kernel.slot, number, packet: packet.words(), by });
            is_told = true;
        }
        self.count(kernel.slot, usize::from(instead.is_some()));
        if let Some(instead) = instead {
            packet.set_kernel_object(instead.descriptor);
            packet.grow_private(instead.private);
            packet.grow_group(instead.group);
            if packet.completion_signal() == 0 && !self.wants.complete {
                packet.set_completion_signal(instead.signal);
                self.count(kernel.slot, 2);
                return None;
            }
        }
        // Of what the tools have heard of, they hear the end.
        if instead.is_none() && !(is_told && self.wants.complete) {
            return None;
        }
        let place = complete::follow(self, source, packet, kernel.slot, number)?;
        self.count(kernel.slot, 2);
        Some((kernel.slot, number, place))
    }

    /// One more of a kernel's launches in the ledger.
    fn count(&self, slot: usize, which: usize) {
        if let Some(counter) = self.ledger.counter(COUNTERS * slot + which) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Has the tools look at a launch and change it; whether the original is to run. `instrumented` is what the rules say.
    fn decide(&self, (slot, number): (usize, u64), source: Source, packet: &mut Packet, instrumented: bool) -> bool {
        if !self.is_active() {
            return !instrumented;
        }
        let mut link = lock(&self.link);
        let said = Said::Deciding {
            slot,
            number,
            packet: packet.words(),
            by: By { queue: source.queue, thread: thread() },
            instrumented,
        };
        let answer = link.say(&said, &[]).and_then(|()| match self.hear(&mut link)?.0 {
            Asked::Run { original, packet } => Ok((original, packet)),
            other => Err(LinkError::Message(format!("it says {other:?} when asked about a launch"))),
        });
        match answer {
            Ok((original, changed)) => {
                if let Some(words) = changed {
                    packet.set_words(words);
                }
                original
            }
            Err(error) => {
                self.lost(&error);
                !instrumented
            }
        }
    }

    /// Asks the controller what the launches of a kernel run.
    fn ask(&self, address: u64) -> Option<Arc<Kernel>> {
        if !self.is_active() {
            return None;
        }
        // A thread that waits for an answer has the link first: other threads wait there, and not for what is loaded.
        let link = self.wants.wait.then(|| lock(&self.link));
        let mut code = self.code_mut();
        // Another thread may have asked meanwhile.
        if let Some(known) = code.kernel(address) {
            return Some(known);
        }
        let object = code.object_at(address)?.number;
        let slot = code.new_slot().min(SLOTS - 1);
        match link {
            Some(mut link) => {
                drop(code);
                self.converse(&mut link, address, object, slot)
            }
            None => {
                let kernel = code.set_kernel(address, object, Kernel::new(slot, Answer::default()));
                self.waiting.add(Late { address, object, slot });
                kernel
            }
        }
    }

    /// Says that a kernel is launched, and does what the controller asks for until it has answered.
    pub(crate) fn converse(&self, link: &mut Link, address: u64, object: u64, slot: usize) -> Option<Arc<Kernel>> {
        let answer = self.answer(link, address, object, slot).unwrap_or_else(|error| {
            self.lost(&error);
            Answer::default()
        });
        self.code_mut().set_kernel(address, object, Kernel::new(slot, answer))
    }

    fn answer(&self, link: &mut Link, address: u64, object: u64, slot: usize) -> Result<Answer, LinkError> {
        let delta = self.code_mut().object_at(address).map_or(0, |object| object.loaded.delta);
        link.say(&Said::Launch { object, kernel: address.wrapping_sub(delta), slot }, &[])?;
        loop {
            match self.hear(link)? {
                (Asked::Allocate { size }, _) => match self.allocate(size) {
                    Ok((memory, file, address_there)) => {
                        link.say(&Said::Allocated { address: address_there }, &[file.as_fd()])?;
                        let mut code = self.code_mut();
                        match code.object_at(address).filter(|o| o.number == object) {
                            Some(object) => object.variables.push(memory),
                            None => self.runtime().unlock(&memory),
                        }
                    }
                    Err(reason) => link.say(&Said::Failed { reason }, &[])?,
                },
                (Asked::Instrumented { descriptor, private, group, most_group, signal, rules }, Some(file)) => {
                    match self.take(address, object, file, descriptor) {
                        Ok(descriptor) => {
                            link.say(&Said::Done, &[])?;
                            let instead = Some(Instead { descriptor, private, group, most_group, signal });
                            return Ok(Answer { instead, heard: true, rules });
                        }
                        Err(reason) => {
                            link.say(&Said::Failed { reason }, &[])?;
                            return Ok(Answer::default());
                        }
                    }
                }
                (Asked::Original { heard, rules }, _) => return Ok(Answer { instead: None, heard, rules }),
                (other, _) => return Err(LinkError::Message(format!("it says {other:?} when asked about a launch"))),
            }
        }
    }

    fn allocate(&self, size: u64) -> Result<(Shared, OwnedFd, u64), String> {
        let size = usize::try_from(size).ok().filter(|n| *n > 0 && *n < 1 << 40);
        let size = size.ok_or("the tools' variables are too large")?.next_multiple_of(4096);
        let made = Shared::new(size).map_err(|e| format!("{size} bytes for the tools' variables: {e}"))?;
        let there = self.runtime().lock(&made.0)?;
        Ok((made.0, made.1, there))
    }

    /// Loads the object that stands for the one at an address; gives where its kernel is.
    fn take(&self, address: u64, number: u64, file: OwnedFd, descriptor: u64) -> Result<u64, String> {
        const GONE: &str = "the code object has gone";
        let find = |code: &mut Code| {
            code.object_at(address).filter(|o| o.number == number).map(|o| (o.agent, o.definitions.clone()))
        };
        let (agent, definitions) = find(&mut self.code_mut()).ok_or(GONE)?;
        let bytes = Shared::of_file(&file).map_err(|e| format!("the instrumented code object: {e}"))?;
        let (executable, loaded) = self.runtime().load(agent, &bytes, &definitions)?;
        match self.code_mut().object_at(address).filter(|o| o.number == number) {
            Some(object) => object.ours.push((executable, bytes)),
            None => {
                // SAFETY: made above, and nothing else has it.
                unsafe { (self.runtime().executable_destroy)(executable) };
                return Err(GONE.into());
            }
        }
        Ok(loaded.delta.wrapping_add(descriptor))
    }
}
