//! A launch that stops anywhere does what it does without stops, and comes back to what it was.

mod support;

use std::collections::BTreeSet;

use luthier_emulator::choose::WaveId;
use luthier_emulator::stage::{Register, Stage, Until, Wanted, Watchpoint, Why};
use luthier_emulator::{DeviceConfig, FindingKind, Launch, Pct, Schedule, Strict};
use support::{Loaded, hip, load_with};

/// What comes out depends on the order of waves, within a workgroup and among them.
const SOURCE: &str = "
KERNEL mixed(u32 *state, u32 *out) {
    __attribute__((shared)) static u32 box[4];
    u32 wave = __builtin_amdgcn_readfirstlane(local_x / 64);
    if (local_x % 64 == 0) box[wave] = local_x + 1;
    sync();
    for (u32 k = 0; k < 5 + wave; k++) {
        u32 old = __atomic_load_n(state, __ATOMIC_RELAXED);
        u32 next = old * 31 + group_x * 8 + wave + box[(wave + k) % 4] + k;
        __atomic_store_n(state, next, __ATOMIC_RELAXED);
        if (k & 1) __builtin_amdgcn_s_sleep(1);
        out[(group_x * 256 + local_x) & 63] ^= next;
    }
}
KERNEL faulty(u32 *state, u32 *out) {
    if (local_x < 64) state[0] = 7;
    else out[local_x * 4096 * 4096] = state[0];
}";

struct Case {
    loaded: Loaded,
    launch: Launch,
    state: u64,
    out: u64,
}

fn case(kernel: &str, schedule: &Schedule, strict: Strict) -> Case {
    let loaded = load_with(&hip(SOURCE, "-O1"), DeviceConfig { threads: 1, ..DeviceConfig::default() });
    let (state, out) = (loaded.buffer(&[1; 64]), loaded.buffer(&[0; 64]));
    let launch = loaded.prepared(kernel, [3 * 256, 1, 1], [256, 1, 1], &[state, out], strict);
    Case { launch: Launch { schedule: schedule.clone(), ..launch }, loaded, state, out }
}

impl Case {
    fn stage(&self) -> Stage {
        self.loaded.device.stage(&self.launch, false).expect("it begins")
    }
    fn left(&self) -> (Vec<u32>, Vec<u32>) {
        (self.loaded.words(self.state, 64), self.loaded.words(self.out, 64))
    }
}

fn schedules() -> Vec<Schedule> {
    let chosen = Schedule::Choices([(3, 2), (9, 5), (40, 1)].into());
    vec![Schedule::Fair, Schedule::Pct(Pct { seed: 3, depth: 9, steps: 200 }), chosen]
}

/// All registers of all waves, where they are, and memory.
fn state(case: &Case, stage: &mut Stage) -> String {
    let waves = stage.waves();
    let registers = waves.iter().map(|wave| format!("{:?}", stage.registers(wave.id))).collect::<Vec<_>>();
    let lds = waves.iter().map(|wave| stage.lds(wave.id.group)).collect::<Vec<_>>();
    format!("{waves:?} {registers:?} {lds:?} {:?}", case.left())
}

#[test]
fn stops_do_not_change_what_a_launch_does() {
    for strict in [Strict::Off, Strict::On] {
        for schedule in schedules() {
            let plain = case("mixed", &schedule, strict);
            let mut stage = plain.stage();
            assert!(matches!(stage.resume(&Until::default()).expect("it goes on").why, Why::Over));
            let (expected, events) = (plain.left(), stage.event());
            let launched = case("mixed", &schedule, strict);
            let report = launched.loaded.device.launch(&launched.launch).expect("it runs");
            assert_eq!(report.instructions, events, "{schedule}");
            if schedule.is_chosen() {
                assert_eq!(launched.left(), expected, "{schedule}: run as a whole");
            }

            // A stop at each instruction of every wave, by its address.
            let stopped = case("mixed", &schedule, strict);
            let mut stage = stopped.stage();
            stage.resume(&Until { event: Some(1), ..Until::default() }).expect("it goes on");
            let first = stage.waves().iter().map(|wave| wave.pc).min().expect("a wave");
            let addresses: BTreeSet<u64> = (first - 64..first + 2048).step_by(4).collect();
            let until = Until { addresses, ..Until::default() };
            let mut stops = 1;
            while let Why::Address(pc) = stage.resume(&until).expect("it goes on").why {
                assert!(stage.waves().iter().any(|wave| wave.pc == pc));
                stops += 1;
            }
            assert_eq!((stage.event(), stops), (events, events), "{schedule}");
            assert_eq!(stopped.left(), expected, "{schedule}: with stops");
        }
    }
}

#[test]
fn what_is_gone_back_to_is_what_it_was() {
    let all = schedules().into_iter().flat_map(|schedule| [(schedule.clone(), Strict::On), (schedule, Strict::Off)]);
    for (schedule, strict) in all {
        let case = case("mixed", &schedule, strict);
        let mut stage = case.stage();
        // Outside of strict mode moments are kept, so often that they thin out.
        stage.keep_every(10);
        let mut seen = Vec::new();
        for event in (0..1200).step_by(171) {
            stage.goto(event).expect("it goes there");
            assert_eq!(stage.event(), event);
            seen.push((event, state(&case, &mut stage)));
        }
        for (event, was) in seen.iter().rev().chain(&seen) {
            stage.goto(*event).expect("it goes there");
            assert!(state(&case, &mut stage) == *was, "{schedule}: event {event}");
        }
    }
}

#[test]
fn a_wave_is_followed_and_its_events_are_known() {
    let case = case("mixed", &schedules()[1], Strict::Off);
    let mut stage = case.stage();
    let id = WaveId { group: 1, wave: 2 };
    stage.resume(&Until { retired: Some((id, 60)), ..Until::default() }).expect("it goes on");
    let (here, was) = (stage.event(), state(&case, &mut stage));
    assert_eq!(stage.waves().iter().find(|wave| wave.id == id).map(|wave| wave.retired), Some(60));
    let trace = stage.trace(id, 10, &|| true).expect("it can be taken back");
    assert_eq!(trace.len(), 50);
    assert!(state(&case, &mut stage) == was && stage.event() == here);
    for (number, (event, pc, exec)) in trace.into_iter().enumerate() {
        assert_eq!(stage.event_of(id, 10 + number as u64), Some(event));
        if number % 7 == 0 {
            stage.goto(event).expect("it goes there");
            assert_eq!(stage.waves().iter().find(|wave| wave.id == id).map(|wave| wave.pc), Some(pc));
            assert_eq!(stage.registers(id).map(|registers| registers.exec), Some(exec));
            stage.goto(here).expect("it goes there");
        }
    }
    assert_eq!(stage.event_of(id, 61), None);
}

#[test]
fn watchpoints_see_each_access_and_each_change() {
    let case = case("mixed", &schedules()[1], Strict::Off);
    let count = |wanted: Wanted| {
        let mut stage = case.stage();
        let watch = Watchpoint::Memory { start: case.state, len: 4, wanted };
        let until = Until { watchpoints: vec![watch], ..Until::default() };
        let mut hits = 0;
        while let Why::Watchpoint(0, Some(access), _) = stage.resume(&until).expect("it goes on").why {
            assert!(access.address == case.state && access.size == 4);
            hits += 1;
        }
        stage.goto(0).expect("it goes there");
        hits
    };
    // Three workgroups, whose waves go around 5, 6, 7 and 8 times.
    assert_eq!((count(Wanted::Writes), count(Wanted::Reads), count(Wanted::Accesses)), (78, 78, 156));
    assert_eq!(count(Wanted::Changes), 78);
    let mut stage = case.stage();
    stage.resume(&Until { event: Some(30), ..Until::default() }).expect("it goes on");
    let wave = stage.waves()[0].id;
    let lds = Watchpoint::Lds { group: wave.group, start: 4, len: 4, wanted: Wanted::Writes };
    stage.goto(0).expect("it goes there");
    let stopped = stage.resume(&Until { watchpoints: vec![lds], ..Until::default() }).expect("it goes on");
    assert!(matches!(stopped.why, Why::Watchpoint(0, Some(_), _)));
    assert_eq!(stage.lds(wave.group).map(|lds| lds[4]), Some(65));
    stage.goto(0).expect("it goes there");
    let exec = Watchpoint::Register { wave, register: Register::Exec, lane: None };
    stage.resume(&Until { watchpoints: vec![exec], ..Until::default() }).expect("it goes on");
    assert_eq!(stage.registers(wave).map(|registers| registers.exec), Some(1), "the first lane alone stores");
}

#[test]
fn a_fault_is_stood_before_and_gone_back_from() {
    for schedule in schedules() {
        let case = case("faulty", &schedule, Strict::Off);
        let mut stage = case.stage();
        let stopped = stage.resume(&Until::default()).expect("it stops");
        let Why::Failed(error) = &stopped.why else { panic!("{stopped:?}") };
        assert!(error.to_string().contains("global_store_dword"), "{error}");
        let (event, was) = (stage.event(), state(&case, &mut stage));
        stage.goto(3).expect("it goes back");
        stage.goto(event).expect("it goes there");
        assert!(state(&case, &mut stage) == was);
        assert!(matches!(stage.resume(&Until::default()).expect("it stops").why, Why::Failed(_)));
        stage.goto(0).expect("it goes back");
        assert_eq!(case.left().0, [1; 64]);
    }
}

#[test]
fn strict_mode_stops_at_what_it_finds() {
    let case = case("faulty", &Schedule::Fair, Strict::On);
    let mut stage = case.stage();
    let until = Until { findings: true, ..Until::default() };
    let finding = loop {
        match stage.resume(&until).expect("it stops").why {
            Why::Found(finding) if finding.kind == FindingKind::OutOfBounds => break finding,
            Why::Found(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert!(finding.text.contains("global_store_dword"), "{finding:?}");
    assert!(stage.findings().iter().any(|found| found.pc == finding.pc && found.kind == finding.kind));
}
