//! `cargo xtask screenshots`: pictures for the documentation, made of what a real terminal shows while the program talks to
//! a scripted model.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::json;
use tempfile::TempDir;
use tiller_testkit::terminal::{Colors, LongRows, Program};
use tiller_testkit::{ModelServer, Reply};

use xtask::program::{cargo, must_succeed};
use xtask::say;

/// Where the pictures are.
const PLACE: &str = "docs/screenshots";
const SIZE: (u16, u16) = (92, 32);
const READY: &str = "What should be done?";
/// Shown while a question is too new to be answered.
const TOO_NEW: &str = "one moment";

/// A picture: what leads to it, and what must be in it.
struct Scene {
    name: &'static str,
    args: &'static [&'static str],
    prompt: &'static str,
    script: fn(&ModelServer, &Path),
    shows: &'static [&'static str],
}

const SCENES: &[Scene] = &[
    Scene {
        name: "permission",
        args: &[],
        prompt: "The total is wrong when the basket is empty. Fix it.",
        script: permission,
        shows: &["basket.py", "Basket with nothing in it", "sum("],
    },
    Scene {
        name: "plan",
        args: &["--permission-mode", "plan"],
        prompt: "Plan how to add a discount.",
        script: plan,
        shows: &["PLAN MODE", "accept edits"],
    },
    Scene {
        name: "answer",
        args: &[],
        prompt: "What does the basket do?",
        script: answer,
        shows: &["total", "What should be done?"],
    },
];

const BASKET: &str = "\
class Basket:
    def __init__(self):
        self.prices = []

    def total(self):
        return reduce(add, self.prices)
";

/// The look of a terminal: the name in file names, what it tells of itself, its colours.
const LOOKS: [(&str, &str, Colors); 2] =
    [("dark", "rgb:1616/1818/1d1d", Colors::DARK), ("light", "rgb:fbfb/fbfb/f8f8", Colors::LIGHT)];

/// Makes all pictures anew.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    must_succeed(cargo(root, &["build", "--quiet", "--package", "tiller"]))?;
    fs_err::create_dir_all(root.join(PLACE))?;
    for scene in SCENES {
        for (look, background, colors) in LOOKS {
            let svg = picture(root, scene, background, colors)?;
            let path = root.join(PLACE).join(format!("{}-{look}.svg", scene.name));
            fs_err::write(&path, svg)?;
            say(&path.display().to_string());
        }
    }
    Ok(())
}

fn picture(root: &Path, scene: &Scene, background: &str, colors: Colors) -> anyhow::Result<String> {
    let (home, place) = (TempDir::new()?, TempDir::new()?);
    let project = place.path().join("shop");
    fs_err::create_dir(&project)?;
    let project = fs_err::canonicalize(project)?;
    fs_err::write(project.join("basket.py"), BASKET)?;
    let server = ModelServer::builder().validate(false).start();
    (scene.script)(&server, &project);
    let mut command = Command::new(root.join("target/debug/tiller"));
    let path = std::env::var_os("PATH").context("PATH is not set")?;
    command.args(scene.args).current_dir(&project).env_clear();
    command.env("PATH", path).env("HOME", home.path()).env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", server.key());
    let (columns, rows) = SIZE;
    let mut program = Program::start_with(&command, columns, rows, LongRows::Wrap, |terminal| {
        terminal.set_background(background);
    });
    program.until_shown(READY);
    program.type_in(scene.prompt);
    program.until_shown(scene.prompt);
    program.type_in("\r");
    program.until_gone(READY);
    program.until("the scene is complete", |terminal| {
        let text = terminal.text();
        scene.shows.iter().all(|part| text.contains(part)) && !text.contains(TOO_NEW)
    });
    let (project, home) = (project.display().to_string(), home.path().display().to_string());
    let renamed = [(project.as_str(), "~/shop"), (home.as_str(), "~")];
    let svg = program.look(|terminal| terminal.svg(colors, &renamed));
    program.stop();
    Ok(svg)
}

fn permission(server: &ModelServer, project: &Path) {
    let file = project.join("basket.py");
    let change = json!({
        "file_path": file,
        "old_string": "        return reduce(add, self.prices)",
        "new_string": "        # Basket with nothing in it: the sum of no prices is 0.\n        return sum(self.prices)",
    });
    server.reply(Reply::text("I look at how the total is made.").tool("Read", json!({"file_path": file})));
    server.reply(
        Reply::text("`reduce` fails for an empty list. The built-in `sum` does not.").tool("Edit", change),
    );
}

fn plan(server: &ModelServer, project: &Path) {
    const PLAN: &str = "\
# A discount for the whole basket

1. `Basket` gets a field `discount`, a share between 0 and 1.
2. `total` takes it off at the end, so that prices stay what they are.
3. A test for no discount, half, and everything.

| file | change |
|---|---|
| `basket.py` | the field, and one line in `total` |
| `test_basket.py` | three cases |
";
    let mut step = 0;
    let file = project.join("basket.py");
    server.respond_with(move |request| {
        step += 1;
        let body = request.body().to_string();
        let is_plan = |word: &&str| word.contains("/plans/") && word.ends_with(".md");
        let path = body.split(['`', '"', ' ', '\\']).find(is_plan).unwrap_or_default().to_owned();
        match step {
            1 => Reply::new().tool("Read", json!({"file_path": file})),
            2 => Reply::new().tool("Write", json!({"file_path": path, "content": PLAN})),
            _ => Reply::new().tool("ExitPlanMode", json!({})),
        }
    });
}

fn answer(server: &ModelServer, project: &Path) {
    const ANSWER: &str = "\
It keeps prices and adds them up. Nothing else uses it yet.

| method | what it does |
|---|---|
| `__init__` | begins with no prices |
| `total` | adds the prices; **fails when there are none** |

```python
def total(self):
    return sum(self.prices)  # never fails
```
";
    server.reply(Reply::new().tool("Read", json!({"file_path": project.join("basket.py")})));
    server.reply(Reply::text(ANSWER));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a picture.
    fn text(svg: &str) -> String {
        let piece = |part: &str| part.split_once('>').map(|(_, rest)| rest.to_owned());
        let pieces = svg
            .split("</text>")
            .filter_map(|part| part.rsplit_once("<text").and_then(|(_, rest)| piece(rest)));
        pieces.collect::<String>().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    }

    #[test]
    fn every_scene_has_its_pictures_and_the_documentation_shows_them() {
        let root = xtask::root();
        let page = fs_err::read_to_string(root.join("docs/terminal.md")).unwrap();
        for scene in SCENES {
            for (look, ..) in LOOKS {
                let name = format!("{}-{look}.svg", scene.name);
                let picture = fs_err::read_to_string(root.join(PLACE).join(&name)).unwrap();
                let text = text(&picture);
                for part in scene.shows.iter().filter(|part| !part.contains(' ')) {
                    assert!(
                        text.contains(part),
                        "{name} lacks {part:?}; `cargo xtask screenshots` makes it anew"
                    );
                }
                assert!(
                    page.contains(&format!("screenshots/{name}")),
                    "{name} is not shown in docs/terminal.md"
                );
            }
        }
    }
}
