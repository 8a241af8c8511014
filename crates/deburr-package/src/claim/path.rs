//! Files of several machines in one package: the folders and names by which a program finds the one for its machine.
//!
//! In: the path of a member. Out: a [`Statement`] about it. A jar, an application for Android or a package of npm has no field for its
//! machines where it is for several, and its loaders go by names: `jni/arm64-v8a/` and `lib/x86_64/` (Android, "ABI management"),
//! `Linux/x86_64/` (sqlite-jdbc, jansi), `linux/amd64/` (zstd-jni), `linux-aarch64/` (JNA, JavaCPP), `META-INF/native/libx_linux_x86_64.so`
//! (netty), `prebuilds/linux-x64/` and `prebuilds/x.linux-x64-gnu.node` (prebuildify, napi-rs), `runtimes/linux-musl-arm64/native/` (.NET),
//! and the triples of compilers. A name of an architecture alone says nothing: what counts has a system next to it, or is in a folder that
//! is for nothing else.

use super::statement::{Machines, Statement};

/// What a path says of the machines that its file is for, and the beginning of the path that says so. `path`: as
/// [`crate::Object`] has it.
pub fn of_path(path: &str) -> Option<(&str, Statement)> {
    let inside = path.rfind('!').map_or(0, |at| at + 1);
    let is_android = path.get(..inside).is_some_and(is_android);
    let mut ends: Vec<usize> = path.get(inside..)?.match_indices('/').map(|(at, _)| inside + at).collect();
    // What is in an archive is of the machines of the archive.
    ends.push(path.get(inside..)?.find('(').map_or(path.len(), |at| inside + at));
    // The innermost decides.
    (0..ends.len()).rev().find_map(|index| {
        let end = *ends.get(index)?;
        let start = |index: usize| {
            index.checked_sub(1).and_then(|before| ends.get(before)).map_or(inside, |at| at + 1)
        };
        let name = path.get(start(index)..end)?;
        let above = index.checked_sub(1).and_then(|above| path.get(start(above)..*ends.get(above)?));
        let is_file = index + 1 == ends.len();
        let folder = path.get(inside..start(index))?;
        let (text, machines) = of_name(name, above, folder, (is_file, is_android))?;
        let statement = Statement::new("the path", text, machines);
        Some((path.get(..end)?, statement))
    })
}

/// Whether a package is an application, or a library, for Android.
fn is_android(package: &str) -> bool {
    let package = package.trim_end_matches('!').to_ascii_lowercase();
    [".apk", ".aar", ".aab", ".apks", ".xapk"].iter().any(|end| package.ends_with(end))
}

/// What a folder or a file says by its name, and by that of the folder above it.
fn of_name(
    name: &str,
    above: Option<&str>,
    folder: &str,
    (is_file, is_android): (bool, bool),
) -> Option<(String, Machines)> {
    let words = words(name);
    if let Some((arch, system)) = with_system(&words) {
        return Some((name.to_owned(), machines(arch, system)));
    }
    if is_file {
        // netty's transports for Linux have its name for the call, and not for the system.
        let arch = words.iter().find_map(|word| arch_of(word));
        return arch
            .filter(|_| folder.ends_with("META-INF/native/"))
            .map(|arch| (name.to_owned(), machines(arch, "")));
    }
    let above = above?;
    let text = || format!("{above}/{name}");
    let (first, only) = (words.first()?, words.len() == 1);
    let before = self::words(above);
    if let Some(arch) = arch_of(first).filter(|_| only) {
        if let Some(system) = ends_with_system(&before) {
            return Some((text(), machines(arch, system)));
        }
        if matches!(above, "lib" | "jni") {
            let system = if is_android { "android" } else { "" };
            return Some((text(), machines(arch, system)));
        }
    }
    let system = ends_with_system(&words)?;
    let [arch] = before.as_slice() else { return None };
    Some((text(), machines(arch_of(arch)?, system)))
}

/// An architecture, as a path names it: the first level of it, or a higher one of x86-64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    X86_64(Option<char>),
    Aarch64,
    Another,
}

fn machines(arch: Named, system: &str) -> Machines {
    match arch {
        // Android, "x86_64": "SSE4.2, and the POPCNT instruction"; clang adds CMPXCHG16B.
        Named::X86_64(None) if system == "android" => Machines::Level("x86-64+sse4.2+popcnt+cx16".to_owned()),
        Named::X86_64(None) => Machines::Level("x86-64".to_owned()),
        Named::X86_64(Some(level)) => Machines::Level(format!("x86-64-v{level}")),
        Named::Aarch64 => Machines::Level("armv8.0-a".to_owned()),
        Named::Another => Machines::Elsewhere,
    }
}

/// The words of a name in lower case; names of architectures are one word each, with the level of x86-64 at its end.
fn words(name: &str) -> Vec<String> {
    const JOINED: [(&str, &str); 8] = [
        ("x86_64", "x8664"),
        ("x86-64", "x8664"),
        ("aarch_64", "aarch64"),
        ("arm64-v8a", "arm64"),
        ("armeabi-v7a", "armeabi"),
        ("linux64", "linux-x8664"),
        ("linux32", "linux-x86"),
        ("x8664-v", "x8664v"),
    ];
    let name = JOINED.iter().fold(name.to_ascii_lowercase(), |name, (from, to)| name.replace(from, to));
    let name = ["x8664", "amd64", "x64"]
        .iter()
        .fold(name, |name, arch| name.replace(&format!("{arch}_v"), &format!("{arch}v")));
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The architecture that a word names.
fn arch_of(word: &str) -> Option<Named> {
    let x86_64 = ["x8664", "amd64", "x64"].iter().find_map(|name| word.strip_prefix(name));
    match (x86_64, word) {
        (Some("" | "v1"), _) => Some(Named::X86_64(None)),
        (Some(level @ ("v2" | "v3" | "v4")), _) => {
            level.chars().last().map(|level| Named::X86_64(Some(level)))
        }
        (_, "aarch64" | "arm64") => Some(Named::Aarch64),
        (
            _,
            "x86" | "i386" | "i486" | "i586" | "i686" | "ia32" | "arm" | "armeabi" | "armv5" | "armv6"
            | "armv6hf" | "armv7" | "armv7a" | "armv7hf" | "armv7l" | "armhf" | "mips" | "mips64" | "ppc64"
            | "ppc64le" | "powerpc64le" | "ppcle" | "riscv64" | "riscv64gc" | "s390x" | "s390" | "loong64"
            | "loongarch64" | "sparcv9",
        ) => Some(Named::Another),
        _ => None,
    }
}

/// Systems whose programs are ELF files.
const SYSTEMS: [&str; 8] =
    ["linux", "android", "freebsd", "netbsd", "openbsd", "solaris", "sunos", "illumos"];

fn is_system(word: &str) -> bool {
    SYSTEMS.contains(&word)
}

/// Whether a word may be between a system and its architecture: the C library, or the vendor of a triple.
fn is_between(word: &str) -> bool {
    matches!(word, "gnu" | "glibc" | "musl" | "libc" | "unknown" | "pc" | "alpine" | "uclibc")
}

/// An architecture and a system that are next to each other.
fn with_system(words: &[String]) -> Option<(Named, &str)> {
    let mut last: Option<&str> = None;
    for word in words.iter().filter(|word| !is_between(word)) {
        if let Some(last) = last {
            let pair = [(last, word.as_str()), (word.as_str(), last)];
            let found = pair
                .into_iter()
                .find_map(|(arch, system)| Some((arch_of(arch)?, system)).filter(|_| is_system(system)));
            if found.is_some() {
                return found;
            }
        }
        last = Some(word);
    }
    None
}

/// The system that a name ends with, apart from the C library: of `Linux`, `linux-musl`, `native-linux`.
fn ends_with_system(words: &[String]) -> Option<&str> {
    let last = words.iter().rev().find(|word| !is_between(word))?;
    is_system(last).then_some(last.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(name: &str) -> Option<Machines> {
        Some(Machines::Level(name.to_owned()))
    }

    fn of(path: &str) -> Option<Machines> {
        of_path(path).map(|(_, statement)| statement.machines)
    }

    #[test]
    fn paths_of_jars_and_of_packages_of_npm_say_for_which_machines_files_are() {
        for (path, expected) in [
            ("x.aar!jni/arm64-v8a/libx.so", "armv8.0-a"),
            ("x.apk!lib/arm64-v8a/libx.so", "armv8.0-a"),
            ("x.apk!lib/x86_64/libx.so", "x86-64+sse4.2+popcnt+cx16"),
            ("x.aab!base/lib/x86_64/libx.so", "x86-64+sse4.2+popcnt+cx16"),
            ("x.jar!lib/x86_64/libx.so", "x86-64"),
            ("x.jar!org/sqlite/native/Linux/x86_64/libsqlitejdbc.so", "x86-64"),
            ("x.jar!org/sqlite/native/Linux-Musl/aarch64/libsqlitejdbc.so", "armv8.0-a"),
            ("x.jar!org/sqlite/native/Linux-Android/x86_64/libsqlitejdbc.so", "x86-64+sse4.2+popcnt+cx16"),
            ("x.jar!linux/amd64/libzstd-jni-1.5.6-9.so", "x86-64"),
            ("x.jar!com/sun/jna/linux-x86-64/libjnidispatch.so", "x86-64"),
            ("x.jar!com/sun/jna/linux-aarch64/libjnidispatch.so", "armv8.0-a"),
            ("x.jar!META-INF/native/libnetty_tcnative_linux_x86_64.so", "x86-64"),
            ("x.jar!META-INF/native/libnetty_tcnative_linux_aarch_64.so", "armv8.0-a"),
            ("x.jar!META-INF/native/libnetty_transport_native_epoll_x86_64.so", "x86-64"),
            ("x.jar!META-INF/native/linux64/libleveldbjni.so", "x86-64"),
            ("x.tgz!package/prebuilds/linux-x64/node.napi.glibc.node", "x86-64"),
            ("x.tgz!package/prebuilds/x.linux-x64-gnu.node", "x86-64"),
            ("x.tgz!package/lib/binding/napi-v3-linux-glibc-arm64/x.node", "armv8.0-a"),
            ("x.nupkg!runtimes/linux-musl-arm64/native/libx.so", "armv8.0-a"),
            ("x.zip!aarch64-unknown-linux-gnu/bin/x", "armv8.0-a"),
            ("x.zip!x86_64/linux/libx.so", "x86-64"),
            ("x.zip!dist/x_linux_amd64_v3/x", "x86-64-v3"),
            ("x.zip!linux-x86_64-v2/libx.a(m.o)", "x86-64-v2"),
            // The innermost decides.
            ("x.zip!linux-x64/linux-arm64/x", "armv8.0-a"),
        ] {
            assert_eq!(of(path), level(expected), "{path}");
        }
        let (part, statement) = of_path("x.jar!a/Linux/x86_64/b/libx.so").expect("a claim");
        assert_eq!((part, statement.shown().as_str()), ("x.jar!a/Linux/x86_64", "Linux/x86_64 (the path)"));
    }

    #[test]
    fn path_without_a_system_next_to_its_architecture_says_nothing() {
        for path in [
            "x.zip!bin/x",
            "x.zip!x64/libx.so",
            "x.zip!tools/arm64/libx.so",
            "x.zip!linux/libx.so",
            "x.zip!linux/docs/x64-notes/libx.so",
            "x.zip!native/libx_x86_64.so",
            "x.zip!win-x64/libx.so",
            "x.zip!darwin/arm64/libx.so",
            "linux-x64.zip!libx.so",
            "x.zip!linux-x86_64-v9/libx.so",
            "",
            "!",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
        for path in
            ["x.apk!lib/armeabi-v7a/libx.so", "x.jar!Linux/x86/libx.so", "x.jar!linux/loongarch64/libx.so"]
        {
            assert_eq!(of(path), Some(Machines::Elsewhere), "{path}");
        }
    }
}
