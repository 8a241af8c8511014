//! Functions that end the program, by their names: what the names of the C library, of the run-time libraries of C++ and
//! Rust, and of Go's runtime say.

use crate::function::reach::file::names;

/// How a function of a name does not come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It ends the program as failed.
    Fails,
    /// It ends the program with the status that its first argument is.
    Status,
    /// It throws.
    Throws,
    /// It goes on elsewhere: `longjmp`, or the end of one thread.
    Elsewhere,
}

/// How a function of a name does not come back; `None` where it does, as far as names are known.
pub(super) fn ending(name: &str) -> Option<Ending> {
    let name = name.strip_suffix(".abi0").unwrap_or(name);
    match name {
        "exit" | "_exit" | "_Exit" | "quick_exit" | "err" | "errx" | "verr" | "verrx" | "exit_group" => {
            return Some(Ending::Status);
        }
        "os.Exit" => return Some(Ending::Status),
        "longjmp" | "siglongjmp" | "__longjmp_chk" | "_longjmp" | "pthread_exit" | "thrd_exit"
        | "_Unwind_Resume" => {
            return Some(Ending::Elsewhere);
        }
        "__cxa_rethrow" | "__cxa_throw" | "__cxa_bad_cast" => return Some(Ending::Throws),
        "runtime.gopanic"
        | "runtime.throw"
        | "runtime.fatal"
        | "runtime.fatalthrow"
        | "log.Fatal"
        | "log.Fatalf"
        | "log.Fatalln"
        | "Py_FatalError"
        | "_Py_FatalErrorFunc"
        | "_ZNK14QMessageLogger5fatalEPKcz" => {
            return Some(Ending::Fails);
        }
        _ => {}
    }
    let is_rust = |path: &str| (name.starts_with("_ZN") || name.starts_with("_R")) && name.contains(path);
    if is_rust("3std7process4exit") {
        Some(Ending::Status)
    } else if is_rust("4core9panicking") || is_rust("3std7process5abort") || is_rust("11begin_panic") {
        Some(Ending::Fails)
    } else if name.starts_with("_ZSt") && name.contains("__throw_") {
        Some(Ending::Throws)
    } else {
        names::does_not_return(name).then_some(Ending::Fails)
    }
}

/// Whether a function only says something to the user.
pub(super) fn prints(name: &str) -> bool {
    matches!(
        name.strip_suffix(".abi0").unwrap_or(name),
        "puts"
            | "printf"
            | "__printf_chk"
            | "fprintf"
            | "__fprintf_chk"
            | "vprintf"
            | "vfprintf"
            | "__vfprintf_chk"
            | "fputs"
            | "fputc"
            | "fwrite"
            | "putc"
            | "putchar"
            | "write"
            | "fflush"
            | "perror"
            | "gettext"
            | "dcgettext"
            | "runtime.write"
            | "runtime.write1"
            | "runtime.printlock"
            | "runtime.printunlock"
            | "runtime.printnl"
            | "runtime.printsp"
            | "runtime.printstring"
    )
}
