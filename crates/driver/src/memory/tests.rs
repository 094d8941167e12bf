use super::*;
use crate::events::Events;
use luthier_emulator::memory::Host;

fn memory(devices: &str) -> Arc<Memory> {
    let get = |name: &str| match name {
        "LUTHIER_MOCK" => Some(devices.to_owned()),
        "LUTHIER_MOCK_MEMORY" => Some("64M".into()),
        _ => None,
    };
    Arc::new(Memory::new(Config::read(get).expect("possible")))
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
    memory.deregister(other).expect("is there");
}
