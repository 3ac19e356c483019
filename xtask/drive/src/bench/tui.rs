//! At a terminal: how long a key takes to be seen while everything streams, what idling costs, what a long session weighs.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::json;
use tiller_testkit::Reply;
use tiller_testkit::terminal::{LongRows, Program};

use super::Effort;
use super::arena::{Arena, Contestant, Directory};
use super::figure::{Figure, Goal, Unit};
use super::sample::millis;

const SIZE: (u16, u16) = (100, 40);
/// What is shown when input is awaited.
const READY: &str = "What should be done?";
/// Bytes of a token, about.
const TOKEN: usize = 4;
const TOKENS: usize = 1_000_000;
const PIECE: usize = 64;
/// Keys for one figure.
const KEYS: usize = 200;
/// Keys until the input is emptied.
const A_LINE: usize = 40;
const IDLE: Duration = Duration::from_secs(10);
/// Nobody waits longer for a key.
const DEADLINE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_micros(200);

/// A command that prints without end until it is told that it is enough.
const FLOOD: &str = "while [ ! -e enough ]; do seq 10000; done; rm enough";
const UNASKED: [&str; 2] = ["--permission-mode", "bypassPermissions"];

pub(super) fn measure(arena: &Arena, _: &Effort) -> anyhow::Result<Vec<Figure>> {
    let server = Arena::server();
    let sentence = "All of it, word by word, and then the next line of it.\n\n";
    let streamed = sentence.repeat(TOKENS * TOKEN / sentence.len());
    // The command begins as soon as its call has arrived, and floods while the text behind it streams.
    let flood = Reply::new().tool("Bash", json!({"command": FLOOD}));
    server.replies([flood.and_text(streamed).chunked(PIECE), Reply::text("That was all.")]);
    let mut command = arena.command(Contestant::Tiller(&UNASKED), Directory::Empty, &server);
    let enough = command.get_current_dir().context("the program has no directory")?.join("enough");
    // Whatever is streamed fits: folding the conversation is measured elsewhere.
    command.args(["--settings", r#"{"models": {"claude-sonnet-5-5": {"contextWindow": 1000000000}}}"#]);
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    let tiller = Program::start(&command, SIZE.0, SIZE.1, LongRows::Wrap);
    tiller.until_shown(READY);
    let pid = tiller.pid().context("the program has no id")?;
    let at_first = resident(pid)?;
    let wakes = wakes_while_idle(pid)?;
    tiller.type_in("tell\r");
    tiller.until("the model streams and the command floods", |terminal| {
        let text = terminal.text();
        let is_number = |line: &str| line.trim_start_matches([' ', '│']).parse::<u32>().is_ok();
        text.contains("word by word") && text.lines().any(is_number)
    });
    let key = slowest_key(&tiller, "› ")?;
    fs_err::write(enough, "")?;
    // An empty input says that it is awaited.
    tiller.type_in("\x15");
    let told = Instant::now();
    // The last line of a turn says what it has taken. Before it stands everything that was streamed.
    tiller.until("the turn's last line is shown", |terminal| {
        let text = terminal.text();
        text.contains(READY) && text.lines().any(|line| line.starts_with("· ") && line.contains(" tokens"))
    });
    let rest = told.elapsed();
    let at_last = resident(pid)?;
    let echo = echo();
    let printed = time_to_print(&sentence.repeat(TOKENS * TOKEN / sentence.len()))?;
    Ok(vec![
        Figure {
            name: "key to frame while the model streams and a command floods, 99 of 100".to_owned(),
            unit: Unit::Millis,
            tiller: millis(key),
            floor: millis(slowest_key(&echo, "")?),
            goal: Some(Goal::AtMost(50.0)),
        },
        Figure {
            name: "wake-ups in 10 s of idling".to_owned(),
            unit: Unit::Times,
            tiller: wakes,
            floor: wakes_while_idle(echo.pid().context("the program has no id")?)?,
            goal: Some(Goal::AtMost(0.0)),
        },
        Figure {
            name: "from the 200th key to the end of 1 M streamed tokens".to_owned(),
            unit: Unit::Millis,
            tiller: millis(rest),
            floor: millis(printed),
            goal: None,
        },
        Figure {
            name: "memory after 1 M streamed tokens, beside that at the start".to_owned(),
            unit: Unit::Megabytes,
            tiller: at_last,
            floor: at_first,
            goal: Some(Goal::AtMost(80.0)),
        },
    ])
}

/// A terminal that only echoes: nothing can show a key earlier.
fn echo() -> Program {
    let mut command = Command::new("cat");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    Program::start(&command, SIZE.0, SIZE.1, LongRows::Wrap)
}

/// How long a terminal takes to show a text that is only printed.
fn time_to_print(text: &str) -> anyhow::Result<Duration> {
    let file = tempfile::NamedTempFile::new()?;
    fs_err::write(file.path(), format!("{text}all printed\n"))?;
    let mut command = Command::new("cat");
    command.arg(file.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let begun = Instant::now();
    let program = Program::start(&command, SIZE.0, SIZE.1, LongRows::Wrap);
    program.until_shown("all printed");
    Ok(begun.elapsed())
}

/// The time that 99 of 100 keys do not exceed until they are seen behind the mark.
fn slowest_key(program: &Program, mark: &str) -> anyhow::Result<Duration> {
    let mut times = Vec::new();
    let mut typed = String::new();
    while times.len() < KEYS {
        if typed.len() == A_LINE {
            program.type_in("\x15");
            typed.clear();
        }
        let letter = char::from(b'a' + u8::try_from(times.len() % 26).unwrap_or(0));
        typed.push(letter);
        let expected = format!("{mark}{typed}");
        let pressed = Instant::now();
        program.type_in(&letter.to_string());
        while !program.text().contains(&expected) {
            if pressed.elapsed() > DEADLINE {
                bail!("a key was not shown; the screen:\n{}", program.text());
            }
            std::thread::sleep(LOOK);
        }
        times.push(pressed.elapsed());
    }
    times.sort_unstable();
    Ok(times[KEYS * 99 / 100 - 1])
}

/// How often the process was given the processor although nothing happened.
fn wakes_while_idle(pid: u32) -> anyhow::Result<f64> {
    // What the start has left to do is over when two looks in a row agree.
    let mut before = switches(pid)?;
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let now = switches(pid)?;
        if now == before {
            break;
        }
        before = now;
    }
    std::thread::sleep(IDLE);
    Ok((switches(pid)? - before) as f64)
}

/// Switches of all threads.
fn switches(pid: u32) -> anyhow::Result<u64> {
    let mut all = 0;
    for thread in fs_err::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs_err::read_to_string(thread?.path().join("status"))?;
        all += field(&status, "voluntary_ctxt_switches").unwrap_or(0);
    }
    Ok(all)
}

/// Memory in use, in megabytes.
fn resident(pid: u32) -> anyhow::Result<f64> {
    let status = fs_err::read_to_string(format!("/proc/{pid}/status"))?;
    let kilobytes = field(&status, "VmRSS").context("the system does not tell VmRSS")?;
    Ok(kilobytes as f64 / 1024.0)
}

/// A number by the name of its line.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_name() {
        let status = "VmRSS:\t   2048 kB\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t9\n";
        assert_eq!((field(status, "VmRSS"), field(status, "voluntary_ctxt_switches")), (Some(2048), Some(7)));
        assert_eq!(field(status, "VmHWM"), None);
    }
}
