//! What the session and the controller say to each other once they know each other.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::process::{contents, set_variable, thread, write};
use super::{Session, lock};
use crate::calls::{Before, Made};
use crate::link::{Link, LinkError};
use crate::memory::Shared;
use crate::message::{Asked, Said};
use crate::ring::Entry;
use crate::wrap;

impl Session {
    /// Tells the controller something.
    pub fn tell(&self, what: &Said, file: Option<BorrowedFd>) {
        if !self.is_active() {
            return;
        }
        let files: Vec<BorrowedFd> = file.into_iter().collect();
        if let Err(error) = lock(&self.link).say(what, &files) {
            self.lost(&error);
        }
    }

    /// Asks what is to be done with a call.
    pub fn before(&self, call: u64, function: usize, words: &[u64], stack: &[u64]) -> Option<Before> {
        let mut link = lock(&self.link);
        let said = Said::Calling { call, function, thread: thread(), words, stack };
        let answer = link.say(&said, &[]).and_then(|()| match self.hear(&mut link)?.0 {
            Asked::Go { words } => Ok(Before::Run(words)),
            Asked::Skip { result } => Ok(Before::Skip(result)),
            other => Err(LinkError::Message(format!("it says {other:?} when asked about a call"))),
        });
        answer.inspect_err(|error| self.lost(error)).ok()
    }

    /// Tells of a call; where an answer is wanted, gives the result that a tool wants it to have.
    pub fn after(&self, call: &Made, answer: bool) -> Option<u64> {
        if !self.is_active() {
            return None;
        }
        let mut link = lock(&self.link);
        let said = Said::Called { call, thread: thread(), answer };
        let done = link.say(&said, &[]).and_then(|()| match answer {
            false => Ok(call.result),
            true => match self.hear(&mut link)?.0 {
                Asked::Return { result } => Ok(result),
                other => Err(LinkError::Message(format!("it says {other:?} when told of a call"))),
            },
        });
        done.inspect_err(|error| self.lost(error)).ok()
    }

    /// Tells of a launch, and goes on.
    pub fn put(&self, entry: &Entry) {
        if !self.is_active() {
            return;
        }
        if let Err(error) = lock(&self.link).put(entry) {
            self.lost(&error);
        }
    }

    /// Tells of a launch that is over; where the controller wants that, comes back when the tools have heard of it.
    pub fn completed(&self, slot: usize, number: u64, [start, end]: [u64; 2]) {
        if !self.wants.hold {
            self.put(&Entry::Completed { slot, number, start, end });
        } else if self.is_active() {
            self.have_heard(&Said::Completed { slot, number, start, end });
        }
    }

    /// Tells of a launch that is about to begin, and comes back when the tools have heard of it.
    pub fn begins(&self, slot: usize, number: u64) {
        if self.is_active() {
            self.have_heard(&Said::Begins { slot, number });
        }
    }

    fn have_heard(&self, said: &Said) {
        let mut link = lock(&self.link);
        let done = link.say(said, &[]).and_then(|()| match self.hear(&mut link)?.0 {
            Asked::Heard {} => Ok(()),
            other => Err(LinkError::Message(format!("it says {other:?} when told of a launch"))),
        });
        if let Err(error) = done {
            self.lost(&error);
        }
    }

    /// What the controller answers. What it wants to know or to have done first is seen to here.
    pub(crate) fn hear(&self, link: &mut Link) -> Result<(Asked, Option<OwnedFd>), LinkError> {
        loop {
            let done = match link.hear()? {
                (Asked::Read { address, size }, _) => match contents(address, size) {
                    Ok(file) => {
                        link.say(&Said::Contents, &[file.as_fd()])?;
                        continue;
                    }
                    Err(reason) => Err(reason),
                },
                (Asked::Write { address }, Some(file)) => write(address, file),
                (Asked::Keep {}, Some(file)) => match Shared::of_file(&file) {
                    Ok(memory) => {
                        let address = memory.start().expose_provenance() as u64;
                        link.say(&Said::Allocated { address }, &[file.as_fd()])?;
                        lock(&self.kept).push(memory);
                        continue;
                    }
                    Err(error) => Err(error.to_string()),
                },
                (Asked::SetVariable { name, value }, _) => set_variable(&name, &value),
                (Asked::Wrap { functions, on }, _) => wrap::wrap(self, &functions, on),
                other => return Ok(other),
            };
            let said = done.map_or_else(|reason| Said::Failed { reason }, |()| Said::Done);
            link.say(&said, &[])?;
        }
    }
}
