//! The vendor's own client is the judge of how faithful the server is.

use std::process::Command;

use serde_json::json;
use tiller_testenv::python;
use tiller_testkit::{ModelServer, Reply};

fn replies() -> Vec<Reply> {
    let found = json!([{
        "type": "web_search_result",
        "url": "https://example.com",
        "title": "Example",
        "encrypted_content": "x",
        "page_age": null,
    }]);
    vec![
        Reply::text("Hello!"),
        Reply::new()
            .thinking("Let me think.")
            .redacted("hidden")
            .and_text("Reading the file.")
            .tool("Read", json!({ "path": "/tmp/ä", "depth": [1, { "x": null }] }))
            .split_every_byte()
            .several_message_deltas(),
        Reply::text("Done."),
        Reply::new().server_tool("web_search", json!({ "query": "q" }), found).and_text("Found it."),
        Reply::new().refusal(Some("cyber"), "not that"),
        Reply::text("partial").error_event("overloaded_error", "Overloaded"),
        Reply::text("pings and strangers are ignored").unknown_event().pings().write_size(3),
        Reply::status(429, "rate_limit_error", "slow down").header("retry-after", "0"),
        Reply::status(500, "api_error", "broken"),
        Reply::status(529, "overloaded_error", "Overloaded"),
        Reply::status(529, "overloaded_error", "Overloaded").header("retry-after", "0"),
        Reply::text("after a retry"),
    ]
}

#[test]
fn the_official_client_is_content() {
    let server = ModelServer::start();
    server.replies(replies());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/official_client.py");
    let output = Command::new(python())
        .args([script, server.url(), server.key()])
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("ANTHROPIC_AUTH_TOKEN")
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("No module named 'anthropic'"), "run \"cargo xtask setup\"\n{errors}");
    assert!(output.status.success(), "{errors}\nrefused: {:#?}", server.rejections());
    assert_eq!(server.unplayed(), 0);
    // A thinking block left out, an unknown model twice, an empty message and a wrong key are on purpose.
    assert_eq!(server.rejections().len(), 5, "{:#?}", server.rejections());
}
