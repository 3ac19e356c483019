//! Tiller in a real tmux, which keeps a copy of whatever is erased from the first cell of the screen on.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, eventually};
use crate::terminal::{NOT_YET, READY};

const LINES: usize = 500;
/// Lines between two gates.
const PART: usize = 100;
/// What only a live area shows: the page of help, the question, the input.
const LIVE: [&str; 5] = ["Commands and keys", "Yes, this once", "Enter steers", "asks before", "───"];

/// A server of tmux of its own, with Tiller in its only pane.
struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    fn start(world: &World, columns: u16, rows: u16) -> Self {
        let own = world.command(&[]);
        let settings = world.home().join("tmux.conf");
        fs_err::write(&settings, "set -g remain-on-exit on\nset -g history-limit 50000\nset -g status off\n")
            .unwrap();
        let tmux = Self { socket: world.home().join("tmux") };
        let mut command = tmux.command();
        command.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.arg("-f").arg(settings).args(["new-session", "-d"]);
        command.args(["-x", &columns.to_string(), "-y", &rows.to_string()]).arg("-c").arg(world.dir());
        assert!(command.arg(own.get_program()).status().unwrap().success());
        tmux
    }

    fn command(&self) -> Command {
        let mut command = Command::new(tiller_testenv::tmux());
        command.arg("-u").arg("-S").arg(&self.socket);
        command
    }

    fn tell(&self, args: &[&str]) -> String {
        let output = self.command().args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn press(&self, key: &str) {
        self.tell(&["send-keys", key]);
    }

    fn say(&self, text: &str) {
        self.tell(&["send-keys", "-l", text]);
        self.until_shown(text);
        self.press("Enter");
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.tell(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    fn screen(&self) -> String {
        self.tell(&["capture-pane", "-p"])
    }

    /// The scrollback and the screen.
    fn everything(&self) -> String {
        self.tell(&["capture-pane", "-p", "-S", "-"])
    }

    #[track_caller]
    fn until_shown(&self, text: &str) {
        eventually(&format!("{text:?} is shown"), || self.screen().contains(text));
    }

    /// Waits until the question is drawn as wide as the terminal is, and can be answered.
    #[track_caller]
    fn until_asked(&self, columns: usize) {
        eventually("the question can be answered", || {
            let screen = self.screen();
            let is_drawn =
                screen.lines().any(|row| row.starts_with("── Run") && row.chars().count() == columns);
            is_drawn && screen.contains("Yes, this once") && !NOT_YET.iter().any(|note| screen.contains(note))
        });
    }

    #[track_caller]
    fn until_written(&self, text: &str) {
        eventually(&format!("{text:?} is written"), || self.everything().contains(text));
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // A server that has ended already cannot be ended.
        let _ = self.command().arg("kill-server").output();
    }
}

fn line(number: usize) -> String {
    format!("line {number:04}")
}

fn answer(gates: &[Gate]) -> Reply {
    let part = |number: usize| -> String {
        (number * PART..(number + 1) * PART).map(|number| line(number) + "\n").collect()
    };
    let first = Reply::text(format!("```\n{}", part(0)));
    let gates = gates.iter().zip(1..);
    gates.fold(first, |reply, (gate, number)| reply.gate(gate).more(part(number))).more("```\n")
}

// TERM-01
#[test]
fn pages_and_questions_that_fill_the_screen_leave_no_copies_in_tmux() {
    let world = World::new();
    let gates = [Gate::new(), Gate::new(), Gate::new(), Gate::new()];
    let long: String = (0..60).map(|number| format!("touch file-{number}\n")).collect();
    world.server.replies([answer(&gates), Reply::new().tool("Bash", json!({"command": long}))]);
    let tmux = Tmux::start(&world, 80, 24);
    tmux.until_shown(READY);
    tmux.say("count");
    tmux.until_shown(&line(PART - 1));
    tmux.press("F1");
    tmux.until_shown(LIVE[0]);
    // What is finished while a page is open waits until it is closed.
    gates[0].open();
    tmux.resize(90, 30);
    eventually("the page is as large as the terminal", || {
        tmux.screen().lines().any(|row| row.starts_with("── Help") && row.chars().count() == 90)
    });
    gates[1].open();
    tmux.press("Escape");
    tmux.until_written(&line(3 * PART - 1));
    tmux.until_shown("Enter steers");
    gates[2].open();
    tmux.until_shown(&line(4 * PART - 1));
    tmux.resize(70, 20);
    gates[3].open();
    tmux.until_written(&line(LINES - 1));
    tmux.until_shown(READY);
    tmux.say("make files");
    tmux.until_asked(70);
    tmux.resize(80, 24);
    tmux.until_asked(80);
    tmux.press("Escape");
    tmux.until_shown("You refused");
    tmux.until_shown(READY);
    tmux.say("/exit");
    eventually("it has ended", || tmux.tell(&["display-message", "-p", "#{pane_dead}"]).trim() == "1");

    let everything = tmux.everything();
    let found: Vec<&str> =
        everything.lines().filter_map(|row| row.find("line 0").map(|at| &row[at..])).collect();
    assert_eq!(found, (0..LINES).map(line).collect::<Vec<_>>(), "every line is there once and in order");
    let copies: Vec<&str> =
        everything.lines().filter(|row| LIVE.iter().any(|part| row.contains(part))).collect();
    assert_eq!(copies, Vec::<&str>::new(), "nothing of a live area was left");
}

// A page that fills the screen is gone without a trace when it is closed, also if the size has changed meanwhile.
#[test]
fn a_closed_page_leaves_the_conversation_where_it_was_in_tmux() {
    let world = World::new();
    let text: Vec<String> = (0..10).map(line).collect();
    world.server.reply(Reply::text(format!("```\n{}\n```\n", text.join("\n"))));
    let tmux = Tmux::start(&world, 120, 40);
    tmux.until_shown(READY);
    tmux.say("count");
    tmux.until_shown(&line(9));
    tmux.until_shown(READY);
    let before = tmux.screen();
    tmux.press("F1");
    tmux.until_shown("── Help");
    assert!(!tmux.screen().contains(&line(9)), "{}", tmux.screen());
    tmux.press("Escape");
    eventually("everything is as it was", || tmux.screen() == before);
    for (columns, rows) in [(60, 30), (100, 24), (120, 40)] {
        tmux.press("F1");
        tmux.until_shown("── Help");
        tmux.resize(columns, rows);
        let width = usize::from(columns);
        eventually("the page is as large as the terminal", || {
            tmux.screen().lines().any(|row| row.starts_with("── Help") && row.chars().count() == width)
        });
        tmux.press("Escape");
        tmux.until_shown(READY);
        let everything = tmux.everything();
        let found: Vec<&str> =
            everything.lines().filter_map(|row| row.find("line 0").map(|at| &row[at..])).collect();
        assert_eq!(found, text, "at {columns} columns:\n{everything}");
        assert!(tmux.screen().contains(&line(9)), "{}", tmux.screen());
    }
}
