//! Do intervals over nodes hold what they say, and are nodes that do not belong to the rest found, and no others?
//!
//! Each campaign is simulated: a level for every node, runs of ten blocks on it, and what the runs say of their own error.
//! The tables of `docs/fleet-report.md` are what `cargo test -p corun-stats --test it nodes -- --nocapture` prints.

use corun_stats::{RunValue, outlying, paired, random_effects, repeats};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::simulation::tally::{check, seed, share};

/// The deviation between nodes.
const BETWEEN: f64 = 0.02;
const MEAN: f64 = 0.18;
const BLOCKS: usize = 10;
/// Error rate of `corun fleet report`: one campaign in twenty.
const ERROR_RATE: f64 = 0.05;

/// A cluster whose true figures are known.
#[derive(Debug, Clone, Copy)]
struct Cluster {
    nodes: usize,
    /// The deviation between nodes.
    between: f64,
    /// The standard error of a run by its own blocks.
    within: f64,
    /// The deviation between runs of one node.
    between_runs: f64,
    repeats: usize,
}

impl Cluster {
    const fn of(nodes: usize, within: f64) -> Self {
        Self { nodes, between: BETWEEN, within, between_runs: 0.0, repeats: 1 }
    }

    /// The runs of each node; the first node's level is moved by `moved`, or lies there exactly.
    fn campaign(self, replication: u64, first: Level) -> Vec<Vec<RunValue>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed());
        random.set_stream(replication);
        let mut normal = move |deviation: f64| {
            let normal: f64 = StandardNormal.sample(&mut random);
            deviation * normal
        };
        let block = self.within * (BLOCKS as f64).sqrt();
        (0..self.nodes)
            .map(|node| {
                let ordinary = MEAN + normal(self.between);
                let level = match (node, first) {
                    (0, Level::Moved(by)) => ordinary + by,
                    (0, Level::At(distance)) => MEAN + distance,
                    _ => ordinary,
                };
                let run = |_| {
                    let level = level + normal(self.between_runs);
                    let blocks: Vec<f64> = (0..BLOCKS).map(|_| level + normal(block)).collect();
                    let estimate = paired(&blocks, 0.95).expect("ten finite values");
                    let standard_error = estimate.standard_error;
                    RunValue { log: estimate.log, standard_error, blocks: estimate.blocks }
                };
                (0..self.repeats).map(run).collect()
            })
            .collect()
    }

    /// The deviation of a node's value: of its level, and of its measurement.
    fn of_a_value(self) -> f64 {
        (self.between.powi(2) + self.within.powi(2)).sqrt()
    }
}

/// Level of the first node.
#[derive(Debug, Clone, Copy)]
enum Level {
    Ordinary,
    /// As far from an ordinary level.
    Moved(f64),
    /// As far from the mean of all levels.
    At(f64),
}

/// Counted over campaigns.
#[derive(Debug, Default)]
struct Covered {
    mean: u64,
    between: u64,
    further: u64,
}

fn covered(cluster: Cluster, campaigns: u64) -> Covered {
    let mut covered = Covered::default();
    for campaign in 0..campaigns {
        // One node more, whose level the others are to predict.
        let one_more =
            Cluster { nodes: cluster.nodes + 1, between_runs: 0.0, within: 0.0, ..cluster };
        let further =
            one_more.campaign(campaign + (1 << 40), Level::Ordinary)[cluster.nodes][0].log;
        let values = repeats(&cluster.campaign(campaign, Level::Ordinary)).values;
        let found = random_effects(&values, 0.95).expect("finite values");
        covered.mean += u64::from(found.mean.interval().holds(MEAN));
        covered.between += u64::from(found.between_interval.holds(cluster.between));
        covered.further += u64::from(found.further.is_none_or(|it| it.holds(further)));
    }
    covered
}

#[test]
fn intervals_over_nodes_cover_the_truth() {
    let conditions = [
        ("3 nodes, small errors", Cluster::of(3, 0.2 * BETWEEN), 8_000),
        ("3 nodes, errors as large as the deviation between nodes", Cluster::of(3, BETWEEN), 8_000),
        ("5 nodes, half as large", Cluster::of(5, 0.5 * BETWEEN), 8_000),
        ("20 nodes, half as large", Cluster::of(20, 0.5 * BETWEEN), 4_000),
        ("20 nodes, twice as large", Cluster::of(20, 2.0 * BETWEEN), 4_000),
        ("400 nodes, half as large", Cluster::of(400, 0.5 * BETWEEN), 2_000),
        ("400 nodes, twice as large", Cluster::of(400, 2.0 * BETWEEN), 2_000),
        (
            "20 nodes, three runs, deviation between runs as large as between nodes",
            Cluster { between_runs: BETWEEN, repeats: 3, ..Cluster::of(20, 0.5 * BETWEEN) },
            4_000,
        ),
    ];
    let mut wrong = Vec::new();
    for (name, cluster, campaigns) in conditions {
        let found = covered(cluster, campaigns);
        for (what, covered) in [
            ("the mean", found.mean),
            ("the deviation between nodes", found.between),
            ("a further node", found.further),
        ] {
            // Where three nodes have large errors their mean is rather too uncertain: that of the plain model is the least.
            let most = if cluster.nodes > 3 { 0.985 } else { 1.0 };
            let limits = if what == "the mean" { 0.935..=most } else { 0.92..=1.0 };
            let share = covered as f64 / campaigns as f64;
            wrong.extend(check(&format!("{name}: {what}"), share, limits).err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nodes_that_belong_together_are_seldom_called_outlying() {
    let mut wrong = Vec::new();
    for (nodes, within, campaigns) in [
        (3, 0.5, 8_000),
        (4, 1.0, 8_000),
        (5, 0.2, 8_000),
        (10, 0.5, 4_000),
        (10, 2.0, 4_000),
        (40, 0.5, 2_000),
        (400, 0.5, 1_000),
        (400, 2.0, 1_000),
    ] {
        let cluster = Cluster::of(nodes, within * BETWEEN);
        let mut named = 0;
        let share = share(campaigns, |campaign| {
            let values = repeats(&cluster.campaign(campaign, Level::Ordinary)).values;
            let found = outlying(&values, ERROR_RATE).len();
            named += found;
            found > 0
        });
        let of_all = named as f64 / (campaigns as f64 * nodes as f64);
        let what = format!(
            "{nodes} nodes, errors {within} times the deviation between nodes: of all nodes {:.4} %, of campaigns",
            100.0 * of_all
        );
        wrong.extend(check(&what, share, 0.0..=0.065).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn far_nodes_are_found() {
    let mut wrong = Vec::new();
    for (nodes, within, campaigns) in [(40, 0.5, 1_000), (400, 0.2, 1_000), (400, 0.5, 1_000)] {
        let cluster = Cluster::of(nodes, within * BETWEEN);
        for (deviations, least) in [(4.0, 0.0), (5.0, 0.0), (6.0, 0.95), (8.0, 0.99)] {
            let by = deviations * cluster.of_a_value();
            let found = |level| {
                share(campaigns, |campaign| {
                    let values = repeats(&cluster.campaign(campaign, level)).values;
                    outlying(&values, ERROR_RATE).iter().any(|it| it.index == 0)
                })
            };
            let condition = format!("{nodes} nodes, errors {within}, {deviations} deviations");
            let moved = found(Level::Moved(-by));
            wrong.extend(
                check(&format!("{condition} below its own level"), moved, least..=1.0).err(),
            );
            let at = found(Level::At(-by));
            let least = if deviations >= 5.0 { 0.95 } else { 0.0 };
            wrong.extend(check(&format!("{condition} below the mean"), at, least..=1.0).err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
