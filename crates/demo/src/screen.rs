//! Output: full-screen on a terminal, otherwise line by line.

use std::{
    convert::Infallible,
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use anyhow::{Context as _, Result};
use crossterm::{
    cursor::{Hide, MoveTo, Show},
    execute, queue,
    style::{Color, Print, ResetColor, SetForegroundColor},
    terminal::{
        self, BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
        LeaveAlternateScreen,
    },
};
use tokio::sync::watch;

use super::{
    draw::{draw, symbol},
    view::{Condition, View},
};

/// Minimum time between two frames.
const FRAME_INTERVAL: Duration = Duration::from_millis(80);
/// Window size if the terminal does not report one.
const DEFAULT_SIZE: (u16, u16) = (80, 24);

/// Output mode.
pub(super) enum Screen {
    FullScreen(FullScreen),
    /// Number of log lines printed so far.
    Lines(usize),
}

impl Screen {
    /// Whether standard output is a terminal.
    pub(super) fn is_terminal() -> bool {
        io::stdout().is_terminal()
    }

    /// Starts the output; `footer` is always visible in full-screen mode.
    pub(super) fn new(footer: String) -> Result<Self> {
        Ok(if Self::is_terminal() {
            Self::FullScreen(FullScreen::new(footer)?)
        } else {
            Self::Lines(0)
        })
    }

    /// Shows the view after every change, forever.
    pub(super) async fn run(&mut self, mut view: watch::Receiver<View>) -> Result<Infallible> {
        loop {
            self.show(&view.borrow_and_update())?;
            view.changed().await.context("the view is no longer updated")?;
            if let Self::FullScreen(_) = self {
                tokio::time::sleep(FRAME_INTERVAL).await;
            }
        }
    }

    /// Shows the current view.
    pub(super) fn show(&mut self, view: &View) -> Result<()> {
        match self {
            Self::FullScreen(screen) => screen.show(view).context("cannot draw on the terminal"),
            Self::Lines(printed) => {
                for line in &view.log[*printed..] {
                    print_line(line)?;
                }
                *printed = view.log.len();
                Ok(())
            }
        }
    }
}

/// The alternate screen of the terminal; dropping it restores the previous content.
pub(super) struct FullScreen {
    footer: String,
}

impl FullScreen {
    fn new(footer: String) -> Result<Self> {
        execute!(io::stdout(), EnterAlternateScreen, Hide).context("cannot draw on the terminal")?;
        Ok(Self { footer })
    }

    fn show(&self, view: &View) -> io::Result<()> {
        let (width, height) = terminal::size().unwrap_or(DEFAULT_SIZE);
        let lines = draw(view, &self.footer, (width.into(), height.into()));
        let mut out = io::stdout().lock();
        queue!(out, BeginSynchronizedUpdate, MoveTo(0, 0))?;
        for (number, line) in lines.iter().enumerate() {
            if number > 0 {
                queue!(out, Print("\r\n"))?;
            }
            write_colored(&mut out, line)?;
            queue!(out, Clear(ClearType::UntilNewLine))?;
        }
        queue!(out, Clear(ClearType::FromCursorDown), EndSynchronizedUpdate)?;
        out.flush()
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        // An error means that the terminal is closed; there is nothing to restore.
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    }
}

/// Writes a line with coloured bars. crossterm omits the colours if `NO_COLOR` is set.
fn write_colored(out: &mut impl io::Write, line: &str) -> io::Result<()> {
    let mut last = None;
    for character in line.chars() {
        let color = color(character);
        if color != last {
            match color {
                Some(color) => queue!(out, SetForegroundColor(color))?,
                None => queue!(out, ResetColor)?,
            }
            last = color;
        }
        queue!(out, Print(character))?;
    }
    if last.is_some() {
        queue!(out, ResetColor)?;
    }
    Ok(())
}

fn color(character: char) -> Option<Color> {
    let colors = [Color::Green, Color::Yellow, Color::Red];
    let symbols = Condition::ALL.map(symbol).into_iter().zip(colors);
    let free = ('·', Color::DarkGrey);
    symbols
        .chain([free])
        .find(|(symbol, _)| *symbol == character)
        .map(|(_, color)| color)
}

/// Prints a line and flushes. A closed pipe ends the demo.
pub(super) fn print_line(line: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .context("cannot write to standard output")
}
