//! The state of the screen: activities and keys go in, and [`super::draw`] shows what is there.

use corun_record::Activity;

use super::order::{Order, SortBy};
use super::pairs::{Pair, pairs};
use super::rows::{Row, Selection, rows};

/// The most pairs that are kept to be shown.
const MOST_PAIRS: usize = 16;

/// A key that means something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Left.
    Left,
    /// Right.
    Right,
    /// Up, or the mouse's wheel.
    Up,
    /// Down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
}

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Input {
    /// The next interval.
    Activity(Box<Activity>),
    /// The time of the next interval, where it is not now.
    Moment(String),
    /// A key was pressed.
    Key(Key),
    /// The title of the column that sorts by this was clicked.
    Sort(SortBy),
    /// There are no further intervals, for this reason.
    Ended(String),
}

/// Effect of a key on the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// To draw.
    Draw,
    /// To stop, as a shell's job.
    Suspend,
    /// To switch the mouse on or off, as [`View::has_mouse`] says.
    Mouse,
    /// To pause a recording or to let it go on, as [`View::is_paused`] says.
    Pause,
    /// To show the interval of a recording that is so many later, or earlier.
    Step(i64),
    /// To end.
    Quit,
}

/// Detail in which each core is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CoreDetail {
    /// The most for which all cores fit.
    #[default]
    Fitting,
    /// A line or half of one, with each sibling's figure.
    Rows,
    /// A tile, with a bar for each sibling.
    Tiles,
    /// One character, and sums for each package.
    Map,
}

impl CoreDetail {
    fn next(self) -> Self {
        match self {
            Self::Fitting => Self::Rows,
            Self::Rows => Self::Tiles,
            Self::Tiles => Self::Map,
            Self::Map => Self::Fitting,
        }
    }
}

/// The state of the screen.
#[derive(Debug, Clone)]
pub struct View {
    /// The newest interval that is shown.
    pub(super) activity: Option<Activity>,
    /// Rows shown of its tasks.
    pub(super) rows: Vec<Row>,
    pub(super) pairs: Vec<Pair>,
    /// Which rows are wanted.
    pub(super) selection: Selection,
    pub(super) detail: CoreDetail,
    pub(super) shows_pairs: bool,
    pub(super) shows_help: bool,
    pub(super) is_paused: bool,
    has_mouse: bool,
    /// True if keys go into the filter.
    pub(super) is_typing: bool,
    /// Time of the interval that is shown, of a recording.
    pub(super) moment: Option<String>,
    /// True if the next interval is shown although the view is paused.
    is_stepping: bool,
    /// Why there is nothing new.
    pub(super) ended: Option<String>,
    /// The first row of tasks, of cores and of the help that is shown.
    pub(super) task_scroll: usize,
    pub(super) core_scroll: usize,
    pub(super) help_scroll: usize,
}

/// The intervals of a long step.
const STEPS: i64 = 10;
/// The rows by which a page scrolls.
const PAGE: usize = 20;

impl View {
    /// A view of nothing yet, that will show this.
    pub fn new(selection: Selection) -> Self {
        Self {
            activity: None,
            rows: Vec::new(),
            pairs: Vec::new(),
            selection,
            detail: CoreDetail::default(),
            shows_pairs: true,
            shows_help: false,
            is_paused: false,
            has_mouse: false,
            is_typing: false,
            moment: None,
            is_stepping: false,
            ended: None,
            task_scroll: 0,
            core_scroll: 0,
            help_scroll: 0,
        }
    }

    /// True if the mouse's wheel and clicks are wanted.
    pub fn has_mouse(&self) -> bool {
        self.has_mouse
    }

    /// True if the interval that is shown stays.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// The newest interval that is shown.
    pub fn activity(&self) -> Option<&Activity> {
        self.activity.as_ref()
    }

    /// True if it is known that nothing new will come.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Takes something in, and says what is to be done.
    pub fn handle(&mut self, input: Input) -> Effect {
        match input {
            Input::Activity(activity) => {
                if !self.is_paused || std::mem::take(&mut self.is_stepping) {
                    self.ended = None;
                    self.pairs = pairs(&activity, MOST_PAIRS);
                    self.activity = Some(*activity);
                    self.arrange();
                }
                Effect::Draw
            }
            Input::Moment(moment) => {
                if !self.is_paused || self.is_stepping {
                    self.moment = Some(moment);
                }
                Effect::Draw
            }
            Input::Ended(why) => {
                self.ended = Some(why);
                Effect::Draw
            }
            Input::Key(key) if self.is_typing => self.typed(key),
            Input::Key(key) => self.pressed(key),
            Input::Sort(by) => {
                // A second click turns the order round.
                let is_again = self.selection.order == Order { by, reversed: false };
                self.select(|it| it.order = Order { by, reversed: is_again });
                Effect::Draw
            }
        }
    }

    /// Rebuilds the rows after the activity or the selection changed.
    fn arrange(&mut self) {
        self.rows = self.activity.as_ref().map(|it| rows(it, &self.selection)).unwrap_or_default();
        self.task_scroll = self.task_scroll.min(self.rows.len().saturating_sub(1));
    }

    fn typed(&mut self, key: Key) -> Effect {
        match key {
            Key::Char(character) if !character.is_control() => {
                self.selection.filter.push(character);
            }
            Key::Backspace => {
                self.selection.filter.pop();
            }
            Key::Escape => {
                self.selection.filter.clear();
                self.is_typing = false;
            }
            Key::Enter => self.is_typing = false,
            _ => return Effect::Draw,
        }
        self.arrange();
        Effect::Draw
    }

    fn pressed(&mut self, key: Key) -> Effect {
        match key {
            Key::Char('q') if !self.shows_help => return Effect::Quit,
            Key::Char('q') | Key::Escape if self.shows_help => self.shows_help = false,
            Key::Char('\u{3}') => return Effect::Quit,
            Key::Char('\u{1a}') => return Effect::Suspend,
            Key::Char('?' | 'h') => {
                self.shows_help = !self.shows_help;
                self.help_scroll = 0;
            }
            Key::Char(' ') => {
                self.is_paused = !self.is_paused;
                return Effect::Pause;
            }
            Key::Escape if !self.selection.filter.is_empty() => {
                self.select(|it| it.filter.clear());
            }
            Key::Left => return self.step(-1),
            Key::Right => return self.step(1),
            Key::Char('<') => return self.step(-STEPS),
            Key::Char('>') => return self.step(STEPS),
            Key::Char('/') => self.is_typing = true,
            Key::Char('t') => self.select(|it| it.grouping = it.grouping.next()),
            Key::Char('H') => self.select(|it| it.threads = !it.threads),
            Key::Char('r') => self.select(|it| it.order.reversed = !it.order.reversed),
            Key::Char('d') => self.detail = self.detail.next(),
            Key::Char('p') => self.shows_pairs = !self.shows_pairs,
            Key::Char('m') => {
                self.has_mouse = !self.has_mouse;
                return Effect::Mouse;
            }
            Key::Char('[') => self.core_scroll = self.core_scroll.saturating_sub(1),
            Key::Char(']') => self.core_scroll = self.core_scroll.saturating_add(1),
            Key::Char(character) => {
                if let Some(by) = sort_of(character) {
                    self.select(|it| it.order = Order { by, reversed: false });
                }
            }
            Key::Up => self.scroll(|it| it.saturating_sub(1)),
            Key::Down => self.scroll(|it| it.saturating_add(1)),
            Key::PageUp => self.scroll(|it| it.saturating_sub(PAGE)),
            Key::PageDown => self.scroll(|it| it.saturating_add(PAGE)),
            Key::Home => self.scroll(|_| 0),
            Key::End => self.scroll(|_| usize::MAX),
            Key::Enter | Key::Escape | Key::Backspace => {}
        }
        Effect::Draw
    }

    /// A step through a recording; what happens now has no other moments.
    fn step(&mut self, intervals: i64) -> Effect {
        match self.moment {
            Some(_) => {
                self.is_stepping = true;
                Effect::Step(intervals)
            }
            None => Effect::Draw,
        }
    }

    fn select(&mut self, change: impl FnOnce(&mut Selection)) {
        change(&mut self.selection);
        self.task_scroll = 0;
        self.arrange();
    }

    fn scroll(&mut self, change: impl FnOnce(usize) -> usize) {
        if self.shows_help {
            self.help_scroll = change(self.help_scroll).min(super::draw::help_lines());
        } else {
            self.task_scroll = change(self.task_scroll).min(self.rows.len().saturating_sub(1));
        }
    }

    /// The grouping, the filter and the order.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }
}

/// Sort key of a key.
fn sort_of(key: char) -> Option<SortBy> {
    Some(match key {
        'u' => SortBy::Used,
        'n' => SortBy::Number,
        'c' => SortBy::Cpu,
        'g' => SortBy::Migrations,
        'b' => SortBy::Beside,
        'a' => SortBy::Name,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::synthetic::Synthetic;

    fn view() -> View {
        let mut source = Synthetic::new(1, 4, 2, 40, 7);
        let activity = source.next(std::time::Duration::from_secs(1)).unwrap();
        let mut view = View::new(Selection { threads: true, ..Selection::default() });
        view.handle(Input::Activity(Box::new(activity)));
        view
    }

    fn press(view: &mut View, keys: &str) -> Effect {
        keys.chars().fold(Effect::Draw, |_, key| view.handle(Input::Key(Key::Char(key))))
    }

    #[test]
    fn keys_sort_and_turn_round() {
        let mut view = view();
        let used: Vec<f64> = view.rows.iter().map(Row::used).collect();
        assert!(used.is_sorted_by(|one, other| one >= other) && used.len() == 40);
        press(&mut view, "n");
        assert!(view.rows.is_sorted_by(|one, other| one.number < other.number));
        press(&mut view, "r");
        assert!(view.rows.is_sorted_by(|one, other| one.number > other.number));
        press(&mut view, "b");
        assert!(view.rows.is_sorted_by(|one, other| one.beside_time() >= other.beside_time()));
    }

    #[test]
    fn a_filter_is_typed_and_taken_back() {
        let mut view = view();
        let all = view.rows.len();
        assert_eq!(press(&mut view, "/q"), Effect::Draw);
        assert_eq!(view.selection.filter, "q");
        view.handle(Input::Key(Key::Backspace));
        let name = view.activity.as_ref().unwrap().tasks[0].name.clone();
        press(&mut view, &name.to_uppercase());
        assert!(!view.rows.is_empty() && view.rows.len() < all);
        let tasks = &view.activity.as_ref().unwrap().tasks;
        assert!(view.rows.iter().all(|row| tasks[row.task].name.contains(&name)));
        view.handle(Input::Key(Key::Enter));
        assert!(!view.is_typing);
        press(&mut view, "/");
        view.handle(Input::Key(Key::Escape));
        assert_eq!((view.rows.len(), view.is_typing), (all, false));
    }

    #[test]
    fn escape_clears_a_filter_that_was_kept() {
        let mut view = view();
        let all = view.rows.len();
        press(&mut view, "/no such task");
        view.handle(Input::Key(Key::Enter));
        assert!(view.rows.is_empty());
        // The help is left first.
        press(&mut view, "?");
        view.handle(Input::Key(Key::Escape));
        assert!(view.rows.is_empty() && !view.shows_help);
        view.handle(Input::Key(Key::Escape));
        assert_eq!((view.rows.len(), view.selection.filter.as_str()), (all, ""));
    }

    #[test]
    fn a_recording_is_stepped_through_while_it_is_paused() {
        let mut view = view();
        assert_eq!(view.handle(Input::Key(Key::Right)), Effect::Draw);
        view.handle(Input::Moment("12:00:00".to_owned()));
        assert_eq!(press(&mut view, " "), Effect::Pause);
        assert_eq!(view.handle(Input::Key(Key::Left)), Effect::Step(-1));
        assert_eq!(press(&mut view, ">"), Effect::Step(10));
        view.handle(Input::Moment("12:00:09".to_owned()));
        view.handle(Input::Activity(Box::default()));
        assert_eq!(
            (view.activity.clone(), view.moment.as_deref()),
            (Some(Activity::default()), Some("12:00:09"))
        );
        // The next one is not asked for.
        view.handle(Input::Moment("12:00:10".to_owned()));
        assert_eq!(view.moment.as_deref(), Some("12:00:09"));
    }

    #[test]
    fn a_paused_view_keeps_its_interval() {
        let mut view = view();
        press(&mut view, " ");
        let shown = view.activity.clone();
        view.handle(Input::Activity(Box::default()));
        assert_eq!(view.activity, shown);
        press(&mut view, " ");
        view.handle(Input::Activity(Box::default()));
        assert_eq!(view.activity, Some(Activity::default()));
        assert!(view.rows.is_empty());
    }

    #[test]
    fn ending_stopping_and_help() {
        let mut view = view();
        assert_eq!(press(&mut view, "?q"), Effect::Draw);
        assert!(!view.shows_help);
        assert_eq!(press(&mut view, "q"), Effect::Quit);
        assert_eq!(press(&mut view, "\u{3}"), Effect::Quit);
        assert_eq!(press(&mut view, "\u{1a}"), Effect::Suspend);
        assert_eq!((press(&mut view, "m"), view.has_mouse()), (Effect::Mouse, true));
    }

    #[test]
    fn scrolling_stays_within_the_rows() {
        let mut view = view();
        view.handle(Input::Key(Key::End));
        assert_eq!(view.task_scroll, 39);
        view.handle(Input::Key(Key::PageDown));
        assert_eq!(view.task_scroll, 39);
        view.handle(Input::Key(Key::Home));
        view.handle(Input::Key(Key::Up));
        assert_eq!(view.task_scroll, 0);
    }
}
