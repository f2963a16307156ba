//! tbench: each client has a server process; a request and its answer are two wake-ups.

use super::{LoadEntry, Make, Parameter, Values};
use crate::program::{Amount, Load, QueueSpec, Step};

pub(super) const ENTRY: LoadEntry = LoadEntry {
    name: "tbench",
    summary: "clients that take turns with a server process each",
    make: Make::Parameters(
        &[
            Parameter { name: "clients", default: "20", meaning: "how many" },
            Parameter { name: "requests", default: "1000", meaning: "of each client" },
            Parameter {
                name: "client",
                default: "20us",
                meaning: "the client's work of a request",
            },
            Parameter { name: "server", default: "30us", meaning: "the server's" },
        ],
        make,
    ),
};

fn make(values: &Values) -> Result<Load, String> {
    let mut load = Load { operation: "requests".to_owned(), ..Load::default() };
    let requests = Some(values.count("requests")?);
    let [client, server] = ["client", "server"].map(|name| values.time(name));
    let (client, server) = (Step::Run(Amount::Fixed(client?)), Step::Run(Amount::Fixed(server?)));
    for _ in 0..values.tasks("clients")? {
        let [request, answer] = [(); 2].map(|()| load.queue(QueueSpec::default()));
        let steps = vec![
            Step::Repeat(requests),
            client,
            Step::Begin,
            Step::Send(request),
            Step::Receive(answer),
            Step::Done,
            Step::End,
        ];
        let asks = load.program("client", "tbench", steps);
        let steps = vec![
            Step::Repeat(requests),
            Step::Receive(request),
            server,
            Step::Send(answer),
            Step::End,
        ];
        let answers = load.program("server", "tbench", steps);
        load.tasks(asks, 1);
        load.tasks(answers, 1);
    }
    Ok(load)
}
