//! The loop: intervals, keys and signals come through one channel, and each is followed by a drawing.
//!
//! Whatever happens (an end, a panic, a signal, Ctrl-Z), the terminal is given back as it was found.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use corun_files::signals_to_handle;
use corun_record::{Actionable, Exit};
use crossterm::event::{
    self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use crossterm::{cursor, execute, terminal};
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use super::draw::{Colours, draw, sort_at};
use super::view::{Effect, Input, Key, View};
use crate::{MonitorError, Playback, Source};

/// Why a screen could not be shown any more.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The terminal cannot be used.
    #[error("expected a terminal for the screen, found: {0}")]
    Terminal(#[from] io::Error),
    /// There are no intervals.
    #[error(transparent)]
    Source(MonitorError),
    /// The reader of the system has ended without an error.
    #[error("expected further intervals, found that the reader of the system has ended")]
    SourceGone,
}

impl Actionable for LiveError {
    fn exit(&self) -> Exit {
        match self {
            Self::Terminal(_) | Self::SourceGone => Exit::Failed,
            Self::Source(error) => error.exit(),
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Terminal(_) => "Use --batch, which needs no terminal.".to_owned(),
            Self::Source(error) => error.next_step(),
            Self::SourceGone => {
                "Report this as an error in corun, with what it printed.".to_owned()
            }
        }
    }
}

/// Message that the loop waits for.
enum Message {
    Input(Input),
    /// The left button was pressed at this column and row.
    Clicked(u16, u16),
    Resized,
    Signal(i32),
    Failed(MonitorError),
    SourceGone,
    TerminalLost(io::Error),
}

/// Shows the view on the terminal and feeds it from the source, until the user quits; `playback` controls a source that is
/// a recording.
///
/// # Errors
/// If there is no terminal, or nothing can be read at all.
pub fn live(
    source: impl Source + Send + 'static,
    interval: Duration,
    mut view: View,
    colours: Colours,
    playback: Option<Playback>,
) -> Result<(), LiveError> {
    restore_on_panic();
    let mut screen = Screen::open(&view)?;
    let (sender, messages) = mpsc::channel();
    watch_signals(sender.clone())?;
    watch_keys(sender.clone())?;
    watch_source(source, interval, sender)?;
    screen.draw(&view, colours)?;
    while let Ok(message) = messages.recv() {
        let effect = match message {
            Message::Input(input) => view.handle(input),
            Message::Clicked(x, y) => match sort_at(&view, screen.area()?, x, y) {
                Some(by) => view.handle(Input::Sort(by)),
                None => Effect::Draw,
            },
            Message::Resized => Effect::Draw,
            Message::Signal(SIGTSTP) => Effect::Suspend,
            Message::Signal(SIGCONT) => {
                // After SIGSTOP, which cannot be caught, the terminal has the modes that the shell gave it.
                screen.leave();
                screen.enter(&view)?;
                Effect::Draw
            }
            Message::Signal(_) => Effect::Quit,
            Message::Failed(error) if view.activity().is_none() => {
                return Err(LiveError::Source(error));
            }
            Message::Failed(error) => view.handle(Input::Ended(error.to_string())),
            Message::SourceGone if view.has_ended() => Effect::Draw,
            Message::SourceGone => return Err(LiveError::SourceGone),
            Message::TerminalLost(error) => return Err(LiveError::Terminal(error)),
        };
        match effect {
            Effect::Draw => {}
            Effect::Pause => {
                if let Some(playback) = &playback {
                    playback.pause(view.is_paused());
                }
            }
            Effect::Step(intervals) => {
                if let Some(playback) = &playback {
                    playback.step(intervals);
                }
            }
            Effect::Mouse => screen.hear_mouse(view.has_mouse())?,
            Effect::Suspend => {
                screen.leave();
                // Stops this process until it is continued.
                signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
                screen.enter(&view)?;
            }
            Effect::Quit => break,
        }
        screen.draw(&view, colours)?;
    }
    Ok(())
}

fn watch_signals(sender: Sender<Message>) -> io::Result<()> {
    let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT];
    let mut signals = Signals::new(signals_to_handle(&wanted))?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if sender.send(Message::Signal(signal)).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

fn watch_keys(sender: Sender<Message>) -> io::Result<()> {
    thread::Builder::new().name("keys".to_owned()).spawn(move || {
        loop {
            let message = match event::read() {
                Ok(Event::Key(key)) => key_of(key).map(|key| Message::Input(Input::Key(key))),
                Ok(Event::Mouse(mouse)) => match mouse.kind {
                    MouseEventKind::ScrollUp => Some(Message::Input(Input::Key(Key::Up))),
                    MouseEventKind::ScrollDown => Some(Message::Input(Input::Key(Key::Down))),
                    MouseEventKind::Down(MouseButton::Left) => {
                        Some(Message::Clicked(mouse.column, mouse.row))
                    }
                    _ => None,
                },
                Ok(Event::Resize(..)) => Some(Message::Resized),
                Ok(_) => None,
                Err(error) => Some(Message::TerminalLost(error)),
            };
            let is_last = matches!(message, Some(Message::TerminalLost(_)));
            if message.is_some_and(|it| sender.send(it).is_err()) || is_last {
                return;
            }
        }
    })?;
    Ok(())
}

fn watch_source(
    mut source: impl Source + Send + 'static,
    interval: Duration,
    sender: Sender<Message>,
) -> io::Result<()> {
    thread::Builder::new().name("source".to_owned()).spawn(move || {
        let _gone = SayWhenGone(sender.clone());
        loop {
            let message = match source.next(interval) {
                Ok(activity) => Message::Input(Input::Activity(Box::new(activity))),
                Err(error) => Message::Failed(error),
            };
            let has_ended = matches!(message, Message::Failed(MonitorError::Ended));
            let is_last =
                matches!(message, Message::Failed(_)) && !(has_ended && source.can_go_back());
            if let (Message::Input(_), Some(moment)) = (&message, source.moment())
                && sender.send(Message::Input(Input::Moment(moment))).is_err()
            {
                return;
            }
            if sender.send(message).is_err() || is_last {
                return;
            }
        }
    })?;
    Ok(())
}

/// Sends the loop a message when the source ends, also when it ends by a panic.
struct SayWhenGone(Sender<Message>);

impl Drop for SayWhenGone {
    fn drop(&mut self) {
        let _ = self.0.send(Message::SourceGone);
    }
}

/// The key that an event stands for, if it is one that means something here.
fn key_of(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    Some(match event.code {
        KeyCode::Char(character) if event.modifiers.contains(KeyModifiers::CONTROL) => {
            match character {
                'c' => Key::Char('\u{3}'),
                'z' => Key::Char('\u{1a}'),
                _ => return None,
            }
        }
        KeyCode::Char(character) => Key::Char(character),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

/// True while the terminal has the screen's modes. It is given back once: a second time would put the cursor where it
/// was before, over what has been printed since.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while the screen is on it; it is given back when this is dropped.
struct Screen {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
}

impl Screen {
    fn open(view: &View) -> io::Result<Self> {
        let mut screen = Self { terminal: Terminal::new(CrosstermBackend::new(output()))? };
        screen.enter(view)?;
        Ok(screen)
    }

    fn enter(&mut self, view: &View) -> io::Result<()> {
        IS_TAKEN.store(true, Ordering::SeqCst);
        terminal::enable_raw_mode()?;
        execute!(output(), terminal::EnterAlternateScreen, cursor::Hide)?;
        // Clears it, too, without a question to the terminal that not all of them answer (as Terminal::clear has).
        self.terminal.resize(self.area()?)?;
        if view.has_mouse() { self.hear_mouse(true) } else { Ok(()) }
    }

    fn leave(&mut self) {
        restore();
    }

    fn hear_mouse(&mut self, is_heard: bool) -> io::Result<()> {
        match is_heard {
            true => execute!(output(), event::EnableMouseCapture),
            false => execute!(output(), event::DisableMouseCapture),
        }
    }

    fn area(&self) -> io::Result<Rect> {
        let size = self.terminal.size()?;
        Ok(Rect { x: 0, y: 0, width: size.width, height: size.height })
    }

    fn draw(&mut self, view: &View, colours: Colours) -> io::Result<()> {
        // After a panic of another thread its report stands where the screen was.
        if !IS_TAKEN.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.terminal.draw(|frame| draw(view, colours, frame.area(), frame.buffer_mut()))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back; one that has gone away needs nothing.
fn restore() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut output = output();
    let _ =
        execute!(output, event::DisableMouseCapture, terminal::LeaveAlternateScreen, cursor::Show);
    let _ = output.flush();
    let _ = terminal::disable_raw_mode();
}

/// A panic is reported on the terminal as it was before.
fn restore_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        report(panic);
    }));
}

#[expect(
    clippy::disallowed_methods,
    reason = "cells hold texts that passed corun_record::on_one_line, and the sequences are crossterm's"
)]
fn output() -> io::Stdout {
    io::stdout()
}
