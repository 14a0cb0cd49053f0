//! `chela auth`: logins that give a key, and renew it.

mod flows;
mod tokens;

use chela_config::KeyPath;
use chela_config::text::edit;
use chela_core::Host;
use chela_model::ModelHttp;
use chela_model::oauth::{AuthorizationServer, IssuerMatch};
use serde_json::json;

use super::{CommandOutcome, CommandSetup, config};
use crate::chat::clean_line;
use crate::cli::auth::{AuthCommand, LoginArgs};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;
use tokens::{KeptLogin, stored_names};

pub fn run(host: &Host, screen: &mut Screen, command: AuthCommand) -> CommandOutcome {
    match command {
        AuthCommand::Login(args) => login(host, screen, &args),
        AuthCommand::Logout { provider } => {
            let provider = super::wizard::checked_name(&provider)?;
            match KeptLogin::forget(host, &provider)? {
                true => screen.line(format!("Deleted the tokens of {provider}."))?,
                false => {
                    return Err(
                        CommandError::new(format!("nothing is stored for {provider}"))
                            .hint("`chela auth list` shows what is stored"),
                    );
                }
            }
            Ok(CommandExit::Fine)
        }
        AuthCommand::List(args) => list(host, screen, args.json),
    }
}

fn login(host: &Host, screen: &mut Screen, args: &LoginArgs) -> CommandOutcome {
    let provider = super::wizard::checked_name(&args.provider)?;
    let setup = CommandSetup::look(host);
    let http = ModelHttp::new(host, &setup.loaded);
    let known = KeptLogin::load(host, &provider)?;
    let said = |given: &Option<String>, of: fn(&KeptLogin) -> &String, flag: &str| {
        let known = known.as_ref().map(of).cloned();
        given.clone().or(known).ok_or_else(|| {
            CommandError::usage(format!(
                "{flag} is needed for the first login to {provider}"
            ))
            .hint(format!(
                "only providers that offer OAuth can be logged in to, and it is they who say which \
                 {flag} to use (`chela auth login --help`); with an API key: chela setup \
                 --provider {provider}"
            ))
        })
    };
    let issuer = said(&args.issuer, |known| &known.issuer, "--issuer")?;
    let client_id = said(&args.client_id, |known| &known.client_id, "--client-id")?;
    let scope = args.scope.clone().or(known.and_then(|known| known.scope));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::new(format!("cannot start: {error}")))?;
    let login = runtime.block_on(async {
        let server = AuthorizationServer::discover(&http, &issuer, IssuerMatch::SlashAside).await?;
        let asking = flows::LoginRequest {
            host,
            http: &http,
            server: &server,
            client_id: &client_id,
            scope: scope.as_deref(),
        };
        let answer = asking.run(args.flow, screen.paint).await?;
        Ok::<_, CommandError>(
            KeptLogin {
                issuer,
                client_id: client_id.clone(),
                scope: scope.clone(),
                token_endpoint: server.token,
                refresh_token: None,
                expires_at: None,
            }
            .with(host, answer),
        )
    })?;
    let (login, access) = login;
    login.keep(host, &provider, &access)?;
    let mut entry = json!({
        "auth": "oauth",
        "apiKey": { "source": "file", "provider": format!("{provider}-key-file"), "id": "value" },
    });
    if let Some(url) = &args.base_url {
        entry["baseUrl"] = url.as_str().into();
    }
    let source = json!({
        "source": "file", "path": format!("keys/{provider}.key"), "mode": "singleValue",
    });
    let patch = json!({
        "models": { "providers": { provider.as_str(): entry } },
        "secrets": { "providers": { format!("{provider}-key-file"): source } },
    });
    config::mend(host, |source| {
        edit::merge_patch(source, &KeyPath::root(), &patch)
    })?;
    screen.line(format!("Logged in to {provider}."))?;
    Ok(CommandExit::Fine)
}

fn list(host: &Host, screen: &mut Screen, as_json: bool) -> CommandOutcome {
    let mut rows = Vec::new();
    for provider in stored_names(host) {
        let login = KeptLogin::load(host, &provider)?;
        let kind = match &login {
            Some(_) => "login",
            None => "key",
        };
        rows.push((provider, kind, login.map(|login| login.standing(host))));
    }
    if as_json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(provider, kind, standing)| {
                json!({ "provider": provider, "kind": kind, "standing": standing })
            })
            .collect();
        screen.json(&json!({ "stored": rows }))?;
        return Ok(CommandExit::Fine);
    }
    if rows.is_empty() {
        screen
            .line("Nothing is stored. `chela setup` stores a key, `chela auth login` logs in.")?;
        return Ok(CommandExit::Fine);
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(provider, kind, standing)| {
            vec![
                clean_line(&provider),
                kind.to_owned(),
                standing.unwrap_or_default(),
            ]
        })
        .collect();
    screen.table("", &rows)?;
    Ok(CommandExit::Fine)
}

/// Renews the logins that have run out. Says of each that cannot be renewed why; the request says
/// the rest.
pub async fn renew_logins(host: &Host, http: &ModelHttp) -> Vec<String> {
    let mut failed = Vec::new();
    for provider in stored_names(host) {
        let login = match KeptLogin::load(host, &provider) {
            Ok(Some(login)) if login.has_run_out(host) => login,
            _ => continue,
        };
        let renewed = match flows::renew(http, &login).await {
            Ok(answer) => {
                let (login, access) = login.with(host, answer);
                login.keep(host, &provider, &access)
            }
            Err(fail) => Err(fail),
        };
        if let Err(fail) = renewed {
            failed.push(format!(
                "the login to {provider} has expired and cannot be renewed: {}; run `chela auth \
                    login {provider}`",
                fail.message
            ));
        }
    }
    failed
}
