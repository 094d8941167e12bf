//! What the process itself has mapped.

use luthier_emulator::memory::Span;

/// Whether all pages between two addresses are there.
pub fn is_mapped(start: u64, end: u64) -> bool {
    let Ok(len) = usize::try_from(end - start) else { return false };
    // With MS_ASYNC nothing is written; missing pages are an error all the same.
    // SAFETY: looks at no bytes.
    unsafe { libc::msync(std::ptr::with_exposed_provenance_mut(start as usize), len, libc::MS_ASYNC) == 0 }
}

/// All that can be read, from /proc/self/maps.
pub fn spans() -> Vec<Span> {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut all: Vec<(u64, u64, bool)> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some(access)) = (words.next(), words.next()) else { continue };
        let Some((start, end)) = range.split_once('-') else { continue };
        let (Ok(start), Ok(end)) = (u64::from_str_radix(start, 16), u64::from_str_radix(end, 16)) else { continue };
        if !access.starts_with('r') || end > 1 << 47 || line.ends_with("[vvar]") || line.ends_with("[vvar_vclock]") {
            continue;
        }
        let writable = access.as_bytes().get(1) == Some(&b'w');
        match all.last_mut() {
            Some(last) if last.1 == start && last.2 == writable => last.1 = end,
            _ => all.push((start, end, writable)),
        }
    }
    // SAFETY: the program's memory, which it promises not to take from kernels that use it.
    let span = |(start, end, writable): (u64, u64, bool)| unsafe {
        Span::of_host(start, std::ptr::with_exposed_provenance(start as usize), end - start, writable)
    };
    all.into_iter().map(span).collect()
}
