use proptest::prelude::*;

use super::*;

#[test]
fn only_plain_lookers_are_read_only() {
    for command in
        ["ls", "ls -la src", "git status", "git log --oneline -5", "cat a.rs", "grep -rn x src", "ls | wc -l"]
    {
        assert!(is_read_only(command), "{command}");
    }
    for command in
        ["", "# only a comment", "rm x", "ls > f", "ls; rm x", "cat $(rm x)", "find . -delete", "ls &"]
    {
        assert!(!is_read_only(command), "{command}");
    }
}

#[test]
fn commands_run_where_the_shell_has_gone() {
    let analysis = analyse("cd a && make; cd b || ls; (cd c && pwd); pwd", Path::new("/w"));
    let dirs = |text: &str| {
        let command = analysis.commands.iter().rfind(|command| command.text == text).unwrap();
        command.dirs.as_ref().map(|dirs| dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>())
    };
    assert_eq!(dirs("make"), Some(vec!["/w/a".to_owned()]));
    assert_eq!(dirs("ls"), Some(vec!["/w".into(), "/w/a".into(), "/w/b".into(), "/w/a/b".into()]));
    assert_eq!(dirs("pwd"), dirs("ls"));
    for command in ["cd $x; ls", "cd -; ls", "popd; ls", "while ls; do cd ..; done", "f() { cd ..; }; f; ls"]
    {
        let analysis = analyse(command, Path::new("/w"));
        let unknown =
            analysis.commands.iter().filter(|command| command.text == "ls").all(|ls| ls.dirs.is_none());
        assert!(unknown, "{command}");
    }
}

/// The programs that a second parser sees, in any order.
fn second_opinion(script: &str) -> Option<Vec<String>> {
    use brush_parser::ast;

    fn list(found: &mut Vec<String>, list: &ast::CompoundList) -> Option<()> {
        list.0.iter().try_for_each(|item| and_or(found, &item.0))
    }

    fn and_or(found: &mut Vec<String>, item: &ast::AndOrList) -> Option<()> {
        pipeline(found, &item.first)?;
        item.additional.iter().try_for_each(|next| match next {
            ast::AndOr::And(next) | ast::AndOr::Or(next) => pipeline(found, next),
        })
    }

    fn pipeline(found: &mut Vec<String>, pipeline: &ast::Pipeline) -> Option<()> {
        pipeline.seq.iter().try_for_each(|command| match command {
            ast::Command::Simple(simple) => {
                found.extend(simple.word_or_name.iter().map(|word| word.value.clone()));
                Some(())
            }
            ast::Command::Compound(compound, _) => match compound {
                ast::CompoundCommand::BraceGroup(group) => list(found, &group.list),
                ast::CompoundCommand::Subshell(subshell) => list(found, &subshell.list),
                ast::CompoundCommand::ForClause(clause) => list(found, &clause.body.list),
                ast::CompoundCommand::IfClause(clause) => {
                    list(found, &clause.condition)?;
                    list(found, &clause.then)?;
                    clause.elses.iter().flatten().try_for_each(|branch| {
                        branch.condition.iter().try_for_each(|condition| list(found, condition))?;
                        list(found, &branch.body)
                    })
                }
                ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                    list(found, &clause.0)?;
                    list(found, &clause.1.list)
                }
                _ => None,
            },
            _ => None,
        })
    }

    let tokens = brush_parser::tokenize_str(script).ok()?;
    let program = brush_parser::parse_tokens(&tokens, &brush_parser::ParserOptions::default()).ok()?;
    let mut found = Vec::new();
    program.complete_commands.iter().try_for_each(|commands| list(&mut found, commands))?;
    found.sort();
    Some(found)
}

fn simple() -> impl Strategy<Value = String> {
    let program = prop::sample::select(vec!["alpha", "beta", "gamma", "delta"]);
    let argument = prop::sample::select(vec![
        "x",
        "-v",
        "'a b'",
        "\"c; d\"",
        "e\\ f",
        "$v",
        "*.rs",
        "a=b",
        "#",
        "2>/dev/null",
        "> out",
        "< in",
        "{1,2}",
        "''",
    ]);
    (program, prop::collection::vec(argument, 0..4)).prop_map(|(program, arguments)| {
        std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
    })
}

fn script() -> impl Strategy<Value = String> {
    simple().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), prop::sample::select(vec![" && ", " || ", " | ", "; ", "\n"]), inner.clone())
                .prop_map(|(one, joint, other)| format!("{one}\n{other}").replacen('\n', joint, 1)),
            inner.clone().prop_map(|inner| format!("({inner}\n)")),
            inner.clone().prop_map(|inner| format!("{{ {inner}\n}}")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("if {one}\nthen {other}\nfi")),
            inner.clone().prop_map(|inner| format!("for v in a b\ndo {inner}\ndone")),
            inner.clone().prop_map(|inner| format!("while {inner}\ndo {inner}\ndone")),
            inner.prop_map(|inner| format!("{inner} <<E\ntext\nE\n")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // RULE-01
    #[test]
    fn two_parsers_agree_on_what_is_run_or_it_is_opaque(script in script()) {
        let analysis = analyse(&script, Path::new("/w"));
        let Some(expected) = second_opinion(&script) else { return Ok(()) };
        if analysis.opaque.is_none() {
            let runs = analysis.commands.iter().filter(|command| command.kind == Kind::Run);
            let mut found: Vec<String> = runs.map(|command| command.words()[0].text.clone()).collect();
            found.sort();
            prop_assert_eq!(found, expected, "{}", script);
        }
    }
}
