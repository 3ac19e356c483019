//! Signing in to services.

use anyhow::bail;
use tiller_config::{McpReach, config_dir};
use tiller_mcp::{Outside, TokenStore, sign_in};
use tiller_protocol::env::Env;

use super::{Known, UNTRUSTED};
use crate::browser;
use crate::exit::Exit;
use crate::text::print;

/// Signs in.
#[derive(Debug, clap::Args)]
pub(super) struct Login {
    /// The server
    name: String,

    /// Print the address instead of opening a browser
    #[arg(long)]
    no_browser: bool,
}

/// Forgets how the user has signed in.
#[derive(Debug, clap::Args)]
pub(super) struct Logout {
    /// The server
    name: String,
}

impl Login {
    pub(super) fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let known = Known::here(env)?;
        let Some(definition) = known.startable(known.find(&self.name)?) else {
            bail!("{}: {UNTRUSTED}", self.name);
        };
        let McpReach::Http { url, oauth, .. } = &definition.reach else {
            bail!("{} is a program; there is nothing to sign in to", self.name);
        };
        if !oauth.grant.needs_user() {
            bail!("{} needs no sign-in by a user; `tiller mcp get {0}` says whether it works", self.name);
        }
        crate::runtime()?.block_on(async {
            let tokens = TokenStore::below(&config_dir(env));
            let outside = Outside { env, offline: env.flag("TILLER_OFFLINE") };
            let login = sign_in(url, oauth, &tokens, outside).await?;
            print(&format!("Sign in here:\n{}", login.url()))?;
            if !self.no_browser {
                browser::open(env, login.url());
            }
            login.finish().await?;
            print(&format!("You are now signed in to {}.", self.name))?;
            Ok(Exit::Success)
        })
    }
}

impl Logout {
    pub(super) fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let known = Known::here(env)?;
        let McpReach::Http { url, .. } = &known.find(&self.name)?.reach else {
            bail!("{} is a program; there is nothing to sign out of", self.name);
        };
        let was_known = TokenStore::below(&config_dir(env)).forget(url)?;
        let said = if was_known { "You are signed out of" } else { "You were not signed in to" };
        print(&format!("{said} {}.", self.name))?;
        Ok(Exit::Success)
    }
}
