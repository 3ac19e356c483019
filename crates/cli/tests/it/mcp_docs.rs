//! What docs/mcp.md shows works.

use serde_json::Value;
use tiller_testenv::npm_program;
use tiller_testkit::McpService;

use crate::harness::World;

const PAGE: &str = include_str!("../../../../docs/mcp.md");

/// The code of the page that is in a language; in none if that is empty.
fn code(language: &str) -> Vec<&'static str> {
    let fenced = PAGE.split("```").skip(1).step_by(2);
    fenced
        .filter_map(|block| block.split_once('\n'))
        .filter(|(name, _)| *name == language)
        .map(|(_, code)| code)
        .collect()
}

// MCP-08
#[test]
fn the_commands_of_the_page_work_one_after_the_other() {
    let service = McpService::start();
    let files =
        format!("#!/bin/sh\nshift 2\nexec {} \"$@\"\n", npm_program("mcp-server-filesystem").display());
    let visit =
        "#!/usr/bin/env python3\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1]).read()\n";
    let world = World::new().program("bin/npx", &files).program("bin/browse", visit);
    let path = format!("{}:{}", world.path("bin").display(), std::env::var_os("PATH").unwrap().display());
    let world = world.var("PATH", &path).var("BROWSER", "browse");
    let commands: Vec<&str> = code("").into_iter().flat_map(str::lines).collect();
    assert!(commands.len() >= 5, "{commands:?}");
    let mut said = String::new();
    for command in commands {
        let command = command.replace("https://tracker.example.org/mcp", &service.url());
        let words: Vec<&str> = command.split_whitespace().collect();
        assert_eq!(words[0], "tiller", "{command}");
        said += &world.run(&words[1..]).ok().stdout;
    }
    for told in ["files: ready", "read_text_file", "You are now signed in to tracker."] {
        assert!(said.contains(told), "{told} in {said}");
    }
}

// MCP-08
#[test]
fn the_files_of_the_page_are_understood_whole() {
    let files = code("json");
    assert!(files.len() >= 2);
    for file in files {
        let world = World::new();
        let own = world.config_dir().join("mcp.json");
        fs_err::create_dir_all(world.config_dir()).unwrap();
        fs_err::write(own, file).unwrap();
        let named = ["TOKEN", "API_KEY", "REPORTS_SECRET", "STAFF_SECRET", "STAFF_ID_TOKEN"];
        let world = named.iter().fold(world, |world, name| world.var(name, "x"));
        let run = world.run(&["mcp", "list"]).ok();
        assert_eq!(run.stderr, "");
        let file: Value = serde_json::from_str(file).unwrap();
        for name in file["mcpServers"].as_object().unwrap().keys() {
            assert!(run.stdout.contains(name), "{name} in {}", run.stdout);
        }
    }
}
