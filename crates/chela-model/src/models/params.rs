//! Request parameters: for all agents, for one model, for one agent; later ones win by key.

use std::collections::BTreeMap;

use chela_config::model::{AgentModel, Agents, OpenMap};
use chela_core::AgentId;
use serde_json::Value;

/// What the config says about parameters.
#[derive(Debug, Default)]
pub struct ConfiguredParams {
    all: OpenMap,
    models: BTreeMap<String, OpenMap>,
    agents: Vec<(AgentId, BTreeMap<String, OpenMap>, OpenMap)>,
}

impl ConfiguredParams {
    pub fn of(agents: &Agents) -> Self {
        Self {
            all: agents.defaults.params.clone(),
            models: by_model(&agents.defaults.models),
            agents: agents
                .list
                .iter()
                .map(|entry| {
                    let id = AgentId::normalize(&entry.id);
                    (id, by_model(&entry.models), entry.params.clone())
                })
                .collect(),
        }
    }

    pub fn apply(&self, params: &mut OpenMap, reference: &str, agent: Option<&AgentId>) {
        overlay(params, &self.all);
        if let Some(of_model) = self.models.get(reference) {
            overlay(params, of_model);
        }
        for (id, models, own) in &self.agents {
            if agent == Some(id) {
                if let Some(of_model) = models.get(reference) {
                    overlay(params, of_model);
                }
                overlay(params, own);
            }
        }
    }
}

fn by_model(models: &BTreeMap<String, AgentModel>) -> BTreeMap<String, OpenMap> {
    models
        .iter()
        .filter(|(_, model)| !model.params.is_empty())
        .map(|(reference, model)| (reference.clone(), model.params.clone()))
        .collect()
}

/// `over` wins by key; objects are merged.
pub fn overlay(params: &mut OpenMap, over: &OpenMap) {
    for (key, value) in over {
        match (params.get_mut(key), value) {
            (Some(Value::Object(under)), Value::Object(over)) => overlay(under, over),
            _ => {
                params.insert(key.clone(), value.clone());
            }
        }
    }
}
