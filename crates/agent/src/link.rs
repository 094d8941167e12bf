//! The connection to the controller: a Unix socket that keeps messages apart, with open files beside them.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use crate::message::{Asked, LONGEST, MOST_FILES, Said, WAKE};
use crate::ring::{Entry, Ring};

/// Why nothing more can be said.
#[derive(Debug)]
pub enum LinkError {
    Io(io::Error),
    /// The controller is another user's.
    User {
        theirs: u32,
        ours: u32,
    },
    /// It says something that it should not.
    Message(String),
    Ended,
}

impl std::fmt::Display for LinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LinkError::Io(error) => write!(f, "{error}"),
            LinkError::User { theirs, ours } => write!(f, "it belongs to user {theirs}, and this process to {ours}"),
            LinkError::Message(what) => write!(f, "{what}"),
            LinkError::Ended => write!(f, "it has ended"),
        }
    }
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> LinkError {
        LinkError::Io(error)
    }
}

/// How long an answer is looked for before the thread sleeps: to be woken takes as long as most answers.
const PATIENCE: Duration = Duration::from_micros(50);
/// Where that was in vain, perhaps because the controller waits for this processor, the next answers (this many) are slept for.
const SLEEPS: u32 = 64;
/// Between two looks at whether there is room for an entry.
const LOOK: Duration = Duration::from_micros(200);

pub struct Link {
    socket: OwnedFd,
    /// Room for a message.
    room: Vec<u8>,
    /// Answers that are slept for at once.
    sleeps: u32,
    /// Messages that were said.
    said: u64,
    /// Launches that are told beside them.
    ring: Option<Ring>,
}

/// Room for the files that come with a message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 64]);

impl Link {
    /// Connects to the socket at a path, which has to be of this user's.
    pub fn open(path: &str) -> Result<Link, LinkError> {
        // SAFETY: makes a socket.
        let raw = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) };
        if raw < 0 {
            return Err(io::Error::last_os_error().into());
        }
        // SAFETY: it was just made.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        // SAFETY: a plain structure of numbers.
        let mut address: libc::sockaddr_un = unsafe { zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        if path.len() >= address.sun_path.len() {
            return Err(LinkError::Message(format!("the path has {} bytes, too many for a socket", path.len())));
        }
        for (to, from) in address.sun_path.iter_mut().zip(path.bytes()) {
            *to = from.cast_signed();
        }
        let len = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        // SAFETY: the address is as long as it says.
        if unsafe { libc::connect(raw, (&raw const address).cast(), len) } != 0 {
            return Err(io::Error::last_os_error().into());
        }
        let link = Link { socket, room: vec![0; LONGEST], sleeps: 0, said: 0, ring: None };
        link.check_user()?;
        Ok(link)
    }

    pub fn socket(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn check_user(&self) -> Result<(), LinkError> {
        let mut who = libc::ucred { pid: 0, uid: u32::MAX, gid: 0 };
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        let at = (&raw mut who).cast();
        // SAFETY: the structure is as long as it says.
        let done =
            unsafe { libc::getsockopt(self.socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, at, &raw mut len) };
        // SAFETY: has no conditions.
        let ours = unsafe { libc::geteuid() };
        match done {
            0 if who.uid == ours => Ok(()),
            0 => Err(LinkError::User { theirs: who.uid, ours }),
            _ => Err(io::Error::last_os_error().into()),
        }
    }

    /// From now on launches can be told without a message.
    pub fn share_ring(&mut self) -> Result<(), LinkError> {
        let (ring, file) = Ring::new()?;
        self.say(&Said::Ring, &[file.as_fd()])?;
        self.ring = Some(ring);
        Ok(())
    }

    /// Where the memory for that is, and how many bytes it has.
    pub fn ring_memory(&self) -> Option<(usize, usize)> {
        self.ring.as_ref().map(|ring| (ring.memory().start().expose_provenance(), ring.memory().len()))
    }

    /// Tells of a launch: waits until there is room, and not for an answer. That the controller has ended is noticed when it was
    /// to be woken, or when there is no room any more.
    pub fn put(&mut self, entry: &Entry) -> Result<(), LinkError> {
        let Some(ring) = &mut self.ring else {
            return Err(LinkError::Message("it wants to hear of launches, and has not said so".into()));
        };
        while !ring.has_room().map_err(LinkError::Message)? {
            ended_within(&self.socket, LOOK)?;
        }
        if ring.put(entry, self.said) { self.send(&mut WAKE.to_le_bytes(), &[]) } else { Ok(()) }
    }

    /// Says something, with files.
    pub fn say(&mut self, what: &Said, files: &[BorrowedFd]) -> Result<(), LinkError> {
        let mut text = what.to_bytes().map_err(LinkError::Message)?;
        if text.len() > LONGEST || files.len() > MOST_FILES {
            return Err(LinkError::Message(format!("a message of {} bytes is too long", text.len())));
        }
        self.said += 1;
        self.send(&mut text, files)
    }

    fn send(&self, text: &mut [u8], files: &[BorrowedFd]) -> Result<(), LinkError> {
        let mut part = libc::iovec { iov_base: text.as_mut_ptr().cast(), iov_len: text.len() };
        let mut control = Control([0; 64]);
        // SAFETY: a plain structure of numbers.
        let mut header: libc::msghdr = unsafe { zeroed() };
        (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
        if !files.is_empty() {
            let bytes = (files.len() * size_of::<RawFd>()) as u32;
            header.msg_control = control.0.as_mut_ptr().cast();
            // SAFETY: a computation.
            header.msg_controllen = unsafe { libc::CMSG_SPACE(bytes) } as usize;
            // SAFETY: there is room for `MOST_FILES`, and the first record begins where the room does.
            unsafe {
                let record = libc::CMSG_FIRSTHDR(&raw const header);
                ((*record).cmsg_level, (*record).cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
                (*record).cmsg_len = libc::CMSG_LEN(bytes) as usize;
                for (n, file) in files.iter().enumerate() {
                    libc::CMSG_DATA(record).cast::<RawFd>().add(n).write_unaligned(file.as_raw_fd());
                }
            }
        }
        loop {
            // SAFETY: header and what it points to are there.
            let sent = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL) };
            if sent >= 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EPIPE | libc::ECONNRESET) => return Err(LinkError::Ended),
                _ => return Err(error.into()),
            }
        }
    }

    /// Waits for what the controller says, and the file that comes with it.
    pub fn hear(&mut self) -> Result<(Asked, Option<OwnedFd>), LinkError> {
        let mut part = libc::iovec { iov_base: self.room.as_mut_ptr().cast(), iov_len: self.room.len() };
        let mut control = Control([0; 64]);
        // SAFETY: a plain structure of numbers.
        let mut header: libc::msghdr = unsafe { zeroed() };
        (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
        (header.msg_control, header.msg_controllen) = (control.0.as_mut_ptr().cast(), control.0.len());
        let start = Instant::now();
        let mut how = if self.sleeps == 0 { libc::MSG_DONTWAIT } else { 0 };
        self.sleeps = self.sleeps.saturating_sub(1);
        let len = loop {
            let flags = libc::MSG_CMSG_CLOEXEC | how;
            // SAFETY: header and what it points to are there.
            let got = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut header, flags) };
            if got >= 0 {
                break got as usize;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN) if start.elapsed() < PATIENCE => std::hint::spin_loop(),
                Some(libc::EAGAIN) => (how, self.sleeps) = (0, SLEEPS),
                Some(libc::ECONNRESET) => return Err(LinkError::Ended),
                _ => return Err(error.into()),
            }
        };
        let mut files = received(&header).into_iter();
        if len == 0 {
            return Err(LinkError::Ended);
        }
        if header.msg_flags & libc::MSG_TRUNC != 0 {
            return Err(LinkError::Message("it says more than a message holds".into()));
        }
        if header.msg_flags & libc::MSG_CTRUNC != 0 {
            // There is room for more than it sends.
            let what = "the file that comes with what it says cannot be opened: this process has as many as it may";
            return Err(LinkError::Message(what.into()));
        }
        let asked = Asked::of_bytes(&self.room[..len]);
        let asked = asked.map_err(|e| LinkError::Message(format!("it says something unknown: {e}")))?;
        Ok((asked, files.next()))
    }
}

/// Waits for some time; an error if the other side of a socket has ended.
fn ended_within(socket: &OwnedFd, time: Duration) -> Result<(), LinkError> {
    let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 };
    let time = libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: one structure, filled, and a time.
    let done = unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, std::ptr::null()) };
    // With a signal it is looked once more, by the caller.
    if done > 0 { Err(LinkError::Ended) } else { Ok(()) }
}

/// The files that came with a message; they are closed if they are not taken.
fn received(header: &libc::msghdr) -> Vec<OwnedFd> {
    let mut files = Vec::new();
    // SAFETY: the kernel has filled in the records and their length.
    unsafe {
        let mut record = libc::CMSG_FIRSTHDR(header);
        while !record.is_null() {
            if ((*record).cmsg_level, (*record).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let bytes = (*record).cmsg_len - libc::CMSG_LEN(0) as usize;
                for n in 0..bytes / size_of::<RawFd>() {
                    let raw = libc::CMSG_DATA(record).cast::<RawFd>().add(n).read_unaligned();
                    files.push(OwnedFd::from_raw_fd(raw));
                }
            }
            record = libc::CMSG_NXTHDR(header, record);
        }
    }
    files
}
