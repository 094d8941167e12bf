//! Where the host's threads are: an instruction of a file that the process has mapped.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use luthier_emulator::SourceFrame;
use luthier_loader::HostFile;

/// Files whose code is the runtime's own, by how their names begin. What it does to its memory it orders itself.
const RUNTIME: [&str; 10] = [
    "libamdhip64.",
    "libhsa-runtime64.",
    "libhsakmt.",
    "libdtif.",
    "libamd_comgr.",
    "libamdocl64.",
    "libluthier-",
    "librocprofiler",
    "libroctracer64.",
    "libomptarget.",
];

/// An instruction of the host's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    pub pc: u64,
    /// The file that has it, and where in it; none if it is in no file.
    pub place: Option<(Arc<str>, u64)>,
}

impl Code {
    pub fn is_the_runtimes(&self) -> bool {
        self.place.as_ref().is_some_and(|(path, _)| {
            let name = Path::new(&**path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
            RUNTIME.iter().any(|known| name.starts_with(known))
        })
    }

    /// The function and the file, and where that is in the source. Reads the file.
    pub fn described(&self) -> (String, Vec<SourceFrame>) {
        let Some((path, offset)) = &self.place else { return ("the host".into(), Vec::new()) };
        let Ok(file) = HostFile::open(&**path) else { return (format!("{path}+{offset:#x}"), Vec::new()) };
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let frames = file.frames(*offset).into_iter().map(|f| SourceFrame {
            function: owned(f.function),
            file: owned(f.file),
            line: f.line,
            column: f.column,
        });
        let frames: Vec<SourceFrame> = frames.collect();
        let function = frames.last().and_then(|f| f.function.clone()).or_else(|| owned(file.function(*offset)));
        let text = function.map_or_else(|| format!("{path}+{offset:#x}"), |function| format!("{function} in {path}"));
        (text, frames)
    }
}

/// Code that the process has mapped: where, where in its file, and the file.
struct Mapped {
    addresses: Range<u64>,
    offset: u64,
    path: Arc<str>,
}

/// What the process has mapped, read again when an address is in none of it.
#[derive(Default)]
pub struct Codes(Vec<Mapped>);

impl Codes {
    /// Where a thread is, which waits for a page; address 0 if it is gone.
    pub fn of_thread(&mut self, thread: u32) -> Code {
        // Its last two words are the stack pointer and the program counter, in a system call and outside.
        let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).unwrap_or_default();
        let last = text.split_ascii_whitespace().last().and_then(|word| word.strip_prefix("0x"));
        let pc = last.and_then(|word| u64::from_str_radix(word, 16).ok()).unwrap_or(0);
        if self.find(pc).is_none() {
            self.0 = mapped(&std::fs::read_to_string("/proc/self/maps").unwrap_or_default());
        }
        let place = self.find(pc).map(|code| (Arc::clone(&code.path), code.offset + (pc - code.addresses.start)));
        Code { pc, place }
    }

    fn find(&self, pc: u64) -> Option<&Mapped> {
        self.0.iter().find(|code| code.addresses.contains(&pc))
    }
}

/// The mappings of files that may be executed.
fn mapped(maps: &str) -> Vec<Mapped> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let line = |line: &str| {
        let mut words = line.splitn(6, ' ').map(str::trim);
        let (range, access, offset) = (words.next()?, words.next()?, words.next()?);
        let path = words.nth(2).filter(|path| path.starts_with('/') && access.contains('x'))?;
        let (start, end) = range.split_once('-')?;
        Some(Mapped { addresses: hex(start)?..hex(end)?, offset: hex(offset)?, path: path.into() })
    };
    maps.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_mappings_gives_files_that_may_be_executed() {
        let maps = "\
55d0c0000000-55d0c0002000 r--p 00000000 fe:00 123                        /tmp/a program
55d0c0002000-55d0c0004000 r-xp 00002000 fe:00 123                        /tmp/a program
7f0000000000-7f0000001000 r-xp 00001000 fe:00 9                          /lib/libamdhip64.so.7
7f0000001000-7f0000002000 rwxp 00000000 00:00 0 
7fff00000000-7fff00001000 r-xp 00000000 00:00 0                          [vdso]
";
        let found = mapped(maps);
        let told: Vec<_> = found.iter().map(|code| (code.addresses.start, code.offset, &*code.path)).collect();
        let (own, hip) =
            ((0x55d0_c000_2000, 0x2000, "/tmp/a program"), (0x7f00_0000_0000, 0x1000, "/lib/libamdhip64.so.7"));
        assert_eq!(told, [own, hip]);
        let code = |at: usize| Code { pc: 0, place: Some((Arc::clone(&found[at].path), 0)) };
        assert_eq!([0, 1].map(|at| code(at).is_the_runtimes()), [false, true]);
    }
}
