use super::*;

const FIRST: Option<(bool, bool)> = Some((true, false));
const LATER: Option<(bool, bool)> = Some((false, false));
const LAST: Option<(bool, bool)> = Some((false, true));

fn signal(barriers: &Barriers, wave: u32, number: i32, members: u32) -> Option<(bool, bool)> {
    barriers.signal(wave, number, members).unwrap().map(|a| (a.first, a.completes))
}

#[test]
fn the_workgroups_barrier_counts_rounds() {
    let b = Barriers::new(3, 0, None);
    assert_eq!(b.state(-1), Ok(3 << 4 | 1));
    assert_eq!([signal(&b, 0, -1, 0), signal(&b, 1, -1, 0)], [FIRST, LATER]);
    assert_eq!(b.state(-1), Ok(2 << 16 | 3 << 4 | 1));
    assert_eq!(b.wait(0, -1), Ok(false));
    assert_eq!(signal(&b, 2, -1, 0), LAST);
    // Each passes once, whenever it comes.
    assert!(b.pass(0) && !b.pass(0));
    assert_eq!([b.wait(2, -1), b.wait(2, -1), b.wait(1, -1)], [Ok(true), Ok(false), Ok(true)]);
    // A wave that ends takes no part any more, which may complete a round.
    assert_eq!([signal(&b, 0, -1, 0), signal(&b, 1, -1, 0)], [FIRST, LATER]);
    assert!(b.end(2, 64).unwrap().completes && b.pass(0));
    assert_eq!((b.absent(), b.round(0)), (Some((2, 64)), 2));
    assert_eq!(b.state(-1), Ok(2 << 4 | 1));
}

#[test]
fn one_wave_has_no_barriers() {
    let b = Barriers::new(1, 4, None);
    assert_eq!([signal(&b, 0, -1, 0), signal(&b, 0, 1, 0)], [None, None]);
    assert!([-1, 1, 0].iter().all(|&number| b.wait(0, number).unwrap()));
    assert_eq!(b.state(-1), Ok(0));
    b.join(0, 2).unwrap();
    assert_eq!(b.leave(0), Ok((false, None)));
}

#[test]
fn a_named_barrier_is_for_those_who_join_it() {
    let b = Barriers::new(3, 4, None);
    b.init(2, 2).unwrap();
    b.join(0, 2).unwrap();
    b.join(1, 2).unwrap();
    assert_eq!([signal(&b, 0, 2, 0), b.state(2).map(|s| (s != 0, false)).ok()], [FIRST, LATER.map(|_| (true, false))]);
    assert_eq!(b.wait(0, 1), Ok(false), "it is the one that was joined, whatever its number");
    assert!(!b.pass(0));
    // Any wave may signal it.
    assert_eq!(signal(&b, 2, 2, 0), LAST);
    assert_eq!([b.pass(0), b.wait(1, 2).unwrap()], [true, true]);
    // Who joins later has not seen the round before.
    b.join(2, 2).unwrap();
    assert_eq!(b.wait(2, 2), Ok(false));
}

#[test]
fn leaving_and_counting_anew() {
    let b = Barriers::new(4, 4, None);
    // A signal brings the number of members with it.
    assert_eq!(signal(&b, 0, 1, 3), FIRST);
    assert_eq!(b.state(1), Ok(1 << 16 | 3 << 4 | 1));
    assert_eq!(signal(&b, 1, 1, 2), LAST);
    (0..2).for_each(|wave| b.join(wave, 1).unwrap());
    assert_eq!(signal(&b, 0, 1, 0), FIRST);
    assert_eq!(b.wait(0, 1), Ok(false));
    let (empty, arrival) = b.leave(1).unwrap();
    assert!(!empty && arrival.unwrap().completes && b.pass(0));
    assert!(b.leave(0).unwrap().0);
    // Nothing is joined now: waits pass, and leaving tells that no wave is there.
    assert!(b.wait(0, 1).unwrap() && b.wait(0, 0).unwrap());
    assert_eq!(b.leave(0), Ok((true, None)));
    b.join(0, 0).unwrap();
    assert_eq!(b.joined(0), 0);
}

#[test]
fn what_has_no_meaning_is_refused() {
    let b = Barriers::new(2, 4, None);
    let refused = [
        b.init(5, 2).err(),
        b.init(1, 0).err(),
        b.join(0, 17).err(),
        b.signal(0, 1, 0).err(),
        b.state(-2).err(),
        b.wait(0, -2).err(),
        b.wait(0, -7).err(),
        Barriers::new(2, 0, None).init(1, 1).err(),
    ];
    assert!(refused.iter().all(Option::is_some), "{refused:?}");
    // One signal is there, and as many members are announced.
    signal(&b, 0, 1, 2);
    assert!(b.signal(1, 1, 1).is_err());
    // What the hardware documents to do nothing does nothing.
    assert_eq!([signal(&b, 0, 0, 0), signal(&b, 0, -2, 0), signal(&b, 0, -4, 0)], [None; 3]);
}

#[test]
fn a_clusters_barrier_has_workgroups_as_members() {
    let cluster = Cluster::new(2);
    let [a, b] = [0, 1].map(|rank| Barriers::new(2, 0, Some((Rc::clone(&cluster), rank))));
    assert_eq!(a.state(-3), Ok(2 << 4 | 1));
    assert_eq!([signal(&a, 1, -3, 0), Some((a.signal(0, -3, 0).is_err(), false))], [FIRST, FIRST]);
    assert!(!a.wait(0, -3).unwrap() && !b.wait(1, -3).unwrap());
    assert_eq!(signal(&b, 0, -3, 0), LAST);
    assert!(a.pass(0) && a.wait(1, -3).unwrap() && b.pass(1) && b.wait(0, -3).unwrap());
    b.end_workgroup();
    assert_eq!(signal(&a, 0, -3, 0), Some((true, true)));
    // Who has no cluster has no such barrier.
    let alone = Barriers::new(2, 0, None);
    assert_eq!((signal(&alone, 0, -3, 0), alone.wait(0, -3), alone.state(-3)), (None, Ok(true), Ok(0)));
}
