//! dbench: clients of a file server without the network. Each request works, a part of it with the file
//! system's lock held; the files of some clients fit in memory, and requests for the others' wait for a
//! disk.

use super::{LoadEntry, Make, Parameter, Values};
use crate::program::{Amount, Load, Step};

pub(super) const ENTRY: LoadEntry = LoadEntry {
    name: "dbench",
    summary: "clients of a file server: work, a lock, and a disk when memory is short",
    make: Make::Parameters(
        &[
            Parameter { name: "clients", default: "20", meaning: "how many" },
            Parameter { name: "requests", default: "1000", meaning: "of each client" },
            Parameter { name: "work", default: "50us", meaning: "of a request" },
            Parameter {
                name: "locked",
                default: "0.1",
                meaning: "the part of it with the lock held",
            },
            Parameter {
                name: "cached",
                default: "50",
                meaning: "clients whose files fit in memory",
            },
            Parameter {
                name: "disk",
                default: "100us",
                meaning: "of a request that does not find its file there",
            },
        ],
        make,
    ),
};

fn make(values: &Values) -> Result<Load, String> {
    let mut load = Load { operation: "requests".to_owned(), locks: 1, disks: 1, ..Load::default() };
    let clients = values.tasks("clients")? as u64;
    let requests = values.count("requests")?;
    let work = values.time("work")? as f64;
    let locked = (work * values.share("locked")?).round();
    let run = |time: f64| Step::Run(Amount::Fixed(time as u64));
    let mut request = vec![Step::Begin, run((work - locked).round())];
    if locked > 0.0 {
        request.extend([Step::Lock(0), run(locked), Step::Unlock(0)]);
    }
    request.push(Step::Done);
    // Memory holds so many clients' files; of all requests the rest's share goes to the disk.
    let uncached = clients.saturating_sub(values.number("cached")?);
    let waiting = requests * uncached / clients;
    let transfer = Step::Disk(0, Amount::Fixed(values.time("disk")?));
    let mut steps = Vec::new();
    // As many requests between two transfers as there are on average.
    if let Some(each) = requests.checked_div(waiting) {
        steps.push(Step::Repeat(Some(waiting)));
        steps.push(Step::Repeat(Some(each)));
        steps.extend(request.iter().copied());
        steps.extend([Step::End, transfer, Step::End]);
        steps.push(Step::Repeat(Some(requests - waiting * each)));
    } else {
        steps.push(Step::Repeat(Some(requests)));
    }
    steps.extend(request);
    steps.push(Step::End);
    let client = load.program("client", "dbench", steps);
    load.tasks(client, clients as usize);
    Ok(load)
}
