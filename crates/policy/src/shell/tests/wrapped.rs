//! What wrappers really run: each is started with options in every form, around `echo` and nothing else.

use std::io::Write;
use std::process::{Command as Process, Stdio};

use super::super::{Kind, Word, analyse};
use super::*;

/// What the input says; no program and no option.
const FED: &str = "fed";

/// What a program prints that is given these words and the input. `None` if it complains or is not there.
fn printed(words: &[&str]) -> Option<String> {
    let mut process = Process::new(words[0]);
    process.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = process.spawn().ok()?;
    child.stdin.take().unwrap().write_all(format!("{FED}\n").as_bytes()).ok();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    output.status.success().then(|| text.trim_end_matches('\0').trim_end().to_owned())
}

/// What the analysis says that `echo` is given; `None` if it does not say.
fn expected(words: &[&str]) -> Option<Vec<Word>> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let analysis = analyse(&quoted.join(" "), Path::new("/w"));
    let command = analysis.commands.iter().rfind(|command| command.kind == Kind::Run)?;
    let echoes = command.words().first().is_some_and(|word| word.known() == Some("echo"));
    (analysis.opaque.is_none() && echoes).then(|| command.words()[1..].to_vec())
}

/// Whether a word can stand for what was printed.
fn stands_for(word: &Word, printed: &str) -> bool {
    word.known().is_none_or(|text| text == printed)
}

fn option_forms() -> impl Strategy<Value = Vec<&'static str>> {
    let form = prop::sample::select(vec![
        vec!["-I%"],
        vec!["-I", "%"],
        vec!["-rI%"],
        vec!["-rI", "%"],
        vec!["-0I%"],
        vec!["-trI%"],
        vec!["-i"],
        vec!["-i%"],
        vec!["-ri%"],
        vec!["--replace"],
        vec!["--replace=%"],
        vec!["-n1"],
        vec!["-n", "9"],
        vec!["-rn9"],
        vec!["-L1"],
        vec!["-l"],
        vec!["-l1"],
        vec!["--max-lines"],
        vec!["--max-lines=1"],
        vec!["--max-args=9"],
        vec!["--max-args", "9"],
        vec!["-e"],
        vec!["-eX"],
        vec!["-E", "X"],
        vec!["--eof"],
        vec!["-P1"],
        vec!["-P", "1"],
        vec!["-s", "999"],
        vec!["-d", "x"],
        vec!["-r"],
        vec!["-x"],
        vec!["--"],
    ]);
    prop::collection::vec(form, 0..4).prop_map(|forms| forms.concat())
}

// RULE-01
#[test]
fn xargs_runs_what_the_analysis_says() {
    let compared = Cell::new(0);
    let config = ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&option_forms(), |options| {
        let words: Vec<&str> =
            std::iter::once("xargs").chain(options).chain(["echo", "a", "%", "b%", "{}"]).collect();
        let (Some(expected), Some(printed)) = (expected(&words), printed(&words)) else { return Ok(()) };
        compared.set(compared.get() + 1);
        let printed: Vec<&str> = printed.split(' ').filter(|word| !word.is_empty()).collect();
        let fits = expected.len() == printed.len()
            && expected.iter().zip(&printed).all(|(word, printed)| stands_for(word, printed));
        prop_assert!(fits, "{:?} printed {:?}, not {:?}", words, printed, expected);
        Ok(())
    });
    outcome.unwrap();
    assert!(compared.get() > 20, "compared {}", compared.get());
}

// RULE-01
#[test]
fn wrappers_run_what_the_analysis_says() {
    for (line, certain) in [
        ("env echo a", true),
        ("env -i A=b echo a", true),
        ("env -iu X A=b echo a", true),
        ("env -uX -- A=b echo a", true),
        ("env --unset X echo a", true),
        ("env --unset=X echo a", true),
        ("nice echo a", true),
        ("nice -5 echo a", true),
        ("nice -n5 echo a", true),
        ("nice -n 5 echo a", true),
        ("nice --adjustment 5 echo a", true),
        ("timeout 5 echo a", true),
        ("timeout -k1 5 echo a", true),
        ("timeout -vk 1 -s KILL 5 echo a", true),
        ("timeout --signal KILL -- 5 echo a", true),
        ("stdbuf -oL echo a", true),
        ("stdbuf -o L -e0 echo a", true),
        ("nohup -- echo a", true),
        ("setsid -w echo a", true),
        ("env -S echo a", false),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let expected = expected(&words);
        assert_eq!(expected.is_some(), certain, "{line}");
        if let (Some(expected), Some(printed)) = (expected, printed(&words)) {
            let expected: Vec<&str> = expected.iter().map(|word| word.text.as_str()).collect();
            assert_eq!(expected.join(" "), printed, "{line}");
        }
    }
}
