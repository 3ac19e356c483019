//! Which program knows which language.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// A language and the programs that know it.
#[derive(Clone, Debug, PartialEq)]
pub struct Language {
    /// Its name.
    pub name: String,
    /// How names of its files end, with the dot.
    pub extensions: Vec<String>,
    /// What can be tried, best first.
    pub servers: Vec<Server>,
}

/// One program.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Sent to it when it starts.
    pub initialization_options: Map<String, Value>,
    /// What it is told when it asks for its configuration.
    pub settings: Map<String, Value>,
    /// Whether the kernel confines it.
    pub confined: bool,
    /// Who has named it.
    pub named_by: NamedBy,
}

/// Who has named a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// Nobody: it is used if it is there.
    Tiller,
    /// The user, who wants to know if it does not work.
    Settings,
}

/// What settings say about a language. What they leave open is as usual.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wish {
    /// Whether problems in this language are wanted.
    pub enabled: Option<bool>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How names of its files end.
    pub extensions: Vec<String>,
    /// Whether the kernel confines the program.
    pub confined: Option<bool>,
    /// Sent to it when it starts.
    pub initialization_options: Map<String, Value>,
    /// What it is told when it asks for its configuration.
    pub settings: Map<String, Value>,
}

/// A language that is known without settings.
struct Known {
    name: &'static str,
    extensions: &'static [&'static str],
    commands: &'static [&'static [&'static str]],
}

const KNOWN: &[Known] = &[
    Known { name: "rust", extensions: &[".rs"], commands: &[&["rust-analyzer"]] },
    Known {
        name: "python",
        extensions: &[".py", ".pyi"],
        commands: &[&["pyright-langserver", "--stdio"], &["basedpyright-langserver", "--stdio"], &["pylsp"]],
    },
    Known {
        name: "typescript",
        extensions: &[".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"],
        commands: &[&["typescript-language-server", "--stdio"]],
    },
    Known { name: "go", extensions: &[".go"], commands: &[&["gopls"]] },
    Known {
        name: "cpp",
        extensions: &[".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"],
        commands: &[&["clangd"]],
    },
];

/// What the protocol calls files with these extensions. Others are called like the language.
const LANGUAGE_IDS: &[(&str, &str)] = &[
    (".tsx", "typescriptreact"),
    (".js", "javascript"),
    (".mjs", "javascript"),
    (".cjs", "javascript"),
    (".jsx", "javascriptreact"),
    (".c", "c"),
];

/// All languages: those that settings speak of, then those that are known without.
#[must_use]
pub fn languages(wishes: BTreeMap<String, Wish>) -> Vec<Language> {
    let mut known: BTreeMap<&str, Language> =
        KNOWN.iter().map(|known| (known.name, known.language())).collect();
    let mut all = Vec::new();
    for (name, wish) in wishes {
        let usual = known.remove(name.as_str());
        let unknown = || Language { name, extensions: Vec::new(), servers: Vec::new() };
        all.extend(wish.granted(usual.unwrap_or_else(unknown)));
    }
    all.extend(known.into_values());
    all
}

impl Known {
    fn language(&self) -> Language {
        Language {
            name: self.name.to_owned(),
            extensions: owned(self.extensions),
            servers: self.commands.iter().map(|command| Server::usual(owned(command))).collect(),
        }
    }
}

fn is_program(path: &Path) -> bool {
    fs_err::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

impl Wish {
    /// Why this can have no effect for a language of this name, if so.
    #[must_use]
    pub fn doubt(&self, name: &str) -> Option<&'static str> {
        let is_known = KNOWN.iter().any(|known| known.name == name);
        match () {
            () if is_known || self.enabled == Some(false) => None,
            () if self.command.is_empty() => Some("it names no command"),
            () if self.extensions.is_empty() => Some("it names no extensions of files"),
            () => None,
        }
    }

    fn granted(self, mut language: Language) -> Option<Language> {
        if self.enabled == Some(false) {
            return None;
        }
        if !self.extensions.is_empty() {
            let dotted = |end: String| if end.starts_with('.') { end } else { format!(".{end}") };
            language.extensions = self.extensions.into_iter().map(dotted).collect();
        }
        if !self.command.is_empty() {
            language.servers = vec![Server::usual(self.command)];
            language.servers[0].named_by = NamedBy::Settings;
        }
        for server in &mut language.servers {
            server.confined = self.confined.unwrap_or(server.confined);
            server.initialization_options.extend(self.initialization_options.clone());
            server.settings.extend(self.settings.clone());
        }
        Some(language)
    }
}

impl Language {
    /// Whether a file is one of this language.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.extension(path).is_some()
    }

    /// What the protocol calls a file.
    pub(crate) fn id_of(&self, path: &Path) -> &str {
        let extension = self.extension(path).unwrap_or_default();
        let special = LANGUAGE_IDS.iter().find(|(end, _)| *end == extension);
        special.map_or(&self.name, |(_, id)| id)
    }

    fn extension(&self, path: &Path) -> Option<&str> {
        let name = path.file_name()?.to_str()?;
        self.extensions.iter().map(String::as_str).find(|end| name.len() > end.len() && name.ends_with(end))
    }

    /// The first program that is installed. One that settings name is taken at their word.
    pub(crate) fn installed(&self, vars: &BTreeMap<String, String>) -> Option<&Server> {
        let path = vars.get("PATH").map_or("", String::as_str);
        let dirs: Vec<PathBuf> = std::env::split_paths(path).filter(|dir| dir.is_absolute()).collect();
        let is_there = |server: &&Server| {
            server.named_by == NamedBy::Settings
                || dirs.iter().any(|dir| is_program(&dir.join(server.program())))
        };
        self.servers.iter().find(is_there)
    }
}

impl Server {
    /// A program with the configuration that suits an agent.
    fn usual(command: Vec<String>) -> Self {
        let mut server = Self {
            command,
            initialization_options: Map::new(),
            settings: Map::new(),
            confined: true,
            named_by: NamedBy::Tiller,
        };
        match server.program() {
            // With a build directory of its own it does not lock out the builds of the agent.
            "rust-analyzer" => {
                _ = server.initialization_options.insert("cargo".into(), json!({"targetDir": true}));
            }
            // Style is a matter for formatters.
            "pylsp" => {
                let off = json!({"enabled": false});
                let plugins = json!({"pycodestyle": off, "mccabe": off});
                server.settings.insert("pylsp".into(), json!({"plugins": plugins}));
            }
            _ => {}
        }
        server
    }

    /// The program, without the directory.
    pub(crate) fn program(&self) -> &str {
        let command = self.command.first().map_or("", String::as_str);
        command.rsplit('/').next().unwrap_or(command)
    }

    /// The command for a shell, every word as it is.
    pub(crate) fn script(&self) -> String {
        let quoted = self.command.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
        format!("exec {}", quoted.collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(name: &str, wish: Wish) -> Vec<Language> {
        languages([(name.to_owned(), wish)].into())
    }

    fn find<'a>(all: &'a [Language], path: &str) -> Option<&'a Language> {
        all.iter().find(|language| language.has(Path::new(path)))
    }

    #[test]
    fn files_are_known_by_their_ends() {
        let all = languages(BTreeMap::new());
        for (path, id) in [
            ("/p/a.rs", "rust"),
            ("/p/a.pyi", "python"),
            ("/p/a.ts", "typescript"),
            ("/p/a.tsx", "typescriptreact"),
            ("/p/a.mjs", "javascript"),
            ("/p/a.go", "go"),
            ("/p/a.c", "c"),
            ("/p/a.h", "cpp"),
        ] {
            assert_eq!(find(&all, path).map(|language| language.id_of(Path::new(path))), Some(id), "{path}");
        }
        for path in ["/p/a.txt", "/p/rs", "/p/.rs", "/p/a.rs/", "/"] {
            let found = find(&all, path).map(|language| language.name.as_str());
            assert_eq!(found, (path == "/p/a.rs/").then_some("rust"), "{path}");
        }
    }

    #[test]
    fn the_documentation_has_the_same_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diagnostics.md");
        let page = fs_err::read_to_string(page).unwrap();
        for known in KNOWN {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", known.name))).unwrap();
            let programs = known.commands.iter().map(|command| &command[0]);
            for word in known.extensions.iter().chain(programs) {
                assert!(row.contains(&format!("`{word}`")), "{word} is missing in {row}");
            }
        }
    }

    #[test]
    fn settings_change_replace_add_and_switch_off() {
        let strict: Map<String, Value> = [("strict".to_owned(), json!(true))].into_iter().collect();
        let changed = wish("python", Wish { settings: strict, confined: Some(false), ..Wish::default() });
        let python = find(&changed, "a.py").unwrap();
        assert_eq!(python.servers.len(), 3);
        assert!(python.servers.iter().all(|server| server.settings["strict"] == true && !server.confined));
        assert!(python.servers[2].settings.contains_key("pylsp"));

        let command = vec!["/opt/my server".to_owned(), "it's".to_owned()];
        let replaced = wish("rust", Wish { command: command.clone(), ..Wish::default() });
        let server = &find(&replaced, "a.rs").unwrap().servers[0];
        assert_eq!(
            (server.named_by, server.confined, server.program()),
            (NamedBy::Settings, true, "my server")
        );
        assert_eq!(server.script(), r"exec '/opt/my server' 'it'\''s'");

        let added = wish("lua", Wish { command, extensions: vec!["lua".to_owned()], ..Wish::default() });
        assert_eq!(find(&added, "a.lua").unwrap().id_of(Path::new("a.lua")), "lua");
        let stub =
            Wish { command: vec!["x".to_owned()], extensions: vec![".pyi".to_owned()], ..Wish::default() };
        let preferred = wish("stub", stub);
        assert_eq!(find(&preferred, "a.pyi").unwrap().name, "stub", "settings come first");

        let pointless = Wish { command: vec!["x".to_owned()], ..Wish::default() };
        assert_eq!((pointless.doubt("rust"), pointless.doubt("lua").is_some()), (None, true));
        assert!(Wish::default().doubt("lua").is_some());

        let off = wish("rust", Wish { enabled: Some(false), ..Wish::default() });
        assert!(find(&off, "a.rs").is_none() && find(&off, "a.go").is_some());
    }

    #[test]
    fn the_first_program_that_is_there_is_used() {
        let dir = tempfile::tempdir().unwrap();
        for (name, mode) in [("basedpyright-langserver", 0o644), ("pylsp", 0o755)] {
            fs_err::write(dir.path().join(name), "").unwrap();
            fs_err::set_permissions(dir.path().join(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        let vars = |path: &str| BTreeMap::from([("PATH".to_owned(), path.to_owned())]);
        let all = languages(BTreeMap::new());
        let found = |path: &str| find(&all, "a.py").unwrap().installed(&vars(path)).map(Server::program);
        assert_eq!(found(&format!("/nowhere:{}", dir.path().display())), Some("pylsp"));
        assert_eq!(found("/nowhere:relative"), None);
        let named = wish("python", Wish { command: vec!["gone".to_owned()], ..Wish::default() });
        assert_eq!(find(&named, "a.py").unwrap().installed(&vars("")).map(Server::program), Some("gone"));
    }
}
