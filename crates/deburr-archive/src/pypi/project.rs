//! The wheels of one project, and which of them are wanted.

use super::page::Linked;
use super::wheel::Wheel;
use crate::architecture;
use crate::choice::Choice;
use crate::entry::{Entry, Selection};
use crate::error::{Error, Place, Remarks, quoted};
use crate::index::hexadecimal;
use crate::limits::HELD;
use crate::location::{file_name, linked};
use crate::version::Pep440;
use std::collections::BTreeMap;

/// A project whose page is being read.
pub(super) struct Project<'a> {
    name: &'a str,
    page: &'a str,
    /// The folder of the page.
    folder: &'a str,
    selection: &'a Selection,
    wheels: Vec<(Wheel, Entry, Place)>,
    /// The newest version so far; final ones are before all others.
    newest: Option<(bool, Pep440)>,
    /// Wheels that were passed over: they are yanked, pure, or for another system or architecture.
    passed_over: u64,
    held: usize,
}

impl<'a> Project<'a> {
    pub(super) fn new(name: &'a str, page: &'a str, selection: &'a Selection) -> Project<'a> {
        let (folder, _) = page.rsplit_once('/').unwrap_or(("", page));
        let (wheels, newest) = (Vec::new(), None);
        Project { name, page, folder, selection, wheels, newest, passed_over: 0, held: 0 }
    }

    /// A file of the page. What is no wheel is none of ours; a wheel that is faulty is a remark.
    pub(super) fn take(&mut self, file: Linked, record: u64, remarks: &mut Remarks) {
        let place = Place::Record(record);
        let name = match (&file.name, &file.link) {
            (Some(name), _) => Ok(name.clone()),
            (None, Some(link)) => file_name(link),
            (None, None) => Err("has neither a name nor a link".to_owned()),
        };
        let name = match name {
            Ok(name) if name.ends_with(".whl") => name,
            Ok(_) => return,
            Err(what) => return remarks.add(self.page, place, format!("{what}: left out")),
        };
        match self.wheel(&name, &file) {
            Ok(Some((wheel, entry))) => self.keep(wheel, entry, place),
            Ok(None) => self.passed_over += 1,
            Err(what) => remarks.add(self.page, place, format!("{}: {what}: left out", quoted(&name))),
        }
    }

    /// A wheel and its entry, or `None` where it is not wanted.
    fn wheel(&self, name: &str, file: &Linked) -> Result<Option<(Wheel, Entry)>, String> {
        let wheel = Wheel::parse(name).ok_or("is no name of a wheel")?;
        if wheel.project != self.name {
            return Err(format!("is of the project {}", quoted(&wheel.project)));
        }
        // Without a word, pure wheels are not wanted: they hold no code.
        let wanted = &self.selection.architectures;
        let is_wanted = wheel.architecture.split('.').any(|it| match it {
            "" => false,
            "any" => wanted.iter().any(|wanted| wanted == "any"),
            it => architecture::is_wanted(wanted, it),
        });
        if !is_wanted || file.is_yanked {
            return Ok(None);
        }
        let link = file.link.as_deref().ok_or("has no link")?;
        let sha256 = file.sha256.as_deref().map(|text| {
            hexadecimal(text, 64).ok_or_else(|| format!("the hash {} is no SHA-256", quoted(text)))
        });
        let entry = Entry {
            path: linked(self.folder, link).map_err(|why| format!("its link {} {why}", quoted(link)))?,
            size: file.size,
            sha256: sha256.transpose()?,
            package: self.name.to_owned(),
            version: wheel.version.clone(),
            architecture: wheel.architecture.clone(),
        };
        Ok(Some((wheel, entry)))
    }

    /// By default only the wheels of the newest version are held.
    fn keep(&mut self, wheel: Wheel, entry: Entry, place: Place) {
        if !self.selection.all_versions {
            let version = (!wheel.order.is_prerelease(), wheel.order.clone());
            match &self.newest {
                Some(newest) if *newest > version => return,
                Some(newest) if *newest == version => {}
                _ => {
                    self.wheels.clear();
                    self.newest = Some(version);
                }
            }
        }
        self.held += entry.path.len() + entry.version.len() + 500;
        self.wheels.push((wheel, entry, place));
    }

    /// All of the page was read: gives its wheels, in the order of their names.
    pub(super) fn finish(self, choice: &mut Choice<()>, remarks: &mut Remarks) -> Result<(), Error> {
        if self.held > HELD {
            return Err(Error::index(self.page, Place::Whole, "has more wheels than can be held"));
        }
        if self.wheels.is_empty() {
            let what = format!("no wheel that is wanted; {} are passed over", self.passed_over);
            remarks.add(self.page, Place::Whole, what);
        }
        let mut wheels = self.wheels;
        if !self.selection.all_versions {
            let mut newest: BTreeMap<String, (Wheel, Entry, Place)> = BTreeMap::new();
            for found in wheels {
                match newest.get_mut(&found.0.family) {
                    Some(held) if held.0.rank >= found.0.rank => {}
                    Some(held) => *held = found,
                    None => drop(newest.insert(found.0.family.clone(), found)),
                }
            }
            wheels = newest.into_values().collect();
        }
        for (_, entry, place) in wheels {
            choice.offer((), entry, (self.page, place), remarks)?;
        }
        Ok(())
    }
}
