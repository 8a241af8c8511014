//! Entries and orders of versions, compared with what other programs say: python3-debian, `dpkg`, `rpm`, Python's `packaging`, and
//! Python's own readers of XML, HTML and JSON.

use super::held::{Held, debian, package, primary, rpm};
use super::{Folder, Random, clean, names, sample};
use deburr_archive::{Entry, Fetch, Kind, Selection};
use std::cmp::Ordering;
use std::io::Write;
use std::process::{Command, Stdio};

/// What a program prints, given some input.
fn printed(command: &mut Command, input: &[u8]) -> String {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().expect("a pipe");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().expect("it was started")
    });
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// A python3 with a module; `scripts/install-tools test` installs it.
fn python(module: &str) -> Command {
    let has = |python: &&str| {
        let import = format!("import {module}");
        Command::new(python).args(["-c", &import]).output().is_ok_and(|output| output.status.success())
    };
    let python = ["python3", "/usr/bin/python3"].into_iter().find(has);
    let python = python
        .unwrap_or_else(|| panic!("no python3 with {module}: `scripts/install-tools test` installs it"));
    Command::new(python)
}

/// The entries as lines, in order.
fn lines(mut entries: Vec<Entry>) -> Vec<String> {
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    let line = |entry: &Entry| {
        let size = entry.size.map_or("-".to_owned(), |size| size.to_string());
        let sha256 = entry.sha256.as_deref().unwrap_or("-");
        [&entry.path, &size, sha256, &entry.package, &entry.version, &entry.architecture].join("\t")
    };
    entries.iter().map(line).collect()
}

fn same(
    script: &str,
    module: &str,
    input: &[u8],
    fetch: &dyn Fetch,
    kind: Kind,
    selection: &Selection,
    least: usize,
) {
    let expected = printed(python(module).args(["-c", script]), input);
    let found = lines(clean(fetch, kind, selection));
    assert!(found.len() >= least, "{} entries", found.len());
    assert_eq!(found, expected.lines().collect::<Vec<_>>());
}

#[test]
fn python3_debian_reads_the_same_packages() {
    const SCRIPT: &str = "
import io, lzma, sys
from debian.deb822 import Packages
data = lzma.decompress(sys.stdin.buffer.read())
rows = [(p['Filename'], p['Size'], p['SHA256'], p['Package'], p['Version'], p['Architecture'])
        for p in Packages.iter_paragraphs(io.BytesIO(data), use_apt_pkg=False) if p['Architecture'] == 'arm64']
print('\\n'.join('\\t'.join(row) for row in sorted(rows)))
";
    let selection = Selection {
        suites: names(&["bookworm-updates"]),
        components: names(&["main"]),
        architectures: names(&["arm64"]),
        all_versions: true,
        ..Selection::default()
    };
    let packages = sample("debian/dists/bookworm-updates/main/binary-arm64/Packages.xz");
    same(SCRIPT, "debian.deb822", &packages, &Folder("debian"), Kind::Debian, &selection, 31);
}

#[test]
fn pythons_reader_of_xml_finds_the_same_packages() {
    const SCRIPT: &str = "
import gzip, sys, xml.etree.ElementTree as tree
ns = '{http://linux.duke.edu/metadata/common}'
rows = []
for p in tree.fromstring(gzip.decompress(sys.stdin.buffer.read())):
    v = p.find(ns + 'version').attrib
    epoch = '' if v['epoch'] == '0' else v['epoch'] + ':'
    rows.append((p.find(ns + 'location').attrib['href'], p.find(ns + 'size').attrib['package'], p.findtext(ns + 'checksum'),
                 p.findtext(ns + 'name'), epoch + v['ver'] + '-' + v['rel'], p.findtext(ns + 'arch')))
print('\\n'.join('\\t'.join(row) for row in sorted(rows)))
";
    let selection = Selection { all_versions: true, ..Selection::default() };
    let primary = sample("rpm/gz/repodata/primary.xml.gz");
    same(SCRIPT, "xml.etree", &primary, &Folder("rpm/gz"), Kind::Rpm, &selection, 10);
}

/// With `packaging`: the newest version that is not yanked, and of each of its platforms that of the newest interpreter.
const CHOOSE: &str = "
import sys
from packaging.utils import parse_wheel_filename
from packaging.version import Version

def choose(files, arch):
    wheels = []
    for name, url, sha256, size, yanked in files:
        if yanked or not name.endswith('.whl'):
            continue
        project, version, build, tags = parse_wheel_filename(name)
        platforms = sorted({tag.platform for tag in tags})
        if not all('linux' in platform and platform.endswith(arch) for platform in platforms):
            continue
        tag = sorted(tags, key=str)[0]
        kind, numbers = tag.interpreter[:2], int(tag.interpreter[3:] or 0)
        wheels.append((version, (kind, platforms), (numbers, not tag.abi.endswith('t')), url, sha256, size))
    newest = max((not w[0].is_prerelease, w[0]) for w in wheels)[1]
    best = {}
    for w in (w for w in wheels if w[0] == newest):
        key = str(w[1])
        if key not in best or best[key][2] < w[2]:
            best[key] = w
    rows = sorted((w[3], str(w[5]), w[4], 'numpy', str(w[0]), arch) for w in best.values())
    print('\\n'.join('\\t'.join(row) for row in rows))
";

#[test]
fn packaging_chooses_the_same_wheels() {
    let json = "
import json
page = json.load(sys.stdin)
choose([(f['filename'], f['url'], f['hashes']['sha256'], f['size'], f['yanked']) for f in page['files']], 'ARCH')
";
    let html = "
from html.parser import HTMLParser
class Links(HTMLParser):
    files = []
    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == 'a':
            url, sha256 = attributes['href'].split('#sha256=')
            self.files.append((url.rsplit('/', 1)[1], url, sha256, '-', 'data-yanked' in attributes))
links = Links()
links.feed(sys.stdin.read())
choose(links.files, 'ARCH')
";
    for (form, reader) in [("json", json), ("html", html)] {
        for arch in ["aarch64", "x86_64"] {
            let selection = Selection {
                packages: names(&["numpy"]),
                architectures: names(&[arch]),
                ..Selection::default()
            };
            let page = sample(&format!("pypi/numpy.{form}"));
            let held = Held::new([("simple/numpy/", &page)]);
            let script = format!("{CHOOSE}{}", reader.replace("ARCH", arch));
            same(&script, "packaging", &page, &held, Kind::PyPi, &selection, 2);
        }
    }
}

/// Which of two versions is newer, by which of two packages is found.
fn order(
    archive: impl Fn(&str, &str) -> Option<(Held, Kind, Selection)>,
    one: &str,
    other: &str,
) -> Ordering {
    let newest = |first: &str, second: &str| {
        let (held, kind, selection) = archive(first, second).expect("an archive");
        let found = clean(&held, kind, &selection);
        assert_eq!(found.len(), 1, "{first} {second}");
        found[0].path.contains("first")
    };
    // Of equal ones the first is kept.
    match (newest(one, other), newest(other, one)) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => panic!("{one} and {other} are each newer than the other"),
    }
}

/// Versions of small parts, many of them close to one another.
fn versions(random: &mut Random, parts: &[&str], count: usize) -> Vec<String> {
    let mut versions = Vec::new();
    while versions.len() < count {
        let tail: String = (0..random.below(5)).map(|_| parts[random.below(parts.len())]).collect();
        versions.push(format!("{}{tail}", random.below(3)));
    }
    versions
}

fn pairs(random: &mut Random, versions: &[String], count: usize) -> Vec<(String, String)> {
    let mut pick = || versions[random.below(versions.len())].clone();
    (0..count).map(|_| (pick(), pick())).collect()
}

#[test]
fn dpkg_orders_versions_the_same() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut versions =
        versions(&mut random, &["0", "1", "10", "a", "b", "~", "~~", "+", ".", "-1", "-0", "Z"], 300);
    versions.retain(|version| !version.ends_with('-'));
    for version in versions.clone().iter().step_by(7) {
        versions.push(format!("{}:{version}", random.below(2)));
    }
    let archive = |one: &str, other: &str| {
        let stanza = |name: &str, version: &str| {
            format!("Package: p\nVersion: {version}\nArchitecture: arm64\nFilename: {name}.deb\n\n")
        };
        let text = [stanza("first", one), stanza("second", other)].concat();
        let held = debian("arm64", "main", &[("main/binary-arm64/Packages", text.as_bytes())]);
        Some((held, Kind::Debian, Selection { suites: names(&["s"]), ..Selection::default() }))
    };
    let pairs = pairs(&mut random, &versions, 600);
    let script = "while read -r a b; do if dpkg --compare-versions \"$a\" lt \"$b\"; then echo Less
        elif dpkg --compare-versions \"$a\" gt \"$b\"; then echo Greater; else echo Equal; fi; done";
    agree(&pairs, &printed(Command::new("sh").args(["-c", script]), input(&pairs).as_bytes()), archive);
}

#[test]
fn rpm_orders_versions_the_same() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let versions =
        versions(&mut random, &["0", "1", "10", "a", "b", "~", "^", "+", ".", "_", "..", "Z", "rc"], 300);
    let archive = |one: &str, other: &str| {
        let element = |name: &str, version: &str| {
            package("p", ("0", version, "1"), "aarch64").replacen("href=\"p/", &format!("href=\"{name}/"), 1)
        };
        let text = primary(&[element("first", one), element("second", other)].concat());
        Some((rpm("primary.xml", text.as_bytes()), Kind::Rpm, Selection::default()))
    };
    let pairs = pairs(&mut random, &versions, 2000);
    let script = "for line in io.lines() do local a, b = line:match('(%S+) (%S+)'); local c = rpm.vercmp(a, b); \
                  print((c < 0 and 'Less' or c > 0 and 'Greater' or 'Equal') .. '\\n') end";
    let macro_text = format!("%{{lua: {script}}}");
    agree(
        &pairs,
        &printed(Command::new("rpm").args(["--eval", &macro_text]), input(&pairs).as_bytes()),
        archive,
    );
}

#[test]
fn packaging_orders_versions_the_same() {
    const PARTS: [&str; 22] = [
        "0", "1", "10", ".0", ".1", "a", "b1", "rc", "rc2", ".post", ".post1", "-1", ".dev", ".dev1", "+a",
        "+1", "_", "-", "c1", "alpha", "preview3", "rev2",
    ];
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let versions = versions(&mut random, &PARTS, 3000);
    let known = "
import sys
from packaging.version import InvalidVersion, Version
for line in sys.stdin:
    try:
        Version(line.strip())
        print('version')
    except InvalidVersion:
        print('none')
";
    let all = versions.join("\n");
    let known = printed(python("packaging").args(["-c", known]), all.as_bytes());
    let page = |wheels: &[(&str, &str)]| {
        let links: String = wheels
            .iter()
            .map(|(folder, version)| {
                format!("<a href=\"https://host/{folder}/x-{version}-cp39-abi3-linux_x86_64.whl\">x</a>")
                    .replace('+', "%2B")
            })
            .collect();
        Held::new([("simple/x/", format!("<html>{links}</html>").as_bytes())])
    };
    let selection = Selection { packages: names(&["x"]), ..Selection::default() };
    let mut valid = Vec::new();
    for (version, known) in versions.iter().zip(known.lines()) {
        // A hyphen is between the parts of a wheel's name.
        if version.contains('-') {
            continue;
        }
        let (found, _) = super::remarked(&page(&[("first", version)]), Kind::PyPi, &selection);
        assert_eq!(!found.is_empty(), known == "version", "{version}");
        if known == "version" {
            valid.push(version.clone());
        }
    }
    assert!(valid.len() > 300, "only {} versions", valid.len());
    let pairs = pairs(&mut random, &valid, 2000);
    let script = "
import sys
from packaging.version import Version
for line in sys.stdin:
    a, b = ((not v.is_prerelease, v) for v in map(Version, line.split()))
    print('Less' if a < b else 'Greater' if a > b else 'Equal')
";
    let expected = printed(python("packaging").args(["-c", script]), input(&pairs).as_bytes());
    agree(&pairs, &expected, |one, other| {
        Some((page(&[("first", one), ("second", other)]), Kind::PyPi, selection.clone()))
    });
}

fn input(pairs: &[(String, String)]) -> String {
    pairs.iter().map(|(one, other)| format!("{one} {other}\n")).collect()
}

fn agree(
    pairs: &[(String, String)],
    expected: &str,
    archive: impl Fn(&str, &str) -> Option<(Held, Kind, Selection)>,
) {
    let mut met = [0; 3];
    let mut compared = 0;
    for ((one, other), expected) in pairs.iter().zip(expected.lines().filter(|line| !line.is_empty())) {
        let found = order(&archive, one, other);
        assert_eq!(format!("{found:?}"), expected, "{one} and {other}");
        met[(found as i8 + 1) as usize] += 1;
        compared += 1;
    }
    assert_eq!(compared, pairs.len());
    assert!(met.iter().all(|count| *count > 5), "{met:?}");
}
