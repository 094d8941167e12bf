//! Hooks by name, for filetests.

use std::sync::Arc;

use luthier_codegen::*;
use luthier_isa::{Mode, Reg, RegSet, Wave};

use super::*;

/// The hook of this name, for a processor; `None` if LLVM is not there.
pub fn hook(mode: Mode, name: &str) -> Option<Arc<Template>> {
    let place = |range, written, clobbered| Some(ArgPlace { range, read: true, written, clobbered });
    let made = |source: &str, groups, args, whole: &[Reg]| {
        Maker { mode, source, groups, args, relocs: vec![], whole: whole.iter().copied().collect::<RegSet>() }
            .make(name)
    };
    match name {
        "count" => counter_for(mode),
        "memory" => memory_counter_for(mode),
        "scribble" => scribbler_for(mode),
        // Reads a scalar, changes its own copy, SCC.
        "scalar" => made("s_add_u32 s4, s4, 1\n", vec![], vec![place(s(4, 1), false, true)], &[]),
        // Reads an aligned pair and leaves it alone; changes VCC.
        "pair" => {
            let vcc = if mode.wave() == Wave::W32 { "vcc_lo" } else { "vcc" };
            let source = format!("v_cmp_eq_u64_e64 {vcc}, s[4:5], 0\n");
            made(&source, vec![(s(4, 2), 2)], vec![place(s(4, 2), false, false)], &[])
        }
        // Reads one vector register, changes another.
        "vector" => {
            let newer = mode.target().generation() >= luthier_isa::Generation::Gfx10;
            let add = if newer { "v_add_nc_u32_e32" } else { "v_add_u32_e32" };
            made(&format!("{add} v1, 1, v0\n"), vec![], vec![place(v(0, 1), false, false)], &[])
        }
        // Doubles a vector register in place.
        "double" => made("v_lshlrev_b32_e32 v0, 1, v0\n", vec![], vec![place(v(0, 1), true, true)], &[]),
        // Changes the first and reads the second afterwards.
        "change" => made(
            "v_lshlrev_b32_e32 v0, 1, v0\nv_add_u32_e32 v0, v0, v1\n",
            vec![],
            vec![place(v(0, 1), true, true), place(v(1, 1), false, false)],
            &[],
        ),
        // Reads two, changes a third.
        "sum" => made(
            "v_add_u32_e32 v2, v0, v1\n",
            vec![],
            vec![place(v(0, 1), false, false), place(v(1, 1), false, false)],
            &[],
        ),
        // Changes two.
        "both" => made(
            "v_lshlrev_b32_e32 v0, 1, v0\nv_lshlrev_b32_e32 v1, 2, v1\n",
            vec![],
            vec![place(v(0, 1), true, true), place(v(1, 1), true, true)],
            &[],
        ),
        // Writes all lanes of an aligned quad.
        "whole" => {
            let source = "s_mov_b64 s[6:7], exec\ns_mov_b64 exec, -1\nv_mov_b32_e32 v0, 0\nv_mov_b32_e32 v3, 0\ns_mov_b64 exec, s[6:7]\n";
            made(
                source,
                vec![(s(6, 2), 2), (v(0, 4), 2)],
                vec![],
                &[Reg::vgpr(0), Reg::vgpr(1), Reg::vgpr(2), Reg::vgpr(3)],
            )
        }
        "m0" => made(
            "s_mov_b32 m0, 0\nds_write_b32 v0, v0\ns_waitcnt lgkmcnt(0)\n",
            vec![],
            vec![place(v(0, 1), false, false)],
            &[],
        ),
        "float" => {
            let mut t = Arc::unwrap_or_clone(made(
                "v_add_f32_e32 v1, 1.0, v0\n",
                vec![],
                vec![place(v(0, 1), false, false)],
                &[],
            )?);
            t.uses_fp_mode = true;
            Some(Arc::new(t))
        }
        "load" => made(
            "s_load_dword s6, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\n",
            vec![(s(4, 2), 2)],
            vec![place(s(4, 2), false, false)],
            &[],
        ),
        "store" => made(
            "global_store_dword v0, v0, s[4:5]\n",
            vec![(s(4, 2), 2)],
            vec![place(s(4, 2), false, false), place(v(0, 1), false, false)],
            &[],
        ),
        // Stores more than 64 bits, so that the application may not overwrite the data at once.
        "wide" => made(
            "v_mov_b32_e32 v1, 0\nglobal_store_dwordx4 v0, v[4:7], s[4:5]\n",
            vec![(s(4, 2), 2), (v(4, 4), 2)],
            vec![place(s(4, 2), false, false)],
            &[],
        ),
        // Works with a stack of 16 bytes.
        "stack" => {
            let newer = mode.target().generation() >= luthier_isa::Generation::Gfx11;
            let store = if newer { "scratch_store_b32" } else { "scratch_store_dword" };
            let source = format!("{store} off, v0, s4\n");
            let args = vec![place(v(0, 1), false, false)];
            let made = Maker { mode, source: &source, groups: vec![], args, relocs: vec![], whole: RegSet::EMPTY };
            let mut template = Arc::unwrap_or_clone(made.make(name)?);
            template.stack = Some(Stack { bytes: 16, base: place(s(4, 1), false, false) });
            template.live_in.insert(Reg::sgpr(4));
            Some(Arc::new(template))
        }
        // More registers than there are.
        "huge" => made("s_mov_b32 s0, 0\n", vec![(s(0, 100), 4)], vec![], &[]),
        _ => panic!("no hook is called {name}"),
    }
}
