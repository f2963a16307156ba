//! corun inside steps of `srun`, as it is used with MPI: each rank measures on the CPUs that Slurm gave it.

use corun_machine::CpuSet;
use corun_record::{Document, Run};

use crate::fleet::campaign::Scratch;
use crate::fleet::cluster::{Cluster, two_cpus};

#[test]
fn each_rank_measures_on_the_cpus_that_slurm_bound_it_to() {
    let Some(cluster) = Cluster::start() else { return };
    if !two_cpus() {
        corun_testing::skip("slurm", "Slurm can bind only where a node has the CPUs of this host");
        return;
    }
    let scratch = Scratch::on(&cluster);
    let rank = scratch.program(
        "rank",
        "cd \"$1\" || exit\necho \"$SLURM_CPU_BIND_LIST\" > \"masks.$SLURM_PROCID\"\n\
         for name in run changed; do\n\
         \"$2\" measure --no-store --json \"$name.$SLURM_PROCID\" --placement single --blocks 2 --warmup 0 true\n\
         taskset --pid 3 $$\ndone",
    );
    let folder = scratch.path("");
    let words = [
        "--nodes=1",
        "--exclusive",
        "--ntasks=2",
        "--cpu-bind=threads",
        rank.to_str().unwrap(),
        folder.to_str().unwrap(),
        env!("CARGO_BIN_EXE_corun"),
    ];
    cluster.slurm("srun", &words);
    for number in 0..2 {
        let read = |name: &str| {
            std::fs::read_to_string(scratch.path(&format!("{name}.{number}"))).unwrap()
        };
        let run = Run::from_json(&read("run")).unwrap();
        let masks = read("masks");
        let mask = masks.trim().split(',').nth(number).unwrap().trim_start_matches("0x");
        let bound = CpuSet::from_mask(mask).unwrap();
        assert_eq!(run.machine.allowed_cpus as usize, bound.len());
        assert_eq!(run.arms[0].cpus, bound.iter().collect::<Vec<_>>(), "{masks}");
        let kinds: Vec<&str> = run.caveats.iter().map(|it| it.kind.as_str()).collect();
        assert!(kinds.contains(&"slurm-binding"), "{kinds:?}");
        // Its mask was changed between Slurm and corun: the task has the CPU of the other one, too.
        let changed = Run::from_json(&read("changed")).unwrap();
        let differs = changed.caveats.iter().find(|it| it.kind == "slurm-binding-differs").unwrap();
        assert!(differs.sentence.contains("may use CPUs 0-1"), "{differs:?}");
    }
}
