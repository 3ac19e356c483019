//! Slash commands, skills, output styles and plugins in the files of user and project.

use serde_json::json;
use tiller_config::{
    CommandLine, Extensions, Layer, Meaning, Occupied, ProjectTrust, Recipe, SettingsError, Sources,
    TrustQuestion, add_plugin, find_recipe, remove_plugin,
};

use crate::world::World;

fn load(world: &World) -> Extensions {
    Extensions::load(&world.places(), Sources::default(), ProjectTrust::Full, &[])
}

fn told(world: &World, extensions: &Extensions) -> Vec<String> {
    let root = format!("{}/", world.path("").display().to_string().trim_end_matches('/'));
    extensions.problems().map(|problem| problem.to_string().replace(&root, "")).collect()
}

fn recipe(extensions: &Extensions, name: &str) -> Recipe {
    let found = extensions.recipes.all.iter().find(|recipe| recipe.name == name);
    assert!(found.is_some(), "no {name}: {:#?}", extensions.recipes.all);
    found.unwrap().clone()
}

#[test]
fn a_command_says_all_there_is_to_say() {
    let text = "---\ndescription: Fixes an issue\nargument-hint: [issue] [priority]\n\
        allowed-tools: Bash(git add:*), Bash(git commit:*), Read\ndisallowed-tools: [WebFetch]\nmodel: haiku\n---\n\nFix $1.\n";
    let world = World::new().file("project/.claude/commands/issues/fix.md", text);
    world.write("home/.claude/commands/plain.md", "# Explain the code\n\nIn short.");
    let extensions = load(&world);
    assert_eq!(told(&world, &extensions), [""; 0]);
    let fix = recipe(&extensions, "issues:fix");
    assert_eq!(fix.allowed_tools, ["Bash(git add:*)", "Bash(git commit:*)", "Read"]);
    assert_eq!((fix.disallowed_tools, fix.model.as_deref()), (vec!["WebFetch".to_owned()], Some("haiku")));
    assert_eq!(
        (fix.description.as_str(), fix.argument_hint.as_deref(), fix.body.as_str()),
        ("Fixes an issue", Some("[issue] [priority]"), "Fix $1.")
    );
    assert_eq!((fix.folder, fix.for_model, fix.for_user), (None, false, true));
    assert_eq!(fix.origin.layer, Layer::Project);
    assert_eq!(recipe(&extensions, "plain").description, "Explain the code");
}

#[test]
fn a_skill_is_a_folder_with_its_file() {
    let text = "---\nname: pdf\ndescription: Reads PDF files.\nwhen_to_use: When there is one.\nlicense: MIT\n\
        allowed-tools: Read Bash(pdftotext:*)\n---\nUse scripts/text.sh.\n";
    let world = World::new().file("project/.claude/skills/pdf-files/SKILL.md", text);
    world.write("project/.claude/skills/notes.md", "no skill");
    world.write(
        "home/.tiller/skills/secret/SKILL.md",
        "---\ndisable-model-invocation: true\nuser-invocable: false\n---\nx",
    );
    fs_err::create_dir_all(world.path("elsewhere/linked")).unwrap();
    world.write("elsewhere/linked/SKILL.md", "Linked.");
    fs_err::os::unix::fs::symlink(world.path("elsewhere/linked"), world.path("home/.tiller/skills/linked"))
        .unwrap();
    let extensions = load(&world);
    assert_eq!(told(&world, &extensions), [""; 0]);
    let pdf = recipe(&extensions, "pdf");
    assert_eq!(pdf.description, "Reads PDF files. When there is one.");
    assert_eq!(pdf.allowed_tools, ["Read", "Bash(pdftotext:*)"]);
    assert_eq!(pdf.folder, Some(world.path("project/.claude/skills/pdf-files")));
    assert!(pdf.is_skill() && pdf.for_model && pdf.for_user);
    let secret = recipe(&extensions, "secret");
    assert!(!secret.for_model && !secret.for_user);
    assert_eq!(recipe(&extensions, "linked").body, "Linked.");
}

#[test]
fn the_nearest_definition_counts_and_a_skill_before_a_command() {
    let world = World::new();
    for (dir, names) in [
        ("home/.claude", "a b c d"),
        ("home/.tiller", "b c d"),
        ("project/.claude", "c d"),
        ("project/.tiller", "d"),
    ] {
        for name in names.split(' ') {
            world.write(&format!("{dir}/commands/{name}.md"), &format!("{name} of {dir}"));
        }
        world.write(&format!("{dir}/output-styles/s.md"), &format!("style of {dir}"));
    }
    world.write("home/.tiller/skills/b/SKILL.md", "the skill b");
    let extensions = load(&world);
    assert_eq!(told(&world, &extensions), [""; 0]);
    let body = |name| recipe(&extensions, name).body;
    assert_eq!(
        ["a", "b", "c", "d"].map(body),
        ["a of home/.claude", "the skill b", "c of project/.claude", "d of project/.tiller"]
    );
    assert_eq!(extensions.styles.all.len(), 1);
    assert_eq!(extensions.styles.all[0].guidelines, "style of project/.tiller");

    let restricted = Extensions::load(&world.places(), Sources::default(), ProjectTrust::Restricted, &[]);
    assert_eq!(recipe(&restricted, "d").origin.layer, Layer::User, "an untrusted project brings nothing");
    let none = Extensions::load(&world.places(), "".parse().unwrap(), ProjectTrust::Full, &[]);
    assert!(none.recipes.all.is_empty() && none.styles.all.is_empty() && none.plugins.all.is_empty());
}

#[test]
fn the_last_part_of_a_name_is_enough_if_it_is_the_only_one() {
    let world = World::new();
    for name in ["front/build", "back/build", "back/deploy", "deploy"] {
        world.write(&format!("project/.tiller/commands/{name}.md"), "x");
    }
    world.write("project/.tiller/skills/hidden/SKILL.md", "---\nuser-invocable: false\n---\nx");
    let all = load(&world).recipes.all;
    let named = |name: &str| match find_recipe(&all, name) {
        Meaning::Recipe(recipe) => recipe.name.clone(),
        Meaning::Ambiguous(one, other) => format!("{} or {}", one.name, other.name),
        Meaning::Nothing(close) => format!("nothing, {close:?}"),
    };
    assert_eq!(named("deploy"), "deploy");
    assert_eq!(named("back:deploy"), "back:deploy");
    assert_eq!(named("build"), "back:build or front:build");
    assert_eq!(named("depoly"), "nothing, Some(\"deploy\")");
    assert_eq!(named("hidden"), "nothing, None");
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_nothing_else_suffers() {
    let world = World::new().file("project/.tiller/commands/good.md", "Do it.");
    for (file, text) in [
        ("commands/a-open.md", "---\ndescription: x\n"),
        ("commands/b-empty.md", "---\ndescription: x\n---\n \n"),
        ("commands/c name.md", "Do it."),
        ("commands/d-tools.md", "---\ndescription: d\nallowed-tools: {Bash: yes}\n---\nDo it."),
        ("commands/e-unknown.md", "---\ncontext: fork\n---\nDo it."),
        ("skills/f-switch/SKILL.md", "---\ndisable-model-invocation: maybe\n---\nDo it."),
        ("skills/g-name/SKILL.md", "---\nname: My Skill\n---\nDo it."),
        ("skills/h-twice/SKILL.md", "---\nname: g-name\n---\nDo it."),
        ("output-styles/i-empty.md", "---\nname: i\n---\n"),
        ("plugins/j-empty/README.md", "Nothing in here."),
        ("plugins/k-hooks/hooks/hooks.json", "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"no\"}]}]}}"),
        ("plugins/l-json/.claude-plugin/plugin.json", "{\n  \"name\": \"l\",,\n}"),
        ("plugins/m-out/.claude-plugin/plugin.json", "{\"name\": \"m\", \"hooks\": \"../../settings.json\"}"),
        ("plugins/n-name/.claude-plugin/plugin.json", "{\"name\": \"a:b\"}"),
        (
            "plugins/o-good/.claude-plugin/plugin.json",
            "{\"commands\": [\"./more\", \"./none\"], \"color\": \"red\"}",
        ),
        ("plugins/o-good/more/x.md", "Do x."),
    ] {
        world.write(&format!("project/.tiller/{file}"), text);
    }
    let extensions = load(&world);
    let mut names: Vec<&str> = extensions.recipes.all.iter().map(|recipe| recipe.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["e-unknown", "g-name", "good", "o-good:x"]);
    assert_eq!(extensions.plugins.all.len(), 1);
    insta::assert_snapshot!(told(&world, &extensions).join("\n"));
}

/// A plugin with everything that a plugin can have.
fn write_plugin(world: &World, dir: &str) {
    for (file, text) in [
        (
            ".claude-plugin/plugin.json",
            r#"{"name": "kit", "version": "1.2.0", "description": "Tools of the trade",
            "author": {"name": "n"}, "mcpServers": {"inline": {"command": "${CLAUDE_PLUGIN_ROOT}/server"}}}"#,
        ),
        ("commands/ship.md", "Run ${CLAUDE_PLUGIN_ROOT}/ship.sh."),
        ("commands/db/reset.md", "Reset."),
        ("agents/tester.md", "---\ndescription: Tests\n---\nYou test."),
        ("skills/weld/SKILL.md", "---\ndescription: Welds\n---\nWeld."),
        ("output-styles/terse.md", "Few words."),
        (
            "hooks/hooks.json",
            r#"{"description": "d", "hooks": {
            "PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/fmt.sh"}]}],
            "Unheard": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#,
        ),
        (
            ".mcp.json",
            r#"{"mcpServers": {"db": {"command": "npx", "args": ["${CLAUDE_PLUGIN_ROOT}/db.js"]}}}"#,
        ),
    ] {
        world.write(&format!("{dir}/{file}"), text);
    }
}

#[test]
fn a_plugin_brings_all_kinds_of_extension() {
    let world = World::new();
    write_plugin(&world, "project/.tiller/plugins/any-folder");
    let extensions = load(&world);
    assert_eq!(
        told(&world, &extensions),
        [
            "project/.tiller/plugins/any-folder/hooks/hooks.json: line 3, column 24: hooks.Unheard: there is no such event; \
          its hooks do not run"
        ]
    );
    let plugin = &extensions.plugins.all[0];
    assert_eq!((plugin.name.as_str(), plugin.version.as_deref()), ("kit", Some("1.2.0")));
    let root = world.path("project/.tiller/plugins/any-folder").display().to_string();
    assert_eq!(recipe(&extensions, "kit:ship").body, format!("Run {root}/ship.sh."));
    assert_eq!(recipe(&extensions, "kit:db:reset").origin.layer, Layer::Project);
    assert!(recipe(&extensions, "kit:weld").is_skill());
    assert!(extensions.agents.get("kit:tester").is_some());
    assert_eq!(extensions.styles.all[0].name, "kit:terse");
    let hooks = serde_json::to_value(&plugin.hooks).unwrap();
    assert_eq!(hooks["PostToolUse"][0]["value"]["hooks"][0]["command"], format!("{root}/fmt.sh"));
    assert_eq!(plugin.mcp_servers["db"], json!({"command": "npx", "args": [format!("{root}/db.js")]}));
    assert_eq!(plugin.mcp_servers["inline"]["command"], format!("{root}/server"));
}

#[test]
fn our_own_manifest_wins_and_none_is_needed() {
    let world = World::new().file("given/bare/commands/x.md", "x");
    write_plugin(&world, "given/both");
    world.write("given/both/.tiller-plugin/plugin.json", "{\"name\": \"ours\"}");
    let given = [world.path("given/bare"), world.path("given/both")];
    let extensions = Extensions::load(&world.places(), Sources::default(), ProjectTrust::Full, &given);
    let names: Vec<&str> = extensions.plugins.all.iter().map(|plugin| plugin.name.as_str()).collect();
    assert_eq!(names, ["bare", "ours"]);
    assert_eq!(recipe(&extensions, "bare:x").origin.layer, Layer::CommandLine);
}

#[test]
fn a_plugin_does_not_lead_out_of_itself() {
    let world = World::new().file("elsewhere/x.md", "secret").file("given/p/commands/ok.md", "fine");
    let link = |from: &str, to: &str| {
        fs_err::os::unix::fs::symlink(world.path(to), world.path(from)).unwrap();
    };
    link("given/p/commands/out.md", "elsewhere/x.md");
    link("given/p/output-styles", "elsewhere");
    let given = [world.path("given/p")];
    let extensions = Extensions::load(&world.places(), Sources::default(), ProjectTrust::Full, &given);
    assert_eq!(extensions.recipes.all.len(), 1);
    assert_eq!(
        told(&world, &extensions),
        [
            "given/p/commands/out.md: it leads out of the plugin; the command is left out",
            "given/p/output-styles/x.md: it leads out of the plugin; the output style is left out"
        ]
    );
    let error = add_plugin(&world.path("home/.tiller"), &given[0], Occupied::Refuse).unwrap_err();
    assert!(matches!(error, SettingsError::PluginLeadsOut(_)), "{error}");
    assert_eq!(
        fs_err::read_dir(world.path("home/.tiller/plugins")).unwrap().count(),
        0,
        "nothing is left over"
    );
}

// A hostile project: what its plugins bring may be read, so they have to be its own.
#[test]
fn a_plugin_of_a_project_does_not_lead_out_of_it() {
    let world = World::new().file("elsewhere/kit/commands/x.md", "secret");
    let link = |from: &str, to: &str| {
        fs_err::create_dir_all(world.path(from).parent().unwrap()).unwrap();
        fs_err::os::unix::fs::symlink(world.path(to), world.path(from)).unwrap();
    };
    link("project/.tiller/plugins/linked", "elsewhere/kit");
    link("home/.tiller/plugins/mine", "elsewhere/kit");
    world.write("project/.tiller/plugins/own/commands/y.md", "fine");
    let extensions = load(&world);
    let names: Vec<&str> = extensions.plugins.all.iter().map(|plugin| plugin.name.as_str()).collect();
    assert_eq!(names, ["kit", "own"], "the user's own links are the user's");
    assert_eq!(
        told(&world, &extensions),
        ["project/.tiller/plugins/linked: it leads out of the project; the plugin is left out"]
    );
    fs_err::remove_dir_all(world.path("project/.tiller")).unwrap();
    link("project/.tiller/plugins", "elsewhere");
    assert_eq!(load(&world).plugins.all.len(), 1, "nor by a link on the way");
}

#[test]
fn plugins_are_added_and_removed() {
    let world = World::new();
    write_plugin(&world, "source");
    world.write("source/.git/config", "x");
    let config_dir = world.path("home/.tiller");
    let source = world.path("source");
    let added = add_plugin(&config_dir, &source, Occupied::Refuse).unwrap();
    assert_eq!(added.dir, world.path("home/.tiller/plugins/kit"));
    assert!(!added.dir.join(".git").exists());
    assert_eq!(recipe(&load(&world), "kit:ship").origin.layer, Layer::User);

    // What the user has seen counts, not what becomes of its source.
    world.write("source/commands/ship.md", "Sink.");
    assert!(recipe(&load(&world), "kit:ship").body.starts_with("Run "));
    let again = add_plugin(&config_dir, &source, Occupied::Refuse).unwrap_err().to_string();
    assert_eq!(again, "a plugin named kit is already installed; use `--replace` to replace it");
    add_plugin(&config_dir, &source, Occupied::Replace).unwrap();
    assert_eq!(recipe(&load(&world), "kit:ship").body, "Sink.");

    let nothing = add_plugin(&config_dir, &world.path("project"), Occupied::Refuse).unwrap_err();
    assert!(matches!(nothing, SettingsError::NoPlugin(_)), "{nothing}");
    assert!(!remove_plugin(&config_dir, "../sessions").unwrap());
    assert!(remove_plugin(&config_dir, "kit").unwrap());
    assert!(!remove_plugin(&config_dir, "kit").unwrap());
    assert!(load(&world).plugins.all.is_empty());
}

#[test]
fn what_a_project_would_add_needs_trust() {
    let world = World::new().file("project/.claude/commands/x.md", "---\nallowed-tools: Bash\n---\nRun.");
    world.write("project/.claude/skills/s/SKILL.md", "---\ndescription: S\n---\nDo.");
    write_plugin(&world, "project/.tiller/plugins/kit");
    let question = || TrustQuestion::of(&world.places(), &CommandLine::default(), &world.env()).unwrap();
    let asked = question().unwrap();
    let mut keys: Vec<&str> = asked.concerns.iter().map(|concern| concern.row.key.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            "agents.kit:tester",
            "commands.kit:db:reset",
            "commands.kit:ship",
            "commands.x",
            "outputStyles.kit:terse",
            "plugins.kit.hooks.PostToolUse",
            "plugins.kit.mcpServers.db",
            "plugins.kit.mcpServers.inline",
            "skills.kit:weld",
            "skills.s"
        ]
    );
    asked.confirm(&world.path("home/.tiller")).unwrap();
    assert!(question().is_none());
    world.write("project/.claude/commands/x.md", "---\nallowed-tools: Bash\n---\nRun something else.");
    assert!(question().is_some(), "it is not what was trusted");
}

#[test]
fn a_policy_that_keeps_hooks_to_itself_keeps_those_of_plugins_out() {
    let world = World::new();
    write_plugin(&world, "home/.tiller/plugins/kit");
    let plugins = load(&world).plugins.all;
    let mut settings = world.load();
    settings.add_hooks_of(&plugins);
    assert_eq!(settings.hooks.len(), 1);
    world.write("etc/managed-settings.json", r#"{"locked": ["hooks"]}"#);
    let mut settings = world.load();
    settings.add_hooks_of(&plugins);
    assert!(settings.hooks.is_empty());
    assert!(settings.warnings[0].to_string().contains("the managed settings lock hooks"));

    let mut extensions = load(&world);
    extensions.leave_out_plugin("kit", "something is wrong");
    assert!(extensions.recipes.all.is_empty() && extensions.agents.get("kit:tester").is_none());
}
