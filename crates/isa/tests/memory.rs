//! Memory accesses, against the register widths of LLVM's tables: what comes out of memory has to fit.

use luthier_isa::{Field, Flags, Inst, MemoryAccess, OpcodeInfo, Space, Target};

/// The operand that holds the data, and how many bytes.
fn data(info: &OpcodeInfo) -> Option<u16> {
    let wanted: &[Field] = if info.flags.contains(Flags::DS) {
        &[Field::Data0, Field::Vdst]
    } else {
        &[Field::Vdata, Field::Vdst, Field::Sdata]
    };
    let find = |field: &Field| info.operands.iter().find(|operand| operand.field == *field);
    wanted.iter().find_map(find).map(|operand| u16::from(operand.units) * 4)
}

/// The opcodes of every processor that has tables.
fn opcodes() -> impl Iterator<Item = &'static OpcodeInfo> {
    Target::ALL.iter().filter(|target| target.has_tables()).flat_map(|target| target.opcodes())
}

fn accesses() -> impl Iterator<Item = (&'static OpcodeInfo, MemoryAccess)> {
    opcodes().filter_map(|info| Inst::new(info).memory().map(|access| (info, access)))
}

#[test]
fn widths_are_those_of_the_data_registers() {
    let (mut compared, mut narrow) = (0, std::collections::BTreeSet::new());
    for (info, access) in accesses() {
        let (Some(width), Some(registers)) = (access.width, data(info)) else { continue };
        if access.lds {
            continue; // the register is an address
        }
        // With TFE there is one register more, for the fault.
        let room = if info.flags.intersects(Flags::MUBUF) && !access.atomic { 4 } else { 0 };
        if width < 4 {
            assert!(registers == 4 || registers == 4 + room, "{}", info.mnemonic);
            let end = info.base.split_once('_').unwrap().1;
            narrow.insert((end.replace("_d16", "").replace("_hi", ""), width));
            continue;
        }
        // A compare-and-swap brings the new value and the old one; the two values of a pair come one in each register.
        let factor = if info.base.contains("cmpswap") { 2 } else { 1 };
        let pair = info.flags.contains(Flags::DS)
            && ["read2", "write2", "wrxchg2", "_2addr_"].iter().any(|name| info.base.contains(name));
        let stored = pair && info.operands.iter().any(|operand| operand.field == Field::Data0);
        let expected = width * factor / if stored { 2 } else { 1 };
        assert!(registers == expected || registers == expected + room, "{}: {width}, {registers}", info.mnemonic);
        compared += 1;
    }
    assert!(compared > 800, "{compared}");
    let narrow: Vec<String> = narrow.iter().map(|(name, width)| format!("{name} {width}")).collect();
    let expected = "buffer_load_i16 2, buffer_load_i8 1, buffer_load_u16 2, buffer_load_u8 1, load_b16 2, load_i16 2, load_i8 1, load_sbyte 1, load_short 2, load_sshort 2, load_u16 2, load_u8 1, \
                    load_ubyte 1, load_ushort 2, read_i16 2, read_i8 1, read_u16 2, read_u8 1, store_b16 2, store_b8 1, \
                    store_byte 1, store_short 2, write_b16 2, write_b8 1";
    assert_eq!(narrow.join(", "), expected);
}

/// Whatever the tables flag as a load or a store is an access, and has a width, but for these.
#[test]
fn what_has_no_access_or_no_width_is_known() {
    let names = |wanted: &dyn Fn(&'static OpcodeInfo) -> bool| -> Vec<&str> {
        let all = opcodes().filter(|info| !info.base.starts_with("image_") && wanted(info));
        let names: std::collections::BTreeSet<&str> = all.map(|info| info.base).collect();
        names.into_iter().collect()
    };
    let touches = |info: &OpcodeInfo| info.flags.intersects(Flags::LOAD | Flags::STORE);
    let gws = [
        "ds_gws_barrier",
        "ds_gws_init",
        "ds_gws_sema_br",
        "ds_gws_sema_p",
        "ds_gws_sema_release_all",
        "ds_gws_sema_v",
    ];
    let none = names(&|info| touches(info) && find(info).is_none());
    let waits = ["s_waitcnt_expcnt", "s_waitcnt_lgkmcnt", "s_waitcnt_vmcnt", "s_waitcnt_vscnt"];
    let fetches = [
        "flat_prefetch_b8",
        "global_prefetch_b8",
        "s_buffer_prefetch_data",
        "s_prefetch_data",
        "s_prefetch_data_pc_rel",
        "s_prefetch_inst",
        "s_prefetch_inst_pc_rel",
    ];
    assert_eq!(
        none,
        [
            &gws[..],
            &["exp", "export"],
            &fetches,
            &["s_wait_asynccnt", "s_wait_tensorcnt"],
            &waits,
            &["s_wakeup", "tensor_stop"]
        ]
        .concat()
    );
    let unsized_ones = names(&|info| find(info).is_some_and(|access| access.width.is_none()));
    let others = ["ds_add_gs_reg_rtn", "ds_sub_gs_reg_rtn"];
    let is_format = |name: &str| name.contains("buffer_") && name.contains("_format");
    // M0 says which registers of a block there are.
    let is_other = |name: &str| {
        name.starts_with("ds_bvh_stack_")
            || name.ends_with("_block")
            || name.starts_with("tensor_")
            || others.contains(&name)
    };
    assert!(unsized_ones.iter().all(|name| is_format(name) || is_other(name)), "{unsized_ones:?}");
    assert_eq!(unsized_ones.len(), 65, "{unsized_ones:?}");
    assert!(names(&|info| !touches(info) && find(info).is_some()).is_empty());
}

fn find(info: &'static OpcodeInfo) -> Option<MemoryAccess> {
    Inst::new(info).memory()
}

/// Texts and encodings by llvm-mc.
#[test]
fn examples() {
    let load = |space, width| MemoryAccess {
        space,
        width: Some(width),
        reads: true,
        writes: false,
        atomic: false,
        lds: false,
    };
    let store = |space, width| MemoryAccess { reads: false, writes: true, ..load(space, width) };
    let atomic = |space, width| MemoryAccess { writes: true, atomic: true, ..load(space, width) };
    let cases = [
        ("s_load_dwordx16 s[0:15], s[16:17], 0x0", [0xc012_0008, 0], load(Space::Global, 64)),
        ("global_load_ubyte_d16_hi v1, v[2:3], off", [0xdc84_8000, 0x017f_0002], load(Space::Global, 1)),
        ("ds_read2_b64 v[0:3], v4 offset1:1", [0xd8ee_0100, 4], load(Space::Lds, 16)),
        (
            "ds_wrxchg2_rtn_b32 v[0:1], v2, v3, v4 offset0:1",
            [0xd85c_0001, 0x0004_0302],
            MemoryAccess { writes: true, ..load(Space::Lds, 8) },
        ),
        (
            "buffer_load_dword off, s[0:3], 0 lds",
            [0xe051_0000, 0x8000_0000],
            MemoryAccess { lds: true, ..load(Space::Buffer, 4) },
        ),
        ("flat_atomic_cmpswap_x2 v[0:1], v[2:5]", [0xdd84_0000, 0x0000_0200], atomic(Space::Flat, 8)),
        ("buffer_atomic_pk_add_f16 v0, off, s[0:3], 0", [0xe138_0000, 0x8000_0000], atomic(Space::Buffer, 4)),
        ("scratch_store_dwordx3 off, v[0:2], s0", [0xdc78_4000, 0], store(Space::Scratch, 12)),
    ];
    for (text, words, expected) in cases {
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        let inst = Inst::decode(Target::Gfx90a, &bytes).unwrap();
        assert_eq!(inst.to_string(), text);
        assert_eq!(inst.memory(), Some(expected), "{text}");
    }
}
