//! Where code objects come from: huge fat binaries, one entry of each read, ranges of files, memory, URIs.

mod support;

use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use luthier_loader::*;
use support::{bundle, small_object};

fn scratch(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// What this process has read from files so far, in bytes.
fn bytes_read() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// A plain bundle of entries of a gigabyte each. Only the one at `filled` is there; the rest is a hole.
fn huge_bundle(path: &PathBuf, object: &[u8], count: u64, filled: u64) {
    let mut file = std::fs::File::create(path).unwrap();
    let (mut table, gigabyte) = (b"__CLANG_OFFLOAD_BUNDLE__".to_vec(), 1u64 << 30);
    table.extend(count.to_le_bytes());
    for index in 0..count {
        let processor =
            ["gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200", "gfx1201"][index as usize];
        let id = format!("hipv4-amdgcn-amd-amdhsa--{processor}");
        let size = if index == filled { object.len() as u64 } else { gigabyte };
        [4096 + index * gigabyte, size, id.len() as u64].iter().for_each(|n| table.extend(n.to_le_bytes()));
        table.extend(id.as_bytes());
    }
    file.write_all(&table).unwrap();
    file.seek(SeekFrom::Start(4096 + filled * gigabyte)).unwrap();
    file.write_all(object).unwrap();
    file.set_len(4096 + count * gigabyte).unwrap();
}

#[luthier_needs::needs(llvm)]
#[test]
fn of_a_file_with_many_entries_only_one_is_read() {
    let Some(object) = small_object(&[]) else { return };
    let path = scratch("huge");
    huge_bundle(&path, &object, 8, 2);
    let before = bytes_read();
    let container = Container::open(&path).unwrap();
    assert_eq!((container.kind(), container.entries().len()), (ContainerKind::Bundle, 8));
    let listed = bytes_read() - before;
    let entry = container.select(&"gfx90a:sramecc+:xnack-".parse().unwrap()).unwrap()[0].index;
    assert_eq!(container.code_object(entry).unwrap().kernels().len(), 2);
    let read = bytes_read() - before;
    std::fs::remove_file(&path).unwrap();
    // The table, the block after it, and the entry, of eight gigabytes. /proc/self/io counts for all threads of this
    // test's process, whose other tests read little.
    assert!(listed < 4 << 20, "listing the entries read {listed} bytes");
    assert!(read < (4 << 20) + object.len() as u64, "opening one entry read {read} bytes");
}

#[luthier_needs::needs(llvm)]
#[test]
fn ranges_of_files_and_memory_are_containers_too() {
    let Some(object) = small_object(&[]) else { return };
    let path = scratch("range");
    let mut file = vec![0xee; 1000];
    file.extend(&object);
    file.extend([0xee; 500]);
    std::fs::write(&path, &file).unwrap();
    let size = object.len() as u64;
    let same = |container: Container| assert!(container.read(0).unwrap()[..] == object[..]);
    same(Container::open_range(&path, 1000, size).unwrap());
    let uri = CodeObjectUri::File { path: path.clone(), range: Some((1000, size)) };
    assert_eq!(uri.to_string().parse::<CodeObjectUri>().unwrap(), uri);
    same(uri.open().unwrap());
    assert!(matches!(Container::open_range(&path, 1000, size + 501), Err(LoadError::Truncated { .. })));
    assert!(matches!(Container::open_range(&path, u64::MAX, 2), Err(LoadError::Truncated { .. })));
    std::fs::remove_file(&path).unwrap();

    let address = object.as_ptr() as u64;
    same(Container::from_memory(None, address, size).unwrap());
    let uri = CodeObjectUri::Memory { process: std::process::id(), address, size };
    assert_eq!(uri.to_string().parse::<CodeObjectUri>().unwrap(), uri);
    same(uri.open().unwrap());
    // A bundle in memory, and what is not mapped.
    let entries = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx90a", &object)]);
    let container = Container::from_memory(None, entries.as_ptr() as u64, entries.len() as u64).unwrap();
    assert_eq!(container.kind(), ContainerKind::Bundle);
    assert!(matches!(Container::from_memory(None, 4096, size), Err(LoadError::Io { .. })));
}

#[test]
fn names_of_loaded_objects_parse() {
    let parse = |text: &str| text.parse::<CodeObjectUri>();
    assert_eq!(
        parse("file:///a%20b/c.so#offset=0x10&size=32").unwrap(),
        CodeObjectUri::File { path: "/a b/c.so".into(), range: Some((16, 32)) }
    );
    assert_eq!(parse("file:///x.hsaco").unwrap(), CodeObjectUri::File { path: "/x.hsaco".into(), range: None });
    assert_eq!(
        parse("memory://7#offset=0x1000&size=4").unwrap(),
        CodeObjectUri::Memory { process: 7, address: 0x1000, size: 4 }
    );
    for bad in
        ["/x", "http://x", "memory://7", "memory://x#offset=1&size=2", "file:///%zz", "file:///x#size=1&offset=2"]
    {
        assert!(matches!(parse(bad), Err(LoadError::BadUri { .. })), "{bad}");
    }
}

#[luthier_needs::needs(llvm)]
#[test]
fn a_file_that_shrinks_is_an_error() {
    let Some(object) = small_object(&[]) else { return };
    let path = scratch("shrinking");
    std::fs::write(&path, bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx90a", &object)])).unwrap();
    let container = Container::open(&path).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
    assert!(matches!(container.read(0), Err(LoadError::Io { .. })));
    std::fs::remove_file(&path).unwrap();
}
