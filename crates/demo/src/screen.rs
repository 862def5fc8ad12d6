//! What is shown, on a terminal as a picture, elsewhere line by line.

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
    draw::{draw, mark},
    view::{Condition, View},
};

/// What lies between two pictures.
const REDRAW: Duration = Duration::from_millis(80);
/// Where nobody says how large the window is.
const SIZE: (u16, u16) = (80, 24);

/// Where it is shown.
pub(super) enum Screen {
    Picture(Picture),
    /// How many lines were printed.
    Lines(usize),
}

impl Screen {
    /// Whether a person looks on.
    pub(super) fn is_watched() -> bool {
        io::stdout().is_terminal()
    }

    /// Begins; `about` is the line that always shows.
    pub(super) fn new(about: String) -> Result<Self> {
        Ok(if Self::is_watched() {
            Self::Picture(Picture::new(about)?)
        } else {
            Self::Lines(0)
        })
    }

    /// Shows what is known, again whenever that changes, for ever.
    pub(super) async fn run(&mut self, mut view: watch::Receiver<View>) -> Result<Infallible> {
        loop {
            self.show(&view.borrow_and_update())?;
            view.changed().await.context("nobody watches the cluster any more")?;
            if let Self::Picture(_) = self {
                tokio::time::sleep(REDRAW).await;
            }
        }
    }

    /// Shows what is known now.
    pub(super) fn show(&mut self, view: &View) -> Result<()> {
        match self {
            Self::Picture(picture) => picture.show(view).context("cannot draw on the terminal"),
            Self::Lines(printed) => {
                for line in &view.log[*printed..] {
                    say(line)?;
                }
                *printed = view.log.len();
                Ok(())
            }
        }
    }
}

/// A window of its own on the terminal, which is as before once this is dropped.
pub(super) struct Picture {
    about: String,
}

impl Picture {
    fn new(about: String) -> Result<Self> {
        execute!(io::stdout(), EnterAlternateScreen, Hide).context("cannot draw on the terminal")?;
        Ok(Self { about })
    }

    fn show(&self, view: &View) -> io::Result<()> {
        let (width, height) = terminal::size().unwrap_or(SIZE);
        let lines = draw(view, &self.about, (width.into(), height.into()));
        let mut out = io::stdout().lock();
        queue!(out, BeginSynchronizedUpdate, MoveTo(0, 0))?;
        for (number, line) in lines.iter().enumerate() {
            if number > 0 {
                queue!(out, Print("\r\n"))?;
            }
            paint(&mut out, line)?;
            queue!(out, Clear(ClearType::UntilNewLine))?;
        }
        queue!(out, Clear(ClearType::FromCursorDown), EndSynchronizedUpdate)?;
        out.flush()
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    }
}

/// Writes a line with its bars in colour, unless the user wants none.
fn paint(out: &mut impl io::Write, line: &str) -> io::Result<()> {
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
    let marks = Condition::ALL.map(mark).into_iter().zip(colors);
    let room = ('·', Color::DarkGrey);
    marks
        .chain([room])
        .find(|(mark, _)| *mark == character)
        .map(|(_, color)| color)
}

/// Prints a line at once, also into a pipe; a reader that has gone away ends the demo.
pub(super) fn say(line: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .context("nobody reads the demo any more")
}
