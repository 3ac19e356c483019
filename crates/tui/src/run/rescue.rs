//! A program that fails in the middle gives the terminal back before it says why.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::ThreadId;

use crossterm::terminal;

use super::terminal::LEAVE;
use crate::screen::TURN_BACK;

static TAKEN: AtomicBool = AtomicBool::new(false);
/// The thread that draws. A failure in another one is somebody else's affair, and the terminal is still needed.
static DRAWS: Mutex<Option<ThreadId>> = Mutex::new(None);
/// Whether the alternate screen is shown.
static ASIDE: AtomicBool = AtomicBool::new(false);
static LISTENING: Once = Once::new();

/// The terminal is ours now.
pub(super) fn taken() {
    TAKEN.store(true, Ordering::SeqCst);
    *DRAWS.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
    LISTENING.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |failure| {
            match rescue() {
                Rescue::Unneeded | Rescue::Done => before(failure),
                // What is drawn must not be written over.
                Rescue::NotOurs => tracing::error!("{failure}"),
            }
        }));
    });
}

/// The terminal is somebody else's.
pub(super) fn given_back() {
    TAKEN.store(false, Ordering::SeqCst);
}

/// Whether the terminal is ours.
pub(super) fn is_taken() -> bool {
    TAKEN.load(Ordering::SeqCst)
}

/// Tells whether the alternate screen is shown.
pub(super) fn turned(is_aside: bool) {
    ASIDE.store(is_aside, Ordering::SeqCst);
}

enum Rescue {
    /// The terminal was not ours.
    Unneeded,
    /// It was given back.
    Done,
    /// Another thread has failed, and whoever waits for it goes on.
    NotOurs,
}

fn rescue() -> Rescue {
    let draws = *DRAWS.lock().unwrap_or_else(PoisonError::into_inner);
    if !is_taken() {
        return Rescue::Unneeded;
    }
    if draws != Some(std::thread::current().id()) {
        return Rescue::NotOurs;
    }
    given_back();
    // There is nobody left to tell if this fails too.
    let mut out = std::io::stdout();
    let back = if ASIDE.swap(false, Ordering::SeqCst) { TURN_BACK } else { "" };
    let _ = write!(out, "{back}\r\n{LEAVE}").and_then(|()| out.flush());
    let _ = terminal::disable_raw_mode();
    Rescue::Done
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tiller_testkit::terminal::{LongRows, Program};

    use crate::app::Place;
    use crate::run::terminal::{Background, Terminal};
    use crate::screen::Wrapping;
    use crate::view::View;

    const FAILS: [&str; 2] =
        ["run::rescue::tests::fails_in_the_middle", "run::rescue::tests::fails_while_a_page_is_open"];

    #[tokio::test]
    #[ignore = "it fails on purpose; the next test runs it in a terminal"]
    async fn fails_in_the_middle() {
        let mut terminal = Terminal::open(Wrapping::Anew, Background::Known).await.unwrap();
        terminal.show(&View::of(vec!["the live area".into(), "in two rows".into()])).unwrap();
        panic!("on purpose");
    }

    #[tokio::test]
    #[ignore = "it fails on purpose; the next test runs it in a terminal"]
    async fn fails_while_a_page_is_open() {
        let mut terminal = Terminal::open(Wrapping::Anew, Background::Known).await.unwrap();
        terminal.turn_to(Place::Aside).unwrap();
        terminal.show(&View::of(vec!["a page".into(), "in two rows".into()])).unwrap();
        panic!("on purpose");
    }

    // TERM-01
    #[test]
    fn a_failure_gives_the_terminal_back_and_is_told() {
        FAILS.iter().for_each(|fails| gives_back(fails));
    }

    fn gives_back(fails: &str) {
        let script = "\"$0\" --ignored --exact --nocapture \"$1\"; stty -a; echo all told";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(std::env::current_exe().unwrap()).arg(fails);
        command.env("PATH", std::env::var_os("PATH").unwrap());
        let program = Program::start(&command, 100, 60, LongRows::Wrap);
        program.until_shown("all told");
        let text = program.text();
        assert!(text.contains("on purpose"), "{text}");
        assert!(text.contains("isig icanon") && text.contains(" echo "), "{text}");
        assert!(!program.look(|terminal| terminal.screen().alternate_screen()));
        assert!(
            !program.look(|terminal| terminal.screen().hide_cursor() || terminal.screen().bracketed_paste())
        );
    }
}
