//! The credentials the config knows, so that no record keeps them.

use chela_config::Loaded;
use chela_config::model::Secret as Written;
use chela_ledger::Secret;

/// Names of variables whose values are credentials.
const TELLING: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];

/// Every credential that is written in the config or lies in the environment.
pub fn known(loaded: &Loaded) -> Vec<Secret> {
    let config = &loaded.config;
    let providers = config
        .models
        .providers
        .iter()
        .filter_map(|(name, provider)| {
            let key = provider.api_key.as_ref()?;
            Some((format!("models.providers.{name}.apiKey"), key))
        });
    let search = config.tools.web.search.api_key.as_ref();
    let search = search.map(|key| ("tools.web.search.apiKey".to_owned(), key));
    let written = providers.chain(search).filter_map(|(name, key)| match key {
        Written::Text(value) => Some(Secret {
            name,
            value: value.clone(),
        }),
        Written::Reference(_) => None,
    });
    let env = loaded.env().iter().filter(|(name, _)| {
        let name = name.to_ascii_uppercase();
        TELLING.iter().any(|word| name.contains(word))
    });
    let env = env.map(|(name, value)| Secret {
        name: format!("env:{name}"),
        value: value.to_string(),
    });
    written.chain(env).collect()
}
