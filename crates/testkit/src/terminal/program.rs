//! A program in a terminal, typed to and watched.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::{LongRows, Terminal};

/// Nothing that is waited for takes longer, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// How often the screen is looked at.
const LOOK: Duration = Duration::from_millis(5);

type Keyboard = Arc<Mutex<Box<dyn Write + Send>>>;

/// A program that runs in a terminal.
pub struct Program {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Keyboard,
    terminal: Arc<Mutex<Terminal>>,
    /// Everything that the program wrote.
    printed: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

impl Program {
    /// Starts a command, with its variables and directory, in a terminal of this size.
    #[must_use]
    pub fn start(command: &std::process::Command, columns: u16, rows: u16, long_rows: LongRows) -> Self {
        Self::start_with(command, columns, rows, long_rows, |_| {})
    }

    /// Starts a command in a terminal that was made ready for it.
    #[must_use]
    pub fn start_with(
        command: &std::process::Command,
        columns: u16,
        rows: u16,
        long_rows: LongRows,
        ready: impl FnOnce(&mut Terminal),
    ) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).expect("a terminal can be opened");
        let child = pair.slave.spawn_command(builder(command)).expect("the program starts");
        drop(pair.slave);
        let output = pair.master.try_clone_reader().expect("the terminal can be read");
        let keyboard: Keyboard =
            Arc::new(Mutex::new(pair.master.take_writer().expect("the terminal can be typed to")));
        let mut terminal = Terminal::new(columns, rows, long_rows);
        ready(&mut terminal);
        let terminal = Arc::new(Mutex::new(terminal));
        let printed = Arc::new(Mutex::new(Vec::new()));
        let reader = watch(output, Arc::clone(&terminal), Arc::clone(&keyboard), Arc::clone(&printed));
        Self { child, master: pair.master, keyboard, terminal, printed, reader: Some(reader) }
    }

    /// Types, byte by byte as a terminal would send it.
    pub fn type_in(&self, keys: &str) {
        let mut keyboard = lock(&self.keyboard);
        keyboard.write_all(keys.as_bytes()).expect("the program reads");
        keyboard.flush().expect("the program reads");
    }

    /// Types and waits until the program has read as much: what is typed next does not come together with it.
    #[track_caller]
    pub fn type_apart(&self, keys: &str) {
        let before = self.bytes_read();
        self.type_in(keys);
        let enough = before + keys.len() as u64;
        self.until("the program has read what was typed", |_| self.bytes_read() >= enough);
    }

    /// Bytes that the program has read so far, from wherever.
    fn bytes_read(&self) -> u64 {
        let pid = self.pid().expect("the program runs");
        let counts = fs_err::read_to_string(format!("/proc/{pid}/io")).expect("the program runs");
        let read = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
        read.and_then(|count| count.parse().ok()).expect("what it has read is counted")
    }

    /// Pastes, in brackets as terminals do.
    pub fn paste(&self, text: &str) {
        self.type_in(&format!("\x1b[200~{text}\x1b[201~"));
    }

    /// Changes the size of the terminal, and tells the program.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.between_updates(|terminal| {
            terminal.resize(columns, rows);
            self.master.resize(size(columns, rows)).expect("the terminal can be resized");
        });
    }

    /// Does something to the terminal at a moment at which nothing is half written: terminals take what is there to be
    /// read before they look at their window again.
    #[track_caller]
    fn between_updates(&self, act: impl FnOnce(&mut Terminal)) {
        let mut act = Some(act);
        self.until("the terminal has taken a whole frame", |terminal| {
            let is_time = !terminal.is_updating();
            if let Some(act) = act.take_if(|_| is_time) {
                act(terminal);
            }
            is_time
        });
    }

    /// Changes the size of the terminal, but tells the program only after it has written something for the old size.
    #[track_caller]
    pub fn resize_late(&self, columns: u16, rows: u16) {
        self.between_updates(|terminal| terminal.resize(columns, rows));
        let written = lock(&self.printed).len();
        self.until("the program has written something", |_| lock(&self.printed).len() > written);
        self.master.resize(size(columns, rows)).expect("the terminal can be resized");
    }

    /// Looks at the terminal.
    pub fn look<T>(&self, see: impl FnOnce(&mut Terminal) -> T) -> T {
        see(&mut lock(&self.terminal))
    }

    /// What the screen shows.
    #[must_use]
    pub fn text(&self) -> String {
        self.look(|terminal| terminal.text())
    }

    /// Waits until the terminal is as it should be.
    #[track_caller]
    pub fn until(&self, what: &str, mut holds: impl FnMut(&mut Terminal) -> bool) {
        let begun = Instant::now();
        while !self.look(&mut holds) {
            assert!(begun.elapsed() < DEADLINE, "waited in vain until {what}; the screen:\n{}", self.text());
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub fn until_shown(&self, text: &str) {
        self.until(&format!("{text:?} is shown"), |terminal| terminal.text().contains(text));
    }

    /// Waits until the screen shows a text no longer.
    #[track_caller]
    pub fn until_gone(&self, text: &str) {
        self.until(&format!("{text:?} is gone"), |terminal| !terminal.text().contains(text));
    }

    /// Everything that the program wrote, as it wrote it.
    #[must_use]
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&lock(&self.printed)).into_owned()
    }

    /// The program's process id.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.process_id()
    }

    /// Ends the program, whatever it does.
    pub fn stop(&mut self) {
        // One that has ended already cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for the program's end; gives its exit code.
    #[track_caller]
    pub fn wait(&mut self) -> u32 {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the program can be waited for") {
                break status;
            }
            assert!(begun.elapsed() < DEADLINE, "the program does not end; the screen:\n{}", self.text());
            std::thread::sleep(LOOK);
        };
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the terminal was read to its end");
        }
        status.exit_code()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.stop();
    }
}

fn builder(command: &std::process::Command) -> CommandBuilder {
    let mut builder = CommandBuilder::new(command.get_program());
    builder.args(command.get_args());
    builder.env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            builder.env(name, value);
        }
    }
    if let Some(dir) = command.get_current_dir() {
        builder.cwd(dir);
    }
    builder
}

fn watch(
    mut output: Box<dyn Read + Send>,
    terminal: Arc<Mutex<Terminal>>,
    keyboard: Keyboard,
    printed: Arc<Mutex<Vec<u8>>>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        // A terminal whose program has ended gives an error instead of an end.
        while let Ok(count @ 1..) = output.read(&mut bytes) {
            lock(&printed).extend(&bytes[..count]);
            let answer = lock(&terminal).write(&bytes[..count]);
            if !answer.is_empty() {
                let mut keyboard = lock(&keyboard);
                let _ = keyboard.write_all(&answer).and_then(|()| keyboard.flush());
            }
        }
    })
}
