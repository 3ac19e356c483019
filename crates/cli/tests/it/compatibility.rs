//! A repository that was set up for another agent works unchanged: docs/compatibility.md says what is honoured, and every
//! row of its table is proved here.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::World;

/// One row of the table.
struct Row {
    what: &'static str,
    verdict: &'static str,
    note: &'static str,
    proof: fn(&Evidence) -> bool,
}

/// What two runs in such a repository have shown.
struct Evidence {
    /// The first request.
    request: Value,
    /// The same as text.
    sent: String,
    /// The first message of the stream.
    init: Value,
    /// Results of calls by id.
    results: Vec<(String, String, bool)>,
    /// What the second run, of a command by its short name, has sent.
    second: String,
    stderr: String,
    /// What hooks have left.
    hooked: bool,
}

impl Evidence {
    fn result(&self, id: &str) -> &str {
        self.results.iter().find(|(call, ..)| call == id).map_or("", |(_, text, _)| text)
    }

    fn succeeded(&self, id: &str) -> bool {
        self.results.iter().any(|(call, _, is_error)| call == id && !is_error)
    }

    fn tool(&self, name: &str) -> &str {
        let tools = self.request["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name);
        tool.and_then(|tool| tool["description"].as_str()).unwrap_or_default()
    }

    fn lists(&self, list: &str, name: &str) -> bool {
        self.init[list].as_array().unwrap().iter().any(|listed| listed == name)
    }
}

const ROWS: [Row; 29] = [
    Row {
        what: "`CLAUDE.md`",
        verdict: "yes",
        note: "with `@path` imports; also `AGENTS.md`",
        proof: |seen| seen.sent.contains("Speak of pumps only.") && seen.sent.contains("Imported words."),
    },
    Row {
        what: "`.claude/settings.json`: `permissions.allow`, `ask`, `deny`",
        verdict: "yes",
        note: "also of `~/.claude`",
        proof: |seen| seen.result("denied").contains("is not allowed here") && seen.succeeded("env"),
    },
    Row {
        what: "`.claude/settings.local.json`",
        verdict: "yes",
        note: "",
        proof: |seen| seen.succeeded("local"),
    },
    Row {
        what: "`.claude/settings.json`: `env`",
        verdict: "yes",
        note: "",
        proof: |seen| seen.result("env").contains("from-settings"),
    },
    Row {
        what: "`.claude/settings.json`: `hooks`",
        verdict: "yes",
        note: "with `$CLAUDE_PROJECT_DIR`",
        proof: |seen| seen.hooked,
    },
    Row {
        what: "hooks of events that Tiller does not have",
        verdict: "no",
        note: "told as a warning",
        proof: |seen| seen.stderr.contains("hooks.WorktreeCreate: there is no such event"),
    },
    Row {
        what: "`.claude/settings.json`: `outputStyle`",
        verdict: "yes",
        note: "",
        proof: |seen| seen.init["output_style"] == "pirate",
    },
    Row {
        what: "`.claude/settings.json`: `model`",
        verdict: "no",
        note: "`.tiller/settings.json` or `--model` chooses the model",
        proof: |seen| !seen.init["model"].as_str().unwrap().contains("haiku"),
    },
    Row {
        what: "`.claude/output-styles/`",
        verdict: "yes",
        note: "a style adds to Tiller's own instructions, also without `keep-coding-instructions`",
        proof: |seen| seen.sent.contains("Say arr."),
    },
    Row {
        what: "`.claude/agents/`",
        verdict: "yes",
        note: "fields that Tiller does not know are told",
        proof: |seen| {
            seen.tool("Task").contains("- reviewer: Reviews changes") && seen.lists("agents", "reviewer")
        },
    },
    Row {
        what: "`.claude/commands/`",
        verdict: "yes",
        note: "`/name`",
        proof: |seen| {
            seen.sent.contains("Fix issue 12 with priority high.") && seen.lists("slash_commands", "fix")
        },
    },
    Row {
        what: "folders in `.claude/commands/`",
        verdict: "yes",
        note: "`/front:build`, or `/build` if there is only one",
        proof: |seen| {
            seen.lists("slash_commands", "front:build") && seen.second.contains("Build the front end.")
        },
    },
    Row {
        what: "commands: `$ARGUMENTS`, `$1`",
        verdict: "yes",
        note: "",
        proof: |seen| seen.sent.contains("All: 12 high."),
    },
    Row {
        what: "commands: `` !`command` ``",
        verdict: "yes",
        note: "judged and confined like any command of the model",
        proof: |seen| seen.sent.contains("Branch: on-main"),
    },
    Row {
        what: "commands: `` ```! `` blocks",
        verdict: "no",
        note: "they stay text",
        proof: |seen| seen.sent.contains("```!\\necho block\\n```"),
    },
    Row {
        what: "commands: `@path`",
        verdict: "yes",
        note: "",
        proof: |seen| seen.sent.contains("Keep it short."),
    },
    Row {
        what: "commands: `allowed-tools`",
        verdict: "yes",
        note: "until the end of the turn, never against a deny rule",
        proof: |seen| seen.succeeded("allowed"),
    },
    Row {
        what: "commands: `model`",
        verdict: "yes",
        note: "for the turn",
        proof: |seen| seen.request["model"].as_str().unwrap().contains("opus"),
    },
    Row {
        what: "commands called by the model (`SlashCommand`)",
        verdict: "no",
        note: "the model opens skills",
        proof: |seen| seen.tool("SlashCommand").is_empty() && !seen.tool("Skill").contains("fix"),
    },
    Row {
        what: "`.claude/skills/NAME/SKILL.md`",
        verdict: "yes",
        note: "name and description at first, the rest when it is needed",
        proof: |seen| {
            seen.tool("Skill").contains("- weld: Welds things")
                && seen.lists("skills", "weld")
                && !seen.sent.contains("Weld from left")
        },
    },
    Row {
        what: "skills opened by the model",
        verdict: "yes",
        note: "tool `Skill`",
        proof: |seen| seen.result("skill").contains("Weld from left to right."),
    },
    Row {
        what: "further files of a skill",
        verdict: "yes",
        note: "also outside of the project",
        proof: |seen| seen.result("more").contains("Wear a mask."),
    },
    Row {
        what: "skills: `allowed-tools`",
        verdict: "yes",
        note: "until the end of the turn, never against a deny rule",
        proof: |seen| seen.succeeded("welded"),
    },
    Row {
        what: "skills: `` !`command` `` when the model opens one",
        verdict: "no",
        note: "the text stays; the model may run the command, with the usual questions",
        proof: |seen| seen.result("skill").contains("!`touch opened`"),
    },
    Row {
        what: "skills: `context: fork`, `agent`, `hooks`, `paths`",
        verdict: "no",
        note: "told as a warning",
        proof: |seen| {
            seen.stderr.contains("SKILL.md: line 5, column 1: context: is not known here and is left out")
        },
    },
    Row {
        what: "plugins with `.claude-plugin/plugin.json`",
        verdict: "yes",
        note: "added with `tiller plugin add` or `--plugin-dir`",
        proof: |seen| seen.lists("slash_commands", "kit:ship") && seen.init["plugins"][0]["name"] == "kit",
    },
    Row {
        what: "`.mcp.json`",
        verdict: "yes",
        note: "with `${VARIABLES}`; types `stdio` and `http`",
        proof: |seen| seen.result("server").contains("--marker from-settings"),
    },
    Row {
        what: "`.mcp.json` of plugins",
        verdict: "yes",
        note: "",
        proof: |seen| seen.result("of-plugin").contains("echo: hello"),
    },
    Row {
        what: "`enabledPlugins` and marketplaces",
        verdict: "no",
        note: "plugins are folders that you add",
        proof: |seen| seen.init["plugins"].as_array().unwrap().len() == 1,
    },
];

/// A repository as other agents find it.
fn repository() -> World {
    let settings = json!({
        "permissions": {"allow": ["Bash(printenv:*)"], "deny": ["Bash(touch forbidden)"]},
        "env": {"GREETING": "from-settings"}, "model": "haiku", "outputStyle": "pirate",
        "enabledPlugins": {"x@market": true},
        "hooks": {
            "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch \"$CLAUDE_PROJECT_DIR/hooked\""}]}],
            "WorktreeCreate": [{"hooks": [{"type": "command", "command": "true"}]}],
        },
    });
    let fix = "---\ndescription: Fixes an issue\nargument-hint: [issue] [priority]\nmodel: opus\n\
        allowed-tools: Bash(echo:*), Bash(touch fixed)\n---\nFix issue $1 with priority $2.\nAll: $ARGUMENTS.\n\
        Branch: !`echo on-main`\n\n```!\necho block\n```\n\nSee @STYLE.md\n";
    let weld = "---\nname: weld\ndescription: Welds things\nallowed-tools: Bash(touch welded)\ncontext: fork\n---\n\
        Weld from left to right. !`touch opened`\n";
    World::new()
        .file("CLAUDE.md", "Speak of pumps only.\n\n@imported.md\n")
        .file("imported.md", "Imported words.")
        .file("STYLE.md", "Keep it short.")
        .file(".claude/settings.json", &settings.to_string())
        .file(".claude/settings.local.json", r#"{"permissions": {"allow": ["Bash(touch local)"]}}"#)
        .file(
            ".claude/agents/reviewer.md",
            "---\nname: reviewer\ndescription: Reviews changes\n---\nYou review.",
        )
        .file(".claude/commands/fix.md", fix)
        .file(".claude/commands/front/build.md", "Build the front end.")
        .file(".claude/skills/weld/SKILL.md", weld)
        .file(".claude/skills/weld/safety.md", "Wear a mask.")
        .file(".claude/output-styles/pirate.md", "---\nname: pirate\n---\nSay arr.")
        .file("kit/.claude-plugin/plugin.json", r#"{"name": "kit"}"#)
        .file("kit/commands/ship.md", "Ship it.")
        .file(".mcp.json", &server("fake"))
        .file("kit/.mcp.json", &server("of-kit"))
}

/// A file with one server.
fn server(name: &str) -> String {
    let command =
        json!({"command": "python3", "args": [tiller_testkit::mcp_server(), "--marker", "${GREETING}"]});
    json!({"mcpServers": {name: command}}).to_string()
}

fn examined() -> Evidence {
    let world = repository().var("TILLER_MCP_WAIT_MS", "60000");
    let bash = |id: &str, command: &str| Reply::new().tool_with_id(id, "Bash", json!({"command": command}));
    world.server.replies([
        bash("denied", "touch forbidden"),
        bash("env", "printenv GREETING"),
        bash("local", "touch local"),
        bash("allowed", "touch fixed"),
        Reply::new().tool_with_id("skill", "Skill", json!({"skill": "weld"})),
        Reply::new().tool_with_id(
            "more",
            "Read",
            json!({"file_path": world.path(".claude/skills/weld/safety.md")}),
        ),
        bash("welded", "touch welded"),
        Reply::new().tool_with_id("server", "mcp__fake__arguments", json!({})),
        Reply::new().tool_with_id("of-plugin", "mcp__of-kit__echo", json!({"text": "hello"})),
        Reply::text("done"),
        Reply::text("built"),
    ]);
    let args = ["-p", "/fix 12 high", "--output-format", "stream-json", "--plugin-dir", "kit"];
    let run = world.run(&[&args[..], &["--allowedTools", "mcp__fake,mcp__of-kit"]].concat());
    let frames = run.frames();
    let mut results = Vec::new();
    for block in frames.iter().filter_map(|frame| frame["message"]["content"].as_array()).flatten() {
        if block["type"] == "tool_result" {
            let (id, text) = (block["tool_use_id"].as_str().unwrap(), block["content"].to_string());
            results.push((id.to_owned(), text, block["is_error"] == true));
        }
    }
    world.run(&["-p", "/build"]).ok();
    let requests = world.server.messages();
    let request = requests[0].body().clone();
    assert!(!world.path("forbidden").exists() && !world.path("opened").exists());
    Evidence {
        sent: request.to_string(),
        request,
        init: frames[0].clone(),
        results,
        second: requests.last().unwrap().body().to_string(),
        stderr: run.stderr,
        hooked: world.path("hooked").exists(),
    }
}

#[test]
fn a_repository_of_another_agent_works_as_the_table_says() {
    let seen = examined();
    for row in &ROWS {
        assert!((row.proof)(&seen), "{}\n{}\n{:#?}\n{}", row.what, seen.stderr, seen.results, seen.init);
    }
}

#[test]
fn the_table_is_the_one_in_the_documentation() {
    let page = format!("{}/../../docs/compatibility.md", env!("CARGO_MANIFEST_DIR"));
    let page = fs_err::read_to_string(page).unwrap();
    let line = |row: &Row| format!("| {} | {} | {} |\n", row.what, row.verdict, row.note);
    let table: String = ROWS.iter().map(line).collect();
    assert!(page.contains(&table), "docs/compatibility.md should have\n{table}");
}
