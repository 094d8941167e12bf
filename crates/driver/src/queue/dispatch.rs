//! Kernel dispatch packets: what the packet processor checks, scratch memory, and the launch itself.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Once};

use luthier_abi::packet;
use luthier_abi::queue::USE_SCRATCH_ONCE;
use luthier_emulator::error::{EmuError, FaultKind};
use luthier_emulator::packet::Identity;
use luthier_emulator::{FindingKind, Packet, Strict};
use luthier_loader::KernelDescriptor;
use luthier_loader::descriptor::Generation;

use super::launch::Launch;
use super::trouble::{Trouble, code};
use super::watch::Patience;
use super::{Queue, blit, fault, signal, told};
use crate::card;
use crate::log::{log, say};
use crate::order::Ticket;

/// What the packet processor asks for in the queue's error signal.
const NEED_SCRATCH: [(u32, i64); 2] = [(64, 1), (32, 0x400)];
const RECLAIM_SCRATCH: i64 = 512;
/// What the runtime answers when there is none.
const GIVEN_UP: i64 = -1;

pub fn run(
    queue: &Queue,
    given: &luthier_abi::Packet,
    address: u64,
    mut ticket: Option<&mut Ticket>,
) -> Result<(), Trouble> {
    let gpu = &queue.gpu;
    let packet::Dispatch { workgroup, grid, private, group: lds, kernel_object: object, kernarg, .. } = given.read();
    let workgroup = workgroup.map(u32::from);
    let refuse = |code: i64, what: String| Err(Trouble::Error(code, what));
    if workgroup.contains(&0) || grid.contains(&0) {
        return refuse(code::DIMENSIONS, format!("a grid of {grid:?} work-items in workgroups of {workgroup:?}"));
    }
    if workgroup.iter().map(|&n| u64::from(n)).product::<u64>() > 1024 {
        return refuse(code::GROUP_SIZE, format!("workgroups of {workgroup:?} have more than 1024 work-items"));
    }
    let most = card::lds(gpu.config().target);
    if lds > most {
        return refuse(code::GROUP_MEMORY, format!("{lds} bytes of LDS are more than the {most} that there are"));
    }
    let Some((descriptor, entry)) = kernel(queue, object) else {
        let near = gpu.view.memory.describe(object, gpu.view.node);
        return refuse(code::CODE, format!("the kernel object {object:#x} is none: it is {near}"));
    };
    let generation = Generation::of(gpu.config().target.name()).unwrap_or(Generation::Gfx90a);
    let lanes = descriptor.wavefront_size(generation);
    if private != 0 {
        scratch(queue, lanes, private)?;
    }
    // Who looks for a mistake counts the program's launches.
    let of_program = gpu.config().strict == Strict::Off || !is_the_runtimes(&gpu.codes.identify(gpu, object));
    let number = gpu.count_launch(of_program);
    if let (Some(order), Some(ticket), false) = (gpu.order(), ticket.as_deref_mut(), of_program) {
        order.is_the_runtimes(ticket);
    }
    log!(
        gpu.config(),
        "queue {}: launch {number}, kernel {object:#x}, grid {grid:?}, workgroup {workgroup:?}, {lds} bytes of LDS, {private} of scratch",
        queue.id
    );
    let groups = (0..3).map(|i| u64::from(grid[i].div_ceil(workgroup[i]))).product::<u64>();
    let packet = Packet {
        descriptor,
        entry,
        grid,
        workgroup,
        packet: address,
        queue: queue.amd.expose_provenance() as u64,
        kernarg,
        lds,
        private,
        // A copy takes along what nothing has written.
        strict: match gpu.config().strict {
            strict if of_program => strict,
            strict => strict.without(FindingKind::UndefinedMemory),
        },
        footprint: ticket.is_some(),
        // Alone, a workgroup waits for no other; so does the kernel that sets up global wave sync.
        cooperative: queue.cooperative.load(Ordering::Relaxed) && groups > 1,
        schedule: gpu.config().schedule.clone(),
        count: gpu.config().log,
        stop: Arc::default(),
    };
    let launch = Launch { packet, object };
    if gpu.config().idle || blit::run(queue, given, &launch) {
        return Ok(());
    }
    start_workers();
    queue.begin(&launch.packet.stop);
    if let Some(account) = gpu.account() {
        account.launch();
    }
    let _pin = gpu.view.memory.pin();
    let result = gpu.device.run_packet(&launch.packet, || gpu.codes.identify(gpu, object));
    if queue.is_stopped() {
        return Err(Trouble::Stopped);
    }
    if gpu.config().strict != Strict::Off
        && of_program
        && let Some(account) = gpu.account()
    {
        account.checked();
    }
    let mut report = match result {
        Ok(report) => report,
        Err(error) => return Err(stopped(queue, number, &error)),
    };
    log!(
        gpu.config(),
        "queue {}: launch {number} has retired {} instructions of the kernel {}",
        queue.id,
        report.instructions,
        gpu.codes.identify(gpu, object).name
    );
    for finding in report.findings.iter().filter(|f| crate::report::is_news(of_program, f)) {
        told::tell(gpu, number, of_program, finding);
    }
    if let (Some(ticket), Some(footprint)) = (ticket, report.footprint.take()) {
        let Identity { name, module } = gpu.codes.identify(gpu, object);
        let (own, descriptor) = (Arc::clone(gpu), descriptor);
        let spot = Arc::new(move |pc| own.device.spot(module, &descriptor, pc));
        told::touched(queue, ticket, footprint, name, Some((number, of_program)), Some(spot));
    }
    if let Some(address) = report.would_end {
        // What strict mode has seen of it is said; the program ends as it does without.
        fault::raise(queue, address, false);
        return Err(Trouble::Reported);
    }
    if private != 0 {
        reclaim(queue)?;
    }
    Ok(())
}

/// Whether a kernel is one that the program has not launched itself: HIP's own for copies and fills, and ROCr's.
fn is_the_runtimes(identity: &Identity) -> bool {
    identity.module.is_none() || identity.name.starts_with("__amd_rocclr_")
}

/// The threads that help with launches. Their parent is a thread of ours, which takes no signals of the program's.
fn start_workers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let name = |i| format!("luthier-worker-{i}");
        // Another pool in this process does as well.
        rayon::ThreadPoolBuilder::new().thread_name(name).build_global().unwrap_or(());
    });
}

/// The descriptor and the entry of a kernel object. ROCr's own kernels have a header of the older kind, some fields of which
/// are elsewhere.
fn kernel(queue: &Queue, object: u64) -> Option<(KernelDescriptor, u64)> {
    if object == 0 || !object.is_multiple_of(64) {
        return None;
    }
    let at: *const [u8; 64] = queue.gpu.view.place::<[u8; 64]>(object, false).ok()?;
    // SAFETY: resolved.
    let mut bytes = unsafe { at.read_volatile() };
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    // amd_kernel_code_t begins with version 1 and a machine: AMDGPU (1), of generation 8 or later.
    let is_old = word(0) == 1 && word(8) & 0xffff == 1 && word(8) >> 16 >= 8 && word(16) == 256;
    if is_old {
        bytes[..12].fill(0);
        bytes[58..].fill(0);
        bytes[24..48].fill(0);
    }
    let descriptor = KernelDescriptor::from_bytes(bytes);
    let offset = u64::from_le_bytes(bytes[16..24].try_into().ok()?);
    let entry = object.wrapping_add(offset);
    queue.gpu.view.resolve(entry, 4, false).ok()?;
    Some((descriptor, entry))
}

/// Asks the runtime for scratch memory, unless the queue has enough. (The kernel's scratch lies elsewhere: a mock GPU needs
/// as much as its workers have workgroups under way, and gives no other one's away.)
fn scratch(queue: &Queue, lanes: u32, private: u32) -> Result<(), Trouble> {
    // SAFETY: an AQL queue's structure, which is kept; the runtime writes it while we wait.
    let has = || unsafe { (&raw const (*queue.amd).scratch_wave64_lane_bytes).read_volatile() };
    if u64::from(has()) * 64 >= u64::from(private) * u64::from(lanes) {
        return Ok(());
    }
    let code = NEED_SCRATCH.iter().find(|(n, _)| *n == lanes).map_or(1, |(_, code)| *code);
    ask(queue, code)?;
    log!(queue.gpu.config(), "queue {}: has {} bytes of scratch for each lane now", queue.id, has());
    Ok(())
}

/// Gives scratch memory back that was for one launch.
fn reclaim(queue: &Queue) -> Result<(), Trouble> {
    // SAFETY: as in `scratch`.
    let properties = unsafe { AtomicU32::from_ptr((&raw const (*queue.amd).properties).cast_mut()) };
    if properties.load(Ordering::Acquire) & USE_SCRATCH_ONCE == 0 {
        return Ok(());
    }
    ask(queue, RECLAIM_SCRATCH)
}

/// Says something in the queue's error signal and waits until the runtime has done it.
fn ask(queue: &Queue, code: i64) -> Result<(), Trouble> {
    // SAFETY: as in `scratch`.
    let handle = unsafe { (&raw const (*queue.amd).inactive_signal).read_volatile() };
    let missing = |access| Trouble::Access(access, "its queue's error signal");
    signal::store(&queue.gpu, handle, code).map_err(missing)?;
    let mut patience = Patience::default();
    loop {
        match signal::value(&queue.gpu, handle).map_err(missing)? {
            0 => return Ok(()),
            // The runtime has told the program.
            GIVEN_UP => return Err(Trouble::Reported),
            _ if queue.is_stopped() => return Err(Trouble::Stopped),
            _ => patience.for_signals(),
        }
    }
}

/// A launch that was stopped: what people and the runtime hear of it.
fn stopped(queue: &Queue, number: u64, error: &EmuError) -> Trouble {
    let gpu = &queue.gpu;
    let near = match error {
        EmuError::Fault { address: Some(address), .. } => {
            format!("; {address:#x} is {}", gpu.view.memory.describe(*address, gpu.view.node))
        }
        _ => String::new(),
    };
    say(&format!("GPU {}, launch {number}: {}{near}", gpu.number(), crate::report::error(error)));
    match error {
        EmuError::Fault { address: Some(address), kind, .. } => {
            fault::raise(queue, *address, *kind == FaultKind::ReadOnly);
        }
        EmuError::Fault { kind: FaultKind::Trap, .. } => fault::tell(queue, code::TRAP),
        EmuError::Fault { .. } | EmuError::Unsupported { .. } => fault::tell(queue, code::ILLEGAL_INSTRUCTION),
        EmuError::Address(address) => fault::raise(queue, *address, false),
        EmuError::Cooperative { .. } => fault::tell(queue, code::GROUP_SIZE),
        EmuError::OutOfMemory(_) => fault::tell(queue, code::GROUP_MEMORY),
        _ => fault::tell(queue, code::TRAP),
    }
    Trouble::Reported
}
