//! Path patterns, written as in ignore files.
//!
//! `//x` starts at the root of the file system, `~/x` at home, `/x` at the directory of the settings, `./x` and `a/x`
//! at a working directory. A name without any `/` fits at any depth. What fits covers everything below it.

use std::path::{Path, PathBuf};

use super::{Reading, Rule};
use crate::context::Context;
use crate::glob::Glob;
use crate::path::Place;

/// Characters that stand for others.
const SPECIAL: [char; 5] = ['*', '?', '[', '{', '\\'];

/// A rule's pattern, ready to be compared.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    written: String,
    parts: Vec<Anchored>,
}

/// Where to look for files that a pattern fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// Here, and nowhere else.
    Path(PathBuf),
    /// Everything in this directory, and nowhere else.
    Tree(PathBuf),
    /// Below a directory, perhaps only so many levels deep.
    Below {
        /// The directory.
        dir: PathBuf,
        /// How deep.
        depth: Option<usize>,
    },
}

#[derive(Clone, Debug)]
struct Anchored {
    base: PathBuf,
    matchers: Vec<Glob>,
    /// Fits what is covered as a whole, also if the pattern only speaks of what is below it.
    whole: Glob,
    /// The pattern without what any depth adds.
    relative: String,
    any_depth: bool,
}

impl Pattern {
    /// The pattern of a rule. `None` if it has none that can be understood.
    pub(crate) fn of(rule: &Rule, cx: &Context, reading: Reading) -> Option<Self> {
        let content = rule.plain_content()?;
        let parts = bases(content, rule, cx, reading)
            .into_iter()
            .filter_map(|(base, relative)| {
                let (base, relative) = without_turns(base, relative)?;
                Anchored::new(base, &relative, is_bare_name(content))
            })
            .collect::<Vec<_>>();
        (!parts.is_empty()).then(|| Self { written: rule.to_string(), parts })
    }

    /// The rule it comes from, as it was written.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    pub(crate) fn fits(&self, path: &Path) -> bool {
        self.parts.iter().any(|part| part.fits(path))
    }

    /// Whether a path and everything below it fits, or at least everything below it.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        self.parts.iter().any(|part| part.hides(path))
    }

    /// Where to look for what it hides.
    pub(crate) fn searches(&self) -> Vec<Search> {
        self.parts.iter().map(Anchored::search).collect()
    }

    /// Whether either reading of a place fits.
    pub(crate) fn fits_place(&self, place: &Place) -> bool {
        self.fits(&place.written) || self.fits(&place.real)
    }

    /// Whether something below a directory could fit.
    pub(crate) fn could_fit_below(&self, dir: &Path) -> bool {
        self.parts.iter().any(|part| part.could_fit_below(dir))
    }

    /// Whether all that fits lies below a directory, or is it; or whether the name of the directory is one of those that
    /// the pattern speaks of, so that what fits would not fit under another name.
    pub(crate) fn is_within(&self, dir: &Path) -> bool {
        self.parts.iter().any(|part| part.is_within(dir) || part.leads_through(dir))
    }

    /// Whether one of the files that a shell pattern in a directory stands for could fit.
    pub(crate) fn could_fit_names(&self, dir: &Path, names: &str) -> bool {
        self.parts
            .iter()
            .any(|part| part.could_fit_below(dir) && (names.contains('/') || part.could_fit_in(dir, names)))
    }
}

/// What is wrong with a pattern, if it is none.
pub(crate) fn check(content: &str) -> Result<(), String> {
    if without_turns(PathBuf::new(), content).is_none() {
        return Err("`..` cannot lead up from a part with wildcards; write the path without it".to_owned());
    }
    Glob::new(content, true).map(drop).map_err(|error| error.kind().to_string())
}

/// Where a pattern starts, and the pattern from there.
fn bases<'a>(content: &'a str, rule: &Rule, cx: &Context, reading: Reading) -> Vec<(PathBuf, &'a str)> {
    let root = PathBuf::from("/");
    if let Some(absolute) = content.strip_prefix("//") {
        return vec![(root, absolute)];
    }
    if let Some(below_home) = content.strip_prefix("~/") {
        return vec![(cx.home.clone(), below_home)];
    }
    if let Some(below_settings) = content.strip_prefix('/') {
        let base = rule.settings_root().map(Path::to_path_buf).or_else(|| cx.roots.first().cloned());
        let mut all: Vec<_> = base.map(|base| (base, below_settings)).into_iter().collect();
        // Whoever forbids `/etc/x` may well mean the real one; taking it for both can only forbid more.
        if reading == Reading::Touches {
            all.push((root, below_settings));
        }
        return all;
    }
    let relative = content.trim_start_matches("./");
    let mut all: Vec<_> = cx.roots.iter().map(|base| (base.clone(), relative)).collect();
    if reading == Reading::Touches {
        all.extend(cx.former_roots.iter().map(|base| (base.clone(), relative)));
    }
    if reading == Reading::Touches && is_bare_name(content) {
        all.push((root, relative));
    }
    all
}

/// Whether a pattern says nothing of where.
fn is_bare_name(content: &str) -> bool {
    let name = content.trim_end_matches('/');
    !name.contains('/') && name != ".." && name != "."
}

/// A pattern in which nothing is entered that is left again, with where it starts then. `None` if that cannot be told: what a
/// pattern stands for may lie anywhere.
fn without_turns(mut base: PathBuf, relative: &str) -> Option<(PathBuf, String)> {
    let mut parts: Vec<&str> = Vec::new();
    for part in relative.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", None) => drop(base.pop()),
            ("..", Some(last)) if last.contains(SPECIAL) => return None,
            ("..", Some(_)) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    if !parts.is_empty() {
        return Some((base, parts.join("/")));
    }
    // It is the start itself.
    let name = base.file_name().map(|name| globset::escape(&name.to_string_lossy()));
    base.pop();
    Some((base, name.unwrap_or_else(|| "**".to_owned())))
}

impl Anchored {
    fn new(base: PathBuf, relative: &str, any_depth: bool) -> Option<Self> {
        let relative = relative.trim_end_matches('/');
        let own = if any_depth { format!("**/{relative}") } else { relative.to_owned() };
        let build = |glob: &str| Glob::new(glob, true).ok();
        let matchers = vec![build(&own)?, build(&format!("{own}/**"))?];
        let whole = build(own.trim_end_matches("/**"))?;
        Some(Self { base, matchers, whole, relative: relative.to_owned(), any_depth })
    }

    fn hides(&self, path: &Path) -> bool {
        let relative = path.strip_prefix(&self.base);
        self.fits(path) || relative.is_ok_and(|relative| self.whole.is_match(relative))
    }

    fn search(&self) -> Search {
        if self.any_depth {
            return Search::Below { dir: self.base.clone(), depth: None };
        }
        let whole = self.relative.trim_end_matches("/**");
        let parts: Vec<&str> = whole.split('/').collect();
        let plain = parts.iter().take_while(|part| !part.contains(SPECIAL)).count();
        let dir = parts[..plain].iter().fold(self.base.clone(), |path, part| path.join(part));
        match (parts.len() - plain, whole.contains("**")) {
            (0, _) if whole.len() < self.relative.len() => Search::Tree(dir),
            (0, _) => Search::Path(dir),
            (_, true) => Search::Below { dir, depth: None },
            (deep, false) => Search::Below { dir, depth: Some(deep) },
        }
    }

    fn fits(&self, path: &Path) -> bool {
        let relative = path.strip_prefix(&self.base);
        relative.is_ok_and(|relative| self.matchers.iter().any(|matcher| matcher.is_match(relative)))
    }

    fn could_fit_below(&self, dir: &Path) -> bool {
        if self.any_depth {
            return dir.starts_with(&self.base) || self.base.starts_with(dir);
        }
        let fixed = self.fixed();
        fixed.starts_with(dir) || (dir.starts_with(&fixed) && fixed != self.base.join(&self.relative))
    }

    fn is_within(&self, dir: &Path) -> bool {
        !self.any_depth && self.fixed() != self.base && self.fixed().starts_with(dir)
    }

    /// Whether a beginning of the pattern fits a directory.
    fn leads_through(&self, dir: &Path) -> bool {
        let Ok(dir) = dir.strip_prefix(&self.base) else { return false };
        let slashes = self.relative.match_indices('/').map(|(at, _)| &self.relative[..at]);
        let beginnings = slashes.filter(|beginning| !beginning.is_empty() && *beginning != "**");
        let mut globs = beginnings.filter_map(|beginning| Glob::new(beginning, true).ok());
        globs.any(|glob| glob.is_match(dir))
    }

    /// What stands before the first character that stands for others.
    fn fixed(&self) -> PathBuf {
        let plain = self.relative.split('/').take_while(|part| !part.contains(SPECIAL));
        plain.fold(self.base.clone(), |path, part| path.join(part))
    }

    /// Whether a pattern for names of files in a directory could fit.
    fn could_fit_in(&self, dir: &Path, names: &str) -> bool {
        if self.any_depth || self.relative.trim_end_matches("/**").contains("**") {
            return self.could_share(names);
        }
        let Ok(above) = dir.strip_prefix(&self.base) else { return false };
        let depth = self.relative.split('/').count();
        // What lies deeper than the names is not among them.
        above.components().count() + 1 >= depth && self.could_share(names)
    }

    /// Whether a pattern for names and this pattern's last part have names in common; yes, when in doubt.
    fn could_share(&self, names: &str) -> bool {
        let last = self.relative.rsplit('/').next().unwrap_or_default();
        if names.starts_with(['*', '?']) && last.starts_with('.') {
            return false;
        }
        if !last.contains(SPECIAL) {
            return Glob::new(names, false).map_or(true, |glob| glob.is_match(last));
        }
        let tail = |pattern: &str| pattern.rsplit([']', '*', '?', '}']).next().unwrap_or_default().to_owned();
        let (one, other) = (tail(names), tail(last));
        one.ends_with(&other) || other.ends_with(&one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(rule: &str) -> Pattern {
        let cx = Context { roots: vec!["/w".into()], home: "/home/u".into(), ..Context::default() };
        Pattern::of(&rule.parse().unwrap(), &cx, Reading::Touches).unwrap()
    }

    fn below(dir: &str, depth: Option<usize>) -> Search {
        Search::Below { dir: dir.into(), depth }
    }

    // KERN-07
    #[test]
    fn a_pattern_knows_where_to_look_for_what_it_hides() {
        for (rule, searches) in [
            ("Read(~/.ssh/**)", vec![Search::Tree("/home/u/.ssh".into())]),
            ("Read(//etc/shadow)", vec![Search::Path("/etc/shadow".into())]),
            ("Read(./secrets/**)", vec![Search::Tree("/w/secrets".into())]),
            ("Read(./.env)", vec![Search::Path("/w/.env".into())]),
            ("Read(~/.netrc)", vec![Search::Path("/home/u/.netrc".into())]),
            ("Read(./*.pem)", vec![below("/w", Some(1))]),
            ("Read(config/*.key)", vec![below("/w/config", Some(1))]),
            ("Read(a/*/b/**)", vec![below("/w/a", Some(2))]),
            ("Read(a/**/b)", vec![below("/w/a", None)]),
            ("Read(.env)", vec![below("/w", None), below("/", None)]),
            ("Read(/keys/k)", vec![Search::Path("/w/keys/k".into()), Search::Path("/keys/k".into())]),
        ] {
            assert_eq!(pattern(rule).searches(), searches, "{rule}");
        }
    }

    // KERN-07
    #[test]
    fn what_is_hidden_is_hidden_as_a_whole() {
        for (rule, path, hidden) in [
            ("Read(./secrets/**)", "/w/secrets", true),
            ("Read(./secrets/**)", "/w/secrets/deep/key", true),
            ("Read(./secrets/**)", "/w/secret", false),
            ("Read(.env)", "/w/a/.env", true),
            ("Read(./.env)", "/w/.env", true),
            ("Read(./.env)", "/w/a/.env", false),
            ("Read(././.env)", "/w/.env", true),
            ("Read(//shadow)", "/etc/shadow", false),
            ("Read(.env.*)", "/w/.env.local", true),
            ("Read(.env.*)", "/w/.env", false),
            ("Read(a/*/b/**)", "/w/a/x/b", true),
            ("Read(a/*/b/**)", "/w/a/x", false),
        ] {
            assert_eq!(pattern(rule).hides(Path::new(path)), hidden, "{rule} {path}");
        }
    }

    // RULE-05
    #[test]
    fn what_is_entered_and_left_again_does_not_count() {
        for (rule, path, fits) in [
            ("Read(../p3/.env)", "/p3/.env", true),
            ("Read(./../p3/.env)", "/p3/.env", true),
            ("Read(../../x)", "/x", true),
            ("Read(sub/../.env)", "/w/.env", true),
            ("Read(sub/../.env)", "/w/sub/.env", false),
            ("Read(~/../p3/.env)", "/home/p3/.env", true),
            ("Read(//a/b/../../c/**)", "/c/d", true),
            ("Read(/../k)", "/k", true),
            ("Read(a/./b//c)", "/w/a/b/c", true),
            ("Read(../w/*.pem)", "/w/x.pem", true),
            ("Read(a/..)", "/w/x", true),
            ("Read(..)", "/other/x", true),
            ("Read(~/..)", "/home/x", true),
            ("Read(~/..)", "/w/x", false),
        ] {
            assert_eq!(pattern(rule).fits(Path::new(path)), fits, "{rule} {path}");
        }
        for rule in ["Read(*/../x)", "Read(a/**/../b)", "Edit(~/[a]/..)", "Read({a/../b,c})"] {
            let error = rule.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains("cannot lead up"), "{rule}: {error}");
        }
    }
}
