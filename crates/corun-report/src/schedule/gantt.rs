//! Who ran where: a line for each logical CPU, siblings together, a colour for each task.
//!
//! Many short intervals are drawn by the pixel, each in the colour of the task that had most of it.

use corun_record::{ScheduledInterval, ScheduledTimeline};
use svg::Document;
use svg::node::element::{Group, Style, Title};

use crate::shapes::{rectangle, text};

const MARGIN: f64 = 20.0;
const LABEL: f64 = 70.0;
/// Pixels of the whole time.
const WIDTH: f64 = 1000.0;
const LINE: f64 = 16.0;
/// Between cores.
const GAP: f64 = 6.0;
const TITLE: f64 = 26.0;
/// More intervals than this are drawn by the pixel.
const MANY: usize = 4_000;
/// Colours that follow each other far apart on the wheel.
const GOLDEN_ANGLE: f64 = 137.508;

const STYLE: &str = "
.page { fill: #ffffff; }
.idle { fill: #eeeeee; }
text { font: 12px sans-serif; fill: #222222; }
.title { font-weight: bold; }
@media (prefers-color-scheme: dark) {
  .page { fill: #16181c; }
  .idle { fill: #2a2d33; }
  text { fill: #dddddd; }
}
";

/// The runs as an SVG document, one below the other, each over its own time.
pub fn gantt(timelines: &[ScheduledTimeline]) -> String {
    let mut page = Group::new();
    let mut top = MARGIN;
    for timeline in timelines {
        let (group, height) = draw(timeline);
        page = page.add(group.set("transform", format!("translate({MARGIN} {top})")));
        top += height + MARGIN;
    }
    let width = WIDTH + LABEL + 2.0 * MARGIN;
    let document = Document::new()
        .set("viewBox", (0, 0, width.ceil() as i64, top.ceil() as i64))
        .set("width", width)
        .set("height", top)
        .set("role", "img")
        .add(Title::new("Which task ran where"))
        .add(Style::new(STYLE))
        .add(rectangle(0.0, 0.0, width, top).set("class", "page"))
        .add(page);
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{document}\n")
}

fn draw(timeline: &ScheduledTimeline) -> (Group, f64) {
    let seconds = crate::figures::seconds(timeline.makespan_ns as f64 * 1e-9);
    let mut group =
        Group::new().add(text(&format!("{}: {seconds}", timeline.title()), 0.0, 12.0, "title"));
    let mut top = TITLE;
    let mut tops = vec![0.0; timeline.cpus.len()];
    for core in &timeline.cores {
        for &cpu in core {
            tops[cpu] = top;
            let number = timeline.cpus[cpu];
            group = group
                .add(text(&format!("CPU {number}"), 0.0, top + 12.0, ""))
                .add(rectangle(LABEL, top, WIDTH, LINE - 2.0).set("class", "idle"));
            top += LINE;
        }
        top += GAP;
    }
    let shown = match timeline.intervals.len() > MANY {
        true => by_pixel(timeline, WIDTH as u64),
        false => timeline.intervals.clone(),
    };
    let scale = WIDTH / timeline.makespan_ns.max(1) as f64;
    for interval in shown {
        let [begin, end] = [interval.begin_ns, interval.end_ns].map(|time| time as f64 * scale);
        let program = &timeline.programs[interval.program];
        let hue = (interval.task as f64 * GOLDEN_ANGLE) % 360.0;
        let bar = rectangle(LABEL + begin, tops[interval.cpu], end - begin, LINE - 2.0)
            .set("fill", format!("hsl({hue:.0} 60% 55%)"));
        let words = format!(
            "task {}, {program}: {} to {}",
            interval.task,
            crate::figures::seconds(interval.begin_ns as f64 * 1e-9),
            crate::figures::seconds(interval.end_ns as f64 * 1e-9)
        );
        group = group.add(bar.add(Title::new(words)));
    }
    (group, top)
}

/// The timeline with about so many intervals at most: each short part of the time belongs to the task that had most of it.
pub fn shortened_timeline(timeline: &ScheduledTimeline, most: usize) -> ScheduledTimeline {
    if timeline.intervals.len() <= most {
        return timeline.clone();
    }
    let pixels = (most / timeline.cpus.len().max(1)).clamp(16, WIDTH as usize);
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
