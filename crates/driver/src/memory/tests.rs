use super::*;
use crate::abi::Status;
use crate::events::Events;
use luthier_emulator::memory::Host;

fn memory(devices: &str) -> Arc<Memory> {
    let get = |name: &str| match name {
        "LUTHIER_MOCK" => Some(devices.to_owned()),
        "LUTHIER_MOCK_MEMORY" => Some("64M".into()),
        _ => None,
    };
    Arc::new(Memory::new(Config::read(get).expect("possible"), None))
}

fn view(memory: &Arc<Memory>, node: u32) -> View {
    View { memory: Arc::clone(memory), events: Arc::new(Events::new(0)), node }
}

#[test]
fn a_gpu_sees_what_is_mapped_to_it_and_nothing_else() {
    let memory = memory("gfx90a,2");
    let at = memory.allocate(1, 10_000, 0, 0).expect("room");
    let (one, two) = (view(&memory, 1), view(&memory, 2));
    assert!(one.find(at).is_none());
    memory.map(at, Some(&[1])).expect("is there");
    assert!(one.resolve(at, 12288, true).is_ok() && one.resolve(at, 12289, true).is_err() && two.find(at).is_none());
    memory.map(at, None).expect("is there");
    assert_eq!((one.spans().len(), two.spans().len()), (1, 1));
    memory.unmap(at).expect("is there");
    assert!(one.find(at).is_none() && two.spans().is_empty());
    memory.free(at).expect("is there");
    assert_eq!(memory.free(at), Err(Status::Error));
    assert!(one.was_freed(at + 5000) && memory.describe(at + 5000, 1).ends_with("that were freed"));
}

#[test]
fn a_gpu_has_so_much_memory_and_no_more() {
    let memory = memory("gfx90a");
    let half = memory.allocate(1, 40 << 20, 0, 0).expect("room");
    assert_eq!(memory.allocate(1, 40 << 20, 0, 0), Err(Status::NoMemory));
    memory.free(half).expect("is there");
    assert!(memory.allocate(1, 64 << 20, 0, 0).is_ok());
    assert_eq!(memory.allocate(7, 4096, 0, 0), Err(Status::InvalidNode));
    assert_eq!(memory.allocate(1, 0, 0, 0), Err(Status::InvalidParameter));
}

#[test]
fn what_work_under_way_may_know_stays_until_it_is_over() {
    let memory = memory("gfx90a");
    let at = memory.allocate(1, 4096, 0, 0).expect("room");
    let pin = memory.pin();
    let byte: *mut u8 = std::ptr::with_exposed_provenance_mut(at as usize);
    // SAFETY: just allocated, and kept by the pin.
    unsafe { byte.write_volatile(7) };
    memory.free(at).expect("is there");
    // SAFETY: as above.
    assert_eq!(unsafe { byte.read_volatile() }, 7);
    let is_readable = || process::spans().iter().any(|span| (span.start()..span.end()).contains(&at));
    assert!(is_readable());
    drop(pin);
    assert!(!is_readable());
    // Nothing else gets these addresses soon.
    assert!((0..100).all(|_| memory.allocate(1, 4096, 0, 0).is_ok_and(|other| other != at)));
}

#[test]
fn registered_memory_has_an_address_of_its_own_for_gpus() {
    let memory = memory("gfx90a");
    let mut bytes = vec![0u8; 40_000];
    let at = bytes.as_mut_ptr().expose_provenance() as u64;
    memory.register(at, 5000, 0).expect("is there");
    memory.register(at + 5000, 9000, 0).expect("is there");
    let (one, two) =
        (memory.map(at, None).expect("is registered"), memory.map(at + 5000, None).expect("is registered"));
    assert!(one != at && two != one + 5000);
    let gpu = view(&memory, 1);
    assert_eq!(gpu.resolve(two + 3, 8000, true).map(|p| p.addr() as u64), Ok(at + 5003));
    assert!(gpu.find(at).is_none() && gpu.spans().len() == 2);
    for address in [at + 6000, two + 1000] {
        let found = memory.info(address).expect("is registered");
        assert_eq!((found.kind, found.cpu_address, found.gpu_address, found.size), (2, at + 5000, two, 9000));
    }
    memory.deregister(at).expect("is registered");
    memory.deregister(two).expect("is registered");
    assert_eq!((memory.deregister(at), gpu.spans().len()), (Err(Status::NotRegistered), 0));
    assert_eq!(memory.register(0x1000, 4096, 0), Err(Status::Error));
}

#[test]
fn memory_registered_twice_is_seen_until_both_have_unmapped_it() {
    let memory = memory("gfx90a,2");
    let mut bytes = vec![0u8; 5000];
    let at = bytes.as_mut_ptr().expose_provenance() as u64;
    let views = [1, 2].map(|node| view(&memory, node));
    let seen = || views.each_ref().map(|view| view.spans().len());
    for node in [1, 2] {
        memory.register(at, 5000, 0).expect("is there");
        memory.map(at, Some(&[node])).expect("is registered");
    }
    assert_eq!(seen(), [1, 1]);
    memory.unmap(at).expect("is mapped");
    assert_eq!(seen(), [1, 1]);
    memory.unmap(at).expect("is mapped");
    assert_eq!(seen(), [0, 0]);
}

#[test]
fn shared_memory_has_the_same_bytes_in_both_places() {
    let memory = memory("gfx90a");
    let at = memory.allocate(1, 3 << 20, 0, 0).expect("room");
    let byte = |at: u64| std::ptr::with_exposed_provenance_mut::<u8>(at as usize);
    // SAFETY: just allocated.
    unsafe { byte(at + 2_000_000).write_volatile(7) };
    let handle = memory.share(at, 3 << 20).expect("a handle");
    let (other, len) = memory.import(&handle).expect("the same memory");
    // SAFETY: both are mapped.
    unsafe {
        assert_eq!((len, byte(other + 2_000_000).read_volatile()), (3 << 20, 7));
        byte(other).write_volatile(9);
        assert_eq!(byte(at).read_volatile(), 9);
    }
    assert_eq!(memory.import(&[1; 8]).err(), Some(Status::InvalidHandle));
    // By a file handle, from an address inside: the same bytes again, which stay when the first owner has freed them.
    let (fd, from) = memory.export(at + PAGE, PAGE).expect("a handle");
    let (third, _, node) = memory.import_file(fd).expect("the same memory");
    assert_eq!((from, node, memory.export(at, 4 << 20).err()), (PAGE, 1, Some(Status::InvalidParameter)));
    memory.free(at).expect("is there");
    // SAFETY: mapped, and the handle is this test's.
    unsafe {
        assert_eq!((byte(third).read_volatile(), byte(other + 2_000_000).read_volatile()), (9, 7));
        libc::close(fd);
    }
    memory.deregister(other).expect("is there");
    memory.deregister(third).expect("is there");
}

#[test]
fn memory_and_addresses_are_made_apart_and_put_together() {
    let memory = memory("gfx90a,2");
    let at = memory.reserve(16 * PAGE, PAGE, None).expect("room");
    let piece = memory.create(1, 2 * PAGE, 0).expect("room");
    let (fd, _) = memory.export(piece, 2 * PAGE).expect("a handle");
    let buffers = [1, 2].map(|node| memory.open_buffer(node, fd).expect("ours").0);
    let (one, two) = (view(&memory, 1), view(&memory, 2));
    memory.put_buffer(buffers[0], 0, 2 * PAGE, at + PAGE).expect("reserved");
    assert!(one.find(at).is_none() && one.resolve(at + PAGE, 2 * PAGE, true).is_ok() && two.find(at + PAGE).is_none());
    assert!(one.resolve(at + 3 * PAGE - 1, 2, true).is_err() && one.spans().len() == 1);
    // Taken, outside of what is reserved, and beyond the piece.
    for (offset, address) in [(0, at + 2 * PAGE), (0, at + 15 * PAGE), (PAGE, at + 4 * PAGE)] {
        assert_eq!(memory.put_buffer(buffers[0], offset, 2 * PAGE, address), Err(Status::InvalidParameter));
    }
    memory.put_buffer(buffers[1], 0, 2 * PAGE, at + PAGE).expect("the same for the other");
    // Both GPUs and another address have the same bytes.
    memory.put_buffer(buffers[0], PAGE, PAGE, at + 8 * PAGE).expect("reserved");
    let host = |view: &View, address| view.resolve(address, 4, true).expect("mapped").cast::<u32>();
    // SAFETY: mapped, and nothing else has it.
    unsafe {
        host(&two, at + 2 * PAGE).write_volatile(77);
        assert_eq!(host(&one, at + 8 * PAGE).read_volatile(), 77);
    }
    assert_eq!(memory.free(at), Err(Status::Error));
    memory.take_buffer(buffers[0], at + PAGE).expect("there");
    assert!(one.find(at + PAGE).is_none() && two.find(at + PAGE).is_some());
    memory.take_buffer(buffers[1], at + PAGE).expect("there");
    memory.take_buffer(buffers[0], at + 8 * PAGE).expect("there");
    memory.free(piece).expect("nothing has it");
    memory.free(at).expect("empty");
    assert_eq!(memory.free(at), Err(Status::Error));
    assert_eq!(memory.place_of(buffers[0]).err(), Some(Status::InvalidHandle));
    // SAFETY: ours.
    unsafe { libc::close(fd) };
}

#[test]
fn addresses_are_those_that_are_wanted_or_aligned() {
    let memory = memory("gfx90a");
    let at = memory.reserve(8 << 20, 4 << 20, None).expect("room");
    assert!(at.is_multiple_of(4 << 20));
    assert_eq!(memory.reserve(PAGE, PAGE, Some(at)), Err(Status::NoMemory));
    memory.free(at).expect("empty");
    assert_eq!(memory.reserve(8 << 20, PAGE, Some(at)), Ok(at));
    assert_eq!(memory.reserve(PAGE, PAGE, Some(0)), Err(Status::InvalidParameter));
    assert_eq!(memory.reserve(PAGE, PAGE, Some(at + 1)), Err(Status::InvalidParameter));
}

#[test]
fn memory_without_an_address_counts_and_ends_with_its_last_owner() {
    let (memory, other) = (memory("gfx90a"), memory("gfx90a"));
    let piece = memory.create(1, 40 << 20, 0).expect("room");
    assert_eq!(memory.create(1, 40 << 20, 0), Err(Status::NoMemory));
    let byte = |at: u64| std::ptr::with_exposed_provenance_mut::<u8>(at as usize);
    // SAFETY: a piece's handle is where the driver has it.
    unsafe { byte(piece).write_volatile(7) };
    let (fd, _) = memory.export(piece, 40 << 20).expect("a handle");
    assert_eq!(memory.adopt(fd), Ok((piece, 40 << 20, 1)));
    let (there, len, node) = other.adopt(fd).expect("as another process");
    memory.free(piece).expect("there");
    assert_eq!((len, node, memory.available(1)), (40 << 20, 1, 64 << 20));
    // SAFETY: as above; the other one has it still.
    assert_eq!(unsafe { byte(there).read_volatile() }, 7);
    other.free(there).expect("there");
    for wrong in [-1, 0, 1 << 20] {
        assert!(memory.adopt(wrong).is_err());
    }
    // SAFETY: ours.
    unsafe { libc::close(fd) };
}
