//! A code object as the runtime has loaded it. ROCr names the memory that its image was in, and a program may give that back
//! as soon as it is loaded, as CuPy does; then what is left are the segments, with the names of kernels and without lines.

use luthier_loader::{CodeObject, Container};

/// Copies bytes of the process's.
type Read = fn(u64, &mut [u8]) -> Option<()>;

/// Sizes of the header of a 64-bit ELF file and of its program headers.
const HEADER: usize = 64;
const ENTRY: usize = 56;
const PT_LOAD: u64 = 1;
/// What segments may come to.
const MOST: u64 = 1 << 30;
/// Bytes by which an image is recognized: the header, and the beginning of what names the kernels.
const RECOGNIZED: usize = 4096;

/// A whole number of some bytes.
fn number<const BYTES: usize>(data: &[u8], at: usize) -> Option<u64> {
    let mut wide = [0; 8];
    wide[..BYTES].copy_from_slice(data.get(at..at + BYTES)?);
    Some(u64::from_le_bytes(wide))
}

/// Header and program headers of what is loaded at `base`.
fn headers(base: u64, read: Read) -> Option<([u8; HEADER], Vec<u8>)> {
    let mut header = [0; HEADER];
    read(base, &mut header)?;
    // 64 bits, the lower byte first.
    if !header.starts_with(b"\x7fELF\x02\x01") || number::<2>(&header, 54)? != ENTRY as u64 {
        return None;
    }
    let mut entries = vec![0; ENTRY * number::<2>(&header, 56)? as usize];
    read(base.checked_add(number::<8>(&header, 32)?)?, &mut entries)?;
    Some((header, entries))
}

/// A file that has the segments where they are loaded; None where no code object is.
pub fn object(base: u64, read: Read) -> Option<CodeObject> {
    let (mut header, mut entries) = headers(base, read)?;
    let mut file = Vec::new();
    for entry in entries.chunks_exact_mut(ENTRY) {
        let (vaddr, size) = (number::<8>(entry, 16)?, number::<8>(entry, 32)?);
        entry[8..16].copy_from_slice(&vaddr.to_le_bytes());
        if number::<4>(entry, 0)? == PT_LOAD {
            let end = vaddr.checked_add(size).filter(|&end| end <= MOST)? as usize;
            file.resize(file.len().max(end), 0);
            read(base.checked_add(vaddr)?, &mut file[vaddr as usize..end])?;
        }
    }
    // Where section headers are, how large, how many, and which has their names: they are not loaded.
    header[40..48].fill(0);
    header[58..64].fill(0);
    let table = number::<8>(&header, 32)? as usize;
    file.get_mut(..HEADER)?.copy_from_slice(&header);
    file.get_mut(table..table.checked_add(entries.len())?)?.copy_from_slice(&entries);
    Container::from_bytes(file).ok()?.code_object(0).ok()
}

/// Whether what lies at `image` still is the file that was loaded at `base`. The file's own headers say where its beginning is:
/// those of an instrumented one are behind all that is loaded.
pub fn is_of(image: u64, base: u64, read: Read) -> bool {
    let same = || {
        let (_, entries) = headers(image, read)?;
        let is_first = |entry: &&[u8]| number::<4>(entry, 0) == Some(PT_LOAD) && number::<8>(entry, 16) == Some(0);
        let first = entries.chunks_exact(ENTRY).find(is_first)?;
        let size = RECOGNIZED.min(number::<8>(first, 32)? as usize);
        let (mut one, mut other) = (vec![0; size], vec![0; size]);
        read(image.checked_add(number::<8>(first, 8)?)?, &mut one)?;
        read(base, &mut other)?;
        Some(size != 0 && one == other)
    };
    same().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::super::bytes;
    use super::*;

    #[test]
    fn what_is_no_code_object_is_none() {
        let text = vec![7u8; 8192];
        let address = text.as_ptr().expose_provenance() as u64;
        assert!(object(address, bytes).is_none() && object(8, bytes).is_none());
        assert!(!is_of(address, address, bytes));
    }

    #[test]
    fn headers_that_lie_are_refused() {
        let mut text = vec![0u8; 8192];
        text[..6].copy_from_slice(b"\x7fELF\x02\x01");
        text[32] = 64;
        text[54] = ENTRY as u8;
        text[56] = 1;
        text[64] = PT_LOAD as u8;
        let address = |text: &[u8]| text.as_ptr().expose_provenance() as u64;
        // Of no bytes, beyond the end of addresses, and too large.
        for (vaddr, size) in [(0, 0), (u64::MAX, 8), (16, MOST)] {
            text[64 + 16..64 + 24].copy_from_slice(&u64::to_le_bytes(vaddr));
            text[64 + 32..64 + 40].copy_from_slice(&u64::to_le_bytes(size));
            assert!(object(address(&text), bytes).is_none(), "{vaddr:#x} {size:#x}");
        }
    }
}
