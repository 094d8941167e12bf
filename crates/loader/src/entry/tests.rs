//! Against LLVM's usage page, by hand, for each generation.

use luthier_isa::{Mode, Target, Wave};

use super::*;

fn mode(target: Target) -> Mode {
    Mode::from(target)
}

/// A descriptor that asks for everything.
fn all(target: Target) -> KernelDescriptor {
    let mut d = KernelDescriptor::from_bytes([0; 64]);
    d.set_enable_sgpr_private_segment_buffer(true);
    d.set_enable_sgpr_dispatch_ptr(true);
    d.set_enable_sgpr_queue_ptr(true);
    d.set_enable_sgpr_kernarg_segment_ptr(true);
    d.set_enable_sgpr_dispatch_id(true);
    d.set_enable_sgpr_flat_scratch_init(true);
    d.set_enable_sgpr_private_segment_size(true);
    d.set_enable_sgpr_workgroup_id_x(true);
    d.set_enable_sgpr_workgroup_id_y(true);
    d.set_enable_sgpr_workgroup_id_z(true);
    d.set_enable_sgpr_workgroup_info(true);
    d.set_enable_private_segment(true);
    d.set_enable_vgpr_workitem_id(2).expect("it fits");
    if target.generation() == Generation::Gfx1250 {
        d.set_user_sgpr_count_gfx125(17).expect("it fits");
    } else {
        d.set_user_sgpr_count(16).expect("it fits");
    }
    d
}

fn at(state: &EntryState, value: EntryValue) -> String {
    state.find(value).map_or("-".to_owned(), |field| match field.is_whole() {
        true => field.range.to_string(),
        false => format!("{}[{}:{}]", field.range, field.shift + field.bits - 1, field.shift),
    })
}

#[test]
fn user_sgprs_are_in_the_order_of_the_page() {
    use EntryValue::*;
    let state = EntryState::of(&all(Target::Gfx90a), mode(Target::Gfx90a));
    let places =
        [PrivateSegmentBuffer, DispatchPtr, QueuePtr, KernargPtr, DispatchId, FlatScratchInit, PrivateSegmentSize];
    let places = places.map(|value| at(&state, value));
    assert_eq!(places, ["s[0:3]", "s[4:5]", "s[6:7]", "s[8:9]", "s[10:11]", "s[12:13]", "s14"]);
    let system = [WorkgroupId(Axis::X), WorkgroupId(Axis::Z), WorkgroupInfo, ScratchOffset];
    assert_eq!(system.map(|value| at(&state, value)), ["s16", "s18", "s19", "s20"]);
    assert_eq!(state.end, 21);
}

#[test]
fn preloaded_arguments_follow_the_other_user_sgprs() {
    let mut d = KernelDescriptor::from_bytes([0; 64]);
    d.set_enable_sgpr_kernarg_segment_ptr(true);
    d.set_enable_sgpr_workgroup_id_x(true);
    d.set_kernarg_preload_length(3).expect("it fits");
    d.set_kernarg_preload_offset(2).expect("it fits");
    d.set_user_sgpr_count(5).expect("it fits");
    let state = EntryState::of(&d, mode(Target::Gfx942));
    let places = [8, 12, 16, 20].map(|offset| at(&state, EntryValue::Argument(offset)));
    assert_eq!(places, ["s2", "s3", "s4", "-"]);
    assert_eq!((at(&state, EntryValue::WorkgroupId(Axis::X)), state.offset), ("s5".to_owned(), 256));
    assert_eq!(EntryState::of(&d, mode(Target::Gfx1030)).find(EntryValue::Argument(8)), None);
    d.set_user_sgpr_count_gfx125(5).expect("it fits");
    assert_eq!(EntryState::of(&d, mode(Target::Gfx1250)).offset, 0);
}

#[test]
fn later_generations_have_ids_in_trap_temporaries_and_know_their_scratch() {
    use EntryValue::*;
    for target in [Target::Gfx1100, Target::Gfx1201, Target::Gfx1250] {
        let state = EntryState::of(&all(target), mode(target));
        let ids = [WorkgroupId(Axis::X), WorkgroupId(Axis::Y), WorkgroupId(Axis::Z), WaveInGroup, ScratchOffset];
        let ids = ids.map(|value| at(&state, value));
        match target {
            Target::Gfx1100 => assert_eq!(ids, ["s16", "s17", "s18", "-", "-"]),
            _ => assert_eq!(ids, ["ttmp9", "ttmp7[15:0]", "ttmp7[31:16]", "ttmp8[29:25]", "-"]),
        }
        let info = if target == Target::Gfx1250 { "s17" } else { "s16" };
        assert_eq!(at(&state, WorkgroupInfo), if target == Target::Gfx1100 { "s19" } else { info });
        assert_eq!(at(&state, PlaceInCluster), if target == Target::Gfx1250 { "ttmp6" } else { "-" });
    }
}

#[test]
fn workitem_ids_are_packed_where_the_processor_packs_them() {
    let ids = |target, dimensions| {
        let mut d = all(target);
        d.set_enable_vgpr_workitem_id(dimensions).expect("it fits");
        let state = EntryState::of(&d, Mode::new(target, Wave::W64).unwrap_or(mode(target)));
        Axis::ALL.map(|axis| at(&state, EntryValue::WorkitemId(axis)))
    };
    assert_eq!(ids(Target::Gfx1030, 2), ["v0", "v1", "v2"]);
    assert_eq!(ids(Target::Gfx900, 1), ["v0", "v1", "-"]);
    assert_eq!(ids(Target::Gfx90a, 2), ["v0[9:0]", "v0[19:10]", "v0[29:20]"]);
    assert_eq!(ids(Target::Gfx1250, 0), ["v0[9:0]", "-", "-"]);
}
