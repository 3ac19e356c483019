//! Files as addresses.

use std::path::{Path, PathBuf};

use url::Url;

/// The address of a file; none if the path is relative.
pub(crate) fn of(path: &Path) -> Option<String> {
    Url::from_file_path(path).ok().map(String::from)
}

/// The file at an address, if it is the address of a file. Servers differ in what they escape.
pub(crate) fn path(uri: &str) -> Option<PathBuf> {
    Url::parse(uri).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_there_and_back() {
        for text in ["/p/a.rs", "/p/with space/ü#?%20.rs", "/p/[x]:y.ts"] {
            assert_eq!(path(&of(Path::new(text)).unwrap()).unwrap(), Path::new(text));
        }
        assert_eq!(path("file:///p/%5Bx%5D%3Ay.ts").unwrap(), Path::new("/p/[x]:y.ts"));
        assert_eq!(of(Path::new("relative")), None);
        for nonsense in ["untitled:1", "http://host/p", "file://host/p", "", "file"] {
            assert_eq!(path(nonsense), None, "{nonsense}");
        }
    }
}
