//! What strict mode has found: to people and to `luthier trace`. Of launches by themselves, and of two that nothing orders.

use std::sync::Arc;

use luthier_emulator::packet::Spot;
use luthier_emulator::{Conflict, Extent, Finding, FindingKind, Footprint, OtherParty, Reached, Touched};

use super::Queue;
use crate::account::Told;
use crate::gpu::Gpu;
use crate::log::say;
use crate::order::{Clash, Clashes, Doer, HostRace, Ticket};
use crate::report;

/// A finding about a launch of this number, of the program's or of the runtime's own.
pub fn tell(gpu: &Gpu, number: u64, of_program: bool, finding: &Finding) {
    let near = |address| gpu.view.memory.describe(address, gpu.view.node);
    let place = report::place(finding, near);
    let line = report::finding(number, of_program, finding, place.as_deref());
    let told = Told { gpu: gpu.number(), launch: number, finding, place: place.as_deref(), line: &line };
    let kept = gpu.account().is_some_and(|account| account.finding(&told));
    if !(kept && gpu.config().keep_findings) {
        say(&line);
    }
}

/// A launch, or a copy, has touched memory: tells of what came before it and is not ordered.
pub fn touched(
    queue: &Queue,
    ticket: &Ticket,
    footprint: Footprint,
    name: String,
    launch: Option<(u64, bool)>,
    spot: Option<Arc<dyn Fn(u64) -> Spot + Send + Sync>>,
) {
    let gpu = &queue.gpu;
    let Some(order) = gpu.order() else { return };
    if footprint.is_incomplete {
        say(&format!("{name} touches more pieces of memory than are compared with other launches: some are left out"));
    }
    let doer = Doer { launch, name, gpu: gpu.number(), queue: queue.id, spot };
    let Clashes { works, host } = order.touched(ticket, footprint, doer);
    for clash in &works {
        let (number, of_program, finding) = found(clash);
        tell(gpu, number, of_program, &finding);
    }
    tell_of_host(gpu, &host);
    let dropped = order.dropped();
    if dropped != 0 {
        say(&format!(
            "{dropped} launches, copies and accesses of the host are not compared with all others: too much is under way"
        ));
    }
}

/// A clash as a finding about the later one, or about the earlier one if only that is a launch.
fn found(clash: &Clash) -> (u64, bool, Finding) {
    let Clash { conflict, earlier, later } = clash;
    let Conflict { earlier: before, later: after, earlier_writes, later_writes, first, last, bytes } = conflict;
    let (own, other) = match (&earlier.launch, &later.launch) {
        (Some(_), None) => ((earlier, before, *earlier_writes), (later, after, *later_writes)),
        _ => ((later, after, *later_writes), (earlier, before, *earlier_writes)),
    };
    let ((doer, touched, writes), (whose, theirs, wrote)) = (own, other);
    let gpu = if doer.gpu == whose.gpu { String::new() } else { format!(" of GPU {}", whose.gpu) };
    let message = format!(
        "it {} {bytes} bytes that {} on queue {}{gpu} {}, and nothing orders the two",
        verb(writes),
        described(whose),
        whose.queue,
        verb(wrote),
    );
    let other = whose.spot.as_ref().map(|spot| {
        let spot = spot(theirs.pc);
        OtherParty { pc: spot.pc, text: spot.text, wave: theirs.wave, source: spot.source }
    });
    about(doer, touched, *first, *last, message, other)
}

/// A finding about what a launch or a copy does to bytes between two addresses.
fn about(
    doer: &Doer,
    touched: &Touched,
    first: u64,
    last: u64,
    message: String,
    other: Option<OtherParty>,
) -> (u64, bool, Finding) {
    // A copy has no instruction.
    let copies = || Spot { text: "no instruction".into(), ..Spot::default() };
    let spot = doer.spot.as_ref().map_or_else(copies, |spot| spot(touched.pc));
    let reached = |address| Reached { address, workgroup: touched.workgroup, wave: touched.wave, lane: None };
    let finding = Finding {
        kind: FindingKind::LaunchRace,
        kernel: doer.name.clone(),
        pc: spot.pc,
        text: spot.text,
        workgroup: touched.workgroup,
        wave: touched.wave,
        lane: None,
        address: Some(first),
        message,
        extent: Extent { count: 1, lowest: Some(reached(first)), highest: Some(reached(last)) },
        other,
        original_pc: spot.original_pc,
        source: spot.source,
    };
    let (number, of_program) = doer.launch.unwrap_or((0, true));
    (number, of_program, finding)
}

/// Tells of work that the host has not waited for, and whose memory it touches.
pub fn tell_of_host(gpu: &Gpu, races: &[HostRace]) {
    for HostRace { doer, touched, writes, host } in races {
        let (text, source) = host.code.described();
        let message =
            format!("it {} memory that the host {} without having waited for it", verb(*writes), verb(host.write));
        let other = OtherParty { pc: host.code.pc, text, wave: 0, source };
        let (number, of_program, finding) = about(doer, touched, host.address, host.address, message, Some(other));
        tell(gpu, number, of_program, &finding);
    }
}

fn verb(writes: bool) -> &'static str {
    if writes { "writes" } else { "reads" }
}

fn described(doer: &Doer) -> String {
    match doer.launch {
        Some((number, true)) => format!("launch {number} ({})", doer.name),
        _ => doer.name.clone(),
    }
}
