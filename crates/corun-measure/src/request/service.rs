//! A service as it is wanted, and the work that follows from it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use corun_machine::CpuSet;
use corun_record::{Mode, ServiceLoad, Workload};

use super::{Request, RequestError, Resolved};
use crate::analysis::Workers;
use crate::execution::{
    Command, Generator, LoadReport, Readiness, Service, ServiceError, StopSignal, Task, recognised,
};

/// A server and what asks it.
#[derive(Debug, Clone)]
pub struct ServiceRequest {
    /// The server and its arguments, perhaps with `{workers}`.
    pub server: Vec<OsString>,
    /// The load generator and its arguments.
    pub load: Vec<OsString>,
    /// A command that asks the fresh server first and is not counted.
    pub warmup: Option<Vec<OsString>>,
    /// Readiness check of the server.
    pub ready: Readiness,
    /// Time limit of the readiness check.
    pub ready_limit: Duration,
    /// The signal that asks the server to stop.
    pub stop_signal: StopSignal,
    /// Time limit of the stop.
    pub stop_limit: Duration,
    /// The load's logical CPUs; by default chosen from those that the server can do without.
    pub load_cpus: Option<CpuSet>,
    /// Report of the load on what it measured, where it is no generator that corun knows.
    pub report: LoadReport,
    /// The whole environment of all of them.
    pub environment: Vec<(OsString, OsString)>,
    /// Their working directory, if not corun's own.
    pub directory: Option<PathBuf>,
}

impl Request {
    pub(super) fn resolve_service(
        &self,
        service: &ServiceRequest,
    ) -> Result<Resolved, RequestError> {
        if self.steady {
            return Err(RequestError::SteadyThreads);
        }
        let generator = recognised(&service.load).map(|(generator, _)| generator);
        let report = LoadReport { generator, ..service.report.clone() };
        if report.throughput.is_none() && generator.is_none() {
            let program = service.load.first().cloned().unwrap_or_default();
            let found = format!("{program:?}");
            return Err(ServiceError::UnknownGenerator { found, known: Generator::names() }.into());
        }
        let texts = |argv: &[OsString]| -> Vec<String> {
            argv.iter().map(|text| text.to_string_lossy().into_owned()).collect()
        };
        let server = texts(&service.server);
        let program = server.first().map_or("", String::as_str);
        let description = Workload {
            name: program.rsplit('/').next().unwrap_or(program).to_owned(),
            command: server.clone(),
            parameters: Default::default(),
            mode: Mode::Service,
            operation: report.requests().to_owned(),
            operations: 1.0,
            steady: false,
            load: Some(ServiceLoad {
                command: texts(&service.load),
                warmup: service.warmup.as_deref().map(texts).unwrap_or_default(),
                cpus: Vec::new(),
            }),
            program: None,
            input: None,
            prepare: self.preparation(),
        };
        let command = |argv: &[OsString]| Command {
            argv: argv.to_vec(),
            environment: service.environment.clone(),
            directory: service.directory.clone(),
            input: None,
            expected_exit: 0,
            throughput: None,
            operations_argument: None,
        };
        let task = Task::Service(Box::new(Service {
            server: command(&service.server),
            ready: service.ready.clone(),
            ready_limit: service.ready_limit,
            stop_signal: service.stop_signal,
            stop_limit: service.stop_limit,
            load: command(&service.load),
            warmup: service.warmup.as_deref().map(command),
            load_cpus: service.load_cpus.clone().unwrap_or_default(),
            report,
        }));
        Ok(Resolved {
            work: self.work(task, Mode::Service, 1.0),
            description,
            variant: None,
            sample_time: None,
            sized_by: None,
            workers: Workers::Service,
            least_operations: 1,
            row: None,
        })
    }
}
