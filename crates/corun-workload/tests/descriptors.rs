//! What happens when the system gives too few file descriptors: a process of its own, since the
//! limit holds for all of its threads.

use std::num::NonZeroUsize;

use corun_record::{Actionable, Exit};
use corun_workload::{Parameters, WorkloadError, find};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// One test, since its parts would take descriptors from one another.
#[test]
fn too_many_descriptors_are_refused_and_given_back() {
    let limit = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).unwrap();
    a_ring_of_pipes();
    rows_of_lmbench();
    rows_of_aim9();
}

fn a_ring_of_pipes() {
    let workload = find("ctxswitch").unwrap();
    let prepare = |by: &str, workers| {
        let parameters = Parameters::parse(workload.descriptor(), [format!("by={by}")]).unwrap();
        workload.prepare(&parameters, NonZeroUsize::new(workers).unwrap())
    };
    for _ in 0..3 {
        let error = prepare("pipe", 100).err().unwrap();
        assert!(matches!(error, WorkloadError::NoDescriptors { .. }), "{error}");
        assert_eq!(error.exit(), Exit::NotPermitted);
        assert!(prepare("pipe", 20).is_ok());
    }
    assert!(prepare("futex", 100).is_ok());
}

fn rows_of_lmbench() {
    for (row, parameters, workers) in [
        ("context-switch", &["processes=64"][..], 1),
        ("select-10-fds", &[], 10),
        ("select-10-tcp-fds", &[], 10),
        ("pipe-latency", &[], 40),
        ("tcp-latency", &[], 40),
        ("udp-latency", &[], 40),
    ] {
        let workload = find(&format!("lmbench/{row}")).unwrap();
        let parameters = Parameters::parse(workload.descriptor(), parameters).unwrap();
        let prepared = workload.prepare(&parameters, NonZeroUsize::new(workers).unwrap());
        let error = prepared.err().unwrap();
        assert!(matches!(error, WorkloadError::NoDescriptors { .. }), "{row}: {error}");
    }
}

fn rows_of_aim9() {
    for row in [
        "disk_rr",
        "disk_cp",
        "dir_rtns_1",
        "tcp_test",
        "udp_test",
        "fifo_test",
        "stream_pipe",
        "dgram_pipe",
        "pipe_cpy",
    ] {
        let workload = find(&format!("aim9/{row}")).unwrap();
        let parameters = Parameters::parse(workload.descriptor(), [""; 0]).unwrap();
        let prepare = |workers| workload.prepare(&parameters, NonZeroUsize::new(workers).unwrap());
        for _ in 0..3 {
            let error = prepare(100).err().unwrap();
            assert!(matches!(error, WorkloadError::NoDescriptors { .. }), "{error}");
            assert!(prepare(5).is_ok(), "{row}");
        }
    }
}
