//! Facts of the machine that the properties need before anything is run.

/// A machine, as far as loads are laid out on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The logical CPUs that may be used, core by core.
    pub cores: Vec<Vec<u32>>,
    /// The logical CPUs of each last-level cache; empty where that is not known.
    pub caches: Vec<Vec<u32>>,
    /// Why no core has two of them, as the end of a sentence; not read where one has.
    pub no_siblings: String,
    /// True if sessions are groups of their own (`sched_autogroup_enabled`); `None` where the kernel
    /// does not know that.
    pub autogroup: Option<bool>,
    /// True if corun is in the root group of the CPU controller: nowhere else do autogroups count.
    pub is_in_root_group: bool,
    /// The folder in which control groups with a quota can be made, or why there is none.
    pub groups: Result<String, String>,
    /// CPUs that free loads are pinned to although more CPUs may be used; `None` leaves them free.
    pub pinned_to: Option<Vec<u32>>,
}

impl Facts {
    /// The logical CPUs that may be used, ascending.
    pub fn cpus(&self) -> Vec<u32> {
        let mut cpus = self.cores.concat();
        cpus.sort_unstable();
        cpus
    }

    /// CPUs on which free loads may run.
    pub fn free(&self) -> Vec<u32> {
        self.pinned_to.clone().unwrap_or_else(|| self.cpus())
    }

    /// The first logical CPU, for loads that are pinned to one.
    pub fn one_cpu(&self) -> u32 {
        self.cores.first().and_then(|core| core.first()).copied().unwrap_or(0)
    }

    /// Two logical CPUs, of two cores if there are two.
    ///
    /// # Errors
    /// If there is only one: why that is not enough.
    pub fn two_cpus(&self) -> Result<[u32; 2], String> {
        let [one, other] = match &self.cores[..] {
            [one, other, ..] => [one.first(), other.first()],
            [only] => [only.first(), only.get(1)],
            [] => [None, None],
        };
        one.zip(other)
            .map(|(one, other)| [*one, *other])
            .ok_or_else(|| "it needs two logical CPUs, and only one may be used".to_owned())
    }

    /// Two logical CPUs of one last-level cache, of two cores if two share one.
    ///
    /// # Errors
    /// If no two share one: why that is not enough.
    pub fn two_cpus_of_a_cache(&self) -> Result<[u32; 2], String> {
        if self.caches.is_empty() {
            return self.two_cpus();
        }
        let sharing = |cache: &Vec<u32>| {
            let shares_it = |cpu: &u32| cache.contains(cpu);
            let cores = self.cores.iter().map(|core| core.iter().copied().filter(shares_it));
            let cores = cores.map(Iterator::collect::<Vec<u32>>).filter(|core| !core.is_empty());
            Self { cores: cores.collect(), ..self.clone() }
        };
        let mut caches: Vec<Self> = self.caches.iter().map(sharing).collect();
        // The first of those with most cores.
        caches.sort_by_key(|cache| std::cmp::Reverse(cache.cores.len().min(2)));
        self.two_cpus()?;
        caches.iter().find_map(|cache| cache.two_cpus().ok()).ok_or_else(|| {
            "it needs two logical CPUs that share a last-level cache, and no two that may be used do"
                .to_owned()
        })
    }

    /// The place of the first core that has two logical CPUs.
    ///
    /// # Errors
    /// If none has.
    pub fn core_with_siblings(&self) -> Result<usize, String> {
        let has_siblings = |core: &Vec<u32>| core.len() > 1;
        self.cores.iter().position(has_siblings).ok_or_else(|| self.no_siblings.clone())
    }

    /// The core that a logical CPU belongs to, by its place.
    pub fn core_of(&self, cpu: u32) -> Option<usize> {
        self.cores.iter().position(|core| core.contains(&cpu))
    }

    /// As [`Self::core_with_siblings`], where there is another core beside it.
    ///
    /// # Errors
    /// If no core has two logical CPUs, or there is no other core.
    pub fn core_beside_another(&self) -> Result<usize, String> {
        let core = self.core_with_siblings()?;
        match self.cores.len() {
            1 => Err("it needs a second core, and only one may be used".to_owned()),
            _ => Ok(core),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A machine of these cores.
    pub(crate) fn machine(cores: &[&[u32]]) -> Facts {
        Facts {
            cores: cores.iter().map(|core| core.to_vec()).collect(),
            caches: Vec::new(),
            no_siblings: "the kernel sees no siblings".to_owned(),
            autogroup: Some(true),
            is_in_root_group: true,
            groups: Ok("/sys/fs/cgroup".to_owned()),
            pinned_to: None,
        }
    }

    #[test]
    fn cpus_are_of_two_cores_where_there_are_two() {
        assert_eq!(machine(&[&[0, 2], &[1, 3]]).two_cpus(), Ok([0, 1]));
        assert_eq!(machine(&[&[0, 2]]).two_cpus(), Ok([0, 2]));
        assert!(machine(&[&[7]]).two_cpus().is_err());
        assert_eq!(machine(&[&[0], &[1, 3]]).core_beside_another(), Ok(1));
        let alone = machine(&[&[0], &[1]]).core_beside_another();
        assert_eq!(alone, Err("the kernel sees no siblings".to_owned()));
        assert!(machine(&[&[0, 1]]).core_beside_another().is_err());
    }

    #[test]
    fn cpus_of_a_cache_share_it() {
        let cores: &[&[u32]] = &[&[0, 4], &[1, 5], &[2], &[3]];
        let with = |caches: &[&[u32]]| Facts {
            caches: caches.iter().map(|cache| cache.to_vec()).collect(),
            ..machine(cores)
        };
        assert_eq!(with(&[]).two_cpus_of_a_cache(), Ok([0, 1]));
        assert_eq!(with(&[&[0, 4], &[1, 2, 3, 5]]).two_cpus_of_a_cache(), Ok([1, 2]));
        assert_eq!(with(&[&[0, 4], &[1], &[2]]).two_cpus_of_a_cache(), Ok([0, 4]));
        assert!(
            with(&[&[0], &[1], &[2]])
                .two_cpus_of_a_cache()
                .unwrap_err()
                .contains("share a last-level")
        );
    }
}
