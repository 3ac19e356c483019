//! Tiller at a terminal: the real binary, typed to and looked at.

use std::time::{Duration, Instant};

use serde_json::json;
use tiller_testkit::terminal::{LongRows, Program};
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, eventually};

pub(crate) const ENTER: &str = "\r";
pub(crate) const ESC: &str = "\x1b";
const SHIFT_TAB: &str = "\x1b[Z";
const CTRL_B: &str = "\x02";
const CTRL_C: &str = "\x03";
const CTRL_BACKSLASH: &str = "\x1c";
const CTRL_G: &str = "\x07";

/// What is shown when input is awaited.
pub(crate) const READY: &str = "What should be done?";

/// Starts Tiller in a terminal.
pub(crate) fn open(world: &World, args: &[&str], columns: u16, rows: u16) -> Program {
    let mut command = world.command(args);
    command.env("TERM", "xterm-256color");
    Program::start(&command, columns, rows, LongRows::Wrap)
}

pub(crate) fn begin(world: &World, args: &[&str]) -> Program {
    let program = open(world, args, 80, 30);
    program.until_shown(READY);
    program
}

/// Leaves by pressing Ctrl+C twice. Both are pressed again if the first only stopped a turn that was about to end, or if on
/// a busy machine the second came too late to belong to the first.
pub(crate) fn leave(mut program: Program) -> Program {
    const HINT: &str = "press Ctrl+C again";
    const MOST_PRESSES: usize = 30;
    const UNANSWERED: Duration = Duration::from_secs(2);
    let is_leaving = |text: &str| text.contains("Ending the session") || !text.contains(READY);
    program.until_shown(READY);
    for _ in 0..MOST_PRESSES {
        let is_second = program.text().contains(HINT);
        program.type_in(CTRL_C);
        let pressed = Instant::now();
        program.until("Ctrl+C has been understood", |terminal| {
            let text = terminal.text();
            is_leaving(&text)
                || text.contains(HINT) != is_second
                || (!is_second && pressed.elapsed() > UNANSWERED)
        });
        if is_leaving(&program.text()) {
            break;
        }
    }
    assert_eq!(program.wait(), 0, "{}", program.text());
    program
}

pub(crate) fn say(program: &Program, text: &str) {
    program.type_in(text);
    program.until_shown(text);
    program.type_in(ENTER);
}

/// What a question says as long as keys are no answers.
pub(crate) const NOT_YET: [&str; 3] = ["one moment", "pause to answer", "the next question"];

/// Waits until a question is there and has been for so long that keys are answers.
pub(crate) fn until_asked(program: &Program, question: &str) {
    program.until(&format!("{question:?} can be answered"), |terminal| {
        let text = terminal.text();
        // The upper rows of a picture may be there already, and those that say more are not.
        !terminal.is_updating() && text.contains(question) && !NOT_YET.iter().any(|note| text.contains(note))
    });
}

/// Waits until something was said and the turn is over.
pub(crate) fn until_done(program: &Program, said: &str) {
    program.until_shown(said);
    program.until_shown(READY);
}

// TERM-01 TERM-02
#[test]
fn a_prompt_is_answered_and_the_terminal_is_given_back() {
    let world = World::new();
    world.server.reply(Reply::text("A **short** answer.").chunked(3));
    let program = begin(&world, &[]);
    say(&program, "hello there");
    program.until_shown("● A short answer.");
    let program = leave(program);
    let text = program.text();
    assert!(text.contains("> hello there") && text.contains("tiller --resume"), "{text}");
    assert!(!text.contains("───"), "the live area is gone:\n{text}");
    assert!(!program.look(|terminal| terminal.screen().hide_cursor() || terminal.screen().bracketed_paste()));
    world.server.assert_clean();
}

/// A command that runs until the test lets it end.
fn waiting_command(world: &World) {
    let command = "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo it is done";
    world.server.reply(Reply::new().tool("Bash", json!({"command": command})));
}

// VERB-01
#[test]
fn what_is_typed_while_a_command_runs_steers() {
    let world = World::new();
    waiting_command(&world);
    world.server.reply(Reply::text("As you wish."));
    let program = begin(&world, &["--permission-mode", "bypassPermissions"]);
    say(&program, "work");
    eventually("the command runs", || world.path("begun").exists());
    say(&program, "this way");
    program.until_shown("this way  sent after the running step");
    world.write("go", "");
    program.until_shown("steered: delivered now");
    program.until_shown("As you wish.");
    assert!(world.server.messages()[1].body().to_string().contains("this way"));
    leave(program);
}

// VERB-01
#[test]
fn what_is_queued_becomes_a_turn_of_its_own() {
    let world = World::new();
    waiting_command(&world);
    world.server.replies([Reply::text("The first is done."), Reply::text("And the second.")]);
    let program = begin(&world, &["--permission-mode", "bypassPermissions"]);
    say(&program, "work");
    eventually("the command runs", || world.path("begun").exists());
    program.type_in("afterwards");
    program.until_shown("› afterwards");
    program.type_in("\t");
    program.until_shown("afterwards  sent after the turn");
    world.write("go", "");
    program.until_shown("And the second.");
    assert!(!world.server.messages()[1].body().to_string().contains("afterwards"));
    assert!(world.server.messages()[2].body().to_string().contains("afterwards"));
    leave(program);
}

// VERB-02
#[test]
fn esc_stops_a_command_and_keeps_what_is_typed() {
    let world = World::new();
    waiting_command(&world);
    world.server.reply(Reply::text("Something else, then."));
    let program = begin(&world, &["--permission-mode", "bypassPermissions"]);
    say(&program, "work");
    eventually("the command runs", || world.path("begun").exists());
    program.type_in("half a thought");
    program.until_shown("› half a thought");
    program.type_in(ESC);
    program.until_shown("Stopped.");
    program.until_shown("› half a thought");
    program.type_in(ENTER);
    program.until_shown("Something else, then.");
    leave(program);
}

#[test]
fn esc_stops_the_model_in_the_middle_of_a_word() {
    let world = World::new();
    let gate = Gate::new();
    world.server.reply(Reply::text("Half of an").gate(&gate).more(" answer"));
    let program = begin(&world, &[]);
    say(&program, "write");
    program.until_shown("● Half of an");
    program.type_in(ESC);
    program.until_shown("Stopped.");
    gate.open();
    leave(program);
}

// VERB-03
#[test]
fn ctrl_b_lets_a_command_go_on_in_the_background() {
    let world = World::new();
    waiting_command(&world);
    world.server.replies([Reply::text("It runs on."), Reply::text("So it has ended.")]);
    let program = begin(&world, &["--permission-mode", "bypassPermissions"]);
    say(&program, "work");
    eventually("the command runs", || world.path("begun").exists());
    program.until_shown("ctrl+b to background");
    program.type_in(CTRL_B);
    program.until_shown("It runs on.");
    program.until_shown("1 in background");
    world.write("go", "");
    // Its end begins a turn, which Ctrl+C would stop.
    program.until_shown("So it has ended.");
    leave(program);
}

#[test]
fn permission_is_given_and_refused_by_keys() {
    let world = World::new();
    let touch = |file: &str| Reply::new().tool("Bash", json!({"command": format!("touch {file}")}));
    world.server.replies([touch("first"), Reply::text("Made."), touch("second"), Reply::text("Not made.")]);
    let program = begin(&world, &[]);
    say(&program, "make it");
    until_asked(&program, "Yes, this once");
    program.until("the bell rings", |terminal| terminal.bells() > 0);
    program.type_in("1");
    program.until_shown("● Made.");
    assert!(world.path("first").exists());
    say(&program, "make more");
    program.until_shown("second");
    until_asked(&program, "Yes, this once");
    program.type_in(ESC);
    program.until_shown("You refused");
    assert!(!world.path("second").exists());
    leave(program);
}

// PERM-13
#[test]
fn the_mode_key_goes_through_the_modes() {
    let world = World::new();
    let program = begin(&world, &[]);
    program.until_shown("asks before changes");
    program.type_in(SHIFT_TAB);
    program.until_shown("accepts edits");
    program.type_in(SHIFT_TAB);
    program.until_shown("PLAN MODE");
    program.type_in(SHIFT_TAB);
    program.until_shown("asks before changes");
    leave(program);
}

/// A model that writes a plan, hands it over, and carries it out.
pub(crate) fn planner(world: &World) {
    let mut step = 0;
    let target = world.path("carried-out.txt");
    world.server.respond_with(move |request| {
        step += 1;
        let body = request.body().to_string();
        let path = body.split(['`', '"', ' ', '\\']).find(|word| word.contains("/plans/") && word.ends_with(".md"));
        match step {
            1 => Reply::new().tool(
                "Write",
                json!({"file_path": path.expect("the plan file is told"), "content": "# The plan\n\nTouch a file.\n"}),
            ),
            2 => Reply::new().tool("ExitPlanMode", json!({})),
            3 => Reply::new().tool("Write", json!({"file_path": target, "content": "yes\n"})),
            _ => Reply::text("It is carried out."),
        }
    });
}

// PLAN-16 PLAN-17: the plan is shown, and approved with the mode in which it is carried out.
#[test]
fn a_plan_is_read_approved_and_carried_out() {
    let world = World::new();
    planner(&world);
    let program = begin(&world, &["--permission-mode", "plan"]);
    program.until_shown("PLAN MODE");
    say(&program, "plan it");
    program.until_shown("Touch a file.");
    until_asked(&program, "accept edits");
    assert!(!world.path("carried-out.txt").exists());
    program.type_in("1");
    program.until_shown("● It is carried out.");
    program.until_shown("accepts edits");
    program.until_shown("● Plan approved · accept edits");
    program.until_shown("  │ Touch a file.");
    assert_eq!(world.read("carried-out.txt"), "yes\n");
    leave(program);
}

#[test]
fn the_input_goes_through_the_users_editor() {
    let world =
        World::new().program("edit.sh", "#!/bin/sh\nprintf 'edited: %s' \"$(cat \"$1\")\" > \"$1\"\n");
    world.server.reply(Reply::text("Read."));
    let mut command = world.command(&[]);
    command.env("TERM", "xterm-256color").env("EDITOR", world.path("edit.sh"));
    let program = Program::start(&command, 80, 30, LongRows::Wrap);
    program.until_shown(READY);
    program.type_in("a draft");
    program.until_shown("› a draft");
    program.type_in(CTRL_G);
    program.until_shown("› edited: a draft");
    program.type_in(ENTER);
    program.until_shown("● Read.");
    leave(program);
}

/// An editor by lines: it says so if it is interrupted, and goes on until it is told to quit.
const LINE_EDITOR: &str = r#"#!/bin/sh
trap 'echo not interrupted' INT
trap 'echo not aborted' QUIT
echo editing
for turn in 1 2 3 4 5 6 7 8; do
    if read -r line && [ "$line" = q ]; then
        echo 'from the editor' > "$1"
        exit 0
    fi
done
exit 1
"#;

// What is pressed while an editor has the terminal is meant for the editor.
#[test]
fn ctrl_c_in_the_editor_does_not_end_the_session() {
    let world = World::new().program("edit.sh", LINE_EDITOR);
    let mut command = world.command(&[]);
    command.env("TERM", "xterm-256color").env("EDITOR", world.path("edit.sh"));
    let program = Program::start(&command, 80, 30, LongRows::Wrap);
    program.until_shown(READY);
    program.type_in(CTRL_G);
    program.until_shown("editing");
    program.type_in(CTRL_C);
    program.until_shown("not interrupted");
    program.type_in(CTRL_BACKSLASH);
    program.until_shown("not aborted");
    program.type_in("q\r");
    program.until_shown("› from the editor");
    program.type_in(CTRL_C);
    leave(program);
}

#[test]
fn a_session_is_chosen_and_continued() {
    let world = World::new();
    world.server.replies([Reply::text("The first answer."), Reply::text("The second answer.")]);
    let program = begin(&world, &[]);
    say(&program, "remember this");
    program.until_shown("The first answer.");
    leave(program);
    let program = open(&world, &["--resume"], 80, 30);
    program.until_shown("remember this");
    program.type_in(ENTER);
    program.until_shown(READY);
    program.until_shown("The first answer.");
    say(&program, "and now?");
    program.until_shown("The second answer.");
    assert!(world.server.messages()[1].body().to_string().contains("remember this"));
    leave(program);
}

// SESS-07: the mode is the user's, and stays, as does the model they chose; plans are files, and stay as well.
#[test]
fn clear_begins_a_new_session() {
    let world = World::new();
    let plan = world.config_dir().join("plans/kept.md");
    fs_err::create_dir_all(plan.parent().unwrap()).unwrap();
    fs_err::write(&plan, "# A plan").unwrap();
    world.server.replies([Reply::text("One."), Reply::text("Two.")]);
    let program = begin(&world, &[]);
    say(&program, "zebra");
    program.until_shown("● One.");
    say(&program, "/plan");
    program.until_shown("PLAN MODE");
    say(&program, "/model opus");
    program.until_shown("The model is now");
    say(&program, "/clear");
    program.until("the new session begins", |terminal| terminal.text().matches("⎈ Tiller").count() == 2);
    program.until_shown(READY);
    say(&program, "second");
    program.until_shown("● Two.");
    let messages = world.server.messages();
    let asked = messages[1].body();
    assert!(!asked.to_string().contains("zebra"));
    assert!(asked["model"].as_str().is_some_and(|model| model.contains("opus")), "{}", asked["model"]);
    // The next session stands apart from the last one.
    program.until("a gap", |terminal| {
        let text = terminal.text();
        text.matches("⎈ Tiller").count() == text.matches("\n\n⎈ Tiller").count() + 1
    });
    leave(program);
    assert_eq!(world.logs().len(), 2);
    let plans = |log: &std::path::PathBuf| fs_err::read_to_string(log).unwrap().contains(r#""mode":"plan""#);
    assert!(world.logs().iter().all(plans), "both sessions were left while planning");
    assert_eq!(fs_err::read_to_string(plan).unwrap(), "# A plan");
}

// The option names the first session only. Named once more, the log would be one of a session that is there already.
#[test]
fn clear_begins_a_new_session_also_after_one_from_elsewhere() {
    let world = World::new();
    world.server.replies([Reply::text("One."), Reply::text("Two."), Reply::text("Three.")]);
    world.run(&["-p", "zebra"]).ok();
    let log = world.logs().remove(0);
    fs_err::rename(&log, world.path("from-elsewhere.jsonl")).unwrap();
    let program = begin(&world, &["--resume", "from-elsewhere.jsonl"]);
    say(&program, "first");
    program.until_shown("● Two.");
    say(&program, "/clear");
    program.until("the new session begins", |terminal| terminal.text().matches("⎈ Tiller").count() == 2);
    program.until_shown(READY);
    say(&program, "second");
    program.until_shown("● Three.");
    leave(program);
    let asked: Vec<bool> =
        world.server.messages().iter().map(|request| request.body().to_string().contains("zebra")).collect();
    assert_eq!(asked, [true, true, false]);
    assert_eq!(world.logs().len(), 2);
}

#[test]
fn without_a_key_it_says_what_to_do() {
    let world = World::new();
    let mut command = world.command(&[]);
    command.env("TERM", "xterm-256color").env_remove("ANTHROPIC_API_KEY").env_remove("ANTHROPIC_BASE_URL");
    command.env("SHELL", "/bin/zsh").env("TILLER_DEMO_PACE_MS", "0");
    let mut program = Program::start(&command, 80, 30, LongRows::Wrap);
    program.until_shown("Welcome to Tiller");
    program.until_shown("  export ANTHROPIC_API_KEY=sk-ant-...");
    program.until_shown("~/.zshrc");
    program.until_shown("Watch the demo");
    program.type_in("2");
    assert_eq!(program.wait(), 1);
    let mut program = Program::start(&command, 80, 30, LongRows::Wrap);
    program.until_shown("Watch the demo");
    program.type_in("1");
    program.until_shown("./test.sh fails.");
    program.type_in("/exit\r");
    assert_eq!(program.wait(), 0);
}

#[test]
fn the_users_keys_count_before_there_is_a_session() {
    let world = World::new().file(".tiller/settings.json", r#"{"env": {"LD_PRELOAD": "x"}}"#);
    fs_err::create_dir_all(world.config_dir()).unwrap();
    let keys = r#"{"terminal": {"keys": {"x": "cancel"}}}"#;
    fs_err::write(world.config_dir().join("settings.json"), keys).unwrap();
    let mut program = open(&world, &[], 80, 30);
    program.until_shown("Do you trust");
    program.type_in("x");
    assert_eq!(program.wait(), 0, "{}", program.text());
}

#[test]
fn a_project_is_trusted_before_its_settings_run_anything() {
    let hooks =
        r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}"#;
    let world = World::new().file(".tiller/settings.json", hooks);
    world.server.replies([Reply::text("Untouched."), Reply::text("Touched.")]);
    let program = open(&world, &[], 80, 30);
    program.until_shown("Do you trust");
    program.until_shown("UserPromptSubmit");
    program.type_in("2");
    program.until_shown("This project is not trusted");
    program.until_shown(READY);
    say(&program, "go");
    program.until_shown("Untouched.");
    assert!(!world.path("ran").exists());
    leave(program);
    let program = open(&world, &[], 80, 30);
    program.until_shown("Do you trust");
    program.type_in("1");
    program.until_shown(READY);
    say(&program, "go");
    program.until_shown("● Touched.");
    assert!(world.path("ran").exists());
    leave(program);
}

// A hostile project: what it brings along between two sessions is confirmed like what it brought at first.
#[test]
fn a_project_that_changed_is_asked_about_before_the_next_session() {
    let hook = |command: &str| {
        let hook = json!({"hooks": [{"type": "command", "command": command}]});
        json!({"hooks": {"UserPromptSubmit": [hook]}}).to_string()
    };
    for (args, first) in [(&[][..], "2"), (&["--trust"], "")] {
        let world = World::new().file(".tiller/settings.json", &hook("touch first"));
        world.server.replies([Reply::text("One."), Reply::text("Two."), Reply::text("Three.")]);
        let program = open(&world, args, 80, 100);
        if !first.is_empty() {
            program.until_shown("Do you trust");
            program.type_in(first);
        }
        program.until_shown(READY);
        say(&program, "go");
        until_done(&program, "● One.");
        assert_eq!(world.path("first").exists(), first.is_empty());

        // What was answered is not asked again.
        say(&program, "/clear");
        program.until("the next session begins", |terminal| terminal.text().matches("⎈ Tiller").count() == 2);
        say(&program, "go on");
        until_done(&program, "● Two.");

        world.write(".tiller/settings.json", &hook("touch second"));
        say(&program, "/clear");
        program.until_shown("second\",");
        program.until_shown("Do you trust");
        program.type_in("2");
        program.until("another session begins", |terminal| terminal.text().matches("⎈ Tiller").count() == 3);
        say(&program, "and on");
        until_done(&program, "● Three.");
        assert!(!world.path("second").exists());
        leave(program);
        world.server.assert_clean();
    }
}

#[test]
fn a_project_is_trusted_before_its_agents_count() {
    let agent = "---\ndescription: Reviews with great care\n---\nYou review.\n";
    let world = World::new().file(".tiller/agents/reviewer.md", agent);
    world.server.replies([Reply::text("Without it."), Reply::text("With it.")]);
    for (answer, said, is_known) in [("2", "● Without it.", false), ("1", "● With it.", true)] {
        let program = open(&world, &[], 80, 30);
        program.until_shown("Do you trust");
        program.until_shown("agents.reviewer");
        program.type_in(answer);
        program.until_shown(READY);
        say(&program, "go");
        program.until_shown(said);
        leave(program);
        let request = world.server.messages().pop().unwrap().body().to_string();
        assert_eq!(request.contains("Reviews with great care"), is_known);
    }
    assert!(world.run(&["trust"]).ok().stdout.contains("needs no further trust"));
    world.server.assert_clean();
}

// TERM-01
#[test]
fn plain_mode_never_moves_the_cursor() {
    let world = World::new();
    world.server.replies([
        Reply::new().tool("Bash", json!({"command": "touch made"})),
        Reply::text("It is **made**."),
    ]);
    let mut program = open(&world, &["--plain"], 80, 30);
    program.until_shown("\n>");
    program.type_in("make it\n");
    program.until_shown("Yes, this once");
    program.type_in("1\n");
    until_plain_turn_ends(&program, "● It is made.");
    assert!(world.path("made").exists());
    program.type_in("/exit\n");
    assert_eq!(program.wait(), 0);
    let printed = program.printed();
    assert!(!printed.contains('\x1b'), "{printed:?}");
}

/// An answer is printed before its turn is over; whoever leaves in between interrupts it.
pub(crate) fn until_plain_turn_ends(program: &Program, answer: &str) {
    program.until("the turn is over", |terminal| {
        terminal.text().split_once(answer).is_some_and(|(_, rest)| rest.contains("\n>"))
    });
}

// HEAD-02: who has closed the input answers no more.
#[test]
fn in_plain_mode_the_end_of_input_refuses_what_is_asked() {
    let world = World::new();
    world.server.reply(Reply::new().tool("Bash", json!({"command": "touch made"})));
    let run = world.run_with_stdin(&["--plain"], "make it\n");
    assert_eq!(run.code(), 0, "{run:#?}");
    assert!(run.stdout.contains("You refused"), "{run:#?}");
    assert!(!world.path("made").exists());
}

#[test]
fn a_simple_terminal_gets_plain_lines() {
    let world = World::new();
    world.server.reply(Reply::text("Understood."));
    let mut command = world.command(&[]);
    command.env("TERM", "dumb");
    let mut program = Program::start(&command, 80, 30, LongRows::Cut);
    program.until_shown("\n>");
    program.type_in("hello\n");
    until_plain_turn_ends(&program, "● Understood.");
    program.type_in("/exit\n");
    assert_eq!(program.wait(), 0);
}
