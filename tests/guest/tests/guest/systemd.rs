//! The exporter as systemd runs it: by the unit of `contrib/systemd`, confined as that says.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use corun_guest_tests::{Guest, Host, Scenario, Shape};
use corun_testing::{repository, skip};

const SYSTEMD: &str = "/lib/systemd/systemd";
const SHAPE: Shape = Shape { sockets: 1, cores: 2, threads: 2 };

/// systemd as the first process of a namespace of its own, with the exporter as its only service.
const SCRIPT: &str = "
ifconfig lo up
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /run /var /usr/bin /etc/systemd/system
ln -s /bin/corun /usr/bin/corun
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
echo ID=guest >/etc/os-release
cd /etc/systemd/system
chmod 644 corun-exporter.service
for target in sysinit basic shutdown; do echo '[Unit]' >$target.target; done
printf '[Unit]\\nRequires=corun-exporter.service\\n' >default.target
cd /tmp
unshare -m -p -f --mount-proc env container=guest /lib/systemd/systemd --log-target=console --log-level=notice \
    --show-status=no &
until wget -q -O /results/metrics http://127.0.0.1:9745/metrics && grep -q ^corun_core_time /results/metrics
do sleep 1; done
cat /proc/$(pidof corun)/status >/results/status
";

/// The lines of /proc/PID/status.
fn status(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once(":\t")).collect()
}

#[test]
fn the_exporter_works_as_its_unit_confines_it() {
    let Some(host) = Host::or_skip() else { return };
    if !Path::new(SYSTEMD).exists() {
        return skip("guest", "systemd is not installed (on Debian, package systemd)");
    }
    let unit = repository().join("contrib/systemd/corun-exporter.service");
    let scenario = Scenario::new(SCRIPT)
        .program(SYSTEMD)
        .file("/etc/systemd/system/corun-exporter.service", unit);
    let guest = Guest::new(SHAPE).deadline(Duration::from_secs(240));
    let outcome = guest.boot(host, &scenario).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.results.exit, 0, "{}", outcome.console);
    let status = status(outcome.text("status"));
    assert_eq!((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"), "{status:?}");
    assert!(!status["Uid"].split('\t').any(|id| id == "0"), "{status:?}");
    assert_eq!(status["CapBnd"].trim_start_matches('0'), "", "{status:?}");
    let metrics = outcome.text("metrics");
    let value = |name: &str| -> f64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        let value = line.unwrap_or_else(|| panic!("expected {name}, found:\n{metrics}"));
        value.trim().parse().expect("a number")
    };
    assert!(value("corun_observed_seconds_total ") > 0.0, "{metrics}");
    assert_eq!(value("corun_sample_failures_total "), 0.0, "{metrics}");
    for core in 0..SHAPE.cores {
        let states = (0..=SHAPE.threads).map(|busy| {
            value(&format!(
                "corun_core_time_seconds_total{{package=\"0\",core=\"{core}\",busy_cpus=\"{busy}\"}} "
            ))
        });
        let of_core: f64 = states.sum();
        let observed = value("corun_observed_seconds_total ");
        assert!((of_core / observed - 1.0).abs() < 0.01, "{of_core} of {observed}: {metrics}");
    }
    // What the unit asks for was possible: systemd ignores what is not, and says so.
    let ignored = outcome.console.lines().filter(|line| line.contains("corun-exporter"));
    assert_eq!(ignored.collect::<Vec<_>>(), [""; 0], "{}", outcome.console);
}
