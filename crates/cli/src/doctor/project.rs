//! Settings, rules, hooks, and whether the project is trusted.

use tiller_config::{CommandLine, Network, Places, Resolved, SettingsError, Sourced};
use tiller_engine::HookPlace;
use tiller_protocol::env::Env;
use tiller_sandbox::{Level, probe};

use super::finding::Finding;
use crate::{explain, settings, trust};

pub(super) fn examine(
    env: &Env,
    request: &CommandLine,
    resolved: Result<&Resolved, &SettingsError>,
) -> Vec<Finding> {
    let mut findings = vec![files(env)];
    let resolved = match resolved {
        Ok(resolved) => resolved,
        Err(error) => {
            findings.push(Finding::fail("settings", error.to_string(), "no session starts until then"));
            return findings;
        }
    };
    let advice = "correct the file; until then this is ignored";
    findings.extend(
        resolved.warnings.iter().map(|warning| Finding::warn("settings", warning.to_string(), advice)),
    );
    findings.push(trusted(env, request));
    findings.extend(rules(resolved));
    findings.extend(hooks(env, resolved));
    findings.push(sandbox(resolved));
    findings
}

fn files(env: &Env) -> Finding {
    let found = Places::of(env).all_files().into_iter().filter(|(_, path)| path.exists());
    let found: Vec<String> = found.map(|(layer, path)| format!("{layer}: {}", path.display())).collect();
    match found.is_empty() {
        true => Finding::ok("settings", "no settings files; defaults apply"),
        false => Finding::ok("settings", found.join("\n")),
    }
}

fn trusted(env: &Env, request: &CommandLine) -> Finding {
    match trust::question(&env.cwd, request, env) {
        Ok(None) => Finding::ok("trust", "the settings of this project need no further trust"),
        Ok(Some(question)) => {
            let mut keys: Vec<&str> =
                question.concerns.iter().map(|concern| concern.row.key.as_str()).collect();
            keys.dedup();
            Finding::warn(
                "trust",
                format!("settings of this project run or loosen something: {}", keys.join(", ")),
                "`tiller trust --show` prints them, `tiller trust` confirms them; headless runs use them anyway, unless given --no-project-settings",
            )
        }
        Err(error) => Finding::fail("trust", explain(&error), "correct the file or move it away"),
    }
}

fn rules(resolved: &Resolved) -> Vec<Finding> {
    match settings::understood(resolved) {
        Ok((rules, doubts)) => {
            let (allow, ask, deny) = (rules.allow.len(), rules.ask.len(), rules.deny.len());
            let counted = Finding::ok("rules", format!("{allow} to allow, {ask} to ask, {deny} to deny"));
            let doubts = doubts.into_iter().map(|doubt| Finding::warn("rules", doubt, "correct the rule"));
            std::iter::once(counted).chain(doubts).collect()
        }
        Err(error) => {
            vec![Finding::fail("rules", explain(&error), "correct the rule; no session starts until then")]
        }
    }
}

/// Which level is in force for commands of a session here.
fn sandbox(resolved: &Resolved) -> Finding {
    let Sourced { value: enabled, origin } = &resolved.sandbox.enabled;
    let network = match resolved.sandbox.network.value {
        Network::Allow => "with the network",
        Network::Ask => "without the network unless you say yes",
        Network::Deny => "without the network",
    };
    match (*enabled, probe().level) {
        (false, _) => Finding::ok("sandbox", format!("commands are confined only while planning ({origin})")),
        (true, Level::None) => Finding::warn(
            "sandbox",
            "commands are not confined, because the kernel does not support it",
            "see above; until then, commands you allow can do whatever you can",
        ),
        (true, _) => {
            Finding::ok("sandbox", format!("commands are confined to the working directories, {network}"))
        }
    }
}

fn hooks(env: &Env, resolved: &Resolved) -> Vec<Finding> {
    let tools = tiller_tools::built_in().names();
    let place = HookPlace { project_dir: &env.cwd, vars: &env.vars, tools: &tools };
    let advice = "correct the settings; `tiller hooks test` tries a hook";
    let doubts = place.doubts(&resolved.hooks).into_iter().map(|doubt| Finding::warn("hooks", doubt, advice));
    std::iter::once(counted(resolved)).chain(doubts).collect()
}

fn counted(resolved: &Resolved) -> Finding {
    let groups = resolved.hooks.values().flatten();
    let count: usize = groups.map(|group| group.value.hooks.len()).sum();
    let events: Vec<String> = resolved.hooks.keys().map(|event| format!("{event:?}")).collect();
    match count {
        0 => Finding::ok("hooks", "none"),
        count => Finding::ok("hooks", format!("{count}, at {}", events.join(", "))),
    }
}
