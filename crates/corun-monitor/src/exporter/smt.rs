//! The SMT switch as the kernel shows it.

use corun_machine::{SmtControl, SystemFiles};

/// State of SMT: siblings online or not, and possible or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmtReading {
    /// `smt/control`; absent where the kernel has no such file.
    pub control: Option<SmtControl>,
    /// `smt/active`; absent where the kernel has no such file.
    pub active: Option<bool>,
}

impl SmtReading {
    /// Reads both files.
    pub fn read(files: &mut dyn SystemFiles) -> Self {
        let mut read = |name: &str| {
            let text = files.read(&format!("sys/devices/system/cpu/smt/{name}"));
            text.ok().map(|text| text.trim().to_owned())
        };
        let control = read("control").and_then(|text| text.parse().ok());
        let active = read("active").and_then(|text| match text.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        });
        Self { control, active }
    }
}
