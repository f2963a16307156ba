//! A model with one resource shared otherwise: what each resource is worth to siblings, and how much of a
//! prediction hangs on a policy that nobody published.

use crate::model::{CoreModel, ModelError, Policy};

/// A resource of a model, or several of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its path, as `--set` takes it.
    pub name: String,
    /// How siblings share it in the model.
    pub policy: Policy,
    /// Whether that is an assumption.
    pub is_assumed: bool,
}

impl CoreModel {
    /// What siblings share, the schedulers as one.
    pub fn resources(&self) -> Vec<Resource> {
        let mut resources: Vec<Resource> = Vec::new();
        for (path, sharing) in self.sharings() {
            let is_number = |name: &&str| name.parse::<u32>().is_err();
            let name: Vec<&str> = path.split('.').filter(is_number).collect();
            let name = name.join(".");
            match resources.iter_mut().find(|known| known.name == name) {
                Some(known) => known.is_assumed |= sharing.assumed,
                None => {
                    let (policy, is_assumed) = (sharing.policy, sharing.assumed);
                    resources.push(Resource { name, policy, is_assumed });
                }
            }
        }
        resources
    }

    /// The model with a resource shared by each of the other policies that it can be shared by.
    pub fn variants(&self, resource: &Resource) -> Vec<(Policy, Self)> {
        // What holds something cannot take turns.
        let others = [Policy::Replicated, Policy::Partitioned, Policy::Shared];
        let others = others.into_iter().filter(|policy| *policy != resource.policy);
        others.filter_map(|policy| Some((policy, self.sharing(resource, policy).ok()?))).collect()
    }

    /// The model with a resource shared by another policy, and without a cap.
    ///
    /// # Errors
    /// If the resource cannot be shared so, as one that has no equal parts.
    pub fn sharing(&self, resource: &Resource, policy: Policy) -> Result<Self, ModelError> {
        let policy = policy.name().to_owned();
        let set = |field: &str, value: String| (format!("{}.{field}", resource.name), value);
        self.clone().with(&[set("cap", "null".to_owned()), set("policy", policy)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model;

    #[test]
    fn every_resource_of_every_model_can_be_each_thread_s_own() {
        for model in model::all().unwrap() {
            let resources = model.resources();
            assert!(resources.len() > 20, "{}", model.name);
            for resource in &resources {
                let changed = model.sharing(resource, Policy::Replicated).unwrap();
                let policies = changed.resources().into_iter();
                let own = policies.filter(|it| it.name == resource.name);
                assert!(own.map(|it| it.policy).eq([Policy::Replicated]), "{resource:?}");
                let others = |model: &CoreModel| {
                    let others = model.resources().into_iter();
                    others.filter(|it| it.name != resource.name).collect::<Vec<_>>()
                };
                assert_eq!(others(&changed), others(&model), "{resource:?}");
            }
        }
    }
}
