//! A real server: the one for Python that `cargo xtask setup` installs.

use std::sync::Arc;

use tiller_language::{Hold, Severity};
use tiller_sandbox::{Confinement, Level, Network, Profile, probe};

use crate::world::Plan;

fn plan() -> Plan {
    let python = tiller_testenv::python().display().to_string();
    let mut plan = Plan::new([&python, "-m", "pylsp"].map(str::to_owned).to_vec());
    plan.wish.extensions = vec![".py".to_owned()];
    plan
}

/// Breaks a file, mends it, breaks it behind the server's back.
async fn break_and_mend(plan: Plan) {
    let mut world = plan.begin();
    let broken = "def greet(name):\n    return nmae\n";
    world.edit("greet.py", broken);
    world.settled().await;
    let problems = world.problems("greet.py");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!((problems[0].severity, problems[0].line), (Severity::Error, 2), "{problems:?}");
    assert!(problems[0].message.contains("nmae"), "{problems:?}");

    world.edit("greet.py", "def greet(name):\n    return name\n");
    world.settled().await;
    assert_eq!(world.problems("greet.py"), []);

    world.write("greet.py", "def greet(name:\n");
    world.settled().await;
    assert_eq!(world.problems("greet.py").len(), 1);
    world.languages.end().await;
    assert!(world.is_quiet());
}

// STEER-45
#[tokio::test]
async fn an_error_is_reported_and_goes_when_it_is_mended() {
    break_and_mend(plan()).await;
}

#[tokio::test]
async fn a_server_works_in_the_sandbox() {
    if probe().level == Level::None {
        return;
    }
    let mut plan = plan();
    plan.wish.confined = Some(true);
    let hold: Hold = Arc::new(|permit| {
        let roots = vec![permit.script().unwrap().cwd.clone()];
        let mut confinement = Confinement::new(Profile::Workspace, roots);
        confinement.network = Network::Deny;
        Ok((permit, confinement))
    });
    plan.hold = hold;
    break_and_mend(plan).await;
}
