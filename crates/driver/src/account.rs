//! What the process that started the program hears of it, however it ends: how many launches there were, and what strict mode
//! found.
//!
//! It is a file that `luthier trace` has made (python/luthier/agent/account.py has the same layout). Its first part is a table
//! of words of 64 bits, four in a row: one row for the file, one for each process. Behind it there is a line of JSON for
//! each finding. Each process holds a lock for reading, which the kernel takes back when the process ends.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use luthier_emulator::{Finding, Reached, SourceFrame};
use serde_json::{Value, json};

use crate::log::say;

/// The file's path.
pub const VARIABLE: &str = "LUTHIER_MOCK_ACCOUNT";
/// The first word of the file: `luthier1`.
const MAGIC: u64 = u64::from_le_bytes(*b"luthier1");
/// Rows, and words of each. The second word of row 0 counts processes.
const ROWS: usize = 1024;
const WORDS: usize = 4;
/// Words of a process's row.
const PID: usize = 0;
const LAUNCHES: usize = 1;
const CHECKED: usize = 2;
const FINDINGS: usize = 3;
/// Findings of a process that are written down; all are counted.
const MOST: u64 = 10_000;

/// A process's row, and the file.
pub struct Account {
    file: File,
    table: NonNull<AtomicU64>,
    row: usize,
}

// SAFETY: the table is words that are accessed atomically, and is never unmapped.
unsafe impl Send for Account {}
// SAFETY: as above.
unsafe impl Sync for Account {}

impl Account {
    /// The one that the environment names. Where it cannot be kept, a line says so.
    pub fn of_environment() -> Option<Account> {
        let path = std::env::var_os(VARIABLE).filter(|path| !path.is_empty())?;
        match Account::open(path.as_ref()) {
            Ok(account) => Some(account),
            Err(error) => {
                say(&format!("launches and findings of this process are not counted: {}: {error}", path.display()));
                None
            }
        }
    }

    fn open(path: &std::path::Path) -> std::io::Result<Account> {
        let file = OpenOptions::new().read(true).append(true).open(path)?;
        let bytes = ROWS * WORDS * size_of::<u64>();
        if file.metadata()?.len() < bytes as u64 {
            return Err(std::io::Error::other("it is no account of launches"));
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: takes addresses that nothing has.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        let table = NonNull::new(at).filter(|_| at != libc::MAP_FAILED).ok_or_else(std::io::Error::last_os_error)?;
        let mut account = Account { file, table: table.cast(), row: 0 };
        if account.word(0).load(Ordering::Relaxed) != MAGIC {
            return Err(std::io::Error::other("it is no account of launches"));
        }
        // Those for whom there is no room share the last row.
        account.row = (account.word(1).fetch_add(1, Ordering::Relaxed) as usize).min(ROWS - 2) + 1;
        account.word(PID).store(std::process::id().into(), Ordering::Relaxed);
        // SAFETY: plain structure of numbers, all of the file.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_RDLCK as libc::c_short;
        // SAFETY: as above. It is for the command that waits for all processes: without it, this one is not waited for.
        unsafe { libc::fcntl(account.file.as_raw_fd(), libc::F_SETLK, &raw const lock) };
        Ok(account)
    }

    fn word(&self, which: usize) -> &AtomicU64 {
        // SAFETY: within the table.
        unsafe { self.table.add(self.row * WORDS + which).as_ref() }
    }

    /// A kernel is launched.
    pub fn launch(&self) {
        self.word(LAUNCHES).fetch_add(1, Ordering::Relaxed);
    }

    /// Strict mode has looked at a launch.
    pub fn checked(&self) {
        self.word(CHECKED).fetch_add(1, Ordering::Relaxed);
    }

    /// Strict mode has found something. Whether it is written down.
    pub fn finding(&self, told: &Told) -> bool {
        if self.word(FINDINGS).fetch_add(1, Ordering::Relaxed) >= MOST {
            return false;
        }
        let mut text = described(told).to_string();
        text.push('\n');
        // In one piece: others write there as well. What does not fit on the machine is counted.
        (&self.file).write(text.as_bytes()).is_ok_and(|written| written == text.len())
    }
}

/// What strict mode has found, and where.
pub struct Told<'a> {
    pub gpu: u32,
    pub launch: u64,
    pub finding: &'a Finding,
    /// What lies at its address.
    pub place: Option<&'a str>,
    /// What it says, for people.
    pub line: &'a str,
}

fn described(told: &Told) -> Value {
    let f = told.finding;
    let other =
        f.other.as_ref().map(|o| json!({"pc": o.pc, "text": o.text, "wave": o.wave, "source": sources(&o.source)}));
    json!({
        "process": std::process::id(), "gpu": told.gpu, "launch": told.launch, "kind": f.kind.name(), "kernel": f.kernel,
        "pc": f.pc, "text": f.text, "workgroup": f.workgroup, "wave": f.wave, "lane": f.lane, "address": f.address,
        "message": f.message, "other": other, "original_pc": f.original_pc, "source": sources(&f.source),
        "count": f.extent.count, "lowest": reached(f.extent.lowest), "highest": reached(f.extent.highest),
        "place": told.place, "line": told.line,
    })
}

fn reached(end: Option<Reached>) -> Option<Value> {
    end.map(|at| json!({"address": at.address, "workgroup": at.workgroup, "wave": at.wave, "lane": at.lane}))
}

fn sources(frames: &[SourceFrame]) -> Value {
    frames.iter().map(|f| json!({"function": f.function, "file": f.file, "line": f.line, "column": f.column})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_have_rows_and_what_is_no_account_is_left_alone() {
        let path = std::env::temp_dir().join(format!("luthier-account-{}", std::process::id()));
        std::fs::write(&path, [0; ROWS * WORDS * 8]).expect("written");
        assert!(Account::open(&path).is_err());
        let mut bytes = vec![0; ROWS * WORDS * 8];
        bytes[..8].copy_from_slice(b"luthier1");
        std::fs::write(&path, &bytes).expect("written");
        let (one, two) = (Account::open(&path).expect("one"), Account::open(&path).expect("two"));
        one.launch();
        one.checked();
        two.launch();
        two.launch();
        let words: Vec<u64> = std::fs::read(&path)
            .expect("read")
            .chunks(8)
            .take(12)
            .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
            .collect();
        let pid = u64::from(std::process::id());
        assert_eq!(words, [MAGIC, 2, 0, 0, pid, 1, 1, 0, pid, 2, 0, 0]);
        one.word(FINDINGS).store(MOST, Ordering::Relaxed);
        std::fs::remove_file(&path).expect("removed");
        assert!(Account::open(&path).is_err());
    }
}
