//! Kernels that leave hooks no room, or split what belongs together, with hooks before and behind every instruction: the
//! same live registers all the way, the same memory, and nothing new in strict mode. docs/audit/placement.md lists them.

#[path = "support/lockstep.rs"]
mod lockstep;
mod support;
#[path = "support/words.rs"]
mod words;

use lockstep::{judge, modes_of, two_waves};
use luthier_codegen::*;
use luthier_isa::Generation;
use support::*;
use words::{Kernel, Words};

const TARGETS: [&str; 9] =
    ["gfx900", "gfx908", "gfx90a", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1201", "gfx1250"];

/// Runs the kernel plain and with hooks before and behind everything. Gives the number of hooks.
fn run(w: &Words, name: &str, kernel: &Kernel) -> Result<usize, String> {
    let none = || "no LLVM".to_owned();
    let object = kernel.assemble(w, name).ok_or_else(none)?;
    let counters = [counter_for(w.mode).ok_or_else(none)?, memory_counter_for(w.mode).ok_or_else(none)?];
    let mut points = 0;
    let [count, memory] = &counters;
    let cases = [
        (count, vec![Arg::Slot(0)], Bodies::InPlace),
        (memory, vec![], Bodies::InPlace),
        (memory, vec![], Bodies::Called),
    ];
    for (template, args, bodies) in cases {
        let mut plan = everywhere(&object, template, args.clone(), Where::Before);
        plan.insertions.extend(everywhere(&object, template, args, Where::After).insertions);
        plan.bodies = bodies;
        let input: Vec<u8> = (0..16u32 << 10).flat_map(|i| (i * 7 % 251).to_le_bytes()).collect();
        let judged = judge(w.mode, &object, &plan, |device, module| two_waves(w.mode, device, module, &input))?;
        if let Some(error) = judged.compared.stopped {
            return Err(format!("the plain kernel stops: {error}"));
        }
        if judged.clean != Some(true) {
            return Err(format!("strict mode finds something in the plain kernel: {:?}", judged.finding));
        }
        // Where nothing can be put away, hooks that need VGPRs in all lanes are rejected by name, and nothing else is.
        let registers = |r: &&Rejected| matches!(r.reason, Rejection::Registers { .. } | Rejection::NoHome { .. });
        let others: Vec<_> = judged.report.rejected.iter().filter(|r| !registers(r)).take(2).collect();
        if !others.is_empty() {
            return Err(format!("rejected: {others:?}"));
        }
        points += judged.report.points;
    }
    Ok(points)
}

/// The case on all processors that have it.
fn everywhere_that_has(name: &str, kernel: impl Fn(&Words) -> Option<Kernel>) {
    if llvm("clang").is_none() {
        return;
    }
    let (mut wrong, mut count) = (Vec::new(), 0);
    for mode in modes_of(&TARGETS) {
        let words = Words::of(mode);
        let Some(kernel) = kernel(&words) else { continue };
        count += 1;
        match run(&words, name, &kernel) {
            Ok(points) if points < 20 => wrong.push(format!("{mode:?}: only {points} hooks were placed")),
            Ok(_) => {}
            Err(e) => wrong.push(format!("{mode:?}: {e}")),
        }
    }
    assert!(wrong.is_empty() && count > 0, "{name}, {} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[luthier_needs::needs(llvm)]
#[test]
fn all_sgprs() {
    everywhere_that_has("sgprs", |w| {
        let mut body = String::new();
        (4..100).for_each(|n| body += &format!("s_movk_i32 s{n}, {n}\n"));
        body += &format!("s_cmp_eq_u32 s4, s5\nv_cmp_eq_u32_e32 {}, 8, v0\n", w.vcc());
        body += &format!("s_cselect_b32 s4, s5, s6\ns_nop 4\nv_cndmask_b32_e32 v1, v0, v1, {}\n", w.vcc());
        (5..100).for_each(|n| body += &format!("s_xor_b32 s4, s4, s{n}\n"));
        Kernel::of(body + "v_xor_b32_e32 v1, s4, v1\n")
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn all_vgprs() {
    everywhere_that_has("vgprs", |w| {
        let mut body = String::new();
        let most = if w.has_agprs() && w.mode.target().name() != "gfx908" { 252 } else { 256 };
        (2..most).step_by(3).for_each(|n| body += &format!("v_mov_b32_e32 v{n}, {n}\n"));
        (2..most).filter(|n| n % 3 != 2).for_each(|n| body += &format!("v_mov_b32_e32 v{n}, v0\n"));
        (2..most).for_each(|n| body += &format!("v_xor_b32_e32 v1, v1, v{n}\n"));
        Some(Kernel { vgprs: most, ..Kernel::of(body)? })
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn all_agprs() {
    everywhere_that_has("agprs", |w| {
        if !w.has_agprs() {
            return None;
        }
        let mut body = "s_nop 4\n".to_owned();
        (0..256).step_by(4).for_each(|n| body += &format!("v_accvgpr_write_b32 a{n}, v0\ns_nop 4\n"));
        (0..256)
            .filter(|n| n % 4 != 0)
            .for_each(|n| body += &format!("v_accvgpr_write_b32 a{n}, {}\ns_nop 4\n", n % 64));
        body += "s_nop 7\n";
        (0..256).for_each(|n| body += &format!("v_accvgpr_read_b32 v2, a{n}\ns_nop 4\nv_xor_b32_e32 v1, v1, v2\n"));
        Some(Kernel { agprs: 256, ..Kernel::of(body)? })
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn all_of_lds() {
    everywhere_that_has("lds", |w| {
        let gfx9 = w.generation.is_gfx9_family();
        let m0 = if gfx9 { "s_mov_b32 m0, -1\n" } else { "" };
        let body = format!(
            "{m0}{} v0, v1 offset:65272\n{wait}{} v1, v0 offset:65272\n{wait}v_add_u32_e64 v1, v1, v0\n",
            w.local(false),
            w.local(true),
            wait = w.wait()
        );
        let body = if gfx9 { body } else { body.replace("v_add_u32_e64", "v_add_nc_u32_e64") };
        Some(Kernel { lds: 65536, ..Kernel::of(body)? })
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn code_beyond_the_reach_of_branches() {
    everywhere_that_has("far", |_| {
        // Hooks make more than 32,767 words of it.
        let mut body = "s_mov_b32 s4, 2\n.Lagain:\ns_cmp_eq_u32 s4, 1\ns_cbranch_scc1 .Lskip\n".to_owned();
        (0..1500).for_each(|n| body += &format!("v_xor_b32_e32 v1, {}, v1\n", n % 60));
        Kernel::of(body + ".Lskip:\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 .Lagain\n")
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn no_lane_is_on() {
    everywhere_that_has("dark", |w| {
        let body = format!(
            "v_mov_b32_e32 v2, 7\n{}v_mov_b32_e32 v2, 9\nv_mov_b32_e32 v3, 9\n{} v4, v0, s[2:3]\nv_xor_b32_e32 v1, v2, v1\n\
             {}{}{}v_xor_b32_e32 v1, v2, v1\n",
            w.exec(0),
            w.load(),
            w.wait(),
            w.exec(0x0f0f_0f0f_5555_aaaa),
            "v_add_u32_e64 v1, v1, v0\n"
                .replace("v_add_u32", if w.generation.is_gfx9_family() { "v_add_u32" } else { "v_add_nc_u32" }),
        );
        Kernel::of(body)
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn loads_and_stores_of_every_kind_in_flight() {
    everywhere_that_has("flight", |w| {
        let (sload, flat) = match w.has_new_names() {
            true => ("s_load_b128", ["flat_load_b32", "flat_store_b32"]),
            false => ("s_load_dwordx4", ["flat_load_dword", "flat_store_dword"]),
        };
        let m0 = if w.generation.is_gfx9_family() { "s_mov_b32 m0, -1\n" } else { "" };
        let buffer = if w.has_new_names() { "buffer_load_b32" } else { "buffer_load_dword" };
        let body = format!(
            "{m0}v_mov_b32_e32 v2, s2\nv_mov_b32_e32 v3, s3\ns_mov_b32 s8, s2\ns_mov_b32 s9, s3\ns_mov_b32 s10, 0x1000\n\
             s_mov_b32 s11, {rsrc}\n{dsw} v0, v1\n{load} v4, v0, s[2:3] offset:256\n{load} v5, v0, s[2:3] offset:512\n\
             {sload} s[12:15], s[2:3], 0x40\n{buffer} v6, v0, s[8:11], 0 offen offset:128\n{dsr} v7, v0\n{fl} v8, v[2:3]\n\
             {store} v0, v1, s[2:3] offset:1024\ns_mov_b32 s4, 5\nv_mov_b32_e32 v9, s4\n{wait}v_xor_b32_e32 v1, v4, v5\n\
             v_xor_b32_e32 v1, v1, v6\nv_xor_b32_e32 v1, v1, v7\nv_xor_b32_e32 v1, v1, v8\nv_xor_b32_e32 v1, v1, v9\n\
             v_xor_b32_e32 v1, s12, v1\nv_xor_b32_e32 v1, s15, v1\n",
            dsw = w.local(false),
            dsr = w.local(true),
            load = w.load(),
            store = w.store(),
            fl = flat[0],
            wait = w.wait(),
            rsrc = match w.generation {
                Generation::Gfx10 => "0x31016000",
                Generation::Gfx11 | Generation::Gfx12 | Generation::Gfx1250 => "0x31016000",
                _ => "0x27000",
            },
        );
        let body = if w.generation >= Generation::Gfx12 {
            body.replace("s[8:11], 0 offen", "s[8:11], null offen")
        } else {
            body
        };
        // gfx1250 has a resource of another layout.
        let body = match w.generation {
            Generation::Gfx1250 => body
                .lines()
                .filter(|l| !l.starts_with("buffer_"))
                .map(|l| format!("{l}\n"))
                .collect::<String>()
                .replace("v_xor_b32_e32 v1, v1, v6\n", ""),
            _ => body,
        };
        Kernel::of(body)
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn matrix_operations_at_work() {
    everywhere_that_has("matrix", |w| {
        let mut body = String::new();
        match w.mode.target().name() {
            _ if w.has_agprs() => {
                (0..4).for_each(|n| body += &format!("v_accvgpr_write_b32 a{n}, 0\n"));
                body += "v_mov_b32_e32 v2, 1.0\nv_mov_b32_e32 v3, 2.0\ns_nop 7\nv_mfma_f32_4x4x1f32 a[0:3], v2, v3, a[0:3]\n\
                         v_mov_b32_e32 v4, 5\ns_nop 15\ns_nop 15\nv_accvgpr_read_b32 v5, a0\nv_accvgpr_read_b32 v6, a3\n\
                         s_nop 7\nv_xor_b32_e32 v1, v5, v1\nv_xor_b32_e32 v1, v6, v1\n";
                if w.generation == Generation::Gfx940 {
                    body = body.replace("v_mfma_f32_4x4x1f32", "v_mfma_f32_4x4x1_16b_f32");
                }
            }
            _ => return None,
        }
        Some(Kernel { agprs: 4, ..Kernel::of(body)? })
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn image_loads_and_stores_in_flight() {
    everywhere_that_has("image", |w| {
        let (resource, modifiers) = w.image()?;
        let body = format!(
            "{resource}v_lshrrev_b32_e32 v2, 2, v0\nimage_load v4, v2, s[12:19] {modifiers}\n\
             image_load v5, v2, s[12:19] {modifiers}\nv_mov_b32_e32 v6, 5\ns_mov_b32 s4, 7\n\
             image_store v6, v2, s[12:19] {modifiers}\nv_mov_b32_e32 v7, s4\n{wait}v_xor_b32_e32 v1, v4, v1\n\
             v_xor_b32_e32 v1, v5, v1\nv_xor_b32_e32 v1, v7, v1\n",
            wait = w.wait()
        );
        Kernel::of(body)
    });
}

/// The lanes that a DPP move reads, and those that it keeps, with few lanes on.
#[luthier_needs::needs(llvm)]
#[test]
fn moves_between_lanes_across_the_seam() {
    everywhere_that_has("lanes", |w| {
        let mut body = "v_mov_b32_e32 v2, 3\nv_mov_b32_e32 v3, 4\nv_mov_b32_e32 v4, 5\n".to_owned();
        body += &(w.exec(0x0f0f_5a5a_5555_9669) + &"v_nop\n".repeat(10));
        for control in ["quad_perm:[1,0,3,2]", "row_shr:1", "row_ror:3", "row_mirror", "row_half_mirror"] {
            for more in
                ["row_mask:0xf bank_mask:0xf", "row_mask:0x5 bank_mask:0x3", "row_mask:0xf bank_mask:0xf bound_ctrl:1"]
            {
                body += &format!(
                    "v_xor_b32_e32 v4, v1, v2\ns_nop 1\nv_mov_b32_dpp v2, v4 {control} {more}\nv_xor_b32_e32 v1, v2, v1\n"
                );
            }
        }
        if !w.generation.is_gfx9_family() {
            body += "v_xor_b32_e32 v4, v1, v2\nv_mov_b32_dpp v3, v4 dpp8:[7,6,5,4,3,2,1,0]\nv_xor_b32_e32 v1, v3, v1\n";
            body += "s_mov_b32 s4, 0x76543210\ns_mov_b32 s5, 0xfedcba98\nv_permlane16_b32 v3, v1, s4, s5\n\
                     v_permlanex16_b32 v2, v1, s4, s5\nv_xor_b32_e32 v1, v3, v1\nv_xor_b32_e32 v1, v2, v1\n";
        }
        let add = if w.generation.is_gfx9_family() { "v_add_u32_e64" } else { "v_add_nc_u32_e64" };
        // A scalar that a vector instruction has written, as a lane's number.
        let settled = if w.generation == Generation::Gfx12 { "s_wait_alu 0xf1fc" } else { "s_nop 4" };
        body += &format!(
            "s_nop 4\nv_readfirstlane_b32 s6, v1\ns_and_b32 s6, s6, 31\n{settled}\nv_readlane_b32 s7, v1, s6\n\
             {settled}\nv_writelane_b32 v1, s7, 5\n{add} v1, v1, v0\n"
        );
        Kernel::of(body)
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn matrix_operations_of_rdna_at_work() {
    everywhere_that_has("wmma", |w| {
        let (dense, sparse) = match (w.generation, w.wide) {
            (Generation::Gfx11, false) => ("v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], v[8:15]", ""),
            (Generation::Gfx11, true) => ("v_wmma_f32_16x16x16_f16 v[8:11], v[16:23], v[24:31], v[8:11]", ""),
            (Generation::Gfx12, false) => (
                "v_wmma_f32_16x16x16_f16 v[8:15], v[16:19], v[20:23], v[8:15]",
                "v_swmmac_f32_16x16x32_f16 v[8:15], v[16:19], v[20:27], v28",
            ),
            (Generation::Gfx12, true) => (
                "v_wmma_f32_16x16x16_f16 v[8:11], v[16:17], v[18:19], v[8:11]",
                "v_swmmac_f32_16x16x32_f16 v[8:11], v[16:17], v[18:21], v28",
            ),
            (Generation::Gfx1250, _) => (
                "v_wmma_f32_16x16x32_f16 v[8:15], v[16:23], v[24:31], v[8:15]",
                "v_swmmac_f32_16x16x64_f16 v[8:15], v[16:23], v[24:39], v40",
            ),
            _ => return None,
        };
        let mut body = String::new();
        (8..16).for_each(|n| body += &format!("v_mov_b32_e32 v{n}, {n}\n"));
        (16..42).for_each(|n| body += &format!("v_mov_b32_e32 v{n}, 0x3c0038{n:02}\n"));
        let rest = "v_nop\n".repeat(16);
        // Something else runs while the matrix is at work.
        body += &format!("{rest}{dense}\nv_mov_b32_e32 v2, 5\nv_xor_b32_e32 v1, v2, v1\n{rest}{sparse}\n");
        body += &format!("v_mov_b32_e32 v3, 6\n{rest}v_xor_b32_e32 v1, v3, v1\n");
        (8..12).for_each(|n| body += &format!("v_xor_b32_e32 v1, v{n}, v1\n"));
        Some(Kernel { vgprs: 48, ..Kernel::of(body)? })
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn clauses_and_delays_that_hooks_split() {
    everywhere_that_has("clause", |w| {
        if w.generation < Generation::Gfx10 || w.generation.is_gfx9_family() {
            return None;
        }
        let delay = if w.has_new_names() {
            "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)\n"
        } else {
            ""
        };
        let body = format!(
            "s_clause 0x2\n{l} v2, v0, s[2:3]\n{l} v3, v0, s[2:3] offset:256\n{l} v4, v0, s[2:3] offset:512\n{}\
             v_xor_b32_e32 v1, v2, v3\n{delay}v_xor_b32_e32 v1, v1, v4\nv_xor_b32_e32 v5, v1, v4\nv_xor_b32_e32 v1, v1, v5\n",
            w.wait(),
            l = w.load()
        );
        Kernel::of(body)
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn pairs_of_operations() {
    everywhere_that_has("dual", |w| {
        if !w.has_new_names() || w.wide {
            return None;
        }
        let body = "v_mov_b32_e32 v2, 3\nv_mov_b32_e32 v3, 4\nv_dual_mov_b32 v4, v2 :: v_dual_mov_b32 v5, v3\n\
                    v_dual_add_nc_u32 v6, v4, v4 :: v_dual_mov_b32 v7, v5\n"
            .replace(
                "v_dual_add_nc_u32 v6, v4, v4 :: v_dual_mov_b32 v7, v5",
                "v_dual_mov_b32 v6, v4 :: v_dual_add_nc_u32 v7, v5, v2",
            );
        Kernel::of(body + "v_xor_b32_e32 v1, v6, v1\nv_xor_b32_e32 v1, v7, v1\nv_xor_b32_e32 v1, v5, v1\n")
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn upper_halves_of_the_vector_file() {
    everywhere_that_has("upper", |w| {
        if w.mode.target().vgprs() <= 256 {
            return None;
        }
        let body = "v_mov_b32_e32 v2, 9\ns_set_vgpr_msb 0x40\nv_mov_b32_e32 v2, v1\nv_mov_b32_e32 v3, v0\ns_set_vgpr_msb 0x45\n\
                    v_xor_b32_e32 v2, v2, v3\ns_set_vgpr_msb 0x1\nv_xor_b32_e32 v1, v2, v2\ns_set_vgpr_msb 0x0\n\
                    v_xor_b32_e32 v1, v2, v1\n";
        Some(Kernel { vgprs: 264, ..Kernel::of(body.to_owned())? })
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn barriers_in_halves() {
    everywhere_that_has("split", |w| {
        if w.generation < Generation::Gfx12 {
            return None;
        }
        let body = format!(
            "{} v0, v1\ns_wait_dscnt 0x0\ns_barrier_signal -1\nv_mov_b32_e32 v2, 5\ns_barrier_wait -1\n{} v1, v0\ns_wait_dscnt 0x0\n\
             v_xor_b32_e32 v1, v2, v1\n",
            w.local(false),
            w.local(true)
        );
        Kernel::of(body)
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn barriers_with_names() {
    everywhere_that_has("named", |w| {
        if w.generation != Generation::Gfx1250 {
            return None;
        }
        // One wave of one: the barrier in M0.
        let body = "s_mov_b32 m0, 0x10001\ns_barrier_init m0\ns_barrier_join 1\ns_barrier_signal 1\nv_mov_b32_e32 v2, 5\n\
                    s_barrier_wait 1\nv_xor_b32_e32 v1, v2, v1\n";
        Some(Kernel { more: ".amdhsa_named_barrier_count 4\n", ..Kernel::of(body.to_owned())? })
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn a_hook_behind_global_wave_sync() {
    everywhere_that_has("gws", |w| {
        if !matches!(w.generation, Generation::Gfx90a | Generation::Gfx940) && w.mode.target().name() != "gfx908" {
            return None;
        }
        let body = "v_mov_b32_e32 v2, 0\ns_mov_b32 m0, 0\ns_nop 4\nds_gws_init v2 gds\ns_waitcnt 0x0\nds_gws_barrier v2 gds\ns_waitcnt 0x0\n\
                    v_xor_b32_e32 v1, 3, v1\n";
        Kernel::of(body.to_owned())
    });
}
