use super::*;

fn passes(gws: &Gws, number: u8, ask: Ask, value: u32) -> Option<Ticket> {
    gws.ask(1, number, ask, value).expect("is allowed").waits
}

#[test]
fn a_barrier_lets_one_more_pass_than_it_counts() {
    let gws = Gws::default();
    assert_eq!(passes(&gws, 5, Ask::Init, 2), None);
    let first = passes(&gws, 5, Ask::Barrier, 1).expect("waits");
    let second = passes(&gws, 5, Ask::Barrier, 7).expect("waits");
    assert!(!gws.releases(first) && !gws.releases(second));
    assert_eq!(gws.missing(first), "the barrier of resource 5, where 2 waves wait for 1 wave more");
    // The last says how many come the next time.
    let last = gws.ask(1, 5, Ask::Barrier, 1).expect("is allowed");
    assert_eq!((last.waits, last.releases), (None, true));
    assert!(gws.releases(first) && gws.releases(second));
    let again = passes(&gws, 5, Ask::Barrier, 0).expect("waits");
    assert!(!gws.releases(again) && gws.releases(first));
    assert_eq!(passes(&gws, 5, Ask::Barrier, 0), None);
    assert!(gws.releases(again));
    // One wave alone never waits.
    assert_eq!(passes(&gws, 5, Ask::Barrier, 0), None);
}

#[test]
fn a_semaphore_lets_pass_in_the_order_of_coming() {
    let gws = Gws::default();
    assert_eq!(passes(&gws, 63, Ask::Init, 1), None);
    assert_eq!(passes(&gws, 63, Ask::Take, 1), None);
    let waiting: Vec<Ticket> = (0..5).map(|_| passes(&gws, 63, Ask::Take, 1).expect("waits")).collect();
    let released = || waiting.iter().filter(|&&ticket| gws.releases(ticket)).count();
    assert_eq!(released(), 0);
    assert!(gws.ask(1, 63, Ask::Give, 1).expect("is allowed").releases);
    assert!(released() == 1 && gws.releases(waiting[0]));
    passes(&gws, 63, Ask::Give, 2);
    assert!(released() == 3 && gws.releases(waiting[2]));
    passes(&gws, 63, Ask::ReleaseAll, 1);
    assert_eq!(released(), 5);
    // No wave waits, so none is released; what is given then is there for those that come.
    passes(&gws, 63, Ask::ReleaseAll, 1);
    assert!(!gws.ask(1, 63, Ask::Give, 2).expect("is allowed").releases);
    assert_eq!((passes(&gws, 63, Ask::Take, 1), passes(&gws, 63, Ask::Take, 1)), (None, None));
    assert!(passes(&gws, 63, Ask::Take, 1).is_some());
}

#[test]
fn what_is_not_documented_is_refused() {
    let gws = Gws::default();
    let refusal = |ask, value| gws.ask(1, 0, ask, value).expect_err("is refused");
    for ask in [Ask::Barrier, Ask::Give, Ask::Take, Ask::ReleaseAll] {
        assert!(refusal(ask, 1).contains("resource 0 of global wave sync is used and was never initialised"));
    }
    assert!(refusal(Ask::Init, 4096).contains("twelve bits"));
    passes(&gws, 0, Ask::Init, 4095);
    assert!(refusal(Ask::Give, 1).contains("counts beyond 4095"));
    assert!(refusal(Ask::Barrier, 1 << 20).contains("twelve bits"));
    passes(&gws, 0, Ask::Barrier, 0);
    assert!(refusal(Ask::Init, 1).contains("initialised while waves wait"));
    assert!(refusal(Ask::Give, 1).contains("used as a semaphore while 1 waves wait at it as a barrier"));
    gws.end(1);
    passes(&gws, 0, Ask::Init, 0);
    passes(&gws, 0, Ask::Take, 1);
    assert!(refusal(Ask::Barrier, 1).contains("used as a barrier while 1 waves wait at it as a semaphore"));
}

#[test]
fn a_launch_that_leaves_waves_behind_leaves_nothing_known() {
    let gws = Gws::default();
    let (mine, other) = (gws.begin(None), gws.begin(None));
    gws.ask(mine, 3, Ask::Init, 0).expect("is allowed");
    gws.ask(mine, 4, Ask::Init, 2).expect("is allowed");
    let waits = gws.ask(mine, 3, Ask::Take, 1).expect("is allowed").waits.expect("waits");
    gws.end(other);
    assert!(!gws.releases(waits));
    gws.end(mine);
    assert!(gws.ask(other, 3, Ask::Give, 1).is_err());
    // Where none waits, all is as it was.
    assert_eq!(gws.ask(other, 4, Ask::Take, 1).expect("is allowed").waits, None);
}

#[test]
fn a_cooperative_launch_finds_what_the_runtime_would_have_left() {
    let comes = |gws: &Gws, launch, value| {
        let waits = |_: &u32| gws.ask(launch, 0, Ask::Barrier, value).expect("is allowed").waits.is_some();
        (0..).take_while(waits).count()
    };
    let gws = Gws::default();
    // Ten workgroups of four waves: one of each comes, or all of each.
    let launch = gws.begin(Some((10, 40)));
    assert_eq!([comes(&gws, launch, 9), comes(&gws, launch, 9)], [9, 9]);
    let launch = gws.begin(Some((10, 40)));
    assert_eq!([comes(&gws, launch, 39), comes(&gws, launch, 39)], [39, 39]);
    // Another number does not count before the second time.
    let launch = gws.begin(Some((10, 40)));
    assert_eq!([comes(&gws, launch, 3), comes(&gws, launch, 3)], [9, 3]);
    // A launch before that has done the runtime's part; only the one just before.
    let before = gws.begin(None);
    gws.ask(before, 0, Ask::Init, 5).expect("is allowed");
    let launch = gws.begin(Some((10, 40)));
    assert_eq!([comes(&gws, launch, 9), comes(&gws, launch, 9)], [5, 9]);
    gws.ask(launch, 0, Ask::Init, 5).expect("is allowed");
    let launch = gws.begin(Some((10, 40)));
    assert_eq!(comes(&gws, launch, 9), 9);
    // As a semaphore it holds the workgroups less one.
    let launch = gws.begin(Some((3, 4)));
    let waits = || gws.ask(launch, 0, Ask::Take, 1).expect("is allowed").waits.is_some();
    assert_eq!([waits(), waits(), waits()], [false, false, true]);
}

#[test]
fn a_copy_knows_what_is_known_and_nobody_who_waits() {
    let gws = Gws::default();
    passes(&gws, 1, Ask::Init, 1);
    passes(&gws, 2, Ask::Init, 0);
    let waits = passes(&gws, 2, Ask::Take, 1).expect("waits");
    let copy = gws.copy();
    assert_eq!(passes(&copy, 1, Ask::Take, 1), None);
    assert!(copy.ask(1, 2, Ask::Give, 1).is_err());
    // The one that was copied is as it was.
    assert_eq!(passes(&gws, 1, Ask::Take, 1), None);
    passes(&gws, 2, Ask::Give, 1);
    assert!(gws.releases(waits));
}
