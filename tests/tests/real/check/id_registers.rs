//! `unchecked-id-register` on programs compiled here, which keep and pass on in many ways whether they may read MIDR_EL1.

use deburr_core::{Request, check};
use deburr_tests::toolchain::{compile, work_dir};

const RULE: &str = "unchecked-id-register";

const HEAD: &str = "
#include <asm/hwcap.h>
#include <elf.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#define APART __attribute__((noinline))
APART static unsigned long midr(void) { unsigned long it; __asm__ volatile(\"mrs %0, midr_el1\" : \"=r\"(it)); return it; }
static unsigned long first(void) { return getauxval(AT_HWCAP); }
static unsigned long second(void) { return getauxval(AT_HWCAP2); }
";

/// Programs that read the register only where they may, each by what it does.
const ASKING: &[(&str, &str)] = &[
    ("ends_without", "
APART static void need(void) { if (!(first() & HWCAP_CPUID)) { puts(\"no\"); exit(1); } }
int main(void) { need(); return printf(\"%lx\", midr()) < 0; }"),
    ("ends_in_a_callee", "
APART static _Noreturn void die(void) { puts(\"no\"); abort(); }
APART static void need(void) { if (!(first() & HWCAP_CPUID)) die(); }
int main(void) { need(); return printf(\"%lx\", midr()) < 0; }"),
    ("flag_of_three_values", "
static int kept;
APART static int has(void) { if (!kept) kept = first() & HWCAP_CPUID ? 1 : 2; return kept == 1; }
int main(void) { return has() ? printf(\"%lx\", midr()) < 0 : 0; }"),
    ("atomic_flag_of_three_values", "
static atomic_int kept;
APART static int has(void) {
    int it = atomic_load_explicit(&kept, memory_order_acquire);
    if (!it) { it = first() & HWCAP_CPUID ? 1 : 2; atomic_store_explicit(&kept, it, memory_order_release); }
    return it == 1;
}
int main(void) { return has() ? printf(\"%lx\", midr()) < 0 : 0; }"),
    ("asked_once", "
APART static int has(void) { static int kept = -1; if (kept < 0) kept = (first() & HWCAP_CPUID) != 0; return kept; }
int main(void) { return has() ? printf(\"%lx\", midr()) < 0 : 0; }"),
    ("sign_of_a_shifted_word", "
int main(void) { return (long)(first() << 52) < 0 ? printf(\"%lx\", midr()) < 0 : 0; }"),
    ("words_side_by_side", "
static unsigned long words[2];
__attribute__((constructor)) static void ask(void) { words[0] = first(); words[1] = second(); }
int main(void) { return words[0] & HWCAP_CPUID ? printf(\"%lx\", midr()) < 0 : 0; }"),
    (
        "vector_behind_the_environment",
        "
int main(int count, char **words, char **environment) {
    unsigned long word = 0;
    while (*environment) environment++;
    for (Elf64_auxv_t *it = (void *)(environment + 1); it->a_type; it++)
        if (it->a_type == AT_HWCAP) word = it->a_un.a_val;
    return word & HWCAP_CPUID ? printf(\"%lx %d %s\", midr(), count, words[0]) < 0 : 0;
}",
    ),
];

/// Programs that read it where they may not.
const NOT_ASKING: &[(&str, &str)] = &[
    ("set_by_default", "
int has = 1;
int main(int count, char **words) {
    if (count > 3) has = (first() & HWCAP_CPUID) != 0;
    return has ? printf(\"%lx %s\", midr(), words[0]) < 0 : 0;
}"),
    ("never_cleared", "
static int has = 1;
APART void ask(void) { has = (first() & HWCAP_CPUID) != 0; }
int main(int count, char **words) { if (has) printf(\"%lx %s\", midr(), words[0]); if (count > 1) ask(); return !has; }"),
    ("another_entry", "
int main(void) { return getauxval(AT_PAGESZ) & 1 << 11 ? printf(\"%lx\", midr()) < 0 : 0; }"),
    ("the_second_word", "
static unsigned long words[2];
__attribute__((constructor)) static void ask(void) { words[0] = first(); words[1] = second(); }
int main(void) { return words[1] & 1 << 11 ? printf(\"%lx\", midr()) < 0 : 0; }"),
    ("the_second_word_as_argument", "
APART static int has(unsigned long word) { return word >> 11 & 1; }
int main(void) { return has(second()) ? printf(\"%lx\", midr()) < 0 : 0; }"),
    ("a_place_to_jump_to", "
int main(int count, char **words) {
    void *volatile places[2] = {&&one, &&other};
    unsigned long it;
    goto *places[count & 1];
one:
    return puts(words[0]) < 0;
other:
    __asm__ volatile(\"mrs %0, midr_el1\" : \"=r\"(it));
    return printf(\"%lx\", it) < 0;
}"),
];

/// How many findings a program has, as each compiler makes it.
fn findings(kind: &str, programs: &[(&str, &str)]) -> Vec<(String, usize)> {
    let dir = work_dir(&format!("id-registers-{kind}"));
    let builds = [
        ("aarch64-linux-gnu-gcc", &["-O2"][..]),
        ("aarch64-linux-gnu-gcc", &["-O0"]),
        ("clang", &["--target=aarch64-linux-gnu", "-O2"]),
    ];
    let mut found = Vec::new();
    for (name, body) in programs {
        for (compiler, flags) in builds {
            let made = format!("{name}-{compiler}{}", flags.join(""));
            let program = compile(&dir, &made, ("c", &format!("{HEAD}{body}\n")), compiler, flags);
            let bytes =
                std::fs::read(&program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
            let request = Request { rules: Some(&[RULE]), ..Request::default() };
            let report = check(&bytes, &request).unwrap_or_else(|error| panic!("{made}: {error}"));
            found.push((made, report.findings.len()));
        }
    }
    found
}

#[test]
fn programs_that_ask_first_have_no_finding() {
    let found = findings("asking", ASKING);
    assert_eq!(found.len(), 3 * ASKING.len());
    let wrong: Vec<_> = found.iter().filter(|it| it.1 != 0).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn programs_that_do_not_ask_have_one() {
    let found = findings("not-asking", NOT_ASKING);
    assert_eq!(found.len(), 3 * NOT_ASKING.len());
    let wrong: Vec<_> = found.iter().filter(|it| it.1 != 1).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
