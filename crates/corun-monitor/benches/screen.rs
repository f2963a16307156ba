//! Cost of the screen itself, without reading the system: an interval taken in, sorted and drawn at 200x60.

use std::time::{Duration, Instant};

use corun_monitor::Source;
use corun_monitor::screen::{Colours, Input, Selection, View, draw};
use corun_monitor::synthetic::Synthetic;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

const INTERVALS: u32 = 20;

fn main() {
    let area = Rect::new(0, 0, 200, 60);
    for (cores, threads) in [(1, 10), (64, 1_000), (512, 10_000)] {
        let mut source = Synthetic::new(1, cores, 2, threads, 1);
        let mut view = View::new(Selection { threads: true, ..Selection::default() });
        let mut spent = Duration::ZERO;
        for _ in 0..INTERVALS {
            let activity = source.next(Duration::from_secs(1)).expect("it never ends");
            let begun = Instant::now();
            view.handle(Input::Activity(Box::new(activity)));
            let mut buffer = Buffer::empty(area);
            draw(&view, Colours::On, area, &mut buffer);
            spent += begun.elapsed();
            assert!(buffer.content().iter().any(|cell| cell.symbol() != " "));
        }
        let each = spent / INTERVALS;
        println!("{:>5} CPUs, {threads:>6} threads: {each:.2?} a refresh", 2 * cores);
    }
}
