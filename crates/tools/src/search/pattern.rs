//! Patterns of file names.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// Which paths are wanted, judged relative to where the search starts.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl Filter {
    /// Takes one pattern. Without a slash it holds at any depth.
    pub(crate) fn one(pattern: &str) -> Result<Self, String> {
        let include = set(std::iter::once(pattern))?;
        Ok(Self { include: Some(include), exclude: GlobSet::empty() })
    }

    /// Takes patterns separated by commas or blanks; `!` in front of one excludes.
    pub(crate) fn list(patterns: &str) -> Result<Self, String> {
        let parts = split(patterns);
        let (exclude, include): (Vec<&str>, Vec<&str>) =
            parts.iter().map(String::as_str).partition(|part| part.starts_with('!'));
        let exclude = set(exclude.iter().map(|part| &part[1..]))?;
        let include = if include.is_empty() { None } else { Some(set(include.into_iter())?) };
        Ok(Self { include, exclude })
    }

    /// Takes everything.
    pub(crate) fn all() -> Self {
        Self { include: None, exclude: GlobSet::empty() }
    }

    /// Whether a path is wanted.
    pub(crate) fn wants(&self, relative: &Path) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(relative))
            && !self.exclude.is_match(relative)
    }
}

fn set<'a>(patterns: impl Iterator<Item = &'a str>) -> Result<GlobSet, String> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        builder.add(glob(pattern)?);
    }
    builder.build().map_err(|error| error.to_string())
}

fn glob(pattern: &str) -> Result<Glob, String> {
    let anchored = pattern.strip_prefix("./").unwrap_or(pattern).trim_start_matches('/');
    let pattern = if pattern.contains('/') { anchored.to_owned() } else { format!("**/{pattern}") };
    let explain = |error: globset::Error| format!("The pattern {pattern} is not valid: {}.", error.kind());
    GlobBuilder::new(&pattern).literal_separator(true).build().map_err(explain)
}

/// Splits at commas and blanks outside braces.
fn split(patterns: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_u32;
    for character in patterns.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' | ' ' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Splits a pattern into the directories named plainly at its beginning and the rest, which is never empty.
pub(crate) fn split_base(pattern: &str) -> (&str, &str) {
    let special = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    match pattern[..special].rfind('/') {
        Some(slash) if slash + 1 == pattern.len() => (pattern, "**"),
        Some(0) => ("/", &pattern[1..]),
        Some(slash) => (&pattern[..slash], &pattern[slash + 1..]),
        None => ("", pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_directories_are_split_off() {
        for (pattern, base, rest) in [
            ("*.rs", "", "*.rs"),
            ("src/**/*.rs", "src", "**/*.rs"),
            ("/a/b/*.rs", "/a/b", "*.rs"),
            ("/*.rs", "/", "*.rs"),
            ("src/main.rs", "src", "main.rs"),
            ("src/", "src/", "**"),
            ("a{b/c,d}", "", "a{b/c,d}"),
        ] {
            assert_eq!(split_base(pattern), (base, rest), "{pattern}");
        }
    }

    #[test]
    fn lists_include_and_exclude() {
        let filter = Filter::list("*.{ts,tsx}, src/*.js !*.d.ts").unwrap();
        for (path, wanted) in [
            ("a.ts", true),
            ("x/b.tsx", true),
            ("x/b.d.ts", false),
            ("src/a.js", true),
            ("a.js", false),
            ("x/src/a.js", false),
        ] {
            assert_eq!(filter.wants(Path::new(path)), wanted, "{path}");
        }
        assert!(Filter::list("!*.md").unwrap().wants(Path::new("a.rs")));
        assert!(Filter::one("a{b").unwrap_err().contains("not valid"));
    }
}
