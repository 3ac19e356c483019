//! Rules in words. Only a model can tell whether a command does what they describe; what it found is handed in as data,
//! so that deciding stays a pure function.

use tiller_protocol::permission::Behavior;

use crate::access::{Access, Request, Script};
use crate::context::Context;
use crate::decide::judge;
use crate::rule::Rule;

/// Does a command do what one of these descriptions says?
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// The command.
    pub script: Script,
    /// What the rules do.
    pub behavior: Behavior,
    /// Their descriptions; each once.
    pub descriptions: Vec<String>,
}

/// What a model found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it was asked.
    pub question: Question,
    /// What it said.
    pub found: Found,
}

/// What a model said about a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It does what one of the descriptions says.
    Match {
        /// That description.
        description: String,
        /// How sure the model is.
        confidence: Confidence,
    },
    /// It does something else.
    Nothing,
    /// There was no answer, or none that can be understood.
    Unknown,
}

/// How sure a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Hardly.
    Low,
    /// Rather.
    Medium,
    /// Very.
    High,
}

/// What the findings say about the rules of one behaviour.
pub(crate) enum Worded<'a> {
    /// There are none, or none that fits.
    Silent,
    /// This one fits.
    Fits(&'a Rule),
    /// Nobody can tell whether one of them fits, this one for instance.
    Open(&'a Rule),
}

/// How sure a model has to be. A mistake is worse where it allows something.
fn enough(behavior: Behavior) -> Confidence {
    match behavior {
        Behavior::Allow => Confidence::High,
        Behavior::Ask | Behavior::Deny => Confidence::Medium,
    }
}

/// What the rules in words say about a command of a tool.
pub(crate) fn worded<'a>(tool: &'a str, script: &Script, behavior: Behavior, cx: &'a Context) -> Worded<'a> {
    let Some(first) = rules(tool, behavior, cx).next() else { return Worded::Silent };
    let asked = about(tool, script, behavior, cx);
    let finding = cx.findings.iter().find(|finding| finding.question == asked);
    match finding.map(|finding| &finding.found) {
        Some(Found::Nothing) => Worded::Silent,
        Some(Found::Match { confidence, .. }) if *confidence < enough(behavior) => Worded::Silent,
        Some(Found::Match { description, .. }) => {
            let named = rules(tool, behavior, cx).find(|rule| rule.prompt() == Some(description));
            named.map_or(Worded::Open(first), Worded::Fits)
        }
        Some(Found::Unknown) | None => Worded::Open(first),
    }
}

fn rules<'a>(tool: &'a str, behavior: Behavior, cx: &'a Context) -> impl Iterator<Item = &'a Rule> {
    cx.rules.of(behavior).iter().filter(move |rule| rule.tool == tool && rule.prompt().is_some())
}

fn about(tool: &str, script: &Script, behavior: Behavior, cx: &Context) -> Question {
    let mut descriptions: Vec<String> = Vec::new();
    for description in rules(tool, behavior, cx).filter_map(Rule::prompt) {
        if descriptions.iter().all(|known| known != description) {
            descriptions.push(description.to_owned());
        }
    }
    Question { script: script.clone(), behavior, descriptions }
}

/// What a model has to be asked before a call can be decided: rules that forbid come first, and nothing is asked whose
/// answer would not matter. The answer goes into [`Context::findings`]; then there may be a further question.
#[must_use]
pub fn open_question(request: &Request, cx: &Context) -> Option<Question> {
    let script = request.access.iter().find_map(|access| match access {
        Access::Exec(script) => Some(script),
        _ => None,
    })?;
    let asked = |behavior| {
        let question = about(request.ruled_as(), script, behavior, cx);
        let is_open = cx.findings.iter().all(|finding| finding.question != question);
        (is_open && !question.descriptions.is_empty()).then_some(question)
    };
    let mut questions = [Behavior::Deny, Behavior::Ask, Behavior::Allow].into_iter().filter_map(asked);
    questions.find(|question| matters(question, request, cx))
}

fn matters(question: &Question, request: &Request, cx: &Context) -> bool {
    let verdict = |found: Found| {
        let mut cx = cx.clone();
        // Whatever else is open must not hide that this matters.
        cx.findings.push(Finding { question: question.clone(), found });
        judge(request, &assuming_nothing(request.ruled_as(), &question.script, cx)).verdict
    };
    let description = question.descriptions.first().cloned().unwrap_or_default();
    verdict(Found::Nothing) != verdict(Found::Match { description, confidence: Confidence::High })
}

/// The same with every open question answered in the negative.
fn assuming_nothing(tool: &str, script: &Script, mut cx: Context) -> Context {
    for behavior in [Behavior::Deny, Behavior::Ask, Behavior::Allow] {
        let question = about(tool, script, behavior, &cx);
        if cx.findings.iter().all(|finding| finding.question != question) {
            cx.findings.push(Finding { question, found: Found::Nothing });
        }
    }
    cx
}

#[cfg(test)]
mod tests {
    use tiller_protocol::mode::Mode;

    use super::*;
    use crate::decide::{Decision, approve, decide, leave};
    use crate::{Holding, Kernel, Profile, Reason, Release, is_read_only_command};

    const TESTS: &str = "Bash(prompt: run the tests)";
    const CONFIDENCES: [Confidence; 3] = [Confidence::Low, Confidence::Medium, Confidence::High];

    fn bash(command: &str) -> Request {
        let script = Script { command: command.to_owned(), cwd: "/w".into() };
        let read_only = is_read_only_command(command);
        Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only }
    }

    fn cx(mode: Mode, rules: &[(Behavior, &str)]) -> Context {
        let mut cx = Context { mode, roots: vec!["/w".into()], home: "/home/u".into(), ..Context::default() };
        for (behavior, rule) in rules {
            cx.rules.of_mut(*behavior).push(rule.parse().unwrap());
        }
        cx
    }

    fn fits(description: &str, confidence: Confidence) -> Found {
        Found::Match { description: description.to_owned(), confidence }
    }

    /// Answers every question that comes up; says which behaviours were asked about, and the verdict.
    fn ask(
        request: &Request,
        mut cx: Context,
        answer: impl Fn(&Question) -> Found,
    ) -> (Vec<Behavior>, &'static str, Context) {
        let mut asked = Vec::new();
        while let Some(question) = open_question(request, &cx) {
            assert!(asked.len() < 3, "asked again: {question:?}");
            asked.push(question.behavior);
            let found = answer(&question);
            cx.findings.push(Finding { question, found });
        }
        let verdict = match decide(request, &cx) {
            Decision::Allow(..) => "allow",
            Decision::Ask(_) => "ask",
            Decision::Deny(_) => "deny",
        };
        (asked, verdict, cx)
    }

    // PERM-12
    #[test]
    fn only_a_sure_match_allows() {
        let make = bash("make test && make lint");
        for confidence in CONFIDENCES {
            let cx = cx(Mode::Default, &[(Behavior::Allow, TESTS)]);
            let (asked, verdict, cx) = ask(&make, cx, |_| fits("run the tests", confidence));
            assert_eq!(asked, [Behavior::Allow]);
            assert_eq!(verdict, if confidence == Confidence::High { "allow" } else { "ask" });
            if let Decision::Allow(_, reason) = decide(&make, &cx) {
                let json = serde_json::to_value(&reason).unwrap();
                assert_eq!(json["type"], "other");
                assert!(json["reason"].as_str().unwrap().contains("run the tests"));
            }
        }
        for found in [Found::Nothing, Found::Unknown, fits("something else", Confidence::High)] {
            let cx = cx(Mode::Default, &[(Behavior::Allow, TESTS)]);
            assert_eq!(ask(&make, cx, |_| found.clone()).1, "ask", "{found:?}");
        }
    }

    // KERN-06: what was found when a command was judged still counts when it is to leave its confinement.
    #[test]
    fn who_leaves_is_known() {
        let rules = [(Behavior::Deny, "Bash(prompt: delete anything)"), (Behavior::Allow, "Bash(make:*)")];
        let (asked, verdict, informed) = ask(&bash("make"), cx(Mode::Default, &rules), |_| Found::Nothing);
        assert_eq!((asked, verdict), (vec![Behavior::Deny], "allow"));
        let Decision::Allow(permit, _) = decide(&bash("make"), &informed) else { panic!("not allowed") };
        let left = |rules: &[(Behavior, &str)]| leave(&permit, Release::Machine, &cx(Mode::Default, rules));
        assert!(matches!(left(&rules), Decision::Allow(..)));
        let others = [(Behavior::Deny, "Bash(prompt: send anything)"), rules[1]];
        assert!(!matches!(left(&others), Decision::Allow(..)), "nothing is known about this rule");
    }

    // PERM-12: against something, medium suffices; and who cannot tell does not let it pass.
    #[test]
    fn a_likely_match_forbids_and_doubt_asks_in_every_mode() {
        for mode in [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions] {
            for (behavior, fitting) in [(Behavior::Deny, "deny"), (Behavior::Ask, "ask")] {
                let verdict = |found: Found| {
                    let cx = cx(mode, &[(behavior, TESTS), (Behavior::Allow, "Bash")]);
                    ask(&bash("make"), cx, |_| found.clone()).1
                };
                assert_eq!(verdict(fits("run the tests", Confidence::Medium)), fitting);
                assert_eq!(verdict(fits("run the tests", Confidence::High)), fitting);
                assert_eq!(verdict(fits("run the tests", Confidence::Low)), "allow");
                assert_eq!(verdict(Found::Nothing), "allow");
                assert_eq!(verdict(Found::Unknown), "ask");
                assert_eq!(verdict(fits("not among them", Confidence::High)), "ask");
            }
        }
        let silent = cx(Mode::DontAsk, &[(Behavior::Deny, TESTS), (Behavior::Allow, "Bash")]);
        assert_eq!(ask(&bash("make"), silent, |_| Found::Unknown).1, "deny");
    }

    // PERM-12: also what only looks is compared with what is forbidden.
    #[test]
    fn rules_that_forbid_are_asked_about_first() {
        let rules = [
            (Behavior::Allow, TESTS),
            (Behavior::Deny, "Bash(prompt: touch the database)"),
            (Behavior::Deny, "Bash(prompt: touch the database)"),
            (Behavior::Deny, "Bash(prompt: deploy)"),
        ];
        let (asked, verdict, cx) =
            ask(&bash("make test"), cx(Mode::Default, &rules), |question| match question.behavior {
                Behavior::Allow => fits("run the tests", Confidence::High),
                _ => Found::Nothing,
            });
        assert_eq!((asked, verdict), (vec![Behavior::Deny, Behavior::Allow], "allow"));
        assert_eq!(cx.findings[0].question.descriptions, ["touch the database", "deploy"]);
        let (asked, verdict, cx) =
            ask(&bash("ls db"), self::cx(Mode::Default, &rules), |_| fits("deploy", Confidence::Medium));
        assert_eq!((asked, verdict), (vec![Behavior::Deny], "deny"));
        assert!(matches!(approve(&bash("ls db"), &cx), Decision::Deny(Reason::Prompt { .. })));
    }

    #[test]
    fn nothing_is_asked_whose_answer_does_not_matter() {
        let prompt = (Behavior::Allow, TESTS);
        let against = (Behavior::Deny, "Bash(prompt: deploy)");
        for (command, mode, rules) in [
            ("ls", Mode::Default, vec![prompt]),
            ("make", Mode::BypassPermissions, vec![prompt]),
            ("make", Mode::Default, vec![prompt, (Behavior::Allow, "Bash(make:*)")]),
            ("make", Mode::Default, vec![prompt, against, (Behavior::Deny, "Bash(make:*)")]),
            ("make", Mode::Default, vec![prompt, (Behavior::Ask, "Bash(make:*)")]),
            ("make", Mode::Plan, vec![prompt, against]),
        ] {
            assert_eq!(open_question(&bash(command), &cx(mode, &rules)), None, "{command} {mode} {rules:?}");
        }
        let write = Request { access: vec![Access::Write("/w/a".into())], ..bash("x") };
        assert_eq!(open_question(&write, &cx(Mode::Default, &[prompt, against])), None);
    }

    // PERM-12, PLAN-45: what a model says loosens neither plan mode nor what is guarded, hidden or not understood.
    #[test]
    fn a_match_covers_commands_and_nothing_else() {
        for command in [
            "make test > /etc/hosts",
            "make test > .git/hooks/pre-commit",
            "cp x .git/hooks/pre-commit",
            "LD_PRELOAD=./x.so make test",
            "make test &",
            "$RUNNER test",
            "make 'test",
            "make test; export PATH=/tmp:$PATH",
        ] {
            let cx = cx(Mode::Default, &[(Behavior::Allow, TESTS)]);
            let (_, verdict, _) = ask(&bash(command), cx, |_| fits("run the tests", Confidence::High));
            assert_eq!(verdict, "ask", "{command}");
        }
        let rules = [(Behavior::Allow, TESTS), (Behavior::Deny, "Bash(make clean)")];
        let sure = |_: &Question| fits("run the tests", Confidence::High);
        assert_eq!(ask(&bash("make test; make clean"), cx(Mode::Default, &rules), sure).1, "deny");
        assert_eq!(ask(&bash("make test"), cx(Mode::Plan, &rules), sure).1, "deny");
        let confined = Context {
            holding: Holding { kernel: Kernel::new(|| true), ..Holding::default() },
            ..cx(Mode::Plan, &rules)
        };
        let Decision::Allow(permit, _) =
            decide(&bash("make test"), &ask(&bash("make test"), confined, sure).2)
        else {
            panic!("not allowed")
        };
        assert_eq!(permit.profile(), Profile::ReadOnly);
    }

    // PERM-12: a yes does not stand for a comparison that nobody has made, only for one that failed.
    #[test]
    fn a_yes_does_not_skip_a_rule_in_words() {
        for mode in [Mode::Default, Mode::DontAsk] {
            let cx = cx(mode, &[(Behavior::Deny, TESTS)]);
            assert!(matches!(approve(&bash("make"), &cx), Decision::Ask(Reason::Unchecked { .. })), "{mode}");
            let asked = Context { mode: Mode::Default, ..cx };
            let (_, _, failed) = ask(&bash("make"), asked, |_| Found::Unknown);
            assert!(matches!(approve(&bash("make"), &failed), Decision::Allow(..)));
        }
    }

    #[test]
    fn a_finding_is_about_one_command_in_one_place_and_the_rules_of_that_moment() {
        let sure = |_: &Question| fits("run the tests", Confidence::High);
        let (_, verdict, mut cx) =
            ask(&bash("make test"), cx(Mode::Default, &[(Behavior::Allow, TESTS)]), sure);
        assert_eq!(verdict, "allow");
        assert!(open_question(&bash("make test2"), &cx).is_some());
        assert!(matches!(decide(&bash("make test2"), &cx), Decision::Ask(_)));
        cx.rules.allow.push("Bash(prompt: deploy)".parse().unwrap());
        assert!(open_question(&bash("make test"), &cx).is_some());
        assert!(matches!(decide(&bash("make test"), &cx), Decision::Ask(_)));
    }
}
