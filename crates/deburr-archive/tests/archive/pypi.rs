//! Python's simple index.

use super::held::{Held, sha256};
use super::{clean, names, paths, refused, remarked, sample};
use deburr_archive::{Entry, Kind, Selection};
use std::collections::BTreeSet;
use std::io::ErrorKind;

const PYPI: Kind = Kind::PyPi;

fn of(package: &str) -> Selection {
    Selection { packages: names(&[package]), ..Selection::default() }
}

fn every(package: &str) -> Selection {
    Selection { all_versions: true, ..of(package) }
}

/// numpy's real page, in one of its forms.
fn numpy(form: &str) -> Held {
    Held::new([("simple/numpy/", &sample(&format!("pypi/numpy.{form}")))])
}

/// The files of a project as a JSON page.
fn json(files: &[&str]) -> Vec<u8> {
    let files: Vec<String> = files
        .iter()
        .map(|name| {
            format!("{{\"filename\": \"{name}\", \"url\": \"https://host/{name}\", \"hashes\": {{}}}}")
        })
        .collect();
    format!("{{\"meta\": {{\"api-version\": \"1.0\"}}, \"name\": \"x\", \"files\": [{}]}}", files.join(", "))
        .into_bytes()
}

fn html(links: &str) -> Vec<u8> {
    format!("<!DOCTYPE html>\n<html><head><title>Links for x</title></head><body>{links}</body></html>")
        .into_bytes()
}

/// The names of the files that are found on a page of `x`.
fn files(page: &[u8], selection: &Selection) -> Vec<String> {
    let found = remarked(&Held::new([("simple/x/", page)]), PYPI, selection).0;
    found.iter().map(|entry| entry.path.replace("https://host/", "")).collect()
}

#[test]
fn a_real_page_has_the_newest_wheels_in_both_forms() {
    let arm = Selection { architectures: names(&["arm64"]), ..of("NumPy") };
    let [json, html] = ["json", "html"].map(|form| clean(&numpy(form), PYPI, &arm));
    let files: Vec<&str> = json.iter().filter_map(|entry| entry.path.rsplit('/').next()).collect();
    let expected = [
        "numpy-2.5.5-cp315-cp315-manylinux_2_27_aarch64.manylinux_2_28_aarch64.whl",
        "numpy-2.5.5-cp315-cp315-musllinux_1_2_aarch64.whl",
    ];
    assert_eq!(files, expected);
    for entry in &json {
        assert!(entry.size.is_some_and(|size| size > 1 << 20) && entry.sha256.is_some(), "{entry:?}");
        let facts = (entry.package.as_str(), entry.version.as_str(), entry.architecture.as_str());
        assert_eq!(facts, ("numpy", "2.5.5", "aarch64"));
    }
    let without_size = |entry: &Entry| Entry { size: None, ..entry.clone() };
    assert_eq!(html, json.iter().map(without_size).collect::<Vec<Entry>>());
    // All of them: those of a yanked version are left out, and so are those of other systems.
    let [json, html] = ["json", "html"].map(|form| clean(&numpy(form), PYPI, &every("numpy")));
    assert!(json.len() > 30 && json.iter().all(|entry| entry.version != "2.4.0"));
    assert!(json.iter().any(|entry| entry.version == "2.5.0rc1"));
    assert!(json.iter().all(|entry| entry.path.contains("linux")));
    // The two forms have their files in another order.
    let sorted =
        |entries: &[Entry]| paths(entries).into_iter().map(str::to_owned).collect::<BTreeSet<String>>();
    assert_eq!(sorted(&html), sorted(&json));
}

#[test]
fn json_is_asked_for_and_the_page_is_found_where_it_is() {
    let page = json(&["x-1-cp39-abi3-linux_x86_64.whl"]);
    for place in ["simple/x/", "x/", "simple/x/index.html", "x/index.html"] {
        let held = Held::new([(place, &page)]);
        assert_eq!(clean(&held, PYPI, &every("x")).len(), 1, "{place}");
        assert!(held.headers.borrow()[0].starts_with("Accept: application/vnd.pypi.simple.v1+json,"));
    }
    // The place of the first page is tried first for the next one.
    let held = Held::new([("x/", &page), ("y/", &json(&["y-1-cp39-abi3-linux_x86_64.whl"]))]);
    let both = Selection { packages: names(&["y", "x", "X"]), ..every("x") };
    assert_eq!(clean(&held, PYPI, &both).len(), 2);
    assert_eq!(*held.asked.borrow(), ["simple/x/", "x/", "y/"]);
}

#[test]
fn packages_have_to_be_named_and_may_be_missing() {
    let error = refused(&Held::default(), PYPI, &Selection::default());
    assert!(error.contains("--package, --packages-from"), "{error}");
    for outside in ["../x", "a/b", "", "x?", "x#", "-x"] {
        let held = Held::default();
        assert!(refused(&held, PYPI, &of(outside)).contains("no name of a Python project"));
        assert!(held.asked.borrow().is_empty(), "{outside}");
    }
    let mut held = Held::new([("simple/x/", &json(&["x-1-cp39-abi3-linux_x86_64.whl"]))]);
    let both = Selection { packages: names(&["x", "gone"]), ..Selection::default() };
    let (found, remarks) = remarked(&held, PYPI, &both);
    assert_eq!(found.len(), 1);
    assert_eq!(remarks, ["simple/gone/: there is no such project"]);
    held.failing = Some(("simple/gone/".to_owned(), ErrorKind::TimedOut));
    assert_eq!(refused(&held, PYPI, &both), "simple/gone/: it fails");
}

#[test]
fn of_one_version_the_newest_interpreter_is_found_for_each_platform() {
    let page = json(&[
        "x-1.0.tar.gz",
        "x-1.0-cp39-cp39-manylinux_2_17_x86_64.whl",
        "x-1.0-cp310-cp310-manylinux_2_17_x86_64.whl",
        "x-1.0-cp310-cp310-manylinux_2_17_aarch64.whl",
        "x-1.0-cp310-cp310t-manylinux_2_17_x86_64.whl",
        "x-1.0-pp39-pypy39_pp73-manylinux_2_17_x86_64.whl",
        "x-1.0-py3-none-any.whl",
        "x-1.0-cp310-cp310-win_amd64.whl",
        "x-0.9-cp310-cp310-manylinux_2_17_x86_64.whl",
        "x-1.1rc1-cp310-cp310-manylinux_2_17_x86_64.whl",
    ]);
    let newest = [
        "x-1.0-cp310-cp310-manylinux_2_17_aarch64.whl",
        "x-1.0-cp310-cp310-manylinux_2_17_x86_64.whl",
        "x-1.0-pp39-pypy39_pp73-manylinux_2_17_x86_64.whl",
    ];
    assert_eq!(files(&page, &of("x")), newest);
    assert_eq!(files(&page, &every("x")).len(), 7);
    let arm = Selection { architectures: names(&["aarch64"]), ..of("x") };
    assert_eq!(files(&page, &arm), newest[..1]);
    let any = Selection { architectures: names(&["any"]), ..of("x") };
    assert_eq!(files(&page, &any), ["x-1.0-py3-none-any.whl"]);
}

#[test]
fn a_pre_release_is_found_where_there_is_no_other() {
    let page = json(&[
        "x-1.0rc2-cp39-abi3-linux_x86_64.whl",
        "x-1.0rc10-cp39-abi3-linux_x86_64.whl",
        "x-1.0.dev1-cp39-abi3-linux_x86_64.whl",
    ]);
    assert_eq!(files(&page, &of("x")), ["x-1.0rc10-cp39-abi3-linux_x86_64.whl"]);
}

#[test]
fn equal_versions_in_other_spellings_are_one() {
    let page = json(&["x-1.0-cp39-abi3-linux_x86_64.whl", "x-01-cp39-abi3-linux_aarch64.whl"]);
    assert_eq!(files(&page, &of("x")).len(), 2);
}

#[test]
fn a_project_without_wheels_is_a_remark() {
    let held =
        Held::new([("simple/x/", &json(&["x-1-py3-none-any.whl", "x-1.tar.gz", "x-1-cp39-cp39-win32.whl"]))]);
    let (found, remarks) = remarked(&held, PYPI, &of("x"));
    assert!(found.is_empty());
    assert_eq!(remarks, ["simple/x/: no wheel that is wanted; 2 are passed over"]);
}

#[test]
fn yanked_files_are_left_out() {
    let name = "x-2-cp39-abi3-linux_x86_64.whl";
    for (yanked, is) in
        [("true", true), ("\"because\"", true), ("false", false), ("null", false), ("\"\"", false)]
    {
        let page = String::from_utf8(json(&[name]))
            .expect("text")
            .replace("\"hashes\"", &format!("\"yanked\": {yanked}, \"hashes\""));
        assert_eq!(files(page.as_bytes(), &of("x")).is_empty(), is, "{yanked}");
    }
    for (yanked, is) in
        [("data-yanked", true), ("data-yanked=\"\"", true), ("data-yanked=\"because\"", true), ("", false)]
    {
        let page = html(&format!("<a {yanked} href=\"https://host/{name}\">{name}</a>"));
        assert_eq!(files(&page, &of("x")).is_empty(), is, "{yanked}");
    }
}

#[test]
fn links_are_followed_and_do_not_leave_the_root() {
    let name = "x-1+local.1-cp39-abi3-linux_x86_64.whl";
    let coded = name.replace('+', "%2B");
    let digest = sha256(b"x");
    for (link, path) in [
        (format!("../../packages/{coded}#sha256={digest}"), format!("packages/{name}")),
        (format!("{coded}?a=1&b=2#sha256={digest}"), format!("simple/x/{name}")),
        (format!("/files/{coded}#egg=x&sha256={digest}"), format!("files/{name}")),
        (
            format!("https://host/{coded}?a=1&amp;b=2#sha256={digest}"),
            format!("https://host/{coded}?a=1&b=2"),
        ),
    ] {
        let found = clean(
            &Held::new([("simple/x/", &html(&format!("<A HREF='{link}'>x</A><br>")))]),
            PYPI,
            &every("x"),
        );
        assert_eq!(paths(&found), [path.as_str()]);
        assert_eq!(found[0].sha256.as_deref(), Some(digest.as_str()));
        assert_eq!(found[0].version, "1+local.1");
    }
    for link in [
        format!("../../../{name}"),
        format!("%2e%2e/%2e%2e/%2e%2e/{name}"),
        format!("file:///etc/{name}"),
        format!("//host/{name}"),
    ] {
        let (found, remarks) =
            remarked(&Held::new([("simple/x/", &html(&format!("<a href={link}>x</a>")))]), PYPI, &every("x"));
        assert!(found.is_empty(), "{link}");
        assert!(
            remarks[0].starts_with("simple/x/, record 1: ") && remarks[0].contains("its link"),
            "{remarks:?}"
        );
    }
    // The root is `simple/` itself: what is next to it cannot be named.
    let page = html(&format!("<a href=\"../../packages/{name}\">x</a>"));
    assert!(remarked(&Held::new([("x/", &page)]), PYPI, &every("x")).1[0].contains("leaves the root"));
}

#[test]
fn a_faulty_file_is_a_remark_and_no_end() {
    let good = "x-1-cp39-abi3-linux_x86_64.whl";
    for (file, what) in [
        ("{}", "has neither a name nor a link"),
        ("{\"filename\": \"x-1-cp39-abi3-linux_x86_64.whl\"}", "has no link"),
        ("{\"filename\": \"x-one-cp39-abi3-linux_x86_64.whl\", \"url\": \"a\"}", "is no name of a wheel"),
        ("{\"filename\": \"y-1-cp39-abi3-linux_x86_64.whl\", \"url\": \"a\"}", "is of the project \"y\""),
        (
            "{\"filename\": \"x-1-cp39-abi3-linux_x86_64.whl\", \"url\": \"a\", \"hashes\": {\"sha256\": \"1\"}}",
            "is no SHA-256",
        ),
        ("{\"filename\": \"x-\\u001b-cp39-abi3-linux_x86_64.whl\", \"url\": \"a\"}", "is no name of a wheel"),
    ] {
        let page = String::from_utf8(json(&[good])).expect("text").replace("[{", &format!("[{file}, {{"));
        let (found, remarks) = remarked(&Held::new([("simple/x/", page.as_bytes())]), PYPI, &every("x"));
        assert_eq!(found.len(), 1, "{file}");
        assert!(
            remarks.len() == 1 && remarks[0].contains(what) && !remarks[0].contains('\x1b'),
            "{remarks:?}"
        );
        assert!(remarks[0].starts_with("simple/x/, record 1: "));
    }
}

/// Why a page is left out, and with it all of its project and nothing of the next one.
fn wrong(page: &[u8]) -> String {
    let next = json(&["y-1-cp39-abi3-linux_x86_64.whl"]);
    let held = Held::new([("simple/x/", page), ("simple/y/", &next)]);
    let both = Selection { packages: names(&["x", "y"]), ..every("x") };
    let (found, mut remarks) = remarked(&held, PYPI, &both);
    assert_eq!(paths(&found), ["https://host/y-1-cp39-abi3-linux_x86_64.whl"], "{remarks:?}");
    assert!(remarks.len() == 1 && remarks[0].ends_with(": left out"), "{remarks:?}");
    remarks.remove(0)
}

#[test]
fn a_page_that_is_none_leaves_its_project_out() {
    let good = String::from_utf8(json(&["x-1-cp39-abi3-linux_x86_64.whl"])).expect("text");
    for (old, new, what) in [
        ("\"files\"", "\"other\"", "missing field `files`"),
        ("\"meta\"", "\"other\"", "missing field `meta`"),
        ("\"1.0\"", "\"2.0\"", "has version \"2.0\" of the interface"),
        ("{\"meta\"", "{\"files\": [], \"meta\"", "duplicate field `files`"),
        ("\"hashes\"", "\"url\": \"b\", \"hashes\"", "duplicate field `url`"),
        ("\"hashes\"", "\"size\": -1, \"hashes\"", "invalid value"),
        ("\"hashes\"", "\"size\": 1.5, \"hashes\"", "invalid type"),
        ("\"hashes\": {}", "\"hashes\": 3", "invalid type"),
        ("\"files\": [", "\"files\": {", ""),
        ("\"name\"", "\"name\0\"", "control character"),
    ] {
        let changed = good.replacen(old, new, 1);
        assert_ne!(changed, good);
        let error = wrong(changed.as_bytes());
        assert!(error.starts_with("simple/x/, line 1: ") && error.contains(what), "{new}: {error}");
    }
    assert!(wrong(format!("{good}{{}}").as_bytes()).contains("trailing characters"));
    assert!(wrong(b"").contains("neither JSON nor HTML"));
    assert!(wrong(b"404").contains("neither JSON nor HTML"));
    assert!(wrong(&html("<base href=\"https://elsewhere/\">")).contains("an element base"));
    assert!(
        wrong(&html("<meta name=\"pypi:repository-version\" content=\"2.0\">")).contains("version \"2.0\"")
    );
    assert!(wrong(&html("").replace_end()).contains("there is no </html>"));
}

/// What HTML takes as text, and a parser of XML as a part of a tag, hides no link.
#[test]
fn markup_that_would_swallow_links_leaves_the_project_out() {
    let link = "<a href=\"https://host/x-1-cp39-abi3-linux_x86_64.whl\">x</a>";
    for (before, what) in [
        ("1 < 2 ", "is no tag"),
        ("<3 ", "is no tag"),
        ("<br ", "a tag within the tag"),
        ("<p title=it's>it's ", "a quote in the tag"),
        ("<p it\"s>\" ", "a quote in the tag"),
        ("<script>if (1<2) f(\"\")</script>", "is no tag"),
        ("<script>if (a<b) f(1)</script>", "a tag within the tag"),
        ("<script>\"<b>\"</script>", "in a script or a style"),
        ("<STYLE>a::after { content: '<b>' }</STYLE>", "in a script or a style"),
        ("<script><!--</script>", ""),
        ("<p title=\"", ""),
        ("<!-- ", ""),
        ("<a/href=\"https://host/x-2-cp39-abi3-linux_x86_64.whl\">x</a>", "a slash in the tag"),
        ("<a x/href=\"https://host/x-2-cp39-abi3-linux_x86_64.whl\">x</a>", "a slash in the tag"),
        ("<a x=\"y\"/href=\"https://host/x-2-cp39-abi3-linux_x86_64.whl\">x</a>", "a slash in the tag"),
        ("<a\x0chref=\"https://host/x-2-cp39-abi3-linux_x86_64.whl\">x</a>", "a form feed in the tag"),
    ] {
        let error = wrong(&html(&[before, link].concat()));
        assert!(error.contains(what), "{before}: {error}");
    }
    // What is between the end in HTML and that in XML would be lost.
    for (before, after, what) in [
        ("<!-->", "-->", "ends earlier in HTML"),
        ("<!--->", "-->", "ends earlier in HTML"),
        ("<!-- --!>", "-->", "ends earlier in HTML"),
        ("<![CDATA[>", "]]>", "ends earlier in HTML"),
        ("<?x>", "?>", "ends earlier in HTML"),
        ("<?xml >", "?>", "ends earlier in HTML"),
        ("<!DOCTYPE html [>", "]>", "ends earlier in HTML"),
        ("<script><!--</script>", "--></script>", "in a script or a style"),
        ("<title><!--</title>", "-->", "another element of text"),
        ("<textarea><![CDATA[</textarea", "]]>", "ends earlier in HTML"),
        ("<XMP><?</XMP", "?>", "ends earlier in HTML"),
    ] {
        let error = wrong(&html(&[before, link, after].concat()));
        assert!(error.contains(what), "{before}: {error}");
    }
    for before in [
        "<!---->",
        "<!-- <a href=\"https://host/x-0-cp39-abi3-linux_x86_64.whl\">x</a> -->",
        "<!-- - -- ->-> -->",
        "<?x?>",
        "<my-tag><svg:a>",
        "<title>1 > 0</title>",
        "<script>if (a > b) f(\"'\");</script>",
        "<style>a > b {}</style>",
        "it's <p title=\"it's <b>\">",
        "a > b & c",
        "<!-- <a> ' -->",
        "<br/>",
        "<br / >",
        "<a href=https://host/y/ x = /y/>",
        "</p>",
        "<p x = 'y'>",
    ] {
        assert_eq!(files(&html(&[before, link].concat()), &every("x")).len(), 1, "{before}");
    }
}

trait WithoutEnd {
    fn replace_end(self) -> Vec<u8>;
}

impl WithoutEnd for Vec<u8> {
    /// Without `</html>`.
    fn replace_end(mut self) -> Vec<u8> {
        self.truncate(self.len() - "</html>".len());
        self
    }
}

#[test]
fn hostile_pages_end() {
    let deep =
        [b"{\"meta\": {\"api-version\": \"1.0\"}, \"files\": ".as_slice(), &b"[".repeat(1 << 20)].concat();
    assert!(wrong(&deep).starts_with("simple/x/, line 1: "));
    let deep = [b"{\"x\": ".as_slice(), &b"[".repeat(1 << 20)].concat();
    assert!(wrong(&deep).starts_with("simple/x/, line 1: "));
    assert!(wrong(&b"<a>".repeat(1 << 20)).contains("there is no </html>"));
    let long = html(&format!("<a href=\"{}\">", "a".repeat(2 << 20)));
    assert!(wrong(&long).contains("longer than 1 MiB"));
    assert!(wrong(b"<html>\xff</html>").starts_with("simple/x/"));
    let file = format!("{{\"requires-python\": \"{}\"}},", "a".repeat(1000));
    let many = [b"{\"files\": [".as_slice(), &file.into_bytes().repeat(80 << 10)].concat();
    assert!(wrong(&many).contains("more than 64 MiB"));
}
