//! Programs and private libraries of whole trees → links through which they are those of one tree, chosen on the machine.
//!
//! In: the place of the trees, and what is in them. Out: further links and files of the plan. A launcher is another file than what it
//! starts, so whoever compares `/proc/PID/exe` with the path of a program (`start-stop-daemon --exec`, `pidof`, gdb) finds nothing.
//! Here the path leads to what runs, once the machine has chosen:
//!
//! | in the output | what |
//! |---|---|
//! | `bin/prog`, `lib/app/plug.so` | links to `PLACE/selected/bin/prog`, `PLACE/selected/lib/app/plug.so` |
//! | `PLACE/selected` | the one link that changes: to `start`, or to `ID/LEVEL` |
//! | `PLACE/start` | the launchers, and links to the private libraries of the lowest level |
//! | `PLACE/select` | the script that sets the link, by what the launchers would start (`select.sh`) |
//! | `lib/systemd/system/NAME-levels.service` | runs it at each boot, before other services |
//!
//! As packages hold it, the link leads to the launchers, so an upgrade or an interruption of it ends with these.

use super::plan::{Plan, Text};
use super::whole::{START, relative};
use super::{AssembleError, Request};
use deburr_text::ShownPath as _;
use std::path::{Path, PathBuf};

pub(crate) const SCRIPT: &str = "select";
const LINK: &str = "selected";
/// What the place of the trees has besides them and the launchers; the script makes the last one.
pub(super) const NAMES: [&str; 3] = [SCRIPT, LINK, "selected.new"];
/// What systemd starts before all other services, from the folder of its units (systemd.special(7)).
const WANTS: &str = "sysinit.target.wants";

/// What is chosen for.
pub(super) struct Selection<'a> {
    pub(super) request: &'a Request,
    /// The folder of the trees whose image each level's tree is.
    pub(super) root: &'a Path,
    /// Where the trees and the launchers are.
    pub(super) place: &'a Path,
    /// Programs whose launchers say what they would start.
    pub(super) programs: Vec<&'a Path>,
    /// Private libraries, and the file of each in the lowest tree.
    pub(super) libraries: Vec<(&'a Path, PathBuf)>,
}

impl Selection<'_> {
    /// The path of an entry of the trees in what is chosen.
    pub(super) fn chosen(root: &Path, place: &Path, path: &Path) -> PathBuf {
        place.join(LINK).join(path.strip_prefix(root).unwrap_or(path))
    }

    /// Adds the links, the script and the unit.
    pub(super) fn add_to(&self, plan: &mut Plan) -> Result<(), AssembleError> {
        let folder = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
        for (library, lowest) in &self.libraries {
            let chosen = Self::chosen(self.root, self.place, library);
            plan.links.push((0, (*library).to_owned(), relative(&folder(library), &chosen)));
            let started = self.place.join(START).join(library.strip_prefix(self.root).unwrap_or(library));
            plan.links.push((0, started.clone(), relative(&folder(&started), lowest)));
        }
        let link = self.place.join(LINK);
        plan.links.push((0, link.clone(), PathBuf::from(START)));
        plan.selection = Some(link);
        let unit = self.unit_name()?;
        let system = Path::new("usr");
        let is_system = self.root.as_os_str().is_empty() && self.place.starts_with(system);
        let units = if is_system { system } else { self.root }.join("lib/systemd/system");
        let wanted = units.join(WANTS).join(&unit);
        plan.links.push((0, wanted, Path::new("..").join(&unit)));
        plan.texts.push((0, Text { path: units.join(&unit), text: self.unit()?, is_executable: false }));
        let text = self.script(&unit, &units)?;
        plan.texts.push((0, Text { path: self.place.join(SCRIPT), text, is_executable: true }));
        Ok(())
    }

    /// The name of the unit, by the folder of the trees.
    fn unit_name(&self) -> Result<String, AssembleError> {
        let name = self.place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // What a unit's name may have (systemd.unit(5)), without what it would have to escape.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-+".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_plain) {
            let reason = "--select names a unit of systemd by this folder; name a --place of ASCII letters, digits and _ . - +";
            return Err(AssembleError::File(self.place.to_owned(), reason.to_owned()));
        }
        Ok(format!("{}-levels.service", name.strip_suffix("-levels").unwrap_or(name)))
    }

    /// Where the trees will be, as systemd names it.
    fn installed(&self) -> Result<String, AssembleError> {
        let refuse = |reason: &str| Err(AssembleError::File(self.place.to_owned(), reason.to_owned()));
        let prefix = match &self.request.prefix {
            Some(prefix) => prefix.trim_end_matches('/'),
            None if ["usr", "opt"].iter().any(|top| self.place.starts_with(top)) => "",
            None => {
                return refuse(
                    "--select writes a unit of systemd, which names this folder by an absolute path: --prefix must name the folder where the tree will be installed",
                );
            }
        };
        // What needs no quotes in a unit (systemd.syntax(7)) and in a script.
        let path = self.place.to_str().map(|place| format!("{prefix}/{place}"));
        let is_plain =
            |path: &String| path.bytes().all(|byte| byte.is_ascii_graphic() && !b"%\"'\\$;".contains(&byte));
        match path.filter(is_plain) {
            Some(path) => Ok(path),
            None => refuse(
                "--select names this folder in a unit of systemd: expected ASCII without spaces and % \" ' \\ $ ;",
            ),
        }
    }

    fn unit(&self) -> Result<String, AssembleError> {
        let place = self.installed()?;
        Ok(format!(
            "[Unit]
Description=Choose the level of the programs in {place} for this CPU
DefaultDependencies=no
RequiresMountsFor={place}
After=systemd-remount-fs.service
Before=sysinit.target

[Service]
Type=oneshot
ExecStart={place}/{SCRIPT} --always
"
        ))
    }

    fn script(&self, unit: &str, units: &Path) -> Result<String, AssembleError> {
        let mut programs = Vec::new();
        for program in &self.programs {
            let below = program.strip_prefix(self.root).unwrap_or(program);
            match below.to_str().filter(|name| !name.contains(['\'', '\n'])) {
                Some(name) => programs.push(name),
                None => {
                    let reason = "--select asks its launcher in a script: expected a name in UTF-8 without ' or a line feed";
                    return Err(AssembleError::File((*program).to_owned(), reason.to_owned()));
                }
            }
        }
        let Some(first) = programs.first() else {
            let reason = "--select needs a program whose launcher may say what it would start; those of set-user-ID programs say nothing";
            return Err(AssembleError::File(self.place.to_owned(), reason.to_owned()));
        };
        let up: PathBuf = self.place.iter().map(|_| "..").collect();
        let values = [
            ("PROGRAMS", programs.join("\n")),
            ("PROG", (*first).to_owned()),
            ("INSTALLED", self.installed()?),
            ("UNIT", unit.to_owned()),
            ("UP", up.shown().to_string()),
            ("WANTS", units.join(WANTS).shown().to_string()),
        ];
        let mut text = include_str!("select.sh").to_owned();
        for (name, value) in values {
            text = text.replace(&format!("@{name}@"), &value);
        }
        Ok(text)
    }
}
