//! Who ran where, as a picture of limited width can show it.

use corun_record::{ScheduledInterval, ScheduledTimeline};

/// No picture has more pixels for the whole time.
const MOST_PIXELS: usize = 1000;

/// The timeline with about so many intervals at most: each short part of the time belongs to the task that had most of it.
pub fn shortened_timeline(timeline: &ScheduledTimeline, most: usize) -> ScheduledTimeline {
    if timeline.intervals.len() <= most {
        return timeline.clone();
    }
    let pixels = (most / timeline.cpus.len().max(1)).clamp(16, MOST_PIXELS);
    ScheduledTimeline { intervals: by_pixel(timeline, pixels as u64), ..timeline.clone() }
}

/// The intervals as a picture of so many pixels can show them.
fn by_pixel(timeline: &ScheduledTimeline, pixels: u64) -> Vec<ScheduledInterval> {
    let edge = |pixel: u64| {
        (u128::from(timeline.makespan_ns) * u128::from(pixel) / u128::from(pixels)) as u64
    };
    let pixel_of = |time: u64| {
        (u128::from(time) * u128::from(pixels) / u128::from(timeline.makespan_ns.max(1))) as u64
    };
    let mut most: Vec<Option<(u64, ScheduledInterval)>> =
        vec![None; timeline.cpus.len() * pixels as usize];
    for interval in &timeline.intervals {
        for pixel in pixel_of(interval.begin_ns)..=pixel_of(interval.end_ns).min(pixels - 1) {
            let part = interval
                .end_ns
                .min(edge(pixel + 1))
                .saturating_sub(interval.begin_ns.max(edge(pixel)));
            let place = &mut most[interval.cpu * pixels as usize + pixel as usize];
            if part > place.map_or(0, |(part, _)| part) {
                *place = Some((
                    part,
                    ScheduledInterval {
                        begin_ns: edge(pixel),
                        end_ns: edge(pixel + 1),
                        ..*interval
                    },
                ));
            }
        }
    }
    let mut shown: Vec<ScheduledInterval> = Vec::new();
    for (_, interval) in most.into_iter().flatten() {
        match shown.last_mut() {
            Some(last)
                if (last.cpu, last.task, last.end_ns)
                    == (interval.cpu, interval.task, interval.begin_ns) =>
            {
                last.end_ns = interval.end_ns;
            }
            _ => shown.push(interval),
        }
    }
    shown
}
