//! Many processes change one file at the same time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tiller_config::update;

use crate::world::World;

const PROCESSES: usize = 20;
const CHANGES: usize = 5;
const FILE: &str = "TILLER_TEST_SETTINGS_FILE";
const NUMBER: &str = "TILLER_TEST_WRITER";

/// What each of the processes does; without orders it is a test that does nothing.
#[test]
fn a_writer() {
    let (Some(file), Some(number)) = (std::env::var_os(FILE), std::env::var_os(NUMBER)) else { return };
    let number = number.into_string().unwrap();
    println!("\nready");
    std::io::stdout().flush().unwrap();
    std::io::stdin().lock().read_line(&mut String::new()).unwrap();
    for change in 0..CHANGES {
        let rule = json!(format!("Bash({number}.{change})"));
        update(file.as_ref(), |settings| settings.add(&["permissions", "allow"], &rule)).unwrap();
    }
}

fn writer(world: &World, number: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "concurrent::a_writer", "--nocapture"])
        .env(FILE, world.path("config/settings.json"))
        .env(NUMBER, number.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

// LOG-06
#[test]
fn twenty_processes_lose_nothing() {
    let world = World::new().file("config/settings.json", "{\n  // mine\n  \"model\": \"opus\"\n}\n");
    let mut writers: Vec<Child> = (0..PROCESSES).map(|number| writer(&world, number)).collect();
    for writer in &mut writers {
        let mut lines = BufReader::new(writer.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"));
    }
    for writer in &mut writers {
        writer.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    for mut writer in writers {
        // What it says at its end must not fill the pipe or break it.
        let mut rest = writer.stdout.take().unwrap();
        std::io::copy(&mut rest, &mut std::io::sink()).unwrap();
        assert!(writer.wait().unwrap().success());
    }
    let text = world.read("config/settings.json");
    assert!(text.starts_with("{\n  // mine\n  \"model\": \"opus\""), "{text}");
    for number in 0..PROCESSES {
        for change in 0..CHANGES {
            assert!(text.contains(&format!("\"Bash({number}.{change})\"")), "{number}.{change}: {text}");
        }
    }
    assert_eq!(fs_err::read_dir(world.path("config")).unwrap().count(), 1);
}
