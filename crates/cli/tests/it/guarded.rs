//! What decides what is allowed or run later changes outside of the sandbox: the user is told, whatever the words of the
//! command showed.

use std::process::Command;

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::{World, eventually};

fn repository() -> World {
    let world = World::new()
        .file("src/main", "fn main")
        .file("hide.py", "open('.git/' + 'config', 'a').write('[alias]\\n\\tst = !evil\\n')")
        .file("hook", "#!/bin/sh\nevil\n")
        .file(".husky/pre-push", "#!/bin/sh\n");
    let git = |args: &[&str]| {
        let ran = Command::new("git").args(args).current_dir(world.dir()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    git(&["init", "-q", "--template="]);
    git(&["add", ".husky"]);
    world
}

/// What the user is told of files that changed.
fn told(frames: &[Value]) -> Vec<String> {
    let of_changes = frames.iter().filter(|frame| frame["subtype"] == "guarded_changed");
    of_changes.map(|frame| frame["content"].as_str().unwrap().to_owned()).collect()
}

fn run(world: &World, command: &str) -> Vec<Value> {
    world.server.replies([Reply::new().tool("Bash", json!({"command": command})), Reply::text("done")]);
    let args =
        ["-p", "go", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"];
    let run = world.run(&args);
    // What is asked about is refused, as nobody is there.
    assert!([0, 3].contains(&run.code()), "{run:?}");
    run.frames()
}

// PERM-21: in the mode that asks nothing, with words that do not show what they change.
#[test]
fn no_change_of_what_steers_is_silent() {
    let mut unseen = 0;
    for (command, file) in [
        ("python3 hide.py", ".git/config"),
        (
            "d=.git; mkdir -p $d/ho''oks; name=pre-commit; cp hook $(echo $d/ho''oks/$name)",
            ".git/hooks/pre-commit",
        ),
        (
            "mkdir -p .git/h; pushd .git/h; mv ../h ../hooks; cp ../../hook ../hooks/update",
            ".git/hooks/update",
        ),
        ("git ls-files | grep pre-push | xargs rm", ".husky/pre-push"),
        ("git config core.hooksPath elsewhere", ".git/config"),
        ("x=$(printf .til; printf ler); mkdir $x; echo '{}' > $x/settings.json", ".tiller/settings.json"),
        ("cd ~; d=$(printf .til; printf ler); echo '{}' > $d/settings.json", "settings.json"),
    ] {
        let world = repository();
        let frames = run(&world, command);
        let refused = frames.iter().any(|frame| frame.to_string().contains("steers what is run"));
        let told = told(&frames);
        assert!(refused || told.len() == 1 && told[0].contains(file), "{command}: {told:?} {frames:#?}");
        let result = frames.last().unwrap();
        assert!(refused || result["warnings"].to_string().contains(file), "{command}: {result:#}");
        world.server.assert_clean();
        unseen += told.len();
    }
    assert!(unseen >= 4, "the words of nearly all of them show it: {unseen}");
}

#[test]
fn what_changes_nothing_of_it_is_not_spoken_of() {
    let world = repository();
    let frames =
        run(&world, "python3 -c \"open('src/main', 'a').write('x')\" && git add src && touch .git/x");
    assert_eq!(told(&frames), Vec::<String>::new());
    assert_eq!(world.read("src/main"), "fn mainx");
}

// PERM-21
#[test]
fn a_command_in_the_background_is_watched_until_it_ends() {
    let world = repository();
    let command = "touch up; while [ ! -e go ]; do sleep 0.02; done; python3 hide.py";
    let input = json!({"command": command, "run_in_background": true});
    world.server.replies([
        Reply::new().tool("Bash", input),
        Reply::text("meanwhile"),
        Reply::text("it has ended"),
    ]);
    let mut live = world.talk(&["--permission-mode", "bypassPermissions"]);
    live.say("go");
    assert_eq!(told(&live.turn()), Vec::<String>::new());
    eventually("the command runs", || world.path("up").exists());
    world.write("go", "");
    let frames = live.until(|frame| frame["subtype"] == "guarded_changed");
    assert!(told(&frames)[0].contains(".git/config"), "{frames:#?}");
    live.close_stdin();
    assert_eq!(live.finish().code, 0);
}

// PERM-21: that is no work of the command.
#[test]
fn what_the_user_permits_beside_a_command_is_not_spoken_of() {
    let world = repository();
    let input =
        json!({"command": "touch up; while [ ! -e go ]; do sleep 0.02; done", "run_in_background": true});
    let hook = json!({"file_path": world.path(".husky/pre-commit"), "content": "mine"});
    world.server.replies([
        Reply::new().tool("Bash", input),
        Reply::text("meanwhile"),
        Reply::new().tool("Write", hook),
        Reply::text("written"),
        Reply::text("it has ended"),
    ]);
    let mut live =
        world.talk(&["--permission-mode", "bypassPermissions", "--permission-prompt-tool", "stdio"]);
    live.say("go");
    live.turn();
    live.say("write");
    let question = live.question();
    let allow = json!({"behavior": "allow", "updatedInput": question["request"]["input"]});
    live.answer(&question, &allow);
    let mut frames = live.turn();
    assert_eq!(world.read(".husky/pre-commit"), "mine");
    world.write("go", "");
    frames.extend(live.turn());
    frames.extend(live.finish().frames);
    assert_eq!(told(&frames), Vec::<String>::new());
}

// PERM-21: what decides in subdirectories decides later, for whoever starts something there. No kernel keeps a confined
// command from it.
#[test]
fn settings_in_subdirectories_do_not_change_in_silence() {
    let world = World::new().file("sub/main", "x").file(
        "plant.py",
        "import os\nos.makedirs('sub/.claude')\nopen('sub/.claude/settings.json', 'w').write('{}')\n\
         open('sub/.mcp.json', 'w').write('{}')\nopen('sub/main', 'w').write('y')\n",
    );
    let go_on = |command: &str| {
        world.server.replies([Reply::new().tool("Bash", json!({"command": command})), Reply::text("done")]);
        let args = ["-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"];
        world.run(&args).ok().frames()
    };
    let frames = go_on("python3 plant.py");
    let told_of = told(&frames);
    assert_eq!(told_of.len(), 1, "{frames:#?}");
    for file in ["sub/.claude/settings.json", "sub/.mcp.json"] {
        assert!(told_of[0].contains(&world.dir().join(file).display().to_string()), "{told_of:?}");
    }
    assert!(!told_of[0].contains("sub/main"), "{told_of:?}");
    assert!(frames.last().unwrap()["warnings"].to_string().contains("sub/.mcp.json"));
    assert_eq!(told(&go_on("python3 -c \"open('sub/main', 'a').write('z')\"")), Vec::<String>::new());
}
