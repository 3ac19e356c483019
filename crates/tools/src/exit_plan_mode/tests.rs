use serde_json::json;
use tiller_protocol::effect::Effect;
use tiller_protocol::mode::Mode;

use crate::harness::Bench;
use crate::{ToolError, View};

fn planning(bench: &Bench) -> View {
    View { mode: Mode::Plan, plan_file: Some(bench.path("plans/a.md")), ..bench.view() }
}

// EXEC-37
#[tokio::test]
async fn a_plan_that_is_missing_or_empty_is_asked_for_by_its_path() {
    let bench = Bench::new();
    let call = bench.prepare("ExitPlanMode", &json!({}));
    for content in [None, Some(""), Some(" \n")] {
        if let Some(content) = content {
            bench.write("plans/a.md", content);
        }
        let problem = call.validate(&planning(&bench)).unwrap_err();
        assert!(problem.contains(&bench.path("plans/a.md").display().to_string()), "{problem}");
    }
    bench.write("plans/a.md", "# Plan");
    call.validate(&planning(&bench)).unwrap();
    assert!(call.validate(&View { mode: Mode::Default, ..planning(&bench) }).is_err());
}

#[test]
fn only_commands_can_be_asked_for_and_other_fields_do_not_matter() {
    let bench = Bench::new();
    bench.write("plans/a.md", "# Plan");
    let good =
        json!({"allowedPrompts": [{"tool": "Bash", "prompt": " run the tests "}], "launchSwarm": true});
    bench.prepare("ExitPlanMode", &good).validate(&planning(&bench)).unwrap();
    for (tool, prompt) in [("Write", "run the tests"), ("Bash", " "), ("Bash", "run\nanything")] {
        let input = json!({"allowedPrompts": [{"tool": tool, "prompt": prompt}]});
        assert!(
            bench.prepare("ExitPlanMode", &input).validate(&planning(&bench)).is_err(),
            "{tool} {prompt:?}"
        );
    }
}

// PLAN-63, EXEC-38
#[tokio::test]
async fn the_plan_is_what_the_file_holds_when_the_call_runs() {
    let bench = Bench::new();
    let path = bench.write("plans/a.md", "# Before");
    for sub_agent in [false, true] {
        let call = bench.prepare("ExitPlanMode", &json!({}));
        let mut cx = bench.cx("ExitPlanMode", call.as_ref());
        cx.view = View { sub_agent, ..planning(&bench) };
        bench.write("plans/a.md", "# After");
        let done = call.run(cx).await.unwrap();
        let text = done.content[0].as_text().unwrap();
        assert_eq!(done.detail, json!({"plan": "# After", "isAgent": sub_agent, "filePath": path}));
        if sub_agent {
            assert!(
                text.contains("nothing else") && text.contains("ok") && !text.contains("# After"),
                "{text}"
            );
            assert!(done.effects.is_empty());
        } else {
            assert!(
                text.contains("approved") && text.contains("todo list") && text.ends_with("# After"),
                "{text}"
            );
            assert!(text.contains(&path.display().to_string()));
            assert_eq!(done.effects, [Effect::PlanApproved { path: path.clone() }]);
        }
    }
    fs_err::remove_file(&path).unwrap();
    let call = bench.prepare("ExitPlanMode", &json!({}));
    let mut cx = bench.cx("ExitPlanMode", call.as_ref());
    cx.view = planning(&bench);
    assert!(matches!(call.run(cx).await, Err(ToolError::Model(_))));
}
