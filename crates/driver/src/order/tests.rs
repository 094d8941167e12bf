use super::*;
use crate::touches::Code;

const SIGNAL: u64 = 0x40;

fn doer(name: &str) -> Doer {
    Doer { launch: Some((1, true)), name: name.into(), gpu: 0, queue: 0, spot: None }
}

fn writes() -> Footprint {
    Footprint::of_copy(None, 0..64)
}

/// A packet that writes the same bytes as all others here; how many it clashes with.
fn write(order: &Order, queue: usize, name: &str, signal: u64) -> usize {
    let ticket = order.begin(queue, None, true);
    let clashes = order.touched(&ticket, writes(), doer(name)).works.len();
    order.ends(ticket, signal);
    clashes
}

/// Two queues, and a signal that is heard.
fn order() -> Order {
    let order = Order::default();
    assert_eq!((order.add_queue(), order.add_queue()), (0, 1));
    order.made(SIGNAL);
    order
}

#[test]
fn packets_of_one_queue_are_ordered_by_the_barrier_bit() {
    let order = order();
    assert_eq!((write(&order, 0, "a", SIGNAL), write(&order, 0, "b", SIGNAL)), (0, 0));
    let free = order.begin(0, None, false);
    // The last packet with the bit has waited for those before it; nothing waits for that one.
    assert_eq!(order.touched(&free, writes(), doer("c")).works.len(), 0);
    order.ends(free, SIGNAL);
    let free = order.begin(0, None, false);
    assert_eq!(order.touched(&free, writes(), doer("d")).works.len(), 1);
    order.ends(free, SIGNAL);
    assert_eq!(write(&order, 0, "e", SIGNAL), 0);
}

#[test]
fn queues_are_ordered_by_signals_and_by_what_the_host_has_seen() {
    let order = order();
    assert_eq!((write(&order, 0, "a", SIGNAL), write(&order, 1, "b", SIGNAL)), (0, 1));
    // Told once.
    assert_eq!((write(&order, 0, "a", SIGNAL), write(&order, 1, "b", SIGNAL)), (1, 0));
    let mut barrier = order.begin(0, None, false);
    order.waited(&mut barrier, SIGNAL);
    order.ends(barrier, 0);
    assert_eq!(write(&order, 0, "c", SIGNAL), 0);
    order.seen(SIGNAL);
    assert_eq!(write(&order, 1, "d", SIGNAL), 0);
    order.end_queue(1);
    assert_eq!(write(&order, 0, "e", SIGNAL), 0);
}

#[test]
fn what_the_host_knew_when_it_rang_counts_and_not_what_it_learned_later() {
    let order = order();
    order.rings(1, 0);
    assert_eq!(write(&order, 0, "a", SIGNAL), 0);
    order.seen(SIGNAL);
    order.rings(1, 1);
    let ticket = order.begin(1, Some(0), true);
    assert_eq!(order.touched(&ticket, Footprint::of_copy(Some(0..4), 64..68), doer("b")).works.len(), 1);
    order.ends(ticket, SIGNAL);
    let ticket = order.begin(1, Some(1), true);
    assert_eq!(order.touched(&ticket, writes(), doer("c")).works.len(), 0);
    order.ends(ticket, SIGNAL);
}

#[test]
fn what_the_host_hands_on_by_a_signal_is_known_to_what_waits_for_it() {
    let (order, flag) = (order(), 0x80);
    order.made(flag);
    assert_eq!(write(&order, 0, "a", SIGNAL), 0);
    order.rings(1, 0);
    order.seen(SIGNAL);
    order.changes(flag);
    let mut ticket = order.begin(1, Some(0), true);
    order.waited(&mut ticket, flag);
    assert_eq!(order.touched(&ticket, writes(), doer("b")).works.len(), 0);
    order.ends(ticket, SIGNAL);
}

#[test]
fn the_host_is_taken_to_know_of_signals_that_are_not_heard() {
    let order = order();
    assert_eq!((write(&order, 0, "a", 0x100), write(&order, 1, "b", 0x100)), (0, 0));
    // Unless both were under way together.
    let ticket = order.begin(1, None, true);
    assert_eq!(write(&order, 0, "c", 0x100), 0);
    assert_eq!(order.touched(&ticket, writes(), doer("d")).works.len(), 1);
    order.ends(ticket, 0x100);
}

#[test]
fn copies_know_of_what_they_were_told_to_wait_for() {
    let order = order();
    assert_eq!(write(&order, 0, "a", SIGNAL), 0);
    let copy = || {
        let mut ticket = order.begin(1, None, true);
        order.is_the_runtimes(&mut ticket);
        ticket
    };
    let before = copy();
    assert_eq!(order.touched(&before, writes(), doer("b")).works.len(), 1);
    order.awaits(SIGNAL);
    let behind = copy();
    assert!(!before.clock.knows(0, 1) && behind.clock.knows(0, 1));
}

#[test]
fn work_that_all_know_of_and_memory_that_is_freed_are_forgotten() {
    let order = order();
    (0..10).for_each(|_| assert_eq!(write(&order, 0, "a", SIGNAL), 0));
    let kept = |order: &Order| {
        let state = order.lock();
        (state.works.len(), state.works.iter().map(Work::pieces).sum::<usize>())
    };
    assert_eq!(kept(&order), (10, 10));
    order.freed(&(0..1));
    assert_eq!(kept(&order), (10, 0));
    assert_eq!(write(&order, 1, "b", SIGNAL), 0);
    order.seen(SIGNAL);
    assert_eq!((kept(&order), order.dropped()), ((0, 0), 0));
    (0..2 * MOST_WORK).for_each(|_| assert_eq!(write(&order, 0, "a", SIGNAL), 0));
    assert_eq!(kept(&order), (MOST_WORK, MOST_WORK));
    assert_eq!((order.dropped(), order.dropped()), (MOST_WORK as u64, 0));
}

fn touch(address: u64, write: bool) -> HostTouch {
    HostTouch { address, write, code: Code { pc: address, place: None } }
}

/// What the host does, before and after it rings for a packet, while that runs, and after it: which of it is a race?
fn races_of(path: &str, footprint: &Footprint, touches: [Option<HostTouch>; 4], sees: bool) -> Vec<u64> {
    let order = order();
    let [before, rung, running, after] = touches;
    let code = Code { pc: 0, place: Some((path.into(), 0)) };
    let mut races = Vec::new();
    let does = |touch: Option<HostTouch>, races: &mut Vec<HostRace>| {
        races.extend(
            touch
                .map(|touch| {
                    order.host_touches(HostTouch { code: Code { pc: touch.address, ..code.clone() }, ..touch })
                })
                .unwrap_or_default(),
        );
    };
    does(before, &mut races);
    order.rings(0, 0);
    does(rung, &mut races);
    let ticket = order.begin(0, Some(0), true);
    does(running, &mut races);
    races.extend(order.touched(&ticket, footprint.clone(), doer("a")).host);
    order.ends(ticket, SIGNAL);
    if sees {
        order.seen(SIGNAL);
    }
    does(after, &mut races);
    races.iter().map(|race| race.host.address).collect()
}

#[test]
fn the_host_is_in_a_race_from_when_it_rings_until_it_has_seen_the_signal() {
    let touches = || [1, 2, 3, 4].map(|address| Some(touch(address, false)));
    assert_eq!(races_of("/app", &writes(), touches(), false), [2, 3, 4]);
    assert_eq!(races_of("/app", &writes(), touches(), true), [2, 3]);
    // The runtime orders what it does itself.
    assert_eq!(races_of("/lib/libamdhip64.so.7", &writes(), touches(), false), [0; 0]);
    // Other bytes, and reads of what is only read.
    let beside = || [64, 65, 66, 67].map(|address| Some(touch(address, true)));
    assert_eq!(races_of("/app", &writes(), beside(), false), [0; 0]);
    let reads = Footprint::of_copy(Some(0..64), 1000..1001);
    assert_eq!(races_of("/app", &reads, touches(), false), [0; 0]);
    let changes = || [1, 2, 3, 4].map(|address| Some(touch(address, true)));
    assert_eq!(races_of("/app", &reads, changes(), false), [2, 3, 4]);
}

#[test]
fn a_copy_is_under_way_from_when_the_program_asks_for_it() {
    let order = order();
    order.copies(SIGNAL, 0..64);
    assert!(order.is_under_way() && order.host_touches(touch(5, false)).is_empty());
    let mut ticket = order.begin(0, None, true);
    order.is_of_a_copy(&mut ticket, 0);
    let races = order.touched(&ticket, writes(), doer("a copy")).host;
    assert_eq!(races.iter().map(|race| (race.host.address, race.writes)).collect::<Vec<_>>(), [(5, true)]);
    order.ends(ticket, SIGNAL);
    assert!(!order.is_under_way() && !order.is_undecided());
    // The next one comes after what the host has touched.
    order.seen(SIGNAL);
    assert!(order.host_touches(touch(6, false)).is_empty());
    order.copies(SIGNAL, 0..64);
    let mut ticket = order.begin(0, None, true);
    order.is_of_a_copy(&mut ticket, 0);
    assert!(order.touched(&ticket, writes(), doer("a copy")).host.is_empty());
}

#[test]
fn without_functions_that_are_heard_the_hosts_accesses_do_not_count() {
    let order = order();
    assert_eq!(write(&order, 0, "a", SIGNAL), 0);
    assert!(order.host_touches(touch(5, false)).is_empty());
}
