//! What environment variables decide.

use std::path::Path;

use tiller_config::{CommandLine, Layer, Places, ProjectTrust, Resolved, config_dir, tool_concurrency};

use crate::world::{World, env};

// EXEC-09
#[test]
fn concurrency_is_a_positive_number_or_ten() {
    for (value, limit) in [("3", 3), ("0", 10), ("-1", 10), ("many", 10), ("", 10)] {
        assert_eq!(tool_concurrency(&env(&[("TILLER_MAX_TOOL_USE_CONCURRENCY", value)])), limit, "{value}");
    }
    assert_eq!(tool_concurrency(&env(&[("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", "4")])), 4);
    let both = [("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", "4"), ("TILLER_MAX_TOOL_USE_CONCURRENCY", "5")];
    assert_eq!(tool_concurrency(&env(&both)), 5);
}

// LOOP-09
#[test]
fn streaming_execution_is_on_unless_a_setting_or_the_environment_says_no() {
    let streaming = |file: &str, value: &str| {
        let world = World::new().file("project/.tiller/settings.json", file);
        let env = tiller_protocol::env::Env {
            vars: env(&[("TILLER_STREAMING_TOOL_EXECUTION", value)]).vars,
            ..world.env()
        };
        let request = CommandLine::default();
        let resolved = Resolved::load(&world.places(), &request, &env, ProjectTrust::Full).unwrap();
        (resolved.streaming_tool_execution.value, resolved.streaming_tool_execution.origin.layer)
    };
    let off = r#"{"streamingToolExecution": false}"#;
    assert_eq!(streaming("{}", ""), (true, Layer::Default));
    assert_eq!(streaming(off, ""), (false, Layer::Project));
    assert_eq!(streaming("{}", "0"), (false, Layer::Environment));
    assert_eq!(streaming(off, "on"), (true, Layer::Environment));
}

#[test]
fn the_configuration_directory_can_be_moved() {
    assert_eq!(config_dir(&env(&[])), Path::new("/home/u/.tiller"));
    assert_eq!(config_dir(&env(&[("CLAUDE_CONFIG_DIR", "/c")])), Path::new("/c"));
    let both = [("CLAUDE_CONFIG_DIR", "/c"), ("TILLER_CONFIG_DIR", "rel")];
    assert_eq!(config_dir(&env(&both)), Path::new("/w/rel"));
    assert_eq!(Places::of(&env(&both)).foreign_dir, Path::new("/c"));
    assert_eq!(Places::of(&env(&both)).managed, Path::new("/etc/tiller/managed-settings.json"));
}
