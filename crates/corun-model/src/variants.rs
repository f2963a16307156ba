//! A model with one resource shared otherwise: what each resource is worth to siblings, and how much of a
//! prediction rests on an unpublished policy.

use crate::{CoreModel, ModelError, Policy};

/// A resource of a model, or several of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Path of the resource, as `--set` takes it.
    pub name: String,
    /// Sharing policy in the model.
    pub policy: Policy,
    /// True if that is an assumption.
    pub is_assumed: bool,
}

impl CoreModel {
    /// Resources that siblings share, the schedulers as one.
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

    /// The model with a resource shared by each of the other policies that it can be shared by, of those
    /// that make a difference.
    pub fn variants(&self, resource: &Resource) -> Vec<(Policy, Self)> {
        let is_other = |policy: &Policy| {
            *policy != resource.policy
                && self.makes_no_difference(&resource.name, *policy).is_none()
        };
        let others = Policy::ALL.into_iter().filter(is_other);
        others.filter_map(|policy| Some((policy, self.sharing(resource, policy).ok()?))).collect()
    }

    /// Why siblings that share a resource by this policy take exactly as long as by the model's own, where
    /// the simulated core makes no difference between the two.
    pub fn makes_no_difference(&self, resource: &str, policy: Policy) -> Option<&'static str> {
        let own = self.resources().into_iter().find(|own| own.name == resource)?.policy;
        let takes_turns = |policy| matches!(policy, Policy::Shared | Policy::Alternating);
        match resource {
            _ if own == policy => None,
            "front.microcode" if self.front.microcode.from_decoders.is_none() => {
                Some("its micro-ops come as those of any other instruction (no `from_decoders`)")
            }
            "front.predecoder" if takes_turns(own) && takes_turns(policy) => {
                Some("who needs the next block first has it, which is the other one's turn then")
            }
            _ => None,
        }
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

    #[test]
    fn every_resource_of_every_model_can_be_each_thread_s_own() {
        for model in crate::all().unwrap() {
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
