//! Sequences that look as if `deburr fix` could rewrite them, each with the one thing that speaks against it: all stay as they
//! are, for that reason, and those that have nothing against them are rewritten.

use deburr_cpu::{Feature, FeatureSet};
use deburr_patch::{NoShape, Obstacle, PlanRequest, Reason, plan};
use deburr_tests::toolchain::{compile, require, work_dir};
use std::collections::BTreeMap;
use std::fs;

const GCC: &str = "aarch64-linux-gnu-gcc";

/// Functions of one library, by name: what stands before the loop, in it, and behind it.
const ASSEMBLY: &str = r#"
        .macro  begin name
        .globl  \name
        .type   \name, %function
\name:
        .endm
        .macro  end name
        ret
        .size   \name, .-\name
        .rept   32
        nop
        .endr
        .endm

        .text
        begin   plain
1:      ldaxr   w2, [x0]
        add     w3, w2, w1
        stlxr   w4, w3, [x0]
        cbnz    w4, 1b
        end     plain

        begin   waits_for_events
        sevl
1:      wfe
        ldaxr   w2, [x0]
        add     w3, w2, w1
        stlxr   w4, w3, [x0]
        cbnz    w4, 1b
        end     waits_for_events

        begin   entered_by_a_branch
        cbz     x1, 2f
1:      ldaxr   w2, [x0]
2:      add     w3, w2, w1
        stlxr   w4, w3, [x0]
        cbnz    w4, 1b
        end     entered_by_a_branch

        begin   entered_by_a_pointer
1:      ldaxr   w2, [x0]
inside: add     w3, w2, w1
        stlxr   w4, w3, [x0]
        cbnz    w4, 1b
        end     entered_by_a_pointer

        begin   reads_other_memory
1:      ldaxr   w2, [x0]
        ldr     w3, [x1]
        stlxr   w4, w3, [x0]
        cbnz    w4, 1b
        end     reads_other_memory

        begin   fenced_inside
1:      ldxr    w2, [x0]
        dmb     ish
        add     w3, w2, w1
        stxr    w4, w3, [x0]
        cbnz    w4, 1b
        end     fenced_inside

        begin   moves_on
1:      ldaxr   x2, [x0]
        add     x0, x0, x1
        stlxr   w4, x1, [x0]
        cbnz    w4, 1b
        end     moves_on

        begin   adds_if_not_zero
1:      ldaxr   w2, [x0]
        cbz     w2, 2f
        add     w3, w2, #1
        stlxr   w4, w3, [x0]
        cbnz    w4, 1b
2:      end     adds_if_not_zero

        begin   narrow_and_unknown
1:      ldaxrb  w3, [x0]
        cmp     w3, w1
        b.ne    2f
        stlxrb  w4, w2, [x0]
        cbnz    w4, 1b
2:      cset    w0, eq
        end     narrow_and_unknown

        begin   stored_behind_the_way_out
1:      ldaxr   w3, [x0]
        cmp     w3, w1
        b.ne    2f
        stlxr   w4, w2, [x0]
        cbnz    w4, 1b
        ret
2:      stlxr   w4, w3, [x0]
        end     stored_behind_the_way_out

        begin   constant
        adrp    x0, table
        add     x0, x0, :lo12:table
1:      ldaxr   w3, [x0]
        cmp     w3, w1
        b.ne    2f
        stlxr   w4, w2, [x0]
        cbnz    w4, 1b
2:      cset    w0, eq
        end     constant

        begin   registers_a_constant
        adrp    x0, table
        add     x0, x0, :lo12:table
        b       plain
        .size   registers_a_constant, .-registers_a_constant

        begin   behind_another_function
1:      ldaxr   w3, [x0]
        cmp     w3, w1
        b.ne    2f
        stlxr   w4, w2, [x0]
        cbnz    w4, 1b
2:      cset    w0, eq
        end     behind_another_function

        .hidden __aarch64_ldadd4_acq_rel
        begin   __aarch64_ldadd4_acq_rel
        adrp    x16, flag
        ldrb    w16, [x16, :lo12:flag]
        cbz     w16, 1f
        ldaddal w0, w0, [x1]
        ret
1:      mov     w16, w0
2:      ldaxr   w0, [x1]
        add     w17, w0, w16
        stlxr   w15, w17, [x1]
        cbnz    w15, 2b
        end     __aarch64_ldadd4_acq_rel

        begin   calls
        str     x30, [sp, #-16]!
        bl      __aarch64_ldadd4_acq_rel
        cbz     w0, 1f
        ldr     x30, [sp], #16
        ret
1:      ldr     x30, [sp], #16
        end     calls

        begin   calls_and_reads_the_link_on_one_way
        str     x30, [sp, #-16]!
        bl      __aarch64_ldadd4_acq_rel
        cbz     w0, 1f
        ldr     x30, [sp], #16
        ret
1:      mov     x0, x30
        ldr     x30, [sp], #16
        end     calls_and_reads_the_link_on_one_way

        begin   calls_and_reads_what_helpers_overwrite
        str     x30, [sp, #-16]!
        bl      __aarch64_ldadd4_acq_rel
        mov     x0, x16
        ldr     x30, [sp], #16
        end     calls_and_reads_what_helpers_overwrite

        begin   init_have_lse_atomics
        stp     x29, x30, [sp, #-16]!
        mov     x0, #16
        bl      getauxval
        ubfx    w0, w0, #8, #1
        adrp    x1, flag
        strb    w0, [x1, :lo12:flag]
        ldp     x29, x30, [sp], #16
        end     init_have_lse_atomics

        .section .init_array, "aw"
        .balign 8
        .quad   init_have_lse_atomics
        .section .rodata
        .balign 8
table:  .quad   1, 2
        .data
        .balign 8
        .quad   inside
flag:   .byte   0
"#;

fn reasons() -> BTreeMap<&'static str, Reason> {
    let shape = Reason::NoShape;
    BTreeMap::from([
        ("waits_for_events", Reason::Obstacle(Obstacle::Event)),
        ("entered_by_a_branch", Reason::Obstacle(Obstacle::Entered)),
        ("entered_by_a_pointer", Reason::Obstacle(Obstacle::Entered)),
        ("reads_other_memory", shape(NoShape::Body)),
        ("fenced_inside", shape(NoShape::Body)),
        ("moves_on", shape(NoShape::Base)),
        ("adds_if_not_zero", shape(NoShape::Operation)),
        ("stored_behind_the_way_out", Reason::Obstacle(Obstacle::StillArmed)),
        ("constant", Reason::Obstacle(Obstacle::ReadOnly)),
        ("calls_and_reads_the_link_on_one_way", Reason::LiveRegister),
        ("calls_and_reads_what_helpers_overwrite", Reason::LiveRegister),
    ])
}

#[test]
fn what_something_speaks_against_stays_as_it_is() {
    require(GCC);
    let dir = work_dir("refused");
    let library =
        compile(&dir, "near.so", ("s", ASSEMBLY), GCC, &["-shared", "-nostdlib", "-march=armv8.1-a"]);
    let bytes = fs::read(&library).expect("the library");
    let target = FeatureSet::from_iter([Feature::FEAT_LSE]);
    let request = PlanRequest { target: Some(target), ..PlanRequest::default() };
    let planned = plan(&bytes, &request).expect("a plan");
    let rewritten: Vec<&str> = planned.sites.iter().filter_map(|site| site.function.as_deref()).collect();
    assert_eq!(rewritten, ["plain", "behind_another_function", "calls"]);
    let mut refused: BTreeMap<&str, &Reason> = planned
        .refused
        .iter()
        .filter_map(|refused| Some((refused.function.as_deref()?, &refused.reason)))
        .collect();
    // What differs is shown by a state, which is none of this test's business.
    let narrow = refused.remove("narrow_and_unknown").expect("refused");
    assert!(matches!(narrow, Reason::Unproven(_)), "{narrow:?}");
    for (function, reason) in reasons() {
        assert_eq!(refused.remove(function), Some(&reason), "{function}");
    }
    assert!(refused.is_empty(), "{refused:?}");
}
