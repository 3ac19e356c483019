//! `tiller sandbox run`: a user's own command under a profile.

use std::io::{Read, Write};
use std::process::Stdio;

use crate::harness::{Run, World, eventually, marker, outside_of_workspaces, processes_with};

/// Whether this machine can confine at all, and by namespaces.
fn level(world: &World) -> String {
    let doctor: serde_json::Value = serde_json::from_str(&world.run(&["doctor", "--json"]).stdout).unwrap();
    doctor["confinement"]["level"].as_str().unwrap().to_owned()
}

fn sandboxed(world: &World, options: &[&str], script: &str) -> Run {
    world.run(&[&["sandbox", "run"][..], options, &["--", "sh", "-c", script]].concat())
}

// KERN-08
#[test]
fn a_profile_can_be_tried() {
    let world = World::new().file("kept", "as it was");
    // Temporary directories belong to every workspace.
    let outside = outside_of_workspaces();
    let escaped = outside.path().join("escaped");
    match level(&world).as_str() {
        "namespaces" => {}
        "landlock" => return,
        _ => {
            let run = sandboxed(&world, &["--profile", "workspace"], "echo ran");
            assert_eq!((run.code(), run.stdout.as_str()), (125, ""), "{run:#?}");
            assert!(run.stderr.contains("cannot be confined here"), "{}", run.stderr);
            return;
        }
    }
    let script = "echo new > kept && cat kept && echo x > new && exit 3";
    let run = sandboxed(&world, &["--profile", "read-only"], script);
    assert_eq!((run.code(), run.stdout.as_str(), run.stderr.as_str()), (3, "new\n", ""));
    assert_eq!((world.read("kept").as_str(), world.path("new").exists()), ("as it was", false));

    let script = format!("echo new > kept; echo x > '{}'", escaped.display());
    let run = sandboxed(&world, &["--profile", "workspace"], &script);
    assert_ne!(run.code(), 0);
    assert_eq!((world.read("kept").as_str(), escaped.exists()), ("new\n", false));

    sandboxed(&world, &["--profile", "full"], &script).ok();
    assert!(escaped.exists());
}

// KERN-08
#[test]
fn what_holds_the_command_is_said_when_it_is_less_than_it_could_be() {
    let world = World::new();
    let level = level(&world);
    let run = sandboxed(&world, &["--profile", "full", "--verbose"], "echo ran").ok();
    assert_eq!(run.stdout, "ran\n");
    assert!(run.stderr.contains("is confined by nothing"), "{}", run.stderr);
    if level != "namespaces" {
        return;
    }
    let run = sandboxed(&world, &["--profile", "workspace"], "echo ran").ok();
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("ran\n", ""));
    let run = sandboxed(&world, &["--profile", "workspace", "--verbose"], "echo ran").ok();
    assert!(run.stderr.contains("is confined by namespaces"), "{}", run.stderr);
}

// KERN-08
#[test]
fn the_means_can_be_limited() {
    let world = World::new();
    if level(&world) != "namespaces" {
        return;
    }
    let run = sandboxed(&world, &["--profile", "read-only", "--level", "landlock"], "echo x > new");
    if run.code() == 125 {
        assert!(run.stderr.contains("cannot be confined"), "{}", run.stderr);
        return;
    }
    assert!(
        run.stderr.contains("Landlock and a filter of system calls because --level says so"),
        "{}",
        run.stderr
    );
    assert!(run.code() != 0 && !world.path("new").exists(), "{run:#?}");
}

#[test]
fn the_network_can_be_taken_away() {
    let world = World::new();
    if level(&world) != "namespaces" {
        return;
    }
    let address = world.server.url().trim_start_matches("http://").replace(':', "/");
    let script = format!("exec 3<>/dev/tcp/{address} && echo connected");
    let connected = |network: &str| {
        let options = ["sandbox", "run", "--profile", "workspace", "--network", network, "--", "bash", "-c"];
        world.run(&[&options[..], &[&script]].concat()).stdout
    };
    assert_eq!((connected("allow").as_str(), connected("deny").as_str()), ("connected\n", ""));
}

#[test]
fn input_and_output_pass_through_whole() {
    let world = World::new();
    let input: String = (0..200_000).map(|number| format!("{number}\n")).collect();
    let mut command = world.command(&["sandbox", "run", "--profile", "full", "--", "tee", "/dev/stderr"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (text, fed) = (input.clone(), std::thread::spawn);
    let feeding = fed(move || stdin.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    assert!(output.status.success());
    assert!(output.stdout == input.as_bytes() && output.stderr == input.as_bytes(), "something was lost");
}

#[test]
fn output_comes_as_it_is_printed() {
    let world = World::new();
    let options =
        ["sandbox", "run", "--profile", "full", "--", "sh", "-c", "echo first; read word; echo $word"];
    let mut child = world.command(&options).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 6];
    stdout.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"first\n");
    child.stdin.take().unwrap().write_all(b"second\n").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "second\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_end_of_the_command_is_passed_on() {
    let world = World::new();
    for (script, code) in
        [("exit 0", 0), ("exit 42", 42), ("exec no-such-program", 127), ("kill -TERM $$", 143)]
    {
        assert_eq!(sandboxed(&world, &["--profile", "full"], script).code(), code, "{script}");
    }
    let words =
        ["sandbox", "run", "--profile", "full", "printf", "%s|", "it's", "a b", "$HOME", "-x", "--", ""];
    assert_eq!(world.run(&words).ok().stdout, "it's|a b|$HOME|-x|--||");
    for (args, code) in
        [(&["--profile", "loose", "ls"][..], 1), (&["--profile", "full"], 1), (&["--frofile"], 2)]
    {
        assert_eq!(world.run(&[&["sandbox", "run"][..], args].concat()).code(), code, "{args:?}");
    }
}

#[test]
fn a_reader_that_leaves_ends_an_endless_command() {
    let world = World::new();
    let mut command = world.command(&["sandbox", "run", "--profile", "full", "--", "yes"]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut some = [0; 2];
    stdout.read_exact(&mut some).unwrap();
    drop(stdout);
    assert!(child.wait().unwrap().code().is_some_and(|code| code != 0));
}

#[test]
fn an_interrupted_command_leaves_nothing_behind() {
    let world = World::new();
    let marker = marker();
    let script = format!(
        "trap '' INT TERM HUP; (setsid sleep {marker} &); touch begun; sleep {marker}; sleep {marker}"
    );
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let args = ["sandbox", "run", "--profile", "full", "--", "sh", "-c", &script];
        let live = world.start(&args);
        eventually("the command runs", || world.path("begun").exists());
        live.signal(signal);
        assert_eq!(live.finish().code, code, "{signal}");
        eventually("all have ended", || processes_with(&marker).is_empty());
        fs_err::remove_file(world.path("begun")).unwrap();
    }
}

// KERN-07
#[test]
fn credentials_stay_outside() {
    let world = World::new().var("GITHUB_TOKEN", "t");
    let run = sandboxed(&world, &["--profile", "full"], "env").ok();
    assert!(
        !run.stdout.contains("ANTHROPIC_API_KEY") && run.stdout.contains("GITHUB_TOKEN"),
        "{}",
        run.stdout
    );
    if level(&world) != "none" {
        let run = sandboxed(&world, &["--profile", "workspace"], "env").ok();
        assert!(!run.stdout.contains("GITHUB_TOKEN"), "{}", run.stdout);
    }
}

// KERN-07, KERN-08
#[test]
fn the_settings_of_sessions_count() {
    let world = World::new().file("secrets/key", "hunter2").file("notes", "plain").file(
        ".tiller/settings.json",
        r#"{"permissions": {"deny": ["Read(secrets/**)"]}, "sandbox": {"keepVariables": ["GITHUB_TOKEN"]}, "env": {"SAID": "so"}}"#,
    );
    let world = world.var("GITHUB_TOKEN", "t");
    if level(&world) == "none" {
        return;
    }
    let script = "cat notes secrets/key; echo $SAID $GITHUB_TOKEN; true";
    let run = sandboxed(&world, &["--profile", "workspace"], script).ok();
    assert_eq!(run.stdout, "plain\n", "what forbids counts, what loosens needs trust: {run:#?}");
    assert!(run.stderr.contains("is not trusted"), "{}", run.stderr);
    world.run(&["trust"]).ok();
    let run = sandboxed(&world, &["--profile", "workspace"], script).ok();
    assert_eq!(run.stdout, "plainso t\n", "{run:#?}");
    let run = sandboxed(&world, &["--profile", "workspace", "--no-project-settings"], script).ok();
    assert_eq!(run.stdout, "plainhunter2\n", "{run:#?}");
}

// KERN-08: what rules forbid to change stays, also where it does not exist yet, and under every profile.
#[test]
fn rules_against_changes_count() {
    let world = World::new()
        .file("a.lock", "a")
        .file("sub/b.lock", "b")
        .file(".tiller/settings.json", r#"{"permissions": {"deny": ["Edit(./vendor/**)", "Edit(*.lock)"]}}"#);
    if level(&world) != "namespaces" {
        return;
    }
    let script = "mkdir -p vendor/x; echo x > vendor/y; echo x > a.lock; echo x > sub/b.lock; echo x > c.txt";
    for profile in ["workspace", "full"] {
        sandboxed(&world, &["--profile", profile], script);
        assert_eq!((world.read("a.lock"), world.read("sub/b.lock")), ("a".to_owned(), "b".to_owned()));
        assert!(!world.dir().join("vendor").exists(), "{profile}");
        assert_eq!(world.read("c.txt"), "x\n");
    }
}

// KERN-01: whoever takes a repository apart has not got rid of what protects it.
#[test]
fn hooks_and_settings_of_a_repository_stay_when_it_was_taken_apart() {
    let world = World::new();
    if level(&world) != "namespaces" {
        return;
    }
    sandboxed(&world, &["--profile", "full"], "git init -q . && rm -rf .git/hooks").ok();
    let before = world.read(".git/config");
    let workspace = ["--profile", "workspace"];
    sandboxed(&world, &workspace, "mv .git/HEAD .git/away; mv .git/objects .git/o; mv .git/refs .git/r");
    let plant = "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo '[alias]' >> .git/config; \
                 mv .git/away .git/HEAD; mv .git/o .git/objects; mv .git/r .git/refs";
    sandboxed(&world, &workspace, plant);
    assert_eq!(world.read(".git/config"), before);
    assert!(!world.path(".git/hooks/pre-commit").exists());
    assert!(world.path(".git/HEAD").exists());
}
