//! Last page of the sampler, ready to be sent.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::exposition::Exposition;

/// Format of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus, 0.0.4: of text files for node_exporter, and of `promtool check metrics`.
    Text,
}

/// The latest metrics in both formats.
#[derive(Debug, Default)]
pub struct Page(Mutex<Texts>);

#[derive(Debug, Default)]
struct Texts {
    open_metrics: Bytes,
    text: Bytes,
}

impl Page {
    /// Puts these metrics in place of the former ones.
    pub fn publish(&self, exposition: Exposition) {
        let open_metrics = exposition.open_metrics();
        let text = super::exposition::text(&open_metrics);
        let texts = Texts { open_metrics: open_metrics.into(), text: text.into() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = texts;
    }

    /// The latest metrics, not copied.
    pub fn get(&self, format: Format) -> Bytes {
        let texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match format {
            Format::OpenMetrics => texts.open_metrics.clone(),
            Format::Text => texts.text.clone(),
        }
    }
}
