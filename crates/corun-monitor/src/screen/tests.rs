//! The screen at several sizes, of machines from 2 to 1,024 CPUs.

use std::time::Duration;

use corun_record::{Activity, CoreActivity, CpuActivity, TaskActivity};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::draw::sort_at;
use super::text::append;
use super::*;
use crate::Source;
use crate::synthetic::Synthetic;

/// A view of a synthetic machine: packages, cores of each, siblings of each, threads.
fn view(packages: u32, cores: u32, width: u32, threads: u32) -> View {
    let mut source = Synthetic::new(packages, cores, width, threads, 1);
    let activity = source.next(Duration::from_secs(1)).unwrap();
    view_of(activity)
}

fn view_of(activity: Activity) -> View {
    let mut view = View::new(Selection { threads: true, ..Selection::default() });
    view.handle(Input::Activity(Box::new(activity)));
    view
}

fn press(view: &mut View, keys: &str) {
    for key in keys.chars() {
        view.handle(Input::Key(Key::Char(key)));
    }
}

fn drawn(view: &View, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw(view, Colours::Off, area, &mut buffer);
    let mut text = String::new();
    append(&mut text, &buffer);
    text
}

/// 2, 16, 128 and 1,024 CPUs.
fn machines() -> [View; 4] {
    [view(1, 1, 2, 12), view(1, 8, 2, 60), view(2, 32, 2, 300), view(4, 32, 8, 2000)]
}

#[test]
fn a_terminal_of_80_columns() {
    let [two, sixteen, many, most] = machines();
    insta::assert_snapshot!("80x24_of_2", drawn(&two, 80, 24));
    insta::assert_snapshot!("80x24_of_16", drawn(&sixteen, 80, 24));
    insta::assert_snapshot!("80x24_of_128", drawn(&many, 80, 24));
    insta::assert_snapshot!("80x24_of_1024", drawn(&most, 80, 24));
}

#[test]
fn a_terminal_of_120_columns() {
    let [_, sixteen, many, _] = machines();
    insta::assert_snapshot!("120x40_of_16", drawn(&sixteen, 120, 40));
    insta::assert_snapshot!("120x40_of_128", drawn(&many, 120, 40));
}

#[test]
fn a_terminal_of_200_columns() {
    let [_, _, many, most] = machines();
    insta::assert_snapshot!("200x60_of_128", drawn(&many, 200, 60));
    insta::assert_snapshot!("200x60_of_1024", drawn(&most, 200, 60));
}

#[test]
fn a_terminal_of_40_columns() {
    let [two, _, _, most] = machines();
    insta::assert_snapshot!("40x12_of_2", drawn(&two, 40, 12));
    insta::assert_snapshot!("40x12_of_1024", drawn(&most, 40, 12));
}

#[test]
fn the_capacity_that_is_left_survives_every_size() {
    let half = |core: u32| CoreActivity {
        core,
        package: None,
        cpus: vec![CpuActivity { cpu: core, user: 0.5, idle: 0.5, ..CpuActivity::default() }; 2],
        busy_siblings: vec![0.0, 1.0, 0.0],
    };
    let mut activity = Activity { cores: (0..4).map(half).collect(), ..Activity::default() };
    activity.capacity.used_low = 0.5;
    let mut views = [view_of(activity.clone()), view(2, 32, 2, 300)];
    activity.capacity.used_high = 1.0;
    views[0] = view_of(activity);
    for view in &views {
        for (width, height) in [(20, 5), (17, 1), (20, 2), (33, 3), (40, 12), (59, 5), (60, 5)] {
            let text = drawn(view, width, height);
            let is_whole = text
                .lines()
                .any(|line| line.split_once("left ").is_some_and(|(_, left)| left.contains(" %")));
            assert!(is_whole, "{width}x{height}:\n{text}");
        }
    }
    assert!(drawn(&views[0], 20, 5).contains("left 0 to 50 %"));
}

#[test]
fn a_click_on_a_title_sorts_by_its_column_and_back() {
    let mut view = view(1, 8, 2, 60);
    let area = Rect::new(0, 0, 80, 24);
    let text = drawn(&view, 80, 24);
    let (row, header) = text.lines().enumerate().find(|(_, it)| it.contains("%CPU")).unwrap();
    let row = u16::try_from(row).unwrap();
    for (title, by) in [
        ("ID", Some(SortBy::Number)),
        ("P ", Some(SortBy::Cpu)),
        ("%CPU", Some(SortBy::Used)),
        ("%SYS", None),
        ("MIGR", Some(SortBy::Migrations)),
        ("BESIDE", Some(SortBy::Beside)),
        ("NAME", Some(SortBy::Name)),
        ("WITH", None),
    ] {
        let bytes = header.find(title).unwrap();
        let x = u16::try_from(header[..bytes].chars().count()).unwrap();
        assert_eq!(sort_at(&view, area, x, row), by, "{title}");
        assert_eq!(sort_at(&view, area, x, row + 1), None, "{title}");
    }
    for (reversed, expected) in [(false, "name"), (true, "name"), (false, "name")] {
        view.handle(Input::Sort(SortBy::Name));
        let order = view.selection().order;
        assert_eq!((order.by.word(), order.reversed), (expected, reversed));
    }
    press(&mut view, "?");
    assert_eq!(sort_at(&view, area, 5, row), None);
}

#[test]
fn trees_help_and_typing() {
    let mut view = view(1, 4, 2, 24);
    press(&mut view, "pt");
    insta::assert_snapshot!("by_process", drawn(&view, 80, 24));
    press(&mut view, "tH");
    insta::assert_snapshot!("by_control_group", drawn(&view, 80, 24));
    press(&mut view, "/java");
    insta::assert_snapshot!("filtered", drawn(&view, 80, 24));
    view.handle(Input::Key(Key::Enter));
    press(&mut view, "?");
    insta::assert_snapshot!("help", drawn(&view, 80, 24));
    view.handle(Input::Key(Key::End));
    assert!(drawn(&view, 80, 24).contains("other machines have only the bounds."));
}

#[test]
fn as_text_every_core_and_task_is_there() {
    let view = view(1, 8, 2, 100);
    let text = text(&view, 100);
    insta::assert_snapshot!("text", text.lines().take(40).collect::<Vec<_>>().join("\n"));
    for thread in 1000..1100 {
        assert!(
            text.lines().any(|it| it.trim_start().starts_with(&format!("{thread} "))),
            "{thread}"
        );
    }
}

#[test]
fn no_size_and_no_machine_is_too_much() {
    let mut views = machines().to_vec();
    views.push(View::new(Selection::default()));
    views.push(view_of(Activity::default()));
    views.push(view_of(odd()));
    for view in &mut views {
        // Rows, tiles and a map of the cores; both trees.
        for keys in ["", "d]]]t", "d", "dtH", "d?"] {
            press(view, keys);
            for width in [0, 1, 7, 39, 40, 60, 79, 80, 131, 400] {
                for height in [0, 1, 2, 5, 11, 24, 120] {
                    let text = drawn(view, width, height);
                    assert_eq!(text.lines().count(), usize::from(height) * usize::from(width > 0));
                }
                text(view, width);
            }
        }
    }
}

/// Activity that no machine has, but a recording may.
fn odd() -> Activity {
    let cpu = CpuActivity { cpu: u32::MAX, user: 1e300, system: -1.0, idle: -1e300, steal: 9.0 };
    let task = |thread: u32, parent: u32| TaskActivity {
        thread,
        process: thread,
        parent,
        name: "\u{1b}[2J\u{202e}名前\u{1f600}".repeat(40),
        cgroup: Some("/a".repeat(100_000)),
        cpu: u32::MAX,
        user: 1e300,
        migrations: Some(u64::MAX),
        beside_busy: Some(-7.0),
        ..TaskActivity::default()
    };
    Activity {
        interval_s: -1.0,
        cores: vec![
            CoreActivity {
                core: u32::MAX,
                package: None,
                cpus: vec![cpu; 300],
                busy_siblings: vec![],
            },
            CoreActivity::default(),
        ],
        // Two that started each other, and one that started itself.
        tasks: vec![task(1, 2), task(2, 1), task(3, 3)],
        ..Activity::default()
    }
}

#[test]
fn foreign_names_neither_steer_nor_vanish() {
    let mut view = view_of(odd());
    press(&mut view, "t");
    let text = drawn(&view, 120, 40);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    let named = text.lines().filter(|line| line.contains("\\u{1b}[2J"));
    assert_eq!(named.count(), 3, "{text}");
}

#[test]
fn colour_says_nothing_that_a_glyph_does_not() {
    let view = view(2, 32, 2, 300);
    let area = Rect::new(0, 0, 120, 40);
    let [with, without] = [Colours::On, Colours::Off].map(|colours| {
        let mut buffer = Buffer::empty(area);
        draw(&view, colours, area, &mut buffer);
        buffer
    });
    let glyphs = |buffer: &Buffer| {
        buffer.content().iter().map(|cell| cell.symbol().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(glyphs(&with), glyphs(&without));
    let colours = |buffer: &Buffer| {
        buffer.content().iter().any(|cell| cell.fg != ratatui_core::style::Color::Reset)
    };
    assert!(colours(&with) && !colours(&without));
}
